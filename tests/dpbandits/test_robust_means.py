"""Private means of heavy-tailed rewards: the algebra of the widths, and their coverage."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statistical import may_be_at_most
from test_validation import NOT_A_NUMBER, NOT_POSITIVE, refusal

from dpbandits.heavy.robust_means import (
    CHANNELS,
    central_threshold,
    central_width,
    local_threshold,
    local_width,
    robust_mean,
)
from dpbandits.rewards import instances

ARGUMENTS = (
    st.floats(1, 1e24), st.floats(1e-3, 1e3), st.floats(0.05, 1), st.floats(1e-3, 20),
    st.floats(0.5, 200),
)  # fmt: skip


@given(st.tuples(*ARGUMENTS), st.booleans())
def test_widths_are_the_sums_of_their_parts(arguments, non_negative):
    """Bias, Bernstein's deviation and noise, from their definitions."""
    (n, u, v, epsilon, log_term), noise = arguments, 1 if non_negative else 2
    B = central_threshold(*arguments)
    deviation = math.sqrt(2 * u * B ** (1 - v) * log_term / n) + B * log_term / (3 * n)
    err, factor = central_width(*arguments, non_negative=non_negative)
    width = u * B**-v + deviation + noise * B / (n * epsilon) * log_term
    assert factor * err == pytest.approx(width, rel=1e-9)
    assert epsilon > 1 or factor < 6, "the constant behind the paper's 24 and 12"
    B = local_threshold(*arguments)
    b = noise * B / epsilon
    variance, scale = u * B ** (1 - v) + 2 * b * b, max(B / 3, b)
    deviation = math.sqrt(2 * variance * log_term / n) + scale * log_term / n
    err, factor = local_width(*arguments, non_negative=non_negative)
    assert factor * err == pytest.approx(u * B**-v + deviation, rel=1e-9)
    root = math.sqrt(log_term / n)
    one_by_one = 1 + 4 * math.sqrt(2) + math.sqrt(2 * epsilon * root) + 2 / 3 * epsilon * root
    assert 2 * log_term > n or non_negative or factor < one_by_one


def test_steps_of_the_proofs():
    """−log(1 − y²) ≤ y²/(1 − y), and q!/2·(B/3)^(q − 2) ≥ B^(q − 2); controls: B/3.1, 0.9y."""
    y = np.linspace(1e-6, 1 - 1e-9, 100_000)
    assert np.all(-np.log1p(-y * y) <= y * y / (1 - y))
    assert not np.all(-np.log1p(-y * y) <= y * y / (1 - 0.9 * y))
    assert all(math.factorial(q) / 2 >= 3 ** (q - 2) for q in range(2, 60))
    assert not all(math.factorial(q) / 2 >= 3.1 ** (q - 2) for q in range(2, 60))


def test_numbers_by_hand():
    """For u = v = ε = 1, n = 400, L = 4: √(n/L) = 10."""
    by_hand = (400, 1, 1, 1, 4)
    assert central_threshold(*by_hand) == pytest.approx(10)
    assert central_width(*by_hand) == pytest.approx((0.1, 3 + math.sqrt(2) + 1 / 3))
    assert local_threshold(*by_hand) == pytest.approx(math.sqrt(10))
    assert local_width(*by_hand) == pytest.approx((math.sqrt(0.1), 1.2 + math.sqrt(16.2)))


LAWS = {
    "Pareto": instances.pareto([0.9, 0.5], 0.5),
    "Pareto, order 0.9": instances.pareto([0.9, 0.5], 0.9),
    "two points": instances.heavy_two_point(0.2, 0.5),
}
models = pytest.mark.parametrize("model", ["central", "local"])


@pytest.mark.statistical
@pytest.mark.parametrize("model", CHANNELS)
@pytest.mark.parametrize("non_negative", [False, True])
@pytest.mark.parametrize("key", LAWS)
def test_the_half_width_covers(key, model, non_negative):
    """Clopper–Pearson; the control tells the estimator a moment that is 10⁵ times too small."""
    beta, runs, instance = 0.2, 400, LAWS[key]
    law = instance.laws[0]

    def failures(moment):
        rng = np.random.default_rng([1, 2000])
        arguments = moment, instance.order, 1.0, model, beta
        estimate = partial(robust_mean, rng=rng, non_negative=non_negative)
        found = [estimate(law.sample(rng, 2000), *arguments) for _ in range(runs)]
        return sum(abs(mean.estimate - law.mean) > mean.half_width for mean in found)

    assert may_be_at_most(failures(instance.moment_bound), runs, beta)
    assert not may_be_at_most(failures(1e-5 * instance.moment_bound), runs, beta), "control"


