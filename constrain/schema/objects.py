"""Objects: intersection, difference, union and emptiness of object records.

See ``constrain.schema.shapes`` for what a record is. Intersection goes name by name. The difference
``left - right`` has one piece for each name (or class of names, or count) in which the left record
can leave the right one; pieces that nothing can fill are dropped at once, so the difference of
records that a discriminator tells apart is the left record itself, whatever their size. Pieces may
overlap, which costs nothing in an automaton.

A union stays a list, but two records that differ in one name are one record: ``{t: "a", ...} or
{t: "b", ...}`` is ``{t: "a" or "b", ...}``, and a record inside another one is dropped. That keeps
the results of case distinctions small.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from constrain import algebra
from constrain.schema.formulas import FALSE
from constrain.schema.shapes import NameClass, ObjectShape, Origin, Slot, least

if TYPE_CHECKING:
    from collections.abc import Iterable

    from constrain.dfa import DFA
    from constrain.schema.world import World

FEW_NAMES = 32
"""A class of at most this many names is written out as slots."""
MANY_RECORDS = 64
"""Unions of more records than this are not searched for pairs that could be one."""


def meet(world: World, left: ObjectShape, right: ObjectShape) -> ObjectShape | None:
    """Return the intersection of two records, or None if it is empty."""
    slots: list[Slot] = []
    for name in _names(left, right):
        world.meter.spend(_cost(left, right))
        old = left.at(name)
        slot = _slot_of_both(world, old, right.at(name))
        if not slot.optional and slot != old and not world.possible(slot.value):
            return None
        slots.append(slot)
    record = ObjectShape(
        tuple(slots),
        _meet_rest(world, left.rest, right.rest),
        tuple(dict.fromkeys(left.some + right.some)),
        max(left.minimum, right.minimum),
        least(left.maximum, right.maximum),
    )
    return None if vacant(world, record, ()) else record


def _cost(left: ObjectShape, right: ObjectShape) -> int:
    """Return about what it costs to look up a name in both, in the units of ``Meter.spend``."""
    return 64 + len(left.slots) + len(right.slots)


def _all(slots: Iterable[Slot]) -> list[str]:
    return [slot.name for slot in slots]


def _names(left: ObjectShape, right: ObjectShape) -> list[str]:
    """Return the names of both, declared ones first, each list in its own order."""
    slots = (*left.slots, *right.slots)
    declared = [slot.name for slot in slots if slot.origin == Origin.DECLARED]
    return list(dict.fromkeys([*declared, *_all(slots)]))


def _slot_of_both(world: World, left: Slot, right: Slot) -> Slot:
    return Slot(
        left.name,
        world.formulas.conjunction(left.value, right.value),
        left.optional and right.optional,
        max(left.origin, right.origin),
    )


def _meet_rest(
    world: World, left: tuple[NameClass, ...], right: tuple[NameClass, ...]
) -> tuple[NameClass, ...]:
    space = world.texts.space
    groups: list[NameClass] = []
    for a in left:
        for b in right:
            value = world.formulas.conjunction(a.value, b.value)
            names = space.nothing if value == FALSE else space.meet(a.names, b.names)
            if names is not space.nothing:
                groups.append(NameClass(names, value, max(a.origin, b.origin)))
    return gathered(world, groups)


def gathered(world: World, groups: Iterable[NameClass]) -> tuple[NameClass, ...]:
    """Return disjoint classes with those of one value and origin joined."""
    found: dict[tuple[int, Origin], DFA] = {}
    for group in groups:
        key = (group.value, group.origin)
        names = found.get(key)
        found[key] = group.names if names is None else world.texts.space.join(names, group.names)
    return tuple(NameClass(names, *key) for key, names in found.items())


def vacant(world: World, record: ObjectShape, slots: Iterable[Slot] | None = None) -> bool:
    """Return whether a record is plainly empty; only the given slots are looked into."""
    required = sum(not slot.optional for slot in record.slots)
    if record.maximum is not None and max(record.minimum, required) > record.maximum:
        return True
    for slot in record.slots if slots is None else slots:
        if not slot.optional and not world.possible(slot.value):
            return True
    if not record.rest and record.minimum > sum(s.value != FALSE for s in record.slots):
        return True
    return any(not _can_have(world, record, names, value) for names, value in record.some)


def _can_have(world: World, record: ObjectShape, names: DFA, value: int) -> bool:
    both = world.formulas.conjunction
    space = world.texts.space
    return any(
        world.possible(both(slot.value, value))
        for slot in record.slots
        if names.matches(slot.name.encode("utf-8", "surrogatepass"))
    ) or any(
        space.meet(group.names, names) is not space.nothing
        and world.possible(both(group.value, value))
        for group in record.rest
    )


def minus(world: World, left: ObjectShape, right: ObjectShape) -> list[ObjectShape]:
    """Return records for what is in the left and not in the right."""
    if meet(world.upper, left, right) is None:
        return [left]
    pieces = [
        *_other_slots(world, left, right),
        *_other_rest(world, left, right),
        *_other_counts(left, right),
    ]
    for names, value in right.some:
        pieces.append(_without(world, left, names, value))
    return [piece for piece in pieces if not vacant(world, piece)]


def _other_slots(world: World, left: ObjectShape, right: ObjectShape) -> list[ObjectShape]:
    pieces: list[ObjectShape] = []
    for name in _names(left, right):
        world.meter.spend(_cost(left, right))
        mine, other = left.at(name), right.at(name)
        value = world.formulas.difference(mine.value, other.value)
        missing = mine.optional and not other.optional
        if not world.possible(value):
            value = FALSE
        if missing or value != FALSE:
            pieces.append(left.put(replace(mine, value=value, optional=missing)))
    return pieces


def _other_rest(world: World, left: ObjectShape, right: ObjectShape) -> list[ObjectShape]:
    """Return pieces with a member, of a name without slot, whose value the right does not allow."""
    space = world.texts.space
    named = world.texts.literals(_names(left, right))
    pieces: list[ObjectShape] = []
    for group in left.rest:
        unmatched = space.minus(group.names, named)
        parts: list[tuple[DFA, int]] = []
        for other in right.rest:
            names = space.meet(unmatched, other.names)
            unmatched = space.minus(unmatched, other.names)
            parts.append((names, world.formulas.difference(group.value, other.value)))
        parts.append((unmatched, group.value))
        for names, value in parts:
            if names is space.nothing or not world.possible(value):
                continue
            few = algebra.words(names, FEW_NAMES)
            if few is None:
                pieces.append(replace(left, some=(*left.some, (names, value))))
                continue
            for word in few:
                slot = Slot(word.decode(), value, False, group.origin)
                pieces.append(left.put(slot))
    return pieces


def _other_counts(left: ObjectShape, right: ObjectShape) -> list[ObjectShape]:
    pieces: list[ObjectShape] = []
    if left.minimum < right.minimum:
        pieces.append(replace(left, maximum=least(left.maximum, right.minimum - 1)))
    if right.maximum is not None and (left.maximum is None or left.maximum > right.maximum):
        pieces.append(replace(left, minimum=max(left.minimum, right.maximum + 1)))
    return pieces


def _without(world: World, record: ObjectShape, names: DFA, value: int) -> ObjectShape:
    """Return the objects of a record no member of which has such a name and such a value."""
    space = world.texts.space
    without = world.formulas.difference
    slots = tuple(
        replace(slot, value=without(slot.value, value))
        if names.matches(slot.name.encode("utf-8", "surrogatepass"))
        else slot
        for slot in record.slots
    )
    groups: list[NameClass] = []
    for group in record.rest:
        inside = space.meet(group.names, names)
        outside = space.minus(group.names, names)
        groups.append(replace(group, names=inside, value=without(group.value, value)))
        groups.append(replace(group, names=outside))
    kept = [g for g in groups if g.names is not space.nothing and g.value != FALSE]
    return replace(record, slots=slots, rest=gathered(world, kept))


def join(world: World, records: list[ObjectShape]) -> tuple[ObjectShape, ...]:
    """Return the union as a list of records, in which pairs that differ in one name are one.

    The clock is read: many records take cubic time.
    """
    kept: list[ObjectShape] = []
    for record in dict.fromkeys(records):
        new = record
        i = 0
        while i < len(kept) <= MANY_RECORDS:
            world.meter.spend(16 * _cost(kept[i], new))
            one = _as_one(world, kept[i], new)
            if one is None:
                i += 1
            else:
                del kept[i]
                new, i = one, 0
        kept.append(new)
    return tuple(kept)


def _inside(world: World, inner: ObjectShape, outer: ObjectShape) -> bool:
    """Return True only if every object of the one record belongs to the other."""
    if inner.rest != outer.rest or not set(outer.some) <= set(inner.some):
        return False
    if inner.minimum < outer.minimum or inner.maximum != least(inner.maximum, outer.maximum):
        return False
    implies = world.formulas.implies
    pairs = ((inner.at(name), outer.at(name)) for name in _names(inner, outer))
    return all(a.optional <= b.optional and implies(a.value, b.value) for a, b in pairs)


def _as_one(world: World, left: ObjectShape, right: ObjectShape) -> ObjectShape | None:
    """Return the union of two records if it is one plainly: they differ in one name, or nest."""
    if _inside(world, left, right):
        return right
    if _inside(world, right, left):
        return left
    counts = (left.minimum, left.maximum) == (right.minimum, right.maximum)
    if not counts or left.rest != right.rest or left.some != right.some:
        return None
    differing: list[Slot] = []
    for name in _names(left, right):
        a, b = left.at(name), right.at(name)
        if (a.value, a.optional) != (b.value, b.optional):
            if differing:
                return None
            value = world.formulas.disjunction(a.value, b.value)
            differing.append(Slot(name, value, a.optional or b.optional, max(a.origin, b.origin)))
    merged = replace(left, slots=tuple(left.at(name) for name in _names(left, right)))
    return merged.put(differing[0]) if differing else merged
