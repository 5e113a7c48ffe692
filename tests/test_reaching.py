"""A configuration for every state: all are met, each by some text, and `verify` looks at each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hand_tables import brackets_table
from tokenizers_on_disk import EXAMPLES

import constrain
from constrain.tables import Table, TableError
from constrain.tables.format import PLAIN_ARRAYS
from constrain.tables.framed import FramedRunner
from constrain.tables.reaching import reached
from constrain.tables.verify import SAMPLE, verify

COUNTED = [
    {"type": "array", "maxItems": 3000, "items": {"type": "string", "maxLength": 3}},
    {"$ref": "#/$defs/n",
     "$defs": {"n": {"type": "array", "minItems": 200, "maxItems": 500,
                     "items": {"anyOf": [{"$ref": "#/$defs/n"}, {"type": "integer"}]}}}},
]  # fmt: skip


def walked(table: Table, config: Any) -> tuple[int, ...]:
    """Return all there is to a configuration as one key."""
    state, count, top = config
    key = [state, count]
    while top is not None:
        key += (top.site, top.count)
        top = top.parent
    return tuple(key)


def everywhere(table: Table, depth: int, length: int) -> set[tuple[int, ...]]:
    """Return the keys of all configurations of so many frames that texts of so many bytes reach."""
    assert table.frames is not None
    runner = FramedRunner(table, table.frames)
    layer: list[Any] = [runner.start]
    seen = {walked(table, runner.start)}
    for _ in range(length):
        ahead = []
        for config in layer:
            for byte in np.flatnonzero(table.trans[config[0]] != -1).tolist():
                after = runner.read(config, byte)
                if (
                    after is None
                    or after[0] < 0
                    or (after[2] is not None and after[2].depth > depth)
                ):
                    continue
                if (key := walked(table, after)) not in seen:
                    seen.add(key)
                    ahead.append(after)
        layer = ahead
    return seen


def test_all_states_of_the_small_machine_are_met_by_texts() -> None:
    table = brackets_table()
    assert table.frames is not None
    configs = reached(table, table.frames)
    states = [config[0] for config in configs]
    assert sorted(states) == np.flatnonzero(table.frames.pop < 0).tolist()
    assert {walked(table, config) for config in configs} <= everywhere(table, 3, 9)


@pytest.mark.parametrize("schema", COUNTED)
def test_all_states_of_counted_and_recursive_schemas_are_met(schema: Any) -> None:
    table = constrain.compile(schema, str(EXAMPLES), frames="always", cache=False)
    assert table.frames is not None and table.frames.tick.any()
    states = {config[0] for config in reached(table, table.frames)}
    assert states == set(np.flatnonzero(table.frames.pop < 0).tolist())


def test_one_wrong_bit_is_found_in_any_state() -> None:
    table = brackets_table()
    assert table.frames is not None
    every = verify(table, sample=None)
    closing = int((table.frames.pop >= 0).sum())
    assert (every.n_met, every.n_states, every.n_closing) == (18 - closing, 18, closing)
    assert every.n_checked == 18 - closing + SAMPLE
    for state in np.flatnonzero(table.frames.pop < 0).tolist():
        arrays = {key: getattr(table, key) for key in PLAIN_ARRAYS}
        row = table.masks[table.mask_row[state]].copy()
        row[0] ^= 1 << 4  # '<'
        rows = table.mask_row.copy()
        rows[state] = len(table.masks)
        arrays |= {"masks": np.vstack([table.masks, row]), "mask_row": rows}
        with pytest.raises(TableError, match=f"mask of state {state} "):
            verify(Table(**arrays, frames=table.frames), sample=None)


def test_a_walk_that_is_cut_off_returns_what_it_met(monkeypatch: pytest.MonkeyPatch) -> None:
    table = brackets_table()
    assert table.frames is not None
    monkeypatch.setattr("constrain.tables.reaching.PATIENCE", 3)
    assert len(reached(table, table.frames)) == 4
    assert verify(table, sample=None).n_checked == 4 + SAMPLE
