"""Arrays: intersection, difference and emptiness of array records (``constrain.schema.shapes``).

Position by position, like objects name by name. What is special: a position that no value can fill
bounds the length, and "some item is not of the rest" is a demand (``Contains``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from constrain.errors import UnsupportedSchema
from constrain.schema.formulas import FALSE, TRUE
from constrain.schema.shapes import ArrayShape, Contains, least

if TYPE_CHECKING:
    from constrain.schema.world import World


def tidy(world: World, record: ArrayShape) -> ArrayShape | None:
    """Return the record in a simpler form, or None if it is plainly empty.

    A position that nothing can fill ends the array before it; positions past the maximum are cut
    off; demands that every array meets are dropped.
    """
    prefix, maximum = _fillable(world, record)
    if maximum is not None and record.minimum > maximum:
        return None
    rest = record.rest if maximum is None or maximum > len(prefix) else FALSE
    contains = tuple(
        dict.fromkeys(c for c in record.contains if c.minimum > 0 or c.maximum is not None)
    )
    minimum = record.minimum
    for demand in contains:
        if demand.minimum:
            minimum = max(minimum, demand.start + demand.minimum)
        if demand.maximum is not None and demand.minimum > demand.maximum:
            return None
        if demand.minimum and not _can_contain(world, prefix, rest, demand):
            return None
    if maximum is not None and minimum > maximum:
        return None
    return ArrayShape(prefix, rest, minimum, maximum, contains, record.unique)


def _fillable(world: World, record: ArrayShape) -> tuple[tuple[int, ...], int | None]:
    """Return the prefix and the maximum, both cut off before what nothing can fill."""
    maximum = record.maximum
    prefix = record.prefix if maximum is None else record.prefix[:maximum]
    for position, value in enumerate(prefix):
        if not world.possible(value):
            return prefix[:position], position
    if maximum is not None and maximum <= len(prefix):
        return prefix, maximum
    if not world.possible(record.rest):
        return prefix, len(prefix)
    while prefix and prefix[-1] == record.rest:
        prefix = prefix[:-1]
    return prefix, maximum


def _can_contain(world: World, prefix: tuple[int, ...], rest: int, demand: Contains) -> bool:
    both = world.formulas.conjunction
    places = (*prefix[demand.start :], rest)
    return any(world.possible(both(value, demand.value)) for value in places)


def meet(world: World, left: ArrayShape, right: ArrayShape) -> ArrayShape | None:
    """Return the intersection of two records, or None if it is empty."""
    both = world.formulas.conjunction
    length = max(len(left.prefix), len(right.prefix))
    world.meter.spend(64 + 16 * length)
    record = ArrayShape(
        tuple(both(left.at(i), right.at(i)) for i in range(length)),
        both(left.rest, right.rest),
        max(left.minimum, right.minimum),
        least(left.maximum, right.maximum),
        left.contains + right.contains,
        left.unique if left.unique is not None else right.unique,
    )
    return tidy(world, record)


def minus(world: World, left: ArrayShape, right: ArrayShape) -> list[ArrayShape]:
    """Return records for what is in the left and not in the right.

    Raises
    ------
    UnsupportedSchema
        If "not all items are unique" would have to be enforced.
    """
    if meet(world.upper, left, right) is None:
        return [left]
    pieces = [*_other_items(world, left, right), *_other_counts(left, right)]
    if right.unique is not None and left.unique is None and left.maximum not in (0, 1):
        raise UnsupportedSchema(
            "a repeated item cannot be enforced (uniqueItems stands under not, oneOf or if)",
            right.unique,
            "uniqueItems",
            relaxable=True,
        )
    return [piece for piece in (tidy(world, p) for p in pieces) if piece is not None]


def _other_items(world: World, left: ArrayShape, right: ArrayShape) -> list[ArrayShape]:
    without = world.formulas.difference
    length = max(len(left.prefix), len(right.prefix))
    items = tuple(left.at(i) for i in range(length))
    pieces: list[ArrayShape] = []
    for i in range(length):
        value = without(left.at(i), right.at(i))
        if world.possible(value):
            prefix = (*items[:i], value, *items[i + 1 :])
            pieces.append(replace(left, prefix=prefix, minimum=max(left.minimum, i + 1)))
    outside = without(left.rest, right.rest)
    if world.possible(outside):
        demand = Contains(length, outside, 1, None)
        pieces.append(replace(left, contains=(*left.contains, demand)))
    return pieces


def _other_counts(left: ArrayShape, right: ArrayShape) -> list[ArrayShape]:
    pieces: list[ArrayShape] = []
    if left.minimum < right.minimum:
        pieces.append(replace(left, maximum=least(left.maximum, right.minimum - 1)))
    if right.maximum is not None and (left.maximum is None or left.maximum > right.maximum):
        pieces.append(replace(left, minimum=max(left.minimum, right.maximum + 1)))
    for demand in right.contains:
        if demand.minimum:
            fewer = replace(demand, minimum=0, maximum=demand.minimum - 1)
            pieces.append(replace(left, contains=(*left.contains, fewer)))
        if demand.maximum is not None:
            more = replace(demand, minimum=demand.maximum + 1, maximum=None)
            pieces.append(replace(left, contains=(*left.contains, more)))
    return pieces


def join(records: list[ArrayShape]) -> tuple[ArrayShape, ...]:
    """Return the union as a list of records without repetitions."""
    anything = ArrayShape()
    return (anything,) if anything in records else tuple(dict.fromkeys(records))


FREE_ARRAY = ArrayShape((), TRUE)
