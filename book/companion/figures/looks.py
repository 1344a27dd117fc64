"""Styles of the algorithms in the book's figures, one colour for each through the whole book."""

from __future__ import annotations

from collections.abc import Iterable

from dpbandits._validation import check_choice
from dpbandits.plotting.style import (
    COLOURS,
    DASH_DOT,
    DASHED,
    DOTTED,
    GREY,
    LONG,
    SHORT,
    UNEVEN,
    Look,
)

ALGORITHM_LOOKS = {
    "NAS": Look(COLOURS["black"], DASH_DOT, "D", 1.7),
    "DP-NAS": Look(COLOURS["vermilion"], DASHED, "s", 1.7),
    "DP-exp-NAS": Look(COLOURS["blue"], "-", "o", 1.7),
    "DP-exp-NAS, ε = ∞": Look(COLOURS["black"], DASHED, "D", 1.7),
    "DP-Bernstein": Look(COLOURS["purple"], "-", "X", 2.0),
    "DP-Hoeffding": Look(COLOURS["orange"], UNEVEN, "v", 1.7),
    "DP-Promised": Look(COLOURS["orange"], "-", "P", 2.0),
    "EBGStop": Look(COLOURS["green"], (0, (8, 1.5)), "^", 1.7),
    "UCB": Look(COLOURS["black"], "-", "", 1.5),
    "SE": Look(COLOURS["black"], DOTTED, "", 1.5),
    "DP-UCB": Look(COLOURS["vermilion"], DASHED, "", 2.0),
    "LDP-UCB": Look(COLOURS["orange"], "-", "", 1.5),
    "DP-UCB-HYBRID": Look(COLOURS["sky"], LONG, "", 2.2),
    "DP-UCB-BOUND": Look(COLOURS["purple"], SHORT, "", 2.2),
    "DP-UCB-INT": Look(COLOURS["green"], UNEVEN, "", 1.3),
    "DP-SE": Look(COLOURS["blue"], (0, (1.2, 0.9)), "", 2.6),
    "tuned DP-SE": Look(COLOURS["sky"], DASHED, "s", 1.7),
    "DP-SE, two p-values": Look(COLOURS["purple"], "-", "D", 1.9),
    "DP-SE-V": Look(COLOURS["orange"], LONG, "^", 1.7),
    "Lazy-UCB": Look(COLOURS["orange"], "-", "o", 1.4),
    "AdaP-UCB": Look(COLOURS["vermilion"], "-", "s", 1.4),
    "AdaP-KLUCB": Look(COLOURS["purple"], "-", "^", 1.4),
    "Lazy-DP-TS": Look(COLOURS["sky"], "-", "D", 1.4),
    "DP-KLUCB": Look(COLOURS["green"], "-", "v", 1.4),
    "DP-IMED": Look(COLOURS["blue"], "-", "P", 1.4),
    "DP-IMED, d_ε": Look(COLOURS["black"], DASH_DOT, "X", 1.4),
    "Top Two": Look(COLOURS["black"], DASH_DOT, "D", 1.7),
    "DP-TT": Look(COLOURS["blue"], "-", "o", 1.9),
    "AdaP-TT": Look(COLOURS["vermilion"], DASHED, "s", 1.7),
    "DP-LRE": Look(COLOURS["green"], LONG, "X", 2.0),
    "DPRUCB": Look(COLOURS["vermilion"], DASHED, "s", 2.0),
    "DPRSE": Look(COLOURS["blue"], "-", "o", 2.0),
    "LDPRSE": Look(COLOURS["orange"], DASHED, "^", 2.0),
    "Robust-UCB": Look(COLOURS["black"], UNEVEN, "", 1.4),
}
"""Style of each algorithm by its label, with one colour through the whole book.

Algorithms without privacy are black. There are more algorithms than colours, so that two that are
never in one figure may share one; those of one colour in one figure differ in line or marker.
"""


def faded(look: Look) -> Look:
    """Return the style of a background curve: grey, thin, without a marker.

    Parameters
    ----------
    look : Look
        Its own style, whose line is kept.

    Returns
    -------
    Look
        The grey style.

    Examples
    --------
    >>> faded(ALGORITHM_LOOKS["DP-SE"]).colour
    '0.6'
    """
    return Look(GREY, look.line, "", min(look.width, 1.2))


def looks_of(names: Iterable[str], shown: Iterable[str] | None = None) -> dict[str, Look]:
    """Return the styles of algorithms in a figure: its subjects in colour, others in grey.

    Parameters
    ----------
    names : iterable of str
        Labels of the algorithms, of `ALGORITHM_LOOKS`.
    shown : iterable of str, optional
        Those in colour; by default all. Three or four can be distinguished at a glance.

    Returns
    -------
    dict of str to Look
        Label → style, in the given order.

    Raises
    ------
    ValueError
        If a label has no style, or `shown` contains one that is not among the names.

    Examples
    --------
    >>> looks = looks_of(["DP-SE", "DP-UCB"], shown=["DP-SE"])
    >>> [look.colour for look in looks.values()]
    ['#0072B2', '0.6']
    """
    wanted = list(names)
    coloured = wanted if shown is None else list(shown)
    for name in wanted:
        check_choice("algorithm", name, tuple(ALGORITHM_LOOKS))
    for name in coloured:
        check_choice("shown", name, tuple(wanted))
    own = {name: ALGORITHM_LOOKS[name] for name in wanted}
    return {name: look if name in coloured else faded(look) for name, look in own.items()}
