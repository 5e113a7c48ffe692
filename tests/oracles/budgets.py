"""Every configuration that tokens lead to in a small table, and how far its end is, by search."""

from __future__ import annotations

from typing import Any

import numpy as np

from constrain.tables.constraint import shared
from constrain.tables.format import NO_END
from constrain.tables.products import _key


class Reached:
    """All configurations of a table, each with where its tokens lead.

    ``needs`` is what the table says, ``distances`` what is true: the fewest tokens to an end.
    """

    def __init__(self, table: Any, most: int = 20_000) -> None:
        self.runner: Any = shared(table)[0]
        self.table = table
        self.configs = [self.runner.start]
        self.after: list[list[int]] = []
        numbers = {_key(self.runner.start): 0}
        for config in self.configs:
            self.after.append([])
            for token_id in self.allowed(config):
                following = self.runner.step(config, token_id, NO_END)
                number = numbers.setdefault(_key(following), len(self.configs))
                if number == len(self.configs):
                    self.configs.append(following)
                self.after[-1].append(number)
            assert len(self.configs) <= most
        self.needs = [self.runner.need(config) for config in self.configs]
        self.distances = self._search()

    def allowed(self, config: Any) -> list[int]:
        words = self.runner.row(config)[0]
        bits = np.unpackbits(words.view(np.uint8), bitorder="little")
        bits[self.table.eos] = 0
        return np.flatnonzero(bits).tolist()

    def _search(self) -> list[int]:
        before: list[list[int]] = [[] for _ in self.configs]
        for number, following in enumerate(self.after):
            for other in following:
                before[other].append(number)
        distances = [0 if self.runner.complete(config) else NO_END for config in self.configs]
        queue = [number for number, distance in enumerate(distances) if not distance]
        for number in queue:
            for other in before[number]:
                if distances[other] == NO_END:
                    distances[other] = distances[number] + 1
                    queue.append(other)
        return distances

    def check(self) -> None:
        """Some token lowers every need, so it can be kept, and is never less than what is true."""
        for number, need in enumerate(self.needs):
            if self.distances[number] == 0:
                assert need == 0
            elif need < NO_END:
                least = min(self.needs[other] for other in self.after[number])
                assert need > least, (self.configs[number], need, least)
