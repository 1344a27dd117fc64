"""Compiled divergences between Bernoulli laws, one pair of means at a time.

With m(λ, u) = log(1 − u + u·e^λ), every divergence here is a Legendre transform of m, restricted
to tilts |λ| ≤ ε and, if calibrated, with a penalty for the Laplace noise:

    d⁻(x, u) = sup {λx − m(λ, u) : 0 ≤ λ ≤ ε},
    d̃⁻(x, u, r) = sup {λx − m(λ, u) + r·log(1 − λ²/ε²) : 0 ≤ λ < ε},

for u < x; and d⁺(x, u) = d⁻(1 − x, 1 − u). The inner functions take a number together with its
complement (xc = 1 − x) and the gap x − u, so that the mirror image costs no digits, nor does a
gap far below x and u. `divergences` has the same for arrays, with validation.
"""

from __future__ import annotations

import math

from numba import njit

__all__ = [
    "calibrated_minus_kernel",
    "calibrated_plus_kernel",
    "d_eps_kernel",
    "d_minus_kernel",
    "d_plus_kernel",
    "kl_kernel",
    "legendre",
    "penalised",
    "restricted",
    "tilt",
    "tilted_mean",
]

_SMALL = 0.01  # below this relative change the series has more digits than the logarithm
_TINY_TILT = 1e-3  # the same for the cumulant
_HUGE_RATIO = 1e300
_TOLERANCE = 1e-8  # of tilts; what is maximised is flat there, so that its error is the square
_SPACING = 1.2e-16  # of doubles just below 1
_ROUNDS = 300
_PATIENCE = 10  # after so many rounds one bisection, against cycles


@njit(cache=True, nogil=True, error_model="numpy")
def _excess(t: float) -> float:
    """Return (1 + t)·log(1 + t) − t for |t| ≤ 0.01, by its series."""
    tail = 1 / 12 - t * (1 / 20 - t * (1 / 30 - t / 42))
    return t * t * (1 / 2 - t * (1 / 6 - t * tail))


@njit(cache=True, nogil=True, error_model="numpy")
def _relative_entropy(x: float, xc: float, u: float, uc: float, gap: float) -> float:
    """Return kl(x, u) for u < x as the sum of two terms that are not negative."""
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


@njit(cache=True, nogil=True, error_model="numpy")
def _centred_cumulant(tilt: float, u: float, uc: float) -> float:
    """Return m(λ, u) − λu, for tilts 0 ≤ λ ≤ 1."""
    if tilt < _TINY_TILT:
        variance, skew = u * uc, uc - u
        fourth = (1.0 - 6.0 * variance) / 24 + tilt * skew * (1.0 - 12.0 * variance) / 120
        return variance * tilt * tilt * (0.5 + tilt * (skew / 6 + tilt * fourth))
    if u <= uc:
        return math.log1p(u * math.expm1(tilt)) - tilt * u
    return math.log1p(uc * math.expm1(-tilt)) + tilt * uc


@njit(cache=True, nogil=True, error_model="numpy")
def legendre(tilt: float, x: float, xc: float, u: float, uc: float, gap: float) -> float:
    """Return λx − m(λ, u) for a tilt λ ≥ 0 under which the mean is at most x.

    Of three expressions, the one whose terms do not cancel: the tilted mean is at most x, and so
    the difference is at least a constant fraction of its first term.
    """
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


@njit(cache=True, nogil=True, error_model="numpy")
def restricted(x: float, xc: float, u: float, uc: float, gap: float, epsilon: float) -> float:
    """Return d⁻(x, u); zero if the gap is not positive."""
    if gap <= 0.0:
        return 0.0
    if math.isinf(epsilon) or gap <= u * xc * math.expm1(epsilon):  # logit x − logit u ≤ ε
        return _relative_entropy(x, xc, u, uc, gap)
    return legendre(epsilon, x, xc, u, uc, gap)


@njit(cache=True, nogil=True, error_model="numpy")
def tilted_mean(tilt: float, u: float, uc: float) -> tuple[float, float]:
    """Return p − u and p(1 − p), where p is the mean of Bernoulli(u) tilted by e^λ, λ ≥ 0."""
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


@njit(cache=True, nogil=True, error_model="numpy")
def _noise_tilt(gap: float, rate: float) -> float:
    """Return the t of [0, 1] at which the noise alone has the mean `gap`: 2ρt/(1 − t²) = gap."""
    if rate == 0.0:
        return 1.0
    return gap / (rate + math.hypot(rate, gap))


@njit(cache=True, nogil=True, error_model="numpy")
def _plain_tilt(
    x: float, xc: float, u: float, uc: float, gap: float, epsilon: float
) -> tuple[float, float, float, float]:
    """Solve `tilt` without noise: the tilt that moves the mean to x, at most ε."""
    if gap <= u * xc * math.expm1(epsilon):
        return math.log1p(gap / (u * xc)) / epsilon, gap, x * xc, 1.0
    moved, variance = tilted_mean(epsilon, u, uc)
    return 1.0, moved, variance, 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def _first_tilt(xc: float, u: float, gap: float, rate: float, epsilon: float) -> float:
    """Return a start for `tilt`: half the harmonic mean of what noise and rewards alone need."""
    noise = _noise_tilt(gap, rate)
    if xc <= 0.0:
        return min(noise, 1.0 - _SPACING)
    rewards = math.log1p(gap / (u * xc)) / epsilon
    return min(noise / (1.0 + noise / rewards), 1.0 - _SPACING)


