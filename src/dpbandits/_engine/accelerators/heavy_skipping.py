"""DPRUCB, and robust UCB with a fixed δ, by walks: many pulls of a leader at once.

The index is that of the module `heavy_steps`, and skipping that of the module `skipping`
with f(r) = S + a·r − c + H·(n + r)^g − U·(n + r), over a line a·r − c below which the sum of the
leader's next r rewards does not fall (`lower_lines`; a = c = 0 always is one), and with
`growing_sum` for the rewards. Each walk of a run adds at most 10^−16 for the line and 10^−13 for
the sum to the total-variation distance from `play_by_steps`: at most 4.1·10^−7 for the `MAX_WALKS`
of a run, about 10^−8 for 10^8 pulls. Proof: :prf:ref:`prop-walks`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._engine.acceleration import accelerates
from dpbandits._engine.accelerators.heavy_steps import (
    TreeIndex,
    bonus_at,
    grown_by,
    grown_power,
    play_pull_by_pull,
    tree_index_of,
)
from dpbandits._engine.accelerators.index_policies import index_leader
from dpbandits._engine.accelerators.skipping import aligned, pass_checkpoints, rival_index
from dpbandits._engine.kernels import kernel
from dpbandits.mechanisms.first_passage import (
    TREE_LEVELS,
    FirstPassageTable,
    NodeScale,
    first_passage_table,
    next_prefix_noise,
    prefix_noise_at,
    walk_to_first_passage,
)
from dpbandits.regret.base import Play, Times
from dpbandits.regret.dprucb import DPRUCB
from dpbandits.rewards.heavy_instances import HeavyRewards
from dpbandits.rewards.heavy_laws import PARETO, HeavyCode, draw_heavy
from dpbandits.rewards.pareto_sums import exponentials, growing_sum, lower_lines, matched_rows

__all__ = ["MAX_WALKS", "WALK_ERROR", "TreeSkipTally", "tree_skip_and_tally"]

MAX_WALKS = 4 * 10**6
"""Most walks of a run."""

WALK_ERROR = 1.001e-13
"""Bound on a walk's contribution to the total-variation distance from single pulls."""

# These constants affect only the speed: any choice of stretches gives the same distribution.
PASSAGES = (0.25, 400, 30, 1.0625)  # arguments of `first_passage_table`
_SHORTEST = 16  # pulls that make a walk worth its cost
_SPENT = 0.125  # part of the lead that the certificate may use up
_NOISELESS_SHORTEST = 160
_STOCK = 256
_NOISELESS_SPENT = 0.98


class TreeSkipTally(NamedTuple):
    """Statistics of a run by skipping.

    Attributes
    ----------
    walks : int
        Number of walks.
    walked_pulls : int
        Number of pulls inside walks.
    plain_pulls : int
        Number of other pulls.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> s1, times = dpb.instances.twzw22("S1", order=0.9), np.array([10**6])
    >>> policy = tree_index_of(dpb.DPRUCB(epsilon=1.0), s1, 10**6)
    >>> tally = tree_skip_and_tally(s1, policy, times, np.random.default_rng(0))[1]
    >>> tally.walked_pulls + tally.plain_pulls, tally.walks > 0
    (1000000, True)
    """

    walks: int
    walked_pulls: int
    plain_pulls: int


class Lead(NamedTuple):
    """The arm that leads before a pull, and the parts of its index.

    Attributes
    ----------
    arm : int
        The arm.
    pulls : int
        n, its number of rewards.
    total : float
        S, its sum of truncated rewards, without noise.
    power : float
        n^g.
    bonus : float
        Bonus of an arm with one reward, at this pull.
    rival : float
        Largest index of the other arms.

    Examples
    --------
    >>> Lead(0, 4, 2.5, 2.0, 1.0, 0.7).rival
    0.7
    """

    arm: int
    pulls: int
    total: float
    power: float
    bonus: float
    rival: float


class Floor(NamedTuple):
    """Lines below which the sum of an arm's next rewards falls only with tiny probability.

    Attributes
    ----------
    lines : numpy.ndarray of float, shape (L, 3)
        `lower_lines` of the arm's rewards.
    beyond : float
        Bound on the probability that one of them is truncated.

    Examples
    --------
    >>> Floor(lower_lines((0, 1.8, 0.05)), 0.0).lines.shape[1]
    3
    """

    lines: Floats
    beyond: float


@kernel(borrows=True)
def _beyond(law: HeavyCode, bound: float) -> float:
    """Return P(X > B) of a reward X."""
    kind, first, second = law
    if kind == PARETO:
        return 1.0 if bound <= second else (bound / second) ** -first
    return second if first > bound else 0.0


