"""What many Laplace releases reveal together about one reward that enters all of them.

Release i shows a number that one changed reward moves by at most s_i, with Laplace noise of scale
b_i: its *loss* is e_i = s_i/b_i, and alone it is e_i-differentially private. For all of them:

- `basic_composition`: ε = ∑ e_i, with δ = 0; for Laplace noise no smaller ε has δ = 0.
- `advanced_composition`: a formula for ε at a given δ > 0; any releases with such losses.
- `delta_at` and `epsilon_at`: what is true of Laplace noise, between two numbers.
- `calibrate`: by what factor the losses may be multiplied for a given ε and δ.

The truth is that of independent releases whose centres are all moved by s_i. It is an upper bound
for what depends on earlier releases, too, such as which arm is released next, as long as the
losses, in their order, are not above those given: a Laplace law that is moved by less, and
whatever is computed from the releases, such as actions, can be told apart no better, whatever has
been seen before. Which of the two neighbouring streams is the real one makes no difference:
reflection exchanges the two Laplace laws of each release.
"""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Context
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits._validation import SMALLEST, check_number, check_positive
from dpbandits.privacy.laplace_composition import Inversion, Releases

__all__ = [
    "Bracket",
    "advanced_composition",
    "basic_composition",
    "calibrate",
    "delta_at",
    "epsilon_at",
]

Floats = NDArray[np.float64]

_CALIBRATION = 1e-6
"""Share of the greatest factor that `calibrate` may miss."""


class Bracket(NamedTuple):
    """Two numbers with the truth between them.

    A guarantee is to be declared with the upper one, a violation to be shown with the lower one.
    """

    lower: float
    upper: float

    @property
    def width(self) -> float:
        """The distance between the two."""
        return self.upper - self.lower


def basic_composition(losses: ArrayLike) -> float:
    """Return the sum of the losses: the ε of all releases together with δ = 0.

    Parameters
    ----------
    losses : array_like of float, shape (releases,)
        Sensitivity over scale of each release, at least 0.

    Returns
    -------
    float

    Examples
    --------
    >>> basic_composition([0.5, 0.25, 0.25])
    1.0
    """
    return math.fsum(_losses(losses))


def advanced_composition(losses: ArrayLike, delta: float) -> float:
    """Return the ε of all releases together by the theorem of advanced composition.

    With losses e_i it is

        ε = ∑ e_i(exp(e_i) − 1)/(exp(e_i) + 1) + √(2 log(1/δ) ∑ e_i²),

    one of the forms of Kairouz, Oh & Viswanath (2015), Theorem 3.5; Dwork, Rothblum & Vadhan
    (2010) have e_i(exp(e_i) − 1) in the first sum. It holds for all releases that are e_i-private
    each, whatever their noise, also where they are chosen by what was released before; it can be
    above `basic_composition`.

    Parameters
    ----------
    losses : array_like of float, shape (releases,)
        Privacy parameter of each release, at least 0.
    delta : float
        δ, above 0 and at most 1.

    Returns
    -------
    float

    Notes
    -----
    *Proof.* The privacy loss L of a release that is e-private lies in [−e, e], and
    E[exp(−L)] ≤ 1. There the convex exp(−l) is below its chord cosh(e) − l·sinh(e)/e. If
    E[exp(−L)] = 1, taking means gives E[L] ≤ e(cosh(e) − 1)/sinh(e) = e·tanh(e/2), the term of
    the first sum; and it is 1, as a bounded loss leaves no outcome to one of the two laws only.
    As L varies by at most 2e, given the past, the inequality of Azuma and Hoeffding says that the
    sum of the losses exceeds the first sum by x with a probability of at most
    exp(−x²/(2∑ e_i²)), which is δ for x the root. And δ(ε) = E[(1 − exp(ε − S))₊] ≤ P(S > ε). ∎

    Examples
    --------
    >>> round(advanced_composition([0.1] * 100, delta=1e-5), 3)
    5.298
    >>> basic_composition([0.1] * 100) > 5.298
    True
    """
    values = _losses(losses)
    allowed = "above 0 and at most 1"
    if not 0.0 < check_number("delta", delta, allowed) <= 1.0:
        raise ValueError(f"delta={delta!r} is out of range; allowed: {allowed}")
    means = math.fsum(values * np.tanh(0.5 * values))
    return means + math.sqrt(2.0 * -math.log(delta) * math.fsum(values**2))


