"""The portable subset: a JSON schema as one regular expression in the bytes dialect.

A schema comes in, a pattern for ``regex_to_dfa`` goes out. The text is compact JSON, as
``json.dumps(value, separators=(",", ":"))`` writes it. The subset is small enough for a port in
another language to compare against: string, integer, number, boolean, null, ``enum``, ``const``,
``anyOf``, arrays with ``items``, ``minItems`` and ``maxItems``, and objects with ordered
``properties``, ``required`` and ``additionalProperties: false``. Pure annotations may stand
anywhere. Everything else raises ``UnsupportedSchema``: a constraint is never ignored in silence.

An object is built from its end, so that the commas come out right. With ``m`` the text of a member,
*some* (something was written before) is ``(,m)?`` or ``,m`` and the rest; *none* (nothing was
written yet) is ``m`` followed by *some* of the rest, or, if the member is optional, *none* of the
rest. *Some* stands once in each step of *none*: the pattern grows with the square of the number of
properties. The full dialect (``constrain.schema``) shares them instead.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from constrain.errors import SchemaError, UnsupportedSchema
from constrain.limits import Limits
from constrain.schema.values import require_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

STRING = (
    r'"(?:[ !#-\[\]-~]'
    r"|[\xc2-\xdf][\x80-\xbf]"
    r"|\xe0[\xa0-\xbf][\x80-\xbf]"
    r"|[\xe1-\xec\xee\xef][\x80-\xbf]{2}"
    r"|\xed[\x80-\x9f][\x80-\xbf]"
    r"|\xf0[\x90-\xbf][\x80-\xbf]{2}"
    r"|[\xf1-\xf3][\x80-\xbf]{3}"
    r"|\xf4[\x80-\x8f][\x80-\xbf]{2}"
    r'|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*"'
)
INTEGER = r"-?(?:0|[1-9][0-9]*)"
NUMBER = INTEGER + r"(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
SCALARS = {
    "string": STRING,
    "integer": INTEGER,
    "number": NUMBER,
    "boolean": "(?:true|false)",
    "null": "null",
}
ANNOTATIONS = frozenset(("title", "description", "default", "examples", "$schema", "$comment"))
ARRAY_KEYWORDS = frozenset(("type", "items", "minItems", "maxItems"))
_MAX_DEPTH = 200  # steps of a pointer
OBJECT_KEYWORDS = frozenset(("type", "properties", "required", "additionalProperties"))


def json_schema_to_regex(schema: Mapping[str, object]) -> str:
    r"""Return the regular expression of the compact JSON texts that a schema describes.

    Parameters
    ----------
    schema : Mapping[str, object]
        A schema of the portable subset; see the module's text.

    Returns
    -------
    str
        A pattern for ``regex_to_dfa``, made of ASCII characters.

    Raises
    ------
    UnsupportedSchema
        If the schema uses anything outside the subset, or allows nothing at all.
    SchemaError
        If a keyword's value is malformed.

    Examples
    --------
    >>> json_schema_to_regex({"type": "array", "items": {"type": "null"}, "maxItems": 2})
    '\\[(?:null(?:,null){0,1})?\\]'
    """
    require_json(schema, Limits().max_nodes)
    return _regex(schema, "")


def _regex(schema: object, pointer: str) -> str:
    if pointer.count("/") > _MAX_DEPTH:
        raise UnsupportedSchema("the portable subset nests less deeply", pointer[:60])
    if not isinstance(schema, dict):
        reason = f"the portable subset needs an object here, not {json.dumps(schema, default=repr)}"
        raise UnsupportedSchema(reason, pointer)
    keywords = {k: v for k, v in cast("dict[str, object]", schema).items() if k not in ANNOTATIONS}
    if "enum" in keywords or "const" in keywords:
        return _values(keywords, pointer)
    if "anyOf" in keywords:
        return _any_of(keywords, pointer)
    kind = keywords.get("type")
    if kind == "array":
        return _array(keywords, pointer)
    if kind == "object":
        return _object(keywords, pointer)
    if isinstance(kind, str) and kind in SCALARS:
        _only(keywords, frozenset(("type",)), pointer)
        return SCALARS[kind]
    if kind is None:
        _only(keywords, frozenset(), pointer)
        raise UnsupportedSchema("a free JSON value is outside the portable subset", pointer)
    raise UnsupportedSchema(f"type {json.dumps(kind)} is not one known type", pointer, "type")


def _only(keywords: Mapping[str, object], known: frozenset[str], pointer: str) -> None:
    for keyword in keywords:
        if keyword not in known:
            beside = f" beside {', '.join(sorted(known & set(keywords)))}" if known else ""
            reason = f"{keyword!r}{beside} is outside the portable subset; use compile() instead"
            raise UnsupportedSchema(reason, pointer, keyword)


def _literal(value: object, pointer: str, keyword: str) -> str:
    try:
        text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise SchemaError(f"{value!r} is not a JSON value", pointer, keyword) from error
    return "".join("\\" + c if c in r"\.^$*+?{}[]|()" else c for c in text)


def _values(keywords: Mapping[str, object], pointer: str) -> str:
    _only(keywords, frozenset(("enum", "const", "type")), pointer)
    keyword = "enum" if "enum" in keywords else "const"
    values = keywords["enum"] if keyword == "enum" else [keywords["const"]]
    if not isinstance(values, list):
        raise SchemaError("enum must be an array", pointer, "enum")
    _only({k: v for k, v in keywords.items() if k != keyword}, frozenset(("type",)), pointer)
    if "type" in keywords:
        kind = keywords["type"]
        if not isinstance(kind, str) or kind not in _IS_OF_TYPE:
            reason = f"type {json.dumps(kind)} is not one known type"
            raise UnsupportedSchema(reason, pointer, "type")
        values = [v for v in cast("list[object]", values) if _IS_OF_TYPE[kind](v)]
    if not values:
        raise UnsupportedSchema("no value is left, nothing could be written", pointer, keyword)
    texts = dict.fromkeys(_literal(v, pointer, keyword) for v in cast("list[object]", values))
    return f"(?:{'|'.join(texts)})"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_IS_OF_TYPE: dict[str, Callable[[Any], bool]] = {
    "string": lambda v: isinstance(v, str),
    "integer": lambda v: _is_number(v) and v == int(v),
    "number": _is_number,
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "array": lambda v: isinstance(v, list),
    "object": lambda v: isinstance(v, dict),
}


def _any_of(keywords: Mapping[str, object], pointer: str) -> str:
    _only(keywords, frozenset(("anyOf",)), pointer)
    options = keywords["anyOf"]
    if not isinstance(options, list) or not options:
        raise SchemaError("anyOf must be an array of at least one schema", pointer, "anyOf")
    schemas = cast("list[object]", options)
    return f"(?:{'|'.join(_regex(s, f'{pointer}/anyOf/{i}') for i, s in enumerate(schemas))})"


def _count(keywords: Mapping[str, object], keyword: str, pointer: str) -> int | None:
    value = keywords.get(keyword)
    if value is None and keyword not in keywords:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise SchemaError(f"{keyword} must be a whole number of at least 0", pointer, keyword)
    return value


def _array(keywords: Mapping[str, object], pointer: str) -> str:
    _only(keywords, ARRAY_KEYWORDS, pointer)
    least = _count(keywords, "minItems", pointer) or 0
    most = _count(keywords, "maxItems", pointer)
    if most is not None and most < least:
        raise UnsupportedSchema(f"minItems {least} is above maxItems {most}", pointer, "maxItems")
    if most == 0:
        return r"\[\]"
    if "items" not in keywords:
        raise UnsupportedSchema("an array without items is outside the portable subset", pointer)
    item = _regex(keywords["items"], f"{pointer}/items")
    upper = "" if most is None else str(most - 1)
    items = f"{item}(?:,{item}){{{max(least - 1, 0)},{upper}}}"
    return rf"\[{items}\]" if least else rf"\[(?:{items})?\]"


def _object(keywords: Mapping[str, object], pointer: str) -> str:
    _only(keywords, OBJECT_KEYWORDS, pointer)
    if keywords.get("additionalProperties", False) is not False:
        reason = "additionalProperties must be absent or false in the portable subset"
        raise UnsupportedSchema(reason, pointer, "additionalProperties")
    properties = keywords.get("properties", {})
    required = keywords.get("required", [])
    if not isinstance(properties, dict):
        raise SchemaError("properties must be an object", pointer, "properties")
    if not isinstance(required, list):
        raise SchemaError("required must be an array of names", pointer, "required")
    members = cast("dict[str, object]", properties)
    names = cast("list[object]", required)
    for name in names:
        if name not in members:
            reason = f"required name {name!r} is not among the properties"
            raise UnsupportedSchema(reason, pointer, "required")
    some, none = "", ""
    for name, schema in reversed(members.items()):
        place = f"{pointer}/properties/{name.replace('~', '~0').replace('/', '~1')}"
        key = _literal(name, pointer, "properties")
        member = f"{key}:{_regex(schema, place)}"
        if name in names:
            none, some = member + some, f",{member}{some}"
        else:
            none, some = f"(?:{member}{some}|{none})", f"(?:,{member})?{some}"
    return rf"\{{{none}\}}"
