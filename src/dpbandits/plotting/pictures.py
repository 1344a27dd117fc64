"""Pictures of your own runs, and of a plan: sample sizes on the curve of the lower bound."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from dpbandits import bounds
from dpbandits._validation import SMALLEST
from dpbandits.identification import sample_lower_bound
from dpbandits.plotting import style
from dpbandits.regret.simulation import Runs
from dpbandits.rewards.instances import BernoulliInstance
from dpbandits.trials.planning import Plan
from dpbandits.trials.regret_planning import RegretPlan

_COLOURS = ("blue", "vermilion", "green", "purple", "orange", "sky")
_CHOICES = {"DP-IMED": "blue", "DP-KLUCB": "green", "DP-SE": "purple", "one look": "orange"}
MOST_DRAWN = 1e100
"""The largest ε with a picture."""
_LINES = ("-", style.DASHED, style.LONG, style.UNEVEN)
_FIRST = 10.0  # time from which the rates times log t are drawn
_DECADES = 1.2  # extent of a plan's curve on each side of the planned ε and of the switch


def runs_figure(found: Sequence[Runs]) -> Figure:
    """Draw the mean pseudo-regret of runs on one instance, with bands and lower bounds.

    Axes are logarithmic; if no run has any regret, the regret's is linear. The shaded band contains
    the central 90 % of the runs. Thin lines, for rewards of 0 and 1, are the Lai–Robbins rate times
    log t, and the private rate for the least ε of a pure guarantee. They are only asymptotic
    bounds.

    Parameters
    ----------
    found : sequence of Runs
        Runs of one or more algorithms on one instance.

    Returns
    -------
    matplotlib.figure.Figure
        The picture.

    Raises
    ------
    ValueError
        If the runs are on several instances, or the means of the arms are not known.
    """
    if len({(runs.instance.name, *map(repr, runs.instance.means.tolist())) for runs in found}) != 1:
        raise ValueError(f"found={len(found)} runs are not on one instance; allowed: runs on one")
    means = found[0].instance.means
    if np.isnan(means).any():
        raise ValueError(
            f"means={means.tolist()!r} are not known, nor is the regret; allowed: an instance with "
            "means"
        )
    regrets = any((runs.band(0.9)[1] > 0.0).any() for runs in found)
    with style.styled():
        figure, axes = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
        for i, runs in enumerate(found):
            colour = style.COLOURS[_COLOURS[i % len(_COLOURS)]]
            low, high = runs.band(0.9)
            shown = high > 0.0 if regrets else np.full(high.shape, True)
            t = runs.times[shown]
            axes.fill_between(t, low[shown], high[shown], color=colour, alpha=0.2, lw=0)
            label = runs.algorithm.label
            if sum(each.algorithm.label == label for each in found) > 1:
                label = repr(runs.algorithm)
            line = _LINES[i % len(_LINES)]
            axes.plot(t, runs.mean()[shown], linestyle=line, color=colour, label=label)
        if isinstance(found[0].instance, BernoulliInstance) and means.min() < means.max():
            times = np.geomspace(_FIRST, max(float(found[0].horizon), 2 * _FIRST), 100)
            rates: dict[str, Any] = {
                "Lai–Robbins rate · log t": (bounds.lai_robbins_rate(means), "-", "0.55")
            }
            guarantees = [runs.algorithm.guarantee for runs in found]
            least = min((g.epsilon for g in guarantees if g.delta == 0), default=math.inf)
            if least < math.inf:
                rate = bounds.private_regret_rate(means, least)
                rates[f"private rate · log t, ε = {least:g}"] = (rate, style.DOTTED, style.INK)
            for label, (rate, line, colour) in rates.items():
                curve, label = rate * np.log(times), f"{label} (as t → ∞)"
                axes.plot(times, curve, linestyle=line, color=colour, lw=1.3, label=label)
        scale = "log" if regrets or len(axes.lines) > len(found) else "linear"
        axes.set(xscale="log", yscale=scale, xlabel="number of pulls t")
        if not regrets:
            axes.set_title("no regret in any run", loc="right")
        axes.set_ylabel("pseudo-regret (units of reward)")
        axes.set_title(f"{found[0].instance.name}, {found[0].n_runs} runs")
        figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=10)
    return figure


def plan_figure(plan: Plan) -> Figure:
    """Draw a plan: the lower bound against ε, and the algorithms' samples at the planned one.

    A marker is at an algorithm's mean, unless runs were cut off before they stopped; its line ends
    at the number of samples that suffices in nine of ten runs. The vertical line is the ε from
    which privacy is free according to the lower bound.

    Parameters
    ----------
    plan : Plan
        The plan, for an ε of at most 10^100.

    Returns
    -------
    matplotlib.figure.Figure
        The picture.

    Raises
    ------
    ValueError
        If the plan's ε is above 10^100.
    """
    return draw_plan(plan_rows(plan), plan.free_from)


def plan_rows(plan: Plan) -> dict[tuple[str, bool], dict[str, Any]]:
    """Return the data of `plan_figure`, for each algorithm."""
    if plan.epsilon > MOST_DRAWN:
        raise ValueError(
            f"plan.epsilon={plan.epsilon!r} cannot be drawn; allowed: at most {MOST_DRAWN:g}"
        )
    places = [at for at in (plan.epsilon, plan.free_from) if math.isfinite(at)]
    x = np.geomspace(max(min(places) / 10**_DECADES, SMALLEST), max(places) * 10**_DECADES, 81)
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
    return {**rows, (style.BOUND, True): curve}


def draw_plan(rows: Mapping[tuple[str, bool], Mapping[str, Any]], free_from: float) -> Figure:
    """Draw rows of a plan, and a line at the ε from which privacy is free."""
    sizes = dict(rows)
    bound = sizes.pop((style.BOUND, True))
    with style.styled():
        figure, grid = style.make_panels({"a": ""}, width=6.2, height=3.8)
        axes, x, y = grid["a"], bound["epsilon"], bound["samples"]
        axes.plot(x, y, color=style.INK, linestyle=style.DOTTED, linewidth=1.6)
        end = style.End(float(x[-1]), float(y[-1]), style.BOUND, style.INK)
        if math.isfinite(free_from):
            axes.axvline(free_from, color="0.55", linewidth=1.0, zorder=0.5)
        heights = [*y]
        beside: dict[str, Any] = {"xytext": (9, 0), "textcoords": "offset points", "va": "center"}
        for i, ((name, private), size) in enumerate(sizes.items()):
            mean, most = size["samples"], size["samples_q90"]
            if not math.isfinite(mean):
                continue
            look = style.look_of(name, "", i)
            at = size["epsilon"] * 1.13 ** (i - (len(sizes) - 1) / 2)
            axes.plot([at, at], [mean, most], color=look.colour, linewidth=2.0)
            mark: dict[str, Any] = {"marker": look.marker, "markersize": 6.5}
            mark |= {"markerfacecolor": "white", "markeredgewidth": 1.5}
            axes.plot(at, mean, color=look.colour, **mark)
            text = name + ("" if private else style.FREE)
            axes.annotate(text, (at, mean), fontsize=10.5, color=style.INK, **beside)
            heights += [mean, most]
        low, high = 10 ** np.floor(np.log10(min(heights))), 10 ** np.ceil(np.log10(max(heights)))
        shown = style.PanelRange((float(x[0]), float(x[-1])), (float(low), float(high)), (end,))
        labels = {"x_label": "privacy budget ε", "y_label": "samples"}
        style.finish_panels(figure, [axes], [shown], **labels)
    return figure


def regret_plan_figure(plan: RegretPlan) -> Figure:
    """Draw a plan of `plan_regret`: the loss of each algorithm, and that of a coin.

    A bar is the mean; its line ends at the largest loss of 99 in 100 simulated trials, and is thick
    over the 95 % interval of that number; a tick is at the proved bound on the mean, if it is
    within the picture. The dotted line is the coin's.

    Parameters
    ----------
    plan : RegretPlan
        The plan.

    Returns
    -------
    matplotlib.figure.Figure
        The picture.
    """
    with style.styled():
        figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
        names = []
        most = 1.15 * max(plan.coin, *(option.worst_high95 for option in plan.options)) or 1.0
        for place, option in enumerate(reversed(plan.options)):
            name, private = option.algorithm.label, option.algorithm.guarantee.is_private
            names.append(name if private else name + style.FREE)
            colour = style.COLOURS[_CHOICES[name]] if private else "0.6"
            axes.barh(place, option.mean, height=0.6, color=colour)
            low, high = option.worst_low95, option.worst_high95
            axes.plot([option.mean, high], [place, place], color=style.INK, lw=1.6)
            axes.plot([low, high], [place, place], color=style.INK, lw=4.0)
            if option.proved <= most:
                axes.plot([option.proved] * 2, [place - 0.3, place + 0.3], color=style.INK, lw=2.4)
        axes.axvline(plan.coin, color=style.INK, linestyle=style.DOTTED, lw=1.6)
        axes.set_yticks(range(len(names)), names)
        axes.set(
            xlim=(0.0, most),
            xlabel="recoveries lost: mean; line: 99 in 100 (thick: 95 %); tick: proved",
        )
        axes.set_title(f"{plan.patients:,} patients, ε = {plan.epsilon:g}; dotted: a coin")
        axes.grid(visible=False, axis="y")
    return figure
