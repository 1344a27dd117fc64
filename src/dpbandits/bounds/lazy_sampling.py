"""Bounds on the regret of Lazy-DP-TS and DP-IMED, which have no index that is valid on its own.

Derived here; `dpbandits.bounds.lazy_frame` has what they rest on.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, log_ndtr, logsumexp, ndtr, rel_entr, xlog1py, xlogy

from dpbandits._validation import check_flag, check_range
from dpbandits.bounds.lazy_frame import Frame, least_estimate, least_estimates
from dpbandits.divergence_kernels import calibrated_plus_kernel

__all__ = ["dp_imed_regret", "lazy_dp_ts_regret"]

FloatArray = NDArray[np.float64]

_SHARES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7)
"""Levels y = μ* − share·Δ_a that are tried for DP-IMED and Lazy-DP-TS."""

_SPREADS = (0.4, 0.6, 0.75, 0.9, 1.0)
"""Widths of the posterior that are tried for Lazy-DP-TS, in units of √(2 log T/n)."""


@njit(cache=True, nogil=True, error_model="numpy")
def _underrated(
    best: float,
    y: float,
    rewards: FloatArray,
    noises: FloatArray,
    counted: FloatArray,
    epsilon: float,
) -> FloatArray:
    """Return q_j of DP-IMED: Σ_i P(y_i < y and n_i·d(y_i, y) ≥ log(n_j/n_i)), shape (J,).

    d is the evidence of the index, d̃⁺ with as many noises as are counted.
    """
    result = np.zeros(rewards.size)
    for i in range(rewards.size):
        n, k = rewards[i], noises[i]
        for j in range(rewards.size):
            level = math.log(rewards[j] / n)
            x = y
            if level > 0.0:
                if n * calibrated_plus_kernel(0.0, y, counted[i] / n, epsilon) < level:
                    break  # and for all later j
                x = least_estimate(y, n, counted[i], epsilon, level)
            result[j] += math.exp(-n * calibrated_plus_kernel(x, best, k / n, epsilon))
    return result


def _mean_odds(best: float, y: float, rewards: FloatArray) -> FloatArray:
    """Bound E (1 − p)/p, p the chance that Normal(S/n, 1/n) is above y, S Binomial(n, μ*).

    Exact up to 2000 rewards; beyond, the odds fall in S, and with P(S ≤ nx) ≤ exp(−n·kl(x, μ*))
    they are added up on a grid from 1 down to 0.
    """
    result = []
    grid = np.linspace(1.0, 0.0, 2001)
    for n in rewards.tolist():
        x = np.arange(n + 1) / n if n < grid.size else grid
        z = math.sqrt(n) * (y - x)
        logs = log_ndtr(z) - log_ndtr(-z)
        if n < grid.size:
            ones = np.arange(n + 1)
            ways = -betaln(ones + 1, n - ones + 1) - math.log(n + 1)  # log of n over S
            logs += ways + xlogy(ones, best) + xlog1py(n - ones, -best)
        else:
            below = np.minimum(grid, best)
            tails = -n * (rel_entr(below, best) + rel_entr(1 - below, 1 - best))
            logs[1:] += tails[:-1]
        result.append(math.exp(min(float(logsumexp(logs)), 700.0)))
    return np.array(result)


def lazy_dp_ts_regret(
    means: ArrayLike,
    horizon: float,
    *,
    epsilon: float,
    alpha: float,
    eta: float = 1.0,
    times: ArrayLike | None = None,
) -> Any:
    """Bound the expected pseudo-regret of Lazy-DP-TS with a draw at each pull (derived here).

    Take a level y between μ_a and μ*. While arm a has released j batches, its θ is above y at
    min(b_{j+1}, T·P(Normal > √n_j(y − y'))) pulls at most in expectation, and at b_{j+1} if its
    centre is above y' by time T. While the best arm has released i, and its centre is at least its
    sample mean, the pulls of a with θ below y are at most b_{i+1}·E (1 − p)/p (Agrawal & Goyal
    2012), p the chance that its θ is above y. The noise's width makes up for a noise Z < 0 from
    time τ = e^(−εZ/α) on, at the latest at pull (3 + η)τ.

    Parameters
    ----------
    means : array_like, shape (K,)
        Means of the arms.
    horizon : float
        Horizon T.
    epsilon : float
        Privacy budget ε, inf included.
    alpha : float
        α of the centre, from 1.001 to 100.
    eta : float
        Growth η of the batches.
    times : array_like, optional
        Times at which the bound is wanted; None means T.

    Returns
    -------
    float or numpy.ndarray, of the shape of `times`

    Raises
    ------
    ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> means, long = [0.5, 0.4], 10**6
    >>> high = lazy_dp_ts_regret(means, long, epsilon=0.1, alpha=3.0)
    >>> bool(high > lazy_dp_ts_regret(means, long, epsilon=1.0, alpha=3.0))
    True
    """
    alpha = check_range("alpha", alpha, 1.001, 100.0)
    frame = Frame(means, horizon, times, epsilon, eta, forgets=True)
    when = frame.ends + frame.means.size
    under = 0.0 * when
    if math.isfinite(frame.epsilon):
        under = (3 + eta) / 2 * alpha / (alpha - 1) * when ** (1 - alpha)
    raised = alpha * frame.log_times / (frame.epsilon * frame.rewards)
    spread = np.sqrt(2 * frame.log_times / frame.rewards)

    def pulls(mean: float) -> FloatArray:
        least = np.full(frame.at.size, math.inf)
        for share in _SHARES:
            y = frame.best - share * (frame.best - mean)
            lost = under + frame.next_sizes * _mean_odds(frame.best, y, frame.rewards)
            likely = np.ones_like(frame.room)
            for part in _SPREADS:
                centre = y - part * spread
                thresholds = np.where(centre > 0, centre - raised, -1.0)
                above = frame.at[:, None] * ndtr(-part * np.sqrt(2 * frame.log_times))
                above = above / np.minimum(frame.next_sizes, frame.at[:, None])
                likely = np.minimum(likely, frame.reaching(mean, thresholds) + above)
            least = np.minimum(least, frame.pulls(likely, lost))
        return least

    return frame.regret(pulls)


def dp_imed_regret(
    means: ArrayLike,
    horizon: float,
    *,
    epsilon: float,
    eta: float,
    calibrated: bool = True,
    times: ArrayLike | None = None,
) -> Any:
    """Bound the expected pseudo-regret of DP-IMED (derived here).

    Take a level y between μ_a and μ*, and let d be the evidence of the index. When arm a is
    chosen at n_j, and some estimate is at least y, then n_j·d(y_a, y) ≤ log(T/n_j). If none is,
    the best arm with n_i is underrated so much that n_i·d(y_*, y) ≥ log(n_j/n_i), as log n_j is at
    most the index of a. The bound is the least over some y.

    Parameters
    ----------
    means : array_like, shape (K,)
        Means of the arms.
    horizon : float
        Horizon T.
    epsilon : float
        Privacy budget ε, inf included.
    eta : float
        Growth η of the grid.
    calibrated : bool
        Whether the evidence is d̃⁺ or d_ε.
    times : array_like, optional
        Times at which the bound is wanted; None means T.

    Returns
    -------
    float or numpy.ndarray, of the shape of `times`

    Raises
    ------
    ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> from dpbandits.bounds import private_regret_rate
    >>> bound = dp_imed_regret([0.9, 0.2], 10**6, epsilon=1.0, eta=1.0)
    >>> bool(private_regret_rate([0.9, 0.2], 1.0) * math.log(10**6) < bound < 1000)
    True
    """
    calibrated = check_flag("calibrated", calibrated)
    frame = Frame(means, horizon, times, epsilon, eta, forgets=False)
    levels = np.maximum(frame.log_times - np.log(frame.rewards), 0.0)
    counted = frame.noises if calibrated else np.zeros_like(frame.noises)

    def pulls(mean: float) -> FloatArray:
        least = np.full(frame.at.size, math.inf)
        for share in _SHARES:
            y = frame.best - share * (frame.best - mean)
            lowest = least_estimates(y, frame.rewards, counted, frame.epsilon, levels)
            thresholds = np.where(lowest > 0, lowest, -1.0)
            q = _underrated(frame.best, y, frame.rewards, frame.noises, counted, frame.epsilon)
            least = np.minimum(least, frame.pulls(frame.reaching(mean, thresholds) + q))
        return least

    return frame.regret(pulls)
