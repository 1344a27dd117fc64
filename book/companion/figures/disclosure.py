"""Information about one patient in the day of stopping: two halting distributions, compared."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from companion.figures.panels import Line, chosen_panels
from companion.figures.redraw import redrawable
from companion.tables import records, tabulate
from dpbandits.plotting.style import COLOURS, INK, make_panels
from dpbandits.stopping import NAS, HaltingLaw
from dpbandits.stopping.halting import boundary

MARGIN, DAY = "a", "b"
"""The panels: the margin of the rule without privacy, and the law of the private halting time."""

LOOKS = {"recovered": COLOURS["blue"], "not recovered": COLOURS["orange"]}
"""Outcome of the patient → colour, the same in both panels."""

_PATIENTS = "patients seen, n"


def margins(rule: NAS, stream: ArrayLike, times: Sequence[int]) -> NDArray[np.float64]:
    """Return |S_n| − n·h_n·(1 + 1/α) at each time n; the rule halts when it is not negative."""
    sums = np.abs(np.cumsum(np.asarray(stream, dtype=np.float64)))
    limits = [boundary(rule.halting, float(n), n) for n in times]
    found: NDArray[np.float64] = np.array([sums[n - 1] for n in times]) - np.array(limits)
    return found


def guess_from_day(one: HaltingLaw, other: HaltingLaw) -> float:
    """Return the success rate of the best guess from the halting time, with equal priors."""
    p, q = _probabilities(one), _probabilities(other)
    return float(np.maximum(p, q).sum() / 2)


def guess_from_all(
    one: HaltingLaw, other: HaltingLaw, sums: tuple[ArrayLike, ArrayLike], scale: float
) -> float:
    """Return the success rate of the best guess from halting time and estimate.

    `sums` are |S_n| of both streams at the looks; given that the rule halts at n, n times the
    estimate is |S_n| plus Laplace noise of the scale. Not halting is an outcome of its own.
    """
    p, q = _probabilities(one), _probabilities(other)
    here, there = (np.asarray(each, dtype=np.float64) for each in sums)
    best = float(np.maximum(p[-1], q[-1]))
    for weight, rival, centre, moved in zip(p[:-1], q[:-1], here, there, strict=True):
        best += _overlap(weight, rival, abs(centre - moved) / scale)
    return best / 2


def _overlap(p: float, q: float, shift: float) -> float:
    """Integrate max(p·f(x), q·f(x − shift)) over x, where f is the density of Lap(1).

    The logarithm of the quotient of the two falls from log(p/q) + shift to log(p/q) − shift.
    """
    if p <= 0 or q <= 0:
        return p + q
    ratio = math.log(p / q)
    if abs(ratio) >= shift:
        return max(p, q)
    cut = (shift + ratio) / 2  # to its left, the first is larger
    return p * (1 - math.exp(-cut) / 2) + q * (1 - math.exp(-(shift - cut)) / 2)


def _probabilities(law: HaltingLaw) -> NDArray[np.float64]:
    """Return the probabilities of halting at each look, and of not halting."""
    found: NDArray[np.float64] = np.exp(np.append(law.log_halt, law.log_survive))
    return found


def disclosure_table(
    rule: NAS,
    streams: Mapping[str, ArrayLike],
    laws: Mapping[str, HaltingLaw],
    *,
    near: tuple[int, int],
    shown: tuple[int, int],
    block: int = 4,
) -> pd.DataFrame:
    """Make the table of `disclosure_figure`.

    For each outcome of the patient, a key of `streams` and `laws`, panel "a" contains the margins
    of the rule at the times from `near[0]` to `near[1]`, and panel "b" the probability of halting
    in each block of `block` patients between the times `shown`. The columns are ``panel``,
    ``outcome``, ``n`` and ``value``; ``mark`` is 1 where the rule halts, and in the block of the
    median.
    """
    columns = {}
    for outcome, stream in streams.items():
        times = range(near[0], near[1] + 1)
        value = margins(rule, stream, times)
        first = int(np.argmax(value >= 0))
        mark = (np.arange(value.size) == first) & bool((value >= 0).any())
        columns[MARGIN, outcome] = {"n": np.array(times), "value": value, "mark": mark.astype(int)}
    for outcome, law in laws.items():
        starts = np.arange(shown[0], shown[1], block)
        p = np.exp(law.log_halt)
        blocks = np.array([p[(law.times >= n) & (law.times < n + block)].sum() for n in starts])
        middle = median_of(law)
        mark = (starts <= middle) & (middle < starts + block)
        columns[DAY, outcome] = {"n": starts, "value": blocks, "mark": mark.astype(int)}
    return tabulate(columns, dict, ("panel", "outcome"))


def median_of(law: HaltingLaw) -> int:
    """Return the first look by which the rule has halted with probability 1/2."""
    return int(law.times[np.searchsorted(np.cumsum(np.exp(law.log_halt)), 0.5)])


@redrawable
def disclosure_figure(
    table: pd.DataFrame, *, titles: Mapping[str, str], panels: Sequence[str] | None = None
) -> Figure:
    """Draw the margin of a rule for both outcomes of one patient, and the private distributions.

    The table is made by `disclosure_table`; the panels are "a" and "b".
    """
    chosen = chosen_panels(titles, panels)
    figure, places = make_panels(chosen)
    for panel, axes in places.items():
        _DRAW[panel](axes, list(records(table, ("panel", "outcome"), panel=panel)))
        axes.set_xlabel(_PATIENTS)
    if len(places) > 1:  # each panel has axes of its own
        figure.subplots_adjust(wspace=0.3, hspace=0.62)
    return figure


def _margins(axes: Axes, lines: Sequence[Line]) -> None:
    axes.axhline(0, color=INK, linewidth=1.0)
    for line in lines:
        colour = LOOKS[line.outcome]
        axes.plot(line.n, line.value, color=colour, linewidth=1.2)
        for n, value in zip(line.n[line.mark > 0], line.value[line.mark > 0], strict=True):
            axes.plot(n, value, marker="o", color=colour, markersize=7, zorder=3)
            above = line.outcome == "recovered"
            axes.annotate(
                f"stops at {n}",
                (n, value),
                xytext=(0, 12 if above else -12),
                textcoords="offset points",
                ha="right" if above else "left",
                va="bottom" if above else "top",
                color=colour,
            )
    axes.set_ylabel("margin of the halting rule")
    axes.margins(x=0.02, y=0.1)


def _days(axes: Axes, lines: Sequence[Line]) -> None:
    for line in lines:
        colour = LOOKS[line.outcome]
        axes.plot(line.n, 100 * line.value, color=colour, linewidth=1.6)
        for n in line.n[line.mark > 0]:
            axes.plot(n, 0, marker="^", color=colour, markersize=9, clip_on=False, zorder=3)
    peak = max(lines, key=lambda line: float(line.value.max()))
    for height, line in zip((0.95, 0.85), lines, strict=True):
        text = f"patient 7 {line.outcome}"
        axes.text(0.02, height, text, transform=axes.transAxes, color=LOOKS[line.outcome])
    axes.set_ylim(0, 100 * float(peak.value.max()) * 1.45)
    step = int(peak.n[1] - peak.n[0])
    axes.set_ylabel(f"chance to stop in {step} patients, %")
    axes.margins(x=0.02)


_DRAW = {MARGIN: _margins, DAY: _days}
