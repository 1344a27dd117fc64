"""Computing the cells: spread over workers, resumed from a cache, the same bits in any case."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from tqdm import tqdm

from dpbandits._kernels import drop_stale_kernels
from dpbandits._validation import check_integer
from dpbandits.cache import Cache
from dpbandits.experiments.catalogue import EXPERIMENTS, resolve
from dpbandits.experiments.settings import Arrays, Cell, Setting
from dpbandits.provenance import versions
from dpbandits.simulation import replicate_seeds

__all__ = ["Finished", "Results", "play_chunk", "run", "run_cells", "work_through"]


@dataclass(frozen=True)
class Finished:
    """A finished cell: its replicates, and how long they took one worker.

    Attributes
    ----------
    runs : Runs or Estimates
        The replicates; of which type depends on the cell.
    seconds : float
        Seconds of computing, when it was computed.
    """

    runs: Any
    seconds: float


class Results(Mapping[Cell, Any]):
    """What experiments gave: a mapping from each cell to its replicates, with the settings.

    The replicates are `Runs` of an algorithm or `Estimates` of a stopping rule.

    Attributes
    ----------
    settings : tuple of Setting
        All settings, in the order of the experiments and their panels; ``setting.cell`` is the
        key.
    preset : str
        Preset that was computed.
    seed : int
        Root seed.
    seconds : float
        Seconds of computing, summed over the workers.
    """

    def __init__(
        self,
        settings: Iterable[Setting],
        finished: Mapping[Cell, Finished],
        preset: str,
        seed: int,
    ) -> None:
        self.settings = tuple(settings)
        self.preset = preset
        self.seed = seed
        self._finished = {s.cell: finished[s.cell] for s in self.settings}
        self.seconds = sum(done.seconds for done in self._finished.values())

    def __getitem__(self, cell: Cell | Setting) -> Any:
        return self._finished[cell.cell if isinstance(cell, Setting) else cell].runs

    def __iter__(self) -> Iterator[Cell]:
        return iter(self._finished)

    def __len__(self) -> int:
        return len(self._finished)

    @property
    def experiments(self) -> tuple[str, ...]:
        """Ids of the experiments."""
        return tuple(dict.fromkeys(setting.experiment for setting in self.settings))

    def select(self, **labels: object) -> list[tuple[Any, Any]]:
        """Return the settings whose labels are as given, each with its replicates.

        Parameters
        ----------
        **labels
            Any of ``experiment`` and ``panel``; ``instance``, ``n_arms``, ``epsilon``,
            ``algorithm`` and ``variant`` of experiments on regret; ``law``, ``mean``, ``alpha``,
            ``beta``, ``epsilon``, ``rule`` and ``variant`` of experiments on stopping rules;
            ``law``, ``order``, ``epsilon``, ``model``, ``variant`` and ``n_rewards`` of
            experiments on estimation.

        Returns
        -------
        list of (Setting, Runs or Estimates)
            Settings that do not have a label at all are left out.

        Raises
        ------
        ValueError
            If no setting of the results has such a label.
        """
        known = dict.fromkeys(name for s in self.settings for name in s.known_labels())
        for name in labels:
            if name not in known:
                raise ValueError(f"label {name!r} is unknown; allowed: {', '.join(known)}")
        return [
            (setting, self[setting])
            for setting in self.settings
            if set(labels) <= set(setting.known_labels())
            and all(getattr(setting, name) == value for name, value in labels.items())
        ]

    def subset(self, experiment: str) -> Results:
        """Return the results of one experiment."""
        chosen = [s for s in self.settings if s.experiment == experiment]
        if not chosen:
            have = ", ".join(self.experiments)
            raise ValueError(f"experiment={experiment!r} is not in the results; allowed: {have}")
        return Results(chosen, self._finished, self.preset, self.seed)

    def summaries(self) -> tuple[Any, ...]:
        """Return what the runs of each setting come to: a `Curve`, or a `StoppingSummary`."""
        return tuple(
            summary
            for name in self.experiments
            for summary in EXPERIMENTS[name].table.summaries(self.select(experiment=name))
        )

    def replicates(self) -> tuple[Any, ...]:
        """Return the replicates of each setting as the data files have them."""
        return tuple(
            group
            for name in self.experiments
            for group in EXPERIMENTS[name].table.replicates(self.select(experiment=name))
        )


def play_chunk(cell: Cell, seeds: Sequence[np.random.SeedSequence]) -> tuple[Arrays, float]:
    """Play one replicate per seed, and take the seconds: the unit of parallel work."""
    start = time.perf_counter()
    arrays = cell.play(seeds)
    return arrays, time.perf_counter() - start


def run(
    ids: str | Iterable[str] = "all",
    preset: str = "paper",
    seed: int = 0,
    n_jobs: int = 1,
    cache: Cache | str | os.PathLike[str] | None = None,
) -> Results:
    """Compute experiments.

    Parameters
    ----------
    ids : str or iterable of str
        An id, several, or "all"; see `EXPERIMENTS`.
    preset : {"paper", "quick", "smoke"}
        How much to compute; see `PRESETS`.
    seed : int
        Root seed.
    n_jobs : int
        Number of workers, −1 for all processors. The numbers do not depend on it, nor on the
        backend that ``joblib.parallel_config`` sets.
    cache : Cache or path-like, optional
        Where finished cells are kept and looked for; None keeps nothing.

    Returns
    -------
    Results

    Raises
    ------
    ValueError
        If an id or the preset is unknown, or an argument is out of range.

    Examples
    --------
    >>> from dpbandits import experiments
    >>> results = experiments.run("ss19-fig1", preset="smoke")
    >>> len(results), results.settings[0].algorithm
    (8, 'DP-SE')
    """
    settings = [s for experiment in resolve(ids) for s in experiment.settings(preset)]
    finished = run_cells([s.cell for s in settings], seed=seed, n_jobs=n_jobs, cache=cache)
    return Results(settings, finished, preset, seed)


def run_cells(
    cells: Iterable[Cell],
    seed: int = 0,
    n_jobs: int = 1,
    cache: Cache | str | os.PathLike[str] | None = None,
) -> dict[Cell, Finished]:
    """Compute cells of one's own choice, each once; the arguments are those of `run`."""
    return dict(work_through(cells, seed=seed, n_jobs=n_jobs, cache=cache))


