"""Two machines small enough to draw, for the tests of the run time.

PLAIN is ``(cat|car|dog)s?`` with the states of the worked example.

BRACKETS nests and counts. A text is one list; a list is ``[`` items ``]``, and an item is one of

    a               a letter
    [ ... ]         a list
    ( x* )          label 0 after an even number of x, else label 1, and ``!`` must follow
    < a{0,6} >      counted: states 9 (counts 0 to 3), 10, 11, 12 (counts 4, 5, 6)
    { b{4,} }       counted: states 13, 14 (counts 0, 1; closing waits), 15, 16 (2, 3), 17 (4 and more)
"""

from oracles.machine import build

PLAIN_VOCAB = [b"c", b"a", b"t", b"r", b"d", b"o", b"g", b"s"]
PLAIN_VOCAB += [b"ca", b"cat", b"dog", b"ts", b"x", None, b""]
PLAIN_EOS = [13]


def _row(**ways):
    return {ord(name): target for name, target in ways.items()}


PLAIN = {
    "trans": [
        _row(c=1, d=2), _row(a=3), _row(o=4), _row(r=5, t=5), _row(g=5), _row(s=6), {},
    ],
    "accept": {5, 6},
}  # fmt: skip

_ITEMS = {
    ord("a"): 2,
    ord("["): ("call", 1),
    ord("("): ("call", 2),
    ord("<"): ("call", 3),
    ord("{"): ("call", 4),
}
BRACKETS = {
    "trans": [
        {ord("["): ("call", 0)},  # 0: the start
        {},  # 1: the end
        {**_ITEMS, ord("]"): 3},  # 2: in a list
        {},  # 3: the list is closed
        {ord("x"): 5, ord(")"): 6},  # 4: an even number of x
        {ord("x"): 4, ord(")"): 7},  # 5: an odd number
        {},  # 6: label 0
        {},  # 7: label 1
        {ord("!"): 2},  # 8: after an odd number
        {ord("a"): 9, ord(">"): 6},  # 9: 0 to 3 a
        {ord("a"): 11, ord(">"): 6},  # 10: 4
        {ord("a"): 12, ord(">"): 6},  # 11: 5
        {ord(">"): 6},  # 12: 6
        {ord("b"): 14},  # 13: no b
        {ord("b"): 14},  # 14: 1 b
        {ord("b"): 16},  # 15: 2
        {ord("b"): 17},  # 16: 3
        {ord("b"): 17, ord("}"): 6},  # 17: 4 or more
    ],
    "accept": {1},
    "pop": {3: 0, 6: 0, 7: 1},
    "calls": [(2, {0: 1}), (2, {0: 2}), (4, {0: 2, 1: 8}), (9, {0: 2}), (13, {0: 2})],
    "tick": {9, 14},
    "escape": {9: (4, 10), 14: (2, 15)},
    "zones": {13: (1, 1, 2, 15), 14: (1, 1, 2, 15)},
}
BRACKETS_VOCAB = [bytes([byte]) for byte in b"[]()<>{}ax!b"]
BRACKETS_VOCAB += [b"]]", b"]]]", b"]a", b"]][", b"[[", b"[a", b"(x", b"x)!", b")]", b"x)!]", b"a]"]
BRACKETS_VOCAB += [
    b"aa",
    b"aa>",
    b">]",
    b">]]a",
    b"<aa",
    b"<>",
    b"bb",
    b"bb}",
    b"}]",
    b"b}a",
    b"{b",
]
BRACKETS_VOCAB += [
    b"[](",
    b"[]]",
    b"(xx)(",
    b")]](",
    b"!]]",
    None,
    b"",
    b"?",
    b"]?",
    b"{bb",
    b"bb}]",
]
BRACKETS_EOS = [BRACKETS_VOCAB.index(None)]


def plain_table(**meta):
    return build(PLAIN, PLAIN_VOCAB, PLAIN_EOS, meta)


def brackets_table(**meta):
    return build(BRACKETS, BRACKETS_VOCAB, BRACKETS_EOS, meta)
