"""Guess-and-double: an algorithm that needs its horizon, run without it."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from dpbandits._arrays import Floats, Rng
from dpbandits._validation import check_integer, check_kind, check_values
from dpbandits.configuration import Count, checked_arguments, whole
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.regret.base import RegretAlgorithm
from dpbandits.rewards.run import Run
from dpbandits.rewards.tables import Tables
from dpbandits.schedules import MOST_PULLS


@dataclass(frozen=True)
class GuessAndDouble(RegretAlgorithm):
    """Restart an algorithm with ever larger guesses of the horizon: SS19, proof of Theorem 4.3.

    The algorithm is run with a guess G; at time G/2 the guess becomes 2G ("double", as in SS19) or
    G² ("square") and the algorithm starts anew, with its confidence set to the new guess and
    nothing remembered. A reward enters only one stretch, so the privacy guarantee is that of one
    stretch. A stretch is played by an accelerator of `base` if there is one; ``how="reference"``
    plays it by the plain program of `base`.

    Parameters
    ----------
    base : RegretAlgorithm
        Algorithm to restart.
    growth : {"double", "square"}
        Update of a guess: doubled or squared.
    first_guess : int
        First guess, at least 4.

    Raises
    ------
    ValueError
        If `base` is not an algorithm for regret.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> algorithm = dpb.GuessAndDouble(dpb.DPSE(epsilon=1.0), growth="square", first_guess=1024)
    >>> list(algorithm.stretches(10**6))
    [(1024, 0, 512), (1048576, 512, 524288), (1099511627776, 524288, 1000000)]
    """

    label: ClassVar[str] = "Guess-and-double"
    source: ClassVar[str] = "SS19, proof of Theorem 4.3"
    releases: ClassVar[bool] = True

    base: RegretAlgorithm
    growth: Literal["double", "square"] = "double"
    first_guess: Annotated[int, whole(4)] = 1024

    def __post_init__(self) -> None:
        super().__post_init__()
        check_kind("base", self.base, RegretAlgorithm, "DPSE(epsilon=1)")

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """The guarantee of the restarted algorithm: stretches share no reward."""
        return self.base.guarantee

    @checked_arguments
    def first_decision(self, n_arms: Count, horizon: Count) -> int:
        """Return the first decision in the first stretch that is long enough for one.

        Parameters
        ----------
        n_arms, horizon : int
            Number of arms; the horizon is unused.

        Returns
        -------
        int
            The number of the pull, from 1.
        """
        for guess, start, stop in self.stretches(MOST_PULLS):
            first = self.base.first_decision(n_arms, guess)
            if first <= stop - start:
                return start + first
        return MOST_PULLS

    @property
    def tables(self) -> Tables | None:
        base = self.base.tables
        tables = None if base is None else super().tables
        if tables is None or base is None:
            return None
        return replace(tables, low=base.low, high=base.high, promise=base.promise)

    def check_instance(self, instance: object) -> None:
        self.base.check_instance(instance)

    def stretches(self, end: float = math.inf) -> Iterator[tuple[int, int, int]]:
        """Yield the stretches, in each of which the algorithm starts anew.

        Parameters
        ----------
        end : int, optional
            Time at which they stop; by default there is no end.

        Yields
        ------
        tuple of (int, int, int)
            The guess of the horizon, and the times at which the stretch starts and stops.

        Raises
        ------
        ValueError
            If `end` is not an integer of at least 0.
        """
        end = end if end == math.inf else check_integer("end", end, 0)
        guess, start = self.first_guess, 0
        while start < end:
            stop = int(min(guess // 2, end))
            yield guess, start, stop
            guess, start = (2 * guess if self.growth == "double" else guess**2), stop

    @checked_arguments
    def parts(self, pulls: Count) -> list[tuple[RegretAlgorithm, int]]:
        return [(self.base, stop - start) for _, start, stop in self.stretches(pulls)]

    def play(self, rewards: Run, horizon: int, rng: Rng) -> None:
        for guess, start, stop in self.stretches():
            rewards.delegate(self.base, guess, stop - start, rng)

    def regret_bound(
        self, instance: Any, horizon: int, times: ArrayLike | None = None
    ) -> float | Floats:
        horizon = check_integer("horizon", horizon, 1)
        at = check_values("times", horizon if times is None else times, 0.0, sys.float_info.max)
        total = np.zeros_like(at)
        for guess, start, stop in self.stretches(int(at.max())):
            inside = np.clip(at, start, stop) - start
            total += self.base.regret_bound(instance, guess, times=inside)
        return total[()]
