"""Why nothing satisfies a schema: the constraints that clash, and where.

The search goes down from the root: a required name that is forbidden, a member or item that nothing
can fill, the first branch of ``allOf`` that clashes with those before it, and so on, until no
smaller part is impossible by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constrain.errors import SchemaError
from constrain.schema import assertions
from constrain.schema.formulas import TRUE
from constrain.schema.support import DRAFT2019
from constrain.schema.validation import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constrain.schema.documents import Location
    from constrain.schema.reading import Reader


def explain(reader: Reader) -> SchemaError:
    """Return the error of a schema that nothing satisfies."""
    location = reader.documents.root
    seen: set[int] = set()
    while id(location.schema) not in seen:
        seen.add(id(location.schema))
        deeper = next(_impossible(reader, location), None)
        if deeper is None:
            break
        location = deeper
    if location.schema is False:
        return SchemaError("the schema false allows nothing", location.pointer)
    return _reason(reader, location)


def _impossible(reader: Reader, location: Location) -> Iterator[Location]:
    """Yield the schemas just inside a schema whose own impossibility makes it impossible."""
    schema = location.schema
    if not isinstance(schema, dict):
        return
    documents = reader.documents
    candidates: list[Location] = []
    if "$ref" in schema:
        candidates.append(documents.follow(location, "$ref"))
        if location.draft < DRAFT2019:
            yield from (c for c in candidates if not _possible(reader, c))
            return
    candidates.extend(
        documents.child(location, f"/allOf/{i}", branch)
        for i, branch in enumerate(schema.get("allOf", ()))
    )
    properties = schema.get("properties", {})
    candidates.extend(
        documents.child(location, f"/properties/{escaped(name)}", properties[name])
        for name in schema.get("required", ())
        if isinstance(name, str) and name in properties and schema.get("type") == "object"
    )
    yield from (place for place in candidates if not _possible(reader, place))


def _possible(reader: Reader, location: Location) -> bool:
    return reader.world.possible(reader.formula(location))


def _reason(reader: Reader, location: Location) -> SchemaError:
    world, schema = reader.world, location.schema
    own = sorted(assertions.KEYWORDS & set(schema))
    if own and world.is_empty(assertions.shape(reader, world, location)):
        return _own_reason(reader, location, own)
    formula = TRUE
    for keyword in ("allOf", "anyOf", "oneOf"):
        for place, branch in reader.branches(location, keyword):
            formula = world.formulas.conjunction(formula, branch)
            if keyword == "allOf" and not world.possible(formula):
                reason = "it clashes with the branches before it; no value satisfies them together"
                return SchemaError(reason, place.pointer)
    words = [k for k in schema if k in _COMBINING or k in assertions.KEYWORDS]
    return SchemaError(f"no value satisfies {', '.join(words)} together", location.pointer)


_COMBINING = (
    "enum",
    "const",
    "$ref",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "unevaluatedItems",
    "unevaluatedProperties",
)


def _own_reason(reader: Reader, location: Location, own: list[str]) -> SchemaError:
    """Return the error of assertions that clash among themselves."""
    schema = location.schema
    names = assertions.forbidden_names(reader, reader.world, location)
    if names and schema.get("type") == "object":
        reason = f"required {names[0]!r} cannot be met: no member of that name is allowed"
        return SchemaError(reason, location.pointer, "required")
    return SchemaError(f"no value satisfies {', '.join(own)} together", location.pointer)