def work_through(
    cells: Iterable[Cell],
    seed: int = 0,
    n_jobs: int = 1,
    cache: Cache | str | os.PathLike[str] | None = None,
) -> Iterator[tuple[Cell, Finished]]:
    """Compute distinct cells and yield each as soon as it is finished, those in the cache first.

    Progress, with the time left, is shown on a terminal and nowhere else.
    """
    seed = check_integer("seed", seed, 0)
    if n_jobs != -1:
        n_jobs = check_integer("n_jobs", n_jobs, 1)
    if cache is not None and not isinstance(cache, Cache):
        cache = Cache(cache)
    drop_stale_kernels()
    wanted = list(dict.fromkeys(cells))
    missing: list[Cell] = []
    for cell in wanted:
        kept = None if cache is None else _recall(cache, cell, seed)
        if kept is None:
            missing.append(cell)
        else:
            yield cell, kept
    total = sum(cell.n_runs for cell in missing)
    with tqdm(total=total, unit="run", disable=None, leave=False, smoothing=0.05) as progress:
        for cell, arrays, seconds in _compute(missing, seed, n_jobs, progress):
            if cache is not None:
                cache.put(_key(cell, seed), {**arrays, "seconds": np.array(seconds)})
            yield cell, Finished(cell.assemble(arrays), seconds)


def _compute(
    cells: list[Cell], seed: int, n_jobs: int, progress: tqdm[Any]
) -> Iterator[tuple[Cell, Arrays, float]]:
    """Play the cells' replicates in chunks, over all cells at once, and put them together."""
    if not cells:
        return
    chunks = Parallel(n_jobs=n_jobs, return_as="generator")(_tasks(cells, seed))
    try:
        for cell in cells:
            progress.set_description(cell.title)
            parts, seconds = [], 0.0
            for first in range(0, cell.n_runs, cell.CHUNK):
                arrays, taken = next(chunks)
                parts.append(arrays)
                seconds += taken
                progress.update(min(cell.CHUNK, cell.n_runs - first))
            joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
            yield cell, joined, seconds
    finally:
        chunks.close()


def _tasks(cells: list[Cell], seed: int) -> Iterator[object]:
    for cell in cells:
        seeds = replicate_seeds(cell.seed(seed), cell.n_runs)
        for first in range(0, cell.n_runs, cell.CHUNK):
            yield delayed(play_chunk)(cell, seeds[first : first + cell.CHUNK])


def _key(cell: Cell, seed: int) -> dict[str, object]:
    """Everything that the bits of a cell depend on."""
    return {
        **cell.configuration(),
        "n_runs": cell.n_runs,
        **cell.kept(),
        "seed": cell.seed(seed),
        "code": cell.code(),
        "versions": versions(),
    }


def _recall(cache: Cache, cell: Cell, seed: int) -> Finished | None:
    arrays = cache.get(_key(cell, seed))
    if arrays is None:
        return None
    seconds = float(arrays.pop("seconds"))
    return Finished(cell.assemble(arrays), seconds)
