r"""The three dialects of patterns as tables: what each escape, class and anchor stands for.

    bytes   Python's ``re`` on *bytes* patterns: one element is one byte
    text    Python's ``re`` on *str* patterns with ``re.ASCII``: one element is one code point
    ecma    ECMAScript (ECMA-262) with the ``u`` flag, and what else browsers accept and nobody can
            misread (``\-``, ``{,2}`` as literal braces, ``]`` alone)

The parser (``constrain.pattern_parser``) is the same for all; where they differ in more than a
table can say, ``Dialect.ecma`` tells it which of the two families it reads.

Doesn't do: flags. Case is always significant, ``.`` never matches a line end, ``^`` and ``$`` are the
ends of the whole text.

Sources: https://docs.python.org/3/library/re.html and Lib/re/_parser.py of CPython 3.11;
https://tc39.es/ecma262/#sec-patterns and its Annex B.1.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, TypeAlias

from constrain.anchors import AnchorKind
from constrain.utf8 import SCALARS, Ranges, difference, normalise

DialectName: TypeAlias = Literal["bytes", "text", "ecma"]

DIGITS: Ranges = ((0x30, 0x39),)
WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
ASCII_SPACES: Ranges = ((0x09, 0x0D), (0x20, 0x20))

# WhiteSpace and LineTerminator of ECMA-262: the ASCII ones, Zs, U+2028, U+2029 and U+FEFF.
ECMA_SPACES: Ranges = normalise(
    [
        *ASCII_SPACES,
        (0xA0, 0xA0),
        (0x1680, 0x1680),
        (0x2000, 0x200A),
        (0x2028, 0x2029),
        (0x202F, 0x202F),
        (0x205F, 0x205F),
        (0x3000, 0x3000),
        (0xFEFF, 0xFEFF),
    ]
)

_CONTROLS = {"f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}

_LOOKAROUND = {
    "(?=": "lookahead",
    "(?!": "negative lookahead",
    "(?<=": "lookbehind",
    "(?<!": "negative lookbehind",
}


@dataclass(frozen=True, slots=True)
class Dialect:
    r"""What a dialect's notation stands for.

    Attributes
    ----------
    name : str
    ecma : bool
        Whether the pattern is ECMAScript rather than Python.
    universe : Ranges
        All elements: what a negated class is the complement in.
    dot : Ranges
        What ``.`` stands for.
    shorthands : mapping of str to Ranges
        ``\d \D \s \S \w \W`` by their letter.
    controls : mapping of str to int
        Escapes of one character, by their letter.
    anchors : mapping of str to AnchorKind
        ``^``, ``$`` and anchoring escapes; empty where they are refused.
    refused_groups : mapping of str to str
        Groups that are not supported, by how they open, with what they are called.
    lazy : bool
        Whether a lazy quantifier is read (as the greedy one: the language is the same).
    """

    name: DialectName
    ecma: bool
    universe: Ranges
    dot: Ranges
    spaces: Ranges
    controls: Mapping[str, int]
    anchors: Mapping[str, AnchorKind]
    refused_groups: Mapping[str, str]
    lazy: bool
    shorthands: Mapping[str, Ranges] = field(init=False)

    def __post_init__(self) -> None:
        sets = {"d": DIGITS, "s": self.spaces, "w": WORD}
        sets |= {letter.upper(): self.complement(ranges) for letter, ranges in sets.items()}
        object.__setattr__(self, "shorthands", MappingProxyType(sets))

    def complement(self, ranges: Ranges) -> Ranges:
        """Return all elements that are not in ``ranges``."""
        return difference(self.universe, ranges)


_PYTHON_GROUPS = _LOOKAROUND | {
    "(?>": "atomic group",
    "(?P=": "back-reference",
    "(?(": "conditional group",
}

BYTES = Dialect(
    name="bytes",
    ecma=False,
    universe=((0, 0xFF),),
    dot=difference(((0, 0xFF),), ((0x0A, 0x0A),)),
    spaces=ASCII_SPACES,
    controls=_CONTROLS | {"a": 0x07},
    anchors={},
    refused_groups=_PYTHON_GROUPS,
    lazy=False,
)

TEXT = Dialect(
    name="text",
    ecma=False,
    universe=SCALARS,
    dot=difference(SCALARS, ((0x0A, 0x0A),)),
    spaces=ASCII_SPACES,
    controls=_CONTROLS | {"a": 0x07},
    anchors={"^": "start", "$": "end or newline", "A": "start", "Z": "end"},
    refused_groups=_PYTHON_GROUPS,
    lazy=True,
)

ECMA = Dialect(
    name="ecma",
    ecma=True,
    universe=SCALARS,
    dot=difference(SCALARS, ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))),
    spaces=ECMA_SPACES,
    controls=_CONTROLS,
    anchors={"^": "start", "$": "end"},
    refused_groups=_LOOKAROUND,
    lazy=True,
)

DIALECTS: Mapping[DialectName, Dialect] = {"bytes": BYTES, "text": TEXT, "ecma": ECMA}
