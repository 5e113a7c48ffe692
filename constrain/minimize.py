"""Minimization and canonical numbering: the smallest automaton, written down in one way only.

Two states are equivalent if the same texts lead from them to an end. The idea here: take the
strongly connected components of the automaton in reverse topological order, so that whatever a
component leads out to is classified before it.

* A component of one state without a loop is equivalent to a known class exactly if its *signature*
  (its kind, and which bytes lead to which class) is known: one dictionary look-up. Most states of
  an automaton made from literals and schemas are of this sort.
* A component with loops either is a copy of known classes in all of its states or in none: if one
  state of it is equivalent to a known class, all states it reaches are, and it reaches the whole
  component. The first case is found by the *shape* of the component, if it was met in the same order
  (the string bodies of a schema are), or else by trying to match one state with the known classes
  that agree on one edge out of the component, assuming equivalence and looking for a contradiction
  (Hopcroft and Karp, "A Linear Algorithm for Testing Equivalence of Finite Automata", 1971).
  Otherwise the component is refined by itself, re-signing only the predecessors of the smaller parts
  (Hopcroft, "An n log n algorithm for minimizing states in a finite automaton", 1971); components
  of one shape split alike.

No rounds over all states are made, so a chain of a thousand states costs a thousand look-ups, where
Moore's refinement makes a thousand rounds.

The same code serves plain automata and automata with frames, whose call sites are nodes like
states: a node has a *kind* (accepting, popping a label, ...), byte edges, and other labelled edges.

``canonical`` numbers the classes breadth first from the start, bytes ascending. Cost: near linear in
the edges for acyclic automata; n log n in the largest component.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from constrain.dfa import DEAD, DFA
from constrain.limits import Meter

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray


NO_MOVES: dict[int, int] = {}  # shared by nodes without such edges; never changed
NO_LINKS: dict[Hashable, int] = {}
_KEEP_EDGES = 4096  # states up to which an automaton is handed out with its edges


@dataclass(slots=True)
class Nodes:
    """A deterministic labelled graph to be minimized; nodes are list indices.

    Attributes
    ----------
    kinds : list[Hashable]
        What distinguishes nodes by themselves.
    moves : list[dict[int, int]]
        Byte edges of each node: target -> byte set as bits; the sets of a node are disjoint.
    links : list[dict[Hashable, int]]
        The other edges of each node: label -> target.
    """

    kinds: list[Hashable] = field(default_factory=list)
    moves: list[dict[int, int]] = field(default_factory=list)
    links: list[dict[Hashable, int]] = field(default_factory=list)

    def targets(self, node: int) -> list[int]:
        """Return the nodes that edges of ``node`` lead to."""
        return [*self.moves[node], *self.links[node].values()]


def components(nodes: Nodes, roots: Iterable[int]) -> list[list[int]]:
    """Return the strongly connected components in reverse topological order.

    R. Tarjan, "Depth-first search and linear graph algorithms" (1972), without recursion.
    """
    n = len(nodes.kinds)
    moves, links = nodes.moves, nodes.links
    index = [0] * n  # 0: not seen; numbers begin at 1
    low = [0] * n  # of nodes that are off the stack: n + 1, above every number
    stack: list[int] = []
    found: list[list[int]] = []
    counter = 0
    for root in roots:
        if index[root]:
            continue
        counter += 1
        index[root] = low[root] = counter
        stack.append(root)
        work = [(root, iter(nodes.targets(root)))]
        while work:
            node, targets = work[-1]
            for target in targets:
                if not index[target]:
                    counter += 1
                    index[target] = low[target] = counter
                    stack.append(target)
                    below = nodes.targets(target) if links[target] else moves[target]
                    work.append((target, iter(below)))
                    break
                low[node] = min(low[node], low[target])
            else:
                work.pop()
                lowest = low[node]
                if work and lowest < low[work[-1][0]]:
                    low[work[-1][0]] = lowest
                if lowest == index[node]:
                    component: list[int] = []
                    while True:
                        member = stack.pop()
                        low[member] = n + 1
                        component.append(member)
                        if member == node:
                            break
                    found.append(component)
    return found


class _Classifier:
    """Gives equivalent nodes equal class numbers, component by component."""

    def __init__(self, nodes: Nodes, meter: Meter) -> None:
        self.nodes = nodes
        self.meter = meter
        self.class_of = [-1] * len(nodes.kinds)
        self.known: dict[Hashable, int] = {}
        self.kinds: list[Hashable] = []
        self.moves: list[dict[int, int]] = []  # of each class: target class -> bits
        self.links: list[dict[Hashable, int]] = []
        self.by_edge: dict[Hashable, list[int]] = {}  # of classes in loops, to find copies
        self.blocks: dict[Hashable, list[int]] = {}  # how components split, by shape
        self.copies: dict[Hashable, list[int]] = {}  # classes, by shape and what is outside

    def signature(self, node: int) -> tuple[dict[int, int], dict[Hashable, int]]:
        """Return byte edges and links of a node in terms of classes."""
        class_of = self.class_of
        moves: dict[int, int] = {}
        for target, bits in self.nodes.moves[node].items():
            number = class_of[target]
            moves[number] = moves[number] | bits if number in moves else bits
        links = self.nodes.links[node]
        if links:
            links = {label: class_of[target] for label, target in links.items()}
        return moves, links

    def key(self, node: int) -> Hashable:
        """Return kind and signature of a node as something that can be looked up."""
        nodes = self.nodes
        if len(nodes.moves[node]) == 1 and not nodes.links[node]:
            for target, bits in nodes.moves[node].items():
                return nodes.kinds[node], self.class_of[target], bits
        moves, links = self.signature(node)
        if links:
            return nodes.kinds[node], frozenset(moves.items()), frozenset(links.items())
        if len(moves) == 1:
            return nodes.kinds[node], *moves.popitem()
        return nodes.kinds[node], frozenset(moves.items())

    def add(self, node: int) -> None:
        """Classify a node whose targets are classified."""
        key = self.key(node)
        number = self.known.get(key)
        if number is None:
            number = self._new_class(node, key)
        self.class_of[node] = number

    def _new_class(self, node: int, key: Hashable) -> int:
        number = self.known[key] = len(self.kinds)
        moves, links = self.signature(node)
        self.kinds.append(self.nodes.kinds[node])
        self.moves.append(moves)
        self.links.append(links)
        return number

    def component(self, members: list[int]) -> None:
        """Classify one component; all that it leads out to is classified."""
        if len(members) == 1:
            node = members[0]
            if node not in self.nodes.moves[node] and node not in self.nodes.links[node].values():
                self.add(node)
                return
        self.meter.spend(len(members))
        shape, outside = self._shape(members)
        copied = self.copies.get((shape, outside))
        if copied is not None:
            for node, number in zip(members, copied, strict=True):
                self.class_of[node] = number
            return
        probe, key = self._probe(members)
        for candidate in self.by_edge.get(key, ()):
            match = self._match(probe, candidate)
            if match is not None:
                for node, number in match.items():
                    self.class_of[node] = number
                break
        else:
            self._new_loop(members, shape)
        self.copies[shape, outside] = [self.class_of[node] for node in members]

    def _shape(self, members: list[int]) -> tuple[Hashable, tuple[int, ...]]:
        """Return how a component looks, and the classes it leads out to.

        In the shape, edges lead to members by their place in the list and to the outside by the
        order in which its classes occur. Components of one shape split into the same blocks, and
        those that also lead out to the same classes are copies.
        """
        class_of = self.class_of
        place = {node: i for i, node in enumerate(members)}
        outside: dict[int, int] = {}

        def name(target: int) -> int:
            if target in place:
                return place[target]
            return -1 - outside.setdefault(class_of[target], len(outside))

        nodes = self.nodes
        shape = tuple(
            (
                nodes.kinds[node],
                tuple([(bits, name(target)) for target, bits in nodes.moves[node].items()]),
                tuple([(label, name(target)) for label, target in nodes.links[node].items()])
                if nodes.links[node]
                else None,
            )
            for node in members
        )
        return shape, tuple(outside)

    def _probe(self, members: list[int]) -> tuple[int, Hashable]:
        """Return a node and what any known class equivalent to it must have in the index."""
        for node in members:
            for target in self.nodes.moves[node]:
                if self.class_of[target] >= 0:
                    return node, (self.nodes.kinds[node], self.class_of[target])
            for label, target in self.nodes.links[node].items():
                if self.class_of[target] >= 0:
                    return node, (self.nodes.kinds[node], label, self.class_of[target])
        return members[0], (self.nodes.kinds[members[0]],)

    def _index(self, number: int) -> None:
        kind = self.kinds[number]
        keys: list[Hashable] = [(kind,)]
        keys.extend((kind, target) for target in self.moves[number])
        keys.extend((kind, label, target) for label, target in self.links[number].items())
        for key in keys:
            self.by_edge.setdefault(key, []).append(number)

    def _match(self, node: int, number: int) -> dict[int, int] | None:
        """Return the classes of all unclassified nodes reached, if ``node`` is of class ``number``."""
        assumed = {node: number}
        queue = [node]
        while queue:
            node = queue.pop()
            number = assumed[node]
            if self.nodes.kinds[node] != self.kinds[number]:
                return None
            pairs = self._aligned(node, number)
            if pairs is None:
                return None
            for target, other in pairs:
                known = self.class_of[target]
                if known < 0:
                    if target not in assumed:
                        assumed[target] = other
                        queue.append(target)
                    known = assumed[target]
                if known != other:
                    return None
        return assumed

    def _aligned(self, node: int, number: int) -> list[tuple[int, int]] | None:
        """Pair the targets of a node with those of a class, or None if their labels differ."""
        links, other_links = self.nodes.links[node], self.links[number]
        if links.keys() != other_links.keys():
            return None
        pairs = [(target, other_links[label]) for label, target in links.items()]
        covered = 0
        for target, bits in self.nodes.moves[node].items():
            covered |= bits
            pairs.extend(
                (target, other) for other, others in self.moves[number].items() if bits & others
            )
        everything = 0
        for others in self.moves[number].values():
            everything |= others
        return pairs if covered == everything else None

    def _new_loop(self, members: list[int], shape: Hashable) -> None:
        """Make classes for a component that is no copy of known ones."""
        blocks = self.blocks.get(shape)
        if blocks is None:
            blocks = self.blocks[shape] = self._refine(members)
        base = len(self.kinds)
        representatives: list[int] = []
        for node, number in zip(members, blocks, strict=True):
            self.class_of[node] = base + number
            if number == len(representatives):
                representatives.append(node)
        for node in representatives:
            self._new_class(node, self.key(node))
        for number in range(base, len(self.kinds)):
            self._index(number)

    def _refine(self, members: list[int]) -> list[int]:
        """Return the coarsest stable partition of a component: the block of each member, in order.

        Meanwhile the class of a member is -2 - its block.
        """
        class_of = self.class_of
        sources: dict[int, list[int]] = {node: [] for node in members}
        for node in members:
            class_of[node] = -2
            for target in self.nodes.targets(node):
                if target in sources:
                    sources[target].append(node)
        groups: dict[Hashable, list[int]] = {}
        for node in members:
            groups.setdefault(self.key(node), []).append(node)
        blocks: list[set[int]] = []
        for group in groups.values():
            self._rename(group, blocks)
        dirty: set[int] = set(members) if len(blocks) > 1 else set()
        while dirty:
            self.meter.spend(len(dirty))
            touched: dict[int, list[int]] = {}
            for node in dirty:
                touched.setdefault(class_of[node], []).append(node)
            parts: list[list[int]] = []
            for number, nodes in touched.items():
                if len(blocks[-2 - number]) > 1:
                    parts.extend(self._parts(blocks[-2 - number], nodes))
            dirty = set()
            # At this point every part agrees in its signature over the old blocks; only now are
            # the blocks renamed, so that all signatures of one round speak of the same blocks.
            for part in parts:
                blocks[-2 - class_of[part[0]]].difference_update(part)
                self._rename(part, blocks)
                for node in part:
                    dirty.update(sources[node])
        rank: dict[int, int] = {}
        return [rank.setdefault(class_of[node], len(rank)) for node in members]

    def _rename(self, part: list[int], blocks: list[set[int]]) -> None:
        """Make some members a block of their own."""
        for node in part:
            self.class_of[node] = -2 - len(blocks)
        blocks.append(set(part))

    def _parts(self, block: set[int], touched: list[int]) -> list[list[int]]:
        """Return the groups of touched nodes that must leave their block; the largest stays."""
        groups: dict[Hashable, list[int]] = {}
        for node in touched:
            groups.setdefault(self.key(node), []).append(node)
        if len(touched) < len(block):
            # The untouched nodes still agree with each other, and one of them shows which of the
            # touched ones still agree with them.
            touched_set = set(touched)
            untouched = next(node for node in block if node not in touched_set)
            groups.pop(self.key(untouched), None)
            return list(groups.values())
        parts = sorted(groups.values(), key=len)
        return parts[:-1]


def classify(nodes: Nodes, roots: Sequence[int], meter: Meter) -> tuple[list[int], Nodes]:
    """Return the class of each node (-1 where unreachable from the roots) and the classes.

    The result's nodes are the classes; no two of them are equivalent.
    """
    classifier = _Classifier(nodes, meter)
    for component in components(nodes, roots):
        classifier.component(component)
    return classifier.class_of, Nodes(classifier.kinds, classifier.moves, classifier.links)


def breadth_first(nodes: Nodes, start: int) -> list[int]:
    """Return the nodes in breadth-first order from ``start``, bytes ascending, then links."""
    order = [start]
    seen = {start}
    for node in order:
        moves = nodes.moves[node]
        targets: Iterable[int] = moves
        if len(moves) > 1:
            targets = [target for _, target in sorted((b & -b, t) for t, b in moves.items())]
        for target in targets:
            if target not in seen:
                seen.add(target)
                order.append(target)
        for target in nodes.links[node].values():
            if target not in seen:
                seen.add(target)
                order.append(target)
    return order


def fill(n_rows: int, edges: Sequence[tuple[int, int, int]]) -> NDArray[np.int32]:
    """Return the transition table int32 [n_rows, 256] of (row, byte set as bits, value) edges."""
    trans = np.full((n_rows, 256), DEAD, dtype=np.int32)
    if not edges:
        return trans
    numbers: dict[int, int] = {}
    which = [numbers.setdefault(bits, len(numbers)) for _, bits, _ in edges]
    raw = b"".join(bits.to_bytes(32, "little") for bits in numbers)
    sets = np.unpackbits(
        np.frombuffer(raw, dtype=np.uint8).reshape(-1, 32), axis=1, bitorder="little"
    )
    _, members = np.nonzero(sets)
    sizes = sets.sum(axis=1, dtype=np.int64)
    starts = np.cumsum(sizes) - sizes
    used = np.asarray(which)
    counts = sizes[used]
    rows = np.repeat(np.asarray([row for row, _, _ in edges]), counts)
    values = np.repeat(np.asarray([value for _, _, value in edges]), counts)
    offsets = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    trans[rows, members[np.repeat(starts[used], counts) + offsets]] = values
    return trans


def number_states(classes: Nodes, start: int) -> DFA:
    """Return the canonical automaton of minimal classes; a class's kind is whether it accepts."""
    order = [start]
    rank = {start: 0}
    rows: list[list[tuple[int, int]]] = []
    for node in order:
        row: list[tuple[int, int]] = []
        for _, bits, target in sorted((b & -b, b, t) for t, b in classes.moves[node].items()):
            number = rank.setdefault(target, len(order))
            if number == len(order):
                order.append(target)
            row.append((bits, number))
        rows.append(row)
    edges = [(i, bits, target) for i, row in enumerate(rows) for bits, target in row]
    accept = np.asarray([bool(classes.kinds[node]) for node in order])
    dfa = DFA(fill(len(order), edges), accept)
    if len(order) <= _KEEP_EDGES:
        vars(dfa)["edges"] = rows  # what the property would work out again from the table
    return dfa


