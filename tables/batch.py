"""Several runs at once, as a server steps them: one row of bits a run, one token a run and step.

A row holds a run, over any table, or None, which is a free row: all ones, whatever it samples.
State belongs to the run and not to the number of its row: rows may be added, removed and put in
another order between steps.

Rows whose text has ended allow the end-of-sequence tokens only, and take whatever token comes
without changing: hosts go on sampling finished rows until the batch ends, and throw the tokens
away. (A single ``Constraint`` is stricter: it allows nothing after the end.)

All or nothing: ``advance`` moves every row, or, if one token is refused, none.

Cost: if all runs are over one plain table without a budget, filling is one gather, and two tenths
of a microsecond a row to find what to gather; else half a microsecond a row and a copy of each. For
128k tokens neither takes longer than copying as many rows; for 8k tokens five and ten times as
long.
"""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from constrain.tables.bitmask import buffer_of, put
from constrain.tables.constraint import CONFIG, DONE, Constraint
from constrain.tables.errors import ConstrainError, TokenRefused

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from constrain.tables.constraint import HasTable
    from constrain.tables.format import Table

    Source: TypeAlias = "Constraint | Table | HasTable | None"


def end_row(table: Table) -> NDArray[np.int32]:
    """Return the packed row that allows the end-of-sequence tokens only: int32 [W]."""
    row: NDArray[np.int32] | None = table.memo.get("end_row")
    if row is None:
        row = np.zeros(table.n_words, dtype=np.int32)
        bits = np.left_shift(np.uint32(1), (table.eos & 31).astype(np.uint32))
        np.bitwise_or.at(row.view(np.uint32), table.eos >> 5, bits)
        row.flags.writeable = False
        table.memo["end_row"] = row
    return row


class ConstraintBatch:
    """Runs side by side.

    Parameters
    ----------
    rows : iterable of Constraint, Table, object with a table, or None
        A run stands as it is, a table starts one, None is a free row. One table may stand in many
        rows.

    Attributes
    ----------
    runs : list of (Constraint or None)
        The run of each row; a plain list, to be changed at will between steps.

    Examples
    --------
    >>> from constrain import TokenIndex, regex_to_dfa
    >>> index = TokenIndex(regex_to_dfa("ab"), [b"a", b"b", None], eos_id=2)
    >>> batch = ConstraintBatch([index, None])
    >>> batch.fill().tolist()
    [[1], [-1]]
    >>> batch.advance([0, 1])
    >>> batch.fill().tolist()
    [[2], [-1]]
    """

    def __init__(self, rows: Iterable[Source] = ()) -> None:
        self.runs: list[Constraint | None] = []
        self._seen: list[Constraint | None] = []  # the runs that the following is about
        self._live: list[Constraint] = []
        self._places: NDArray[np.intp] = np.zeros(0, dtype=np.intp)  # the rows of these
        self._free: list[int] = []
        self._words = 0
        self._even = False  # no row is free, and all are equally wide
        self._plain: Table | None = None  # the table of all runs, if one gather does
        for source in rows:
            self.add(source)

    def __repr__(self) -> str:
        """Return the number of rows in one line."""
        free = self.runs.count(None)
        return f"<ConstraintBatch: rows: {len(self.runs):,}, free: {free:,}>"

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.runs)

    def add(self, source: Source) -> Constraint | None:
        """Add a row at the end and return its run, which stays valid wherever its row goes."""
        if source is not None and not isinstance(source, Constraint):
            source = Constraint(source)
        self.runs.append(source)
        return source

    @property
    def done(self) -> NDArray[np.bool_]:
        """Which rows have ended: bool [B]; free rows never do."""
        return np.array([run is not None and run.done for run in self.runs], dtype=np.bool_)

    def fill(self, out: Any = None) -> NDArray[np.int32]:
        """Write the packed masks of all rows.

        Parameters
        ----------
        out : int32 [at least B, words], optional
            A NumPy array or a torch tensor on the CPU; by default a new array just large enough.
            Rows after the last run become all ones. In rows with a run, words past those of its
            table become 0.

        Returns
        -------
        int32 [B or more, words]
            ``out`` as a NumPy array that shares its memory.

        Raises
        ------
        ValueError
            If the buffer is not int32, or too small.
        """
        if self.runs != self._seen:
            self._look()
        if out is None:
            out = np.empty((len(self.runs), self._words), dtype=np.int32)
        buffer = buffer_of(out, len(self.runs), self._words)
        self._fill(buffer)
        return buffer

    def _fill(self, buffer: NDArray[np.int32]) -> None:
        n_rows = len(self.runs)
        buffer[n_rows:] = -1
        if self._plain is not None:
            self._gather(buffer[:n_rows], self._plain)
            return
        rows = [end_row(run.table) if run.done else run.bitmask() for run in self._live]
        if rows and self._even and buffer.flags.c_contiguous and buffer.shape[1] == len(rows[0]):
            np.concatenate(rows, out=buffer[:n_rows].reshape(-1))
            return
        buffer[self._free] = -1
        for row, words in zip(self._places.tolist(), rows, strict=True):
            put(buffer, row, words)

    def _look(self) -> None:
        """Sort the rows: which are free, and whether one gather does for all others."""
        self._seen = self.runs.copy()
        self._live = [run for run in self.runs if run is not None]
        self._places = np.flatnonzero([run is not None for run in self.runs])
        self._free = [row for row, run in enumerate(self.runs) if run is None]
        widths = {run.table.n_words for run in self._live}
        self._words = max(widths, default=0)
        self._even = not self._free and len(widths) == 1
        first = self._live[0].table if self._live else None
        simple = all(run.table is first and run.budget is None for run in self._live)
        self._plain = first if first is not None and first.is_plain and simple else None

    def _gather(self, buffer: NDArray[np.int32], table: Table) -> None:
        """Write the rows of runs over one plain table."""
        states = np.fromiter(map(CONFIG, self._live), dtype=np.intp, count=len(self._live))
        numbers = np.zeros(len(buffer), dtype=np.intp)
        numbers[self._places] = table.mask_row[states]
        np.take(table.masks, numbers, axis=0, out=buffer[:, : table.n_words], mode="clip")
        buffer[:, table.n_words :] = 0
        if self._free:
            buffer[self._free] = -1
        if any(map(DONE, self._live)):
            for row in self._places[list(map(DONE, self._live))].tolist():
                put(buffer, row, end_row(table))

    def advance(self, tokens: Iterable[int]) -> None:
        """Take one token a row; free and ended rows take any.

        Parameters
        ----------
        tokens : iterable of int, length B
            A list, a NumPy array or a torch tensor.

        Raises
        ------
        TokenRefused
            If a row's mask does not allow its token; no row has moved then.
        StackLimitError
            Likewise.
        ValueError
            If there are not as many tokens as rows.
        """
        given = [index(token_id) for token_id in tokens]
        if len(given) != len(self.runs):
            raise ConstrainError(f"{len(given)} tokens for {len(self.runs)} rows")
        moved: list[Constraint] = []
        try:
            for row, (run, token_id) in enumerate(zip(self.runs, given, strict=True)):
                if run is not None and not run.done:
                    _advance(run, token_id, row)
                    moved.append(run)
        except BaseException:
            for run in moved:
                run.rollback(1)
            raise


def _advance(run: Constraint, token_id: int, row: int) -> None:
    try:
        run.advance(token_id)
    except TokenRefused as error:
        raise TokenRefused(
            f"row {row}: {error}", token_id=error.token_id, state=error.state
        ) from None
