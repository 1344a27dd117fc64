"""Successive elimination, epoch by epoch: exact in law, at a cost of O(K · epochs).

What is decided at the end of an epoch depends on each arm's sum of rewards alone, which is drawn at
once. Proof: :prf:ref:`prop-epochs`. When the epochs ended and in which of them each arm was pulled
last is all there is to know of a run; pulls and regret are arithmetic on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._kernels import kernel
from dpbandits.acceleration import accelerates
from dpbandits.elimination_epochs import BennettPlan, bennett_kept_kernel
from dpbandits.mechanisms import laplace
from dpbandits.regret.base import Play, Times
from dpbandits.regret.bennett_elimination import BennettDPSE
from dpbandits.regret.elimination import DPSE, SuccessiveElimination
from dpbandits.regret.tuned_elimination import TunedDPSE
from dpbandits.rewards.binomial import binomial
from dpbandits.rewards.streams import DrawnRewards
from dpbandits.schedules import (
    MOST_PULLS,
    elimination_epoch_kernel,
    elimination_threshold_kernel,
)

__all__ = ["EliminationPlay"]

_MOST_EPOCHS = 32  # of a run of 2^62 pulls at most: epoch e has more than 4^e, or there are 31


class EliminationPlay(Play):
    """A run of elimination, without its counts: O(K) numbers, whatever the checkpoints.

    Parameters
    ----------
    checkpoints : numpy.ndarray of int, shape (C,)
        Increasing numbers of pulls at which the pulls are counted; the last ends the run.
    epoch_ends : numpy.ndarray of int, shape (E,)
        Numbers of pulls at which the epochs ended.
    last_epoch : numpy.ndarray of int, shape (K,)
        For each arm the number, from 1, of the epoch in which it was pulled last: E + 1 where it
        was viable to the end.

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
        at_once = int(epoch_ends[-1]) if epoch_ends.size else 0
        record = {"checkpoints": checkpoints, "epoch_ends": epoch_ends, "last_epoch": last_epoch}
        vars(self).update(record, at_once=at_once)

    @property
    def counts(self) -> Ints:
        """Pulls of each arm at the checkpoints, shape (C, K), counted anew when read."""
        counts: Ints = _counts(self.checkpoints, self.epoch_ends, self.last_epoch)
        return counts

    @property
    def pulls(self) -> Ints:
        counts: Ints = _counts(self.checkpoints[-1:], self.epoch_ends, self.last_epoch)
        found: Ints = counts[0]
        return found

    def regret(self, gaps: Floats) -> Floats:
        regret: Floats = _regret(gaps, self.checkpoints, self.epoch_ends, self.last_epoch)
        return regret

    def fault(self, checkpoints: Times, n_arms: int) -> str:  # the counts cannot be wrong otherwise
        same = np.array_equal(self.checkpoints, checkpoints) and self.last_epoch.shape == (n_arms,)
        return "" if same else "returned other checkpoints or arms; allowed: those it was given"


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


class _Printed(NamedTuple):
    """Epochs of DP-SE, which depend on how many arms are viable."""

    beta: float
    epsilon: float


class _Tuned(NamedTuple):
    """Epochs of tuned DP-SE, fixed beforehand."""

    pulls: Ints
    epsilon: float


@kernel
def _printed_epoch(rule: _Printed, size: int, epoch: int) -> tuple[int, float, float]:
    plan = elimination_epoch_kernel(size, epoch + 1, rule.beta, rule.epsilon)
    pulls = math.ceil(plan.length) if plan.length < float(MOST_PULLS) else MOST_PULLS
    return pulls, elimination_threshold_kernel(plan), plan.noise_scale


@kernel
def _tuned_epoch(rule: _Tuned, size: int, epoch: int) -> tuple[int, float, float]:
    pulls = rule.pulls[epoch]
    return pulls, 0.5 ** (epoch + 2), 1.0 / (rule.epsilon * pulls)


_EPOCHS: dict[type, Callable[..., tuple[int, float, float]]] = {
    _Printed: _printed_epoch,
    _Tuned: _tuned_epoch,
}


