"""Top Two without privacy: what the private algorithms are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpbandits._validation import check_fraction, check_generator, check_integer
from dpbandits.divergence_kernels import kl_kernel
from dpbandits.identification.base import (
    DEFAULT_MAX_PULLS,
    MOST_PULLS,
    IdentificationAlgorithm,
    Verdict,
    check_run,
    check_unique_best_arm,
)
from dpbandits.identification.thresholds import mixture_threshold
from dpbandits.rewards.binomial import binomial
from dpbandits.rewards.instances import BernoulliInstance
from dpbandits.rewards.streams import Rewards

__all__ = ["TopTwo", "next_decision"]


@njit(cache=True, nogil=True)
def next_decision(
    sums: NDArray[np.int64],
    pulls: NDArray[np.int64],
    led: NDArray[np.int64],
    own: NDArray[np.int64],
    share: float,
    delta: float,
) -> tuple[bool, int]:
    """Return (True, arm to recommend) or (False, arm to play), and count the round.

    With μ̂ the empirical means, the leader B = argmax μ̂ and W_a = N_B·kl(μ̂_B, u) + N_a·kl(μ̂_a, u)
    for the common mean u of both arms' rewards, the rule stops when every W_a is above its
    threshold; else it plays B or the challenger argmin W_a + log N_a. Ties: lowest arm number.
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
            cost = ahead * kl_kernel(top, common) + n * kl_kernel(mean, common)
        stops = stops and cost > mixture_threshold(delta, n_arms, ahead, n)
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


@njit(cache=True, nogil=True)
def _draw(
    means: NDArray[np.float64],
    rng: np.random.Generator,
    share: float,
    delta: float,
    max_pulls: int,
) -> tuple[int, NDArray[np.int64]]:
    """Run on Bernoulli rewards, drawn as `DrawnRewards` does: recommendation and pulls."""
    n_arms = means.size
    sums, pulls = np.zeros(n_arms, np.int64), np.zeros(n_arms, np.int64)
    led, own = np.zeros(n_arms, np.int64), np.zeros(n_arms, np.int64)
    for t in range(max_pulls):
        stops, arm = False, t
        if t >= n_arms:
            stops, arm = next_decision(sums, pulls, led, own, share, delta)
        if stops:
            return arm, pulls
        pulls[arm] += 1
        sums[arm] += binomial(rng, 1, means[arm])
    stops, arm = next_decision(sums, pulls, led, own, share, delta)
    return arm if stops else -1, pulls


@dataclass(frozen=True)
class TopTwo(IdentificationAlgorithm):
    """Top Two without privacy: empirical best leader, challenger by transportation cost.

    One pull of each arm; then, before every pull, the leader B has the largest empirical mean μ̂,
    and the challenger the least W_{B,a} + log N_a, where W_{B,a} = N_B·kl(μ̂_B, u) + N_a·kl(μ̂_a, u)
    is what it costs that both arms have one mean u (the "EB-TCI" rule of Jourdan et al. 2022).
    The leader is played in the share β of the rounds in which it leads. The rule stops, also
    before every pull, when W_{ã,b} > log((K−1)/δ) + ½·log(4N_ã) + ½·log(4N_b) for ã = argmax μ̂ and
    every b ≠ ã: `thresholds.mixture_threshold`, which is δ-correct.

    Parameters
    ----------
    delta : float
        Confidence δ in (0, 1).
    leader_share : float
        Share β in (0, 1) of the rounds in which the leader is played.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    Deviation: the threshold. Those of Kaufmann & Koolen (2021) have log log N in place of ½·log N
    and greater constants; this one is proved in a few lines and smaller at the sizes of interest.
    `draw` runs compiled, and equals `decide` on the same generator.

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

    delta: float
    leader_share: float = 0.5

    def __post_init__(self) -> None:
        self._check()
        share = check_fraction("leader_share", self.leader_share)
        object.__setattr__(self, "leader_share", share)

    def decide(self, rewards: Rewards, rng: np.random.Generator, max_pulls: int) -> Verdict:
        """Run once; see `IdentificationAlgorithm.decide`. The generator is not used."""
        max_pulls = check_run(rewards, rng, max_pulls)
        n_arms = rewards.n_arms
        sums, pulls, led, own = (np.zeros(n_arms, dtype=np.int64) for _ in range(4))
        t = 0
        while True:
            stops, arm = False, t
            if t >= n_arms:
                stops, arm = next_decision(sums, pulls, led, own, self.leader_share, self.delta)
            if stops:
                return Verdict(int(arm), pulls)
            if t == max_pulls:
                return Verdict(-1, pulls)
            pulls[arm] += 1
            sums[arm] += rewards.total(int(arm), 1)
            t += 1

    def draw(
        self,
        instance: BernoulliInstance,
        rng: np.random.Generator,
        max_pulls: int = DEFAULT_MAX_PULLS,
    ) -> Verdict:
        """Run once on rewards drawn from an instance; see `IdentificationAlgorithm.draw`."""
        instance = check_unique_best_arm(instance)
        check_generator("rng", rng)
        max_pulls = check_integer("max_pulls", max_pulls, instance.n_arms, MOST_PULLS)
        arm, pulls = _draw(instance.means, rng, self.leader_share, self.delta, max_pulls)
        return Verdict(int(arm), pulls)
