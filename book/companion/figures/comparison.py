"""Comparisons: regret over time, tails of single runs, and maps of the best algorithm.

Keys of runs are (panel, instance, number of arms, ε, algorithm, variant); a table has these labels,
and the columns that its function describes.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.patheffects import withStroke
from scipy import stats

from companion.figures.looks import faded, looks_of
from companion.figures.panels import (
    LABELS,
    PULLS,
    REGRET,
    Line,
    Lines,
    Titles,
    chosen_panels,
    draw_panels,
    first_shown,
    legend_below,
    marked,
)
from companion.figures.redraw import redrawable
from companion.ranking import Best, Estimate, best_in_each, without_some
from companion.rounding import rounded
from companion.tables import tabulate
from dpbandits.identification.replicates import Identifications
from dpbandits.plotting.style import (
    COLOURS,
    INK,
    End,
    Look,
    PanelRange,
    columns_of,
    make_panels,
)
from dpbandits.regret.simulation import Runs
from dpbandits.rewards.sources import Arms

_LONG, _DOTS, _CHAIN = (0, (9, 2)), (0, (1.2, 0.9)), (0, (6, 1.2, 1.2, 1.2))

_RACERS = (
    "UCB",
    "SE",
    "DP-UCB",
    "DP-UCB-HYBRID",
    "DP-UCB-BOUND",
    "DP-UCB-INT",
    "DP-SE",
    "Lazy-UCB",
    "AdaP-UCB",
    "AdaP-KLUCB",
    "Lazy-DP-TS",
    "DP-KLUCB",
    "DP-IMED",
    "DP-IMED, d_ε",
)
HEAD_LOOKS: dict[str, Look] = looks_of(_RACERS)
"""Algorithm, or with a variant that has a look → its own colour, line and marker together."""

CODES = {
    "DP-UCB": "TU",
    "DP-UCB-HYBRID": "HY",
    "DP-UCB-BOUND": "BO",
    "DP-SE": "SE",
    "DP-SE, two p-values": "2P",
    "Lazy-UCB": "LU",
    "AdaP-UCB": "AU",
    "AdaP-KLUCB": "AK",
    "Lazy-DP-TS": "TS",
    "DP-KLUCB": "KL",
    "DP-IMED": "IM",
    "DP-TT": "TT",
    "AdaP-TT": "AT",
    "AdaP-TT*": "A*",
    "DP-LRE": "LR",
}
"""Private algorithm → what a map calls it."""

_NAMES = {"DP-UCB-HYBRID": "HYBRID", "DP-UCB-BOUND": "BOUND", "DP-UCB-INT": "INT"}


def look_of(algorithm: str, variant: str = "") -> Look:
    """Return the look of a curve, a thin grey one if the algorithm has none.

    A printed version is drawn as ours is.
    """
    known = algorithm.removesuffix(", as printed")
    plain = HEAD_LOOKS.get(known, Look("0.5", (0, (3, 1, 1, 1)), "", 1.2))
    return HEAD_LOOKS.get(f"{algorithm}, {variant}", plain)


# --------------------------------------------------------------------------------------- races


def race_table(runs: Mapping[Any, Runs]) -> pd.DataFrame:
    """Make the table of `race_figure` from two or more runs of each case.

    It contains ``n_runs``, ``time`` from the start of the figure on, ``mean``, its standard
    ``error``, and the ends ``low``, ``high`` of the central 90 % of the runs, with five significant
    digits.
    """

    def columns(found: Runs) -> dict[str, Any]:
        error = found.regret.std(axis=0, ddof=1) / math.sqrt(found.n_runs)
        values = {**found.summary(), "error": error}
        shown = values["time"] >= first_shown(found.horizon)
        short = {
            name: [rounded(x, 5) for x in values[name][shown]]
            for name in ("mean", "error", "low", "high")
        }
        return {"n_runs": found.n_runs, "time": values["time"][shown], **short}

    return tabulate(runs, columns, LABELS)


@redrawable
def race_figure(
    table: pd.DataFrame,
    *,
    titles: Titles,
    panels: Sequence[str] | None = None,
    shown: Collection[str] | None = None,
) -> Figure:
    """Draw mean regret over time, each mean with its 95 % interval, from `race_table`.

    Curves are in colour; with `shown` only those with these names, and the others are faint.
    """
    draw = partial(_race, shown=shown)
    return draw_panels(table, titles, panels, draw, (PULLS, REGRET), size=(4.9, 3.7))


def _race(axes: Axes, lines: Lines, shown: Collection[str] | None) -> PanelRange:
    ends, heights = [], []
    for line in lines:
        look, mean = look_of(line.algorithm, line.variant), line.mean
        if shown is not None and _label(line) not in shown:
            look = faded(look)
        width = stats.t.ppf(0.975, line.n_runs - 1) * line.error
        low = np.maximum(mean - width, mean / 100)  # with few runs it may be negative
        alpha = 0.25 if look.width > 1.3 else 0.07  # unranked curves are faint
        style: dict[str, Any] = {"color": look.colour, "alpha": alpha, "linewidth": 0}
        axes.fill_between(line.time, low, mean + width, **style)
        marked(axes, line.time, mean, look, markevery=(2, 5), markersize=5.0)
        heights += [float(mean[mean > 0].min(initial=mean[-1])), float(mean[-1])]
        ends.append(End(float(line.time[-1]), float(mean[-1]), _label(line), look.colour))
    horizon = max(line.time[-1] for line in lines)
    return PanelRange((first_shown(horizon), horizon), (min(heights), max(heights)), tuple(ends))


def _label(line: Line) -> str:
    """Return the name of a curve, marked if it is not private or private in a weaker sense."""
    text = _NAMES.get(line.algorithm, line.algorithm)
    if line.variant:
        return f"{text}, {line.variant}"
    return text if math.isfinite(line.epsilon) else f"{text}, no privacy"


# --------------------------------------------------------------------------------------- tails

_NARROW = 5.0  # inches, below which a legend has one column
_POINTS = 50
"""About how many runs of a case its table has, the greatest ones more densely."""


def tail_table(runs: Mapping[Any, Runs]) -> pd.DataFrame:
    """Make the table of `tail_figure`.

    It contains a ``regret`` at the horizon; the ``share`` of runs with at least that much, and the
    ends ``low``, ``high`` of its 95 % interval (Clopper and Pearson).
    """

    def columns(found: Runs) -> dict[str, Any]:
        every, n_runs = np.sort(found.regret[:, -1]), found.n_runs
        above = np.unique(np.round(np.geomspace(1, n_runs, _POINTS)).astype(np.int64))[::-1]
        high = np.ones(above.size)
        high[1:] = stats.beta.isf(0.025, above[1:] + 1, n_runs - above[1:])
        low = stats.beta.ppf(0.025, above, n_runs - above + 1)
        regret = every[n_runs - above]  # number of runs with this regret or more
        return {"regret": regret, "share": above / n_runs, "low": low, "high": high}

    return tabulate(runs, columns, LABELS)


@redrawable
def tail_figure(
    table: pd.DataFrame, *, titles: Titles, panels: Sequence[str] | None = None
) -> Figure:
    """Draw the share of runs whose regret at the horizon is r or more, with 95 % intervals.

    The table is made by `tail_table`.
    """

    def draw(axes: Axes, lines: Lines) -> PanelRange:
        for line in lines:
            look = look_of(line.algorithm, line.variant)
            style: dict[str, Any] = {"step": "pre", "color": look.colour, "linewidth": 0}
            axes.fill_between(line.regret, line.low, line.high, alpha=0.18, **style)
            variant = f" with ${line.variant[0]}_{line.variant[-1]}$" if line.variant else ""
            marks = {"markevery": (3, 9), "markersize": 5.0, "label": line.algorithm + variant}
            marked(axes, line.regret, line.share, look, drawstyle="steps-pre", **marks)
        least = max(float(min(line.regret[0] for line in lines)), 1.0)
        most = float(max(line.regret[-1] for line in lines))
        return PanelRange((least, most), (float(min(line.share[-1] for line in lines)), 1.0), ())

    labels = "regret r at the horizon", "share of runs with regret ≥ r"
    figure = draw_panels(table, titles, panels, draw, labels, foot=1.0, size=(4.6, 3.2))
    ncols = 3 if figure.get_size_inches()[0] > _NARROW else 1
    handles = figure.axes[0].get_legend_handles_labels()[0]
    legend_below(figure, handles, ncols=ncols, handlelength=3)
    return figure


# ------------------------------------------------------------------------------ tables of maps

LEARNT = 0.5
"""Share of the regret of playing at random; with more, nothing counts as learnt."""


class Place(NamedTuple):
    """A setting of a map: its panel, ε, and the gap of the second best arm."""

    panel: str
    epsilon: float
    gap: float


def _least_gap(instance: Arms) -> float:
    return rounded(np.sort(instance.gaps)[1], 6)


def regret_map_table(runs: Mapping[Any, Runs]) -> pd.DataFrame:
    """Make the table of `best_map`, a row for each case, from two or more runs.

    It contains ``gap``, the gap of the second best arm; the columns of `Runs.final`; ``error``, the
    standard error of the mean; ``n_runs``; and ``at_random``, the regret of playing at random.
    """

    def columns(found: Runs) -> dict[str, Any]:
        finals = Estimate.of(found.regret[:, -1])
        return {
            "gap": _least_gap(found.instance),
            **found.final(),
            "error": finals.error,
            "n_runs": finals.n_runs,
            "at_random": found.horizon * float(found.instance.gaps.mean()),
        }

    return tabulate(runs, columns, LABELS)


def identification_map_table(found: Mapping[Any, Identifications]) -> pd.DataFrame:
    """Make the table of `best_map`, a row for each case, from two or more runs.

    Keys have δ between ε and the algorithm. The table has ``gap``, the gap of the second best
    arm, and the columns of `Identifications.summary`.
    """

    def columns(one: Identifications) -> dict[str, Any]:
        return {"gap": _least_gap(one.instance), **one.summary()}

    return tabulate(found, columns, (*LABELS[:4], "delta", *LABELS[4:]))


def means_of(table: pd.DataFrame) -> dict[Place, dict[str, Estimate]]:
    """Return each algorithm's mean regret at the horizon, or stopping time, in each setting.

    The table is that of a map. A variant is written after the algorithm's name and a comma.
    """
    found: dict[Place, dict[str, Estimate]] = {}
    for row in table.itertuples():
        name = f"{row.algorithm}, {row.variant}" if row.variant else row.algorithm
        if hasattr(row, "mean_time"):
            estimate = Estimate(row.mean_time, row.time_sd / math.sqrt(row.n_runs), row.n_runs)
        else:
            estimate = Estimate(row.mean, row.error, row.n_runs)
        found.setdefault(Place(row.panel, row.epsilon, row.gap), {})[name] = estimate
    return found


def learnt(table: pd.DataFrame) -> dict[Place, bool]:
    """Return for each setting whether any algorithm has at most half the regret of random play."""
    least = table.groupby(["panel", "epsilon", "gap"], sort=False)[["mean", "at_random"]].min()
    enough = least["mean"] <= LEARNT * least["at_random"]
    return {Place(*place): bool(is_so) for place, is_so in enough.items()}


# ---------------------------------------------------------------------------------------- maps

_COLOURS = {
    **{name: look.colour for name, look in HEAD_LOOKS.items()},
    "DP-SE, two p-values": COLOURS["sky"],
    "DP-TT": COLOURS["blue"],
    "AdaP-TT": COLOURS["vermilion"],
    "AdaP-TT*": COLOURS["orange"],
    "DP-LRE": COLOURS["green"],
}
_TINTS = {"AdaP-KLUCB": 0.6, "Lazy-DP-TS": 0.75, "DP-KLUCB": 0.55, "DP-SE": 0.6, "DP-UCB": 0.75}
"""Share of white in a cell's colour, so that one colour can stand for two algorithms."""
_HATCH, _FAINT = "0.35", "0.93"


