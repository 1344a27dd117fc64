"""Stored replicates, run again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpbandits import provenance
from dpbandits._validation import check_integer
from dpbandits.experiments.compare import FALSE_ALARM, two_sample_p
from dpbandits.experiments.settings import Setting
from dpbandits.experiments.store import load
from dpbandits.experiments.tables import Group, Table
from dpbandits.simulation import replicate_seeds

__all__ = ["SpotCheck", "spot_check"]


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
        Cells that were checked, and replicates of each; fewer of a cell that has fewer stored.
    reason : str
        Why this kind.
    n_compared : int
        Replicates that were run again, of all cells together.
    """

    kind: str
    passed: bool
    n_cells: int
    n_runs: int
    reason: str
    n_compared: int

    def __str__(self) -> str:
        outcome = {
            ("bits", True): "equal the stored ones",
            ("bits", False): "do not equal the stored ones",
            ("law", True): "agree in law with the stored ones",
            ("law", False): "do not agree in law with the stored ones",
        }[self.kind, self.passed]
        # settings whose data holds fewer runs than were asked for may differ in their number
        runs = f"{self.n_runs} runs"
        if self.n_compared < self.n_cells * self.n_runs:
            runs = f"up to {runs}"
        return f"{runs} of {self.n_cells} settings {outcome} ({self.reason})"


def spot_check(
    experiment: str,
    n_cells: int = 4,
    n_runs: int = 2,
    seed: int = 0,
    folder: str | os.PathLike[str] | None = None,
) -> SpotCheck:
    """Run a few stored replicates again, at their full scale.

    On the platform of the manifest (versions and processor) they must equal the stored ones.
    Elsewhere they may; if they do not, at least ten fresh replicates of each setting must agree
    with the stored ones in law (exact Kolmogorov–Smirnov tests of the regret, or of samples and
    estimates; Bonferroni, false alarm `FALSE_ALARM` in all).

    Parameters
    ----------
    experiment : str
        Id of the experiment.
    n_cells, n_runs : int
        Settings to check, and replicates of each; where the data holds fewer, all that it holds.
    seed : int
        Which ones: settings and replicates are drawn from it.
    folder : path-like, optional
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
    pairs = [(settings[i], stored[settings[i].labels]) for i in chosen]
    table, root = data.experiment.table, data.manifest["seed"]
    equal, counts = True, []
    for setting, group in pairs:
        seeds = replicate_seeds(setting.cell.seed(root), setting.cell.n_runs)
        some = rng.permutation(group.n_runs)[:n_runs]
        counts.append(some.size)
        equal &= _play(table, setting, [seeds[i] for i in some]).same_as(group.take(some))
    same_platform = (
        data.manifest["versions"] == provenance.versions()
        and data.manifest["processor"] == provenance.processor()
    )
    if equal or same_platform:
        reason = "on the platform that made them" if same_platform else "on another platform"
        return SpotCheck("bits", equal, len(pairs), max(counts), reason, sum(counts))
    n_fresh = max(*counts, 10)
    found: list[float] = []
    for setting, group in pairs:
        n_used = setting.cell.n_runs
        fresh = replicate_seeds(setting.cell.seed(root), n_used + n_fresh)[n_used:]
        again = _play(table, setting, fresh).headline()
        found += map(two_sample_p, again, group.headline())
    passed = min(found) >= FALSE_ALARM / len(found)
    reason = f"on another platform, with a false alarm of {FALSE_ALARM:g}"
    return SpotCheck("law", passed, len(pairs), n_fresh, reason, n_fresh * len(pairs))


def _play(table: Table, setting: Setting, seeds: Sequence[np.random.SeedSequence]) -> Group:
    """Play replicates of a setting, in the form in which they are stored."""
    runs = setting.cell.assemble(setting.cell.play(seeds))
    (group,) = table.replicates([(setting, runs)])
    return group
