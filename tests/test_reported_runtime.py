"""The reported cases of the kind ``runtime``: sequences of token ids accepted and refused.

They come from bug reports of other systems; the file is not part of the repository.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from constrain import TokenIndex, regex_to_dfa
from constrain.tables import Constraint, ConstraintBatch, TokenRefused

CASES_FILE = Path(__file__).resolve().parents[2] / "shared" / "cases" / "reported.jsonl"


def cases() -> list[Any]:
    if not CASES_FILE.exists():
        reason = "the reported cases are not at hand"
        return [pytest.param({}, marks=pytest.mark.skip(reason=reason))]
    every = [json.loads(line) for line in CASES_FILE.read_text().split("\n") if line]
    return [pytest.param(case, id=case["id"]) for case in every if case["kind"] == "runtime"]


def index_of(about: dict[str, Any]) -> TokenIndex:
    width = 1 + max([*about["vocab"].values(), *(each["id"] for each in about["added"])])
    tokens: list[bytes | None] = [None] * width
    for text, token_id in about["vocab"].items():
        tokens[token_id] = text.encode()
    return TokenIndex(regex_to_dfa(about["regex"]), tokens, eos_id=about["eos"][0])


@pytest.mark.parametrize("case", cases())
def test_reported_sequences(case: dict[str, Any]) -> None:
    index = index_of(case["input"])
    for line in case["accept"]:
        tokens = [int(token_id) for token_id in line.split()]
        run = Constraint(index)
        for at, token_id in enumerate(tokens):
            assert run.mask()[token_id]
            run.advance(token_id)
            assert Constraint(index).validate(tokens[: at + 1]) == at + 1  # c173: replayed
        assert run.done
        run.rollback(len(tokens))  # c170: any number can be undone
        assert (run.mask() == Constraint(index).mask()).all()
    for line in case["reject"]:
        tokens = [int(token_id) for token_id in line.split()]
        run = Constraint(index)
        taken = run.validate(tokens)
        assert taken < len(tokens)
        for token_id in tokens[:taken]:
            run.advance(token_id)
        before = run.mask()
        for token_id in (tokens[taken], *case["input"].get("bad_ids", ())):
            with pytest.raises(TokenRefused):
                run.advance(token_id)
            assert (run.mask() == before).all()


def test_c176_and_c181_free_rows_are_free_and_ended_rows_allow_the_end_only() -> None:
    index = index_of({"regex": "a", "vocab": {"a": 0, "b": 1}, "added": [{"id": 2}], "eos": [2]})
    batch = ConstraintBatch([index, None])
    assert batch.fill().tolist() == [[1], [-1]]
    for token_id in (0, 2, 0):
        batch.advance([token_id, token_id])
    assert batch.fill().tolist() == [[1 << 2], [-1]]
    run = batch.runs[0]
    assert run is not None
    assert not np.any(run.mask())
    assert run.validate([0]) == 0
