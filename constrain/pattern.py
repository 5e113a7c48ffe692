r"""Patterns: from pattern text in one of three dialects to the syntax tree.

    bytes   Python's ``re`` on bytes, the whole text; what ``regex_to_dfa`` reads. No anchors, no
            lazy quantifiers, ASCII only. ``re.fullmatch`` on bytes says the same.
    text    the same notation over characters, spelled in UTF-8; the default. Anchors are exact,
            lazy quantifiers are read as greedy. ``re.fullmatch`` on str with ``re.ASCII`` says the
            same, for texts that UTF-8 can spell.
    ecma    the JSON schema keyword ``pattern``: ECMAScript (``u`` flag), and an unanchored search:
            the texts *in which* a match is found.

========================  ==================  =====================  ============================
construct                 bytes               text                   ecma
========================  ==================  =====================  ============================
``.``                     any byte but \\n    any character but \\n  any but the 4 line ends
``\d \w \s [...] | ( )``  ASCII               ASCII                  ``\s`` has Unicode's blanks
``* + ? {m} {m,} {m,n}``  yes                 yes                    yes
``{,n}``                  0 to n              0 to n                 literal braces
``*? +? ??``              refused             as greedy              as greedy
``*+ ++ ?+ (?>...)``      refused             refused                not in the language
``^ $``                   refused             exact                  exact
``\A \Z``                 refused             exact                  not in the language
``\xHH``, octal           yes                 yes                    ``\xHH``, ``\0``
``\uXXXX``                not in the language yes                    and pairs, and ``\u{...}``
``\p{...}``               not in the language not in the language    categories (``properties``)
``(?P<n>...)``            yes                 yes                    ``(?<n>...)``
``\b \B``, lookaround     refused             refused                refused
back-references, flags    refused             refused                refused
========================  ==================  =====================  ============================

"Refused" is an ``UnsupportedPattern``, "not in the language" a ``PatternError``; both say where.

Quantified parts are wrapped in ``Named`` with their text, so that a ``LimitError`` further on can
name the part that costs the most.

Doesn't do: parse (``pattern_parser``), know the notation (``dialects``), place anchors (``anchors``)
or spell characters (``utf8``); this module only puts them together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constrain import anchors
from constrain.determinize import language
from constrain.dialects import DIALECTS, DialectName
from constrain.errors import PatternError
from constrain.limits import Limits
from constrain.pattern_parser import Parser
from constrain.syntax import star
from constrain.utf8 import SCALARS, code_points

if TYPE_CHECKING:
    from constrain.dfa import DFA
    from constrain.syntax import Node

__all__ = ["DialectName", "parse", "regex_to_dfa"]


def parse(pattern: str, dialect: DialectName = "text", limits: Limits | None = None) -> Node:
    r"""Return the syntax tree of the texts that a pattern matches.

    Parameters
    ----------
    pattern : str
    dialect : "bytes", "text" or "ecma"
        With "ecma" the node stands for the whole texts in which the pattern finds a match.
    limits : Limits, optional

    Returns
    -------
    Node
        Possibly of the empty language: ``[^\\s\\S]`` is well formed.

    Raises
    ------
    PatternError
        If the pattern is not well formed in the dialect.
    UnsupportedPattern
        If it is, but uses something that is not regular, or not supported.
    LimitError
        If it nests deeper, repeats more often or is longer than ``limits`` allow.
    """
    notation = DIALECTS[dialect]
    part = Parser(pattern, notation, limits or Limits()).part
    if notation.ecma:
        anything = anchors.Plain(star(code_points(SCALARS)), nullable=True)
        part = anchors.sequence([anything, part, anything])
    return anchors.whole_text(part)


def regex_to_dfa(pattern: str) -> DFA:
    """Return the canonical minimal automaton of a pattern in the bytes dialect.

    Raises
    ------
    PatternError
        If the pattern is refused, or matches nothing at all.

    Examples
    --------
    >>> dfa = regex_to_dfa("-?[0-9]+")
    >>> dfa.n_states, dfa.matches(b"-42"), dfa.matches(b"-")
    (3, True, False)
    """
    dfa = language(parse(pattern, "bytes"))
    if dfa.is_empty:
        raise PatternError("the pattern matches nothing", pattern, (0, len(pattern)))
    return dfa
