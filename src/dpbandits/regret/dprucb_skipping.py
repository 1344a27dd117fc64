"""DPRUCB by certified skipping: no node of a tree is drawn unless it may end an arm's lead.

An arm that leads is pulled, and the other indices stand still, but for a bonus that depends on t.
Let a lead before pull t + 1 with n rewards, sum S of the truncated ones and prefix noise Z, and let
U be the largest index of the others at pull t + m. Rewards are not negative, so that after r more
pulls the sum is S at least, and a still leads if the noise Z_r > −f(r),

    f(r) = S + H·(n + r)^g − U·(n + r),        g = 1/(1 + v),

with H the bonus at pull t + 1. f is concave: z = min(f(0), f(m − 1)) serves for all r < m. When the
noise first falls to −z is drawn by `walk_growing_tree`, from its exact law. The rewards up to there
are drawn, mostly one by one (`growing_sum`), and the index is formed anew. Nothing is left out that
could have mattered: the law of the pulls is that of the kernels in `dpbandits.regret.dprucb_steps`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpbandits.growing_sums import growing_sum
from dpbandits.heavy_laws import HeavyCode, draw_heavy
from dpbandits.mechanisms.adaptive_passage import (
    GrowingPassageTable,
    growing_passage_table,
    walk_growing_tree,
)
from dpbandits.mechanisms.adaptive_tree import next_adaptive_noise
from dpbandits.mechanisms.first_passage import TREE_LEVELS, prefix_noise_at
from dpbandits.regret.dprucb_steps import grown_power

__all__ = ["TreeSkipTally", "certify_tree", "play_tree_skipping", "tree_skip_and_tally"]

# What follows steers only the speed: any choice of stretches gives the same law.
_SHORTEST = 16  # pulls that make a walk worth its cost
_LEAST_LEAD = 1.0  # node scales
_SPENT = 0.125  # part of the lead that the certificate may give away


class TreeSkipTally(NamedTuple):
    """What a run by skipping did: numbers of walks, of pulls inside walks, and of other pulls."""

    walks: int
    walked_pulls: int
    plain_pulls: int


@njit(cache=True, nogil=True)
def _bonus(width: float, growth: float, published: bool, t: int) -> float:
    """Return H, or H·log(2t⁴)^(v/(1+v)) for the published width."""
    if published:
        return width * (math.log(2.0) + 4.0 * math.log(t)) ** (1.0 - growth)
    return width


@njit(cache=True, nogil=True)
def _leader(
    means: NDArray[np.float64], shrunk: NDArray[np.float64], bonus: float
) -> tuple[int, float]:
    """Return the arm of the largest index (ties to the lowest number), and the next index."""
    arm, highest, rival = 0, means[0] + bonus * shrunk[0], -math.inf
    for b in range(1, means.size):
        index = means[b] + bonus * shrunk[b]
        if index > highest:
            arm, highest, rival = b, index, highest
        elif index > rival:
            rival = index
    return arm, rival


@njit(cache=True, nogil=True)
def _rival(
    means: NDArray[np.float64], shrunk: NDArray[np.float64], bonus: float, arm: int
) -> float:
    """Return the largest index of the others."""
    rival = -math.inf
    for b in range(means.size):
        if b != arm:
            rival = max(rival, means[b] + bonus * shrunk[b])
    return rival


@njit(cache=True, nogil=True)
def certify_tree(
    means: NDArray[np.float64],
    shrunk: NDArray[np.float64],
    arm: int,
    rival: float,
    n: int,
    total: float,
    t: int,
    horizon: int,
    first_scale: float,
    growth: float,
    width: float,
    published: bool,
    ratio: float,
) -> tuple[int, float]:
    """Return a certificate (m, z) for the leader `arm`, or m = 0 when none is worth a walk.

    Parameters
    ----------
    means, shrunk : numpy.ndarray of float, shape (K,)
        The arms' private means, and n^(−v/(1+v)) for their numbers of rewards.
    arm : int
        The leader.
    rival : float
        U, the largest index of the others, at pull t + 1.
    n, total : int, float
        Its number of rewards, and S.
    t, horizon : int
        Pulls made, and in all.
    first_scale, growth : float
        A node that ends at an arm's n-th reward has scale ``first_scale``·n^g.
    width, published
        As in `play_tree_skipping`.
    ratio : float
        κ of the table: the scales of the stretch may differ by so much.

    Returns
    -------
    stretch : int
        m; the arm leads before each of the pulls t + 1, …, t + m while its noise is above −z.
    barrier : float
        z.
    """
    bonus = _bonus(width, growth, published, t + 1)
    lead = (means[arm] + bonus * shrunk[arm] - rival) * n
    if lead < _LEAST_LEAD * first_scale * n * shrunk[arm]:
        return 0, 0.0
    longest = min(float(horizon - t), (ratio - 1.0) * n)
    fall = rival - growth * bonus * shrunk[arm]  # −f′ at 0
    if fall * longest > _SPENT * lead:
        longest = _SPENT * lead / fall
    stretch = int(longest)
    if stretch < _SHORTEST:
        return 0, 0.0
    if stretch < horizon - t:
        # end at a multiple of a large power of two: few subtrees to walk through
        unit = 1
        while unit << 3 <= stretch:
            unit <<= 1
        stretch -= (n + stretch) % unit
    rival = _rival(means, shrunk, _bonus(width, growth, published, t + stretch), arm)
    last = n + stretch - 1.0
    at_first = bonus * n * shrunk[arm] - rival * n
    at_last = bonus * last**growth - rival * last
    # thousands of times the rounding of f and of the indices that a kernel by pulls compares
    slack = 1e-12 * (abs(total) + (abs(rival) + bonus) * last)
    barrier = total + min(at_first, at_last) - slack
    if barrier + means[arm] * n - total < 0.5 * lead:
        return 0, 0.0
    return stretch, barrier


@njit(cache=True, nogil=True)
def _pull_while_leading(
    rng: np.random.Generator,
    law: HeavyCode,
    first_bound: float,
    growth: float,
    node_factor: float,
    nodes: NDArray[np.float64],
    n: int,
    total: float,
    noise: float,
    power: float,
    bonus: float,
    rival: float,
    block: int,
) -> tuple[int, float, float]:
    """Pull an arm once, and on, up to `block` times, while it certainly leads.

    `rival` bounds the other indices over the block. Returns the arm's pulls, sum and noise.
    """
    rival += 1e-12 * (abs(rival) + bonus)  # more than rounding
    last = n + block
    inverse = 1.0 / n if n > 0 else 0.0
    while True:
        n += 1
        power = grown_power(power, inverse, n, growth)
        bound = first_bound * power
        reward = draw_heavy(rng, law)
        if reward <= bound:
            total += reward
        noise = next_adaptive_noise(rng, node_factor * bound, nodes, noise, n)
        inverse = 1.0 / n
        if n == last or (total + noise + bonus * power) * inverse <= rival:
            return n, total, noise


@njit(cache=True, nogil=True)
def _play(
    kinds: NDArray[np.int64],
    parameters: NDArray[np.float64],
    first_bound: float,
    growth: float,
    node_factor: float,
    width: float,
    published: bool,
    checkpoints: NDArray[np.int64],
    rng: np.random.Generator,
    table: GrowingPassageTable,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Play an index policy with walks; return the counts and the tally."""
    n_arms = kinds.size
    pulls = np.zeros(n_arms, np.int64)
    sums = np.zeros(n_arms)
    means = np.zeros(n_arms)  # private ones
    shrunk = np.zeros(n_arms)  # n^(−v/(1+v))
    ends = np.zeros((n_arms, TREE_LEVELS))
    counts = np.zeros((checkpoints.size, n_arms), np.int64)
    first_scale = node_factor * first_bound
    walks, walked = 0, 0
    horizon = checkpoints[-1]
    t, c = 0, 0
    while t < horizon:
        arm, rival, bonus, block, stretch, barrier = t, 0.0, 0.0, 1, 0, 0.0
        if t >= n_arms:
            bonus = _bonus(width, growth, published, t + 1)
            arm, rival = _leader(means, shrunk, bonus)
        n, total = pulls[arm], sums[arm]
        law = (kinds[arm], parameters[arm, 0], parameters[arm, 1])
        if t >= n_arms:
            stretch, barrier = certify_tree(
                means, shrunk, arm, rival, n, total, t, horizon,
                first_scale, growth, width, published, table.ratio,
            )  # fmt: skip
        start = n
        if stretch > 0:
            n = walk_growing_tree(
                rng, table, first_scale, growth, barrier, ends, arm, start, start + stretch
            )
            total += growing_sum(rng, law, first_bound, growth, start, n)
            noise = prefix_noise_at(ends, arm, n)
            walks += 1
            walked += n - start
        else:
            if t >= n_arms:
                block = min(horizon - t, _SHORTEST)
                later = _bonus(width, growth, published, t + block)
                rival = _rival(means, shrunk, later, arm)
            noise = prefix_noise_at(ends, arm, n)
            n, total, noise = _pull_while_leading(
                rng, law, first_bound, growth, node_factor, ends[arm],
                n, total, noise, n * shrunk[arm], bonus, rival, block,
            )  # fmt: skip
        t += n - start
        pulls[arm], sums[arm] = n, total
        means[arm] = (total + noise) / n
        shrunk[arm] = float(n) ** growth / n
        while c < checkpoints.size and checkpoints[c] <= t:
            # since the last decision only this arm was pulled
            counts[c] = pulls
            counts[c, arm] -= t - checkpoints[c]
            c += 1
    return counts, np.array([walks, walked, t - walked])


