"""The figure of any experiment."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from matplotlib.figure import Figure

from dpbandits.experiments import Data, Results, experiment_of

__all__ = ["draw"]

_FIGURES = {
    "audit": ("dpbandits.plotting.audit", "audit_figure"),
    "estimation": ("dpbandits.plotting.estimation", "estimation_figure"),
    "identification": ("dpbandits.plotting.identification", "identification_figure"),
    "regret": ("dpbandits.plotting.figures", "regret_figure"),
    "stopping": ("dpbandits.plotting.stopping", "stopping_figure"),
    "trial": ("dpbandits.plotting.trial", "trial_figure"),
}
"""Kind of experiment → module and name of the function that draws it."""


def draw(source: Results | Data | str, **options: Any) -> Figure:
    """Draw the figure of one experiment, of whatever kind.

    Parameters
    ----------
    source : Results, Data or str
        Results of one experiment, data as `dpbandits.experiments.load` returns it, or the id
        of an experiment whose committed data is fresh.
    **options
        Those of the function that draws experiments of this kind, such as `regret_figure`.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If an argument is unknown, or the committed data is stale.

    Examples
    --------
    >>> from matplotlib import pyplot as plt
    >>> from dpbandits import experiments, plotting
    >>> figure = plotting.draw(experiments.run("ss19-fig1", preset="smoke"), panels=["a"])
    >>> len(figure.axes)
    1
    >>> plt.close(figure)
    """
    module, name = _FIGURES[experiment_of(source).table.kind]
    function = getattr(importlib.import_module(module), name)
    parameters = inspect.signature(function).parameters.values()
    allowed = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]
    takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters)
    for option, value in options.items():
        if option not in allowed and not takes_any:
            raise ValueError(f"{option}={value!r} is unknown; allowed: {', '.join(allowed)}")
    figure: Figure = function(source, **options)
    return figure
