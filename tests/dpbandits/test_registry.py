"""What every algorithm must be, checked for each entry of the registry.

An algorithm joins these tests with one line in `CONFIGURATIONS`.
"""

import copy
import dataclasses
import inspect
import math
import pickle
import re

import numpy as np
import pytest
from statistical import mean_may_be_at_most

import dpbandits as dpb
from dpbandits.regret.base import Play, RegretAlgorithm
from dpbandits.regret.heavy import HeavyTailAlgorithm
from dpbandits.rewards.heavy_laws import TwoPointHeavyLaw

CONFIGURATIONS = {
    "UCB": [dpb.UCB(), dpb.UCB(engine="per-step")],
    "DPUCB": [
        dpb.DPUCB(epsilon=30.0),
        dpb.DPUCB(epsilon=30.0, engine="per-step"),
        dpb.DPUCB(epsilon=60.0, variant="mishra-thakurta-parallel"),
        dpb.DPUCB(epsilon=180.0, variant="mishra-thakurta"),
        dpb.DPUCB(epsilon=math.inf),
    ],
    "DPUCBBound": [
        dpb.DPUCBBound(epsilon=30.0),
        dpb.DPUCBBound(epsilon=5.0, ucb_term=False),
        dpb.DPUCBBound(epsilon=10.0, split="full"),
        dpb.DPUCBBound(epsilon=30.0, width="repaired"),
        dpb.DPUCBBound(epsilon=math.inf),
    ],
    "DPUCBHybrid": [
        dpb.DPUCBHybrid(epsilon=20.0),
        dpb.DPUCBHybrid(epsilon=20.0, literal=True),
        dpb.DPUCBHybrid(epsilon=30.0, split="full"),
        dpb.DPUCBHybrid(epsilon=math.inf),
    ],
    "DPUCBInt": [
        dpb.DPUCBInt(epsilon=0.06),
        dpb.DPUCBInt(epsilon=0.01, reading="frozen"),
        dpb.DPUCBInt(epsilon=0.06, reading="literal"),
        dpb.DPUCBInt(epsilon=0.05, exponent=1.3, delta=1e-6, noise=0.5),
    ],
    "SuccessiveElimination": [dpb.SuccessiveElimination(), dpb.SuccessiveElimination(beta=0.05)],
    "DPSE": [dpb.DPSE(epsilon=0.5), dpb.DPSE(epsilon=2.0, beta=0.05), dpb.DPSE(epsilon=math.inf)],
    "GuessAndDouble": [
        dpb.GuessAndDouble(dpb.DPSE(epsilon=0.5)),
        dpb.GuessAndDouble(dpb.UCB(engine="per-step"), growth="square", first_guess=100),
        dpb.GuessAndDouble(dpb.DPRSE(epsilon=1.0)),
    ],
    "RobustUCB": [dpb.RobustUCB(), dpb.RobustUCB("fixed")],
    "DPRUCB": [
        dpb.DPRUCB(epsilon=200.0),
        dpb.DPRUCB(epsilon=200.0, engine="per-step"),
        dpb.DPRUCB(epsilon=1000.0, scaling="log"),
        dpb.DPRUCB(epsilon=3000.0, width="published", constant=4.0),
        dpb.DPRUCB(epsilon=math.inf),
    ],
    "DPRSE": [
        dpb.DPRSE(epsilon=1.0),
        dpb.DPRSE(epsilon=0.5, beta=0.01, schedule="tightened"),
        dpb.DPRSE(epsilon=math.inf),
    ],
    "LDPRSE": [
        dpb.LDPRSE(epsilon=1.0),
        dpb.LDPRSE(epsilon=2.0, beta=0.01, schedule="non-negative"),
        dpb.LDPRSE(epsilon=math.inf),
    ],
    "AnytimeLazyUCB": [
        dpb.AnytimeLazyUCB(epsilon=1.0),
        dpb.AnytimeLazyUCB(epsilon=0.5, alpha=1.5, eta=0.5),
        dpb.AnytimeLazyUCB(epsilon=math.inf),
    ],
    "AdaPUCB": [
        dpb.AdaPUCB(epsilon=1.0),
        dpb.AdaPUCB(epsilon=0.5, alpha=1.5, eta=2.0),
        dpb.AdaPUCB(epsilon=math.inf),
    ],
    "AdaPKLUCB": [
        dpb.AdaPKLUCB(epsilon=1.0),
        dpb.AdaPKLUCB(epsilon=0.5, alpha=1.5, eta=0.5),
        dpb.AdaPKLUCB(epsilon=math.inf),
    ],
    "LazyDPTS": [
        dpb.LazyDPTS(epsilon=1.0),
        dpb.LazyDPTS(epsilon=0.5, alpha=1.5, eta=0.5),
        dpb.LazyDPTS(epsilon=1.0, draws="batches"),
        dpb.LazyDPTS(epsilon=math.inf),
    ],
    "DPKLUCB": [
        dpb.DPKLUCB(epsilon=1.0),
        dpb.DPKLUCB(epsilon=0.3, eta=0.1, slack=0.0),
        dpb.DPKLUCB(epsilon=math.inf),
    ],
    "DPIMED": [
        dpb.DPIMED(epsilon=1.0),
        dpb.DPIMED(epsilon=2.0, eta=1.0, calibrated=False),
        dpb.DPIMED(epsilon=math.inf),
    ],
}
# Nothing better is proved than playing the worst arm throughout.
WORST = [
    algorithm
    for algorithm in [
        *CONFIGURATIONS["DPUCBHybrid"],
        *CONFIGURATIONS["DPUCBInt"],
        *CONFIGURATIONS["DPRUCB"],
        *CONFIGURATIONS["LazyDPTS"],
    ]
    if getattr(algorithm, "literal", False)
    or getattr(algorithm, "reading", "") == "literal"
    or getattr(algorithm, "width", "") == "published"
    or getattr(algorithm, "draws", "") == "batches"
]
EVERY = [
    pytest.param(algorithm, id=repr(algorithm).replace("[", "(").replace("]", ")"))
    for configurations in CONFIGURATIONS.values()
    for algorithm in configurations
]
EASY = (0.2, 0.9, 0.2)


