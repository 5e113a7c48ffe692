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

Whole subtrees are answered at once (``constrain.trie.Outline``): where no group of bytes that occurs
below a node changes the node's action, every token below has that action. Inside a string, most of
the vocabulary changes nothing. ``Walk.fixed`` has the groups that leave an action as it is, those
that lead each of its live states back to itself; a dead action stays as it is whatever follows. So a
walk visits a tenth of the nodes, and its result is a list of *runs*, ranges of tokens in the order of
the outline with one action each.

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

from constrain.trie import CHARACTER, CHARACTERS, CONTROL_BITS, CONTROLS, GROUPS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from constrain.limits import Meter
    from constrain.machine import Machine
    from constrain.trie import Outline, Trie

DEAD_ACTION, IDENTITY = 0, 1
_CHUNK = 1 << 22  # cells looked at in one piece
_EVERYTHING = np.uint64(0xFFFFFFFFFFFFFFFF)
_DYING = 61  # in bits of groups: every control character kills


class Steps:
    """The transition function over cells, one column a byte class.

    Attributes
    ----------
    class_of : int32 [256]
        The class of each byte.
    offset : int
        The cell of state 0; smaller cells are DEAD and exits.
    columns : int32 [K, capacity]
        The cell after a byte of class k; rows of cells without a computed step are 0.
    """

    def __init__(self, machine: Machine) -> None:
        class_of, table = machine.dfa.byte_classes
        self.machine = machine
        self.class_of = class_of.astype(np.int32)
        self.offset = 1 + machine.n_labels
        self.table = table
        n_states, n_classes = table.shape
        self.n_states, self.n_classes = n_states, n_classes
        self.n_cells = self.offset + n_states
        self.columns = np.zeros((n_classes, self.n_cells), dtype=np.int32)
        if machine.is_plain:
            self.columns[:, self.offset :] = table.T + 1
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


def loops(steps: Steps) -> NDArray[np.uint64]:
    """Return uint64 [S]: the groups of bytes (``constrain.trie.GROUPS``) that lead back to a state.

    The group of characters of several bytes is among them where all of those do, and ``_DYING``
    where all control characters are dead.
    """
    table = steps.table
    stays = table == np.arange(len(table))[:, None]
    members = np.frombuffer(b"".join(GROUPS), dtype=np.uint8)
    sizes = np.asarray([len(group) for group in GROUPS])
    within = np.zeros((len(table), 64), dtype=np.bool_)
    within[:, : len(GROUPS)] = np.logical_and.reduceat(
        stays[:, steps.class_of[members]], np.cumsum(sizes) - sizes, axis=1
    )
    within[:, CHARACTER] = _text_loops(steps)
    within[:, _DYING] = (table[:, np.unique(steps.class_of[: len(CONTROLS)])] == -1).all(axis=1)
    return np.packbits(within, axis=1, bitorder="little").view("<u8").ravel()


