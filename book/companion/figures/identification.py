"""Best-arm identification: stopping times against a parameter, tails, errors, and plans."""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from companion.figures.panels import (
    Line,
    Lines,
    Titles,
    draw_panels,
    marked,
    plain,
)
from companion.figures.redraw import redrawable
from companion.rounding import rounded
from companion.tables import records, tabulate
from dpbandits._validation import check_choice
from dpbandits.identification.characteristic import privacy_switches, sample_lower_bound
from dpbandits.identification.replicates import Identifications
from dpbandits.plotting.pictures import draw_plan, plan_rows
from dpbandits.plotting.style import (
    BOUND,
    DOTTED,
    FREE,
    IDENTIFIER_LOOKS,
    INK,
    End,
    PanelRange,
    look_of,
)
from dpbandits.trials.planning import Plan

Runs = Mapping[Any, Identifications]
"""(Panel, algorithm, variant, place on the axis) → results, as `dpbandits.identify_many` has them.

A variant tells apart curves of one algorithm and is often empty.
"""

_X_LABELS = {
    "epsilon": "privacy budget ε",
    "delta": "risk of error δ",
    "n_arms": "number of arms K",
    "eta": "growth η of the batches",
}
_Y_LABELS = {"time": "stopping time τ (pulls)", "ratio": "mean of τ / lower bound"}
_NAMES = ("panel", "algorithm", "variant")
_FINE = 61
"""Points of the lower bound against ε and δ."""


def _budget(runs: Identifications) -> float:
    """Return ε, infinite for an algorithm that has none."""
    return float(getattr(runs.algorithm, "epsilon", math.inf))


# ------------------------------------------------------------------------------ stopping times


def measured(runs: Identifications) -> dict[str, Any]:
    """Return the setting, the results, and the lower bound on the mean stopping time."""
    epsilon, delta = _budget(runs), runs.algorithm.delta
    return {
        "instance": runs.instance.name,
        "n_arms": runs.instance.n_arms,
        "epsilon": epsilon,
        "delta": delta,
        **runs.summary(),
        "lower_bound": sample_lower_bound(runs.instance.means, epsilon, delta),
    }


def times_table(runs: Runs, axis: str) -> pd.DataFrame:
    """Make the table that `stopping_times` draws; the axis is the parameter that varies.

    A row per case contains the setting, `Identifications.summary`, and T*_ε·log(1/(2.4δ)). The rows
    after these are the lower bound along the axis, with the algorithm "lower bound", 0 runs and no
    instance name; panels with several instances have none. Against ε, ``switch`` is the least
    budget at which the bound equals the one without privacy, and ``switch_any`` the budget that
    suffices for any allocation.
    """
    check_choice("axis", axis, tuple(_X_LABELS))
    table = tabulate(runs, measured, (*_NAMES, axis))
    by_panel: dict[str, list[Identifications]] = {}
    for (panel, *_), result in runs.items():
        by_panel.setdefault(panel, []).append(result)
    bounds = [
        _bound_rows(panel, cases, axis)
        for panel, cases in by_panel.items()
        if axis == "n_arms" or len({case.instance.mean_rewards for case in cases}) == 1
    ]
    table = pd.concat([table, *bounds], ignore_index=True)
    if axis == "epsilon":
        switches = {p: privacy_switches(cases[0].instance.means) for p, cases in by_panel.items()}
        for column, field in (("switch", "exact"), ("switch_any", "free")):
            table[column] = [rounded(getattr(switches[p], field)) for p in table["panel"]]
    return table


def _bound_rows(panel: str, cases: Sequence[Identifications], axis: str) -> pd.DataFrame:
    """Return the lower bound along an axis, for the budget of the panel's private algorithms."""
    private = [case for case in cases if math.isfinite(_budget(case))] or cases
    epsilon, delta, instance = _budget(private[0]), private[0].algorithm.delta, private[0].instance
    at: dict[Hashable, tuple[Any, float, float]]  # place → instance, ε and δ
    if axis == "n_arms":
        at = {case.instance.n_arms: (case.instance, epsilon, delta) for case in private}
    elif axis == "eta":
        etas = [getattr(case.algorithm, axis) for case in private]
        at = dict.fromkeys(etas, (instance, epsilon, delta))
    elif axis == "epsilon":
        at = {x: (instance, x, delta) for x in _between(map(_budget, private))}
    else:
        at = {x: (instance, epsilon, x) for x in _between(c.algorithm.delta for c in private)}
    rows = [
        {
            "panel": panel,
            "algorithm": BOUND,
            "variant": "",
            "instance": "",
            "n_arms": each.n_arms,
            "epsilon": eps,
            "delta": confidence,
            axis: place,
            "n_runs": 0,
            "stopped": 0,
            "lower_bound": rounded(sample_lower_bound(each.means, eps, confidence)),
        }
        for place, (each, eps, confidence) in at.items()
    ]
    return pd.DataFrame(rows)


