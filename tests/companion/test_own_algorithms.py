"""The tutorial's algorithm: short, simulated, audited, and its bound is one."""

import importlib.util
import re
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from statistical import may_be_at_most

import dpbandits as dpb
from dpbandits.cli.commands import main

ROOT = Path(__file__).parents[2]
FILE = ROOT / "book/examples/explore_first.py"


@pytest.fixture
def explore_first(monkeypatch):
    spec = importlib.util.spec_from_file_location("explore_first", FILE)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "explore_first", module)
    spec.loader.exec_module(module)
    return module.ExploreFirst


def test_it_has_fewer_than_forty_lines():
    assert len(FILE.read_text("utf-8").splitlines()) < 40


def test_every_pull_is_counted(explore_first):
    instance = dpb.instances.bernoulli([0.2, 0.9, 0.5])
    times = np.arange(1, 51)
    play = explore_first(1.0, m=10).draw(instance, 50, times, np.random.default_rng(0))
    assert play.counts.sum(axis=1).tolist() == times.tolist()
    assert (np.diff(play.counts, axis=0) >= 0).all()
    assert play.counts[29].tolist() == [10, 10, 10]


@pytest.mark.statistical
def test_the_wrong_arm_is_kept_no_more_often_than_the_bound_allows(explore_first):
    """False alarm 1e-6 at most; a fiftieth of the bound is refuted."""
    m, epsilon, horizon, n_runs = 60, 0.5, 10**4, 2000
    instance = dpb.instances.bernoulli([0.6, 0.4])
    algorithm = explore_first(epsilon, m=m)
    runs = dpb.simulate(algorithm, instance, horizon, n_runs=n_runs, seed=1)
    wrong = int((runs.pulls[:, 1] > m).sum())
    allowed = (algorithm.regret_bound(instance, horizon) / 0.2 - m) / horizon
    assert 0 < allowed < 1
    assert may_be_at_most(wrong, n_runs, allowed)
    assert not may_be_at_most(wrong, n_runs, allowed / 50)


def test_the_commands_of_the_page_work(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "explore_first.py").write_text(FILE.read_text("utf-8"))
    words = "run explore_first.py:ExploreFirst DPSE --means 0.9,0.8 --epsilon 0.5 --set m=1000"
    assert main([*words.split(), "--horizon", "1e4", "--runs", "2", "--plot", "regret.png"]) == 0
    assert (tmp_path / "regret.png").stat().st_size > 10_000
    words = "audit explore_first.py:ExploreFirst --set epsilon=1 --set m=2"
    quick = ["--runs", "2000"]
    assert main([*words.split(), *quick]) == 0
    assert ": no violation found" in capsys.readouterr().out
    noisy = " + laplace_noise(rng, 1 / self.epsilon, n_arms)"
    assert noisy in FILE.read_text("utf-8").splitlines()[27]
    (tmp_path / "explore_first.py").write_text(FILE.read_text("utf-8").replace(noisy, ""))
    assert main([*words.split(), *quick]) == 1
    assert ": violation found" in capsys.readouterr().out


def test_the_picture_of_the_page_is_what_its_command_draws(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "explore_first.py").write_text(FILE.read_text("utf-8"))
    page = (ROOT / "book/own_algorithms.md").read_text("utf-8")
    (command,) = re.findall(r"```\ndpbandits (run .+?)```", page, re.DOTALL)
    assert main(command.replace("\\\n", " ").split()) == 0
    kept, drawn = ROOT / "book/_static/own-algorithm.svg", tmp_path / "regret.svg"
    assert kept.name in page
    roots = [ElementTree.parse(path).getroot() for path in (drawn, kept)]
    assert roots[0].get("viewBox") == roots[1].get("viewBox")
    mine, other = map(float, re.findall(r"regret at T: mean ([\d.]+)", capsys.readouterr().out))
    assert mine == 100 and round(other / mine) == 11, "as the picture's description says"
    counts = [Counter(node.tag for node in root.iter()) for root in roots]
    assert counts[0] == counts[1]


def test_it_can_be_registered(explore_first, monkeypatch, capsys):
    monkeypatch.setitem(dpb.registry, "ExploreFirst", explore_first)
    assert main(["run", "explore-first", "--epsilon", "1", "--horizon", "1000", "--runs", "1"]) == 0
    assert capsys.readouterr().out.startswith("ExploreFirst(")


def test_ask_and_tell_of_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "book/own_algorithms.md").read_text("utf-8")
    section = page.partition("### Ask and tell")[2].partition("\nRewards with heavy tails")[0]
    blocks = re.findall(r"```python\n(.+?)```", section, re.DOTALL)
    assert len(blocks) == 2
    exec("\n".join(blocks), {"dpb": dpb})
    assert capsys.readouterr().out == "[1, 0] ε = 1, central, event level\n"


def test_the_index_of_the_page_is_in_a_race_and_its_loop_is_a_program(capsys):
    page = (ROOT / "book/own_algorithms.md").read_text("utf-8")
    section = page.partition("## An index of your own")[2].partition("\n## ")[0]
    blocks = re.findall(r"```python\n(.+?)```", section, re.DOTALL)
    assert len(blocks) == 2
    exec("\n".join(blocks), {"__name__": "page"})
    *lines, plain = capsys.readouterr().out.splitlines()
    assert [line.rsplit(" ", 1)[1] for line in lines[:2]] == ["compiled", "compiled"]
    mean, private = (float(line.split()[-2]) for line in lines[:2])
    assert lines[0].startswith("my_ucb(c=0.5) ") and 0 < mean < private
    regret, how = plain.split()
    assert how == "reference" and 0 < float(regret) < 1000  # half of the pulls are of the worse arm


def test_the_instances_of_the_page_run(capsys):
    page = (ROOT / "book/own_algorithms.md").read_text("utf-8")
    section = page.partition("## An instance of your own")[2].partition("\n### ")[0]
    (block,) = re.findall(r"```python\n(.+?)```", section, re.DOTALL)
    exec(block, {"dpb": dpb})
    assert capsys.readouterr().out.endswith("ε = 1, central, event level\n")
