"""DP-LRE in compiled code, batch by batch: the same numbers as by `DPLRE.decide`."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._engine.acceleration import accelerates, plays_many
from dpbandits._engine.kernels import copy_into, kernel
from dpbandits._engine.streams import Streams, begin_stream
from dpbandits.identification.base import Decision
from dpbandits.identification.bayes_factor import (
    CAPACITY,
    START,
    Table,
    judge,
    peak,
    table_of,
    take_in,
)
from dpbandits.identification.dplre import DPLRE
from dpbandits.identification.transport import transportation_cost_kernel
from dpbandits.mechanisms import laplace
from dpbandits.rewards.binomial import binomial
from dpbandits.rewards.populations import PopulationRewards
from dpbandits.rewards.sources import DrawnRewards

__all__ = ["EliminationRule", "rule_of"]


class EliminationRule(NamedTuple):
    """Parameters of `DPLRE` for the compiled functions.

    Attributes
    ----------
    epsilon : float
        Privacy budget ε.
    threshold : float
        Logarithm of the evidence at which an arm is beaten.
    first : int
        Size of the first batches.
    least_growth : float
        Least size of a batch, over the pulls of its arm.
    most_growth : float
        Greatest size of a batch, over the pulls of its arm, where noise is negligible.
    scarce : float
        More is demanded if an arm has scarce·√(K − 1) times the pulls of another.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> rule_of(dpb.DPLRE(epsilon=1.0, delta=0.1), n_arms=3).epsilon
    1.0
    """

    epsilon: float
    threshold: float
    first: int  # size of the first batches
    least_growth: float
    most_growth: float
    scarce: float  # more is demanded if an arm has scarce·√(K − 1) times the pulls of another


class _Arms(NamedTuple):
    """State of a run; arrays of shape (K, …), except `turn`."""

    rows: Floats  # (K, 4, CAPACITY): tables of the likelihoods
    slack: Floats
    size: Ints  # knots
    sums: Floats  # (K, 2, …): sizes of the batches, and their released sums
    batches: Ints
    pulls: Ints
    rival: Ints
    contends: Ints
    planned: Ints
    turn: Ints  # step of a round, below 0 in the first batches; leader; last arm released; ⌊√M⌋


@kernel
def _start(n_arms: int, rule: EliminationRule) -> _Arms:
    # each batch adds `least_growth` times an arm's pulls or more, and two thirds if it is a top-up
    batches = int(math.log(2.0**53) / math.log1p(min(rule.least_growth, 1.0))) + 3
    rows, counts = np.zeros((n_arms, 4, CAPACITY)), np.zeros((4, n_arms), np.int64)
    for a in range(n_arms):
        copy_into(rows[a, 0, : START.size], START)
    return _Arms(
        rows, np.zeros(n_arms), np.full(n_arms, START.size), np.empty((n_arms, 2, batches)),
        counts[0], counts[1], counts[2], np.ones(n_arms, np.int64), counts[3],
        np.array([-n_arms, 0, -1, 0]),
    )  # fmt: skip


@kernel
def _noise_share(upper: float, lower: float, epsilon: float) -> float:
    """Return `DPLRE.noise_share`."""
    if lower <= 0.0 or upper >= 1.0:
        return 1.0 if epsilon < math.inf else 0.0
    tilt = math.log(upper / (1.0 - upper)) - math.log(lower / (1.0 - lower))
    return min(max(tilt, 0.0) / (2.0 * epsilon), 1.0)


@kernel
def _table(arms: _Arms, a: int) -> Table:
    return table_of(arms.rows[a], arms.size[a], arms.slack[a])


@kernel
def _demand(rule: EliminationRule, arms: _Arms, b: int) -> float:
    """Return the evidence, in nats, that beating arm b requires."""
    scarce = rule.scarce * math.sqrt(arms.pulls.size - 1)
    scarcity = arms.pulls.max() / (scarce * arms.pulls[b])
    return rule.threshold + 2.0 * math.log(max(scarcity, 1.0))


@kernel
def _judge(
    rule: EliminationRule, arms: _Arms, leader: int, b: int, far: float
) -> tuple[bool, float]:
    """Return whether the leader certainly beats b, and the missing evidence, roughly or > `far`."""
    demand = _demand(rule, arms, b)
    enough = min(demand, demand - far)
    beats, lowest = judge(_table(arms, leader), _table(arms, b), arms.pulls.size, demand, enough)
    return beats, demand - lowest


@kernel
def _batch(rule: EliminationRule, wanted: float, pulls: int, noise: float) -> int:
    """Return the wanted size of a batch, clipped to the limits of its growth."""
    most = rule.most_growth * (1.0 + 3.0 * noise) * pulls
    return math.ceil(min(max(wanted, rule.least_growth * pulls), most))


@kernel
def _gain(
    rule: EliminationRule, arms: _Arms, leader: int, b: int, rivals: int
) -> tuple[float, float]:
    """Return `DPLRE._gain`."""
    upper, lower = peak(_table(arms, leader)), peak(_table(arms, b))
    noise = _noise_share(upper, lower, rule.epsilon)
    lead = float(rivals) ** (0.5 - 0.25 * noise)
    return transportation_cost_kernel(upper, lower, lead, 1.0, rule.epsilon)[0], noise


@kernel
def _far(rule: EliminationRule, arms: _Arms, leader: int, b: int, rivals: int) -> float:
    """Return `DPLRE.far`."""
    gain, noise = _gain(rule, arms, leader, b, rivals)
    most = rule.most_growth * (1.0 + 3.0 * noise) * arms.pulls[b]
    found: float = 1.000001 * (most * gain - noise) / (0.5 * (1.0 + noise))
    return found


@kernel
def _plan(rule: EliminationRule, arms: _Arms, leader: int) -> int:
    """Find the leader's rivals and plan their batches; return the size of its own, 0 for none."""
    lacking = np.zeros(arms.pulls.size)
    for b in range(lacking.size):
        contends = arms.contends[b] or _demand(rule, arms, b) > rule.threshold
        arms.rival[b] = contends and b != leader
    rivals = arms.rival.sum()
    for b in range(lacking.size):
        if arms.rival[b]:
            far = _far(rule, arms, leader, b, rivals)
            beaten, lacking[b] = _judge(rule, arms, leader, b, far)
            arms.rival[b] = not beaten
    rivals = arms.rival.sum()
    most, greatest = 0.0, 0.0
    for b in range(lacking.size):
        if not arms.rival[b]:
            continue
        gain, noise = _gain(rule, arms, leader, b, rivals)
        wanted = math.inf
        if gain > 0.0:
            wanted = (0.5 * (1.0 + noise) * lacking[b] + noise) / gain
        arms.planned[b] = _batch(rule, wanted, arms.pulls[b], noise)
        most = max(most, float(arms.pulls[b] + arms.planned[b]))
        greatest = max(greatest, noise)
    power, total = 1.0 / (0.5 - 0.25 * greatest), 0.0
    for b in range(lacking.size):
        if arms.rival[b]:
            total += ((arms.pulls[b] + arms.planned[b]) / most) ** power
    pulls = arms.pulls[leader]
    wanted = most * total ** (1.0 / power) - pulls
    return 0 if wanted < rule.least_growth * pulls else _batch(rule, wanted, pulls, greatest)


