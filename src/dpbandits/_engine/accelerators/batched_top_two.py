"""DP-TT, AdaP-TT and AdaP-TT*, batch by batch: the same runs as pull by pull.

Between two releases nothing random happens, and `top_two_rounds` beside this advances the counts,
many rounds at once where that is certified; only then is the sum of the batch drawn. One type of
named tuple passes all three algorithms to the loop.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._engine.acceleration import TableRuns, accelerates, plays_many
from dpbandits._engine.accelerators.top_two import NO_LOG, next_total
from dpbandits._engine.accelerators.top_two_rounds import (
    BatchState,
    Costs,
    advance,
    closed_costs,
    transport_costs,
)
from dpbandits._engine.kernels import copy_into, kernel
from dpbandits._engine.streams import Streams, begin_stream
from dpbandits.identification.adap_tt import AdaPTT, AdaPTTStar
from dpbandits.identification.base import Decision, TableDecisions
from dpbandits.identification.characteristic import adapted_share_kernel
from dpbandits.identification.dp_tt import DPTT
from dpbandits.identification.thresholds import (
    RULES,
    gaussian_threshold_kernel,
    pair_constant,
    pair_threshold_kernel,
    separate_threshold_kernel,
)
from dpbandits.identification.transport import (
    FROM_NOTHING,
    calibrated_cost_kernel,
    transportation_cost_kernel,
)
from dpbandits.mechanisms import laplace
from dpbandits.rewards.populations import PopulationRewards
from dpbandits.rewards.sources import DrawnRewards, Tape, begin_run, fixed_rewards, tape_of
from dpbandits.schedules import MOST_PULLS, next_release_kernel

__all__ = ["BatchState", "Rule", "rule_of", "run_batches"]

_SEPARATE = RULES.index("separate")


# -------------------------------------------------------------------------- what algorithms choose


class Rule(NamedTuple):
    """Parameters of an algorithm for the loop; one type for all, so that it is compiled once.

    Attributes
    ----------
    accumulates : bool
        Whether it is DP-TT: estimates use all released batches, which grow by a factor of 1 + η.
        AdaP-TT and AdaP-TT* use the last batch alone, which is as large as all before it.
    epsilon : float
        Privacy budget ε: a release has noise of scale 1/ε.
    leader_share : float
        Share of the rounds of a leader in which it is played; 0: adapted at each release.
    delta : float
        Probability δ of a wrong recommendation.
    threshold : int
        Index in `RULES`.
    calibrated : bool
        Whether the challenger's costs account for the noise.
    eta : float
        Growth η of the batches of DP-TT, as all below.
    first : int
        Size of the first batches.
    constant, exponent : float
        Of the threshold.
    exploration : float
        Factor of log N_a in the costs.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> rule_of(dpb.AdaPTT(epsilon=1.0, delta=0.1), n_arms=3).epsilon
    1.0
    """

    accumulates: bool
    epsilon: float
    leader_share: float
    delta: float
    threshold: int
    calibrated: bool
    eta: float = 1.0
    first: int = 1
    constant: float = 0.0
    exponent: float = 0.0
    exploration: float = 0.0


@kernel
def following(rule: Rule, pulls: int) -> int:
    """Return the number of pulls at which an arm is next released, after `pulls`."""
    if rule.accumulates:
        return next_release_kernel(pulls, rule.eta, rule.first)
    return min(2 * pulls, MOST_PULLS) if pulls > 0 else 1


@kernel
def estimates(rule: Rule, state: BatchState) -> Floats:
    """Return the released estimates μ̃ of the means.

    Returns shape (K,).
    """
    return state.total / state.released if rule.accumulates else state.last / state.batch


@kernel
def is_beaten(rule: Rule, state: BatchState, means: Floats, best: int, arm: int) -> bool:
    """Return whether an arm is beaten by that with the largest estimate.

    Shapes: `means` (K,).
    """
    if rule.accumulates:
        return _costs_too_much(rule, state, means, best, arm)
    epsilon, delta, gap = rule.epsilon, rule.delta, means[best] - means[arm]
    releases = state.releases[best], state.releases[arm]
    batches = state.batch[best], state.batch[arm]
    if rule.threshold == _SEPARATE:
        found: bool = gap > separate_threshold_kernel(delta, epsilon, means.size, releases, batches)
        return found
    limit = gaussian_threshold_kernel(rule.threshold, delta, epsilon, means.size, releases, batches)
    found = 0.5 * gap**2 / (1 / batches[0] + 1 / batches[1]) > limit
    return found


@kernel
def _costs_too_much(rule: Rule, state: BatchState, means: Floats, best: int, arm: int) -> bool:
    """Return whether W̃, the cost of swapping the order of the two arms, is above the threshold."""
    epsilon, k, j = rule.epsilon, state.releases[best], state.releases[arm]
    limit = pair_threshold_kernel(rule.threshold, rule.constant, rule.exponent, k, j)
    n, m = float(state.released[best]), float(state.released[arm])
    # W ≥ W̃: most often W alone decides that it is not
    if not transportation_cost_kernel(means[best], means[arm], n, m, epsilon)[0] > limit:
        return False
    ratios = k / n, j / m
    cost = calibrated_cost_kernel(means[best], means[arm], n, m, *ratios, epsilon, FROM_NOTHING)[0]
    return cost > limit


@kernel
def costs(rule: Rule, state: BatchState, means: Floats) -> Costs:
    """Return leader, challengers and costs until the next release.

    Shapes: `means` (K,).
    """
    epsilon = rule.epsilon
    if rule.accumulates:
        ratios = state.releases / state.released if rule.calibrated else np.zeros(means.size)
        return transport_costs(int(means.argmax()), means, ratios, epsilon, rule.exploration)
    log_time = math.log(state.released.sum())
    width = log_time / (epsilon * state.batch) + np.sqrt(log_time / (2 * state.batch))
    leader = int((means + width).argmax())
    return closed_costs(leader, means[leader] - means, epsilon if rule.calibrated else math.inf)


@kernel
def share(rule: Rule, means: Floats) -> float:
    """Return the share of the rounds of a leader in which it is played until the next release.

    Shapes: `means` (K,).
    """
    return rule.leader_share or adapted_share_kernel(means, rule.epsilon)


# ------------------------------------------------------------------------------------------- a run


@kernel
def stops(rule: Rule, state: BatchState, means: Floats) -> bool:
    """Return whether the arm with the largest estimate is recommended now.

    Shapes: `means` (K,).
    """
    best = int(means.argmax())
    for arm in range(means.size):
        if arm != best and not is_beaten(rule, state, means, best, arm):
            return False
    return True


@kernel
def record(rule: Rule, state: BatchState, arm: int, last: float, most: int) -> None:
    """Record the released sum of an arm's open batch."""
    pulls = state.pulls[arm]
    state.last[arm] = last
    state.total[arm] += last
    state.batch[arm] = pulls - state.released[arm]
    state.released[arm] = pulls
    state.releases[arm] += 1
    state.following[arm] = min(following(rule, pulls), most)


