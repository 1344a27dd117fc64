"""Bounds for the private stopping rules that start afresh in each epoch: ours, with constants."""

from __future__ import annotations

import math
from functools import partial
from typing import Annotated

from dpbandits._validation import SMALLEST, check_kind, check_range
from dpbandits.bounds.stopping import check_law
from dpbandits.configuration import (
    Budget,
    Count,
    Flag,
    Fraction,
    Number,
    Positive,
    checked_arguments,
)
from dpbandits.rewards.laws import Law
from dpbandits.stopping.base import check_mean
from dpbandits.stopping.bernstein import TESTS, BelowHalf
from dpbandits.stopping.hoeffding import DPHoeffdingStop

__all__ = [
    "bernstein_failure",
    "bernstein_samples",
    "bernstein_scale",
    "bernstein_test_samples",
    "hoeffding_stopping_samples",
]

_AtMostTenth = Annotated[
    float, partial(check_range, low=SMALLEST, high=0.1, allowed="above 0 and at most 0.1")
]
_APERY = 1.2020569031595942  # Σ 1/i³


@checked_arguments
def bernstein_failure(beta: BelowHalf) -> float:
    """Bound the probability that `DPBernsteinStop` releases a wrong estimate: Σ d_i ≤ β.

    Proof: :prf:ref:`thm-bernstein-private`.

    Parameters
    ----------
    beta : float
        The rule's error probability β, in (0, 1/2).

    Returns
    -------
    float
        β·Σ 1/(1.2021·i³), about 4·10⁻⁵·β below β.

    Examples
    --------
    >>> 0.0499 < bernstein_failure(0.05) < 0.05
    True
    """
    return beta * (_APERY / TESTS)


@checked_arguments
def bernstein_scale(law: Law, alpha: Fraction, epsilon: Budget, *, variance: Flag = True) -> float:
    """Return n* = max(q/(αμ)², R/(α|μ|), R/(εα|μ|)), the scale of `bernstein_samples`.

    q = σ² + μ² is the second moment; it is replaced by R² for the rule without the variance.

    Parameters
    ----------
    law : Law
        Distribution of the samples, of mean μ ≠ 0.
    alpha : float
        Relative error α, in (0, 1).
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed.
    variance : bool
        Whether the rule releases the second moment.

    Returns
    -------
    float
        Number of samples, without the factor log(1/β).

    Examples
    --------
    >>> from dpbandits.rewards.laws import low_variance
    >>> [round(bernstein_scale(low_variance(0.01, s), 0.5, 0.1)) for s in (0.1, 0.01)]
    [2000, 2000]
    >>> round(bernstein_scale(low_variance(0.01, 0.1), 0.5, 0.1, variance=False))
    40000
    """
    error = alpha * check_law(law)  # in units of R, like the second moment
    square = (law.variance + law.mean**2) / law.half_range / law.half_range if variance else 1.0
    return max(square / error**2, 1 / error, 1 / (epsilon * error))


@checked_arguments
def bernstein_test_samples(
    width: Positive,
    second_moment: Positive,
    test: Count,
    beta: BelowHalf,
    epsilon: Budget,
    half_range: Positive = 1.0,
) -> float:
    """Bound the planned samples of a test: 2.4·log(61i³/β)·max(2R/(εW), 2R/W, 1.7q̂/W²).

    Proof: :prf:ref:`thm-bernstein-private`, part 3. Without the variance q̂ is R².

    Parameters
    ----------
    width : float
        The announced width W > 0.
    second_moment : float
        The rule's q̂, from above 0 to R².
    test : int
        Number i of the test, from 1.
    beta : float
        The rule's error probability β, in (0, 1/2).
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed.
    half_range : float
        R > 0: the samples lie in [−R, R].

    Returns
    -------
    float
        Number of samples.

    Examples
    --------
    >>> wide, narrow = (bernstein_test_samples(w, 0.01, 1, 0.05, epsilon=1.0) for w in (0.1, 0.05))
    >>> narrow == 2 * wide
    True
    """
    if not second_moment <= half_range * half_range:
        raise ValueError(
            f"second_moment={second_moment!r} is out of range; allowed: at most half_range²"
        )
    spread = 2 * half_range / width
    rounds = 2.4 * (math.log(61) + 3 * math.log(test) - math.log(beta))
    return rounds * max(spread / epsilon, spread, 1.7 * second_moment / width / width)


@checked_arguments
def bernstein_samples(
    law: Law, alpha: Fraction, beta: _AtMostTenth, epsilon: Budget, *, variance: Flag = True
) -> float:
    """Bound the samples of `DPBernsteinStop` on independent samples of a law.

    The greatest N with N ≤ 3000·n*·log(8K³/β) and K = 1 + log(N/8)/log(3/2), the number of epochs;
    n* is `bernstein_scale`. Exceeded with probability at most 0.91·β. Proof:
    :prf:ref:`thm-bernstein-private`, part 4, whose constant is far above the samples of simulated
    runs.

    Parameters
    ----------
    law : Law
        Law of the samples, of mean μ ≠ 0.
    alpha : float
        Relative error α, in (0, 1).
    beta : float
        Probability β of a larger error, in (0, 0.1].
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed.
    variance : bool
        Whether the rule releases the second moment.

    Returns
    -------
    float
        Number of samples.

    Examples
    --------
    >>> from dpbandits import DPBernsteinStop, estimate
    >>> from dpbandits.rewards.laws import low_variance
    >>> law = low_variance(0.01, 0.1)
    >>> runs = estimate(DPBernsteinStop(0.1, 0.5, 0.05), law, n_runs=50)
    >>> bool(runs.samples.max() < bernstein_samples(law, 0.5, 0.05, 0.1))
    True
    """
    scale = 3000 * bernstein_scale(law, alpha, epsilon, variance=variance)
    samples, before = scale * math.log(8 / beta), 0.0
    while samples - before > 1e-12 * samples:  # upwards, to the only fixed point beyond
        before = samples
        epochs = 1 + math.log(samples / 8) / math.log(1.5)
        samples = scale * (math.log(8 / beta) + 3 * math.log(epochs))
    return samples


@checked_arguments
def hoeffding_stopping_samples(rule: DPHoeffdingStop, mean: Number) -> int:
    """Bound the samples of `DPHoeffdingStop`: the end of the first epoch with (1 + α)w ≤ α|μ|.

    Exceeded with probability at most β. Proof: :prf:ref:`thm-fresh-hoeffding`.

    Parameters
    ----------
    rule : DPHoeffdingStop
        The rule.
    mean : float
        Mean μ ≠ 0 of the samples, in [−R, R].

    Returns
    -------
    int
        Number of samples.

    Raises
    ------
    ValueError
        If the rule is of another class.

    Examples
    --------
    >>> from dpbandits import DPHoeffdingStop
    >>> hoeffding_stopping_samples(DPHoeffdingStop(epsilon=0.1, alpha=0.5, beta=0.05), 0.1)
    65520
    """
    check_kind("rule", rule, DPHoeffdingStop, "DPHoeffdingStop(1.0, 0.5, 0.05)")
    size = check_mean(mean, rule.alpha, rule.half_range)
    return rule.time_to_width(rule.alpha * size / (1 + rule.alpha))