def tree_skip_and_tally(
    kinds: NDArray[np.int64],
    parameters: NDArray[np.float64],
    first_bound: float,
    growth: float,
    node_factor: float,
    width: float,
    checkpoints: NDArray[np.int64],
    rng: np.random.Generator,
    published: bool = False,
) -> tuple[NDArray[np.int64], TreeSkipTally]:
    """Play as `play_tree_skipping` does, and tell how many walks and plain pulls the run took.

    Parameters
    ----------
    kinds, parameters, first_bound, growth, node_factor, width, checkpoints, rng, published
        As in `play_tree_skipping`.

    Returns
    -------
    counts : numpy.ndarray of int64, shape (C, K)
    tally : TreeSkipTally
    """
    counts, tally = _play(
        kinds,
        parameters,
        first_bound,
        growth,
        node_factor,
        width,
        published,
        checkpoints,
        rng,
        growing_passage_table(),
    )
    return counts, TreeSkipTally(*tally.tolist())


def play_tree_skipping(
    kinds: NDArray[np.int64],
    parameters: NDArray[np.float64],
    first_bound: float,
    growth: float,
    node_factor: float,
    width: float,
    checkpoints: NDArray[np.int64],
    rng: np.random.Generator,
    published: bool = False,
) -> NDArray[np.int64]:
    """Play the index (S + Z)/n + H·n^(−v/(1+v)), or the published one, with walks.

    Exact in law, in exact arithmetic with ideal random numbers, and also at checkpoints.

    Parameters
    ----------
    kinds, parameters, first_bound, growth, node_factor, width, checkpoints, rng
        As in `dpbandits.regret.dprucb_steps.play_fixed_width`; the noise may not be 0, and rewards
        may not be negative.
    published : bool
        Whether the bonus is H·(log(2t⁴)/n)^(v/(1+v)), as in `play_published_width`.

    Returns
    -------
    numpy.ndarray of int64, shape (C, K)
        Pulls of each arm among the first ``checkpoints[c]`` pulls.
    """
    return tree_skip_and_tally(
        kinds,
        parameters,
        first_bound,
        growth,
        node_factor,
        width,
        checkpoints,
        rng,
        published,
    )[0]
