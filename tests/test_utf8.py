"""Code point sets as bytes: exactly the spellings of their members, nothing else."""

from __future__ import annotations

import random

import pytest
from oracles import table_filling

from constrain.determinize import language
from constrain.syntax import NEVER, ByteSet, Graph, Literal
from constrain.utf8 import (
    SCALARS,
    code_points,
    complement,
    difference,
    normalise,
    sequences,
)

CORNERS = [
    0, 1, 0x7E, 0x7F, 0x80, 0xBF, 0xC0, 0x7FE, 0x7FF, 0x800, 0x83F, 0x840, 0xFFF, 0x1000, 0xCFFF,
    0xD000, 0xD7FF, 0xE000, 0xEFFF, 0xFFFF, 0x10000, 0x1003F, 0x3FFFF, 0x40000, 0xFFFFF, 0x100000,
    0x10FFFF,
]  # fmt: skip

ILL_FORMED = [
    "80", "bf", "c0", "c080", "c1bf", "c2", "df", "e0", "e080", "e08080", "e09fbf", "e0a0", "eda080",
    "edbfbf", "ef", "f0", "f0808080", "f08fbfbf", "f09080", "f4908080", "f5808080", "f8", "ff",
    "c2c2", "c220", "e28228", "f0908041",
]  # fmt: skip


def spelled(ranges):
    return {chr(c).encode() for first, last in ranges for c in range(first, last + 1)}


def accepted(products):
    """All spellings of a list of products, counted with multiplicity."""
    found = []
    for product in products:
        words = [b""]
        for first, last in product:
            words = [word + bytes([byte]) for word in words for byte in range(first, last + 1)]
        found += words
    return found


@pytest.mark.parametrize("first", CORNERS)
def test_products_spell_each_code_point_once(first):
    """From every corner to the next few code points, and across every corner below it."""
    for low in {max(first - 70, 0), first}:
        ranges = difference([(low, min(first + 70, 0x10FFFF))], [(0xD800, 0xDFFF)])
        found = accepted(sequences(ranges))
        assert sorted(found) == sorted(spelled(ranges))
        assert len(set(found)) == len(found)


def test_all_of_unicode_and_nothing_else():
    """Every code point is accepted, and the number of accepted texts is that of code points."""
    dfa = language(code_points(SCALARS))
    for code in [*range(0, 0xD800, 7), *range(0xE000, 0x110000, 61), *CORNERS]:
        assert dfa.matches(chr(code).encode())
    assert count_texts(dfa) == 0x110000 - 0x800
    for data in ILL_FORMED:
        assert not dfa.matches(bytes.fromhex(data)), data


def count_texts(dfa, state=0):
    """The number of texts of an automaton without loops."""
    total = int(dfa.accept[state])
    for bits, target in dfa.edges[state]:
        total += bits.bit_count() * count_texts(dfa, target)
    return total


@pytest.mark.parametrize("seed", range(3))
def test_random_sets(seed):
    rng = random.Random(seed)
    for _ in range(40):
        ends = sorted(rng.choices(CORNERS, k=2 * rng.randint(1, 4)))
        ranges = [(a, b) for a, b in zip(ends[::2], ends[1::2], strict=True)]
        dfa = language(code_points(ranges))
        members = difference(ranges, [(0xD800, 0xDFFF)])
        assert count_texts(dfa) == sum(b - a + 1 for a, b in members)
        for code in [c + d for c in CORNERS for d in (-1, 0, 1)]:
            if 0 <= code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF:
                inside = any(a <= code <= b for a, b in members)
                assert dfa.matches(chr(code).encode()) == inside, hex(code)


@pytest.mark.parametrize("seed", range(3))
def test_the_graph_is_deterministic_and_shares_suffixes(seed):
    """Its points are the states of the minimal automaton: nothing is left to merge or to split."""
    rng = random.Random(50 + seed)
    for _ in range(30):
        ends = sorted(rng.sample(range(0x80, 0xD800), 6))
        node = code_points(list(zip(ends[::2], ends[1::2], strict=True)))
        assert isinstance(node, Graph)
        leaving = {}
        for source, label, _target in node.edges:
            assert isinstance(label, ByteSet)
            assert not leaving.get(source, 0) & label.bits
            leaving[source] = leaving.get(source, 0) | label.bits
        dfa = language(node)
        assert dfa.n_states == node.n_points
        assert table_filling.is_minimal(dfa.trans, dfa.accept)


def test_simple_sets_are_simple_nodes():
    assert code_points([]) == NEVER
    assert code_points([(0xD800, 0xDFFF)]) == NEVER
    assert code_points([(0xE9, 0xE9)]) == Literal(b"\xc3\xa9")
    assert code_points([(0x30, 0x39), (0x61, 0x61)]) == ByteSet.of(b"0123456789a")
    assert code_points([(0x61, 0x7A), (0x30, 0x39)]) == code_points([(0x30, 0x39), (0x61, 0x7A)])


def test_range_sets():
    assert normalise([(3, 5), (1, 2), (7, 9), (8, 20)]) == ((1, 5), (7, 20))
    assert difference([(0, 10)], [(0, 0), (3, 4), (9, 20)]) == ((1, 2), (5, 8))
    assert difference([(0, 2), (5, 6)], []) == ((0, 2), (5, 6))
    assert complement([]) == SCALARS
    assert complement(SCALARS) == ()
    assert complement(complement([(65, 90)])) == ((65, 90),)
    assert complement([(0, 0xFFFF)]) == ((0x10000, 0x10FFFF),)
