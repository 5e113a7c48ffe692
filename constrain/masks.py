"""From token actions to mask rows: which tokens may come next, one packed row a kind of state.

Bit t of the row of state s is 1 iff token t keeps s live; the bit of an end-of-sequence token is 1
iff s accepts. States that allow the same tokens share a row. Most of them agree in the actions that
leave them alive: one row is made for each such group of states. Of the actions of a token each state
is in one at most, so what a group allows is a disjoint union of the tokens of its actions. Groups
with other actions may still allow the same; they are found by sums over their tokens (of numbers
without a pattern), and then compared.

Rows are made by difference. Sorted so that neighbours are alike (actions with many tokens first),
each row is the exclusive or of the row before and of the tokens of the actions in which the two
differ: packed rows for long runs of tokens, single bits for the others.

The same vectors give the token graph (from which state to which states one token leads), and with it
``tokens_to_end``, by a breadth-first search backwards from the accepting states. Where the
vocabulary cannot spell some byte, a state can be reachable by tokens and yet have no way to an end:
there the distance is infinite (``NO_END``), and ``assemble`` drops the tokens that lead there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from constrain.arrays import ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from constrain.actions import Actions
    from constrain.limits import Meter
    from constrain.vocabulary import Vocabulary

NO_END = np.iinfo(np.int32).max
_LARGE = 1024  # tokens from which on an action has a packed row of its own
_LONG = 256  # tokens from which on a run of these is looked at by itself
_HUGE = 8192  # tokens from which on it is faster to look where each token of the vocabulary stands
_TOGETHER = 128  # rows made between two looks at the clock


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
    kept = alive[cells].nonzero()[0]
    first, group_of, group, action = _groups(states[kept], which[kept], accept)
    live = np.zeros((len(first), len(used)), dtype=np.bool_)
    live[group, action] = True
    size = 4 * n_words * len(first)
    meter.require("bytes of mask rows", size, meter.limits.max_memory)
    masks = _by_difference(actions, used, live, n_words, meter)
    ends = accept[first].nonzero()[0]
    for token in vocabulary.eos:
        masks.view(np.uint32)[ends, token // 32] |= np.uint32(1 << token % 32)
    sums = np.zeros(len(first), dtype=np.uint64)
    np.add.at(sums, group, actions.sums()[used[action]])
    return _merged(masks, sums.tolist(), group_of)


def _groups(
    states: NDArray[np.int32], actions: NDArray[np.intp], accept: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], NDArray[np.int32], NDArray[np.intp], NDArray[np.int32]]:
    """Group states by the actions that leave them alive and whether they accept.

    Returns
    -------
    first : intp [G]
        The first state of each group, ascending.
    group_of : int32 [S]
        The group of each state.
    group, action : intp [E], int32 [E]
        The actions that leave the states of a group alive, group after group.
    """
    n = len(accept)
    narrow = np.uint16 if n < 1 << 16 else np.int32  # NumPy sorts the narrow ones by radix
    sorted_actions = actions[np.argsort(states.astype(narrow), kind="stable")].astype(np.int32)
    counts = np.bincount(states, minlength=n)
    raw = sorted_actions.tobytes()
    groups: dict[tuple[bytes, bool], int] = {}
    first: list[int] = []
    group_of: list[int] = []
    begin = 0
    for state, (end, accepting) in enumerate(
        zip((4 * counts.cumsum()).tolist(), accept.tolist(), strict=True)
    ):
        rank = groups.setdefault((raw[begin:end], accepting), len(first))
        if rank == len(first):
            first.append(state)
        group_of.append(rank)
        begin = end
    chosen = np.asarray(first, dtype=np.intp)
    ends = counts.cumsum()[chosen]
    at, group = ranges(ends - counts[chosen], ends)
    return chosen, np.asarray(group_of, dtype=np.int32), group, sorted_actions[at]


def _merged(masks: NDArray[np.int32], sums: list[int], group_of: NDArray[np.int32]) -> Rows:
    """Return the distinct ones among rows; only rows with equal sums may be equal."""
    alike: dict[int, list[int]] = {}
    kept: list[int] = []
    row_of: list[int] = []
    for i, key in enumerate(sums):
        known = alike.setdefault(key, [])
        same = [row for row in known if not (masks[kept[row]] != masks[i]).any()]
        row_of.append(same[0] if same else len(kept))
        if not same:
            known.append(len(kept))
            kept.append(i)
    rows = masks if len(kept) == len(masks) else masks[kept]
    return Rows(rows, np.asarray(row_of, dtype=np.int32)[group_of])


def _by_difference(
    actions: Actions,
    used: NDArray[np.intp],
    live: NDArray[np.bool_],
    n_words: int,
    meter: Meter,
) -> NDArray[np.int32]:
    """Return the packed rows, without end-of-sequence bits, of the groups of states in ``live``."""
    result = np.zeros((len(live), n_words), dtype=np.int32)
    if not len(used):
        return result
    counts = actions.count_tokens()[used]
    n_large = int((counts >= _LARGE).sum())  # they are the first
    rank = np.full(actions.n_actions, len(used), dtype=np.int32)
    rank[used] = np.arange(len(used))
    long, tokens, bounds = _runs(actions, rank, n_large)
    packed = _packed(actions, rank, long, tokens, bounds[: n_large + 1], n_words)
    words, bits = tokens >> 5, np.left_shift(np.int32(1), tokens & 31)
    order = np.lexsort(np.packbits(live, axis=1).T[::-1])
    toggled = live[order]
    toggled[1:] ^= live[order[:-1]]
    for begin in range(0, len(live), _TOGETHER):
        meter.tick()
        row, action = toggled[begin : begin + _TOGETHER].nonzero()
        row = order[begin:][row]
        is_large = action < n_large
        for i, number in zip(row[is_large].tolist(), action[is_large].tolist(), strict=True):
            result[i] ^= packed[number]
        row, action = row[~is_large], action[~is_large]
        at, which = ranges(bounds[action], bounds[action + 1])
        np.bitwise_xor.at(result.ravel(), (row * n_words)[which] + words[at], bits[at])
        for i in range(max(begin, 1), min(begin + _TOGETHER, len(live))):
            result[order[i]] ^= result[order[i - 1]]
    return result


def _runs(
    actions: Actions, rank: NDArray[np.int32], n_large: int
) -> tuple[NDArray[np.intp], NDArray[np.int32], NDArray[np.intp]]:
    """Tell long runs of the first ``n_large`` actions from other runs.

    Returns
    -------
    long : intp [*]
        The long ones.
    tokens, bounds : int32 [*], intp [A + 1]
        The tokens of the other runs by rank of the action, and where those of each begin.
    """
    lengths = actions.run_end - actions.run_begin
    ranks = rank[actions.run_action]
    is_long = (lengths >= _LONG) & (ranks < n_large)
    short = (~is_long).nonzero()[0]
    counts = np.bincount(ranks[short], weights=lengths[short], minlength=int(rank.max()))
    short = short[ranks[short].argsort(kind="stable")]
    at, _ = ranges(actions.run_begin[short], actions.run_end[short])
    bounds = np.concatenate([[0], counts.cumsum()]).astype(np.intp)
    return is_long.nonzero()[0], actions.tokens[at], bounds


def _packed(
    actions: Actions,
    rank: NDArray[np.int32],
    long: NDArray[np.intp],
    tokens: NDArray[np.int32],
    bounds: NDArray[np.intp],
    n_words: int,
) -> list[NDArray[np.int32]]:
    """Return packed rows of the tokens of large actions: those of long runs, and the other ones."""
    rows = np.zeros((len(bounds) - 1, 32 * n_words), dtype=np.bool_)
    for row, begin, end in zip(rows, bounds.tolist(), bounds[1:].tolist(), strict=False):
        row[tokens[begin:end]] = True
    at, n_once = actions.outline.token_place, int(actions.outline.counted[0])
    for run in long.tolist():
        row = rows[rank[actions.run_action[run]]]
        begin, end = actions.run_begin[run], actions.run_end[run]
        if end - begin >= _HUGE and end <= n_once:
            row[: len(at)] |= (at >= np.int32(begin)) & (at < np.int32(end))
        else:
            row[actions.tokens[begin:end]] = True
    return [np.packbits(row, bitorder="little").view("<i4") for row in rows]


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
