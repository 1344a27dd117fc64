"""What the explorer shows is what the package computes and the published figures hold."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpbandits as dpb
from companion import explorer
from companion.explorer import CURVE, line_name
from companion.figures.comparison import identification_map_table, race_table, regret_map_table
from companion.figures.trial import cost_table
from companion.publishing import Published, published, published_names
from companion.tables import curve, from_csv, records, tabulate, to_csv
from dpbandits import bounds
from dpbandits.identification import characteristic_time

ROOT = Path(__file__).resolve().parents[2]
SOURCES = (*explorer.REGRET_SOURCES, *explorer.IDENTIFICATION_SOURCES)
RUNS = 2


def figures_of_small_runs():
    """Return a figure for each source: of two runs, or without rows."""
    ss19, td16 = dpb.instances.ss19, dpb.instances.td16
    gap = dpb.instances.equal_gaps(2, 0.02)
    regret = {
        "h-curves-near": [(ss19("C1", 5), "C1", 0.1, dpb.DPSE(0.1))],
        "h-curves-td16": [
            (td16("two"), "two arms", math.inf, dpb.UCB()),
            (td16("two"), "two arms", 1.0, dpb.DPIMED(1.0)),
        ],
        "ss19-fig5": [
            (ss19("C1", 3), "C1", 0.25, dpb.DPSE(0.25)),
            (ss19("C1", 5), "C1", 0.1, dpb.DPSE(0.1)),
        ],
        "h-map-all": [(gap, "gap 0.02", 0.03, dpb.DPSE(0.03))],
    }
    tables = {}
    for name, cases in regret.items():
        some = {
            ("a", label, instance.n_arms, epsilon, algorithm.label, ""): (algorithm, instance)
            for instance, label, epsilon, algorithm in cases
        }
        runs = dpb.simulate_many(some, 1_000, RUNS)
        if name.startswith("h-"):
            tables[name] = (regret_map_table if name == "h-map-all" else race_table)(runs)
        else:
            tables[name] = tabulate(runs, lambda r: curve(r, epochs=True), CURVE)
    rule, arms = dpb.DPLRE(0.3, 0.1), dpb.instances.ladder(10, 0.37)
    key = "a", "gap 0.37", 10, 0.3, 0.1, rule.label, ""
    found = identification_map_table(dpb.identify_many({key: (rule, arms)}, RUNS))
    bound = {"instance": "", "algorithm": "lower bound", "epsilon": 0.777, "n_runs": 0}
    tables["h-bai-all"] = pd.concat([found, pd.DataFrame([found.iloc[0].to_dict() | bound])])
    figures = {}
    for name in SOURCES:
        alike = tables["h-bai-all" if name in explorer.IDENTIFICATION_SOURCES else "ss19-fig5"]
        text = to_csv(tables.get(name, alike.iloc[:0]))
        figures[name] = Published(name, {"runs": 20 * RUNS, "cases": 20}, from_csv(text))
    return figures


@pytest.fixture(scope="module")
def sources():
    return figures_of_small_runs()


@pytest.fixture(scope="module")
def content(sources):
    return explorer.assemble(sources.__getitem__, per_decade=1)


def entries(content):
    for instance in content["instances"]:
        for entry in instance["arms"]:
            yield instance["id"], entry


def shown_as(name, n_arms, kind):
    """Return the instances of the explorer that a table's name for an instance means."""
    return [i for i in explorer.INSTANCES if n_arms in getattr(i, kind).get(name, ())]


@pytest.mark.parametrize("name", SOURCES)
def test_each_published_case_is_shown_once(name):
    """By one instance, and in a table that has all that the explorer reads."""
    if name not in published_names(ROOT):
        pytest.skip(f"{name} is not published here")
    table = published(name, ROOT).table
    table = table[table["instance"] != ""]
    regret = name in explorer.REGRET_SOURCES
    columns = {"time", "mean", "low", "high"} if regret else {"mean_time", "error_rate", "delta"}
    assert columns | {"instance", "n_arms", "epsilon", "algorithm", "variant"} <= set(table)
    for instance, n_arms in set(zip(table["instance"], table["n_arms"], strict=True)):
        assert len(shown_as(instance, n_arms, "regret" if regret else "found")) == 1, instance


