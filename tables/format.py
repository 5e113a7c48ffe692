"""Format 1: what a table is, in memory and in a file. ``FORMAT.md`` is the same for strangers.

A table answers two questions for a state of an automaton: which tokens may come next, and where
does a token lead. Its arrays, in the order in which a file holds them (S states, R distinct rows of
W words, V token ids, C call sites, L labels, Q residue sets, P pairs):

    trans          int32 [S, 256]   the next state; -1 is dead; -2 - c enters call site c
    accept         bool  [S]        whether the text may end here (with frames: and none is open)
    masks          int32 [R, W]     distinct rows, W = ceil(V / 32); token t is bit t % 32 of word
                                    t // 32
    mask_row       int32 [S]        the row of each state
    token_bytes    uint8 [n]        the bytes of all tokens, one after the other
    token_offsets  int64 [V + 1]    token t is token_bytes[token_offsets[t] : token_offsets[t + 1]]
    eos            int32 [n]        the ids that end a text
    tokens_to_end  int32 [S]        fewest tokens to an accepting state, EOS not counted, or NO_END
    meta           uint8 [n]        a JSON object in UTF-8; "format" and "fingerprint" are always
                                    in it

and, in tables with frames only:

    pop            int32 [S]        the label >= 0 that is popped on arrival, else -1
    call_target    int32 [C]        the first state of the frame that a call site enters
    call_return    int32 [C, L]     where to go on after the frame closed with a label; -1: it
                                    cannot
    tick           bool  [S]        arriving by a byte adds one to the count of the open frame
    escape         int32 [S]        where to go on when that count is escape_at; -1: nowhere else
    escape_at      int64 [S]
    tokens_to_pop  int32 [S, L]     fewest tokens to the close of the frame with a label, or NO_END
    pace           int32 [S]        tokens that one more tick costs where closing must wait for the
                                    count
    pace_until     int64 [S]        the count it waits for; 0 where nothing waits
    residue_row    int32 [S]        the residue set of each state, shared like rows
    residue_offsets, residues            int64 [Q + 1], int32 [n, 2]   (exit node, label)
    exit_pair                            int32 [P, 2]                  (return state, exit node)
    exit_token_offsets, exit_tokens      int64 [P + 1], int32 [n]
    exit_residue_offsets, exit_residues  int64 [P + 1], int32 [n, 2]   (exit node, label)

and, all or none, in tables with frames where tokens pass many ticks of a zone at once:

    stride         int32 [S, 4]     the hub of the state's zone, or -1; tokens and ticks on a way
                                    there; the hub's list
    stride_offsets, stride_tokens        int64 [Z + 1], int32 [n]      of each hub: the fewest
                                    tokens back to it that pass r ticks, for r < d, or NO_END; one
                                    token passes d

The machine. A configuration is a state, a count and a stack of (call site, count). Reading byte b
in state s with t = trans[s, b]: -1 is dead; ``-2 - c`` pushes (c, count) and goes on in
``call_target[c]`` with count 0; else the state is t, and if ``tick[t]`` the count grows by one, and
if it then is ``escape_at[t]`` (and ``escape[t] >= 0``) the state is ``escape[t]``. Then, while the
state has a pop label l: pop (c, count) and go on in ``call_return[c, l]``. A text is complete where
``accept`` holds and the stack is empty.

The mask of (s, stack) is row ``mask_row[s]``, and for each (n, l) in the residues of s: with
r = call_return[c, l] for the call site c on top, the tokens of the pair (r, n), if there is such a
pair, and the residues of that pair in the same way with the stack one lower.

Tokens to the end. With no frame open, ``tokens_to_end[s]``. Else the least over the labels l of
``tokens_to_pop[s, l]`` + the tokens to the end from ``call_return[c, l]`` with the stack one lower;
and where ``pace_until[s] > count``, ``pace[s] * m`` is added, with m = ``pace_until[s] - count -
1``. There, if ``stride[s]`` is (h, n, k, z) with h >= 0 and k <= m, another way leads over the hub:
n tokens, then (m - k) // d and those in the list z of d numbers for (m - k) % d, and then the least
as from h without anything added; the less of both counts. From every state that masks lead to, some
allowed token lowers this number by one or more, so a budget can be kept.

Doesn't do: reading and writing (``load``, ``write``), or running (``constraint``).
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, fields
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

FORMAT_VERSION = 1
_NAME = 40  # characters of a name
DEAD = -1
NO_END = 2**31 - 1
"""In ``tokens_to_end`` and ``tokens_to_pop``: no number of tokens does."""

PLAIN_ARRAYS: dict[str, tuple[str, tuple[str | int, ...]]] = {
    "trans": ("<i4", ("S", 256)),
    "accept": ("|b1", ("S",)),
    "masks": ("<i4", ("R", "W")),
    "mask_row": ("<i4", ("S",)),
    "token_bytes": ("|u1", ("token bytes",)),
    "token_offsets": ("<i8", ("V + 1",)),
    "eos": ("<i4", ("ends",)),
    "tokens_to_end": ("<i4", ("S",)),
}
"""Keys of every table in file order -> dtype and shape, equal names standing for equal lengths."""

FRAME_ARRAYS: dict[str, tuple[str, tuple[str | int, ...]]] = {
    "pop": ("<i4", ("S",)),
    "call_target": ("<i4", ("C",)),
    "call_return": ("<i4", ("C", "L")),
    "tick": ("|b1", ("S",)),
    "escape": ("<i4", ("S",)),
    "escape_at": ("<i8", ("S",)),
    "tokens_to_pop": ("<i4", ("S", "L")),
    "pace": ("<i4", ("S",)),
    "pace_until": ("<i8", ("S",)),
    "residue_row": ("<i4", ("S",)),
    "residue_offsets": ("<i8", ("Q + 1",)),
    "residues": ("<i4", ("residues", 2)),
    "exit_pair": ("<i4", ("P", 2)),
    "exit_token_offsets": ("<i8", ("P + 1",)),
    "exit_tokens": ("<i4", ("exit tokens",)),
    "exit_residue_offsets": ("<i8", ("P + 1",)),
    "exit_residues": ("<i4", ("exit residues", 2)),
}
"""Keys that only tables with frames have, after those of ``PLAIN_ARRAYS``."""

STRIDE_ARRAYS: dict[str, tuple[str, tuple[str | int, ...]]] = {
    "stride": ("<i4", ("S", 4)),
    "stride_offsets": ("<i8", ("Z + 1",)),
    "stride_tokens": ("<i4", ("stride tokens",)),
}
"""Keys that only some tables with frames have, after those of ``FRAME_ARRAYS``."""

META = "meta"


@dataclass(frozen=True, eq=False)
class FrameArrays:
    """The arrays of a table with frames; the module docstring says what each cell means.

    Attributes
    ----------
    pop : int32 [S]
    call_target : int32 [C]
    call_return : int32 [C, L]
    tick : bool [S]
    escape : int32 [S]
    escape_at : int64 [S]
    residue_row : int32 [S]
    residue_offsets, residues : int64 [Q + 1], int32 [n, 2]
    exit_pair : int32 [P, 2]
        Sorted by return state, then exit node.
    exit_token_offsets, exit_tokens : int64 [P + 1], int32 [m]
    exit_residue_offsets, exit_residues : int64 [P + 1], int32 [k, 2]
    tokens_to_pop : int32 [S, L]
    pace, pace_until : int32 [S], int64 [S]
        All zero where no frame has a minimum that its states do not spell out.
    stride, stride_offsets, stride_tokens : int32 [S, 4], int64 [Z + 1], int32 [l], or None
        None where no token passes two ticks before such a minimum.
    """

    pop: NDArray[np.int32]
    call_target: NDArray[np.int32]
    call_return: NDArray[np.int32]
    tick: NDArray[np.bool_]
    escape: NDArray[np.int32]
    escape_at: NDArray[np.int64]
    residue_row: NDArray[np.int32]
    residue_offsets: NDArray[np.int64]
    residues: NDArray[np.int32]
    exit_pair: NDArray[np.int32]
    exit_token_offsets: NDArray[np.int64]
    exit_tokens: NDArray[np.int32]
    exit_residue_offsets: NDArray[np.int64]
    exit_residues: NDArray[np.int32]
    tokens_to_pop: NDArray[np.int32]
    pace: NDArray[np.int32]
    pace_until: NDArray[np.int64]
    stride: NDArray[np.int32] | None = None
    stride_offsets: NDArray[np.int64] | None = None
    stride_tokens: NDArray[np.int32] | None = None

    def __repr__(self) -> str:
        """Return the sizes in one line."""
        sites, labels = self.call_return.shape
        return f"<FrameArrays: {len(self.pop):,} states, call sites: {sites:,}, labels: {labels:,}>"


@dataclass(frozen=True, eq=False)
class Table:
    """A compiled language for one vocabulary; immutable, and shared by any number of runs.

    Attributes
    ----------
    trans : int32 [S, 256]
    accept : bool [S]
    masks : int32 [R, ceil(V / 32)]
    mask_row : int32 [S]
    token_bytes, token_offsets : uint8 [n], int64 [V + 1]
        Tokens that are never allowed (special tokens, holes) are empty.
    eos : int32 [n]
    tokens_to_end : int32 [S]
    meta : dict
        What ``inspect`` shows; JSON values. In a file it also has the format version and the
        fingerprint of the vocabulary.
    frames : FrameArrays | None
        None in a plain table.
    """

    trans: NDArray[np.int32]
    accept: NDArray[np.bool_]
    masks: NDArray[np.int32]
    mask_row: NDArray[np.int32]
    token_bytes: NDArray[np.uint8]
    token_offsets: NDArray[np.int64]
    eos: NDArray[np.int32]
    tokens_to_end: NDArray[np.int32]
    meta: dict[str, Any] = field(default_factory=dict)
    frames: FrameArrays | None = None
    memo: dict[str, Any] = field(default_factory=dict, init=False, repr=False)
    """What the run time works out once for all runs; no part of the table."""

    def __getstate__(self) -> dict[str, Any]:
        """Leave the memo out of copies and of what is sent to other processes."""
        return {**self.__dict__, "memo": {}}

    def __repr__(self) -> str:
        """Return where the table came from and its sizes, in one line."""
        kind = "plain" if self.frames is None else "framed"
        return (
            f"<Table of {source_name(self.meta)}: {self.n_states:,} states,"
            f" {len(self.masks):,} rows, {self.n_tokens:,} tokens, {kind}>"
        )

    @property
    def n_states(self) -> int:
        """The number of states."""
        return len(self.accept)

    @property
    def n_tokens(self) -> int:
        """The number of token ids V: the width of the logits."""
        return len(self.token_offsets) - 1

    @property
    def n_words(self) -> int:
        """The number of 32-bit words of a row."""
        return int(self.masks.shape[1])

    @property
    def is_plain(self) -> bool:
        """Whether there are no frames: the automaton is a DFA."""
        return self.frames is None

    @cached_property
    def fingerprint(self) -> str:
        """The fingerprint of the vocabulary, computed from the arrays."""
        return fingerprint(self.n_tokens, self.token_bytes, self.token_offsets, self.eos.tolist())

    def token(self, token_id: int) -> bytes:
        """Return the bytes of a token; empty where it is never allowed."""
        start, end = self.token_offsets[token_id : token_id + 2].tolist()
        return self.token_bytes[start:end].tobytes()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by key, in file order, without ``meta``."""
        found = {key: getattr(self, key) for key in PLAIN_ARRAYS}
        if self.frames is not None:
            found |= {key: getattr(self.frames, key) for key in FRAME_ARRAYS}
            if self.frames.stride is not None:
                found |= {key: getattr(self.frames, key) for key in STRIDE_ARRAYS}
        return found

    def save(self, path: str | os.PathLike[str], *, compress: bool = False) -> None:
        """Write the table to a file, all of it or nothing; see ``write.write_table``."""
        writing = import_module("constrain.tables.write")  # which imports this module
        writing.write_table(path, self, compress=compress)


