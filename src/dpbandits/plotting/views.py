"""The figures of the book by their names: experiments, and further views of experiments."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from matplotlib.figure import Figure

from dpbandits.experiments import EXPERIMENTS, load, read
from dpbandits.plotting.dispatch import draw

__all__ = ["VIEWS", "View", "book_figure", "figure_names", "view_of"]


@dataclass(frozen=True)
class View:
    """How the book shows an experiment.

    Attributes
    ----------
    experiment : str
        Id of the experiment.
    options : mapping
        What is passed on to the function that draws it.
    title : str
        What this view shows; empty for the title of the experiment.
    function : tuple of (str, str)
        Module and name of the function that draws it; ``dpbandits.plotting.draw`` by default.
    """

    experiment: str
    options: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""
    function: tuple[str, str] = ("", "")


_RATIO = {"values": "ratio"}
_SLOPES = ("dpbandits.plotting.stopping_slopes", "slopes_figure")

VIEWS: Mapping[str, View] = MappingProxyType(
    {
        "ours-stopping-slopes": View(
            "ours-stopping-mean",
            title="Local log-log slopes of samples against |μ|",
            function=_SLOPES,
        ),
        "ss19-fig1-linear": View(
            "ss19-fig1",
            {"scale": "linear", "epochs": False},
            "DP-SE against DP-UCB on C1, on linear axes",
        ),
        "fig-ja25-fig1-ratio": View(
            "ja25-fig1", _RATIO, "Stopping times on μ1 and μ2 as multiples of the lower bound"
        ),
        "fig-ja25-fig2-ratio": View(
            "ja25-fig2",
            _RATIO,
            "Stopping times on four more instances as multiples of the lower bound",
        ),
        "ours-bai-own": View("ours-bai-own", _RATIO),
        "ours-bai-fresh": View("ours-bai-fresh", _RATIO),
        "h-curves-near": View(
            "ours-head-curves", {"panels": list("abcd")}, "Regret over time on C1 and C2"
        ),
        "h-curves-far": View(
            "ours-head-curves", {"panels": list("efgh")}, "Regret over time on C3 and C4"
        ),
        "h-curves-td16": View(
            "ours-head-curves", {"panels": list("ijkl")}, "Regret over time on TD16's instances"
        ),
        "h-map-all": View("ours-head-map"),
        "h-map-rest": View(
            "ours-head-map",
            {"without": ["DP-IMED", "DP-KLUCB"]},
            "Least regret among the others than DP-IMED and DP-KLUCB",
        ),
        "h-bai-all": View("ours-head-bai"),
        "h-bai-rest": View(
            "ours-head-bai", {"without": ["DP-LRE"]}, "Least stopping time among the published"
        ),
    }
)
"""Name of a figure → how it shows its experiment, where that is not the usual way or name."""


def figure_names() -> tuple[str, ...]:
    """Return the names of the figures that are drawn from data: experiments, then views."""
    return tuple(dict.fromkeys((*EXPERIMENTS, *VIEWS)))


def view_of(name: str) -> View:
    """Return how the book shows a figure.

    Parameters
    ----------
    name : str
        One of `figure_names`.

    Raises
    ------
    ValueError
        If there is no such figure, or it is not drawn from an experiment's data.

    Examples
    --------
    >>> view_of("fig-ja25-fig1-ratio").experiment
    'ja25-fig1'
    """
    if name in VIEWS:
        return VIEWS[name]
    if name in EXPERIMENTS:
        return View(name)
    raise ValueError(
        f"figure={name!r} is not drawn from an experiment's data; allowed: "
        f"{', '.join(figure_names())}; figures that a chapter computes are downloaded from its page"
    )


def book_figure(name: str, *, folder: Path | None = None, **options: Any) -> Figure:
    """Draw a figure as the book shows it, from data as it is written.

    Parameters
    ----------
    name : str
        One of `figure_names`.
    folder : Path, optional
        Where the data lies, which is then drawn whether fresh or not; the committed data, which
        has to be fresh, if not given.
    **options
        Further options of the function that draws it, such as ``panels``; they go before those
        of the view.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If there is no such figure, an option is unknown, or data is absent or stale.

    Examples
    --------
    >>> from matplotlib import pyplot as plt
    >>> figure = book_figure("ss19-fig1-linear", panels=["a"])
    >>> figure.axes[0].get_xscale()
    'linear'
    >>> plt.close(figure)
    """
    view = view_of(name)
    data = load(view.experiment) if folder is None else read(view.experiment, folder)
    module, function = view.function
    drawn = getattr(importlib.import_module(module), function) if function else draw
    figure: Figure = drawn(data, **{**view.options, **options})
    return figure
