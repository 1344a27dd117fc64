"""Many arms in heaps: the same runs as a look at every arm, ties included."""

import math

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits._engine.accelerators.arm_heaps import MANY, links_of, popped, pushed
from dpbandits._engine.accelerators.lazy_batches import _rule_of
from dpbandits._engine.accelerators.many_batches import _groups, _put, _taken
from dpbandits._engine.kernels import interpreted
from dpbandits.divergences import calibrated_upper_kernel
from dpbandits.regret.lazy import draw_laplace
from dpbandits.rewards.binomial import binomial
from dpbandits.schedules import batch_grid

INF = math.inf
INSTANCES = [
    dpb.instances.bernoulli(means)
    for means in (np.random.default_rng(5).random(60), [0.0, 1.0] * 30, [0.5] * 40, [1.0] * 7)
]
HORIZON = 4000
TIMES = np.arange(40, HORIZON + 1, 40)


def test_a_heap_gives_the_largest_value_and_of_equal_ones_the_lowest_number():
    """Against a list, with values that often tie, and arms that come back with new ones."""
    rng = np.random.default_rng(0)
    links, heap, inside = links_of(50), -1, {}
    for _ in range(4000):
        outside = [arm for arm in range(50) if arm not in inside]
        if outside and (not inside or rng.random() < 0.5):
            arm = int(rng.choice(outside))
            links.values[arm] = inside[arm] = float(rng.integers(0, 8))
            heap = pushed(links, heap, arm)
        else:
            assert heap == min(inside, key=lambda arm: (-inside[arm], arm))
            del inside[heap]
            heap = popped(links, heap)
        assert (heap < 0) == (not inside)


@pytest.mark.parametrize(
    ("algorithm", "scanned"),
    [
        *[(each, "pull by pull") for each in (dpb.UCB(), dpb.DPUCB(20.0), dpb.DPUCB(INF))],
        *[
            (each, "batch by batch")
            for each in (
                *(dpb.AdaPUCB(0.3), dpb.AdaPUCB(INF), dpb.AnytimeLazyUCB(1.0, eta=0.3)),
                *(dpb.PrintedAdaPUCB(0.5), dpb.AdaPKLUCB(0.2), dpb.AdaPKLUCB(INF)),
                *(dpb.DPKLUCB(0.2), dpb.DPKLUCB(1.0), dpb.DPKLUCB(5.0), dpb.DPKLUCB(INF)),
                *(dpb.DPIMED(0.2), dpb.DPIMED(1.0, calibrated=False), dpb.DPIMED(INF)),
            )
        ],
    ],
    ids=str,
)
def test_equal_generators_give_the_runs_of_a_look_at_every_arm(algorithm, scanned):
    """Arms that are all alike, or certain: most decisions are ties. Control: another seed."""
    differing = 0
    for seed, arms in enumerate(INSTANCES):
        found, plain, other = (
            algorithm.draw(arms, HORIZON, TIMES, np.random.default_rng(at), how)
            for at, how in ((seed, "many arms"), (seed, scanned), (seed + 9, "many arms"))
        )
        assert np.array_equal(found.counts, plain.counts)
        assert np.array_equal(found.epoch_ends, plain.epoch_ends)
        differing += not np.array_equal(found.counts, other.counts)
    assert differing, "control"


