r"""Compare our masks with llguidance's, bit by bit along sampled texts, and print what differs.

    python tests/compare_llguidance.py [TOKENIZER ...] [--walks N] [--seed N]

Each of 50 schemas of the portable subset is compiled for each tokenizer (by name, as
``tests/tokenizers_on_disk.py`` finds them; by default the shipped example, deepseek and mon) and
given to llguidance, told to write compact JSON. Texts are sampled from the tokens that both allow,
and after each token every bit of both masks is compared. A bit that differs is counted under the
first reason that holds:

ours alone allows the token:

* *raw DEL*: it puts U+007F into a string. JSON allows it raw; llguidance does not.
* *escaped slash*: it writes ``\/``, which JSON allows in free strings; llguidance never does.
* *hex escape*: it writes ``\uXXXX``, which JSON allows for any character in free strings;
  llguidance only has those of control characters.
* *number spelling*: where integers and other numbers meet, 7 may be written 7.0; llguidance writes
  each branch in its own way.
* *forced text*: the next bytes are forced, and llguidance leaves only its own way to cut them into
  tokens. Asked about the token itself (``validate_tokens``), it takes it.

llguidance alone allows it:

* *added token*: one that is special or looks like a control mark. They are never text here, unless
  a name is allowed on purpose. (Others, such as ``<table>``, are text here; llguidance treats some
  of them as special, and then ours alone allows them.)
* *hex escape*: in a constant, a control character as ``\u000a`` beside ``\n``. Constants have one
  spelling here.

and else it is *UNEXPLAINED*: a mistake, here or there; the first of them are printed. Whatever the
reason, a token that ours alone allows must lead to a text that parses and validates: the shortest
one that goes on from it is put to ``json`` and ``jsonschema``, and counted as *INVALID* if refused.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from tokenizers_on_disk import find  # noqa: E402

from constrain.pipeline import compile as compile_table  # noqa: E402
from constrain.schema.portable import json_schema_to_regex  # noqa: E402
from constrain.tables import BudgetError, Constraint, Table  # noqa: E402
from constrain.tables.bitmask import unpack  # noqa: E402

BUDGET = 70  # tokens a walk takes at most

BY_HAND: list[dict[str, Any]] = [
    {"type": "string"},
    {"type": "number"},
    {"type": "integer"},
    {"type": "boolean"},
    {"type": "null"},
    {"const": 'say "a\\b"\n'},
    {"const": {"b": [1, 2.5, -3e10], "a": {"é": None}}},
    {"enum": ["red", "green", "red wine", "re", "", "日本語", "a/b"]},
    {"enum": [0, 10, 100, -1, True, None, [], {}]},
    {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "null"}]},
    {"anyOf": [{"type": "integer"}, {"enum": ["all", "none"]}]},
    {"type": "array", "items": {"type": "string"}},
    {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
    {"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}, "minItems": 1},
    {"type": "array", "items": {"const": "x"}, "maxItems": 0},
    {"type": "object", "properties": {}, "additionalProperties": False},
    {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer"},
            "units": {"enum": ["celsius", "fahrenheit"]},
            "details": {"type": "array", "items": {"enum": ["wind", "rain"]}, "maxItems": 4},
            "alerts": {"type": "boolean"},
        },
        "required": ["city", "days"],
        "additionalProperties": False,
    },
    {
        "type": "object",
        "properties": {name: {"type": "boolean"} for name in "abcdefgh"},
        "additionalProperties": False,
    },
    {
        "type": "object",
        "properties": {"name": {"type": "string"}, "name2": {"type": "null"}, "nam": {"const": 1}},
        "required": ["nam"],
        "additionalProperties": False,
    },
    {
        "type": "object",
        "properties": {'q"uo\\te': {"type": "integer"}, "ключ": {"type": "string"}},
        "required": ["ключ"],
        "additionalProperties": False,
    },
]


def schemas(n: int = 50) -> list[dict[str, Any]]:
    """Return n schemas of the portable subset, those written by hand first."""
    rng = random.Random(0)
    return [*BY_HAND, *(_schema(rng, 3) for _ in range(n - len(BY_HAND)))][:n]


def _schema(rng: random.Random, depth: int) -> dict[str, Any]:
    kinds = ["object", "object", "array", "anyOf"] if depth else []
    kind = rng.choice([*kinds, "string", "number", "integer", "boolean", "null", "enum"])
    if kind == "enum":
        return {"enum": rng.sample(["low", "high", "lowest", 7, 77, None, True, 0.5], 3)}
    if kind == "anyOf":
        return {"anyOf": [_schema(rng, depth - 1) for _ in range(rng.randint(2, 3))]}
    if kind == "array":
        least = rng.randint(0, 2)
        more = rng.choice([{}, {"maxItems": least + rng.randint(1, 3)}])
        return {"type": "array", "items": _schema(rng, depth - 1), "minItems": least, **more}
    if kind != "object":
        return {"type": kind}
    names = rng.sample(["id", "name", "value", "values", "type", "x", "items", "note"], 4)
    return {
        "type": "object",
        "properties": {name: _schema(rng, depth - 1) for name in names},
        "required": rng.sample(names, rng.randint(0, 4)),
        "additionalProperties": False,
    }


@dataclass
class Found:
    """What a comparison found.

    Attributes
    ----------
    masks : int
        Masks compared.
    texts : int
        Texts sampled.
    reasons : Counter
        Bits that differ, by reason.
    mistakes : list[str]
        The bits that no reason explains, and those that lead to an invalid text.
    added : set[int]
        The ids of added tokens.
    endings : Endings
        The endings of the table that is being compared.
    """

    masks: int = 0
    texts: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    mistakes: list[str] = field(default_factory=list)
    added: set[int] = field(default_factory=set)
    endings: Endings = field(init=False)


class Peer:
    """llguidance with one tokenizer."""

    def __init__(self, path: Path, table: Table) -> None:
        import llguidance

        self._module = llguidance
        self._tokenizer = llguidance.LLTokenizer(
            str(path), n_vocab=table.n_tokens, eos_token=table.eos.tolist()
        )

    def matcher(self, schema: dict[str, Any]) -> Any:
        """Return a matcher at the start of a text."""
        compact = {"whitespace_flexible": False, "item_separator": ",", "key_separator": ":"}
        grammar = self._module.LLMatcher.grammar_from_json_schema(
            json.dumps(schema), overrides=compact
        )
        matcher = self._module.LLMatcher(self._tokenizer, grammar)
        if matcher.is_error():
            raise RuntimeError(f"llguidance refuses {schema}: {matcher.get_error()}")
        return matcher

    @staticmethod
    def mask(matcher: Any, n_tokens: int) -> Any:
        """Return which tokens llguidance allows: bool [V]."""
        import llguidance.numpy

        rows = llguidance.numpy.allocate_token_bitmask(1, n_tokens)
        llguidance.numpy.fill_next_token_bitmask(matcher, rows, 0)
        return unpack(rows[0], n_tokens)


OPEN_ESCAPE = re.compile(rb"(?<!\\)(?:\\\\)*(\\(?:u[0-9A-Fa-f]{0,3})?)\Z")
HEX_ESCAPE = re.compile(rb"(?<!\\)(?:\\\\)*\\u")
ESCAPED_SLASH = re.compile(rb"(?<!\\)(?:\\\\)*\\/")
FRACTION = re.compile(rb"[0-9]\.|\.[0-9]*\Z")


def reason(
    found: Found, run: Constraint, text: bytes, token_id: int, ours: bool, matcher: Any
) -> str:
    """Return why a bit differs, or ``"UNEXPLAINED"``."""
    token = run.table.token(token_id)
    if token_id in found.added and token_id not in run.table.eos:
        return "added token"
    if not token or (not ours and found.endings.state(run.state, token) >= 0):
        return "UNEXPLAINED"  # the automaton reads what the mask forbids
    pending = OPEN_ESCAPE.search(text)
    escapes = (pending[1] if pending else b"") + token
    if HEX_ESCAPE.search(escapes):
        return "hex escape"
    if not ours:
        return "UNEXPLAINED"
    number = re.search(rb"[-.0-9]*\Z", text)
    tests = {
        "raw DEL": b"\x7f" in token,
        "escaped slash": ESCAPED_SLASH.search(escapes),
        "forced text": matcher.validate_tokens([token_id]) == 1,
        "number spelling": FRACTION.search((number[0] if number else b"") + token),
    }
    return next((why for why, holds in tests.items() if holds), "UNEXPLAINED")


class Endings:
    """The shortest bytes from each state of a plain table to an accepting one."""

    def __init__(self, table: Table) -> None:
        self._trans = table.trans
        self._left = np.where(table.accept, 0, table.n_states).astype(np.int64)
        for _ in range(table.n_states):
            after = np.where(self._trans < 0, table.n_states, self._left[self._trans])
            shorter = np.minimum(self._left, after.min(axis=1) + 1)
            if (shorter == self._left).all():
                break
            self._left = shorter

    def state(self, state: int, token: bytes) -> int:
        """Return the state after a token, -1 if it is dead."""
        for byte in token:
            state = int(self._trans[state, byte]) if state >= 0 else -1
        return state

    def after(self, state: int, token: bytes) -> bytes:
        """Return a token and the shortest ending after it, from a state."""
        text = bytearray(token)
        state = self.state(state, token)
        assert state >= 0, "a mask allows what the transitions do not"
        while self._left[state]:
            ways = np.flatnonzero(self._trans[state] >= 0)
            byte = int(ways[self._left[self._trans[state, ways]].argmin()])
            text.append(byte)
            state = int(self._trans[state, byte])
        return bytes(text)


def is_valid(text: bytes, schema: dict[str, Any]) -> bool:
    """Return whether a text is JSON and satisfies the schema."""
    try:
        return bool(jsonschema.Draft202012Validator(schema).is_valid(json.loads(text)))
    except ValueError:
        return False


def compare_masks(
    found: Found, schema: dict[str, Any], run: Constraint, text: bytes, theirs: Any, matcher: Any
) -> None:
    """Count the bits that differ after a text, by reason."""
    table, ours = run.table, run.mask()
    found.masks += 1
    for token_id in np.flatnonzero(ours != theirs).tolist():
        mine = bool(ours[token_id])
        why = reason(found, run, text, token_id, mine, matcher)
        if mine and not is_valid(
            text + found.endings.after(run.state, table.token(token_id)), schema
        ):
            why = "INVALID"
        found.reasons[why] += 1
        if why in ("UNEXPLAINED", "INVALID"):
            found.mistakes.append(
                f"{why}: {json.dumps(schema)} after {text!r}: only {'ours' if mine else 'theirs'}"
                f" allows {token_id} {table.token(token_id)!r}"
            )


def chosen(table: Table, allowed: Any, rng: np.random.Generator) -> int:
    """Return one of the tokens: any, or, half of the time, one that begins with a byte drawn first.

    So texts hold more quotes and escapes than if all tokens were drawn alike.
    """
    if rng.random() < 1 / 2:
        starts, ends = table.token_offsets[allowed], table.token_offsets[allowed + 1]
        bytes_ = table.token_bytes[np.minimum(starts, len(table.token_bytes) - 1)]
        first = np.where(ends > starts, bytes_, 256)  # 256: the end token
        allowed = allowed[first == rng.choice(np.unique(first))]
    return int(rng.choice(allowed))


def walk(found: Found, schema: dict[str, Any], table: Table, matcher: Any, seed: int) -> None:
    """Sample one text from the tokens that both allow, comparing all masks on the way."""
    rng = np.random.default_rng(seed)
    free, held, text = Constraint(table), Constraint(table, budget=BUDGET), b""
    found.texts += 1
    while not free.done:
        theirs = Peer.mask(matcher, table.n_tokens)
        compare_masks(found, schema, free, text, theirs, matcher)
        both = np.flatnonzero(held.mask() & theirs)
        if not len(both):  # the budget and the forced cut exclude each other
            return
        token_id = chosen(table, both, rng)
        free.advance(token_id)
        held.advance(token_id)
        text += table.token(token_id)
        if not free.done and not matcher.consume_token(token_id):
            raise RuntimeError(f"llguidance takes no token it allowed: {matcher.get_error()}")


def compare(path: Path, chosen: list[dict[str, Any]], walks: int, seed: int = 0) -> Found:
    """Return what differs for one tokenizer."""
    found, peer = Found(), None
    found.added = {each["id"] for each in json.loads(path.read_bytes())["added_tokens"]}
    for number, schema in enumerate(chosen):
        json_schema_to_regex(schema)  # raises if it is not of the portable subset
        table = compile_table(schema, str(path))
        assert table.is_plain
        found.endings = Endings(table)
        peer = peer or Peer(path, table)
        for each in range(walks):
            try:
                walk(found, schema, table, peer.matcher(schema), 1000 * (seed + number) + each)
            except BudgetError:
                break
    return found


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tokenizers", nargs="*", default=["example", "deepseek", "mon"])
    parser.add_argument("--walks", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    for name in args.tokenizers:
        path = find(name)
        if path is None:
            print(f"{name}: not on this machine")
            continue
        found = compare(path, schemas(), args.walks, args.seed)
        print(f"{name}: {found.masks} masks compared, in {found.texts} texts of 50 schemas")
        for why, count in found.reasons.most_common():
            print(f"  {count:8}  {why}")
        for line in found.mistakes[:20]:
            print(f"  {line}")


if __name__ == "__main__":
    main()
