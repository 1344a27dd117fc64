"""Which tables of rewards a program can be audited on."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

__all__ = ["Tables", "least_horizon"]


class Tables(NamedTuple):
    """Tables of rewards on which a program can be audited.

    Attributes
    ----------
    n_arms : int
        Number of arms K of the tables that an audit tries: 2 for a bandit, 1 for a stream.
    least : int
        Least number N of rewards of each arm with which an audit tests something: what reads fewer
        ends before a decision, or all but certainly.
    most : int or None
        Greatest number N that the program can read; None if there is none.
    low, high : float
        Range of a reward.
    promise : tuple of (float, float) or None
        Order v and bound u of the moment E∣X∣^(1+v) ≤ u that the program is told, as it must be
        for heavy-tailed rewards; None for any other. Then `low` and `high` are what is tried, and
        rewards may be beyond.
    between : tuple of float or None
        Rewards within the range that are tried beside its ends; None for its middle alone.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> dpb.DPUCB(epsilon=1.0).tables
    Tables(n_arms=2, least=3, most=None, low=0.0, high=1.0, promise=None, between=None)
    """

    n_arms: int
    least: int
    most: int | None = None
    low: float = 0.0
    high: float = 1.0
    promise: tuple[float, float] | None = None
    between: tuple[float, ...] | None = None


def least_horizon(first_decision: Callable[[int], int], start: int) -> int:
    """Return the least horizon within which a decision falls.

    Parameters
    ----------
    first_decision : callable
        Maps a horizon to the number of the first pull that can depend on rewards; longer horizons
        do not make it earlier.
    start : int
        Least horizon that is tried.

    Returns
    -------
    int
        The least N, at least `start`, with ``first_decision(N) <= N``.

    Examples
    --------
    >>> least_horizon(lambda horizon: 10 + horizon // 2, start=2)
    19
    """
    horizon = start
    while (first := first_decision(horizon)) > horizon:  # no shorter one will do
        horizon = first
    return horizon
