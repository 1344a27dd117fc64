"""Pictures of your own runs and plans, in the style of the book's figures."""

from dpbandits.plotting.pictures import plan_figure, runs_figure
from dpbandits.plotting.style import COLOURS, STYLE, save, save_vector

__all__ = ["COLOURS", "STYLE", "plan_figure", "runs_figure", "save", "save_vector"]
