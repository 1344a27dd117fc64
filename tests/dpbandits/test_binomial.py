"""Binomial draws, by order statistics and by rejection, against the exact law."""

import math

import numpy as np
import pytest
from numba import njit
from scipy import stats
from statistical import one_sample_limit

from dpbandits.rewards.binomial import binomial, binomial_by_rejection


@njit
def draw(kernel, rng, n, p, size):
    return np.array([kernel(rng, n, p) for _ in range(size)])


both = pytest.mark.parametrize(
    "kernel", [binomial, binomial_by_rejection], ids=lambda k: k.__name__
)
CASES = [
    (1, 0.3), (3, 0.5), (12, 0.9), (40, 0.03), (40, 0.97), (90, 0.15), (200, 0.5), (500, 0.03),
    (857, 0.75), (10**5, 0.7), (10**7, 0.25), (10**12, 1e-6),
]  # fmt: skip


def distance_to_binomial(sample, n, p):
    """Kolmogorov distance; the inequality of Dvoretzky, Kiefer and Wolfowitz holds with ties."""
    values, counts = np.unique(sample, return_counts=True)
    empirical = np.cumsum(counts) / sample.size
    at = np.abs(empirical - stats.binom.cdf(values, n, p))
    before = np.abs(np.append(0.0, empirical[:-1]) - stats.binom.cdf(values - 1, n, p))
    return max(at.max(), before.max())


@both
@pytest.mark.statistical
@pytest.mark.parametrize(("n", "p"), CASES)
def test_law(kernel, n, p):
    """Control: a twentieth of a standard deviation aside."""
    size = 300_000
    sample, limit = draw(kernel, np.random.default_rng(n), n, p, size), one_sample_limit(size)
    shifted = p + 0.05 * math.sqrt(p * (1 - p) / n)
    assert distance_to_binomial(sample, n, p) <= limit < distance_to_binomial(sample, n, shifted)


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
        x = draw(kernel, np.random.default_rng(2), n, p, size)
        found = np.bincount(np.searchsorted(edges, x), minlength=expected.size)
        return ((found - expected) ** 2 / expected).sum()

    limit = stats.chi2.isf(1e-6, expected.size - 1)
    assert misfit(p) < limit < misfit(p + 0.03 * math.sqrt(p * (1 - p) / n))


@both
@pytest.mark.statistical
def test_variance_and_tail(kernel):
    """The second moment and the share far from the mean, where a wrong correction would show."""
    n, p = 1000, 0.25
    sample = draw(kernel, np.random.default_rng(5), n, p, 4_000_000)
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
