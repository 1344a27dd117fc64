"""DP successive elimination that adapts to the variances of rewards, and reuses releases."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from dpbandits import bounds
from dpbandits._arrays import Floats, Rng
from dpbandits._engine.elimination_epochs import BennettPlan, bennett_kept_kernel, bennett_plan
from dpbandits.configuration import Budget, Count, Fraction, checked_arguments, whole
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms import laplace_noise
from dpbandits.regret.base import RegretAlgorithm
from dpbandits.rewards.instances import BernoulliInstance
from dpbandits.rewards.run import Run

__all__ = ["BennettDPSE"]


@dataclass(frozen=True)
class BennettDPSE(RegretAlgorithm):
    """DP successive elimination that adapts to variances, for any rewards in [0, 1].

    Pseudo-code: :prf:ref:`alg-bennett`.

    An arm's pulls double from epoch to epoch. At the end of an epoch Σx and Σx(1 − x) over its
    rewards are released, each with Laplace noise of scale 1/ε: one reward changes both together by
    at most 1, so the second release is free (:prf:ref:`lem-joint`). The last four releases of an
    arm are summed, at no cost in privacy. From the two sums each arm has an upper bound on its
    variance, and arm a is eliminated when some arm leads it by more than a tail bound of Bennett
    (or Hoeffding, if smaller), integrated over the noise, allows for these variances. For epochs
    and tests see ``bennett_plan`` of the engine.

    Privacy: :prf:ref:`lem-releases` with :prf:ref:`lem-joint`. The bound on the regret is
    `dpbandits.bounds.bennett_elimination_regret`. Proof: :prf:ref:`thm-bennett`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed and draws no noise.
    beta : float, optional
        Confidence β in (0, 1). None means 1/T, with T the horizon of the simulation.
    memory : int
        Number of an arm's last releases that a test sums, from 1 to 16.

    Notes
    -----
    Bounds on variances and on sums of two are rounded up to grids of 128 and 16 points per octave,
    for which the tests are tabulated. An epoch cut short by the horizon releases nothing.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> rare, T = dpb.instances.bernoulli([0.02] + 4 * [0.015]), 10**6
    >>> plays = [dpb.simulate(A(1.0), rare, T, 20) for A in (dpb.BennettDPSE, dpb.TunedDPSE)]
    >>> bool(plays[0].mean()[-1] < 0.8 * plays[1].mean()[-1])
    True
    """

    label: ClassVar[str] = "DP-SE-V"
    source: ClassVar[str] = "derived here"
    releases: ClassVar[bool] = True

    epsilon: Budget
    beta: Fraction | None = None
    memory: Annotated[int, whole(1, 16)] = 4

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Pure ε-differential privacy of the whole sequence of pulls."""
        return PrivacyGuarantee("central", self.epsilon)

    @checked_arguments
    def first_decision(self, n_arms: Count, horizon: Count) -> int:
        # without noise the first tests eliminate no arm, for any rewards
        plan, pulls = self.plan(n_arms, horizon), 0
        for epoch, n in enumerate(plan.rewards):
            pulls += int(plan.pulls[epoch])
            certain = bennett_kept_kernel(plan, epoch, np.array([n, 0.0]), np.zeros(2)).all()
            if self.epsilon < np.inf or not certain:
                return n_arms * pulls + 1
        return horizon + 1

    def play(self, rewards: Run, horizon: int, rng: Rng) -> None:
        plan = self.plan(rewards.n_arms, horizon)
        viable, last = np.arange(rewards.n_arms), list[Floats]()
        for epoch, pulls in enumerate(plan.pulls):
            if viable.size == 1:
                rewards.commit(viable[0])
            sums, squares = rewards.moments(viable, pulls)
            released = np.array([sums, sums - squares])
            if self.epsilon < np.inf:
                released += laplace_noise(rng, 1 / self.epsilon, released.size).reshape(2, -1)
            last = [*last, released][-self.memory :]
            kept = bennett_kept_kernel(plan, epoch, *np.sum(last, axis=0))
            viable, last = viable[kept], [each[:, kept] for each in last]

    def plan(self, n_arms: int, horizon: int) -> BennettPlan:
        """Return epochs and tests: `bennett_plan`.

        Parameters
        ----------
        n_arms : int
            Number of arms K.
        horizon : int
            Horizon T of the algorithm, at least 2.

        Returns
        -------
        BennettPlan
            Pulls of the epochs, and thresholds of the tests.

        Raises
        ------
        ValueError
            If an argument is out of its range.
        """
        beta = 1 / horizon if self.beta is None else self.beta
        return bennett_plan(n_arms, horizon, beta, self.epsilon, self.memory)

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        if isinstance(instance, BernoulliInstance):
            variances = instance.means * (1 - instance.means)
        else:
            known = [getattr(law, "variance", 0.25) for law in instance.laws]
            variances = np.minimum(known, instance.means * (1 - instance.means))
        bound = partial(bounds.bennett_elimination_regret, instance.means, variances, horizon)
        return partial(bound, epsilon=self.epsilon, beta=self.beta, memory=self.memory)
