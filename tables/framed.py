"""Runs over a table with frames: a configuration is a state, a count and a stack of open frames.

The stack is a chain of immutable entries, each with its parent, so that runs share what they have
in common: a fork or a rollback copies nothing. The byte machine is the one that ``format`` spells
out.

Composed rows. A token that closes the frame it started in and goes on is allowed by what stands
below on the stack, so the mask of a configuration is the row of its state plus short lists along
the stack (``format``: residues, exit pairs). The lists reach down only as long as tokens go on
closing, so a composed row depends on the state and the call sites that were looked at, nearest
first. Rows are kept in a tree of dictionaries along just these sites: nearly always one look-up
finds the row.

Invariant: whether a tree node is a row or a dictionary depends only on the path to it; what is
stored is complete before it can be found, so threads may read while one adds. When the rows take
more than ``ROOM`` bytes, the tree is dropped and grows anew.

Tokens to the end. An entry knows, for each label its frame may close with, the tokens needed from
there on; with that the need of a configuration is a minimum over labels. All sums saturate at
NO_END.

Cost: first time in a context tens of microseconds, afterwards a look-up; a step is a look-up a
byte.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from constrain.tables.errors import StackLimitError
from constrain.tables.format import DEAD, NO_END
from constrain.tables.plain import OnlyBytes, Rows, damaged, view

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    from constrain.tables.format import FrameArrays, Table
    from constrain.tables.plain import Row

    Config: TypeAlias = "tuple[int, int, Opened | None]"

ROOM = 64 << 20  # bytes of composed rows that one table keeps
_NODE = 256  # bytes of a dictionary of the tree with one entry


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
    """

    __slots__ = ("count", "depth", "needs", "parent", "site", "worst")

    def __init__(self, parent: Opened | None, site: int, count: int) -> None:
        self.parent = parent
        self.site = site
        self.count = count
        self.depth: int = 1 if parent is None else parent.depth + 1
        self.needs: tuple[int, ...] | None = None
        self.worst = 0


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
    most : int
        The most tokens that a state needs to the close of its frame, or to the end.
    """

    def __init__(self, table: Table, frames: FrameArrays) -> None:
        self.table = table
        self.frames = frames
        self.start: Config = (0, 0, None)
        self.nothing = view(np.zeros(table.n_words, dtype=np.int32))
        self.rows = Rows(table)
        self.only_byte = OnlyBytes(table)
        self.most = _most(table, frames)
        self._trans = table.trans.reshape(-1).data
        self._accept = table.accept.tobytes()
        self._tokens = table.token_bytes.tobytes()
        self._offsets = table.token_offsets.data
        self._pop = frames.pop.data
        self._call_target: list[int] = frames.call_target.tolist()
        self._call_return: list[list[int]] = frames.call_return.tolist()
        self._tick = frames.tick.tobytes()
        self._escape = frames.escape.data
        self._escape_at = frames.escape_at.data
        # Most states only pass control on; one byte a state tells those where more happens.
        self._special = ((frames.pop >= 0) | frames.tick).tobytes()
        self._reaches = (np.diff(frames.residue_offsets) > 0)[frames.residue_row].tobytes()
        self._pair_keys = _keys(frames.exit_pair[:, 0], frames.exit_pair[:, 1])
        self._to_end = table.tokens_to_end.data
        self._costs = PopCosts(frames)
        self._pace = frames.pace.data
        self._until = frames.pace_until.data
        self._composed: dict[int, Any] = {}
        self._kept = 0
        self._lock = Lock()

    def row(self, config: Config) -> Row:
        """Return the row of a configuration, composed along its stack."""
        state, _, top = config
        if top is None or not self._reaches[state]:
            return self.rows[state]
        node = self._composed.get(state * len(self._call_target) + top.site)
        while type(node) is dict:
            top = None if top is None else top.parent
            node = node.get(-1 if top is None else top.site)
        return self._compose(config) if node is None else node

    def step(self, config: Config, token_id: int, max_depth: int) -> Config:
        """Return the configuration after a token that the row allows.

        Raises
        ------
        StackLimitError
            If more than ``max_depth`` frames would be open.
        """
        trans, special = self._trans, self._special
        state, count, top = config
        for byte in self._tokens[self._offsets[token_id] : self._offsets[token_id + 1]]:
            target = trans[state << 8 | byte]
            if target >= 0:
                state = target
                if special[state]:
                    state, count, top = self._arrive(state, count, top)
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

    def _arrive(self, state: int, count: int, top: Opened | None) -> tuple[int, int, Opened | None]:
        """Return where a byte that led to ``state`` leads on: ticks, escapes and pops.

        A pop with no frame open, or one that the call site has no return for, leads to
        ``-2 - label``; only damaged tables and walks from the middle of a frame get there.
        """
        if self._tick[state]:
            count += 1
            if count == self._escape_at[state] and self._escape[state] >= 0:
                state = self._escape[state]
        while (label := self._pop[state]) >= 0:
            back = DEAD if top is None else self._call_return[top.site][label]
            if top is None or back < 0:
                return -2 - label, count, top
            state, count, top = back, top.count, top.parent
        return state, count, top

    def read(self, config: Config, byte: int) -> Config | None:
        """Return the configuration after a byte; None if dead.

        With no frame open a closing byte leads to state ``-2 - label``; see ``_arrive``.
        """
        state, count, top = config
        target = self._trans[state << 8 | byte]
        if target == DEAD:
            return None
        if target >= 0:
            return (
                self._arrive(target, count, top) if self._special[target] else (target, count, top)
            )
        return self._call_target[-2 - target], 0, Opened(top, -2 - target, count)

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
        least = min((cost + needs[label] for label, cost in self._costs[state]), default=NO_END)
        if self._until[state] > count:
            least += self._pace[state] * (self._until[state] - count - 1)
        return min(least, NO_END)

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

    def _compose(self, config: Config) -> Row:
        """Compose a row, and keep it under the state and the call sites that it depends on."""
        state, _, top = config
        sites, tokens = self._beyond(state, top)
        row = self.rows[state]
        if len(tokens):
            words = row[0].copy()
            bits = np.left_shift(np.uint32(1), (tokens & 31).astype(np.uint32))
            np.bitwise_or.at(words.view(np.uint32), tokens >> 5, bits)
            row = view(words)
        with self._lock:
            self._kept += _NODE * len(sites) + (row[0].nbytes if len(tokens) else 0)
            if self._kept > ROOM:
                self._composed, self._kept = {}, row[0].nbytes
            node = self._composed
            key = state * len(self._call_target) + sites[0]
            for site in sites[1:]:
                node = node.setdefault(key, {})
                key = site
            node[key] = row
        return row

    def _beyond(self, state: int, top: Opened | None) -> tuple[list[int], NDArray[np.int32]]:
        """Return the call sites looked at (-1: no frame) and the tokens allowed because of them."""
        frames = self.frames
        number = int(frames.residue_row[state])
        start, end = frames.residue_offsets[number : number + 2].tolist()
        residues = frames.residues[start:end]
        sites: list[int] = []
        tokens: list[NDArray[np.int32]] = []
        while len(residues):
            if top is None:
                sites.append(-1)
                break
            sites.append(top.site)
            backs = frames.call_return[top.site, residues[:, 1]]
            # Each pair once: a file that repeats them must not make more of them at each level.
            wanted = np.unique(_keys(backs, residues[:, 0]))
            at = np.searchsorted(self._pair_keys, wanted)
            pairs = (
                at[self._pair_keys[np.minimum(at, len(self._pair_keys) - 1)] == wanted]
                if len(self._pair_keys)
                else at[:0]
            )
            tokens.append(frames.exit_tokens[_ranges(frames.exit_token_offsets, pairs)])
            residues = frames.exit_residues[_ranges(frames.exit_residue_offsets, pairs)]
            top = top.parent
        return sites, np.concatenate(tokens) if tokens else np.zeros(0, dtype=np.int32)


def _keys(states: NDArray[np.int32], nodes: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return one ascending number for each pair (return state, exit node)."""
    return (states.astype(np.int64) << 32) | nodes


def _ranges(offsets: NDArray[np.int64], which: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the members of the ranges ``offsets[i] : offsets[i + 1]`` for all i of ``which``."""
    begin = offsets[which]
    counts = offsets[which + 1] - begin
    return np.repeat(begin - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())


def _most(table: Table, frames: FrameArrays) -> int:
    """Return the most tokens that a state at rest needs within its frame."""
    rest = frames.pop < 0
    every = np.concatenate([table.tokens_to_end[:, None], frames.tokens_to_pop], axis=1)[rest]
    if (every == NO_END).all(axis=1).any():
        return NO_END
    waiting = frames.pace.astype(np.float64) * np.maximum(frames.pace_until - 1, 0)  # up to 2**93
    most = int(np.where(every == NO_END, 0, every).max(initial=0)) + int(waiting.max(initial=0))
    return min(most, NO_END)
