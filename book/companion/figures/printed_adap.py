"""AdaP-KLUCB as printed over privacy budgets: Figure 3 of Azize & Basu (2022)."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from scipy import stats

from companion.figures.comparison import look_of
from companion.figures.panels import plain
from companion.figures.redraw import redrawable
from companion.printed import ab22_regret_rate
from companion.ranking import Estimate
from companion.rounding import rounded_table
from dpbandits.bounds import private_regret_rate
from dpbandits.plotting.style import (
    DOTTED,
    GREY,
    INK,
    LONG,
    End,
    Look,
    PanelRange,
    finish_panels,
    make_panels,
)
from dpbandits.regret.simulation import Runs


def budgets_table(runs: Mapping[float, Runs]) -> pd.DataFrame:
    """Make the table of `budgets_figure`, of two runs or more at each ε.

    It has ``epsilon``, ``n_runs``, the ``mean`` regret at the horizon with the ends ``low``,
    ``high`` of its 95 % interval, and two lower bounds on the regret per log T, each times log T:
    ``printed``, Theorem 3, and ``least``, :prf:ref:`thm-head-lower`.
    """
    rows = []
    for epsilon, found in runs.items():
        end = Estimate.of(found.regret[:, -1])
        width = float(stats.t.ppf(0.975, end.n_runs - 1)) * end.error
        means, long = found.instance.means.tolist(), math.log(found.horizon)
        rates = ab22_regret_rate(means, epsilon), private_regret_rate(means, epsilon)
        bounds = [rate * long for rate in rates]
        rows.append((epsilon, end.n_runs, end.mean, end.mean - width, end.mean + width, *bounds))
    columns = ["epsilon", "n_runs", "mean", "low", "high", "printed", "least"]
    return rounded_table(pd.DataFrame(rows, columns=columns))


@redrawable
def budgets_figure(table: pd.DataFrame, *, marks: Sequence[float]) -> Figure:
    """Draw mean regret against ε above two lower bounds; vertical lines are at `marks`.

    The table is that of `budgets_table`.
    """
    figure, grid = make_panels({"a": ""}, width=6.2, height=3.6)
    axes, look = grid["a"], look_of("AdaP-KLUCB")
    style: dict[str, Any] = {"color": look.colour, "alpha": 0.25, "linewidth": 0}
    axes.fill_between(table["epsilon"], table["low"], table["high"], **style)
    plain(axes, table["epsilon"], table["mean"], look)
    for column, line in (("least", LONG), ("printed", DOTTED)):
        plain(axes, table["epsilon"], table[column], Look(INK, line, "", 1.3))
    for epsilon in marks:
        axes.axvline(epsilon, color=GREY, linewidth=1.0, zorder=0)
    last = table.iloc[-1]
    ends = [
        End(float(last["epsilon"]), float(last[column]), text, colour)
        for column, text, colour in (
            ("mean", "AdaP-KLUCB", look.colour),
            ("printed", "Theorem 3", INK),
            ("least", "least rate", INK),
        )
    ]
    across = float(table["epsilon"].min()), float(table["epsilon"].max())
    heights = float(table["printed"].min()), float(table["high"].max())
    labels = {"x_label": "privacy budget ε", "y_label": "regret at the horizon"}
    finish_panels(figure, [axes], [PanelRange(across, heights, tuple(ends))], **labels)
    return figure
