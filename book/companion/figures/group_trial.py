"""Group-sequential trials: the committee's view, the cost of looks, and the level by survival."""

import math
from typing import Any

import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from companion.figures.redraw import redrawable
from companion.group_trials import Replay
from companion.publishing import grouped
from companion.tables import tabulate
from dpbandits.plotting.group_pictures import draw_looks, stopping_limits
from dpbandits.plotting.style import COLOURS, DASHED, GREY, INK, LONG, filled_width
from dpbandits.trials import Operating

__all__ = [
    "committee_figure",
    "committee_table",
    "level_figure",
    "looks_figure",
]

_BUDGETS = {
    "∞": (COLOURS["black"], "-", "D"),
    "1": (COLOURS["blue"], "-", "o"),
    "0.3": (COLOURS["green"], DASHED, "s"),
    "0.1": (COLOURS["vermilion"], LONG, "^"),
}


def committee_table(found: Replay, operating: Operating) -> pd.DataFrame:
    """Make a table of one replay, a row for each look, with the share of trials that stop there.

    Columns are ``look``, ``patients``, ``limit`` (the difference that stops), ``released`` and
    ``secret`` differences (missing after the stop), and ``stops``, the share of trials that stop at
    this look for efficacy.
    """
    design, looks = found.trial.design, found.trial.looks
    limits = stopping_limits(design, [(each.treatment_sum, each.control_sum) for each in looks])
    rows, secret = {}, 0
    for k in range(1, design.looks + 1):
        seen = looks[k - 1] if k <= len(looks) else None
        if seen is not None:
            secret += found.secret[k - 1][0] - found.secret[k - 1][1]
        rows[k,] = {
            "patients": 2 * design.per_look * k,
            "limit": limits[k - 1],
            "released": math.nan if seen is None else seen.treatment_sum - seen.control_sum,
            "secret": math.nan if seen is None else secret,
            "stops": operating.efficacy[k - 1],
        }
    return tabulate(rows, lambda row: row, ("look",))


@redrawable
def committee_figure(table: pd.DataFrame) -> Figure:
    """Draw the committee's view of one trial, and the looks at which trials stop."""
    seen = table[table["released"].notna()]
    stops = table["stops"].tolist()
    return draw_looks(
        table["patients"].tolist(),
        table["limit"].tolist(),
        seen["released"].tolist(),
        secret=seen["secret"].tolist(),
        stops=[*stops, 1.0 - sum(stops)],
        words="survivors, both less neither",
    )


@redrawable
def looks_figure(table: pd.DataFrame) -> Figure:
    """Draw mean patients by the number of looks, a line for each budget; the least is ringed.

    Columns are ``epsilon`` (a word), ``looks``, ``patients`` and ``most``.
    """
    width = filled_width(0.0) or 7.0
    figure, axes = plt.subplots(figsize=(width, 3.5), layout="constrained")
    for name, rows in table.groupby("epsilon", sort=False):
        colour, line, marker = _BUDGETS[str(name)]
        x, y = rows["looks"].to_numpy(), rows["patients"].to_numpy()
        axes.plot(x, y, color=colour, linestyle=line, marker=marker, markersize=6)
        ring: dict[str, Any] = {"markerfacecolor": "none", "markeredgewidth": 1.6}
        axes.plot(x[y.argmin()], y.min(), "o", color=colour, markersize=14, **ring)
        style: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": 11}
        axes.annotate(f"ε = {name}", (x[-1], y[-1]), (9, 0), color=colour, **style)
    counts = sorted(set(table["looks"]))
    low, high = 0.85 * table["patients"].min(), 1.15 * table["patients"].max()
    axes.set(yscale="log", xlim=(0.6, counts[-1] * (1.22 if width > 5 else 1.42)), ylim=(low, high))
    shown = [n for n in (500, 700, 1000, 1500, 2000, 3000, 4000, 6000) if low <= n <= high]
    axes.xaxis.set_major_locator(FixedLocator(counts))
    axes.yaxis.set(major_locator=FixedLocator(shown), minor_locator=NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: grouped(value)))
    axes.set_xlabel("number of looks")
    axes.set_title("mean patients of a trial")
    return figure


@redrawable
def level_figure(table: pd.DataFrame, *, alpha: float) -> Figure:
    """Draw the error against the common survival, with known and with estimated variance.

    Columns are ``score`` ("released" or "assumed"), ``share`` and ``error``.
    """
    width = filled_width(0.0) or 7.0
    figure, axes = plt.subplots(figsize=(width, 3.2), layout="constrained")
    looks = {"released": (COLOURS["blue"], "-"), "assumed": (GREY, DASHED)}
    words = {"released": "variance from the releases", "assumed": "variance assumed"}
    for name, rows in table.groupby("score", sort=False):
        colour, line = looks[str(name)]
        axes.plot(rows["share"], rows["error"], color=colour, linestyle=line)
    ends = table["share"].min(), table["share"].max()
    axes.axhline(alpha, color=INK, linewidth=0.9)
    style: dict[str, Any] = {"textcoords": "offset points", "fontsize": 11}
    of = dict(list(table.groupby("score")))
    first = of["assumed"].iloc[len(of["assumed"]) // 8]
    at = first["share"], first["error"]
    axes.annotate(words["assumed"], at, (7, 6), color="0.4", **style)
    low = of["released"].iloc[len(of["released"]) // 8]
    place = low["share"], low["error"]
    axes.annotate(words["released"], place, (0, -15), color=COLOURS["blue"], **style)
    top = 1.12 * table["error"].max()
    axes.set(xlim=ends, ylim=(0, top), xlabel="survival in both arms")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g}"))
    axes.set_title("trials with a false finding, %")
    return figure
