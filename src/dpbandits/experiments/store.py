"""The figures' data in the repository: written with a manifest, read back only when fresh."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dpbandits import provenance
from dpbandits._files import write_atomically
from dpbandits._validation import check_integer
from dpbandits.chapters import find_root
from dpbandits.experiments import tables
from dpbandits.experiments.catalogue import EXPERIMENTS, resolve
from dpbandits.experiments.compare import FALSE_ALARM, Verdict, compare, two_sample_p
from dpbandits.experiments.running import Results, play_chunk
from dpbandits.experiments.settings import PRESETS, Experiment
from dpbandits.simulation import replicate_seeds

__all__ = [
    "Data",
    "SpotCheck",
    "StaleDataError",
    "cache_folder",
    "data_folder",
    "load",
    "read",
    "spot_check",
    "write",
]


class StaleDataError(ValueError):
    """Committed data is absent, damaged, or made by other code; the message says what renews it."""


@dataclass(frozen=True)
class Data:
    """What the repository holds of one experiment.

    Attributes
    ----------
    experiment : Experiment
        What was computed.
    manifest : dict
        Configuration, seeds, code, versions, processor and seconds.
    curves : tuple of Curve
        A curve per setting.
    replicates : tuple of Replicates
        The runs of each setting at the horizon.
    curves_text : str
        The curves as the file has them.
    """

    experiment: Experiment
    manifest: Mapping[str, Any]
    curves: tuple[tables.Curve, ...]
    replicates: tuple[tables.Replicates, ...]
    curves_text: str = field(repr=False)


@dataclass(frozen=True)
class SpotCheck:
    """Outcome of `spot_check`.

    Attributes
    ----------
    kind : {"bits", "law"}
        Whether replicates had to be the same, or of one law with the stored ones.
    passed : bool
        Whether they were.
    n_cells, n_runs : int
        Cells that were checked, and replicates of each.
    reason : str
        Why this kind.
    """

    kind: str
    passed: bool
    n_cells: int
    n_runs: int
    reason: str

    def __str__(self) -> str:
        outcome = {
            ("bits", True): "equal the stored ones",
            ("bits", False): "do not equal the stored ones",
            ("law", True): "agree in law with the stored ones",
            ("law", False): "do not agree in law with the stored ones",
        }[self.kind, self.passed]
        return f"{self.n_runs} runs of {self.n_cells} settings {outcome} ({self.reason})"


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


def make_manifest(results: Results, files: Mapping[str, str]) -> dict[str, Any]:
    """Describe the results of one experiment; `files` maps a file's name to its text."""
    (name,) = results.experiments
    preset = PRESETS[results.preset]
    return {
        "id": name,
        "title": EXPERIMENTS[name].title,
        "source": EXPERIMENTS[name].source,
        "preset": results.preset,
        "horizon": preset.horizon,
        "n_runs": preset.n_runs,
        "seed": results.seed,
        **_fingerprint(EXPERIMENTS[name], results.preset, results.seed),
        "versions": provenance.versions(),
        "processor": provenance.processor(),
        "seconds": round(results.seconds, 2),
        "files": {file: hashlib.sha256(text.encode()).hexdigest() for file, text in files.items()},
        "cells": [
            {**cell.configuration(), "n_runs": cell.n_runs, "seed": list(cell.seed(results.seed))}
            for cell in results
        ],
    }


def write(
    results: Results, folder: Path, against: Path | None = None, rejected: Path | None = None
) -> Verdict:
    """Write the data of one experiment to `folder`, and compare it with what `against` holds.

    Files that would not change are left alone: with identical data from the same code, the
    manifest keeps the platform and the seconds of the run that made it.

    Parameters
    ----------
    results : Results
        Results of one experiment.
    folder : Path
        Where ``ID.csv``, ``ID.runs.csv`` and ``ID.json`` go.
    against : Path, optional
        Folder with the data to compare with; `folder` if not given.
    rejected : Path, optional
        Where the files go instead if the verdict is "differs"; `folder` if not given.

    Returns
    -------
    Verdict
    """
    (name,) = results.experiments
    new = tables.replicates(results)
    texts = {
        f"{name}.csv": tables.curves_to_text(tables.curves(results)),
        f"{name}.runs.csv": tables.replicates_to_text(new),
    }
    try:
        old = read(name, folder if against is None else against)
    except StaleDataError:
        verdict = Verdict("not compared", "no earlier data")
    else:
        if old.manifest["preset"] == results.preset:
            verdict = compare(new, old.replicates)
            if verdict.name == "identical" and not _same_curves(
                old.curves, tables.curves_from_text(texts[f"{name}.csv"])
            ):
                verdict = Verdict("differs", "the replicates are the same, the curves are not")
        else:
            verdict = Verdict("not compared", f"the data is of preset {old.manifest['preset']}")
    if verdict.name == "differs" and rejected is not None:
        folder = rejected
    manifest = make_manifest(results, texts)
    if not _same_origin(folder / f"{name}.json", manifest):
        texts[f"{name}.json"] = _manifest_text(manifest)
    for file, text in texts.items():
        path = folder / file
        if not path.is_file() or path.read_bytes() != text.encode():
            write_atomically(path, text)
    return verdict


def read(experiment: str, folder: Path | None = None) -> Data:
    """Read data as it is, whether fresh or not.

    Raises
    ------
    StaleDataError
        If a file is absent or damaged.
    """
    (known,) = resolve([experiment])
    folder = data_folder() if folder is None else folder
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
        tables.curves_from_text(texts[f"{experiment}.csv"]),
        tables.replicates_from_text(texts[f"{experiment}.runs.csv"]),
        texts[f"{experiment}.csv"],
    )


