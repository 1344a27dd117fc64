"""Successive elimination, simulated epoch by epoch: exact in law, at a cost of O(K · epochs).

Each epoch pulls the viable arms in turn. What is decided at its end depends on each arm's sum of
rewards alone, which is drawn at once. Proof: :prf:ref:`prop-epochs`. When the epochs ended and in
which of them each arm was pulled last is all there is to know of a run; pulls and regret are
arithmetic on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from dpbandits import bounds
from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._kernels import kernel
from dpbandits.configuration import Budget, Fraction
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms import laplace_by_inversion, laplace_noise
from dpbandits.regret.base import Play, RegretAlgorithm, Times
from dpbandits.rewards.binomial import binomial
from dpbandits.rewards.streams import Bandit, DrawnRewards, Rewards, Source
from dpbandits.schedules import (
    EpochPlan,
    elimination_epoch,
    elimination_epoch_kernel,
    elimination_threshold_kernel,
)

__all__ = ["DPSE", "EliminationPlay", "SuccessiveElimination", "play_epochs"]

_MOST_EPOCHS = 32  # epoch e has more than 4^e pulls, a run at most 2^62


class EliminationPlay(Play):
    """A run of elimination, without its counts: O(K) numbers, whatever the checkpoints.

    `last_epoch`, shape (K,), has for each arm the number, from 1, of the epoch in which it was
    pulled last: E + 1 where it was viable to the end. The run ends at the last checkpoint.

    Examples
    --------
    Three arms, of which the second goes after 6 pulls:

    >>> play = EliminationPlay(np.array([4, 9]), np.array([6]), np.array([2, 1, 2]))
    >>> play.counts.tolist(), play.regret(np.array([0.0, 0.5, 0.25])).tolist()
    ([[2, 1, 1], [4, 2, 3]], [0.75, 1.75])
    """

    checkpoints: Times
    last_epoch: Ints

    def __init__(self, checkpoints: Times, epoch_ends: Times, last_epoch: Times) -> None:
        vars(self).update(checkpoints=checkpoints, epoch_ends=epoch_ends, last_epoch=last_epoch)

    @property
    def counts(self) -> Ints:
        """Pulls of each arm at the checkpoints, shape (C, K), counted anew when read."""
        counts: Ints = _counts(self.checkpoints, self.epoch_ends, self.last_epoch)
        return counts

    @property
    def pulls(self) -> Ints:
        counts: Ints = _counts(self.checkpoints[-1:], self.epoch_ends, self.last_epoch)
        return counts[0]

    def regret(self, gaps: Floats) -> Floats:
        regret: Floats = _regret(gaps, self.checkpoints, self.epoch_ends, self.last_epoch)
        return regret


@kernel
def _counts(checkpoints: Ints, epoch_ends: Ints, last_epoch: Ints) -> Ints:
    """Return the pulls of each arm at the checkpoints, shape (C, K)."""
    counts = np.zeros((checkpoints.size, last_epoch.size), np.int64)
    done = np.zeros(last_epoch.size, np.int64)
    start, c = 0, 0
    for e in range(epoch_ends.size + 1):
        viable = np.flatnonzero(last_epoch > e)
        stop = epoch_ends[e] if e < epoch_ends.size else checkpoints[-1]
        while c < checkpoints.size and checkpoints[c] <= stop:
            counts[c] = done
            turns, rest = divmod(checkpoints[c] - start, viable.size)
            for i in range(viable.size):
                counts[c, viable[i]] += turns + (i < rest)
            c += 1
        for a in viable:
            done[a] += (stop - start) // viable.size
        start = stop
    return counts


@kernel
def _regret(gaps: Floats, checkpoints: Ints, epoch_ends: Ints, last_epoch: Ints) -> Floats:
    """Return the pseudo-regret at the checkpoints, shape (C,)."""
    regret = np.empty(checkpoints.size)
    turn = np.zeros(gaps.size + 1)  # regret of the first pulls of one turn of the viable arms
    start, before, c = 0, 0.0, 0
    for e in range(epoch_ends.size + 1):
        size = 0
        for a in range(gaps.size):
            if last_epoch[a] > e:
                turn[size + 1] = turn[size] + gaps[a]
                size += 1
        stop = epoch_ends[e] if e < epoch_ends.size else checkpoints[-1]
        while c < checkpoints.size and checkpoints[c] <= stop:
            turns, rest = divmod(checkpoints[c] - start, size)
            regret[c] = before + turns * turn[size] + turn[rest]
            c += 1
        before += (stop - start) // size * turn[size]
        start = stop
    return regret


@kernel
def _eliminate(
    means: Floats, horizon: int, beta: float, epsilon: float, rng: Rng
) -> tuple[Ints, Ints]:
    """Return the ends of the epochs, shape (E,), and each arm's last epoch, shape (K,)."""
    viable = np.arange(means.size)
    released = np.empty(means.size)
    last_epoch = np.empty(means.size, np.int64)
    epoch_ends = np.empty(_MOST_EPOCHS, np.int64)
    size, epoch, t = means.size, 0, 0
    while size > 1:
        plan = elimination_epoch_kernel(size, epoch + 1, beta, epsilon)
        if not plan.length < 2.0**62:
            break
        pulls = math.ceil(plan.length)
        if pulls > (horizon - t) // size:
            break
        epoch += 1
        t += pulls * size
        epoch_ends[epoch - 1] = t
        for i in range(size):
            released[i] = binomial(rng, pulls, means[viable[i]]) / pulls
        if epsilon < math.inf:
            for i in range(size):
                released[i] += laplace_by_inversion(rng, plan.noise_scale)
        best = released[:size].max()
        threshold = elimination_threshold_kernel(plan)
        kept = 0
        for i in range(size):
            last_epoch[viable[i]] = epoch
            if best - released[i] <= threshold:
                viable[kept] = viable[i]
                kept += 1
        size = kept
    last_epoch[viable[:size]] = epoch + 1
    return epoch_ends[:epoch].copy(), last_epoch


