"""Index policies pull by pull, and certified skipping: its law, certificates and bookkeeping."""

import functools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shadow import play_pull_by_pull, shadow_run
from statistical import may_be_at_most, same_law_of_counts

import dpbandits as dpb
from dpbandits._engine.accelerators import skipping
from dpbandits._engine.accelerators.index_policies import index_leader
from dpbandits._engine.accelerators.skipping import MAX_SKIPS, SKIP_ERROR, skip_and_tally
from dpbandits.mechanisms.first_passage import first_passage_table


def play_skipping(*arguments):
    return skip_and_tally(*arguments)[0]


# means, node scale, γ, checkpoints
SHORT = {
    "large noise": ([0.7, 0.5, 0.4], 30.0, 150.0, [700, 3001]),
    "noise and rewards": ([0.9, 0.6], 4.0, 30.0, [500, 4100]),
    "small noise": ([0.95, 0.3], 0.5, 2.0, [1000, 4095]),
    "no noise": ([0.95, 0.2], 0.0, 0.0, [1500, 6000]),
    "certain rewards": ([1.0, 0.0, 1.0], 10.0, 40.0, [333, 2048]),
    "five arms": ([0.75, 0.72, 0.62, 0.47, 0.25], 60.0, 500.0, [1000, 5000]),
}


STRENGTHS = [2, pytest.param(1, marks=pytest.mark.long)]
"""What runs and pulls are divided by, in the default and at full strength."""


@functools.cache
def stepped_sample(name, size):
    """The reference of a short case, once for the test and its controls."""
    return sample(play_pull_by_pull, SHORT[name], size, 1)


def sample(kernel, case, size, seed):
    """Counts at the checkpoints of `size` runs, shape (size, C, K)."""
    means, node_scale, gamma, checkpoints = case
    arguments = (np.array(means), node_scale, gamma, np.array(checkpoints))
    rng = np.random.default_rng(seed)
    return np.array([kernel(*arguments, rng) for _ in range(size)])


