"""Trials on a finite population: their decisions, and the cost of privacy in patients."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from companion.figures.panels import (
    Lines,
    Titles,
    chosen_panels,
    draw_panels,
    legend_below,
    marked,
    plain,
)
from companion.figures.redraw import redrawable
from companion.publishing import grouped
from companion.tables import records, tabulate
from dpbandits._validation import check_choice
from dpbandits.identification.replicates import Identifications, Trials
from dpbandits.plotting.style import FREE, INK, PanelRange, filled_width, look_of

LABELS = ("panel", "population", "n_arms", "total", "epsilon", "delta", "algorithm")

_X_LABELS = {"epsilon": "privacy budget ε", "total": "patients in the population"}
_Y_LABELS = {
    "right": "share of trials that find the best arm",
    "patients": "patients of a trial",
    "inferior": "patients that did not get the best arm",
    "excess": "failures that the best arm would have avoided",
}
_APART = 1.045  # factor between the markers of two algorithms


def trial_table(trials: Mapping[tuple[Any, ...], Trials]) -> pd.DataFrame:
    """Make a table of trials, a row per case; the first part of each key is the panel.

    Columns are ``panel``, ``population``, ``n_arms``, ``total`` (patients of all arms together),
    ``epsilon`` (``inf`` without privacy), ``delta``, ``algorithm`` and those of `Trials.summary`.
    """
    labelled = {}
    for (panel, *_), found in trials.items():
        algorithm, population = found.algorithm, found.population
        epsilon = float(getattr(algorithm, "epsilon", math.inf))
        labels = population.name, population.n_arms, population.total, epsilon, algorithm.delta
        labelled[panel, *labels, algorithm.label] = found
    return tabulate(labelled, names=LABELS)


@redrawable
def trial_figure(
    table: pd.DataFrame,
    *,
    over: str,
    titles: Titles,
    values: str = "right",
    panels: Sequence[str] | None = None,
) -> Figure:
    """Draw trials: a marker with its 95 % interval for each case.

    Markers of different algorithms are slightly apart. An algorithm without privacy has no place
    on an axis of ε, and is a horizontal band. The table is made by `trial_table`.

    Parameters
    ----------
    over : {"epsilon", "total"}
        The horizontal axis: the budget, or the number of patients in the population.
    values : {"right", "patients", "inferior", "excess"}
        The vertical axis: the share of the trials that find the best arm; or the mean number of
        patients, of patients without the best arm, or of failures that the best arm would have
        avoided.
    """
    check_choice("over", over, tuple(_X_LABELS))
    check_choice("values", values, tuple(_Y_LABELS))
    by = ("panel", "algorithm")
    chosen = chosen_panels(titles, panels)
    every = [line for panel in chosen for line in records(table, by, panel=panel)]
    names = list(dict.fromkeys(line.algorithm for line in every))

    def draw(axes: Axes, lines: Lines) -> PanelRange:
        return _trials(axes, lines, names, over, values)

    labels, log = (_X_LABELS[over], _Y_LABELS[values]), "x" if values == "right" else "xy"
    options: dict[str, Any] = {"by": by, "log": log, "foot": 0.62, "size": (4.4, 2.9)}
    figure = draw_panels(table, titles, panels, draw, labels, **options)
    found = [axes.get_legend_handles_labels() for axes in figure.axes]
    handles = {label: handle for pair in found for handle, label in zip(*pair, strict=True)}
    legend_below(figure, handles.values(), ncols=3, handlelength=2.6)
    return figure


def _trials(axes: Axes, lines: Lines, names: Sequence[str], over: str, values: str) -> PanelRange:
    """Draw one panel; return the range that it must show."""
    finite = [float(x) for line in lines for x in getattr(line, over) if math.isfinite(x)]
    least, most = min(finite), max(finite)
    is_share = values == "right"
    columns = (over, "right_rate" if is_share else values, f"{values}_low95", f"{values}_high95")
    shown: list[float] = []
    for line in lines:
        i = names.index(line.algorithm)
        look = look_of(line.algorithm.rstrip("*"), "", i)
        order = getattr(line, over).argsort(kind="stable")
        x, y, low, high = (getattr(line, name)[order] for name in columns)
        label = line.algorithm + ("" if math.isfinite(line.epsilon[0]) else FREE)
        if math.isinf(x[0]):
            ends = [least / 1.3, most * 1.3]
            axes.fill_between(ends, low[0], high[0], color=look.colour, alpha=0.15, linewidth=0)
            plain(axes, ends, [y[0], y[0]], look, label=label)
        else:
            x = x * _APART ** (i - (len(names) - 1) / 2)
            axes.vlines(x, low, high, color=look.colour, linewidth=1.6)
            style = {"linewidth": look.width * 0.7, "markersize": 5.0, "markeredgewidth": 1.3}
            marked(axes, x, y, look, label=label, **style)
        shown += [float(v) for v in (*y, *low, *high) if math.isfinite(v)]
    heights = (0.0, 1.0) if is_share else (max(min(shown), 1e-3), max(shown))
    return PanelRange((least / 1.3, most * 1.3), heights, ())


# ------------------------------------------------------------------------- the price of privacy


def cost_table(runs: Mapping[float, Identifications]) -> pd.DataFrame:
    """Make a table of an algorithm's patients, a row for each budget; ``inf`` means no privacy.

    Columns are ``panel``, ``instance``, ``n_arms``, ``epsilon``, ``delta``, ``algorithm``,
    ``variant`` and those of `Identifications.summary`.
    """
    labelled = {}
    for epsilon, found in runs.items():
        algorithm, arms = found.algorithm, found.instance
        name = arms.name, arms.n_arms
        labelled["a", *name, epsilon, algorithm.delta, algorithm.label, ""] = found
    names = ("panel", "instance", "n_arms", "epsilon", "delta", "algorithm", "variant")
    return tabulate(labelled, names=names)


class Price(NamedTuple):
    """Ratio of the mean patients with a budget and without privacy, ± half its 95 % interval."""

    patients: float
    free: float
    ratio: float
    half_width: float


def price_at(table: pd.DataFrame, epsilon: float) -> Price:
    """Compare the mean number of patients at a budget with that without privacy.

    The interval is normal, on the logarithm of the ratio, as both means have their own runs.

    Examples
    --------
    >>> rows = {"epsilon": [1.0, math.inf], "n_runs": 400, "mean_time": [150.0, 100.0]}
    >>> price_at(pd.DataFrame(rows | {"time_sd": [75.0, 50.0]}), 1.0).ratio
    1.5
    """
    found = {row.epsilon: row for row in table.itertuples(index=False)}
    at, free = (found[budget] for budget in (epsilon, math.inf))
    relative = math.hypot(*(r.time_sd / r.mean_time / math.sqrt(r.n_runs) for r in (at, free)))
    ratio = at.mean_time / free.mean_time
    return Price(at.mean_time, free.mean_time, ratio, 1.959964 * ratio * relative)


@redrawable
def cost_figure(table: pd.DataFrame, *, there: int) -> Figure:
    """Draw what privacy costs in patients: the mean number against ε, which falls to the right.

    Parameters
    ----------
    there : int
        Patients that the trial had: a dashed line.
    """
    width = filled_width(0.0) or 7.0
    narrow = width < 5
    private = table[table["epsilon"] < math.inf].sort_values("epsilon", ascending=False)
    budgets, means = private["epsilon"].to_numpy(), private["mean_time"].to_numpy()
    (free,) = table.loc[table["epsilon"] == math.inf, "mean_time"]
    look = look_of(private["algorithm"].iloc[0], "", 0)

    figure, axes = plt.subplots(figsize=(width, 3.4 if narrow else 3.2))
    axes.set(xscale="log", yscale="log")
    ends = float(budgets.max()) * 1.35, float(budgets.min()) / 1.35
    heights = min(free, *means) / 1.5, max(there, *means) * 1.3
    axes.set(xlim=ends, ylim=heights)
    axes.plot(ends, [free, free], color=INK, linewidth=1.6)
    axes.plot(ends, [there, there], color=INK, linewidth=1.0, linestyle=(0, (5, 3)))
    axes.plot(budgets, means, color=look.colour, marker="o", markersize=6, linewidth=2.2)

    style: dict[str, Any] = {"textcoords": "offset points", "color": INK, "fontsize": 11}
    left, under = (ends[0], free), (ends[0], there)
    axes.annotate("without privacy", left, (4, -5), va="top", **style)
    told = "there were" if narrow else "the patients there were"
    axes.annotate(f"{grouped(there)}: {told}", under, (4, 4), va="bottom", **style)
    last, most = float(budgets[-1]), float(means[-1])
    named = {"ha": "right", "va": "center"} | style | {"color": look.colour}
    axes.annotate("with ε-privacy", (last, most), (-10, 2), **named)
    if 1.0 in budgets:
        price = price_at(table, 1.0)
        words = f"{100 * (price.ratio - 1):+.0f} ± {100 * price.half_width:.0f}"
        axes.plot([1.0], [price.patients], marker="o", markersize=11, color=look.colour)
        bold = style | {"fontsize": 14, "fontweight": "bold", "color": look.colour}
        place = (1.0, price.patients), (2 if narrow else -16, 10)
        axes.annotate(
            f"{words}\N{NARROW NO-BREAK SPACE}%", *place, **bold, ha="right" if narrow else "center"
        )
    _name_ticks(axes, budgets, heights, narrow)
    axes.set_title(
        "mean patients until it stops" if narrow else "mean patients until the trial stops",
        fontsize=12,
    )
    bottom = 0.29 if narrow else 0.175
    figure.subplots_adjust(left=0.72 / width, right=1 - 0.12 / width, bottom=bottom, top=0.9)
    return figure


def _name_ticks(
    axes: Axes, budgets: Sequence[float], heights: tuple[float, float], narrow: bool
) -> None:
    """Write budgets and numbers of patients as such, with the odds below two of the budgets."""
    odds = {1.0: "ε = 1\nodds ×{:.1f} at most", 0.1: "0.1\n×{:.1f}"}
    if narrow:
        odds = {1.0: "ε = 1\nodds\n×{:.1f}\nat most", 0.1: "0.1\n\n×{:.1f}"}

    def budget(value: float, _: object = None) -> str:
        return odds.get(value, f"{value:g}").format(math.exp(value))

    steps = [factor * 10**power for power in range(1, 9) for factor in (1, 2, 5)]
    shown = [step for step in steps if heights[0] <= step <= heights[1]]
    axes.xaxis.set(major_locator=FixedLocator(list(budgets)), minor_locator=NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(budget))
    axes.yaxis.set(major_locator=FixedLocator(shown), minor_locator=NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: grouped(value)))
    axes.grid(visible=False, axis="x")
