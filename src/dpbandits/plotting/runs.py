"""A picture of your own runs: mean regret over time, its spread, and the lower bounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from dpbandits import bounds
from dpbandits.plotting.style import COLOURS, DASHED, DOTTED, INK, styled
from dpbandits.rewards.instances import BernoulliInstance
from dpbandits.simulation import Runs

__all__ = ["runs_figure"]

_COLOURS = ("blue", "vermilion", "green", "purple", "orange", "sky")
_LINES = ("-", DASHED, (0, (9, 2)), (0, (6, 1.2, 1.2, 1.2)))
_FIRST = 10.0
"""Time from which on the rates times log t are drawn."""


def runs_figure(found: Sequence[Runs]) -> Figure:
    """Draw the mean pseudo-regret of runs on one instance, with bands and lower bounds.

    Logarithmic axes. The shade holds the central 90 % of the runs. Thin lines, for rewards of 0
    and 1: the rate of Lai and Robbins times log t, and for the least ε that a pure guarantee
    has, the private rate. They are bounds in the limit alone. Runs on several instances raise a
    `ValueError`.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> instance = dpb.instances.bernoulli([0.9, 0.8])
    >>> figure = runs_figure([dpb.simulate(dpb.DPSE(epsilon=0.5), instance, 10_000, 5)])
    >>> len(figure.axes)
    1
    """
    if len({(runs.instance.name, *runs.instance.means.tolist()) for runs in found}) != 1:
        raise ValueError(f"found={len(found)} runs are not on one instance; allowed: runs on one")
    means = found[0].instance.means
    bounded = isinstance(found[0].instance, BernoulliInstance) and means.min() < means.max()
    with styled():
        figure, axes = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
        for i, runs in enumerate(found):
            colour = COLOURS[_COLOURS[i % len(_COLOURS)]]
            low, high = runs.band(0.9)
            shown = high > 0.0
            t = runs.times[shown]
            axes.fill_between(t, low[shown], high[shown], color=colour, alpha=0.2, lw=0)
            label = runs.algorithm.label
            if sum(each.algorithm.label == label for each in found) > 1:
                label = repr(runs.algorithm)
            line = _LINES[i % len(_LINES)]
            axes.plot(t, runs.mean()[shown], linestyle=line, color=colour, label=label)
        times = np.geomspace(_FIRST, max(float(found[0].horizon), 2 * _FIRST), 100)
        budgets = [r.algorithm.guarantee.epsilon for r in found if r.algorithm.guarantee.delta == 0]
        finite = [epsilon for epsilon in budgets if np.isfinite(epsilon)]
        if bounded:
            rate = bounds.lai_robbins_rate(means)
            label = "Lai–Robbins rate · log t (as t → ∞)"
            axes.plot(times, rate * np.log(times), color="0.55", lw=1.3, label=label)
        if bounded and finite:
            rate = bounds.private_regret_rate(means, min(finite))
            label = f"private rate · log t, ε = {min(finite):g} (as t → ∞)"
            axes.plot(times, rate * np.log(times), linestyle=DOTTED, color=INK, lw=1.3, label=label)
        axes.set(xscale="log", yscale="log", xlabel="number of pulls t")
        axes.set_ylabel("pseudo-regret (units of reward)")
        axes.set_title(f"{found[0].instance.name}, {found[0].n_runs} runs")
        figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=10)
    return figure
