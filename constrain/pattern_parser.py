r"""The parser of patterns: from pattern text to parts, in one pass from left to right.

The open groups are an explicit stack, each with the options and parts read so far; a closing
parenthesis makes one part of the topmost. So nesting is bounded by ``Limits.max_depth`` and never by
Python's recursion limit. Parts are built at once (``constrain.anchors``), there is no tree between.

Every refusal says what is wrong and carries the span at fault: ``PatternError`` where the dialect
itself calls the pattern wrong, ``UnsupportedPattern`` where it has a meaning that is not regular, or
that is left out here. Nothing is ever read as something else than the dialect means.

Doesn't do: simplify. ``(a|a)*`` stays what it is; the minimal automaton will not care.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from constrain import anchors
from constrain.errors import LimitError, PatternError, UnsupportedPattern
from constrain.limits import Meter
from constrain.properties import code_points_with
from constrain.syntax import ByteSet
from constrain.utf8 import MAX_CODE_POINT, SURROGATES, Ranges, code_points, normalise

if TYPE_CHECKING:
    from collections.abc import Callable

    from constrain.anchors import Part
    from constrain.dialects import Dialect
    from constrain.limits import Limits

Element: TypeAlias = int | Ranges
"""What an escape or a class member stands for: one code, or a set of codes."""

_QUANTIFIERS = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_PYTHON_BRACES = re.compile(r"\{(?!\})([0-9]*)(?:(,)([0-9]*))?\}")
_ECMA_BRACES = re.compile(r"\{([0-9]+)(?:(,)([0-9]*))?\}")
_OCTAL = re.compile(r"0[0-7]{0,2}|[1-7][0-7]{2}")
_OCTAL_IN_CLASS = re.compile(r"[0-7]{1,3}")
_REFERENCE = re.compile(r"\\[0-9]{1,2}|\\k<[^>]*>")
_CODE_IN_BRACES = re.compile(r"\{([0-9A-Fa-f]+)\}")
_LOW_SURROGATE = re.compile(r"\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})")
_NAMED_CHARACTER = re.compile(r"\\N\{[^}]*\}")
_PROPERTY = re.compile(r"\\[pP]\{([A-Za-z_=0-9]+)\}")
_COMMENT = re.compile(r"\(\?#(?:[^\\)]|\\.)*\)", re.DOTALL)  # Python reads \) as a pair there, too
_FLAGS = re.compile(r"\(\?[A-Za-z]*-?[A-Za-z]*[:)]")
_NOT_REGULAR = "it is not regular"
_NOTHING_THERE = "nothing to repeat: the quantifier {!r} has nothing before it"
_WHERE_LENGTH = 60
_BACKSPACE = 8
_MAX_OCTAL = 0o377
_MAX_DIGITS = 18
_STEP = 64  # effort of one step, as ``Meter.spend`` counts it


@dataclass(slots=True)
class _Group:
    """A group that is still open: where it starts, and what has been read of it."""

    start: int
    options: list[Part] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)

    def close(self) -> Part:
        return anchors.choice([*self.options, anchors.sequence(self.parts)])


class Parser:
    """One pass over one pattern; ``part`` is the result."""

    def __init__(self, pattern: str, dialect: Dialect, limits: Limits) -> None:
        self.pattern = pattern
        self.dialect = dialect
        self.limits = limits
        self.meter = Meter(limits)
        self.n_nodes = 0
        self.at = 0
        self.names: set[str] = set()
        self.groups = [_Group(0)]
        self.item_start = 0  # where the last part starts, for messages about its quantifier
        self.before = (
            "nothing"  # "nothing", "anchor", "repeat" or "item": what a quantifier follows
        )
        self._check_characters()
        while self.at < len(pattern):
            self._step()
            self.meter.spend(_STEP)
        if len(self.groups) > 1:
            start = self.groups[-1].start
            self.fail("unclosed group: the parenthesis has no partner", start, start + 1)
        self.part = self.groups[0].close()

    # Refusals

    def fail(self, reason: str, start: int, end: int) -> NoReturn:
        """Refuse a pattern that the dialect calls wrong."""
        raise PatternError(reason, self.pattern, (start, end))

    def refuse(self, what: str, start: int, end: int, advice: str = "") -> NoReturn:
        """Refuse a construct that has a meaning, but is not supported."""
        text = self.pattern[start:end]
        reason = f"{what} {text!r} is not supported{'; ' if advice else ''}{advice}"
        raise UnsupportedPattern(reason, self.pattern, (start, end))

    def _check_characters(self) -> None:
        if len(self.pattern) > self.limits.max_input:
            raise LimitError("characters in a pattern", len(self.pattern), self.limits.max_input)
        is_bytes = self.dialect.name == "bytes"
        if is_bytes and not self.pattern.isascii():
            at = next(i for i, char in enumerate(self.pattern) if not char.isascii())
            advice = "write the bytes as \\xHH, or use the text dialect"
            self.fail(
                f"a bytes pattern is ASCII: {self.pattern[at]!r} is not; {advice}", at, at + 1
            )
        if found := re.search("[\ud800-\udfff]", self.pattern):
            self.fail("a lone surrogate is no character", *found.span())

    # One step

    def _step(self) -> None:
        start, char = self.at, self.pattern[self.at]
        quantifier = self._quantifier()
        if quantifier is not None:
            self._repeat(*quantifier)
        elif char == "|":
            group = self.groups[-1]
            group.options.append(anchors.sequence(group.parts))
            group.parts = []
            self.at, self.before = start + 1, "nothing"
        elif char == "(":
            self._open_group()
        elif char == ")":
            self._close_group()
        elif char in "^$":
            self.at = start + 1
            self._anchor(char, start)
        elif char == "\\":
            self._escaped()
        else:
            self._append_element(self._element(char), start)

    def _element(self, char: str) -> Element:
        """Read a literal character, a dot or a class."""
        if char == "[":
            return self._class()
        self.at += 1
        return self.dialect.dot if char == "." else ord(char)

    def _append(self, part: Part, start: int, kind: str = "item") -> None:
        self._grow(anchors.size(part), f"the part at position {start}")
        self.groups[-1].parts.append(part)
        self.item_start, self.before = start, kind

    def _grow(self, n_nodes: int, where: str) -> None:
        """Count nodes of the tree, parts with anchors anew each time they are laid out."""
        self.n_nodes += n_nodes
        if self.n_nodes > self.limits.max_nodes:
            raise LimitError("syntax nodes", self.n_nodes, self.limits.max_nodes, where)

    def _append_element(self, element: Element, start: int) -> None:
        if isinstance(element, int):
            if SURROGATES[0] <= element <= SURROGATES[1]:
                self.fail("a lone surrogate is no character", start, self.at)
            element = ((element, element),)
        newline = any(first <= 0x0A <= last for first, last in element)
        if self.dialect.name == "bytes" and element:
            node = ByteSet.of(code for first, last in element for code in range(first, last + 1))
            self._append(anchors.Plain(node, newline=newline), start)
        else:
            self._append(anchors.Plain(code_points(element), newline=newline), start)

    def _anchor(self, name: str, start: int) -> None:
        kind = self.dialect.anchors.get(name)
        if kind is None:
            advice = "a bytes pattern always matches the whole text"
            self.refuse("the anchor", start, self.at, advice)
        self._append(anchors.anchor(kind), start, "anchor")

    # Quantifiers

    def _quantifier(self) -> tuple[int, int | None, int] | None:
        """Return minimum, maximum and end of a quantifier here, or None; braces may be literal."""
        start, char = self.at, self.pattern[self.at]
        if char in _QUANTIFIERS:
            return *_QUANTIFIERS[char], start + 1
        braces = _ECMA_BRACES if self.dialect.ecma else _PYTHON_BRACES
        found = braces.match(self.pattern, start) if char == "{" else None
        if found is None:
            return None
        low, comma, high = found.groups()
        minimum = self._count(low or "0", found)
        maximum = self._count(high, found) if high else (None if comma else minimum)
        if maximum is not None and maximum < minimum:
            reason = f"bad repeat: the bounds of {found[0]} are in the wrong order"
            self.fail(reason, start, found.end())
        return minimum, maximum, found.end()

    def _count(self, digits: str, braces: re.Match[str]) -> int:
        count = int(digits) if len(digits) <= _MAX_DIGITS else 10**_MAX_DIGITS
        if count > self.limits.max_repeat:
            where = f"{_shortened(braces[0])} at position {braces.start()}"
            raise LimitError("repeats", count, self.limits.max_repeat, where)
        return count

    def _repeat(self, minimum: int, maximum: int | None, end: int) -> None:
        start, quantifier = self.at, self.pattern[self.at : end]
        if self.before == "repeat":
            self.fail(f"multiple repeat: {quantifier!r} follows another quantifier", start, end)
        if self.before == "anchor":
            self.fail("nothing to repeat: the quantifier follows an anchor", start, end)
        if self.before == "nothing":
            self.fail(_NOTHING_THERE.format(quantifier), start, end)
        suffix = self.pattern[end : end + 1]
        if suffix == "+" and not self.dialect.ecma:
            self.refuse("the possessive quantifier", start, end + 1, "it changes what matches")
        if suffix == "?":
            end += 1
            if not self.dialect.lazy:
                advice = "on a whole text the greedy one matches the same"
                self.refuse("the lazy quantifier", start, end, advice)
        where = _shortened(self.pattern[self.item_start : end])
        parts = self.groups[-1].parts
        most = self.limits.max_nodes - self.n_nodes
        parts[-1] = anchors.repetition(parts[-1], (minimum, maximum), where, most)
        self._grow(anchors.size(parts[-1]), where)
        self.at, self.before = end, "repeat"

    # Groups

    def _open_group(self) -> None:
        start = self.at
        if self.pattern.startswith("(?", start):
            if self.pattern.startswith("(?#", start) and not self.dialect.ecma:
                self._comment()
                return
            self._extension()
        else:
            self.at = start + 1
        if len(self.groups) > self.limits.max_depth:
            where = f"the group at position {start}"
            raise LimitError("nested groups", len(self.groups), self.limits.max_depth, where)
        self.groups.append(_Group(start))
        self.before = "nothing"

    def _close_group(self) -> None:
        if len(self.groups) == 1:
            self.fail("unbalanced parenthesis: it closes no group", self.at, self.at + 1)
        group = self.groups.pop()
        self.at += 1
        self._append(group.close(), group.start)

    def _comment(self) -> None:
        found = _COMMENT.match(self.pattern, self.at)
        if found is None:
            self.fail("unclosed comment", self.at, len(self.pattern))
        self.at = found.end()

    def _extension(self) -> None:
        """Read what follows ``(`` in ``(?:``, ``(?P<name>`` or ``(?<name>``; refuse the others."""
        start = self.at
        for opening, what in self.dialect.refused_groups.items():
            if self.pattern.startswith(opening, start):
                self.refuse(f"the {what}", start, start + len(opening))
        if self.pattern.startswith("(?:", start):
            self.at = start + 3
            return
        opening = "(?<" if self.dialect.ecma else "(?P<"
        if self.pattern.startswith(opening, start):
            self.at = start + len(opening)
            self._group_name()
        elif found := _FLAGS.match(self.pattern, start):
            self.refuse("the flags group", start, found.end(), "flags are fixed")
        else:
            reason = f"unknown group; a group opens with '(', '(?:' or '{opening}name>'"
            self.fail(reason, start, min(start + 3, len(self.pattern)))

    def _group_name(self) -> None:
        end = self.pattern.find(">", self.at)
        name = self.pattern[self.at : end] if end >= 0 else ""
        plain = name.replace("$", "_") if self.dialect.ecma else name
        if not plain.isidentifier():
            stop = end if end >= 0 else len(self.pattern)
            self.fail(f"bad group name {name!r}", self.at, stop)
        if name in self.names and not self.dialect.ecma:
            self.fail(f"the group name {name!r} is used twice", self.at, end)
        self.names.add(name)
        self.at = end + 1

    # Classes

    def _class(self) -> Ranges:
        start = self.at
        self.at += 1
        negated = self._take("^")
        members: list[tuple[int, int]] = []
        first = not self.dialect.ecma  # in Python a bracket that comes first is literal
        while first or not self._take("]"):
            first = False
            members += self._member(start)
        if negated:
            return self.dialect.complement(normalise(members))
        return normalise(members)

    def _member(self, class_start: int) -> Ranges:
        """Read one element of a class, or a range of two."""
        start = self.at
        low = self._class_element(class_start)
        if not self.pattern.startswith("-", self.at) or self.pattern.startswith("-]", self.at):
            return _as_ranges(low)
        self.at += 1
        high = self._class_element(class_start)
        text = self.pattern[start : self.at]
        if isinstance(low, int) and isinstance(high, int):
            if low > high:
                self.fail(f"bad character range {text}: its ends are swapped", start, self.at)
            return ((low, high),)
        if not self.dialect.ecma:
            self.fail(f"bad character range {text}: an end is a whole class", start, self.at)
        return (*_as_ranges(low), (ord("-"), ord("-")), *_as_ranges(high))

    def _class_element(self, class_start: int) -> Element:
        if self.at >= len(self.pattern):
            self.fail("unclosed class", class_start, len(self.pattern))
        char = self.pattern[self.at]
        if char != "\\":
            self.at += 1
            return ord(char)
        if self.pattern.startswith("\\b", self.at):
            self.at += 2
            return _BACKSPACE
        return self._escape(in_class=True)

    def _take(self, char: str) -> bool:
        taken = self.pattern.startswith(char, self.at)
        self.at += taken
        return taken

    # Escapes

    def _escaped(self) -> None:
        """Read a backslash outside of a class."""
        start = self.at
        letter = self.pattern[start + 1 : start + 2]
        if letter and letter in "bB":
            self.refuse("the word boundary", start, start + 2)
        if letter and letter in "AZ" and not self.dialect.ecma:
            self.at = start + 2
            self._anchor(letter, start)
        else:
            self._append_element(self._escape(in_class=False), start)

    def _escape(self, *, in_class: bool) -> Element:
        """Read an escape that stands for a character or a set of them."""
        start = self.at
        letter = self.pattern[start + 1 : start + 2]
        if not letter:
            self.fail("the pattern ends in a lone backslash", start, start + 1)
        self.at = start + 2
        if letter in self.dialect.shorthands:
            return self.dialect.shorthands[letter]
        if letter in self.dialect.controls:
            return self.dialect.controls[letter]
        if letter in string.digits:
            return self._number(letter, in_class)
        if letter == "x":
            return self._hex(2)
        reader = (_ECMA_ESCAPES if self.dialect.ecma else _PYTHON_ESCAPES).get(letter)
        if reader is not None and self.dialect.name != "bytes":
            return reader(self)
        if letter in string.ascii_letters:
            self.fail(f"unknown escape \\{letter}", start, self.at)
        return ord(letter)

    def _hex(self, n_digits: int) -> int:
        """Read exactly ``n_digits`` hexadecimal digits after a backslash and a letter."""
        start, end = self.at - 2, self.at + n_digits
        digits = self.pattern[self.at : end]
        if len(digits) < n_digits or not set(digits) <= set(string.hexdigits):
            text = self.pattern[start : self.at]
            self.fail(f"incomplete escape: {text} takes {n_digits} hex digits", start, self.at)
        self.at = end
        return int(digits, 16)

    def _number(self, digit: str, in_class: bool) -> int:
        """Read an octal escape; refuse a back-reference."""
        start = self.at - 2
        if self.dialect.ecma:
            if digit == "0" and not re.match("[0-9]", self.pattern[self.at :][:1]):
                return 0
            octal = None
        else:
            octal = (_OCTAL_IN_CLASS if in_class else _OCTAL).match(self.pattern, start + 1)
        if octal is None and (in_class or digit == "0"):
            self.fail(f"unknown escape \\{digit}", start, self.at)
        if octal is None:
            self._back_reference()
        self.at = octal.end()
        code = int(octal[0], 8)
        if code > _MAX_OCTAL:
            self.fail(f"octal escape \\{octal[0]} is above \\377", start, self.at)
        return code

    def _back_reference(self) -> NoReturn:
        start = self.at - 2
        found = _REFERENCE.match(self.pattern, start)
        self.refuse("the back-reference", start, found.end() if found else self.at, _NOT_REGULAR)

    def _short_unicode(self) -> int:
        return self._hex(4)

    def _long_unicode(self) -> int:
        start = self.at - 2
        code = self._hex(8)
        if code > MAX_CODE_POINT:
            self.fail("there are no characters above U+10FFFF", start, self.at)
        return code

    def _ecma_unicode(self) -> int:
        r"""Read ``\u{...}``, ``\uXXXX`` or a surrogate pair of two ``\uXXXX``."""
        start = self.at - 2
        if found := _CODE_IN_BRACES.match(self.pattern, self.at):
            self.at = found.end()
            digits = found[1].lstrip("0") or "0"
            if len(digits) > len("10FFFF") or int(digits, 16) > MAX_CODE_POINT:
                self.fail("there are no characters above U+10FFFF", start, self.at)
            return int(digits, 16)
        high = self._hex(4)
        pair = _LOW_SURROGATE.match(self.pattern, self.at)
        if pair is None or not SURROGATES[0] <= high < 0xDC00:
            return high
        self.at = pair.end()
        return 0x10000 + ((high - 0xD800) << 10) + (int(pair[1], 16) - 0xDC00)

    def _control_letter(self) -> int:
        letter = self.pattern[self.at : self.at + 1]
        if not (letter and letter in string.ascii_letters):
            self.fail("incomplete escape: \\c takes a letter", self.at - 2, self.at)
        self.at += 1
        return ord(letter) % 32

    def _property(self) -> Ranges:
        start = self.at - 2
        found = _PROPERTY.match(self.pattern, start)
        if found is None:
            self.fail("incomplete escape: write \\p{Name} or \\p{Name=Value}", start, self.at)
        self.at = found.end()
        members = code_points_with(found[1])
        if members is None:
            advice = "general categories such as \\p{L}, and Any, ASCII, White_Space are"
            self.refuse("the Unicode property", start, self.at, advice)
        return self.dialect.complement(members) if self.pattern[start + 1] == "P" else members

    def _named_character(self) -> NoReturn:
        found = _NAMED_CHARACTER.match(self.pattern, self.at - 2)
        end = found.end() if found else self.at
        self.refuse("the named character", self.at - 2, end, "write it itself, or as \\uXXXX")


_PYTHON_ESCAPES: dict[str, Callable[[Parser], Element]] = {
    "u": Parser._short_unicode,
    "U": Parser._long_unicode,
    "N": Parser._named_character,
}
_ECMA_ESCAPES: dict[str, Callable[[Parser], Element]] = {
    "u": Parser._ecma_unicode,
    "c": Parser._control_letter,
    "p": Parser._property,
    "P": Parser._property,
    "k": Parser._back_reference,
}


def _as_ranges(element: Element) -> Ranges:
    return ((element, element),) if isinstance(element, int) else element


def _shortened(text: str) -> str:
    """Return the text quoted, its middle left out if it is long."""
    if len(text) > _WHERE_LENGTH:
        half = _WHERE_LENGTH // 2
        text = f"{text[:half]}...{text[-half:]}"
    return repr(text)
