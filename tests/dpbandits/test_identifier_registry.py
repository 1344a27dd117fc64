"""What every algorithm for best-arm identification must be, checked for each entry of the registry.

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
from statistical import may_be_at_most
from test_registry import subclasses
from test_validation import NOT_A_NUMBER, NOT_FRACTIONS, NOT_POSITIVE, NOT_WHOLE, refusal

import dpbandits as dpb
from dpbandits.identification import (
    Decision,
    DrawnRewards,
    IdentificationAlgorithm,
    TableRewards,
    batches,
    dp_se,
    dplre,
)

CONFIGURATIONS = {
    "TopTwo": [dpb.TopTwo(0.1), dpb.TopTwo(0.05, leader_share=0.4)],
    "DPTT": [
        dpb.DPTT(1.0, 0.1),
        dpb.DPTT(2.0, 0.1, threshold="union", eta=0.5),
        dpb.DPTT(1.0, 0.05, costs="plain", exploration=1.0, leader_share=0.4),
        dpb.DPTT(math.inf, 0.1),
    ],
    "AdaPTT": [dpb.AdaPTT(1.0, 0.1), dpb.AdaPTT(1.0, 0.1, threshold="heuristic")],
    "AdaPTTStar": [dpb.AdaPTTStar(1.0, 0.1)],
    "DPSEIdentifier": [dpb.DPSEIdentifier(1.0, 0.1), dpb.DPSEIdentifier(math.inf, 0.05)],
    "DPLRE": [dpb.DPLRE(1.0, 0.1), dpb.DPLRE(3.0, 0.05, least_growth=0.3)],
}
EVERY = [
    pytest.param(algorithm, id=repr(algorithm))
    for configurations in CONFIGURATIONS.values()
    for algorithm in configurations
]
every_algorithm = pytest.mark.parametrize("algorithm", EVERY)
every_class = pytest.mark.parametrize("cls", dpb.identifiers.values(), ids=lambda cls: cls.__name__)
EASY = dpb.instances.bernoulli([0.1, 0.9, 0.3])
MANY = dpb.instances.bernoulli([0.9, 0.8, 0.75, 0.7, 0.65, 0.6, 0.5, 0.4])


def test_the_table_covers_the_registry():
    assert CONFIGURATIONS.keys() == dpb.identifiers.keys()
    for name, configurations in CONFIGURATIONS.items():
        assert configurations
        assert all(type(each) is dpb.identifiers[name] for each in configurations)


def test_the_registry_covers_the_package():
    found = {
        cls
        for cls in subclasses(IdentificationAlgorithm)
        if cls.__module__.startswith("dpbandits.")
        and not inspect.isabstract(cls)
        and not cls.__name__.startswith("_")
    }
    assert found == set(dpb.identifiers.values())
    for name, cls in dpb.identifiers.items():
        assert cls.__name__ == name and getattr(dpb, name) is cls and name in dpb.__all__
    assert len({cls.label for cls in found}) == len(found), "labels are distinct"


@every_algorithm
def test_a_configuration_is_a_value(algorithm):
    twin = copy.deepcopy(algorithm)
    assert twin == algorithm and hash(twin) == hash(algorithm)
    assert pickle.loads(pickle.dumps(algorithm)) == algorithm
    assert eval(repr(algorithm), vars(dpb) | {"inf": math.inf}) == algorithm
    for field in dataclasses.fields(algorithm):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(algorithm, field.name, getattr(algorithm, field.name))
        assert type(getattr(algorithm, field.name)) in (float, int, str)
    assert algorithm not in [other.values[0] for other in EVERY if other.values[0] is not algorithm]


@every_class
def test_documentation(cls):
    text = inspect.getdoc(cls)
    assert cls.label and cls.source
    assert "Examples\n--------" in text and ">>> " in text
    assert "Parameters\n----------" in text
    for field in dataclasses.fields(cls):
        named = rf"^(\w+, )*{field.name}(, \w+)* : "
        assert re.search(named, text, re.MULTILINE), f"{field.name} is documented"


@every_algorithm
def test_guarantee(algorithm):
    guarantee = algorithm.guarantee
    assert isinstance(guarantee, dpb.PrivacyGuarantee)
    assert guarantee.epsilon == getattr(algorithm, "epsilon", math.inf) and guarantee.delta == 0
    assert guarantee.model == "global" and guarantee.is_private == (guarantee.epsilon < math.inf)


BAD = {
    "epsilon": NOT_A_NUMBER + NOT_POSITIVE,
    "delta": NOT_A_NUMBER + NOT_FRACTIONS,
    "leader_share": NOT_A_NUMBER + NOT_FRACTIONS,
    "threshold": ["nothing", None, 3],
    "costs": ["nothing", None, 3],
    "eta": [*NOT_A_NUMBER, *NOT_POSITIVE, math.inf],
    "exploration": [*NOT_A_NUMBER, -1.0, math.inf],
    "exponent": [*NOT_A_NUMBER, 1.0, 0.5, math.inf],
    "least_growth": [*NOT_A_NUMBER, 0.0, 1e-4, 1e308, math.inf],
    "most_growth": [*NOT_A_NUMBER, 0.0, 1e-4, 1e308, math.inf],
    "first": [*NOT_WHOLE, 0, -1, 2**53 + 1],
}
CASES = [
    pytest.param(cls, field.name, value, id=f"{cls.__name__}-{field.name}-{value!r:.30}")
    for cls in dpb.identifiers.values()
    for field in dataclasses.fields(cls)
    for value in BAD.get(field.name, [math.nan, -1.0])
]


@pytest.mark.parametrize(("cls", "argument", "value"), CASES)
def test_bad_arguments_are_refused(cls, argument, value):
    good = {"epsilon": 1.0, "delta": 0.1}
    good = {field.name: good[field.name] for field in dataclasses.fields(cls) if field.name in good}
    refusal(argument, value, lambda: cls(**(good | {argument: value})))
    refusal(argument, value, lambda: dataclasses.replace(cls(**good), **{argument: value}))


@every_algorithm
def test_instances_that_cannot_be_decided_are_refused(algorithm, rng):
    tied = dpb.instances.bernoulli([0.5, 0.5, 0.1])
    with pytest.raises(ValueError, match=r"means=.* several best arms; allowed: one"):
        algorithm.draw(tied, rng)
    heavy = dpb.instances.twzw22("S1", order=0.9)
    with pytest.raises(ValueError, match="instance=.* allowed: one with rewards of 0 or 1"):
        algorithm.draw(heavy, rng)
    refusal("max_pulls", 2, lambda: algorithm.draw(EASY, rng, max_pulls=2))


@every_algorithm
@pytest.mark.parametrize("means", [(0.1, 0.9, 0.3), (1.0, 0.0), (0.9, 0.2, 0.2, 0.2)])
def test_the_best_arm_is_found(algorithm, means):
    instance = dpb.instances.bernoulli(means)
    runs = dpb.identify(algorithm, instance, n_runs=12)
    assert runs.stopped.all() and runs.errors() <= 6
    assert (runs.pulls >= 1).all()


@every_algorithm
def test_the_generator_is_the_only_source_of_randomness(algorithm):
    state = np.random.get_state()[1].tolist()  # noqa: NPY002
    first, again, other = (
        [(v.recommendation, *v.pulls.tolist()) for v in (algorithm.draw(MANY, r) for _ in range(4))]
        for r in map(np.random.default_rng, (5, 5, 6))
    )
    assert first == again != other
    assert np.random.get_state()[1].tolist() == state, "no global randomness"  # noqa: NPY002


@every_algorithm
def test_a_run_ends_at_its_limit(algorithm, rng):
    near = dpb.instances.bernoulli([0.5, 0.499, 0.3])
    for most in (3, 10, 57, 200):
        verdict = algorithm.draw(near, rng, max_pulls=most)
        assert isinstance(verdict, Decision)
        assert verdict.recommendation == -1 and not verdict.stopped
        assert verdict.stopping_time == most


class Watched:
    """Rewards from a table, with a note of what was asked for."""

    def __init__(self, table):
        self.rewards, self.asked = TableRewards(table), np.zeros(len(table), dtype=np.int64)

    @property
    def n_arms(self):
        return self.rewards.n_arms

    def total(self, arm, size):
        self.asked[arm] += size
        return self.rewards.total(arm, size)


@every_algorithm
def test_own_tables_are_read_no_further_than_pulled(algorithm, rng):
    table = [rng.random(3000) < p for p in (0.05, 0.95)]
    rewards = Watched(table)
    verdict = algorithm.decide(rewards, rng, 3000)
    assert (rewards.asked <= verdict.pulls).all(), "every reward that was read was pulled"
    assert verdict.recommendation in (1, -1)
    if isinstance(algorithm, dpb.TopTwo):
        assert (rewards.asked == verdict.pulls).all()


class Recorder:
    """Rewards and noise, with a note of the size of each batch and of the scale of each draw."""

    def __init__(self, instance, factor=1.0, twice=False):
        self.rewards = DrawnRewards(instance, np.random.default_rng(7))
        self.own, self.factor, self.twice = np.random.default_rng(8), factor, twice
        self.sizes, self.scales = [], []

    @property
    def n_arms(self):
        return self.rewards.n_arms

    def total(self, arm, size):
        self.sizes.append(int(size))
        return self.rewards.total(arm, size)

    def laplace(self, rng, scale):
        return float(self.laplace_noise(rng, scale, 1)[0])

    def laplace_noise(self, rng, scale, size):
        scale *= self.factor
        for _ in range(1 + self.twice):
            self.scales += [scale] * size
        return self.own.laplace(0.0, scale, size)


# where each private algorithm has its noise from, and whether means are released, or sums
NOISE = {
    "DPTT": (batches, "laplace", False),
    "AdaPTT": (batches, "laplace", False),
    "AdaPTTStar": (batches, "laplace", False),
    "DPSEIdentifier": (dp_se, "laplace_noise", True),
    "DPLRE": (dplre, "laplace", False),
}


def test_every_private_algorithm_has_its_noise_examined():
    private = {n for n, each in CONFIGURATIONS.items() if any(a.guarantee.is_private for a in each)}
    assert private == NOISE.keys()


def noise_is_right(algorithm, monkeypatch, **twin):
    """Whether every batch was released once, with noise of scale 1/ε for its sum."""
    module, name, is_mean = NOISE[type(algorithm).__name__]
    recorder, rng = Recorder(EASY, **twin), np.random.default_rng(9)
    before = rng.bit_generator.state
    monkeypatch.setattr(module, name, getattr(recorder, name))
    assert algorithm.decide(recorder, rng, 10**6).stopped
    assert rng.bit_generator.state == before, "nothing is random but rewards and this noise"
    if len(recorder.scales) != len(recorder.sizes):
        return False
    scales = np.array(recorder.scales) * (np.array(recorder.sizes) if is_mean else 1)
    return bool(np.allclose(scales, 1 / algorithm.epsilon, rtol=1e-12, atol=0.0))


@pytest.mark.parametrize("epsilon", [0.4, 3.0])
@pytest.mark.parametrize("algorithm", [p for p in EVERY if p.values[0].guarantee.is_private])
def test_every_batch_is_released_with_noise_of_scale_one_over_epsilon(
    algorithm, epsilon, monkeypatch
):
    algorithm = dataclasses.replace(algorithm, epsilon=epsilon)
    assert noise_is_right(algorithm, monkeypatch)
    assert not noise_is_right(algorithm, monkeypatch, factor=0.5), "control"
    assert not noise_is_right(algorithm, monkeypatch, twice=True), "control"


@every_algorithm
def test_what_is_no_source_of_rewards_is_refused(algorithm, rng):
    class OneArm:
        n_arms = 1

        def total(self, arm, size):
            return 0

    for wrong in (EASY, [[0, 1], [1, 0]], None, OneArm()):
        refusal("rewards", wrong, lambda wrong=wrong: algorithm.decide(wrong, rng, 100))
    rewards = TableRewards([[0, 1], [1, 0]])
    for most in (1, 2**62 + 1, 3.5, "many"):
        refusal("max_pulls", most, lambda most=most: algorithm.decide(rewards, rng, most))
    refusal("rng", 5, lambda: algorithm.decide(rewards, 5, 100))


SURE = [
    pytest.param(
        cls(**({"epsilon": 2.0} if "epsilon" in names else {}), delta=0.2), id=cls.__name__
    )
    for cls in dpb.identifiers.values()
    for names in [{field.name for field in dataclasses.fields(cls)}]
]


@pytest.mark.statistical
@pytest.mark.parametrize("algorithm", SURE)
def test_errors_are_rare_enough(algorithm):
    """At most δ of the runs are wrong; the control, asked about another arm, mostly is."""
    assert algorithm.is_correct
    instance = dpb.instances.bernoulli([0.8, 0.6])
    runs = dpb.identify(algorithm, instance, n_runs=150)
    assert may_be_at_most(runs.errors(), runs.n_runs, 0.2)
    assert not may_be_at_most(int((runs.recommendation != 1).sum()), runs.n_runs, 0.2)
