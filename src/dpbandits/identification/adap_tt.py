"""AdaP-TT and AdaP-TT*: Top Two with private doubling batches, each estimate from one batch."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from dpbandits._arrays import Rng
from dpbandits.configuration import Fraction, Positive
from dpbandits.identification.batches import BatchedTopTwo
from dpbandits.identification.thresholds import Pair, gaussian_threshold, separate_threshold
from dpbandits.rewards.run import Run

__all__ = ["AdaPTT", "AdaPTTStar", "Doubling"]


class Doubling(BatchedTopTwo):
    """Base class of `AdaPTT` and `AdaPTTStar`, which differ in `cost` and `is_beaten`.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> issubclass(dpb.AdaPTT, Doubling), issubclass(dpb.AdaPTTStar, Doubling)
    (True, True)
    """

    leader_share: Fraction

    def decide(self, rewards: Run, rng: Rng) -> int:
        arms = range(rewards.n_arms)
        # the last batch of each arm: its estimate and size n; pulls N, open batches included
        means = [self.release(rewards.total(arm, 1), rng) for arm in arms]
        size, released, releases = [1 for _ in arms], [1 for _ in arms], [1 for _ in arms]
        pulls = rewards.pulls
        open_batch, led, own = [0.0 for _ in arms], [0 for _ in arms], [0 for _ in arms]
        while True:
            best = means.index(max(means))
            if all(
                self.is_beaten(
                    means[best] - means[a],
                    len(arms),
                    (releases[best], releases[a]),
                    (size[best], size[a]),
                )
                for a in arms
                if a != best
            ):
                return best
            log_time = math.log(sum(released))
            index = [
                mean + log_time / (self.epsilon * n) + math.sqrt(log_time / (2 * n))
                for mean, n in zip(means, size, strict=True)
            ]
            leader = index.index(max(index))
            others = [a for a in arms if a != leader]
            while True:
                led[leader] += 1
                if own[leader] < self.leader_share * led[leader]:
                    own[leader] += 1
                    arm = leader
                else:
                    arm = min(
                        others,
                        key=lambda a: self.cost(means[leader] - means[a], pulls[leader], pulls[a]),
                    )
                open_batch[arm] += rewards.total(arm, 1)
                if pulls[arm] == 2 * released[arm]:
                    break
            size[arm] = pulls[arm] - released[arm]
            means[arm] = self.release(open_batch[arm], rng) / size[arm]
            released[arm], releases[arm], open_batch[arm] = pulls[arm], releases[arm] + 1, 0.0

    @abc.abstractmethod
    def cost(self, gap: float, ahead: int, behind: int) -> float:
        """Return what the challenger has the least of.

        Parameters
        ----------
        gap : float
            μ̃_B − μ̃_a, by which the leader's estimate is larger; it may be negative.
        ahead, behind : int
            Pulls N_B of the leader and N_a of the other arm.

        Returns
        -------
        float
            The cost.
        """

    @abc.abstractmethod
    def is_beaten(self, gap: float, n_arms: int, releases: Pair, sizes: Pair) -> bool:
        """Return whether an arm is beaten by that with the largest estimate.

        Parameters
        ----------
        gap : float
            Difference of the two estimates, at least 0.
        n_arms : int
            Number K of arms.
        releases, sizes : tuple of (int, int)
            Numbers of releases of the better arm and of the other, and sizes of their last batches.

        Returns
        -------
        bool
            Whether the evidence is above its threshold.
        """


@dataclass(frozen=True)
class AdaPTT(Doubling):
    """AdaP-TT: Azize, Jourdan, Al Marjani & Basu (2023), with a choice of thresholds.

    An arm's batch ends when its pulls have doubled, and its estimate μ̃_a is the mean of the last
    batch, of size n_a, plus Lap(1/(ε·n_a)): earlier batches are forgotten. With T the pulls
    released so far, the leader B has the largest μ̃_a + log T/(ε·n_a) + √(log T/(2·n_a)), and the
    challenger has the least (μ̃_B − μ̃_a)/√(1/N_B + 1/N_a), N the pulls so far. The rule stops
    when, for ã = argmax μ̃ and every other arm, (μ̃_ã − μ̃_a)²/(2(1/n_ã + 1/n_a)) is above the
    threshold: `thresholds.gaussian_threshold`. Proof: :prf:ref:`prop-adap`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0, finite.
    delta : float
        Allowed probability δ in (0, 1) of a wrong recommendation.
    threshold : {"theoretical", "separate", "heuristic", "published"}
        "theoretical" is δ-correct. "published" and "heuristic" are those of the authors' code,
        which uses the latter; neither has a proof. "separate" is ours and δ-correct: it compares
        the gap itself with `thresholds.separate_threshold`, as `AdaPTTStar` does.
    leader_share : float
        Share β in (0, 1) of an arm's rounds as leader in which it is played.

    Notes
    -----
    Deviations from the authors' code: there the leader is played with probability β; here its share
    is tracked, without randomness. There the cost has a bonus 1/(1 + √T) on the gap; here it has
    none. There the rule stops for the leader; here for the arm with the largest estimate. There the
    stopping time leaves out the pulls of open batches; here it includes them. Their union bound
    leaves out the pairs of phases.

    Examples
    --------
    >>> import numpy as np
    >>> import dpbandits as dpb
    >>> instance = dpb.instances.bernoulli([0.9, 0.1])
    >>> dpb.AdaPTT(epsilon=1.0, delta=0.1).draw(instance, np.random.default_rng(0)).recommendation
    0
    """

    label: ClassVar[str] = "AdaP-TT"
    source: ClassVar[str] = "AJAB23"

    epsilon: Positive
    delta: Fraction
    threshold: Literal["theoretical", "separate", "heuristic", "published"] = "theoretical"
    leader_share: Fraction = 0.5

    @property
    def is_correct(self) -> bool:
        return self.threshold in ("theoretical", "separate")

    def cost(self, gap: float, ahead: int, behind: int) -> float:
        return gap / math.sqrt(1 / ahead + 1 / behind)

    def is_beaten(self, gap: float, n_arms: int, releases: Pair, sizes: Pair) -> bool:
        setting = self.delta, self.epsilon, n_arms, releases, sizes
        if self.threshold == "separate":
            return gap > separate_threshold(*setting)
        return 0.5 * gap**2 / (1 / sizes[0] + 1 / sizes[1]) > gaussian_threshold(
            self.threshold, *setting
        )


@dataclass(frozen=True)
class AdaPTTStar(Doubling):
    """AdaP-TT*: AdaP-TT with a cost that adapts to ε, reconstructed.

    The challenger has the least min(2g²/(1/N_B + 1/N_a), ε·g·min(N_B, N_a)) with g = μ̃_B − μ̃_a:
    the costs of swapping the two arms without privacy (for rewards in [0, 1]) and at small ε. The
    rule stops when, for ã = argmax μ̃ and every other arm, μ̃_ã − μ̃_a is above
    `thresholds.separate_threshold`, which is δ-correct. Leaders, batches and releases are those of
    `AdaPTT`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0, finite.
    delta : float
        Allowed probability δ in (0, 1) of a wrong recommendation.
    leader_share : float
        Share β in (0, 1) of an arm's rounds as leader in which it is played.

    Notes
    -----
    The paper's own costs and threshold could not be read: both are ours. Comparing the gap itself
    with the two deviations in it is stronger than comparing the cost with a threshold.

    Examples
    --------
    >>> import numpy as np
    >>> import dpbandits as dpb
    >>> instance = dpb.instances.bernoulli([0.9, 0.1])
    >>> algorithm = dpb.AdaPTTStar(epsilon=1.0, delta=0.1)
    >>> algorithm.draw(instance, np.random.default_rng(0)).recommendation
    0
    """

    label: ClassVar[str] = "AdaP-TT*"
    source: ClassVar[str] = "AJAB23, reconstructed"

    epsilon: Positive
    delta: Fraction
    leader_share: Fraction = 0.5

    def cost(self, gap: float, ahead: int, behind: int) -> float:
        free = 2 * gap * abs(gap) / (1 / ahead + 1 / behind)
        return min(free, self.epsilon * gap * min(ahead, behind))

    def is_beaten(self, gap: float, n_arms: int, releases: Pair, sizes: Pair) -> bool:
        return gap > separate_threshold(self.delta, self.epsilon, n_arms, releases, sizes)
