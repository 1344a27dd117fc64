"""Divergences between Bernoulli distributions for private best-arm identification.

Jourdan & Azize (2025). Our copy of the paper contains no formulas; these are reconstructed from the
reviews and replies. With m(λ, u) = log(1 − u + u·e^λ), every divergence here is a Legendre
transform of m, restricted to tilts |λ| ≤ ε and, if calibrated, with a penalty for the Laplace
noise:

    d⁻(x, u) = sup {λx − m(λ, u) : 0 ≤ λ ≤ ε},
    d̃⁻(x, u, r) = sup {λx − m(λ, u) + r·log(1 − λ²/ε²) : 0 ≤ λ < ε},

for u < x, and both also for private estimates x outside [0, 1]; d⁺(x, u) = d⁻(1 − x, 1 − u); and
d_ε = d⁻ + d⁺ = min over z of ε·|x − z| + kl(z, u) (:prf:ref:`lem-two-forms`). The functions named
``…_kernel`` are for single numbers, in compiled code and without checks. The inner ones take a
number together with its complement (xc = 1 − x) and the gap x − u, so that no digits are lost in
mirroring or for a gap far below x and u. The others broadcast arrays.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from dpbandits._arrays import Floats
from dpbandits._engine.kernels import kernel
from dpbandits._validation import SMALLEST, check_values

__all__ = [
    "calibrated_minus",
    "calibrated_plus",
    "d_eps",
    "d_minus",
    "d_plus",
    "kl",
    "total_variation",
]

ENDLESS = 1e80
"""From this ε on the noise has no effect in double precision: d̃ is computed as d.

