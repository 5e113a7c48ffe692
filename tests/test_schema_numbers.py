"""Number sets as automata over decimal spellings; the oracle is arithmetic with ``Fraction``."""

from __future__ import annotations

import itertools
import json
import re
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.algebra import (
    complement,
    count,
    difference,
    intersection,
    is_empty,
    union,
    union_all,
)
from constrain.determinize import language
from constrain.errors import LimitError
from constrain.schema import numbers

if TYPE_CHECKING:
    from constrain.dfa import DFA

SPELLING = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
SMALL = ["".join(t) for n in range(1, 6) for t in itertools.product("-.0159", repeat=n)]
VALUES = {text: Fraction(text) for text in SMALL if SPELLING.fullmatch(text)}

decimals = st.builds(
    lambda n, k: Fraction(n, 10**k), st.integers(-(10**22), 10**22), st.integers(0, 12)
)
decimals = st.one_of(decimals, st.integers(-30, 30).map(lambda n: Fraction(n, 10)))


def spellings(value: Fraction) -> list[str]:
    """Return some decimal spellings of a value."""
    places = 0
    while value * 10**places % 1:
        places += 1
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    whole, fraction = digits[: len(digits) - places], digits[len(digits) - places :]
    sign = "-" if value < 0 else ""
    found = [f"{sign}{whole}.{fraction}{zeros}" for zeros in ("0", "000")]
    found.append(f"{sign}{whole}.{fraction}" if fraction else sign + whole)
    return found if value else [*found, *("-" + text for text in found)]


def check_small(dfa: DFA, wanted: set[str]) -> None:
    """Compare with a set on all short texts of digits, signs and points."""
    assert {text for text in SMALL if dfa.matches(text.encode())} == wanted


BOUNDS = ["0", "1", "-1", "5", "15", "-150", "0.5", "-0.5", "1.05", "-9.95", "0.05", "500.1"]


@pytest.mark.parametrize("text", BOUNDS)
def test_bounds_on_all_short_spellings(text: str) -> None:
    """Every text of up to five characters, well formed or not."""
    bound = Fraction(text)
    check_small(numbers.at_least(bound), {t for t, v in VALUES.items() if v >= bound})
    check_small(numbers.at_least(bound, True), {t for t, v in VALUES.items() if v > bound})
    check_small(numbers.at_most(bound), {t for t, v in VALUES.items() if v <= bound})
    check_small(numbers.at_most(bound, True), {t for t, v in VALUES.items() if v < bound})
    check_small(numbers.listed([bound]), {t for t, v in VALUES.items() if v == bound})


@pytest.mark.parametrize("text", ["1", "2", "3", "5", "15", "0.5", "0.25", "0.01", "1.5", "0.15"])
def test_multiples_on_all_short_spellings(text: str) -> None:
    """``Fraction`` says what is divisible."""
    step = Fraction(text)
    check_small(numbers.multiple_of(step), {t for t, v in VALUES.items() if v % step == 0})


@given(decimals, decimals)
def test_bounds_of_any_size_are_exact(bound: Fraction, other: Fraction) -> None:
    """Neighbours at the last digit are told apart, in every spelling."""
    last = Fraction(1, 10**12)
    near = [other, bound, bound + last, bound - last, bound + 1, bound - 1, -bound]
    least, less, one = (
        numbers.at_least(bound),
        numbers.at_most(bound, True),
        numbers.listed([bound]),
    )
    for value in near:
        for text in spellings(value):
            data = text.encode()
            assert least.matches(data) == (value >= bound)
            assert less.matches(data) == (value < bound)
            assert one.matches(data) == (value == bound)


@given(st.integers(1, 400), st.integers(0, 3), st.integers(-(10**15), 10**15), st.integers(0, 4))
@settings(max_examples=60)
def test_multiples_of_any_step(n: int, places: int, m: int, more: int) -> None:
    """Random decimals and their neighbours."""
    step = Fraction(n, 10**places)
    dfa = numbers.multiple_of(step)
    for value in (step * m, Fraction(m, 10**more), step * m + Fraction(1, 10**more)):
        for text in spellings(value):
            assert dfa.matches(text.encode()) == (value % step == 0)


def test_bounds_of_64_bits_and_more() -> None:
    """Neighbours that are one and the same as a double."""
    for bound in (2**53, 2**63 - 1, 2**64, 10**40):
        dfa = intersection(numbers.integers(), numbers.at_most(Fraction(bound)))
        assert dfa.matches(str(bound).encode())
        assert not dfa.matches(str(bound + 1).encode())


