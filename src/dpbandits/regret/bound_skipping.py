"""Certified skipping for DP-UCB-BOUND, whose counters are hybrid ones.

As in `dpbandits.regret.skipping`, for another width and another tree. Let arm a lead before pull
t + 1, with n pulls, reward sum S and noise Z of its counter, 2^k ≤ n < 2^(k+1). Let U be the
largest index of the others before pull t + m, were none of them pulled: none falls with time. With
the reward band c and B(n) the bracket of ν,

    f(r) = S + μ r − c + 4√8·λ·log(t+1)·B(n+r) + √(2 log(t+1) (n+r)) − U (n+r)

is concave in r while n + r < 2^(k+1), for B is constant there, or 1 + log2 of n + r − 2^k ≥ 1. So
f(r) ≥ z = min(f(0), f(m−1)), and a leads before each of the pulls t + 1 … t + m as long as its
noise Z_r > −z, except with a probability of `SKIP_ERROR` = 10⁻¹⁶ for the rewards. Between two
powers of two the noise of a hybrid counter is that of one tree of equal nodes, of scale kλ: the
node that ends at n + r adds to the noise at n + r without its lowest set bit. So the first passage
below −z is drawn by `walk_to_first_passage`, as it stands, and no stretch goes beyond 2^(k+1) − 1
pulls.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpbandits.mechanisms.first_passage import (
    FirstPassageTable,
    first_passage_table,
    prefix_noise_at,
    walk_to_first_passage,
)
from dpbandits.mechanisms.hybrid import HYBRID_STATE, next_hybrid_noise
from dpbandits.regret.skipping import (
    MAX_SKIPS,
    SKIP_ERROR,
    _proposed_stretch,
    _reward_band,
    stretch_limits,
)
from dpbandits.rewards.binomial import binomial

__all__ = ["bracket", "play_bound_skipping", "width_factor"]

# These steer only the speed.
_NOISE_RESERVE = 30.0  # node scales of a lead that are enough for the noise
_SHORTEST = 32  # pulls that make a skip worth its cost


@njit(cache=True, nogil=True)
def width_factor(block_scale: float) -> float:
    """Return 4√8·λ, the factor of log t·bracket in ν."""
    return 4.0 * math.sqrt(8.0) * block_scale


@njit(cache=True, nogil=True)
def bracket(n: int, power: int, repaired: bool) -> float:
    """Return the bracket of ν for n pulls, `power` the greatest power of two up to n.

    Examples
    --------
    >>> bracket(20, 16, False), bracket(20, 16, True), bracket(16, 16, False)
    (3.0, 5.0, 1.0)
    """
    if repaired:
        return 1.0 + math.log2(power)
    return 1.0 + math.log2(n - power) if n > power else 1.0


@njit(cache=True, nogil=True)
def _rival_index(
    private_means: NDArray[np.float64],
    widths: NDArray[np.float64],
    inverse_roots: NDArray[np.float64],
    leader: int,
    last: int,
    ucb_term: bool,
) -> float:
    """Return the largest index of the other arms before pull number `last`, were none pulled."""
    log_t = math.log(last)
    root = math.sqrt(2.0 * log_t) if ucb_term else 0.0
    rival = -math.inf
    for b in range(private_means.size):
        if b != leader:
            rival = max(rival, private_means[b] + log_t * widths[b] + root * inverse_roots[b])
    return rival


@njit(cache=True, nogil=True)
def _play(
    means: NDArray[np.float64],
    block_scale: float,
    ucb_term: bool,
    repaired: bool,
    checkpoints: NDArray[np.int64],
    rng: np.random.Generator,
    table: FirstPassageTable,
    limits: NDArray[np.int64],
    max_skips: int,
) -> NDArray[np.int64]:
    n_arms = means.size
    horizon = checkpoints[-1]
    pulls = np.zeros(n_arms, np.int64)
    rewards = np.zeros(n_arms, np.int64)
    counters = np.zeros((n_arms, HYBRID_STATE))
    power = np.ones(n_arms, np.int64)  # the greatest power of two up to the arm's pulls
    private_means = np.zeros(n_arms)
    widths = np.zeros(n_arms)  # ν/(n log t)
    inverse_roots = np.zeros(n_arms)
    counts = np.zeros((checkpoints.size, n_arms), np.int64)
    factor = width_factor(block_scale)
    t, c, skips = 0, 0, 0
    while t < horizon:
        arm, stretch, block, floor, rival, barrier, node_scale = t, 0, 1, 0.0, math.inf, 0.0, 0.0
        if t >= n_arms:
            arm, highest, rival = 0, -math.inf, -math.inf
            log_t = math.log(t + 1)
            root = math.sqrt(2.0 * log_t) if ucb_term else 0.0
            for b in range(n_arms):
                index = private_means[b] + log_t * widths[b] + root * inverse_roots[b]
                if index > highest:
                    arm, highest, rival = b, index, highest
                elif index > rival:
                    rival = index
            n = pulls[arm]
            node_scale = block_scale * math.log2(power[arm])
            last = 2 * power[arm] - 1 - n  # pulls that this octave has left, less one
            lead = (highest - rival) * n
            if (repaired or n > power[arm]) and last > 1 and lead > node_scale:
                width = factor * log_t
                total = float(rewards[arm])
                noise = prefix_noise_at(counters, arm, n)
                if skips < max_skips and last >= _SHORTEST:
                    # Part of the lead is kept for the noise, as in `skipping.certify`.
                    kept = min(0.8 * lead, max(0.2 * lead, _NOISE_RESERVE * node_scale))
                    room = int(min(lead / (table.cell_width * node_scale), limits.size - 1.0))
                    growth = width / ((n - power[arm]) * math.log(2.0)) if not repaired else 0.0
                    drift = rival - means[arm] - 0.5 * root / math.sqrt(n) - growth
                    stretch = int(
                        min(
                            _proposed_stretch(lead - kept, drift, means[arm], SKIP_ERROR),
                            float(min(horizon - t, last, limits[room])),
                        )
                    )
                    while stretch >= _SHORTEST:
                        rival = _rival_index(
                            private_means, widths, inverse_roots, arm, t + stretch, ucb_term
                        )
                        end = n + stretch - 1
                        at_first = (
                            total + width * bracket(n, power[arm], repaired)
                            + root * math.sqrt(n) - rival * n
                        )  # fmt: skip
                        at_last = (
                            total + means[arm] * (stretch - 1)
                            + width * bracket(end, power[arm], repaired)
                            + root * math.sqrt(end) - rival * end
                        )  # fmt: skip
                        slack = 1e-9 + 1e-12 * (abs(total) + width * 64 + (abs(rival) + 1.0) * end)
                        band = _reward_band(means[arm], stretch, SKIP_ERROR)
                        barrier = min(at_first, at_last) - band - slack
                        if stretch < min(horizon - t, last):
                            # end at a multiple of a large power of two: few subtrees
                            unit = 1
                            while unit << 3 <= stretch:
                                unit <<= 1
                            stretch -= (n + stretch) % unit
                        if barrier + noise > 0.5 * kept:
                            break
                        stretch //= 2
                    if stretch < _SHORTEST:
                        stretch = 0
                if stretch == 0:
                    block = min(_SHORTEST // 2, horizon - t, last)
                    rival = _rival_index(
                        private_means, widths, inverse_roots, arm, t + block, ucb_term
                    )
                    rival += 1e-12 * (abs(rival) + 1.0)
                    floor = width * bracket(n, power[arm], repaired) + root * math.sqrt(n)
        start = pulls[arm]
        n = start
        if stretch > 0:
            n = walk_to_first_passage(
                rng, table, node_scale, barrier, counters, arm, start, start + stretch
            )
            noise = prefix_noise_at(counters, arm, n)
            rewards[arm] += binomial(rng, n - start, means[arm])
            skips += 1
        else:  # a pull, and more while the arm certainly leads
            while True:
                n += 1
                if rng.random() < means[arm]:
                    rewards[arm] += 1
                noise = next_hybrid_noise(rng, block_scale, block_scale, counters, arm, n)
                if n == start + block or rewards[arm] + noise + floor <= rival * n:
                    break
        t += n - start
        pulls[arm] = n
        if n == 2 * power[arm]:
            power[arm] = n
        private_means[arm] = (rewards[arm] + noise) / n
        widths[arm] = factor * bracket(n, power[arm], repaired) / n
        inverse_roots[arm] = 1.0 / math.sqrt(n)
        while c < checkpoints.size and checkpoints[c] <= t:
            # since the last decision only this arm was pulled
            counts[c] = pulls
            counts[c, arm] -= t - checkpoints[c]
            c += 1
    return counts


def play_bound_skipping(
    means: NDArray[np.float64],
    block_scale: float,
    ucb_term: bool,
    repaired: bool,
    checkpoints: NDArray[np.int64],
    rng: np.random.Generator,
    max_skips: int = MAX_SKIPS,
) -> NDArray[np.int64]:
    """Play DP-UCB-BOUND with skips certified to keep the leader.

    The law of the counts is that of `dpbandits.regret.dp_ucb_bound.play_dp_ucb_bound` up to a
    total variation distance of at most ``max_skips * SKIP_ERROR``, 4·10⁻¹⁰ by default, in exact
    arithmetic with ideal random numbers.

    Parameters
    ----------
    means, block_scale, ucb_term, repaired, checkpoints, rng
        As there; `block_scale` is positive.
    max_skips : int
        Skips allowed.

    Returns
    -------
    numpy.ndarray of int64, shape (C, K)
    """
    table, limits = first_passage_table(), stretch_limits()
    counts: NDArray[np.int64] = _play(
        means, block_scale, ucb_term, repaired, checkpoints, rng, table, limits, max_skips
    )
    return counts
