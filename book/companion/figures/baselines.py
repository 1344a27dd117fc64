"""Algorithms in several variants, after TD16: regret over time, and its spread at the horizon."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from companion.figures.panels import (
    PULLS,
    REGRET,
    Line,
    Lines,
    TimeCurve,
    Titles,
    chosen_panels,
    draw_panels,
    draw_times,
    first_shown,
)
from companion.figures.redraw import redrawable
from companion.tables import curve, records, tabulate
from dpbandits.plotting.style import (
    COLOURS,
    DASHED,
    INK,
    Look,
    PanelRange,
    columns_of,
    make_panels,
    power_of_ten,
)
from dpbandits.regret.simulation import Runs

LABELS = ("panel", "algorithm", "variant")
"""The parts of a case's key; the first variant of an algorithm is its main one."""

Case = tuple[str, str, str]


def _looks(colour: str, main: object, *others: object) -> tuple[Look, ...]:
    thin = (Look(COLOURS[colour], line, width=1.2) for line in others)
    return Look(COLOURS[colour], main, width=2.6), *thin


ALGORITHM_LOOKS: dict[str, tuple[Look, ...]] = {
    "UCB": (Look(COLOURS["black"], "-", width=1.6),),
    "DP-SE": _looks("blue", (0, (1.2, 0.9))),
    "Private-UCB": _looks("orange", (0, (6, 1.2, 1.2, 1.2)), (0, (3, 2.5))),
    "DP-UCB": _looks("vermilion", DASHED),
    "DP-UCB-HYBRID": _looks("sky", (0, (9, 2)), (0, (10, 2, 2, 2)), (0, (10, 2, 2, 2, 2, 2))),
    "DP-UCB-BOUND": _looks("purple", (0, (2.4, 1)), (0, (5, 3)), (0, (2, 2))),
    "DP-UCB-INT": _looks("green", "-", (0, (14, 3)), (0, (5, 2, 1.5, 2))),
}
"""Algorithm → looks of its variants, by their order in a panel: the main one, then others."""


_PLAIN = ("", "full", "refreshed", "calibrated", "tree-tight, calibrated")
"""Variants that the algorithm's name alone stands for."""


def name_of(algorithm: str, variant: str) -> str:
    """Return the label of a curve."""
    name = algorithm.removeprefix("DP-UCB-")
    if variant in _PLAIN:
        return name
    return f"{name.removesuffix('-UCB')}, {variant}"


def _with_looks(lines: Lines) -> Iterator[tuple[Line, Look, bool]]:
    """Yield the lines of a panel, each with its style and whether it is its algorithm's first."""
    seen: Counter[str] = Counter()
    for line in lines:
        place = seen[line.algorithm]
        seen[line.algorithm] += 1
        yield line, ALGORITHM_LOOKS[line.algorithm][place], place == 0


def variants_table(runs: Mapping[Case, Runs]) -> pd.DataFrame:
    """Make the table that `variants_over_time` draws; the main variants of algorithms come first.

    It contains the ``time`` and ``mean`` of each case, and, for main variants only, ``low`` and
    ``high``, the band of the runs, and ``bound``, the proved bound.
    """
    curves: dict[Case, Mapping[str, object]] = {}
    for key, result in runs.items():
        is_main = not any(other[:2] == key[:2] for other in curves)
        columns = curve(result, bound=is_main)
        curves[key] = columns if is_main else {name: columns[name] for name in ("time", "mean")}
    return tabulate(curves, dict, LABELS)


@redrawable
def variants_over_time(
    table: pd.DataFrame,
    *,
    titles: Titles,
    panels: Sequence[str] | None = None,
    theory: bool = False,
) -> Figure:
    """Draw the mean regret over time of every variant, main ones with the band of their runs.

    The table is made by `variants_table`; ``theory`` draws the upper bounds of main variants.
    """

    def curves(lines: Lines) -> Iterator[TimeCurve]:
        for line, look, is_main in _with_looks(lines):
            between = (line.low, line.high) if is_main else None
            bound = line.bound if is_main and theory else None
            yield TimeCurve(line, look, name_of(line.algorithm, line.variant), between, bound)

    def draw(axes: Axes, lines: Lines) -> PanelRange:
        start = first_shown(max(line.time[-1] for line in lines))
        return draw_times(axes, curves(lines), start)

    labels, size = (PULLS, REGRET), (4.4, 3.7)  # room for a dozen names
    return draw_panels(table, titles, panels, draw, labels, by=LABELS, size=size)


