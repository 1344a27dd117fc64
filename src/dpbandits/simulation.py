"""Replicates of an algorithm on an instance: seeds, checkpoints, workers, results."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from tqdm import tqdm

from dpbandits._files import write_atomically
from dpbandits._validation import check_fraction, check_integer
from dpbandits.regret.base import Instance, Play, RegretAlgorithm
from dpbandits.regret.elimination import EliminationPlay

__all__ = ["Runs", "log_checkpoints", "play_replicate", "replicate_seeds", "simulate"]


@dataclass(frozen=True, eq=False)
class Runs:
    """Replicates of one algorithm on one instance.

    Attributes
    ----------
    algorithm : RegretAlgorithm
        Configuration that was played.
    instance : Instance
        Bandit it was played on.
    horizon : int
        Horizon T.
    times : numpy.ndarray of int, shape (C,)
        Checkpoints: numbers of pulls, the last is T.
    regret : numpy.ndarray of float, shape (n_runs, C)
        Pseudo-regret Σ_a Δ_a·(pulls of a) of each run, exact at every checkpoint.
    pulls : numpy.ndarray of int, shape (n_runs, K)
        Pulls of each arm at the horizon.
    epoch_ends : tuple of numpy.ndarray of int, length n_runs
        Times at which each run's epochs ended; empty for algorithms without epochs.
    """

    algorithm: RegretAlgorithm
    instance: Instance
    horizon: int
    times: NDArray[np.int64]
    regret: NDArray[np.float64]
    pulls: NDArray[np.int64]
    epoch_ends: tuple[NDArray[np.int64], ...]

    @property
    def n_runs(self) -> int:
        """Number of replicates."""
        return self.regret.shape[0]

    def mean(self) -> NDArray[np.float64]:
        """Return the mean pseudo-regret at each checkpoint, shape (C,)."""
        mean: NDArray[np.float64] = self.regret.mean(axis=0)
        return mean

    def band(self, level: float = 0.9) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the pointwise band that holds the central `level` share of the runs.

        Returns
        -------
        tuple of numpy.ndarray, each of shape (C,)
            Lower and upper quantiles at each checkpoint.
        """
        tail = (1 - check_fraction("level", level)) / 2
        low, high = np.quantile(self.regret, [tail, 1 - tail], axis=0)
        return low, high

    def mean_interval(self, level: float = 0.95) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return Student's confidence interval for the mean at each checkpoint.

        Returns
        -------
        tuple of numpy.ndarray, each of shape (C,)
        """
        if self.n_runs < 2:
            raise ValueError(f"n_runs={self.n_runs} is too few for an interval; allowed: 2 or more")
        error = self.regret.std(axis=0, ddof=1) / math.sqrt(self.n_runs)
        width = stats.t.ppf((1 + check_fraction("level", level)) / 2, self.n_runs - 1) * error
        return self.mean() - width, self.mean() + width

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the runs to `path`, a row a checkpoint: its time, then the regret of each run."""
        header = ",".join(["time", *(f"run_{i}" for i in range(self.n_runs))])
        rows = zip(self.times.tolist(), self.regret.T.tolist(), strict=True)
        lines = [header, *(",".join([str(t), *map(repr, row)]) for t, row in rows)]
        write_atomically(path, "\n".join(lines) + "\n")


def log_checkpoints(horizon: int, per_decade: int = 32) -> NDArray[np.int64]:
    """Return increasing whole times from 1 to `horizon`, evenly spaced on a log axis.

    From 10¹² on they have twelve digits.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> dpb.log_checkpoints(100, per_decade=2).tolist()
    [1, 3, 10, 32, 100]
    """
    horizon = check_integer("horizon", horizon, 1)
    per_decade = check_integer("per_decade", per_decade, 1)
    count = 1 + math.ceil(per_decade * math.log10(horizon))
    grid = np.geomspace(1, horizon, count)
    # twelve digits: the last bits of a power are not the same on all processors
    unit = 10 ** np.maximum(np.floor(np.log10(grid)).astype(np.int64) - 11, 0)
    times = np.rint(grid / unit).astype(np.int64) * unit
    times[-1] = horizon
    return np.unique(times)


def replicate_seeds(seed: int | Sequence[int], n_runs: int) -> list[np.random.SeedSequence]:
    """Return one child seed per replicate, all derived from `seed`."""
    try:
        parts = list(seed) if isinstance(seed, Iterable) else [seed]
        entropy = [check_integer("seed", part, 0) for part in parts]
    except ValueError:
        entropy = []
    if not entropy:
        raise ValueError(
            f"seed={seed!r} is no seed; allowed: a whole number of at least 0, or several"
        )
    return np.random.SeedSequence(entropy).spawn(n_runs)


def play_replicate(
    algorithm: RegretAlgorithm,
    instance: Instance,
    horizon: int,
    checkpoints: NDArray[np.int64],
    seed: np.random.SeedSequence,
) -> Play:
    """Play one replicate from its own seed: the unit of parallel work."""
    return algorithm.play(instance, horizon, checkpoints, np.random.default_rng(seed))


