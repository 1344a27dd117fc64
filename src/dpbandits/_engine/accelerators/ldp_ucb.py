"""LDP-UCB pull by pull, in one compiled loop."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._engine.acceleration import TableRuns, accelerates
from dpbandits._engine.accelerators.index_policies import play_steps
from dpbandits._engine.kernels import copy_into, kernel
from dpbandits.mechanisms import laplace
from dpbandits.regret.base import Play, Times, write_arms
from dpbandits.regret.ldp_ucb import LDPUCB
from dpbandits.rewards.sources import (
    DrawnRewards,
    LawRewards,
    Rewards,
    Tape,
    begin_run,
    fixed_rewards,
    tape_of,
)
from dpbandits.schedules import noisy_mean_width_kernel

__all__ = ["play_pull_by_pull", "play_table"]

_State = tuple[Ints, Floats, Ints]  # pulls of each arm, sums of releases; pulls and checkpoints


def _start(n_arms: int) -> _State:
    """Return the state before the first pull."""
    return np.zeros(n_arms, np.int64), np.zeros(n_arms), np.zeros(2, np.int64)


@kernel
def _leader(scale: float, pulls: Ints, sums: Floats, t: int) -> int:
    """Return the arm of the largest index at time t, ties to the lowest number."""
    log_failure = 4.0 * math.log(t)
    arm, highest = 0, -math.inf
    for b in range(pulls.size):
        index = sums[b] / pulls[b] + noisy_mean_width_kernel(scale, log_failure, pulls[b])
        if index > highest:
            arm, highest = b, index
    return arm


@kernel
def _run(
    scale: float, state: _State, tape: Tape, checkpoints: Times, counts: Ints, rng: Rng
) -> int:
    """Continue until the last checkpoint, or until the chosen arm has no reward left to read.

    Returns that arm, or −1 at the end.
    """
    pulls, sums, clock = state
    chances, table, _, read, ends = tape
    drawn = chances.size > 0
    t, c = clock
    while c < checkpoints.size:
        if t == checkpoints[c]:
            copy_into(counts[c], pulls)
            c += 1
            continue
        arm = t if t < pulls.size else _leader(scale, pulls, sums, t + 1)
        if not drawn and read[arm] == ends[arm]:
            clock[0], clock[1] = t, c
            return arm
        t += 1
        pulls[arm] += 1
        uniform = rng.random()  # in any case, so that the noise is the same on every source
        if drawn:
            if uniform < chances[arm]:
                sums[arm] += 1.0
        else:
            sums[arm] += table[arm, read[arm]]
            read[arm] += 1
        sums[arm] += laplace(rng, scale)
    return -1


@kernel
def _table_runs(scale: float, state: _State, tape: Tape, n_runs: int, rng: Rng) -> NDArray[np.int8]:
    n_arms, n_pulls = tape.table.shape
    arms = np.zeros((n_runs, n_pulls), np.int8)
    times, counts = np.arange(1, n_pulls + 1), np.zeros((n_pulls, n_arms), np.int64)
    for r in range(n_runs):
        begin_run(tape.read, n_arms, r)
        state[0][:], state[2][:] = 0, 0
        state[1][:] = 0.0
        _run(scale, state, tape, times, counts, rng)
        write_arms(counts, arms[r])
    return arms


@accelerates(LDPUCB, on=DrawnRewards, name="pull by pull")
@accelerates(LDPUCB, on=LawRewards, name="pull by pull")
def play_pull_by_pull(
    algorithm: LDPUCB, rewards: Rewards, horizon: int, checkpoints: Times, rng: Rng
) -> Play:
    """Play on any source of rewards.

    Shapes: `checkpoints` (C,).
    """
    state = _start(rewards.n_arms)
    return Play(play_steps(_run, algorithm.noise_scale, state, rewards, checkpoints, rng))


@accelerates(LDPUCB, on=TableRuns, name="pull by pull")
def play_table(algorithm: LDPUCB, table: Floats, n_runs: int, rng: Rng) -> NDArray[np.int8]:
    """Play a table many times.

    Shapes: `table` (K, N) → (n_runs, N).
    """
    tape = tape_of(fixed_rewards(table))
    arms: NDArray[np.int8] = _table_runs(
        algorithm.noise_scale, _start(len(tape.table)), tape, n_runs, rng
    )
    return arms
