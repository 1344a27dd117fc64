"""The figures' data in the repository: read, and believed only when fresh."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, cast

from dpbandits._validation import check_choice
from dpbandits.chapters import find_root
from dpbandits.experiments.catalogue import EXPERIMENTS
from dpbandits.experiments.running import Results, run
from dpbandits.experiments.settings import PRESETS, Experiment

__all__ = [
    "Data",
    "Row",
    "StaleDataError",
    "cache_folder",
    "data_folder",
    "experiment_of",
    "load",
    "read",
    "results_of",
    "rows_of",
]


class StaleDataError(ValueError):
    """Committed data is absent, damaged, or made by other code; the message says what renews it."""


COMMITTED = ("paper", 0)
"""Preset and seed of the data in the repository."""


@dataclass(frozen=True)
class Data:
    """What the repository holds of one experiment.

    Attributes
    ----------
    experiment : Experiment
        What was computed.
    manifest : dict
        Configuration, seeds, code, versions, processor and seconds.
    summaries : tuple of Summary
        What the runs of each setting come to: a `Curve` or a `StoppingSummary`.
    replicates : tuple of Group
        The runs of each setting: `Replicates` or `StoppingReplicates`.
    """

    experiment: Experiment
    manifest: Mapping[str, Any]
    summaries: tuple[Any, ...]
    replicates: tuple[Any, ...]

    @property
    def curves(self) -> tuple[Any, ...]:
        """The summaries, as those of experiments on regret are called."""
        return self.summaries


@dataclass(frozen=True)
class Row:
    """A setting with what is known of it, from results or from stored data.

    Attributes
    ----------
    setting : Setting
        The setting; its cell says what was simulated.
    summary : Summary
        What the runs come to.
    replicates : Group
        The runs, as far as the files have them.
    """

    setting: Any
    summary: Any
    replicates: Any


def root_folder() -> Path:
    """Return the folder of the book, or the working directory outside of it."""
    try:
        return find_root()
    except ValueError:
        return Path.cwd()


def data_folder() -> Path:
    """Return the folder of the committed data, ``book/data``."""
    return root_folder() / "book" / "data"


def cache_folder() -> Path:
    """Return the folder of finished cells, ``_build/cache``."""
    return root_folder() / "_build" / "cache"


def renewal(experiment: str, preset: str = "paper", seed: int = 0) -> str:
    """Return the command that renews an experiment's data."""
    return f"dpbandits reproduce {experiment} --preset {preset} --seed {seed}"


def read(experiment: str, folder: str | os.PathLike[str] | None = None) -> Data:
    """Read data as it is, whether fresh or not.

    Raises
    ------
    ValueError
        If the id is not that of one experiment, or `folder` is no path.
    StaleDataError
        If a file is absent or damaged.
    """
    known = EXPERIMENTS[check_choice("id", experiment, tuple(EXPERIMENTS))]
    folder = data_folder() if folder is None else _path("folder", folder)
    try:
        manifest = json.loads((folder / f"{experiment}.json").read_text(encoding="utf-8"))
        texts = {
            file: (folder / file).read_text(encoding="utf-8")
            for file in (f"{experiment}.csv", f"{experiment}.runs.csv")
        }
    except FileNotFoundError as error:
        raise _stale(experiment, f"{Path(error.filename).name} is absent") from None
    except ValueError:
        raise _stale(experiment, f"{experiment}.json is damaged") from None
    for file, text in texts.items():
        if hashlib.sha256(text.encode()).hexdigest() != manifest.get("files", {}).get(file):
            raise _stale(experiment, f"{file} is not the file that its manifest describes")
    return Data(
        known,
        manifest,
        known.table.summaries_from_text(texts[f"{experiment}.csv"]),
        known.table.replicates_from_text(texts[f"{experiment}.runs.csv"]),
    )


def load(experiment: str, folder: str | os.PathLike[str] | None = None) -> Data:
    """Read data that the present code would make.

    Parameters
    ----------
    experiment : str
        Id of the experiment.
    folder : path-like, optional
        Where the data lies; ``book/data`` if not given.

    Returns
    -------
    Data

    Raises
    ------
    ValueError
        If the id is not that of one experiment, or `folder` is no path.
    StaleDataError
        If the data is absent, damaged, or stale: made by other code or for another
        configuration. The message ends with the command that renews it.
    """
    return _fresh(read(experiment, folder))


