"""The table of planted slips: complete, and computed again where it is cheap."""

import pytest

from companion import planted_slips


def test_the_table_has_every_program():
    table, few = planted_slips.read(), min(planted_slips.RUNS)
    seeds = table.groupby(["name", "n_runs"])["seed"].agg(lambda each: sorted(each))
    for name in (*planted_slips.SLIPS, *planted_slips.HONEST):
        mine = table[(table["name"] == name) & (table["n_runs"] == few)]
        more = name in planted_slips.SLIPS and not mine["convicted"].all()
        for n_runs in planted_slips.RUNS if more else (few,):
            assert seeds[name, n_runs] == list(range(planted_slips.RUNS[n_runs])), name
    last = table.sort_values("n_runs").groupby("name").tail(1).set_index("name")["convicted"]
    assert set(planted_slips.WHY) == {n for n in planted_slips.SLIPS if not last[n]}
    assert len(planted_slips.SLIPS) >= 20 and len(planted_slips.HONEST) >= 10
    assert (table["honest"] == table["name"].isin(planted_slips.HONEST)).all()


@pytest.mark.parametrize(
    "name", ["rewards strictly inside the range", "fractions rounded at random"]
)
def test_rows_come_out_as_they_are_recorded(name):
    table = planted_slips.read()
    n_runs = int(table["n_runs"].min())
    (row,) = table[
        (table["name"] == name) & (table["n_runs"] == n_runs) & (table["seed"] == 0)
    ].to_dict("records")
    found = planted_slips.measure(name, n_runs, 0)
    assert found["convicted"] == row["convicted"] == (name in planted_slips.SLIPS)
    assert found["epsilon_lower"] == pytest.approx(row["epsilon_lower"], rel=1e-3)
