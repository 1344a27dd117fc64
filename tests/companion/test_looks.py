"""One colour is one algorithm through the book; panels that say one thing together."""

import pytest

from companion.figures import baselines, comparison, regret, stopping
from companion.figures.looks import ALGORITHM_LOOKS, looks_of
from dpbandits.plotting.style import (
    COLOURS,
    GREY,
    IDENTIFIER_LOOKS,
    columns_of,
    filling,
    small_multiples,
    styled,
)

NOT_YET = {"identification: DP-SE": "purple in chapter 5, until its figures are drawn anew"}
"""Where an algorithm has another colour than in the rest of the book; the list only shrinks."""


def test_an_algorithm_has_one_colour_through_the_book():
    own = {name: look.colour for name, look in ALGORITHM_LOOKS.items()}
    tables = {
        "stopping": stopping.RULE_LOOKS,
        "comparison": comparison.HEAD_LOOKS,
        "baselines": {name: looks[0] for name, looks in baselines.ALGORITHM_LOOKS.items()},
        "regret": {name: looks[0] for name, looks in regret.BUDGET_LOOKS.items()},
        "identification": {
            n: look for (n, variant), look in IDENTIFIER_LOOKS.items() if not variant
        },
    }
    others = {
        f"{module}: {name}"
        for module, looks in tables.items()
        for name, look in looks.items()
        if own.get(name, look.colour) != look.colour
    }
    assert others == set(NOT_YET)
    for module in ("stopping", "comparison", "regret"):
        assert set(tables[module]) <= set(own)
    assert {look.colour for look in ALGORITHM_LOOKS.values()} <= set(COLOURS.values())


def test_what_stands_back_is_grey_and_can_be_read_in_the_dark():
    looks = looks_of(["DP-SE", "DP-UCB", "UCB"], shown=["DP-SE"])
    assert looks["DP-SE"] == ALGORITHM_LOOKS["DP-SE"]
    for name in ("DP-UCB", "UCB"):
        assert looks[name].colour == GREY
        assert looks[name].line == ALGORITHM_LOOKS[name].line
    assert float(GREY) <= 0.65
    assert looks_of(["DP-SE"])["DP-SE"] == ALGORITHM_LOOKS["DP-SE"]
    with pytest.raises(ValueError, match="algorithm='DPSE' is unknown"):
        looks_of(["DPSE"])
    with pytest.raises(ValueError, match="shown='UCB'"):
        looks_of(["DP-SE"], shown=["UCB"])


def test_small_multiples_share_axes_and_stack_where_it_is_narrow():
    titles = [f"panel {i}" for i in range(7)]
    for width, columns in ((7.0, 4), (3.5, 2), (2.0, 1)):
        with styled(), filling(width):
            figure, panels = small_multiples(titles)
        assert figure.get_size_inches()[0] == width
        assert columns_of(panels[0]) == columns
        assert len(panels) == len(figure.axes) == 7
        panels[0].plot([0, 5], [0, 9])
        assert panels[6].get_xlim() == panels[0].get_xlim()
        assert panels[6].get_ylim() == panels[0].get_ylim()
        told = [axes.xaxis.get_tick_params()["labelbottom"] for axes in panels]
        assert told == [place + columns >= 7 for place in range(7)]
        told = [axes.yaxis.get_tick_params()["labelleft"] for axes in panels]
        assert told == [place % columns == 0 for place in range(7)]
    with pytest.raises(ValueError, match="titles="):
        small_multiples([])
    with pytest.raises(ValueError, match="columns=0"):
        small_multiples(titles, 0)
