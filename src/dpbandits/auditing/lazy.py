"""Algorithms of lazy batches run many times on a table of rewards, in compiled loops.

The loop of `dpbandits.regret.lazy_batches` is written here once more, for tables; which arm is
next is decided by the algorithms' own methods, compiled. Noise is drawn by the function that the
algorithms call. On the same generator a run is the algorithm's, pull by pull.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpbandits.mechanisms.laplace import laplace_noise
from dpbandits.regret.adap_ucb import AdaPKLUCB, AdaPUCB
from dpbandits.regret.dp_klucb import DPIMED, DPKLUCB
from dpbandits.regret.lazy_dp_ts import LazyDPTS
from dpbandits.regret.lazy_sampling import first_of, first_to_finish, largest_draw
from dpbandits.regret.lazy_ucb import AnytimeLazyUCB
from dpbandits.schedules import batch_grid

__all__ = ["has_loop", "lazy_actions", "likelier_of_two", "running_sums"]

Actions = NDArray[np.int8]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_RULES = (AnytimeLazyUCB, AdaPUCB, AdaPKLUCB, DPKLUCB, DPIMED)
"""Classes that play whole batches; their places are what `_choose` knows them by."""


_DEAR = 3
"""Place in `_RULES` from which on a choice takes so long that it is looked up."""
_LEAST, _GREATEST = -3.0, 4.0
_CELLS = (64, 512)
"""Released means that are looked up, and cells between them: coarse ones, and fine ones."""
_MOST_BATCHES = 24
"""Batches of an arm for which there are tables, of 0.3 MB for each two numbers of batches."""
_NEW, _EITHER = -2, -1
"""What is known of a cell: nothing, or that both arms can be chosen in it; else the arm."""


class _Fields(NamedTuple):
    """The fields of an algorithm, in its place; 0 for those that it has not."""

    epsilon: float
    alpha: float
    slack: float
    calibrated: bool


class _Released(NamedTuple):
    """In the place of a `Released`."""

    totals: Floats
    rewards: Ints
    noises: Ints


class _Grid(NamedTuple):
    """The batches of an arm, as `batch_grid` returns them."""

    sizes: Ints
    ends: Ints
    rewards: Ints
    noises: Ints


def _compiled(function: Any) -> Any:
    return njit(cache=True, nogil=True)(function)


_NOISE = _compiled(laplace_noise)
_LAZY_UCB = _compiled(AnytimeLazyUCB._choose)
_ADAP_UCB = _compiled(AdaPUCB._choose)
_ADAP_KLUCB = _compiled(AdaPKLUCB._choose)
_DP_KLUCB = _compiled(DPKLUCB._choose)
_DP_IMED = _compiled(DPIMED._choose)
_POSTERIORS = _compiled(LazyDPTS.posteriors)


@njit(cache=True, nogil=True)
def running_sums(table: Floats) -> Floats:
    """Return the sums of each arm's first 0, 1, …, N rewards, shape (K, N + 1)."""
    sums = np.zeros((table.shape[0], table.shape[1] + 1))
    for arm in range(table.shape[0]):
        for n in range(table.shape[1]):
            sums[arm, n + 1] = sums[arm, n] + table[arm, n]
    return sums


@njit(cache=True, nogil=True)
def likelier_of_two(centres: Floats, deviations: Floats) -> Floats:
    """Return `largest_draw` of two normal variables, which has a closed form.

    Examples
    --------
    >>> centres, deviations = np.array([0.3, 0.5]), np.array([0.5, 1.0])
    >>> error = likelier_of_two(centres, deviations) - largest_draw(centres, deviations)
    >>> bool(abs(error).max() < 1e-10)
    True
    """
    z = (centres[0] - centres[1]) / math.hypot(deviations[0], deviations[1]) / math.sqrt(2.0)
    return np.array([0.5 * math.erfc(-z), 0.5 * math.erfc(z)])


