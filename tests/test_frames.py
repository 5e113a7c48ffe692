"""Frames: a machine cut at a depth is the automaton of the tree cut at that depth, exactly."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.unrolling import inlined, unrolled

from constrain.calls import CountError, FrameConflict
from constrain.determinize import language
from constrain.errors import LimitError
from constrain.frames import build_machine
from constrain.limits import Limits, Meter
from constrain.machine import Machine
from constrain.pipeline import compile
from constrain.syntax import (
    NEVER,
    Alternate,
    ByteSet,
    Call,
    Concat,
    Frame,
    Grammar,
    Literal,
    Node,
    Repeat,
    Tick,
    alternate,
    concat,
    optional,
    star,
)
from constrain.vocabulary import Vocabulary

BRACKETS = {"p": (b"(", b")"), "q": (b"(", b")"), "r": (b"[", b"]")}


def literal(text: str) -> Node:
    return Literal(text.encode())


def listed(item: Node) -> Node:
    return optional(concat(item, star(concat(literal(","), item))))


def nodes(names: list[str]) -> st.SearchStrategy[Node]:
    """Trees over a, b and calls; frames may overlap at one place and recurse through each other."""
    leaves = st.sampled_from([literal("a"), literal("b"), *map(Call, names)])
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(Concat),
            st.tuples(inner, inner).map(Alternate),
            inner.map(optional),
            inner.map(star),
        ),
        max_leaves=4,
    )


@st.composite
def grammars(draw: st.DrawFn) -> Grammar:
    names = sorted(draw(st.sets(st.sampled_from(sorted(BRACKETS)), min_size=1)))
    frames = {
        name: Frame(BRACKETS[name][0][0], draw(nodes(names)), BRACKETS[name][1][0])
        for name in names
    }
    return Grammar(draw(nodes(names)), frames)


@given(grammars())
@settings(max_examples=150, deadline=None)
def test_unrolled_machine_equals_inlined_tree(grammar: Grammar) -> None:
    machine = build_machine(grammar)
    for depth in range(1, 4):
        assert unrolled(machine, depth).same_as(language(inlined(grammar, depth)))


def json_values() -> Grammar:
    digits = Repeat(ByteSet.span(0x30, 0x39), 1, None)
    text = concat(literal('"'), star(ByteSet.of(b"ab")), literal('"'))
    value = alternate(text, digits, literal("null"), Call("object"), Call("array"))
    member = concat(text, literal(":"), value)
    return Grammar(
        value,
        {
            "object": Frame(ord("{"), listed(member), ord("}"), why="free"),
            "array": Frame(ord("["), listed(value), ord("]"), why="free"),
        },
    )


def test_json_values_of_any_depth() -> None:
    machine = build_machine(json_values())
    assert machine.n_labels == 1
    assert {frame.name for frame in machine.frames} == {"object", "array"}
    deep = b'[{"a":' * 2000 + b"1" + b"}]" * 2000
    assert machine.matches(deep)
    assert not machine.matches(deep[:-1])
    assert not machine.matches(deep + b"]")
    assert not machine.matches(b'[{"a":1]}')
    for depth in range(1, 5):
        assert unrolled(machine, depth).same_as(language(inlined(json_values(), depth)))


def test_frames_at_one_place_have_labels() -> None:
    """Two frames run together; what comes back decides how the text may go on."""
    a, b = literal("a"), literal("b")
    frames = {"p": Frame(40, star(a), 41), "q": Frame(40, alternate(a, b), 41)}
    start = alternate(concat(Call("p"), literal("x")), concat(Call("q"), literal("y")))
    machine = build_machine(Grammar(start, frames))
    assert machine.n_labels == 3
    accepted = {
        text
        for text in (b"(a)x", b"(a)y", b"(b)y", b"()x", b"(b)x", b"()y", b"(aa)y")
        if machine.matches(text)
    }
    assert accepted == {b"(a)x", b"(a)y", b"(b)y", b"()x"}


def test_equal_frames_become_one() -> None:
    frames = {name: Frame(40, star(literal("a")), 41) for name in ("p", "q")}
    both = build_machine(Grammar(concat(Call("p"), Call("q")), frames))
    one = build_machine(Grammar(concat(Call("p"), Call("p")), frames))
    assert both.n_states == one.n_states
    assert both.n_labels == 1


def test_recursion_without_an_end_is_the_empty_language() -> None:
    frames = {"p": Frame(40, Call("q"), 41), "q": Frame(91, Call("p"), 93)}
    machine = build_machine(Grammar(Call("p"), frames))
    assert machine.dfa.is_empty
    rescued = build_machine(Grammar(alternate(Call("p"), literal("a")), frames))
    assert rescued.is_plain or rescued.matches(b"a")
    assert not rescued.matches(b"([([")


def test_a_literal_and_a_frame_that_begin_alike_are_refused_by_name() -> None:
    grammar = Grammar(alternate(literal("(z)"), Call("p")), {"p": Frame(40, literal("a"), 41)})
    with pytest.raises(FrameConflict) as caught:
        build_machine(grammar)
    assert caught.value.byte == 40
    assert caught.value.frames == ("p",)


def counted(minimum: int, maximum: int | None) -> tuple[Grammar, Node]:
    """A counted frame of two-byte and one-byte characters, and the same written out."""
    character = alternate(ByteSet.of(b"ab"), concat(literal("u"), ByteSet.of(b"xy")))
    frame = Frame(34, star(Tick(character)), 34, minimum, maximum)
    plain = concat(literal('x"'), Repeat(character, minimum, maximum), literal('"'))
    return Grammar(concat(literal("x"), Call("s")), {"s": frame}), plain


@pytest.mark.parametrize("longest", [1, 2, 5, 20])
@pytest.mark.parametrize(
    ("minimum", "maximum"),
    [(0, 0), (0, 1), (1, 1), (0, 7), (3, 7), (7, 7), (0, 60), (30, 60), (58, 60), (40, None)],
)
def test_counted_frame_equals_counts_written_out(
    minimum: int, maximum: int | None, longest: int
) -> None:
    grammar, plain = counted(minimum, maximum)
    machine = build_machine(grammar, Meter(), lambda _: longest)
    if maximum is None:
        for n in range(minimum + 20):
            assert machine.matches(b'x"' + b"a" * n + b'"') == (n >= minimum)
        return
    assert unrolled(machine, 1).same_as(language(plain))


def test_the_size_does_not_grow_with_the_count() -> None:
    sizes = {
        maximum: build_machine(counted(0, maximum)[0], Meter(), lambda _: 16).n_states
        for maximum in (400, 1_000, 1_000_000)
    }
    assert len(set(sizes.values())) == 1


def test_counted_arrays_of_counted_arrays() -> None:
    """Counts of inner and outer frames do not mix, and frames at one place share one counter."""
    inner = Frame(91, listed_ticking(literal("a")), 93, 0, 39)
    outer = Frame(91, listed_ticking(Call("inner")), 93, 19, 19)
    machine = build_machine(Grammar(Call("outer"), {"inner": inner, "outer": outer}))
    for n_outer, n_inner in [(20, 40), (20, 1), (19, 3), (21, 3), (20, 41)]:
        row = b"[" + b",".join([b"a"] * n_inner) + b"]"
        text = b"[" + b",".join([row] * n_outer) + b"]"
        assert machine.matches(text) == (n_outer == 20 and n_inner <= 40)
    short = Frame(91, listed_ticking(literal("a")), 93, 0, 29)
    both = build_machine(
        Grammar(
            alternate(concat(Call("inner"), literal("x")), concat(Call("short"), literal("y"))),
            {"inner": inner, "short": short},
        )
    )
    for n, tail in [(30, b"y"), (31, b"y"), (31, b"x"), (40, b"x"), (41, b"x"), (5, b"y")]:
        text = b"[" + b",".join([b"a"] * n) + b"]" + tail
        assert both.matches(text) == (n <= (30 if tail == b"y" else 40))


def listed_ticking(item: Node) -> Node:
    return concat(item, star(concat(Tick(literal(",")), item)))


def test_bodies_that_cannot_count_one_by_one_are_refused() -> None:
    pairs = star(concat(Tick(literal("a")), Tick(literal("a"))))
    grammar = Grammar(Call("p"), {"p": Frame(40, pairs, 41, 0, 1000)})
    with pytest.raises(CountError):
        build_machine(grammar)


def test_a_count_that_cannot_be_kept_names_its_frame_and_the_way_out() -> None:
    pairs = star(concat(Tick(literal("a")), Tick(literal("a"))))
    frames = {"p": Frame(40, pairs, 41, 0, 1000), "q": Frame(91, literal("x"), 93)}
    letters = Vocabulary.of([bytes((byte,)) for byte in range(256)])
    with pytest.raises(CountError, match=r"\(counted: p\); write the count out") as caught:
        compile(Grammar(concat(Call("p"), Call("q")), frames), letters)
    assert caught.value.where == ("p",)


def test_state_limit_holds_while_building() -> None:
    inner: Node = literal("a")
    for _ in range(60):
        inner = concat(inner, alternate(literal("a"), literal("b")))
    frame = Frame(40, concat(star(ByteSet.of(b"ab")), literal("a"), inner), 41)
    with pytest.raises(LimitError) as caught:
        build_machine(Grammar(Call("p"), {"p": frame}), Meter(Limits(max_states=2000)))
    assert caught.value.what == "states"
    assert caught.value.where == "p"


def test_plain_grammar_gives_plain_machine() -> None:
    machine = build_machine(Grammar(literal("abc"), {"unused": Frame(40, NEVER, 41)}))
    assert machine.is_plain
    assert machine.dfa.same_as(Machine.of(language(literal("abc"))).dfa)
