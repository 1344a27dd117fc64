"""Lazy batches, release by release: one compiled loop; algorithms differ in their choice of arms.

Between two releases nothing random happens except for draws of arms, so that a run goes from
release to release, in O(K log T) steps. Proof: :prf:ref:`prop-epochs`. An algorithm is passed to
the loop as a named tuple, which selects its rule.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._engine.acceleration import TableRuns, accelerates, plays_many
from dpbandits._engine.accelerators.lazy_race import first_of, first_to_finish, largest_draw
from dpbandits._engine.kernels import copy_into, kernel
from dpbandits._engine.streams import Streams, begin_order, begin_stream, regret_and_pulls
from dpbandits.divergences import (
    calibrated_plus_kernel,
    calibrated_plus_tangent,
    calibrated_upper_kernel,
)
from dpbandits.mechanisms import laplace
from dpbandits.regret.adap_klucb import AdaPKLUCB
from dpbandits.regret.adap_printed import DoublingEpisodes, PrintedAdaPKLUCB, PrintedAdaPUCB
from dpbandits.regret.base import Play, Times, write_arms
from dpbandits.regret.dp_imed import DPIMED
from dpbandits.regret.dp_klucb import DPKLUCB
from dpbandits.regret.lazy import LazyBatches
from dpbandits.regret.lazy_dp_ts import LazyDPTS
from dpbandits.regret.lazy_ucb import AdaPUCB, AnytimeLazyUCB
from dpbandits.rewards.binomial import binomial
from dpbandits.rewards.sources import (
    DrawnRewards,
    LawRewards,
    Tape,
    begin_run,
    bernoulli_tape,
    fixed_rewards,
    tape_of,
)
from dpbandits.schedules import next_size_kernel

__all__ = ["play_batches", "play_race", "play_table"]

RACE_ERROR = 1e-13
"""Bound on the total-variation distance between one pull of Lazy-DP-TS and one of the plain
program, given the releases. Part of it is the quadrature error, for which there is no proof: with
panels of a quarter of the width the probabilities of the arms move by 4·10⁻¹⁴ at most, in 60 cases
of up to 11 arms. The rest is bounded: :prf:ref:`lem-largest-draw`."""


class _Released(NamedTuple):
    """Released statistics of the arms; all arrays have shape (K,)."""

    sums: Floats  # released sums behind the estimates, noise included
    rewards: Ints  # how many rewards n are in them
    noises: Ints  # how many Laplace variables k are in them
    # a line below n·d̃⁺(y, q, k/n) as a function of q: it saves evaluations and changes no choice
    places: Floats
    heights: Floats  # at these places, and below any height where nothing is known
    slopes: Floats


class _Grid(NamedTuple):
    """The releases of an algorithm and the scale of their noise."""

    noise_scale: float
    eta: float
    forgets: bool  # whether estimates use the last batch alone
    of_sizes: bool  # whether the grid contains sizes of batches, not the pulls at their ends


class _State(NamedTuple):
    """State between two releases; arrays of shape (K,) except where noted."""

    released: _Released
    pulls: Ints
    sizes: Ints  # of the open batches
    due: Ints  # pulls that they still need
    ends: Ints  # (most releases,): times of the releases
    clock: Ints  # (3,): pulls, releases, checkpoints passed


# -------------------------------------------------------------------------- what algorithms choose

_UCB, _KL, _CALIBRATED, _EVIDENCE, _SAMPLE, _RACE = range(6)


class _Rule(NamedTuple):
    """The rule for the next arm; its `kind` is one of the constants above.

    - UCB: the largest x + √(c·log(ht)/n) + d·log t/(εn), c = `sampling`, h = `inside`, d = `alpha`;
    - KL: the largest max {q : n·kl(y, q) ≤ α·log t}, y = x + α·log t/(εn) moved into [0, 1];
    - CALIBRATED: the largest max {q : n·d̃⁺(y, q, k/n) ≤ log t + ξ·log(1 + log t)}, y in [0, 1] and
      ξ = `slack`;
    - EVIDENCE: the largest −n·d̃⁺(y, max y, k/n) − log n, with 0 for k unless `calibrated`;
    - SAMPLE: the largest of one draw from Normal(y, 1/n) a batch, y as for KL;
    - RACE: the largest of such draws at each pull.

    All are of one type, so that the loop is compiled once.
    """

    kind: int
    epsilon: float
    alpha: float = 0.0
    sampling: float = 0.0
    inside: float = 1.0
    slack: float = 0.0
    calibrated: bool = True


@kernel
def _alone(arm: int, due: Ints) -> tuple[int, Ints]:
    """Return the arm, whose batch is played to its end, and the pulls."""
    pulls = np.zeros(due.size, np.int64)
    pulls[arm] = due[arm]
    return arm, pulls


@kernel
def _largest_ucb(rule: _Rule, released: _Released, due: Ints, t: int) -> tuple[int, Ints]:
    log_t, index = math.log(t), np.empty(due.size)
    under_root = rule.sampling * math.log(rule.inside * t)
    for a in range(due.size):
        n = float(released.rewards[a])
        width = math.sqrt(under_root / n) + rule.alpha * log_t / (rule.epsilon * n)
        index[a] = released.sums[a] / n + width
    return _alone(int(np.argmax(index)), due)


@kernel
def _touch(released: _Released, a: int, y: float, q: float, ratio: float, epsilon: float) -> float:
    """Return n·d̃⁺(y, q, k/n) of arm a, and keep its tangent, lowered by what rounding may add."""
    n = float(released.rewards[a])
    value, shift = calibrated_plus_tangent(y, q, ratio, epsilon)
    if 0.0 < q < 1.0:
        released.places[a], released.slopes[a] = q, n * shift / (q * (1.0 - q))
        released.heights[a] = n * value - 1e-9 * (1.0 + n * value)
    return n * value


@kernel
def _floor(released: _Released, a: int, q: float) -> float:
    """Return a lower bound of n·d̃⁺(y, q, k/n) of arm a."""
    step = released.slopes[a] * (q - released.places[a])
    found: float = released.heights[a] + step - 1e-6 * abs(step)
    return found


@kernel
def _largest_kl(rule: _Rule, released: _Released, due: Ints, t: int) -> tuple[int, Ints]:
    level, arm, highest = rule.alpha * math.log(t), 0, -math.inf
    first = int(np.argmax(released.places))  # the arm that led last is likely to lead again
    for i in range(due.size + 1):
        a = first if i == 0 else i - 1
        n = float(released.rewards[a])
        y = min(max(released.sums[a] / n + level / (rule.epsilon * n), 0.0), 1.0)
        if i > 0:
            if a == first or (highest == 1.0 and a > arm):
                continue
            # with this rate at the largest index so far there is no larger one, nor a tie
            if y < 1.0 and n * calibrated_plus_kernel(y, highest, 0.0, math.inf) > 1.000001 * level:
                continue
        index = calibrated_upper_kernel(y, n, 0.0, math.inf, level)
        released.places[a] = index
        if index > highest or (index == highest and a < arm):
            arm, highest = a, index
    return _alone(arm, due)


@kernel
def _largest_calibrated(rule: _Rule, released: _Released, due: Ints, t: int) -> tuple[int, Ints]:
    epsilon, log_t = rule.epsilon, math.log(t)
    level = log_t + rule.slack * math.log1p(log_t)
    arm, highest = 0, -math.inf
    most = np.ones(due.size)  # bounds of the indices, below 0 for those already examined
    for a in range(due.size):
        slope, room = released.slopes[a], level - released.heights[a]
        if slope > 0.0 and room < math.inf:
            step = room / slope
            most[a] = min(released.places[a] + step + 1e-6 * abs(step) + 1e-15, 1.0)
    for _ in range(due.size):
        a = int(np.argmax(most))
        if most[a] < highest:
            break
        most[a] = -1.0
        n, k = float(released.rewards[a]), float(released.noises[a])
        y = min(max(released.sums[a] / n, 0.0), 1.0)
        if highest >= 0.0 and (
            (highest == 1.0 and a > arm)
            # with this rate at the largest index so far there is no larger one, nor a tie
            or (y < 1.0 and _touch(released, a, y, highest, k / n, epsilon) > 1.000001 * level)
        ):
            continue
        index = calibrated_upper_kernel(y, n, k, epsilon, level)
        if y < index:
            _touch(released, a, y, index, k / n, epsilon)
        if index > highest or (index == highest and a < arm):
            arm, highest = a, index
    return _alone(arm, due)


@kernel
def _least_evidence(rule: _Rule, released: _Released, due: Ints) -> tuple[int, Ints]:
    means = np.minimum(np.maximum(released.sums / released.rewards, 0.0), 1.0)
    best = means.max()
    arm, least = 0, math.inf
    for a in range(due.size):
        if means[a] == best and math.log(released.rewards[a]) < least:
            arm, least = a, math.log(released.rewards[a])
    for a in range(due.size):
        n, k = float(released.rewards[a]), float(released.noises[a])
        bonus = math.log(n)
        if means[a] == best or _floor(released, a, best) + bonus > least:
            continue
        ratio = k / n if rule.calibrated else 0.0
        evidence = _touch(released, a, means[a], best, ratio, rule.epsilon) + bonus
        if evidence < least or (evidence == least and a < arm):
            arm, least = a, evidence
    return _alone(arm, due)


@kernel
def _posteriors(released: _Released, t: int, alpha: float, epsilon: float) -> tuple[Floats, Floats]:
    """Return centres and standard deviations of the posteriors of `LazyDPTS` before pull t."""
    raised = released.sums + alpha * math.log(t) / epsilon
    centres = raised / released.rewards
    return np.minimum(np.maximum(centres, 0.0), 1.0), 1.0 / np.sqrt(released.rewards)


@kernel
def _largest_sample(
    rule: _Rule, released: _Released, due: Ints, t: int, rng: Rng
) -> tuple[int, Ints]:
    centres, deviations = _posteriors(released, t, rule.alpha, rule.epsilon)
    draws = np.empty(due.size)
    for a in range(due.size):
        draws[a] = rng.normal(centres[a], deviations[a])
    return _alone(int(np.argmax(draws)), due)


@kernel
def _race(rule: _Rule, released: _Released, due: Ints, t: int, rng: Rng) -> tuple[int, Ints]:
    shares = largest_draw(*_posteriors(released, t, rule.alpha, rule.epsilon))
    return first_to_finish(rng, shares, due)


@kernel
def _choose(rule: _Rule, released: _Released, due: Ints, t: int, rng: Rng) -> tuple[int, Ints]:
    """Return the arm whose batch is full next, and the pulls of all arms until then, shape (K,).

    `due` contains the pulls missing in the open batches, and t is the number of the next pull. Ties
    go to the lowest arm number. Where several arms are pulled, the order of all pulls but the last
    is uniformly random.
    """
    if rule.kind == _UCB:
        return _largest_ucb(rule, released, due, t)
    if rule.kind == _KL:
        return _largest_kl(rule, released, due, t)
    if rule.kind == _CALIBRATED:
        return _largest_calibrated(rule, released, due, t)
    if rule.kind == _EVIDENCE:
        return _least_evidence(rule, released, due)
    if rule.kind == _SAMPLE:
        return _largest_sample(rule, released, due, t, rng)
    return _race(rule, released, due, t, rng)


# ------------------------------------------------------------------------------------------ a run


@kernel
def _start(n_arms: int, most_releases: int) -> _State:
    rewards, noises = np.zeros(n_arms, np.int64), np.zeros(n_arms, np.int64)
    pulls, sizes = np.zeros(n_arms, np.int64), np.ones(n_arms, np.int64)
    ends, clock = np.empty(most_releases, np.int64), np.zeros(3, np.int64)
    lines = np.zeros((3, n_arms))
    lines[1] = -math.inf
    released = _Released(np.zeros(n_arms), rewards, noises, lines[0], lines[1], lines[2])
    return _State(released, pulls, sizes, sizes.copy(), ends, clock)


@kernel
def _advance(rule: _Rule, state: _State, checkpoints: Times, counts: Ints, rng: Rng) -> int:
    """Pull arms until a batch is full, and count the pulls at the checkpoints.

    First each arm in turn has a batch of one pull. Returns the arm of the batch, or −1 if the run
    ends before a batch is full and nothing is released.
    """
    released, pulls, _, due, _, clock = state
    t, turn, c = clock
    last = checkpoints[-1]
    if t >= last:
        return -1
    if turn < pulls.size:
        arm, stretch = _alone(turn, due)
    else:
        arm, stretch = _choose(rule, released, due, t + 1, rng)
    end = t + stretch.sum()
    inside = c
    while inside < checkpoints.size and checkpoints[inside] < end:
        inside += 1
    if inside > c:
        stretch[arm] -= 1  # the last pull is of that arm
        first = first_of(rng, stretch, checkpoints[c:inside] - t)
        for i in range(inside - c):
            copy_into(counts[c + i], pulls + first[i])
        stretch[arm] += 1
    if end > last:
        return -1
    pulls += stretch
    due -= stretch
    if checkpoints[inside] == end:
        copy_into(counts[inside], pulls)
        inside += 1
    clock[0], clock[2] = end, inside
    return arm


@kernel
def _release(grid: _Grid, state: _State, arm: int, total: float, rng: Rng) -> None:
    """Release the sum of an arm's full batch, and open the next."""
    released, pulls, sizes, due, ends, clock = state
    sums, rewards, noises = released.sums, released.rewards, released.noises
    total += laplace(rng, grid.noise_scale)
    if grid.forgets:
        sums[arm], rewards[arm], noises[arm] = 0.0, 0, 0
    sums[arm] += total
    rewards[arm] += sizes[arm]
    noises[arm] += 1
    released.heights[arm], released.slopes[arm] = -math.inf, 0.0
    sizes[arm] = due[arm] = next_size_kernel(sizes[arm], pulls[arm], grid.eta, grid.of_sizes)
    ends[clock[1]] = clock[0]
    clock[1] += 1


