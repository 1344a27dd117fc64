"""The figures of audits: every algorithm's guarantee, account and bound; bounds against runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from companion.figures.lines import chosen_panels, lines_of
from companion.figures.redraw import redrawable
from companion.tables import tabulate
from dpbandits.auditing.cases import group_of
from dpbandits.auditing.grid import AuditCase, Audits
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

__all__ = [
    "bounds_figure",
    "bounds_table",
    "guarantees_figure",
    "guarantees_table",
    "name_of",
]

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


def name_of(case: AuditCase) -> str:
    """Return what figures call the target of a case."""
    kind = type(case.target).__name__
    return _MECHANISMS.get(kind) or str(case.target.label)


# ------------------------------------------------------------------------------------ tables


def guarantees_table(audits: Mapping[tuple[str, str], Audits]) -> pd.DataFrame:
    """Make the table of `guarantees_figure`, a row per case.

    Parameters
    ----------
    audits : mapping of (panel, name of the class) to Audits
        As `audit_many` returns it; every case has one audit.

    Returns
    -------
    pandas.DataFrame
        Columns ``panel``, ``group``, ``target``, ``name``; those of `Audits.summary`; and of the
        pair of tables that was audited ``arm`` and ``pull``, the place that differs, with the
        table itself if a search found it, a word of zeros and ones per arm.
    """
    labelled = {
        (panel, group_of(target), target, name_of(found.case)): found
        for (panel, target), found in audits.items()
    }
    return tabulate(labelled, _found, ("panel", "group", "target", "name"))


def _found(audits: Audits) -> dict[str, Any]:
    """Return the columns of one audit and its pair of tables."""
    (each,) = audits.found
    pair, columns = each.pair, audits.summary()
    for name in ("audits", "epsilon_least", "epsilon_most"):
        del columns[name]
    searched = audits.case.method == "runs" and audits.case.known_pair is None
    words = ["".join(str(int(x)) for x in row) for row in pair.table] if searched else []
    return columns | {"arm": pair.arm, "pull": pair.pull, "table": " ".join(words)}


def bounds_table(audits: Mapping[tuple[str, str, int], Audits]) -> pd.DataFrame:
    """Make the table of `bounds_figure`, a row per case.

    Parameters
    ----------
    audits : mapping of (panel, name of the curve, runs on each table) to Audits
        As `audit_many` returns it.

    Returns
    -------
    pandas.DataFrame
        Columns ``panel``, ``variant`` and those of `Audits.summary`, ``accounted`` called
        ``truth``.
    """
    labelled: dict[tuple[str, str], dict[int, Any]] = {}
    for (panel, variant, n_runs), found in audits.items():
        labelled.setdefault((panel, variant), {})[n_runs] = found.summary()

    def columns(sizes: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
        rows = [sizes[n_runs] for n_runs in sorted(sizes)]
        return {name: [row[name] for row in rows] for name in rows[0]}

    table = tabulate(labelled, columns, ("panel", "variant"))
    return table.rename(columns={"accounted": "truth"})


# ----------------------------------------------------------------------------------- figures


@redrawable
def guarantees_figure(
    table: pd.DataFrame, *, titles: Mapping[str, str], panels: Sequence[str] | None = None
) -> Figure:
    """Draw for every algorithm what it declares, what is accounted for, and the lower bound.

    The truth on tables as long as those of the audit is between the last two. What declares
    nothing is left out.

    Parameters
    ----------
    table : pandas.DataFrame
        As `guarantees_table` makes it.
    titles : dict
        Panel → its title.
    panels : sequence of str, optional
        Which panels; all if not given.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If a panel is unknown.
    """
    titles = chosen_panels(titles, panels)
    rows = {panel: _with_gaps(table, panel) for panel in titles}
    longest = max(map(len, rows.values()))
    with styled():
        figure, grid = make_panels(
            titles, foot=_FOOT, width=3.9, height=_ROW * longest + _HEAD, left=_LEFT
        )
        for place, (panel, axes) in enumerate(grid.items()):
            _dots(axes, rows[panel], named=place % columns_of(axes) == 0)
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
            handles,
            texts,
            loc="lower center",
            ncols=4,
            frameon=False,
            fontsize=10.5,
            columnspacing=1.2,
        )
        return figure


def _with_gaps(table: pd.DataFrame, panel: str) -> list[Any]:
    """Return the rows of a panel by their groups, with None before each group but the first."""
    table = table[(table["panel"] == panel) & np.isfinite(table["declared"])]
    lines: list[Any] = []
    for _, group in table.groupby("group", sort=False):
        lines += [None, *group.itertuples()] if lines else [*group.itertuples()]
    return lines


def _dots(axes: Axes, lines: Sequence[Any], *, named: bool) -> None:
    ticks, names = [], []
    for y, row in enumerate(lines):
        if row is None:
            continue
        low, high = row.epsilon_lower, row.accounted
        axes.plot([low, max(low, high)], [y, y], color=_BETWEEN, linewidth=6, zorder=2)
        axes.plot(
            row.declared, y, color=INK, marker="|", markersize=11, markeredgewidth=2, zorder=3
        )
        look = _AUDITED[row.method]
        axes.plot(low, y, color=look.colour, marker=look.marker, markersize=6, zorder=4)
        ticks.append(y)
        names.append(row.name)
    axes.set_yticks(ticks, names if named else [""] * len(names))
    axes.tick_params(axis="y", length=0, labelsize=10.5)
    axes.set_ylim(len(lines) - 0.4, -0.6)
    most = max(row.declared for row in lines if row is not None)
    axes.set_xlim(-0.03 * most, 1.06 * most)
    axes.set_xlabel("ε")


@redrawable
def bounds_figure(
    table: pd.DataFrame, *, titles: Mapping[str, str], panels: Sequence[str] | None = None
) -> Figure:
    """Draw the lower bound over the truth against the number of runs.

    Curves are medians of the audits; bands reach from the least to the greatest.

    Parameters
    ----------
    table : pandas.DataFrame
        As `bounds_table` makes it.
    titles : dict
        Panel → its title.
    panels : sequence of str, optional
        Which panels; all if not given.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If a panel is unknown.
    """
    titles = chosen_panels(titles, panels)
    with styled():
        figure, grid = make_panels(titles)
        curves = lines_of(table, titles, ("panel", "variant"))
        ranges = [_curves(axes, found) for axes, found in zip(grid.values(), curves, strict=True)]
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


def _curves(axes: Axes, curves: Sequence[SimpleNamespace]) -> PanelRange:
    ends = []
    for found, look in zip(curves, _CURVES, strict=False):
        x = found.n_runs
        middle, low, high = (
            getattr(found, name) / found.truth
            for name in ("epsilon_lower", "epsilon_least", "epsilon_most")
        )
        axes.fill_between(x, low, high, color=look.colour, alpha=0.18, linewidth=0)
        axes.plot(
            x, middle, color=look.colour, linestyle=look.line, marker=look.marker, markersize=5
        )
        ends.append(End(x[-1], middle[-1], found.variant, look.colour))
    axes.set_xscale("log")
    sizes = np.concatenate([found.n_runs for found in curves])
    reach = float(sizes.min()), float(sizes.max())
    axes.plot(reach, [1, 1], color=INK, linestyle=DOTTED, linewidth=1.4)
    return PanelRange(reach, (0.0, 1.0), tuple(ends))
