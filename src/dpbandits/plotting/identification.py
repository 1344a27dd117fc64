"""The figures of best-arm identification: stopping times against a parameter, and their tails."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from dpbandits._validation import check_choice
from dpbandits.experiments import Data, Experiment, Results, rows_of
from dpbandits.experiments.identification_cells import IdentificationCell
from dpbandits.experiments.identification_tables import (
    IdentificationReplicates,
    IdentificationSummary,
)
from dpbandits.identification.characteristic_time import privacy_switches, sample_lower_bound
from dpbandits.plotting.head_cells import check_no_choice, identification_map_figure
from dpbandits.plotting.identification_parts import (
    BOUND,
    FREE,
    IDENTIFIER_LOOKS,
    draw_errors,
    draw_tails,
    look_of,
)
from dpbandits.plotting.style import (
    DOTTED,
    INK,
    End,
    PanelRange,
    finish_panels,
    make_panels,
    styled,
)

__all__ = ["IDENTIFIER_LOOKS", "IdentificationPoint", "identification_figure"]

_X_LABELS = {
    "epsilon": "privacy budget ε",
    "delta": "probability δ of a wrong arm that is allowed",
    "n_arms": "number of arms K",
    "eta": "growth η of the batches",
}
_VALUES = {
    "time": "stopping time τ (pulls)",
    "ratio": "mean of τ / lower bound",
}
_FINE = 121  # points of the lower bound


@dataclass(frozen=True)
class IdentificationPoint:
    """A setting, ready to draw: what its runs come to, the runs, and what was simulated."""

    summary: IdentificationSummary
    replicates: IdentificationReplicates
    cell: IdentificationCell

    def place(self, axis: str) -> float:
        """Return where the setting stands on an axis; an algorithm without ε at infinity."""
        if axis == "n_arms":
            return float(self.cell.instance.n_arms)
        return float(getattr(self.cell.algorithm, axis, math.inf))

    def lower_bound(self, **changed: float) -> float:
        """Return T*_ε·log(1/(2.4δ)), with ε or δ of one's own if they are given."""
        told = {"epsilon": self.summary.epsilon, "delta": self.summary.delta, **changed}
        return sample_lower_bound(self.cell.instance.means, **told)


Points = Mapping[tuple[str, str], Sequence[IdentificationPoint]]
"""Algorithm and variant → the points of a panel, in the order of the data."""


def _panels_of(
    source: Results | Data | str, panels: Sequence[str] | None
) -> tuple[Experiment, dict[str, str], dict[str, Points]]:
    """Return the experiment, and title and points of each panel that is wanted."""
    experiment, rows = rows_of(source)
    if experiment.table.kind != "identification":
        raise ValueError(
            f"source={experiment.id!r} is on {experiment.table.kind}; allowed: an experiment on "
            "identification; dpbandits.plotting.draw draws any"
        )
    for panel in panels or ():
        check_choice("panel", panel, tuple(experiment.panels))
    titles = {p: t for p, t in experiment.panels.items() if not panels or p in panels}
    found: dict[str, dict[tuple[str, str], list[IdentificationPoint]]] = {p: {} for p in titles}
    for row in rows:
        s = row.summary
        if s.panel in found:
            point = IdentificationPoint(s, row.replicates, row.setting.cell)
            variant = s.variant
            if experiment.axis == "eta":  # every point has a variant of its own
                variant = variant.partition("η")[0].rstrip(", ")
            found[s.panel].setdefault((s.algorithm, variant), []).append(point)
    return experiment, titles, {**found}


