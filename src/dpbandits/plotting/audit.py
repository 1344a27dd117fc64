"""The figures of audits: every algorithm's guarantee, account and bound; bounds against runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from dpbandits._validation import check_choice
from dpbandits.experiments import Data, Results, rows_of
from dpbandits.experiments.audit_cases import group_of
from dpbandits.experiments.audit_tables import AuditSummary
from dpbandits.experiments.store import Row
from dpbandits.plotting.style import (
    COLOURS,
    DASHED,
    DOTTED,
    INK,
    End,
    Look,
    PanelRange,
    columns_of,
    finish_panels,
    make_panels,
    styled,
)

__all__ = ["audit_figure", "name_of"]

_MECHANISMS = {
    "BinaryTree": "binary tree",
    "LogarithmicCounter": "logarithmic",
    "HybridCounter": "hybrid",
    "AdaptiveTree": "adaptive tree",
}
_BETWEEN = "0.82"
_AUDITED = {
    "exact": Look(COLOURS["blue"], marker="s"),
    "runs": Look(COLOURS["vermilion"], marker="o"),
}
_ROW, _HEAD = 0.235, 0.75  # inches: a row, and what else is above and below the rows
_FOOT = 0.62  # inches for the legend
_LEFT = 1.55  # inches for the names

_CURVES = (
    Look(COLOURS["blue"], "-", "o"),
    Look(COLOURS["vermilion"], DASHED, "s"),
    Look(COLOURS["green"], (0, (9, 2)), "X"),
)


def name_of(row: Row) -> str:
    """Return what figures call the target of a row."""
    target = row.setting.cell.target
    found: str = _MECHANISMS.get(type(target).__name__) or target.label
    return found


def audit_figure(source: Results | Data | str, *, panels: Sequence[str] | None = None) -> Figure:
    """Draw audits.

    Of ``ours-audit-algorithms``: for every algorithm the ε that it declares, what accounting
    allows on tables as long as those of the audit, and the audit's lower bound; the truth is
    between the last two. Of ``ours-audit-truth``: the lower bound over the truth against the
    number of runs; medians, with a band from the least to the greatest audit.

    Parameters
    ----------
    source : Results, Data or str
        Results of one experiment on audits, data as `dpbandits.experiments.load` returns it, or
        the id of an experiment whose committed data is fresh.
    panels : sequence of str, optional
        Which panels; all that have something to draw if not given.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If the source is of another kind, or a panel unknown.
    """
    experiment, rows = rows_of(source)
    if experiment.table.kind != "audit":
        raise ValueError(
            f"source={experiment.id!r} is on {experiment.table.kind}; allowed: an experiment on "
            "audits; dpbandits.plotting.draw draws any"
        )
    drawn = [row for row in rows if np.isfinite(row.summary.declared)]
    known = tuple(dict.fromkeys(row.summary.panel for row in drawn))
    chosen = known if panels is None else tuple(panels)
    for panel in chosen:
        check_choice("panels", panel, known)
    titles = {panel: experiment.panels[panel] for panel in chosen}
    by_panel = {p: [row for row in drawn if row.summary.panel == p] for p in chosen}
    with styled():
        if experiment.axis == "runs":
            return _bounds_against_runs(titles, by_panel)
        return _guarantees(titles, by_panel)


def _guarantees(titles: Mapping[str, str], by_panel: Mapping[str, list[Row]]) -> Figure:
    longest = max(len(_with_gaps(rows)) for rows in by_panel.values())
    figure, grid = make_panels(
        titles, foot=_FOOT, width=3.9, height=_ROW * longest + _HEAD, left=_LEFT
    )
    for place, (panel, axes) in enumerate(grid.items()):
        _dots(axes, by_panel[panel], named=place % columns_of(axes) == 0)
    handles: list[Any] = [
        Line2D([], [], color=INK, marker="|", markersize=11, linestyle="", markeredgewidth=2),
        Patch(facecolor=_BETWEEN),
        *(
            Line2D([], [], color=look.colour, marker=look.marker, linestyle="")
            for look in _AUDITED.values()
        ),
    ]
    texts = ["declared", "audited to accounted", "audited exactly", "audited by runs"]
    figure.legend(
        handles, texts, loc="lower center", ncols=4, frameon=False, fontsize=10.5, columnspacing=1.2
    )
    return figure


def _with_gaps(rows: Sequence[Row]) -> list[Row | None]:
    """Return the rows by their groups, with a gap before each group but the first."""
    groups: dict[str, list[Row | None]] = {}
    for row in rows:
        groups.setdefault(group_of(row.summary.target), []).append(row)
    lines: list[Row | None] = []
    for group in groups.values():
        lines += [None, *group] if lines else group
    return lines


def _dots(axes: Axes, rows: Sequence[Row], *, named: bool) -> None:
    lines = _with_gaps(rows)
    ticks, names = [], []
    for y, row in enumerate(lines):
        if row is None:
            continue
        s: AuditSummary = row.summary
        low, high = s.epsilon_lower, s.accounted
        axes.plot([low, max(low, high)], [y, y], color=_BETWEEN, linewidth=6, zorder=2)
        axes.plot(s.declared, y, color=INK, marker="|", markersize=11, markeredgewidth=2, zorder=3)
        look = _AUDITED[s.method]
        axes.plot(low, y, color=look.colour, marker=look.marker, markersize=6, zorder=4)
        ticks.append(y)
        names.append(name_of(row))
    axes.set_yticks(ticks, names if named else [""] * len(names))
    axes.tick_params(axis="y", length=0, labelsize=10.5)
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.set_xlim(-0.03 * rows[0].summary.epsilon, 1.06 * rows[0].summary.epsilon)
    axes.set_xlabel("ε")


def _bounds_against_runs(titles: Mapping[str, str], by_panel: Mapping[str, list[Row]]) -> Figure:
    figure, grid = make_panels(titles)
    ranges = []
    for panel, axes in grid.items():
        curves: dict[str, list[AuditSummary]] = {}
        for row in by_panel[panel]:
            curves.setdefault(row.summary.variant, []).append(row.summary)
        ends = []
        for (name, found), look in zip(curves.items(), _CURVES, strict=False):
            x = [s.audit_runs for s in found]
            middle, low, high = (
                [getattr(s, field) / s.accounted for s in found]
                for field in ("epsilon_lower", "epsilon_least", "epsilon_most")
            )
            axes.fill_between(x, low, high, color=look.colour, alpha=0.18, linewidth=0)
            axes.plot(
                x,
                middle,
                color=look.colour,
                linestyle=look.line,
                marker=look.marker,
                markersize=5,
            )
            ends.append(End(x[-1], middle[-1], name, look.colour))
        axes.set_xscale("log")
        sizes = [row.summary.audit_runs for row in by_panel[panel]]
        axes.plot([min(sizes), max(sizes)], [1, 1], color=INK, linestyle=DOTTED, linewidth=1.4)
        ranges.append(PanelRange((min(sizes), max(sizes)), (0.0, 1.0), tuple(ends)))
    finish_panels(
        figure,
        list(grid.values()),
        ranges,
        x_label="runs on each table",
        y_label="lower bound over the truth",
        log="x",
    )
    for axes in grid.values():
        axes.set_yticks(np.linspace(0, 1, 5))
    return figure
