"""The front end by its rules: references, drafts, validation, refusals, choices of text, sizes."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from oracles.schemas import machine

from constrain.errors import LimitError, RelaxError, SchemaError, UnsupportedSchema
from constrain.limits import Limits, Meter
from constrain.schema import schema_grammar
from constrain.schema.support import DRAFTS, KEYWORDS, support_table

DRAFT = {
    "4": "http://json-schema.org/draft-04/schema#",
    "6": "http://json-schema.org/draft-06/schema#",
    "7": "http://json-schema.org/draft-07/schema#",
    "2019-09": "https://json-schema.org/draft/2019-09/schema",
    "2020-12": "https://json-schema.org/draft/2020-12/schema",
}


TOO_SHORT = {"type": "string", "minLength": 5, "maxLength": 3}


def accepts(schema: Any, text: str, **options: Any) -> bool:
    return machine(schema, **options).matches(text.encode())


def refusal(schema: Any, **options: Any) -> SchemaError:
    with pytest.raises(SchemaError) as caught:
        schema_grammar(schema, **options)
    return caught.value


# -- references -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reference",
    ["#/$defs/a~1b", "#/$defs/a%7E1b", "#/%24defs/a~1b", "#here", "item.json",
     "http://example.org/item.json", "#/$defs/a~1b/properties/deep"],
)  # fmt: skip
def test_references_by_pointer_anchor_and_identifier(reference: str) -> None:
    schema = {
        "$id": "http://example.org/root.json",
        "$defs": {
            "a/b": {
                "$anchor": "here",
                "type": "integer",
                "properties": {"deep": {"type": "integer"}},
            },
            "c": {"$id": "item.json", "type": "integer"},
        },
        "$ref": reference,
    }
    assert accepts(schema, "1")
    assert not accepts(schema, '"1"')


def test_documents_beside_the_schema_resolve_other_uris() -> None:
    schema = {"items": {"$ref": "http://example.org/a.json#/$defs/x"}, "type": "array"}
    other = {
        "$id": "http://example.org/a.json",
        "$defs": {"x": {"$ref": "#/$defs/y"}, "y": {"const": 1}},
    }
    for given in ((None, other), ("http://example.org/a.json", {"$defs": other["$defs"]})):
        assert accepts(schema, "[1,1]", refs=[given])
        assert not accepts(schema, "[2]", refs=[given])


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"$ref": "#/$defs/missing"}, ""),
        ({"items": {"$ref": "#nowhere"}}, "/items"),
        ({"properties": {"a": {"$ref": "http://example.org/x.json"}}}, "/properties/a"),
    ],
)
def test_a_reference_to_nowhere_is_an_error_with_its_place(schema: Any, pointer: str) -> None:
    error = refusal(schema)
    assert (error.pointer, error.keyword) == (pointer, "$ref")
    assert not isinstance(error, UnsupportedSchema)


def test_the_meta_schema_is_known() -> None:
    assert accepts(
        {"$ref": "http://json-schema.org/draft-07/schema#/definitions/simpleTypes"}, '"null"'
    )


@pytest.mark.parametrize(("draft", "kept"), [("4", False), ("7", False), ("2019-09", True)])
def test_siblings_of_a_reference_count_from_2019_on(draft: str, kept: bool) -> None:
    schema = {
        "$schema": DRAFT[draft],
        "definitions": {"i": {"type": "integer"}},
        "properties": {"a": {"$ref": "#/definitions/i", "minimum": 5}},
    }
    assert accepts(schema, '{"a":1}') is not kept
    assert accepts(schema, '{"a":7}')


def test_an_unused_definition_costs_nothing() -> None:
    """A refusal in a definition that is never used is none."""
    assert accepts({"$defs": {"x": {"pattern": "(?=a)"}}, "type": "null"}, "null")


# -- drafts and validation --------------------------------------------------------------------


def test_draft_4_exclusive_bounds_are_booleans() -> None:
    schema = {"$schema": DRAFT["4"], "type": "integer", "minimum": 3, "exclusiveMinimum": True}
    assert [n for n in range(6) if accepts(schema, str(n))] == [4, 5]
    assert refusal({**schema, "$schema": DRAFT["6"]}).keyword == "exclusiveMinimum"
    assert refusal({"$schema": DRAFT["4"], "exclusiveMinimum": 3}).keyword == "exclusiveMinimum"


@pytest.mark.parametrize(("draft", "enforced"), [("4", False), ("6", True), ("2020-12", True)])
def test_a_keyword_of_a_later_draft_is_no_constraint(draft: str, enforced: bool) -> None:
    assert accepts({"$schema": DRAFT[draft], "const": 1}, "2") is not enforced


@pytest.mark.parametrize(
    ("schema", "pointer", "keyword"),
    [
        ({"type": "strnig"}, "", "type"),
        ({"properties": {"a/b": {"minLength": -1}}}, "/properties/a~1b", "minLength"),
        ({"$defs": {"unused": {"required": "a"}}}, "/$defs/unused", "required"),
        ({"anyOf": []}, "", "anyOf"),
        ({"allOf": [{"multipleOf": 0}]}, "/allOf/0", "multipleOf"),
        ({"items": [{"type": "null"}]}, "", "items"),
        ({"properties": {"a": 1}}, "", "properties"),
        ({"enum": {"a": 1}}, "", "enum"),
        ({"required": ["a", "a"]}, "", "required"),
        ({"title": 1}, "", "title"),
        (3, "", None),
    ],
)
def test_malformed_schemas_are_refused_with_pointer(
    schema: Any, pointer: str, keyword: str | None
) -> None:
    error = refusal(schema)
    assert type(error) is SchemaError
    assert (error.pointer, error.keyword) == (pointer, keyword)


def test_what_stands_in_data_is_no_schema() -> None:
    data = {"type": "nonsense", "$ref": "#/nowhere"}
    schema = {"default": data, "examples": [data], "enum": [data, 1], "x-unknown": data}
    assert accepts(schema, '{"type":"nonsense","$ref":"#/nowhere"}')
    assert accepts(schema, "1")


def test_numbers_beyond_floating_point_are_exact() -> None:
    schema = {
        "type": "number",
        "multipleOf": Decimal("0.1"),
        "minimum": 10**20,
        "maximum": 10**20 + 1,
    }
    assert accepts(schema, "100000000000000000000.3")
    assert not accepts(schema, "100000000000000000000.35")
    assert not accepts(schema, "99999999999999999999.9")


# -- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "pointer", "keyword"),
    [
        ({"properties": {"a": {"pattern": "(?=a)"}}}, "/properties/a", "pattern"),
        ({"patternProperties": {"(a)\\1": {}}}, "", "patternProperties"),
        ({"format": "regex"}, "", "format"),
        ({"type": "array", "uniqueItems": True}, "", "uniqueItems"),
        ({"not": {"type": "array", "uniqueItems": True}}, "/not", "uniqueItems"),
        ({"$schema": "http://json-schema.org/draft-03/schema#"}, "", "$schema"),
    ],
)
def test_what_cannot_be_enforced_is_refused_by_name(
    schema: Any, pointer: str, keyword: str
) -> None:
    error = refusal(schema)
    assert isinstance(error, UnsupportedSchema)
    assert (error.pointer, error.keyword) == (pointer, keyword)


@pytest.mark.parametrize(
    "relax", ["uniqueItems", "uniqueItems@/properties/a", "uniqueItems@#/properties/a"]
)
def test_relax_leaves_a_keyword_out_and_says_so(relax: str) -> None:
    schema = {
        "properties": {"a": {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}}
    }
    assert schema_grammar(schema, relax=[relax]).relaxed == ["uniqueItems@#/properties/a"]
    assert accepts(schema, '{"a":[1,1]}', relax=[relax])


@pytest.mark.parametrize(
    ("relax", "words"),
    [
        (
            "maximum@/nowhere",
            "there is no schema at #/nowhere; the schema has maximum@/properties/a",
        ),
        ("maximum@#/properties", "at #/properties there is a, b; the schema has maximum@"),
        ("maximum@", "at # there is properties; the schema has maximum@/properties/a"),
        (
            "pattern@/properties/a",
            "at #/properties/a there is type, maximum; the schema has no pat",
        ),
    ],
)
def test_relax_at_a_place_without_the_keyword_is_an_error(relax: str, words: str) -> None:
    schema = {"properties": {"a": {"type": "integer", "maximum": 3}, "b": {}}}
    error = refusal(schema, relax=[relax])
    assert isinstance(error, RelaxError)
    assert words in error.reason
    assert error.relax == relax


def test_relax_at_a_place_of_another_document() -> None:
    schema = {"$ref": "http://example.org/a.json"}
    other = ("http://example.org/a.json", {"properties": {"a": {"maximum": 3}}})
    relax = "maximum@http://example.org/a.json#/properties/a"
    assert accepts(schema, '{"a":7}', refs=[other], relax=[relax])
    assert not accepts(schema, '{"a":7}', refs=[other])


def test_what_can_be_relaxed_says_so() -> None:
    error = refusal({"format": "regex"})
    assert isinstance(error, UnsupportedSchema) and error.relaxable
    assert str(error).endswith("; relax=['format'] leaves it unenforced")
    assert not refusal({"$schema": DRAFT["4"].replace("04", "03")}).relaxable  # type: ignore[attr-defined]


def test_relax_names_only_what_it_met() -> None:
    assert schema_grammar({"type": "null"}, relax=["pattern"]).relaxed == []


@pytest.mark.parametrize(
    ("schema", "pointer", "words"),
    [
        (False, "", "false allows nothing"),
        ({"type": "integer", "minimum": 3, "maximum": 2}, "/maximum", "clashes with minimum 3"),
        ({"allOf": [{"type": "string"}, {"type": "null"}]}, "/allOf/1/type",
         'clashes with type "string" at #/allOf/0/type'),
        ({"type": "object", "properties": {"a": {"enum": [1], "type": "string"}}, "required": ["a"]},
         "/properties/a/enum", 'enum [1] clashes with type "string": no value satisfies both'),
        ({"type": "object", "required": ["b"], "propertyNames": {"maxLength": 0}}, "/required",
         "'b'"),
        ({"type": "string", "pattern": "^abc$", "maxLength": 2}, "/maxLength",
         'maxLength 2 clashes with pattern "^abc$"'),
        ({"type": "object", "required": ["a"], "properties": {"a": {
            "type": "object", "required": ["b"], "properties": {"b": {
                "type": "array", "minItems": 1, "items": TOO_SHORT}}}}},
         "/properties/a/properties/b/items/maxLength", "maxLength 3 clashes with minLength 5"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"minLength": 5}, TOO_SHORT]}}},
         "/$defs/a/allOf/1/maxLength", "clashes"),
        ({"type": "array", "prefixItems": [{}, TOO_SHORT], "minItems": 2},
         "/prefixItems/1/maxLength", "clashes"),
        ({"type": "array", "contains": TOO_SHORT}, "/contains/maxLength", "clashes"),
        ({"anyOf": [TOO_SHORT, {"type": "null", "enum": [1]}]}, "/anyOf",
         "none of the 2 branches of anyOf can be satisfied; of the first: maxLength 3 clashes"),
        ({"type": "object", "minProperties": 2, "properties": {"a": {}},
          "additionalProperties": False}, "/additionalProperties", "clashes with minProperties 2"),
        ({"const": "\ud800"}, "/const", "lone surrogate"),
        ({"enum": ["a\udc00"]}, "/enum", "lone surrogate"),
        ({"enum": []}, "/enum", "lists no value"),
    ],
)  # fmt: skip
def test_an_unsatisfiable_schema_says_what_clashes_where(
    schema: Any, pointer: str, words: str
) -> None:
    error = refusal(schema)
    assert type(error) is SchemaError
    assert error.pointer + (f"/{error.keyword}" if error.keyword else "") == pointer
    assert words in error.reason


# -- choices of text --------------------------------------------------------------------------


def test_members_come_in_the_order_of_declaration() -> None:
    schema = {
        "properties": {"b": {"type": "integer"}, "a": {"type": "integer"}},
        "required": ["z", "a"],
        "patternProperties": {"^x": {"type": "integer"}},
        "type": "object",
    }
    assert accepts(schema, '{"b":1,"a":2,"z":3,"x1":4}')
    for text in ('{"a":2,"b":1,"z":3}', '{"z":3,"a":2}', '{"x1":4,"a":2,"z":3}'):
        assert not accepts(schema, text)


def test_an_object_that_declares_names_is_closed_unless_open() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    assert not accepts(schema, '{"a":1,"x":[]}')
    assert accepts(schema, '{"a":1,"x":[]}', open=True)
    assert accepts({**schema, "additionalProperties": True}, '{"a":1,"x":[]}')
    assert accepts({"type": "object"}, '{"x":[]}')


def test_closing_happens_after_combining() -> None:
    """Branches of allOf that each declare a name do not shut each other's out."""
    schema = {
        "allOf": [
            {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
            {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]},
        ]
    }
    assert accepts(schema, '{"a":1,"b":2}')
    assert not accepts(schema, '{"a":1,"b":2,"c":3}')


