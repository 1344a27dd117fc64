"""What remembers earlier runs is named, and neither convicted for that nor acquitted."""

import itertools

import numpy as np
import pytest
from statistical import FALSE_ALARM

import dpbandits as dpb
from dpbandits.auditing import Outputs, TablePair, tape_runner

PAIR = TablePair([[0.0] * 4], 0, 0, 1.0)
ONE = dpb.PrivacyGuarantee("central", 1.0)


def drifting():
    """A function that reads no reward: the number of calls so far over 10³, with noise."""
    calls = itertools.count(1)

    def drift(rewards, rng):
        return next(calls) / 10**3 + rng.laplace(0.0, 1.0)

    return drift


def cached(leak=False):
    """A function that draws its noise once, and keeps it."""
    kept = {}

    def cache(rewards, rng):
        if "noise" not in kept:
            kept["noise"] = rng.laplace(0.0, 1.0)
        return kept["noise"] + (rewards.pull(0) if leak else 0.0)

    return cache


class Counting:
    """A function as an object, with the number of its calls so far."""

    calls = 0

    def __call__(self, rewards, rng):
        self.calls += 1
        return self.calls / 10**3 + rng.laplace(0.0, 1.0)


class Drawn:
    """What has label, guarantee and outputs, and a number of runs so far."""

    label, guarantee = "drawn", ONE

    def __init__(self):
        self.runs = 0

    def outputs(self, table, n_runs, rng):
        self.runs += n_runs
        return Outputs.of_values(self.runs / 10**3 + rng.laplace(0.0, 1.0, (n_runs, 1)))


def global_noise(rewards, rng):
    """Noise from NumPy's global generator."""
    return rewards.pull(0) + np.random.laplace()  # noqa: NPY002


def first_differs():
    """A function whose first call alone is another one."""
    calls = itertools.count()

    def first(rewards, rng):
        return rng.laplace(0.0, 1.0) + 100.0 * (next(calls) == 0)

    return first


STATEFUL = [
    ("drift", drifting, "put out something else"),
    ("cache", cached, "used other random numbers"),
    ("cache", lambda: cached(leak=True), "used other random numbers"),
    ("Counting", Counting, "put out something else"),
    ("drawn", Drawn, "put out something else"),
    ("global_noise", lambda: global_noise, "put out something else"),
    ("first", first_differs, "put out something else"),
]
"""Name, what makes the subject, and what changes when its runs are repeated."""


@pytest.mark.parametrize(("name", "make", "change"), STATEFUL)
def test_what_keeps_state_is_named(name, make, change):
    message = f"subject='{name}' keeps state: .*{change}; allowed: runs that remember nothing"
    with pytest.raises(ValueError, match=message):
        dpb.audit(make(), PAIR, 200, guarantee=ONE)


def test_state_that_shows_late_is_named():
    """After 1000 calls the noise stops, and with it what is drawn: seen at the end."""
    calls = itertools.count()

    def late(rewards, rng):
        noise = rng.laplace(0.0, 1.0) if next(calls) < 1000 else 0.0
        return rewards.pull(0) + noise

    with pytest.raises(ValueError, match=r"keeps state: repeated \d+ runs later"):
        dpb.audit(late, PAIR, 2000, guarantee=ONE)


@pytest.mark.statistical
def test_what_every_other_call_does_is_not_taken_for_a_loss(monkeypatch):
    """Also where it is not noticed, as the tables take turns; control: in one order alone."""

    def verdict():
        calls = itertools.count()
        found = dpb.audit(
            lambda rewards, rng: next(calls) % 2 + rng.laplace(0.0, 0.1),
            *(PAIR, 2000, 0, FALSE_ALARM, ONE),
        )
        return found.verdict

    monkeypatch.setattr(tape_runner.Program, "_repeat", lambda *_: None)
    assert verdict() == "no violation found"
    run = tape_runner.Program.run

    def in_one_order(program, keys, *sides):
        parts = [run(program, keys[k : k + 1], *sides) for k in range(len(keys))]
        return [
            tuple(map(np.concatenate, zip(*side, strict=True))) for side in zip(*parts, strict=True)
        ]

    monkeypatch.setattr(tape_runner.Program, "run", in_one_order)
    assert verdict() == "violation found"


def leaking(rewards, rng):
    """A quarter of the noise that is needed."""
    return rewards.pull(0) + rng.laplace(0.0, 0.25)


def remembering():
    """The same leak, with a cache that changes nothing."""
    seen = {}

    def remember(rewards, rng):
        first = rewards.pull(0)
        return seen.setdefault(first, first) + rng.laplace(0.0, 0.25)

    return remember


def spawning(rewards, rng):
    """The same leak, by a generator made of the one that is given."""
    return rewards.pull(0) + rng.spawn(1)[0].laplace(0.0, 0.25)


class Uncopied(Counting):
    """A leak, and a thing that cannot be copied."""

    def __init__(self):
        self.lines = (line for line in "abc")

    def __call__(self, rewards, rng):
        return leaking(rewards, rng)


@pytest.mark.parametrize("make", [lambda: leaking, remembering, lambda: spawning, Uncopied])
@pytest.mark.statistical
def test_a_leak_is_still_convicted(make):
    """Control: what remembers nothing that matters is audited as before."""
    found = dpb.audit(make(), PAIR, 4000, failure=FALSE_ALARM, guarantee=ONE, all_runs=True)
    assert found.verdict == "violation found" and found.epsilon_lower > 2.0
    milder = dpb.PrivacyGuarantee("central", 4.0)
    found = dpb.audit(make(), PAIR, 4000, failure=FALSE_ALARM, guarantee=milder)
    assert found.verdict == "no violation found"


@pytest.mark.statistical
def test_how_many_numbers_are_released_is_an_output():
    """It may vary; where it tells a reward, that is convicted. Control: where it is a coin."""

    def telling(rewards, rng):
        return [rng.laplace()] * (1 + int(rewards.pull(0)))

    def coin(rewards, rng):
        first = rewards.pull(0)
        return [first + rng.laplace()] * rng.integers(1, 4)

    assert dpb.audit(telling, PAIR, 400, failure=FALSE_ALARM, guarantee=ONE).convicted
    found = dpb.audit(coin, PAIR, 4000, failure=FALSE_ALARM, guarantee=ONE)
    assert found.verdict == "no violation found" and found.epsilon_lower > 0.3