def delta_at(epsilon: float, losses: ArrayLike, tolerance: float = 1e-6) -> Bracket:
    """Return the δ of Laplace releases at a given ε, between two numbers.

    δ is the largest P(A) − exp(ε)P'(A) over events A, with P and P' the laws of all releases
    together on neighbouring streams.

    Parameters
    ----------
    epsilon : float
        ε, at least 0.
    losses : array_like of float, shape (releases,)
        Sensitivity over scale of each release, at least 0.
    tolerance : float
        Width of the bracket, relative to δ, that is aimed at, from 1e-9 to 0.1. It is wider, by
        up to a hundred times, where ε is a sum of ± the losses of few releases, as there δ has a
        kink. Rounding adds some 1e-9 for a million releases.

    Returns
    -------
    Bracket
        Numbers that the truth is not below, and not above.

    Notes
    -----
    `dpbandits.privacy.laplace_composition` has the method, and the proof of the bracket. Time
    grows with the number of distinct losses, of which there may be a million.

    Examples
    --------
    One release of loss e has δ = 1 − exp((ε − e)/2), up to ε = e:

    >>> delta = delta_at(0.4, [1.0])
    >>> delta.lower <= 1 - math.exp(-0.3) <= delta.upper
    True
    >>> delta.width < 1e-6 * delta.upper
    True

    A hundred thousand small ones:

    >>> f"{delta_at(0.2, np.full(100_000, 1e-4)).upper:.4g}"
    '6.688e-13'
    """
    releases = _releases(losses, tolerance)
    allowed = "at least 0"
    if not check_number("epsilon", epsilon, allowed) >= 0.0:
        raise ValueError(f"epsilon={epsilon!r} is out of range; allowed: {allowed}")
    if releases is None or epsilon >= releases.total:
        return Bracket(0.0, 0.0)
    log_overlap = releases.log_overlap(epsilon)
    if log_overlap < math.log(tolerance):
        return Bracket(-math.expm1(log_overlap), 1.0)
    return Bracket(*Inversion(releases, float(epsilon), tolerance).bounds(float(epsilon)))


def epsilon_at(delta: float, losses: ArrayLike, tolerance: float = 1e-6) -> Bracket:
    """Return the ε of Laplace releases at a given δ, between two numbers.

    Parameters
    ----------
    delta : float
        δ, at least 0 and below 1; at 0 the answer is `basic_composition`.
    losses : array_like of float, shape (releases,)
        Sensitivity over scale of each release, at least 0.
    tolerance : float
        Width of the bracket of δ, relative to δ, that is aimed at; see `delta_at`.

    Returns
    -------
    Bracket
        Numbers that the least ε at which δ is enough is not below, and not above. Within 1e-5 of
        the sum of the losses, relative to it, the bracket can be as wide as that.

    Examples
    --------
    >>> losses = np.arange(1, 1001) ** -0.55
    >>> epsilon = epsilon_at(math.exp(-10), losses)
    >>> f"{epsilon.lower:.5f}, {epsilon.upper:.5f}"
    '10.03723, 10.03723'
    >>> advanced_composition(losses, math.exp(-10)) > epsilon.upper
    True
    """
    releases = _releases(losses, tolerance)
    allowed = "at least 0 and below 1"
    if not 0.0 <= check_number("delta", delta, allowed) < 1.0:
        raise ValueError(f"delta={delta!r} is out of range; allowed: {allowed}")
    if releases is None or delta == 0.0:
        total = 0.0 if releases is None else releases.total
        return Bracket(total, total)
    if delta <= -math.expm1(releases.log_overlap(releases.nearly)):
        return Bracket(releases.nearly, releases.total)
    guess = releases.guess_epsilon(delta)
    for _ in range(5):  # a bracket holds wherever the guess is, but is narrow near it only
        inversion = Inversion(releases, guess, tolerance)
        bracket = Bracket(*inversion.epsilons(delta, guess))
        better = min(bracket.upper, releases.nearly)
        if abs(better - guess) * inversion.tilt < 0.5:
            break
        guess = better
    return bracket


