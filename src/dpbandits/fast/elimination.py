"""Successive elimination, epoch by epoch: exact in law, at a cost of O(K · epochs).

What is decided at the end of an epoch depends on each arm's sum of rewards alone, which is drawn at
once. Proof: :prf:ref:`prop-epochs`. When the epochs ended and in which of them each arm was pulled
last is all there is to know of a run; pulls and regret are arithmetic on it.
"""

from __future__ import annotations

import itertools
import math
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._kernels import by_type, entered_for, kernel
from dpbandits._streams import Streams, begin_stream
from dpbandits.acceleration import accelerates, plays_many
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

__all__ = ["EliminationPlay", "eliminate", "play_elimination", "play_eliminations", "rule_of"]

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


@by_type
def eliminate(rule: Any, means: Floats, horizon: int, rng: Rng) -> tuple[Ints, Ints]:
    """Return the ends of the epochs of a run, and the epoch in which each arm was pulled last.

    Parameters
    ----------
    rule : NamedTuple
        What the loop is told of the algorithm.
    means : numpy.ndarray of float, shape (K,)
        Means of the arms.
    horizon : int
        Number of pulls of the run.
    rng : numpy.random.Generator
        Source of all randomness.

    Returns
    -------
    epoch_ends : numpy.ndarray of int, shape (E,)
        Numbers of pulls at which the epochs ended.
    last_epoch : numpy.ndarray of int, shape (K,)
        As `EliminationPlay` has it.
    """
    raise TypeError


@by_type
def _epoch_of(rule: Any, size: int, epoch: int) -> tuple[int, float, float]:
    """Return pulls of an arm, threshold and scale of the noise in an epoch, from 0.

    `size` arms are viable. 2^62 pulls of each of two arms are more than any run has.
    """
    raise TypeError


class _Printed(NamedTuple):
    """Epochs of DP-SE, which depend on how many arms are viable."""

    beta: float
    epsilon: float


class _Tuned(NamedTuple):
    """Epochs of tuned DP-SE, fixed beforehand."""

    pulls: Ints
    epsilon: float


@entered_for(_epoch_of, _Printed)
@kernel
def _printed_epoch(rule: _Printed, size: int, epoch: int) -> tuple[int, float, float]:
    plan = elimination_epoch_kernel(size, epoch + 1, rule.beta, rule.epsilon)
    pulls = math.ceil(plan.length) if plan.length < float(MOST_PULLS) else MOST_PULLS
    return pulls, elimination_threshold_kernel(plan), plan.noise_scale


@entered_for(_epoch_of, _Tuned)
@kernel
def _tuned_epoch(rule: _Tuned, size: int, epoch: int) -> tuple[int, float, float]:
    pulls = rule.pulls[epoch]
    return pulls, 0.5 ** (epoch + 2), 1.0 / (rule.epsilon * pulls)


@entered_for(eliminate, _Printed)
@entered_for(eliminate, _Tuned)
@kernel
def _eliminate(rule: Any, means: Floats, horizon: int, rng: Rng) -> tuple[Ints, Ints]:
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


class _ByVariance(NamedTuple):
    """Epochs that add up, and widths by what the rewards vary."""

    plan: BennettPlan
    memory: int
    epsilon: float


@entered_for(eliminate, _ByVariance)
@kernel
def _eliminate_by_variance(
    rule: _ByVariance, means: Floats, horizon: int, rng: Rng
) -> tuple[Ints, Ints]:
    """Return the ends of the epochs, shape (E,), and each arm's last epoch, shape (K,)."""
    plan, memory, epsilon = rule
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


# ------------------------------------------------------------------------------------ algorithms


@singledispatch
def rule_of(algorithm: Any, n_arms: int, horizon: int) -> Any:
    """Return what the compiled loop is told of an algorithm.

    Parameters
    ----------
    algorithm : RegretAlgorithm
        An elimination.
    n_arms : int
        Number of arms K.
    horizon : int
        Horizon T that the algorithm is told.

    Returns
    -------
    NamedTuple
        The first argument of `eliminate`.

    Raises
    ------
    TypeError
        If no rule is entered for its class.
    """
    raise TypeError(f"algorithm={algorithm!r} has no rule; allowed: what was entered")


@rule_of.register
def _rule_of_dp_se(algorithm: DPSE, n_arms: int, horizon: int) -> _Printed:
    return _Printed(algorithm.confidence(horizon), algorithm.epsilon)


