"""DP-UCB on k-ary trees by certified skipping: no noise of the run is below −w, or nearly so.

As in `skipping` the leader pulls for a whole stretch while a certificate holds. A certificate needs
a barrier of at least w, where all K·T noises of a run are within w except with probability 10⁻¹⁰;
so no noise within a stretch need be drawn. Proof: :prf:ref:`prop-skip-kary`.
"""

from __future__ import annotations

import math

import numpy as np

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._engine.acceleration import accelerates
from dpbandits._engine.accelerators.index_policies import (
    KaryPolicy,
    State,
    has_kary_trees,
    index_leader,
    last_term,
    play_pull_by_pull,
    policy_of,
    release,
    start,
)
from dpbandits._engine.accelerators.skipping import (
    LOG_ERROR,
    SKIP_ERROR,
    LeaderIndex,
    barrier_over,
    later_rival,
    pass_checkpoints,
    proposed_stretch,
    pull_while_leading,
)
from dpbandits._engine.kernels import kernel
from dpbandits.mechanisms.counters import KaryTree, next_kary_noise
from dpbandits.regret.base import Play, Times
from dpbandits.regret.dp_ucb import DPUCB
from dpbandits.rewards.binomial import binomial
from dpbandits.rewards.sources import DrawnRewards

__all__ = ["MOST_SKIPS", "NOISE_ERROR", "play_kary_skipping"]

NOISE_ERROR = 1e-10
"""Bound on the probability that some noise of a run is above w in absolute value."""

MOST_SKIPS = 3_000_000
"""Most skips of one run; a run that has used them up continues pull by pull."""

_SHORTEST = 64  # pulls that make a skip worth its cost; these affect only the speed
_BLOCK = 32


@kernel(borrows=True)
def _certified(
    policy: KaryPolicy,
    state: State,
    arm: int,
    mean: float,
    rival: float,
    t: int,
    last: int,
    w: float,
) -> int:
    """Return a stretch, up to pull `last`, of which the leader makes each pull; 0 if none is found.

    It is certain if no noise is below −w and the rewards keep their band.
    """
    n, log_t = state.pulls[arm], math.log(t + 1.0)
    root = math.sqrt(2.0 * log_t)
    total = state.sums[arm] + policy.gamma
    index = LeaderIndex(n, total, mean, root, 0.0, 1, False)
    room = total + root * math.sqrt(n) - rival * n - w
    if room <= 0.0:
        return 0
    drift = rival - mean - 0.5 * root / math.sqrt(n)
    stretch = int(min(proposed_stretch(room, drift, mean, LOG_ERROR), float(last - t)))
    while stretch >= _SHORTEST:
        if barrier_over(index, rival, stretch, LOG_ERROR) > w:
            later = later_rival(policy, state, arm, t + stretch)
            if barrier_over(index, later, stretch, LOG_ERROR) > w:
                return stretch
        stretch //= 2
    return 0


@kernel
def _play(
    means: Floats,
    policy: KaryPolicy,
    state: State,
    checkpoints: Ints,
    rng: Rng,
    w: float,
    max_skips: int,
    counts: Ints,
) -> tuple[int, int]:
    """Play with skips, and write the counts, shape (C, K); return skips and pulls inside them."""
    pulls, horizon = state.pulls, checkpoints[-1]
    shape = policy.scale, policy.arity, policy.levels
    t, c, skips, skipped = 0, 0, 0, 0
    while t < horizon:
        arm, stretch, block, rival, floor = t, 0, 1, math.inf, 0.0
        if t >= means.size:
            log_t = math.log(t + 1.0)
            root = last_term(policy, log_t)
            arm, _, rival = index_leader(
                state.means, state.widths, state.inverse_roots, log_t, root
            )
            if skips < max_skips:
                stretch = _certified(policy, state, arm, means[arm], rival, t, horizon, w)
            if stretch == 0:
                block = min(_BLOCK, horizon - t)
                rival = later_rival(policy, state, arm, t + block)
                floor = policy.gamma + root * math.sqrt(pulls[arm])
        before = pulls[arm]
        if stretch > 0:
            n = before + stretch
            noise = next_kary_noise(rng, shape, state.counters, arm, before, n)
            state.sums[arm] += binomial(rng, stretch, means[arm])
            skips += 1
            skipped += stretch
        else:
            n, noise = pull_while_leading(rng, policy, state, arm, means[arm], floor, rival, block)
        t += n - before
        release(policy, state, arm, n, noise)
        c = pass_checkpoints(counts, checkpoints, c, t, pulls, arm)
    return skips, skipped


@accelerates(
    DPUCB,
    on=DrawnRewards,
    name="skipping on k-ary trees",
    error=NOISE_ERROR + MOST_SKIPS * SKIP_ERROR,
    when=has_kary_trees,
)
def play_kary_skipping(
    algorithm: DPUCB, rewards: DrawnRewards, horizon: int, checkpoints: Times, rng: Rng
) -> Play:
    """Play by certified skipping: :prf:ref:`prop-skip-kary`.

    Shapes: `checkpoints` (C,).
    """
    means, times = np.array(rewards.means, np.float64), np.array(checkpoints, np.int64)
    counts = np.zeros((times.size, means.size), np.int64)
    if means.size == 1:  # nothing to decide
        counts[:, 0] = times
        return Play(counts)
    policy = policy_of(algorithm, means.size, horizon)
    tree = algorithm.tree(means.size, horizon)
    assert isinstance(policy, KaryPolicy) and isinstance(tree, KaryTree)
    w = tree.union_width(math.log(means.size) - math.log(NOISE_ERROR))
    state = start(means.size, policy)
    _, skipped = _play(means, policy, state, times, rng, w, MOST_SKIPS, counts)
    return Play(counts, at_once=skipped)


accelerates(DPUCB, on=DrawnRewards, name="pull by pull")(play_pull_by_pull)
