"""DP-LRE: error rate and schedule; and the privacy of all algorithms that release batches."""

import math
import re
import sys
from itertools import pairwise

import numpy as np
import pytest
from statistical import clopper_pearson, may_be_at_most

import dpbandits as dpb
from dpbandits.identification import DrawnRewards, TableRewards, dplre, identify
from dpbandits.identification.dplre import DPLRE

INF = math.inf


def with_rule(algorithm, **fields):
    """The same, with another rule for the compiled functions."""
    kind = type(algorithm)
    rule = {"rule": lambda self, n_arms: kind.rule(self, n_arms)._replace(**fields)}
    return type("Variant", (kind,), rule)(**vars(algorithm))


class Seen:
    """Rewards that keep account of what was asked for."""

    def __init__(self, rewards):
        self.rewards, self.asked, self.sums = rewards, [], []

    @property
    def n_arms(self):
        return self.rewards.n_arms

    def total(self, arm, size):
        self.asked.append((arm, size))
        self.sums.append(self.rewards.total(arm, size))
        return self.sums[-1]


PRIVATE = [
    DPLRE(0.8, 0.1),
    dpb.DPTT(2.0, 0.2),
    dpb.DPTT(2.0, 0.2, eta=0.4),
    dpb.AdaPTT(5.0, 0.3),
    dpb.AdaPTTStar(2.0, 0.2),
]


def run_with_noise(monkeypatch, setting, table, noise, declared=None):
    """Run on a table with given noise; return what was asked for, the sums and the decision."""
    supply = iter(noise)

    def given(rng, scale):
        assert scale == 1 / (declared or setting.epsilon), "every noise has scale 1/ε"
        return next(supply)

    monkeypatch.setattr(sys.modules[type(setting).decide.__module__], "laplace", given)
    seen = Seen(TableRewards(table))
    decision = setting.decide(seen, np.random.default_rng(0), 40_000)
    return seen, (seen.asked, decision.recommendation, decision.pulls.tolist()), supply


def differing_output(monkeypatch, setting, rng, flips=8, off=0, declared=None):
    """How often a changed reward is seen, when the one noise of its batch makes up for it.

    Noises of which the scale is not the declared one are noticed; `off` is added to the noise.
    """
    table = [(rng.random(40_000) < mean).astype(int) for mean in (0.8, 0.5, 0.3)]
    noise = rng.laplace(0.0, 1 / setting.epsilon, 500).round(3)
    seen, output, supply = run_with_noise(monkeypatch, setting, table, noise, declared)
    assert output[1] >= 0 and len(seen.asked) == 500 - len(list(supply))  # one noise a release
    asked = [sum(n for arm, n in seen.asked if arm == a) for a in range(3)]
    assert asked == output[2] or (not isinstance(setting, DPLRE) and sum(asked) <= sum(output[2]))
    differing = 0
    for _ in range(flips):
        arm = int(rng.integers(3))
        place = int(rng.integers(asked[arm]))
        neighbour = [rewards.copy() for rewards in table]
        neighbour[arm][place] ^= 1
        ends = np.cumsum([n if a == arm else 0 for a, n in seen.asked])
        shifted = noise.copy()
        shifted[int(np.argmax(ends > place))] += table[arm][place] - neighbour[arm][place] + off
        differing += run_with_noise(monkeypatch, setting, neighbour, shifted)[1] != output
    return differing


@pytest.mark.parametrize("setting", PRIVATE, ids=str)
def test_everything_is_a_function_of_released_sums(setting, monkeypatch, rng):
    """A changed reward and a noise shifted by 1 give the same run: e^ε at most between the laws.

    Controls: released values that differ, and a scale that is not the declared one.
    """
    assert differing_output(monkeypatch, setting, rng) == 0
    assert differing_output(monkeypatch, setting, rng, off=40) > 0
    for factor in (0.5, 2.0):
        with pytest.raises(AssertionError, match="scale 1/ε"):
            differing_output(monkeypatch, setting, rng, declared=factor * setting.epsilon)


def test_a_size_that_depends_on_raw_rewards_is_caught(monkeypatch, rng):
    seen, following = [], dplre.next_batch

    class Noted(Seen):
        def __init__(self, rewards):
            super().__init__(rewards)
            seen[:] = [self]

    def peeks(rule, arms):
        arm, size = following(rule, arms)
        return arm, size + (sum(seen[0].sums) % 2 if size and seen[0].sums else 0)

    monkeypatch.setattr(dplre, "next_batch", peeks)
    monkeypatch.setitem(globals(), "Seen", Noted)
    assert differing_output(monkeypatch, PRIVATE[0], rng) > 0