def _checked_checkpoints(checkpoints: ArrayLike | None, horizon: int) -> NDArray[np.int64]:
    if checkpoints is None:
        return log_checkpoints(horizon)
    allowed = f"allowed: increasing whole times, from 1 or later to horizon={horizon}"
    try:
        listed = np.atleast_1d(np.asarray(checkpoints, dtype=object))
        times = [check_integer("checkpoints", time, 1, horizon) for time in listed.tolist()]
    except (TypeError, ValueError):
        raise ValueError(f"checkpoints={checkpoints!r} is not a list of times; {allowed}") from None
    if not times or times[-1] != horizon or any(a >= b for a, b in pairwise(times)):
        raise ValueError(f"checkpoints={checkpoints!r} is out of range; {allowed}")
    return np.array(times, dtype=np.int64)


def _check_play(
    play: object, algorithm: RegretAlgorithm, times: NDArray[np.int64], n_arms: int
) -> None:
    """Refuse what no run can have returned: an algorithm of one's own may be wrong."""
    name = type(algorithm).__name__
    if not isinstance(play, Play):
        raise ValueError(f"{name}.play returned {type(play).__name__}; allowed: Play")
    if isinstance(play, EliminationPlay):  # whose counts cannot be wrong otherwise
        if not np.array_equal(play.checkpoints, times) or play.last_epoch.shape != (n_arms,):
            raise ValueError(
                f"{name}.play returned a run of {play.last_epoch.size} arms with other checkpoints "
                "or arms than it was asked for; allowed: those that it was given"
            )
        return
    counts = np.asarray(play.counts)
    if counts.shape != (times.size, n_arms):
        raise ValueError(
            f"{name}.play returned counts of the shape {counts.shape}; allowed: "
            f"{(times.size, n_arms)}, a row a checkpoint and a column an arm"
        )
    wrong = counts.sum(axis=1) != times
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"{name}.play counts {counts[at].sum()} pulls by the time {times[at]}; allowed: as "
            "many as the time"
        )
    if (counts < 0).any() or (np.diff(counts, axis=0) < 0).any():
        raise ValueError(f"{name}.play has counts that fall; allowed: pulls so far, of each arm")


def simulate(
    algorithm: RegretAlgorithm,
    instance: Instance,
    horizon: int,
    n_runs: int = 30,
    seed: int | Sequence[int] = 0,
    n_jobs: int = 1,
    checkpoints: ArrayLike | None = None,
) -> Runs:
    """Simulate independent replicates of a regret-minimising algorithm.

    The result depends on the arguments alone: neither on `n_jobs` nor on the backend, since
    every replicate has its own child of ``SeedSequence(seed)``.

    Parameters
    ----------
    algorithm : RegretAlgorithm
        Configuration to play, such as ``DPSE(epsilon=0.25)``.
    instance : Instance
        Bandit to play it on: a `BernoulliInstance`, or a `HeavyTailInstance` for the algorithms
        for heavy-tailed rewards.
    horizon : int
        Horizon T, from the number of arms to 2^62: how long each run lasts, and what an algorithm
        that needs it is told. `GuessAndDouble` runs such an algorithm without telling it.
    n_runs : int
        Number of replicates.
    seed : int or sequence of int
        Entropy of the root seed.
    n_jobs : int
        Number of workers: processes, unless ``joblib.parallel_config`` says otherwise (for
        example ``backend="dask"`` for a cluster). −1 is all processors.
    checkpoints : array_like of int, optional
        Increasing times at which the regret is kept; the last must be the horizon. None gives
        `log_checkpoints`.

    Returns
    -------
    Runs

    Raises
    ------
    ValueError
        If an argument is out of range: the message names it and says what is allowed.

    Notes
    -----
    Progress is shown on a terminal, and nowhere else.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> runs = dpb.simulate(dpb.DPSE(epsilon=1), dpb.instances.ss19("C2"), 10**6, n_runs=2)
    >>> runs.regret.shape == (2, runs.times.size)
    True
    """
    if not isinstance(algorithm, RegretAlgorithm):
        raise ValueError(
            f"algorithm={algorithm!r} is no algorithm; allowed: one such as DPSE(epsilon=1)"
        )
    algorithm.check_instance(instance)
    horizon = check_integer("horizon", horizon, instance.n_arms, 2**62)
    n_runs = check_integer("n_runs", n_runs, 1)
    times = _checked_checkpoints(checkpoints, horizon)
    if n_jobs != -1:
        n_jobs = check_integer("n_jobs", n_jobs, 1)
    seeds = replicate_seeds(seed, n_runs)
    tasks = (delayed(play_replicate)(algorithm, instance, horizon, times, child) for child in seeds)
    plays = Parallel(n_jobs=n_jobs, return_as="generator")(tasks)
    regret = np.empty((n_runs, times.size))
    pulls = np.empty((n_runs, instance.n_arms), dtype=np.int64)
    epoch_ends = []
    progress = tqdm(
        plays, total=n_runs, desc=algorithm.label, unit="run", leave=False, disable=None
    )
    for i, play in enumerate(progress):
        _check_play(play, algorithm, times, instance.n_arms)
        regret[i] = play.regret(instance.gaps)
        pulls[i] = play.pulls
        epoch_ends.append(play.epoch_ends)
    return Runs(algorithm, instance, horizon, times, regret, pulls, tuple(epoch_ends))
