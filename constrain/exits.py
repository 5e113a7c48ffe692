"""Masks that depend on the stack: what tokens may do after they have closed a frame.

A token that ends exactly where it closes the frame it started in is allowed whatever the stack is,
since every return state is live; ``masks`` has it. A token that goes on after that depends on the
caller. It hangs in the vocabulary trie under the *exit node* where the close happened:

* The residues of a state: the pairs (exit node, label), for exit nodes that have children. States
  with equal residues share them, as they share mask rows.
* For a return state r and an exit node n: the tokens under n that stay alive from r, and, where
  they close r's frame too (``}}``, ``}]}``), further residues (exit node, label) one level down.

The tokens under an exit node are walked with the same interned actions as the whole trie (a suffix
such as ``,"`` nearly always is a token or the beginning of one), for all exit nodes and all return
states at once. Pairs that cannot meet, since the exit node's byte closes no frame that returns to r,
are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from constrain.actions import unpaired
from constrain.arrays import distinct, ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from constrain.actions import Actions, Walk
    from constrain.machine import Machine
    from constrain.trie import Trie

_CHUNK = 1 << 18  # items looked at in one piece


@dataclass(frozen=True, slots=True)
class Residues:
    """The arrays of a framed table that serve composed masks; see ``constrain.tables.format``.

    Attributes
    ----------
    residue_row : int32 [S]
    residue_offsets, residues : int64 [Q + 1], int32 [n, 2]
    exit_pair : int32 [P, 2]
    exit_token_offsets, exit_tokens : int64 [P + 1], int32 [m]
    exit_residue_offsets, exit_residues : int64 [P + 1], int32 [k, 2]
    """

    residue_row: NDArray[np.int32]
    residue_offsets: NDArray[np.int64]
    residues: NDArray[np.int32]
    exit_pair: NDArray[np.int32]
    exit_token_offsets: NDArray[np.int64]
    exit_tokens: NDArray[np.int32]
    exit_residue_offsets: NDArray[np.int64]
    exit_residues: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class _Items:
    """Trie nodes below exit nodes, each with the action of the bytes in between."""

    root: NDArray[np.intp]
    node: NDArray[np.intp]
    action: NDArray[np.int32]


class _Children:
    """The children of trie nodes, which stand side by side."""

    def __init__(self, trie: Trie) -> None:
        self.first = trie.outline.first_child

    def of(self, nodes: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the children of all nodes, and for each the index of its parent in ``nodes``."""
        return ranges(self.first[nodes], self.first[nodes + 1])

    def any(self, nodes: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return which nodes have children."""
        found: NDArray[np.bool_] = self.first[nodes + 1] > self.first[nodes]
        return found


def residues_of(
    machine: Machine, walk: Walk, actions: Actions, trie: Trie, fine: NDArray[np.bool_]
) -> Residues:
    """Return what composed masks need besides the rows.

    Parameters
    ----------
    machine : Machine
        One with frames.
    walk : Walk
        The walk that made ``actions``; it may intern more.
    actions : Actions
        The actions of the trie on all states.
    trie : Trie
    fine : bool [S]
        The states that a token may lead to.
    """
    children = _Children(trie)
    nodes, row, offsets, residues = _residue_sets(machine, actions, children)
    alive: list[NDArray[np.intp]] = []
    more: list[NDArray[np.intp]] = []
    backs = distinct(machine.call_return[machine.call_return >= 0]).astype(np.intp)
    seen = np.zeros(len(trie.parent), dtype=np.bool_)
    while len(nodes):
        seen[nodes] = True
        items = _below(backs, nodes, children, walk, trie)
        stays, closes = _meet(machine, walk, trie, children, nodes, items, fine)
        alive.append(stays)
        more.append(closes)
        # Where a second frame closes below an exit node, that node is an exit node as well.
        nodes = distinct(closes[2][~seen[closes[2]]])
    return _assemble(
        row,
        offsets,
        residues,
        _joined(alive, 3),
        _joined(more, 4),
        trie,
    )


def _residue_sets(
    machine: Machine, actions: Actions, children: _Children
) -> tuple[NDArray[np.intp], NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
    """Return the exit nodes, and residues by state: ``residue_row``, ``residue_offsets``, pairs."""
    _, cells = unpaired(actions.pairs)
    exits = np.flatnonzero(cells <= machine.n_labels)
    closing = np.zeros(actions.n_actions, dtype=np.bool_)
    closing[np.searchsorted(actions.bounds, exits, side="right") - 1] = True
    kept = np.flatnonzero(closing[actions.node_action])
    kept = kept[children.any(actions.nodes[kept].astype(np.intp))]
    kept = kept[np.argsort(actions.nodes[kept], kind="stable")]
    nodes = actions.nodes[kept].astype(np.intp)
    states, cells, which = actions.entries(actions.node_action[kept].astype(np.intp))
    closes = np.flatnonzero(cells <= machine.n_labels)
    closes = closes[np.argsort(states[closes], kind="stable")]
    pairs = np.stack([nodes[which[closes]], cells[closes] - 1], axis=1).astype(np.int32)
    bounds = np.searchsorted(states[closes], np.arange(machine.n_states + 1)).tolist()
    ranks: dict[bytes, int] = {}
    row = np.empty(machine.n_states, dtype=np.int32)
    raw = pairs.tobytes()
    for state, (begin, end) in enumerate(pairwise(bounds)):
        row[state] = ranks.setdefault(raw[8 * begin : 8 * end], len(ranks))
    residues = np.frombuffer(b"".join(ranks), dtype=np.int32).reshape(-1, 2)
    sizes = np.asarray([len(key) // 8 for key in ranks])
    return distinct(nodes), row, np.concatenate([[0], np.cumsum(sizes)]), residues


def _below(
    backs: NDArray[np.intp], nodes: NDArray[np.intp], children: _Children, walk: Walk, trie: Trie
) -> _Items:
    """Return all nodes below the given ones that some state could go on to, level by level."""
    start = walk.start(backs)
    root = np.arange(len(nodes)).repeat(len(start))
    node, action = nodes[root], np.tile(start, len(nodes))
    found: list[_Items] = []
    while len(node):
        node, which = children.of(node)
        root, action = root[which], action[which]
        action, kept = walk.advance(action, walk.steps.class_of[trie.byte[node]])
        root, node = root[kept], node[kept]
        found.append(_Items(root, node, action))
    if not found:
        empty = np.zeros(0, dtype=np.intp)
        return _Items(empty, empty, np.zeros(0, dtype=np.int32))
    return _Items(
        np.concatenate([part.root for part in found]),
        np.concatenate([part.node for part in found]),
        np.concatenate([part.action for part in found]),
    )


def _meeting(
    machine: Machine, trie: Trie, nodes: NDArray[np.intp], backs: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Return bool [exit nodes, return states]: whether the byte closes a frame that returns there."""
    closes = np.zeros((len(backs), 256), dtype=np.bool_)
    rank = {state: i for i, state in enumerate(backs.tolist())}
    for bits, returns in zip(machine.call_close, machine.call_return.tolist(), strict=True):
        row = np.unpackbits(np.frombuffer(bits.to_bytes(32, "little"), np.uint8), bitorder="little")
        for back in returns:
            if back >= 0:
                closes[rank[back]] |= row.astype(np.bool_)
    return closes[:, trie.byte[nodes]].T


def _meet(
    machine: Machine,
    walk: Walk,
    trie: Trie,
    children: _Children,
    nodes: NDArray[np.intp],
    items: _Items,
    fine: NDArray[np.bool_],
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Walk all items from all return states.

    Returns
    -------
    alive : intp [3, n]
        Return state, exit node, and a node below it whose tokens stay alive.
    more : intp [4, m]
        Return state, exit node, and a node below it with children at which the return state's
        frame closes with a label.
    """
    backs = distinct(machine.call_return[machine.call_return >= 0]).astype(np.intp)
    rank = np.full(machine.n_states, -1, dtype=np.intp)
    rank[backs] = np.arange(len(backs))
    meeting = _meeting(machine, trie, nodes, backs)
    spells = trie.spells[items.node]
    inner = children.any(items.node)
    # Of each action, only what it does to return states.
    used = distinct(items.action)
    action = used.searchsorted(items.action)
    begin, end = walk.bounds[used], walk.bounds[used + 1]
    at, which = ranges(begin, end)
    state, cell = unpaired(walk.pairs[at])
    kept = np.flatnonzero(rank[state] >= 0)
    back, cell, which = rank[state[kept]], cell[kept], which[kept]
    bounds = np.searchsorted(which, np.arange(len(used) + 1))
    states = walk.steps.state_of[cell]
    may_stay = fine[states] | (states < 0)
    alive: list[NDArray[np.intp]] = []
    more: list[NDArray[np.intp]] = []
    for first in range(0, len(items.node), _CHUNK):
        walk.meter.tick()
        part = slice(first, first + _CHUNK)
        entry, item = ranges(bounds[action[part]], bounds[action[part] + 1])
        item += first
        kept = np.flatnonzero(meeting[items.root[item], back[entry]])
        entry, item = entry[kept], item[kept]
        found = np.stack([backs[back[entry]], nodes[items.root[item]], items.node[item]])
        alive.append(found[:, spells[item] & may_stay[entry]])
        closes = np.flatnonzero((cell[entry] < walk.steps.offset) & inner[item])
        labels = cell[entry[closes]].astype(np.intp)[None] - 1
        more.append(np.concatenate([found[:, closes], labels]))
    return _joined(alive, 3), _joined(more, 4)


def _joined(parts: list[NDArray[np.intp]], n_rows: int) -> NDArray[np.intp]:
    return np.concatenate([np.zeros((n_rows, 0), dtype=np.intp), *parts], axis=1)


def _assemble(
    row: NDArray[np.int32],
    offsets: NDArray[np.int64],
    residues: NDArray[np.int32],
    alive: NDArray[np.intp],
    more: NDArray[np.intp],
    trie: Trie,
) -> Residues:
    """Group tokens and further residues by pair (return state, exit node)."""
    every = np.concatenate([alive[:2], more[:2]], axis=1)
    keys = (every[0] << 32) | every[1]
    pairs = distinct(keys)
    which = pairs.searchsorted(keys)
    pair = np.stack([pairs >> 32, pairs & 0xFFFFFFFF], axis=1).astype(np.int32)
    of_alive, of_more = which[: alive.shape[1]], which[alive.shape[1] :]
    wanted = np.zeros(trie.n_nodes + 1, dtype=np.bool_)  # the last stands for no node, -1
    wanted[alive[2]] = True
    token_node = trie.token_node
    candidates = wanted.take(token_node).nonzero()[0]
    candidates = candidates[np.argsort(token_node[candidates], kind="stable")]
    spelled = token_node[candidates]
    positions, source = ranges(
        np.searchsorted(spelled, alive[2], side="left"),
        np.searchsorted(spelled, alive[2], side="right"),
    )
    owner = of_alive[source]
    tokens = candidates[positions]
    by_token = np.lexsort((tokens, owner))
    order = np.lexsort((more[3], more[2], of_more))
    bounds = np.arange(len(pairs) + 1)
    return Residues(
        row,
        offsets,
        residues,
        pair,
        np.searchsorted(owner[by_token], bounds).astype(np.int64),
        tokens[by_token].astype(np.int32),
        np.searchsorted(of_more[order], bounds).astype(np.int64),
        np.stack([more[2][order], more[3][order]], axis=1).astype(np.int32),
    )
