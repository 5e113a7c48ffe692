"""Counted frames: a bound of a million in as many states as the longest token needs.

A frame may bound the number of *ticks* its body passes: characters of a string, commas of an array.
``maxLength: 65535`` must not be 65,535 copies of a character. A token holds at most T ticks of a
vocabulary, so while more than T are left, what a token may do is what the unbounded loop lets it do.
The counts of a frame therefore fall into *regions*, where every single count has states of its own,
and *zones* between them, one copy of the body each, in which only the run time counts:

    minimum m:  the counts m - T - D .. m - 1 are a region; below it closing is dead,
    maximum n:  the counts n - T - D + 1 .. n are a region; above it the frame is over,

where D is the number of ticks the body may need or be able to pass from some place to its end, so
that what is alive in a zone is alive whatever the count in it is. The tick that brings the count to
the end of a zone moves into the region (``escape``). A zone after the last region has no end and
nothing is counted in it (it is *saturated*).

All frames that may begin at one place read the same text and so count the same ticks; their regions
are laid over each other, and one counter serves them all.

What this asks of a body: wherever it can pass more than a few ticks it must be able to pass any
number of them, that is, a loop that ticks can tick once. Strings, arrays and objects do; for a
pattern such as ``(..)*`` under a count, ``eligible`` says no, and the count must be written out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from constrain.errors import LimitError
from constrain.minimize import Nodes, components

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from constrain.nfa import NFA

Zone: TypeAlias = tuple[int, int | None]
"""Counts from the first (included) to the second (excluded; None: without end)."""
Phase: TypeAlias = int | Zone | None
"""An exact count, a zone, or None where nothing is bounded."""

MOST_MINIMUM = 2**31 - 2  # a text takes more tokens than ``tokens_to_pop`` can say
MOST_MAXIMUM = 2**62 - 1  # no text reaches it, and no array could hold it
_NEVER = 2**63  # above every count
_NO_FRAMES: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of one frame: allowed counts, and the regions that must be exact."""

    minimum: int
    maximum: int | None
    regions: tuple[tuple[int, int], ...]


