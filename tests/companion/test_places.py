"""An algorithm is added by its file, one line in the registry and one in the tests, as promised."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOY = '''"""Explore first: a toy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from dpbandits.configuration import Budget, whole
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms import laplace_noise
from dpbandits._arrays import Rng
from dpbandits.regret.base import RegretAlgorithm
from dpbandits.rewards.run import Run

__all__ = ["Toy"]


@dataclass(frozen=True)
class Toy(RegretAlgorithm):
    """Pull each arm m times (in half of the time at most), release noisy sums, play the largest.

    Parameters
    ----------
    epsilon : float
        Privacy budget.
    m : int
        Pulls of each arm.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> Toy(1).m
    100
    """

    label: ClassVar[str] = "toy"
    source: ClassVar[str] = "nobody"

    epsilon: Budget
    m: Annotated[int, whole(1)] = 100

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Pure privacy."""
        return PrivacyGuarantee("global", self.epsilon)

    def play(self, rewards: Run, horizon: int, rng: Rng) -> None:
        """Play once; see `RegretAlgorithm.play`."""
        n_arms = rewards.n_arms
        m = min(self.m, horizon // (2 * n_arms))
        sums = [rewards.total(arm, m) for arm in range(n_arms)]
        rewards.rest(int(np.argmax(sums + laplace_noise(rng, 1 / self.epsilon, n_arms))))

    def _regret_bound(self, instance: Any, horizon: int) -> Callable[..., Any]:
        gap = instance.gaps
        miss = np.exp(-self.m * gap**2 / 4) + np.exp(-self.epsilon * self.m * gap / 4)
        most = (gap * (self.m + horizon * np.minimum(miss, 1))).sum()
        return lambda times: np.minimum(
            most, gap.max() * np.asarray(horizon if times is None else times)
        )
'''
LINES = {
    "src/dpbandits/algorithms.py": (
        "from dpbandits.regret.base import",
        "from dpbandits.regret.toy import Toy as Toy\n",
    ),
    "tests/dpbandits/test_registry.py": (
        '    "UCB": ',
        '    "Toy": [dpb.Toy(epsilon=2.0), dpb.Toy(epsilon=5.0, m=200)],\n',
    ),
}


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
    """The checkout with the toy's file in it, and the lines of `LINES`."""
    folder = tmp_path_factory.mktemp("copy")
    for name in ("src/dpbandits", "tests", "book/companion", "book/_ext"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "pyproject.toml", folder)
    (folder / "src/dpbandits/regret/toy.py").write_text(TOY, "utf-8")
    for name, (before, line) in LINES.items():
        text = (folder / name).read_text("utf-8")
        assert text.count(f"\n{before}") == 1
        (folder / name).write_text(text.replace(f"\n{before}", f"\n{line}{before}"), "utf-8")
    return folder


def test_the_shared_tests_and_the_audit_find_it(copy):
    suites = [
        f"tests/dpbandits/test_{name}.py" for name in ("registry", "audit_registry", "rewards")
    ]
    status, words = run(copy, "-m", "pytest", "-q", "-k", "Toy", *suites)
    assert status == 0 and int(words.split(" passed")[0].split()[-1]) > 20, words


def test_the_package_and_its_reference_have_it(copy):
    status, words = run(
        copy,
        "-c",
        "import dpbandits as dpb, package_reference as reference; "
        "from dpbandits.auditing import audit_cases; "
        "print(dpb.registry['Toy'] is dpb.Toy, 'Toy' in dpb.__all__, "
        "'Toy' in audit_cases(1.0, 100, 100), "
        "'dpbandits.regret.toy' in reference.public_modules('dpbandits.regret'))",
    )
    assert status == 0 and words.split() == ["True"] * 4, words


def test_a_forgotten_line_is_noticed(copy):
    path = copy / "tests/dpbandits/test_registry.py"
    text = path.read_text("utf-8")
    path.write_text(text.replace(LINES["tests/dpbandits/test_registry.py"][1], ""), "utf-8")
    status, words = run(
        copy, "-m", "pytest", "-q", "-k", "covers_the_registry", str(path.relative_to(copy))
    )
    path.write_text(text, "utf-8")
    assert status == 1 and "1 failed" in words, words
