"""Budgets over compiled schemas: every run finishes, and what it wrote is valid."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from constrain import compile as compile_table
from constrain.tables import BudgetError, Constraint
from constrain.tables.verify import verify

TEXTS = [chr(c) for c in range(33, 127)]
TEXTS += ["1,", ",1", ",12", "],[", "]]", "[[", '","', '"]', '":', '{"', '"}', "aa", "aaa", '"aa']

SCHEMAS: list[Any] = [
    {"type": "array", "items": {"type": "integer"}, "minItems": 60, "maxItems": 90},
    {"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}, "minItems": 40},
    {"type": "string", "minLength": 100, "maxLength": 130},
    {
        "type": "object",
        "properties": {
            "a": {"type": "array", "items": {"type": "string", "minLength": 40}, "minItems": 30}
        },
        "required": ["a"],
    },
    True,
]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a tokenizer of printable ASCII and a few longer tokens."""
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    vocab = {text: number for number, text in enumerate(TEXTS)}
    added = [{"id": len(vocab), "content": "<eos>", "special": True}]
    model = {"type": "BPE", "vocab": vocab, "merges": []}
    decoder = {"type": "ByteLevel"}
    path.write_text(json.dumps({"model": model, "added_tokens": added, "decoder": decoder}))
    return path


@pytest.mark.parametrize("schema", SCHEMAS, ids=range(len(SCHEMAS)))
def test_whatever_is_chosen_the_text_is_finished_within_the_budget(
    schema: Any, tokenizer: Path
) -> None:
    table = compile_table(schema, tokenizer, eos=[len(TEXTS)], cache=False)
    verify(table, sample=40)
    with pytest.raises(BudgetError) as caught:
        Constraint(table, budget=0)
    least = caught.value.needed
    rng = np.random.default_rng(0)
    for budget in (least, least + 1, least + 25):
        for _ in range(3):
            run, text = Constraint(table, budget=budget), b""
            while not run.done:
                allowed = np.flatnonzero(run.mask())
                assert len(allowed), (budget, run.left, text)
                token_id = int(rng.choice(allowed))
                run.advance(token_id)
                text += table.token(token_id)
            jsonschema.validate(json.loads(text), schema)
