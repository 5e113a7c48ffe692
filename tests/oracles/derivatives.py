r"""Brzozowski derivatives: an oracle for matching and for token masks that builds no automaton.

The derivative of a language by a byte is what may follow that byte. Taken term by term it needs a
handful of rules; a text matches if the derivative by all its bytes contains the empty text, and a
text can be continued if that derivative is not the empty language. The constructors below keep the
invariant that a term denotes the empty language only if it *is* ``EMPTY``.

Terms are tuples: ("empty",), ("epsilon",), ("set", frozenset of bytes), ("cat", left, right),
("or", frozenset of terms), ("repeat", term, minimum, maximum or None). The parser reads just
what the tests use: literals, ``.``, classes, ``\d \w \s``, escaped punctuation, ``\xHH``, groups,
``|`` and greedy quantifiers. Nothing is shared with the package.

Source: Janusz Brzozowski, "Derivatives of Regular Expressions" (Journal of the ACM, 1964).
"""

from __future__ import annotations

import re
from functools import cache

EMPTY = ("empty",)
EPSILON = ("epsilon",)
_DIGITS = frozenset(b"0123456789")
_WORD = frozenset(b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_SPACE = frozenset(b" \t\n\r\f\v")
_ALL = frozenset(range(256))
_SHORTHANDS = {"d": _DIGITS, "w": _WORD, "s": _SPACE}
_SHORTHANDS |= {letter.upper(): _ALL - members for letter, members in _SHORTHANDS.items()}
_CONTROLS = {"n": 10, "t": 9, "r": 13, "f": 12, "v": 11}


def one_of(members):
    return ("set", frozenset(members)) if members else EMPTY


def cat(left, right):
    if EMPTY in (left, right):
        return EMPTY
    if left == EPSILON:
        return right
    if right == EPSILON:
        return left
    if left[0] == "cat":  # associate to the right, so that equal languages look alike more often
        return cat(left[1], cat(left[2], right))
    return ("cat", left, right)


def either(*options):
    flat = set()
    for option in options:
        flat |= option[1] if option[0] == "or" else {option}
    flat.discard(EMPTY)
    if not flat:
        return EMPTY
    return flat.pop() if len(flat) == 1 else ("or", frozenset(flat))


def repeat(term, minimum, maximum):
    if maximum == 0 or term == EPSILON:
        return EPSILON
    if term == EMPTY:
        return EPSILON if minimum == 0 else EMPTY
    if (minimum, maximum) == (1, 1):
        return term
    return ("repeat", term, minimum, maximum)


@cache
def nullable(term):
    kind = term[0]
    if kind == "cat":
        return nullable(term[1]) and nullable(term[2])
    if kind == "or":
        return any(nullable(option) for option in term[1])
    if kind == "repeat":
        return term[2] == 0 or nullable(term[1])
    return kind == "epsilon"


@cache
def derivative(term, byte):
    kind = term[0]
    if kind == "set":
        return EPSILON if byte in term[1] else EMPTY
    if kind == "cat":
        left = cat(derivative(term[1], byte), term[2])
        return either(left, derivative(term[2], byte)) if nullable(term[1]) else left
    if kind == "or":
        return either(*(derivative(option, byte) for option in term[1]))
    if kind == "repeat":
        _, body, minimum, maximum = term
        rest = repeat(body, max(minimum - 1, 0), None if maximum is None else maximum - 1)
        return cat(derivative(body, byte), rest)
    return EMPTY


def after(term, data):
    """Return what may follow ``data``."""
    for byte in data:
        term = derivative(term, byte)
    return term


def matches(term, data):
    return nullable(after(term, data))


def mask(term, vocab, eos):
    """Return the ids of the tokens that may come next, by the definition of a mask."""
    ids = [i for i, token in enumerate(vocab) if token and after(term, token) != EMPTY]
    return sorted([*ids, eos]) if nullable(term) else ids


def parse(pattern):
    """Return the term of a bytes pattern."""
    term, at = _alternatives(pattern, 0)
    assert at == len(pattern), pattern[at:]
    return term


def _alternatives(pattern, at):
    options = [EPSILON]
    while at < len(pattern) and pattern[at] != ")":
        if pattern[at] == "|":
            options.append(EPSILON)
            at += 1
            continue
        term, at = _atom(pattern, at)
        term, at = _quantified(pattern, at, term)
        options[-1] = cat(options[-1], term)
    return either(*options), at


def _quantified(pattern, at, term):
    found = re.compile(r"[*+?]|\{(\d+)(,?)(\d*)\}").match(pattern, at)
    if found is None:
        return term, at
    simple = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(found[0])
    if simple is None:
        low = int(found[1])
        simple = (low, int(found[3]) if found[3] else (None if found[2] else low))
    return repeat(term, *simple), found.end()


def _atom(pattern, at):
    char = pattern[at]
    if char == "(":
        term, at = _alternatives(pattern, at + (3 if pattern.startswith("(?:", at) else 1))
        assert pattern[at] == ")"
        return term, at + 1
    if char == "[":
        return _bracket(pattern, at + 1)
    if char == ".":
        return one_of(_ALL - {10}), at + 1
    if char == "\\":
        members, at = _escape(pattern, at)
        return one_of(members), at
    assert char not in "*+?|)^$", f"not for this parser: {pattern[at:]}"
    return one_of({ord(char)}), at + 1


def _escape(pattern, at):
    letter = pattern[at + 1]
    if letter in _SHORTHANDS:
        return _SHORTHANDS[letter], at + 2
    if letter == "x":
        return {int(pattern[at + 2 : at + 4], 16)}, at + 4
    assert letter in _CONTROLS or not letter.isalnum(), f"not for this parser: \\{letter}"
    return {_CONTROLS.get(letter, ord(letter))}, at + 2


def _bracket(pattern, at):
    negated = pattern[at] == "^"
    at += negated
    members, first = set(), True
    while first or pattern[at] != "]":
        first = False
        low, at = _escape(pattern, at) if pattern[at] == "\\" else ({ord(pattern[at])}, at + 1)
        if pattern[at] == "-" and pattern[at + 1] != "]":
            start = at + 1
            escaped = pattern[start] == "\\"
            high, at = _escape(pattern, start) if escaped else ({ord(pattern[start])}, start + 1)
            low = set(range(min(low), max(high) + 1))
        members |= low
    return one_of(_ALL - members if negated else members), at + 1
