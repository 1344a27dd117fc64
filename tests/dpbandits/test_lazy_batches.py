"""Algorithms that play lazy batches: against plain loops, and what is claimed of their parts."""

import inspect
import itertools
import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import optimize, special, stats
from statistical import may_be_at_most, mean_may_be_at_most, same_law
from test_validation import refusal

import dpbandits as dpb
from dpbandits._engine.accelerators.lazy_race import first_of, first_to_finish, largest_draw
from dpbandits.bounds import lazy
from dpbandits.bounds.lazy import Frame, _mean_odds, least_estimate
from dpbandits.divergences import (
    calibrated_minus,
    calibrated_plus,
    calibrated_upper_kernel,
    d_eps,
    kl,
)
from dpbandits.mechanisms import laplace_noise
from dpbandits.rewards.sources import Source
from dpbandits.schedules import batch_grid

ALGORITHMS = [
    dpb.AnytimeLazyUCB(epsilon=0.5),
    dpb.AnytimeLazyUCB(epsilon=math.inf, eta=0.3),
    dpb.AdaPUCB(epsilon=0.5, alpha=1.2, eta=2.0),
    dpb.AdaPKLUCB(epsilon=0.5),
    dpb.AdaPKLUCB(epsilon=math.inf, alpha=1.1),
    dpb.PrintedAdaPUCB(epsilon=0.5),
    dpb.PrintedAdaPUCB(epsilon=math.inf, alpha=1.1, root="t"),
    dpb.PrintedAdaPKLUCB(epsilon=0.5),
    dpb.LazyDPTS(epsilon=5.0, draws="batches"),
    dpb.DPKLUCB(epsilon=0.5, eta=0.2),
    dpb.DPKLUCB(epsilon=math.inf, slack=0.0),
    dpb.DPIMED(epsilon=0.5),
    dpb.DPIMED(epsilon=3.0, calibrated=False),
    dpb.DPIMED(epsilon=math.inf),
]
EVERY = [*ALGORITHMS, dpb.LazyDPTS(epsilon=5.0)]
ARMS = dpb.instances.bernoulli([0.3, 0.6, 0.45])
every_algorithm = pytest.mark.parametrize("algorithm", EVERY, ids=repr)


class Recorded(Source):
    """Drawn rewards, of which it is kept what they were asked for."""

    def __init__(self, instance, rng, change=None):
        self.n_arms, self.drawn = instance.n_arms, instance.rewards(rng)
        self.change = change  # an arm, and the number of its pull whose reward is 10 more
        self.pulls, self.asked = [0] * self.n_arms, []

    def total(self, arm, size):
        self.asked.append((arm, size))
        first, self.pulls[arm] = self.pulls[arm], self.pulls[arm] + size
        total = self.drawn.total(arm, size)
        changed = self.change is not None and self.change[0] == arm
        return total + 10 * (changed and first < self.change[1] <= self.pulls[arm])


# ------------------------------------------------------------------ the loop, from pseudo-code


def plain_upper(rate, x, level):
    """max {q in [0, 1] : rate(x, q) <= level} by a root finder, 0 if there is none."""
    low, high = min(max(x, 0.0), 1.0), np.nextafter(1.0, 0.0)
    if rate(x, low) > level:
        return float(rate(x, 1.0) <= level)
    if rate(x, high) <= level:
        return 1.0 if rate(x, 1.0) <= level else high
    return optimize.brentq(lambda q: rate(x, q) - level, low, high, xtol=1e-16)


