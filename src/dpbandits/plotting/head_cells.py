"""Maps of the head-to-head experiments: their settings as cells with a winner."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from scipy import stats

from dpbandits._validation import check_choice
from dpbandits.experiments import Experiment
from dpbandits.experiments.ranking import Best, Estimate, best_of
from dpbandits.plotting.head_map import MapCell, map_figure
from dpbandits.plotting.regret_lines import Line
from dpbandits.regret.base import Instance

__all__ = [
    "check_no_choice",
    "estimate_of",
    "identification_map_figure",
    "identification_settings",
    "learnt",
    "regret_map_figure",
    "regret_settings",
]

LEVEL = 0.05
"""Probability with which any winner of a map may be none."""
LEARNT = 0.5
"""Share of the regret of playing at random above which nothing counts as learnt."""


def least_gap(instance: Instance) -> float:
    """Return the gap of the second best arm, without rounding errors."""
    return float(f"{np.sort(instance.gaps)[1]:.6g}")


def estimate_of(line: Line) -> Estimate:
    """Return the mean regret at the horizon, over all runs of a setting."""
    n_runs = line.cell.n_runs
    if n_runs < 2:
        raise ValueError(f"n_runs={n_runs} is too few for an error; allowed: 2 or more")
    width = (line.curve.mean_high95[-1] - line.curve.mean_low95[-1]) / 2
    quantile = float(stats.t.ppf(0.975, n_runs - 1))
    return Estimate(float(line.curve.mean[-1]), float(width) / quantile, n_runs)


def check_no_choice(experiment: Experiment, without: Collection[str]) -> None:
    """Refuse to leave algorithms out of a figure that is no map."""
    if without:
        raise ValueError(
            f"without={without!r} is for maps, which {experiment.id} is not; allowed: nothing"
        )


class Place(NamedTuple):
    """A setting of a map."""

    panel: str
    epsilon: float
    gap: float


def regret_settings(by_panel: Mapping[str, Sequence[Line]]) -> dict[Place, dict[str, Estimate]]:
    """Return the mean regret of each algorithm in each setting of the map of regret."""
    found: dict[Place, dict[str, Estimate]] = {}
    for panel, lines in by_panel.items():
        for line in lines:
            place = Place(panel, line.curve.epsilon, least_gap(line.cell.instance))
            found.setdefault(place, {})[line.curve.algorithm] = estimate_of(line)
    return found


def identification_settings(by_panel: Mapping[str, Any]) -> dict[Place, dict[str, Estimate]]:
    """Return the mean stopping time of each algorithm in each setting of the map of them."""
    found: dict[Place, dict[str, Estimate]] = {}
    for panel, groups in by_panel.items():
        for (name, _), points in groups.items():
            for point in points:
                s = point.summary
                place = Place(panel, s.epsilon, least_gap(point.cell.instance))
                error = s.time_sd / math.sqrt(s.n_runs)
                found.setdefault(place, {})[name] = Estimate(s.mean_time, error, s.n_runs)
    return found


def learnt(by_panel: Mapping[str, Sequence[Line]]) -> dict[Place, bool]:
    """Tell for each setting whether any algorithm has less than half the regret of random play."""
    means = regret_settings(by_panel)
    found = {}
    for panel, lines in by_panel.items():
        for line in lines:
            place = Place(panel, line.curve.epsilon, least_gap(line.cell.instance))
            at_random = line.curve.horizon * float(line.cell.instance.gaps.mean())
            found[place] = min(e.mean for e in means[place].values()) <= LEARNT * at_random
    return found


def _cells(
    settings: Mapping[Place, Mapping[str, Estimate]], without: Collection[str], kind: str
) -> dict[Place, Best]:
    """Find who is best in each setting, for all of them together."""
    known = tuple(dict.fromkeys(name for each in settings.values() for name in each))
    for name in without:
        check_choice("without", name, known)
    left = {
        place: {name: e for name, e in each.items() if name not in without}
        for place, each in settings.items()
    }
    if any(len(each) < 2 for each in left.values()):
        raise ValueError(f"without={without!r} leaves no {kind} to compare; allowed: two or more")
    return {place: best_of(each, LEVEL / len(left)) for place, each in left.items()}


def _note(ratio: float) -> str:
    """Write how many times as much the second has."""
    if not ratio < 100:
        return "×100+"
    return f"×{ratio:.1f}" if ratio < 9.95 else f"×{ratio:.0f}"


def regret_map_figure(
    titles: Mapping[str, str], by_panel: Sequence[Sequence[Line]], without: Collection[str] = ()
) -> Figure:
    """Draw which algorithm has the least mean regret; see `map_figure`.

    Below a code stands how many times the regret of the first the second has. A cell is grey
    where even the first has more than half the regret of playing at random.

    Parameters
    ----------
    titles : mapping of str to str
        Panel → its title, to which the horizon is added.
    by_panel : sequence of sequence of Line
        The settings of each panel.
    without : collection of str
        Algorithms that are left out.

    Returns
    -------
    matplotlib.figure.Figure
    """
    lines = dict(zip(titles, by_panel, strict=True))
    told = {p: f"{t}, T = {_count(lines[p][0].curve.horizon)}" for p, t in titles.items()}
    is_learnt = learnt(lines)
    cells: dict[str, list[MapCell]] = {panel: [] for panel in titles}
    for place, best in _cells(regret_settings(lines), without, "algorithm").items():
        cell = MapCell(place.epsilon, place.gap, best, _note(best.ratio), not is_learnt[place])
        cells[place.panel].append(cell)
    return map_figure(
        told, cells, x_label="privacy budget ε", y_label="gap Δ", faint="nothing learnt yet"
    )


def _count(number: int) -> str:
    """Write a number of pulls, a power of ten as such."""
    digits = str(number)
    if digits.strip("0") == "1":
        return f"$10^{{{len(digits) - 1}}}$"
    return f"{number:,}".replace(",", "\u2009")


def identification_map_figure(
    titles: Mapping[str, str], by_panel: Mapping[str, Any], without: Collection[str] = ()
) -> Figure:
    """Draw which algorithm has the least mean stopping time; see `map_figure`.

    Below a code stands how many times the time of the first the second takes.

    Parameters
    ----------
    titles : mapping of str to str
        Panel → its title.
    by_panel : mapping of str to Points
        The settings of each panel, as `identification_figure` has them.
    without : collection of str
        Algorithms that are left out.

    Returns
    -------
    matplotlib.figure.Figure
    """
    cells: dict[str, list[MapCell]] = {panel: [] for panel in titles}
    for place, best in _cells(identification_settings(by_panel), without, "algorithm").items():
        cells[place.panel].append(MapCell(place.epsilon, place.gap, best, _note(best.ratio)))
    return map_figure(
        titles, cells, x_label="privacy budget ε", y_label="gap Δ of the second best arm"
    )
