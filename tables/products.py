"""Walking all tokens side by side from one configuration: what verification and budgets rest on.

Configurations that are met are numbered, and where each byte leads a number is looked up in a table
that grows as needed; only steps that are new are taken by the byte machine. Tokens are walked level
by level, longest first, so that those still going are the beginning of the array.

A walk on an empty stack shows what tokens do within the frame they start in; what is met is good for
walks from other states as well, which mostly go the same ways.

Cost: a gather a level, and one step of the byte machine for each pair (configuration, byte) that is
new.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from constrain.tables.bitmask import unpack

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    from constrain.tables.format import Table
    from constrain.tables.framed import FramedRunner
    from constrain.tables.plain import PlainRunner, Row

    Runner: TypeAlias = PlainRunner | FramedRunner

_FEW = 1000


class Vocabulary:
    """The tokens of a table, longest first, to be walked side by side.

    Attributes
    ----------
    length : int64 [V]
        The length of each token.
    order : intp [V]
        The token ids, longest first.
    longest : int
        The length of the longest token.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self.length = np.diff(table.token_offsets)
        self.order = np.argsort(-self.length, kind="stable")
        self.longest = int(self.length.max(initial=0))

    def ids(self, row: Row) -> NDArray[np.intp]:
        """Return the ids in a row, longest first, without those that end the text."""
        allowed = unpack(row[0], self.table.n_tokens)
        allowed[self.table.eos] = False
        return self.order[allowed[self.order]]

    def levels(self, ids: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        """Return the first, the second, ... bytes of tokens that come longest first."""
        starts = self.table.token_offsets[ids]
        counts = np.searchsorted(-self.length[ids], -np.arange(self.longest), side="left")
        return [
            self.table.token_bytes[starts[:n] + at].astype(np.intp)
            for at, n in enumerate(counts.tolist())
            if n
        ]


class Products:
    """Configurations, numbered, and where each byte leads them.

    Attributes
    ----------
    configs : list
        The configuration of each number; number 0 is dead, and its configuration None.
    """

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._numbers: dict[Any, int] = {}
        self.configs: list[Any] = [None]
        self._table = np.full((16, 256), -1, dtype=np.int32)
        self._table[0] = 0

    def walk(self, start: Any, levels: list[NDArray[np.intp]], n_tokens: int) -> NDArray[np.int32]:
        """Return the number of the configuration that each token leads to.

        Parameters
        ----------
        start : configuration
        levels : list of intp [n]
            The bytes of the tokens, from ``Vocabulary.levels``.
        n_tokens : int
        """
        at = np.full(n_tokens, self._number(start), dtype=np.int32)
        for column in levels:
            at[: len(column)] = self._step(at[: len(column)], column)
        return at

    def _step(self, at: NDArray[np.int32], column: NDArray[np.intp]) -> NDArray[np.int32]:
        """Return the numbers after one byte each."""
        keys = at.astype(np.intp) * 256 + column
        found: NDArray[np.int32] = self._table.reshape(-1)[keys]
        new = keys[found < 0]
        if not len(new):
            return found
        for key in _distinct(new, self._table.size):
            config = self.configs[key >> 8]
            after = self._runner.read(config, key & 255)
            number = 0 if after is None else self._number(after)
            self._table[key >> 8, key & 255] = number
        reached: NDArray[np.int32] = self._table.reshape(-1)[keys]
        return reached

    def _number(self, config: Any) -> int:
        number = self._numbers.setdefault(_key(config), len(self.configs))
        if number == len(self.configs):
            self.configs.append(config)
            if number == len(self._table):
                self._table = np.concatenate([self._table, np.full_like(self._table, -1)])
            if self._runner.state_of(config) < 0:  # closed its frame: the walk ends here
                self._table[number] = 0
        return number


def _distinct(keys: NDArray[np.intp], n: int) -> list[int]:
    """Return the distinct keys, all below n (np.unique would sort, and import numpy.ma)."""
    if len(keys) < _FEW:
        return list(set(keys.tolist()))
    met = np.zeros(n, dtype=np.bool_)
    met[keys] = True
    return np.flatnonzero(met).tolist()


def _key(config: Any) -> Any:
    """Return what makes configurations equal; states of a plain table are their own keys."""
    if isinstance(config, int):
        return config
    state, count, top = config
    key: list[int] = [state, count]
    while top is not None:
        key += (top.site, top.count)
        top = top.parent
    return tuple(key)
