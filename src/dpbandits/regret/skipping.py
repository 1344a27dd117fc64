"""Certified skipping: index policies in far less than one step per pull.

While an arm is pulled, the indices of the others are frozen but for log t. If the leader's index is
far enough above them, it stays the leader for a whole stretch of pulls, whatever the rewards and
the noise of the stretch do within known limits; then only the stretch's sum of rewards (one
Binomial) and the few tree nodes that are read again have to be drawn.

A certificate for arm a, which leads before pull t + 1 with n pulls, reward sum S and prefix noise
Z, is a number m of pulls and a barrier z. With U the largest index of the others at time t + m and
c the reward band,

    f(r) = S + μ r − c + γ + √(2 log(t+1) (n+r)) − U (n+r),      z = min(f(0), f(m−1)),

arm a leads before each of the pulls t + 1 … t + m as long as the noise Z_r > −z: f is concave, and
S_r ≥ S + μ r − c holds for all r ≤ m together except with probability 10⁻¹⁶. When the noise first
reaches −z is not bounded but drawn, by `dpbandits.mechanisms.first_passage`. Proof:
:prf:ref:`skip-certificate`, :prf:ref:`skip-sound`.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits.mechanisms.first_passage import (
    TREE_LEVELS,
    FirstPassageTable,
    first_passage_table,
    next_prefix_noise,
    prefix_noise_at,
    walk_to_first_passage,
)
from dpbandits.regret.base import Times
from dpbandits.regret.per_step import index_leader
from dpbandits.rewards.binomial import binomial

__all__ = [
    "LOG_ERROR",
    "MAX_SKIPS",
    "SKIP_ERROR",
    "SkipTally",
    "aligned",
    "barrier_over",
    "certify",
    "pass_checkpoints",
    "play_skipping",
    "proposed_stretch",
    "reward_band",
    "rival_index",
    "skip_and_tally",
    "stretch_limits",
]


SKIP_ERROR = 1e-16
"""Probability, at most, that the rewards of one skip leave their band."""

LOG_ERROR = -math.log(SKIP_ERROR)
"""log(1/`SKIP_ERROR`), as `reward_band` takes it."""

MAX_SKIPS = 4_000_000
"""Skips of one run, at most; a run that has used them up goes on pull by pull."""

# What follows steers only the speed: any choice of stretches gives the same law.
_NOISE_RESERVE = 30.0  # node scales of a lead that are enough for the noise
_NOISY_SHORTEST = 32  # pulls that make a skip worth its cost
_NOISELESS_SHORTEST = 128
_FAIL_TARGET = 0.8  # stretches end where the noise has probably ended the lead


class SkipTally(NamedTuple):
    """What a run by skipping did: numbers of skips, of pulls inside skips, and of other pulls."""

    skips: int
    skipped_pulls: int
    plain_pulls: int
    first_passages: int


@njit(cache=True, nogil=True)
def rival_index(
    means: Floats, widths: Floats, inverse_roots: Floats, leader: int, last: int, ucb_term: bool
) -> float:
    """Return the largest index of the other arms before pull number `last`, were none pulled."""
    log_t = math.log(last)
    root = math.sqrt(2.0 * log_t) if ucb_term else 0.0
    rival = -np.inf
    for b in range(means.size):
        if b != leader:
            rival = max(rival, means[b] + log_t * widths[b] + root * inverse_roots[b])
    return rival


@njit(cache=True, nogil=True)
def aligned(n: int, stretch: int) -> int:
    """Shorten a stretch after n to end at a multiple of a large power of two: few subtrees."""
    unit = 1
    while unit << 3 <= stretch:
        unit <<= 1
    return stretch - (n + stretch) % unit


@njit(cache=True, nogil=True)
def pass_checkpoints(
    counts: Ints, checkpoints: Times, passed: int, t: int, pulls: Ints, arm: int
) -> int:
    """Count the pulls at the checkpoints up to t, where `arm` alone was pulled since the last."""
    while passed < checkpoints.size and checkpoints[passed] <= t:
        counts[passed] = pulls
        counts[passed, arm] -= t - checkpoints[passed]
        passed += 1
    return passed


@njit(cache=True, nogil=True)
def reward_band(mean: float, stretch: int, log_error: float) -> float:
    """Return c with P(S_r < S + μ r − c for some r ≤ stretch) ≤ exp(−log_error).

    √(2 v m log_error), v the largest Bernoulli variance between μ − √(log_error/(2m)) and μ.
    Proof: :prf:ref:`skip-band`.
    """
    if mean <= 0.0 or mean >= 1.0:
        return 0.0  # the rewards are certain
    low = max(mean - math.sqrt(log_error / (2.0 * stretch)), 0.0)
    if low <= 0.5 <= mean:
        variance = 0.25
    else:
        variance = max(mean * (1.0 - mean), low * (1.0 - low))
    return math.sqrt(2.0 * variance * log_error * stretch)


@njit(cache=True, nogil=True)
def barrier_over(
    n: int, total: float, mean: float, rival: float, width: float, stretch: int, log_error: float
) -> float:
    """Return z = min(f(0), f(m − 1)), with S + γ = `total` and √(2 log(t + 1)) = `width`.

    A slack is taken off, thousands of times the rounding of f and of the indices that are compared.
    """
    last = n + stretch - 1.0
    at_first = total + width * math.sqrt(n) - rival * n
    at_last = total + mean * (stretch - 1.0) + width * math.sqrt(last) - rival * last
    slack = 1e-9 + 1e-12 * (abs(total) + (abs(rival) + 1.0) * last)
    return min(at_first, at_last) - reward_band(mean, stretch, log_error) - slack


@njit(cache=True, nogil=True)
def proposed_stretch(budget: float, drift: float, mean: float, log_error: float) -> float:
    """Return the stretch m over which the reward band and a downward drift use up the budget."""
    band = math.sqrt(2.0 * mean * (1.0 - mean) * log_error)
    drift = max(drift, 0.0)
    # √m is the positive root of band √m + drift m = budget
    denominator = band + math.sqrt(band * band + 4.0 * drift * budget)
    if denominator > 0.0:
        return (2.0 * budget / denominator) ** 2
    return math.inf


@njit(cache=True, nogil=True)
def certify(
    means: Floats,
    widths: Floats,
    inverse_roots: Floats,
    arm: int,
    rival: float,
    n: int,
    total: float,
    noise: float,
    mean: float,
    t: int,
    horizon: int,
    node_scale: float,
    cell_width: float,
    limits: Ints,
    error: float,
) -> tuple[int, float]:
    """Return a certificate (m, z) for the leader `arm`, or m = 0 when none is worth a skip."""
    root = math.sqrt(n)
    width = math.sqrt(2.0 * math.log(t + 1.0))
    log_error = -math.log(error)
    lead = (means[arm] - rival) * n + width * root
    # Part of the lead is kept for the noise; a stretch that the noise ends early wastes band.
    kept, needed, room = 0.2 * lead, 0.0, limits.size - 1
    shortest = _NOISELESS_SHORTEST
    if node_scale > 0.0:
        kept = min(0.8 * lead, max(kept, _NOISE_RESERVE * node_scale))
        needed = 0.5 * kept
        room = int(min(lead / (cell_width * node_scale), float(room)))
        shortest = _NOISY_SHORTEST
    drift = rival - mean - 0.5 * width / root
    longest = min(horizon - t, limits[room])
    stretch = int(min(proposed_stretch(lead - kept, drift, mean, log_error), float(longest)))
    while stretch >= shortest:
        barrier = barrier_over(n, total, mean, rival, width, stretch, log_error)
        if barrier + noise > needed:  # else it is too low for the rival's later index all the more
            later = rival_index(means, widths, inverse_roots, arm, t + stretch, True)
            barrier = barrier_over(n, total, mean, later, width, stretch, log_error)
        if node_scale > 0.0 and stretch < horizon - t:
            stretch = aligned(n, stretch)
        if barrier + noise > needed:
            return stretch, barrier
        stretch //= 2
    return 0, 0.0


@njit(cache=True, nogil=True)
def _pull_while_leading(
    rng: Rng,
    node_scale: float,
    prefix_noise: Floats,
    arm: int,
    n: int,
    reward: int,
    mean: float,
    floor: float,
    rival: float,
    block: int,
) -> tuple[int, int, float]:
    """Pull the arm once, and on, up to `block` times, while it certainly leads.

    `rival` bounds the other indices over the block; `floor` is γ plus what √(2 log t n) is at
    least. Returns the arm's pulls, its sum of rewards and its prefix noise.
    """
    rival += 1e-12 * (abs(rival) + 1.0)  # more than rounding
    last = n + block
    noise = 0.0
    while True:
        n += 1
        if rng.random() < mean:
            reward += 1
        if node_scale > 0.0:
            noise = next_prefix_noise(rng, node_scale, prefix_noise, arm, n)
        if n == last or reward + noise + floor <= rival * n:
            return n, reward, noise


@njit(cache=True, nogil=True)
def _play(
    means: Floats,
    node_scale: float,
    gamma: float,
    checkpoints: Ints,
    rng: Rng,
    table: FirstPassageTable,
    limits: Ints,
    max_skips: int,
) -> tuple[Ints, Ints]:
    """Play an index policy with skips; return the counts and the tally."""
    n_arms = means.size
    horizon = checkpoints[-1]
    pulls = np.zeros(n_arms, np.int64)
    rewards = np.zeros(n_arms, np.int64)
    prefix_noise = np.zeros((n_arms, TREE_LEVELS))
    private_means = np.zeros(n_arms)
    inverse_roots = np.zeros(n_arms)
    widths = np.zeros(n_arms)
    counts = np.zeros((checkpoints.size, n_arms), np.int64)
    skips, skipped_pulls, first_passages = 0, 0, 0
    noisy = node_scale > 0.0
    shortest = _NOISY_SHORTEST if noisy else _NOISELESS_SHORTEST
    t = 0
    c = 0
    while t < horizon:
        stretch, block, width, rival, floor, barrier = 0, 1, 0.0, 0.0, 0.0, 0.0
        arm = t
        if t >= n_arms:
            width = math.sqrt(2.0 * math.log(t + 1.0))
            arm, _, rival = index_leader(private_means, widths, inverse_roots, 0.0, width)
        n = pulls[arm]
        mean = means[arm]
        total = rewards[arm] + gamma
        noise = 0.0
        if t >= n_arms and (private_means[arm] - rival) * n + width * math.sqrt(n) > node_scale:
            if skips < max_skips:
                noise = prefix_noise_at(prefix_noise, arm, n)
                stretch, barrier = certify(
                    private_means, widths, inverse_roots, arm, rival, n, total, noise, mean, t,
                    horizon, node_scale, table.cell_width, limits, SKIP_ERROR,
                )  # fmt: skip
            if stretch == 0:
                block = min(shortest // 2, horizon - t)
                rival = rival_index(private_means, widths, inverse_roots, arm, t + block, True)
                floor = gamma + width * math.sqrt(n)
        start = n
        if stretch > 0:
            n = start + stretch
            if noisy:
                stop = n
                n = walk_to_first_passage(
                    rng, table, node_scale, barrier, prefix_noise, arm, start, stop
                )
                noise = prefix_noise_at(prefix_noise, arm, n)
                first_passages += n < stop
            rewards[arm] += binomial(rng, n - start, mean)
            skips += 1
            skipped_pulls += n - start
        else:
            n, rewards[arm], noise = _pull_while_leading(
                rng, node_scale, prefix_noise, arm, n, rewards[arm], mean, floor, rival, block
            )
        t += n - start
        pulls[arm] = n
        private_means[arm] = (rewards[arm] + noise + gamma) / n
        inverse_roots[arm] = 1.0 / math.sqrt(n)
        c = pass_checkpoints(counts, checkpoints, c, t, pulls, arm)
    return counts, np.array([skips, skipped_pulls, t - skipped_pulls, first_passages])


@lru_cache(maxsize=1)
def stretch_limits() -> Ints:
    """Return, for each room, the longest stretch 2^j that fails with at most `_FAIL_TARGET`."""
    fail = first_passage_table().fail
    levels = np.sum(fail <= _FAIL_TARGET, axis=0) - 1
    limits = np.int64(1) << np.maximum(levels, 0)
    limits.setflags(write=False)
    return limits


def skip_and_tally(
    means: ArrayLike,
    node_scale: float,
    gamma: float,
    checkpoints: ArrayLike,
    rng: Rng,
    max_skips: int = MAX_SKIPS,
) -> tuple[Ints, SkipTally]:
    """Play as `play_skipping` does; return the counts, shape (C, K), and what the run took.

    With `max_skips` = 0 every pull is simulated.
    """
    means, checkpoints = np.array(means, dtype=np.float64), np.array(checkpoints, dtype=np.int64)
    if means.size == 1:  # nothing to decide
        return checkpoints[:, None], SkipTally(0, 0, int(checkpoints[-1]), 0)
    table, limits = first_passage_table(), stretch_limits()
    counts, tally = _play(
        means, float(node_scale), float(gamma), checkpoints, rng, table, limits, max_skips
    )
    return counts, SkipTally(*tally.tolist())


def play_skipping(
    means: ArrayLike, node_scale: float, gamma: float, checkpoints: ArrayLike, rng: Rng
) -> Ints:
    """Play the index (S + Z + γ)/n + √(2 log t/n) on Bernoulli arms, with certified skips.

    The law of the counts is that of `dpbandits.regret.per_step.play_per_step` up to a total
    variation distance of at most ``MAX_SKIPS * SKIP_ERROR`` = 4·10⁻¹⁰ a run, in exact arithmetic
    with ideal random numbers: the two can be coupled so that they differ only if the rewards of
    some skip leave a band, which has a probability of at most `SKIP_ERROR` a skip. Noise and the
    sums of rewards are drawn with their exact laws. Proof: :prf:ref:`skip-tv`.

    Parameters
    ----------
    means, node_scale, gamma, checkpoints, rng
        As of `play_per_step`.

    Returns
    -------
    numpy.ndarray of int64, shape (C, K)
        Pulls of each arm among the first ``checkpoints[c]`` pulls, exact also inside skips: only
        the leader is pulled there.

    Examples
    --------
    >>> import numpy as np
    >>> checkpoints = np.array([10**6, 10**9])
    >>> rng = np.random.default_rng(0)
    >>> counts = play_skipping(np.array([0.75, 0.25]), 100.0, 1000.0, checkpoints, rng)
    >>> counts.sum(axis=1).tolist()
    [1000000, 1000000000]
    """
    return skip_and_tally(means, node_scale, gamma, checkpoints, rng)[0]
