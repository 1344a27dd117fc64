"""DPRUCB of Tao, Wu, Zhao & Wang (2022): an index of private truncated sums."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from dpbandits import bounds
from dpbandits._arrays import Rng
from dpbandits.configuration import Budget, Positive
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.heavy.schedules import TreeIndexPlan, tree_index
from dpbandits.regret.heavy import HeavyTailAlgorithm, Moment
from dpbandits.rewards.heavy_instances import HeavyTailInstance
from dpbandits.rewards.run import Run

__all__ = ["DPRUCB"]

_EARLY = 64  # no reward of the tables is truncated up to this horizon


@dataclass(frozen=True)
class DPRUCB(HeavyTailAlgorithm):
    """DP robust UCB: Tao, Wu, Zhao & Wang (2022), Algorithms 1 and 2.

    Each arm has an adaptive tree. The arm's n-th reward counts as 0 beyond B_n = b·n^(1/(1+v)); the
    index is the tree's sum over n, plus a bonus; every arm is pulled once first, and ties go to the
    lowest arm number. u and v are the instance's `moment_bound` and `order`.

    One reward enters one tree, and the trees' sums determine the pulls: :prf:ref:`lem-adaptive`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` adds no noise.
    width : {"valid", "reconstructed"}
        Bonus: "valid" is a half-width that fails with probability at most T^−4 (`tree_index`),
        "reconstructed" is C·u^(1/(1+v))·(log(2t⁴)·Λ/(nε))^(v/(1+v)), our reading of the paper's
        Lemma 3. With Λ = (log T)^1.5 and v < 1 no C makes it valid at all T
        (:prf:ref:`prop-no-constant`); at the T of experiments 18 may suffice.
    scaling : {"fitted", "log"}, optional
        b: the best proved one, or that of Λ = (log T)^1.5, the order suggested by the text of the
        paper. None is "fitted" for valid widths and "log" for the reconstructed one.
    constant : float
        C > 0 of the reconstructed form. The paper's is unreadable in our copy: 18 is our choice.

    Notes
    -----
    The paper's formulas are missing in our copy; the exponent of B_n and its log^1.5 T are
    inferred. In the reconstructed bonus Λ/ε replaces u/b^(1+v).

    Examples
    --------
    >>> import dpbandits as dpb
    >>> s1 = dpb.instances.twzw22("S1", order=0.9)
    >>> runs = dpb.simulate(dpb.DPRUCB(epsilon=1.0), s1, horizon=10**5, n_runs=2)
    >>> runs.pulls.sum(axis=1).tolist()
    [100000, 100000]
    """

    label: ClassVar[str] = "DPRUCB"
    source: ClassVar[str] = "TWZW22, Algorithms 1 and 2"

    epsilon: Budget
    width: Literal["valid", "reconstructed"] = "valid"
    scaling: Literal["fitted", "log"] | None = None
    constant: Positive = 18.0

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Pure ε-differential privacy of the whole sequence of pulls (Theorem 1)."""
        return PrivacyGuarantee("central", self.epsilon)

    def play(self, rewards: Run, horizon: int, rng: Rng) -> None:
        n_arms, v = rewards.n_arms, rewards.order
        tree, width = self.plan(rewards, horizon).tree, self.bonus(rewards, horizon)
        counters = [tree.counter(rng) for _ in range(n_arms)]
        pulls, sums = np.zeros((2, n_arms))  # the sums are private
        for t in range(1, horizon + 1):
            if t <= n_arms:
                arm = t - 1
            else:
                log_term = math.log(2) + 4 * math.log(t) if self.width == "reconstructed" else 1.0
                index = sums / pulls + width * (log_term / pulls) ** (v / (1 + v))
                arm = int(np.argmax(index))
            reward = rewards.total(arm, 1)
            pulls[arm] += 1
            if abs(reward) > tree.bound(int(pulls[arm])):
                reward = 0.0
            sums[arm] = counters[arm].add(reward)

    def _moment_for(self, reward: float) -> float:
        first = self.plan(Moment(1.0, 1.0), _EARLY).tree.bound(1)  # of order √u
        return (reward / first) ** 2

    def plan(self, instance: Any, horizon: int) -> TreeIndexPlan:
        """Return counter and valid widths: `tree_index`.

        Parameters
        ----------
        instance : Run or HeavyTailInstance
            Object with the order v and the bound u on the moment.
        horizon : int
            Horizon T ≥ 2 of the algorithm.

        Returns
        -------
        TreeIndexPlan
            Counter and widths.

        Raises
        ------
        ValueError
            If `horizon` is not an integer of at least 2.
        """
        return tree_index(
            horizon, self.epsilon, instance.moment_bound, instance.order, self._scaling
        )

    @property
    def _scaling(self) -> str:
        if self.scaling is None:
            return "fitted" if self.width == "valid" else "log"
        return self.scaling

    def bonus(self, instance: Any, horizon: int) -> float:
        """Return the bonus of an arm with one reward, for the reconstructed width without log(2t⁴).

        Parameters
        ----------
        instance : Run or HeavyTailInstance
            Object with the order v and the bound u on the moment.
        horizon : int
            Horizon T ≥ 2 of the algorithm.

        Returns
        -------
        float
            The bonus, in units of a reward.

        Raises
        ------
        ValueError
            If `horizon` is not an integer of at least 2.
        """
        plan = self.plan(instance, horizon)
        if self.width == "valid":
            return plan.width
        power = 1 / (1 + instance.order)
        ratio = instance.moment_bound / plan.tree.bound(1) ** (1 + instance.order)  # Λ/ε
        return float(self.constant * instance.moment_bound**power * ratio ** (1 - power))

    def _regret_bound(self, instance: HeavyTailInstance, horizon: int) -> Any:
        if self.width == "reconstructed":  # no better bound is true in general
            return partial(bounds.worst_regret, instance.gaps, horizon)
        known: dict[str, Any] = {"moment": instance.moment_bound, "order": instance.order}
        bound = partial(bounds.dprucb_regret, instance.gaps, horizon, epsilon=self.epsilon)
        return partial(bound, scaling=self._scaling, **known)
