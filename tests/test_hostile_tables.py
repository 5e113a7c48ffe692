"""Tables that load and yet mean harm: what they can cost at run time is bounded."""

from __future__ import annotations

import struct
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from fuzz.subjects import VOCABULARY
from hand_tables import BRACKETS_VOCAB, brackets_table

from constrain.pipeline import compile
from constrain.tables import Constraint, Table, TableError
from constrain.tables.load import parse
from constrain.tables.write import serialized


def loaded(table: Table) -> Table:
    return parse(memoryview(b"".join(map(bytes, serialized(table, compress=False)))))


def test_residues_that_repeat_do_not_multiply_along_the_stack() -> None:
    """Each pair names itself a thousand times over; ten levels down that would be 10**30 residues."""
    table = brackets_table()
    frames = table.frames
    assert frames is not None
    n_pairs, copies = len(frames.exit_pair), 1000
    everything = np.concatenate([frames.residues, frames.exit_residues])
    once = np.unique(everything, axis=0)
    copied = np.tile(once, (copies, 1))
    frames = replace(
        frames,
        residue_row=np.zeros_like(frames.residue_row),
        residue_offsets=np.array([0, len(copied)], dtype=np.int64),
        residues=copied,
        exit_residue_offsets=np.arange(n_pairs + 1, dtype=np.int64) * len(copied),
        exit_residues=np.tile(copied, (n_pairs, 1)),
    )
    run = Constraint(loaded(replace(table, frames=frames)))
    for _ in range(12):
        run.advance(BRACKETS_VOCAB.index(b"["))
    tracemalloc.start()
    assert run.mask().any()
    assert tracemalloc.get_traced_memory()[1] < 256 << 20
    tracemalloc.stop()


def test_paces_beyond_what_numbers_hold_count_as_no_end() -> None:
    table = brackets_table()
    frames = table.frames
    assert frames is not None
    frames = replace(
        frames,
        pace=np.full_like(frames.pace, 2**31 - 1),
        pace_until=np.full_like(frames.pace_until, 2**61),
    )
    run = Constraint(loaded(replace(table, frames=frames)), budget=2**40)
    run.advance(BRACKETS_VOCAB.index(b"["))
    assert run.mask().any()
    assert run.table.memo["run"][0].most == 2**31 - 1


def test_composed_rows_of_a_deep_text_take_bounded_memory() -> None:
    """Rows are kept by the call sites they depend on; that must not grow with every depth."""
    table = loaded(brackets_table())
    run = Constraint(table)
    opening = BRACKETS_VOCAB.index(b"[")
    tracemalloc.start()
    for _ in range(3000):
        run.advance(opening)
        run.mask()
    assert tracemalloc.get_traced_memory()[1] < 32 << 20
    tracemalloc.stop()


def test_counts_of_nested_frames_do_not_touch_each_other() -> None:
    """5 to 4000 arrays of up to 3500 values; both are counted, the inner ones between the outer."""
    inner = {"type": "array", "maxItems": 3500, "items": {"type": "boolean"}}
    schema = {"type": "array", "minItems": 5, "maxItems": 4000, "items": inner}
    table = compile(schema, VOCABULARY)
    assert table.frames is not None and (table.frames.escape >= 0).sum() > 1
    run = Constraint(table)
    run.advance(ord("["))
    for number in range(1, 4001):
        for byte in b"[true,true]":
            run.advance(byte)
        assert run.allowed(ord("]")) == (number >= 5)
        assert run.allowed(ord(",")) == (number < 4000)
        if number < 4000:
            run.advance(ord(","))
    run.advance(ord("]"))
    assert run.is_complete()


def test_gaps_between_members_are_refused() -> None:
    """Whatever stands between two members could be another file."""
    whole = b"".join(map(bytes, serialized(brackets_table(), compress=False)))
    directory = struct.unpack("<I", whole[-6:-2])[0]
    second = directory + 46 + len("trans.npy")
    at = struct.unpack("<I", whole[second + 42 : second + 46])[0]
    moved = bytearray(whole[:at] + b"gap!" + whole[at:])
    place = directory + 4
    while moved[place : place + 4] == b"PK\1\2":
        offset, length = struct.unpack_from("<I", moved, place + 42)[0], moved[place + 28]
        struct.pack_into("<I", moved, place + 42, offset + 4 * (offset >= at))
        place += 46 + length
    struct.pack_into("<I", moved, len(moved) - 6, directory + 4)
    with pytest.raises(TableError, match="overlap or leave a gap"):
        parse(memoryview(bytes(moved)))
