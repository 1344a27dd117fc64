"""Private means of heavy-tailed rewards: truncation, Laplace noise, and error bounds.

Setting of Tao, Wu, Zhao & Wang (2022): E∣X∣^(1+v) ≤ u with v in (0, 1]; u and v are known, the
variance may be infinite. Rewards beyond a threshold B count as 0, X̃ = X·1{∣X∣ ≤ B}: bias and
deviation are those of :prf:ref:`lem-truncation`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dpbandits._arrays import Floats, Rng
from dpbandits._validation import check_choice, check_noise, shown
from dpbandits.configuration import (
    Budget,
    Flag,
    Fraction,
    NonNegative,
    Order,
    Positive,
    checked_arguments,
)
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms import laplace_noise
from dpbandits.mechanisms.randomised_response import lie_probability, randomised_response
from dpbandits.rewards.sources import rounded_truncated

CENTRAL_FAILURE = (1.5, 3.0)
"""Multiples of e^−L that bound the failure of `central_width`: in one direction, and in either."""
LOCAL_FAILURE = (1.0, 2.0)
"""Multiples of e^−L that bound the failure of `local_width`: in one direction, and in either."""

CHANNELS = ("central", "local", "one-bit")
"""Channels of `fitted_mean`."""


@checked_arguments
def central_threshold(
    n: Positive, moment: Positive, order: Order, epsilon: Positive, log_term: Positive
) -> float:
    """Return the threshold B = (u·n·ε/L)^(1/(1+v)) for a mean with noise added once.

    It balances the bias u·B^−v with 2BL/(nε), which the noise exceeds with probability e^−L.
    Setting: Tao, Wu, Zhao & Wang (2022).

    Parameters
    ----------
    n : float
        Number of rewards, positive.
    moment : float
        u > 0: E∣X∣^(1+v) ≤ u.
    order : float
        v, in (0, 1].
    epsilon : float
        Privacy budget ε, positive and finite.
    log_term : float
        L > 0: the bound may fail with probability a small multiple of e^−L.

    Returns
    -------
    float
        The threshold B, in units of a reward.

    Examples
    --------
    >>> central_threshold(1000, moment=1.0, order=1.0, epsilon=0.5, log_term=5.0)
    10.0
    """
    return float((moment * n * epsilon / log_term) ** (1 / (1 + order)))


@checked_arguments
def central_width(
    n: Positive,
    moment: Positive,
    order: Order,
    epsilon: Positive,
    log_term: Positive,
    *,
    non_negative: Flag = False,
) -> tuple[float, float]:
    """Return err and factor: a truncated mean with one Laplace variable errs by at most factor·err.

    err = u^(1/(1+v))·(L/(nε))^(v/(1+v)) and factor = 1 + √(2ε) + ε/3 + 2. It fails with
    probability at most 1.5·e^−L in one given direction, 3·e^−L in either (`CENTRAL_FAILURE`).
    For ε ≤ 1 the factor is at most 4.75, below the 6 behind the paper's constants 24 = 4·6 and
    12 = 2·6. Proof: :prf:ref:`thm-central-mean`.

    If no reward is negative, half the noise suffices, and the last term of the factor is 1.

    Parameters
    ----------
    n : float
        Number of rewards, positive.
    moment : float
        u > 0: E∣X∣^(1+v) ≤ u.
    order : float
        v, in (0, 1].
    epsilon : float
        Privacy budget ε, positive and finite.
    log_term : float
        L > 0: the bound may fail with probability a small multiple of e^−L.
    non_negative : bool
        Whether rewards are known to be non-negative, which halves the noise.

    Returns
    -------
    err : float
        The order of the error, in units of a reward.
    factor : float
        Its constant.

    Examples
    --------
    >>> err, factor = central_width(1000, 1.0, 1.0, 0.5, 5.0)
    >>> round(err, 12), round(factor, 4)
    (0.1, 4.1667)
    """
    noise = 1.0 if non_negative else 2.0
    ratio = log_term / (n * epsilon)
    err = moment ** (1 / (1 + order)) * ratio ** (order / (1 + order))
    return float(err), 1 + math.sqrt(2 * epsilon) + epsilon / 3 + noise


@checked_arguments
def local_threshold(
    n: Positive, moment: Positive, order: Order, epsilon: Positive, log_term: Positive
) -> float:
    """Return the threshold B = (u·ε·√(n/L))^(1/(1+v)) for a mean of noisy rewards.

    It balances the bias u·B^−v with the mean of n Laplace variables of scale 2B/ε.

    Parameters
    ----------
    n : float
        Number of rewards, positive.
    moment : float
        u > 0: E∣X∣^(1+v) ≤ u.
    order : float
        v, in (0, 1].
    epsilon : float
        Privacy budget ε, positive and finite.
    log_term : float
        L > 0: the bound may fail with probability a small multiple of e^−L.

    Returns
    -------
    float
        The threshold B, in units of a reward.

    Examples
    --------
    >>> local_threshold(10_000, moment=1.0, order=1.0, epsilon=1.0, log_term=1.0)
    10.0
    """
    return float((moment * epsilon * math.sqrt(n / log_term)) ** (1 / (1 + order)))


@checked_arguments
def local_width(
    n: Positive,
    moment: Positive,
    order: Order,
    epsilon: Positive,
    log_term: Positive,
    *,
    non_negative: Flag = False,
) -> tuple[float, float]:
    """Return err and factor: a mean of n truncated, noisy rewards errs by at most factor·err.

    err = u^(1/(1+v))·(√(L/n)/ε)^(v/(1+v)) and, with q = √(L/n),
    factor = 1 + √(16 + 2εq) + max(2, ε/3)·q: 5 for long means. It fails with probability at
    most e^−L in one given direction, 2·e^−L in either (`LOCAL_FAILURE`), for every n ≥ 1. If no
    reward is negative, noise of scale B/ε suffices, and the factor is 1 + √(4 + 2εq) + max(1,
    ε/3)·q. Proof: :prf:ref:`thm-local-mean`.

    Parameters
    ----------
    n : float
        Number of rewards, positive.
    moment : float
        u > 0: E∣X∣^(1+v) ≤ u.
    order : float
        v, in (0, 1].
    epsilon : float
        Privacy budget ε, positive and finite.
    log_term : float
        L > 0: the bound may fail with probability a small multiple of e^−L.
    non_negative : bool
        Whether rewards are known to be non-negative, which halves the noise.

    Returns
    -------
    err : float
        The order of the error, in units of a reward.
    factor : float
        Its constant.
    """
    noise = 1.0 if non_negative else 2.0
    root = math.sqrt(log_term / n)
    err = moment ** (1 / (1 + order)) * (root / epsilon) ** (order / (1 + order))
    deviation = math.sqrt(4 * noise**2 + 2 * epsilon * root) + max(noise, epsilon / 3) * root
    return float(err), 1 + deviation


@checked_arguments
def fitted_cut(
    order: Order,
    bias: Positive = 1.0,
    linear: NonNegative = 0.0,
    square: NonNegative = 0.0,
    spread: NonNegative = 2.0,
) -> tuple[float, float]:
    """Return the χ that minimises a·χ^−v + √(s·χ^(1−v) + g·χ²) + m·χ, and the minimum.

    With a threshold B = χ·(u/r)^(1/(1+v)) every bound on the error of a truncated mean in this
    package is u^(1/(1+v))·r^(v/(1+v)) times such a sum: bias, Bernstein's root with the variance of
    the noise, and a term linear in B. In log χ each term is convex, and so is the sum; the best χ
    is found by bisection, and the bound is valid for *every* χ. Proof: :prf:ref:`thm-fitted`.

    Parameters
    ----------
    order : float
        v, in (0, 1].
    bias : float
        a > 0.
    linear : float
        m ≥ 0.
    square : float
        g ≥ 0; it and `linear` are not both 0.
    spread : float
        s ≥ 0.

    Returns
    -------
    cut : float
        χ.
    factor : float
        The minimum.

    Raises
    ------
    ValueError
        If `linear` and `square` are both 0.

    Examples
    --------
    >>> cut, factor = fitted_cut(1.0, linear=2.0, spread=0.0)  # 1/χ + 2χ
    >>> round(cut, 12) == round(0.5**0.5, 12), round(factor, 12) == round(8**0.5, 12)
    (True, True)
    """
    if linear == square == 0:
        raise ValueError(f"linear={linear!r} and square={square!r} are 0; allowed: one of them not")

    def terms(log_cut: float) -> tuple[float, float, float]:
        """Return the bias, the radicand, and the linear term."""
        under = spread * math.exp((1 - order) * log_cut) + square * math.exp(2 * log_cut)
        return bias * math.exp(-order * log_cut), under, linear * math.exp(log_cut)

    def falls(log_cut: float) -> bool:
        lost, under, line = terms(log_cut)
        slope = (1 - order) * spread * math.exp((1 - order) * log_cut)
        slope += 2 * square * math.exp(2 * log_cut)
        return slope / (2 * math.sqrt(under) if under else 1.0) + line < order * lost

    low, high = -300.0, 300.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if falls(middle) else (low, middle)
    lost, under, line = terms(high)
    return math.exp(high), lost + math.sqrt(under) + line


@checked_arguments
def fitted_mean(
    n: Positive,
    moment: Positive,
    order: Order,
    epsilon: Budget,
    log_term: Positive,
    channel: str = "central",
    *,
    non_negative: Flag = False,
) -> tuple[float, float]:
    """Return the threshold with the least proved half-width, and that half-width.

    ========= ===================================================== ============================
    channel   what is released                                      noise
    ========= ===================================================== ============================
    "central" the mean                                              Lap(2B/(nε)), once
    "local"   every truncated reward                                Lap(2B/ε), on each
    "one-bit" a yes of each x in [0, B], with probability           a lie with probability
              x/B before the lie                                    1/(1 + e^ε)
    ========= ===================================================== ============================

    The half-width fails in one given direction with probability at most 1.5·e^−L ("central") or
    e^−L. Proofs: :prf:ref:`thm-fitted`, :prf:ref:`thm-one-bit`. Without noise, ε = ``inf``, it is
    the truncated mean itself, or with "one-bit" that of rounded rewards.

    Parameters
    ----------
    n : float
        Number of rewards, positive.
    moment : float
        u > 0: E∣X∣^(1+v) ≤ u.
    order : float
        v, in (0, 1].
    epsilon : float
        Privacy budget ε > 0; ``inf`` for no noise.
    log_term : float
        L > 0.
    channel : {"central", "local", "one-bit"}
        The channel of the table.
    non_negative : bool
        Whether rewards are known to be non-negative, which halves Laplace noise; "one-bit" requires
        it.

    Returns
    -------
    bound : float
        The threshold B, in units of a reward.
    width : float
        The half-width, in units of a reward.

    Examples
    --------
    >>> for channel in ("central", "local", "one-bit"):
    ...     bound, width = fitted_mean(1e6, 1.0, 1.0, 1.0, 5.0, channel, non_negative=True)
    ...     print(f"{channel}: cut at {bound:.3g}, within {width:.3g}")
    central: cut at 387, within 0.00833
    local: cut at 15, within 0.134
    one-bit: cut at 17.1, within 0.117
    """
    check_choice("channel", channel, CHANNELS)
    power, rate = 1 / (1 + order), log_term / n
    noise = (1.0 if non_negative else 2.0) / epsilon
    if channel == "central":
        cut, factor = fitted_cut(order, linear=1 / 3 + noise)
    elif channel == "local":
        cut, factor = fitted_cut(order, linear=max(1 / 3, noise), square=4 * noise**2 / rate)
    else:
        per_bit = 1 / (2 * math.tanh(epsilon / 2) ** 2)  # Hoeffding, for a range B·coth(ε/2)
        cut, factor = fitted_cut(order, square=per_bit / rate, spread=0.0)
        # in units of B·√(L/n), where the others have B·L/n
    scale = (moment / rate) ** power
    return cut * scale, factor * moment**power * rate ** (order * power)


class RobustMean(NamedTuple):
    """Result of `robust_mean`; all but the estimate is known before the data are.

    Attributes
    ----------
    estimate : float
        The private mean.
    half_width : float
        Bound that the estimate's error exceeds with probability at most β.
    bound : float
        Threshold B: rewards larger in absolute value count as 0.
    noise_scale : float
        Scale of the noise, on the mean (central) or on each truncated reward (local); 0 with
        "one-bit", where bits are flipped instead.
    guarantee : PrivacyGuarantee
        Privacy of each reward.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> mean = robust_mean(rng.pareto(1.8, 1000), 4.3, 0.5, epsilon=1.0, model="local", rng=rng)
    >>> mean.noise_scale == 2 * mean.bound, mean.guarantee.model
    (True, 'local')
    """

    estimate: float
    half_width: float
    bound: float
    noise_scale: float
    guarantee: PrivacyGuarantee


@checked_arguments
def robust_mean(
    x: Any,
    moment: Positive,
    order: Order,
    epsilon: Positive,
    model: str = "central",
    confidence: Fraction = 0.05,
    *,
    rng: Rng | None = None,
    non_negative: Flag = False,
) -> RobustMean:
    """Estimate the mean of heavy-tailed rewards privately, with the best cut of `fitted_mean`.

    Central model: the mean of X̃ plus Lap(2B/(nε)), with L = log(3/β). Local model: every X̃ has
    its own Lap(2B/ε), and L = log(2/β); or each reward is released as one bit. The number of
    rewards is public; two data sets are neighbours if one reward differs.

    Parameters
    ----------
    x : array_like of float, shape (n,)
        Independent rewards of one law with E∣X∣^(1+v) ≤ u; not nan. Privacy holds for all rewards,
        the half-width only if the moment bound holds.
    moment : float
        u > 0.
    order : float
        v, in (0, 1].
    epsilon : float
        Privacy budget ε, positive and finite.
    model : {"central", "local", "one-bit"}
        Where noise is added: once by the curator, or to each reward by its owner; "one-bit" is for
        non-negative rewards.
    confidence : float
        Probability β, in (0, 1), that the half-width fails.
    rng : numpy.random.Generator, optional
        Source of the noise, for repeatable means: anyone who knows its seed can subtract the noise.
        By default `dpbandits.mechanisms.secure_generator`.
    non_negative : bool
        Whether rewards are known to be non-negative, which halves the noise. Negative ones then
        count as 0, so that the guarantee does not depend on the data.

    Returns
    -------
    RobustMean
        Estimate, half-width, threshold, noise and guarantee.

    Raises
    ------
    ValueError
        If `x` is not a list of numbers.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.pareto(1.8, 100_000)  # mean 1.25, infinite variance, E X^1.5 = 4.27
    >>> mean = robust_mean(x, 4.3, 0.5, epsilon=1.0, rng=rng)
    >>> abs(mean.estimate - 1.25) < mean.half_width < 0.35
    True
    >>> print(mean.guarantee)
    ε = 1, central, event level
    """
    rewards = _rewards(x)
    central = check_choice("model", model, CHANNELS) == "central"
    rng = check_noise("rng", rng)
    n, failure = rewards.size, CENTRAL_FAILURE if central else LOCAL_FAILURE
    numbers = n, moment, order, epsilon, math.log(failure[1] / confidence)
    bound, width = fitted_mean(*numbers, model, non_negative=non_negative)
    guarantee = PrivacyGuarantee("central" if central else "local", epsilon)
    if model == "one-bit":
        lie, ones = lie_probability(epsilon), rounded_truncated(rewards, bound, rng)
        share = randomised_response(rng, ones, n, epsilon) / n
        estimate = bound * (share - lie) / (1 - 2 * lie)
        return RobustMean(estimate, width, bound, 0.0, guarantee)
    least = 0.0 if non_negative else -bound
    truncated = np.where((rewards >= least) & (rewards <= bound), rewards, 0.0)
    scale = (bound - least) / epsilon
    if central:
        scale /= n
        estimate = float(truncated.mean()) + float(laplace_noise(rng, scale, 1)[0])
    else:
        estimate = float((truncated + laplace_noise(rng, scale, n)).mean())
    return RobustMean(estimate, width, bound, scale, guarantee)


def _rewards(x: Any) -> Floats:
    try:
        rewards = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        rewards = np.empty(0)
    if rewards.ndim != 1 or rewards.size == 0 or np.isnan(rewards).any():
        raise ValueError(
            f"x={shown(x)} is not a list of rewards; "
            "allowed: one dimension, one or more numbers, no nan"
        )
    return rewards
