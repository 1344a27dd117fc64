"""The vector files that the book offers of its figures."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import matplotlib
from matplotlib import pyplot as plt

from dpbandits.plotting.paper import paper_figure
from dpbandits.plotting.views import book_figure

__all__ = ["figure_pdf"]


def figure_pdf(name: str, folder: Path) -> bytes:
    """Draw a figure of the book for a page of two columns, as a PDF.

    Parameters
    ----------
    name : str
        One of `dpbandits.plotting.figure_names`.
    folder : Path
        Where the data lies.

    Returns
    -------
    bytes

    Raises
    ------
    ValueError
        If there is no such figure, or its data is absent.
    """
    with matplotlib.rc_context({"backend": "agg"}):
        printed = paper_figure(partial(book_figure, name, folder=folder))
        content = printed.pdf(name)
        plt.close(printed.figure)
    return content
