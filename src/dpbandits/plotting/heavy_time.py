"""Regret over time with heavy-tailed rewards: the experiments after TWZW22, §6."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray
from scipy import stats

from dpbandits.plotting.regret_lines import Line
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

__all__ = ["HEAVY_LOOKS", "deviation", "heavy_time_figure"]

_WIDE, _THIN = 3.2, 1.4
_DECADES = {"global": 3.7, "local": 6.7}  # of time that a panel shows
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


def heavy_time_figure(
    titles: Mapping[str, str],
    by_panel: Sequence[Sequence[Line]],
    theory: bool = False,
    epochs: bool = True,
    scale: str = "log",
) -> Figure:
    """Draw regret over time; each row of panels has axes of its own.

    The bands reach a quarter of the standard deviation of the runs up and down, as in TWZW22;
    see `regret_figure` for the options.
    """
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


def deviation(line: Line) -> NDArray[np.float64]:
    """Return the standard deviation of the runs at each time, from the interval of the mean."""
    curve, n_runs = line.curve, line.runs.n_runs
    if n_runs < 2:
        return np.zeros(curve.mean.size)
    half = (curve.mean_high95 - curve.mean_low95) / 2
    spread: NDArray[np.float64] = half * math.sqrt(n_runs) / stats.t.ppf(0.975, n_runs - 1)
    return spread


def _over_time(
    axes: Axes, lines: Sequence[Line], theory: bool, epochs: bool, scale: str
) -> PanelRange:
    budgets = sorted({line.curve.epsilon for line in lines if math.isfinite(line.curve.epsilon)})
    horizon = max(line.curve.horizon for line in lines)
    model = "local" if lines[0].curve.algorithm == "LDPRSE" else "global"
    start = 0.0 if scale == "linear" else max(100.0, horizon / 10 ** _DECADES[model])
    ends, heights = [], []
    for line in lines:
        curve = line.curve
        rank = budgets.index(curve.epsilon) if curve.epsilon in budgets else 0
        look = HEAVY_LOOKS[line.name][min(rank, len(HEAVY_LOOKS[line.name]) - 1)]
        quarter = deviation(line) / 4
        low, high = curve.mean - quarter, curve.mean + quarter
        axes.fill_between(curve.times, low, high, color=look.colour, alpha=0.22, linewidth=0)
        axes.plot(
            curve.times, curve.mean, color=look.colour, linestyle=look.line, linewidth=look.width
        )
        shown = curve.times >= start
        heights += [curve.mean[shown].min(), high[-1]]
        if theory:
            algorithm, instance = line.cell.algorithm, line.cell.instance
            bound = algorithm.regret_bound(instance, curve.horizon, times=curve.times)
            bound = np.asarray(bound)
            axes.plot(curve.times, bound, color=look.colour, linestyle=DOTTED, linewidth=1.2)
            heights.append(bound[-1])
        if epochs and line.name in _MARKED:
            stops = line.runs.epoch_ends[0]
            stops = stops[(stops >= start) & (stops <= curve.horizon)]
            axes.plot(
                stops,
                np.interp(stops, curve.times, curve.mean),
                linestyle="none",
                marker="o",
                markersize=4.5,
                markerfacecolor="white",
                markeredgecolor=look.colour,
                markeredgewidth=1.2,
            )
        text = _NAMES[line.name]
        if math.isfinite(curve.epsilon):
            text += f", ε={curve.epsilon:g}"
        ends.append(End(curve.times[-1], curve.mean[-1], text, look.colour))
    lowest = 0.0 if scale == "linear" else min(heights)
    return PanelRange((start, horizon), (lowest, max(heights)), tuple(ends))
