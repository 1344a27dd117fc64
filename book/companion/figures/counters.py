"""Private counters: the sawtooth of their error, two looks, fair comparisons, lost runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from numpy.typing import ArrayLike

from companion.figures.looks import ALGORITHM_LOOKS
from companion.figures.panels import Titles, chosen_panels, legend_below
from companion.figures.redraw import redrawable
from companion.tables import tabulate
from dpbandits.mechanisms import (
    BinaryTree,
    HybridCounter,
    KaryTree,
    best_arity,
    laplace_sum_quantile,
)
from dpbandits.plotting.style import (
    COLOURS,
    DASHED,
    DOTTED,
    GREY,
    INK,
    make_panels,
    power_of_ten,
)
from dpbandits.regret.simulation import Runs

PATIENT = COLOURS["vermilion"]
"""Colour of the one patient whose outcome is followed."""
_COUNTER = ALGORITHM_LOOKS["DP-UCB-HYBRID"]
_LOCAL = ALGORITHM_LOOKS["LDP-UCB"]


# ----------------------------------------------------------------------------------- the sawtooth


def sawtooth_table(counter: HybridCounter, length: int, beta: float, leaves: int) -> pd.DataFrame:
    """Make the table of `sawtooth_figure`.

    Rows with ``part`` "error" contain, for each length ``first`` of a stream, the level that the
    noise exceeds with probability β, for the counter (``counter``), and for a sum of outcomes with
    noise of budget ε on each (``outcomes``). The others are blocks and nodes up to `leaves`: the
    elements ``first`` to ``last`` that they contain, and their ``level``.
    """
    scale = 1 / counter.epsilon
    rows = [
        ("error", n, n, 0, counter.error_quantile(beta, n), _sum_error(beta, n, scale))
        for n in range(1, length + 1)
    ]
    start, level = 1, 0
    while start <= leaves:
        rows.append(("block", start // 2 + 1 if start > 1 else 1, start, 0, math.nan, math.nan))
        for level in range(start.bit_length() - 1):
            size = 1 << level
            for first in range(start + 1, 2 * start, size):
                last = first + size - 1
                if last < min(2 * start, leaves + 1):
                    rows.append(("node", first, last, level + 1, math.nan, math.nan))
        start *= 2
    return pd.DataFrame(rows, columns=["part", "first", "last", "level", "counter", "outcomes"])


def _sum_error(beta: float, size: int, scale: float) -> float:
    return float(laplace_sum_quantile(beta, (size,), (scale,)))


@redrawable
def sawtooth_figure(
    table: pd.DataFrame, *, titles: Titles, patient: int, panels: Sequence[str] | None = None
) -> Figure:
    """Draw the error of a counter over the length of its stream, and the blocks of its noisy sums.

    The table is that of `sawtooth_table`; the panels are "a" and "b"; blocks and nodes that contain
    the element `patient` are red.
    """
    figure, places = make_panels(chosen_panels(titles, panels), width=3.4, height=3.0)
    if "a" in places:
        _errors(places["a"], table[table.part == "error"])
    if "b" in places:
        _parts(places["b"], table[table.part != "error"], patient)
    figure.subplots_adjust(wspace=0.12, hspace=0.5)
    return figure


def _errors(axes: Axes, errors: pd.DataFrame) -> None:
    n = errors["first"].to_numpy()
    axes.plot(n, errors.counter, color=_COUNTER.colour, linewidth=1.8)
    axes.plot(n, errors.outcomes, color=GREY, linewidth=1.4, linestyle=DASHED)
    middle = n[n.size // 2 - 2 : n.size // 2 + 1]
    values = errors.counter.to_numpy()[middle - 1]
    axes.plot(middle, values, color=INK, marker="o", markersize=4, linestyle="none")
    places = ((-5, 2, "right"), (-6, -5, "right"), (4, -13, "left"))
    for where, value, (dx, dy, side) in zip(middle, values, places, strict=True):
        text = f"{where}: ±{value:.0f}"
        axes.annotate(
            text,
            (where, value),
            (dx, dy),
            textcoords="offset points",
            ha=side,
            fontsize=10,
            color=INK,
        )
    axes.text(n[-1], 1, "noise on each outcome", ha="right", va="bottom", fontsize=10, color=INK)
    axes.text(3, 1.25 * values.max(), "counter", fontsize=10, color=INK)
    axes.set(xlim=(0, n[-1] + 1), ylim=(0, 1.35 * values.max() + 4))
    axes.set(xlabel="patients so far", ylabel="error of the count (95 %)")


def _parts(axes: Axes, parts: pd.DataFrame, patient: int) -> None:
    depth = int(parts.level.max())
    for row in parts.itertuples():
        holds = row.first <= patient <= row.last
        height = 0 if row.part == "block" else 1.4 + row.level
        axes.plot(
            [row.first - 0.36, row.last + 0.36],
            [height, height],
            color=PATIENT if holds else INK if row.part == "block" else GREY,
            linewidth=6.0,
            solid_capstyle="butt",
        )
    last = int(parts["last"].max())
    axes.axvline(patient, color=PATIENT, linewidth=1.0, linestyle=DOTTED, zorder=0)
    axes.set_yticks([])
    for height, text in ((0.5, "blocks"), (1.9 + depth, "nodes of trees")):
        axes.text(0.6, height, text, fontsize=10, color=INK, va="bottom")
    axes.set(xlim=(0.3, last + 0.7), ylim=(-0.8, 3.0 + depth), xlabel="patient")
    axes.set_xticks([1, 2, 4, patient, 8, 16][: 6 if last >= 16 else 5])
    axes.grid(visible=False)


# -------------------------------------------------------------------------- errors over all lengths


def lengths_table(horizons: Sequence[int], epsilon: float) -> pd.DataFrame:
    """Compare counters of one budget on streams of a given length.

    The table contains, for each length ``horizon`` and each ``counter``, the standard deviation of
    the noise, as the root of the ``mean`` variance over all prefixes and of the ``greatest``; and
    the ``arity`` of a tree with negative digits, 0 for the others. "outcomes" is noise on each
    outcome, "best k" the tree of `best_arity`.
    """
    rows: list[tuple[int, str, int, float, float]] = []
    for horizon in horizons:
        tree = BinaryTree(epsilon, horizon)
        outcomes = [(2 / epsilon**2 * n, 1) for n in (1, horizon)]  # on average (first + last)/2
        variances = {
            "outcomes": outcomes,
            "hybrid": hybrid_variances(HybridCounter(epsilon), horizon),
            "tree": [
                (2 * tree.node_scale**2 * nodes, number)
                for nodes, number in enumerate(tree.prefixes, 1)
            ],
        }
        for name, listed in variances.items():
            mean = sum(value * number for value, number in listed) / sum(n for _, n in listed)
            most = max(value for value, number in listed if number)
            rows.append((horizon, name, 0, math.sqrt(mean), math.sqrt(most)))
        arities = {"k = 3": 3, "k = 5": 5, "best k": best_arity(horizon)}
        for name, arity in arities.items():
            signed = KaryTree(epsilon, horizon, arity)
            mean, most = signed.mean_variance, signed.greatest_variance
            rows.append((horizon, name, arity, math.sqrt(mean), math.sqrt(most)))
    return pd.DataFrame(rows, columns=["horizon", "counter", "arity", "mean", "greatest"])


def hybrid_variances(counter: HybridCounter, horizon: int) -> list[tuple[float, int]]:
    """Return the variances of a hybrid counter's noise, and the number of prefixes with each."""
    found = []
    for level in range(horizon.bit_length()):
        blocks = 2 * (level + 1) * counter.block_scale**2
        after = min(1 << level, horizon - (1 << level) + 1) - 1  # elements after the power of two
        found.append((blocks, 1))
        numbers = BinaryTree(1.0, after).prefixes if after else ()
        for nodes, number in enumerate(numbers, 1):
            found.append((blocks + 2 * nodes * counter.node_scale(level) ** 2, number))
    return found


