"""Top Two without privacy: what the private algorithms are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._kernels import kernel
from dpbandits.configuration import Fraction
from dpbandits.divergences import d_eps_kernel
from dpbandits.identification.base import (
    NO_LOG,
    NO_TABLE,
    Decision,
    IdentificationAlgorithm,
    check_run,
    next_total,
)
from dpbandits.identification.thresholds import mixture_threshold_kernel
from dpbandits.rewards.streams import Rewards

NO_PATIENTS = np.empty((2, 0), np.int64)
"""Stands for a population that a run does without."""


@kernel
def next_decision(
    sums: Ints, pulls: Ints, led: Ints, own: Ints, share: float, delta: float
) -> tuple[bool, int]:
    """Return (True, arm to recommend) or (False, arm to play), and count the round.

    Ties go to the lowest arm number.
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
        stops = stops and cost > mixture_threshold_kernel(delta, n_arms, ahead, n)
        cost += np.log(n)
        if challenger < 0 or cost < least:
            challenger, least = a, cost
    if stops:
        return True, leader
    led[leader] += 1
    if own[leader] < share * led[leader]:
        own[leader] += 1
        return False, leader
    return False, challenger


@kernel
def run_top_two(
    share: float,
    delta: float,
    means: Floats,
    table: Floats,
    population: Ints,
    rng: Rng,
    max_pulls: int,
    log: Floats,
) -> tuple[int, Ints, Ints]:
    """Run once: recommendation, pulls and sums of rewards of each arm.

    Arguments as of `run_batches`; or, if `population` has the successes and sizes of K arms, on
    patients as `PopulationRewards` draws them, until an arm has none left.
    """
    n_arms, finite = means.size, population.size > 0
    sums, pulls = np.zeros(n_arms, np.int64), np.zeros(n_arms, np.int64)
    led, own = np.zeros(n_arms, np.int64), np.zeros(n_arms, np.int64)
    t = 0
    while True:
        stops, arm = False, t
        if t >= n_arms:
            stops, arm = next_decision(sums, pulls, led, own, share, delta)
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


@dataclass(frozen=True)
class TopTwo(IdentificationAlgorithm):
    """Top Two without privacy: empirical best leader, challenger by transportation cost.

    One pull of each arm; then, before every pull, the leader B has the largest empirical mean μ̂,
    and the challenger the least W_{B,a} + log N_a, where W_{B,a} = N_B·kl(μ̂_B, u) + N_a·kl(μ̂_a, u)
    is what it costs that both arms have one mean u (the "EB-TCI" rule of Jourdan et al. 2022).
    The leader is played in the share β of the rounds in which it leads. The rule stops, also
    before every pull, when W_{ã,b} is above `thresholds.mixture_threshold`, which is δ-correct, for
    ã = argmax μ̂ and every b ≠ ã.

    Deviation: the threshold. Those of Kaufmann & Koolen (2021) have log log N in place of ½·log N
    and greater constants; this one is smaller at the sizes of interest.

    Parameters
    ----------
    delta, leader_share : float
        Confidence δ, and share β of the rounds in which the leader is played; both in (0, 1).

    Examples
    --------
    >>> import numpy as np
    >>> import dpbandits as dpb
    >>> instance = dpb.instances.bernoulli([0.9, 0.1])
    >>> dpb.TopTwo(delta=0.1).draw(instance, np.random.default_rng(0)).recommendation
    0
    """

    label: ClassVar[str] = "Top Two"
    source: ClassVar[str] = "JDBHK22, EB-TCI"

    delta: Fraction
    leader_share: Fraction = 0.5

    def run_compiled(self, means: Floats, rng: Rng, max_pulls: int) -> Decision | None:
        rule = self.leader_share, self.delta, means, NO_TABLE, NO_PATIENTS
        arm, pulls, _ = run_top_two(*rule, rng, max_pulls, NO_LOG)
        return Decision(arm, pulls)

    def decide(self, rewards: Rewards, rng: Rng, max_pulls: int) -> Decision:
        max_pulls = check_run(rewards, rng, max_pulls)
        sums, pulls, led, own = np.zeros((4, rewards.n_arms), dtype=np.int64)
        for t in range(max_pulls + 1):
            stops, arm = False, t
            if t >= rewards.n_arms:
                stops, arm = next_decision(sums, pulls, led, own, self.leader_share, self.delta)
            if stops:
                return Decision(arm, pulls)
            if t < max_pulls:
                pulls[arm] += 1
                sums[arm] += rewards.total(arm, 1)
        return Decision(-1, pulls)
