"""Regret over time where algorithms stand in several readings: the experiments after TD16."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from companion.figures.lines import band, chosen_panels, first_shown, lines_of
from companion.figures.redraw import redrawable
from companion.tables import curve, tabulate
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
from dpbandits.simulation import Runs

__all__ = [
    "ALGORITHM_LOOKS",
    "LABELS",
    "NAMES",
    "readings_over_time",
    "readings_table",
    "with_looks",
]

LABELS = ("panel", "algorithm", "variant")
"""What the parts of a case's key are; the first reading of an algorithm is its main one."""

_MAIN, _THIN = 2.6, 1.2
_WIDTH, _HEIGHT = 4.4, 3.7  # inches of a panel with a dozen labels


def _looks(colour: str, main: object, *others: object) -> tuple[Look, ...]:
    thin = (Look(COLOURS[colour], line, width=_THIN) for line in others)
    return Look(COLOURS[colour], main, width=_MAIN), *thin


ALGORITHM_LOOKS: dict[str, tuple[Look, ...]] = {
    "UCB": (Look(COLOURS["black"], "-", width=1.6),),
    "DP-SE": _looks("blue", (0, (1.2, 0.9))),
    "Private-UCB": _looks("orange", (0, (6, 1.2, 1.2, 1.2)), (0, (3, 2.5))),
    "DP-UCB": _looks("vermilion", DASHED),
    "DP-UCB-HYBRID": _looks("sky", (0, (9, 2)), (0, (10, 2, 2, 2)), (0, (10, 2, 2, 2, 2, 2))),
    "DP-UCB-BOUND": _looks("purple", (0, (2.4, 1)), (0, (5, 3)), (0, (2, 2))),
    "DP-UCB-INT": _looks("green", "-", (0, (14, 3)), (0, (5, 2, 1.5, 2))),
}
"""Algorithm → looks of its readings, by their order in a panel: the main one, then others."""

NAMES = {
    ("UCB", ""): "UCB",
    ("DP-SE", ""): "DP-SE",
    ("Private-UCB", "ε/K"): "Private, ε/K",
    ("Private-UCB", "ε per arm"): "Private, ε per arm",
    ("Private-UCB", "calibrated"): "Private-UCB",
    ("DP-UCB", "tree-tight, calibrated"): "DP-UCB",
    ("DP-UCB-HYBRID", "full"): "HYBRID",
    ("DP-UCB-HYBRID", "half"): "HYBRID, half",
    ("DP-UCB-HYBRID", "no bonus"): "HYBRID, no bonus",
    ("DP-UCB-BOUND", "full"): "BOUND",
    ("DP-UCB-BOUND", "half"): "BOUND, half",
    ("DP-UCB-BOUND", "no bonus"): "BOUND, no bonus",
    ("DP-UCB-BOUND", "repaired"): "BOUND, repaired",
    ("DP-UCB-INT", "refreshed"): "INT",
    ("DP-UCB-INT", "frozen"): "INT, frozen",
    ("DP-UCB-INT", "literal"): "INT, literal",
    ("DP-UCB-INT", "noise"): "INT, noise",
    ("DP-UCB-INT", "interval"): "INT, interval",
}
"""(Algorithm, variant) → what stands beside the curve."""


Case = tuple[str, str, str]
"""Panel, algorithm and variant."""


def with_looks(
    lines: Sequence[SimpleNamespace],
) -> Iterator[tuple[SimpleNamespace, Look, bool]]:
    """Yield the lines of a panel, each with its look and whether it is its algorithm's first."""
    seen: Counter[str] = Counter()
    for line in lines:
        place = seen[line.algorithm]
        seen[line.algorithm] += 1
        yield line, ALGORITHM_LOOKS[line.algorithm][place], place == 0


def readings_table(runs: Mapping[Case, Runs]) -> pd.DataFrame:
    """Make the table that `readings_over_time` draws.

    Parameters
    ----------
    runs : mapping of (panel, algorithm, variant) to Runs
        Replicates of each case, the main reading of each algorithm first.

    Returns
    -------
    pandas.DataFrame
        Columns ``panel``, ``algorithm``, ``variant``, ``time`` and ``mean``; and, of main readings
        only, ``low`` and ``high``, the band of the runs, and ``bound``, the proved bound.
    """
    seen: set[tuple[str, str]] = set()
    curves = {}
    for (panel, algorithm, variant), result in runs.items():
        columns = curve(result, bound=(panel, algorithm) not in seen)
        if (panel, algorithm) in seen:
            columns = {name: columns[name] for name in ("time", "mean")}
        seen.add((panel, algorithm))
        curves[panel, algorithm, variant] = columns
    return tabulate(curves, dict, LABELS)


@redrawable
def readings_over_time(
    table: pd.DataFrame,
    *,
    titles: Mapping[str, str],
    panels: Sequence[str] | None = None,
    theory: bool = False,
) -> Figure:
    """Draw the mean regret over time of every reading, main readings with the band of their runs.

    Parameters
    ----------
    table : pandas.DataFrame
        As `readings_table` makes it.
    titles : mapping of str to str
        Panel → its title.
    panels : sequence of str, optional
        Panels to draw; all if not given.
    theory : bool
        Whether the upper bounds of main readings are drawn.

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
    >>> two = dpb.instances.td16("two")
    >>> made = {r: dpb.DPUCBInt(0.1, r) for r in ("refreshed", "frozen")}
    >>> cases = {("a", "DP-UCB-INT", r): (algorithm, two) for r, algorithm in made.items()}
    >>> table = readings_table(dpb.simulate_many(cases, horizon=1000, n_runs=3))
    >>> figure = readings_over_time(table, titles={"a": "two arms"})
    >>> sorted(text.get_text() for text in figure.axes[0].texts)
    ['INT', 'INT, frozen']
    """
    titles = chosen_panels(titles, panels)
    by_panel = lines_of(table, titles, LABELS)
    with styled():
        figure, grid = make_panels(titles, width=_WIDTH, height=_HEIGHT)
        axes = list(grid.values())
        ranges = [_panel(a, lines, theory) for a, lines in zip(axes, by_panel, strict=True)]
        for a in axes:
            a.set(xscale="log", yscale="log")
        finish_panels(
            figure,
            axes,
            ranges,
            x_label="number of pulls t",
            y_label="mean regret (units of reward)",
        )
    return figure


def _panel(axes: Axes, lines: Sequence[SimpleNamespace], theory: bool) -> PanelRange:
    horizon = max(line.time[-1] for line in lines)
    start = first_shown(horizon)
    ends, heights = [], []
    for line, look, is_main in with_looks(lines):
        shown = line.time >= start
        heights += [line.mean[shown].min(), line.mean[-1]]
        axes.plot(
            line.time, line.mean, color=look.colour, linestyle=look.line, linewidth=look.width
        )
        if is_main:
            band(axes, line.time, line.low, line.high, look)
            heights.append(line.high[-1])
        if is_main and theory:
            axes.plot(line.time, line.bound, color=look.colour, linestyle=DOTTED, linewidth=1.2)
            heights.append(line.bound[-1])
        name = NAMES[line.algorithm, line.variant]
        ends.append(End(line.time[-1], line.mean[-1], name, look.colour))
    return PanelRange((start, horizon), (min(heights), max(heights)), tuple(ends))