def plain_index(algorithm, x, n, k, t, highest):
    """The index of an arm, the larger the better."""
    log_t, epsilon = math.log(t), algorithm.epsilon
    if isinstance(algorithm, dpb.AnytimeLazyUCB | dpb.AdaPUCB):
        a, share = algorithm.alpha, 2 if isinstance(algorithm, dpb.AdaPUCB) else 1
        return x + math.sqrt(a * log_t / (share * n)) + a * log_t / (epsilon * n)
    if isinstance(algorithm, dpb.PrintedAdaPUCB):
        under = math.log(2 * t) if algorithm.root == "2t" else log_t
        root = math.sqrt(algorithm.alpha * under / (2 * n))
        return x + root + algorithm.alpha * log_t / (epsilon * n)
    if isinstance(algorithm, dpb.AdaPKLUCB | dpb.PrintedAdaPKLUCB):
        level = algorithm.alpha * log_t
        return plain_upper(kl, float(np.clip(x + level / (epsilon * n), 0, 1)), level / n)
    if isinstance(algorithm, dpb.DPKLUCB):
        level, rate = log_t + algorithm.slack * math.log(1 + log_t), calibrated_plus
        clipped = float(np.clip(x, 0, 1))
        return plain_upper(partial(rate, ratio=k / n, epsilon=epsilon), clipped, level / n)
    y, best = np.clip([x, highest], 0, 1)
    if algorithm.calibrated:
        return -(n * calibrated_plus(y, best, k / n, epsilon) + math.log(n))
    return -(n * d_eps(y, best, epsilon) + math.log(n))


def keeps(algorithm):
    """Whether released sums accumulate."""
    return isinstance(algorithm, dpb.DPKLUCB | dpb.DPIMED)


def doubles_pulls(algorithm):
    """Whether an episode ends when the arm's pulls have doubled."""
    return isinstance(algorithm, dpb.PrintedAdaPUCB | dpb.PrintedAdaPKLUCB)


def of_sizes(algorithm):
    """Whether the grid is that of the batches' sizes."""
    return not (keeps(algorithm) or doubles_pulls(algorithm))


def plain_size(algorithm, batches, pulls):
    """Size of the next batch: the first number of the grid that is beyond the last."""
    if doubles_pulls(algorithm):
        return max(pulls, 1)
    last = pulls if keeps(algorithm) else batches[-1] if batches else 0
    sizes = (math.ceil((1 + algorithm.eta) ** j) for j in range(10_000))
    return next(size for size in sizes if size > last) - (pulls if keeps(algorithm) else 0)


def plain_loop(algorithm, instance, horizon, rng):
    """Pull by pull, from the docstrings; return the arms and the times of the releases."""
    n_arms = instance.n_arms
    total, pulls = np.zeros(n_arms), [0] * n_arms
    batches = [[] for _ in range(n_arms)]
    arms, releases = [], []
    while True:
        t = len(arms) + 1
        if len(releases) < n_arms:
            arm = len(releases)
        else:
            n = np.array([sum(b) if keeps(algorithm) else b[-1] for b in batches])
            k = np.array([len(b) if keeps(algorithm) else 1 for b in batches])
            means = total / n
            if isinstance(algorithm, dpb.LazyDPTS):
                raised = means + algorithm.alpha * math.log(t) / (algorithm.epsilon * n)
                centres = zip(np.clip(raised, 0, 1), n, strict=True)
                index = [rng.normal(c, m**-0.5) for c, m in centres]
            else:
                parts = zip(means.tolist(), n.tolist(), k.tolist(), strict=True)
                index = [plain_index(algorithm, x, m, j, t, means.max()) for x, m, j in parts]
            arm = int(np.argmax(index))
        size = plain_size(algorithm, batches[arm], pulls[arm])
        for _ in range(size):
            if len(arms) == horizon:
                return np.array(arms), releases
            arms.append(arm)
        batch = instance.rewards(rng).total(arm, size)
        batch += 0.0 + laplace_noise(rng, 1 / algorithm.epsilon, 1)[0]
        total[arm] = batch + keeps(algorithm) * total[arm]
        pulls[arm] += size
        batches[arm].append(size)
        releases.append(len(arms))


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=repr)
def test_the_plain_loop_pulls_the_same_arms(algorithm):
    """At every pull, with checkpoints inside batches, the same numbers drawn."""
    for seed in range(4):
        horizon = 3000 + 7 * seed
        arms, releases = plain_loop(algorithm, ARMS, horizon, np.random.default_rng(seed))
        times = np.arange(1, horizon + 1)
        play = algorithm.draw(ARMS, horizon, times, np.random.default_rng(seed))
        assert np.array_equal(play.counts, np.cumsum(np.eye(3, dtype=int)[arms], axis=0))
        assert play.epoch_ends.tolist() == (releases if algorithm.releases else [])
    # the same algorithm with another ε pulls other arms
    twin = replace(algorithm, epsilon=0.05 if algorithm.epsilon > 1 else math.inf)
    other = twin.draw(ARMS, horizon, times, np.random.default_rng(seed))
    assert not np.array_equal(other.counts, play.counts), "control"


