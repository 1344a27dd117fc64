"""What a chapter puts beside its page: facts, files of figures, and the same bytes again."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

import dpbandits as dpb
from companion.figures.curves import curves_from_table, curves_table
from companion.figures.regret import regret_over_time
from companion.publishing import Page, number, published, published_names
from companion.tables import curve, from_csv, records, tabulate, to_csv

ROOT = Path(__file__).resolve().parents[2]
COMPUTED = {"computed": ["a line"]}
LABELS = ("panel", "instance", "n_arms", "epsilon", "algorithm", "variant")


@pytest.fixture(scope="module")
def runs():
    arms = dpb.instances.ss19("C1")
    made = (dpb.DPSE(0.5), dpb.DPUCB(0.5))
    cases = {("a", "C1", 5, 0.5, each.label, ""): (each, arms) for each in made}
    return dpb.simulate_many(cases, 10**5, 3)


def publish(runs):
    table = tabulate(runs, lambda r: curve(r, epochs=True, bound=True), LABELS)
    figure = regret_over_time(table, titles={"a": "C1"}, theory=True)
    Page("03", "smoke", 0).publish("demo", table, figure, title="A demonstration", runs=runs)
    return table


def publish_curve(value):
    table = curves_table({"": {"line": ([1, 2], [3, value])}})
    figure = curves_from_table(table, x_label="x", y_label="y", log="", lowest=None, marks={})
    Page("01", "paper", 0).publish("own", table, figure, title=f"Up to {value}", ran=COMPUTED)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_published_figure_is_read_and_drawn_again(empty_book, runs):
    table = publish(runs)
    assert published_names() == ("demo",)
    again = published("demo")
    pd.testing.assert_frame_equal(again.table, table)
    about = again.manifest
    assert (about["chapter"], about["preset"], about["seed"]) == ("03", "smoke", 0)
    assert (about["cases"], about["runs"]) == (2, 6)
    line = again.draw(panels=["a"]).axes[0].get_lines()[0]
    first = next(records(table, LABELS))
    np.testing.assert_array_equal(line.get_ydata(), first.mean)
    with pytest.raises(ValueError, match="panel='z' is unknown"):
        again.draw(panels=["z"])
    with pytest.raises(ValueError, match="did you mean 'demo'"):
        published("dem")


def test_the_same_runs_give_the_same_bytes_and_touch_nothing(empty_book, runs):
    publish(runs)
    folder = empty_book / "book" / "figures"
    before, times = contents(folder), {p.name: p.stat().st_mtime_ns for p in folder.iterdir()}
    publish(runs)
    assert contents(folder) == before
    assert {p.name: p.stat().st_mtime_ns for p in folder.iterdir()} == times
    for path in folder.iterdir():
        path.unlink()
    publish(runs)
    assert contents(folder) == before
    about = {"name", "title", "source", "chapter", "preset", "seed", "versions", "cases", "runs"}
    assert set(json.loads(before["demo.json"])) == about | {"ran", "recipe"}
    assert set(before) == {"demo.csv", "demo.json"}


def test_other_versions_that_give_the_same_figure_change_nothing(empty_book, monkeypatch):
    publish_curve(4)
    before = contents(empty_book / "book" / "figures")
    monkeypatch.setattr("importlib.metadata.version", lambda package: "99")
    publish_curve(4)
    assert contents(empty_book / "book" / "figures") == before
    publish_curve(5)
    assert set(published("own").manifest["versions"].values()) == {"99"}


def test_what_a_chapter_draws_by_hand_is_not_published(empty_book):
    figure, axes = plt.subplots()
    axes.plot([1, 2], [3, 4])
    table = pd.DataFrame({"x": [1, 2], "y": [3, 4]})
    with pytest.raises(ValueError, match=r"figure=<Figure .* drawn by hand .* redrawable"):
        Page("01", "paper", 0).publish("own", table, figure, title="By hand", ran=COMPUTED)
    assert not published_names()


def test_a_manifest_says_what_was_run_or_computed(empty_book, runs):
    publish_curve(4)
    assert published("own").manifest["ran"] == COMPUTED
    table = curves_table({"": {"line": ([1, 2], [3, 4])}})
    figure = curves_from_table(table, x_label="x", y_label="y", log="", lowest=None, marks={})
    page, title = Page("01", "paper", 0), "A line"
    with pytest.raises(ValueError, match="'own' has neither of runs and ran"):
        page.publish("own", table, figure, title=title)
    with pytest.raises(ValueError, match="'own' has both of runs and ran"):
        page.publish("own", table, figure, title=title, runs=runs, ran=COMPUTED)
    with pytest.raises(ValueError, match="must say what was computed"):
        page.publish("own", table, figure, title=title, ran={"algorithms": [dpb.UCB()]})
    with pytest.raises(ValueError, match="kind of what ran='algorithm' is unknown"):
        page.publish("own", table, figure, title=title, ran={"algorithm": [dpb.UCB()]})


@pytest.mark.parametrize("name", published_names(ROOT))
def test_every_figure_of_the_book_says_what_it_was_made_of(name):
    about = published(name, ROOT).manifest
    ran = about["ran"]
    assert all(ran.values()) and set(ran) <= {"algorithms", "instances", "horizons", "computed"}
    assert ("runs" in about) != ("computed" in ran)
    if "runs" in about:
        assert about["runs"] >= about["cases"] >= 1
        assert {"algorithms", "instances"} <= set(ran)


@pytest.mark.parametrize("n_written", range(2))
def test_on_a_full_disk_every_file_is_whole(empty_book, monkeypatch, n_written):
    folder, versions = empty_book / "book" / "figures", []
    for value in (5, 4):
        publish_curve(value)
        versions.append(contents(folder))
    steps = iter([None] * n_written)

    def full(descriptor):
        if next(steps, "full") == "full":
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("dpbandits._files.os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        publish_curve(5)
    left, (new, old) = contents(folder), versions
    assert set(left) == set(old) and not set(new.items()) & set(old.items())
    assert all(left[name] in (new[name], old[name]) for name in left)
    assert sum(left[name] == new[name] for name in left) == n_written


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("03", "papr", 0), "preset='papr' .* did you mean 'paper'"),
        (("03", 3, 0), "preset=3"),
        (("03", "paper", -1), "seed=-1"),
        (("03", "paper", 0, 0), "n_jobs=0"),
    ],
)
def test_bad_parameters_are_named(arguments, named):
    with pytest.raises(ValueError, match=named):
        Page(*arguments)


def test_only_the_books_own_parameters_are_its_own(capsys):
    assert Page("03", "paper", 0, n_jobs=4).at_its_own
    for other in (Page("03", "paper", 1), Page("03", "quick", 0)):
        assert not other.at_its_own
        other.table(["| a |", "| --- |", "| 1 |"])
        assert "Markdown" in capsys.readouterr().out


def test_csv_keeps_every_number_of_a_table():
    words = ["", "ε/(K−1)", 'a "b", c']
    numbers = {"n": [1, 2, 2**60], "x": [np.nan, np.inf, 1.234567e-30]}
    table = pd.DataFrame({"variant": words, **numbers})
    pd.testing.assert_frame_equal(from_csv(to_csv(table)), table)


def test_a_table_is_rounded_to_seven_digits(runs):
    table = tabulate(runs, lambda r: r.final(), LABELS)
    assert table["mean"].tolist() == [float(f"{r.mean()[-1]:.7g}") for r in runs.values()]
    with pytest.raises(ValueError, match="must name each part of the key"):
        tabulate(runs, lambda r: r.final(), ("a", "b"))
    with pytest.raises(ValueError, match="results is empty"):
        tabulate({})


def test_numbers_of_sentences():
    values = 5e7, 10**6, 30, 12_345, 0.25, 0
    assert [*map(number, values)] == ["5·10⁷", "10⁶", "30", "12,345", "0.25", "0"]


def test_the_budget_in_a_key_is_that_of_the_algorithm(runs):
    """Not where the variant names a share of it, nor where a result has no algorithm of an ε."""
    names = ("epsilon", "variant")
    found = next(iter(runs.values()))  # of DPSE(0.5)
    own, shared = {(0.5, ""): found}, {(1.0, "ε/2"): found}
    for allowed in (own, shared):
        table = tabulate(allowed, lambda r: r.final(), names)
        assert table["epsilon"].tolist() == [next(iter(allowed))[0]]
    assert len(tabulate({(1.0, ""): {"mean": 1.0}}, dict, names)) == 1
    doubled = dpb.simulate(dpb.GuessAndDouble(dpb.DPSE(0.5)), found.instance, 100, 1)
    for result in (found, doubled):
        with pytest.raises(ValueError, match=r"case \(1.0, ''\) has another ε than DPSE.* 0.5$"):
            tabulate({(1.0, ""): result}, lambda r: r.final(), names)