def bandit(algorithm, means=EASY):
    """Rewards of 0 or 1, with a moment bound for the algorithms that must know one."""
    if isinstance(getattr(algorithm, "base", algorithm), HeavyTailAlgorithm):
        laws = [TwoPointHeavyLaw(1.0, mean) for mean in means]
        return dpb.instances.heavy(laws, order=1.0, moment_bound=max(means))
    return dpb.instances.bernoulli(means, "easy")


def horizon_for(algorithm):
    """Long enough to tell the arms apart."""
    if isinstance(algorithm, dpb.LDPRSE):
        return 10**10
    elimination = isinstance(getattr(algorithm, "base", algorithm), dpb.DPRSE)
    return 2_000_000 if elimination else 30_000


every_algorithm = pytest.mark.parametrize("algorithm", EVERY)


def subclasses(cls):
    for child in cls.__subclasses__():
        yield child
        yield from subclasses(child)


def test_the_table_covers_the_registry():
    assert CONFIGURATIONS.keys() == dpb.registry.keys()
    for name, configurations in CONFIGURATIONS.items():
        assert configurations and all(type(a) is dpb.registry[name] for a in configurations)


def test_the_registry_covers_the_package():
    algorithms = {
        cls
        for cls in subclasses(RegretAlgorithm)
        if cls.__module__.startswith("dpbandits.") and "label" in vars(cls)
    }
    assert algorithms == set(dpb.registry.values())
    for name, cls in dpb.registry.items():
        assert cls.__name__ == name and getattr(dpb, name) is cls and name in dpb.__all__
    assert len({cls.label for cls in algorithms}) == len(algorithms), "labels are distinct"


@every_algorithm
def test_a_configuration_is_a_value(algorithm):
    twin = copy.deepcopy(algorithm)
    assert twin == algorithm and hash(twin) == hash(algorithm)
    assert pickle.loads(pickle.dumps(algorithm)) == algorithm
    assert eval(repr(algorithm), vars(dpb) | {"inf": math.inf}) == algorithm
    for field in dataclasses.fields(algorithm):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(algorithm, field.name, getattr(algorithm, field.name))
    others = [other.values[0] for other in EVERY if other.values[0] is not algorithm]
    assert algorithm not in others


@pytest.mark.parametrize("cls", dpb.registry.values(), ids=lambda cls: cls.__name__)
def test_documentation(cls):
    text = inspect.getdoc(cls)
    assert cls.label and cls.source
    assert ">>> " in inspect.getsource(inspect.getmodule(cls)), "one example for a family"
    assert "Parameters\n----------" in text
    documented = ", ".join(re.findall(r"^([\w, ]+) : ", text, re.M)).split(", ")
    assert {field.name for field in dataclasses.fields(cls)} <= set(documented)


@every_algorithm
def test_guarantee(algorithm):
    guarantee = algorithm.guarantee
    assert isinstance(guarantee, dpb.PrivacyGuarantee)
    epsilon = getattr(algorithm, "epsilon", None)
    if epsilon is not None and not isinstance(algorithm, dpb.DPUCBInt):
        # an ε in each of two parts is 2ε together; the ε of DPUCBInt sets an interval
        parts = 2 if getattr(algorithm, "split", "") == "full" else 1
        assert guarantee.epsilon == parts * epsilon