@given(decimals, decimals)
@settings(max_examples=40)
def test_laws_hold_between_arrays(a: Fraction, b: Fraction) -> None:
    """At most is the complement of more than; a value is what is between itself; and so on."""
    everything = numbers.universe()
    assert complement(numbers.at_most(a), everything).same_as(numbers.at_least(a, True))
    assert intersection(numbers.at_most(a), numbers.at_least(a)).same_as(numbers.listed([a]))
    assert union(numbers.at_most(a), numbers.at_least(b)).same_as(everything) == (a >= b)
    assert is_empty(intersection(numbers.listed([a]), numbers.listed([b]))) == (a != b)


def test_integers_are_the_multiples_of_one() -> None:
    """1.0 is an integer."""
    assert numbers.multiple_of(Fraction(1)).same_as(numbers.integers())
    assert numbers.integers().matches(b"-3.00")
    assert not numbers.integers().matches(b"-3.01")


def test_multiples_of_multiples() -> None:
    """Of 4 and of 6 is of 12; nothing but zero is a multiple of everything small."""
    four, six, twelve = (numbers.multiple_of(Fraction(n)) for n in (4, 6, 12))
    assert intersection(four, six).same_as(twelve)
    below = intersection(
        intersection(four, numbers.at_least(Fraction(-3))), numbers.at_most(Fraction(3))
    )
    assert below.same_as(numbers.listed([Fraction(0)]))


def test_values_lists_a_finite_set() -> None:
    """Each number once, ascending, whatever its spellings."""
    quarter = intersection(
        numbers.multiple_of(Fraction("0.25")),
        intersection(numbers.at_least(Fraction(-1)), numbers.at_most(Fraction("0.6"))),
    )
    expected = [Fraction(n, 4) for n in range(-4, 3)]
    assert numbers.values(quarter, 7) == expected
    assert numbers.values(quarter, 6) is None
    assert numbers.values(numbers.integers(), 10**6) is None


def written(dfa: DFA) -> DFA:
    """Return the language of the text that is written for a set."""
    return language(numbers.node(dfa))


def test_what_is_written_for_unconstrained_numbers() -> None:
    """The whole grammar, and not a text more."""
    number, integer = written(numbers.universe()), written(numbers.integers())
    for text in ("0", "-0", "-0.5", "1e2", "1.5E-3", "10.250", "-12", "1E+10"):
        assert number.matches(text.encode())
        assert integer.matches(text.encode()) == (re.fullmatch("-?[0-9]+", text) is not None)
    for text in ("", "-", "01", "+1", ".5", "1.", "1.e2", "1e", "NaN", "0x1", "1,5", "1e2.5"):
        assert not number.matches(text.encode())
        assert not integer.matches(text.encode())


def test_integers_are_written_without_fraction_and_sets_of_them_without_minus_zero() -> None:
    """Text of an integer is an integer in every draft."""
    dfa = written(intersection(numbers.integers(), numbers.at_most(Fraction(10))))
    assert [t for t in ("10", "0", "-7", "-0", "1.0", "11") if dfa.matches(t.encode())] == [
        "10",
        "0",
        "-7",
    ]


def test_finite_sets_are_written_in_the_shortest_spelling() -> None:
    """An enumeration of numbers has one text for each."""
    three = union(
        numbers.listed([Fraction(1)]),
        union(numbers.listed([Fraction("2.50")]), numbers.listed([Fraction(-3)])),
    )
    dfa = written(three)
    assert count(dfa) == 3
    assert all(dfa.matches(text) for text in (b"1", b"2.5", b"-3"))


@given(decimals)
@settings(max_examples=40)
def test_what_is_written_is_json_and_has_the_value(bound: Fraction) -> None:
    """A set that is not empty has a text, and the texts belong to the set."""
    dfa = numbers.at_least(bound)
    text = written(dfa)
    assert not text.is_empty
    assert is_empty(difference(text, dfa))
    for other in spellings(bound + 1):
        assert json.loads(other) is not None
        assert text.matches(other.encode()) == (other[0] != "-" or other.lstrip("-0.") != "")


def test_what_would_be_too_large_is_an_error() -> None:
    """Remainders, digits, and fractions that no decimal spells."""
    with pytest.raises(LimitError):
        numbers.multiple_of(Fraction("0.123456789"))
    with pytest.raises(LimitError):
        numbers.at_least(Fraction(10) ** 5_000)
    with pytest.raises(ValueError, match="decimal"):
        numbers.at_least(Fraction(1, 3))


@given(st.lists(decimals, max_size=12))
def test_a_list_of_numbers_is_the_union_of_each(members: list[Fraction]) -> None:
    found = numbers.listed(members)
    for member in members:
        assert all(found.matches(text.encode()) for text in spellings(member))
    alone = (numbers.at_least(m) for m in members)
    each = [intersection(dfa, numbers.at_most(m)) for dfa, m in zip(alone, members, strict=True)]
    assert found.same_as(union_all(each))
