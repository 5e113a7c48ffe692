"""Loading a table: map the file, look at everything that could lead astray, hand out arrays.

A file may come from a stranger. What ``load`` returns can be run without another check: every
state, row, call site, label, offset and token id in it is in range, so nothing is ever looked up
outside of its array. Whatever is wrong gives a ``TableError`` that names the array and what was
expected.

Stored members are mapped, not read: the first use of a page brings it in, and all processes share
it. A file must not be changed in place or cut while it is mapped (writers here never do; they
rename), or reading it may kill the process.

What is not checked is whether the masks are *right*: that a set bit leads somewhere is found out
when the token is taken, which then raises ``TableError``. Masks of more than ``SMALL`` bytes,
checksums of large arrays and the masks' contents are proved by ``verify``.

Cost: about half a millisecond for plain tables of some hundred states and a vocabulary of 128k
tokens, one millisecond with frames;
the transition table is looked through once (10 GB a second), and the offsets of the tokens.
"""

from __future__ import annotations

import json
import mmap
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from constrain.tables import archive
from constrain.tables.errors import TableError
from constrain.tables.format import (
    FORMAT_VERSION,
    FRAME_ARRAYS,
    META,
    NO_END,
    PLAIN_ARRAYS,
    STRIDE_ARRAYS,
    Table,
    frame_arrays,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    Arrays = Mapping[str, NDArray[Any]]

MAX_META = 16 << 20
SMALL = 2 << 20  # bytes of masks that are looked through while loading


class HasFingerprint(Protocol):
    """Something that knows the fingerprint of its tokens, such as ``Vocabulary``."""

    @property
    def fingerprint(self) -> str:
        """The fingerprint, in hexadecimal."""
        ...


def load(
    path: str | os.PathLike[str],
    *,
    tokenizer: str | os.PathLike[str] | HasFingerprint | None = None,
) -> Table:
    """Return the table in a file.

    Parameters
    ----------
    path : path
    tokenizer : path, Vocabulary or fingerprint, optional
        Refuse a table that was made for other tokens: a ``tokenizer.json`` or the folder that holds
        it (read with the compiler, and with the table's own width and end ids), a vocabulary, or 64
        hexadecimal digits.

    Raises
    ------
    TableError
        If the file is not a table of format 1, is damaged, or was made for another tokenizer.
    OSError
        If the file cannot be opened.
    """
    table = parse(mapped(Path(path)))
    if tokenizer is not None:
        _require_tokenizer(table, tokenizer)
    return table


def parse(data: memoryview) -> Table:
    """Return the table in the bytes of a file; its arrays are views of them where possible.

    Raises
    ------
    TableError
    """
    members = archive.members(data)
    meta = _meta(data, members)
    described = PLAIN_ARRAYS | (FRAME_ARRAYS if FRAME_ARRAYS.keys() & members.keys() else {})
    if "pop" in described and STRIDE_ARRAYS.keys() & members.keys():
        described |= STRIDE_ARRAYS
    _require_keys(members.keys(), described.keys() | {META})
    arrays = {key: archive.read(data, members[key]) for key in described}
    sizes = _sizes(arrays, described)
    _check_plain(arrays, sizes)
    frames = None
    if "pop" in arrays:
        _check_frames(arrays, sizes)
        frames = frame_arrays(arrays)
    plain = {key: arrays[key] for key in PLAIN_ARRAYS}
    table = Table(**plain, meta=meta, frames=frames)
    if table.masks.nbytes <= SMALL:
        check_rows(table)
    return table


def mapped(path: Path) -> memoryview:
    """Return the content of a file, mapped."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise TableError(f"{path} is not a file")
    with path.open("rb") as file:
        size = file.seek(0, 2)
        if size > archive.MAX_FILE:
            raise TableError(f"{path} has {size} bytes; files of format 1 have less than 4 GiB")
        if not size:
            raise TableError(f"{path} is empty")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


# The metadata, and the version first of all.


def _meta(data: memoryview, members: Mapping[str, archive.Member]) -> dict[str, Any]:
    if META not in members:
        raise _no_version("has no metadata")
    if members[META].full_size > MAX_META:
        raise TableError(f"more than {MAX_META >> 20} MiB of metadata", key=META)
    raw = archive.read(data, members[META])
    if raw.dtype != np.uint8 or raw.ndim != 1:
        raise TableError(f"meta should be uint8 [n]; it is {_shown(raw)}", key=META)
    try:
        meta = json.loads(raw.tobytes().decode(), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise TableError(f"meta is not a JSON object in UTF-8: {error}", key=META) from None
    if not isinstance(meta, dict):
        raise TableError("meta is not a JSON object", key=META)
    version = meta.get("format")
    if type(version) is not int:
        raise _no_version("does not say its format version")
    if version != FORMAT_VERSION:
        raise TableError(
            f"the file is of format {version}; this version reads format {FORMAT_VERSION}."
            " Compile the table again, or use the package that wrote it.",
            key=META,
        )
    if not re.fullmatch("[0-9a-f]{64}", str(meta.get("fingerprint"))):
        raise TableError("meta has no fingerprint of the vocabulary", key=META)
    return meta


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _no_version(what: str) -> TableError:
    return TableError(
        f"the file {what}; a table of format {FORMAT_VERSION} has it in meta", key=META
    )


# Keys, types and shapes.


def _require_keys(found: Any, wanted: Any) -> None:
    for key in sorted(wanted - found):
        raise TableError(f"the file has no {key}; tables have {', '.join(wanted)}", key=key)
    for key in sorted(found - wanted):
        raise TableError(f"tables of format {FORMAT_VERSION} have no {key}", key=key)


def _sizes(
    arrays: Arrays, described: Mapping[str, tuple[str, tuple[str | int, ...]]]
) -> dict[str, int]:
    """Return the lengths by name, after checking that dtypes fit and equal names are equal."""
    sizes: dict[str, int] = {}
    for key, (dtype, dims) in described.items():
        array = arrays[key]
        if array.dtype != np.dtype(dtype) or array.ndim != len(dims):
            raise TableError(_expected(key, dtype, dims, array), key=key)
        for name, length in zip(dims, array.shape, strict=True):
            size = sizes.setdefault(name, length) if isinstance(name, str) else name
            if size != length:
                told = f"{_expected(key, dtype, dims, array)}, where {name} is {size}"
                raise TableError(told, key=key)
    for name in ("V", "Q", "P", "Z"):
        if sizes.get(f"{name} + 1") == 0:
            raise TableError(f"offsets have {name} + 1 entries, never 0")
        sizes[name] = sizes.get(f"{name} + 1", 1) - 1
    return sizes


def _expected(key: str, dtype: str, dims: tuple[str | int, ...], array: NDArray[Any]) -> str:
    shape = ", ".join(map(str, dims))
    return f"{key} should be {np.dtype(dtype).name} [{shape}]; it is {_shown(array)}"


def _shown(array: NDArray[Any]) -> str:
    order = " big-endian" if array.dtype.byteorder == ">" else ""
    return f"{array.dtype.name}{order} {list(array.shape)}"


# Ranges.


def _within(arrays: Arrays, key: str, low: int, high: int) -> None:
    """Require ``low <= x < high`` for all members of an array."""
    array = arrays[key]
    if not array.size:
        return
    least, most = int(array.min()), int(array.max())
    if least < low or most >= high:
        bad = least if least < low else most
        raise TableError(f"{key} should hold {low} to {high - 1}; it holds {bad}", key=key)


def _flags(arrays: Arrays, key: str) -> None:
    _within({key: arrays[key].view(np.uint8)}, key, 0, 2)


def _ascending(arrays: Arrays, key: str, end: int) -> None:
    """Require offsets that ascend from 0 to ``end``."""
    offsets = arrays[key]
    if offsets[0] != 0 or offsets[-1] != end or (offsets[1:] < offsets[:-1]).any():
        raise TableError(f"{key} should ascend from 0 to {end}", key=key)


def _check_plain(arrays: Arrays, sizes: Mapping[str, int]) -> None:
    n_states, n_rows, n_tokens = sizes["S"], sizes["R"], sizes["V"]
    if n_states == 0:
        raise TableError("trans has no states; state 0 is the start", key="trans")
    if sizes["W"] != -(-n_tokens // 32):
        told = f"masks have {sizes['W']} words for {n_tokens} tokens, not {-(-n_tokens // 32)}"
        raise TableError(told, key="masks")
    _within(arrays, "trans", -1 - sizes.get("C", 0), n_states)
    _flags(arrays, "accept")
    _within(arrays, "mask_row", 0, n_rows)
    _ascending(arrays, "token_offsets", sizes["token bytes"])
    _within(arrays, "eos", 0, n_tokens)
    if len(set(arrays["eos"].tolist())) != sizes["ends"]:
        raise TableError("eos names a token twice", key="eos")
    _within(arrays, "tokens_to_end", 0, 1 << 31)


def _check_frames(arrays: Arrays, sizes: Mapping[str, int]) -> None:
    n_states, n_labels = sizes["S"], sizes["L"]
    if not sizes["C"] or not n_labels:
        raise TableError("a table with frames has call sites and labels", key="call_return")
    _within(arrays, "pop", -1, n_labels)
    _within(arrays, "call_target", 0, n_states)
    _within(arrays, "call_return", -1, n_states)
    _flags(arrays, "tick")
    _within(arrays, "escape", -1, n_states)
    for key in ("escape_at", "tokens_to_pop", "pace", "pace_until"):
        _within(arrays, key, 0, 1 << 62)
    _within(arrays, "residue_row", 0, sizes["Q"])
    _ascending(arrays, "residue_offsets", sizes["residues"])
    _ascending(arrays, "exit_token_offsets", sizes["exit tokens"])
    _ascending(arrays, "exit_residue_offsets", sizes["exit residues"])
    _within(arrays, "exit_tokens", 0, sizes["V"])
    for key in ("residues", "exit_residues"):
        _within({key: arrays[key][:, 0]}, key, 0, 1 << 31)
        _within({key: arrays[key][:, 1]}, key, 0, n_labels)
    pairs = arrays["exit_pair"].astype(np.int64)
    _within({"exit_pair": pairs[:, 0]}, "exit_pair", 0, n_states)
    _within({"exit_pair": pairs[:, 1]}, "exit_pair", 0, 1 << 31)
    keys = pairs[:, 0] << 32 | pairs[:, 1]
    if (keys[1:] <= keys[:-1]).any():
        raise TableError("exit_pair should be sorted, each pair once", key="exit_pair")
    if "stride" in arrays:
        _check_strides(arrays, sizes)
    _check_rests(arrays)


def _check_strides(arrays: Arrays, sizes: Mapping[str, int]) -> None:
    for column, low, high in ((0, -1, sizes["S"]), (1, 0, 1 << 31), (2, 0, 1 << 31)):
        _within({"stride": arrays["stride"][:, column]}, "stride", low, high)
    _within({"stride": arrays["stride"][:, 3]}, "stride", 0, sizes["Z"])
    _within(arrays, "stride_tokens", 0, 1 << 31)
    _ascending(arrays, "stride_offsets", sizes["stride tokens"])
    if (arrays["stride_offsets"][1:] == arrays["stride_offsets"][:-1]).any():
        raise TableError("stride_offsets has an empty list", key="stride_offsets")


def _check_rests(arrays: Arrays) -> None:
    """Require that states with a pop label are reached by closing bytes and lead nowhere else."""
    pop, back = arrays["pop"], arrays["call_return"]
    if pop[0] >= 0 or (pop[arrays["call_target"]] >= 0).any() or (pop[back[back >= 0]] >= 0).any():
        raise TableError("a state that is called or returned to has a pop label", key="pop")
    closed = np.flatnonzero(pop >= 0)
    if (arrays["trans"][closed] != -1).any() or arrays["accept"][closed].any():
        raise TableError("a state with a pop label has another way on", key="pop")
    if (back < 0).all(axis=1).any():
        raise TableError("a call site has nowhere to return to", key="call_return")


def check_rows(table: Table) -> None:
    """Require of every row: no bits past the last token, ends where accepted, never empty."""
    masks, row_of = table.masks, table.mask_row
    spare = -table.n_tokens % 32
    if spare and ((masks[:, -1] >> (32 - spare)) & ((1 << spare) - 1)).any():
        raise TableError("masks have bits set for tokens past the last one", key="masks")
    for token_id in table.eos.tolist():
        ends = (masks[row_of, token_id >> 5] >> (token_id & 31) & 1) != 0
        if (ends != table.accept).any():
            state = int(np.flatnonzero(ends != table.accept)[0])
            raise TableError(
                f"the masks allow end token {token_id} in state {state} where it does not accept,"
                " or the other way round",
                key="masks",
            )
    empty = ~np.logical_or.reduce(masks, axis=1, dtype=np.bool_)
    hopeless = np.flatnonzero(empty[row_of] & ~may_be_empty(table))
    if len(hopeless):
        raise TableError(f"masks allow no token in state {hopeless[0]}", key="masks")


def may_be_empty(table: Table) -> NDArray[np.bool_]:
    """Return the states that may have an empty row: no end by tokens, or nothing but a pop."""
    lost: NDArray[np.bool_] = table.tokens_to_end == NO_END
    if table.frames is not None:
        lost &= (table.frames.tokens_to_pop == NO_END).all(axis=1)
    if not len(table.eos):
        lost |= table.accept
    return lost


# The tokenizer.


def _require_tokenizer(table: Table, tokenizer: str | os.PathLike[str] | HasFingerprint) -> None:
    """Raise ``TableError`` unless the table was made for these tokens."""
    if not isinstance(tokenizer, (str, os.PathLike)):
        if tokenizer.fingerprint != table.fingerprint:
            raise _other_tokenizer(table, "the given vocabulary has", tokenizer)
    elif isinstance(tokenizer, str) and re.fullmatch("[0-9a-f]{64}", tokenizer):
        if tokenizer != table.fingerprint:
            raise _other_tokenizer(table, f"the given fingerprint is {tokenizer[:12]}...")
    else:
        _require_file(table, tokenizer)


def _require_file(table: Table, path: str | os.PathLike[str]) -> None:
    """Raise ``TableError`` unless a tokenizer file, read as it was for this table, has its tokens."""
    from constrain.errors import VocabularyError
    from constrain.vocabulary import read_vocabulary

    about = table.meta.get("tokenizer")
    chosen: dict[str, Any] = about if isinstance(about, dict) else {}
    try:
        vocabulary = read_vocabulary(
            Path(path),
            eos=table.eos.tolist(),
            vocab_size=table.n_tokens,
            allow=chosen.get("allow", ()),
            forbid=chosen.get("forbid", ()),
        )
    except VocabularyError as error:
        try:
            vocabulary = read_vocabulary(Path(path))
        except VocabularyError:  # it is no other tokenizer, but none that can be read
            raise TableError(f"the table cannot be compared with {path}: {error}") from error
        raise _other_tokenizer(table, f"{path} has", vocabulary) from error
    if vocabulary.fingerprint != table.fingerprint:
        raise _other_tokenizer(table, f"{path} has", vocabulary)


def _other_tokenizer(table: Table, other: str, vocabulary: Any = None) -> TableError:
    """Return the error of a tokenizer that is not the table's: what either is, and the way out."""
    about = table.meta.get("tokenizer")
    left_out = about.get("left_out") if isinstance(about, dict) else None
    ends = _end_names(table.eos.tolist(), left_out)
    own = f"{table.n_tokens:,} tokens, end of text {ends}, fingerprint {table.fingerprint[:12]}..."
    if isinstance(getattr(vocabulary, "n_tokens", None), int):
        ends = _end_names(vocabulary.eos, vocabulary.left_out)
        other += f" {vocabulary.n_tokens:,} tokens, end of text {ends}"
        differing = _first_difference(table, vocabulary)
        other += f"; {differing}" if differing else ""
    elif vocabulary is not None:
        other += f" fingerprint {vocabulary.fingerprint[:12]}..."
    return TableError(
        f"the table was made for another tokenizer ({own}); {other}. Use the tokenizer that the"
        " table was made for, or compile the table again for this one."
    )


def _end_names(ids: Iterable[int], left_out: Any) -> str:
    """Return end-of-sequence tokens: their ids, and their texts where those are known."""
    try:
        texts = dict(left_out["eos"]["tokens"])
    except (KeyError, TypeError, ValueError):  # metadata says what it likes
        texts = {}
    named = [f"{texts[i]!r:.60} ({i})" if i in texts else str(i) for i in ids]
    return ", ".join(named) or "none"


def _first_difference(table: Table, vocabulary: Any) -> str:
    """Return the first token that two vocabularies of one size spell differently, in words."""
    if vocabulary.n_tokens != table.n_tokens:
        return ""
    offsets = vocabulary.token_offsets
    lengths = np.diff(offsets) != np.diff(table.token_offsets)
    first = int(lengths.argmax()) if lengths.any() else table.n_tokens
    end = int(table.token_offsets[first])
    bytes_differ = table.token_bytes[:end] != vocabulary.token_bytes[:end]
    if bytes_differ.any():
        place = int(bytes_differ.argmax())
        first = int(np.searchsorted(table.token_offsets, place, side="right")) - 1
    if first == table.n_tokens:
        return f"its end of text is {', '.join(map(str, vocabulary.eos))}"
    theirs = vocabulary.token_bytes[offsets[first] : offsets[first + 1]].tobytes()
    return f"token {first} is {table.token(first)!r} in the table and {theirs!r} there"
