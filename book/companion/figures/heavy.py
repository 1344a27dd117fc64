"""Heavy-tailed rewards: regret over time (TWZW22, §6), lost arms, errors of means."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from companion.figures.panels import (
    PULLS,
    REGRET,
    Line,
    Lines,
    TimeCurve,
    Titles,
    band,
    chosen_panels,
    draw_panels,
    draw_times,
    first_shown,
    marked,
    plain,
)
from companion.figures.redraw import redrawable
from companion.slopes import Slope, fit_slope
from companion.tables import curve, records
from dpbandits._intervals import share_interval
from dpbandits._validation import check_choice
from dpbandits.heavy.estimates import MODELS, MeanErrors, error_lower_bound, error_rate
from dpbandits.plotting.style import (
    COLOURS,
    DASHED,
    DOTTED,
    GREY,
    INK,
    End,
    Look,
    PanelRange,
    finish_panels,
    make_panels,
)
from dpbandits.regret.simulation import Runs

Slopes = dict[tuple[str, str, str], tuple[Slope, float]]
"""(Panel, model, law) → slope, and what theory says that it is."""

_CHAIN, _LONG, _SHORT = (0, (6, 1.2, 1.2, 1.2)), (0, (9, 2)), (0, (2.4, 1))

# --------------------------------------------------------------------------- regret over time

TIME_LABELS = ("panel", "setting", "order", "epsilon", "algorithm", "variant")
_WIDE, _THIN = 3.2, 1.4
_SHOWN = {"central": 4.7, "local": 6.7}  # decades of time in a panel
_KEPT = {"central": 4.8, "local": 7.8}  # decades in a table: local horizons differ by a decade


HEAVY_LOOKS: dict[tuple[str, str], Look] = {
    ("Robust-UCB", "fixed δ"): Look(GREY, _CHAIN, width=1.4),
    ("DPRSE", "no noise"): Look(GREY, "-", width=1.4),
    ("DPRUCB", "fitted"): Look(COLOURS["vermilion"], DASHED, width=2.2),
    ("DPRUCB", "reconstructed"): Look(COLOURS["vermilion"], _SHORT, width=1.4),
    ("DPRSE", "fitted"): Look(COLOURS["blue"], "-", width=2.2),
    ("DPRSE", "reconstructed"): Look(COLOURS["blue"], DOTTED, width=1.8),
    ("LDPRSE", "balanced"): Look(GREY, DASHED, width=1.4),
    ("LDPRSE", "fitted"): Look(COLOURS["orange"], _LONG, width=1.4),
    ("LDPRSE", "non-negative"): Look(COLOURS["orange"], _SHORT, width=1.6),
    ("LDPRSE", "one-bit"): Look(COLOURS["orange"], "-", width=2.6),
}
"""Looks by algorithm and variant, one colour for an algorithm, grey for what stands back."""

_TIME_NAMES = {
    ("DPRSE", "no noise"): "DPRSE, ε = ∞",
    ("DPRSE", "reconstructed"): "DPRSE, 24 and 12",
    ("DPRUCB", "reconstructed"): "DPRUCB, C = 18",
    ("LDPRSE", "balanced"): "its theorem's cut",
    ("LDPRSE", "fitted"): "best cut",
    ("LDPRSE", "non-negative"): "half the noise",
    ("LDPRSE", "one-bit"): "one bit",
}
_CIRCLED = (("DPRSE", "fitted"), ("LDPRSE", "one-bit"))


def _decades(algorithm: str, decades: Mapping[str, float]) -> float:
    return decades["local" if algorithm == "LDPRSE" else "central"]


def heavy_curve(runs: Runs) -> dict[str, Any]:
    """Return the columns of a curve of `heavy_regret_over_time`.

    They include ``deviation``, the standard deviation of the runs (0 for one run), ``bound``, the
    proved bound on the regret, and ``epoch``, 1 where the first run's epochs ended.
    """
    first = first_shown(runs.horizon, _decades(runs.algorithm.label, _KEPT))
    columns = curve(runs, first=round(first), epochs=True, bound=True)
    spread = runs.regret.std(axis=0, ddof=1) if runs.n_runs > 1 else np.zeros(runs.times.size)
    columns["deviation"] = np.interp(columns["time"], runs.times, spread)
    return {name: columns[name] for name in ("time", "mean", "deviation", "bound", "epoch")}


@redrawable
def heavy_regret_over_time(
    table: pd.DataFrame,
    *,
    titles: Titles,
    panels: Sequence[str] | None = None,
    scale: str = "log",
    theory: bool = False,
    epochs: bool = True,
) -> Figure:
    """Draw regret over time; each row of panels has its own axes.

    The bands are the mean ± a quarter of the standard deviation of the runs, as in TWZW22;
    ``theory`` draws the upper bounds; circles mark ends of epochs. The table has columns ``panel``,
    ``setting``, ``order``, ``epsilon``, ``algorithm``, ``variant`` and those of `heavy_curve`. The
    scale, of both axes, is "log" or "linear".
    """
    check_choice("scale", scale, ("log", "linear"))
    titles, is_linear = chosen_panels(titles, panels), scale == "linear"

    def draw(axes: Axes, lines: Lines) -> PanelRange:
        horizon = max(line.time[-1] for line in lines)
        start = first_shown(horizon, _decades(lines[0].algorithm, _SHOWN))
        curves = _time_curves(lines, theory, epochs)
        return draw_times(axes, curves, 0.0 if is_linear else start, size=4.5, edge=1.2)

    wider = {"left": 1.15} if is_linear else {}
    figure, grid = make_panels(titles, width=4.3, height=3.35, **wider)
    ranges = [
        draw(axes, list(records(table, TIME_LABELS, panel=panel))) for panel, axes in grid.items()
    ]
    every, log = figure.axes, "" if is_linear else "xy"
    for place in range(0, len(every), 2):
        row, shown = every[place : place + 2], ranges[place : place + 2]
        finish_panels(figure, row, shown, x_label=PULLS, y_label=REGRET, log=log)
        for axes in row:
            if place + 2 < len(every):
                axes.set_xlabel("")
            if is_linear:
                axes.xaxis.set_major_formatter(FuncFormatter(_scientific))
                axes.yaxis.set_major_formatter(FuncFormatter(_scientific))
                axes.set_xticks(np.array([0, 0.5, 1.0]) * max(r.x[1] for r in shown))
    return figure


def _time_curves(lines: Lines, theory: bool, epochs: bool) -> Iterator[TimeCurve]:
    order = list(HEAVY_LOOKS)
    for line in sorted(lines, key=lambda line: order.index((line.algorithm, line.variant))):
        name = line.algorithm, line.variant
        text = _TIME_NAMES.get(name, line.algorithm)
        between = line.mean - line.deviation / 4, line.mean + line.deviation / 4
        bound = line.bound if theory else None
        yield TimeCurve(line, HEAVY_LOOKS[name], text, between, bound, epochs and name in _CIRCLED)


def _scientific(value: float, _: object = None) -> str:
    """Write a number for a tick of a linear axis."""
    if value == 0:
        return "0"
    power = math.floor(math.log10(abs(value)) + 1e-9)
    return f"${value / 10**power:.3g}{{\\times}}10^{{{power}}}$"


# ----------------------------------------------------------------------------- against the gap

_FITTED = ("panel", "order", "model", "law")
_OVER_GAP = "1/gap (per unit of reward)"
_GAP_MARKS = {"markersize": 4.5}

SCHEDULE_LOOKS = {
    "balanced": Look(COLOURS["blue"], "-", "o", 1.8),
    "remark-3": Look(COLOURS["vermilion"], DASHED, "s", 1.8),
}
_SCHEDULE_NAMES = {"balanced": "balanced", "remark-3": "as Remark 3"}


def lost_best_arm(runs: Runs) -> NDArray[np.bool_]:
    """Return for each run with two arms whether the better one was dropped, so was pulled less.

    While both are viable, their pulls differ by one at most.
    """
    best = runs.instance.best_arm
    lost: NDArray[np.bool_] = runs.pulls[:, best] < runs.pulls[:, 1 - best] - 1
    return lost


def schedule_outcome(runs: Runs) -> dict[str, float]:
    """Return the columns of a point of `schedules_over_gap`.

    These are ``lost``, the share of the runs that lose the better arm, and its Clopper–Pearson
    interval.
    """
    share, low, high = share_interval(int(lost_best_arm(runs).sum()), runs.n_runs)
    return {"lost": share, "lost_low95": low, "lost_high95": high}


@redrawable
def schedules_over_gap(
    table: pd.DataFrame, *, titles: Titles, panels: Sequence[str] | None = None
) -> Figure:
    """Draw the share of the runs that lose the better arm against 1/Δ.

    The table has columns ``panel``, ``schedule``, ``gap``, falling, and those of
    `schedule_outcome`.
    """

    def draw(axes: Axes, lines: list[Line]) -> PanelRange:
        ends, x = [], np.array([])
        for line in lines:
            look = SCHEDULE_LOOKS[line.schedule]
            x, y = 1 / line.gap, line.lost
            sure = [y - line.lost_low95, line.lost_high95 - y]
            axes.errorbar(x, y, sure, color=look.colour, linestyle="none", linewidth=1.2)
            marked(axes, x, y, look, **_GAP_MARKS)
            ends.append(End(x[-1], y[-1], _SCHEDULE_NAMES[line.schedule], look.colour))
        axes.plot(x[[0, -1]], [0.5, 0.5], color=INK, linestyle=DOTTED, linewidth=1.0)
        ends.append(End(x[-1], 0.5, "a coin", INK))
        return PanelRange((x[0] / 1.1, x[-1]), (0.0, 1.0), tuple(ends))

    labels = _OVER_GAP, "share of runs"
    by = ("panel", "schedule")
    return draw_panels(table, titles, panels, draw, labels, by=by, log="x", size=(5.4, 3.0))


# --------------------------------------------------------------- errors of private means

HARD, EASY = "two points", "Pareto"
ERROR_LOOKS = {
    ("none", HARD): Look(COLOURS["black"], "-", "v", 1.9),
    ("none", EASY): Look(COLOURS["black"], _LONG, "", 1.1),
    ("central", HARD): Look(COLOURS["blue"], _CHAIN, "o", 1.9),
    ("central", EASY): Look(COLOURS["blue"], _SHORT, "", 1.1),
    ("local", HARD): Look(COLOURS["vermilion"], DASHED, "s", 1.9),
    ("local", EASY): Look(COLOURS["vermilion"], (0, (5, 2.5)), "", 1.1),
}
"""(Model, law) → look."""
_MODEL_NAMES = {"none": "no privacy", "central": "central", "local": "local"}
_LEGEND = (
    "markers: a hard two-point law for each n and model;  dotted: lower bound on it and 0;  "
    "thin: one Pareto law"
)


def error_columns(errors: MeanErrors) -> dict[str, float]:
    """Return the columns of a point of `errors_over_rewards`.

    Errors are in units of u^(1/(1+v)), so that distributions with different moments can be
    compared: ``rms``, the root of the mean square, with its interval, and ``lower_bound``, below
    which no estimator of the model can be both on `hard_law` and on the constant 0.
    """
    estimator, found = errors.estimator, errors.summary()
    unit = estimator.moment ** (1 / (1 + estimator.order))
    bound = error_lower_bound(estimator.model, errors.n_rewards, estimator.epsilon, estimator.order)
    return {
        "rms": found["rms"] / unit,
        "low95": found["rms_low95"] / unit,
        "high95": found["rms_high95"] / unit,
        "lower_bound": bound,
    }


def error_slopes(table: pd.DataFrame) -> Slopes:
    """Fit log error to log n, for the table of `errors_over_rewards`."""
    return {
        (line.panel, line.model, line.law): (
            fit_slope(line.n_rewards, line.rms),
            error_rate(line.model, line.order),
        )
        for line in records(table, _FITTED)
    }


@redrawable
def errors_over_rewards(
    table: pd.DataFrame, *, titles: Titles, panels: Sequence[str] | None = None, theory: bool = True
) -> Figure:
    """Draw the root-mean-square error against n, in units of u^(1/(1+v)), with fitted slopes.

    Curves with markers are for the hardest two-point distribution for each n and model; thin curves
    without markers for a fixed Pareto distribution. Bands are their 95 % confidence intervals. The
    dotted line of ``theory`` is a lower bound for every estimator of the model. The table has
    columns ``panel``, ``order``, ``model``, ``law``, "two points" or "Pareto", ``n_rewards``,
    increasing, and those of `error_columns`.
    """
    slopes = error_slopes(table)

    def draw(axes: Axes, lines: Lines) -> PanelRange:
        by_name = {(line.model, line.law): line for line in lines}
        ends, heights = [], []
        for law, model in ((law, model) for law in (EASY, HARD) for model in MODELS):
            line, look = by_name[model, law], ERROR_LOOKS[model, law]
            n, y = line.n_rewards, line.rms
            band(axes, n, line.low95, line.high95, look)
            marked(axes, n, y, look)
            heights += [y.min(), y.max()]
            name = _MODEL_NAMES[model] + (f", {EASY}" if law == EASY else "")
            slope = slopes[line.panel, model, law][0]
            ends.append(End(n[-1], y[-1], f"{name}: {slope}", look.colour))
            if theory and law == HARD:
                plain(axes, n, line.lower_bound, look, linestyle=DOTTED, linewidth=1.4)
                heights += [line.lower_bound.min(), line.lower_bound.max()]
        return PanelRange((n[0] / 1.2, n[-1]), (min(heights), max(heights)), tuple(ends))

    labels = "number of rewards n", "root-mean-square error / $u^{1/(1+v)}$"
    foot, size = 0.3 * theory, (5.1, 4.2)
    figure = draw_panels(table, titles, panels, draw, labels, by=_FITTED, foot=foot, size=size)
    if theory:
        figure.text(0.5, 0.02, _LEGEND, ha="center", fontsize=10.5, color=INK)
    return figure
