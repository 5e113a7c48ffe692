"""Frames: from a grammar to its minimal machine.

A part of the language that begins and ends with bytes of its own (``{ }``, ``[ ]``, ``" "``) and that
is recursive, stands in many places or is counted is a *frame*: an automaton of its own, entered by
its opening byte and left by its closing byte. ``constrain.calls`` makes
the automaton of all frames deterministic.

Afterwards, as sets of labels each state can come to pop (``_reach``) show what is live and
reachable, labels are renumbered so that only those that can come back to one call site differ (with
one frame at a place there is only label 0, and equal frames become one), and states and call sites
are minimized together as one graph. Numbering is breadth first; within a frame it is canonical.

A grammar without calls becomes the canonical minimal automaton and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from constrain.calls import Construction, CountError
from constrain.counting import Counts, eligible
from constrain.determinize import language
from constrain.dfa import DFA
from constrain.limits import Meter
from constrain.machine import FrameInfo, Machine
from constrain.minimize import (
    EMPTY,
    NO_LINKS,
    NO_MOVES,
    Nodes,
    breadth_first,
    classify,
    fill,
)
from constrain.nfa import ROOT, called, close_entries, thompson
from constrain.subsets import Subsets

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from constrain.syntax import Grammar

_END = 1  # in sets of labels as bits: an accepting state; label l is bit l + 1


def _reach(built: Construction) -> list[int]:
    """Return, for each state, the labels it can come to pop (bit l + 1) or that it can accept (bit 0).

    The least fixpoint of: what its targets reach; and, for a call, what the return states of the
    labels that the entered frame can pop reach.
    """
    n = len(built.states)
    sources: list[list[int]] = [[] for _ in range(n)]
    users: list[list[int]] = [[] for _ in built.site_target]  # states that make a call
    entered: dict[int, list[int]] = {}  # call sites by target
    waits: dict[int, list[tuple[int, int]]] = {}  # return state -> (site, label)
    for state in range(n):
        for target in built.moves[state]:
            sources[target].append(state)
        escape = built.escapes[state]
        if escape is not None:
            sources[escape[0]].append(state)
        for site in built.calls[state]:
            users[site].append(state)
    for site, target in enumerate(built.site_target):
        entered.setdefault(target, []).append(site)
        for label, back in built.returns[site].items():
            waits.setdefault(back, []).append((site, label))
    root = built.nfa.exits[ROOT]
    reach = [0] * n
    queue: list[int] = []

    def add(state: int, bits: int) -> None:
        if bits & ~reach[state]:
            reach[state] |= bits
            queue.append(state)

    for state, label in enumerate(built.pops):
        if label >= 0:
            add(state, 2 << label)
        elif root in built.subset(state):
            add(state, _END)
    while queue:
        state = queue.pop()
        bits = reach[state]
        for source in sources[state]:
            add(source, bits)
        for site, label in waits.get(state, ()):
            if reach[built.site_target[site]] & 2 << label:
                for user in users[site]:
                    add(user, bits)
        for site in entered.get(state, ()):
            for label, back in built.returns[site].items():
                if bits & 2 << label:
                    for user in users[site]:
                        add(user, reach[back])
    return reach


def _colours(built: Construction, reach: list[int]) -> list[int]:
    """Renumber labels so that those that can come back to one call site differ, and few are used."""
    meets: list[set[int]] = [set() for _ in built.label_states]
    for site in range(len(built.site_target)):
        bits = reach[built.site_target[site]]
        labels = [label for label in built.returns[site] if bits & 2 << label]
        for label in labels:
            meets[label].update(labels)
    colours: list[int] = []
    for label, others in enumerate(meets):
        used = {colours[other] for other in others if other < label}
        colours.append(next(colour for colour in range(len(used) + 1) if colour not in used))
    return colours


def _nodes(built: Construction, reach: list[int], colours: list[int]) -> Nodes:
    """Return states and call sites (after them) as one graph, live parts only."""
    n = len(built.states)
    root = built.nfa.exits[ROOT]
    nodes = Nodes()
    any_dead = not all(reach)
    live_site: list[bool] = []
    for site, target in enumerate(built.site_target):
        live_site.append(bool(reach[target]) and bool(built.returns[site]))
    for state, (_, phase, ticked) in enumerate(built.states):
        escape = built.escapes[state]
        subset = built.subset(state)
        waits = 0 if phase is None else built.counts.waits_for(subset, phase)
        label = built.pops[state]
        pop = colours[label] if label >= 0 else -1
        nodes.kinds.append(
            ("state", root in subset, pop, ticked, escape[1] if escape else 0, waits)
        )
        moves = built.moves[state]
        if any_dead or built.calls[state]:
            moves = {t: bits for t, bits in moves.items() if reach[t]}
            moves.update((n + c, bits) for c, bits in built.calls[state].items() if live_site[c])
        nodes.moves.append(moves)
        if escape and reach[state] and not reach[escape[0]]:
            raise CountError("a counted part cannot end once its count is reached")
        nodes.links.append({"escape": escape[0]} if escape else NO_LINKS)
    for site, target in enumerate(built.site_target):
        nodes.kinds.append(("call",))
        nodes.moves.append(NO_MOVES)
        links: dict[Hashable, int] = {"target": target}
        for label, back in sorted(built.returns[site].items(), key=lambda x: colours[x[0]]):
            if reach[target] & 2 << label:
                if not reach[back]:
                    raise CountError("a counted part cannot go on after one of its inner parts")
                links[colours[label]] = back
        missing = reach[target] >> 1
        for label in built.returns[site]:
            missing &= ~(1 << label)
        if live_site[site] and missing:
            raise CountError("a counted part cannot go on after one of its inner parts")
        nodes.links.append(links)
    return nodes


def _infos(built: Construction, class_of: list[int], rank: dict[int, int]) -> tuple[FrameInfo, ...]:
    found: dict[int, FrameInfo] = {}
    for site, target in enumerate(built.site_target):
        state = rank.get(class_of[target], -1)
        if state < 0 or state in found:
            continue
        members = sorted(built.site_frames[site])
        frames = [built.nfa.frames[number] for number in members]
        found[state] = FrameInfo(
            state,
            " | ".join(built.nfa.names[number] for number in members),
            ", ".join(dict.fromkeys(frame.why for frame in frames if frame and frame.why)),
            ", ".join(dict.fromkeys(frame.where for frame in frames if frame and frame.where)),
        )
    return tuple(found[state] for state in sorted(found))


def build_machine(
    grammar: Grammar,
    meter: Meter | None = None,
    longest: Callable[[int], int] = lambda _: 1,
) -> Machine:
    """Return the minimal machine of a grammar.

    Parameters
    ----------
    grammar : Grammar
    meter : Meter | None
        Limits and clock.
    longest : callable
        The most bytes of a set (as bits) that one token holds; it decides how long the exact
        regions of counted frames are. The default will do where no masks are made.

    Returns
    -------
    Machine
        Plain if the start node makes no calls. The empty language gives one dead state.

    Raises
    ------
    FrameConflict, CountError
        If the frames do not fit together; see the essay above.
    LimitError
    """
    meter = meter or Meter()
    if not called(grammar.start):
        return Machine.of(language(grammar.start, meter))
    nfa = thompson(grammar, meter)
    counts = Counts(nfa, longest)
    while impossible := counts.impossible():
        close_entries(nfa, impossible)
        counts = Counts(nfa, longest)
    for number in counts.bounds:
        if not eligible(nfa, number):
            raise CountError(
                f"the body of frame {nfa.names[number]!r} cannot be counted one by one"
            )
    if not Subsets(nfa, meter).plain(nfa.entries[ROOT]):
        return Machine.of(EMPTY)
    built = Construction(nfa, counts, meter)
    reach = _reach(built)
    if not reach[built.start]:
        return Machine.of(EMPTY)
    colours = _colours(built, reach)
    nodes = _nodes(built, reach, colours)
    class_of, classes = classify(nodes, [built.start], meter)
    order = breadth_first(classes, class_of[built.start])
    states = [node for node in order if classes.kinds[node][0] == "state"]  # type: ignore[index]
    sites = [node for node in order if classes.kinds[node][0] == "call"]  # type: ignore[index]
    rank = {node: i for i, node in enumerate(states)}
    close_of: dict[int, int] = {}
    for site, frames in enumerate(built.site_frames):
        number = class_of[len(built.states) + site]
        for frame in frames:
            close_of[number] = close_of.get(number, 0) | 1 << nfa.frames[frame].close  # type: ignore[union-attr]
    closers = tuple(close_of[node] for node in sites)
    return _machine(classes, states, sites, closers, _infos(built, class_of, rank))


def _machine(
    classes: Nodes,
    states: list[int],
    sites: list[int],
    closers: tuple[int, ...],
    infos: tuple[FrameInfo, ...],
) -> Machine:
    rank = {node: i for i, node in enumerate(states)}
    value = dict(rank)
    value.update((node, -2 - i) for i, node in enumerate(sites))
    edges = [
        (i, bits, value[target])
        for i, node in enumerate(states)
        for target, bits in classes.moves[node].items()
    ]
    kinds: list[tuple[str, bool, int, bool, int, int]] = [classes.kinds[node] for node in states]  # type: ignore[misc]
    n_labels = max((kind[2] for kind in kinds), default=-1) + 1
    target = np.zeros(len(sites), dtype=np.int32)
    returns = np.full((len(sites), n_labels), -1, dtype=np.int32)
    for i, node in enumerate(sites):
        for label, other in classes.links[node].items():
            if isinstance(label, int):
                returns[i, label] = rank[other]
            else:
                target[i] = rank[other]
    escape = [rank[classes.links[node]["escape"]] if classes.links[node] else -1 for node in states]
    return Machine(
        DFA(fill(len(states), edges), np.asarray([kind[1] for kind in kinds], dtype=np.bool_)),
        np.asarray([kind[2] for kind in kinds], dtype=np.int32),
        target,
        returns,
        np.asarray([kind[3] for kind in kinds], dtype=np.bool_),
        np.asarray(escape, dtype=np.int32),
        np.asarray([kind[4] for kind in kinds], dtype=np.int64),
        np.asarray([kind[5] for kind in kinds], dtype=np.int64),
        closers,
        infos,
    )
