"""Write ``masks_golden.json``: token masks along recorded paths, from derivatives alone.

    python tests/golden/make_masks_golden.py

The oracle (``tests/oracles/derivatives.py``) takes Brzozowski derivatives of the pattern; it builds
no automaton and shares no code with the package, so ports in other languages can be held to the same
file. Each path starts at the empty text and takes allowed tokens, drawn by a seeded generator that
prefers the end-of-sequence token and long tokens; after every prefix of the path the file records
the allowed ids and whether the text is complete. Deterministic: the same file every time.

    cases[].name, pattern     a pattern in the bytes dialect
    cases[].vocab             tokens in hexadecimal; null is a special token, "" the empty one
    cases[].eos               the id of the end-of-sequence token
    cases[].paths[].tokens    ids in order
    cases[].paths[].allowed   before each token, and after the last: the allowed ids, ascending
                              (none after EOS)
    cases[].paths[].complete  likewise: whether the text so far belongs to the language
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from oracles import derivatives  # noqa: E402

WORDS = [b"c", b"a", b"t", b"r", b"d", b"o", b"g", b"s", b"ca", b"cat", b"dog", b"ts", b"x"]
NUMBERS = [b"-", b"0", b"7", b"42", b"-4", b"4-", b"abc"]
JSON_TOKENS = [
    b"{", b"}", b"[", b"]", b'"', b":", b",", b'{"', b'":', b'","', b'"}', b'":"', b"},", b"]}",
    b"city", b"days", b"tags", b"unit", b"Oslo", b"true", b"false", b"null", b"12", b"3", b"0", b"-",
    b".5", b"e", b"E+", b" ", b"\n", b"\\", b"\\n", b"\\u", b"00", b"e9", b"\xc3", b"\xa9", b"\xc3\xa9",
    b"\xf0\x9f", b"\x98\x80", b"\xe2\x82", b"\xac", b"\xff", b"\x00", b"C", b"K", b'"C"', b"cel",
    b"sius",
]  # fmt: skip
STRING = (
    r'"([ !#-\[\]-~]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]'
    r"|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]"
    r"|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}"
    r'|\\(["\\/bfnrt]|u[0-9a-fA-F]{4}))*"'
)
INTEGER = r"-?(0|[1-9][0-9]*)"
CASES = [
    ("worked example", "(cat|car|dog)s?", WORDS),
    ("signed numbers", "-?[0-9]+", NUMBERS),
    ("counted pairs", r"(-?[07]){2,4}(42)?", NUMBERS),
    ("any byte but the line end", r".\d?[^a-z]{1,2}", JSON_TOKENS),
    ("JSON string", STRING, JSON_TOKENS),
    ("tool call", r'\{"city":' + STRING + r'(,"days":' + INTEGER + r")?\}", JSON_TOKENS),
    ("array", r"\[(" + INTEGER + "(," + INTEGER + r"){0,2})?\]", JSON_TOKENS),
    ("number", INTEGER + r"(\.[0-9]+)?([eE][+-]?[0-9]+)?", JSON_TOKENS),
]
N_PATHS = 6
MAX_STEPS = 14


def make_path(term, vocab, eos, rng):
    """Follow one random path and record what is allowed on the way."""
    tokens, allowed, complete = [], [], []
    ended = False
    while True:
        ids = [] if ended else derivatives.mask(term, vocab, eos)
        allowed.append(ids)
        complete.append(derivatives.nullable(term))
        if len(tokens) == MAX_STEPS or not ids:
            return {"tokens": tokens, "allowed": allowed, "complete": complete}
        weights = [3 if i == eos else len(vocab[i]) for i in ids]
        (token,) = rng.choices(ids, weights)
        tokens.append(token)
        ended = token == eos
        term = term if ended else derivatives.after(term, vocab[token])


def make_case(name, pattern, words, rng):
    """Return one case with its paths; the vocabulary ends in EOS and the empty token."""
    vocab = [*words, None, b""]
    eos = len(words)
    term = derivatives.parse(pattern)
    paths = [make_path(term, vocab, eos, rng) for _ in range(N_PATHS)]
    tokens = [None if token is None else token.hex() for token in vocab]
    return {"name": name, "pattern": pattern, "vocab": tokens, "eos": eos, "paths": paths}


def golden_text():
    """Return the text of the file."""
    rng = random.Random(8)
    cases = [make_case(*case, rng) for case in CASES]
    return json.dumps({"made by": "tests/golden/make_masks_golden.py", "cases": cases}) + "\n"


if __name__ == "__main__":
    (HERE / "masks_golden.json").write_text(golden_text(), encoding="utf-8")
