"""Regret over time, over ε, over the horizon, over the number of arms; ratios of regrets."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter
from numpy.typing import ArrayLike

from companion.figures.lines import band, chosen_panels, first_shown, lines_of
from companion.figures.redraw import redrawable
from dpbandits._validation import check_choice
from dpbandits.plotting.style import (
    COLOURS,
    DASHED,
    DOTTED,
    INK,
    End,
    Look,
    PanelRange,
    finish_panels,
    make_panels,
    styled,
)

__all__ = [
    "ratios_to_baselines",
    "regret_over_arms",
    "regret_over_epsilon",
    "regret_over_horizon",
    "regret_over_time",
]

Lines = Sequence[SimpleNamespace]
Titles = Mapping[str, str]

REGRET = "mean regret (units of reward)"

_WIDE, _THIN = 3.2, 1.5  # so that a curve under another stays visible
_BY_BUDGET = {
    "DP-SE": (Look(COLOURS["blue"], width=_WIDE), Look(COLOURS["sky"], width=_THIN)),
    "DP-UCB": (
        Look(COLOURS["vermilion"], DASHED, width=_WIDE),
        Look(COLOURS["orange"], DASHED, width=_THIN),
    ),
}
_SPLIT = (Look(COLOURS["green"], DASHED, "s"), Look(COLOURS["purple"], DASHED, "s"))
_BASELINES = {
    "tree-tight": ("tree-tight", Look(COLOURS["vermilion"])),
    "mishra-thakurta-parallel": ("M–T, ε per arm", Look(COLOURS["purple"], marker="s")),
    "mishra-thakurta": ("M–T, ε/K per arm", Look(COLOURS["green"], marker="^")),
}
_RATES = {
    "Lai–Robbins": Look("0.6", width=_THIN),
    "private rate": Look(INK, DASHED, width=_THIN),
}
_GUESSES = {
    "double": ("T ← 2T", Look(COLOURS["green"], DASHED)),
    "square": ("T ← T²", Look(COLOURS["purple"])),
}


@redrawable
def regret_over_time(
    table: pd.DataFrame,
    *,
    titles: Titles,
    panels: Sequence[str] | None = None,
    scale: str = "log",
    theory: bool = False,
    epochs: bool = True,
) -> Figure:
    """Draw curves over time: mean, a band with the central 90 % of the runs, ends of epochs.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns ``panel``, ``instance``, ``n_arms``, ``epsilon``, ``algorithm``, ``variant`` and
        those of `companion.tables.curve`. Lines whose algorithm is "Lai–Robbins" or "private rate"
        are lower bounds: they need ``time`` and ``mean`` alone, and have no band.
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
    >>> from companion.tables import curve, tabulate
    >>> C1 = dpb.instances.ss19("C1")
    >>> cases = {("a", "C1", 5, 0.5, a.label, ""): (a, C1) for a in (dpb.DPSE(0.5), dpb.DPUCB(0.5))}
    >>> runs = dpb.simulate_many(cases, horizon=10**4, n_runs=2)
    >>> names = ("panel", "instance", "n_arms", "epsilon", "algorithm", "variant")
    >>> figure = regret_over_time(tabulate(runs, curve, names), titles={"a": "C1"}, epochs=False)
    >>> len(figure.axes)
    1
    """
    check_choice("scale", scale, ("log", "linear"))
    log = "xy" if scale == "log" else ""

    def draw(axes: Axes, lines: Lines) -> PanelRange:
        return _over_time(axes, lines, theory, epochs, scale)

    return _panels(table, chosen_panels(titles, panels), draw, "number of pulls t", log=log)


@redrawable
def regret_over_epsilon(
    table: pd.DataFrame, *, titles: Titles, panels: Sequence[str] | None = None
) -> Figure:
    """Draw the regret at the horizon over ε: DP-SE and DP-UCB, beside SE and UCB at ε = ∞.

    The table has a row per case: the labels of `regret_over_time` and the columns of `Runs.final`.
    """
    titles = chosen_panels(titles, panels)
    return _panels(table, titles, _over_epsilon, "privacy budget ε")


@redrawable
def regret_over_horizon(
    table: pd.DataFrame, *, titles: Titles, panels: Sequence[str] | None = None
) -> Figure:
    """Draw the regret over the horizon: told it, and guessing it by doubling or squaring.

    The variant "told T" has a row per horizon, in the column ``time``; the variants "double" and
    "square" have curves over time.
    """
    titles = chosen_panels(titles, panels)
    return _panels(table, titles, _over_horizon, "horizon T (pulls)")


@redrawable
def regret_over_arms(
    table: pd.DataFrame, *, titles: Titles, panels: Sequence[str] | None = None
) -> Figure:
    """Draw the regret at the horizon over the number of arms: whole budget, and split budget."""
    titles = chosen_panels(titles, panels)
    return _panels(table, titles, _over_arms, "number of arms K", arms=True)


@redrawable
def ratios_to_baselines(
    table: pd.DataFrame, *, titles: Titles, panels: Sequence[str] | None = None
) -> Figure:
    """Draw the regret of the variants of DP-UCB over that of DP-SE, for each K and ε."""
    titles = chosen_panels(titles, panels)
    y_label = "regret of DP-UCB / of DP-SE"
    return _panels(table, titles, _ratios, "number of arms K", y_label, log="y", arms=True)


def _panels(
    table: pd.DataFrame,
    titles: Titles,
    draw: Callable[[Axes, Lines], PanelRange],
    x_label: str,
    y_label: str = REGRET,
    log: str = "xy",
    arms: bool = False,
) -> Figure:
    by_panel = lines_of(table, titles)
    with styled():
        figure, grid = make_panels(titles)
        axes = list(grid.values())
        ranges = [draw(a, lines) for a, lines in zip(axes, by_panel, strict=True)]
        for a in axes:
            a.set(xscale="log" if "x" in log else "linear", yscale="log" if log else "linear")
        finish_panels(figure, axes, ranges, x_label=x_label, y_label=y_label, log=log)
        if arms:
            _tick_arms(axes, by_panel[0], log)
        elif not log:
            _tick_linear(axes, ranges)
    return figure


def _ranks(lines: Lines) -> dict[float, int]:
    """Return the rank of each budget in a panel, the least first."""
    return {e: i for i, e in enumerate(sorted({line.epsilon for line in lines}))}


def _over_time(axes: Axes, lines: Lines, theory: bool, epochs: bool, scale: str) -> PanelRange:
    rates = [line for line in lines if line.algorithm in _RATES]
    lines = [line for line in lines if line.algorithm not in _RATES]
    ranks = _ranks(lines)
    horizon = max(line.time[-1] for line in lines)
    start = 0.0 if scale == "linear" else first_shown(horizon)
    ends, heights = [], []
    for line in lines:
        look = _BY_BUDGET[line.algorithm][min(ranks[line.epsilon], 1)]
        band(axes, line.time, line.low, line.high, look)
        axes.plot(
            line.time, line.mean, color=look.colour, linestyle=look.line, linewidth=look.width
        )
        shown = line.time >= start
        heights += [line.mean[shown].min(), line.high[-1]]
        if theory:
            axes.plot(line.time, line.bound, color=look.colour, linestyle=DOTTED, linewidth=1.2)
            heights.append(line.bound[-1])
        if epochs:
            marked = (line.epoch == 1) & (line.time >= start)
            axes.plot(
                line.time[marked],
                line.mean[marked],
                linestyle="none",
                marker="o",
                markersize=5,
                markerfacecolor="white",
                markeredgecolor=look.colour,
                markeredgewidth=1.3,
            )
        text = f"{line.algorithm}, ε={line.epsilon:g}"
        ends.append(End(line.time[-1], line.mean[-1], text, look.colour))
    for line in rates:
        look = _RATES[line.algorithm]
        axes.plot(
            line.time, line.mean, color=look.colour, linestyle=look.line, linewidth=look.width
        )
        heights += [line.mean[line.time >= start].min(), line.mean[-1]]
        ends.append(End(line.time[-1], line.mean[-1], line.algorithm, look.colour))
    lowest = 0.0 if scale == "linear" else min(heights)
    return PanelRange((start, horizon), (lowest, max(heights)), tuple(ends))


def _final(line: SimpleNamespace) -> tuple[float, float, float]:
    """Return the last row of a line: mean, and ends of the band of 90 % of the runs."""
    return line.mean[-1], line.low[-1], line.high[-1]


def _series(axes: Axes, x: Sequence[float], lines: Lines, look: Look, text: str) -> End:
    """Draw the regret at the horizon of one line after another, with the band of the runs."""
    mean, low, high = np.array([_final(line) for line in lines]).T
    band(axes, x, low, high, look)
    _marked(axes, x, mean, look)
    return End(x[-1], mean[-1], text, look.colour)


def _marked(axes: Axes, x: ArrayLike, y: ArrayLike, look: Look) -> None:
    axes.plot(
        x,
        y,
        color=look.colour,
        linestyle=look.line,
        linewidth=look.width,
        marker=look.marker,
        markersize=5.5,
        markerfacecolor="white",
        markeredgewidth=1.4,
    )


def _final_range(lines: Lines) -> tuple[float, float]:
    finals = np.array([_final(line) for line in lines])
    return float(finals.min()), float(finals.max())


def _over_epsilon(axes: Axes, lines: Lines) -> PanelRange:
    budgets = sorted({line.epsilon for line in lines if math.isfinite(line.epsilon)})
    ends = []
    for private, free in (("DP-UCB", "UCB"), ("DP-SE", "SE")):
        chosen = [line for line in lines if line.algorithm == private]
        look = Look(_BY_BUDGET[private][0].colour, _BY_BUDGET[private][0].line)
        ends.append(_series(axes, budgets, chosen, look, private))
        (line,) = (line for line in lines if line.algorithm == free)
        mean = _final(line)[0]
        axes.plot([budgets[0], budgets[-1]], [mean, mean], color=look.colour, linestyle=DOTTED)
        ends.append(End(budgets[-1], mean, f"{free}, no privacy", look.colour))
    return PanelRange((budgets[0] / 1.2, budgets[-1]), _final_range(lines), tuple(ends))


def _over_horizon(axes: Axes, lines: Lines) -> PanelRange:
    (told,) = (line for line in lines if line.variant not in _GUESSES)
    ends = []
    for line in lines:
        if line.variant in _GUESSES:
            text, look = _GUESSES[line.variant]
            shown = line.time >= told.time[0]
            times = line.time[shown]
            band(axes, times, line.low[shown], line.high[shown], look)
            axes.plot(times, line.mean[shown], color=look.colour, linestyle=look.line)
            ends.append(End(times[-1], line.mean[-1], text, look.colour))
    look = Look(COLOURS["black"], DOTTED)
    band(axes, told.time, told.low, told.high, look)
    _marked(axes, told.time, told.mean, look)
    ends.append(End(told.time[-1], told.mean[-1], "told T", look.colour))
    return PanelRange((told.time[0] / 1.2, told.time[-1]), _final_range(lines), tuple(ends))


def _over_arms(axes: Axes, lines: Lines) -> PanelRange:
    arms = sorted({line.n_arms for line in lines})
    ends = []
    for epsilon, rank in _ranks(lines).items():
        for variant, look, text in (
            ("", _BY_BUDGET["DP-SE"][rank], f"ε = {epsilon:g}"),
            ("ε/(K−1)", _SPLIT[rank], f"ε = {epsilon:g}/(K−1)"),
        ):
            chosen = [line for line in lines if (line.epsilon, line.variant) == (epsilon, variant)]
            ends.append(_series(axes, arms, chosen, look, text))
    return PanelRange((arms[0] / 1.1, arms[-1]), _final_range(lines), tuple(ends))


def _ratios(axes: Axes, lines: Lines) -> PanelRange:
    arms = sorted({line.n_arms for line in lines})
    budgets = sorted({line.epsilon for line in lines})
    finals = {(line.variant, line.n_arms, line.epsilon): _final(line)[0] for line in lines}
    last, ends, drawn = len(arms) - 1, [], []
    offsets = np.linspace(-0.3, 0.3, len(budgets))
    for variant, (text, look) in _BASELINES.items():
        for place, k in enumerate(arms):
            y = [finals[variant, k, epsilon] / finals["", k, epsilon] for epsilon in budgets]
            _marked(axes, place + offsets, y, Look(look.colour, width=1.2, marker=look.marker))
            drawn += y
        ends.append(End(last + offsets[-1], y[-1], text, look.colour))
    if lines[0].panel == "a":  # what the four points of a group are, said once
        for variant, place, shift in (("mishra-thakurta", 0, (-4, 8)), ("tree-tight", -1, (5, 2))):
            where = (arms[0], budgets[place])
            axes.annotate(
                f"ε={budgets[place]:g}",
                (offsets[place], finals[variant, *where] / finals["", *where]),
                xytext=shift,
                textcoords="offset points",
                fontsize=9.5,
                color=INK,
            )
    for level, text, line in ((5.0, "5 times", DOTTED), (1.0, "equal", "-")):
        axes.plot([-0.5, last + 0.4], [level, level], color=INK, linestyle=line, linewidth=1.2)
        ends.append(End(last + 0.4, level, text, INK))
    axes.grid(visible=False, axis="x")
    return PanelRange((-0.5, last + 0.4), (min(*drawn, 1.0), 1.5 * max(drawn)), tuple(ends))


def _tick_arms(axes: Sequence[Axes], lines: Lines, log: str) -> None:
    """Put the ticks at the numbers of arms."""
    arms = sorted({line.n_arms for line in lines})
    places = arms if "x" in log else range(len(arms))
    for a in axes:
        a.xaxis.set_major_locator(FixedLocator(list(places)))
        a.xaxis.set_major_formatter(FuncFormatter(lambda _, i: str(arms[i or 0])))


def _tick_linear(axes: Sequence[Axes], ranges: Sequence[PanelRange]) -> None:
    """Count pulls in millions or thousands, and regret in thousands, where the data is."""
    horizon = max(r.x[1] for r in ranges)
    size, letter = (1e6, "M") if horizon >= 1e6 else (1e3, "k")
    for a in axes:
        a.set_xticks([0, horizon / 2, horizon])
        a.xaxis.set_major_formatter(
            FuncFormatter(lambda x, _: f"{x / size:g} {letter}" if x else "0")
        )
        a.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y / 1e3:g} k" if y else "0"))
