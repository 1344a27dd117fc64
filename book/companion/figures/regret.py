"""Regret over time, over ε, over the horizon, over the number of arms; ratios of regrets: SS19.

Tables have a row for each case, or each case and time: columns ``panel``, ``instance``,
``n_arms``, ``epsilon``, ``algorithm``, ``variant`` and those of `Runs.final` or
`companion.tables.curve`.
"""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter

from companion.figures.panels import (
    PULLS,
    REGRET,
    Line,
    Lines,
    TimeCurve,
    Titles,
    band,
    draw_panels,
    draw_times,
    first_shown,
    marked,
    plain,
)
from companion.figures.redraw import redrawable
from dpbandits._validation import check_choice
from dpbandits.plotting.style import COLOURS, DASHED, DOTTED, INK, End, Look, PanelRange

_WIDE, _THIN = 3.2, 1.5  # so that a curve below another remains visible
BUDGET_LOOKS = {
    "DP-SE": (Look(COLOURS["blue"], width=_WIDE), Look(COLOURS["sky"], width=_THIN)),
    "DP-UCB": (
        Look(COLOURS["vermilion"], DASHED, width=_WIDE),
        Look(COLOURS["orange"], DASHED, width=_THIN),
    ),
}
"""Algorithm → looks of the least budget of a panel, and of the others."""
_SPLIT = (Look(COLOURS["green"], DASHED, "s"), Look(COLOURS["purple"], DASHED, "s"))
_RATES = {"Lai–Robbins": Look("0.6", width=_THIN), "private rate": Look(INK, DASHED, width=_THIN)}
_GUESSES = {
    "double": ("G ← 2G", Look(COLOURS["green"], DASHED)),
    "square": ("G ← G²", Look(COLOURS["purple"])),
}
_MARKS = {"markersize": 5.5, "markeredgewidth": 1.4}


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

    Lines whose algorithm is "Lai–Robbins" or "private rate" are lower bounds: they need only
    ``time`` and ``mean``, and have no band. ``theory`` draws the upper bounds, from the column
    ``bound``; circles mark ends of epochs, from the column ``epoch``. The scale, of both axes, is
    "log" or "linear".

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

    def curves(lines: Lines) -> Iterator[TimeCurve]:
        ranks = _ranks(line for line in lines if line.algorithm not in _RATES)
        for line in sorted(lines, key=lambda line: line.algorithm in _RATES):
            if line.algorithm in _RATES:
                yield TimeCurve(line, _RATES[line.algorithm], line.algorithm)
                continue
            look = BUDGET_LOOKS[line.algorithm][min(ranks[line.epsilon], 1)]
            text, between = f"{line.algorithm}, ε={line.epsilon:g}", (line.low, line.high)
            yield TimeCurve(line, look, text, between, line.bound if theory else None, epochs)

    def draw(axes: Axes, lines: Lines) -> PanelRange:
        horizon = max(line.time[-1] for line in lines if line.algorithm not in _RATES)
        return draw_times(axes, curves(lines), first_shown(horizon) if scale == "log" else 0.0)

    figure = _over(table, titles, panels, draw, PULLS, log="xy" if scale == "log" else "")
    if scale == "linear":
        _tick_linear(figure.axes)
    return figure


@redrawable
def regret_over_epsilon(
    table: pd.DataFrame, *, titles: Titles, panels: Sequence[str] | None = None
) -> Figure:
    """Draw the regret at the horizon over ε: DP-SE and DP-UCB, with SE and UCB at ε = ∞."""
    return _over(table, titles, panels, _over_epsilon, "privacy budget ε")


@redrawable
def regret_over_horizon(
    table: pd.DataFrame, *, titles: Titles, panels: Sequence[str] | None = None
) -> Figure:
    """Draw the regret over the horizon: for known T, and for guesses by doubling or squaring.

    The variant "told T" has a row per horizon, in the column ``time``; the variants "double" and
    "square" have curves over time.
    """
    return _over(table, titles, panels, _over_horizon, "horizon T (pulls)")


@redrawable
def regret_over_arms(
    table: pd.DataFrame, *, titles: Titles, panels: Sequence[str] | None = None
) -> Figure:
    """Draw the regret at the horizon over the number of arms, for a whole and a split budget."""
    figure = _over(table, titles, panels, _over_arms, "number of arms K")
    arms = sorted(set(table["n_arms"]))
    _tick_arms(figure.axes, arms, arms)
    return figure


def _over(
    table: pd.DataFrame,
    titles: Titles,
    panels: Sequence[str] | None,
    draw: Callable[[Axes, list[Line]], PanelRange],
    x_label: str,
    y_label: str = REGRET,
    log: str = "xy",
) -> Figure:
    return draw_panels(table, titles, panels, draw, (x_label, y_label), log=log)


