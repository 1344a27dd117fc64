"""Elimination by two p-values, epoch by epoch: the numbers of the plain program, tests by a table.

The sum of an epoch's rewards is drawn at once, as in the module `elimination`. A leader rules out
the arms below one threshold, which rises with the leader's count (:prf:ref:`prop-two-threshold`).
For leaders on a grid, a table contains a count that is ruled out and one that is not; between two
leaders of the grid these bracket the threshold, and a count within the bracket is tested itself. So
every decision is the plain program's; the table, which is filled on demand and kept for later runs,
saves nearly all of the tests.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._engine.acceleration import accelerates
from dpbandits._engine.accelerators.elimination import eliminate, play_elimination, rule_of
from dpbandits._engine.kernels import entered_for, kernel
from dpbandits.mechanisms import laplace
from dpbandits.mechanisms.noisy_counts import rules_out_kernel, tail_coefficients
from dpbandits.regret.binomial_elimination import BinomialDPSE
from dpbandits.rewards.binomial import binomial
from dpbandits.rewards.sources import DrawnRewards

_PLACES = 512  # of the table, for each epoch
_STEP = 0.1  # between two leaders of the grid, in units of a count's standard deviation
_EXACT = 0.01  # distance of the two counts of an entry, in the same unit


class Tests(NamedTuple):
    """The tests of a run, epoch by epoch, and the brackets of their thresholds.

    Attributes
    ----------
    pulls : numpy.ndarray of int, shape (E,)
        Pulls of a viable arm at the end of each epoch.
    counted : numpy.ndarray of float, shape (E,)
        Number of rewards in the releases that are remembered.
    coefficients : tuple of numpy.ndarray of float, length m
        `laplace_tail_polynomial` of 1, …, m.
    epsilon, log_level : float
        Privacy budget, and logarithm of the tests' level.
    keys : numpy.ndarray of int, shape (E, P)
        Leader of the grid at each place of the table; −1 if empty.
    low, high : numpy.ndarray of float, shape (E, P)
        A count that this leader rules out, and one that it does not.

    Examples
    --------
    >>> tests = tests_of(BinomialDPSE(1.0), 2, 10_000)
    >>> tests.pulls[:3].tolist(), tests.counted[:6].tolist()
    ([15, 30, 60], [15.0, 30.0, 60.0, 120.0, 225.0, 450.0])
    """

    pulls: Ints
    counted: Floats
    coefficients: tuple[Floats, ...]
    epsilon: float
    log_level: float
    keys: Ints
    low: Floats
    high: Floats


@functools.lru_cache(maxsize=64)
def tests_of(algorithm: BinomialDPSE, n_arms: int, horizon: int) -> Tests:
    """Return the tests of an algorithm; the same arguments share one table in a process."""
    plan, memory = algorithm.plan(n_arms, horizon), algorithm.memory
    epochs = range(1, plan.releases + 1)
    shape = plan.releases, _PLACES
    return Tests(
        np.array([plan.pulls(e) for e in epochs], dtype=np.int64),
        np.array([float(plan.counted(e, memory)) for e in epochs]),
        tuple(tail_coefficients(m) for m in range(1, memory + 1)),
        algorithm.epsilon,
        plan.log_level,
        np.full(shape, -1),
        np.zeros(shape),
        np.zeros(shape),
    )


@kernel
def _spread(count: float, n: float, noise: float) -> float:
    """Return approximately the standard deviation of a released count, the unit of the grid."""
    share = min(max(count / n, 0.0), 1.0)
    return math.sqrt(n * share * (1.0 - share) + noise)


@kernel
def _grid(count: float, n: float, noise: float) -> float:
    """Return the place of a count on the grid, an integer at each leader of the grid."""
    share = min(max((count + noise) / (n + 2.0 * noise), 0.0), 1.0)
    return 2.0 / _STEP * math.sqrt(n + 2.0 * noise) * math.asin(math.sqrt(share))


@kernel
def _leader(place: float, n: float, noise: float) -> float:
    """Return the leader at a place of the grid: the inverse of `_grid`."""
    share = math.sin(place * _STEP / (2.0 * math.sqrt(n + 2.0 * noise))) ** 2
    return share * (n + 2.0 * noise) - noise


@kernel
def _threshold(
    leader: float, n: float, noise: float, epsilon: float, coefficients: Floats, log_level: float
) -> tuple[float, float]:
    """Return a count that a leader rules out, and one slightly above that it does not.

    Only counts up to the leader's are of interest: if the leader's own count is ruled out, the
    second is infinite.
    """
    unit = _spread(leader, n, noise)
    high, stride = leader, 4.0 * unit
    if rules_out_kernel(leader, high, n, epsilon, coefficients, log_level):
        return leader, math.inf
    low = high - stride
    while not rules_out_kernel(leader, low, n, epsilon, coefficients, log_level):
        high, stride = low, 1.5 * stride
        low = high - stride
    while high - low > _EXACT * unit:
        middle = 0.5 * (low + high)
        if rules_out_kernel(leader, middle, n, epsilon, coefficients, log_level):
            low = middle
        else:
            high = middle
    return low, high


@kernel
def _entry(tests: Tests, epoch: int, place: int, noise: float, coefficients: Floats) -> int:
    """Return the place of a leader in the table; add it if it is missing."""
    at = place % _PLACES
    if tests.keys[epoch, at] != place:
        n = tests.counted[epoch]
        leader = _leader(float(place), n, noise)
        low, high = _threshold(leader, n, noise, tests.epsilon, coefficients, tests.log_level)
        tests.keys[epoch, at] = place
        tests.low[epoch, at], tests.high[epoch, at] = low, high
    return at


@kernel
def _bracket(tests: Tests, epoch: int, leader: float, coefficients: Floats) -> tuple[float, float]:
    """Return a count that a leader of an epoch rules out, and one that it does not."""
    n = tests.counted[epoch]
    noise = 1.0 + 2.0 * coefficients.size / (tests.epsilon * tests.epsilon)
    place = int(np.floor(_grid(leader, n, noise)))
    low, high = -math.inf, math.inf
    if _leader(float(place), n, noise) <= leader:
        low = tests.low[epoch, _entry(tests, epoch, place, noise, coefficients)]
    if _leader(float(place + 1), n, noise) >= leader:
        high = tests.high[epoch, _entry(tests, epoch, place + 1, noise, coefficients)]
    return low, high


@entered_for(eliminate, Tests)
@kernel
def _eliminate_by_tests(
    tests: Tests, means: Floats, horizon: int, rng: Rng, epoch_ends: Ints, last_epoch: Ints
) -> int:
    epsilon, memory = tests.epsilon, len(tests.coefficients)
    viable = np.arange(means.size)
    released = np.zeros((memory, means.size))
    counts = np.empty(means.size)
    size, epoch, t = means.size, 0, 0
    while size > 1 and epoch < tests.pulls.size:
        fresh = tests.pulls[epoch] - (tests.pulls[epoch - 1] if epoch > 0 else 0)
        if fresh > (horizon - t) // size:
            break
        t += fresh * size
        epoch_ends[epoch] = t
        slot = epoch % memory
        for i in range(size):
            released[slot, viable[i]] = binomial(rng, fresh, means[viable[i]])
        if epsilon < math.inf:
            for i in range(size):
                released[slot, viable[i]] += laplace(rng, 1.0 / epsilon)
        noises = min(epoch + 1, memory)
        for i in range(size):
            counts[i] = 0.0
        for j in range(noises):  # the oldest first, as the plain program adds them up
            row = released[(slot + memory + 1 - noises + j) % memory]
            for i in range(size):
                counts[i] += row[viable[i]]
        best = counts[0]
        for i in range(1, size):
            best = max(best, counts[i])
        coefficients = tests.coefficients[noises - 1]
        low, high = _bracket(tests, epoch, best, coefficients)
        n, log_level = tests.counted[epoch], tests.log_level
        kept = 0
        for i in range(size):
            count = counts[i]
            out = count <= low
            if count < best and low < count < high:
                out = rules_out_kernel(best, count, n, epsilon, coefficients, log_level)
                if out:
                    low = count
                else:
                    high = count
            last_epoch[viable[i]] = epoch + 1
            if not out or count == best:
                viable[kept] = viable[i]
                kept += 1
        size = kept
        epoch += 1
    for i in range(size):
        last_epoch[viable[i]] = epoch + 1
    return epoch


@rule_of.register
def _rule_of_two_p_values(algorithm: BinomialDPSE, n_arms: int, horizon: int) -> tuple[Tests, int]:
    tests = tests_of(algorithm, n_arms, horizon)
    return tests, tests.pulls.size


accelerates(BinomialDPSE, on=DrawnRewards, name="epoch by epoch")(play_elimination)