def identification_figure(
    source: Results | Data | str,
    *,
    values: str | None = None,
    theory: bool = True,
    panels: Sequence[str] | None = None,
    without: Collection[str] = (),
) -> Figure:
    """Draw the figure of one experiment on best-arm identification.

    Against a parameter: the mean stopping time with two standard errors on each side as a dark
    band and two standard deviations as a light one, or its ratio to the lower bound with two
    standard errors. Settings in which a run was ended before it stopped have no mean, and are
    left out. The figure of tails shows the share of runs that took longer than t; that of errors
    the share of wrong recommendations with Clopper-Pearson's 95 % interval. A map has a cell for
    each setting with the code of the algorithm that is fastest there.

    Parameters
    ----------
    source : Results, Data or str
        Results of one experiment, data as `dpbandits.experiments.load` returns it, or the id
        of an experiment whose committed data is fresh.
    values : {"time", "ratio"}, optional
        What is drawn against a parameter: times if not given, or ratios where the curves of a
        panel are of different instances. Not for figures of tails and errors.
    theory : bool
        Whether to draw the lower bound T*_ε·log(1/(2.4δ)), and against ε, as vertical lines,
        where privacy begins to cost something: the exact switch, and the one that holds for any
        allocation.
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
        If an argument is unknown, a panel has nothing to draw, or the committed data is stale.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> results = dpb.experiments.run("ours-bai-delta", preset="smoke")
    >>> figure = identification_figure(results, values="ratio", panels=["b"])
    >>> "lower bound" in {text.get_text() for text in figure.axes[0].texts}
    True
    """
    experiment, titles, by_panel = _panels_of(source, panels)
    if values is not None and experiment.axis not in _X_LABELS:
        raise ValueError(
            f"values={values!r} is nothing that the figure of {experiment.id} has; allowed: None"
        )
    if experiment.axis == "head-map":
        return identification_map_figure(source, titles, without)
    check_no_choice(experiment, without)
    values = values or ("ratio" if experiment.readings else "time")
    check_choice("values", values, tuple(_VALUES))
    if experiment.axis in _X_LABELS:
        _check_drawable(by_panel, experiment.axis)
    with styled():
        if experiment.axis == "tail":
            return draw_tails(titles, by_panel)
        if experiment.axis == "error":
            return draw_errors(titles, by_panel, theory)
        figure, grid = make_panels(titles, width=4.4, height=3.4)
        axes = list(grid.values())
        draw = _times if values == "time" else _ratios
        ranges = [draw(grid[p], by_panel[p], experiment.axis, theory) for p in titles]
        for a in axes:
            a.set(xscale="log", yscale="log")
        x_label, y_label = _X_LABELS[experiment.axis], _VALUES[values]
        finish_panels(figure, axes, ranges, x_label=x_label, y_label=y_label)
    return figure


def _check_drawable(by_panel: Mapping[str, Points], axis: str) -> None:
    """Refuse panels in which there is nothing to draw."""
    for panel, groups in by_panel.items():
        points = [point for points in groups.values() for point in points]
        if all(math.isnan(point.summary.mean_time) for point in points):
            raise ValueError(
                f"panel={panel!r} has no setting with a mean; allowed: panels with a setting of "
                "which every run stopped"
            )
        if not _shown(groups, axis):
            raise ValueError(
                f"panel={panel!r} has no setting with {axis}; allowed: panels with one or more"
            )


def _sorted(points: Sequence[IdentificationPoint], axis: str) -> list[IdentificationPoint]:
    return sorted(points, key=lambda point: point.place(axis))


def _shown(groups: Points, axis: str) -> list[float]:
    places = {point.place(axis) for points in groups.values() for point in points}
    return sorted(x for x in places if math.isfinite(x))


