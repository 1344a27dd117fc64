"""Figures of private counters: the sawtooth, two looks, what keeps its promise, lost runs."""

import functools
import json

import numpy as np
import pandas as pd
import pytest

from companion.figures import counters
from companion.figures.redraw import recipe_of, redraw
from companion.tables import from_csv, to_csv
from dpbandits import plotting
from dpbandits.mechanisms import BinaryTree, HybridCounter, KaryTree

NAMES = ("UCB", "DP-SE", "tuned DP-SE", "DP-SE, two p-values", "LDP-UCB", "DP-UCB-HYBRID")
PANELS = {"a": "first", "b": "second"}


def kept():
    """A table of `honest_figure`, each mean its own."""
    rows = [(p, name, "") for p in PANELS for name in NAMES]
    rows += [(p, "DP-UCB-INT", delta) for p in PANELS for delta in ("1", "0")]
    table = pd.DataFrame(rows, columns=["panel", "algorithm", "delta"])
    mean = 100.0 * 1.3 ** np.arange(len(rows))
    return table.assign(mean=mean, low=0.9 * mean, high=1.1 * mean)


MADE = {
    "sawtooth": (
        counters.sawtooth_figure,
        lambda: counters.sawtooth_table(HybridCounter(1.0), 16, 0.05, 8),
        {"titles": PANELS, "patient": 7},
        "counter",
    ),
    "two looks": (
        counters.looks_figure,
        lambda: counters.looks_table(1.0, 0.7, 21),
        {"epsilon": 1.0, "threshold": 0.7},
        "one",
    ),
    "kept promises": (
        counters.honest_figure,
        kept,
        {"titles": PANELS, "horizon": 1000, "deltas": ["1", "0"]},
        "mean",
    ),
    "lost runs": (
        counters.lost_figure,
        lambda: counters.lost_table([10.0, 12.0, 15.0, 900.0], {"mean": 234.2}, 6),
        {"x_label": "regret"},
        "count",
    ),
}


@pytest.mark.parametrize("name", MADE)
def test_the_published_file_gives_the_same_picture(name, tmp_path):
    draw, make, options, column = MADE[name]
    table = from_csv(to_csv(make()))  # with the digits that are published
    first = draw(table, **options)
    again = redraw(from_csv(to_csv(table)), json.loads(json.dumps(recipe_of(first))))
    other = draw(table.assign(**{column: 1.3 * table[column]}), **options)
    files = [
        plotting.save_vector(figure, tmp_path / f"{i}.svg").read_text("utf-8")
        for i, figure in enumerate((first, again, other))
    ]
    assert files[0] == files[1]
    assert files[0] != files[2], "control: other numbers"


def test_patient_7_is_in_two_noisy_numbers():
    table = counters.sawtooth_table(HybridCounter(1.0), 8, 0.05, 16)
    parts = table[(table.part != "error") & (table["first"] <= 7) & (table["last"] >= 7)]
    found = sorted(parts[["part", "first", "last"]].itertuples(index=False, name=None))
    assert found == [("block", 5, 8), ("node", 7, 7)]
    blocks = table[table.part == "block"][["first", "last"]].to_numpy().tolist()
    assert blocks == [[1, 1], [2, 2], [3, 4], [5, 8], [9, 16]]
    nodes = table[(table.part == "node") & (table["first"] > 8)]
    assert len(nodes) == 7 + 3 + 1, "the last element of a block is in no node"


def test_a_row_for_each_panel_and_a_mark_for_each_case():
    figure = counters.honest_figure(kept(), **MADE["kept promises"][2])
    marks = [line for line in figure.axes[0].get_lines() if line.get_linestyle() == "None"]
    seen = sorted(float(line.get_xdata()[0]) for line in marks)
    assert np.allclose(seen, sorted(kept()["mean"]))
    labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert labels == ["(a)  first", "(b)  second"]
    with pytest.raises(ValueError, match="panel='z' is unknown"):
        counters.honest_figure(kept(), **MADE["kept promises"][2], panels=["z"])


@functools.cache
def histogram():
    return counters.lost_table(np.geomspace(1, 1000, 50), {"mean": 100.0}, 10)


def test_no_run_is_left_out_of_the_histogram():
    bins = histogram()[histogram().part == "bin"]
    assert bins["count"].sum() == 50 and len(bins) == 10
    assert np.allclose(bins.high.iloc[:-1], bins.low.iloc[1:])


@pytest.mark.parametrize("horizon", [1, 2, 3, 4, 13, 64, 100])
def test_errors_over_all_lengths_are_those_of_each(horizon):
    """Against the variances at every n, added up one by one."""
    found = counters.lengths_table([horizon], 0.5).set_index("counter")
    lengths = range(1, horizon + 1)
    assert found.arity["best k"] == counters.best_arity(horizon)

    def variances(counter):
        terms = [counter.noise_terms(n) for n in lengths]
        return [sum(2 * k * b**2 for k, b in zip(*each, strict=True)) for each in terms]

    each = {
        "outcomes": [8.0 * n for n in lengths],
        "hybrid": variances(HybridCounter(0.5)),
        "tree": [2 * BinaryTree(0.5, horizon).node_scale ** 2 * n.bit_count() for n in lengths],
        **{
            name: variances(KaryTree(0.5, horizon, found.arity[name]))
            for name in ("k = 3", "k = 5", "best k")
        },
    }
    assert list(found.index) == list(each)
    for name, values in each.items():
        assert found["mean"][name] == pytest.approx(np.mean(values) ** 0.5, rel=1e-12)
        assert found.greatest[name] == pytest.approx(max(values) ** 0.5, rel=1e-12)