@pytest.mark.parametrize("text", ['{"a":"x"}', '{"\\u0061":"x"}', '{"a":1,"a":"x"}'])
def test_additional_names_never_shadow_a_declared_one(text: str) -> None:
    schema = {"properties": {"a": {"type": "integer"}}, "type": "object"}
    assert not accepts(schema, text, open=True)
    assert accepts(schema, '{"a":1,"aa":"x"}', open=True)


@pytest.mark.parametrize("minimum", [2, 3, 4])
def test_repeated_additional_names_count_once(minimum: int) -> None:
    """A reader keeps one of two equal names; the table never relies on the other."""
    table = machine({"type": "object", "minProperties": minimum})
    repeated = '{"a":1,"a":2,"a":3,"a":4}'
    different = '{"a":1,"b":2,"c":3,"d":4}'
    assert not table.matches(repeated.encode())
    assert table.matches(different.encode())
    assert not table.matches(b'{"a":1}')


def test_a_required_witness_is_not_overwritten() -> None:
    """ "Some additional member is no integer": the last member of its name must be so."""
    schema = {"type": "object", "not": {"additionalProperties": {"type": "integer"}}}
    table = machine(schema)
    assert table.matches(b'{"x":1,"y":"s"}')
    assert not table.matches(b'{"y":"s","y":1}')


