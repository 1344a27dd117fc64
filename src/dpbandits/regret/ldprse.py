"""LDPRSE: Tao, Wu, Zhao & Wang (2022), Algorithm 4, with a schedule that its noise allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits import bounds
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.regret.heavy import HeavyElimination, require_heavy, require_non_negative
from dpbandits.rewards.heavy_instances import HeavyTailInstance

__all__ = ["LDPRSE"]


@dataclass(frozen=True)
class LDPRSE(HeavyElimination):
    """Locally DP robust successive elimination: Tao, Wu, Zhao & Wang (2022), Algorithm 4.

    In epoch τ = 1, 2, … every viable arm is pulled R times. Each reward is truncated at B, gets
    its own Laplace variable of scale 2B/ε (B/ε for "non-negative") and is released; an arm is
    eliminated when the mean of what was released lies too far below the best. R, B and the
    threshold: `dpbandits.heavy_schedules.heavy_epoch`. u and v are the instance's `moment_bound`
    and `order`.

    A truncated reward lies in [−B, B], an interval of length 2B: the density of what is released
    for it, at any place, changes by a factor of at most exp(2B/(2B/ε)) = e^ε. This is ε-local
    differential privacy of each released value; B follows from earlier released values alone.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` gives elimination by truncated means without noise.
    beta : float, optional
        Confidence β in (0, 1). None means 1/T.
    schedule : {"minimax", "non-negative", "published-remark"}
        "minimax": R of order Δ^(−2(1+v)/v)/ε², the best possible (Duchi, Jordan & Wainwright
        2013). "non-negative": the same with half the noise, for rewards in [0, ∞) only.
        "published-remark": R of order Δ^(−(1+v)/v)/ε², as the paper's Remark 3 on the price of
        local privacy implies. **It does not work**, by a factor √R in the noise; it is here to
        show that.

    Raises
    ------
    ValueError
        If `epsilon` is not positive, `beta` not in (0, 1) or `schedule` unknown.

    Notes
    -----
    The paper's formulas are lost in our copy: the schedule is derived here. Zhou & Zhang
    (NeurIPS 2024) found a flaw in the paper's local results; see the chapter. The noises of an
    epoch are drawn as one sum, exact in law (`laplace_total`). Horizons go to 2^62; epochs are
    planned in Python integers of any size.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> s3 = dpb.instances.twzw22("S3", order=0.9)
    >>> runs = dpb.simulate(dpb.LDPRSE(epsilon=1.0), s3, horizon=10**17, n_runs=1)
    >>> int(runs.pulls.sum()) == 10**17
    True
    """

    label: ClassVar[str] = "LDPRSE"
    source: ClassVar[str] = "TWZW22, Algorithm 4"
    model: ClassVar[str] = "local"

    epsilon: float
    beta: float | None = None
    schedule: str = "minimax"

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Pure ε-local differential privacy of each released reward (Theorem 6)."""
        return PrivacyGuarantee(self.model, self.epsilon)

    def check_instance(self, instance: object) -> None:
        """Refuse what is no `HeavyTailInstance`, or may be negative where it must not."""
        heavy = require_heavy(instance)
        if self.schedule == "non-negative":
            require_non_negative(heavy)

    def regret_bound(
        self, instance: HeavyTailInstance, horizon: int, times: ArrayLike | None = None
    ) -> float | NDArray[np.float64]:
        """Bound on the expected pseudo-regret: `heavy_elimination_regret`.

        For "published-remark" it is t times the greatest gap: nothing better is true in general.
        """
        if self.schedule != "published-remark":
            return super().regret_bound(instance, horizon, times)
        self.check_instance(instance)
        bound: float | NDArray[np.float64] = bounds.worst_heavy_regret(
            instance.gaps, horizon, times=times
        )
        return bound
