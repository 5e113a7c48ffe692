"""Token actions: what every token does to every state, found in one walk over the vocabulary.

A token is a function on states. Reading its bytes turns the states 0, 1, ..., S - 1 into others, or
kills them; what becomes of a state is a *cell* (``constrain.steps``). An *action* is such a function
on some of the states: the list of the states it leaves alive, each with its cell. In algebra, actions
are parts of the elements of the transition monoid of the automaton that tokens reach.

The walk goes down the vocabulary trie level by level with pairs (node, action), an action for each
kind of cell. States inside strings, where text does nothing or the same whatever it says, are kept
apart from the others, so that neither hinders the other: the former are answered for whole trees at
once, and the latter are few and die soon, since a literal has one way on. So a node may be met with
several actions, of which each state is in one at most, and a token may have several.

The product of an action with the byte class of a child is found once for each such pair, so the
number of products is hundreds to a few thousand, whatever the size of the vocabulary; for the nodes
themselves one table look-up a level remains. Actions are interned by their bytes, which is exact.

Whole subtrees are answered at once (``constrain.trie.Outline``): where all groups of bytes that occur
below a node in its tree do the same to the node's action, a token below is told by its number of
characters (``constrain.orbits``), and the walk goes on where special bytes lead out of the tree.
``Walk.uniform`` has the groups for which this holds. So a walk visits a hundredth of the nodes, and
its result is a list of *runs*, ranges of tokens in the order of the outline with one action each.

Cost: for each pair (action, class), the states that the action leaves alive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from constrain.arrays import distinct, longer, ranges
from constrain.orbits import EVERYTHING
from constrain.steps import LIVES, MOVES, N_KINDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from constrain.limits import Meter
    from constrain.steps import Steps
    from constrain.trie import Outline, Trie

DEAD_ACTION = 0
_CHUNK = 1 << 22  # cells looked at in one piece
_CELL = np.int64(0xFFFFFFFF)  # the bits of the cell in an entry


@dataclass(slots=True)
class Actions:
    """The actions of a vocabulary on all states.

    Attributes
    ----------
    bounds : int64 [A + 1]
        Action a is the entries ``bounds[a]:bounds[a + 1]``. Action 0 is dead everywhere.
    pairs : int64 [E]
        Of each entry: a state that the action leaves alive (above bit 32), and the cell it becomes.
    run_action : int32 [R]
        The action of each run of tokens; never ``DEAD_ACTION``.
    run_begin, run_end : intp [R]
        Run r is ``tokens[run_begin[r]:run_end[r]]``. Of the actions of a token, each state is in one
        at most.
    outline : Outline
        That of the trie.
    nodes, node_action : int32 [N]
        The trie nodes that the walk visited, and an action each; a node may be there more than once.
    """

    bounds: NDArray[np.int64]
    pairs: NDArray[np.int64]
    run_action: NDArray[np.int32]
    run_begin: NDArray[np.intp]
    run_end: NDArray[np.intp]
    outline: Outline
    nodes: NDArray[np.int32]
    node_action: NDArray[np.int32]

    @property
    def n_actions(self) -> int:
        """The number of actions."""
        return len(self.bounds) - 1

    @property
    def tokens(self) -> NDArray[np.int32]:
        """The tokens of the outline."""
        return self.outline.tokens

    def count_tokens(self) -> NDArray[np.int64]:
        """Return how many tokens each action has."""
        lengths = self.run_end - self.run_begin
        counts = np.bincount(self.run_action, weights=lengths, minlength=self.n_actions)
        return counts.astype(np.int64)

    def sums(self) -> NDArray[np.uint64]:
        """Return, for each action, the sum of the numbers that ``sums`` of the outline adds up."""
        result = np.zeros(self.n_actions, dtype=np.uint64)
        sums = self.outline.sums
        np.add.at(result, self.run_action, sums[self.run_end] - sums[self.run_begin])
        return result

    def entries(
        self, actions: NDArray[np.intp]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.intp]]:
        """Return the states and cells of some actions, and for each entry the action's index."""
        at, which = ranges(self.bounds[actions], self.bounds[actions + 1])
        states, cells = unpaired(self.pairs[at])
        return states, cells, which


