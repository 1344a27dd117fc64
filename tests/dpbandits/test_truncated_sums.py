"""Sums of truncated rewards that are drawn at once, against sums of single draws of NumPy."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats
from statistical import (
    clopper_pearson,
    distance,
    distance_to_law,
    one_sample_limit,
    two_sample_limit,
)
from test_validation import refusal

from dpbandits.rewards import truncated_sums as module
from dpbandits.rewards.heavy_laws import ParetoLaw, SampledLaw, TwoPointHeavyLaw
from dpbandits.rewards.truncated_sums import truncated_sum, truncated_sum_error

HALF = ParetoLaw(1.55, 0.55 * 0.9 / 1.55)  # v = 0.5, mean 0.9
NINE = ParetoLaw(1.95, 0.95 * 0.9 / 1.95)  # v = 0.9, mean 0.9


@pytest.fixture
def rough(monkeypatch):
    """One bin and few single draws, so that the bin's moments make up the whole sum."""
    monkeypatch.setattr(module, "_BINS", 1)
    monkeypatch.setattr(module, "_SINGLE", 16)
    plan = module._plan
    plan.cache_clear()
    yield
    plan.cache_clear()


def direct(law, rng, n, bounds, size):
    """Sums of n of NumPy's Pareto draws, of the same draws for each bound."""
    sums = np.empty((len(bounds), size))
    for i in range(size):
        x = law.scale * (1 + rng.pareto(law.shape, n))
        for j, bound in enumerate(bounds):
            sums[j, i] = x[x <= bound].sum()
    return sums


def sums(law, rng, n, bound, size):
    return np.array([truncated_sum(rng, law, n, bound) for _ in range(size)])


