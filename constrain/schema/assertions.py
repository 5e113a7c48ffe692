"""The shape of a schema's own assertions: type, enum, const, and the keywords of each JSON type.

All assertions of one schema are intersected: one record for its arrays, one for its objects, one
language for its texts and one for its numbers. The schemas of members and items enter as formulas
and are not looked into here (but for the names of ``propertyNames``), so that a schema may refer
to itself inside. A finite set of values (``enum``, ``const``) is an atom of its own.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from constrain.errors import LimitError, PatternError
from constrain.schema import arrays, formats, numbers, objects, strings, values
from constrain.schema.formulas import FALSE, TRUE, Formula
from constrain.schema.shapes import (
    ArrayShape,
    Contains,
    NameClass,
    ObjectShape,
    Origin,
    Shape,
    Slot,
)
from constrain.schema.support import DRAFT4, DRAFT2020
from constrain.schema.validation import escaped, is_number

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from constrain.dfa import DFA
    from constrain.schema.documents import Location
    from constrain.schema.languages import Steps
    from constrain.schema.reading import Reader
    from constrain.schema.world import World

_NUMBER = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_STRING = ("minLength", "maxLength", "pattern", "format")
_ARRAY = (
    "prefixItems",
    "items",
    "additionalItems",
    "minItems",
    "maxItems",
    "contains",
    "minContains",
    "maxContains",
    "uniqueItems",
)
_OBJECT = (
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
)
KEYWORDS: frozenset[str] = frozenset(("type", "nullable", *_NUMBER, *_STRING, *_ARRAY, *_OBJECT))
"""The keywords that this module turns into a shape."""


def shape(reader: Reader, world: World, location: Location) -> Shape:
    """Return the values that a schema's own assertions allow."""
    kinds = kinds_of(reader, location)
    return Shape(
        null="null" in kinds,
        booleans=frozenset((False, True)) if "boolean" in kinds else frozenset(),
        numbers=_numbers(reader, world, location, kinds),
        strings=_texts(reader, world, location) if "string" in kinds else world.texts.nothing,
        arrays=_arrays(reader, location) if "array" in kinds else (),
        objects=_objects(reader, world, location) if "object" in kinds else (),
    )


def only_objects(world: World, records: tuple[ObjectShape, ...]) -> Shape:
    """Return the shape of nothing but the objects of some records."""
    none = world.nothing
    return Shape(none.null, none.booleans, none.numbers, none.strings, none.arrays, records)


def kinds_of(reader: Reader, location: Location) -> set[str]:
    """Return the JSON types that ``type`` and ``nullable`` leave."""
    kinds = reader.get(location, "type")
    if kinds is None:
        return {"null", "boolean", "number", "string", "array", "object"}
    found = {kinds} if isinstance(kinds, str) else set(kinds)
    if reader.get(location, "nullable") is True:
        found.add("null")
    return found


# -- numbers ----------------------------------------------------------------------------------


def _numbers(reader: Reader, world: World, location: Location, kinds: set[str]) -> DFA:
    space = world.numbers
    if "number" in kinds:
        result = space.everything
    elif "integer" in kinds:
        result = space.intern(numbers.integers())
    else:
        return space.nothing
    for language in _number_languages(reader, location):
        result = space.meet(result, space.intern(language))
    return result


def _number_languages(reader: Reader, location: Location) -> Iterable[DFA]:
    meter = reader.meter
    for keyword, bound in (("minimum", numbers.at_least), ("maximum", numbers.at_most)):
        strict = "exclusiveMinimum" if keyword == "minimum" else "exclusiveMaximum"
        value, edge = reader.get(location, keyword), reader.get(location, strict)
        edges = [(value, location.draft == DRAFT4 and edge is True)] if value is not None else []
        edges += [(edge, True)] if is_number(edge) else []
        for number, exclusive in edges:
            limit = values.number(number)
            key = (keyword, limit, exclusive)
            yield reader.once(key, partial(bound, limit, exclusive, meter))
    factor = reader.get(location, "multipleOf")
    if factor is not None:
        meter.where = f"#{location.pointer}/multipleOf"
        try:
            yield numbers.multiple_of(Fraction(values.number(factor)), meter)
        except LimitError as error:
            if error.where:  # one of the limits of the compile
                raise
            raise reader.unsupported(str(error), location, "multipleOf") from error


# -- strings ----------------------------------------------------------------------------------


