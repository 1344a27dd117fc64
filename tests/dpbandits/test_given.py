"""What is given is read as it is meant, or refused by name: texts, logs that end, truth values."""

import math
import re

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits import plotting
from dpbandits.cli.commands import main
from dpbandits.mechanisms import BinaryTree, laplace_noise
from dpbandits.rewards.sources import CallbackRewards

RULE = "estimate NAS --set alpha=0.5 --set beta=0.05 --stream"
TABLE = "audit DPUCB --epsilon 1 --runs 50 --change 0,0,1 --sampled --table"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("coding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize(("words", "text"), [(RULE, "0.9 0.9\n" * 300), (TABLE, "0 1\n0 1\n")])
def test_a_text_is_read_whatever_its_byte_order_mark(coding, words, text, folder, capsys):
    (folder / "own.txt").write_text(text, coding)
    assert main([*words.split(), "own.txt"]) in (0, 3), capsys.readouterr().err


@pytest.mark.parametrize("words", [RULE, TABLE])
@pytest.mark.parametrize("content", [b"\xff\xfe0", b"\x93\x94", "0,9 0,9".encode("utf-16-be")])
def test_what_is_no_text_is_refused_by_name(words, content, folder, capsys):
    (folder / "own.txt").write_bytes(content)
    assert main([*words.split(), "own.txt"]) == 2
    said = capsys.readouterr().err
    option = words.rpartition("--")[2]
    assert re.search(rf"{option}='.*allowed: ", said) and said.count("\n") == 1
    assert "codec" not in said and "ufeff" not in said


@pytest.mark.parametrize("policy", [dpb.DPUCB(1.0), dpb.UCB(), dpb.LazyDPTS(1.0)])
def test_a_log_that_ends_is_named_with_the_pull(policy):
    log = iter([0.5] * 20)
    live = dpb.instances.callback(lambda arm: next(log), 2)
    with pytest.raises(ValueError, match=r"function=.* has no reward for pull 21, of arm \d"):
        dpb.simulate(policy, live, 100, 1)


def test_a_log_of_heavy_tails_that_ends_is_named():
    log = iter([0.5] * 20)
    live = dpb.instances.heavy_callback(lambda arm: next(log), 2, 1.0, 1.0)
    with pytest.raises(ValueError, match=r"function=.* has no reward left"):
        dpb.simulate(dpb.DPRUCB(1.0), live, 100, 1)


@pytest.mark.parametrize("one", [True, np.True_])
def test_truth_values_are_rewards_wherever_rewards_come_from(one):
    assert CallbackRewards(lambda arm: one, 2).total(0, 3) == 3.0
    table = dpb.instances.table([[one, False], [one, one]])
    assert table.means.tolist() == [0.5, 1.0]
    counter = BinaryTree(math.inf, 4).counter()
    assert [counter.add(one), counter.add(False)] == [1.0, 1.0]
    assert dpb.NAS(0.5, 0.05).run([one] * 600).estimate == 1.0
    live = dpb.instances.heavy_callback(lambda arm: one, 2, 1.0, 1.0)
    assert live.rewards(np.random.default_rng(0)).total(0, 2) == 2.0


@pytest.mark.parametrize("scale", [math.nan, -1, math.inf, -math.inf])
def test_noise_has_a_scale(scale, rng):
    with pytest.raises(ValueError, match=f"scale={scale} is out of range; allowed: "):
        laplace_noise(rng, scale, 2)
    assert laplace_noise(rng, 0, 2).tolist() == [0.0, 0.0]


def test_a_picture_may_be_named_by_a_text(folder):
    arms = dpb.instances.bernoulli([0.9, 0.1])
    plotting.save(plotting.runs_figure([dpb.simulate(dpb.UCB(), arms, 10, 1)]), "z.png")
    assert (folder / "z.png").is_file()


COMMANDS = {
    "run UCB --means 0.9,0.1 --horizon 100 --runs 1": "csv plot",
    "identify DPLRE --means 0.9,0.1 --epsilon 1 --set delta=0.1 --runs 1": "csv",
    "estimate NAS --set alpha=0.5 --set beta=0.05 --runs 1": "csv",
    "plan --means 0.9,0.1 --epsilon 1 --delta 0.1 --runs 2": "plot",
    "plan --means 0.9,0.5 --epsilon 1 --goal regret --patients 10": "plot",
    "plan --means 0.9,0.5 --epsilon 1 --design group-sequential": "plot state",
}


@pytest.mark.parametrize("words", COMMANDS)
def test_what_cannot_be_written_is_told_before_anything_is_run(words, folder, capsys, monkeypatch):
    for name in ("simulate_many", "identify", "estimate", "plan", "plan_regret"):
        monkeypatch.setattr(dpb, name, None, raising=False)
    monkeypatch.setattr("dpbandits.cli.commands.simulate_many", None)
    monkeypatch.setattr(dpb, "plan_group_sequential", None)
    (folder / "locked.svg").touch(0o400)
    (folder / "folder.svg").mkdir()
    for option in COMMANDS[words].split():
        for name, why in (("locked.svg", "Permission denied"), ("folder.svg", "Is a directory")):
            assert main([*words.split(), f"--{option}", name]) == 1
            said = capsys.readouterr()
            assert said.out == "" and f"cannot write {name}: {why}" in said.err
