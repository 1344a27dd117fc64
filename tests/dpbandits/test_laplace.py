"""Laplace noise: draws, the law under a condition, and the exact law of sums."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statistical import distance_to_law, one_sample_limit
from test_validation import refusal

from dpbandits.mechanisms import (
    laplace,
    laplace_below,
    laplace_cdf,
    laplace_log_cdf,
    laplace_noise,
    laplace_sum_error,
    laplace_sum_quantile,
    laplace_sum_tail,
    laplace_union_error,
    laplace_union_width,
)


@pytest.mark.statistical
@pytest.mark.parametrize("scale", [1e-3, 1.0, 250.0])
@pytest.mark.parametrize("draw", ["one by one", "array"])
def test_laplace_law(rng, draw, scale):
    size = 40_000
    if draw == "array":
        noise = laplace_noise(rng, scale, size)
    else:
        noise = np.array([laplace(rng, scale) for _ in range(size)])
    limit = one_sample_limit(size)
    assert distance_to_law(noise, stats.laplace(scale=scale)) < limit
    # Controls: the scale 15% off, and the normal law of the same variance.
    assert distance_to_law(noise, stats.laplace(scale=1.15 * scale)) > limit
    assert distance_to_law(noise, stats.norm(scale=math.sqrt(2) * scale)) > limit


def test_no_scale_no_noise(rng):
    state = rng.bit_generator.state
    assert laplace(rng, 0.0) == 0.0
    assert rng.bit_generator.state != state, "the generator advances all the same"
    noise = laplace_noise(rng, 0.0, 5)
    assert noise.tolist() == [0.0] * 5 and not np.signbit(noise).any()
    for x, value in [(-1e-300, 0.0), (0.0, 1.0), (-0.0, 1.0), (3.0, 1.0)]:
        assert laplace_cdf(x, 0.0) == value
        assert laplace_below(rng, 0.0, max(x, 0.0)) == 0.0
    with pytest.raises(ValueError):
        laplace_noise(rng, -1.0, 3)


def test_noise_comes_from_the_generator_alone():
    first, second, other = (np.random.default_rng(seed) for seed in (1, 1, 2))
    assert laplace(first, 1.0) == laplace(second, 1.0) != laplace(other, 1.0)
    assert np.array_equal(laplace_noise(first, 1.0, 9), laplace_noise(second, 1.0, 9))


# ---------------------------------------------------------------- under a condition
class Below:
    """A Laplace variable under the condition that it is at most `level`, from scipy's law."""

    def __init__(self, scale, level):
        self.law, self.level = stats.laplace(scale=scale), level

    def cdf(self, x):
        logarithm = self.law.logcdf(np.minimum(x, self.level)) - self.law.logcdf(self.level)
        return np.exp(logarithm)


# In scales: far below 0, at 0, about 0, far above.
LEVELS = [-600.0, -1.0, 0.0, 0.3, 2.0, 40.0]


@pytest.mark.statistical
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("scale", [0.01, 300.0])
def test_law_below_a_level(scale, level):
    size = 20_000
    rng = np.random.default_rng([1, LEVELS.index(level)])
    sample = np.array([laplace_below(rng, scale, level * scale) for _ in range(size)])
    assert sample.max() <= level * scale
    limit = one_sample_limit(size)
    assert distance_to_law(sample, Below(scale, level * scale)) < limit
    # Controls: without the condition, with a scale a fifth off, with the level higher by a third.
    if level <= 2:
        assert distance_to_law(sample, stats.laplace(scale=scale)) > limit
        assert distance_to_law(sample, Below(scale, (level + 1 / 3) * scale)) > limit
    if level > -600:
        assert distance_to_law(sample, Below(1.2 * scale, level * scale)) > limit


@given(st.floats(-700, 700), st.floats(1e-3, 1e6))
def test_distribution_function(z, scale):
    law = stats.laplace(scale=scale)
    assert laplace_cdf(z * scale, scale) == pytest.approx(law.cdf(z * scale), rel=1e-12, abs=0)
    assert laplace_log_cdf(z * scale, scale).item() == pytest.approx(
        law.logcdf(z * scale), rel=1e-12, abs=1e-300
    )


def test_at_the_ends(rng):
    assert laplace_cdf(-math.inf, 1.0) == 0 and laplace_cdf(math.inf, 1.0) == 1
    assert math.isfinite(laplace_below(rng, 1.0, math.inf))
    assert laplace_below(rng, 1.0, -1e9) <= -1e9
    assert laplace_log_cdf([-1e4, 0.0]).tolist() == [-1e4 + math.log(0.5), math.log(0.5)]


