"""Faults that were found by attacking the core, one small test each; the docstrings say what broke.

No part of these is covered better elsewhere: each would have failed before its fault was mended.
"""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import numpy as np
import pytest

from constrain import compile as compile_table
from constrain.calls import CountError
from constrain.errors import ConstrainError
from constrain.frames import build_machine
from constrain.limits import Meter
from constrain.syntax import (
    EPSILON,
    ByteSet,
    Call,
    Frame,
    Grammar,
    Literal,
    Node,
    Tick,
    alternate,
    concat,
    optional,
    star,
)
from constrain.tables import BudgetError, Constraint, Table
from constrain.tables.verify import verify
from constrain.vocabulary import Vocabulary

A, B = Literal(b"a"), Literal(b"b")
ASCII = [bytes((byte,)) for byte in range(32, 127)]


def vocabulary(tokens: list[bytes]) -> Vocabulary:
    return Vocabulary.of([*tokens, None], (len(tokens),))


def texts(
    table: Table, budget: int | None = None, runs: int = 40, length: int = 400
) -> list[bytes]:
    """Return finished texts of random runs; fail where a run is stuck before its end."""
    found = []
    for seed in range(runs):
        rng, run, text = np.random.default_rng(seed), Constraint(table, budget=budget), b""
        for _ in range(length):
            allowed = np.flatnonzero(run.mask())
            assert len(allowed), f"stuck after {text!r}"
            token_id = int(rng.choice(allowed))
            run.advance(token_id)
            if run.done:
                found.append(text)
                break
            text += table.token(token_id)
    return found


def least_budget(table: Table) -> int:
    with pytest.raises(BudgetError) as caught:
        Constraint(table, budget=0)
    return caught.value.needed


# Counting.


@pytest.mark.parametrize(("minimum", "maximum", "longest"), [(12, 8, 3), (25, 17, 5), (13, 8, 3)])
def test_a_count_survives_the_end_of_the_frame_whose_bound_it_was(
    minimum: int, maximum: int, longest: int
) -> None:
    """Where the exact counts of two frames at one place touched, nothing was counted from the first
    region on; if then only the other frame went on, its count was too small, and its bounds off."""
    frames = {
        "many": Frame(40, star(Tick(ByteSet.of(b"ab"))), 41, minimum, minimum + 20),
        "few": Frame(40, star(Tick(A)), 41, 0, maximum),
    }
    start = alternate(concat(Call("many"), Literal(b"x")), concat(Call("few"), Literal(b"y")))
    machine = build_machine(Grammar(start, frames), Meter(), lambda _: longest)
    for before in range(maximum + 1):
        for n in range(minimum - 2, minimum + 23):
            text = b"(" + b"a" * before + b"b" + b"a" * (n - before - 1) + b")x"
            fits = n > before and minimum <= n <= minimum + 20
            assert machine.matches(text) == (fits or n <= before), (before, n)


def test_a_frame_that_cannot_reach_its_minimum_is_an_empty_language() -> None:
    """An assertion failed where a frame's count could not be met at all."""
    frames = {"p": Frame(40, star(A), 41, 5, None), "q": Frame(91, star(Tick(A)), 93, 5, 3)}
    start = alternate(A, Call("p"), concat(Call("q"), B))
    machine = build_machine(Grammar(start, frames))
    assert machine.matches(b"a")
    assert not any(machine.matches(text) for text in (b"(aaaaa)", b"()", b"[aaaa]b", b"b"))


@pytest.mark.parametrize(
    "body",
    [
        Tick(optional(A)),
        concat(Tick(EPSILON), star(Tick(A))),
        concat(Tick(A), Tick(EPSILON), star(Tick(A))),
        star(Tick(Tick(A))),
    ],
)
def test_ticks_that_no_byte_of_their_own_passes_are_refused(body: Node) -> None:
    """A tick before the first byte was lost, and two ticks at one byte counted as one, silently."""
    with pytest.raises(CountError):
        build_machine(Grammar(Call("p"), {"p": Frame(40, body, 41, 1, 30)}))


