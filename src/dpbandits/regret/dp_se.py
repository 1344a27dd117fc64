"""DP successive elimination: Sajed & Sheffet (2019), Algorithm 3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits import bounds
from dpbandits._validation import check_fraction, check_positive
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.regret.base import Play, RegretAlgorithm
from dpbandits.regret.elimination import play_elimination
from dpbandits.rewards.instances import BernoulliInstance

__all__ = ["DPSE"]


@dataclass(frozen=True)
class DPSE(RegretAlgorithm):
    """DP successive elimination: Sajed & Sheffet (2019), Algorithm 3.

    In epoch e = 1, 2, … every viable arm is pulled r = ⌈R_e⌉ times, its mean over this epoch
    alone is released with Laplace noise of scale 1/(εr), and an arm is eliminated when its
    released mean lies more than 2h_e + 2c_e below the best; the last arm is played to the
    horizon. R_e, h_e, c_e: `dpbandits.schedules.elimination_epoch`.

    One reward plays a role in one epoch's mean of one arm, with sensitivity 1/r: the released
    means of all epochs together are ε-differentially private (Theorem 4.1), and so is the
    sequence of pulls that they determine.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed and gives `SuccessiveElimination`.
    beta : float, optional
        Confidence β in (0, 1). None means 1/T, with T the horizon of the simulation.

    Raises
    ------
    ValueError
        If `epsilon` is not positive or `beta` not in (0, 1).

    Notes
    -----
    Deviations from the printed algorithm: none. R_e is real; the printed loop runs while
    r < R_e, that is ⌈R_e⌉ times. An epoch that the horizon cuts short releases nothing.
    The simulation draws an epoch's sums at once (`dpbandits.regret.elimination`): a run at
    any horizon takes O(K log T) steps and O(K) memory, and its law is exact.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> runs = dpb.simulate(dpb.DPSE(epsilon=0.25), dpb.instances.ss19("C1"), 50_000_000, n_runs=4)
    >>> runs.regret.shape == (4, runs.times.size)
    True
    """

    label: ClassVar[str] = "DP-SE"
    source: ClassVar[str] = "SS19, Algorithm 3"

    epsilon: float
    beta: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon, infinite=True))
        if self.beta is not None:
            object.__setattr__(self, "beta", check_fraction("beta", self.beta))

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Pure ε-differential privacy of the whole sequence of pulls (Theorem 4.1)."""
        return PrivacyGuarantee("global", self.epsilon)

    def play(
        self,
        instance: BernoulliInstance,
        horizon: int,
        checkpoints: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> Play:
        """Play once; see `RegretAlgorithm.play`."""
        beta = 1 / horizon if self.beta is None else self.beta
        return play_elimination(instance, checkpoints, rng, beta, self.epsilon)

    def regret_bound(
        self, instance: BernoulliInstance, horizon: int, times: ArrayLike | None = None
    ) -> float | NDArray[np.float64]:
        """Bound on the expected pseudo-regret: Theorem 4.3 with its constants."""
        self.check_instance(instance)
        bound: float | NDArray[np.float64] = bounds.elimination_regret(
            instance.gaps, horizon, epsilon=self.epsilon, beta=self.beta, times=times
        )
        return bound
