"""Results of replicates as a line of text, a notebook's table, a file, a data frame, a picture."""

from __future__ import annotations

import html
import importlib
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from dpbandits._files import write_atomically

__all__ = ["Replicates"]


class Replicates:
    """Base of `Runs`, `Estimates`, `Identifications`, `Trials` and `MeanErrors`.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> runs = dpb.simulate(dpb.DPSE(epsilon=1), dpb.instances.ss19("C2"), 10**6, n_runs=2)
    >>> isinstance(runs, Replicates), repr(runs).partition(":")[0]
    (True, '<Runs of DPSE(epsilon=1.0, beta=None) on C2, K = 5')
    """

    def summary_fields(self) -> tuple[str, str, Mapping[str, Any]]:
        """Return descriptions of the algorithm and the instance, and summary statistics.

        Returns
        -------
        played, on : str
            The descriptions.
        numbers : mapping of str to object
            The statistics by name.
        """
        raise TypeError(f"{type(self).__name__} has nothing to tell")

    def columns(self) -> dict[str, Any]:
        """Return the columns of the table of all replicates, each an array of one length.

        Returns
        -------
        dict of str to array
            The columns by name.
        """
        raise TypeError(f"{type(self).__name__} has no columns")

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the replicates to a file: a row for each run, or, for `Runs`, for each checkpoint.

        Parameters
        ----------
        path : str or os.PathLike
            The file, which is replaced if it exists.
        """
        columns = self.columns()
        rows = zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)
        lines = [",".join(columns), *(",".join(map(_cell, row)) for row in rows)]
        write_atomically(path, "\n".join(lines) + "\n")

    def to_frame(self) -> Any:
        """Return the replicates as a pandas data frame, with the rows of `to_csv`.

        Returns
        -------
        pandas.DataFrame
            A row for each run, or, for `Runs`, for each checkpoint.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        try:
            pandas = importlib.import_module("pandas")
        except ImportError:
            raise ImportError("to_frame needs pandas, which is not installed") from None
        return pandas.DataFrame(self.columns())

    def plot(self, axes: Any = None) -> Any:
        """Draw the replicates: by default the share of runs that ended by each time.

        Parameters
        ----------
        axes : matplotlib.axes.Axes, optional
            Axes to draw on; by default those of a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        axes = axes_of(axes)
        name, times = next(iter(self.columns().items()))
        axes.ecdf(np.asarray(times, dtype=np.float64), label=self.summary_fields()[0])
        axes.set(xscale="log", xlabel=name.replace("_", " "), ylabel="share of runs")
        return axes

    def __repr__(self) -> str:
        played, on, numbers = self.summary_fields()
        shown = ", ".join(f"{name} {_short(value)}" for name, value in numbers.items())
        return f"<{type(self).__name__} of {played} on {on}: {shown}>"

    def _repr_html_(self) -> str:
        played, on, numbers = self.summary_fields()
        cells = {type(self).__name__: played, "on": on}
        cells |= {name: _short(value) for name, value in numbers.items()}
        rows = (
            f"<tr><th>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>"
            for name, text in cells.items()
        )
        return f"<table>{''.join(rows)}</table>"


def axes_of(axes: Any) -> Any:
    """Return axes to draw on."""
    if axes is not None:
        return axes
    from matplotlib import pyplot as plt

    return plt.subplots(layout="constrained")[1]


def _cell(value: float) -> str:
    """Format a number so that it can be read back: True and False as 1 and 0."""
    return repr(int(value) if isinstance(value, bool) else value)


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
