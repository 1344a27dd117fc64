"""Bounds on the samples of stopping rules (Sajed & Sheffet 2019, "SS19"), with all constants."""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dpbandits._arrays import Floats
from dpbandits._validation import SMALLEST, check_kind, check_range, check_values
from dpbandits.configuration import (
    Budget,
    Flag,
    Fraction,
    Number,
    Positive,
    checked_arguments,
)
from dpbandits.rewards.laws import Law, TwoPointLaw
from dpbandits.stopping.halting import (
    boundary_kernel,
    query_allowance_kernel,
    sampling_width_kernel,
)
from dpbandits.stopping.nas import NASFamily, check_rule

__all__ = [
    "StoppingTimes",
    "dagum_rate",
    "loglog_bracket",
    "private_stopping_lower_bound",
    "stopping_complexity_lower_bound",
    "stopping_constant",
    "stopping_failure",
    "stopping_lower_bound",
    "stopping_samples",
    "stopping_times_repaired",
]


def _below(limit: float) -> Any:
    """Return the check of a probability below a limit."""
    below = math.nextafter(limit, 0.0)
    return partial(check_range, low=SMALLEST, high=below, allowed=f"between 0 and {limit:g}")


_BelowHalf = Annotated[float, _below(0.5)]
_Share = Annotated[float, partial(check_range, low=0.0, high=1.0, allowed="between 0 and 1")]
BelowQuarter = Annotated[float, _below(0.25)]
"""Type of a probability below 1/4."""


def _check_mean(mean: float, half_range: float) -> float:
    """Return |μ|/R."""
    allowed = f"non-zero, in [-{half_range:g}, {half_range:g}]"
    size = abs(mean) / half_range
    if not 1e-100 <= size <= 1:
        raise ValueError(f"mean={mean!r} is out of range; allowed: {allowed}")
    return size


def check_law(law: Law) -> float:
    """Return |μ|/R of a law."""
    check_kind("law", law, Law, "two_point(0.1)")
    return _check_mean(law.mean, law.half_range)


def _check_alpha(alpha: float, size: float, least: float = SMALLEST) -> float:
    """Raise for an absolute error α|μ|/R that would be lost in rounding."""
    if not alpha * size >= least:
        raise ValueError(
            f"alpha={alpha!r} is out of range; allowed: at least {least / size:g} for this mean"
        )
    return alpha


@checked_arguments
def loglog_bracket(a: Positive, b: Positive) -> tuple[float, float]:
    """Return U = log(a·log(1/b))/b and 2U, the ends of the interval in SS19's Fact 2.1.

    Proof: :prf:ref:`prop-fact`.

    Parameters
    ----------
    a : float
        A number above 1.
    b : float
        A number in (0, 1/16).

    Returns
    -------
    low, high : float
        U and 2U.
    """
    if not (a > 1 and b < 1 / 16):
        raise ValueError(f"a={a!r}, b={b!r} is out of range; allowed: a > 1 and b < 1/16")
    end = math.log(a * math.log(1 / b)) / b
    return end, 2 * end


class StoppingTimes(NamedTuple):
    """Terms t₀, t₁, t₂ of SS19's Theorem 3.3, in samples.

    Attributes
    ----------
    sampling : float
        t₀, for the randomness of the samples.
    queries : float
        t₁, for the comparisons.
    release : float
        t₂, for the release.

    Examples
    --------
    >>> StoppingTimes(100.0, 20.0, 3.0).total
    123.0
    """

    sampling: float
    queries: float
    release: float

    @property
    def total(self) -> float:
        """The sum t₀ + t₁ + t₂."""
        return self.sampling + self.queries + self.release


@checked_arguments
def stopping_failure(beta: Fraction, *, private: Flag = True) -> float:
    """Bound the probability that some event of the proof of SS19's Theorem 3.1 fails.

    β/8 · Σ 1/s² for sampling and as much for the queries, β/4 each for threshold and release:
    (1/2 + π²/24)·β ≈ 0.911·β. Without privacy β/2 · Σ 1/s² = β·π²/12 ≈ 0.822·β. Proof:
    :prf:ref:`thm-dpnas`, :prf:ref:`thm-nas`.

    Parameters
    ----------
    beta : float
        The rule's error probability β, in (0, 1).
    private : bool
        Whether the rule draws noise.

    Returns
    -------
    float
        The bound.

    Examples
    --------
    >>> round(stopping_failure(0.1), 4), round(stopping_failure(0.1, private=False), 4)
    (0.0911, 0.0822)
    """
    return beta * (0.5 + math.pi**2 / 24 if private else math.pi**2 / 12)