def load(experiment: str, folder: Path | None = None) -> Data:
    """Read data that the present code would make.

    Parameters
    ----------
    experiment : str
        Id of the experiment.
    folder : Path, optional
        Where the data lies; ``book/data`` if not given.

    Returns
    -------
    Data

    Raises
    ------
    StaleDataError
        If the data is absent, damaged, or stale: made by other code or for another
        configuration. The message ends with the command that renews it.
    """
    data = read(experiment, folder)
    manifest = data.manifest
    preset, seed = manifest["preset"], manifest["seed"]
    now = _fingerprint(data.experiment, preset, seed)
    for part, text in (("code", "code"), ("settings", "settings")):
        if manifest[part] != now[part]:
            raise _stale(experiment, f"{experiment}.csv was made with other {text}", preset, seed)
    return data


def spot_check(
    experiment: str, n_cells: int = 4, n_runs: int = 2, seed: int = 0, folder: Path | None = None
) -> SpotCheck:
    """Run a few stored replicates again, at their full scale.

    On the platform of the manifest (versions and processor) they must equal the stored ones.
    Elsewhere they may; if they do not, at least ten fresh replicates of each setting must agree
    with the stored ones in law (exact Kolmogorov–Smirnov tests of the regret, Bonferroni, false
    alarm `FALSE_ALARM` in all).

    Parameters
    ----------
    experiment : str
        Id of the experiment.
    n_cells, n_runs : int
        Settings to check, and replicates of each.
    seed : int
        Which ones: settings and replicates are drawn from it.
    folder : Path, optional
        Where the data lies; ``book/data`` if not given.

    Returns
    -------
    SpotCheck
    """
    data = load(experiment, folder)
    n_cells, n_runs = check_integer("n_cells", n_cells, 1), check_integer("n_runs", n_runs, 1)
    rng = np.random.default_rng(seed)
    settings = data.experiment.settings(data.manifest["preset"])
    stored = {group.labels: group for group in data.replicates}
    chosen = rng.permutation(len(settings))[:n_cells]
    pairs = [(settings[i].cell, stored[tables.labels_of(settings[i])]) for i in chosen]
    root = data.manifest["seed"]
    equal = True
    for cell, group in pairs:
        seeds = replicate_seeds(cell.seed(root), cell.n_runs)
        some = rng.permutation(cell.n_runs)[:n_runs]
        again = play_chunk(
            cell.algorithm, cell.instance, cell.horizon, cell.checkpoints, [seeds[i] for i in some]
        )
        equal &= np.array_equal(again.pulls, group.pulls[some])
    same_platform = (
        data.manifest["versions"] == provenance.versions()
        and data.manifest["processor"] == provenance.processor()
    )
    if equal or same_platform:
        reason = "on the platform that made them" if same_platform else "on another platform"
        return SpotCheck("bits", bool(equal), len(pairs), n_runs, reason)
    n_fresh = max(n_runs, 10)
    smallest = 1.0
    for cell, group in pairs:
        fresh = replicate_seeds(cell.seed(root), cell.n_runs + n_fresh)[cell.n_runs :]
        again = play_chunk(cell.algorithm, cell.instance, cell.horizon, cell.checkpoints, fresh)
        smallest = min(smallest, two_sample_p(again.regret[:, -1], group.regret))
    passed = smallest >= FALSE_ALARM / len(pairs)
    reason = f"on another platform, with a false alarm of {FALSE_ALARM:g}"
    return SpotCheck("law", passed, len(pairs), n_fresh, reason)


def _fingerprint(experiment: Experiment, preset: str, seed: int) -> dict[str, Any]:
    """Hash what the data must agree with: the code, by algorithm, and the settings."""
    settings = experiment.settings(preset)
    code = {
        type(cell.algorithm).__name__: provenance.code_hash(cell.algorithm, cell.instance)
        for cell in experiment.cells(preset)
    }
    described = [
        [
            *map(str, tables.labels_of(s)),
            s.cell.configuration(),
            s.cell.n_runs,
            s.cell.seed(seed),
            s.cell.checkpoints.tolist(),
        ]
        for s in settings
    ]
    text = json.dumps([described, experiment.every_checkpoint], sort_keys=True)
    return {
        "code": dict(sorted(code.items())),
        "settings": hashlib.sha256(text.encode()).hexdigest()[:16],
    }


def _manifest_text(manifest: Mapping[str, Any]) -> str:
    """Write a manifest as JSON, a line a cell."""
    cells = ",\n".join("  " + json.dumps(cell, ensure_ascii=False) for cell in manifest["cells"])
    text = json.dumps({**manifest, "cells": []}, indent=1, ensure_ascii=False)
    return text.replace('"cells": []', f'"cells": [\n{cells}\n ]') + "\n"


def _same_curves(old: tuple[tables.Curve, ...], new: tuple[tables.Curve, ...]) -> bool:
    """Tell whether curves agree up to the rounding of the file."""
    return len(old) == len(new) and all(
        a.labels == b.labels
        and np.array_equal(a.times, b.times)
        and all(
            np.allclose(getattr(a, column), getattr(b, column), rtol=2e-6, equal_nan=True)
            for column in ("mean", "low90", "high90", "mean_low95", "mean_high95")
        )
        for a, b in zip(old, new, strict=True)
    )


def _same_origin(path: Path, manifest: Mapping[str, Any]) -> bool:
    """Tell whether a manifest on the disk describes the same data, made by the same code."""
    try:
        old = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    names = ("title", "source", "preset", "seed", "code", "settings", "files")
    return all(old.get(name) == manifest[name] for name in names)


def _stale(experiment: str, why: str, preset: str = "paper", seed: int = 0) -> StaleDataError:
    return StaleDataError(f"{why}; renew it with: {renewal(experiment, preset, seed)}")
