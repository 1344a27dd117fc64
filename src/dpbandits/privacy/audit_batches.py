"""Top Two algorithms run many times on a table of rewards, in compiled loops.

The loops of `BatchedTopTwo.decide` and `TopTwo.decide` are written here once more, for tables. The
rounds between releases, costs and estimates are the algorithms' own compiled functions, and
thresholds are tables of what the algorithms' functions say. On the same generator a run is the
algorithm's, pull by pull.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpbandits.identification.adap_tt import AdaPTT, AdaPTTStar, advance_doubling
from dpbandits.identification.base import MOST_PULLS
from dpbandits.identification.challenger import advance_costs
from dpbandits.identification.dp_tt import DPTT
from dpbandits.identification.thresholds import (
    PAIR_RULES,
    gaussian_threshold,
    separate_threshold,
)
from dpbandits.identification.top_two import TopTwo, next_decision
from dpbandits.identification.transport_kernels import (
    calibrated_cost_kernel,
    transportation_cost_kernel,
)
from dpbandits.mechanisms.laplace import laplace
from dpbandits.privacy.audit_lazy import running_sums

__all__ = ["BATCHED", "top_two_outputs"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BATCHED = (DPTT, AdaPTT, AdaPTTStar, TopTwo)
"""Classes that have compiled loops."""


class _Fields(NamedTuple):
    """The fields of an algorithm, in its place, and what its properties say."""

    epsilon: float
    leader_share: float
    exploration: float
    calibrated: bool  # whether costs know the noise
    doubles: bool  # whether it is AdaP-TT or AdaP-TT*, not DP-TT
    cost_epsilon: float
    by_gap: bool  # whether the gap itself is compared with the threshold


class _State(NamedTuple):
    """In the place of a `BatchState`."""

    pulls: Ints
    released: Ints
    following: Ints
    releases: Ints
    batch: Ints
    led: Ints
    own: Ints
    total: Floats
    last: Floats
    n_arms: int


def _compiled(function: Any) -> Any:
    return njit(cache=True, nogil=True)(function)


_SUM_MEANS = _compiled(DPTT._means)
_LAST_MEANS = _compiled(AdaPTT._means)


@njit(cache=True, nogil=True)
def _cost(
    fields: _Fields, state: _State, means: Floats, best: int, arm: int, threshold: float
) -> float:
    """Return what DP-TT compares with its threshold, W̃, or W ≥ W̃ if that is not above it."""
    n, m = state.released[best], state.released[arm]
    plain = transportation_cost_kernel(means[best], means[arm], n, m, fields.epsilon)[0]
    if plain <= threshold:
        return plain
    return calibrated_cost_kernel(
        means[best], means[arm], n, m, state.releases[best] / n, state.releases[arm] / m,
        fields.epsilon, 0.0, 0.0, -1.0,
    )[0]  # fmt: skip


@njit(cache=True, nogil=True)
def _gap(fields: _Fields, state: _State, means: Floats, best: int, arm: int) -> float:
    """Return what AdaP-TT and AdaP-TT* compare with their thresholds."""
    gap = means[best] - means[arm]
    if fields.by_gap:
        return gap
    return 0.5 * gap**2 / (1 / state.batch[best] + 1 / state.batch[arm])


@njit(cache=True, nogil=True)
def _advance_costs(fields: _Fields, state: _State, means: Floats, room: int) -> int:
    """Do what `DPTT` does between releases."""
    ratios = np.zeros(state.n_arms)
    if fields.calibrated:
        ratios = state.releases / state.released
    return advance_costs(
        int(means.argmax()), means, ratios, fields.epsilon, fields.exploration, state.pulls,
        state.following, state.led, state.own, fields.leader_share, room,
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _advance_doubling(fields: _Fields, state: _State, means: Floats, room: int) -> int:
    """Do what `AdaPTT` does between releases."""
    log_time = math.log(state.released.sum())
    bonus = log_time / (fields.epsilon * state.batch) + np.sqrt(log_time / (2 * state.batch))
    leader = int((means + bonus).argmax())
    return advance_doubling(
        leader, means[leader] - means, fields.cost_epsilon, state.pulls, state.following,
        state.led, state.own, fields.leader_share, room,
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _release(
    state: _State,
    arm: int,
    sums: Floats,
    following: Ints,
    scale: float,
    log: Floats,
    rng: np.random.Generator,
) -> None:
    """Release the open batch of an arm."""
    log[state.releases.sum()] = arm
    first, pulls = state.released[arm], state.pulls[arm]
    state.last[arm] = sums[arm, pulls] - sums[arm, first] + laplace(rng, scale)
    state.total[arm] += state.last[arm]
    state.batch[arm] = pulls - first
    state.released[arm] = pulls
    state.releases[arm] += 1
    state.following[arm] = following[pulls]


@njit(cache=True, nogil=True)
def _stops(fields: _Fields, state: _State, means: Floats, thresholds: Floats) -> bool:
    """Return whether the arm with the largest estimate is recommended now."""
    best = int(means.argmax())
    for b in range(means.size):
        if b == best:
            continue
        threshold = thresholds[state.releases[best], state.releases[b]]
        if fields.doubles:
            statistic = _gap(fields, state, means, best, b)
        else:
            statistic = _cost(fields, state, means, best, b, threshold)
        if not statistic > threshold:
            return False
    return True


@njit(cache=True, nogil=True)
def _decide(
    fields: _Fields,
    state: _State,
    sums: Floats,
    following: Ints,
    thresholds: Floats,
    log: Floats,
    rng: np.random.Generator,
) -> int:
    """Run once, from the start; return the recommendation, −1 if the table ends first."""
    room = sums.shape[1] - 1
    scale = 1.0 / fields.epsilon
    for arm in range(state.n_arms):
        state.pulls[arm] = min(following[0], room)
        room -= state.pulls[arm]
        if state.pulls[arm] < following[0]:
            return -1
        _release(state, arm, sums, following, scale, log, rng)
    while True:
        means = _LAST_MEANS(fields, state) if fields.doubles else _SUM_MEANS(fields, state)
        if _stops(fields, state, means, thresholds):
            return int(means.argmax())
        room = sums.shape[1] - 1 - state.pulls.sum()
        arm = -1
        if room > 0 and fields.doubles:
            arm = _advance_doubling(fields, state, means, room)
        elif room > 0:
            arm = _advance_costs(fields, state, means, room)
        if arm < 0:
            return -1
        _release(state, arm, sums, following, scale, log, rng)


@njit(cache=True, nogil=True)
def _batched_outputs(
    table: Floats,
    n_runs: int,
    rng: np.random.Generator,
    fields: _Fields,
    following: Ints,
    thresholds: Floats,
) -> tuple[Floats, Floats]:
    """Run DP-TT, AdaP-TT or AdaP-TT*."""
    n_arms, n_pulls = table.shape
    sums = running_sums(table)
    values, actions = np.empty((n_runs, 2 + n_arms)), np.full((n_runs, n_pulls), -1.0)
    counts, totals = np.empty((7, n_arms), np.int64), np.empty((2, n_arms))
    state = _State(
        counts[0], counts[1], counts[2], counts[3], counts[4], counts[5], counts[6], totals[0],
        totals[1], n_arms,
    )  # fmt: skip
    for r in range(n_runs):
        counts[:] = 0
        totals[:] = 0.0
        values[r, 0] = _decide(fields, state, sums, following, thresholds, actions[r], rng)
        values[r, 1] = state.pulls.sum()
        values[r, 2:] = state.pulls
    return values, actions


@njit(cache=True, nogil=True)
def _plain_outputs(table: Floats, n_runs: int, share: float, delta: float) -> tuple[Floats, Floats]:
    """Run Top Two, which has no randomness but that of the rewards."""
    n_arms, n_pulls = table.shape
    values, actions = np.empty((n_runs, 2 + n_arms)), np.full((n_runs, n_pulls), -1.0)
    counts = np.empty((4, n_arms), np.int64)
    sums, pulls, led, own = counts[0], counts[1], counts[2], counts[3]
    for r in range(n_runs):
        counts[:] = 0
        values[r, 0] = -1.0
        for t in range(n_pulls + 1):
            stops, arm = False, t
            if t >= n_arms:
                stops, arm = next_decision(sums, pulls, led, own, share, delta)
            if stops:
                values[r, 0] = arm
            if stops or t == n_pulls:
                break
            actions[r, t] = arm
            sums[arm] += int(table[arm, pulls[arm]])
            pulls[arm] += 1
        values[r, 1] = pulls.sum()
        values[r, 2:] = pulls
    return values, actions


def _thresholds(algorithm: Any, n_arms: int, ends: list[int]) -> Floats:
    """Return the threshold for each pair of numbers of releases, from 1 on."""
    batches = np.diff(ends, prepend=0).tolist()
    table = np.full((len(ends) + 1, len(ends) + 1), np.inf)
    for k, n in enumerate(batches, 1):
        for j, m in enumerate(batches, 1):
            if isinstance(algorithm, DPTT):
                rule = PAIR_RULES[algorithm.threshold]
                table[k, j] = rule(algorithm.delta, n_arms, k, j, algorithm.exponent)
                continue
            setting = algorithm.delta, algorithm.epsilon, n_arms, (k, j), (n, m)
            if algorithm._rule == "separate":
                table[k, j] = separate_threshold(*setting)
            else:
                table[k, j] = gaussian_threshold(algorithm._rule, *setting)
    return table


def top_two_outputs(
    algorithm: Any, table: Floats, n_runs: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Run a Top Two algorithm for N pulls at most.

    Parameters
    ----------
    algorithm : IdentificationAlgorithm
        One of the classes in `BATCHED`.
    table : numpy.ndarray of float, shape (K, N)
        Rewards in [0, 1], those of `TopTwo` 0 or 1; 2 ≤ K ≤ N.
    n_runs : int
        Number of runs.
    rng : numpy.random.Generator
        Source of the noise.

    Returns
    -------
    values : numpy.ndarray of float, shape (n_runs, 2 + K)
        Recommendation (−1 if the table ended first), stopping time, pulls of each arm.
    actions : numpy.ndarray of float, shape (n_runs, N)
        Arms in the order in which rewards were looked at, −1 behind the last.

    Examples
    --------
    >>> table = np.array([[1.0] * 20, [0.0] * 20])
    >>> values, _ = top_two_outputs(TopTwo(0.1), table, 1, np.random.default_rng(0))
    >>> values.tolist()
    [[0.0, 8.0, 4.0, 4.0]]
    """
    if isinstance(algorithm, TopTwo):
        return _plain_outputs(table, n_runs, algorithm.leader_share, algorithm.delta)
    n_arms, n_pulls = table.shape
    release = algorithm._next_release
    following = np.array([min(release(n), MOST_PULLS) for n in range(n_pulls + 1)])
    ends = [release(0)]
    while ends[-1] <= n_pulls:
        ends.append(release(ends[-1]))
    doubles = not isinstance(algorithm, DPTT)
    fields = _Fields(
        float(algorithm.epsilon),
        float(algorithm.leader_share),
        0.0 if doubles else float(algorithm.exploration),
        not doubles and algorithm.costs == "calibrated",
        doubles,
        algorithm._cost_epsilon() if doubles else math.inf,
        doubles and algorithm._rule == "separate",
    )
    thresholds = _thresholds(algorithm, n_arms, ends)
    return _batched_outputs(table, n_runs, rng, fields, following, thresholds)