# ---------------------------------------------------------------- sums
LAWS = [
    ((1,), (2.0,)),
    ((3,), (0.5,)),
    ((4, 2), (1.0, 3.0)),
    ((17, 16), (2.0, 32.0)),
    ((2, 3), (1.0, 1.0)),
    ((5, 0), (1.0, 4.0)),
]


def contour_tail(x, counts, scales):
    """P(Y > x) from the transform, along a line through its saddle point: another method."""

    def log_transform(z):
        return -sum(m * np.log(1 - (z * b) ** 2) for m, b in zip(counts, scales, strict=True))

    line = np.linspace(1e-4, 1 - 1e-4, 9999) / max(scales)
    real = line[np.argmin(log_transform(line) - line * x - np.log(line))]
    heights = np.linspace(-1000, 1000, 1_000_001) / max(scales)
    z = real + 1j * heights
    values = np.exp(log_transform(z) - z * x) / z
    return float(np.trapezoid(values.real, heights)) / (2 * math.pi)


@pytest.mark.parametrize("deviations", [0.0, 0.3, 2.0, 9.0])
@pytest.mark.parametrize(("counts", "scales"), LAWS[1:])
def test_tail_by_two_methods(counts, scales, deviations):
    deviation = math.sqrt(2 * sum(m * b * b for m, b in zip(counts, scales, strict=True)))
    x = deviations * deviation
    tail = laplace_sum_tail(x, counts, scales)
    assert tail == pytest.approx(contour_tail(x, counts, scales), rel=1e-9, abs=0)
    wider = tuple(1.001 * scale for scale in scales)
    other = laplace_sum_tail(x, counts, wider)
    assert deviations == 0 or tail != pytest.approx(other, rel=1e-9, abs=0), "control"
    assert laplace_sum_tail(-x, counts, scales) == pytest.approx(1 - tail, rel=1e-12)
    assert laplace_sum_error(x, counts, scales) == pytest.approx(2 * tail, rel=1e-12)


@given(st.sampled_from(LAWS), st.floats(1e-60, 0.999))
def test_quantile_inverts_the_error(law, beta):
    x = laplace_sum_quantile(beta, *law)
    assert laplace_sum_error(x, *law) <= beta
    assert laplace_sum_error(x, *law) == pytest.approx(beta, rel=1e-5)


def test_the_error_of_no_noise_and_below_zero():
    assert laplace_sum_error(0.0, (1,), (2.0,)) == laplace_sum_error(-1.0, (1,), (2.0,)) == 1
    assert laplace_sum_error(0.0, (1,), (0.0,)) == laplace_sum_quantile(0.1, (1,), (0.0,)) == 0


@pytest.mark.parametrize("counts", [(1,), (2,), (1, 2)])
def test_no_sum_is_beyond_infinity(counts):
    scales = (1.0, 3.0)[: len(counts)]
    assert laplace_sum_tail(math.inf, counts, scales) == 0.0
    assert laplace_sum_error(math.inf, counts, scales) == 0.0
    assert laplace_sum_tail(1e300, counts[:1], (1e-300,)) == 0.0


@given(
    st.lists(st.integers(0, 10**6), max_size=6).map(tuple),
    st.one_of(st.just(0.0), st.floats(1e-12, 500.0)),
)
def test_the_width_of_many_sums_is_the_least(numbers, log_term):
    x = laplace_union_width(log_term, numbers)
    assert laplace_union_error(x, numbers) <= math.exp(-log_term) * (1 + 1e-11)
    smaller = x * (1 - 1e-8) - 1e-11  # far enough for floats to tell
    assert smaller < 0 or laplace_union_error(smaller, numbers) > math.exp(-log_term)


def test_what_are_no_numbers_of_sums_is_refused():
    for function in (laplace_union_error, laplace_union_width):
        refusal("numbers", -1, lambda f=function: f(1.0, (3, -1)))
        refusal("numbers", (1,) * 501, lambda f=function: f(1.0, (1,) * 501))
    refusal("log_term", 2e15, lambda: laplace_union_width(2e15, (1,)))
    assert laplace_union_width(1e15, (2,)) > 1e15


@pytest.mark.parametrize(
    ("counts", "scales", "argument", "value"),
    [
        ((1, 1, 1), (1.0, 2.0, 3.0), "scales", (1.0, 2.0, 3.0)),
        ((1,), (1.0, 2.0), "counts", (1,)),
        ((-1,), (1.0,), "counts", -1),
        ((1,), (-1.0,), "scales", -1.0),
        ((1,), (math.inf,), "scales", math.inf),
    ],
)
def test_what_is_not_a_sum_is_refused(counts, scales, argument, value):
    refusal(argument, value, lambda: laplace_sum_tail(1.0, counts, scales))
