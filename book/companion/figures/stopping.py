"""Stopping rules: samples against a parameter, their slopes, the price of privacy, errors."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MultipleLocator, NullLocator
from numpy.typing import ArrayLike
from scipy import optimize

from companion.figures.panels import (
    Line,
    Lines,
    Titles,
    band,
    chosen_panels,
    draw_panels,
    draw_rate,
    legend_below,
    marked,
    plain,
)
from companion.figures.redraw import redrawable
from companion.tables import records, tabulate
from dpbandits._validation import check_choice
from dpbandits.bounds import stopping_complexity_lower_bound, stopping_lower_bound, stopping_samples
from dpbandits.plotting.style import (
    COLOURS,
    DASHED,
    DOTTED,
    INK,
    End,
    Look,
    PanelRange,
    make_panels,
)
from dpbandits.rewards.laws import Law, low_variance, two_point
from dpbandits.stopping import DPExponentialNAS, Estimates, NASFamily, StoppingRule
from dpbandits.stopping.halting import boundary

Results = Mapping[tuple[Any, ...], Estimates]
"""What `dpbandits.estimate_many` returned, with keys whose first part is the panel."""

RULE_LOOKS = {
    "NAS": Look(COLOURS["black"], (0, (5, 1.3, 1, 1.3)), "D", 1.7),
    "DP-NAS": Look(COLOURS["vermilion"], DASHED, "s", 1.7),
    "DP-exp-NAS": Look(COLOURS["blue"], "-", "o", 1.7),
    "DP-exp-NAS, ε = ∞": Look(COLOURS["black"], DASHED, "D", 1.7),
    "DP-Bernstein": Look(COLOURS["purple"], "-", "X", 2.0),
    "EBGStop": Look(COLOURS["green"], (0, (8, 1.5)), "^", 1.7),
    "DP-Promised": Look(COLOURS["orange"], "-", "P", 2.0),
}
"""Label of a stopping rule → its colour, line and marker, the same in every figure."""

THEORY = "theory"
"""What stands in the column ``rule`` in rows that are computed from theorems."""

_LABELS = ("panel", "rule", "law", "mean", "deviation", "alpha", "beta", "epsilon")
_SIZE_OF_MEAN = "size |μ| of the mean (units of R)"
_X_LABELS = {
    "mean": _SIZE_OF_MEAN,
    "alpha": "relative error α",
    "epsilon": "privacy budget ε",
    "beta": "probability β of a greater error",
    "deviation": "standard deviation σ (units of R)",
}
_EXPLAINED = "DP-exp-NAS"
"""Rule whose noiseless halting time and upper bound are drawn; that of others is their curve."""
_FREE = "DP-exp-NAS, ε = ∞"
_POINTS = 91  # of the theoretical curves
_DEPTH = 40.0
"""How far below the least mean a panel goes, as a factor."""
_EDGE = "0.45"  # grey of the lines around the regions that no rule can reach


def measured(runs: Results) -> pd.DataFrame:
    """Make a table of the results of each case, a row per case.

    Its columns are ``panel``, ``rule``, ``law``, ``mean``, ``deviation``, ``alpha``, ``beta``,
    ``epsilon`` and those of `Estimates.summary`.
    """
    labelled = {}
    for (panel, *_), found in runs.items():
        rule, law = found.rule, found.law
        epsilon = float(getattr(rule, "epsilon", math.inf))
        numbers = (law.mean, math.sqrt(law.variance), rule.alpha, rule.beta, epsilon)
        labelled[panel, _label(rule), law.name, *numbers] = found
    return tabulate(labelled, names=_LABELS)


def _label(rule: StoppingRule) -> str:
    """Return the name of a rule's curve; Algorithm 2 without privacy has its own name."""
    free = isinstance(rule, DPExponentialNAS) and math.isinf(rule.epsilon)
    return _FREE if free else rule.label


def _without_errors(table: pd.DataFrame, *others: str) -> pd.DataFrame:
    errors = [name for name in table.columns if name.startswith("error_")]
    return table.drop(columns=[*others, *errors])


