"""Runs on both tables of a pair, which take turns, and a look for what they remember.

What an audit proves rests on runs that are independent, and that depend on the table and on the
generator alone. A subject that remembers earlier runs breaks that: all runs on one table before all
on the other would differ for this reason alone. So the tables take turns, in an order that is drawn
from the seed; each part of the runs has its own copy of the subject, where one can be made; and
some runs of each part are repeated, at its beginning and at its end, and must not change.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from dpbandits._arrays import Floats, Rng
from dpbandits._validation import check_seed
from dpbandits.auditing.pairs import TablePair
from dpbandits.auditing.subjects import Auditable, Outputs
from dpbandits.running import check_memory, worker_count

__all__ = ["PairOutputs", "entropy_of", "run_both"]

_PART = 50_000  # runs on each table with one copy of the subject and one generator a table
_TURNS = 64  # turns that each table has in a part
_REPEATED = 4  # runs on each table that are repeated


class PairOutputs(NamedTuple):
    """Outputs of runs on the two tables of a pair.

    Attributes
    ----------
    table, neighbour : numpy.ndarray of float, shape (runs, d)
        A row for each run: its values, then its actions, −1 behind the last.
    n_values : int
        How many of the columns are values.

    Examples
    --------
    >>> PairOutputs(np.zeros((5, 3)), np.ones((5, 3)), n_values=1).table.shape
    (5, 3)
    """

    table: Floats
    neighbour: Floats
    n_values: int


def entropy_of(seed: int | Sequence[int]) -> list[int]:
    """Return a seed as a list of whole numbers of at least 0.

    Parameters
    ----------
    seed : int or sequence of int
        What a user calls a seed.

    Returns
    -------
    list of int
        Entropy of a `numpy.random.SeedSequence`.

    Raises
    ------
    ValueError
        If a number is negative, or is no whole number.

    Examples
    --------
    >>> entropy_of(5), entropy_of((5, 1))
    ([5], [5, 1])
    """
    return check_seed("seed", seed)


def run_both(
    subject: Auditable, pair: TablePair, n_runs: int, seed: int | Sequence[int], n_jobs: int
) -> PairOutputs:
    """Run a subject as often on each table of a pair, by turns.

    Parameters
    ----------
    subject : Auditable
        What is run.
    pair : TablePair
        The tables.
    n_runs : int
        Runs on each table.
    seed : int or sequence of int
        Entropy of the root seed. The runs on a table, and the order of the turns, have seeds of
        their own, in each part of 50 000 runs: the result does not depend on `n_jobs`, and that of
        a subject that remembers nothing does not depend on the order either.
    n_jobs : int
        Number of workers, which share the parts.

    Returns
    -------
    PairOutputs
        The outputs on both tables.

    Raises
    ------
    ValueError
        If repeated runs change: the subject keeps state, or has randomness beyond the generator. Or
        if it returns now more and now fewer numbers.

    Examples
    --------
    >>> from dpbandits.auditing.subjects import FunctionSubject
    >>> pair = TablePair([[0.0, 1.0]], arm=0, pull=0, value=1.0)
    >>> samples = run_both(FunctionSubject(lambda rewards, rng: rewards.pull(0)), pair, 3, 0, 1)
    >>> samples.table[:, 1].tolist(), samples.neighbour[:, 1].tolist()
    ([0.0, 0.0, 0.0], [1.0, 1.0, 1.0])
    """
    check_memory(n_runs, 16.0 * n_runs * (pair.table.size + 4))
    sizes = [min(_PART, n_runs - start) for start in range(0, n_runs, _PART)]
    n_parts = len(sizes)
    seeds = np.random.SeedSequence(entropy_of(seed)).spawn(3 * n_parts)
    first, second, turns = (seeds[i * n_parts : (i + 1) * n_parts] for i in range(3))
    parts = Parallel(n_jobs=worker_count(n_jobs, n_parts))(
        delayed(_run_part)(subject, pair, *each)
        for each in zip(sizes, first, second, turns, strict=True)
    )
    blocks = [[block for part in parts for block in part[side]] for side in (0, 1)]
    n_values = {block.values.shape[1] for side in blocks for block in side}
    if len(n_values) > 1:
        raise ValueError(
            f"subject={subject.label!r} returned {min(n_values)} and {max(n_values)} numbers; "
            "allowed: always as many"
        )
    width = max(block.actions.shape[1] for side in blocks for block in side)
    return PairOutputs(_joined(blocks[0], width), _joined(blocks[1], width), n_values.pop())


def _joined(blocks: list[Outputs], width: int) -> Floats:
    """Return values and actions of all runs on one table, actions filled up with −1."""
    return np.concatenate(
        [
            np.hstack([values, actions, np.full((len(actions), width - actions.shape[1]), -1.0)])
            for values, actions in blocks
        ]
    )


def _run_part(
    subject: Auditable,
    pair: TablePair,
    size: int,
    first: np.random.SeedSequence,
    second: np.random.SeedSequence,
    turns: np.random.SeedSequence,
) -> tuple[list[Outputs], list[Outputs]]:
    """Run a copy of the subject `size` times on each table; return the outputs of each turn."""
    subject = _anew(subject)
    tables = pair.table, pair.neighbour
    rngs = np.random.default_rng(first), np.random.default_rng(second)
    order, repeat_seed = np.random.default_rng(turns), turns.spawn(1)[0].generate_state(4).tolist()
    before = _repeatable(subject, tables, repeat_seed)
    _check_same(subject, before, _repeatable(subject, tables, repeat_seed), "at once")
    found: tuple[list[Outputs], list[Outputs]] = ([], [])
    for block in _blocks(subject, size):
        for side in (0, 1) if order.random() < 0.5 else (1, 0):
            found[side].append(subject.outputs(tables[side], block, rngs[side]))
    _check_same(
        subject, before, _repeatable(subject, tables, repeat_seed), f"{2 * size} runs later"
    )
    return found


def _anew(subject: Auditable) -> Auditable:
    """Return a copy of a subject, or itself if it cannot be copied; functions are not copied."""
    try:
        return copy.deepcopy(subject)
    except Exception:  # whatever a custom class raises: it is looked at for state all the same
        return subject


def _blocks(subject: Auditable, size: int) -> list[int]:
    """Return how many runs each turn of a table has."""
    if getattr(subject, "draws_together", False):
        return [size]
    turns = min(_TURNS, size)
    return [size * (i + 1) // turns - size * i // turns for i in range(turns)]


def _repeatable(
    subject: Auditable, tables: Sequence[Floats], seed: list[int]
) -> list[tuple[Outputs, Any]]:
    """Return the outputs of some runs on each table, and the generator's state after them."""
    found = []
    for table in tables:
        rng: Rng = np.random.default_rng(seed)
        outputs = subject.outputs(table, _REPEATED, rng)
        found.append((outputs, rng.bit_generator.state))
    return found


def _check_same(
    subject: Auditable,
    before: list[tuple[Outputs, Any]],
    after: list[tuple[Outputs, Any]],
    when: str,
) -> None:
    """Refuse a subject whose repeated runs are not the same."""
    for (outputs, state), (others, other_state) in zip(before, after, strict=True):
        same = all(
            np.array_equal(x, y, equal_nan=True) for x, y in zip(outputs, others, strict=True)
        )
        if not same or state != other_state:
            changed = "used other random numbers" if same else "put out something else"
            raise ValueError(
                f"subject={subject.label!r} keeps state: repeated {when}, on the same table and "
                f"with the same generator, runs {changed}; allowed: runs that remember nothing of "
                "earlier ones and draw all randomness from the generator that they are given"
            )