def _between(places: Iterable[float]) -> list[float]:
    """Return places on a fine grid between the least and the greatest that is finite."""
    known = [x for x in places if math.isfinite(x)]
    if not known:
        return []
    return [rounded(x) for x in np.geomspace(min(known), max(known), _FINE)]


@redrawable
def stopping_times(
    table: pd.DataFrame,
    *,
    titles: Titles,
    axis: str,
    values: str = "time",
    theory: bool = True,
    panels: Sequence[str] | None = None,
) -> Figure:
    """Draw mean stopping times against a parameter, or their ratios to the lower bound.

    A dark band shows two standard errors of the mean on each side; for ratios it is a bar, as many
    curves are close. A light band, for times only, shows the central 90 % of the runs. Cases in
    which a run was cut off before it stopped have no mean and are omitted; a panel with nothing to
    draw raises an error. ``theory`` draws the lower bound and, against ε, vertical lines where
    privacy begins to cost samples: the exact switch, and the one that holds for any allocation.

    The table is made by `times_table`. The parameter, `axis`, is "epsilon", "delta", "n_arms" or
    "eta"; the quantity drawn against it, `values`, is "time" or "ratio".
    """
    check_choice("axis", axis, tuple(_X_LABELS))
    check_choice("values", values, tuple(_Y_LABELS))

    def draw(axes: Axes, lines: Lines) -> PanelRange:
        return _curves(axes, lines, axis, values, theory)

    labels = _X_LABELS[axis], _Y_LABELS[values]
    return draw_panels(table, titles, panels, draw, labels, by=_NAMES, size=(4.4, 3.4))


def _shown(lines: Lines, axis: str) -> list[float]:
    """Return the finite places on the axis, in increasing order."""
    places = {float(x) for line in lines for x in getattr(line, axis)}
    return sorted(x for x in places if math.isfinite(x))


def _curves(axes: Axes, lines: Lines, axis: str, values: str, theory: bool) -> PanelRange:
    """Draw a curve for each algorithm and variant, and the lower bound."""
    runs = [line for line in lines if line.algorithm != BOUND]
    shown, panel = _shown(runs, axis), lines[0].panel
    if not any(np.isfinite(line.mean_time).any() for line in runs):
        raise ValueError(
            f"panel={panel!r} has no case with a mean; a case is needed of which every run stopped"
        )
    if not shown:
        raise ValueError(f"panel={panel!r} has no case with {axis}; one or more are needed")
    ends, drawn = [], []
    for place, line in enumerate(runs):
        look = look_of(line.algorithm, line.variant, place)
        order = np.argsort(getattr(line, axis), kind="stable")
        x, rows = getattr(line, axis)[order].astype(float), _rows(line, values)[order]
        marker = look.marker
        if math.isinf(x[0]):  # no ε, so the curve is level
            x, rows, marker = np.array([shown[0], shown[-1]]), np.repeat(rows, 2, axis=0), ""
        value, low, high, lower, upper = rows.T
        known = np.flatnonzero(np.isfinite(value))
        if not known.size:
            continue
        floor = float(np.nanmin(value)) / 50  # a band may reach 0 or below
        style: dict[str, Any] = {"color": look.colour, "linewidth": 0}
        if values == "ratio":
            x = x * 1.04 ** (place - (len(runs) - 1) / 2)  # beside each other
            axes.vlines(x, np.maximum(low, floor), high, color=look.colour, linewidth=1.2)
        else:
            axes.fill_between(x, np.maximum(lower, floor), upper, alpha=0.12, **style)
            axes.fill_between(x, np.maximum(low, floor), high, alpha=0.35, **style)
        marked(axes, x, value, look, marker=marker)
        drawn += [*value[known]]
        ends.append(End(float(x[known[-1]]), float(value[known[-1]]), _label(line), look.colour))
    if theory:
        x, bound = np.array([shown[0], shown[-1]]), np.ones(2)
        if values == "time":
            x, bound = _bound(lines, axis)
        axes.plot(x, bound, color=INK, linestyle=DOTTED, linewidth=1.6)
        ends.append(End(float(x[-1]), float(bound[-1]), BOUND, INK))
        drawn += [*bound]
        if axis == "epsilon":
            for at, dashes in ((lines[0].switch[0], "-"), (lines[0].switch_any[0], (0, (5, 2)))):
                if shown[0] < at < shown[-1]:
                    axes.axvline(at, color="0.55", linewidth=1.0, linestyle=dashes, zorder=0.5)
    return PanelRange((shown[0] / 1.15, shown[-1]), (min(drawn), max(drawn)), tuple(ends))


def _rows(line: Line, values: str) -> NDArray[np.float64]:
    """Return value, ends of the dark band and ends of the light band of each point."""
    mean = line.mean_time
    error = 2 * line.time_sd / np.sqrt(np.maximum(line.n_runs, 1))
    error = np.where(line.n_runs > 1, error, 0.0)
    columns = [mean, mean - error, mean + error, line.time_q05, line.time_q95]
    if values == "ratio":
        columns = [column / line.lower_bound for column in (*columns[:3], mean, mean)]
    return np.array(columns, dtype=np.float64).T