def _curves(
    axes: Axes,
    groups: Points,
    axis: str,
    columns: Callable[[IdentificationPoint], Sequence[float]],
) -> tuple[list[End], list[float]]:
    """Draw a curve for each group: `columns` gives value, dark band and light band of a point."""
    shown = _shown(groups, axis)
    ends, drawn = [], []
    for place, ((name, variant), unordered) in enumerate(groups.items()):
        look = look_of(name, variant, place)
        points = _sorted(unordered, axis)
        x = np.array([point.place(axis) for point in points])
        rows = np.array([columns(point) for point in points], dtype=np.float64)
        marker: Any = look.marker
        if math.isinf(x[0]):  # without ε, so that the curve is level
            x, rows, marker = np.array([shown[0], shown[-1]]), np.repeat(rows, 2, axis=0), None
        value, low, high, lower, upper = rows.T
        known = np.flatnonzero(np.isfinite(value))
        if not known.size:
            continue
        floor = float(np.nanmin(value)) / 50  # a band may reach to 0 and below
        style: dict[str, Any] = {"color": look.colour, "linewidth": 0}
        axes.fill_between(x, np.maximum(lower, floor), upper, alpha=0.12, **style)
        axes.fill_between(x, np.maximum(low, floor), high, alpha=0.35, **style)
        axes.plot(
            x,
            value,
            color=look.colour,
            linestyle=look.line,
            linewidth=look.width,
            marker=marker,
            markersize=4.2,
            markerfacecolor="white",
            markeredgewidth=1.2,
        )
        drawn += [*value[known]]
        label = f"{name}, {variant}" if variant else name
        if (name, variant) not in IDENTIFIER_LOOKS and (name, "") in IDENTIFIER_LOOKS:
            label = variant  # curves of one algorithm
        label += FREE if math.isinf(points[0].summary.epsilon) else ""
        ends.append(End(float(x[known[-1]]), float(value[known[-1]]), label, look.colour))
    return ends, drawn


def _errors_of_mean(s: IdentificationSummary) -> float:
    return 2 * s.time_sd / math.sqrt(s.n_runs) if s.n_runs > 1 else 0.0


def _times(axes: Axes, groups: Points, axis: str, theory: bool) -> PanelRange:
    def columns(point: IdentificationPoint) -> tuple[float, ...]:
        s = point.summary
        mean, error, spread = s.mean_time, _errors_of_mean(s), 2 * s.time_sd
        return mean, mean - error, mean + error, mean - spread, mean + spread

    ends, drawn = _curves(axes, groups, axis, columns)
    shown = _shown(groups, axis)
    if theory:
        x, bound = _bound(groups, axis)
        axes.plot(x, bound, color=INK, linestyle=DOTTED, linewidth=1.6)
        ends.append(End(float(x[-1]), float(bound[-1]), BOUND, INK))
        drawn += [*bound]
        if axis == "epsilon":
            _switches(axes, groups, shown)
    return PanelRange((shown[0] / 1.15, shown[-1]), (min(drawn), max(drawn)), tuple(ends))


def _ratios(axes: Axes, groups: Points, axis: str, theory: bool) -> PanelRange:
    def columns(point: IdentificationPoint) -> tuple[float, ...]:
        s = point.summary
        ratio, error = (x / point.lower_bound() for x in (s.mean_time, _errors_of_mean(s)))
        return ratio, ratio - error, ratio + error, ratio, ratio

    ends, drawn = _curves(axes, groups, axis, columns)
    shown = _shown(groups, axis)
    if theory:
        axes.plot([shown[0], shown[-1]], [1, 1], color=INK, linestyle=DOTTED, linewidth=1.6)
        ends.append(End(shown[-1], 1.0, BOUND, INK))
        drawn.append(1.0)
        if axis == "epsilon":
            _switches(axes, groups, shown)
    return PanelRange((shown[0] / 1.15, shown[-1]), (min(drawn), max(drawn)), tuple(ends))


def _bound(groups: Points, axis: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lower bound along an axis, for the budget of the private algorithms."""
    private = (p for p in groups.values() if math.isfinite(p[0].summary.epsilon))
    every = [point for points in groups.values() for point in points]
    points = _sorted(next(private, every), axis)
    if axis in ("epsilon", "delta"):
        x = np.geomspace(points[0].place(axis), points[-1].place(axis), _FINE)
        return x, np.array([points[0].lower_bound(**{axis: float(at)}) for at in x])
    x = np.array([point.place(axis) for point in points])
    return x, np.array([point.lower_bound() for point in points])


def _switches(axes: Axes, groups: Points, shown: Sequence[float]) -> None:
    """Mark the budgets from which on the lower bound is the one without privacy."""
    (point, *_) = next(iter(groups.values()))
    switches = privacy_switches(point.cell.instance.means)
    for x, line in ((switches.exact, "-"), (switches.free, (0, (5, 2)))):
        if shown[0] < x < shown[-1]:
            axes.axvline(x, color="0.55", linewidth=1.0, linestyle=line, zorder=0.5)
