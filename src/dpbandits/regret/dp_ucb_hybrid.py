"""DP-UCB with hybrid counters that all advance at every step.

*Certified skipping*, where the noise of every arm changes at every pull. Let arm a lead before pull
t + 1, with n pulls and reward sum S, 2^k ≤ t < t + m < 2^(k+1). For a level θ that is free to
choose, with root = √(2 log(t+1)), later = √(2 log(t+m)) and the reward band c of
`dpbandits.regret.skipping`, a leads before each of the pulls t + 1 … t + m as long as

    Z_a > −z,                          z = min(f(0), f(m−1)),
    Z_b < n_b θ − S_b − later·√n_b     for each other arm b,

f(r) = S + μ r − c + root·√(n+r) − θ (n+r), which is concave: its index is above θ, and those of the
others, of which only Z_b and the bonus change, are below. That fails with a probability of at most
`SKIP_ERROR` = 10⁻¹⁶ by the rewards. From 2^k to 2^(k+1) − 1 elements the noise of each counter is
that of a tree of equal nodes, of scale kλ, independent of the others: the first time that one of
the K conditions on the noise may fail is drawn by `dpbandits.mechanisms.first_passage`, with the
noise of all counters at that time, and the rewards up to then are one Binomial variable.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numba import njit

from dpbandits import bounds
from dpbandits._arrays import Floats, Ints, Rng
from dpbandits.configuration import Budget, Flag
from dpbandits.mechanisms.counters import HYBRID_STATE, next_hybrid_noise
from dpbandits.mechanisms.first_passage import (
    FirstPassageTable,
    first_passage_table,
    lowest_level,
    walk_to_joint_passage,
)
from dpbandits.regret.base import Times
from dpbandits.regret.dp_ucb_bound import HybridIndex
from dpbandits.regret.per_step import ADVANCING, IndexPolicy
from dpbandits.regret.skipping import (
    LOG_ERROR,
    MAX_SKIPS,
    aligned,
    pass_checkpoints,
    reward_band,
    stretch_limits,
)
from dpbandits.rewards.binomial import binomial

__all__ = ["DPUCBHybrid"]


# These steer only the speed.
_NOISE_RESERVE = 40.0  # node scales that are kept for the leader's noise
_SHORTEST = 32  # pulls that make a skip worth its cost
_TRIES = 4  # lengths of a certificate that are tried, each an eighth of the one before


@njit(cache=True, nogil=True)
def _certify(
    pulls: Ints,
    rewards: Ints,
    noise: Floats,
    arm: int,
    lead: float,
    mean: float,
    t: int,
    most: int,
    node_scale: float,
    ucb_term: bool,
    cell_width: float,
    limits: Ints,
    barriers: Floats,
) -> int:
    """Return a number of pulls, at most `most`, and write the barriers; 0 if none is worth it."""
    n, total = pulls[arm], float(rewards[arm])
    root = math.sqrt(2.0 * math.log(t + 1.0)) if ucb_term else 0.0
    kept = noise[arm] - min(_NOISE_RESERVE * node_scale, 0.5 * lead)
    stretch = min(most, n)
    for _ in range(_TRIES):
        if stretch < _SHORTEST:
            break
        band = reward_band(mean, stretch, LOG_ERROR)
        last = n + stretch - 1.0
        at_first = total - band + root * math.sqrt(n)
        at_last = total - band + mean * (stretch - 1.0) + root * math.sqrt(last)
        level = min((at_first + kept) / n, (at_last + kept) / last)
        slack = 1e-9 + 1e-12 * (abs(total) + abs(kept) + (abs(level) + 1.0) * last)
        later = math.sqrt(2.0 * math.log(t + stretch)) if ucb_term else 0.0
        longest = stretch
        for b in range(pulls.size):
            if b == arm:
                barriers[b] = min(at_first - level * n, at_last - level * last) - slack
                room = barriers[b] + noise[b]
            else:
                barriers[b] = pulls[b] * level - rewards[b] - later * math.sqrt(pulls[b]) - slack
                room = barriers[b] - noise[b]
            cells = room / (cell_width * node_scale)
            longest = min(longest, limits[int(min(cells, limits.size - 1.0))] if cells > 0 else 0)
        if longest >= _SHORTEST:
            return longest
        stretch //= 8
    return 0


@njit(cache=True, nogil=True)
def _skip(
    means: Floats,
    block_scale: float,
    ucb_term: bool,
    checkpoints: Ints,
    rng: Rng,
    table: FirstPassageTable,
    limits: Ints,
    max_skips: int,
) -> Ints:
    """Play DP-UCB-HYBRID on Bernoulli arms with certified skips; the noise is positive."""
    n_arms = means.size
    horizon = checkpoints[-1]
    pulls = np.zeros(n_arms, np.int64)
    rewards = np.zeros(n_arms, np.int64)
    counters = np.zeros((n_arms, HYBRID_STATE))
    noise = np.zeros(n_arms)
    barriers = np.zeros(n_arms)
    signs = np.empty(n_arms)
    inverse_roots = np.zeros(n_arms)
    counts = np.zeros((checkpoints.size, n_arms), np.int64)
    power = 1  # the greatest power of two up to t
    t, c, skips, wait = 0, 0, 0, n_arms
    while t < horizon:
        arm, stretch, node_scale = t, 0, 0.0
        if t >= n_arms:
            arm, highest, rival = 0, -math.inf, -math.inf
            root = math.sqrt(2.0 * math.log(t + 1)) if ucb_term else 0.0
            for b in range(n_arms):
                index = (rewards[b] + noise[b]) / pulls[b] + root * inverse_roots[b]
                if index > highest:
                    arm, highest, rival = b, index, highest
                elif index > rival:
                    rival = index
            most = min(horizon, 2 * power - 1) - t
            lead = (highest - rival) * pulls[arm]
            node_scale = block_scale * math.log2(power)
            if t >= wait and most >= _SHORTEST and skips < max_skips and lead > node_scale:
                stretch = _certify(
                    pulls, rewards, noise, arm, lead, means[arm], t, most, node_scale, ucb_term,
                    table.cell_width, limits, barriers,
                )  # fmt: skip
                if stretch == 0:
                    wait = t + _SHORTEST // 4
                elif stretch < most:
                    stretch = aligned(t, stretch)
        start = t
        if stretch > 0:
            signs[:] = -1.0
            signs[arm] = 1.0
            t = walk_to_joint_passage(
                rng, table, node_scale, barriers, signs, counters, start, start + stretch
            )
            noise[:] = counters[:, lowest_level(t)]
            rewards[arm] += binomial(rng, t - start, means[arm])
            skips += 1
        else:
            t += 1
            if rng.random() < means[arm]:
                rewards[arm] += 1
            for b in range(n_arms):
                noise[b] = next_hybrid_noise(rng, block_scale, block_scale, counters, b, t)
            if t == 2 * power:
                power = t
        pulls[arm] += t - start
        inverse_roots[arm] = 1.0 / math.sqrt(pulls[arm])
        c = pass_checkpoints(counts, checkpoints, c, t, pulls, arm)
    return counts


@dataclass(frozen=True)
class DPUCBHybrid(HybridIndex):
    """DP-UCB with hybrid counters: Tossou & Dimitrakakis (2016), Algorithm 2.

    One hybrid counter an arm, and at every step an element for each of them: the reward for the
    arm that was played, 0 for all others. With s the private sum of an arm's n rewards, the index
    at time t is s/n + √(2 log t/n); every arm once first, ties to the lowest arm number. The
    horizon is not used. Runs take steps of many pulls (total-variation error at most 4·10⁻¹⁰ a
    run). The bound on the regret is `dp_ucb_hybrid_regret`. Proof: :prf:ref:`thm-33`. With
    `literal` it is t times the greatest gap: nothing in an index without a bonus makes up for
    rewards that were low by chance, and no better bound is known.

    Parameters
    ----------
    epsilon : float
        ε > 0 of the paper; ``inf`` is allowed and gives `UCB`.
    literal : bool
        Whether the index is s/n alone, which is what the pseudo-code of Algorithm 1 gives with
        ν = 0. §3.2 has "the same index as standard UCB".
    split : {"half", "full"}
        What the parts of a counter get of ε: see `HybridCounter`. "full" is the paper's.

    Notes
    -----
    Where the printed pseudo-code cannot be run as it stands, and what was chosen:

    - It is "Algorithm 1 with ν = 0", and that has no √(2 log t/n): `literal`.
    - "When arm a is played, insert 0 to all others": in the first K steps as well, so that every
      counter has t elements after step t.
    - The parts of a counter are those of `DPUCBBound`.

    All noises have one law at each time, but it is noise/n that enters an index, so that the terms
    of the arms still differ. Noise that is redrawn at every step, also for an arm at rest, is what
    brings back a good arm that seems bad: see `dp_ucb_hybrid_regret`.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> runs = dpb.simulate(dpb.DPUCBHybrid(epsilon=1.0), dpb.instances.ss19("C2"), 10_000, 2)
    >>> runs.pulls.sum(axis=1).tolist()
    [10000, 10000]
    """

    label: ClassVar[str] = "DP-UCB-HYBRID"
    source: ClassVar[str] = "TD16, Algorithm 2"

    epsilon: Budget
    literal: Flag = False
    split: Literal["half", "full"] = "half"

    @property
    def policy(self) -> IndexPolicy:
        """The index, for compiled loops."""
        return IndexPolicy(self.counter.block_scale, 0.0, ADVANCING, not self.literal)

    def _skip(self, means: Floats, checkpoints: Times, rng: Rng) -> Ints:
        tables = first_passage_table(), stretch_limits()
        scale, bonus = self.counter.block_scale, not self.literal
        counts: Ints = _skip(means, scale, bonus, checkpoints, rng, *tables, MAX_SKIPS)
        return counts

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        if self.literal:
            return partial(bounds.worst_regret, instance.gaps, horizon)
        scale = self.counter.block_scale
        return partial(bounds.dp_ucb_hybrid_regret, instance.gaps, horizon, block_scale=scale)