@checked_arguments
def stopping_samples(rule: NASFamily, mean: Number) -> int:
    """Bound the samples of a rule of the NAS family: SS19, Theorem 3.3, in the form of its proof.

    The first look time n with n|μ| ≥ n·h·(2 + 1/α) + 2σ₁·log(4/β) + 2σ₂·log(8s²/β) +
    (σ₃/α)·log(4/β): there the rule halts unless an event of probability `stopping_failure` happens,
    and its estimate is right as well. With a midpoint, n·h·(1 + 1/α) and (1 + 1/α)σ₃. Proof:
    :prf:ref:`thm-halting`, :prf:ref:`prop-dpnas-midpoint`.

    Parameters
    ----------
    rule : NASFamily
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
        If the rule is not of the NAS family.

    Examples
    --------
    >>> from dpbandits import DPExponentialNAS
    >>> stopping_samples(DPExponentialNAS(epsilon=0.1, alpha=0.5, beta=0.05), 0.1)
    131072
    """
    halting = check_rule(rule)

    def surely(look: int) -> float:
        # as floats, since either number may exceed machine integers
        n, number = float(rule.look_time(look)), float(look)
        # at worst, the errors that the boundary allows for occur once more, except for the release
        again = n * sampling_width_kernel(halting, n, number)
        again += query_allowance_kernel(halting, number)
        return float(boundary_kernel(halting, n, number) + again)

    return rule.time_to_reach(surely, mean)


@checked_arguments
def stopping_times_repaired(
    mean: Number, alpha: Fraction, beta: Fraction, epsilon: Budget, half_range: Positive = 1.0
) -> StoppingTimes:
    """Evaluate t₀, t₁, t₂ in a form for which SS19's Theorem 3.3 holds without conditions.

    t₀ = x²·λ, t₁ = y·λ, t₂ = (y/α)·log(4/β) with λ = log((4/β)·log(e·max(x, y))), x = R/(α|μ|) and
    y = R/(ε|μ|). Their sum, times `stopping_constant`, bounds the samples of `DPExponentialNAS`,
    except with probability `stopping_failure`. Proof: :prf:ref:`thm-halting-closed`.

    Parameters
    ----------
    mean : float
        Mean μ ≠ 0 of the samples, in [−R, R].
    alpha : float
        Relative error α, in (0, 1).
    beta : float
        Probability β of a larger error, in (0, 1).
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed.
    half_range : float
        R > 0: the samples lie in [−R, R].

    Returns
    -------
    StoppingTimes
        The three terms, in samples.
    """
    x, y = _units(mean, alpha, epsilon, half_range)
    log_term = math.log(4 / beta * (1 + math.log(max(x, y))))
    return StoppingTimes(x**2 * log_term, y * log_term, y / alpha * math.log(4 / beta))


def _units(mean: float, alpha: float, epsilon: float, half_range: float) -> tuple[float, float]:
    """Return x = R/(α|μ|) and y = R/(ε|μ|)."""
    size = _check_mean(mean, half_range)
    return 1 / (_check_alpha(alpha, size) * size), 1 / (epsilon * size)


@checked_arguments
def stopping_constant(beta: Fraction) -> float:
    """Return the constant C(β) that replaces 2000 before `stopping_times_repaired`.

    C = 8q²/(4q − p) with p = 18c₀, q = 48c₁, and with b = log(4/β), κ = log2(3Cb):
    c₀ = max(2, (b + log 4 + 2·log κ)/b), c₁ = (b + log(2)/2 + log κ)/b. It decreases as β → 0, is
    below 342 for every β, and below 200 for β ≤ 0.08. Proof: :prf:ref:`thm-halting-closed`.

    Parameters
    ----------
    beta : float
        Error probability β, in (0, 1).

    Returns
    -------
    float
        The constant.

    Examples
    --------
    >>> stopping_constant(0.08) < 200 < stopping_constant(0.9) < 342
    True
    """
    base = math.log(4 / beta)
    # upwards from the limit for β → 0: C does not decrease in any round
    constant, before = 100.0, 0.0
    while constant - before > 1e-12 * constant:
        before = constant
        log_look = math.log(math.log2(3 * constant * base))
        p = 18 * max(2.0, (base + math.log(4) + 2 * log_look) / base)
        q = 48 * (base + math.log(2) / 2 + log_look) / base
        constant = 8 * q**2 / (4 * q - p)
    return constant