@kernel(within=True)
def _next(rule: Rule, state: BatchState, room: int) -> tuple[int, bool]:
    """Play until a batch ends: return its arm and False, or the recommendation (or −1) and True."""
    for arm in range(state.pulls.size):
        if state.releases[arm] == 0:
            state.pulls[arm] = min(state.following[arm], room)
            return (arm, False) if state.following[arm] <= room else (-1, True)
    means = estimates(rule, state)
    if stops(rule, state, means):
        return int(means.argmax()), True
    if room == 0:
        return -1, True
    arm = advance(costs(rule, state, means), state, share(rule, means), room)
    return arm, arm < 0


@kernel(within=True)
def run_batches(rule: Rule, tape: Tape, rng: Rng, max_pulls: int, log: Floats) -> tuple[int, Ints]:
    """Run once.

    Shapes: `log` (N,) → (K,).
    """
    n_arms = max(tape.means.size, tape.table.shape[0])
    counts, sums = np.zeros((7, n_arms), np.int64), np.zeros((2, n_arms))
    state = BatchState(
        counts[0], counts[1], counts[2], counts[3], counts[4], counts[5], counts[6], sums[0],
        sums[1],
    )  # fmt: skip
    state.following[:] = following(rule, 0)
    while True:
        arm, ended = _next(rule, state, max_pulls - state.pulls.sum())
        if ended:
            return arm, state.pulls
        before = state.released[arm]
        last = next_total(tape.means, tape.sums, rng, arm, before, state.pulls[arm] - before)
        if tape.read.size > 0:
            tape.read[arm] = state.pulls[arm]
        last += laplace(rng, 1.0 / rule.epsilon)
        if log.size > 0:
            log[state.releases.sum()] = arm
        record(rule, state, arm, last, MOST_PULLS)


