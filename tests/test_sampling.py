"""The sampler: what can be drawn, how often, and what the log probability means."""

from __future__ import annotations

import math

import numpy as np
import pytest

from constrain.sampling import SamplingParams, constrained_sample, sample
from constrain.tables.errors import TokenRefused

NO = -np.inf
GREEDY = SamplingParams(temperature=0)


def rng(seed=0):
    return np.random.default_rng(seed)


def frequencies(logits, params, history=(), prompt=(), n=4000):
    generator = rng(1)
    drawn = [sample(logits, params, history, generator, prompt)[0] for _ in range(n)]
    return np.bincount(drawn, minlength=len(logits)) / n


def softmax(logits):
    weights = np.exp(np.asarray(logits, dtype=float) - max(logits))
    return weights / weights.sum()


def test_greedy_takes_the_largest_and_the_lowest_id_of_equals():
    assert sample([1.0, 3.0, 3.0, 2.0], GREEDY, [], rng())[0] == 1
    assert sample([NO, NO, -5.0], GREEDY, [], rng())[0] == 2


def test_the_logprob_is_the_log_softmax_over_what_can_be_drawn():
    token, logprob = sample([NO, 1.0, 2.0, NO], GREEDY, [], rng())
    assert token == 2
    assert logprob == pytest.approx(math.log(math.e / (1 + math.e)))
    assert sample([NO, 7.0], SamplingParams(), [], rng()) == (1, 0.0)


def test_the_logprob_does_not_depend_on_how_the_token_was_chosen():
    logits = [0.5, 1.5, NO, -1.0]
    expected = np.log(softmax(logits)[1])
    params = SamplingParams(temperature=0.01, top_k=1, top_p=0.5, min_p=0.5, repetition_penalty=1.1)
    token, logprob = sample(logits, params, [3], rng())
    assert token == 1
    assert logprob == pytest.approx(expected)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_tokens_are_drawn_as_often_as_the_softmax_says(temperature):
    logits = np.array([0.0, 1.0, NO, 2.0, -1.0])
    drawn = frequencies(logits, SamplingParams(temperature=temperature))
    with np.errstate(invalid="ignore"):
        expected = softmax(logits / temperature)
    assert drawn[2] == 0
    assert np.abs(drawn - expected).max() < 0.03


def test_minus_infinity_is_never_drawn_however_flat_the_rest():
    logits = np.full(1000, NO)
    logits[[3, 500, 999]] = [-1e6, 0.0, -700.0]
    for params in (SamplingParams(temperature=1e9), SamplingParams(), SamplingParams(top_k=3)):
        generator = rng()
        drawn = {sample(logits, params, [], generator)[0] for _ in range(300)}
        assert drawn <= {3, 500, 999}


def test_the_end_of_the_unit_interval_is_safe():
    """A generator that returns the largest number below 1 still draws a token that can be drawn."""

    class Largest:
        def random(self):
            return np.nextafter(1.0, 0.0)

    logits = np.array([0.1, 0.2, 0.3, NO, NO])
    assert sample(logits, SamplingParams(), [], Largest())[0] == 2


@pytest.mark.parametrize(
    ("params", "kept"),
    [
        (SamplingParams(top_k=1), {0}),
        (SamplingParams(top_k=2), {0, 1}),
        (SamplingParams(top_k=9), {0, 1, 2, 3}),
        (SamplingParams(top_p=0.1), {0}),
        (SamplingParams(top_p=0.49), {0}),
        (SamplingParams(top_p=0.51), {0, 1}),
        (SamplingParams(top_p=0.81), {0, 1, 2}),
        (SamplingParams(min_p=0.59), {0, 1}),
        (SamplingParams(min_p=0.2), {0, 1, 2}),
        (SamplingParams(min_p=0.19), {0, 1, 2, 3}),
        (SamplingParams(min_p=1.0), {0}),
        (SamplingParams(top_k=3, top_p=0.6), {0, 1}),
        (SamplingParams(top_k=2, min_p=0.1), {0, 1}),
    ],
)
def test_filters_keep_the_likeliest(params, kept):
    """Probabilities are 0.5, 0.3, 0.1 and 0.1 (and one token that cannot be drawn)."""
    logits = [*np.log([0.5, 0.3, 0.1001, 0.0999]), NO]
    drawn = frequencies(logits, params, n=600)
    assert set(np.flatnonzero(drawn).tolist()) == kept


def test_top_k_keeps_ties():
    drawn = frequencies([1.0, 1.0, 1.0, 0.0], SamplingParams(top_k=1), n=300)
    assert set(np.flatnonzero(drawn).tolist()) == {0, 1, 2}


