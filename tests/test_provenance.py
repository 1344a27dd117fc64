"""The code hash: what counts as a change of the source and what does not."""

import sys

import pytest

import dpbandits as dpb
from dpbandits import provenance

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


def reached(algorithm):
    """Names of the definitions behind the hash of an algorithm."""
    reach = provenance._Reach(frozenset({"dpbandits"}))
    kinds = [type(dpb.instances.ss19("C1")), *provenance._algorithm_types(algorithm)]
    for root in [*provenance._ENTRY, *((kind.__module__, kind.__name__) for kind in kinds)]:
        reach.add(*root)
    return {f"{name.partition('.')[0]}.{method}".rstrip(".") for _, name, method in reach.parts}


def test_what_a_real_algorithm_reaches():
    se, ucb = reached(dpb.DPSE(1.0)), reached(dpb.DPUCB(1.0))
    assert {"play_chunk", "play_replicate", "DPSE.play", "elimination_epoch"} <= se
    assert {"laplace_noise", "EpochPlan.threshold", "BernoulliInstance.sample_sum"} <= se
    assert {"DPUCB.gamma", "BinaryTree.error_quantile", "play_skipping", "laplace"} <= ucb
    assert not {"DPSE.regret_bound", "elimination_regret", "play_skipping", "Runs"} & se
    assert not {"DPUCB.regret_bound", "dp_ucb_regret", "DPSE", "elimination_epoch"} & ucb


def test_hash_of_a_composed_algorithm_covers_its_parts():
    instance = dpb.instances.ss19("C1")
    inside = provenance.code_hash(dpb.GuessAndDouble(dpb.DPSE(1.0)), instance)
    assert inside != provenance.code_hash(dpb.DPSE(1.0), instance)
    assert inside != provenance.code_hash(dpb.GuessAndDouble(dpb.UCB()), instance)
    assert "elimination_epoch" in reached(dpb.GuessAndDouble(dpb.DPSE(1.0)))


def test_hash_does_not_depend_on_options():
    instance = dpb.instances.ss19("C1")
    hashes = {provenance.code_hash(dpb.DPSE(epsilon), instance) for epsilon in (0.1, 1.0)}
    assert len(hashes) == 1
    assert all(len(code) == 16 for code in hashes)


def test_platform():
    assert provenance.versions()["python"] == sys.version.split()[0]
    assert set(provenance.versions()) == {"python", "numpy", "numba", "scipy"}
    assert provenance.processor()
