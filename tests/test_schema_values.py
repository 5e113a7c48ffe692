"""JSON values read exactly, compared as JSON compares, and the separators of layouts."""

from __future__ import annotations

import copy
import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from fuzz.subjects import VOCABULARY
from hypothesis import given
from hypothesis import strategies as st

import constrain
from constrain.determinize import language
from constrain.errors import LimitError, SchemaError
from constrain.schema.layout import layout
from constrain.schema.values import equal, load, number
from constrain.syntax import Literal, Node, concat

scalars = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.text("ab", max_size=2))
documents = st.recursive(
    st.one_of(scalars, st.sampled_from([0.5, 1.0, -2.0])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text("ab", max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)


def canonical_text(value: Any) -> str:
    """Return text that is equal for equal values: sorted members, numbers as reduced fractions."""
    if isinstance(value, dict):
        members = sorted((name, canonical_text(member)) for name, member in value.items())
        return "{" + ",".join(f"{name!r}:{text}" for name, text in members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical_text, value)) + "]"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(Fraction(value))
    return repr(value)


@given(documents, documents)
def test_equality_is_that_of_json_schema(left: Any, right: Any) -> None:
    """Numbers by value, members in any order, booleans are no numbers."""
    assert equal(left, right) == (canonical_text(left) == canonical_text(right))
    assert equal(left, copy.deepcopy(left))


def test_equality_of_what_python_confuses() -> None:
    """True is not 1, 0 is not False, in containers too; 1 is 1.0."""
    assert not equal(True, 1)
    assert not equal([0], [False])
    assert not equal({"a": 0}, {"a": False})
    assert not equal("1", 1)
    assert equal({"a": [1.0], "b": 2}, {"b": Decimal("2.00"), "a": [1]})
    assert equal(0.1, Decimal("0.1"))
    assert equal(2**63, Decimal(2**63))
    assert not equal(2**63, 2**63 + 1)


@given(documents)
def test_loading_reads_what_json_writes(value: Any) -> None:
    """Text and bytes."""
    text = json.dumps(value)
    assert equal(load(text), value)
    assert equal(load(text.encode()), value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.1", Fraction(1, 10)),
        ("18446744073709551617", Fraction(2**64 + 1)),
        ("1e400", Fraction(10**400)),
        ("-2.50E-3", Fraction(-25, 10_000)),
        ("-0.0", Fraction(0)),
        ("0e999999", Fraction(0)),
    ],
)
def test_numbers_keep_every_digit(text: str, value: Fraction) -> None:
    """As written, not as a double."""
    assert number(load(text)) == value


def test_a_float_stands_for_the_decimal_that_is_printed() -> None:
    """0.1 is one tenth, although the double is not."""
    assert number(0.1) == Fraction(1, 10)
    assert number(1e22) == 10**22


@pytest.mark.parametrize("value", [True, "1", None, [1]])
def test_what_is_no_number(value: Any) -> None:
    """Booleans least of all."""
    with pytest.raises(TypeError):
        number(value)


def test_numbers_without_a_value_or_with_too_many_digits() -> None:
    """Errors before any memory is taken."""
    for value in (float("nan"), float("inf"), Decimal("-Infinity")):
        with pytest.raises(ValueError, match="JSON"):
            number(value)
    for text in ("1e999999999", "1e-999999999"):
        with pytest.raises(LimitError):
            number(load(text))
    with pytest.raises(LimitError):
        load("1" * 5_000)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a":1,"b":{"c":1,"c":2}}', "two members named 'c'"),
        ("[NaN]", "NaN"),
        ("-Infinity", "Infinity"),
        ("[1,]", "line 1"),
        ("1e99999999999999999999", "out of range"),
        ("", "not JSON"),
        (b"\xff\xfe\xfa", "not JSON"),
        ("[" * 100_000, "nests too deeply"),
    ],
)
def test_what_is_not_json_is_refused(text: str | bytes, message: str) -> None:
    """With what is wrong, and where."""
    with pytest.raises(SchemaError, match=message):
        load(text)


def texts(name: str, separator: str) -> set[str]:
    """Return which of some spellings a separator of a layout has."""
    node: Node = getattr(layout(name), separator)
    dfa = language(concat(Literal(b"x"), node, Literal(b"y")))
    mark = {"comma": ",", "colon": ":"}[separator]
    options = {before + mark + after for before in ("", " ") for after in ("", " ", "  ", "\n")}
    return {option for option in options if dfa.matches(b"x" + option.encode() + b"y")}


@pytest.mark.parametrize(
    ("name", "expected"),
    [("compact", {","}), ("spaced", {", "}), ("flexible", {",", ", "})],
)
def test_layouts(name: str, expected: set[str]) -> None:
    """One space or none after the mark, never before it."""
    assert layout(name).name == name
    assert texts(name, "comma") == expected
    assert texts(name, "colon") == {text.replace(",", ":") for text in expected}


def test_an_unknown_layout_is_an_error_that_names_the_known_ones() -> None:
    """All three."""
    with pytest.raises(ValueError, match="compact, spaced or flexible"):
        layout("pretty")


VALUES = ["a", "b", 1, 1.5, -2, True, None, [1, "a"], {"k": 1}]


def machine(schema: Any) -> tuple[bytes, bytes]:
    """Return the canonical automaton of a schema, which equal languages share."""
    table = constrain.compile(schema, VOCABULARY)
    return table.trans.tobytes(), table.accept.tobytes()


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_constants_with_a_title_each_are_one_enum(keyword: str) -> None:
    titled = [{"const": value, "title": f"title {i}"} for i, value in enumerate(VALUES[:6])]
    rest = [{"enum": VALUES[6:], "description": "the others"}]
    assert machine({keyword: titled + rest}) == machine({"enum": VALUES})


def test_values_of_two_branches_of_one_of_are_in_neither() -> None:
    several = [{"const": "a"}, {"enum": ["b", "a"]}, {"const": 1}, {"const": 1.0}, {"const": "c"}]
    assert machine({"oneOf": several}) == machine({"enum": ["b", "c"]})
    with_others = [{"const": "a"}, {"const": "abc"}, {"type": "string", "maxLength": 1}]
    wanted = {
        "anyOf": [{"const": "abc"}, {"type": "string", "maxLength": 1, "not": {"const": "a"}}]
    }
    assert machine({"oneOf": with_others}) == machine(wanted)


@pytest.mark.parametrize(
    ("branch", "values"),
    [
        ({"const": "a", "type": "string"}, ["a"]),
        ({"const": 1, "type": "integer"}, [1]),
        ({"const": True, "type": "integer"}, []),
        ({"enum": ["a", 1], "type": "string"}, ["a"]),
        ({"enum": ["a", "b"], "const": "b"}, ["b"]),
        ({"enum": ["a", "bb"], "minLength": 2}, ["bb"]),
        ({"enum": [1, None], "not": {"type": "null"}}, [1]),
    ],
)
def test_what_stands_beside_the_values_counts(branch: dict[str, Any], values: list[Any]) -> None:
    for keyword in ("anyOf", "oneOf"):
        both = {keyword: [branch, {"const": "z"}]}
        assert machine(both) == machine({"enum": [*values, "z"]})
