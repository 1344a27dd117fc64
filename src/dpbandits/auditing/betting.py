"""Lower bounds on the privacy loss of an event, from runs, by betting.

*Theorem* (:prf:ref:`thm-audit`). Let X₁, X₂, … be numbers of at least 0 and Y₁, Y₂, … be 0 or 1,
such that, given the earlier ones, E X_i ≤ P(A) and E Y_i = Q(A). If P(A) ≤ e^ε·Q(A) + δ
with ε ≥ 0, then the bound of `betting_bound` is above ε with probability at most φ. X_i and Y_i may
depend on each other: for instance, they may come from one tape.

*Proof.* For a bet h in [0, 1/(1 + δ)) let W_n(h, b) = ∏_{i ≤ n} (1 + h·(e^(−b)X_i − Y_i − δ)): no
factor is negative. At b = ε each has, given the earlier ones, an expectation of at most
1 + h·(e^(−ε)P(A) − Q(A) − δ) ≤ 1 + h·(e^(−ε)δ − δ) ≤ 1. So W_n(h, ε) is a supermartingale that
starts at 1, and so is the mean of W_n over the bets. By Ville's inequality (or Markov's, for n
fixed beforehand) that mean ever reaches 1/φ with probability at most φ. Each factor falls in b; so
if the bound, the b at which the mean of W_n falls below 1/φ, is above ε, then the mean is at least
1/φ at ε. ∎

So the bound may be computed after every run, and the test may stop at any time, as it does when the
mean reaches 1/φ at the declared ε (:prf:ref:`thm-audit-stopped`).

Without a move X is 1 in runs with the event, else 0; with one X is the weight of
`dpbandits.auditing.tape`, whose mean is P(A) as well.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from dpbandits._arrays import Floats
from dpbandits._validation import check_fraction, check_integer, check_range, check_values
from dpbandits.auditing.verdicts import MOST_RUNS

__all__ = ["BETS", "Wealth", "betting_bound", "ceiling", "expected_bound", "least_convicted"]

BETS = np.array([0.02, 0.05, 0.1, 0.2, 0.35, 0.6, 0.98])
"""Bets h, in units of 1/(1 + δ), over which the mean is taken."""

_MOST = 60.0  # no bound is higher


class Wealth:
    """The wealth of a bet against a promise, run by run: a test martingale if the promise is true.

    Parameters
    ----------
    epsilon, delta : float
        The promised ε and δ.

    Examples
    --------
    If the event is equally likely on both tables, the wealth shrinks:

    >>> coin = Wealth(epsilon=1.0)
    >>> paths = coin.take(np.ones(50), np.ones(50)), coin.take(np.ones(9), np.zeros(9))
    >>> bool((np.diff(paths[0]) < 0).all()), bool((np.diff(paths[1]) > 0).all())
    (True, True)
    """

    def __init__(self, epsilon: float, delta: float = 0.0) -> None:
        self._epsilon, self._delta = epsilon, delta
        self._growth: Floats = np.zeros(BETS.size)

    def take(self, likely: Floats, rare: Floats) -> Floats:
        """Bet on more runs.

        Shapes: `likely`, `rare`, the result (n,).
        """
        bets = BETS[:, None] / (1.0 + self._delta)
        gains = np.log1p(bets * (math.exp(-self._epsilon) * likely - rare - self._delta))
        paths = self._growth[:, None] + gains.cumsum(axis=1)
        self._growth = paths[:, -1]
        found: Floats = np.logaddexp.reduce(paths, axis=0) - math.log(BETS.size)
        return found


def betting_bound(
    likely: ArrayLike,
    rare: ArrayLike,
    failure: float,
    delta: float = 0.0,
    counts: ArrayLike | None = None,
) -> float:
    """Return a lower bound on every ε with P(A) ≤ e^ε·Q(A) + δ.

    Parameters
    ----------
    likely : array_like of float
        Numbers X of at least 0 whose mean is P(A): the event's weight in each run on the table
        where it is likely.
    rare : array_like of float
        Numbers Y, 0 or 1, whose mean is Q(A): the event in each run on the other table.
    failure : float
        Probability φ in (0, 1) with which the bound may be too high.
    delta : float
        δ in [0, 1).
    counts : array_like of float, optional
        How often each pair (X, Y) was seen; once if not given.

    Returns
    -------
    float
        The bound; 0 if there is none.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> hits = np.repeat([1.0, 0.0], [700, 300])
    >>> misses = np.repeat([1.0, 0.0], [200, 800])
    >>> round(betting_bound(hits, misses, failure=0.05), 2)
    1.08
    """
    failure = check_fraction("failure", failure)
    delta = check_range("delta", delta, 0.0, 1.0)
    x = check_values("likely", likely, 0.0, math.inf)
    y = check_values("rare", rare, 0.0, 1.0)
    if counts is None:
        pairs, counted = np.unique(np.column_stack([x, y]), axis=0, return_counts=True)
        x, y = pairs.T
        times: Floats = counted.astype(np.float64)
    else:
        times = check_values("counts", counts, 0.0, math.inf)
    bets = BETS[:, None] / (1.0 + delta)

    def evidence(b: float) -> float:
        growth = np.log1p(bets * (math.exp(-b) * x - y - delta)) @ times
        return float(np.logaddexp.reduce(growth)) - math.log(BETS.size) + math.log(failure)

    low, high = 0.0, _MOST
    if evidence(low) < 0.0:
        return 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if evidence(middle) >= 0.0 else (low, middle)
    return low


def least_convicted(
    likely: ArrayLike, rare: ArrayLike, failure: float, epsilon: float, delta: float = 0.0
) -> float:
    """Return the least loss of an event that these runs would have convicted.

    The event's probability stays the same on one side; on the other its runs count less, by the
    largest factor with which the bet of `betting_bound` still wins against ε.
    """
    failure = check_fraction("failure", failure)
    delta = check_range("delta", delta, 0.0, 1.0)
    x = check_values("likely", likely, 0.0, math.inf)
    y = check_values("rare", rare, 0.0, 1.0)
    bets = BETS[:, None] / (1.0 + delta)
    gain = math.exp(-epsilon) * x - delta
    enough = math.log(BETS.size) - math.log(failure)

    def wins(factor: float) -> bool:
        growth = np.log1p(bets * (gain - factor * y)).sum(axis=1)
        return float(np.logaddexp.reduce(growth)) >= enough

    excess = float(x.mean()) - delta
    if excess <= 0.0 or not y.any() or not wins(0.0):
        return math.inf
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if wins(middle) else (low, middle)
    return math.log(excess / (high * float(y.mean())))


def expected_bound(p: float, q: float, n_runs: int, failure: float, delta: float = 0.0) -> float:
    """Return the bound from counts if each outcome occurs exactly as often as expected.

    Parameters
    ----------
    p, q : float
        Probabilities of the event on the two tables, in [0, 1].
    n_runs : int
        Independent runs on each table that test it.
    failure : float
        Probability φ in (0, 1) with which the bound may be too high.
    delta : float
        δ in [0, 1).

    Returns
    -------
    float
        The bound; 0 if there is none.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> round(expected_bound(0.5, 0.135, 10_000, 1e-9), 2)
    1.13
    """
    p, q = check_range("p", p, 0.0, 1.0), check_range("q", q, 0.0, 1.0)
    n_runs = check_integer("n_runs", n_runs, 1, MOST_RUNS)
    chances = np.array([p * q, p * (1 - q), (1 - p) * q, (1 - p) * (1 - q)])
    return betting_bound([1, 1, 0, 0], [1, 0, 1, 0], failure, delta, n_runs * chances)


def ceiling(n_runs: int, failure: float) -> float:
    """Return the largest bound that so many runs can give without a move.

    The event occurs in every run on one table, and in none on the other. Proof:
    :prf:ref:`prop-ceiling`.

    Parameters
    ----------
    n_runs : int
        Runs that test the event, on each table.
    failure : float
        Probability φ in (0, 1) with which the bound may be too high.

    Returns
    -------
    float
        The bound.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> round(ceiling(10_000, 1e-9), 2)
    6.07
    """
    return expected_bound(1.0, 0.0, n_runs, failure)
