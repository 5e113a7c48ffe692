"""A cache of vocabularies and tries in the user's cache folder, so that a tokenizer is read once.

Reading a tokenizer.json costs 0.2 to 1 s, loading all that depends on the vocabulary alone (its
bytes, the trie, the outline of the trie) 0.02 s. An entry is one file, named after the SHA-256 of
everything that shapes it: the tokenizer file, the files beside it that name the end of a text, the
caller's choices, the versions of cache and package.

    magic (32 bytes)  SHA-256 of the rest (32 bytes)  name (64 bytes)  npz (never pickled)

The npz is laid out as that of a table (``constrain.tables.archive``), so its arrays are used where
they were read, without a copy.

Promises. An entry is written under another name and renamed, so it is whole or absent, however
many processes write. It is trusted only if its checksum, its name and the shapes inside agree;
otherwise it is built again and replaced. The folder is bounded: the entries used longest ago go
first. Nothing is followed: neither a folder nor an entry that is a symbolic link is used, a folder
that belongs to someone else neither. Where the folder cannot be used there is no cache, and no
error: a cache can only save time.

The folder is ``$CONSTRAIN_CACHE``, else ``$XDG_CACHE_HOME/constrain``, else the platform's place.

Doesn't do: protect against a program of the same user that writes well-formed lies.
"""

import contextlib
import hashlib
import json
import mmap
import os
import stat
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from constrain import __version__
from constrain.limits import MIB, Limits, Meter
from constrain.tables import archive
from constrain.tables.errors import TableError
from constrain.trie import Outline, Trie
from constrain.vocabulary import TokenChoices, TokenizerBytes, Vocabulary, build_vocabulary

#: Bytes of all entries together.
MAX_BYTES = 512 * MIB

_MAGIC = b"constrain cache 2\n".ljust(32, b"\0")
_DIGEST = 32
_NAME = 64
_HEADER = len(_MAGIC) + _DIGEST + _NAME  # a multiple of 64, so that arrays are aligned
_SUFFIX = ".vocabulary"
_TEMPORARY = ".writing-"
_STALE = 3600.0  # seconds after which a temporary file has no writer any more

# Not through a link, not waiting at a pipe, not as text; each where the platform has the word.
_WANTED = ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY")
_OPEN_FLAGS = os.O_RDONLY | sum(int(getattr(os, flag, 0)) for flag in _WANTED)

# What reading an entry may raise, whatever is in it.
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, TableError)

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Entry:
    """A file in the cache.

    Attributes
    ----------
    path : Path
    n_bytes : int
    used : float
        When it was last used, in seconds since the epoch.
    """

    path: Path
    n_bytes: int
    used: float

    def about(self) -> tuple[str, int]:
        """Return which file it was made of (``""`` if that cannot be read), and the tokens in it.

        This is for people: the checksum is not looked at.
        """
        try:
            with _opened(self.path) as file:
                content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))[_HEADER:]
                members = archive.members(content)
                about = json.loads(archive.read(content, members["about"]).tobytes())
                return str(about["source"]), len(archive.read(content, members["token_node"]))
        except _UNREADABLE:
            return "", 0


def cached_vocabulary(
    path: str | Path,
    *,
    eos: Sequence[int | str] = (),
    vocab_size: int | None = None,
    allow: Sequence[int | str] = (),
    forbid: Sequence[int | str] = (),
    limits: Limits | None = None,
    cache: bool = True,
) -> tuple[Vocabulary, Trie]:
    """Return the vocabulary of a tokenizer.json and its trie, from the cache where possible.

    Parameters
    ----------
    path, eos, vocab_size, allow, forbid, limits
        As ``read_vocabulary`` has them.
    cache : bool
        Whether the cache may be used at all.

    Returns
    -------
    Vocabulary
    Trie

    Raises
    ------
    VocabularyError, LimitError
        As ``read_vocabulary`` raises them; the cache itself never fails.
    """
    meter = Meter(limits or Limits())
    choices = TokenChoices(tuple(eos), vocab_size, tuple(allow), tuple(forbid))
    files = TokenizerBytes.read(path, meter, with_neighbours=not eos)
    name = _name(files, choices) if cache else ""
    vocabulary = _fetch(name, str(files.path)) if cache else None
    if vocabulary is None:
        vocabulary = build_vocabulary(files, choices, meter)
        if cache:
            _keep(name, _arrays(vocabulary, vocabulary.trie))
    return vocabulary, vocabulary.trie


