"""Where text leads whatever it says: states in which the characters of a group all do the same.

Inside a string every letter leads back to the same state; while at most n characters may follow,
every letter leads to the state where at most n - 1 may. In both cases what a piece of text does is
told by the number of its characters alone. This module finds, for each state, the *successor* under
text, and the groups (``constrain.trie.GROUPS``, and the characters of several bytes as one group)
whose characters all lead there, from that state and from all that follow it. Then a token made of
such groups leads k successors on, k the number of its characters.

Dead counts as a successor: after the last character that may be, all lead there. What enters or
closes a frame doesn't; such groups are left out.

Cost: states times byte classes, and log2(states) rounds over states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from constrain.trie import CHARACTER, CHARACTERS, CONTROLS, GROUPS

if TYPE_CHECKING:
    from numpy.typing import NDArray

EVERYTHING = np.uint64(0xFFFFFFFFFFFFFFFF)
DYING = 61  # in bits of groups: every control character kills
_TYPICAL = b"q0"  # the successor is that of the first of these that is not dead


def text_orbits(
    table: NDArray[np.int32], class_of: NDArray[np.int32], pop: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
    """Return the successor of each state under text, and the groups for which it is one.

    Parameters
    ----------
    table : int32 [S, K]
        Next states by byte class; -1 is dead, below are calls.
    class_of : int32 [256]
    pop : int32 [S]
        -1, except in states that close a frame on arrival.

    Returns
    -------
    successor : int32 [S]
        -1 is dead; where there are no groups, it means nothing.
    groups : uint64 [S]
        Bits of groups, valid for the state and all its successors; ``DYING`` where in all of them
        every control character is dead.
    """
    n, n_classes = table.shape
    dead, elsewhere = n, n + 1
    inner = np.where(table >= 0, table, np.where(table == -1, dead, elsewhere))
    inner[(table >= 0) & (pop[np.maximum(table, 0)] >= 0)] = elsewhere
    inner = np.vstack([inner, np.full((1, n_classes), dead), np.full((1, n_classes), elsewhere)])
    successor = inner[:n, class_of[_TYPICAL[0]]]
    for byte in _TYPICAL[1:]:
        successor = np.where(successor == dead, inner[:n, class_of[byte]], successor)
    agrees = inner[:n] == successor[:, None]
    members = np.frombuffer(b"".join(GROUPS), dtype=np.uint8)
    sizes = np.asarray([len(group) for group in GROUPS])
    within = np.zeros((n, 64), dtype=np.bool_)
    within[:, : len(GROUPS)] = np.logical_and.reduceat(
        agrees[:, class_of[members]], np.cumsum(sizes) - sizes, axis=1
    )
    within[:, CHARACTER] = _characters_agree(inner, class_of, successor)
    within[:, DYING] = (table[:, np.unique(class_of[: len(CONTROLS)])] == -1).all(axis=1)
    within[successor == elsewhere] = False
    groups = np.packbits(within, axis=1, bitorder="little").view("<u8").ravel()
    following = np.append(np.minimum(successor, dead), dead)
    groups = np.append(groups, EVERYTHING)
    for _ in range(n.bit_length()):
        groups &= groups[following]
        following = following[following]
    return np.where(successor < dead, successor, -1).astype(np.int32), groups[:n]


def _characters_agree(
    inner: NDArray[np.intp], class_of: NDArray[np.int32], successor: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Return bool [S]: whether every well-formed character of several bytes leads there.

    A pair (state where it began, state now) stands for all the ways that lead there.
    """
    n = len(successor)
    first = class_of[[span[0] for span in CHARACTERS[0]]]
    fine: NDArray[np.bool_] = inner[inner[:n, first[0]], first[1]] == successor
    for spans in CHARACTERS:
        start = np.flatnonzero(fine)
        state = start
        for low, high in spans:
            after = inner[state][:, np.unique(class_of[low : high + 1])]
            keys = np.unique(np.repeat(start, after.shape[1]) * len(inner) + after.ravel())
            start, state = np.divmod(keys, len(inner))
        fine[start[state != successor[start]]] = False
    return fine
