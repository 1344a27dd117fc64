"""Top Two without privacy: the baseline of the private algorithms."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from dpbandits._arrays import Rng
from dpbandits.configuration import Fraction
from dpbandits.divergences import d_eps_kernel
from dpbandits.identification.base import IdentificationAlgorithm
from dpbandits.identification.thresholds import (
    customary_threshold_kernel,
    mixture_threshold_kernel,
)
from dpbandits.rewards.run import Run

__all__ = ["EmpiricalTopTwo", "TopTwo"]


class EmpiricalTopTwo(IdentificationAlgorithm):
    """Base class of `TopTwo` and `CTBTT`, which differ in the rewards that are seen.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> issubclass(dpb.TopTwo, EmpiricalTopTwo), issubclass(dpb.CTBTT, EmpiricalTopTwo)
    (True, True)
    """

    leader_share: Fraction
    threshold: Literal["proved", "customary"]

    @property
    def is_correct(self) -> bool:
        return self.threshold == "proved"

    def decide(self, rewards: Run, rng: Rng) -> int:
        arms = range(rewards.n_arms)
        sums = [self._next_reward(rewards, arm, rng) for arm in arms]
        pulls, led, own = rewards.pulls, [0 for _ in arms], [0 for _ in arms]
        while True:
            means = [s / n for s, n in zip(sums, pulls, strict=True)]
            leader = means.index(max(means))
            n, mean = pulls[leader], means[leader]
            costs, settled = {}, True
            for a in arms:
                if a == leader:
                    continue
                cost = 0.0
                if means[a] < mean:
                    u = (sums[leader] + sums[a]) / (n + pulls[a])
                    cost = n * kl(mean, u) + pulls[a] * kl(means[a], u)
                limit = mixture_threshold_kernel(self.delta, len(arms), n, pulls[a])
                if self.threshold == "customary":
                    limit = customary_threshold_kernel(self.delta, sum(pulls))
                settled = settled and cost > limit
                costs[a] = cost + math.log(pulls[a])
            if settled:
                return leader
            led[leader] += 1
            arm = min(costs, key=costs.__getitem__)
            if own[leader] < self.leader_share * led[leader]:
                own[leader] += 1
                arm = leader
            sums[arm] += self._next_reward(rewards, arm, rng)

    @abc.abstractmethod
    def _next_reward(self, rewards: Run, arm: int, rng: Rng) -> float:
        """Return the next reward of an arm, 0 or 1, as the algorithm sees it."""


@dataclass(frozen=True)
class TopTwo(EmpiricalTopTwo):
    """Top Two without privacy: empirical best leader, challenger by transportation cost.

    One pull of each arm; then, before every pull, the leader B has the largest empirical mean μ̂,
    and the challenger the least W_{B,a} + log N_a, where W_{B,a} = N_B·kl(μ̂_B, u) + N_a·kl(μ̂_a, u)
    is the cost of a common mean u of both arms (the "EB-TCI" rule of Jourdan et al. 2022).
    The leader is played in the share β of the rounds in which it leads. The rule stops, also
    before every pull, when W_{ã,b} is above the threshold for ã = argmax μ̂ and every b ≠ ã.

    Deviation: the proved threshold. Those of Kaufmann & Koolen (2021) have log log N in place of
    ½·log N and larger constants; this one is smaller at the sizes of interest.

    Parameters
    ----------
    delta : float
        Allowed probability δ in (0, 1) of a wrong recommendation.
    leader_share : float
        Share β in (0, 1) of an arm's rounds as leader in which it is played.
    threshold : {"proved", "customary"}
        "proved" is `thresholds.mixture_threshold`, which is δ-correct. "customary" is the threshold
        common in experiments, log((1 + log t)/δ) after t pulls, which has no proof.

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
    threshold: Literal["proved", "customary"] = "proved"

    def _next_reward(self, rewards: Run, arm: int, rng: Rng) -> float:
        return rewards.total(arm, 1)


def kl(x: float, y: float) -> float:
    """Return the relative entropy of two Bernoulli distributions."""
    return float(d_eps_kernel(x, y, math.inf))
