"""Figures of the experiments, drawn from results or from committed data in one style."""

from dpbandits.plotting.dispatch import draw
from dpbandits.plotting.figures import regret_figure
from dpbandits.plotting.style import COLOURS, STYLE, save_vector

__all__ = ["COLOURS", "STYLE", "draw", "regret_figure", "save_vector"]
