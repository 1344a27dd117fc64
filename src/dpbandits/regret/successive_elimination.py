"""Successive elimination in epochs: the non-private twin of DP-SE."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits import bounds
from dpbandits._validation import check_fraction
from dpbandits.guarantees import NO_PRIVACY, PrivacyGuarantee
from dpbandits.regret.base import Play, RegretAlgorithm
from dpbandits.regret.elimination import play_elimination
from dpbandits.rewards.instances import BernoulliInstance

__all__ = ["SuccessiveElimination"]


@dataclass(frozen=True)
class SuccessiveElimination(RegretAlgorithm):
    """Successive elimination with doubling epochs and fresh means in each.

    The elimination idea is Even-Dar, Mannor & Mansour (2002); the epochs are those of
    Algorithm 3 of Sajed & Sheffet (2019) with the private parts left out, so that the
    difference to `DPSE` is the price of privacy and nothing else.

    Parameters
    ----------
    beta : float, optional
        Confidence β in (0, 1): the probability with which the analysis may fail. None means
        1/T, with T the horizon of the simulation.

    Raises
    ------
    ValueError
        If `beta` is not in (0, 1).

    Examples
    --------
    >>> import dpbandits as dpb
    >>> runs = dpb.simulate(dpb.SuccessiveElimination(), dpb.instances.ss19("C2"), 10**6, n_runs=3)
    >>> runs.pulls.sum(axis=1).tolist()
    [1000000, 1000000, 1000000]
    """

    label: ClassVar[str] = "SE"
    source: ClassVar[str] = "Even-Dar et al. 2002; SS19, Algorithm 3 without privacy"

    beta: float | None = None

    def __post_init__(self) -> None:
        if self.beta is not None:
            object.__setattr__(self, "beta", check_fraction("beta", self.beta))

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """None: decisions depend on raw means."""
        return NO_PRIVACY

    def play(
        self,
        instance: BernoulliInstance,
        horizon: int,
        checkpoints: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> Play:
        """Play once; see `RegretAlgorithm.play`."""
        beta = 1 / horizon if self.beta is None else self.beta
        return play_elimination(instance, checkpoints, rng, beta, math.inf)

    def regret_bound(
        self, instance: BernoulliInstance, horizon: int, times: ArrayLike | None = None
    ) -> float | NDArray[np.float64]:
        """Bound on the expected pseudo-regret: `elimination_regret`."""
        self.check_instance(instance)
        bound: float | NDArray[np.float64] = bounds.elimination_regret(
            instance.gaps, horizon, beta=self.beta, times=times
        )
        return bound
