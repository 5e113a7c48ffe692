"""The fewest tokens from each state of a machine with frames to each of its ends.

An end is acceptance, or the close of the innermost frame with some label. It is a shortest-path
problem whose edges have other shortest paths as weights: a token that opens a frame costs that
frame's way to its close first. D. E. Knuth, "A generalization of Dijkstra's algorithm" (1977), solves
it by settling values in ascending order. Costs are small integers, so the queue is a list of buckets,
and a bucket is settled as one array.

Tokens that go on after they closed the frame they started in are not used, so the numbers are bounds
that can always be kept, whatever is below on the stack. Where a frame may not close before a count
that its states do not spell out, the *pace* says what each missing tick costs at most.

Cost: the distinct pairs (state, cell that a token leads to), once for each goal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from constrain.actions import ranges
from constrain.errors import LimitError
from constrain.masks import NO_END, token_graph

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from constrain.actions import Actions, Steps
    from constrain.limits import Meter
    from constrain.machine import Machine

_UNSETTLED = np.iinfo(np.int64).max
_MOST = 1 << 60  # costs are int64; nested counts multiply
_LEVEL = 256  # effort of one cost, as ``Meter.spend`` counts it


@dataclass(frozen=True, slots=True)
class Distances:
    """The fewest tokens to the ends of each state of a framed machine, at token boundaries.

    Attributes
    ----------
    to_end : int32 [S]
        To an accepting state, with no frame open; ``NO_END`` where none is reached.
    to_pop : int32 [S, L]
        To the close of the innermost frame with each label; ``NO_END`` where impossible.
    pace, pace_until : int32 [S], int64 [S]
        In states whose frame may not close before a count that they do not spell out, ``to_pop``
        holds for the last tick before that count; each tick that is missing besides costs at
        most ``pace`` tokens.
    """

    to_end: NDArray[np.int32]
    to_pop: NDArray[np.int32]
    pace: NDArray[np.int32]
    pace_until: NDArray[np.int64]


def distances(machine: Machine, steps: Steps, actions: Actions, meter: Meter) -> Distances:
    """Return the fewest tokens from each state to each of its ends.

    Tokens that go on after they closed the frame they started in are not used, so the numbers are
    bounds that can always be kept, whatever is below on the stack.
    """
    search = _Search(machine, steps, actions, meter)
    search.run()
    while search.pace_grew():
        search.run()
    n_labels, offset = machine.n_labels, steps.offset
    cost = search.cost[offset : offset + machine.n_states]
    most = int(cost.max(initial=0, where=cost != _UNSETTLED))
    if most >= NO_END:
        raise LimitError("tokens in the shortest text", most, NO_END - 1)
    result = np.minimum(cost, NO_END).astype(np.int32)
    pace = np.asarray([search.pace.get(group, 0) for group in search.groups], dtype=np.int32)
    return Distances(
        result[:, n_labels].copy(),
        np.ascontiguousarray(result[:, :n_labels]),
        pace,
        np.where(pace > 0, machine.waits_for, 0),
    )


class _Search:
    """Knuth's search over cells and goals; a goal is a label, or ``n_labels`` for accepting.

    A *key* is a cell times the number of goals plus a goal. All keys of one cost are settled
    together; only those with a part in frames below or in counts are looked at one by one.
    """

    def __init__(self, machine: Machine, steps: Steps, actions: Actions, meter: Meter) -> None:
        self.meter = meter
        self.machine, self.offset, self.n_labels = machine, steps.offset, machine.n_labels
        self.n_goals = machine.n_labels + 1
        states, cells = token_graph(actions)
        pairs = np.sort(cells.astype(np.int64) * machine.n_states + states)
        pairs = pairs[np.flatnonzero(np.diff(pairs, prepend=-1))]
        target, source = np.divmod(pairs, machine.n_states)
        self.beneath = _beneath(machine, steps, np.unique(target).tolist())
        n_cells = steps.n_known
        self.waits = machine.waits_for.tolist()
        self.groups = _zones(machine)
        self.entered = _entered(machine, steps, self.groups)
        zone = np.full(n_cells, -1)  # -2 where there are several
        for cell, groups in self.entered.items():
            zone[cell] = groups[0] if len(groups) == 1 else -2
        into = (zone[target] != -1) & (zone[target] != np.asarray(self.groups)[source])
        self.crossing: dict[int, list[int]] = {}  # cell -> cells from where a token enters its zone
        for cell, state in zip(target[into].tolist(), source[into].tolist(), strict=True):
            self.crossing.setdefault(cell, []).append(state + self.offset)
        target, source = target[~into], source[~into]
        self.source = source + self.offset
        self.starts = np.searchsorted(target, np.arange(n_cells + 1))
        self.special = np.zeros(n_cells, dtype=np.bool_)  # cells to be looked at one by one
        self.special[[cell for cell, _ in self.beneath]] = True
        self.pace: dict[int, int] = {}
        self.escaping: dict[int, list[int]] = {}  # cell -> cells whose last tick moves there
        self.ticking: dict[int, list[tuple[int, int]]] = {}  # group -> (cell, where it escapes to)
        for state in np.flatnonzero(machine.escape >= 0).tolist():
            if self.waits[state]:
                pair = (state + self.offset, int(machine.escape[state]) + self.offset)
                self.escaping.setdefault(pair[1], []).append(pair[0])
                self.ticking.setdefault(self.groups[state], []).append(pair)
        self.special[list(self.escaping)] = True
        self.special[list(self.crossing)] = True
        self.enters = bool(self.crossing) or not self.entered.keys().isdisjoint(self.escaping)

    def run(self) -> None:
        """Find ``cost`` int64 [cells, goals], settling keys in ascending order."""
        self.cost = np.full((len(self.special), self.n_goals), _UNSETTLED, dtype=np.int64)
        self.pending: dict[int, list[NDArray[np.intp]]] = {}  # cost -> keys
        self.above: dict[int, list[tuple[int, int]]] = {}  # cell -> (config that pops to it, cost)
        self.deferred: list[tuple[int, int, int]] = []  # closes of frames of a pace not yet known
        self.used = dict(self.pace)  # paces known from the beginning
        accepting = np.flatnonzero(self.machine.dfa.accept) + self.offset
        self._push(0, accepting * self.n_goals + self.n_labels)
        labels = np.arange(self.n_labels)
        self._push(1, self._before(1 + labels, labels))
        value = 0
        while self.pending or self.deferred:
            value = min(self.pending, default=value)
            if value > _MOST:
                raise LimitError("tokens in the shortest text", value, NO_END - 1)
            self.meter.spend(_LEVEL)
            if not self._settle(value) and not self.pending:
                break

    def _push(self, cost: int, keys: NDArray[np.intp]) -> None:
        if len(keys):
            self.pending.setdefault(cost, []).append(keys)

    def _before(self, cells: NDArray[np.intp], goals: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the keys from which one token leads to cells with goals, those not yet settled."""
        at, which = ranges(self.starts[cells], self.starts[cells + 1])
        keys: NDArray[np.intp] = self.source[at] * self.n_goals + goals[which]
        unsettled = np.flatnonzero(self.cost.ravel()[keys] == _UNSETTLED)
        return keys[unsettled]

    def _settle(self, value: int) -> bool:
        """Settle all keys of one cost, and what costs nothing more; return whether any were new."""
        costs = self.cost.ravel()
        queue = [*self.pending.pop(value, ()), *self._release(value)]
        found = False
        while queue:
            keys = np.concatenate(queue)
            keys = np.unique(keys[costs[keys] == _UNSETTLED])
            costs[keys] = value
            found = found or len(keys) > 0
            cells, goals = np.divmod(keys, self.n_goals)
            self._push(value + 1, self._before(cells, goals))
            special = np.flatnonzero(self.special[cells])
            for cell, goal in zip(cells[special].tolist(), goals[special].tolist(), strict=True):
                self._one(cell, goal, value)
            queue = [*self._release(value), *self.pending.pop(value, ())]
        return found

    def _one(self, cell: int, goal: int, value: int) -> None:
        """Go on from a settled key whose cell is special."""
        for last in self.escaping.get(cell, ()):  # arriving there by the last tick
            passed = int(self.machine.escape_at[last - self.offset])
            extra = self._missing(cell, passed)
            if extra is not None:
                keys = self._before(np.asarray([last]), np.asarray([goal]))
                self._push(value + 1 + extra, keys)
        extra = self._missing(cell, 0)
        if extra is not None:
            keys = np.asarray(self.crossing.get(cell, []), dtype=np.intp) * self.n_goals + goal
            self._push(value + 1 + extra, keys)
        for config, cost in self.above.get(cell, ()):
            self._push(value + cost, np.asarray([config * self.n_goals + goal]))
        if (cell, goal) in self.beneath:
            self.deferred.append((cell, goal, value))

    def _missing(self, cell: int, passed: int) -> int | None:
        """Return what the ticks cost that are missing in the zone that a cell lies in, at most.

        ``passed`` ticks are not. None while the pace of the zone is not known: the way is found
        once ``pace_grew`` has asked for another run.
        """
        missing = 0
        for group in self.entered.get(cell, ()):
            if group not in self.pace:
                return None
            missing = max(missing, self.pace[group] * (self.waits[group] - 1 - passed))
        return missing

    def _release(self, value: int) -> list[NDArray[np.intp]]:
        """Let configurations go on whose innermost frame closes at a cost that is known by now.

        Returns the keys that cost no more than ``value``.
        """
        now: list[int] = []
        waiting, self.deferred = self.deferred, []
        for cell, goal, cost in waiting:
            waits = self.waits[cell - self.offset]
            if waits:
                group = self.groups[cell - self.offset]
                if group not in self.pace and not self._measure(group):
                    self.deferred.append((cell, goal, cost))
                    continue
                now.extend(self._close(cell, goal, cost + self.pace[group] * (waits - 1), value))
            else:
                now.extend(self._close(cell, goal, cost, value))
        return [np.asarray(now)] if now else []

    def _close(self, cell: int, label: int, cost: int, value: int) -> list[int]:
        """Let configurations go on whose innermost state closes its frame with a label at a cost."""
        now: list[int] = []
        for config, under in self.beneath[cell, label]:
            self.above.setdefault(under, []).append((config, cost))
            self.special[under] = True
            for goal, known in enumerate(self.cost[under].tolist()):
                if known == _UNSETTLED:
                    continue
                key = config * self.n_goals + goal
                if known + cost <= value:
                    now.append(key)
                else:
                    self._push(known + cost, np.asarray([key]))
        return now

    def _measure(self, group: int) -> bool:
        """Find the pace of a group, if all of its ticking states have a way to an end."""
        pace = 1
        for cell, escape in self.ticking.get(group, ()):
            here, there = self.cost[cell, : self.n_labels], self.cost[escape, : self.n_labels]
            both = np.flatnonzero((here != _UNSETTLED) & (there != _UNSETTLED))
            if not len(both):
                return False
            pace = max(pace, int((here[both] - there[both]).max()))
        self.pace[group] = max(pace, self.pace.get(group, 0))
        return True

    def pace_grew(self) -> bool:
        """Measure again with everything settled; return whether some pace was underestimated.

        Or was not known when ways into its zone were looked for.
        """
        before = dict(self.pace)
        for group in self.ticking:
            self._measure(group)
        if self.enters:  # ways into these zones were found with the paces known then, or not at all
            entered = {group for groups in self.entered.values() for group in groups}
            before |= {group: self.used.get(group, 0) for group in entered}
        return any(self.pace.get(group, 0) > pace for group, pace in before.items())


