"""Sums drawn at once: binomial variables, and truncated, matched or bounded Pareto rewards."""

import functools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from scipy import integrate, stats
from statistical import (
    clopper_pearson,
    distance,
    distance_to_law,
    one_sample_limit,
    same_law,
    two_sample_limit,
)
from test_validation import refusal

from dpbandits.rewards import truncated_sums as module
from dpbandits.rewards.binomial import binomial, binomial_by_rejection
from dpbandits.rewards.heavy_laws import ParetoLaw, SampledLaw, TwoPointHeavyLaw
from dpbandits.rewards.pareto_sums import (
    LINE_ERROR,
    MATCHED_ERROR,
    lower_lines,
    matched_error,
    matched_law,
    matched_row,
    matched_rows,
    matched_sum,
    pareto_below,
)
from dpbandits.rewards.truncated_sums import truncated_sum, truncated_sum_error


@njit
def repeat(draw, rng, first, second, size):
    return np.array([draw(rng, first, second) for _ in range(size)])


def distance_to_atoms(sample, law):
    """Kolmogorov distance to a law of whole numbers; the inequality that limits it allows ties."""
    values, counts = np.unique(sample, return_counts=True)
    empirical = np.cumsum(counts) / sample.size
    at = np.abs(empirical - law.cdf(values))
    before = np.abs(np.append(0.0, empirical[:-1]) - law.cdf(values - 1))
    return max(at.max(), before.max())


# ---------------------------------------------------------------- binomial variables
both = pytest.mark.parametrize(
    "kernel", [binomial, binomial_by_rejection], ids=lambda k: k.__name__
)
TRIALS = [
    (1, 0.3), (3, 0.5), (12, 0.9), (40, 0.03), (40, 0.97), (90, 0.15), (200, 0.5), (500, 0.03),
    (857, 0.75), (10**5, 0.7), (10**7, 0.25), (10**12, 1e-6),
]  # fmt: skip


@both
@pytest.mark.statistical
@pytest.mark.parametrize(("n", "p"), TRIALS)
def test_law_of_binomial_variables(kernel, n, p):
    """Control: a twentieth of a standard deviation aside."""
    sample = repeat(kernel, np.random.default_rng(n), n, p, 300_000)
    right, wrong = (stats.binom(n, q) for q in (p, p + 0.05 * math.sqrt(p * (1 - p) / n)))
    limit = one_sample_limit(sample.size)
    assert distance_to_atoms(sample, right) <= limit < distance_to_atoms(sample, wrong)


@both
@pytest.mark.statistical
@pytest.mark.parametrize(("n", "p"), [(25, 0.45), (10**5, 0.3), (10**12, 1e-9)])
def test_frequencies(kernel, n, p):
    """Against SciPy's probabilities, in classes: χ² at 10^−6. Control: p larger by a little."""
    size = 400_000
    low, high = stats.binom.ppf([0.001, 0.999], n, p)
    edges = np.unique(np.linspace(low, high, 40).astype(np.int64))
    expected = size * np.diff(stats.binom.cdf(edges, n, p), prepend=0, append=1)

    def misfit(p):
        x = repeat(kernel, np.random.default_rng(2), n, p, size)
        found = np.bincount(np.searchsorted(edges, x), minlength=expected.size)
        return ((found - expected) ** 2 / expected).sum()

    limit = stats.chi2.isf(1e-6, expected.size - 1)
    assert misfit(p) < limit < misfit(p + 0.03 * math.sqrt(p * (1 - p) / n))


@both
@pytest.mark.statistical
def test_variance_and_tail(kernel):
    """The second moment and the share far from the mean, where a wrong correction would show."""
    n, p = 1000, 0.25
    sample = repeat(kernel, np.random.default_rng(5), n, p, 4_000_000)
    far = int(np.sum(np.abs(sample - 250) > 20))
    share = stats.binom.cdf(229, n, p) + stats.binom.sf(270, n, p)
    assert stats.binomtest(far, sample.size, share).pvalue > 5e-7
    spread = np.sum((sample - n * p) ** 2) / (n * p * (1 - p) * sample.size)
    assert abs(spread - 1) < 5.5 * np.sqrt(2 / sample.size)
    assert stats.binomtest(far, sample.size, 1.02 * share).pvalue < 1e-6, "control"


@both
def test_outcomes_stay_in_range(kernel):
    rng = np.random.default_rng(0)
    for n in (0, 1, 2, 7, 10**9, 10**15, 2**62):
        assert kernel(rng, n, 0.0) == 0 and kernel(rng, n, 1.0) == n
        for p in (1e-300, 1e-17, 0.5, 1 - 2**-53):
            assert all(0 <= kernel(rng, n, p) <= n for _ in range(200))


