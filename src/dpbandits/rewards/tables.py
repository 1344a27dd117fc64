"""Tables of rewards on which a program can be audited."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbandits._validation import check_integer, check_number, check_values

__all__ = ["Tables", "least_horizon"]


@dataclass(frozen=True)
class Tables:
    """Tables of rewards on which a program can be audited.

    Parameters
    ----------
    n_arms : int
        Number of arms K of the tables in an audit: 2 for a bandit, 1 for a stream.
    least : int
        Least number N of rewards of each arm with which an audit tests something: with fewer, a run
        ends (almost) surely before a decision.
    most : int or None
        Largest number N that the program can read; None if there is no limit.
    low, high : float
        Range of a reward.
    promise : tuple of (float, float) or None
        Order v and bound u of the moment E∣X∣^(1+v) ≤ u, required by programs for heavy-tailed
        rewards; None for all others. With it `low` and `high` are only the tried values, and
        rewards may be beyond.
    between : tuple of float or None
        Rewards within the range to try besides its ends; None for its middle alone.

    Raises
    ------
    ValueError
        If a number is out of range, or the range is empty.

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

    def __post_init__(self) -> None:
        low, high = (
            check_number(name, getattr(self, name), "a finite number") for name in ("low", "high")
        )
        if not -math.inf < low < high < math.inf:
            raise ValueError(
                f"low={self.low!r}, high={self.high!r} are not a range; allowed: finite numbers, "
                "the lower one first"
            )
        checked: dict[str, Any] = {
            "n_arms": check_integer("n_arms", self.n_arms, 1),
            "least": check_integer("least", self.least, 1),
            "low": low,
            "high": high,
        }
        if self.most is not None:
            checked["most"] = check_integer("most", self.most, 1)
        if self.between is not None:
            values = check_values("between", self.between, low, high)
            checked["between"] = tuple(np.atleast_1d(values).tolist())
        for name, value in checked.items():
            object.__setattr__(self, name, value)


def least_horizon(first_decision: Callable[[int], int], start: int) -> int:
    """Return the least horizon that contains a decision.

    Parameters
    ----------
    first_decision : callable
        Maps a horizon to the number of the first pull that can depend on rewards; longer horizons
        do not make it earlier.
    start : int
        Least horizon to try.

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
    while (first := first_decision(horizon)) > horizon:  # no shorter one suffices
        horizon = first
    return horizon
