"""CTB-TT: Top Two on reports in which each patient lies with a known probability; local privacy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from dpbandits._arrays import Rng
from dpbandits.configuration import Budget, Fraction
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.identification.top_two import EmpiricalTopTwo
from dpbandits.mechanisms.randomised_response import randomised_report
from dpbandits.rewards.run import Run

__all__ = ["CTBTT"]


@dataclass(frozen=True)
class CTBTT(EmpiricalTopTwo):
    """CTB-TT: Top Two on randomised responses, after Azize, Jourdan, Al Marjani & Basu (2024).

    Each patient reports a reward x in [0, 1] as 1 with probability q + (1 − 2q)x and otherwise as
    0, where q = 1/(1 + e^ε): a 0 or 1 is told truthfully with odds e^ε. The reports alone are seen,
    by the rule of `TopTwo`. So the model is local: nobody needs to be trusted. Reports of Bernoulli
    arms are Bernoulli, with means in the same order, so that the threshold of `TopTwo` is δ-correct
    for them. Proof: :prf:ref:`prop-ctb`.

    Deviation: we have read the paper's abstract alone; leader, challenger and threshold are those
    of `TopTwo`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0 of each report; ``inf`` reports 0 and 1 as they are.
    delta : float
        Allowed probability δ in (0, 1) of a wrong recommendation.
    leader_share : float
        Share β in (0, 1) of an arm's rounds as leader in which it is played.
    threshold : {"proved", "customary"}
        As for `TopTwo`.

    Examples
    --------
    >>> import numpy as np
    >>> import dpbandits as dpb
    >>> rule = dpb.CTBTT(epsilon=1.0, delta=0.1)
    >>> rule.guarantee.model
    'local'
    >>> instance = dpb.instances.bernoulli([0.9, 0.1])
    >>> rule.draw(instance, np.random.default_rng(0)).recommendation
    0
    """

    label: ClassVar[str] = "CTB-TT"
    source: ClassVar[str] = "after AJAB24"

    epsilon: Budget
    delta: Fraction
    leader_share: Fraction = 0.5
    threshold: Literal["proved", "customary"] = "proved"

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Pure ε-differential privacy of each report, and so of all that follows from them."""
        return PrivacyGuarantee("local", self.epsilon)

    def _next_reward(self, rewards: Run, arm: int, rng: Rng) -> float:
        return randomised_report(rng, rewards.total(arm, 1), self.epsilon)
