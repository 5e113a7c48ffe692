"""Which token ids end a text.

A tokenizer.json does not say. The ids are taken from the first of these that names any:

1. what the caller passes: ids, or token texts as the file spells them (a text that is all digits is
   an id);
2. the files beside it: ``generation_config.json`` (``eos_token_id``), ``tokenizer_config.json`` and
   ``special_tokens_map.json`` (``eos_token``), all of them together, each a number, a text, an
   object with ``content``, or a list of those;
3. well-known names among the added tokens, and among the model's tokens where no added one fits.

Several ids are normal. A file beside it that names the *unknown* token is not believed (one real
tokenizer does), and ``</s>`` as an added token that is not special is the HTML tag for struck-out
text (Gemma), not an end. If nothing is found, the error says what to pass: a table without an end
would never let a text stop.
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from constrain.errors import VocabularyError
from constrain.marks import is_control_mark
from constrain.tokenizer_json import TokenizerFile

#: Files beside tokenizer.json that name end-of-sequence tokens.
NEIGHBOURS = ("generation_config.json", "tokenizer_config.json", "special_tokens_map.json")

#: Names of end-of-sequence tokens, as published tokenizers spell them.
WELL_KNOWN = (
    "</s>",
    "<eos>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|eot_id|>",
    "<|im_end|>",
    "<|return|>",
    "<|call|>",
    "<|end|>",
    "<|EOT|>",
    "<EOT>",
    "<\uff5cend▁of▁sentence\uff5c>",
    "[e~[",
    "[EOS]",
)


_LONG = 80  # characters of a name that are worth comparing


@dataclass(frozen=True, slots=True)
class Ending:
    """The ids that end a text, ascending, and who named them."""

    ids: tuple[int, ...]
    origin: str


def find_eos(
    file: TokenizerFile,
    width: int,
    explicit: Sequence[int | str] = (),
    neighbours: Mapping[str, Mapping[str, Any]] | None = None,
) -> Ending:
    """Return the end-of-sequence ids of a tokenizer.

    Parameters
    ----------
    file : TokenizerFile
    width : int
        Ids at and beyond it are out of range.
    explicit : sequence of int or str
        What the caller asks for; then nothing else is looked at.
    neighbours : mapping
        File name -> JSON object, for the files of ``NEIGHBOURS`` that exist.

    Returns
    -------
    Ending

    Raises
    ------
    VocabularyError
        If an id is out of range, a text is no token, or nothing names an end.
    """
    if explicit:
        given = {number for name in explicit for number in resolve(name, file, width, "eos")}
        return Ending(tuple(sorted(given)), "the caller")
    ids, origins = _from_neighbours(file, width, neighbours or {})
    if ids:
        return Ending(tuple(sorted(ids)), ", ".join(origins))
    known = _well_known(file)
    if known:
        return Ending(tuple(sorted(known)), "well-known names")
    marks = [f"{token.text!r} ({token.id})" for token in file.added if token.special][:8]
    looked = ", ".join(NEIGHBOURS)
    raise VocabularyError(
        "no token is known to end a text; pass its id or text as eos (--eos). Looked for "
        f"{looked} beside the file and for well-known names. "
        + (f"Special tokens of this file: {', '.join(marks)}" if marks else "It has none marked.")
    )


def resolve(name: object, file: TokenizerFile, width: int, what: str) -> list[int]:
    """Return the ids that ``name`` stands for: an id, digits, or the text of a token."""
    if isinstance(name, bool) or not isinstance(name, (int, str)):
        raise VocabularyError(f"{what}: an id or a token text is needed, not {name!r:.80}")
    if isinstance(name, str):
        ids = file.ids_of(name)
        if ids and not _is_number(name):
            return ids
        if not _is_number(name):
            raise VocabularyError(f"{what}: no token is spelled {name!r:.80}{_suggest(name, file)}")
        name = int(name)
    if not 0 <= name < width:
        raise VocabularyError(
            f"{what}: the id {name!s:.30} is out of range; there are ids 0 to {width - 1}"
        )
    return [name]


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 20


def _suggest(name: str, file: TokenizerFile) -> str:
    """Return the added tokens that look like ``name``, as the end of a sentence."""
    known = [token.text for token in file.added[:2000] if len(token.text) <= _LONG]
    near = difflib.get_close_matches(name[:_LONG], known, n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def _from_neighbours(
    file: TokenizerFile, width: int, neighbours: Mapping[str, Mapping[str, Any]]
) -> tuple[set[int], list[str]]:
    ids: set[int] = set()
    origins: list[str] = []
    for origin in NEIGHBOURS:
        members = neighbours.get(origin, {})
        names = [*_names(members.get("eos_token_id")), *_names(members.get("eos_token"))]
        try:
            found = {i for name in names for i in resolve(name, file, width, "eos")}
        except VocabularyError as error:
            raise VocabularyError(f"{origin}: {error}; pass eos (--eos) to overrule it") from None
        if file.unknown is not None:
            found -= set(file.ids_of(file.unknown))
        if found:
            ids |= found
            origins.append(origin)
    return ids, origins


def _names(value: object) -> Iterator[int | str]:
    """Yield the ids and texts in a number, a text, an object with content, or a list of those."""
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    for item in items:
        name = cast("dict[str, object]", item).get("content") if isinstance(item, dict) else item
        if isinstance(name, (int, str)) and not isinstance(name, bool) and name != "":
            yield name


def _well_known(file: TokenizerFile) -> set[int]:
    ids = {
        token.id
        for token in file.added
        if token.text in WELL_KNOWN and (token.special or is_control_mark(token.text))
    }
    return ids or {number for name in WELL_KNOWN for number in _of_model(name, file)}


def _of_model(name: str, file: TokenizerFile) -> list[int]:
    """Return the model's ids for ``name``, unless the file declares it as plain added text."""
    plain = {token.id for token in file.added if not token.special}
    return [number for number in file.ids_of(name) if number not in plain]