# -------------------------------------------------------------------------------------- spread

_COLUMN = 0.24  # share of a panel's width reserved for the numbers


def spread_table(runs: Mapping[Case, Runs]) -> pd.DataFrame:
    """Make the table that `spread_at_horizon` draws, a row per case.

    Its columns are ``panel``, ``algorithm``, ``variant``, those of `Runs.final`, and ``least`` and
    ``greatest`` regret at the horizon.
    """

    def columns(result: Runs) -> dict[str, float]:
        final = result.regret[:, -1]
        return {**result.final(), "least": final.min(), "greatest": final.max()}

    return tabulate(runs, columns, LABELS)


@redrawable
def spread_at_horizon(
    table: pd.DataFrame, *, titles: Titles, panels: Sequence[str] | None = None
) -> Figure:
    """Draw a row for each case: its regret at the horizon, and the spread of its runs.

    A dot marks the mean, a bar the central 90 % of the runs, and a line the range from the least to
    the greatest; their difference is the number at the right. The table is made by `spread_table`;
    the first case of a panel is at the top.
    """
    titles = chosen_panels(titles, panels)
    shown = table[table["panel"].isin(list(titles))]
    low, high = max(float(shown["least"].min()), 1.0), float(shown["greatest"].max())
    figure, grid = make_panels(titles, height=3.5, left=1.65)
    for place, (panel, axes) in enumerate(grid.items()):
        part = list(records(table, LABELS, panel=panel))
        _rows(axes, part)
        _limits(axes, low, high)
        axes.tick_params(left=False, labelleft=place % columns_of(axes) == 0)
        is_lowest = place + columns_of(axes) >= len(titles)
        axes.tick_params(labelbottom=is_lowest)
        if is_lowest:
            horizon = f"{part[0].time[0]:,}".replace(",", " ")
            axes.set_xlabel(f"regret at T = {horizon} (units of reward)")
    return figure


def _rows(axes: Axes, lines: Lines) -> None:
    texts = {}
    for row, (line, look, _) in enumerate(_with_looks(lines)):
        ends = [line.least[0], line.greatest[0]]
        axes.plot(ends, [row, row], color=look.colour, linewidth=1.3, marker="|", markersize=6)
        middle = [line.low[0], line.high[0]]
        axes.plot(middle, [row, row], color=look.colour, linewidth=5, alpha=0.55)
        axes.plot(
            line.mean,
            [row],
            marker="o",
            markersize=5.5,
            markerfacecolor="white",
            markeredgecolor=look.colour,
            markeredgewidth=1.5,
        )
        texts[row] = f"{ends[1] - ends[0]:,.0f}".replace(",", "\u2009")
    for row, text in {**texts, -1: "max − min"}.items():
        place: dict[str, Any] = {
            "transform": axes.get_yaxis_transform(),
            "ha": "right",
            "va": "center",
        }
        axes.text(0.99, row, text, fontsize=10, color=INK, **place)
    axes.set_yticks(range(len(lines)), [name_of(line.algorithm, line.variant) for line in lines])
    axes.set_ylim(len(lines) - 0.4, -1.6)
    axes.grid(visible=False, axis="y")


def _limits(axes: Axes, low: float, high: float) -> None:
    """Make the axis logarithmic, with room at its right for the numbers."""
    first, last = math.log10(low), math.log10(high)
    length = (last - first) / (1 - _COLUMN - 0.04)
    axes.set_xscale("log")
    axes.set_xlim(10 ** (first - 0.04 * length), 10 ** (last + _COLUMN * length))
    decades = range(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1)
    axes.xaxis.set_major_locator(FixedLocator([10.0**k for k in decades]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(power_of_ten))
