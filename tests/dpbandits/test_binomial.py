"""Binomial draws against the exact law."""

import numpy as np
import pytest
from numba import njit
from scipy import stats
from statistical import one_sample_limit

from dpbandits.rewards.binomial import binomial


@njit
def draw(rng, n, p, size):
    out = np.empty(size, np.int64)
    for i in range(size):
        out[i] = binomial(rng, n, p)
    return out


CASES = [
    (1, 0.3),
    (3, 0.5),
    (40, 0.03),
    (40, 0.97),
    (857, 0.75),
    (10**5, 0.7),
    (10**7, 0.25),
    (10**12, 1e-6),
]
SIZE = 300_000


def distance_to_binomial(sample, n, p):
    """Kolmogorov distance; the inequality of Dvoretzky, Kiefer and Wolfowitz holds with ties."""
    values, counts = np.unique(sample, return_counts=True)
    empirical = np.cumsum(counts) / sample.size
    at = np.abs(empirical - stats.binom.cdf(values, n, p))
    before = np.abs(np.append(0.0, empirical[:-1]) - stats.binom.cdf(values - 1, n, p))
    return max(at.max(), before.max())


@pytest.mark.statistical
@pytest.mark.parametrize(("n", "p"), CASES)
def test_law(n, p):
    share = 1 / len(CASES)
    sample = draw(np.random.default_rng(n), n, p, SIZE)
    assert distance_to_binomial(sample, n, p) <= one_sample_limit(SIZE, share)


@pytest.mark.parametrize(("n", "p"), CASES)
def test_another_law_is_refuted(n, p):
    """Negative control: a twentieth of a standard deviation aside."""
    shifted = p + 0.05 * np.sqrt(p * (1 - p) / n)
    sample = draw(np.random.default_rng(n), n, p, SIZE)
    assert distance_to_binomial(sample, n, shifted) > one_sample_limit(SIZE, 1 / len(CASES))


@pytest.mark.statistical
def test_variance_and_tail():
    """The second moment and the share far from the mean, where a wrong correction would show."""
    n, p = 1000, 0.25
    sample = draw(np.random.default_rng(5), n, p, 4_000_000)
    far = int(np.sum(np.abs(sample - 250) > 20))
    share = stats.binom.cdf(229, n, p) + stats.binom.sf(270, n, p)
    assert stats.binomtest(far, sample.size, share).pvalue > 5e-7
    spread = np.sum((sample - n * p) ** 2) / (n * p * (1 - p) * sample.size)
    assert abs(spread - 1) < 5.5 * np.sqrt(2 / sample.size)
    assert stats.binomtest(far, sample.size, 1.02 * share).pvalue < 1e-6


@pytest.mark.parametrize("n", [0, 1, 7, 10**15])
def test_certain_outcomes(n):
    rng = np.random.default_rng(0)
    assert binomial(rng, n, 0.0) == 0
    assert binomial(rng, n, 1.0) == n


@pytest.mark.parametrize("p", [1e-300, 1e-17, 0.5, 1 - 2**-53])
def test_outcomes_stay_in_range(p):
    rng = np.random.default_rng(0)
    for n in (1, 2, 10**9, 2**62):
        assert all(0 <= binomial(rng, n, p) <= n for _ in range(200))