def calibrate(epsilon: float, delta: float, losses: ArrayLike) -> float:
    """Return the factor by which losses may be multiplied for a given privacy of all releases.

    Parameters
    ----------
    epsilon : float
        ε > 0 that all releases together may have.
    delta : float
        δ, at least 0 and below 1.
    losses : array_like of float, shape (releases,)
        Sensitivity over scale of each release, at least 0.

    Returns
    -------
    float
        A factor c with ``epsilon_at(delta, c * losses).upper <= epsilon``, with seven digits
        unless δ = 0. The greatest such factor is above it by a share of at most 2·10⁻⁶, and by
        what the bracket of `epsilon_at` is wide, which can be more where δ is near 1 or the sum of
        the losses near ε. Without releases there is no limit: ``inf``.

    Raises
    ------
    ValueError
        If an argument is out of its range, or `epsilon` so large or small that losses that add up
        to it are not all from 10^(−90) to 10^90.

    Notes
    -----
    Larger losses are never more private, since a Laplace law that is moved by less can be made of
    one that is moved by more: all factors up to the greatest are enough, and none above it.

    Examples
    --------
    A tree of 17 levels has a loss of ε/17 in each block that holds a reward. With δ = e^(−10) its
    ε may be larger than what all releases together come to:

    >>> factor = calibrate(1.0, math.exp(-10), [1 / 17] * 17)
    >>> round(factor, 4), epsilon_at(math.exp(-10), [factor / 17] * 17).upper <= 1.0
    (1.3186, True)
    """
    epsilon, total = check_positive("epsilon", epsilon), basic_composition(losses)
    if total == 0.0:
        epsilon_at(delta, losses)  # checks δ
        return math.inf
    values = np.asarray(losses, dtype=np.float64)
    least, most = float(values[values > 0.0].min()), float(values.max())
    low, high = 1e-90 * (total / least), 1e90 * (total / most)
    if not low <= epsilon <= high:
        raise ValueError(
            f"epsilon={epsilon!r} is out of range; allowed: for these losses from {low:g} to "
            f"{high:g}"
        )

    @lru_cache  # `brentq` asks again at both ends
    def surplus(log_factor: float) -> float:
        return epsilon_at(delta, math.exp(log_factor) * values).upper - epsilon

    if delta == 0.0:
        factor = epsilon / total
    else:
        low = math.log(epsilon / total) - _CALIBRATION  # enough even without δ
        high, step = low + 0.1, 0.2
        while surplus(high) <= 0.0:
            low, high, step = high, high + step, 2.0 * step
        from scipy.optimize import brentq  # slow to import

        factor = math.exp(brentq(surplus, low, high, xtol=_CALIBRATION / 4))
        factor = _round_down(factor * (1.0 - _CALIBRATION / 2))
    while epsilon_at(delta, factor * values).upper > epsilon:  # rounding, or a step of the bracket
        if delta == 0.0:
            factor *= 1.0 - 2.0**-52
        else:
            factor = _round_down(factor * (1.0 - _CALIBRATION / 4))
    return factor


def _round_down(factor: float) -> float:
    """Keep seven digits: the last bits of a root are not the same on all processors."""
    return float(Context(prec=7, rounding=ROUND_FLOOR).create_decimal_from_float(factor))


def _losses(losses: ArrayLike) -> Floats:
    """Return the losses as an array, after checking them."""
    allowed = f"a row of numbers, each 0 or from {SMALLEST:g} to {1 / SMALLEST:g}"
    values: Any = np.asarray(losses)
    if values.dtype.kind not in "iuf" and values.size:
        raise ValueError(f"losses={losses!r} are not numbers; allowed: {allowed}")
    values = values.astype(np.float64)
    fine = (values == 0.0) | ((values >= SMALLEST) & (values <= 1 / SMALLEST))
    if values.ndim != 1 or not fine.all():
        raise ValueError(f"losses={losses!r} are out of range; allowed: {allowed}")
    return values


def _releases(losses: ArrayLike, tolerance: float) -> Releases | None:
    """Return the releases, or None where they reveal nothing, after checking the arguments."""
    allowed = "from 1e-9 to 0.1"
    if not 1e-9 <= check_number("tolerance", tolerance, allowed) <= 0.1:
        raise ValueError(f"tolerance={tolerance!r} is out of range; allowed: {allowed}")
    values = _losses(losses)
    return Releases(values) if values.any() else None
