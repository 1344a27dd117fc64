"""The hockey-stick divergence between products of Laplace laws, by inverting a transform.

Independent Laplace releases whose centres are moved by s_i, with scales b_i, have the losses
e_i = s_i/b_i. The *privacy loss* of one of them is L = log(p(x)/q(x)) with x from p = Lap(0, b)
and q = Lap(s, b): an atom of mass 1/2 at e, one of mass exp(−e)/2 at −e, and the density
exp(−(e − l)/2)/4 between them. The losses of independent releases add up to S, and

    δ(ε) = E[(1 − exp(ε − S))₊].

The reflection of x at s/2 exchanges p and q, so δ is the same for both orders of the neighbours.

*Transform.* M_e(z) = E[exp(zL)] = ((1 + z)exp(ze) + z·exp(−(1 + z)e))/(1 + 2z), M = ∏ M_e. For
any t > 0, integrating along z = t + iθ,

    δ(ε) = 1/(2π) ∫ M(z) exp(−εz)/(z(z + 1)) dθ.

The sum is thus never rounded to a grid, release by release. What is left is to do the integral
with errors that are proved, and δ is put between two numbers.

*Smoothing.* The integrand falls like 1/θ² only. As (1 − τexp(−s))₊ is convex in τ = exp(ε), with
Y symmetric and ψ(z) = E[exp(zY)]: by Jensen's inequality and by the lines that support a convex
function,

    E[δ(ε + Y − log ψ(1))] ≥ δ(ε) ≥ E[δ(ε + Y) − (1 − exp(−Y))δ'(ε + Y)],

so that 1/(z(z + 1)) becomes ψ(1)^z·ψ(z)/(z(z + 1)) above and ψ(z)/z − ψ(z + 1)/(z + 1) below. With
Y the sum of m uniform variables on [−w/m, w/m], ψ(z) = (sinh(zw/m)/(zw/m))^m falls like θ^(−m),
while the two differ by about t(t + 1)w²/(3m) times δ.

*Sampling.* By Poisson's formula the sum over θ = kΔ, k an integer, is Σ_j exp(tjX)·I(ε + jX), with
I the integral and X = 2π/Δ. The terms j ≠ 0 are at least 0 above, where they do no harm; below,
I ≤ δ ≤ 1 to the left and δ(y) ≤ κ(u)M(u)exp(−uy), with κ(u) = u^u/(1 + u)^(1 + u), to the right.

*Truncation.* From θ = Θ on, the moduli of M(z) and of sinh(x + iy) are at most M(t) and cosh(x).
With p = w/m, y = pθ ≥ e, θ ≥ t and C = cosh((t + 1)p)^m the modulus of ψ(z) is at most C·y^(−m),
that of ψ'(z) at most mpC·y^(−m)(1 + 1/y), also at z + 1, and so what stands for 1/(z(z + 1)) is at
most C·y^(−m)(1 + 2m(y + 1))/θ², above and below. Of M(t)exp(−εt), all that is beyond Θ is at most
3pC(pΘ)^(−m)/π. Before Θ, the product of the moduli of M_e(z)/M_e(t), none of which is above 1, is
given up where it is too small to matter; what it is worth then bounds what is left out. With many
releases this happens at all but a few θ.

*Overlap.* No integral is done where δ is nearly 1, as 1 − δ(ε) = E[min(1, exp(ε − S))] is at
most E[exp((ε − S)/2)] = exp(ε/2)M(−1/2), with M_e(−1/2) = (1 + e/2)exp(−e/2).

*Rounding.* With n releases each term has a relative rounding error of some multiple of n·10⁻¹⁶. A
larger multiple is added as well.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["Inversion", "Releases"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

_PARTS = 12  # m, the number of uniform variables in Y; `_kernels` has powers of 2·2·3
_SHARE = 0.05  # of the tolerance, for each of the smaller errors
_BINS = 256  # intervals of sizes, where the distinct ones are more
_MARGIN = 1e-5  # of the total of the losses; nearer to it rounding takes over
_ULP = 2.0**-52


class Releases:
    """Independent Laplace releases: distinct losses, and how many there are of each.

    Parameters
    ----------
    losses : numpy.ndarray of float, shape (releases,)
        Losses, finite and at least 0, of which one at least is positive.

    Attributes
    ----------
    sizes, counts : numpy.ndarray of float
        The distinct positive losses, the greatest first, and the numbers of them.
    middle, high, many : numpy.ndarray of float
        Intervals that hold the losses: mean and greatest of those in each, and how many they are.
    total, nearly, number : float
        Sum of the losses, a little less than it, and number of the positive ones.
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
        # the greatest first, as they make M(z) small early
        self.sizes: Floats = sizes[::-1].copy()
        self.counts: Floats = counts[::-1].astype(np.float64)
        self.high: Floats = sizes[stops][::-1].copy()
        self.many: Floats = np.add.reduceat(counts, starts)[::-1].astype(np.float64)
        self.middle: Floats = np.add.reduceat(counts * sizes, starts)[::-1] / self.many

    def log_transform(self, t: float) -> float:
        """Return log M(t)."""
        return _log_transform(t, self.sizes, self.counts)

    def log_transform_above(self, t: float) -> float:
        """Return an upper bound on log M(t), as fast where there are many sizes."""
        return _log_transform(t, self.high, self.many)

    def log_overlap(self, epsilon: float) -> float:
        """Return an upper bound on log(1 − δ(ε)): 0, or the logarithm of exp(ε/2)M(−1/2)."""
        halves = 0.5 * self.sizes
        return min(0.5 * epsilon + float(self.counts @ (np.log1p(halves) - halves)), 0.0)

    def saddle(self, epsilon: float) -> tuple[float, float]:
        """Return the t at which M(t)exp(−tε)/(t(t + 1)) is least, and log δ(ε), roughly."""

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
        """Return the ε at which δ(ε) is `delta`, roughly."""
        low, high, goal = 0.0, self.nearly, math.log(delta)
        if self.saddle(low)[1] <= goal:
            return low
        if self.saddle(high)[1] >= goal:
            return high
        from scipy.optimize import brentq  # slow to import

        return float(brentq(lambda e: self.saddle(e)[1] - goal, low, high, rtol=1e-4))


