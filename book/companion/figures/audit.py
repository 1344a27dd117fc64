"""Audits: every algorithm's guarantee, account and bound; bounds against the number of runs."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from companion.figures.panels import Lines, Titles, chosen_panels, draw_panels, legend_below, plain
from companion.figures.redraw import redrawable
from companion.tables import tabulate
from dpbandits.auditing import AuditCase, Audits
from dpbandits.auditing.cases import group_of
from dpbandits.plotting.style import (
    COLOURS,
    DASHED,
    DOTTED,
    INK,
    End,
    Look,
    PanelRange,
    columns_of,
    make_panels,
)

# ---------------------------------------------------------------------------------- guarantees

_MECHANISMS = {
    "BinaryTree": "binary tree",
    "LogarithmicCounter": "logarithmic",
    "HybridCounter": "hybrid",
    "AdaptiveTree": "adaptive tree",
}
_BETWEEN = "0.82"
_AUDITED: dict[str, dict[str, Any]] = {
    "exact": {"color": COLOURS["blue"], "marker": "s", "label": "audited exactly"},
    "runs": {"color": COLOURS["vermilion"], "marker": "o", "label": "audited by runs"},
}
_ROW, _HEAD = 0.235, 0.75  # inches: a row, and what else is above and below the rows
_DECLARED: dict[str, Any] = {"color": INK, "marker": "|", "markersize": 11, "markeredgewidth": 2}


def name_of(case: AuditCase) -> str:
    """Return what figures call the target of a case."""
    kind = type(case.target).__name__
    return _MECHANISMS.get(kind) or str(case.target.label)


def guarantees_table(audits: Mapping[tuple[str, str], Audits]) -> pd.DataFrame:
    """Make the table of `guarantees_figure`, a row per (panel, name of the class) and its audit.

    It has the columns of `Audits.summary`; and of the pair of tables that was audited ``arm`` and
    ``pull``, the place that differs, with the table itself if a search found it, a word of zeros
    and ones per arm.
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


@redrawable
def guarantees_figure(
    table: pd.DataFrame, *, titles: Titles, panels: Sequence[str] | None = None
) -> Figure:
    """Draw for every algorithm what it declares, what is accounted for, and the lower bound.

    The truth on tables as long as those of the audit is between the last two. What declares
    nothing is left out. The table is made by `guarantees_table`.
    """
    titles = chosen_panels(titles, panels)
    rows = {panel: _with_gaps(table, panel) for panel in titles}
    height = _ROW * max(map(len, rows.values())) + _HEAD
    figure, grid = make_panels(titles, foot=0.62, width=3.9, height=height, left=1.55)
    for place, (panel, axes) in enumerate(grid.items()):
        _dots(axes, rows[panel], named=place % columns_of(axes) == 0)
    handles: list[Any] = [
        Line2D([], [], linestyle="", label="declared", **_DECLARED),
        Patch(facecolor=_BETWEEN, label="audited to accounted"),
        *(Line2D([], [], linestyle="", **look) for look in _AUDITED.values()),
    ]
    legend_below(figure, handles, ncols=4, columnspacing=1.2)
    return figure


def _with_gaps(table: pd.DataFrame, panel: str) -> list[Any]:
    """Return the rows of a panel by their groups, with None before each group but the first."""
    table = table[(table["panel"] == panel) & np.isfinite(table["declared"])]
    lines: list[Any] = []
    for _, group in table.groupby("group", sort=False):
        lines += [None, *group.itertuples()] if lines else [*group.itertuples()]
    return lines


def _dots(axes: Axes, lines: Sequence[Any], *, named: bool) -> None:
    names = {}
    for y, row in enumerate(lines):
        if row is None:
            continue
        low, high = row.epsilon_lower, row.accounted
        axes.plot([low, max(low, high)], [y, y], color=_BETWEEN, linewidth=6, zorder=2)
        axes.plot(row.declared, y, zorder=3, **_DECLARED)
        axes.plot(low, y, markersize=6, zorder=4, **_AUDITED[row.method])
        names[y] = row.name if named else ""
    axes.set_yticks(list(names), list(names.values()))
    axes.tick_params(axis="y", length=0, labelsize=10.5)
    axes.set_ylim(len(lines) - 0.4, -0.6)
    most = max(row.declared for row in lines if row is not None)
    axes.set_xlim(-0.03 * most, 1.06 * most)
    axes.set_xlabel("ε")


# --------------------------------------------------------------------- bounds against the truth

_CURVES = (
    Look(COLOURS["blue"], "-", "o"),
    Look(COLOURS["vermilion"], DASHED, "s"),
    Look(COLOURS["green"], (0, (9, 2)), "X"),
)


def bounds_table(audits: Mapping[tuple[str, str, int], Audits]) -> pd.DataFrame:
    """Make the table of `bounds_figure`, a row per (panel, name of the curve, runs on each table).

    It has the columns of `Audits.summary`, ``accounted`` called ``truth``.
    """
    curves = list(dict.fromkeys(key[:2] for key in audits))
    ordered = sorted(audits, key=lambda key: (curves.index(key[:2]), key[2]))
    table = tabulate({key: audits[key] for key in ordered}, names=("panel", "variant", "size"))
    return table.drop(columns="size").rename(columns={"accounted": "truth"})


@redrawable
def bounds_figure(
    table: pd.DataFrame, *, titles: Titles, panels: Sequence[str] | None = None
) -> Figure:
    """Draw the lower bound over the truth against the number of runs.

    Curves are medians of the audits; bands reach from the least to the greatest. The table is
    made by `bounds_table`.
    """
    labels, by = ("runs on each table", "lower bound over the truth"), ("panel", "variant")
    figure = draw_panels(table, titles, panels, _bounds, labels, by=by, log="x")
    for axes in figure.axes:
        axes.set_yticks(np.linspace(0, 1, 5))
    return figure


def _bounds(axes: Axes, lines: Lines) -> PanelRange:
    ends = []
    for line, look in zip(lines, _CURVES, strict=False):
        columns = (line.epsilon_lower, line.epsilon_least, line.epsilon_most)
        middle, low, high = (column / line.truth for column in columns)
        axes.fill_between(line.n_runs, low, high, color=look.colour, alpha=0.18, linewidth=0)
        plain(axes, line.n_runs, middle, look, marker=look.marker, markersize=5)
        ends.append(End(line.n_runs[-1], middle[-1], line.variant, look.colour))
    sizes = np.concatenate([line.n_runs for line in lines])
    reach = float(sizes.min()), float(sizes.max())
    axes.plot(reach, [1, 1], color=INK, linestyle=DOTTED, linewidth=1.4)
    return PanelRange(reach, (0.0, 1.0), tuple(ends))