class Counts:
    """The counted frames of an automaton and what each state can still count.

    Attributes
    ----------
    bounds : dict[int, Bounds]
        By frame number.
    fewest, most : dict[int, int], dict[int, int | None]
        Of each state of a counted frame: the fewest and the most ticks on a way to the exit; None
        is without bound.
    """

    def __init__(self, nfa: NFA, longest: Callable[[int], int]) -> None:
        self.nfa = nfa
        self.bounds: dict[int, Bounds] = {}
        self.fewest: dict[int, int] = {}
        self.most: dict[int, int | None] = {}
        self._phases: dict[tuple[frozenset[int], int], Phase] = {}
        self._counting: dict[tuple[frozenset[int], int], bool] = {}
        members: dict[int, list[int]] = {}
        for number, frame in enumerate(nfa.frames):
            if frame is not None and (frame.minimum > 0 or frame.maximum is not None):
                members[number] = []
        for state, number in enumerate(nfa.frame_of):
            if number in members:
                members[number].append(state)
        once = cache(longest)  # frames with equal characters are many
        for number, states in members.items():
            self._measure(number, states, once)

    def _measure(self, number: int, states: list[int], longest: Callable[[int], int]) -> None:
        nfa, frame = self.nfa, self.nfa.frames[number]
        assert frame is not None
        edges = {state: list(_tick_edges(nfa, state)) for state in states}
        fewest = _fewest(edges, nfa.exits[number])
        most = _most(edges, nfa.exits[number], fewest)
        self.fewest.update(fewest)
        self.most.update(most)
        tokens = longest(_ticking_bytes(nfa, states))
        slack = max(fewest.values(), default=0)
        slack = max([slack, *(value for value in most.values() if value is not None)])
        if frame.minimum > MOST_MINIMUM:
            raise LimitError("counted parts", frame.minimum, MOST_MINIMUM, frame.where)
        maximum = frame.maximum
        if maximum is not None and maximum > MOST_MAXIMUM:
            maximum = None
        regions: list[tuple[int, int]] = []
        if frame.minimum > 0:
            regions.append((max(0, frame.minimum - tokens - slack), frame.minimum))
        if maximum is not None:
            regions.append((max(0, maximum - tokens - slack + 1), maximum + 1))
        self.bounds[number] = Bounds(frame.minimum, maximum, tuple(regions))

    def bounded(self, states: Iterable[int]) -> frozenset[int]:
        """Return the counted frames that some of the states belong to."""
        if not self.bounds:
            return _NO_FRAMES
        frame_of, bounds = self.nfa.frame_of, self.bounds
        return frozenset(frame_of[state] for state in states if frame_of[state] in bounds)

    def phase(self, frames: frozenset[int], count: int) -> Phase:
        """Return the phase of a count for a set of counted frames."""
        if not frames:
            return None
        key = (frames, count)
        if key not in self._phases:
            self._phases[key] = self._find_phase(frames, count)
        return self._phases[key]

    def _find_phase(self, frames: frozenset[int], count: int) -> Phase:
        low, high = 0, None
        for frame in frames:
            for first, last in self.bounds[frame].regions:
                if first <= count < last:
                    return count
                if last <= count:
                    low = max(low, last)
                elif high is None or first < high:
                    high = first
        return (low, high)

    def counting(self, frames: frozenset[int], phase: Phase) -> bool:
        """Return whether the run time must still count: whether a zone with an end is, or is ahead.

        Any of the frames may turn out to be the only one that goes on, so each counts for itself.
        """
        if phase is None:
            return False
        if not isinstance(phase, int):
            return phase[1] is not None
        key = (frames, phase)
        if key not in self._counting:
            self._counting[key] = any(
                start > phase and not any(first < start <= last for first, last in regions)
                for regions in (self.bounds[frame].regions for frame in frames)
                for start, _ in regions
            )
        return self._counting[key]

    def keeps(self, state: int, phase: Phase) -> bool:
        """Return whether a state can reach its frame's exit with an allowed count."""
        bounds = self.bounds.get(self.nfa.frame_of[state])
        if bounds is None or phase is None:
            return True
        first, last = span(phase)
        least, highest = self.kept((state,))
        return first <= highest and (last is None or last >= least)

    def kept(self, states: Iterable[int]) -> tuple[int, int]:
        """Return the least and the highest count with which all of the states can still end.

        A phase keeps them all if it begins at the highest or before, and ends at the least or after.
        """
        least, highest = 0, _NEVER
        for state in states:
            bounds = self.bounds.get(self.nfa.frame_of[state])
            if bounds is None:
                continue
            most = self.most[state]
            if most is not None:
                least = max(least, bounds.minimum - most)
            if bounds.maximum is not None:
                highest = min(highest, bounds.maximum - self.fewest[state])
        return least, highest

    def impossible(self) -> list[int]:
        """Return the frames no text of which has an allowed count."""
        entries = self.nfa.entries
        return [
            frame
            for frame in self.bounds
            if entries[frame] in self.fewest and not self.keeps(entries[frame], 0)
        ]

    def closes(self, frame: int, phase: Phase) -> bool:
        """Return whether a frame may close in a phase."""
        bounds = self.bounds.get(frame)
        if bounds is None or phase is None:
            return True
        if isinstance(phase, int):
            return bounds.minimum <= phase and (bounds.maximum is None or phase <= bounds.maximum)
        return bounds.minimum <= phase[0]

    def waits_for(self, states: Iterable[int], phase: Phase) -> int:
        """Return the end of a zone in which no frame of the states may close; 0 elsewhere."""
        if not isinstance(phase, tuple) or phase[1] is None:
            return 0
        frames = {self.nfa.frame_of[state] for state in states}
        return 0 if any(self.closes(frame, phase) for frame in frames) else phase[1]


def span(phase: int | Zone) -> tuple[int, int | None]:
    """Return the first and the last count of a phase; None is without end."""
    if isinstance(phase, int):
        return phase, phase
    first, end = phase
    return first, None if end is None else end - 1


def _tick_edges(nfa: NFA, state: int) -> Iterable[tuple[int, int]]:
    """Yield (target, ticks passed) of every edge of a state; a call is one edge to its return."""
    for _, target in nfa.moves[state]:
        yield target, 0
    for target in nfa.epsilons[state]:
        yield target, 0
    for target in nfa.ticks[state]:
        yield target, 1
    for _, target in nfa.calls[state]:
        yield target, 0


