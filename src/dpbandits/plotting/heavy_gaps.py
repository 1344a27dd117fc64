"""Figures of heavy-tailed rewards against the gap: pulls until an arm is gone, and schedules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy import stats

from dpbandits.experiments.slopes import Slope, fit_slope
from dpbandits.heavy_instances import HeavyTailInstance
from dpbandits.plotting.regret_lines import Line
from dpbandits.plotting.style import (
    COLOURS,
    DASHED,
    DOTTED,
    INK,
    End,
    Look,
    PanelRange,
    columns_of,
    finish_panels,
    make_panels,
    styled,
)

__all__ = [
    "GAP_LOOKS",
    "SCHEDULE_LOOKS",
    "gap_slopes",
    "heavy_gaps_figure",
    "heavy_schedule_figure",
    "lost_best_arm",
]

GAP_LOOKS = {
    "local, two points": Look(COLOURS["vermilion"], DASHED, "s", 1.8),
    "local, Pareto": Look(COLOURS["orange"], (0, (2.4, 1)), "D", 1.2),
    "central, two points": Look(COLOURS["blue"], "-", "o", 1.8),
    "central, Pareto": Look(COLOURS["sky"], (0, (6, 1.2, 1.2, 1.2)), "^", 1.2),
    "no noise, two points": Look(COLOURS["black"], (0, (9, 2)), "v", 1.2),
}
"""Name of a curve of pulls against the gap → its look."""

SCHEDULE_LOOKS = {
    "minimax": Look(COLOURS["blue"], "-", "o", 1.8),
    "published-remark": Look(COLOURS["vermilion"], DASHED, "s", 1.8),
}
_SCHEDULE_NAMES = {"minimax": "minimax", "published-remark": "as Remark 3"}


def _gap(line: Line) -> float:
    return float(line.cell.instance.gaps.max())


def _sorted(lines: Sequence[Line]) -> list[Line]:
    return sorted(lines, key=_gap, reverse=True)


def _name(line: Line) -> str:
    curve = line.curve
    model = "local" if curve.algorithm == "LDPRSE" else "central"
    if np.isinf(curve.epsilon):
        model = "no noise"
    return f"{model}, {curve.variant}"


def _worse_pulls(line: Line) -> NDArray[np.float64]:
    worse = int(np.argmax(line.cell.instance.gaps))
    return line.runs.pulls[:, worse].astype(np.float64)


def lost_best_arm(line: Line) -> NDArray[np.bool_]:
    """Tell of each run, with two arms, whether the better one was dropped: it was pulled less.

    While both are viable their pulls differ by one at most.
    """
    best = line.cell.instance.best_arm
    pulls = line.runs.pulls
    lost: NDArray[np.bool_] = pulls[:, best] < pulls[:, 1 - best] - 1
    return lost


def gap_slopes(lines: Sequence[Line]) -> dict[str, tuple[Slope, float]]:
    """Fit log pulls of the worse arm to log Δ: curve → (slope, what theory says).

    Theory is −(1+v)/v, and in the local model twice that.

    Parameters
    ----------
    lines : sequence of Line
        Those of one panel of ``ours-heavy-gaps``.

    Returns
    -------
    dict of str to (Slope, float)
    """
    found = {}
    for name in GAP_LOOKS:
        chosen = _sorted([line for line in lines if _name(line) == name])
        instance = chosen[0].cell.instance
        if not isinstance(instance, HeavyTailInstance):
            raise ValueError(f"lines={lines!r} are of other arms; allowed: ours-heavy-gaps")
        slope = fit_slope(
            [_gap(line) for line in chosen], [_worse_pulls(line).mean() for line in chosen]
        )
        price = 2 if name.startswith("local") else 1
        found[name] = slope, -price * (1 + instance.order) / instance.order
    return found


def heavy_gaps_figure(titles: Mapping[str, str], by_panel: Sequence[Sequence[Line]]) -> Figure:
    """Draw the pulls of the worse arm against 1/Δ, with lines of the slopes that theory has."""
    with styled():
        figure, grid = make_panels(titles, width=4.9, height=4.0)
        axes = list(grid.values())
        ranges = [_gaps_panel(a, lines) for a, lines in zip(axes, by_panel, strict=True)]
        for a in axes:
            a.set(xscale="log", yscale="log")
        finish_panels(
            figure,
            axes,
            ranges,
            x_label="1/gap (per unit of reward)",
            y_label="pulls of the worse arm until it is dropped",
        )
    return figure


def _gaps_panel(axes: Axes, lines: Sequence[Line]) -> PanelRange:
    ends, heights, places = [], [], []
    for name, (slope, theory) in gap_slopes(lines).items():
        look = GAP_LOOKS[name]
        chosen = _sorted([line for line in lines if _name(line) == name])
        x = np.array([1 / _gap(line) for line in chosen])
        pulls = [_worse_pulls(line) for line in chosen]
        y = np.array([each.mean() for each in pulls])
        low, high = np.array([np.quantile(each, [0.05, 0.95]) for each in pulls]).T
        axes.fill_between(x, low, high, color=look.colour, alpha=0.22, linewidth=0)
        axes.plot(x, y[-1] * (x / x[-1]) ** -theory, color=INK, linestyle=DOTTED, linewidth=1.0)
        _marked(axes, x, y, look)
        text = f"{name}: {slope.slope:.2f} ± {slope.error:.2f}"
        ends.append(End(x[-1], y[-1], text.replace("-", "\N{MINUS SIGN}"), look.colour))
        heights += [y.min(), y.max()]
        places += [x[0], x[-1]]
    return PanelRange((min(places) / 1.1, max(places)), (min(heights), max(heights)), tuple(ends))


def heavy_schedule_figure(titles: Mapping[str, str], by_panel: Sequence[Sequence[Line]]) -> Figure:
    """Draw, above, the share of the runs that lose the better arm, and below the mean regret."""
    columns = len(titles)
    keys = {**titles, **{f"{panel} below": "" for panel in titles}}
    with styled():
        figure, grid = make_panels(keys, width=4.3, height=2.9)
        axes = list(grid.values())
        upper, lower = axes[:columns], axes[columns:]
        for a, (panel, title) in zip(upper, titles.items(), strict=True):
            a.set_title(f"({panel})  {title}" if columns > 1 else title)
        for a in lower:
            a.set_title("")
        shares = [_shares(a, lines) for a, lines in zip(upper, by_panel, strict=True)]
        regrets = [_regrets(a, lines) for a, lines in zip(lower, by_panel, strict=True)]
        for a in upper:
            a.set(xscale="log")
        for a in lower:
            a.set(xscale="log", yscale="log")
        for row, ranges, log in ((upper, shares, "x"), (lower, regrets, "xy")):
            finish_panels(
                figure, row, ranges, x_label="1/gap (per unit of reward)", y_label="", log=log
            )
        for a in upper:
            a.set_xlabel("")
            a.set_ylim(-0.04, 1.04)
        in_a_row = columns_of(axes[0])
        unit = " (units of reward)" if in_a_row == columns else "\n(units of reward)"
        for place in range(0, columns, in_a_row):
            upper[place].set_ylabel("share of runs that\nlose the better arm")
            lower[place].set_ylabel(f"mean regret{unit}")
    return figure


def _shares(axes: Axes, lines: Sequence[Line]) -> PanelRange:
    ends = []
    x = np.array([])
    for schedule, look in SCHEDULE_LOOKS.items():
        chosen = _sorted([line for line in lines if line.curve.variant == schedule])
        x = np.array([1 / _gap(line) for line in chosen])
        tests = [stats.binomtest(int(lost.sum()), lost.size) for lost in map(lost_best_arm, chosen)]
        y = np.array([test.statistic for test in tests])
        sure = [test.proportion_ci(0.95, "exact") for test in tests]
        low, high = np.array([(one.low, one.high) for one in sure]).T
        axes.errorbar(x, y, [y - low, high - y], color=look.colour, linestyle="none", linewidth=1.2)
        _marked(axes, x, y, look)
        ends.append(End(x[-1], y[-1], _SCHEDULE_NAMES[schedule], look.colour))
    axes.plot([x[0], x[-1]], [0.5, 0.5], color=INK, linestyle=DOTTED, linewidth=1.0)
    ends.append(End(x[-1], 0.5, "a coin", INK))
    return PanelRange((x[0] / 1.1, x[-1]), (0.0, 1.0), tuple(ends))


def _regrets(axes: Axes, lines: Sequence[Line]) -> PanelRange:
    ends, heights = [], []
    for schedule, look in SCHEDULE_LOOKS.items():
        chosen = _sorted([line for line in lines if line.curve.variant == schedule])
        x = np.array([1 / _gap(line) for line in chosen])
        y = np.array([line.final()[0] for line in chosen])
        _marked(axes, x, y, look)
        ends.append(End(x[-1], y[-1], _SCHEDULE_NAMES[schedule], look.colour))
        heights += [*y]
    even = np.array([line.curve.horizon * _gap(line) / 2 for line in chosen])
    axes.plot(x, even, color=INK, linestyle=DOTTED, linewidth=1.0)
    ends.append(End(x[-1], even[-1], "both arms evenly", INK))
    heights += [*even]
    return PanelRange((x[0] / 1.1, x[-1]), (min(heights), max(heights)), tuple(ends))


def _marked(axes: Axes, x: NDArray[np.float64], y: NDArray[np.float64], look: Look) -> None:
    axes.plot(
        x,
        y,
        color=look.colour,
        linestyle=look.line,
        linewidth=look.width,
        marker=look.marker,
        markersize=4.5,
        markerfacecolor="white",
        markeredgewidth=1.2,
    )