def _zones(machine: Machine) -> list[int]:
    """Return a group number for each state that waits for a count (-1 for others).

    States of one zone are those that edges and returns connect while they wait for one count.
    """
    groups = [-1] * machine.n_states
    waits = machine.waits_for
    neighbours: dict[int, set[int]] = {}
    for state in np.flatnonzero(waits).tolist():
        row = np.unique(machine.dfa.trans[state])
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


def _entered(machine: Machine, steps: Steps, groups: list[int]) -> dict[int, list[int]]:
    """Return, for cells whose outermost frame waits for a count or may come to, its zones."""
    waits = machine.waits_for
    found = {state + steps.offset: [groups[state]] for state in np.flatnonzero(waits).tolist()}
    for cell in range(steps.offset + machine.n_states, steps.n_known):
        stack, _ = steps.configuration(cell)
        backs = machine.call_return[stack[0]] if stack else machine.call_target[:0]
        zones = sorted({groups[back] for back in backs.tolist() if back >= 0 and waits[back]})
        if zones:
            found[cell] = zones
    return found


def _beneath(
    machine: Machine, steps: Steps, cells: Iterable[int]
) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """Return, by (cell of the innermost state, label), the configurations and where they pop to.

    Makes the cells of all configurations that the given ones pop to.
    """
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    seen = set(cells)
    queue = list(seen)
    for cell in queue:
        if cell < steps.offset + machine.n_states:
            continue
        stack, state = steps.configuration(cell)
        for label, back in enumerate(machine.call_return[stack[-1]].tolist()):
            if back < 0:
                continue
            under = int(steps.cells(stack[:-1], np.asarray([back], dtype=np.intp))[0])
            found.setdefault((steps.offset + state, label), []).append((cell, under))
            if under not in seen:
                seen.add(under)
                queue.append(under)
    return found
