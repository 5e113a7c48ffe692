"""What the writers of arrays and objects share: graphs under construction, and commas that count.

Both are written as graphs that are linear in their parts (``constrain.schema.write_objects`` and
``write_arrays``). Where a count is large the commas tick and the frame counts; ``Written.minimum``
and ``maximum`` bound the ticks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from constrain.syntax import Alternate, Concat, Graph, Literal, Node, Tick, concat

if TYPE_CHECKING:
    from collections.abc import Hashable

    from constrain.limits import Meter

LARGE_REPEAT = 3000
"""Items or members whose copies have more NFA states than this together are counted by a frame."""

Place: TypeAlias = Callable[[int], Node]
"""Returns the node of a value, given its formula."""


@dataclass(frozen=True, slots=True)
class Written:
    """What stands between the brackets, and bounds on its ticks."""

    body: Node
    minimum: int = 0
    maximum: int | None = None

    @property
    def counted(self) -> bool:
        """Whether the bounds say anything."""
        return self.minimum > 0 or self.maximum is not None


class Points:
    """A graph under construction, its points named by any keys."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        self.numbers: dict[Hashable, int] = {}
        self.edges: list[tuple[int, Node, int]] = []
        self.queue: list[Hashable] = []

    def number(self, key: Hashable) -> int:
        """Return the number of a point; a new one joins the queue."""
        if key not in self.numbers:
            n_points = self.numbers[key] = len(self.numbers)
            self.queue.append(key)
            if n_points % 256 == 0:
                limit = self.meter.limits.max_nfa_states
                self.meter.require("points of an array or object", n_points, limit)
        return self.numbers[key]

    def edge(self, source: Hashable, label: Node, target: Hashable) -> None:
        """Add an edge between two points."""
        self.edges.append((self.number(source), label, self.number(target)))

    def graph(self, start: Hashable, end: Hashable) -> Node:
        """Return the graph."""
        first, last = self.number(start), self.number(end)
        return Graph(len(self.numbers), tuple(self.edges), first, last)


def ticking(comma: Node) -> Node:
    """Return a separator whose first byte counts one."""
    if isinstance(comma, Literal):
        return concat(Tick(Literal(comma.data[:1])), Literal(comma.data[1:]))
    parts = comma.parts if isinstance(comma, Concat) else (comma,)
    return concat(ticking(parts[0]), *parts[1:])


def either(options: list[Node]) -> Node:
    """Return the alternation of options known to differ (comparing large nodes is slow)."""
    return options[0] if len(options) == 1 else Alternate(tuple(options))
