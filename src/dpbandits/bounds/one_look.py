"""Expected regret of one private look and commitment to one arm: computed, not bounded."""

from __future__ import annotations

import itertools
import math
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from dpbandits._arrays import Floats
from dpbandits.bounds.regret import check_arms, check_times
from dpbandits.bounds.selection import selection_probabilities
from dpbandits.configuration import Budget, Positive, checked_arguments, whole
from dpbandits.rewards.instances import bernoulli

__all__ = ["best_look", "explore_then_commit_regret"]

_RATIO = 1.1  # of the grid for the size of a look
_MOST = 10**6
_PerArm = Annotated[int, whole(1, _MOST)]


@checked_arguments
def explore_then_commit_regret(
    means: ArrayLike,
    horizon: Positive,
    *,
    epsilon: Budget,
    per_arm: _PerArm,
    times: ArrayLike | None = None,
) -> float | Floats:
    """Return the expected pseudo-regret of `ExploreThenCommit` on Bernoulli arms.

    Σ_a Δ_a·(n + (t − Kn)·P(a's released sum is the largest)) once t ≥ Kn, exact up to quadrature
    over the Laplace noise. Proof: :prf:ref:`prop-etc`.

    Parameters
    ----------
    means : array_like of float, shape (K,)
        Means of the arms, in [0, 1].
    horizon : float
        Horizon T > 0.
    epsilon : float
        Privacy budget ε > 0; ``inf`` for no noise.
    per_arm : int
        Pulls n of each arm before the look, from 1 to 10^6.
    times : array_like of float, optional
        Times t ≤ T at which to evaluate the regret; by default T.

    Returns
    -------
    float or numpy.ndarray of float
        The regret, in units of reward, of the shape of `times`.

    Examples
    --------
    >>> round(float(explore_then_commit_regret([0.6, 0.75], 1000, epsilon=1.0, per_arm=50)), 2)
    16.76
    """
    mu = check_arms("means", means)
    gaps = mu.max() - mu
    wanted = np.asarray(check_times(horizon, times), dtype=np.float64)
    explored = mu.size * per_arm
    turns, rest = np.divmod(np.minimum(wanted, explored), mu.size)
    cost_in_turn = np.concatenate([[0.0], np.cumsum(gaps)])
    result = turns * gaps.sum() + np.interp(rest, np.arange(mu.size + 1), cost_in_turn)
    later = np.maximum(wanted - explored, 0.0)
    if later.any() and gaps.any():
        instance = bernoulli(mu.tolist())
        chosen = selection_probabilities(instance, per_arm, epsilon)
        result = result + later * float(chosen @ gaps)
    return np.asarray(result, dtype=np.float64)[()]


@checked_arguments
def best_look(means: ArrayLike, horizon: Positive, *, epsilon: Budget) -> int:
    """Return the n that minimises `explore_then_commit_regret`, within the search below.

    The search tries every n of a grid of ratio 1.1, and then bisects between the neighbours of the
    best.

    Parameters
    ----------
    means : array_like of float, shape (K,)
        Means of the arms, in [0, 1].
    horizon : float
        Horizon T ≥ K.
    epsilon : float
        Privacy budget ε > 0; ``inf`` for no noise.

    Returns
    -------
    int
        Pulls n of each arm before the look, at most 10^6.

    Examples
    --------
    >>> best_look([0.6, 0.75], 1000, epsilon=1.0)
    71
    """
    mu = check_arms("means", means)
    if horizon < mu.size:
        raise ValueError(f"horizon={horizon!r} is out of range; allowed: at least {mu.size}")
    each = float((mu.max() - mu).sum())  # cost of one more pull of each arm
    most = max(min(int(horizon // mu.size), _MOST), 1)
    known: dict[int, float] = {}

    def regret(n: int) -> float:
        if n not in known:
            value = explore_then_commit_regret(mu, horizon, epsilon=epsilon, per_arm=n)
            known[n] = float(value)
        return known[n]

    if each == 0.0:
        return 1
    n, best = 1, 1
    for step in itertools.count():
        n = min(max(n + 1, math.ceil(_RATIO**step)), most) if step else 1
        if n * each >= regret(best) and step:
            break  # exploration alone costs more
        best = min(best, n, key=regret)
        if n == most:
            break
    low = max((m for m in known if m < best), default=best)
    high = min((m for m in known if m > best), default=best)
    while high - low > 2:
        inner = [m for m in ((low + best) // 2, (best + high + 1) // 2) if low < m < high]
        best = min([best, *inner], key=regret)
        low = max((m for m in known if m < best), default=best)
        high = min((m for m in known if m > best), default=best)
        if all(m in known for m in range(max(best - 1, 1), min(best + 1, most) + 1)):
            break
    return best