def test_repetition_penalty_pulls_towards_unlikely_on_both_sides_of_zero():
    params = SamplingParams(temperature=0, repetition_penalty=2.0)
    assert sample([3.0, 2.0], params, [0], rng())[0] == 1  # 3 -> 1.5
    assert sample([-1.0, -1.5], params, [0], rng())[0] == 1  # -1 -> -2
    assert sample([3.0, 2.0], params, [0, 1], rng())[0] == 0


def test_presence_counts_once_and_frequency_each_time():
    presence = SamplingParams(temperature=0, presence_penalty=1.0)
    assert sample([2.5, 1.0], presence, [0, 0, 0], rng())[0] == 0  # 1.5
    frequency = SamplingParams(temperature=0, frequency_penalty=1.0)
    assert sample([2.5, 1.0], frequency, [0], rng())[0] == 0  # 1.5
    assert sample([2.5, 1.0], frequency, [0, 0], rng())[0] == 1  # 0.5


def test_penalties_see_the_prompt_too():
    params = SamplingParams(temperature=0, frequency_penalty=1.0)
    assert sample([2.5, 1.0], params, [0], rng(), prompt=[0])[0] == 1
    assert sample([2.5, 1.0], params, [], rng(), prompt=[0])[0] == 0


def test_penalties_never_revive_a_token():
    params = SamplingParams(
        temperature=0, repetition_penalty=0.1, presence_penalty=-100.0, frequency_penalty=-100.0
    )
    assert sample([NO, 0.0], params, [0, 0], rng(), prompt=[0])[0] == 1


def test_the_logits_are_not_changed():
    logits = np.array([1.0, 2.0, NO])
    before = logits.copy()
    sample(logits, SamplingParams(frequency_penalty=1.0, top_k=1), [0, 1], rng())
    assert (logits == before).all()


def test_equal_generators_draw_equally():
    logits = rng(5).normal(size=50)
    one = [sample(logits, SamplingParams(), [], g)[0] for g in [rng(7)] for _ in range(20)]
    two = [sample(logits, SamplingParams(), [], g)[0] for g in [rng(7)] for _ in range(20)]
    assert one == two
    assert len(set(one)) > 1


@pytest.mark.parametrize(
    ("logits", "words"),
    [
        ([NO, NO], "all logits are minus infinity"),
        ([], "all logits are minus infinity"),
        ([0.0, np.nan], "NaN"),
        ([0.0, np.inf], "infinity"),
        ([[0.0, 1.0]], r"shape \(V,\)"),
    ],
)
def test_bad_logits(logits, words):
    with pytest.raises(ValueError, match=words):
        sample(logits, SamplingParams(), [], rng())


@pytest.mark.parametrize("history", [[2], [-1], [0, 99]])
def test_seen_tokens_must_exist(history):
    with pytest.raises(ValueError, match=r"outside 0\.\.1"):
        sample([0.0, 1.0], SamplingParams(), history, rng())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", -0.1),
        ("temperature", math.nan),
        ("temperature", math.inf),
        ("top_k", -1),
        ("top_p", 0.0),
        ("top_p", 1.1),
        ("min_p", -0.1),
        ("min_p", 1.1),
        ("repetition_penalty", 0.0),
        ("repetition_penalty", math.inf),
        ("presence_penalty", math.nan),
        ("frequency_penalty", math.inf),
    ],
)
def test_bad_parameters(name, value):
    with pytest.raises(ValueError, match=name):
        SamplingParams(**{name: value})


class Scripted:
    """A constraint that allows one fixed mask and remembers what it was given."""

    def __init__(self, mask, refuses=False):
        self.allowed = np.array(mask)
        self.refuses = refuses
        self.taken = []

    def mask(self):
        return self.allowed

    def advance(self, token_id):
        if self.refuses:
            raise TokenRefused("no", token_id=token_id, state=0)
        self.taken.append(token_id)


def test_constrained_sample_draws_under_the_mask_and_advances():
    constraint = Scripted([True, False, True])
    token, logprob = constrained_sample([1.0, 9.0, 2.0], constraint, GREEDY, [], rng())
    assert (token, constraint.taken) == (2, [2])
    assert logprob == pytest.approx(math.log(math.e / (1 + math.e)))


def test_constrained_sample_passes_history_and_prompt_on():
    constraint = Scripted([True, False, True])
    params = SamplingParams(temperature=0, frequency_penalty=0.6)
    args = ([1.0, 9.0, 2.0], constraint, params, [2], rng())
    assert constrained_sample(*args, prompt=[2])[0] == 0
    assert constrained_sample(*args)[0] == 2


def test_a_refused_token_surfaces():
    with pytest.raises(TokenRefused):
        constrained_sample([1.0], Scripted([True], refuses=True), GREEDY, [], rng())
