"""Documents that transformers writes with real tokenizers: whole, parsed and validated.

A small Llama with random weights generates in each way that ``generate`` has, in batches whose
prompts differ in length and in table. Every text that ends must parse and validate; with a budget,
every text must end. CONSTRAIN_DOCUMENTS says how many are written in all (100; `make hosts`: 1,000).
"""

import json
import math
import os
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from tokenizers_on_disk import EXAMPLES, need

from constrain.pipeline import compile as compile_table
from constrain.tables import Table
from constrain.tables.transformers import TableLogitsProcessor, TableStoppingCriteria

DOCUMENTS = int(os.environ.get("CONSTRAIN_DOCUMENTS", "100"))
LENGTH = 64  # tokens a text takes at most

SCHEMAS: list[Any] = [
    json.loads((EXAMPLES / "tool_call.json").read_text()),
    {
        "type": "object",
        "properties": {
            "name": {"type": "string", "pattern": "^[A-Z][a-z]+$", "maxLength": 12},
            "children": {"type": "array", "items": {"$ref": "#"}},
        },
        "required": ["name"],
    },
    {
        "type": "array",
        "items": {"type": "number", "minimum": -1.5, "exclusiveMaximum": 100},
        "minItems": 3,
    },
    {
        "oneOf": [
            {"properties": {"ok": {"const": True}, "value": {}}, "required": ["ok", "value"]},
            {"properties": {"ok": {"const": False}, "error": {"type": "string", "minLength": 3}}},
        ],
        "type": "object",
    },
]
PROMPTS = ["Weather in Oslo, please.", "Who?", "Three numbers or more:", "And then {"]

WAYS: dict[str, dict[str, Any]] = {
    "greedy": {"do_sample": False},
    "sampling": {"do_sample": True, "temperature": 1.5},
    "several": {"do_sample": True, "num_return_sequences": 5},
    "beams": {"do_sample": False, "num_beams": 4, "num_return_sequences": 2},
    "beam sampling": {"do_sample": True, "num_beams": 3},
}
CASES = [("example", way, budget) for way in WAYS for budget in (None, LENGTH)]
CASES += [("deepseek", "sampling", LENGTH), ("deepseek", "beams", LENGTH)]


class Host:
    """transformers with one tokenizer, a model for it, and a table for each schema."""

    def __init__(self, name: str) -> None:
        import torch
        import transformers

        self.torch = torch
        path = need(name)
        self.tables: list[Table] = [compile_table(schema, str(path)) for schema in SCHEMAS]
        self.ends = set(self.tables[0].eos.tolist())
        self.tokenizer: Any = transformers.PreTrainedTokenizerFast(
            tokenizer_file=str(path), padding_side="left"
        )
        self.tokenizer.pad_token = self.tokenizer.convert_ids_to_tokens(min(self.ends))
        torch.manual_seed(0)
        config = transformers.LlamaConfig(
            vocab_size=self.tables[0].n_tokens + 40,  # padded, as models are
            hidden_size=16,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
        )
        self.model: Any = transformers.LlamaForCausalLM(config).eval()

    def generate(self, budget: int | None, how: dict[str, Any]) -> list[tuple[int, list[int]]]:
        """Return texts as tokens, each with the number of its schema."""
        processor = TableLogitsProcessor(2 * self.tables, budget=budget)
        prompts = self.tokenizer(2 * PROMPTS, return_tensors="pt", padding=True)
        length = prompts.input_ids.shape[1]
        rows = self.model.generate(
            input_ids=prompts.input_ids,
            attention_mask=prompts.attention_mask,
            logits_processor=[processor],
            stopping_criteria=[TableStoppingCriteria(processor)],
            max_new_tokens=LENGTH,
            eos_token_id=sorted(self.ends),
            pad_token_id=self.tokenizer.pad_token_id,
            **how,
        )
        group = len(rows) // (2 * len(PROMPTS))
        texts = rows[:, length:].tolist()
        return [(row // group % len(PROMPTS), ids) for row, ids in enumerate(texts)]

    def text(self, ids: list[int]) -> str | None:
        """Return the text before the first end token; None if there is none."""
        at = next((at for at, token_id in enumerate(ids) if token_id in self.ends), None)
        if at is None:
            return None
        text: str = self.tokenizer.decode(ids[:at], clean_up_tokenization_spaces=False)
        return text


@pytest.fixture(scope="module")
def hosts() -> Iterator[dict[str, Host]]:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("transformers", reason="transformers is not installed")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # for a model this small, threads mostly wait for each other
    yield {}
    torch.set_num_threads(threads)


@pytest.mark.parametrize(("name", "way", "budget"), CASES)
def test_documents_parse_and_validate(
    hosts: dict[str, Host], name: str, way: str, budget: int | None
) -> None:
    host = hosts.get(name) or hosts.setdefault(name, Host(name))
    wanted, written, ended = math.ceil(DOCUMENTS / len(CASES)), 0, 0
    while written < wanted:
        host.torch.manual_seed(written)
        for number, ids in host.generate(budget, WAYS[way]):
            written += 1
            text = host.text(ids)
            if text is None:
                assert budget is None, (SCHEMAS[number], host.tokenizer.decode(ids))
                continue
            ended += 1
            jsonschema.validate(json.loads(text), SCHEMAS[number])
    if budget:
        assert ended == written
    elif "beam" not in way:  # which of long and short texts beams prefer is up to the weights
        assert ended > 0
