"""Top Two, pull by pull, in a compiled loop: the same numbers as by `TopTwo.decide`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._engine.acceleration import TableRuns, accelerates, plays_many
from dpbandits._engine.kernels import copy_into, kernel
from dpbandits._engine.streams import Streams, begin_stream
from dpbandits.divergences import d_eps_kernel
from dpbandits.identification.base import Decision, TableDecisions
from dpbandits.identification.ctb_tt import CTBTT
from dpbandits.identification.thresholds import (
    customary_threshold_kernel,
    mixture_threshold_kernel,
)
from dpbandits.identification.top_two import EmpiricalTopTwo, TopTwo
from dpbandits.mechanisms.randomised_response import lie_probability
from dpbandits.rewards.binomial import binomial
from dpbandits.rewards.populations import PopulationRewards
from dpbandits.rewards.sources import DrawnRewards, running_sums

NO_TABLE, NO_LOG = np.empty((0, 0)), np.empty(0)
"""Placeholders: an empty table if rewards are drawn, an empty log if pulls are not recorded."""
NO_PATIENTS = np.empty((2, 0), np.int64)
"""Placeholder for the population of a run without patients."""


class TopTwoRule(NamedTuple):
    """Parameters of `TopTwo` for the compiled functions.

    Attributes
    ----------
    share : float
        Share of a leader's rounds in which it is played.
    delta : float
        Probability δ of a wrong recommendation.
    customary : bool
        Whether the threshold is the customary one, for which nothing is proved.

    Examples
    --------
    >>> TopTwoRule(0.5, 0.1, False).delta
    0.1
    """

    share: float
    delta: float
    customary: bool


@kernel
def next_total(means: Floats, table: Floats, rng: Rng, arm: int, before: int, size: int) -> float:
    """Return the sum of the next rewards of an arm: from a table of sums, or drawn.

    Shapes: `means` (K,), `table` (K, N + 1).
    """
    if table.size > 0:
        found: float = table[arm, before + size] - table[arm, before]
        return found
    return float(binomial(rng, size, means[arm]))


@kernel
def next_decision(
    sums: Ints, pulls: Ints, led: Ints, own: Ints, rule: TopTwoRule
) -> tuple[bool, int]:
    """Return whether to stop, and which arm to recommend or to play; count the round.

    Ties go to the lowest arm number.

    Shapes: `sums` (K,), `pulls` (K,), `led` (K,), `own` (K,).
    """
    n_arms = sums.size
    leader = 0
    for a in range(1, n_arms):
        if sums[a] / pulls[a] > sums[leader] / pulls[leader]:
            leader = a
    ahead, top = pulls[leader], sums[leader] / pulls[leader]
    stops, challenger, least = True, -1, np.inf
    for a in range(n_arms):
        if a == leader:
            continue
        n, mean = pulls[a], sums[a] / pulls[a]
        common = (sums[leader] + sums[a]) / (ahead + n)
        cost = 0.0
        if mean < top:
            cost = ahead * d_eps_kernel(top, common, np.inf)
            cost += n * d_eps_kernel(mean, common, np.inf)
        limit = mixture_threshold_kernel(rule.delta, n_arms, ahead, n)
        if rule.customary:
            limit = customary_threshold_kernel(rule.delta, pulls.sum())
        stops = stops and cost > limit
        cost += np.log(n)
        if challenger < 0 or cost < least:
            challenger, least = a, cost
    if stops:
        return True, leader
    led[leader] += 1
    if own[leader] < rule.share * led[leader]:
        own[leader] += 1
        return False, leader
    return False, challenger


@kernel
def run_top_two(
    rule: TopTwoRule,
    means: Floats,
    table: Floats,
    population: Ints,
    rng: Rng,
    max_pulls: int,
    log: Floats,
) -> tuple[int, Ints, Ints]:
    """Run once.

    Shapes: `means` (K,), `table` (K, N + 1), `population` (2, K), `log` (N,) → (K,), (K,).
    """
    n_arms, finite = means.size, population.size > 0
    sums, pulls = np.zeros(n_arms, np.int64), np.zeros(n_arms, np.int64)
    led, own = np.zeros(n_arms, np.int64), np.zeros(n_arms, np.int64)
    t = 0
    while True:
        stops, arm = False, t
        if t >= n_arms:
            stops, arm = next_decision(sums, pulls, led, own, rule)
        if stops:
            return arm, pulls, sums
        if t == max_pulls or (finite and pulls[arm] == population[1, arm]):
            return -1, pulls, sums
        if finite:
            left = population[1, arm] - pulls[arm]
            sums[arm] += rng.random() * left < population[0, arm] - sums[arm]
        else:
            sums[arm] += int(next_total(means, table, rng, arm, pulls[arm], 1))
        if log.size > 0:
            log[t] = arm
        pulls[arm] += 1
        t += 1


@kernel
def _table_runs(rule: TopTwoRule, sums: Floats, n_runs: int, rng: Rng) -> tuple[Ints, Ints, Floats]:
    """Run many times on a table given by running sums: recommendations, pulls, arms in order."""
    n_arms, n_pulls, means = sums.shape[0], sums.shape[1] - 1, np.zeros(sums.shape[0])
    best, pulls = np.empty(n_runs, np.int64), np.empty((n_runs, n_arms), np.int64)
    arms = np.full((n_runs, n_pulls), -1.0)
    for r in range(n_runs):
        best[r], pulls[r], _ = run_top_two(rule, means, sums, NO_PATIENTS, rng, n_pulls, arms[r])
    return best, pulls, arms


def _rule(algorithm: EmpiricalTopTwo) -> TopTwoRule:
    """Return the parameters of the algorithm for the compiled functions."""
    customary = algorithm.threshold == "customary"
    return TopTwoRule(algorithm.leader_share, algorithm.delta, customary)


@accelerates(TopTwo, on=DrawnRewards, name="pull by pull")
def draw(algorithm: TopTwo, rewards: DrawnRewards, max_pulls: int, rng: Rng) -> Decision:
    """Run on Bernoulli arms."""
    setting = _rule(algorithm), rewards.means, NO_TABLE, NO_PATIENTS
    arm, pulls, _ = run_top_two(*setting, rng, max_pulls, NO_LOG)
    return Decision(arm, pulls)


@kernel
def _runs(
    rule: TopTwoRule, means: Floats, table: Floats, population: Ints, max_pulls: int, log: Floats,
    streams: Streams,
) -> tuple[Ints, Ints]:  # fmt: skip
    """Run on each stream: recommendations (n,) and pulls (n, K)."""
    n_runs = streams.states.shape[0]
    best, pulls = np.empty(n_runs, np.int64), np.empty((n_runs, means.size), np.int64)
    for r in range(n_runs):
        begin_stream(streams, r)
        best[r], counts, _ = run_top_two(
            rule, means, table, population, streams.rng, max_pulls, log
        )
        copy_into(pulls[r], counts)
    return best, pulls


@plays_many(draw)
def _draw_many(
    algorithm: TopTwo, rewards: DrawnRewards, max_pulls: int, streams: Streams
) -> tuple[Ints, Ints]:
    """Return recommendations (n,), −1 if ended, and pulls (n, K): `draw` on each stream."""
    setting = _rule(algorithm), rewards.means, NO_TABLE, NO_PATIENTS
    found: tuple[Ints, Ints] = _runs(*setting, max_pulls, NO_LOG, streams)
    return found


def reported_means(epsilon: float, means: Floats) -> Floats:
    """Return the means of reports on Bernoulli arms, (K,), given those of rewards: `prop-ctb`."""
    lie = lie_probability(epsilon)
    return lie + (1.0 - 2.0 * lie) * means


@accelerates(CTBTT, on=DrawnRewards, name="pull by pull")
def draw_reports(algorithm: CTBTT, rewards: DrawnRewards, max_pulls: int, rng: Rng) -> Decision:
    """Run on the reports of Bernoulli arms, which are Bernoulli."""
    means = reported_means(algorithm.epsilon, rewards.means)
    setting = _rule(algorithm), means, NO_TABLE, NO_PATIENTS
    arm, pulls, _ = run_top_two(*setting, rng, max_pulls, NO_LOG)
    return Decision(arm, pulls)


@plays_many(draw_reports)
def _draw_many_reports(
    algorithm: CTBTT, rewards: DrawnRewards, max_pulls: int, streams: Streams
) -> tuple[Ints, Ints]:
    """Return recommendations (n,), −1 if ended, and pulls (n, K): `draw_reports` on each stream."""
    means = reported_means(algorithm.epsilon, rewards.means)
    setting = _rule(algorithm), means, NO_TABLE, NO_PATIENTS
    found: tuple[Ints, Ints] = _runs(*setting, max_pulls, NO_LOG, streams)
    return found


@accelerates(TopTwo, on=PopulationRewards, name="pull by pull")
def draw_patients(
    algorithm: TopTwo, rewards: PopulationRewards, max_pulls: int, rng: Rng
) -> Decision:
    """Run on patients, until an arm is asked for one and has none left."""
    arms = range(rewards.n_arms)
    counts = np.array([[f(arm) for arm in arms] for f in (rewards.successes_left, rewards.left)])
    setting = _rule(algorithm), counts[0] / counts[1], NO_TABLE, counts
    best, pulls, sums = run_top_two(*setting, rng, max_pulls, NO_LOG)
    for arm in arms:
        rewards.take(arm, int(pulls[arm]), int(sums[arm]))
    return Decision(best, pulls)


@accelerates(TopTwo, on=TableRuns, name="pull by pull")
def draw_table(algorithm: TopTwo, table: Floats, n_runs: int, rng: Rng) -> TableDecisions:
    """Run many times on a table.

    Shapes: `table` (K, N).
    """
    other = table[~np.isin(table, (0.0, 1.0))]
    if other.size:
        raise ValueError(f"table has the reward {other[0]:g}; allowed: 0 or 1")
    sums = running_sums(np.array(table, np.float64, order="C"))
    return TableDecisions(*_table_runs(_rule(algorithm), sums, n_runs, rng))
