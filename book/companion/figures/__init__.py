"""The book's figures in one style, each drawn from a table; the functions stand in the modules."""

from companion.figures.curves import curves_figure
from companion.figures.paper import PaperFigure, paper_figure

__all__ = ["PaperFigure", "curves_figure", "paper_figure"]