def smooth_time(rule: NASFamily, mean: float) -> float:
    """Solve n·|μ| = n·h·(1 + 1/α) + c for a real n: `noiseless_time` without rounding up.

    For a rule that looks at n = 2, 4, 8, … this removes the steps: the number of the look is
    log2(n), not rounded.
    """
    halting, by_doubling = rule.halting, isinstance(rule, DPExponentialNAS)

    def missing(log_n: float) -> float:
        n = math.exp(log_n)
        look: Any = math.log2(n) if by_doubling else n
        return float(n * abs(mean) - boundary(halting, n, look))

    # the condition holds at the noiseless time, and never at the first look, where h > R
    ends = math.log(rule.look_time(1)), math.log(rule.noiseless_time(mean)) + 1e-9
    return math.exp(float(optimize.brentq(missing, *ends)))


# ------------------------------------------------------------------ samples against a parameter


def samples_table(runs: Results, over: str) -> pd.DataFrame:
    """Make the table of `samples_figure`: measured values, and theoretical ones.

    `over` is the parameter that varies within a panel, which has runs of `DPExponentialNAS`. The
    columns of `measured`, without errors, are followed by rows whose ``rule`` is "theory". On a
    finer grid they contain ``noiseless``: the halting time of DP-exp-NAS without noise on a stream
    equal to its mean; ``surely``: its upper bound `dpbandits.bounds.stopping_samples`; ``any_rule``
    and ``private_rule``: lower bounds for every rule that is correct on every distribution, and for
    those that are also ε-DP.
    """
    check_choice("over", over, tuple(_X_LABELS))
    table = _without_errors(measured(runs), *(["deviation"] if over != "deviation" else []))
    theory = {}
    for panel in dict.fromkeys(key[0] for key in runs):
        pairs = [(r.rule, r.law) for key, r in runs.items() if key[0] == panel]
        explained = [pair for pair in pairs if _label(pair[0]) == _EXPLAINED]
        theory[panel, THEORY] = _theory(explained, over)
    rows = tabulate(theory, dict, ("panel", "rule"))
    return pd.concat([table, rows], ignore_index=True).fillna({"law": ""})


def _theory(pairs: Sequence[tuple[StoppingRule, Law]], over: str) -> dict[str, Any]:
    """Return the theoretical columns between the least and the greatest place."""
    rows = []
    for x, rule, law in _between(pairs, over):
        any_rule = private = math.nan
        if rule.beta < 0.5:
            any_rule = private = stopping_lower_bound(law, rule.alpha, rule.beta)
        if rule.beta < 0.25:
            lower = stopping_complexity_lower_bound(law, rule.alpha, rule.beta, rule.epsilon)
            private = float(lower)
        noiseless = float(rule.noiseless_time(law.mean))
        rows.append((x, noiseless, float(stopping_samples(rule, law.mean)), any_rule, private))
    names = (over, "noiseless", "surely", "any_rule", "private_rule")
    return dict(zip(names, np.array(rows).T, strict=True))


def _place(rule: StoppingRule, law: Law, over: str) -> float:
    """Return the position of a rule and a distribution on the horizontal axis."""
    if over == "mean":
        return abs(law.mean)
    return math.sqrt(law.variance) if over == "deviation" else float(getattr(rule, over))


def _between(
    pairs: Sequence[tuple[StoppingRule, Law]], over: str
) -> Iterator[tuple[float, DPExponentialNAS, Law]]:
    """Yield places from the least to the greatest of the pairs, with rule and distribution."""
    rule, law = cast(DPExponentialNAS, pairs[0][0]), pairs[0][1]
    places = [_place(*pair, over) for pair in pairs]
    if over == "deviation":
        room = (law.half_range - abs(law.mean)) * (1 - 1e-12)
        for x in np.geomspace(min(places), room, _POINTS):
            yield float(x), rule, low_variance(law.mean, float(x), law.half_range)
        # beyond the deviations that `low_variance` reaches, use the pairs' own distributions
        yield from (
            (x, rule, other) for x, (_, other) in zip(places, pairs, strict=True) if x > room
        )
        return
    grid = np.geomspace(min(places), max(places), _POINTS)
    if over == "beta":  # the lower bounds fall to 0 at β = 1/2
        grid = np.unique(np.append(grid, min(0.4999, max(places))))
    for x in map(float, grid):
        options: dict[str, Any] = {} if over == "mean" else {over: x}
        yield x, replace(rule, **options), law if options else two_point(x, law.half_range)