@kernel(borrows=True)
def certify_tree(
    policy: TreeIndex,
    means: Floats,
    shrunk: Floats,
    lead: Lead,
    t: int,
    horizon: int,
    ratio: float,
    floor: Floor,
) -> tuple[int, float]:
    """Return a certificate (m, z) for the leader, or m = 0 when none is worth a walk.

    The arm leads before each of the pulls t + 1, …, t + m while its noise is above −z.

    Shapes: `means` (K,), `shrunk` (K,).
    """
    arm, n, total, _, bonus, rival = lead
    growth = policy.growth
    lines, beyond = floor
    margin = (means[arm] + bonus * shrunk[arm] - rival) * n
    scale = policy.node_factor * policy.first_bound * n * shrunk[arm]
    shortest, spent = _SHORTEST, _SPENT
    if scale == 0.0:
        shortest, spent = _NOISELESS_SHORTEST, _NOISELESS_SPENT
    longest = min(float(horizon - t), (ratio - 1.0) * n)
    spent *= margin
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
        stretch = aligned(n, stretch)
    if policy.reconstructed:
        rival = rival_index(means, shrunk, shrunk, arm, bonus_at(policy, t + stretch), 0.0)
    last = n + stretch - 1.0
    at_first = bonus * n * shrunk[arm] - rival * n
    at_last = slope * (stretch - 1.0) + bonus * last**growth - rival * last
    # thousands of times the rounding error of f and of the indices that single pulls compare
    slack = 1e-12 * (abs(total) + (abs(rival) + bonus) * last)
    barrier = total + min(at_first, at_last) - intercept - slack
    if barrier + means[arm] * n - total < (0.5 * margin if scale > 0.0 else 0.0):
        return 0, 0.0
    return stretch, barrier


@kernel(borrows=True)
def _pull_while_leading(
    rng: Rng, law: HeavyCode, policy: TreeIndex, ends: Floats, lead: Lead, block: int
) -> tuple[int, float, float]:
    """Pull an arm at least once, up to `block` times, while it certainly leads.

    Its rival bounds the other indices over the block. Returns the arm's pulls, sum and noise.
    """
    arm, n, total, power, bonus, rival = lead
    rival += 1e-12 * (abs(rival) + bonus)  # more than rounding
    last = n + block
    inverse = 1.0 / n if n > 0 else 0.0
    while True:
        n += 1
        power = grown_power(power, inverse, n, policy.growth)
        bound = policy.first_bound * power
        reward = draw_heavy(rng, law)
        if reward <= bound:
            total += reward
        noise = next_prefix_noise(rng, policy.node_factor * bound, ends, arm, n)
        inverse = 1.0 / n
        if n == last or (total + noise + bonus * power) * inverse <= rival:
            return n, total, noise


@kernel
def _pull_without_noise(
    rng: Rng,
    law: HeavyCode,
    policy: TreeIndex,
    stock: Floats,
    used: int,
    lead: Lead,
    block: int,
) -> tuple[int, float, int]:
    """Do as `_pull_while_leading`, without noise; rewards are drawn in advance, many at once.

    (n + r)^g is at least n^g·(1 + g·r/(n + m)) for r ≤ m, by its slope at n + m. `stock` holds the
    arm's rewards that are drawn and not yet used, from the index `used` on.
    """
    _, n, total, power, bonus, rival = lead
    rival += 1e-12 * (abs(rival) + bonus)  # more than rounding
    last = n + block
    low = policy.first_bound * power  # at most the bound on the next reward
    rise = bonus * policy.growth * power / last - rival
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
        if reward > low and reward > policy.first_bound * float(n) ** policy.growth:
            reward = 0.0
        total += reward
        ahead += reward + rise
        if n == last or ahead <= 0.0:
            return n, total, used


class _Arms(NamedTuple):
    """Distributions of the rewards, with the tables that walks need."""

    kinds: Ints
    parameters: Floats  # (K, 2)
    rows: Floats  # (K, 9, R)
    lines: Floats  # (K, L, 3)


class _State(NamedTuple):
    """A run between two walks."""

    counts: Ints  # (C, K): pulls at the checkpoints
    pulls: Ints
    used: Ints  # of each arm's stock
    sums: Floats
    means: Floats  # private
    shrunk: Floats  # n^(−v/(1+v))
    beyond: Floats  # last value of `_beyond`
    renewed: Floats  # number of pulls at which to compute it anew
    ends: Floats  # (K, TREE_LEVELS)
    stock: Floats  # (K, _STOCK)


def _start(n_arms: int, n_checkpoints: int) -> _State:
    """Return the state before the first pull."""
    counts = np.zeros((n_checkpoints, n_arms), np.int64)
    pulls, used = np.zeros(n_arms, np.int64), np.full(n_arms, _STOCK)
    sums, means, shrunk, renewed = np.zeros((4, n_arms))
    ends, stock = np.zeros((n_arms, TREE_LEVELS)), np.empty((n_arms, _STOCK))
    beyond = np.ones(n_arms)
    return _State(counts, pulls, used, sums, means, shrunk, beyond, renewed, ends, stock)


@kernel
def _play(
    arms: _Arms,
    policy: TreeIndex,
    state: _State,
    checkpoints: Ints,
    rng: Rng,
    table: FirstPassageTable,
) -> tuple[int, int]:
    """Call `_walk_on` from Python."""
    return _walk_on(arms, policy, state, checkpoints, rng, table)


