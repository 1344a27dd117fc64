"""The expected bound of an audit in closed form, and the capital of its bet, run by run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from companion.figures.panels import chosen_panels
from companion.figures.redraw import redrawable
from companion.publishing import grouped
from dpbandits._arrays import Floats
from dpbandits.auditing import betting_bound, expected_bound
from dpbandits.mechanisms import laplace_cdf
from dpbandits.plotting.style import COLOURS, INK, End, PanelRange, finish_panels, make_panels

TRUTH = "true loss"
"""Name of the curve that does not come from an audit."""
_TAPES = 2000  # cells of the shifted noise
_SHOWN = 200  # runs at which the capital is shown


def tail(x: float) -> float:
    """Return the probability that the difference of two Laplace variables of scale 1 exceeds x."""
    above = math.exp(-abs(x)) * (0.5 + abs(x) / 4)
    return above if x >= 0 else 1 - above


def chance_of_a(c: float, lead: float = 1.0) -> float:
    """Return the probability that A appears ahead although B leads, with noise Lap(1/c) on both."""
    return tail(c * lead)


def loss_of(c: float, lead: float = 1.0) -> float:
    """Return the privacy loss of the event "A" if one reward of A lowers the lead of B by 1."""
    return math.log(chance_of_a(c, lead - 1) / chance_of_a(c, lead))


def replayed_bound(c: float, n_runs: float, failure: float, lead: float = 1.0) -> float:
    """Return the bound of an audit whose sides share tapes, with expected counts.

    The noise on A is shifted by the differing reward, so that the event is the same on both sides;
    a run in the event counts 1 on one side and the weight of the shift on the other.
    """
    u = (np.arange(_TAPES) + 0.5) / _TAPES
    z = np.where(u < 0.5, np.log(2 * u), -np.log(2 * (1 - u)))
    weights = np.exp(np.abs(z) - np.abs(z - c))
    hits = n_runs / _TAPES * np.array([laplace_cdf(x, 1.0) for x in z - c * lead])
    x, y = np.append(weights, 0.0), np.append(np.ones(_TAPES), 0.0)
    return betting_bound(x, y, failure, counts=np.append(hits, n_runs - hits.sum()))


def runs_for(share: float, c: float, lead: float, failure: float, *, replayed: bool) -> float:
    """Return the number of test runs at which the expected bound is a given share of the loss."""
    goal = share * loss_of(c, lead)
    p, q = chance_of_a(c, lead - 1), chance_of_a(c, lead)
    low, high = 10.0, 1e12
    while high / low > 1.001:
        n = math.sqrt(low * high)
        found = replayed_bound(c, n, failure, lead) if replayed else counted_bound(p, q, n, failure)
        low, high = (low, n) if found >= goal else (n, high)
    return high


def counted_bound(p: float, q: float, n_runs: float, failure: float) -> float:
    """Return the bound of an audit that counts, with expected counts: `expected_bound`."""
    return expected_bound(p, q, round(n_runs), failure)


def expected_table(runs: Sequence[int], factors: Sequence[float], failure: float) -> pd.DataFrame:
    """Make the table of `expected_figure`: a row per (curve, c), with the expected bound."""
    rows = [
        {
            "panel": "a",
            "curve": f"{grouped(n)} test runs" if n else TRUTH,
            "c": float(c),
            "bound": expected_bound(0.5, chance_of_a(c), n, failure) if n else loss_of(c),
        }
        for n in (*runs, 0)
        for c in factors
    ]
    return pd.DataFrame(rows)


def guess_of(m: int, c: float = 1.0) -> float:
    """Return the probability that the best guess of one of m fair coins is right.

    The guess is based on their sum with noise of scale 1/c. The total variation distance of its two
    distributions is computed by the midpoint rule.
    """
    step = 1e-3
    y = np.arange(-30.0 / c, m + 30.0 / c, step) + step / 2
    others = [math.comb(m - 1, k) / 2.0 ** (m - 1) for k in range(m)]
    noise = [c / 2 * np.exp(-c * np.abs(y - k)) for k in range(m + 1)]
    without, also = (sum(p * noise[k + own] for k, p in enumerate(others)) for own in (0, 1))
    return float(0.5 + step * np.abs(also - without).sum() / 4)


def wealth_table(coins: Mapping[tuple[float, int], Floats]) -> pd.DataFrame:
    """Make the table of `wealth_figure`: the capital after some runs, a row per (c, seed, runs).

    `coins` contains for each c and seed the logarithm of the capital after each run.
    """
    rows = []
    for (c, seed), path in coins.items():
        whole = np.concatenate([[0.0], path])
        for runs in np.unique(np.linspace(0, len(path), _SHOWN + 1).round().astype(int)).tolist():
            found = {"panel": "a", "c": c, "seed": seed, "runs": runs}
            rows.append(found | {"wealth": math.exp(whole[runs])})
    return pd.DataFrame(rows)


def crossings(table: pd.DataFrame) -> dict[str, float]:
    """Return the point where each curve crosses the declared ε = 1, by interpolation."""
    found = {}
    for name, rows in table.groupby("curve", sort=False):
        found[str(name)] = float(np.interp(1.0, rows["bound"], rows["c"]))
    return found


_LOOKS: tuple[dict[str, Any], ...] = (
    {"color": COLOURS["sky"]},
    {"color": COLOURS["blue"]},
    {"color": COLOURS["green"]},
)


@redrawable
def expected_figure(
    table: pd.DataFrame, *, titles: Mapping[str, str], panels: Sequence[str] | None = None
) -> Figure:
    """Draw the expected bound against the factor c by which the program overspends.

    A dot marks where a curve crosses the declared ε = 1: from there on an audit convicts.
    """
    figure, grid = make_panels(chosen_panels(titles, panels), width=5.6, height=3.0)
    (axes,) = grid.values()
    counted = iter(_LOOKS)
    ends = []
    for name, rows in table.groupby("curve", sort=False):
        look: dict[str, Any] = {"color": INK, "linewidth": 2.2}
        if name != TRUTH:
            look = next(counted)
        c, bound = rows["c"].to_numpy(), rows["bound"].to_numpy()
        axes.plot(c, bound, **look)
        at = float(np.interp(1.0, bound, c))
        axes.plot(at, 1.0, marker="o", markersize=7, color=look["color"], zorder=4)
        ends.append(End(float(c[-1]), float(bound[-1]), str(name), look["color"]))
    axes.axhline(1.0, color=INK, linewidth=0.9, linestyle=":")
    c = table["c"]
    shown = PanelRange(
        (float(c.min()), float(c.max())), (0.0, float(table["bound"].max())), tuple(ends)
    )
    words = {"x_label": "c: run at c times what is declared", "y_label": "ε at least"}
    finish_panels(figure, figure.axes, [shown], log="", **words)
    return figure


_PROGRAMS = {1.0: ("promise kept", COLOURS["blue"]), 2.0: ("broken", COLOURS["vermilion"])}


@redrawable
def wealth_figure(
    table: pd.DataFrame,
    *,
    titles: Mapping[str, str],
    failure: float,
    panels: Sequence[str] | None = None,
) -> Figure:
    """Draw the capital of each audit against its test runs; at 1/φ the audit convicts."""
    figure, grid = make_panels(chosen_panels(titles, panels), width=5.6, height=3.0)
    (axes,) = grid.values()
    ends = []
    for c, rows in table.groupby("c", sort=True):
        name, colour = _PROGRAMS[float(str(c))]
        style = "-" if c > 1 else (0, (4, 1.5))
        for _, path in rows.groupby("seed", sort=True):
            axes.plot(path["runs"], path["wealth"], color=colour, linewidth=1.2, linestyle=style)
        last = rows[rows["runs"] == rows["runs"].max()]["wealth"]
        ends.append(End(float(rows["runs"].max()), float(last.median()), name, colour))
    runs, wealth = table["runs"], table["wealth"]
    end = float(runs.max())
    axes.plot([0.0, end], [1.0 / failure] * 2, color=INK, linewidth=0.9, linestyle=":")
    ends.append(End(end, 1.0 / failure, "1/φ", INK))
    most = max(float(wealth.max()), 1.0 / failure)
    shown = PanelRange((0.0, end), (float(wealth.min()), most), tuple(ends))
    finish_panels(figure, figure.axes, [shown], log="y", x_label="test runs", y_label="the coin")
    return figure
