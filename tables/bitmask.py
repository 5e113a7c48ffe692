"""Masks and logits: packed rows to booleans and back, and both applied to a row of logits.

A packed row is int32 [ceil(V / 32)]; bit ``t % 32`` of word ``t // 32`` is token t, 1 is allowed,
bits from V on are 0. It is what ``numpy.packbits(..., bitorder="little")`` gives, viewed as
little-endian int32, and what the kernels of xgrammar, llguidance, vLLM and SGLang apply.

``apply_mask`` makes a float64 copy for a sampler; ``apply_bitmask`` works in place on whatever a
model returned: NumPy or torch, any float type, on any device, one row or a batch.

Cost: ``apply_bitmask`` unpacks eight tokens a table look-up, about 10 microseconds for 128k tokens.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_MATRIX = 2  # dimensions of a batch


def pack(mask: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return the packed rows of masks.

    Parameters
    ----------
    mask : bool [..., V]

    Returns
    -------
    int32 [..., ceil(V / 32)]

    Examples
    --------
    >>> pack(np.array([True, False, True] + 30 * [False] + [True])).tolist()
    [5, 2]
    """
    n_tokens = mask.shape[-1]
    n_words = -(-n_tokens // 32)
    packed = np.zeros((*mask.shape[:-1], 4 * n_words), dtype=np.uint8)
    packed[..., : -(-n_tokens // 8)] = np.packbits(mask, axis=-1, bitorder="little")
    return packed.view("<i4").astype(np.int32, copy=False)


def unpack(rows: NDArray[np.int32], n_tokens: int) -> NDArray[np.bool_]:
    """Return the masks of packed rows: bool [..., V].

    Parameters
    ----------
    rows : int32 [..., W]
    n_tokens : int
        V, at most 32 W.
    """
    octets = np.ascontiguousarray(rows, dtype="<i4").view(np.uint8)
    bits = np.unpackbits(octets, axis=-1, count=n_tokens, bitorder="little")
    return bits.view(np.bool_)


def buffer_of(out: Any, n_rows: int, n_words: int) -> NDArray[np.int32]:
    """Return a caller's buffer for packed rows as an array that shares its memory.

    Parameters
    ----------
    out : int32 [at least n_rows, at least n_words]
        A NumPy array or a torch tensor on the CPU.

    Raises
    ------
    ValueError
        If it is not int32, or too small.
    """
    buffer: NDArray[np.int32] = out if isinstance(out, np.ndarray) else np.asarray(out)
    large = buffer.ndim == _MATRIX and buffer.shape[0] >= n_rows and buffer.shape[1] >= n_words
    if buffer.dtype != np.int32 or not large:
        raise ValueError(
            f"a buffer of {buffer.dtype} {buffer.shape} cannot hold {n_rows} rows of {n_words}"
            " int32 words"
        )
    return buffer


def put(buffer: NDArray[np.int32], row: int, words: NDArray[np.int32]) -> None:
    """Write a packed row into a row of a buffer; words past it become 0, not allowed."""
    buffer[row, : len(words)] = words
    buffer[row, len(words) :] = 0


def apply_mask(logits: ArrayLike, mask: ArrayLike) -> NDArray[np.float64]:
    """Return the logits in float64 with minus infinity where the mask is false.

    Parameters
    ----------
    logits : float [V]
    mask : bool [V]

    Raises
    ------
    ValueError
        If the shapes differ, or nothing is allowed.
    """
    scores = np.array(logits, dtype=np.float64)
    allowed = np.asarray(mask)
    if allowed.dtype != np.bool_:
        raise ValueError(f"a mask holds booleans, not {allowed.dtype}; see apply_bitmask for rows")
    if scores.ndim != 1 or allowed.shape != scores.shape:
        raise ValueError(
            f"logits of shape {scores.shape} and mask of shape {allowed.shape}: both must be"
            " (V,). Where a model's logits are wider than its tokenizer, compile with --vocab-size"
            " or use apply_bitmask; narrower ones are those of another model"
        )
    if not allowed.any():
        raise ValueError("the mask allows no token: the text has ended, or nothing can follow")
    scores[~allowed] = -np.inf
    return scores


def apply_bitmask(logits: Any, rows: Any) -> None:
    """Set the logits of tokens that are not allowed to minus infinity, in place.

    Tokens past the last bit of a row are not allowed: models pad their logits, so those may be
    wider than the vocabulary. Narrower ones do where they lack only tokens that are not allowed
    (some tokenizers name special tokens that their model has no logit for).

    Parameters
    ----------
    logits : float [V] or [B, V]
        A NumPy array or a torch tensor, of any floating dtype, on any device.
    rows : int32 [W] or [B, W]
        Packed rows; a NumPy array or a torch tensor. One row serves a whole batch.

    Raises
    ------
    ValueError
        If shapes or dtypes do not fit, or a row (on the CPU) allows a token that has no logit. Rows
        of ones alone are free, and fit any logits.
    """
    if isinstance(logits, np.ndarray):
        packed = np.asarray(rows)
        width = _checked(logits.shape, packed.shape, str(packed.dtype))
        _require_logits(packed, logits.shape[-1])
        if logits.dtype.kind != "f":
            raise ValueError(f"logits must be floating point, not {logits.dtype}")
        np.copyto(logits[..., :width], -np.inf, where=~unpack(packed, width))
        logits[..., width:] = -np.inf
    elif type(logits).__module__.partition(".")[0] == "torch":
        _apply_torch(logits, rows)
    else:
        raise ValueError(f"logits must be a NumPy array or a torch tensor, not {type(logits)}")


def _checked(logits: tuple[int, ...], rows: tuple[int, ...], dtype: str) -> int:
    """Return how many logits the rows cover, or raise ValueError."""
    if dtype not in ("int32", "torch.int32"):
        raise ValueError(f"packed rows must be int32, not {dtype}")
    if len(logits) not in (1, _MATRIX) or len(rows) not in (1, _MATRIX) or len(rows) > len(logits):
        raise ValueError(f"logits of shape {logits} do not go with rows of shape {rows}")
    if len(rows) == _MATRIX and rows[0] not in (1, logits[0]):
        raise ValueError(f"{rows[0]} rows of bits for {logits[0]} rows of logits")
    return min(logits[-1], 32 * rows[-1])


def _require_logits(rows: NDArray[np.int32], n_logits: int) -> None:
    """Raise ValueError if a row allows a token that has no logit; rows of ones alone are free."""
    first, spare = divmod(n_logits, 32)
    if first >= rows.shape[-1]:
        return
    cut = rows[..., first] >> spare != 0
    if first + 1 < rows.shape[-1]:
        cut |= (rows[..., first + 1 :] != 0).any(axis=-1)
    if not cut.any():
        return
    for row in rows.reshape(-1, rows.shape[-1])[cut.reshape(-1)]:
        if (row != -1).any():
            token_id = int(unpack(row, 32 * len(row)).nonzero()[0][-1])
            raise ValueError(
                f"the row allows token {token_id}, and there are {n_logits} logits: the table was"
                " compiled for another tokenizer than the model's"
            )


def _apply_torch(logits: Any, rows: Any) -> None:
    torch = import_module("torch")  # the host brings it
    packed = rows if isinstance(rows, torch.Tensor) else torch.from_numpy(np.array(rows))
    width = _checked(tuple(logits.shape), tuple(packed.shape), str(packed.dtype))
    if not logits.is_floating_point():
        raise ValueError(f"logits must be floating point, not {logits.dtype}")
    if packed.device.type == "cpu":  # elsewhere, looking would wait for the device
        _require_logits(packed.numpy(), logits.shape[-1])
    packed = packed.to(logits.device)
    if logits.device.type == "cpu":
        allowed = torch.from_numpy(unpack(packed.numpy(), width))
    else:
        shifts = torch.arange(32, dtype=torch.int32, device=logits.device)
        bits = (packed.unsqueeze(-1) >> shifts) & 1
        allowed = bits.flatten(-2)[..., :width].bool()
    logits[..., :width].masked_fill_(~allowed, float("-inf"))
    logits[..., width:] = float("-inf")