@kernel
def _run(
    rule: _Rule, grid: _Grid, state: _State, tape: Tape, checkpoints: Times, counts: Ints, rng: Rng
) -> None:
    """Play to the last checkpoint, on Bernoulli arms or on a table."""
    means, _, sums, read, _ = tape
    arm = _advance(rule, state, checkpoints, counts, rng)
    while arm >= 0:
        size = state.sizes[arm]
        if means.size > 0:
            total = float(binomial(rng, size, means[arm]))
        else:
            first = read[arm]
            read[arm] = first + size
            total = sums[arm, first + size] - sums[arm, first]
        _release(grid, state, arm, total, rng)
        arm = _advance(rule, state, checkpoints, counts, rng)


@kernel
def _table_runs(rule: _Rule, grid: _Grid, tape: Tape, n_runs: int, rng: Rng) -> NDArray[np.int8]:
    n_arms, n_pulls = tape.table.shape
    arms = np.zeros((n_runs, n_pulls), np.int8)
    times, counts = np.arange(1, n_pulls + 1), np.zeros((n_pulls, n_arms), np.int64)
    for r in range(n_runs):
        begin_run(tape.read, n_arms, r)
        _run(rule, grid, _start(n_arms, n_pulls), tape, times, counts, rng)
        write_arms(counts, arms[r])
    return arms


