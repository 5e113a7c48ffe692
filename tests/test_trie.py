"""The trie: every token once, duplicates share a node, levels are ordered."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tokenizers_on_disk import OPTIONAL, READABLE, need

from constrain.spelling import joined
from constrain.trie import Trie, build_trie
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


@pytest.mark.parametrize("name", [*READABLE, *OPTIONAL])
def test_invariants_hold_for_real_vocabularies(name: str) -> None:
    vocabulary = read_vocabulary(need(name), cache=False)
    trie = build_trie(vocabulary.token_bytes, vocabulary.token_offsets)
    check(trie, vocabulary.token_bytes, vocabulary.token_offsets)
