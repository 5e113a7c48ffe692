"""What prompts and logs show of public objects: one short line, whatever the arrays hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from hand_tables import brackets_table

import constrain
from constrain.machine import Machine
from constrain.tables import ConstraintBatch
from constrain.tables.format import source_name
from constrain.trie import build_trie

EXAMPLES = Path(__file__).resolve().parent.parent / "cli" / "examples"


@pytest.fixture(scope="module")
def table() -> constrain.Table:
    return constrain.compile(str(EXAMPLES / "tool_call.json"), str(EXAMPLES), cache=False)


def test_a_table_is_shown_by_its_source_and_sizes(table: constrain.Table) -> None:
    assert repr(table) == (
        "<Table of JSON schema 'get_weather': 199 states, 92 rows, 8,000 tokens, plain>"
    )
    assert repr(brackets_table()).endswith("framed>")


def test_a_run_is_shown_by_where_it_stands() -> None:
    index = constrain.TokenIndex(constrain.regex_to_dfa("ab?"), [b"a", b"b", None], eos_id=2)
    run = constrain.Constraint(index, budget=3)
    assert repr(run).startswith("<Constraint in state 0, tokens taken: 0 of 3, on <Table of ")
    run.advance(0)
    assert repr(run).startswith("<Constraint in state 1, may end, tokens taken: 1 of 3, on ")
    run.advance(2)
    assert repr(run).startswith("<Constraint at its end, tokens taken: 2 of 3, on ")
    assert repr(ConstraintBatch([run, None])) == "<ConstraintBatch: rows: 2, free: 1>"
    assert repr(index) == "<TokenIndex: 3 states, 3 tokens>"


def test_everything_public_is_one_short_line(table: constrain.Table) -> None:
    vocabulary = constrain.read_vocabulary(EXAMPLES, cache=False)
    dfa = constrain.regex_to_dfa("(a|b){3}")
    framed = brackets_table()
    shown = [
        table, framed, framed.frames, vocabulary, dfa, Machine.of(dfa), constrain.Constraint(table),
        build_trie(vocabulary.token_bytes, vocabulary.token_offsets),
    ]  # fmt: skip
    for each in shown:
        text = repr(each)
        assert text.startswith(f"<{type(each).__name__}")
        assert len(text) < 200 and "\n" not in text and "array" not in text


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ({"kind": "regex", "text": "a|b"}, "pattern 'a|b'"),
        ({"kind": "regex", "text": "a" * 99}, f"pattern '{'a' * 39}…'"),
        ({"kind": "regex", "text": 7}, "a pattern"),
        ({"kind": "schema", "text": '{"$id":"x"}'}, "JSON schema 'x'"),
        ({"kind": "schema", "text": '{"title":[1]}'}, "a JSON schema"),
        ({"kind": "schema", "text": "true"}, "a JSON schema"),
        ({"kind": "schema", "text": ""}, "a JSON schema"),
        ({"kind": "schema", "text": "[" * 100_000}, "a JSON schema"),
        ({"kind": "grammar", "text": "(...)"}, "a grammar"),
        ({"kind": ["odd"]}, "an unknown language"),
        ("odd", "an unknown language"),
        (None, "an unknown language"),
    ],
)
def test_a_source_is_named_whatever_a_file_says(source: object, name: str) -> None:
    assert source_name({"source": source}) == name
