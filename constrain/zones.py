"""What tokens do in the zones before a minimum: how many ticks they pass, and where they land.

Where a frame has a minimum, its texts pass a *zone* in which the states do not say how many ticks
are missing (``constrain.counting``). The actions of tokens do not say it either: they take a zone
for a loop without end. So the search for short ways to an end walks some tokens byte by byte, from
every state of a zone, and learns for each

* the cell it leads to within the zone, and how many ticks it passes on the way;
* of those that pass one tick, where they *land* if that was the last one in the zone, and the text
  goes on where every count has states of its own.

Tokens that do the same for all that matters are many. Of those with one action and one length only
the first is looked at, and for a state and a cell only a few of the shortest.

Cost: nothing where there is no zone; else one look at every token, and a walk of a few for each pair
(state, cell).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from constrain.arrays import distinct, ranges
from constrain.masks import used_actions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from constrain.actions import Actions
    from constrain.machine import Machine
    from constrain.steps import Steps
    from constrain.vocabulary import Vocabulary

_FEW = 8  # tokens that are walked for one state and cell
_DEEPEST = 16  # frames that a walked token may have open at a time


@dataclass(frozen=True, slots=True)
class Moves:
    """Single tokens from states of zones, the shortest first.

    Attributes
    ----------
    source : intp [n]
        States of zones.
    target : intp [n]
        The cells they lead to.
    ticks : intp [n]
        How many ticks they pass.
    landing : intp [n]
        Of tokens that pass one tick, the cell they lead to if it was the last; else -1.
    """

    source: NDArray[np.intp]
    target: NDArray[np.intp]
    ticks: NDArray[np.intp]
    landing: NDArray[np.intp]


def zones(machine: Machine) -> NDArray[np.intp]:
    """Return a group number for each state that waits for a count (-1 for others).

    States of one zone are those that edges and returns connect while they wait for one count.
    """
    groups = np.full(machine.n_states, -1, dtype=np.intp)
    waits = machine.waits_for
    neighbours: dict[int, set[int]] = {}
    for state in np.flatnonzero(waits).tolist():
        row = distinct(machine.dfa.trans[state])
        targets = set(row[row >= 0].tolist())
        for site in (-2 - row[row < -1]).tolist():
            targets.update(t for t in machine.call_return[site].tolist() if t >= 0)
        for target in targets:
            if waits[target] == waits[state]:
                neighbours.setdefault(state, set()).add(target)
                neighbours.setdefault(target, set()).add(state)
    for state in np.flatnonzero(waits).tolist():
        if groups[state] >= 0:
            continue
        groups[state] = state
        queue = [state]
        for member in queue:
            for other in neighbours.get(member, ()):
                if groups[other] < 0:
                    groups[other] = state
                    queue.append(other)
    return groups


class Walker:
    """Walks tokens from states of zones.

    Attributes
    ----------
    machine, steps, actions
    groups : intp [S]
        The zone of each state, from ``zones``.
    source, cell, action : intp [n]
        What actions do to states of zones, closing their frame left out.
    sample, sample_action : intp [m]
        The first token of each of these actions and each length, shortest first, and its action.
    """

    def __init__(
        self,
        machine: Machine,
        steps: Steps,
        actions: Actions,
        vocabulary: Vocabulary,
    ) -> None:
        self.machine, self.steps, self.actions = machine, steps, actions
        self.groups = groups = zones(machine)
        self.offsets, self.bytes = vocabulary.token_offsets, vocabulary.token_bytes
        self.length = np.diff(self.offsets)
        used = used_actions(actions)
        states, cells, which = actions.entries(used)
        kept = np.flatnonzero((groups[states] >= 0) & (cells >= steps.offset))
        self.source = states[kept].astype(np.intp)
        self.cell = cells[kept].astype(np.intp)
        self.action = used[which[kept]].astype(np.intp)
        self.sample, self.sample_action = self._sample()

    def _sample(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        each, rank = distinct(self.action), np.full(self.actions.n_actions, -1, dtype=np.intp)
        rank[each] = np.arange(len(each))
        runs = np.flatnonzero(rank[self.actions.run_action] >= 0)
        at, which = ranges(self.actions.run_begin[runs], self.actions.run_end[runs])
        ids = self.actions.tokens[at].astype(np.intp)
        keys = self.length[ids] * len(each) + rank[self.actions.run_action[runs[which]]]
        first = np.full(int(keys.max(initial=-1)) + 1, -1, dtype=np.intp)
        first[keys[::-1]] = ids[::-1]  # of equal keys the last written stays
        found = np.flatnonzero(first >= 0)
        return first[found], each[found % len(each)]

    def moves(self) -> Moves:
        """Walk some tokens for each state and cell."""
        order = np.argsort(self.sample_action, kind="stable")
        begin = np.searchsorted(self.sample_action[order], self.action, side="left")
        end = np.searchsorted(self.sample_action[order], self.action, side="right")
        at, which = ranges(begin, np.minimum(end, begin + _FEW))
        token = self.sample[order[at]]
        pair = self.cell[which] * self.machine.n_states + self.source[which]
        order = np.lexsort((token, self.length[token], pair))
        ordered = pair[order]
        order = order[np.arange(len(order)) - np.searchsorted(ordered, ordered) < _FEW]
        order = order[np.argsort(self.length[token[order]], kind="stable")]
        source, token, cell = self.source[which[order]], token[order], self.cell[which[order]]
        target, ticks = self.walk(source, token, last=False)
        landing, _ = self.walk(source, token, last=True)
        landing[ticks != 1] = -1
        kept = target == cell  # nothing else, unless a frame inside counts as well
        return Moves(source[kept], target[kept], ticks[kept], landing[kept])

    def walk(
        self, states: NDArray[np.intp], ids: NDArray[np.intp], *, last: bool
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Walk tokens from states.

        Parameters
        ----------
        states, ids : intp [n]
        last : bool
            Whether the first tick is the last one in the zone.

        Returns
        -------
        cells : intp [n]
            Where they lead; -1 if they close the frame they start in, or die.
        ticks : intp [n]
            How many ticks of that frame they pass.
        """
        machine, length = self.machine, self.length[ids]
        state, depth = states.copy(), np.zeros(len(ids), dtype=np.intp)
        stack = np.zeros((len(ids), _DEEPEST), dtype=np.intp)
        ticks = np.zeros(len(ids), dtype=np.intp)
        for at in range(int(length.max(initial=0))):
            going = np.flatnonzero((at < length) & (state >= 0))
            byte = self.bytes[self.offsets[ids[going]] + at]
            target = machine.dfa.trans[state[going], byte].astype(np.intp)
            calls = going[(target < -1) & (depth[going] < _DEEPEST)]
            site = -2 - target[(target < -1) & (depth[going] < _DEEPEST)]
            state[going] = np.maximum(target, -1)
            stack[calls, depth[calls]] = site
            depth[calls] += 1
            state[calls] = machine.call_target[site]
            ticking = going[(target >= 0) & (depth[going] == 0)]
            ticking = ticking[machine.tick[state[ticking]]]
            ticks[ticking] += 1
            if last:  # in another zone, where other frames wait, it is not the last
                ticking = ticking[(ticks[ticking] == 1)]
                ends = machine.escape_at[state[ticking]] == machine.waits_for[states[ticking]]
                state[ticking[ends]] = machine.escape[state[ticking[ends]]]
            self._close(state, depth, stack)
        return self._cells(state, depth, stack), ticks

    def _close(
        self, state: NDArray[np.intp], depth: NDArray[np.intp], stack: NDArray[np.intp]
    ) -> None:
        """Let states with a pop label return."""
        while True:
            closing = np.flatnonzero((state >= 0) & (self.machine.pop[state] >= 0))
            if not len(closing):
                return
            state[closing[depth[closing] == 0]] = -1
            closing = closing[depth[closing] > 0]
            depth[closing] -= 1
            site = stack[closing, depth[closing]]
            state[closing] = self.machine.call_return[site, self.machine.pop[state[closing]]]

    def _cells(
        self, state: NDArray[np.intp], depth: NDArray[np.intp], stack: NDArray[np.intp]
    ) -> NDArray[np.intp]:
        cells = np.where(state >= 0, state + self.steps.offset, -1)
        for i in np.flatnonzero((state >= 0) & (depth > 0)).tolist():
            cells[i] = self.steps.cell(tuple(stack[i, : depth[i]].tolist()), int(state[i]))
        return cells
