"""What was measured, as the book's data: a table and its manifest."""

import csv
import io
import json
import math
import platform
from dataclasses import asdict, dataclass, fields
from importlib import metadata
from pathlib import Path

from llvmlite.binding import get_host_cpu_name

from dpbandits._files import write_atomically

COMMAND = "make bench RECORD=book/data"


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


@dataclass(frozen=True)
class StoppingRow:
    """One measurement of a stopping rule: the median over repetitions."""

    rule: str
    how: str
    law: str
    mean: float
    epsilon: float
    runs: int
    repetitions: int
    samples: int
    ms_per_run: float
    ns_per_sample: float


@dataclass(frozen=True)
class AuditRow:
    """One measurement of an audit: so many runs on each of two tables, event and test included."""

    target: str
    how: str
    runs: int
    seconds: float


def versions() -> dict[str, str]:
    """Return the versions of what the numbers depend on."""
    packages = ("numpy", "numba", "scipy")
    return {
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in packages},
    }


def processor() -> str:
    """Return the model name of the processor, as far as the system tells it, and its kind.

    Its kind, such as ``znver3``, says which instructions compiled code uses, and so the last bits
    of logarithms and powers; processors of several kinds can have one model name.
    """
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    kind = f"({platform.machine()}, {get_host_cpu_name()})"
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return f"{value.strip()} {kind}"
    return f"{platform.processor() or 'unknown'} {kind}"


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


def make_stopping_row(case, median, repetitions, samples):
    """Turn the median seconds of one repetition into a row; `samples` are those of all runs."""
    return StoppingRow(
        case.rule.label,
        case.how,
        case.law.name,
        round(case.law.mean, 6),
        getattr(case.rule, "epsilon", math.inf),
        case.runs,
        repetitions,
        round(samples / case.runs),
        rounded(median / case.runs * 1e3),
        rounded(median / samples * 1e9),
    )


def to_csv(rows):
    """Write rows of one kind as text."""
    names = [field.name for field in fields(rows[0])]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([asdict(row)[name] for name in names] for row in rows)
    return buffer.getvalue()


def write_stopping(folder, rows):
    """Write ``benchmarks-stopping.csv`` and ``benchmarks-stopping.json``."""
    manifest = {"command": COMMAND, "processor": processor(), "versions": versions()}
    plain = [asdict(row) | {"epsilon": str(row.epsilon)} for row in rows]  # JSON knows no inf
    folder = Path(folder)
    write_atomically(folder / "benchmarks-stopping.csv", to_csv(rows))
    text = json.dumps({"manifest": manifest, "rows": plain}, indent=1, ensure_ascii=False) + "\n"
    return write_atomically(folder / "benchmarks-stopping.json", text)


def write_audits(folder, rows):
    """Write ``benchmarks-audit.csv`` and ``benchmarks-audit.json``."""
    manifest = {"command": COMMAND, "processor": processor(), "versions": versions()}
    content = {"manifest": manifest, "rows": [asdict(row) for row in rows]}
    folder = Path(folder)
    write_atomically(folder / "benchmarks-audit.csv", to_csv(rows))
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    return write_atomically(folder / "benchmarks-audit.json", text)


def write(folder, rows, uniform_ns):
    """Write ``benchmarks.csv`` and ``benchmarks.json``."""
    packages = {name: metadata.version(name) for name in ("mabwiser", "pytest-benchmark")}
    content = {
        "manifest": {
            "command": COMMAND,
            "processor": processor(),
            "versions": {**versions(), **packages},
            "uniform_ns": rounded(uniform_ns),
        },
        "rows": [asdict(row) for row in rows],
    }
    folder = Path(folder)
    write_atomically(folder / "benchmarks.csv", to_csv(rows))
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    return write_atomically(folder / "benchmarks.json", text)
