"""What the figures of stopping rules share: the looks of the rules, points, smoothed times."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike
from scipy import optimize

from dpbandits._validation import check_choice
from dpbandits.experiments import (
    Data,
    Experiment,
    Results,
    StoppingCell,
    StoppingSummary,
    rows_of,
)
from dpbandits.halting import boundary
from dpbandits.plotting.style import COLOURS, DASHED, Look
from dpbandits.stopping.base import NASFamily
from dpbandits.stopping.dp_exponential_nas import DPExponentialNAS

__all__ = ["RULE_LOOKS", "Groups", "Point", "band", "marked", "panels_of", "smooth_time"]

RULE_LOOKS = {
    "NAS": Look(COLOURS["black"], (0, (5, 1.3, 1, 1.3)), "D", 1.7),
    "DP-NAS": Look(COLOURS["vermilion"], DASHED, "s", 1.7),
    "DP-exp-NAS": Look(COLOURS["blue"], "-", "o", 1.7),
    "EBGStop": Look(COLOURS["green"], (0, (8, 1.5)), "^", 1.7),
}
"""Label of a stopping rule → its colour, line and marker, the same in every figure."""


@dataclass(frozen=True)
class Point:
    """A setting, ready to draw.

    Attributes
    ----------
    summary : StoppingSummary
        What its runs come to, as the table has it.
    cell : StoppingCell
        What was simulated.
    """

    summary: StoppingSummary
    cell: StoppingCell

    @property
    def samples(self) -> tuple[float, float, float]:
        """Mean number of samples, and ends of the band of 90 % of the runs."""
        s = self.summary
        return s.mean_samples, s.samples_q05, s.samples_q95


Groups = Mapping[tuple[str, str], Sequence[Point]]
"""Rule and variant → the points of a panel, in the order of the data."""


def panels_of(
    source: Results | Data | str, panels: Sequence[str] | None
) -> tuple[Experiment, dict[str, str], dict[str, Groups]]:
    """Return the experiment, and title and points of each panel that is wanted."""
    experiment, rows = rows_of(source)
    if experiment.table.kind != "stopping":
        raise ValueError(
            f"source={experiment.id!r} is on {experiment.table.kind}; allowed: an experiment on "
            "stopping; dpbandits.plotting.draw draws any"
        )
    for panel in panels or ():
        check_choice("panel", panel, tuple(experiment.panels))
    titles = {p: t for p, t in experiment.panels.items() if not panels or p in panels}
    found: dict[str, dict[tuple[str, str], list[Point]]] = {panel: {} for panel in titles}
    for row in rows:
        s = row.summary
        if s.panel in found:
            point = Point(s, row.setting.cell)
            found[s.panel].setdefault((s.rule, s.variant), []).append(point)
    by_panel: dict[str, Groups] = {**found}
    return experiment, titles, by_panel


def smooth_time(rule: NASFamily, mean: float) -> float:
    """Solve n·|μ| = n·h·(1 + 1/α) + c for a real n: `noiseless_time` without its rounding up.

    For a rule that looks at n = 2, 4, 8, … this takes away the steps: the number of the look is
    log2(n), whole or not.
    """
    halting, by_doubling = rule.halting, isinstance(rule, DPExponentialNAS)

    def missing(log_n: float) -> float:
        n = math.exp(log_n)
        look: Any = math.log2(n) if by_doubling else n
        return float(n * abs(mean) - boundary(halting, n, look))

    # the condition holds at the noiseless time, and never at the first look, where h > R
    ends = math.log(rule.look_time(1)), math.log(rule.noiseless_time(mean)) + 1e-9
    return math.exp(float(optimize.brentq(missing, *ends)))


def band(axes: Axes, x: ArrayLike, low: ArrayLike, high: ArrayLike, look: Look) -> None:
    """Shade what the central 90 % of the runs hold."""
    axes.fill_between(x, low, high, color=look.colour, alpha=0.22, linewidth=0)


def marked(axes: Axes, x: ArrayLike, y: ArrayLike, look: Look, **options: Any) -> None:
    """Draw a curve through measured points."""
    chosen = {"linestyle": look.line, "marker": look.marker, "markersize": 4.2, **options}
    axes.plot(
        np.asarray(x),
        np.asarray(y),
        color=look.colour,
        linewidth=look.width,
        markerfacecolor="white",
        markeredgewidth=1.2,
        **chosen,
    )
