"""What all bounds on the regret of algorithms with lazy batches rest on (derived here).

All batches of an arm are fixed in advance: batch j has b_j pulls, e_j is their number up to its
end, and the estimate from then on has n_j rewards and k_j Laplace variables. Batch j + 1 of a
suboptimal arm a that begins with pull number t has t ≥ e_j + K, and if the best arm has finished i
batches by then, t ≥ e_i + e_j + K − 1. For each j let p_j bound the probability that the estimate
of a is so high that a can be chosen by time T although the best arm is not underrated, and q_j the
probability that the best arm is underrated when batch j + 1 begins. Then

    E N_a(T) ≤ b_1 + Σ_j min(b_{j+1}, T − e_j − K + 1)⁺ · min(1, p_j + q_j).

For an index that increases with the estimate and with t, "underrated" means an index below the
best mean, and q_j = Σ_i f_i(e_i + e_j + K − 1), f_i(s) a bound on P(index after i releases, at time
s, is below the best mean): an index that is too low at some later time is too low at s. All tails
of estimates are Chernoff's with the exact law of a sum of rewards and Laplace variables
(`calibrated_minus`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from dpbandits._validation import check_positive, check_range
from dpbandits.bounds.regret import _fractions, _times
from dpbandits.divergence_kernels import (
    calibrated_minus_kernel,
    calibrated_plus_kernel,
)
from dpbandits.schedules import batch_grid

__all__ = ["Frame", "least_estimate", "least_estimates"]

FloatArray = NDArray[np.float64]

_HALVINGS = 200


@njit(cache=True, nogil=True, error_model="numpy")
def least_estimate(mean: float, n: float, k: float, epsilon: float, level: float) -> float:
    """Return min {x ≤ mean : n·d̃⁺(x, mean, k/n) ≤ level}, to rounding from below.

    Examples
    --------
    >>> round(least_estimate(0.5, 100.0, 5.0, 1.0, 5.0), 4)
    0.3094
    """
    if level <= 0.0 or mean <= 0.0:
        return mean
    step = math.sqrt(0.5 * level / n) + 2.0**-60
    low, high = mean - step, mean
    while n * calibrated_plus_kernel(low, mean, k / n, epsilon) <= level:
        step *= 2.0
        low, high = mean - step, low
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if n * calibrated_plus_kernel(middle, mean, k / n, epsilon) <= level:
            high = middle
        else:
            low = middle
    return low


@njit(cache=True, nogil=True, error_model="numpy")
def least_estimates(
    mean: float,
    rewards: FloatArray,
    noises: FloatArray,
    epsilon: float,
    levels: FloatArray,
) -> FloatArray:
    """Return `least_estimate` for the levels, shape (times, J)."""
    result = np.empty(levels.shape)
    for c in range(levels.shape[0]):
        for j in range(rewards.size):
            result[c, j] = least_estimate(mean, rewards[j], noises[j], epsilon, levels[c, j])
    return result


@njit(cache=True, nogil=True, error_model="numpy")
def _reaching(
    mean: float, thresholds: FloatArray, rewards: FloatArray, noises: FloatArray, epsilon: float
) -> FloatArray:
    """Bound the probability that an estimate reaches a threshold, shape (times, J)."""
    result = np.empty(thresholds.shape)
    for c in range(thresholds.shape[0]):
        for j in range(rewards.size):
            n = rewards[j]
            x = thresholds[c, j]
            result[c, j] = math.exp(-n * calibrated_minus_kernel(x, mean, noises[j] / n, epsilon))
    return result


class Frame:
    """The batches of an arm, and what is common to all bounds."""

    def __init__(
        self,
        means: ArrayLike,
        horizon: float,
        times: ArrayLike | None,
        epsilon: float,
        eta: float,
        forgets: bool,
    ) -> None:
        self.means = _fractions("means", means)
        self.best = float(self.means.max())
        self.epsilon = check_positive("epsilon", epsilon, infinite=True)
        eta = check_range("eta", eta, 0.05, 100.0)
        self.wanted = _times(horizon, times)
        self.at = np.maximum(np.unique(self.wanted), 1.0)
        most = int(min(self.at.max(), 2.0**60))
        sizes, ends, rewards, noises = batch_grid(2 * most, eta, forgets)
        within = ends[:-1] <= most
        self.ends = ends[:-1][within].astype(np.float64)
        self.rewards = rewards[:-1][within].astype(np.float64)
        self.noises = noises[:-1][within].astype(np.float64)
        self.next_sizes = sizes[1:][within].astype(np.float64)
        self.room = np.minimum(
            self.next_sizes, np.maximum(self.at[:, None] - self.ends - self.means.size + 1, 0.0)
        )

    @property
    def log_times(self) -> FloatArray:
        """Log T of each time, shape (times, 1)."""
        result: FloatArray = np.log(self.at)[:, None]
        return result

    def too_low(self, failure: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """Return q_j = Σ_i f(e_i + e_j + K − 1) for an index, f a function of log s."""
        when = self.ends[:, None] + self.ends + self.means.size - 1
        result: FloatArray = failure(np.log(when)).sum(axis=0)
        return result

    def reaching(self, mean: float, thresholds: FloatArray) -> FloatArray:
        """Bound the probability that an arm's estimates reach thresholds of shape (times, J)."""
        return _reaching(mean, thresholds, self.rewards, self.noises, self.epsilon)

    def pulls(self, likely: FloatArray, lost: FloatArray | float = 0.0) -> FloatArray:
        """Bound E N_a, given p_j + q_j and the pulls lost in each state of the best arm."""
        result: FloatArray = 1.0 + np.sum(self.room * np.minimum(likely, 1.0), axis=1)
        result += np.sum((self.ends <= self.at[:, None]) * lost, axis=1)
        return np.minimum(result, self.at)

    def regret(self, pulls: Callable[[float], FloatArray]) -> Any:
        """Add up the regret of all suboptimal arms; `pulls` bounds E N_a for a given mean."""
        total = np.zeros(self.at.size)
        lower = self.means[self.means < self.best]
        for mean, arms in zip(*np.unique(lower, return_counts=True), strict=True):
            total += arms * (self.best - mean) * pulls(float(mean))
        worst = self.wanted * (self.best - self.means.min())
        return np.minimum(total[np.searchsorted(self.at, self.wanted)], worst)[()]
