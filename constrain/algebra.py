"""Set algebra of regular languages, on canonical automata, with canonical results.

Union, intersection and difference are all one construction, the product: a state of the result is a
pair of states, and a pair accepts as the *rule* of the operation says (Rabin and Scott, "Finite
Automata and Their Decision Problems", 1959). Missing transitions stay missing: where the rule keeps
texts of one side alone, that side goes on paired with ``DEAD``.

Only pairs that are reached are built. The edges of a state are (byte set, target), few and
disjoint, so a pair costs a handful of 256-bit intersections; nothing is done byte by byte. The
result is minimized and numbered canonically, so ``equal`` is a comparison of arrays, and laws
such as De Morgan's hold between arrays.

There is no complement of the set of all byte strings here: ``complement`` is relative to a
universe (all texts, all decimal numbers), which is what a schema's ``not`` means.

Doesn't do: concatenation and repetition, which are nodes of the syntax tree. Cost: the number of
reached pairs, at most the product of the sizes, bounded by ``Limits.max_states`` while they are
found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from constrain.dfa import DEAD, DFA
from constrain.errors import LimitError
from constrain.limits import Meter
from constrain.minimize import EMPTY, Nodes, minimal_dfa, number_states

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

How = Literal["union", "intersection", "difference"]

# Whether a text belongs to the result, by whether it belongs to the left and to the right side.
_RULES: dict[How, Callable[[bool, bool], bool]] = {
    "union": lambda left, right: left or right,
    "intersection": lambda left, right: left and right,
    "difference": lambda left, right: left and not right,
}

Pair = tuple[int, int]


class _Product:
    """The pairs of two automata, found one by one; a pair is (left state, right state)."""

    def __init__(self, left: DFA, right: DFA, how: How) -> None:
        self.rule = _RULES[how]
        self.left_alone = self.rule(True, False)
        self.right_alone = self.rule(False, True)
        # The last entry serves ``DEAD`` (-1): no edges, does not accept.
        self.left_edges = [*left.edges, []]
        self.right_edges = [*right.edges, []]
        self.left_accept = [*left.accept.tolist(), False]
        self.right_accept = [*right.accept.tolist(), False]

    def accepts(self, pair: Pair) -> bool:
        """Return whether a text that leads to the pair belongs to the result."""
        return self.rule(self.left_accept[pair[0]], self.right_accept[pair[1]])

    def moves(self, pair: Pair) -> list[tuple[Pair, int]]:
        """Return the edges of a pair: (pair, byte set as bits); the byte sets are disjoint."""
        left, right = self.left_edges[pair[0]], self.right_edges[pair[1]]
        found: list[tuple[Pair, int]] = []
        covered = 0
        for bits, target in left:
            rest = bits
            for others, other in right:
                common = rest & others
                if common:
                    found.append(((target, other), common))
                    rest ^= common
                    if not rest:
                        break
            if rest and self.left_alone:
                found.append(((target, DEAD), rest))
            covered |= bits
        if self.right_alone:
            for others, other in right:
                rest = others & ~covered
                if rest:
                    found.append(((DEAD, other), rest))
        return found


def product(left: DFA, right: DFA, how: How, meter: Meter | None = None) -> DFA:
    """Return the canonical automaton of a set operation on two languages.

    Parameters
    ----------
    left, right : DFA
        Canonical automata.
    how : {"union", "intersection", "difference"}
    meter : Meter | None
        Limits and clock; the defaults of ``Limits`` if None.

    Raises
    ------
    LimitError
        If more than ``max_states`` pairs are reached, or the time is up.
    """
    meter = meter or Meter()
    pairs = _Product(left, right, how)
    order: list[Pair] = [(0, 0)]
    numbers: dict[Pair, int] = {(0, 0): 0}
    moves: list[dict[int, int]] = []
    for pair in order:
        row: dict[int, int] = {}
        for target, bits in pairs.moves(pair):
            number = numbers.get(target)
            if number is None:
                number = numbers[target] = len(order)
                order.append(target)
            row[number] = row.get(number, 0) | bits
        moves.append(row)
        if len(moves) % 512 == 0:
            meter.require("DFA states", len(order), meter.limits.max_states)
    return minimal_dfa([pairs.accepts(pair) for pair in order], moves, meter)


def union(left: DFA, right: DFA, meter: Meter | None = None) -> DFA:
    """Return the texts of either language."""
    if left is right or right.is_empty:
        return left
    return right if left.is_empty else product(left, right, "union", meter)


def intersection(left: DFA, right: DFA, meter: Meter | None = None) -> DFA:
    """Return the texts of both languages."""
    return left if left is right else product(left, right, "intersection", meter)


def difference(left: DFA, right: DFA, meter: Meter | None = None) -> DFA:
    """Return the texts of the first language that are not in the second."""
    if left is right:
        return EMPTY
    return left if right.is_empty else product(left, right, "difference", meter)


def complement(dfa: DFA, universe: DFA, meter: Meter | None = None) -> DFA:
    """Return the texts of ``universe`` that are not in the language."""
    return difference(universe, dfa, meter)


def union_all(languages: Iterable[DFA], meter: Meter | None = None) -> DFA:
    """Return the texts of any of the languages, pairing neighbours first to keep products small."""
    level = list(languages) or [EMPTY]
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        rest = level[len(level) & ~1 :]
        level = [union(left, right, meter) for left, right in pairs] + rest
    return level[0]


def is_empty(dfa: DFA) -> bool:
    """Return whether no text belongs to the language."""
    return dfa.is_empty


def equal(left: DFA, right: DFA) -> bool:
    """Return whether two canonical automata have the same language."""
    return left is right or left.same_as(right)


def contains(outer: DFA, inner: DFA) -> bool:
    """Return whether every text of ``inner`` belongs to ``outer``."""
    return outer is inner or not _reaches(inner, outer, "difference")


def disjoint(left: DFA, right: DFA) -> bool:
    """Return whether no text belongs to both languages."""
    return not _reaches(left, right, "intersection")


def _reaches(left: DFA, right: DFA, how: How) -> bool:
    """Return whether an accepting pair can be reached; stops at the first one."""
    pairs = _Product(left, right, how)
    order: list[Pair] = [(0, 0)]
    seen = set(order)
    for pair in order:
        if pairs.accepts(pair):
            return True
        for target, _ in pairs.moves(pair):
            if target not in seen:
                seen.add(target)
                order.append(target)
    return False


def shortest(dfa: DFA) -> bytes | None:
    """Return the shortest text, the least in byte order among those; None if there is none."""
    reached: dict[int, bytes] = {0: b""}
    for state in (queue := [0]):
        if dfa.accept[state]:
            return reached[state]
        for byte, target in _steps(dfa, state):
            if target not in reached:
                reached[target] = reached[state] + bytes((byte,))
                queue.append(target)
    return None


def _postorder(dfa: DFA) -> list[int] | None:
    """Return the states, targets before sources; None if there is a loop."""
    order: list[int] = []
    open_, done = 1, 2
    color = bytearray(dfa.n_states)
    stack = [0]
    while stack:
        state = stack[-1]
        if color[state]:
            stack.pop()
            if color[state] == open_:
                color[state] = done
                order.append(state)
            continue
        color[state] = open_
        for _, target in dfa.edges[state]:
            if color[target] == open_:
                return None
            if not color[target]:
                stack.append(target)
    return order


def is_finite(dfa: DFA) -> bool:
    """Return whether the language has only so many texts."""
    return _postorder(dfa) is not None


def count(dfa: DFA, most: int | None = None) -> int | None:
    """Return the number of texts, or ``most`` if there are more; None if infinitely many.

    Without ``most`` the numbers may have as many bits as there are states.
    """
    order = _postorder(dfa)
    if order is None:
        return None
    totals = [0] * dfa.n_states
    accept = dfa.accept.tolist()
    for state in order:
        edges = dfa.edges[state]
        below = sum(bits.bit_count() * totals[to] for bits, to in edges)
        total = accept[state] + below
        totals[state] = total if most is None else min(total, most)
    return totals[0]


def words(dfa: DFA, limit: int) -> list[bytes] | None:
    """Return all texts by length, then by bytes; None if there are more than ``limit``."""
    total = count(dfa, limit + 1)
    if total is None or total > limit:
        return None
    found: list[bytes] = []
    level = [(b"", 0)]
    while level:
        found.extend(text for text, state in level if dfa.accept[state])
        level = [
            (text + bytes((byte,)), target)
            for text, state in level
            for byte, target in _steps(dfa, state)
        ]
    return found


def _steps(dfa: DFA, state: int) -> list[tuple[int, int]]:
    """Return the transitions of a state as (byte, target), bytes ascending."""
    row = dfa.trans[state]
    return [(byte, int(row[byte])) for byte in np.flatnonzero(row != DEAD).tolist()]


def from_texts(members: Iterable[bytes], meter: Meter | None = None) -> DFA:
    """Return the canonical automaton of a finite language.

    The texts are added in byte order; when the next text leaves a branch, that branch is final, and
    each of its states, last first, is replaced by an equivalent one that is known. So the automaton
    is minimal at all times except along the latest text (Daciuk, Mihov, Watson and Watson,
    "Incremental Construction of Minimal Acyclic Finite-State Automata", 2000), and a list of many
    values never exists as a tree.

    Parameters
    ----------
    members : iterable of bytes
        In any order, repeats allowed.

    Raises
    ------
    LimitError
        If there are more than ``max_states`` states.
    """
    meter = meter or Meter()
    builder = _Acyclic(meter)
    for text in sorted(set(members)):
        builder.add(text)
    return builder.finish()


class _Acyclic:
    """The growing automaton: final states by number, and the open states along the last text."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        self.known: dict[tuple[bool, tuple[tuple[int, int], ...]], int] = {}
        self.states: list[tuple[bool, tuple[tuple[int, int], ...]]] = []
        self.last = b""
        self.open: list[list[tuple[int, int]]] = [[]]  # edges (byte, target) of each prefix
        self.accept = [False]

    def add(self, text: bytes) -> None:
        """Add a text that follows the last one in byte order."""
        # The least automaton of a text alone has as many states; say so before they are made.
        self.meter.require("DFA states", len(text), self.meter.limits.max_states)
        common = 0
        for ours, theirs in zip(self.last, text, strict=False):
            if ours != theirs:
                break
            common += 1
        self._close(common)
        fresh = len(text) - common
        self.open.extend([] for _ in range(fresh))
        self.accept.extend([False] * fresh)
        self.accept[-1] = True
        self.last = text

    def _close(self, depth: int) -> None:
        """Make the open states deeper than ``depth`` final."""
        while len(self.open) > depth + 1:
            number = self._final(self.accept.pop(), self.open.pop())
            self.open[-1].append((self.last[len(self.open) - 1], number))

    def _final(self, accept: bool, edges: list[tuple[int, int]]) -> int:
        key = (accept, tuple(edges))
        number = self.known.get(key)
        if number is None:
            number = self.known[key] = len(self.states)
            self.states.append(key)
            if number > self.meter.limits.max_states:
                limit = self.meter.limits.max_states
                raise LimitError("DFA states", number, limit, self.meter.where)
        return number

    def finish(self) -> DFA:
        """Return the automaton of the texts added."""
        self._close(0)
        if not self.open[0] and not self.accept[0]:
            return EMPTY
        start = self._final(self.accept[0], self.open[0])
        moves: list[dict[int, int]] = []
        for _, edges in self.states:
            row: dict[int, int] = {}
            for byte, target in edges:
                row[target] = row.get(target, 0) | 1 << byte
            moves.append(row)
        kinds = [accept for accept, _ in self.states]
        return number_states(Nodes(list(kinds), moves, [{} for _ in moves]), start)
