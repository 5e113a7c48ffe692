"""Token actions: what every token does to every state, found in one walk over the vocabulary.

A token is a function on states. Reading its bytes turns the states 0, 1, ..., S - 1 into others, or
kills them. Tokens that do the same to all states cannot be told apart by the automaton: they have
the same *action*. In algebra, actions are the elements of the transition monoid of the automaton
that tokens reach. An action is written as the list of the states it leaves alive, each with what
becomes of it: most tokens kill nearly all states of an automaton made from a schema.

The walk goes down the vocabulary trie level by level. Each node carries the number of its action.
The product of an action with the byte class of a child is found once for each such pair, so the
number of products is hundreds to a few thousand, whatever the size of the vocabulary; for the nodes
themselves one table look-up a level remains. Actions are interned by their bytes, which is exact.

Whole subtrees are answered at once (``constrain.trie.Outline``): where all groups of bytes that occur
below a node do the same to the node's action, a token below is told by its number of characters
(``constrain.orbits``). Inside a string, most of the vocabulary changes nothing; a dead action stays
as it is whatever follows. ``Walk.uniform`` has the groups for which this holds. So a walk visits a
tenth of the nodes, and its result is a list of *runs*, ranges of tokens in the order of the outline
with one action each.

What becomes of a state is a *cell*: 0 is DEAD, 1 + l is "closed the frame it started in, with label
l" (EXIT), and from ``offset`` on they number configurations, of which the first S are the states
themselves. In a plain automaton that is all there is. With frames a token may end inside frames that
it opened: a configuration then is a stack of pushed call sites and a state, interned when it is
first met. Steps of configurations are computed in batches, one batch a level.

Cost: for each pair (action, class), the states that the action leaves alive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from constrain.orbits import DYING, EVERYTHING, text_orbits
from constrain.trie import CONTROL_BITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from constrain.limits import Meter
    from constrain.machine import Machine
    from constrain.trie import Outline, Trie

DEAD_ACTION, IDENTITY = 0, 1
_CHUNK = 1 << 22  # cells looked at in one piece


class Steps:
    """The transition function over cells, one column a byte class.

    Attributes
    ----------
    class_of : int32 [256]
        The class of each byte.
    offset : int
        The cell of state 0; smaller cells are DEAD and exits.
    text : int
        The class after those of bytes: any one character of the groups of a state.
    groups : uint64 [S]
        The groups of characters that ``text`` stands for in each state.
    columns : int32 [K + 1, capacity]
        The cell after a byte of class k; rows of cells without a computed step are 0.
    """

    def __init__(self, machine: Machine) -> None:
        class_of, table = machine.dfa.byte_classes
        self.machine = machine
        self.class_of = class_of.astype(np.int32)
        self.offset = 1 + machine.n_labels
        successor, self.groups = text_orbits(table, self.class_of, machine.pop)
        self.table = np.column_stack([table, successor])
        n_states, n_classes = self.table.shape
        self.text = n_classes - 1
        self.n_states, self.n_classes = n_states, n_classes
        self.n_cells = self.offset + n_states
        self.columns = np.zeros((n_classes, self.n_cells), dtype=np.int32)
        if machine.is_plain:
            self.columns[:, self.offset :] = self.table.T + 1
            return
        self._index: dict[tuple[int, ...], NDArray[np.intp]] = {
            (): np.arange(n_states) + self.offset
        }
        self._stack_of: list[tuple[int, ...]] = [()] * self.n_cells
        self._state_of = [0] * self.offset + list(range(n_states))
        self._done = np.ones(self.n_cells, dtype=np.bool_)
        self._compute((), np.arange(n_states))

    @property
    def n_known(self) -> int:
        """The number of cells made so far."""
        return self.offset + self.n_states if self.machine.is_plain else len(self._state_of)

    def configuration(self, cell: int) -> tuple[tuple[int, ...], int]:
        """Return the pushed call sites and the state of a cell that is a configuration."""
        return self._stack_of[cell], self._state_of[cell]

    def cells(self, stack: tuple[int, ...], states: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the cells of configurations with one stack, making those that are new."""
        row = self._index.get(stack)
        if row is None:
            row = self._index[stack] = np.zeros(self.n_states, dtype=np.intp)
        wanted = np.unique(states)
        new = wanted[row[wanted] == 0]
        if len(new):
            row[new] = np.arange(len(new)) + len(self._state_of)
            self._state_of.extend(new.tolist())
            self._stack_of.extend([stack] * len(new))
        return row[states]

    def states_of(self, cells: NDArray[np.int32]) -> NDArray[np.intp]:
        """Return the states of configurations (of the innermost frame), -1 for other cells."""
        states = cells.astype(np.intp) - self.offset
        pushed = np.flatnonzero(states >= self.n_states)
        states[pushed] = [self._state_of[cell] for cell in cells[pushed].tolist()]
        return np.maximum(states, -1)

    def complete(self, cells: NDArray[np.int32]) -> None:
        """Compute the steps of those of the given cells that have none yet."""
        if self.machine.is_plain:
            return
        waiting = np.unique(cells[~self._done[cells]]).tolist()
        by_stack: dict[tuple[int, ...], list[int]] = {}
        for cell in waiting:
            by_stack.setdefault(self._stack_of[cell], []).append(self._state_of[cell])
        for stack, states in by_stack.items():
            self._compute(stack, np.asarray(states))

    def _compute(self, stack: tuple[int, ...], states: NDArray[np.intp]) -> None:
        """Fill the columns of configurations with one stack."""
        targets = self.table[states]
        result = np.zeros(targets.shape, dtype=np.intp)
        pops = np.where(targets >= 0, self.machine.pop[np.maximum(targets, 0)], -1)
        stays = (targets >= 0) & (pops < 0)
        result[stays] = self.cells(stack, targets[stays].astype(np.intp))
        for site in np.unique(targets[targets < -1]).tolist():
            entered = self.machine.call_target[[-2 - site]].astype(np.intp)
            result[targets == site] = self.cells((*stack, -2 - site), entered)
        for label in np.unique(pops[pops >= 0]).tolist():
            if not stack:
                result[pops == label] = 1 + label
                continue
            back = self.machine.call_return[stack[-1], label]
            if back >= 0:
                result[pops == label] = self.cells(stack[:-1], np.asarray([back], dtype=np.intp))
        self._grow()
        of_states = self._index[stack][states]
        self.columns[:, of_states] = result.T
        self._done[of_states] = True

    def _grow(self) -> None:
        """Give every known configuration a place in the columns."""
        wanted = len(self._state_of)
        if wanted > len(self._done):
            capacity = wanted + wanted // 2
            wider = np.zeros((self.n_classes, capacity), dtype=np.int32)
            wider[:, : self.columns.shape[1]] = self.columns
            done = np.zeros(capacity, dtype=np.bool_)
            done[: len(self._done)] = self._done
            self.columns, self._done = wider, done


