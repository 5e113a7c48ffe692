"""Budgets before a minimum: what the table says can be kept, and is near what is true."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.budgets import Reached

from constrain.errors import DeadEndError
from constrain.frames import CountError
from constrain.pipeline import compile
from constrain.syntax import (
    Alternate,
    ByteSet,
    Call,
    Concat,
    Frame,
    Grammar,
    Literal,
    Node,
    Repeat,
    Tick,
)
from constrain.tables import BudgetError, Constraint, Table, TableError
from constrain.tables.format import STRIDE_ARRAYS
from constrain.tables.load import parse
from constrain.tables.write import serialized
from constrain.vocabulary import Vocabulary

EXAMPLES = 1500 if os.environ.get("CONSTRAIN_EXHAUSTIVE") else 40
SINGLES = [bytes((byte,)) for byte in b'"abuxy[],']
CHARACTER = Alternate(
    (ByteSet.of(b"ab"), Concat((Literal(b"u"), ByteSet.of(b"xy"))), Literal(b"yux"))
)  # of one byte, two or three


def string(minimum: int, maximum: int | None) -> Frame:
    return Frame(ord('"'), Repeat(Tick(CHARACTER), 0, None), ord('"'), minimum, maximum)


def array(item: Node, minimum: int, maximum: int | None) -> Frame:
    """``minimum`` and ``maximum`` are of commas."""
    more = Repeat(Concat((Tick(Literal(b",")), item)), 0, None)
    return Frame(ord("["), Concat((item, more)), ord("]"), minimum, maximum)


def table_of(frames: dict[str, Frame], start: Node, tokens: list[bytes]) -> Table:
    distinct = list(dict.fromkeys(tokens))
    vocabulary = Vocabulary.of([*distinct, None], (len(distinct),))
    return compile(Grammar(start, frames), vocabulary)


@st.composite
def tables(draw: st.DrawFn) -> Table | None:
    """Strings, arrays, arrays of strings, two strings, and two that begin at one place."""
    minimum = draw(st.integers(0, 32))
    room = draw(st.sampled_from([None, 0, 0, 1, 2, 3, 10]))
    maximum = None if room is None else minimum + room
    kind = draw(st.sampled_from(["string", "array", "both", "twice", "labels"]))
    some = st.lists(st.sampled_from(SINGLES), unique=True, min_size=5)
    singles = draw(st.one_of(st.just(SINGLES), some))
    text = st.text(alphabet='abuxy"[],', min_size=2, max_size=6).map(str.encode)
    runs = st.sampled_from([b"a", b",a", b"a,"]).flatmap(
        lambda part: st.integers(2, 8).map(lambda n: part * n)
    )
    tokens = [*singles, *draw(st.lists(text, max_size=8)), *draw(st.lists(runs, max_size=4))]
    frames = {"s": string(minimum, maximum)}
    start: Node = Call("s")
    if kind == "array":
        frames = {"s": array(ByteSet.of(b"ab"), minimum, maximum)}
    elif kind == "both":
        small = None if room is None else minimum % 7 + room % 5
        frames = {
            "a": array(Call("s"), minimum % 7, small),
            "s": string(minimum % 17, None if room is None else minimum % 17 + room),
        }
        start = Call("a")
    elif kind == "twice":
        start = Concat((Call("s"), Call("s")))
    elif kind == "labels":
        frames["t"] = string(minimum // 2, None)
        ends = [Concat((Call(name), Literal(end))) for name, end in (("s", b"x"), ("t", b"y"))]
        start = Alternate(tuple(ends))
    try:
        return table_of(frames, start, tokens)
    except (DeadEndError, CountError):
        return None


@given(tables())
@settings(max_examples=EXAMPLES)
def test_what_the_table_says_can_be_kept_from_every_configuration(table: Table | None) -> None:
    if table is not None and not table.is_plain:
        Reached(table).check()


def test_a_token_of_many_ticks_is_not_taken_for_one_of_one_tick() -> None:
    """Exactly 40 letters; after a comma ``a,a,a,`` leads back to the same state, three ticks on."""
    tokens = [b"[", b"]", b",", b"a", b"b", b"a,a,a,"]
    table = table_of({"a": array(ByteSet.of(b"ab"), 39, 39)}, Call("a"), tokens)
    reached = Reached(table)
    reached.check()
    assert reached.distances[0] == 16  # thirteen times three letters, one more, and the brackets


def test_fewer_ticks_may_take_more_tokens() -> None:
    """The token that opens the string passes the first tick, and 10 more take more than 11."""
    tokens = [*SINGLES, b'"b', b"aaaaa", b"aaaaaa", b"[["]
    Reached(table_of({"s": string(19, 19)}, Call("s"), tokens)).check()


LONG = [*SINGLES, *(b"a" * n for n in range(2, 17)), b'a"']


@pytest.mark.parametrize(("minimum", "maximum"), [(1000, None), (1000, 1000), (300, 2000)])
def test_the_bound_of_a_long_string_is_near_what_is_true(minimum: int, maximum: int | None) -> None:
    table = table_of({"s": string(minimum, maximum)}, Call("s"), LONG)
    true = 1 + -(-minimum // 16) + 1
    assert true - 1 <= table.tokens_to_end[0] <= true + 2
    with pytest.raises(BudgetError, match="shortest text that is known takes") as caught:
        Constraint(table, budget=20)
    assert caught.value.needed == table.tokens_to_end[0] + 1


@pytest.mark.parametrize("extra", [0, 1, 5])
def test_a_run_within_such_a_bound_finishes(extra: int) -> None:
    frames = {"a": array(Call("s"), 5, 9), "s": string(90, 100)}
    table = table_of(frames, Call("a"), LONG)
    rng = np.random.default_rng(0)
    for _ in range(5):
        run, text = Constraint(table, budget=int(table.tokens_to_end[0]) + 1 + extra), b""
        while not run.done:
            token_id = int(rng.choice(np.flatnonzero(run.mask())))
            run.advance(token_id)
            text += table.token(token_id)
        strings = text[1:-1].split(b",")
        assert 6 <= len(strings) <= 10
        lengths = [len(re.findall(b"[ab]|u[xy]|yux", each)) for each in strings]
        assert 90 <= min(lengths) <= max(lengths) <= 100


def test_an_end_that_only_a_token_across_the_close_could_reach_is_not_relied_on() -> None:
    """``a"]x`` would do, and nothing else: refused, and the message says why."""
    frames = {"a": array(Call("s"), 0, 0), "s": string(1, None)}
    start = Concat((Call("a"), Literal(b"x")))
    with pytest.raises(DeadEndError, match="close a part and go on") as caught:
        table_of(frames, start, [b"[", b'"', b"a", b'a"]x'])
    assert b"]" in caught.value.missing


