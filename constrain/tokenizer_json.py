"""Read a tokenizer.json: which id carries which token string, and by which rules it becomes bytes.

In comes a path (the file, or the folder that holds it); out comes a ``TokenizerFile``: the tokens
of the model with their ids, the added tokens, the unknown token and the ``Decoder``. Everything is
checked here, where a stranger's data enters: size, JSON (no duplicate keys, no NaN), types, ids,
lone surrogates. Whatever is wrong with the file ends in a ``VocabularyError`` that says what and
where, or in a ``LimitError``.

What real files taught, and where it is handled:

- the vocabulary is an object (BPE, WordLevel) or a list of [token, score] (Unigram, id = place);
- ids may have holes, and the file's ids are the ones that count;
- special tokens may stand in the model, in ``added_tokens``, or in both;
- ``model.type`` may be missing; a WordPiece model has no bytes of its own for a token;
- the 500,000 merges of a large BPE are of no use here; they are parsed and dropped.

Doesn't do: decide which tokens are allowed (``vocabulary``) or what ends a text (``eos``).

Cost: ``json`` dominates. Gemma 3 (33 MB, 262k tokens) takes 0.5 s, Llama 3.1 (9 MB) 0.1 s. The
cycle collector rests meanwhile: it would take another half of that, and JSON holds no cycles.
"""

import gc
import json
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, cast

from constrain.errors import VocabularyError
from constrain.limits import Meter
from constrain.spelling import Decoder, read_decoder

#: Ids at and beyond this are refused: masks are as wide as the largest id.
MAX_WIDTH = 1 << 22

_BYTES_PER_CONTAINER = 64  # what json needs, at least, for one array or object
_BYTES_PER_VALUE = 40


@dataclass(frozen=True, slots=True)
class AddedToken:
    """One entry of ``added_tokens``."""

    id: int
    text: str
    special: bool


@dataclass(frozen=True, eq=False)
class TokenizerFile:
    """The content of a tokenizer.json that matters for token bytes.

    Attributes
    ----------
    tokens : list[str]
        The token strings of the model.
    ids : list[int]
        Their ids, each once.
    added : list[AddedToken]
        The added tokens in the order of the file, repeated entries dropped.
    decoder : Decoder
        The rules that make bytes of strings.
    unknown : str | None
        The model's token for text it cannot spell.
    byte_fallback : bool
        Whether the model writes ``<0xNN>`` for bytes it has no token for.
    """

    tokens: list[str]
    ids: list[int]
    added: list[AddedToken]
    decoder: Decoder
    unknown: str | None = None
    byte_fallback: bool = False

    @cached_property
    def texts(self) -> dict[int, str]:
        """Id -> token string of the model."""
        return dict(zip(self.ids, self.tokens, strict=True))

    def ids_of(self, text: str) -> list[int]:
        """Return the ids that carry the token string ``text``, ascending."""
        return sorted({*self._added_ids.get(text, ()), *self._model_ids(text)})

    @cached_property
    def _added_ids(self) -> dict[str, list[int]]:
        ids: dict[str, list[int]] = {}
        for token in self.added:
            ids.setdefault(token.text, []).append(token.id)
        return ids

    @cached_property
    def _last_id(self) -> dict[str, int]:
        return dict(zip(self.tokens, self.ids, strict=True))

    def _model_ids(self, text: str) -> list[int]:
        if len(self._last_id) < len(self.ids) and text in self._last_id:  # a listed token twice
            return [n for token, n in zip(self.tokens, self.ids, strict=True) if token == text]
        return [self._last_id[text]] if text in self._last_id else []


def locate(path: str | Path) -> Path:
    """Return the tokenizer.json that ``path`` names, itself or as the folder that holds it."""
    given = Path(path)
    try:
        mode = given.stat().st_mode
        if not stat.S_ISDIR(mode):
            return given
        found = given / "tokenizer.json"
        if found.is_file():
            return found
        names = sorted(entry.name for entry in given.iterdir())
    except (OSError, ValueError) as error:
        raise VocabularyError(f"cannot read the tokenizer {str(given)!r}: {error}") from None
    hint = ""
    if any(name.endswith((".model", "vocab.json", "vocab.txt")) for name in names):
        hint = (
            "; it holds an older tokenizer format, which transformers turns into tokenizer.json: "
            "AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)"
        )
    raise VocabularyError(f"the folder {str(given)!r} holds no tokenizer.json{hint}")


