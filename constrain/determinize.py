"""The subset construction: from a tree without calls to its minimal deterministic automaton.

The sets of NFA states that texts can lead to (``constrain.subsets``) become the states. Since
Thompson's construction here drops what cannot end, every set that is reached is live, and a dead
state is never built. The worst case is exponential in the size of the tree; the number of sets is
bounded by ``Limits.max_states`` while they are built.

Automata with frames are built by ``constrain.calls`` out of the same sets.

References: Rabin and Scott, "Finite Automata and Their Decision Problems" (1959).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constrain.limits import Meter
from constrain.minimize import trim_minimal_dfa
from constrain.nfa import ROOT, thompson
from constrain.subsets import Subsets, blaming, grouped
from constrain.syntax import Grammar

if TYPE_CHECKING:
    from constrain.dfa import DFA
    from constrain.syntax import Node


def language(node: Node, meter: Meter | None = None) -> DFA:
    """Return the canonical minimal automaton of a tree without calls.

    Parameters
    ----------
    node : Node
    meter : Meter | None
        Limits and clock; the defaults of ``Limits`` if None.

    Raises
    ------
    LimitError
        If there are more than ``max_nfa_states`` or ``max_states`` states, or the time is up.
    """
    meter = meter or Meter()
    nfa = thompson(Grammar(node), meter)
    held = meter.held
    subsets = Subsets(nfa, meter)
    after = subsets.after
    after([nfa.entries[ROOT]])
    moves: list[dict[int, int]] = []
    with blaming(nfa, subsets.members):
        for subset in subsets.members:  # grows while its edges are followed
            row: dict[int, int] = {}
            for bits, targets in grouped(subsets.edges(subset)):
                number = after(targets)
                row[number] = row[number] | bits if number in row else bits
            moves.append(row)
            if len(moves) % 1024 == 0:
                meter.require("DFA states", len(subsets.members), meter.limits.max_states)
    meter.held = held  # the sets go when the automaton is made
    end = nfa.exits[ROOT]
    return trim_minimal_dfa([end in subset for subset in subsets.members], moves, meter)