@njit(cache=True, nogil=True)
def _choose(
    rule: int, fields: _Fields, released: _Released, t: int, rng: np.random.Generator
) -> int:
    """Return the arm whose next batch begins with pull number t, as the algorithm says."""
    if rule == 0:
        return _LAZY_UCB(fields, released, t, rng)
    if rule == 1:
        return _ADAP_UCB(fields, released, t, rng)
    if rule == 2:
        return _ADAP_KLUCB(fields, released, t, rng)
    if rule == 3:
        return _DP_KLUCB(fields, released, t, rng)
    return _DP_IMED(fields, released, t, rng)


@njit(cache=True, nogil=True)
def _look(
    rule: int,
    fields: _Fields,
    released: _Released,
    t: int,
    rng: np.random.Generator,
    known: Actions,
) -> int:
    """Return which of two arms is chosen for all released means in the cell of these, if one is.

    An arm that is chosen stays so if its released sum grows and that of the other falls. Hence a
    choice at one corner of a cell may hold in all of it; `known` keeps what is known of the cells.
    """
    cells = known.shape[0]
    width = (_GREATEST - _LEAST) / cells
    places = np.empty(2, np.int64)
    for arm in range(2):
        place = (released.totals[arm] / released.rewards[arm] - _LEAST) / width
        if not 0.0 <= place < cells:
            return _EITHER
        places[arm] = int(place)
    here = known[places[0], places[1]]
    if here == _NEW:
        here = _EITHER
        corner = _Released(np.empty(2), released.rewards, released.noises)
        for loser in (0, 1):  # at the corner that is best for it
            for arm in range(2):
                edge = places[arm] + (1 if arm == loser else 0)
                corner.totals[arm] = (_LEAST + width * edge) * released.rewards[arm]
            if _choose(rule, fields, corner, t, rng) != loser:
                here = 1 - loser
                break
        known[places[0], places[1]] = here
    return here


@njit(cache=True, nogil=True)
def _release(
    sums: Floats,
    grid: _Grid,
    released: _Released,
    arm: int,
    batch: int,
    scale: float,
    forgets: bool,
    rng: np.random.Generator,
) -> None:
    """Release an arm's batch of the given number."""
    end = grid.ends[batch]
    total = sums[arm, end] - sums[arm, end - grid.sizes[batch]] + _NOISE(rng, scale, 1)[0]
    released.totals[arm] = total if forgets else released.totals[arm] + total
    released.rewards[arm] = grid.rewards[batch]
    released.noises[arm] = grid.noises[batch]


@njit(cache=True, nogil=True)
def _batch_actions(
    table: Floats,
    n_runs: int,
    rng: np.random.Generator,
    rule: int,
    fields: _Fields,
    grid: _Grid,
    forgets: bool,
    memory: tuple[Actions, Actions],
) -> Actions:
    """Run algorithms that play whole batches of the arm that is chosen."""
    n_arms, n_pulls = table.shape
    sums, scale = running_sums(table), 1.0 / fields.epsilon
    released = _Released(np.zeros(n_arms), np.zeros(n_arms, np.int64), np.zeros(n_arms, np.int64))
    batches = np.zeros(n_arms, np.int64)
    actions = np.zeros((n_runs, n_pulls), np.int8)
    for r in range(n_runs):
        released.totals[:] = 0.0
        batches[:] = 0
        t, turn = 0, 0
        while t < n_pulls:
            if turn < n_arms:
                arm = turn
            else:
                arm = _EITHER
                for known in memory:  # t is a function of the numbers of batches
                    if arm == _EITHER and known.size > 0:
                        cells = known[batches[0], batches[1]]
                        arm = _look(rule, fields, released, t + 1, rng, cells)
                if arm == _EITHER:
                    arm = _choose(rule, fields, released, t + 1, rng)
            end = t + grid.sizes[batches[arm]]
            actions[r, t : min(end, n_pulls)] = arm
            if end > n_pulls:
                break
            _release(sums, grid, released, arm, batches[arm], scale, forgets, rng)
            batches[arm] += 1
            t, turn = end, turn + 1
    return actions


