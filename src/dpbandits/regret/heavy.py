"""Heavy-tailed rewards: what the algorithms for them share, and DPRSE and LDPRSE.

TWZW22 is Tao, Wu, Zhao & Wang (2022). Pseudo-code: :prf:ref:`alg-rse`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from dpbandits import bounds
from dpbandits._arrays import Floats, Ints, Rng
from dpbandits.configuration import Budget, Configuration, Fraction
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.heavy_schedules import HeavyEpochPlan, heavy_epoch
from dpbandits.mechanisms import laplace_total
from dpbandits.regret.base import Play, RegretAlgorithm
from dpbandits.rewards.heavy_laws import HeavyTailInstance, ParetoLaw, TwoPointHeavyLaw
from dpbandits.rewards.truncated_sums import truncated_sum
from dpbandits.schedules import round_robin

__all__ = [
    "DPRSE",
    "LDPRSE",
    "HeavyElimination",
    "HeavyTailAlgorithm",
    "law_codes",
    "play_heavy_elimination",
]

LONGEST = 2**62


def law_codes(instance: HeavyTailInstance) -> tuple[Ints, Floats]:
    """Return the kinds of the arms' laws, shape (K,), and their parameters, shape (K, 2)."""
    return instance.codes


class HeavyTailAlgorithm(RegretAlgorithm, Configuration):
    """Base class of the algorithms that are told E∣X∣^(1+v) ≤ u; u and v are the instance's."""

    def check_instance(self, instance: object) -> None:
        """Refuse anything but a `HeavyTailInstance`."""
        if not isinstance(instance, HeavyTailInstance):
            raise ValueError(
                f"instance={instance!r} has no moment bound, which {type(self).__name__} must "
                'know; allowed: a HeavyTailInstance such as instances.twzw22("S1", order=0.9)'
            )


