"""Minimization by filling the table of distinguishable pairs; quadratic, and hard to get wrong.

Source: Hopcroft, Motwani and Ullman, "Introduction to Automata Theory, Languages, and Computation",
section 4.4.1.
"""

from __future__ import annotations

import numpy as np


def distinguishable(trans, accept):
    """Return bool [S + 1, S + 1]: some text tells the two states apart (the last state is dead)."""
    n = len(accept)
    total = np.full((n + 1, 256), n)
    total[:n] = np.where(np.asarray(trans) < 0, n, trans)
    ends = np.append(np.asarray(accept, dtype=bool), False)
    table = ends[:, None] != ends[None, :]
    while True:
        grown = table.copy()
        for byte in range(256):
            column = total[:, byte]
            grown |= table[np.ix_(column, column)]
        if (grown == table).all():
            return table
        table = grown


def is_minimal(trans, accept):
    """Return whether any two states, and each state and the dead one, can be told apart."""
    table = distinguishable(trans, accept)
    return bool((table | np.eye(len(table), dtype=bool)).all())


def n_classes(trans, accept):
    """Return the number of states of the minimal trim automaton (the dead class not counted)."""
    table = distinguishable(trans, accept)
    rows = {tuple(row) for row in table}
    return len(rows) - 1