@dataclass(slots=True)
class Actions:
    """The actions of a vocabulary on all states.

    Attributes
    ----------
    bounds : int64 [A + 1]
        Action a is the entries ``bounds[a]:bounds[a + 1]``. Action 0 is dead everywhere, action 1
        is the identity.
    states, cells : int32 [E]
        Of each entry: a state that the action leaves alive, and the cell it becomes.
    run_action : int32 [R]
        The action of each run of tokens; never ``DEAD_ACTION``.
    run_begin, run_end : intp [R]
        Run r is ``tokens[run_begin[r]:run_end[r]]``. No two runs share a token.
    tokens : int32 [T]
        The order of the outline.
    nodes, node_action : int32 [N]
        The trie nodes that the walk visited, and their actions.
    """

    bounds: NDArray[np.int64]
    states: NDArray[np.int32]
    cells: NDArray[np.int32]
    run_action: NDArray[np.int32]
    run_begin: NDArray[np.intp]
    run_end: NDArray[np.intp]
    tokens: NDArray[np.int32]
    nodes: NDArray[np.int32]
    node_action: NDArray[np.int32]

    @property
    def n_actions(self) -> int:
        """The number of actions."""
        return len(self.bounds) - 1

    def count_tokens(self) -> NDArray[np.int64]:
        """Return how many tokens each action has."""
        lengths = self.run_end - self.run_begin
        counts = np.bincount(self.run_action, weights=lengths, minlength=self.n_actions)
        return counts.astype(np.int64)

    def entries(
        self, actions: NDArray[np.intp]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.intp]]:
        """Return the states and cells of some actions, and for each entry the action's index."""
        at, which = ranges(self.bounds[actions], self.bounds[actions + 1])
        return self.states[at], self.cells[at], which