@pytest.mark.parametrize(
    ("layout", "texts"),
    [
        ("compact", ['{"a":[1,2],"b":null}']),
        ("spaced", ['{"a": [1, 2], "b": null}']),
        ("flexible", ['{"a":[1,2],"b":null}', '{"a": [1,2], "b":null}', '{"a": [1, 2], "b": null}']),
    ],
)  # fmt: skip
def test_layouts(layout: str, texts: list[str]) -> None:
    schema = {"const": {"a": [1, 2], "b": None}}
    spellings = ['{"a":[1,2],"b":null}', '{"a": [1,2], "b":null}', '{"a": [1, 2], "b": null}']
    assert [t for t in spellings if accepts(schema, t, layout=layout)] == texts


# -- sizes ------------------------------------------------------------------------------------


def test_large_bounds_are_counted_not_copied() -> None:
    schema = {
        "type": "object",
        "properties": {f"p{i}": {"type": "string", "maxLength": 60_000} for i in range(20)},
        "required": ["p0"],
    }
    result = schema_grammar(schema)
    assert [why for _, why in result.frames] == ["counted"]
    table = machine(schema)
    assert table.matches(b'{"p0":"' + b"x" * 60_000 + b'"}')
    assert not table.matches(b'{"p0":"' + b"x" * 60_001 + b'"}')