# --------------------------------------------------------------------------------------- two looks


def looks_table(epsilon: float, threshold: float, points: int = 161) -> pd.DataFrame:
    """Make the table of `looks_figure`: densities of r + Z at ``x``, Z Laplace, for r = 0 and 1."""
    x = np.unique(np.append(np.linspace(-3.0, 4.0, points), [0.0, 1.0, threshold]))
    zero, one = (0.5 * epsilon * np.exp(-epsilon * np.abs(x - r)) for r in (0.0, 1.0))
    return pd.DataFrame({"x": x, "zero": zero, "one": one})


@redrawable
def looks_figure(table: pd.DataFrame, *, epsilon: float, threshold: float) -> Figure:
    """Draw two Laplace densities, with the areas below a threshold and the heights at it.

    The table is that of `looks_table`.
    """
    figure, places = make_panels({"": ""}, width=5.6, height=3.1)
    axes = places[""]
    below = table[table.x <= threshold]
    looks = {"zero": (COLOURS["blue"], 0.0), "one": (COLOURS["vermilion"], 1.0)}
    for name, (colour, centre) in looks.items():
        axes.plot(table.x, table[name], color=colour, linewidth=1.8)
        axes.fill_between(below.x, 0, below[name], color=colour, alpha=0.22, linewidth=0)
        height = 0.5 * epsilon * math.exp(-epsilon * abs(threshold - centre))
        axes.plot([threshold], [height], color=colour, marker="o", markersize=6)
        z = epsilon * (threshold - centre)
        area = 0.5 * math.exp(z) if z < 0 else 1 - 0.5 * math.exp(-z)
        axes.text(
            -2.9,
            (0.66 - 0.08 * centre) * epsilon,
            f"r = {centre:g}: area {area:.3g}, height {height:.2g}",
            va="top",
            color=colour,
        )
    axes.axvline(threshold, color=INK, linewidth=1.2, linestyle=DASHED)
    top = 0.7 * epsilon
    axes.text(threshold + 0.1, 0.97 * top, "threshold", va="top", color=INK)
    axes.set(xlim=(-3, 4), ylim=(0, top), xlabel="r + Z, one noisy value", ylabel="density")
    return figure


