"""How fast the zone before a minimum can be crossed: tokens that pass many ticks at once.

Before a minimum, a frame's states do not say how many ticks are missing (``constrain.counting``:
zones), and the search for short ways to an end (``constrain.distances``) knows what a single tick
costs at most, the pace. A thousand characters need not be a thousand tokens, though. So each zone
gets a *hub*: a state that some tokens lead back to, passing ticks on the way. If the longest of them
passes d ticks, and ``ways[r]`` is the fewest of such tokens that pass exactly r, for r < d, then m
ticks take ``m // d + ways[m % d]`` tokens, and each of these tokens lowers this number by one. From
other states of the zone the way to the hub comes first: some tokens, which pass some ticks too.

The numbers are of texts that exist, so they are bounds that can be kept; a token that passes too
many ticks is never used. Not all tokens are looked at (``constrain.zones``).

Cost: nothing where there is no zone; else that of walking a few thousand tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from constrain.arrays import distinct, ranges
from constrain.masks import NO_END

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from constrain.zones import Moves, Walker


@dataclass(frozen=True, slots=True)
class Strides:
    """The hubs of zones, the ways to them, and from them on.

    Attributes
    ----------
    hub : int32 [S]
        The hub of the zone that a state lies in; -1 if there is none.
    tokens, ticks : int32 [S]
        How many tokens lead to the hub, and how many ticks these pass.
    which : int32 [S]
        The number of the hub's ways.
    ways : list of int32 [d]
        Of each hub: the fewest tokens that lead back to it and pass r ticks, for r < d; ``NO_END``
        where none do. One token passes d ticks.
    """

    hub: NDArray[np.int32]
    tokens: NDArray[np.int32]
    ticks: NDArray[np.int32]
    which: NDArray[np.int32]
    ways: list[NDArray[np.int32]]

    def most(self, state: int, missing: int) -> tuple[int, int, int] | None:
        """Return what passing all ticks but the last takes at most if no more than that are missing.

        More ticks may take fewer tokens, so this is not what exactly so many would take.

        Returns
        -------
        hub, tokens, ticks : int or None
            The hub, and the tokens that lead there and pass the ticks, if at least ``ticks`` are
            missing. None if nothing is known.
        """
        if self.hub[state] < 0:
            return None
        ways, ticks = self.ways[self.which[state]], int(self.ticks[state])
        rest = int(ways.max())
        if rest == NO_END:
            return None
        strides = max(missing - ticks, 0) // len(ways)
        return int(self.hub[state]), int(self.tokens[state]) + strides + rest, ticks

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the table file."""
        ends = np.cumsum([0, *map(len, self.ways)])
        return {
            "stride": np.stack([self.hub, self.tokens, self.ticks, self.which], axis=1),
            "stride_offsets": ends.astype(np.int64),
            "stride_tokens": np.concatenate(self.ways),
        }


def strides(walker: Walker, moves: Moves) -> Strides | None:
    """Return the hubs of all zones; None if no token passes two ticks in one."""
    none = np.full(len(walker.groups), -1, dtype=np.int32)
    tokens, ticks, which = np.zeros((3, len(none)), dtype=np.int32)
    found = Strides(none, tokens, ticks, which, [])
    best: dict[int, tuple[int, NDArray[np.intp]]] = {}  # zone -> hub, and what tokens pass
    for hub, passed in _hubs(walker):
        zone = int(walker.groups[hub])
        if passed[-1] > 1 and (zone not in best or passed[-1] > best[zone][1][-1]):
            best[zone] = hub, passed
    for hub, passed in best.values():
        _lead(found, walker, moves, hub)
        found.ways.append(_ways(passed))
    return found if best else None


def _hubs(walker: Walker) -> list[tuple[int, NDArray[np.intp]]]:
    """Return states that tokens lead back to with ticks passed, and how many, ascending."""
    again = np.flatnonzero(walker.source + walker.steps.offset == walker.cell)
    again = again[np.argsort(walker.action[again])]
    at, which = ranges(
        np.searchsorted(walker.action[again], walker.sample_action, side="left"),
        np.searchsorted(walker.action[again], walker.sample_action, side="right"),
    )
    hub = walker.source[again[at]]
    cell, ticks = walker.walk(hub, walker.sample[which], last=False)
    kept = (cell == hub + walker.steps.offset) & (ticks > 0)
    every = distinct(hub[kept]).tolist()
    return [(each, distinct(ticks[kept & (hub == each)])) for each in every]


def _lead(found: Strides, walker: Walker, moves: Moves, hub: int) -> None:
    """Write the ways to a hub, breadth first, from all states of its zone that have one."""
    target = moves.target - walker.steps.offset
    found.hub[hub], found.which[hub] = hub, len(found.ways)
    reached = np.zeros(len(walker.groups) + 1, dtype=np.bool_)  # the last for configurations
    reached[hub] = True
    target = np.minimum(target, len(walker.groups))
    beside = walker.groups[moves.source] == walker.groups[hub]  # elsewhere other ticks are missing
    last = reached.copy()
    while last.any():
        new = np.flatnonzero(last[target] & beside & ~reached[moves.source])
        new = new[np.unique(moves.source[new], return_index=True)[1]]
        here, there = moves.source[new], target[new]
        found.hub[here], found.which[here] = hub, len(found.ways)
        found.tokens[here] = found.tokens[there] + 1
        found.ticks[here] = found.ticks[there] + moves.ticks[new]
        last[:] = False
        last[here] = reached[here] = True


def _ways(passed: NDArray[np.intp]) -> NDArray[np.int32]:
    """Return the fewest tokens that pass exactly r ticks, r less than one token can pass.

    ``passed`` are the ticks that one token can pass, ascending.
    """
    ways = np.full(int(passed[-1]), NO_END, dtype=np.int64)
    ways[0] = 0
    for ticks in range(1, len(ways)):
        ways[ticks] = 1 + ways[ticks - passed[passed <= ticks]].min(initial=NO_END)
    return np.minimum(ways, NO_END).astype(np.int32)
