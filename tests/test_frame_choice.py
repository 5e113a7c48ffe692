"""Which parts of a schema become frames, and why; the language does not depend on it."""

from __future__ import annotations

import json
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from oracles.schemas import INSTANCES, machine, schemas
from oracles.unrolling import unrolled

from constrain.errors import ConstrainError, LimitError, UnsupportedSchema
from constrain.frames import build_machine
from constrain.limits import Limits, Meter
from constrain.pipeline import compile as compile_table
from constrain.pipeline import find_machine, schema_source
from constrain.schema import schema_grammar
from constrain.schema.choice import CALL, SAVED, node_size, worthwhile
from constrain.syntax import Literal, Node, Repeat, concat
from constrain.vocabulary import Vocabulary

ASCII = [bytes((byte,)) for byte in range(32, 127)]
CODE = {"type": "string", "pattern": "^[A-Z]{2,40}$"}


def whys(schema: Any, **options: Any) -> list[str]:
    """Return the reasons of the frames of a schema."""
    return [why for _, why in schema_grammar(schema, **options).frames]


def members(count: int, value: Any) -> Any:
    """Return the schema of an object of so many members of one kind."""
    names = [f"m{i}" for i in range(count)]
    return {"type": "object", "properties": dict.fromkeys(names, value), "required": names}


def options(**chosen: Any) -> dict[str, Any]:
    """Return the arguments of ``schema_source`` for a schema alone."""
    nothing = {"relax": (), "refs": (), "cap_length": None, "cap_items": None}
    return {"layout": "compact", "open": False, "frames": "needed", **nothing, **chosen}


# -- the function ----------------------------------------------------------------------------------


def literal(length: int) -> Node:
    return Literal(b"x" * length)


def size(node: Node) -> int:
    return node_size(node, size)


def test_places_multiply_and_what_stands_in_a_frame_stands_once() -> None:
    inner = literal(4 * SAVED)
    outer = concat(literal(1), Repeat(inner, 1, 1), literal(1))
    text = concat(*[Repeat(outer, 1, 1)] * 5)
    parts = {id(inner): "inner", id(outer): "outer"}
    assert worthwhile([(text, 1)], parts) == {"outer": 5}
    assert worthwhile([(text, 1)], {id(inner): "inner"}) == {"inner": 5}
    assert worthwhile([(outer, 3)], parts) == {"outer": 3}
    assert worthwhile([(outer, 1)], parts) == {}


def test_a_part_that_is_large_by_its_own_parts_alone_is_written_out() -> None:
    """Where ``inner`` is a frame for another reason, ``outer`` has nothing left to save."""
    inner = literal(4 * SAVED)
    outer = concat(literal(1), Repeat(inner, 1, 1), literal(1))
    text = concat(*[Repeat(outer, 1, 1)] * 5, Repeat(inner, 1, 1))
    parts = {id(inner): "inner", id(outer): "outer"}
    assert worthwhile([(text, 1)], parts) == {"inner": 6}


