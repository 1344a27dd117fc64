"""Successive elimination: one run with its epochs, all settings at once, ratios, rare failures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import ConnectionPatch

from companion.figures.looks import ALGORITHM_LOOKS
from companion.figures.panels import (
    PULLS,
    REGRET,
    Line,
    Lines,
    Titles,
    band,
    chosen_panels,
    draw_panels,
    marked,
    plain,
)
from companion.figures.redraw import redrawable
from companion.tables import records
from dpbandits.mechanisms import laplace_noise
from dpbandits.plotting.style import (
    COLOURS,
    DASHED,
    DOTTED,
    GREY,
    INK,
    End,
    Look,
    PanelRange,
    make_panels,
    small_multiples,
)
from dpbandits.regret.elimination import DPSE
from dpbandits.rewards.instances import BernoulliInstance
from dpbandits.rewards.run import Ended, Run

PATIENT = COLOURS["vermilion"]
"""Colour of the one patient whose outcome is followed through a run."""


# ---------------------------------------------------------------------------------------- one run


def elimination_epochs(
    algorithm: DPSE, instance: BernoulliInstance, horizon: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Play DP-SE once and record the releases: a row for each epoch and viable arm.

    It makes the same random draws as `DPSE.play`. The columns are ``epoch``, ``arm`` from 0,
    ``start`` and ``stop``, the numbers of the epoch's first and last pull, ``released``, the noisy
    mean, and ``line``, below which an arm is dropped. An arm that is viable at the end has a
    further row, from the last epoch to the horizon, with epoch 0.

    Examples
    --------
    >>> arms = BernoulliInstance([0.75, 0.25])
    >>> table = elimination_epochs(DPSE(0.25), arms, 10**6, np.random.default_rng(0))
    >>> table.epoch.tolist(), table.arm.tolist()
    ([1, 1, 0], [0, 1, 0])
    """
    run = Run(instance.rewards(rng), np.array([horizon]))
    viable, epoch, rows = np.arange(instance.n_arms), 0, []
    while viable.size > 1:
        epoch, start = epoch + 1, run.time + 1
        plan = algorithm.plan_epoch(viable.size, epoch, horizon)
        try:
            means = run.totals(viable, plan.pulls) / plan.pulls
        except Ended:
            break
        released = means + laplace_noise(rng, plan.noise_scale, viable.size)
        line = float(released.max() - plan.threshold)
        rows += [
            (epoch, int(arm), start, run.time, float(value), line)
            for arm, value in zip(viable, released, strict=True)
        ]
        viable = viable[released.max() - released <= plan.threshold]
    last = rows[-1][3] if rows else 0
    rows += [(0, int(arm), last + 1, horizon, np.nan, np.nan) for arm in viable]
    return pd.DataFrame(rows, columns=["epoch", "arm", "start", "stop", "released", "line"])


@redrawable
def elimination_run_figure(
    table: pd.DataFrame,
    *,
    titles: Titles,
    rates: Sequence[str],
    patient: tuple[int, int],
    panels: Sequence[str] | None = None,
) -> Figure:
    """Draw a run of DP-SE: the treatment in use over time, and the releases of each epoch.

    The table is that of `elimination_epochs`; `rates` name the lanes, and `patient` is the number
    of a patient and of that patient's arm, from 0. The panels are "a" and "b".
    """
    chosen = chosen_panels(titles, panels)
    figure, places = make_panels(chosen)
    if "a" in places:
        _lanes(places["a"], table, rates, patient)
    if "b" in places:
        _releases(places["b"], table, patient[1])
    if len(places) > 1:
        figure.subplots_adjust(wspace=0.32, hspace=0.6)
        first = table[(table.epoch == 1) & (table.arm == patient[1])].iloc[0]
        arrow = ConnectionPatch(
            (patient[0], patient[1]),
            (1, first.released),
            places["a"].transData,
            places["b"].transData,
            arrowstyle="-|>",
            mutation_scale=14,
            connectionstyle="arc3,rad=-0.12",
            shrinkA=5,
            shrinkB=5,
            color=PATIENT,
            linewidth=1.4,
            zorder=5,
        )
        figure.add_artist(arrow)
    return figure


