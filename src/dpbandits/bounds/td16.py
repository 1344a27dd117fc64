"""Proved bounds on the expected regret of the algorithms of Tossou & Dimitrakakis (2016).

And of LDP-UCB, their baseline.

For a level y = μ* − αΔ_a, and n₀ the number of initial pulls of each arm,

    E N_a(t) ≤ n₀ + Σ_{n ≥ n₀} P(index of a at n, by time t, is ≥ y)
                  + Σ_{s ≤ t} P(index of the best arm at time s is < y).

Proof: :prf:ref:`lem-level`. The rest is Chernoff's inequality (:prf:ref:`lem-counter-tails`),
summed, with the best of some values of α and θ. The bound at t is the least bound of the lemma at
some times from t on, so that it increases with t.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpbandits._arrays import Floats
from dpbandits._validation import SMALLEST, check_range
from dpbandits.bounds.regret import check_arms, check_times, ucb_regret
from dpbandits.configuration import (
    Count,
    Flag,
    NonNegative,
    Positive,
    between,
    checked_arguments,
)
from dpbandits.mechanisms.hybrid_signs import negative_before
from dpbandits.schedules import noise_width, noisy_mean_width_kernel

__all__ = [
    "dp_ucb_bound_regret",
    "dp_ucb_hybrid_regret",
    "dp_ucb_int_regret",
    "ldp_ucb_regret",
]

_SHARES = (0.1, 0.25, 0.5, 0.75)  # values of α to try
_TILTS = np.array([0.2, 0.4, 0.6, 0.75, 0.85, 0.92, 0.96, 0.98, 0.99])  # θ over its pole
_SPLITS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97)  # α for advancing counters
_Horizon = Annotated[
    float, partial(check_range, low=SMALLEST, high=1e50, allowed="a positive number up to 1e50")
]  # pairs of octaves at each octave
_RARE = 1 / 8  # η
_SLACKS = (1.05, 1.2, 1.5, 2.0, 4.0)
_ROWS = 64  # octaves, or times, at once


def _growing(
    gaps: Floats, horizon: float, times: ArrayLike | None, at: Callable[[Floats], Any]
) -> float | Floats:
    """Evaluate `at` at four times an octave; return the least value from each time on."""
    wanted = check_times(horizon, times)
    if wanted.size and not wanted.max() <= horizon:
        raise ValueError(f"times={times!r} lie beyond horizon={horizon!r}; allowed: times up to it")
    worst = wanted * gaps.max(initial=0.0)
    result: float | Floats = worst[()]
    if not worst.any():
        return result
    octaves = math.log2(max(float(horizon), 2.0))
    grid = np.unique(np.ceil(2.0 ** (np.arange(2 + math.ceil(4 * octaves)) / 4)))
    grid = grid[np.searchsorted(grid, wanted.min()) :]
    least = np.minimum.accumulate(at(grid)[::-1])[::-1]
    found = np.searchsorted(grid, wanted)
    result = np.minimum(least[np.minimum(found, grid.size - 1)], worst)[()]
    return result


def _octaves(grid: Floats) -> tuple[Floats, Floats]:
    """Return the starts 2^l of the octaves, and the number of times 1, …, t in each."""
    starts = np.array([2.0**octave for octave in range(int(grid[-1]).bit_length())])
    return starts, np.clip(grid[:, None] + 1 - starts, 0, starts)


def _log_mean(theta: Floats, scale: Any) -> Floats:
    """Return log E exp(θZ), Z a Laplace variable."""
    found: Floats = -np.log1p(-((theta * scale) ** 2))
    return found


def _log_stretch(theta: Floats, levels: Any, scale: float) -> Floats:
    """Return log Σ E exp(θZ_n) over the lengths 2^k ≤ n < 2^(k+1), k = `levels`."""
    tree = np.log1p(np.exp(_log_mean(theta, levels * scale)))
    found: Floats = (levels + 1) * _log_mean(theta, scale) + levels * tree
    return found


def _least_regret(gaps: Floats, grid: Floats, pulls: Callable[[float, float], Floats]) -> Floats:
    """Sum the regret of all arms; `pulls` bounds E N_a for Δ_a and each of some α."""
    total = np.zeros(grid.size)
    for gap, arms in zip(*np.unique(gaps[gaps > 0], return_counts=True), strict=True):
        total += arms * gap * np.min([pulls(gap, share) for share in _SHARES], axis=0)
    return total


def _late_noise(
    share: float, octaves: int, block_scale: float, ucb_term: bool, repaired: bool
) -> Floats:
    """Bound P(the best arm's index is < μ* − share), at the times 2^l, of DP-UCB-BOUND."""
    # lengths n = 2^k + n' are taken together for 2^i ≤ n' < 2^(i+1); i = −1 stands for n' = 0
    pairs = np.array([(k, i) for k in range(octaves) for i in range(-1, k)])
    k, i = pairs.T[:, None, :, None]
    in_tree = i >= 0
    size = np.where(in_tree, 2.0**i, 1.0)
    first = 2.0**k + np.where(in_tree, size, 0.0)
    last = first + size - 1
    bracket = k + 1.0 if repaired else np.where(in_tree, i + 1.0, 1.0)
    log_t = math.log(2) * np.arange(octaves)[:, None, None]
    allowed = share * first + noise_width(block_scale, log_t, bracket)
    if ucb_term:
        allowed = allowed + np.sqrt(2 * first * log_t)
    node = np.where(in_tree, k * block_scale, 0.0)
    with np.errstate(divide="ignore"):
        theta = np.minimum(4 * allowed / last, _TILTS / np.maximum(node, block_scale))
    tree = _log_mean(theta, node)
    log_sum = (k + 1) * _log_mean(theta, block_scale) + in_tree * (
        tree + np.maximum(i, 0) * np.log1p(np.exp(tree))
    )
    logs = np.min(log_sum - theta * allowed + theta**2 * last / 8, axis=-1)
    total = np.minimum(np.exp(np.minimum(logs, np.log(size[..., 0]))), size[..., 0])
    # before time 2^(l+1) there are fewer pulls than that
    there = np.arange(octaves)[:, None] >= pairs[:, 0]
    found: Floats = np.minimum(1.0, np.sum(total * there, axis=1))
    return found


def _early_pulls(
    gap: float, share: float, grid: Floats, block_scale: float, ucb_term: bool
) -> Floats:
    """Bound Σ_n P(the index of an arm at n is ≥ μ_a + gap − share by time t), DP-UCB-BOUND."""
    # n up to some u count as 1, later stretches [2^k, 2^(k+1)) with their least allowance
    log_t = np.log(grid)[:, None, None]

    def spent(n: Floats, root: float) -> Floats:
        allowed = noise_width(block_scale, log_t, np.log2(n) + 1)
        result: Floats = root * np.sqrt(2 * n * log_t) + allowed
        return result

    best = np.full(grid.size, np.inf)
    k = np.arange(int(grid[-1]).bit_length())[:, None]
    for slack in _SLACKS:
        u = np.ones_like(log_t)
        for _ in range(80):  # an increasing concave map: iterates increase to its fixed point
            u = np.maximum(u, slack * spent(u, 1.0) / (gap - share))
        u = np.ceil(u * (1 + 1e-9))
        first, end = np.maximum(u, 2.0**k), 2.0 ** (k + 1)
        size = np.maximum(end - first, 0.0)
        room = (gap - share) * first - spent(first, float(ucb_term))
        with np.errstate(divide="ignore"):
            theta = np.minimum(4 * room / end, _TILTS / (np.maximum(k, 1) * block_scale))
        logs = _log_stretch(theta, k, block_scale) - theta * room + theta**2 * end / 8
        logs = np.min(logs, axis=-1)
        tails = np.minimum(np.exp(np.minimum(logs, 45.0)), size[..., 0])
        best = np.minimum(best, u[:, 0, 0] + tails.sum(axis=1))
    found: Floats = np.minimum(best, grid)
    return found


@checked_arguments
def dp_ucb_bound_regret(
    gaps: ArrayLike,
    horizon: _Horizon,
    *,
    block_scale: NonNegative,
    ucb_term: Flag = True,
    repaired: Flag = False,
    times: ArrayLike | None = None,
) -> float | Floats:
    """Bound the expected pseudo-regret of DP-UCB-BOUND, by the noise's distribution at each length.

    The regret is at least t^(1 − 4√8/k − o(1)) for each k ≥ 12: Theorem 3.2, O(log t·log log t) for
    fixed gaps and ε, fails for the printed width (:prf:ref:`thm-32-false`). With the repaired
    bracket it holds (:prf:ref:`thm-32`).

    Parameters
    ----------
    gaps : array_like of float, shape (K,)
        Gaps of all arms, in [0, 1], zeros for the best.
    horizon : float
        Horizon T > 0, up to 10⁵⁰.
    block_scale : float
        Scale b ≥ 0 of the noise of a block; the width is ν = 4√8·b·log t·(bracket).
    ucb_term : bool
        Whether the index has √(2 log t/n).
    repaired : bool
        Whether the bracket is ⌊log2 n⌋ + 1, not log2 n' + 1.
    times : array_like of float, optional
        Times t ≤ T at which to evaluate the bound; by default T.

    Returns
    -------
    float or numpy.ndarray of float
        The bound, in units of reward, of the shape of `times`.
    """
    all_gaps = check_arms("gaps", gaps)

    def at(grid: Floats) -> Floats:
        starts, when = _octaves(grid)

        def pulls(gap: float, part: float) -> Floats:
            share = part * gap
            late = when @ _late_noise(share, starts.size, block_scale, ucb_term, repaired)
            return 1 + _early_pulls(gap, share, grid, block_scale, ucb_term) + late

        return _least_regret(all_gaps, grid, pulls)

    return _growing(all_gaps, horizon, times, at)


def _noise_reach(times: Floats, count: float, block_scale: float) -> Floats:
    """Return x with Σ P(noise > x) ≤ `count` over the lengths up to t of a hybrid counter."""
    reach = []
    for t in times.tolist():
        levels = np.arange(int(t).bit_length())[:, None]
        theta = _TILTS / max(1, levels[-1, 0])  # in units of 1/b
        total = np.logaddexp.reduce(_log_stretch(theta, levels, 1.0), axis=0)
        reach.append(np.min((total - math.log(count)) / theta))
    return block_scale * np.array(reach)


@checked_arguments
def dp_ucb_hybrid_regret(
    gaps: ArrayLike, horizon: Positive, *, block_scale: NonNegative, times: ArrayLike | None = None
) -> float | Floats:
    """Bound the expected pseudo-regret of DP-UCB with advancing hybrid counters.

    This is O(b·log²t + log t/Δ), as in Theorem 3.3, if all gaps are equal. The paper says that this
    theorem is proved like Theorem 3.2; but without ν in the index nothing covers the noise of an
    arm with few pulls, and the proof needs the fresh noise of every pull. Proof: :prf:ref:`thm-33`,
    with the mean number of times of rare noise at most η = 1/8 and ν by `negative_before`.

    Parameters
    ----------
    gaps : array_like of float, shape (K,)
        Gaps of all arms, in [0, 1], zeros for the best.
    horizon : float
        Horizon T > 0.
    block_scale : float
        Scale b ≥ 0 of the noise of a block.
    times : array_like of float, optional
        Times t ≤ T at which to evaluate the bound; by default T.

    Returns
    -------
    float or numpy.ndarray of float
        The bound, in units of reward, of the shape of `times`.
    """
    all_gaps = check_arms("gaps", gaps)
    positive = all_gaps[all_gaps > 0]
    if block_scale == 0:
        found: float | Floats = ucb_regret(all_gaps, horizon, times=times)
        return found
    n_arms = all_gaps.size
    n_best = n_arms - positive.size

    def at(grid: Floats) -> Floats:
        reach, root = _noise_reach(grid, _RARE / n_arms, block_scale), np.sqrt(2 * np.log(grid))
        least = np.full(grid.size, np.inf)
        for share in _SPLITS:
            gap = share * positive
            # √n solves gap·n − 2·root·√n − reach = 0
            roots = (root[:, None] + np.sqrt(root[:, None] ** 2 + gap * reach[:, None])) / gap
            pulls = np.ceil(roots**2)
            few = np.ceil(reach / ((1 - share) * positive.min()))
            needed = n_arms + n_best * np.maximum(few - 1, 0) + 1 + pulls.sum(axis=1)
            waits = [_mean_negative(m, t, n_best) for m, t in zip(needed, grid, strict=True)]
            late = np.array(waits) + 1 + n_best + 2 * _RARE + n_arms / grid**2
            least = np.minimum(least, pulls @ positive + positive.max() * late)
        return least

    return _growing(all_gaps, horizon, times, at)


def _mean_negative(count: float, horizon: float, n_best: int) -> float:
    """Bound E ν(M + L + X), with P(L + X > 2^q) ≤ 2(G·4^(−q) + η·2^(−q)) for q ≥ 1."""
    total, likely, q = 0.0, 1.0, 1
    while likely * horizon > 1e-3 * count and count + 2**q < horizon:
        rest = min(likely, 2 * (n_best * 4.0**-q + _RARE * 2.0**-q))  # P(L + X > 2^q)
        if rest < likely:
            total += (likely - rest) * negative_before(int(count) + 2**q, int(horizon))
        likely, q = rest, q + 1
    return min(total + likely * horizon, horizon)


@checked_arguments
def dp_ucb_int_regret(
    gaps: ArrayLike,
    horizon: Positive,
    *,
    interval: Count,
    exponent: Annotated[float, between(1.0, 2.0)],
    noise: Positive = 1.0,
    refreshed: Flag = True,
    times: ArrayLike | None = None,
) -> float | Floats:
    """Bound the expected pseudo-regret of DP-UCB-INT, refreshed or frozen.

    The release of an arm at m = jf pulls is used for at most f of its pulls, and that of the best
    arm at the times up to t. Tail of a released value: :prf:ref:`lem-int-tail`. The bound grows
    like t (frozen), or like t·exp(−c√log t) (refreshed); and so does the regret
    (:prf:ref:`thm-35-false`). Theorem 3.5 has the rate of UCB: its proof allows the noise a failure
    probability of t^(−3.5), but at that probability √(2 log t/n) does not cover noise of scale
    n^(v/2 − 1) for any n.

    Parameters
    ----------
    gaps : array_like of float, shape (K,)
        Gaps of all arms, in [0, 1], zeros for the best.
    horizon : float
        Horizon T > 0.
    interval : int
        Number f ≥ 1 of pulls between releases of an arm.
    exponent : float
        v, from 1 to 2.
    noise : float
        Factor of the noise, positive: its scale is noise·m^(v/2 − 1).
    refreshed : bool
        Whether the bonus grows between releases.
    times : array_like of float, optional
        Times t ≤ T at which to evaluate the bound; by default T.

    Returns
    -------
    float or numpy.ndarray of float
        The bound, in units of reward, of the shape of `times`.
    """
    all_gaps = check_arms("gaps", gaps)

    def at(grid: Floats) -> Floats:
        first, last, size = _releases(interval, grid[-1])
        rise = first ** (1 - exponent / 2) / noise  # 1/B
        loose = first ** (1 - exponent) / (8 * noise * noise)  # 1/(8mB²)
        spread = last ** ((1 - exponent) / 2) / noise  # 1/(B√m), at the end of a group
        widen = first ** ((1 - exponent) / 2) / noise
        octaves, when = _octaves(grid)

        def below(starts: Floats, exponents: Floats) -> Floats:
            """Bound P(the index of the best arm is < y at a time), in octaves with such starts."""
            begun = starts if refreshed else 1.0
            since = np.maximum(first + (all_gaps.size - 1) * interval, begun)
            low = _half_exp(exponents - np.sqrt(2 * np.log(since)) * spread)
            found: Floats = np.minimum(1.0, np.sum((first < 2 * starts) * size * low, axis=1))
            return found

        def reaching(times: Floats, exponents: Floats) -> Floats:
            """Bound the number of an arm's releases that reach y, up to some times."""
            high = _half_exp(exponents + np.sqrt(2 * np.log(times)) * widen)
            found: Floats = np.sum((first <= times) * size * high, axis=1)
            return found

        def pulls(gap: float, share: float) -> Floats:
            exponents = loose - share * gap * rise
            likely = np.ones(octaves.size)  # kept where the tail adds less than 2⁻⁵⁴ of the rest
            for end in range(octaves.size, 0, -_ROWS):
                start = max(end - _ROWS, 0)
                likely[start:end] = below(octaves[start:end, None], exponents)
                if when[0, start:] @ likely[start:] > 2.0**54 * octaves[start]:
                    break
            exponents = loose - (1 - share) * gap * rise
            blocks = (grid[start : start + _ROWS, None] for start in range(0, grid.size, _ROWS))
            reached = np.concatenate([reaching(times, exponents) for times in blocks])
            found: Floats = interval + interval * reached + when @ likely
            return found

        return _least_regret(all_gaps, grid, pulls)

    return _growing(all_gaps, horizon, times, at)


@checked_arguments
def ldp_ucb_regret(
    gaps: ArrayLike, horizon: Positive, *, noise_scale: NonNegative, times: ArrayLike | None = None
) -> float | Floats:
    """Bound the expected pseudo-regret of LDP-UCB, UCB on rewards with Laplace noise on each.

    Σ Δ_a·u_a + max Δ/(2K), with u_a the least number of pulls at which twice the width of the index
    is below Δ_a; approximately Σ (8 + 64b²)·log t/Δ_a. Proof: :prf:ref:`thm-ldp-ucb`.

    Parameters
    ----------
    gaps : array_like of float, shape (K,)
        Gaps of all arms, in [0, 1], zeros for the best.
    horizon : float
        Horizon T > 0.
    noise_scale : float
        Scale b ≥ 0 of the noise of a reward.
    times : array_like of float, optional
        Times t ≤ T at which to evaluate the bound; by default T.

    Returns
    -------
    float or numpy.ndarray of float
        The bound, in units of reward, of the shape of `times`.

    Examples
    --------
    >>> round(float(ldp_ucb_regret([0.0, 0.5], 10**6, noise_scale=1.0)))
    2001
    """
    all_gaps = check_arms("gaps", gaps)
    wanted = check_times(horizon, times)
    logs = np.log(np.maximum(wanted, 1.0))
    total = np.full(wanted.shape, all_gaps.max(initial=0.0) / (2 * max(all_gaps.size, 1)))
    for gap, arms in zip(*np.unique(all_gaps[all_gaps > 0], return_counts=True), strict=True):

        def spare(log_mean_failure: float, gap: float = gap) -> float:
            """Return the excess of twice the width over the gap, at ℓ/n = exp(…)."""
            ratio = math.exp(log_mean_failure)
            return 2 * noisy_mean_width_kernel(noise_scale, ratio, 1.0) - gap

        high = math.log(gap**2)  # by Hoeffding's part alone, twice the width is √(2·ratio)
        low = high - 8 - 2 * math.log1p(noise_scale)
        ratio = math.exp(scipy.optimize.brentq(spare, low, high, xtol=1e-12))
        total = total + arms * gap * np.ceil(4 * logs / ratio * (1 + 1e-9) + 1e-9)
    found: float | Floats = np.minimum(total, wanted * all_gaps.max(initial=0.0))[()]
    return found


def _half_exp(x: Floats) -> Floats:
    """Return min(1, exp(x)/2)."""
    return np.minimum(1.0, 0.5 * np.exp(np.minimum(x, 1.0)))


def _releases(interval: int, horizon: float) -> tuple[Floats, Floats, Floats]:
    """Return first m, last m and number of releases in groups that cover all m = jf ≤ T."""
    most = max(1, int(horizon) // interval)
    starts = list(range(1, min(most, 512) + 1))
    while starts[-1] < most and most > 512:
        starts.append(math.ceil(1.03 * starts[-1]))
    first = np.array(starts, dtype=np.float64)
    end = np.append(first[1:], first[-1] + 1)
    return interval * first, interval * (end - 1), end - first
