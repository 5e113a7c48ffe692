"""Budgets: of the tokens that a mask allows, those that leave enough to finish the text.

With ``left`` tokens to go, a token may be taken if what comes after it needs at most ``left - 1``,
the end-of-sequence token included. The table knows the need of every configuration
(``runner.need``), and from each one some allowed token lowers it, so a run that starts within its
budget always ends within it.

Far from the end nothing has to be looked at: if even the worst configuration that one token can
lead to fits, the row stands as it is. Near the end every allowed token is followed to where it
leads, all tokens at once, byte by byte: tokens sorted by length, longest first, so that those still
going are a prefix of the array. Where they lead is kept by state.

With frames a token may open frames and close some. What it does inside the frame it starts in does
not depend on the stack, so that is walked once, on an empty stack, and the few distinct outcomes
are put on top of the real stack afterwards; only tokens that go on after closing the frame are
walked one by one. Counts are walked relative to a number far below any bound, unless a bound is
near enough for a token to reach it.

Cost: the first time in a state near the end, a gather for each byte of the allowed tokens
(milliseconds if most of 128k tokens are); later, one comparison a token.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from constrain.tables.bitmask import pack, unpack
from constrain.tables.format import DEAD, NO_END
from constrain.tables.framed import FramedRunner, Opened
from constrain.tables.plain import view
from constrain.tables.products import Products, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from constrain.tables.framed import Config
    from constrain.tables.plain import Row
    from constrain.tables.products import Runner

KEPT = 256  # states whose outcomes one table keeps
MET = 1 << 14  # configurations that one table keeps
_FAR = 1 << 50  # more ticks than any count reaches


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Where the tokens of a row lead.

    Attributes
    ----------
    of_token : uint16 or int32 [V]
        The outcome of each token; 0 for those that are not in the row.
    configs : list
        The configuration of each outcome (with frames: on an empty stack); that of 0 is None.
    """

    of_token: NDArray[Any]
    configs: list[Any]


class Budgets:
    """The budgeted rows of one table, for all its runs."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.table = runner.table
        self._kept: dict[Any, Outcomes] = {}
        self._products = Products(runner)
        self._lock = Lock()

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The tokens, longest first; made when a budget first runs short."""
        return Vocabulary(self.table)

    @cached_property
    def most(self) -> int:
        """The most tokens that any state needs (with frames: within its frame)."""
        if isinstance(self.runner, FramedRunner):
            return self.runner.most
        return int(self.table.tokens_to_end.max())

    @cached_property
    def opening(self) -> int:
        """The most frames that one token could open."""
        opens = np.logical_or.reduce(self.table.trans < DEAD, axis=0)
        before = np.concatenate([[0], np.cumsum(opens[self.table.token_bytes])])
        offsets = self.table.token_offsets
        return int((before[offsets[1:]] - before[offsets[:-1]]).max(initial=0))

    @property
    def ends(self) -> int:
        """How many tokens the end itself takes: 1, or 0 if there is no end-of-sequence token."""
        return min(len(self.table.eos), 1)

    def row(self, config: Any, left: int) -> Row:
        """Return the row of a configuration, with only tokens that leave enough of ``left``."""
        row: Row = self.runner.row(config)
        limit = left - 1 - self.ends
        if self._worst(config) <= limit:
            return row
        allowed = unpack(row[0], self.table.n_tokens)
        kept = np.zeros(self.table.n_tokens, dtype=np.bool_)
        kept[self.table.eos] = allowed[self.table.eos]
        if isinstance(self.runner, FramedRunner):
            self._keep_framed(self.runner, config, limit, allowed, kept)
        else:
            self._mark(kept, self._outcomes(config, config), self.runner.need, limit)
        return view(pack(kept))

    def _mark(
        self,
        kept: NDArray[np.bool_],
        found: Outcomes,
        need: Callable[[Any], int],
        limit: int,
    ) -> None:
        """Set ``kept`` for the tokens whose outcome needs at most ``limit``."""
        fits = [config is not None and need(config) <= limit for config in found.configs]
        kept |= np.array(fits, dtype=np.bool_)[found.of_token]

    def _worst(self, config: Any) -> int:
        """Return the most that any configuration one token away can need."""
        if not isinstance(self.runner, FramedRunner):
            return self.most
        top: Opened | None = config[2]
        if top is not None and top.needs is None:
            self.runner.settle(top)
        return (self.most if top is None else top.worst) + self.opening * self.most

    def _outcomes(self, key: Any, start: Any) -> Outcomes:
        """Return where the tokens of a state's own row lead, on an empty stack.

        A token that ends where it closes the frame leads to state ``-2 - label``.
        """
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                ids = self.vocabulary.ids(self.runner.rows[self.runner.state_of(start)])
                at = self._products.walk(start, self.vocabulary.levels(ids), len(ids))
                met = np.zeros(len(self._products.configs), dtype=np.bool_)
                met[at] = True
                numbers = np.flatnonzero(met)  # np.unique would sort, and import numpy.ma
                size = np.uint16 if len(numbers) < np.iinfo(np.uint16).max else np.int32
                place = np.cumsum(met, dtype=size)  # of a number among those met, from 1
                of_token = np.zeros(self.table.n_tokens, dtype=size)
                of_token[ids] = place[at]
                configs = [self._products.configs[number] for number in numbers.tolist()]
                found = self._keep(key, Outcomes(of_token, [None, *configs]))
        return found

    def _keep(self, key: Any, outcomes: Outcomes) -> Outcomes:
        if len(self._kept) >= KEPT:
            self._kept = {}
        if len(self._products.configs) >= MET:
            self._products = Products(self.runner)
        self._kept[key] = outcomes
        return outcomes

    def _keep_framed(
        self,
        runner: FramedRunner,
        config: Config,
        limit: int,
        allowed: NDArray[np.bool_],
        kept: NDArray[np.bool_],
    ) -> None:
        """Mark in ``kept`` the allowed tokens after which the need is within the limit."""
        state, count, top = config
        near = self._near(count)
        base = count if near else -_FAR
        found = self._outcomes((state, base), (state, base, None))
        shift = count - base

        def need(outcome: Config) -> int:
            return self._need_on(runner, outcome, top, shift)

        self._mark(kept, found, need, limit)
        allowed[found.of_token > 0] = False
        allowed[self.table.eos] = False
        for token_id in np.flatnonzero(allowed).tolist():
            after = runner.step(config, token_id, NO_END)
            kept[token_id] = runner.need(after) <= limit

    def _near(self, count: int) -> bool:
        """Return whether a token could bring the count to where its state changes."""
        frames = self.table.frames
        assert frames is not None
        bounds = frames.escape_at[frames.escape >= 0]
        return bool(((bounds > count) & (bounds <= count + self.vocabulary.longest)).any())

    def _need_on(self, runner: FramedRunner, config: Config, top: Opened | None, shift: int) -> int:
        """Return the need of an outcome put on top of a stack, its own count shifted."""
        state, count, opened = config
        if state < 0:
            return NO_END if top is None else (top.needs or runner.settle(top))[-2 - state]
        if opened is None:
            return runner.need((state, count + shift, top))
        stack = []
        while opened is not None:
            stack.append(opened)
            opened = opened.parent
        shifts = [shift] + [0] * (len(stack) - 1)
        for each, more in zip(reversed(stack), shifts, strict=True):
            top = Opened(top, each.site, each.count + more)
        return runner.need((state, count, top))