@kernel
def next_batch(rule: EliminationRule, arms: _Arms) -> tuple[int, int]:
    """Return the arm of the next batch and its size, or the arm that is recommended and 0.

    Steps of a round: 0 plans and releases the leader, 1 … K its rivals, K + 1 decides, and
    K + 2 … 2K + 1 are top-ups.
    """
    n_arms, turn, rival = arms.pulls.size, arms.turn, arms.rival
    last, turn[2] = turn[2], -1
    if last >= 0:  # its release may have beaten a rival
        for b in range(n_arms):
            if rival[b] and (last == b or last == turn[1]):
                rival[b] = not _judge(rule, arms, turn[1], b, 0.0)[0]
    while True:
        step = turn[0]
        turn[0] += 1
        if step < 0:
            return step + n_arms, rule.first
        if step == 0:
            leader = int(np.argmax(np.array([peak(_table(arms, a)) for a in range(n_arms)])))
            turn[1] = leader
            size = _plan(rule, arms, leader)
            if size > 0:
                turn[2] = leader
                return leader, size
        elif step <= n_arms:
            if rival[step - 1]:
                turn[2] = step - 1
                return step - 1, arms.planned[step - 1]
        elif step == n_arms + 1:
            if not rival.any():
                return turn[1], 0
            copy_into(arms.contends, rival)
            arms.contends[turn[1]] = 1
            turn[3] = int(math.sqrt(arms.pulls.max()))  # exact: there are 2^53 pulls at most
        elif step <= 2 * n_arms + 1:
            b = step - n_arms - 2
            if not arms.contends[b] and arms.pulls[b] < turn[3]:
                return b, 2 * turn[3]
        else:
            turn[0] = 0


