"""The vocabulary: for every token id exactly the bytes that decoding appends, and what is left out.

In comes a tokenizer.json (or anything with tokens); out comes a ``Vocabulary``: all token bytes one
after another, and the ids that end a text. A token without bytes is never allowed. Left out, with
the reason counted in ``left_out``:

    eos        it ends the text; it is allowed where the text may end, and spells nothing
    special    decoding drops it
    unknown    it stands for text the model cannot spell
    ambiguous  the file gives its id two different texts
    disagree   reading and writing differ: the tokenizer reads the text of an added token as it
               stands, but its decoder writes other bytes (``lÖ`` is read as 6C C3 96 and written as
               6C D6, in tokenizers 0.23). Also ``<0xNN>`` where no decoder step makes it a byte
    long       more than 4,096 bytes (the longest in real files: 1,024), which only costs time
    control    an added token that is not special and steers a chat format; see ``marks``
    forbidden  the caller forbids it
    empty      it has no bytes, and would be allowed everywhere for ever

``allow`` admits control marks again; the reasons above it in the list cannot be overruled.
Duplicate spellings all stay. Ids that no token has (holes, and the padding up to ``vocab_size``)
have no bytes.

>>> from constrain.vocabulary import Vocabulary
>>> vocabulary = Vocabulary.of([b"a", b"bc", None, b"a"], eos=[2])
>>> vocabulary.n_tokens, vocabulary.tokens, vocabulary.eos
(4, [b'a', b'bc', None, b'a'], (2,))

Cost: a few hundredths of a second over reading the JSON (Llama 3.1: 0.2 s in all, Gemma 3: 0.8 s).
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from constrain.eos import NEIGHBOURS, find_eos, resolve
from constrain.errors import VocabularyError
from constrain.limits import Limits, Meter
from constrain.marks import is_control_mark
from constrain.plain_vocabulary import plain_tokens
from constrain.spelling import Spelled, joined, spell
from constrain.tables.format import fingerprint
from constrain.tokenizer_json import (
    MAX_WIDTH,
    TokenizerFile,
    locate,
    parse_json,
    parse_tokenizer,
    read_bounded,
    tokenizer_of,
)
from constrain.trie import Trie, build_trie

_MAX_NEIGHBOUR = 16 << 20  # bytes of a file beside tokenizer.json
_MAX_SPELLED = 64 << 20  # bytes of all tokens; real vocabularies have 3 MB
_MAX_TOKEN = 4096  # bytes of one token
_SHOWN = 8  # tokens named for each reason

#: What each reason in ``left_out`` means, strongest first.
REASONS = {
    "eos": "ends the text",
    "special": "special: decoding drops it",
    "unknown": "stands for text the model cannot spell",
    "ambiguous": "the file gives the id two texts",
    "disagree": "decoding writes other bytes than encoding reads",
    "long": "longer than any real token",
    "control": "added token that looks like a control mark",
    "forbidden": "forbidden by the caller",
    "empty": "has no bytes",
}


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The bytes of every token.

    Attributes
    ----------
    token_bytes : uint8 [sum of lengths]
    token_offsets : int64 [V + 1]
        Token t is ``token_bytes[token_offsets[t]:token_offsets[t + 1]]``; tokens that are never
        allowed are empty.
    eos : tuple[int, ...]
        The ids that end a text, ascending; their bytes are empty.
    left_out : dict[str, dict]
        Reason -> ``{"count": n, "tokens": [[id, text], ...]}`` with the first few; JSON data.
    eos_origin : str
        Who named the end-of-sequence ids.
    drops_first_space : bool
        Whether decoding a whole text drops a space at its start; see ``spelling``.
    source : str
        The file the tokens came from, ``""`` if none.
    """

    token_bytes: NDArray[np.uint8]
    token_offsets: NDArray[np.int64]
    eos: tuple[int, ...]
    left_out: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    eos_origin: str = "the caller"
    drops_first_space: bool = False
    source: str = ""

    def __repr__(self) -> str:
        """Return the sizes and the file in one line."""
        left_out = sum(about["count"] for about in self.left_out.values())
        file = f", {self.source}" if self.source else ""
        return (
            f"<Vocabulary: {self.n_tokens:,} tokens, {left_out:,} left out, ends"
            f" {list(self.eos)}{file}>"
        )

    @property
    def n_tokens(self) -> int:
        """The width of the masks, V."""
        return len(self.token_offsets) - 1

    @cached_property
    def tokens(self) -> list[bytes | None]:
        """The bytes of each token, or None where it has none."""
        spelled = Spelled(self.token_bytes, np.diff(self.token_offsets))
        return [word or None for word in spelled.words()]

    @cached_property
    def trie(self) -> Trie:
        """The trie of the tokens, built when first asked for."""
        return build_trie(self.token_bytes, self.token_offsets)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over width, token bytes and end-of-sequence ids, as hexadecimal digits."""
        return fingerprint(self.n_tokens, self.token_bytes, self.token_offsets, self.eos)

    @property
    def missing_bytes(self) -> bytes:
        """The bytes that no token spells alone, ascending."""
        starts = self.token_offsets[:-1][np.diff(self.token_offsets) == 1]
        spelled = np.zeros(256, np.bool_)
        spelled[self.token_bytes[starts]] = True
        return bytes(np.flatnonzero(~spelled).tolist())

    @classmethod
    def of(cls, tokens: Sequence[bytes | None], eos: Sequence[int] = ()) -> "Vocabulary":
        """Return the vocabulary of a list of tokens, made by hand.

        Parameters
        ----------
        tokens : sequence of (bytes or None)
            None for tokens that are never allowed.
        eos : sequence of int
            The ids that end a text.

        Raises
        ------
        VocabularyError
            If an end-of-sequence id is out of range, or a token is not bytes.
        """
        for number in eos:
            if not 0 <= number < len(tokens):
                raise VocabularyError(f"eos: {number} is not an id of the {len(tokens)} tokens")
        if not set(map(type, tokens)) <= {bytes, type(None)}:
            strange = next(t for t in tokens if type(t) not in (bytes, type(None)))
            raise VocabularyError(f"a token must be bytes or None, not {strange!r:.80}")
        ends = frozenset(eos)
        spelled = joined([b"" if i in ends else t or b"" for i, t in enumerate(tokens)])
        return cls(spelled.data, spelled.offsets, tuple(sorted(ends)))


@dataclass(frozen=True, slots=True)
class TokenChoices:
    """What the caller decides about a vocabulary.

    Attributes
    ----------
    eos, allow, forbid : tuple of (int or str)
        Token ids, or texts as the file spells them.
    vocab_size : int | None
        The width of the model's logits.
    """

    eos: tuple[int | str, ...] = ()
    vocab_size: int | None = None
    allow: tuple[int | str, ...] = ()
    forbid: tuple[int | str, ...] = ()


def read_vocabulary(
    path: str | Path,
    *,
    eos: Sequence[int | str] = (),
    vocab_size: int | None = None,
    allow: Sequence[int | str] = (),
    forbid: Sequence[int | str] = (),
    limits: Limits | None = None,
    cache: bool = True,
) -> Vocabulary:
    """Return the vocabulary of a tokenizer.json.

    Parameters
    ----------
    path : str or Path
        The file, or the folder that holds it.
    eos : sequence of int or str
        The tokens that end a text, by id or text; if empty, see ``constrain.eos``.
    vocab_size : int or None
        The width of the model's logits; by default the highest id + 1.
    allow, forbid : sequence of int or str
        Tokens to allow or to leave out against the rules, by id or text.
    limits : Limits or None
        Bounds on the file and on memory.
    cache : bool
        Whether the result may be kept in, and taken from, the user's cache folder.

    Returns
    -------
    Vocabulary

    Raises
    ------
    VocabularyError
        If the file cannot be read byte for byte, or names no end of text.
    LimitError
        If the file is too large.
    """
    from constrain.cache import cached_vocabulary

    return cached_vocabulary(
        path, eos=eos, vocab_size=vocab_size, allow=allow, forbid=forbid, limits=limits, cache=cache
    )[0]


@dataclass(frozen=True, slots=True)
class TokenizerBytes:
    """The files a vocabulary is made of, as bytes: what the cache hashes."""

    path: Path
    content: bytes
    neighbours: dict[str, bytes]

    @classmethod
    def read(cls, path: str | Path, meter: Meter, *, with_neighbours: bool) -> "TokenizerBytes":
        """Read tokenizer.json and, if wanted, the files beside it that name the end of a text."""
        place = locate(path)
        content = read_bounded(place, "tokenizer file", meter.limits.max_input, meter)
        beside = [place.parent / name for name in NEIGHBOURS] if with_neighbours else []
        neighbours = {
            found.name: read_bounded(found, "file", _MAX_NEIGHBOUR, meter)
            for found in beside
            if os.path.isfile(found)  # False, not an error, where it cannot be seen
        }
        return cls(place, content, neighbours)


def build_vocabulary(files: TokenizerBytes, choices: TokenChoices, meter: Meter) -> Vocabulary:
    """Return the vocabulary of tokenizer files that have been read; see ``read_vocabulary``."""
    file = parse_tokenizer(files.content, meter, str(files.path))
    neighbours = {name: parse_json(text, name) for name, text in files.neighbours.items()}
    meter.tick()
    return choose_tokens(file, choices, neighbours, str(files.path))


def choose_tokens(
    file: TokenizerFile,
    choices: TokenChoices,
    neighbours: Mapping[str, Mapping[str, Any]],
    source: str,
) -> Vocabulary:
    """Return the vocabulary of a parsed tokenizer file: spell all tokens, leave out some."""
    named = _width(file)
    width = max(named, _checked_size(choices.vocab_size))
    ending = find_eos(file, width, choices.eos, neighbours)
    spelled = _by_id(file, width)
    reasons = _reasons(file, spelled, choices, ending.ids)
    left_out = _report(reasons, file)
    kept = np.ones(width, np.bool_)
    kept[list(reasons)] = False
    spelled = spelled.take(kept)
    width = _final_width(spelled, ending.ids, named, choices.vocab_size)
    spelled = Spelled(spelled.data, spelled.lengths[:width])
    return Vocabulary(
        spelled.data,
        spelled.offsets,
        ending.ids,
        left_out,
        ending.origin,
        file.decoder.drops_first_space,
        source,
    )


def _width(file: TokenizerFile) -> int:
    """Return the highest id + 1."""
    added = max((token.id for token in file.added), default=-1)
    width = 1 + max(max(file.ids, default=-1), added)
    if not width:
        raise VocabularyError("the tokenizer has no tokens")
    return width


def _checked_size(vocab_size: int | None) -> int:
    if vocab_size is None:
        return 0
    if type(vocab_size) is not int or not 0 < vocab_size <= MAX_WIDTH:
        raise VocabularyError(f"vocab_size must be from 1 to {MAX_WIDTH}, not {vocab_size!r:.40}")
    return vocab_size


def _final_width(spelled: Spelled, eos: tuple[int, ...], named: int, vocab_size: int | None) -> int:
    """Return the width of the masks: ``vocab_size``, unless it cuts off a usable id."""
    usable = 1 + max(*eos, int(np.flatnonzero(spelled.lengths).max(initial=-1)))
    if vocab_size is None:
        return named
    if vocab_size < usable:
        raise VocabularyError(
            f"vocab_size {vocab_size} is too small: the token with id {usable - 1} is in use, so "
            f"at least {usable} is needed (the tokenizer names ids up to {named - 1})"
        )
    return vocab_size


def _by_id(file: TokenizerFile, width: int) -> Spelled:
    """Return the bytes of all ids."""
    fresh = {token.id: token.text for token in file.added if token.id not in file.texts}
    spelled = spell([*file.tokens, *fresh.values()], file.decoder)
    ids = np.array([*file.ids, *fresh], np.int64)
    if len(spelled.data) > _MAX_SPELLED:
        raise VocabularyError(
            f"the tokens have {len(spelled.data):,} bytes together, more than {_MAX_SPELLED:,}"
        )
    return _placed(spelled, ids, width)


def _placed(spelled: Spelled, ids: NDArray[np.int64], width: int) -> Spelled:
    """Return byte strings in the order of their ids, with empty ones for ids that have none."""
    lengths = np.zeros(width, np.int64)
    lengths[ids] = spelled.lengths
    if (ids[1:] > ids[:-1]).all():
        return Spelled(spelled.data, lengths)
    order = np.argsort(ids)
    starts = spelled.offsets[:-1][order]
    sizes = spelled.lengths[order]
    shifts = starts - (np.cumsum(sizes) - sizes)  # of each string, from its new place to its old
    return Spelled(spelled.data[np.arange(len(spelled.data)) + np.repeat(shifts, sizes)], lengths)


def _reasons(
    file: TokenizerFile, spelled: Spelled, choices: TokenChoices, eos: tuple[int, ...]
) -> dict[int, str]:
    """Return the ids to leave out, each with its strongest reason."""
    width = len(spelled.lengths)
    allowed = _resolved(choices.allow, file, width, "allow")
    forbidden = _resolved(choices.forbid, file, width, "forbid")
    unknown = file.ids_of(file.unknown) if file.unknown is not None else []
    added = _added_reasons(file)
    named = file.texts.keys() | {token.id for token in file.added}
    reasons = dict.fromkeys(named & set(np.flatnonzero(spelled.lengths == 0).tolist()), "empty")
    reasons |= dict.fromkeys(forbidden, "forbidden")
    control = {n for n, why in added.items() if why == "control"}
    reasons |= dict.fromkeys(control - allowed, "control")
    reasons |= dict.fromkeys(np.flatnonzero(spelled.lengths > _MAX_TOKEN).tolist(), "long")
    reasons |= {n: why for n, why in added.items() if n not in control}
    reasons |= dict.fromkeys(_misread_fallback(file), "disagree")
    reasons |= {n: "unknown" for n in unknown if added.get(n) != "special"}
    reasons |= dict.fromkeys(eos, "eos")
    _refuse_contradictions(reasons, allowed, forbidden)
    return reasons


def _refuse_contradictions(
    reasons: Mapping[int, str], allowed: set[int], forbidden: set[int]
) -> None:
    for number in sorted(allowed & reasons.keys()):
        raise VocabularyError(
            f"allow: the token with id {number} cannot be text: {REASONS[reasons[number]]}"
        )
    for number in sorted(number for number in forbidden if reasons[number] == "eos"):
        raise VocabularyError(
            f"forbid: the token with id {number} ends the text; name the others as eos (--eos)"
        )


def _resolved(names: Sequence[int | str], file: TokenizerFile, width: int, what: str) -> set[int]:
    return {number for name in names for number in resolve(name, file, width, what)}


def _added_reasons(file: TokenizerFile) -> dict[int, str]:
    """Return why added tokens are left out, by id."""
    model = file.texts
    words = spell([token.text for token in file.added], file.decoder).words()
    owner: dict[int, str] = {}
    reasons: dict[int, str] = {}
    for token, word in zip(file.added, words, strict=True):
        if owner.setdefault(token.id, model.get(token.id, token.text)) != token.text:
            reasons[token.id] = "special" if token.special else "ambiguous"
        elif token.special:
            reasons[token.id] = "special"
        elif token.id not in model and word != _as_read(token.text, file):
            reasons.setdefault(token.id, "disagree")
        elif is_control_mark(word.decode(errors="replace")):
            reasons.setdefault(token.id, "control")
    for token in file.added:  # one text with two ids: which one is read is anyone's guess
        for number in file.ids_of(token.text):
            if number != token.id:
                reasons.setdefault(number, "special" if token.special else "ambiguous")
                reasons.setdefault(token.id, "ambiguous")
    return reasons


def _as_read(text: str, file: TokenizerFile) -> bytes:
    """Return the bytes an added token stands for in a text that is encoded.

    It is matched as it stands, after the normalizer at most, which writes a space as the mark
    that a Replace or Metaspace decoder turns back into one.
    """
    if file.decoder.byte_level:
        return text.encode()
    return text.replace("▁", " ").encode()


def _misread_fallback(file: TokenizerFile) -> list[int]:
    """Return the ids of ``<0xNN>`` tokens that the model means as bytes and decoding as text."""
    if not file.byte_fallback or file.decoder.byte_fallback:
        return []
    return [number for byte in range(256) for number in file.ids_of(f"<0x{byte:02X}>")]


def _report(reasons: Mapping[int, str], file: TokenizerFile) -> dict[str, dict[str, Any]]:
    """Return, for each reason, how many tokens it leaves out, and the first few."""
    texts = {token.id: token.text for token in file.added}
    report: dict[str, dict[str, Any]] = {}
    for reason in REASONS:
        ids = sorted(number for number, why in reasons.items() if why == reason)
        if ids:
            shown = [[n, texts.get(n, file.texts.get(n, ""))] for n in ids[:_SHOWN]]
            report[reason] = {"count": len(ids), "tokens": shown}
    return report


def vocab_bytes(tok: object) -> list[bytes | None]:
    r"""Return the bytes of every token id of a tokenizer.

    A ``tokenizers.Tokenizer`` and a path are read like a tokenizer.json, by the rules of its
    decoder. Anything else (and a tokenizer whose decoder gives tokens no bytes of their own) is
    read plainly: a token string made of letters of the GPT-2 byte alphabet only is those bytes,
    any other is its UTF-8; see ``plain_vocabulary`` for what it may look like.

    Parameters
    ----------
    tok : object

    Returns
    -------
    list of (bytes or None)
        Indexed by token id; None for special tokens, holes, and what ``Vocabulary`` leaves out.

    Raises
    ------
    VocabularyError
        If ``tok`` offers no vocabulary.

    Examples
    --------
    >>> vocab_bytes({"Ġcat": 0, "日": 1, "ĊĊ": 3})
    [b' cat', b'\xe6\x97\xa5', None, b'\n\n']
    """
    if isinstance(tok, (str, Path)):
        meter = Meter()
        files = TokenizerBytes.read(tok, meter, with_neighbours=False)
        return _tokens_of(parse_tokenizer(files.content, meter, str(files.path)))
    backend = getattr(tok, "backend_tokenizer", tok)  # of a transformers tokenizer
    to_str = getattr(backend, "to_str", None)
    if callable(to_str):
        document = parse_json(cast("str", to_str()).encode(), "the tokenizer")
        parts: list[Any] = [document.get("decoder"), document.get("model")]
        if parts[0] is not None and all(part["type"] != "WordPiece" for part in parts):
            return _tokens_of(tokenizer_of(document, "the tokenizer"))
    return plain_tokens(tok)


def _tokens_of(file: TokenizerFile) -> list[bytes | None]:
    """Return the bytes of each id; nothing is known about the end of a text, nor needed."""
    width = _width(file)
    spelled = _by_id(file, width)
    kept = np.ones(width, np.bool_)
    kept[list(_reasons(file, spelled, TokenChoices(), ()))] = False
    return [word or None for word in spelled.take(kept).words()]
