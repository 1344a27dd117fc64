"""Lazy-DP-TS: Hu & Hegde (2022)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits import bounds
from dpbandits._validation import check_choice
from dpbandits.instances import BernoulliInstance
from dpbandits.regret.lazy_batches import LazyBatches, Released, check_range

__all__ = ["POSTERIORS", "LazyDPTS"]

POSTERIORS = ("gaussian", "beta")


@dataclass(frozen=True)
class LazyDPTS(LazyBatches):
    """Lazy-DP-TS: Hu & Hegde (2022), reconstructed.

    Arms are played in batches that grow by 1 + η (`LazyBatches`). With n the size of an arm's last
    batch, x its released mean and y = x + α·log t/(εn), moved into [0, 1], each arm draws

        θ from Normal(y, 1/n) or from Beta(1 + ny, 1 + n(1 − y)),

    and the arm with the largest θ is played for its next batch; ties go to the lowest arm number.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed and adds no noise.
    posterior : {"gaussian", "beta"}
        Law of θ.
    alpha : float
        α from 1.001 to 100; 3 by default.
    eta : float
        Growth η of the batches, from 0.05 to 100; 1 by default, which doubles.

    Raises
    ------
    ValueError
        If a number is out of its range, or `posterior` unknown.

    Notes
    -----
    We have no text of the paper at hand: batches and posteriors are reconstructed.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> runs = dpb.simulate(dpb.LazyDPTS(epsilon=1.0), dpb.instances.ss19("C2"), 10**6, n_runs=2)
    >>> runs.pulls.sum(axis=1).tolist()
    [1000000, 1000000]
    """

    label: ClassVar[str] = "Lazy-DP-TS"
    source: ClassVar[str] = "Hu & Hegde 2022; reconstructed"

    epsilon: float
    posterior: str = "gaussian"
    alpha: float = 3.0
    eta: float = 1.0

    def __post_init__(self) -> None:
        self._check_frame()
        check_choice("posterior", self.posterior, POSTERIORS)
        object.__setattr__(self, "alpha", check_range("alpha", self.alpha, 1.001, 100.0))

    def _choose(self, released: Released, t: int, rng: np.random.Generator) -> int:
        n = released.rewards.astype(np.float64)
        raised = (released.totals + self.alpha * math.log(t) / self.epsilon) / n
        centre = np.clip(raised, 0.0, 1.0)
        if self.posterior == "gaussian":
            theta = rng.normal(centre, 1 / np.sqrt(n))
        else:
            theta = rng.beta(1 + n * centre, 1 + n * (1 - centre))
        return int(theta.argmax())

    def regret_bound(
        self, instance: BernoulliInstance, horizon: int, times: ArrayLike | None = None
    ) -> float | NDArray[np.float64]:
        """Return t times the greatest gap: nothing better is proved here."""
        self.check_instance(instance)
        bound: float | NDArray[np.float64] = bounds.worst_regret(
            instance.gaps, horizon, times=times
        )
        return bound
