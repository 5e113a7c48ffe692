"""Why nothing satisfies a schema: the keywords that clash, and where.

The search first goes down: to the target of a reference, a branch of ``allOf``, the schema of a
member that is required or of an item that must be there, as long as nothing satisfies *that* alone.
There the schema is taken apart (``constrain.schema.apart``), the branches of ``allOf`` and the targets
of references with it, and keywords are left out one by one while the rest still clashes. What is
left is a smallest clash: leave out any one of it, and something satisfies the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from constrain.errors import SchemaError
from constrain.schema import apart, assertions
from constrain.schema.formulas import TRUE
from constrain.schema.remarks import has_lone_surrogate
from constrain.schema.support import DRAFT2019, DRAFT2020
from constrain.schema.validation import escaped

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from constrain.schema.documents import Location
    from constrain.schema.formulas import Formula
    from constrain.schema.reading import Reader

_MANY = 64  # keywords among which a smallest clash is looked for
_NAMED = 4  # of its keywords that are named


@dataclass(frozen=True, slots=True)
class _Clause:
    """One keyword in its place, and its formula."""

    location: Location
    keyword: str
    formula: Formula


def explain(reader: Reader) -> SchemaError:
    """Return the error of a schema that nothing satisfies."""
    return _explain(reader, reader.documents.root)


def _explain(reader: Reader, location: Location) -> SchemaError:
    seen: set[int] = set()
    while id(location.schema) not in seen:
        seen.add(id(location.schema))
        deeper = (place for place in _demanded(reader, location) if not _possible(reader, place))
        found = next(deeper, None)
        if found is None:
            break
        location = found
    if location.schema is False:
        return SchemaError("the schema false allows nothing", location.pointer)
    return _clash(reader, location)


def _possible(reader: Reader, location: Location) -> bool:
    return reader.world.possible(reader.formula(location))


def _demanded(reader: Reader, location: Location) -> Iterator[Location]:
    """Yield the schemas just inside a schema that a value must satisfy in any case."""
    schema = location.schema
    if not isinstance(schema, dict):
        return
    documents = reader.documents
    if reader.has(location, "$ref"):
        yield documents.follow(location, "$ref")
    if "$ref" in schema and location.draft < DRAFT2019:
        return
    for keyword in ("allOf", "anyOf", "oneOf"):
        branches = [branch for branch, _ in reader.branches(location, keyword)]
        if keyword == "allOf" or len(branches) == 1:
            yield from branches
    kinds = assertions.kinds_of(reader, location)
    if "object" in kinds:
        yield from _demanded_members(reader, location)
    if "array" in kinds:
        yield from _demanded_items(reader, location)


def _demanded_members(reader: Reader, location: Location) -> Iterator[Location]:
    """Yield the schemas of the members that are declared and required."""
    properties = reader.get(location, "properties") or {}
    for name in reader.get(location, "required") or ():
        if name in properties:
            step = f"/properties/{escaped(name)}"
            yield reader.documents.child(location, step, properties[name])


def _demanded_items(reader: Reader, location: Location) -> Iterator[Location]:
    """Yield the schemas of the items that must be there."""
    schema, child = location.schema, reader.documents.child
    least = int(reader.get(location, "minItems") or 0)
    listed = "prefixItems" if location.draft == DRAFT2020 else "items"
    prefix = reader.get(location, listed)
    prefix = prefix if isinstance(prefix, list) else []
    for i, item in enumerate(prefix[:least]):
        yield child(location, f"/{listed}/{i}", item)
    after = "additionalItems" if prefix and location.draft < DRAFT2020 else "items"
    if least > len(prefix) and reader.has(location, after):
        yield child(location, f"/{after}", schema[after])
    fewest = reader.get(location, "minContains")
    if reader.has(location, "contains") and fewest != 0:
        yield child(location, "/contains", schema["contains"])


def _clash(reader: Reader, location: Location) -> SchemaError:
    clauses = list(_clauses(reader, location, set()))
    if len(clauses) > _MANY or reader.world.possible(_all(reader, clauses)):
        words = ", ".join(apart.keywords(reader, location))
        return SchemaError(f"no value satisfies {words} together", location.pointer)
    for clause in list(clauses):
        others = [other for other in clauses if other is not clause]
        if not reader.world.possible(_all(reader, others)):
            clauses = others
    return _error(reader, clauses)


def _clauses(reader: Reader, location: Location, seen: set[Hashable]) -> Iterator[_Clause]:
    """Yield the keywords of a schema, of the branches of ``allOf`` and of the targets of ``$ref``.

    Each schema once: one that allows nothing by itself may refer to itself.
    """
    if isinstance(location.schema, bool) or location.key in seen:
        return
    seen.add(location.key)
    before_2019 = "$ref" in location.schema and location.draft < DRAFT2019
    for keyword in apart.keywords(reader, location):
        if keyword == "$ref":
            yield from _clauses(reader, reader.documents.follow(location, keyword), seen)
        elif before_2019:
            continue
        elif keyword == "allOf":
            for branch, _ in reader.branches(location, keyword):
                yield from _clauses(reader, branch, seen)
        else:
            yield _Clause(location, keyword, reader.formula(apart.alone(location, keyword)))


def _all(reader: Reader, clauses: list[_Clause]) -> Formula:
    formula = TRUE
    for clause in clauses:
        formula = reader.world.formulas.conjunction(formula, clause.formula)
    return formula


def _error(reader: Reader, clauses: list[_Clause]) -> SchemaError:
    """Return the error of a smallest clash; its place is that of the last keyword."""
    *others, last = sorted(clauses, key=lambda clause: clause.keyword != "type")
    names = [name for clause in clauses for name in _forbidden(reader, clause, clauses)]
    if names:
        place = next(c for c in clauses if c.keyword == "required").location
        reason = f"required {names[0]!r} cannot be met: no member of that name is allowed"
        return SchemaError(reason, place.pointer, "required")
    if len(others) > 1 and others[0].keyword == "type":
        del others[0]  # which only says what the others speak of
    here = _told(last, last)
    if not others:
        return SchemaError(_hopeless(reader, last), last.location.pointer, last.keyword)
    told = [_told(clause, last) for clause in others[:_NAMED]]
    told += ["others"] if len(others) > _NAMED else []
    with_them = f"{', '.join(told[:-1])} and {told[-1]}" if len(told) > 1 else told[0]
    reason = f"{here} clashes with {with_them}: no value satisfies {_how_many(others)}"
    return SchemaError(reason, last.location.pointer, last.keyword)


def _how_many(others: list[_Clause]) -> str:
    return "both" if len(others) == 1 else "all of them"


def _told(clause: _Clause, last: _Clause) -> str:
    """Return a keyword and its value, with its place if that is another than the last one's."""
    value = clause.location.schema[clause.keyword]
    members = value if isinstance(value, list) else [value]
    short = "" if any(isinstance(v, dict | list) for v in members) else f" {apart.shown(value)}"
    if clause.location.pointer == last.location.pointer:
        return clause.keyword + short
    return f"{clause.keyword}{short} at #{apart.pointer_of(clause.location, clause.keyword)}"


