"""The transition function over cells: what one byte does to a state with frames on top of it.

What becomes of a state is a *cell*: 0 is DEAD, 1 + l is "closed the frame it started in, with label
l" (EXIT), and from ``offset`` on they number configurations, of which the first S are the states
themselves. In a plain automaton that is all there is. With frames a token may end inside frames that
it opened: a configuration then is a stack of pushed call sites and a state, interned when it is
first met. Steps of configurations are computed in batches, when they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from constrain.arrays import distinct, longer
from constrain.orbits import EVERYTHING, TEXT, text_orbits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from constrain.machine import Machine

#: The kinds of cells: where all text does nothing, where it all does the same, and others.
STEADY, MOVING, OTHER = 0, 1, 2
N_KINDS = 3
#: What text of the groups of a cell does, as bits: leads elsewhere; leaves something alive.
MOVES, LIVES = 1, 2


class Steps:
    """The transition function over cells, one row a byte class.

    Attributes
    ----------
    class_of : int32 [256]
        The class of each byte.
    text : int
        The class after those of bytes: any one character of the groups of a state.
    offset : int
        The cell of state 0; smaller cells are DEAD and exits.
    n_known : int
        The number of cells made so far.
    columns : int32 [K + 1, capacity]
        The cell after a byte of class k; 0 for cells without a computed step.
    state_of : int32 [capacity]
        The state of a configuration (of the innermost frame); -1 for other cells.
    groups : uint64 [capacity]
        The groups of characters that ``text`` stands for in a cell.
    kind : uint8 [capacity]
        ``STEADY``, ``MOVING`` or ``OTHER``.
    effect : uint8 [capacity]
        ``MOVES`` and ``LIVES``.
    """

    def __init__(self, machine: Machine) -> None:
        class_of, columns = machine.dfa.byte_classes
        self.machine = machine
        self.class_of = class_of.astype(np.int32)
        self.offset = 1 + machine.n_labels
        by_class = np.ascontiguousarray(columns.T)
        successor, groups = text_orbits(by_class, self.class_of, machine.pop)
        self.table = np.concatenate([by_class, successor[None]])
        self.n_classes, self.n_states = self.table.shape
        self.text = self.n_classes - 1
        self.n_known = self.offset + self.n_states
        states = np.arange(self.n_states, dtype=np.int32)
        kind = np.where(successor == states, STEADY, MOVING)
        effect = (successor != states) * MOVES + (successor >= 0) * LIVES
        kind[(groups & TEXT) != TEXT] = OTHER
        before = np.zeros(self.offset, dtype=np.int32)
        self.state_of = np.concatenate([before - 1, states])
        self.groups = np.concatenate([before.astype(np.uint64) | EVERYTHING, groups])
        self.kind = np.concatenate([before + OTHER, kind]).astype(np.uint8)
        self.effect = np.concatenate([before + MOVES, effect]).astype(np.uint8)
        self.stacks: list[tuple[int, ...]] = [()]
        self._stack_of = np.zeros(self.n_known, dtype=np.int32)
        self._number: dict[tuple[int, ...], int] = {(): 0}  # of each stack
        self._cells: dict[int, int] = {}  # by stack times states plus state, stacks not empty
        self._done = np.ones(self.n_known, dtype=np.bool_)
        self.columns = np.zeros((self.n_classes, self.n_known), dtype=np.int32)
        first = self._first_columns()  # makes more cells
        self.columns[:, self.offset : self.offset + self.n_states] = first

    def _first_columns(self) -> NDArray[np.int32]:
        """Return the cells after one byte from the states themselves."""
        pop = self.machine.pop
        arriving = np.arange(self.n_states + 1, dtype=np.int32) + self.offset
        arriving[:-1] = np.where(pop >= 0, 1 + pop, arriving[:-1])
        arriving[-1] = 0  # of -1
        result: NDArray[np.int32] = arriving[np.maximum(self.table, -1)]
        if self.machine.is_plain:
            return result
        calling = np.flatnonzero(self.table.ravel() < -1)
        sites = -2 - self.table.ravel()[calling]
        entered = self.machine.call_target[sites]
        result.ravel()[calling] = self._configurations(self._push(0 * sites, sites), entered)
        return result

    def cell(self, stack: tuple[int, ...], state: int) -> int:
        """Return the cell of a configuration."""
        if not stack:
            return self.offset + state
        numbers = np.asarray([self._numbered(stack)], dtype=np.int32)
        return int(self._configurations(numbers, np.asarray([state], dtype=np.int32))[0])

    def configuration(self, cell: int) -> tuple[tuple[int, ...], int]:
        """Return the pushed call sites and the state of a cell that is a configuration."""
        return self.stacks[self._stack_of[cell]], int(self.state_of[cell])

    def complete(self, cells: NDArray[np.integer]) -> None:
        """Compute the steps of those of the given cells that have none yet."""
        if self.machine.is_plain:
            return
        waiting = np.flatnonzero(~self._done[cells])
        if not len(waiting):
            return
        cells = distinct(cells[waiting])
        stacks, targets = self._stack_of[cells], self.table.take(self.state_of[cells], axis=1)
        pops = np.where(targets >= 0, self.machine.pop[np.maximum(targets, 0)], -1)
        number = np.broadcast_to(stacks, targets.shape).copy()
        calls = np.nonzero(targets < -1)
        sites = -2 - targets[calls]
        number[calls] = self._push(number[calls], sites)
        targets[calls] = self.machine.call_target[sites]
        closes = np.nonzero(pops >= 0)
        below, site = self._popped(stacks)
        number[closes] = below[closes[1]]
        targets[closes] = self.machine.call_return[site[closes[1]], pops[closes]]
        alive = np.nonzero(targets >= 0)
        result = np.zeros(targets.shape, dtype=np.int32)
        result[alive] = self._configurations(number[alive], targets[alive])
        self.columns[:, cells] = result
        self._done[cells] = True

    def _configurations(
        self, stacks: NDArray[np.int32], states: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """Return the cells of configurations, making those that are new."""
        keys = stacks.astype(np.int64) * self.n_states + states
        wanted = distinct(keys)
        wanted = wanted[np.searchsorted(wanted, self.n_states) :]
        before = self.n_known
        found = np.zeros(len(wanted), dtype=np.int32)
        for i, key in enumerate(wanted.tolist()):
            cell = self._cells.get(key)
            if cell is None:
                cell = self._cells[key] = self.n_known
                self.n_known += 1
            found[i] = cell
        if self.n_known > before:
            self._grow(wanted[found >= before])
        result: NDArray[np.int32] = (keys + self.offset).astype(np.int32)
        inner = np.flatnonzero(stacks)
        result[inner] = found[np.searchsorted(wanted, keys[inner])]
        return result

    def _grow(self, keys: NDArray[np.int64]) -> None:
        """Make room for new cells, given in order."""
        stacks, states = np.divmod(keys, self.n_states)
        before, n_known = self.n_known - len(keys), self.n_known
        if n_known > len(self._done):
            for name in ("_stack_of", "_done", "state_of", "groups", "kind", "effect"):
                setattr(self, name, longer(getattr(self, name), 2 * n_known))
            wider = np.zeros((self.n_classes, 2 * n_known), dtype=np.int32)
            wider[:, : self.columns.shape[1]] = self.columns
            self.columns = wider
        new = slice(before, n_known)
        self._stack_of[new] = stacks
        self.state_of[new] = states
        self._done[new] = False
        self.groups[new] = self.groups[states + self.offset]
        self.kind[new] = self.kind[states + self.offset]
        self.effect[new] = self.effect[states + self.offset]

    def _push(self, stacks: NDArray[np.int32], sites: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the numbers of stacks with one more call site each."""
        n_sites = len(self.machine.call_target)
        keys = stacks.astype(np.int64) * n_sites + sites
        wanted = distinct(keys)
        numbers = [
            self._numbered((*self.stacks[stack], site))
            for stack, site in (divmod(key, n_sites) for key in wanted.tolist())
        ]
        found: NDArray[np.int32] = np.asarray(numbers, dtype=np.int32)
        return found.take(np.searchsorted(wanted, keys))

    def _popped(self, stacks: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return what is left of stacks when one call site is popped, and that site."""
        tops = [self.stacks[stack] for stack in stacks.tolist()]
        numbers = [self._numbered(stack[:-1]) for stack in tops]
        sites = [stack[-1] for stack in tops]
        return np.asarray(numbers, dtype=np.int32), np.asarray(sites, dtype=np.int32)

    def _numbered(self, stack: tuple[int, ...]) -> int:
        number = self._number.get(stack)
        if number is None:
            number = self._number[stack] = len(self.stacks)
            self.stacks.append(stack)
        return number