def _epoch_of(rule: Any, size: int, epoch: int) -> tuple[int, float, float]:
    """Return pulls of an arm, threshold and scale of the noise in an epoch, from 0.

    `size` arms are viable. 2^62 pulls of each of two arms are more than any run has.
    """
    return _EPOCHS[type(rule)](rule, size, epoch)


@overload(_epoch_of)
def _compiled_epoch_of(rule, size, epoch):  # type: ignore[no-untyped-def]  # noqa: ANN001
    planned = _EPOCHS[rule.instance_class]
    return lambda rule, size, epoch: planned(rule, size, epoch)


@kernel
def _eliminate(means: Floats, horizon: int, rule: Any, rng: Rng) -> tuple[Ints, Ints]:
    """Return the ends of the epochs, shape (E,), and each arm's last epoch, shape (K,)."""
    viable = np.arange(means.size)
    released = np.empty(means.size)
    last_epoch = np.empty(means.size, np.int64)
    epoch_ends = np.empty(_MOST_EPOCHS, np.int64)
    size, epoch, t = means.size, 0, 0
    while size > 1:
        pulls, threshold, scale = _epoch_of(rule, size, epoch)
        if pulls > (horizon - t) // size:
            break
        epoch += 1
        t += pulls * size
        epoch_ends[epoch - 1] = t
        for i in range(size):
            released[i] = binomial(rng, pulls, means[viable[i]]) / pulls
        if rule.epsilon < math.inf:
            for i in range(size):
                released[i] += laplace(rng, scale)
        best = released[:size].max()
        kept = 0
        for i in range(size):
            last_epoch[viable[i]] = epoch
            if best - released[i] <= threshold:
                viable[kept] = viable[i]
                kept += 1
        size = kept
    last_epoch[viable[:size]] = epoch + 1
    return epoch_ends[:epoch].copy(), last_epoch


@accelerates(DPSE, on=DrawnRewards, name="epoch by epoch")
def play_dp_se(
    algorithm: DPSE, rewards: DrawnRewards, horizon: int, checkpoints: Times, rng: Rng
) -> EliminationPlay:
    """Play on Bernoulli arms: the numbers that `DPSE.play` draws, in its order.

    Parameters
    ----------
    algorithm : DPSE
        The algorithm.
    rewards : DrawnRewards
        Rewards of the run, of K arms.
    horizon : int
        Horizon T that the algorithm is told.
    checkpoints : numpy.ndarray of int, shape (C,)
        Increasing numbers of pulls at which the pulls are counted; the last ends the run.
    rng : numpy.random.Generator
        Source of all randomness of the run.

    Returns
    -------
    EliminationPlay
        The pulls at the checkpoints.
    """
    rule = _Printed(algorithm.confidence(horizon), algorithm.epsilon)
    return EliminationPlay(checkpoints, *_eliminate(rewards.means, int(checkpoints[-1]), rule, rng))


@accelerates(TunedDPSE, on=DrawnRewards, name="epoch by epoch")
def play_tuned(
    algorithm: TunedDPSE, rewards: DrawnRewards, horizon: int, checkpoints: Times, rng: Rng
) -> EliminationPlay:
    """Play on Bernoulli arms: the numbers that `TunedDPSE.play` draws, in its order.

    Parameters
    ----------
    algorithm : TunedDPSE
        The algorithm.
    rewards : DrawnRewards
        Rewards of the run, of K arms.
    horizon : int
        Horizon T that the algorithm is told.
    checkpoints : numpy.ndarray of int, shape (C,)
        Increasing numbers of pulls at which the pulls are counted; the last ends the run.
    rng : numpy.random.Generator
        Source of all randomness of the run.

    Returns
    -------
    EliminationPlay
        The pulls at the checkpoints.
    """
    rule = _Tuned(algorithm.epochs(rewards.n_arms, horizon), algorithm.epsilon)
    return EliminationPlay(checkpoints, *_eliminate(rewards.means, int(checkpoints[-1]), rule, rng))


