"""Settings of experiments in which algorithms meet: what each came to in each of them."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np
from scipy import stats

from dpbandits._validation import check_choice
from dpbandits.experiments.ranking import Best, Estimate, best_of
from dpbandits.experiments.running import Results
from dpbandits.experiments.store import Data, Row, rows_of

__all__ = ["LEARNT", "MAP_ERROR", "Place", "best_in_each", "learnt", "means_of", "without_some"]

MAP_ERROR = 0.05
"""Probability with which any winner of all settings of a map may be none."""
LEARNT = 0.5
"""Share of the regret of playing at random; with more, nothing counts as learnt."""


class Place(NamedTuple):
    """Where algorithms meet.

    Attributes
    ----------
    panel : str
        Panel of the experiment.
    epsilon : float
        Privacy budget ε; ``inf`` for algorithms without privacy.
    gap : float
        Gap of the second best arm.
    """

    panel: str
    epsilon: float
    gap: float


def _place(row: Row) -> Place:
    gap = np.sort(row.setting.cell.instance.gaps)[1]
    return Place(row.summary.panel, row.summary.epsilon, float(f"{gap:.6g}"))


def _estimate(row: Row) -> Estimate:
    """Return the mean over all runs of a setting, from its summary."""
    s, n_runs = row.summary, row.setting.cell.n_runs
    if n_runs < 2:
        raise ValueError(f"n_runs={n_runs} is too few for an error; allowed: 2 or more")
    if hasattr(s, "mean_time"):
        return Estimate(s.mean_time, s.time_sd / math.sqrt(n_runs), n_runs)
    width = float(s.mean_high95[-1] - s.mean_low95[-1]) / 2
    return Estimate(float(s.mean[-1]), width / float(stats.t.ppf(0.975, n_runs - 1)), n_runs)


def means_of(source: Results | Data | str) -> dict[Place, dict[str, Estimate]]:
    """Return what each algorithm came to in each setting.

    Parameters
    ----------
    source : Results, Data or str
        Results of one experiment on regret or identification, data as `load` returns it, or the
        id of an experiment whose committed data is fresh.

    Returns
    -------
    dict of Place to (dict of str to Estimate)
        Mean regret at the horizon, or mean stopping time, over all runs. A variant stands after
        the algorithm's name and a comma.

    Examples
    --------
    >>> from dpbandits import experiments
    >>> found = means_of(experiments.run("ours-head-map", preset="smoke"))
    >>> place = Place("a", 1.0, 0.3)
    >>> found[place]["DP-SE"].n_runs
    3
    """
    experiment, rows = rows_of(source)
    kind = experiment.table.kind
    if kind not in ("regret", "identification"):
        raise ValueError(
            f"source={experiment.id!r} is on {kind}; allowed: an experiment on regret or "
            "identification"
        )
    found: dict[Place, dict[str, Estimate]] = {}
    for row in rows:
        s = row.summary
        name = f"{s.algorithm}, {s.variant}" if s.variant else s.algorithm
        found.setdefault(_place(row), {})[name] = _estimate(row)
    return found


def learnt(source: Results | Data | str) -> dict[Place, bool]:
    """Tell for each setting whether any algorithm has at most half the regret of random play."""
    at_random = {
        _place(row): row.setting.cell.horizon * float(row.setting.cell.instance.gaps.mean())
        for row in rows_of(source)[1]
    }
    return {
        place: min(e.mean for e in each.values()) <= LEARNT * at_random[place]
        for place, each in means_of(source).items()
    }


def without_some(
    settings: Mapping[Place, Mapping[str, Estimate]], without: Collection[str]
) -> dict[Place, dict[str, Estimate]]:
    """Leave algorithms out.

    Raises
    ------
    ValueError
        If a name is unknown, or fewer than two algorithms are left in a setting.
    """
    known = tuple(dict.fromkeys(name for each in settings.values() for name in each))
    for name in without:
        check_choice("without", name, known)
    left = {
        place: {name: e for name, e in each.items() if name not in without}
        for place, each in settings.items()
    }
    if any(len(each) < 2 for each in left.values()):
        raise ValueError(f"without={without!r} leaves nothing to compare; allowed: fewer names")
    return left


def best_in_each(settings: Mapping[Place, Mapping[str, Estimate]]) -> dict[Place, Best]:
    """Find who is best in each setting; `MAP_ERROR` is for all of them together."""
    return {place: best_of(each, MAP_ERROR / len(settings)) for place, each in settings.items()}
