"""What a decoder makes of a token: its rules, and the bytes of many tokens at once.

In comes the ``decoder`` object of a tokenizer.json; out comes a ``Decoder``, a short list of steps
that turn the string of a token into exactly the bytes that decoding appends for it in running text.

    ByteLevel      every character of the token is one of the 256 letters of the byte alphabet:
                   each letter is its byte; otherwise the token is literal text (UTF-8)
    ByteFallback   ``<0xNN>`` is the byte NN
    Replace        one text for another, for example U+2581 by a space
    Metaspace      U+2581 (or another mark) is a space
    Fuse           joins; nothing is left for one token
    Strip          cuts characters off; after Fuse it cuts only the start of the whole text
    Sequence       the steps one after another

A decoder is refused where a token has no bytes of its own: WordPiece, BPEDecoder and CTC decide
about spaces by neighbours or positions, no decoder at all puts a space between any two tokens, a
pattern that is longer than one character could match across tokens once they are joined.

*The first space.* Metaspace and Strip drop one space at the very start of a decoded text, since
encoding put one there. The bytes here are those of running text, so ``▁{`` is ``" {"`` also as the
first token, and a mask that starts with ``{`` allows the token ``{`` and not ``▁{``. ``Decoder``
says so in ``drops_first_space``.

*Known gap.* Where ByteFallback comes before the replacement of U+2581, the three byte tokens E2 96
81 in a row decode to a space too. No mask over single tokens can see that; U+2581 itself is the
only text concerned.

Cost: about 0.1 microseconds a token; the byte alphabet is undone for all tokens in one look-up.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from constrain.errors import VocabularyError

_MAX_SPELLED = 64 << 20  # bytes of all tokens after a Replace; real vocabularies have 3 MB
_MAX_STEPS = 32  # real decoders have 5

Words = list[bytes]
Step = Callable[[Words], Words]

_PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_OTHERS = [byte for byte in range(256) if byte not in set(_PRINTABLE)]

#: The byte alphabet of GPT-2: letter -> byte. Printable bytes stand for themselves, the rest are
#: the letters from U+0100 on, in order.
BYTE_OF_LETTER: dict[str, int] = {
    **{chr(byte): byte for byte in _PRINTABLE},
    **{chr(0x100 + place): byte for place, byte in enumerate(_OTHERS)},
}

_UNMAPPED = -1
_LETTERS = np.full(0x200, _UNMAPPED, np.int16)  # code point -> byte; everything above is unmapped
_LETTERS[[ord(letter) for letter in BYTE_OF_LETTER]] = list(BYTE_OF_LETTER.values())

# The reference decoder reads both cases and, by an accident of its number parser, a plus sign.
_HEX_PAIRS = ["".join(pair) for pair in product("0123456789abcdefABCDEF", repeat=2)]
_FALLBACK = {f"<0x{pair}>".encode(): bytes([int(pair, 16)]) for pair in _HEX_PAIRS} | {
    f"<0x+{digit}>".encode(): bytes([int(digit, 16)]) for digit in "0123456789abcdefABCDEF"
}


@dataclass(frozen=True, slots=True)
class Decoder:
    """The rules by which tokens become bytes.

    Attributes
    ----------
    steps : tuple
        Functions over lists of byte strings, applied in order.
    byte_level : bool
        Whether the byte alphabet is undone after the steps.
    byte_fallback : bool
        Whether ``<0xNN>`` is a byte.
    drops_first_space : bool
        Whether decoding drops a space at the start of a whole text.
    names : tuple[str, ...]
        The types of the steps as the file names them.
    """

    steps: tuple[Step, ...] = ()
    byte_level: bool = False
    byte_fallback: bool = False
    drops_first_space: bool = False
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Spelled:
    """Byte strings one after another.

    Attributes
    ----------
    data : uint8 [sum of lengths]
    lengths : int64 [n]
    """

    data: NDArray[np.uint8]
    lengths: NDArray[np.int64]

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each byte string begins, and the end: int64 [n + 1]."""
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self.lengths)])

    def words(self) -> Words:
        """Return the byte strings as a list."""
        data, ends = self.data.tobytes(), self.offsets.tolist()
        return [data[start:stop] for start, stop in pairwise(ends)]

    def take(self, kept: NDArray[np.bool_]) -> "Spelled":
        """Return the same strings with those outside ``kept`` (bool [n]) made empty."""
        data = self.data[np.repeat(kept, self.lengths)]
        return Spelled(data, np.where(kept, self.lengths, 0))


def joined(words: Sequence[bytes]) -> Spelled:
    """Return a list of byte strings as arrays."""
    data = np.frombuffer(b"".join(words), np.uint8)
    return Spelled(data, np.fromiter(map(len, words), np.int64, len(words)))


