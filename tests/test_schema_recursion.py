"""Recursive schemas: no depth limit, every reference kind, and recursions that cannot end."""

from __future__ import annotations

import json
from typing import Any

import pytest
from oracles.schemas import machine, validator

from constrain.errors import SchemaError, UnsupportedSchema
from constrain.machine import Machine

TREE: dict[str, Any] = {
    "$defs": {
        "tree": {
            "type": "object",
            "properties": {
                "value": {"type": "integer"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
            },
            "required": ["value"],
            "additionalProperties": False,
        }
    },
    "$ref": "#/$defs/tree",
}


def compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def agree(schema: Any, table: Machine, *instances: Any) -> None:
    """Require that the table judges instances as ``jsonschema`` does."""
    judge = validator(schema)
    for instance in instances:
        assert table.matches(compact(instance)) == judge.is_valid(instance), instance


def nested(depth: int, leaf: Any) -> Any:
    for _ in range(depth):
        leaf = {"value": 1, "children": [leaf]}
    return leaf


@pytest.mark.parametrize("depth", [0, 1, 5, 60])
def test_a_tree_has_no_depth_limit(depth: int) -> None:
    table = machine(TREE)
    assert not table.is_plain
    assert table.matches(compact(nested(depth, {"value": 1})))
    assert not table.matches(compact(nested(depth, {"value": "1"})))
    assert not table.matches(compact(nested(depth, {"value": 1}))[:-1])


@pytest.mark.parametrize("schema", [{}, True, {"type": "object"}, {"type": "array"}])
def test_free_json_values_nest_freely(schema: Any) -> None:
    table = machine(schema)
    deep: Any = 1.5e3
    for i in range(40):
        deep = {"k": [deep, None, "x\n"]} if i % 2 else [{}, deep]
    for value in (deep, [deep], {}, [], "s", 1):
        kind = schema.get("type") if isinstance(schema, dict) else None
        fits = kind is None or isinstance(value, dict if kind == "object" else list)
        assert table.matches(compact(value)) == fits


def test_frames_never_refuses_recursion_by_name() -> None:
    with pytest.raises(UnsupportedSchema, match="contains itself"):
        machine(TREE, frames="never")


def test_mutual_recursion() -> None:
    schema = {
        "$defs": {
            "even": {"anyOf": [{"const": 0}, {"type": "array", "items": {"$ref": "#/$defs/odd"}}]},
            "odd": {"type": "object", "additionalProperties": {"$ref": "#/$defs/even"}},
        },
        "$ref": "#/$defs/even",
    }
    agree(schema, machine(schema), 0, [], [{}], [{"a": 0}], [{"a": [{}]}], [0], {}, [{"a": {}}])


def test_all_of_across_recursive_references_terminates() -> None:
    """The intersection of two recursive schemas is a recursive schema."""
    schema = {
        "$defs": {
            "a": {
                "type": "object",
                "properties": {"next": {"$ref": "#/$defs/a"}, "x": {"minimum": 1}},
                "additionalProperties": False,
            },
            "b": {
                "type": "object",
                "properties": {"next": {"$ref": "#/$defs/b"}, "x": {"type": "integer"}},
            },
        },
        "allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}],
    }
    deep = {"next": {"next": {"x": 2}}}
    bad = {"next": {"next": {"x": 0}}}
    half = {"next": {"next": {"x": 1.5}}}
    agree(schema, machine(schema), {}, deep, bad, half, {"x": 1}, {"next": 1})


def test_one_of_across_recursive_references_is_exact() -> None:
    """Exactly one of "all leaves are integers" and "all leaves are at most 5", at any depth."""
    schema = {
        "$defs": {
            "whole": {
                "anyOf": [
                    {"type": "integer"},
                    {"type": "array", "items": {"$ref": "#/$defs/whole"}},
                ]
            },
            "small": {
                "anyOf": [
                    {"type": "number", "maximum": 5},
                    {"type": "array", "items": {"$ref": "#/$defs/small"}},
                ]
            },
        },
        "oneOf": [{"$ref": "#/$defs/whole"}, {"$ref": "#/$defs/small"}],
    }
    values = (7, 1.5, 5, 7.5, [], [7], [7, 1], [1.5, [1]], [[[9]]], [[[1]]], [[0.5, [9]]], [[9], 3])
    agree(schema, machine(schema), *values)


def test_not_of_a_recursive_schema() -> None:
    schema = {
        "$defs": {
            "nest": {"type": "array", "items": {"$ref": "#/$defs/nest"}},
            "any": {"anyOf": [{"const": 1}, {"type": "array", "items": {"$ref": "#/$defs/any"}}]},
        },
        "$ref": "#/$defs/any",
        "not": {"$ref": "#/$defs/nest"},
    }
    agree(schema, machine(schema), 1, [], [[]], [1], [[], 1], [[[]]], [[[1]], []], [[[2]]])


def test_recursion_through_pattern_properties_and_items() -> None:
    schema = {
        "type": "object",
        "patternProperties": {"^n": {"$ref": "#"}, "^l": {"items": {"$ref": "#"}, "type": "array"}},
        "additionalProperties": {"type": "null"},
    }
    agree(
        schema,
        machine(schema),
        *(
            {},
            {"n": {}},
            {"n": 1},
            {"l": [{"n": {"x": None}}]},
            {"l": [{"n": {"x": 1}}]},
            {"x": {}},
        ),
    )


def test_any_of_frames_at_one_place_are_told_apart_at_the_end() -> None:
    """Two recursive objects begin alike; only the end says which they were."""
    schema = {
        "$defs": {
            "a": {
                "type": "object",
                "properties": {"k": {"anyOf": [{"$ref": "#/$defs/a"}, {"const": "a"}]}},
                "required": ["k"],
                "additionalProperties": False,
            },
            "b": {
                "type": "object",
                "properties": {"k": {"anyOf": [{"$ref": "#/$defs/b"}, {"const": "b"}]}},
                "required": ["k"],
                "additionalProperties": False,
            },
        },
        "type": "object",
        "properties": {
            "x": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}]},
        },
        "required": ["x"],
    }
    chains = [
        {"k": "a"},
        {"k": "b"},
        {"k": {"k": "a"}},
        {"k": {"k": {"k": "b"}}},
        {"k": {"k": "c"}},
    ]
    agree(schema, machine(schema), *({"x": chain} for chain in chains))


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}, ""),
        ({"$defs": {"l": {"type": "array", "items": {"$ref": "#/$defs/l"}, "minItems": 1}},
          "$ref": "#/$defs/l"}, "/$defs/l"),
        ({"$ref": "#"}, ""),
        ({"allOf": [{"anyOf": [{"$ref": "#/allOf/0"}]}]}, "/allOf/0"),
    ],
)  # fmt: skip
def test_recursion_that_cannot_end_is_an_error_with_its_pointer(schema: Any, pointer: str) -> None:
    with pytest.raises(SchemaError) as caught:
        machine(schema)
    assert not isinstance(caught.value, UnsupportedSchema)
    assert caught.value.pointer == pointer


def test_an_optional_member_that_cannot_end_is_left_out() -> None:
    schema = {
        "$defs": {"e": {"type": "array", "items": {"$ref": "#/$defs/e"}, "minItems": 1}},
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/e"}, "b": {"const": 1}},
    }
    table = machine(schema)
    assert table.matches(b'{"b":1}')
    assert not table.matches(b'{"a":[]}')


TAGS = {"type": "array", "items": {"enum": [1]}, "uniqueItems": True, "minItems": 2}


@pytest.mark.parametrize(
    ("part", "pointer", "words"),
    [
        (
            {"properties": {"x": {}, "tags": TAGS}, "required": ["tags"]},
            "/properties/tags",
            "no value",
        ),
        ({"properties": {"c": {"$ref": "#/$defs/t"}}, "required": ["c"]}, "", "can never end"),
    ],
)
def test_what_has_no_finite_text_is_told_at_its_place(
    part: dict[str, object], pointer: str, words: str
) -> None:
    schema = {"$defs": {"t": {"type": "object", **part}}, "$ref": "#/$defs/t"}
    with pytest.raises(SchemaError, match=words) as caught:
        machine(schema)
    assert caught.value.pointer == f"/$defs/t{pointer}"
