"""`check_algorithm` passes what is in order, and names what is not."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits._engine.acceleration import accelerates
from dpbandits.mechanisms import laplace_noise
from dpbandits.regret.base import Play
from dpbandits.rewards.sources import DrawnRewards, FixedRewards
from dpbandits.testing import AlgorithmCheckError, check_algorithm

sys.path.append(str(Path(__file__).parents[2] / "book/examples"))
from explore_first import ExploreFirst

QUICK = {"horizon": 300, "n_runs": 60, "audit_runs": 2000}


@pytest.mark.statistical
@pytest.mark.parametrize("algorithm", [dpb.UCB(), dpb.DPSE(2.0), ExploreFirst(1.0, 2)], ids=repr)
def test_what_is_in_order_passes(algorithm):
    """Three checks may fail by chance, each with probability 1e-6."""
    checks = check_algorithm(algorithm, **QUICK)
    assert [name for name, _ in checks.passed][-2:] == ["accelerators", "regret"]
    assert (checks.audit is None) == (algorithm == dpb.UCB())
    assert str(checks).startswith(f"{algorithm.label}: all checks passed\ncopies")


@dataclass(frozen=True)
class Broken(ExploreFirst):
    """The tutorial's algorithm with one fault."""

    label = "broken"
    source = "tests"
    fault: str = ""

    def __reduce__(self):
        if self.fault == "copy":
            raise TypeError("cannot be copied")
        return (type(self), (self.epsilon, self.m, self.fault))

    def play(self, rewards, horizon, rng):
        if self.fault == "table" and isinstance(rewards.source, FixedRewards):
            raise ValueError("no tables")
        if self.fault == "type":
            raise TypeError("'int' object is not iterable")
        if self.fault == "short" and horizon < 5:
            raise IndexError("list index out of range")
        if self.fault == "looks" and len(rewards.checkpoints) > 1:
            rewards.commit(0)
        if self.fault == "seed":
            for arm in np.random.default_rng().integers(rewards.n_arms, size=60):
                rewards.total(int(arm), 1)  # as before by chance with probability 3^-60
        m = min(self.m, horizon // rewards.n_arms)
        sums = [rewards.total(arm, m) for arm in range(rewards.n_arms)]
        scale = (0.25 if self.fault == "noise" else 1) / self.epsilon
        rewards.commit(int(np.argmax(sums + laplace_noise(rng, scale, rewards.n_arms))))

    def regret_bound(self, instance, horizon, times=None):
        wrong = {"bound": 1.0, "no bound": float("nan")}
        known = super().regret_bound(instance, horizon, times)
        return wrong.get(self.fault, known)


@accelerates(Broken, on=DrawnRewards, name="always the best", when=lambda a: a.fault == "law")
def play_best(algorithm, rewards, horizon, checkpoints, rng):
    counts = np.zeros((checkpoints.size, rewards.n_arms), dtype=np.int64)
    counts[:, 0] = checkpoints
    return Play(counts, np.array([], dtype=np.int64))


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("copy", "cannot be sent to a worker process: cannot be copied"),
        ("table", "does not play on a table instance: .*no tables"),
        ("short", "fails at a horizon of 3, ended after 1: IndexError"),
        ("seed", "draws noise from another source than its generator"),
        ("looks", "runs depend on when somebody looks"),
        ("law", "the accelerator 'always the best' has another law than play"),
        ("bound", "is above the bound of 1 by more than chance"),
        ("no bound", "the bound on the regret is nan"),
        ("type", "does not play on a Bernoulli instance: 'int' object is not iterable"),
        ("noise", "violation found"),
    ],
)
def test_each_fault_is_named(fault, said):
    algorithm = Broken(1.0, 2, fault)
    with pytest.raises(AlgorithmCheckError, match=f"^broken: .*{said}"):
        check_algorithm(algorithm, horizon=2000, n_runs=400, audit_runs=4000)


class Thawed(ExploreFirst):
    """One without a hash, as a dataclass is that is not frozen."""

    label = "thawed"
    source = "tests"
    __hash__ = None


def test_what_is_not_frozen_is_named():
    with pytest.raises(AlgorithmCheckError, match="thawed: a copy differs; allowed: a frozen"):
        check_algorithm(Thawed(1.0))


def test_without_its_fault_it_passes():
    assert check_algorithm(replace(Broken(1.0, 2)), **QUICK).audit.verdict == "no violation found"


def test_what_is_no_algorithm_for_regret_is_refused():
    with pytest.raises(ValueError, match="algorithm="):
        check_algorithm(dpb.NAS(0.5, 0.05))
