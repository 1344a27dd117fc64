"""DP-UCB-HYBRID by certified skipping, though the noise of every arm changes at every pull.

A certificate is a number of pulls and a barrier for the noise of each arm, over which the leader's
index stays above a level θ and those of the others below it. Proof: :prf:ref:`lem-walk-advancing`.
The first time at which the noise of one of them reaches its barrier is drawn by
`walk_to_joint_passage`.
"""

from __future__ import annotations

import math

import numpy as np

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._engine.acceleration import accelerates
from dpbandits._engine.accelerators.index_policies import (
    AdvancingPolicy,
    State,
    advancing_policy,
    index_leader,
    last_term,
    play_pull_by_pull,
    start,
)
from dpbandits._engine.accelerators.skipping import (
    LOG_ERROR,
    MAX_SKIPS,
    SKIP_ERROR,
    Leader,
    Outlook,
    aligned,
    has_noise,
    pass_checkpoints,
    reward_band,
)
from dpbandits._engine.kernels import copy_into, kernel
from dpbandits.mechanisms.counters import next_hybrid_noise
from dpbandits.mechanisms.first_passage import (
    FirstPassageTable,
    first_passage_table,
    lowest_level,
    walk_to_joint_passage,
)
from dpbandits.regret.base import Play, Times
from dpbandits.regret.dp_ucb_hybrid import DPUCBHybrid
from dpbandits.rewards.binomial import binomial
from dpbandits.rewards.sources import DrawnRewards

# These affect only the speed.
_NOISE_RESERVE = 40.0  # node scales that are kept for the leader's noise
_SHORTEST = 32  # pulls that make a skip worth its cost
_TRIES = 4  # lengths of a certificate that are tried, each an eighth of the one before


@kernel(borrows=True)
def _certify(
    policy: AdvancingPolicy,
    state: State,
    leader: Leader,
    ahead: Outlook,
    t: int,
    table: FirstPassageTable,
    barriers: Floats,
) -> int:
    """Return a number of pulls and write the barriers; 0 if no certificate is worth a skip."""
    arm, mean, _ = leader
    lead, node_scale, most = ahead.lead, ahead.node_scale, ahead.most
    pulls, sums, noise = state.pulls, state.sums, state.noise
    n, total = pulls[arm], sums[arm]
    root = last_term(policy, math.log(t + 1.0))
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
        later = last_term(policy, math.log(t + stretch))
        longest: int = stretch
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


@kernel
def _play(
    means: Floats,
    policy: AdvancingPolicy,
    state: State,
    checkpoints: Ints,
    rng: Rng,
    table: FirstPassageTable,
    max_skips: int,
) -> tuple[Ints, int]:
    """Play DP-UCB-HYBRID on Bernoulli arms with certified skips; the noise is positive.

    Returns the counts, shape (C, K), and the number of skipped pulls.
    """
    pulls, sums, noise, counters, _, values, widths, inverse_roots, _ = state
    n_arms, horizon = means.size, checkpoints[-1]
    barriers, signs = np.zeros(n_arms), np.empty(n_arms)
    counts = np.zeros((checkpoints.size, n_arms), np.int64)
    power = 1  # the largest power of two up to t
    t, c, skips, skipped, wait = 0, 0, 0, 0, n_arms
    while t < horizon:
        arm, stretch, node_scale = t, 0, 0.0
        if t >= n_arms:
            root = last_term(policy, math.log(t + 1))
            for b in range(n_arms):
                values[b] = (sums[b] + noise[b]) / pulls[b]
            arm, highest, rival = index_leader(values, widths, inverse_roots, 0.0, root)
            most = min(horizon, 2 * power - 1) - t
            lead = (highest - rival) * pulls[arm]
            node_scale = policy.scale * math.log2(power)
            if t >= wait and most >= _SHORTEST and skips < max_skips and lead > node_scale:
                leader = Leader(arm, means[arm], rival)
                ahead = Outlook(lead, node_scale, most, True, True)
                stretch = _certify(policy, state, leader, ahead, t, table, barriers)
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
            copy_into(noise, counters[:, lowest_level(t)])
            sums[arm] += binomial(rng, t - before, means[arm])
            skips += 1
            skipped += t - before
        else:
            t += 1
            if rng.random() < means[arm]:
                sums[arm] += 1.0
            for b in range(n_arms):
                noise[b] = next_hybrid_noise(rng, policy.scale, policy.scale, counters, b, t)
            if t == 2 * power:
                power = t
        pulls[arm] += t - before
        inverse_roots[arm] = 1.0 / math.sqrt(pulls[arm])
        c = pass_checkpoints(counts, checkpoints, c, t, pulls, arm)
    return counts, skipped


@accelerates(
    DPUCBHybrid, on=DrawnRewards, name="skipping", error=MAX_SKIPS * SKIP_ERROR, when=has_noise
)
def play_skipping(
    algorithm: DPUCBHybrid, rewards: DrawnRewards, horizon: int, checkpoints: Times, rng: Rng
) -> Play:
    """Play by certified skipping; without noise nothing is skipped.

    Shapes: `checkpoints` (C,).
    """
    policy, table = advancing_policy(algorithm), first_passage_table()
    state = start(rewards.n_arms)
    counts, skipped = _play(rewards.means, policy, state, checkpoints, rng, table, MAX_SKIPS)
    return Play(counts, at_once=skipped)


accelerates(DPUCBHybrid, on=DrawnRewards, name="pull by pull")(play_pull_by_pull)