@redrawable
def samples_figure(
    table: pd.DataFrame,
    *,
    over: str,
    titles: Titles,
    panels: Sequence[str] | None = None,
    theory: bool = True,
    proved: bool = True,
) -> Figure:
    """Draw the mean number of samples against a parameter, with a band of 90 % of the runs.

    Cases in which a run has not halted are omitted. A rule without ε is level over ε. ``theory``
    draws the noiseless time of DP-exp-NAS (thin, with steps from the doubling) and its upper bound
    (dotted), both only if `proved`, and shades the regions below the lower bounds for every rule
    and for every ε-DP rule.

    The table is made by `samples_table`, for the same parameter `over`.
    """
    check_choice("over", over, tuple(_X_LABELS))

    def draw(axes: Axes, lines: Lines) -> PanelRange:
        return _sweep(axes, lines, over, theory, proved)

    labels = _X_LABELS[over], "mean number of samples"
    return draw_panels(table, titles, panels, draw, labels, by=("panel", "rule"))


def _sweep(axes: Axes, lines: Lines, over: str, theory: bool, proved: bool) -> PanelRange:
    """Draw the samples of some rules against a parameter."""
    rules = [line for line in lines if line.rule != THEORY]
    places = {abs(x) for line in rules for x in getattr(line, over)}
    shown = sorted(x for x in places if math.isfinite(x))
    ends, drawn = [], []
    for line in rules:
        look = RULE_LOOKS[line.rule]
        x = np.abs(getattr(line, over))
        order = np.argsort(x)
        x = x[order]
        curves = (line.mean_samples, line.samples_q05, line.samples_q95)
        mean, low, high = (values[order] for values in curves)
        drawn += [*mean, *low, *high]
        if math.isinf(x[0]):  # without ε, so that the curve is level
            x = np.array([shown[0], shown[-1]])
            mean, low, high = (np.repeat(values, 2) for values in (mean, low, high))
            look = replace(look, marker="")
        band(axes, x, low, high, look)
        marked(axes, x, mean, look)
        known = np.flatnonzero(np.isfinite(mean))
        if known.size:
            ends.append(End(x[known[-1]], mean[known[-1]], line.rule, look.colour))
    if theory:
        (line,) = (line for line in lines if line.rule == THEORY)
        look, x = RULE_LOOKS[_EXPLAINED], getattr(line, over)
        if proved:
            plain(axes, x, line.noiseless, look, linewidth=0.8)
            plain(axes, x, line.surely, look, linestyle=DOTTED, linewidth=1.3)
            ends.append(End(x[-1], line.surely[-1], "upper bound", look.colour))
            drawn += [*line.surely]
        lowest = min(float(np.nanmin(drawn)) / _DEPTH, np.nanmax(line.any_rule))
        ends += _shade(axes, x, line, lowest)
        drawn.append(max(lowest, np.nanmin(line.any_rule)))
    heights = float(np.nanmin(drawn)), float(np.nanmax(drawn))
    return PanelRange((shown[0] / 1.15, shown[-1]), heights, tuple(ends))


def _shade(axes: Axes, x: ArrayLike, line: Line, lowest: float) -> list[End]:
    """Shade the region that no rule can reach; its label is where its edge leaves the panel."""
    ends, x = [], np.asarray(x)
    regions = [("no rule", line.any_rule, "0.8")]
    if np.any(line.private_rule > line.any_rule):
        regions.append(("no ε-DP rule", line.private_rule, "0.91"))
    for height, (text, edge, shade) in enumerate(regions):
        axes.fill_between(x, edge * 1e-9, edge, color=shade, linewidth=0, zorder=0.5 - height / 10)
        axes.plot(x, edge, color=_EDGE, linewidth=0.9, zorder=0.6)
        last = np.flatnonzero(edge >= lowest)[-1]
        ends.append(End(float(x[last]), edge[last], text, _EDGE))
    return ends


