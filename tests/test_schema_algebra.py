"""Laws of the Boolean keywords, by equality of automata: the tables are canonical."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from constrain.algebra import contains
from constrain.determinize import language
from constrain.dfa import DFA
from constrain.errors import SchemaError
from constrain.minimize import EMPTY
from constrain.schema import schema_grammar

# Values without free JSON and without additional names: plain automata, exact under complement.
UNIVERSE: dict[str, Any] = {
    "anyOf": [
        {"type": ["null", "boolean", "integer"]},
        {"type": "string", "maxLength": 2},
        {"type": "array", "items": {"enum": [1, "a", None]}, "maxItems": 2},
        {
            "type": "object",
            "properties": {"a": {"enum": [1, "a"]}, "b": {"type": "boolean"}},
            "additionalProperties": False,
        },
    ]
}
LEAVES = st.sampled_from(
    [
        {"type": "integer"},
        {"minimum": 3},
        {"multipleOf": 2},
        {"maxLength": 1},
        {"pattern": "^a"},
        {"enum": ["a", 1, None, [1], {"a": 1}]},
        {"required": ["a"]},
        {"properties": {"a": {"const": 1}}},
        {"maxProperties": 1},
        {"minItems": 1},
        {"items": {"type": "integer"}},
        {"contains": {"const": "a"}},
        {"prefixItems": [{"const": 1}]},
        {"propertyNames": {"const": "b"}},
        {"type": ["object", "string"]},
        True,
        False,
    ]
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=2).map(lambda s: {"allOf": s}),
        st.lists(inner, min_size=1, max_size=3).map(lambda s: {"anyOf": s}),
        st.lists(inner, min_size=1, max_size=3).map(lambda s: {"oneOf": s}),
        inner.map(lambda s: {"not": s}),
    ),
    max_leaves=4,
)
SETTINGS = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def automaton(schema: Any) -> DFA:
    """Return the automaton of a schema within the universe; empty if nothing satisfies it."""
    try:
        grammar = schema_grammar({"allOf": [UNIVERSE, schema]}, open=True).grammar
    except SchemaError as error:
        assert type(error) is SchemaError
        return EMPTY
    assert not grammar.frames
    return language(grammar.start)


def equal(left: Any, right: Any) -> bool:
    return automaton(left).same_as(automaton(right))


@given(SCHEMAS)
@SETTINGS
def test_double_negation(a: Any) -> None:
    assert equal({"not": {"not": a}}, a)


@given(SCHEMAS)
@SETTINGS
def test_a_schema_and_its_negation_share_nothing_and_cover_everything(a: Any) -> None:
    assert automaton({"allOf": [a, {"not": a}]}).is_empty
    assert equal({"anyOf": [a, {"not": a}]}, True)


@given(SCHEMAS, SCHEMAS)
@SETTINGS
def test_de_morgan(a: Any, b: Any) -> None:
    assert equal({"not": {"anyOf": [a, b]}}, {"allOf": [{"not": a}, {"not": b}]})
    assert equal({"not": {"allOf": [a, b]}}, {"anyOf": [{"not": a}, {"not": b}]})


@given(SCHEMAS, SCHEMAS)
@SETTINGS
def test_one_of_two_is_exclusive_or(a: Any, b: Any) -> None:
    either = {"anyOf": [a, b]}
    assert equal({"oneOf": [a, b]}, {"allOf": [either, {"not": {"allOf": [a, b]}}]})


@given(SCHEMAS, SCHEMAS, SCHEMAS)
@SETTINGS
def test_if_then_else_by_its_definition(a: Any, b: Any, c: Any) -> None:
    cases = {"anyOf": [{"allOf": [a, b]}, {"allOf": [{"not": a}, c]}]}
    assert equal({"if": a, "then": b, "else": c}, cases)


@given(SCHEMAS, SCHEMAS, SCHEMAS)
@SETTINGS
def test_intersection_distributes_over_union(a: Any, b: Any, c: Any) -> None:
    spread = {"anyOf": [{"allOf": [a, b]}, {"allOf": [a, c]}]}
    assert equal({"allOf": [a, {"anyOf": [b, c]}]}, spread)


@given(SCHEMAS)
@SETTINGS
def test_closing_leaves_a_subset(a: Any) -> None:
    """What a closed table writes, an open one writes too."""
    whole = automaton(a)
    assume(not whole.is_empty)
    closed = schema_grammar({"allOf": [UNIVERSE, a]}, open=False).grammar
    assert contains(whole, language(closed.start))
