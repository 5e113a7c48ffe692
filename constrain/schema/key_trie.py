"""The names of an object's members as a trie, so that none of them is looked at twice.

After the member at place i any later one may follow, up to the next that is required. In an
automaton these are as many states at once as there are such members; over the whole object that is
quadratic. Here the names are left-factored: a *branch* holds the names that begin alike, and where
the text stands is told by a branch and the first place that may still come. There are as many such
pairs as there are names in each branch, all together at most the length of all names.

Keys are JSON texts with their quotes, so none of them begins another.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from constrain.syntax import Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(eq=False, slots=True)
class Branch:
    """Keys that begin alike.

    Attributes
    ----------
    label : Literal
        What stands between the branch that this one is in and where its own keys part.
    places : list[int]
        The places of the keys, ascending.
    branches : list[Branch]
        What the keys go on with, by first byte; nothing if there is one key, and it is complete.
    """

    label: Literal
    places: list[int]
    branches: list[Branch] = field(default_factory=list["Branch"])

    def following(self, first: int, last: int) -> Iterator[tuple[Branch, int]]:
        """Yield the branches with a key at a place from first to last, and the first such place."""
        for branch in self.branches:
            at = bisect_left(branch.places, first)
            if at < len(branch.places) and branch.places[at] <= last:
                yield branch, branch.places[at]


def key_trie(keys: Sequence[bytes]) -> Branch:
    """Return the root of the trie of keys, given in the order of their places."""
    root = Branch(Literal(b""), list(range(len(keys))))
    pending = [(root, sorted((key, place) for place, key in enumerate(keys)), 0)]
    while pending:
        above, group, depth = pending.pop()
        parts: dict[int, list[tuple[bytes, int]]] = {}
        for key, place in group:
            parts.setdefault(key[depth], []).append((key, place))
        for part in parts.values():
            first, last = part[0][0], part[-1][0]
            end = _common(first, last)
            below = Branch(Literal(first[depth:end]), sorted(place for _, place in part))
            above.branches.append(below)
            if len(part) > 1:
                pending.append((below, part, end))
    return root


def _common(left: bytes, right: bytes) -> int:
    """Return how many bytes two keys begin alike with."""
    for place, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            return place
    return min(len(left), len(right))
