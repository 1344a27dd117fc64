"""The figure of the errors of private means: why the exponents are what they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpbandits._validation import check_choice
from dpbandits.experiments import Data, Results, rows_of
from dpbandits.experiments.estimation_cells import EstimationCell
from dpbandits.experiments.estimation_tables import EstimationSummary
from dpbandits.experiments.slopes import Slope, fit_slope
from dpbandits.heavy_estimates import MODELS, error_lower_bound, error_rate
from dpbandits.plotting.style import (
    COLOURS,
    DASHED,
    DOTTED,
    INK,
    End,
    Look,
    PanelRange,
    finish_panels,
    make_panels,
    styled,
)

__all__ = ["ERROR_LOOKS", "ErrorCurve", "error_curves", "estimation_figure"]

HARD, EASY = "two points", "Pareto"
_THIN = 1.1
ERROR_LOOKS = {
    ("none", HARD): Look(COLOURS["black"], "-", "v", 1.9),
    ("none", EASY): Look(COLOURS["black"], (0, (9, 2)), "", _THIN),
    ("global", HARD): Look(COLOURS["blue"], (0, (6, 1.2, 1.2, 1.2)), "o", 1.9),
    ("global", EASY): Look(COLOURS["blue"], (0, (2.4, 1)), "", _THIN),
    ("local", HARD): Look(COLOURS["vermilion"], DASHED, "s", 1.9),
    ("local", EASY): Look(COLOURS["vermilion"], (0, (5, 2.5)), "", _THIN),
}
"""(Model, variant) → look."""
_NAMES = {"none": "no privacy", "global": "central", "local": "local"}
_LEGEND = (
    "markers: hardest two-point law for each n and model;  dotted: what no estimator "
    "stays below on both it and 0;  thin: one Pareto law"
)


@dataclass(frozen=True)
class ErrorCurve:
    """Errors of one model on one kind of law, against n.

    Attributes
    ----------
    model, variant : str
        Who is trusted, and the kind of law: "two points" or "Pareto".
    summaries : tuple of EstimationSummary
        By increasing n.
    cells : tuple of EstimationCell
        What was simulated.
    slope : Slope
        Of log error in log n.
    theory : float
        `error_rate`.
    """

    model: str
    variant: str
    summaries: tuple[EstimationSummary, ...]
    cells: tuple[EstimationCell, ...]
    slope: Slope
    theory: float

    def scaled(self, values: Sequence[float]) -> np.ndarray:
        """Divide errors by u^(1/(1+v)), so that laws of different moment can be compared."""
        estimator = self.cells[0].estimator
        return np.array(values) / estimator.moment ** (1 / (1 + estimator.order))


def error_curves(source: Results | Data | str) -> dict[tuple[str, str, str], ErrorCurve]:
    """Return the curves of an experiment on estimation: (panel, model, variant) → curve.

    Examples
    --------
    >>> from dpbandits import experiments
    >>> curves = error_curves(experiments.run("ours-heavy-error", preset="smoke"))
    >>> round(curves["a", "none", "two points"].slope.slope, 3)
    -0.5
    """
    experiment, rows = rows_of(source)
    if experiment.table.kind != "estimation":
        raise ValueError(
            f"source={experiment.id!r} is on {experiment.table.kind}; allowed: an experiment on "
            "estimation; dpbandits.plotting.draw draws any"
        )
    groups: dict[tuple[str, str, str], list[tuple[EstimationSummary, EstimationCell]]] = {}
    for row in rows:
        s = row.summary
        groups.setdefault((s.panel, s.model, s.variant), []).append((s, row.setting.cell))
    found = {}
    for key, pairs in groups.items():
        summaries, cells = zip(*sorted(pairs, key=lambda pair: pair[0].n_rewards), strict=True)
        slope = fit_slope([s.n_rewards for s in summaries], [s.rms for s in summaries])
        rate = error_rate(key[1], cells[0].estimator.order)
        found[key] = ErrorCurve(key[1], key[2], summaries, cells, slope, rate)
    return found


def estimation_figure(
    source: Results | Data | str, *, theory: bool = True, panels: Sequence[str] | None = None
) -> Figure:
    """Draw the root-mean-square error against n, in units of u^(1/(1+v)), with fitted slopes.

    Curves with markers are on the two-point law that is hardest for each n and model; thin ones
    without on a fixed Pareto law. Their 95 % confidence intervals are bands.

    Parameters
    ----------
    source : Results, Data or str
        Of ``ours-heavy-error``.
    theory : bool
        Whether to draw, dotted, what no estimator of the model can stay below.
    panels : sequence of str, optional
        Which panels, all if not given.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If an argument is unknown, or the committed data is stale.
    """
    curves = error_curves(source)
    experiment, _ = rows_of(source)
    for panel in panels or ():
        check_choice("panel", panel, tuple(experiment.panels))
    titles = {p: t for p, t in experiment.panels.items() if not panels or p in panels}
    with styled():
        figure, grid = make_panels(titles, 0.3 * theory, width=5.1, height=4.2)
        axes = list(grid.values())
        ranges = [_panel(grid[panel], panel, curves, theory) for panel in titles]
        for a in axes:
            a.set(xscale="log", yscale="log")
        finish_panels(
            figure,
            axes,
            ranges,
            x_label="number of rewards n",
            y_label="root-mean-square error / $u^{1/(1+v)}$",
        )
        if theory:
            figure.text(0.5, 0.02, _LEGEND, ha="center", fontsize=10.5, color=INK)
    return figure


def _panel(
    axes: Axes, panel: str, curves: Mapping[tuple[str, str, str], ErrorCurve], theory: bool
) -> PanelRange:
    ends, heights = [], []
    n = np.array([])
    for variant in (EASY, HARD):
        for model in MODELS:
            curve, look = curves[panel, model, variant], ERROR_LOOKS[model, variant]
            n = np.array([s.n_rewards for s in curve.summaries], dtype=np.float64)
            y = curve.scaled([s.rms for s in curve.summaries])
            low = curve.scaled([s.rms_low95 for s in curve.summaries])
            high = curve.scaled([s.rms_high95 for s in curve.summaries])
            axes.fill_between(n, low, high, color=look.colour, alpha=0.22, linewidth=0)
            axes.plot(
                n,
                y,
                color=look.colour,
                linestyle=look.line,
                linewidth=look.width,
                marker=look.marker or None,
                markersize=4.2,
                markerfacecolor="white",
                markeredgewidth=1.2,
            )
            heights += [y.min(), y.max()]
            name = _NAMES[model] if variant == HARD else f"{_NAMES[model]}, Pareto"
            text = f"{name}: {curve.slope}"
            ends.append(End(n[-1], y[-1], text, look.colour))
            if theory and variant == HARD:
                e = curve.cells[0].estimator
                bound = [error_lower_bound(model, int(k), e.epsilon, e.order) for k in n]
                axes.plot(n, bound, color=look.colour, linestyle=DOTTED, linewidth=1.4)
                heights += [min(bound), max(bound)]
    return PanelRange((n[0] / 1.2, n[-1]), (min(heights), max(heights)), tuple(ends))
