"""What the explorer shows is what the package computes and the data holds."""

import json
import math
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from dpbandits import bounds, experiments, explorer
from dpbandits._explorer_lines import line_name
from dpbandits.identification import characteristic_time

ROOT = Path(__file__).resolve().parents[1]
SOURCES = (*explorer.REGRET_SOURCES, *explorer.IDENTIFICATION_SOURCES)
source = cache(experiments.read)


@pytest.fixture(scope="module")
def content():
    return explorer.assemble(source, per_decade=1)


def entries(content):
    for instance in content["instances"]:
        for entry in instance["arms"]:
            yield instance["id"], entry


def decreasing(means):
    return tuple(sorted((round(mean, 9) for mean in means), reverse=True))


def shown_as(name, n_arms, kind):
    """Return the instances of the explorer that an experiment's name for an instance means."""
    return [i for i in explorer.INSTANCES if n_arms in getattr(i, kind).get(name, ())]


@pytest.mark.parametrize("name", SOURCES)
def test_names_stand_for_the_means_that_were_played(name):
    """By the manifests, where each cell has its own means."""
    data = source(name)
    kind = "regret" if name in explorer.REGRET_SOURCES else "found"
    cells = data.manifest["cells"]
    one_each = len(data.summaries) == len(cells)
    used = set()
    for place, summary in enumerate(data.summaries):
        found = shown_as(summary.instance, summary.n_arms, kind)
        assert len(found) == 1, (summary.instance, summary.n_arms)
        used.add(decreasing(found[0].means(summary.n_arms)))
        if one_each:
            assert decreasing(cells[place]["means"]) in used
    assert used == {decreasing(cell["means"]) for cell in cells}


def test_a_setting_that_two_experiments_have_is_the_same_in_both():
    """Else it would matter which of them is shown."""
    finals = defaultdict(set)
    for name in explorer.REGRET_SOURCES:
        for c in source(name).summaries:
            key = c.instance, c.n_arms, c.horizon, c.epsilon, line_name(*c.labels[4:6])
            finals[key].add(float(c.mean[-1]))
    assert max(map(len, finals.values())) == 1
    times = defaultdict(set)
    for name in explorer.IDENTIFICATION_SOURCES:
        for s in source(name).summaries:
            key = s.instance, s.n_arms, s.delta, s.epsilon, s.algorithm, s.variant
            times[key].add((s.mean_time, s.n_runs))
    assert max(map(len, times.values())) == 1


def test_every_setting_is_there_with_the_numbers_of_its_file(content):
    known = {(name, e["k"]): e for name, e in entries(content)}
    for name in SOURCES:
        for s in source(name).summaries:
            kind = "regret" if hasattr(s, "times") else "found"
            entry = known[shown_as(s.instance, s.n_arms, kind)[0].id, s.n_arms]
            called = line_name(s.algorithm, s.variant)
            epsilon = s.epsilon if math.isfinite(s.epsilon) else None
            if kind == "regret":
                (group,) = (g for g in entry["regret"] if g["horizon"] == s.horizon)
                (line,) = (
                    x for x in group["lines"] if (x["name"], x["epsilon"]) == (called, epsilon)
                )
                assert name in group["sources"] or line["mean"]
                times = group["grids"][line["grid"]]
                assert times[-1] == s.horizon
                at = np.searchsorted(s.times, [t for t in times if t in s.times])
                if len(at) == len(times):
                    for mine, theirs in ((s.mean, "mean"), (s.low90, "low"), (s.high90, "high")):
                        assert np.allclose(mine[at], line[theirs], rtol=6e-4)
            else:
                (group,) = (g for g in entry["found"] if g["delta"] == s.delta)
                (line,) = (x for x in group["lines"] if x["name"] == called)
                at = line["epsilon"].index(epsilon)
                assert line["mean"][at] == pytest.approx(s.mean_time, rel=6e-4)
                assert line["error"][at] == pytest.approx(s.error_rate, rel=6e-4)
                assert line["runs"][at] == s.n_runs
            assert called in content["looks"]


def test_runs_are_those_that_were_made(content):
    entry = {(name, e["k"]): e for name, e in entries(content)}["gap-0.02", 2]
    (group,) = (g for g in entry["regret"] if g["horizon"] == 10**8)
    assert {line["runs"] for line in group["lines"]} == {source("ours-head-map").manifest["n_runs"]}


def test_every_simulated_budget_can_be_chosen(content):
    simulated = {s.epsilon for name in SOURCES for s in source(name).summaries}
    assert simulated - {math.inf} <= set(content["epsilons"])
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


def test_what_is_written_is_json_and_small():
    text = explorer.to_text({"a": [1, 0.25], "b": None})
    assert text == '{"a":[1,0.25],"b":null}'
    with pytest.raises(ValueError, match="JSON"):
        explorer.to_text({"a": math.nan})
    built = ROOT / "_build/html/book/explorer.json"
    if built.is_file():
        assert built.stat().st_size < 1_500_000


def test_an_instance_knows_its_numbers_of_arms():
    assert explorer.INSTANCES[0].means(3) == (0.75, 0.7, 0.7)
    with pytest.raises(ValueError, match=r"n_arms=4 .*allowed: \(3, 5, 10, 20\)"):
        explorer.INSTANCES[0].means(4)
    assert len({i.id for i in explorer.INSTANCES}) == len(explorer.INSTANCES)


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
    looks = json.loads(json.dumps(explorer._looks(["DP-SE", "no such algorithm"])))
    style = (ROOT / "book/_static/explorer.css").read_text("utf-8")
    assert all(f".ink-{look['colour']} " in style for look in looks.values())