# --------------------------------------------------------------------------------- privacy


class Watched:
    """A generator whose Laplace variables are noted, and one of them may be 10 less."""

    def __init__(self, seed, lowered=None):
        self.rng, self.lowered, self.scales = np.random.default_rng(seed), lowered, []

    def laplace(self, loc, scale):
        self.scales.append(scale)
        return self.rng.laplace(loc, scale) - 10.0 * (self.lowered == len(self.scales) - 1)

    def __getattr__(self, name):
        return getattr(self.rng, name)


@every_algorithm
def test_each_reward_is_in_one_release(algorithm):
    """One sum and one Laplace variable of scale 1/ε a batch; batches follow each other."""
    sizes_of_batches, ends, _, _ = batch_grid(2**40, algorithm.eta, of_sizes(algorithm))
    for horizon in (1, 2, 3, 50, 999):
        rng, times = Watched(horizon), np.array([horizon])
        recorded = Recorded(ARMS, rng.rng)
        play = algorithm.draw(recorded, horizon, times, rng)
        released = np.searchsorted(ends, play.counts[0], "right")  # full batches of each arm
        assert rng.scales == [1 / algorithm.epsilon] * released.sum()
        if getattr(algorithm, "draws", "batches") == "pulls":
            assert {size for _, size in recorded.asked} == {1}
            assert recorded.pulls == play.counts[0].tolist()
            continue
        assert len(recorded.asked) == released.sum(), "no batch is asked for before its end"
        for arm in range(3):
            sizes = [size for a, size in recorded.asked if a == arm]
            assert sizes == sizes_of_batches[: released[arm]].tolist()
        open_pulls = play.counts[0] - recorded.pulls
        assert np.count_nonzero(open_pulls) <= 1, "one batch is open at a time"
        if algorithm.releases:
            assert play.epoch_ends.size == released.sum()
            assert open_pulls.sum() == horizon - (play.epoch_ends[-1] if rng.scales else 0)


@every_algorithm
def test_decisions_know_released_sums_alone(algorithm):
    """A reward that is 10 more, and the noise of its batch that is 10 less: the same pulls."""
    times = np.arange(1, 1001)
    ends = [0, *batch_grid(2**40, algorithm.eta, of_sizes(algorithm))[1].tolist()]

    def counts(change, lowered):
        rng = Watched(1, lowered)
        return algorithm.draw(Recorded(ARMS, rng.rng, change), 1000, times, rng).counts

    plain = counts(None, None)
    arms = np.diff(plain, axis=0, prepend=0).argmax(axis=1)
    pulls = zip(arms.tolist(), plain[np.arange(1000), arms].tolist(), strict=True)
    batches = [(arm, ends[ends.index(n) - 1] + 1) for arm, n in pulls if n in ends][:12]
    assert len(batches) == 12
    for release, first_pull in enumerate(batches):
        assert np.array_equal(counts(first_pull, release), plain)
    assert not all(np.array_equal(counts(each, None), plain) for each in batches), "control"


# --------------------------------------------------------------------------------- indices


def test_inversions_against_a_root_finder():
    rng = np.random.default_rng(0)
    for _ in range(300):
        epsilon = float(rng.choice([0.01, 0.1, 1.0, 10.0, math.inf]))
        n = float(rng.integers(1, 10 ** rng.integers(1, 7)))
        k = float(rng.integers(0, 30))
        x = float(rng.uniform(0, 1) if epsilon == math.inf else rng.normal(0.5, 0.5))
        level = float(rng.uniform(0.1, 40))
        rate = partial(calibrated_plus, ratio=k / n, epsilon=epsilon)
        expected = plain_upper(rate, x, level / n)
        assert calibrated_upper_kernel(x, n, k, epsilon, level) == pytest.approx(
            expected, abs=1e-12
        )
        mean = float(rng.uniform(0.05, 1))
        if epsilon == math.inf and n * kl(0.0, mean) <= level:
            continue
        lowest = least_estimate(mean, n, k, epsilon, level)
        assert n * calibrated_plus(lowest, mean, k / n, epsilon) == pytest.approx(level, rel=1e-6)