@njit(cache=True, nogil=True)
def _sampling_actions(
    table: Floats, n_runs: int, rng: np.random.Generator, fields: _Fields, grid: _Grid
) -> Actions:
    """Run Lazy-DP-TS, which goes on from release to release."""
    n_arms, n_pulls = table.shape
    sums, scale = running_sums(table), 1.0 / fields.epsilon
    released = _Released(np.zeros(n_arms), np.zeros(n_arms, np.int64), np.zeros(n_arms, np.int64))
    batches, due = np.zeros(n_arms, np.int64), np.ones(n_arms, np.int64)
    actions = np.zeros((n_runs, n_pulls), np.int8)
    for r in range(n_runs):
        batches[:] = 0
        due[:] = 1
        t = 0
        while t < n_pulls:
            arm, stretch = t, np.zeros(n_arms, np.int64)
            if t < n_arms:
                stretch[arm] = 1
            else:
                centres, deviations = _POSTERIORS(fields, released, t + 1)
                if n_arms == 2:
                    shares = likelier_of_two(centres, deviations)
                else:
                    shares = largest_draw(centres, deviations)
                arm, stretch = first_to_finish(rng, shares, due)
            due -= stretch
            stretch[arm] -= 1  # the last pull is of that arm
            end = t + stretch.sum() + 1
            if end > t + 1:
                counts = first_of(rng, stretch, np.arange(1, min(end, n_pulls + 1) - t))
                before = np.zeros(n_arms, np.int64)
                for i in range(counts.shape[0]):
                    actions[r, t + i] = np.argmax(counts[i] - before)
                    before = counts[i]
            if end > n_pulls:
                break
            actions[r, end - 1] = arm
            _release(sums, grid, released, arm, batches[arm], scale, True, rng)
            batches[arm] += 1
            due[arm] = grid.sizes[batches[arm]]
            t = end
    return actions


def lazy_actions(algorithm: Any, table: Floats, n_runs: int, rng: np.random.Generator) -> Actions:
    """Run an algorithm of lazy batches.

    Parameters
    ----------
    algorithm : LazyBatches
        One that `has_loop`.
    table : numpy.ndarray of float, shape (K, N)
        Rewards in [0, 1]; a run lasts for N pulls.
    n_runs : int
        Number of runs.
    rng : numpy.random.Generator
        Source of the noise and, for `LazyDPTS`, of its draws.

    Returns
    -------
    numpy.ndarray of int8, shape (n_runs, N)
        Arms pulled.

    Examples
    --------
    >>> table = np.array([[1.0] * 8, [0.0] * 8])
    >>> lazy_actions(AdaPUCB(math.inf), table, 1, np.random.default_rng(0)).tolist()
    [[0, 1, 0, 0, 0, 0, 0, 0]]
    """
    fields = _Fields(
        float(algorithm.epsilon),
        float(getattr(algorithm, "alpha", 0.0)),
        float(getattr(algorithm, "slack", 0.0)),
        bool(getattr(algorithm, "calibrated", False)),
    )
    grid = _Grid(*batch_grid(table.shape[1] + 1, algorithm.eta, algorithm.forgets))
    if isinstance(algorithm, LazyDPTS):
        return _sampling_actions(table, n_runs, rng, fields, grid)
    rule = _RULES.index(type(algorithm))
    n_batches = grid.sizes.size
    looked_up = len(table) == 2 and rule >= _DEAR and n_batches <= _MOST_BATCHES
    memory = _memory(algorithm, n_batches if looked_up else 0)
    return _batch_actions(table, n_runs, rng, rule, fields, grid, algorithm.forgets, memory)


@functools.lru_cache(maxsize=1)
def _memory(algorithm: object, n_batches: int) -> tuple[Actions, Actions]:
    """Return tables for `_look`, cell by cell for each two numbers of batches.

    They are filled while an algorithm runs, and are good for all its runs: what they hold are
    choices, which depend on the algorithm alone.
    """
    coarse, fine = (np.full((n_batches, n_batches, n, n), _NEW, np.int8) for n in _CELLS)
    return coarse, fine


def has_loop(algorithm: object) -> bool:
    """Whether an algorithm is one of those here: `LazyDPTS` is with a draw a pull."""
    if isinstance(algorithm, LazyDPTS):
        return type(algorithm) is LazyDPTS and algorithm.draws == "pulls"
    return type(algorithm) in _RULES