def ranges(
    begin: NDArray[np.integer], end: NDArray[np.integer]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the concatenation of ranges, and for each member the index of its range."""
    counts = end - begin
    ends = np.cumsum(counts, dtype=np.intp)
    which = np.repeat(np.arange(len(counts)), counts)
    return np.arange(len(which)) + (begin - (ends - counts))[which], which


class Walk:
    """Interned actions and the table of their products with byte classes.

    Attributes
    ----------
    steps : Steps
    bounds, states, cells
        As in ``Actions``; the last two with room to grow.
    uniform : uint64 [A]
        The groups of characters that all do the same to an action, and to what it becomes.
    """

    def __init__(self, steps: Steps, meter: Meter) -> None:
        self.steps = steps
        self.meter = meter
        n = steps.n_states
        self.n = 2
        self.bounds = np.zeros(64, dtype=np.int64)
        self.bounds[2] = n
        self.states = np.arange(n, dtype=np.int32)
        self.cells = self.states + np.int32(steps.offset)
        self.uniform = np.zeros(64, dtype=np.uint64)
        self.uniform[DEAD_ACTION] = EVERYTHING
        identity = np.stack([self.states, self.cells], axis=1)
        self._numbers = {b"": DEAD_ACTION, identity.tobytes(): IDENTITY}
        self.products = np.full((64, steps.n_classes), -1, dtype=np.int32)
        self.products[DEAD_ACTION] = DEAD_ACTION

    def advance(self, actions: NDArray[np.int32], classes: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the actions after one more byte class each, computing products that are new."""
        keys = actions * self.steps.n_classes
        keys += classes
        found: NDArray[np.int32] = self.products.ravel().take(keys)
        if len(found) and found.min() < 0:
            self._multiply(np.unique(keys[found < 0]))
            found = self.products.ravel().take(keys)
        return found

    def _multiply(self, keys: NDArray[np.int32]) -> None:
        """Find products, given by action times the number of classes plus class."""
        sources, classes = np.divmod(keys, self.steps.n_classes)
        begin, end = self.bounds[sources], self.bounds[sources + 1]
        total = np.cumsum(end - begin)
        first = 0
        while first < len(keys):
            self.meter.tick()
            done = total[first - 1] if first else 0
            last = max(first + 1, int(np.searchsorted(total, done + _CHUNK)))
            part = slice(first, last)
            products = self._products(begin[part], end[part], classes[part])
            self.products.ravel()[keys[part]] = products
            first = last

    def _products(
        self, begin: NDArray[np.int64], end: NDArray[np.int64], classes: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """Return the numbers of the products of ranges of entries with classes."""
        steps = self.steps
        at, which = ranges(begin, end)
        sources = self.cells[at]
        steps.complete(sources)
        cells = steps.columns.ravel().take(
            (classes.astype(np.intp) * steps.columns.shape[1])[which] + sources
        )
        alive = np.flatnonzero(cells)
        pairs = np.stack([self.states[at[alive]], cells[alive]], axis=1)
        counts = np.bincount(which[alive], minlength=len(classes))
        raw = pairs.tobytes()
        numbers = np.zeros(len(classes), dtype=np.int32)  # DEAD_ACTION
        living = np.flatnonzero(counts)
        found: list[int] = []
        new: list[int] = []
        known = self._numbers
        place = 0
        for i, after in zip(living.tolist(), (8 * np.cumsum(counts[living])).tolist(), strict=True):
            key = raw[place:after]
            place = after
            number = known.get(key)
            if number is None:
                number = known[key] = self.n + len(new)
                new.append(i)
            found.append(number)
        numbers[living] = found
        if new:
            self._append(pairs, counts, np.asarray(new))
        return numbers

    def _append(
        self, pairs: NDArray[np.int32], counts: NDArray[np.intp], new: NDArray[np.intp]
    ) -> None:
        """Make actions of the new ones among lists of (state, cell), given by their lengths."""
        ends = np.cumsum(counts)[new]
        lengths = counts[new]
        at, _ = ranges(ends - lengths, ends)
        size = int(self.bounds[self.n])
        first, self.n = self.n, self.n + len(new)
        self._reserve(size + len(at))
        self.states[size : size + len(at)] = pairs[at, 0]
        cells = self.cells[size : size + len(at)]
        cells[:] = pairs[at, 1]
        starts = size + np.cumsum(lengths) - lengths
        self.bounds[first + 1 : self.n + 1] = starts + lengths
        states = self.steps.states_of(cells)
        groups = np.where(states >= 0, self.steps.groups[states], EVERYTHING)
        self.uniform[first : self.n] = np.bitwise_and.reduceat(groups, starts - size)

    def _reserve(self, n_entries: int) -> None:
        """Make room for ``self.n`` actions with ``n_entries`` entries together."""
        if self.n + 1 >= len(self.bounds):
            wanted = 2 * self.n + 2
            self.bounds = _longer(self.bounds, wanted)
            self.uniform = _longer(self.uniform, wanted)
            products = np.full((wanted, self.steps.n_classes), -1, dtype=np.int32)
            products[: len(self.products)] = self.products
            self.products = products
        if n_entries > len(self.states):
            limit = self.meter.limits.max_memory
            self.meter.require("bytes of token actions", 16 * n_entries, limit)
            self.states = _longer(self.states, 2 * n_entries)
            self.cells = _longer(self.cells, 2 * n_entries)

    def orbit(self, actions: NDArray[np.int32], counts: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the actions after so many characters of their groups."""
        result = actions.copy()
        moving = np.flatnonzero(counts > 0)
        distinct, which = np.unique(actions[moving], return_inverse=True)
        most = np.zeros(len(distinct), dtype=np.int32)
        np.maximum.at(most, which, counts[moving])
        rows = [distinct.astype(np.int32)]
        for count in range(1, int(most.max(initial=0)) + 1):
            longer = np.flatnonzero((most >= count) & (rows[-1] != DEAD_ACTION))
            rows.append(rows[-1].copy())
            text = np.full(len(longer), self.steps.text, dtype=np.int32)
            rows[-1][longer] = self.advance(rows[-1][longer], text)
            if (rows[-1] == rows[-2]).all():
                break
        result[moving] = np.stack(rows)[np.minimum(counts[moving], len(rows) - 1), which]
        return result

    def actions_of(
        self,
        outline: Outline,
        nodes: NDArray[np.int32],
        node_action: NDArray[np.int32],
        thin: NDArray[np.bool_],
        closed: NDArray[np.bool_],
    ) -> Actions:
        """Return the actions, given those of the visited nodes.

        ``closed`` says of each whether it answers for what is below, and ``thin`` whether, besides,
        control characters kill there.
        """
        n_whole = int(outline.tokens_before[-1])
        visit = np.full(len(outline.preorder), -1, dtype=np.int32)
        visit[outline.preorder[nodes]] = np.arange(len(nodes))
        starts = np.flatnonzero(visit >= 0)
        visit = visit[starts]
        begin = outline.tokens_before[starts].astype(np.intp)
        end = np.append(begin[1:], n_whole)
        action = node_action[visit]
        apart = self._apart(action, closed[visit] & (end > begin), thin[visit])
        together = np.flatnonzero(~apart & (action != DEAD_ACTION) & (end > begin))
        # A token with a tail begins, so to speak, at the visited node that answers for its node.
        place = outline.preorder[outline.tail_node]
        above = visit[np.searchsorted(starts, place, side="right") - 1]
        cut = np.arange(n_whole, len(outline.tokens))
        at, which = ranges(begin[apart], end[apart])
        at = np.concatenate([at, cut])
        node = np.concatenate([visit[apart][which], above])
        characters = outline.token_characters[at] - outline.characters[nodes[node]]
        single = self.orbit(node_action[node], characters)
        single[thin[node] & (outline.last_control[at] > outline.depth[nodes[node]])] = DEAD_ACTION
        single[len(which) :] = self._follow_tails(outline, single[len(which) :])
        kept = np.flatnonzero(single)
        at, single = at[kept], single[kept]
        breaks = np.flatnonzero((np.diff(at) != 1) | (np.diff(single) != 0)) + 1
        first = np.concatenate([[0], breaks])[: len(at)]
        last = np.append(first, len(at))[1:] - 1
        size = self.bounds[self.n]
        return Actions(
            self.bounds[: self.n + 1],
            self.states[:size],
            self.cells[:size],
            np.concatenate([action[together], single[first]]),
            np.concatenate([begin[together], at[first]]),
            np.concatenate([end[together], at[last] + 1]),
            outline.tokens,
            nodes,
            node_action,
        )

    def _apart(
        self, actions: NDArray[np.int32], closed: NDArray[np.bool_], thin: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Return whether the tokens of a run, all below one node, may differ in their actions."""
        apart = thin.copy()
        asked = np.flatnonzero(closed)
        text = np.full(len(asked), self.steps.text, dtype=np.int32)
        apart[asked] |= self.advance(actions[asked], text) != actions[asked]
        return apart

    def _follow_tails(self, outline: Outline, actions: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the actions of tokens with tails, given those of the nodes where tails begin."""
        for column in range(outline.tails.shape[1]):
            longer = np.flatnonzero(outline.tail_length > column)
            classes = self.steps.class_of[outline.tails[longer, column]]
            actions[longer] = self.advance(actions[longer], classes)
        return actions


def _longer(array: NDArray[Any], length: int) -> NDArray[Any]:
    """Return a copy with zeros after it."""
    result = np.zeros(length, dtype=array.dtype)
    result[: len(array)] = array
    return result


def walk_trie(walk: Walk, trie: Trie) -> Actions:
    """Return the actions of all tokens of a trie."""
    outline = trie.outline
    class_of = walk.steps.class_of
    node = np.zeros(1, dtype=np.int32)
    action = np.full(1, IDENTITY, dtype=np.int32)
    nodes, actions = [node], [action]
    thin: list[NDArray[np.bool_]] = []
    closed: list[NDArray[np.bool_]] = []
    while len(node):
        uniform = walk.uniform[action]
        below = outline.below[node]
        change = below & ~uniform
        dying = (uniform & np.uint64(1 << DYING)) != 0
        thin.append(dying & (change != 0) & ((change & ~np.uint64(CONTROL_BITS)) == 0))
        is_open = (change != 0) & ~thin[-1]
        closed.append(~is_open & (below != 0))
        open_ = np.flatnonzero(is_open)
        node = node[open_]
        children, which = ranges(outline.first_child[node], outline.first_child[node + 1])
        node = children.astype(np.int32)
        action = walk.advance(action[open_[which]], class_of[trie.byte[node]])
        nodes.append(node)
        actions.append(action)
    return walk.actions_of(
        outline,
        np.concatenate(nodes),
        np.concatenate(actions),
        np.concatenate(thin),
        np.concatenate(closed),
    )
