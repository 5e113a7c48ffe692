"""A run: one text in the making, held to a table.

``Constraint`` keeps where the text stands and where it stood after every token, and asks a runner
(plain or with frames, shared by all runs over the table) what is allowed and where a token leads.

* ``mask`` and its packed forms say which tokens may come next. Asking changes nothing.
* ``advance`` takes one of them. Any other is refused with an error, and a refused call changes
  nothing.
* After an end-of-sequence token the run is ``done``: no token is allowed any more, masks are all
  false.
* ``rollback`` undoes any number of tokens, ``fork`` makes a second run with the same past.
* With a ``budget`` of n tokens, the end-of-sequence token included, only those are allowed after
  which the text can still be finished within the n. So every run that keeps to its masks ends in
  time.

>>> from constrain import TokenIndex, regex_to_dfa
>>> index = TokenIndex(regex_to_dfa("ab+"), [b"a", b"b", b"bb", b"ba", None], eos_id=4)
>>> run = Constraint(index, budget=3)
>>> run.mask().nonzero()[0].tolist()
[0]
>>> run.advance(0)
>>> run.mask().nonzero()[0].tolist(), run.is_complete()
([1, 2], False)
>>> run.advance(2)
>>> run.mask().nonzero()[0].tolist()  # the budget leaves room for the end only
[4]
>>> run.advance(4)
>>> run.done, run.mask().any()
(True, np.False_)

Doesn't do: sample, or serve several texts at once (``batch``). A run belongs to one thread at a
time; the table may be shared by all.
"""

from __future__ import annotations

from operator import attrgetter, index
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex

import numpy as np

from constrain.tables.bitmask import buffer_of, put, unpack
from constrain.tables.budget import Budgets
from constrain.tables.errors import BudgetError, ConstrainError, StackLimitError, TokenRefused
from constrain.tables.format import NO_END, Table
from constrain.tables.framed import FramedRunner
from constrain.tables.plain import PlainRunner

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from constrain.tables.plain import Row

MAX_DEPTH = 100_000
"""How many frames may be open in one text, unless a run says otherwise."""

MAX_FORCED = 1 << 16  # bytes that forced_bytes looks ahead; counted frames may force more

CONFIG = attrgetter("_config")
"""The configuration of a run, and..."""
DONE = attrgetter("_done")
"""... whether it has ended: for batches, which ask many runs."""


class HasTable(Protocol):
    """Something that has a table, such as ``TokenIndex``."""

    @property
    def table(self) -> Table:
        """The table."""
        ...


_sharing = Lock()


def shared(table: Table) -> tuple[PlainRunner | FramedRunner, Budgets]:
    """Return what all runs over a table share, made for the first of them."""
    with _sharing:
        found = table.memo.get("run")
        if found is None:
            frames = table.frames
            runner = PlainRunner(table) if frames is None else FramedRunner(table, frames)
            found = table.memo["run"] = runner, Budgets(runner)
    return found