def _name(algorithm: str, variant: str) -> str:
    return f"{algorithm}, {variant}" if variant else algorithm


def _label(line: Line) -> str:
    """Return the label at the end of a curve."""
    name, variant = line.algorithm, line.variant
    label = _name(name, variant)
    if (name, variant) not in IDENTIFIER_LOOKS and (name, "") in IDENTIFIER_LOOKS:
        label = variant  # curves of one algorithm
    return label + (FREE if math.isinf(line.epsilon[0]) else "")


def _bound(lines: Lines, axis: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lower bound along an axis."""
    for line in lines:
        if line.algorithm == BOUND:
            return getattr(line, axis).astype(float), line.lower_bound
    raise ValueError(
        "a panel of several instances has no one lower bound; values='ratio' or theory=False is "
        "needed"
    )


# --------------------------------------------------------------------------------------- tails

_LONGEST = 20
"""Runs at the end of a tail that its table has one by one."""
_THINNED = 30
"""Runs before them that it has, evenly by share and by the share's logarithm, each so many."""


def tails_table(runs: Runs) -> pd.DataFrame:
    """Make the table that `stopping_tails` draws, of runs by panel, algorithm and variant.

    It contains times and the share of the runs that took at least that long. Each of the longest
    runs has a row; the others are thinned out. ``ended`` is the share of the runs that were cut off
    before they stopped; they share one row.
    """
    return tabulate(runs, _tail, _NAMES)


def _tail(runs: Identifications) -> dict[str, Any]:
    n = runs.n_runs
    x = np.sort(runs.stopping_time[runs.stopped])
    share = 1.0 - np.arange(x.size) / n
    ranks = {*range(max(x.size - _LONGEST, 0), x.size)}
    ranks |= {round(rank) for rank in np.linspace(0, x.size - 1, _THINNED)}
    ranks |= {x.size - round(left) for left in np.geomspace(1, max(x.size, 1), _THINNED)}
    kept = sorted(rank for rank in ranks if 0 <= rank < x.size)
    times, shares = x[kept].tolist(), share[kept].tolist()
    ended = 1.0 - x.size / n
    if x.size < n:
        times, shares = [*times, runs.stopping_time.max()], [*shares, ended]
    return {
        "instance": runs.instance.name,
        "epsilon": _budget(runs),
        "delta": runs.algorithm.delta,
        "n_runs": n,
        "ended": ended,
        "time": np.array(times, dtype=np.int64),
        "share": np.array(shares),
    }


@redrawable
def stopping_tails(
    table: pd.DataFrame,
    *,
    titles: Titles,
    together: str = "",
    panels: Sequence[str] | None = None,
) -> Figure:
    """Draw the share of runs that took longer than t, for each panel of `tails_table`.

    If given, `together` is the common label of all curves whose runs all stopped: for curves that
    coincide.
    """

    def draw(axes: Axes, lines: Lines) -> PanelRange:
        return _tails(axes, lines, together)

    labels = "pulls t", "share of runs with τ > t"
    return draw_panels(table, titles, panels, draw, labels, by=_NAMES, size=(4.4, 3.2))


def _tails(axes: Axes, lines: Lines, together: str) -> PanelRange:
    ends: list[End] = []
    least = 0.5
    for place, line in enumerate(lines):
        look = look_of(line.algorithm, line.variant, place)
        plain(axes, line.time, line.share, look, drawstyle="steps-pre")
        text = (line.variant or line.algorithm).replace("W̃", r"$\tilde{W}$")
        text += f": {line.ended[0]:.1%} never" if line.ended[0] else ""
        end = End(float(line.time[-1]), float(line.share[-1]), text, look.colour)
        if together and not line.ended[0]:
            bundle = [each for each in ends if each.text == together]
            ends = [each for each in ends if each.text != together]
            end = max((*bundle, end._replace(text=together)), key=lambda each: each.x)
        ends.append(end)
        least = min(least, float(line.share[-1]))
    x = min(line.time[0] for line in lines) / 1.1, max(line.time[-1] for line in lines)
    return PanelRange(x, (least, 1.0), tuple(ends))


# --------------------------------------------------------------------------------------- plans


def plan_table(plan: Plan) -> pd.DataFrame:
    """Return the data of `dpbandits.plotting.plan_figure`, ready to publish.

    ``free_from`` is the ε from which privacy is free as far as the lower bound is concerned.
    """
    table = tabulate(plan_rows(plan), dict, ("algorithm", "private"))
    return table.assign(free_from=rounded(plan.free_from))


@redrawable
def plan_from_table(table: pd.DataFrame) -> Figure:
    """Draw a plan from the table made by `plan_table`."""
    names = ("epsilon", "samples", "samples_q90")
    rows = {}
    for line in records(table, ("algorithm", "private")):
        values = {name: getattr(line, name) for name in names}
        if line.algorithm != BOUND:
            values = {name: float(value[0]) for name, value in values.items()}
        rows[line.algorithm, bool(line.private)] = values
    return draw_plan(rows, float(table.free_from.iloc[0]))
