"""The oracle that writes instances: its rule on examples that can be checked by hand."""

from __future__ import annotations

import json

import pytest
from oracles.instance_layout import (
    AS_WRITTEN,
    BESIDE_FIRST,
    Arranger,
    candidates,
    load,
    permutations,
    text_of,
)


def test_declared_names_first_then_required_ones_then_the_others() -> None:
    """At every level; the others keep their order."""
    schema = {"properties": {"b": {"properties": {"y": {}, "x": {}}}, "a": {}}, "required": ["r"]}
    instance = {"o": 0, "r": 1, "a": 2, "b": {"z": 3, "x": 4, "y": 5}}
    text = text_of(Arranger(schema).arranged(instance))
    assert text == '{"b":{"y":5,"x":4,"z":3},"a":2,"r":1,"o":0}'


def test_references_items_and_valid_branches_are_followed() -> None:
    """The branch of ``anyOf`` that the instance satisfies comes before the others."""
    schema = {
        "$defs": {"pair": {"properties": {"q": {}, "p": {}}}},
        "items": {
            "anyOf": [
                {"properties": {"k": {"const": 1}, "a": {}, "b": {}}},
                {"properties": {"b": {}, "a": {}, "k": {"const": 2}}},
            ]
        },
        "prefixItems": [{"$ref": "#/$defs/pair"}],
    }
    instance = [{"p": 1, "q": 2}, {"a": 0, "k": 2, "b": 0}, {"b": 0, "a": 0, "k": 1}]
    text = text_of(Arranger(schema).arranged(instance))
    assert text == '[{"q":2,"p":1},{"b":0,"a":0,"k":2},{"k":1,"a":0,"b":0}]'


def test_modes_differ_where_subschemas_stand_side_by_side() -> None:
    """Own names first, in the order written, and own names last."""
    schema = {
        "allOf": [{"properties": {"c": {}}}],
        "properties": {"a": {}},
        "anyOf": [{"properties": {"b": {}}}],
    }
    arranger, instance = Arranger(schema), {"a": 0, "b": 0, "c": 0}
    assert list(arranger.arranged(instance)) == ["a", "c", "b"]
    assert list(arranger.arranged(instance, AS_WRITTEN)) == ["c", "a", "b"]
    assert list(arranger.arranged(instance, BESIDE_FIRST)) == ["c", "b", "a"]


def test_recursive_schemas_end() -> None:
    """A schema that refers to itself in place, and one that does so deeper."""
    schema = {"$ref": "#", "properties": {"b": {"$ref": "#"}, "a": {}}}
    assert text_of(Arranger(schema).arranged({"a": 1, "b": {"a": 1, "b": 2}})) == (
        '{"b":{"b":2,"a":1},"a":1}'
    )


@pytest.mark.parametrize(
    ("text", "given", "plain"),
    [
        ("1.0", "1.0", "1"),
        ("1e3", "1E+3", "1000"),
        ("-0.50", "-0.50", "-0.5"),
        ("12345678901234567890", "12345678901234567890", "12345678901234567890"),
        ('"é\\n\\/"', '"é\\n/"', '"é\\n/"'),
        ('"\\ud800"', '"\\ud800"', '"\\ud800"'),
        ("[true, null, {}]", "[true,null,{}]", "[true,null,{}]"),
    ],
)
def test_how_values_are_spelled(text: str, given: str, plain: str) -> None:
    """As given, and plain."""
    assert text_of(load(text)) == given
    assert text_of(load(text), plain=True) == plain
    assert json.loads(plain) == json.loads(text)


def test_candidates_begin_with_the_likeliest_and_do_not_repeat() -> None:
    """The order of the schema, the order given, then plain numbers."""
    texts = candidates(Arranger({"properties": {"b": {}, "a": {}}}), load('{"a":1.0,"b":2}'))
    assert texts == ['{"b":2,"a":1.0}', '{"a":1.0,"b":2}', '{"b":2,"a":1}', '{"a":1,"b":2}']


def test_permutations_are_all_and_bounded() -> None:
    """Objects within objects and arrays."""
    texts = {text_of(order) for order in permutations({"a": 1, "b": [{"c": 1, "d": 2}]})}
    assert len(texts) == 4
    assert len(list(permutations({str(i): i for i in range(9)}, 50))) == 50