# --------------------------------------------------------------------------------------- algorithms


def _rule_of(algorithm: LazyBatches) -> tuple[_Rule, _Grid]:
    """Return the parameters of an algorithm for the compiled loops: its rule and its releases."""
    epsilon = algorithm.epsilon
    adds_up = isinstance(algorithm, DPKLUCB | DPIMED)
    doubles = isinstance(algorithm, DoublingEpisodes)
    grid = _Grid(1.0 / epsilon, algorithm.eta, not adds_up, not adds_up and not doubles)
    if isinstance(algorithm, PrintedAdaPUCB):
        alpha = algorithm.alpha
        return _Rule(_UCB, epsilon, alpha, sampling=0.5 * alpha, inside=algorithm.times), grid
    if isinstance(algorithm, PrintedAdaPKLUCB):
        return _Rule(_KL, epsilon, algorithm.alpha), grid
    if isinstance(algorithm, AnytimeLazyUCB | AdaPUCB):
        alpha = algorithm.alpha
        return _Rule(_UCB, epsilon, alpha, sampling=algorithm.share * alpha), grid
    if isinstance(algorithm, AdaPKLUCB):
        return _Rule(_KL, epsilon, algorithm.alpha), grid
    if isinstance(algorithm, DPKLUCB):
        return _Rule(_CALIBRATED, epsilon, slack=algorithm.slack), grid
    if isinstance(algorithm, DPIMED):
        return _Rule(_EVIDENCE, epsilon, calibrated=algorithm.calibrated), grid
    assert isinstance(algorithm, LazyDPTS)
    return _Rule(_RACE if algorithm.draws == "pulls" else _SAMPLE, epsilon, algorithm.alpha), grid


