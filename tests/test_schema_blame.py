"""Which keyword is blamed for a part of an instance."""

from __future__ import annotations

import json
import random
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracles.schemas import INSTANCES, schemas

from constrain.errors import ConstrainError, SchemaError
from constrain.limits import Limits, Meter
from constrain.schema import schema_grammar
from constrain.schema.blame import Judge

POINT = {
    "type": "object",
    "required": ["kind"],
    "properties": {"kind": {"enum": ["a", "b"]}},
    "oneOf": [
        {"properties": {"kind": {"const": "a"}, "size": {"maximum": 5}}},
        {"properties": {"kind": {"const": "b"}, "size": {"minimum": 9, "type": "integer"}}},
    ],
}


def judge(schema: Any, **options: Any) -> Judge:
    return Judge(schema, options.pop("relax", ()), Meter(Limits(timeout=30)), **options)


@pytest.mark.parametrize(
    ("keyword", "wanted", "value", "words"),
    [
        ("type", "integer", "x", "asks for integer"),
        ("type", ["null", "array"], {}, "asks for null or array"),
        ("enum", [1, "a"], 2, 'has other values: [1, "a"]'),
        ("const", "a", "b", 'asks for "a"'),
        ("minimum", 3, 2, "at least 3"),
        ("exclusiveMaximum", 3, 3, "less than 3"),
        ("multipleOf", 0.1, 0.25, "a multiple of 0.1"),
        ("minLength", 2, "a", "at least 2 characters"),
        ("pattern", "^a", "ba", 'in which "^a" is found'),
        ("format", "date", "2026-02-30", 'of the format "date"'),
        ("not", {"const": 1}, 1, "forbids"),
    ],
)
def test_a_keyword_that_forbids_a_value(keyword: str, wanted: Any, value: Any, words: str) -> None:
    schema = {"properties": {"p/q": {"title": "t", keyword: wanted}}}
    found = judge(schema).of_value(("p/q",), ({},), value)
    assert found is not None
    assert found.pointer == f"/properties/p~1q/{keyword}"
    assert words in found.reason
    assert (
        judge(schema, relax=[f"{keyword}@/properties/p~1q"]).of_value(("p/q",), ({},), value)
        is None
    )


def test_alternatives_that_the_instance_contradicts_are_left_out() -> None:
    found = judge(POINT).of_value(("size",), ({"kind": "a"},), 7)
    assert found is not None and found.pointer == "/oneOf/0/properties/size/maximum"
    assert judge(POINT).of_value(("size",), ({"kind": "a"},), 4) is None


def test_alternatives_are_to_blame_only_together() -> None:
    found = judge(POINT).of_value(("size",), ({},), 7)
    assert found is not None and found.pointer == "/oneOf"
    assert [blame.pointer for blame in found.inner] == [
        "/oneOf/0/properties/size/maximum", "/oneOf/1/properties/size/minimum",
    ]  # fmt: skip
    assert judge(POINT).of_value(("size",), ({},), 10) is None


def test_conditions_that_the_instance_meets_are_followed() -> None:
    schema = {
        "if": {"properties": {"a": {"const": 1}}, "required": ["a"]},
        "then": {"properties": {"b": {"type": "null"}}},
        "else": {"properties": {"b": {"type": "string"}}},
        "dependentSchemas": {"c": {"properties": {"b": {"const": None}}}},
    }
    found = judge(schema).of_value(("b",), ({"a": 1},), "x")
    assert found is not None and found.pointer == "/then/properties/b/type"
    found = judge(schema).of_value(("b",), ({"a": 2},), None)
    assert found is not None and found.pointer == "/else/properties/b/type"
    found = judge(schema).of_value(("b",), ({"c": 0},), "x")
    assert found is not None and found.pointer == "/dependentSchemas/c/properties/b/const"


def test_references_arrays_and_patterns_are_walked_through() -> None:
    schema = {
        "$defs": {"n": {"patternProperties": {"^k": {"prefixItems": [{}, {"$ref": "#/$defs/n"}],
                                                     "items": {"maxLength": 1}}},
                        "additionalProperties": {"minimum": 3}}},
        "$ref": "#/$defs/n",
    }  # fmt: skip
    path = ("k1", 1, "k2", 2)
    found = judge(schema).of_value(path, ({}, [0], {}, [0, 0]), "ab")
    assert found is not None
    assert found.pointer == "/$defs/n/patternProperties/^k/items/maxLength"
    found = judge(schema).of_value(("z",), ({},), 1)
    assert found is not None and found.pointer == "/$defs/n/additionalProperties/minimum"


