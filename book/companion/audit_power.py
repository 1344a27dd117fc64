"""The power of the audits, one row per class, measured in advance: it is too slow for a chapter.

``python -m companion.audit_power NAME`` renews the row of a class in ``book/data/audit-power.csv``.
``NAME=E`` sets the budget to E; ``NAME@N`` uses N runs on each table, and integrates the class's
distribution if N = 0; ``NAME:1.5,2`` tries these factors only. A row depends on these settings and
on `SEED`. ``rates NAME@N`` audits a class with 20 seeds at 1, 1.25 and 2 times its declared budget,
and writes ``book/data/audit-rates.csv``.
"""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import dpbandits as dpb
from dpbandits._engine.acceleration import TableRuns, accelerators
from dpbandits.auditing import (
    FACTORS,
    FAILURE,
    Power,
    audit,
    audit_exactly,
    audited,
    overstated,
    power,
)
from dpbandits.auditing.cases import DELTA, N_PULLS, group_of

__all__ = [
    "BROKEN",
    "CALIBRATION",
    "FILE",
    "RATES",
    "SEED",
    "WHY",
    "measure",
    "rates",
    "read",
    "rows",
]

FILE = Path(__file__).parents[1] / "data" / "audit-power.csv"
"""Where the rows are kept."""
RATES = FILE.with_name("audit-rates.csv")
"""Where it is kept with how many of the seeds a class was convicted."""
CALIBRATION = FILE.with_name("audit-calibration.csv")
"""Where the rate of wrong convictions is kept: see ``benchmarks/audit_calibration.py``."""
SEED, SEEDS = 34, 20
TIMES = (1.0, 1.25, 2.0)
"""Overstatements at which classes are audited with all seeds."""
LOOP_RUNS, PROGRAM_RUNS = 300_000, 40_000
"""Runs on each table of an audit: by a compiled loop, and by a program."""
LENGTHS = dict.fromkeys(("BennettDPSE", "BinomialDPSE"), 256)
"""Length of the tables of what hardly ever decides on the shortest."""
TRIAL = dpb.GroupSequential(per_look=8, critical=2.0, looks=2)
"""A trial of which all releases are audited; its budget is set for each row."""

_SHARED = (
    "a reward is in several sums, each with a share of ε, and a pull only compares two of them"
)
WHY = {
    **dict.fromkeys(("DPUCB", "DPUCBBound", "DPUCBHybrid", "DPUCBInt"), _SHARED),
    "DPTT": "the search ended at a table of two arms, where the pulls show less than all of ε",
    "KaryTree": "the search found sums that show less than all of ε",
    "GroupSequential": "noise in whole numbers cannot be moved on the tape: runs are counted",
    "DPKLUCB": "with so few runs, tables of two arms alone are tried",
    **dict.fromkeys(
        ("BennettDPSE", "BinomialDPSE"), "on tables this short a test hardly ever drops an arm"
    ),
    "DPBernsteinStop": "its program is slow, and these are few runs",
    "DPNAS": "on a stream of this length halting shows a part of ε; later looks are not integrated",
    "DPRUCB": "only the third pull is integrated, which shows one of several sums of a reward",
}
"""Why no smaller factor is convicted: name of a class → the reason."""

BROKEN = {"DPUCBBound, split full": dpb.DPUCBBound(1.0, split="full")}
"""What breaks a printed promise of ε = 1: name → the configuration, which is run as it is."""


def rows(declared: float = 1.0) -> dict[str, Any]:
    """Return the measured algorithms and counters, each of which declares a budget, by name.

    Parameters
    ----------
    declared : float
        The budget ε.

    Returns
    -------
    dict of str to object
        Configurations of every private class, of a trial, and of the deliberately broken ones.
    """
    trial = dataclasses.replace(TRIAL, epsilon=declared)
    return audited(declared) | {type(TRIAL).__name__: trial} | BROKEN


