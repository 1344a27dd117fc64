"""The picture of a plan as a figure of the book: its table, and the drawing of that table."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from companion.figures.redraw import redrawable
from companion.tables import records, tabulate
from dpbandits.planning import Plan
from dpbandits.plotting.identification_looks import BOUND
from dpbandits.plotting.planning import draw_plan, plan_rows

__all__ = ["plan_figure", "plan_table"]


def plan_table(plan: Plan) -> pd.DataFrame:
    """Return what the picture of a plan shows, ready to publish.

    Returns
    -------
    pandas.DataFrame
        The columns of `dpbandits.plotting.planning.plan_rows`, and in ``free_from`` the ε from
        which on privacy is free, as far as the lower bound can tell.
    """
    table = tabulate(plan_rows(plan), dict, ("algorithm", "private"))
    return table.assign(free_from=float(f"{plan.free_from:.7g}"))


@redrawable
def plan_figure(table: pd.DataFrame) -> Figure:
    """Draw a plan from its table."""
    names = ("epsilon", "samples", "samples_q90")
    rows = {}
    for line in records(table, ("algorithm", "private")):
        values = {name: getattr(line, name) for name in names}
        if line.algorithm != BOUND:
            values = {name: float(value[0]) for name, value in values.items()}
        rows[line.algorithm, bool(line.private)] = values
    return draw_plan(rows, float(table.free_from.iloc[0]))
