"""The audits of the book as experiments: of every algorithm, and of mechanisms of known truth."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from dpbandits._validation import check_choice
from dpbandits.experiments.audit_accounts import declared
from dpbandits.experiments.audit_cases import (
    COMPILED,
    LOOPS,
    AuditCase,
    audit_cases,
    free_cases,
)
from dpbandits.experiments.audit_cells import AuditCell, AuditSetting, audit_setting
from dpbandits.experiments.audit_tables import AuditTable
from dpbandits.experiments.settings import Experiment, Preset
from dpbandits.privacy.audit_truths import (
    EliminationEpoch,
    HaltingTime,
    KnownLoss,
    RandomisedResponse,
    Releases,
    TreeSums,
)

__all__ = ["AUDIT_EXPERIMENTS", "AUDIT_GRIDS", "FAILURE", "AuditGrid", "known_truths"]

TABLE = AuditTable()
FAILURE = 1e-9
"""Probability with which the bound of one audit may be too high: 10^−6 for a thousand of them."""


@dataclass(frozen=True)
class AuditGrid:
    """How much of the audits a preset computes.

    Attributes
    ----------
    runs : dict of str to int
        Speed of an algorithm → runs on each table.
    tried : int
        Pairs of tables that a search begins with.
    sizes : tuple of (int, int)
        For mechanisms of known truth: runs on each table, and how many audits have as many.
    """

    runs: dict[str, int]
    tried: int
    sizes: tuple[tuple[int, int], ...]


AUDIT_GRIDS: dict[str, AuditGrid] = {
    "smoke": AuditGrid({COMPILED: 1000, LOOPS: 100}, 2, ((1000, 3), (4000, 2))),
    "quick": AuditGrid({COMPILED: 10**5, LOOPS: 4000}, 4, ((10**3, 5), (10**4, 5), (10**5, 3))),
    "paper": AuditGrid(
        {COMPILED: 10**6, LOOPS: 200_000},
        8,
        (
            (10**3, 20),
            (3 * 10**3, 20),
            (10**4, 20),
            (3 * 10**4, 10),
            (10**5, 10),
            (3 * 10**5, 4),
            (10**6, 2),
        ),
    ),
}
"""Name of the preset → its grid."""

BUDGETS = {"a": 1.0, "b": 4.0}
FREE_PANEL = "c"


def known_truths() -> dict[tuple[str, str], tuple[KnownLoss, float]]:
    """Return the mechanisms of known truth: (panel, name of the curve) → mechanism and δ.

    They are made when they are asked for, as the check of one runs a compiled function.
    """
    return {
        ("a", "Laplace"): (Releases(1.0), 0.0),
        ("a", "randomised response"): (RandomisedResponse(1.0), 0.0),
        ("b", "4 releases"): (Releases(1.0, 4), 0.0),
        ("b", "4 releases, δ = 0.01"): (Releases(2.0, 4), 0.01),
        ("b", "tree, 8 sums"): (TreeSums(1.0, 8), 0.0),
        ("c", "often"): (EliminationEpoch(1.0, 2.0), 0.0),
        ("c", "rarely"): (EliminationEpoch(1.0, 6.0), 0.0),
        ("d", "halting time"): (HaltingTime(4.0), 0.0),
    }


def _grid(preset: Preset) -> AuditGrid:
    return AUDIT_GRIDS[check_choice("preset", preset.name, tuple(AUDIT_GRIDS))]


def _case_cell(case: AuditCase, epsilon: float, grid: AuditGrid) -> AuditCell:
    target = case.make(epsilon)
    is_run = case.method == "runs"
    runs, tried = (grid.runs[case.speed], grid.tried) if is_run else (0, 0)
    delta = declared(target, case.n_pulls).delta
    return AuditCell(target, case.method, case.n_pulls, runs, tried, delta, FAILURE)


def _algorithms(experiment: Experiment, preset: Preset) -> Iterator[AuditSetting]:
    grid = _grid(preset)
    for panel, epsilon in BUDGETS.items():
        for case in audit_cases().values():
            cell = _case_cell(case, epsilon, grid)
            yield audit_setting(experiment.id, panel, cell, epsilon)
    for case in free_cases().values():
        cell = _case_cell(case, math.inf, grid)
        yield audit_setting(experiment.id, FREE_PANEL, cell, math.inf)


def _truths(experiment: Experiment, preset: Preset) -> Iterator[AuditSetting]:
    for (panel, name), (target, delta) in known_truths().items():
        n_pulls = target.pair.table.shape[1]
        for audit_runs, n_runs in _grid(preset).sizes:
            cell = AuditCell(target, "runs", n_pulls, audit_runs, 0, delta, FAILURE, n_runs)
            yield audit_setting(experiment.id, panel, cell, target.epsilon, name)


AUDIT_EXPERIMENTS = (
    Experiment(
        "ours-audit-algorithms",
        "Every algorithm audited at its declared guarantee",
        "ours",
        {panel: f"ε = {epsilon:g}" for panel, epsilon in BUDGETS.items()}
        | {FREE_PANEL: "nothing declared"},
        "algorithm",
        _algorithms,
        TABLE,
    ),
    Experiment(
        "ours-audit-truth",
        "How near an audit comes to the truth, against the number of runs",
        "ours",
        {"a": "one release", "b": "many releases", "c": "an elimination", "d": "a halting time"},
        "runs",
        _truths,
        TABLE,
    ),
)
"""In the order of the book."""