def _ticking(nfa: NFA, states: list[int]) -> set[int]:
    """Return the states from which epsilon edges lead to a tick edge."""
    sources: dict[int, list[int]] = {}
    for state in states:
        for target in nfa.epsilons[state]:
            sources.setdefault(target, []).append(state)
    queue = [state for state in states if nfa.ticks[state]]
    found = set(queue)
    for state in queue:
        for source in sources.get(state, ()):
            if source not in found:
                found.add(source)
                queue.append(source)
    return found


def _ticking_bytes(nfa: NFA, states: list[int]) -> int:
    """Return the bytes that can complete a tick, as bits: those of edges that lead to tick edges."""
    ticking = _ticking(nfa, states)
    bits = 0
    for state in states:
        for members, target in nfa.moves[state]:
            if target in ticking:
                bits |= members
    return bits


def _fewest(edges: dict[int, list[tuple[int, int]]], end: int) -> dict[int, int]:
    """Return the fewest ticks from each state to the exit: a 0-1 breadth-first search backwards."""
    sources: dict[int, list[tuple[int, int]]] = {state: [] for state in edges}
    for state, targets in edges.items():
        for target, ticks in targets:
            sources[target].append((state, ticks))
    fewest = {end: 0}
    level, value = [end], 0
    while level:
        beyond: list[int] = []
        for state in level:
            if fewest[state] != value:
                continue
            for source, ticks in sources[state]:
                if source not in fewest or fewest[source] > value + ticks:
                    fewest[source] = value + ticks
                    (beyond if ticks else level).append(source)
        level, value = beyond, value + 1
    return fewest


def _most(
    edges: dict[int, list[tuple[int, int]]], end: int, live: dict[int, int]
) -> dict[int, int | None]:
    """Return the most ticks from each live state to the exit; None where there is no bound."""
    component = _components(edges)
    looping = {
        component[state]
        for state, targets in edges.items()
        for target, ticks in targets
        if ticks and component[state] == component[target] and state in live
    }
    most: dict[int, int | None] = {}
    # Components are numbered so that edges lead to smaller or equal numbers.
    by_component: dict[int, list[int]] = {}
    for state in live:
        by_component.setdefault(component[state], []).append(state)
    for number in sorted(by_component):
        members = by_component[number]
        best: int | None = 0 if end in members else -1
        for state in members:
            for target, ticks in edges[state]:
                if component[target] == number or target not in live:
                    continue
                beyond = most[target]
                best = None if beyond is None or best is None else max(best, beyond + ticks)
        if number in looping:
            best = None
        for state in members:
            most[state] = best
    return most


def _components(edges: dict[int, list[tuple[int, int]]]) -> dict[int, int]:
    """Return the number of each state's component; edges lead to smaller or equal numbers."""
    rank = {state: i for i, state in enumerate(edges)}
    nodes = Nodes(
        [None] * len(edges),
        [{rank[target]: 1 for target, _ in targets} for targets in edges.values()],
        [{} for _ in edges],
    )
    states = list(edges)
    return {
        states[member]: number
        for number, members in enumerate(components(nodes, range(len(edges))))
        for member in members
    }


def eligible(nfa: NFA, frame: int) -> bool:
    """Return whether every loop of a frame's body that ticks can tick exactly once.

    Nor may one byte pass two ticks, or the opening byte one.
    """
    states = [state for state, number in enumerate(nfa.frame_of) if number == frame]
    ticking = _ticking(nfa, states)
    twice = any(target in ticking for state in states for target in nfa.ticks[state])
    if twice or nfa.entries[frame] in ticking:
        return False
    edges = {state: list(_tick_edges(nfa, state)) for state in states}
    component = _components(edges)
    looping: set[int] = set()
    unit: set[int] = set()
    silent = {
        state: [target for target, ticks in targets if not ticks]
        for state, targets in edges.items()
    }
    for state, targets in edges.items():
        for target, ticks in targets:
            number = component[state]
            if not ticks or number != component[target]:
                continue
            looping.add(number)
            if number not in unit and _reaches(silent, target, state):
                unit.add(number)
    return looping == unit


def _reaches(edges: dict[int, list[int]], start: int, goal: int) -> bool:
    seen = {start}
    queue = [start]
    for state in queue:
        if state == goal:
            return True
        for target in edges[state]:
            if target not in seen:
                seen.add(target)
                queue.append(target)
    return False
