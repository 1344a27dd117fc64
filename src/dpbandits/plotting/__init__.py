"""Pictures of your own runs, plans and trials, in the style of the book's figures."""

from dpbandits.plotting.group_pictures import group_plan_figure, running_trial_figure
from dpbandits.plotting.pictures import plan_figure, regret_plan_figure, runs_figure
from dpbandits.plotting.style import COLOURS, STYLE, save, save_vector

__all__ = [
    "COLOURS",
    "STYLE",
    "group_plan_figure",
    "plan_figure",
    "regret_plan_figure",
    "running_trial_figure",
    "runs_figure",
    "save",
    "save_vector",
]
