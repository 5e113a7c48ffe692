"""The main job on real tokenizers: schema in, table file, documents out that parse and validate."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from tokenizers import Tokenizer
from tokenizers_on_disk import EXAMPLES, OPTIONAL, need

import constrain
from constrain import Constraint, compile, load
from constrain.tables import Table
from constrain.vocabulary import read_vocabulary

DOCUMENTS = 200 if os.environ.get("CONSTRAIN_LONG") else 50
TOOL = EXAMPLES / "tool_call.json"
NAMES = ("example", "deepseek", "mon", *OPTIONAL)
NESTED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 20},
        "born": {"type": "string", "format": "date"},
        "size": {"type": "number", "minimum": -1.5, "maximum": 40},
        "tree": {"$ref": "#/$defs/tree"},
        "note": {"type": "string", "maxLength": 5000},
        "free": {},
    },
    "required": ["name", "tree"],
    "$defs": {
        "tree": {
            "type": "object",
            "properties": {
                "value": {"type": "integer"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
            },
            "required": ["value"],
        }
    },
}


def draw(table: Table, rng: np.random.Generator, budget: int) -> list[int]:
    """Return the tokens of one document, each drawn evenly from the mask; EOS is the last."""
    run = Constraint(table, budget=budget)
    tokens: list[int] = []
    while not run.done:
        tokens.append(int(rng.choice(np.flatnonzero(run.mask()))))
        run.advance(tokens[-1])
    return tokens


def check_documents(table: Table, path: Path, schema: Any, n: int, budget: int) -> None:
    """Draw documents with a budget: all finish, parse, validate, and decode back from their ids."""
    judge = jsonschema.Draft202012Validator(
        schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
    )
    tokenizer = Tokenizer.from_file(str(path))
    strips = read_vocabulary(path).drops_first_space
    rng = np.random.default_rng(0)
    for _ in range(n):
        tokens = draw(table, rng, budget)
        assert len(tokens) <= budget
        text = b"".join(table.token(token) for token in tokens[:-1])
        judge.validate(json.loads(text.decode()))
        decoded = tokenizer.decode(tokens[:-1], skip_special_tokens=False)
        if not strips or not text.startswith(b" "):
            assert decoded == text.decode()


@pytest.mark.parametrize("name", NAMES)
def test_tool_calls_of_a_real_tokenizer(name: str, tmp_path: Path) -> None:
    path = need(name)
    compile(TOOL, path, output=tmp_path / "tool.npz", cache=False)
    table = load(tmp_path / "tool.npz")
    assert table.is_plain
    check_documents(table, path, json.loads(TOOL.read_text()), DOCUMENTS, 60)


@pytest.mark.parametrize("name", ["example", "deepseek", "mon"])
def test_recursion_counts_and_free_values(name: str, tmp_path: Path) -> None:
    path = need(name)
    compile(NESTED, path, output=tmp_path / "nested.npz", cache=False)
    table = load(tmp_path / "nested.npz")
    assert not table.is_plain
    check_documents(table, path, NESTED, DOCUMENTS // 5, 150)


def test_byte_identical_and_refuses_another_tokenizer(tmp_path: Path) -> None:
    path = need("example")
    for name in ("a.npz", "b.npz"):
        compile(TOOL, path, output=tmp_path / name, cache=False)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    assert load(tmp_path / "a.npz", tokenizer=path).n_tokens == 8000
    with pytest.raises(constrain.TableError, match="tokenizer"):
        load(tmp_path / "a.npz", tokenizer=need("mon"))
    with np.load(tmp_path / "a.npz", allow_pickle=False) as arrays:
        assert arrays["trans"].shape[1] == 256


def test_any_json_nests_ten_thousand_deep() -> None:
    table = compile(constrain.any_json(), need("example"))
    ids = {table.token(i): i for i in range(table.n_tokens)}
    run = Constraint(table, max_depth=10_001)
    for _ in range(10_000):
        run.advance(ids[b"["])
    for _ in range(10_000):
        assert not run.is_complete()
        run.advance(ids[b"]"])
    assert run.is_complete()
    shallow = Constraint(table, max_depth=100)
    for _ in range(100):
        shallow.advance(ids[b"["])
    with pytest.raises(constrain.StackLimitError):
        shallow.advance(ids[b"["])


@pytest.mark.parametrize(
    ("text", "refused_at"),
    [
        (b"[1,]", 3),
        (b"[1,,2]", 3),
        (b'{"a":1,}', 7),
        (b'{"a" :1}', 4),
        (b"{a:1}", 1),
        (b"[01]", 2),
        (b"[1.]", 3),
        (b"[.5]", 1),
        (b"[+1]", 1),
        (b"[1e]", 3),
        (b"[nul]", 4),
        (b'["\x01"]', 2),
        (b'["\\x"]', 3),
        (b'["\\u12g4"]', 6),
        (b'["\xff"]', 2),
        (b'["\xc0\xaf"]', 2),
        (b'["\xed\xa0\x80"]', 3),
        (b"[1]]", 3),
        (b"[1}", 2),
        (b'{"a":1]', 6),
    ],
)
def test_broken_json_is_refused_at_the_right_byte(text: bytes, refused_at: int) -> None:
    table = compile(constrain.any_json(), need("example"))
    alone = {table.token(i): i for i in range(table.n_tokens) if len(table.token(i)) == 1}
    run = Constraint(table)
    tokens = [alone[bytes((byte,))] for byte in text]
    assert run.validate(tokens) == refused_at


def test_choices_of_tokens_are_kept_for_the_check_of_the_tokenizer(tmp_path: Path) -> None:
    path = need("deepseek")
    compile(regex="a*", tokenizer=path, forbid_token=["aa"], output=tmp_path / "a.npz")
    table = load(tmp_path / "a.npz", tokenizer=path)
    assert b"aa" not in [table.token(t) for t in Constraint(table).mask().nonzero()[0].tolist()]
