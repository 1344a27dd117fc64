"""How the samples of stopping rules grow as the mean nears 0: local slopes on logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from dpbandits.experiments import Data, Results
from dpbandits.plotting.stopping_parts import (
    RULE_LOOKS,
    Groups,
    Point,
    marked,
    panels_of,
    smooth_time,
)
from dpbandits.plotting.style import INK, End, PanelRange, finish_panels, make_panels, styled
from dpbandits.stopping.base import NASFamily

__all__ = ["slopes_figure"]

_SPAN = (0.45, 1.3)
"""Decades of |μ| that a measured slope may span; as near to one as possible."""
_REFERENCES = {-1.0: "1/|μ|", -2.0: "1/μ²"}


class _Slope(NamedTuple):
    """Slope between two measured points, and half its 95 % confidence interval."""

    mean: float
    slope: float
    error: float


def slopes_figure(
    source: Results | Data | str, *, theory: bool = True, panels: Sequence[str] | None = None
) -> Figure:
    """Draw d log(samples)/d log|μ| of each rule: −2 where sampling rules, −1 where noise does.

    Markers are slopes between mean samples about a decade of |μ| apart, at the decade's middle,
    with 95 % confidence intervals (not visible where they are smaller than the marker).

    Parameters
    ----------
    source : Results, Data or str
        Of ``ours-stopping-mean``; see `stopping_figure`.
    theory : bool
        Whether to draw the slopes of the halting conditions, without noise and without the
        steps of doubling, as curves.
    panels : sequence of str, optional
        Which panels, all if not given.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If an argument is unknown, the experiment is another, or the committed data is stale.

    Examples
    --------
    >>> from matplotlib import pyplot as plt
    >>> from dpbandits import experiments, plotting
    >>> results = experiments.run("ours-stopping-mean", preset="smoke")
    >>> figure = plotting.slopes_figure(results)
    >>> len(figure.axes)
    4
    >>> plt.close(figure)
    """
    experiment, titles, by_panel = panels_of(source, panels)
    if experiment.axis != "mean":
        raise ValueError(
            f"source={experiment.id!r} is not over the mean; allowed: ours-stopping-mean"
        )
    with styled():
        figure, grid = make_panels(titles)
        axes = list(grid.values())
        ranges = [_panel(grid[panel], by_panel[panel], theory) for panel in titles]
        for a in axes:
            a.set(xscale="log")
        finish_panels(
            figure,
            axes,
            ranges,
            x_label="size |μ| of the mean (units of R)",
            y_label="local slope of log(samples) in log |μ|",
            log="x",
        )
        for a in axes:
            a.yaxis.set_major_locator(MultipleLocator(0.5))
    return figure


def _panel(axes: Axes, groups: Groups, theory: bool) -> PanelRange:
    sizes = sorted({abs(p.cell.law.mean) for points in groups.values() for p in points})
    low, high = sizes[0], sizes[-1]
    ends = []
    for level, text in _REFERENCES.items():
        axes.plot([low, high], [level, level], color=INK, linewidth=1.0)
        ends.append(End(high, level, text, INK))
    drawn = [*_REFERENCES]
    for (rule, _), points in groups.items():
        look = RULE_LOOKS[rule]
        measured = _measured(points)
        if not measured:
            continue
        x, slopes, errors = np.array(measured).T
        axes.errorbar(x, slopes, errors, color=look.colour, linestyle="none", linewidth=1.4)
        marked(axes, x, slopes, look, linestyle="none")
        drawn += [*slopes, *(slopes - errors), *(slopes + errors)]
        end = x[-1], slopes[-1]
        if theory:
            grid = np.geomspace(low, high, 61)
            curve = [_slope(cast(NASFamily, points[0].cell.rule), float(mean)) for mean in grid]
            axes.plot(grid, curve, color=look.colour, linestyle=look.line, linewidth=1.5)
            drawn += curve
            end = high, curve[-1]
        ends.append(End(*end, rule, look.colour))
    return PanelRange(
        (low / 1.15, high), (np.nanmin(drawn) - 0.1, np.nanmax(drawn) + 0.1), tuple(ends)
    )


def _measured(points: Sequence[Point]) -> list[_Slope]:
    """Return slopes between points about a decade apart."""
    known = [point for point in points if math.isfinite(point.summary.mean_samples)]
    ordered = sorted(known, key=lambda point: abs(point.cell.law.mean))
    slopes = []
    for i, left in enumerate(ordered):
        spans = [
            (abs(_decades(left, right) - 1), right)
            for right in ordered[i + 1 :]
            if _SPAN[0] <= _decades(left, right) <= _SPAN[1]
        ]
        if spans:
            _, right = min(spans, key=lambda span: span[0])
            a, b = left.summary, right.summary
            width = _decades(left, right)
            slope = math.log10(b.mean_samples / a.mean_samples) / width
            half = (
                math.log10(s.samples_high95 / s.mean_samples) if s.n_runs > 1 else math.nan
                for s in (a, b)
            )
            middle = math.sqrt(abs(left.cell.law.mean * right.cell.law.mean))
            slopes.append(_Slope(middle, slope, math.hypot(*half) / width))
    return slopes


def _decades(left: Point, right: Point) -> float:
    return math.log10(abs(right.cell.law.mean / left.cell.law.mean))


def _slope(rule: NASFamily, mean: float) -> float:
    """Return d log n/d log|μ| of the smoothed halting condition."""
    step = 1.02
    times = [smooth_time(rule, size) for size in (mean / step, mean * step)]
    return math.log(times[1] / times[0]) / (2 * math.log(step))
