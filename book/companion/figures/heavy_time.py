"""Regret over time with heavy-tailed rewards: the experiments after TWZW22, §6."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from companion.figures.lines import chosen_panels, lines_of
from companion.figures.redraw import redrawable
from companion.tables import curve
from dpbandits._validation import check_choice
from dpbandits.plotting.style import (
    COLOURS,
    DASHED,
    DOTTED,
    End,
    Look,
    PanelRange,
    finish_panels,
    make_panels,
    styled,
)
from dpbandits.simulation import Runs

__all__ = ["HEAVY_LOOKS", "heavy_curve", "heavy_regret_over_time"]

LABELS = ("panel", "setting", "order", "epsilon", "algorithm", "variant")

_WIDE, _THIN = 3.2, 1.4
_DECADES = {"global": 3.7, "local": 6.7}  # of time that a panel shows
_KEPT = {"global": 3.8, "local": 7.8}  # of time in a table: local horizons differ by a decade
_SHORT_DASHES, _LONG_DASHES = (0, (2.4, 1)), (0, (9, 2))

HEAVY_LOOKS: dict[tuple[str, str], tuple[Look, ...]] = {
    ("Robust-UCB", "fixed δ"): (Look(COLOURS["black"], (0, (6, 1.2, 1.2, 1.2)), width=_THIN),),
    ("DPRUCB", ""): (
        Look(COLOURS["vermilion"], DASHED, width=_WIDE),
        Look(COLOURS["orange"], DASHED, width=_THIN),
    ),
    ("DPRSE", "printed"): (
        Look(COLOURS["blue"], width=_WIDE),
        Look(COLOURS["sky"], width=_THIN),
    ),
    ("DPRSE", "tightened"): (
        Look(COLOURS["green"], _SHORT_DASHES, width=_WIDE),
        Look(COLOURS["purple"], _SHORT_DASHES, width=_THIN),
    ),
    ("LDPRSE", "minimax"): (
        Look(COLOURS["blue"], width=_WIDE),
        Look(COLOURS["orange"], DASHED, width=_WIDE),
    ),
    ("LDPRSE", "non-negative"): (
        Look(COLOURS["blue"], _LONG_DASHES, width=1.2),
        Look(COLOURS["orange"], _SHORT_DASHES, width=1.2),
    ),
}
"""(Algorithm, variant) → looks of its budgets, the least first."""

_NAMES = {
    ("Robust-UCB", "fixed δ"): "Robust-UCB",
    ("DPRUCB", ""): "DPRUCB",
    ("DPRSE", "printed"): "DPRSE",
    ("DPRSE", "tightened"): "DPRSE, tight",
    ("LDPRSE", "minimax"): "LDPRSE",
    ("LDPRSE", "non-negative"): "half the noise",
}
_MARKED = (("DPRSE", "printed"), ("LDPRSE", "minimax"))


def _start(horizon: float, algorithm: str, decades: Mapping[str, float] = _DECADES) -> float:
    """Return where curves over time begin, if the axis is logarithmic."""
    model = "local" if algorithm == "LDPRSE" else "global"
    return float(max(100.0, horizon / 10 ** decades[model]))


def heavy_curve(runs: Runs) -> dict[str, Any]:
    """Return the columns of a curve of `heavy_regret_over_time`.

    Parameters
    ----------
    runs : Runs
        Replicates of a case.

    Returns
    -------
    dict
        ``time``, ``mean``, ``deviation``, the standard deviation of the runs (0 for one run),
        ``bound``, the proved bound on the regret, and ``epoch``, 1 where the first run's epochs
        ended.
    """
    first = _start(runs.horizon, runs.algorithm.label, _KEPT)
    columns = curve(runs, first=round(first), epochs=True, bound=True)
    spread = runs.regret.std(axis=0, ddof=1) if runs.n_runs > 1 else np.zeros(runs.times.size)
    return {
        "time": columns["time"],
        "mean": columns["mean"],
        "deviation": np.interp(columns["time"], runs.times, spread),
        "bound": columns["bound"],
        "epoch": columns["epoch"],
    }


@redrawable
def heavy_regret_over_time(
    table: pd.DataFrame,
    *,
    titles: Mapping[str, str],
    panels: Sequence[str] | None = None,
    scale: str = "log",
    theory: bool = False,
    epochs: bool = True,
) -> Figure:
    """Draw regret over time; each row of panels has axes of its own.

    The bands reach a quarter of the standard deviation of the runs up and down, as in TWZW22.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns ``panel``, ``setting``, ``order``, ``epsilon``, ``algorithm``, ``variant`` and
        those of `heavy_curve`.
    titles : mapping of str to str
        Panel → its title.
    panels : sequence of str, optional
        Panels to draw; all if not given.
    scale : {"log", "linear"}
        Scale of both axes.
    theory : bool
        Whether the upper bounds are drawn, from the column ``bound``.
    epochs : bool
        Whether circles mark ends of epochs, from the column ``epoch``.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If a panel or the scale is unknown.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> from companion.tables import tabulate
    >>> S3 = dpb.instances.twzw22("S3", order=0.9)
    >>> cases = {("a", "S3", 0.9, e, "LDPRSE", "minimax"): (dpb.LDPRSE(e), S3) for e in (0.5, 1.0)}
    >>> runs = dpb.simulate_many(cases, horizon=10**12, n_runs=2)
    >>> table = tabulate(runs, heavy_curve, LABELS)
    >>> len(heavy_regret_over_time(table, titles={"a": "v = 0.9"}).axes)
    1
    """
    check_choice("scale", scale, ("log", "linear"))
    titles = chosen_panels(titles, panels)
    by_panel = lines_of(table, titles, LABELS)
    with styled():
        wider = {"left": 1.15} if scale == "linear" else {}
        figure, grid = make_panels(titles, width=4.3, height=3.35, **wider)
        axes = list(grid.values())
        pairs = list(zip(axes, by_panel, strict=True))
        ranges = [_over_time(a, lines, theory, epochs, scale) for a, lines in pairs]
        for a in axes:
            a.set(xscale=scale, yscale=scale)
        for row in range(0, len(axes), 2):
            finish_panels(
                figure,
                axes[row : row + 2],
                ranges[row : row + 2],
                x_label="number of pulls t",
                y_label="mean regret (units of reward)",
                log="xy" if scale == "log" else "",
            )
            if row + 2 < len(axes):
                for a in axes[row : row + 2]:
                    a.set_xlabel("")
            if scale == "linear":
                for a in axes[row : row + 2]:
                    a.xaxis.set_major_formatter(FuncFormatter(_scientific))
                    a.yaxis.set_major_formatter(FuncFormatter(_scientific))
                    a.set_xticks(np.array([0, 0.5, 1.0]) * max(r.x[1] for r in ranges[row:][:2]))
    return figure


def _scientific(value: float, _: object = None) -> str:
    """Write a number for a tick of a linear axis."""
    if value == 0:
        return "0"
    power = math.floor(math.log10(abs(value)) + 1e-9)
    return f"${value / 10**power:.3g}{{\\times}}10^{{{power}}}$"


def _over_time(
    axes: Axes, lines: Sequence[SimpleNamespace], theory: bool, epochs: bool, scale: str
) -> PanelRange:
    budgets = sorted({line.epsilon for line in lines if math.isfinite(line.epsilon)})
    horizon = max(line.time[-1] for line in lines)
    start = 0.0 if scale == "linear" else _start(horizon, lines[0].algorithm)
    ends, heights = [], []
    for line in lines:
        name = line.algorithm, line.variant
        rank = budgets.index(line.epsilon) if line.epsilon in budgets else 0
        look = HEAVY_LOOKS[name][min(rank, len(HEAVY_LOOKS[name]) - 1)]
        low, high = line.mean - line.deviation / 4, line.mean + line.deviation / 4
        axes.fill_between(line.time, low, high, color=look.colour, alpha=0.22, linewidth=0)
        axes.plot(
            line.time, line.mean, color=look.colour, linestyle=look.line, linewidth=look.width
        )
        heights += [line.mean[line.time >= start].min(), high[-1]]
        if theory:
            axes.plot(line.time, line.bound, color=look.colour, linestyle=DOTTED, linewidth=1.2)
            heights.append(line.bound[-1])
        if epochs and name in _MARKED:
            marked = (line.epoch == 1) & (line.time >= start)
            axes.plot(
                line.time[marked],
                line.mean[marked],
                linestyle="none",
                marker="o",
                markersize=4.5,
                markerfacecolor="white",
                markeredgecolor=look.colour,
                markeredgewidth=1.2,
            )
        text = _NAMES[name]
        if math.isfinite(line.epsilon):
            text += f", ε={line.epsilon:g}"
        ends.append(End(line.time[-1], line.mean[-1], text, look.colour))
    lowest = 0.0 if scale == "linear" else min(heights)
    return PanelRange((start, horizon), (lowest, max(heights)), tuple(ends))