@pytest.mark.parametrize("places", [2, 3, 10])
def test_a_call_has_its_price(places: int) -> None:
    """Of ``(places - 1) * size - places * CALL`` just the saving that is asked for, and one less."""
    needed = -(-(SAVED + places * CALL) // (places - 1))
    for length, worth in ((needed, True), (needed - 1, False)):
        part = literal(length)
        text = concat(*[Repeat(part, 1, 1)] * places)
        assert bool(worthwhile([(text, 1)], {id(part): "part"})) == worth
        assert size(text) == places * (length + 1)


# -- the choice ------------------------------------------------------------------------------------


def test_a_string_in_fifty_members_is_one_frame() -> None:
    schema = members(50, CODE)
    assert whys(schema) == ["in 50 places"]
    shared, plain = machine(schema), machine(schema, frames="never")
    assert len(shared.call_target) == 50
    assert plain.is_plain
    assert 4 * shared.n_states < plain.n_states


def test_an_object_in_many_members_is_one_frame_and_its_parts_are_not() -> None:
    assert whys(members(20, members(5, CODE))) == ["in 20 places"]
    assert whys(members(20, members(30, CODE))) == ["in 30 places", "in 20 places"]
    record = {"type": "object", "properties": {"a": CODE, "b": {"type": "integer"}}}
    assert whys(members(60, record)) == ["in 60 places"]


def test_a_small_schema_stays_plain() -> None:
    assert whys(members(12, {"type": "string"})) == []
    assert machine(members(12, {"type": "string"})).is_plain


def test_a_counted_array_has_copies_of_its_items() -> None:
    """Near its bound every count has states of its own, so large items are worth a frame."""
    items = members(3, CODE)
    schema = {"type": "array", "items": items, "maxItems": 5000}
    assert sorted(whys(schema)) == ["counted", "in 8 places"]


def test_parts_that_begin_alike_are_frames_together() -> None:
    """Beside a recursive object the other one is a frame too; elsewhere it is written out."""
    plain = {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]}
    node = {"type": "object", "properties": {"a": {"$ref": "#/$defs/tree"}}, "required": ["a"]}
    schema = {
        "$defs": {"node": node, "tree": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
        "type": "object",
        "properties": {"x": {"anyOf": [{"$ref": "#/$defs/node"}, plain]}, "y": plain},
    }
    result = schema_grammar(schema)
    table = build_machine(result.grammar)  # without a conflict
    assert table.matches(b'{"x":{"a":{"a":null}},"y":{"b":1}}')
    assert table.matches(b'{"x":{"b":1}}')
    assert not table.matches(b'{"x":{"a":{"b":1}}}')
    assert [why for _, why in result.frames] == ["recursive", "recursive"]


def test_parts_that_begin_alike_and_count_nothing_have_one_label() -> None:
    """Nobody asks which of them a text was, so no state has to know."""
    one, two = members(6, {"type": "integer"}), members(7, {"type": "number"})
    table = machine(members(20, {"anyOf": [one, two]}))
    assert table.n_labels == 1
    assert not table.is_plain


def test_the_reason_is_in_the_table() -> None:
    table = compile_table(members(50, CODE), Vocabulary.of([*ASCII, None], (len(ASCII),)))
    assert [frame["why"] for frame in table.meta["frames"]] == ["in 50 places"]


def test_where_a_limit_is_exceeded_everything_becomes_a_frame() -> None:
    schema = members(20, {"type": "string", "maxLength": 4})
    meter = Meter(Limits(max_states=600))
    source = schema_source(schema, "", meter, **options())
    assert not source.grammar.frames
    chosen, table = find_machine(lambda _: source, "needed", meter)
    assert {frame.why for frame in chosen.grammar.frames.values()} == {"large"}
    assert table.n_states <= 600
    never = schema_source(schema, "", meter, **options(frames="never"))
    with pytest.raises(LimitError):
        find_machine(lambda _: never, "never", meter)


# -- the language ----------------------------------------------------------------------------------


@given(schemas())
@settings(max_examples=40, deadline=None)
def test_the_language_is_the_same_whatever_is_shared(schema: Any) -> None:
    """With all that stands twice as frames: unrolled, it is the automaton without any."""
    everything = patch("constrain.schema.choice.SAVED", 1), patch("constrain.schema.choice.CALL", 0)
    try:
        expected = machine(schema)
        with everything[0], everything[1], patch("constrain.schema.lowering.PLAIN", 0):
            shared = machine(schema)
    except ConstrainError:
        return
    try:
        plain = machine(schema, frames="never")
    except UnsupportedSchema:  # it is recursive
        for instance in INSTANCES:
            text = json.dumps(instance, separators=(",", ":")).encode()
            assert shared.matches(text) == expected.matches(text)
        return
    assert unrolled(shared, 8).same_as(plain.dfa)


@pytest.mark.parametrize("mode", ["needed", "always"])
def test_a_shared_schema_is_the_plain_one_unrolled(mode: str) -> None:
    code = {"type": "string", "pattern": "^[A-Z]{2,9}$"}
    pair = {"anyOf": [members(2, code), {"type": "array", "items": code, "maxItems": 3}]}
    schema = members(40, pair)
    shared = machine(schema, frames=mode)
    assert not shared.is_plain
    assert unrolled(shared, 3).same_as(machine(schema, frames="never").dfa)
