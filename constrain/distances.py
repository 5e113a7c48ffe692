"""The fewest tokens from each state of a machine with frames to each of its ends.

An end is acceptance, or the close of the innermost frame with some label. It is a shortest-path
problem whose edges have other shortest paths as weights: a token that opens a frame costs that
frame's way to its close first. D. E. Knuth, "A generalization of Dijkstra's algorithm" (1977), solves
it by settling values in ascending order. Costs are small integers, so the queue is a list of buckets,
and a bucket is settled as one array.

Tokens that go on after they closed the frame they started in are not used, so the numbers are bounds
that can always be kept, whatever is below on the stack. Where a frame may not close before a count
that its states do not spell out, ``to_pop`` holds for the last tick before that count, and the *pace*
says what each tick that is missing besides costs at most. Within such a zone only tokens that pass no
tick or one are used (``constrain.zones``); where tokens pass many, ``constrain.strides`` knows a
shorter way.

Cost: the distinct pairs (state, cell that a token leads to), once for each goal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from constrain.arrays import distinct, ranges
from constrain.errors import LimitError
from constrain.masks import NO_END, token_graph
from constrain.strides import strides
from constrain.zones import Walker

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from constrain.actions import Actions
    from constrain.limits import Meter
    from constrain.machine import Machine
    from constrain.steps import Steps
    from constrain.strides import Strides
    from constrain.vocabulary import Vocabulary
    from constrain.zones import Moves

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
    strides : Strides | None
        Shorter ways through zones; None where no token passes two ticks.
    """

    to_end: NDArray[np.int32]
    to_pop: NDArray[np.int32]
    pace: NDArray[np.int32]
    pace_until: NDArray[np.int64]
    strides: Strides | None


def distances(
    machine: Machine,
    steps: Steps,
    actions: Actions,
    vocabulary: Vocabulary,
    meter: Meter,
) -> Distances:
    """Return the fewest tokens from each state to each of its ends.

    Tokens that go on after they closed the frame they started in are not used, so the numbers are
    bounds that can always be kept, whatever is below on the stack.
    """
    walker = Walker(machine, steps, actions, vocabulary)
    moves = walker.moves()
    passing = strides(walker, moves)
    search = _Search(walker, moves, passing, meter)
    search.run()
    while search.misled() or search.pace_grew():
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
        passing,
    )


