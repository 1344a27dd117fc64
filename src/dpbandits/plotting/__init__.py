"""Figures in one style, each drawn from a table; the functions stand in the modules."""

from dpbandits.plotting.curves import curves_figure
from dpbandits.plotting.paper import PaperFigure, paper_figure
from dpbandits.plotting.planning import plan_figure
from dpbandits.plotting.runs import runs_figure
from dpbandits.plotting.style import COLOURS, STYLE, save_vector

__all__ = [
    "COLOURS",
    "STYLE",
    "PaperFigure",
    "curves_figure",
    "paper_figure",
    "plan_figure",
    "runs_figure",
    "save_vector",
]
