"""The subset construction with calls: from an automaton with frames to a deterministic one.

Visibly pushdown automata determinize (Alur and Madhusudan, "Visibly pushdown languages", STOC 2004):

* A deterministic state is a set of NFA states, all of bodies of frames that began at one place.
* A *call site* is the set of (frame, return state) pairs possible at a place for one opening byte.
  It leads to the set of the entries of those frames.
* On a closing byte the frames whose exit is in the set have been matched; this set of frames is the
  *label* that is popped, and a call site goes on, for each label that can come back, in the return
  states of exactly the frames in it.
* Where a frame bounds a count, states also carry the phase of the count (``constrain.counting``).

What a byte means must not depend on a choice: where a plain byte edge and a call, two closings and a
move, and so on, meet on one byte, ``FrameConflict`` names them (both must be frames, then).

What leads out of a set does not depend on the phase, so it is worked out once for each set, and the
hundred phases of a counted part only look it up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from constrain.counting import span
from constrain.errors import ConstrainError
from constrain.nfa import ROOT
from constrain.subsets import Subset, Subsets, blaming, grouped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constrain.counting import Counts, Phase, Zone
    from constrain.limits import Meter
    from constrain.nfa import NFA

_STATE = 40  # bytes a state takes beside its set, about
_POPPED = -1  # the set of a state that only pops a label


class FrameConflict(ConstrainError):
    """Two parts that can begin or go on with the same byte are not both frames.

    Attributes
    ----------
    byte : int
        The byte on which they meet.
    frames : tuple[str, ...]
        The frames that take part.
    """

    def __init__(self, message: str, *, byte: int, frames: tuple[str, ...]) -> None:
        super().__init__(message)
        self.byte = byte
        self.frames = frames


class CountError(ConstrainError):
    """A count cannot be kept by the run time for this body; it must be written out.

    Grammars made by hand lead here. No schema is known to: what its front end counts are the
    characters of a string and the commas of an array or object, one byte that ticks for each.

    Attributes
    ----------
    where : tuple[str, ...]
        The counted frames, by the pointer of their schema or by name; empty until it is known.
    """

    def __init__(self, message: str, where: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.where = where


State = tuple[int, "Phase", bool]
"""The number of a set (``_POPPED``: none), the phase, and whether arriving here counts one."""


_Edge = tuple[int, int, int]
"""Where some bytes lead: the bytes as bits, the set they lead to, and how they count."""
_SILENT = 0  # no way there passes a tick
_UNCOUNTED = 1  # only of frames that do not go on
_TICKING = 2  # all ways of the counted frames that go on pass one
_MIXED = 3  # some do and some do not


@dataclass(slots=True)
class _Ways:
    """The ways on from a set, whatever the phase: by byte edges, calls, and closing bytes."""

    edges: list[_Edge]
    opened: dict[int, list[tuple[int, int]]]
    closed: dict[int, list[int]]


class Construction:
    """The deterministic machine as lists and dictionaries; made whole by the constructor.

    Attributes
    ----------
    subsets : Subsets
    start : int
    states : list[State]
    pops : list[int]
        The label that a state pops, or -1.
    moves, calls : list[dict[int, int]]
        Of each state: target state, or call site -> byte set as bits.
    escapes : list[tuple[int, int] | None]
        Of each state: where to go on once the count has reached a number, and that number.
    label_states : list[int]
        The state that pops each label.
    site_frames, site_target, returns : list
        Of each call site: the frames it may enter, the state it leads to, and the state to go on in
        for each label.
    """

    def __init__(self, nfa: NFA, counts: Counts, meter: Meter) -> None:
        self.nfa = nfa
        self.counts = counts
        self.meter = meter
        self.subsets = Subsets(nfa, meter)
        self.states: list[State] = []
        self.pops: list[int] = []
        self.moves: list[dict[int, int]] = []
        self.calls: list[dict[int, int]] = []
        self.escapes: list[tuple[int, int] | None] = []
        self.label_states: list[int] = []
        self.site_frames: list[frozenset[int]] = []
        self.site_target: list[int] = []
        self.returns: list[dict[int, int]] = []
        self._frames: list[frozenset[int]] = []  # the counted frames of each set
        self._kept: list[tuple[int, int]] = []  # the counts between which a set is kept whole
        self._ways: dict[int, _Ways] = {}
        self._uncounted: dict[int, int] = {}  # states without a phase, by their set
        self._numbers: dict[State, int] = {}
        self._labels: dict[frozenset[int], int] = {}
        self._sites: dict[tuple[frozenset[tuple[int, int]], Phase], int] = {}
        self._site_phase: list[Phase] = []
        self._site_pairs: list[frozenset[tuple[int, int]]] = []
        self.start = self._enter([nfa.entries[ROOT]])
        with blaming(nfa, (self.subset(number) for number, _ in enumerate(self.states))):
            for number, _ in enumerate(self.states):
                self._expand(number)
                if number % 512 == 0:
                    meter.hold(512 * _STATE)
                    meter.require("states", len(self.states), meter.limits.max_states)

    def subset(self, number: int) -> Subset:
        """Return the NFA states of a state."""
        subset = self.states[number][0]
        return frozenset() if subset == _POPPED else self.subsets.members[subset]

    def _frames_of(self, subset: int) -> frozenset[int]:
        """Return the counted frames that the states of a set belong to."""
        frames, members = self._frames, self.subsets.members
        while len(frames) <= subset:
            states = members[len(frames)]
            frames.append(self.counts.bounded(states))
            self._kept.append(self.counts.kept(states))
        return frames[subset]

    def _enter(self, entries: Sequence[int]) -> int:
        """Return the state at the beginning of frames, given by their entries."""
        subset = self.subsets.after(entries)
        frames = self._frames_of(subset)
        number = self._number(subset, self.counts.phase(frames, 0), ticked=False)
        assert number is not None
        return number

    def _number(self, subset: int, phase: Phase, *, ticked: bool) -> int | None:
        """Return the number of a state, making it if it is new; None if nothing in it can end."""
        if phase is None:
            number = self._uncounted.get(subset)
            if number is not None:
                return number
            if self.subsets.members[subset]:
                number = self._uncounted[subset] = self._add((subset, None, False))
            return number
        subset, phase = self._keep(subset, phase)
        if not self.subsets.members[subset]:
            return None
        key = (subset, phase, ticked and self.counts.counting(self._frames_of(subset), phase))
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = self._add(key)
        return number

    def _keep(self, subset: int, phase: int | Zone) -> tuple[int, Phase]:
        """Return the part of a set that can end in a phase, and the phase that it then has."""
        self._frames_of(subset)
        first, last = span(phase)
        low, high = self._kept[subset]
        if first <= high and (last is None or last >= low):
            return subset, phase
        members = self.subsets.members[subset]
        subset = self.subsets.number(
            frozenset(state for state in members if self.counts.keeps(state, phase))
        )
        return subset, self.counts.phase(self._frames_of(subset), first)

    def _add(self, state: State, pop: int = -1) -> int:
        self.states.append(state)
        self.pops.append(pop)
        self.moves.append({})
        self.calls.append({})
        self.escapes.append(None)
        return len(self.states) - 1

    def _expand(self, number: int) -> None:
        subset, phase, ticked = self.states[number]
        if subset == _POPPED:
            return
        if ticked and isinstance(phase, tuple) and phase[1] is not None:
            self._escape(number, subset, phase[1])
        states = self.subsets.members[subset]
        if phase is None and len(states) == 1 and self._go_on(number, states):
            return
        ways = self._ways.get(subset)
        if ways is None:
            ways = self._ways[subset] = self._find_ways(states)
        taken = 0
        moves = self.moves[number]
        for edge in ways.edges:
            target = self._after(edge, phase)
            if target is not None:
                bits = edge[0]
                taken |= bits
                moves[target] = moves[target] | bits if target in moves else bits
        for byte, pairs in ways.opened.items():
            taken = self._claim(taken, byte, pairs[0][0])
            self.calls[number][self._site(frozenset(pairs), phase)] = 1 << byte
        for byte, members in ways.closed.items():
            frames = [frame for frame in members if self.counts.closes(frame, phase)]
            if frames:
                taken = self._claim(taken, byte, frames[0])
                moves[self._label_state(frozenset(frames))] = 1 << byte

    def _go_on(self, number: int, members: Subset) -> bool:
        """Expand an uncounted state with one byte edge and nothing else, as most are in literals.

        Return whether it is one.
        """
        nfa = self.nfa
        (only,) = members
        moves = nfa.moves[only]
        if len(moves) != 1 or nfa.calls[only] or only == nfa.exits[nfa.frame_of[only]]:
            return False
        bits, target = moves[0]
        after = self._number(self._edge(bits, [target])[1], None, ticked=False)
        if after is not None:
            self.moves[number][after] = bits
        return True

    def _find_ways(self, subset: Subset) -> _Ways:
        nfa = self.nfa
        opened: dict[int, list[tuple[int, int]]] = {}
        closed: dict[int, list[int]] = {}
        for state in subset:
            for called_frame, back in nfa.calls[state]:
                byte = nfa.frames[called_frame].open  # type: ignore[union-attr]
                opened.setdefault(byte, []).append((called_frame, back))
            frame = nfa.frame_of[state]
            if frame != ROOT and state == nfa.exits[frame]:
                closed.setdefault(nfa.frames[frame].close, []).append(frame)  # type: ignore[union-attr]
        edges = grouped(self.subsets.edges(subset))
        return _Ways([self._edge(bits, targets) for bits, targets in edges], opened, closed)

    def _edge(self, bits: int, targets: list[int]) -> _Edge:
        subsets, bounded = self.subsets, self.counts.bounded
        if self.counts.bounds and (ticked := frozenset().union(*map(subsets.ticked, targets))):
            plain = frozenset().union(*map(subsets.plain, targets))
            how = _UNCOUNTED
            if bounded(ticked):
                how = _MIXED if bounded(plain) else _TICKING
            return bits, subsets.number(plain | ticked), how
        return bits, subsets.after(targets), _SILENT

    def _claim(self, taken: int, byte: int, frame: int) -> int:
        if taken & 1 << byte:
            name = self.nfa.names[frame]
            raise FrameConflict(
                f"a frame and something else go on with the same byte {bytes((byte,))!r} (frame"
                f" {name!r}); make both of them frames, or let them differ in that byte",
                byte=byte,
                frames=(name,),
            )
        return taken | 1 << byte

    def _escape(self, number: int, subset: int, count: int) -> None:
        phase = self.counts.phase(self._frames_of(subset), count)
        target = self._number(subset, phase, ticked=True)
        if target is None:
            raise CountError("a counted part cannot end once its count is reached")
        self.escapes[number] = (target, count)

    def _after(self, edge: _Edge, phase: Phase) -> int | None:
        """Return the state after a byte."""
        _, subset, how = edge
        if phase is None or how == _SILENT:
            return self._number(subset, phase, ticked=False)
        frames = self._frames_of(subset)
        if not isinstance(phase, int) and not self.counts.counting(frames, phase):
            return self._number(subset, phase, ticked=False)
        if how == _MIXED:
            raise CountError("whether a byte counts depends on how the text before it is read")
        if how == _UNCOUNTED:
            return self._number(subset, phase, ticked=False)
        if isinstance(phase, int):
            phase = self.counts.phase(frames, phase + 1)
        return self._number(subset, phase, ticked=True)

    def _label_state(self, frames: frozenset[int]) -> int:
        label = self._labels.get(frames)
        if label is None:
            label = self._labels[frames] = len(self.label_states)
            self.label_states.append(self._add((_POPPED, None, False), pop=label))
            for site, members in enumerate(self.site_frames):
                if frames <= members:
                    self._return(site, label, frames)
        return self.label_states[label]

    def _site(self, pairs: frozenset[tuple[int, int]], phase: Phase) -> int:
        site = self._sites.get((pairs, phase))
        if site is None:
            site = self._sites[pairs, phase] = len(self.site_frames)
            frames = frozenset(frame for frame, _ in pairs)
            self.site_frames.append(frames)
            self._site_pairs.append(pairs)
            self._site_phase.append(phase)
            self.site_target.append(self._enter([self.nfa.entries[frame] for frame in frames]))
            self.returns.append({})
            for label_frames, label in list(self._labels.items()):
                if label_frames <= frames:
                    self._return(site, label, label_frames)
        return site

    def _return(self, site: int, label: int, frames: frozenset[int]) -> None:
        backs = [back for frame, back in self._site_pairs[site] if frame in frames]
        if self.counts.bounds and any(map(self.subsets.ticked, backs)):
            raise CountError("a count must be passed by a byte, not by the end of a frame")
        number = self._number(self.subsets.after(backs), self._site_phase[site], ticked=False)
        if number is not None:
            self.returns[site][label] = number
