"""Bounds on the samples of private stopping under a promised standard deviation."""

from __future__ import annotations

import math
from typing import NamedTuple

from dpbandits._validation import check_kind
from dpbandits.bounds.bernstein import bernstein_samples, bernstein_scale
from dpbandits.bounds.stopping import BelowQuarter, check_law, mixture_rate
from dpbandits.configuration import (
    Budget,
    Fraction,
    NonNegative,
    Number,
    Positive,
    checked_arguments,
)
from dpbandits.rewards.laws import Law
from dpbandits.stopping.base import check_mean
from dpbandits.stopping.promised import CONFIRMING, DENIED, REACH, DPPromisedStop

__all__ = [
    "LeastSamples",
    "promised_lower_bound",
    "promised_minimax_lower_bound",
    "promised_samples",
]


class LeastSamples(NamedTuple):
    """Lower bounds on the samples of every private rule.

    Attributes
    ----------
    median : float
        For every n below it, a run has halted by n samples with probability below 1/2.
    mean : float
        Bound on the mean number of samples.

    Examples
    --------
    >>> promised_lower_bound(0.1, 0.5, 0.05, epsilon=0.1, promise=1e-4).median < 22
    True
    """

    median: float
    mean: float


def _least(log_rate: float, share: float, beta: float) -> LeastSamples:
    """Return the bounds that follow from P(τ ≤ n) ≤ β + share·e^(n·log_rate)."""
    if math.isinf(log_rate):
        return LeastSamples(0.0, 0.0)
    last = math.floor(math.log((1.0 - beta) / share) / log_rate)
    series = 1.0  # Σ e^(n·log_rate), n = 0, …, last
    if last:
        series = math.expm1((last + 1) * log_rate) / math.expm1(log_rate)
    mean = (last + 1) * (1.0 - beta) - share * series
    return LeastSamples(math.log((0.5 - beta) / share) / log_rate, max(mean, 0.0))


@checked_arguments
def promised_lower_bound(
    mean: Number,
    alpha: Fraction,
    beta: BelowQuarter,
    epsilon: Budget,
    promise: Positive,
    deviation: NonNegative = 0.0,
    half_range: Positive = 1.0,
) -> LeastSamples:
    """Bound from below the samples of any ε-DP rule that is right on laws of deviation ≤ σ.

    On every law with this mean and deviation s ≤ σ, P(τ ≤ n) ≤ β + β(1 − d(1 − e^(−ε)))^(−n). With
    δ = 2α|μ|/(1 + α) and h = σ² + δ² − s², d is the larger of 2δ²/(h + √(h² + 4s²δ²)), which is
    δ²/(δ² + σ²) for s = 0, and δ/(R + |μ|), as without a promise. Proof:
    :prf:ref:`thm-promised-lower`.

    Parameters
    ----------
    mean : float
        Mean μ ≠ 0 of the samples, in [−R, R].
    alpha : float
        Relative error α, in (0, 1).
    beta : float
        Probability β of a larger error, in (0, 1/4).
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed.
    promise : float
        σ > 0, for which the rule is right.
    deviation : float
        Standard deviation s of the law, at most σ and R.
    half_range : float
        R > 0: the samples lie in [−R, R].

    Returns
    -------
    LeastSamples
        The bounds, positive for ε = ∞ as well.

    Examples
    --------
    >>> least = promised_lower_bound(0.1, 0.5, 0.05, epsilon=0.1, promise=0.03)
    >>> round(least.median, 1), round(least.mean, 1)
    (26.7, 23.5)
    """
    size = check_mean(mean, alpha, half_range) / half_range
    promised, own = min(promise / half_range, 1.0), deviation / half_range
    if not own <= promised:
        allowed = "at most the promise, and R"
        raise ValueError(f"deviation={deviation!r} is out of range; allowed: {allowed}")
    move = 2.0 * alpha * size / (1.0 + alpha)
    promised, own = promised / move, own / move  # in units of δ
    spare = (promised - own) * (promised + own)  # h − 1
    root = math.hypot(1.0 + spare, 2.0 * own)
    share, in_range = 2.0 / (1.0 + spare + root), move / (1.0 + size)
    rest = spare + spare * ((2.0 + spare) / (1.0 + root)) + 4.0 * own * (own / (1.0 + root))
    if share >= in_range:
        return _least(mixture_rate(share, rest / (1.0 + spare + root), epsilon), beta, beta)
    return _least(mixture_rate(in_range, 1.0 - in_range, epsilon), beta, beta)


