"""What is published is the same on another processor, whose numbers have other last digits."""

import json
import math
from pathlib import Path

import figure_tables
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from companion import tables
from companion.figures import comparison, stopping
from companion.publishing import published_names
from companion.rounding import (
    AGREED,
    SPREADS,
    magnitude,
    rounded,
    rounded_data,
    rounded_table,
)
from companion.tables import from_csv, tabulate, to_csv

ROOT = Path(__file__).resolve().parents[2]
FIGURES = ROOT / "book/figures"
LEAST, MOST = 1e-15, 1e-14
"""How far, in relation to themselves, numbers of two processors are apart."""

DATA = [*sorted(FIGURES.glob("*.json")), *sorted(ROOT.glob("book/data/claims-*.json"))]
FINITE = st.floats(allow_nan=False, allow_infinity=False)


def moved(values, rng):
    """Values as another processor has them."""
    size = np.shape(values)
    return values * (1 + rng.uniform(LEAST, MOST, size) * rng.choice([-1, 1], size))


def elsewhere(table, rng):
    """A table as another processor makes it: spreads that are 0 may be noise there."""
    table = table.copy()
    floats = table.columns[table.dtypes == np.float64]
    for name in floats:
        table[name] = moved(table[name].to_numpy(), rng)
    for spread, mean in SPREADS.items():
        if spread in floats and mean in table:
            table[spread] += rng.uniform(0, LEAST, len(table)) * table[mean].abs().fillna(0)
    return table


def flips(values, rule=rounded):
    """Count the values that the rule may round to another number on another processor.

    Rounding keeps the order, so that the two ends say what all values between them do.
    """
    ends = [[rule(x * (1 + sign * MOST)) for x in values] for sign in (-1, 1)]
    return sum(low != high for low, high in zip(*ends, strict=True))


# ------------------------------------------------------------------------------------- today's


@pytest.mark.parametrize("name", published_names(ROOT))
def test_a_published_table_is_the_same_elsewhere(name):
    text = (FIGURES / f"{name}.csv").read_text("utf-8")
    table = from_csv(text)
    assert to_csv(table) == text, "the rule applied twice is the rule applied once"
    numbers = table.select_dtypes(np.float64).to_numpy().ravel()
    numbers = numbers[np.isfinite(numbers)]
    assert flips(numbers) == 0
    other = elsewhere(table, np.random.default_rng(0))
    assert to_csv(other) == text
    moves = bool(numbers.any())
    assert (other.to_csv(index=False) != table.to_csv(index=False)) == moves, "without the rule"


def leaves(data, but="-"):
    """The numbers of JSON data that are no integers, but for those whose names begin so."""
    if isinstance(data, dict):
        data = [value for name, value in data.items() if not name.startswith(but)]
    if isinstance(data, list):
        for value in data:
            yield from leaves(value, but)
    elif isinstance(data, float):
        yield data


def test_published_data_are_the_same_elsewhere():
    rng = np.random.default_rng(0)
    contents = [json.loads(path.read_text("utf-8")) for path in DATA]
    assert rounded_data(contents) == contents
    numbers = list(leaves(contents))
    assert len(numbers) > 300 and flips(numbers) == 0
    others = json.loads(json.dumps(contents), parse_float=lambda text: moved(float(text), rng))
    assert others != contents
    assert rounded_data(others) == contents


def test_no_noise_is_published():
    """Evidence that is so small would differ between processors, unless it is a target itself."""
    numbers = [
        number
        for path in DATA
        if path.parent.name == "data"
        for number in leaves(json.loads(path.read_text("utf-8")), but="targets refuted")
    ]
    assert all(x == 0 or abs(x) >= 10.0**-AGREED for x in numbers)


# -------------------------------------------------------------------------------------- unrounded


UNROUNDED = {
    "curves": figure_tables.over_time,
    "finals": figure_tables.over_arms,
    "heavy tails": figure_tables.local_curves,
    "shares": figure_tables.schedule_outcomes,
    "errors": figure_tables.errors_by_rewards,
    "samples": lambda: stopping.measured(figure_tables.stopped("failures")),
    "map of regret": lambda: comparison.regret_map_table(figure_tables.map_runs()),
    "map of times": lambda: comparison.identification_map_table(figure_tables.map_times()),
}