@njit(cache=True, nogil=True, error_model="numpy")
def tilt(
    x: float,
    xc: float,
    u: float,
    uc: float,
    gap: float,
    rate: float,
    epsilon: float,
    start: float,
) -> tuple[float, float, float, float]:
    """Maximise λx − m(λ, u) + r·log(1 − λ²/ε²) over 0 ≤ λ < ε, for a positive gap x − u.

    The tilt t = λ/ε shifts the rewards' mean from u to p and the noise's from 0 to
    c = 2ρt/(1 − t²), ρ = r/ε, and the maximum is where p + c = x. Where the noise takes most of
    a further shift, Newton's method solves t = c⁻¹(x − p); where the rewards take it,
    λ = logit(x − c) − logit u: each is nearly linear there. Where it turns out not to be, the
    equation itself is linearised. A short step therefore means a small error. The sign of
    x − p − c keeps a bracket; a step that leaves it is replaced by a bisection.

    Parameters
    ----------
    x, xc, u, uc, gap : float
        Estimate, mean, their complements, and x − u > 0.
    rate : float
        ρ = r/ε ≥ 0.
    epsilon : float
        ε, finite.
    start : float
        First t; a default if not strictly between 0 and 1.

    Returns
    -------
    tuple of float
        t, p − u, p(1 − p), and which share of a further shift the rewards take.
    """
    if u <= 0.0 or uc <= 0.0:
        return _noise_tilt(gap, rate), 0.0, 0.0, 0.0
    if rate == 0.0:
        return _plain_tilt(x, xc, u, uc, gap, epsilon)
    t = start
    if not 0.0 < t < 1.0:
        t = _first_tilt(xc, u, gap, rate, epsilon)
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


@njit(cache=True, nogil=True, error_model="numpy")
def penalised(
    t: float, x: float, xc: float, u: float, uc: float, gap: float, ratio: float, epsilon: float
) -> float:
    """Return λx − m(λ, u) + r·log(1 − t²) at λ = εt."""
    value = legendre(epsilon * t, x, xc, u, uc, gap)
    if ratio > 0.0:
        value += ratio * math.log1p(-min(t * t, 1.0 - _SPACING))
    return value


@njit(cache=True, nogil=True, error_model="numpy")
def _calibrated(
    x: float, xc: float, u: float, uc: float, gap: float, ratio: float, epsilon: float
) -> float:
    """Return d̃⁻(x, u, r); zero if the gap is not positive."""
    if gap <= 0.0 or ratio == 0.0 or math.isinf(epsilon):
        return restricted(x, xc, u, uc, gap, epsilon)
    best = tilt(x, xc, u, uc, gap, ratio / epsilon, epsilon, 0.0)[0]
    return penalised(best, x, xc, u, uc, gap, ratio, epsilon)


@njit(cache=True, nogil=True, error_model="numpy")
def kl_kernel(x: float, y: float) -> float:
    """Return kl(x, y); see `divergences.kl`."""
    if x > y:
        return _relative_entropy(x, 1.0 - x, y, 1.0 - y, x - y)
    if x < y:
        return _relative_entropy(1.0 - x, x, 1.0 - y, y, y - x)
    return 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def d_minus_kernel(x: float, u: float, epsilon: float) -> float:
    """Return d⁻(x, u); see `divergences.d_minus`."""
    return restricted(x, 1.0 - x, u, 1.0 - u, x - u, epsilon)


@njit(cache=True, nogil=True, error_model="numpy")
def d_plus_kernel(x: float, u: float, epsilon: float) -> float:
    """Return d⁺(x, u); see `divergences.d_plus`."""
    return restricted(1.0 - x, x, 1.0 - u, u, u - x, epsilon)


@njit(cache=True, nogil=True, error_model="numpy")
def d_eps_kernel(x: float, y: float, epsilon: float) -> float:
    """Return d_ε(x, y); see `divergences.d_eps`."""
    if x > y:
        return d_minus_kernel(x, y, epsilon)
    return d_plus_kernel(x, y, epsilon)


@njit(cache=True, nogil=True, error_model="numpy")
def calibrated_minus_kernel(x: float, u: float, ratio: float, epsilon: float) -> float:
    """Return d̃⁻(x, u, r); see `divergences.calibrated_minus`."""
    return _calibrated(x, 1.0 - x, u, 1.0 - u, x - u, ratio, epsilon)


@njit(cache=True, nogil=True, error_model="numpy")
def calibrated_plus_kernel(x: float, u: float, ratio: float, epsilon: float) -> float:
    """Return d̃⁺(x, u, r); see `divergences.calibrated_plus`."""
    return _calibrated(1.0 - x, x, 1.0 - u, u, u - x, ratio, epsilon)
