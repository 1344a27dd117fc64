"""(DP) successive elimination: the epoch-level simulation against Algorithm 3, step by step.

`algorithm_3` is written from the pseudo-code of SS19, pull by pull. The plain loop of the package
is compared with it pull for pull, both fed the same rewards and the same noise; the compiled loop
with the plain one: `test_acceleration`. That drawn sums have the law of single rewards:
`test_rewards`.
"""

import math
from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statistical import may_be_at_most

import dpbandits as dpb
from dpbandits._engine.accelerators.elimination import EliminationPlay
from dpbandits.regret import elimination
from dpbandits.rewards.instances import BernoulliInstance
from dpbandits.schedules import EpochPlan, elimination_epoch


def algorithm_3(n_arms, beta, epsilon, horizon, reward, noise, mistake=None):
    """SS19, Algorithm 3, as printed. Returns the arm of every pull and the ends of the epochs.

    `reward(i)` samples arm i, `noise(scale)` is Lap(scale). With epsilon = inf it is the
    non-private algorithm. `mistake` plants one, for negative controls.
    """
    played, ends = [], []
    S = list(range(n_arms))
    epoch = 0
    while len(S) > 1:
        epoch += 1
        r = 0
        total = dict.fromkeys(S, 0)
        delta_e = 2**-epoch
        R_e = 1 + max(
            32 * math.log(8 * len(S) * epoch**2 / beta) / delta_e**2,
            8 * math.log(4 * len(S) * epoch**2 / beta) / (epsilon * delta_e),
        )
        while r < R_e:
            r += 1
            for i in S:
                if len(played) == horizon:
                    return played, ends
                played.append(i)
                total[i] += reward(i)
        h_e = math.sqrt(math.log(8 * len(S) * epoch**2 / beta) / (2 * R_e))
        c_e = math.log(4 * len(S) * epoch**2 / beta) / (R_e * epsilon)
        if mistake == "threshold without privacy width":
            c_e = 0.0
        scale = 0.0 if mistake == "no noise" else 1 / (epsilon * r)
        released = {i: total[i] / r + noise(scale) for i in S}
        best = max(released.values())
        S = [j for j in S if not best - released[j] > 2 * h_e + 2 * c_e]
        ends.append(len(played))
    return played + S * (horizon - len(played)), ends


class Stack(BernoulliInstance):
    """An instance that deals rewards from prepared stacks, one per arm, in order."""

    def __post_init__(self):
        super().__post_init__()
        draws = np.random.default_rng([7, *map(int, self.means * 1000)])
        stacks = draws.random((200_000, self.n_arms)) < self.means
        object.__setattr__(self, "stacks", stacks.T.astype(int))
        object.__setattr__(self, "dealt", [0] * self.n_arms)

    def rewards(self, rng):
        return self

    def total(self, arm, size=1):
        start = self.dealt[arm]
        self.dealt[arm] += size
        assert self.dealt[arm] <= self.stacks.shape[1]
        return self.stacks[arm, start : start + size].sum()


def cumulative_counts(played, n_arms):
    return np.cumsum(np.array(played)[:, None] == np.arange(n_arms), axis=0)


def feed_noise(monkeypatch, module=elimination):
    """Let a module of the package draw the noise that the returned function deals one by one."""
    standard = np.random.default_rng(3).laplace(scale=3.0, size=10_000)  # so loud that it decides
    mine, theirs = iter(standard), iter(standard)

    def deal(rng, scale, size):
        return np.array([scale * next(theirs) for _ in range(size)])

    monkeypatch.setattr(module, "laplace_noise", deal)
    return lambda scale: scale * next(mine)


MEANS = [(0.75, 0.68), (0.9, 0.82, 0.3), (0.5, 0.55, 0.8, 0.1, 0.78), (0.4, 0.4, 0.4)]
HORIZON = 60_000


@pytest.mark.parametrize("epsilon", [0.05, 0.5, math.inf])
@pytest.mark.parametrize("means", MEANS)
def test_same_pulls_as_algorithm_3_on_the_same_rewards_and_noise(means, epsilon, monkeypatch):
    def printed(noise, mistake=None):
        reference, n_arms = Stack(means), len(means)
        deal = lambda i: int(reference.total(i))  # noqa: E731
        played, ends = algorithm_3(n_arms, 0.9, epsilon, HORIZON, deal, noise, mistake)
        return cumulative_counts(played, n_arms), ends

    private = epsilon < math.inf
    counts, ends = printed(feed_noise(monkeypatch) if private else lambda scale: 0.0)
    every = np.arange(1, HORIZON + 1)
    play = dpb.DPSE(epsilon, 0.9).draw(Stack(means), HORIZON, every, np.random.default_rng(0))
    np.testing.assert_array_equal(play.counts, counts)
    assert play.epoch_ends.tolist() == ends
    assert len(ends) >= 2, "the test sees more than one epoch"
    if means == MEANS[3] and epsilon == 0.05:
        for mistake in ("threshold without privacy width", "no noise"):
            broken, _ = printed(feed_noise(monkeypatch), mistake)
            assert not np.array_equal(broken, counts), "control"