def results_of(
    experiment: str, preset: str = "paper", seed: int = 0, n_jobs: int = 1
) -> Data | Results:
    """Return an experiment's committed data, or, where that is of another kind, compute it.

    What the chapters call: at their own parameters they show the data of the repository, with
    a reader's they compute.

    Parameters
    ----------
    experiment : str
        Id of the experiment.
    preset : {"paper", "quick", "smoke"}
        How much to compute.
    seed : int
        Root seed.
    n_jobs : int
        Number of workers, if it has to be computed.

    Returns
    -------
    Data or Results
        Both of which `rows_of` and the figures take.

    Raises
    ------
    ValueError
        If the id or the preset is unknown, or an argument is out of range.
    StaleDataError
        If the data is of this preset and seed but other code made it, or if what the repository
        always has, the preset "paper" with seed 0, is absent or damaged.

    Examples
    --------
    >>> from dpbandits import experiments
    >>> len(experiments.results_of("ss19-fig1", preset="smoke", seed=1))
    8
    """
    check_choice("preset", preset, tuple(PRESETS))
    try:
        data = read(experiment)
    except StaleDataError:
        if (preset, seed) == COMMITTED:
            raise
    else:
        if (data.manifest["preset"], data.manifest["seed"]) == (preset, seed):
            return _fresh(data)
    return run(experiment, preset=preset, seed=seed, n_jobs=n_jobs)


def experiment_of(source: Results | Data | str) -> Experiment:
    """Tell which experiment results, stored data or an id are of; see `rows_of`."""
    if isinstance(source, Data):
        return source.experiment
    if isinstance(source, str):
        return EXPERIMENTS[check_choice("source", source, tuple(EXPERIMENTS))]
    if not isinstance(source, Results):
        raise ValueError(
            f"source={source!r} holds no experiment; "
            "allowed: results of `run`, data of `load`, or the id of an experiment"
        )
    if len(source.experiments) != 1:
        have = ", ".join(source.experiments)
        raise ValueError(f"source holds {have}; allowed: one experiment, as by .subset(id)")
    return EXPERIMENTS[source.experiments[0]]


def rows_of(source: Results | Data | str) -> tuple[Experiment, list[Row]]:
    """Bring results, stored data, or the id of an experiment to one form.

    Parameters
    ----------
    source : Results, Data or str
        Results of one experiment, data as `load` returns it, or the id of an experiment whose
        committed data is fresh.

    Returns
    -------
    tuple of (Experiment, list of Row)

    Raises
    ------
    ValueError
        If the source is neither of these, the id is unknown, the committed data is stale, or the
        results are not of one experiment.
    """
    experiment = experiment_of(source)
    if isinstance(source, str):
        source = load(source)
    if isinstance(source, Results):
        settings, summaries, groups = source.settings, source.summaries(), source.replicates()
    else:
        summaries, groups = source.summaries, source.replicates
        by_labels = {s.labels: s for s in experiment.settings(source.manifest["preset"])}
        settings = tuple(by_labels[summary.labels] for summary in summaries)
    return experiment, [Row(*parts) for parts in zip(settings, summaries, groups, strict=True)]


def fingerprint(experiment: Experiment, preset: str, seed: int) -> dict[str, Any]:
    """Hash what the data must agree with: the code, by what was played, and the settings."""
    code = {
        ", ".join(type(part).__name__ for part in cell.parts): cell.code()
        for cell in experiment.cells(preset)
    }
    described = [
        [
            *map(str, setting.labels),
            setting.cell.configuration(),
            setting.cell.n_runs,
            setting.cell.seed(seed),
            *setting.cell.kept().values(),
        ]
        for setting in experiment.settings(preset)
    ]
    options = astuple(cast(Any, experiment.table))
    text = json.dumps([described, *options], sort_keys=True)
    return {
        "code": dict(sorted(code.items())),
        "settings": hashlib.sha256(text.encode()).hexdigest()[:16],
    }


def _path(name: str, value: str | os.PathLike[str]) -> Path:
    try:
        return Path(value)
    except TypeError:
        raise ValueError(f"{name}={value!r} is no path; allowed: str, path-like") from None


def _fresh(data: Data) -> Data:
    """Return data that the present code would make."""
    manifest = data.manifest
    name, preset, seed = manifest["id"], manifest["preset"], manifest["seed"]
    now = fingerprint(data.experiment, preset, seed)
    for part in ("code", "settings"):
        if manifest[part] != now[part]:
            raise _stale(name, f"{name}.csv was made with other {part}", preset, seed)
    return data


def _stale(experiment: str, why: str, preset: str = "paper", seed: int = 0) -> StaleDataError:
    return StaleDataError(f"{why}; renew it with: {renewal(experiment, preset, seed)}")