@dataclass(frozen=True)
class HeavyElimination(HeavyTailAlgorithm):
    """Base class of DPRSE and LDPRSE: elimination by the epochs of `heavy_epoch`."""

    model: ClassVar[str]

    epsilon: Budget
    beta: Fraction | None
    schedule: str

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Pure ε-privacy: of all pulls (Theorem 3), or of each released reward (Theorem 6)."""
        return PrivacyGuarantee(self.model, self.epsilon)

    def play(self, instance: HeavyTailInstance, horizon: int, checkpoints: Ints, rng: Rng) -> Play:
        """Play once; see `RegretAlgorithm.play`."""
        self.check_instance(instance)
        plan = partial(
            heavy_epoch,
            beta=1 / horizon if self.beta is None else self.beta,
            epsilon=self.epsilon,
            moment=instance.moment_bound,
            order=instance.order,
            model=self.model,
            schedule=self.schedule,
        )
        return play_heavy_elimination(instance, checkpoints, rng, plan)

    def regret_bound(
        self, instance: HeavyTailInstance, horizon: int, times: ArrayLike | None = None
    ) -> float | Floats:
        """Bound on the expected pseudo-regret: `heavy_elimination_regret`.

        For "published-remark" it is t times the greatest gap: nothing better is true in general.
        """
        self.check_instance(instance)
        if self.schedule == "published-remark":
            return bounds.worst_heavy_regret(instance.gaps, horizon, times=times)
        return bounds.heavy_elimination_regret(
            instance.gaps,
            horizon,
            epsilon=self.epsilon,
            moment=instance.moment_bound,
            order=instance.order,
            model=self.model,
            schedule=self.schedule,
            beta=self.beta,
            times=times,
        )


def play_heavy_elimination(
    instance: HeavyTailInstance,
    checkpoints: Ints,
    rng: Rng,
    plan_epoch: Callable[[int, int], HeavyEpochPlan],
) -> Play:
    """Play successive elimination on private means of truncated rewards, fresh in every epoch.

    Each epoch pulls the viable arms in turn, R times each. What is decided at its end depends on
    each arm's sum of truncated rewards and on the sum of its Laplace variables alone, so both are
    drawn at once, by `truncated_sum` and `laplace_total`. The run ends at the last checkpoint, 2^62
    at most; an epoch that it cuts short releases nothing. `plan_epoch` maps (number of viable arms,
    epoch number from 1) to a `HeavyEpochPlan`.
    """
    end = int(checkpoints[-1])
    if end > LONGEST:
        raise ValueError(f"checkpoints={checkpoints!r} are out of range; allowed: up to 2^62")
    counts = np.zeros((checkpoints.size, instance.n_arms), dtype=np.int64)
    pulled = np.zeros(instance.n_arms, dtype=np.int64)
    viable = np.arange(instance.n_arms)
    epoch_ends: list[int] = []
    t = 0
    while t < end:
        planned = end - t
        if viable.size > 1:
            plan = plan_epoch(viable.size, len(epoch_ends) + 1)
            planned = plan.pulls * viable.size
        stretch = min(planned, end - t)
        first, last = np.searchsorted(checkpoints, (t, t + stretch), side="right")
        counts[first:last] = pulled
        counts[first:last, viable] += round_robin(checkpoints[first:last] - t, viable.size)
        pulled[viable] += round_robin(np.array(stretch), viable.size)
        t += stretch
        if viable.size > 1 and stretch == planned:
            means = np.array([_private_mean(instance, arm, plan, rng) for arm in viable.tolist()])
            viable = viable[means.max() - means <= plan.threshold]
            epoch_ends.append(t)
    return Play(counts, np.array(epoch_ends, dtype=np.int64))


def _private_mean(instance: HeavyTailInstance, arm: int, plan: HeavyEpochPlan, rng: Rng) -> float:
    total = truncated_sum(rng, instance.laws[arm], plan.pulls, plan.bound)
    if plan.noise_scale > 0:
        total += laplace_total(rng, plan.noise_scale, plan.noise_draws)
    return total / plan.pulls


@dataclass(frozen=True)
class DPRSE(HeavyElimination):
    """DP robust successive elimination: TWZW22, Algorithm 3.

    In epoch τ = 1, 2, … every viable arm is pulled R times; rewards beyond B count as 0; the mean
    of the epoch's truncated rewards is released with one Laplace variable of scale 2B/(Rε), and
    an arm is eliminated when its released mean lies too far below the best. R (the paper's R_τ),
    B (B_τ) and the threshold (12·err_τ): `dpbandits.heavy_schedules.heavy_epoch`. u and v are the
    instance's `moment_bound` and `order`.

    One reward changes one epoch's sum of one arm by at most 2B: all released means together are
    ε-private, and so are the pulls, which they determine; whether or not the moment is as promised.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` gives elimination by truncated means without noise.
    beta : float, optional
        Confidence β in (0, 1). None means 1/T, as in the paper's Theorem 4.
    schedule : {"printed", "tightened"}
        Constants: 24 and 12, or 4c and 2c with c = 3 + √(2ε) + ε/3 ≤ 4.75, which is what the proof
        needs.

    Notes
    -----
    Deviations from the paper: its formulas are lost in our copy, so that the constants 24 and 12
    are inferred, and proved, not quoted. For ε > 1 the lengths and thresholds are those of ε = 1;
    the noise is that of ε. Horizons go to 2^62. Proof: :prf:ref:`thm-rse`.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> s1 = dpb.instances.twzw22("S1", order=0.9)
    >>> runs = dpb.simulate(dpb.DPRSE(epsilon=1.0), s1, horizon=10**9, n_runs=2)
    >>> runs.pulls.sum(axis=1).tolist()
    [1000000000, 1000000000]
    """

    label: ClassVar[str] = "DPRSE"
    source: ClassVar[str] = "TWZW22, Algorithm 3"
    model: ClassVar[str] = "global"

    epsilon: Budget
    beta: Fraction | None = None
    schedule: Literal["printed", "tightened"] = "printed"


@dataclass(frozen=True)
class LDPRSE(HeavyElimination):
    """Locally DP robust successive elimination: TWZW22, Algorithm 4, on a schedule that works.

    In epoch τ = 1, 2, … every viable arm is pulled R times. Each reward is truncated at B, gets
    its own Laplace variable of scale 2B/ε (B/ε for "non-negative") and is released; an arm is
    eliminated when the mean of what was released lies too far below the best. R, B and the
    threshold: `dpbandits.heavy_schedules.heavy_epoch`. u and v are the instance's `moment_bound`
    and `order`.

    A truncated reward lies in [−B, B], and B follows from earlier released values alone: each
    release is ε-locally private.

    Parameters
    ----------
    epsilon, beta : float
        As of `DPRSE`.
    schedule : {"minimax", "non-negative", "published-remark"}
        "minimax": R of order Δ^(−2(1+v)/v)/ε², the best possible (:prf:ref:`thm-heavy-lower`).
        "non-negative": the same with half the noise, for rewards in [0, ∞) only.
        "published-remark": R of order Δ^(−(1+v)/v)/ε², as the paper's Remark 3 on the price of
        local privacy implies. **It does not work**, by a factor √R in the noise; it is here to
        show that (:prf:ref:`cor-flaw`).

    Notes
    -----
    The paper's formulas are lost in our copy: the schedule is derived in :prf:ref:`thm-rse`. Zhou
    & Zhang (NeurIPS 2024) found a flaw in the paper's local results. The noises of an epoch are
    drawn as one sum, exact in law (`laplace_total`). Horizons go to 2^62.

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
    schedule: Literal["minimax", "non-negative", "published-remark"] = "minimax"

    def check_instance(self, instance: object) -> None:
        """Refuse what has no moment bound, or may be negative where it must not."""
        super().check_instance(instance)
        if self.schedule != "non-negative":
            return
        for law in getattr(instance, "laws", ()):
            if not isinstance(law, ParetoLaw | TwoPointHeavyLaw):
                raise ValueError(
                    f"instance={instance!r} has the law {law!r}, which may be negative; "
                    "allowed: Pareto and two-point laws"
                )
