"""Bounds on the regret of the lazy-batch algorithms, and of any private policy.

All batches of an arm are fixed in advance: batch j has b_j pulls, e_j is the number of pulls up to
its end, and the estimate from then on uses n_j rewards and k_j Laplace variables. Then

    E N_a(T) ≤ b_1 + Σ_j min(b_{j+1}, T − e_j − K + 1)⁺ · min(1, p_j + q_j)

for each suboptimal arm a, with the p_j and q_j of :prf:ref:`thm-lazy-regret`, :prf:ref:`thm-imed`
or :prf:ref:`thm-lazy-ts`. All tails of estimates are bounded by Chernoff's method with the exact
distribution of a sum of rewards and Laplace variables: :prf:ref:`lem-rate`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpbandits._arrays import Floats
from dpbandits._engine.kernels import kernel
from dpbandits.bounds.regret import check_arms, check_times
from dpbandits.configuration import Budget, Flag, Positive, between, checked_arguments
from dpbandits.divergences import (
    calibrated_minus_kernel,
    calibrated_plus_kernel,
    d_eps_kernel,
)
from dpbandits.schedules import batch_grid

__all__ = [
    "adap_klucb_regret",
    "dp_imed_regret",
    "dp_klucb_regret",
    "lazy_dp_ts_regret",
    "lazy_ucb_regret",
    "printed_adap_ucb_regret",
    "private_regret_rate",
]


_SHARES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7)  # levels y = μ* − share·Δ_a to try
_SPREADS = (0.4, 0.6, 0.75, 0.9, 1.0)  # widths of the posterior, in units of √(2 log T/n)
_ROUNDS = 200
_LONGEST = 2.0**60  # up to here the grid is of integers
_NOTHING = 746.0  # e to minus this is 0 in floats
_BLOCK = 1024  # batches at once, where all pairs of them are needed
_UNSEEN = 2.0**-54  # a share lost in rounding
_ENORMOUS = 600.0  # e to this exceeds any number of pulls, and times a batch is still finite
_Eta = Annotated[float, between(0.05, 100.0)]
_Grid = Literal["sizes", "pulls"]


@kernel(error_model="numpy")
def least_estimate(mean: float, n: float, k: float, epsilon: float, level: float) -> float:
    """Return min {x ≤ mean : n·d̃⁺(x, mean, k/n) ≤ level}, from below up to rounding."""
    if level <= 0.0 or mean <= 0.0:
        return mean
    step = math.sqrt(0.5 * level / n) + 2.0**-60
    low, high = mean - step, mean
    while step < 1e300 and n * calibrated_plus_kernel(low, mean, k / n, epsilon) <= level:
        step *= 2.0
        low, high = mean - step, low
    for _ in range(_ROUNDS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if n * calibrated_plus_kernel(middle, mean, k / n, epsilon) <= level:
            high = middle
        else:
            low = middle
    return low


@kernel(error_model="numpy")
def _reaching(mean: float, x: float, n: float, k: float, epsilon: float) -> float:
    """Bound the probability that the estimate of an arm is x or more."""
    tilt = min(4.0 * (x - mean), 0.5 * epsilon)  # Hoeffding's lemma: m(λ, u) ≤ λu + λ²/8
    if tilt > 0.0:
        least = n * tilt * (x - mean - tilt / 8) + k * math.log1p(-((tilt / epsilon) ** 2))
        if least > _NOTHING:
            return 0.0
    return math.exp(-n * calibrated_minus_kernel(x, mean, k / n, epsilon))


_least_estimates = np.vectorize(least_estimate, otypes=[float])
_rates = np.vectorize(calibrated_plus_kernel, otypes=[float])
_probabilities = np.vectorize(_reaching, otypes=[float])


def _batches(most: float, eta: float, forgets: bool) -> tuple[Floats, ...]:
    """Return sizes, ends, rewards and noises of the batches; the last one ends beyond `most`."""
    columns = batch_grid(2 * int(min(most, _LONGEST)), eta, forgets)
    sizes, ends, rewards, noises = (column.astype(np.float64) for column in columns)
    if most <= _LONGEST:
        return sizes, ends, rewards, noises
    sizes, ends, noises = (column[ends <= _LONGEST] for column in (sizes, ends, noises))
    last, growth = float(sizes[-1] if forgets else ends[-1]), math.log1p(eta)
    power = round(math.log(last) / growth)  # of 1 + η, before rounding up
    more = power + np.arange(1.0, 2.0 + math.ceil(math.log(most / last) / growth))
    grid = np.exp(np.minimum(growth * more, 709.0))  # e⁷⁰⁹ is nearly the largest float
    if forgets:
        sizes = np.append(sizes, grid)
        return sizes, np.append(ends, ends[-1] + np.cumsum(grid)), sizes, np.ones_like(sizes)
    ends = np.append(ends, grid)
    return np.diff(ends, prepend=0.0), ends, ends, np.arange(1.0, ends.size + 1)


class Frame:
    """The batches of an arm, and the parts common to all bounds.

    Beyond 2⁶⁰ pulls, which no run reaches, the numbers of the grid are not rounded up.

    Parameters
    ----------
    means : array_like of float, shape (K,)
        Means of the arms, in [0, 1].
    horizon : float
        Horizon T > 0.
    times : array_like of float or None
        Times t ≤ T at which to evaluate a bound; None for T.
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed.
    eta : float
        Growth η of the batches, from 0.05 to 100.
    forgets : bool
        Whether an estimate uses the last batch alone, not all of them.
    grid : {"sizes", "pulls"}
        With `forgets`, whether the grid ⌈(1 + η)^j⌉ is of the sizes of the batches or of the pulls
        at their ends; without, of the latter.

    Raises
    ------
    ValueError
        If a mean or a time is out of range.

    Examples
    --------
    >>> frame = Frame([0.5, 0.25], 100.0, None, 1.0, 1.0, forgets=True)
    >>> frame.best, frame.ends[:3].tolist()
    (0.5, [1.0, 3.0, 7.0])
    """

    def __init__(
        self,
        means: ArrayLike,
        horizon: float,
        times: ArrayLike | None,
        epsilon: float,
        eta: float,
        forgets: bool,
        grid: _Grid = "sizes",
    ) -> None:
        self.means = check_arms("means", means)
        self.best = float(self.means.max())
        self.epsilon = epsilon
        self.wanted = check_times(horizon, times)
        self.at = np.maximum(np.unique(self.wanted), 1.0)
        self.log_times = np.log(self.at)[:, None]
        of_sizes = forgets and grid == "sizes"
        sizes, ends, rewards, noises = _batches(float(self.at.max()), eta, of_sizes)
        if forgets:
            rewards, noises = sizes, np.ones_like(sizes)
        within = ends[:-1] <= self.at.max()
        self.ends, self.rewards, self.noises, self.next_sizes = (
            column[within] for column in (ends[:-1], rewards[:-1], noises[:-1], sizes[1:])
        )
        left = np.maximum(self.at[:, None] - self.ends - self.means.size + 1, 0.0)
        self.room = np.minimum(self.next_sizes, left)

    def reaching(self, mean: float, thresholds: Floats) -> Floats:
        """Bound the probability that an arm's estimates reach thresholds.

        Shapes: `thresholds`, the result (times, J).
        """
        reached: Floats = _probabilities(mean, thresholds, self.rewards, self.noises, self.epsilon)
        return reached

    def pulls(self, likely: Floats, lost: Floats | float = 0.0) -> Floats:
        """Bound E N_a, the pulls of a suboptimal arm.

        Shapes: `likely` (times, J); `lost` (J,); the result (times,).
        """
        result: Floats = 1.0 + np.sum(self.room * np.minimum(likely, 1.0), axis=1)
        result += np.sum((self.ends <= self.at[:, None]) * lost, axis=1)
        return np.minimum(result, self.at)

    def regret(self, pulls: Callable[[float], Floats]) -> float | Floats:
        """Sum the regret of all suboptimal arms."""
        total = np.zeros(self.at.size)
        lower = self.means[self.means < self.best]
        for mean, arms in zip(*np.unique(lower, return_counts=True), strict=True):
            total += arms * (self.best - mean) * pulls(float(mean))
        worst = self.wanted * (self.best - self.means.min())
        found: float | Floats = np.minimum(total[np.searchsorted(self.at, self.wanted)], worst)[()]
        return found

    def index_regret(
        self, thresholds: Floats, failure: Callable[[Floats], Floats], least: Floats | None = None
    ) -> float | Floats:
        """Bound the regret of an index that exceeds μ* when estimates reach the thresholds.

        f(log s), a decreasing function, bounds the probability that the index is below the mean of
        the best arm at time s, so that q_j = Σ_i f(log(e_i + e_j + K − 1)); batches i for which f
        is at most `least` do not count.

        In the sum of two ends of batches the smaller is lost if it is less than 2⁻⁵⁴ of the sum, so
        only pairs near each other are added up one by one. And since q_j ≤ J·f(log(e_j + K − 1)),
        this bound replaces q_j from where it adds less than 2⁻⁵⁴ of a pull.

        Shapes: `thresholds` (times, J); `least` (J,).
        """
        ends, others, count = self.ends, self.means.size - 1, self.ends.size
        floors = np.zeros(count) if least is None else least
        with np.errstate(over="ignore"):  # near the largest float
            alone = failure(np.log(ends + others))
            q = count * alone
            left = np.cumsum((self.next_sizes * q)[::-1])[::-1]
            later = np.cumsum(np.where(alone > floors, alone, 0.0)[::-1])[::-1]
            shown = int(np.searchsorted(-left, -_UNSEEN))
            for start in range(0, shown, _BLOCK):
                block = slice(start, min(start + _BLOCK, shown))
                first = int(np.searchsorted(ends, _UNSEEN * ends[start]))
                end = int(np.searchsorted(ends, ends[block][-1] / _UNSEEN))
                found = failure(np.log(ends[first:end, None] + ends[block] + others))
                q[block] = np.where(found > floors[first:end, None], found, 0.0).sum(axis=0)
                if first:
                    q[block] += alone[block] * np.searchsorted(
                        np.sort(floors[:first]), alone[block]
                    )
                if end < count:
                    q[block] += later[end]
        return self.regret(lambda mean: self.pulls(self.reaching(mean, thresholds) + q))

    def regret_at_levels(self, pulls: Callable[[float, float], Floats]) -> float | Floats:
        """Bound the regret by the minimum over some levels y."""

        def least(mean: float) -> Floats:
            levels = (self.best - share * (self.best - mean) for share in _SHARES)
            result: Floats = np.min([pulls(mean, y) for y in levels], axis=0)
            return result

        return self.regret(least)


@checked_arguments
def lazy_ucb_regret(
    means: ArrayLike,
    horizon: Positive,
    *,
    epsilon: Budget,
    sampling: Positive,
    noise: Positive,
    eta: _Eta = 1.0,
    grid: _Grid = "sizes",
    inside: Annotated[float, between(1.0, 100.0)] = 1.0,
    times: ArrayLike | None = None,
) -> float | Floats:
    """Bound the expected pseudo-regret of AdaP-UCB, ours or printed, and Lazy-UCB.

    The index x + √(c·log(ht)/n) + d·log t/(εn) of an arm is below its mean with probability at most
    (ht)^(−2c) + t^(−d)/2, by :prf:ref:`lem-lazy-index`. Proof: :prf:ref:`thm-lazy-regret`.

    Parameters
    ----------
    means : array_like of float, shape (K,)
        Means of the arms, in [0, 1].
    horizon : float
        Horizon T > 0.
    epsilon : float
        Privacy budget ε > 0; ``inf`` for the algorithm without noise.
    sampling : float
        c > 0.
    noise : float
        d > 0.
    eta : float
        Growth η of the batches, from 0.05 to 100.
    grid : {"sizes", "pulls"}
        Whether the grid ⌈(1 + η)^j⌉ is of the sizes of the batches, or of an arm's pulls at their
        ends.
    inside : float
        h in the logarithm under the root, from 1 to 100; 2 in the printed AdaP-UCB.
    times : array_like of float, optional
        Times t ≤ T at which to evaluate the bound; by default T.

    Returns
    -------
    float or numpy.ndarray of float
        The bound, in units of reward, of the shape of `times`.

    Examples
    --------
    >>> arms = {"means": [0.75, 0.5], "horizon": 1e6, "epsilon": 1.0}
    >>> ours = lazy_ucb_regret(**arms, sampling=1.55, noise=3.1, grid="pulls", inside=2.0)
    >>> printed = printed_adap_ucb_regret(**arms, alpha=3.1)
    >>> bool(ours < printed)
    True
    """
    frame = Frame(means, horizon, times, epsilon, eta, True, grid)
    private = 0.5 if math.isfinite(frame.epsilon) else 0.0
    more = math.log(inside)
    widths = np.sqrt(sampling * (frame.log_times + more) / frame.rewards)
    widths += noise * frame.log_times / (frame.epsilon * frame.rewards)

    def failure(log_s: Floats) -> Floats:
        return np.exp(-2 * sampling * (log_s + more)) + private * np.exp(-noise * log_s)

    return frame.index_regret(frame.best - widths, failure)


@checked_arguments
def printed_adap_ucb_regret(
    means: ArrayLike,
    horizon: Annotated[float, between(1.0, sys.float_info.max)],
    *,
    epsilon: Budget,
    alpha: Annotated[float, between(3.0, 100.0)],
) -> float:
    """Return the bound of Theorem 7 of Azize & Basu (2022) on the printed AdaP-UCB.

    Σ (16α·log T/min{Δ_a, ε} + α/(α − 3)) over the arms with Δ_a > 0, as printed; it is true:
    :prf:ref:`prop-printed-adap`. Our own bound for the same algorithm, for every α > 1, is
    `lazy_ucb_regret` with ``grid="pulls"``.

    Parameters
    ----------
    means : array_like of float, shape (K,)
        Means of the arms, in [0, 1].
    horizon : float
        Horizon T ≥ 1.
    epsilon : float
        Privacy budget ε > 0; ``inf`` for the algorithm without noise.
    alpha : float
        The index's α, from 3 to 100; at 3 the bound is infinite.

    Returns
    -------
    float
        The bound, in units of reward.

    Examples
    --------
    >>> round(printed_adap_ucb_regret([0.75, 0.5], 1e6, epsilon=1.0, alpha=3.1))
    2772
    """
    mu = check_arms("means", means)
    gaps = mu.max() - mu[mu < mu.max()]
    constant = alpha / (alpha - 3.0) if alpha > 3.0 else math.inf
    slopes = 16.0 * alpha / np.minimum(gaps, epsilon)
    return float(np.sum(slopes * math.log(horizon) + constant))


@checked_arguments
def adap_klucb_regret(
    means: ArrayLike,
    horizon: Positive,
    *,
    epsilon: Budget,
    alpha: Positive,
    eta: _Eta = 1.0,
    grid: _Grid = "sizes",
    times: ArrayLike | None = None,
) -> float | Floats:
    """Bound the expected pseudo-regret of AdaP-KLUCB, ours or printed.

    The index of an arm is below its mean with probability at most 1.5·t^(−α).
    Proof: :prf:ref:`lem-lazy-index`, :prf:ref:`thm-lazy-regret`.

    Parameters
    ----------
    means : array_like of float, shape (K,)
        Means of the arms, in [0, 1].
    horizon : float
        Horizon T > 0.
    epsilon : float
        Privacy budget ε > 0; ``inf`` for the algorithm without noise.
    alpha : float
        The index's α > 0.
    eta : float
        Growth η of the batches, from 0.05 to 100.
    grid : {"sizes", "pulls"}
        Whether the grid ⌈(1 + η)^j⌉ is of the sizes of the batches, or of an arm's pulls at their
        ends.
    times : array_like of float, optional
        Times t ≤ T at which to evaluate the bound; by default T.

    Returns
    -------
    float or numpy.ndarray of float
        The bound, in units of reward, of the shape of `times`.
    """
    frame = Frame(means, horizon, times, epsilon, eta, True, grid)
    levels = alpha * frame.log_times
    lowest = _least_estimates(frame.best, frame.rewards, 0.0, math.inf, levels)
    thresholds = np.where(lowest > 0, lowest - levels / (frame.epsilon * frame.rewards), -math.inf)
    thresholds = np.maximum(thresholds, -1.0)  # certain below the mean
    private = 1.5 if math.isfinite(frame.epsilon) else 1.0
    return frame.index_regret(thresholds, lambda log_s: private * np.exp(-alpha * log_s))


@checked_arguments
def dp_klucb_regret(
    means: ArrayLike,
    horizon: Positive,
    *,
    epsilon: Budget,
    eta: _Eta,
    slack: Annotated[float, between(0.0, 100.0)],
    times: ArrayLike | None = None,
) -> float | Floats:
    """Bound the expected pseudo-regret of DP-KLUCB.

    The index of an arm is below its mean with probability at most 1/(t·(1 + log t)^ξ), and never
    while n·d̃⁺(0, μ*, k/n) is at most the level of the index, as estimates are moved into [0, 1].
    Proof: :prf:ref:`lem-lazy-index`, :prf:ref:`thm-lazy-regret`.

    Parameters
    ----------
    means : array_like of float, shape (K,)
        Means of the arms, in [0, 1].
    horizon : float
        Horizon T > 0.
    epsilon : float
        Privacy budget ε > 0; ``inf`` for the algorithm without noise.
    eta : float
        Growth η of the batches, from 0.05 to 100.
    slack : float
        The index's ξ, from 0 to 100.
    times : array_like of float, optional
        Times t ≤ T at which to evaluate the bound; by default T.

    Returns
    -------
    float or numpy.ndarray of float
        The bound, in units of reward, of the shape of `times`.

    Examples
    --------
    >>> long = 1e300
    >>> bound = dp_klucb_regret([0.5, 0.25], long, epsilon=0.5, eta=0.1, slack=3.0)
    >>> bool(bound < 1.5 * private_regret_rate([0.5, 0.25], 0.5) * math.log(long))
    True
    """
    frame = Frame(means, horizon, times, epsilon, eta, forgets=False)
    levels = frame.log_times + slack * np.log1p(frame.log_times)
    lowest = _least_estimates(frame.best, frame.rewards, frame.noises, frame.epsilon, levels)
    thresholds = np.where(lowest > 0, lowest, -1.0)
    rates = _rates(0.0, frame.best, frame.noises / frame.rewards, frame.epsilon)

    def failure(log_s: Floats) -> Floats:
        return np.exp(-log_s - slack * np.log1p(log_s))

    # no estimate is below 0, where the evidence exceeds the level of an index that fails
    return frame.index_regret(thresholds, failure, np.exp(-frame.rewards * rates))


@checked_arguments
def private_regret_rate(means: ArrayLike, epsilon: Budget) -> float:
    """Return a lower bound on lim inf regret/log T of any consistent ε-DP policy.

    Σ Δ_a/d_ε(μ_a, μ*) on Bernoulli arms with max mean below 1, the rate that Azize et al. (2025)
    state (reconstructed); `lai_robbins_rate` for ε = ∞, and never below `private_lower_bound_rate`.
    If the largest mean is 1, it is the value of the formula, but not a bound.
    Proof: :prf:ref:`thm-head-lower`.

    Parameters
    ----------
    means : array_like of float, shape (K,)
        Means of the arms, in [0, 1].
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed.

    Returns
    -------
    float
        The rate, in units of reward.

    Examples
    --------
    >>> private_regret_rate([0.9, 0.6], 0.1) > private_regret_rate([0.9, 0.6], math.inf)
    True
    """
    mu = check_arms("means", means)
    best = float(mu.max())
    others = mu[mu < best].tolist()
    return float(sum((best - mean) / d_eps_kernel(mean, best, epsilon) for mean in others))


@kernel(error_model="numpy")
def _underrated(
    best: float, y: float, rewards: Floats, noises: Floats, counted: Floats, epsilon: float
) -> Floats:
    """Return q_j of DP-IMED: Σ_i P(y_i < y and n_i·d(y_i, y) ≥ log(n_j/n_i)), d its evidence."""
    result = np.zeros(rewards.size)
    for i in range(rewards.size):
        n, k = rewards[i], noises[i]
        if n * calibrated_plus_kernel(y, best, k / n, epsilon) > _NOTHING:
            continue  # the term is 0, as no x below is above y
        for j in range(rewards.size):
            level = math.log(rewards[j] / n)
            x = y
            if level > 0.0:
                if n * calibrated_plus_kernel(0.0, y, counted[i] / n, epsilon) < level:
                    break  # and for all later j
                x = least_estimate(y, n, counted[i], epsilon, level)
            result[j] += math.exp(-n * calibrated_plus_kernel(x, best, k / n, epsilon))
    return result


def _mean_odds(best: float, y: float, rewards: Floats) -> Floats:
    """Bound E (1 − p)/p, p the chance that Normal(S/n, 1/n) is above y, S Binomial(n, μ*).

    Exact up to 2000 rewards; beyond, the odds decrease in S, and with P(S ≤ nx) ≤ exp(−n·kl(x, μ*))
    they are summed on a grid from 1 down to 0. With z = √n·(y − x) a point of it adds at most
    √(2π)(1 + |z|)·exp(n·slope), slope = ±(y − x)²/2 − kl, as Φ(−z) ≥ φ(z)/(1 + z) for z ≥ 0 by
    Mills' ratio; and at least exp(n·slope) if z ≥ 0, as Φ(−z) ≤ exp(−z²/2)/2.
    """
    special = scipy.special
    grid = np.linspace(1.0, 0.0, 2001)
    below = np.minimum(grid, best)
    rates = special.rel_entr(below, best) + special.rel_entr(1 - below, 1 - best)
    rates = np.append(0.0, rates[:-1])  # of everything up to the next point
    slopes = 0.5 * (y - grid) * np.abs(y - grid) - rates
    greatest, growing = slopes.max(), slopes[grid <= y].max(initial=-math.inf)
    result = np.zeros(rewards.size)
    for j, n in enumerate(rewards.tolist()):
        x = np.arange(n + 1) / n if n < grid.size else grid
        if n >= grid.size:
            # 746 plus the logarithms of √(2π), of the size of the grid and of 1 + |z|
            room = _NOTHING + 1.0 + math.log(grid.size) + math.log1p(math.sqrt(n))
            if n * greatest < -room:
                break  # and for all larger n, as n/log n grows
            if n * growing > _ENORMOUS:
                result[j:] = math.exp(_ENORMOUS)
                break
            seen = n * slopes >= -room
            x, rare = grid[seen], n * rates[seen]
        z = math.sqrt(n) * (y - x)
        logs = special.log_ndtr(z) - special.log_ndtr(-z)
        if n < grid.size:
            ones = np.arange(n + 1)
            ways = -special.betaln(ones + 1, n - ones + 1) - math.log(n + 1)  # log of n over S
            logs += ways + special.xlogy(ones, best) + special.xlog1py(n - ones, -best)
        else:
            logs -= rare
        result[j] = math.exp(min(float(special.logsumexp(logs)), _ENORMOUS))
    return result


@checked_arguments
def lazy_dp_ts_regret(
    means: ArrayLike,
    horizon: Positive,
    *,
    epsilon: Budget,
    alpha: Annotated[float, between(1.001, 100.0)],
    eta: _Eta = 1.0,
    times: ArrayLike | None = None,
) -> float | Floats:
    """Bound the expected pseudo-regret of Lazy-DP-TS with a draw at each pull.

    The minimum, over some levels y between μ_a and μ* and some widths √n_j·(y − y'_j), of the bound
    of :prf:ref:`thm-lazy-ts`, proved there.

    Parameters
    ----------
    means : array_like of float, shape (K,)
        Means of the arms, in [0, 1].
    horizon : float
        Horizon T > 0.
    epsilon : float
        Privacy budget ε > 0; ``inf`` for the algorithm without noise.
    alpha : float
        α of the centre, from 1.001 to 100.
    eta : float
        Growth η of the batches, from 0.05 to 100.
    times : array_like of float, optional
        Times t ≤ T at which to evaluate the bound; by default T.

    Returns
    -------
    float or numpy.ndarray of float
        The bound, in units of reward, of the shape of `times`.
    """
    frame = Frame(means, horizon, times, epsilon, eta, forgets=True)
    when = frame.ends + frame.means.size
    under = 0.0 * when
    if math.isfinite(frame.epsilon):
        under = (3 + eta) / 2 * alpha / (alpha - 1) * when ** (1 - alpha)
    raised = alpha * frame.log_times / (frame.epsilon * frame.rewards)
    spread = np.sqrt(2 * frame.log_times / frame.rewards)

    def pulls(mean: float, y: float) -> Floats:
        lost = under + frame.next_sizes * _mean_odds(frame.best, y, frame.rewards)
        likely = np.ones_like(frame.room)
        for part in _SPREADS:
            centre = y - part * spread
            thresholds = np.where(centre > 0, centre - raised, -1.0)
            above = frame.at[:, None] * scipy.special.ndtr(-part * np.sqrt(2 * frame.log_times))
            above = above / np.minimum(frame.next_sizes, frame.at[:, None])
            likely = np.minimum(likely, frame.reaching(mean, thresholds) + above)
        return frame.pulls(likely, lost)

    return frame.regret_at_levels(pulls)


@checked_arguments
def dp_imed_regret(
    means: ArrayLike,
    horizon: Positive,
    *,
    epsilon: Budget,
    eta: _Eta,
    calibrated: Flag = True,
    times: ArrayLike | None = None,
) -> float | Floats:
    """Bound the expected pseudo-regret of DP-IMED.

    The minimum, over some levels y between μ_a and μ*, of the bound of :prf:ref:`thm-imed`, proved
    there.

    Parameters
    ----------
    means : array_like of float, shape (K,)
        Means of the arms, in [0, 1].
    horizon : float
        Horizon T > 0.
    epsilon : float
        Privacy budget ε > 0; ``inf`` for the algorithm without noise.
    eta : float
        Growth η of the batches, from 0.05 to 100.
    calibrated : bool
        Whether the evidence of the index is d̃⁺, not d_ε.
    times : array_like of float, optional
        Times t ≤ T at which to evaluate the bound; by default T.

    Returns
    -------
    float or numpy.ndarray of float
        The bound, in units of reward, of the shape of `times`.
    """
    frame = Frame(means, horizon, times, epsilon, eta, forgets=False)
    levels = np.maximum(frame.log_times - np.log(frame.rewards), 0.0)
    counted = frame.noises if calibrated else np.zeros_like(frame.noises)

    def pulls(mean: float, y: float) -> Floats:
        lowest = _least_estimates(y, frame.rewards, counted, frame.epsilon, levels)
        thresholds = np.where(lowest > 0, lowest, -1.0)
        q = _underrated(frame.best, y, frame.rewards, frame.noises, counted, frame.epsilon)
        return frame.pulls(frame.reaching(mean, thresholds) + q)

    return frame.regret_at_levels(pulls)
