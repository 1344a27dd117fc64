"""A program of one's own may import what lies beside it, as Python lets it."""

import sys

import pytest

import dpbandits as dpb
from dpbandits.cli._console import find
from dpbandits.cli.commands import main

OWN = """
from {beside} import SHIFT

def leader(rewards, rng):
    from {later} import size  # when it is called

    sums = [rewards.pull(arm) + rng.laplace(0.0, size) for arm in (0, 1)]
    rewards.pull(int(sums[1] > sums[0]))

leader.shift = SHIFT
"""


@pytest.fixture
def names(tmp_path, monkeypatch, request):
    """Modules of names that no other test has, in a folder that is not the working one."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    known = set(sys.modules)
    folder = tmp_path / "own"
    folder.mkdir()
    stem = request.node.name.partition("[")[0]
    made = {name: f"{name}_{stem}" for name in ("alone", "beside", "later")}
    (folder / f"{made['alone']}.py").write_text(OWN.format(**made))
    (folder / f"{made['beside']}.py").write_text("SHIFT = 0.5\n")
    (folder / f"{made['later']}.py").write_text("size = 1.0\n")
    yield folder, made["alone"]
    for name in set(sys.modules) - known:
        if name in made.values():
            del sys.modules[name]


def audited(capsys, name):
    status = main(["audit", name, "--epsilon", "1", "--pulls", "2", "--runs", "100"])
    return status, capsys.readouterr()


def test_a_file_imports_what_lies_beside_it(capsys, names, tmp_path, monkeypatch):
    name = names[1]
    monkeypatch.chdir(tmp_path)
    status, said = audited(capsys, f"own/{name}.py:leader")
    assert status == 0 and "no violation found" in said.out, said.err


def test_a_module_of_the_working_folder_is_found(capsys, names, monkeypatch):
    folder, name = names
    monkeypatch.chdir(folder)
    status, said = audited(capsys, f"{name}:leader")
    assert status == 0 and "no violation found" in said.out, said.err


def test_a_module_that_is_not_there_is_one_line(capsys, names, tmp_path, monkeypatch):
    folder, name = names
    monkeypatch.chdir(tmp_path)  # it lies elsewhere
    status, said = audited(capsys, f"{name}:leader")
    assert status == 2 and said.err.count("\n") == 1 and "is not there" in said.err
    (folder / "lost.py").write_text("import nowhere_at_all\n")
    status, said = audited(capsys, "own/lost.py:leader")
    assert status == 2 and "No module named 'nowhere_at_all'" in said.err


def test_names_of_the_package_change_no_path(names):
    before = list(sys.path)
    assert find("algorithm", {"UCB": dpb.UCB}, "ucb") is dpb.UCB and sys.path == before
