"""The choice of frames: one function over sizes and counts.

An object, an array or a string begins and ends with bytes of its own, so it can stand in the
automaton in two ways: written out at each of its places, or once, as a frame that those places
call (``constrain.frames``). Written out it costs its states again and again, those of its parts with
them; called it costs a call site at each place, and masks are composed at run time.

``worthwhile`` weighs the two. It reads a syntax tree in which such parts are written out. Equal
parts are one object there, however many places they stand in, so the tree is a graph without cycles,
and two passes over it say all:

* the *size* of a node: the NFA states of writing it out once, its parts' with it; a call counts as
  ``CALL`` (children first);
* the *places* of a node: how often it is written out, each place as often as what it stands in;
  what stands in a frame is written out once (parents first).

A part becomes a frame if that saves enough states, ``(places - 1) * size - places * CALL``. Whether
its own parts are frames changes its size, and whether it is one changes their places, so both passes
are made twice.

A plain table is the canonical automaton and serves masks fastest, so up to ``PLAIN`` states nothing
is shared where nothing else needs frames. In a table that has frames anyway one more costs little.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from constrain.nfa import children
from constrain.syntax import (
    EPSILON,
    Alternate,
    ByteSet,
    Call,
    Concat,
    Embed,
    Graph,
    Literal,
    Named,
    Repeat,
    Tick,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping

    from constrain.syntax import Node

# Measured on 54 real schemas of more than 250 states (Llama 3.1): without sharing a compile takes
# 230 ms (mean of logs) and 6.1 s (99th percentile), with these 150 ms and 1.0 s; halving or doubling
# any of them changes less than the measurement varies, three times as much saved costs 5 %.
PLAIN = 2000
"""Up to so many NFA states a tree without frames is written out."""
SAVED = 100
"""What a frame must save, in NFA states."""
CALL = 20
"""What a call costs, as so many NFA states."""
COUNTED_COPIES = 8
"""Of the body of a counted frame: the counts near a bound, for the most items a token may end."""


Order: TypeAlias = "list[tuple[Node, list[Node]]]"
"""Nodes, each with those directly inside it."""
_LEAVES = (Literal, ByteSet, Embed, Call)


def node_size(node: Node, size: Callable[[Node], int]) -> int:
    """Return about how many NFA states a node has, given those of its children."""
    if isinstance(node, Call):
        return CALL
    if isinstance(node, Literal):
        return len(node.data)
    if isinstance(node, Embed):
        return node.dfa.n_states
    if isinstance(node, Repeat):
        return _copies(node) * (size(node.node) + 1)
    if isinstance(node, Concat):
        return sum(map(size, node.parts))
    if isinstance(node, Alternate):
        return sum(map(size, node.options))
    if isinstance(node, Graph):
        labels = [label for _, label, _ in node.edges if label is not EPSILON]
        return node.n_points + sum(map(size, labels))
    return size(node.node) if isinstance(node, Named | Tick) else 1


def _copies(node: Repeat) -> int:
    return node.minimum + 1 if node.maximum is None else node.maximum


def worthwhile(
    roots: Iterable[tuple[Node, int]], parts: Mapping[int, Hashable]
) -> dict[Hashable, int]:
    """Return the parts that are worth a frame, each with the number of its places.

    Parameters
    ----------
    roots : iterable of (Node, int)
        The start and the bodies of the frames there are, each with how often it is written out.
    parts : mapping of int to Hashable
        The parts that are written out and could be frames, by ``id`` of their node.

    Returns
    -------
    dict[Hashable, int]
    """
    starts = list(roots)
    order = _parents_first([node for node, _ in starts], parts)
    chosen: dict[Hashable, int] = {}
    for _ in range(2):
        sizes = _sizes(order, parts, chosen)
        chosen = _worth(starts, order, parts, sizes)
    return chosen


def _sizes(
    order: Order, parts: Mapping[int, Hashable], chosen: Mapping[Hashable, int]
) -> dict[int, int]:
    """Return the size of every node by its id; the chosen parts are one call where they stand."""
    sizes: dict[int, int] = {}

    def size(node: Node) -> int:
        if parts.get(id(node)) in chosen:
            return CALL
        known = sizes.get(id(node))
        return node_size(node, size) if known is None else known

    for node, _ in reversed(order):
        sizes[id(node)] = node_size(node, size)
    return sizes


def _worth(
    starts: list[tuple[Node, int]],
    order: Order,
    parts: Mapping[int, Hashable],
    sizes: Mapping[int, int],
) -> dict[Hashable, int]:
    """Return the parts that are worth a frame with their places, given the sizes."""
    chosen: dict[Hashable, int] = {}
    places = {id(node): 0 for node, _ in order}
    for node, copies in starts:
        places[id(node)] += copies
    for node, inside in order:
        here = places[id(node)]
        part = parts.get(id(node))
        if part is not None and (here - 1) * sizes[id(node)] - here * CALL >= SAVED:
            chosen[part] = here
            here = 1
        if isinstance(node, Repeat):
            here *= _copies(node)
        for child in inside:
            places[id(child)] += here
    return chosen


def _parents_first(roots: Iterable[Node], parts: Mapping[int, Hashable]) -> Order:
    """Return the roots and all below them, each after those that it stands in.

    Leaves that are no parts are left out, which most nodes are.
    """
    order: Order = []
    seen: set[int] = set()
    stack: list[tuple[Node, list[Node] | None]] = [(root, None) for root in roots]
    while stack:
        node, inside = stack.pop()
        if inside is not None:
            order.append((node, inside))
        elif id(node) not in seen:
            seen.add(id(node))
            inside = [
                child
                for child in children(node)
                if child is not EPSILON and (not isinstance(child, _LEAVES) or id(child) in parts)
            ]
            stack.append((node, inside))
            stack.extend((child, None) for child in inside)
    order.reverse()
    return order
