"""The map of the price of privacy: how many times more samples, by mean and budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, NullLocator
from numpy.typing import NDArray
from scipy import optimize

from companion.figures.redraw import redrawable
from companion.figures.stopping import THEORY, Results, measured, smooth_time
from companion.tables import tabulate
from dpbandits.plotting.style import (
    DASHED,
    DOTTED,
    End,
    filled_width,
    label_ends,
    power_of_ten,
    styled,
)
from dpbandits.stopping import DPExponentialNAS

__all__ = ["overhead_figure", "overhead_table"]

_SIZE = (5.8, 5.1)  # inches
_PLACE = (0.85, 0.62, 3.75, 3.55)  # the map: left, bottom, width, height
_BAR = (0.85, 4.3, 3.75, 0.13)
_LEVELS = {2: "-", 10: DASHED}


def overhead_table(runs: Results) -> pd.DataFrame:
    """Make the table of `overhead_figure`: samples, and how many times those without noise.

    Parameters
    ----------
    runs : mapping of tuple to Estimates
        Runs of `DPExponentialNAS` for each mean and ε, ε = ∞ included, as
        `dpbandits.estimate_many` returns them; the first part of each key is the panel.

    Returns
    -------
    pandas.DataFrame
        The columns of `measured` without errors, and ``times``: the mean number of samples over
        that with ε = ∞. Rows whose ``rule`` is "theory" have for a mean the ε at which the
        quotient of the noiseless times, without the steps of doubling, is 2 (``epsilon_2``) and
        10 (``epsilon_10``), and ε = α|μ|/R (``epsilon_thumb``).
    """
    table = measured(runs)
    errors = [name for name in table.columns if name.startswith("error_")]
    table = table.drop(columns=["panel", "deviation", *errors])
    twins = table[np.isinf(table.epsilon)].set_index("mean").mean_samples
    table["times"] = (table.mean_samples / table["mean"].map(twins)).round(7)
    rule = cast(DPExponentialNAS, next(iter(runs.values())).rule)
    x = _edges(sorted(set(table["mean"])))
    means = np.geomspace(x[0], min(x[-1], rule.half_range), 41)
    theory = {
        "mean": means,
        **{
            f"epsilon_{level}": np.array([budget_for(rule, float(m), level) for m in means])
            for level in _LEVELS
        },
        "epsilon_thumb": rule.alpha * means / rule.half_range,
    }
    rows = tabulate({THEORY: theory}, lambda columns: columns, ("rule",))
    return pd.concat([table, rows], ignore_index=True).fillna({"law": ""})


@redrawable
def overhead_figure(table: pd.DataFrame, *, title: str, theory: bool = True) -> Figure:
    """Draw the samples with each ε relative to those with ε = ∞, over mean and ε.

    Parameters
    ----------
    table : pandas.DataFrame
        As `overhead_table` makes it.
    title : str
        What stands above the scale of colours.
    theory : bool
        Whether to draw where the halting condition needs twice and ten times the samples, and
        the line ε = α|μ|.

    Returns
    -------
    matplotlib.figure.Figure
    """
    points = table[(table.rule != THEORY) & np.isfinite(table.epsilon)]
    means, budgets = sorted(set(points["mean"])), sorted(set(points.epsilon))
    ratios = np.full((len(budgets), len(means)), np.nan)
    for mean, epsilon, times in zip(points["mean"], points.epsilon, points.times, strict=True):
        ratios[budgets.index(epsilon), means.index(mean)] = times
    with styled():
        size = filled_width(_SIZE[0]), _SIZE[1]
        more = size[0] - _SIZE[0]
        figure = plt.figure(figsize=size)
        axes, bar = (
            figure.add_axes(
                (left / size[0], low / size[1], (width + more) / size[0], high / size[1])
            )
            for left, low, width, high in (_PLACE, _BAR)
        )
        x, y = _edges(means), _edges(budgets)
        norm = LogNorm(1.0, max(10.0, float(np.nanmax(ratios))))
        mesh = axes.pcolormesh(x, y, ratios, norm=norm, cmap="cividis")
        axes.set(xscale="log", yscale="log", xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))
        axes.grid(visible=False)
        for (row, column), ratio in np.ndenumerate(ratios):
            dark = norm(ratio) < 0.5
            axes.text(
                means[column],
                budgets[row],
                _short(ratio),
                ha="center",
                va="center",
                fontsize=8.5,
                color="white" if dark else "black",
                path_effects=[withStroke(linewidth=2.2, foreground=mesh.cmap(norm(ratio)))],
                zorder=4,  # over the lines
            )
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_minor_locator(NullLocator())
            axis.set_major_formatter(FuncFormatter(power_of_ten))
        axes.set(xlabel="size |μ| of the mean (units of R)", ylabel="privacy budget ε")
        figure.colorbar(mesh, cax=bar, orientation="horizontal")
        bar.xaxis.set_ticks_position("top")
        bar.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
        bar.xaxis.set_minor_locator(NullLocator())
        figure.text(_BAR[0] / size[0], 1 - 0.08 / size[1], title, va="top")
        if theory:
            label_ends(axes, _lines(axes, table[table.rule == THEORY]))
    return figure


def _edges(centres: Sequence[float]) -> NDArray[np.float64]:
    """Return edges of cells around increasing centres, half way on a logarithmic axis."""
    logs = np.log(centres)
    inner = (logs[1:] + logs[:-1]) / 2
    edges: NDArray[np.float64] = np.exp([2 * logs[0] - inner[0], *inner, 2 * logs[-1] - inner[-1]])
    return edges


def _short(ratio: float) -> str:
    """Write a ratio with two digits; nothing if it is unknown."""
    if math.isnan(ratio):
        return ""
    return f"{ratio:.1f}" if ratio < 9.95 else f"{float(f'{ratio:.2g}'):.0f}"


def _lines(axes: Axes, rows: pd.DataFrame) -> list[End]:
    """Draw where the halting condition needs some times the samples, and ε = α|μ|."""
    means, ends = rows["mean"].to_numpy(), []
    look: dict[str, Any] = {"color": "white", "linewidth": 1.7}
    look["path_effects"] = [withStroke(linewidth=3.4, foreground="black")]
    lines = [(f"epsilon_{level}", dash, f"{level} times") for level, dash in _LEVELS.items()]
    for name, dash, text in [*lines, ("epsilon_thumb", DOTTED, "ε = α|μ|")]:
        budgets = rows[name].to_numpy()
        axes.plot(means, budgets, linestyle=dash, **look)
        ends.append(End(means[-1], budgets[-1], text, "black"))
    return ends


def budget_for(rule: DPExponentialNAS, mean: float, level: float) -> float:
    """Return the ε with which a rule takes `level` times the samples that it takes with ε = ∞.

    By its halting condition without noise and without steps: `smooth_time`.
    """
    free = smooth_time(replace(rule, epsilon=math.inf), mean)

    def excess(log_budget: float) -> float:
        private = smooth_time(replace(rule, epsilon=math.exp(log_budget)), mean)
        return math.log(private / free / level)

    return math.exp(float(optimize.brentq(excess, math.log(1e-9), math.log(1e6), xtol=1e-6)))
