"""Successive elimination, with and without privacy: Sajed & Sheffet (2019), Algorithm 3."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from dpbandits import bounds
from dpbandits._arrays import Rng
from dpbandits.configuration import Budget, Fraction
from dpbandits.guarantees import NO_PRIVACY, PrivacyGuarantee
from dpbandits.regret.base import Play, RegretAlgorithm, Times
from dpbandits.regret.elimination import play_elimination

__all__ = ["DPSE", "SuccessiveElimination"]


@dataclass(frozen=True)
class DPSE(RegretAlgorithm):
    """DP successive elimination: Sajed & Sheffet (2019), Algorithm 3.

    In epoch e = 1, 2, … every viable arm is pulled r = ⌈R_e⌉ times, its mean over this epoch
    alone is released with Laplace noise of scale 1/(εr), and an arm is eliminated when its
    released mean lies more than 2h_e + 2c_e below the best; the last arm is played to the
    horizon. R_e, h_e, c_e: `dpbandits.schedules.elimination_epoch`.

    One reward plays a role in one epoch's mean of one arm, with sensitivity 1/r: the sequence of
    pulls is ε-differentially private (Theorem 4.1). Proof: :prf:ref:`thm-privacy`. The bound on the
    regret is Theorem 4.3 with its constants, `elimination_regret`. Proof: :prf:ref:`thm-regret`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed and gives `SuccessiveElimination`.
    beta : float, optional
        Confidence β in (0, 1). None means 1/T, with T the horizon of the simulation.

    Notes
    -----
    Deviations from the printed algorithm: none. R_e is real; the printed loop runs while
    r < R_e, that is ⌈R_e⌉ times. An epoch that the horizon cuts short releases nothing.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> runs = dpb.simulate(dpb.DPSE(epsilon=0.25), dpb.instances.ss19("C1"), 50_000_000, n_runs=4)
    >>> runs.regret.shape == (4, runs.times.size)
    True
    """

    label: ClassVar[str] = "DP-SE"
    source: ClassVar[str] = "SS19, Algorithm 3"

    epsilon: Budget
    beta: Fraction | None = None

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Pure ε-differential privacy of the whole sequence of pulls (Theorem 4.1)."""
        return PrivacyGuarantee("global", self.epsilon)

    def play(self, instance: Any, horizon: int, checkpoints: Times, rng: Rng) -> Play:
        beta = 1 / horizon if self.beta is None else self.beta
        return play_elimination(instance, checkpoints, rng, beta, self.epsilon)

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        bound = partial(bounds.elimination_regret, instance.gaps, horizon)
        return partial(bound, epsilon=self.epsilon, beta=self.beta)


@dataclass(frozen=True)
class SuccessiveElimination(RegretAlgorithm):
    """Successive elimination with doubling epochs and fresh means in each: `DPSE` at ε = ∞.

    The idea is Even-Dar, Mannor & Mansour (2002); with the epochs of Sajed & Sheffet (2019) the
    difference to `DPSE` is the price of privacy and nothing else.

    Parameters
    ----------
    beta : float, optional
        As of `DPSE`.
    """

    label: ClassVar[str] = "SE"
    source: ClassVar[str] = "Even-Dar et al. 2002; SS19, Algorithm 3 without privacy"

    beta: Fraction | None = None

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """None: decisions depend on raw means."""
        return NO_PRIVACY

    def play(self, instance: Any, horizon: int, checkpoints: Times, rng: Rng) -> Play:
        return DPSE(math.inf, self.beta).play(instance, horizon, checkpoints, rng)

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        return partial(bounds.elimination_regret, instance.gaps, horizon, beta=self.beta)
