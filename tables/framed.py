"""Runs over a table with frames: a configuration is a state, a count and a stack of open frames.

The stack is a chain of immutable entries, each with its parent, so that runs share what they have
in common: a fork or a rollback copies nothing. The byte machine is the one that ``format`` spells
out.

Composed rows. A token that closes the frame it started in and goes on is allowed by what stands
below on the stack, so the mask of a configuration is the row of its state plus short lists along
the stack (``format``: residues, exit pairs). The lists reach down only as long as tokens go on
closing, so a composed row depends on the state and on the few topmost call sites: as many as any
row so far had to look at. Entries on top of equal call sites share a *context*, a dictionary from
states to rows; an entry finds its context when it is first asked for a row, and from then on a row
is one look-up. Rows with equal bits are one.

Invariant: a context is emptied and forgotten before more call sites matter than it knows of; what
is stored is complete before it can be found, so threads may read while one adds. When contexts and
rows take more than ``ROOM`` bytes, all are dropped and grow anew.

Tokens to the end. An entry knows, for each label its frame may close with, the tokens needed from
there on; with that the need of a configuration is a minimum over labels. All sums saturate at
NO_END.

Cost: the first time in a context some ten microseconds, afterwards a look-up; a step is a look-up
a byte.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from constrain.tables.errors import StackLimitError
from constrain.tables.format import DEAD, NO_END
from constrain.tables.plain import OnlyBytes, Rows, damaged, view

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from numpy.typing import NDArray

    from constrain.tables.format import FrameArrays, Table
    from constrain.tables.plain import Row

    Config: TypeAlias = "tuple[int, int, Opened | None]"
    Contexts: TypeAlias = "tuple[int, dict[tuple[int, ...], dict[int, Row]]]"
    """How many call sites contexts know, and the contexts by these."""

ROOM = 64 << 20  # bytes of composed rows and contexts that one table keeps
_CONTEXT = 512  # bytes of a context without its call sites and rows
_ENTRY = 128  # bytes of a row's place in it
_TICKS, _CLOSES = 1, 2  # what arriving in a state can bring besides


_UNMET: dict[int, Row] = {}  # of entries that were not asked for a row yet; stays empty


class Opened:
    """An open frame: one entry of a stack.

    Attributes
    ----------
    parent : Opened | None
        The frame around it; None for the outermost.
    site : int
        The call site it was entered by.
    count : int
        The count of the frame around it, to go on with after the close.
    depth : int
        The number of entries of the stack.
    needs : tuple[int, ...] | None
        By label, the fewest tokens to the end after it closed; None until asked for.
    worst : int
        The most that any state with any part of this stack needs; known with ``needs``.
    rows : dict[int, Row]
        By state, the rows met so far on top of equal call sites; empty until asked for.
    """

    __slots__ = ("count", "depth", "needs", "parent", "rows", "site", "worst")

    def __init__(self, parent: Opened | None, site: int, count: int) -> None:
        self.parent = parent
        self.site = site
        self.count = count
        self.depth: int = 1 if parent is None else parent.depth + 1
        self.needs: tuple[int, ...] | None = None
        self.worst = 0
        self.rows = _UNMET


class PopCosts(dict[int, tuple[tuple[int, int], ...]]):
    """State -> (label, tokens to the close with it) for all labels it can close with."""

    def __init__(self, frames: FrameArrays) -> None:
        super().__init__()
        self._to_pop = frames.tokens_to_pop

    def __missing__(self, state: int) -> tuple[tuple[int, int], ...]:
        """Look through the labels of a state, and keep the answer."""
        costs = self._to_pop[state].tolist()
        found = tuple((label, cost) for label, cost in enumerate(costs) if cost != NO_END)
        self[state] = found
        return found


class Residues(dict[int, dict[int, set[int]]]):
    """Number of a list of pairs (exit node, label) -> the nodes by label, gathered when asked for.

    Each pair counts once: a file that repeats them must not make more of them at each level.
    """

    def __init__(self, offsets: NDArray[np.int64], pairs: NDArray[np.int32]) -> None:
        super().__init__()
        self._offsets = offsets.data
        self._pairs = pairs

    def __missing__(self, number: int) -> dict[int, set[int]]:
        """Gather the pairs of a list."""
        pairs = self._pairs[self._offsets[number] : self._offsets[number + 1]]
        labels = pairs[:, 1]
        found = {label: set(pairs[labels == label, 0].tolist()) for label in set(labels.tolist())}
        self[number] = found
        return found


class Pairs(dict[int, dict[int, int]]):
    """State to return to -> exit node -> the number of their pair, found when first asked for."""

    def __init__(self, frames: FrameArrays) -> None:
        super().__init__()
        self._flat = frames.exit_pair.reshape(-1).data
        self._nodes = frames.exit_pair[:, 1]

    def __missing__(self, state: int) -> dict[int, int]:
        """Find the pairs of a return state, which stand side by side."""
        flat = self._flat
        every = range(len(flat) // 2)
        first = bisect_left(every, state, key=lambda pair: flat[2 * pair])
        end = bisect_right(every, state, lo=first, key=lambda pair: flat[2 * pair])
        found = dict(zip(self._nodes[first:end].tolist(), range(first, end), strict=True))
        self[state] = found
        return found


class FramedRunner:
    """What the runs over one table with frames share; the same interface as ``PlainRunner``.

    Attributes
    ----------
    table : Table
    frames : FrameArrays
    start : tuple
        The first configuration: state 0, count 0, no open frame.
    nothing : tuple
        The row that allows no token.
    """

    def __init__(self, table: Table, frames: FrameArrays) -> None:
        self.table = table
        self.frames = frames
        self.start: Config = (0, 0, None)
        self.nothing = view(np.zeros(table.n_words, dtype=np.int32))
        self.rows = Rows(table)
        self.only_byte = OnlyBytes(table)
        self._trans = table.trans.reshape(-1).data
        self._accept = table.accept.tobytes()
        self._offsets = table.token_offsets.data
        self._pop = frames.pop.data
        self._call_target: list[int] = frames.call_target.tolist()
        self._call_return: list[list[int]] = frames.call_return.tolist()
        self._tick = frames.tick.tobytes()
        self._escape = frames.escape.data
        self._escape_at = frames.escape_at.data
        # Most states only pass control on; one byte a state tells those where more happens.
        self._special = (_TICKS * frames.tick + _CLOSES * (frames.pop >= 0)).astype("u1").tobytes()
        counts = np.diff(frames.residue_offsets) * (len(frames.exit_pair) > 0)
        self._reaches = (counts > 0)[frames.residue_row].tobytes()
        self._pairs = Pairs(frames)
        self._residues = Residues(frames.residue_offsets, frames.residues)
        self._exit_residues = Residues(frames.exit_residue_offsets, frames.exit_residues)
        self._residue_row = frames.residue_row.data
        self._exit_token_at = frames.exit_token_offsets.data
        self._exit_residue_at = frames.exit_residue_offsets.data
        self._to_end = table.tokens_to_end.data
        self._costs = PopCosts(frames)
        self._pace = frames.pace.data
        self._until = frames.pace_until.data
        self._stride: memoryview | None = None
        if frames.stride is not None:
            assert frames.stride_offsets is not None
            assert frames.stride_tokens is not None
            self._stride = frames.stride.reshape(-1).data
            self._stride_at = frames.stride_offsets.data
            self._stride_tokens = frames.stride_tokens.data
        self._known: Contexts = (1, {})  # one tuple, so that threads see both or neither change
        self._composed: dict[tuple[int, bytes], Row] = {}
        self._kept = 0
        self._lock = Lock()

    @cached_property
    def most(self) -> int:
        """The most tokens that a state at rest needs to the close of its frame, or to the end."""
        frames = self.frames
        costs = np.concatenate([self.table.tokens_to_end[:, None], frames.tokens_to_pop], axis=1)
        costs = costs[frames.pop < 0]
        if (costs == NO_END).all(axis=1).any():
            return NO_END
        waits = frames.pace.astype(np.float64) * np.maximum(frames.pace_until - 1, 0)  # to 2**93
        most = int(costs.max(initial=0, where=costs != NO_END)) + int(waits.max(initial=0))
        return min(most, NO_END)

    @cached_property
    def _tokens(self) -> bytes:
        """The bytes of all tokens, copied for the first step: these are the fastest to read."""
        return self.table.token_bytes.tobytes()

    def row(self, config: Config) -> Row:
        """Return the row of a configuration, composed along its stack."""
        state, _, top = config
        if top is None:
            return self.rows[state]
        return top.rows.get(state) or self._meet(state, top)

    def step(self, config: Config, token_id: int, max_depth: int) -> Config:
        """Return the configuration after a token that the row allows.

        Raises
        ------
        StackLimitError
            If more than ``max_depth`` frames would be open.
        """
        trans, special, escape_at = self._trans, self._special, self._escape_at
        state, count, top = config
        for byte in self._tokens[self._offsets[token_id] : self._offsets[token_id + 1]]:
            target = trans[state << 8 | byte]
            if target >= 0:
                state = target
                flags = special[state]
                if flags:
                    if flags & _TICKS:
                        count += 1
                        if count == escape_at[state] and self._escape[state] >= 0:
                            state = self._escape[state]
                            flags = special[state]
                    if flags & _CLOSES:
                        state, count, top = self._close(state, count, top)
                        if state < 0:
                            raise damaged(token_id, config[0])
            elif target == DEAD:
                raise damaged(token_id, config[0])
            else:
                top = Opened(top, -2 - target, count)
                state, count = self._call_target[-2 - target], 0
        if top is not None and top.depth > max_depth:
            message = f"the text nests {top.depth} frames deep; at most {max_depth} are allowed"
            raise StackLimitError(message, limit=max_depth)
        return state, count, top

    def _close(self, state: int, count: int, top: Opened | None) -> tuple[int, int, Opened | None]:
        """Return where a state with a pop label leads on.

        A pop with no frame open, or one that the call site has no return for, leads to
        ``-2 - label``; only damaged tables and walks from the middle of a frame get there.
        """
        while (label := self._pop[state]) >= 0:
            back = DEAD if top is None else self._call_return[top.site][label]
            if top is None or back < 0:
                return -2 - label, count, top
            state, count, top = back, top.count, top.parent
        return state, count, top

    def read(self, config: Config, byte: int) -> Config | None:
        """Return the configuration after a byte; None if dead.

        With no frame open a closing byte leads to state ``-2 - label``; see ``_close``.
        """
        state, count, top = config
        target = self._trans[state << 8 | byte]
        if target == DEAD:
            return None
        if target < 0:
            return self._call_target[-2 - target], 0, Opened(top, -2 - target, count)
        if self._special[target] & _TICKS:
            count += 1
            if count == self._escape_at[target] and self._escape[target] >= 0:
                target = self._escape[target]
        return self._close(target, count, top)

    def complete(self, config: Config) -> bool:
        """Return whether the text may end here."""
        return config[2] is None and self._accept[config[0]] != 0

    def state_of(self, config: Config) -> int:
        """Return the state of a configuration."""
        return config[0]

    def need(self, config: Config) -> int:
        """Return a number of tokens that surely reaches an end; ``NO_END`` if none is known."""
        state, count, top = config
        if top is None:
            return int(self._to_end[state])
        needs = top.needs or self.settle(top)
        least = self._least(state, needs)
        missing = self._until[state] - count - 1
        if missing > 0:
            striding = self._striding(state, missing, needs)
            least = min(least + self._pace[state] * missing, striding)
        return min(least, NO_END)

    def _least(self, state: int, needs: tuple[int, ...]) -> int:
        """Return the tokens to the close of a frame and from there to an end."""
        return min((cost + needs[label] for label, cost in self._costs[state]), default=NO_END)

    def _striding(self, state: int, missing: int, needs: tuple[int, ...]) -> int:
        """Return the same for the way over the hub of a zone; ``NO_END`` if there is none."""
        if self._stride is None:
            return NO_END
        hub, tokens, ticks, number = self._stride[4 * state : 4 * state + 4].tolist()
        left = missing - ticks
        if hub < 0 or left < 0:
            return NO_END
        first, end = self._stride_at[number], self._stride_at[number + 1]
        strides, rest = divmod(left, end - first)
        return tokens + strides + self._stride_tokens[first + rest] + self._least(hub, needs)

    def settle(self, top: Opened) -> tuple[int, ...]:
        """Work out ``needs`` and ``worst`` of an entry and all below it, lowest first."""
        waiting: list[Opened] = []
        below: Opened | None = top
        while below is not None and below.needs is None:
            waiting.append(below)
            below = below.parent
        for entry in reversed(waiting):
            backs = self._call_return[entry.site]
            needs = [
                NO_END if back < 0 else self.need((back, entry.count, entry.parent))
                for back in backs
            ]
            farthest = max(n for n, back in zip(needs, backs, strict=True) if back >= 0)
            worst = self.most if entry.parent is None else entry.parent.worst
            entry.worst = max(worst, self.most + farthest)
            entry.needs = tuple(needs)
        assert top.needs is not None
        return top.needs

    def _meet(self, state: int, top: Opened) -> Row:
        """Return a row that an entry was not asked for yet; its context may have it."""
        depth, contexts = self._known
        found = contexts.get(_sites(top, depth), _UNMET)
        row = found.get(state)
        if row is not None:
            top.rows = found
            return row
        row, needed = self._compose(state, top) if self._reaches[state] else (self.rows[state], 0)
        with self._lock:
            depth, contexts = self._known
            if needed > depth or self._kept > ROOM:
                depth, contexts = self._forget(max(needed, depth))
            sites = _sites(top, depth)
            if sites not in contexts:
                contexts[sites] = {}
                self._kept += _CONTEXT + 8 * len(sites)
            top.rows = contexts[sites]
            top.rows[state] = row
            self._kept += _ENTRY
        return row

    def _forget(self, depth: int) -> Contexts:
        """Drop all rows and contexts, those that entries still hold as well; know ``depth`` sites."""
        for context in self._known[1].values():
            context.clear()
        self._composed, self._kept = {}, 0
        self._known = depth, {}
        return self._known

    def _compose(self, state: int, top: Opened) -> tuple[Row, int]:
        """Return a row, and how many call sites it depends on."""
        tokens, depth = self._beyond(state, top)
        number = int(self.table.mask_row[state])
        key = number, tokens.tobytes()
        row = self._composed.get(key) if len(tokens) else self.rows[state]
        if row is None:
            words = self.table.masks[number].copy()
            bits = np.left_shift(np.uint32(1), (tokens & 31).astype(np.uint32))
            np.bitwise_or.at(words.view(np.uint32), tokens >> 5, bits)
            row = view(words)
            with self._lock:
                self._composed[key] = row
                self._kept += words.nbytes + len(key[1])
        return row, depth

    def _beyond(self, state: int, top: Opened | None) -> tuple[NDArray[np.int32], int]:
        """Return the tokens allowed because of the stack, ascending, and how far down it counts."""
        exit_tokens = self.frames.exit_tokens
        token_at, residue_at = self._exit_token_at, self._exit_residue_at
        waiting = self._residues[self._residue_row[state]]
        tokens: list[NDArray[np.int32]] = []
        depth = 0
        while waiting and top is not None:
            backs = self._call_return[top.site]
            wanted: dict[int, set[int]] = {}
            for label, nodes in waiting.items():
                wanted.setdefault(backs[label], set()).update(nodes)
            waiting = {}
            for back, nodes in wanted.items():
                pairs = self._pairs[back]
                for first, end in _runs(sorted(map(pairs.__getitem__, nodes & pairs.keys()))):
                    tokens.append(exit_tokens[token_at[first] : token_at[end]])
                    for pair in range(first, end) if residue_at[first] < residue_at[end] else ():
                        for label, more in self._exit_residues[pair].items():
                            waiting.setdefault(label, set()).update(more)
            top = top.parent
            depth += 1
        found = np.concatenate(tokens) if tokens else np.zeros(0, dtype=np.int32)
        found.sort()
        return found, depth


def _sites(top: Opened | None, depth: int) -> tuple[int, ...]:
    """Return the call sites on top of a stack, nearest first, at most ``depth``."""
    sites: list[int] = []
    while top is not None and len(sites) < depth:
        sites.append(top.site)
        top = top.parent
    return tuple(sites)


def _runs(numbers: list[int]) -> Iterator[tuple[int, int]]:
    """Yield the ranges (first, end) that ascending numbers, each once, fall into."""
    first = 0
    for at, number in enumerate(numbers, 1):
        if at == len(numbers) or numbers[at] != number + 1:
            yield numbers[first], number + 1
            first = at
