"""The simulations that the explorer shows: curves of regret, and times of identification."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbandits.experiments.regret_cells import round_times
from dpbandits.experiments.store import Data

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

THINNED = 3  # of the checkpoints between round times, each third is kept


def curves_of(sources: Mapping[str, Data], names: set[str], n_arms: int) -> list[Content]:
    """Return the curves of an instance, a group for each horizon."""
    groups: dict[int, Content] = {}
    seen = set()
    for source, data in sources.items():
        runs = _runs(data)
        for curve in data.summaries:
            if curve.instance not in names or curve.n_arms != n_arms:
                continue
            group = groups.setdefault(
                curve.horizon,
                {"horizon": curve.horizon, "sources": [], "grids": [], "lines": []},
            )
            line = line_name(curve.algorithm, curve.variant)
            if (curve.horizon, line, curve.epsilon) in seen:
                continue
            seen.add((curve.horizon, line, curve.epsilon))
            if source not in group["sources"]:
                group["sources"].append(source)
            keep = _kept(curve.times, curve.horizon)
            times = curve.times[keep].tolist()
            if times not in group["grids"]:
                group["grids"].append(times)
            group["lines"].append(
                {
                    "name": line,
                    "epsilon": curve.epsilon if math.isfinite(curve.epsilon) else None,
                    "runs": runs[curve.labels],
                    "grid": group["grids"].index(times),
                    **{
                        key: [short(x, 4) for x in values[keep]]
                        for key, values in (
                            ("mean", curve.mean),
                            ("low", curve.low90),
                            ("high", curve.high90),
                        )
                    },
                }
            )
    return [groups[horizon] for horizon in sorted(groups)]


def times_of(sources: Mapping[str, Data], names: set[str], n_arms: int) -> list[Content]:
    """Return the times of identification of an instance, a group for each δ."""
    groups: dict[float, Content] = {}
    points: dict[tuple[float, str], dict[float, Any]] = {}
    for source, data in sources.items():
        for s in data.summaries:
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


def line_name(algorithm: str, variant: str) -> str:
    """Return what the page calls an algorithm in a variant."""
    return f"{algorithm}, {variant}" if variant and (algorithm, variant) not in MAIN else algorithm


def _runs(data: Data) -> dict[Any, int]:
    """Return how many runs each setting had, from the manifest where it has a cell for each."""
    cells = data.manifest["cells"]
    if len(cells) == len(data.summaries):
        counts = [int(cell["n_runs"]) for cell in cells]
    else:
        counts = [group.n_runs for group in data.replicates]
    return {s.labels: count for s, count in zip(data.summaries, counts, strict=True)}


def _kept(times: NDArray[np.int64], horizon: int) -> NDArray[np.bool_]:
    """Choose checkpoints: all of a few, else the round times and each third of the others."""
    keep = np.isin(times, round_times(horizon))
    if np.sum(~keep) <= 60:
        return np.ones(times.size, dtype=bool)
    keep[np.flatnonzero(~keep)[::THINNED]] = True
    return keep


def short(value: float, digits: int) -> float | int | None:
    """Round to significant digits; nan is None, and a whole number an integer."""
    if not math.isfinite(value):
        return None
    number = float(f"{value:.{digits}g}")
    return int(number) if number.is_integer() else number
