"""DP-TT: Top Two on released batches, with costs that know privacy and its noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from dpbandits.configuration import Budget, Fraction, between, whole
from dpbandits.identification.batches import BatchedTopTwo, Rule
from dpbandits.identification.thresholds import RULES, pair_constant

__all__ = ["DPTT"]


@dataclass(frozen=True)
class DPTT(BatchedTopTwo):
    """DP-TT: Jourdan & Azize (2025), Algorithm 1, reconstructed.

    Arm a is released when its pulls reach ⌈(1 + η)^j⌉, j = 0, 1, …: the batch's sum of rewards plus
    one Lap(1/ε). Released batches add up: after k releases, μ̃_a is their sum over the n_a pulls.
    Leader is B = argmax μ̃, challenger the arm of least W̃_{B,a} + γ·log N_a at the pulls N so far,
    open batches included (`transport.calibrated_cost`, with r = k/n as of the release). After each
    release the rule stops and recommends ã = argmax μ̃ if W̃_{ã,b}, at the released counts, is above
    the threshold c(k_ã, k_b) for every b ≠ ã. Algorithm and proofs: :prf:ref:`alg-dptt`,
    :prf:ref:`thm-dptt-private`, :prf:ref:`thm-chernoff-correct`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed, and there is no noise then.
    delta : float
        Confidence δ in (0, 1).
    threshold : {"chernoff", "union"}
        `thresholds.chernoff_threshold`, log(1/δ) to leading order, or `thresholds.union_threshold`,
        2·log(1/δ), the order of the paper's. Both are δ-correct.
    eta : float
        Growth η of the grid of releases, from 0.001 to 1000.
    leader_share : float
        Share β in (0, 1) of the rounds in which the leader is played.
    costs : {"calibrated", "plain"}
        What the challenger has the least of: W̃, which knows the noise of the estimates, or W.
    exploration : float
        Factor γ ≥ 0 of log N_a in the challenger's cost.
    exponent : float
        Exponent s of the sums over releases in the thresholds, from 1.001 to 100.
    first : int
        Pulls of each arm before its first release, from 1 to 2^53: the grid is ⌈first·(1 + η)^j⌉.

    Notes
    -----
    The paper is known through its reviews only. Its costs are W, in the challenger and when it
    stops; calibrated costs, log N_a, the thresholds and `first` are ours. An unlucky early release
    can make the best arm look so bad that it is not played while two others are tied: with γ = 0 it
    may starve for ever, with W̃ beyond a time t with a probability of about t^−γ, so that a finite
    mean requires γ > 1 (:ref:`starvation`). Set `max_pulls` where starving is to be seen. At small
    ε early releases are nothing but noise; `first` of about 10/ε leaves them out.

    Examples
    --------
    >>> import numpy as np
    >>> import dpbandits as dpb
    >>> instance = dpb.instances.bernoulli([0.9, 0.1])
    >>> dpb.DPTT(epsilon=1.0, delta=0.1).draw(instance, np.random.default_rng(0)).recommendation
    0
    """

    label: ClassVar[str] = "DP-TT"
    source: ClassVar[str] = "JA25, Algorithm 1, reconstructed"

    epsilon: Budget
    delta: Fraction
    threshold: Literal["chernoff", "union"] = "chernoff"
    eta: Annotated[float, between(1e-3, 1e3)] = 1.0
    leader_share: Fraction = 0.5
    costs: Literal["calibrated", "plain"] = "calibrated"
    exploration: Annotated[float, between(0, 1e3)] = 2.0
    exponent: Annotated[float, between(1.001, 100)] = 1.3
    first: Annotated[int, whole(1, 2**53)] = 1

    def rule(self, n_arms: int) -> Rule:
        constant = pair_constant(self.threshold, self.delta, n_arms, self.exponent)
        threshold, calibrated = RULES.index(self.threshold), self.costs == "calibrated"
        return Rule(
            self.epsilon, self.delta, self.leader_share, False, threshold, constant, self.exponent,
            self.exploration, calibrated, eta=self.eta, first=self.first,
        )  # fmt: skip