def _texts(reader: Reader, world: World, location: Location) -> Steps:
    texts = world.texts
    least, most = reader.get(location, "minLength"), reader.get(location, "maxLength")
    result = texts.everything
    if least is not None or most is not None:
        result = texts.between(int(least or 0), None if most is None else int(most))
    pattern = reader.get(location, "pattern")
    if pattern is not None:
        found = pattern_language(reader, pattern, location, "pattern")
        result = texts.meet(result, texts.of(found))
    name = reader.get(location, "format")
    if name is not None:
        language = _format(reader, world, location, name)
        if language is not None:
            result = texts.meet(result, texts.of(language))
    return result


def pattern_language(reader: Reader, pattern: str, location: Location, keyword: str) -> DFA:
    """Return the texts in which a pattern of a schema finds a match."""
    try:
        return reader.once(pattern, lambda: strings.from_pattern(pattern, reader.meter))
    except PatternError as error:
        reason = f"{error.reason}, at position {error.span[0]} of {pattern!r}"
        raise reader.unsupported(reason, location, keyword) from error


def _format(reader: Reader, world: World, location: Location, name: str) -> DFA | None:
    if world.is_upper and not formats.is_exact(name):
        return None
    try:
        return formats.language(name)
    except ValueError as error:
        raise reader.unsupported(f"format {name}: {error}", location, "format") from error


# -- arrays -----------------------------------------------------------------------------------


def _arrays(reader: Reader, location: Location) -> tuple[ArrayShape, ...]:
    prefix, rest = _items(reader, location)
    least, most = reader.get(location, "minItems"), reader.get(location, "maxItems")
    record = ArrayShape(
        prefix,
        rest,
        int(least or 0),
        None if most is None else int(most),
        _contains(reader, location),
        location.pointer if reader.get(location, "uniqueItems") is True else None,
    )
    return () if record.maximum is not None and record.minimum > record.maximum else (record,)


def _items(reader: Reader, location: Location) -> tuple[tuple[Formula, ...], Formula]:
    after = "items" if location.draft == DRAFT2020 else "additionalItems"
    listed = "prefixItems" if location.draft == DRAFT2020 else "items"
    prefix = reader.get(location, listed)
    if not isinstance(prefix, list):
        prefix = []
        after = "items"
    head = tuple(reader.child(location, f"/{listed}/{i}", s) for i, s in enumerate(prefix))
    if not reader.has(location, after):
        return head, TRUE
    return head, reader.child(location, f"/{after}", location.schema[after])


def _contains(reader: Reader, location: Location) -> tuple[Contains, ...]:
    if not reader.has(location, "contains"):
        return ()
    value = reader.child(location, "/contains", location.schema["contains"])
    least, most = reader.get(location, "minContains"), reader.get(location, "maxContains")
    minimum = 1 if least is None else int(least)
    return (Contains(0, value, minimum, None if most is None else int(most)),)


# -- objects ----------------------------------------------------------------------------------


def forbidden_names(reader: Reader, world: World, location: Location) -> list[str]:
    """Return the required names of a schema that its own assertions forbid."""
    record = _record(reader, world, location)
    return [slot.name for slot in record.slots if slot.value == FALSE and not slot.optional]


def _objects(reader: Reader, world: World, location: Location) -> tuple[ObjectShape, ...]:
    record = _record(reader, world, location)
    forbidden = any(slot.value == FALSE and not slot.optional for slot in record.slots)
    return () if forbidden or objects.vacant(world, record, ()) else (record,)


def _record(reader: Reader, world: World, location: Location) -> ObjectShape:
    names = _allowed_names(reader, world, location)
    patterns = _patterns(reader, world, location)
    rest = _rest(reader, world, location, patterns, names)
    space = world.texts.space
    slots: dict[str, Slot] = {}
    required = set(reader.get(location, "required") or ())
    for name, schema in (reader.get(location, "properties") or {}).items():
        value = reader.child(location, f"/properties/{escaped(name)}", schema)
        data = name.encode("utf-8", "surrogatepass")
        for language, other in patterns:
            if language.matches(data):
                value = world.formulas.conjunction(value, other)
        if names is not space.everything and not names.matches(data):
            value = FALSE
        slots[name] = Slot(name, value, name not in required, Origin.DECLARED)
    undeclared = ObjectShape(rest=rest)
    for name in reader.get(location, "required") or ():
        if name not in slots:
            slots[name] = replace(undeclared.at(name), optional=False)
    least, most = reader.get(location, "minProperties"), reader.get(location, "maxProperties")
    return ObjectShape(
        tuple(slots.values()), rest, (), int(least or 0), None if most is None else int(most)
    )


