"""A search for neighbouring tables that an algorithm's outputs tell apart well."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpbandits._arrays import Floats, Rng
from dpbandits._validation import check_integer
from dpbandits.auditing.audit import FEWEST_RUNS, as_subject, entropy_of, run_both
from dpbandits.auditing.events import choose_event
from dpbandits.auditing.tables import Auditable, FixedRewards, TablePair
from dpbandits.guarantees import PrivacyGuarantee

__all__ = ["candidate_pairs", "search"]


def candidate_pairs(n_arms: int, n_pulls: int, rng: Rng, count: int) -> list[TablePair]:
    """Return `count` pairs of tables of rewards 0 and 1, shape (n_arms, n_pulls), worth a try.

    The first ones are constant arms with one early entry changed; the others are drawn: an arm's
    rewards have a random mean, and the place that differs is more often early than late.
    """
    n_arms, n_pulls = check_integer("n_arms", n_arms, 1), check_integer("n_pulls", n_pulls, 1)
    count = check_integer("count", count, 1)
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
    subject, seed, n_jobs, guarantee
        As for `audit`.
    n_arms, n_pulls : int
        Shape of the tables, of rewards 0 and 1.
    count : int
        How many pairs are tried first.
    n_runs : int
        Runs on each table at first, at least 16.
    """
    n_arms, n_pulls = check_integer("n_arms", n_arms, 1), check_integer("n_pulls", n_pulls, 1)
    target = as_subject(subject, guarantee, n_pulls)
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


def _flipped(table: Floats, arm: int, pull: int) -> TablePair:
    return TablePair(table, arm, pull, 1.0 - table[arm, pull])