def test_every_case_is_there_with_the_numbers_of_its_table(sources, content):
    known = {(name, e["k"]): e for name, e in entries(content)}
    shown = 0
    for name in explorer.REGRET_SOURCES:
        table = sources[name].table
        table = table[table["epoch"] == 0] if "epoch" in table else table
        for c in records(table, CURVE):
            entry = known[shown_as(c.instance, c.n_arms, "regret")[0].id, c.n_arms]
            called = line_name(c.algorithm, c.variant)
            epsilon = c.epsilon if math.isfinite(c.epsilon) else None
            (group,) = (g for g in entry["regret"] if g["horizon"] == c.time[-1])
            (line,) = (x for x in group["lines"] if (x["name"], x["epsilon"]) == (called, epsilon))
            if name in group["sources"]:
                assert group["grids"][line["grid"]] == c.time.tolist()
                assert line["runs"] == RUNS
                for key in ("mean", "low", "high"):
                    assert np.allclose(getattr(c, key), line[key], rtol=6e-4)
            assert called in content["looks"]
            shown += 1
    assert shown == 6
    entry = known["ladder-0.37", 10]
    (group,) = entry["found"]
    (line,) = group["lines"]
    row = sources["h-bai-all"].table.iloc[0]
    assert (group["delta"], line["name"], line["epsilon"]) == (0.1, "DP-LRE", [0.3])
    assert line["mean"] == [pytest.approx(row["mean_time"], rel=6e-4)]
    assert line["runs"] == [RUNS]


def test_the_first_of_two_figures_of_a_case_is_shown(content):
    """C1 with five arms at ε = 0.1 is in two of them."""
    entry = {(name, e["k"]): e for name, e in entries(content)}["C1", 5]
    (group,) = (g for g in entry["regret"] if g["horizon"] == 1_000)
    assert group["sources"] == ["h-curves-near"] and len(group["lines"]) == 1


def test_every_simulated_budget_can_be_chosen_and_no_other_is_added(content):
    assert {0.1, 0.25, 0.03, 0.3, 1.0} <= set(content["epsilons"])
    assert 0.777 not in content["epsilons"], "that of a bound"
    assert content["epsilons"] == sorted(content["epsilons"])


def test_times_and_rates_are_those_of_the_package(content):
    epsilons = content["epsilons"]
    for name, entry in entries(content):
        means = np.repeat(entry["values"], entry["counts"])
        assert means.size == entry["k"]
        at = range(0, len(epsilons), 12)
        for i in at:
            time = characteristic_time(means, epsilons[i])
            assert entry["time"][i] == pytest.approx(time.value, rel=6e-5)
            shares = [weights[i] for weights in entry["weights"]]
            assert np.allclose(np.repeat(shares, entry["counts"]), time.weights, atol=6e-6)
        assert np.dot(entry["free_weights"], entry["counts"]) == pytest.approx(1, abs=1e-3)
        if name == "even":  # an arm that never fails: the rates are no bounds
            assert entry["private"] is entry["lai_robbins"] is None
            continue
        for i in at:
            rate = bounds.private_regret_rate(means, epsilons[i])
            assert entry["private"][i] == pytest.approx(rate, rel=6e-5)
        assert entry["lai_robbins"] == pytest.approx(bounds.lai_robbins_rate(means), rel=6e-5)
        assert entry["private"][-1] == entry["lai_robbins"]


def test_privacy_costs_time_and_the_limits_are_right(content):
    """No less than without privacy and than T*_TV/ε, as d_ε ≤ min(kl, ε·TV); near either."""
    epsilons = np.array(content["epsilons"])
    for name, entry in entries(content):
        times = np.array(entry["time"])
        assert all(np.diff(times) <= 0), name
        assert all(times >= np.maximum(entry["free"], entry["tv"] / epsilons) * (1 - 1e-4)), name
        assert times[0] * epsilons[0] == pytest.approx(entry["tv"], rel=0.15), name
        if name != "even":
            assert times[-1] == entry["free"], name