@pytest.mark.statistical
@models
def test_the_noise_has_the_declared_scale(model):
    """Constant rewards: what varies is noise alone. Control: the noise of half the range."""
    rng, n, runs = np.random.default_rng(2), 50, 4000
    draws = [robust_mean(np.zeros(n), 1.0, 1.0, 1.0, model, rng=rng) for _ in range(runs)]
    bound, scale = draws[0].bound, draws[0].noise_scale
    assert scale == pytest.approx(2 * bound / (n if model == "central" else 1))
    spread = 2 * scale**2 / (1 if model == "central" else n)  # variance of the released mean
    noise = np.abs(np.array([got.estimate for got in draws])) / math.sqrt(spread)
    # beyond two deviations: e^(-2√2) for one Laplace variable, 0.0455 for the nearly normal mean
    most = math.exp(-2 * math.sqrt(2)) if model == "central" else 0.055
    assert may_be_at_most(int((noise > 2).sum()), runs, most)
    assert not may_be_at_most(int((2 * noise > 2).sum()), runs, most), "control"


def test_truncation_and_the_guarantee(rng):
    got = robust_mean(np.array([1e9, np.inf, -1e9, 0.0]), 1.0, 1.0, 1e6, rng=rng)
    assert abs(got.estimate) < 0.1, "what lies beyond the threshold counts as 0"
    assert got.guarantee.epsilon == 1e6 and got.guarantee.model == "central"
    below = robust_mean(np.full(100, -1.0), 1.0, 1.0, 1e6, rng=rng, non_negative=True)
    assert abs(below.estimate) < 0.1, "a negative reward counts as 0 where none is announced"
    local, half = (
        robust_mean([1.0, 1.0], 1.0, 1.0, 0.5, "local", rng=rng, non_negative=non_negative)
        for non_negative in (False, True)
    )
    assert local.guarantee.model == "local" and half.half_width < local.half_width
    assert local.noise_scale == 2 * local.bound / 0.5 and half.noise_scale == half.bound / 0.5


def test_neighbours_move_the_mean_by_at_most_the_noise_scale_times_epsilon(rng):
    n, epsilon = 20, 1e12  # so little noise that the truncated mean can be read off
    for _ in range(50):
        x = rng.standard_t(1.5, n) * 100
        y = np.append(rng.standard_t(1.5) * 1e4, x[1:])
        one, other = (robust_mean(z, 1e-6, 0.5, epsilon, rng=rng) for z in (x, y))
        sensitivity = one.noise_scale * epsilon
        assert abs(one.estimate - other.estimate) <= sensitivity * (1 + 1e-9)


RANGES = [*NOT_A_NUMBER, *NOT_POSITIVE, math.inf]
MEAN = partial(robust_mean, rng=np.random.default_rng(0))
REFUSED = [
    ("n", RANGES, lambda x: central_threshold(x, 1, 1, 1, 1)),
    ("moment", RANGES, lambda x: central_width(1, x, 1, 1, 1)),
    ("order", [*RANGES, 1.1], lambda x: local_threshold(1, 1, x, 1, 1)),
    ("epsilon", RANGES, lambda x: local_width(1, 1, 1, x, 1)),
    ("log_term", RANGES, lambda x: local_width(1, 1, 1, 1, x)),
    ("non_negative", [None, 1], lambda x: local_width(1, 1, 1, 1, 1, non_negative=x)),
    ("model", [None, "global"], lambda x: MEAN([1.0], 1, 1, 1, x)),
    ("confidence", [*RANGES, 1], lambda x: MEAN([1.0], 1, 1, 1, "local", x)),
    ("x", [None, "a", [], [[1.0]], [math.nan], 1.0], lambda x: MEAN(x, 1, 1, 1)),
    ("rng", [0], lambda x: MEAN([1.0], 1, 1, 1, rng=x)),
]


@pytest.mark.parametrize(("argument", "values", "call"), REFUSED, ids=[r[0] for r in REFUSED])
def test_bad_arguments_are_refused(argument, values, call):
    for value in values:
        refusal(argument, value, lambda value=value: call(value))