def _hopeless(reader: Reader, clause: _Clause) -> str:
    """Return why a keyword alone allows nothing."""
    value = clause.location.schema[clause.keyword]
    listed = value if clause.keyword == "enum" else [value]
    if clause.keyword in ("enum", "const") and any(map(has_lone_surrogate, listed)):
        return (
            f"{clause.keyword} {apart.shown(value)} cannot be written: it holds a lone surrogate,"
            " which is half a character and has no UTF-8; write both halves, or leave it out"
        )
    if clause.keyword == "enum" and not value:
        return "enum lists no value, so nothing satisfies it"
    if clause.keyword in ("anyOf", "oneOf"):
        branches = [branch for branch, _ in reader.branches(clause.location, clause.keyword)]
        if any(_possible(reader, branch) for branch in branches):
            return (
                "no value satisfies exactly one branch of oneOf: wherever one holds, another does"
            )
        first = branches[0]
        return (
            f"none of the {len(value)} branches of {clause.keyword} can be satisfied; of the first:"
            f" {_explain(reader, first)}"
        )
    return f"no value satisfies {_told(clause, clause)}"


def _forbidden(reader: Reader, clause: _Clause, clauses: list[_Clause]) -> list[str]:
    """Return the required names that nothing but the names themselves stands against."""
    words = {other.keyword for other in clauses}
    if clause.keyword not in ("additionalProperties", "propertyNames") or "required" not in words:
        return []
    return assertions.forbidden_names(reader, reader.world, clause.location)
