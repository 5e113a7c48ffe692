"""Validation of a schema against its meta-schema: every keyword's value, with exact pointers.

``check`` looks at one schema object; ``walk`` goes over a whole document, wherever schemas stand in
it (used or not), and checks them all. What stands inside ``const``, ``enum``, ``default`` and
``examples`` is data. Unknown keywords are not looked into.
"""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from constrain.errors import LimitError, SchemaError
from constrain.schema.support import DRAFT4, DRAFT6, DRAFT2020, Keyword, Value, known
from constrain.schema.values import number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SHOWN = 60  # characters of a value in a message
TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")


def escaped(name: str) -> str:
    """Return a name as a step of a JSON pointer (RFC 6901)."""
    return name.replace("~", "~0").replace("/", "~1")


def is_number(value: object) -> bool:
    """Return whether a value is a JSON number."""
    return isinstance(value, int | float | Decimal | Fraction) and not isinstance(value, bool)


def _is_schema(value: object, draft: int) -> bool:
    return isinstance(value, dict) or (draft >= DRAFT6 and isinstance(value, bool))


def _is_names(value: object, draft: int) -> bool:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        return False
    return len(set(value)) == len(value) and (draft > DRAFT4 or bool(value))


def _is_type(value: object, draft: int) -> bool:
    if isinstance(value, list):
        kinds = [kind for kind in value if isinstance(kind, str) and kind in TYPES]
        return bool(kinds) and kinds == value and len(set(kinds)) == len(kinds)
    return isinstance(value, str) and value in TYPES


def _is_map(value: object, draft: int, is_member: Callable[[object, int], bool]) -> bool:
    return isinstance(value, dict) and all(is_member(member, draft) for member in value.values())


def _is_schema_list(value: object, draft: int) -> bool:
    return isinstance(value, list) and bool(value) and all(_is_schema(s, draft) for s in value)


def _is_items(value: object, draft: int) -> bool:
    if _is_schema(value, draft):
        return True
    if draft == DRAFT2020 or not isinstance(value, list):
        return False
    return all(_is_schema(s, draft) for s in value)


def _is_limit(value: object, draft: int) -> bool:
    return isinstance(value, bool) if draft == DRAFT4 else is_number(value)


_IS: dict[Value, tuple[Callable[[Any, int], bool], str]] = {
    "any": (lambda value, draft: True, "any value"),
    "array": (lambda value, draft: isinstance(value, list), "an array"),
    "boolean": (lambda value, draft: isinstance(value, bool), "true or false"),
    "count": (
        lambda value, draft: is_number(value) and value >= 0 and number(value).denominator == 1,
        "a whole number of at least 0",
    ),
    "dependencies": (
        lambda value, draft: _is_map(
            value, draft, lambda v, d: _is_schema(v, d) or _is_names(v, d)
        ),
        "an object of schemas and of lists of names",
    ),
    "items": (_is_items, "a schema (before 2020-12 also an array of schemas)"),
    "names": (_is_names, "an array of different names"),
    "number": (lambda value, draft: is_number(value), "a number"),
    "number or boolean": (_is_limit, "a number (in draft 4: true or false)"),
    "object": (lambda value, draft: isinstance(value, dict), "an object"),
    "positive number": (lambda value, draft: is_number(value) and value > 0, "a number above 0"),
    "schema": (_is_schema, "a schema"),
    "schema list": (_is_schema_list, "a non-empty array of schemas"),
    "schema map": (lambda value, draft: _is_map(value, draft, _is_schema), "an object of schemas"),
    "string": (lambda value, draft: isinstance(value, str), "a string"),
    "string map": (
        lambda value, draft: _is_map(value, draft, lambda v, d: isinstance(v, str)),
        "an object of strings",
    ),
    "text list map": (
        lambda value, draft: _is_map(value, draft, _is_names),
        "an object of arrays of names",
    ),
    "type": (_is_type, f"one of {', '.join(TYPES)}, or an array of different ones"),
    "values": (
        lambda value, draft: isinstance(value, list) and (draft > DRAFT4 or bool(value)),
        "an array of values",
    ),
}

# Keywords whose schema may be a boolean in draft 4 already.
_BOOLEAN_IN_DRAFT4 = frozenset(("additionalItems", "additionalProperties"))


def check(schema: object, draft: int, pointer: str, *, strict: bool = True) -> None:
    """Raise ``SchemaError`` if a keyword of a schema has a malformed value.

    Parameters
    ----------
    schema : object
        A value that stands where a schema should; the schemas below it are not looked into.
    draft : int
    pointer : str
        Its place, for the message.
    strict : bool
        Whether keywords that constrain nothing (annotations, identifiers) are checked too.
    """
    if not isinstance(schema, dict):
        if isinstance(schema, bool) and (draft >= DRAFT6 or pointer == ""):
            return
        raise SchemaError(f"a schema must be an object, not {_shown(schema)}", pointer)
    for name, value in schema.items():
        keyword = known(name, draft)
        if keyword is None or not (strict or _constrains(keyword)):
            continue
        is_right, wanted = _IS[keyword.value]
        if is_right(value, draft):
            continue
        if name in _BOOLEAN_IN_DRAFT4 and isinstance(value, bool):
            continue
        raise SchemaError(f"{name} must be {wanted}, not {_shown(value)}", pointer, name)


def _constrains(keyword: Keyword) -> bool:
    return keyword.group not in ("annotation", "reference") or keyword.name.lower().endswith("ref")


def _shown(value: object) -> str:
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def subschemas(schema: dict[str, Any], draft: int) -> Iterator[tuple[str, Any]]:
    """Yield (pointer step, subschema) of the schemas directly inside a checked schema."""
    for name, value in schema.items():
        keyword = known(name, draft)
        if keyword is None:
            continue
        if isinstance(value, dict) and keyword.value in ("schema map", "dependencies"):
            for key, member in value.items():
                if not isinstance(member, list):
                    yield f"/{escaped(name)}/{escaped(key)}", member
        elif isinstance(value, list) and keyword.value in ("schema list", "items"):
            for i, member in enumerate(value):
                yield f"/{name}/{i}", member
        elif keyword.value in ("schema", "items"):
            yield f"/{name}", value


def walk(
    schema: object, draft: int, max_depth: int, pointer: str = "", *, strict: bool = True
) -> None:
    """Check a schema and all schemas inside it.

    Where a reference leads to a place in which the meta-schema expects no schema, the check is
    not ``strict``: a member called ``id`` is no identifier there.

    Raises
    ------
    SchemaError
        At the first malformed keyword.
    LimitError
        If schemas nest deeper than ``max_depth``.
    """
    stack: list[tuple[object, str, int]] = [(schema, pointer, 1)]
    while stack:
        top, place, depth = stack.pop()
        if depth > max_depth:
            raise LimitError("levels of nested schemas", depth, max_depth, f"#{place}")
        if isinstance(top, bool) and place != pointer:
            continue
        check(top, draft, place, strict=strict)
        if isinstance(top, dict):
            found = [(s, place + step, depth + 1) for step, s in subschemas(top, draft)]
            stack.extend(reversed(found))
