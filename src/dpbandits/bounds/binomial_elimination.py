"""Bounds on pulls and regret of elimination by two p-values, with all constants."""

from __future__ import annotations

import math
from typing import Annotated, Any

from numpy.typing import ArrayLike

from dpbandits._validation import SMALLEST
from dpbandits.bounds.regret import GapSize, check_arms, check_times, regret_of_pulls
from dpbandits.configuration import Budget, Fraction, between, checked_arguments, whole
from dpbandits.schedules import MOST_PULLS, ReleasePlan, release_plan

__all__ = ["binomial_elimination_pulls", "binomial_elimination_regret"]

_Mean = Annotated[float, between(0.0, 1.0)]
_Arms = Annotated[int, whole(2, MOST_PULLS)]
_Horizon = Annotated[int, whole(1, MOST_PULLS)]
_Memory = Annotated[int, whole(1, 16)]


def _widths(
    gap: float, best: float, plan: ReleasePlan, epsilon: float, memory: int
) -> tuple[float, float]:
    """Return A and B: an arm that stays after a test on n rewards has Δ < √(A/n) + B/n."""
    evidence = -plan.log_level
    level = evidence + math.log(4)
    variance = best * (1 - best) + gap * max(2 * best - 1, 0.0)
    noise = 2 * evidence
    if memory > 1:
        noise = 4 / 3 * (2 * evidence + 4 * math.log(2) + 4 * memory * math.log(16 / 7))
    return 16 * variance * level, 2 / 3 * level + noise / epsilon


@checked_arguments
def binomial_elimination_pulls(
    gap: GapSize,
    best: _Mean,
    n_arms: _Arms,
    horizon: _Horizon,
    epsilon: Budget,
    *,
    beta: Fraction | None = None,
    memory: _Memory = 4,
) -> int:
    """Bound the pulls of an arm by elimination by two p-values: its first release that suffices.

    n_e for the least e with √(16v·λ/n) + B/n ≤ Δ, where n is the number of rewards in the
    remembered releases; or T if no release suffices. Holds for all arms at once with probability 1
    − β. Proof: :prf:ref:`thm-two-p-values`.

    Parameters
    ----------
    gap : float
        Gap Δ of the arm, in (0, 1].
    best : float
        Mean μ_* of the best arm.
    n_arms : int
        Number K of arms.
    horizon : int
        Horizon T of the algorithm.
    epsilon : float
        Privacy budget ε > 0.
    beta : float, optional
        Confidence β, in (0, 1); by default 1/T.
    memory : int
        Number m of remembered releases, from 1 to 16.

    Returns
    -------
    int
        The bound on the pulls.

    Examples
    --------
    >>> [binomial_elimination_pulls(0.25, best, 5, 10**7, 1.0) for best in (0.5, 0.999)]
    [3456, 3456]
    """
    plan = release_plan(n_arms, horizon, 1 / horizon if beta is None else beta, epsilon)
    spread, shift = _widths(gap, best, plan, epsilon, memory)
    for epoch in range(1, plan.releases + 1):
        counted = plan.counted(epoch, memory)
        if math.sqrt(spread / counted) + shift / counted <= gap:
            return plan.pulls(epoch)
    return horizon


@checked_arguments
def binomial_elimination_regret(
    means: ArrayLike,
    horizon: _Horizon,
    *,
    epsilon: Budget,
    beta: Fraction | None = None,
    memory: _Memory = 4,
    times: ArrayLike | None = None,
) -> Any:
    """Bound the expected pseudo-regret of elimination by two p-values.

    Σ Δ_a n_a with n_a at most `binomial_elimination_pulls` and Σ n_a ≤ t, plus β times t·max Δ.
    Proof: :prf:ref:`thm-two-p-values`.

    Parameters
    ----------
    means : array_like of float, shape (K,)
        Means of all arms, in [0, 1].
    horizon : int
        Horizon T of the algorithm.
    epsilon : float
        Privacy budget ε > 0; ``inf`` for no privacy.
    beta : float, optional
        Confidence β, in (0, 1); by default 1/T.
    memory : int
        Number m of remembered releases, from 1 to 16.
    times : array_like of float, optional
        Times t ≤ T at which to evaluate the bound; by default T.

    Returns
    -------
    float or numpy.ndarray of float
        The bound, in units of reward, of the shape of `times`.

    Examples
    --------
    The closer the best mean is to 1, the smaller:

    >>> bounds = [binomial_elimination_regret([m, m - 0.1], 10**7, epsilon=1.0) for m in (0.6, 1)]
    >>> bool(bounds[1] < bounds[0])
    True
    """
    all_means = check_arms("means", means)
    confidence, best = 1 / horizon if beta is None else beta, float(all_means.max())

    def pulls(gap: float) -> int:
        least = max(gap, SMALLEST)
        return binomial_elimination_pulls(
            least, best, all_means.size, horizon, epsilon, beta=confidence, memory=memory
        )

    return regret_of_pulls(best - all_means, pulls, confidence, check_times(horizon, times))
