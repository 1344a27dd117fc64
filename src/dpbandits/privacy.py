"""Joint privacy of Laplace releases that all depend on one reward.

Release i is a number that one changed reward moves by at most s_i, plus Laplace noise of scale b_i:
its *loss* is e_i = s_i/b_i, and by itself it is e_i-differentially private. For all of them
together `delta_at` and `epsilon_at` bracket the exact value between two numbers.

The exact value is that of independent releases whose centres all move by s_i. It is also an upper
bound if releases depend on earlier ones, such as which arm is released next, as long as the losses,
in their order, do not exceed the given ones: Laplace distributions that move by less, and all
functions of the releases, such as actions, are no easier to distinguish, given any history.

δ(ε) is an integral over the transform M of the losses' sum (:prf:ref:`lem-loss-transform`). The
bracket comes from kernels slightly above and below (:prf:ref:`lem-loss-smoothing`), a sum for the
integral (:prf:ref:`lem-loss-sampling`) and its truncation (:prf:ref:`lem-loss-truncation`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_FLOOR, Context
from functools import cache, partial
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits._arrays import Floats
from dpbandits._engine.kernels import kernel
from dpbandits._validation import SMALLEST, check_range
from dpbandits.configuration import Positive, between, checked_arguments

__all__ = [
    "Bracket",
    "advanced_composition",
    "basic_composition",
    "calibrate",
    "delta_at",
    "epsilon_at",
]

Complexes = NDArray[np.complex128]

_CALIBRATION = 1e-6  # relative distance of `calibrate` from the largest factor
_PARTS = 12  # m, the number of uniform variables in Y; `_kernels` has powers of 2·2·3
_SHARE = 0.05  # of the tolerance, for each of the smaller errors
_BINS = 256  # intervals of sizes, if there are more distinct ones
_MARGIN = 1e-5  # of the sum of the losses; closer to it rounding dominates
_ULP = 2.0**-52
_FAR = 1e-60  # least δ that `epsilon_at` integrates quickly
_Tolerance = Annotated[float, between(1e-9, 0.1)]
_Delta = Annotated[
    float,
    partial(check_range, low=0.0, high=math.nextafter(1.0, 0.0), allowed="at least 0 and below 1"),
]


class Bracket(NamedTuple):
    """Two numbers around the exact value: declare with the upper, refute with the lower.

    Attributes
    ----------
    lower : float
        Lower bound on the exact value.
    upper : float
        Upper bound on the exact value.

    Examples
    --------
    >>> bracket = epsilon_at(1e-5, [0.1] * 100)
    >>> bracket.lower <= bracket.upper, bracket.width < 1e-4
    (True, True)
    """

    lower: float
    upper: float

    @property
    def width(self) -> float:
        """The distance between the two."""
        return self.upper - self.lower


def basic_composition(losses: ArrayLike) -> float:
    """Return the sum of the losses: the least ε of all releases together with δ = 0.

    Parameters
    ----------
    losses : array_like of float, shape (releases,)
        Sensitivity over scale of each Laplace release: 0, or from 1e-100 to 1e100.

    Returns
    -------
    float
        The sum.

    Raises
    ------
    ValueError
        If a loss is out of range.

    Examples
    --------
    >>> basic_composition([0.5, 0.25])
    0.75
    """
    return math.fsum(_losses(losses))


@checked_arguments
def advanced_composition(
    losses: ArrayLike,
    delta: Annotated[
        float,
        partial(check_range, low=math.ulp(0.0), high=1.0, allowed="above 0 and at most 1"),
    ],
) -> float:
    """Return the ε of all releases together by the theorem of advanced composition.

    With losses e_i it is

        ε = ∑ e_i(exp(e_i) − 1)/(exp(e_i) + 1) + √(2 log(1/δ) ∑ e_i²),

    one of the forms of Kairouz, Oh & Viswanath (2015), Theorem 3.5; Dwork, Rothblum & Vadhan
    (2010) have e_i(exp(e_i) − 1) in the first sum. It holds for all releases that are each
    e_i-private, with any noise, even if they are chosen adaptively; it can be above
    `basic_composition`. Proof: :prf:ref:`thm-advanced`.

    Parameters
    ----------
    losses : array_like of float, shape (releases,)
        ε of each release: 0, or from 1e-100 to 1e100.
    delta : float
        δ of all releases together, above 0 and at most 1.

    Returns
    -------
    float
        ε of all releases together.

    Examples
    --------
    >>> basic_composition([0.1] * 100), round(advanced_composition([0.1] * 100, delta=1e-5), 3)
    (10.0, 5.298)
    """
    values = _losses(losses)
    means = math.fsum(values * np.tanh(0.5 * values))
    return means + math.sqrt(2.0 * -math.log(delta) * math.fsum(values**2))


@checked_arguments
def delta_at(
    epsilon: Annotated[float, between(0.0, math.inf)],
    losses: ArrayLike,
    tolerance: _Tolerance = 1e-6,
) -> Bracket:
    """Return the δ of Laplace releases at a given ε, between two numbers.

    δ is the largest P(A) − exp(ε)P'(A) over events A, with P and P' the joint distributions of all
    releases on neighbouring streams. There may be a million distinct losses.

    Parameters
    ----------
    epsilon : float
        ε ≥ 0.
    losses : array_like of float, shape (releases,)
        Sensitivity over scale of each Laplace release: 0, or from 1e-100 to 1e100.
    tolerance : float
        Target width of the bracket relative to δ, from 1e-9 to 0.1. It is wider, up to a
        hundredfold, if ε is a sum of ± the losses of few releases, where δ has a kink. Rounding
        adds about 1e-9 for a million releases.

    Returns
    -------
    Bracket
        Lower and upper bound on δ.

    Examples
    --------
    One release of loss e has δ = 1 − exp((ε − e)/2), up to ε = e; then a hundred thousand:

    >>> delta = delta_at(0.4, [1.0])
    >>> delta.lower <= 1 - math.exp(-0.3) <= delta.upper < (1 + 1e-6) * delta.lower
    True
    >>> f"{delta_at(0.2, np.full(100_000, 1e-4)).upper:.4g}"
    '6.688e-13'
    """
    releases = _checked(losses)
    if releases is None or epsilon >= releases.total:
        return Bracket(0.0, 0.0)
    log_overlap = releases.log_overlap(epsilon)
    if log_overlap < math.log(tolerance):
        return Bracket(-math.expm1(log_overlap), 1.0)
    return Bracket(*_Inversion(releases, epsilon, tolerance).bounds(epsilon))


@checked_arguments
def epsilon_at(delta: _Delta, losses: ArrayLike, tolerance: _Tolerance = 1e-6) -> Bracket:
    """Return the least ε of Laplace releases for which a given δ suffices, between two numbers.

    Within a relative 1e-5 of the sum of the losses, the bracket can be as wide as that. For δ below
    1e-100 it extends from the bound at δ = 1e-60 to the sum, since smaller numbers are not
    integrated.

    Parameters
    ----------
    delta : float
        δ, at least 0 (for which the answer is `basic_composition`) and below 1.
    losses : array_like of float, shape (releases,)
        Sensitivity over scale of each Laplace release: 0, or from 1e-100 to 1e100.
    tolerance : float
        Target width of the bracket of δ relative to δ, from 1e-9 to 0.1.

    Returns
    -------
    Bracket
        Lower and upper bound on ε.

    Examples
    --------
    >>> losses = np.arange(1, 1001) ** -0.55
    >>> epsilon = epsilon_at(math.exp(-10), losses)
    >>> f"{epsilon.lower:.5f}, {epsilon.upper:.5f}"
    '10.03723, 10.03723'
    >>> advanced_composition(losses, math.exp(-10)) > epsilon.upper
    True
    """
    releases = _checked(losses)
    if releases is None or delta == 0.0:
        total = 0.0 if releases is None else releases.total
        return Bracket(total, total)
    if delta <= -math.expm1(releases.log_overlap(releases.nearly)):
        return Bracket(releases.nearly, releases.total)
    if delta < SMALLEST:
        return Bracket(epsilon_at(_FAR, losses, tolerance).lower, releases.total)
    guess = releases.guess_epsilon(delta)
    for _ in range(5):  # a bracket is valid for any guess, but narrow only near it
        inversion = _Inversion(releases, guess, tolerance)
        bracket = Bracket(*inversion.epsilons(delta, guess))
        better = min(bracket.upper, releases.nearly)
        if abs(better - guess) * inversion.tilt < 0.5:
            break
        guess = better
    return bracket


@checked_arguments
def calibrate(epsilon: Positive, delta: _Delta, losses: ArrayLike) -> float:
    """Return the factor by which losses may be multiplied for a given privacy of all releases.

    All factors up to the largest are valid, and none above it, since larger losses are never more
    private (:prf:ref:`thm-int-private`). The factor c satisfies ``epsilon_at(delta, c *
    losses).upper <= epsilon``, and has seven digits unless δ = 0. The largest such factor exceeds
    it by at most a relative 2·10⁻⁶ plus the width of the bracket of `epsilon_at`, which can be
    larger if δ is near 1 or the sum of the losses is near ε.

    Parameters
    ----------
    epsilon : float
        ε > 0 of all releases together.
    delta : float
        δ of all releases together, at least 0 and below 1.
    losses : array_like of float, shape (releases,)
        Sensitivity over scale of each Laplace release: 0, or from 1e-100 to 1e100. If they add up
        to ε, they must all be from 10^(−90) to 10^90.

    Returns
    -------
    float
        The factor; ``inf`` without releases.

    Examples
    --------
    A tree of 17 levels has a loss of ε/17 in each block that holds a reward:

    >>> factor = calibrate(1.0, math.exp(-10), [1 / 17] * 17)
    >>> round(factor, 4), epsilon_at(math.exp(-10), [factor / 17] * 17).upper <= 1.0
    (1.3186, True)
    """
    values = _losses(losses)
    total = math.fsum(values)
    if total == 0.0:
        return math.inf
    least, most = float(values[values > 0.0].min()), float(values.max())
    low, high = 1e-90 * (total / least), 1e90 * (total / most)
    if not low <= epsilon <= high:
        raise ValueError(
            f"epsilon={epsilon!r} is out of range; allowed: for these losses from {low:g} to "
            f"{high:g}"
        )

    @cache  # `brentq` evaluates both ends again
    def surplus(log_factor: float) -> float:
        return epsilon_at(delta, math.exp(log_factor) * values).upper - epsilon

    if delta == 0.0:
        factor = epsilon / total
    else:
        low = math.log(epsilon / total) - _CALIBRATION  # sufficient even with δ = 0
        high, step = low + 0.1, 0.2
        while surplus(high) <= 0.0:
            low, high, step = high, high + step, 2.0 * step
        factor = math.exp(_root(surplus, low, high, xtol=_CALIBRATION / 4))
        factor = _round_down(factor * (1.0 - _CALIBRATION / 2))
    step = _CALIBRATION / 4 if delta else _ULP
    while epsilon_at(delta, factor * values).upper > epsilon:  # rounding, or a step of the bracket
        factor *= 1.0 - step
        factor = _round_down(factor) if delta else factor
    return factor


def _root(surplus: Callable[[float], float], low: float, high: float, **errors: float) -> float:
    from scipy.optimize import brentq  # slow to import

    return float(brentq(surplus, low, high, **errors))


def _round_down(factor: float) -> float:
    """Keep seven digits: the last bits of a root are not the same on all processors."""
    return float(Context(prec=7, rounding=ROUND_FLOOR).create_decimal_from_float(factor))


def _losses(losses: ArrayLike) -> Floats:
    """Check the losses and return them as an array."""
    allowed = f"a row of numbers, each 0 or from {SMALLEST:g} to {1 / SMALLEST:g}"
    values: Any = np.asarray(losses)
    if values.dtype.kind not in "iuf" and values.size:
        raise ValueError(f"losses={losses!r} are not numbers; allowed: {allowed}")
    found: Floats = values.astype(np.float64)
    fine = (found == 0.0) | ((found >= SMALLEST) & (found <= 1 / SMALLEST))
    if found.ndim != 1 or not fine.all():
        raise ValueError(f"losses={losses!r} are out of range; allowed: {allowed}")
    return found


def _checked(losses: ArrayLike) -> _Releases | None:
    """Check the losses and return the releases, or None if they reveal nothing."""
    values = _losses(losses)
    return _Releases(values) if values.any() else None


class _Releases:
    """Independent Laplace releases, at least one of which has a positive loss.

    `sizes` and `counts` are the distinct positive losses and their numbers, the largest first,
    since they make M(z) small early; `high`, `middle` and `many` are the largest, the mean and the
    number of the losses in each of some intervals. `total` is the sum, `nearly` slightly less.
    """

    def __init__(self, losses: Floats) -> None:
        sizes, counts = np.unique(losses[losses > 0.0], return_counts=True)
        self.total = math.fsum(losses)
        self.nearly = self.total * (1.0 - _MARGIN)
        self.number = float(counts.sum())
        starts = np.arange(sizes.size)
        if sizes.size > _BINS:
            ends = np.geomspace(sizes[0], sizes[-1], _BINS + 1)[1:-1]
            starts = np.unique(np.append(0, np.searchsorted(sizes, ends)))
        stops = np.append(starts[1:], sizes.size) - 1
        self.sizes: Floats = sizes[::-1].copy()
        self.counts: Floats = counts[::-1].astype(np.float64)
        self.high: Floats = sizes[stops][::-1].copy()
        self.many: Floats = np.add.reduceat(counts, starts)[::-1].astype(np.float64)
        self.middle: Floats = np.add.reduceat(counts * sizes, starts)[::-1] / self.many

    def log_overlap(self, epsilon: float) -> float:
        """Return an upper bound on log(1 − δ(ε)): 0, or the logarithm of exp(ε/2)M(−1/2)."""
        halves = 0.5 * self.sizes
        return min(0.5 * epsilon + float(self.counts @ (np.log1p(halves) - halves)), 0.0)

    def saddle(self, epsilon: float) -> tuple[float, float]:
        """Return the minimiser t of M(t)exp(−tε)/(t(t + 1)), and approximately log δ(ε)."""

        def height(log_t: float) -> float:
            t = math.exp(log_t)
            log_transform = _log_transform(t, self.middle, self.many)
            return log_transform - t * epsilon - log_t - math.log1p(t)

        low = -math.log(self.total) - 12.0
        high = math.log(self.number) - math.log(self.total - epsilon) + 12.0
        from scipy.optimize import minimize_scalar  # slow to import

        found = minimize_scalar(height, bounds=(low, high), method="bounded")
        log_t, least, step = float(found.x), float(found.fun), 1e-2
        bend = (height(log_t + step) - 2.0 * least + height(log_t - step)) / step**2
        return math.exp(log_t), least + log_t - 0.5 * math.log(2.0 * math.pi * max(bend, 0.1))

    def guess_epsilon(self, delta: float) -> float:
        """Return approximately the ε at which δ(ε) is `delta`."""
        low, high, goal = 0.0, self.nearly, math.log(delta)
        if self.saddle(low)[1] <= goal:
            return low
        if self.saddle(high)[1] >= goal:
            return high
        return _root(lambda e: self.saddle(e)[1] - goal, low, high, rtol=1e-4)


class _Inversion:
    """The transform at a set of points, with which δ is bounded at each ε.

    Near `epsilon`, below the total of the losses, the relative distance is about `tolerance`.
    """

    def __init__(self, releases: _Releases, epsilon: float, tolerance: float) -> None:
        t, log_delta = releases.saddle(epsilon)
        goal = min(log_delta, 0.0) + math.log(_SHARE * tolerance)
        self.releases = releases
        self.tilt = t
        self.log_peak = _log_transform(t, releases.sizes, releases.counts)
        # half of the tolerance is for the smoothing
        width = min(math.sqrt(1.5 * _PARTS * tolerance / (t * (1.0 + t))), 1.0)
        self.others = t * (1.0 + 2.0 ** np.arange(-3.0, 12.0))
        # upper bounds of log M(u), equally fast for many sizes
        above = [_log_transform(u, releases.high, releases.many) for u in self.others]
        self.log_others = np.array(above)
        self.log_others += self.others * np.log(self.others)
        self.log_others -= (1.0 + self.others) * np.log1p(self.others)
        self.period = self._period(epsilon, goal)
        step = 2.0 * math.pi / self.period
        part = width / _PARTS
        grow = _PARTS * math.log(math.cosh((t + 1.0) * part)) + math.log(3.0 * part / math.pi)
        surplus = max(self.log_peak - t * epsilon + grow - goal, _PARTS)
        n_points = 1 + math.ceil(math.exp(surplus / _PARTS) / (part * step))
        theta: Floats = np.arange(n_points, dtype=np.float64) * step
        beyond = math.exp(grow) * (part * theta[-1]) ** -_PARTS
        kernels = _kernels((t + 1j * theta).astype(np.complex128), width)
        weights = (np.abs(kernels[0]) + np.abs(kernels[1])) * (step / math.pi)
        enough = math.exp(max(goal - self.log_peak + t * epsilon, -700.0)) / (weights * theta.size)
        values, done = _ratios(t, theta, enough, releases.sizes, releases.counts)
        left_out = float((weights * np.abs(values))[~done].sum())
        theta, values, weights = theta[done], values[done], weights[done]
        ulps = 8.0 * (releases.number + (t + theta) * releases.total) + 200.0
        rounding = _ULP * float((ulps * weights * np.abs(values)).sum())
        values *= np.where(theta == 0.0, 0.5, 1.0) * (step / math.pi)
        self.theta = theta
        self.above, self.below = values * kernels[0][done], values * kernels[1][done]
        self.error = beyond + 1.001 * left_out + rounding

    def _period(self, epsilon: float, goal: float) -> float:
        """Return the X with which the terms j ≠ 0 of Poisson's formula are at most exp(goal)."""
        left = np.logaddexp(0.0, -goal) / self.tilt
        rises = self.log_others - self.others * epsilon - goal
        right = float((rises / (self.others - self.tilt)).min())
        return float(max(left, min(right, self.releases.total - epsilon)))

    def _images(self, epsilon: float) -> float:
        """Return the bound of :prf:ref:`lem-loss-sampling` on the terms j ≠ 0, below."""
        fall = -self.tilt * self.period
        images = math.exp(fall) / -math.expm1(fall)
        if epsilon + self.period < self.releases.total:
            falls = (self.others - self.tilt) * self.period
            logs = self.log_others - self.others * epsilon - falls - np.log(-np.expm1(-falls))
            images += math.exp(min(float(logs.min()), 700.0))
        return images

    def bounds(self, epsilon: float) -> tuple[float, float]:
        """Return a lower and an upper bound on δ(ε)."""
        if epsilon >= self.releases.total:
            return 0.0, 0.0
        log_peak = self.log_peak - self.tilt * epsilon
        slack = self.releases.number + self.tilt * (self.releases.total + epsilon) + 8.0
        slack *= 8.0 * _ULP
        wave = np.exp(-1j * epsilon * self.theta)
        above = float((self.above * wave).real.sum()) + self.error
        below = float((self.below * wave).real.sum()) - self.error
        lower = below * math.exp(min(log_peak - slack, 700.0)) - self._images(epsilon)
        upper = above * math.exp(min(log_peak + slack, 700.0))
        return float(min(max(lower, 0.0), 1.0)), float(min(max(upper, math.ulp(0.0)), 1.0))

    def epsilons(self, delta: float, near: float) -> tuple[float, float]:
        """Return an ε (or 0) with δ(ε) ≥ delta, and one with δ(ε) ≤ delta; `near` is a guess."""
        total = self.releases.total
        ends = []
        for side, sign in ((0, -1.0), (1, 1.0)):

            def surplus(epsilon: float, side: int = side) -> float:
                return self.bounds(epsilon)[side] - delta

            reach = 0.1 / self.tilt
            low, high = max(near - reach, 0.0), min(near + reach, total)
            while low > 0.0 and surplus(low) < 0.0:
                low, reach = max(low - 2.0 * reach, 0.0), 2.0 * reach
            while high < total and surplus(high) > 0.0:
                high, reach = min(high + 2.0 * reach, total), 2.0 * reach
            end = 0.0
            if surplus(low) > 0.0:
                end = _root(surplus, low, high, xtol=1e-15 * total, rtol=1e-14)
            step = 1e-15 * total  # the root is exact only up to rounding
            while 0.0 < end < total and sign * surplus(end) > 0.0:
                end, step = min(max(end + sign * step, 0.0), total), 2.0 * step
            ends.append(end)
        return ends[0], ends[1]