def fingerprint(
    n_tokens: int,
    token_bytes: NDArray[np.uint8],
    token_offsets: NDArray[np.int64],
    eos: Sequence[int],
) -> str:
    """Return the SHA-256 that tells whether two vocabularies are the same, in hexadecimal.

    It is taken over the ASCII text ``constrain vocabulary 1``, a line feed, and then,
    little-endian, V and the number of end ids (int64), the offsets (int64 [V + 1]), the end ids
    ascending (int64) and the bytes.

    Parameters
    ----------
    n_tokens : int
    token_bytes, token_offsets : uint8 [n], int64 [V + 1]
    eos : sequence of int
    """
    ends = np.asarray(sorted(eos), dtype="<i8")
    digest = hashlib.sha256(b"constrain vocabulary 1\n")
    digest.update(np.asarray([n_tokens, len(ends)], dtype="<i8").tobytes())
    digest.update(np.ascontiguousarray(token_offsets, dtype="<i8").tobytes())
    digest.update(ends.tobytes())
    digest.update(np.ascontiguousarray(token_bytes, dtype=np.uint8).tobytes())
    return digest.hexdigest()


def source_name(meta: Mapping[str, Any]) -> str:
    """Return what a table was compiled from, in a few words: its kind and its name.

    >>> source_name({"source": {"kind": "schema", "text": '{"title": "tool"}'}})
    "JSON schema 'tool'"
    """
    about = meta.get("source")
    about = about if isinstance(about, dict) else {}
    kind, name = about.get("kind"), about.get("text")
    if kind == "schema":
        try:
            schema = json.loads(str(name))
        except (ValueError, RecursionError):
            schema = None
        name = schema.get("title", schema.get("$id")) if isinstance(schema, dict) else None
    elif kind != "regex":
        return "a grammar" if kind == "grammar" else "an unknown language"
    word = "pattern" if kind == "regex" else "JSON schema"
    if not isinstance(name, str) or not name:
        return f"a {word}"
    return f"{word} {name if len(name) <= _NAME else name[: _NAME - 1] + '…'!r}"


def frame_arrays(arrays: Mapping[str, NDArray[Any]]) -> FrameArrays:
    """Return the frames among arrays by key."""
    names = (each.name for each in fields(FrameArrays))
    return FrameArrays(**{name: arrays[name] for name in names if name in arrays})
