"""Shapes: sets of JSON values, as a union over the JSON types of what each type allows.

A ``Shape`` says which of null, true and false belong to it, which numbers and texts (languages),
and gives a list of *records* for arrays and one for objects; the set is the union of them all.

A record is a product. An object record says for each name on its own what may stand there:

    slots   of the names written out: a value formula, and whether the member may be missing
    rest    of all other names, by classes (disjoint languages): a value formula; missing is fine,
            and names in no class are forbidden
    some    demands: at least one member with a name of this language and a value of this formula
    minimum, maximum   the number of members

An array record is the same with positions for names: a prefix, the rest, counts, and demands
(``contains``) on how many items from some position on satisfy a formula.

That is why shapes are closed under the Boolean operations. The intersection of two products goes
coordinate by coordinate; the complement of a product is the union, over its coordinates, of
"anything, but here the complement" (Baazizi, Colazzo, Ghelli, Sartiani, Scherzinger, "Witness
Generation for JSON Schema", VLDB 2022). Values are formulas (``constrain.schema.formulas``), not
shapes, so that recursive schemas are finite objects: a formula becomes a shape when it is looked at.

Each name carries an *origin* which has no part in the set and only steers what is generated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING

from constrain.schema.formulas import FALSE, TRUE, Formula

if TYPE_CHECKING:
    from constrain.dfa import DFA
    from constrain.schema.languages import Steps


class Origin(IntEnum):
    """Why a name may stand in an object; where records are intersected, the greater one holds."""

    FREE = 0
    """Nothing was said about names: they are generated."""
    CLOSED = 1
    """Other names were declared, and nothing was said of this one: generated in open mode only."""
    OPEN = 2
    """``additionalProperties`` or ``patternProperties`` speaks of it: generated."""
    DECLARED = 3
    """``properties`` lists it: generated, in the order of declaration."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One name of an object: its value, and whether the member may be missing.

    A slot that is optional with the value ``FALSE`` forbids the name.
    """

    name: str
    value: Formula
    optional: bool
    origin: Origin

    @property
    def vacuous(self) -> bool:
        """Whether the slot allows everything."""
        return self.value == TRUE and self.optional


@dataclass(frozen=True, slots=True)
class NameClass:
    """All members with a name of the language; slots take precedence."""

    names: DFA
    value: Formula
    origin: Origin


@dataclass(frozen=True, slots=True)
class ObjectShape:
    """A set of objects, as a product over names; see the module's text."""

    slots: tuple[Slot, ...] = ()
    rest: tuple[NameClass, ...] = ()
    some: tuple[tuple[DFA, Formula], ...] = ()
    minimum: int = 0
    maximum: int | None = None

    def at(self, name: str) -> Slot:
        """Return what is said of a name, from its slot or its class."""
        for slot in self.slots:
            if slot.name == name:
                return slot
        data = name.encode("utf-8", "surrogatepass")
        for group in self.rest:
            if group.names.matches(data):
                return Slot(name, group.value, True, group.origin)
        return Slot(name, FALSE, True, Origin.FREE)

    def put(self, slot: Slot) -> ObjectShape:
        """Return the record with another slot in the place of the one of that name."""
        if any(old.name == slot.name for old in self.slots):
            slots = tuple(slot if old.name == slot.name else old for old in self.slots)
        else:
            slots = (*self.slots, slot)
        return replace(self, slots=slots)


@dataclass(frozen=True, slots=True)
class Contains:
    """The items from position ``start`` on that satisfy ``value`` number minimum to maximum."""

    start: int
    value: Formula
    minimum: int
    maximum: int | None


@dataclass(frozen=True, slots=True)
class ArrayShape:
    """A set of arrays, as a product over positions; see the module's text."""

    prefix: tuple[Formula, ...] = ()
    rest: Formula = TRUE
    minimum: int = 0
    maximum: int | None = None
    contains: tuple[Contains, ...] = ()
    unique: str | None = None
    """Where ``uniqueItems`` was asked for (a JSON pointer), or None."""

    def at(self, position: int) -> Formula:
        """Return the formula of the item at a position."""
        return self.prefix[position] if position < len(self.prefix) else self.rest


@dataclass(frozen=True, slots=True)
class Shape:
    """A set of JSON values: the union of what is allowed of each type."""

    null: bool
    booleans: frozenset[bool]
    numbers: DFA
    strings: Steps
    arrays: tuple[ArrayShape, ...]
    objects: tuple[ObjectShape, ...]


def least(left: int | None, right: int | None) -> int | None:
    """Return the smaller of two upper bounds, where None is none."""
    if left is None or right is None:
        return right if left is None else left
    return min(left, right)
