"""How often an audit convicts what is private: on mechanisms whose loss is known, and reached.

``python benchmarks/audit_calibration.py`` makes 2 000 audits of each at φ = 0.05, each with a seed
of its own, and writes ``book/data/audit-calibration.csv``. The bound may be above the true loss
with probability φ at most.
"""

from __future__ import annotations

import math
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd

import dpbandits as dpb

FILE = Path(__file__).parents[1] / "book" / "data" / "audit-calibration.csv"
AUDITS, RUNS, FAILURE = 2000, 600, 0.05
PAIR = dpb.TablePair([[1.0]], arm=0, pull=0, value=0.0)
ONE = dpb.PrivacyGuarantee("central", 1.0)


def response(rewards: Any, rng: Any) -> float:
    """Report an outcome truthfully with odds e : 1. The loss is 1 at either report."""
    kept = rng.random() < math.e / (1 + math.e)
    return float(rewards.pull(0) if kept else 1 - rewards.pull(0))


def release(rewards: Any, rng: Any) -> float:
    """Release an outcome with Laplace noise of scale 1. The loss is 1 beyond both outcomes."""
    return float(rewards.pull(0) + rng.laplace())


MECHANISMS = {"randomised response": response, "Laplace": release}


def above(name: str, seed: int) -> bool:
    """Return whether the bound of an audit is above the true loss."""
    found = dpb.audit(MECHANISMS[name], PAIR, RUNS, [54, seed], FAILURE, ONE)
    return found.convicted


def main() -> None:
    rows = []
    with ProcessPoolExecutor() as pool:
        for name in MECHANISMS:
            hits = sum(pool.map(above, [name] * AUDITS, range(AUDITS), chunksize=50))
            rows.append((name, AUDITS, RUNS, FAILURE, hits))
    names = ["name", "audits", "n_runs", "failure", "convicted"]
    pd.DataFrame(rows, columns=names).to_csv(FILE, index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
