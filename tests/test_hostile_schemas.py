"""Schemas from strangers: text that is no schema, values that no text holds, keywords of any type."""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
from typing import Any

import pytest
from fuzz import inputs
from fuzz.subjects import VOCABULARY, run_randomly

import constrain
from constrain.errors import ConstrainError, LimitError, SchemaError
from constrain.limits import Limits
from constrain.schema import schema_grammar
from constrain.schema.values import require_json

LIMITS = Limits(timeout=5.0, max_states=5000)
TEXTS = [
    (b"", "not JSON"),
    (b"{", "not JSON"),
    (b"\xff\xfe", "not JSON|must be an object"),
    (b"\x80{}", "not JSON"),
    (b"[]", "must be an object"),
    (b"null", "must be an object"),
    (b'"x"', "must be an object"),
    (b"NaN", "NaN is not a JSON number"),
    (b'{"const": -Infinity}', "Infinity is not a JSON number"),
    (b'{"const": NaN}', "NaN is not a JSON number"),
    (b'{"type":"string","type":"integer"}', "two members named 'type'"),
    (b'{"const":{"a":1,"a":1}}', "two members named 'a'"),
    (b'{"minimum":1e9999999999999999999}', "out of range"),
    (b'{"$ref":"#/$defs/none"}', "none"),
    (b'{"$ref":"#"}', "refers to itself"),
    (b'{"pattern":"("}', "unclosed group"),
    (b'{"pattern":"\\ud800"}', "surrogate"),
    (b'{"type":"odd"}', "odd"),
    (b'{"minItems":1.5}', "a whole number"),
    (b'{"maxLength":-1}', "a whole number"),
    (b'{"minProperties":true}', "a whole number"),
    (b'{"const":"\\ud800"}', "lone surrogate"),
]


@pytest.mark.parametrize(("text", "message"), TEXTS)
def test_text_that_is_no_schema(text: bytes, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        constrain.compile(text, VOCABULARY)


@pytest.mark.parametrize(
    "text",
    [
        b'{"minimum":1e5000}',
        b'{"minItems":1E+999999999999}',
        b'{"minItems":1e-999999999999}',
        b'{"const":' + b"1" * 5000 + b"}",
        b'{"const":1e-9999}',
    ],
)
def test_numbers_of_too_many_digits(text: bytes) -> None:
    with pytest.raises(LimitError, match="digits of a number"):
        constrain.compile(text, VOCABULARY)


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        (b'{"enum":["\\udfff",1]}', b"1"),
        (
            b'{"properties":{"\\ud800":{"const":1}},"required":["\\ud800"],"type":"object"}',
            b'{"\\ud800":1}',
        ),
        (b'{"type":"integer","minimum":1e400}', b"1" + b"0" * 400),
        (b'{"type":"string","maxLength":1e30}', b'"a"'),
        (b'{"type":"array","maxItems":9223372036854775807}', b"[]"),
        (b'{"multipleOf":1e-300,"type":"integer"}', b"7"),
    ],
)
def test_odd_schemas_that_can_be_satisfied(text: bytes, accepted: bytes) -> None:
    try:
        table = constrain.compile(text, VOCABULARY, limits=LIMITS)
    except constrain.UnsupportedSchema:
        pytest.skip("refused by name, which is as good")
    run = constrain.Constraint(table)
    for byte in accepted:
        run.advance(byte)
    assert run.is_complete()


def itself() -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    schema["items"] = schema
    return schema


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        b"x",
        object(),
        {1: 2},
        {"a": {None: 1}},
        [{"b": {3}}],
        (1, 2),
        itself(),
        1j,
    ],
)
def test_values_that_no_json_text_holds(value: Any) -> None:
    for schema in (
        {"const": value},
        {"enum": [value]},
        {"default": [value]},
        {"properties": {"a": value}},
    ):
        with pytest.raises(SchemaError):
            constrain.compile(schema, VOCABULARY)
        with pytest.raises(SchemaError):
            constrain.compile({"$ref": "http://x/y"}, VOCABULARY, refs=[("http://x/y", schema)])


def test_values_that_are_too_many_or_too_long() -> None:
    twice: Any = 1
    for _ in range(40):
        twice = [twice, twice]
    with pytest.raises(LimitError, match="values in a schema"):
        constrain.compile({"const": twice}, VOCABULARY, limits=Limits(max_nodes=10_000))
    for number in (10**5000, -(10**5000)):
        with pytest.raises(LimitError, match="digits"):
            require_json({"const": number}, 100)


WORDS = sorted(set(inputs.KEYWORDS) - {"title", "x-odd", "nullable", "contentEncoding"})


@pytest.mark.parametrize("word", WORDS)
def test_keywords_of_any_type(word: str) -> None:
    """Each keyword with each value, alone: a table that runs, or one of our errors."""
    values = [
        v
        for v in (*inputs.ODD, '"("', "[1]", '["a","a"]', '{"a":1}', "[{}]", "[true]")
        if _is_json(v)
    ]
    ends = set()
    for value in values:
        try:
            table = constrain.compile(f'{{"{word}":{value}}}'.encode(), VOCABULARY, limits=LIMITS)
        except ConstrainError as error:
            ends.add(type(error).__name__)
        else:
            run_randomly(table)
            ends.add("ok")
    assert ends - {"ok"}, "some value must be refused"


@pytest.mark.parametrize("seed", range(2))
def test_pairs_of_keywords_with_odd_values(seed: int) -> None:
    pairs = list(itertools.combinations(WORDS, 2))[seed::40]
    for i, (one, other) in enumerate(pairs):
        values = [inputs.ODD[(i * 7 + k * 11) % 20] for k in range(2)]
        text = f'{{"{one}":{values[0]},"{other}":{values[1]}}}'
        try:
            constrain.compile(text.encode(), VOCABULARY, limits=LIMITS)
        except ConstrainError:
            continue


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return "NaN" in text or "Infinity" in text
    return True


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("something opens a connection")

    monkeypatch.setattr(socket, "socket", fail)
    monkeypatch.setattr(socket, "create_connection", fail)
    for reference in (
        "http://example.org/x",
        "https://example.org/x#/a",
        "file:///etc/passwd",
        "//x/y",
    ):
        for schema in (
            {"$ref": reference},
            {"$id": reference, "$ref": "y"},
            {"$schema": reference},
        ):
            with contextlib.suppress(SchemaError):
                constrain.compile(schema, VOCABULARY)
    with pytest.raises(SchemaError, match=r"example\.org"):
        constrain.compile({"$ref": "http://example.org/x"}, VOCABULARY)


@pytest.mark.parametrize("identifier", ["#x", "#", "::", "http://[", "%zz", "a b", "\ud800"])
def test_identifiers_that_are_no_uri_of_a_document(identifier: str) -> None:
    """The fuzzer found the first: an error of the resolver went through."""
    schema = {"$id": identifier, "$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}}
    with contextlib.suppress(ConstrainError):
        schema_grammar(schema)
    for draft in (
        "http://json-schema.org/draft-07/schema#",
        "http://json-schema.org/draft-04/schema#",
    ):
        with contextlib.suppress(ConstrainError):
            schema_grammar(schema | {"$schema": draft, "id": identifier})
