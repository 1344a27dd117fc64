"""A run that asks and is told is the run of the plain program, also after a restart."""

import gc
import json
import math
import threading

import numpy as np
import pytest
from test_registry import CONFIGURATIONS

import dpbandits as dpb
from dpbandits.regret.heavy import HeavyTailAlgorithm
from dpbandits.rewards.sources import FixedRewards

N_ARMS, HORIZON, SEED = 3, 400, 11
MOMENT = (1.0, 1.0)
ONE_OF_EACH = [pytest.param(several[0], id=name) for name, several in CONFIGURATIONS.items()]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(8)
    return (rng.random((N_ARMS, HORIZON)) < [[0.9], [0.5], [0.1]]).astype(float)


def begin(algorithm, seed=SEED):
    moment = MOMENT if isinstance(algorithm, HeavyTailAlgorithm) else None
    return dpb.play(algorithm, N_ARMS, HORIZON, moment=moment, seed=seed)


def go_on(live, table, until=HORIZON):
    """Ask for whole batches, and tell them when no more can be asked for."""
    arms = []
    while live.time < until:
        while live.ready and live.time < until:
            arms.append(live.ask())
        if live.time < until or until == HORIZON:
            tell_pending(live, table)
    return arms


def tell_pending(live, table):
    seen = np.array(live.pulls)
    for arm in live.pending:
        seen[arm] -= 1
    for arm in live.pending:
        live.tell(table[arm, seen[arm]])
        seen[arm] += 1


@pytest.mark.parametrize("algorithm", ONE_OF_EACH)
def test_it_is_the_run_of_the_plain_program(algorithm, table):
    live = begin(algorithm)
    arms = go_on(live, table)
    promise = MOMENT if isinstance(algorithm, HeavyTailAlgorithm) else None
    rewards = FixedRewards(table, promise=promise)
    times = np.array([HORIZON])
    rng = np.random.default_rng([SEED])
    drawn = algorithm.draw(rewards, HORIZON, times, rng, "reference")
    assert live.ended and live.pulls == drawn.counts[-1].tolist()
    assert np.bincount(arms, minlength=N_ARMS).tolist() == live.pulls
    with pytest.raises(ValueError, match="the run is over after 400 pulls; allowed: no more"):
        live.ask()


@pytest.mark.parametrize("algorithm", ONE_OF_EACH)
def test_it_goes_on_from_its_state_with_the_pulls_that_are_pending(algorithm, table):
    whole = begin(algorithm)
    arms = go_on(whole, table)
    live = begin(algorithm)
    first = go_on(live, table, 150)
    again = dpb.LiveRun.from_json(live.to_json(), algorithm)
    assert (again.pulls, again.pending, again.ready) == (live.pulls, live.pending, live.ready)
    assert first + go_on(again, table) == arms


