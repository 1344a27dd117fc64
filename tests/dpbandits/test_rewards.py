"""One protocol for rewards: every algorithm for rewards in [0, 1] runs on every source of them."""

import math
import re

import numpy as np
import pytest
from statistical import may_be_at_most, same_law
from test_registry import CONFIGURATIONS

import dpbandits as dpb
from dpbandits.identification import FinitePopulation
from dpbandits.regret.heavy import HeavyTailAlgorithm
from dpbandits.rewards.binomial import binomial
from dpbandits.rewards.heavy_laws import ParetoLaw, SampledLaw, TwoPointHeavyLaw
from dpbandits.rewards.populations import PopulationRewards
from dpbandits.rewards.run import Run
from dpbandits.rewards.sources import DrawnRewards, FixedRewards, LawRewards, Source
from dpbandits.rewards.truncated_sums import truncated_sum

BOUNDED = [
    pytest.param(algorithm, id=repr(algorithm).replace("[", "(").replace("]", ")"))
    for configurations in CONFIGURATIONS.values()
    for algorithm in configurations
    if not isinstance(getattr(algorithm, "base", algorithm), HeavyTailAlgorithm)
]
every_algorithm = pytest.mark.parametrize("algorithm", BOUNDED)
LAWS = [dpb.laws.beta(a, b) for a, b in ((1, 4), (9, 1), (1, 4))]
PER_STEP = [dpb.UCB(), dpb.DPUCB(9.0), dpb.DPUCBInt(0.3, "literal")]
CERTAIN = [1.0, 0.0, 1.0]


@every_algorithm
def test_every_algorithm_runs_on_every_source(algorithm):
    """Beta laws, a table, a function and patients, whose best arm is found in the first three."""
    horizon, rng = 6000, np.random.default_rng(7)
    table = np.array([law.sample(rng, horizon) for law in LAWS])
    streams = [iter(row.tolist()) for row in table]
    found = []
    for instance in (
        dpb.instances.bounded(LAWS),
        dpb.instances.table(table),
        dpb.instances.callback(lambda arm: next(streams[arm]), 3, [0.2, 0.9, 0.2]),
        FinitePopulation((1200, 5400, 1200), (6000, 6000, 6000)),
    ):
        (runs,) = dpb.simulate_many({0: (algorithm, instance)}, horizon, n_runs=1).values()
        assert runs.pulls.sum() == horizon
        assert runs.regret[0, -1] == pytest.approx(runs.pulls[0] @ instance.gaps)
        found.append(runs.pulls[0])
        proved = not isinstance(instance, FinitePopulation) and hasattr(instance, "laws")
        assert proved or algorithm.regret_bound(instance, horizon) == np.inf
    if isinstance(algorithm, dpb.UCB | dpb.AnytimeLazyUCB | dpb.DPKLUCB):
        assert all(pulls[1] > horizon / 2 for pulls in found)


@every_algorithm
def test_the_same_rewards_are_the_same_run_wherever_they_come_from(algorithm):
    """Bit for bit, with certain rewards of 0 and 1; control: another table."""
    table, times = np.repeat([CERTAIN], 900, axis=0).T, np.array([2, 55, 900])
    sources = [dpb.instances.table(table), dpb.instances.callback(lambda arm: CERTAIN[arm], 3)]
    if not isinstance(getattr(algorithm, "base", algorithm), dpb.DPUCBInt):
        sources.append(dpb.instances.bernoulli(CERTAIN))
    plays = [algorithm.draw(s, 900, times, np.random.default_rng(5), "reference") for s in sources]
    for play in plays[1:]:
        assert np.array_equal(play.counts, plays[0].counts)
        assert np.array_equal(play.epoch_ends, plays[0].epoch_ends)
    other = algorithm.draw(dpb.instances.table(1 - table), 900, times, np.random.default_rng(5))
    late = algorithm.first_decision(3, 900) > 900  # no reward decides anything
    assert late or not np.array_equal(other.counts, plays[0].counts)


FAST = [
    (dpb.UCB(), 300),
    (dpb.DPUCB(30.0), 300),
    (dpb.DPUCBBound(30.0), 300),
    (dpb.DPUCBHybrid(20.0), 300),
    (dpb.DPUCBInt(0.3), 300),
    (dpb.DPSE(0.05, 0.9), 6000),
    (dpb.LazyDPTS(2.0), 300),
    (dpb.DPKLUCB(2.0), 300),
]


