"""The deterministic automaton: two arrays that are a function of the language alone.

A DFA reads bytes. ``trans[s, b]`` is the state after byte b in state s, or ``DEAD`` where no text of
the language continues; ``accept[s]`` says whether a text may end in s. The start state is 0. An
automaton that comes out of this package is *trim* (every state is reachable, and from every state
some accepting state is reachable), *minimal* (no two states are equivalent) and *canonical* (states
are numbered breadth first from the start, bytes ascending): equal languages give equal arrays.

>>> from constrain import regex_to_dfa
>>> dfa = regex_to_dfa("(cat|car|dog)s?")
>>> dfa.n_states, dfa.accept.nonzero()[0].tolist()
(7, [5, 6])
>>> dfa.step(0, b"ca"), dfa.step(0, b"x"), dfa.matches(b"cars")
(3, -1, True)

Doesn't do: determinize, minimize or combine automata (``determinize``, ``minimize``, ``algebra``).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from constrain.arrays import mixed

DEAD = -1


@dataclass(frozen=True, eq=False)
class DFA:
    """A deterministic finite automaton over bytes.

    Attributes
    ----------
    trans : int32 [S, 256]
        The next state, or ``DEAD``.
    accept : bool [S]
        Whether a text may end in the state.
    """

    trans: NDArray[np.int32]
    accept: NDArray[np.bool_]

    def __repr__(self) -> str:
        """Return the sizes in one line."""
        return f"<DFA: {self.n_states:,} states, {int(self.accept.sum()):,} accepting>"

    @property
    def n_states(self) -> int:
        """The number of states."""
        return len(self.accept)

    def step(self, state: int, data: bytes) -> int:
        """Return the state after reading ``data`` from ``state``, or ``DEAD``."""
        for byte in data:
            if state == DEAD:
                break
            state = int(self.trans[state, byte])
        return state

    def matches(self, data: bytes) -> bool:
        """Return whether ``data`` belongs to the language."""
        state = self.step(0, data)
        return state != DEAD and bool(self.accept[state])

    def same_as(self, other: "DFA") -> bool:
        """Return whether the arrays are equal; for canonical automata, whether the languages are."""
        return np.array_equal(self.trans, other.trans) and np.array_equal(self.accept, other.accept)

    @cached_property
    def byte_classes(self) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
        """The coarsest byte classes and the transition table over them.

        Returns
        -------
        class_of : uint8 [256]
            The class of each byte, numbered by first occurrence.
        columns : int32 [S, K]
            ``columns[s, class_of[b]] == trans[s, b]``.
        """
        first, class_of = _equal_columns(self.trans)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return rank[class_of.ravel()].astype(np.uint8), self.trans[:, first[order]]

    @cached_property
    def edges(self) -> list[list[tuple[int, int]]]:
        """The transitions of each state as (byte set as bits, target), one entry a target."""
        class_of, columns = self.byte_classes
        bits = [0] * columns.shape[1]
        for byte, number in enumerate(class_of.tolist()):
            bits[number] |= 1 << byte
        result: list[list[tuple[int, int]]] = []
        for row in columns.tolist():
            sets: dict[int, int] = {}
            for number, target in enumerate(row):
                if target != DEAD:
                    sets[target] = sets.get(target, 0) | bits[number]
            result.append([(members, target) for target, members in sets.items()])
        return result

    @property
    def is_empty(self) -> bool:
        """Whether the language is empty; then there is one state, which does not accept."""
        return not self.accept.any()


def _equal_columns(
    trans: NDArray[np.int32],
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first column of each group of equal columns, and the group of every column.

    Columns are compared by two linear hashes and the result is proved by one comparison. The hashes
    are sums of whole numbers in floats, kept so small that none is rounded.
    """
    n, most = len(trans), max(len(trans), -int(trans.min(initial=0)))
    bits = 52 - n.bit_length() - most.bit_length()
    weights = (mixed(2 * n) >> np.uint64(64 - bits)).astype(np.float64).reshape(2, n)
    left, right = weights @ trans.astype(np.float64)
    hashes = left + 1j * right
    _, first, class_of = np.unique(hashes, return_index=True, return_inverse=True)
    if not np.array_equal(trans.take(first[class_of], axis=1), trans):  # pragma: no cover
        _, first, class_of = np.unique(trans, axis=1, return_index=True, return_inverse=True)
    return first, class_of.ravel()