# -------------------------------------------------------------------------------------- slopes

_SPAN = (0.45, 1.3)
"""Decades of |μ| that a measured slope may span; as near to one as possible."""
_REFERENCES = {-1.0: "1/|μ|", -2.0: "1/μ²"}


def slopes_table(runs: Results) -> pd.DataFrame:
    """Make the table of `slopes_figure`: measured and computed slopes d log(samples)/d log|μ|.

    Its columns are ``panel``, ``rule``, ``of``, ``mean``, ``slope``, ``error``. If ``of`` is
    "runs", the slope is that between mean samples about a decade of |μ| apart, at the decade's
    middle, with the half-width of its 95 % confidence interval; if it is "condition", the slope is
    that of the halting condition without noise and without the steps of doubling.
    """
    rules: dict[tuple[str, str], NASFamily] = {}
    for (panel, *_), found in runs.items():
        rules.setdefault((panel, found.rule.label), cast(NASFamily, found.rule))
    columns: dict[tuple[str, str, str], dict[str, Any]] = {}
    for line in records(measured(runs), ["panel", "rule"]):
        chords = _chords(line)
        if chords:
            names = ("mean", "slope", "error")
            measures = dict(zip(names, np.array(chords).T, strict=True))
            columns[line.panel, line.rule, "runs"] = measures
        grid = np.geomspace(np.abs(line.mean).min(), np.abs(line.mean).max(), 41)
        curve = [local_slope(rules[line.panel, line.rule], float(mean)) for mean in grid]
        computed = {"mean": grid, "slope": np.array(curve), "error": np.full(grid.size, np.nan)}
        columns[line.panel, line.rule, "condition"] = computed
    return tabulate(columns, dict, ("panel", "rule", "of"))


def _chords(line: Line) -> list[tuple[float, float, float]]:
    """Return place, slope and the half-width of its interval for points about a decade apart."""
    order = np.argsort(np.abs(line.mean))
    order = order[np.isfinite(line.mean_samples[order])]
    sizes, samples = np.abs(line.mean[order]), line.mean_samples[order]
    half = np.log10(line.samples_high95[order] / samples)  # nan for a single run
    chords = []
    for i, size in enumerate(sizes):
        decades = np.log10(sizes[i + 1 :] / size)
        allowed = np.flatnonzero((_SPAN[0] <= decades) & (decades <= _SPAN[1]))
        if allowed.size:
            j = allowed[np.argmin(np.abs(decades[allowed] - 1))]
            width, k = decades[j], i + 1 + j
            slope = math.log10(samples[k] / samples[i]) / width
            error = math.hypot(half[i], half[k]) / width
            chords.append((math.sqrt(size * sizes[k]), slope, error))
    return chords


def local_slope(rule: NASFamily, mean: float) -> float:
    """Return d log n/d log|μ| of the halting condition: of `smooth_time`."""
    step = 1.02
    times = [smooth_time(rule, size) for size in (mean / step, mean * step)]
    return math.log(times[1] / times[0]) / (2 * math.log(step))


@redrawable
def slopes_figure(
    table: pd.DataFrame, *, titles: Titles, panels: Sequence[str] | None = None, theory: bool = True
) -> Figure:
    """Draw d log(samples)/d log|μ| of each rule: −2 where sampling rules, −1 where noise does.

    The table is made by `slopes_table`; ``theory`` draws the slopes of the halting conditions as
    curves.
    """

    def draw(axes: Axes, lines: Lines) -> PanelRange:
        return _slopes(axes, lines, theory)

    labels, by = (_SIZE_OF_MEAN, "local slope of log(samples) in log |μ|"), ("panel", "rule", "of")
    figure = draw_panels(table, titles, panels, draw, labels, by=by, log="x")
    for axes in figure.axes:
        axes.yaxis.set_major_locator(MultipleLocator(0.5))
    return figure


