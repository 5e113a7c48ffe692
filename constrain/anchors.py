r"""Anchors made exact: patterns with ``^`` and ``$`` anywhere, as ordinary syntax nodes.

An anchor consumes nothing and asserts where it stands: ``^`` (``\A``) before the first character,
``\Z`` (and ECMAScript's ``$``) after the last, Python's ``$`` there or before one final newline. A
syntax node has no such thing. The idea: split every place in the pattern by *phase*, that is by what
is known there about the text around it:

    moved   whether something may have been consumed; an anchor at the start needs that it was not
    tail    what may still be consumed: anything, one last newline or nothing, or nothing

An anchor is then a step from one phase to another (or to none). A piece without anchors leads from
an open tail to "moved", and otherwise can only be skipped, if it matches nothing at all. There are
six phases, so a ``Fragment`` has six entries and six exits, and fragments are put together just as
Thompson puts together his, which have one of each (``constrain.nfa``). In the end the phase (not
moved, open) is the start and every exit an end. A piece without anchors stands on a handful of
edges, so ``(^a|b$)c?`` grows by a constant factor, not with its nesting.

The parser builds the parts bottom up: ``Plain`` as long as there is no anchor below, so ordinary
patterns never come here, and ``Fragment`` from there on.

Invariants: no edge of a fragment leads into an entry or out of an exit, so entries and exits can be
shared. Standing in a "moved" phase without having consumed anything loses nothing: the same piece,
skipped, leads to the phase that has not moved, too.

Doesn't do: word boundaries and lookaround (they need to know more about the text around them).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Literal, TypeAlias

from constrain import syntax
from constrain.errors import LimitError
from constrain.syntax import EPSILON, NEVER, Alternate, Graph, Named, Node, Repeat

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

AnchorKind: TypeAlias = Literal["start", "end", "end or newline"]

_Edge: TypeAlias = tuple[int, Node, int]

# What may still be consumed.
_OPEN, _NEWLINE, _CLOSED = range(3)

_PHASES = tuple((moved, tail) for moved in (False, True) for tail in (_OPEN, _NEWLINE, _CLOSED))
_N = len(_PHASES)
_ENTRIES = tuple(range(_N))
_EDGE = 2  # nodes that an edge counts as: unlike a node, it is copied again and again
_EXITS = tuple(range(_N, 2 * _N))


@dataclass(frozen=True, slots=True)
class Plain:
    r"""A piece of a pattern without anchors.

    Attributes
    ----------
    node : Node
    nullable : bool
        Whether it matches the empty text.
    newline : bool
        Whether it matches exactly ``"\n"``.
    """

    node: Node
    nullable: bool = False
    newline: bool = False


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of a pattern with anchors in it: a graph with an entry and an exit for each phase.

    Attributes
    ----------
    n_points : int
        Points 0 to 5 are the entries, 6 to 11 the exits, in the order of the phases.
    edges : tuple[tuple[int, Node, int], ...]
        (from, label, to).
    """

    n_points: int
    edges: tuple[_Edge, ...]


Part: TypeAlias = Plain | Fragment

NOTHING = Plain(EPSILON, nullable=True)


def anchor(kind: AnchorKind) -> Fragment:
    """Return the fragment of one anchor."""
    edges: list[_Edge] = []
    for entry, (moved, tail) in zip(_ENTRIES, _PHASES, strict=True):
        if kind != "start":
            least = _CLOSED if kind == "end" else _NEWLINE
            edges.append((entry, EPSILON, _exit((moved, max(tail, least)))))
        elif not moved:
            edges.append((entry, EPSILON, _exit((moved, tail))))
    return Fragment(2 * _N, tuple(edges))


def size(part: Part) -> int:
    """Return the number of nodes that a part counts as."""
    return _EDGE * len(part.edges) if isinstance(part, Fragment) else 1


def sequence(parts: Sequence[Part]) -> Part:
    """Return the parts one after the other."""
    runs: list[Part] = []  # neighbours without anchors joined to one piece
    for plain, group in groupby(parts, key=lambda part: isinstance(part, Plain)):
        pieces = list(group)
        runs.extend([_joined(pieces)] if plain else pieces)  # type: ignore[arg-type]
    if len(runs) <= 1:
        return runs[0] if runs else NOTHING
    graph = _Assembly()
    points: Sequence[int] = _ENTRIES
    for part in runs[:-1]:
        after = graph.new_points()
        graph.add(part, points, after)
        points = after
    graph.add(runs[-1], points, _EXITS)
    return graph.fragment()


def _joined(parts: Iterable[Plain]) -> Plain:
    nodes: list[Node] = []
    nullable, newline = True, False
    for part in parts:
        newline = (newline and part.nullable) or (nullable and part.newline)
        nullable = nullable and part.nullable
        nodes.append(part.node)
    return Plain(syntax.concat(*nodes), nullable=nullable, newline=newline)


