"""Figures of the experiments, drawn from results or from committed data in one style."""

from dpbandits.plotting.audit import audit_figure
from dpbandits.plotting.curves import Downloads, curves_figure
from dpbandits.plotting.dispatch import draw
from dpbandits.plotting.figures import regret_figure
from dpbandits.plotting.identification import identification_figure
from dpbandits.plotting.paper import PaperFigure, paper_figure
from dpbandits.plotting.planning import plan_figure
from dpbandits.plotting.runs import runs_figure
from dpbandits.plotting.stopping import stopping_figure
from dpbandits.plotting.stopping_parts import RULE_LOOKS
from dpbandits.plotting.stopping_slopes import slopes_figure
from dpbandits.plotting.style import COLOURS, STYLE, save_vector
from dpbandits.plotting.trial import trial_figure
from dpbandits.plotting.views import VIEWS, View, book_figure, figure_names, view_of

__all__ = [
    "COLOURS",
    "RULE_LOOKS",
    "STYLE",
    "VIEWS",
    "Downloads",
    "PaperFigure",
    "View",
    "audit_figure",
    "book_figure",
    "curves_figure",
    "draw",
    "figure_names",
    "identification_figure",
    "paper_figure",
    "plan_figure",
    "regret_figure",
    "runs_figure",
    "save_vector",
    "slopes_figure",
    "stopping_figure",
    "view_of",
    "trial_figure",
]
