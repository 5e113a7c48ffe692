"""Token actions, mask rows and distances against a walk of every token from every state."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import brute

import constrain.actions
import constrain.masks
import constrain.orbits
import constrain.trie
from constrain import DEAD, TokenIndex
from constrain.assemble import assemble
from constrain.determinize import language
from constrain.dfa import DFA
from constrain.errors import DeadEndError, LimitError
from constrain.limits import Limits, Meter
from constrain.machine import Machine
from constrain.masks import NO_END
from constrain.pattern import parse
from constrain.syntax import ByteSet, Concat, Literal, Node, Repeat, alternate, concat, star
from constrain.trie import build_trie
from constrain.vocabulary import Vocabulary

LEAVES = st.sampled_from([Literal(b"a"), Literal(b"b"), Literal(b"c"), ByteSet.of(b"ab")])
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(Concat),
        st.tuples(inner, inner).map(lambda pair: alternate(*pair)),
        inner.map(star),
        st.tuples(inner, st.integers(0, 2), st.integers(0, 3)).map(
            lambda x: Repeat(x[0], x[1], x[1] + x[2])
        ),
    ),
    max_leaves=6,
)
VOCABULARIES = st.lists(
    st.one_of(st.none(), st.text(alphabet="abc", max_size=6).map(str.encode)),
    min_size=1,
    max_size=40,
)


@given(TREES, VOCABULARIES, st.integers(1, 5))
@settings(max_examples=200, deadline=None)
def test_masks_and_steps_equal_a_walk_in_pieces_of_any_size(
    tree: Node, vocab: list[bytes | None], piece: int
) -> None:
    dfa = language(tree)
    eos = len(vocab)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(constrain.actions, "_CHUNK", piece)
        patch.setattr(constrain.masks, "_TOGETHER", piece)
        patch.setattr(constrain.masks, "_LARGE", piece)
        patch.setattr(constrain.masks, "_LONG", piece)
        patch.setattr(constrain.masks, "_HUGE", piece)
        patch.setattr(constrain.orbits, "_CHUNK", piece)
        index = TokenIndex(dfa, [*vocab, None], eos_id=eos)
    for state in range(dfa.n_states):
        expected = brute.mask(dfa.trans, dfa.accept, state, [*vocab, None], eos)
        assert index.mask(state).tolist() == expected
        for token in range(len(vocab) + 1):
            assert (index.next_state(state, token) != DEAD) == expected[token]
    rows = {row.tobytes() for row in index.table.masks}
    assert len(rows) == len(index.table.masks)


PIECES = [b"a", b"Z", b"7", b'"', b"\\", b"\n", b"\x01", b" ", b"\xc3\xa9", b"\xe3\x81\x82"]
PIECES += [
    b"\xf0\x9f\x98\x80",
    b"\xe3",
    b"\xe3\x81",
    b"\x81",
    b"\xf0\x9f",
    b"\xff",
    b"\xed\xa0\x80",
]


@given(
    st.sampled_from(
        [
            '"[^"\\\\]*"',
            '"([^"\\\\\\x00-\\x1f]|\\\\.)*"',
            "[^\\n]*",
            "(.a)*",
            "\xe9*a*",
            "[\\x00-\u07ff]*",
            "[^\u3042]*",
            "(a|aZ7|[^a]{2})*",
            "(.|\\n){0,5}",
            '"([^"\\\\\\x00-\\x1f]|\\\\.){2,4}"',
            "[a-z0-9]{3}.{0,2}",
            "([a\xe9]|\u3042){1,3}Z*",
        ]
    ),
    st.lists(
        st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map(b"".join),
        min_size=1,
        max_size=60,
    ),
)
@settings(max_examples=200, deadline=None)
def test_subtrees_answered_at_once_hold_no_surprise(pattern: str, vocab: list[bytes]) -> None:
    """Text, half characters, control characters and stray bytes below loops of every sort."""
    dfa = language(parse(pattern, "text"))
    index = TokenIndex(dfa, vocab)
    for state in range(dfa.n_states):
        expected = brute.mask(dfa.trans, dfa.accept, state, vocab, None)
        assert index.mask(state).tolist() == expected


@given(TREES, VOCABULARIES)
@settings(max_examples=150, deadline=None)
def test_traps_and_distances_equal_a_search(tree: Node, vocab: list[bytes | None]) -> None:
    """Oracle: forward searches over tokens from every state, one at a time."""
    dfa = language(tree)
    vocabulary = Vocabulary.of([*vocab, None], (len(vocab),))
    trie = build_trie(vocabulary.token_bytes, vocabulary.token_offsets)
    nearest = [search(dfa, state, vocab) for state in range(dfa.n_states)]
    if nearest[0] is None:
        with pytest.raises(DeadEndError):
            assemble(Machine.of(dfa), vocabulary, trie, Meter())
        return
    found = assemble(Machine.of(dfa), vocabulary, trie, Meter())
    expected = [NO_END if n is None else n for n in nearest]
    assert found.table.tokens_to_end.tolist() == expected
    assert found.n_traps == sum(n is None for n in nearest)
    for state in range(dfa.n_states):
        row = found.table.masks[found.table.mask_row[state]]
        bits = np.unpackbits(row.view(np.uint8), bitorder="little")
        for token, data in enumerate(vocab):
            after = brute.walk(dfa.trans, state, data) if data else DEAD
            assert bits[token] == (after != DEAD and nearest[after] is not None)


def search(dfa: DFA, start: int, vocab: list[bytes | None]) -> int | None:
    level, seen, steps = {start}, {start}, 0
    while level:
        if any(dfa.accept[state] for state in level):
            return steps
        level = {brute.walk(dfa.trans, s, t) for s in level for t in vocab if t} - seen - {DEAD}
        seen |= level
        steps += 1
    return None


@given(TREES, VOCABULARIES)
@settings(max_examples=50, deadline=None)
def test_rows_are_told_apart_where_their_sums_agree(tree: Node, vocab: list[bytes | None]) -> None:
    dfa = language(tree)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(constrain.trie, "mixed", lambda n: np.zeros(n, dtype=np.uint64))
        index = TokenIndex(dfa, vocab)
    for state in range(dfa.n_states):
        assert index.mask(state).tolist() == brute.mask(dfa.trans, dfa.accept, state, vocab, None)
    rows = {row.tobytes() for row in index.table.masks}
    assert len(rows) == len(index.table.masks)


def test_missing_bytes_are_named() -> None:
    vocabulary = Vocabulary.of([b"a", b"b", None], (2,))
    trie = build_trie(vocabulary.token_bytes, vocabulary.token_offsets)
    with pytest.raises(DeadEndError) as caught:
        assemble(Machine.of(language(Literal(b"a b"))), vocabulary, trie, Meter())
    assert caught.value.missing == b" "
    assert "20" in str(caught.value)


def test_memory_limit_names_actions() -> None:
    words = [bytes((97 + i % 26, 97 + i // 26)) for i in range(500)]
    vocabulary = Vocabulary.of([*words, None], (500,))
    trie = build_trie(vocabulary.token_bytes, vocabulary.token_offsets)
    machine = Machine.of(
        language(concat(*[alternate(*map(Literal, words[i:])) for i in range(60)]))
    )
    with pytest.raises(LimitError) as caught:
        assemble(machine, vocabulary, trie, Meter(Limits(max_memory=50_000)))
    assert "bytes" in caught.value.what


def test_wide_vocabularies_pad_with_zeros() -> None:
    vocabulary = Vocabulary.of([b"a", None, *[None] * 68], (1,))
    trie = build_trie(vocabulary.token_bytes, vocabulary.token_offsets)
    table = assemble(Machine.of(language(star(Literal(b"a")))), vocabulary, trie, Meter()).table
    assert table.masks.shape == (1, 3)
    assert table.masks[0].tolist() == [3, 0, 0]
