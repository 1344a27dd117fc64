"""DPRUCB, and robust UCB with a fixed δ, pull by pull: one compiled loop.

The index of an arm with n rewards is (S + Z)/n + H·n^(−v/(1+v)), or, for the reconstructed width,
(S + Z)/n + H·(log(2t⁴)/n)^(v/(1+v)). The n-th reward counts as 0 beyond B_n = b·n^g, g = 1/(1+v); S
is the sum of the arm's truncated rewards, Z the noise of its adaptive tree. Pulls 1..K play arms
0..K−1, every later one the arm of the largest index, ties to the lowest arm number.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._engine.acceleration import accelerates
from dpbandits._engine.accelerators.index_policies import play_steps
from dpbandits._engine.kernels import kernel
from dpbandits.mechanisms.first_passage import TREE_LEVELS, next_prefix_noise
from dpbandits.regret.base import Play, Times
from dpbandits.regret.dprucb import DPRUCB
from dpbandits.regret.robust_ucb import ROBUST_FACTOR, RobustUCB
from dpbandits.rewards.heavy_instances import GivenRewards, HeavyRewards
from dpbandits.rewards.heavy_laws import GIVEN, next_heavy
from dpbandits.rewards.sources import Tape

__all__ = ["TreeIndex", "bonus_at", "grown_by", "grown_power", "play_by_steps", "tree_index_of"]

_EXACT_BELOW = 1024


class TreeIndex(NamedTuple):
    """Parameters of an index policy for heavy tails, for the compiled loops.

    Attributes
    ----------
    first_bound : float
        b: the n-th reward of an arm counts as 0 beyond b·n^g.
    growth : float
        g = 1/(1+v).
    node_factor : float
        2L/ε: scale of a node's noise, over B_n; 0 adds no noise.
    width : float
        H, in units of a reward.
    reconstructed : bool
        Whether the bonus is H·(log(2t⁴)/n)^(v/(1+v)), not H·n^(−v/(1+v)).

    Examples
    --------
    >>> import dpbandits as dpb
    >>> s1 = dpb.instances.twzw22("S1", order=1.0)
    >>> tree_index_of(dpb.DPRUCB(epsilon=1.0), s1, 1000).growth
    0.5
    """

    first_bound: float
    growth: float
    node_factor: float
    width: float
    reconstructed: bool = False


def tree_index_of(algorithm: DPRUCB | RobustUCB, rewards: Any, horizon: int) -> TreeIndex:
    """Return the parameters of an algorithm for the compiled loops."""
    if isinstance(algorithm, RobustUCB):
        moment, order = rewards.moment_bound, rewards.order
        log_term, power = 2 * math.log(horizon), 1 / (1 + order)
        bound = (moment / log_term) ** power
        width = ROBUST_FACTOR * moment**power * log_term ** (order * power)
        return TreeIndex(bound, power, 0.0, width)
    width = algorithm.bonus(rewards, horizon)
    tree = algorithm.plan(rewards, horizon).tree
    reconstructed = algorithm.width == "reconstructed"
    return TreeIndex(tree.first_bound, tree.growth, tree.node_factor, width, reconstructed)


@kernel(borrows=True)
def grown_by(part: float, growth: float) -> float:
    """Return (1 + h)^g by the binomial series to the fifth power.

    The remainder is below 10^−18 of the result.
    """
    tail = 1.0 + part * (growth - 3.0) / 4.0 * (1.0 + part * (growth - 4.0) / 5.0)
    tail = 1.0 + part * (growth - 1.0) / 2.0 * (1.0 + part * (growth - 2.0) / 3.0 * tail)
    return 1.0 + part * growth * tail


@kernel(borrows=True)
def grown_power(power: float, inverse: float, n: int, growth: float) -> float:
    """Return n^g from (n − 1)^g: by a series, and anew at every 1024th n."""
    if n < _EXACT_BELOW or n % _EXACT_BELOW == 0:
        found: float = n**growth
        return found
    return power * grown_by(inverse, growth)


@kernel(borrows=True)
def bonus_at(policy: TreeIndex, t: int) -> float:
    """Return H, or H·log(2t⁴)^(v/(1+v)) for the reconstructed width."""
    if policy.reconstructed:
        found: float = policy.width * (math.log(2.0) + 4.0 * math.log(t)) ** (1.0 - policy.growth)
        return found
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
    """Continue; return the arm whose next reward is not on the tape, or −1 at the end."""
    clock, pulls, ends, sums, powers, inverses, means = state
    constant = 0.0 if policy.reconstructed else policy.width
    while clock[1] < checkpoints.size:
        while clock[0] < checkpoints[clock[1]]:
            arm: int = clock[0]
            if arm >= kinds.size:
                bonus = bonus_at(policy, clock[0] + 1) if policy.reconstructed else 0.0
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
        for b in range(pulls.size):
            counts[clock[1], b] = pulls[b]
        clock[1] += 1
    return -1


def play_by_steps(rewards: HeavyRewards, policy: TreeIndex, checkpoints: Times, rng: Rng) -> Ints:
    """Play an index policy pull by pull: draw a reward, then a Laplace variable.

    Rewards of laws without compiled code may be drawn ahead.

    Shapes: `checkpoints` (C,) → (C, K).
    """
    n_arms = rewards.n_arms
    pulls, ends = np.zeros(n_arms, np.int64), np.zeros((n_arms, TREE_LEVELS))
    state = _State(np.zeros(2, np.int64), pulls, ends, *np.zeros((4, n_arms)))
    return play_steps(_run_by_steps, policy, state, rewards, checkpoints, rng, *rewards.codes)


@accelerates(DPRUCB, on=GivenRewards, name="pull by pull")
def play_pull_by_pull(
    algorithm: DPRUCB, rewards: HeavyRewards, horizon: int, checkpoints: Times, rng: Rng
) -> Play:
    """Play on any heavy-tailed rewards: `heavy_skipping` registers it for laws with compiled code.

    Shapes: `checkpoints` (C,).
    """
    policy = tree_index_of(algorithm, rewards, horizon)
    return Play(play_by_steps(rewards, policy, checkpoints, rng))
