"""AdaP-UCB and AdaP-KLUCB: Azize & Basu (2022)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits import bounds
from dpbandits._validation import check_range
from dpbandits.lazy_indices import choose_kl, choose_ucb
from dpbandits.regret.lazy_batches import LazyBatches, Released
from dpbandits.rewards.instances import BernoulliInstance

__all__ = ["AdaPKLUCB", "AdaPUCB"]


@dataclass(frozen=True)
class AdaPUCB(LazyBatches):
    """AdaP-UCB: Azize & Basu (2022), reconstructed.

    Arms are played in batches that grow by 1 + η (`LazyBatches`). With n the size of an arm's last
    batch and x its released mean, the arm with the largest

        x + √(α·log t/(2n)) + α·log t/(εn)

    is played for its next batch; ties go to the lowest arm number.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed and adds no noise.
    alpha : float
        α from 1.001 to 100; 3.1 by default, as the paper asks for α > 3.
    eta : float
        Growth η of the batches, from 0.05 to 100; 1 by default, which doubles.

    Raises
    ------
    ValueError
        If an argument is out of its range.

    Notes
    -----
    We have no text of the paper at hand: batches and index are reconstructed. The index of an arm
    is below its mean with probability at most 1.5·t^(−α) at a given release and time, and
    `lazy_ucb_regret` needs no more than α > 1.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> runs = dpb.simulate(dpb.AdaPUCB(epsilon=1.0), dpb.instances.ss19("C2"), 10**6, n_runs=2)
    >>> runs.pulls.sum(axis=1).tolist()
    [1000000, 1000000]
    """

    label: ClassVar[str] = "AdaP-UCB"
    source: ClassVar[str] = "Azize & Basu 2022; reconstructed"

    epsilon: float
    alpha: float = 3.1
    eta: float = 1.0

    def __post_init__(self) -> None:
        self._check_frame()
        object.__setattr__(self, "alpha", check_range("alpha", self.alpha, 1.001, 100.0))

    def _choose(self, released: Released, t: int, rng: np.random.Generator) -> int:
        half = 0.5 * self.alpha
        return choose_ucb(
            released.totals, released.rewards, math.log(t), half, self.alpha, self.epsilon
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
            sampling=0.5 * self.alpha,
            noise=self.alpha,
            eta=self.eta,
            times=times,
        )
        return bound


@dataclass(frozen=True)
class AdaPKLUCB(LazyBatches):
    """AdaP-KLUCB: Azize & Basu (2022), reconstructed.

    As `AdaPUCB`, with the index

        max {q in [0, 1] : n·kl(y, q) ≤ α·log t},   y = x + α·log t/(εn), moved into [0, 1].

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed and adds no noise.
    alpha : float
        α from 1.001 to 100; 3.1 by default, as the paper asks for α > 3.
    eta : float
        Growth η of the batches, from 0.05 to 100; 1 by default, which doubles.

    Raises
    ------
    ValueError
        If an argument is out of its range.

    Notes
    -----
    We have no text of the paper at hand: batches and index are reconstructed. The index of an arm
    is below its mean with probability at most 1.5·t^(−α) at a given release and time, and
    `adap_klucb_regret` needs no more than α > 1.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> runs = dpb.simulate(dpb.AdaPKLUCB(epsilon=1.0), dpb.instances.ss19("C2"), 10**6, n_runs=2)
    >>> runs.pulls.sum(axis=1).tolist()
    [1000000, 1000000]
    """

    label: ClassVar[str] = "AdaP-KLUCB"
    source: ClassVar[str] = "Azize & Basu 2022; reconstructed"

    epsilon: float
    alpha: float = 3.1
    eta: float = 1.0

    def __post_init__(self) -> None:
        self._check_frame()
        object.__setattr__(self, "alpha", check_range("alpha", self.alpha, 1.001, 100.0))

    def _choose(self, released: Released, t: int, rng: np.random.Generator) -> int:
        return choose_kl(released.totals, released.rewards, math.log(t), self.alpha, self.epsilon)

    def regret_bound(
        self, instance: BernoulliInstance, horizon: int, times: ArrayLike | None = None
    ) -> float | NDArray[np.float64]:
        """Bound on the expected pseudo-regret: `adap_klucb_regret`."""
        self.check_instance(instance)
        bound: float | NDArray[np.float64] = bounds.adap_klucb_regret(
            instance.means,
            horizon,
            epsilon=self.epsilon,
            alpha=self.alpha,
            eta=self.eta,
            times=times,
        )
        return bound
