"""Best-arm identification against its lower bound: the knee, the blocks of one run, ratios."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from companion.figures.identification import measured
from companion.figures.panels import (
    Lines,
    Titles,
    chosen_panels,
    draw_panels,
    marked,
    names_in_corner,
    plain,
)
from companion.figures.redraw import redrawable
from companion.ratios import ratio_of_means
from companion.rounding import rounded_table
from companion.tables import records, tabulate
from dpbandits._arrays import Rng
from dpbandits.identification.bayes_factor import ArmLikelihood, log_evidence
from dpbandits.identification.characteristic import characteristic_time
from dpbandits.identification.dplre import DPLRE
from dpbandits.identification.replicates import Identifications
from dpbandits.identification.transport import transportation_cost
from dpbandits.mechanisms import laplace
from dpbandits.plotting.style import (
    BOUND,
    COLOURS,
    DASHED,
    DOTTED,
    GREY,
    INK,
    UNEVEN,
    End,
    Look,
    PanelRange,
    columns_of,
    label_ends,
    make_panels,
    small_multiples,
)
from dpbandits.rewards.instances import BernoulliInstance
from dpbandits.rewards.sources import DrawnRewards

LOOKS = {
    "DP-LRE": Look(COLOURS["green"], "-", "X", 2.0),
    "DP-TT": Look(COLOURS["blue"], "-", "o", 1.8),
    "AdaP-TT*": Look(COLOURS["orange"], DASHED, "^", 1.6),
    "DP-SE": Look(COLOURS["purple"], UNEVEN, "v", 1.6),
    BOUND: Look(INK, DOTTED, "", 1.6),
}
"""How the algorithms of this page are drawn."""
PATIENT = COLOURS["vermilion"]
"""Colour of the one patient whose outcome is followed through a run."""
BUDGET = "privacy budget ε"

# ---------------------------------------------------------------------------------------- the knee


@redrawable
def knee_figure(table: pd.DataFrame) -> Figure:
    """Draw the lower bound against ε with its knee, and DP-LRE with and without privacy.

    The table is that of `companion.figures.identification.times_table`, of one panel "a" with runs
    of DP-LRE, one of them at ε = ∞. Bars show the central 90 % of the runs.
    """

    def draw(axes: Axes, lines: Lines) -> PanelRange:
        look, ends = LOOKS["DP-LRE"], []
        bound = next(line for line in lines if line.algorithm == BOUND)
        runs = next(line for line in lines if line.algorithm == "DP-LRE")
        finite = np.isfinite(runs.epsilon)
        order = np.argsort(runs.epsilon[finite])
        x, mean, low, high = (
            column[finite][order]
            for column in (runs.epsilon, runs.mean_time, runs.time_q05, runs.time_q95)
        )
        axes.vlines(x, low, high, color=look.colour, linewidth=1.6)
        marked(axes, x, mean, look)
        axes.annotate(
            "DP-LRE",
            (x[0], mean[0]),
            xytext=(9, 0),
            textcoords="offset points",
            va="bottom",
            color=look.colour,
            fontsize=10.5,
        )
        free = float(runs.mean_time[~finite][0])
        left = x[0] / 1.2, x[-1]
        axes.plot(left, [free] * 2, color=look.colour, linestyle=DASHED, linewidth=1.4)
        ends.append(End(x[-1], free, "no privacy", look.colour))
        plain(axes, bound.epsilon, bound.lower_bound, LOOKS[BOUND])
        ends.append(End(bound.epsilon[-1], bound.lower_bound[-1], BOUND, INK))
        knee = float(bound.switch[0])
        floor = float(bound.lower_bound.min())
        axes.plot([knee], [floor], marker="D", markersize=7, color=PATIENT, linestyle="none")
        axes.annotate(
            f"knee, ε = {knee:.2f}",
            (knee, floor),
            xytext=(0, -9),
            textcoords="offset points",
            ha="center",
            va="top",
            color=PATIENT,
        )
        return PanelRange((x[0] / 1.2, x[-1]), (floor / 2, float(high.max())), tuple(ends))

    labels = BUDGET, "patients"
    return draw_panels(
        table, {"a": ""}, None, draw, labels, by=("panel", "algorithm"), size=(5.6, 3.2)
    )


# --------------------------------------------------------------------------------------- one run


class _Listening:
    """Rewards that record the last batch requested."""

    def __init__(self, instance: BernoulliInstance, rng: Rng) -> None:
        self.source = DrawnRewards(instance, rng)
        self.batches: list[tuple[int, int, float]] = []

    @property
    def n_arms(self) -> int:
        return self.source.n_arms

    def total(self, arm: int, size: int) -> float:
        """Return the sum of the next rewards, and store it."""
        total = float(self.source.total(arm, size))
        self.batches.append((arm, size, total))
        return total


def blocks_of_run(algorithm: DPLRE, instance: BernoulliInstance, seed: int) -> pd.DataFrame:
    """Play DP-LRE once and record each block: a row for each batch.

    The columns are ``arm`` from 0, ``start`` and ``stop``, the numbers of its first and last
    patient, ``share``, its success rate, ``released``, the same with noise, and for each rival of
    arm 0 ``evidence_1``, …, the evidence that arm 0 is better, in nats, after the release.

    Examples
    --------
    >>> arms = BernoulliInstance([0.9, 0.1])
    >>> blocks_of_run(DPLRE(1.0, 0.1), arms, 0)[["arm", "start", "stop"]].values[:2].tolist()
    [[0, 1, 7], [1, 8, 14]]
    """
    heard = _Listening(instance, np.random.default_rng([seed, 0]))
    algorithm.draw(heard, np.random.default_rng([seed, 1]), 10**9)
    noise = np.random.default_rng([seed, 1])  # the same noise again, to reconstruct the releases
    arms = [ArmLikelihood(algorithm.epsilon) for _ in range(instance.n_arms)]
    rows, patients = [], 0
    for arm, size, total in heard.batches:
        released = total + laplace(noise, 1.0 / algorithm.epsilon)
        arms[arm].add(size, released)
        known = all(each.pulls for each in arms)
        evidence = [
            log_evidence(arms[0], each, instance.n_arms) if known else math.nan for each in arms[1:]
        ]
        shares = total / size, released / size
        rows.append((arm, patients + 1, patients + size, *shares, *evidence))
        patients += size
    rivals = [f"evidence_{b}" for b in range(1, instance.n_arms)]
    columns = ["arm", "start", "stop", "share", "released", *rivals]
    return rounded_table(pd.DataFrame(rows, columns=columns))


def plans_of_run(algorithm: DPLRE, instance: BernoulliInstance, seed: int) -> pd.DataFrame:
    """Play DP-LRE like `blocks_of_run` and record its plans: a row for each rival of each round.

    The columns are ``leader``; ``own``, the size of its batch; ``leader_mean``; ``rival`` and its
    ``mean``; ``pulls``; ``lacks``, the missing evidence in nats; ``noise``, its noise share h;
    ``gain``, the expected nats per pull; ``wanted`` and ``most``, the pulls before rounding and
    their maximum; and ``size``, the size of its batch.

    Examples
    --------
    >>> arms = BernoulliInstance([0.9, 0.1])
    >>> plans_of_run(DPLRE(1.0, 0.1), arms, 0)[["leader", "rival", "size"]].values[:2].tolist()
    [[0, 1, 4], [0, 1, 4]]
    """
    rows = []

    class Watched(DPLRE):
        """DP-LRE that records its plans."""

        def plan(
            self,
            means: Sequence[float],
            pulls: Sequence[int],
            leader: int,
            lacking: dict[int, float],
        ) -> tuple[int, dict[int, int]]:
            own, planned = super().plan(means, pulls, leader, lacking)
            upper = means[leader]
            for b, lacks in lacking.items():
                h = self.noise_share(upper, means[b])
                weight = len(lacking) ** (0.5 - 0.25 * h)
                gain, _ = transportation_cost(upper, means[b], weight, 1.0, self.epsilon)
                wanted = (0.5 * (1.0 + h) * lacks + h) / float(gain)
                most = self.most_growth * (1.0 + 3.0 * h) * pulls[b]
                row = (b, means[b], pulls[b], lacks, h, float(gain), wanted, most, planned[b])
                rows.append((leader, own, upper, *row))
            return own, planned

    watched = Watched(**{each.name: getattr(algorithm, each.name) for each in fields(DPLRE)})
    rewards = _Listening(instance, np.random.default_rng([seed, 0]))
    watched.draw(rewards, np.random.default_rng([seed, 1]), 10**9)
    columns = ["rival", "mean", "pulls", "lacks", "noise", "gain", "wanted", "most", "size"]
    return rounded_table(pd.DataFrame(rows, columns=["leader", "own", "leader_mean", *columns]))


_ARMS = (COLOURS["green"], COLOURS["blue"], COLOURS["purple"])


@redrawable
def blocks_figure(
    table: pd.DataFrame,
    *,
    titles: Titles,
    threshold: float,
    patient: int,
    panels: Sequence[str] | None = None,
) -> Figure:
    """Draw the blocks of a run and the evidence after each, and mark the block of one patient.

    The table is that of `blocks_of_run`, of up to three arms; `threshold` is the evidence, in nats,
    at which a rival is beaten. The panels are "a" and "b".
    """
    chosen = chosen_panels(titles, panels)
    figure, places = make_panels(chosen)
    if "a" in places:
        _blocks(places["a"], table, patient)
    if "b" in places:
        _evidence(places["b"], table, threshold)
    if len(places) > 1:
        figure.subplots_adjust(wspace=0.34, hspace=0.6)
    return figure


def _blocks(axes: Axes, table: pd.DataFrame, patient: int) -> None:
    low = min(float(table.share.min()), float(table.released.min()))
    high = max(float(table.share.max()), float(table.released.max()))
    for row in table.itertuples():
        colour, edges = _ARMS[row.arm], (row.start - 1, row.stop)
        axes.fill_between(edges, row.share, row.released, color=colour, alpha=0.25, linewidth=0)
        axes.plot(edges, [row.share] * 2, color=GREY, linewidth=1.2)
        axes.plot(edges, [row.released] * 2, color=colour, linewidth=2.4)
        if row.start <= patient <= row.stop:
            room = 0.04 * (high - low)
            bottom = min(row.share, row.released) - room
            top = max(row.share, row.released) + room
            corner, width = (row.start - 1, bottom), row.stop - row.start + 1
            axes.add_patch(
                Rectangle(corner, width, top - bottom, fill=False, color=PATIENT, linewidth=1.6)
            )
            axes.annotate(
                f"patient {patient}",
                (row.stop, top),
                xytext=(3, 0),
                textcoords="offset points",
                va="top",
                color=PATIENT,
                fontsize=10,
            )
    last = table.groupby("arm").stop.idxmax()
    for arm, place in last.items():
        row = table.loc[place]
        axes.annotate(
            "ABC"[arm],
            (0.5 * (row.start + row.stop), row.released),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            va="bottom",
            color=_ARMS[arm],
            fontweight="bold",
        )
    room = 0.14 * (high - low)
    axes.set(xlabel="patients so far", ylabel="healed, as a share")
    axes.set(xlim=(0, float(table.stop.max())), ylim=(low - room, high + room))


def _evidence(axes: Axes, table: pd.DataFrame, threshold: float) -> None:
    end = float(table.stop.max())
    axes.plot([0, end], [threshold] * 2, color=INK, linestyle=DOTTED, linewidth=1.6)
    axes.annotate(
        "enough", (0, threshold), xytext=(2, 3), textcoords="offset points", fontsize=10, color=INK
    )
    for arm in range(1, table.arm.max() + 1):
        values = table[f"evidence_{arm}"]
        axes.step(table.stop, values, where="post", color=_ARMS[arm], linewidth=1.8)
        known = values.last_valid_index()
        axes.annotate(
            f"against {'ABC'[arm]}",
            (table.stop[known], values[known]),
            xytext=(-4, 3),
            textcoords="offset points",
            ha="right",
            fontsize=10,
            color=_ARMS[arm],
        )
    low, high = axes.get_ylim()
    axes.set(xlabel="patients so far", ylabel="evidence for A (nats)")
    axes.set(xlim=(0, 1.04 * end), ylim=(low, high + 0.1 * (high - low)))  # room for a name


# ------------------------------------------------------------------------------- small multiples

_NAMES = 0.85
"""Room for the names of curves at the right of a row of small panels, in inches."""


def over_floor(runs: Mapping[tuple[str, str, str, float], Identifications]) -> pd.DataFrame:
    """Return mean stopping times over the lower bound, from (panel, algorithm, variant, ε) → runs.

    A row contains the setting, `Identifications.summary`, the bound, and the ratio ``value`` with
    the ends ``low`` and ``high`` of its 95 % interval.
    """

    def ratio(result: Identifications) -> dict[str, Any]:
        found = measured(result)
        interval = np.array(result.mean_time()) / found["lower_bound"]
        found |= zip(("value", "low", "high"), interval.tolist(), strict=True)
        return {name: value for name, value in found.items() if name != "epsilon"}

    return tabulate(dict(runs), ratio, ("panel", "algorithm", "variant", "epsilon"))


def over_itself(runs: Mapping[tuple[str, str, float], Identifications]) -> pd.DataFrame:
    """Return mean stopping times over the same algorithm's at ε = ∞, and that ratio of the bound.

    The keys are (panel, algorithm, ε); each algorithm needs runs at ε = ∞ in each panel. A row
    contains ``value`` and the ends ``low`` and ``high`` of its 95 % interval.
    """
    rows = []
    for (panel, label, epsilon), result in runs.items():
        if math.isfinite(epsilon):
            free = runs[panel, label, math.inf]
            found = ratio_of_means(result.stopping_time, free.stopping_time)
            rows.append((panel, label, epsilon, *found))
    budgets = [row[2] for row in rows]
    for panel in dict.fromkeys(row[0] for row in rows):
        means = next(r.instance.means for key, r in runs.items() if key[0] == panel)
        least = characteristic_time(means, math.inf).value
        for epsilon in np.geomspace(min(budgets), max(budgets), 41).tolist():
            ratio = characteristic_time(means, epsilon).value / least
            rows.append((panel, BOUND, epsilon, ratio, ratio, ratio))
    columns = ["panel", "algorithm", "epsilon", "value", "low", "high"]
    return tabulate({row[:3]: row[3:] for row in rows}, _interval, columns[:3])


def _interval(values: tuple[float, float, float]) -> dict[str, float]:
    return dict(zip(("value", "low", "high"), values, strict=True))


@redrawable
def ratios_figure(
    table: pd.DataFrame,
    *,
    titles: Titles,
    y_label: str,
    level: float = 1.0,
    panels: Sequence[str] | None = None,
) -> Figure:
    """Draw ratios against ε in a small panel for each instance, with a dotted line at `level`.

    The table is that of `over_floor`, whose curves are labelled at the right of each row, or that
    of `over_itself`, whose curves meet there and are labelled in the first panel's corner.
    """
    chosen = chosen_panels(titles, panels)
    figure, places = small_multiples(list(chosen.values()), columns=3, least=1.9, height=2.5)
    meet = bool((table.algorithm == BOUND).any())
    if not meet:
        figure.subplots_adjust(right=figure.subplotpars.right - _NAMES / figure.get_figwidth())
    drawn: list[float] = [level]
    ends: dict[Axes, list[End]] = {}
    budgets = [float(e) for e in table.epsilon]
    first, last = min(budgets), max(budgets)
    for panel, axes in zip(chosen, places, strict=True):
        starts, ends[axes] = {}, []
        for line in records(table, ("panel", "algorithm"), panel=panel):
            look = LOOKS[line.algorithm]
            axes.fill_between(line.epsilon, line.low, line.high, color=look.colour, alpha=0.25)
            plain(axes, line.epsilon, line.value, look, label=line.algorithm)
            starts[line.algorithm] = float(line.value[0])
            end = End(float(line.epsilon[-1]), float(line.value[-1]), line.algorithm, look.colour)
            ends[axes].append(end)
            drawn += [*line.low, *line.high]
        axes.plot([first, last], [level, level], color=INK, linestyle=DOTTED, linewidth=1.2)
        if meet and axes is places[0]:
            names_in_corner(axes, starts)
    for axes in places:
        axes.set(xscale="log", yscale="log", xlim=(first, last))
        axes.set(ylim=(min(y for y in drawn if y > 0) / 1.25, 1.5 * max(drawn)))
        axes.minorticks_off()
    if not meet:
        columns = columns_of(places[0])
        for place, axes in enumerate(places):
            if place % columns == columns - 1 or axes is places[-1]:
                label_ends(axes, ends[axes])
    figure.supxlabel(BUDGET, fontsize=12, y=0.05 / figure.get_size_inches()[1])
    figure.supylabel(y_label, fontsize=12, x=0.01)
    return figure
