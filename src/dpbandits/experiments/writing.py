"""Results written as the figures' data of the repository, with a manifest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpbandits import provenance
from dpbandits._files import write_atomically
from dpbandits.experiments.catalogue import EXPERIMENTS
from dpbandits.experiments.compare import Verdict, compare
from dpbandits.experiments.running import Results
from dpbandits.experiments.settings import PRESETS
from dpbandits.experiments.store import StaleDataError, fingerprint, read

__all__ = ["make_manifest", "write"]


def make_manifest(results: Results, files: Mapping[str, str]) -> dict[str, Any]:
    """Describe the results of one experiment; `files` maps a file's name to its text."""
    (name,) = results.experiments
    experiment = EXPERIMENTS[name]
    return {
        "id": name,
        "title": experiment.title,
        "source": experiment.source,
        "preset": results.preset,
        **experiment.table.about(PRESETS[results.preset], results.settings),
        "seed": results.seed,
        **fingerprint(experiment, results.preset, results.seed),
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
    `dpbandits.experiments.compare.Verdict`
    """
    (name,) = results.experiments
    table = EXPERIMENTS[name].table
    summaries, new = results.summaries(), results.replicates()
    texts = {
        f"{name}.csv": table.summaries_to_text(summaries),
        f"{name}.runs.csv": table.replicates_to_text(new),
    }
    try:
        old = read(name, folder if against is None else against)
    except StaleDataError:
        verdict = Verdict("not compared", "no earlier data")
    else:
        if old.manifest["preset"] == results.preset:
            verdict = compare(new, old.replicates)
            if verdict.name == "identical" and not _same_summaries(summaries, old.summaries):
                verdict = Verdict("differs", f"the runs are the same, {name}.csv is not")
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


def _manifest_text(manifest: Mapping[str, Any]) -> str:
    """Write a manifest as JSON, a line a cell."""
    cells = ",\n".join("  " + json.dumps(cell, ensure_ascii=False) for cell in manifest["cells"])
    text = json.dumps({**manifest, "cells": []}, indent=1, ensure_ascii=False)
    return text.replace('"cells": []', f'"cells": [\n{cells}\n ]') + "\n"


def _same_summaries(new: tuple[Any, ...], old: tuple[Any, ...]) -> bool:
    """Tell whether summaries agree up to the rounding of the file."""
    return len(new) == len(old) and all(a.same_as(b) for a, b in zip(new, old, strict=True))


def _same_origin(path: Path, manifest: Mapping[str, Any]) -> bool:
    """Tell whether a manifest on the disk describes the same data, made by the same code."""
    try:
        old = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    names = ("title", "source", "preset", "seed", "code", "settings", "files")
    return all(old.get(name) == manifest[name] for name in names)