def _ranks(lines: Iterator[Line] | Lines) -> dict[float, int]:
    """Return the rank of each budget in a panel, in increasing order."""
    return {e: i for i, e in enumerate(sorted({line.epsilon for line in lines}))}


def _final(line: Line) -> tuple[float, float, float]:
    """Return the last row of a line: the mean, and the ends of the 90 % band of the runs."""
    return line.mean[-1], line.low[-1], line.high[-1]


def _series(axes: Axes, x: Sequence[float], lines: Lines, look: Look, text: str) -> End:
    """Draw the regret at the horizon of each line, with the band of the runs."""
    mean, low, high = np.array([_final(line) for line in lines]).T
    band(axes, x, low, high, look)
    marked(axes, x, mean, look, **_MARKS)
    return End(x[-1], mean[-1], text, look.colour)


def _range(x: Sequence[float], factor: float, lines: Lines, ends: Sequence[End]) -> PanelRange:
    finals = np.array([_final(line) for line in lines])
    heights = float(finals.min()), float(finals.max())
    return PanelRange((x[0] / factor, x[-1]), heights, tuple(ends))


def _over_epsilon(axes: Axes, lines: Lines) -> PanelRange:
    budgets = sorted({line.epsilon for line in lines if math.isfinite(line.epsilon)})
    ends = []
    for private, free in (("DP-UCB", "UCB"), ("DP-SE", "SE")):
        chosen = [line for line in lines if line.algorithm == private]
        look = Look(BUDGET_LOOKS[private][0].colour, BUDGET_LOOKS[private][0].line)
        ends.append(_series(axes, budgets, chosen, look, private))
        (line,) = (line for line in lines if line.algorithm == free)
        mean = _final(line)[0]
        plain(axes, [budgets[0], budgets[-1]], [mean, mean], look, linestyle=DOTTED)
        ends.append(End(budgets[-1], mean, f"{free}, no privacy", look.colour))
    return _range(budgets, 1.2, lines, ends)


def _over_horizon(axes: Axes, lines: Lines) -> PanelRange:
    (told,) = (line for line in lines if line.variant not in _GUESSES)
    ends, drawn = [], [*told.mean]
    for line in lines:
        if line.variant in _GUESSES:
            text, look = _GUESSES[line.variant]
            shown = line.time >= told.time[0]
            times = line.time[shown]
            band(axes, times, line.low[shown], line.high[shown], look)
            plain(axes, times, line.mean[shown], look)
            ends.append(End(times[-1], line.mean[-1], text, look.colour))
            drawn += [*line.mean[shown]]
    look = Look(COLOURS["black"], DOTTED)
    band(axes, told.time, told.low, told.high, look)
    marked(axes, told.time, told.mean, look, **_MARKS)
    ends.append(End(told.time[-1], told.mean[-1], "told T", look.colour))
    times = told.time[0] / 1.2, told.time[-1]
    return PanelRange(times, (float(min(drawn)), float(max(drawn))), tuple(ends))


def _over_arms(axes: Axes, lines: Lines) -> PanelRange:
    arms = sorted({line.n_arms for line in lines})
    ends = []
    for epsilon, rank in _ranks(lines).items():
        for variant, look, text in (
            ("", BUDGET_LOOKS["DP-SE"][rank], f"ε = {epsilon:g}"),
            ("ε/(K−1)", _SPLIT[rank], f"ε = {epsilon:g}/(K−1)"),
        ):
            chosen = [line for line in lines if (line.epsilon, line.variant) == (epsilon, variant)]
            ends.append(_series(axes, arms, chosen, look, text))
    return _range(arms, 1.1, lines, ends)


def _tick_arms(panels: Sequence[Axes], places: Sequence[int], arms: Sequence[int]) -> None:
    for axes in panels:
        axes.xaxis.set_major_locator(FixedLocator(list(places)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda _, i: str(arms[i or 0])))


def _tick_linear(panels: Sequence[Axes]) -> None:
    """Label pulls in millions or thousands, and regret in thousands, within the data's range."""
    horizon = max(axes.dataLim.x1 for axes in panels)
    size, letter = (1e6, "M") if horizon >= 1e6 else (1e3, "k")
    for axes in panels:
        axes.set_xticks([0, horizon / 2, horizon])
        axes.xaxis.set_major_formatter(
            FuncFormatter(lambda x, _: f"{x / size:g} {letter}" if x else "0")
        )
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y / 1e3:g} k" if y else "0"))
