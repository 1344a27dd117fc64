"""The figure of the errors of private means: why the exponents are what they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from companion.figures.lines import band, chosen_panels
from companion.figures.redraw import redrawable
from companion.slopes import Slope, fit_slope
from companion.tables import records
from dpbandits.heavy_estimates import MODELS, MeanErrors, error_lower_bound, error_rate
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

__all__ = ["ERROR_LOOKS", "error_columns", "error_slopes", "errors_over_rewards"]

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
"""(Model, law) → look."""
_NAMES = {"none": "no privacy", "global": "central", "local": "local"}
_LEGEND = (
    "markers: hardest two-point law for each n and model;  dotted: what no estimator "
    "stays below on both it and 0;  thin: one Pareto law"
)


def error_columns(errors: MeanErrors) -> dict[str, float]:
    """Return the columns of a point of `errors_over_rewards`.

    Errors are in units of u^(1/(1+v)), so that laws of different moments can be compared.

    Returns
    -------
    dict
        ``rms``, the root of the mean square, ends ``low95``, ``high95`` of its interval, and
        ``lower_bound``, what no estimator of the model stays below both on `hard_law` and on the
        law at 0.
    """
    estimator, found = errors.estimator, errors.summary()
    unit = estimator.moment ** (1 / (1 + estimator.order))
    bound = error_lower_bound(estimator.model, errors.n_rewards, estimator.epsilon, estimator.order)
    return {
        "rms": found["rms"] / unit,
        "low95": found["rms_low95"] / unit,
        "high95": found["rms_high95"] / unit,
        "lower_bound": bound,
    }


def error_slopes(table: pd.DataFrame) -> dict[tuple[str, str, str], tuple[Slope, float]]:
    """Fit log error to log n: (panel, model, law) → (slope, what theory says).

    Parameters
    ----------
    table : pandas.DataFrame
        As of `errors_over_rewards`.

    Returns
    -------
    dict
    """
    return {
        (line.panel, line.model, line.law): (
            fit_slope(line.n_rewards, line.rms),
            error_rate(line.model, line.order),
        )
        for line in records(table, ("panel", "order", "model", "law"))
    }


@redrawable
def errors_over_rewards(
    table: pd.DataFrame,
    *,
    titles: Mapping[str, str],
    panels: Sequence[str] | None = None,
    theory: bool = True,
) -> Figure:
    """Draw the root-mean-square error against n, in units of u^(1/(1+v)), with fitted slopes.

    Curves with markers are on the two-point law that is hardest for each n and model; thin ones
    without on a fixed Pareto law. Their 95 % confidence intervals are bands.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns ``panel``, ``order``, ``model``, ``law``, "two points" or "Pareto", ``n_rewards``,
        increasing, and those of `error_columns`.
    titles : mapping of str to str
        Panel → its title.
    panels : sequence of str, optional
        Panels to draw; all if not given.
    theory : bool
        Whether to draw, dotted, what no estimator of the model can stay below.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If a panel is unknown.

    Examples
    --------
    >>> import math
    >>> from dpbandits.heavy_estimates import TruncatedMean, hard_law, mean_errors_many
    >>> from companion.tables import tabulate
    >>> cases = {
    ...     ("a", 1.0, model, law, n): (TruncatedMean(model, e, 1.0), hard_law(model, n, e, 1.0), n)
    ...     for model, e in (("none", math.inf), ("global", 0.5), ("local", 0.5))
    ...     for law in ("two points", "Pareto")
    ...     for n in (10**3, 10**4, 10**5)
    ... }
    >>> labels = ("panel", "order", "model", "law", "n_rewards")
    >>> table = tabulate(mean_errors_many(cases, n_runs=5), error_columns, labels)
    >>> round(error_slopes(table)["a", "none", "two points"][0].slope, 3)
    -0.5
    >>> len(errors_over_rewards(table, titles={"a": "v = 1"}).axes)
    1
    """
    titles = chosen_panels(titles, panels)
    with styled():
        figure, grid = make_panels(titles, 0.3 * theory, width=5.1, height=4.2)
        axes = list(grid.values())
        ranges = [_panel(a, table, panel, theory) for panel, a in grid.items()]
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


def _panel(axes: Axes, table: pd.DataFrame, panel: str, theory: bool) -> PanelRange:
    lines = {(r.model, r.law): r for r in records(table, ("model", "law"), panel=panel)}
    slopes = error_slopes(table)
    ends, heights = [], []
    n = np.array([])
    for law in (EASY, HARD):
        for model in MODELS:
            line, look = lines[model, law], ERROR_LOOKS[model, law]
            n, y = line.n_rewards, line.rms
            band(axes, n, line.low95, line.high95, look)
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
            name = _NAMES[model] if law == HARD else f"{_NAMES[model]}, Pareto"
            ends.append(End(n[-1], y[-1], f"{name}: {slopes[panel, model, law][0]}", look.colour))
            if theory and law == HARD:
                bound = line.lower_bound
                axes.plot(n, bound, color=look.colour, linestyle=DOTTED, linewidth=1.4)
                heights += [bound.min(), bound.max()]
    return PanelRange((n[0] / 1.2, n[-1]), (min(heights), max(heights)), tuple(ends))
