r"""Languages of strings: what a string *is* (decoded text), and how it is *spelled* in JSON.

Constraints speak of the decoded text: ``pattern`` of its characters, ``maxLength`` of its code
points, ``format`` of its syntax. So a string language is a canonical DFA over the well-formed UTF-8
of decoded texts; ``universe()`` is all of them, control characters, quotes and backslashes
included. There the constraints are intersected (``constrain.algebra``), and only the result is
spelled: ``spell`` turns it into what stands between the quotes.

*Canonical spelling.* Each text has one: raw UTF-8, and an escape only where JSON demands one:
``\"``, ``\\``, ``\b \f \n \r \t``, and ``\u00`` with two lower-case digits for the other control
characters. DEL and everything above are raw. This is what ``json.dumps(s, ensure_ascii=False)``
writes. An unconstrained string is freer: ``free()`` also allows ``\/`` and any ``\uXXXX``.

*Ticks.* For counted frames ``ticks`` tells at which states a character has just been completed. In
a minimal automaton these need not be told apart from others (after ``\`` of ``\n`` and after ``a``
of ``an`` the rest is the same), so ``spell`` keeps the two kinds of state apart; that makes its
result canonical, though in rare cases not minimal.

Invariant: every language is a subset of ``universe()``; arguments are trusted to be so.

Doesn't do: lone surrogates, which UTF-8 cannot spell (literals with one are left out);
normalisation.

Sources: RFC 8259, section 7 (strings); RFC 3629 (UTF-8).
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from constrain.algebra import from_texts
from constrain.determinize import language
from constrain.dfa import DEAD, DFA
from constrain.limits import Meter
from constrain.minimize import EMPTY, Nodes, number_states
from constrain.pattern import parse
from constrain.syntax import ByteSet, Literal, Node, Repeat, alternate, concat, star
from constrain.utf8 import MAX_CODE_POINT, code_points, difference

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from numpy.typing import NDArray

_CONTINUATION = ByteSet.span(0x80, 0xBF).bits
_TO_ESCAPE = ByteSet.span(0x00, 0x1F).bits | ByteSet.of(b'"\\').bits
_SHORT = {ord(c): ord(e) for c, e in zip('"\\\b\f\n\r\t', '"\\bfnrt', strict=True)}
_HEX = b"0123456789abcdef"


@cache
def universe() -> DFA:
    """Return all decoded texts: the well-formed UTF-8 of any code points."""
    return length(0, None)


@cache
def free() -> Node:
    r"""Return the content of an unconstrained string: the whole grammar of JSON.

    Printable ASCII but ``"`` and ``\``, DEL, well-formed UTF-8 of two to four bytes, and the
    escapes ``\" \\ \/ \b \f \n \r \t \uXXXX``.
    """
    raw = code_points(difference([(0x20, MAX_CODE_POINT)], [(ord(c), ord(c)) for c in '"\\']))
    hexadecimal = ByteSet.of(b"0123456789abcdefABCDEF")
    by_number = concat(Literal(b"u"), Repeat(hexadecimal, 4, 4))
    escape = concat(Literal(b"\\"), alternate(ByteSet.of(b'"\\/bfnrt'), by_number))
    return star(alternate(raw, escape))


def from_pattern(pattern: str, meter: Meter | None = None) -> DFA:
    """Return the texts in which an ECMAScript pattern finds a match.

    Raises
    ------
    PatternError, UnsupportedPattern, LimitError
        As ``constrain.pattern.parse`` has it.
    """
    meter = meter or Meter()
    return language(parse(pattern, "ecma", meter.limits), meter)


def literals(texts: Iterable[str], meter: Meter | None = None) -> DFA:
    """Return a finite set of texts; those with lone surrogates have no UTF-8 and are left out."""
    return from_texts((text.encode() for text in texts if _has_utf8(text)), meter)


def _has_utf8(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


# The states of one more character, in the order of the first bytes that lead to them:
# (first bytes, second bytes, the state after those as an index here, or _NEXT).
_NEXT = -1
_INSIDE = (
    ((0xC2, 0xDF), (0x80, 0xBF), _NEXT),
    ((0xE0, 0xE0), (0xA0, 0xBF), 0),
    ((0xE1, 0xEF), (0x80, 0xBF), 0),
    ((0xED, 0xED), (0x80, 0x9F), 0),
    ((0xF0, 0xF0), (0x90, 0xBF), 2),
    ((0xF1, 0xF3), (0x80, 0xBF), 2),
    ((0xF4, 0xF4), (0x80, 0x8F), 2),
)


def length(minimum: int, maximum: int | None, meter: Meter | None = None) -> DFA:
    """Return all texts of ``minimum`` to ``maximum`` code points (None: no upper bound).

    The automaton is written down at once: after each character one state between characters, and
    seven inside the next one, in the order of breadth-first numbering.

    Raises
    ------
    LimitError
        If it has more than ``max_states`` states.
    """
    if maximum is not None and maximum < minimum:
        return EMPTY
    meter = meter or Meter()
    n_steps = minimum if maximum is None else maximum
    width = len(_INSIDE) + 1
    meter.require("DFA states", n_steps * width, meter.limits.max_states)  # before they are counted
    between = np.maximum(np.arange(n_steps + 1) * width - width + 1, 0)
    sources, targets, insides = between[:-1], between[1:], between[1:] + 1
    n_states = int(between[-1]) + (width if n_steps else 1)
    if maximum is None:  # more characters lead back, through the states inside the last one
        sources, targets = between, np.append(targets, between[-1])
        insides = np.append(insides, insides[-1] if n_steps else 1)
        n_states = max(n_states, width)
    meter.require("DFA states", n_states, meter.limits.max_states)
    trans = np.full((n_states, 256), DEAD, dtype=np.int32)
    trans[sources, :0x80] = targets[:, None]
    for i, ((first, last), (low, high), after) in enumerate(_INSIDE):
        trans[sources, first : last + 1] = insides[:, None] + i
        then = targets if after == _NEXT else insides + after
        trans[insides + i, low : high + 1] = then[:, None]
    accept = np.zeros(n_states, dtype=np.bool_)
    accept[between[minimum:]] = True
    return DFA(trans, accept)


def _between(dfa: DFA) -> NDArray[np.bool_]:
    """Return which states are reached between characters: those that no continuation byte leaves.

    The states are those of decoded texts, so they are live and a text ends only between characters.
    """
    return np.asarray(
        [not any(bits & _CONTINUATION for bits, _ in edges) for edges in dfa.edges], dtype=np.bool_
    )


def lengths(dfa: DFA, minimum: int, maximum: int | None) -> bool:
    """Return whether some text has ``minimum`` to ``maximum`` code points (None: no upper bound).

    The sets of states after 0, 1, 2, ... characters are followed until one comes back; from then on
    they go round, and a large count is reached by its remainder.
    """
    between = _between(dfa).tolist()
    accept = dfa.accept.tolist()
    after = [_characters(dfa, between, s) if between[s] else set[int]() for s in range(len(accept))]
    current = frozenset((0,))
    seen: dict[frozenset[int], int] = {}
    fits: list[bool] = []
    while current and current not in seen:
        seen[current] = len(fits)
        fits.append(any(accept[state] for state in current))
        if fits[-1] and len(fits) > minimum:
            return maximum is None or len(fits) - 1 <= maximum
        if maximum is not None and len(fits) > maximum:
            return False
        current = frozenset().union(*(after[state] for state in current))
    if not current:
        return False
    # At this point no length below len(fits) will do, and what follows repeats.
    loop, first = seen[current], max(minimum, len(fits))
    last = first + len(fits) - loop - 1
    last = last if maximum is None else min(maximum, last)
    return any(fits[loop + (k - loop) % (len(fits) - loop)] for k in range(first, last + 1))


def _characters(dfa: DFA, between: list[bool], state: int) -> set[int]:
    """Return the states one character after a state."""
    found: set[int] = set()
    queue = [state]
    for top in queue:
        for _, target in dfa.edges[top]:
            if between[target]:
                found.add(target)
            elif target not in queue:
                queue.append(target)
    return found


def spelled(dfa: DFA) -> DFA:
    """Return ``spell`` of an automaton, made once for as long as the automaton lives."""
    spelling = _spelled.get(dfa)
    if spelling is None:
        spelling = spell(dfa)
        if spelling is not dfa:  # which it would keep alive
            _spelled[dfa] = spelling
    return spelling


_spelled: WeakKeyDictionary[DFA, DFA] = WeakKeyDictionary()


def spell(dfa: DFA) -> DFA:
    """Return the canonical JSON spellings of decoded texts, without the quotes.

    Numbered breadth first; minimal but for keeping states between characters apart from those
    inside one, for ``ticks``. Nothing needs to be minimized: spelling is one to one, so states that
    differ in the texts to come still do, and the states after a backslash, which only ASCII leaves,
    are made once for equal edges.
    """
    if not any(bits & _TO_ESCAPE for edges in dfa.edges for bits, _ in edges):
        return dfa
    nodes = Nodes(
        dfa.accept.tolist(),
        [{t: raw for bits, t in edges if (raw := bits & ~_TO_ESCAPE)} for edges in dfa.edges],
        [{} for _ in dfa.edges],
    )
    known: dict[Hashable, int] = {}
    for state, edges in enumerate(dfa.edges):
        escaped = {bits & _TO_ESCAPE: target for bits, target in edges if bits & _TO_ESCAPE}
        if escaped:
            start = _escapes(nodes, known, escaped)
            nodes.moves[state][start] = 1 << ord("\\")
    return number_states(nodes, 0)


def _escapes(nodes: Nodes, known: dict[Hashable, int], escaped: dict[int, int]) -> int:
    """Add the states after a backslash, given byte set -> target of what is escaped."""

    def state(moves: dict[int, int]) -> int:
        key = frozenset(moves.items())
        if key not in known:
            known[key] = len(nodes.kinds)
            nodes.kinds.append(False)
            nodes.moves.append(moves)
            nodes.links.append({})
        return known[key]

    short: dict[int, int] = {}
    by_number: tuple[dict[int, int], dict[int, int]] = ({}, {})  # 0x00-0x0F, 0x10-0x1F
    for members, target in escaped.items():
        letters, *digits = _escape_bytes(members)
        if letters:
            short[target] = short.get(target, 0) | letters
        for moves, last in zip(by_number, digits, strict=True):
            if last:
                moves[target] = moves.get(target, 0) | last
    high = {state(digits): 1 << _HEX[i] for i, digits in enumerate(by_number) if digits}
    if by_number[0] and by_number[0] == by_number[1]:
        high = {state(by_number[0]): 1 << _HEX[0] | 1 << _HEX[1]}
    if high:
        zero = state({state(high): 1 << _HEX[0]})
        short[state({zero: 1 << _HEX[0]})] = 1 << ord("u")
    return state(short)


@lru_cache(maxsize=1024)
def _escape_bytes(members: int) -> tuple[int, int, int]:
    """Return what spells the bytes of a set: letters after a backslash, last digits of 0, of 1."""
    letters, digits = 0, [0, 0]
    for byte in (b for b in range(0x80) if members >> b & 1):
        if byte in _SHORT:
            letters |= 1 << _SHORT[byte]
        else:
            digits[byte >> 4] |= 1 << _HEX[byte & 15]
    return letters, digits[0], digits[1]


def ticks(spelling: DFA) -> tuple[bool, ...]:
    """Return at which states of a ``spell`` result a character has just been completed.

    A text is read to each state; since ``spell`` keeps the kinds of state apart, any text will do.
    """
    between = 0
    rest: dict[int, int] = {0: between}  # bytes to come of the character begun; _ESCAPE: not known
    for state in (queue := [0]):
        for bits, target in spelling.edges[state]:
            if target not in rest:
                rest[target] = _rest(rest[state], (bits & -bits).bit_length() - 1)
                queue.append(target)
    return tuple(rest[state] == between for state in range(spelling.n_states))


_ESCAPE = -1
_FIRST_OF_LENGTH = (0xC2, 0xE0, 0xF0)  # first bytes of characters of at least 2, 3, 4 bytes


def _rest(rest: int, byte: int) -> int:
    """Return the bytes to come of a character after ``byte``, given those before it."""
    if rest == _ESCAPE:
        return len("0000") if byte == ord("u") else 0
    if rest:
        return rest - 1
    if byte == ord("\\"):
        return _ESCAPE
    return sum(byte >= first for first in _FIRST_OF_LENGTH)
