"""The power of the audits, row by row, measured beforehand: it takes longer than a chapter may.

``python -m companion.audit_power NAME`` renews the row of a class in ``book/data/audit-power.csv``;
``NAME=E`` at the budget E, ``NAME@N`` with N runs on each table, and with N = 0 by integration of
the class's law. Each row depends on these and on `SEED`, and on nothing else, so that any of them
can be computed again by `measure`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import dpbandits as dpb
from dpbandits.acceleration import TableRuns, accelerators
from dpbandits.auditing import (
    FACTORS,
    FAILURE,
    Power,
    audit,
    audit_cases,
    audit_exactly,
    overstated,
    power,
)
from dpbandits.auditing.cases import group_of

__all__ = ["BROKEN", "FILE", "SEED", "measure", "read", "rows"]

FILE = Path(__file__).parents[1] / "data" / "audit-power.csv"
"""Where the rows are kept."""
SEED = 34
LOOP_RUNS, PROGRAM_RUNS = 300_000, 40_000
"""Runs on each table of an audit: by a compiled loop, and by a program."""
NAMES = ("name", "declared")


BROKEN = {"DPUCBBound, split full": dpb.DPUCBBound(1.0, split="full")}
"""What breaks a printed promise of ε = 1: name → the configuration, which is run as it is."""


def rows(declared: float = 1.0) -> dict[str, Any]:
    """Return what is measured: name → the algorithm or counter that declares a budget.

    Parameters
    ----------
    declared : float
        The budget ε.

    Returns
    -------
    dict of str to object
        Configurations, of every private class and of what is broken.
    """
    cases = audit_cases(declared, PROGRAM_RUNS, PROGRAM_RUNS)
    return {name: case.target for name, case in cases.items()} | BROKEN


def measure(
    name: str,
    declared: float = 1.0,
    factors: Sequence[float] = FACTORS,
    n_runs: int | None = None,
) -> dict[str, Any]:
    """Find the least overstatement that is convicted, and what stands beside it.

    Parameters
    ----------
    name : str
        Name of the class.
    declared : float
        The budget ε that is declared.
    factors : sequence of float
        Overstatements c that are tried, until one is convicted.
    n_runs : int, optional
        Runs on each table of an audit; 0 to integrate the law.

    Returns
    -------
    dict of str to object
        The row: `least` is the least convicted factor, infinite if none was; the other columns are
        about that audit, or about the one at the greatest factor.
    """
    target = rows(declared)[name]
    looped = bool(accelerators(type(target), TableRuns)) and not hasattr(target, "counter")
    if n_runs is None:
        n_runs = LOOP_RUNS if looped else PROGRAM_RUNS
    if name in BROKEN:
        printed = dpb.PrivacyGuarantee("central", 1.0)
        once = audit(target, None, n_runs, [SEED], FAILURE, guarantee=printed)
        found = Power(printed, {1.0: once})
    elif n_runs:
        found = power(target, factors, n_runs, [SEED])
    else:
        found = _integrated(target, factors)
    decisive = found.decisive
    table = decisive.pair.table
    return {
        "name": name,
        "declared": declared,
        "group": "broken" if name in BROKEN else group_of(name),
        "kind": decisive.kind,
        "least": found.least,
        "factor": found.least if math.isfinite(found.least) else max(found.audits),
        "verdict": decisive.verdict,
        "epsilon_lower": decisive.epsilon_lower,
        "loss": decisive.loss,
        "tightness": found.tightness,
        "n_arms": table.shape[0],
        "n_pulls": table.shape[1],
        "pull": decisive.pair.pull + 1,
        "n_runs": n_runs,
        "failure": decisive.failure,
    }


def _integrated(target: Any, factors: Sequence[float]) -> Power:
    """Return the power of the audit by integration."""
    audits = {}
    for c in sorted(factors):
        found = audit_exactly(overstated(target, c), guarantee=target.guarantee)
        if found is None:
            raise ValueError(f"target={target!r} has no known law; allowed: n_runs of 16 or more")
        audits[c] = found
        if found.convicted:
            break
    return Power(target.guarantee, audits)


def read() -> pd.DataFrame:
    """Return the rows that have been measured.

    Returns
    -------
    pandas.DataFrame
        A row for each class and budget.
    """
    return pd.read_csv(FILE) if FILE.exists() else pd.DataFrame(columns=list(NAMES))


def main(names: Sequence[str]) -> None:
    """Measure rows, each written as soon as it is there: all at ε = 1, or those named.

    Parameters
    ----------
    names : sequence of str
        Names of classes, each with ``=E`` behind it for another budget than 1, and ``@N`` for
        another number of runs.
    """
    for given in names or rows():
        name, _, runs = given.partition("@")
        name, _, epsilon = name.partition("=")
        row = measure(name, float(epsilon or 1.0), n_runs=int(runs) if runs else None)
        others = read()
        same = (others["name"] == name) & (others["declared"] == row["declared"])
        table = pd.concat([others[~same], pd.DataFrame([row])], ignore_index=True)
        table.sort_values(["declared", "group", "name"]).to_csv(
            FILE, index=False, float_format="%.6g", lineterminator="\n"
        )
        least, bound = row["least"], row["epsilon_lower"]
        sys.stdout.write(f"{name}, ε = {row['declared']:g}: c = {least:g}, ε ≥ {bound:.3f}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
