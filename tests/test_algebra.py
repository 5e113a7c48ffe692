"""Set algebra on automata, compared with sets of texts and with ``re``."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.algebra import (
    complement,
    contains,
    count,
    difference,
    disjoint,
    equal,
    from_texts,
    intersection,
    is_empty,
    is_finite,
    product,
    shortest,
    union,
    union_all,
    words,
)
from constrain.determinize import language
from constrain.dfa import DFA
from constrain.errors import LimitError
from constrain.limits import Limits, Meter
from constrain.minimize import canonical
from constrain.pattern import parse, regex_to_dfa

TEXTS = [bytes(t) for n in range(6) for t in itertools.product(b"ab", repeat=n)]
UNIVERSE = regex_to_dfa("[ab]*")

atoms = st.sampled_from(["a", "b", "[ab]", "ab", "ba", ""])
patterns = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda p: f"(?:{p[0]})(?:{p[1]})"),
        st.tuples(inner, inner).map(lambda p: f"(?:{p[0]}|{p[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}"])).map(
            lambda p: f"(?:{p[0]}){p[1]}"
        ),
    ),
    max_leaves=6,
)
finite_sets = st.sets(st.sampled_from(TEXTS), max_size=12)


def matched(pattern: str) -> set[bytes]:
    """Return the short texts that ``re`` says match."""
    return {text for text in TEXTS if re.fullmatch(pattern.encode(), text)}


def accepted(dfa: DFA) -> set[bytes]:
    """Return the short texts that the automaton accepts."""
    return {text for text in TEXTS if dfa.matches(text)}


def assert_canonical(dfa: DFA) -> None:
    """Check that minimizing again changes nothing."""
    assert dfa.same_as(canonical(dfa.trans, dfa.accept))


@given(patterns, patterns)
def test_operations_are_those_of_sets(left: str, right: str) -> None:
    """On all texts of up to five letters, ``re`` decides; every result is canonical."""
    a, b = language(parse(left, "bytes")), language(parse(right, "bytes"))
    in_a, in_b = matched(left), matched(right)
    for result, expected in [
        (union(a, b), in_a | in_b),
        (intersection(a, b), in_a & in_b),
        (difference(a, b), in_a - in_b),
        (complement(a, UNIVERSE), set(TEXTS) - in_a),
    ]:
        assert accepted(result) == expected
        assert_canonical(result)


@given(patterns, patterns, patterns)
@settings(max_examples=50)
def test_laws_hold_between_arrays(p: str, q: str, r: str) -> None:
    """De Morgan, distribution, double complement: equal arrays, not just equal answers."""
    a, b, c = (language(parse(pattern, "bytes")) for pattern in (p, q, r))

    def no(dfa: DFA) -> DFA:
        return complement(dfa, UNIVERSE)

    assert no(no(a)).same_as(a)
    assert no(union(a, b)).same_as(intersection(no(a), no(b)))
    assert intersection(a, union(b, c)).same_as(union(intersection(a, b), intersection(a, c)))
    assert difference(a, b).same_as(intersection(a, no(b)))
    assert union_all([a, b, c]).same_as(union(a, union(b, c)))


@given(finite_sets, finite_sets)
def test_relations_are_those_of_finite_sets(left: set[bytes], right: set[bytes]) -> None:
    """Inclusion, equality, disjointness and emptiness need no product to be built."""
    a, b = from_texts(left), from_texts(right)
    assert contains(a, b) == (right <= left)
    assert equal(a, b) == (left == right)
    assert disjoint(a, b) == left.isdisjoint(right)
    assert is_empty(a) == (not left)


@given(finite_sets)
def test_a_finite_language_gives_its_texts_back(texts: set[bytes]) -> None:
    """``from_texts`` is canonical; ``words``, ``count`` and ``shortest`` read it."""
    dfa = from_texts(texts)
    assert_canonical(dfa)
    ordered = sorted(texts, key=lambda text: (len(text), text))
    assert words(dfa, len(texts)) == ordered
    assert count(dfa) == len(texts)
    assert shortest(dfa) == (ordered[0] if ordered else None)
    if texts:
        assert words(dfa, len(texts) - 1) is None


@given(st.sets(st.binary(max_size=4), max_size=40))
def test_finite_languages_over_all_bytes(texts: set[bytes]) -> None:
    """NULs and high bytes are like any other."""
    dfa = from_texts(texts)
    assert words(dfa, 40) == sorted(texts, key=lambda text: (len(text), text))
    assert_canonical(dfa)


def test_infinite_languages_have_no_list_of_words() -> None:
    """A loop is found wherever it is; a shortest text still exists."""
    dfa = regex_to_dfa("xy*z|w")
    assert (count(dfa), words(dfa, 10**9), shortest(dfa)) == (None, None, b"w")


def test_counts_are_exact_when_they_are_huge() -> None:
    """2 ** 400 texts are counted, and not listed."""
    dfa = regex_to_dfa("[ab]{400}")
    assert count(dfa) == 2**400
    assert count(dfa, 1000) == 1000
    assert is_finite(dfa)
    assert words(dfa, 10**6) is None


def test_the_empty_language_is_one_state() -> None:
    """However it comes about."""
    a = regex_to_dfa("a+")
    for empty in (difference(a, a), intersection(a, regex_to_dfa("b+")), from_texts([])):
        assert (empty.n_states, empty.accept.tolist()) == (1, [False])
        assert np.all(empty.trans == -1)
        assert shortest(empty) is None
        assert union(empty, a).same_as(a)
        assert contains(a, empty)


def test_twenty_thousand_values_share_prefixes_and_suffixes() -> None:
    """20,000 texts of one shape need few states, and each is in, its neighbours are not."""
    texts = [f"item-{i:05d}-{'north' if i % 2 else 'south'}".encode() for i in range(20_000)]
    dfa = from_texts(reversed(texts))
    assert dfa.n_states < 100
    assert count(dfa) == 20_000
    assert dfa.matches(b"item-00001-north")
    assert not dfa.matches(b"item-00001-south")
    assert not dfa.matches(b"item-20000-south")


def test_the_number_of_pairs_is_bounded_while_they_are_found() -> None:
    """Two counters of coprime lengths: the product has 9,900 states, of at most 2,000."""
    left, right = regex_to_dfa("(a{99})*"), regex_to_dfa("(a{100})*")
    with pytest.raises(LimitError) as caught:
        product(left, right, "union", Meter(Limits(max_states=2_000)))
    assert caught.value.given < 4_000
    with pytest.raises(LimitError):
        from_texts(
            [bytes([i, j, k]) * 9 for i in range(9) for j in range(9) for k in range(9)],
            Meter(Limits(max_states=1_000)),
        )
