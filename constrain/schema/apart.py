"""The keywords of a schema one by one, each as a schema of its own.

A schema is the conjunction of its keywords, but for those that mean something only beside others
(``minContains``, ``else``, ``additionalProperties``). Taken apart, each with what it needs, the
question which keyword forbids a value, or which clash, is one about formulas.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from constrain.schema.documents import Location
from constrain.schema.support import DRAFT4, known
from constrain.schema.validation import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constrain.schema.reading import Reader

_SHOWN = 60  # characters of a keyword's value
_WITH = {
    "type": ("nullable",),
    "enum": ("nullable",),
    "additionalProperties": ("properties", "patternProperties"),
    "additionalItems": ("items",),
    "items": ("prefixItems",),
    "contains": ("minContains", "maxContains"),
    "if": ("then", "else"),
}
_IN_DRAFT_4 = {"minimum": ("exclusiveMinimum",), "maximum": ("exclusiveMaximum",)}
_SILENT = frozenset(("nullable", "minContains", "maxContains", "then", "else"))
"""Keywords that say nothing alone; they go with those that need them."""


def keywords(reader: Reader, location: Location) -> Iterator[str]:
    """Yield the keywords in force at a schema that constrain something, ``type`` first."""
    for name in sorted(location.schema, key=lambda name: name != "type"):
        keyword = known(name, location.draft)
        if keyword is None or keyword.group == "annotation" or name in _SILENT:
            continue
        if keyword.group == "reference" and not name.lower().endswith("ref"):
            continue
        if reader.has(location, name):
            yield name


def alone(location: Location, keyword: str) -> Location:
    """Return the schema of one keyword and of what it needs, in the place of the whole."""
    schema = location.schema
    if not keyword.startswith("unevaluated"):
        beside: tuple[str, ...] = _WITH.get(keyword, ())
        if location.draft == DRAFT4:
            beside = _IN_DRAFT_4.get(keyword, beside)
        schema = {name: schema[name] for name in (keyword, *beside) if name in schema}
    return Location(schema, location.pointer, location.draft, location.resolver)


def pointer_of(location: Location, keyword: str) -> str:
    """Return the JSON pointer of a keyword."""
    return f"{location.pointer}/{escaped(keyword)}"


def shown(value: Any) -> str:
    """Return a keyword's value as JSON, shortened."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    text = text.encode("utf-8", "backslashreplace").decode()  # lone surrogates cannot be printed
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
