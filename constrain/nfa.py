"""Thompson's construction: from a grammar to one nondeterministic automaton.

Every node becomes edges between a given entry and a given exit state, after Ken Thompson, "Regular
Expression Search Algorithm" (CACM 1968). Byte edges carry byte sets as 256-bit integers; epsilon
edges consume nothing; call edges enter a frame; tick edges are epsilon edges that count one.

The invariant that lets alternatives share their two ends without fresh states: building a node
from s to t adds no edge *into* s and no edge *out of* t; only ``Repeat`` needs states of its own.

All frames of a grammar and its start node live in one automaton; a call edge names a frame and the
state to go on in when it has closed. Frames that no finite text can fill are dropped with the call
edges that need them (``productive``), and so is what cannot be reached backwards from an exit, so
from every state that is left some text leads to its frame's exit.

Doesn't do: remove epsilon edges or share states between equal fragments (``Graph`` nodes share by
construction, the later stages by minimization). Cost: one state for each byte of the texts of the
tree, repeats counted out; bounded by ``Limits.max_nfa_states`` while it grows.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from constrain.errors import ConstrainError, LimitError
from constrain.syntax import (
    Alternate,
    ByteSet,
    Call,
    Concat,
    Embed,
    Frame,
    Grammar,
    Graph,
    Literal,
    Named,
    Node,
    Repeat,
    Tick,
)

if TYPE_CHECKING:
    from constrain.limits import Meter

_STATE = 500  # bytes a state takes, about
_CHECK = 4096  # states between two looks at the limits
_NO_STATES: list[int] = []  # shared by all states without such edges; never changed
_NO_CALLS: list[tuple[int, int]] = []
ROOT = 0  # the frame number of the start node


@dataclass(slots=True)
class NFA:
    """A nondeterministic automaton over bytes, with calls; states are list indices.

    Attributes
    ----------
    moves : list[list[tuple[int, int]]]
        Byte edges of each state: (byte set as bits, target).
    epsilons, ticks : list[list[int]]
        Epsilon edges of each state, and those that count one.
    calls : list[list[tuple[int, int]]]
        Call edges of each state: (frame number, return state).
    frame_of : list[int]
        The frame whose body the state belongs to; ``ROOT`` for the start node.
    entries, exits : list[int]
        The first and last state of each frame.
    frames : list[Frame | None]
        The frames by number; None for the root.
    names : list[str]
        Their names; empty for the root.
    place_of : list[int]
        The innermost named place that each state belongs to, as an index of ``places``.
    places : list[str]
        The names of places; 0 is nowhere.
    """

    moves: list[list[tuple[int, int]]] = field(default_factory=list)
    epsilons: list[list[int]] = field(default_factory=list)
    ticks: list[list[int]] = field(default_factory=list)
    calls: list[list[tuple[int, int]]] = field(default_factory=list)
    frame_of: list[int] = field(default_factory=list)
    entries: list[int] = field(default_factory=list)
    exits: list[int] = field(default_factory=list)
    frames: list[Frame | None] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    place_of: list[int] = field(default_factory=list)
    places: list[str] = field(default_factory=lambda: [""])

    @property
    def n_states(self) -> int:
        """The number of states."""
        return len(self.moves)


class _Builder:
    """Builds the automaton with an explicit stack of (node, entry, exit, place)."""

    def __init__(self, grammar: Grammar, meter: Meter) -> None:
        self.nfa = NFA()
        self.meter = meter
        self.next_check = _CHECK
        self.may_die = False  # whether a part of the tree may have no text
        names = _reachable_frames(grammar)
        self.number = {name: i for i, name in enumerate(names, start=1)}
        nfa = self.nfa
        nfa.frames = [None, *(grammar.frames[name] for name in names)]
        nfa.names = ["", *names]
        bodies = [grammar.start, *(grammar.frames[name].body for name in names)]
        for number, body in enumerate(bodies):
            place = self._place(nfa.names[number])
            entry = self._states(2, number, place)
            end = entry + 1
            nfa.entries.append(entry)
            nfa.exits.append(end)
            self._run(body, entry, end, number, place)

    def _place(self, name: str) -> int:
        if not name:
            return 0
        self.nfa.places.append(name)
        return len(self.nfa.places) - 1

    def _states(self, count: int, frame: int, place: int) -> int:
        """Add some states without edges and return the first; they are numbered consecutively."""
        nfa = self.nfa
        first = len(nfa.moves)
        if first + count >= self.next_check:
            self.next_check = first + count + _CHECK
            self._check(first + count)
        nfa.moves.extend([] for _ in range(count))
        nfa.epsilons.extend([_NO_STATES] * count)
        nfa.ticks.extend([_NO_STATES] * count)
        nfa.calls.extend([_NO_CALLS] * count)
        nfa.frame_of.extend([frame] * count)
        nfa.place_of.extend([place] * count)
        return first

    def _epsilon(self, s: int, t: int) -> None:
        epsilons = self.nfa.epsilons
        if epsilons[s]:
            epsilons[s].append(t)
        else:
            epsilons[s] = [t]

    def _check(self, n_states: int) -> None:
        limit = self.meter.limits.max_nfa_states
        if n_states > limit:
            raise LimitError("NFA states", n_states, limit, self.costliest())
        memory, n_bytes = self.meter.limits.max_memory, _STATE * n_states
        if n_bytes > memory:
            raise LimitError("bytes of NFA states", n_bytes, memory, self.costliest())
        self.meter.tick()

    def costliest(self) -> str:
        """Return the innermost named place that owns the most states."""
        counts = Counter(place for place in self.nfa.place_of if place)
        return self.nfa.places[counts.most_common(1)[0][0]] if counts else ""

    def _run(self, body: Node, entry: int, end: int, frame: int, place: int) -> None:
        nfa = self.nfa
        stack: list[tuple[Node, int, int, int]] = [(body, entry, end, place)]
        while stack:
            node, s, t, place = stack.pop()
            if isinstance(node, ByteSet):
                nfa.moves[s].append((node.bits, t))
            elif isinstance(node, Literal):
                self._literal(node.data, s, t, frame, place)
            elif isinstance(node, Concat):
                self._concat(node, s, t, frame, place, stack)
            elif isinstance(node, Alternate):
                self.may_die |= not node.options
                stack.extend((option, s, t, place) for option in node.options)
            elif isinstance(node, Repeat):
                self._repeat(node, s, t, frame, place, stack)
            elif isinstance(node, Named):
                stack.append((node.node, s, t, self._place(node.where)))
            elif isinstance(node, Embed):
                self._embed(node, s, t, frame, place)
            elif isinstance(node, Graph):
                self.may_die = True
                first = self._states(node.n_points, frame, place)
                self._epsilon(s, first + node.start)
                self._epsilon(first + node.end, t)
                stack.extend((label, first + a, first + b, place) for a, label, b in node.edges)
            elif isinstance(node, Call):
                self.may_die = True
                nfa.calls[s] = [*nfa.calls[s], (self.number[node.name], t)]
            else:
                inner = self._states(1, frame, place)
                self._tick(inner, t, frame)
                stack.append((node.node, s, inner, place))

    def _tick(self, s: int, t: int, frame: int) -> None:
        """Add an edge that counts one, or an epsilon edge where the frame counts nothing."""
        nfa = self.nfa
        bounded = nfa.frames[frame]
        if bounded and (bounded.minimum > 0 or bounded.maximum is not None):
            nfa.ticks[s] = [*nfa.ticks[s], t]
        else:
            self._epsilon(s, t)

    def _literal(self, data: bytes, s: int, t: int, frame: int, place: int) -> None:
        if not data:
            self._epsilon(s, t)
            return
        moves = self.nfa.moves
        after = self._states(len(data) - 1, frame, place) if len(data) > 1 else t
        for byte in data[:-1]:
            moves[s].append((1 << byte, after))
            s = after
            after += 1
        moves[s].append((1 << data[-1], t))

    def _concat(
        self,
        node: Concat,
        s: int,
        t: int,
        frame: int,
        place: int,
        stack: list[tuple[Node, int, int, int]],
    ) -> None:
        if not node.parts:
            self._epsilon(s, t)
            return
        after = self._states(len(node.parts) - 1, frame, place)
        for part in node.parts[:-1]:
            stack.append((part, s, after, place))
            s = after
            after += 1
        stack.append((node.parts[-1], s, t, place))

    def _repeat(
        self,
        node: Repeat,
        s: int,
        t: int,
        frame: int,
        place: int,
        stack: list[tuple[Node, int, int, int]],
    ) -> None:
        for _ in range(node.minimum):
            after = self._states(1, frame, place)
            stack.append((node.node, s, after, place))
            s = after
        if node.maximum is None:
            loop = self._states(2, frame, place)
            back = loop + 1
            self._epsilon(s, loop)
            self._epsilon(back, loop)
            self._epsilon(loop, t)
            stack.append((node.node, loop, back, place))
            return
        for _ in range(node.maximum - node.minimum):
            before = self._states(2, frame, place)
            after = before + 1
            self._epsilon(s, before)
            self._epsilon(s, t)
            stack.append((node.node, before, after, place))
            s = after
        self._epsilon(s, t)

    def _embed(self, node: Embed, s: int, t: int, frame: int, place: int) -> None:
        moves = self.nfa.moves
        self.may_die = True  # a ready automaton need not be trim
        n_states = node.dfa.n_states
        first = self._states(n_states, frame, place)
        arrive = list(range(first, first + n_states))
        for i, ticking in enumerate(node.ticks or ()):
            if ticking:
                arrive[i] = self._states(1, frame, place)
                self._tick(arrive[i], first + i, frame)
        self._epsilon(s, first)
        for i, edges in enumerate(node.dfa.edges, start=first):
            moves[i] = [(bits, arrive[j]) for bits, j in edges]
        for i in node.dfa.accept.nonzero()[0].tolist():
            self._epsilon(first + i, t)


def children(node: Node) -> tuple[Node, ...]:
    """Return the nodes directly below a node."""
    if isinstance(node, Concat):
        return node.parts
    if isinstance(node, Alternate):
        return node.options
    if isinstance(node, Repeat | Named | Tick):
        return (node.node,)
    if isinstance(node, Graph):
        return tuple(label for _, label, _ in node.edges)
    return ()


def called(node: Node) -> dict[str, None]:
    """Return the names of the frames that a node calls, in order of first occurrence."""
    names: dict[str, None] = {}
    stack = [node]
    seen: set[int] = set()
    while stack:
        top = stack.pop()
        if id(top) in seen:
            continue
        seen.add(id(top))
        if isinstance(top, Call):
            names[top.name] = None
        stack.extend(reversed(children(top)))
    return names


def _reachable_frames(grammar: Grammar) -> list[str]:
    found = called(grammar.start)
    queue = list(found)
    for name in queue:
        frame = grammar.frames.get(name)
        if frame is None:
            raise ConstrainError(f"a call names the frame {name!r}, but the grammar has none such")
        if not (0 <= frame.open <= 255 and 0 <= frame.close <= 255):
            raise ConstrainError(f"frame {name!r} must begin and end with bytes, 0 to 255")
        if frame.minimum < 0 or (frame.maximum is not None and frame.maximum < 0):
            raise ConstrainError(f"frame {name!r} has a negative bound on its count")
        for other in called(frame.body):
            if other not in found:
                found[other] = None
                queue.append(other)
    return queue


def thompson(grammar: Grammar, meter: Meter) -> NFA:
    """Return the automaton of a grammar, without states that cannot lead to their frame's exit.

    A frame (or the whole grammar) whose language is empty is left with an entry that has no edges.

    Raises
    ------
    LimitError
        If there are more than ``meter.limits.max_nfa_states`` states; ``where`` names the place
        that owns the most of them.
    """
    builder = _Builder(grammar, meter)
    if builder.may_die:
        _drop_dead(builder.nfa)
    return builder.nfa


def close_entries(nfa: NFA, frames: list[int]) -> None:
    """Make the languages of some frames empty, and drop what needs a text of them."""
    for frame in frames:
        entry = nfa.entries[frame]
        nfa.moves[entry], nfa.epsilons[entry] = [], _NO_STATES
        nfa.ticks[entry], nfa.calls[entry] = _NO_STATES, _NO_CALLS
    _drop_dead(nfa)


def _drop_dead(nfa: NFA) -> None:
    """Remove edges into states from which no finite text leads to their frame's exit.

    A backward search from the exits. A call edge joins it once its return state is live *and* its
    frame is productive, that is, its entry is live; this is the emptiness test of context-free
    grammars done on the automaton.
    """
    sources: list[list[int]] = [[] for _ in range(nfa.n_states)]
    waiting: list[list[tuple[int, int]]] = [[] for _ in nfa.entries]
    for s, moves in enumerate(nfa.moves):
        for _, t in moves:
            sources[t].append(s)
    for edges in (nfa.epsilons, nfa.ticks):
        for s, targets in enumerate(edges):
            for t in targets:
                sources[t].append(s)
    for s, calls in enumerate(nfa.calls):
        for frame, t in calls:
            waiting[frame].append((s, t))
    returns: dict[int, list[tuple[int, int]]] = {}
    for frame, pairs in enumerate(waiting):
        for s, t in pairs:
            returns.setdefault(t, []).append((s, frame))
    frame_of_entry = {entry: frame for frame, entry in enumerate(nfa.entries)}
    live = bytearray(nfa.n_states)
    queue = list(nfa.exits)
    for state in queue:
        live[state] = 1

    def reach(state: int) -> None:
        if not live[state]:
            live[state] = 1
            queue.append(state)

    while queue:
        t = queue.pop()
        for s in sources[t]:
            if not live[s]:
                live[s] = 1
                queue.append(s)
        for s, frame in returns.get(t, ()):
            if live[nfa.entries[frame]]:
                reach(s)
        if t in frame_of_entry:
            for s, back in waiting[frame_of_entry[t]]:
                if live[back]:
                    reach(s)
    if all(live):
        return
    for s in range(nfa.n_states):
        nfa.moves[s] = [(bits, t) for bits, t in nfa.moves[s] if live[t]]
        nfa.epsilons[s] = [t for t in nfa.epsilons[s] if live[t]]
        nfa.ticks[s] = [t for t in nfa.ticks[s] if live[t]]
        nfa.calls[s] = [
            (frame, t) for frame, t in nfa.calls[s] if live[t] and live[nfa.entries[frame]]
        ]