def play_elimination(
    instance: Bandit | Source, checkpoints: Times, rng: Rng, beta: float, epsilon: float
) -> EliminationPlay:
    """Play (DP) successive elimination with the epochs of `elimination_epoch`; ε = ∞ has no noise.

    Bernoulli arms are played by a compiled loop, which draws the same numbers in the same order as
    `play_epochs` does.
    """
    rewards = instance.rewards(rng)
    if type(rewards) is DrawnRewards:
        record = _eliminate(rewards.means, checkpoints[-1], float(beta), float(epsilon), rng)
        return EliminationPlay(checkpoints, *record)

    def plan_epoch(n_viable: int, epoch: int) -> EpochPlan:
        return elimination_epoch(n_viable, epoch, beta, epsilon)

    return play_epochs(rewards.n_arms, checkpoints, plan_epoch, fresh_means(rewards, rng))


def fresh_means(rewards: Rewards, rng: Rng) -> Callable[[list[int], EpochPlan], Floats]:
    """Return what `play_epochs` asks for: means of new rewards, with Laplace noise."""

    def release(viable: list[int], plan: EpochPlan) -> Floats:
        means = np.array([rewards.total(arm, plan.pulls) for arm in viable]) / plan.pulls
        if plan.noise_scale > 0:
            means = means + laplace_noise(rng, plan.noise_scale, len(viable))
        return means

    return release


def play_epochs(
    n_arms: int,
    checkpoints: Times,
    plan_epoch: Callable[[int, int], Any],
    release: Callable[[list[int], Any], Floats],
) -> EliminationPlay:
    """Play successive elimination with fresh means in every epoch, with any plan of the epochs.

    `plan_epoch` maps (number of viable arms, epoch number from 1) to a plan with `pulls` of each
    arm and a `threshold`, and `release` maps the viable arms and a plan to the arms' means. An
    epoch that the last checkpoint cuts short releases nothing.
    """
    left = int(checkpoints[-1])
    viable = np.arange(n_arms)
    last_epoch = np.ones(n_arms, dtype=np.int64)
    epoch_ends: list[int] = []
    while viable.size > 1:
        plan = plan_epoch(viable.size, len(epoch_ends) + 1)
        left -= plan.pulls * viable.size
        if left < 0:
            break
        epoch_ends.append(int(checkpoints[-1]) - left)
        means = release(viable.tolist(), plan)
        viable = viable[means.max() - means <= plan.threshold]
        last_epoch[viable] = len(epoch_ends) + 1
    return EliminationPlay(checkpoints, np.array(epoch_ends, dtype=np.int64), last_epoch)


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

    def play(self, instance: Any, horizon: int, checkpoints: Times, rng: Rng) -> Play:
        return DPSE(math.inf, self.beta).play(instance, horizon, checkpoints, rng)

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        return partial(bounds.elimination_regret, instance.gaps, horizon, beta=self.beta)
