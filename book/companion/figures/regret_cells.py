"""Maps of who has the least mean regret, or stops first: their tables, and what these say."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from companion.figures.lines import LABELS, chosen_panels
from companion.figures.redraw import redrawable
from companion.figures.regret_map import MapCell, map_figure
from companion.ranking import Estimate, best_in_each, without_some
from companion.tables import tabulate
from dpbandits.identification.identifications import Identifications
from dpbandits.regret.base import Instance
from dpbandits.simulation import Runs

__all__ = [
    "LEARNT",
    "Place",
    "identification_map",
    "identification_map_table",
    "learnt",
    "means_of",
    "regret_map",
    "regret_map_table",
]

LEARNT = 0.5
"""Share of the regret of playing at random; with more, nothing counts as learnt."""


class Place(NamedTuple):
    """A setting of a map, in which algorithms meet.

    Attributes
    ----------
    panel : str
        Panel of the map.
    epsilon : float
        Privacy budget ε.
    gap : float
        Gap of the second best arm.
    """

    panel: str
    epsilon: float
    gap: float


def regret_map_table(runs: Mapping[Any, Runs]) -> pd.DataFrame:
    """Make the table of `regret_map`, a row a case.

    Parameters
    ----------
    runs : mapping of tuple to Runs
        Two runs or more of each case, as `dpbandits.simulate_many` returns them; the parts of a key
        are panel, instance, number of arms, ε, algorithm and variant.

    Returns
    -------
    pandas.DataFrame
        These labels; ``gap``, the gap of the second best arm; the columns of `Runs.final`;
        ``error``, the standard error of the mean; ``n_runs``; and ``at_random``, the regret of
        playing at random.
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
    """Make the table of `identification_map`, a row a case.

    Parameters
    ----------
    found : mapping of tuple to Identifications
        Two runs or more of each case, as `dpbandits.identify_many` returns them; the parts of a key
        are panel, instance, number of arms, ε, δ, algorithm and variant.

    Returns
    -------
    pandas.DataFrame
        These labels; ``gap``, the gap of the second best arm; and the columns of
        `Identifications.summary`.
    """

    def columns(one: Identifications) -> dict[str, Any]:
        return {"gap": _least_gap(one.instance), **one.summary()}

    names = ("panel", "instance", "n_arms", "epsilon", "delta", "algorithm", "variant")
    return tabulate(found, columns, names)


def means_of(table: pd.DataFrame) -> dict[Place, dict[str, Estimate]]:
    """Return what each algorithm came to in each setting of a map.

    Parameters
    ----------
    table : pandas.DataFrame
        As `regret_map_table` or `identification_map_table` makes it.

    Returns
    -------
    dict of Place to (dict of str to Estimate)
        Mean regret at the horizon, or mean stopping time. A variant stands after the algorithm's
        name and a comma.
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
    """Tell for each setting whether any algorithm has at most half the regret of random play."""
    least = table.groupby(["panel", "epsilon", "gap"], sort=False)[["mean", "at_random"]].min()
    enough = least["mean"] <= LEARNT * least["at_random"]
    return {Place(*place): bool(is_so) for place, is_so in enough.items()}


@redrawable
def regret_map(
    table: pd.DataFrame,
    *,
    titles: Mapping[str, str],
    panels: Sequence[str] | None = None,
    without: Collection[str] = (),
) -> Figure:
    """Draw which algorithm has the least mean regret; see `map_figure`.

    Below a code stands how many times the regret of the first the second has. A cell is grey where
    even the best of all has more than half the regret of playing at random.

    Parameters
    ----------
    table : pandas.DataFrame
        As `regret_map_table` makes it.
    titles : mapping of str to str
        Panel → its title, to which the horizon is added.
    panels : sequence of str, optional
        Panels to draw; all if not given. Who is best is found for all together all the same.
    without : collection of str
        Algorithms that are left out.

    Returns
    -------
    matplotlib.figure.Figure
    """
    titles = chosen_panels(titles, panels)
    horizons = table.groupby("panel")["time"].max()
    told = {panel: f"{title}, T = {_count(horizons[panel])}" for panel, title in titles.items()}
    faint = {place for place, is_so in learnt(table).items() if not is_so}
    cells = _cells_of(table, titles, without, faint)
    return map_figure(
        told, cells, x_label="privacy budget ε", y_label="gap Δ", faint="nothing learnt yet"
    )


@redrawable
def identification_map(
    table: pd.DataFrame,
    *,
    titles: Mapping[str, str],
    panels: Sequence[str] | None = None,
    without: Collection[str] = (),
) -> Figure:
    """Draw which algorithm has the least mean stopping time; see `map_figure`.

    Below a code stands how many times the time of the first the second takes.

    Parameters
    ----------
    table : pandas.DataFrame
        As `identification_map_table` makes it.
    titles, panels, without
        As for `regret_map`; nothing is added to titles.

    Returns
    -------
    matplotlib.figure.Figure
    """
    titles = chosen_panels(titles, panels)
    cells = _cells_of(table, titles, without)
    return map_figure(titles, cells, x_label="privacy budget ε", y_label="least gap Δ")


def _least_gap(instance: Instance) -> float:
    return float(f"{np.sort(instance.gaps)[1]:.6g}")


def _cells_of(
    table: pd.DataFrame,
    titles: Mapping[str, str],
    without: Collection[str],
    faint: Collection[Place] = (),
) -> dict[str, list[MapCell]]:
    """Return the cells of each panel; who is best is found for all panels of the table at once."""
    cells: dict[str, list[MapCell]] = {panel: [] for panel in titles}
    for place, best in best_in_each(without_some(means_of(table), without)).items():
        if place.panel in cells:
            cell = MapCell(place.epsilon, place.gap, best, _note(best.ratio), place in faint)
            cells[place.panel].append(cell)
    return cells


def _note(ratio: float) -> str:
    """Write how many times as much the second has."""
    if not ratio < 99.5:
        return "×100+"
    return f"×{ratio:.1f}" if ratio < 9.95 else f"×{ratio:.0f}"


def _count(number: int) -> str:
    """Write a number of pulls, a power of ten as such."""
    digits = str(number)
    if digits.strip("0") == "1":
        return f"$10^{{{len(digits) - 1}}}$"
    return f"{number:,}".replace(",", "\u2009")