def test_one_low_noise_costs_dp_klucb_a_bounded_wait():
    """The better arm's first release is lower by 25; not clipped, its index would stay below."""
    arms, horizon = dpb.instances.bernoulli([0.8, 0.2]), 20_000

    class LowStart(Recorded):
        def total(self, arm, size):
            first = arm == 0 and self.pulls[0] == 0
            return super().total(arm, size) - 25 * first

    rng = np.random.default_rng(0)
    algorithm, times = dpb.DPKLUCB(1.0), np.array([horizon])
    play = algorithm.draw(LowStart(arms, rng), horizon, times, rng)
    assert play.pulls[0] > 15_000
    level = math.log(horizon) + algorithm.slack * math.log1p(math.log(horizon))
    assert calibrated_upper_kernel(-24.0, 1.0, 1.0, 1.0, level) < 0.1, "control"


def failures(algorithm, mean, n, k, t, draws, rng, epsilon=None, noises=None):
    """How often the index at a release, or the centre of a posterior, is below what it covers."""
    sums = rng.binomial(n, mean, draws)
    scale = 1 / (epsilon or algorithm.epsilon)
    totals = sums + sum(laplace_noise(rng, scale, draws) for _ in range(k))
    if isinstance(algorithm, dpb.LazyDPTS):
        centres = algorithm.posteriors(totals / n, np.full(draws, float(n)), t)[0]
        return int(np.count_nonzero(centres < sums / n))
    counted = k if noises is None else noises
    values = [plain_index(algorithm, v, n, counted, t, 1.0) for v in (totals / n).tolist()]
    return int(np.count_nonzero(np.array(values) < mean))


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("algorithm", "bound"),
    [
        (dpb.AnytimeLazyUCB(0.5, alpha=1.01), lambda t: t**-2.02 + t**-1.01 / 2),
        (dpb.AdaPUCB(0.5, alpha=1.01), lambda t: 1.5 * t**-1.01),
        (dpb.AdaPKLUCB(0.5, alpha=1.01), lambda t: 1.5 * t**-1.01),
        (dpb.PrintedAdaPUCB(0.5, 1.01), lambda t: (2 * t) ** -1.01 + t**-1.01 / 2),
        (dpb.LazyDPTS(0.5, alpha=1.01), lambda t: t**-1.01 / 2),
        (dpb.DPKLUCB(0.5, slack=0.0), lambda t: 1 / t),
    ],
    ids=lambda value: getattr(value, "label", ""),
)
def test_an_index_is_an_upper_confidence_bound(algorithm, bound):
    """Where noise and sampling weigh about the same. 9 comparisons at most, a binomial test each.

    Control: with the noise of a smaller ε, or fewer noises counted, the bound is exceeded.
    """
    rng, draws = np.random.default_rng(5), 2000
    k = 6 if keeps(algorithm) else 1
    for mean, n, t in ((0.5, 8, 10), (0.8, 20, 30), (0.1, 30, 5)):
        failed = failures(algorithm, mean, n, k, t, draws, rng)
        assert may_be_at_most(failed, draws, bound(t), 1 / 3)
    if isinstance(algorithm, dpb.DPKLUCB):
        failed = failures(algorithm, 0.5, 30, 6, 10, draws, rng, noises=0)
    else:
        failed = failures(algorithm, 0.5, 8, 1, 10, draws, rng, epsilon=algorithm.epsilon / 20)
    assert not may_be_at_most(failed, draws, bound(10)), "control"


# ------------------------------------------------------------------- draws between releases


