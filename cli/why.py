"""Why a text is refused: the keyword that forbids it, and what a slip it may be.

Everything here is told from the automaton and from the schema that a table keeps (up to 64 KiB).
The blame of a keyword comes from ``constrain.schema.blame``; hints are about what tables ask for
beyond the schema: the order of members, white space, one spelling for each value, no members that
are not declared.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from constrain.cli.expected import json_place
from constrain.cli.places import NOTHING, decoded, value_at
from constrain.cli.told import told
from constrain.cli.words import cropped

if TYPE_CHECKING:
    from constrain.cli.places import Place
    from constrain.cli.ways import Ways
    from constrain.schema.blame import Blame, Judge

_SECONDS = 5.0  # for the search for a keyword
_NAME = 60  # characters of a name in a hint
_BLANKS = {b" ", b"\t", b"\r", b"\n"}
_PART = re.compile(rb'"(?:[^"\\]|\\.)*"?|[^][{}:,"\s]+|[][{}:,]', re.DOTALL)


class Reasons:
    """Says why texts are refused by one table.

    Parameters
    ----------
    ways : Ways
    """

    def __init__(self, ways: Ways) -> None:
        self.ways = ways
        meta = told(ways.table.meta)
        self.source = meta["source"]
        self.options = meta["options"]
        self._relaxed = meta["relaxed"]

    def why(self, text: str, data: bytes, at: int) -> tuple[Blame | None, str]:
        """Return the keyword that forbids what stands at a place, and a hint at a slip.

        Parameters
        ----------
        text : str
            The argument that the text came from, ``""`` if none.
        data : bytes
            The text.
        at : int
            Where it leaves the language.

        Returns
        -------
        Blame or None, str
            None and ``""`` where nothing can be told.
        """
        if at == 0 and (hint := _is_a_file(text)):
            return None, hint
        place = json_place(self.ways, data, at)
        if place is None:
            return None, ""
        hint = self._white_space(data, at, place) or _no_json(data, place)
        hint = hint or self._too_late(data, place)
        if hint:
            return None, hint
        from constrain.errors import ConstrainError

        try:
            return self._by_schema(data, at, place)
        except (ConstrainError, RecursionError):  # it takes too long, or cannot be told
            return None, ""

    def _by_schema(self, data: bytes, at: int, place: Place) -> tuple[Blame | None, str]:
        judge = self._judge()
        if judge is None:
            return None, self._spelling(data, place) or self._no_schema()
        around = [each.complete(data) for each in place.opened]
        blame = _blame_here(judge, data, place, around)
        if blame is not None:
            return blame, ""
        hint = self._spelling(data, place) or _undeclared(judge, data, place, around)
        hint = hint or self._too_early(data, at, place)
        if hint or place.role == "end":
            return None, hint
        blame = _blame_around(judge, data, place, around)
        whole = decoded(data, NOTHING)
        if blame is None and whole is not NOTHING and judge.allows(whole):
            return None, _OTHERWISE
        return blame, ""

    def _no_schema(self) -> str:
        """Return a hint where the schema is not at hand, so that no keyword can be named."""
        if self.source.get("text"):
            return ""
        return (
            "the table does not keep a schema of this size; `constrain check SCHEMA` names keywords"
        )

    def _judge(self) -> Judge | None:
        from constrain.errors import ConstrainError
        from constrain.limits import Limits, Meter
        from constrain.schema.blame import Judge

        text = self.source.get("text", "")
        schema = decoded(text.encode("utf-8", "surrogatepass"), NOTHING) if text else NOTHING
        if schema is NOTHING:
            return None
        meter = Meter(Limits(timeout=_SECONDS))
        open_ = bool(self.options.get("open"))
        try:
            return Judge(schema, self._relaxed, meter, refs=self.ways.refs, open_=open_)
        except (ConstrainError, RecursionError):  # it refers to documents that are not at hand
            return None

    def _reads(self, data: bytes) -> bool:
        return self.ways.follow(data)[1] == len(data)

    def _white_space(self, data: bytes, at: int, place: Place) -> str:
        """Return a hint on white space that is too much, or a space that is missing."""
        layout = self.options.get("layout", "compact")
        if layout == "spaced" and self._reads(data[:at] + b" " + data[at : at + 1]):
            return LAYOUTS["spaced"]
        inside_string = place.start < at
        return "" if inside_string or data[at : at + 1] not in _BLANKS else LAYOUTS[layout]

    def rewritten(self, data: bytes) -> bytes:
        """Return a JSON text with the white space that the layout of the table has."""
        parts = [found.group() for found in _PART.finditer(data)]
        after = b" " if self.options.get("layout") == "spaced" else b""
        return b"".join(part + after if part in {b",", b":"} else part for part in parts)

    def _too_late(self, data: bytes, place: Place) -> str:
        """Return a hint on a member that is there already, or is allowed only earlier."""
        name = _member(data, place)
        if name is None:
            return ""
        top = place.opened[-1]
        if name in top.names:
            return f"the object has a member {_quoted(name)} already"
        for (start, _, _), other in zip(reversed(top.children), reversed(top.names), strict=True):
            if self._reads(data[:start] + _key(name)):
                return _ORDER.format(_quoted(name), _quoted(other))
        return ""

    def _too_early(self, data: bytes, at: int, place: Place) -> str:
        """Return a hint on a member that must wait for one that the text has later."""
        name = _member(data, place)
        if name is None:
            return ""
        before = data[: place.start] if place.role == "key" else data[:at] + b","
        later = (other for other in _later(data, place) if self._reads(before + _key(other)))
        first = next(later, None)
        return "" if first is None else _ORDER.format(_quoted(first), _quoted(name))

    def _spelling(self, data: bytes, place: Place) -> str:
        """Return a hint on a value that is allowed, written another way."""
        if place.role not in {"value", "key"}:
            return ""
        value = decoded(place.word, NOTHING)
        if value is NOTHING or isinstance(value, dict | list):
            return ""
        for way in _ways_to_write(value):
            if way != place.word and self._reads(data[: place.start] + way):
                return (
                    f"written {way.decode()} it is allowed: a table knows one way to write a value"
                )
        return ""


LAYOUTS = {
    "compact": "the layout is compact, without white space between the parts",
    "spaced": "the layout is spaced: one space after each ',' and ':' and no other white space",
    "flexible": "the layout is flexible: at most one space after each ',' and ':'",
}
"""The hint at white space, by layout."""


_OTHERWISE = (
    "the schema allows this text, the table does not: members stand in one order, and each value is"
    " written in one way"
)
_ORDER = "members stand in the order of the schema: {} comes before {}"


_MEANT = {b"True": "true", b"False": "false", b"None": "null", b"nil": "null"}


def _no_json(data: bytes, place: Place) -> str:
    """Return a hint on what other languages write, and JSON does not."""
    word = place.word
    if word in _MEANT:
        return f"JSON writes {_MEANT[word]}"
    if word[:1] == b"'":
        return "JSON puts names and texts in double quotes"
    if place.role == "key" and word[:1].isalpha():
        return "JSON puts the names of members in double quotes"
    if word in {b"NaN", b"Infinity", b"-Infinity"}:
        return f"JSON has no {word.decode()}"
    if word[:2] in {b"//", b"/*"}:
        return "JSON has no comments"
    comma, rest = data[: place.start].rstrip()[-1:], data[place.start :]
    if word == b",":
        comma, rest = word, rest[1:]
    if comma == b"," and rest.lstrip()[:1] in {b"}", b"]"}:
        return "JSON has no comma before a closing bracket"
    return ""


def _undeclared(judge: Judge, data: bytes, place: Place, around: list[Any]) -> str:
    """Return a hint on a member that the schema has no word on."""
    name = _member(data, place)
    pointer = None if name is None else judge.undeclared(place.path, around, name)
    if name is None or pointer is None:
        return ""
    return (
        f"the schema declares no member {_quoted(name)} at #{pointer}; a table leaves such members"
        " out unless compiled with --open"
    )


def _blame_around(judge: Judge, data: bytes, place: Place, around: list[Any]) -> Blame | None:
    """Return the keyword of an array or object around a place that forbids it as a whole."""
    for depth in range(len(place.opened) - 1, -1, -1):
        value = value_at(data, place.opened[depth].start)
        if value is NOTHING:
            return None
        found = judge.of_whole(place.path[:depth], around[:depth], value)
        if found is not None:
            return found
    return None


def _blame_here(judge: Judge, data: bytes, place: Place, around: list[Any]) -> Blame | None:
    if place.role == "value" and place.word not in {b"]", b"}"}:
        value = value_at(data, place.start)
        if value is NOTHING:
            value = {b"{": {}, b"[": []}.get(place.word, NOTHING)
        return None if value is NOTHING else judge.of_value(place.path, around, value)
    if place.role == "end":
        return None
    if place.word in {b"}", b"]"}:
        path = place.path[: len(place.opened) - 1]
        return judge.of_end(path, around)
    name = _member(data, place)
    if name is not None:
        return judge.of_member(place.path, around, name)
    if place.word == b"," and place.opened and not place.opened[-1].is_object:
        return judge.of_more(place.path, around)
    return None


def _member(data: bytes, place: Place) -> str | None:
    """Return the name of the member that begins at a place, or after the comma there."""
    start = place.start
    if place.role == "after" and place.word == b"," and place.opened[-1].is_object:
        start += 1 + len(data[start + 1 :]) - len(data[start + 1 :].lstrip())
    elif place.role != "key":
        return None
    name = value_at(data, start)
    return name if isinstance(name, str) else None


def _later(data: bytes, place: Place) -> list[str]:
    """Return the names of the members that the object has after a place."""
    whole = value_at(data, place.opened[-1].start)
    if not isinstance(whole, dict):
        return []
    return [name for name in whole if name not in place.opened[-1].names]


def _key(name: str) -> bytes:
    return json.dumps(name, ensure_ascii=False).encode("utf-8", "surrogatepass") + b":"


def _ways_to_write(value: Any) -> list[bytes]:
    """Return plain ways to write a scalar."""
    from decimal import Decimal

    if isinstance(value, Decimal):
        plain = f"{value:f}" if abs(value.adjusted()) < 40 else str(value)
        short = plain.rstrip("0").rstrip(".") if "." in plain else plain
        return [short.encode(), plain.encode()]
    if isinstance(value, str):
        both = (json.dumps(value, ensure_ascii=False), json.dumps(value))
        return [text.encode("utf-8", "replace") for text in both]
    return [json.dumps(value).encode()]


def _quoted(name: str) -> str:
    return json.dumps(cropped(name, _NAME), ensure_ascii=False)


def _is_a_file(text: str) -> str:
    """Return a hint on a text that is the name of a file."""
    try:
        is_file = bool(text) and len(text) < 4096 and Path(text).is_file()
    except (OSError, ValueError):
        is_file = False
    if not is_file:
        return ""
    return f"{text} is a file; to check what is in it, give - and the file: - < {text}"