def _allowed_names(reader: Reader, world: World, location: Location) -> DFA:
    if not reader.has(location, "propertyNames"):
        return world.texts.space.everything
    formula = reader.child(location, "/propertyNames", location.schema["propertyNames"])
    return world.texts.flat(world.shape(formula).strings)


def _patterns(reader: Reader, world: World, location: Location) -> list[tuple[DFA, Formula]]:
    found: list[tuple[DFA, Formula]] = []
    for pattern, schema in (reader.get(location, "patternProperties") or {}).items():
        language = pattern_language(reader, pattern, location, "patternProperties")
        value = reader.child(location, f"/patternProperties/{escaped(pattern)}", schema)
        found.append((world.texts.space.intern(language), value))
    return found


def _rest(
    reader: Reader,
    world: World,
    location: Location,
    patterns: list[tuple[DFA, Formula]],
    names: DFA,
) -> tuple[NameClass, ...]:
    """Return the classes of names: those that patterns find, and all others."""
    space = world.texts.space
    matched: list[tuple[DFA, Formula]] = []
    unmatched = names
    for language, value in patterns:
        split: list[tuple[DFA, Formula]] = []
        for other, old in [*matched, (unmatched, TRUE)]:
            split.append((space.meet(other, language), world.formulas.conjunction(old, value)))
        outside = [(space.minus(other, language), old) for other, old in matched]
        unmatched = space.minus(unmatched, language)
        matched = [part for part in [*split, *outside] if part[0] is not space.nothing]
    groups = [NameClass(language, value, Origin.OPEN) for language, value in matched]
    groups.append(NameClass(unmatched, *_additional(reader, location)))
    kept = (g for g in groups if g.value != FALSE and g.names is not space.nothing)
    return objects.gathered(world, kept)


def _additional(reader: Reader, location: Location) -> tuple[Formula, Origin]:
    if reader.has(location, "additionalProperties"):
        schema = location.schema["additionalProperties"]
        return reader.child(location, "/additionalProperties", schema), Origin.OPEN
    closing = ("properties", "required", "patternProperties")
    closed = any(reader.has(location, keyword) for keyword in closing)
    return TRUE, Origin.CLOSED if closed else Origin.FREE


# -- values -----------------------------------------------------------------------------------


def of_values(world: World, listed: list[Any]) -> Shape:
    """Return the shape of a finite set of JSON values."""
    texts = [value for value in listed if isinstance(value, str)]
    exact = {values.number(value): None for value in listed if is_number(value)}
    found_arrays = [_array_of(world, value) for value in listed if isinstance(value, list)]
    found = [_object_of(world, value) for value in listed if isinstance(value, dict)]
    return Shape(
        null=any(value is None for value in listed),
        booleans=frozenset(value for value in listed if isinstance(value, bool)),
        numbers=_numbers_of(world, exact),
        strings=world.texts.of(world.texts.literals(texts)) if texts else world.texts.nothing,
        arrays=arrays.join(found_arrays),
        objects=objects.join(world, found),
    )


def _numbers_of(world: World, exact: Collection[Fraction]) -> DFA:
    if not exact:
        return world.numbers.nothing
    return world.numbers.intern(numbers.listed(exact, world.meter))


def values_formula(world: World, listed: list[Any]) -> Formula:
    """Return the formula that the values of a finite set satisfy."""
    if not listed:
        return FALSE
    key = ("values", distinct(listed))
    return world.atom(key, lambda view: of_values(view, listed))


def distinct(values: list[Any]) -> frozenset[Any]:
    """Return a hashable key of each value; equal JSON values share one."""
    return frozenset(map(_key, values))


def value_formula(world: World, value: Any) -> Formula:
    """Return the formula that one JSON value satisfies."""
    return values_formula(world, [value])


def _array_of(world: World, value: list[Any]) -> ArrayShape:
    items = tuple(value_formula(world, item) for item in value)
    return ArrayShape(items, FALSE, len(items), len(items))


def _object_of(world: World, value: dict[str, Any]) -> ObjectShape:
    slots = tuple(
        Slot(name, value_formula(world, member), False, Origin.DECLARED)
        for name, member in value.items()
    )
    return ObjectShape(slots)


def _key(value: Any) -> Any:
    """Return a hashable key that equal JSON values share."""
    if isinstance(value, dict):
        return ("object", frozenset((name, _key(member)) for name, member in value.items()))
    if isinstance(value, list):
        return ("array", *map(_key, value))
    if is_number(value):
        return ("number", values.number(value))
    return (type(value).__name__, value)