def test_the_largest_of_normal_variables_against_quadrature():
    rng = np.random.default_rng(0)
    for _ in range(20):
        n_arms = int(rng.integers(2, 6))
        centres = rng.uniform(0, 1, n_arms)
        deviations = 10 ** rng.uniform(-4, 0, n_arms)
        found = largest_draw(centres, deviations)
        assert found.sum() == pytest.approx(1)
        if n_arms == 2:  # a difference of normal variables
            gap, width = centres[0] - centres[1], math.hypot(*deviations)
            expected = stats.norm.sf([-gap / width, gap / width])
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-16)
            continue
        laws = stats.norm(centres[:, None], deviations[:, None])
        inside = np.concatenate([laws.ppf(p).ravel() for p in np.linspace(0, 1, 2003)[1:-1]])
        ends = np.unique([inside.min() - 9, *inside, inside.max() + 9])
        below = laws.cdf((ends[1:] + ends[:-1]) / 2)
        for a in range(n_arms):
            mass = np.diff(stats.norm(centres[a], deviations[a]).cdf(ends))
            others = np.delete(below, a, axis=0).prod(axis=0)
            assert found[a] == pytest.approx(float(mass @ others), abs=2e-4)


@pytest.mark.statistical
def test_the_race_against_pull_by_pull():
    """Two arms' pulls at the end of the race, and at a place inside: 4 comparisons of 2000 runs."""
    probabilities, due = np.array([0.5, 0.2, 0.3]), np.array([9, 4, 6])
    rng = np.random.default_rng(1)

    def plain():
        pulls, early = np.zeros(3, dtype=int), [-1, -1]
        while np.all(pulls < due):
            pulls[rng.choice(3, p=probabilities)] += 1
            if pulls.sum() == 5:
                early = pulls[:2].tolist()
        return *pulls[:2], *early

    def quick():
        arm, pulls = first_to_finish(rng, probabilities, due)
        rest = pulls - (np.arange(3) == arm)
        if rest.sum() < 5:
            return *pulls[:2], *(pulls[:2] if rest.sum() == 4 else (-1, -1))
        return *pulls[:2], *first_of(rng, rest, np.array([5]))[0, :2]

    expected = np.array([plain() for _ in range(2000)]).T
    found = np.array([quick() for _ in range(2000)]).T
    for place in range(4):
        assert same_law(found[place], expected[place], 1 / 4)
    assert not same_law(found[0], expected[1]), "control"


# ---------------------------------------------------------------------------------- bounds


def test_the_rate_against_a_search_for_the_worst_alternative():
    """inf over z of ε·abs(μ_a − z) + kl(z, μ*): the truth comes first, the alternative second."""
    for epsilon, means in itertools.product(
        (0.05, 0.5, 1.0, 3.0), ([0.5, 0.25], [0.9, 0.3, 0.85], [0.2, 0.05])
    ):
        best, rate, swapped = max(means), 0.0, 0.0
        for mean in set(means) - {best}:
            z = np.linspace(mean, best, 200_001)
            rate += (best - mean) / np.min(epsilon * (z - mean) + kl(z, best))
            swapped += (best - mean) / float(d_eps(best, mean, epsilon))
        found = dpb.bounds.private_regret_rate(means, epsilon)
        assert found == pytest.approx(rate, rel=1e-6)
        assert abs(swapped / rate - 1) > 1e-3, "the order matters"
        assert found >= dpb.bounds.private_lower_bound_rate(means, epsilon)
        assert found >= dpb.bounds.lai_robbins_rate(means) * (1 - 1e-12)
        free = dpb.bounds.private_regret_rate(means, math.inf)
        assert free == pytest.approx(dpb.bounds.lai_robbins_rate(means))


def test_the_bound_of_lazy_ucb_from_its_formula():
    """Two arms, in plain Python, with sums over batches as the proof has them."""
    best, mean, horizon, epsilon = 0.7, 0.4, 5000, 0.5
    ends, pulls = [2**j - 1 for j in range(1, 13)], 1.0
    for end in ends:
        n = (end + 1) // 2
        log_t = math.log(horizon)
        threshold = best - math.sqrt(1.55 * log_t / n) - 3.1 * log_t / (epsilon * n)
        high = math.exp(-n * float(calibrated_minus(threshold, mean, 1 / n, epsilon)))
        low = sum(1.5 * (other + end + 1) ** -3.1 for other in ends)
        pulls += min(2 * n, max(horizon - end - 1, 0)) * min(1, high + low)
    algorithm = dpb.AdaPUCB(epsilon, alpha=3.1)
    found = algorithm.regret_bound(dpb.instances.bernoulli([best, mean]), horizon)
    assert found == pytest.approx(0.3 * pulls, rel=1e-9)