def _log_transform(t: float, sizes: Floats, counts: Floats) -> float:
    """Return log M(t) for t ≥ 0, without overflow: M_e(t) = exp(te)·(1 − t(1 − y)/(1 + 2t))."""
    fall = -np.expm1(-(1.0 + 2.0 * t) * sizes)
    return float(counts @ (t * sizes + np.log1p(-(t / (1.0 + 2.0 * t)) * fall)))


def _kernels(z: Complexes, width: float) -> tuple[Complexes, Complexes]:
    """Return K⁺ and K⁻ of :prf:ref:`lem-loss-smoothing`, without cancellation in the latter."""
    part = width / _PARTS
    x = z * part
    smooth = (np.sinh(x) / x) ** _PARTS / (z * (z + 1.0))
    shift = _PARTS * math.log(math.sinh(part) / part)
    # r − 1, where r^m = ψ(z + 1)/ψ(z), and from it r^m − 1
    rise = x * 2.0 * math.sinh(0.5 * part) ** 2 + (x / np.tanh(x) - 1.0) * math.sinh(part)
    rise = (rise + math.sinh(part) - part) / (x + part)
    r = 1.0 + rise
    rise *= (1.0 + r + r**2) * (1.0 + r**3) * (1.0 + r**6)
    return np.exp(shift * z) * smooth, smooth * (1.0 - z * rise)