With λ* the tilt at which d = d⁻(x, u) has its maximum, d ≥ d̃ ≥ λ*x − m(λ*, u) + r·log(1 − λ*²/ε²),
and log(1 − s) ≥ −2s for 0 ≤ s ≤ 1/2: d − d̃ ≤ 2rλ*²/ε² ≤ 2rλ*²·10⁻¹⁶⁰ if 2λ*² ≤ ε². Doubles
x and u strictly between 0 and 1 have λ* = logit x − logit u < 1500. Where x or u leaves (0, 1),
both are about ε·(x − u), beyond any evidence that is asked for.
"""
GREATEST = 1 / SMALLEST  # largest absolute value of an argument
_SMALL = 0.01  # below this relative change the series has more digits than the logarithm
_TINY_TILT = 1e-3  # the same for the cumulant
_HUGE_RATIO = 1e300
_TOLERANCE = 1e-8  # of tilts; the objective is flat at its maximum, so its error is the square
_SPACING = 1.2e-16  # of doubles just below 1
_ROUNDS = 300
_STEPS = 200  # of Newton's method for an index
_RESOLUTION = 2.3e-16  # of an index in [0, 1]
_PATIENCE = 10  # rounds between two bisections, against cycles


@kernel(error_model="numpy")
def _excess(t: float) -> float:
    """Return h(t) = (1 + t)·log(1 + t) − t for |t| ≤ 0.01, by its series."""
    tail = 1 / 12 - t * (1 / 20 - t * (1 / 30 - t / 42))
    return t * t * (1 / 2 - t * (1 / 6 - t * tail))


@kernel(error_model="numpy")
def _relative_entropy(x: float, xc: float, u: float, uc: float, gap: float) -> float:
    """Return kl(x, u) for u < x: u·h(x/u − 1) + (1 − u)·h((1 − x)/(1 − u) − 1), both ≥ 0."""
    if xc < 0.0 or u <= 0.0:
        return math.inf
    if gap < _SMALL * u:
        ones = u * _excess(gap / u)
    elif gap < u:
        ones = x * math.log1p(gap / u) - gap
    elif x < _HUGE_RATIO * u:
        ones = x * math.log(x / u) - gap
    else:
        ones = x * (math.log(x) - math.log(u)) - gap
    if gap < _SMALL * uc:
        return ones + uc * _excess(-gap / uc)
    if xc == 0.0:
        return ones + gap
    if 2.0 * gap < uc:
        return ones + (xc * math.log1p(-gap / uc) + gap)
    return ones + (xc * math.log(xc / uc) + gap)


@kernel(error_model="numpy")
def _centred_cumulant(tilt: float, u: float, uc: float) -> float:
    """Return m(λ, u) − λu, for tilts 0 ≤ λ ≤ 1."""
    if tilt < _TINY_TILT:
        variance, skew = u * uc, uc - u
        fourth = (1.0 - 6.0 * variance) / 24 + tilt * skew * (1.0 - 12.0 * variance) / 120
        return variance * tilt * tilt * (0.5 + tilt * (skew / 6 + tilt * fourth))
    if u <= uc:
        return math.log1p(u * math.expm1(tilt)) - tilt * u
    return math.log1p(uc * math.expm1(-tilt)) + tilt * uc


@kernel(error_model="numpy")
def legendre(tilt: float, x: float, xc: float, u: float, uc: float, gap: float) -> float:
    """Return λx − m(λ, u), if the tilted mean is at most x, so that no terms cancel."""
    if tilt < 1.0:
        return tilt * gap - _centred_cumulant(tilt, u, uc)
    if u == 0.0:
        return tilt * x
    shrink = math.exp(-tilt)
    if u <= uc * shrink:
        return tilt * x - math.log1p(u * ((1.0 - shrink) / shrink))
    if u <= 0.5:
        return -tilt * xc - math.log(u + uc * shrink)
    return -tilt * xc - math.log1p(-uc * (1.0 - shrink))


@kernel(error_model="numpy")
def restricted(x: float, xc: float, u: float, uc: float, gap: float, epsilon: float) -> float:
    """Return d⁻(x, u); zero if the gap is not positive."""
    if gap <= 0.0:
        return 0.0
    if math.isinf(epsilon) or gap <= u * xc * math.expm1(epsilon):  # logit x − logit u ≤ ε
        return _relative_entropy(x, xc, u, uc, gap)
    return legendre(epsilon, x, xc, u, uc, gap)


@kernel(error_model="numpy")
def tilted_mean(tilt: float, u: float, uc: float) -> tuple[float, float]:
    """Return mean and variance of Bernoulli(u) tilted by e^λ."""
    if tilt < 0.5:
        lost = -math.expm1(-tilt)
        shrink = 1.0 - lost
    else:
        shrink = math.exp(-tilt)
        lost = 1.0 - shrink
    mass = u + uc * shrink
    if mass <= 0.0:  # u = 0
        return 0.0, 0.0
    return u * (uc * (lost / mass)), (u / mass) * (uc * (shrink / mass))


@kernel(error_model="numpy")
def noise_tilt(gap: float, rate: float) -> float:
    """Return the t at which the noise alone has the mean `gap`: 2ρt/(1 − t²) = gap."""
    if rate == 0.0:
        return 1.0
    return gap / (rate + math.hypot(rate, gap))


@kernel(error_model="numpy")
def tilt(
    x: float, xc: float, u: float, uc: float, gap: float, rate: float, epsilon: float, start: float
) -> tuple[float, float, float, float]:
    """Maximise λx − m(λ, u) + r·log(1 − λ²/ε²) over 0 ≤ λ < ε; λ is 0 if the gap is not positive.

    The tilt t = λ/ε shifts the rewards' mean from u to p and the noise's from 0 to
    c = 2ρt/(1 − t²), ρ = r/ε, and the maximum is at p + c = x. If the noise takes most of a further
    shift, Newton's method solves t = c⁻¹(x − p), and if the rewards do, λ = logit(x − c) − logit u:
    each is nearly linear there, and a short step means a small error. Otherwise p + c = x itself is
    linearised; a step that leaves the bracket is replaced by bisection.
    """
    if gap <= 0.0:
        return 0.0, 0.0, u * uc, 1.0
    if u <= 0.0 or uc <= 0.0:
        return noise_tilt(gap, rate), 0.0, 0.0, 0.0
    if rate == 0.0:  # the tilt that moves the mean to x, at most ε
        if gap <= u * xc * math.expm1(epsilon):
            return math.log1p(gap / (u * xc)) / epsilon, gap, x * xc, 1.0
        moved, variance = tilted_mean(epsilon, u, uc)
        return 1.0, moved, variance, 0.0
    t = start
    if not 0.0 < t < 1.0:  # half the harmonic mean of what noise and rewards alone need
        t = noise_tilt(gap, rate)
        if xc > 0.0:
            t /= 1.0 + t / (math.log1p(gap / (u * xc)) / epsilon)
        t = min(t, 1.0 - _SPACING)
    low, high = 0.0, 1.0
    moved = variance = noise_slope = 0.0
    for k in range(_ROUNDS):
        moved, variance = tilted_mean(epsilon * t, u, uc)
        room = (1.0 - t) * (1.0 + t)
        noise = 2.0 * rate * t / room
        noise_slope = 2.0 * rate * (1.0 + t * t) / (room * room * epsilon)
        left = gap - moved
        if left > noise:
            low = t
        else:
            high = t
        new = t + (left - noise) / ((variance + noise_slope) * epsilon)
        if variance <= noise_slope:
            root = math.hypot(rate, left)
            slope = variance * epsilon * rate / (root * (rate + root))
            if slope <= 1.0:
                new = t + (left / (rate + root) - t) / (1.0 + slope)
        else:
            rest, rest_c = gap - noise, xc + noise  # p − u and 1 − p, if the noise is right
            slope = noise_slope / ((u + rest) * rest_c)
            if rest > 0.0 and rest_c > 0.0 and slope <= 1.0:
                new = t + (math.log1p(rest / (u * rest_c)) / epsilon - t) / (1.0 + slope)
        if not low < new < high or k % _PATIENCE == _PATIENCE - 1:
            new = math.sqrt(low * high) if low > 0.0 and high < 0.5 else 0.5 * (low + high)
        step, t = new - t, new
        if abs(step) <= max(_TOLERANCE * min(t, 1.0 - t), _SPACING * t):
            break
    return t, moved, variance, variance / (variance + noise_slope)


@kernel(error_model="numpy")
def penalised(
    t: float, x: float, xc: float, u: float, uc: float, gap: float, ratio: float, epsilon: float
) -> float:
    """Return λx − m(λ, u) + r·log(1 − t²) at λ = εt."""
    value = legendre(epsilon * t, x, xc, u, uc, gap)
    if ratio > 0.0:
        value += ratio * math.log1p(-min(t * t, 1.0 - _SPACING))
    return value


@kernel(error_model="numpy")
def _calibrated(
    x: float, xc: float, u: float, uc: float, gap: float, ratio: float, epsilon: float
) -> float:
    """Return d̃⁻(x, u, r); zero if the gap is not positive."""
    if gap <= 0.0 or ratio == 0.0 or epsilon >= ENDLESS:
        return restricted(x, xc, u, uc, gap, epsilon)
    best = tilt(x, xc, u, uc, gap, ratio / epsilon, epsilon, 0.0)[0]
    return penalised(best, x, xc, u, uc, gap, ratio, epsilon)


@kernel(error_model="numpy")
def d_eps_kernel(x: float, y: float, epsilon: float) -> float:
    """Return d_ε(x, y), for single numbers and without checks."""
    if x > y:
        return restricted(x, 1.0 - x, y, 1.0 - y, x - y, epsilon)
    return restricted(1.0 - x, x, 1.0 - y, y, y - x, epsilon)


@kernel(error_model="numpy")
def calibrated_minus_kernel(x: float, u: float, ratio: float, epsilon: float) -> float:
    """Return d̃⁻(x, u, r), for single numbers and without checks."""
    return _calibrated(x, 1.0 - x, u, 1.0 - u, x - u, ratio, epsilon)


@kernel(error_model="numpy")
def calibrated_plus_kernel(x: float, u: float, ratio: float, epsilon: float) -> float:
    """Return d̃⁺(x, u, r), for single numbers and without checks."""
    return _calibrated(1.0 - x, x, 1.0 - u, u, u - x, ratio, epsilon)


@kernel(error_model="numpy")
def calibrated_plus_tangent(
    x: float, u: float, ratio: float, epsilon: float
) -> tuple[float, float]:
    """Return d̃⁺(x, u, r), and s for which its slope in u is s/(u(1 − u)).

    d̃⁺ is convex in u: its tangent lies below it. The relative error of the slope is up to 10⁻⁷.
    """
    uc, gap = 1.0 - u, u - x
    if gap <= 0.0 or ratio == 0.0 or epsilon >= ENDLESS:
        shift = tilt(1.0 - x, x, uc, u, gap, 0.0, epsilon, 0.0)[1]
        return restricted(1.0 - x, x, uc, u, gap, epsilon), shift
    best, shift, _, _ = tilt(1.0 - x, x, uc, u, gap, ratio / epsilon, epsilon, 0.0)
    return penalised(best, 1.0 - x, x, uc, u, gap, ratio, epsilon), shift


@kernel(error_model="numpy")
def calibrated_upper_kernel(x: float, n: float, k: float, epsilon: float, level: float) -> float:
    """Return max {q in [0, 1] : n·d̃⁺(x, q, k/n) ≤ level}, 0 if there is no such q.

    The largest mean that is consistent with an estimate: the index of DP-KLUCB, and with ε = ∞ that
    of KL-UCB. d̃⁺ is convex and increases in q ≥ x, and Newton's method from the right converges.
    """
    if x >= 1.0:
        return 1.0
    ratio, bound = k / n if epsilon < ENDLESS else 0.0, level / n
    low, high = max(x, 0.0), 1.0
    if calibrated_plus_kernel(x, 1.0, ratio, epsilon) <= bound:
        return 1.0
    if calibrated_plus_kernel(x, low, ratio, epsilon) > bound:
        return 0.0
    q = low + min(0.5 * (high - low), math.sqrt(0.5 * bound))
    for i in range(_STEPS):
        value, shift = calibrated_plus_tangent(x, q, ratio, epsilon)
        excess = value - bound
        if excess > 0.0:
            high = q
        else:
            low = q
        new = q - excess * (q * (1.0 - q)) / shift
        if not low < new < high or i % 20 == 19:
            new = 0.5 * (low + high)
        step, q = abs(new - q), new
        if step <= _RESOLUTION or high - low <= _RESOLUTION:
            break
    return q


_LIMITS = {
    **dict.fromkeys(("x", "mean_a", "mean_b"), (-GREATEST, GREATEST)),
    **dict.fromkeys(("y", "u"), (0.0, 1.0)),
    **dict.fromkeys(("weight_a", "weight_b", "ratio", "ratio_a", "ratio_b"), (0.0, GREATEST)),
    "epsilon": (SMALLEST, math.inf),
}


def elementwise(kernel: Callable[..., object], *arguments: ArrayLike, n_out: int = 1) -> Floats:
    """Return a kernel's value, or several, for checked and broadcast arguments."""
    names = inspect.signature(kernel).parameters
    checked = [check_values(n, v, *_LIMITS[n]) for n, v in zip(names, arguments, strict=False)]
    with np.errstate(all="ignore"):
        found = np.frompyfunc(kernel, len(checked), n_out)(*checked)
    return np.asarray(found, dtype=np.float64)[()]


