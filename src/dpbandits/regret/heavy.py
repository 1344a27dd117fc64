"""What the algorithms for heavy-tailed rewards share: instances, and elimination by epochs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits import bounds
from dpbandits._validation import check_choice, check_fraction, check_positive
from dpbandits.heavy_schedules import HEAVY_SCHEDULES, HeavyEpochPlan, heavy_epoch
from dpbandits.mechanisms.laplace import laplace_total
from dpbandits.regret.base import Play, RegretAlgorithm
from dpbandits.rewards.heavy_instances import HeavyTailInstance
from dpbandits.rewards.heavy_laws import ParetoLaw, TwoPointHeavyLaw
from dpbandits.rewards.truncated_sums import truncated_sum
from dpbandits.schedules import round_robin

__all__ = [
    "HeavyElimination",
    "HeavyTailAlgorithm",
    "law_codes",
    "play_heavy_elimination",
    "require_heavy",
    "require_non_negative",
]

LONGEST = 2**62


def require_heavy(instance: object) -> HeavyTailInstance:
    """Return the instance if it is a `HeavyTailInstance`.

    Raises
    ------
    ValueError
        If it is not.
    """
    if not isinstance(instance, HeavyTailInstance):
        raise ValueError(
            f"instance={instance!r} is no instance for an algorithm that must know a moment bound; "
            'allowed: a HeavyTailInstance such as instances.twzw22("S1", order=0.9)'
        )
    return instance


def require_non_negative(instance: HeavyTailInstance) -> None:
    """Refuse an instance whose rewards are not known to be non-negative."""
    for law in instance.laws:
        if not isinstance(law, ParetoLaw | TwoPointHeavyLaw):
            raise ValueError(
                f"instance={instance!r} has the law {law!r}, which may be negative; "
                "allowed: Pareto and two-point laws"
            )


def law_codes(instance: HeavyTailInstance) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the kinds of the arms' laws, shape (K,), and their parameters, shape (K, 2)."""
    codes = [law.code for law in instance.laws]
    kinds = np.array([kind for kind, _, _ in codes], dtype=np.int64)
    return kinds, np.array([[first, second] for _, first, second in codes], dtype=np.float64)


class HeavyTailAlgorithm(RegretAlgorithm):
    """Base class of the algorithms that are told E|X|^(1+v) ≤ u; u and v are the instance's."""

    def check_instance(self, instance: object) -> None:
        """Refuse anything but a `HeavyTailInstance`."""
        require_heavy(instance)


@dataclass(frozen=True)
class HeavyElimination(HeavyTailAlgorithm):
    """Base class of DPRSE and LDPRSE: elimination by the epochs of `heavy_epoch`.

    Attributes
    ----------
    model : {"global", "local"}
        Model of privacy, a constant of the class.
    epsilon : float
        Privacy budget ε > 0; ``inf`` adds no noise.
    beta : float, optional
        Confidence β in (0, 1). None means 1/T.
    schedule : str
        One of the model's schedules.
    """

    model: ClassVar[str]

    epsilon: float
    beta: float | None
    schedule: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon, infinite=True))
        if self.beta is not None:
            object.__setattr__(self, "beta", check_fraction("beta", self.beta))
        check_choice("schedule", self.schedule, HEAVY_SCHEDULES[self.model])

    def play(
        self,
        instance: HeavyTailInstance,
        horizon: int,
        checkpoints: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> Play:
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
    ) -> float | NDArray[np.float64]:
        """Bound on the expected pseudo-regret: `heavy_elimination_regret`."""
        self.check_instance(instance)
        bound: float | NDArray[np.float64] = bounds.heavy_elimination_regret(
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
        return bound


def play_heavy_elimination(
    instance: HeavyTailInstance,
    checkpoints: NDArray[np.int64],
    rng: np.random.Generator,
    plan_epoch: Callable[[int, int], HeavyEpochPlan],
) -> Play:
    """Play successive elimination on private means of truncated rewards, fresh in every epoch.

    Each epoch pulls the viable arms in turn, R times each. What is decided at its end depends on
    each arm's sum of truncated rewards and on the sum of its Laplace variables alone, so both are
    drawn at once, by `truncated_sum` and `laplace_total`. An epoch costs what the bins of
    `truncated_sum` cost, however long it is.

    Parameters
    ----------
    instance : HeavyTailInstance
        The bandit.
    checkpoints : numpy.ndarray of int, shape (C,)
        Increasing times at which the pulls are counted; the run ends at the last one. Pulls are
        counted in int64, so that the last may be 2^62 at most. Epochs may be planned far longer:
        those that the last checkpoint cuts short release nothing.
    rng : numpy.random.Generator
        Source of randomness.
    plan_epoch : callable
        Maps (number of viable arms, epoch number from 1) to a `HeavyEpochPlan`.

    Returns
    -------
    Play

    Raises
    ------
    ValueError
        If the last checkpoint is beyond 2^62.
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


def _private_mean(
    instance: HeavyTailInstance, arm: int, plan: HeavyEpochPlan, rng: np.random.Generator
) -> float:
    total = truncated_sum(rng, instance.laws[arm], plan.pulls, plan.bound)
    if plan.noise_scale > 0:
        total += laplace_total(rng, plan.noise_scale, plan.noise_draws)
    return total / plan.pulls
