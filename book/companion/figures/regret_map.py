"""The drawing of maps of who is best: a cell for each setting, with the code of its winner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.patheffects import withStroke

from companion.figures.comparison import CODES, HEAD_LOOKS
from companion.ranking import Best
from dpbandits.plotting.style import COLOURS, INK, columns_of, make_panels, styled

__all__ = ["MapCell", "map_figure"]

_COLOURS = {
    **{name: look.colour for name, look in HEAD_LOOKS.items()},
    "DP-TT": COLOURS["blue"],
    "AdaP-TT": COLOURS["vermilion"],
    "AdaP-TT*": COLOURS["orange"],
    "DP-LRE": COLOURS["green"],
}
_TINTS = {"AdaP-KLUCB": 0.6, "Lazy-DP-TS": 0.75, "DP-KLUCB": 0.55, "DP-SE": 0.6, "DP-UCB": 0.75}
"""Share of white in a cell's colour, so that one colour can stand for two algorithms."""
_HATCH = "0.35"


@dataclass(frozen=True)
class MapCell:
    """A setting of a map.

    Attributes
    ----------
    x, y : float
        Where it stands.
    best : Best
        Who may be best there.
    note : str
        What stands below the winner's code, such as how much worse the second is.
    faint : bool
        Whether the winner has hardly learnt anything either.
    """

    x: float
    y: float
    best: Best
    note: str
    faint: bool = False


def fill_of(name: str) -> tuple[float, float, float]:
    """Return the colour of an algorithm's cells: its own, mixed with white; grey if it has none."""
    share = _TINTS.get(name, 0.35)
    r, g, b = to_rgb(_COLOURS.get(name, "0.5"))
    return r + share * (1 - r), g + share * (1 - g), b + share * (1 - b)


def code_of(name: str) -> str:
    """Return what a map calls an algorithm: its code, or else two letters of its name."""
    return CODES.get(name, name[:2])


def _text(best: Best) -> str:
    """Write who may be best: the winner's code, two, or the first and how many more."""
    codes = [code_of(name) for name in best.names]
    return "/".join(codes) if len(codes) <= 2 else f"{codes[0]}+{len(codes) - 1}"


def _cells(axes: Axes, cells: Sequence[MapCell], xs: Sequence[float], ys: Sequence[float]) -> None:
    for cell in cells:
        column, row = xs.index(cell.x), ys.index(cell.y)
        tied = cell.best.winner is None
        axes.add_patch(
            Rectangle(
                (column - 0.5, row - 0.5),
                1,
                1,
                facecolor="0.93" if cell.faint else fill_of(cell.best.names[0]),
                edgecolor="white",
                linewidth=1.5,
            )
        )
        if tied and not cell.faint:
            hatched = Rectangle(
                (column - 0.47, row - 0.47),
                0.94,
                0.94,
                facecolor="none",
                edgecolor=_HATCH,
                hatch="///",
                linewidth=0,
            )
            hatched.set_hatch_linewidth(0.8)
            axes.add_patch(hatched)
        ground = "0.93" if cell.faint else fill_of(cell.best.names[0])
        style: dict[str, Any] = {"ha": "center", "va": "center", "color": INK}
        if tied:  # so that the hatches do not cross the letters
            style["path_effects"] = [withStroke(linewidth=3.5, foreground=ground)]
        axes.text(
            column,
            row + 0.14,
            _text(cell.best),
            fontsize=8.5 if tied else 11,
            fontweight="normal" if tied else "bold",
            **style,
        )
        axes.text(column, row - 0.27, cell.note, fontsize=8, **style)


def map_figure(
    titles: Mapping[str, str],
    by_panel: Mapping[str, Sequence[MapCell]],
    *,
    x_label: str,
    y_label: str,
    faint: str = "",
) -> Figure:
    """Draw maps of who is best.

    A cell has the colour and the code of the algorithm that is best there. Where several may be,
    it is hatched, and has the codes of two, or that of the first and how many more there are.

    Parameters
    ----------
    titles : mapping of str to str
        Panel → its title.
    by_panel : mapping of str to sequence of MapCell
        Panel → its settings.
    x_label, y_label : str
        Labels of the axes.
    faint : str
        What the legend says of grey cells, if there are any.

    Returns
    -------
    matplotlib.figure.Figure
    """
    every = [cell for cells in by_panel.values() for cell in cells]
    xs, ys = sorted({cell.x for cell in every}), sorted({cell.y for cell in every})
    first = {cell.best.names[0] for cell in every if not cell.faint}
    keys = [name for name in CODES if name in first] + sorted(first - CODES.keys())
    with styled():
        figure, grid = make_panels(
            titles, foot=0.75, width=max(0.62 * len(xs) + 0.3, 2.8), height=0.52 * len(ys) + 0.55
        )
        columns = columns_of(next(iter(grid.values())))
        for place, (panel, axes) in enumerate(grid.items()):
            _cells(axes, by_panel[panel], xs, ys)
            axes.grid(visible=False)
            axes.spines[:].set_visible(False)
            axes.set_xticks(range(len(xs)), [f"{x:g}" for x in xs])
            axes.set_yticks(range(len(ys)), [f"{y:g}" for y in ys])
            axes.tick_params(length=0, labelleft=place % columns == 0)
            axes.tick_params(labelbottom=place + columns >= len(titles))
            axes.set(xlim=(-0.5, len(xs) - 0.5), ylim=(-0.5, len(ys) - 0.5))
            if place + columns >= len(titles):
                axes.set_xlabel(x_label)
        figure.supylabel(y_label, x=0.01, fontsize=plt.rcParams["axes.labelsize"])
        handles = [Patch(facecolor=fill_of(n), label=f"{code_of(n)}  {n}") for n in keys]
        if any(cell.best.winner is None and not cell.faint for cell in every):
            tie = Patch(facecolor="0.88", edgecolor=_HATCH, hatch="///", label="undecided")
            handles.append(tie)
        if faint and any(cell.faint for cell in every):
            handles.append(Patch(facecolor="0.93", label=faint))
        figure.legend(handles=handles, loc="lower center", ncols=4, frameon=False, fontsize=10.5)
    return figure