@pytest.mark.statistical
@pytest.mark.parametrize(("algorithm", "horizon"), FAST, ids=repr)
def test_rewards_of_0_or_1_drawn_one_by_one_have_the_law_of_the_fast_path(algorithm, horizon):
    """500 runs, two arms' pulls at two times: 2 comparisons. Control: a wrong law."""
    means, times = [0.4, 0.6], np.array([horizon // 3, horizon])
    fast, laws = dpb.instances.bernoulli(means), [dpb.laws.TwoPointLaw(1.0, 0, 1, p) for p in means]
    rng = np.random.default_rng(11)

    def pulls(make):
        runs = [algorithm.draw(make(), horizon, times, rng).counts[:, 0] for _ in range(500)]
        return np.array(runs).T

    expected = pulls(lambda: fast)
    for sample, other in zip(pulls(lambda: LawRewards(laws, rng)), expected, strict=True):
        assert same_law(sample, other, 1 / 2)
    broken = pulls(lambda: LawRewards([laws[0], dpb.laws.TwoPointLaw(1.0, 0, 1, 0.9)], rng))
    assert not all(same_law(*pair, 1 / 2) for pair in zip(broken, expected, strict=True))


@pytest.mark.statistical
def test_drawn_sums_are_those_of_the_laws():
    """A law without `sample_sum` is summed block by block; control: another mean."""

    class Plain:
        mean = 0.3

        def sample(self, rng, size):
            return (rng.random(size) < self.mean).astype(float)

    rewards = dpb.instances.bounded([Plain(), Plain()]).rewards(np.random.default_rng(0))
    singly = sum(rewards.total(0, 1) for _ in range(100_000))  # from blocks, drawn ahead
    for total in (rewards.total(1, 100_000), singly):
        assert may_be_at_most(int(total), 100_000, 0.3, 1 / 4)
        assert may_be_at_most(int(100_000 - total), 100_000, 0.7, 1 / 4)
        assert not may_be_at_most(int(total), 100_000, 0.28)


def sources(table):
    """Sources that give the rewards of a table; those of 0 and 1 by a population as well."""
    streams = [iter(row.tolist()) for row in table]
    patients = tuple(map(int, table.sum(axis=1))), (table.shape[1],) * len(table)
    live = dpb.instances.callback(lambda arm: next(streams[arm]), len(table))
    yield from (live.rewards(np.random.default_rng(0)), FixedRewards(table))
    if np.isin(table, (0, 1)).all():
        yield FinitePopulation(*patients).rewards(np.random.default_rng(0))


@pytest.mark.parametrize("digits", [0, 3])
def test_moments_are_those_of_the_rewards_one_by_one(digits):
    table = np.random.default_rng(1).random((2, 90)).round(digits)
    for source in sources(table):
        assert source.moments(1, 0) == (0.0, 0.0)
        found = np.array([source.moments(0, size) for size in (1, 64, 25)])
        if not isinstance(source, PopulationRewards):  # which come in another order
            parts = np.split(table[0], [1, 65])
            expected = [(part.sum(), part @ part) for part in parts]
            np.testing.assert_allclose(found, expected, rtol=1e-13)
        assert found.sum(axis=0) == pytest.approx((table[0].sum(), table[0] @ table[0]))
        assert source.total(1, 90) == pytest.approx(table[1].sum()), "nothing else is used up"


class OwnRewards(FixedRewards):
    """A source of its own, of which a closed form is not known."""


def test_truncated_sums_belong_to_the_source():
    """Elimination for heavy tails asks them of any source that promises a moment."""
    table = [[0.5, 2.0, -3.0, 1.0], [4.0, 4.0, 0.0, 0.0]]
    run = Run(OwnRewards(table), np.array([6]))
    assert list(run.truncated_totals([0, 1], 3, 2.0)) == [2.5, 0.0]
    assert (run.pulls, run.ends) == ([3, 3], [6])
    assert OwnRewards(table).truncated_total(0, 4, math.inf) == 0.5, "nothing is truncated"
    with pytest.raises(ValueError, match="bound=0 is out of range"):
        OwnRewards(table).truncated_total(0, 4, 0)
    laws = [TwoPointHeavyLaw(3.0, 1.0), ParetoLaw(1.5, 1.0)]
    heavy = dpb.instances.heavy(laws, order=0.4, moment_bound=20.0)
    for bound in (2.0, 3.0, 50.0):
        source, rng = heavy.rewards(np.random.default_rng(4)), np.random.default_rng(4)
        for arm in (0, 1):
            total = source.truncated_total(arm, 10**5, bound)
            assert total == truncated_sum(rng, laws[arm], 10**5, bound)


def test_moments_are_the_draw_of_the_sum():
    """The generator and the sum are those of `total`; squares of 0 and 1 are the sum again."""
    two = [dpb.laws.TwoPointLaw(1.0, 0.25, 0.75, p) for p in (0.2, 0.6)]

    class Plain:
        mean = 0.3

        def sample(self, rng, size):
            return rng.random(size)

    for instance in (
        dpb.instances.bernoulli([0.3, 0.6]),
        dpb.instances.bounded(two),
        dpb.instances.bounded(LAWS),
        dpb.instances.bounded([Plain(), Plain()]),
        dpb.instances.pareto([0.9, 0.5], order=0.5),
    ):
        rngs = np.random.default_rng(3), np.random.default_rng(3)
        first, second = map(instance.rewards, rngs)
        for size in (1, 5, 700):
            total, squares = first.moments(1, size)
            assert total == pytest.approx(second.total(1, size), rel=1e-13)
            assert squares >= total**2 / size * (1 - 1e-12)
            assert squares == total or instance.name != "Bernoulli"
        assert rngs[0].bit_generator.state == rngs[1].bit_generator.state


def test_a_function_is_called_once_a_pull_and_never_ahead():
    for algorithm in (*PER_STEP, dpb.DPSE(5.0, 0.9), dpb.AdaPUCB(1.0), dpb.LazyDPTS(1.0)):
        asked = []
        live = dpb.instances.callback(lambda arm: float(asked.append(arm) or arm), 2)  # noqa: B023
        runs = dpb.simulate(algorithm, live, 700, n_runs=1)
        assert np.isnan(runs.regret).all() and not np.isnan(runs.pulls).any()
        called = np.bincount(asked, minlength=2)
        assert np.all(called <= runs.pulls[0])
        assert algorithm not in PER_STEP or np.array_equal(called, runs.pulls[0])
        with pytest.raises(ValueError, match="means=.* are not known"):
            live.best_arm  # noqa: B018


def test_restarts_go_on_with_the_rewards_that_are_left():
    """Every stretch of guess-and-double reads on: a table serves each of its rewards once."""
    table = np.zeros((2, 400))
    table[0, ::2] = 1.0
    for base in (dpb.UCB(), dpb.AdaPUCB(1.0)):
        source = FixedRewards(table, log=False)
        algorithm = dpb.GuessAndDouble(base, first_guess=8)
        counts = algorithm.draw(source, 300, np.array([300]), np.random.default_rng(0)).counts
        assert np.all(source.tape().read <= counts[0])
        assert base != dpb.UCB() or np.array_equal(source.tape().read, counts[0])


@every_algorithm
def test_rewards_out_of_range_are_refused(algorithm):
    wrong = (1.5, -0.1, np.nan, "1")[len(repr(algorithm)) % 4]
    live = dpb.instances.callback(lambda arm: wrong if arm else 0.5, 2)
    with pytest.raises(ValueError, match=f"reward of arm 1={re.escape(repr(wrong))} .*allowed"):
        dpb.simulate(algorithm, live, 100_000, n_runs=1)


def test_what_is_no_source_of_rewards_is_refused():
    beta, wide = LAWS[0], dpb.laws.uniform(0.25)

    class Wide:
        mean = 0.5

        def sample(self, rng, size):
            return np.full(size, 2.0)

    build = dpb.instances
    few = build.table([[1.0, 0.0], [0.0, 1.0]])

    for make, message in (
        (lambda: build.bounded([beta]), "laws=.* has fewer arms"),
        (lambda: build.bounded([beta, wide]), r"law=.* allowed: \[0, 1\]"),
        (lambda: build.table([[0.0, 2.0], [1.0, 1.0]]), "table=.* is out of range"),
        (lambda: build.table([[0.0, 1.0]]), "table=.* is out of range"),
        (lambda: build.callback(3, 2), "function=3 cannot be called"),
        (lambda: build.callback(abs, 1), "n_arms=1 is out of range"),
        (lambda: build.callback(abs, 2, [0.1, 0.2, 0.3]), "means=.* has 3 arms; allowed: 2"),
        (lambda: build.callback(abs, 2, [0.1, 2.0]), "means=.* is out of range"),
        (lambda: dpb.simulate(dpb.UCB(), build.bounded([Wide(), Wide()]), 9, 1), "reward=.*2.0"),
        (lambda: dpb.simulate(dpb.UCB(), few, 90, 1), "has 2 rewards, and 3 are asked for"),
        (lambda: dpb.simulate(dpb.AdaPUCB(1.0), few, 90, 1), "has 2 rewards, and 3 are asked"),
        (lambda: Source(), "TypeError: .*abstract"),
    ):
        with pytest.raises((ValueError, TypeError)) as caught:
            make()
        assert re.search(message, f"{caught.typename}: {caught.value}")


@pytest.mark.parametrize("mean", [0.0, 1e-9, 0.3, 0.49999999, 0.5, 0.7, 1 - 1e-12, 1.0])
def test_one_reward_is_the_binomial_of_one_trial_bit_for_bit(mean):
    plain, kernel = (np.random.default_rng(5) for _ in range(2))
    ones = DrawnRewards(dpb.instances.bernoulli([mean, 0.5]), plain)
    sizes = [1] * 500 + [2, 7, 10**3, 10**12, 1]
    assert [ones.total(0, n) for n in sizes] == [binomial(kernel, n, mean) for n in sizes]
    assert plain.random() == kernel.random(), "no number more"


class Doubled(dpb.laws.UniformLaw):
    """A law whose sums are its own."""

    def sample_sum(self, rng, n):
        return 2.0 * super().sample_sum(rng, n)


SUMMED = (
    dpb.laws.TwoPointLaw(1.0, 0.2, 0.9, 0.7),
    dpb.laws.TwoPointLaw(1.0, 0, 1, 0.3),
    dpb.laws.UniformLaw(1.0, 0.2, 1.0),
    dpb.laws.discrete([0.0, 0.25, 1.0], [0.5, 0.2, 0.3]),
    dpb.laws.discrete([0.25]),
    *(dpb.laws.beta(*ab) for ab in ((74.25, 24.75), (0.5, 0.5), (1e-3, 1e-3), (1, 1), (0.3, 7))),
    Doubled(1.0, 0.1, 0.3),
)


@pytest.mark.parametrize("law", SUMMED, ids=repr)
def test_sums_are_those_that_the_law_draws_bit_for_bit(law):
    plain, kept, other = (np.random.default_rng(seed) for seed in (5, 5, 6))
    sizes = [1] * 500 + [2, 7, 999, 1000, 1]
    rewards, control = LawRewards([law, law], kept), LawRewards([law, law], other)
    found = [rewards.total(1, n) for n in sizes]
    assert found == [law.sample_sum(plain, n) for n in sizes]
    assert rewards.moments(1, 9) == law.sample_moments(plain, 9)
    assert kept.random() == plain.random(), "no number more"
    certain = law.support[0] == law.support[1]
    assert certain == (found == [control.total(1, n) for n in sizes]), "control"


@pytest.mark.parametrize("law", [ParetoLaw(1.55, 0.32), TwoPointHeavyLaw(5.0, 0.3)], ids=repr)
def test_one_heavy_reward_is_the_sample_of_one_bit_for_bit(law):
    plain, kept, other = (np.random.default_rng(seed) for seed in (5, 5, 6))
    instance = dpb.instances.heavy([law, law], 0.5, law.moment(0.5))
    rewards, control = instance.rewards(kept), instance.rewards(other)
    found = [rewards.total(1, 1) for _ in range(500)]
    assert found == [law.sample(plain, 1)[0] for _ in range(500)]
    assert kept.random() == plain.random(), "no number more"
    assert found != [control.total(1, 1) for _ in range(500)], "control"


@pytest.mark.statistical
def test_single_rewards_of_a_sampler_are_drawn_ahead_in_blocks():
    """100 000 rewards of 0 or 2, from both sides: 2 comparisons. Control: another probability."""
    asked = []

    def sampler(rng, size):
        asked.append(size)
        return 2.0 * (rng.random(size) < 0.3)

    law = SampledLaw(sampler, 0.6, 1.0, 1.2)
    rewards = dpb.instances.heavy([law, law], 1.0, 1.2).rewards(np.random.default_rng(0))
    asked.clear()
    count = int(sum(rewards.total(1, 1) for _ in range(100_000)) / 2)
    assert asked[:10] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 256] and max(asked) == 256
    assert may_be_at_most(count, 100_000, 0.3, 1 / 2)
    assert may_be_at_most(100_000 - count, 100_000, 0.7, 1 / 2)
    assert not may_be_at_most(count, 100_000, 0.28), "control"


def test_a_function_of_heavy_rewards_is_called_once_a_pull_and_never_ahead():
    calls = []
    live = dpb.instances.heavy_callback(lambda arm: calls.append(arm) or 1.0, 2, 1.0, 4.0)
    rewards = live.rewards(np.random.default_rng(0))
    assert [rewards.total(arm, 1) for arm in (0, 1, 1)] == [1.0] * 3 and calls == [0, 1, 1]