def _slopes(axes: Axes, lines: Lines, theory: bool) -> PanelRange:
    means = np.concatenate([line.mean for line in lines])
    low, high = float(means.min()), float(means.max())
    ends = []
    for level, text in _REFERENCES.items():
        axes.plot([low, high], [level, level], color=INK, linewidth=1.0)
        ends.append(End(high, level, text, INK))
    drawn, labelled = [*_REFERENCES], {}
    for line in lines:
        look = RULE_LOOKS[line.rule]
        if line.of == "runs":
            style: dict[str, Any] = {"color": look.colour, "linestyle": "none", "linewidth": 1.4}
            axes.errorbar(line.mean, line.slope, line.error, **style)
            marked(axes, line.mean, line.slope, look, linestyle="none")
            drawn += [*line.slope, *(line.slope - line.error), *(line.slope + line.error)]
        elif theory:
            plain(axes, line.mean, line.slope, look, linewidth=1.5)
            drawn += [*line.slope]
        else:
            continue
        labelled[line.rule] = End(line.mean[-1], line.slope[-1], line.rule, look.colour)
    heights = np.nanmin(drawn) - 0.1, np.nanmax(drawn) + 0.1
    return PanelRange((low / 1.15, high), heights, (*ends, *labelled.values()))


# ------------------------------------------------------------------------ the price of privacy

_LEVELS = (1.1, 2, 4, 10)
_MEANS = ("-", DASHED, (0, (9, 2)), DOTTED)


def budget_for(rule: DPExponentialNAS, mean: float, level: float) -> float:
    """Return the ε at which a rule takes `level` times the samples that it takes at ε = ∞.

    It is computed from the halting condition without noise and without steps: `smooth_time`.
    """
    free = smooth_time(replace(rule, epsilon=math.inf), mean)

    def excess(log_budget: float) -> float:
        private = smooth_time(replace(rule, epsilon=math.exp(log_budget)), mean)
        return math.log(private / free / level)

    return math.exp(float(optimize.brentq(excess, math.log(1e-9), math.log(1e6), xtol=1e-6)))


def price_table(price: Mapping[tuple[float, float], float]) -> pd.DataFrame:
    """Make the table of `price_figure` from {(mean, ratio εR/(α|μ|)): factor of the samples}.

    Its columns are ``mean``, ``ratio`` and ``times``.
    """
    lines: dict[tuple[float], dict[str, Any]] = {}
    for (mean, ratio), times in sorted(price.items()):
        line = lines.setdefault((mean,), {"ratio": [], "times": []})
        line["ratio"].append(ratio)
        line["times"].append(times)
    columns = {mean: {k: np.array(v) for k, v in line.items()} for mean, line in lines.items()}
    return tabulate(columns, dict, ("mean",))


@redrawable
def price_figure(table: pd.DataFrame) -> Figure:
    """Draw the factor by which privacy increases the samples, against εR/(α|μ|), for each mean.

    The table is made by `price_table`.
    """
    figure, places = make_panels({"a": ""}, width=6.1, height=3.3)
    (axes,) = places.values()
    look = RULE_LOOKS[_EXPLAINED]
    for line, style in zip(records(table, ["mean"]), itertools.cycle(_MEANS)):
        label = f"|μ| = {line.mean:g}"
        axes.plot(line.ratio, line.times, color=look.colour, linestyle=style, label=label)
    x = table["ratio"].min(), table["ratio"].max()
    for level in _LEVELS:
        axes.axhline(level, color=_EDGE, linewidth=0.8, zorder=0.5)
        side = "top" if level == max(_LEVELS) else "bottom"  # clear of the curve
        axes.text(x[0], level, f" {level:g} times", color=_EDGE, va=side)
    axes.set(
        xscale="log",
        yscale="log",
        xlim=(x[0], 1.25 * x[1]),
        xlabel="εR/(α|μ|)",
        ylabel="samples, relative",
    )
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.legend(frameon=False, loc="upper right")
    return figure


