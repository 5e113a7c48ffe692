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

The *outline* of a trie says what hangs below each node without looking. *Special* bytes (quotes,
backslashes, control characters, and bytes that fit nowhere in UTF-8) cut the trie into *trees*: a
node that a special byte leads to is the root of a tree of its own. Within a tree a walk that finds a
node below which only the number of characters matters answers for the whole rest of the tree, and
goes on at the special nodes that hang off it. For that, nodes are put in an order in which trees are
contiguous, and subtrees within them; tokens, and the special nodes, follow that order, so that what
belongs to a subtree is a range.

So that text beyond ASCII counts as text there too, well-formed characters of several bytes form one
group of their own; a token that ends within a character is set apart, with the node where its last
whole character ends and the one to three bytes (a *tail*) that remain.

Cost: 0.1 s for 128k tokens with 275k nodes, and as much again for the outline.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from constrain.arrays import mixed

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

#: The bytes that begin a tree, besides those that fit nowhere.
SPECIAL = bytes((*range(32), *b'"\\'))

#: The groups of the other ASCII bytes, one bit of ``Outline.below`` each.
GROUPS = (
    *(bytes((byte,)) for byte in b" !#$%&'()*+,-./:;<=>?@[]^_`{|}~\x7f"),
    b"0123456789",
    b"ABCDEF",
    b"GHIJKLMNOPQRSTUVWXYZ",
    b"abcdef",
    b"ghijklmnopqrstuvwxyz",
)
CHARACTER = 62  # the bit of well-formed characters of several bytes
_BROKEN = 63  # the bit of anything else


@dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """What hangs below the nodes of a trie.

    Attributes
    ----------
    first_child : int32 [N + 1]
        The children of node n are ``first_child[n]:first_child[n + 1]``.
    place : int32 [N]
        The place of each node in the order in which a node comes just before its subtree, tree
        after tree; the tree of the root of the trie is the first.
    size : int32 [N]
        The number of nodes of the subtree of each node within its tree, itself included.
    below : uint64 [N]
        The groups of bytes that occur below each node within its tree, as bits; nothing is said of
        nodes within a character, which have bit 63.
    characters : int32 [N]
        How many characters end on the way to each node.
    tokens : int32 [T]
        First all tokens that have bytes and no tail, by the place of their node; then those with a
        tail, by the place of the node where it begins; then those of the first tree without a tail
        once more, by their number of characters.
    token_place : int32 [V]
        Where each token first stands in ``tokens``; -1 for tokens without bytes.
    token_characters : int32 [T]
        The characters on the way to the node of each of these tokens, tails left out.
    tokens_before, cut_before, special_before : int32 [N + 1]
        How many of the tokens without a tail, of those with one, and of ``specials`` come before a
        place.
    tails : uint8 [Q, 3], tail_length : int64 [Q]
        The bytes of the tails of tokens with one.
    sums : uint64 [T + 1]
        Sums along ``tokens`` of a number for each token, numbers without a pattern. So different sets
        of tokens have different sums, but for a chance that whoever asks has to rule out.
    counted : int32 [C + 2]
        The tokens of c characters in the last part of ``tokens`` are ``counted[c]:counted[c + 1]``.
    specials : int32 [M]
        The nodes that special bytes lead to, by the place of their parents.
    """

    first_child: NDArray[np.int32]
    place: NDArray[np.int32]
    size: NDArray[np.int32]
    below: NDArray[np.uint64]
    characters: NDArray[np.int32]
    tokens: NDArray[np.int32]
    token_place: NDArray[np.int32]
    token_characters: NDArray[np.int32]
    tokens_before: NDArray[np.int32]
    cut_before: NDArray[np.int32]
    special_before: NDArray[np.int32]
    tails: NDArray[np.uint8]
    tail_length: NDArray[np.int64]
    sums: NDArray[np.uint64]
    counted: NDArray[np.int32]
    specials: NDArray[np.int32]


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

    def __repr__(self) -> str:
        """Return the sizes in one line."""
        return f"<Trie: {self.n_nodes:,} nodes, {len(self.token_node):,} tokens>"

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
    def spells(self) -> NDArray[np.bool_]:
        """Which nodes are tokens and not only prefixes, bool [N]."""
        result = np.zeros(self.n_nodes + 1, dtype=np.bool_)
        result[self.token_node] = True  # that of tokens without bytes is -1
        return result[:-1]

    @cached_property
    def alone(self) -> NDArray[np.bool_]:
        """Which bytes are tokens by themselves, bool [256]."""
        result = np.zeros(256, dtype=np.bool_)
        level = next(self.levels, slice(0, 0))
        result[self.byte[level][self.spells[level]]] = True
        return result

    @cached_property
    def outline(self) -> Outline:
        """What hangs below the nodes, found when first asked for."""
        within, events, special = _characters(self)
        tokens = np.flatnonzero(self.token_node >= 0)
        nodes = self.token_node[tokens]
        has_tail = within[nodes] > 0
        events[nodes[has_tail]] |= np.uint64(1 << CHARACTER)
        below, size = _subtrees(self, events, special, within)
        below[within > 0] |= np.uint64(1 << _BROKEN)
        place = _places(self, size, special)
        characters = _count(self, within == 0)
        stem, tails = _tails(self, nodes[has_tail], within)
        whole = _sorted(place[nodes[~has_tail]])
        cut = _sorted(place[stem])
        hanging = np.flatnonzero(special)
        specials = hanging[_sorted(place[self.parent[hanging]])]
        whole_nodes = nodes[~has_tail][whole]
        whole_tokens = tokens[~has_tail][whole]
        first_tree = np.searchsorted(place[whole_nodes], size[0])
        token_characters = characters[whole_nodes]
        by_count = _sorted(token_characters[:first_tree])
        ending = np.bincount(token_characters[:first_tree], minlength=1).cumsum()
        every = np.concatenate(
            [whole_tokens, tokens[has_tail][cut], whole_tokens[by_count]], dtype=np.int32
        )
        token_place = np.full(len(self.token_node), -1, dtype=np.int32)
        token_place[every[: len(tokens)]] = np.arange(len(tokens))
        return Outline(
            np.searchsorted(self.parent, np.arange(self.n_nodes + 1)).astype(np.int32),
            place,
            size,
            below,
            characters,
            every,
            token_place,
            np.concatenate(
                [token_characters, characters[stem[cut]], token_characters[by_count]],
            ),
            _before(place[whole_nodes], self.n_nodes),
            _before(place[stem], self.n_nodes),
            _before(place[self.parent[specials]], self.n_nodes),
            tails[cut],
            within[nodes[has_tail]][cut],
            _sums(len(self.token_node), every),
            (len(tokens) + np.concatenate([[0], ending])).astype(np.int32),
            specials.astype(np.int32),
        )