def test_large_arrays_and_maps_are_counted() -> None:
    array = machine(
        {"type": "array", "items": {"type": "string"}, "minItems": 900, "maxItems": 1000}
    )
    for count, fits in ((899, False), (900, True), (1000, True), (1001, False)):
        assert array.matches(json.dumps([""] * count, separators=(",", ":")).encode()) == fits
    members = machine(
        {"type": "object", "additionalProperties": {"const": 1}, "maxProperties": 500}
    )
    for count, fits in ((0, True), (1, True), (500, True), (501, False)):
        value = {f"k{i}": 1 for i in range(count)}
        assert members.matches(json.dumps(value, separators=(",", ":")).encode()) == fits


def test_caps_tighten_larger_bounds_and_say_so() -> None:
    schema = {
        "type": "array",
        "items": {"type": "string", "maxLength": 1000, "minLength": 1},
        "maxItems": 50,
    }
    result = schema_grammar(schema, cap_length=5, cap_items=2)
    assert len(result.notes) == 2
    assert accepts(schema, '["abcde","b"]', cap_length=5, cap_items=2)
    assert not accepts(schema, '["abcdef"]', cap_length=5, cap_items=2)
    assert not accepts(schema, '["a","b","c"]', cap_length=5, cap_items=2)
    assert schema_grammar({"type": "string"}, cap_length=5).notes == []


def test_an_object_is_linear_in_its_members() -> None:
    """Twice the optional members give about twice the states, not four times."""

    def states(count: int) -> int:
        names = {f"name{i:03}": {"type": "boolean"} for i in range(count)}
        return machine({"type": "object", "properties": names}).dfa.n_states

    assert states(60) < 2.6 * states(30)


def test_equal_subschemas_are_lowered_once() -> None:
    """A subschema that is copied many times becomes one frame when all objects are frames."""
    item = {"type": "object", "properties": {"x": {"type": "integer"}}, "title": "copy"}
    schema = {
        "type": "object",
        "properties": {f"p{i}": {**item, "title": str(i)} for i in range(9)},
    }
    assert len(schema_grammar(schema, frames="always").frames) == 2


def test_limits_name_what_was_reached() -> None:
    deep: Any = {"type": "null"}
    for _ in range(40):
        deep = {"items": deep}
    with pytest.raises(LimitError, match="levels of nested schemas"):
        schema_grammar(deep, meter=Meter(Limits(max_depth=30)))


# -- the table of keywords --------------------------------------------------------------------


def test_the_support_table_lists_every_keyword_once() -> None:
    rows = support_table()
    assert [row[0] for row in rows] == list(KEYWORDS)
    assert all(row[1] and row[2] for row in rows)
    assert all(0 <= k.since <= k.until < len(DRAFTS) for k in KEYWORDS.values())


@pytest.mark.parametrize(
    "branches", [[True, True], [{"type": "integer"}, {"type": "integer"}], [{}, True, False]]
)
def test_branches_of_one_of_that_always_hold_together(branches: list[object]) -> None:
    with pytest.raises(SchemaError, match="exactly one branch of oneOf"):
        schema_grammar({"oneOf": branches})
