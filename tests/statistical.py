"""Statistical assertions whose false-alarm probability is proved, not hoped for.

Accounting. A test that can fail by chance carries ``@pytest.mark.statistical`` and spends at most
``FALSE_ALARM`` = 1e-6: if it makes m comparisons, each gets 1e-6/m (argument `share`). Seeds are
fixed, so a test either always passes or always fails on one version of NumPy; the probability is
that of a false alarm when a change of code or of NumPy draws new numbers. ``conftest.py`` adds up
what a whole run spends. Every such test has a negative control: a wrong law that must be caught.

The inequalities hold for every law and every sample size that the functions accept:

- one sample against a law: Massart's constant in the Dvoretzky-Kiefer-Wolfowitz inequality,
  P(sup |F_n - F| > x) <= 2 exp(-2 n x^2), ties or not;
- two samples of equal size n >= 458: Wei & Dudley (2012), P(D > x) <= 2 exp(-n x^2);
- probabilities: exact binomial tails (Clopper-Pearson);
- means: Student's interval. Not exact; used where theory leaves a wide margin.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

FALSE_ALARM = 1e-6


def distance_to_law(sample, law):
    """Kolmogorov distance of a sample from a continuous law (a frozen scipy.stats variable)."""
    return float(stats.ks_1samp(sample, law.cdf, method="asymp").statistic)


def one_sample_limit(size, share=1.0):
    """Kolmogorov distance that a sample of the right law exceeds with probability 1e-6·share."""
    return math.sqrt(math.log(2 / (FALSE_ALARM * share)) / (2 * size))


def distance(sample, other):
    """Kolmogorov distance between two samples, ties allowed."""
    sample, other = np.sort(sample), np.sort(other)
    points = np.concatenate([sample, other])
    first = np.searchsorted(sample, points, side="right") / sample.size
    second = np.searchsorted(other, points, side="right") / other.size
    return float(np.abs(first - second).max())


def two_sample_limit(size, share=1.0):
    """Distance that two samples of one law exceed with probability at most 1e-6·share."""
    if size < 458:
        raise ValueError("the two-sample inequality needs at least 458 values in each sample")
    return math.sqrt(math.log(2 / (FALSE_ALARM * share)) / size)


def same_law(sample, other, share=1.0):
    """Whether two samples of equal size may come from one law."""
    sample, other = np.asarray(sample), np.asarray(other)
    assert sample.shape == other.shape, "the limit is for samples of equal size"
    return distance(sample, other) <= two_sample_limit(sample.size, share)


def same_law_of_counts(first, second):
    """Whether pulls of many runs, one row each, may have one law, by m + 1 comparisons.

    Each of the m columns, and how the first one and the one in the middle hang together.
    """
    first, second = (np.asarray(x).reshape(len(x), -1) for x in (first, second))
    limit, k = np.median(second[:, 0]), first.shape[1] // 2
    pairs = list(zip(first.T, second.T, strict=True))
    pairs.append(tuple(np.where(x[:, 0] <= limit, x[:, k], np.inf) for x in (first, second)))
    return all(same_law(x, y, share=1 / len(pairs)) for x, y in pairs)


def clopper_pearson(successes, trials, share=1.0):
    """Interval that misses the success probability with probability at most 1e-6·share."""
    tail = FALSE_ALARM * share / 2
    low = 0.0 if successes == 0 else stats.beta.ppf(tail, successes, trials - successes + 1)
    high = 1.0
    if successes < trials:
        high = stats.beta.ppf(1 - tail, successes + 1, trials - successes)
    return float(low), float(high)


def may_be_at_most(successes, trials, probability, share=1.0):
    """Whether the success probability may be at most `probability`: a one-sided binomial test."""
    return bool(stats.binom.sf(successes - 1, trials, min(probability, 1.0)) >= FALSE_ALARM * share)


def mean_may_be_at_most(sample, bound, share=1.0):
    """Whether the mean of the sample's law may be at most `bound`: Student's lower limit."""
    sample = np.asarray(sample, dtype=float)
    error = sample.std(ddof=1) / math.sqrt(sample.size)
    quantile = stats.t.ppf(1 - FALSE_ALARM * share, sample.size - 1)
    return bool(sample.mean() - quantile * error <= bound)
