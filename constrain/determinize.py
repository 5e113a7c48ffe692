"""The subset construction: from the nondeterministic automaton to the minimal deterministic one.

A deterministic state is the set of NFA states one could be in. Of a closed set only the *important*
states are kept, those with byte edges or calls and the exit, so most sets that come from literals
and objects have one member. The bytes that lead out of a set are grouped by splitting the byte sets
of its edges against each other, which for disjoint sets (nearly always) costs nothing; there is no
loop over 256 bytes, nor over byte classes.

Since Thompson's construction here drops what cannot end, every set that is reached is live, and a
dead state is never built. The worst case is exponential in the size of the tree; the number of sets
is bounded by ``Limits.max_states`` while they are built.

``language`` is the whole way from a tree without calls to its canonical automaton. Automata with
frames are built by ``constrain.frames`` out of the same parts.

References: Rabin and Scott, "Finite Automata and Their Decision Problems" (1959).
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from constrain.errors import LimitError
from constrain.limits import Meter
from constrain.minimize import minimal_dfa
from constrain.nfa import NFA, ROOT, thompson
from constrain.syntax import Grammar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from constrain.dfa import DFA
    from constrain.syntax import Node

Subset = frozenset[int]

MEMBER = 40  # bytes a member of a set takes, about


class Closures:
    """Epsilon closures of single states, computed when first asked for, important states only."""

    def __init__(self, nfa: NFA, meter: Meter) -> None:
        self.nfa = nfa
        self.meter = meter
        exits = set(nfa.exits)
        self.important = [
            bool(moves or calls) or state in exits
            for state, (moves, calls) in enumerate(zip(nfa.moves, nfa.calls, strict=True))
        ]
        self._plain: dict[int, Subset] = {}
        self._ticked: dict[int, Subset] = {}

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

    def _search(self, state: int) -> tuple[Subset, Subset]:
        epsilons, ticks, important = self.nfa.epsilons, self.nfa.ticks, self.important
        if not epsilons[state] and not ticks[state]:
            return (frozenset((state,)) if important[state] else frozenset()), frozenset()
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
        plain, ticked = ({s for s in side if important[s]} for side in seen)
        self.meter.hold(MEMBER * (len(plain) + len(ticked)))
        return frozenset(plain), frozenset(ticked)


def grouped(moves: Iterable[tuple[int, int]]) -> list[tuple[int, list[int]]]:
    """Split byte edges into disjoint byte sets with all the targets of each.

    Parameters
    ----------
    moves : iterable of (int, int)
        (byte set as bits, target).

    Returns
    -------
    list of (int, list[int])
        (byte set as bits, targets); the sets are disjoint, and their union is that of the input.
    """
    by_bits: dict[int, list[int]] = {}
    for bits, target in moves:
        by_bits.setdefault(bits, []).append(target)
    covered = 0
    disjoint = True
    for bits in by_bits:
        if covered & bits:
            disjoint = False
            break
        covered |= bits
    if disjoint:
        return list(by_bits.items())
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


def language(node: Node, meter: Meter | None = None) -> DFA:
    """Return the canonical minimal automaton of a tree without calls.

    Parameters
    ----------
    node : Node
    meter : Meter | None
        Limits and clock; the defaults of ``Limits`` if None.

    Raises
    ------
    LimitError
        If there are more than ``max_nfa_states`` or ``max_states`` states, or the time is up.
    """
    meter = meter or Meter()
    nfa = thompson(Grammar(node), meter)
    closures = Closures(nfa, meter)
    held = meter.held
    start = closures.plain(nfa.entries[ROOT])
    end = nfa.exits[ROOT]
    numbers: dict[Subset, int] = {start: 0}
    order = [start]
    moves: list[dict[int, int]] = []
    with blaming(nfa, order):
        for subset in order:
            row: dict[int, int] = {}
            for bits, targets in grouped(edges_of(nfa, subset)):
                reached = closures.plain(targets[0])
                if len(targets) > 1:
                    reached = reached.union(*map(closures.plain, targets[1:]))
                    meter.spend(len(targets) + len(reached))
                number = numbers.setdefault(reached, len(order))
                if number == len(order):
                    order.append(reached)
                    meter.hold(MEMBER * len(reached))
                row[number] = row.get(number, 0) | bits
            moves.append(row)
            if len(moves) % 1024 == 0:
                meter.require("DFA states", len(order), meter.limits.max_states)
    meter.held = held  # the sets go when the automaton is made
    return minimal_dfa([end in subset for subset in order], moves, meter)


def edges_of(nfa: NFA, subset: Subset) -> list[tuple[int, int]]:
    """Return the byte edges of the members of a set."""
    if len(subset) == 1:
        (only,) = subset
        return nfa.moves[only]
    return [edge for state in subset for edge in nfa.moves[state]]


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
