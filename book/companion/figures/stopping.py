"""Samples of stopping rules against a parameter, and what the other figures of the rules share."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from scipy import optimize

from companion.figures.lines import band, chosen_panels, lines_of
from companion.figures.redraw import redrawable
from companion.tables import tabulate
from dpbandits._validation import check_choice
from dpbandits.bounds import (
    stopping_complexity_lower_bound,
    stopping_lower_bound,
    stopping_samples,
)
from dpbandits.halting import boundary
from dpbandits.plotting.style import (
    COLOURS,
    DASHED,
    DOTTED,
    End,
    Look,
    PanelRange,
    finish_panels,
    make_panels,
    styled,
)
from dpbandits.rewards.instances import low_variance, two_point
from dpbandits.rewards.laws import Law
from dpbandits.stopping import DPExponentialNAS, Estimates, NASFamily, StoppingRule

__all__ = [
    "RULE_LOOKS",
    "THEORY",
    "Results",
    "marked",
    "measured",
    "samples_figure",
    "samples_table",
    "smooth_time",
]

Results = Mapping[tuple[Any, ...], Estimates]
"""What `dpbandits.estimate_many` returned, with keys whose first part is the panel."""

RULE_LOOKS = {
    "NAS": Look(COLOURS["black"], (0, (5, 1.3, 1, 1.3)), "D", 1.7),
    "DP-NAS": Look(COLOURS["vermilion"], DASHED, "s", 1.7),
    "DP-exp-NAS": Look(COLOURS["blue"], "-", "o", 1.7),
    "EBGStop": Look(COLOURS["green"], (0, (8, 1.5)), "^", 1.7),
}
"""Label of a stopping rule → its colour, line and marker, the same in every figure."""

LABELS = ("panel", "rule", "law", "mean", "deviation", "alpha", "beta", "epsilon")
THEORY = "theory"
"""What stands in the column ``rule`` in rows that are computed from theorems."""

_X_LABELS = {
    "mean": "size |μ| of the mean (units of R)",
    "alpha": "relative error α",
    "epsilon": "privacy budget ε",
    "beta": "probability β of a greater error",
    "deviation": "standard deviation σ (units of R)",
}
_EXPLAINED = "DP-exp-NAS"
"""Rule whose noiseless halting time and upper bound are drawn; that of others is their curve."""
_POINTS = 91  # of the curves from theory
_DEPTH = 40.0
"""How far below the least mean a panel goes, as a factor."""
_EDGE = "0.45"  # grey of the lines around the regions where no rule can be


# ------------------------------------------------------------------------------------ tables


def measured(runs: Results) -> pd.DataFrame:
    """Make a table of what the runs of each case found, a row per case.

    Parameters
    ----------
    runs : mapping of tuple to Estimates
        As `dpbandits.estimate_many` returns it; the first part of each key is the panel.

    Returns
    -------
    pandas.DataFrame
        Columns ``panel``, ``rule``, ``law``, ``mean``, ``deviation``, ``alpha``, ``beta``,
        ``epsilon`` and those of `Estimates.summary`.
    """
    labelled = {}
    for (panel, *_), found in runs.items():
        rule, law = found.rule, found.law
        epsilon = float(getattr(rule, "epsilon", math.inf))
        numbers = (law.mean, math.sqrt(law.variance), rule.alpha, rule.beta, epsilon)
        labelled[panel, rule.label, law.name, *numbers] = found
    return tabulate(labelled, names=LABELS)


def samples_table(runs: Results, over: str) -> pd.DataFrame:
    """Make the table of `samples_figure`: what was measured, and what theory says.

    Parameters
    ----------
    runs : mapping of tuple to Estimates
        As `dpbandits.estimate_many` returns it; the first part of each key is the panel. Each
        panel has runs of `DPExponentialNAS`.
    over : {"mean", "alpha", "epsilon", "beta", "deviation"}
        What differs within a panel.

    Returns
    -------
    pandas.DataFrame
        The columns of `measured` without errors. Rows whose ``rule`` is "theory" have, at places
        in between, ``noiseless``: when DP-exp-NAS halts on a stream that is constantly its mean
        and without noise; ``surely``: its upper bound `dpbandits.bounds.stopping_samples`;
        ``any_rule`` and ``private_rule``: lower bounds for every rule that is right on every
        law, and for those that are ε-DP as well.
    """
    check_choice("over", over, tuple(_X_LABELS))
    table = measured(runs)
    table = table.drop(columns=[name for name in table.columns if name.startswith("error_")])
    if over != "deviation":
        table = table.drop(columns="deviation")
    theory = {}
    for panel in dict.fromkeys(key[0] for key in runs):
        pairs = [(r.rule, r.law) for key, r in runs.items() if key[0] == panel]
        explained = [pair for pair in pairs if pair[0].label == _EXPLAINED]
        theory[panel, THEORY] = _theory(explained, over)
    rows = tabulate(theory, lambda columns: columns, ("panel", "rule"))
    return pd.concat([table, rows], ignore_index=True).fillna({"law": ""})


def _theory(pairs: Sequence[tuple[StoppingRule, Law]], over: str) -> dict[str, Any]:
    """Return the columns that theorems fill, between the least and the greatest place."""
    rows = []
    for x, rule, law in _between(pairs, over):
        any_rule = private = math.nan
        if rule.beta < 0.5:
            any_rule = private = stopping_lower_bound(law, rule.alpha, rule.beta)
        if rule.beta < 0.25:
            private = stopping_complexity_lower_bound(law, rule.alpha, rule.beta, rule.epsilon)
        noiseless = float(rule.noiseless_time(law.mean))
        rows.append((x, noiseless, float(stopping_samples(rule, law.mean)), any_rule, private))
    names = (over, "noiseless", "surely", "any_rule", "private_rule")
    return dict(zip(names, np.array(rows).T, strict=True))


def _place(rule: StoppingRule, law: Law, over: str) -> float:
    """Return where a rule on a law stands on the horizontal axis."""
    if over in ("mean", "deviation"):
        return abs(law.mean) if over == "mean" else math.sqrt(law.variance)
    return float(getattr(rule, over))


def _between(
    pairs: Sequence[tuple[StoppingRule, Law]], over: str
) -> Iterator[tuple[float, DPExponentialNAS, Law]]:
    """Yield places from the least to the greatest of the pairs, each with its rule and law."""
    rule, law = cast(DPExponentialNAS, pairs[0][0]), pairs[0][1]
    places = [_place(*pair, over) for pair in pairs]
    if over == "deviation":
        room = (law.half_range - abs(law.mean)) * (1 - 1e-12)
        for x in np.geomspace(min(places), room, _POINTS):
            yield float(x), rule, low_variance(law.mean, float(x), law.half_range)
        # beyond the deviations that `low_variance` reaches, the laws of the pairs themselves
        for place, (_, other) in zip(places, pairs, strict=True):
            if place > room:
                yield place, rule, other
        return
    grid = np.geomspace(min(places), max(places), _POINTS)
    if over == "beta":  # the lower bounds fall to 0 at β = 1/2
        grid = np.unique(np.append(grid, min(0.4999, max(places))))
    for x in map(float, grid):
        if over == "mean":
            yield x, rule, two_point(x, law.half_range)
        else:
            options: dict[str, Any] = {over: x}
            yield x, replace(rule, **options), law


def smooth_time(rule: NASFamily, mean: float) -> float:
    """Solve n·|μ| = n·h·(1 + 1/α) + c for a real n: `noiseless_time` without its rounding up.

    For a rule that looks at n = 2, 4, 8, … this takes away the steps: the number of the look is
    log2(n), whole or not.
    """
    halting, by_doubling = rule.halting, isinstance(rule, DPExponentialNAS)

    def missing(log_n: float) -> float:
        n = math.exp(log_n)
        look: Any = math.log2(n) if by_doubling else n
        return float(n * abs(mean) - boundary(halting, n, look))

    # the condition holds at the noiseless time, and never at the first look, where h > R
    ends = math.log(rule.look_time(1)), math.log(rule.noiseless_time(mean)) + 1e-9
    return math.exp(float(optimize.brentq(missing, *ends)))


# ------------------------------------------------------------------------------------ figure


@redrawable
def samples_figure(
    table: pd.DataFrame,
    *,
    over: str,
    titles: Mapping[str, str],
    panels: Sequence[str] | None = None,
    theory: bool = True,
) -> Figure:
    """Draw the mean number of samples against a parameter, with a band of 90 % of the runs.

    Cases in which a run has not halted are left out.

    Parameters
    ----------
    table : pandas.DataFrame
        As `samples_table` makes it.
    over : {"mean", "alpha", "epsilon", "beta", "deviation"}
        What the horizontal axis shows. A rule without ε is level over ε.
    titles : mapping of str to str
        Panel → its title.
    panels : sequence of str, optional
        Panels to draw; all if not given.
    theory : bool
        Whether to draw what theory says: the noiseless time of DP-exp-NAS (thin, with steps from
        the doubling) and its upper bound (dotted), and as shaded regions where no rule, and no
        ε-DP rule, can have its mean.

    Returns
    -------
    matplotlib.figure.Figure
        With at most two panels a row, on opaque white.

    Raises
    ------
    ValueError
        If `over` or a panel is unknown.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> rule = dpb.DPExponentialNAS(epsilon=1, alpha=0.5, beta=0.05)
    >>> laws = [dpb.instances.two_point(mean) for mean in (0.5, 0.2)]
    >>> runs = dpb.estimate_many({("a", rule, law): (rule, law) for law in laws}, n_runs=5)
    >>> figure = samples_figure(samples_table(runs, "mean"), over="mean", titles={"a": "ε = 1"})
    >>> len(figure.axes)
    1
    """
    check_choice("over", over, tuple(_X_LABELS))
    titles = chosen_panels(titles, panels)
    by_panel = lines_of(table, titles, by=("panel", "rule"))
    with styled():
        figure, grid = make_panels(titles)
        axes = list(grid.values())
        ranges = [_sweep(a, lines, over, theory) for a, lines in zip(axes, by_panel, strict=True)]
        for a in axes:
            a.set(xscale="log", yscale="log")
        finish_panels(
            figure, axes, ranges, x_label=_X_LABELS[over], y_label="mean number of samples"
        )
    return figure


def _sweep(axes: Axes, lines: Sequence[SimpleNamespace], over: str, theory: bool) -> PanelRange:
    """Draw the samples of some rules against a parameter."""
    rules = [line for line in lines if line.rule != THEORY]
    places = {abs(x) for line in rules for x in getattr(line, over)}
    shown = sorted(x for x in places if math.isfinite(x))
    ends, drawn = [], []
    for line in rules:
        look = RULE_LOOKS[line.rule]
        x = np.abs(getattr(line, over))
        order = np.argsort(x)
        x = x[order]
        curves = (line.mean_samples, line.samples_q05, line.samples_q95)
        mean, low, high = (values[order] for values in curves)
        drawn += [*mean, *low, *high]
        if math.isinf(x[0]):  # without ε, so that the curve is level
            x = np.array([shown[0], shown[-1]])
            mean, low, high = (np.repeat(values, 2) for values in (mean, low, high))
            look = replace(look, marker="")
        band(axes, x, low, high, look)
        marked(axes, x, mean, look)
        known = np.flatnonzero(np.isfinite(mean))
        if known.size:
            ends.append(End(x[known[-1]], mean[known[-1]], line.rule, look.colour))
    if theory:
        (line,) = (line for line in lines if line.rule == THEORY)
        look, x = RULE_LOOKS[_EXPLAINED], getattr(line, over)
        axes.plot(x, line.noiseless, color=look.colour, linewidth=0.8)
        axes.plot(x, line.surely, color=look.colour, linestyle=DOTTED, linewidth=1.3)
        ends.append(End(x[-1], line.surely[-1], "upper bound", look.colour))
        drawn += [*line.surely]
        lowest = min(float(np.nanmin(drawn)) / _DEPTH, np.nanmax(line.any_rule))
        ends += _shade(axes, x, line, lowest)
        drawn.append(max(lowest, np.nanmin(line.any_rule)))
    heights = float(np.nanmin(drawn)), float(np.nanmax(drawn))
    return PanelRange((shown[0] / 1.15, shown[-1]), heights, tuple(ends))


def _shade(axes: Axes, x: ArrayLike, line: SimpleNamespace, lowest: float) -> list[End]:
    """Shade where no rule can be; the label stands where the region's edge leaves the panel."""
    ends, x = [], np.asarray(x)
    regions = [("no rule", line.any_rule, "0.8")]
    if np.any(line.private_rule > line.any_rule):
        regions.append(("no ε-DP rule", line.private_rule, "0.91"))
    for height, (text, edge, shade) in enumerate(regions):
        axes.fill_between(x, edge * 1e-9, edge, color=shade, linewidth=0, zorder=0.5 - height / 10)
        axes.plot(x, edge, color=_EDGE, linewidth=0.9, zorder=0.6)
        last = np.flatnonzero(edge >= lowest)[-1]
        ends.append(End(float(x[last]), edge[last], text, _EDGE))
    return ends


def marked(axes: Axes, x: ArrayLike, y: ArrayLike, look: Look, **options: Any) -> None:
    """Draw a curve through measured points."""
    chosen = {"linestyle": look.line, "marker": look.marker, "markersize": 4.2, **options}
    axes.plot(
        np.asarray(x),
        np.asarray(y),
        color=look.colour,
        linewidth=look.width,
        markerfacecolor="white",
        markeredgewidth=1.2,
        **chosen,
    )
