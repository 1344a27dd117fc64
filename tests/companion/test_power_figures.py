"""What an audit is expected to find in the opening of chapter 6, and its picture."""

import json
import math

import numpy as np
import pytest

import dpbandits as dpb
from companion import audit_power
from companion.figures import power
from companion.figures.redraw import recipe_of, redraw
from companion.tables import from_csv, to_csv
from dpbandits.auditing import expected_bound


@pytest.mark.parametrize("lead", [-2.0, 0.0, 1.0, 3.0])
def test_the_law_of_the_opening(lead):
    """By quadrature over one of the two noises."""
    u = (np.arange(200_000) + 0.5) / 200_000
    z = np.where(u < 0.5, np.log(2 * u), -np.log(2 * (1 - u)))
    above = z - lead
    chance = np.where(above < 0, 0.5 * np.exp(above), 1 - 0.5 * np.exp(-above)).mean()
    assert math.isclose(power.chance_of_a(1.0, lead), chance, rel_tol=1e-4)


def test_moved_tapes_have_no_bias_and_no_weights_have_one():
    """The mean of the weights on the event is the likely probability; the event's alone is not."""
    u = (np.arange(power._TAPES) + 0.5) / power._TAPES
    z = np.where(u < 0.5, np.log(2 * u), -np.log(2 * (1 - u)))
    for lead in (1.0, 4.0):
        event = np.array([power.laplace_cdf(x, 1.0) for x in z - lead])
        likely = (np.exp(np.abs(z) - np.abs(z - 1.0)) * event).mean()
        assert math.isclose(likely, power.chance_of_a(1.0, lead - 1), rel_tol=0.01)
        assert not math.isclose(event.mean(), power.chance_of_a(1.0, lead - 1), rel_tol=0.3)


def test_bounds_stay_below_the_truth_and_rise_with_runs():
    table = power.expected_table((1000, 10_000), [1.0, 2.0, 3.0], 1e-9)
    few, more, truth = (rows["bound"].to_numpy() for _, rows in table.groupby("curve", sort=False))
    assert (few < more).all() and (more < truth).all()
    found = power.crossings(power.expected_table((1000,), np.linspace(1, 3, 21), 1e-9))
    at = found["1\N{NARROW NO-BREAK SPACE}000 test runs"]
    assert math.isclose(expected_bound(0.5, power.chance_of_a(at), 1000, 1e-9), 1.0, abs_tol=0.01)
    assert power.replayed_bound(1.0, 10_000, 1e-9, 4) < power.loss_of(1.0, 4)
    counted, replayed = (power.runs_for(0.9, 1.0, 4, 1e-9, replayed=x) for x in (False, True))
    assert replayed < counted / 3


def test_the_figure_is_drawn_again_from_its_table():
    table = power.expected_table((1000,), [1.0, 2.0, 3.0], 1e-9)
    figure = power.expected_figure(table, titles={"a": ""})
    again = redraw(from_csv(to_csv(table)), json.loads(json.dumps(recipe_of(figure))))
    lines = [[line.get_xydata().tolist() for line in f.axes[0].lines] for f in (figure, again)]
    assert np.allclose(np.concatenate(lines[0]), np.concatenate(lines[1]), rtol=1e-3)


@pytest.mark.parametrize("c", [0.5, 1.0])
def test_one_coin_alone_is_guessed_from_its_noisy_value(c):
    """The threshold is ½. Control: several coins hide each other."""
    assert math.isclose(power.guess_of(1, c), 1 - math.exp(-c / 2) / 2, rel_tol=1e-5)
    guesses = [power.guess_of(m, c) for m in (1, 2, 4, 16)]
    assert guesses == sorted(guesses, reverse=True) and guesses[-1] > 0.5
    assert max(guesses) < 1 / (1 + math.exp(-c))


def test_coins_are_drawn_again_from_their_table():
    paths = {(c, k): np.log(np.linspace(1, c**9, 500) + k) for c in (1.0, 2.0) for k in range(2)}
    table = power.wealth_table(paths)
    assert table["runs"].max() == 500 and len(table) == 4 * 201
    assert table[table["runs"] == 0]["wealth"].eq(1.0).all()
    last = table[table["runs"] == 500].set_index(["c", "seed"])["wealth"]
    assert all(math.isclose(last[key], math.exp(path[-1])) for key, path in paths.items())
    figure = power.wealth_figure(table, titles={"a": ""}, failure=1e-2)
    again = redraw(from_csv(to_csv(table)), json.loads(json.dumps(recipe_of(figure))))
    lines = [[line.get_xydata().tolist() for line in f.axes[0].lines] for f in (figure, again)]
    assert len(lines[0]) == 5 and np.allclose(*map(np.concatenate, lines), rtol=1e-3)


def test_the_recorded_power_is_of_what_exists_and_can_be_computed_again():
    """Every row names a class; integrated rows come out as they are recorded."""
    recorded = audit_power.read()
    assert set(recorded["name"]) <= set(audit_power.rows())
    assert not recorded.duplicated(["name", "declared"]).any()
    convicted = recorded["epsilon_lower"] > recorded["declared"]
    assert (convicted == np.isfinite(recorded["least"])).all()
    for name, declared in (("LDPRSE", 1.0), ("DPSE", 0.25), ("DPRUCB", 1.0)):
        (row,) = recorded[(recorded["name"] == name) & (recorded["declared"] == declared)].iloc
        again = audit_power.measure(name, declared, n_runs=0)
        assert again["kind"] == row["kind"] == "formula" and again["least"] == row["least"]
        assert again["epsilon_lower"] == pytest.approx(row["epsilon_lower"], rel=1e-5)
    with pytest.raises(ValueError, match="has no known law; allowed: n_runs of 16 or more"):
        audit_power.measure("DPUCB", n_runs=0)


def test_the_recorded_power_says_what_was_tried_and_why_it_is_no_less():
    recorded = audit_power.read()
    for row in recorded.itertuples():
        tried = [float(c) for c in row.tried.split()]
        assert tried == sorted(tried) and row.factor == (
            row.least if row.least < np.inf else tried[-1]
        )
    weak = recorded["least"].gt(1.1) & recorded["declared"].eq(1.0)
    assert set(recorded["name"][weak]) <= set(audit_power.WHY) <= set(audit_power.rows())


def test_no_class_is_convicted_at_its_own_budget(monkeypatch):
    recorded = audit_power.read(audit_power.RATES)
    own = recorded[recorded["factor"] == 1.0]
    assert len(own) >= 5 and (own["convicted"] == 0).all() and (own["highest"] <= 1.0).all()
    assert (recorded["seeds"] >= 20).all() and set(recorded["factor"]) == set(audit_power.TIMES)
    again = audit_power.rates("DPRUCB", 16, seeds=3)
    assert (again["convicted"], again["seeds"], again["kind"]) == (0, 3, "formula")
    boastful = property(lambda self: dpb.PrivacyGuarantee("central", 0.1))
    monkeypatch.setattr(dpb.DPRUCB, "guarantee", boastful)
    assert audit_power.rates("DPRUCB", 16, seeds=3)["convicted"] == 3
