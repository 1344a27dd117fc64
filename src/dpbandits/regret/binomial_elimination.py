"""Successive elimination by two p-values: exact tests on counts released with noise."""

from __future__ import annotations

import itertools
from collections import deque
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from dpbandits import bounds
from dpbandits._arrays import Floats, Rng
from dpbandits.configuration import Budget, Count, Fraction, checked_arguments, whole
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms import laplace_noise
from dpbandits.mechanisms.noisy_counts import rules_out_kernel, tail_coefficients
from dpbandits.regret.base import RegretAlgorithm
from dpbandits.rewards.run import Run
from dpbandits.schedules import ReleasePlan, release_plan

__all__ = ["BinomialDPSE"]


@dataclass(frozen=True)
class BinomialDPSE(RegretAlgorithm):
    """DP successive elimination by two p-values, for rewards of 0 and 1.

    Pseudo-code: :prf:ref:`alg-two-p-values`.

    The pulls of each viable arm double from epoch to epoch, n_e = 2^(e−1)·n_1. At the end of an
    epoch the sum of each viable arm's fresh rewards is released with Laplace noise of scale 1/ε;
    S̃_a is the sum of the arm's last m releases. The leader, of the largest S̃, rules out an arm a
    if no mean θ explains both:

        sup_θ P⁺(S̃_leader; θ)·P⁻(S̃_a; θ) ≤ κ,

    where P⁺(s; θ) and P⁻(s; θ) are the exact probabilities of at least s, and of at most s, under
    mean θ. The last arm is played to the horizon. See `dpbandits.schedules.release_plan` for n_1
    and κ.

    Each reward enters one release of one arm, with sensitivity 1, and reuse of releases is
    post-processing: the sequence of pulls is ε-differentially private. Proof:
    :prf:ref:`prop-two-private`. The bound on the regret is `binomial_elimination_regret`. Proof:
    :prf:ref:`thm-two-p-values`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed and adds no noise.
    beta : float, optional
        Confidence β in (0, 1). None means 1/T, with T the horizon of the simulation.
    memory : int
        Number m of remembered releases, from 1 to 16.

    Notes
    -----
    Derived here, within the framework of `DPSE`. Rewards between 0 and 1 are rounded to 0 or 1 at
    random, which preserves their means. An epoch cut short by the horizon releases nothing. The
    supremum is computed to about 10^−12; an arm is ruled out only if it is certainly below κ
    despite that rounding.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> runs = dpb.simulate(dpb.BinomialDPSE(1.0), dpb.instances.ss19("C2"), 10**6, n_runs=2)
    >>> runs.how, runs.pulls.sum(axis=1).tolist()
    ('epoch by epoch', [1000000, 1000000])
    """

    label: ClassVar[str] = "DP-SE, two p-values"
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
        plan, epoch, decided = self.plan(n_arms, horizon), 1, self.epsilon < np.inf
        while not decided:  # without noise, no success must lose against only successes
            all_of_them = float(plan.counted(epoch, self.memory))
            law = all_of_them, self.epsilon, tail_coefficients(1), plan.log_level
            decided = bool(rules_out_kernel(all_of_them, 0.0, *law))
            epoch += not decided
        return n_arms * plan.pulls(epoch) + 1

    def play(self, rewards: Run, horizon: int, rng: Rng) -> None:
        plan = self.plan(rewards.n_arms, horizon)
        viable = np.arange(rewards.n_arms)
        remembered: deque[Floats] = deque(maxlen=self.memory)
        for epoch in itertools.count(1):
            sums = np.zeros(rewards.n_arms)
            sums[viable] = rewards.totals(viable, plan.counted(epoch, 1), rounded_by=rng)
            if self.epsilon < np.inf:
                sums[viable] += laplace_noise(rng, 1 / self.epsilon, viable.size)
            remembered.append(sums)
            counts = np.sum(remembered, axis=0)[viable]
            tested = float(plan.counted(epoch, self.memory)), self.epsilon
            law = (*tested, tail_coefficients(len(remembered)), plan.log_level)
            best = counts.max()
            stays = [count == best or not rules_out_kernel(best, count, *law) for count in counts]
            viable = viable[stays]
            if viable.size == 1:
                rewards.commit(viable[0])

    def plan(self, n_arms: int, horizon: int) -> ReleasePlan:
        """Return the times of the releases and the level of the tests: `release_plan`.

        Parameters
        ----------
        n_arms : int
            Number K of arms.
        horizon : int
            Horizon T of the algorithm.

        Returns
        -------
        ReleasePlan
            The plan.

        Raises
        ------
        ValueError
            If an argument is out of range.
        """
        return release_plan(n_arms, horizon, self.confidence(horizon), self.epsilon)

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
            Bound on the probability of eliminating the best arm.
        """
        return 1 / horizon if self.beta is None else self.beta

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        bound = partial(bounds.binomial_elimination_regret, instance.means, horizon)
        return partial(bound, epsilon=self.epsilon, beta=self.beta, memory=self.memory)