def played(algorithm, arms, rng, by_number):
    """Pulls of a run that looks at every arm; arms with index 1 tie, by number or by means.

    Below 1 the order is that of exact arithmetic: of arms with equal numbers of rewards the larger
    mean has the larger index, also where doubles cannot tell.
    """
    forgets = isinstance(algorithm, dpb.AdaPKLUCB)
    sizes, ends, rewards, noises = batch_grid(HORIZON, algorithm.eta, forgets=forgets)
    sums, done = np.zeros(arms.n_arms), np.zeros(arms.n_arms, dtype=int)
    t = 0
    while True:
        arm = t
        if t >= arms.n_arms:
            n, k = rewards[done - 1], noises[done - 1]
            level, raised = math.log(t + 1), sums / n
            if forgets:
                level *= algorithm.alpha
                raised = sums / n + level / (algorithm.epsilon * n)
                k, epsilon = 0 * k, INF
            else:
                level, epsilon = level + algorithm.slack * math.log1p(level), algorithm.epsilon
            y = np.clip(raised, 0.0, 1.0)
            index = np.array(
                [
                    calibrated_upper_kernel(*each, epsilon, level)
                    for each in zip(y, n, k, strict=True)
                ]
            )
            best, full = [], np.flatnonzero(index == 1.0)
            for size in np.unique(n):
                of_size = np.flatnonzero(n == size)
                best.append(int(of_size[np.argmax(y[of_size])]))
            arm = max(best, key=lambda a: (index[a], -a))
            if full.size:
                arm = int(full[0] if by_number else full[np.argmax(raised[full])])
        size = int(sizes[done[arm]])
        t += size
        if t > HORIZON:
            pulls = ends[done - 1] * (done > 0)
            pulls[arm] += HORIZON - t + size
            return pulls
        total = interpreted(binomial)(rng, size, arms.means[arm])
        total += draw_laplace(rng, 1 / algorithm.epsilon)
        sums[arm] = total if forgets else sums[arm] + total
        done[arm] += 1


@pytest.mark.parametrize(
    "algorithm",
    [dpb.AdaPKLUCB(1.0), dpb.AdaPKLUCB(5.0), dpb.DPKLUCB(1.0), dpb.DPKLUCB(5.0)],
    ids=str,
)
def test_arms_with_index_1_tie_whatever_their_means(algorithm):
    """Control: ties broken by released means give other runs."""
    differing = 0
    for seed, arms in enumerate(INSTANCES):
        found = algorithm.draw(arms, HORIZON, TIMES, np.random.default_rng(seed), "many arms")
        by_number, by_means = (
            played(algorithm, arms, np.random.default_rng(seed), each) for each in (True, False)
        )
        assert np.array_equal(found.pulls, by_number)
        differing += not np.array_equal(found.pulls, by_means)
    assert differing, "control"


def test_arms_whose_means_are_moved_to_0_tie_too():
    """A noise of −z with z > α·log t is rare; the sums here are made up.

    Control: later, when α·log t has raised the means above 0, the largest is taken.
    """
    rule, grid = _rule_of(dpb.AdaPKLUCB(1.0))

    def filled():
        groups, links = _groups(grid, 9, 0), links_of(5)
        for arm, total in enumerate([-8.0, -7.2, -9.0, -7.0, -7.5]):
            _put(rule, groups, links, 2, arm, total)
        return rule, groups, links

    given = filled()
    assert [_taken(*given, 10) for _ in range(5)] == [(arm, 2) for arm in range(5)]
    given = filled()
    assert [_taken(*given, t) for t in (10, 2268, 2268)] == [(0, 2), (3, 2), (1, 2)], "control"


def test_heaps_play_many_arms_and_no_others():
    for algorithm, few in ((dpb.UCB(), "skipping: its law up to 4e-10"), *[
        (kind(1.0), "batch by batch") for kind in (dpb.AdaPUCB, dpb.AdaPKLUCB, dpb.DPKLUCB)
    ]):  # fmt: skip
        for n_arms, told in ((MANY - 1, few), (MANY, "many arms")):
            arms = dpb.instances.bernoulli(np.linspace(0.1, 0.9, n_arms))
            runs, named = (
                dpb.simulate(algorithm, arms, 4 * n_arms, n_runs=1, seed=0, how=how)
                for how in (None, told.partition(":")[0])
            )
            assert runs.how == named.how == told
            assert runs.pulls.sum() == 4 * n_arms
            assert np.array_equal(runs.pulls, named.pulls), "it is what plays"
