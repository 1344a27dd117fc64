"""Figures that can be drawn again: each carries its recipe."""

import importlib
import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from dpbandits._validation import check_choice
from dpbandits.plotting.style import styled

Recipe = dict[str, Any]
"""``function``, as MODULE:NAME, and ``options``, ready for JSON."""


def redrawable(function: Callable[..., Figure]) -> Callable[..., Figure]:
    """Mark a function that draws a table in the book's style: its figures store the recipe.

    The function takes a table made by `companion.tables.tabulate`, and keyword options that can be
    written as JSON.
    """

    @wraps(function)
    def draw(table: pd.DataFrame, **options: Any) -> Figure:
        with styled():
            figure = function(table, **options)
        recipe = {"function": f"{function.__module__}:{function.__name__}", "options": options}
        figure._dpbandits_recipe = recipe  # type: ignore[attr-defined]
        return figure

    return draw


def recipe_of(figure: Figure) -> Recipe:
    """Return the recipe of a figure; ValueError if no `redrawable` function drew it."""
    recipe: Recipe | None = getattr(figure, "_dpbandits_recipe", None)
    if recipe is None:
        raise ValueError(
            f"figure={figure!r} was drawn by hand and cannot be drawn again from its table; "
            "allowed: figures of the functions that are marked as redrawable"
        )
    return recipe


def redraw(table: pd.DataFrame, recipe: Mapping[str, Any], **options: Any) -> Figure:
    """Draw a table by a recipe, with further options."""
    module, _, name = recipe["function"].partition(":")
    function = getattr(importlib.import_module(module), name)
    known = [name for name in inspect.signature(function).parameters if name != "table"]
    for name in options:
        check_choice("option of the figure", name, tuple(known))
    figure: Figure = function(table, **{**recipe["options"], **options})
    return figure