class _Search:
    """Knuth's search over cells and goals; a goal is a label, or ``n_labels`` for accepting.

    A *key* is a cell times the number of goals plus a goal. All keys of one cost are settled
    together; only those with a part in frames below or in counts are looked at one by one.
    """

    def __init__(self, walker: Walker, moves: Moves, strides: Strides | None, meter: Meter) -> None:
        self.meter, self.strides = meter, strides
        machine, steps, actions = walker.machine, walker.steps, walker.actions
        self.machine, self.offset, self.n_labels = machine, steps.offset, machine.n_labels
        self.n_goals = machine.n_labels + 1
        self.waits = machine.waits_for.tolist()
        self.zone_of, self.moves = walker.groups, moves
        self.groups: list[int] = walker.groups.tolist()
        states, cells = token_graph(actions)
        outside = walker.groups[states] < 0
        self.outside = states[outside], cells[outside]
        targets = np.concatenate([cells, moves.target, moves.landing[moves.landing >= 0]])
        self.beneath = _beneath(machine, steps, distinct(targets).tolist())
        self.entered = _entered(machine, steps, self.groups)
        self.zone = np.full(steps.n_known, -1)  # of each cell; -2 where there are several
        for cell, groups in self.entered.items():
            self.zone[cell] = groups[0] if len(groups) == 1 else -2
        self.pace: dict[int, int] = {}
        self._connect(np.ones(len(moves.source), dtype=np.bool_))

    def _connect(self, fine: NDArray[np.bool_]) -> None:
        """Make the graph of all tokens outside of zones, and of those moves in them that are fine."""
        moves = self.moves
        still = fine & (moves.ticks == 0)
        ticking = fine & (moves.landing >= 0)
        source = np.concatenate([self.outside[0], moves.source[still], moves.source[ticking]])
        target = np.concatenate([self.outside[1], moves.target[still], moves.landing[ticking]])
        pairs = np.sort(target.astype(np.int64) * len(self.groups) + source)
        pairs = pairs[np.flatnonzero(np.diff(pairs, prepend=-1))]
        target, source = np.divmod(pairs, len(self.groups))
        into = (self.zone[target] != -1) & (self.zone[target] != self.zone_of[source])
        # Cell -> cells from where a token enters its zone, with the ticks passed.
        self.crossing: dict[int, list[tuple[int, int]]] = {}
        for cell, state in zip(target[into].tolist(), source[into].tolist(), strict=True):
            before = (state + self.offset, self.waits[state])
            self.crossing.setdefault(cell, []).append(before)
        target, source = target[~into], source[~into]
        self.source = source + self.offset
        self.starts = np.searchsorted(target, np.arange(len(self.zone) + 1))
        # Group -> pairs of cells that a tick leads to: within the zone, and if it is the last.
        self.ticking: dict[int, set[tuple[int, int]]] = {}
        for at in np.flatnonzero(ticking).tolist():
            pair = int(moves.target[at]), int(moves.landing[at])
            self.ticking.setdefault(self.groups[moves.source[at]], set()).add(pair)
        self.fine = fine
        self.special = np.zeros(len(self.zone), dtype=np.bool_)  # cells to be looked at one by one
        self.special[[cell for cell, _ in self.beneath]] = True
        self.special[list(self.crossing)] = True

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
            keys = distinct(keys[costs[keys] == _UNSETTLED])
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
        for source, passed in self.crossing.get(cell, ()):
            extra = self._missing(cell, passed)
            if extra is not None:
                self._push(value + 1 + extra, np.asarray([source * self.n_goals + goal]))
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
            group = self.groups[cell - self.offset]
            if group < 0:
                now.extend(self._close(cell, goal, cost, value))
            elif group in self.pace or self._measure(group):
                passing = self._passing(cell - self.offset, goal, cost, self.waits[group] - 1)
                now.extend(self._close(cell, goal, passing, value))
            else:
                self.deferred.append((cell, goal, cost))
        return [np.asarray(now)] if now else []

    def _passing(self, state: int, goal: int, cost: int, missing: int) -> int:
        """Return what it takes at most to close a frame if up to so many ticks are missing.

        ``cost`` is what it takes by the last tick.
        """
        pace = self.pace[self.groups[state]]
        pacing = cost + pace * missing
        way = None if self.strides is None else self.strides.most(state, missing)
        if way is None:
            return pacing
        hub, tokens, ticks = way
        beyond = int(self.cost[hub + self.offset, goal])
        if beyond == _UNSETTLED:
            return pacing
        return min(pacing, max(beyond + tokens, cost + pace * ticks))

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
        """Find the pace of a group, if after every tick the end is known to be that far at most."""
        pace = 0
        for cell, landing in self.ticking.get(group, ()):
            here, there = self.cost[cell, : self.n_labels], self.cost[landing, : self.n_labels]
            known = there != _UNSETTLED
            if (here[known] == _UNSETTLED).any():
                return False
            pace = max(pace, int((here[known] - there[known]).max(initial=0)), int(known.any()))
        if pace:
            self.pace[group] = max(pace, self.pace.get(group, 0))
        return pace > 0

    def misled(self) -> bool:
        """Leave out moves that lead to an end by the last tick, and to none by others.

        Return whether there are any, so that the search has to be made again.
        """
        ticking = np.flatnonzero(self.fine & (self.moves.landing >= 0))
        here = self.cost[self.moves.target[ticking], : self.n_labels] != _UNSETTLED
        there = self.cost[self.moves.landing[ticking], : self.n_labels] != _UNSETTLED
        wrong = ticking[(there & ~here).any(axis=1)]
        if len(wrong):
            fine = self.fine.copy()
            fine[wrong] = False
            self._connect(fine)
        return len(wrong) > 0

    def pace_grew(self) -> bool:
        """Measure again with everything settled; return whether some pace was underestimated.

        Or was not known when ways into its zone were looked for.
        """
        before = dict(self.pace)
        for group in self.ticking:
            self._measure(group)
        if (
            self.crossing
        ):  # ways into these zones were found with the paces known then, or not at all
            entered = {group for groups in self.entered.values() for group in groups}
            before |= {group: self.used.get(group, 0) for group in entered}
        return any(self.pace.get(group, 0) > pace for group, pace in before.items())


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
            under = steps.cell(stack[:-1], back)
            found.setdefault((steps.offset + state, label), []).append((cell, under))
            if under not in seen:
                seen.add(under)
                queue.append(under)
    return found
