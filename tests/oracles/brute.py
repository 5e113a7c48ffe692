"""Token masks by their definition: walk the bytes of every token, one after the other."""

from __future__ import annotations

DEAD = -1


def walk(trans, state, data):
    """Return the state after ``data``, or DEAD."""
    for byte in data:
        if state == DEAD:
            return DEAD
        state = int(trans[state][byte])
    return state


def mask(trans, accept, state, vocab, eos):
    """Return one truth value a token: does it keep the state alive (or end an accepted text)?"""
    row = []
    for token_id, token in enumerate(vocab):
        if token_id == eos:
            row.append(bool(accept[state]))
        else:
            row.append(bool(token) and walk(trans, state, token) != DEAD)
    return row


def reachable(trans, vocab):
    """Return all states that token sequences lead to from the start."""
    found = [0]
    for state in found:
        for token in vocab:
            target = walk(trans, state, token) if token else DEAD
            if target != DEAD and target not in found:
                found.append(target)
    return found
