"""DP-TT: Top Two with cumulated private batches (Jourdan & Azize 2025, reconstructed)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

from dpbandits._arrays import Rng
from dpbandits.configuration import Budget, Fraction, between, whole
from dpbandits.identification.batches import BatchedTopTwo
from dpbandits.identification.characteristic import adapted_share
from dpbandits.identification.thresholds import chernoff_threshold, union_threshold
from dpbandits.identification.transport import calibrated_cost_kernel
from dpbandits.rewards.run import Run
from dpbandits.rewards.tables import Tables
from dpbandits.schedules import next_release

__all__ = ["DPTT"]

Pulls = Sequence[int]


@dataclass(frozen=True)
class DPTT(BatchedTopTwo):
    """DP-TT: Jourdan & Azize (2025), Algorithm 1, reconstructed.

    Arm a is released when its pulls reach ⌈(1 + η)^j⌉, j = 0, 1, …: the batch's sum of rewards plus
    one Lap(1/ε). Released batches are cumulated: after k releases, μ̃_a is their sum divided by the
    n_a pulls. The leader is B = argmax μ̃, and the challenger the arm of least W̃_{B,a} + γ·log N_a
    at the pulls N so far, open batches included (`transport.calibrated_cost`, with r = k/n as of
    the release). After each release the rule stops and recommends ã = argmax μ̃ if W̃_{ã,b}, at the
    released counts, is above the threshold c(k_ã, k_b) for every b ≠ ã. Algorithm and proofs:
    :prf:ref:`alg-dptt`,
    :prf:ref:`thm-dptt-private`, :prf:ref:`thm-chernoff-correct`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf``: no noise.
    delta : float
        Allowed probability δ in (0, 1) of a wrong recommendation.
    threshold : {"chernoff", "union"}
        `thresholds.chernoff_threshold`, log(1/δ) to leading order, or `thresholds.union_threshold`,
        2·log(1/δ), the order of the paper's. Both are δ-correct.
    eta : float
        Growth η of the grid of releases, from 0.001 to 1000.
    leader_share : float, optional
        Share β in (0, 1) of an arm's rounds as leader in which it is played; None: at each release,
        the optimal share for the released estimates (`adapted_share`).
    costs : {"calibrated", "plain"}
        Cost that selects the challenger: W̃, which accounts for the noise of the estimates, or W.
    exploration : float
        γ from 0 to 1000, the weight of log N_a.
    exponent : float
        Exponent s of the sums over releases in the thresholds, from 1.001 to 100.
    first : int, optional
        Pulls of each arm before its first release, from 1 to 2^53: the grid is ⌈first·(1 + η)^j⌉.
        None is ⌈10/ε⌉, and 1 for ε = ∞: the sum of fewer pulls would be dominated by the noise.

    Notes
    -----
    We know the paper only through its reviews. Its costs are W, for the challenger and for
    stopping; calibrated costs, log N_a, the thresholds, `first` and the adapted share are ours. An
    unlucky early release can make the best arm look so bad that it is not played while two others
    are tied: with γ = 0 it may starve forever, and with W̃ beyond a time t with probability about
    t^−γ, so that a finite mean requires γ > 1 (:ref:`starvation`). Set `max_pulls` to observe
    starvation. The grid of the paper has `first` = 1.

    Examples
    --------
    >>> import numpy as np
    >>> import dpbandits as dpb
    >>> instance = dpb.instances.bernoulli([0.9, 0.1])
    >>> dpb.DPTT(epsilon=1.0, delta=0.1).draw(instance, np.random.default_rng(0)).recommendation
    0
    >>> dpb.DPTT(epsilon=0.3, delta=0.1).first_batch
    34
    """

    label: ClassVar[str] = "DP-TT"
    source: ClassVar[str] = "JA25, Algorithm 1, reconstructed"

    epsilon: Budget
    delta: Fraction
    threshold: Literal["chernoff", "union"] = "chernoff"
    eta: Annotated[float, between(1e-3, 1e3)] = 1.0
    leader_share: Fraction | None = 0.5
    costs: Literal["calibrated", "plain"] = "calibrated"
    exploration: Annotated[float, between(0, 1e3)] = 2.0
    exponent: Annotated[float, between(1.001, 100)] = 1.3
    first: Annotated[int, whole(1, 2**53)] | None = None

    @property
    def first_batch(self) -> int:
        """Number of pulls of each arm before its first release; `first`, or ⌈10/ε⌉."""
        if self.first is not None:
            return self.first
        return min(max(math.ceil(10.0 / self.epsilon), 1), 2**53)

    def decide(self, rewards: Run, rng: Rng) -> int:
        arms, first = range(rewards.n_arms), self.first_batch
        # for each arm: released sum, pulls n up to the last release, releases k; pulls N so far
        sums = [self.release(rewards.total(arm, first), rng) for arm in arms]
        released, releases, pulls = [first for _ in arms], [1 for _ in arms], rewards.pulls
        following = [next_release(first, self.eta, first) for _ in arms]
        open_batch, led, own = [0.0 for _ in arms], [0 for _ in arms], [0 for _ in arms]
        while True:
            means = [s / n for s, n in zip(sums, released, strict=True)]
            noise = [k / n for k, n in zip(releases, released, strict=True)]
            leader = means.index(max(means))
            others = [a for a in arms if a != leader]
            if all(
                self.cost(means, noise, released, leader, a)
                > self.least_cost(len(arms), releases[leader], releases[a])
                for a in others
            ):
                return leader
            known = noise if self.costs == "calibrated" else [0.0 for _ in arms]
            share = self.leader_share or adapted_share(means, self.epsilon)
            while True:
                led[leader] += 1
                if own[leader] < share * led[leader]:
                    own[leader] += 1
                    arm = leader
                else:
                    arm = min(
                        others,
                        key=lambda a: (
                            self.cost(means, known, pulls, leader, a)
                            + self.exploration * math.log(pulls[a])
                        ),
                    )
                open_batch[arm] += rewards.total(arm, 1)
                if pulls[arm] == following[arm]:
                    break
            sums[arm] += self.release(open_batch[arm], rng)
            released[arm], releases[arm], open_batch[arm] = pulls[arm], releases[arm] + 1, 0.0
            following[arm] = next_release(pulls[arm], self.eta, first)

    @property
    def tables(self) -> Tables:
        """Tables on which it can be audited: the first decision comes after K first batches."""
        tables = super().tables
        return replace(tables, least=tables.n_arms * self.first_batch + 1)

    def cost(
        self, means: Sequence[float], ratios: Sequence[float], pulls: Pulls, leader: int, arm: int
    ) -> float:
        """Return W̃ of the leader and another arm: the cost of swapping the order of their means.

        Parameters
        ----------
        means : sequence of float, length K
            Estimates μ̃ of the means.
        ratios : sequence of float, length K
            Laplace variables per reward in each; zeros give W.
        pulls : sequence of int, length K
            The weights: numbers of pulls.
        leader, arm : int
            The two arms.

        Returns
        -------
        float
            The cost, in nats.

        Examples
        --------
        >>> import dpbandits as dpb
        >>> round(dpb.DPTT(1.0, 0.1).cost([0.9, 0.5], [0.1, 0.1], [10, 20], 0, 1), 4)
        1.1634
        """
        a, b = leader, arm
        weights = float(pulls[a]), float(pulls[b])
        found = calibrated_cost_kernel(
            means[a], means[b], *weights, ratios[a], ratios[b], self.epsilon
        )
        return float(found[0])

    def least_cost(self, n_arms: int, first: int, second: int) -> float:
        """Return the threshold c(k, k′) that costs must exceed for the rule to stop.

        Parameters
        ----------
        n_arms : int
            Number K of arms.
        first, second : int
            Numbers k and k′ of releases of the two arms.

        Returns
        -------
        float
            The threshold, in nats.

        Raises
        ------
        ValueError
            If an argument is out of its range.
        """
        chosen = chernoff_threshold if self.threshold == "chernoff" else union_threshold
        return chosen(self.delta, n_arms, first, second, self.exponent)
