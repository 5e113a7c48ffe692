"""From an error to what a person reads, and to the exit code: the one place where that is decided.

    0     all is well
    1     a mistake in what was given: one message, which says where and what to do
    2     wrong usage of the command line (Typer's own)
    130   interrupted

Anything else is a bug and keeps its traceback. ``describe`` draws a ``PatternError`` with the
pattern and a ``SchemaError`` with the line of the schema, each with a caret.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.text import Text
from typer.core import TyperGroup

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constrain.errors import ConstrainError, DeadEndError, LimitError, PatternError, SchemaError

INTERRUPTED = 130

_OPTIONS = {
    "states": "--max-states",
    "DFA states": "--max-states",
    "seconds": "--timeout",
    "bytes of output": "--max-output",
}


class Commands(TyperGroup):
    """The commands, with errors turned into messages and exit codes."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        import typer

        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            _say(Text("interrupted; nothing was written"))
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            raise
        except OSError as error:
            if error.filename is None:
                raise
            _say(Text(f"{error.filename}: {error.strerror}"))
            raise typer.Exit(1) from None
        except ValueError as error:
            from constrain.errors import ConstrainError

            if not isinstance(error, ConstrainError):
                raise
            report(error)
            raise typer.Exit(1) from None


@dataclass(frozen=True, slots=True)
class SchemaText:
    """A schema as it was given, to compile and to point into."""

    name: str
    data: bytes

    @property
    def text(self) -> str:
        """The text, whatever the bytes."""
        return self.data.decode("utf-8-sig", errors="replace")


def report(error: ConstrainError, schema: SchemaText | None = None) -> None:
    """Write an error to standard error."""
    _say(describe(error, schema))


def _say(message: Text) -> None:
    from constrain.cli.terminal import err

    err().print(Text.assemble(("error: ", "bold red"), message), soft_wrap=True)


def describe(error: ConstrainError, schema: SchemaText | None = None) -> Text:
    """Return the message of an error, with the place drawn where there is one."""
    from constrain.errors import DeadEndError, LimitError, PatternError, SchemaError

    if isinstance(error, PatternError):
        return _pattern(error)
    if isinstance(error, SchemaError):
        return _schema(error, schema)
    if isinstance(error, LimitError):
        return _limit(error)
    if isinstance(error, DeadEndError):
        return _dead_end(error)
    return Text(str(error))


def _pattern(error: PatternError) -> Text:
    start, end = error.span
    return Text.assemble(error.reason, "\n", drawn(error.pattern, start, end))


def _schema(error: SchemaError, schema: SchemaText | None) -> Text:
    name = "" if schema is None else f"{schema.name}: "
    keyword = (
        "" if error.keyword is None else "/" + error.keyword.replace("~", "~0").replace("/", "~1")
    )
    pointer = error.pointer + keyword
    message = Text.assemble(name, error.reason)
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
    return message


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
