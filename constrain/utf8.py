"""Sets of code points, and the bytes that spell them in UTF-8.

In come ranges of code points; out comes a syntax node whose texts are exactly the well-formed UTF-8
spellings of one code point of the set (RFC 3629: shortest form only, no surrogates, nothing above
U+10FFFF). So a model that follows the automaton can be *inside* a character, but a text can end only
between characters.

The idea: cut each range where the length of the spelling changes and where a continuation byte wraps
around, until every piece is a product of byte ranges, one range a position:

    U+0800..U+0FFF    E0     A0-BF  80-BF
    U+1000..U+CFFF    E1-EC  80-BF  80-BF
    U+D000..U+D7FF    ED     80-9F  80-BF

Wherever such a product has more than one byte at a position, all later positions are full. Two
products of disjoint ranges therefore start with equal or with disjoint byte ranges, and grouping by
the first range gives a *deterministic* tree. Equal subtrees are shared (most end in the same two or
three runs of 80-BF), so ``.`` takes 9 points and any class a few more than it has corners.

Doesn't do: case folding, normalisation, grapheme clusters.

Source: the range splitting is from Russ Cox, "Regular Expression Matching in the Wild" (2010),
and Ken Thompson's grep; sharing suffixes is Daciuk et al., "Incremental Construction of Minimal
Acyclic Finite-State Automata" (2000), without the incremental part.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from constrain.syntax import NEVER, ByteSet, Graph, Literal, Node

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""Ranges (first, last), both included, sorted, disjoint and not adjacent."""

_ByteRanges: TypeAlias = tuple[tuple[int, int], ...]
"""One byte range for each position of a spelling."""

MAX_CODE_POINT = 0x10FFFF
SURROGATES = (0xD800, 0xDFFF)
SCALARS: Ranges = ((0, 0xD7FF), (0xE000, MAX_CODE_POINT))
"""All code points that UTF-8 can spell."""

_LAST_OF_LENGTH = (0x7F, 0x7FF, 0xFFFF)
_BITS_OF_CONTINUATION = 6


def normalise(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Return the same set as sorted ranges that neither overlap nor touch.

    >>> normalise([(5, 9), (0, 3), (4, 4)])
    ((0, 9),)
    """
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(merged)


def difference(universe: Iterable[tuple[int, int]], ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Return what is in ``universe`` and not in ``ranges``."""
    holes = normalise(ranges)
    left: list[tuple[int, int]] = []
    for first, last in normalise(universe):
        start = first
        for hole_first, hole_last in holes:
            if hole_last < start or hole_first > last:
                continue
            if start < hole_first:
                left.append((start, hole_first - 1))
            start = hole_last + 1
        if start <= last:
            left.append((start, last))
    return tuple(left)


def complement(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Return all code points that UTF-8 can spell and that are not in ``ranges``."""
    return difference(SCALARS, ranges)


def code_points(ranges: Sequence[tuple[int, int]]) -> Node:
    """Return the node of one code point of the set, spelled in UTF-8; surrogates are left out.

    Parameters
    ----------
    ranges : sequence of (int, int)
        First and last code points, both included, in any order.

    Returns
    -------
    Node
        ``NEVER`` for an empty set, a ``Literal`` for one code point, a ``ByteSet`` if all are ASCII,
        else a deterministic ``Graph`` with shared suffixes.
    """
    return _code_points(difference(ranges, (SURROGATES,)))


@lru_cache(maxsize=512)
def _code_points(ranges: Ranges) -> Node:
    if not ranges:
        return NEVER
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return Literal(chr(ranges[0][0]).encode())
    if ranges[-1][1] <= _LAST_OF_LENGTH[0]:
        return ByteSet.of(byte for first, last in ranges for byte in range(first, last + 1))
    return _SuffixTree(sequences(ranges)).graph


def sequences(ranges: Iterable[tuple[int, int]]) -> list[_ByteRanges]:
    """Return products of byte ranges whose union spells the set, in ascending order.

    >>> sequences([(0x800, 0xFFF)])
    [((224, 224), (160, 191), (128, 191))]
    """
    return [
        tuple(zip(chr(first).encode(), chr(last).encode(), strict=True))
        for first, last in _pieces(ranges)
    ]


def _pieces(ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Cut the ranges so that the spellings of each piece form a product."""
    stack = list(reversed(list(ranges)))
    while stack:
        first, last = stack.pop()
        cut = _cut(first, last)
        if cut is None:
            yield first, last
        else:
            stack += [(cut + 1, last), (first, cut)]


def _cut(first: int, last: int) -> int | None:
    """Return where to cut the range (the last code point of the lower part), or None if nowhere."""
    for boundary in _LAST_OF_LENGTH:
        if first <= boundary < last:
            return boundary
    if last <= _LAST_OF_LENGTH[0]:
        return None
    for position in (1, 2, 3):
        low = (1 << _BITS_OF_CONTINUATION * position) - 1
        if first | low != last | low:  # an earlier byte varies, so the later ones must be full
            if first & low:
                return first | low
            if last & low != low:
                return (last & ~low) - 1
    return None


class _SuffixTree:
    """The graph of some products, built from the ends: equal sets of suffixes share a point."""

    def __init__(self, products: list[_ByteRanges]) -> None:
        self._edges: list[tuple[int, Node, int]] = []
        self._points: dict[tuple[tuple[int, int], ...], int] = {}
        start = self._point(products)
        self.graph = Graph(len(self._points) + 1, tuple(self._edges), start, 0)

    def _point(self, suffixes: list[_ByteRanges]) -> int:
        """Return the point from which exactly ``suffixes`` lead to the end, which is point 0."""
        if not suffixes[0]:
            return 0
        groups: dict[tuple[int, int], list[_ByteRanges]] = {}
        for suffix in suffixes:
            groups.setdefault(suffix[0], []).append(suffix[1:])
        bits: dict[int, int] = {}  # target -> bytes that lead to it
        for (first, last), rest in groups.items():
            target = self._point(rest)
            bits[target] = bits.get(target, 0) | ByteSet.span(first, last).bits
        key = tuple(sorted(bits.items()))
        if key not in self._points:
            self._points[key] = len(self._points) + 1
            self._edges += [(self._points[key], ByteSet(b), target) for target, b in key]
        return self._points[key]
