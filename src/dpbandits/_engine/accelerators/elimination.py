"""Successive elimination, epoch by epoch: exact in distribution, at a cost of O(K · epochs).

The decision at the end of an epoch depends on each arm's sum of rewards alone, which is drawn at
once. Proof: :prf:ref:`prop-epochs`. The ends of the epochs and the last epoch of each arm determine
a run; pulls and regret are computed from them.
"""

from __future__ import annotations

import math
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._engine.acceleration import accelerates, plays_many
from dpbandits._engine.elimination_epochs import BennettPlan, bennett_kept_kernel
from dpbandits._engine.kernels import by_type, entered_for, kernel
from dpbandits._engine.streams import Streams, begin_order, begin_stream
from dpbandits.mechanisms import laplace
from dpbandits.regret.base import Play, Times
from dpbandits.regret.bennett_elimination import BennettDPSE
from dpbandits.regret.elimination import DPSE, SuccessiveElimination
from dpbandits.regret.tuned_elimination import TunedDPSE
from dpbandits.rewards.binomial import binomial
from dpbandits.rewards.sources import DrawnRewards
from dpbandits.schedules import (
    MOST_PULLS,
    elimination_epoch_kernel,
    elimination_threshold_kernel,
)

__all__ = ["EliminationPlay", "eliminate", "play_elimination", "rule_of"]

_MOST_EPOCHS = 32  # of a run of 2^62 pulls at most: epoch e has more than 4^e, or there are 31


class EliminationPlay(Play):
    """A run of elimination, stored without its counts: O(K) numbers, whatever the checkpoints.

    Parameters
    ----------
    checkpoints : numpy.ndarray of int, shape (C,)
        Increasing numbers of pulls at which the pulls are counted; the last ends the run.
    epoch_ends : numpy.ndarray of int, shape (E,)
        Numbers of pulls at which the epochs ended.
    last_epoch : numpy.ndarray of int, shape (K,)
        For each arm the number, from 1, of the last epoch in which it was pulled: E + 1 if it was
        viable to the end.

    Examples
    --------
    Three arms, of which the second is eliminated after 6 pulls:

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
        """Pulls of each arm at the checkpoints, shape (C, K), computed when read."""
        return self._counts_at(self.checkpoints)

    @property
    def pulls(self) -> Ints:
        last: Ints = self._counts_at(self.checkpoints[-1:])[0]
        return last

    def _counts_at(self, checkpoints: Times) -> Ints:
        """Return the pulls of each arm at some of the checkpoints, including the last."""
        counts = np.empty((checkpoints.size, self.last_epoch.size), np.int64)
        _counts(checkpoints, self.epoch_ends, self.last_epoch, counts)
        return counts

    def regret(self, gaps: Floats) -> Floats:
        regret = np.empty(self.checkpoints.size)
        _regret(gaps, self.checkpoints, self.epoch_ends, self.last_epoch, regret)
        return regret

    def validate(self, checkpoints: Times, n_arms: int) -> None:
        # the counts cannot be wrong in another way
        same = np.array_equal(self.checkpoints, checkpoints) and self.last_epoch.shape == (n_arms,)
        if not same:
            raise ValueError("returned other checkpoints or arms; allowed: those that it was given")


@kernel
def _counts(checkpoints: Ints, epoch_ends: Ints, last_epoch: Ints, counts: Ints) -> None:
    """Write the pulls of each arm at the checkpoints, shape (C, K)."""
    done = np.zeros(last_epoch.size, np.int64)
    start, c = 0, 0
    for e in range(epoch_ends.size + 1):
        size = 0
        for a in range(last_epoch.size):
            size += last_epoch[a] > e
        stop = epoch_ends[e] if e < epoch_ends.size else checkpoints[-1]
        while c < checkpoints.size and checkpoints[c] <= stop:
            turns, rest = divmod(checkpoints[c] - start, size)
            i = 0
            for a in range(last_epoch.size):
                counts[c, a] = done[a]
                if last_epoch[a] > e:
                    counts[c, a] += turns + (i < rest)
                    i += 1
            c += 1
        for a in range(last_epoch.size):
            if last_epoch[a] > e:
                done[a] += (stop - start) // size
        start = stop


@kernel
def _regret(
    gaps: Floats, checkpoints: Ints, epoch_ends: Ints, last_epoch: Ints, regret: Floats
) -> None:
    """Write the pseudo-regret at the checkpoints, shape (C,)."""
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


@by_type
def eliminate(
    rule: Any, means: Floats, horizon: int, rng: Rng, epoch_ends: Ints, last_epoch: Ints
) -> int:
    """Play a run, write its record, and return the number of its epochs.

    Shapes: `means` (K,), `epoch_ends` (at least E,), `last_epoch` (K,).
    """
    raise TypeError


@by_type
def _epoch_of(rule: Any, size: int, epoch: int) -> tuple[int, float, float]:
    """Return pulls of an arm, threshold and scale of the noise in an epoch, from 0.

    `size` arms are viable. 2^62 pulls of each of two arms are more than any run has.
    """
    raise TypeError


class _Printed(NamedTuple):
    """Epochs of DP-SE, which depend on the number of viable arms."""

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
def _eliminate(
    rule: Any, means: Floats, horizon: int, rng: Rng, epoch_ends: Ints, last_epoch: Ints
) -> int:
    viable = np.arange(means.size)
    released = np.empty(means.size)
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
        best = released[0]
        for i in range(1, size):
            best = max(best, released[i])
        kept = 0
        for i in range(size):
            last_epoch[viable[i]] = epoch
            if best - released[i] <= threshold:
                viable[kept] = viable[i]
                kept += 1
        size = kept
    for i in range(size):
        last_epoch[viable[i]] = epoch + 1
    return epoch


class _ByVariance(NamedTuple):
    """Epochs whose sums are cumulated, with widths from the variance of the rewards."""

    plan: BennettPlan
    memory: int
    epsilon: float


@entered_for(eliminate, _ByVariance)
@kernel
def _eliminate_by_variance(
    rule: _ByVariance, means: Floats, horizon: int, rng: Rng, epoch_ends: Ints, last_epoch: Ints
) -> int:
    plan, memory, epsilon = rule
    viable = np.arange(means.size)
    last = np.zeros((means.size, memory, 2))  # releases of viable arms: epoch e's in e % memory
    sums, spreads = np.empty(means.size), np.empty(means.size)
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
    for i in range(size):
        last_epoch[viable[i]] = epoch + 1
    return epoch


# ------------------------------------------------------------------------------------ algorithms


@singledispatch
def rule_of(algorithm: Any, n_arms: int, horizon: int) -> tuple[Any, int]:
    """Return an algorithm's parameters for the compiled loop, and its maximal number of epochs."""
    raise TypeError(f"algorithm={algorithm!r} has no rule; allowed: a registered class")


