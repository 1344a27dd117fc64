"""Regret over time where algorithms stand in several readings: the experiments after TD16."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib.axes import Axes

from dpbandits.plotting.regret_lines import Line, band, first_shown
from dpbandits.plotting.style import COLOURS, DASHED, DOTTED, End, Look, PanelRange

__all__ = ["ALGORITHM_LOOKS", "NAMES", "has_readings", "readings_over_time", "with_looks"]

_MAIN, _THIN = 2.6, 1.2


def _looks(colour: str, main: object, *others: object) -> tuple[Look, ...]:
    thin = (Look(COLOURS[colour], line, width=_THIN) for line in others)
    return Look(COLOURS[colour], main, width=_MAIN), *thin


ALGORITHM_LOOKS: dict[str, tuple[Look, ...]] = {
    "UCB": (Look(COLOURS["black"], "-", width=1.6),),
    "DP-SE": _looks("blue", (0, (1.2, 0.9))),
    "Private-UCB": _looks("orange", (0, (6, 1.2, 1.2, 1.2)), (0, (3, 2.5))),
    "DP-UCB": _looks("vermilion", DASHED),
    "DP-UCB-HYBRID": _looks("sky", (0, (9, 2)), (0, (10, 2, 2, 2)), (0, (10, 2, 2, 2, 2, 2))),
    "DP-UCB-BOUND": _looks("purple", (0, (2.4, 1)), (0, (5, 3)), (0, (2, 2))),
    "DP-UCB-INT": _looks("green", "-", (0, (14, 3)), (0, (5, 2, 1.5, 2))),
}
"""Algorithm → looks of its readings, by their order in a panel: the main one, then others."""

NAMES = {
    ("UCB", ""): "UCB",
    ("DP-SE", ""): "DP-SE",
    ("Private-UCB", "ε/K"): "Private, ε/K",
    ("Private-UCB", "ε per arm"): "Private, ε per arm",
    ("Private-UCB", "calibrated"): "Private-UCB",
    ("DP-UCB", "tree-tight, calibrated"): "DP-UCB",
    ("DP-UCB-HYBRID", "full"): "HYBRID",
    ("DP-UCB-HYBRID", "half"): "HYBRID, half",
    ("DP-UCB-HYBRID", "no bonus"): "HYBRID, no bonus",
    ("DP-UCB-BOUND", "full"): "BOUND",
    ("DP-UCB-BOUND", "half"): "BOUND, half",
    ("DP-UCB-BOUND", "no bonus"): "BOUND, no bonus",
    ("DP-UCB-BOUND", "repaired"): "BOUND, repaired",
    ("DP-UCB-INT", "refreshed"): "INT",
    ("DP-UCB-INT", "frozen"): "INT, frozen",
    ("DP-UCB-INT", "literal"): "INT, literal",
    ("DP-UCB-INT", "noise"): "INT, noise",
    ("DP-UCB-INT", "interval"): "INT, interval",
}
"""(Algorithm, variant) → what stands beside the curve."""


def has_readings(by_panel: Sequence[Sequence[Line]]) -> bool:
    """Tell whether all lines are of those that `NAMES` has."""
    return all(line.name in NAMES for lines in by_panel for line in lines)


def with_looks(lines: Sequence[Line]) -> Iterator[tuple[Line, Look, bool]]:
    """Yield the lines of a panel, each with its look and whether it is its algorithm's first."""
    seen: Counter[str] = Counter()
    for line in lines:
        place = seen[line.curve.algorithm]
        seen[line.curve.algorithm] += 1
        yield line, ALGORITHM_LOOKS[line.curve.algorithm][place], place == 0


def readings_over_time(
    axes: Axes, lines: Sequence[Line], theory: bool, epochs: bool, scale: str
) -> PanelRange:
    """Draw the curves of a panel: the first reading of each algorithm with its band.

    `epochs` changes nothing, as most of these algorithms have none.
    """
    horizon = max(line.curve.horizon for line in lines)
    start = 0.0 if scale == "linear" else first_shown(horizon)
    ends, heights = [], []
    for line, look, is_main in with_looks(lines):
        curve = line.curve
        shown = curve.times >= start
        heights += [curve.mean[shown].min(), curve.mean[-1]]
        axes.plot(
            curve.times, curve.mean, color=look.colour, linestyle=look.line, linewidth=look.width
        )
        if is_main:
            band(axes, curve.times, curve.low90, curve.high90, look)
            heights.append(curve.high90[-1])
        if is_main and theory:
            algorithm, instance = line.cell.algorithm, line.cell.instance
            bound = algorithm.regret_bound(instance, curve.horizon, times=curve.times)
            bound = np.asarray(bound)
            axes.plot(curve.times, bound, color=look.colour, linestyle=DOTTED, linewidth=1.2)
            heights.append(bound[-1])
        ends.append(End(curve.times[-1], curve.mean[-1], NAMES[line.name], look.colour))
    lowest = 0.0 if scale == "linear" else min(heights)
    return PanelRange((start, horizon), (lowest, max(heights)), tuple(ends))
