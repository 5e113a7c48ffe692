"""Minimization against the table of distinguishable pairs, and numbering against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import table_filling

from constrain.determinize import language
from constrain.dfa import DEAD, DFA
from constrain.minimize import canonical, minimal_dfa
from constrain.subsets import grouped
from constrain.syntax import (
    ByteSet,
    Concat,
    Embed,
    Graph,
    Literal,
    Node,
    Repeat,
    alternate,
    concat,
    star,
)


def table(n: int, letters: int, cells: list[int]) -> np.ndarray:
    trans = np.full((n, 256), DEAD, dtype=np.int32)
    trans[:, 97 : 97 + letters] = np.asarray(cells).reshape(n, letters)
    return trans


@st.composite
def automata(draw: st.DrawFn) -> DFA:
    """Any deterministic tables, loops, unreachable and dead states included."""
    n, letters = draw(st.integers(1, 9)), draw(st.integers(1, 3))
    targets = st.integers(-1, n - 1)
    cells = draw(st.lists(targets, min_size=n * letters, max_size=n * letters))
    accept = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    return DFA(table(n, letters, cells), np.asarray(accept))


def texts(dfa: DFA, length: int) -> set[bytes]:
    """All accepted texts up to a length, by walking."""
    found, level = set(), {b"": 0}
    for _ in range(length + 1):
        found |= {text for text, state in level.items() if dfa.accept[state]}
        level = {
            text + bytes((byte,)): int(dfa.trans[state, byte])
            for text, state in level.items()
            for byte in np.flatnonzero(dfa.trans[state] != DEAD).tolist()
        }
    return found


def breadth_first_order(dfa: DFA) -> list[int]:
    order = [0]
    for state in order:
        for target in dfa.trans[state].tolist():
            if target != DEAD and target not in order:
                order.append(target)
    return order


@given(automata())
@settings(max_examples=150, deadline=None)
def test_canonical_is_minimal_equal_and_breadth_first(dfa: DFA) -> None:
    result = canonical(dfa.trans, dfa.accept)
    assert texts(result, 6) == texts(dfa, 6)
    if result.is_empty:
        assert result.n_states == 1
        return
    assert table_filling.is_minimal(result.trans, result.accept)
    reachable = breadth_first_order(dfa)
    rank = {state: i for i, state in enumerate(reachable)}
    trimmed = np.asarray(
        [[rank.get(t, DEAD) for t in dfa.trans[s].tolist()] for s in reachable], dtype=np.int32
    )
    assert result.n_states == table_filling.n_classes(trimmed, dfa.accept[reachable])
    assert breadth_first_order(result) == list(range(result.n_states))
    assert canonical(result.trans, result.accept).same_as(result)


@given(automata(), st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_renaming_states_changes_nothing(dfa: DFA, random) -> None:  # type: ignore[no-untyped-def]
    names = list(range(1, dfa.n_states))
    random.shuffle(names)
    order = np.asarray([0, *names])
    rank = np.append(np.argsort(order), DEAD)
    renamed = DFA(rank[dfa.trans[order]].astype(np.int32), dfa.accept[order])
    one, other = canonical(dfa.trans, dfa.accept), canonical(renamed.trans, renamed.accept)
    assert one.same_as(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # A loop entered through an unrolled copy of itself.
        (star(Literal(b"ab")), alternate(Concat(()), concat(Literal(b"ab"), star(Literal(b"ab"))))),
        # Two loops that are one, each before the same tail.
        (
            concat(alternate(Literal(b"x"), Literal(b"y")), star(Literal(b"a")), Literal(b"z")),
            alternate(
                concat(Literal(b"x"), star(Literal(b"a")), Literal(b"z")),
                concat(Literal(b"y"), Repeat(Literal(b"a"), 0, None), Literal(b"z")),
            ),
        ),
        # A loop of six that is a loop of two, and one of three: both are a loop of one.
        (star(ByteSet.of(b"a")), alternate(star(Literal(b"a")), star(Literal(b"aaaaaa")))),
        (Repeat(ByteSet.of(b"ab"), 2, 4), Concat((Repeat(ByteSet.of(b"ab"), 1, 2),) * 2)),
    ],
)
def test_equal_languages_give_equal_arrays(one: Node, other: Node) -> None:
    assert language(one).same_as(language(other))


def test_graph_is_its_paths_and_embed_is_its_automaton() -> None:
    shared = Literal(b"s")
    graph = Graph(
        4,
        (
            (0, Literal(b"a"), 1),
            (0, Literal(b"b"), 1),
            (1, shared, 2),
            (2, Concat(()), 3),
            (2, Literal(b","), 1),
        ),
        0,
        3,
    )
    expected = concat(ByteSet.of(b"ab"), shared, star(concat(Literal(b","), shared)))
    assert language(graph).same_as(language(expected))
    embedded = concat(Literal(b"<"), Embed(language(expected)), Literal(b">"))
    assert language(embedded).same_as(language(concat(Literal(b"<"), expected, Literal(b">"))))


@given(st.lists(st.tuples(st.integers(1, 255), st.integers(0, 5)), max_size=8))
def test_grouped_splits_into_disjoint_sets(moves: list[tuple[int, int]]) -> None:
    groups = grouped(moves)
    seen = 0
    for bits, targets in groups:
        assert bits and not seen & bits
        seen |= bits
        for byte in range(8):
            if bits >> byte & 1:
                expected = {target for members, target in moves if members >> byte & 1}
                assert set(targets) == expected
    assert all(bits & ~seen == 0 for bits, _ in moves)


def test_a_long_chain_takes_no_recursion() -> None:
    dfa = language(Repeat(ByteSet.of(b"a"), 5000, 5000))
    assert dfa.n_states == 5001
    assert dfa.matches(b"a" * 5000) and not dfa.matches(b"a" * 4999)


def edges(text: str) -> dict[int, int]:
    """Return the edges of a state written like ``a1 b5``: letter and target."""
    return {int(edge[1:]): 1 << ord(edge[0]) for edge in text.split()}


@pytest.mark.parametrize("first", ["p1 q2", "q1 p2", "p1 q2 r5", "q1 p2 r5", "p1 q2 r4"])
@pytest.mark.parametrize("outside", ["y6|z6", "z6|y6"])
def test_loops_that_differ_in_the_second_way_out(first: str, outside: str) -> None:
    """One way out agrees, by which the loop that is known is found; the other leads elsewhere."""
    four, five = outside.split("|")
    begin = " ".join(reversed(first.split()))  # what is met first has the smaller number
    states = [begin, "a1 b3 c4", "a2 b3 c5", "x6", four, five, ""]
    dfa = minimal_dfa([not text for text in states], [edges(text) for text in states])
    one, two = first[0], first[3]
    assert dfa.n_states == 7
    for letter, end in ((one, four[0]), (two, five[0])):
        assert dfa.matches(f"{letter}aac{end}".encode())
        assert dfa.matches(f"{letter}abx".encode())
        assert not dfa.matches(f"{letter}ac{'z' if end == 'y' else 'y'}".encode())


@pytest.mark.parametrize("first", ["p1 q3", "q1 p3"])
def test_loops_that_look_alike_but_for_where_they_lead(first: str) -> None:
    """In one the ways out differ, so its two states do; in the other they are one state."""
    states = [first, "a2 b5", "a1 b6", "a4 b5", "a3 b5", "x7", "y7", ""]
    for order in ([0, 1, 2, 3, 4, 5, 6, 7], [0, 3, 4, 1, 2, 5, 6, 7]):
        moves: list[dict[int, int]] = [{} for _ in states]
        for state, text in enumerate(states):
            moves[order[state]] = {order[t]: bits for t, bits in edges(text).items()}
        dfa = minimal_dfa([False] * 7 + [True], moves)
        assert dfa.n_states == 7
        two_states, one_state = first[0], first[3]
        for letter, text, is_in in [
            (two_states, "abx", False), (two_states, "aby", True), (two_states, "bx", True),
            (one_state, "abx", True), (one_state, "aby", False), (one_state, "aabx", True),
        ]:  # fmt: skip
            assert dfa.matches((letter + text).encode()) == is_in
