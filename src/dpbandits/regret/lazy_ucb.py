"""Lazy-UCB: Hu, Huang & Mehta (2021)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits import bounds
from dpbandits._validation import check_range
from dpbandits.lazy_indices import choose_ucb
from dpbandits.regret.lazy_batches import LazyBatches, Released
from dpbandits.rewards.instances import BernoulliInstance

__all__ = ["AnytimeLazyUCB"]


@dataclass(frozen=True)
class AnytimeLazyUCB(LazyBatches):
    """Anytime-Lazy-UCB: Hu, Huang & Mehta (2021), reconstructed.

    Arms are played in batches that grow by 1 + η (`LazyBatches`). With n the size of an arm's last
    batch and x its released mean, the arm with the largest

        x + √(α·log t/n) + α·log t/(εn)

    is played for its next batch; ties go to the lowest arm number.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed and adds no noise.
    alpha : float
        α from 1.001 to 100; 3 by default.
    eta : float
        Growth η of the batches, from 0.05 to 100; 1 by default, which doubles.

    Raises
    ------
    ValueError
        If an argument is out of its range.

    Notes
    -----
    We have no text of the paper at hand: batches and index are reconstructed. The index of an arm
    is below its mean with probability at most t^(−2α) + t^(−α)/2 at a given release and time, and
    `lazy_ucb_regret` needs no more than α > 1.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> runs = dpb.simulate(dpb.AnytimeLazyUCB(epsilon=1.0), dpb.instances.ss19("C2"), 10**6, 2)
    >>> runs.pulls.sum(axis=1).tolist()
    [1000000, 1000000]
    """

    label: ClassVar[str] = "Lazy-UCB"
    source: ClassVar[str] = "Hu, Huang & Mehta 2021; reconstructed"

    epsilon: float
    alpha: float = 3.0
    eta: float = 1.0

    def __post_init__(self) -> None:
        self._check_frame()
        object.__setattr__(self, "alpha", check_range("alpha", self.alpha, 1.001, 100.0))

    def _choose(self, released: Released, t: int, rng: np.random.Generator) -> int:
        return choose_ucb(
            released.totals, released.rewards, math.log(t), self.alpha, self.alpha, self.epsilon
        )

    def regret_bound(
        self, instance: BernoulliInstance, horizon: int, times: ArrayLike | None = None
    ) -> float | NDArray[np.float64]:
        """Bound on the expected pseudo-regret: `lazy_ucb_regret`."""
        self.check_instance(instance)
        bound: float | NDArray[np.float64] = bounds.lazy_ucb_regret(
            instance.means,
            horizon,
            epsilon=self.epsilon,
            sampling=self.alpha,
            noise=self.alpha,
            eta=self.eta,
            times=times,
        )
        return bound
