"""What every algorithm for best-arm identification does; `test_registry` has what all must be."""

import dataclasses
import math

import numpy as np
import pytest
from statistical import may_be_at_most
from test_registry import IDENTIFIERS, cases, global_state
from test_validation import refusal

import dpbandits as dpb
from dpbandits.identification import Decision, DrawnRewards, TableRewards, batches, dp_se, dplre

EVERY = cases(IDENTIFIERS)
every_algorithm = pytest.mark.parametrize("algorithm", EVERY)
EASY = dpb.instances.bernoulli([0.1, 0.9, 0.3])
MANY = dpb.instances.bernoulli([0.9, 0.8, 0.75, 0.7, 0.65, 0.6, 0.5, 0.4])


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
def test_the_generator_is_the_only_source_of_randomness(algorithm):
    state = global_state()
    first, again, other = (
        [(v.recommendation, *v.pulls.tolist()) for v in (algorithm.draw(MANY, r) for _ in range(4))]
        for r in map(np.random.default_rng, (5, 5, 6))
    )
    assert first == again != other
    assert global_state() == state, "no global randomness"


@every_algorithm
def test_a_run_ends_at_its_limit(algorithm, rng):
    near = dpb.instances.bernoulli([0.5, 0.499, 0.3])
    for most in (3, 10, 57, 200):
        verdict = algorithm.draw(near, rng, max_pulls=most)
        assert isinstance(verdict, Decision)
        assert verdict.recommendation == -1 and not verdict.stopped
        assert verdict.stopping_time == most


class Recorder:
    """Rewards and noise, with a note of the size of each batch and of the scale of each draw.

    Noise is that of the arm that was pulled last, or of all of which rewards were asked for.
    """

    def __init__(self, rewards, factor=1.0, twice=False):
        self.rewards, self.factor, self.twice = rewards, factor, twice
        self.own, self.n_arms = np.random.default_rng(8), rewards.n_arms
        self.sizes, self.scales, self.last = [], [], 0
        self.asked, self.open = np.zeros((2, rewards.n_arms), np.int64)

    def total(self, arm, size):
        self.last = arm
        self.open[arm] += size
        self.asked[arm] += size
        return self.rewards.total(arm, size)

    def laplace(self, rng, scale):
        return float(self.laplace_noise(rng, scale, 1)[0])

    def laplace_noise(self, rng, scale, size):
        scale *= self.factor
        arms = [self.last] if size == 1 else np.flatnonzero(self.open)
        self.sizes += self.open[arms].tolist()
        self.open[arms] = 0
        for _ in range(1 + self.twice):
            self.scales += [scale] * size
        return self.own.laplace(0.0, scale, size)


@every_algorithm
def test_own_tables_are_read_no_further_than_pulled(algorithm, rng):
    table = [rng.random(3000) < p for p in (0.05, 0.95)]
    rewards = Recorder(TableRewards(table))
    verdict = algorithm.draw(rewards, rng, 3000)
    assert (rewards.asked <= verdict.pulls).all(), "every reward that was read was pulled"
    assert verdict.recommendation in (1, -1)
    if verdict.stopped:
        assert (rewards.asked == verdict.pulls).all()


# where each private algorithm has its noise from, and whether means are released, or sums
NOISE = {
    "DPTT": (batches, "laplace", False),
    "AdaPTT": (batches, "laplace", False),
    "AdaPTTStar": (batches, "laplace", False),
    "DPSEIdentifier": (dp_se, "laplace_noise", True),
    "DPLRE": (dplre, "laplace", False),
}


def test_every_private_algorithm_has_its_noise_examined():
    private = {n for n, each in IDENTIFIERS.items() if any(a.guarantee.is_private for a in each)}
    local = {n for n in private if IDENTIFIERS[n][0].guarantee.model == "local"}
    assert private == NOISE.keys() | local and local == {"CTBTT"}


@pytest.mark.parametrize("epsilon", [0.1, 1.0, math.inf])
def test_each_report_is_true_with_odds_of_e_to_epsilon(epsilon):
    """`prop-ctb`: every reward is asked for by itself, and answered with one uniform number."""
    asked = []

    class Rewards:
        n_arms, pulls = 2, [1, 1]

        def total(self, arm, size):
            assert size == 1
            asked.append(arm)
            return reward

    class Uniform:
        def random(self):
            return number

    rule, lie = dpb.CTBTT(epsilon, 0.1), math.exp(-epsilon) / (1 + math.exp(-epsilon))
    for reward in (0.0, 0.25, 1.0):
        chance = lie + (1 - 2 * lie) * reward
        for number, report in ((chance - 1e-12, 1), (chance + 1e-12, 0)):
            if 0 <= number < 1:
                assert rule._next_reward(Rewards(), 1, Uniform()) == report
    assert set(asked) == {1}


def noise_is_right(algorithm, monkeypatch, **twin):
    """Whether every batch was released once, with noise of scale 1/ε for its sum."""
    module, name, is_mean = NOISE[type(algorithm).__name__]
    drawn = DrawnRewards(EASY, np.random.default_rng(7))
    recorder, rng = Recorder(drawn, **twin), np.random.default_rng(9)
    before = rng.bit_generator.state
    monkeypatch.setattr(module, name, getattr(recorder, name))
    assert algorithm.draw(recorder, rng, 10**6).stopped
    assert rng.bit_generator.state == before, "nothing is random but rewards and this noise"
    if len(recorder.scales) != len(recorder.sizes):
        return False
    scales = np.array(recorder.scales) * (np.array(recorder.sizes) if is_mean else 1)
    return bool(np.allclose(scales, 1 / algorithm.epsilon, rtol=1e-12, atol=0.0))


@pytest.mark.parametrize("epsilon", [0.4, 3.0])
@pytest.mark.parametrize("algorithm", [p for p in EVERY if type(p.values[0]).__name__ in NOISE])
def test_every_batch_is_released_with_noise_of_scale_one_over_epsilon(
    algorithm, epsilon, monkeypatch
):
    algorithm = dataclasses.replace(algorithm, epsilon=epsilon)
    assert noise_is_right(algorithm, monkeypatch)
    for broken in ({"factor": 0.5}, {"factor": 2.0}, {"twice": True}):
        assert not noise_is_right(algorithm, monkeypatch, **broken), "control"


@every_algorithm
def test_what_is_no_source_of_rewards_is_refused(algorithm, rng):
    class OneArm:
        n_arms = 1

        def total(self, arm, size):
            return 0

    for wrong in ([[0, 1], [1, 0]], None):
        refusal("instance", wrong, lambda wrong=wrong: algorithm.draw(wrong, rng, 100))
    refusal("rewards", one := OneArm(), lambda: algorithm.draw(one, rng, 100))
    rewards = TableRewards([[0, 1], [1, 0]])
    for most in (1, 2**62 + 1, 3.5, "many"):
        refusal("max_pulls", most, lambda most=most: algorithm.draw(rewards, rng, most))
    refusal("rng", 5, lambda: algorithm.draw(rewards, 5, 100))


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
