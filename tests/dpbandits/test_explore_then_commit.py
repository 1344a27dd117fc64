"""One look: its exact regret against sums over all counts and against runs, and its size."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import integrate, stats
from statistical import FALSE_ALARM, clopper_pearson
from test_validation import refusal

import dpbandits as dpb
from dpbandits import bounds
from dpbandits.bounds.selection import selection_probabilities
from dpbandits.trials.fixed_design import fixed_design_error

CLINIC = dpb.instances.bernoulli([0.6, 0.75])
THREE = dpb.instances.bernoulli([0.3, 0.8, 0.6])
TIED = dpb.instances.bernoulli([0.5, 0.7, 0.7])


def chosen(instance, n, epsilon):
    """P(each arm's noisy count is the largest), by sums over counts and an integral over noise."""
    laws = [stats.binom(n, mean).pmf(np.arange(n + 1)) for mean in instance.means]
    found = np.zeros(instance.n_arms)
    for counts in itertools.product(range(n + 1), repeat=instance.n_arms):
        weight = math.prod(law[s] for law, s in zip(laws, counts, strict=True))
        if epsilon == math.inf:
            best = np.flatnonzero(np.array(counts) == max(counts))
            found[best] += weight / best.size
            continue
        noise = [stats.laplace(s, 1 / epsilon) for s in counts]
        for a in range(instance.n_arms):

            def density(x, a=a, noise=noise):
                others = (noise[b].cdf(x) for b in range(instance.n_arms) if b != a)
                return noise[a].pdf(x) * math.prod(others)

            ends = (min(counts) - 40 / epsilon, max(counts) + 40 / epsilon)
            found[a] += weight * integrate.quad(density, *ends, points=[*set(counts)], limit=200)[0]
    return found


@pytest.mark.parametrize(
    ("instance", "n", "epsilon"),
    [(CLINIC, 3, 0.5), (THREE, 2, 1.5), (TIED, 3, math.inf), (TIED, 2, 0.4)],
)
def test_which_arm_is_chosen(instance, n, epsilon):
    found = selection_probabilities(instance, n, epsilon)
    np.testing.assert_allclose(found, chosen(instance, n, epsilon), rtol=1e-6)
    assert found.sum() == pytest.approx(1, abs=1e-9)
    assert not np.allclose(found, selection_probabilities(instance, n + 1, epsilon)), "control"
    if instance is not TIED:
        error = fixed_design_error(instance, n, epsilon)
        assert error == pytest.approx(1 - found[instance.best_arm], abs=1e-12)


def test_regret_before_and_after_the_look():
    """Pulls in turn up to K·n, and then one arm: at every time, against the plain sum."""
    n, epsilon, times = 4, 0.7, np.arange(31)
    share = selection_probabilities(THREE, n, epsilon)
    gaps = THREE.gaps
    in_turn = [sum(gaps[i % 3] for i in range(min(t, 3 * n))) for t in times.tolist()]
    expected = np.array(in_turn) + np.maximum(times - 3 * n, 0) * (share @ gaps)
    algorithm = dpb.ExploreThenCommit(epsilon, n)
    np.testing.assert_allclose(algorithm.regret_bound(THREE, 30, times), expected, rtol=1e-12)
    assert algorithm.regret_bound(THREE, 30) == pytest.approx(expected[-1])
    graded = dpb.instances.bounded([dpb.laws.beta(2, 1), dpb.laws.beta(1, 2)])
    assert algorithm.regret_bound(graded, 30) == math.inf


@dataclass(frozen=True)
class Twice(dpb.ExploreThenCommit):
    """A broken version, which counts the first pulls of each arm twice."""

    label = "twice"

    def play(self, rewards, horizon, rng):
        sums = rewards.totals(range(rewards.n_arms), self.per_arm)
        sums = 2 * sums + rng.laplace(0.0, 1 / self.epsilon, rewards.n_arms)
        rewards.commit(int(np.argmax(sums)))


@pytest.mark.statistical
def test_runs_have_the_computed_regret():
    """How often each arm is kept, by exact binomial intervals; a version without as much noise."""
    n, epsilon, runs = 6, 0.2, 3000
    share = selection_probabilities(THREE, n, epsilon)

    def kept(kind):
        found = dpb.simulate(kind(epsilon, n), THREE, 100, runs, 1, checkpoints=[18, 100])
        assert (np.sort(found.pulls, axis=1) == [n, n, 100 - 2 * n]).all()
        return np.bincount(found.pulls.argmax(axis=1), minlength=3)

    intervals = [clopper_pearson(int(count), runs, 1 / 3) for count in kept(dpb.ExploreThenCommit)]
    assert all(low <= p <= high for p, (low, high) in zip(share, intervals, strict=True))
    low, high = clopper_pearson(int(kept(Twice)[1]), runs, 1 / 3)
    assert not low <= share[1] <= high, "control"


@pytest.mark.parametrize("epsilon", [0.1, 1.0, math.inf])
def test_no_other_size_is_better(epsilon):
    """Every size from 1 to 150: the planned one has the least regret, up to a thousandth."""
    planned = dpb.ExploreThenCommit.planned(epsilon, CLINIC.mean_rewards, 300)
    regrets = [
        bounds.explore_then_commit_regret(CLINIC.means, 300, epsilon=epsilon, per_arm=n)
        for n in range(1, 151)
    ]
    assert planned.epsilon == epsilon
    assert regrets[planned.per_arm - 1] <= min(regrets) * 1.001 < regrets[0]


def test_sizes_at_the_edges():
    assert bounds.best_look([0.5, 0.5], 100, epsilon=1.0) == 1
    assert bounds.best_look([0.5, 0.6], 2, epsilon=1.0) == 1
    assert bounds.best_look([0.49, 0.5], 40, epsilon=0.01) <= 20
    refusal("horizon", 1, lambda: dpb.ExploreThenCommit.planned(1.0, [0.5, 0.6], 1))
    refusal("horizon", 2.0, lambda: bounds.best_look([0.5, 0.6, 0.7], 2.0, epsilon=1.0))
    refusal("per_arm", 0, lambda: dpb.ExploreThenCommit(1.0, 0))


# ----------------------------------------------------------------------------- order of the arms


def lead(order, seed):
    """In how many of 300 runs of two equal arms the first has more pulls, and the second."""
    arms = dpb.instances.bernoulli([0.5, 0.5])
    runs = dpb.simulate(dpb.DPKLUCB(0.1), arms, 60, 300, seed, checkpoints=[60], order=order)
    assert (runs.pulls.sum(axis=1) == 60).all()
    ahead = runs.pulls[:, 0] - runs.pulls[:, 1]
    return int(np.count_nonzero(ahead > 0)), int(np.count_nonzero(ahead < 0))


@pytest.mark.statistical
def test_ties_favour_no_arm_in_random_order():
    """Two equal arms: each leads as often, by a sign test; in the order given the first does."""
    first, second = lead("random", 1)
    assert stats.binomtest(first, first + second).pvalue > FALSE_ALARM
    first, second = lead("given", 1)
    assert stats.binomtest(first, first + second).pvalue <= FALSE_ALARM, "control"


def test_pulls_are_returned_in_the_order_of_the_instance():
    runs = dpb.simulate(dpb.UCB(), THREE, 3000, 8, 0, checkpoints=[3000], order="random")
    assert (runs.pulls.argmax(axis=1) == 1).all()
    np.testing.assert_allclose(runs.regret[:, -1], runs.pulls @ THREE.gaps, rtol=1e-12)
    given = dpb.simulate(dpb.UCB(), THREE, 3000, 8, 0, checkpoints=[3000])
    assert not np.array_equal(given.pulls, runs.pulls), "another seed"


def test_every_kind_of_instance_in_another_order():
    table = dpb.instances.table([[0, 1], [1, 1], [0, 0]])
    laws = [dpb.laws.beta(2, 1), dpb.laws.beta(1, 2), dpb.laws.beta(1, 1)]
    heavy = dpb.instances.pareto([0.9, 0.5, 0.7], 0.5)
    for instance in (THREE, table, dpb.instances.bounded(laws), heavy):
        moved = instance.reordered([2, 0, 1])
        assert type(moved) is type(instance)
        np.testing.assert_array_equal(moved.means, instance.means[[2, 0, 1]])
    asked = dpb.instances.callback(lambda arm: 0.5, 2)
    refusal("order", [0, 1], lambda: dpb.simulate(dpb.UCB(), asked, 10, 2, order="random"))
    refusal("order", "best", lambda: dpb.simulate(dpb.UCB(), THREE, 10, 2, order="best"))
