"""Boxes in layers from left to right, and curves between them: a plain Sugiyama layout.

In come the sizes of boxes and edges that leave a box at some height; out come places and the points
that each edge passes. The usual stages: edges that go back are set aside (they are drawn around, or
not at all), each box gets a layer right of all that lead to it, long edges get a point in each layer
they pass, and layers are put in an order, by the mean place of neighbours, in which few edges cross.

It needs nothing installed and is good enough for some hundred boxes.

``bands`` cuts what would be too wide into groups that can be placed one below the other.

Doesn't do: ports on the right side, edges within a layer, minimal crossings (which is NP-hard).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

_SWEEPS = 12
_GAP = 22.0  # between boxes of one layer
_LANE = 10.0  # height of an edge that passes a layer


@dataclass(frozen=True, slots=True)
class Link:
    """An edge: from a box, at a height below its top, to a box."""

    source: int
    height: float
    target: int


@dataclass(slots=True)
class Places:
    """Where things stand.

    Attributes
    ----------
    boxes : list[tuple[float, float]]
        The upper left corner of each box.
    links : list[list[tuple[float, float]]]
        The points of each edge, left to right; only two for one that goes back.
    width, height : float
    """

    boxes: list[tuple[float, float]]
    links: list[list[tuple[float, float]]]
    width: float
    height: float


def bands(sizes: list[tuple[float, float]], links: list[Link], width: float) -> list[list[int]]:
    """Return the boxes in groups that are placed one below the other, each about so wide at most."""
    layer = _layers(len(sizes), links, _backward(len(sizes), links))
    lefts = _columns(sizes, layer, links)
    found: list[list[int]] = []
    begin = 0.0
    for number in range(max(layer) + 1):
        members = [box for box in range(len(sizes)) if layer[box] == number]
        right = lefts[number] + max(sizes[box][0] for box in members)
        if not found or right - begin > width:
            found.append([])
            begin = lefts[number]
        found[-1] += members
    return found


def place(sizes: list[tuple[float, float]], links: list[Link]) -> Places:
    """Return where boxes and edges stand."""
    back = _backward(len(sizes), links)
    layer = _layers(len(sizes), links, back)
    net = _Net(sizes, links, back, layer)
    net.order()
    tops = net.heights()
    lefts = _columns(sizes, layer, links)
    boxes = [(lefts[layer[i]], tops[i]) for i in range(len(sizes))]
    paths = [net.path(number, boxes, tops, lefts) for number in range(len(links))]
    right = max(x + sizes[i][0] for i, (x, _) in enumerate(boxes))
    bottom = max(y + sizes[i][1] for i, (_, y) in enumerate(boxes))
    bottom = max([bottom, *(y for path in paths for _, y in path)])
    return Places(boxes, paths, right, bottom)


def _backward(n: int, links: list[Link]) -> set[int]:
    """Return the edges that lead back, or to their own box, in a walk in depth from box 0."""
    onward: dict[int, list[int]] = defaultdict(list)
    for number, link in enumerate(links):
        onward[link.source].append(number)
    back: set[int] = set()
    colour = [0] * n
    for root in range(n):
        stack = [(root, iter(onward[root]))] if colour[root] == 0 else []
        colour[root] = colour[root] or 1
        while stack:
            box, rest = stack[-1]
            number = next(rest, -1)
            if number < 0:
                colour[box] = 2
                stack.pop()
                continue
            target = links[number].target
            if colour[target] == 1:
                back.add(number)
            elif colour[target] == 0:
                colour[target] = 1
                stack.append((target, iter(onward[target])))
    return back


def _layers(n: int, links: list[Link], back: set[int]) -> list[int]:
    """Return the layer of each box: one more than the last that leads to it."""
    ahead = [link for number, link in enumerate(links) if number not in back]
    waiting = [0] * n
    onward: dict[int, list[int]] = defaultdict(list)
    for link in ahead:
        waiting[link.target] += 1
        onward[link.source].append(link.target)
    layer = [0] * n
    ready = [box for box in range(n) if not waiting[box]]
    for box in ready:
        for target in onward[box]:
            layer[target] = max(layer[target], layer[box] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    return layer


def _columns(sizes: list[tuple[float, float]], layer: list[int], links: list[Link]) -> list[float]:
    """Return the left side of each layer, with more room where many edges run."""
    n = max(layer) + 1
    wide = [0.0] * n
    leaving = [0] * n
    for box, (width, _) in enumerate(sizes):
        wide[layer[box]] = max(wide[layer[box]], width)
    for link in links:
        leaving[layer[link.source]] += 1
    lefts = [0.0]
    for number in range(n - 1):
        lefts.append(lefts[-1] + wide[number] + min(110.0, 44.0 + 4.0 * leaving[number]))
    return lefts


class _Net:
    """Boxes and the points of long edges, by layer. Points are numbered after the boxes."""

    def __init__(
        self,
        sizes: list[tuple[float, float]],
        links: list[Link],
        back: set[int],
        layer: list[int],
    ) -> None:
        self.links, self.back = links, back
        self.wide = [0.0] * (max(layer) + 1)
        for (width, _), number in zip(sizes, layer, strict=True):
            self.wide[number] = max(self.wide[number], width)
        self.tall = [height for _, height in sizes]
        self.rows: list[list[int]] = [[] for _ in range(max(layer) + 1)]
        for box, number in enumerate(layer):
            self.rows[number].append(box)
        self.chains: list[list[int]] = []
        self.left: dict[int, list[tuple[int, float]]] = defaultdict(list)
        self.right: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for number, link in enumerate(links):
            self.chains.append([] if number in back else self._chain(link, layer))
        self.at: dict[int, float] = {}

    def _chain(self, link: Link, layer: list[int]) -> list[int]:
        points = []
        before, height = link.source, link.height
        for number in range(layer[link.source] + 1, layer[link.target]):
            point = len(self.tall)
            self.tall.append(_LANE)
            self.rows[number].append(point)
            points.append(point)
            self._tie(before, height, point)
            before, height = point, _LANE / 2
        self._tie(before, height, link.target)
        return points

    def _tie(self, before: int, height: float, after: int) -> None:
        self.left[after].append((before, height))
        self.right[before].append((after, height))

    def order(self) -> None:
        """Put each layer in the order of the mean place of its neighbours, back and forth."""
        for row in self.rows:
            self._stack(row)
        for sweep in range(_SWEEPS):
            forward = sweep % 2 == 0
            for row in self.rows if forward else reversed(self.rows):
                aims = {node: self._aim(node, forward=forward) for node in row}
                row.sort(key=aims.__getitem__)
                self._stack(row)

    def _stack(self, row: list[int]) -> None:
        """Stand the nodes of a layer one below the other, the middle of all at 0."""
        total = sum(self.tall[node] + _GAP for node in row) - _GAP
        top = -total / 2
        for node in row:
            self.at[node] = top
            top += self.tall[node] + _GAP

    def _aim(self, node: int, *, forward: bool) -> float:
        """Return the height that a node would like to have for its neighbours' sake."""
        if forward:
            near = [self.at[other] + height for other, height in self.left[node]]
            inner = min(self.tall[node] / 2, 14.0)
        else:
            near = [
                self.at[other] + min(self.tall[other] / 2, 14.0) - height
                for other, height in self.right[node]
            ]
            inner = 0.0
        if not near:
            return self.at[node]
        return sum(near) / len(near) - inner

    def heights(self) -> list[float]:
        """Return the top of each node, near its neighbours, the least being 0."""
        for sweep in range(_SWEEPS):
            forward = sweep % 2 == 0
            for row in self.rows if forward else reversed(self.rows):
                self._settle(row, [self._aim(node, forward=forward) for node in row])
        least = min(self.at.values())
        return [self.at[node] - least for node in range(len(self.tall))]

    def _settle(self, row: list[int], aims: list[float]) -> None:
        """Stand nodes as near to their aims as their order allows: blocks that touch share theirs."""
        blocks: list[tuple[float, int, list[int], float]] = []  # sum of aims, count, nodes, length
        for node, aim in zip(row, aims, strict=True):
            total, count, nodes, length = aim, 1, [node], self.tall[node] + _GAP
            while blocks and blocks[-1][0] / blocks[-1][1] + blocks[-1][3] > total / count:
                before = blocks.pop()
                total = before[0] + total - count * before[3]
                count += before[1]
                nodes = before[2] + nodes
                length += before[3]
            blocks.append((total, count, nodes, length))
        for total, count, nodes, _ in blocks:
            top = total / count
            for node in nodes:
                self.at[node] = top
                top += self.tall[node] + _GAP

    def path(
        self,
        number: int,
        boxes: list[tuple[float, float]],
        tops: list[float],
        lefts: list[float],
    ) -> list[tuple[float, float]]:
        """Return the points of an edge: where it leaves, each side of the layers passed, the end.

        The first is as if it left on the left side of its box, whose width is not known here.
        """
        link = self.links[number]
        x, y = boxes[link.source]
        path = [(x, y + link.height)]
        where = {point: k for k, row in enumerate(self.rows) for point in row}
        for point in self.chains[number]:  # straight on below or above the boxes of a layer
            left, height = lefts[where[point]], tops[point] + _LANE / 2
            path += [(left, height), (left + self.wide[where[point]], height)]
        end_x, end_y = boxes[link.target]
        return [*path, (end_x, end_y + 13.0)]
