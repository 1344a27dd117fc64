"""Where to look: pairs of tables that an algorithm's outputs tell apart."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpbandits._arrays import Floats, Rng
from dpbandits._validation import check_integer
from dpbandits.auditing.events import choose_event
from dpbandits.auditing.pairs import TablePair
from dpbandits.auditing.runs import entropy_of, run_both
from dpbandits.auditing.subjects import Auditable, subject_of, tables_of
from dpbandits.auditing.verdicts import FEWEST_RUNS, MOST_RUNS
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.rewards.streams import FixedRewards

__all__ = ["candidate_pairs", "certain_pair", "search", "step_pair", "usual_shape"]

_SHORT = 16  # rewards of an arm; on longer tables a search begins with those of `step_pair`
_STEP_RUNS = 200  # runs on each of them
_STEP = 0.1  # by how much the share of the usual output must fall between the ends


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


def _one(target: object) -> float:
    """Return what stands for 1 in tables: less than 1 where a greater reward would not count."""
    tables = tables_of(target)
    return 1.0 if tables is None or tables.promise is None else tables.high


def _scaled(pair: TablePair, one: float) -> TablePair:
    return TablePair(one * pair.table, pair.arm, pair.pull, one * pair.value)


def usual_shape(target: object) -> tuple[int, int]:
    """Return the shape of the tables on which a target is audited if nothing else is asked for.

    Parameters
    ----------
    target : object
        What is to be audited.

    Returns
    -------
    n_arms, n_pulls : int
        Number of arms, and of rewards of each: 16, or as many more as the target says it needs, or
        as many fewer as it can read; 2 arms if it says nothing.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> usual_shape(dpb.DPUCB(epsilon=1.0)), usual_shape(dpb.DPSE(epsilon=1.0))
    ((2, 16), (2, 2741))
    """
    tables = tables_of(target)
    if tables is None:
        return 2, _SHORT
    most = _SHORT if tables.most is None else min(_SHORT, tables.most)
    return tables.n_arms, max(most, tables.least)


def step_pair(
    subject: Auditable | Callable[[FixedRewards, Rng], Any],
    n_arms: int,
    n_pulls: int,
    arm: int,
    seed: int | Sequence[int] = 0,
) -> TablePair | None:
    """Find how many rewards of one arm turn the output of an algorithm that decides late.

    All rewards are 0, except for the first ones of an arm, which are 1 (or the greatest that
    counts, for heavy tails). Without noise there is a
    number of them at which the output changes; with noise, one at which what is usual without any
    of them becomes half as frequent. Bisection finds it.

    Parameters
    ----------
    subject : Auditable, algorithm or callable
        What is to be audited.
    n_arms, n_pulls : int
        Shape of the tables.
    arm : int
        Which arm has rewards of 1, 0-based.
    seed : int or sequence of int
        Entropy of the seed: each table is run with the same random numbers.

    Returns
    -------
    TablePair or None
        The two tables between which the output turns; None if it hardly does.

    Raises
    ------
    ValueError
        If an argument is out of range, or the subject cannot be run on such tables.

    Examples
    --------
    >>> def beyond_ten(rewards, rng):
    ...     return rewards.total(1, 30) > 10.0
    >>> pair = step_pair(beyond_ten, n_arms=2, n_pulls=30, arm=1)
    >>> pair.arm, pair.pull
    (1, 10)
    """
    n_arms, n_pulls = check_integer("n_arms", n_arms, 1), check_integer("n_pulls", n_pulls, 1)
    arm = check_integer("arm", arm, 0, n_arms - 1)
    target, entropy, one = subject_of(subject, n_pulls), entropy_of(seed), _one(subject)

    def table(ones: int) -> Floats:
        rewards = np.zeros((n_arms, n_pulls))
        rewards[arm, :ones] = one
        return rewards

    def shown(ones: int) -> Counter[bytes]:
        found = target.outputs(table(ones), _STEP_RUNS, np.random.default_rng(entropy))
        rows = zip(found.values, found.actions, strict=True)
        return Counter(values.tobytes() + arms[arms >= 0].tobytes() for values, arms in rows)

    (usual, most), *_ = shown(0).most_common(1)
    least = shown(n_pulls)[usual]
    if most - least < _STEP * _STEP_RUNS:
        return None
    low, high = 0, n_pulls
    while high - low > 1:
        middle = (low + high) // 2
        turned = 2 * shown(middle)[usual] < most + least
        low, high = (low, middle) if turned else (middle, high)
    return TablePair(table(low), arm, low, one)


def search(
    subject: Auditable | Callable[[FixedRewards, Rng], Any],
    n_arms: int | None = None,
    n_pulls: int | None = None,
    count: int = 32,
    n_runs: int = 4000,
    seed: int | Sequence[int] = 0,
    n_jobs: int = 1,
    guarantee: PrivacyGuarantee | None = None,
) -> TablePair:
    """Look for neighbouring tables that an algorithm's outputs tell apart well.

    Each of `candidate_pairs` is tried with a few runs, or, on tables of more than 16 pulls, each
    `step_pair` that there is; the best quarter again with eight times as many; then single entries
    of the best one are turned, as long as that helps. The bounds of a search are those of the best
    of many: audit the result, which uses other random numbers.

    Parameters
    ----------
    subject : Auditable, algorithm or callable
        What is to be audited.
    n_arms, n_pulls : int, optional
        Shape of the tables, of rewards 0 and 1 (or the greatest that counts, for heavy tails): by
        default the `usual_shape`.
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
    usual = usual_shape(subject)
    n_arms = check_integer("n_arms", usual[0] if n_arms is None else n_arms, 1)
    n_pulls = check_integer("n_pulls", usual[1] if n_pulls is None else n_pulls, 1)
    target = subject_of(subject, n_pulls, guarantee)
    count = check_integer("count", count, 1)
    n_runs = check_integer("n_runs", n_runs, FEWEST_RUNS, MOST_RUNS)
    delta = (guarantee or target.guarantee).delta
    rng = np.random.default_rng([*entropy_of(seed), 1])
    trials = itertools.count(1)

    def score(pair: TablePair, runs: int) -> float:
        found = run_both(target, pair, runs, [*entropy_of(seed), 2, next(trials)], n_jobs)
        return choose_event(*found, delta, 0.05)[1]

    one = _one(subject)
    pairs = [_scaled(pair, one) for pair in candidate_pairs(n_arms, n_pulls, rng, count)]
    if n_pulls > _SHORT:
        arms = range(min(n_arms, 2))
        steps = (step_pair(target, n_arms, n_pulls, arm, [*entropy_of(seed), 3]) for arm in arms)
        pairs = [pair for pair in steps if pair is not None][:count] or pairs
    first = sorted(pairs, key=lambda pair: -score(pair, n_runs))
    better = [(score(pair, 8 * n_runs), pair) for pair in first[: max(count // 4, 1)]]
    highest, best = max(better, key=lambda found: found[0])
    for _ in range(count // 4):
        arm, pull = int(rng.integers(n_arms)), int(rng.integers(n_pulls))
        if (arm, pull) == (best.arm, best.pull):
            continue
        table = best.table.copy()
        table[arm, pull] = one - table[arm, pull]
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
    subject, tables, one = subject_of(target, n_pulls), tables_of(target), _one(target)

    def table(ones: int) -> Floats:
        rewards = np.zeros((tables.n_arms if tables else 2, n_pulls))
        rewards[0, :ones] = one
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
    return TablePair(table(low), 0, low, one)