class MapCell(NamedTuple):
    """A setting of a map: its position, the possible winners, and the note below the code.

    It is faint if even the winner has hardly learnt anything.
    """

    x: float
    y: float
    best: Best
    note: str
    faint: bool = False


@redrawable
def best_map(
    table: pd.DataFrame,
    *,
    titles: Titles,
    panels: Sequence[str] | None = None,
    without: Collection[str] = (),
) -> Figure:
    """Draw which algorithm has the least mean regret, or stops first on average; see `map_figure`.

    Below a code is the ratio of the second least mean to the least. The error probability of the
    tests is shared by all panels. On a map of regret the horizon is added to titles, and a cell is
    grey where even the best algorithm has more than half the regret of playing at random.

    The table is made by `regret_map_table` or `identification_map_table`; algorithms may be
    omitted.
    """
    titles = chosen_panels(titles, panels)
    labels = {"x_label": "privacy budget ε", "y_label": "least gap Δ"}
    faint: set[Place] = set()
    if "at_random" in table:
        horizons = table.groupby("panel")["time"].max()
        titles = {p: f"{title}, T = {_count(horizons[p])}" for p, title in titles.items()}
        faint = {place for place, is_so in learnt(table).items() if not is_so}
        labels["y_label"] = "gap Δ"
    cells: dict[str, list[MapCell]] = {panel: [] for panel in titles}
    for place, best in best_in_each(without_some(means_of(table), without)).items():
        if place.panel in cells:
            cell = MapCell(place.epsilon, place.gap, best, _note(best.ratio), place in faint)
            cells[place.panel].append(cell)
    return map_figure(titles, cells, faint="nothing learnt yet", **labels)


