"""Make the tables of format 1 that every later version must read: python tests/golden/make_tables.py

A plain table (the worked example of the design) and one with frames (any JSON text), both for a
vocabulary of all bytes and some longer tokens. They were written once; run this again only for a new
format, into new names. ``tests/test_golden_tables.py`` reads them.
"""

from __future__ import annotations

from pathlib import Path

from constrain import Vocabulary, any_json, compile

FOLDER = Path(__file__).resolve().parent
WORDS = [b"ca", b"cat", b"dog", b"ts", b'":', b'{"', b"}}", b'"}]', b"]]", b"},{", b"true", b"[["]
EOS = 256 + len(WORDS)


def vocabulary() -> Vocabulary:
    """Return all single bytes, the words, and an end-of-sequence token."""
    return Vocabulary.of([*(bytes((b,)) for b in range(256)), *WORDS, None], (EOS,))


if __name__ == "__main__":
    compile(regex="(cat|car|dog)s?", tokenizer=vocabulary(), output=FOLDER / "plain_1.npz")
    compile(any_json(), vocabulary(), output=FOLDER / "framed_1.npz", compress=True)
