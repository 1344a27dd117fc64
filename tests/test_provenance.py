"""The code hash: what counts as a change of the source and what does not."""

import os
import subprocess
import sys

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits import provenance
from dpbandits.experiments import RegretCell, StoppingCell, settings

MODULE = '''"""A toy."""
from toyhelp import LIMIT, scale
import toyhelp as th

class Toy:
    """A toy class."""
    def play(self, x: int) -> int:
        """Play."""
        # a comment
        return scale(x) + self.more(x) + th.shift(x)
    def more(self, x):
        return min(x, LIMIT)
    def bound(self):
        return th.unrelated()
'''
HELPER = """LIMIT = 3
def scale(x):
    return 2 * x
def shift(x):
    return x + 1
def unrelated():
    return "text"
"""


@pytest.fixture
def toy_hash(tmp_path, monkeypatch):
    """A function that writes the two modules and hashes what ``Toy().play`` reaches."""
    monkeypatch.syspath_prepend(tmp_path)
    main = "from toy import Toy\ndef entry():\n    return Toy().play(1)\n"

    def compute(module=MODULE, helper=HELPER):
        (tmp_path / "toy.py").write_text(module)
        (tmp_path / "toyhelp.py").write_text(helper)
        (tmp_path / "toymain.py").write_text(main)
        provenance._source_path.cache_clear()
        return provenance.source_hash([("toymain", "entry")], ["toy", "toyhelp", "toymain"])

    return compute


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""A toy class."""', '"""Something else\n\n    entirely."""'),
        ('        """Play."""\n', ""),
        ("# a comment", "# another comment"),
        ("return scale(x) + self", "return (scale(x)\n            + self"),
        ("x: int) -> int", "x)"),
        ("return th.unrelated()", "return 17"),
    ],
)
def test_what_does_not_change_a_number_does_not_change_the_hash(toy_hash, old, new):
    changed = MODULE.replace(old, new)
    if "(scale(x)" in new:
        changed = changed.replace("th.shift(x)", "th.shift(x))")
    assert changed != MODULE
    assert toy_hash(changed) == toy_hash()
    assert toy_hash(helper=HELPER.replace('"text"', '"other"')) == toy_hash()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("scale(x) + self", "scale(x) - self"),
        ("min(x, LIMIT)", "max(x, LIMIT)"),
        ("class Toy:", "class Toy(dict):"),
    ],
)
def test_a_change_of_reached_code_changes_the_hash(toy_hash, old, new):
    assert toy_hash(MODULE.replace(old, new)) != toy_hash()


@pytest.mark.parametrize(
    ("old", "new"), [("LIMIT = 3", "LIMIT = 4"), ("2 * x", "3 * x"), ("x + 1", "x + 2")]
)
def test_constants_and_functions_of_other_modules_count(toy_hash, old, new):
    assert toy_hash(helper=HELPER.replace(old, new)) != toy_hash()


def cell_of(algorithm):
    return RegretCell(algorithm, dpb.instances.ss19("C1"), 1000, 1)


def reached(cell):
    """Names of the definitions behind the hash of a cell."""
    reach = provenance._Reach(frozenset({"dpbandits"}))
    kinds = provenance._types_in(cell.parts)
    for root in [settings._SEEDS, cell.ENTRY, *((k.__module__, k.__name__) for k in kinds)]:
        reach.add(*root)
    return {f"{name.partition('.')[0]}.{method}".rstrip(".") for _, name, method in reach.parts}


def test_what_a_real_algorithm_reaches():
    se, ucb = reached(cell_of(dpb.DPSE(1.0))), reached(cell_of(dpb.DPUCB(1.0)))
    assert {"play_runs", "play_replicate", "replicate_seeds"} <= se
    assert {"DPSE.play", "elimination_epoch"} <= se
    assert {"laplace_noise", "EpochPlan.threshold", "BernoulliInstance.sample_sum"} <= se
    assert {"DPUCB.gamma", "BinaryTree.error_width", "play_skipping", "laplace"} <= ucb
    assert not {"DPSE.regret_bound", "elimination_regret", "play_skipping", "Runs"} & se
    assert not {"DPUCB.regret_bound", "dp_ucb_regret", "DPSE", "elimination_epoch"} & ucb


def test_what_a_real_stopping_rule_reaches():
    law = dpb.instances.two_point(0.1)
    exponential = reached(StoppingCell(dpb.DPExponentialNAS(1.0, 0.5, 0.05), law, 10**6, 1))
    bernstein = reached(StoppingCell(dpb.EBGStop(0.5, 0.05), law, 10**6, 1))
    assert {"play_estimates", "estimate_replicate", "replicate_seeds"} <= exponential
    assert {"DPExponentialNAS.draw", "boundary", "sum_of_draws", "laplace"} <= exponential
    assert {"EBGStop.draw", "_step", "TwoPointLaw.code"} <= bernstein
    assert not {"EBGStop", "Estimates", "UniformLaw", "DPSE", "play_runs"} & exponential
    assert not {"DPExponentialNAS", "boundary", "laplace"} & bernstein


def test_hash_covers_both_parts_of_a_cell():
    cells = [
        StoppingCell(rule, law, 10**6, 1)
        for rule in (dpb.NAS(0.5, 0.05), dpb.DPNAS(1.0, 0.5, 0.05))
        for law in (dpb.instances.two_point(0.1), dpb.instances.uniform(0.1))
    ]
    assert len({cell.code() for cell in cells}) == 4


def test_hash_of_a_composed_algorithm_covers_its_parts():
    inside = cell_of(dpb.GuessAndDouble(dpb.DPSE(1.0)))
    assert inside.code() != cell_of(dpb.DPSE(1.0)).code()
    assert inside.code() != cell_of(dpb.GuessAndDouble(dpb.UCB())).code()
    assert "elimination_epoch" in reached(inside)


def test_hash_does_not_depend_on_options():
    hashes = {cell_of(dpb.DPSE(epsilon)).code() for epsilon in (0.1, 1.0)}
    assert len(hashes) == 1
    assert all(len(code) == 16 for code in hashes)


def test_platform():
    assert provenance.versions()["python"] == sys.version.split()[0]
    assert set(provenance.versions()) == {"python", "numpy", "numba", "scipy"}
    assert provenance.processor()


# ---------------------------------------------------------------- processors
SETTINGS_HASHES = """
from dpbandits.experiments import EXPERIMENTS
from dpbandits.experiments.store import fingerprint
for name in ("ours-td16-honest", "ours-heavy-gaps"):
    print(fingerprint(EXPERIMENTS[name], "paper", 0)["settings"])
"""
LAST_BITS = "import numpy as np; print(np.tanh(np.linspace(0.1, 3, 999)).tobytes().hex())"


def printed(program, **environment):
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout


@pytest.mark.slow
def test_settings_are_the_same_whatever_instructions_the_processor_has():
    found = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    plain = {"NPY_DISABLE_CPU_FEATURES": " ".join(found)} if found else {}
    if printed(LAST_BITS) == printed(LAST_BITS, **plain):
        pytest.skip("fewer instructions give the same last bits here: nothing to compare")
    assert printed(SETTINGS_HASHES) == printed(SETTINGS_HASHES, **plain)
