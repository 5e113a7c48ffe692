"""Formulas that few values satisfy, as lists of those values.

``uniqueItems`` is regular only where the items are of few values. Each value is a formula of its
own (an atom that only it satisfies), so equal values, whatever their spelling, are equal integers.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from constrain import algebra
from constrain.schema import numbers
from constrain.schema.assertions import value_formula
from constrain.schema.formulas import FALSE

if TYPE_CHECKING:
    from constrain.schema.formulas import Formula
    from constrain.schema.shapes import ArrayShape, ObjectShape
    from constrain.schema.world import World

FEW = 12
"""More values than this are many."""


def finite_values(world: World, formula: Formula) -> list[Formula] | None:
    """Return the formulas of the single values that satisfy a formula; None if they are many."""
    values = _values(world, formula, 0)
    if values is None:
        return None
    return list(dict.fromkeys(value_formula(world, value) for value in values))


def _values(world: World, formula: Formula, depth: int) -> list[Any] | None:
    if formula == FALSE:
        return []
    if depth > FEW:
        return None
    shape = world.shape(formula)
    found: list[Any] = [None] if shape.null else []
    found.extend(sorted(shape.booleans))
    parts: list[list[Any] | None] = [numbers.values(shape.numbers, FEW)]
    for _, end, language in world.texts.pieces(shape.strings):
        words = algebra.words(language, FEW) if end is None else None
        parts.append(None if words is None else [word.decode() for word in words])
    parts.extend(_arrays(world, record, depth) for record in shape.arrays)
    parts.extend(_objects(world, record, depth) for record in shape.objects)
    for part in parts:
        if part is None or len(found) + len(part) > FEW:
            return None
        found.extend(part)
    return found


def _arrays(world: World, record: ArrayShape, depth: int) -> list[Any] | None:
    if record.contains or record.unique is not None:
        return None
    if record.maximum is None or record.maximum > FEW:
        return None
    found: list[Any] = []
    for length in range(record.minimum, record.maximum + 1):
        items = [_values(world, record.at(i), depth + 1) for i in range(length)]
        combined = _combinations(items)
        if combined is None:
            return None
        found.extend(list(values) for values in combined)
    return found


def _objects(world: World, record: ObjectShape, depth: int) -> list[Any] | None:
    if record.rest or record.some or record.minimum or record.maximum is not None:
        return None
    missing = object()
    options: list[list[Any] | None] = []
    for slot in record.slots:
        values = _values(world, slot.value, depth + 1)
        options.append(values if values is None or not slot.optional else [missing, *values])
    combined = _combinations(options)
    if combined is None:
        return None
    names = [slot.name for slot in record.slots]
    return [
        {n: v for n, v in zip(names, values, strict=True) if v is not missing}
        for values in combined
    ]


def _combinations(options: list[list[Any] | None]) -> list[tuple[Any, ...]] | None:
    """Return the product of lists, None if one is None or there are many."""
    count = 1
    known: list[list[Any]] = []
    for values in options:
        if values is None:
            return None
        count *= len(values)
        known.append(values)
    return None if count > FEW else list(product(*known))