def spell(tokens: Sequence[str], decoder: Decoder) -> Spelled:
    """Return the bytes that decoding appends for each token.

    Parameters
    ----------
    tokens : sequence of str
        Token strings as the tokenizer writes them, without lone surrogates.
    decoder : Decoder

    Returns
    -------
    Spelled
        One byte string a token, in order.
    """
    if decoder.byte_level and not decoder.steps:
        return undo_byte_alphabet(tokens)
    words = [token.encode() for token in tokens]
    for step in decoder.steps:
        words = step(words)
    if decoder.byte_level:
        return undo_byte_alphabet([word.decode() for word in words])
    return joined(words)


def undo_byte_alphabet(tokens: Sequence[str]) -> Spelled:
    """Return the bytes of byte-level tokens; a token with any other character is literal text."""
    codes = np.frombuffer("".join(tokens).encode("utf-32-le"), np.dtype("<u4"))
    lengths = np.fromiter(map(len, tokens), np.int64, len(tokens))
    values = _LETTERS[np.minimum(codes, len(_LETTERS) - 1)]
    strangers = np.flatnonzero(values == _UNMAPPED)
    if not len(strangers):
        return Spelled(values.astype(np.uint8), lengths)
    ends = np.cumsum(lengths)
    literal = np.unique(np.searchsorted(ends, strangers, side="right"))
    return _with_literals(values.astype(np.uint8), lengths, literal, tokens)


def _with_literals(
    values: NDArray[np.uint8],
    lengths: NDArray[np.int64],
    literal: NDArray[np.intp],
    tokens: Sequence[str],
) -> Spelled:
    """Put the UTF-8 of the tokens ``literal`` in place of their letters."""
    places: list[int] = literal.tolist()
    texts = [tokens[token].encode() for token in places]
    new_lengths = lengths.copy()
    new_lengths[literal] = [len(text) for text in texts]
    starts, new_starts = np.cumsum(lengths) - lengths, np.cumsum(new_lengths) - new_lengths
    data = np.empty(int(new_lengths.sum()), np.uint8)
    mapped = np.ones(len(lengths), np.bool_)
    mapped[literal] = False
    target = np.arange(len(values)) + np.repeat(new_starts - starts, lengths)
    chosen = np.repeat(mapped, lengths)
    data[target[chosen]] = values[chosen]
    for token, text in zip(places, texts, strict=True):
        start = int(new_starts[token])
        data[start : start + len(text)] = np.frombuffer(text, np.uint8)
    return Spelled(data, new_lengths)


# Reading the decoder


@dataclass(slots=True)
class _Reading:
    """What the steps read so far did to the tokens."""

    steps: list[Step]
    names: list[str]
    alone: bool = True  # tokens are still apart: no Fuse and no ByteLevel yet
    bytes_made: bool = False  # after ByteFallback a character may be several tokens
    byte_level: bool = False
    drops_first_space: bool = False


def read_decoder(description: object) -> Decoder:
    """Return the rules of a decoder.

    Parameters
    ----------
    description : object
        The ``decoder`` of a tokenizer.json, as ``json`` reads it.

    Returns
    -------
    Decoder

    Raises
    ------
    VocabularyError
        If the decoder is missing, not well formed, or does not give every token bytes of its own.
    """
    if description is None:
        raise VocabularyError(
            "the tokenizer has no decoder, so decoding puts a space between any two tokens and no "
            'token has bytes of its own; use a tokenizer.json with a decoder ({"type": "ByteLevel"}'
            " where the pre_tokenizer is ByteLevel)"
        )
    reading = _Reading([], [])
    for step in _flat(description):
        kind = step["type"]
        reader = _READERS.get(kind)
        if reader is None:
            raise VocabularyError(_LOSSY.get(kind) or f"decoder: {kind!r} is not a known type")
        reader(step, reading)
        reading.names.append(kind)
        if len(reading.names) > _MAX_STEPS:
            raise VocabularyError(f"decoder: more than {_MAX_STEPS} steps")
    return Decoder(
        tuple(reading.steps),
        byte_level=reading.byte_level,
        byte_fallback=reading.bytes_made,
        drops_first_space=reading.drops_first_space,
        names=tuple(reading.names),
    )


_LOSSY = {
    "WordPiece": "decoder: WordPiece decides about spaces by the next token (and cleans up the "
    "text), so its tokens do not stand for fixed bytes; use a model with a byte-level BPE or a "
    "byte-fallback tokenizer",
    "BPEDecoder": "decoder: BPEDecoder drops the space of the last token only, so its tokens do "
    "not stand for fixed bytes; use a model with a byte-level BPE or a byte-fallback tokenizer",
    "CTC": "decoder: CTC drops repeated tokens, so its tokens do not stand for fixed bytes; it "
    "belongs to speech recognition, use the tokenizer of a language model",
}


def _flat(description: object) -> Iterator[dict[str, Any]]:
    """Yield the steps of a decoder in order, nested sequences opened."""
    pending = [description]
    while pending:
        item = pending.pop()
        if not isinstance(item, dict) or not isinstance(cast("Any", item).get("type"), str):
            raise VocabularyError(
                f"decoder: a step must be an object with a type, not {item!r:.80}"
            )
        step = cast("dict[str, Any]", item)
        if step["type"] != "Sequence":
            yield step
            continue
        parts = step.get("decoders")
        if not isinstance(parts, list):
            raise VocabularyError("decoder: the decoders of a Sequence must be a list")
        pending.extend(reversed(cast("list[object]", parts)))


