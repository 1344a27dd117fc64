"""The picture of a plan: sample sizes at the planned ε, on the curve of the lower bound."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dpbandits.identification.characteristic_time import sample_lower_bound
from dpbandits.planning import Plan
from dpbandits.plotting.identification_parts import BOUND, FREE, look_of
from dpbandits.plotting.redraw import redrawable
from dpbandits.plotting.style import (
    DOTTED,
    INK,
    End,
    PanelRange,
    finish_panels,
    make_panels,
    styled,
)
from dpbandits.tables import records, tabulate

__all__ = ["plan_figure", "plan_table"]

_DECADES = 1.2
"""How far the curve goes on each side of the planned ε and of the switch."""


def plan_figure(plan: Plan) -> Figure:
    """Draw a plan: the lower bound against ε, and what the algorithms take at the planned one.

    A marker stands at an algorithm's mean, its line ends at the number of samples that nine in
    ten runs stay within; markers are set a little apart. The vertical line is the ε from which on
    privacy is free, as far as the lower bound can tell.

    Parameters
    ----------
    plan : Plan
        As `dpbandits.plan` returns it, for a finite ε. An algorithm whose mean is unknown, as runs
        were ended before they stopped, is left out.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If the plan is for ε = ∞, which has no place on the axis.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> figure = plan_figure(dpb.plan([0.9, 0.5], epsilon=1.0, delta=0.05, n_runs=2))
    >>> figure.axes[0].get_xlabel()
    'privacy budget ε'
    """
    return _draw(plan_table(plan))


def plan_table(plan: Plan) -> pd.DataFrame:
    """Return what `plan_figure` draws as a table, ready to publish.

    Returns
    -------
    pandas.DataFrame
        A row per algorithm, with the mean and the number of samples that nine in ten runs stay
        within; the lower bound at some ε as rows of the algorithm "lower bound"; in ``free_from``
        the ε from which on privacy is free, as far as the bound can tell.

    Raises
    ------
    ValueError
        As `plan_figure`.
    """
    if math.isinf(plan.epsilon):
        raise ValueError(f"plan.epsilon={plan.epsilon!r} has no picture; allowed: a finite ε")
    places = [at for at in (plan.epsilon, plan.free_from) if math.isfinite(at)]
    x = np.geomspace(min(places) / 10**_DECADES, max(places) * 10**_DECADES, 81)
    bound = np.array([sample_lower_bound(plan.means, float(at), plan.delta) for at in x])
    rows: dict[tuple[str, bool], dict[str, Any]] = {
        (size.algorithm.label, size.algorithm.guarantee.is_private): {
            "epsilon": plan.epsilon,
            "samples": float(size.mean),
            "samples_q90": float(size.quantile90),
            "n_runs": size.n_runs,
        }
        for size in plan.sizes
    }
    curve = {"epsilon": x, "samples": bound, "samples_q90": np.full(x.size, math.nan), "n_runs": 0}
    rows[BOUND, True] = curve
    table = tabulate(rows, dict, ("algorithm", "private"))
    return table.assign(free_from=float(f"{plan.free_from:.7g}"))


@redrawable
def _draw(table: pd.DataFrame) -> Figure:
    """Draw a plan from its table; see `plan_figure`."""
    *sizes, bound = records(table, ("algorithm", "private"))
    with styled():
        figure, grid = make_panels({"a": ""}, width=6.2, height=3.8)
        axes = grid["a"]
        axes.plot(bound.epsilon, bound.samples, color=INK, linestyle=DOTTED, linewidth=1.6)
        end = End(float(bound.epsilon[-1]), float(bound.samples[-1]), BOUND, INK)
        free_from = float(bound.free_from[0])
        if math.isfinite(free_from):
            axes.axvline(free_from, color="0.55", linewidth=1.0, zorder=0.5)
        heights = [*bound.samples]
        for i, size in enumerate(sizes):
            mean, most = float(size.samples[0]), float(size.samples_q90[0])
            if not math.isfinite(mean):
                continue
            look = look_of(size.algorithm, "", i)
            at = float(size.epsilon[0]) * 1.13 ** (i - (len(sizes) - 1) / 2)
            axes.plot([at, at], [mean, most], color=look.colour, linewidth=2.0)
            axes.plot(
                at,
                mean,
                color=look.colour,
                marker=look.marker,
                markersize=6.5,
                markerfacecolor="white",
                markeredgewidth=1.5,
            )
            axes.annotate(
                size.algorithm + ("" if size.private else FREE),
                (at, mean),
                xytext=(9, 0),
                textcoords="offset points",
                va="center",
                fontsize=10.5,
                color=INK,
            )
            heights += [mean, most]
        axes.set(xscale="log", yscale="log")
        low, high = 10 ** np.floor(np.log10(min(heights))), 10 ** np.ceil(np.log10(max(heights)))
        x = float(bound.epsilon[0]), float(bound.epsilon[-1])
        shown = PanelRange(x, (float(low), float(high)), (end,))
        finish_panels(figure, [axes], [shown], x_label="privacy budget ε", y_label="samples")
    return figure