def _lanes(axes: Axes, table: pd.DataFrame, rates: Sequence[str], patient: tuple[int, int]) -> None:
    horizon = table.stop.max()
    shown = min(float(horizon), 10 * float(table[table.epoch > 0].stop.max()))
    for row in table.itertuples():
        axes.plot(
            [row.start, min(row.stop, shown)],
            [row.arm, row.arm],
            color=INK if row.arm == 0 else GREY,
            linewidth=7,
            solid_capstyle="butt",
        )
    for stop in sorted(set(table[table.epoch > 0].stop)):
        axes.axvline(stop, color=INK, linewidth=0.9, linestyle=DOTTED, zorder=0)
    axes.plot(*patient, marker="o", color=PATIENT, markersize=8, zorder=6)
    axes.annotate(
        f"patient {patient[0]}",
        patient,
        xytext=(0, 9),
        textcoords="offset points",
        ha="center",
        color=PATIENT,
    )
    axes.set_xscale("log")
    axes.set_xlim(1, shown)
    axes.set_yticks(range(len(rates)), rates)
    axes.set_ylim(len(rates) - 0.4, -0.6)
    axes.set_xlabel("patient number", loc="right")
    axes.set_ylabel("recovery rate")
    axes.grid(visible=False, axis="y")


def _releases(axes: Axes, table: pd.DataFrame, arm: int) -> None:
    released = table[table.epoch > 0]
    for epoch, rows in released.groupby("epoch"):
        line = float(rows.line.iloc[0])
        axes.plot([epoch - 0.3, epoch + 0.3], [line, line], color=INK, linewidth=1.6)
        axes.annotate(
            "drop line",
            (epoch, line),
            xytext=(9, 3),
            textcoords="offset points",
            ha="left",
            va="bottom",
            fontsize=10,
            color=INK,
        )
        for row in rows.itertuples():
            followed = (row.epoch, row.arm) == (1, arm)
            axes.plot(
                epoch,
                row.released,
                marker="o",
                markersize=8,
                linestyle="none",
                color=PATIENT if followed else GREY,
                zorder=4 if followed else 3,
            )
    epochs = sorted(set(released.epoch))
    axes.set_xticks(epochs, [f"epoch {e}" for e in epochs])
    axes.set_xlim(min(epochs) - 0.6, max(epochs) + 0.6)
    axes.set_ylabel("released mean")
    axes.grid(visible=False, axis="x")


# ------------------------------------------------------------------------------- all the settings

_BASELINE = ALGORITHM_LOOKS["DP-UCB"]
_OURS = ALGORITHM_LOOKS["DP-SE"]


@redrawable
def settings_figure(
    table: pd.DataFrame, *, titles: Titles, panels: Sequence[str] | None = None
) -> Figure:
    """Draw regret over time for all instances and numbers of arms: DP-SE's band, DP-UCB's lines.

    The table has the columns of `companion.tables.curve` for each ``panel``, ``algorithm`` and
    ``epsilon``. DP-SE is a band from its least to its greatest mean over the budgets; DP-UCB has a
    line for each budget. The corner of a panel shows the ratios of the final means at the least and
    at the greatest budget; a panel has a frame if one of them is below 1.
    """
    chosen = chosen_panels(titles, panels)
    figure, places = small_multiples(list(chosen.values()))
    by = ("panel", "algorithm", "epsilon")
    low, high, first, last = np.inf, 0.0, np.inf, 0.0
    for panel, axes in zip(chosen, places, strict=True):
        lines = list(records(table, by, panel=panel))
        ours, theirs = (
            sorted((line for line in lines if line.algorithm == name), key=lambda e: e.epsilon)
            for name in ("DP-SE", "DP-UCB")
        )
        _setting(axes, ours, theirs)
        if axes is places[0]:
            _label_first(axes, ours, theirs)
        drawn = [value for line in lines for value in line.mean]
        low, high = min(low, *drawn), max(high, *drawn)
        first, last = min(first, ours[0].time[0]), max(last, ours[0].time[-1])
    for axes in places:
        axes.set(xscale="log", yscale="log", xlim=(first, last), ylim=(low / 1.3, 1.6 * high))
        axes.minorticks_off()
    figure.supxlabel(PULLS, fontsize=12, y=0.05 / figure.get_size_inches()[1])
    figure.supylabel(REGRET, fontsize=12, x=0.01)
    return figure


