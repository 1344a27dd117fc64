"""What was measured, as the book's data: a table and its manifest."""

import csv
import io
import json
from dataclasses import asdict, dataclass, fields
from importlib import metadata
from pathlib import Path

from dpbandits._files import write_atomically
from dpbandits.provenance import processor, versions


@dataclass(frozen=True)
class Row:
    """One measurement: the median over repetitions."""

    algorithm: str
    how: str
    n_arms: int
    horizon: int
    runs: int
    repetitions: int
    ms_per_run: float
    ns_per_pull: float
    uniforms_per_pull: float


def rounded(value):
    return float(f"{value:.4g}")


def make_row(case, median, repetitions, uniform_ns):
    """Turn the median seconds of one repetition into a row."""
    ns_per_pull = median / case.runs / case.horizon * 1e9
    return Row(
        case.algorithm,
        case.how,
        case.n_arms,
        case.horizon,
        case.runs,
        repetitions,
        rounded(median / case.runs * 1e3),
        rounded(ns_per_pull),
        rounded(ns_per_pull / uniform_ns),
    )


def write(folder, rows, uniform_ns):
    """Write ``benchmarks.csv`` and ``benchmarks.json``."""
    names = [field.name for field in fields(Row)]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([asdict(row)[name] for name in names] for row in rows)
    packages = {name: metadata.version(name) for name in ("mabwiser", "pytest-benchmark")}
    content = {
        "manifest": {
            "command": "make bench RECORD=book/data",
            "processor": processor(),
            "versions": {**versions(), **packages},
            "uniform_ns": rounded(uniform_ns),
        },
        "rows": [asdict(row) for row in rows],
    }
    folder = Path(folder)
    write_atomically(folder / "benchmarks.csv", buffer.getvalue())
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    return write_atomically(folder / "benchmarks.json", text)