@pytest.mark.statistical
@pytest.mark.parametrize("fewer", STRENGTHS)
@pytest.mark.parametrize("name", SHORT)
def test_law_on_short_horizons(name, fewer):
    case = SHORT[name]
    tally = skip_and_tally(*case, np.random.default_rng(9))[1]
    assert tally.skipped_pulls > 0.1 * case[3][-1]
    skipped = sample(play_skipping, case, 4000 // fewer, 0)
    assert same_law_of_counts(skipped, stepped_sample(name, 4000 // fewer))


@pytest.mark.statistical
@pytest.mark.parametrize("fewer", STRENGTHS)
@pytest.mark.parametrize("fault", ["noise forgotten", "other constant", "other noise", "mean"])
def test_short_horizons_refute_another_law(fault, fewer, monkeypatch):
    """Negative control: a tenth more is refuted by 4000 runs, a fifth by 2000.

    From about 2600 runs on, and from 1000 on; forgotten noise from 1200 on, with five arms.
    """
    name = "five arms" if fault == "noise forgotten" else "large noise"
    means, node_scale, gamma, checkpoints = SHORT[name]
    if fault == "noise forgotten":
        table = first_passage_table()
        blind = table._replace(fail=np.zeros_like(table.fail))
        monkeypatch.setattr(skipping, "first_passage_table", lambda: blind)
    elif fault == "other constant":
        gamma *= 1 + 0.1 * fewer
    elif fault == "other noise":
        node_scale *= 1 + 0.1 * fewer
    else:
        means = [0.7, 0.65, 0.6]
    wrong = sample(play_skipping, (means, node_scale, gamma, checkpoints), 4000 // fewer, 0)
    assert not same_law_of_counts(wrong, stepped_sample(name, 4000 // fewer))


PAPER_HORIZON = 50_000_000
CELLS = [(name, eps) for name in ("C1", "C2", "C3", "C4") for eps in (0.1, 0.25, 0.5, 1.0)]


def cell(name, epsilon, first=PAPER_HORIZON, factor=1.0):
    """DP-UCB `tree-tight` with the paper's horizon, its first pulls; `factor` spoils γ."""
    algorithm = dpb.DPUCB(epsilon, "tree-tight")
    means = dpb.instances.ss19(name, n_arms=5).means
    node_scale = algorithm.node_scale(5, PAPER_HORIZON)
    gamma = factor * algorithm.gamma(5, PAPER_HORIZON)
    return means, node_scale, gamma, [first // 100, first]


@pytest.mark.statistical
@pytest.mark.parametrize("fewer", STRENGTHS)
def test_law_at_the_papers_scale(fewer):
    """One run pull by pull per cell is outside n skipping runs with probability 2/(n+1) at most.

    The cells are independent, so the number outside is Binomial(16, 2/(n+1)) or less: an exact test
    for each of four counts. With γ one tenth larger the same runs are refuted. Only the first pulls
    are played: a pull by pull reference for all of them takes a minute.
    """
    rng = np.random.default_rng(0)
    outside = np.zeros((2, 2, 2), int)
    size, first = 30 // fewer, 3_000_000 // fewer**2
    for name, epsilon in CELLS:
        means, node_scale, gamma, checkpoints = cell(name, epsilon, first)
        stepped = play_pull_by_pull(means, node_scale, gamma, np.array(checkpoints), rng)
        for i, factor in enumerate((1.0, 1.1)):
            runs = sample(play_skipping, cell(name, epsilon, first, factor), size, rng)
            below = stepped[:, :2] < runs[:, :, :2].min(axis=0)
            outside[i] += below | (stepped[:, :2] > runs[:, :, :2].max(axis=0))
    right, wrong = (
        [may_be_at_most(k, 16, 2 / (size + 1), share=1 / 4) for k in each.flat] for each in outside
    )
    assert all(right) and not all(wrong)


def test_plain_pulls_are_few():
    """Not a clock, but what makes the speed: the pulls that are simulated one by one."""
    for name, epsilon in CELLS:
        means, node_scale, gamma, _ = cell(name, epsilon)
        rng = np.random.default_rng(0)
        tally = skip_and_tally(means, node_scale, gamma, np.array([PAPER_HORIZON]), rng)[1]
        assert tally.skipped_pulls + tally.plain_pulls == PAPER_HORIZON
        assert tally.plain_pulls < 0.004 * PAPER_HORIZON
        assert tally.skips < 60_000
        assert 0 < tally.first_passages <= tally.skips


SHADOWS = [
    # means, node scale, γ, horizon
    ([0.75, 0.7, 0.7, 0.7, 0.7], 23.0, 2500.0, 3_000_001),
    ([0.75, 0.7, 0.7, 0.7, 0.7], 110.0, 9000.0, 3_000_001),
    ([0.75, 0.71875, 0.625, 0.46875, 0.25], 22.0, 9000.0, 3_000_001),
    ([0.75] + 19 * [0.7], 440.0, 180_000.0, 5_000_001),
    ([0.6, 0.5], 1.0, 5.0, 2_000_001),
    ([0.02, 0.01], 2.0, 10.0, 5_000_001),
    ([1.0, 0.99, 0.0], 5.0, 100.0, 1_000_001),
    ([0.6, 0.5], 0.0, 0.0, 5_000_001),
    ([0.9, 0.89, 0.5], 0.0, 0.0, 5_000_001),
]


@pytest.mark.parametrize("fewer", STRENGTHS)
def test_shadow_runs_break_no_certificate(fewer):
    """Fails with probability 1e-16 per certificate, 1e-10 for a million of them."""
    certificates = first_passages = 0
    for i, (means, node_scale, gamma, horizon) in enumerate(SHADOWS):
        horizon //= fewer**2
        rng = np.random.default_rng([i, 0])
        tally = shadow_run(means, node_scale, gamma, np.array([horizon]), rng)[1]
        assert tally.broken == 0, (means, node_scale)
        assert tally.certified_pulls <= horizon
        certificates += tally.certificates
        first_passages += tally.first_passages
    assert certificates > 100_000 / fewer
    assert first_passages > 20_000 / fewer


def test_shadow_runs_notice_broken_certificates():
    """Negative control: without the reward band, or with a band of even odds."""
    for means, node_scale, gamma, horizon in (SHADOWS[4], SHADOWS[5], SHADOWS[7]):
        rng = np.random.default_rng(0)
        tally = shadow_run(means, node_scale, gamma, np.array([horizon]), rng, skip_error=0.9)[1]
        assert tally.broken > 0


@pytest.mark.parametrize("name", SHORT)
def test_shadow_runs_and_runs_without_skips_are_per_step_runs(name):
    means, node_scale, gamma, _ = SHORT[name]
    arguments = (np.array(means), node_scale, gamma, np.arange(1, 4000))
    for seed in range(5):
        plain = play_pull_by_pull(*arguments, np.random.default_rng(seed))
        shadow = shadow_run(*arguments, np.random.default_rng(seed))[0]
        counts, tally = skip_and_tally(*arguments, np.random.default_rng(seed), max_skips=0)
        assert tally == (0, 0, 3999, 0)
        assert np.array_equal(counts, plain) and np.array_equal(shadow, plain)


@pytest.mark.parametrize("max_skips", [1, 7, 40])
def test_hard_cap_on_skips(max_skips):
    means, node_scale, gamma, _ = SHORT["five arms"]
    horizon = np.array([200_000])
    rng = np.random.default_rng(0)
    counts, tally = skip_and_tally(means, node_scale, gamma, horizon, rng, max_skips)
    assert tally.skips == max_skips
    assert tally.plain_pulls == 200_000 - tally.skipped_pulls > 0
    assert counts.sum() == 200_000
    assert pytest.approx(4e-10) == MAX_SKIPS * SKIP_ERROR


@pytest.mark.parametrize("kernel", [play_pull_by_pull, play_skipping])
@pytest.mark.parametrize("name", SHORT)
def test_checkpoints_inside_skips(name, kernel):
    """Counting at every pull changes no pull, and every pull plays one arm."""
    *case, checkpoints = SHORT[name]
    every, some = np.arange(1, checkpoints[-1] + 1), np.array(checkpoints)
    dense, sparse = (kernel(*case, times, np.random.default_rng(2)) for times in (every, some))
    np.testing.assert_array_equal(sparse, dense[some - 1])
    played = np.diff(dense, axis=0, prepend=0)
    assert dense.dtype == np.int64 and (played >= 0).all() and (played.sum(axis=1) == 1).all()


@given(
    st.lists(st.sampled_from([0.0, 0.2, 0.5, 0.75, 0.999, 1.0]), min_size=1, max_size=6),
    st.sampled_from([0.0, 1e-12, 0.3, 40.0, 1e6]),
    st.sampled_from([0.0, 7.0, 1e5]),
    st.integers(1, 10**6),
    st.integers(0, 3),
)
def test_any_instance_and_horizon(means, node_scale, gamma, horizon, seed):
    checkpoints = np.unique(np.geomspace(1, horizon, 7).astype(np.int64))
    checkpoints[-1] = horizon
    rng = np.random.default_rng(seed)
    counts, tally = skip_and_tally(means, node_scale, gamma, checkpoints, rng)
    np.testing.assert_array_equal(counts.sum(axis=1), checkpoints)
    assert (np.diff(counts, axis=0) >= 0).all()
    assert tally.skipped_pulls + tally.plain_pulls == horizon
    if horizon >= len(means):
        assert (counts[-1] >= 1).all()


@pytest.mark.parametrize("kernel", [play_pull_by_pull, play_skipping])
def test_certain_rewards_without_noise_are_played_in_closed_form(kernel):
    """The reward band is 0: no number that is drawn matters. Ties go to the lowest arm."""
    arguments = (np.array([1.0, 0.0]), 0.0, 3.0, np.array([1000, 123_457]))
    counts = kernel(*arguments, np.random.default_rng(0))
    np.testing.assert_array_equal(counts, play_pull_by_pull(*arguments, np.random.default_rng(1)))
    turns = kernel(np.ones(4), 0.0, 0.0, np.arange(1, 42), np.random.default_rng(0))
    np.testing.assert_array_equal(np.diff(turns, axis=0).argmax(axis=1), np.arange(1, 41) % 4)
    means, widths, roots = np.array([[1.0, 2.0, 2.0], [0.0, 0.0, 0.0], [0.5, 0.25, 0.25]])
    assert index_leader(means, widths, roots, 1.0, 3.0) == (1, 2.75, 2.75)


@given(
    st.one_of(st.floats(0, 1), st.floats(0, 1e-3), st.floats(0.999, 1)),
    st.integers(1, 2**30),
    st.sampled_from([1e-15, 1e-6, 0.1]),
)
def test_reward_band_keeps_its_probability(mean, stretch, error):
    """exp(−m kl(μ − c/m, μ)) ≤ error, with kl of Bernoulli laws; certain rewards need no band."""
    band = skipping.reward_band(mean, stretch, -math.log(error))
    low = mean - band / stretch
    if mean in (0.0, 1.0) or low < 0:
        return
    kl = (1 - low) * math.log1p((mean - low) / (1 - mean))
    if low > 0:
        kl += low * math.log(low / mean)
    assert stretch * kl >= -math.log(error) * (1 - 1e-6)


@given(
    st.integers(1, 10**9),
    st.floats(0, 1),
    st.floats(0.01, 0.99),
    st.floats(-0.5, 3),
    st.integers(2, 10**9),
    st.integers(1, 10**6),
)
def test_barrier_serves_the_whole_stretch(n, share, mean, rival, t, stretch):
    """f(r) is at least the barrier at every r: a concave f is smallest at an end."""
    total = share * n
    width = math.sqrt(2 * math.log(t + 1))
    index = skipping.LeaderIndex(n, total, mean, width)
    barrier = skipping.barrier_over(index, rival, stretch, -math.log(1e-15))
    r = np.unique(np.linspace(0, stretch - 1, 200).astype(np.int64)).astype(float)
    band = skipping.reward_band(mean, stretch, -math.log(1e-15))
    f = total + mean * r - band + width * np.sqrt(n + r) - rival * (n + r)
    assert (f >= barrier).all()


def test_stretch_limits_follow_the_table():
    fail = first_passage_table().fail
    limits = first_passage_table().limits
    levels = np.log2(limits).astype(int)
    assert (fail[levels[1:], np.arange(1, limits.size)] <= 0.8).all()
    assert limits[0] == 1
    assert limits[-1] == 2**30
    assert (np.diff(limits) >= 0).all()