class Inversion:
    """The transform at a set of points, with which δ is bounded at each ε: best near one of them.

    Parameters
    ----------
    releases : Releases
        The releases.
    epsilon : float
        The ε near which the bounds are to be close, at least 0 and below the total of the losses.
    tolerance : float
        The relative distance of the bounds that is aimed at.
    """

    def __init__(self, releases: Releases, epsilon: float, tolerance: float) -> None:
        t, log_delta = releases.saddle(epsilon)
        goal = min(log_delta, 0.0) + math.log(_SHARE * tolerance)
        self.releases = releases
        self.tilt = t
        self.log_peak = releases.log_transform(t)
        # half of the tolerance is for the smoothing
        width = min(math.sqrt(1.5 * _PARTS * tolerance / (t * (1.0 + t))), 1.0)
        self.others = t * (1.0 + 2.0 ** np.arange(-3.0, 12.0))
        self.log_others = np.array([releases.log_transform_above(u) for u in self.others])
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
        above, below = _kernels((t + 1j * theta).astype(np.complex128), width)
        weights = (np.abs(above) + np.abs(below)) * (step / math.pi)
        enough = math.exp(max(goal - self.log_peak + t * epsilon, -700.0)) / (weights * theta.size)
        values, done = _ratios(t, theta, enough, releases.sizes, releases.counts)
        left_out = float((weights * np.abs(values))[~done].sum())
        theta, values, weights = theta[done], values[done], weights[done]
        ulps = 8.0 * (releases.number + (t + theta) * releases.total) + 200.0
        rounding = _ULP * float((ulps * weights * np.abs(values)).sum())
        values *= np.where(theta == 0.0, 0.5, 1.0) * (step / math.pi)
        self.theta = theta
        self.above = values * above[done]
        self.below = values * below[done]
        self.error = beyond + 1.001 * left_out + rounding

    def _period(self, epsilon: float, goal: float) -> float:
        """Return the X with which the terms j ≠ 0 of Poisson's formula are at most exp(goal)."""
        left = np.logaddexp(0.0, -goal) / self.tilt
        rises = self.log_others - self.others * epsilon - goal
        right = float((rises / (self.others - self.tilt)).min())
        return float(max(left, min(right, self.releases.total - epsilon)))

    def _images(self, epsilon: float) -> float:
        """Return a bound on the terms j ≠ 0 of Poisson's formula, below."""
        fall = -self.tilt * self.period
        images = math.exp(fall) / -math.expm1(fall)
        if epsilon + self.period < self.releases.total:
            falls = (self.others - self.tilt) * self.period
            logs = self.log_others - self.others * epsilon - falls - np.log(-np.expm1(-falls))
            images += math.exp(min(float(logs.min()), 700.0))
        return images

    def bounds(self, epsilon: float) -> tuple[float, float]:
        """Return a number that δ(ε) is not below, and one that it is not above."""
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
                from scipy.optimize import brentq  # slow to import

                end = float(brentq(surplus, low, high, xtol=1e-15 * total, rtol=1e-14))
            step = 1e-15 * total  # the root is found up to rounding only
            while 0.0 < end < total and sign * surplus(end) > 0.0:
                end, step = min(max(end + sign * step, 0.0), total), 2.0 * step
            ends.append(end)
        return ends[0], ends[1]


def _log_transform(t: float, sizes: Floats, counts: Floats) -> float:
    """Return log M(t) for t ≥ 0, without overflow: M_e(t) = exp(te)·(1 − t(1 − y)/(1 + 2t))."""
    fall = -np.expm1(-(1.0 + 2.0 * t) * sizes)
    return float(counts @ (t * sizes + np.log1p(-(t / (1.0 + 2.0 * t)) * fall)))


def _kernels(z: Complexes, width: float) -> tuple[Complexes, Complexes]:
    """Return what stands for 1/(z(z + 1)) above and below δ.

    The latter is (ψ(z) − z(ψ(z + 1) − ψ(z)))/(z(z + 1)), whose difference would cancel.
    """
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


@njit(cache=True, nogil=True)
def _ratios(
    t: float, theta: Floats, enough: Floats, sizes: Floats, counts: Floats
) -> tuple[Complexes, NDArray[np.bool_]]:
    """Return M(t + iθ)/M(t), factor by factor, and where it is not given up as small enough."""
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