def test_the_bound_of_the_printed_ucb_from_its_formula():
    """Two arms, in plain Python: episodes end at 1, 2, 4, … pulls, and the last one counts.

    Control: with the grid of our variant it is another number.
    """
    best, mean, horizon, epsilon = 0.7, 0.4, 5000, 0.5
    ends, pulls = [2**j for j in range(13)], 1.0
    for end in ends:
        n, log_t = max(end // 2, 1), math.log(horizon)
        width = math.sqrt(1.55 * (log_t + math.log(2)) / n) + 3.1 * log_t / (epsilon * n)
        high = math.exp(-n * float(calibrated_minus(best - width, mean, 1 / n, epsilon)))
        times = [other + end + 1 for other in ends]
        low = sum((2 * s) ** -3.1 + s**-3.1 / 2 for s in times)
        pulls += min(end, max(horizon - end - 1, 0)) * min(1, high + low)
    arms = dpb.instances.bernoulli([best, mean])
    found = dpb.PrintedAdaPUCB(epsilon).regret_bound(arms, horizon)
    assert found == pytest.approx(0.3 * pulls, rel=1e-9)
    assert dpb.AdaPUCB(epsilon, alpha=3.1).regret_bound(arms, horizon) != pytest.approx(found)


def test_printed_episodes_double_the_pulls_of_an_arm():
    """1, 1, 2, 4, 8, … pulls, as in Example 2 of Azize & Basu: 4 come after an episode of 2.

    Control: our variant has 1, 2, 4, ….
    """
    for algorithm in (dpb.PrintedAdaPUCB(1.0), dpb.PrintedAdaPKLUCB(1.0), dpb.AdaPUCB(1.0)):
        source = Recorded(ARMS, np.random.default_rng(0))
        algorithm.draw(source, 999, np.array([999]), np.random.default_rng(1))
        assert source.asked[:3] == [(0, 1), (1, 1), (2, 1)]
        for arm in range(3):
            sizes = [size for a, size in source.asked if a == arm]
            doubled = [1, *(2**j for j in range(len(sizes) - 1))]
            assert len(sizes) > 4 and (sizes == doubled) == doubles_pulls(algorithm)


def test_theorem_7_is_above_our_bound():
    """On instances with gaps and budgets of all sizes, from 2 pulls on.

    Control: with 4 in place of 16 it is below somewhere.
    """
    shortest = math.inf
    for gap, epsilon, horizon in itertools.product(
        (0.02, 0.25, 0.9), (0.01, 0.3, 5.0), (2, 1e3, 1e6, 1e12)
    ):
        arms = {"means": [0.95, 0.95 - gap], "horizon": horizon, "epsilon": epsilon}
        printed = dpb.bounds.printed_adap_ucb_regret(**arms, alpha=3.1)
        ours = dpb.bounds.lazy_ucb_regret(
            **arms, sampling=1.55, noise=3.1, grid="pulls", inside=2.0
        )
        assert ours <= printed
        shortest = min(shortest, printed / ours)
    assert shortest < 4, "control"


def test_odds_of_thompson_sampling_on_the_grid_are_above_the_exact_ones():
    for best, y in ((0.7, 0.65), (0.5, 0.499), (1.0, 0.9)):
        n = 4000
        x = np.arange(n + 1)
        z = math.sqrt(n) * (y - x / n)
        logs = stats.norm.logcdf(z) - stats.norm.logsf(z) + stats.binom.logpmf(x, n, best)
        exact = float(np.exp(logs).sum())
        found = float(_mean_odds(best, y, np.array([float(n)]))[0])
        assert exact <= found * (1 + 1e-9) and found <= 100 * exact + 1e-3


def test_pulls_of_thompson_sampling_in_a_batch_beyond_the_horizon(monkeypatch):
    """Each pull that fits has θ above y with probability Q at least, however long the batch."""
    seen = []

    def spied(frame, likely, lost=0.0):
        seen.append((frame, likely))
        return plain(frame, likely, lost)

    plain = Frame.pulls
    monkeypatch.setattr(Frame, "pulls", spied)
    horizon = 20_000
    dpb.bounds.lazy_dp_ts_regret([0.9, 0.2], horizon, epsilon=1.0, alpha=3.0, eta=99.0)
    least = stats.norm.sf(math.sqrt(2 * math.log(horizon)))  # of the widest posterior
    beyond = 0
    for frame, likely in seen:
        assert np.all(likely >= least * (1 - 1e-9))
        long = frame.next_sizes > horizon
        beyond += np.sum(likely[0, long] < 1.5 * least)
        assert np.all(least * horizon / frame.next_sizes[long] < 0.1 * least), "control"
    assert beyond > 0, "the chance of a high estimate alone is much smaller there"


@pytest.mark.parametrize("epsilon", [0.1, 1.0, math.inf])
def test_bounds_approach_the_rate(epsilon):
    """(1 + η) times the rate, but for lower-order terms, which are large still at 10^300."""
    means = [0.6, 0.3]
    rate = dpb.bounds.private_regret_rate(means, epsilon)
    times = 10.0 ** np.array([20, 100, 300])
    for algorithm in (dpb.DPKLUCB(epsilon, slack=2.0), dpb.DPIMED(epsilon, eta=1.0)):
        bound = algorithm.regret_bound(dpb.instances.bernoulli(means), 10**300, times)
        ratio = bound / (rate * np.log(times))
        assert np.all(np.diff(ratio) < 0) and 1 < ratio[-1] < 1.25 * (1 + algorithm.eta)


@pytest.mark.parametrize("eta", [0.05, 0.5, 1.0, 100.0])
@pytest.mark.parametrize("forgets", [True, False])
def test_no_batch_is_left_out_of_a_bound_however_long_the_horizon(eta, forgets):
    """Numbers of the grid beyond 2⁶⁰ pulls, by logarithms; up to there they are whole."""
    long, short = (Frame([0.5, 0.4], T, None, 1.0, eta, forgets) for T in (1e300, 2.0**60))
    n = short.ends.size
    assert n and np.array_equal(long.ends[:n], short.ends)
    grid = np.log(long.rewards[n - 1 :])
    assert np.diff(grid) == pytest.approx(math.log1p(eta), rel=1e-9)
    assert np.diff(long.ends) == pytest.approx(long.next_sizes[:-1])
    assert long.ends[-1] <= 1e300 < long.ends[-1] + long.next_sizes[-1]
    assert long.noises[-1] == (1 if forgets else long.noises.size)


@pytest.mark.parametrize("exponent", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("silent", [False, True], ids=["each counts", "few are silent"])
def test_pairs_of_batches_that_cannot_show_are_not_added_up(exponent, silent, monkeypatch):
    """Against all pairs, one by one, at T = 10³⁰⁰; of a million a part is looked at."""
    monkeypatch.setattr(lazy, "_BLOCK", 64)
    frame = Frame([0.5, 0.4, 0.3], 1e300, None, 1.0, 1.0, forgets=True)
    ends, asked = frame.ends, []
    least = np.exp(-np.linspace(0, 300, ends.size)) if silent else np.zeros(ends.size)
    certain, never = np.full((1, ends.size), 2.0), 0.01

    def failure(log_s):
        asked.append(log_s.size)
        return never * np.exp(-exponent * log_s)

    found = frame.index_regret(certain, failure, least)
    looked = sum(asked)
    every = failure(np.log(ends[:, None] + ends + 2))
    q = np.where(every > least[:, None], every, 0.0).sum(axis=0)
    expected = frame.regret(lambda mean: frame.pulls(frame.reaching(mean, certain) + q))
    assert found == pytest.approx(expected, rel=1e-12)
    assert looked < (0.05 if exponent > 1 else 0.3) * ends.size**2


def test_odds_that_are_sure_to_be_0_or_enormous_are_not_computed():
    """Those beyond 2000 rewards, each alone with the whole grid, against what stops early."""
    for best, y in ((0.5, 0.45), (0.9, 0.8995), (0.5, 0.4999999), (1.0, 0.9), (0.3, 0.295)):
        rewards = 2.0 ** np.arange(11.0, 400.0, 9.0)
        grid = np.linspace(1.0, 0.0, 2001)
        below = np.minimum(grid, best)
        rates = special.rel_entr(below, best) + special.rel_entr(1 - below, 1 - best)
        z = np.sqrt(rewards)[:, None] * (y - grid)
        logs = special.log_ndtr(z) - special.log_ndtr(-z)
        logs[:, 1:] -= rewards[:, None] * rates[:-1]
        expected = np.exp(np.minimum(special.logsumexp(logs, axis=1), 600.0))
        assert _mean_odds(best, y, rewards) == pytest.approx(expected, rel=1e-12, abs=1e-300)


def test_a_gap_that_nobody_sees_in_2_60_pulls_costs_more_than_those():
    """At a gap of 10⁻⁷ and ε = 10⁻⁹ the rate alone is more, from T = 10⁶⁰ on."""
    means = [0.5, 0.5 - 1e-7]
    least = dpb.bounds.private_regret_rate(means, 1e-9) * math.log(1e60)
    assert 2**60 * 1e-7 < least < dpb.bounds.dp_imed_regret(means, 1e60, epsilon=1e-9, eta=1.0)


@pytest.mark.statistical
def test_dp_imed_comes_near_the_lower_bound():
    """Between 10^6 and 10^15 regret grows by about the rate; AdaP-UCB, the control, by more."""
    arms, epsilon = dpb.instances.bernoulli([0.75, 0.25]), 2.0
    rate = dpb.bounds.private_regret_rate(arms.means, epsilon)
    times = np.array([10**6, 10**15])

    def slope(algorithm):
        runs = dpb.simulate(algorithm, arms, 10**15, n_runs=200, checkpoints=times)
        return np.diff(runs.regret, axis=1)[:, 0] / math.log(10**9) / rate

    found = slope(dpb.DPIMED(epsilon, eta=0.1, calibrated=False))
    assert mean_may_be_at_most(found, 1.15)
    assert not mean_may_be_at_most(found, 0.85)
    assert not mean_may_be_at_most(slope(dpb.AdaPUCB(epsilon)), 1.15), "control"


# ------------------------------------------------------------------------------- arguments


GOOD = {
    "lazy_ucb_regret": {"epsilon": 1.0, "sampling": 1.5, "noise": 3.0},
    "adap_klucb_regret": {"epsilon": 1.0, "alpha": 3.0},
    "dp_klucb_regret": {"epsilon": 1.0, "eta": 1.0, "slack": 0.0},
    "lazy_dp_ts_regret": {"epsilon": 1.0, "alpha": 3.0},
    "dp_imed_regret": {"epsilon": 1.0, "eta": 1.0},
}
BAD = {
    **{"epsilon": [-1.0], "eta": [0.0, 1e-9, math.inf, math.nan], "sampling": [0.0]},
    **{"noise": [-3.0], "alpha": [-1.0, math.nan], "slack": [-0.5], "calibrated": [1]},
}


@pytest.mark.parametrize("name", GOOD)
def test_arguments_of_bounds(name):
    bound = partial(getattr(dpb.bounds, name), [0.5, 0.4], 100)
    assert 0 < bound(**GOOD[name]) <= 10.0
    for argument in inspect.signature(bound).parameters.keys() & BAD.keys():
        for value in BAD[argument]:
            refusal(argument, value, lambda a=argument, v=value: bound(**GOOD[name] | {a: v}))
    if name == "lazy_dp_ts_regret":
        refusal("alpha", 1.0, lambda: bound(epsilon=1.0, alpha=1.0))
    refusal("epsilon", 0.0, lambda: dpb.bounds.private_regret_rate([0.5, 0.4], 0.0))