@rule_of.register
def _rule_without_noise(algorithm: SuccessiveElimination, n_arms: int, horizon: int) -> _Printed:
    return _rule_of_dp_se(DPSE(math.inf, algorithm.beta), n_arms, horizon)


@rule_of.register
def _rule_of_tuned(algorithm: TunedDPSE, n_arms: int, horizon: int) -> _Tuned:
    return _Tuned(algorithm.epochs(n_arms, horizon), algorithm.epsilon)


@rule_of.register
def _rule_by_variance(algorithm: BennettDPSE, n_arms: int, horizon: int) -> _ByVariance:
    return _ByVariance(algorithm.plan(n_arms, horizon), algorithm.memory, algorithm.epsilon)


# ------------------------------------------------------------------------------------------ runs


@accelerates(
    DPSE, TunedDPSE, BennettDPSE, SuccessiveElimination, on=DrawnRewards, name="epoch by epoch"
)
def play_elimination(
    algorithm: Any, rewards: DrawnRewards, horizon: int, checkpoints: Times, rng: Rng
) -> EliminationPlay:
    """Play on Bernoulli arms: the numbers that the plain program draws, in its order.

    Parameters
    ----------
    algorithm : RegretAlgorithm
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
    rule = rule_of(algorithm, rewards.n_arms, horizon)
    record = eliminate(rule, rewards.means, int(checkpoints[-1]), rng)
    return EliminationPlay(checkpoints, *record)


@plays_many(play_elimination)
def play_eliminations(
    algorithm: Any,
    rewards: DrawnRewards,
    horizon: int,
    checkpoints: Times,
    gaps: Floats,
    shuffles: bool,
    streams: Streams,
) -> tuple[Floats, Ints, list[Ints]]:
    """Play on many streams, each as `play_elimination` does.

    Parameters
    ----------
    algorithm : RegretAlgorithm
        The algorithm.
    rewards : DrawnRewards
        Rewards of K arms.
    horizon : int
        Horizon T that the algorithm is told.
    checkpoints : numpy.ndarray of int, shape (C,)
        Increasing numbers of pulls; the last ends each run.
    gaps : numpy.ndarray of float, shape (K,)
        Gaps of the arms.
    shuffles : bool
        Whether each run meets the arms in an order of its own, drawn at the beginning.
    streams : Streams
        Sources of all randomness of the n runs.

    Returns
    -------
    regret : numpy.ndarray of float, shape (n, C)
        Pseudo-regret at the checkpoints.
    pulls : numpy.ndarray of int, shape (n, K)
        Pulls of the arms at the end.
    epoch_ends : list of numpy.ndarray of int, length n
        Numbers of pulls at which the epochs of each run ended.
    """
    rule = rule_of(algorithm, rewards.n_arms, horizon)
    regret, pulls, ends, until = _runs(rule, rewards.means, gaps, checkpoints, shuffles, streams)
    return regret, pulls, [ends[a:b] for a, b in itertools.pairwise(until.tolist())]


@kernel
def _runs(
    rule: Any, means: Floats, gaps: Floats, checkpoints: Ints, shuffles: bool, streams: Streams
) -> tuple[Floats, Ints, Ints, Ints]:
    """Return regret (n, C), pulls (n, K), ends of epochs (E,), where runs begin (n + 1,)."""
    n_runs, horizon = streams.states.shape[0], checkpoints[-1]
    regret = np.empty((n_runs, checkpoints.size))
    pulls = np.empty((n_runs, means.size), np.int64)
    ends, until = np.empty(n_runs * 8, np.int64), np.zeros(n_runs + 1, np.int64)
    for r in range(n_runs):
        begin_stream(streams, r)
        order = streams.rng.permutation(means.size) if shuffles else np.arange(means.size)
        epoch_ends, last_epoch = eliminate(rule, means[order], horizon, streams.rng)
        regret[r] = _regret(gaps[order], checkpoints, epoch_ends, last_epoch)
        pulls[r, order] = _counts(checkpoints[-1:], epoch_ends, last_epoch)[0]
        first, last = until[r], until[r] + epoch_ends.size
        if last > ends.size:
            ends = np.append(ends, np.empty(ends.size + epoch_ends.size, np.int64))
        ends[first:last] = epoch_ends
        until[r + 1] = last
    return regret, pulls, ends[: until[-1]].copy(), until
