"""The table of planted slips: every program, with some seeds; computed again where it is cheap."""

import pandas as pd
import pytest

from companion import planted_slips
from companion.planted_slips import FEW, HONEST, MANY, MORE, SEEDS, SLIPS


def test_the_table_has_every_program_with_seeds_from_the_first_on():
    table = planted_slips.read()
    assert not table.duplicated(["name", "n_runs", "seed"]).any()
    seeds = table.groupby(["name", "n_runs"])["seed"].agg(lambda each: sorted(each))
    for (name, _), each in seeds.items():
        more = [k for k in each if k >= SEEDS] if name in MORE else []
        first = each[: len(each) - len(more)]
        assert first == list(range(len(first))) and more == list(range(SEEDS, SEEDS + len(more)))
    few = seeds.xs(FEW, level="n_runs")
    assert set(few.index) == {*SLIPS, *HONEST} and few.map(len).min() >= 3
    assert (table["honest"] == table["name"].isin(HONEST)).all()
    assert len(SLIPS) >= 20 and len(HONEST) >= 10 and set(MORE) <= set(HONEST)


def test_what_is_never_convicted_has_its_reason():
    table = planted_slips.read()
    last = table.sort_values("n_runs").groupby("name").tail(1)
    most = table.merge(last[["name", "n_runs"]]).groupby("name")["convicted"].any()
    assert set(planted_slips.WHY) == {name for name in SLIPS if not most[name]}
    assert not table[table["honest"]]["convicted"].any()


def test_the_published_table_is_complete():
    """The page says "every seed"; a row less is missed."""
    table = planted_slips.read()
    assert planted_slips.missing(table) == [] != planted_slips.missing(table.iloc[1:])


def test_what_is_missing_is_named_once_and_nothing_that_is_there():
    table = planted_slips.read()
    todo = planted_slips.missing(table)
    rows = {*zip(table["name"], table["n_runs"], table["seed"], strict=True)}
    assert len(todo) == len(set(todo)) and not rows & set(todo)
    first = planted_slips.missing(table.iloc[:0])
    assert len(first) == SEEDS * (len(SLIPS) + len(HONEST)) + sum(n - SEEDS for n in MORE.values())
    name = next(iter(SLIPS))
    row = {"name": name, "n_runs": FEW, "seed": 0, "convicted": False}
    more = planted_slips.missing(pd.DataFrame([row]))
    assert (name, FEW, 0) not in more and (name, MANY, SEEDS - 1) in more
    assert len(more) == len(first) - 1 + SEEDS


@pytest.mark.parametrize(
    "name", ["rewards strictly inside the range", "fractions rounded at random"]
)
def test_rows_come_out_as_they_are_recorded(name):
    found, table = planted_slips.measure(name, FEW, 0), planted_slips.read()
    mine = table[(table["name"] == name) & (table["n_runs"] == FEW) & (table["seed"] == 0)]
    (row,) = mine.to_dict("records")
    assert found == row and found["convicted"] == (name in SLIPS)
