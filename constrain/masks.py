"""From token actions to mask rows: which tokens may come next, one packed row a kind of state.

Bit t of the row of state s is 1 iff token t keeps s live; the bit of an end-of-sequence token is 1
iff s accepts. States that agree in ``alive[action, state]`` for every action that some token has,
and in ``accept``, share a row.

Rows are made by difference. Sorted so that neighbours are alike (actions with many tokens first),
each row is the exclusive or of the row before and of the tokens of the actions in which the two
differ: packed rows for actions with many tokens, single bits for the others. One running exclusive
or down the rows then makes a hundred of them at once.

The same vectors give the token graph (from which state to which states one token leads), and with it
``tokens_to_end``, by a breadth-first search backwards from the accepting states. Where the
vocabulary cannot spell some byte, a state can be reachable by tokens and yet have no way to an end:
there the distance is infinite (``NO_END``), and ``without_traps`` drops the tokens that lead there.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from constrain.actions import ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from constrain.actions import Actions
    from constrain.limits import Meter
    from constrain.vocabulary import Vocabulary

NO_END = np.iinfo(np.int32).max
_LARGE = 256  # tokens from which on an action has a packed row of its own
_TOGETHER = 128  # rows made at a time


@dataclass(frozen=True, slots=True)
class Rows:
    """Distinct packed rows and the row of each state.

    Attributes
    ----------
    masks : int32 [R, ceil(V / 32)]
        Bit ``t % 32`` of word ``t // 32`` is token t.
    row_of : int32 [S]
    """

    masks: NDArray[np.int32]
    row_of: NDArray[np.int32]


def used_actions(actions: Actions) -> NDArray[np.intp]:
    """Return the actions that tokens have, those of most tokens first."""
    counts = actions.count_tokens()
    used = np.flatnonzero(counts)
    return used[np.argsort(-counts[used], kind="stable")]


def mask_rows(
    actions: Actions,
    alive: NDArray[np.bool_],
    accept: NDArray[np.bool_],
    vocabulary: Vocabulary,
    meter: Meter,
) -> Rows:
    """Return the mask rows of all states.

    Parameters
    ----------
    actions : Actions
    alive : bool [C]
        Whether a token may lead to a cell.
    accept : bool [S]
    vocabulary : Vocabulary
        Its end-of-sequence tokens are allowed exactly where ``accept`` holds.
    meter : Meter
    """
    n_words = -(-vocabulary.n_tokens // 32)
    used = used_actions(actions)
    states, cells, which = actions.entries(used)
    kept = np.flatnonzero(alive[cells])
    columns, first, row_of = _columns(states[kept], which[kept], accept)
    size = 4 * n_words * len(first)
    meter.require("bytes of mask rows", size, meter.limits.max_memory)
    live = np.zeros((len(first), len(used)), dtype=np.bool_)
    for i, column in enumerate(columns):
        live[i, column] = True
    masks = _by_difference(actions, used, live, n_words, meter)
    ends = np.flatnonzero(accept[first])
    for token in vocabulary.eos:
        masks.view(np.uint32)[ends, token // 32] |= np.uint32(1 << token % 32)
    return Rows(masks, row_of)


def _columns(
    states: NDArray[np.int32], actions: NDArray[np.intp], accept: NDArray[np.bool_]
) -> tuple[list[NDArray[np.int32]], NDArray[np.intp], NDArray[np.int32]]:
    """Group states by the actions that leave them alive and whether they accept.

    Returns
    -------
    columns : list of int32 [*]
        The actions of each group, groups by first occurrence.
    first : intp [R]
        The first state of each group.
    row_of : int32 [S]
        The group of each state.
    """
    n = len(accept)
    narrow = np.uint16 if n < 1 << 16 else np.int32  # NumPy sorts the narrow ones by radix
    order = np.argsort(states.astype(narrow), kind="stable")
    sorted_actions = actions[order].astype(np.int32)
    ends = np.cumsum(np.bincount(states, minlength=n)).tolist()
    raw = sorted_actions.tobytes()
    ranks: dict[tuple[bytes, bool], int] = {}
    columns: list[NDArray[np.int32]] = []
    first: list[int] = []
    row_of: list[int] = []
    begin = 0
    for state, (end, accepting) in enumerate(zip(ends, accept.tolist(), strict=True)):
        rank = ranks.setdefault((raw[4 * begin : 4 * end], accepting), len(first))
        if rank == len(first):
            first.append(state)
            columns.append(sorted_actions[begin:end])
        row_of.append(rank)
        begin = end
    return columns, np.asarray(first, dtype=np.intp), np.asarray(row_of, dtype=np.int32)


def _by_difference(
    actions: Actions,
    used: NDArray[np.intp],
    live: NDArray[np.bool_],
    n_words: int,
    meter: Meter,
) -> NDArray[np.int32]:
    """Return the packed rows, without end-of-sequence bits, of the groups of states in ``live``.

    ``live`` says, for each group, which of the used actions leave it alive.
    """
    result = np.zeros((len(live), n_words), dtype=np.int32)
    if not len(used):
        return result
    tokens, bounds = _tokens_by_action(actions, used)
    n_large = int((np.diff(bounds) >= _LARGE).sum())  # they are the first
    packed: list[NDArray[np.int32]] = []
    for begin, end in pairwise(bounds[: n_large + 1].tolist()):
        chosen = np.zeros(32 * n_words, dtype=np.bool_)
        chosen[tokens[begin:end]] = True
        packed.append(np.packbits(chosen, bitorder="little").view("<i4"))
    tokens, bounds = tokens[bounds[n_large] :], bounds - bounds[n_large]
    words = tokens >> 5
    bits = np.left_shift(np.int32(1), tokens & 31)
    order = np.lexsort(np.packbits(live, axis=1).T[::-1])
    sorted_live = live[order]
    toggled = sorted_live.copy()
    toggled[1:] ^= sorted_live[:-1]
    before = np.zeros(n_words, dtype=np.int32)
    for begin in range(0, len(live), _TOGETHER):
        meter.tick()
        piece = np.zeros((min(_TOGETHER, len(live) - begin), n_words), dtype=np.int32)
        piece[0] = before
        row, action = np.nonzero(toggled[begin : begin + _TOGETHER])
        is_large = action < n_large
        for i, number in zip(row[is_large].tolist(), action[is_large].tolist(), strict=True):
            piece[i] ^= packed[number]
        row, action = row[~is_large], action[~is_large]
        at, which = ranges(bounds[action], bounds[action + 1])
        np.bitwise_xor.at(piece.ravel(), (row * n_words)[which] + words[at], bits[at])
        for i in range(1, len(piece)):
            piece[i] ^= piece[i - 1]
        before = piece[-1]
        result[order[begin : begin + _TOGETHER]] = piece
    return result


def _tokens_by_action(
    actions: Actions, used: NDArray[np.intp]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the tokens of the used actions one after another, and where those of each begin."""
    rank = np.zeros(actions.n_actions, dtype=np.int32)
    rank[used] = np.arange(len(used))
    ranks = rank[actions.run_action]
    order = np.argsort(ranks, kind="stable")
    at, _ = ranges(actions.run_begin[order], actions.run_end[order])
    counts = actions.count_tokens()[used]
    return actions.tokens[at], np.concatenate([[0], np.cumsum(counts)])