def kl(x: ArrayLike, y: ArrayLike) -> Floats:
    """Return kl(x, y) = x·log(x/y) + (1 − x)·log((1 − x)/(1 − y)), infinite for x outside [0, 1].

    Parameters
    ----------
    x : array_like of float
        A mean, or an estimate, which can be any real number.
    y : array_like of float
        A mean, in [0, 1].

    Returns
    -------
    numpy.ndarray of float
        The divergence, of the broadcast shape of the arguments.

    Raises
    ------
    ValueError
        If `y` is out of range, or an argument does not contain numbers.

    Examples
    --------
    >>> kl([0.5, 0.5, 0.0], [0.25, 0.0, 0.0]).round(4).tolist()
    [0.1438, inf, 0.0]
    """
    return d_eps(x, y, math.inf)


def total_variation(x: ArrayLike, y: ArrayLike) -> Floats:
    """Return |x − y|, the total-variation distance of two Bernoulli distributions.

    Parameters
    ----------
    x : array_like of float
        Mean of the first distribution, in [0, 1].
    y : array_like of float
        Mean of the second distribution, in [0, 1].

    Returns
    -------
    numpy.ndarray of float
        The distance, of the broadcast shape of the arguments.

    Raises
    ------
    ValueError
        If a mean is out of range.

    Examples
    --------
    >>> total_variation([0.25, 0.5], 1.0).tolist()
    [0.75, 0.5]
    """
    return np.abs(check_values("x", x, 0.0, 1.0) - check_values("y", y, 0.0, 1.0))[()]


