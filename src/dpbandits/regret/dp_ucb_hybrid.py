"""DP-UCB with hybrid counters that all advance at every step.

*Certified skipping*, where the noise of every arm changes at every pull: a certificate is a number
of pulls and a barrier for the noise of each arm, over which the leader's index stays above a level
θ and those of the others below it. Proof: :prf:ref:`lem-walk-advancing`. When the noise of one of
them first reaches its barrier is drawn by `walk_to_joint_passage`.
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
from dpbandits.mechanisms.first_passage import (
    FirstPassageTable,
    first_passage_table,
    lowest_level,
    walk_to_joint_passage,
)
from dpbandits.regret.base import Times
from dpbandits.regret.dp_ucb_bound import HybridIndex
from dpbandits.regret.per_step import ADVANCING, IndexPolicy, State, index_leader, next_noise, start
from dpbandits.regret.skipping import LOG_ERROR, MAX_SKIPS, aligned, pass_checkpoints, reward_band
from dpbandits.rewards.binomial import binomial

__all__ = ["DPUCBHybrid"]

# These steer only the speed.
_NOISE_RESERVE = 40.0  # node scales that are kept for the leader's noise
_SHORTEST = 32  # pulls that make a skip worth its cost
_TRIES = 4  # lengths of a certificate that are tried, each an eighth of the one before


@njit(cache=True, nogil=True)
def _certify(
    policy: IndexPolicy,
    state: State,
    arm: int,
    lead: float,
    mean: float,
    t: int,
    most: int,
    node_scale: float,
    table: FirstPassageTable,
    barriers: Floats,
) -> int:
    """Return a number of pulls, at most `most`, and write the barriers; 0 if none is worth it."""
    pulls, sums, noise = state.pulls, state.sums, state.noise
    n, total = pulls[arm], sums[arm]
    root = math.sqrt(2.0 * math.log(t + 1.0)) if policy.ucb_term else 0.0
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
        later = math.sqrt(2.0 * math.log(t + stretch)) if policy.ucb_term else 0.0
        longest = stretch
        for b in range(pulls.size):
            if b == arm:
                barriers[b] = min(at_first - level * n, at_last - level * last) - slack
                room = barriers[b] + noise[b]
            else:
                barriers[b] = pulls[b] * level - sums[b] - later * math.sqrt(pulls[b]) - slack
                room = barriers[b] - noise[b]
            cells = min(room / (table.cell_width * node_scale), table.limits.size - 1.0)
            longest = min(longest, table.limits[int(cells)] if cells > 0 else 0)
        if longest >= _SHORTEST:
            return longest
        stretch //= 8
    return 0


@njit(cache=True, nogil=True)
def _play(
    means: Floats,
    policy: IndexPolicy,
    state: State,
    checkpoints: Ints,
    rng: Rng,
    table: FirstPassageTable,
    max_skips: int,
) -> Ints:
    """Play DP-UCB-HYBRID on Bernoulli arms with certified skips; the noise is positive."""
    pulls, sums, noise, counters, _, values, widths, inverse_roots, _ = state
    n_arms, horizon = means.size, checkpoints[-1]
    barriers, signs = np.zeros(n_arms), np.empty(n_arms)
    counts = np.zeros((checkpoints.size, n_arms), np.int64)
    power = 1  # the greatest power of two up to t
    t, c, skips, wait = 0, 0, 0, n_arms
    while t < horizon:
        arm, stretch, node_scale = t, 0, 0.0
        if t >= n_arms:
            root = math.sqrt(2.0 * math.log(t + 1)) if policy.ucb_term else 0.0
            for b in range(n_arms):
                values[b] = (sums[b] + noise[b]) / pulls[b]
            arm, highest, rival = index_leader(values, widths, inverse_roots, 0.0, root)
            most = min(horizon, 2 * power - 1) - t
            lead = (highest - rival) * pulls[arm]
            node_scale = policy.scale * math.log2(power)
            if t >= wait and most >= _SHORTEST and skips < max_skips and lead > node_scale:
                stretch = _certify(
                    policy, state, arm, lead, means[arm], t, most, node_scale, table, barriers
                )
                if stretch == 0:
                    wait = t + _SHORTEST // 4
                elif stretch < most:
                    stretch = aligned(t, stretch)
        before = t
        if stretch > 0:
            signs[:] = -1.0
            signs[arm] = 1.0
            t = walk_to_joint_passage(
                rng, table, node_scale, barriers, signs, counters, t, t + stretch
            )
            noise[:] = counters[:, lowest_level(t)]
            sums[arm] += binomial(rng, t - before, means[arm])
            skips += 1
        else:
            t += 1
            if rng.random() < means[arm]:
                sums[arm] += 1.0
            for b in range(n_arms):
                noise[b] = next_noise(rng, policy, counters, b, t)
            if t == 2 * power:
                power = t
        pulls[arm] += t - before
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
    `literal` it is t times the greatest gap: no better one is known.

    Parameters
    ----------
    epsilon : float
        ε > 0 of the paper; ``inf`` is allowed and gives `UCB`.
    literal : bool
        Whether the index is s/n alone, which is what the pseudo-code of Algorithm 1 gives with
        ν = 0. §3.2 has "the same index as standard UCB".
    split : {"half", "full"}
        As of `DPUCBBound`.

    Notes
    -----
    Where the printed pseudo-code cannot be run as it stands, and what was chosen:

    - It is "Algorithm 1 with ν = 0", and that has no √(2 log t/n): `literal`.
    - "When arm a is played, insert 0 to all others": in the first K steps as well, so that every
      counter has t elements after step t.
    - The parts of a counter are those of `DPUCBBound`.

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

    def policy(self, n_arms: int, horizon: int) -> IndexPolicy:
        return IndexPolicy(self.counter.block_scale, 0.0, ADVANCING, not self.literal)

    def _play_skipping(
        self, policy: IndexPolicy, means: Floats, checkpoints: Times, rng: Rng
    ) -> Ints:
        table, state = first_passage_table(), start(means.size)
        counts: Ints = _play(means, policy, state, checkpoints, rng, table, MAX_SKIPS)
        return counts

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        if self.literal:
            return partial(bounds.worst_regret, instance.gaps, horizon)
        scale = self.counter.block_scale
        return partial(bounds.dp_ucb_hybrid_regret, instance.gaps, horizon, block_scale=scale)
