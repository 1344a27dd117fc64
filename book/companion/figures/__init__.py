"""The book's figures in one style, each drawn from a table, a module for each chapter.

A function marked `companion.figures.redraw.redrawable` takes a table, made by the function that
its docstring names, and options by name. Of these, ``titles`` holds the title of each panel,
``panels`` are those that are drawn, all if not given, and ``theory`` is whether what is proved is
drawn as well. A name that is unknown is refused by a ValueError.
"""

from companion.figures.curves import curves_figure
from companion.figures.paper import PaperFigure, paper_figure

__all__ = ["PaperFigure", "curves_figure", "paper_figure"]
