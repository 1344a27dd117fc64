"""How the samples of stopping rules grow as the mean nears 0: local slopes on logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from companion.figures.lines import chosen_panels, lines_of
from companion.figures.redraw import redrawable
from companion.figures.stopping import RULE_LOOKS, Results, marked, measured, smooth_time
from companion.tables import records, tabulate
from dpbandits.plotting.style import INK, End, PanelRange, finish_panels, make_panels, styled
from dpbandits.stopping import NASFamily

__all__ = ["slopes_figure", "slopes_table"]

_SPAN = (0.45, 1.3)
"""Decades of |μ| that a measured slope may span; as near to one as possible."""
_REFERENCES = {-1.0: "1/|μ|", -2.0: "1/μ²"}
_POINTS = 41  # of a computed curve


def slopes_table(runs: Results) -> pd.DataFrame:
    """Make the table of `slopes_figure`: measured and computed slopes d log(samples)/d log|μ|.

    Parameters
    ----------
    runs : mapping of tuple to Estimates
        Runs for several means, as `dpbandits.estimate_many` returns them; the first part of each
        key is the panel.

    Returns
    -------
    pandas.DataFrame
        Columns ``panel``, ``rule``, ``of``, ``mean``, ``slope``, ``error``. Where ``of`` is
        "runs", the slope is one between mean samples about a decade of |μ| apart, at the
        decade's middle, with half its 95 % confidence interval; where it is "condition", one of
        the halting condition without noise and without the steps of doubling.
    """
    rules: dict[tuple[str, str], NASFamily] = {}
    for (panel, *_), found in runs.items():
        rules.setdefault((panel, found.rule.label), cast(NASFamily, found.rule))
    columns: dict[tuple[str, str, str], dict[str, Any]] = {}
    for line in records(measured(runs), ["panel", "rule"]):
        chords = _chords(line)
        if chords:
            names = ("mean", "slope", "error")
            measures = dict(zip(names, np.array(chords).T, strict=True))
            columns[line.panel, line.rule, "runs"] = measures
        grid = np.geomspace(np.abs(line.mean).min(), np.abs(line.mean).max(), _POINTS)
        curve = [_slope(rules[line.panel, line.rule], float(mean)) for mean in grid]
        computed = {"mean": grid, "slope": np.array(curve), "error": np.full(grid.size, np.nan)}
        columns[line.panel, line.rule, "condition"] = computed
    return tabulate(columns, lambda values: values, ("panel", "rule", "of"))


@redrawable
def slopes_figure(
    table: pd.DataFrame,
    *,
    titles: Mapping[str, str],
    panels: Sequence[str] | None = None,
    theory: bool = True,
) -> Figure:
    """Draw d log(samples)/d log|μ| of each rule: −2 where sampling rules, −1 where noise does.

    Parameters
    ----------
    table : pandas.DataFrame
        As `slopes_table` makes it.
    titles : mapping of str to str
        Panel → its title.
    panels : sequence of str, optional
        Panels to draw; all if not given.
    theory : bool
        Whether to draw the slopes of the halting conditions, as curves.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If a panel is unknown.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> rule = dpb.DPNAS(epsilon=1, alpha=0.5, beta=0.05)
    >>> laws = [dpb.instances.two_point(mean) for mean in (0.5, 0.1)]
    >>> runs = dpb.estimate_many({("a", rule, law): (rule, law) for law in laws}, n_runs=5)
    >>> len(slopes_figure(slopes_table(runs), titles={"a": "ε = 1"}).axes)
    1
    """
    titles = chosen_panels(titles, panels)
    by_panel = lines_of(table, titles, by=("panel", "rule", "of"))
    with styled():
        figure, grid = make_panels(titles)
        axes = list(grid.values())
        ranges = [_panel(a, lines, theory) for a, lines in zip(axes, by_panel, strict=True)]
        for a in axes:
            a.set(xscale="log")
        finish_panels(
            figure,
            axes,
            ranges,
            x_label="size |μ| of the mean (units of R)",
            y_label="local slope of log(samples) in log |μ|",
            log="x",
        )
        for a in axes:
            a.yaxis.set_major_locator(MultipleLocator(0.5))
    return figure


def _panel(axes: Axes, lines: Sequence[SimpleNamespace], theory: bool) -> PanelRange:
    means = np.concatenate([line.mean for line in lines])
    low, high = float(means.min()), float(means.max())
    ends = []
    for level, text in _REFERENCES.items():
        axes.plot([low, high], [level, level], color=INK, linewidth=1.0)
        ends.append(End(high, level, text, INK))
    drawn, labelled = [*_REFERENCES], {}
    for line in lines:
        look = RULE_LOOKS[line.rule]
        if line.of == "runs":
            error = line.error
            axes.errorbar(
                line.mean, line.slope, error, color=look.colour, linestyle="none", linewidth=1.4
            )
            marked(axes, line.mean, line.slope, look, linestyle="none")
            drawn += [*line.slope, *(line.slope - error), *(line.slope + error)]
        elif theory:
            axes.plot(line.mean, line.slope, color=look.colour, linestyle=look.line, linewidth=1.5)
            drawn += [*line.slope]
        else:
            continue
        labelled[line.rule] = End(line.mean[-1], line.slope[-1], line.rule, look.colour)
    ends += labelled.values()
    heights = np.nanmin(drawn) - 0.1, np.nanmax(drawn) + 0.1
    return PanelRange((low / 1.15, high), heights, tuple(ends))


def _chords(line: SimpleNamespace) -> list[tuple[float, float, float]]:
    """Return place, slope and half its interval for points about a decade apart."""
    order = np.argsort(np.abs(line.mean))
    order = order[np.isfinite(line.mean_samples[order])]
    sizes, samples = np.abs(line.mean[order]), line.mean_samples[order]
    half = np.log10(line.samples_high95[order] / samples)  # nan for a single run
    chords = []
    for i, size in enumerate(sizes):
        decades = np.log10(sizes[i + 1 :] / size)
        allowed = np.flatnonzero((_SPAN[0] <= decades) & (decades <= _SPAN[1]))
        if allowed.size:
            j = allowed[np.argmin(np.abs(decades[allowed] - 1))]
            width, k = decades[j], i + 1 + j
            slope = math.log10(samples[k] / samples[i]) / width
            error = math.hypot(half[i], half[k]) / width
            chords.append((math.sqrt(size * sizes[k]), slope, error))
    return chords


def _slope(rule: NASFamily, mean: float) -> float:
    """Return d log n/d log|μ| of the smoothed halting condition."""
    step = 1.02
    times = [smooth_time(rule, size) for size in (mean / step, mean * step)]
    return math.log(times[1] / times[0]) / (2 * math.log(step))