def _note(ratio: float) -> str:
    """Return the ratio of the second least mean to the least as text."""
    if not ratio < 99.5:
        return "×100+"
    return f"×{ratio:.1f}" if ratio < 9.95 else f"×{ratio:.0f}"


def _count(number: int) -> str:
    """Write a number of pulls, a power of ten as such."""
    digits = str(number)
    if digits.strip("0") == "1":
        return f"$10^{{{len(digits) - 1}}}$"
    return f"{number:,}".replace(",", "\u2009")


def fill_of(name: str) -> tuple[float, float, float]:
    """Return the colour of an algorithm's cells: its own, mixed with white; grey if it has none."""
    share = _TINTS.get(name, 0.35)
    r, g, b = to_rgb(_COLOURS.get(name, "0.5"))
    return r + share * (1 - r), g + share * (1 - g), b + share * (1 - b)


def _code_of(name: str) -> str:
    """Return the code of an algorithm on a map, or else two letters of its name."""
    return CODES.get(name, name[:2])


def _text(best: Best) -> str:
    """Return the codes of the possible winners: one, two, or the first and the number of others."""
    codes = [_code_of(name) for name in best.names]
    return "/".join(codes) if len(codes) <= 2 else f"{codes[0]}+{len(codes) - 1}"


def _draw_cell(axes: Axes, cell: MapCell, column: int, row: int) -> None:
    tied = cell.best.winner is None
    ground = _FAINT if cell.faint else fill_of(cell.best.names[0])
    corner = column - 0.5, row - 0.5
    axes.add_patch(Rectangle(corner, 1, 1, facecolor=ground, edgecolor="white", linewidth=1.5))
    if tied and not cell.faint:
        style: dict[str, Any] = {"facecolor": "none", "edgecolor": _HATCH, "linewidth": 0}
        hatched = Rectangle((column - 0.47, row - 0.47), 0.94, 0.94, hatch="///", **style)
        hatched.set_hatch_linewidth(0.8)
        axes.add_patch(hatched)
    letters: dict[str, Any] = {"ha": "center", "va": "center", "color": INK}
    if tied:  # so that the hatching does not cross the letters
        letters["path_effects"] = [withStroke(linewidth=3.5, foreground=ground)]
    size, weight = (8.5, "normal") if tied else (11, "bold")
    code = _text(cell.best)
    axes.text(column, row + 0.14, code, fontsize=size, fontweight=weight, **letters)
    axes.text(column, row - 0.27, cell.note, fontsize=8, **letters)


