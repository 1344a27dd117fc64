"""Robust index policies by certified skipping: far less than one step a pull.

An arm that leads is pulled, and the other indices stand still, but for a bonus that depends on t.
Let a lead before pull t + 1 with n rewards, sum S of the truncated ones and prefix noise Z, and let
U be the largest index of the others at pull t + m. A line a·r − c below which the sum of its next r
rewards does not fall (`dpbandits.rewards.lower_lines`; a = c = 0 always is one, for rewards are not
negative) makes a lead after r more pulls if the noise Z_r > −f(r),

    f(r) = S + a·r − c + H·(n + r)^g − U·(n + r),        g = 1/(1 + v),

with H the bonus at pull t + 1. f is concave: z = min(f(0), f(m − 1)) serves for all r < m. When the
noise first falls to −z is drawn by `walk_growing_tree`, from its exact law; without noise, z > 0 is
enough. The rewards up to there are drawn at once (`growing_sum`), and the index is formed anew.

The law of the pulls is that of the kernels in `dpbandits.regret.dprucb_steps` up to a total
variation distance of at most, for each walk of a run, 10^−16 for the line and 10^−13 for the sum.
A run makes at most `MAX_WALKS` walks, and goes on pull by pull afterwards, so that it errs by at
most 4.1·10^−7; with the some 10^5 walks of a run of 10^8 pulls that is 10^−8.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpbandits.mechanisms.adaptive_passage import (
    GrowingPassageTable,
    growing_passage_table,
    walk_growing_tree,
)
from dpbandits.mechanisms.adaptive_tree import next_adaptive_noise
from dpbandits.mechanisms.first_passage import TREE_LEVELS, prefix_noise_at
from dpbandits.regret.dprucb_steps import grown_by, grown_power
from dpbandits.rewards.exponentials import exponentials
from dpbandits.rewards.growing_sums import growing_sum
from dpbandits.rewards.heavy_laws import PARETO, HeavyCode, draw_heavy
from dpbandits.rewards.lower_lines import lower_lines
from dpbandits.rewards.matched_sums import matched_rows

__all__ = [
    "MAX_WALKS",
    "TreeSkipTally",
    "certify_tree",
    "play_tree_skipping",
    "tree_skip_and_tally",
]

MAX_WALKS = 4 * 10**6
"""Walks that a run may make."""

# What follows steers only the speed: any choice of stretches gives the same law.
_SHORTEST = 16  # pulls that make a walk worth its cost
_SPENT = 0.125  # part of the lead that the certificate may give away
_NOISELESS_SHORTEST = 160
_STOCK = 256
_NOISELESS_SPENT = 0.98


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
def _beyond(law: HeavyCode, bound: float) -> float:
    """Return P(X > B) of a reward X."""
    kind, first, second = law
    if kind == PARETO:
        return 1.0 if bound <= second else (bound / second) ** -first
    return second if first > bound else 0.0


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
    lines: NDArray[np.float64],
    beyond: float,
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
        A node that ends at an arm's n-th reward has scale ``first_scale``·n^g; 0 without noise.
    width, published
        As in `play_tree_skipping`.
    ratio : float
        κ of the table: the scales of the stretch may differ by so much.
    lines : numpy.ndarray of float
        `dpbandits.rewards.lower_lines.lower_lines` of the leader's rewards.
    beyond : float
        Probability that one is beyond the bound on the next.

    Returns
    -------
    stretch : int
        m; the arm leads before each of the pulls t + 1, …, t + m while its noise is above −z.
    barrier : float
        z.
    """
    bonus = _bonus(width, growth, published, t + 1)
    lead = (means[arm] + bonus * shrunk[arm] - rival) * n
    scale = first_scale * n * shrunk[arm]
    shortest, spent = _SHORTEST, _SPENT
    if scale == 0.0:
        shortest, spent = _NOISELESS_SHORTEST, _NOISELESS_SPENT
    longest = min(float(horizon - t), (ratio - 1.0) * n)
    spent *= lead
    fall = rival - growth * bonus * shrunk[arm]  # −f′ at 0, if no reward counts
    alone = spent / fall if fall * longest > spent else longest
    most, slope, intercept = alone, 0.0, 0.0
    for i in range(lines.shape[0]):
        left = spent - lines[i, 0]
        if left <= 0.0:
            break
        rise = lines[i, 1] - beyond * lines[i, 2]
        m = left / (fall - rise) if (fall - rise) * longest > left else longest
        if m > most:
            most, slope, intercept = m, rise, lines[i, 0]
            if m == longest:
                break
    stretch = int(most)
    if stretch < shortest:
        return 0, 0.0
    if stretch < horizon - t and scale > 0.0:
        # end at a multiple of a large power of two: few subtrees to walk through
        unit = 1
        while unit << 3 <= stretch:
            unit <<= 1
        stretch -= (n + stretch) % unit
    if published:
        rival = _rival(means, shrunk, _bonus(width, growth, published, t + stretch), arm)
    last = n + stretch - 1.0
    at_first = bonus * n * shrunk[arm] - rival * n
    at_last = slope * (stretch - 1.0) + bonus * last**growth - rival * last
    # thousands of times the rounding of f and of the indices that a kernel by pulls compares
    slack = 1e-12 * (abs(total) + (abs(rival) + bonus) * last)
    barrier = total + min(at_first, at_last) - intercept - slack
    if barrier + means[arm] * n - total < (0.5 * lead if scale > 0.0 else 0.0):
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
def _pull_without_noise(
    rng: np.random.Generator,
    law: HeavyCode,
    first_bound: float,
    growth: float,
    stock: NDArray[np.float64],
    used: int,
    n: int,
    total: float,
    power: float,
    bonus: float,
    rival: float,
    block: int,
) -> tuple[int, float, int]:
    """As `_pull_while_leading` without noise; rewards are drawn in advance, many at once.

    (n + r)^g is at least n^g·(1 + g·r/(n + m)) for r ≤ m, by its slope at n + m. `stock` keeps the
    arm's rewards that are drawn and not yet used, from the place `used` on.
    """
    rival += 1e-12 * (abs(rival) + bonus)  # more than rounding
    last = n + block
    low = first_bound * power  # at most the bound on the next reward
    rise = bonus * growth * power / last - rival
    ahead = total + bonus * power - rival * n
    while True:
        if used == stock.size:
            if law[0] == PARETO:
                for i in range(used):
                    stock[i] = rng.standard_exponential()
                exponentials(stock, 1.0 / law[1], law[2], used)
            else:
                for i in range(used):
                    stock[i] = draw_heavy(rng, law)
            used = 0
        n += 1
        reward = stock[used]
        used += 1
        if reward > low and reward > first_bound * float(n) ** growth:
            reward = 0.0
        total += reward
        ahead += reward + rise
        if n == last or ahead <= 0.0:
            return n, total, used


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
    rows: NDArray[np.float64],
    lines: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Play an index policy with walks; return the counts and the tally."""
    n_arms = kinds.size
    pulls = np.zeros(n_arms, np.int64)
    sums = np.zeros(n_arms)
    means = np.zeros(n_arms)  # private ones
    shrunk = np.zeros(n_arms)  # n^(−v/(1+v))
    ends = np.zeros((n_arms, TREE_LEVELS))
    counts = np.zeros((checkpoints.size, n_arms), np.int64)
    stock = np.empty((n_arms, _STOCK))
    used = np.full(n_arms, _STOCK)
    beyond, renewed = np.ones(n_arms), np.zeros(n_arms)
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
        least = first_scale * n * shrunk[arm] if node_factor > 0.0 else lines[arm, 0, 0]
        may_walk = walks < MAX_WALKS and t >= n_arms
        if may_walk and (means[arm] + bonus * shrunk[arm] - rival) * n >= least:
            if n >= renewed[arm]:  # it falls with n: an old value serves
                beyond[arm] = _beyond(law, first_bound * float(n) ** growth)
                renewed[arm] = 1.05 * n
            stretch, barrier = certify_tree(
                means, shrunk, arm, rival, n, total, t, horizon,
                first_scale, growth, width, published, table.ratio, lines[arm], beyond[arm],
            )  # fmt: skip
        start = n
        if stretch > 0:
            n = start + stretch
            if node_factor > 0.0:
                n = walk_growing_tree(rng, table, first_scale, growth, barrier, ends, arm, start, n)
            total += growing_sum(rng, law, rows[arm], first_bound, growth, start, n)
            noise = prefix_noise_at(ends, arm, n)
            walks += 1
            walked += n - start
        else:
            if t >= n_arms:
                block = min(horizon - t, _SHORTEST if node_factor > 0.0 else _NOISELESS_SHORTEST)
                if published:
                    later = _bonus(width, growth, published, t + block)
                    rival = _rival(means, shrunk, later, arm)
            if node_factor > 0.0:
                noise = prefix_noise_at(ends, arm, n)
                n, total, noise = _pull_while_leading(
                    rng, law, first_bound, growth, node_factor, ends[arm],
                    n, total, noise, n * shrunk[arm], bonus, rival, block,
                )  # fmt: skip
            else:
                noise = 0.0
                n, total, used[arm] = _pull_without_noise(
                    rng, law, first_bound, growth, stock[arm], used[arm],
                    n, total, n * shrunk[arm], bonus, rival, block,
                )  # fmt: skip
        t += n - start
        pulls[arm], sums[arm] = n, total
        means[arm] = (total + noise) / n
        part = (n - start) / max(start, 1)
        if part < 1e-3 and n & 63:
            shrunk[arm] *= grown_by(part, growth - 1.0)
        else:
            shrunk[arm] = float(n) ** (growth - 1.0)
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
    codes = [(int(k), float(a), float(b)) for k, (a, b) in zip(kinds, parameters, strict=True)]
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
        np.array([matched_rows(first if kind == PARETO else 2.0) for kind, first, _ in codes]),
        np.array([lower_lines(code) for code in codes]),
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

    Its error is that of the module, in exact arithmetic with ideal random numbers; also at
    checkpoints.

    Parameters
    ----------
    kinds, parameters, first_bound, growth, node_factor, width, checkpoints, rng
        As in `dpbandits.regret.dprucb_steps.play_fixed_width`; rewards may not be negative.
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
