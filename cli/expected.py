"""What a language expects at a place, in words: whole words where there are few, bytes where not.

A *word* is what a person would write at once: a string with its quotes, a number, ``true``, a
bracket; in the language of a pattern, the run of characters up to the next choice. Words are found
by walking the automaton from the beginning of the word that the place is in, so that a refused
``"celcius"`` is told ``"celsius" or "fahrenheit"`` and not the letter ``s``. Where the walk finds
more than a few words (a free string, a number), the bytes that may come next are named instead.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from constrain.cli.places import place_in
from constrain.cli.told import told
from constrain.cli.words import byte_words, shown

if TYPE_CHECKING:
    from constrain.cli.places import Place
    from constrain.cli.ways import Ways

_MOST = 40  # words that are looked for
_SHOWN = 6  # words that are named
_STEPS = 4_000  # bytes of them all
_PLAIN_RUN = 32  # characters of a run in a pattern's language
_AFTER = frozenset(b",}] \t\r\n")  # what can follow a number
_NUMBER = frozenset(b"-0123456789"[i : i + 1] for i in range(11))
_QUOTE = frozenset(b'"')
_KINDS = {
    frozenset(b"-0123456789"): "a number",
    _QUOTE: "a string",
    frozenset(b"{"): "an object",
    frozenset(b"["): "an array",
    frozenset(b"t"): "true",
    frozenset(b"f"): "false",
    frozenset(b"n"): "null",
}
_MARKED = {"{": "an object", "[": "an array"} | {mark: f"'{mark}'" for mark in "}]:,"}
_MARKED[" "] = "a space"
_MARKS = b"{}[]:,"
_BLANK = b" \t\r\n"


def json_place(ways: Ways, data: bytes, at: int) -> Place | None:
    """Return the place in a JSON text; None if the language is not one of JSON texts."""
    if told(ways.table.meta)["source"].get("kind") != "schema":
        return None
    config, _ = ways.follow(data[:at])
    can_end = ways.runner.complete(config) or not _AFTER.isdisjoint(ways.next_bytes(config))
    return place_in(data, at, unfinished=not can_end)


def expected(ways: Ways, data: bytes, at: int) -> list[str]:
    """Return what may stand at a place of a text, in words; its end is ``the end``."""
    config, _ = ways.follow(data[:at])
    place = json_place(ways, data, at)
    words: list[str] | None = None
    if place is None:
        words = _runs(ways, config)
    elif place.start == at or data[place.start : place.start + 1] not in _NUMBER:
        words = _nearest(ways, data, place.start)
    if words is None:
        words = _letters(ways.next_bytes(config), data, at, place)
    return words + (["the end"] if ways.runner.complete(config) else [])


def _letters(ahead: list[int], data: bytes, at: int, place: Place | None) -> list[str]:
    """Return what may come next by its first byte."""
    if place is None:
        return byte_words(ahead)
    if place.start == at:
        return _kinds(ahead, place)
    words = byte_words(ahead)
    in_string = data[place.start : place.start + 1] == b'"'
    return ["the closing quote" if in_string and word == "'\"'" else word for word in words]


def _kinds(ahead: list[int], place: Place) -> list[str]:
    """Return the kinds of words of JSON that begin with some bytes."""
    left = set(ahead)
    words: list[str] = []
    named = _KINDS if place.role == "value" else {_QUOTE: "the name of a member"}
    for members, name in named.items():
        if left & members:
            words.append(name)
            left -= members
    return words + byte_words(left)


def _nearest(ways: Ways, data: bytes, start: int) -> list[str] | None:
    """Return the words of JSON that may begin at a place, those most like the text's first."""
    config, _ = ways.follow(data[:start])
    found = _words(ways, config)
    if found is None:
        return None
    words = [shown(word) for word in found]
    if len(words) > _SHOWN and all(word[:1] in _NUMBER for word in found):
        return ["a number"]
    if len(words) > _SHOWN:
        there = shown(data[start : start + 40])
        first = difflib.get_close_matches(there.split(",")[0], words, n=2, cutoff=0.5)
        words = [*first, *(word for word in words if word not in first)]
        words = [*words[: _SHOWN - 1], f"one of {len(words) - _SHOWN + 1} others"]
    return [_MARKED.get(word, word) for word in words]


def _words(ways: Ways, config: Any) -> list[bytes] | None:
    """Return all words of JSON that may begin in a configuration; None if they are too many."""
    found: list[bytes] = []
    queue = [(config, b"")]
    steps = 0
    while queue:
        here, word = queue.pop(0)
        ahead = ways.next_bytes(here)
        steps += len(ahead) or 1
        if steps > _STEPS or len(found) + len(queue) > _MOST:
            return None
        if word and _is_over(word, ahead, complete=bool(ways.runner.complete(here))):
            found.append(word)
        for byte in ahead:
            if not word and byte in _MARKS + _BLANK:
                found.append(bytes((byte,)))
            elif not word or _continues(word, byte):
                after = ways.runner.read(here, byte)
                whole = word + bytes((byte,))
                if whole[:1] == b'"' and len(whole) > 1 and byte == 0x22 and not _escaped(word):
                    found.append(whole)
                else:
                    queue.append((after, whole))
    return found


def _escaped(word: bytes) -> bool:
    """Return whether a string that is not closed ends in an odd number of backslashes."""
    return (len(word) - len(word.rstrip(b"\\"))) % 2 == 1


def _continues(word: bytes, byte: int) -> bool:
    return word[:1] == b'"' or byte not in _MARKS + _BLANK + b'"'


def _is_over(word: bytes, ahead: list[int], *, complete: bool) -> bool:
    """Return whether a word without quotes can be over: something else may follow."""
    return word[:1] != b'"' and (complete or any(not _continues(word, byte) for byte in ahead))


def _runs(ways: Ways, config: Any) -> list[str] | None:
    """Return the runs of characters up to the next choice; None if they are not a few plain ones."""
    runs: list[str] = []
    ahead = ways.next_bytes(config)
    if len(ahead) > _SHOWN:
        return None
    for byte in ahead:
        run = bytearray((byte,))
        here = ways.runner.read(config, byte)
        while len(run) < _PLAIN_RUN and not ways.runner.complete(here):
            only = ways.next_bytes(here)
            if len(only) != 1:
                break
            run.append(only[0])
            here = ways.runner.read(here, only[0])
        text = shown(bytes(run))
        if len(run) < 2 or not text.isprintable():
            return None
        runs.append(f"'{text}'" if "'" not in text else f'"{text}"')
    return runs or None
