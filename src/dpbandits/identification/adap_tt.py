"""AdaP-TT and AdaP-TT*: Top Two with doubling batches of which all but the last are forgotten."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from dpbandits.configuration import Fraction, Positive
from dpbandits.identification.batches import BatchedTopTwo, Rule
from dpbandits.identification.thresholds import RULES

__all__ = ["AdaPTT", "AdaPTTStar"]


@dataclass(frozen=True)
class AdaPTT(BatchedTopTwo):
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
        Privacy budget ε > 0.
    delta : float
        Confidence δ in (0, 1).
    threshold : {"theoretical", "separate", "heuristic", "published"}
        "theoretical" is δ-correct. "published" and "heuristic" are what the authors' code holds,
        the second of them in use there, and nothing is proved for them. "separate" is ours and
        δ-correct: the gap itself against `thresholds.separate_threshold`, as in `AdaPTTStar`.
    leader_share : float
        Share β in (0, 1) of the rounds in which the leader is played.

    Notes
    -----
    Deviations from the authors' code. There the leader is played with probability β; here its
    share is tracked, without randomness. There the cost has a bonus 1/(1 + √T) on the gap; here it
    has none. There the rule stops for the leader; here for the arm with the largest estimate.
    There the stopping time leaves out the pulls of open batches; here it counts them. The
    threshold that is proved takes both phase indices into the union; the authors' takes a single
    one, here the larger of the two, and its union leaves out the pairs of phases.

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

    def rule(self, n_arms: int) -> Rule:
        threshold = RULES.index(self.threshold)
        return Rule(self.epsilon, self.delta, self.leader_share, True, threshold)


@dataclass(frozen=True)
class AdaPTTStar(BatchedTopTwo):
    """AdaP-TT*: AdaP-TT with a cost that adapts to ε, reconstructed.

    The challenger has the least min(2g²/(1/N_B + 1/N_a), ε·g·min(N_B, N_a)) with g = μ̃_B − μ̃_a,
    what the two costs of changing the order are without privacy (of [0, 1]-valued rewards) and at
    small ε. The rule stops when, for ã = argmax μ̃ and every other arm, μ̃_ã − μ̃_a is above
    `thresholds.separate_threshold`, which is δ-correct. All else is as in `AdaPTT`.

    Parameters
    ----------
    epsilon, delta, leader_share : float
        As of `AdaPTT`.

    Notes
    -----
    The paper's own costs and threshold could not be read: both are ours. A stopping rule that
    compares the cost with a threshold is weaker than one that compares the gap itself with the
    two deviations that make it up, so that the latter is used.
    """

    label: ClassVar[str] = "AdaP-TT*"
    source: ClassVar[str] = "AJAB23, reconstructed"

    epsilon: Positive
    delta: Fraction
    leader_share: Fraction = 0.5

    def rule(self, n_arms: int) -> Rule:
        threshold = RULES.index("separate")
        return Rule(
            self.epsilon, self.delta, self.leader_share, True, threshold, cost_epsilon=self.epsilon
        )
