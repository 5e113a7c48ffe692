"""Packed rows and logits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constrain.tables import apply_bitmask, apply_mask
from constrain.tables.bitmask import pack, unpack

MASKS = st.lists(st.booleans(), min_size=1, max_size=100).map(np.array)


@given(MASKS)
def test_bit_t_of_the_row_is_token_t(mask: np.ndarray) -> None:
    row = pack(mask)
    assert (row.dtype, row.shape) == (np.int32, (-(-len(mask) // 32),))
    words = [int(word) & 0xFFFFFFFF for word in row]
    assert [bool(words[t // 32] >> (t % 32) & 1) for t in range(len(mask))] == mask.tolist()
    assert sum(word.bit_count() for word in words) == mask.sum()
    assert (unpack(row, len(mask)) == mask).all()


def test_packing_a_batch_packs_each_row() -> None:
    masks = np.random.default_rng(0).random((3, 70)) < 0.5
    assert (pack(masks) == np.stack([pack(mask) for mask in masks])).all()
    assert (unpack(pack(masks), 70) == masks).all()


# apply_mask: the contract of the sampler.


def test_apply_mask_is_a_float64_copy_with_minus_infinity() -> None:
    logits = np.array([1.5, -2.0, 3.0], dtype=np.float32)
    masked = apply_mask(logits, np.array([True, False, True]))
    assert masked.dtype == np.float64
    assert masked.tolist() == [1.5, -np.inf, 3.0]
    assert logits.tolist() == [1.5, -2.0, 3.0]
    assert apply_mask([1, 2], [True, True]).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("logits", "mask", "match"),
    [
        ([1.0, 2.0], [False, False], "allows no token"),
        ([1.0, 2.0], [True], "shape"),
        ([[1.0, 2.0]], [[True, True]], "shape"),
        ([1.0, 2.0], [1, 0], "booleans"),
        ([], [], "booleans|allows no"),
    ],
)
def test_apply_mask_refuses_what_cannot_be_meant(logits: list, mask: list, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        apply_mask(logits, mask)


# apply_bitmask, in place.

DTYPES = [np.float16, np.float32, np.float64]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [60, 64, 80])
def test_apply_bitmask_masks_in_place_and_past_the_row(dtype: type, width: int) -> None:
    rng = np.random.default_rng(width)
    masks = rng.random((3, 60)) < 0.5
    logits = rng.normal(size=(3, width)).astype(dtype)
    expected = logits.copy()
    expected[:, :60][~masks] = -np.inf
    expected[:, 60:] = -np.inf
    alone = logits[1].copy()
    apply_bitmask(logits, pack(masks))
    assert (logits == expected).all()
    apply_bitmask(alone, pack(masks[1]))
    assert (alone == expected[1]).all()


@pytest.mark.parametrize("width", [1, 31, 32, 33, 59, 64])
def test_narrower_logits_may_lack_tokens_that_are_not_allowed(width: int) -> None:
    mask = np.arange(90) < width
    logits = np.zeros((2, width), dtype=np.float32)
    apply_bitmask(logits, np.stack([pack(mask), np.full(3, -1, np.int32)]))
    assert np.isfinite(logits).all()
    for token_id in (width, 89):
        mask[:] = np.arange(90) == token_id
        with pytest.raises(ValueError, match=f"allows token {token_id}, and there are {width} log"):
            apply_bitmask(logits, np.stack([np.full(3, -1, np.int32), pack(mask)]))
        with pytest.raises(ValueError, match="another tokenizer"):
            apply_bitmask(logits[0], pack(mask))
    assert np.isfinite(logits).all()


def test_one_row_serves_a_whole_batch() -> None:
    mask = np.arange(40) % 3 == 0
    logits = np.zeros((4, 40), dtype=np.float32)
    apply_bitmask(logits, pack(mask))
    assert (np.isfinite(logits) == mask).all()


def test_apply_bitmask_works_on_a_view() -> None:
    logits = np.zeros((4, 80), dtype=np.float32)
    apply_bitmask(logits[::2, ::2], pack(np.zeros(40, dtype=bool)))
    assert np.isinf(logits).sum() == 80


@pytest.mark.parametrize(
    ("logits", "rows", "match"),
    [
        (np.zeros(32), np.zeros(1, np.int64), "int32"),
        (np.zeros(32), np.zeros((2, 1), np.int32), "shape"),
        (np.zeros((3, 32)), np.zeros((2, 1), np.int32), "2 rows of bits for 3"),
        (np.zeros((1, 1, 32)), np.zeros(1, np.int32), "shape"),
        (np.zeros(32, np.int32), np.zeros(1, np.int32), "floating"),
        ([0.0] * 32, np.zeros(1, np.int32), "NumPy array or a torch tensor"),
    ],
)
def test_apply_bitmask_refuses_what_does_not_fit(
    logits: np.ndarray, rows: np.ndarray, match: str
) -> None:
    with pytest.raises(ValueError, match=match):
        apply_bitmask(logits, rows)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_apply_bitmask_on_torch(dtype: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    masks = np.random.default_rng(0).random((2, 70)) < 0.5
    devices = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    for device in devices:
        for rows in (pack(masks), torch.from_numpy(pack(masks))):
            logits = torch.zeros((2, 90), dtype=getattr(torch, dtype), device=device)
            apply_bitmask(logits, rows)
            finite = torch.isfinite(logits).cpu().numpy()
            assert (finite[:, :70] == masks).all()
            assert not finite[:, 70:].any()
    with pytest.raises(ValueError, match="floating"):
        apply_bitmask(torch.zeros(70, dtype=torch.int32), pack(masks[0]))
    with pytest.raises(ValueError, match="allows token 69, and there are 65 logits"):
        apply_bitmask(torch.zeros(65), pack(np.arange(70) == 69))
