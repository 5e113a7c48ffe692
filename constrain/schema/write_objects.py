"""The text of an object: a graph that is linear in the members.

An object is written along a chain of points, one for each named member. A point also knows how many
members have been written, as far as anything depends on it: usually only "none" or "some", because
that decides whether a comma comes first. Both chains lead through the same points in front of a
member, so each member stands in the graph once. Where several may come next their names are read
along a trie (``constrain.schema.key_trie``), so all-optional objects stay linear.

*Members of different names.* Where ``minProperties`` asks for several additional members, these must
differ in their names, and an automaton cannot compare names. It can compare classes of first bytes
(their value modulo 8): an additional member counts if its class is above those of all that were
counted before. That leaves out some objects (and some orders of others) and adds none.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from constrain.dfa import DEAD, DFA
from constrain.schema import strings
from constrain.schema.key_trie import Branch, key_trie
from constrain.schema.writing import LARGE_REPEAT, Place, Points, Written, either, ticking
from constrain.syntax import EPSILON, ByteSet, Embed, Literal, Node, concat

if TYPE_CHECKING:
    from collections.abc import Callable

    from constrain.schema.layout import Layout
    from constrain.schema.plans import Choice, Plan
    from constrain.schema.world import World

_QUOTE = Literal(b'"')

MANY_OPTIONAL = 64
"""From so many slots on that may come next, their names are read along a trie.

