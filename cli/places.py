r"""Where in a JSON text a byte stands: what is open there, and the word that it belongs to.

A text that leaves a language of JSON texts is JSON up to there, or the beginning of it; what comes
after may be anything. So the part before is scanned, and of the part after only the word is read in
whose middle the place is.

>>> place = place_in(b'{"a":[1,{"b":"xyz"}]}', 15)
>>> place.path, place.role, place.word
(('a', 1, 'b'), 'value', b'"xyz"')

Doesn't do: anything for texts that are no JSON (a pattern's); what it says of them means nothing.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

Role: TypeAlias = Literal["value", "key", "colon", "after", "end"]
"""What stands at a place: a value or its beginning, the name of a member, the colon after it, what
follows a value inside an array or object, or what follows the whole text."""

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"?|[^][{}:,"\s]+|[][{}:,]', re.DOTALL)
_BARE = re.compile(rb'[^][{}:,"\s]*')  # numbers, true, false, null, and what is meant to be one
_NUMBER = frozenset(b"-0123456789"[i : i + 1] for i in range(11))
_NOTHING = object()


@dataclass(slots=True)
class Open:
    """An array or object that is open at a place.

    Attributes
    ----------
    is_object : bool
    start : int
        Where its bracket stands.
    children : list
        Of each member or item so far, in order: where it starts, and where its value starts and
        ends (-1: not yet).
    names : list[str]
        The names of the members so far.
    """

    is_object: bool
    start: int
    children: list[list[int]] = field(default_factory=list[list[int]])
    names: list[str] = field(default_factory=list[str])

    def complete(self, data: bytes) -> Any:
        """Return what of it is complete, as a list or a dict."""
        done = [decoded(data[start:end]) for _, start, end in self.children if end >= 0]
        return dict(zip(self.names, done, strict=False)) if self.is_object else done


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a JSON text.

    Attributes
    ----------
    role : Role
    path : tuple[str | int, ...]
        Names and positions from the root to the value; for the other roles to what is around.
    opened : tuple[Open, ...]
        The arrays and objects that are open, outermost first.
    start : int
        Where the word begins that the place is in; the place itself where that is between words.
    word : bytes
        The whole word, to its end in the text.
    """

    role: Role
    path: tuple[str | int, ...]
    opened: tuple[Open, ...]
    start: int
    word: bytes


def place_in(data: bytes, at: int, *, unfinished: bool = False) -> Place:
    """Return what stands at a place of a text that is the beginning of JSON up to there.

    Parameters
    ----------
    data : bytes
    at : int
    unfinished : bool
        Whether a number that ends at the place would have to go on.
    """
    opened: list[Open] = []
    role: Role = "value"
    start = at
    for begin, end, token in _tokens(data, at):
        is_number = token[:1] in _NUMBER
        if end == at and ((unfinished and is_number) or _goes_on(data, begin, at)):
            start = begin
            break
        role = _after(opened, role, data, (begin, end), token)
    if role == "value" and opened:
        _begin_value(opened[-1], start)
    path = tuple(_steps(opened, whole=role == "value"))
    return Place(role, path, tuple(opened), start, _word(data, start))


def _tokens(data: bytes, at: int) -> Iterator[tuple[int, int, bytes]]:
    for found in _TOKEN.finditer(data, 0, at):
        yield found.start(), found.end(), found.group()


def _goes_on(data: bytes, begin: int, at: int) -> bool:
    """Return whether the token that ends at a place goes on there, or would have to."""
    token = data[begin:at]
    if token[:1] == b'"':
        return decoded(token) is None
    if token in {b"{", b"}", b"[", b"]", b":", b","}:
        return False
    if _BARE.match(data, at).end() > at:  # type: ignore[union-attr]
        return True
    return decoded(token, _NOTHING) is _NOTHING


def _after(
    opened: list[Open], role: Role, data: bytes, span: tuple[int, int], token: bytes
) -> Role:
    """Return the role of what follows a token, and note what the token does."""
    begin, end = span
    top = opened[-1] if opened else None
    if token in {b"}", b"]"}:
        opened.pop()
        return _value_ends(opened, end)
    if token == b",":
        return "key" if top is not None and top.is_object else "value"
    if token == b":":
        return "value"
    if role == "key" and top is not None:
        top.names.append(decoded(token))
        top.children.append([begin, -1, -1])
        return "colon"
    if top is not None:
        _begin_value(top, begin)
    if token in {b"{", b"["}:
        opened.append(Open(token == b"{", begin))
        return "key" if token == b"{" else "value"
    return _value_ends(opened, end)


def _begin_value(top: Open, begin: int) -> None:
    if not top.is_object:
        top.children.append([begin, begin, -1])
    else:
        top.children[-1][1] = begin


def _value_ends(opened: list[Open], end: int) -> Role:
    if not opened:
        return "end"
    opened[-1].children[-1][2] = end
    return "after"


def _steps(opened: list[Open], *, whole: bool) -> Iterator[str | int]:
    inner = opened if whole else opened[:-1]
    for each in inner:
        yield each.names[-1] if each.is_object else len(each.children) - 1


def _word(data: bytes, start: int) -> bytes:
    found = _TOKEN.match(data, start)
    return found.group() if found else data[start : start + 1]


def decoded(text: bytes, otherwise: Any = None) -> Any:
    """Return the value of a JSON text, or ``otherwise`` if it is none."""
    from constrain.errors import ConstrainError
    from constrain.schema.values import load

    try:
        return load(text)
    except ConstrainError:
        return otherwise


def value_at(data: bytes, start: int) -> Any:
    """Return the value that begins at a place of a text, ``NOTHING`` if none does or it is cut off."""
    try:
        text = data[start:].decode()
        _, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return NOTHING
    return decoded(text[:end].encode(), NOTHING)


NOTHING = _NOTHING
"""What ``value_at`` returns where there is no value."""
