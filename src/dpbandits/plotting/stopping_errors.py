"""The figure of errors: how often each rule fails, against the α and β that it is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dpbandits.plotting.stopping_parts import RULE_LOOKS, Groups
from dpbandits.plotting.style import INK, PanelRange, finish_panels, make_panels

__all__ = ["error_figure"]

_LEAST = 1e-6
"""Bottom of the panels; the lower end of an interval may lie below."""
_FOOT = 0.85  # inches for the legend
_ARROW = 2.6  # length of an arrow, as a factor
_NONE_FAILED = "no run failed: upper end of the interval"
_GAP = 0.4  # between groups with different β


def error_figure(
    titles: Mapping[str, str], by_panel: Mapping[str, Groups], *, theory: bool
) -> Figure:
    """Draw the shares of runs that failed, with 95 % intervals; see `stopping_figure`."""
    all_groups = [item for groups in by_panel.values() for item in groups.items()]
    rules = list(dict.fromkeys(rule for (rule, _), _ in all_groups))
    told = sorted({(p.summary.beta, p.summary.alpha) for _, points in all_groups for p in points})
    betas = sorted({beta for beta, _ in told})
    centres = {pair: i + _GAP * betas.index(pair[0]) for i, pair in enumerate(told)}
    figure, grid = make_panels(titles, foot=_FOOT)
    for panel, axes in grid.items():
        for (rule, _), points in by_panel[panel].items():
            shift = 0.26 * (rules.index(rule) - (len(rules) - 1) / 2)
            for point in points:
                s = point.summary
                x = centres[s.beta, s.alpha] + shift
                _rate(axes, x, (s.error_rate, s.error_low95, s.error_high95), rule)
        if theory:
            _allowed(axes, centres)
        axes.set_yscale("log")
    width = -0.5, max(centres.values()) + 0.5
    panels = list(grid.values())
    ranges = [PanelRange(width, (_LEAST, 1.0), ())] * len(panels)
    finish_panels(
        figure,
        panels,
        ranges,
        x_label="relative error α, probability β",
        y_label="share of runs that failed",
        log="y",
    )
    for axes in panels:
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
