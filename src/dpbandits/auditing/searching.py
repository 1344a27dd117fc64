"""Where to look: pairs of tables that an algorithm's outputs tell apart."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpbandits._arrays import Floats, Rng
from dpbandits._validation import check_integer
from dpbandits.auditing.auditor import FEWEST_RUNS
from dpbandits.auditing.events import choose_event
from dpbandits.auditing.pairs import TablePair
from dpbandits.auditing.runs import entropy_of, run_both
from dpbandits.auditing.subjects import Auditable, subject_of
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.rewards.streams import FixedRewards
from dpbandits.stopping.base import StoppingRule

__all__ = ["candidate_pairs", "certain_pair", "n_arms_of", "search"]


def candidate_pairs(n_arms: int, n_pulls: int, rng: Rng, count: int) -> list[TablePair]:
    """Return pairs of tables of rewards 0 and 1 that are worth a try.

    The first ones are constant arms with one early entry changed; the others are drawn: an arm's
    rewards have a random mean, and the place that differs is more often early than late.

    Parameters
    ----------
    n_arms, n_pulls : int
        Shape of the tables.
    rng : numpy.random.Generator
        Source of the tables that are drawn.
    count : int
        Number of pairs.

    Returns
    -------
    list of TablePair
        The pairs.

    Examples
    --------
    >>> [pair.pull for pair in candidate_pairs(1, 8, np.random.default_rng(0), count=4)]
    [0, 0, 1, 1]
    """
    constants = [np.zeros((n_arms, n_pulls)), np.ones((n_arms, n_pulls))]
    if n_arms > 1:
        constants.append(np.vstack([np.ones((1, n_pulls)), np.zeros((n_arms - 1, n_pulls))]))
    pairs = [
        _flipped(table, arm, pull)
        for pull in sorted({0, min(1, n_pulls - 1), n_pulls // 4})
        for table in constants
        for arm in range(min(n_arms, 2))
    ]
    while len(pairs) < count:
        means = rng.choice([0.0, 0.5, 1.0], size=(n_arms, 1))
        table = (rng.random((n_arms, n_pulls)) < means).astype(np.float64)
        pull = min(int(n_pulls * rng.random() ** 3), n_pulls - 1)
        pairs.append(_flipped(table, int(rng.integers(n_arms)), pull))
    return pairs[:count]


def _flipped(table: Floats, arm: int, pull: int) -> TablePair:
    return TablePair(table, arm, pull, 1.0 - table[arm, pull])


def search(
    subject: Auditable | Callable[[FixedRewards, Rng], Any],
    n_arms: int = 2,
    n_pulls: int = 16,
    count: int = 32,
    n_runs: int = 4000,
    seed: int | Sequence[int] = 0,
    n_jobs: int = 1,
    guarantee: PrivacyGuarantee | None = None,
) -> TablePair:
    """Look for neighbouring tables that an algorithm's outputs tell apart well.

    Each of `candidate_pairs` is tried with a few runs; the best quarter again with eight times as
    many; then single entries of the best one are turned, as long as that helps. The bounds of
    a search are those of the best of many: audit the result, which uses other random numbers.

    Parameters
    ----------
    subject : Auditable, algorithm or callable
        What is to be audited.
    n_arms, n_pulls : int
        Shape of the tables, of rewards 0 and 1.
    count : int
        How many pairs are tried first.
    n_runs : int
        Runs on each table at first, at least 16.
    seed : int or sequence of int
        Entropy of the root seed.
    n_jobs : int
        Number of workers; −1 for all processors.
    guarantee : PrivacyGuarantee, optional
        What is declared, in place of what the subject says: its δ matters.

    Returns
    -------
    TablePair
        The best pair that was found.

    Raises
    ------
    ValueError
        If an argument is out of range, or the subject cannot be run on such tables; if it keeps
        state between runs.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> pair = search(dpb.DPUCB(epsilon=2.0), n_pulls=6, count=6, n_runs=200)
    >>> pair.table.shape
    (2, 6)
    """
    n_arms, n_pulls = check_integer("n_arms", n_arms, 1), check_integer("n_pulls", n_pulls, 1)
    target = subject_of(subject, n_pulls, guarantee)
    count = check_integer("count", count, 1)
    n_runs = check_integer("n_runs", n_runs, FEWEST_RUNS)
    delta = (guarantee or target.guarantee).delta
    rng = np.random.default_rng([*entropy_of(seed), 1])
    trials = itertools.count(1)

    def score(pair: TablePair, runs: int) -> float:
        found = run_both(target, pair, runs, [*entropy_of(seed), 2, next(trials)], n_jobs)
        return choose_event(*found, delta, 0.05)[1]

    pairs = candidate_pairs(n_arms, n_pulls, rng, count)
    first = sorted(pairs, key=lambda pair: -score(pair, n_runs))
    better = [(score(pair, 8 * n_runs), pair) for pair in first[: max(count // 4, 1)]]
    highest, best = max(better, key=lambda found: found[0])
    for _ in range(count // 4):
        arm, pull = int(rng.integers(n_arms)), int(rng.integers(n_pulls))
        if (arm, pull) == (best.arm, best.pull):
            continue
        table = best.table.copy()
        table[arm, pull] = 1.0 - table[arm, pull]
        changed = TablePair(table, best.arm, best.pull, best.value)
        reached = score(changed, 8 * n_runs)
        if reached > highest:
            highest, best = reached, changed
    return best


def certain_pair(target: object, n_pulls: int) -> TablePair | None:
    """Find neighbouring tables on which an algorithm without randomness has two outputs.

    If outputs differ with rewards of 1 for arm 0 alone and without any, then so do those of two
    neighbours among the tables between, which bisection finds: it is private with no ε.

    Parameters
    ----------
    target : object
        An algorithm or a stopping rule.
    n_pulls : int
        Length of the tables.

    Returns
    -------
    TablePair or None
        The pair; None if the outputs with all rewards and without any are the same.

    Raises
    ------
    ValueError
        If `target` cannot be run on such tables.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> certain_pair(dpb.UCB(), 16).pull, certain_pair(dpb.UCB(), 2)
    (0, None)
    """
    subject = subject_of(target, n_pulls)

    def table(ones: int) -> Floats:
        rewards = np.zeros((n_arms_of(target), n_pulls))
        rewards[0, :ones] = 1.0
        return rewards

    def shown(ones: int) -> tuple[bytes, ...]:
        outputs = subject.outputs(table(ones), 1, np.random.default_rng(0))
        return tuple(np.ascontiguousarray(part).tobytes() for part in outputs)

    none = shown(0)
    if none == shown(n_pulls):
        return None
    low, high = 0, n_pulls
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if shown(middle) == none else (low, middle)
    return TablePair(table(low), 0, low, 1.0)


def n_arms_of(target: object) -> int:
    """Return the number of arms of the tables that a target is audited on.

    Parameters
    ----------
    target : object
        An algorithm, a stopping rule or a counter.

    Returns
    -------
    int
        1 for a stopping rule, which reads one stream, else 2.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> n_arms_of(dpb.NAS(0.5, 0.05)), n_arms_of(dpb.UCB())
    (1, 2)
    """
    return 1 if isinstance(target, StoppingRule) else 2
