"""Guess-and-double: stretches, restarts, and what it costs."""

from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpbandits as dpb
from dpbandits import GuessAndDouble
from dpbandits.guarantees import NO_PRIVACY
from dpbandits.regret.base import RegretAlgorithm
from dpbandits.rewards.run import Ended, Run
from dpbandits.rewards.sources import FixedRewards

GROWTHS = ("double", "square")
BASES = [
    dpb.DPSE(epsilon=5.0),
    dpb.SuccessiveElimination(),
    dpb.UCB(),
    dpb.DPUCB(epsilon=20.0),
]


def one_rng():
    return np.random.default_rng(11)


@given(st.sampled_from(GROWTHS), st.integers(4, 5000), st.integers(1, 10**15))
def test_stretches(growth, first_guess, end):
    algorithm = GuessAndDouble(dpb.UCB(), growth, first_guess)
    stretches = list(algorithm.stretches(end))
    assert stretches[0][:2] == (first_guess, 0) and stretches[-1][2] == end
    for (guess, _, stop), (next_guess, next_start, _) in pairwise(stretches):
        assert stop == next_start == guess // 2, "the guess changes when half of it is reached"
        assert next_guess == (2 * guess if growth == "double" else guess**2)
    assert all(start < stop <= guess // 2 for guess, start, stop in stretches)


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("base", BASES, ids=lambda base: base.label)
def test_counts_are_those_of_restarted_runs(base, growth, small_instance):
    """The base is played from scratch on each stretch, with one generator."""
    algorithm, end, rng = GuessAndDouble(base, growth, first_guess=16), 9000, one_rng()
    expected, before = [], 0
    for guess, start, stop in algorithm.stretches(end):
        every = np.arange(1, stop - start + 1)
        expected += (before + base.draw(small_instance, guess, every, rng).counts).tolist()
        before = np.array(expected[-1])
    boundaries = [stop for _, _, stop in algorithm.stretches(end)]
    for times in (
        np.arange(1, end + 1),
        np.array([end]),  # no checkpoint in most stretches
        np.array(sorted({*boundaries, end})),  # on each boundary
        np.array(sorted({b + d for b in boundaries for d in (-1, 1) if b + d < end} | {end})),
    ):
        play = algorithm.draw(small_instance, end, times, one_rng())
        np.testing.assert_array_equal(play.counts, np.array(expected)[times - 1])


def test_the_horizon_is_not_told(small_instance):
    """The past does not change; a first guess beyond the end restarts nothing."""
    base, times = dpb.DPSE(epsilon=5.0), np.array([10, 500, 3000])
    algorithm = GuessAndDouble(base, first_guess=64)
    plays = [algorithm.draw(small_instance, T, times, one_rng()).counts for T in (3000, 10**9)]
    np.testing.assert_array_equal(*plays)
    alone = base.draw(small_instance, 8192, times, one_rng())
    guessed = GuessAndDouble(base, first_guess=8192).draw(small_instance, 3000, times, one_rng())
    np.testing.assert_array_equal(alone.counts, guessed.counts)


@dataclass(frozen=True)
class Spy(RegretAlgorithm):
    """Plays arm 0, ends an epoch after its third pull, notes what it is told."""

    label = "spy"
    source = "tests"
    told: list = field(default_factory=list, compare=False)

    @property
    def guarantee(self):
        return dpb.PrivacyGuarantee("central", 0.125)

    releases = True

    def play(self, rewards, horizon, rng):
        self.told.append((horizon, rewards.left))
        rewards.total(0, 3)
        rewards.commit(0)

    def regret_bound(self, instance, horizon, times=None):
        return np.sqrt(horizon) * np.minimum(np.asarray(times, float), 1.0)


def test_what_the_base_is_told_and_what_it_promises(small_instance):
    spy = Spy()
    algorithm = GuessAndDouble(spy, "double", 16)
    play = algorithm.draw(small_instance, 40, np.array([5, 40]), one_rng())
    assert spy.told == [(16, 8), (32, 8), (64, 16), (128, 8)]
    assert play.epoch_ends.tolist() == [3, 11, 19, 35]
    assert play.counts[:, 0].tolist() == [5, 40]
    assert algorithm.guarantee.epsilon == 0.125
    assert GuessAndDouble(dpb.UCB()).guarantee == NO_PRIVACY
    bound = algorithm.regret_bound(small_instance, 40, times=[[1, 8], [9, 40]])
    expected = [[4, 4], [4 + 32**0.5, 4 + 32**0.5 + 8 + 128**0.5]]
    np.testing.assert_allclose(bound, expected, rtol=1e-12)
    assert algorithm.regret_bound(small_instance, 40) == pytest.approx(expected[1][1])


def test_the_old_names_of_a_run_still_play_and_say_so():
    run = Run(FixedRewards([[1, 0], [0, 0]]), np.array([2]))
    with pytest.warns(DeprecationWarning, match=r"Run\.rest is now Run\.commit"), suppress(Ended):
        run.rest(1)
    assert run.counts.tolist() == [[0, 2]]
    with pytest.raises(AttributeError, match="'Run' object has no attribute 'sum'"):
        _ = run.sum
