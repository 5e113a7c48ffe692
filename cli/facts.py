"""What there is to say of a table, as data: ``compile`` and ``inspect`` draw it, ``--json`` prints it.

Counts of allowed tokens are those of the rows, for states that tokens lead to; with frames a token
that closes a frame and goes on is not in a row and not counted.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from constrain.cli.drawing import texts
from constrain.cli.told import told
from constrain.cli.ways import Ways
from constrain.cli.words import shown
from constrain.errors import BudgetError
from constrain.tables.format import FORMAT_VERSION, NO_END

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from constrain.tables import Table

_LONG = 400  # tokens; a language without a shorter text has its texts made by `sample` only
_BLOCK = 4096  # rows counted at once
_WORDS = np.arange(1 << 16, dtype=np.uint16).view(np.uint8).reshape(-1, 2)
_ONES = np.unpackbits(_WORDS, axis=1).sum(axis=1, dtype=np.uint8)


@dataclass(frozen=True, slots=True)
class Extreme:
    """States that allow the fewest or the most tokens.

    Attributes
    ----------
    n_allowed : int
        How many tokens they allow.
    n_states : int
        How many states that are.
    state : int
        One of them, the one reached first.
    text : str or None
        A shortest text that leads to it.
    """

    n_allowed: int
    n_states: int
    state: int
    text: str | None


def allowed_counts(table: Table) -> NDArray[np.int64]:
    """Return how many tokens each state allows, end-of-sequence tokens included: int64 [S]."""
    counts = np.zeros(len(table.masks), dtype=np.int64)
    for first in range(0, len(table.masks), _BLOCK):
        words = np.ascontiguousarray(table.masks[first : first + _BLOCK]).view(np.uint16)
        counts[first : first + _BLOCK] = _ONES[words].sum(axis=1, dtype=np.int64)
    return counts[table.mask_row]


def histogram(counts: NDArray[np.int64], n_tokens: int) -> list[tuple[int, int, int]]:
    """Return (fewest, most, number of states) for 1, 2-9, 10-99, ... allowed tokens."""
    rows = [(1, 1)]
    low = 2
    while low <= n_tokens:
        high = 10 ** len(str(low)) - 1
        rows.append((low, min(high, n_tokens)))
        low = high + 1
    return [(a, b, int(((counts >= a) & (counts <= b)).sum())) for a, b in rows]


def extremes(ways: Ways, counts: NDArray[np.int64]) -> tuple[Extreme, Extreme]:
    """Return the tightest and the loosest states among those that allow anything."""
    some = counts[counts > 0]
    return _extreme(ways, counts, int(some.min())), _extreme(ways, counts, int(some.max()))


def _extreme(ways: Ways, counts: NDArray[np.int64], n_allowed: int) -> Extreme:
    states = np.flatnonzero(counts == n_allowed)
    text = ways.text_to(int(states[0]))
    return Extreme(n_allowed, len(states), int(states[0]), None if text is None else shown(text))


def samples(table: Table, n: int, seed: int = 0) -> list[str]:
    """Return some different random texts."""
    if table.tokens_to_end[0] == NO_END:
        return []
    found: dict[str, None] = {}
    try:
        for data, _ in texts(table, 2 * n, seed):
            found.setdefault(data.decode("utf-8", errors="backslashreplace"))
            if len(found) == n:
                break
    except BudgetError:  # no end is known to be reachable by tokens
        return []
    return list(found)


def facts(table: Table, path: Path | None = None, n_samples: int = 3) -> dict[str, Any]:
    """Return what there is to say of a table, as JSON values."""
    ways = Ways(table)
    counts = allowed_counts(table)
    tightest, loosest = extremes(ways, counts)
    meta = told(table.meta)
    needed = int(table.tokens_to_end[0])
    is_long = needed > _LONG
    frames = table.frames
    return {
        "file": None if path is None else str(path),
        "bytes": None if path is None else path.stat().st_size,
        "format": FORMAT_VERSION,
        **meta,
        "tokenizer": {
            **meta["tokenizer"],
            "fingerprint": table.fingerprint,
            "n_tokens": table.n_tokens,
            "eos": table.eos.tolist(),
        },
        "states": table.n_states,
        "accepting": int(table.accept.sum()),
        "rows": len(table.masks),
        "call_sites": 0 if frames is None else len(frames.call_target),
        "density": float(counts[counts > 0].mean() / table.n_tokens),
        "histogram": histogram(counts, table.n_tokens),
        "tightest": asdict(tightest),
        "loosest": asdict(loosest),
        "tokens_to_end": needed,
        "shortest": None if is_long else ways.completion().decode("utf-8", "backslashreplace"),
        "samples": [] if is_long else samples(table, n_samples),
    }
