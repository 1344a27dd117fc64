"""UCB1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits import bounds
from dpbandits._validation import check_choice
from dpbandits.guarantees import NO_PRIVACY, PrivacyGuarantee
from dpbandits.regret.base import Play, RegretAlgorithm
from dpbandits.regret.index_policy import ENGINES, play_index_policy
from dpbandits.rewards.instances import BernoulliInstance

__all__ = ["UCB"]


@dataclass(frozen=True)
class UCB(RegretAlgorithm):
    """UCB1: Auer, Cesa-Bianchi & Fischer (2002), as SS19 §2 writes it.

    Every arm once, then at time t the arm with the largest mean + √(2 log t/n); ties go to the
    lowest arm number.

    Parameters
    ----------
    engine : {"skipping", "per-step"}
        How it is simulated: certified skipping (`dpbandits.regret.skipping`; total-variation
        error at most 4·10⁻¹⁰ a run) or pull by pull.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> runs = dpb.simulate(dpb.UCB(), dpb.instances.ss19("C2"), horizon=10_000, n_runs=2)
    >>> runs.pulls.shape
    (2, 5)
    """

    label: ClassVar[str] = "UCB"
    source: ClassVar[str] = "Auer et al. 2002; SS19, §2"

    engine: str = "skipping"

    def __post_init__(self) -> None:
        check_choice("engine", self.engine, ENGINES)

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """None: the index is a function of raw rewards."""
        return NO_PRIVACY

    def play(
        self,
        instance: BernoulliInstance,
        horizon: int,
        checkpoints: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> Play:
        """Play once; see `RegretAlgorithm.play`."""
        return play_index_policy(instance, checkpoints, rng, engine=self.engine)

    def regret_bound(
        self, instance: BernoulliInstance, horizon: int, times: ArrayLike | None = None
    ) -> float | NDArray[np.float64]:
        """Bound on the expected pseudo-regret: `ucb_regret`."""
        self.check_instance(instance)
        bound: float | NDArray[np.float64] = bounds.ucb_regret(instance.gaps, horizon, times=times)
        return bound
