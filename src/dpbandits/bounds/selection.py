"""The distribution of the arm with the largest private count: computed, not bounded."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from dpbandits._arrays import Floats
from dpbandits._validation import check_integer
from dpbandits.configuration import Budget, checked_arguments, whole
from dpbandits.rewards.instances import BernoulliInstance
from dpbandits.rewards.populations import FinitePopulation

__all__ = ["selection_probabilities"]

_NODES = 8  # of Gauss–Legendre quadrature, between two integers, at small ε
_FELT = 80.0  # at larger ε noise only breaks ties: it exceeds ½ with probability e^-40
_NEGLIGIBLE = 1e-20  # probability of a count
_TAIL = 40.0  # e^-40 of a Laplace variable lies beyond so many scales
_MOST = 10**6  # patients of an arm

Supply = BernoulliInstance | FinitePopulation


@checked_arguments
def selection_probabilities(
    source: Supply, per_arm: Annotated[int, whole(1, _MOST)], epsilon: Budget = math.inf
) -> Floats:
    """Return each arm's probability of having the largest private count.

    Each arm is given to `per_arm` patients, and each count of successes gets Laplace noise of scale
    1/ε; ties without noise are broken at random. Several arms may be best.

    Shapes: the result (K,).
    """
    laws = _count_laws(source, per_arm)
    found: dict[bytes, float] = {}  # arms of equal distribution have equal probability
    for a, law in enumerate(laws):
        if law.tobytes() not in found:
            others = [*laws[:a], *laws[a + 1 :]]
            found[law.tobytes()] = 1.0 - _beaten(law, others, epsilon)
    return np.array([found[law.tobytes()] for law in laws])


def _count_laws(source: Supply, per_arm: int) -> list[Floats]:
    """Return for each arm the distribution of its successes, on 0 … per_arm."""
    from scipy import stats  # slow to import, used only here

    counts = np.arange(per_arm + 1)
    if isinstance(source, FinitePopulation):
        per_arm = check_integer("per_arm", per_arm, 1, min(source.sizes))
        arms = zip(source.sizes, source.successes, strict=True)
        return [stats.hypergeom.pmf(counts, n, s, per_arm) for n, s in arms]
    return [stats.binom.pmf(counts, per_arm, mean) for mean in source.means.tolist()]


def _beaten(law: Floats, others: list[Floats], epsilon: float) -> float:
    """Return the probability that the count of the first distribution is not the largest."""
    wrong = _wrong_if_noisy if epsilon <= _FELT else _wrong_if_tied
    return float(np.clip(wrong(law, others, epsilon), 0.0, 1.0))


def _wrong_if_tied(best: Floats, others: list[Floats], _: float) -> float:
    # ∫ Π (P(below) + x·P(tied)) dx over [0, 1] is the mean of 1/(1 + number tied)
    nodes, weights = np.polynomial.legendre.leggauss(_NODES + len(others) + 1)
    x = 0.5 * (nodes + 1.0)
    product: Floats = np.ones((1, nodes.size))
    for law in others:
        below = np.concatenate([[0.0], np.cumsum(law)[:-1]])
        product = product * (below[:, None] + law[:, None] * x)
    return float(1.0 - best @ (product @ (0.5 * weights)))


def _wrong_if_noisy(best: Floats, others: list[Floats], epsilon: float) -> float:
    from scipy import signal  # slow to import, used only here

    # between integers the distribution function of count plus noise is a sum of exponentials
    nodes, weights = np.polynomial.legendre.leggauss(_NODES + 3 * math.ceil(epsilon))
    pad = math.ceil(_TAIL / epsilon)
    rise = np.exp(epsilon * 0.5 * (nodes + 1.0))
    fade = math.exp(-epsilon)
    known = np.flatnonzero(best > _NEGLIGIBLE)
    kept = slice(int(known[0]), int(known[-1]) + 2 * pad + 1)  # where the best count may be

    def parts(law: Floats) -> tuple[Floats, Floats, Floats]:
        mass = np.concatenate([np.zeros(pad), law, np.zeros(pad)])
        low = signal.lfilter([1.0], [1.0, -fade], mass)  # Σ_{s ≤ j} p(s)·e^(−ε(j − s))
        above = signal.lfilter([1.0], [1.0, -fade], mass[::-1])[::-1]  # the same for s ≥ j
        high = fade * np.append(above[1:], 0.0)  # and for s > j
        return np.cumsum(mass)[kept, None], low[kept, None] / rise, high[kept, None] * rise

    product: Floats = np.ones((1, nodes.size))
    for law in others:
        whole, falling, rising = parts(law)
        product = product * (whole - 0.5 * falling + 0.5 * rising)
    _, falling, rising = parts(best)
    density = 0.5 * epsilon * (falling + rising)
    return float(1.0 - ((density * product) @ (0.5 * weights)).sum())
