"""Successive elimination, with and without privacy: Sajed & Sheffet (2019), Algorithm 3."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from dpbandits import bounds
from dpbandits._arrays import Ints, Rng
from dpbandits.configuration import Budget, Count, Flag, Fraction, checked_arguments
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.identification.dp_se import left_by_whole_sums
from dpbandits.mechanisms import DiscreteLaplace, laplace_noise
from dpbandits.regret.base import RegretAlgorithm
from dpbandits.rewards.run import Run
from dpbandits.schedules import EpochPlan, elimination_epoch

__all__ = ["DPSE", "DiscreteDPSE", "SuccessiveElimination"]


@dataclass(frozen=True)
class DPSE(RegretAlgorithm):
    """DP successive elimination: Sajed & Sheffet (2019), Algorithm 3.

    Pseudo-code: :prf:ref:`alg-dpse`.

    In epoch e = 1, 2, … every viable arm is pulled r = ⌈R_e⌉ times, its mean over this epoch
    alone is released with Laplace noise of scale 1/(εr), and an arm is eliminated when its released
    mean is more than 2h_e + 2c_e below the best; the last arm is played to the horizon. See
    `dpbandits.schedules.elimination_epoch` for R_e, h_e and c_e.

    One reward enters one epoch's mean of one arm, with sensitivity 1/r: the sequence of
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
    Deviations from the printed algorithm: none. R_e is real; the printed loop runs while r < R_e,
    that is ⌈R_e⌉ times. An epoch cut short by the horizon releases nothing.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> runs = dpb.simulate(dpb.DPSE(epsilon=0.25), dpb.instances.ss19("C1"), 50_000_000, n_runs=4)
    >>> runs.regret.shape == (4, runs.times.size)
    True
    """

    label: ClassVar[str] = "DP-SE"
    source: ClassVar[str] = "SS19, Algorithm 3"
    releases: ClassVar[bool] = True

    epsilon: Budget
    beta: Fraction | None = None

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Pure ε-differential privacy of the whole sequence of pulls (Theorem 4.1)."""
        return PrivacyGuarantee("central", self.epsilon)

    @checked_arguments
    def first_decision(self, n_arms: Count, horizon: Count) -> int:
        return n_arms * self.plan_epoch(n_arms, 1, horizon).pulls + 1

    def play(self, rewards: Run, horizon: int, rng: Rng) -> None:
        viable = np.arange(rewards.n_arms)
        epoch = 0
        while viable.size > 1:
            epoch += 1
            plan = self.plan_epoch(viable.size, epoch, horizon)
            viable = self._left(rewards, viable, plan, rng)
        rewards.commit(viable[0])

    def _left(self, rewards: Run, viable: Ints, plan: EpochPlan, rng: Rng) -> Ints:
        """Play an epoch and return the remaining arms."""
        means = rewards.totals(viable, plan.pulls) / plan.pulls
        if plan.noise_scale > 0:
            means += laplace_noise(rng, plan.noise_scale, viable.size)
        found: Ints = viable[means.max() - means <= plan.threshold]
        return found

    def plan_epoch(self, n_viable: int, epoch: int, horizon: int) -> EpochPlan:
        """Return the length, the widths and the noise of an epoch: `elimination_epoch`.

        Parameters
        ----------
        n_viable : int
            Number of remaining arms.
        epoch : int
            Number of the epoch, from 1.
        horizon : int
            Horizon T of the algorithm.

        Returns
        -------
        EpochPlan
            The plan of the epoch.

        Raises
        ------
        ValueError
            If an argument is below 1.
        """
        return elimination_epoch(n_viable, epoch, self.confidence(horizon), self.epsilon)

    @checked_arguments
    def confidence(self, horizon: Count) -> float:
        """Return β, or 1/T by default.

        Parameters
        ----------
        horizon : int
            Horizon T.

        Returns
        -------
        float
            Approximate probability of eliminating the best arm.
        """
        return 1 / horizon if self.beta is None else self.beta

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        bound = partial(bounds.elimination_regret, instance.gaps, horizon)
        return partial(bound, epsilon=self.epsilon, beta=self.beta)


@dataclass(frozen=True)
class DiscreteDPSE(DPSE):
    """DP-SE with integer sums and noise: private as computed.

    `DPSE`, with each reward rounded at random to 0 or 1, which leaves 0 and 1 unchanged, and with
    `dpbandits.mechanisms.DiscreteLaplace` of budget ε on the sum of an arm's epoch. Its pulls are
    computed from these releases alone. Proof: :prf:ref:`thm-discrete-private`. The threshold
    between two sums is wider by one reward than that of `DPSE`, so that noise exceeds its width as
    rarely; no bound on the regret is stated.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed and draws no noise.
    beta : float, optional
        Confidence β in (0, 1). None means 1/T, with T the horizon of the simulation.
    secure : bool
        Whether noise comes from the operating system's secure generator, so that no run can be
        repeated, or from the generator of the run.

    Notes
    -----
    Deviations from the printed algorithm: the distribution of the noise, rounded rewards, the
    threshold.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> from dpbandits.regret.elimination import DiscreteDPSE
    >>> runs = dpb.simulate(DiscreteDPSE(epsilon=1.0), dpb.instances.ss19("C1"), 10**5, n_runs=2)
    >>> runs.how, runs.pulls.sum(axis=1).tolist()
    ('reference', [100000, 100000])
    """

    secure: Flag = False

    def _left(self, rewards: Run, viable: Ints, plan: EpochPlan, rng: Rng) -> Ints:
        noise = DiscreteLaplace(self.epsilon), None if self.secure else rng
        return left_by_whole_sums(rewards, viable, plan, rng, *noise)

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        return None


@dataclass(frozen=True)
class SuccessiveElimination(RegretAlgorithm):
    """Successive elimination with doubling epochs and fresh means in each: `DPSE` at ε = ∞.

    The idea is Even-Dar, Mannor & Mansour (2002); with the epochs of Sajed & Sheffet (2019) the
    difference from `DPSE` is exactly the price of privacy.

    Parameters
    ----------
    beta : float, optional
        Confidence β in (0, 1). None means 1/T, with T the horizon of the simulation.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> C2 = dpb.instances.ss19("C2")
    >>> runs = dpb.simulate(dpb.SuccessiveElimination(), C2, 10**6, n_runs=2)
    >>> runs.how, runs.pulls.sum(axis=1).tolist()
    ('epoch by epoch', [1000000, 1000000])
    """

    label: ClassVar[str] = "SE"
    source: ClassVar[str] = "Even-Dar et al. 2002; SS19, Algorithm 3 without privacy"
    releases: ClassVar[bool] = True

    beta: Fraction | None = None

    @checked_arguments
    def first_decision(self, n_arms: Count, horizon: Count) -> int:
        return DPSE(math.inf, self.beta).first_decision(n_arms, horizon)

    def play(self, rewards: Run, horizon: int, rng: Rng) -> None:
        DPSE(math.inf, self.beta).play(rewards, horizon, rng)

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        return partial(bounds.elimination_regret, instance.gaps, horizon, beta=self.beta)