def _sorted(keys: NDArray[np.int32]) -> NDArray[np.intp]:
    """Return the order of the keys, equal ones as they come."""
    return np.argsort(keys, kind="stable")


def _sums(n_tokens: int, tokens: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return sums along tokens of numbers without a pattern."""
    return np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed(n_tokens)[tokens])])


def _before(places: NDArray[np.int32], n_nodes: int) -> NDArray[np.int32]:
    """Return how many of the places come before each place."""
    counts = np.bincount(places, minlength=n_nodes)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)


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


def _characters(
    trie: Trie,
) -> tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.bool_]]:
    """Return how far within a character nodes are, what their bytes complete, which are special.

    A byte that fits nowhere begins anew.
    """
    trans, depth = _automaton()
    bit_of = np.zeros(256, dtype=np.uint64)
    for number, members in enumerate(GROUPS):
        bit_of[list(members)] = 1 << number
    bit_of[128:] = 1 << CHARACTER
    state = np.zeros(trie.n_nodes, dtype=np.int64)
    events = np.zeros(trie.n_nodes, dtype=np.uint64)
    special = np.isin(trie.byte, list(SPECIAL))
    special[0] = False
    for level in trie.levels:
        byte = trie.byte[level]
        after = trans[state[trie.parent[level]], byte]
        lost = after < 0
        state[level] = np.where(lost, np.maximum(trans[0, byte], 0), after)
        events[level] = np.where(after == 0, bit_of[byte], 0)
        special[level] |= lost
    return depth[state], events, special


def _subtrees(
    trie: Trie,
    events: NDArray[np.uint64],
    special: NDArray[np.bool_],
    within: NDArray[np.int64],
) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """Return the events below each node within its tree, and the number of nodes of its subtree."""
    below = np.zeros(trie.n_nodes, dtype=np.uint64)
    sizes = np.ones(trie.n_nodes, dtype=np.int32)
    for level in reversed(list(trie.levels)):
        parent = trie.parent[level]
        # What follows half a character can only be found by going there.
        lost = np.where(within[parent] > 0, np.uint64(1 << _BROKEN), np.uint64(0))
        events_here = np.where(special[level], lost, below[level] | events[level])
        first = np.flatnonzero(np.diff(parent, prepend=-1))
        here = parent[first]
        below[here] = np.bitwise_or.reduceat(events_here, first)
        sizes[here] += np.add.reduceat(np.where(special[level], 0, sizes[level]), first)
    return below, sizes


def _count(trie: Trie, ends: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return how many nodes of a kind are on the way to each node, itself included, the root not."""
    counts = ends.astype(np.int32)
    counts[0] = 0
    for level in trie.levels:
        counts[level] += counts[trie.parent[level]]
    return counts


def _places(trie: Trie, sizes: NDArray[np.int32], special: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return the place of each node, given the sizes of subtrees."""
    roots = np.append(0, np.flatnonzero(special))
    place = np.zeros(trie.n_nodes, dtype=np.int32)
    place[roots] = np.cumsum(sizes[roots]) - sizes[roots]
    for level in trie.levels:
        parent = trie.parent[level]
        taken = np.where(special[level], 0, sizes[level])
        total = np.cumsum(taken) - taken
        starts = np.diff(parent, prepend=-1) > 0
        base = np.maximum.accumulate(np.where(starts, total, 0))
        inner = place[parent] + 1 + total - base
        place[level] = np.where(special[level], place[level], inner)
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
