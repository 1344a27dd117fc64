"""Bounds on the regret of index algorithms on lazy batches, and on that of any private policy.

Derived here; `dpbandits.bounds.lazy_frame` has what they rest on.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpbandits._validation import check_positive, check_range
from dpbandits.bounds.lazy_frame import Frame, least_estimates
from dpbandits.bounds.regret import _fractions
from dpbandits.divergence_kernels import d_eps_kernel
from dpbandits.lazy_indices import ucb_width

__all__ = [
    "adap_klucb_regret",
    "dp_klucb_regret",
    "lazy_ucb_regret",
    "private_regret_rate",
]


def lazy_ucb_regret(
    means: ArrayLike,
    horizon: float,
    *,
    epsilon: float,
    sampling: float,
    noise: float,
    eta: float = 1.0,
    times: ArrayLike | None = None,
) -> Any:
    """Bound the expected pseudo-regret of AdaP-UCB and Lazy-UCB (derived here).

    The index x + √(c·log t/n) + d·log t/(εn) of an arm is below its mean with probability at most
    t^(−2c) + t^(−d)/2, by Hoeffding's inequality and the tail of the Laplace law.

    Parameters
    ----------
    means : array_like, shape (K,)
        Means of the arms.
    horizon : float
        Horizon T.
    epsilon : float
        Privacy budget ε, inf included.
    sampling, noise : float
        c and d, above 0.
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
    >>> small, large = (
    ...     lazy_ucb_regret([0.5, 0.4], 10**6, epsilon=e, sampling=1.5, noise=3.0)
    ...     for e in (0.1, 1.0)
    ... )
    >>> bool(small > large)
    True
    """
    sampling = check_positive("sampling", sampling)
    noise = check_positive("noise", noise)
    frame = Frame(means, horizon, times, epsilon, eta, forgets=True)
    private = 0.5 if math.isfinite(frame.epsilon) else 0.0
    thresholds = frame.best - np.vectorize(ucb_width)(
        frame.rewards, frame.log_times, sampling, noise, frame.epsilon
    )
    q = frame.too_low(
        lambda log_s: np.exp(-2 * sampling * log_s) + private * np.exp(-noise * log_s)
    )
    return frame.regret(lambda mean: frame.pulls(frame.reaching(mean, thresholds) + q))


def adap_klucb_regret(
    means: ArrayLike,
    horizon: float,
    *,
    epsilon: float,
    alpha: float,
    eta: float = 1.0,
    times: ArrayLike | None = None,
) -> Any:
    """Bound the expected pseudo-regret of AdaP-KLUCB (derived here).

    The index of an arm is below its mean with probability at most 1.5·t^(−α): the noise's width
    makes up for the noise but for t^(−α)/2, and then Chernoff's inequality for the sample mean.

    Parameters
    ----------
    means : array_like, shape (K,)
        Means of the arms.
    horizon : float
        Horizon T.
    epsilon : float
        Privacy budget ε, inf included.
    alpha : float
        α of the index, above 0.
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
    >>> means = [0.95, 0.85]
    >>> bool(
    ...     adap_klucb_regret(means, 10**6, epsilon=1.0, alpha=3.0)
    ...     < lazy_ucb_regret(means, 10**6, epsilon=1.0, sampling=1.5, noise=3.0)
    ... )
    True
    """
    alpha = check_positive("alpha", alpha)
    frame = Frame(means, horizon, times, epsilon, eta, forgets=True)
    levels = alpha * frame.log_times + 0 * frame.rewards
    none = np.zeros_like(frame.noises)
    lowest = least_estimates(frame.best, frame.rewards, none, math.inf, levels)
    thresholds = np.where(lowest > 0, lowest - levels / (frame.epsilon * frame.rewards), -math.inf)
    thresholds = np.maximum(thresholds, -1.0)  # certain from the mean down
    private = 1.5 if math.isfinite(frame.epsilon) else 1.0
    q = frame.too_low(lambda log_s: private * np.exp(-alpha * log_s))
    return frame.regret(lambda mean: frame.pulls(frame.reaching(mean, thresholds) + q))


def dp_klucb_regret(
    means: ArrayLike,
    horizon: float,
    *,
    epsilon: float,
    eta: float,
    slack: float,
    times: ArrayLike | None = None,
) -> Any:
    """Bound the expected pseudo-regret of DP-KLUCB (derived here).

    The index of an arm is below its mean with probability at most 1/(t·(1 + log t)^ξ), by
    Chernoff's inequality for rewards and noise together.

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
    slack : float
        ξ of the index, from 0 to 100.
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
    >>> long = 1e300
    >>> bound = dp_klucb_regret([0.5, 0.25], long, epsilon=0.5, eta=0.1, slack=3.0)
    >>> bool(bound < 1.5 * private_regret_rate([0.5, 0.25], 0.5) * math.log(long))
    True
    """
    slack = check_range("slack", slack, 0.0, 100.0)
    frame = Frame(means, horizon, times, epsilon, eta, forgets=False)
    levels = frame.log_times + slack * np.log1p(frame.log_times) + 0 * frame.rewards
    thresholds = least_estimates(frame.best, frame.rewards, frame.noises, frame.epsilon, levels)
    q = frame.too_low(lambda log_s: np.exp(-log_s - slack * np.log1p(log_s)))
    return frame.regret(lambda mean: frame.pulls(frame.reaching(mean, thresholds) + q))


def private_regret_rate(means: ArrayLike, epsilon: float) -> float:
    """Return a lower bound on lim inf regret/log T of any consistent ε-DP policy (derived here).

    Σ Δ_a/d_ε(μ_a, μ*) on Bernoulli arms with max mean below 1, the rate that Azize et al. (2025)
    state (reconstructed); `lai_robbins_rate` for ε = ∞, and never below
    `private_lower_bound_rate`. Asymptotic: at a finite T a policy may well lie below rate·log T.

    Parameters
    ----------
    means : array_like, shape (K,)
        Means of the arms.
    epsilon : float
        Privacy budget ε, inf included.

    Returns
    -------
    float
        Where the largest mean is 1 it is what the formula gives, and no bound.

    Raises
    ------
    ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> round(private_regret_rate([0.5, 0.25], 10.0), 3)
    1.911
    >>> round(private_regret_rate([0.5, 0.25], 0.1), 3)
    10.526
    """
    mu = _fractions("means", means)
    epsilon = check_positive("epsilon", epsilon, infinite=True)
    best = float(mu.max())
    others = mu[mu < best].tolist()
    return float(sum((best - mean) / d_eps_kernel(mean, best, epsilon) for mean in others))
