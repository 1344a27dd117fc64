"""One runner for everything that is replicated: seeds, chunks, workers, progress, interruption.

`simulate_many`, `identify_many`, `estimate_many` and their kin describe each case as a `Replicated`
and leave the rest to `run_cases`.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import sys
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed
from tqdm import tqdm

from dpbandits._validation import check_integer

__all__ = ["Replicated", "case_seeds", "describe", "run_cases"]

Key = TypeVar("Key", bound=Hashable)
Case = TypeVar("Case")
Player = Callable[[Any], Any]
Seeds = Sequence[np.random.SeedSequence]

_SHARES = 8
"""Chunks that a case is cut into at least, as far as it has replicates."""


@dataclass(frozen=True)
class Replicated:
    """A case as the runner sees it.

    Attributes
    ----------
    title : str
        What the progress bar calls it.
    configuration : dict
        What the law of one replicate depends on, ready for JSON: its seeds are derived from it.
    play : callable
        Takes a generator, the source of all randomness, and returns the outcome of one replicate.
        It travels to workers, so it is a function of a module or a `functools.partial` of one.
    n_runs : int
        Number of replicates.
    chunk : int
        Number of replicates that a worker plays at a time, at most.
    warm_up : callable, optional
        Plays as little as possible; what it needs is compiled then, before the replicates.
    gather : callable
        Puts the outcomes of the replicates together: from a list of them to the case's result.
    takes_seed : bool
        Whether `play` takes the replicate's `SeedSequence` instead, as it makes generators itself.

    Examples
    --------
    >>> def draw(rng):
    ...     return rng.random()
    >>> case = Replicated("uniform", {"law": "uniform"}, draw, n_runs=20, gather=max)
    >>> [len(seeds) for seeds in case.chunks(seed=0)]
    [3, 3, 3, 3, 3, 3, 2]
    """

    title: str
    configuration: Mapping[str, Any]
    play: Player
    n_runs: int
    chunk: int = 10
    warm_up: Callable[[], object] | None = None
    gather: Callable[[list[Any]], Any] = list
    takes_seed: bool = False

    def chunks(self, seed: int | Sequence[int]) -> Iterator[Seeds]:
        """Yield the seeds of the replicates, in chunks.

        Parameters
        ----------
        seed : int or sequence of int
            Entropy of the root seed.

        Yields
        ------
        sequence of numpy.random.SeedSequence
            Seeds of at most `chunk` replicates; there are at least eight chunks, if enough
            replicates.
        """
        seeds = case_seeds(self.configuration, seed, self.n_runs)
        size = max(1, min(self.chunk, math.ceil(self.n_runs / _SHARES)))
        for first in range(0, self.n_runs, size):
            yield seeds[first : first + size]


def case_seeds(
    configuration: Mapping[str, Any], seed: int | Sequence[int], n_runs: int
) -> list[np.random.SeedSequence]:
    """Return one seed per replicate, derived from `seed` and from what is simulated.

    The root is `seed`, followed by 128 bits hashed from the configuration. The number of
    replicates and the place in a grid play no role: fewer replicates are the first of more.

    Parameters
    ----------
    configuration : mapping
        What is simulated, ready for JSON.
    seed : int or sequence of int
        Entropy of the root seed: one or more whole numbers of at least 0.
    n_runs : int
        Number of replicates.

    Returns
    -------
    list of numpy.random.SeedSequence, length n_runs
        The seeds.

    Raises
    ------
    ValueError
        If `seed` is not a seed.
    """
    text = json.dumps(configuration, sort_keys=True)
    words = np.frombuffer(hashlib.sha256(text.encode()).digest()[:16], dtype="<u4")
    return np.random.SeedSequence([*_entropy(seed), *map(int, words)]).spawn(n_runs)


def _entropy(seed: int | Sequence[int]) -> list[int]:
    """Check the entropy of a root seed and return it as a list."""
    try:
        parts = list(seed) if isinstance(seed, Iterable) else [seed]
        entropy = [check_integer("seed", part, 0) for part in parts]
    except ValueError:
        entropy = []
    if not entropy:
        raise ValueError(
            f"seed={seed!r} must be a seed; allowed: a whole number of at least 0, or several"
        )
    return entropy


def describe(part: object) -> Any:
    """Describe an algorithm, a rule, a law or an instance for JSON.

    Arguments that have their default value are left out, so that a class may gain options
    without a change of seeds.

    Parameters
    ----------
    part : object
        A dataclass, or a value of one of its fields.

    Returns
    -------
    object
        For a dataclass a dict of its name and fields; plain values for arrays, tuples and numbers;
        for anything else the name of its class or function.

    Examples
    --------
    >>> from dpbandits import DPSE
    >>> describe(DPSE(epsilon=0.5))
    {'name': 'DPSE', 'epsilon': 0.5}
    """
    if is_dataclass(part):
        described: dict[str, Any] = {"name": type(part).__name__}
        for option in fields(part):
            value = getattr(part, option.name)
            if option.default is MISSING or value != option.default:
                described[option.name] = describe(value)
        return described
    if isinstance(part, list | tuple):
        return [describe(each) for each in part]
    if isinstance(part, np.ndarray):
        return part.tolist()
    if isinstance(part, np.generic):
        return describe(part.item())
    if isinstance(part, float) and not math.isfinite(part):
        return str(part)  # JSON has no infinity
    if part is None or isinstance(part, bool | int | float | str):
        return part
    return getattr(part, "__qualname__", type(part).__qualname__)


@contextmanager
def _label_errors(key: Hashable) -> Iterator[None]:
    """Put the key of a case, if it has one, in front of what is wrong with it."""
    try:
        yield
    except (ValueError, TypeError) as error:
        if key is None:
            raise
        kind = ValueError if isinstance(error, ValueError) else TypeError
        raise kind(f"case {key!r}: {error}") from error


def run_cases(
    cases: Mapping[Key, Case],
    replicated: Callable[[Case, int], Replicated],
    n_runs: int | Mapping[Any, int],
    seed: int | Sequence[int],
    n_jobs: int,
) -> dict[Key, Any]:
    """Describe the cases to the runner, play them, and put the outcomes of each together.

    They depend on the cases and on `seed` alone, neither on `n_jobs` nor on the backend that
    ``joblib.parallel_config`` sets. Progress is shown on a terminal and nowhere else. Ctrl-C raises
    a `KeyboardInterrupt` that says how many replicates were done.

    Parameters
    ----------
    cases : mapping of key to case
        What is replicated.
    replicated : callable
        From a case and its number of replicates to a `Replicated`.
    n_runs : int or mapping of key to int
        Number of replicates of each case, at least 1.
    seed : int or sequence of int
        Entropy of the root seed: one or more whole numbers of at least 0.
    n_jobs : int
        Number of workers; −1 is all processors.

    Returns
    -------
    dict of key to object
        What `gather` makes of each case's outcomes.

    Raises
    ------
    ValueError
        If an argument is out of range, or what a case raises. The message has the key of the case,
        unless that is None.
    """
    described: dict[Key, Replicated] = {}
    for key, case in cases.items():
        with _label_errors(key):
            if isinstance(n_runs, Mapping) and key not in n_runs:
                raise ValueError("n_runs has no number of replicates for it; allowed: one a case")
            runs = n_runs[key] if isinstance(n_runs, Mapping) else n_runs
            described[key] = replicated(case, check_integer("n_runs", runs, 1))
    if n_jobs != -1:
        n_jobs = check_integer("n_jobs", n_jobs, 1)
    _entropy(seed)
    found = _played(described, seed, n_jobs)
    return {key: described[key].gather(found.pop(key)) for key in cases}


def _play_chunk(key: Hashable, play: Player, takes_seed: bool, seeds: Seeds) -> list[Any]:
    """Play a replicate on ``default_rng(seed)`` for each seed: the unit of parallel work."""
    rng = np.random.default_rng()  # one for all: a compiled kernel is slow to accept a new one
    outcomes = []
    with _label_errors(key):
        if takes_seed:
            return [play(seed) for seed in seeds]
        for seed in seeds:
            rng.bit_generator.state = np.random.default_rng(seed).bit_generator.state
            outcomes.append(play(rng))
    return outcomes


def _played(
    cases: Mapping[Key, Replicated], seed: int | Sequence[int], n_jobs: int
) -> dict[Key, list[Any]]:
    """Play the replicates of all cases, in chunks spread over the workers."""
    total = sum(case.n_runs for case in cases.values())
    found: dict[Key, list[Any]] = {key: [] for key in cases}
    start = time.perf_counter()
    with tqdm(total=total, unit="run", disable=None, leave=False, smoothing=0.05) as progress:
        try:
            _warm_up(cases, progress)
            compiled = time.perf_counter()
            for key in itertools.islice(cases, 1):
                progress.set_description(cases[key].title)
            for key, outcomes in _outcomes(cases, seed, n_jobs):
                progress.set_description(cases[key].title, refresh=False)
                found[key] += outcomes
                progress.update(len(outcomes))
        except (KeyboardInterrupt, SystemError) as error:
            if not _interrupts(error):
                raise
            done = sum(map(len, found.values()))
            whole = sum(len(found[key]) == case.n_runs for key, case in cases.items())
            raise KeyboardInterrupt(
                f"interrupted: {done} of {total} runs were done, {whole} of {len(cases)} cases "
                "whole; nothing is kept"
            ) from None
        if not progress.disable:
            progress.write(
                f"{total} runs of {len(cases)} cases: {time.perf_counter() - compiled:.1f} s, and "
                f"{compiled - start:.1f} s to compile",
                file=sys.stderr,
            )
    return found


def _interrupts(error: BaseException | None) -> bool:
    """Tell Ctrl-C, which compiled code may turn into a `SystemError`."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _warm_up(cases: Mapping[Key, Replicated], progress: tqdm[Any]) -> None:
    """Compile what the cases need, one case of each name after another."""
    waiting = {case.title.partition(",")[0]: key for key, case in reversed(list(cases.items()))}
    for name, key in waiting.items():
        warm_up = cases[key].warm_up
        if warm_up is not None:
            progress.set_description(f"compiling {name}")
            with _label_errors(key):
                warm_up()
    progress.unpause()


def _outcomes(
    cases: Mapping[Key, Replicated], seed: int | Sequence[int], n_jobs: int
) -> Iterator[tuple[Key, Sequence[Any]]]:
    """Yield the outcomes of chunk after chunk, in the order of the cases."""
    chunks = [
        (key, case.play, case.takes_seed, seeds)
        for key, case in cases.items()
        for seeds in case.chunks(seed)
    ]
    if n_jobs == 1:
        yield from ((chunk[0], _play_chunk(*chunk)) for chunk in chunks)
        return
    outcomes = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_play_chunk)(*chunk) for chunk in chunks
    )
    try:
        yield from zip((key for key, *_ in chunks), outcomes, strict=True)
    except BaseException as error:
        if _interrupts(error):
            _end_workers()
        raise


def _end_workers() -> None:
    """End joblib's own workers at once, whatever they do."""
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=False, kill_workers=True)
