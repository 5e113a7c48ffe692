"""The syntax tree: what patterns and schemas are turned into, and all the automata stages read.

Nodes are immutable and hashable (an ``Embed`` by identity of its automaton), know nothing of a
tokenizer, and speak of *bytes*: characters have become well-formed UTF-8 before they get here.

    ByteSet      one byte of a set
    Literal      a fixed byte string
    Concat       parts one after the other; ``EPSILON`` is the empty concatenation
    Alternate    any of the options; ``NEVER`` is the empty alternation, the empty language
    Repeat       minimum to maximum copies (``None``: no upper bound)
    Embed        the language of a ready automaton
    Named        a node with the place it came from (pattern text or JSON pointer), for messages
    Call         one text of a frame, by name
    Tick         a node whose every match counts as one in the count of its frame
    Graph        points joined by edges that carry nodes: the language of the paths start to end

A ``Grammar`` is a start node and the frames it calls. A ``Frame`` is ``open body close`` with one
byte on either side, and, where ``minimum`` or ``maximum`` is set, a bound on the number of ticks
that its body passes (``Tick`` nodes, or the ticking states of an ``Embed``). Frames may call each
other and themselves. See ``constrain.frames`` for how they become tables.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from constrain.dfa import DFA

ALL_BYTES = (1 << 256) - 1


@dataclass(frozen=True, slots=True)
class ByteSet:
    """One byte of a set.

    Attributes
    ----------
    bits : int
        Bit b is set iff byte b is in the set; 0 < bits < 2**256.
    """

    bits: int

    @classmethod
    def of(cls, members: Iterable[int]) -> ByteSet:
        """Return the set of the given byte values."""
        bits = 0
        for member in members:
            bits |= 1 << member
        return cls(bits)

    @classmethod
    def span(cls, first: int, last: int) -> ByteSet:
        """Return the set of the bytes from ``first`` to ``last``, both included."""
        return cls((1 << (last + 1)) - (1 << first))


@dataclass(frozen=True, slots=True)
class Literal:
    """A fixed byte string."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Concat:
    """The parts one after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alternate:
    """Any one of the options."""

    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """``minimum`` to ``maximum`` copies of a node; 0 <= minimum <= maximum, None is unbounded."""

    node: Node
    minimum: int
    maximum: int | None


@dataclass(frozen=True, slots=True)
class Embed:
    """The language of a ready automaton.

    Attributes
    ----------
    dfa : DFA
        Compared by identity.
    ticks : tuple[bool, ...] | None
        Arriving (by a byte) at a state s with ``ticks[s]`` counts as one in the frame's count.
    """

    dfa: DFA
    ticks: tuple[bool, ...] | None = None


@dataclass(frozen=True, slots=True)
class Named:
    """A node and the place it came from; the place plays no part in the language."""

    node: Node
    where: str


@dataclass(frozen=True, slots=True)
class Call:
    """One text of the frame of that name."""

    name: str


@dataclass(frozen=True, slots=True)
class Tick:
    """A node whose every completed match counts as one in the count of the enclosing frame."""

    node: Node


@dataclass(frozen=True, slots=True)
class Graph:
    """Points 0 to n_points - 1 joined by labelled edges; the texts of all paths from start to end.

    Sharing is what it is for: a node that stands on one edge is built once, however many paths lead
    through it, so an object whose members are all optional stays linear in its members.

    Attributes
    ----------
    n_points : int
    edges : tuple[tuple[int, Node, int], ...]
        (from, label, to); a label of ``EPSILON`` consumes nothing.
    start, end : int
    """

    n_points: int
    edges: tuple[tuple[int, Node, int], ...]
    start: int
    end: int


Node: TypeAlias = (
    ByteSet | Literal | Concat | Alternate | Repeat | Embed | Named | Call | Tick | Graph
)

EPSILON = Concat(())
NEVER = Alternate(())


@dataclass(frozen=True, slots=True)
class Frame:
    """``open body close``; frames nest through ``Call`` nodes in their bodies.

    Attributes
    ----------
    open, close : int
        The bytes that begin and end a text of the frame.
    body : Node
        What stands between them.
    minimum, maximum : int, int | None
        Bounds on the number of ticks passed in the body.
    why : str
        Why this became a frame, for ``inspect`` (``"recursive"``, ``"free"``, ``"shared"``, ...).
    where : str
        The JSON pointer or rule it came from.
    """

    open: int
    body: Node
    close: int
    minimum: int = 0
    maximum: int | None = None
    why: str = ""
    where: str = ""


@dataclass(frozen=True, slots=True)
class Grammar:
    """A start node and the frames that it and they call, by name."""

    start: Node
    frames: Mapping[str, Frame] = field(default_factory=dict)


def concat(*parts: Node) -> Node:
    """Concatenate, flattening nested concatenations, joining literals, and absorbing ``NEVER``."""
    flat: list[Node] = []
    run: list[bytes] = []  # literals side by side, joined at their end
    for part in (*parts, None):
        for piece in part.parts if isinstance(part, Concat) else (part,):
            if isinstance(piece, Literal):
                run.append(piece.data)
                continue
            if isinstance(piece, Alternate) and not piece.options:
                return NEVER
            if run and (data := b"".join(run)):
                flat.append(Literal(data))
            run = []
            if piece is not None:
                flat.append(piece)
    return flat[0] if len(flat) == 1 else Concat(tuple(flat))


def alternate(*options: Node) -> Node:
    """Alternate, flattening nested alternations and dropping ``NEVER`` and repeated options.

    Leaves are compared by value, larger nodes by identity: hashing a node reads all of it.
    """
    flat: dict[object, Node] = {}
    for option in options:
        for piece in option.options if isinstance(option, Alternate) else (option,):
            flat[piece if isinstance(piece, ByteSet | Literal | Call) else id(piece)] = piece
    return next(iter(flat.values())) if len(flat) == 1 else Alternate(tuple(flat.values()))


def optional(node: Node) -> Node:
    """Return the node or nothing."""
    return Repeat(node, 0, 1)


def star(node: Node) -> Node:
    """Return any number of copies of the node."""
    return Repeat(node, 0, None)
