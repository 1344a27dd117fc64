"""Bounds on the expected regret of the algorithms of Tossou & Dimitrakakis (2016), as proved.

*One lemma for all.* An arm a is played at time s, with n pulls behind it, only if its index at
(n, s) is not below that of the best arm. Take a level y between μ_a and μ*, say y = μ* − αΔ_a.
Then the index of a is at least y, which for each n can happen at one pull only, or that of the
best arm is below y:

    E N_a(t) ≤ n₀ + Σ_{n ≥ n₀} P(index of a at n, by time t, is ≥ y)
                  + Σ_{s ≤ t} P(index of the best arm at time s is < y),

n₀ the pulls that each arm gets first. Sample means obey E exp(θ(S_n − nμ)) ≤ exp(θ²n/8)
(Hoeffding), and a Laplace variable Z of scale b has E exp(θZ) = 1/(1 − θ²b²). Everything below is
Chernoff's inequality with these two, summed, and the best of some values of α and θ. The bound at
t is the least that the lemma gives at some times from t on, so that it grows with t.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits._arrays import Floats
from dpbandits.bounds.regret import check_arms, check_times, ucb_regret
from dpbandits.mechanisms.hybrid_signs import negative_before
from dpbandits.schedules import noise_width

__all__ = ["dp_ucb_bound_regret", "dp_ucb_hybrid_regret", "dp_ucb_int_regret"]


_SHARES = (0.1, 0.25, 0.5, 0.75)
"""Values of α that are tried."""

_TILTS = np.array([0.2, 0.4, 0.6, 0.75, 0.85, 0.92, 0.96, 0.98, 0.99])  # θ over its pole
_SPLITS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97)  # α for advancing counters
_RARE = 1 / 8  # η
_SLACKS = (1.05, 1.2, 1.5, 2.0, 4.0)


def _growing(
    gaps: Floats, horizon: float, times: ArrayLike | None, at: Callable[[Floats], Any]
) -> Any:
    """Evaluate `at` on four times an octave; return the least value from each time on."""
    wanted = check_times(horizon, times)
    worst = wanted * gaps.max(initial=0.0)
    if not worst.any():
        return worst[()]
    octaves = math.log2(max(float(horizon), 2.0))
    grid = np.unique(np.ceil(2.0 ** (np.arange(2 + math.ceil(4 * octaves)) / 4)))
    grid = grid[np.searchsorted(grid, wanted.min()) :]
    least = np.minimum.accumulate(at(grid)[::-1])[::-1]
    found = np.searchsorted(grid, wanted)
    return np.minimum(least[np.minimum(found, grid.size - 1)], worst)[()]


def _times_in_octaves(grid: Floats, octaves: int) -> Floats:
    """Return how many of the times 1, …, t lie in [2^l, 2^(l+1)), l < octaves, for each t."""
    starts = 2.0 ** np.arange(octaves)
    return np.clip(grid[:, None] + 1 - starts, 0, starts)


def _log_mean(theta: Floats, scale: NDArray[Any] | float) -> Floats:
    """Return log E exp(θZ), Z a Laplace variable."""
    return -np.log1p(-((theta * scale) ** 2))


def _late_noise(
    share: float, octaves: int, block_scale: float, ucb_term: bool, repaired: bool
) -> Floats:
    """Bound P(the best arm's index is < μ* − share), at the times 2^l, of DP-UCB-BOUND.

    Lengths n = 2^k + n' are taken together for 2^i ≤ n' < 2^(i+1); i = −1 stands for n' = 0. By
    the set bits of n', Σ E exp(θZ_n) over i is (1 − θ²b²)^(−(k+1))·m(1 + m)^i,
    m = 1/(1 − θ²k²b²).
    """
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
    # at a time before 2^(l+1) there are no more pulls than that
    there = np.arange(octaves)[:, None] >= pairs[:, 0]
    return np.minimum(1.0, np.sum(total * there, axis=1))


def _early_pulls(
    gap: float, share: float, grid: Floats, block_scale: float, ucb_term: bool
) -> Floats:
    """Bound Σ_n P(the index of an arm at n is ≥ μ_a + gap − share by time t), DP-UCB-BOUND.

    All n up to some u count as 1, and each stretch [2^k, 2^(k+1)) from there on by
    Σ E exp(θZ_n) = (1 − θ²b²)^(−(k+1))·(1 + m)^k, with the least allowance of the stretch.
    """
    log_t = np.log(grid)[:, None, None]

    def spent(n: Floats, root: float) -> Floats:
        allowed: Floats = noise_width(block_scale, log_t, np.log2(n) + 1)
        return root * np.sqrt(2 * n * log_t) + allowed

    best = np.full(grid.size, np.inf)
    octaves = int(grid[-1]).bit_length()
    k = np.arange(octaves)[:, None]
    for slack in _SLACKS:
        u = np.ones_like(log_t)
        for _ in range(80):  # an increasing concave map: iterates rise to its fixed point
            u = np.maximum(u, slack * spent(u, 1.0) / (gap - share))
        u = np.ceil(u * (1 + 1e-9))
        first, end = np.maximum(u, 2.0**k), 2.0 ** (k + 1)
        size = np.maximum(end - first, 0.0)
        room = (gap - share) * first - spent(first, float(ucb_term))
        with np.errstate(divide="ignore"):
            theta = np.minimum(4 * room / end, _TILTS / (np.maximum(k, 1) * block_scale))
        tree = np.log1p(np.exp(_log_mean(theta, k * block_scale)))
        logs = (k + 1) * _log_mean(theta, block_scale) + k * tree
        logs = np.min(logs - theta * room + theta**2 * end / 8, axis=-1)
        tails = np.minimum(np.exp(np.minimum(logs, 45.0)), size[..., 0])
        best = np.minimum(best, u[:, 0, 0] + tails.sum(axis=1))
    return np.minimum(best, grid)


def dp_ucb_bound_regret(
    gaps: ArrayLike,
    horizon: float,
    *,
    block_scale: float,
    ucb_term: bool = True,
    repaired: bool = False,
    times: ArrayLike | None = None,
) -> Any:
    """Bound the expected pseudo-regret of DP-UCB-BOUND.

    By the lemma at the head of the module. The union over all lengths n that the best arm can
    have at a time is taken with the law of the noise at n: k + 1 variables of scale b and one of
    scale kb for each set bit of n', as nothing of that is smaller when n' is.

    Parameters
    ----------
    gaps : array_like, shape (K,)
        Gaps of all arms, zeros for the best.
    horizon : float
        Horizon T.
    block_scale : float
        Scale b ≥ 0 of the noise of a block; the width is ν = 4√8·b·log t·(bracket).
    ucb_term : bool
        Whether the index has √(2 log t/n).
    repaired : bool
        Whether the bracket is ⌊log2 n⌋ + 1 and not log2 n' + 1.
    times : array_like, optional
        Times at which the bound is wanted; None means T.

    Returns
    -------
    float or numpy.ndarray, of the shape of `times`

    Notes
    -----
    Theorem 3.2, O(log t·log log t) for fixed gaps and ε, fails for the printed width: the
    regret is at least t^(1 − 4√8/k − o(1)) for each k ≥ 12, :prf:ref:`thm-32-false`. With the
    repaired bracket it holds: :prf:ref:`thm-32`.

    Examples
    --------
    >>> printed, repaired = (
    ...     dp_ucb_bound_regret([0, 0.1], 10**30, block_scale=1000.0, repaired=flag)
    ...     for flag in (False, True)
    ... )
    >>> bool(printed > 1e12), bool(repaired < 3e7)
    (True, True)
    """
    all_gaps = check_arms("gaps", gaps)

    def at(grid: Floats) -> Floats:
        octaves = int(grid[-1]).bit_length()
        when = _times_in_octaves(grid, octaves)
        total = np.zeros(grid.size)
        for gap, arms in zip(*np.unique(all_gaps[all_gaps > 0], return_counts=True), strict=True):
            least = np.full(grid.size, np.inf)
            for part in _SHARES:
                share = part * gap
                late = when @ _late_noise(share, octaves, block_scale, ucb_term, repaired)
                early = _early_pulls(gap, share, grid, block_scale, ucb_term)
                least = np.minimum(least, 1 + early + late)
            total += arms * gap * least
        return total

    return _growing(all_gaps, horizon, times, at)


def _noise_reach(times: Floats, count: float, block_scale: float) -> Floats:
    """Return x with Σ P(noise > x) ≤ `count` over the lengths up to t of a hybrid counter.

    Σ E exp(θZ_n) over the lengths of a stretch is (1 − θ²b²)^(−(k+1))·(1 + m)^k.
    """
    reach = []
    for t in times.tolist():
        levels = np.arange(int(t).bit_length())[:, None]
        theta = _TILTS / max(1, levels[-1, 0])  # in units of 1/b
        tree = np.log1p(np.exp(_log_mean(theta, levels)))
        total = np.logaddexp.reduce((levels + 1) * _log_mean(theta, 1.0) + levels * tree, axis=0)
        reach.append(np.min((total - math.log(count)) / theta))
    return block_scale * np.array(reach)


def dp_ucb_hybrid_regret(
    gaps: ArrayLike, horizon: float, *, block_scale: float, times: ArrayLike | None = None
) -> Any:
    """Bound the expected pseudo-regret of DP-UCB with advancing hybrid counters.

    Parameters
    ----------
    block_scale : float
        Scale b ≥ 0 of the noise of a block.
    gaps, horizon, times
        As of `dp_ucb_bound_regret`.

    Notes
    -----
    This is O(b·log²t + log t/Δ), as in Theorem 3.3, if gaps do not differ. That theorem is said to
    be proved like Theorem 3.2; but without ν in the index nothing covers the noise of an arm with
    few pulls, and it is new noise that saves it. Proof: :prf:ref:`thm-33`, with the mean number of
    times of rare noise at most η = 1/8 and ν by `negative_before`.
    """
    all_gaps = check_arms("gaps", gaps)
    positive = all_gaps[all_gaps > 0]
    if block_scale == 0:
        return ucb_regret(all_gaps, horizon, times=times)
    n_arms = all_gaps.size
    n_best = n_arms - positive.size

    def at(grid: Floats) -> Floats:
        reach = _noise_reach(grid, _RARE / n_arms, block_scale)
        root = np.sqrt(2 * np.log(grid))
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


def dp_ucb_int_regret(
    gaps: ArrayLike,
    horizon: float,
    *,
    interval: int,
    exponent: float,
    noise: float = 1.0,
    refreshed: bool = True,
    times: ArrayLike | None = None,
) -> Any:
    """Bound the expected pseudo-regret of DP-UCB-INT, refreshed or frozen.

    By the lemma at the head of the module, for releases: the release of an arm at
    m = jf pulls is used for at most f of its pulls, and that of the best arm at the times up to t.
    A value has noise of scale B = noise·m^(v/2 − 1), and

        P(S_m/m + Lap(B) ≥ μ + x) ≤ exp(−x/B + 1/(8mB²))/2    for every real x,

    as P(Lap(B) ≥ z) ≤ exp(−z/B)/2 for every real z.

    Parameters
    ----------
    interval : int
        f.
    exponent : float
        v.
    noise : float
        Factor of the noise.
    refreshed : bool
        Whether the bonus grows between releases.
    gaps, horizon, times
        As of `dp_ucb_bound_regret`.

    Notes
    -----
    It grows like t (frozen), or like t·exp(−c√log t) (refreshed); and so does the regret. Proof:
    :prf:ref:`thm-35-false`. Theorem 3.5 has the rate of UCB: its proof allows the noise a failure
    probability of t^(−3.5), but at that probability √(2 log t/n) does not cover noise of scale
    n^(v/2 − 1) for any n.
    """
    all_gaps = check_arms("gaps", gaps)

    def at(grid: Floats) -> Floats:
        first, last, size = _releases(interval, grid[-1])
        rise = first ** (1 - exponent / 2) / noise  # 1/B
        loose = first ** (1 - exponent) / (8 * noise**2)  # 1/(8mB²)
        spread = last ** ((1 - exponent) / 2) / noise  # 1/(B√m), at the end of a group
        octaves = int(grid[-1]).bit_length()
        when = _times_in_octaves(grid, octaves)
        starts = 2.0 ** np.arange(octaves)[:, None]
        since = np.maximum(first + (all_gaps.size - 1) * interval, starts if refreshed else 1.0)
        root = np.sqrt(2 * np.log(since))
        there = (first < 2 * starts) * size
        reached = (first <= grid[:, None]) * size
        top = np.sqrt(2 * np.log(grid))[:, None] * first ** ((1 - exponent) / 2) / noise
        total = np.zeros(grid.size)
        for gap, arms in zip(*np.unique(all_gaps[all_gaps > 0], return_counts=True), strict=True):
            least = np.full(grid.size, np.inf)
            for share in _SHARES:
                low = _half_exp(loose - share * gap * rise - root * spread)
                late = when @ np.minimum(1.0, np.sum(there * low, axis=1))
                high = _half_exp(loose - (1 - share) * gap * rise + top)
                early = interval * np.sum(reached * high, axis=1)
                least = np.minimum(least, interval + early + late)
            total += arms * gap * least
        return total

    return _growing(all_gaps, horizon, times, at)


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