def _most_releases(algorithm: LazyBatches, n_arms: int, pulls: int) -> int:
    return n_arms * (3 + int(math.log(pulls) / math.log1p(algorithm.eta)))


def _play(state: _State, counts: Ints, releases: bool) -> Play:
    ends = state.ends[: state.clock[1]].copy()
    return Play(counts, ends if releases else ends[:0], int(ends[-1]) if ends.size else 0)


def play_batches(
    algorithm: LazyBatches, rewards: DrawnRewards, horizon: int, checkpoints: Times, rng: Rng
) -> Play:
    """Play on Bernoulli arms.

    Shapes: `checkpoints` (C,).
    """
    rule, grid = _rule_of(algorithm)
    n_arms, pulls = rewards.n_arms, int(checkpoints[-1])
    state = _start(n_arms, _most_releases(algorithm, n_arms, pulls))
    counts = np.zeros((checkpoints.size, n_arms), np.int64)
    _run(rule, grid, state, bernoulli_tape(rewards.means), checkpoints, counts, rng)
    return _play(state, counts, algorithm.releases)


@kernel
def _runs(
    rule: _Rule, grid: _Grid, tape: Tape, most: int, checkpoints: Times, shuffles: bool,
    streams: Streams,
) -> tuple[Ints, Ints, Ints, Ints]:  # fmt: skip
    """Return counts (n, C, K), orders of the arms (n, K), releases (R,), starts of runs (n + 1,).

    The counts are in each run's order of the arms.
    """
    n_runs, n_arms = streams.states.shape[0], tape.means.size
    counts = np.zeros((n_runs, checkpoints.size, n_arms), np.int64)
    orders = np.empty((n_runs, n_arms), np.int64)
    ends, until = np.empty(n_runs * most, np.int64), np.zeros(n_runs + 1, np.int64)
    for r in range(n_runs):
        begin_stream(streams, r)
        begin_order(streams.rng, shuffles, orders[r])
        arms = Tape(tape.means[orders[r]], tape.table, tape.sums, tape.read, tape.ends)
        state = _start(n_arms, most)
        _run(rule, grid, state, arms, checkpoints, counts[r], streams.rng)
        until[r + 1] = until[r] + state.clock[1]
        copy_into(ends[until[r] : until[r + 1]], state.ends)
    return counts, orders, ends[: until[-1]].copy(), until