def read_bounded(path: Path, what: str, limit: int, meter: Meter) -> bytes:
    """Return the bytes of a regular file of at most ``limit`` bytes."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise VocabularyError(f"the {what} {str(path)!r} is not a regular file")
        with path.open("rb") as file:
            content = file.read(limit + 1)
            size = max(len(content), path.stat().st_size)
    except (OSError, ValueError) as error:
        if isinstance(error, VocabularyError):
            raise
        raise VocabularyError(f"cannot read the {what} {str(path)!r}: {error}") from None
    meter.require(f"bytes in the {what}", size, limit, str(path))
    return content


def parse_json(content: bytes, what: str) -> dict[str, Any]:
    """Return the JSON object in ``content``; no duplicate keys, no NaN, no infinity."""
    try:
        with _collector_at_rest():
            value = json.loads(
                content.decode("utf-8-sig"), object_pairs_hook=_object, parse_constant=_no_constant
            )
    except VocabularyError as error:
        raise VocabularyError(f"{what}: {error}") from None
    except UnicodeDecodeError as error:
        raise VocabularyError(f"{what}: not UTF-8 text ({error})") from None
    except RecursionError:
        raise VocabularyError(f"{what}: nested too deeply") from None
    except ValueError as error:
        raise VocabularyError(f"{what}: not JSON ({error})") from None
    if not isinstance(value, dict):
        raise VocabularyError(f"{what}: a JSON object is needed, not {_kind(value)}")
    return cast("dict[str, Any]", value)


def parse_tokenizer(content: bytes, meter: Meter, what: str = "tokenizer.json") -> TokenizerFile:
    """Read the bytes of a tokenizer.json.

    Parameters
    ----------
    content : bytes
    meter : Meter
        Its ``max_memory`` bounds what the JSON may unfold to.
    what : str
        The file's name, for messages.

    Returns
    -------
    TokenizerFile

    Raises
    ------
    VocabularyError
        If the file is damaged, or its tokens do not stand for fixed bytes.
    LimitError
        If it would need too much memory.
    """
    _require_memory(content, meter, what)
    return tokenizer_of(parse_json(content, what), what)


def tokenizer_of(document: dict[str, Any], what: str) -> TokenizerFile:
    """Read a tokenizer.json that is parsed already; see ``parse_tokenizer``."""
    try:
        return _tokenizer(document)
    except VocabularyError as error:
        raise VocabularyError(f"{what}: {error}") from None


def _require_memory(content: bytes, meter: Meter, what: str) -> None:
    containers = content.count(b"[") + content.count(b"{")
    values = containers + content.count(b",")
    needed = containers * _BYTES_PER_CONTAINER + values * _BYTES_PER_VALUE + len(content)
    meter.require(f"bytes of memory to read {what}", needed, meter.limits.max_memory)


@contextmanager
def _collector_at_rest() -> Generator[None]:
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise VocabularyError(f"the key {key!r:.80} stands twice in one object")
            seen.add(key)
    return members


def _no_constant(name: str) -> NoReturn:
    raise VocabularyError(f"{name} is not a JSON number")


def _kind(value: object) -> str:
    """Return what a JSON value is, for messages."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    names: dict[type, str] = {str: "a string", int: "a number", float: "a number", list: "an array"}
    return names.get(type(value), "an object")


def _tokenizer(document: dict[str, Any]) -> TokenizerFile:
    model = document.get("model")
    if not isinstance(model, dict):
        raise VocabularyError(f"model must be an object, not {_kind(model)}")
    model = cast("dict[str, Any]", model)
    _refuse_word_pieces(model)
    tokens, ids = _model_tokens(model)
    _require_text(tokens, "model.vocab")
    added = _added_tokens(document.get("added_tokens"))
    _require_text([token.text for token in added], "added_tokens")
    return TokenizerFile(
        tokens,
        ids,
        added,
        read_decoder(document.get("decoder")),
        unknown=_unknown(model, tokens),
        byte_fallback=model.get("byte_fallback") is True,
    )