def test_later_noise_is_drawn_anew(table):
    live = begin(dpb.DPUCB(1.0), seed=None)
    go_on(live, table, 100)
    state = live.to_json()
    one, two = (dpb.LiveRun.from_json(state, dpb.DPUCB(1.0)) for _ in range(2))
    assert go_on(one, table) != go_on(two, table)
    kept = [json.loads(each.to_json())["noise"] for each in (live, one, two)]
    assert kept[1] != kept[2]
    assert all(noise.startswith(kept[0][: len(kept[0]) // 4 * 4 - 8]) for noise in kept[1:])


def test_what_is_promised():
    algorithm = dpb.DPSE(1.0)
    assert dpb.play(algorithm, 2, 100).guarantee == algorithm.guarantee
    rehearsal = dpb.play(algorithm, 2, 100, seed=0)
    assert not rehearsal.guarantee.is_private
    assert not dpb.LiveRun.from_json(rehearsal.to_json(), algorithm).guarantee.is_private


def test_what_is_refused(table):
    live = dpb.play(dpb.UCB(), 2, 100)
    with pytest.raises(ValueError, match=r"reward=1.0 belongs to no pull"):
        live.tell(1.0)
    live.ask()
    for wrong in (2.0, -0.1, math.nan, "1", None):
        with pytest.raises(ValueError, match="reward"):
            live.tell(wrong)
    with pytest.raises(
        ValueError, match="rewards that are pending: 1; allowed: to tell them first"
    ):
        live.ask()
    live.tell(True)
    assert live.time == 1 and live.pending == []
    with pytest.raises(ValueError, match="which DPRSE must know"):
        dpb.play(dpb.DPRSE(1.0), 2, 100)
    with pytest.raises(ValueError, match="algorithm="):
        dpb.play("UCB", 2, 100)
    with pytest.raises(ValueError, match="n_arms=0 is out of range"):
        dpb.play(dpb.UCB(), 0, 100)
    with pytest.raises(TypeError, match=r"made by dpb\.play\(.*, or by LiveRun\.from_json"):
        dpb.LiveRun(dpb.UCB(), 2, 100)
    state = live.to_json()
    with pytest.raises(ValueError, match=r"is not that of the state; allowed: UCB\(\)"):
        dpb.LiveRun.from_json(state, dpb.DPSE(1.0))
    broken = json.loads(state)
    for wrong in ("", "[]", "{}", json.dumps(broken | {"noise": "é"})):
        with pytest.raises(ValueError, match="state cannot be read"):
            dpb.LiveRun.from_json(wrong, dpb.UCB())


class Failing(dpb.UCB):
    label, source = "failing", "a test"

    def play(self, rewards, horizon, rng):
        rewards.total(0, 2)
        raise RuntimeError("no way on")


def test_an_error_of_the_program_reaches_who_asks():
    live = dpb.play(Failing(), 2, 100)
    live.ask(), live.ask()
    live.tell(0.5)
    with pytest.raises(RuntimeError, match="no way on"):
        live.tell(0.5)


def test_a_run_that_is_forgotten_ends_its_thread():
    gc.collect()
    for thread in threading.enumerate():
        if thread.name == "dpbandits play":  # of earlier tests
            thread.join(600.0)
    before = threading.active_count()
    several = [dpb.play(dpb.UCB(), 2, 100) for _ in range(5)]
    assert threading.active_count() == before + 5
    waiting = [each for each in threading.enumerate() if each.name == "dpbandits play"]
    del several
    gc.collect()
    for thread in waiting:
        thread.join(600.0)
    assert threading.active_count() == before


def test_a_local_guarantee_is_central_here():
    live = dpb.play(dpb.LDPUCB(2.0), 2, 100)
    assert live.guarantee == dpb.PrivacyGuarantee("central", 2.0)


@pytest.mark.parametrize(
    "change",
    [
        {"seed": "x"},
        {"moment": 3},
        {"horizon": None},
        {"rewards": ["x"]},
        {"rewards": [50.0]},
        {"pulls": [0, 0]},
        {"pulls": [0, 1]},
        {"pulls": [300, 0]},
        {"pulls": None},
    ],
    ids=str,
)
def test_a_broken_state_is_refused(change):
    live = dpb.play(dpb.UCB(), 2, 100)
    live.ask()
    live.tell(1.0)
    state = json.loads(live.to_json())
    with pytest.raises(ValueError, match="state"):
        dpb.LiveRun.from_json(json.dumps(state | change), dpb.UCB())


def test_rewards_of_several_threads_are_each_told_once():
    """Two threads that ask and tell as they can; the algorithm sees each reward once."""
    live = dpb.play(dpb.AdaPUCB(math.inf), 2, 300)

    def work():
        while not live.ended:
            try:
                live.tell(1.0) if live.pending else live.ask()
            except ValueError:
                continue

    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(600.0)
    assert live.ended and live.time == 300 and sum(live.pulls) == 300
    assert len(json.loads(live.to_json())["rewards"]) == 300
