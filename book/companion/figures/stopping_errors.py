"""The figure of errors: how often each rule fails, against the α and β that it is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from companion.figures.lines import chosen_panels, lines_of
from companion.figures.redraw import redrawable
from companion.figures.stopping import RULE_LOOKS
from dpbandits.plotting.style import INK, PanelRange, finish_panels, make_panels, styled

__all__ = ["errors_figure"]

_LEAST = 1e-6
"""Bottom of the panels; the lower end of an interval may lie below."""
_FOOT = 0.85  # inches for the legend
_ARROW = 2.6  # length of an arrow, as a factor
_NONE_FAILED = "no run failed: upper end of the interval"
_GAP = 0.4  # between groups with different β


@redrawable
def errors_figure(
    table: pd.DataFrame,
    *,
    titles: Mapping[str, str],
    panels: Sequence[str] | None = None,
    theory: bool = True,
) -> Figure:
    """Draw the share of runs that failed, with Clopper–Pearson's 95 % intervals.

    Where no run failed, a hollow mark stands at the interval's upper end, with an arrow down.

    Parameters
    ----------
    table : pandas.DataFrame
        As `companion.figures.stopping.measured` makes it.
    titles : mapping of str to str
        Panel → its title.
    panels : sequence of str, optional
        Panels to draw; all if not given.
    theory : bool
        Whether to draw the share β that is allowed.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If a panel is unknown.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> from companion.figures.stopping import measured
    >>> case = dpb.NAS(0.5, 0.05), dpb.instances.two_point(0.5)
    >>> table = measured(dpb.estimate_many({("a", *case): case}, n_runs=20))
    >>> len(errors_figure(table, titles={"a": "two points"}).axes)
    1
    """
    titles = chosen_panels(titles, panels)
    by_panel = lines_of(table, titles, by=("panel", "rule", "alpha", "beta"))
    every = [line for lines in by_panel for line in lines]
    rules = list(dict.fromkeys(line.rule for line in every))
    told = sorted({(line.beta, line.alpha) for line in every})
    betas = sorted({beta for beta, _ in told})
    centres = {pair: i + _GAP * betas.index(pair[0]) for i, pair in enumerate(told)}
    with styled():
        figure, grid = make_panels(titles, foot=_FOOT)
        for axes, lines in zip(grid.values(), by_panel, strict=True):
            for line in lines:
                shift = 0.26 * (rules.index(line.rule) - (len(rules) - 1) / 2)
                x = centres[line.beta, line.alpha] + shift
                rate = line.error_rate[0], line.error_low95[0], line.error_high95[0]
                _rate(axes, x, rate, line.rule)
            if theory:
                _allowed(axes, centres)
            axes.set_yscale("log")
        width = -0.5, max(centres.values()) + 0.5
        axes_list = list(grid.values())
        finish_panels(
            figure,
            axes_list,
            [PanelRange(width, (_LEAST, 1.0), ())] * len(axes_list),
            x_label="relative error α, probability β",
            y_label="share of runs that failed",
            log="y",
        )
        for axes in axes_list:
            axes.xaxis.labelpad = 20  # room for the names of the groups
            _name_groups(axes, width, centres)
        _explain(figure, rules, theory=theory)
    return figure


def _rate(axes: Axes, x: float, rate: tuple[float, float, float], rule: str) -> None:
    """Draw a rate with its interval, or what is known if no run failed."""
    look = RULE_LOOKS[rule]
    middle, low, high = rate
    failed = middle > 0
    bottom = max(low, _LEAST / 10) if failed else high / _ARROW
    axes.plot([x, x], [bottom, high], color=look.colour, linewidth=1.6)
    if not failed:
        axes.plot(x, bottom, color=look.colour, marker="v", markersize=4.5)
    axes.plot(
        x,
        middle if failed else high,
        color=look.colour,
        marker=look.marker,
        markersize=5.5,
        markerfacecolor=look.colour if failed else "white",
        markeredgewidth=1.3,
    )


def _allowed(axes: Axes, centres: Mapping[tuple[float, float], float]) -> None:
    """Draw the probability of failing that each group is allowed."""
    for beta in {beta for beta, _ in centres}:
        group = [x for (told, _), x in centres.items() if told == beta]
        axes.plot([min(group) - 0.45, max(group) + 0.45], [beta, beta], color=INK, linewidth=2.4)


def _name_groups(
    axes: Axes, width: tuple[float, float], centres: Mapping[tuple[float, float], float]
) -> None:
    axes.set_xlim(width)
    axes.grid(visible=False, axis="x")
    axes.set_xticks(list(centres.values()), [f"α={alpha:g}" for _, alpha in centres])
    if axes.xaxis.get_tick_params()["labelbottom"]:
        for beta in {beta for beta, _ in centres}:
            group = [x for (told, _), x in centres.items() if told == beta]
            axes.annotate(
                f"β = {beta:g}",
                ((min(group) + max(group)) / 2, 0),
                xycoords=("data", "axes fraction"),
                xytext=(0, -21),
                textcoords="offset points",
                ha="center",
                va="top",
            )


def _explain(figure: Figure, rules: Sequence[str], *, theory: bool) -> None:
    looks = [(rule, RULE_LOOKS[rule]) for rule in rules]
    upper = [Line2D([], [], color=k.colour, marker=k.marker, label=rule) for rule, k in looks]
    lower = [
        Line2D([], [], color=INK, marker="v", linestyle="none", label=_NONE_FAILED),
    ]
    if theory:
        lower.append(Line2D([], [], color=INK, linewidth=2.4, label="β, the share allowed"))
    height = figure.get_size_inches()[1]
    for handles, place in ((upper, 0.3), (lower, 0.06)):
        figure.legend(
            handles=handles,
            loc="lower center",
            bbox_to_anchor=(0.5, place / height),
            ncols=len(handles),
            frameon=False,
            fontsize=10.5,
            handlelength=1.6,
            columnspacing=1.6,
            borderaxespad=0.0,
            borderpad=0.0,
        )