@kernel
def _record(rule: EliminationRule, arms: _Arms, a: int, size: int, total: float) -> None:
    """Record `total` as the release of a batch of arm a."""
    count, sums = arms.batches[a], arms.sums[a]
    sums[0, count], sums[1, count] = size, total
    arms.batches[a] += 1
    arms.pulls[a] += size
    ns, xs = sums[0, : count + 1], sums[1, : count + 1]
    arms.size[a], arms.slack[a] = take_in(arms.rows[a], arms.size[a], ns, xs, rule.epsilon)


@kernel
def _run(rule: EliminationRule, means: Floats, rng: Rng, max_pulls: int) -> tuple[int, Ints]:
    """Run once: recommendation and pulls."""
    arms = _start(means.size, rule)
    while True:
        a, size = next_batch(rule, arms)
        if size == 0:
            return a, arms.pulls
        room = max_pulls - arms.pulls.sum()
        if size > room:
            arms.pulls[a] += room
            return -1, arms.pulls
        total = float(binomial(rng, size, means[a]))
        if rule.epsilon < math.inf:
            total += laplace(rng, 1.0 / rule.epsilon)
        _record(rule, arms, a, size, total)


@kernel
def _runs(
    rule: EliminationRule, means: Floats, max_pulls: int, streams: Streams
) -> tuple[Ints, Ints]:
    """Run on each stream: recommendations (n,) and pulls (n, K)."""
    n_runs = streams.states.shape[0]
    best, pulls = np.empty(n_runs, np.int64), np.empty((n_runs, means.size), np.int64)
    for r in range(n_runs):
        begin_stream(streams, r)
        best[r], counts = _run(rule, means, streams.rng, max_pulls)
        copy_into(pulls[r], counts)
    return best, pulls


def rule_of(algorithm: DPLRE, n_arms: int) -> EliminationRule:
    """Return the parameters of the algorithm for the compiled functions."""
    first = min(algorithm.first_batch(n_arms), 2 * DPLRE.most_pulls)  # no run has room for more
    growth = algorithm.least_growth, algorithm.most_growth
    threshold = algorithm.threshold(n_arms)
    return EliminationRule(algorithm.epsilon, threshold, first, *growth, algorithm.scarce)


@accelerates(DPLRE, on=DrawnRewards, name="compiled")
def draw(algorithm: DPLRE, rewards: DrawnRewards, max_pulls: int, rng: Rng) -> Decision:
    """Run on Bernoulli arms."""
    return Decision(*_run(rule_of(algorithm, rewards.n_arms), rewards.means, rng, max_pulls))


@plays_many(draw)
def _draw_many(
    algorithm: DPLRE, rewards: DrawnRewards, max_pulls: int, streams: Streams
) -> tuple[Ints, Ints]:
    """Return recommendations (n,), −1 if ended, and pulls (n, K): `draw` on each stream."""
    found: tuple[Ints, Ints] = _runs(
        rule_of(algorithm, rewards.n_arms), rewards.means, max_pulls, streams
    )
    return found


@accelerates(DPLRE, on=PopulationRewards, name="compiled")
def draw_patients(
    algorithm: DPLRE, rewards: PopulationRewards, max_pulls: int, rng: Rng
) -> Decision:
    """Run on patients, until an arm is asked for one and has none left."""
    rule = rule_of(algorithm, rewards.n_arms)
    arms = _start(rewards.n_arms, rule)
    while True:
        a, size = next_batch(rule, arms)
        if size == 0:
            return Decision(int(a), arms.pulls)
        room = min(max_pulls - int(arms.pulls.sum()), rewards.left(a))
        if size > room:
            arms.pulls[a] += room
            return Decision(-1, arms.pulls)
        total = float(rewards.total(a, size))
        if algorithm.epsilon < math.inf:
            total += laplace(rng, 1.0 / algorithm.epsilon)
        _record(rule, arms, a, size, total)
