"""Where text leads whatever it says: states in which the characters of a group all do the same.

Inside a string every letter leads back to the same state; while at most n characters may follow,
every letter leads to the state where at most n - 1 may. In both cases what a piece of text does is
told by the number of its characters alone. This module finds, for each state, the *successor* under
text, and the groups (``constrain.trie.GROUPS``, and the characters of several bytes as one group)
whose characters all lead there, from that state and from all that follow it. Then a token made of
such groups leads k successors on, k the number of its characters.

Dead counts as a successor: after the last character that may be, all lead there. What enters or
closes a frame doesn't; such groups are left out.

Tables have a row a byte class here, so that every step is one operation along the states.

Cost: states times byte classes, and log2(states) rounds over states.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from constrain.trie import CHARACTER, CHARACTERS, GROUPS

if TYPE_CHECKING:
    from numpy.typing import NDArray

EVERYTHING = np.uint64(0xFFFFFFFFFFFFFFFF)
TEXT = np.uint64((1 << len(GROUPS)) - 1 | 1 << CHARACTER)  # the groups that there are
_TYPICAL = b"q0"  # the successor is that of the first of these that is not dead
_CHUNK = 1 << 20  # cells looked at in one piece


def text_orbits(
    table: NDArray[np.int32], class_of: NDArray[np.int32], pop: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
    """Return the successor of each state under text, and the groups for which it is one.

    Parameters
    ----------
    table : int32 [K, S]
        Next states by byte class; -1 is dead, below are calls.
    class_of : int32 [256]
    pop : int32 [S]
        -1, except in states that close a frame on arrival.

    Returns
    -------
    successor : int32 [S]
        -1 is dead; where there are no groups, it means nothing.
    groups : uint64 [S]
        Bits of groups, valid for the state and all its successors.
    """
    n = table.shape[1]
    dead, elsewhere = n, n + 1
    arriving = np.arange(n + 2, dtype=np.int32)
    arriving[:n][pop >= 0] = elsewhere
    inner = np.full((len(table), n + 2), dead, dtype=np.int32)
    inner[:, :n] = arriving[np.where(table >= 0, table, elsewhere - (table == -1))]
    inner[:, elsewhere] = elsewhere
    successor = inner[class_of[_TYPICAL[0]]]
    for byte in _TYPICAL[1:]:
        successor = np.where(successor == dead, inner[class_of[byte]], successor)
    groups = _agreeing(inner, class_of, successor)
    groups |= _characters_agree(inner, class_of, successor)
    groups[successor == elsewhere] = 0
    groups[dead] = EVERYTHING
    following = successor
    for _ in range(n.bit_length()):
        before = groups
        groups = groups & groups[following]
        if np.array_equal(before, groups):
            break
        following = following[following]
    return np.where(successor < dead, successor, -1)[:n], groups[:n]


def _agreeing(
    inner: NDArray[np.int32], class_of: NDArray[np.int32], successor: NDArray[np.int32]
) -> NDArray[np.uint64]:
    """Return the groups of ASCII bytes that all lead from a state to its successor, as bits."""
    members = np.zeros(len(inner), dtype=np.uint64)
    bits = np.repeat(1 << np.arange(len(GROUPS), dtype=np.uint64), list(map(len, GROUPS)))
    np.bitwise_or.at(members, class_of[list(b"".join(GROUPS))], bits)
    lost = np.zeros(len(successor), dtype=np.uint64)
    asked = np.flatnonzero(members)
    step = max(1, _CHUNK // (len(asked) or 1))
    for begin in range(0, len(successor), step):
        part = slice(begin, begin + step)
        apart = inner[asked, part] != successor[part]
        np.bitwise_or.reduce(np.where(apart, members[asked, None], 0), axis=0, out=lost[part])
    return ~lost & np.uint64((1 << len(GROUPS)) - 1)


def _characters_agree(
    inner: NDArray[np.int32], class_of: NDArray[np.int32], successor: NDArray[np.int32]
) -> NDArray[np.uint64]:
    """Return the bit ``CHARACTER`` where every well-formed character of several bytes leads there.

    From the last byte of a character to its first: where all of these bytes lead, from each state.
    """
    classes = class_of.tolist()
    nowhere = inner.shape[1]  # they do not agree
    wider = np.concatenate([inner, np.full((len(inner), 1), nowhere, dtype=np.int32)], axis=1)

    @cache
    def after(spans: tuple[tuple[int, int], ...]) -> NDArray[np.int32]:
        first: NDArray[np.int32]
        if not spans:
            return np.arange(nowhere + 1, dtype=np.int32)
        low, high = spans[0]
        first, *others = (after(spans[1:])[wider[k]] for k in set(classes[low : high + 1]))
        for other in others:
            first = np.where(first == other, first, nowhere)
        return first

    agree = np.ones(nowhere, dtype=np.bool_)
    for spans in CHARACTERS:
        agree &= after(spans)[:-1] == successor
    return np.where(agree, np.uint64(1 << CHARACTER), np.uint64(0))
