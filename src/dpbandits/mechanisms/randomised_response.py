"""Randomised response: a yes-or-no answer that is a lie with a known probability."""

from __future__ import annotations

import math

from dpbandits._arrays import Rng
from dpbandits.configuration import Budget, checked_arguments
from dpbandits.rewards.binomial import binomial_by_rejection

__all__ = ["lie_probability", "randomised_response"]


@checked_arguments
def lie_probability(epsilon: Budget) -> float:
    """Return 1/(1 + e^ε), the probability that a yes-or-no answer is flipped.

    The odds of the true answer against the other are e^ε, which makes it ε-private (Warner 1965).
    Proof: :prf:ref:`thm-one-bit`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` for the truth.

    Returns
    -------
    float
        The probability, below 1/2.

    Examples
    --------
    >>> round(lie_probability(1.0), 4), lie_probability(math.inf)
    (0.2689, 0.0)
    """
    return math.exp(-epsilon) / (1.0 + math.exp(-epsilon))


def randomised_response(rng: Rng, ones: int, answers: int, epsilon: float) -> int:
    """Flip each of some answers with probability 1/(1 + e^ε); return the number of yes.

    Binomial(ones, 1 − q) + Binomial(answers − ones, q) with q of `lie_probability`, drawn at once.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of the lies.
    ones : int
        Number of true yes answers, from 0 to `answers`.
    answers : int
        Number of answers, up to 2^62.
    epsilon : float
        Privacy budget ε > 0 of each answer; ``inf`` for the truth.

    Returns
    -------
    int
        Number of yes among the released answers.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> randomised_response(rng, 3, 10, math.inf), 0 <= randomised_response(rng, 3, 10, 1.0) <= 10
    (3, True)
    """
    lie = lie_probability(epsilon)
    denied, claimed = (binomial_by_rejection(rng, n, lie) for n in (ones, answers - ones))
    return int(ones - denied + claimed)
