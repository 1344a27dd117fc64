"""The fixed design: equal arms, one private count each at the end, choice of the largest."""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import Annotated, NamedTuple

from dpbandits._validation import shown
from dpbandits.bounds.selection import Supply, _beaten, _count_laws
from dpbandits.configuration import Budget, Fraction, checked_arguments, whole
from dpbandits.identification.base import check_unique_best_arm
from dpbandits.rewards.instances import BernoulliInstance
from dpbandits.rewards.populations import FinitePopulation

__all__ = ["FixedDesign", "fixed_design", "fixed_design_error"]

_MOST = 10**6  # most patients of an arm in the search


class FixedDesign(NamedTuple):
    """A design with equal arms and one count of each at the end, as found by `fixed_design`.

    Attributes
    ----------
    per_arm : int
        Patients of each arm.
    patients : int
        Patients of all arms.
    error : float
        Probability of a wrong recommendation.
    epsilon : float
        Privacy budget ε; ``inf`` without privacy.

    Examples
    --------
    >>> from dpbandits.rewards.instances import bernoulli
    >>> design = fixed_design(bernoulli([0.9, 0.5]), 0.05)
    >>> design.patients == 2 * design.per_arm, design.epsilon
    (True, inf)
    """

    per_arm: int
    patients: int
    error: float
    epsilon: float


@checked_arguments
def fixed_design_error(
    source: Supply, per_arm: Annotated[int, whole(1, _MOST)], epsilon: Budget = math.inf
) -> float:
    """Return the probability that the largest of the arms' private counts is not the best arm's.

    At the end each number of successes is released once, with one Lap(1/ε), and the arm with the
    largest is recommended. That is ε-private: treatments are assigned beforehand, and each outcome
    is in one count. Without noise ties are broken at random. The value is by quadrature between
    integers, to about 10 digits.

    Parameters
    ----------
    source : BernoulliInstance or FinitePopulation
        Source of the patients: independent ones of an instance, or a population without
        replacement.
    per_arm : int
        Patients of each arm, from 1 to 10^6, and at most the size of a population.
    epsilon : float
        Privacy budget ε > 0; ``inf`` for no noise.

    Returns
    -------
    float
        The probability.

    Raises
    ------
    ValueError
        If several arms are best.

    Examples
    --------
    >>> from dpbandits.rewards.instances import bernoulli
    >>> round(fixed_design_error(bernoulli([1.0, 0.5]), 3), 9)
    0.0625
    """
    if isinstance(source, BernoulliInstance):
        check_unique_best_arm(source)
    elif not isinstance(source, FinitePopulation):
        raise ValueError(
            f"source={shown(source)} has no patients; allowed: Bernoulli arms or a table of them"
        )
    laws = _count_laws(source, per_arm)
    return _beaten(laws.pop(source.best_arm), laws, epsilon)


@checked_arguments
def fixed_design(source: Supply, delta: Fraction, epsilon: Budget = math.inf) -> FixedDesign | None:
    """Return the smallest fixed design that errs with probability at most δ.

    With one patient fewer in each arm the error is larger than δ. The arms' shares must be known
    for the plan: for others its error may be larger than δ, unlike that of the δ-correct
    algorithms.

    Parameters
    ----------
    source : BernoulliInstance or FinitePopulation
        Source of the patients: independent ones of an instance, or a population without
        replacement.
    delta : float
        Probability δ of a wrong recommendation, in (0, 1).
    epsilon : float
        Privacy budget ε > 0; ``inf`` for no noise.

    Returns
    -------
    FixedDesign or None
        The design; None if an arm would need more patients than there are (10^6 of an instance).

    Raises
    ------
    ValueError
        If several arms are best.

    Examples
    --------
    >>> from dpbandits.rewards.instances import bernoulli
    >>> instance = bernoulli([0.9, 0.5])
    >>> design = fixed_design(instance, 0.05, epsilon=1.0)
    >>> design.error <= 0.05 < fixed_design_error(instance, design.per_arm - 1, 1.0)
    True
    """
    fixed_design_error(source, 1, epsilon)  # raises if it is not a source
    limit = min(source.sizes) if isinstance(source, FinitePopulation) else _MOST

    def suffices(per_arm: int) -> bool:
        return fixed_design_error(source, per_arm, epsilon) <= delta

    high = 1
    while not suffices(high):
        if high == limit:
            return None
        high = min(2 * high, limit)
    per_arm = bisect_left(range(high), True, lo=high // 2 + 1, key=suffices)
    error = fixed_design_error(source, per_arm, epsilon)
    return FixedDesign(per_arm, per_arm * source.n_arms, error, epsilon)
