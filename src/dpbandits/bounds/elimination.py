"""Bounds on pulls and regret of the eliminations with exact tests, with all constants."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from dpbandits._engine.elimination_epochs import Horizon, bennett_plan, tuned_epochs
from dpbandits._validation import SMALLEST
from dpbandits.bounds.regret import (
    GapSize,
    check_arms,
    check_times,
    elimination_last_epoch,
    regret_of_most_pulls,
    regret_of_pulls,
)
from dpbandits.configuration import (
    ArmCount,
    Budget,
    Count,
    Fraction,
    between,
    checked_arguments,
)
from dpbandits.mechanisms import laplace_sum_quantile

__all__ = [
    "bennett_elimination_failure",
    "bennett_elimination_pulls",
    "bennett_elimination_regret",
    "tuned_elimination_pulls",
    "tuned_elimination_regret",
]


@checked_arguments
def tuned_elimination_pulls(
    gap: GapSize, n_arms: ArmCount, horizon: Horizon, beta: Fraction, epsilon: Budget = math.inf
) -> int:
    """Bound the pulls of an arm of gap Δ_a by tuned DP-SE, as an exact sum.

    Σ n_e over e ≤ e(a), the first epoch with 2^−e ≤ Δ_a, and T if there is none. It is at most
    (64/3)·log(2/p)/Δ_a² + 16u/(εΔ_a) + e(a), and with probability at least 1 − β no arm exceeds it.
    Proof: :prf:ref:`thm-tuned`.

    Parameters
    ----------
    gap : float
        Gap Δ_a, in (0, 1].
    n_arms : int
        Number of arms K ≥ 2.
    horizon : int
        Horizon T, from 2 to 2^62.
    beta : float
        Confidence β, in (0, 1).
    epsilon : float
        Privacy budget ε > 0; ``inf`` for no privacy.

    Returns
    -------
    int
        Number of pulls, at most T.

    Examples
    --------
    >>> tuned_elimination_pulls(0.5, n_arms=2, horizon=10**6, beta=0.1)
    74
    """
    pulls = tuned_epochs(n_arms, horizon, beta, epsilon)
    return min(horizon, int(pulls[: elimination_last_epoch(gap)].sum()))


@checked_arguments
def tuned_elimination_regret(
    gaps: ArrayLike,
    horizon: Horizon,
    *,
    epsilon: Budget = math.inf,
    beta: Fraction | None = None,
    times: ArrayLike | None = None,
) -> Any:
    """Bound the expected pseudo-regret of tuned DP-SE.

    Σ Δ_a n_a with n_a at most `tuned_elimination_pulls` and Σ n_a ≤ t, plus β·t·max Δ for the case
    that the best arm is eliminated. Proof: :prf:ref:`thm-tuned`.

    Parameters
    ----------
    gaps : array_like of float, shape (K,)
        Gaps of all arms, in [0, 1], zeros for the best.
    horizon : int
        Horizon T of the algorithm, from 2 to 2^62.
    epsilon : float
        Privacy budget ε > 0; ``inf`` for no privacy.
    beta : float, optional
        Confidence β, in (0, 1); by default 1/T.
    times : array_like of float, optional
        Times t ≤ T at which to evaluate the bound; by default T.

    Returns
    -------
    float or numpy.ndarray of float
        The bound, in units of reward, of the shape of `times`.

    Examples
    --------
    >>> from dpbandits.bounds import elimination_regret
    >>> bounds = [f([0, 0.5], 10**6) for f in (tuned_elimination_regret, elimination_regret)]
    >>> bool(5 * bounds[0] < bounds[1])
    True
    """
    all_gaps = check_arms("gaps", gaps)
    confidence = 1 / horizon if beta is None else beta

    def pulls(gap: float) -> int:
        return tuned_elimination_pulls(
            max(gap, SMALLEST), all_gaps.size, horizon, confidence, epsilon
        )

    return regret_of_pulls(all_gaps, pulls, confidence, check_times(horizon, times))


@checked_arguments
def bennett_elimination_failure(n_arms: ArmCount, beta: Fraction) -> float:
    """Bound the probability that an arm gets more pulls than `bennett_elimination_pulls`.

    β·(6K − 1)/(4K − 1): the best arm is eliminated with probability at most β, and 2K more events
    in each epoch must not fail for the bounds on variances to be small enough. Proof:
    :prf:ref:`thm-bennett`.

    Parameters
    ----------
    n_arms : int
        Number of arms K ≥ 2.
    beta : float
        Confidence β, in (0, 1).

    Returns
    -------
    float
        The bound, less than 1.58·β.

    Examples
    --------
    >>> round(bennett_elimination_failure(2, 0.07), 12)
    0.11
    """
    return beta * (6 * n_arms - 1) / (4 * n_arms - 1)


@checked_arguments
def bennett_elimination_pulls(
    gap: GapSize,
    variance: Annotated[float, between(0, 0.5)],
    n_arms: ArmCount,
    horizon: Horizon,
    beta: Fraction,
    epsilon: Budget = math.inf,
    memory: Count = 4,
) -> int:
    """Bound the pulls of an arm of gap Δ_a by `BennettDPSE`.

    n_e of the first test with at least n̄_a rewards, where n̄_a is the smaller of
    4ℓ₂/Δ_a² + 4u/(εΔ_a) and max(40ℓ₂, 8.5(σ_a² + σ_*²)ℓ₂/Δ_a² + (14ℓ₂ + 7u/ε)/Δ_a),
    p = β/((4K − 1)E), ℓ₂ = log(2/p), and u is exceeded by the sum of 2m standard Laplace variables
    with probability p/2. At most 2n̄_a/(1 − 2^−m), for memory m. Proof: :prf:ref:`thm-bennett`.

    Parameters
    ----------
    gap : float
        Gap Δ_a, in (0, 1].
    variance : float
        Sum σ_a² + σ_*² of the variances of a reward of the arm and of a best one, at most 1/2.
    n_arms : int
        Number of arms K ≥ 2.
    horizon : int
        Horizon T, from 2 to 2^62.
    beta : float
        Confidence β, in (0, 1).
    epsilon : float
        Privacy budget ε > 0; ``inf`` for no privacy.
    memory : int
        Number of an arm's last releases that a test sums.

    Returns
    -------
    int
        Number of pulls, at most T.

    Examples
    --------
    >>> [bennett_elimination_pulls(0.02, v, 5, 10**8, 1e-8, 1.0) for v in (0.4, 0.01)]
    [507904, 63488]
    """
    plan = bennett_plan(n_arms, horizon, beta, epsilon, memory)
    level = beta / ((4 * n_arms - 1) * plan.rewards.size)
    more = math.log(2 / level)
    noise = laplace_sum_quantile(level, (2 * memory,), (1 / epsilon,))
    by_range = 4 * more / gap**2 + 4 * noise / gap
    by_variance = 8.5 * variance * more / gap**2 + (14 * more + 7 * noise) / gap
    needed = min(by_range, max(40 * more, by_variance))
    tests = np.flatnonzero(plan.rewards >= needed)
    return min(horizon, int(plan.pulls[: tests[0] + 1].sum())) if tests.size else horizon


@checked_arguments
def bennett_elimination_regret(
    means: ArrayLike,
    variances: ArrayLike,
    horizon: Horizon,
    *,
    epsilon: Budget = math.inf,
    beta: Fraction | None = None,
    memory: Count = 4,
    times: ArrayLike | None = None,
) -> Any:
    """Bound the expected pseudo-regret of `BennettDPSE`.

    Σ Δ_a n_a with n_a at most `bennett_elimination_pulls` and Σ n_a ≤ t, plus t·max Δ times
    `bennett_elimination_failure`. Among several best arms the one with the smallest variance
    counts. Proof: :prf:ref:`thm-bennett`.

    Parameters
    ----------
    means : array_like of float, shape (K,)
        Means of the arms, in [0, 1].
    variances : array_like of float, shape (K,)
        Variances of a reward of each, or bounds on them, in [0, 1/4].
    horizon : int
        Horizon T of the algorithm, from 2 to 2^62.
    epsilon : float
        Privacy budget ε > 0; ``inf`` for no privacy.
    beta : float, optional
        Confidence β, in (0, 1); by default 1/T.
    memory : int
        Number of an arm's last releases that a test sums.
    times : array_like of float, optional
        Times t ≤ T at which to evaluate the bound; by default T.

    Returns
    -------
    float or numpy.ndarray of float
        The bound, in units of reward, of the shape of `times`.

    Examples
    --------
    >>> means, T = [0.5, 0.48], 10**8
    >>> loud, quiet = (bennett_elimination_regret(means, [v, v], T) for v in (0.25, 0.0025))
    >>> bool(4 * quiet < loud)
    True
    """
    all_means = check_arms("means", means)
    spreads = check_arms("variances", variances, 0.25)
    if all_means.shape != spreads.shape:
        raise ValueError(
            f"variances={variances!r} are not as many as the means; allowed: one for each"
        )
    confidence = 1 / horizon if beta is None else beta
    gaps = all_means.max() - all_means
    both = spreads + spreads[gaps == 0].min()
    setting = all_means.size, horizon, confidence, epsilon, memory
    pairs, which = np.unique(np.array([gaps, both])[:, gaps > 0], axis=1, return_inverse=True)
    most = [bennett_elimination_pulls(max(g, SMALLEST), v, *setting) for g, v in pairs.T.tolist()]
    failure = bennett_elimination_failure(all_means.size, confidence)
    at = check_times(horizon, times)
    return regret_of_most_pulls(gaps[gaps > 0], np.array(most, float)[which], failure, at)
