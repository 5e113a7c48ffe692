"""Files of format 1, written once and committed, stay readable and mean the same."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from constrain import Constraint, any_json, compile, load

GOLDEN = Path(__file__).resolve().parent / "golden"
sys.path.insert(0, str(GOLDEN))
from make_tables import EOS, vocabulary  # noqa: E402


def test_plain_table_of_format_1() -> None:
    table = load(GOLDEN / "plain_1.npz")
    assert table.is_plain
    assert table.n_states == 7
    assert table.accept.nonzero()[0].tolist() == [5, 6]
    run = Constraint(table)
    allowed = [table.token(t) for t in run.mask().nonzero()[0].tolist()]
    assert allowed == [b"c", b"d", b"ca", b"cat", b"dog"]
    run.advance(257)
    assert run.state == 5
    assert run.mask().nonzero()[0].tolist() == [ord("s"), EOS]


def test_framed_table_of_format_1() -> None:
    table = load(GOLDEN / "framed_1.npz")
    assert not table.is_plain
    run = Constraint(table)
    for token in (b"[[", b"true", b"]]"):
        run.advance(next(t for t in range(table.n_tokens) if table.token(t) == token))
    assert run.is_complete()
    assert run.mask().nonzero()[0].tolist() == [EOS]


@pytest.mark.parametrize("name", ["plain_1.npz", "framed_1.npz"])
def test_the_compiler_still_makes_the_same_arrays(name: str) -> None:
    """Refactoring changes no output; a change here is a change of format or of numbering."""
    golden = load(GOLDEN / name)
    if golden.is_plain:
        table = compile(regex="(cat|car|dog)s?", tokenizer=vocabulary())
    else:
        table = compile(any_json(), vocabulary())
    for key, array in table.arrays().items():
        assert np.array_equal(array, golden.arrays()[key]), key