@pytest.mark.parametrize(
    ("schema", "partial", "pointer"),
    [
        ({"properties": {"a": {}}, "additionalProperties": False}, {}, "/additionalProperties"),
        ({"properties": {"x": False}}, {}, "/properties/x"),
        ({"propertyNames": {"pattern": "^a"}}, {}, "/propertyNames/pattern"),
        ({"maxProperties": 1}, {"a": 1}, "/maxProperties"),
        ({"maxProperties": 2}, {"a": 1}, None),
        ({"properties": {"x": {}}, "additionalProperties": False}, {}, None),
        ({"patternProperties": {"x": {}}, "additionalProperties": False}, {}, None),
    ],
)
def test_a_member_that_is_not_allowed(schema: Any, partial: Any, pointer: str | None) -> None:
    found = judge(schema).of_member((), (partial,), "x")
    assert (None if found is None else found.pointer) == pointer


def test_a_member_without_a_word_in_the_schema_is_our_choice() -> None:
    schema = {"properties": {"o": {"properties": {"a": {}}}}}
    assert judge(schema).undeclared(("o",), ({}, {}), "x") == "/properties/o"
    assert judge(schema).undeclared(("o",), ({}, {}), "a") is None
    assert judge(schema, open_=True).undeclared(("o",), ({}, {}), "x") is None
    assert judge({"type": "object"}).undeclared((), ({},), "x") is None


def test_an_end_that_comes_too_early() -> None:
    schema = {"properties": {"l": {"minItems": 2}}, "required": ["a", "b"],
              "dependentRequired": {"a": ["c"]}}  # fmt: skip
    found = judge(schema).of_end((), ({"a": 1},))
    assert found is not None and (found.pointer, found.reason) == ("/required", 'asks for "b"')
    found = judge(schema).of_end((), ({"a": 1, "b": 1},))
    assert found is not None and found.pointer == "/dependentRequired"
    found = judge(schema).of_end(("l",), ({}, [1]))
    assert found is not None and found.pointer == "/properties/l/minItems"


def test_an_item_too_many() -> None:
    found = judge({"maxItems": 1}).of_more((), ([1],))
    assert found is not None and found.pointer == "/maxItems"
    found = judge({"prefixItems": [{}], "items": False}).of_more((), ([1],))
    assert found is not None and found.pointer == "/items"
    assert judge({"maxItems": 2}).of_more((), ([1],)) is None


def test_an_item_that_repeats_another() -> None:
    schema = {"items": {"enum": [1, 2]}, "uniqueItems": True}
    found = judge(schema).of_value((1,), ([1],), 1)
    assert found is not None and found.pointer == "/uniqueItems"
    assert judge(schema).of_value((1,), ([1],), 2) is None


@given(schemas(), st.integers(0, 1 << 30))
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
def test_a_valid_instance_is_never_blamed(schema: Any, seed: int) -> None:
    """A keyword is blamed for a whole instance only if a validator finds fault with it."""
    try:
        ours = judge(schema)
        ours.reader.formula(ours.reader.documents.root)
    except ConstrainError:
        return
    validator = jsonschema.validators.validator_for(schema)(schema)
    for instance in random.Random(seed).sample(INSTANCES, 12):
        found = ours.of_whole((), (), instance)
        if found is not None:
            assert not validator.is_valid(instance), (json.dumps(instance), found)


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#", "enum": []},
        {"allOf": [{"$ref": "#"}], "enum": []},
        {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/x"}],
         "$defs": {"x": {"enum": [], "$ref": "#/$defs/x"}}},
    ],
)  # fmt: skip
def test_a_schema_that_allows_nothing_may_refer_to_itself(schema: Any) -> None:
    """Once its clauses were looked for without end."""
    if "anyOf" in schema:
        found = judge(schema).of_value((), (), 1)
        assert found is not None and found.pointer == "/anyOf"
    else:
        with pytest.raises(SchemaError, match="enum lists no value"):
            schema_grammar(schema)