@checked_arguments
def dagum_rate(law: Law, alpha: Fraction, beta: Fraction) -> float:
    """Return max(σ², R·α|μ|)·log(1/β)/(α²μ²): Dagum et al. (2000), without its constant.

    SS19, §3.1, quotes it in this form. With log((1 − β)/β) in place of log(1/β),
    `stopping_lower_bound` is at least (1 − 2β)/23 of it. Proof: :prf:ref:`thm-dagum`.

    Parameters
    ----------
    law : Law
        Law of the samples, of mean μ ≠ 0.
    alpha : float
        Relative error α, in (0, 1).
    beta : float
        Probability β of a larger error, in (0, 1).

    Returns
    -------
    float
        The rate, in samples.
    """
    size = check_law(law)
    error = _check_alpha(alpha, size) * size  # in units of R, like the variance
    relative = max(law.variance / law.half_range / law.half_range, error) / error**2
    return relative * math.log(1 / beta)


@checked_arguments
def stopping_lower_bound(law: Law, alpha: Fraction, beta: _BelowHalf) -> float:
    """Bound from below the expected samples, on `law`, of any rule that is right on every law.

    A rule is right if it has relative error α, except with probability β < 1/2, for every mean
    other than 0. The bound is (1 − 2β)·log((1 − β)/β)/I, I the least relative entropy KL(P, Q) from
    the law P to a law Q on [−R, R] whose mean has no (1 ± α)-approximation in common with μ. Proof:
    :prf:ref:`thm-dagum`.

    Parameters
    ----------
    law : Law
        Law of the samples, of mean μ ≠ 0.
    alpha : float
        Relative error α, in (0, 1).
    beta : float
        Probability β of a larger error, in (0, 1/2).

    Returns
    -------
    float
        Number of samples.

    Examples
    --------
    >>> from dpbandits.rewards.laws import two_point
    >>> bounds = [stopping_lower_bound(two_point(mean), 0.5, 0.05) for mean in (0.1, 0.05)]
    >>> bounds[0] < bounds[1]
    True
    """
    size = check_law(law)
    alpha = _check_alpha(alpha, size, 1e-10)  # an entropy needs a larger one
    sign = math.copysign(1.0, law.mean)
    lower, upper = (1 - alpha) / (1 + alpha) * size, (1 + alpha) / (1 - alpha) * size
    costs = [_least_entropy(law, -sign, lower)]
    if upper < 1:
        costs.append(_least_entropy(law, sign, upper))
    return (1 - 2 * beta) * math.log((1 - beta) / beta) / min(costs)


@lru_cache(maxsize=1024)  # laws are frozen dataclasses: equal fields, equal laws
def _least_entropy(law: Law, direction: float, size: float) -> float:
    """Return inf KL(P, Q) over laws Q on [−R, R] whose mean is moved to `size` (in |μ|/R).

    The dual of Honda & Takemura (2010): max over 0 ≤ v ≤ 1/(1 − m) of E log(1 − v(X − m)), for an
    increase to m in units of R; a decrease is an increase for −X.
    """
    target = math.copysign(1.0, law.mean) * size * direction
    scale = direction / law.half_range
    last = (1 - 1e-9) / (1 - target)  # at 1/(1 − m) itself the logarithm may be infinite

    def gain(log_v: float) -> float:
        v = last * math.exp(log_v)
        return law.expectation(lambda x: np.log1p(-v * (scale * x - target)))

    # the gain is concave in v, so it has one peak in log v, near which it is flat
    from scipy.optimize import minimize_scalar  # slow to import

    found = minimize_scalar(
        lambda log_v: -gain(log_v), bounds=(-30.0, 0.0), method="bounded", options={"xatol": 1e-7}
    )
    return max(gain(found.x), gain(0.0))