@kernel(borrows=True)
def _walk_on(
    arms: _Arms,
    policy: TreeIndex,
    state: _State,
    checkpoints: Ints,
    rng: Rng,
    table: FirstPassageTable,
) -> tuple[int, int]:
    """Play an index policy with walks; write the counts, return walks and walked pulls."""
    kinds, parameters, rows, lines = arms
    n_arms = kinds.size
    counts, pulls, used, sums, means, shrunk, beyond, renewed, ends, stock = state
    first_bound, growth = policy.first_bound, policy.growth
    noisy, first_scale = policy.node_factor > 0.0, policy.node_factor * first_bound
    walks, walked = 0, 0
    horizon = checkpoints[-1]
    t, c = 0, 0
    while t < horizon:
        arm, rival, bonus, block, stretch, barrier = t, 0.0, 0.0, 1, 0, 0.0
        if t >= n_arms:
            bonus = bonus_at(policy, t + 1)
            arm, _, rival = index_leader(means, shrunk, shrunk, bonus, 0.0)
        n, total = pulls[arm], sums[arm]
        law = (kinds[arm], parameters[arm, 0], parameters[arm, 1])
        least = first_scale * n * shrunk[arm] if noisy else lines[arm, 0, 0]
        may_walk = walks < MAX_WALKS and t >= n_arms
        if may_walk and (means[arm] + bonus * shrunk[arm] - rival) * n >= least:
            if n >= renewed[arm]:  # it falls with n: an old value is an upper bound
                beyond[arm] = _beyond(law, first_bound * float(n) ** growth)
                renewed[arm] = 1.05 * n
            lead = Lead(arm, n, total, n * shrunk[arm], bonus, rival)
            floor = Floor(lines[arm], beyond[arm])
            stretch, barrier = certify_tree(
                policy, means, shrunk, lead, t, horizon, table.ratio, floor
            )
        start = n
        if stretch > 0:
            n = start + stretch
            if noisy:
                scale = NodeScale(first_scale, growth)
                n = walk_to_first_passage(rng, table, scale, barrier, ends, arm, start, n)
            total += growing_sum(rng, law, rows[arm], first_bound, growth, start, n)
            noise = prefix_noise_at(ends, arm, n)
            walks += 1
            walked += n - start
        else:
            if t >= n_arms:
                block = min(horizon - t, _SHORTEST if noisy else _NOISELESS_SHORTEST)
                if policy.reconstructed:
                    rival = rival_index(
                        means, shrunk, shrunk, arm, bonus_at(policy, t + block), 0.0
                    )
            lead = Lead(arm, n, total, n * shrunk[arm], bonus, rival)
            if noisy:
                n, total, noise = _pull_while_leading(rng, law, policy, ends, lead, block)
            else:
                noise = 0.0
                n, total, used[arm] = _pull_without_noise(
                    rng, law, policy, stock[arm], used[arm], lead, block
                )
        t += n - start
        pulls[arm], sums[arm] = n, total
        means[arm] = (total + noise) / n
        part = (n - start) / max(start, 1)
        if part < 1e-3 and n & 63:
            shrunk[arm] *= grown_by(part, growth - 1.0)
        else:
            shrunk[arm] = float(n) ** (growth - 1.0)
        c = pass_checkpoints(counts, checkpoints, c, t, pulls, arm)
    return walks, walked


def tree_skip_and_tally(
    arms: Any, policy: TreeIndex, checkpoints: Times, rng: Rng
) -> tuple[Ints, TreeSkipTally]:
    """Play as `play_by_steps` does, with walks.

    The error is that of the module, in exact arithmetic with ideal random numbers; it covers the
    counts at all checkpoints.

    Shapes: `checkpoints` (C,) → (C, K).
    """
    codes = [law.code for law in arms.laws]
    rows = np.array([matched_rows(first if kind == PARETO else 2.0) for kind, first, _ in codes])
    lines = np.array([lower_lines(code) for code in codes])
    table = first_passage_table(*PASSAGES)
    kinds, parameters = arms.codes
    state = _start(kinds.size, checkpoints.size)
    told = _Arms(kinds, parameters, rows, lines)
    walks, walked = _play(told, policy, state, checkpoints, rng, table)
    return state.counts, TreeSkipTally(walks, walked, int(checkpoints[-1]) - walked)


@accelerates(DPRUCB, on=HeavyRewards, name="skipping", error=MAX_WALKS * WALK_ERROR)
def play_by_walks(
    algorithm: DPRUCB, rewards: HeavyRewards, horizon: int, checkpoints: Times, rng: Rng
) -> Play:
    """Play with walks.

    Shapes: `checkpoints` (C,).
    """
    policy = tree_index_of(algorithm, rewards, horizon)
    counts, tally = tree_skip_and_tally(rewards, policy, checkpoints, rng)
    return Play(counts, at_once=tally.walked_pulls)


accelerates(DPRUCB, on=HeavyRewards, name="pull by pull")(play_pull_by_pull)