def folder() -> Path:
    """Return the cache folder, whether it exists or not."""
    chosen = os.environ.get("CONSTRAIN_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    if base and Path(base).is_absolute():
        return Path(base) / "constrain"
    home = Path(os.path.expanduser("~"))  # unlike Path.home(), never an error
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "constrain"
    return home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "constrain"


def entries() -> list[Entry]:
    """Return the entries of the cache, the one used last first."""
    found = [Entry(p, status.st_size, status.st_mtime) for p, status in _files(_SUFFIX)]
    return sorted(found, key=lambda entry: (-entry.used, entry.path))


def size() -> int:
    """Return the bytes of all entries together."""
    return sum(entry.n_bytes for entry in entries())


def clear() -> int:
    """Remove all entries (and what killed writers left) and return how many entries went."""
    for path, _ in _files(""):
        if path.name.startswith(_TEMPORARY):
            _remove(path)
    return sum(_remove(entry.path) for entry in entries())


# Names


def _name(files: TokenizerBytes, choices: TokenChoices) -> str:
    """Return the name of an entry: a hash of all that shapes it, 64 hexadecimal digits."""
    facts = {
        "cache": _MAGIC.decode("latin-1"),
        "package": __version__,
        "order": sys.byteorder,
        "tokenizer": hashlib.sha256(files.content).hexdigest(),
        "beside": {k: hashlib.sha256(v).hexdigest() for k, v in files.neighbours.items()},
        "choices": asdict(choices),
    }
    text = json.dumps(facts, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


# Reading


def _fetch(name: str, source: str) -> Vocabulary | None:
    """Return what the entry ``name`` holds, or None if it is absent or not to be trusted."""
    path = folder() / (name + _SUFFIX)
    if not _is_ours(path.parent):
        return None
    try:
        content = _read_entry(path)
        arrays = _unpack(content, name)
        vocabulary, trie = _vocabulary(arrays, source), _trie(arrays)
        # What both would work out when first asked for.
        vars(trie)["outline"] = _outline(arrays, trie)
        vars(vocabulary)["trie"] = trie
    except _UNREADABLE:
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return vocabulary


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file of at most ``MAX_BYTES``, not through a link."""
    handle = os.open(path, _OPEN_FLAGS)
    with open(handle, "rb") as file:
        status = os.fstat(handle)
        _require(stat.S_ISREG(status.st_mode) and status.st_size <= MAX_BYTES)
        yield file


def _read_entry(path: Path) -> bytes:
    """Return the bytes of an entry."""
    with _opened(path) as file:
        return file.read()


def _unpack(content: bytes, name: str) -> Arrays:
    """Return the arrays of an entry after its checksum and its name were found right."""
    body = memoryview(content)[_HEADER - _NAME :]
    start = _MAGIC + hashlib.sha256(body).digest() + name.encode()
    if content[:_HEADER] != start:
        raise ValueError("damaged")
    members = archive.members(body[_NAME:])
    return {key: archive.read(body[_NAME:], member) for key, member in members.items()}


def _vocabulary(arrays: Mapping[str, NDArray[Any]], source: str) -> Vocabulary:
    """Return the vocabulary in an entry, or raise ValueError or KeyError."""
    data, offsets = arrays["token_bytes"], arrays["token_offsets"]
    about = json.loads(arrays["about"].tobytes())
    _require(data.dtype == np.uint8 and data.ndim == 1)
    _require(offsets.dtype == np.int64 and offsets.ndim == 1 and len(offsets) > 0)
    _require(offsets[0] == 0 and offsets[-1] == len(data) and bool((np.diff(offsets) >= 0).all()))
    eos = tuple(about["eos"])
    _require(all(type(n) is int and 0 <= n < len(offsets) - 1 for n in eos))
    return Vocabulary(
        data,
        offsets,
        eos,
        about["left_out"],
        about["eos_origin"],
        about["drops_first_space"],
        source,
    )


def _trie(arrays: Mapping[str, NDArray[Any]]) -> Trie:
    """Return the trie in an entry, or raise ValueError or KeyError."""
    trie = Trie(*(arrays[key] for key in ("parent", "byte", "level_offsets", "token_node")))
    n = trie.n_nodes
    wanted = (np.int32, np.uint8, np.int64, np.int32)
    parts: tuple[NDArray[Any], ...] = (
        trie.parent,
        trie.byte,
        trie.level_offsets,
        trie.token_node,
    )
    _require(all(a.dtype == t and a.ndim == 1 for a, t in zip(parts, wanted, strict=True)))
    bounds = trie.level_offsets
    _require(len(trie.byte) == n and len(bounds) > 1 and bounds[0] == 0 and bounds[-1] == n)
    _require(bool((np.diff(bounds) > 0).all()))
    _require(bool((trie.parent[1:] >= 0).all()) and bool((trie.parent < np.arange(n)).all()))
    nodes = trie.token_node
    _require(len(nodes) == len(arrays["token_offsets"]) - 1)
    _require(not len(nodes) or (int(nodes.min()) >= -1 and int(nodes.max()) < n))
    return trie


def _outline(arrays: Mapping[str, NDArray[Any]], trie: Trie) -> Outline:
    """Return the outline in an entry, or raise ValueError or KeyError."""
    outline = Outline(*(arrays[field.name] for field in fields(Outline)))
    n, n_tails, n_listed = trie.n_nodes, len(outline.tails), len(outline.tokens)
    n_tokens = int(np.count_nonzero(trie.token_node >= 0))
    n_specials, n_counts = len(outline.specials), len(outline.counted)
    _require(n_tails <= n_tokens <= n_listed <= 2 * n_tokens and n_counts > 1)
    wanted: dict[str, tuple[type[np.generic], int, int]] = {  # dtype, length, greatest value
        "first_child": (np.int32, n + 1, n),
        "place": (np.int32, n, n - 1),
        "size": (np.int32, n, n),
        "below": (np.uint64, n, (1 << 64) - 1),
        "characters": (np.int32, n, trie.depth),
        "tokens": (np.int32, n_listed, len(trie.token_node) - 1),
        "token_characters": (np.int32, n_listed, trie.depth),
        "tokens_before": (np.int32, n + 1, n_tokens - n_tails),
        "cut_before": (np.int32, n + 1, n_tails),
        "special_before": (np.int32, n + 1, n_specials),
        "tail_length": (np.int64, n_tails, outline.tails.shape[-1]),
        "sums": (np.uint64, n_listed + 1, (1 << 64) - 1),
        "counted": (np.int32, n_counts, n_listed),
        "specials": (np.int32, n_specials, n - 1),
    }
    for name, (dtype, length, most) in wanted.items():
        array: NDArray[Any] = getattr(outline, name)
        _require(array.dtype == dtype and array.shape == (length,))
        _require(not length or (int(array.min()) >= 0 and int(array.max()) <= most))
    _require(outline.tails.dtype == np.uint8 and outline.tails.shape == (n_tails, 3))
    token_place = np.full(len(trie.token_node), -1, dtype=np.int32)
    token_place[outline.tokens[:n_tokens]] = np.arange(n_tokens)
    _require(np.array_equal(outline.token_place, token_place))
    return outline


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError("not an entry")


# Writing


def _arrays(vocabulary: Vocabulary, trie: Trie) -> Arrays:
    about = {
        "eos": vocabulary.eos,
        "left_out": vocabulary.left_out,
        "eos_origin": vocabulary.eos_origin,
        "drops_first_space": vocabulary.drops_first_space,
        "source": os.path.abspath(vocabulary.source),
    }
    return {
        "token_bytes": vocabulary.token_bytes,
        "token_offsets": vocabulary.token_offsets,
        "parent": trie.parent,
        "byte": trie.byte,
        "level_offsets": trie.level_offsets,
        "token_node": trie.token_node,
        **{field.name: getattr(trie.outline, field.name) for field in fields(Outline)},
        "about": np.frombuffer(json.dumps(about).encode(), np.uint8),
    }


def _keep(name: str, arrays: Arrays) -> None:
    """Write an entry, or do nothing where the folder does not let us."""
    place = folder()
    body = b"".join([name.encode(), *archive.pieces(arrays, compress=False)])
    content = _MAGIC + hashlib.sha256(body).digest() + body
    if len(content) > MAX_BYTES:
        return
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _is_ours(place):
            _make_room(len(content))
            _write(place / (name + _SUFFIX), content)
    except OSError:
        return


def _write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; a link of that name is replaced, not followed."""
    import tempfile  # takes a while, and is for writing only

    handle, temporary = tempfile.mkstemp(prefix=_TEMPORARY, dir=path.parent)
    try:
        with open(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        _remove(Path(temporary))
        raise


def _make_room(needed: int) -> None:
    """Remove the entries used longest ago until ``needed`` more bytes fit, and abandoned files."""
    listed = entries()
    for path, status in _files(""):
        if path.name.startswith(_TEMPORARY) and status.st_mtime < time.time() - _STALE:
            _remove(path)
    total = needed + sum(entry.n_bytes for entry in listed)
    for entry in reversed(listed):
        if total <= MAX_BYTES:
            break
        total -= entry.n_bytes if _remove(entry.path) else 0


def _files(suffix: str) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield the regular files of the folder whose names end so; links are no regular files."""
    place = folder()
    if not _is_ours(place):
        return
    with contextlib.suppress(OSError), os.scandir(place) as listed:
        for item in listed:
            with contextlib.suppress(OSError):
                if item.name.endswith(suffix) and item.is_file(follow_symlinks=False):
                    yield Path(item.path), item.stat(follow_symlinks=False)


def _is_ours(place: Path) -> bool:
    """Return whether the folder is a real one (not a link) and belongs to this user."""
    try:
        status = place.lstat()
    except (OSError, ValueError):
        return False
    mine = status.st_uid == os.getuid() if hasattr(os, "getuid") else True
    return stat.S_ISDIR(status.st_mode) and mine


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:
        return False
    return True