@checked_arguments
def private_stopping_lower_bound(
    mean: Number,
    alpha: Fraction,
    beta: BelowQuarter,
    epsilon: Budget,
    half_range: Positive = 1.0,
    *,
    two_point: Flag = False,
) -> float:
    """Bound from below the median samples of any ε-DP rule that is right on every law.

    log((1/2 − β)/β)/log γ: SS19, Theorem 3.4, with the sharp form of Lemma 3.5, for β < 1/4. On
    **every** law of mean μ, whatever its variance, γ = 1/(1 − d(1 − e^(−ε))) with d =
    2α|μ|/((1 + α)(R + |μ|)), the weight of the far end of the range that must be mixed in. On
    the law on {−R, R} γ = (1 + ga)/(1 + (1 − d)ga) with g = e^ε − 1 and a = (R + |μ|)/(2R), the
    probability of the near end. For ε = ∞, that is for any rule, γ is 1/(1 − d).
    Proof: :prf:ref:`thm-private-lower`.

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
    half_range : float
        R > 0: the samples lie in [−R, R].
    two_point : bool
        Whether the law is that on {−R, R}.

    Returns
    -------
    float
        Number of samples.

    Examples
    --------
    >>> budgets = (0.1, 1.0, math.inf)
    >>> [round(private_stopping_lower_bound(0.1, 0.5, 0.05, epsilon)) for epsilon in budgets]
    [380, 56, 35]
    """
    rate = _privacy_rate(mean, alpha, epsilon, half_range, two_point)
    return math.log((0.5 - beta) / beta) / rate


@checked_arguments
def mixture_rate(share: _Share, rest: _Share, epsilon: Budget) -> float:
    """Return log 1/(1 − d(1 − e^(−ε))): the evidence of one sample for P against (1 − d)P + dS."""
    kept = rest + share * math.exp(-epsilon)
    if kept > 0.5:
        return -math.log1p(share * math.expm1(-epsilon))
    return -math.log(kept) if kept > 0.0 else math.inf


def _privacy_rate(
    mean: float, alpha: float, epsilon: float, half_range: float, two_point: bool
) -> float:
    """Return log γ, the largest change of a log probability by one sample."""
    size = _check_mean(mean, half_range)
    moved = alpha * size / (1.0 + alpha)  # p − q
    share = moved / (0.5 + 0.5 * size)
    if not two_point:
        return mixture_rate(share, 1.0 - share, epsilon)
    inverse = math.exp(-epsilon) / -math.expm1(-epsilon)  # 1/(e^ε − 1)
    return math.log1p(moved / (inverse + 0.5 + 0.5 * size - moved))


@checked_arguments
def stopping_complexity_lower_bound(
    law: Law, alpha: Fraction, beta: BelowQuarter, epsilon: ArrayLike = math.inf
) -> float | Floats:
    """Bound from below the expected samples of any ε-DP rule on `law`: SS19, Corollary 3.6.

    The largest of `stopping_lower_bound`, half of `private_stopping_lower_bound`, and
    log(1/β)/(8·log γ) with the γ of the latter, which is useful for β near 1/4. Proof:
    :prf:ref:`cor-lower`.

    Parameters
    ----------
    law : Law
        Law of the samples, of mean μ ≠ 0.
    alpha : float
        Relative error α, in (0, 1).
    beta : float
        Probability β of a larger error, in (0, 1/4).
    epsilon : array_like of float
        Privacy budgets ε > 0; ``inf`` is allowed.

    Returns
    -------
    float or numpy.ndarray of float
        Number of samples, of the shape of `epsilon`.
    """
    check_law(law)
    on_ends = isinstance(law, TwoPointLaw) and law.high == -law.low == law.half_range

    budgets = check_values("epsilon", epsilon, SMALLEST, math.inf)

    def rate(budget: float) -> float:
        return _privacy_rate(law.mean, alpha, float(budget), law.half_range, on_ends)

    rates = np.vectorize(rate, otypes=[float])(budgets)
    private = max(math.log((0.5 - beta) / beta) / 2, math.log(1 / beta) / 8) / rates
    found: float | Floats = np.maximum(stopping_lower_bound(law, alpha, beta), private)[()]
    return found
