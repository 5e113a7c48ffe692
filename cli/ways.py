"""Ways through a table: where a text leads, a text that leads to a state, and one that ends it.

A *configuration* is what the run time calls one: a state, and with frames also a count and the
frames that are open. Everything here is a search over configurations, byte by byte, breadth first,
so texts are shortest ones; among the bytes that lead to one place the most readable is taken.

With frames there are unboundedly many configurations. A way to a *state* is looked for among one
configuration for each state and innermost call site; a way to an *end* gives up after ``PATIENCE``
configurations, and then takes the way of the fewest tokens, which the table knows.

States that the vocabulary cannot lead out of are never entered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from constrain.tables.constraint import shared
from constrain.tables.format import DEAD, NO_END

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from constrain.tables import Table

PATIENCE = 20_000  # configurations

_READABLE = np.array(
    sorted(
        range(256),
        key=lambda b: (
            not chr(b).isascii() or not chr(b).isalnum(),
            not 0x20 <= b < 0x7F,
            not chr(b).islower(),
            b,
        ),
    )
)


class Ways:
    """The ways through one table.

    Parameters
    ----------
    table : Table
    refs : sequence
        Documents that references of its schema lead to, where they are at hand.
    """

    def __init__(self, table: Table, refs: Sequence[Any] = ()) -> None:
        self.table = table
        self.refs = refs
        runner, self.budgets = shared(table)
        self.runner: Any = runner
        self._moves: dict[int, list[int]] = {}
        self._texts: dict[int, bytes] = {}
        self._onward = self._search(self.runner.start, _site_key)

    def follow(self, data: bytes, config: Any = None) -> tuple[Any, int]:
        """Return the configuration after the bytes that can be read, and how many those are."""
        config = self.runner.start if config is None else config
        for at, byte in enumerate(data):
            after = self._alive(config, byte)
            if after is None:
                return config, at
            config = after
        return config, len(data)

    def next_bytes(self, config: Any) -> list[int]:
        """Return the bytes that may come next."""
        return [byte for byte in range(256) if self._alive(config, byte) is not None]

    def _alive(self, config: Any, byte: int) -> Any:
        after = self.runner.read(config, byte)
        if after is None or self.runner.state_of(after) < 0 or self.runner.need(after) >= NO_END:
            return None
        return after

    def completion(self, config: Any = None) -> bytes:
        """Return a shortest text that completes a configuration."""
        config = self.runner.start if config is None else config
        for found, text in self._search(config, full_key):
            if self.runner.complete(found):
                return text
        return self._by_tokens(config)

    def text_to(self, state: int) -> bytes | None:
        """Return a shortest text that leads to a state; None if none was found."""
        while state not in self._texts:
            config, text = next(self._onward, (None, b""))
            if config is None:
                return None
            self._texts.setdefault(self.runner.state_of(config), text)
        return self._texts[state]

    def _search(self, start: Any, key: Callable[[Any], Hashable]) -> Iterator[tuple[Any, bytes]]:
        """Yield configurations and texts that lead to them, shortest first, one for each key."""
        queue = [(start, b"")]
        seen = {key(start)}
        for config, text in queue:
            yield config, text
            if not self.table.is_plain and len(queue) > PATIENCE:
                return
            for byte in self._distinct(self.runner.state_of(config)):
                after = self._alive(config, byte)
                if after is not None and (name := key(after)) not in seen:
                    seen.add(name)
                    queue.append((after, text + bytes((byte,))))

    def _distinct(self, state: int) -> list[int]:
        """Return one byte, the most readable, for each place that bytes lead to."""
        found = self._moves.get(state)
        if found is None:
            row = self.table.trans[state][_READABLE]
            targets, first = np.unique(row, return_index=True)
            found = self._moves[state] = _READABLE[np.sort(first[targets != DEAD])].tolist()
        return found

    def _by_tokens(self, config: Any) -> bytes:
        """Return the text of the fewest tokens to an end, each the shortest that leads nearer."""
        text = b""
        while (need := self.runner.need(config)) and need < NO_END:
            row = self.budgets.row(config, need + self.budgets.ends)
            token_id = int(self.budgets.vocabulary.ids(row)[-1])
            text += self.table.token(token_id)
            config = self.runner.step(config, token_id, NO_END)
        return text


def full_key(config: Any) -> Hashable:
    """Return what tells configurations apart: the state, and with frames the whole stack."""
    if isinstance(config, int):
        return config
    state, n_ticks, top = config
    key = [state, n_ticks]
    while top is not None:
        key += (top.site, top.count)
        top = top.parent
    return tuple(key)


def _site_key(config: Any) -> Hashable:
    """Return the state and the innermost call site of a configuration."""
    if isinstance(config, int):
        return config
    return config[0], -1 if config[2] is None else config[2].site