# ----------------------------------------------------------------------------- fair comparison


def honest_table(runs: Mapping[tuple[str, str, str], Runs]) -> pd.DataFrame:
    """Make the table of `honest_figure`: mean regret at the horizon with its 95 % interval.

    The keys are panel, algorithm and, if it promises a δ, that δ as text; the columns are ``mean``,
    ``low`` and ``high``.
    """

    def columns(found: Runs) -> dict[str, float]:
        final = found.regret[:, -1]
        off = 1.96 * float(final.std(ddof=1)) / math.sqrt(final.size)
        return {"mean": float(final.mean()), "low": final.mean() - off, "high": final.mean() + off}

    return tabulate(runs, columns, ("panel", "algorithm", "delta"))


@redrawable
def honest_figure(
    table: pd.DataFrame,
    *,
    titles: Titles,
    horizon: int,
    deltas: Sequence[str],
    panels: Sequence[str] | None = None,
) -> Figure:
    """Draw a row for each panel: regret at the horizon, a mark for each algorithm.

    One algorithm is drawn for each of `deltas`, from the largest to 0, with marks from full to
    empty. The table is that of `honest_table`.
    """
    titles = chosen_panels(titles, panels)
    figure, places = make_panels({"": ""}, foot=1.1, width=5.6, height=4.0, left=1.75)
    axes = places[""]
    marks: dict[str, dict[str, Any]] = {
        "UCB": {"marker": "|", "markersize": 12, "markeredgewidth": 2},
        "DP-SE": {"marker": "D", "markersize": 6},
        "tuned DP-SE": {"marker": "P", "markersize": 7},
        "DP-SE, two p-values": {"marker": "X", "markersize": 7},
        "LDP-UCB": {"marker": "^", "markersize": 7},
        "DP-UCB-HYBRID": {"marker": "s", "markersize": 6, "markerfacecolor": "white"},
    }
    ours = table[table.algorithm == "DP-UCB-INT"]
    for row, panel in enumerate(titles):
        part = table[table.panel == panel].set_index("algorithm")
        for name, mark in marks.items():
            colour = ALGORITHM_LOOKS[name].colour
            lane = row - 0.08 + 0.1 * list(marks).index(name)
            axes.plot([part.loc[name, "mean"]], [lane], color=colour, ls="none", **mark)
        each = ours[ours.panel == panel].set_index("delta").loc[list(deltas)]
        colour = ALGORITHM_LOOKS["DP-UCB-INT"].colour
        axes.plot(each["mean"], [row - 0.27] * len(each), color=colour, linewidth=1.2)
        for place, value in enumerate(each["mean"]):
            axes.plot([value], [row - 0.27], **_step(colour, place, len(deltas)))
    axes.set_yticks(range(len(titles)), [f"({p})  {title}" for p, title in titles.items()])
    axes.set_ylim(len(titles) - 0.5, -0.55)
    low, high = float(table["mean"].min()), float(table["mean"].max())
    axes.set_xscale("log")
    axes.set_xlim(0.75 * low, 1.35 * high)
    axes.xaxis.set_major_locator(FixedLocator([10.0**k for k in range(1, 6)]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(power_of_ten))
    axes.set_xlim(0.75 * low, 1.35 * high)
    axes.set_xlabel(f"mean regret at T = {horizon:,}".replace(",", "\u2009"))
    axes.grid(visible=False, axis="y")
    axes.tick_params(left=False)
    handles = [
        Line2D([], [], color=ALGORITHM_LOOKS[name].colour, ls="none", label=name, **mark)
        for name, mark in marks.items()
    ]
    colour = ALGORITHM_LOOKS["DP-UCB-INT"].colour
    handles += [
        Line2D([], [], label=f"INT, δ = {name}", **_step(colour, place, len(deltas)))
        for place, name in enumerate(deltas)
    ]
    columns = 3 if figure.get_size_inches()[0] > 5 else 2
    legend_below(figure, handles, ncol=columns, fontsize=10, columnspacing=1.0)
    return figure


def _step(colour: str, place: int, steps: int) -> dict[str, Any]:
    """Return a circle, the first full, the last empty."""
    share = 1 - place / max(1, steps - 1)
    parts = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    fill = tuple(1 - share * (1 - part) for part in parts)
    return {
        "color": colour,
        "ls": "none",
        "marker": "o",
        "markersize": 7.5,
        "markerfacecolor": fill,
        "markeredgewidth": 1.4,
    }


# --------------------------------------------------------------------------------------- lost runs


def lost_table(regret: ArrayLike, marks: Mapping[str, float], bins: int = 40) -> pd.DataFrame:
    """Make the table of `lost_figure`: bins of regret on a logarithmic axis, and marked values.

    Rows with ``part`` "bin" contain the ends of a bin and its number of runs; the others are marks,
    named by ``part``, at the value ``low``.
    """
    values = np.asarray(regret, dtype=np.float64)
    ends = np.geomspace(values.min() * 0.999, values.max() * 1.001, bins + 1)
    counts, _ = np.histogram(values, ends)
    rows: list[tuple[str, float, float, int]] = [
        ("bin", low, high, int(count))
        for low, high, count in zip(ends[:-1], ends[1:], counts, strict=True)
    ]
    rows += [(name, value, value, 0) for name, value in marks.items()]
    return pd.DataFrame(rows, columns=["part", "low", "high", "count"])


@redrawable
def lost_figure(table: pd.DataFrame, *, x_label: str) -> Figure:
    """Draw a histogram of regrets, with marked values; the table is that of `lost_table`."""
    figure, places = make_panels({"": ""}, width=6.0, height=3.0)
    axes = places[""]
    bars = table[table.part == "bin"]
    axes.bar(
        bars.low,
        bars["count"],
        bars.high - bars.low,
        align="edge",
        color=ALGORITHM_LOOKS["DP-UCB-INT"].colour,
        edgecolor="white",
        linewidth=0.4,
    )
    top = float(bars["count"].max())
    marks = table[table.part != "bin"]
    for place, row in enumerate(marks.itertuples()):
        axes.axvline(row.low, color=INK, linewidth=1.3, linestyle=(DASHED, DOTTED, "-")[place % 3])
        axes.annotate(
            f"{row.part} {row.low:,.0f}".replace(",", "\u2009"),
            (row.low, top * (1.12 - 0.13 * place)),
            (4, 0),
            textcoords="offset points",
            fontsize=10,
            color=INK,
        )
    axes.set_xscale("log")
    axes.set(xlabel=x_label, ylabel="runs", ylim=(0, 1.25 * top))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(power_of_ten))
    return figure