def _refuse_word_pieces(model: dict[str, Any]) -> None:
    kind = model.get("type")
    if kind == "WordPiece" or (kind is None and "max_input_chars_per_word" in model):
        raise VocabularyError(
            "a WordPiece tokenizer drops the spaces (and often the case) of a text, so its tokens "
            "do not stand for fixed bytes; use a model with a byte-level BPE or a byte-fallback "
            "tokenizer"
        )
    if kind not in (None, "BPE", "Unigram", "WordLevel"):
        raise VocabularyError(f"model.type {kind!r:.80} is not BPE, Unigram or WordLevel")
    for key in ("continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(key):
            raise VocabularyError(
                f"model.{key} is {model[key]!r:.80}: tokens carry a mark that decoding does not "
                "undo token by token; use a byte-level BPE or byte-fallback tokenizer"
            )


def _model_tokens(model: dict[str, Any]) -> tuple[list[str], list[int]]:
    """Return the token strings of the model and their ids."""
    vocab = model.get("vocab")
    if isinstance(vocab, list):
        tokens = _listed(cast("list[object]", vocab))
        _require_ids([len(tokens) - 1] if tokens else [], "model.vocab")
        return tokens, list(range(len(tokens)))
    if not isinstance(vocab, dict):
        raise VocabularyError(f"model.vocab must be an object or an array, not {_kind(vocab)}")
    entries = cast("dict[str, Any]", vocab)
    ids = list(entries.values())
    _require_ids(ids, "model.vocab")
    if len(set(ids)) < len(ids):
        first, second = _same_id(entries)
        raise VocabularyError(
            f"model.vocab: {first!r:.80} and {second!r:.80} have the same id {entries[first]}"
        )
    return list(entries), ids


def _listed(vocab: list[object]) -> list[str]:
    """Return the tokens of a Unigram vocabulary: [token, score] pairs."""
    for place, entry in enumerate(vocab):
        pair = cast("list[object]", entry) if isinstance(entry, list) else []
        if len(pair) != 2 or not isinstance(pair[0], str):
            raise VocabularyError(f"model.vocab[{place}] must be [token, score], not {entry!r:.80}")
    return [cast("list[str]", entry)[0] for entry in vocab]


def _same_id(entries: dict[str, int]) -> tuple[str, str]:
    """Return two tokens that have one id."""
    owner = {number: token for token, number in entries.items()}  # the last of each id
    return next((token, owner[n]) for token, n in entries.items() if owner[n] != token)


def _require_ids(ids: Sequence[object], where: str) -> None:
    """Refuse anything but integers from 0 to ``MAX_WIDTH``, exclusive."""
    if not set(map(type, ids)) <= {int}:
        strange = next(number for number in ids if type(number) is not int)
        raise VocabularyError(f"{where}: an id must be an integer, not {strange!r:.80}")
    numbers = cast("Sequence[int]", ids)
    for number in (min(numbers, default=0), max(numbers, default=0)):
        if not 0 <= number < MAX_WIDTH:
            raise VocabularyError(f"{where}: id {number!s:.30} is not from 0 to {MAX_WIDTH - 1}")


def _require_text(tokens: list[str], where: str) -> None:
    """Refuse lone surrogates, which no UTF-8 text holds."""
    try:
        "".join(tokens).encode()
    except UnicodeEncodeError:
        culprit = next(token for token in tokens if any("\ud800" <= c <= "\udfff" for c in token))
        raise VocabularyError(f"{where}: {culprit!r:.80} holds a lone surrogate") from None


def _added_tokens(listed: object) -> list[AddedToken]:
    if listed is None:
        return []
    if not isinstance(listed, list):
        raise VocabularyError(f"added_tokens must be an array, not {_kind(listed)}")
    added = [_added(entry, place) for place, entry in enumerate(cast("list[object]", listed))]
    return list(dict.fromkeys(added))


def _added(entry: object, place: int) -> AddedToken:
    where = f"added_tokens[{place}]"
    if not isinstance(entry, dict):
        raise VocabularyError(f"{where} must be an object, not {_kind(entry)}")
    members = cast("dict[str, Any]", entry)
    text, special = members.get("content"), members.get("special", False)
    _require_ids([members.get("id")], where)
    if not isinstance(text, str):
        raise VocabularyError(f"{where}: content must be a string, not {_kind(text)}")
    if not isinstance(special, bool):
        raise VocabularyError(f"{where}: special must be true or false, not {_kind(special)}")
    return AddedToken(members["id"], text, special)


def _unknown(model: dict[str, Any], tokens: list[str]) -> str | None:
    """Return the token that stands for text the model cannot spell."""
    place = model.get("unk_id")
    if type(place) is int and 0 <= place < len(tokens) and isinstance(model["vocab"], list):
        return tokens[place]
    text = model.get("unk_token")
    return text if isinstance(text, str) else None