def _text_loops(steps: Steps) -> NDArray[np.bool_]:
    """Return bool [S]: whether every well-formed character of several bytes leads back."""
    n = steps.n_states
    table = np.vstack([np.maximum(steps.table, -1), np.full((1, steps.n_classes), -1)])
    first = steps.class_of[[span[0] for span in CHARACTERS[0]]]
    fine: NDArray[np.bool_] = table[table[:n, first[0]], first[1]] == np.arange(n)
    for spans in CHARACTERS:
        start = np.flatnonzero(fine)
        state = start
        for low, high in spans:
            after = table[state][:, np.unique(steps.class_of[low : high + 1])]
            keys = np.unique(np.repeat(start, after.shape[1]) * (n + 1) + (after.ravel() + 1))
            start, state = np.divmod(keys, n + 1)
            state -= 1
        fine[start[state != start]] = False
    return fine


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
    run_begin, run_end : int32 [R]
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
    run_begin: NDArray[np.int32]
    run_end: NDArray[np.int32]
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
    fixed : uint64 [A]
        The groups of bytes that leave an action as it is.
    """

    def __init__(self, steps: Steps, meter: Meter) -> None:
        self.steps = steps
        self.meter = meter
        self.loops = loops(steps)
        n = steps.n_states
        self.n = 2
        self.bounds = np.zeros(64, dtype=np.int64)
        self.bounds[2] = n
        self.states = np.arange(n, dtype=np.int32)
        self.cells = self.states + np.int32(steps.offset)
        self.fixed = np.zeros(64, dtype=np.uint64)
        self.fixed[DEAD_ACTION] = _EVERYTHING
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
        looping = np.where(states >= 0, self.loops[states], 0).astype(np.uint64)
        self.fixed[first : self.n] = np.bitwise_and.reduceat(looping, starts - size)

    def _reserve(self, n_entries: int) -> None:
        """Make room for ``self.n`` actions with ``n_entries`` entries together."""
        if self.n + 1 >= len(self.bounds):
            wanted = 2 * self.n + 2
            self.bounds = _longer(self.bounds, wanted)
            self.fixed = _longer(self.fixed, wanted)
            products = np.full((wanted, self.steps.n_classes), -1, dtype=np.int32)
            products[: len(self.products)] = self.products
            self.products = products
        if n_entries > len(self.states):
            limit = self.meter.limits.max_memory
            self.meter.require("bytes of token actions", 16 * n_entries, limit)
            self.states = _longer(self.states, 2 * n_entries)
            self.cells = _longer(self.cells, 2 * n_entries)

    def actions_of(
        self,
        outline: Outline,
        nodes: NDArray[np.int32],
        node_action: NDArray[np.int32],
        thinned: NDArray[np.intp],
    ) -> Actions:
        """Return the actions, given those of the visited nodes.

        ``thinned`` are those of the nodes, by index, below which control characters kill.
        """
        n_whole = int(outline.tokens_before[-1])
        visit = np.full(len(outline.preorder), -1, dtype=np.int32)
        visit[outline.preorder[nodes]] = np.arange(len(nodes))
        starts = np.flatnonzero(visit >= 0)
        visit = visit[starts]
        is_thin = np.zeros(len(nodes), dtype=np.bool_)
        is_thin[thinned] = True
        # Tokens with tails begin, so to speak, at the visited node that answers for their node.
        place = outline.preorder[outline.tail_node]
        above = visit[np.searchsorted(starts, place, side="right") - 1]
        killed = outline.last_control[n_whole:] > outline.depth[nodes[above]]
        tails = np.where(killed & is_thin[above], DEAD_ACTION, node_action[above])
        tails = self._follow_tails(outline, tails)
        begin = outline.tokens_before[starts]
        end = np.append(begin[1:], n_whole)
        cut = np.arange(n_whole, len(outline.tokens), dtype=np.int32)
        thin_begin, thin_end, of_thin = _thin(outline, nodes[thinned])
        whole = np.flatnonzero(~is_thin[visit])
        run_action = np.concatenate(
            [node_action[visit[whole]], tails, node_action[thinned[of_thin]]]
        )
        run_begin = np.concatenate([begin[whole], cut, thin_begin])
        run_end = np.concatenate([end[whole], cut + 1, thin_end])
        kept = np.flatnonzero((run_end > run_begin) & (run_action != DEAD_ACTION))
        size = self.bounds[self.n]
        return Actions(
            self.bounds[: self.n + 1],
            self.states[:size],
            self.cells[:size],
            run_action[kept],
            run_begin[kept],
            run_end[kept],
            outline.tokens,
            nodes,
            node_action,
        )

    def _follow_tails(self, outline: Outline, actions: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the actions of tokens with tails, given those of the nodes where tails begin."""
        for column in range(outline.tails.shape[1]):
            longer = np.flatnonzero(outline.tail_length > column)
            classes = self.steps.class_of[outline.tails[longer, column]]
            actions[longer] = self.advance(actions[longer], classes)
        return actions


def _thin(
    outline: Outline, nodes: NDArray[np.int32]
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return the runs of tokens at and below nodes that have no control character after the node.

    Returns
    -------
    begin, end, which : intp [R]
        ``which`` is the index of the node of each run.
    """
    place = outline.preorder[nodes]
    at, which = ranges(
        outline.tokens_before[place], outline.tokens_before[place + outline.size[nodes]]
    )
    kept = np.flatnonzero(outline.last_control[at] <= outline.depth[nodes][which])
    at, which = at[kept], which[kept]
    first = np.flatnonzero((np.diff(at, prepend=-2) != 1) | (np.diff(which, prepend=-1) != 0))
    last = np.append(first, len(at))[1:] - 1
    return at[first], at[last] + 1, which[first]


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
    nodes, actions, thinned = [node], [action], [np.zeros(0, dtype=np.intp)]
    n_visited = 1
    while len(node):
        fixed = walk.fixed[action]
        change = outline.below[node] & ~fixed
        dying = (fixed & np.uint64(1 << _DYING)).astype(np.bool_)
        thin = dying & (change != 0) & ((change & ~np.uint64(CONTROL_BITS)) == 0)
        thinned.append(np.flatnonzero(thin) + (n_visited - len(node)))
        open_ = np.flatnonzero((change != 0) & ~thin)
        node = node[open_]
        children, which = ranges(outline.first_child[node], outline.first_child[node + 1])
        node = children.astype(np.int32)
        action = walk.advance(action[open_[which]], class_of[trie.byte[node]])
        nodes.append(node)
        actions.append(action)
        n_visited += len(node)
    return walk.actions_of(
        outline, np.concatenate(nodes), np.concatenate(actions), np.concatenate(thinned)
    )
