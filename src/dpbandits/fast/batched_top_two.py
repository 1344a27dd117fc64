"""DP-TT, AdaP-TT and AdaP-TT*, batch by batch: the same runs as pull by pull.

Between two releases nothing random happens, and `dpbandits.fast.rounds` advances the counts, many
rounds at once where that is certified; only then is the sum of the batch drawn.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._kernels import kernel
from dpbandits.acceleration import TableRuns, accelerates
from dpbandits.fast.rounds import BatchState, Costs, advance, closed_costs, transport_costs
from dpbandits.fast.top_two import NO_LOG, NO_TABLE, next_total
from dpbandits.identification.adap_tt import AdaPTT, AdaPTTStar
from dpbandits.identification.base import Decision, TableDecisions
from dpbandits.identification.dp_tt import DPTT
from dpbandits.identification.thresholds import (
    RULES,
    gaussian_threshold_kernel,
    pair_constant,
    pair_threshold_kernel,
    separate_threshold_kernel,
)
from dpbandits.identification.transport import calibrated_cost_kernel, transportation_cost_kernel
from dpbandits.mechanisms import laplace
from dpbandits.rewards.populations import PopulationRewards
from dpbandits.rewards.streams import DrawnRewards, running_sums
from dpbandits.schedules import MOST_PULLS, next_release_kernel

__all__ = ["BatchState", "Rule", "rule_of", "run_batches"]

_SEPARATE = RULES.index("separate")


class Rule(NamedTuple):
    """What the compiled functions know of an algorithm.

    Attributes
    ----------
    epsilon : float
        Privacy budget ε.
    delta : float
        Probability δ of a wrong recommendation.
    leader_share : float
        Share of the rounds of a leader in which it is played.
    doubles : bool
        Whether it is AdaP-TT or AdaP-TT*, not DP-TT.
    threshold : int
        Place of the stopping threshold in `thresholds.RULES`.
    constant, exponent : float
        Constants of the threshold of DP-TT.
    exploration : float
        Factor of log N_a in the costs.
    calibrated : bool
        Whether costs know the noise.
    cost_epsilon : float
        ε, if the cost of AdaP-TT* knows it.
    eta : float
        Growth of the batches of DP-TT.
    first : int
        Size of its first batches.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> rule = rule_of(dpb.AdaPTT(epsilon=1.0, delta=0.1), n_arms=3)
    >>> rule.doubles, rule.leader_share
    (True, 0.5)
    """

    epsilon: float
    delta: float
    leader_share: float
    doubles: bool  # whether it is AdaP-TT or AdaP-TT*, not DP-TT
    threshold: int  # place in `thresholds.RULES`
    constant: float = 0.0  # of the threshold of DP-TT, and its exponent
    exponent: float = 0.0
    exploration: float = 0.0
    calibrated: bool = False  # whether costs know the noise
    cost_epsilon: float = math.inf  # ε, if the cost of AdaP-TT* knows it
    eta: float = 1.0
    first: int = 1


@kernel
def _following(rule: Rule, pulls: int) -> int:
    """Return the pulls at which an arm is released after `pulls`."""
    if rule.doubles:
        return min(2 * pulls, MOST_PULLS) if pulls > 0 else 1
    return next_release_kernel(pulls, rule.eta, rule.first)


@kernel
def estimates(rule: Rule, state: BatchState) -> Floats:
    """Return the released estimates μ̃ of the means.

    Parameters
    ----------
    rule : Rule
        The algorithm.
    state : BatchState
        State of the run.

    Returns
    -------
    numpy.ndarray of float, shape (K,)
        The estimates.
    """
    return state.last / state.batch if rule.doubles else state.total / state.released


@kernel
def stops(rule: Rule, state: BatchState, means: Floats) -> bool:
    """Return whether the arm with the largest estimate is recommended now.

    Parameters
    ----------
    rule : Rule
        The algorithm.
    state : BatchState
        State of the run.
    means : numpy.ndarray of float, shape (K,)
        The released estimates.

    Returns
    -------
    bool
        Whether its evidence against every other arm is above the threshold.
    """
    best, n_arms, epsilon, delta = int(means.argmax()), means.size, rule.epsilon, rule.delta
    for b in range(n_arms):
        if b == best:
            continue
        releases, gap = (state.releases[best], state.releases[b]), means[best] - means[b]
        if rule.doubles:
            batches = state.batch[best], state.batch[b]
            if rule.threshold == _SEPARATE:
                statistic = gap
                limit = separate_threshold_kernel(delta, epsilon, n_arms, releases, batches)
            else:
                statistic = 0.5 * gap**2 / (1 / batches[0] + 1 / batches[1])
                kind = rule.threshold
                limit = gaussian_threshold_kernel(kind, delta, epsilon, n_arms, releases, batches)
        else:
            limit = pair_threshold_kernel(rule.threshold, rule.constant, rule.exponent, *releases)
            n, m = state.released[best], state.released[b]
            statistic = transportation_cost_kernel(means[best], means[b], n, m, epsilon)[0]
            if statistic > limit:  # W ≥ W̃: most often W is enough to say no
                r, q = releases[0] / n, releases[1] / m
                statistic = calibrated_cost_kernel(means[best], means[b], n, m, r, q, epsilon)[0]
        if not statistic > limit:
            return False
    return True


@kernel
def _costs(rule: Rule, state: BatchState, means: Floats) -> Costs:
    """Return leader, challengers and costs until the next release."""
    if rule.doubles:
        log_time = math.log(state.released.sum())
        width = log_time / (rule.epsilon * state.batch) + np.sqrt(log_time / (2 * state.batch))
        leader = int((means + width).argmax())
        return closed_costs(leader, means[leader] - means, rule.cost_epsilon)
    ratios = state.releases / state.released if rule.calibrated else np.zeros(means.size)
    return transport_costs(int(means.argmax()), means, ratios, rule.epsilon, rule.exploration)


@kernel
def record(rule: Rule, state: BatchState, arm: int, last: float, most: int) -> None:
    """Take in what the open batch of an arm was released as.

    Parameters
    ----------
    rule : Rule
        The algorithm.
    state : BatchState
        State of the run; updated in place.
    arm : int
        The arm.
    last : float
        What was released: the sum of the batch, with noise.
    most : int
        Pulls of the arm at which its next batch ends at the latest.
    """
    pulls = state.pulls[arm]
    state.last[arm] = last
    state.total[arm] += last
    state.batch[arm] = pulls - state.released[arm]
    state.released[arm] = pulls
    state.releases[arm] += 1
    state.following[arm] = min(_following(rule, pulls), most)


@kernel
def _next(rule: Rule, state: BatchState, room: int) -> tuple[int, bool]:
    """Play until a batch ends: return its arm and False, or the recommendation (or −1) and True."""
    for arm in range(state.pulls.size):
        if state.releases[arm] == 0:
            state.pulls[arm] = min(state.following[arm], room)
            return (arm, False) if state.following[arm] <= room else (-1, True)
    means = estimates(rule, state)
    if stops(rule, state, means):
        return int(means.argmax()), True
    arm = advance(_costs(rule, state, means), state, rule.leader_share, room) if room > 0 else -1
    return arm, arm < 0


@kernel
def run_batches(
    rule: Rule, means: Floats, table: Floats, rng: Rng, max_pulls: int, log: Floats
) -> tuple[int, Ints]:
    """Run once.

    Parameters
    ----------
    rule : Rule
        The algorithm.
    means : numpy.ndarray of float, shape (K,)
        Means of Bernoulli arms.
    table : numpy.ndarray of float, shape (K, N + 1) or empty
        Sums of the first 0, …, N ≥ `max_pulls` rewards of each arm, which are read instead;
        `NO_TABLE` stands for none.
    rng : numpy.random.Generator
        Source of all randomness of the run.
    max_pulls : int
        Pulls after which a run that has not stopped is ended.
    log : numpy.ndarray of float, shape (N,) or empty
        Where the arms are written in the order of their releases; `NO_LOG` stands for none.

    Returns
    -------
    recommendation : int
        The arm, or −1 if the run was ended.
    pulls : numpy.ndarray of int, shape (K,)
        Pulls of each arm.
    """
    n_arms = means.size
    counts, sums = np.zeros((7, n_arms), np.int64), np.zeros((2, n_arms))
    state = BatchState(
        counts[0], counts[1], counts[2], counts[3], counts[4], counts[5], counts[6], sums[0],
        sums[1],
    )  # fmt: skip
    state.following[:] = _following(rule, 0)
    while True:
        arm, ended = _next(rule, state, max_pulls - state.pulls.sum())
        if ended:
            return arm, state.pulls
        before = state.released[arm]
        last = next_total(means, table, rng, arm, before, state.pulls[arm] - before)
        last += laplace(rng, 1.0 / rule.epsilon)
        if log.size > 0:
            log[state.releases.sum()] = arm
        record(rule, state, arm, last, MOST_PULLS)


def rule_of(algorithm: DPTT | AdaPTT | AdaPTTStar, n_arms: int) -> Rule:
    """Return what the compiled functions have to know of an algorithm.

    Parameters
    ----------
    algorithm : DPTT, AdaPTT or AdaPTTStar
        The algorithm.
    n_arms : int
        Number of arms K.

    Returns
    -------
    Rule
        Its constants.
    """
    epsilon, delta, share = algorithm.epsilon, algorithm.delta, algorithm.leader_share
    if isinstance(algorithm, AdaPTT):
        return Rule(epsilon, delta, share, True, RULES.index(algorithm.threshold))
    if isinstance(algorithm, AdaPTTStar):
        return Rule(epsilon, delta, share, True, _SEPARATE, cost_epsilon=epsilon)
    return Rule(
        epsilon,
        delta,
        share,
        False,
        RULES.index(algorithm.threshold),
        pair_constant(algorithm.threshold, delta, n_arms, algorithm.exponent),
        algorithm.exponent,
        algorithm.exploration,
        algorithm.costs == "calibrated",
        eta=algorithm.eta,
        first=algorithm.first,
    )


@accelerates(DPTT, AdaPTT, AdaPTTStar, on=DrawnRewards, name="batch by batch")
def draw(
    algorithm: DPTT | AdaPTT | AdaPTTStar, rewards: DrawnRewards, max_pulls: int, rng: Rng
) -> Decision:
    """Run on Bernoulli arms.

    Parameters
    ----------
    algorithm : DPTT, AdaPTT or AdaPTTStar
        The algorithm.
    rewards : DrawnRewards
        Rewards of the run.
    max_pulls : int
        Pulls after which a run that has not stopped is ended.
    rng : numpy.random.Generator
        Source of all randomness of the run.

    Returns
    -------
    Decision
        The recommendation, −1 if the run was ended, and the pulls.
    """
    rule = rule_of(algorithm, rewards.n_arms)
    return Decision(*run_batches(rule, rewards.means, NO_TABLE, rng, max_pulls, NO_LOG))


@accelerates(DPTT, AdaPTT, AdaPTTStar, on=PopulationRewards, name="batch by batch")
def draw_patients(
    algorithm: DPTT | AdaPTT | AdaPTTStar, rewards: PopulationRewards, max_pulls: int, rng: Rng
) -> Decision:
    """Run on patients, until one is wanted of an arm that has none left.

    Parameters
    ----------
    algorithm : DPTT, AdaPTT or AdaPTTStar
        The algorithm.
    rewards : PopulationRewards
        Rewards of the run.
    max_pulls : int
        Pulls after which a run that has not stopped is ended.
    rng : numpy.random.Generator
        Source of all randomness of the run.

    Returns
    -------
    Decision
        The recommendation, −1 if the run was ended, and the pulls.
    """
    n_arms = rewards.n_arms
    rule, state = rule_of(algorithm, n_arms), BatchState.start(n_arms)
    for arm in range(n_arms):
        # beyond so many pulls no batch ends: no patient is left
        state.following[arm] = min(int(_following(rule, 0)), rewards.left(arm) + 1)
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
def _table_runs(rule: Rule, sums: Floats, n_runs: int, rng: Rng) -> tuple[Ints, Ints, Floats]:
    """Run many times on a table given by running sums: recommendations, pulls, releases' arms."""
    n_arms, n_pulls, means = sums.shape[0], sums.shape[1] - 1, np.zeros(sums.shape[0])
    best, pulls = np.empty(n_runs, np.int64), np.empty((n_runs, n_arms), np.int64)
    arms = np.full((n_runs, n_pulls), -1.0)
    for r in range(n_runs):
        best[r], pulls[r] = run_batches(rule, means, sums, rng, n_pulls, arms[r])
    return best, pulls, arms


@accelerates(DPTT, AdaPTT, AdaPTTStar, on=TableRuns, name="batch by batch")
def draw_table(
    algorithm: DPTT | AdaPTT | AdaPTTStar, table: Floats, n_runs: int, rng: Rng
) -> TableDecisions:
    """Run many times on a table.

    Parameters
    ----------
    algorithm : DPTT, AdaPTT or AdaPTTStar
        The algorithm.
    table : numpy.ndarray of float, shape (K, N)
        Rewards in [0, 1]: the n-th pull of an arm gives its n-th entry.
    n_runs : int
        Number of runs.
    rng : numpy.random.Generator
        Source of the noise of all runs.

    Returns
    -------
    TableDecisions
        Recommendations, pulls, and the order of the arms.
    """
    sums = running_sums(np.array(table, np.float64, order="C"))
    return TableDecisions(*_table_runs(rule_of(algorithm, len(sums)), sums, n_runs, rng))