ERROR_CASES = [
    ((0.9, 0.6, 0.3), 0.5, 0.2),
    ((0.6, 0.5), 0.05, 0.05),
    ((0.53, 0.5, 0.5), 1.0, 0.1),
    ((1.0, 0.9, 0.0), 0.1, 0.1),
]


@pytest.mark.statistical
@pytest.mark.parametrize(("means", "epsilon", "delta"), ERROR_CASES)
def test_error_rate(means, epsilon, delta):
    runs = identify(DPLRE(epsilon, delta), dpb.instances.bernoulli(means), n_runs=300, seed=5)
    assert runs.stopped.all()
    assert may_be_at_most(runs.errors(), runs.n_runs, delta, share=1 / len(ERROR_CASES))


def asking(algorithm):
    """The same, which asks for its rewards: it is run by `decide` and not by the compiled loop."""
    kind = type(algorithm)
    decide = {"decide": lambda self, *arguments: kind.decide(self, *arguments)}
    return type("Asking", (kind,), decide)(**vars(algorithm))


COMPILED = [
    DPLRE(1.0, 0.01),
    DPLRE(0.1, 0.1, least_growth=0.3),
    DPLRE(30.0, 0.001, most_growth=4.0),
    DPLRE(INF, 0.05),
]


@pytest.mark.parametrize("setting", COMPILED, ids=str)
def test_compiled_runs_are_those_that_ask(setting, same_seeds):
    """From the same seeds, runs that are ended included; control: other seeds."""
    means = [(0.95, 0.9, 0.9, 0.5), (0.6, 0.5), (0.02, 0.05, 0.0), (0.5, *(0.4,) * 9)]
    for instance in map(dpb.instances.bernoulli, means):
        for most in (2**60, 3000, 15):
            runs, own = (identify(s, instance, 3, 1, most) for s in (setting, asking(setting)))
            assert (runs.pulls == own.pulls).all()
            assert (runs.recommendation == own.recommendation).all()
    assert (
        identify(setting, instance, 3, 2).pulls != identify(setting, instance, 3, 1).pulls
    ).any()


def errors_of(algorithm, means, n_runs):
    runs = identify(algorithm, dpb.instances.bernoulli(means), n_runs=n_runs, seed=6)
    return runs.errors(), runs.n_runs


def test_noise_forgotten_in_the_likelihood_is_convicted(monkeypatch):
    algorithm = with_rule(asking(DPLRE(0.05, 0.05)), epsilon=5.0)
    errors, n_runs = errors_of(algorithm, (0.6, 0.5), 200)
    assert clopper_pearson(errors, n_runs)[0] > 0.05


def test_a_threshold_of_one_is_convicted():
    errors, n_runs = errors_of(with_rule(DPLRE(1.0, 0.01), threshold=0.0), (0.52, 0.5, 0.5), 300)
    assert clopper_pearson(errors, n_runs)[0] > 0.01


class LateBloomer:
    """Arm 0 looks like 0.4 until others were pulled ten times as often, and then like 0.9.

    The others are tied at ½: as if arm 0 had been unlucky, and was dropped by mistake.
    """

    n_arms = 3

    def __init__(self, rng):
        self.rng, self.own, self.others = rng, 0, 0

    def total(self, arm, size):
        if arm > 0:
            self.others += size
            return int(self.rng.binomial(size, 0.5))
        mean = 0.4 if self.others < 10 * self.own or self.own == 0 else 0.9
        self.own += size
        return int(mean * size)


@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize("way", ["demand", "top-up", "none"])
def test_a_best_arm_that_was_dropped_comes_back(way):
    """With δ = 3·10⁻⁷ the tied arms part with probability at most δ a run.

    Either of the two ways back is enough; without them the run never ends.
    """
    ways = ({} if way == "demand" else {"scarce": INF}) | {"top_up": way == "top-up"}
    rng = np.random.default_rng(1)
    decision = with_rule(DPLRE(5.0, 3e-7), **ways).decide(LateBloomer(rng), rng, 10**10)
    assert decision.recommendation == (-1 if way == "none" else 0)
    assert (decision.stopping_time < 10**8) == (way != "none")


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 125.0, INF])
@pytest.mark.parametrize("means", [(1.0, 0.0), (0.0, 1.0, 0.0), (1.0, 0.8), (0.1, 0.0)])
def test_means_at_the_ends(means, epsilon):
    instance = dpb.instances.bernoulli(means)
    runs = identify(DPLRE(epsilon, 1e-6), instance, n_runs=3, max_pulls=10**6)
    assert (runs.recommendation == instance.best_arm).all()


