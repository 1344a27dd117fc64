"""The map of the price of privacy: how many times more samples, by mean and budget."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, NullLocator
from numpy.typing import NDArray
from scipy import optimize

from dpbandits.plotting.stopping_parts import Groups, smooth_time
from dpbandits.plotting.style import DASHED, DOTTED, End, filled_width, label_ends, power_of_ten
from dpbandits.stopping.dp_exponential_nas import DPExponentialNAS

__all__ = ["overhead_figure"]

_SIZE = (5.8, 5.1)  # inches
_PLACE = (0.85, 0.62, 3.75, 3.55)  # the map: left, bottom, width, height
_BAR = (0.85, 4.3, 3.75, 0.13)
_LEVELS = {2.0: "-", 10.0: DASHED}
_RULE = "DP-exp-NAS"


def overhead_figure(
    titles: Mapping[str, str], by_panel: Mapping[str, Groups], *, theory: bool
) -> Figure:
    """Draw mean samples with each ε relative to those with ε = ∞; see `stopping_figure`."""
    ((panel, title),) = titles.items()
    groups = by_panel[panel]
    twins = {p.summary.mean: p.summary.mean_samples for p in groups[_RULE, "twin"]}
    points = groups[_RULE, ""]
    means = sorted({p.summary.mean for p in points})
    budgets = sorted({p.summary.epsilon for p in points})
    ratios = np.full((len(budgets), len(means)), np.nan)
    for point in points:
        s = point.summary
        where = budgets.index(s.epsilon), means.index(s.mean)
        ratios[where] = s.mean_samples / twins[s.mean]
    size = filled_width(_SIZE[0]), _SIZE[1]
    more = size[0] - _SIZE[0]
    figure = plt.figure(figsize=size)
    axes, bar = (
        figure.add_axes((left / size[0], low / size[1], (width + more) / size[0], high / size[1]))
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
        label_ends(axes, _lines(axes, cast(DPExponentialNAS, points[0].cell.rule), x))
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


def _lines(axes: Axes, rule: DPExponentialNAS, x: NDArray[np.float64]) -> list[End]:
    """Draw where the halting condition needs some times the samples, and ε = α|μ|."""
    means = np.geomspace(x[0], min(x[-1], rule.half_range), 41)
    ends = []
    outline = [withStroke(linewidth=3.4, foreground="black")]
    lines = [
        (
            np.array([budget_for(rule, float(mean), level) for mean in means]),
            dashes,
            f"{level:g} times",
        )
        for level, dashes in _LEVELS.items()
    ]
    lines.append((rule.alpha * means / rule.half_range, DOTTED, "ε = α|μ|"))
    for budgets, dashes, text in lines:
        axes.plot(
            means, budgets, color="white", linestyle=dashes, linewidth=1.7, path_effects=outline
        )
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
