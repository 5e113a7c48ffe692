"""The portable subset: one regular expression, ``json`` and ``re`` as oracles."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.determinize import language
from constrain.errors import SchemaError, UnsupportedSchema
from constrain.pattern import regex_to_dfa
from constrain.schema import schema_grammar
from constrain.schema.portable import json_schema_to_regex

TOOL = {
    "type": "object",
    "description": "a tool call",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer", "default": 3},
        "units": {"enum": ["C", "F", None]},
        "points": {"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": 2},
        "deep": {"anyOf": [{"type": "boolean"}, {"const": {"a.b": [1, "(x"]}}]},
    },
    "required": ["days", "points"],
    "additionalProperties": False,
}


def matches(schema: Any, text: str) -> bool:
    return re.fullmatch(json_schema_to_regex(schema).encode(), text.encode()) is not None


@pytest.mark.parametrize(
    "text",
    [
        '{"city":"Zürich","days":-3,"units":null,"points":[1.5e3,0],"deep":{"a.b":[1,"(x"]}}',
        '{"days":0,"points":[0]}',
        '{"days":0,"points":[0],"deep":true}',
        '{"city":"\\u00e9\\n😀","days":0,"points":[-0.5]}',
    ],
)
def test_valid_documents_match(text: str) -> None:
    assert matches(TOOL, text)


@pytest.mark.parametrize(
    "text",
    [
        '{"days":1}',
        '{"points":[1],"days":1}',
        '{"days":1,"points":[]}',
        '{"days":1,"points":[1,2,3]}',
        '{"days":01,"points":[1]}',
        '{"days":1,"points":[1],}',
        '{,"days":1,"points":[1]}',
        '{"days": 1,"points":[1]}',
        '{"days":1,"points":[1],"other":1}',
        '{"city":"a\tb","days":1,"points":[1]}',
        '{"days":1,"points":[1.]}',
        '{"days":1,"points":[1],"deep":{"aXb":[1,"(x"]}}',
    ],
)
def test_invalid_documents_do_not_match(text: str) -> None:
    assert not matches(TOOL, text)


@pytest.mark.parametrize(
    ("schema", "keyword"),
    [
        ({"type": "string", "pattern": "a"}, "pattern"),
        ({"type": "string", "maxLength": 3}, "maxLength"),
        ({"$ref": "#"}, "$ref"),
        ({"type": "object", "additionalProperties": True}, "additionalProperties"),
        ({"type": "object", "properties": {}, "required": ["a"]}, "required"),
        ({"type": "date"}, "type"),
        ({"type": ["string", "null"]}, "type"),
        ({"type": "string", "anyOf": [{"type": "string"}]}, "type"),
        ({"enum": [1], "minimum": 0}, "minimum"),
        ({"enum": [1], "const": 1}, "const"),
        ({"type": "integer", "enum": ["a"]}, "enum"),
        ({"type": "array", "items": {"type": "null"}, "minItems": 2, "maxItems": 1}, "maxItems"),
        ({"type": "array"}, None),
        ({}, None),
        (True, None),
    ],
)
def test_anything_else_is_refused_by_name(schema: Any, keyword: str | None) -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        json_schema_to_regex(schema)
    assert caught.value.keyword == keyword


def test_the_pointer_names_the_place() -> None:
    schema = {"type": "object", "properties": {"a/b": {"type": "array", "items": {"x-y": 1}}}}
    with pytest.raises(UnsupportedSchema) as caught:
        json_schema_to_regex(schema)
    assert caught.value.pointer == "/properties/a~1b/items"


@pytest.mark.parametrize("schema", [{"enum": 1}, {"anyOf": []}, {"const": float("nan")}])
def test_malformed_schemas_are_errors(schema: Any) -> None:
    with pytest.raises(SchemaError):
        json_schema_to_regex(schema)


LEAVES = st.sampled_from(
    [{"type": "integer"}, {"type": "boolean"}, {"type": "null"}, {"enum": ["a", "b.", 1]}]
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(
            lambda s, a, b: {"type": "array", "items": s, "minItems": a, "maxItems": a + b},
            inner,
            st.integers(0, 2),
            st.integers(0, 2),
        ),
        st.builds(
            lambda p, r: {
                "type": "object",
                "properties": p,
                "required": [name for name in p if name in r],
                "additionalProperties": False,
            },
            st.dictionaries(st.sampled_from("abc"), inner),
            st.sets(st.sampled_from("abc")),
        ),
        st.lists(inner, min_size=1, max_size=2).map(lambda s: {"anyOf": s}),
    ),
    max_leaves=4,
)


@given(SCHEMAS)
@settings(max_examples=60, deadline=None)
def test_the_full_dialect_agrees_on_the_subset(schema: Any) -> None:
    """The linear graph and the quadratic pattern are the same language, by equal automata."""
    full = language(schema_grammar(schema).grammar.start)
    assert regex_to_dfa(json_schema_to_regex(schema)).same_as(full)


def test_texts_are_what_json_writes() -> None:
    value = {"days": 2, "points": [1.5]}
    assert matches(TOOL, json.dumps(value, separators=(",", ":")))