def test_ticks_count_nothing_where_nothing_is_bounded() -> None:
    """A tick outside a counted frame took the texts after it out of the language."""
    frames = {"p": Frame(40, Tick(optional(A)), 41), "q": Frame(91, B, 93)}
    machine = build_machine(Grammar(concat(star(Tick(Call("q"))), Tick(A), Call("p")), frames))
    assert machine.matches(b"a()")
    assert machine.matches(b"[b][b]a(a)")


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        ({}, "names the frame 'p'"),
        ({"p": Frame(40, Call("z"), 41)}, "names the frame 'z'"),
        ({"p": Frame(300, A, 41)}, "must begin and end with bytes"),
        ({"p": Frame(40, star(Tick(A)), 41, 0, -1)}, "negative bound"),
    ],
)
def test_a_grammar_that_is_no_grammar_is_refused_by_name(
    frames: dict[str, Frame], message: str
) -> None:
    """These ended in a KeyError, an OverflowError and an IndexError."""
    with pytest.raises(ConstrainError, match=message):
        build_machine(Grammar(Call("p"), frames))


# Vocabularies that cannot spell everything.


def test_no_token_closes_a_frame_and_goes_on_into_a_trap() -> None:
    """``)a`` was allowed although ``x`` must follow and no token has it: exit tokens had no filter."""
    frames = {"p": Frame(40, concat(A, optional(Call("p"))), 41)}
    start = concat(Call("p"), alternate(concat(A, Literal(b"x")), B))
    table = compile_table(
        Grammar(start, frames), vocabulary([b"(", b"a", b")", b")a", b"))a", b"b"])
    )
    found = texts(table)
    assert found
    assert all(build_machine(Grammar(start, frames)).matches(text) for text in found)


@pytest.mark.parametrize("missing", list('{}[]",:0e\\'))
def test_a_byte_that_is_missing_takes_only_what_needs_it(missing: str) -> None:
    """Without ``}`` no text of a free JSON value at all could be spelled, it was said."""
    tokens = [token for token in ASCII if token != missing.encode()]
    tokens += [b"}]", b'"}', b"]}"] if missing in "{[" else []
    table = compile_table(True, vocabulary(tokens))
    found = texts(table, budget=30)
    assert len(found) == 40
    for text in found:
        json.loads(text)
    verify(table, sample=30)


# Schemas.


@pytest.mark.parametrize("items", [{"type": "string"}, {}, {"type": "array", "items": {}}])
def test_a_counted_array_does_not_end_with_a_comma(items: Any) -> None:
    """An array with a large ``maxItems`` and no ``minItems`` could end ``,]``."""
    schema = {"type": "array", "items": items, "maxItems": 5000}
    table = compile_table(schema, vocabulary([*ASCII, b",]", b"[]", b"[],"]))
    for text in (b"[", b'["",', b"[[],"):
        run = Constraint(table)
        for byte in text:
            token_id = ASCII.index(bytes((byte,)))
            if not run.allowed(token_id):
                break
            run.advance(token_id)
        else:
            assert run.allowed(ASCII.index(b"]")) == (text == b"[")
        assert not run.allowed(len(ASCII))


STRING = {"type": "string"}
ARRAY = {"type": "array"}


@pytest.mark.parametrize(
    "schema",
    [
        {
            "anyOf": [
                STRING | {"minLength": 120, "maxLength": 120, "pattern": "^(ab)*$"},
                STRING | {"minLength": 104, "maxLength": 108},
            ]
        },
        {
            "anyOf": [
                ARRAY | {"items": {"type": ["integer", "array"]}, "minItems": 140},
                ARRAY | {"items": {"type": ["string", "array"]}, "minItems": 200},
            ]
        },
    ],
    ids=["strings", "arrays"],
)
def test_a_budget_knows_of_counts_that_begin_to_wait_on_the_way(schema: Any) -> None:
    """Where the one of several frames that need not wait came to nothing, the ticks that the others
    still missed were left out: runs got stuck at the end of their budgets."""
    table = compile_table(schema, vocabulary([*ASCII, b"ab", b"aaaa", b"[]", b"],", b"]]"]))
    least = least_budget(table)
    for budget in (least, least + 30):
        found = texts(table, budget, runs=6, length=budget)
        assert len(found) == 6
        for text in found:
            jsonschema.validate(json.loads(text), schema)


def test_a_budget_knows_of_the_longer_of_two_waits() -> None:
    """A frame that waits for 300 was taken to wait for 50 only, as the other one at its place."""
    frames = {
        "p": Frame(40, concat(star(Tick(A)), Literal(b"c" * 60)), 41, 50, None),
        "q": Frame(40, star(Tick(ByteSet.of(b"ab"))), 41, 300, None),
    }
    start = alternate(concat(Call("p"), A), concat(Call("q"), B))
    table = compile_table(Grammar(start, frames), vocabulary([b"(", b")", b"a", b"b", b"c", b"ab"]))
    assert least_budget(table) == 114
    for budget in (114, 200, 304):
        assert len(texts(table, budget, runs=8, length=budget)) == 8
