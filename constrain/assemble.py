"""From a machine and a vocabulary to the arrays of a table: the token half of the compiler.

    machine + trie -> token actions -> token graph -> tokens to the end -> mask rows -> table

and, for machines with frames, the residues that compose masks along the stack.

Where the vocabulary cannot spell some byte, a state may be reachable by tokens and yet have no way to
an end by tokens. With ``drop_traps`` tokens that lead into such states are not allowed, and if the
start itself is one, ``DeadEndError`` names the bytes that are missing. Rows of such states are all
zero; they are the only empty rows, and no allowed token leads to them. Calls of frames that may
return into such a state are taken out of the machine (and of the table) altogether.

With frames this errs on the safe side. Ways to an end use no token that closes the frame it started in
and goes on, so a language may be refused that only such tokens could spell (2 of 50 refusals were so,
of random small languages and vocabularies that lacked bytes the languages use). To know better one
would have to ask what each token does for every set of states that may lie below on the stack.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from constrain.actions import Walk, walk_trie
from constrain.dfa import DFA
from constrain.distances import distances
from constrain.errors import DeadEndError
from constrain.exits import residues_of
from constrain.masks import NO_END, Rows, mask_rows, token_graph, tokens_to_end
from constrain.steps import Steps
from constrain.tables.format import FrameArrays, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from constrain.distances import Distances
    from constrain.limits import Meter
    from constrain.machine import Machine
    from constrain.trie import Trie
    from constrain.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Assembled:
    """A table and what was learnt on the way.

    Attributes
    ----------
    table : Table
    n_actions : int
        Distinct token actions.
    n_traps : int
        States that no allowed token leads to any more, since no end can be reached from them.
    missing : bytes
        The bytes that the language uses and no single token spells.
    """

    table: Table
    n_actions: int
    n_traps: int
    missing: bytes


def assemble(
    machine: Machine,
    vocabulary: Vocabulary,
    trie: Trie,
    meter: Meter,
    *,
    drop_traps: bool = True,
    meta: Mapping[str, object] | None = None,
) -> Assembled:
    """Return the table of a machine for a vocabulary.

    Raises
    ------
    DeadEndError
        If no text of the language can be spelled by the vocabulary.
    LimitError
    """
    missing = missing_bytes(machine, trie)
    while True:
        steps = Steps(machine)
        walk = Walk(steps, meter)
        actions = walk_trie(walk, trie)
        found = None
        if not machine.is_plain:
            found = distances(machine, steps, actions, vocabulary, meter)
        usable = _without_traps(machine, found) if found is not None and drop_traps else machine
        if usable is machine:
            break
        machine = usable
    if found is None:
        states, cells = token_graph(actions)
        to_end = tokens_to_end((states, cells - steps.offset), machine.dfa.accept, meter)
        frames = None
        finite = to_end != NO_END
    else:
        to_end, to_pop = found.to_end, found.to_pop
        finite = _finite(machine, found)
        fine = finite if drop_traps else np.ones_like(finite)
        residues = residues_of(machine, walk, actions, trie, fine)
        frames = FrameArrays(
            pop=machine.pop,
            call_target=machine.call_target,
            call_return=machine.call_return,
            tick=machine.tick,
            escape=machine.escape,
            escape_at=machine.escape_at,
            tokens_to_pop=to_pop,
            pace=found.pace,
            pace_until=found.pace_until,
            residue_row=residues.residue_row,
            residue_offsets=residues.residue_offsets,
            residues=residues.residues,
            exit_pair=residues.exit_pair,
            exit_token_offsets=residues.exit_token_offsets,
            exit_tokens=residues.exit_tokens,
            exit_residue_offsets=residues.exit_residue_offsets,
            exit_residues=residues.exit_residues,
            **({} if found.strides is None else found.strides.arrays()),
        )
    n_traps = 0
    alive = np.ones(steps.n_known, dtype=np.bool_)
    if drop_traps and not finite.all():
        if not finite[0]:
            raise _dead_end(machine, missing)
        n_traps = int((~finite).sum())
        alive = _finite_cells(steps, finite)
    rows = mask_rows(actions, alive, machine.dfa.accept, vocabulary, meter)
    table = _table(machine, vocabulary, rows, to_end, frames, meta or {})
    return Assembled(table, actions.n_actions, n_traps, missing)


def _finite(machine: Machine, found: Distances) -> NDArray[np.bool_]:
    """Return which states of a machine with frames have a way to some end by tokens."""
    ends: NDArray[np.bool_] = (found.to_end != NO_END) | (found.to_pop != NO_END).any(axis=1)
    return ends | (machine.pop >= 0)


def _without_traps(machine: Machine, found: Distances) -> Machine:
    """Return a machine without the calls that may return to where no end can be reached.

    Which label a frame closes with is the text's affair, so a call is dropped if it is unsafe for
    any of its labels. The machine itself if there is no such call: then every frame that can be
    closed by tokens returns to a state that has an end, and so on down the stack.
    """
    finite = _finite(machine, found)
    if finite.all():
        return machine
    lost = (machine.call_return >= 0) & ~finite[machine.call_return]
    unsafe: NDArray[np.bool_] = np.asarray(lost.any(axis=1))
    trans = machine.dfa.trans
    dropped = (trans < -1) & unsafe[np.where(trans < -1, -2 - trans, 0)]
    if not dropped.any():
        return machine
    return replace(machine, dfa=DFA(np.where(dropped, -1, trans), machine.dfa.accept))


def _finite_cells(steps: Steps, finite: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return, for every cell, whether an end can be reached from it by tokens."""
    states = steps.state_of[: steps.n_known]
    return np.where(states >= 0, finite[states], True)


def missing_bytes(machine: Machine, trie: Trie) -> bytes:
    """Return the bytes on some transition that no token of one byte spells."""
    class_of, columns = machine.dfa.byte_classes
    used = (columns != -1).any(axis=0)[class_of]
    return bytes(np.flatnonzero(used & ~trie.alone).tolist())


def _dead_end(machine: Machine, missing: bytes) -> DeadEndError:
    shown = " ".join(f"{byte:02x}" for byte in missing[:16])
    more = f" and {len(missing) - 16} more" if len(missing) > 16 else ""
    found = "cannot spell any text of the language"
    if not machine.is_plain:
        found += " without tokens that close a part and go on behind it, which are not relied on"
    return DeadEndError(
        f"the vocabulary {found}: no token stands for the bytes {shown}{more} alone; use the"
        " tokenizer of the model, or a pattern without them",
        missing=missing,
    )


def _table(
    machine: Machine,
    vocabulary: Vocabulary,
    rows: Rows,
    to_end: NDArray[np.int32],
    frames: FrameArrays | None,
    meta: Mapping[str, object],
) -> Table:
    return Table(
        trans=machine.dfa.trans,
        accept=machine.dfa.accept,
        masks=rows.masks,
        mask_row=rows.row_of,
        token_bytes=vocabulary.token_bytes,
        token_offsets=vocabulary.token_offsets,
        eos=np.asarray(vocabulary.eos, dtype=np.int32),
        tokens_to_end=to_end,
        meta=dict(meta),
        frames=frames,
    )