@every_algorithm
def test_counts_add_up_at_every_checkpoint(algorithm):
    """With checkpoints below, at and above K, dense and sparse, and a longer horizon told."""
    instance, horizon = bandit(algorithm), horizon_for(algorithm)
    for times in ([1, 2, 3, 4, 5, 1000, 1001, horizon], [horizon], [2]):
        times = np.array(times)
        play = algorithm.play(instance, horizon, times, np.random.default_rng(0))
        assert isinstance(play, Play)
        assert play.counts.shape == (times.size, 3) and play.counts.dtype == np.int64
        assert play.counts.sum(axis=1).tolist() == times.tolist()
        assert np.all(play.counts >= 0) and np.all(np.diff(play.counts, axis=0) >= 0)
        ends = play.epoch_ends
        assert ends.dtype == np.int64 and np.all(np.diff(ends) > 0)
        assert ends.size == 0 or (ends[0] > 0 and ends[-1] <= times[-1])


@every_algorithm
def test_regret_and_pulls_are_those_of_the_counts(algorithm):
    instance, times = bandit(algorithm), np.array([1, 2, 3, 7, 100, horizon_for(algorithm)])
    play = algorithm.play(instance, int(times[-1]), times, np.random.default_rng(1))
    np.testing.assert_allclose(play.regret(instance.gaps), play.counts @ instance.gaps, rtol=1e-12)
    assert np.array_equal(play.pulls, play.counts[-1]) and play.pulls.dtype == np.int64


@every_algorithm
def test_the_generator_is_the_only_source_of_randomness(algorithm):
    instance, horizon = bandit(algorithm), horizon_for(algorithm)
    times = np.array([100, 2 * horizon // 3])

    def play(seed):
        return algorithm.play(instance, horizon, times, np.random.default_rng(seed))

    def global_state():
        return np.random.get_state()[1].tolist()  # noqa: NPY002

    state = global_state()
    first, again = play(5), play(5)
    assert np.array_equal(first.counts, again.counts)
    assert np.array_equal(first.epoch_ends, again.epoch_ends)
    assert global_state() == state, "no global randomness"


@every_algorithm
def test_an_algorithm_learns(algorithm):
    """The best arm, which is not arm 0, gets most pulls; with arms swapped it is still found."""
    horizon = horizon_for(algorithm)
    for means in (EASY, (0.2, 0.2, 0.9)):
        instance = bandit(algorithm, means)
        runs = dpb.simulate(algorithm, instance, horizon, n_runs=2)
        assert np.all(runs.pulls[:, instance.best_arm] > horizon / 2)


@every_algorithm
@pytest.mark.statistical
def test_regret_bound_is_above_the_simulated_mean(algorithm):
    instance, horizon = bandit(algorithm), horizon_for(algorithm)
    runs = dpb.simulate(algorithm, instance, horizon, n_runs=24)
    bound = algorithm.regret_bound(instance, horizon, runs.times)
    for sample, limit in zip(runs.regret.T, bound, strict=True):
        assert mean_may_be_at_most(sample, limit * (1 + 1e-12), 1 / runs.times.size)
    if algorithm in WORST:
        assert bound == pytest.approx(0.7 * runs.times)
        return
    assert bound[-1] < 0.95 * 0.7 * horizon, "the bound says something on this instance"
    capped = np.minimum(runs.regret[:, -1], bound[-1] / 10)  # its mean is smaller still
    assert not mean_may_be_at_most(capped, bound[-1] / 60), "control"


@every_algorithm
def test_shapes_of_the_regret_bound(algorithm):
    instance, horizon = bandit(algorithm), horizon_for(algorithm)
    times = np.array([[1, 10, 100], [1000, 10_000, horizon]])
    table = algorithm.regret_bound(instance, horizon, times)
    assert table.shape == times.shape
    at_horizon = algorithm.regret_bound(instance, horizon)
    assert np.ndim(at_horizon) == 0 and float(at_horizon) == table[-1, -1]
    line = algorithm.regret_bound(instance, horizon, times.ravel().tolist())
    np.testing.assert_allclose(line, table.ravel(), rtol=1e-12)
    assert np.all(np.diff(line) >= 0), "regret only grows"
    assert np.all(line <= 0.7 * times.ravel() + 1e-9), "no worse than the worst arm throughout"
    assert algorithm.regret_bound(bandit(algorithm, (0.5, 0.5)), horizon) == 0