def rule_of(algorithm: DPTT | AdaPTT | AdaPTTStar, n_arms: int) -> Rule:
    """Return the parameters of an algorithm for the compiled functions."""
    told = algorithm.epsilon, algorithm.leader_share or 0.0, algorithm.delta
    if isinstance(algorithm, AdaPTT):
        return Rule(False, *told, RULES.index(algorithm.threshold), calibrated=False)
    if isinstance(algorithm, AdaPTTStar):
        return Rule(False, *told, _SEPARATE, calibrated=True)
    return Rule(
        True,
        *told,
        RULES.index(algorithm.threshold),
        algorithm.costs == "calibrated",
        algorithm.eta,
        algorithm.first_batch,
        pair_constant(algorithm.threshold, algorithm.delta, n_arms, algorithm.exponent),
        algorithm.exponent,
        algorithm.exploration,
    )


@accelerates(DPTT, AdaPTT, AdaPTTStar, on=DrawnRewards, name="batch by batch")
def draw(
    algorithm: DPTT | AdaPTT | AdaPTTStar, rewards: DrawnRewards, max_pulls: int, rng: Rng
) -> Decision:
    """Run on Bernoulli arms."""
    rule = rule_of(algorithm, rewards.n_arms)
    return Decision(*run_batches(rule, tape_of(rewards), rng, max_pulls, NO_LOG))


@kernel
def _runs(
    rule: Rule, tape: Tape, max_pulls: int, log: Floats, streams: Streams
) -> tuple[Ints, Ints]:
    """Run on each stream: recommendations (n,) and pulls (n, K); `log` is `NO_LOG`."""
    n_runs = streams.states.shape[0]
    best, pulls = np.empty(n_runs, np.int64), np.empty((n_runs, tape.means.size), np.int64)
    for r in range(n_runs):
        begin_stream(streams, r)
        best[r], counts = run_batches(rule, tape, streams.rng, max_pulls, log)
        copy_into(pulls[r], counts)
    return best, pulls


@plays_many(draw)
def _draw_many(
    algorithm: DPTT | AdaPTT | AdaPTTStar,
    rewards: DrawnRewards,
    max_pulls: int,
    streams: Streams,
) -> tuple[Ints, Ints]:
    """Return recommendations (n,), −1 if ended, and pulls (n, K): `draw` on each stream."""
    rule = rule_of(algorithm, rewards.n_arms)
    found: tuple[Ints, Ints] = _runs(rule, tape_of(rewards), max_pulls, NO_LOG, streams)
    return found


@accelerates(DPTT, AdaPTT, AdaPTTStar, on=PopulationRewards, name="batch by batch")
def draw_patients(
    algorithm: DPTT | AdaPTT | AdaPTTStar, rewards: PopulationRewards, max_pulls: int, rng: Rng
) -> Decision:
    """Run on patients, until an arm is asked for one and has none left."""
    n_arms = rewards.n_arms
    rule, state = rule_of(algorithm, n_arms), BatchState.start(n_arms)
    for arm in range(n_arms):
        # beyond so many pulls no batch ends: no patient is left
        state.following[arm] = min(following(rule, 0), rewards.left(arm) + 1)
    while True:
        arm, ended = _next(rule, state, max_pulls - int(state.pulls.sum()))
        if ended:
            return Decision(int(arm), state.pulls)
        size = int(state.pulls[arm] - state.released[arm])
        if size > rewards.left(arm):
            state.pulls[arm] -= 1  # there is no such patient
            return Decision(-1, state.pulls)
        last = rewards.total(arm, size) + laplace(rng, 1.0 / algorithm.epsilon)
        most = min(MOST_PULLS, int(state.pulls[arm]) + rewards.left(arm) + 1)
        record(rule, state, arm, last, most)


@kernel
def _table_runs(rule: Rule, tape: Tape, n_runs: int, rng: Rng) -> tuple[Ints, Ints, Floats]:
    """Run many times on a table: recommendations, pulls, releases' arms."""
    n_arms, n_pulls = tape.table.shape
    best, pulls = np.empty(n_runs, np.int64), np.empty((n_runs, n_arms), np.int64)
    arms = np.full((n_runs, n_pulls), -1.0)
    for r in range(n_runs):
        begin_run(tape.read, n_arms, r)
        best[r], counts = run_batches(rule, tape, rng, n_pulls, arms[r])
        copy_into(pulls[r], counts)
    return best, pulls, arms


@accelerates(DPTT, AdaPTT, AdaPTTStar, on=TableRuns, name="batch by batch")
def draw_table(
    algorithm: DPTT | AdaPTT | AdaPTTStar, table: Floats, n_runs: int, rng: Rng
) -> TableDecisions:
    """Run many times on a table.

    Shapes: `table` (K, N).
    """
    tape = tape_of(fixed_rewards(table))
    return TableDecisions(*_table_runs(rule_of(algorithm, len(tape.table)), tape, n_runs, rng))
