"""The trie of a vocabulary: every token once, tokens with equal bytes share a node.

In come the bytes of all tokens, one after another; out come two arrays over nodes. Node 0 is the
root, the empty string; a node is its parent and one more byte. Nodes are numbered level by level
(a level is a length), and by (parent, byte) within a level, so that children of one node stand
together and a walk over the whole trie is one vector operation a level:

    node     0     1    2    3     4     5        tokens  c  ca  cat  d  dog  do
    string   ""    c    d    ca    do    cat ...
    parent  -1     0    0    1     2     3

Idea: a token that is longer than d sits on a node of level d; together with its next byte this
gives a key, and the distinct keys, sorted, are the nodes of level d + 1. Nothing is as wide as
tokens times length, so a token of a thousand bytes costs a thousand small steps and no memory.

Invariant: ``parent[n] < n``; levels are contiguous; (parent, byte) ascends strictly within a level;
every node is the prefix of some token. Empty tokens (special ones, holes) have no node.

The *outline* of a trie says what hangs below each node without looking: which groups of bytes occur
there, and which tokens, as a range of an order in which every subtree is contiguous. A walk that
finds a node below which only the number of characters matters answers for the whole subtree. So
that text beyond ASCII counts as text there too, well-formed characters of several bytes form one
group of their own; a token that ends within a character is set apart, with the node where its last
whole character ends and the one to three bytes (a *tail*) that remain. Where control characters are
all that kills, the outline knows for each token where its last one is.

Cost: 0.1 s for 128k tokens with 275k nodes, and 0.03 s for the outline.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

NO_NODE = -1

#: The well-formed characters of several bytes (RFC 3629): ranges of the bytes, one after the other.
CHARACTERS = (
    ((0xC2, 0xDF), (0x80, 0xBF)),
    ((0xE0, 0xE0), (0xA0, 0xBF), (0x80, 0xBF)),
    ((0xE1, 0xEC), (0x80, 0xBF), (0x80, 0xBF)),
    ((0xED, 0xED), (0x80, 0x9F), (0x80, 0xBF)),
    ((0xEE, 0xEF), (0x80, 0xBF), (0x80, 0xBF)),
    ((0xF0, 0xF0), (0x90, 0xBF), (0x80, 0xBF), (0x80, 0xBF)),
    ((0xF1, 0xF3), (0x80, 0xBF), (0x80, 0xBF), (0x80, 0xBF)),
    ((0xF4, 0xF4), (0x80, 0x8F), (0x80, 0xBF), (0x80, 0xBF)),
)

#: The groups of ASCII bytes, one bit of ``Outline.below`` each.
GROUPS = (
    *(bytes((byte,)) for byte in b"\t\n\r !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\x7f"),
    b"0123456789",
    b"ABCDEF",
    b"GHIJKLMNOPQRSTUVWXYZ",
    b"abcdef",
    b"ghijklmnopqrstuvwxyz",
    bytes(byte for byte in range(32) if byte not in b"\t\n\r"),
)
CONTROLS = bytes(range(32))
CONTROL_BITS = sum(1 << i for i, group in enumerate(GROUPS) if group[0] in CONTROLS)
CHARACTER = 62  # the bit of well-formed characters of several bytes
_BROKEN = 63  # the bit of anything else


@dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """What hangs below the nodes of a trie.

    Attributes
    ----------
    first_child : int32 [N + 1]
        The children of node n are ``first_child[n]:first_child[n + 1]``.
    preorder : int32 [N]
        The place of each node in the order in which a node comes just before its subtree.
    below : uint64 [N]
        The groups of bytes that occur below each node, as bits; nothing is said of nodes within a
        character, which have bit 63.
    tokens : int32 [T]
        All tokens that have bytes: those without a tail in preorder of their nodes, then the rest.
    tokens_before : int32 [N + 1]
        How many tokens without a tail come before a place in preorder.
    size : int32 [N]
        The number of nodes of the subtree of a node, itself included.
    depth : int32 [N]
        The length of the string of each node.
    characters : int32 [N]
        How many characters end on the way to each node.
    token_characters : int32 [T]
        The same for the node of each token.
    last_control : int32 [T]
        The length of each token up to its last control character, itself included; 0 without one.
    tail_node : int32 [Q]
        Of each token with a tail, the node at which the tail begins.
    tails : uint8 [Q, 3], tail_length : int64 [Q]
        The bytes of the tails.
    """

    first_child: NDArray[np.int32]
    preorder: NDArray[np.int32]
    below: NDArray[np.uint64]
    tokens: NDArray[np.int32]
    tokens_before: NDArray[np.int32]
    size: NDArray[np.int32]
    depth: NDArray[np.int32]
    characters: NDArray[np.int32]
    token_characters: NDArray[np.int32]
    last_control: NDArray[np.int32]
    tail_node: NDArray[np.int32]
    tails: NDArray[np.uint8]
    tail_length: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Trie:
    """The prefixes of all tokens.

    Attributes
    ----------
    parent : int32 [N]
        The node without its last byte; -1 for the root.
    byte : uint8 [N]
        The last byte; 0 for the root.
    level_offsets : int64 [D + 2]
        Level d is ``level_offsets[d]:level_offsets[d + 1]``; D is the longest token in bytes.
    token_node : int32 [V]
        The node of each token, or -1 for tokens without bytes.
    """

    parent: NDArray[np.int32]
    byte: NDArray[np.uint8]
    level_offsets: NDArray[np.int64]
    token_node: NDArray[np.int32]

    @property
    def n_nodes(self) -> int:
        """The number of nodes, the root included."""
        return len(self.parent)

    @property
    def depth(self) -> int:
        """The length of the longest token in bytes."""
        return len(self.level_offsets) - 2

    @property
    def levels(self) -> Iterator[slice]:
        """The nodes of each level below the root, as slices, shortest strings first."""
        bounds = self.level_offsets.tolist()
        return (slice(start, stop) for start, stop in pairwise(bounds[1:]))

    @cached_property
    def outline(self) -> Outline:
        """What hangs below the nodes, found when first asked for."""
        within, events = _characters(self)
        spelled = np.zeros(self.n_nodes, dtype=np.bool_)
        tokens = np.flatnonzero(self.token_node >= 0)
        spelled[self.token_node[tokens]] = True
        events[(within > 0) & spelled] |= np.uint64(1 << CHARACTER)
        below, sizes = _subtrees(self, events)
        below[within > 0] |= np.uint64(1 << _BROKEN)
        preorder = _preorder(self, sizes)
        has_tail = within[self.token_node[tokens]] > 0
        whole, cut = tokens[~has_tail], tokens[has_tail]
        whole = whole[np.argsort(preorder[self.token_node[whole]], kind="stable")]
        counts = np.zeros(self.n_nodes + 1, dtype=np.int32)
        np.add.at(counts[1:], preorder[self.token_node[whole]], 1)
        characters = _count(self, within == 0)
        node, tails = _tails(self, self.token_node[cut], within)
        order = np.concatenate([whole, cut]).astype(np.int32)
        depth = np.repeat(np.arange(self.depth + 1), np.diff(self.level_offsets)).astype(np.int32)
        return Outline(
            np.searchsorted(self.parent, np.arange(self.n_nodes + 1)).astype(np.int32),
            preorder,
            below,
            order,
            np.cumsum(counts, dtype=np.int32),
            sizes.astype(np.int32),
            depth,
            characters,
            characters[self.token_node[order]],
            _last_control(self, depth)[self.token_node[order]],
            node,
            tails,
            within[self.token_node[cut]],
        )


def build_trie(token_bytes: NDArray[np.uint8], token_offsets: NDArray[np.int64]) -> Trie:
    """Return the trie of a vocabulary.

    Parameters
    ----------
    token_bytes : uint8 [sum of lengths]
    token_offsets : int64 [V + 1]
        Token t is ``token_bytes[token_offsets[t]:token_offsets[t + 1]]``.

    Returns
    -------
    Trie
    """
    lengths = np.diff(token_offsets)
    token_node = np.full(len(lengths), NO_NODE, np.int32)
    # Longest first: the tokens that reach level d are then a prefix of the order.
    tokens = np.argsort(-lengths, kind="stable")
    tokens = tokens[: np.count_nonzero(lengths)]
    cursor = token_offsets[:-1][tokens]
    falling = -lengths[tokens]
    rank = np.zeros(len(tokens), np.int64)  # the node of each token, counted within its level
    parents, bytes_, bounds = [np.full(1, -1, np.int32)], [np.zeros(1, np.uint8)], [0, 1]
    depth = 0
    while len(tokens):
        keys = (rank << 8) | token_bytes[cursor + depth]
        nodes, rank = _distinct(keys)
        depth += 1
        parents.append((bounds[-2] + (nodes >> 8)).astype(np.int32))
        bytes_.append((nodes & 0xFF).astype(np.uint8))
        longer = int(np.searchsorted(falling, -depth))  # tokens with more than depth bytes
        token_node[tokens[longer:]] = bounds[-1] + rank[longer:]
        bounds.append(bounds[-1] + len(nodes))
        tokens, cursor, falling, rank = (x[:longer] for x in (tokens, cursor, falling, rank))
    return Trie(
        np.concatenate(parents),
        np.concatenate(bytes_),
        np.array(bounds, np.int64),
        token_node,
    )


def _distinct(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct keys, ascending, and the place of each key among them."""
    order = np.argsort(keys)
    ordered = keys[order]
    first = np.ones(len(keys), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    place = np.empty(len(keys), np.int64)
    place[order] = np.cumsum(first) - 1
    return ordered[first], place


def _automaton() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the automaton of well-formed characters, and how many bytes each state has read.

    State 0 stands between characters; state -1 is a byte that fits nowhere.
    """
    trans = np.full((1, 256), -1, dtype=np.int64)
    trans[0, :128] = 0
    depth = [0]
    for first, *others in CHARACTERS:
        states = [0, *range(len(depth), len(depth) + len(others)), 0]
        depth.extend(range(1, len(others) + 1))
        trans = np.concatenate([trans, np.full((len(others), 256), -1, dtype=np.int64)])
        for (low, high), here, after in zip((first, *others), states, states[1:], strict=False):
            trans[here, low : high + 1] = after
    return trans, np.asarray(depth)


def _characters(trie: Trie) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return how far within a character each node is, and the group that its byte completes.

    A byte that fits nowhere begins anew, as one of the group ``_BROKEN``.
    """
    trans, depth = _automaton()
    bit_of = np.zeros(256, dtype=np.uint64)
    for number, members in enumerate(GROUPS):
        bit_of[list(members)] = 1 << number
    bit_of[128:] = 1 << CHARACTER
    state = np.zeros(trie.n_nodes, dtype=np.int64)
    events = np.zeros(trie.n_nodes, dtype=np.uint64)
    for level in trie.levels:
        byte = trie.byte[level]
        after = trans[state[trie.parent[level]], byte]
        lost = after < 0
        state[level] = np.where(lost, np.maximum(trans[0, byte], 0), after)
        events[level] = np.where(after == 0, bit_of[byte], 0)
        events[level][lost] = 1 << _BROKEN
    return depth[state], events


def _subtrees(
    trie: Trie, events: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the events below each node, and the number of nodes of its subtree."""
    below = np.zeros(trie.n_nodes, dtype=np.uint64)
    sizes = np.ones(trie.n_nodes, dtype=np.int64)
    for level in reversed(list(trie.levels)):
        parent = trie.parent[level]
        first = np.flatnonzero(np.diff(parent, prepend=-1))
        here = parent[first]
        below[here] = np.bitwise_or.reduceat(below[level] | events[level], first)
        sizes[here] += np.add.reduceat(sizes[level], first)
    return below, sizes


def _count(trie: Trie, ends: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return how many nodes of a kind are on the way to each node, itself included, the root not."""
    counts = ends.astype(np.int32)
    counts[0] = 0
    for level in trie.levels:
        counts[level] += counts[trie.parent[level]]
    return counts


def _last_control(trie: Trie, depth: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the length of the string of each node up to its last control character."""
    last = np.where(trie.byte < len(CONTROLS), depth, 0).astype(np.int32)
    for level in trie.levels:
        np.maximum(last[level], last[trie.parent[level]], out=last[level])
    return last


def _preorder(trie: Trie, sizes: NDArray[np.int64]) -> NDArray[np.int32]:
    place = np.zeros(trie.n_nodes, dtype=np.int32)
    for level in trie.levels:
        parent = trie.parent[level]
        total = np.cumsum(sizes[level]) - sizes[level]
        starts = np.diff(parent, prepend=-1) > 0
        base = np.maximum.accumulate(np.where(starts, total, 0))
        place[level] = place[parent] + 1 + total - base
    return place


def _tails(
    trie: Trie, nodes: NDArray[np.int32], within: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Return, for nodes within a character, the node where it begins and the bytes from there."""
    tails = np.zeros((len(nodes), 3), dtype=np.uint8)
    at = nodes.copy()
    for column in range(2, -1, -1):
        here = np.flatnonzero(within[nodes] > column)
        tails[here, column] = trie.byte[at[here]]
        at[here] = trie.parent[at[here]]
    return at, tails
