"""Private means of heavy-tailed rewards: truncation, Laplace noise, and how far they err.

Setting of Tao, Wu, Zhao & Wang (2022): E abs(X)^(1+v) ≤ u with v in (0, 1]; u and v are known, the
variance may be infinite. Rewards beyond a threshold B count as 0, X̃ = X·1{abs(X) ≤ B}.

Three facts serve every bound here:

- bias: abs(E X − E X̃) ≤ E abs(X)·1{abs(X) > B} ≤ u·B^−v, for abs(X) ≤ abs(X)^(1+v)·B^−v beyond B;
- second moment: E X̃² ≤ u·B^(1−v), for X² ≤ abs(X)^(1+v)·B^(1−v) up to B;
- a sum of n independent X̃ is sub-gamma in both directions,
  log E exp(λ·(S − E S)) ≤ n·u·B^(1−v)·λ²/(2(1 − λB/3)): Bernstein's inequality needs a bound on
  X̃ and its second moment *about 0*, not about the mean (Boucheron, Lugosi & Massart 2013,
  Theorem 2.10), so the scale is B/3 and not the 2B/3 of a centred variable.

A sub-gamma variable with variance factor w and scale c exceeds sqrt(2wL) + cL with probability
at most e^−L. Independent ones add up to variance factors' sum and the largest scale.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbandits._validation import (
    check_choice,
    check_flag,
    check_fraction,
    check_generator,
    check_order,
    check_positive,
)
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms.laplace import laplace_noise

__all__ = [
    "CENTRAL_FAILURE",
    "LOCAL_FAILURE",
    "RobustMean",
    "central_threshold",
    "central_width",
    "local_threshold",
    "local_width",
    "robust_mean",
]

CENTRAL_FAILURE = (1.5, 3.0)
"""`central_width` fails with at most these times e^−L: in one given direction, in either."""

LOCAL_FAILURE = (1.0, 2.0)
"""`local_width` fails with at most these times e^−L: in one given direction, in either."""


def central_threshold(
    n: float, moment: float, order: float, epsilon: float, log_term: float
) -> float:
    """Return the threshold B = (u·n·ε/L)^(1/(1+v)) for a mean with noise added once.

    It balances the bias u·B^−v with the noise, of which a Laplace variable of scale 2B/(nε)
    reaches 2BL/(nε) with probability e^−L. Paper's symbols: u is `moment`, v `order`.

    Parameters
    ----------
    n : float
        Number of rewards, positive.
    moment : float
        u > 0, a bound on E abs(X)^(1+v).
    order : float
        v in (0, 1].
    epsilon : float
        Privacy budget ε > 0.
    log_term : float
        L > 0: the bound may fail with a small multiple of e^−L.

    Returns
    -------
    float

    Examples
    --------
    >>> round(central_threshold(1000, 1.0, 1.0, 0.5, 5.0), 12)
    10.0
    """
    n, moment, order, epsilon, log_term = _checked(n, moment, order, epsilon, log_term)
    return float((moment * n * epsilon / log_term) ** (1 / (1 + order)))


def central_width(
    n: float,
    moment: float,
    order: float,
    epsilon: float,
    log_term: float,
    *,
    non_negative: bool = False,
) -> tuple[float, float]:
    """Return (err, factor): truncated mean plus one Laplace variable errs by at most factor·err.

    err = u^(1/(1+v))·(L/(nε))^(v/(1+v)) and factor = 1 + sqrt(2ε) + ε/3 + 2. It fails with
    probability at most 1.5·e^−L in one given direction, 3·e^−L in either (`CENTRAL_FAILURE`).

    Proof. With r = L/(nε) and B = (u/r)^(1/(1+v)) of `central_threshold`, u·B^−v = B·r = err.
    The bias is at most err. Bernstein's inequality bounds the deviation of the mean of the n
    truncated rewards by sqrt(2u·B^(1−v)·L/n) + BL/(3n), up to e^−L in each direction; here
    u·B^(1−v) = err·B and L/n = rε, so that this is (sqrt(2ε) + ε/3)·err. The noise has the
    scale 2B/(nε) and exceeds L times its scale, 2Br = 2·err, with probability ½e^−L in each
    direction. ∎

    For ε ≤ 1 the factor is at most 4.75, below the 6 behind the paper's constants 24 = 4·6
    and 12 = 2·6.

    Parameters
    ----------
    n, moment, order, epsilon, log_term : float
        As for `central_threshold`.
    non_negative : bool
        If no reward is negative, the truncated sum has sensitivity B instead of 2B, half the
        noise is enough, and the last term of the factor is 1.

    Returns
    -------
    err, factor : float

    Examples
    --------
    >>> err, factor = central_width(1000, 1.0, 1.0, 0.5, 5.0)
    >>> round(err, 12), round(factor, 4)
    (0.1, 4.1667)
    """
    n, moment, order, epsilon, log_term = _checked(n, moment, order, epsilon, log_term)
    noise = 1.0 if check_flag("non_negative", non_negative) else 2.0
    ratio = log_term / (n * epsilon)
    err = moment ** (1 / (1 + order)) * ratio ** (order / (1 + order))
    return float(err), 1 + math.sqrt(2 * epsilon) + epsilon / 3 + noise


def local_threshold(
    n: float, moment: float, order: float, epsilon: float, log_term: float
) -> float:
    """Return the threshold B = (u·ε·sqrt(n/L))^(1/(1+v)) for a mean of noised rewards.

    It balances the bias u·B^−v with the mean of n Laplace variables of scale 2B/ε, which is of
    order (B/ε)·sqrt(L/n).

    Parameters
    ----------
    n, moment, order, epsilon, log_term : float
        As for `central_threshold`.

    Returns
    -------
    float

    Examples
    --------
    >>> round(local_threshold(50_000, 1.0, 1.0, 1.0, 5.0), 12)
    10.0
    """
    n, moment, order, epsilon, log_term = _checked(n, moment, order, epsilon, log_term)
    return float((moment * epsilon * math.sqrt(n / log_term)) ** (1 / (1 + order)))


def local_width(
    n: float,
    moment: float,
    order: float,
    epsilon: float,
    log_term: float,
    *,
    non_negative: bool = False,
) -> tuple[float, float]:
    """Return (err, factor): a mean of n truncated, noised rewards errs by at most factor·err.

    err = u^(1/(1+v))·(sqrt(L/n)/ε)^(v/(1+v)) and, with q = sqrt(L/n),
    factor = 1 + sqrt(16 + 2εq) + max(2, ε/3)·q: 5 for long means. It fails with probability at
    most e^−L in one given direction, 2·e^−L in either (`LOCAL_FAILURE`), for every n ≥ 1.

    Proof. A Laplace variable of scale b has log E exp(λZ) = −log(1 − b²λ²) = b²λ² + (b²λ²)²/2 + …
    ≤ b²λ²/(1 − b·λ) for 0 ≤ bλ < 1: it is sub-gamma with variance factor 2b² and scale b. With
    b = 2B/ε, rewards and noise are independent, and the deviation of their common mean is at
    most sqrt(2(u·B^(1−v) + 8B²/ε²)·L/n) + max(B/3, 2B/ε)·L/n, up to e^−L in each direction.
    With r = q/ε and B = (u/r)^(1/(1+v)) of `local_threshold`, u·B^−v = B·r = err. Hence
    u·B^(1−v)·q² = (err·B)·q·(rε) = εq·err², and (B/ε)·q = err: the square root is
    sqrt(2εq + 16)·err, and the last term max(ε/3, 2)·q·err. The bias is at most err. ∎

    Bounding rewards and noise one by one, the noise as Chan, Shi & Song (2011, Lemma 2.8) do,
    gives 1 + 4√2 + sqrt(2εq) + εq/3 at twice the failure and only for n ≥ L.

    Parameters
    ----------
    n, moment, order, epsilon, log_term : float
        As for `central_threshold`.
    non_negative : bool
        If no reward is negative, noise of scale B/ε is enough, and the factor is
        1 + sqrt(4 + 2εq) + max(1, ε/3)·q.

    Returns
    -------
    err, factor : float

    Examples
    --------
    >>> err, factor = local_width(50_000, 1.0, 1.0, 1.0, 5.0)
    >>> round(err, 12), round(factor, 4)
    (0.1, 5.0225)
    """
    n, moment, order, epsilon, log_term = _checked(n, moment, order, epsilon, log_term)
    noise = 1.0 if check_flag("non_negative", non_negative) else 2.0
    root = math.sqrt(log_term / n)
    err = moment ** (1 / (1 + order)) * (root / epsilon) ** (order / (1 + order))
    deviation = math.sqrt(4 * noise**2 + 2 * epsilon * root) + max(noise, epsilon / 3) * root
    return float(err), 1 + deviation


class RobustMean(NamedTuple):
    """What `robust_mean` returns; all but the estimate is known before the data are.

    Attributes
    ----------
    estimate : float
        The private estimate of the mean.
    half_width : float
        It errs by more than this with probability at most `confidence`.
    bound : float
        Threshold B.
    noise_scale : float
        Scale of the Laplace noise: on the mean (global), on each truncated reward (local).
    guarantee : PrivacyGuarantee
        What is promised of the estimate.
    """

    estimate: float
    half_width: float
    bound: float
    noise_scale: float
    guarantee: PrivacyGuarantee


def robust_mean(
    x: Any,
    moment: float,
    order: float,
    epsilon: float,
    model: str = "global",
    confidence: float = 0.05,
    *,
    rng: np.random.Generator,
    non_negative: bool = False,
) -> RobustMean:
    """Estimate the mean of heavy-tailed rewards privately.

    Global model: the mean of x·1{abs(x) ≤ B} plus Lap(2B/(nε)), with L = log(3/β). Local model:
    every x·1{abs(x) ≤ B} carries its own Lap(2B/ε), and L = log(2/β). Thresholds and half-widths:
    `central_threshold`, `central_width`, `local_threshold`, `local_width`. The number of rewards
    is public; two data sets are neighbours if one reward differs.

    Parameters
    ----------
    x : array_like of float, shape (n,)
        Independent rewards of one law with E abs(X)^(1+v) ≤ u; not nan. Privacy holds whatever they
        are, the half-width only if the moment is as stated.
    moment : float
        u > 0.
    order : float
        v in (0, 1].
    epsilon : float
        Privacy budget ε > 0.
    model : {"global", "local"}
        Who adds the noise: the curator, once, or each reward's owner.
    confidence : float
        Probability β that the half-width may fail.
    rng : numpy.random.Generator
        Source of the noise.
    non_negative : bool
        Whether rewards are known to be non-negative: half the noise. Negative ones then count
        as 0, so that the guarantee does not rest on the data.

    Returns
    -------
    RobustMean

    Raises
    ------
    ValueError
        If an argument is out of range, or `x` is empty, not one-dimensional or has nan.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.pareto(1.8, 100_000)  # mean 1.25, infinite variance, E X^1.5 = 4.27
    >>> mean = robust_mean(x, 4.3, 0.5, epsilon=1.0, rng=rng)
    >>> abs(mean.estimate - 1.25) < mean.half_width < 0.5
    True
    >>> print(mean.guarantee)
    ε = 1, global, event level
    """
    rewards = _rewards(x)
    check_choice("model", model, ("global", "local"))
    confidence = check_fraction("confidence", confidence)
    check_generator("rng", rng)
    n = rewards.size
    is_global = model == "global"
    failure = (CENTRAL_FAILURE if is_global else LOCAL_FAILURE)[1]
    log_term = math.log(failure / confidence)
    threshold, width = (
        (central_threshold, central_width) if is_global else (local_threshold, local_width)
    )
    bound = threshold(n, moment, order, epsilon, log_term)
    err, factor = width(n, moment, order, epsilon, log_term, non_negative=non_negative)
    least = 0.0 if non_negative else -bound
    truncated = np.where((rewards >= least) & (rewards <= bound), rewards, 0.0)
    scale = (bound - least) / epsilon
    if is_global:
        scale /= n
        estimate = float(truncated.mean()) + float(laplace_noise(rng, scale, 1)[0])
    else:
        estimate = float((truncated + laplace_noise(rng, scale, n)).mean())
    guarantee = PrivacyGuarantee(model, epsilon)
    return RobustMean(estimate, factor * err, bound, scale, guarantee)


def _rewards(x: Any) -> NDArray[np.float64]:
    try:
        rewards = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        rewards = np.empty(0)
    if rewards.ndim != 1 or rewards.size == 0 or np.isnan(rewards).any():
        raise ValueError(
            f"x={x!r} is not a list of rewards; allowed: one dimension, one or more numbers, no nan"
        )
    return rewards


def _checked(
    n: float, moment: float, order: float, epsilon: float, log_term: float
) -> tuple[float, float, float, float, float]:
    return (
        check_positive("n", n),
        check_positive("moment", moment),
        check_order("order", order),
        check_positive("epsilon", epsilon),
        check_positive("log_term", log_term),
    )