def _read_byte_level(_: dict[str, Any], reading: _Reading) -> None:
    if not reading.alone or reading.bytes_made:
        raise VocabularyError("decoder: ByteLevel after Fuse, ByteFallback or ByteLevel")
    reading.byte_level, reading.alone = True, False


def _read_fuse(_: dict[str, Any], reading: _Reading) -> None:
    reading.alone = False


def _read_fallback(_: dict[str, Any], reading: _Reading) -> None:
    if not reading.alone or reading.bytes_made:
        raise VocabularyError("decoder: ByteFallback after Fuse, ByteLevel or ByteFallback")
    reading.steps.append(lambda words: [_FALLBACK.get(word, word) for word in words])
    reading.bytes_made = True


def _read_replace(step: dict[str, Any], reading: _Reading) -> None:
    pattern, content = step.get("pattern"), step.get("content")
    old = cast("dict[str, object]", pattern).get("String") if isinstance(pattern, dict) else None
    if not isinstance(old, str) or not isinstance(content, str) or not old:
        raise VocabularyError(
            "decoder: only a Replace of one non-empty String by another can be read token by token,"
            f" not pattern {pattern!r:.80} and content {content!r:.80}"
        )
    _add_replace(old, content, reading)


def _add_replace(old: str, new: str, reading: _Reading) -> None:
    if len(old) > 1 and (not reading.alone or reading.bytes_made):
        raise VocabularyError(
            f"decoder: the Replace of {old!r} comes after tokens are joined, so it can match "
            "across tokens and they do not stand for fixed bytes"
        )
    if reading.byte_level:
        raise VocabularyError("decoder: a Replace after ByteLevel can change the bytes of others")
    before, after = _utf8(old, "decoder: pattern"), _utf8(new, "decoder: content")
    reading.steps.append(lambda words: _replace(words, before, after))


def _replace(words: Words, old: bytes, new: bytes) -> Words:
    """Replace in every word, unless that would make them too large together."""
    growth = len(new) - len(old)
    if growth > 0:
        total = sum(map(len, words)) + growth * sum(word.count(old) for word in words)
        if total > _MAX_SPELLED:
            raise VocabularyError(f"decoder: Replace makes the tokens too large ({total} bytes)")
    return [word.replace(old, new) for word in words]


def _read_metaspace(step: dict[str, Any], reading: _Reading) -> None:
    mark = step.get("replacement", "▁")
    if not isinstance(mark, str) or len(mark) != 1:
        raise VocabularyError(f"decoder: the replacement of Metaspace is {mark!r:.80}, not a mark")
    _add_replace(mark, " ", reading)
    scheme = step.get("prepend_scheme")
    never = scheme == "never" if scheme is not None else step.get("add_prefix_space") is False
    reading.drops_first_space |= not never


def _read_strip(step: dict[str, Any], reading: _Reading) -> None:
    mark, start, stop = step.get("content"), _count(step, "start"), _count(step, "stop")
    if not isinstance(mark, str) or len(mark) != 1:
        raise VocabularyError(f"decoder: the content of Strip is {mark!r:.80}, not one character")
    if reading.alone and not reading.bytes_made:
        content = _utf8(mark, "decoder: content")
        reading.steps.append(lambda words: [_strip(word, content, start, stop) for word in words])
        return
    if stop:
        raise VocabularyError("decoder: Strip cuts the end of the text, so the last bytes are lost")
    if reading.alone:
        raise VocabularyError("decoder: Strip between ByteFallback and Fuse cuts inside the text")
    reading.drops_first_space |= start > 0


def _count(step: dict[str, Any], key: str) -> int:
    value = step.get(key)
    if type(value) is not int or value < 0:
        raise VocabularyError(f"decoder: the {key} of Strip must be a count, not {value!r:.40}")
    return value


def _strip(word: bytes, mark: bytes, start: int, stop: int) -> bytes:
    """Cut at most ``start`` marks off the front of a word and ``stop`` off its end."""
    first, last = 0, len(word)
    while start and word.startswith(mark, first):
        first, start = first + len(mark), start - 1
    while stop and word.endswith(mark, first, last):
        last, stop = last - len(mark), stop - 1
    return word[first:last]


def _utf8(text: str, where: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise VocabularyError(f"{where}: {text!r:.80} holds a lone surrogate") from None


_READERS: dict[str, Callable[[dict[str, Any], _Reading], None]] = {
    "ByteFallback": _read_fallback,
    "ByteLevel": _read_byte_level,
    "Fuse": _read_fuse,
    "Metaspace": _read_metaspace,
    "Replace": _read_replace,
    "Strip": _read_strip,
}
