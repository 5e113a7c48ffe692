"""``unevaluatedProperties`` and ``unevaluatedItems``: what no other keyword has looked at.

Which members a schema looks at depends on which of its branches hold. Each branch is a formula, so
the keyword is a case distinction: for every choice of branches that hold, the members that they
look at are known names (languages) and known positions, and the schema applies to all others.
A schema with more than ``MANY`` branches that look at something is refused.

Source: JSON Schema Core 2020-12, sections 11.2 and 11.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constrain.schema import assertions
from constrain.schema.formulas import FALSE, TRUE, Formula
from constrain.schema.shapes import ArrayShape, NameClass, ObjectShape, Origin, Shape
from constrain.schema.support import DRAFT2019, DRAFT2020

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constrain.dfa import DFA
    from constrain.schema.documents import Location
    from constrain.schema.reading import Reader
    from constrain.schema.world import World

MANY = 10


def conjuncts(reader: Reader, location: Location) -> Iterator[Formula]:
    """Yield the formulas of the two keywords, where they are in force."""
    if reader.has(location, "unevaluatedProperties"):
        value = reader.child(
            location, "/unevaluatedProperties", location.schema["unevaluatedProperties"]
        )
        yield _properties(reader, location, value)
    if reader.has(location, "unevaluatedItems"):
        value = reader.child(location, "/unevaluatedItems", location.schema["unevaluatedItems"])
        yield _items(reader, location, value)


def _inner(reader: Reader, location: Location) -> Iterator[tuple[Formula, Location]]:
    """Yield (condition, schema) of the schemas that look at the same value as a schema."""
    documents, formulas = reader.documents, reader.world.formulas
    for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
        if reader.has(location, keyword):
            yield TRUE, documents.follow(location, keyword)
    for keyword in ("allOf", "anyOf", "oneOf"):
        for place, formula in reader.branches(location, keyword):
            yield TRUE if keyword == "allOf" else formula, place
    if reader.has(location, "if"):
        place = documents.child(location, "/if", location.schema["if"])
        test = reader.formula(place)
        yield test, place
        for word, holds in (("then", test), ("else", formulas.negation(test))):
            if reader.has(location, word):
                yield holds, documents.child(location, f"/{word}", location.schema[word])
    for name, schema in (reader.get(location, "dependentSchemas") or {}).items():
        place = documents.child(location, f"/dependentSchemas/{name}", schema)
        yield reader.has_member(name), place


def _all_inner(
    reader: Reader, location: Location, condition: Formula = TRUE
) -> Iterator[tuple[Formula, Location]]:
    for holds, place in _inner(reader, location):
        if isinstance(place.schema, dict):
            both = reader.world.formulas.conjunction(condition, holds)
            yield both, place
            yield from _all_inner(reader, place, both)


# -- properties -------------------------------------------------------------------------------


def _properties(reader: Reader, location: Location, value: Formula) -> Formula:
    space = reader.world.texts.space
    looked: dict[Formula, DFA] = {TRUE: _names(reader, location)}
    for condition, place in _all_inner(reader, location):
        names = _names(reader, place)
        if "unevaluatedProperties" in place.schema:
            names = space.everything
        if names is not space.nothing:
            looked[condition] = space.join(looked.get(condition, space.nothing), names)
    always = looked.pop(TRUE)
    _require_few(reader, location, len(looked), "unevaluatedProperties")
    guards = list(looked.items())

    def build(i: int, names: DFA) -> Formula:
        if names is space.everything:
            return TRUE
        if i == len(guards):
            return _others(reader, names, value)
        condition, more = guards[i]
        held, failed = build(i + 1, space.join(names, more)), build(i + 1, names)
        return reader.world.formulas.choice(condition, held, failed)

    return build(0, always)


def _names(reader: Reader, location: Location) -> DFA:
    """Return the names that the keywords of one schema look at."""
    space = reader.world.texts.space
    if reader.has(location, "additionalProperties"):
        return space.everything
    names = reader.world.texts.literals(reader.get(location, "properties") or ())
    for pattern in reader.get(location, "patternProperties") or ():
        language = assertions.pattern_language(reader, pattern, location, "patternProperties")
        names = space.join(names, space.intern(language))
    return names


def _others(reader: Reader, names: DFA, value: Formula) -> Formula:
    """Return that members of all names but the given satisfy a formula."""

    def make(world: World) -> Shape:
        space = world.texts.space
        others = space.minus(space.everything, names)
        groups = [NameClass(names, TRUE, Origin.FREE), NameClass(others, value, Origin.OPEN)]
        rest = tuple(g for g in groups if g.names is not space.nothing and g.value != FALSE)
        free = world.everything
        record = ObjectShape(rest=rest)
        return Shape(True, free.booleans, free.numbers, free.strings, free.arrays, (record,))

    return reader.world.atom(("names", names, value), make)


# -- items ------------------------------------------------------------------------------------


def _items(reader: Reader, location: Location, value: Formula) -> Formula:
    looked = [(TRUE, *_positions(reader, location))]
    for condition, place in _all_inner(reader, location):
        count, found = _positions(reader, place)
        if "unevaluatedItems" in place.schema:
            count = None
        if count != 0 or found != FALSE:
            looked.append((condition, count, found))
    _require_few(reader, location, sum(c != TRUE for c, _, _ in looked), "unevaluatedItems")
    formulas = reader.world.formulas

    def build(i: int, count: int, found: Formula) -> Formula:
        if i == len(looked):
            return _later(reader, count, formulas.disjunction(value, found))
        condition, more, also = looked[i]
        held = TRUE
        if more is not None:
            held = build(i + 1, max(count, more), formulas.disjunction(found, also))
        failed = TRUE if condition == TRUE else build(i + 1, count, found)
        return formulas.choice(condition, held, failed)

    return build(0, 0, FALSE)


def _positions(reader: Reader, location: Location) -> tuple[int | None, Formula]:
    """Return how many items one schema looks at (None: all), and of which others it does."""
    found = FALSE
    if reader.has(location, "contains") and location.draft == DRAFT2020:
        found = reader.child(location, "/contains", location.schema["contains"])
    listed = reader.get(location, "prefixItems" if location.draft == DRAFT2020 else "items")
    items = reader.has(location, "items")
    if location.draft == DRAFT2019 and isinstance(listed, list):
        items = reader.has(location, "additionalItems")
    if items:
        return None, found
    return (len(listed) if isinstance(listed, list) else 0), found


def _later(reader: Reader, count: int, value: Formula) -> Formula:
    """Return that all items from a position on satisfy a formula."""

    def make(world: World) -> Shape:
        free = world.everything
        record = ArrayShape((TRUE,) * count, value)
        return Shape(True, free.booleans, free.numbers, free.strings, (record,), free.objects)

    return TRUE if value == TRUE else reader.world.atom(("later", count, value), make)


def _require_few(reader: Reader, location: Location, found: int, keyword: str) -> None:
    if found > MANY:
        reason = f"it depends on {found} branches, more than {MANY}"
        raise reader.unsupported(reason, location, keyword)