def d_eps(x: ArrayLike, y: ArrayLike, epsilon: ArrayLike) -> Floats:
    """Return d_ε(x, y), the divergence of best-arm identification under ε-differential privacy.

    It is kl(x, y) if |logit x − logit y| ≤ ε; otherwise εx − log(1 + y·(e^ε − 1)) for x > y and
    −εx − log(1 − y·(1 − e^−ε)) for x < y. It is at most kl(x, y) and at most ε·|x − y|.
    Source: Jourdan & Azize (2025).

    Parameters
    ----------
    x : array_like of float
        A mean, or a private estimate, which can be any real number.
    y : array_like of float
        A mean, in [0, 1].
    epsilon : array_like of float
        Privacy budget ε > 0; ``inf`` for kl.

    Returns
    -------
    numpy.ndarray of float
        The divergence, of the broadcast shape of the arguments.

    Raises
    ------
    ValueError
        If an argument is out of range, or does not contain numbers.

    Examples
    --------
    >>> import numpy as np
    >>> import dpbandits as dpb
    >>> dpb.d_eps([0.9, -1.5], 0.5, [[0.1], [np.inf]]).round(4).tolist()
    [[0.0388, 0.1988], [0.3681, inf]]
    """
    return elementwise(d_eps_kernel, x, y, epsilon)


