"""Sampling: from a row of logits to one token.

In come the model's logits; disallowed tokens are already at minus infinity (``apply_mask``), and such
a token can never be drawn, whatever the parameters. Penalties act on the logits, then temperature,
then the filters top-k, top-p and min-p in this order, each on what the one before has left, and one
token is drawn from the rest. Every filter keeps at least the best token, so there is always one.

The log probability that comes back is of the model under the mask: the log-softmax over the finite
logits as they were given, before penalties, temperature and filters. So the sum over a text does not
depend on how the text was sampled.

Doesn't do: choose for a batch, or keep any state: history, prompt and generator are arguments.
Cost: one sort of the row if a filter is on.

Sources: repetition penalty, Keskar et al., "CTRL" (2019); top-p, Holtzman et al., "The Curious Case
of Neural Text Degeneration" (2020); min-p, Nguyen et al., "Turning Up the Heat" (2024); presence and
frequency penalties as in the OpenAI API.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from constrain.tables.bitmask import apply_mask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How to choose a token; the defaults sample from the model's own distribution.

    Attributes
    ----------
    temperature : float
        Logits are divided by it; 0 is greedy: the largest logit, ties to the lowest id.
    top_k : int
        Keep the k likeliest tokens (ties with the k-th too); 0 keeps all.
    top_p : float
        Keep the fewest likeliest tokens whose probabilities reach p; 1 keeps all.
    min_p : float
        Keep tokens at least this fraction as likely as the likeliest; 0 keeps all.
    repetition_penalty : float
        Divides positive and multiplies negative logits of tokens seen before; 1 is off.
    presence_penalty : float
        Subtracted once from the logit of every token seen before.
    frequency_penalty : float
        Subtracted for each time that the token was seen.

    Tokens "seen before" are those of the history and of the prompt; leave the prompt out of the call
    to count only what was generated.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0

    def __post_init__(self) -> None:
        """Check the ranges."""
        _require(0 <= self.temperature < np.inf, "temperature", self.temperature, "0 or more")
        _require(self.top_k >= 0, "top_k", self.top_k, "0 (off) or more")
        _require(0 < self.top_p <= 1, "top_p", self.top_p, "above 0 and at most 1 (off)")
        _require(0 <= self.min_p <= 1, "min_p", self.min_p, "from 0 (off) to 1")
        penalty = self.repetition_penalty
        _require(0 < penalty < np.inf, "repetition_penalty", penalty, "above 0 (1 is off)")
        for name in ("presence_penalty", "frequency_penalty"):
            value = getattr(self, name)
            _require(bool(np.isfinite(value)), name, value, "finite (0 is off)")


class Steerable(Protocol):
    """What ``constrained_sample`` needs of a constraint."""

    def mask(self) -> NDArray[np.bool_]:
        """Return the allowed tokens, bool [V]."""
        ...

    def advance(self, token_id: int, /) -> None:
        """Accept one token; raise and change nothing if it is not allowed."""
        ...


def sample(
    logits: ArrayLike,
    params: SamplingParams,
    history: Sequence[int],
    rng: np.random.Generator,
    prompt: Sequence[int] = (),
) -> tuple[int, float]:
    """Draw one token.

    Parameters
    ----------
    logits : float [V]
        Minus infinity marks a token that cannot be drawn.
    params : SamplingParams
    history : sequence of int
        The tokens generated so far, for the penalties.
    rng : numpy.random.Generator
        Not used when greedy.
    prompt : sequence of int
        The tokens of the prompt, for the penalties.

    Returns
    -------
    token_id : int
    logprob : float
        Its log probability among the tokens that can be drawn, before penalties and temperature.

    Raises
    ------
    ValueError
        If no logit is finite, one is NaN or plus infinity, or a seen token is out of range.
    """
    row = _checked(logits)
    scores = _penalised(row, params, [*prompt, *history])
    if params.temperature == 0:
        token = int(np.argmax(scores))
    else:
        token = _drawn(_filtered(scores, params), rng)
    return token, float(row[token] - _log_sum_exp(row))


def constrained_sample(
    logits: ArrayLike,
    c: Steerable,
    p: SamplingParams,
    history: Sequence[int],
    rng: np.random.Generator,
    prompt: Sequence[int] = (),
) -> tuple[int, float]:
    """Draw one token that the constraint allows, and advance the constraint by it.

    Parameters
    ----------
    logits : float [V]
    c : Constraint
    p : SamplingParams
    history, rng, prompt
        As for ``sample``.

    Returns
    -------
    token_id : int
    logprob : float
        Renormalised over the allowed tokens.
    """
    token, logprob = sample(apply_mask(logits, c.mask()), p, history, rng, prompt)
    c.advance(token)
    return token, logprob


def _require(holds: bool, name: str, value: float, wanted: str) -> None:
    if not holds:
        raise ValueError(f"{name} is {value!r}; it must be {wanted}")


def _checked(logits: ArrayLike) -> NDArray[np.float64]:
    row = np.asarray(logits, dtype=np.float64)
    if row.ndim != 1:
        raise ValueError(f"logits must be one row, shape (V,); got shape {row.shape}")
    if np.isnan(row).any() or np.isposinf(row).any():
        raise ValueError("logits hold NaN or plus infinity")
    if not np.isfinite(row).any():
        raise ValueError("no token can be drawn: all logits are minus infinity")
    return row


def _penalised(
    row: NDArray[np.float64], params: SamplingParams, seen: list[int]
) -> NDArray[np.float64]:
    """Return the logits after the penalties; minus infinity stays minus infinity."""
    if not seen:
        return row
    tokens, counts = np.unique(np.asarray(seen, dtype=np.int64), return_counts=True)
    if tokens[0] < 0 or tokens[-1] >= len(row):
        raise ValueError(f"history and prompt hold token ids outside 0..{len(row) - 1}")
    scores = row.copy()
    old = row[tokens]
    penalty = params.repetition_penalty
    new = np.where(old > 0, old / penalty, old * penalty)
    scores[tokens] = new - params.presence_penalty - params.frequency_penalty * counts
    return scores


def _filtered(scores: NDArray[np.float64], params: SamplingParams) -> NDArray[np.float64]:
    """Return unnormalised probabilities; 0 for what must not be drawn."""
    with np.errstate(over="ignore", under="ignore"):  # a tiny temperature sends the others to 0
        weights: NDArray[np.float64] = np.exp((scores - scores.max()) / params.temperature)
    if 0 < params.top_k < len(weights):
        weights[weights < np.partition(weights, -params.top_k)[-params.top_k]] = 0
    if params.top_p < 1:
        order = np.argsort(-weights, kind="stable")
        before = np.cumsum(weights[order]) - weights[order]  # the mass of all likelier tokens
        weights[order[before >= params.top_p * weights.sum()]] = 0
    weights[weights < params.min_p * weights.max()] = 0
    return weights


def _drawn(weights: NDArray[np.float64], rng: np.random.Generator) -> int:
    """Return an index, drawn in proportion to the weights; never one of weight 0."""
    kept = np.flatnonzero(weights)
    total = np.cumsum(weights[kept])
    position = np.searchsorted(total, rng.random() * total[-1], side="right")
    return int(kept[min(position, len(kept) - 1)])  # the product may round up to the total


def _log_sum_exp(row: NDArray[np.float64]) -> float:
    top = row.max()
    return float(top + np.log(np.exp(row - top).sum()))