@pytest.mark.statistical
@pytest.mark.parametrize("p", [3e-20, 1e-15, 1e-10, 1e-5, 0.3, 0.5, 1 - 1e-5])
def test_counts_of_more_trials_than_an_integer_holds(p):
    """10^20 trials: a Poisson variable where np is small (total variation p), else normal."""
    n, size = 1e20, 2000
    rng = np.random.default_rng(8)
    counts = np.array([module._count(rng, n, p) for _ in range(size)])
    mean, deviation = n * p, math.sqrt(n * p * (1 - p))
    if mean < 10:
        limit = one_sample_limit(size) + p
        assert distance_to_atoms(counts, stats.poisson(mean)) < limit
        assert distance_to_atoms(counts, stats.poisson(1.3 * mean)) > limit, "control"
    else:
        limit = one_sample_limit(size) + 1 / deviation
        assert distance_to_law((counts - mean) / deviation, stats.norm) < limit
        assert distance_to_law(1.4 * (counts - mean) / deviation, stats.norm) > limit, "control"


# ---------------------------------------------------------------- truncated at one bound
HALF = ParetoLaw(1.55, 0.55 * 0.9 / 1.55)  # v = 0.5, mean 0.9
NINE = ParetoLaw(1.95, 0.95 * 0.9 / 1.95)  # v = 0.9, mean 0.9
BOUNDS = {HALF: (315.0, 2.0), NINE: (114.0, 0.9)}
LEVELS = (0.01, 0.1, 0.9, 0.99)


@functools.cache
def direct(law, seed, n, bounds, size):
    """Sums of n of NumPy's Pareto draws, of the same draws for each bound."""
    rng, sums = np.random.default_rng(seed), np.empty((len(bounds), size))
    for i in range(size):
        x = law.scale * (1 + rng.pareto(law.shape, n))
        sums[:, i] = [x[x <= bound].sum() for bound in bounds]
    return sums


