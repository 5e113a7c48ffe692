r"""Unicode properties by name, for ``\p{...}`` in ECMAScript patterns.

All values of General_Category, under their short and long names, and the binary properties that can
be told exactly from the standard library's ``unicodedata``: Any, ASCII, Assigned, ASCII_Hex_Digit and
White_Space. The Unicode version is that of the running Python (``unicodedata.unidata_version``).

Doesn't do: scripts and the derived properties (Alphabetic, Uppercase, Emoji, ...): the standard
library has no tables of them, and a set that is nearly right would not be exact.

Source: https://tc39.es/ecma262/#table-unicode-general-category-values.
"""

from __future__ import annotations

import unicodedata
from functools import cache

from constrain.utf8 import SCALARS, Ranges, complement, normalise

# Short name, then long names; a one-letter name is the union of its two-letter ones.
_CATEGORY_NAMES = """
L Letter | LC Cased_Letter | Lu Uppercase_Letter | Ll Lowercase_Letter | Lt Titlecase_Letter
Lm Modifier_Letter | Lo Other_Letter | M Mark Combining_Mark | Mn Nonspacing_Mark
Mc Spacing_Mark | Me Enclosing_Mark | N Number | Nd Decimal_Number digit | Nl Letter_Number
No Other_Number | P Punctuation punct | Pc Connector_Punctuation | Pd Dash_Punctuation
Ps Open_Punctuation | Pe Close_Punctuation | Pi Initial_Punctuation | Pf Final_Punctuation
Po Other_Punctuation | S Symbol | Sm Math_Symbol | Sc Currency_Symbol | Sk Modifier_Symbol
So Other_Symbol | Z Separator | Zs Space_Separator | Zl Line_Separator | Zp Paragraph_Separator
C Other | Cc Control cntrl | Cf Format | Cs Surrogate | Co Private_Use | Cn Unassigned
"""

_SHORT_NAME = {
    name: entry.split()[0]
    for entry in _CATEGORY_NAMES.replace("\n", "|").split("|")
    for name in entry.split()
}

_WHITE_SPACE: Ranges = (
    (0x09, 0x0D),
    (0x20, 0x20),
    (0x85, 0x85),
    (0xA0, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
)


def code_points_with(expression: str) -> Ranges | None:
    r"""Return the code points of ``\p{expression}``, or None if the property is not supported.

    Parameters
    ----------
    expression : str
        ``Lu``, ``Letter``, ``gc=Lu``, ``General_Category=Letter`` or a binary property.

    Returns
    -------
    Ranges | None
        Without surrogates, which no well-formed text has.

    >>> code_points_with("Zl")
    ((8232, 8232),)
    """
    name, equals, value = expression.rpartition("=")
    if equals and name not in ("gc", "General_Category"):
        return None
    if value in _SHORT_NAME:
        return _category(_SHORT_NAME[value])
    return None if equals else _binary(value)


def _binary(name: str) -> Ranges | None:
    if name == "Assigned":
        return complement(_category("Cn"))
    return {
        "Any": SCALARS,
        "ASCII": ((0, 0x7F),),
        "ASCII_Hex_Digit": ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)),
        "AHex": ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)),
        "White_Space": _WHITE_SPACE,
        "space": _WHITE_SPACE,
    }.get(name)


def _category(name: str) -> Ranges:
    members = ("Lu", "Ll", "Lt") if name == "LC" else (name,)
    return normalise(
        run for category, runs in _runs().items() if category.startswith(members) for run in runs
    )


@cache
def _runs() -> dict[str, list[tuple[int, int]]]:
    """Return the runs of code points of each two-letter category; 0.1 s, once."""
    runs: dict[str, list[tuple[int, int]]] = {}
    for first, last in SCALARS:
        start, current = first, unicodedata.category(chr(first))
        for code in range(first + 1, last + 1):
            category = unicodedata.category(chr(code))
            if category != current:
                runs.setdefault(current, []).append((start, code - 1))
                start, current = code, category
        runs.setdefault(current, []).append((start, last))
    return runs
