"""The tokens of a tokenizer object that has no tokenizer.json: whatever it offers, read plainly.

In comes an object; out comes the bytes of every id. The object may be, or have,

    tokens     a mapping token -> id or id -> token, a list of tokens, ``get_vocab()``, ``vocab``,
               or ``id_to_token`` (a mapping, a list, or a method with ``vocab_size`` or
               ``get_vocab_size()`` beside it)
    specials   ``special_tokens``, ``specials``, ``all_special_tokens``, ``special_ids`` or
               ``all_special_ids``: ids or texts, as a mapping (either way round), list or set

Token strings that hold only letters of the GPT-2 byte alphabet are those bytes; any other string is
its UTF-8; bytes are bytes; special tokens are None.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, cast

from constrain.errors import VocabularyError
from constrain.spelling import undo_byte_alphabet
from constrain.tokenizer_json import MAX_WIDTH

_SPECIALS = (
    "special_tokens",
    "specials",
    "all_special_tokens",
    "special_ids",
    "all_special_ids",
)

Token = str | bytes


def plain_tokens(tok: object) -> list[bytes | None]:
    """Return the bytes of each id of a tokenizer object; see the module's text."""
    by_id = _by_id(tok)
    width = max(by_id, default=-1) + 1
    if not 0 <= width <= MAX_WIDTH or min(by_id, default=0) < 0:
        raise VocabularyError(f"token ids must be from 0 to {MAX_WIDTH - 1}")
    special = _special_ids(tok, by_id)
    words: list[bytes | None] = [None] * width
    texts = {n: t for n, t in by_id.items() if isinstance(t, str) and n not in special}
    try:
        spelled = undo_byte_alphabet(list(texts.values())).words()
    except UnicodeEncodeError as error:
        raise VocabularyError(f"a token holds a lone surrogate: {error.object!r:.80}") from None
    for number, word in zip(texts, spelled, strict=True):
        words[number] = word
    for number, token in by_id.items():
        if isinstance(token, bytes) and number not in special:
            words[number] = token
    return words


def _by_id(tok: object) -> dict[int, Token]:
    """Return the tokens of an object by id."""
    for found in _offers(tok):
        tokens = _as_tokens(found)
        if tokens is not None:
            return tokens
    raise VocabularyError(
        f"vocab_bytes cannot find the tokens of {type(tok).__name__}: a tokenizers.Tokenizer, the "
        "path of a tokenizer.json, or an object with a vocab (token -> id) is needed"
    )


def _offers(tok: object) -> Iterable[object]:
    """Yield what may be the tokens of an object, best first."""
    yield tok
    for name in ("get_vocab", "vocab", "token_to_id", "id_to_token"):
        found = getattr(tok, name, None)
        if name == "id_to_token" and callable(found):
            size = getattr(tok, "get_vocab_size", None) or getattr(tok, "vocab_size", None)
            count: Any = size() if callable(size) else size
            if isinstance(count, int) and 0 <= count <= MAX_WIDTH:
                yield {n: token for n in range(count) if (token := found(n)) is not None}
        elif callable(found) and name == "get_vocab":
            yield found()
        elif not callable(found):
            yield found


def _as_tokens(found: object) -> dict[int, Token] | None:
    """Return a mapping (either way round) or a list as tokens by id, or None if it is neither."""
    if isinstance(found, Mapping):
        items = _members(found)
        if all(_is_id(value) and isinstance(key, Token) for key, value in items):
            return {int(value): key for key, value in items}
        if all(_is_id(key) and isinstance(value, Token) for key, value in items):
            return {int(key): value for key, value in items}
    if isinstance(found, Sequence) and not isinstance(found, Token):
        listed = cast("Sequence[object]", found)
        if all(token is None or isinstance(token, Token) for token in listed):
            return {n: token for n, token in enumerate(listed) if isinstance(token, Token)}
    return None


def _members(mapping: Any) -> list[tuple[Any, Any]]:
    return list(mapping.items())


def _is_id(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _special_ids(tok: object, by_id: Mapping[int, Token]) -> set[int]:
    """Return the ids of the special tokens an object names."""
    named: set[Token | int] = set()
    for attribute in _SPECIALS:
        found = getattr(tok, attribute, None)
        if isinstance(found, Mapping):
            named.update(_names(part for member in _members(found) for part in member))
        elif isinstance(found, (Sequence, AbstractSet)) and not isinstance(found, Token):
            named.update(_names(cast("Iterable[object]", found)))
    return {number for number, token in by_id.items() if number in named or token in named}


def _names(items: Iterable[object]) -> Iterable[Token | int]:
    return (item for item in items if isinstance(item, (int, str, bytes)))
