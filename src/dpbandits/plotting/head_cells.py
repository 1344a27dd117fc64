"""Maps of the head-to-head experiments: their settings as cells with a winner."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from matplotlib.figure import Figure

from dpbandits.experiments import Data, Experiment, Results, rows_of
from dpbandits.experiments.head_settings import best_in_each, learnt, means_of, without_some
from dpbandits.plotting.head_map import MapCell, map_figure

__all__ = ["check_no_choice", "identification_map_figure", "regret_map_figure"]


def check_no_choice(experiment: Experiment, without: Collection[str]) -> None:
    """Refuse to leave algorithms out of a figure that is no map."""
    if without:
        raise ValueError(
            f"without={without!r} is for maps, which {experiment.id} is not; allowed: nothing"
        )


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


def regret_map_figure(
    source: Results | Data | str, titles: Mapping[str, str], without: Collection[str] = ()
) -> Figure:
    """Draw which algorithm has the least mean regret; see `map_figure`.

    Below a code stands how many times the regret of the first the second has. A cell is grey
    where even the first has more than half the regret of playing at random.

    Parameters
    ----------
    source : Results, Data or str
        The experiment, as `draw` takes it.
    titles : mapping of str to str
        Panels to draw → their titles, to which the horizon is added.
    without : collection of str
        Algorithms that are left out.

    Returns
    -------
    matplotlib.figure.Figure
    """
    horizons = {row.summary.panel: row.setting.cell.horizon for row in rows_of(source)[1]}
    told = {p: f"{t}, T = {_count(horizons[p])}" for p, t in titles.items()}
    is_learnt = learnt(source)
    cells: dict[str, list[MapCell]] = {panel: [] for panel in titles}
    for place, best in best_in_each(without_some(means_of(source), without)).items():
        if place.panel in cells:
            note, faint = _note(best.ratio), not is_learnt[place]
            cells[place.panel].append(MapCell(place.epsilon, place.gap, best, note, faint))
    return map_figure(
        told, cells, x_label="privacy budget ε", y_label="gap Δ", faint="nothing learnt yet"
    )


def identification_map_figure(
    source: Results | Data | str, titles: Mapping[str, str], without: Collection[str] = ()
) -> Figure:
    """Draw which algorithm has the least mean stopping time; see `map_figure`.

    Below a code stands how many times the time of the first the second takes.

    Parameters
    ----------
    source : Results, Data or str
        The experiment, as `draw` takes it.
    titles : mapping of str to str
        Panels to draw → their titles.
    without : collection of str
        Algorithms that are left out.

    Returns
    -------
    matplotlib.figure.Figure
    """
    cells: dict[str, list[MapCell]] = {panel: [] for panel in titles}
    for place, best in best_in_each(without_some(means_of(source), without)).items():
        if place.panel in cells:
            cell = MapCell(place.epsilon, place.gap, best, _note(best.ratio))
            cells[place.panel].append(cell)
    return map_figure(titles, cells, x_label="privacy budget ε", y_label="least gap Δ")
