r"""Bytes, byte sets and numbers in words.

>>> byte_words({*b"0123456789", *b"-"})
["'-'", 'a digit']
>>> byte_words({*range(32, 127), *range(0xC2, 0xF5)} - {*b"&"})
["any character except '&' and control characters"]
>>> shown(bytes([0x61, 0xFF])), count(1234, "state"), size(226085)
('a\\xff', '1,234 states', '220.8 KiB')

Doesn't do: colours, widths of terminals (``terminal``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

_LEADS = frozenset(range(0xC2, 0xF5))  # the bytes that begin a character beyond ASCII
_PRINTABLE = frozenset(range(0x20, 0x7F))
_NAMED = (
    (frozenset(b"abcdefghijklmnopqrstuvwxyz"), "a-z"),
    (frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"), "A-Z"),
    (frozenset(b"0123456789"), "a digit"),
)
_CONTROLS = {0x20: "a space", 0x09: "a tab", 0x0A: "a line feed", 0x0D: "a carriage return"}
_MANY = 70  # printable characters, out of 95, from which on the exceptions are listed instead


def count(n: int, noun: str, nouns: str = "") -> str:
    """Return a number with its noun, in the plural where it is one."""
    return f"{n:,} {noun if n == 1 else nouns or noun + 's'}"


def size(n_bytes: int) -> str:
    """Return a number of bytes for people."""
    amount = float(n_bytes)
    for unit in ("bytes", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:,.0f} {unit}" if unit == "bytes" else f"{amount:,.1f} {unit}"
        amount /= 1024
    return f"{amount:,.1f} GiB"


def percent(share: float) -> str:
    """Return a share of 1 as a percentage with two or three digits that count."""
    number = share * 100
    return f"{number:.0f} %" if number >= 10 or number == 0 else f"{number:.2g} %"


def seconds(amount: float) -> str:
    """Return a span of time."""
    return f"{amount:.2f} s" if amount >= 0.1 else f"{amount * 1000:.0f} ms"


def shown(data: bytes, width: int = 0) -> str:
    """Return bytes as text on one line; what cannot be printed is escaped, long ones lose the middle.

    Parameters
    ----------
    data : bytes
    width : int
        The most characters wanted; 0 for all.
    """
    text = data.decode("utf-8", errors="backslashreplace")
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return cropped(text, width)


def cropped(text: str, width: int) -> str:
    """Return a text of at most so many characters (0: any number), without its middle if need be."""
    if not width or len(text) <= width:
        return text
    tail = min((width - 1) // 3, 24)
    return text[: width - 1 - tail] + "…" + (text[-tail:] if tail else "")


def listed(parts: Collection[str], word: str = "or") -> str:
    """Return ``a, b or c``."""
    *first, last = parts
    return f"{', '.join(first)} {word} {last}" if first else last


def quoted(character: str) -> str:
    """Return a character in quotes, so that it does not read as punctuation."""
    return f'"{character}"' if character == "'" else f"'{character}'"


def byte_words(members: Iterable[int]) -> list[str]:
    """Return what may come next, in words.

    Parameters
    ----------
    members : iterable of int
        Byte values.
    """
    found = frozenset(members)
    leads = found & _LEADS
    printable = found & _PRINTABLE
    words: list[str] = []
    many = len(printable) >= _MANY
    if many:
        words.append(_nearly_all(printable, beyond=leads == _LEADS))
        printable = frozenset()
        leads = frozenset() if leads == _LEADS else leads
    words += _ascii_words(printable)
    controls = [b for b in sorted(found) if b < 0x20 or (b == 0x7F and not many)]
    words += [_CONTROLS.get(b, f"byte {b:02x}") for b in controls]
    if leads:
        words.append("any character beyond ASCII" if leads == _LEADS else _some(leads))
    if rest := sorted(b for b in found if 0x80 <= b < 0xC0):
        words.append(f"the next byte of a character ({_hex_spans(rest)})")
    if others := sorted(b for b in found - _LEADS if b >= 0xC0):
        words.append(f"bytes {_hex_spans(others)}")
    return words


def _nearly_all(printable: frozenset[int], *, beyond: bool) -> str:
    missing = [quoted(chr(b)) for b in sorted(_PRINTABLE - printable)]
    kind = "any character" if beyond else "any ASCII character"
    return f"{kind} except {listed([*missing, 'control characters'], 'and')}"


def _ascii_words(members: frozenset[int]) -> list[str]:
    words: list[str] = []
    for whole, name in _NAMED:
        if whole <= members:
            words.append(name)
            members -= whole
    singles = []
    for first, last in _spans(sorted(members)):
        if last - first >= 2 and chr(first).isalnum() and chr(last).isalnum():
            singles.append(f"{chr(first)}-{chr(last)}")
        else:
            singles += [_CONTROLS.get(b, quoted(chr(b))) for b in range(first, last + 1)]
    return singles + words


def _some(leads: frozenset[int]) -> str:
    if len(leads) == 1:
        return f"a character beyond ASCII that begins with byte {min(leads):02x}"
    return "some characters beyond ASCII"


def _spans(members: list[int]) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for member in members:
        if spans and spans[-1][1] == member - 1:
            spans[-1] = (spans[-1][0], member)
        else:
            spans.append((member, member))
    return spans


def _hex_spans(members: list[int]) -> str:
    return ", ".join(f"{a:02x}" if a == b else f"{a:02x}-{b:02x}" for a, b in _spans(members))
