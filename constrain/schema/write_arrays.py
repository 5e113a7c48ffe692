"""The text of an array: a graph along its positions.

An array is written along a chain of positions, up to the last one at which anything changes; points
also carry how many items have met each demand of ``contains``. Where the items are of few values and
must differ, points carry the set of values that were written.

Where a count is large the commas tick instead, and the frame counts.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from constrain.errors import LimitError, UnsupportedSchema
from constrain.schema.finite import finite_values
from constrain.schema.writing import LARGE_REPEAT, Place, Points, Written, ticking
from constrain.syntax import EPSILON, Node, concat

if TYPE_CHECKING:
    from collections.abc import Callable

    from constrain.schema.formulas import Formula
    from constrain.schema.layout import Layout
    from constrain.schema.shapes import ArrayShape
    from constrain.schema.world import World

_MANY_DEMANDS = 4
_MANY_SUBSETS = 2000


def write_array(
    world: World,
    record: ArrayShape,
    layout: Layout,
    place: Place,
    size: Callable[[Node], int],
    *,
    counting: bool,
) -> Written:
    """Return what stands between the brackets of a record.

    Parameters
    ----------
    world : World
    record : ArrayShape
    layout : Layout
    place : Callable[[Formula], Node]
    size : Callable[[Node], int]
        The number of NFA states of a node.
    counting : bool
        Whether a frame may count the commas.
    """
    if record.unique is not None and record.maximum not in (0, 1):
        return Written(_write_different(world, record, layout, place))
    if counting and not record.contains:
        most = record.maximum if record.maximum is not None else record.minimum
        copies = most - len(record.prefix)
        if copies > 1 and copies * size(place(record.rest)) > LARGE_REPEAT:
            return _write_counted(world, record, layout, place)
    return Written(_ArrayWriter(world, record, layout, place).write())


def _write_counted(world: World, record: ArrayShape, layout: Layout, place: Place) -> Written:
    points = Points(world.meter)
    last = len(record.prefix)
    for i in range(last + 1):
        after = min(i + 1, last)
        points.edge((i, "in"), place(record.at(i)), (i, "out"))
        points.edge((i, "out"), ticking(layout.comma), (after, "in"))
        points.edge((i, "out"), EPSILON, "end")
    points.edge("start", EPSILON, (0, "in"))
    if record.minimum == 0:  # not from (0, "in"), which may stand after a comma as well
        points.edge("start", EPSILON, "end")
    maximum = None if record.maximum is None else record.maximum - 1
    return Written(points.graph("start", "end"), max(record.minimum - 1, 0), maximum)


class _ArrayWriter:
    """Writes one record; points are (items written, items that met each demand)."""

    def __init__(self, world: World, record: ArrayShape, layout: Layout, place: Place) -> None:
        self.world = world
        self.record = record
        self.layout = layout
        self.place = place
        self.points = Points(world.meter)
        self.demands = record.contains
        if len(self.demands) > _MANY_DEMANDS:
            reason = f"{len(self.demands)} demands of contains on one array"
            raise UnsupportedSchema(reason, "", "contains")
        starts = [demand.start for demand in self.demands]
        changing = max(1, len(record.prefix), record.minimum, *starts)
        self.last = changing if record.maximum is None else record.maximum
        self.nodes: dict[Formula, Node] = {}

    def write(self) -> Node:
        points, record = self.points, self.record
        start = (0, (0,) * len(self.demands))
        points.number(start)
        for key in points.queue:
            if not isinstance(key, tuple) or key[0] in ("in", "end"):
                continue
            items, counts = key
            enough = all(c >= d.minimum for c, d in zip(counts, self.demands, strict=True))
            if items >= record.minimum and enough:
                points.edge(key, EPSILON, ("end",))
            if record.maximum is None or items < record.maximum:
                front = ("in", *key)
                points.edge(key, self.layout.comma if items else EPSILON, front)
                for value, after in self._items(items, counts):
                    node = self.nodes.get(value)
                    if node is None:
                        node = self.nodes[value] = self.place(value)
                    points.edge(front, node, (min(items + 1, self.last), after))
        return points.graph(start, ("end",))

    def _items(self, items: int, counts: tuple[int, ...]) -> list[tuple[Formula, tuple[int, ...]]]:
        """Return the next item by which demands it meets: (formula, counts after it)."""
        formulas = self.world.formulas
        active = [i for i, demand in enumerate(self.demands) if demand.start <= items]
        found: list[tuple[Formula, tuple[int, ...]]] = []
        for meets in product((False, True), repeat=len(active)):
            value, after = self.record.at(items), list(counts)
            for i, met in zip(active, meets, strict=True):
                demand = self.demands[i]
                if met:
                    value = formulas.conjunction(value, demand.value)
                    after[i] += 1
                elif demand.maximum is not None:
                    value = formulas.difference(value, demand.value)
            if self._allowed(after) and self.world.possible(value):
                found.append((value, self._saturated(after)))
        return found

    def _allowed(self, counts: list[int]) -> bool:
        return all(
            demand.maximum is None or count <= demand.maximum
            for count, demand in zip(counts, self.demands, strict=True)
        )

    def _saturated(self, counts: list[int]) -> tuple[int, ...]:
        return tuple(
            min(count, demand.minimum) if demand.maximum is None else count
            for count, demand in zip(counts, self.demands, strict=True)
        )


def _write_different(world: World, record: ArrayShape, layout: Layout, place: Place) -> Node:
    """Return arrays without repetitions: points are sets of the values written so far."""
    places = (*record.prefix, record.rest)
    listed = [finite_values(world, value) for value in places]
    if any(values is None for values in listed) or record.contains:
        raise UnsupportedSchema(
            "items of many values cannot be kept apart"
            + (" and counted by contains" if record.contains else ""),
            record.unique or "",
            "uniqueItems",
            relaxable=True,
        )
    choices = [values or [] for values in listed]
    points = Points(world.meter)
    start: tuple[int, frozenset[Formula]] = (0, frozenset())
    points.number(start)
    for key in points.queue:
        if len(points.numbers) > _MANY_SUBSETS:
            where = f"#{record.unique}/uniqueItems"
            raise LimitError("sets of different items", len(points.numbers), _MANY_SUBSETS, where)
        if not isinstance(key, tuple) or key == ("end",):
            continue
        items, used = key
        if items >= record.minimum:
            points.edge(key, EPSILON, ("end",))
        if record.maximum is not None and items >= record.maximum:
            continue
        for value in choices[min(items, len(record.prefix))]:
            if value not in used:
                node = concat(layout.comma, place(value)) if items else place(value)
                points.edge(key, node, (items + 1, used | {value}))
    return points.graph(start, ("end",))
