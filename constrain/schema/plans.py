"""Plans: object records made ready for writing.

A record says what is allowed; a plan says what is written. Between the two

* members that nothing can fill are dropped,
* objects that declare names and say nothing of others are closed, unless ``open`` (or unless they
  could not be filled then),
* demands (``some``) that a named member can meet become records with that member required, and
* what is left of them becomes *witnesses*, written last.

Why last: JSON readers keep the last of several members of one name. Named members are written once.
Additional members may repeat a name among themselves, which is harmless for their values (each is
of the same class), but a demand must be met by what survives. A witness survives if no later member
can have its name: witnesses come last and their names are disjoint. The same care holds for
``minProperties``: additional members count if there are no witnesses and their names are surely
different (``constrain.schema.write_objects``), and at most a few of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from constrain import algebra
from constrain.errors import UnsupportedSchema
from constrain.schema import objects
from constrain.schema.formulas import FALSE, TRUE, Formula
from constrain.schema.shapes import ObjectShape, Origin, Slot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constrain.dfa import DFA
    from constrain.schema.world import World

_MANY_DEMANDS = 3
_MANY_NAMES = 4

Choice = tuple[tuple["DFA", Formula], ...]
"""Members of which one is written: (names, value), the names disjoint."""


@dataclass(frozen=True, slots=True)
class Plan:
    """An object to write: named members in order, then any of the rest, then the witnesses.

    Attributes
    ----------
    slots : tuple[Slot, ...]
        In the order of writing; all can be filled.
    rest : Choice
        Additional members.
    witnesses : tuple[Choice, ...]
        One member of each, in this order, at the end.
    minimum, maximum : int, int | None
        The number of members; if there are witnesses, those of the rest do not count.
    """

    slots: tuple[Slot, ...]
    rest: Choice
    witnesses: tuple[Choice, ...]
    minimum: int
    maximum: int | None

    def values(self) -> Iterator[Formula]:
        """Yield the formulas of all members."""
        for slot in self.slots:
            yield slot.value
        for choice in (self.rest, *self.witnesses):
            for _, value in choice:
                yield value


def plans(
    world: World, records: tuple[ObjectShape, ...], *, open_: bool, pointer: str
) -> list[Plan]:
    """Return the plans whose union is what is written for the records of one place.

    Raises
    ------
    UnsupportedSchema
        If nothing can be written, because several additional members would have to differ in
        their names. (A record of several for which that is so is left out.)
    """
    found: dict[Plan, None] = {}
    unable: ObjectShape | None = None
    for record in records:
        mine = [] if open_ else _plans_of(world, _closed(record))
        mine = mine or _plans_of(world, record)
        if not mine and unable is None:
            unable = next(_ready(world, record), None)
        found.update(dict.fromkeys(mine))
    if unable is not None and not found:
        keyword = None if unable.some else "minProperties"
        reason = "several additional members with different names cannot be enforced"
        raise UnsupportedSchema(reason, pointer, keyword)
    return list(found)


def _plans_of(world: World, record: ObjectShape) -> list[Plan]:
    return [plan for ready in _ready(world, record) for plan in _ready_plans(world, ready)]


def _closed(record: ObjectShape) -> ObjectShape:
    """Return the record without members that nobody declared or spoke of."""
    slots = tuple(
        replace(slot, value=FALSE) if slot.optional and slot.origin == Origin.CLOSED else slot
        for slot in record.slots
    )
    rest = tuple(group for group in record.rest if group.origin != Origin.CLOSED)
    return replace(record, slots=slots, rest=rest)


def _ready(world: World, record: ObjectShape) -> Iterator[ObjectShape]:
    """Yield records whose demands speak of no slot, and whose every member can be filled."""
    pending = [(_filled(world, record), 0)]
    while pending:
        top, settled = pending.pop()
        if objects.vacant(world, top):
            continue
        if settled == len(top.some):
            yield top
            continue
        names, value = top.some[settled]
        without = replace(top, some=top.some[:settled] + top.some[settled + 1 :])
        others, named = _outside(world, top, names)
        if others is not world.texts.space.nothing:
            demands = (*top.some[:settled], (others, value), *top.some[settled + 1 :])
            pending.append((replace(top, some=demands), settled + 1))
        for slot in named:
            both = world.formulas.conjunction(slot.value, value)
            if world.possible(both):
                pending.append((without.put(replace(slot, value=both, optional=False)), settled))


def _filled(world: World, record: ObjectShape) -> ObjectShape:
    slots = tuple(
        slot if world.possible(slot.value) else replace(slot, value=FALSE) for slot in record.slots
    )
    rest = tuple(group for group in record.rest if world.possible(group.value))
    return replace(record, slots=slots, rest=rest)


def _outside(world: World, record: ObjectShape, names: DFA) -> tuple[DFA, list[Slot]]:
    """Return the names of a demand that have no slot, and the slots (made for few names) it has."""
    space = world.texts.space
    taken = [slot for slot in record.slots if names.matches(_bytes(slot.name))]
    unnamed = space.minus(names, world.texts.literals(s.name for s in record.slots))
    able = [space.meet(unnamed, group.names) for group in record.rest]
    unnamed = space.join_all(able)
    few = algebra.words(unnamed, objects.FEW_NAMES)
    if few is None:
        return unnamed, taken
    return space.nothing, [*taken, *(record.at(word.decode()) for word in few)]


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")


def _ready_plans(world: World, record: ObjectShape) -> list[Plan]:
    slots, rest = _order(world, record)
    minimum, maximum = record.minimum, record.maximum
    if maximum is not None and not rest and maximum >= len(slots):
        maximum = None
    if minimum <= sum(not slot.optional for slot in slots):
        minimum = 0
    found: list[Plan] = []
    for witnesses in _witnesses(world, record, rest):
        counted = len(slots) + (len(witnesses) or (_MANY_NAMES if rest else 0))
        if minimum <= counted:
            found.append(Plan(slots, rest, witnesses, minimum, maximum))
    return found


def _order(world: World, record: ObjectShape) -> tuple[tuple[Slot, ...], Choice]:
    """Return the slots to write, declared ones first, and the rest without their names.

    A class of few names becomes slots as well, so that its names are never repeated.
    """
    space = world.texts.space
    slots = [slot for slot in record.slots if slot.value != FALSE]
    rest: list[tuple[DFA, Formula]] = []
    for group in record.rest:
        names = space.minus(group.names, world.texts.literals(s.name for s in record.slots))
        few = algebra.words(names, objects.FEW_NAMES)
        if few is None:
            rest.append((names, group.value))
        else:
            slots.extend(Slot(w.decode(), group.value, True, group.origin) for w in few)
    slots.sort(key=lambda slot: slot.origin != Origin.DECLARED)
    return tuple(slots), tuple(rest)


def _witnesses(world: World, record: ObjectShape, rest: Choice) -> Iterator[tuple[Choice, ...]]:
    """Yield lists of witnesses that together meet all demands; each has names of its own."""
    if len(record.some) > _MANY_DEMANDS:
        return
    space, both = world.texts.space, world.formulas.conjunction
    for groups in _partitions(list(record.some)):
        merged: list[tuple[DFA, Formula]] = []
        for group in groups:
            names, value = space.everything, TRUE
            for more, other in group:
                names, value = space.meet(names, more), both(value, other)
            merged.append((names, value))
        pairs = ((a, b) for i, (a, _) in enumerate(merged) for b, _ in merged[:i])
        if any(space.meet(a, b) is not space.nothing for a, b in pairs):
            continue
        choices = [_choice(world, rest, names, value) for names, value in merged]
        if all(choices):
            yield tuple(choices)


def _choice(world: World, rest: Choice, names: DFA, value: Formula) -> Choice:
    space, both = world.texts.space, world.formulas.conjunction
    found = ((space.meet(mine, names), both(v, value)) for mine, v in rest)
    return tuple((n, v) for n, v in found if n is not space.nothing and world.possible(v))


def _partitions(
    items: list[tuple[DFA, Formula]],
) -> Iterator[list[list[tuple[DFA, Formula]]]]:
    """Yield the ways to put items into groups."""
    if not items:
        yield []
        return
    first, others = items[0], items[1:]
    for groups in _partitions(others):
        yield [[first], *groups]
        for i, group in enumerate(groups):
            yield [*groups[:i], [first, *group], *groups[i + 1 :]]
