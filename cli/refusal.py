"""A text that does not belong to the language of a table: where, what was expected, and why.

``refused`` finds all there is to say; a ``Refusal`` draws it for people or gives it as JSON values.
The parts come from ``expected`` (what the automaton goes on with, in words), ``why`` (the keyword of
the schema, hints) and ``Ways`` (how the part before could have been completed).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.text import Text

from constrain.cli.expected import expected, json_place
from constrain.cli.why import LAYOUTS, Reasons
from constrain.cli.words import listed, quoted, shown

if TYPE_CHECKING:
    from constrain.cli.ways import Ways
    from constrain.schema.blame import Blame

_WORD = 40  # characters of the word that is refused
_COMPLETED = 160  # characters of a completion
_BRANCHES = 4  # alternatives that are drawn
_NAMES = {b" ": "a space", b"\n": "a line feed", b"\t": "a tab", b"\r": "a carriage return"}


@dataclass(frozen=True, slots=True)
class Refusal:
    """What is wrong with a text.

    Attributes
    ----------
    data : bytes
        The text.
    at : int
        How many bytes of it can be read.
    expected : list[str]
        What may stand there, in words.
    instead : str
        What stands there, in words; ``""`` at the end of the text.
    completion : bytes
        What would complete the part that can be read.
    may_end : bool
        Whether that part is a text of the language.
    blame : Blame or None
        The keyword that forbids it.
    hint : str
        What may have gone wrong, or ``""``.
    rewritten : Refusal or bytes
        Where white space is all that stands here: the text without it if that belongs to the
        language, else what is wrong with that; ``b""`` elsewhere.
    """

    data: bytes
    at: int
    expected: list[str]
    instead: str
    completion: bytes
    may_end: bool
    blame: Blame | None
    hint: str
    rewritten: Refusal | bytes = b""

    @property
    def place(self) -> tuple[int, int]:
        """Line and column, both from 1; columns are characters."""
        before = self.data[: self.at]
        line = before.rpartition(b"\n")[2]
        return before.count(b"\n") + 1, len(line.decode("utf-8", errors="replace")) + 1

    def as_json(self) -> dict[str, Any]:
        """Return what there is to say as JSON values."""
        line, column = self.place
        return {
            "byte": self.at,
            "line": line,
            "column": column,
            "ends": self.at == len(self.data),
            "may_end": self.may_end,
            "expected": self.expected,
            "found": self.instead,
            "prefix": self.data[: self.at].decode("utf-8", errors="backslashreplace"),
            "completion": self.completion.decode("utf-8", errors="backslashreplace"),
            "forbidden_by": None if self.blame is None else self.blame.pointer,
            "reason": None if self.blame is None else self.blame.reason,
            "hint": self.hint or None,
        }

    def drawn(self) -> Text:
        """Return it for people: a line that says it, the place with a caret, and the reasons."""
        from constrain.cli.errors import drawn

        line, column = self.place
        wanted = listed(self.expected) if self.expected else "nothing"
        if self.instead:
            head = f"line {line}, column {column}: expected {wanted}, not {self.instead}\n"
        else:
            head = f"the text ends too early: expected {wanted}\n"
        start = self.data[: self.at].rfind(b"\n") + 1
        end = self.data.find(b"\n", self.at)
        before = shown(self.data[start : self.at])
        rest = shown(self.data[self.at : None if end < 0 else end])
        first = self.data[self.at :][: _character_length(self.data[self.at :])]
        length = len(shown(first)) if rest else 1
        message = Text(head)
        message.append(drawn(before + rest, len(before), len(before) + length))
        if self.blame is not None:
            message.append_text(_forbidden(self.blame))
        if self.hint:
            message.append("\n  hint: ", style="yellow")
            message.append(self.hint)
        if self.rewritten:
            return message.append_text(self._otherwise())
        what = "could be completed" if self.completion else "belongs to the language"
        message.append(f"\n  {what}: ", style="dim")
        message.append(shown(self.data[: self.at], _COMPLETED))
        message.append(shown(self.completion, _COMPLETED), style="bold green")
        return message

    def _otherwise(self) -> Text:
        """Return how the text fares once its white space is as the layout has it."""
        if isinstance(self.rewritten, bytes):
            text = Text("\n  written so it belongs to the language: ", style="dim")
            return text.append(shown(self.rewritten, _COMPLETED), style="not dim green")
        return Text.assemble("\n  written so it is refused, too: ", self.rewritten.drawn())


def refused(ways: Ways, data: bytes, given: str = "") -> Refusal:
    """Return what is wrong with a text that does not belong to the language.

    Parameters
    ----------
    ways : Ways
    data : bytes
    given : str
        The argument that the text came from, if one.
    """
    config, at = ways.follow(data)
    reasons = Reasons(ways)
    blame, hint = reasons.why(given, data, at)
    otherwise: Refusal | bytes = b""
    if hint in LAYOUTS.values() and (rewritten := reasons.rewritten(data)) != data:
        after, read = ways.follow(rewritten)
        belongs = read == len(rewritten) and ways.runner.complete(after)
        otherwise = rewritten if belongs else refused(ways, rewritten)
    return Refusal(
        data,
        at,
        expected(ways, data, at),
        _instead(ways, data, at),
        ways.completion(config),
        bool(ways.runner.complete(config)),
        blame,
        hint,
        otherwise,
    )


def _forbidden(blame: Blame) -> Text:
    text = Text("\n  forbidden by: ", style="bold")
    text.append(f"#{blame.pointer}", style="cyan")
    text.append(f", which {blame.reason}", style="not bold")
    for inner in blame.inner[:_BRANCHES]:
        text.append(f"\n    #{inner.pointer}", style="cyan")
        text.append(f" {inner.reason}", style="not bold")
    if len(blame.inner) > _BRANCHES:
        text.append(f"\n    and {len(blame.inner) - _BRANCHES} more", style="dim")
    return text


def _instead(ways: Ways, data: bytes, at: int) -> str:
    """Return what stands at a place in words: the whole word of a JSON text, else a character."""
    if at == len(data):
        return ""
    place = json_place(ways, data, at)
    if place is not None and len(place.word) > max(1, at - place.start):
        return shown(place.word, _WORD)
    first = data[at : at + _character_length(data[at:])]
    return _NAMES.get(first) or quoted(shown(first))


def _character_length(data: bytes) -> int:
    """Return the bytes of the first character; 1 where there is none."""
    for length in range(1, 5):
        try:
            data[:length].decode()
        except UnicodeDecodeError:
            continue
        return length
    return 1
