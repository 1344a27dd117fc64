"""Elimination algorithms simulated epoch by epoch: exact in law, at a cost of O(K · epochs)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpbandits.instances import BernoulliInstance
from dpbandits.mechanisms.laplace import laplace_noise
from dpbandits.regret.base import Play
from dpbandits.schedules import EpochPlan

__all__ = ["play_elimination", "round_robin"]


def round_robin(pulls: NDArray[np.int64], n_viable: int) -> NDArray[np.int64]:
    """Count pulls of each of `n_viable` arms after `pulls` pulls in turn, arm 0 first.

    Examples
    --------
    >>> import numpy as np
    >>> round_robin(np.array([0, 4]), 3).tolist()
    [[0, 0, 0], [2, 1, 1]]
    """
    turns: NDArray[np.int64] = (pulls[..., None] + np.arange(n_viable)[::-1]) // n_viable
    return turns


def play_elimination(
    instance: BernoulliInstance,
    checkpoints: NDArray[np.int64],
    rng: np.random.Generator,
    plan_epoch: Callable[[int, int], EpochPlan],
) -> Play:
    """Play successive elimination with fresh means in every epoch.

    Each epoch pulls the viable arms in turn, ⌈R_e⌉ times each. What is decided at its end
    depends on each arm's sum of rewards alone, so the sum is drawn at once, as one Binomial
    variable, and pulls are counted by arithmetic: the law of the run is that of the
    step-by-step algorithm.

    Parameters
    ----------
    instance : BernoulliInstance
        The bandit.
    checkpoints : numpy.ndarray of int, shape (C,)
        Increasing times at which the pulls are counted; the run ends at the last one.
    rng : numpy.random.Generator
        Source of randomness.
    plan_epoch : callable
        Maps (number of viable arms, epoch number from 1) to an `EpochPlan`.

    Returns
    -------
    Play
    """
    end = int(checkpoints[-1])
    counts = np.zeros((checkpoints.size, instance.n_arms), dtype=np.int64)
    pulled = np.zeros(instance.n_arms, dtype=np.int64)
    viable = np.arange(instance.n_arms)
    epoch_ends: list[int] = []
    t = 0
    while t < end:
        if viable.size > 1:
            plan = plan_epoch(viable.size, len(epoch_ends) + 1)
            planned = plan.pulls * viable.size
        else:
            planned = end - t
        stretch = min(planned, end - t)
        first, last = np.searchsorted(checkpoints, (t, t + stretch), side="right")
        counts[first:last] = pulled
        counts[first:last, viable] += round_robin(checkpoints[first:last] - t, viable.size)
        pulled[viable] += round_robin(np.array(stretch), viable.size)
        t += stretch
        if viable.size > 1 and stretch == planned:
            means = instance.sample_sum(rng, viable, plan.pulls) / plan.pulls
            if plan.noise_scale > 0:
                means = means + laplace_noise(rng, plan.noise_scale, viable.size)
            viable = viable[means.max() - means <= plan.threshold]
            epoch_ends.append(t)
    return Play(counts, np.array(epoch_ends, dtype=np.int64))