@given(st.integers(2, 40), st.integers(1, 25), st.floats(1e-12, 0.99), st.floats(1e-4, 1e3))
def test_the_schedule_is_that_of_the_paper(n_viable, epoch, beta, epsilon):
    plan = elimination_epoch(n_viable, epoch, beta, epsilon)
    gap = 2.0**-epoch
    log8 = math.log(8 * n_viable * epoch**2 / beta)
    log4 = math.log(4 * n_viable * epoch**2 / beta)
    assert plan.length == max(32 * log8 / gap**2, 8 * log4 / (epsilon * gap)) + 1
    assert plan.pulls == math.ceil(plan.length)
    # What the proof of Lemma 4.2 needs: both widths below an eighth of the epoch's gap.
    assert plan.sampling_width == math.sqrt(log8 / (2 * plan.length)) < gap / 8 * (1 + 1e-12)
    assert plan.privacy_width == log4 / (plan.length * epsilon) < gap / 8 * (1 + 1e-12)
    assert plan.threshold == 2 * plan.sampling_width + 2 * plan.privacy_width
    # And each is exceeded with probability β/(4|S|e²) at most, by Hoeffding's and by Laplace's
    # tail; not so with half the rewards, or with noise of twice the scale.
    allowed = beta / (4 * n_viable * epoch**2) * (1 + 1e-9)
    exponent = 2 * plan.pulls * plan.sampling_width**2
    assert 2 * math.exp(-exponent) <= allowed < 2 * math.exp(-exponent / 2)
    noise = plan.privacy_width / plan.noise_scale
    assert math.exp(-noise) <= allowed < math.exp(-noise / 2)
    # Privacy: the mean of r rewards in [0, 1] has sensitivity 1/r, and noise of scale 1/(εr).
    assert (1 / plan.pulls) / plan.noise_scale == pytest.approx(epsilon, rel=1e-12)
    plain = elimination_epoch(n_viable, epoch, beta)
    assert plain.privacy_width == plain.noise_scale == 0 and plain.length <= plan.length


@given(st.integers(1, 300), st.lists(st.integers(1, 4), min_size=1, max_size=5), st.data())
def test_counts_regret_and_pulls_of_a_record(horizon, last_epoch, data):
    """Against a walk through the run, pull by pull."""
    last_epoch = np.array(last_epoch)
    wanted = int(last_epoch.max())
    ends, pulled = [], []
    for epoch in range(1, wanted + 1):
        viable = np.flatnonzero(last_epoch >= epoch).tolist()
        turns = data.draw(st.integers(1, 9)) if epoch < wanted else horizon
        pulled += viable * turns
        ends.append(len(pulled))
    horizon = ends[-2] + horizon if wanted > 1 else horizon
    counts = cumulative_counts(pulled[:horizon], last_epoch.size)
    ends = np.array(ends[:-1], dtype=np.int64)
    play = EliminationPlay(np.arange(1, horizon + 1), ends, last_epoch)
    gaps = np.arange(last_epoch.size) / 8
    assert np.array_equal(play.counts, counts) and np.array_equal(play.pulls, counts[-1])
    assert np.array_equal(play.regret(gaps), counts @ gaps), "eighths add up without rounding"


@pytest.mark.parametrize("late", [0, 1])
def test_a_record_for_other_checkpoints_is_refused(late):
    times, last = np.array([50, 100]), np.array([1, 1])
    play = EliminationPlay(times - late, np.empty(0, np.int64), last)
    with pytest.raises(ValueError, match="other checkpoints") if late else nullcontext():
        play.validate(times, 2)
    with pytest.raises(ValueError, match="other checkpoints or arms"):
        play.validate(times, 3)
    with pytest.warns(DeprecationWarning, match=r"Play\.fault is now Play\.validate"):
        assert bool(play.fault(times, 2)) == bool(late)


def test_beta_is_one_over_the_horizon_and_infinite_epsilon_has_no_noise(same_seeds):
    instance = dpb.instances.ss19("C2")
    plays = {}
    for make in (dpb.SuccessiveElimination, partial(dpb.DPSE, math.inf), partial(dpb.DPSE, 0.5)):
        default, given_beta, other = plays[make] = [
            dpb.simulate(make(beta=b), instance, 10**6, n_runs=3).regret for b in (None, 1e-6, 1e-3)
        ]
        assert np.array_equal(default, given_beta) and not np.array_equal(default, other)
    plain, infinite, private = plays.values()
    assert np.array_equal(plain, infinite) and not np.array_equal(plain, private)


# ---------------------------------------------------------------- the best arm survives
def lost_best_arm(instance, runs, beta, epsilon, shrink=1.0):
    """Runs that eliminated the best arm, with all thresholds multiplied by `shrink`."""
    horizon = 10**7

    class Shrunk(dpb.DPSE):
        def plan_epoch(self, n_viable, epoch, horizon):
            plan = super().plan_epoch(n_viable, epoch, horizon)
            widths = shrink * plan.sampling_width, shrink * plan.privacy_width
            return EpochPlan(plan.length, *widths, plan.noise_scale)

    lost = 0
    rng, algorithm = np.random.default_rng(8), Shrunk(epsilon, beta)
    for _ in range(runs):
        times = np.array([horizon - instance.n_arms, horizon])
        counts = algorithm.draw(instance, horizon, times, rng).counts
        lost += int(counts[1, instance.best_arm] == counts[0, instance.best_arm])
    return lost


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.05, 1.0, math.inf])
def test_the_best_arm_survives_as_often_as_the_lemma_says(epsilon):
    instance = dpb.instances.bernoulli([0.501, 0.5, 0.5, 0.5])
    runs, beta = 1000, 0.3
    failure = dpb.bounds.elimination_failure(beta, private=math.isfinite(epsilon))
    assert may_be_at_most(lost_best_arm(instance, runs, beta, epsilon), runs, failure)
    # Control: thresholds of a fifth of the width lose the best arm too often.
    assert not may_be_at_most(lost_best_arm(instance, runs, beta, epsilon, 0.2), runs, failure)