def unpaired(pairs: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the states and the cells of entries of actions."""
    return (pairs >> 32).astype(np.int32), (pairs & _CELL).astype(np.int32)


class Walk:
    """Interned actions and the table of their products with byte classes.

    Attributes
    ----------
    steps : Steps
    n : int
        The number of actions.
    bounds, pairs
        As in ``Actions``, with room to grow.
    uniform : uint64 [capacity]
        The groups of characters that all do the same to an action, and to what it becomes.
    effect : uint8 [capacity]
        What text of these groups does, as ``Steps.effect`` has it for cells.
    """

    def __init__(self, steps: Steps, meter: Meter) -> None:
        self.steps = steps
        self.meter = meter
        self.n = 1
        self.bounds = np.zeros(64, dtype=np.int64)
        self.pairs = np.zeros(4 * steps.n_states, dtype=np.int64)
        self.uniform = np.zeros(64, dtype=np.uint64)
        self.uniform[DEAD_ACTION] = EVERYTHING
        self.effect = np.zeros(64, dtype=np.uint8)
        self._numbers = {b"": DEAD_ACTION}
        self._products = np.full((64 * steps.n_classes, N_KINDS), -1, dtype=np.int32)
        self._products[: steps.n_classes] = DEAD_ACTION

    def start(self, states: NDArray[np.integer]) -> NDArray[np.int32]:
        """Return the actions, at most one a kind, that leave given (ascending) states as they are."""
        cells = states.astype(np.int64) + self.steps.offset
        pairs = states.astype(np.int64) << 32 | cells
        found = self._intern(pairs, self.steps.kind[cells], np.zeros_like(pairs), 1)[0]
        living: NDArray[np.int32] = found[found != DEAD_ACTION]
        return living

    def advance(
        self, actions: NDArray[np.int32], classes: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
        """Return the living actions after one more byte class each, and of which they come."""
        found = self._after(actions, classes).ravel()
        kept = found.nonzero()[0]
        return found.take(kept), kept // N_KINDS

    def text(self, actions: NDArray[np.int32], ahead: int = 1) -> NDArray[np.int32]:
        """Return the actions after one character of their groups.

        For those not known yet, as many characters as ``ahead`` says are read at once.
        """
        keys = actions * np.int32(self.steps.n_classes)
        keys += np.int32(self.steps.text)
        found = self._products.take(keys, axis=0)[:, 0]
        missing = (found < 0).nonzero()[0]
        if len(missing):
            self._read_text(distinct(actions.take(missing)), ahead)
            found = self._products.take(keys, axis=0)[:, 0]
        return found

    def _read_text(self, actions: NDArray[np.int32], ahead: int) -> None:
        """Find the products of actions with one character, of these with the next, and so on."""
        self.meter.tick()
        steps, n = self.steps, len(actions)
        at, which = ranges(self.bounds[actions], self.bounds[actions + 1])
        pairs = self.pairs.take(at)
        cells = (pairs & _CELL).astype(np.int32)
        rows: list[NDArray[np.int32]] = []
        for _ in range(max(1, min(ahead, _CHUNK // len(at)))):
            steps.complete(cells)
            rows.append(steps.columns[steps.text].take(cells))
            if (rows[-1] == cells).all():
                break
            cells = rows[-1]
        cells = np.concatenate(rows)
        alive = cells.nonzero()[0]
        row, entry = np.divmod(alive, len(at))
        pairs = pairs.take(entry) & ~_CELL
        pairs |= cells.take(alive)
        counts = np.bincount(row * n + which.take(entry), minlength=len(rows) * n)
        after = self._interned(pairs, counts)
        keys = np.concatenate([actions, after[:-n]]) * np.int32(steps.n_classes)
        keys += np.int32(steps.text)
        self._products[keys] = DEAD_ACTION  # what text does is not taken apart by kind
        self._products[keys, 0] = after

    def _after(self, actions: NDArray[np.int32], classes: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the products of actions with classes, int32 [n, kinds], computing those missing."""
        keys = actions * np.int32(self.steps.n_classes)
        keys += classes
        found: NDArray[np.int32] = self._products.take(keys, axis=0)
        missing = (found[:, 0] < 0).nonzero()[0]
        if len(missing):
            self._multiply(distinct(keys.take(missing)))
            found = self._products.take(keys, axis=0)
        return found

    def _multiply(self, keys: NDArray[np.int32]) -> None:
        """Find products, given by action times the number of classes plus class."""
        sources, classes = np.divmod(keys, np.int32(self.steps.n_classes))
        begin, end = self.bounds[sources], self.bounds[sources + 1]
        total = (end - begin).cumsum()
        first = 0
        while first < len(keys):
            self.meter.tick()
            done = total[first - 1] if first else 0
            last = max(first + 1, int(total.searchsorted(done + _CHUNK)))
            part = slice(first, last)
            products = self._multiplied(begin[part], end[part], classes[part])
            self._products[keys[part]] = products
            first = last

    def _multiplied(
        self, begin: NDArray[np.int64], end: NDArray[np.int64], classes: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """Return the products of ranges of entries with classes, int32 [n, kinds]."""
        steps = self.steps
        at, which = ranges(begin, end)
        pairs = self.pairs.take(at)
        sources = pairs & _CELL
        steps.complete(sources)
        width = steps.columns.shape[1]
        cells = steps.columns.ravel().take((classes * np.int64(width)).take(which) + sources)
        alive = cells.nonzero()[0]
        cells, which, pairs = cells.take(alive), which.take(alive), pairs.take(alive)
        pairs &= ~_CELL
        pairs |= cells
        kinds = steps.kind.take(cells)
        return self._intern(pairs, kinds, which, len(classes))

    def _intern(
        self,
        pairs: NDArray[np.int64],
        kinds: NDArray[np.uint8],
        which: NDArray[np.intp],
        n: int,
    ) -> NDArray[np.int32]:
        """Return the numbers of ``n`` lists of entries, given by list, taken apart by kind."""
        lists = which * N_KINDS + kinds
        if len(lists) and (lists[1:] < lists[:-1]).any():
            narrow = np.uint16 if n * N_KINDS <= 1 << 16 else np.int32  # radix sort, or not
            pairs = pairs.take(lists.astype(narrow).argsort(kind="stable"))
        counts = np.bincount(lists, minlength=n * N_KINDS)
        return self._interned(pairs, counts).reshape(n, N_KINDS)

    def _interned(self, pairs: NDArray[np.int64], counts: NDArray[np.intp]) -> NDArray[np.int32]:
        """Return the numbers of lists of entries, given by their lengths."""
        ends = counts.cumsum()
        raw = pairs.tobytes()
        living = counts.nonzero()[0]
        found: list[int] = []
        new: list[int] = []
        known, fresh, place = self._numbers, self.n, 0
        for i, end in enumerate((8 * ends[living]).tolist()):
            number = known.setdefault(raw[place:end], fresh)
            if number == fresh:
                fresh += 1
                new.append(i)
            found.append(number)
            place = end
        numbers = np.zeros(len(counts), dtype=np.int32)
        numbers[living] = found
        if new:
            self._append(pairs, ends[living[new]], counts[living[new]])
        return numbers

    def _append(
        self, pairs: NDArray[np.int64], ends: NDArray[np.intp], lengths: NDArray[np.intp]
    ) -> None:
        """Make actions of some of the given entries, those of each lying side by side."""
        at, _ = ranges(ends - lengths, ends)
        size = int(self.bounds[self.n])
        first, self.n = self.n, self.n + len(ends)
        self._reserve(size + len(at))
        pairs = pairs.take(at)
        self.pairs[size : size + len(at)] = pairs
        after = lengths.cumsum()
        self.bounds[first + 1 : self.n + 1] = after + size
        cells, starts = pairs & _CELL, after - lengths
        groups, effect = self.steps.groups.take(cells), self.steps.effect.take(cells)
        self.uniform[first : self.n] = np.bitwise_and.reduceat(groups, starts)
        self.effect[first : self.n] = np.bitwise_or.reduceat(effect, starts)

    def _reserve(self, n_entries: int) -> None:
        """Make room for ``self.n`` actions with ``n_entries`` entries together."""
        if self.n + 1 >= len(self.bounds):
            wanted = 2 * self.n + 2
            self.bounds = longer(self.bounds, wanted)
            self.uniform = longer(self.uniform, wanted)
            self.effect = longer(self.effect, wanted)
            products = np.full((wanted * self.steps.n_classes, N_KINDS), -1, dtype=np.int32)
            products[: len(self._products)] = self._products
            self._products = products
        if n_entries > len(self.pairs):
            limit = self.meter.limits.max_memory
            self.meter.require("bytes of token actions", 16 * n_entries, limit)
            self.pairs = longer(self.pairs, 2 * n_entries)

    def orbit(self, actions: NDArray[np.int32], counts: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the actions after so many characters of their groups."""
        result = actions.copy()
        moving = (counts > 0).nonzero()[0]
        if not len(moving):
            return result
        which = np.zeros(self.n, dtype=np.intp)
        which[actions[moving]] = 1
        rows = [which.nonzero()[0].astype(np.int32)]
        which[rows[0]] = np.arange(len(rows[0]))
        for ahead in range(int(counts[moving].max()), 0, -1):
            rows.append(self.text(rows[-1], ahead))
            if (rows[-1] == rows[-2]).all():
                break
        row = np.minimum(counts[moving], len(rows) - 1)
        result[moving] = np.stack(rows)[row, which[actions[moving]]]
        return result


@dataclass(slots=True)
class _Visits:
    """Pairs (node, action) that a walk met, and how far they answer.

    Attributes
    ----------
    node, action : int32 [n]
    reach : int32 [n]
        How many nodes from the place of the node on are answered for.
    moving : bool [n]
        Whether the number of characters matters there.
    """

    node: NDArray[np.int32]
    action: NDArray[np.int32]
    reach: NDArray[np.int32]
    moving: NDArray[np.bool_]


def walk_trie(walk: Walk, trie: Trie) -> Actions:
    """Return the actions of all tokens of a trie."""
    visits = _visit(walk, trie)
    runs = [
        _runs_together(visits, trie.outline),
        _runs_apart(walk, visits, trie.outline),
        _runs_of_tails(walk, visits, trie.outline),
    ]
    action, begin, end = (np.concatenate(parts) for parts in zip(*runs, strict=True))
    kept = (end > begin).nonzero()[0]
    return Actions(
        walk.bounds[: walk.n + 1],
        walk.pairs[: walk.bounds[walk.n]],
        action[kept],
        begin[kept],
        end[kept],
        trie.outline,
        visits.node,
        visits.action,
    )


def _visit(walk: Walk, trie: Trie) -> _Visits:
    """Go down the trie from all states, level by level."""
    outline = trie.outline
    class_of = walk.steps.class_of
    action = walk.start(np.arange(walk.steps.n_states))
    node = np.zeros(len(action), dtype=np.int32)
    met: list[_Visits] = []
    while len(node):
        is_open = outline.below.take(node) & ~walk.uniform.take(action) != 0
        closed = (~is_open).nonzero()[0]
        effect = walk.effect.take(action)
        effect[is_open] = 0
        reach = np.where(effect & LIVES, outline.size.take(node), np.int32(1))
        moving = effect == MOVES | LIVES
        met.append(_Visits(node, action, reach, moving))
        opened = is_open.nonzero()[0]
        inside, which = ranges(
            outline.first_child.take(node.take(opened)),
            outline.first_child.take(node.take(opened) + 1),
        )
        outside, action_outside = _leaving(walk, trie, met[-1], closed)
        node = np.concatenate([inside, outside], dtype=np.int32)
        action = np.concatenate([action[opened[which]], action_outside])
        action, kept = walk.advance(action, class_of.take(trie.byte.take(node)))
        node = node.take(kept)
    return _Visits(
        np.concatenate([visits.node for visits in met]),
        np.concatenate([visits.action for visits in met]),
        np.concatenate([visits.reach for visits in met]),
        np.concatenate([visits.moving for visits in met]),
    )


def _leaving(
    walk: Walk, trie: Trie, visits: _Visits, closed: NDArray[np.intp]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the special nodes that hang off what some visits answer for, and actions before them."""
    outline = trie.outline
    place = outline.place.take(visits.node.take(closed))
    reach = visits.reach.take(closed)
    at, which = ranges(outline.special_before[place], outline.special_before[place + reach])
    nodes, by = outline.specials[at], closed[which]
    return nodes, _text_between(walk, outline, visits, by, outline.characters[trie.parent[nodes]])


def _text_between(
    walk: Walk,
    outline: Outline,
    visits: _Visits,
    by: NDArray[np.intp],
    characters: NDArray[np.int32],
) -> NDArray[np.int32]:
    """Return the actions of places in the subtrees of visits, given their numbers of characters."""
    actions = visits.action[by]
    moving = visits.moving[by].nonzero()[0]
    if len(moving):
        passed = characters[moving] - outline.characters[visits.node[by[moving]]]
        actions[moving] = walk.orbit(actions[moving], passed)
    return actions


_Runs = tuple["NDArray[np.int32]", "NDArray[np.intp]", "NDArray[np.intp]"]


def _runs_together(visits: _Visits, outline: Outline) -> _Runs:
    """Return the runs of visits where the number of characters doesn't matter."""
    still = (~visits.moving).nonzero()[0]
    return visits.action[still], *_tokens_below(outline, visits, still)


def _runs_apart(walk: Walk, visits: _Visits, outline: Outline) -> _Runs:
    """Return the runs of visits where the number of characters matters."""
    moving = visits.moving.nonzero()[0]
    action = visits.action[moving]
    after = walk.text(action, 2)
    settled = walk.text(after) == after
    parts = [_runs_settled(outline, visits, moving[settled], after[settled])]
    at_root = ~settled & (visits.node[moving] == 0)
    parts.extend(_runs_counted(walk, outline, first) for first in action[at_root])
    apart = moving[~settled & ~at_root]
    at, which = ranges(*_tokens_below(outline, visits, apart))
    single = _text_between(walk, outline, visits, apart[which], outline.token_characters[at])
    parts.append(_single_runs(single, at))
    action, begin, end = (np.concatenate(of) for of in zip(*parts, strict=True))
    return action, begin, end


def _tokens_below(
    outline: Outline, visits: _Visits, chosen: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the ranges of tokens that some visits answer for."""
    place = outline.place[visits.node[chosen]]
    begin = outline.tokens_before[place]
    end = outline.tokens_before[place + visits.reach[chosen]]
    return begin.astype(np.intp), end.astype(np.intp)


def _runs_settled(
    outline: Outline,
    visits: _Visits,
    chosen: NDArray[np.intp],
    after: NDArray[np.int32],
) -> _Runs:
    """Return the runs of visits where only the first character matters: for it, and for the rest."""
    begin, end = _tokens_below(outline, visits, chosen)
    own = outline.tokens_before[outline.place[visits.node[chosen]] + 1].astype(np.intp)
    return (
        np.concatenate([visits.action[chosen], after]),
        np.concatenate([begin, own]),
        np.concatenate([own, end]),
    )


def _runs_counted(walk: Walk, outline: Outline, action: np.int32) -> _Runs:
    """Return the runs of the root's tree for an action that text moves on."""
    chain = [np.asarray([action], dtype=np.int32)]
    for ahead in range(len(outline.counted) - 2, 0, -1):
        if chain[-1][0] == DEAD_ACTION:
            break
        chain.append(walk.text(chain[-1], ahead))
    actions = np.concatenate(chain)
    actions = actions[actions != DEAD_ACTION]
    bounds = outline.counted[: len(actions) + 1].astype(np.intp)
    return actions, bounds[:-1], bounds[1:]


def _runs_of_tails(walk: Walk, visits: _Visits, outline: Outline) -> _Runs:
    """Return the runs of tokens that end within a character."""
    place = outline.place[visits.node]
    cut, by = ranges(outline.cut_before[place], outline.cut_before[place + visits.reach])
    at = cut + int(outline.tokens_before[-1])
    actions = _text_between(walk, outline, visits, by, outline.token_characters[at])
    for column in range(outline.tails.shape[1]):
        is_longer = outline.tail_length[cut] > column
        going = is_longer.nonzero()[0]
        classes = walk.steps.class_of[outline.tails[cut[going], column]]
        after, which = walk.advance(actions[going], classes)
        ended = (~is_longer).nonzero()[0]
        cut = np.concatenate([cut[ended], cut[going[which]]])
        actions = np.concatenate([actions[ended], after])
    return _single_runs(actions, cut + int(outline.tokens_before[-1]))


def _single_runs(actions: NDArray[np.int32], at: NDArray[np.intp]) -> _Runs:
    """Return the runs of single tokens, given by place, with an action each."""
    kept = actions.nonzero()[0]
    actions, at = actions[kept], at[kept]
    breaks = ((np.diff(at) != 1) | (np.diff(actions) != 0)).nonzero()[0] + 1
    first = np.concatenate([[0], breaks])[: len(at)]
    last = np.append(first, len(at))[1:] - 1
    return actions[first], at[first], at[last] + 1
