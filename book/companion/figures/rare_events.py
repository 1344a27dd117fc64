"""Rare events behind noise: distributions of a private count, patients needed, truncation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy import optimize, stats

from companion.figures.panels import Line, Titles, chosen_panels, draw_panels, plain
from companion.figures.redraw import redrawable
from companion.tables import records, tabulate
from dpbandits.mechanisms.randomised_response import lie_probability
from dpbandits.plotting.style import (
    COLOURS,
    DASHED,
    GREY,
    LONG,
    End,
    Look,
    PanelRange,
    finish_panels,
    make_panels,
)

Floats = NDArray[np.float64]

MODEL_LOOKS = {
    "open": Look(COLOURS["black"], "-", "o", 1.7),
    "curator": Look(COLOURS["blue"], "-", "s", 2.0),
    "every patient": Look(COLOURS["orange"], DASHED, "^", 2.0),
    "one bit each": Look(COLOURS["purple"], LONG, "D", 2.0),
}
"""Who adds the noise → how it is drawn, on this page and in the experiments."""

LAWS = {"a": "open", "b": "curator", "c": "every patient"}
"""Panels with the laws of an estimated number of complications."""
GROWTH = "d"
"""The panel of the patients that are needed."""
_RARE, _NONE = "ten expected", "none expected"
_LAW_COLOURS = {_NONE: GREY, _RARE: COLOURS["vermilion"]}


def told_yes(rate: float, epsilon: float) -> float:
    """Return the rate of the answer "yes" if patients lie with probability 1/(1 + e^ε).

    Examples
    --------
    >>> round(told_yes(0.0, 1.0), 4)
    0.2689
    """
    lie = lie_probability(epsilon)
    return lie + (1 - 2 * lie) * rate


def _counts(n: int, rate: float) -> NDArray[np.int64]:
    return np.arange(min(n, int(n * rate + 40 * math.sqrt(n * rate + 1))) + 1)


def noisy_tail(level: float, n: int, rate: float, epsilon: float) -> float:
    """Return the probability that a count of n with noise Lap(1/ε) exceeds a level.

    Examples
    --------
    >>> round(noisy_tail(0.0, 10, 0.0, 1.0), 12)
    0.5
    """
    k = _counts(n, rate)
    return float(stats.binom.pmf(k, n, rate) @ stats.laplace.sf((level - k) * epsilon))


def worst_error(model: str, n: int, rate: float, epsilon: float = 1.0) -> float:
    """Return the minimax error of a threshold test of rate 0 against `rate`.

    Examples
    --------
    >>> round(worst_error("open", 1000, 0.001), 3)
    0.368
    """
    if model == "curator":

        def errors(level: float) -> tuple[float, float]:
            missed = 1 - noisy_tail(level, n, rate, epsilon)
            return noisy_tail(level, n, 0.0, epsilon), missed

        middle = optimize.brentq(lambda x: np.subtract(*errors(x)), -20.0, n * rate + 20.0)
        return max(errors(float(middle)))
    yes = [told_yes(r, math.inf if model == "open" else epsilon) for r in (0.0, rate)]
    low, high = (n * y for y in yes)
    levels = np.arange(math.floor(low), math.ceil(high) + 1)
    wrong = stats.binom.sf(levels, n, yes[0]), stats.binom.cdf(levels, n, yes[1])
    return float(np.maximum(*wrong).min())


def patients_needed(model: str, rate: float, epsilon: float = 1.0, level: float = 0.05) -> float:
    """Return the number of patients needed to distinguish a rate from 0 with two errors of 5 %.

    It is exact for open records and a curator, and a normal approximation for the local model.

    Examples
    --------
    >>> patients_needed("open", 0.001), patients_needed("curator", 0.001)
    (2995.0, 6961.0)
    """
    if model == "open":
        return float(math.ceil(math.log(level) / math.log1p(-rate)))
    if model == "curator":
        cut = -math.log(2 * level) / epsilon
        low, high = 1, math.ceil(100 / rate)
        while high - low > 1:
            middle = (low + high) // 2
            enough = noisy_tail(cut, middle, rate, epsilon) >= 1 - level
            low, high = (low, middle) if enough else (middle, high)
        return float(high)
    yes = [told_yes(r, epsilon) for r in (0.0, rate)]
    spread = sum(math.sqrt(y * (1 - y)) for y in yes)
    return float(stats.norm.isf(level) * spread / (yes[1] - yes[0])) ** 2


def complications_table(
    n: int, rate: float, exact: Mapping[tuple[str, float], float], epsilon: float = 1.0
) -> pd.DataFrame:
    """Make the table of `complications_figure`.

    It contains, for n patients, the distribution of the estimated number of complications in each
    model, scaled to a peak of 1, and the number of patients that each model needs against 1/rate;
    `exact` contains numbers by model and rate, which are drawn as points.
    """
    columns = {}
    for panel, model in LAWS.items():
        for name, each in ((_NONE, 0.0), (_RARE, rate)):
            x, y = _estimates(model, n, each, epsilon)
            columns[panel, name] = {"x": x, "y": y / y.max(), "mark": np.zeros(x.size, int)}
    inverse = 10 ** np.linspace(1, 5, 33)
    for model in LAWS.values():
        given = {1 / r: value for (name, r), value in exact.items() if name == model}
        places = np.array(sorted({*inverse, *given}))
        needed = [given.get(x) or patients_needed(model, 1 / x, epsilon) for x in places]
        marks = np.array([int(x in given) for x in places])
        columns[GROWTH, model] = {"x": places, "y": np.array(needed), "mark": marks}
    return tabulate(columns, dict, ("panel", "curve"))


def _estimates(model: str, n: int, rate: float, epsilon: float) -> tuple[Floats, Floats]:
    """Return values of the estimated number of complications, and their probabilities."""
    if model == "curator":
        x, k = np.linspace(-8.0, 28.0, 145), _counts(n, rate)
        density = stats.laplace.pdf((x[:, None] - k) * epsilon)
        return x, density @ stats.binom.pmf(k, n, rate)
    yes = told_yes(rate, math.inf if model == "open" else epsilon)
    lie = 0.0 if model == "open" else lie_probability(epsilon)
    x = np.arange(-8.0, 29.0) if model == "open" else np.arange(-340.0, 341.0, 5.0)
    counts = np.round(n * lie + (1 - 2 * lie) * x)
    return (counts - n * lie) / (1 - 2 * lie), stats.binom.pmf(counts, n, yes)


@redrawable
def complications_figure(
    table: pd.DataFrame, *, titles: Titles, panels: Sequence[str] | None = None
) -> Figure:
    """Draw distributions of the estimated number of complications, and the patients needed.

    The table is made by `complications_table`.
    """
    chosen = chosen_panels(titles, panels)
    figure, places = make_panels(chosen, height=2.5)
    for panel, axes in places.items():
        lines = list(records(table, ("panel", "curve"), panel=panel))
        if panel == GROWTH:
            _draw_growth(figure, axes, lines)
        else:
            _draw_laws(axes, lines, panel)
    if len(places) > 1:
        figure.subplots_adjust(wspace=0.3, hspace=0.75)
    return figure


def _draw_laws(axes: Axes, lines: Sequence[Line], panel: str) -> None:
    for line in lines:
        colour = _LAW_COLOURS[line.curve]
        if LAWS[panel] == "open":
            axes.bar(line.x, line.y, width=0.7, color=colour)
        else:
            axes.fill_between(line.x, line.y, color=colour, alpha=0.45, linewidth=0)
            axes.plot(line.x, line.y, color=colour, linewidth=1.6)
    reach = (-340, 340) if LAWS[panel] == "every patient" else (-8, 28)
    axes.set(xlim=reach, ylim=(0, 1.3), yticks=[], xlabel="estimated number of complications")
    for place, (name, colour) in zip((0.03, 0.97), _LAW_COLOURS.items(), strict=True):
        axes.text(
            *(place, 0.97, name),
            transform=axes.transAxes,
            ha="left" if place < 0.5 else "right",
            va="top",
            color="0.35" if name == _NONE else colour,
            fontsize=10.5,
        )


def _draw_growth(figure: Figure, axes: Axes, lines: Sequence[Line]) -> None:
    ends, heights = [], []
    for line in lines:
        look = MODEL_LOOKS[line.curve]
        plain(axes, line.x, line.y, look)
        at = line.mark > 0
        axes.plot(line.x[at], line.y[at], look.marker, color=look.colour, markersize=5)
        ends.append(End(line.x[-1], line.y[-1], line.curve, look.colour))
        heights += [line.y.min(), line.y.max()]
    x = lines[0].x
    reach = PanelRange((x[0], x[-1]), (min(heights), max(heights)), tuple(ends))
    finish_panels(figure, [axes], [reach], x_label="one complication in …", y_label="")
    axes.set_ylabel("patients needed")
    axes.tick_params(labelleft=True)


# ------------------------------------------------------------------------------ truncation


def cut_table(
    curves: Mapping[str, tuple[Floats, Floats]],
) -> pd.DataFrame:
    """Make the table of `cut_figure`: thresholds and errors by curve, with the least one marked."""
    columns = {}
    for name, (x, y) in curves.items():
        mark = (np.arange(y.size) == int(np.argmin(y))) & (name in MODEL_LOOKS)
        columns["a", name] = {"bound": x, "error": y, "mark": mark.astype(int)}
    return tabulate(columns, dict, ("panel", "curve"))


@redrawable
def cut_figure(
    table: pd.DataFrame, *, titles: Titles, panels: Sequence[str] | None = None
) -> Figure:
    """Draw the root-mean-square error of a truncated mean against its threshold.

    The table is made by `cut_table`; a curve that is not in `MODEL_LOOKS`, the bias, is grey.
    """

    def draw(axes: Axes, lines: list[Line]) -> PanelRange:
        ends, heights = [], []
        for line in lines:
            look = MODEL_LOOKS.get(line.curve, Look(GREY, "-", "", 1.2))
            plain(axes, line.bound, line.error, look)
            at = line.mark > 0
            axes.plot(line.bound[at], line.error[at], "o", color=look.colour, markersize=7)
            ends.append(End(line.bound[-1], line.error[-1], line.curve, look.colour))
            heights += [*line.error]
        low, high = max(min(heights), 1e-3), min(max(heights), 1e4)
        x = lines[0].bound
        return PanelRange((x[0], x[-1]), (low, high), tuple(ends))

    labels = "reward beyond which nothing counts, B (days)", "root-mean-square error (days)"
    return draw_panels(table, titles, panels, draw, labels, by=("panel", "curve"))
