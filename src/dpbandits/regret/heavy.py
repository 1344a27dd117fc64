"""Heavy-tailed rewards: the base of the algorithms for them, and DPRSE and LDPRSE.

TWZW22 is Tao, Wu, Zhao & Wang (2022). Pseudo-code: :prf:ref:`alg-rse`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from dpbandits import bounds
from dpbandits._arrays import Ints, Rng
from dpbandits.configuration import Budget, Configuration, Count, Fraction, checked_arguments
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.heavy.schedules import HeavyEpochPlan, heavy_epoch
from dpbandits.mechanisms import laplace_total
from dpbandits.mechanisms.randomised_response import randomised_response
from dpbandits.regret.base import RegretAlgorithm
from dpbandits.rewards.heavy_instances import HeavyTailInstance
from dpbandits.rewards.heavy_laws import ParetoLaw, TwoPointHeavyLaw
from dpbandits.rewards.run import Run
from dpbandits.rewards.tables import Tables, least_horizon
from dpbandits.schedules import MOST_PULLS

REACH = 0.5
"""Largest reward of the tables: at least twice the gap that ends an epoch."""
NON_NEGATIVE = ("non-negative", "one-bit")
"""Schedules for rewards in [0, ∞) only."""
_ABOVE = 1.001


class Moment(NamedTuple):
    """Moment bound for algorithms for heavy tails: E∣X∣^(1+v) ≤ u.

    Attributes
    ----------
    order : float
        v, in (0, 1].
    moment_bound : float
        u > 0.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> dpb.DPRSE(epsilon=1.0).plan_epoch(Moment(1.0, 0.01), 2, epoch=1, horizon=10**6).pulls
    368
    """

    order: float
    moment_bound: float


class HeavyTailAlgorithm(RegretAlgorithm, Configuration):
    """Base class of the algorithms that know E∣X∣^(1+v) ≤ u; u and v are the instance's.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> algorithm = dpb.DPRSE(epsilon=1.0)
    >>> isinstance(algorithm, HeavyTailAlgorithm), algorithm.bound_for.__name__
    (True, 'HeavyTailInstance')
    """

    bound_for: ClassVar[Any] = HeavyTailInstance

    @property
    def tables(self) -> Tables | None:
        """Tables without truncated rewards, with a bound on the moment for which it decides early.

        The order is v = 1. The bound need not hold: privacy does not depend on it.
        """
        n_arms = 2
        least = least_horizon(partial(self.first_decision, n_arms), n_arms)
        return Tables(n_arms, least, None, -REACH, REACH, (1.0, self._moment_for(REACH)))

    def _moment_for(self, reward: float) -> float:
        """Return a bound on the second moment with which a reward like this is not truncated."""
        return 16 * reward**2

    def check_instance(self, instance: object) -> None:
        if not isinstance(instance, HeavyTailInstance):
            raise ValueError(
                f"instance={instance!r} has no moment bound, which {type(self).__name__} must "
                'know; allowed: a HeavyTailInstance such as instances.twzw22("S1", order=0.9)'
            )


@dataclass(frozen=True)
class HeavyElimination(HeavyTailAlgorithm, abstract=True):
    """Base class of DPRSE and LDPRSE: elimination by the epochs of `heavy_epoch`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` gives elimination by truncated means without noise.
    beta : float or None
        Confidence β in (0, 1); None means 1/T.
    schedule : str
        A schedule of `heavy_epoch`.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> algorithm = dpb.LDPRSE(epsilon=1.0)
    >>> isinstance(algorithm, HeavyElimination), algorithm.model, str(algorithm.guarantee)
    (True, 'local', 'ε = 1, local, event level')
    """

    model: ClassVar[str]
    releases: ClassVar[bool] = True

    epsilon: Budget
    beta: Fraction | None
    schedule: str

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Pure ε-privacy: of all pulls (Theorem 3), or of each released reward (Theorem 6)."""
        return PrivacyGuarantee(self.model, self.epsilon)

    @property
    def tables(self) -> Tables | None:
        if self.first_decision(2, MOST_PULLS) > MOST_PULLS:  # no table is that long
            return None
        found = super().tables
        if found is None or self.schedule not in NON_NEGATIVE:
            return found
        return replace(found, low=0.0)

    def _moment_for(self, reward: float) -> float:
        return _scaled_moment(self, reward)

    @checked_arguments
    def first_decision(self, n_arms: Count, horizon: Count) -> int:
        """Return the first pull after the first epoch, with the moment that `tables` promises.

        Parameters
        ----------
        n_arms : int
            Number of arms K.
        horizon : int
            Horizon of the algorithm, at least 2.

        Returns
        -------
        int
            The number of the pull, from 1.
        """
        told = Moment(1.0, self._moment_for(REACH))
        return n_arms * self.plan_epoch(told, n_arms, 1, horizon).pulls + 1

    def _promised(self, instance: Any) -> dict[str, Any]:
        return {
            "epsilon": self.epsilon,
            "moment": instance.moment_bound,
            "order": instance.order,
            "model": self.model,
            "schedule": self.schedule,
        }

    def play(self, rewards: Run, horizon: int, rng: Rng) -> None:
        viable = np.arange(rewards.n_arms)
        epoch = 0
        while viable.size > 1:
            epoch += 1
            plan = self.plan_epoch(rewards, viable.size, epoch, horizon)
            means = np.array(list(self._released(plan, rewards, viable, rng)))
            viable = viable[means.max() - means <= plan.threshold]
        rewards.commit(viable[0])

    def _released(
        self, plan: HeavyEpochPlan, rewards: Run, viable: Ints, rng: Rng
    ) -> Iterator[float]:
        """Pull the viable arms for an epoch and release a private mean of each."""
        if plan.lie is None:
            for total in rewards.truncated_totals(viable, plan.pulls, plan.bound):
                if plan.noise_scale > 0:
                    total += laplace_total(rng, plan.noise_scale, plan.noise_draws)
                yield total / plan.pulls
            return
        for ones in rewards.truncated_totals(viable, plan.pulls, plan.bound, rounded_by=rng):
            share = randomised_response(rng, int(ones), plan.pulls, self.epsilon) / plan.pulls
            yield plan.bound * (share - plan.lie) / (1 - 2 * plan.lie)

    def plan_epoch(self, rewards: Any, n_viable: int, epoch: int, horizon: int) -> HeavyEpochPlan:
        """Return the plan of an epoch: `heavy_epoch`.

        Parameters
        ----------
        rewards : Run or HeavyTailInstance
            Object with the order v and the bound u on the moment.
        n_viable : int
            Number of remaining arms.
        epoch : int
            Number of the epoch, from 1.
        horizon : int
            Horizon T of the algorithm.

        Returns
        -------
        HeavyEpochPlan
            Pulls, truncation, noise and threshold of the epoch.
        """
        beta = 1 / horizon if self.beta is None else self.beta
        return heavy_epoch(n_viable, epoch, beta, **self._promised(rewards))

    def _regret_bound(self, instance: HeavyTailInstance, horizon: int) -> Callable[..., Any]:
        if self.schedule == "remark-3":  # no better bound is true in general
            return partial(bounds.worst_regret, instance.gaps, horizon)
        bound = partial(bounds.heavy_elimination_regret, instance.gaps, horizon)
        return partial(bound, beta=self.beta, **self._promised(instance))


@lru_cache(maxsize=256)
def _scaled_moment(algorithm: HeavyElimination, reward: float) -> float:
    """Return the u for which the first epoch truncates slightly above a reward, for v = 1.

    The bound B is nearly proportional to u, and decreases in the horizon: the longest one is used.
    """
    moment = 1.0
    for _ in range(8):
        bound = algorithm.plan_epoch(Moment(1.0, moment), 2, 1, MOST_PULLS).bound
        moment *= _ABOVE * reward / bound
    return moment


@dataclass(frozen=True)
class DPRSE(HeavyElimination):
    """DP robust successive elimination: TWZW22, Algorithm 3.

    Pseudo-code: :prf:ref:`alg-rse`.

    In epoch τ = 1, 2, … every viable arm is pulled R times; rewards beyond B count as 0; the mean
    of the epoch's truncated rewards is released with one Laplace variable of scale 2B/(Rε), and
    an arm is eliminated when its released mean is too far below the best. `heavy_epoch` computes R
    (the paper's R_τ), B (B_τ) and the threshold (12·err_τ) from the instance's `moment_bound` u and
    `order` v. The pulls are ε-private, whether or not the moment bound holds. Proof:
    :prf:ref:`thm-rse`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` gives elimination by truncated means without noise.
    beta : float, optional
        Confidence β in (0, 1). None means 1/T, as in the paper's Theorem 4.
    schedule : {"reconstructed", "fitted"}
        Constants: 24 and 12, or, for "fitted", the best proved cut, with and without noise
        (:prf:ref:`thm-fitted`).

    Notes
    -----
    Deviations from the paper: its formulas are missing in our copy, so the constants 24 and 12 are
    inferred and proved, not quoted. With them, for ε > 1, the lengths and thresholds are those of ε
    = 1, and the noise that of ε. Horizons are at most 2^62.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> s3 = dpb.instances.twzw22("S3", order=0.9)
    >>> runs = dpb.simulate(dpb.DPRSE(epsilon=1.0), s3, horizon=10**9, n_runs=2)
    >>> runs.pulls.sum(axis=1).tolist()
    [1000000000, 1000000000]
    """

    label: ClassVar[str] = "DPRSE"
    source: ClassVar[str] = "TWZW22, Algorithm 3"
    model: ClassVar[str] = "central"

    epsilon: Budget
    beta: Fraction | None = None
    schedule: Literal["reconstructed", "fitted"] = "reconstructed"


@dataclass(frozen=True)
class LDPRSE(HeavyElimination):
    """Locally DP robust successive elimination: TWZW22, Algorithm 4, on schedules of ours.

    Pseudo-code: :prf:ref:`alg-rse`.

    In epoch τ = 1, 2, … every viable arm is pulled R times. Each reward, truncated at B, gets its
    own Laplace variable of scale 2B/ε, or is reduced to one bit, and is released: it is in [−B, B],
    and B depends only on earlier released values, so that each release is ε-locally private. An arm
    is eliminated when the mean of its released values in the epoch is too far below the best.
    `heavy_epoch` computes R, B and the threshold from the instance's `moment_bound` u and `order`
    v. Proof:
    :prf:ref:`thm-rse`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0 of each reward; ``inf`` gives elimination by truncated means without
        noise.
    beta : float, optional
        Confidence β in (0, 1). None means 1/T.
    schedule : {"balanced", "fitted", "non-negative", "one-bit", "remark-3"}
        "balanced": a cut where bias equals noise, and R of order Δ^(−2(1+v)/v)/ε², the best
        possible (:prf:ref:`thm-heavy-lower`). "fitted": the same order with the best proved cut
        (:prf:ref:`thm-fitted`). "non-negative": the same with half the noise, for rewards in [0, ∞)
        only. "one-bit": a reward x in [0, B] is released as yes or no, yes with probability q + (1
        − 2q)·x/B, q = 1/(1 + e^ε), for rewards in [0, ∞) only. Of all schedules here it has the
        shortest epochs for ε up to about 2.3 (:prf:ref:`thm-one-bit`). "remark-3": R of order
        Δ^(−(1+v)/v)/ε², as the paper's Remark 3 on the price of local privacy suggests in our
        reading. **It does not work**, by a factor √R in the noise; it is included to show that
        (:prf:ref:`cor-flaw`).

    Notes
    -----
    The paper's formulas are missing in our copy: the schedule is derived in :prf:ref:`thm-rse`.
    Zhou & Zhang (NeurIPS 2024) found that no algorithm can have the paper's worst-case rate
    (:prf:ref:`cor-flaw`). Horizons are at most 2^62.

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

    epsilon: Budget
    beta: Fraction | None = None
    schedule: Literal["balanced", "fitted", "non-negative", "one-bit", "remark-3"] = "balanced"

    def check_instance(self, instance: object) -> None:
        super().check_instance(instance)
        if self.schedule not in NON_NEGATIVE:
            return
        for law in getattr(instance, "laws", ()):
            if not isinstance(law, ParetoLaw | TwoPointHeavyLaw):
                raise ValueError(
                    f"instance={instance!r} has the law {law!r}, which may be negative; "
                    "allowed: Pareto and two-point laws"
                )