@rule_of.register
def _rule_of_dp_se(algorithm: DPSE, n_arms: int, horizon: int) -> tuple[_Printed, int]:
    return _Printed(algorithm.confidence(horizon), algorithm.epsilon), _MOST_EPOCHS


@rule_of.register
def _rule_without_noise(
    algorithm: SuccessiveElimination, n_arms: int, horizon: int
) -> tuple[_Printed, int]:
    return _rule_of_dp_se(DPSE(math.inf, algorithm.beta), n_arms, horizon)


@rule_of.register
def _rule_of_tuned(algorithm: TunedDPSE, n_arms: int, horizon: int) -> tuple[_Tuned, int]:
    pulls = algorithm.epochs(n_arms, horizon)
    return _Tuned(pulls, algorithm.epsilon), pulls.size


@rule_of.register
def _rule_by_variance(algorithm: BennettDPSE, n_arms: int, horizon: int) -> tuple[_ByVariance, int]:
    plan = algorithm.plan(n_arms, horizon)
    return _ByVariance(plan, algorithm.memory, algorithm.epsilon), plan.pulls.size


# ------------------------------------------------------------------------------------------ runs


@accelerates(
    DPSE, TunedDPSE, BennettDPSE, SuccessiveElimination, on=DrawnRewards, name="epoch by epoch"
)
def play_elimination(
    algorithm: Any, rewards: DrawnRewards, horizon: int, checkpoints: Times, rng: Rng
) -> EliminationPlay:
    """Play on Bernoulli arms: the plain program's draws, in its order.

    Shapes: `checkpoints` (C,).
    """
    rule, most_epochs = rule_of(algorithm, rewards.n_arms, horizon)
    epoch_ends, last_epoch = np.empty(most_epochs, np.int64), np.empty(rewards.n_arms, np.int64)
    record = epoch_ends, last_epoch
    epochs = eliminate(rule, rewards.means, int(checkpoints[-1]), rng, *record)
    return EliminationPlay(checkpoints, epoch_ends[:epochs], last_epoch)


@plays_many(play_elimination)
def _play_many(
    algorithm: Any,
    rewards: DrawnRewards,
    horizon: int,
    checkpoints: Times,
    gaps: Floats,
    shuffles: bool,
    streams: Streams,
) -> tuple[Floats, Ints, list[Ints]]:
    """Return regret (n, C), pulls (n, K), ends of epochs: `play_elimination` on each stream."""
    rule, most_epochs = rule_of(algorithm, rewards.n_arms, horizon)
    n_runs, last = len(streams.states), int(checkpoints[-1])
    ends = np.empty((n_runs, most_epochs), np.int64)
    orders, last_epoch, pulls = np.empty((3, n_runs, rewards.n_arms), np.int64)
    runs = _Runs(orders, ends, last_epoch, np.empty(n_runs, np.int64))
    regret = np.empty((n_runs, checkpoints.size))
    _play_runs(rule, rewards.means, last, shuffles, streams, runs)
    _account(gaps, checkpoints, runs, regret, pulls)
    until = runs.epochs.tolist()
    return regret, pulls, [row[:size] for row, size in zip(ends, until, strict=True)]


class _Runs(NamedTuple):
    """Orders of the arms (n, K), ends of epochs (n, E), last epochs (n, K), their numbers (n,)."""

    orders: Ints
    ends: Ints
    last_epoch: Ints
    epochs: Ints


@kernel
def _play_runs(
    rule: Any, means: Floats, horizon: int, shuffles: bool, streams: Streams, runs: _Runs
) -> None:
    """Play a run on each stream, and write its record."""
    for r in range(runs.epochs.size):
        begin_stream(streams, r)
        begin_order(streams.rng, shuffles, runs.orders[r])
        runs.epochs[r] = eliminate(
            rule, means[runs.orders[r]], horizon, streams.rng, runs.ends[r], runs.last_epoch[r]
        )


@kernel
def _account(gaps: Floats, checkpoints: Ints, runs: _Runs, regret: Floats, pulls: Ints) -> None:
    """Write the regret (n, C) and the pulls (n, K) of runs; it does not depend on the algorithm."""
    counts = np.empty((1, gaps.size), np.int64)
    for r in range(runs.epochs.size):
        order, epoch_ends = runs.orders[r], runs.ends[r, : runs.epochs[r]]
        _regret(gaps[order], checkpoints, epoch_ends, runs.last_epoch[r], regret[r])
        _counts(checkpoints[-1:], epoch_ends, runs.last_epoch[r], counts)
        for k in range(order.size):
            pulls[r, order[k]] = counts[0, k]
