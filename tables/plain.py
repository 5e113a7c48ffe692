"""Runs over a plain table: a configuration is a state, and everything is a look-up.

A *runner* holds what all runs over one table share: the arrays in the form that Python reads
fastest (memory views of plain integers; a NumPy scalar costs several times as much), and the rows
handed out so far. ``Constraint`` keeps the configuration and the history, a runner only answers:

    row(c)              the packed mask, and a view of it for single bits
    step(c, token)      the configuration after a token of the mask
    read(c, byte)       the configuration after one byte, None if dead
    complete(c)         whether the text may end
    need(c)             fewest tokens to an end, or a bound on it that can be kept

``framed`` has the same five for tables with frames. Runners are shared by threads: all that changes
is caches, whose entries are complete before they are stored.

Cost: ``row`` is one dictionary look-up, ``step`` one look-up a byte.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from constrain.tables.errors import TableError
from constrain.tables.format import DEAD

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    from constrain.tables.format import Table

    Row: TypeAlias = tuple[NDArray[np.int32], memoryview]


class Rows(dict[int, "Row"]):
    """State -> its row in ``masks`` as a read-only view, made when first asked for."""

    def __init__(self, table: Table) -> None:
        super().__init__()
        self._table = table

    def __missing__(self, state: int) -> Row:
        """Make and keep the views of a row."""
        row = self[state] = view(self._table.masks[self._table.mask_row[state]])
        return row


class OnlyBytes(dict[int, int]):
    """State -> the one byte that may come next, or -1 if there is none or more than one."""

    def __init__(self, table: Table) -> None:
        super().__init__()
        self._trans = table.trans

    def __missing__(self, state: int) -> int:
        """Look through the transitions of a state, and keep the answer."""
        ways = np.flatnonzero(self._trans[state] != DEAD)
        only = self[state] = int(ways[0]) if len(ways) == 1 else -1
        return only


def view(row: NDArray[np.int32]) -> Row:
    """Return a row for reading only, and a memory view of its words."""
    shared = row.view()
    shared.flags.writeable = False
    return shared, shared.data


def damaged(token_id: int, state: int) -> TableError:
    """Return the error for a mask that allows what the transitions do not."""
    return TableError(
        f"the table is damaged: the mask of state {state} allows token {token_id}, but its bytes"
        " lead nowhere; `constrain verify` checks a whole file",
        key="masks",
    )


class PlainRunner:
    """What the runs over one plain table share.

    Attributes
    ----------
    table : Table
    start : int
        The first configuration: state 0.
    row : callable
        ``row(state)``.
    nothing : tuple
        The row that allows no token.
    """

    start = 0

    def __init__(self, table: Table) -> None:
        self.table = table
        self.rows = Rows(table)
        self.row = self.rows.__getitem__
        self.nothing = view(np.zeros(table.n_words, dtype=np.int32))
        self.only_byte = OnlyBytes(table)
        self._trans = table.trans.reshape(-1).data
        self._accept = table.accept.tobytes()
        self._offsets = table.token_offsets.data
        self._to_end = table.tokens_to_end.data

    @cached_property
    def _tokens(self) -> bytes:
        """The bytes of all tokens, copied for the first step: these are the fastest to read."""
        return self.table.token_bytes.tobytes()

    def step(self, state: int, token_id: int, max_depth: int) -> int:
        """Return the state after a token that the row allows."""
        trans = self._trans
        target = state
        for byte in self._tokens[self._offsets[token_id] : self._offsets[token_id + 1]]:
            target = trans[target << 8 | byte]
            if target < 0:
                raise damaged(token_id, state)
        return target

    def read(self, state: int, byte: int) -> int | None:
        """Return the state after a byte, or None."""
        target = self._trans[state << 8 | byte]
        return None if target == DEAD else int(target)

    def complete(self, state: int) -> bool:
        """Return whether the text may end here."""
        return self._accept[state] != 0

    def state_of(self, state: int) -> int:
        """Return the state of a configuration."""
        return state

    def need(self, state: int) -> int:
        """Return the fewest tokens to an accepting state; ``NO_END`` if none do."""
        return int(self._to_end[state])
