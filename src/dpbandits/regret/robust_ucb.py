"""Robust UCB of Bubeck, Cesa-Bianchi & Lugosi (2013), for rewards without a variance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from dpbandits import bounds
from dpbandits._arrays import Rng
from dpbandits.regret.heavy import HeavyTailAlgorithm
from dpbandits.rewards.heavy_instances import HeavyTailInstance
from dpbandits.rewards.run import Run

__all__ = ["ROBUST_FACTOR", "RobustUCB"]

ROBUST_FACTOR = 4.0
"""Constant of the bonus; (1 + v) + √2 + 1/3 ≤ 3.75 suffices, :prf:ref:`thm-robust-ucb`."""


@dataclass(frozen=True)
class RobustUCB(HeavyTailAlgorithm):
    """Robust UCB with the truncated mean: Bubeck, Cesa-Bianchi & Lugosi (2013). Not private.

    Before pull t the n rewards of an arm are truncated, the s-th at (us/log(1/δ))^(1/(1+v)), and
    the index is their mean + 4u^(1/(1+v))·(log(1/δ)/n)^(v/(1+v)); every arm is pulled once first,
    and ties go to the lowest arm number. u and v are the instance's `moment_bound` and `order`.

    Parameters
    ----------
    confidence : {"anytime", "fixed"}
        δ = t^−2, with which more old rewards are truncated as t grows, or δ = T^−2 throughout.

    Notes
    -----
    With a fixed δ no reward is truncated later, and the index is that of `DPRUCB` without noise,
    with other constants. The comparison in TWZW22 has no non-private algorithm; adding this one is
    our choice.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> dpb.simulate(dpb.RobustUCB(), dpb.instances.twzw22("S1", order=0.9), 1000, 2).pulls.sum()
    np.int64(2000)
    """

    label: ClassVar[str] = "Robust-UCB"
    source: ClassVar[str] = "Bubeck, Cesa-Bianchi & Lugosi 2013, §2"

    confidence: Literal["anytime", "fixed"] = "anytime"

    def play(self, rewards: Run, horizon: int, rng: Rng) -> None:
        n_arms, u, v = rewards.n_arms, rewards.moment_bound, rewards.order
        seen: list[list[float]] = [[] for _ in range(n_arms)]
        for t in range(1, horizon + 1):
            log_term = 2 * math.log(horizon if self.confidence == "fixed" else t)  # log(1/δ)
            if t <= n_arms:
                arm = t - 1
            else:
                index = np.empty(n_arms)
                for a, x in enumerate(map(np.array, seen)):
                    bounds_of_x = (u * np.arange(1, x.size + 1) / log_term) ** (1 / (1 + v))
                    mean = np.where(np.abs(x) <= bounds_of_x, x, 0.0).mean()
                    bonus = u ** (1 / (1 + v)) * (log_term / x.size) ** (v / (1 + v))
                    index[a] = mean + ROBUST_FACTOR * bonus
                arm = int(np.argmax(index))
            seen[arm].append(rewards.total(arm, 1))

    def _regret_bound(self, instance: HeavyTailInstance, horizon: int) -> Any:
        known: dict[str, Any] = {"moment": instance.moment_bound, "order": instance.order}
        bound = partial(bounds.robust_ucb_regret, instance.gaps, horizon, **known)
        return partial(bound, confidence=self.confidence)