def choice(options: Sequence[Part]) -> Part:
    """Return any one of the options; there is at least one."""
    if len(options) == 1:
        return options[0]
    plain = [option for option in options if isinstance(option, Plain)]
    if len(plain) == len(options):
        return Plain(
            Alternate(tuple(option.node for option in plain)),
            nullable=any(option.nullable for option in plain),
            newline=any(option.newline for option in plain),
        )
    graph = _Assembly()
    for option in options:
        graph.add(option, _ENTRIES, _EXITS)
    return graph.fragment()


def repetition(part: Part, bounds: tuple[int, int | None], where: str, max_nodes: int) -> Part:
    """Return ``bounds[0]`` to ``bounds[1]`` copies of a part.

    Parameters
    ----------
    part : Part
    bounds : (int, int | None)
        None is unbounded.
    where : str
        The text of the part with its quantifier, for messages.
    max_nodes : int
        The largest size of the copies together, if there are anchors in the part.

    Raises
    ------
    LimitError
        If they take more.
    """
    minimum, maximum = bounds
    if maximum == 0:
        return NOTHING
    if isinstance(part, Plain):
        return Plain(
            Named(Repeat(part.node, minimum, maximum), where),
            nullable=minimum == 0 or part.nullable,
            newline=part.newline and (minimum <= 1 or part.nullable),
        )
    n_nodes = size(part) * (minimum + 1 if maximum is None else maximum)
    if n_nodes > max_nodes:
        raise LimitError("syntax nodes", n_nodes, max_nodes, where)
    return _repeated(part, minimum, maximum)


def _repeated(part: Fragment, minimum: int, maximum: int | None) -> Fragment:
    graph = _Assembly()
    points: Sequence[int] = _ENTRIES
    for _ in range(minimum):
        after = graph.new_points()
        graph.add(part, points, after)
        points = after
    if maximum is None:
        loop, back = graph.new_points(), graph.new_points()
        graph.skip(points, loop)
        graph.add(part, loop, back)
        graph.skip(back, loop)
        graph.skip(loop, _EXITS)
        return graph.fragment()
    for _ in range(maximum - minimum):
        graph.skip(points, _EXITS)
        after = graph.new_points()
        graph.add(part, points, after)
        points = after
    graph.skip(points, _EXITS)
    return graph.fragment()


def whole_text(part: Part) -> Node:
    """Return the node of the texts that a part matches from the first to the last character."""
    if isinstance(part, Plain):
        return part.node
    start, end = _PHASES.index((False, _OPEN)), part.n_points
    edges = [*part.edges, *((point, EPSILON, end) for point in _EXITS)]
    leaving: list[list[_Edge]] = [[] for _ in range(end + 1)]
    for edge in edges:
        leaving[edge[0]].append(edge)
    number = {start: 0}
    queue = [start]
    for point in queue:
        for _, _, target in leaving[point]:
            if target not in number:
                number[target] = len(number)
                queue.append(target)
    if end not in number:
        return NEVER
    kept = tuple((number[s], label, number[t]) for s, label, t in edges if s in number)
    return Graph(len(number), kept, number[start], number[end])


def _exit(phase: tuple[bool, int]) -> int:
    return _N + _PHASES.index(phase)


def _as_fragment(part: Part) -> Fragment:
    r"""Return a piece without anchors as a fragment: it reads, or is skipped, or is the last \n."""
    if isinstance(part, Fragment):
        return part
    edges: list[_Edge] = []
    for entry, (moved, tail) in zip(_ENTRIES, _PHASES, strict=True):
        if tail == _OPEN:
            edges.append((entry, part.node, _exit((True, _OPEN))))
        if part.nullable and (moved, tail) != (True, _OPEN):
            edges.append((entry, EPSILON, _exit((moved, tail))))
        if part.newline and tail == _NEWLINE:
            edges.append((entry, syntax.Literal(b"\n"), _exit((True, _CLOSED))))
    return Fragment(2 * _N, tuple(edges))


class _Assembly:
    """A fragment under construction."""

    def __init__(self) -> None:
        self.n_points = 2 * _N
        self.edges: list[_Edge] = []

    def new_points(self) -> tuple[int, ...]:
        """Return a fresh point for each phase."""
        self.n_points += _N
        return tuple(range(self.n_points - _N, self.n_points))

    def skip(self, sources: Sequence[int], targets: Sequence[int]) -> None:
        """Lead each phase on without a condition."""
        self.edges += [(s, EPSILON, t) for s, t in zip(sources, targets, strict=True)]

    def add(self, part: Part, entries: Sequence[int], exits: Sequence[int]) -> None:
        """Lay a copy of a part between the given points."""
        inner = _as_fragment(part)
        offset = self.n_points - 2 * _N
        self.n_points += inner.n_points - 2 * _N
        ends = (*entries, *exits)

        def place(point: int) -> int:
            return ends[point] if point < 2 * _N else point + offset

        self.edges += [(place(s), label, place(t)) for s, label, t in inner.edges]

    def fragment(self) -> Fragment:
        """Return what has been laid."""
        return Fragment(self.n_points, tuple(self.edges))
