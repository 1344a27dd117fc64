"""The picture of a plan: sample sizes at the planned ε, on the curve of the lower bound."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.figure import Figure

from dpbandits.identification.characteristic_time import sample_lower_bound
from dpbandits.planning import Plan
from dpbandits.plotting.identification_parts import BOUND, FREE, look_of
from dpbandits.plotting.style import (
    DOTTED,
    INK,
    End,
    PanelRange,
    finish_panels,
    make_panels,
    styled,
)

__all__ = ["plan_figure"]

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
    if math.isinf(plan.epsilon):
        raise ValueError(f"plan.epsilon={plan.epsilon!r} has no picture; allowed: a finite ε")
    places = [at for at in (plan.epsilon, plan.free_from) if math.isfinite(at)]
    low, high = min(places) / 10**_DECADES, max(places) * 10**_DECADES
    x = np.geomspace(low, high, 161)
    bound = np.array([sample_lower_bound(plan.means, float(at), plan.delta) for at in x])
    with styled():
        figure, grid = make_panels({"a": ""}, width=6.2, height=3.8)
        axes = grid["a"]
        axes.plot(x, bound, color=INK, linestyle=DOTTED, linewidth=1.6)
        ends = [End(float(x[-1]), float(bound[-1]), BOUND, INK)]
        if math.isfinite(plan.free_from):
            axes.axvline(plan.free_from, color="0.55", linewidth=1.0, zorder=0.5)
        known = [size for size in plan.sizes if math.isfinite(size.mean)]
        for i, size in enumerate(plan.sizes):
            if size not in known:
                continue
            look = look_of(size.algorithm.label, "", i)
            at = plan.epsilon * 1.13 ** (i - (len(plan.sizes) - 1) / 2)
            axes.plot([at, at], [size.mean, size.quantile90], color=look.colour, linewidth=2.0)
            axes.plot(
                at,
                size.mean,
                color=look.colour,
                marker=look.marker,
                markersize=6.5,
                markerfacecolor="white",
                markeredgewidth=1.5,
            )
            text = size.algorithm.label + ("" if size.algorithm.guarantee.is_private else FREE)
            ends.append(End(at, size.mean, text, look.colour))
        axes.set(xscale="log", yscale="log")
        heights = [*bound, *(size.mean for size in known), *(size.quantile90 for size in known)]
        least, most = 10 ** np.floor(np.log10(min(heights))), 10 ** np.ceil(np.log10(max(heights)))
        shown = PanelRange((low, high), (float(least), float(most)), (ends[0],))
        finish_panels(
            figure,
            [axes],
            [shown],
            x_label="privacy budget ε",
            y_label="samples",
        )
        for end in ends[1:]:
            axes.annotate(
                end.text,
                (end.x, end.y),
                xytext=(9, 0),
                textcoords="offset points",
                va="center",
                fontsize=10.5,
                color=INK,
            )
    return figure