# -------------------------------------------------------------------------------------- errors

_LEAST = 1e-6
"""Bottom of the panels; the lower end of an interval may lie below."""
_ARROW = 2.6  # length of an arrow, as a factor
_NONE_FAILED = "no run failed: upper end of the interval"
_GAP = 0.4  # between groups with different β


@redrawable
def errors_figure(
    table: pd.DataFrame, *, titles: Titles, panels: Sequence[str] | None = None, theory: bool = True
) -> Figure:
    """Draw the share of runs that failed, with 95 % Clopper–Pearson intervals.

    If no run failed, a hollow mark is at the interval's upper end, with an arrow down. The table is
    made by `measured`; ``theory`` draws the allowed share β.
    """
    by = ("panel", "rule", "alpha", "beta")
    chosen = chosen_panels(titles, panels)
    every = [line for panel in chosen for line in records(table, by, panel=panel)]
    rules = list(dict.fromkeys(line.rule for line in every))
    pairs = sorted({(line.beta, line.alpha) for line in every})
    betas = sorted({beta for beta, _ in pairs})
    centres = {pair: i + _GAP * betas.index(pair[0]) for i, pair in enumerate(pairs)}
    groups = {beta: [x for (told, _), x in centres.items() if told == beta] for beta in betas}
    width = -0.5, max(centres.values()) + 0.5

    def draw(axes: Axes, lines: Lines) -> PanelRange:
        for line in lines:
            shift = 0.26 * (rules.index(line.rule) - (len(rules) - 1) / 2)
            _rate(axes, centres[line.beta, line.alpha] + shift, line)
        for beta, group in groups.items() if theory else ():
            reach = [min(group) - 0.45, max(group) + 0.45]
            axes.plot(reach, [beta, beta], color=INK, linewidth=2.4)
        return PanelRange(width, (_LEAST, 1.0), ())

    labels = "relative error α, probability β", "share of runs that failed"
    figure = draw_panels(table, titles, panels, draw, labels, by=by, log="y", foot=0.85)
    for axes in figure.axes:
        axes.xaxis.labelpad = 20  # room for the names of the groups
        axes.set_xlim(width)
        axes.grid(visible=False, axis="x")
        axes.set_xticks(list(centres.values()), [f"α={alpha:g}" for _, alpha in centres])
        if axes.xaxis.get_tick_params()["labelbottom"]:
            for beta, group in groups.items():
                axes.annotate(
                    f"β = {beta:g}",
                    ((min(group) + max(group)) / 2, 0),
                    xycoords=("data", "axes fraction"),
                    xytext=(0, -21),
                    textcoords="offset points",
                    ha="center",
                    va="top",
                )
    looks = [(rule, RULE_LOOKS[rule]) for rule in rules]
    upper = [Line2D([], [], color=k.colour, marker=k.marker, label=rule) for rule, k in looks]
    lower = [Line2D([], [], color=INK, marker="v", linestyle="none", label=_NONE_FAILED)]
    if theory:
        lower.append(Line2D([], [], color=INK, linewidth=2.4, label="β, the share allowed"))
    for handles, inches in ((upper, 0.3), (lower, 0.06)):
        legend_below(
            figure,
            handles,
            bbox_to_anchor=(0.5, inches / figure.get_size_inches()[1]),
            ncols=len(handles),
            handlelength=1.6,
            columnspacing=1.6,
            borderaxespad=0.0,
            borderpad=0.0,
        )
    return figure


def _rate(axes: Axes, x: float, line: Line) -> None:
    """Draw a rate with its interval, or only its upper end if no run failed."""
    look = RULE_LOOKS[line.rule]
    rate, low, high = line.error_rate[0], line.error_low95[0], line.error_high95[0]
    bottom = max(low, _LEAST / 10) if rate > 0 else high / _ARROW
    if not rate > 0:
        axes.plot(x, bottom, color=look.colour, marker="v", markersize=4.5)
    draw_rate(axes, x, rate, bottom, high, look)