@kernel
def _ratios(
    t: float, theta: Floats, enough: Floats, sizes: Floats, counts: Floats
) -> tuple[Complexes, NDArray[np.bool_]]:
    """Return M(t + iθ)/M(t), and a mask of the points where it is not negligible."""
    falls = np.exp(-(1.0 + 2.0 * t) * sizes)
    tops = (1.0 + 2.0 * t) / (1.0 + t + t * falls)
    ratios = np.ones(theta.size, dtype=np.complex128)
    done = np.ones(theta.size, dtype=np.bool_)
    for i in range(theta.size):
        z, limit = complex(t, theta[i]), enough[i] ** 2
        rest = 1.0 / (1.0 + 2.0 * z)
        ratio = complex(1.0, 0.0)
        for j in range(sizes.size):
            wave = complex(math.cos(theta[i] * sizes[j]), math.sin(theta[i] * sizes[j]))
            factor = ((1.0 + z) * wave + z * falls[j] * wave.conjugate()) * (rest * tops[j])
            if counts[j] > 1.0:
                size = math.exp(counts[j] * math.log(max(abs(factor), 1e-300)))
                turn = counts[j] * math.atan2(factor.imag, factor.real)
                factor = complex(size * math.cos(turn), size * math.sin(turn))
            ratio *= factor
            if ratio.real**2 + ratio.imag**2 <= limit:
                done[i] = False
                break
        ratios[i] = ratio
    return ratios, done
