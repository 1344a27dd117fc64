"""The loop of an index of one's own, compiled with it in each process."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._engine.acceleration import TableRuns, accelerates
from dpbandits._engine.accelerators.index_policies import play_steps
from dpbandits._engine.kernels import CompilationError, compiled_here
from dpbandits.mechanisms.counters import BinaryTree
from dpbandits.mechanisms.first_passage import TREE_LEVELS, next_prefix_noise
from dpbandits.regret.base import Play, Times, write_arms
from dpbandits.regret.own_index import IndexAlgorithm
from dpbandits.rewards.sources import (
    DrawnRewards,
    LawRewards,
    Rewards,
    Tape,
    begin_run,
    fixed_rewards,
    tape_of,
)


class _State(NamedTuple):
    """State between two pulls."""

    pulls: Ints  # (K,)
    sums: Floats  # (K,), of rewards
    totals: Floats  # (K,), with noise
    counters: Floats  # (K, 64)
    clock: Ints  # (2,): pulls so far, checkpoints passed


def _start(n_arms: int) -> _State:
    sums, totals = np.zeros((2, n_arms))
    counters, clock = np.zeros((n_arms, TREE_LEVELS)), np.zeros(2, np.int64)
    return _State(np.zeros(n_arms, np.int64), sums, totals, counters, clock)


@cache
def _loops(function: Callable[..., float]) -> tuple[Callable[..., int], Callable[..., Any]]:
    """Return a run, and many runs on a table, with an index function compiled into them."""
    index = compiled_here(function)

    def run(
        arguments: tuple[float, ...],
        scale: float,
        state: _State,
        tape: Tape,
        checkpoints: Times,
        counts: Ints,
        rng: Rng,
    ) -> int:
        pulls, sums, totals, counters, clock = state
        chances, table, _, read, ends = tape
        drawn = chances.size > 0
        t, c = clock
        while c < checkpoints.size:
            if t == checkpoints[c]:
                for b in range(pulls.size):
                    counts[c, b] = pulls[b]
                c += 1
                continue
            arm: int = t
            highest = -math.inf
            if t >= pulls.size:
                arm = 0
                for b in range(pulls.size):
                    value = index(totals[b], pulls[b], t + 1, *arguments)
                    if value > highest:
                        arm, highest = b, value
            if not drawn and read[arm] == ends[arm]:
                clock[0], clock[1] = t, c
                return arm
            t += 1
            pulls[arm] += 1
            if drawn:
                if rng.random() < chances[arm]:
                    sums[arm] += 1.0
            else:
                sums[arm] += table[arm, read[arm]]
                read[arm] += 1
            totals[arm] = sums[arm]
            if scale > 0.0:
                totals[arm] += next_prefix_noise(rng, scale, counters, arm, pulls[arm])
        return -1

    looped = compiled_here(run)

    def runs(
        arguments: tuple[float, ...], scale: float, state: _State, tape: Tape, n_runs: int, rng: Rng
    ) -> NDArray[np.int8]:
        n_arms, n_pulls = tape.table.shape
        arms = np.zeros((n_runs, n_pulls), np.int8)
        times, counts = np.arange(1, n_pulls + 1), np.zeros((n_pulls, n_arms), np.int64)
        for r in range(n_runs):
            begin_run(tape.read, n_arms, r)
            state.pulls[:], state.clock[:] = 0, 0
            state.sums[:], state.totals[:] = 0.0, 0.0
            looped(arguments, scale, state, tape, times, counts, rng)
            write_arms(counts, arms[r])
        return arms

    return looped, compiled_here(runs)


@contextlib.contextmanager
def _compiling(algorithm: IndexAlgorithm) -> Iterator[None]:
    """Say whose index cannot be compiled."""
    try:
        yield
    except CompilationError as error:
        reason = next(line for line in str(error).splitlines()[1:] or [str(error)] if line.strip())
        raise ValueError(
            f"{type(algorithm).__name__}.index cannot be compiled: {reason.strip()}; allowed: "
            "numbers, functions of math, conditions and loops, or how='reference'"
        ) from error


def _scale(algorithm: IndexAlgorithm, horizon: int) -> float:
    """Return the scale of the noise of a node, 0 for none."""
    return (
        0.0 if math.isinf(algorithm.epsilon) else BinaryTree(algorithm.epsilon, horizon).node_scale
    )


@accelerates(IndexAlgorithm, on=DrawnRewards, name="compiled", subclasses=True)
@accelerates(IndexAlgorithm, on=LawRewards, name="compiled", subclasses=True)
def play_own_index(
    algorithm: IndexAlgorithm, rewards: Rewards, horizon: int, checkpoints: Times, rng: Rng
) -> Play:
    """Play on Bernoulli arms or laws on [0, 1].

    Shapes: `checkpoints` (C,).
    """
    run, _ = _loops(algorithm.index)
    scale = _scale(algorithm, horizon)

    def begun(
        arguments: Any, state: _State, tape: Tape, times: Times, counts: Ints, rng: Rng
    ) -> int:
        return run(arguments, scale, state, tape, times, counts, rng)

    state = _start(rewards.n_arms)
    with _compiling(algorithm):
        return Play(play_steps(begun, algorithm.arguments, state, rewards, checkpoints, rng))


@accelerates(IndexAlgorithm, on=TableRuns, name="compiled", subclasses=True)
def play_own_table(
    algorithm: IndexAlgorithm, table: Floats, n_runs: int, rng: Rng
) -> NDArray[np.int8]:
    """Play a table many times.

    Shapes: `table` (K, N) → (n_runs, N).
    """
    rewards = fixed_rewards(table)
    tape = tape_of(rewards)
    _, runs = _loops(algorithm.index)
    scale, state = _scale(algorithm, rewards.n_pulls), _start(len(tape.table))
    with _compiling(algorithm):
        arms: NDArray[np.int8] = runs(algorithm.arguments, scale, state, tape, n_runs, rng)
    return arms