def _setting(axes: Axes, ours: Lines, theirs: Lines) -> None:
    """Draw the band and the lines of one instance, each sorted by ε, and write the ratios."""
    means, look = np.array([line.mean for line in ours]), Look(_OURS.colour, width=1.2)
    edges = means.min(axis=0), means.max(axis=0)
    axes.fill_between(ours[0].time, *edges, color=look.colour, alpha=0.5, linewidth=0)
    for edge in edges:
        plain(axes, ours[0].time, edge, look)
    for width, line in zip(np.linspace(2.0, 0.9, len(theirs)), theirs, strict=True):
        plain(axes, line.time, line.mean, Look(_BASELINE.colour, width=width))
    ratios = [theirs[end].mean[-1] / ours[end].mean[-1] for end in (0, -1)]
    text, corner = " to ".join(f"{ratio:.2g}" for ratio in ratios), axes.transAxes
    axes.text(0.97, 0.05, text, transform=corner, ha="right", va="bottom", fontsize=10, color=INK)
    if min(ratios) < 1:
        for spine in axes.spines.values():
            spine.set(visible=True, linewidth=1.8, color=INK)


def _label_first(axes: Axes, ours: Lines, theirs: Lines) -> None:
    """Label the highest line and the band in the first panel."""
    top, low = theirs[0], min(line.mean[-1] for line in ours)
    for text, y, up, colour in (
        (f"DP-UCB, ε={top.epsilon:g}", top.mean[-1], True, _BASELINE.colour),
        ("DP-SE", low, False, _OURS.colour),
    ):
        axes.annotate(
            text,
            (top.time[-1], y),
            xytext=(0, 4 if up else -4),
            textcoords="offset points",
            ha="right",
            va="bottom" if up else "top",
            fontsize=10,
            color=colour,
        )


# ------------------------------------------------------------------------------------------ ratios


@redrawable
def ratios_figure(
    table: pd.DataFrame, *, titles: Titles, panels: Sequence[str] | None = None
) -> Figure:
    """Draw the regret of a baseline over that of an elimination, against ε: a ribbon over K.

    The table has a row for each ``panel``, ``pair``, ``n_arms`` and ``epsilon``, with the ratio in
    the column ``ratio``; ``pair`` is the text at the end of the ribbon, and ``rank`` selects its
    look, 0 for the background.
    """

    def draw(axes: Axes, lines: list[Line]) -> PanelRange:
        ends, low, high = [], 1.0, 1.0
        for pair in dict.fromkeys(line.pair for line in lines):
            some = [line for line in lines if line.pair == pair]
            budgets = sorted({line.epsilon for line in some})
            ratios = {
                e: np.concatenate([line.ratio for line in some if line.epsilon == e])
                for e in budgets
            }
            least = np.array([ratios[e].min() for e in budgets])
            most = np.array([ratios[e].max() for e in budgets])
            look = _RIBBONS[some[0].rank]
            band(axes, budgets, least, most, look)
            for edge in (least, most):
                plain(axes, budgets, edge, look)
            middle = float(np.sqrt(least[-1] * most[-1]))
            ends.append(End(budgets[-1], middle, pair, look.colour))
            low, high = min(low, float(least.min())), max(high, float(most.max()))
        x = [line.epsilon for line in lines]
        for level in (5.0, 1.0):
            style = DOTTED if level > 1 else "-"
            axes.plot([min(x), max(x)], [level, level], color=INK, linewidth=1.1, linestyle=style)
        return PanelRange((min(x), max(x)), (low, high), tuple(ends))

    labels = "privacy budget ε", "regret of DP-UCB / of elimination"
    return draw_panels(table, titles, panels, draw, labels, by=("panel", "pair", "rank", "epsilon"))


_RIBBONS = (
    Look(GREY, width=0.9),
    Look(COLOURS["blue"], width=1.2),
    Look(COLOURS["sky"], DASHED, width=1.2),
    Look(COLOURS["purple"], width=1.2),
)


# ----------------------------------------------------------------------------------- rare failures


@redrawable
def failures_figure(
    table: pd.DataFrame, *, titles: Titles, panels: Sequence[str] | None = None
) -> Figure:
    """Draw the regret at the horizon against the rarity of failures of the best arm.

    The table has a row for each ``panel``, ``algorithm`` and ``rarity``, patients for each failure,
    with the columns of `Runs.final`.
    """

    def draw(axes: Axes, lines: list[Line]) -> PanelRange:
        ends, drawn = [], []
        for line in lines:
            look: Any = ALGORITHM_LOOKS[line.algorithm]
            band(axes, line.rarity, line.low, line.high, look)
            marked(axes, line.rarity, line.mean, look)
            ends.append(End(line.rarity[-1], line.mean[-1], line.algorithm, look.colour))
            drawn += [*line.mean]
        patients = lines[0].rarity
        return PanelRange((min(patients), max(patients)), (min(drawn), max(drawn)), tuple(ends))

    labels = "patients of the best arm for each failure", REGRET
    return draw_panels(table, titles, panels, draw, labels, by=("panel", "algorithm"))