Measured: with 50 the chain of all slots takes as long, with 200 one and a half times."""


def key_text(name: str) -> bytes:
    """Return a member name as a JSON string in its canonical spelling."""
    try:
        return json.dumps(name, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # a lone surrogate can only be escaped
        return json.dumps(name).encode()


def name_node(world: World, names: DFA) -> Node:
    """Return the node of a member name of a language, with its quotes."""
    if names is world.texts.space.everything:
        return concat(_QUOTE, strings.free(), _QUOTE)
    return concat(_QUOTE, Embed(strings.spelled(names)), _QUOTE)


def write_object(
    world: World,
    plan: Plan,
    layout: Layout,
    place: Place,
    size: Callable[[Node], int],
    *,
    counting: bool,
) -> Written:
    """Return what stands between the braces of a plan; see ``write_array`` for the parameters."""
    writer = _ObjectWriter(world, plan, layout, place)
    copies = plan.maximum or 0
    if counting and copies > 1 and copies * size(writer.rest) > LARGE_REPEAT:
        writer.count_commas()
    return writer.write()


class _ObjectWriter:
    """Writes one plan; points are (stage, members written, members counted).

    Stages 0 to n are before each slot and after the last, then: after some of the rest, after each
    witness. Where the maximum is large the commas tick and members written are only 0 or 1.
    """

    def __init__(self, world: World, plan: Plan, layout: Layout, place: Place) -> None:
        self.plan = plan
        self.layout = layout
        self.points = Points(world.meter)
        self.ticks = False
        self.most = 1 if plan.maximum is None else plan.maximum
        self.bounded = plan.maximum is not None
        self.fronts: set[tuple[str, int, int, int]] = set()
        self.middles: set[tuple[str, int, int, int, int, int]] = set()
        self.comma = layout.comma
        self.keys = [key_text(slot.name) for slot in plan.slots]
        self.values = [concat(layout.colon, place(slot.value)) for slot in plan.slots]
        self.until = _until(plan)
        choices = max((last - place for place, last in enumerate(self.until)), default=0)
        self.trie = key_trie(self.keys) if choices >= MANY_OPTIONAL else None
        self.rest, *self.witnesses = (
            self._choice(world, choice, place) for choice in (plan.rest, *plan.witnesses)
        )
        self.distinct = plan.minimum > 1 and plan.rest and not plan.witnesses
        self.later = (
            [(strings.spelled(names), place(value)) for names, value in plan.rest]
            if self.distinct
            else []
        )

    def _choice(self, world: World, choice: Choice, place: Place) -> Node:
        return either(
            [
                concat(name_node(world, names), self.layout.colon, place(value))
                for names, value in choice
            ]
        )

    def count_commas(self) -> None:
        """Let the commas tick, so that a frame keeps the maximum."""
        self.ticks, self.bounded, self.most = True, False, 1
        self.comma = ticking(self.layout.comma)

    def write(self) -> Written:
        plan, points = self.plan, self.points
        if plan.maximum == 0:
            return Written(EPSILON)
        start = (0, 0, 0)
        points.number(start)
        for key in points.queue:
            if not isinstance(key, tuple):
                continue
            if isinstance(key[0], Branch):
                self._branch(key)
            elif key[0] == "rest":
                self._distinct(key)
            elif isinstance(key[0], int):
                self._stage(key)
        maximum = plan.maximum - 1 if self.ticks and plan.maximum is not None else None
        return Written(points.graph(start, ("end",)), 0, maximum)

    def _stage(self, key: tuple[int, int, int]) -> None:
        """Go on from a stage: with a member, or without to a later stage or the end."""
        plan, points, last = self.plan, self.points, len(self.values)
        stage, written, counted = key
        if stage < last:
            self._slot(key)
            return
        if self.distinct:
            points.edge(key, EPSILON, ("rest", written, counted, _NONE))
            return
        if stage <= last + 1 and plan.rest:
            counts = stage == last and not self.witnesses
            self._member(key, self.rest, last + 1, counts=counts)
        witness = max(stage - last - 1, 0)
        if witness < len(self.witnesses):
            self._member(key, self.witnesses[witness], last + 2 + witness, counts=True)
        elif counted >= plan.minimum:
            points.edge(key, EPSILON, ("end",))

    def _slot(self, key: tuple[int, int, int]) -> None:
        """Go on from a stage in front of a slot."""
        stage, written, counted = key
        if self.trie is None:
            if self.until[stage] > stage:
                self.points.edge(key, EPSILON, (stage + 1, written, counted))
            member = concat(Literal(self.keys[stage]), self.values[stage])
            self._member(key, member, stage + 1, counts=True)
            return
        if self.until[stage] == len(self.values):
            self.points.edge(key, EPSILON, (len(self.values), written, counted))
        if not self.bounded or written < self.most:
            after = (min(written + 1, self.most), min(counted + 1, self.plan.minimum))
            self.points.edge(key, self.comma if written else EPSILON, (self.trie, stage, *after))

    def _branch(self, key: tuple[Branch, int, int, int]) -> None:
        """Go on within the names of the slots from a place on.

        The key is (branch, place, members written and counted after this one).
        """
        branch, place, *after = key
        if not branch.branches:
            self.points.edge(key, self.values[place], (place + 1, *after))
        for below, first in branch.following(place, self.until[place]):
            self.points.edge(key, below.label, (below, first, *after))

    def _member(self, key: tuple[int, int, int], node: Node, stage: int, *, counts: bool) -> None:
        """Write one more member on the way from a point to a stage."""
        _, written, counted = key
        if self.bounded and written == self.most:
            return
        after = (stage, min(written + 1, self.most), min(counted + counts, self.plan.minimum))
        # Stages say which member comes next, but "some of the rest" is reached from two.
        front = ("in", *after)
        self.points.edge(key, self.comma if written else EPSILON, front)
        if front not in self.fronts:
            self.fronts.add(front)
            self.points.edge(front, node, after)

    def _distinct(self, key: tuple[str, int, int, int]) -> None:
        """Write one more additional member; one with a greater class counts.

        The key is ("rest", members written, members counted, greatest class counted).
        """
        points, minimum = self.points, self.plan.minimum
        _, written, counted, top = key
        if counted >= minimum:
            points.edge(key, EPSILON, ("end",))
        if self.bounded and written == self.most:
            return
        more = min(written + 1, self.most)
        front = ("front", *key[1:])
        points.edge(key, self.comma if written else EPSILON, front)
        if counted >= minimum:
            points.edge(front, self.rest, ("rest", more, counted, _LAST))
            return
        for number, (names, value) in enumerate(self.later):
            end = concat(_QUOTE, self.layout.colon, value)
            if names.accept[0]:
                state = (counted + 1, _EMPTY) if top == _NONE else (counted, top)
                points.edge(front, concat(_QUOTE, end), ("rest", more, *state))
            for target, firsts in _first_bytes(names).items():
                tail = concat(Embed(rerooted(names, target)), end)
                low = [byte for byte in firsts if _class(byte) <= top]
                if low:
                    label = concat(_QUOTE, ByteSet.of(low), tail)
                    points.edge(front, label, ("rest", more, counted, top))
                for byte in {_class(byte) for byte in firsts if _class(byte) > top}:
                    same = ByteSet.of(b for b in firsts if _class(b) == byte)
                    after = ("rest", more, counted + 1, byte)
                    middle = ("middle", number, target, more, counted + 1, byte)
                    points.edge(front, concat(_QUOTE, same), middle)
                    if middle not in self.middles:
                        self.middles.add(middle)
                        points.edge(middle, tail, after)


def _until(plan: Plan) -> list[int]:
    """Return for each slot the last that may come next in its place: the next required one.

    It is the number of slots where no required one follows.
    """
    until: list[int] = []
    last = len(plan.slots)
    for place in range(len(plan.slots) - 1, -1, -1):
        last = last if plan.slots[place].optional else place
        until.append(last)
    return until[::-1]


_NONE, _EMPTY, _LAST = -2, -1, 256
_N_CLASSES = 8


def _class(byte: int) -> int:
    """Return what of a first byte is compared: the whole byte would cost twelve times the states."""
    return byte % _N_CLASSES


def _first_bytes(language: DFA) -> dict[int, list[int]]:
    """Return the first bytes of a language by the state they lead to."""
    found: dict[int, list[int]] = {}
    for byte, target in enumerate(language.trans[0].tolist()):
        if target != DEAD:
            found.setdefault(target, []).append(byte)
    return found


def rerooted(language: DFA, start: int) -> DFA:
    """Return the automaton with another start state; states are exchanged, none is dropped."""
    order = np.arange(language.n_states)
    order[[0, start]] = order[[start, 0]]
    trans = np.where(language.trans == DEAD, DEAD, order[language.trans])[order]
    return DFA(trans.astype(np.int32), language.accept[order])
