"""The tokenizer and runtime cases that users of other systems reported, run to the letter."""

import json
from pathlib import Path
from typing import Any

import pytest
from small_tokenizers import of_case
from tokenizers import Tokenizer

from constrain.errors import DeadEndError, TokenRefused
from constrain.pipeline import compile as compile_table
from constrain.tables import Constraint

FILE = Path(__file__).resolve().parent.parent.parent / "shared" / "cases" / "reported.jsonl"
LINES = FILE.read_text(encoding="utf-8").split("\n") if FILE.exists() else []
CASES: list[Any] = [json.loads(line) for line in LINES if line]
BY_ID = {case["id"]: case for case in CASES if case["kind"] in ("tokenizer", "runtime")}
UNSPELLABLE = "c164"

needs_cases = pytest.mark.skipif(not CASES, reason="the reported cases are not on this machine")


def table_of(case: Any, folder: Path) -> Any:
    given = case["input"]
    return compile_table(
        regex=given["regex"], tokenizer=of_case(case, folder), eos=given["eos"], cache=False
    )


def feed(run: Constraint, tokens: str) -> bool:
    """Advance by each token; return False as soon as one is refused."""
    for number in map(int, tokens.split()):
        before = run.mask()
        allowed = 0 <= number < len(before) and bool(before[number])
        try:
            run.advance(number)
        except TokenRefused:
            assert not allowed
            assert (run.mask() == before).all(), "a refused token changes nothing"
            return False
        assert allowed
    return True


@needs_cases
@pytest.mark.parametrize("name", sorted(set(BY_ID) - {UNSPELLABLE}))
def test_token_sequences(name: str, tmp_path: Path) -> None:
    case = BY_ID[name]
    table = table_of(case, tmp_path)
    for tokens in case["accept"]:
        run = Constraint(table)
        assert feed(run, tokens), f"{tokens} must be accepted"
        assert run.done
    for tokens in case["reject"]:
        run = Constraint(table)
        assert not feed(run, tokens), f"{tokens} must be refused"


@needs_cases
def test_the_files_are_real_ones(tmp_path: Path) -> None:
    for case in BY_ID.values():
        tokenizer = Tokenizer.from_file(str(of_case(case, tmp_path)))
        vocab = case["input"]["vocab"]
        assert {text: tokenizer.token_to_id(text) for text in vocab} == vocab


@needs_cases
def test_a_vocabulary_that_cannot_spell_the_start(tmp_path: Path) -> None:
    with pytest.raises(DeadEndError, match="20") as caught:
        table_of(BY_ID[UNSPELLABLE], tmp_path)
    assert caught.value.missing == b" "


@needs_cases
def test_width_of_a_vocabulary_with_holes(tmp_path: Path) -> None:
    assert table_of(BY_ID["c157"], tmp_path).n_tokens == 8


@needs_cases
def test_all_ends_are_allowed_together_and_only_where_a_text_may_end(tmp_path: Path) -> None:
    table = table_of(BY_ID["c158"], tmp_path)
    for tokens, allowed in (("", False), ("0", False), ("0 1", False), ("0 0", True)):
        run = Constraint(table)
        assert feed(run, tokens)
        assert run.mask()[2:4].tolist() == [allowed, allowed]


@needs_cases
def test_after_two_digits_only_the_end(tmp_path: Path) -> None:
    run = Constraint(table_of(BY_ID["c166"], tmp_path))
    assert feed(run, "0 1")
    assert run.mask().nonzero()[0].tolist() == [2]


@needs_cases
def test_a_refused_token_and_then_the_right_one(tmp_path: Path) -> None:
    run = Constraint(table_of(BY_ID["c169"], tmp_path))
    assert not feed(run, "0")
    assert feed(run, "1 2 3")


@needs_cases
def test_rollback(tmp_path: Path) -> None:
    run = Constraint(table_of(BY_ID["c170"], tmp_path))
    start = run.mask()
    assert feed(run, "0")
    after = run.mask()
    assert feed(run, "1")
    run.rollback(1)
    assert (run.mask() == after).all()
    assert feed(run, "2")
    run.rollback(2)
    assert (run.mask() == start).all()
    assert feed(run, "0 1 3")


@needs_cases
def test_replaying_what_was_emitted(tmp_path: Path) -> None:
    case = BY_ID["c173"]
    table = table_of(case, tmp_path)
    stepped, replayed = Constraint(table), Constraint(table)
    for number in case["input"]["replay"]:
        stepped.advance(number)
    assert feed(replayed, " ".join(map(str, case["input"]["replay"])))
    assert replayed.state == stepped.state
    assert (replayed.mask() == stepped.mask()).all()


@needs_cases
def test_ids_outside_the_vocabulary(tmp_path: Path) -> None:
    case = BY_ID["c179"]
    run = Constraint(table_of(case, tmp_path))
    before = run.mask()
    for number in case["input"]["bad_ids"]:
        with pytest.raises(TokenRefused):
            run.advance(number)
        assert (run.mask() == before).all()
    assert feed(run, case["accept"][0])


@needs_cases
def test_nothing_is_accepted_after_the_end(tmp_path: Path) -> None:
    run = Constraint(table_of(BY_ID["c181"], tmp_path))
    assert feed(run, "0 1")
    assert run.done
    assert not feed(run, "0")
    assert run.done
