"""Lines below which the running sum of rewards that are not negative does not fall.

**Lemma.** Let X_1, X_2, … ≥ 0 be independent rewards of one law and S_r the sum of the first r,
each counted as 0 beyond a bound of its own, at least B. For ℓ, λ > 0 and
k = −log(E e^(−λX) + P(X > B)), with probability at least 1 − e^−ℓ

    S_r ≥ (k·r − ℓ)/λ    for all r at once.

*Proof.* A reward that counts as 0 has e^(−λ·0) = 1 ≤ e^(−λX) + 1{X > B}, one that counts has
e^(−λX), so that exp(k·r − λS_r) is a non-negative supermartingale that starts at 1. By Ville's
inequality it ever exceeds e^ℓ with probability at most e^−ℓ. ∎

There is no price for heavy tails: a large reward only lifts the sum. With q = E e^(−λX) < 1,
k ≥ −log q − P(X > B)/q.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpbandits.rewards.heavy_laws import PARETO, HeavyCode

__all__ = ["LINE_ERROR", "lower_lines"]

LINE_ERROR = 1e-16
"""e^−ℓ: the probability that a sum ever falls below its line, at most."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_STEPS = 160
_ROUNDING = 1e-10  # part by which k is lowered, more than the error of the quadrature


@lru_cache(maxsize=256)
def lower_lines(code: HeavyCode) -> NDArray[np.float64]:
    """Return, for each of 40 values of λ, the numbers ℓ/λ, −log(q)/λ and 1/(qλ) of the lemma.

    Parameters
    ----------
    code : tuple of (int, float, float)
        The law of a reward.

    Returns
    -------
    numpy.ndarray of float, shape (40, 3)
        Read-only, by increasing ℓ/λ: from 9 times the smallest positive reward on.

    Examples
    --------
    >>> lines = lower_lines((0, 1.95, 1.0))  # mean 2.05
    >>> lines.shape, lines[[0, 10, 30], 1].round(2).tolist()
    ((40, 3), [1.3, 1.84, 2.05])
    """
    kind, first, second = code
    smallest = second if kind == PARETO else first
    lines = []
    for i in range(40):
        rate = 4.0 * 2.0 ** (-i / 2)
        if kind == PARETO:
            lost = _pareto_loss(first, rate)
        else:
            lost = -second * math.expm1(-rate)
        lost = min(lost, 1 - 1e-9) * (1 - _ROUNDING)
        rate /= smallest
        lines.append(
            (-math.log(LINE_ERROR) / rate, -math.log1p(-lost) / rate, 1 / rate / (1 - lost))
        )
    array = np.array(lines)
    array.setflags(write=False)
    return array


def _pareto_loss(shape: float, rate: float) -> float:
    """Return 1 − E exp(−λX) for the smallest reward 1, from X = exp(Y/s), Y exponential.

    By Gauss's quadrature in Y, up to 48; what lies beyond is below 10^−20 and left out.
    """
    half = 24.0 / _STEPS
    terms = []
    for step in range(_STEPS):
        for node, weight in zip(_NODES.tolist(), _WEIGHTS.tolist(), strict=True):
            y = half * (2 * step + 1 + node)
            reward = math.exp(min(y / shape, 300.0))
            terms.append(half * weight * math.exp(-y) * -math.expm1(-rate * reward))
    return math.fsum(terms)
