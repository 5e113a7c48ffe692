"""Proving a table: that its masks are what its transitions and its vocabulary say.

``load`` makes sure that a table cannot lead anywhere outside of itself; this module recomputes what
is in it.

* The file: the checksum of every member.
* The whole table: the fingerprint of the vocabulary, the promises of every row, and with frames
  that each label that can come back to a call site has a return, and that no text ends inside a
  frame.
* Configurations, sampled or one for every state: the bytes of every token of the vocabulary are
  walked one by one; a token is allowed iff they stay alive and, where the vocabulary cannot spell
  everything, an end can still be reached by tokens. Some allowed token must also lower the number
  of tokens to the end.

With frames the sampled configurations are met on random walks by tokens, so stacks are as deep as
texts make them; samples are the same each time. For all states there is one text to each
(``reaching``). States with a pop label are left at once; no run is ever in one, and they have no
mask to check.

Doesn't do: show that the language is the one that was meant; that needs the source and the
compiler. Cost: some 10 milliseconds a configuration for 128k tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from constrain.tables import archive
from constrain.tables.constraint import shared
from constrain.tables.errors import StackLimitError, TableError
from constrain.tables.format import DEAD, NO_END
from constrain.tables.framed import FramedRunner
from constrain.tables.load import check_rows, mapped, parse
from constrain.tables.products import Products, Vocabulary
from constrain.tables.reaching import reached

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from constrain.tables.format import FrameArrays, Table
    from constrain.tables.products import Runner

SAMPLE = 64
_DEEPEST = 1000  # frames that a sampled walk may open


@dataclass(frozen=True, slots=True)
class Verified:
    """What was proved.

    Attributes
    ----------
    n_checked : int
        Configurations whose masks were recomputed.
    n_met : int
        States that they are in.
    n_states, n_closing : int
        States of the table, and those with a pop label among them.
    n_tokens : int
        Tokens that were walked from each configuration.
    """

    n_checked: int
    n_met: int
    n_states: int
    n_closing: int
    n_tokens: int


def verify_file(path: str | os.PathLike[str], *, sample: int | None = SAMPLE) -> Verified:
    """Prove a table file; see ``verify``.

    Raises
    ------
    TableError
        With the first thing that is wrong.
    OSError
        If the file cannot be opened.
    """
    data = mapped(Path(path))
    for member in archive.members(data).values():
        if not archive.checksum(data, member):
            raise TableError(
                f"{member.key} has another checksum than when it was written", key=member.key
            )
    return verify(parse(data), sample=sample)


def verify(table: Table, *, sample: int | None = SAMPLE) -> Verified:
    """Recompute the masks of a table.

    Parameters
    ----------
    table : Table
    sample : int or None
        How many configurations to look at; None for every state, with frames each in one context.

    Raises
    ------
    TableError
        With the first thing that is wrong.
    """
    stated = table.meta.get("fingerprint", table.fingerprint)
    if stated != table.fingerprint:
        raise TableError("the fingerprint in meta is not that of the tokens", key="meta")
    check_rows(table)
    if table.frames is not None:
        _check_returns(table, table.frames)
    runner = shared(table)[0]
    configs = _configs(table, runner, sample)
    tokens = _Tokens(table)
    for config in configs:
        _check(table, runner, tokens, config)
    n_met = len({runner.state_of(config) for config in configs})
    n_closing = 0 if table.frames is None else int((table.frames.pop >= 0).sum())
    return Verified(len(configs), n_met, table.n_states, n_closing, table.n_tokens)


class _Tokens:
    """The tokens that are text, longest first, and their bytes by level."""

    def __init__(self, table: Table) -> None:
        vocabulary = Vocabulary(table)
        ids = vocabulary.order[vocabulary.length[vocabulary.order] > 0]
        self.ids = ids[~np.isin(ids, table.eos)]
        self.levels = vocabulary.levels(self.ids)


def _configs(table: Table, runner: Runner, sample: int | None) -> list[Any]:
    """Return configurations to look at."""
    rng = np.random.default_rng(0)
    if isinstance(runner, FramedRunner):
        walked = _walks(table, runner, SAMPLE if sample is None else sample, rng)
        return walked if sample is not None else [*reached(table, runner.frames), *walked]
    if sample is None or sample >= table.n_states:
        return list(range(table.n_states))
    others = 1 + rng.choice(table.n_states - 1, size=sample - 1, replace=False)
    return [0, *sorted(others.tolist())]


def _walks(table: Table, runner: FramedRunner, n: int, rng: np.random.Generator) -> list[Any]:
    """Return the configurations met on random walks; tokens of many bytes are taken more often."""
    vocabulary = Vocabulary(table)
    found: list[Any] = []
    config = runner.start
    while len(found) < n:
        found.append(config)
        ids = vocabulary.ids(runner.row(config))
        if not len(ids) or rng.random() < 1 / 32:
            config = runner.start
            continue
        longer = ids[: max(1, len(ids) // 8)] if rng.random() < 1 / 2 else ids
        try:
            config = runner.step(config, int(rng.choice(longer)), _DEEPEST)
        except StackLimitError:
            config = runner.start
    return found


def _check(table: Table, runner: Runner, tokens: _Tokens, config: Any) -> None:
    """Compare the mask of a configuration with the walk of every token."""
    state = runner.state_of(config)
    ids = tokens.ids
    products = Products(runner)
    at = products.walk(config, tokens.levels, len(ids))
    needs = np.array([_need(runner, each) for each in products.configs], dtype=np.int64)
    alive, finite = np.zeros((2, table.n_tokens), dtype=np.bool_)
    alive[ids] = needs[at] >= 0
    finite[ids] = alive[ids] & (needs[at] < NO_END)
    alive[table.eos] = finite[table.eos] = runner.complete(config)
    mask = np.unpackbits(
        runner.row(config)[0].view(np.uint8), count=table.n_tokens, bitorder="little"
    ).astype(np.bool_)
    wrong = np.flatnonzero((finite & ~mask) | (mask & ~alive))
    if len(wrong):
        token_id = int(wrong[0])
        told = "allows" if mask[token_id] else "does not allow"
        raise TableError(
            f"the mask of state {state} {told} token {token_id}, {table.token(token_id)!r}, and its"
            f" bytes say otherwise; so with {len(wrong)} tokens",
            key="masks",
        )
    _check_need(table, runner, config, needs[at[mask[ids]]])


def _need(runner: Runner, config: Any) -> int:
    """Return the need of a configuration; -1 where it is dead."""
    return -1 if config is None or runner.state_of(config) < 0 else runner.need(config)


def _check_need(table: Table, runner: Runner, config: Any, after: NDArray[np.int64]) -> None:
    """Require that some allowed token lowers the need; without frames, that it is exact."""
    need = runner.need(config)
    least = 0 if runner.complete(config) else 1 + int(after.min(initial=NO_END))
    if need == NO_END and least >= NO_END:
        return
    if need < least or (table.is_plain and need > least):
        raise TableError(
            f"state {runner.state_of(config)} is said to be {need} tokens from an end; by the masks"
            f" it is {least}",
            key="tokens_to_end",
        )


def _check_returns(table: Table, frames: FrameArrays) -> None:
    """Require a return for every label that can come back, and no end inside a frame."""
    source, target = _edges(table, frames)
    caller, byte = np.nonzero(table.trans < DEAD)
    site = -2 - table.trans[caller, byte]
    calls = np.unique(np.stack([caller, site], axis=1), axis=0)
    labels = np.zeros((table.n_states, frames.call_return.shape[1]), dtype=np.bool_)
    closed = np.flatnonzero(frames.pop >= 0)
    labels[closed, frames.pop[closed]] = True
    inside = np.zeros(table.n_states, dtype=np.bool_)
    inside[frames.call_target] = True
    while True:
        before = labels.sum() + inside.sum()
        np.logical_or.at(labels, source, labels[target])
        np.logical_or.at(inside, target, inside[source])
        for caller, site in calls.tolist():
            come = np.flatnonzero(labels[frames.call_target[site]])
            backs = frames.call_return[site, come]
            if (backs < 0).any():
                raise TableError(
                    f"call site {site} has no return for label {int(come[backs < 0][0])}, which can"
                    " come back",
                    key="call_return",
                )
            labels[caller] |= labels[backs].any(axis=0)
            inside[backs] |= inside[caller]
        if labels.sum() + inside.sum() == before:
            break
    ends = np.flatnonzero(inside & table.accept)
    if len(ends):
        raise TableError(f"state {ends[0]} is inside a frame and accepts", key="accept")


def _edges(table: Table, frames: FrameArrays) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the distinct pairs (state, next state) within frames, escapes included."""
    source, byte = np.nonzero(table.trans >= 0)
    keys = np.unique(source * table.n_states + table.trans[source, byte])
    source, target = np.divmod(keys, table.n_states)
    escaping = np.flatnonzero(frames.escape >= 0)
    return (
        np.concatenate([source, escaping]),
        np.concatenate([target, frames.escape[escaping].astype(np.intp)]),
    )
