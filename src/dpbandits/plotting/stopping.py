"""One figure per experiment on stopping rules: what its panels show and how."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from dpbandits.bounds import (
    stopping_complexity_lower_bound,
    stopping_lower_bound,
    stopping_samples,
)
from dpbandits.experiments import Data, Results, StoppingCell
from dpbandits.instances import low_variance, two_point
from dpbandits.laws import Law
from dpbandits.plotting.stopping_errors import error_figure
from dpbandits.plotting.stopping_map import overhead_figure
from dpbandits.plotting.stopping_parts import (
    RULE_LOOKS,
    Groups,
    Point,
    band,
    marked,
    panels_of,
)
from dpbandits.plotting.style import (
    DOTTED,
    End,
    PanelRange,
    finish_panels,
    make_panels,
    styled,
)
from dpbandits.stopping.dp_exponential_nas import DPExponentialNAS

__all__ = ["RULE_LOOKS", "stopping_figure"]

_X_LABELS = {
    "mean": "size |μ| of the mean (units of R)",
    "alpha": "relative error α",
    "epsilon": "privacy budget ε",
    "beta": "probability β of a greater error",
    "variance": "standard deviation σ (units of R)",
}
_EXPLAINED = "DP-exp-NAS"
"""Rule whose noiseless halting time and upper bound are drawn; that of others is their curve."""
_FINE, _COARSE = 181, 41  # points of curves with steps, and of smooth ones
_DEPTH = 40.0
"""How far below the least mean a panel goes, as a factor."""
_EDGE = "0.45"  # grey of the lines around these regions


def stopping_figure(
    source: Results | Data | str, *, theory: bool = True, panels: Sequence[str] | None = None
) -> Figure:
    """Draw the figure of one experiment on stopping rules.

    Curves over a parameter are means over the runs, and the shaded band holds the central 90 %
    of the runs; settings in which a run has not halted are left out. The map shows the mean
    samples of DP-exp-NAS relative to those that it takes with ε = ∞. The figure of errors shows
    the share of runs that failed with Clopper-Pearson's 95 % confidence interval, and where none
    failed an arrow down from the interval's upper end.

    Parameters
    ----------
    source : Results, Data or str
        Results of one experiment, data as `dpbandits.experiments.load` returns it, or the id
        of an experiment whose committed data is fresh.
    theory : bool
        Whether to draw what theory says. Over a parameter, for DP-exp-NAS: when it halts on a
        stream that is constantly its mean and without noise (thin, with steps from the
        doubling), and its upper bound `dpbandits.bounds.stopping_samples` (dotted). As shaded
        regions: where no rule that keeps its promise on every law can be, below
        `stopping_lower_bound`; and no ε-DP rule, below `stopping_complexity_lower_bound`. On
        the map: where the halting condition needs twice and ten times the samples, and the line
        ε = α|μ|. With errors: the β that is allowed.
    panels : sequence of str, optional
        Which panels, all if not given.

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
    >>> results = experiments.run("ours-stopping-alpha", preset="smoke")
    >>> figure = plotting.stopping_figure(results)
    >>> len(figure.axes)
    2
    >>> plt.close(figure)
    """
    experiment, titles, by_panel = panels_of(source, panels)
    with styled():
        if experiment.axis == "overhead":
            return overhead_figure(titles, by_panel, theory=theory)
        if experiment.axis == "error":
            return error_figure(titles, by_panel, theory=theory)
        figure, grid = make_panels(titles)
        axes = list(grid.values())
        ranges = [_sweep(grid[p], by_panel[p], experiment.axis, theory) for p in titles]
        for a in axes:
            a.set(xscale="log", yscale="log")
        x_label = _X_LABELS[experiment.axis]
        finish_panels(figure, axes, ranges, x_label=x_label, y_label="mean number of samples")
    return figure


# ----------------------------------------------------------------------------- a parameter


def _place(cell: StoppingCell, axis: str) -> float:
    """Return where a cell stands on an axis; a rule without ε at infinity."""
    if axis == "mean":
        return abs(cell.law.mean)
    if axis == "variance":
        return math.sqrt(cell.law.variance)
    return float(getattr(cell.rule, axis, math.inf))


def _moved(cell: StoppingCell, axis: str, x: float) -> tuple[DPExponentialNAS, Law]:
    """Return rule and law of a cell with `x` in place of the mean, or of an argument."""
    rule = cast(DPExponentialNAS, cell.rule)
    if axis == "mean":
        return rule, two_point(x, cell.law.half_range)
    if axis == "variance":  # the halting time of a stream without noise has nothing to do with it
        return rule, cell.law
    options: dict[str, Any] = {axis: x}
    return replace(rule, **options), cell.law


def _sweep(axes: Axes, groups: Groups, axis: str, theory: bool) -> PanelRange:
    """Draw the samples of some rules against a parameter."""
    places = {_place(point.cell, axis) for points in groups.values() for point in points}
    shown = sorted(x for x in places if math.isfinite(x))
    ends, drawn = [], []
    for (rule, _), unordered in groups.items():
        look = RULE_LOOKS[rule]
        points = sorted(unordered, key=lambda point: _place(point.cell, axis))
        x = [_place(point.cell, axis) for point in points]
        mean, low, high = np.array([point.samples for point in points]).T
        drawn += [*mean, *low, *high]
        if math.isinf(x[0]):  # without ε, so that the curve is level
            x = [shown[0], shown[-1]]
            mean, low, high = (np.repeat(values, 2) for values in (mean, low, high))
            look = replace(look, marker="")
        band(axes, x, low, high, look)
        marked(axes, x, mean, look)
        known = np.flatnonzero(np.isfinite(mean))
        if known.size:
            ends.append(End(x[known[-1]], mean[known[-1]], rule, look.colour))
    if theory:
        points = sorted(groups[_EXPLAINED, ""], key=lambda point: _place(point.cell, axis))
        look = RULE_LOOKS[_EXPLAINED]
        above = _above(points, axis, shown)
        axes.plot(above.x, above.noiseless, color=look.colour, linewidth=0.8)
        axes.plot(above.x, above.upper, color=look.colour, linestyle=DOTTED, linewidth=1.3)
        ends.append(End(above.x[-1], above.upper[-1], "upper bound", look.colour))
        drawn += [*above.upper]
        below = _below(points, axis, shown)
        lowest = min(float(np.nanmin(drawn)) / _DEPTH, below.any_rule.max())
        ends += _shade(axes, below, lowest)
        drawn.append(max(lowest, below.any_rule.min()))
    heights = float(np.nanmin(drawn)), float(np.nanmax(drawn))
    return PanelRange((shown[0] / 1.15, shown[-1]), heights, tuple(ends))


# ----------------------------------------------------------------------------------- theory


class _Above(NamedTuple):
    """Noiseless halting time and upper bound of a rule, on a fine grid."""

    x: NDArray[np.float64]
    noiseless: NDArray[np.float64]
    upper: NDArray[np.float64]


class _Below(NamedTuple):
    """Lower bounds on the mean samples of every rule, and of every private one."""

    x: NDArray[np.float64]
    any_rule: NDArray[np.float64]
    private: NDArray[np.float64]


def _above(points: Sequence[Point], axis: str, shown: Sequence[float]) -> _Above:
    cell = points[0].cell
    x = np.geomspace(shown[0], shown[-1], 2 if axis == "variance" else _FINE)
    pairs = [_moved(cell, axis, float(at)) for at in x]
    noiseless = [float(rule.noiseless_time(law.mean)) for rule, law in pairs]
    upper = [float(stopping_samples(rule, law.mean)) for rule, law in pairs]
    return _Above(x, np.array(noiseless), np.array(upper))


def _below(points: Sequence[Point], axis: str, shown: Sequence[float]) -> _Below:
    first = points[0].cell
    if axis == "variance":
        mean, half_range = first.law.mean, first.law.half_range
        room = (half_range - abs(mean)) * (1 - 1e-12)
        # beyond the deviations that `low_variance` reaches, the laws of the points themselves
        grid = np.geomspace(shown[0], room, _COARSE)
        laws = [low_variance(mean, float(at), half_range) for at in grid]
        others = [point.cell.law for point in points if _place(point.cell, axis) > room]
        pairs = [(cast(DPExponentialNAS, first.rule), law) for law in (*laws, *others)]
        x = np.array([math.sqrt(law.variance) for _, law in pairs])
    else:
        # the bounds fall to 0 at β = 1/2, and the private one at 1/4
        last = min(shown[-1], 0.4999) if axis == "beta" else shown[-1]
        x = np.geomspace(shown[0], last, _COARSE)
        pairs = [_moved(first, axis, float(at)) for at in x]
    any_rule, private = [], []
    for rule, law in pairs:
        any_rule.append(stopping_lower_bound(law, rule.alpha, rule.beta))
        private.append(
            stopping_complexity_lower_bound(law, rule.alpha, rule.beta, rule.epsilon)
            if rule.beta < 0.25
            else any_rule[-1]
        )
    return _Below(x, np.array(any_rule), np.array(private))


def _shade(axes: Axes, below: _Below, lowest: float) -> list[End]:
    """Shade where no rule can be; the label stands where the region's edge leaves the panel."""
    ends = []
    regions = [("no rule", below.any_rule, "0.8")]
    if np.any(below.private > below.any_rule):
        regions.append(("no ε-DP rule", below.private, "0.91"))
    for height, (text, edge, shade) in enumerate(regions):
        axes.fill_between(
            below.x, edge * 1e-9, edge, color=shade, linewidth=0, zorder=0.5 - height / 10
        )
        axes.plot(below.x, edge, color=_EDGE, linewidth=0.9, zorder=0.6)
        last = np.flatnonzero(edge >= lowest)[-1]
        ends.append(End(below.x[last], edge[last], text, _EDGE))
    return ends
