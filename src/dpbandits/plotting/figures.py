"""One figure per experiment: what its panels show and how."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter
from numpy.typing import ArrayLike

from dpbandits._validation import check_choice
from dpbandits.experiments import Data, Results
from dpbandits.plotting.head import head_time_figure
from dpbandits.plotting.head_cells import check_no_choice, regret_map_figure
from dpbandits.plotting.head_tail import head_tail_figure
from dpbandits.plotting.heavy_gaps import heavy_gaps_figure, heavy_schedule_figure
from dpbandits.plotting.heavy_time import heavy_time_figure
from dpbandits.plotting.readings import readings_over_time
from dpbandits.plotting.regret_lines import Line, band, first_shown, lines_of
from dpbandits.plotting.spread import spread_figure
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

__all__ = ["regret_figure"]

REGRET = "mean regret (units of reward)"
MANY_LABELS = {"width": 4.4, "height": 3.7}  # inches of a panel with a dozen of them

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
_GUESSES = {
    "double": ("T ← 2T", Look(COLOURS["green"], DASHED)),
    "square": ("T ← T²", Look(COLOURS["purple"])),
}

_AGAINST_GAPS = {"heavy-gaps": heavy_gaps_figure, "heavy-schedule": heavy_schedule_figure}


def regret_figure(
    source: Results | Data | str,
    *,
    theory: bool = False,
    epochs: bool = True,
    scale: str = "log",
    panels: Sequence[str] | None = None,
    without: Collection[str] = (),
) -> Figure:
    """Draw the figure of one experiment.

    Curves are means over the runs, the shaded band holds the central 90 % of the runs, and
    circles on curves over time mark where the epochs of the first run ended. Where algorithms
    stand in several readings, the first has the band and the bound, the others are thin, and no
    epochs are marked. The figure of the spread has a row for each of them: a dot at the mean
    regret, a bar over the central 90 % of the runs and a line from the least to the greatest. With
    heavy-tailed rewards the bands over time are a quarter of the standard deviation wide on each
    side. Head to head, bands are 95 % intervals of means, and a map has a cell for each setting
    with the code of the algorithm that is best there.

    Parameters
    ----------
    source : Results, Data or str
        Results of one experiment, data as `dpbandits.experiments.load` returns it, or the id
        of an experiment whose committed data is fresh.
    theory : bool
        Whether to draw each algorithm's upper bound, thin and dotted; curves over time only.
    epochs : bool
        Whether to mark the ends of epochs; curves over time only.
    scale : {"log", "linear"}
        Axes of the curves over time; SS19 has linear ones.
    panels : sequence of str, optional
        Which panels, all if not given.
    without : collection of str
        Algorithms that a map leaves out; for maps only.

    Returns
    -------
    matplotlib.figure.Figure
        With at most two panels a row, on opaque white.

    Raises
    ------
    ValueError
        If an argument is unknown, or the committed data is stale.

    Examples
    --------
    >>> from matplotlib import pyplot as plt
    >>> from dpbandits import experiments, plotting
    >>> figure = plotting.regret_figure(experiments.run("ss19-fig1", preset="smoke"))
    >>> len(figure.axes)
    2
    >>> plt.close(figure)
    """
    check_choice("scale", scale, ("log", "linear"))
    experiment, titles, by_panel = lines_of(source, panels)
    if experiment.axis == "head-map":
        return regret_map_figure(source, titles, without)
    check_no_choice(experiment, without)
    if experiment.axis == "head-time":
        return head_time_figure(titles, by_panel, theory)
    if experiment.axis == "head-tail":
        return head_tail_figure(titles, by_panel)
    if experiment.axis == "spread":
        return spread_figure(titles, by_panel)
    if experiment.axis == "heavy-time":
        return heavy_time_figure(titles, by_panel, theory, epochs, scale)
    if experiment.axis in _AGAINST_GAPS:
        return _AGAINST_GAPS[experiment.axis](titles, by_panel)
    readings = experiment.axis == "time" and experiment.readings
    with styled():
        figure, grid = make_panels(titles, **(MANY_LABELS if readings else {}))
        pairs = list(zip(grid.values(), by_panel, strict=True))
        axes, y_label, log = list(grid.values()), REGRET, "xy"
        if experiment.axis == "time":
            log = "xy" if scale == "log" else ""
            over_time = readings_over_time if readings else _over_time
            ranges = [over_time(a, part, theory, epochs, scale) for a, part in pairs]
            x_label = "number of pulls t"
        elif experiment.axis == "epsilon":
            ranges = [_over_epsilon(a, part) for a, part in pairs]
            x_label = "privacy budget ε"
        elif experiment.axis == "horizon":
            ranges = [_over_horizon(a, part) for a, part in pairs]
            x_label = "horizon T (pulls)"
        elif experiment.axis == "n_arms":
            ranges = [_over_arms(a, part) for a, part in pairs]
            x_label = "number of arms K"
        else:
            ranges = [_ratios(a, part) for a, part in pairs]
            x_label, y_label, log = "number of arms K", "regret of DP-UCB / of DP-SE", "y"
        for a in axes:
            a.set(xscale="log" if "x" in log else "linear", yscale="log" if log else "linear")
        finish_panels(figure, axes, ranges, x_label=x_label, y_label=y_label, log=log)
        if experiment.axis in ("n_arms", "ratio"):
            _tick_arms(axes, by_panel[0], log)
        elif scale == "linear" and experiment.axis == "time":
            _tick_linear(axes, ranges)
    return figure


def _ranks(lines: Sequence[Line]) -> dict[float, int]:
    """Return the rank of each budget in a panel, the least first."""
    return {e: i for i, e in enumerate(sorted({line.curve.epsilon for line in lines}))}


def _over_time(
    axes: Axes, lines: Sequence[Line], theory: bool, epochs: bool, scale: str
) -> PanelRange:
    ranks = _ranks(lines)
    horizon = max(line.curve.horizon for line in lines)
    start = 0.0 if scale == "linear" else first_shown(horizon)
    ends, heights = [], []
    for line in lines:
        curve = line.curve
        look = _BY_BUDGET[curve.algorithm][min(ranks[curve.epsilon], 1)]
        band(axes, curve.times, curve.low90, curve.high90, look)
        axes.plot(
            curve.times, curve.mean, color=look.colour, linestyle=look.line, linewidth=look.width
        )
        shown = curve.times >= start
        heights += [curve.mean[shown].min(), curve.high90[-1]]
        if theory:
            bound = np.asarray(
                line.cell.algorithm.regret_bound(
                    line.cell.instance, curve.horizon, times=curve.times
                )
            )
            axes.plot(curve.times, bound, color=look.colour, linestyle=DOTTED, linewidth=1.2)
            heights.append(bound[-1])
        if epochs:
            stops = line.runs.epoch_ends[0]
            stops = stops[(stops >= start) & (stops <= curve.horizon)]
            axes.plot(
                stops,
                np.interp(stops, curve.times, curve.mean),
                linestyle="none",
                marker="o",
                markersize=5,
                markerfacecolor="white",
                markeredgecolor=look.colour,
                markeredgewidth=1.3,
            )
        text = f"{curve.algorithm}, ε={curve.epsilon:g}"
        ends.append(End(curve.times[-1], curve.mean[-1], text, look.colour))
    lowest = 0.0 if scale == "linear" else min(heights)
    return PanelRange((start, horizon), (lowest, max(heights)), tuple(ends))


def _series(axes: Axes, x: Sequence[float], lines: Sequence[Line], look: Look, text: str) -> End:
    """Draw the regret at the horizon of one line after another, with the band of the runs."""
    mean, low, high = np.array([line.final() for line in lines]).T
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


def _final_range(lines: Sequence[Line]) -> tuple[float, float]:
    finals = np.array([line.final() for line in lines])
    return float(finals.min()), float(finals.max())


def _over_epsilon(axes: Axes, lines: Sequence[Line]) -> PanelRange:
    budgets = sorted({line.curve.epsilon for line in lines if math.isfinite(line.curve.epsilon)})
    ends = []
    for private, free in (("DP-UCB", "UCB"), ("DP-SE", "SE")):
        chosen = [line for line in lines if line.curve.algorithm == private]
        look = Look(_BY_BUDGET[private][0].colour, _BY_BUDGET[private][0].line)
        ends.append(_series(axes, budgets, chosen, look, private))
        (line,) = (line for line in lines if line.curve.algorithm == free)
        mean = line.final()[0]
        axes.plot([budgets[0], budgets[-1]], [mean, mean], color=look.colour, linestyle=DOTTED)
        ends.append(End(budgets[-1], mean, f"{free}, no privacy", look.colour))
    return PanelRange((budgets[0] / 1.2, budgets[-1]), _final_range(lines), tuple(ends))


def _over_horizon(axes: Axes, lines: Sequence[Line]) -> PanelRange:
    told = [line for line in lines if line.curve.variant not in _GUESSES]
    horizons = [float(line.curve.horizon) for line in told]
    ends = []
    for line in lines:
        curve = line.curve
        if curve.variant in _GUESSES:
            text, look = _GUESSES[curve.variant]
            shown = curve.times >= horizons[0]
            times = curve.times[shown]
            band(axes, times, curve.low90[shown], curve.high90[shown], look)
            axes.plot(times, curve.mean[shown], color=look.colour, linestyle=look.line)
            ends.append(End(times[-1], curve.mean[-1], text, look.colour))
    ends.append(_series(axes, horizons, told, Look(COLOURS["black"], DOTTED), "told T"))
    return PanelRange((horizons[0] / 1.2, horizons[-1]), _final_range(lines), tuple(ends))


def _over_arms(axes: Axes, lines: Sequence[Line]) -> PanelRange:
    arms = sorted({line.curve.n_arms for line in lines})
    ends = []
    for epsilon, rank in _ranks(lines).items():
        for variant, look, text in (
            ("", _BY_BUDGET["DP-SE"][rank], f"ε = {epsilon:g}"),
            ("ε/(K−1)", _SPLIT[rank], f"ε = {epsilon:g}/(K−1)"),
        ):
            chosen = [
                line
                for line in lines
                if (line.curve.epsilon, line.curve.variant) == (epsilon, variant)
            ]
            ends.append(_series(axes, arms, chosen, look, text))
    return PanelRange((arms[0] / 1.1, arms[-1]), _final_range(lines), tuple(ends))


def _ratios(axes: Axes, lines: Sequence[Line]) -> PanelRange:
    arms = sorted({line.curve.n_arms for line in lines})
    budgets = sorted({line.curve.epsilon for line in lines})
    finals = {
        (line.curve.variant, line.curve.n_arms, line.curve.epsilon): line.final()[0]
        for line in lines
    }
    last, ends, drawn = len(arms) - 1, [], []
    offsets = np.linspace(-0.3, 0.3, len(budgets))
    for variant, (text, look) in _BASELINES.items():
        for place, k in enumerate(arms):
            y = [finals[variant, k, epsilon] / finals["", k, epsilon] for epsilon in budgets]
            _marked(axes, place + offsets, y, Look(look.colour, width=1.2, marker=look.marker))
            drawn += y
        ends.append(End(last + offsets[-1], y[-1], text, look.colour))
    if lines[0].curve.panel == "a":  # what the four points of a group are, said once
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


def _tick_arms(axes: Sequence[Axes], lines: Sequence[Line], log: str) -> None:
    """Put the ticks at the numbers of arms."""
    arms = sorted({line.curve.n_arms for line in lines})
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
