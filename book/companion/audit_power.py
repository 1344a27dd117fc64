"""The power of the audits, row by row, measured beforehand: it takes longer than a chapter may.

``python -m companion.audit_power`` renews ``book/data/audit-power.csv``; with names it renews
their rows alone. Each row depends on its algorithm, its number of runs and `SEED`, and on nothing
else, so that any of them can be computed again by `measure`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from dpbandits.acceleration import TableRuns, accelerators
from dpbandits.auditing import FACTORS, audit_cases, power
from dpbandits.auditing.cases import group_of
from dpbandits.auditing.subjects import tables_of

__all__ = ["FILE", "SEED", "measure", "read", "rows"]

FILE = Path(__file__).parents[1] / "data" / "audit-power.csv"
"""Where the rows are kept."""
SEED = 34
LOOP_RUNS, PROGRAM_RUNS = 300_000, 40_000
"""Runs on each table of an audit: by a compiled loop, and by a program."""
NAMES = ("name", "declared")


def rows(declared: float = 1.0) -> dict[str, Any]:
    """Return what is measured: name → the algorithm or counter that declares a budget.

    Parameters
    ----------
    declared : float
        The budget ε.

    Returns
    -------
    dict of str to object
        Configurations, of every private class that can be run on tables.
    """
    cases = audit_cases(declared, PROGRAM_RUNS, PROGRAM_RUNS)
    return {name: case.target for name, case in cases.items() if tables_of(case.target)}


def measure(name: str, declared: float = 1.0, factors: Sequence[float] = FACTORS) -> dict[str, Any]:
    """Find the least overstatement that is convicted, and what stands beside it.

    Parameters
    ----------
    name : str
        Name of the class.
    declared : float
        The budget ε that is declared.
    factors : sequence of float
        Overstatements c that are tried, until one is convicted.

    Returns
    -------
    dict of str to object
        The row: `least` is the least convicted factor, infinite if none was; the other columns are
        about that audit, or about the one at the greatest factor.
    """
    target = rows(declared)[name]
    looped = bool(accelerators(type(target), TableRuns)) and not hasattr(target, "counter")
    n_runs = LOOP_RUNS if looped else PROGRAM_RUNS
    found = power(target, factors, n_runs, [SEED])
    audit = found.decisive
    table = audit.pair.table
    return {
        "name": name,
        "declared": declared,
        "group": group_of(name),
        "kind": audit.kind,
        "least": found.least,
        "factor": found.least if math.isfinite(found.least) else max(found.audits),
        "verdict": audit.verdict,
        "epsilon_lower": audit.epsilon_lower,
        "loss": audit.loss,
        "tightness": found.tightness,
        "n_arms": table.shape[0],
        "n_pulls": table.shape[1],
        "pull": audit.pair.pull + 1,
        "n_runs": n_runs,
        "failure": audit.failure,
    }


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
        Names of classes, each with ``=E`` behind it for another budget than 1.
    """
    for given in names or rows():
        name, _, epsilon = given.partition("=")
        row = measure(name, float(epsilon or 1.0))
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