@plays_many(play_batches)
def _play_many(
    algorithm: LazyBatches,
    rewards: DrawnRewards,
    horizon: int,
    checkpoints: Times,
    gaps: Floats,
    shuffles: bool,
    streams: Streams,
) -> tuple[Floats, Ints, list[Ints]]:
    """Return regret (n, C), pulls (n, K), times of releases: `play_batches` on each stream."""
    rule, grid = _rule_of(algorithm)
    most = _most_releases(algorithm, rewards.n_arms, int(checkpoints[-1]))
    tape = bernoulli_tape(rewards.means)
    counts, orders, ends, until = _runs(rule, grid, tape, most, checkpoints, shuffles, streams)
    regret, pulls = regret_and_pulls(gaps, orders, counts)
    if not algorithm.releases:
        until[:] = 0
    return regret, pulls, [ends[a:b] for a, b in itertools.pairwise(until.tolist())]


_INDICES = AnytimeLazyUCB, AdaPUCB, AdaPKLUCB, PrintedAdaPUCB, PrintedAdaPKLUCB, DPKLUCB, DPIMED
accelerates(*_INDICES, on=DrawnRewards, name="batch by batch")(play_batches)
_RACES: dict[str, Any] = {
    "name": "release by release",
    "error_a_pull": RACE_ERROR,
    "when": lambda algorithm: algorithm.draws == "pulls",
}
_IN_BATCHES: dict[str, Any] = {
    "name": "batch by batch",
    "when": lambda algorithm: algorithm.draws == "batches",
}
accelerates(LazyDPTS, on=DrawnRewards, **_RACES)(play_batches)
accelerates(LazyDPTS, on=DrawnRewards, **_IN_BATCHES)(play_batches)


@accelerates(LazyDPTS, on=LawRewards, **_RACES)
@accelerates(LazyDPTS, on=LawRewards, **_IN_BATCHES)
def play_race(
    algorithm: LazyDPTS, rewards: LawRewards, horizon: int, checkpoints: Times, rng: Rng
) -> Play:
    """Play on arms of any laws, and ask for their sums release by release.

    Shapes: `checkpoints` (C,).
    """
    rule, grid = _rule_of(algorithm)
    n_arms, pulls = rewards.n_arms, int(checkpoints[-1])
    state = _start(n_arms, _most_releases(algorithm, n_arms, pulls))
    counts = np.zeros((checkpoints.size, n_arms), np.int64)
    while (arm := _advance(rule, state, checkpoints, counts, rng)) >= 0:
        total = rewards.total(arm, int(state.sizes[arm]))
        _release(grid, state, arm, float(total), rng)
    return _play(state, counts, algorithm.releases)


def play_table(algorithm: LazyBatches, table: Floats, n_runs: int, rng: Rng) -> NDArray[np.int8]:
    """Play a table many times.

    Shapes: `table` (K, N) → (n_runs, N).
    """
    rule, grid = _rule_of(algorithm)
    tape = tape_of(fixed_rewards(table))
    arms: NDArray[np.int8] = _table_runs(rule, grid, tape, n_runs, rng)
    return arms


accelerates(*_INDICES, on=TableRuns, name="batch by batch")(play_table)
accelerates(LazyDPTS, on=TableRuns, **_RACES)(play_table)
accelerates(LazyDPTS, on=TableRuns, **_IN_BATCHES)(play_table)
