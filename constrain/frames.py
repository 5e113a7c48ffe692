"""Frames: from a grammar to a machine of bounded size, by subset construction with calls.

A part of the language that begins and ends with bytes of its own (``{ }``, ``[ ]``, ``" "``) and that
is recursive, stands in many places or is counted is a *frame*: an automaton of its own, entered by
its opening byte and left by its closing byte. Such languages are visibly pushdown (Alur and
Madhusudan, "Visibly pushdown languages", STOC 2004), and visibly pushdown automata determinize:

* A deterministic state is a set of NFA states, all of bodies of frames that began at one place.
* A *call site* is the set of (frame, return state) pairs possible at a place for one opening byte.
  It leads to the set of the entries of those frames.
* On a closing byte the frames whose exit is in the set have been matched; this set of frames is the
  *label* that is popped, and a call site goes on, for each label that can come back, in the return
  states of exactly the frames in it.
* Where a frame bounds a count, states also carry the phase of the count (``constrain.counting``).

What a byte means must not depend on a choice: where a plain byte edge and a call, two closings and a
move, and so on, meet on one byte, ``FrameConflict`` names them (both must be frames, then).

Afterwards, as arrays of labels each state can come to pop (``_reach``) show what is live and
reachable, labels are renumbered so that only those that can come back to one call site differ (with
one frame at a place there is only label 0, and equal frames become one), and states and call sites
are minimized together as one graph. Numbering is breadth first; within a frame it is canonical.

A grammar without calls becomes the canonical minimal automaton and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from constrain.counting import Counts, Phase, eligible
from constrain.determinize import (
    MEMBER,
    Closures,
    Subset,
    blaming,
    edges_of,
    grouped,
    language,
)
from constrain.dfa import DFA
from constrain.errors import ConstrainError
from constrain.limits import Meter
from constrain.machine import FrameInfo, Machine
from constrain.minimize import EMPTY, Nodes, breadth_first, classify, fill
from constrain.nfa import ROOT, called, close_entries, thompson

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from constrain.nfa import NFA
    from constrain.syntax import Grammar

_END = 1  # in sets of labels as bits: an accepting state; label l is bit l + 1


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
    """A count cannot be kept by the run time for this body; it must be written out."""


_State = tuple[Subset, Phase, bool]


@dataclass(frozen=True, slots=True)
class _Targets:
    """Where one byte leads, whatever the phase: without and with a tick, and both together.

    Each with the counted frames that it belongs to.
    """

    plain: Subset
    ticked: Subset
    both: Subset
    frames_plain: frozenset[int]
    frames_ticked: frozenset[int]
    frames_both: frozenset[int]


@dataclass(frozen=True, slots=True)
class _Ways:
    """The ways on from a subset, whatever the phase: by byte edges, calls, and closing bytes."""

    edges: list[tuple[int, _Targets]]
    opened: dict[int, list[tuple[int, int]]]
    closed: dict[int, list[int]]


class _Builder:
    """The subset construction with calls; the machine as lists and dictionaries."""

    def __init__(self, nfa: NFA, counts: Counts, meter: Meter) -> None:
        self.nfa = nfa
        self.counts = counts
        self.meter = meter
        self.closures = Closures(nfa, meter)
        self.ways: dict[Subset, _Ways] = {}  # a counted part passes the same subsets in many phases
        self.states: list[_State] = []
        self.numbers: dict[_State, int] = {}
        self.pops: list[int] = []  # label of each state, or -1
        self.moves: list[dict[int, int]] = []  # target state -> bits
        self.calls: list[dict[int, int]] = []  # call site -> bits
        self.escapes: list[tuple[int, int] | None] = []
        self.labels: dict[frozenset[int], int] = {}
        self.label_states: list[int] = []
        self.sites: dict[tuple[frozenset[tuple[int, int]], Phase], int] = {}
        self.site_frames: list[frozenset[int]] = []
        self.site_phase: list[Phase] = []
        self.site_pairs: list[frozenset[tuple[int, int]]] = []
        self.site_target: list[int] = []
        self.returns: list[dict[int, int]] = []
        self.start = self.enter([nfa.entries[ROOT]])
        with blaming(nfa, (subset for subset, _, _ in self.states if min(subset) >= 0)):
            for number, _ in enumerate(self.states):
                self._expand(number)
                if number % 512 == 0:
                    meter.require("states", len(self.states), meter.limits.max_states)

    def enter(self, entries: Iterable[int]) -> int:
        """Return the state at the beginning of frames, given by their entries."""
        subset = frozenset().union(*map(self.closures.plain, entries))
        frames = self.counts.bounded(subset)
        number = self._number(subset, frames, self.counts.phase(frames, 0), ticked=False)
        assert number is not None
        return number

    def _number(
        self, subset: Subset, frames: frozenset[int], phase: Phase, *, ticked: bool
    ) -> int | None:
        """Return the number of a state, making it if it is new; None if nothing in it can end."""
        if phase is not None:
            kept = frozenset(state for state in subset if self.counts.keeps(state, phase))
            if kept != subset:
                subset, frames = kept, self.counts.bounded(kept)
                count = phase if isinstance(phase, int) else phase[0]
                phase = self.counts.phase(frames, count)
        if not subset:
            return None
        key = (subset, phase, ticked and self.counts.counting(frames, phase))
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.states)
            self.meter.hold(MEMBER * len(subset))
            self.states.append(key)
            self.pops.append(-1)
            self.moves.append({})
            self.calls.append({})
            self.escapes.append(None)
        return number

    def _expand(self, number: int) -> None:
        subset, phase, ticked = self.states[number]
        if self.pops[number] >= 0:
            return
        if ticked and isinstance(phase, tuple) and phase[1] is not None:
            self._escape(number, subset, phase[1])
        ways = self.ways.get(subset)
        if ways is None:
            ways = self.ways[subset] = self._ways(subset)
        taken = 0
        moves = self.moves[number]
        for bits, targets in ways.edges:
            target = self._after(targets, phase)
            if target is not None:
                taken |= bits
                moves[target] = moves.get(target, 0) | bits
        for byte, pairs in ways.opened.items():
            taken = self._claim(taken, byte, pairs[0][0])
            self.calls[number][self._site(frozenset(pairs), phase)] = 1 << byte
        for byte, members in ways.closed.items():
            frames = [frame for frame in members if self.counts.closes(frame, phase)]
            if frames:
                taken = self._claim(taken, byte, frames[0])
                moves[self._label_state(frozenset(frames))] = 1 << byte

    def _ways(self, subset: Subset) -> _Ways:
        nfa = self.nfa
        edges = edges_of(nfa, subset)
        opened: dict[int, list[tuple[int, int]]] = {}
        closed: dict[int, list[int]] = {}
        for state in subset:
            for called_frame, back in nfa.calls[state]:
                byte = nfa.frames[called_frame].open  # type: ignore[union-attr]
                opened.setdefault(byte, []).append((called_frame, back))
            frame = nfa.frame_of[state]
            if frame != ROOT and state == nfa.exits[frame]:
                closed.setdefault(nfa.frames[frame].close, []).append(frame)  # type: ignore[union-attr]
        return _Ways(
            [(bits, self._targets(targets)) for bits, targets in grouped(edges)], opened, closed
        )

    def _targets(self, states: list[int]) -> _Targets:
        plain = frozenset().union(*map(self.closures.plain, states))
        ticked = frozenset().union(*map(self.closures.ticked, states))
        both = plain | ticked
        self.meter.spend(len(states) + len(both))
        bounded = self.counts.bounded
        return _Targets(plain, ticked, both, bounded(plain), bounded(ticked), bounded(both))

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

    def _escape(self, number: int, subset: Subset, count: int) -> None:
        frames = self.counts.bounded(subset)
        target = self._number(subset, frames, self.counts.phase(frames, count), ticked=True)
        if target is None:
            raise CountError("a counted part cannot end once its count is reached")
        self.escapes[number] = (target, count)

    def _after(self, targets: _Targets, phase: Phase) -> int | None:
        """Return the state after a byte."""
        if not targets.ticked:
            return self._number(targets.plain, targets.frames_plain, phase, ticked=False)
        subset, frames = targets.both, targets.frames_both
        if not self.counts.counting(frames, phase) and not isinstance(phase, int):
            return self._number(subset, frames, phase, ticked=False)
        if frames & targets.frames_ticked and frames & targets.frames_plain:
            raise CountError("whether a byte counts depends on how the text before it is read")
        if not targets.frames_ticked:
            return self._number(subset, frames, phase, ticked=False)
        if isinstance(phase, int):
            phase = self.counts.phase(frames, phase + 1)
        return self._number(subset, frames, phase, ticked=True)

    def _label_state(self, frames: frozenset[int]) -> int:
        label = self.labels.get(frames)
        if label is None:
            label = self.labels[frames] = len(self.label_states)
            number = len(self.states)
            self.label_states.append(number)
            self.states.append((frozenset((-1 - label,)), None, False))
            self.pops.append(label)
            self.moves.append({})
            self.calls.append({})
            self.escapes.append(None)
            for site, members in enumerate(self.site_frames):
                if frames <= members:
                    self._return(site, label, frames)
        return self.label_states[label]

    def _site(self, pairs: frozenset[tuple[int, int]], phase: Phase) -> int:
        site = self.sites.get((pairs, phase))
        if site is None:
            site = self.sites[pairs, phase] = len(self.site_frames)
            frames = frozenset(frame for frame, _ in pairs)
            self.site_frames.append(frames)
            self.site_pairs.append(pairs)
            self.site_phase.append(phase)
            self.site_target.append(self.enter(self.nfa.entries[frame] for frame in frames))
            self.returns.append({})
            for label_frames, label in list(self.labels.items()):
                if label_frames <= frames:
                    self._return(site, label, label_frames)
        return site

    def _return(self, site: int, label: int, frames: frozenset[int]) -> None:
        backs = [back for frame, back in self.site_pairs[site] if frame in frames]
        if any(self.closures.ticked(back) for back in backs):
            raise CountError("a count must be passed by a byte, not by the end of a frame")
        subset = frozenset().union(*map(self.closures.plain, backs))
        phase = self.site_phase[site]
        number = self._number(subset, self.counts.bounded(subset), phase, ticked=False)
        if number is not None:
            self.returns[site][label] = number


def _reach(builder: _Builder) -> list[int]:
    """Return, for each state, the labels it can come to pop (bit l + 1) or that it can accept (bit 0).

    The least fixpoint of: what its targets reach; and, for a call, what the return states of the
    labels that the entered frame can pop reach.
    """
    n = len(builder.states)
    sources: list[list[int]] = [[] for _ in range(n)]
    users: list[list[int]] = [[] for _ in builder.site_target]  # states that make a call
    entered: dict[int, list[int]] = {}  # call sites by target
    waits: dict[int, list[tuple[int, int]]] = {}  # return state -> (site, label)
    for state in range(n):
        for target in builder.moves[state]:
            sources[target].append(state)
        escape = builder.escapes[state]
        if escape is not None:
            sources[escape[0]].append(state)
        for site in builder.calls[state]:
            users[site].append(state)
    for site, target in enumerate(builder.site_target):
        entered.setdefault(target, []).append(site)
        for label, back in builder.returns[site].items():
            waits.setdefault(back, []).append((site, label))
    root = builder.nfa.exits[ROOT]
    reach = [0] * n
    queue: list[int] = []

    def add(state: int, bits: int) -> None:
        if bits & ~reach[state]:
            reach[state] |= bits
            queue.append(state)

    for state, (subset, _, _) in enumerate(builder.states):
        if builder.pops[state] >= 0:
            add(state, 2 << builder.pops[state])
        elif root in subset:
            add(state, _END)
    while queue:
        state = queue.pop()
        bits = reach[state]
        for source in sources[state]:
            add(source, bits)
        for site, label in waits.get(state, ()):
            if reach[builder.site_target[site]] & 2 << label:
                for user in users[site]:
                    add(user, bits)
        for site in entered.get(state, ()):
            for label, back in builder.returns[site].items():
                if bits & 2 << label:
                    for user in users[site]:
                        add(user, reach[back])
    return reach


def _colours(builder: _Builder, reach: list[int]) -> list[int]:
    """Renumber labels so that those that can come back to one call site differ, and few are used."""
    meets: list[set[int]] = [set() for _ in builder.label_states]
    for site in range(len(builder.site_target)):
        bits = reach[builder.site_target[site]]
        labels = [label for label in builder.returns[site] if bits & 2 << label]
        for label in labels:
            meets[label].update(labels)
    colours: list[int] = []
    for label, others in enumerate(meets):
        used = {colours[other] for other in others if other < label}
        colours.append(next(colour for colour in range(len(used) + 1) if colour not in used))
    return colours


def _nodes(builder: _Builder, reach: list[int], colours: list[int]) -> Nodes:
    """Return states and call sites (after them) as one graph, live parts only."""
    n = len(builder.states)
    root = builder.nfa.exits[ROOT]
    nodes = Nodes()
    live_site: list[bool] = []
    for site, target in enumerate(builder.site_target):
        live_site.append(bool(reach[target]) and bool(builder.returns[site]))
    for state, (subset, phase, ticked) in enumerate(builder.states):
        escape = builder.escapes[state]
        waits = builder.counts.waits_for(subset, phase)
        label = builder.pops[state]
        pop = colours[label] if label >= 0 else -1
        accepts = label < 0 and root in subset
        nodes.kinds.append(("state", accepts, pop, ticked, escape[1] if escape else 0, waits))
        moves = {t: bits for t, bits in builder.moves[state].items() if reach[t]}
        moves.update((n + c, bits) for c, bits in builder.calls[state].items() if live_site[c])
        nodes.moves.append(moves)
        if escape and reach[state] and not reach[escape[0]]:
            raise CountError("a counted part cannot end once its count is reached")
        nodes.links.append({"escape": escape[0]} if escape else {})
    for site, target in enumerate(builder.site_target):
        nodes.kinds.append(("call",))
        nodes.moves.append({})
        links: dict[Hashable, int] = {"target": target}
        for label, back in sorted(builder.returns[site].items(), key=lambda x: colours[x[0]]):
            if reach[target] & 2 << label:
                if not reach[back]:
                    raise CountError("a counted part cannot go on after one of its inner parts")
                links[colours[label]] = back
        missing = reach[target] >> 1
        for label in builder.returns[site]:
            missing &= ~(1 << label)
        if live_site[site] and missing:
            raise CountError("a counted part cannot go on after one of its inner parts")
        nodes.links.append(links)
    return nodes


def _infos(builder: _Builder, class_of: list[int], rank: dict[int, int]) -> tuple[FrameInfo, ...]:
    found: dict[int, FrameInfo] = {}
    for site, target in enumerate(builder.site_target):
        state = rank.get(class_of[target], -1)
        if state < 0 or state in found:
            continue
        members = sorted(builder.site_frames[site])
        frames = [builder.nfa.frames[number] for number in members]
        found[state] = FrameInfo(
            state,
            " | ".join(builder.nfa.names[number] for number in members),
            ", ".join(dict.fromkeys(frame.why for frame in frames if frame and frame.why)),
            ", ".join(dict.fromkeys(frame.where for frame in frames if frame and frame.where)),
        )
    return tuple(found[state] for state in sorted(found))


def build_machine(
    grammar: Grammar,
    meter: Meter | None = None,
    longest: Callable[[int], int] = lambda _: 1,
) -> Machine:
    """Return the minimal machine of a grammar.

    Parameters
    ----------
    grammar : Grammar
    meter : Meter | None
        Limits and clock.
    longest : callable
        The most bytes of a set (as bits) that one token holds; it decides how long the exact
        regions of counted frames are. The default will do where no masks are made.

    Returns
    -------
    Machine
        Plain if the start node makes no calls. The empty language gives one dead state.

    Raises
    ------
    FrameConflict, CountError
        If the frames do not fit together; see the essay above.
    LimitError
    """
    meter = meter or Meter()
    if not called(grammar.start):
        return Machine.of(language(grammar.start, meter))
    nfa = thompson(grammar, meter)
    counts = Counts(nfa, longest)
    while impossible := counts.impossible():
        close_entries(nfa, impossible)
        counts = Counts(nfa, longest)
    for number in counts.bounds:
        if not eligible(nfa, number):
            raise CountError(
                f"the body of frame {nfa.names[number]!r} cannot be counted one by one"
            )
    if not Closures(nfa, meter).plain(nfa.entries[ROOT]):
        return Machine.of(EMPTY)
    builder = _Builder(nfa, counts, meter)
    reach = _reach(builder)
    if not reach[builder.start]:
        return Machine.of(EMPTY)
    colours = _colours(builder, reach)
    nodes = _nodes(builder, reach, colours)
    class_of, classes = classify(nodes, [builder.start], meter)
    order = breadth_first(classes, class_of[builder.start])
    states = [node for node in order if classes.kinds[node][0] == "state"]  # type: ignore[index]
    sites = [node for node in order if classes.kinds[node][0] == "call"]  # type: ignore[index]
    rank = {node: i for i, node in enumerate(states)}
    close_of: dict[int, int] = {}
    for site, frames in enumerate(builder.site_frames):
        number = class_of[len(builder.states) + site]
        for frame in frames:
            close_of[number] = close_of.get(number, 0) | 1 << nfa.frames[frame].close  # type: ignore[union-attr]
    closers = tuple(close_of[node] for node in sites)
    return _machine(classes, states, sites, closers, _infos(builder, class_of, rank))


def _machine(
    classes: Nodes,
    states: list[int],
    sites: list[int],
    closers: tuple[int, ...],
    infos: tuple[FrameInfo, ...],
) -> Machine:
    rank = {node: i for i, node in enumerate(states)}
    value = dict(rank)
    value.update((node, -2 - i) for i, node in enumerate(sites))
    edges = [
        (i, bits, value[target])
        for i, node in enumerate(states)
        for target, bits in classes.moves[node].items()
    ]
    kinds: list[tuple[str, bool, int, bool, int, int]] = [classes.kinds[node] for node in states]  # type: ignore[misc]
    n_labels = max((kind[2] for kind in kinds), default=-1) + 1
    target = np.zeros(len(sites), dtype=np.int32)
    returns = np.full((len(sites), n_labels), -1, dtype=np.int32)
    for i, node in enumerate(sites):
        for label, other in classes.links[node].items():
            if isinstance(label, int):
                returns[i, label] = rank[other]
            else:
                target[i] = rank[other]
    escape = [rank[classes.links[node]["escape"]] if classes.links[node] else -1 for node in states]
    return Machine(
        DFA(fill(len(states), edges), np.asarray([kind[1] for kind in kinds], dtype=np.bool_)),
        np.asarray([kind[2] for kind in kinds], dtype=np.int32),
        target,
        returns,
        np.asarray([kind[3] for kind in kinds], dtype=np.bool_),
        np.asarray(escape, dtype=np.int32),
        np.asarray([kind[4] for kind in kinds], dtype=np.int64),
        np.asarray([kind[5] for kind in kinds], dtype=np.int64),
        closers,
        infos,
    )
