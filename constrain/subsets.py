"""Sets of NFA states: the states of deterministic automata while they are built.

A deterministic state is the set of NFA states one could be in. Of a set closed under epsilon edges
only the *important* states are kept, those with byte edges or calls and the exit, so most sets that
come from literals and objects have one member. A set is kept once, under a number (``Subsets``), and
the closed set of a single state is found by that state, without hashing anything.

The bytes that lead out of a set are grouped by splitting the byte sets of its edges against each
other (``grouped``), which for disjoint sets (nearly always) costs nothing; there is no loop over 256
bytes, nor over byte classes.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from constrain.errors import LimitError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from constrain.limits import Meter
    from constrain.nfa import NFA

Subset = frozenset[int]

_MEMBER = 40  # bytes a member of a set takes, about
_NOTHING: Subset = frozenset()


class Subsets:
    """The closed sets of states of one automaton, numbered as they are first met.

    Attributes
    ----------
    members : list[Subset]
        The important states of each set; grows as sets are asked for.
    """

    def __init__(self, nfa: NFA, meter: Meter) -> None:
        self.nfa = nfa
        self.meter = meter
        self.members: list[Subset] = []
        self._important = bytearray(map(bool, nfa.moves))
        for state, calls in enumerate(nfa.calls):
            if calls:
                self._important[state] = 1
        for state in nfa.exits:
            self._important[state] = 1
        self._numbers: dict[Subset, int] = {}
        self._alone: dict[int, int] = {}  # the sets of one member, by the member
        self._after_one: dict[int, int] = {}
        self._plain: dict[int, Subset] = {}
        self._ticked: dict[int, Subset] = {}

    def number(self, subset: Subset) -> int:
        """Return the number of a closed set."""
        if len(subset) == 1:
            (only,) = subset
            return self._number_alone(only)
        number = self._numbers.get(subset)
        if number is None:
            number = self._numbers[subset] = len(self.members)
            self.members.append(subset)
            self.meter.hold(_MEMBER * len(subset))
        return number

    def _number_alone(self, state: int) -> int:
        number = self._alone.get(state)
        if number is None:
            number = self._alone[state] = len(self.members)
            self.members.append(frozenset((state,)))
        return number

    def after(self, states: Sequence[int]) -> int:
        """Return the number of what some states reach without passing a tick edge."""
        if len(states) > 1:
            subset = self.plain(states[0]).union(*map(self.plain, states[1:]))
            self.meter.spend(len(states) + len(subset))
            return self.number(subset)
        state = states[0]
        number = self._after_one.get(state)
        if number is None:
            if self._important[state] and not self.nfa.epsilons[state]:
                number = self._number_alone(state)
            else:
                number = self.number(self.plain(state))
            self._after_one[state] = number
        return number

    def plain(self, state: int) -> Subset:
        """Return the important states reached by epsilon edges without passing a tick edge."""
        found = self._plain.get(state)
        if found is None:
            found = self._plain[state] = self._search(state)[0]
        return found

    def ticked(self, state: int) -> Subset:
        """Return the important states reached by epsilon edges with a tick edge among them."""
        found = self._ticked.get(state)
        if found is None:
            found = self._ticked[state] = self._search(state)[1]
        return found

    def edges(self, subset: Subset) -> list[tuple[int, int]]:
        """Return the byte edges of the members of a set, as (byte set as bits, target)."""
        moves = self.nfa.moves
        if len(subset) == 1:
            (only,) = subset
            return moves[only]
        return [edge for state in subset for edge in moves[state]]

    def _search(self, state: int) -> tuple[Subset, Subset]:
        epsilons, ticks, important = self.nfa.epsilons, self.nfa.ticks, self._important
        if not epsilons[state] and not ticks[state]:
            return (frozenset((state,)) if important[state] else _NOTHING), _NOTHING
        seen = [{state}, set[int]()]
        queue = [(state, 0)]
        for top, flag in queue:
            for target in epsilons[top]:
                if target not in seen[flag]:
                    seen[flag].add(target)
                    queue.append((target, flag))
            for target in ticks[top]:
                if target not in seen[1]:
                    seen[1].add(target)
                    queue.append((target, 1))
        self.meter.spend(len(queue))
        plain, ticked = (frozenset(s for s in side if important[s]) for side in seen)
        self.meter.hold(_MEMBER * (len(plain) + len(ticked)))
        return plain, ticked


def grouped(moves: Sequence[tuple[int, int]]) -> list[tuple[int, list[int]]]:
    """Split byte edges into disjoint byte sets with all the targets of each.

    Parameters
    ----------
    moves : sequence of (int, int)
        (byte set as bits, target).

    Returns
    -------
    list of (int, list[int])
        (byte set as bits, targets); the sets are disjoint, and their union is that of the input.
    """
    covered = 0
    for bits, _ in moves:
        if covered & bits:
            break
        covered |= bits
    else:
        return [(bits, [target]) for bits, target in moves]
    by_bits: dict[int, list[int]] = {}
    for bits, target in moves:
        by_bits.setdefault(bits, []).append(target)
    parts: list[tuple[int, list[int]]] = []
    for bits, targets in by_bits.items():
        rest = bits
        after: list[tuple[int, list[int]]] = []
        for part, others in parts:
            common = part & rest
            if common:
                after.append((common, others + targets))
                rest ^= common
            if part != common:
                after.append((part ^ common, others))
        if rest:
            after.append((rest, targets))
        parts = after
    return parts


@contextmanager
def blaming(nfa: NFA, subsets: Iterable[Subset]) -> Iterator[None]:
    """Let a ``LimitError`` that names no place name the one that costs the most."""
    try:
        yield
    except LimitError as error:
        where = error.where or costliest(nfa, subsets)
        raise LimitError(error.what, error.given, error.limit, where) from None


def costliest(nfa: NFA, subsets: Iterable[Subset]) -> str:
    """Return the name of the place whose NFA states occur in the most subsets."""
    counts: dict[int, int] = {}
    for subset in subsets:
        for state in subset:
            place = nfa.place_of[state]
            counts[place] = counts.get(place, 0) + 1
    counts.pop(0, None)
    return nfa.places[max(counts, key=counts.__getitem__)] if counts else ""
