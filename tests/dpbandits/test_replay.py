"""A log that is replayed: which events a run takes, how long it lasts, and its law."""

import numpy as np
import pytest
from scipy import stats
from statistical import clopper_pearson, same_law_of_counts

import dpbandits as dpb
from dpbandits.rewards.sources import ReplayedRewards, ReplayEndedError

MEANS = np.array([0.8, 0.6])
N_EVENTS, HORIZON, N_LOGS = 400, 120, 1500


def test_a_pull_takes_the_next_event_with_its_arm():
    log = ReplayedRewards(np.array([0, 1, 0, 1, 1, 0]), np.arange(6) / 8, 2)
    assert [log.total(1, 1), log.total(0, 1), log.total(1, 2)] == [1 / 8, 2 / 8, 7 / 8]
    assert log.total(0, 0) == 0 and log.event == 5
    with pytest.raises(ReplayEndedError, match="the log of 6 events ends at pull 5, of arm 1"):
        log.total(1, 1)
    assert log.total(0, 1) == 5 / 8, "a pull that is refused takes nothing"


def test_arms_are_reordered_with_their_events():
    log = dpb.instances.replay([0, 1, 2, 2], [0.1, 0.2, 0.3, 0.5])
    other = log.reordered([2, 0, 1])
    assert other.means.tolist() == log.means[[2, 0, 1]].tolist() == [0.4, 0.1, 0.2]
    assert other.rewards(np.random.default_rng(0)).total(0, 2) == 0.8


@pytest.mark.parametrize(
    ("arms", "outcomes"),
    [
        ([0, 1], [0.5]),
        ([0, 1], [0.5, 1.5]),
        ([0, 0], [0.5, 0.5]),
        ([0, 2], [0.5, 0.5]),
        ([0, -1], [0.5, 0.5]),
        ([0, 0.5], [0.5, 0.5]),
        ([[0, 1]], [[0.5, 0.5]]),
        ([], []),
    ],
)
def test_what_is_no_log(arms, outcomes):
    with pytest.raises(ValueError, match="allowed"):
        dpb.instances.replay(arms, outcomes)


def logs(rng, depends):
    """Logs of two arms; if `depends`, events in which arm 0 failed are logged half as often."""
    while True:
        arms = rng.integers(0, 2, 3 * N_EVENTS)
        rewards = (rng.random(arms.size) < MEANS[arms]).astype(float)
        keep = rng.random(arms.size) < np.where((arms == 0) & (rewards == 0), 0.5, 1.0)
        kept = np.flatnonzero(keep | (not depends))[:N_EVENTS]
        yield dpb.instances.replay(arms[kept], rewards[kept])


def replayed(depends, seed):
    """Pulls of arm 0 after half of a run and after all of it, on a log each."""
    rng = np.random.default_rng(seed)
    times = np.array([HORIZON // 2, HORIZON])
    several = logs(rng, depends)
    return np.array(
        [dpb.UCB().draw(next(several), HORIZON, times, rng).counts[:, 0] for _ in range(N_LOGS)]
    )


@pytest.mark.statistical
def test_a_run_has_the_law_that_it_has_on_the_arms():
    """False alarm 1e-6 for the comparison; a log whose arms depend on rewards is told apart."""
    times = np.array([HORIZON // 2, HORIZON])
    rng = np.random.default_rng(4)
    instance = dpb.instances.bernoulli(MEANS)
    drawn = np.array(
        [dpb.UCB().draw(instance, HORIZON, times, rng).counts[:, 0] for _ in range(N_LOGS)]
    )
    assert same_law_of_counts(replayed(False, 5), drawn)
    assert not same_law_of_counts(replayed(True, 6), drawn)


@pytest.mark.statistical
def test_how_long_a_log_lasts():
    """False alarm 1e-6: it ends before `lasts` with probability 1e-3 at most."""
    arms = np.arange(600) % 3
    lasts = dpb.instances.replay(arms, np.zeros(600)).lasts
    rng, n = np.random.default_rng(7), 20_000
    needed = rng.geometric(1 / 3, (n, lasts)).sum(axis=1)
    low, _ = clopper_pearson(int((needed > 600).sum()), n)
    assert low <= 1e-3
    later = stats.nbinom.sf(600 - 3 * lasts, 3 * lasts, 1 / 3)
    assert later > 0.999, "thrice as many pulls do not fit"


def test_noise_on_a_log_is_secret():
    log = dpb.instances.replay([0, 1] * 500, [1.0, 0.0] * 500)
    several = [dpb.simulate(dpb.DPUCB(1.0), log, log.lasts, 1) for _ in range(4)]
    assert len({tuple(runs.pulls[0]) for runs in several}) > 1
    assert several[0].guarantee.is_private
    assert not dpb.simulate(dpb.DPUCB(1.0), log, log.lasts, 1, seed=0).guarantee.is_private