def map_figure(
    titles: Titles,
    by_panel: Mapping[str, Sequence[MapCell]],
    *,
    x_label: str,
    y_label: str,
    faint: str = "",
) -> Figure:
    """Draw maps of the best algorithm.

    A cell has the colour and the code of the best algorithm there. Where several may be best, it is
    hatched, and shows the codes of two, or that of the first and the number of others. If there are
    grey cells, the legend describes them with the text `faint`.
    """
    every = [cell for cells in by_panel.values() for cell in cells]
    xs, ys = sorted({cell.x for cell in every}), sorted({cell.y for cell in every})
    first = {cell.best.names[0] for cell in every if not cell.faint}
    keys = [name for name in CODES if name in first] + sorted(first - CODES.keys())
    figure, grid = make_panels(
        titles, foot=0.75, width=max(0.62 * len(xs) + 0.3, 2.8), height=0.52 * len(ys) + 0.55
    )
    columns = columns_of(figure.axes[0])
    for place, (panel, axes) in enumerate(grid.items()):
        for cell in by_panel[panel]:
            _draw_cell(axes, cell, xs.index(cell.x), ys.index(cell.y))
        is_lowest = place + columns >= len(titles)
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
        axes.set_xticks(range(len(xs)), [f"{x:g}" for x in xs])
        axes.set_yticks(range(len(ys)), [f"{y:g}" for y in ys])
        axes.tick_params(length=0, labelleft=place % columns == 0, labelbottom=is_lowest)
        axes.set(xlim=(-0.5, len(xs) - 0.5), ylim=(-0.5, len(ys) - 0.5))
        axes.set_xlabel(x_label if is_lowest else "")
    figure.supylabel(y_label, x=0.01, fontsize=plt.rcParams["axes.labelsize"])
    handles = [Patch(facecolor=fill_of(n), label=f"{_code_of(n)}  {n}") for n in keys]
    if any(cell.best.winner is None and not cell.faint for cell in every):
        handles.append(Patch(facecolor="0.88", edgecolor=_HATCH, hatch="///", label="undecided"))
    if faint and any(cell.faint for cell in every):
        handles.append(Patch(facecolor=_FAINT, label=faint))
    legend_below(figure, handles, ncols=4)
    return figure