def test_an_algorithm_without_its_noise_is_a_line_of_its_own():
    arms = dpb.rewards.populations.isis2().only([0, 3], "ISIS-2, both or neither").superpopulation()
    cases = {e: (dpb.DPLRE(e, 0.05), arms) for e in (1.0, math.inf)}
    figure = Published("ours-trial-price", {}, cost_table(dpb.identify_many(cases, RUNS)))
    (group,) = explorer._times({"ours-trial-price": figure}, {arms.name}, 2)
    lines = {line["name"]: line["epsilon"] for line in group["lines"]}
    assert lines == {"DP-LRE": [1.0], "DP-LRE, no privacy": [None]}
    assert explorer.looks_of(lines)["DP-LRE, no privacy"]["colour"] == "black"


def test_what_is_written_is_json_and_small():
    assert explorer.INSTANCES[1].means[3] == (0.75, 0.7, 0.7)
    assert len({i.id for i in explorer.INSTANCES}) == len(explorer.INSTANCES)
    text = explorer.to_text({"a": [1, 0.25], "b": None})
    assert text == '{"a":[1,0.25],"b":null}'
    with pytest.raises(ValueError, match="JSON"):
        explorer.to_text({"a": math.nan})


def test_each_instance_has_a_script_and_the_first_has_none_of_it(content):
    scripts = explorer.to_scripts(content)
    assert list(scripts) == [
        "explorer-data.js",
        *(f"explorer-data-{one.id}.js" for one in explorer.INSTANCES),
    ]
    first = json.loads(scripts["explorer-data.js"].partition("=")[2].rstrip(";\n"))
    assert first["arms"] == {}
    for known, whole in zip(first["instances"], content["instances"], strict=True):
        assert known == {name: whole[name] for name in ("id", "title", "unit")}
        text = scripts[f"explorer-data-{known['id']}.js"]
        assert json.loads(text.partition("=")[2].rstrip(";\n")) == whole["arms"]


def test_the_script_has_a_place_for_all_that_it_fills():
    """Each id that explorer.js asks for is written by the extension, and the other way round."""
    script = (ROOT / "book/_static/explorer.js").read_text("utf-8")
    source = (ROOT / "book/_ext/explorer_data.py").read_text("utf-8")
    page = (ROOT / "book/explorer.md").read_text("utf-8")
    parts = re.findall(r"\{explorer-figure\} (\w+)", page)
    assert sorted(parts) == sorted(re.findall(r'^    "(\w+)": "', source, re.MULTILINE))
    written = set(re.findall(r'id="(x-[\w-]+)"', source))
    written |= {f"x-{part}-{what}" for part in parts for what in ("plot", "table")}
    asked = set(re.findall(r'"(x-[\w-]+)"', script))
    assert asked <= written
    fields = {name for name in written if f'for="{name}"' in source}
    assert fields <= asked
    looks = json.loads(json.dumps(explorer.looks_of(["DP-SE", "no such algorithm"])))
    style = (ROOT / "book/_static/explorer.css").read_text("utf-8")
    assert all(f".ink-{look['colour']} " in style for look in looks.values())


def test_the_data_is_kept_until_what_it_is_made_of_changes(extension, tmp_path, monkeypatch):
    data, made = extension("explorer_data"), []
    (tmp_path / "book/figures").mkdir(parents=True)
    figure = tmp_path / "book/figures/one.csv"
    figure.write_text("mean\n0.5\n")
    monkeypatch.setattr(data.explorer, "assemble", lambda load: made.append(load) or len(made))
    monkeypatch.setattr(data.explorer, "to_scripts", lambda content: {"a.js": f"{content}"})
    assert data.scripts_of(tmp_path) == data.scripts_of(tmp_path) == {"a.js": "1"}
    figure.write_text("mean\n0.6\n")
    assert data.scripts_of(tmp_path) == data.scripts_of(tmp_path) == {"a.js": "2"}
    monkeypatch.setattr(data, "version", lambda package: "0")
    assert data.scripts_of(tmp_path) == {"a.js": "3"}
