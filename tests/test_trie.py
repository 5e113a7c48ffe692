"""The trie: every token once, duplicates share a node, levels are ordered."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tokenizers_on_disk import OPTIONAL, READABLE, need

from constrain.spelling import joined
from constrain.trie import CHARACTER, GROUPS, SPECIAL, Trie, build_trie
from constrain.vocabulary import read_vocabulary


def trie_of(words: list[bytes]) -> Trie:
    spelled = joined(words)
    return build_trie(spelled.data, spelled.offsets)


def check(trie: Trie, token_bytes: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
    """Assert every invariant that the docstring of ``trie`` states."""
    n, bounds = trie.n_nodes, trie.level_offsets
    arrays = (trie.parent, trie.byte, bounds, trie.token_node)
    assert [array.dtype.name for array in arrays] == ["int32", "uint8", "int64", "int32"]
    assert (bounds[0], bounds[1], bounds[-1]) == (0, 1, n)
    assert (np.diff(bounds) > 0).all()
    assert (trie.parent[0], trie.byte[0]) == (-1, 0)
    level = np.searchsorted(bounds, np.arange(n), side="right") - 1
    assert (level[trie.parent[1:]] == level[1:] - 1).all()
    key = trie.parent.astype(np.int64) * 256 + trie.byte
    same_level = level[1:] == level[:-1]
    assert (np.diff(key)[same_level] > 0).all()
    _check_words(trie, token_bytes, offsets, level)


def _check_words(
    trie: Trie, token_bytes: NDArray[np.uint8], offsets: NDArray[np.int64], level: NDArray[np.intp]
) -> None:
    """Assert that climbing from each token's node reads its bytes, and that no node is spare."""
    lengths = np.diff(offsets)
    assert ((trie.token_node == -1) == (lengths == 0)).all()
    tokens = np.flatnonzero(lengths)
    node = trie.token_node[tokens].astype(np.int64)
    assert (level[node] == lengths[tokens]).all()
    used = np.zeros(trie.n_nodes, np.bool_)
    used[0] = True
    at = offsets[1:][tokens]
    while len(tokens):
        used[node] = True
        assert (trie.byte[node] == token_bytes[at - 1]).all()
        node, at = trie.parent[node].astype(np.int64), at - 1
        more = node > 0
        assert (at[~more] == offsets[tokens[~more]]).all()
        tokens, node, at = tokens[more], node[more], at[more]
    assert used.all()


def test_the_drawing_in_the_docstring() -> None:
    trie = trie_of([b"c", b"ca", b"cat", b"d", b"do"])
    assert trie.parent.tolist() == [-1, 0, 0, 1, 2, 3]
    assert trie.byte.tobytes() == b"\0cdaot"
    assert trie.level_offsets.tolist() == [0, 1, 3, 5, 6]
    assert trie.token_node.tolist() == [1, 3, 5, 2, 4]
    assert [(part.start, part.stop) for part in trie.levels] == [(1, 3), (3, 5), (5, 6)]


def test_duplicates_share_a_node_and_empty_tokens_have_none() -> None:
    trie = trie_of([b"ab", b"", b"ab", b"a"])
    assert trie.token_node.tolist() == [2, -1, 2, 1]


@pytest.mark.parametrize("words", [[], [b""], [b"", b""]])
def test_a_vocabulary_without_bytes_has_only_the_root(words: list[bytes]) -> None:
    trie = trie_of(words)
    assert (trie.n_nodes, trie.depth, list(trie.levels)) == (1, 0, [])
    assert trie.token_node.tolist() == [-1] * len(words)


def test_a_very_long_token() -> None:
    words = [b" " * 1024, b" " * 1023 + b"x", *(bytes([n]) for n in range(256))]
    trie = trie_of(words)
    assert (trie.depth, trie.n_nodes) == (1024, 1 + 256 + 1023 + 1)
    spelled = joined(words)
    check(trie, spelled.data, spelled.offsets)


@settings(deadline=None)
@given(st.lists(st.binary(max_size=5) | st.text("ab\0", max_size=6).map(str.encode), max_size=40))
def test_invariants_hold_for_any_tokens(words: list[bytes]) -> None:
    spelled = joined(words)
    trie = build_trie(spelled.data, spelled.offsets)
    check(trie, spelled.data, spelled.offsets)
    prefixes = {word[:n] for word in words for n in range(len(word) + 1)} | {b""}
    assert trie.n_nodes == len(prefixes)


PIECES = [b"a", b"Z", b"7", b'"', b"\n", b"\xc3\xa9", b"\xe3\x81\x82"]


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from(PIECES), max_size=5),
            st.sampled_from([b"", b"\xc3", b"\xe3\x81"]),
        ).map(lambda parts: b"".join(parts[0]) + parts[1]),
        max_size=40,
    )
)
def test_the_outline_says_what_hangs_below_each_node(words: list[bytes]) -> None:
    """Oracle: the strings themselves. A tail is what remains when whole characters are taken away."""
    trie = trie_of(words)
    outline = trie.outline
    strings = [b""]
    for node in range(1, trie.n_nodes):
        strings.append(strings[trie.parent[node]] + trie.byte[node : node + 1].tobytes())
    stems = [word.decode(errors="ignore").encode() for word in words]
    for node, string in enumerate(strings):
        if string.decode(errors="ignore").encode() != string:
            continue  # within a character

        def in_tree(other: bytes, string: bytes = string) -> bool:
            rest = other[len(string) :]
            return other.startswith(string) and not set(rest) & set(SPECIAL)

        first, end = outline.place[node], outline.place[node] + outline.size[node]
        inside = [n for n, other in enumerate(strings) if in_tree(other)]
        assert sorted(outline.place[inside]) == list(range(first, end))
        begin, stop = outline.tokens_before[[first, end]]
        whole = [t for t, word in enumerate(words) if word and word == stems[t] and in_tree(word)]
        assert sorted(outline.tokens[begin:stop]) == whole
        begin, stop = outline.cut_before[[first, end]] + outline.tokens_before[-1]
        cut = [t for t, word in enumerate(words) if word != stems[t] and in_tree(stems[t])]
        assert sorted(outline.tokens[begin:stop]) == cut
        begin, stop = outline.special_before[[first, end]]
        hanging = [n for n in range(1, trie.n_nodes) if trie.byte[n] in SPECIAL]
        hanging = [n for n in hanging if in_tree(strings[trie.parent[n]])]
        assert sorted(outline.specials[begin:stop]) == hanging
        text = b"".join(strings[n][len(string) :] for n in inside)
        bits = sum(1 << i for i, group in enumerate(GROUPS) if set(group) & set(text))
        assert outline.below[node] & ((1 << len(GROUPS)) - 1) == bits
        assert bool(outline.below[node] >> CHARACTER & 1) == any(b >= 128 for b in text)
        assert outline.characters[node] == len(string.decode())
    for count, (begin, stop) in enumerate(pairwise(outline.counted.tolist())):
        counted = [
            t for t, w in enumerate(words) if w and w == stems[t] and len(w.decode()) == count
        ]
        plain = [t for t in counted if not set(words[t]) & set(SPECIAL)]
        assert sorted(outline.tokens[begin:stop]) == plain


@pytest.mark.parametrize("name", [*READABLE, *OPTIONAL])
def test_invariants_hold_for_real_vocabularies(name: str) -> None:
    vocabulary = read_vocabulary(need(name), cache=False)
    trie = build_trie(vocabulary.token_bytes, vocabulary.token_offsets)
    check(trie, vocabulary.token_bytes, vocabulary.token_offsets)
