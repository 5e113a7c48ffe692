"""A configuration for every state of a table with frames, such that some text leads to it.

Breadth first from the start, byte by byte, one configuration for each state, count and call site on
top. What a frame may hold depends on its call site alone, so it is walked once for each, in the
stack that was met first; and as soon as it is found that it can close with a label, all who have
called it go on behind it, each in its own stack.

States with a pop label are left at once and have no configuration. The walk stops when every other
state is met, or after ``PATIENCE`` configurations: states that only a high count leads to may then
be missing.

Cost: some microseconds a configuration.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from constrain.tables.format import DEAD
from constrain.tables.framed import Opened

if TYPE_CHECKING:
    from constrain.tables.format import FrameArrays, Table
    from constrain.tables.framed import Config

PATIENCE = 200_000


def reached(table: Table, frames: FrameArrays) -> list[Config]:
    """Return a configuration for each state that some text was found to lead to."""
    wanted = table.n_states - int((frames.pop >= 0).sum())
    walk = _Walk(table, frames)
    found: dict[int, Config] = {}
    seen: set[tuple[int, int, int]] = set()
    for config in walk.queue:
        state, count, top = config
        key = state, count, -1 if top is None else top.site
        if key in seen:
            continue
        seen.add(key)
        found.setdefault(state, config)
        if len(found) == wanted or len(seen) > PATIENCE:
            break
        walk.go_on(config)
    return list(found.values())


class _Walk:
    """What is still to be looked at, and what is known of the frames.

    Attributes
    ----------
    queue : list[Config]
    callers : dict[int, list[Config]]
        Call site -> configurations that entered its frame.
    closes : dict[int, set[int]]
        Call site -> labels that its frame was found to close with.
    """

    def __init__(self, table: Table, frames: FrameArrays) -> None:
        self.table, self.frames = table, frames
        self.queue: list[Config] = [(0, 0, None)]
        self.callers: dict[int, list[Config]] = defaultdict(list)
        self.closes: dict[int, set[int]] = defaultdict(set)
        self._targets: dict[int, list[int]] = {}

    def go_on(self, config: Config) -> None:
        """Take every byte of a configuration."""
        for target in self._leads(config[0]):
            if target < DEAD:
                self._enter(config, -2 - target)
            else:
                self._arrive(config, target)

    def _leads(self, state: int) -> list[int]:
        """Return where the bytes of a state lead, dead ends left out, each once."""
        found = self._targets.get(state)
        if found is None:
            targets = np.unique(self.table.trans[state])
            found = self._targets[state] = targets[targets != DEAD].tolist()
        return found

    def _enter(self, config: Config, site: int) -> None:
        self.queue.append(
            (int(self.frames.call_target[site]), 0, Opened(config[2], site, config[1]))
        )
        self.callers[site].append(config)
        for label in self.closes[site]:
            self._leave(config, site, label)

    def _arrive(self, config: Config, state: int) -> None:
        _, count, top = config
        if self.frames.tick[state]:
            count += 1
            if count == self.frames.escape_at[state] and self.frames.escape[state] >= 0:
                state = int(self.frames.escape[state])
        label = int(self.frames.pop[state])
        if label < 0:
            self.queue.append((state, count, top))
        elif top is not None and label not in self.closes[top.site]:
            self.closes[top.site].add(label)
            for caller in self.callers[top.site]:
                self._leave(caller, top.site, label)

    def _leave(self, caller: Config, site: int, label: int) -> None:
        """Go on where a frame has closed, as one who called it."""
        back = int(self.frames.call_return[site, label])
        self.queue.append((back, caller[1], caller[2]))
