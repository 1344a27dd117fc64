"""The simulations that the explorer shows: curves of regret, and times of identification."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from companion.publishing import Published
from companion.tables import records

__all__ = ["curves_of", "line_name", "short", "times_of"]

Content = dict[str, Any]

MAIN = {
    ("DP-UCB", "tree-tight"),
    ("DP-UCB", "tree-tight, calibrated"),
    ("Private-UCB", "calibrated"),
    ("DP-UCB-HYBRID", "half"),
    ("DP-UCB-BOUND", "repaired"),
}
"""Variants that the algorithm's name alone stands for."""

CURVE = ("panel", "instance", "n_arms", "epsilon", "algorithm", "variant")


def curves_of(sources: Mapping[str, Published], names: set[str], n_arms: int) -> list[Content]:
    """Return the curves of an instance, a group for each horizon."""
    groups: dict[int, Content] = {}
    seen = set()
    for source, figure in sources.items():
        table = figure.table
        table = table[table["instance"].isin(names) & (table["n_arms"] == n_arms)]
        if "epoch" in table:
            table = table[table["epoch"] == 0]  # without the ends of one run's epochs
        for curve in records(table, CURVE):
            horizon = int(curve.time[-1])
            group = groups.setdefault(
                horizon, {"horizon": horizon, "sources": [], "grids": [], "lines": []}
            )
            line = line_name(curve.algorithm, curve.variant)
            if (horizon, line, curve.epsilon) in seen:
                continue
            seen.add((horizon, line, curve.epsilon))
            if source not in group["sources"]:
                group["sources"].append(source)
            times = curve.time.tolist()
            if times not in group["grids"]:
                group["grids"].append(times)
            group["lines"].append(
                {
                    "name": line,
                    "epsilon": curve.epsilon if math.isfinite(curve.epsilon) else None,
                    "runs": _runs(curve, figure),
                    "grid": group["grids"].index(times),
                    **{
                        key: [short(x, 4) for x in getattr(curve, key)]
                        for key in ("mean", "low", "high")
                    },
                }
            )
    return [groups[horizon] for horizon in sorted(groups)]


def times_of(sources: Mapping[str, Published], names: set[str], n_arms: int) -> list[Content]:
    """Return the times of identification of an instance, a group for each δ."""
    groups: dict[float, Content] = {}
    points: dict[tuple[float, str], dict[float, Any]] = {}
    for source, figure in sources.items():
        for s in figure.table.itertuples():
            if s.instance not in names or s.n_arms != n_arms:
                continue
            group = groups.setdefault(s.delta, {"delta": s.delta, "sources": [], "lines": []})
            known = points.setdefault((s.delta, line_name(s.algorithm, s.variant)), {})
            if s.epsilon in known:
                continue
            known[s.epsilon] = s
            if source not in group["sources"]:
                group["sources"].append(source)
    for (delta, name), known in points.items():
        line: Content = {"name": name, "epsilon": []}
        columns = {"runs": "n_runs", "mean": "mean_time", "low": "time_q05", "high": "time_q95"}
        line |= {key: [] for key in (*columns, "error")}
        for epsilon in sorted(known):
            line["epsilon"].append(epsilon if math.isfinite(epsilon) else None)
            for key, column in columns.items():
                line[key].append(short(getattr(known[epsilon], column), 4))
            line["error"].append(short(known[epsilon].error_rate, 4))
        groups[delta]["lines"].append(line)
    return [groups[delta] for delta in sorted(groups, reverse=True)]


def _runs(curve: SimpleNamespace, figure: Published) -> int:
    """Return the number of runs of a curve.

    It is in the figure's table; or else all cases of the figure have as many.
    """
    if hasattr(curve, "n_runs"):
        return int(curve.n_runs[0])
    return int(figure.manifest["runs"]) // int(figure.manifest["cases"])


def line_name(algorithm: str, variant: str) -> str:
    """Return what the page calls an algorithm in a variant."""
    return f"{algorithm}, {variant}" if variant and (algorithm, variant) not in MAIN else algorithm


def short(value: float, digits: int) -> float | int | None:
    """Round to significant digits; nan is None, and a whole number an integer."""
    if not math.isfinite(value):
        return None
    number = float(f"{value:.{digits}g}")
    return int(number) if number.is_integer() else number
