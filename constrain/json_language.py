r"""The language of every JSON text, of any depth, as a grammar of frames (RFC 8259, no white space).

Objects and arrays are frames; a value is written compactly, as ``json.dumps(v, separators=(",",
":"))`` writes it, with all the escapes that JSON has. Strings are printable ASCII but ``"`` and the
backslash, DEL, well-formed UTF-8 of two to four bytes (RFC 3629), and escapes; ``\\uXXXX`` may be any.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from constrain.syntax import (
    ByteSet,
    Call,
    Frame,
    Grammar,
    Literal,
    alternate,
    concat,
    optional,
    star,
)
from constrain.utf8 import code_points

if TYPE_CHECKING:
    from constrain.syntax import Node

QUOTE, BACKSLASH = 0x22, 0x5C
_COMMA, _COLON = Literal(b","), Literal(b":")
_HEX = ByteSet.of(b"0123456789abcdefABCDEF")


@cache
def characters() -> Node:
    """Return the tree of one character inside a JSON string, escapes included."""
    raw = code_points([(0x20, 0x21), (0x23, 0x5B), (0x5D, 0xD7FF), (0xE000, 0x10FFFF)])
    short = ByteSet.of(b'"\\/bfnrt')
    escape = alternate(short, concat(Literal(b"u"), _HEX, _HEX, _HEX, _HEX))
    return alternate(raw, concat(ByteSet.of((BACKSLASH,)), escape))


@cache
def string() -> Node:
    """Return the tree of any JSON string."""
    quote = Literal(bytes((QUOTE,)))
    return concat(quote, star(characters()), quote)


@cache
def number() -> Node:
    """Return the tree of any JSON number (RFC 8259 section 6)."""
    digit = ByteSet.span(0x30, 0x39)
    digits = concat(digit, star(digit))
    whole = alternate(Literal(b"0"), concat(ByteSet.span(0x31, 0x39), star(digit)))
    fraction = concat(Literal(b"."), digits)
    exponent = concat(ByteSet.of(b"eE"), optional(ByteSet.of(b"+-")), digits)
    return concat(optional(Literal(b"-")), whole, optional(fraction), optional(exponent))


def any_json(comma: Node = _COMMA, colon: Node = _COLON) -> Grammar:
    """Return the grammar of every JSON text, of any depth.

    Parameters
    ----------
    comma, colon : Node
        What stands between items, and between a name and its value; the layout.

    Examples
    --------
    >>> from constrain.frames import build_machine
    >>> machine = build_machine(any_json())
    >>> machine.matches(b'{"a":[1,{"b":null}]}'), machine.matches(b"[1,]"), machine.n_states
    (True, False, 114)
    """
    value = alternate(
        string(),
        number(),
        Literal(b"true"),
        Literal(b"false"),
        Literal(b"null"),
        Call("object"),
        Call("array"),
    )
    member = concat(string(), colon, value)
    return Grammar(
        value,
        {
            "object": Frame(0x7B, _listed(member, comma), 0x7D, why="free JSON"),
            "array": Frame(0x5B, _listed(value, comma), 0x5D, why="free JSON"),
        },
    )


def _listed(item: Node, comma: Node) -> Node:
    return optional(concat(item, star(concat(comma, item))))