# In files.


def members(table: Table) -> memoryview:
    return memoryview(b"".join(map(bytes, serialized(table))))


@pytest.fixture(scope="module")
def long() -> Table:
    return table_of({"s": string(200, None)}, Call("s"), LONG)


def test_files_have_the_arrays_only_where_they_help(long: Table) -> None:
    assert list(long.arrays())[-3:] == list(STRIDE_ARRAYS)
    read = parse(members(long))
    for key, array in long.arrays().items():
        assert np.array_equal(array, read.arrays()[key])
    assert Constraint(read, budget=int(long.tokens_to_end[0]) + 1).mask().any()
    without = table_of({"s": string(200, None)}, Call("s"), SINGLES)
    assert "stride" not in without.arrays()
    assert parse(members(without)).frames is not None


@pytest.mark.parametrize(
    ("key", "place", "value"),
    [
        ("stride", (0, 0), 10**6), ("stride", (0, 0), -2), ("stride", (0, 1), -1),
        ("stride", (0, 2), -1), ("stride", (0, 3), -1), ("stride", (0, 3), 1),
        ("stride_tokens", 0, -1), ("stride_offsets", 1, 0), ("stride_offsets", 0, 1),
        ("stride_offsets", 1, 999),
    ],
)  # fmt: skip
def test_values_out_of_range_are_refused(long: Table, key: str, place: Any, value: int) -> None:
    assert long.frames is not None
    array = getattr(long.frames, key).copy()
    array[place] = value
    with pytest.raises(TableError) as caught:
        parse(members(replace(long, frames=replace(long.frames, **{key: array}))))
    assert caught.value.key == key


def test_empty_lists_are_refused(long: Table) -> None:
    assert long.frames is not None
    offsets = np.array([0, 0, long.arrays()["stride_tokens"].size], dtype=np.int64)
    frames = replace(long.frames, stride_offsets=offsets)
    with pytest.raises(TableError, match="empty list"):
        parse(members(replace(long, frames=frames)))