def sums(law, seed, n, bound, size):
    rng = np.random.default_rng(seed)
    return np.array([truncated_sum(rng, law, n, bound) for _ in range(size)])


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize(("law", "bounds"), BOUNDS.items())
def test_sums_are_those_of_single_draws(law, bounds):
    """Kolmogorov distance and tail quantiles; what the sum's law may err is allowed for.

    Control: sums of 5% fewer rewards.
    """
    n, size, share = 20_000, 3000, 1 / (1 + len(LEVELS)) / len(bounds)
    all_first = direct(law, 1, n, (*bounds, 30 * law.scale), size)[:2]
    others = direct(law, 4, n, bounds, size // 6)
    for first, other, bound in zip(all_first, others, bounds, strict=True):
        second = sums(law, [2, n], n, bound, size)
        error = truncated_sum_error(law, n, bound)
        assert 0 < error < 0.01
        limit = two_sample_limit(size, share) + error
        assert distance(first, second) <= limit
        assert distance(first, sums(law, [3, n], n - n // 20, bound, size)) > limit, "control"
        for cut in np.quantile(other, LEVELS):
            low, high = clopper_pearson(int((first > cut).sum()), size, share / 2)
            mine = clopper_pearson(int((second > cut).sum()), size, share / 2)
            assert low <= mine[1] + error and mine[0] - error <= high


@pytest.mark.statistical
@pytest.mark.parametrize("law", [HALF, NINE])
def test_the_moments_of_a_bin_decide(law, monkeypatch):
    """One bin and few single draws; with thrice its deviation, or 1% more, the sum is caught."""
    monkeypatch.setattr(module, "_BINS", 1)
    monkeypatch.setattr(module, "_SINGLE", 16)
    monkeypatch.setattr(module, "_plan", plan := module._plan.__wrapped__)
    n, bound, size = 20_000, 30 * law.scale, 3000
    first = direct(law, 1, n, (*BOUNDS[law], bound), size)[2]
    limit = two_sample_limit(size) + truncated_sum_error(law, n, bound)
    assert distance(first, sums(law, 6, n, bound, size)) <= limit
    right = plan(law, n, bound)
    assert right.means.size == 1
    for change in ({"deviations": 3 * right.deviations}, {"means": 1.01 * right.means}):
        wrong = right._replace(**change)
        monkeypatch.setattr(module, "_plan", lambda *_, wrong=wrong: wrong)
        assert distance(first, sums(law, 6, n, bound, size)) > limit, "control"


@given(st.floats(1.01, 30), st.integers(12_289, 10**24), st.floats(-0.9, 8))
def test_bins_have_their_exact_moments(shape, n, log_bound):
    plan = module._plan(ParetoLaw(shape, 2.0), n, 2 + 10**log_bound)
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
    assert errors == sorted(errors, reverse=True) and errors[0] < 0.01 and errors[-1] < 1e-4
    assert truncated_sum_error(HALF, 12_288, 1e4) == 0
    assert truncated_sum_error(HALF, 10**24, 1e15) < 1e-4
    assert truncated_sum_error(HALF, 10**9, HALF.scale * (1 + 1e-6)) == 0, "few values: all drawn"
    assert truncated_sum_error(TwoPointHeavyLaw(2.0, 0.5), 2**62, 3.0) == 0


@pytest.mark.statistical
@pytest.mark.parametrize("n", [10**9, 2**62, 10**24])
def test_long_sums_with_a_low_threshold_are_nearly_normal(n):
    """Berry–Esseen for the exact sum, at most B·0.4748/(σ√n), and the error of the drawing."""
    bound, size = 20.0, 2000
    deviation = math.sqrt(HALF.truncated_variance(bound))
    z = sums(HALF, 7, n, bound, size) / n - HALF.truncated_mean(bound)
    z *= math.sqrt(n) / deviation
    error = truncated_sum_error(HALF, n, bound) + 0.4748 * bound / (deviation * math.sqrt(n))
    limit = one_sample_limit(size) + error
    assert error < 0.01 and distance_to_law(z, stats.norm) < limit
    assert distance_to_law(z * 1.4, stats.norm) > limit, "control"


@pytest.mark.statistical
def test_two_points_are_one_binomial_variable():
    law, n, size = TwoPointHeavyLaw(100.0, 0.001), 3000, 5000
    counts = sums(law, 9, n, 100.0, size) / 100
    assert distance_to_atoms(counts, stats.binom(n, 0.001)) < one_sample_limit(size)
    assert distance_to_atoms(counts, stats.binom(n, 0.0013)) > one_sample_limit(size), "control"
    assert truncated_sum(np.random.default_rng(0), law, 10**30, 99.0) == 0


@pytest.mark.statistical
def test_few_values_below_the_threshold_are_drawn_one_by_one():
    """B just above x_a: no bins, and as many values as there are, all of them in (x_a, B]."""
    n, bound, size = 10**9, HALF.scale * (1 + 1e-7), 500
    assert module._plan(HALF, n, bound).means.size == 0
    inside = n * -math.expm1(-HALF.shape * math.log1p(1e-7))
    z = (sums(HALF, 10, n, bound, size) / HALF.scale - inside) / math.sqrt(inside)
    assert distance_to_law(z, stats.norm) < one_sample_limit(size) + 1 / math.sqrt(inside) + 0.01
    assert distance_to_law(z + 1, stats.norm) > one_sample_limit(size) + 0.1, "control"


def test_small_cases_and_bad_arguments(rng):
    assert truncated_sum(rng, HALF, 0, 1.0) == 0 == truncated_sum(rng, HALF, 10**9, HALF.scale / 2)
    for n in (100, 10**6):
        assert truncated_sum(rng, HALF, n, math.inf) > n * HALF.scale
    for n in (100, 10**9, 10**24):
        first, again, other = sums(HALF, 1, n, 1e4, 3)
        assert sums(HALF, 1, n, 1e4, 1) == first != again != other
    own = SampledLaw(lambda rng, size: np.full(size, 2.0), 2.0, 1.0, 4.0)
    assert truncated_sum(rng, own, 5, 3.0) == 10 and truncated_sum(rng, own, 5, 1.0) == 0
    assert truncated_sum_error(own, 5, 3.0) == 0
    for value in (-1, 1.5, None, 10**31):
        refusal("n", value, lambda value=value: truncated_sum(rng, HALF, value, 1.0))
    for value in (0, -1, math.nan, None):
        refusal("bound", value, lambda value=value: truncated_sum_error(HALF, 5, value))
    refusal("law", 3, lambda: truncated_sum(rng, 3, 5, 1.0))
    refusal("n", 2**29, lambda: truncated_sum(rng, own, 2**29, 1.0))
    refusal("rng", None, lambda: truncated_sum(None, HALF, 5, 1.0))


# ---------------------------------------------------------------- by moments, and lines below
@pytest.mark.parametrize(("shape", "ratio"), [(1.05, 30.0), (1.55, 6.0), (2.0, 4.0), (40.0, 1.1)])
def test_moments_are_matched(shape, ratio):
    """Of a reward below R, by quadrature, and of the nodes and the normal kernel."""
    law = matched_law(shape, ratio)
    nodes, weights = np.polynomial.legendre.leggauss(200)
    y = (1 + nodes) / 2 * math.log(ratio)  # log of a reward
    density = weights * math.log(ratio) / 2 * shape * np.exp(-shape * y) / (1 - law.tail)
    x = (np.exp(y) - law.mean) / law.deviation
    kernel = stats.norm(0, math.sqrt(law.kernel))
    assert density.sum() == pytest.approx(1, rel=1e-12)
    for order in range(1, 17):
        mine = sum(
            math.comb(order, k) * kernel.moment(k) * float(law.weights @ law.nodes ** (order - k))
            for k in range(order + 1)
        )
        size = max(float(density @ np.abs(x) ** order), 1.0)
        assert abs(mine - float(density @ x**order)) < (1e-9 if order < 16 else 0.05) * size
    assert law.moments[0] == pytest.approx(float(density @ x**4), rel=1e-9)


def test_error_bound_holds_where_it_can_be_computed():
    """Total variation distance of sums of two and of eight, from their densities on a grid."""
    law = matched_law(1.55, 3.0)
    step = 0.002
    x = np.arange(1, 3, step) + step / 2
    cells = ((x - step / 2) ** -1.55 - (x + step / 2) ** -1.55) / (1 - law.tail)
    grid = np.arange(-2, 6, step) + step / 2
    edges = np.append(grid - step / 2, grid[-1] + step / 2)[:, None]
    places, spread = law.mean + law.deviation * law.nodes, law.deviation * math.sqrt(law.kernel)
    mine = np.diff(stats.norm.cdf(edges, places, spread), axis=0) @ law.weights
    theirs = np.zeros(grid.size)
    theirs[round((1 + 2) / step) :][: x.size] = cells
    distances = []
    for n in (1, 2, 4, 8):
        if n > 1:
            mine[mine < 1e-100] = 0.0  # products that are almost 0 take a hundred times as long
            mine, theirs = np.convolve(mine, mine), np.convolve(theirs, theirs)
        distances.append(0.5 * np.abs(mine - theirs).sum())
        assert distances[-1] <= matched_error(law, max(n, 3))
    assert distances[3] < 0.01 * distances[0]


def test_rows_are_good_enough():
    rows = matched_rows(1.55)
    for row in rows:
        law = matched_law(1.55, float(row[1]))
        assert matched_error(law, row[0]) <= MATCHED_ERROR < matched_error(law, row[0] / 1.3)
    assert (np.diff(rows[:, :2], axis=0) > 0).all()


@pytest.mark.statistical
@pytest.mark.parametrize("shape", [1.05, 1.55, 2.0, 3.5])
def test_law_of_a_matched_sum(shape):
    """Against single rewards. Control: nodes that are off by a twentieth of the kernel."""
    row, n, size = matched_row(matched_law(shape, 5.0)), 120, 40_000
    rng = np.random.default_rng(1)
    theirs = np.array([pareto_below(rng, shape, 1.0, 5.0, n) for _ in range(size)])
    assert same_law(repeat(matched_sum, np.random.default_rng(0), row, n, size), theirs)
    wrong = row.copy()
    wrong[4:12] *= 1.005
    bad = repeat(matched_sum, np.random.default_rng(0), wrong, n, size)
    assert not same_law(bad, theirs), "control"


@pytest.mark.statistical
@pytest.mark.parametrize(
    "law", [ParetoLaw(1.55, 0.3), ParetoLaw(1.05, 2.0), TwoPointHeavyLaw(5, 0.1)]
)
def test_lines_below_sums(law):
    """Lines for a probability of e^−3 instead of 10^−16 are crossed as seldom, and sometimes are.

    With 2000 walks the share of those that cross is below e^−3 + 0.06 but for a probability of
    10^−6 (Hoeffding). Control: a line as steep as the mean and a tenth is crossed by more.
    """
    rng = np.random.default_rng(0)
    bound, r = 200.0, np.arange(1, 4001)
    x = np.array([law.sample(rng, 4000) for _ in range(2000)])
    walks = np.cumsum(np.where(x > bound, 0.0, x), axis=1)
    beyond = (law.scale / bound) ** law.shape if isinstance(law, ParetoLaw) else 0.0
    crossed, steep = [], []
    for intercept, slope, factor in lower_lines(law.code)[:16:3]:
        slope -= beyond * factor
        intercept *= 3 / -math.log(LINE_ERROR)
        crossed.append((walks < slope * r - intercept - 1e-9).any(axis=1).mean())
        steep.append((walks < 1.1 * law.mean * r - intercept).any(axis=1).mean())
        assert slope < law.mean
    assert 0 < max(crossed) < math.exp(-3) + 0.06 < max(steep)