EMPTY = DFA(np.full((1, 256), DEAD, dtype=np.int32), np.zeros(1, dtype=np.bool_))


def minimal_dfa(
    accept: Sequence[bool], moves: list[dict[int, int]], meter: Meter | None = None
) -> DFA:
    """Return the canonical minimal automaton of any deterministic edge lists.

    Parameters
    ----------
    accept : sequence of bool
        Whether a text may end in the state; state 0 is the start.
    moves : list[dict[int, int]]
        Of each state: target -> byte set as bits. The lists are cleaned in place.
    meter : Meter | None
        Watched while classifying.

    Returns
    -------
    DFA
        Trim, minimal, numbered breadth first. ``EMPTY`` if nothing is accepted.
    """
    live = _live(accept, moves)
    if not live[0]:
        return EMPTY
    for state, targets in enumerate(moves):
        if not all(live[target] for target in targets):
            moves[state] = {target: bits for target, bits in targets.items() if live[target]}
    return trim_minimal_dfa(accept, moves, meter)


def trim_minimal_dfa(
    accept: Sequence[bool], moves: list[dict[int, int]], meter: Meter | None = None
) -> DFA:
    """Return what ``minimal_dfa`` returns, of edge lists in which every state can reach an end."""
    nodes = Nodes(list(accept), moves, [NO_LINKS] * len(moves))
    class_of, classes = classify(nodes, [0], meter or Meter())
    return number_states(classes, class_of[0])


def _live(accept: Sequence[bool], moves: list[dict[int, int]]) -> bytearray:
    sources: list[list[int]] = [[] for _ in moves]
    for state, targets in enumerate(moves):
        for target in targets:
            sources[target].append(state)
    live = bytearray(accept)
    queue = [state for state, accepting in enumerate(accept) if accepting]
    for state in queue:
        for source in sources[state]:
            if not live[source]:
                live[source] = 1
                queue.append(source)
    return live


def canonical(
    trans: NDArray[np.int32], accept: NDArray[np.bool_], meter: Meter | None = None
) -> DFA:
    """Return the canonical minimal automaton of any deterministic table.

    Parameters
    ----------
    trans : int32 [S, 256]
        Next states, or ``DEAD``; state 0 is the start. Need not be trim.
    accept : bool [S]
    meter : Meter | None
    """
    moves = [{target: bits for bits, target in edges} for edges in DFA(trans, accept).edges]
    return minimal_dfa(accept.tolist(), moves, meter)