def measure(
    name: str,
    declared: float = 1.0,
    factors: Sequence[float] = FACTORS,
    n_runs: int | None = None,
) -> dict[str, Any]:
    """Find the least overstatement that is convicted, with the details of its audit.

    Parameters
    ----------
    name : str
        Name of the class.
    declared : float
        The budget ε that is declared.
    factors : sequence of float
        Overstatements c, tried in turn until one is convicted.
    n_runs : int, optional
        Runs on each table of an audit; 0 to integrate the distribution.

    Returns
    -------
    dict of str to object
        The row: `least` is the least convicted factor, infinite if none was convicted; the other
        columns describe that audit, or the one at the greatest factor; `tried` lists all factors
        tried.
    """
    target = rows(declared)[name]
    looped = bool(accelerators(type(target), TableRuns)) and not hasattr(target, "counter")
    if n_runs is None:
        n_runs = LOOP_RUNS if looped else PROGRAM_RUNS
    if name in BROKEN:
        printed = dpb.PrivacyGuarantee("central", 1.0)
        once = audit(target, None, n_runs, [SEED], FAILURE, guarantee=printed, all_runs=True)
        found = Power(printed, {1.0: once})
    elif n_runs and isinstance(target, dpb.DPUCBInt):  # its declared budget depends on the horizon
        promised = dpb.PrivacyGuarantee("central", declared, DELTA)
        given = {
            c: dpb.DPUCBInt.calibrated(c * declared, DELTA, N_PULLS, by="interval") for c in factors
        }
        found = power(given, (), n_runs, [SEED], guarantee=promised, n_pulls=N_PULLS)
    elif n_runs:
        found = power(target, factors, n_runs, [SEED], n_pulls=LENGTHS.get(name))
    else:
        found = _integrated(target, factors)
    decisive = found.decisive
    table = decisive.pair.table
    return {
        "name": name,
        "declared": declared,
        "group": _group(name),
        "kind": decisive.kind,
        "tried": " ".join(f"{c:g}" for c in found.audits),
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


def rates(name: str, n_runs: int, factor: float = 1.0, seeds: int = SEEDS) -> dict[str, Any]:
    """Audit a class with several seeds, at a multiple of the budget 1 that it declares.

    Parameters
    ----------
    name : str
        Name of the class.
    n_runs : int
        Runs on each table of an audit.
    factor : float
        The overstatement c; at 1 the class keeps its promise.
    seeds : int
        Number of seeds.

    Returns
    -------
    dict of str to object
        The number of seeds that convicted, and the lowest and the highest bound.
    """
    target = rows()[name]
    audits = [
        audit(
            overstated(target, factor),
            None,
            n_runs,
            [SEED, k],
            FAILURE,
            target.guarantee,
            all_runs=True,
        )
        for k in range(seeds)
    ]
    bounds = [each.epsilon_lower for each in audits]
    return {
        "name": name,
        "factor": factor,
        "kind": audits[0].kind,
        "n_runs": n_runs,
        "seeds": seeds,
        "convicted": sum(each.convicted for each in audits),
        "lowest": min(bounds),
        "highest": max(bounds),
        "failure": FAILURE,
    }


def _group(name: str) -> str:
    """Return the heading of a row."""
    special = dict.fromkeys(BROKEN, "broken") | {type(TRIAL).__name__: "trials"}
    return special.get(name) or group_of(name)


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


def read(path: Path = FILE) -> pd.DataFrame:
    """Return the rows that have been measured.

    Parameters
    ----------
    path : pathlib.Path
        `FILE` or `RATES`.

    Returns
    -------
    pandas.DataFrame
        A row for each class and budget, or for each class and overstatement.
    """
    if not path.exists():
        return pd.DataFrame(columns=["name", "declared" if path == FILE else "factor"])
    return pd.read_csv(path, dtype={"tried": str})


def _write(path: Path, row: dict[str, Any], order: list[str]) -> None:
    """Replace the row of the same class and the same budget or overstatement."""
    others, second = read(path), "declared" if path == FILE else "factor"
    same = (others["name"] == row["name"]) & (others[second] == row[second])
    table = pd.concat([others[~same], pd.DataFrame([row])], ignore_index=True)
    table.sort_values(order).to_csv(path, index=False, float_format="%.6g", lineterminator="\n")


def main(names: Sequence[str]) -> None:
    """Measure rows and write each as soon as it is done: all at ε = 1, or those named.

    If the first name is "rates", classes are audited with several seeds.

    Parameters
    ----------
    names : sequence of str
        Names of classes, each optionally followed by ``=E`` for a budget other than 1, ``@N`` for
        another number of runs, and ``:C,C`` for other factors.
    """
    several = list(names[:1]) == ["rates"]
    for given in names[several:] or rows():
        name, _, listed = given.partition(":")
        name, _, runs = name.partition("@")
        name, _, epsilon = name.partition("=")
        factors = [float(c) for c in listed.split(",")] if listed else FACTORS
        if several:
            for c in TIMES:
                row = rates(name, int(runs), c)
                _write(RATES, row, ["name", "factor"])
                sys.stdout.write(f"{name}, c = {c:g}: {row['convicted']} of {row['seeds']}\n")
            continue
        row = measure(name, float(epsilon or 1.0), factors, int(runs) if runs else None)
        _write(FILE, row, ["declared", "group", "name"])
        least, bound = row["least"], row["epsilon_lower"]
        sys.stdout.write(f"{name}, ε = {row['declared']:g}: c = {least:g}, ε ≥ {bound:.3f}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
