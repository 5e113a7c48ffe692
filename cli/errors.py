"""From an error to what a person reads, and to what a program reads.

``describe`` draws a ``PatternError`` with the pattern and a ``SchemaError`` with the line of the
schema, each with a caret, and names the options of the command line that are a way out.
``as_json`` gives the same as JSON values: the kind, the message, the place, the numbers.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constrain.cli.inputs import SchemaText
    from constrain.errors import ConstrainError, DeadEndError, LimitError, PatternError, SchemaError

_OPTIONS = {
    "states": "--max-states",
    "DFA states": "--max-states",
    "seconds": "--timeout",
    "bytes of output": "--max-output",
}


def describe(error: ConstrainError | OSError, schema: SchemaText | None = None) -> Text:
    """Return the message of an error, with the place drawn where there is one."""
    from constrain.cli.inputs import Mistake
    from constrain.errors import DeadEndError, LimitError, PatternError, SchemaError

    if isinstance(error, Mistake):
        return describe(error.error, error.schema)
    if isinstance(error, OSError):
        name = "" if error.filename is None else f"{error.filename}: "
        return Text(f"{name}{error.strerror or error}")
    if isinstance(error, PatternError):
        return _pattern(error)
    if isinstance(error, SchemaError):
        return _schema(error, schema)
    if isinstance(error, LimitError):
        return _limit(error)
    if isinstance(error, DeadEndError):
        return _dead_end(error)
    return Text(str(error))


def as_json(error: ConstrainError | OSError, schema: SchemaText | None = None) -> dict[str, Any]:
    """Return an error as JSON values: ``error`` (its kind), ``message``, and what it carries."""
    from constrain.cli.inputs import Mistake
    from constrain.errors import SchemaError

    if isinstance(error, Mistake):
        return as_json(error.error, error.schema)
    about: dict[str, Any] = {"error": type(error).__name__}
    about["message"] = describe(error, schema).plain
    if isinstance(error, OSError):
        return about | {"file": None if error.filename is None else str(error.filename)}
    carried = {name: vars(error)[name] for name in _CARRIED if name in vars(error)}
    carried = {
        name: value.hex() if isinstance(value, bytes) else value for name, value in carried.items()
    }
    about |= carried
    pointer = _pointer(error) if isinstance(error, SchemaError) else None
    if pointer is not None:
        about |= {"pointer": pointer, "file": None if schema is None else schema.name}
    place = _place_of(error, pointer, schema)
    return about if place is None else about | dict(zip(("line", "column"), place, strict=True))


_CARRIED = (
    "reason", "pointer", "keyword", "relax", "relaxable", "pattern", "span", "missing", "what",
    "given", "limit", "where", "key", "token_id", "state", "budget", "needed",
)  # fmt: skip
"""The fields of errors that programs may want."""


def _place_of(
    error: BaseException, pointer: str | None, schema: SchemaText | None
) -> tuple[int, int] | None:
    """Return line and column, both from 1, of the schema part at fault, or of what is not JSON."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, json.JSONDecodeError):
            return cause.lineno, cause.colno
        cause = cause.__cause__
    span = None if schema is None or not pointer else locate(schema.text, pointer)
    if schema is None or span is None:
        return None
    before = schema.text[: span[0]]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def _pattern(error: PatternError) -> Text:
    start, end = error.span
    return Text.assemble(error.reason, "\n", drawn(error.pattern, start, end))


def _schema(error: SchemaError, schema: SchemaText | None) -> Text:
    name = "" if schema is None else f"{schema.name}: "
    pointer = _pointer(error)
    relax = vars(error).get("relax")
    message = Text.assemble(name, f"`--relax {relax}` " if relax else "", error.reason)
    if not pointer:
        return message
    message.append(f"\n  at #{pointer}")
    text = "" if schema is None else schema.text
    if (span := locate(text, pointer)) is not None:
        start, end = span
        first = text.rfind("\n", 0, start) + 1
        last = text.find("\n", start)
        line = text[first : None if last < 0 else last]
        number = text.count("\n", 0, start) + 1
        message.append(f", line {number}\n")
        message.append(drawn(line, start - first, min(end, first + len(line)) - first))
    if vars(error).get("relaxable"):
        message.append(
            f"\n  `--relax {error.keyword}@{error.pointer or '#'}` leaves it unenforced here,"
            f" `--relax {error.keyword}` everywhere"
        )
    return message


def _pointer(error: SchemaError) -> str:
    """Return the pointer of what is at fault, the keyword included."""
    if error.keyword is None:
        return error.pointer
    return f"{error.pointer}/{error.keyword.replace('~', '~0').replace('/', '~1')}"


def _limit(error: LimitError) -> Text:
    message = Text(str(error))
    option = _OPTIONS.get(error.what)
    if option:
        message.append(f"\n  {option} raises the limit")
        if error.where:
            message.append("; a smaller bound there lowers what is needed")
    return message


def _dead_end(error: DeadEndError) -> Text:
    message = Text(str(error))
    readable = [chr(b) for b in error.missing if 0x20 <= b < 0x7F]
    if readable:
        message.append(f"\n  as characters: {' '.join(readable[:40])}")
    return message


def drawn(line: str, start: int, end: int) -> Text:
    """Return a line with carets under a span (at least one), cut to what fits around it."""
    from constrain.cli.terminal import err

    half = max(16, (err().width - 4) // 2)  # two blanks before the line, two ellipses
    first = max(0, min(start - half, len(line) - 2 * half))
    last = min(len(line), first + 2 * half)
    before = _flat(line[first:start])
    marked = _flat(line[start : min(end, last)])
    after = _flat(line[max(start, min(end, last)) : last])
    left, right = "…" if first else "", "…" if last < len(line) else ""
    indent = " " * (len(left) + _cells(before))
    carets = "^" * max(1, _cells(marked))
    return Text.assemble(
        f"  {left}{before}", (marked, "bold"), f"{after}{right}\n  {indent}", (carets, "bold red")
    )


def _flat(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)


def _cells(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


def locate(text: str, pointer: str) -> tuple[int, int] | None:
    """Return where in a JSON text the member or item of a pointer stands: start and end.

    For a member that is its name, for an item its first line. None if the pointer leads nowhere.

    >>> text = '{"a": [1, {"b~c": 2}]}'
    >>> text[slice(*locate(text, "/a/1/b~0c"))]
    '"b~c"'
    """
    at, span = 0, (0, 0)
    try:
        for step in pointer.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            for key, start, end, value in _children(text, at):
                if key == name:
                    at, span = value, (start, end)
                    break
            else:
                return None
    except (ValueError, IndexError, RecursionError):
        return None
    return span


def _children(text: str, at: int) -> Iterator[tuple[str, int, int, int]]:
    """Yield the children of the value at a place: name, span of the name, start of the value."""
    decoder = json.JSONDecoder()
    at = _blank(text, at)
    if text[at] not in "{[":
        return
    is_object, number = text[at] == "{", 0
    at = _blank(text, at + 1)
    while text[at] not in "}]":
        start = at
        if is_object:
            key, end = decoder.raw_decode(text, at)
            at = _blank(text, _blank(text, end) + 1)
        else:
            key, end = str(number), text.find("\n", at) if "\n" in text[at:] else len(text)
            number += 1
        value = at
        _, at = decoder.raw_decode(text, value)
        yield key, start, min(end, at) if not is_object else end, value
        at = _blank(text, at)
        if text[at] == ",":
            at = _blank(text, at + 1)


def _blank(text: str, at: int) -> int:
    while text[at] in " \t\r\n":
        at += 1
    return at
