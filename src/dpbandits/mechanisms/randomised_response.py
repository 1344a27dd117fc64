"""Randomised response: a yes-or-no answer that is a lie with a known probability."""

from __future__ import annotations

import math

from dpbandits._arrays import Rng
from dpbandits.configuration import Budget, checked_arguments
from dpbandits.rewards.binomial import binomial_by_rejection

__all__ = ["lie_probability", "randomised_report", "randomised_response"]


@checked_arguments
def lie_probability(epsilon: Budget) -> float:
    """Return 1/(1 + e^ε), the probability that a yes-or-no answer is flipped.

    The odds of the true answer against the other are e^ε, which makes it ε-private (Warner 1965).
    Proof: :prf:ref:`thm-one-bit`.
    """
    return math.exp(-epsilon) / (1.0 + math.exp(-epsilon))


def randomised_response(rng: Rng, ones: int, answers: int, epsilon: float) -> int:
    """Flip each of some answers with probability 1/(1 + e^ε); return the number of yes.

    Binomial(ones, 1 − q) + Binomial(answers − ones, q) with q of `lie_probability`, drawn at once.
    """
    lie = lie_probability(epsilon)
    denied, claimed = (binomial_by_rejection(rng, n, lie) for n in (ones, answers - ones))
    return int(ones - denied + claimed)


def randomised_report(rng: Rng, reward: float, epsilon: float) -> int:
    """Report a reward x in [0, 1] as 1 with probability q + (1 − 2q)x, with q of `lie_probability`.

    Proof: :prf:ref:`prop-ctb`.
    """
    lie = lie_probability(epsilon)
    return int(rng.random() < lie + (1.0 - 2.0 * lie) * reward)