@kernel
def _eliminate_by_variance(
    means: Floats, horizon: int, plan: BennettPlan, memory: int, epsilon: float, rng: Rng
) -> tuple[Ints, Ints]:
    """Return the ends of the epochs, shape (E,), and each arm's last epoch, shape (K,)."""
    viable = np.arange(means.size)
    last = np.zeros((means.size, memory, 2))  # releases of viable arms: epoch e's in e % memory
    sums, spreads = np.empty(means.size), np.empty(means.size)
    last_epoch = np.empty(means.size, np.int64)
    epoch_ends = np.empty(plan.pulls.size, np.int64)
    size, epoch, t = means.size, 0, 0
    while size > 1:
        pulls = plan.pulls[epoch]
        if pulls > (horizon - t) // size:
            break
        t += pulls * size
        epoch_ends[epoch] = t
        row = epoch % memory
        for i in range(size):
            last[i, row, 0] = binomial(rng, pulls, means[viable[i]])
            last[i, row, 1] = 0.0  # x(1 − x) is 0 for a reward of 0 or 1
        if epsilon < math.inf:
            for kind in range(2):
                for i in range(size):
                    last[i, row, kind] += laplace(rng, 1.0 / epsilon)
        for i in range(size):
            sums[i] = spreads[i] = 0.0
            for e in range(max(0, epoch + 1 - memory), epoch + 1):
                sums[i] += last[i, e % memory, 0]
                spreads[i] += last[i, e % memory, 1]
        stays = bennett_kept_kernel(plan, epoch, sums[:size], spreads[:size])
        epoch += 1
        kept = 0
        for i in range(size):
            last_epoch[viable[i]] = epoch
            if stays[i]:
                viable[kept] = viable[i]
                if kept < i:
                    last[kept] = last[i]
                kept += 1
        size = kept
    last_epoch[viable[:size]] = epoch + 1
    return epoch_ends[:epoch].copy(), last_epoch


@accelerates(BennettDPSE, on=DrawnRewards, name="epoch by epoch")
def play_bennett(
    algorithm: BennettDPSE, rewards: DrawnRewards, horizon: int, checkpoints: Times, rng: Rng
) -> EliminationPlay:
    """Play on Bernoulli arms: the numbers that `BennettDPSE.play` draws, in its order.

    Parameters
    ----------
    algorithm : BennettDPSE
        The algorithm.
    rewards : DrawnRewards
        Rewards of the run, of K arms.
    horizon : int
        Horizon T that the algorithm is told.
    checkpoints : numpy.ndarray of int, shape (C,)
        Increasing numbers of pulls at which the pulls are counted; the last ends the run.
    rng : numpy.random.Generator
        Source of all randomness of the run.

    Returns
    -------
    EliminationPlay
        The pulls at the checkpoints.
    """
    plan, end = algorithm.plan(rewards.n_arms, horizon), int(checkpoints[-1])
    told = plan, algorithm.memory, algorithm.epsilon
    return EliminationPlay(checkpoints, *_eliminate_by_variance(rewards.means, end, *told, rng))


@accelerates(SuccessiveElimination, on=DrawnRewards, name="epoch by epoch")
def play_se(
    algorithm: SuccessiveElimination,
    rewards: DrawnRewards,
    horizon: int,
    checkpoints: Times,
    rng: Rng,
) -> EliminationPlay:
    """Play on Bernoulli arms: DP-SE without noise.

    Parameters
    ----------
    algorithm : SuccessiveElimination
        The algorithm.
    rewards : DrawnRewards
        Rewards of the run, of K arms.
    horizon : int
        Horizon T that the algorithm is told.
    checkpoints : numpy.ndarray of int, shape (C,)
        Increasing numbers of pulls at which the pulls are counted; the last ends the run.
    rng : numpy.random.Generator
        Source of all randomness of the run.

    Returns
    -------
    EliminationPlay
        The pulls at the checkpoints.
    """
    return play_dp_se(DPSE(math.inf, algorithm.beta), rewards, horizon, checkpoints, rng)