class Constraint:
    """One text in the making, held to a table.

    Parameters
    ----------
    source : Table or object with a table
        A loaded or compiled table, or a ``TokenIndex``.
    budget : int | None
        The most tokens the text may take, the end-of-sequence token included.
    max_depth : int
        The most frames that may be open at once (tables with frames only).

    Raises
    ------
    BudgetError
        If no text is known to fit into the budget; it names the least that would do. With frames
        there may be a shorter text, since tokens that close a frame and go on are left out of the
        reckoning.
    """

    __slots__ = (
        "_budgets", "_config", "_done", "_eos", "_held", "_n_tokens", "_past", "_runner",
        "_step", "budget", "max_depth", "table",
    )  # fmt: skip

    def __init__(
        self, source: Table | HasTable, *, budget: int | None = None, max_depth: int = MAX_DEPTH
    ) -> None:
        table = source if isinstance(source, Table) else source.table
        self.table = table
        self.budget = None if budget is None else index(budget)
        self.max_depth = max_depth
        self._runner, self._budgets = shared(table)
        self._step: Any = self._runner.step
        self._eos = frozenset(table.eos.tolist())
        self._n_tokens = table.n_tokens
        self._config: Any = self._runner.start
        self._past: list[Any] = []
        self._done = False
        self._held: Row | None = None  # the row of this moment, once it was looked up
        if self.budget is not None:
            self._require(self.budget)

    def __repr__(self) -> str:
        """Return where the run stands, in one line."""
        place = "at its end" if self._done else f"in state {self.state:,}"
        may_end = ", may end" if not self._done and self.is_complete() else ""
        budget = "" if self.budget is None else f" of {self.budget:,}"
        taken = f"tokens taken: {len(self._past):,}{budget}"
        return f"<Constraint {place}{may_end}, {taken}, on {self.table!r}>"

    def _require(self, budget: int) -> None:
        """Raise ``BudgetError`` if the whole text cannot fit."""
        need = self._runner.need(self._config)
        needed = need + self._budgets.ends
        if need == NO_END:
            raise BudgetError(
                "no end is known to be reachable by tokens", budget=budget, needed=needed
            )
        if needed > budget:
            known = "" if self.table.is_plain else " that is known"
            raise BudgetError(
                f"the shortest text{known} takes {needed} tokens, the end included; given are"
                f" {budget}",
                budget=budget,
                needed=needed,
            )

    # What may come next.

    def _row(self) -> Row:
        """Return the row of this moment, which is looked up once."""
        row = self._held
        if row is None:
            if self.budget is None:
                row = self._runner.row(self._config)
            else:
                row = self._budgets.row(self._config, self.budget - len(self._past))
            self._held = row
        return row

    def mask(self) -> NDArray[np.bool_]:
        """Return which tokens may come next: bool [V], a fresh array."""
        return unpack(self._row()[0], self._n_tokens)

    def bitmask(self) -> NDArray[np.int32]:
        """Return the packed mask: int32 [ceil(V / 32)], read-only.

        Bit ``t % 32`` of word ``t // 32`` is token t. In a plain table this is the row of the file
        itself, no copy.
        """
        return self._row()[0]

    def fill_bitmask(self, out: Any, row: int) -> None:
        """Write the packed mask into one row of a buffer.

        Parameters
        ----------
        out : int32 [B, words]
            A NumPy array or a torch tensor on the CPU. Words past those of the table become 0: ids
            that the table does not know are not allowed.
        row : int

        Raises
        ------
        ValueError
            If the buffer is not int32, its rows are too short, or it has no such row.
        """
        if row < 0:
            raise ValueError(f"there is no row {row}; rows count from 0")
        words = self._row()[0]
        put(buffer_of(out, row + 1, len(words)), row, words)

    def allowed(self, token_id: SupportsIndex) -> bool:
        """Return whether a token may come next; False for ids outside the vocabulary."""
        number = index(token_id)
        if not 0 <= number < self._n_tokens:
            return False
        return self._row()[1][number >> 5] >> (number & 31) & 1 == 1

    def is_complete(self) -> bool:
        """Return whether the text could end here (or has ended)."""
        return self._runner.complete(self._config)

    @property
    def done(self) -> bool:
        """Whether the text has ended: an end-of-sequence token was taken."""
        return self._done

    @property
    def state(self) -> int:
        """The state of the automaton (with frames: of the innermost open one)."""
        return self._runner.state_of(self._config)

    @property
    def left(self) -> int | None:
        """The tokens left of the budget; None without one."""
        return None if self.budget is None else self.budget - len(self._past)

    # Going on and back.

    def advance(self, token_id: SupportsIndex) -> None:
        """Take a token.

        Raises
        ------
        TokenRefused
            If the mask does not allow it; the run stays as it was.
        StackLimitError
            If it would open more than ``max_depth`` frames; the run stays as it was.
        """
        number = index(token_id)
        words = self._row()[1]
        if not 0 <= number < self._n_tokens or not words[number >> 5] >> (number & 31) & 1:
            raise self._refusal(number)
        config = self._config
        if number in self._eos:
            self._done = True
            self._held = self._runner.nothing
        else:
            self._config = self._step(config, number, self.max_depth)
            self._held = None
        self._past.append(config)

    def validate(self, tokens: Iterable[SupportsIndex]) -> int:
        """Return how many of the tokens, taken one after the other, are allowed; change nothing."""
        trial = self.fork()
        count = 0
        for token_id in tokens:
            if not trial.allowed(token_id):
                break
            try:
                trial.advance(token_id)
            except StackLimitError:
                break
            count += 1
        return count

    def rollback(self, n: int) -> None:
        """Undo the last n tokens.

        Raises
        ------
        ValueError
            If n is negative or more than were taken.
        """
        if not 0 <= n <= len(self._past):
            raise ConstrainError(f"cannot roll back {n} tokens: {len(self._past)} were taken")
        if n:
            self._config = self._past[-n]
            del self._past[-n:]
            self._done = False
            self._held = None

    def fork(self) -> Constraint:
        """Return a second run with the same past, which goes its own way from here."""
        twin = object.__new__(Constraint)
        for name in Constraint.__slots__:
            setattr(twin, name, getattr(self, name))
        twin._past = self._past.copy()
        return twin

    def reset(self) -> None:
        """Go back to the beginning."""
        self._config = self._runner.start
        self._past = []
        self._done = False
        self._held = None

    # What must come next.

    def forced_bytes(self) -> bytes:
        """Return the bytes that must come next, whatever is chosen; empty if there is a choice.

        Stops where the text could end, and after 65,536 bytes. This is about the language: a budget
        may leave less choice.
        """
        forced = bytearray()
        runner: Any = self._runner
        config = self._config
        while not self._done and len(forced) < MAX_FORCED and not runner.complete(config):
            byte = runner.only_byte[runner.state_of(config)]
            after = None if byte < 0 else runner.read(config, byte)
            if after is None or runner.state_of(after) < 0:
                break
            forced.append(byte)
            config = after
        return bytes(forced)

    def forced_tokens(self) -> list[int]:
        """Return tokens that encode the forced bytes, the longest that fit one after the other.

        It stops before a token that a longer one could still take the place of, since what comes
        after the forced bytes is not known yet.
        """
        forced = self.forced_bytes()
        taken: list[int] = []
        trial = self.fork()
        lengths = self._budgets.vocabulary.length
        while forced:
            ids = np.flatnonzero(trial.mask())
            spans = lengths[ids]
            if not len(ids) or spans.max() > len(forced) or trial.is_complete():
                break
            token_id = int(ids[spans.argmax()])
            try:
                trial.advance(token_id)
            except StackLimitError:
                break
            taken.append(token_id)
            forced = forced[int(spans.max()) :]
        return taken

    def _refusal(self, token_id: int) -> TokenRefused:
        """Return the error for a token outside the mask, with the reason."""
        why = self._why_not(token_id)
        return TokenRefused(
            f"token {token_id} is refused in state {self.state}: {why}",
            token_id=token_id,
            state=self.state,
        )

    def _why_not(self, token_id: int) -> str:
        token = self.table.token(token_id) if 0 <= token_id < self._n_tokens else b""
        if self._done:
            why = "the text has ended"
        elif not 0 <= token_id < self._n_tokens:
            why = f"ids go from 0 to {self._n_tokens - 1}"
        elif token_id in self._eos:
            why = "the text is not complete, it cannot end here"
        elif not token:
            why = "it is a special token, or stands for no text"
        elif (at := self._stops(token)) < len(token):
            why = f"of its bytes {token!r}, {token[at : at + 1]!r} at {at} cannot come here"
        elif self.budget is not None:
            why = f"after {token!r} the text could not be finished with {self.left} tokens left"
        else:
            why = f"{token!r} leads where the vocabulary cannot go on"
        return why

    def _stops(self, token: bytes) -> int:
        """Return how many of some bytes can come next."""
        runner: Any = self._runner
        config = self._config
        for at, byte in enumerate(token):
            config = runner.read(config, byte)
            if config is None or runner.state_of(config) < 0:
                return at
        return len(token)
