"""What other systems do with our rows, and what their masks are, where they are installed."""

from typing import Any

import compare_llguidance
import numpy as np
import pytest
from tokenizers_on_disk import find, need

from constrain.pipeline import compile as compile_table
from constrain.tables import Constraint, ConstraintBatch, apply_bitmask

SCHEMA = compare_llguidance.BY_HAND[16]


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    """Return the masks along one text, the end included: int32 [B, W]."""
    table = compile_table(SCHEMA, str(need("example")), vocab_size=8050)
    run, rng, found = Constraint(table, budget=30), np.random.default_rng(3), []
    while not run.done:
        found.append(run.bitmask().copy())
        run.advance(int(rng.choice(np.flatnonzero(run.mask()))))
    found.append(ConstraintBatch([run]).fill()[0])
    return np.stack(found)


def logits(rows: np.ndarray, width: int) -> np.ndarray:
    """Return random scores, one row of them for each mask."""
    return np.random.default_rng(5).normal(size=(len(rows), width)).astype(np.float32)


@pytest.mark.parametrize("width", [8000, 8050, 8064, 8100])
def test_llguidance_applies_our_rows_to_arrays(rows: np.ndarray, width: int) -> None:
    appliers = pytest.importorskip("llguidance.numpy", reason="llguidance is not installed")
    ours, theirs = logits(rows, width), logits(rows, width)
    apply_bitmask(ours, rows)
    appliers.apply_token_bitmask_inplace(theirs, rows)
    np.testing.assert_array_equal(ours, theirs)


# The applier of llguidance.torch is compiled by torch when it is first called; the function
# underneath is the same without that minute.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch, at its own modules
@pytest.mark.parametrize("width", [8000, 8050, 8064, 8100])
def test_llguidance_applies_our_rows_to_tensors(
    rows: np.ndarray, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("llguidance", reason="llguidance is not installed")
    import llguidance.torch as appliers

    name = "apply_token_bitmask_inplace_kernel"
    plain = getattr(appliers, name)
    monkeypatch.setattr(appliers, name, getattr(plain, "_torchdynamo_orig_callable", plain))
    ours, theirs = (torch.from_numpy(logits(rows, width)) for _ in range(2))
    apply_bitmask(ours, rows)
    appliers.apply_token_bitmask_inplace(theirs, torch.from_numpy(rows))
    assert torch.equal(ours, theirs)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("width", [8000, 8050, 8064])
def test_xgrammar_applies_our_rows(rows: np.ndarray, width: int, dtype: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    xgrammar: Any = pytest.importorskip("xgrammar", reason="xgrammar is not installed")
    ours, theirs = (
        torch.from_numpy(logits(rows, width)).to(getattr(torch, dtype)) for _ in range(2)
    )
    apply_bitmask(ours, rows)
    xgrammar.apply_token_bitmask_inplace(theirs, torch.from_numpy(rows))
    assert torch.equal(ours, theirs)


@pytest.mark.parametrize("name", ["example", "deepseek", "mon"])
def test_masks_differ_from_those_of_llguidance_for_known_reasons_only(name: str) -> None:
    pytest.importorskip("llguidance", reason="llguidance is not installed")
    path = find(name)
    if path is None:
        pytest.skip(f"the tokenizer {name} is not on this machine")
    found = compare_llguidance.compare(path, compare_llguidance.schemas(), walks=1)
    assert found.mistakes == []
    assert found.texts == 50
    assert found.masks > 500