@checked_arguments
def promised_minimax_lower_bound(
    mean: Number,
    alpha: Fraction,
    beta: BelowQuarter,
    epsilon: Budget,
    half_range: Positive = 1.0,
) -> LeastSamples:
    """Bound from below the samples of any ε-DP rule, on average over some laws without variance.

    There are m_μ = 2·⌈log(R/|μ|)/log ρ⌉ means, ρ = (1 + α)/(1 − α), of both signs, from |μ| to R,
    no two of which have an approximation in common. On average over the m_μ laws that are each
    constant at one of these, P(τ ≤ n) ≤ β + βe^(εn)/(m_μ − 1). So E τ is at least the bound on
    average, and thus on at least one of the laws; a rule may need fewer on any single one. No
    promised deviation, however small, improves on it. Proof: :prf:ref:`thm-promised-lower`.

    Parameters
    ----------
    mean : float
        The least mean μ ≠ 0, in [−R, R].
    alpha : float
        Relative error α, in (0, 1).
    beta : float
        Probability β of a larger error, in (0, 1/4).
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed.
    half_range : float
        R > 0: the samples lie in [−R, R].

    Returns
    -------
    LeastSamples
        The bounds; 0 for ε = ∞.

    Examples
    --------
    >>> least = promised_minimax_lower_bound(0.01, 0.5, 0.05, epsilon=0.1)
    >>> round(least.median, 1), round(least.mean, 1)
    (43.9, 39.9)
    """
    size = check_mean(mean, alpha, half_range) / half_range
    steps = -math.log(size) / (math.log1p(alpha) - math.log1p(-alpha))
    others = 2 * max(1, math.ceil(steps)) - 1
    return _least(epsilon, beta / others, beta)


@checked_arguments
def promised_samples(rule: DPPromisedStop, law: Law) -> float:
    """Bound the mean number of samples of `DPPromisedStop` on a law that satisfies the promise.

    (n + r(3n + r'B))/p where windows decide: p is the least probability that an epoch chooses a
    right one, r the largest that it chooses "near 0", r' that this is confirmed, and B bounds the
    mean number of samples afterwards. Near 0 it is (n/p + 3n)/0.99 + B. Proof:
    :prf:ref:`thm-promised`.

    Parameters
    ----------
    rule : DPPromisedStop
        The rule, with β ≤ 1/10.
    law : Law
        Law of the samples, of mean μ ≠ 0.

    Returns
    -------
    float
        Number of samples.

    Raises
    ------
    ValueError
        If the law breaks the promise.

    Examples
    --------
    >>> from dpbandits.rewards.laws import low_variance
    >>> rule = DPPromisedStop(epsilon=0.1, alpha=0.5, beta=0.05, deviation=1e-4)
    >>> [round(promised_samples(rule, low_variance(mean, 1e-4))) for mean in (0.1, 0.03, 0.01)]
    [88, 90, 95]
    """
    check_kind("rule", rule, DPPromisedStop, "DPPromisedStop(0.1, 0.5, 0.05, 1e-4)")
    check_law(law)
    if not law.variance <= (rule.deviation * (1.0 + 1e-12)) ** 2:
        raise ValueError(f"law={law!r} breaks the promise; allowed: deviations of at most σ")
    last = rule.fallback
    tail = bernstein_samples(law, last.alpha, last.beta, last.epsilon)
    tail += 280.0 * bernstein_scale(law, last.alpha, last.epsilon)
    plan, cut = rule.plan, rule.cut
    if plan is None:
        return tail
    tail += 0 if cut is None else cut.most
    choice, size = plan.choice, abs(law.mean) / rule.half_range
    rate, n = choice.epsilon, choice.size
    right = plan.least_right * (1.0 - rule.straddle(law.mean))
    outside = n * math.log1p(math.expm1(rate) / REACH**2)
    if size <= plan.near - plan.margin:  # "near 0" may be right
        right = plan.least_right * (1.0 - plan.straddle)
        return (n / right + CONFIRMING * n) / (1.0 - DENIED) + tail
    chosen = choice.weight * 0.5 * math.exp(outside - rate * choice.threshold)
    confirmed = min(0.5 * math.exp(CONFIRMING * outside - rate * plan.confirmed_at), 1.0)
    if size < plan.near + plan.margin:
        confirmed = 1.0
    return (n + chosen * (CONFIRMING * n + confirmed * tail)) / right