CASES = [(HALF, 20_000, (315.0, 2.0)), (NINE, 20_000, (114.0, 0.9))]
LEVELS = (0.01, 0.1, 0.9, 0.99)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize(("law", "n", "bounds"), CASES)
def test_sums_are_those_of_single_draws(law, n, bounds):
    """Kolmogorov distance and tail quantiles; what the sum's law may err is allowed for.

    Control: sums of 5% fewer rewards.
    """
    size, share = 3000, 1 / (1 + len(LEVELS)) / len(bounds)
    all_first = direct(law, np.random.default_rng([1, n]), n, bounds, size)
    others = direct(law, np.random.default_rng([4, n]), n, bounds, size // 2)
    for first, other, bound in zip(all_first, others, bounds, strict=True):
        second = sums(law, np.random.default_rng([2, n]), n, bound, size)
        error = truncated_sum_error(law, n, bound)
        assert 0 < error < 0.01
        limit = two_sample_limit(size, share) + error
        assert distance(first, second) <= limit
        fewer = sums(law, np.random.default_rng([3, n]), n - n // 20, bound, size)
        assert distance(first, fewer) > limit, "control"
        for cut in np.quantile(other, LEVELS):
            low, high = clopper_pearson(int((first > cut).sum()), size, share / 2)
            mine = clopper_pearson(int((second > cut).sum()), size, share / 2)
            assert low <= mine[1] + error and mine[0] - error <= high


@pytest.mark.statistical
@pytest.mark.parametrize("law", [HALF, NINE])
def test_the_moments_of_a_bin_decide(law, rough, monkeypatch):
    """One bin makes up the sum below the cut; with thrice its deviation the sum is caught."""
    n, size = 20_000, 3000
    bound = law.scale * 30
    (first,) = direct(law, np.random.default_rng(5), n, [bound], size)
    limit = two_sample_limit(size) + truncated_sum_error(law, n, bound)
    assert distance(first, sums(law, np.random.default_rng(6), n, bound, size)) <= limit
    plan = module._plan(law, n, bound)
    assert plan.means.size == 1
    wrong = plan._replace(deviations=3 * plan.deviations)
    monkeypatch.setattr(module, "_plan", lambda *_: wrong)
    assert distance(first, sums(law, np.random.default_rng(6), n, bound, size)) > limit, "control"
    wrong = plan._replace(means=1.01 * plan.means)
    assert distance(first, sums(law, np.random.default_rng(6), n, bound, size)) > limit, "control"


@given(st.floats(1.01, 30), st.integers(12_289, 10**24), st.floats(-0.9, 8))
def test_bins_have_their_exact_moments(shape, n, log_bound):
    law = ParetoLaw(shape, 2.0)
    plan = module._plan(law, n, 2 + 10**log_bound)
    if plan.means.size == 0:
        return
    third = module._third_moments(shape, plan)
    for b in (0, 1, plan.means.size - 1):
        low, high = plan.edges[b : b + 2]
        top = math.log(high / low)
        norm = -math.expm1(-shape * top) / shape
        points = None if top < 1 else [min(top, 1 / shape)]

        def expectation(f, low=low, top=top, norm=norm, points=points):
            value, _ = integrate.quad(
                lambda y: f(low * math.exp(y)) * math.exp(-shape * y) / norm,
                0, top, points=points, limit=400, epsabs=0, epsrel=1e-10,
            )  # fmt: skip
            return value

        mean = plan.means[b]
        assert mean == pytest.approx(expectation(lambda x: x), rel=1e-9)
        variance = expectation(lambda x, mean=mean: (x - mean) ** 2)
        assert plan.deviations[b] ** 2 == pytest.approx(variance, rel=1e-6)
        cubes = expectation(lambda x, mean=mean: abs(x - mean) ** 3)
        assert third[b] == pytest.approx(cubes, rel=1e-5)


@given(st.floats(1.01, 30), st.integers(12_289, 10**24), st.floats(-0.9, 12))
def test_the_classes_make_up_the_law(shape, n, log_bound):
    """Probabilities add up to 1, means to the truncated mean."""
    law, bound = ParetoLaw(shape, 2.0), 2 + 10**log_bound
    plan = module._plan(law, n, bound)
    single = plan.single * (1 - plan.beyond)
    assert plan.beyond + single + plan.probabilities.sum() == pytest.approx(1, rel=1e-9)
    above = law.truncated_mean(bound) - law.truncated_mean(plan.cut) if plan.cut < bound else 0.0
    if plan.means.size:
        total = plan.probabilities @ plan.means + above
        assert total == pytest.approx(law.truncated_mean(bound), rel=1e-9)
        assert plan.shares[0] == pytest.approx(1)


def test_the_error_is_small_where_it_matters_and_falls():
    errors = [truncated_sum_error(HALF, n, 1e4) for n in (13_000, 10**5, 10**6, 10**9)]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] < 0.01 and errors[-1] < 1e-4
    assert truncated_sum_error(HALF, 12_288, 1e4) == 0
    assert truncated_sum_error(HALF, 10**24, 1e15) < 1e-4
    assert truncated_sum_error(HALF, 10**9, HALF.scale * (1 + 1e-6)) == 0, "few values: all drawn"
    assert truncated_sum_error(TwoPointHeavyLaw(2.0, 0.5), 2**62, 3.0) == 0


@pytest.mark.statistical
@pytest.mark.parametrize("n", [10**9, 2**62, 10**24])
def test_long_sums_with_a_low_threshold_are_nearly_normal(n):
    """Berry–Esseen for the exact sum, at most B·0.4748/(σ√n), and the error of the drawing."""
    bound, size = 20.0, 2000
    sample = sums(HALF, np.random.default_rng(7), n, bound, size)
    deviation = math.sqrt(HALF.truncated_variance(bound))
    z = (sample / n - HALF.truncated_mean(bound)) * math.sqrt(n) / deviation
    error = truncated_sum_error(HALF, n, bound) + 0.4748 * bound / (deviation * math.sqrt(n))
    limit = one_sample_limit(size) + error
    assert error < 0.01
    assert distance_to_law(z, stats.norm) < limit
    assert distance_to_law(z * 1.4, stats.norm) > limit, "control"


@pytest.mark.statistical
@pytest.mark.parametrize("p", [3e-20, 1e-15, 1e-10, 1e-5, 0.3, 1 - 1e-5])
def test_counts_of_more_trials_than_an_integer_holds(p):
    """10^20 trials: a Poisson variable where np is small (total variation p), else normal."""
    n, size = 1e20, 2000
    rng = np.random.default_rng(8)
    counts = np.array([module._count(rng, n, p) for _ in range(size)])
    mean, deviation = n * p, math.sqrt(n * p * (1 - p))
    if mean < 10:
        values = np.arange(40)
        seen = (counts[:, None] <= values).mean(axis=0)
        limit = one_sample_limit(size) + p
        assert np.abs(seen - stats.poisson.cdf(values, mean)).max() < limit
        assert np.abs(seen - stats.poisson.cdf(values, 1.3 * mean)).max() > limit, "control"
    else:
        limit = one_sample_limit(size) + 1 / deviation
        assert distance_to_law((counts - mean) / deviation, stats.norm) < limit
        assert distance_to_law(1.4 * (counts - mean) / deviation, stats.norm) > limit, "control"


@pytest.mark.statistical
def test_two_points_are_one_binomial_variable():
    law, n, size = TwoPointHeavyLaw(100.0, 0.001), 3000, 5000
    counts = sums(law, np.random.default_rng(9), n, 100.0, size) / 100
    values = np.arange(30)
    seen = (counts[:, None] <= values).mean(axis=0)
    assert np.abs(seen - stats.binom.cdf(values, n, 0.001)).max() < one_sample_limit(size)
    wrong = np.abs(seen - stats.binom.cdf(values, n, 0.0013)).max()
    assert wrong > one_sample_limit(size), "control"
    assert truncated_sum(np.random.default_rng(0), law, 10**30, 99.0) == 0


@pytest.mark.statistical
def test_few_values_below_the_threshold_are_drawn_one_by_one():
    """B just above x_a: no bins, and as many values as there are, all of them in (x_a, B]."""
    n, bound, size = 10**9, HALF.scale * (1 + 1e-7), 500
    plan = module._plan(HALF, n, bound)
    assert plan.means.size == 0
    sample = sums(HALF, np.random.default_rng(10), n, bound, size)
    inside = n * -math.expm1(-HALF.shape * math.log1p(1e-7))
    z = (sample / HALF.scale - inside) / math.sqrt(inside)
    assert distance_to_law(z, stats.norm) < one_sample_limit(size) + 1 / math.sqrt(inside) + 0.01
    assert distance_to_law(z + 1, stats.norm) > one_sample_limit(size) + 0.1, "control"


def test_small_cases(rng):
    assert truncated_sum(rng, HALF, 0, 1.0) == 0
    assert truncated_sum(rng, HALF, 10**9, HALF.scale / 2) == 0
    assert truncated_sum(rng, HALF, 100, math.inf) > 100 * HALF.scale
    assert truncated_sum(rng, HALF, 10**6, math.inf) > 10**6 * HALF.scale
    for n in (100, 10**9, 10**24):
        first, again, other = sums(HALF, np.random.default_rng(1), n, 1e4, 3)
        assert sums(HALF, np.random.default_rng(1), n, 1e4, 1) == first != again != other
    own = SampledLaw(lambda rng, size: np.full(size, 2.0), 2.0, 1.0, 4.0)
    assert truncated_sum(rng, own, 5, 3.0) == 10 and truncated_sum(rng, own, 5, 1.0) == 0
    assert truncated_sum_error(own, 5, 3.0) == 0


def test_bad_arguments_are_refused(rng):
    for value in (-1, 1.5, None, 10**31):
        refusal("n", value, lambda value=value: truncated_sum(rng, HALF, value, 1.0))
    for value in (0, -1, math.nan, None):
        refusal("bound", value, lambda value=value: truncated_sum_error(HALF, 5, value))
    refusal("law", 3, lambda: truncated_sum(rng, 3, 5, 1.0))
    own = SampledLaw(lambda rng, size: np.full(size, 2.0), 2.0, 1.0, 4.0)
    refusal("n", 2**29, lambda: truncated_sum(rng, own, 2**29, 1.0))
    with pytest.raises(ValueError, match="rng=None is"):
        truncated_sum(None, HALF, 5, 1.0)
