"""Two ways to cut a grammar at a depth, which must give the same automaton.

``inlined`` replaces calls in the *syntax tree* by ``open body close``, depth times over; the
subset construction for trees without calls does the rest. ``unrolled`` runs a finished *machine*
with the stack as part of the state. They share nothing but the syntax tree.
"""

from __future__ import annotations

import numpy as np

from constrain.dfa import DEAD, DFA
from constrain.machine import Machine, Run
from constrain.minimize import canonical
from constrain.syntax import (
    NEVER,
    Alternate,
    Call,
    Concat,
    Grammar,
    Graph,
    Literal,
    Named,
    Node,
    Repeat,
    Tick,
)


def inlined(grammar: Grammar, depth: int) -> Node:
    """Return the tree of the texts in which at most ``depth`` frames are open at a time."""
    return _replace(grammar.start, grammar, depth)


def _replace(node: Node, grammar: Grammar, depth: int) -> Node:
    if isinstance(node, Call):
        if depth == 0:
            return NEVER
        frame = grammar.frames[node.name]
        body = _replace(frame.body, grammar, depth - 1)
        return Concat((Literal(bytes((frame.open,))), body, Literal(bytes((frame.close,)))))
    if isinstance(node, Concat):
        return Concat(tuple(_replace(part, grammar, depth) for part in node.parts))
    if isinstance(node, Alternate):
        return Alternate(tuple(_replace(option, grammar, depth) for option in node.options))
    if isinstance(node, Repeat):
        return Repeat(_replace(node.node, grammar, depth), node.minimum, node.maximum)
    if isinstance(node, Tick | Named):
        return _replace(node.node, grammar, depth)
    if isinstance(node, Graph):
        edges = tuple((a, _replace(label, grammar, depth), b) for a, label, b in node.edges)
        return Graph(node.n_points, edges, node.start, node.end)
    return node


def unrolled(machine: Machine, depth: int) -> DFA:
    """Return the automaton of a machine whose stack holds at most ``depth`` call sites."""
    start = (0, 0, ())
    numbers: dict[tuple[int, int, tuple[tuple[int, int], ...]], int] = {start: 0}
    order = [start]
    rows: list[list[int]] = []
    for state, count, stack in order:
        row = [DEAD] * 256
        for byte in np.flatnonzero(machine.dfa.trans[state] != DEAD).tolist():
            run = Run(machine, state, count, list(stack))
            if not run.read(byte) or len(run.stack) > depth:
                continue
            key = (run.state, run.count, tuple(run.stack))
            if key not in numbers:
                numbers[key] = len(order)
                order.append(key)
            row[byte] = numbers[key]
        rows.append(row)
    accept = [not stack and bool(machine.dfa.accept[state]) for state, _, stack in order]
    return canonical(np.asarray(rows, dtype=np.int32), np.asarray(accept))
