"""The picture of a plan: sample sizes at the planned ε, on the curve of the lower bound."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from dpbandits.identification.characteristic import sample_lower_bound
from dpbandits.planning import Plan
from dpbandits.plotting.identification_looks import BOUND, FREE, look_of
from dpbandits.plotting.style import (
    DOTTED,
    INK,
    End,
    PanelRange,
    finish_panels,
    make_panels,
    styled,
)

__all__ = ["draw_plan", "plan_figure", "plan_rows"]

Rows = Mapping[tuple[str, bool], Mapping[str, Any]]
"""What is drawn, by an algorithm's name and whether it is private."""

_DECADES = 1.2
"""How far the curve goes on each side of the planned ε and of the switch."""


def plan_figure(plan: Plan) -> Figure:
    """Draw a plan: the lower bound against ε, and what the algorithms take at the planned one.

    A marker stands at an algorithm's mean, its line ends at the number of samples that nine in
    ten runs stay within; markers are set a little apart. The vertical line is the ε from which on
    privacy is free, as far as the lower bound can tell.

    The plan is for a finite ε: ε = ∞ has no place on the axis, which raises a `ValueError`. An
    algorithm whose mean is unknown, as runs were ended before they stopped, is left out.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> figure = plan_figure(dpb.plan([0.9, 0.5], epsilon=1.0, delta=0.05, n_runs=2))
    >>> figure.axes[0].get_xlabel()
    'privacy budget ε'
    """
    return draw_plan(plan_rows(plan), plan.free_from)


def plan_rows(plan: Plan) -> dict[tuple[str, bool], dict[str, Any]]:
    """Return what `plan_figure` draws, for each algorithm, by its name and whether it is private.

    A row has ``epsilon``, the mean number of ``samples``, ``samples_q90``, the number that nine in
    ten runs stay within, and ``n_runs``. At last the lower bound, as arrays over ε, under the name
    "lower bound".
    """
    if math.isinf(plan.epsilon):
        raise ValueError(f"plan.epsilon={plan.epsilon!r} has no picture; allowed: a finite ε")
    places = [at for at in (plan.epsilon, plan.free_from) if math.isfinite(at)]
    x = np.geomspace(min(places) / 10**_DECADES, max(places) * 10**_DECADES, 81)
    bound = np.array([sample_lower_bound(plan.means, float(at), plan.delta) for at in x])
    rows: dict[tuple[str, bool], dict[str, Any]] = {
        (runs.algorithm.label, runs.algorithm.guarantee.is_private): {
            "epsilon": plan.epsilon,
            "samples": runs.mean_time()[0],
            "samples_q90": runs.time_quantiles(0.9).item(),
            "n_runs": runs.n_runs,
        }
        for runs in plan.runs
    }
    curve = {"epsilon": x, "samples": bound, "samples_q90": np.full(x.size, math.nan), "n_runs": 0}
    rows[BOUND, True] = curve
    return rows


def draw_plan(rows: Rows, free_from: float) -> Figure:
    """Draw what `plan_rows` returns, and a line at the ε from which on privacy is free."""
    bound = rows[BOUND, True]
    sizes = {name: row for name, row in rows.items() if name[0] != BOUND}
    with styled():
        figure, grid = make_panels({"a": ""}, width=6.2, height=3.8)
        axes = grid["a"]
        axes.plot(bound["epsilon"], bound["samples"], color=INK, linestyle=DOTTED, linewidth=1.6)
        end = End(float(bound["epsilon"][-1]), float(bound["samples"][-1]), BOUND, INK)
        if math.isfinite(free_from):
            axes.axvline(free_from, color="0.55", linewidth=1.0, zorder=0.5)
        heights = [*bound["samples"]]
        for i, ((name, private), size) in enumerate(sizes.items()):
            mean, most = size["samples"], size["samples_q90"]
            if not math.isfinite(mean):
                continue
            look = look_of(name, "", i)
            at = size["epsilon"] * 1.13 ** (i - (len(sizes) - 1) / 2)
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
                name + ("" if private else FREE),
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
        x = float(bound["epsilon"][0]), float(bound["epsilon"][-1])
        shown = PanelRange(x, (float(low), float(high)), (end,))
        finish_panels(figure, [axes], [shown], x_label="privacy budget ε", y_label="samples")
    return figure