def d_minus(x: ArrayLike, u: ArrayLike, epsilon: ArrayLike) -> Floats:
    """Return d⁻(x, u): d_ε(x, u) for u < x, and 0 for u ≥ x.

    It is the evidence of an estimate x against a mean of at most u.

    Parameters
    ----------
    x : array_like of float
        A mean, or a private estimate, which can be any real number.
    u : array_like of float
        A mean, in [0, 1].
    epsilon : array_like of float
        Privacy budget ε > 0; ``inf`` for the one-sided kl.

    Returns
    -------
    numpy.ndarray of float
        The divergence, of the broadcast shape of the arguments.

    Raises
    ------
    ValueError
        If an argument is out of range, or does not contain numbers.

    Examples
    --------
    >>> d_minus(0.6, [0.5, 0.7], 1.0).round(4).tolist(), d_plus(0.6, 0.7, 1.0).round(4)
    ([0.0201, 0.0], np.float64(0.0226))
    """
    return calibrated_minus(x, u, 0.0, epsilon)


def d_plus(x: ArrayLike, u: ArrayLike, epsilon: ArrayLike) -> Floats:
    """Return d⁺(x, u) = d⁻(1 − x, 1 − u): d_ε(x, u) for u > x, and 0 for u ≤ x.

    It is the evidence of an estimate x against a mean of at least u.

    Parameters
    ----------
    x : array_like of float
        A mean, or a private estimate, which can be any real number.
    u : array_like of float
        A mean, in [0, 1].
    epsilon : array_like of float
        Privacy budget ε > 0; ``inf`` for the one-sided kl.

    Returns
    -------
    numpy.ndarray of float
        The divergence, of the broadcast shape of the arguments.

    Raises
    ------
    ValueError
        If an argument is out of range, or does not contain numbers.
    """
    return calibrated_plus(x, u, 0.0, epsilon)


def calibrated_minus(x: ArrayLike, u: ArrayLike, ratio: ArrayLike, epsilon: ArrayLike) -> Floats:
    """Return d̃⁻(x, u, r) = max over 0 ≤ λ < ε of λx − log(1 − u + u·e^λ) + r·log(1 − λ²/ε²).

    n·d̃⁻ is the exact Chernoff exponent, for a deviation up to x, of the mean of n rewards
    Bernoulli(u) and rn Laplace variables of scale 1/ε (:prf:ref:`lem-rate`). It is 0 for u ≥ x, at
    most d⁻(x, u), and tends to it as r → 0; for ε = ∞ it is the one-sided kl, for every r ≥ 0. From
    ε = 10^80 on it is d⁻ to double precision, and computed so.

    Parameters
    ----------
    x : array_like of float
        A mean, or a private estimate, which can be any real number.
    u : array_like of float
        A mean, in [0, 1].
    ratio : array_like of float
        Number r ≥ 0 of Laplace variables per reward.
    epsilon : array_like of float
        Privacy budget ε > 0; ``inf`` is allowed.

    Returns
    -------
    numpy.ndarray of float
        The divergence, of the broadcast shape of the arguments.

    Raises
    ------
    ValueError
        If an argument is out of range, or does not contain numbers.

    Examples
    --------
    >>> calibrated_minus(0.9, 0.5, [0.0, 0.1, 1.0], 0.5).round(4).tolist()
    [0.1691, 0.0646, 0.0097]
    """
    return elementwise(calibrated_minus_kernel, x, u, ratio, epsilon)


def calibrated_plus(x: ArrayLike, u: ArrayLike, ratio: ArrayLike, epsilon: ArrayLike) -> Floats:
    """Return d̃⁺(x, u, r) = d̃⁻(1 − x, 1 − u, r), for deviations of the estimate down to x.

    Parameters
    ----------
    x : array_like of float
        A mean, or a private estimate, which can be any real number.
    u : array_like of float
        A mean, in [0, 1].
    ratio : array_like of float
        Number r ≥ 0 of Laplace variables per reward.
    epsilon : array_like of float
        Privacy budget ε > 0; ``inf`` is allowed.

    Returns
    -------
    numpy.ndarray of float
        The divergence, of the broadcast shape of the arguments.

    Raises
    ------
    ValueError
        If an argument is out of range, or does not contain numbers.
    """
    return elementwise(calibrated_plus_kernel, x, u, ratio, epsilon)
