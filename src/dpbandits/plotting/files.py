"""The files that the book offers of each of its figures."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import matplotlib
from matplotlib import pyplot as plt

from dpbandits.plotting.paper import paper_figure
from dpbandits.plotting.views import book_figure

__all__ = ["figure_files"]

_DPI = 200.0


def figure_files(name: str, folder: Path) -> dict[str, bytes]:
    """Draw a figure of the book for a page of two columns.

    Parameters
    ----------
    name : str
        One of `dpbandits.plotting.figure_names`.
    folder : Path
        Where the data lies.

    Returns
    -------
    dict of str to bytes
        The vector file under "pdf", and a picture under "png".

    Raises
    ------
    ValueError
        If there is no such figure, or its data is absent.
    """
    with matplotlib.rc_context({"backend": "agg"}):
        printed = paper_figure(partial(book_figure, name, folder=folder))
        files = {"pdf": printed.pdf(name), "png": printed.png(_DPI)}
        plt.close(printed.figure)
    return files
