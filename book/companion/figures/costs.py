"""Figures on costs: the clinic, a chart of patients, proved and simulated regret, one look.

Tables have a row for each mark; each function describes their columns.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from companion.figures.looks import looks_of
from companion.figures.panels import Titles, chosen_panels
from companion.figures.redraw import redrawable
from dpbandits.plotting.style import COLOURS, DOTTED, INK, columns_of, make_panels

_GREY = "0.65"
_D = r"$d_\varepsilon$"
_PATIENT = COLOURS["vermilion"]
_SHOWN = looks_of(("DP-IMED", "DP-KLUCB", "AdaP-KLUCB"))
_REGIMES = {
    "ε > 3Δ": (COLOURS["blue"], "o"),
    "between": (COLOURS["orange"], "s"),
    "ε ≤ Δ/3": (COLOURS["purple"], "^"),
}


def _budget(epsilon: float) -> str:
    return "no privacy" if math.isinf(epsilon) else f"{epsilon:g}"


@redrawable
def clinic_figure(table: pd.DataFrame, *, coin: float, marked: float) -> Figure:
    """Draw how many patients get the worse treatment: a bar for each ``epsilon``.

    The table has ``mean``, and the ends ``low``, ``high`` of the line; a dashed line marks `coin`,
    and the bar at ε = `marked` is coloured.
    """
    figure, grid = make_panels({"a": ""}, width=6.6, height=3.0)
    axes = grid["a"]
    for place, row in enumerate(table.itertuples()):
        colour = _PATIENT if row.epsilon == marked else _GREY
        axes.bar(place, row.mean, width=0.62, color=colour)
        axes.plot([place, place], [row.low, row.high], color=INK, linewidth=1.5)
        text: dict[str, Any] = {"textcoords": "offset points", "ha": "left", "fontsize": 11}
        axes.annotate(f"{row.mean:.0f}", (place, row.mean), xytext=(4, 3), **text)
    axes.axhline(coin, color=INK, linestyle=DOTTED, linewidth=1.4)
    axes.annotate("a coin", (-0.4, coin), xytext=(0, 3), textcoords="offset points", fontsize=11)
    names = ["none" if math.isinf(e) else f"{e:g}" for e in table["epsilon"]]
    axes.set_xticks(range(len(table)), names)
    axes.set_xlabel("privacy budget ε")
    axes.set_ylabel("patients given A")
    axes.grid(visible=False, axis="x")
    return figure


@redrawable
def batches_figure(table: pd.DataFrame, *, rates: Sequence[str], patient: int) -> Figure:
    """Draw the batches of a run, and the path of one patient's outcome.

    The table has ``start``, ``stop`` and ``arm`` of each, and ``released``, 1 if a tick ends it,
    else 0.
    """
    figure, grid = make_panels({"a": ""}, width=6.6, height=1.7)
    axes = grid["a"]
    for row in table.itertuples():
        span = [row.start - 0.5, row.stop + 0.5]
        axes.plot(span, [row.arm] * 2, color=_GREY, linewidth=9)
        if row.released:
            height = [row.arm - 0.28, row.arm + 0.28]
            axes.plot([row.stop + 0.5] * 2, height, color=INK, linewidth=1.3)
        if row.start <= patient <= row.stop:
            axes.plot(span, [row.arm] * 2, color=INK, linewidth=9)
            axes.plot(patient, row.arm, marker="o", color=_PATIENT, markersize=8, zorder=5)
            text: dict[str, Any] = {
                "textcoords": "offset points",
                "ha": "center",
                "color": _PATIENT,
            }
            axes.annotate(f"patient {patient}", (patient, row.arm), xytext=(0, 13), **text)
    axes.set_xscale("log")
    axes.set_yticks(range(len(rates)), rates)
    axes.set_ylim(len(rates) - 0.4, -0.75)
    axes.set_xlabel("patient number")
    axes.grid(visible=False, axis="y")
    return figure


@redrawable
def chart_figure(table: pd.DataFrame) -> Figure:
    """Draw patients of each worse arm over T/K against K·log T/(T·d_ε), logarithmic.

    The table has ``rule`` and ``share``, the two axes, and ``regime``. The lines are half the rule,
    the rule, and twice the rule, up to the share of a coin.
    """
    figure, grid = make_panels({"a": ""}, width=6.2, height=4.2)
    axes = grid["a"]
    for regime, (colour, marker) in _REGIMES.items():
        rows = table[table["regime"] == regime]
        style: dict[str, Any] = {
            "linestyle": "none",
            "marker": marker,
            "markersize": 4.5,
            "alpha": 0.75,
        }
        style |= {"color": colour, "markeredgewidth": 0}
        axes.plot(rows["rule"], rows["share"], label=regime, **style)
    low, high = float(table["rule"].min()), float(table["rule"].max())
    x = np.geomspace(low, high, 200)
    for factor, name in ((1.0, f"log T/{_D}"), (2.0, "half, twice"), (0.5, None)):
        y = np.minimum(factor * x, 1.0)
        line = "-" if factor == 1 else DOTTED
        axes.plot(x, y, color=INK, linewidth=1.3, linestyle=line, zorder=1, label=name)
    axes.set(xscale="log", yscale="log", xlabel=f"K log T / (T {_D})")
    axes.set_ylabel("share of T/K given each worse arm")
    axes.legend(frameon=False, loc="lower right", fontsize=11, handletextpad=0.2)
    return figure


@redrawable
def proved_figure(table: pd.DataFrame, *, horizon: str) -> Figure:
    """Draw simulated and proved regret of each ``algorithm`` in each ``setting``: two joined marks.

    The table has ``mean`` and ``bound`` at `horizon`; regret is logarithmic.
    """
    settings = list(dict.fromkeys(table["setting"]))
    names = list(dict.fromkeys(table["algorithm"]))
    figure, grid = make_panels({"a": ""}, width=5.7, height=0.46 * len(settings) + 1.0, left=1.75)
    axes = grid["a"]
    for row in table.itertuples():
        look = _SHOWN[row.algorithm]
        y = settings.index(row.setting) + 0.25 * (names.index(row.algorithm) - 1)
        axes.plot([row.mean, row.bound], [y, y], color=look.colour, linewidth=1.6)
        first = row.setting == settings[0]
        style: dict[str, Any] = {"linestyle": "none", "color": look.colour, "markersize": 6.0}
        axes.plot(row.mean, y, marker=look.marker, label=row.algorithm if first else None, **style)
        axes.plot(row.bound, y, marker="|", markeredgewidth=2.0, **style)
    axes.set_xscale("log")
    axes.set_yticks(range(len(settings)), settings)
    axes.set_ylim(len(settings) - 0.4, -0.6)
    axes.set_xlabel(f"regret at T = {horizon}; bar: its bound")
    axes.grid(visible=False, axis="y")
    style = {"ncols": 3, "fontsize": 10, "columnspacing": 0.8, "handletextpad": 0.1}
    figure.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, 1.0), **style)
    return figure


@redrawable
def look_figure(
    table: pd.DataFrame, *, titles: Titles, panels: Sequence[str] | None = None
) -> Figure:
    """Draw the regret of DP-IMED and of one look, as a share of a coin's regret, against ε.

    The table has ``panel``, ``epsilon``, ``imed``; ``look``, with the best size for the true means;
    and ``low``, ``high``, with the best sizes for half and twice the gap. Each panel has its own
    vertical axis.
    """
    chosen = chosen_panels(titles, panels)
    figure, grid = make_panels(chosen, width=3.7, height=2.9)
    spread = (table["high"] / table["low"]).groupby(table["panel"]).max()
    widest = spread.idxmax()
    for panel, axes in grid.items():
        _look_panel(axes, table[table["panel"] == panel], told=panel == widest)
    next(iter(grid.values())).set_ylabel("lost / lost by a coin")
    columns = columns_of(next(iter(grid.values())))
    for place, axes in enumerate(grid.values()):
        axes.set_xlabel("privacy budget ε" if place + columns >= len(grid) else "")
    figure.subplots_adjust(wspace=0.2, hspace=0.35)
    return figure


def _look_panel(axes: Axes, rows: pd.DataFrame, *, told: bool) -> None:
    """Draw the curves of a panel; if `told`, its shaded area is labelled."""
    look, own = _SHOWN["DP-IMED"], COLOURS["orange"]
    x = rows["epsilon"].to_numpy()
    axes.fill_between(x, rows["low"], rows["high"], color=own, alpha=0.25, linewidth=0)
    axes.plot(x, rows["look"], color=own, marker="o", markersize=5)
    axes.plot(x, rows["imed"], color=look.colour, marker=look.marker, markersize=5)
    least = float(rows[["imed", "low"]].min(axis=None))
    axes.set(xscale="log", yscale="log", ylim=(0.7 * least, 1.4))
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if least > 0.05 else (1.0,)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{share:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    text: dict[str, Any] = {"textcoords": "offset points", "fontsize": 10.5}
    own_end, rival = (x[1], rows["look"].iloc[1]), (x[2], rows["imed"].iloc[2])
    axes.annotate("one look", own_end, xytext=(-4, -14), ha="right", va="top", **text)
    axes.annotate("DP-IMED", rival, xytext=(6, 4), ha="left", **text)
    if told:
        far = int((rows["high"] / rows["low"]).to_numpy().argmax())
        text |= {"ha": "right" if far + 1 == len(x) else "center", "va": "bottom", "color": own}
        axes.annotate("guess wrong by 2", (x[far], rows["high"].iloc[far]), xytext=(0, 5), **text)