@pytest.mark.parametrize("name", UNROUNDED)
def test_a_table_that_was_not_rounded_is_published_the_same_elsewhere(name, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(tables, "rounded_table", lambda table: table)
        raw = UNROUNDED[name]()
    text = to_csv(raw)
    rng = np.random.default_rng(0)
    for _ in range(5):
        other = elsewhere(raw, rng)
        assert other.to_csv(index=False) != raw.to_csv(index=False), "without the rule"
        assert to_csv(other) == text
    shown = rounded_table(raw)
    for column in raw.columns[raw.dtypes == np.float64]:
        kept = raw[column][np.isfinite(raw[column]) & (shown[column] != 0)]
        assert flips(kept) == 0, column


def test_means_that_lie_between_two_numbers_need_the_first_rounding():
    """Half of the means of 20 numbers with two decimals end in a five too many."""
    means = [(123_456_780 + n) / 20_000 for n in range(0, 2000, 10)]
    assert flips(means) == 0
    assert flips(means, lambda x: float(f"{x:.7g}")) == 100


# ------------------------------------------------------------------------------------------ rule


@given(FINITE)
def test_rounding_twice_is_rounding_once(x):
    once = rounded(x)
    assert rounded(once) == once == rounded(x, 7)
    assert math.copysign(1, rounded(0 * x)) == 1
    assert rounded(-x) == -once
    assert abs(once - x) <= 5.001e-7 * abs(x) or abs(x) < 1e-300


@given(FINITE, FINITE)
def test_rounding_keeps_the_order(x, y):
    assert (rounded(x) <= rounded(y)) or x > y


def test_what_is_no_number_stays():
    assert math.isnan(rounded(math.nan)) and rounded(math.inf) == math.inf
    data = {"n": 10**12 + 1, "yes": True, "text": "0.1234567890123", "none": None, "x": [1 / 3]}
    assert rounded_data(data) == data | {"x": [0.3333333]}
    table = pd.DataFrame({"n": [2**60 + 1, 3], "word": ["a", ""], "x": [np.nan, -np.inf]})
    pd.testing.assert_frame_equal(rounded_table(table), table)


def test_a_spread_that_is_noise_is_zero_and_nothing_else_is():
    """A column as a whole has no least number: what is exact stays, however small beside others."""
    lengths = [36_623.0, 6e17]
    spreads = {"error": [3e-15, 3e-15], "deviation": [1e-9, 1e-9]}
    table = rounded_table(pd.DataFrame({"mean": [100.0, 1e-15], "length": lengths, **spreads}))
    assert table["length"].tolist() == lengths
    assert table["error"].tolist() == [0, 3e-15]
    assert table["deviation"].tolist() == [1e-9, 1e-9]


def test_runs_that_all_did_the_same_have_no_spread():
    """As for elimination in its first epoch: their mean and their spread are sums of roundings."""
    regret = np.full(20, 0.1 * 7603)
    raw = float(regret.std(ddof=1))
    assert 0 < raw < 1e-9
    made = tabulate({"a": 0}, lambda _: {"mean": regret.mean(), "deviation": raw}, ("panel",))
    assert made["deviation"].tolist() == [0.0]


@pytest.mark.parametrize("error", [0.0, 1.8e-15, 9.8e-14, 9.9e-14, 1e-12])
def test_an_error_that_is_noise_is_said_to_be_at_most_that(error):
    assert magnitude(error) == 1e-12


@given(st.floats(1e-11, 1e3))
def test_a_magnitude_is_the_power_of_ten_above(error):
    found = magnitude(error)
    assert math.log10(found) == pytest.approx(round(math.log10(found)), abs=1e-9)
    assert found / 10 < rounded(error) <= found


@pytest.mark.parametrize("error", [-1e-9, math.nan, math.inf, "small"])
def test_a_magnitude_that_is_none_is_refused(error):
    with pytest.raises(ValueError, match="error="):
        magnitude(error)


def test_evidence_is_rounded_first_to_what_processors_agree_on():
    from companion.claims.findings import finding, shown

    assert [shown(0.125 * (1 + sign * 1e-15), 2) for sign in (-1, 1)] == [0.12, 0.12]
    assert [round(0.125 * (1 + sign * 1e-15), 2) for sign in (-1, 1)] == [0.12, 0.13]
    found = finding("holds", "Computed.", ("third", 1 / 3), {"count": 10**9, "pair": 1e-3 / 3})
    assert found.evidence == {"third": 0.3333333, "count": 10**9, "pair": 0.0003333333}
    assert rounded(1 / 3, AGREED) == 0.333333333333
