"""The book's figures in one style, each drawn from a table; a module for each chapter.

A function marked `companion.figures.redraw.redrawable` takes a table, made by the function that
its docstring names, and options by name. Of these, ``titles`` contains the title of each panel,
``panels`` selects the panels that are drawn, by default all, and ``theory`` decides whether proved
bounds are drawn as well. An unknown name raises a ValueError.
"""

from companion.figures.curves import curves_figure
from companion.figures.paper import PaperFigure, paper_figure

__all__ = ["PaperFigure", "curves_figure", "paper_figure"]
