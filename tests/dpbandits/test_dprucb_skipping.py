"""DPRUCB by walks: rewards of a stretch, first passages of a growing tree, the law of the pulls."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statistical import same_law, same_law_of_counts

import dpbandits as dpb
from dpbandits._engine.accelerators import heavy_skipping
from dpbandits._engine.accelerators.heavy_skipping import (
    Floor,
    Lead,
    certify_tree,
    tree_skip_and_tally,
)
from dpbandits._engine.accelerators.heavy_steps import TreeIndex, play_by_steps, tree_index_of
from dpbandits._engine.kernels import kernel
from dpbandits.mechanisms import laplace
from dpbandits.mechanisms.first_passage import (
    TREE_LEVELS,
    NodeScale,
    first_passage_table,
    next_prefix_noise,
    prefix_noise_at,
    walk_to_first_passage,
)
from dpbandits.rewards.heavy_instances import HeavyTailInstance
from dpbandits.rewards.heavy_laws import ParetoLaw, TwoPointHeavyLaw, draw_heavy
from dpbandits.rewards.pareto_sums import (
    BLOCK,
    exponentials,
    growing_sum,
    lower_lines,
    matched_rows,
)


# ---------------------------------------------------------------- rewards of a stretch
@given(st.lists(st.floats(0, 50), min_size=1, max_size=40), st.floats(0.001, 10))
def test_exponentials(values, factor):
    x = np.array(values)
    y = x * factor
    exponentials(x, factor, 0.3, x.size)
    np.testing.assert_allclose(x, 0.3 * np.exp(y), rtol=1e-15)


@kernel
def one_by_one(rng, code, first_bound, growth, start, stop):
    total = 0.0
    for n in range(start + 1, stop + 1):
        x = draw_heavy(rng, code)
        if x <= first_bound * n**growth:
            total += x
    return total


def sample(draw, *arguments, seed, size=4000):
    rng = np.random.default_rng(seed)
    return np.array([draw(rng, *arguments) for _ in range(size)]).T


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("law", "start", "stop"),
    [
        (ParetoLaw(1.55, 0.3), 0, 30),
        (ParetoLaw(1.55, 0.3), 3, 4),
        (ParetoLaw(1.95, 0.4), 100, 100 + BLOCK + 77),
        (ParetoLaw(1.95, 0.4), 10**5, 10**5 + 150),
        (ParetoLaw(1.95, 0.1), 10**3, 10**3 + 1300),
        (ParetoLaw(1.55, 0.3), 10**6, 10**6 + 5000),
        (ParetoLaw(1.95, 2.0), 0, 60),
        (TwoPointHeavyLaw(2.0, 0.3), 0, 60),
        (TwoPointHeavyLaw(2.0, 0.3), 200, 300),
        (TwoPointHeavyLaw(2.0, 0.3), 0, 10),
    ],
)
def test_law_of_a_growing_sum(law, start, stop):
    """Against single rewards. Control: with the bound on the last reward for all of them."""
    bound, growth = 0.5, 0.4
    rows = matched_rows(getattr(law, "shape", 2.0))
    mine = sample(growing_sum, law.code, rows, bound, growth, start, stop, seed=0)
    theirs = sample(one_by_one, law.code, bound, growth, start, stop, seed=1)
    assert same_law(mine, theirs, share=1)
    if start == 0 and stop == 60:
        wrong = sample(growing_sum, law.code, rows, bound * stop**growth, 0.0, start, stop, seed=0)
        assert not same_law(wrong, theirs), "control"


# ---------------------------------------------------------------- first passages
@kernel
def node_by_node(rng, table, first_scale, growth, barrier, start, stop):
    """The definition: draw every node and follow the lowered walk; return leaf, noise, safe."""
    ends = np.zeros((1, TREE_LEVELS))
    rooms = np.zeros(stop + 1, np.int64)
    noises = np.zeros(stop + 1)
    for n in range(1, start + 1):
        noises[n] = next_prefix_noise(rng, first_scale * n**growth, ends, 0, n)
    cap = table.fail.shape[1] - 1
    least = first_scale * (start + 1) ** growth
    safe = True
    n = start
    end = start
    while n < stop:
        if n == end:
            if barrier + noises[n] <= 0.0:
                break
            first, size = n, n & -n
            while n + size > stop:
                size //= 2
            end = n + size
            cells = (barrier + noises[n]) / (table.cell_width * least)
            rooms[n] = min(math.floor(cells) + 1, cap)
        n += 1
        q = laplace(rng, 1.0)
        parent = n & (n - 1)
        noises[n] = noises[parent] + first_scale * n**growth * q
        if n == end:
            continue
        lowered = table.ratio * q if q < 0 else q
        room = rooms[max(parent, first)] + math.floor(lowered / table.cell_width)
        rooms[n] = max(min(room, cap), 0)
        if rooms[n] == 0:
            break
        safe = safe and noises[n] > -barrier
    return n, noises[n], safe


@kernel
def by_walk(rng, table, first_scale, growth, barrier, start, stop):
    ends = np.zeros((1, TREE_LEVELS))
    for n in range(1, start + 1):
        next_prefix_noise(rng, first_scale * n**growth, ends, 0, n)
    scale = NodeScale(first_scale, growth)
    leaf = walk_to_first_passage(rng, table, scale, barrier, ends, 0, start, stop)
    return leaf, prefix_noise_at(ends, 0, leaf), True


GROWTH = 0.6
WALKS = [  # start, stop, barrier in scales of the first node
    (64, 96, 3.0),
    (40, 61, 6.0),
    (48, 80, 10.0),
    (7, 8, 1.0),
]


@pytest.mark.statistical
@pytest.mark.parametrize(("start", "stop", "barrier"), WALKS)
def test_law_of_a_walk(start, stop, barrier):
    """The leaf, its noise, and the two together; controls: one scale for all, a table of one."""
    ratio = (stop / (start + 1)) ** GROWTH
    table = first_passage_table(0.25, 60, 8, max(ratio, 1.0))
    barrier *= 0.3 * start**GROWTH
    arguments = (0.3, GROWTH, barrier, start, stop)
    plain = sample(node_by_node, table, *arguments, seed=1, size=20_000)
    mine = sample(by_walk, table, *arguments, seed=0, size=20_000)
    assert plain[2].all(), "no leaf before the returned one is below the barrier"

    def same(mine):
        pairs = [(mine[0], plain[0]), (mine[1], plain[1])]
        pairs.append(tuple(np.where(w[0] < stop, w[1], math.inf) for w in (mine, plain)))
        return all(same_law(x, y, share=1 / 3) for x, y in pairs)

    assert same(mine)
    if stop > 8:
        flat = (table, 0.3 * start**GROWTH, 0.0, barrier, start, stop)
        assert not same(sample(by_walk, *flat, seed=0, size=20_000)), "control"
        one = first_passage_table(0.25, 60, 8)
        assert not same(sample(by_walk, one, *arguments, seed=0, size=20_000)), "control"
        safe = sample(node_by_node, one, *arguments, seed=1, size=20_000)[2]
        assert not safe.all(), "control"


def test_the_table_grows_with_the_ratio_and_is_a_law():
    narrow, wide = (first_passage_table(0.25, 200, 9, ratio) for ratio in (1.0, 1.3))
    assert (wide.fail >= narrow.fail).all() and (wide.fail[9, 1:] > narrow.fail[9, 1:]).all()
    beyond = 0.5 * math.exp(-0.25 * 201), 0.5 * math.exp(-0.25 / 1.3 * 200)
    assert wide.cell_mass.sum() + sum(beyond) == pytest.approx(1, rel=1e-12)


# ---------------------------------------------------------------- the law of the pulls
PARETO = dpb.instances.twzw22("S1", order=0.9)
WIDE = dpb.instances.twzw22("S3", order=0.5)
TWO_POINTS = dpb.instances.heavy(
    [TwoPointHeavyLaw(2.0, p) for p in (0.05, 0.45, 0.2)], order=0.8, moment_bound=1.6
)
SHORT = {
    "Pareto": (dpb.DPRUCB(1.0), PARETO),
    "wide": (dpb.DPRUCB(0.3), WIDE),
    "less noise": (dpb.DPRUCB(20.0), PARETO),
    "reconstructed": (dpb.DPRUCB(1.0, "reconstructed"), PARETO),
    "two points": (dpb.DPRUCB(2.0), TWO_POINTS),
}
HORIZON = 40_000


def tally(instance, index, horizon=HORIZON):
    return tree_skip_and_tally(instance, index, np.array([horizon]), np.random.default_rng(0))[1]


PARETOS = ((0, 1.5, 0.05), (0, 1.5, 0.02), (0, 1.8, 0.03))
MIXED = ((0, 2.0, 0.05), (1, 0.1, 0.1))
# laws, first bound, growth, node factor, width, reconstructed: over long walks
CASES = {
    "two points": (((1, 0.1, 0.9), (1, 0.1, 0.1), (1, 0.1, 0.5)), 1.0, 0.8, 3.0, 20.0, False),
    "Pareto": (PARETOS, 0.1, 0.7, 100.0, 100.0, False),
    "reconstructed": (MIXED, 0.3, 0.9, 10.0, 15.0, True),
    "Pareto without noise": (PARETOS, 0.1, 0.7, 0.0, 1.0, False),
    "small bounds without noise": (((0, 1.9, 0.3), (0, 1.9, 0.28)), 0.02, 0.6, 0.0, 0.3, False),
    "two points without noise": (((1, 2.0, 0.3), (1, 3.0, 0.18)), 0.2, 0.6, 0.0, 1.0, False),
    "reconstructed without noise": (MIXED, 0.3, 0.9, 0.0, 0.1, True),
}


SIZES = {"two points": 1800, "Pareto": 1300, "reconstructed": 2500}
"""Runs of the cases with noise, and 1000 without. The controls' counts differ in distribution by
0.21, 0.24, 0.10 and (without noise) 0.42 at least; the limits are 0.10, 0.11, 0.08 and 0.13."""


def kernel_counts(case, size, seed, play=lambda *run: tree_skip_and_tally(*run)[0]):
    laws, *numbers = case
    known = [(ParetoLaw, TwoPointHeavyLaw)[kind](*rest) for kind, *rest in laws]
    instance, index = HeavyTailInstance(known, 0.001, 1e9), TreeIndex(*numbers)
    rng, times = np.random.default_rng(seed), np.array([3000, 12_000])
    rewards = instance.rewards(rng)
    return np.array([play(rewards, index, times, rng) for _ in range(size)]).reshape(size, -1)


@pytest.mark.statistical
@pytest.mark.parametrize("name", CASES)
def test_law_of_the_kernel(name, monkeypatch):
    """Controls: another width, and noise that is forgotten."""
    case = CASES[name]
    laws, bound, growth, factor, width, reconstructed = case
    size = SIZES.get(name, 1000)
    theirs = kernel_counts(case, size, 1, play_by_steps)
    assert same_law_of_counts(kernel_counts(case, size, 0), theirs)
    other = (laws, bound, growth, factor, width * (2 if factor else 4), reconstructed)
    assert not same_law_of_counts(kernel_counts(other, size, 0), theirs)
    if factor:
        table = first_passage_table(*heavy_skipping.PASSAGES)
        blind = table._replace(fail=np.zeros_like(table.fail))
        monkeypatch.setattr(heavy_skipping, "first_passage_table", lambda *_: blind)
        assert not same_law_of_counts(kernel_counts(case, size, 0), theirs)


@pytest.mark.parametrize("width", ["valid", "reconstructed"])
def test_certificates(width):
    """With rewards above some line: while the noise is above −z, the leader leads at each pull."""
    rng, seen = np.random.default_rng(0), 0
    reconstructed = width == "reconstructed"
    for _ in range(2000):
        growth = rng.uniform(0.5, 0.99)
        pulls = np.exp(rng.uniform(5, 14, 4)).astype(np.int64)
        shrunk, means = pulls ** (growth - 1.0), rng.normal(0.5, 0.4, 4)
        t, factor, h = int(pulls.sum()), 10 ** rng.uniform(-2, 1), 10 ** rng.uniform(-1, 1)

        def bonus(pull, h=h, growth=growth):
            return h * math.log(2 * float(pull) ** 4) ** (1 - growth) if reconstructed else h

        index = means + bonus(t + 1) * shrunk
        arm = int(index.argmax())
        others = [b for b in range(4) if b != arm]
        n, total = int(pulls[arm]), float(rng.uniform(0, 1) * pulls[arm])
        lines = lower_lines((0, 1.8, 0.05 + 0.1 * (seen % 7)))
        power, rival = float(n) * shrunk[arm], float(index[others].max())
        lead = Lead(arm, n, total, power, bonus(t + 1), rival)
        policy = TreeIndex(1.0, growth, factor, h, reconstructed)
        m, z = certify_tree(policy, means, shrunk, lead, t, 10**9, 1.0625, Floor(lines, 0.0))
        if m == 0:
            continue
        seen += 1
        assert ((n + m) / (n + 1)) ** growth <= 1.0625
        leads = []
        for slope, intercept in [(0.0, 0.0), *((rise, drop) for drop, rise, _ in lines)]:
            safe = True
            for r in {0, 1, m // 3, m // 2, m - 2, m - 1}:
                least = total - z + slope * r - intercept
                lowest = least / (n + r) + bonus(t + r + 1) * (n + r) ** (growth - 1)
                safe &= lowest > (means[others] + bonus(t + r + 1) * shrunk[others]).max()
            leads.append(safe)
        assert any(leads)
        # and with the noise as it is the arm leads: z is not too cautious
        assert means[arm] * n - total + z > 0
    assert seen > 300


@pytest.mark.parametrize("name", SHORT)
def test_checkpoints_inside_walks(name):
    """Counting at every pull changes no pull, and every pull plays one arm."""
    algorithm, instance = SHORT[name]
    every, some = np.arange(1, HORIZON + 1), np.array([1, 77, 10_000, HORIZON])
    dense = algorithm.draw(instance, HORIZON, every, np.random.default_rng(2)).counts
    sparse = algorithm.draw(instance, HORIZON, some, np.random.default_rng(2)).counts
    np.testing.assert_array_equal(sparse, dense[some - 1])
    played = np.diff(dense, axis=0, prepend=0)
    assert (played >= 0).all() and (played.sum(axis=1) == 1).all()


def test_plain_pulls_are_few():
    """Not a clock, but what makes the speed: the pulls whose nodes are all drawn."""
    horizon = 10**7
    for name, order in (("S1", 0.9), ("S2", 0.5), ("S3", 0.5)):
        for epsilon in (0.5, 1.0):
            instance = dpb.instances.twzw22(name, order)
            found = tally(instance, tree_index_of(dpb.DPRUCB(epsilon), instance, horizon), horizon)
            assert found.walked_pulls + found.plain_pulls == horizon
            assert found.plain_pulls < 0.02 * horizon and 0 < found.walks < 20_000
    quiet = tally(PARETO, TreeIndex(0.4, 0.53, 0.0, 15.0), 10**6)
    assert quiet.walked_pulls > max(0.2 * 10**6, 160 * quiet.walks), "without noise"


@given(
    st.integers(2, 5),
    st.sampled_from([0.01, 1.0, 1e4]),
    st.sampled_from(["valid", "reconstructed"]),
    st.integers(2, 10**5),
    st.integers(0, 3),
)
def test_any_instance_and_horizon(n_arms, epsilon, width, horizon, seed):
    instance = HeavyTailInstance(PARETO.laws[:n_arms], 0.9, PARETO.moment_bound)
    times = np.unique(np.geomspace(1, horizon, 7).astype(np.int64))
    times[-1] = horizon
    play = dpb.DPRUCB(epsilon, width).draw(instance, horizon, times, np.random.default_rng(seed))
    np.testing.assert_array_equal(play.counts.sum(axis=1), times)
    assert (np.diff(play.counts, axis=0) >= 0).all()
    assert horizon < n_arms or (play.counts[-1] >= 1).all()