def test_a_run_ends_in_time():
    instance = dpb.instances.bernoulli([0.51, 0.5])
    for most in (2, 40, 1000, 20_000):
        decision = DPLRE(1.0, 0.01).draw(instance, np.random.default_rng(0), most)
        assert not decision.stopped and decision.stopping_time == most
    for most in (10**15, 2**62):
        decision = DPLRE(1e-90, 0.01).draw(instance, np.random.default_rng(0), most)
        assert not decision.stopped and decision.stopping_time == min(most, 2**53)


@pytest.mark.parametrize("most", [300, 5000, 10**6])
def test_a_batch_that_is_cut_short_counts_and_asks_for_nothing(most):
    algorithm = DPLRE(1.0, 0.01, most_growth=20.0)
    rng = np.random.default_rng(3)
    seen = Seen(DrawnRewards(dpb.instances.bernoulli([0.5001, 0.5]), rng))
    decision = algorithm.decide(seen, rng, most)
    assert not decision.stopped and decision.stopping_time == most
    asked = np.array([sum(n for arm, n in seen.asked if arm == a) for a in (0, 1)])
    assert (asked <= decision.pulls).all() and (asked < decision.pulls).sum() == 1


def test_a_run_that_was_ended_counts_as_longer_than_all_that_stopped():
    """With batches that grow twentyfold, runs that stop have times of very different sizes."""
    algorithm, instance = DPLRE(1.0, 0.1, most_growth=20.0), dpb.instances.bernoulli([0.6, 0.5])
    seeds = np.random.SeedSequence(0).spawn(30)
    free = [algorithm.draw(instance, np.random.default_rng(seed), 10**9) for seed in seeds]
    most = int(np.median([decision.stopping_time for decision in free]))
    cut = [algorithm.draw(instance, np.random.default_rng(seed), most) for seed in seeds]
    assert 0 < sum(decision.stopped for decision in cut) < 30
    for whole, part in zip(free, cut, strict=True):
        assert part.stopping_time == (whole.stopping_time if part.stopped else most)
    runs = identify(algorithm, instance, 30, max_pulls=most)
    assert 0 < runs.stopped.sum() < 30
    assert math.isnan(runs.time_quantiles(0.95)) and runs.time_quantiles(0.1) < runs.max_pulls


def test_growth_limits_are_kept():
    algorithm = DPLRE(0.3, 0.01, least_growth=0.25, most_growth=0.5)
    rng = np.random.default_rng(2)
    seen = Seen(TableRewards([rng.random(10**5) < mean for mean in (0.6, 0.55)]))
    algorithm.decide(seen, rng, 50_000)
    for arm in (0, 1):
        sizes = [n for a, n in seen.asked if a == arm]
        assert len(sizes) > 5
        for before, size in pairwise(np.cumsum(sizes).tolist()):
            assert 1.25 * before <= size <= 1.5 * before + 1


def test_bad_arguments():
    with pytest.raises(ValueError, match="most_growth=0.01 .*; allowed: at least least_growth"):
        DPLRE(1.0, 0.1, most_growth=0.01)
    for function in (DPLRE(1.0, 0.1).threshold, DPLRE(1.0, 0.1).first_batch):
        for n_arms in (1, 0, -2, 2.5, "3"):
            with pytest.raises(ValueError, match=re.escape(f"n_arms={n_arms!r} ") + ".*; allowed"):
                function(n_arms)


@pytest.mark.parametrize(
    "growth", [{"least_growth": 1000.0, "most_growth": 1000.0}, {"least_growth": 0.001}]
)
def test_the_ends_of_the_growths(growth):
    instance = dpb.instances.bernoulli([0.9, 0.1])
    decision = DPLRE(1.0, 0.1, **growth).draw(instance, np.random.default_rng(0))
    assert decision.recommendation == 0
