"""DPRUCB of Tao, Wu, Zhao & Wang (2022), compiled pull by pull and by certified skipping.

The index of an arm with n rewards is (S + Z)/n + H·n^(−v/(1+v)), or, for the published width,
(S + Z)/n + H·(log(2t⁴)/n)^(v/(1+v)). The n-th reward counts as 0 beyond B_n = b·n^g, g = 1/(1+v); S
is the sum of the arm's truncated rewards, Z the noise of its adaptive tree. Pulls 1..K play arms
0..K−1, every later one the arm of the largest index, ties to the lowest arm number.

*Skipping* is that of `dpbandits.fast.skipping` with f(r) = S + a·r − c + H·(n + r)^g − U·(n + r),
over a line a·r − c below which the sum of the leader's next r rewards does not fall
(`lower_lines`; a = c = 0 always is one), and with `growing_sum` for the rewards. Each walk of a run
adds at most 10^−16 for the line and 10^−13 for the sum to the total-variation distance from
`play_by_steps`: at most 4.1·10^−7 for the `MAX_WALKS` that a run may make, some 10^−8 for 10^8
pulls. Proof: :prf:ref:`prop-walks`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._kernels import kernel
from dpbandits.acceleration import accelerates
from dpbandits.fast.index_policies import index_leader, play_steps
from dpbandits.fast.skipping import aligned, pass_checkpoints, rival_index
from dpbandits.mechanisms.first_passage import (
    TREE_LEVELS,
    FirstPassageTable,
    first_passage_table,
    next_prefix_noise,
    prefix_noise_at,
    walk_to_first_passage,
)
from dpbandits.regret.base import Play
from dpbandits.regret.dprucb import DPRUCB
from dpbandits.rewards.heavy_laws import (
    GIVEN,
    PARETO,
    HeavyCode,
    HeavyRewards,
    HeavyTailInstance,
    draw_heavy,
    next_heavy,
)
from dpbandits.rewards.matched_sums import exponentials, growing_sum, lower_lines, matched_rows
from dpbandits.rewards.streams import Tape

__all__ = [
    "TreeIndex",
    "TreeSkipTally",
    "play_by_steps",
    "tree_skip_and_tally",
]

MAX_WALKS = 4 * 10**6
"""Walks that a run may make."""

_EXACT_BELOW = 1024
# What follows steers only the speed: any choice of stretches gives the same law.
PASSAGES = (0.25, 400, 30, 1.0625)  # arguments of `first_passage_table`
_SHORTEST = 16  # pulls that make a walk worth its cost
_SPENT = 0.125  # part of the lead that the certificate may give away
_NOISELESS_SHORTEST = 160
_STOCK = 256
_NOISELESS_SPENT = 0.98


class TreeSkipTally(NamedTuple):
    """What a run by skipping did.

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
    >>> TreeSkipTally(walks=2, walked_pulls=90, plain_pulls=10).walked_pulls
    90
    """

    walks: int
    walked_pulls: int
    plain_pulls: int


class TreeIndex(NamedTuple):
    """What an index is made of.

    Attributes
    ----------
    first_bound : float
        b: the n-th reward of an arm is truncated at b·n^g.
    growth : float
        g.
    node_factor : float
        2L/ε: scale of a node's noise, over the bound on its last reward; 0 adds no noise.
    width : float
        H, of the bonus H·n^(−v/(1+v)).
    published : bool
        Whether the bonus has the published form, which grows with the time.

    Examples
    --------
    >>> TreeIndex(first_bound=1.0, growth=0.5, node_factor=0.0, width=2.0).published
    False
    """

    first_bound: float  # b
    growth: float  # g
    node_factor: float  # 2L/ε: scale of a node's noise, over B_n; 0 adds no noise
    width: float  # H
    published: bool = False


@kernel
def _grown_by(part: float, growth: float) -> float:
    """Return (1 + h)^g for 0 ≤ h < 10^−3: the binomial series to the fifth power.

    What it leaves out is below 10^−18 of the result.
    """
    tail = 1.0 + part * (growth - 3.0) / 4.0 * (1.0 + part * (growth - 4.0) / 5.0)
    tail = 1.0 + part * (growth - 1.0) / 2.0 * (1.0 + part * (growth - 2.0) / 3.0 * tail)
    return 1.0 + part * growth * tail


@kernel
def grown_power(power: float, inverse: float, n: int, growth: float) -> float:
    """Return n^g from (n − 1)^g and 1/(n − 1): by a series, and anew at every 1024th n.

    Parameters
    ----------
    power : float
        (n − 1)^g.
    inverse : float
        1/(n − 1).
    n : int
        n ≥ 2.
    growth : float
        g.

    Returns
    -------
    float
        n^g.
    """
    if n < _EXACT_BELOW or n % _EXACT_BELOW == 0:
        return n**growth
    return power * _grown_by(inverse, growth)


@kernel
def _bonus(policy: TreeIndex, t: int) -> float:
    """Return H, or H·log(2t⁴)^(v/(1+v)) for the published width."""
    if policy.published:
        return policy.width * (math.log(2.0) + 4.0 * math.log(t)) ** (1.0 - policy.growth)
    return policy.width


class _State(NamedTuple):
    """A run pull by pull; the index is (sums + noise)/n, and H·n^(−v/(1+v)) if it is constant."""

    clock: Ints  # pulls made, checkpoints passed
    pulls: Ints
    ends: Floats
    sums: Floats
    powers: Floats
    inverses: Floats
    means: Floats


@kernel
def _run_by_steps(
    policy: TreeIndex,
    state: _State,
    tape: Tape,
    checkpoints: Ints,
    counts: Ints,
    rng: Rng,
    kinds: Ints,
    parameters: Floats,
) -> int:
    """Play on; return the arm whose next reward is not on the tape, or −1 at the end."""
    clock, pulls, ends, sums, powers, inverses, means = state
    constant = 0.0 if policy.published else policy.width
    while clock[1] < checkpoints.size:
        while clock[0] < checkpoints[clock[1]]:
            arm = clock[0]
            if arm >= kinds.size:
                bonus = _bonus(policy, clock[0] + 1) if policy.published else 0.0
                arm = 0
                highest = -math.inf
                for b in range(kinds.size):
                    index = means[b] + bonus * powers[b] * inverses[b]
                    if index > highest:
                        arm = b
                        highest = index
            if kinds[arm] == GIVEN and tape.read[arm] == tape.ends[arm]:
                return arm
            n = pulls[arm] + 1
            power = grown_power(powers[arm], inverses[arm], n, policy.growth)
            bound = policy.first_bound * power
            law = (kinds[arm], parameters[arm, 0], parameters[arm, 1])
            reward = next_heavy(rng, law, tape, arm)
            if abs(reward) <= bound:
                sums[arm] += reward
            noise = 0.0
            if policy.node_factor > 0.0:
                noise = next_prefix_noise(rng, policy.node_factor * bound, ends, arm, n)
            pulls[arm], powers[arm], inverses[arm] = n, power, 1.0 / n
            means[arm] = (sums[arm] + noise + constant * power) * inverses[arm]
            clock[0] += 1
        counts[clock[1]] = pulls
        clock[1] += 1
    return -1


def play_by_steps(
    instance: HeavyTailInstance | HeavyRewards, policy: TreeIndex, checkpoints: Ints, rng: Rng
) -> Ints:
    """Play the index pull by pull.

    At each pull a reward is drawn, then a Laplace variable; rewards of laws that are in Python
    alone may be drawn ahead.

    Parameters
    ----------
    instance : HeavyTailInstance or HeavyRewards
        The bandit, or rewards of a run on it, of K arms.
    policy : TreeIndex
        The index.
    checkpoints : numpy.ndarray of int, shape (C,)
        Increasing numbers of pulls at which the pulls are counted; the last ends the run.
    rng : numpy.random.Generator
        Source of all randomness of the run.

    Returns
    -------
    numpy.ndarray of int, shape (C, K)
        Pulls of each arm at the checkpoints.
    """
    pulls, ends = np.zeros(instance.n_arms, np.int64), np.zeros((instance.n_arms, TREE_LEVELS))
    state = _State(np.zeros(2, np.int64), pulls, ends, *np.zeros((4, instance.n_arms)))
    rewards = instance.rewards(rng)
    return play_steps(_run_by_steps, policy, state, rewards, checkpoints, rng, *instance.codes)


@kernel
def _beyond(law: HeavyCode, bound: float) -> float:
    """Return P(X > B) of a reward X."""
    kind, first, second = law
    if kind == PARETO:
        return 1.0 if bound <= second else (bound / second) ** -first
    return second if first > bound else 0.0


@kernel
def certify_tree(
    means: Floats,
    shrunk: Floats,
    arm: int,
    rival: float,
    n: int,
    total: float,
    t: int,
    horizon: int,
    policy: TreeIndex,
    ratio: float,
    lines: Floats,
    beyond: float,
) -> tuple[int, float]:
    """Return a certificate (m, z) for the leader, or m = 0 when none is worth a walk.

    The arm leads before each of the pulls t + 1, …, t + m while its noise is above −z.

    Parameters
    ----------
    means : numpy.ndarray of float, shape (K,)
        The private means.
    shrunk : numpy.ndarray of float, shape (K,)
        n^(−v/(1+v)) of each arm.
    arm : int
        The leader.
    rival : float
        Largest index U of the others at pull t + 1.
    n : int
        Number of the leader's rewards.
    total : float
        Their sum S, truncated.
    t : int
        Number of pulls so far.
    horizon : int
        Number of the last pull.
    policy : TreeIndex
        The index.
    ratio : float
        By how much the scales of the stretch may differ.
    lines : numpy.ndarray of float, shape (40, 3)
        `lower_lines` of the leader's rewards.
    beyond : float
        Probability that the next reward is truncated.

    Returns
    -------
    stretch : int
        Number m of pulls.
    barrier : float
        z, in units of the sum of rewards.
    """
    growth = policy.growth
    bonus = _bonus(policy, t + 1)
    lead = (means[arm] + bonus * shrunk[arm] - rival) * n
    scale = policy.node_factor * policy.first_bound * n * shrunk[arm]
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
        stretch = aligned(n, stretch)
    if policy.published:
        rival = rival_index(means, shrunk, shrunk, arm, _bonus(policy, t + stretch), 0.0)
    last = n + stretch - 1.0
    at_first = bonus * n * shrunk[arm] - rival * n
    at_last = slope * (stretch - 1.0) + bonus * last**growth - rival * last
    # thousands of times the rounding of f and of the indices that a kernel by pulls compares
    slack = 1e-12 * (abs(total) + (abs(rival) + bonus) * last)
    barrier = total + min(at_first, at_last) - intercept - slack
    if barrier + means[arm] * n - total < (0.5 * lead if scale > 0.0 else 0.0):
        return 0, 0.0
    return stretch, barrier


@kernel
def _pull_while_leading(
    rng: Rng,
    law: HeavyCode,
    policy: TreeIndex,
    ends: Floats,
    arm: int,
    n: int,
    total: float,
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


@kernel
def _play(
    kinds: Ints,
    parameters: Floats,
    policy: TreeIndex,
    checkpoints: Ints,
    rng: Rng,
    table: FirstPassageTable,
    rows: Floats,
    lines: Floats,
) -> tuple[Ints, Ints]:
    """Play an index policy with walks; return the counts and the tally."""
    n_arms = kinds.size
    pulls = np.zeros(n_arms, np.int64)
    sums, means = np.zeros(n_arms), np.zeros(n_arms)  # private means
    shrunk = np.zeros(n_arms)  # n^(−v/(1+v))
    ends = np.zeros((n_arms, TREE_LEVELS))
    counts = np.zeros((checkpoints.size, n_arms), np.int64)
    stock = np.empty((n_arms, _STOCK))
    used = np.full(n_arms, _STOCK)
    beyond, renewed = np.ones(n_arms), np.zeros(n_arms)
    first_bound, growth = policy.first_bound, policy.growth
    noisy, first_scale = policy.node_factor > 0.0, policy.node_factor * first_bound
    walks, walked = 0, 0
    horizon = checkpoints[-1]
    t, c = 0, 0
    while t < horizon:
        arm, rival, bonus, block, stretch, barrier = t, 0.0, 0.0, 1, 0, 0.0
        if t >= n_arms:
            bonus = _bonus(policy, t + 1)
            arm, _, rival = index_leader(means, shrunk, shrunk, bonus, 0.0)
        n, total = pulls[arm], sums[arm]
        law = (kinds[arm], parameters[arm, 0], parameters[arm, 1])
        least = first_scale * n * shrunk[arm] if noisy else lines[arm, 0, 0]
        may_walk = walks < MAX_WALKS and t >= n_arms
        if may_walk and (means[arm] + bonus * shrunk[arm] - rival) * n >= least:
            if n >= renewed[arm]:  # it falls with n: an old value serves
                beyond[arm] = _beyond(law, first_bound * float(n) ** growth)
                renewed[arm] = 1.05 * n
            row, far = lines[arm], beyond[arm]
            stretch, barrier = certify_tree(
                means, shrunk, arm, rival, n, total, t, horizon, policy, table.ratio, row, far
            )
        start = n
        if stretch > 0:
            n = start + stretch
            if noisy:
                n = walk_to_first_passage(
                    rng, table, first_scale, barrier, ends, arm, start, n, growth
                )
            total += growing_sum(rng, law, rows[arm], first_bound, growth, start, n)
            noise = prefix_noise_at(ends, arm, n)
            walks += 1
            walked += n - start
        else:
            if t >= n_arms:
                block = min(horizon - t, _SHORTEST if noisy else _NOISELESS_SHORTEST)
                if policy.published:
                    rival = rival_index(means, shrunk, shrunk, arm, _bonus(policy, t + block), 0.0)
            power = n * shrunk[arm]
            if noisy:
                n, total, noise = _pull_while_leading(
                    rng, law, policy, ends, arm, n, total, power, bonus, rival, block
                )
            else:
                noise = 0.0
                n, total, used[arm] = _pull_without_noise(
                    rng, law, policy, stock[arm], used[arm], n, total, power, bonus, rival, block
                )
        t += n - start
        pulls[arm], sums[arm] = n, total
        means[arm] = (total + noise) / n
        part = (n - start) / max(start, 1)
        if part < 1e-3 and n & 63:
            shrunk[arm] *= _grown_by(part, growth - 1.0)
        else:
            shrunk[arm] = float(n) ** (growth - 1.0)
        c = pass_checkpoints(counts, checkpoints, c, t, pulls, arm)
    return counts, np.array([walks, walked, t - walked])


def play_tree_index(
    instance: HeavyTailInstance | HeavyRewards, policy: TreeIndex, checkpoints: Ints, rng: Rng
) -> Play:
    """Play by skipping, or pull by pull if a law is in Python alone.

    Parameters
    ----------
    instance : HeavyTailInstance or HeavyRewards
        The bandit, or rewards of a run on it, of K arms.
    policy : TreeIndex
        The index.
    checkpoints : numpy.ndarray of int, shape (C,)
        Increasing numbers of pulls at which the pulls are counted; the last ends the run.
    rng : numpy.random.Generator
        Source of all randomness of the run.

    Returns
    -------
    Play
        The pulls at the checkpoints.
    """
    if (instance.codes[0] == GIVEN).any():
        return Play(play_by_steps(instance, policy, checkpoints, rng))
    counts, tally = tree_skip_and_tally(instance, policy, checkpoints, rng)
    return Play(counts, at_once=tally.walked_pulls)


def tree_skip_and_tally(
    instance: HeavyTailInstance | HeavyRewards, policy: TreeIndex, checkpoints: Ints, rng: Rng
) -> tuple[Ints, TreeSkipTally]:
    """Play the index with walks; the law is that of `play_by_steps`.

    No reward may be negative, and none from Python alone. The error is that of the module, in exact
    arithmetic with ideal random numbers; also at checkpoints.

    Parameters
    ----------
    instance : HeavyTailInstance or HeavyRewards
        The bandit, or rewards of a run on it, of K arms.
    policy : TreeIndex
        The index.
    checkpoints : numpy.ndarray of int, shape (C,)
        Increasing numbers of pulls at which the pulls are counted; the last ends the run.
    rng : numpy.random.Generator
        Source of all randomness of the run.

    Returns
    -------
    counts : numpy.ndarray of int, shape (C, K)
        Pulls of each arm at the checkpoints.
    tally : TreeSkipTally
        What the run did.
    """
    codes = [law.code for law in instance.laws]
    rows = np.array([matched_rows(first if kind == PARETO else 2.0) for kind, first, _ in codes])
    lines = np.array([lower_lines(code) for code in codes])
    table = first_passage_table(*PASSAGES)
    counts, tally = _play(*instance.codes, policy, checkpoints, rng, table, rows, lines)
    return counts, TreeSkipTally(*tally.tolist())


def tree_index_of(
    algorithm: DPRUCB, rewards: HeavyTailInstance | HeavyRewards, horizon: int
) -> TreeIndex:
    """Return what the compiled loops are told of the algorithm.

    Parameters
    ----------
    algorithm : DPRUCB
        The algorithm.
    rewards : HeavyTailInstance or HeavyRewards
        The bandit, or the rewards of a run, with the bound on a moment and its order.
    horizon : int
        Horizon T.

    Returns
    -------
    TreeIndex
        Truncation, noise and bonus.
    """
    plan = algorithm.plan(rewards, horizon)
    width, tree = algorithm.bonus(rewards, horizon), plan.tree
    published = algorithm.width == "published"
    return TreeIndex(tree.first_bound, tree.growth, tree.node_factor, width, published)


WALK_ERROR = MAX_WALKS * (1e-16 + 1e-13)
"""Total-variation distance of a run's law from the algorithm's, at most."""


@accelerates(DPRUCB, on=HeavyRewards, name="skipping", error=WALK_ERROR)
def play_dprucb_skipping(
    algorithm: DPRUCB, rewards: HeavyRewards, horizon: int, checkpoints: Ints, rng: Rng
) -> Play:
    """Play by certified skipping: :prf:ref:`prop-walks`.

    Parameters
    ----------
    algorithm : DPRUCB
        The algorithm.
    rewards : HeavyRewards
        Rewards of the run, of K arms.
    horizon : int
        Horizon T that the algorithm is told.
    checkpoints : numpy.ndarray of int, shape (C,)
        Increasing numbers of pulls at which the pulls are counted; the last ends the run.
    rng : numpy.random.Generator
        Source of all randomness of the run.

    Returns
    -------
    Play
        The pulls at the checkpoints.
    """
    return play_tree_index(rewards, tree_index_of(algorithm, rewards, horizon), checkpoints, rng)


@accelerates(DPRUCB, on=HeavyRewards, name="pull by pull")
def play_dprucb(
    algorithm: DPRUCB, rewards: HeavyRewards, horizon: int, checkpoints: Ints, rng: Rng
) -> Play:
    """Play pull by pull.

    Parameters
    ----------
    algorithm : DPRUCB
        The algorithm.
    rewards : HeavyRewards
        Rewards of the run, of K arms.
    horizon : int
        Horizon T that the algorithm is told.
    checkpoints : numpy.ndarray of int, shape (C,)
        Increasing numbers of pulls at which the pulls are counted; the last ends the run.
    rng : numpy.random.Generator
        Source of all randomness of the run.

    Returns
    -------
    Play
        The pulls at the checkpoints.
    """
    index = tree_index_of(algorithm, rewards, horizon)
    return Play(play_by_steps(rewards, index, checkpoints, rng))
