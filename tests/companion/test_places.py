"""An algorithm is added by its file and a line in three others, as promised.

So are two toys: one that decides early, and an elimination, whose first decision is late.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
(PATCH,) = re.findall(r"```diff\n(.*?)```", CONTRIBUTING, re.S)
"""The toy of CONTRIBUTING.md, which explores first: its file and the line in three others."""
NOISE = "laplace_noise(rng, plan.noise_scale, viable.size)"
DECLARED = """
    def first_decision(self, n_arms: int, horizon: int) -> int:
        return n_arms * elimination_epoch(n_arms, 1, 1 / horizon, self.epsilon).pulls + 1
"""
ELIMINATION = f'''"""Elimination on paper: a toy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from dpbandits import bounds
from dpbandits._arrays import Rng
from dpbandits.configuration import Budget
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms import laplace_noise
from dpbandits.regret.base import RegretAlgorithm
from dpbandits.rewards.run import Run
from dpbandits.schedules import elimination_epoch

__all__ = ["PaperElimination"]


@dataclass(frozen=True)
class PaperElimination(RegretAlgorithm):
    """Pull the arms that are left in epochs, and drop those whose noisy means are far below.

    Parameters
    ----------
    epsilon : float
        Privacy budget.

    Raises
    ------
    ValueError
        If `epsilon` is out of range.

    Examples
    --------
    >>> PaperElimination(1).epsilon
    1.0
    """

    label: ClassVar[str] = "elimination on paper"
    source: ClassVar[str] = "nobody"

    epsilon: Budget

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Pure privacy."""
        return PrivacyGuarantee("central", self.epsilon)
{DECLARED}
    def play(self, rewards: Run, horizon: int, rng: Rng) -> None:
        """Play once; see `RegretAlgorithm.play`."""
        viable, epoch = np.arange(rewards.n_arms), 0
        while viable.size > 1:
            epoch += 1
            plan = elimination_epoch(viable.size, epoch, 1 / horizon, self.epsilon)
            means = rewards.totals(viable, plan.pulls) / plan.pulls
            means += {NOISE}
            viable = viable[means.max() - means <= plan.threshold]
        rewards.commit(int(viable[0]))

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        return partial(bounds.elimination_regret, instance.gaps, horizon, epsilon=self.epsilon)
'''
WRONG = {"SilentElimination": (NOISE, "0.0"), "HastyElimination": (DECLARED, "")}
"""Eliminations that are wrong: without noise, and without a word on their first decision."""
ENTRIES, TESTS = "src/dpbandits/algorithms.py", "tests/dpbandits/test_registry.py"
NAMES = "src/dpbandits/__init__.py"
FILES = {"src/dpbandits/regret/paper_elimination.py": ELIMINATION}
LINES = {
    "PaperElimination": {
        ENTRIES: "from dpbandits.regret.paper_elimination import PaperElimination as "
        "PaperElimination\n",
        NAMES: '    "PaperElimination",\n',
        TESTS: '    "PaperElimination": [dpb.PaperElimination(2.0), dpb.PaperElimination(0.5)],\n',
    },
}
TOYS = ("Toy", *LINES)
for _name, (_right, _wrong) in WRONG.items():
    _text = ELIMINATION.replace(_right, _wrong).replace("PaperElimination", _name)
    _text = _text.replace("elimination on paper", f"elimination, {_name.lower()}")
    FILES[f"src/dpbandits/regret/{_name.lower()}.py"] = _text
    LINES[_name] = {
        ENTRIES: f"from dpbandits.regret.{_name.lower()} import {_name} as {_name}\n",
        NAMES: f'    "{_name}",\n',
        TESTS: f'    "{_name}": [dpb.{_name}(2.0)],\n',
    }
BEFORE = {
    ENTRIES: "from dpbandits.regret.base import",
    NAMES: '    "UCB",',
    TESTS: '    "UCB": ',
}
"""The text before which the lines of each file are put."""
SUITES = [f"tests/dpbandits/test_{name}.py" for name in ("registry", "audit_registry", "rewards")]


def run(folder, *words):
    """Run Python on the copy; return its exit status and what it says."""
    paths = [folder / "src", folder / "book", folder / "book/_ext"]
    variables = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=variables, capture_output=True, text=True
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The checkout with the toys' files in it, and the lines of `LINES`."""
    folder = tmp_path_factory.mktemp("copy")
    for name in ("src/dpbandits", "tests", "book/companion", "book/_ext"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "pyproject.toml", folder)
    subprocess.run(["git", "apply", "-"], cwd=folder, input=PATCH, text=True, check=True)
    for name, text in FILES.items():
        (folder / name).write_text(text, "utf-8")
    for name, before in BEFORE.items():
        text, lines = (folder / name).read_text("utf-8"), [toy[name] for toy in LINES.values()]
        assert text.count(f"\n{before}") == 1
        together = "".join(lines)
        (folder / name).write_text(text.replace(f"\n{before}", f"\n{together}{before}"), "utf-8")
    return folder


@pytest.fixture(scope="module")
def told(copy):
    """What the shared tests say of the toys, and the audit of the wrong eliminations."""
    words = f"{' or '.join(TOYS)} or test_it_is_not_convicted and ({' or '.join(WRONG)})"
    return run(copy, "-m", "pytest", "-v", "-k", words, *SUITES)


def test_the_shared_tests_and_the_audit_find_them(told):
    _, words = told
    passed = [line for line in words.splitlines() if "PASSED" in line]
    failed = [line for line in words.splitlines() if "FAILED" in line and "::" in line]
    for toy in TOYS:
        assert sum(toy in line for line in passed) > 20, words
        assert not any(toy in line for line in failed), words


def test_the_audit_finds_what_is_wrong_with_an_elimination(told):
    """Control: the same audit, by the same lines."""
    status, words = told
    assert status == 1 and "2 failed" in words, words
    for name, verdict in zip(WRONG, ("violation found", "nothing tested"), strict=True):
        (said,) = re.findall(rf"^_+ \S*{name}\S* _+$(.*?)(?=^_+ \S|\Z|^=)", words, re.M | re.S)
        assert f"assert '{verdict}' ==" in said, words


def test_the_package_and_its_reference_have_it(copy):
    status, words = run(
        copy,
        "-c",
        "import dpbandits as dpb; from companion.front import front; "
        "from dpbandits.auditing import audited; "
        "print(dpb.registry['Toy'] is dpb.Toy, 'Toy' in dpb.__all__, "
        "'Toy' in audited(1.0), "
        "'dpbandits.regret.toy.Toy' in front())",
    )
    assert status == 0 and words.split() == ["True"] * 4, words


@pytest.mark.parametrize(
    ("name", "test"), [(TESTS, "covers_the_registry"), (NAMES, "has_the_registries")]
)
def test_a_forgotten_line_is_noticed(copy, name, test):
    path = copy / name
    text = path.read_text("utf-8")
    (line,) = re.findall(rf"^\+\+\+ b/{name}$.*?^\+(.*?\n)", PATCH, re.M | re.S)
    path.write_text(text.replace(line, ""), "utf-8")
    status, words = run(copy, "-m", "pytest", "-q", "-k", test, TESTS)
    path.write_text(text, "utf-8")
    assert status == 1 and "1 failed" in words, words
