"""Bounds on pulls and regret of the eliminations with exact tests, with all constants."""

from __future__ import annotations

import math
from functools import partial
from typing import Annotated, Any

from numpy.typing import ArrayLike

from dpbandits._validation import SMALLEST, check_range
from dpbandits.bounds.regret import (
    check_arms,
    check_times,
    elimination_last_epoch,
    regret_of_pulls,
)
from dpbandits.configuration import ArmCount, Budget, Fraction, checked_arguments
from dpbandits.elimination_epochs import Horizon, tuned_epochs

__all__ = ["tuned_elimination_pulls", "tuned_elimination_regret"]

_Gap = Annotated[
    float, partial(check_range, low=SMALLEST, high=1.0, allowed="(0, 1], at least 1e-100")
]


@checked_arguments
def tuned_elimination_pulls(
    gap: _Gap, n_arms: ArmCount, horizon: Horizon, beta: Fraction, epsilon: Budget = math.inf
) -> int:
    """Bound the pulls of an arm of gap Δ_a by tuned DP-SE, as an exact sum.

    Σ n_e over e ≤ e(a), the first epoch with 2^−e ≤ Δ_a, and T if there is none. It is at most
    (64/3)·log(2/p)/Δ_a² + 16u/(εΔ_a) + e(a), and exceeded by any arm with probability at most β.
    Proof: :prf:ref:`thm-tuned`.

    Parameters
    ----------
    gap : float
        Gap Δ_a, in (0, 1].
    n_arms : int
        Number of arms K ≥ 2.
    horizon : int
        Horizon T, from 2 to 2^62.
    beta : float
        Confidence β, in (0, 1).
    epsilon : float
        Privacy budget ε > 0; ``inf`` for no privacy.

    Returns
    -------
    int
        Number of pulls, at most T.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> tuned_elimination_pulls(0.5, n_arms=2, horizon=10**6, beta=0.1)
    74
    """
    pulls = tuned_epochs(n_arms, horizon, beta, epsilon)
    return min(horizon, int(pulls[: elimination_last_epoch(gap)].sum()))


@checked_arguments
def tuned_elimination_regret(
    gaps: ArrayLike,
    horizon: Horizon,
    *,
    epsilon: Budget = math.inf,
    beta: Fraction | None = None,
    times: ArrayLike | None = None,
) -> Any:
    """Bound the expected pseudo-regret of tuned DP-SE.

    Σ Δ_a n_a with n_a at most `tuned_elimination_pulls` and Σ n_a ≤ t, plus β·t·max Δ for a best
    arm that is lost. Proof: :prf:ref:`thm-tuned`.

    Parameters
    ----------
    gaps : array_like of float, shape (K,)
        Gaps of all arms, in [0, 1], zeros for the best.
    horizon : int
        Horizon T, from 2 to 2^62, that the algorithm is told.
    epsilon : float
        Privacy budget ε > 0; ``inf`` for no privacy.
    beta : float, optional
        Confidence β, in (0, 1); by default 1/T.
    times : array_like of float, optional
        Times t ≤ T at which the bound is wanted; by default T.

    Returns
    -------
    float or numpy.ndarray of float
        The bound, in units of reward, of the shape of `times`.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> from dpbandits.bounds import elimination_regret
    >>> bounds = [f([0, 0.5], 10**6) for f in (tuned_elimination_regret, elimination_regret)]
    >>> bool(5 * bounds[0] < bounds[1])
    True
    """
    all_gaps = check_arms("gaps", gaps)
    confidence = 1 / horizon if beta is None else beta

    def pulls(gap: float) -> int:
        return tuned_elimination_pulls(
            max(gap, SMALLEST), all_gaps.size, horizon, confidence, epsilon
        )

    return regret_of_pulls(all_gaps, pulls, confidence, check_times(horizon, times))
