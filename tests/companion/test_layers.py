"""What may import what: the contracts of pyproject.toml hold, and would be seen to be broken."""

import shutil
import subprocess
import sys
from pathlib import Path

import architecture
import pytest

ROOT = Path(__file__).resolve().parents[2]


def verdict_on(folder):
    """Run import-linter on a copy of the sources and return its exit status and its words."""
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=folder,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": f"{folder / 'src'}:{folder / 'book'}", "PATH": ""},
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def copy(tmp_path):
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for name in ("src/dpbandits", "book/companion"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("src/dpbandits/regret/simulation.py", "from companion.tables import tabulate"),
        ("src/dpbandits/regret/simulation.py", "import pandas"),
        ("src/dpbandits/mechanisms/noise.py", "from dpbandits.regret import DPSE"),
        ("src/dpbandits/regret/dp_ucb.py", "from dpbandits.auditing import audit"),
        ("src/dpbandits/identification/dp_se.py", "from dpbandits.regret import DPSE"),
    ],
)
def test_an_import_against_the_layers_is_refused(copy, module, line):
    path = copy / module
    text = path.read_text("utf-8")
    path.write_text(f"{text}\n\ndef _late():\n    {line}\n", "utf-8")
    status, words = verdict_on(copy)
    assert status == 1 and "BROKEN" in words, words


def test_the_picture_of_contributing_is_that_of_the_contracts():
    """To renew it: python tests/architecture.py --write."""
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    (drawn,) = architecture.FENCED.findall(page)
    assert drawn == architecture.current()


def test_a_layer_that_moves_changes_the_picture():
    project = {
        "tool": {
            "importlinter": {
                "contracts": [
                    {"name": "another"},
                    {
                        "containers": ["dpbandits"],
                        "layers": ["a | _engine.b", "c : d", "_engine.e"],
                    },
                ]
            }
        }
    }
    before = architecture.diagram(project)
    assert architecture.layers(project) == [["a", "_engine.b"], ["c", "d"], ["_engine.e"]]
    assert "book --> front0 & engine0" in before and 'engine0["_engine.b"]:::engine' in before
    project["tool"]["importlinter"]["contracts"][1]["layers"].reverse()
    assert architecture.diagram(project) != before
