"""Pictures of group-sequential trials: the committee's view, and the ends of planned trials."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator

from dpbandits.plotting import style
from dpbandits.trials.group_plan import GroupSequentialPlan
from dpbandits.trials.group_sequential import GroupSequential
from dpbandits.trials.running_trial import RunningTrial

__all__ = ["draw_looks", "group_plan_figure", "running_trial_figure", "stopping_limits"]

_WIDTH, _NARROW = 7.0, 5.0


def stopping_limits(
    design: GroupSequential, sums: Sequence[tuple[int, int]], share: float | None = None
) -> list[float]:
    """Return the difference of the sums that reaches the boundary, at each look."""
    limits, rate = [], 0.5 if share is None else share
    for k in range(1, design.looks + 1):
        n = k * design.per_look
        if k <= len(sums):
            rate = sum(min(max(each, 0), n) for each in sums[k - 1]) / (2 * n)
        variance = 2 * n * rate * (1.0 - rate) + k * design.noise_variance
        limits.append(float(design.bounds[k - 1]) * math.sqrt(variance))
    return limits


def running_trial_figure(trial: RunningTrial) -> Figure:
    """Draw the released differences, as seen by a committee, and the boundary.

    Parameters
    ----------
    trial : RunningTrial
        The trial, after at least one look.

    Returns
    -------
    matplotlib.figure.Figure
        The picture.

    Raises
    ------
    ValueError
        If there was no look.
    """
    looks, design = trial.looks, trial.design
    if not looks:
        raise ValueError("look is missing; allowed: a picture after one look or more")
    sums = [(each.treatment_sum, each.control_sum) for each in looks]
    with style.styled():
        return draw_looks(
            [2 * design.per_look * k for k in range(1, design.looks + 1)],
            stopping_limits(design, sums),
            [a - b for a, b in sums],
            stopped=trial.decision != "continue",
            both_sides=design.sides == 2,
        )


def group_plan_figure(plan: GroupSequentialPlan) -> Figure:
    """Draw the looks at which planned trials end: with the assumed difference, half of it, none.

    Parameters
    ----------
    plan : GroupSequentialPlan
        The plan.

    Returns
    -------
    matplotlib.figure.Figure
        The picture.
    """
    cases = {
        "assumed difference": (plan.effect, style.COLOURS["blue"], "-", "o"),
        "half of it": (plan.half, style.COLOURS["orange"], style.DASHED, "s"),
        "none": (plan.none, style.INK, style.DOTTED, "D"),
    }
    design = plan.design
    with style.styled():
        width = style.filled_width(0.0) or _WIDTH
        figure, axes = plt.subplots(figsize=(width, 3.6), layout="constrained")
        x = 2 * design.per_look * np.arange(1, design.looks + 1)
        for name, (found, colour, line, marker) in cases.items():
            label = f"{name}: {found.power:.0%} found better, {found.patients:,.0f} patients"
            going = np.cumsum(found.stops)[:-1]
            y = 100 * np.append(going, math.fsum(found.stops))
            axes.plot(x, y, linestyle=line, marker=marker, color=colour, label=label)
        axes.set(ylim=(0, 104), xlabel="patients with known outcome")
        axes.set_title("trials that have ended, %")
        axes.xaxis.set_major_locator(FixedLocator(x.tolist()))
        figure.legend(loc="outside lower center", frameon=False, fontsize=10.5)
    return figure


def draw_looks(
    patients: Sequence[int],
    limits: Sequence[float],
    released: Sequence[float],
    *,
    secret: Sequence[float] = (),
    stopped: bool = True,
    both_sides: bool = False,
    stops: Sequence[float] = (),
    words: str = "successes, treatment less control",
) -> Figure:
    """Draw differences of sums at looks, the boundary, and the shares of trials that end there."""
    width = style.filled_width(0.0) or _WIDTH
    narrow = width < _NARROW
    if stops:
        ratio = {"height_ratios": [1.5, 1]} if narrow else {"width_ratios": [2.6, 1]}
        figure, (axes, bars) = plt.subplots(
            2 if narrow else 1,
            1 if narrow else 2,
            figsize=(width, 5.4 if narrow else 3.5),
            gridspec_kw=ratio,
            layout="constrained",
        )
        _draw_stops(bars, stops)
    else:
        figure, axes = plt.subplots(figsize=(width, 3.5), layout="constrained")
    x, y = np.asarray(patients, float), np.asarray(limits, float)
    first = float(x[0])
    drawn = [*limits, *released, *secret, 0.0]
    high = 1.25 * max(drawn) or 1.0  # a share of 0 or 1 without noise has no variance
    low = -high if both_sides else min(0.0, 1.2 * min(drawn))
    edges = np.append(x - first / 2, x[-1] + first / 2)
    for sign in (1, -1) if both_sides else (1,):
        far = high if sign == 1 else low
        axes.stairs(sign * y, edges, baseline=far, fill=True, color=style.INK, alpha=0.1)
        axes.stairs(sign * y, edges, baseline=None, color=style.INK, linewidth=1.8)
    if secret:
        grey: dict[str, Any] = {"color": style.GREY, "markerfacecolor": "white", "zorder": 3}
        axes.plot(x[: len(secret)], secret, "o--", markersize=8, linewidth=1.0, **grey)
    blue = style.COLOURS["blue"]
    axes.plot(x[: len(released)], released, "o-", color=blue, markersize=8, zorder=4)
    if stopped:
        at = x[len(released) - 1], released[-1]
        ring: dict[str, Any] = {"markerfacecolor": "none", "markeredgewidth": 2.2, "zorder": 5}
        axes.plot(*at, "o", color=style.COLOURS["vermilion"], markersize=17, **ring)
    note: dict[str, Any] = {"textcoords": "offset points", "fontsize": 11}
    axes.annotate("stop", (edges[0], high), (6, -5), va="top", color=style.INK, **note)
    beside = {"ha": "left", "va": "center"}
    axes.annotate("released", (x[0], released[0]), (11, -9), color=blue, **beside, **note)
    if secret:
        above: dict[str, Any] = {"ha": "center", "va": "bottom"}
        axes.annotate("secret", (x[0], secret[0]), (0, 7), color="0.4", **above, **note)
    axes.set(xlim=(edges[0], edges[-1]), ylim=(low, high), xlabel="patients with known outcome")
    axes.set_title(words)
    axes.xaxis.set_major_locator(FixedLocator(x.tolist()))
    axes.xaxis.set_major_formatter("{x:.0f}")
    return figure


def _draw_stops(axes: Axes, stops: Sequence[float]) -> None:
    """Draw bars: the share of trials that stops at each look, and the share that never does."""
    places = np.arange(len(stops))
    colours = [style.COLOURS["blue"]] * (len(stops) - 1) + [style.GREY]
    axes.barh(places, 100 * np.asarray(stops), color=colours, height=0.7)
    for place, value in zip(places, stops, strict=True):
        text, at = f"{100 * value:.1f}", (100 * value, place)
        axes.annotate(text, at, (3, 0), textcoords="offset points", va="center", fontsize=10.5)
    names = [f"look {k}" for k in range(1, len(stops))]
    axes.set_yticks(places, [*names, "never"])
    axes.set(xlim=(0, 125 * max(stops)), ylim=(len(stops) - 0.5, -0.5))
    axes.set_xlabel("% of trials")
    axes.set_title("stop at")
    axes.grid(visible=False, axis="y")