def token_graph(actions: Actions) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return pairs (state, cell that some token leads to); pairs may occur more than once."""
    states, cells, _ = actions.entries(used_actions(actions))
    return states, cells


def tokens_to_end(
    graph: tuple[NDArray[np.int32], NDArray[np.int32]], accept: NDArray[np.bool_], meter: Meter
) -> NDArray[np.int32]:
    """Return the fewest tokens from each state to an accepting one, ``NO_END`` where none leads there.

    Parameters
    ----------
    graph : pair of int32 [E]
        Sources and targets of single tokens.
    accept : bool [S]
    meter : Meter
    """
    source, target = graph
    order = np.argsort(target, kind="stable")
    source = source[order]
    starts = np.searchsorted(target[order], np.arange(len(accept) + 1))
    distance = np.where(accept, 0, NO_END).astype(np.int32)
    frontier = np.flatnonzero(accept)
    place = np.zeros(len(accept), dtype=np.intp)
    steps = 0
    while len(frontier):
        steps += 1
        if steps % 256 == 0:
            meter.tick()
        at, _ = ranges(starts[frontier], starts[frontier + 1])
        reached = source[at]
        new = reached[distance[reached] == NO_END]
        distance[new] = steps
        place[new] = np.arange(len(new))  # of several equal ones, one place stays
        frontier = new[place[new] == np.arange(len(new))]
    return distance
