"""Noise on what is given is secret: where rewards come from a table, a stream, a function or a live
system it is drawn from the operating system's secure generator, unless a seed is asked for."""

import json
import os
import re

import numpy as np
import pytest
from scipy import stats
from statistical import distance_to_law, one_sample_limit

import dpbandits as dpb
from dpbandits._engine import store
from dpbandits._engine.kernels import kernel
from dpbandits.cli._trials import report
from dpbandits.cli.commands import main
from dpbandits.heavy.robust_means import robust_mean
from dpbandits.mechanisms import secure_generator
from dpbandits.rewards.heavy_laws import SampledLaw
from dpbandits.rewards.sources import Bandit, Source

N_RUNS = 6
HORIZON = 200


class Shop(Source):
    """A live system of somebody's own."""

    n_arms = 2

    def total(self, arm, size):
        return 0.5 * size


class LiveShop(Bandit):
    name, means = "shop", np.array([0.5, 0.5])

    def rewards(self, rng):
        return Shop()


def half(arm):
    return 0.5


TABLE = np.full((2, HORIZON), 0.5)
GIVEN = {
    "table": (dpb.DPUCB(1.0), dpb.instances.table(TABLE)),
    "callback": (dpb.DPUCB(1.0), dpb.instances.callback(half, 2)),
    "compiled": (dpb.LazyDPTS(1.0), dpb.instances.callback(half, 2)),
    "live": (dpb.DPUCB(1.0), LiveShop()),
    "heavy": (dpb.DPRUCB(1.0), dpb.instances.heavy_callback(half, 2, 1.0, 1.0)),
}
NORMAL = SampledLaw(lambda rng, size: rng.normal(0.0, 1.0, size), 0.0, 1.0, moment_bound=1.0)
DRAWN = {
    "Bernoulli": (dpb.DPUCB(1.0), dpb.instances.bernoulli([0.5, 0.5])),
    "bounded": (dpb.DPUCB(1.0), dpb.instances.bounded([dpb.laws.beta(2, 2)] * 2)),
    "heavy tails": (dpb.DPRUCB(1.0), dpb.instances.twzw22("S1", order=0.5)),
    "sampled": (dpb.DPRUCB(1.0), dpb.instances.heavy([NORMAL] * 2, 1.0, 1.0)),
}


@pytest.fixture
def asked(monkeypatch):
    """The words that were asked of the operating system; Python itself asks for more at once."""
    calls, real = [], os.urandom

    def urandom(n):
        calls.extend([n] * (n in (4, 8)))
        return real(n)

    monkeypatch.setattr(os, "urandom", urandom)
    return calls


@pytest.mark.parametrize("name", GIVEN)
def test_noise_on_what_is_given_is_secret_unless_a_seed_is_asked_for(name, asked):
    case = GIVEN[name]
    runs = dpb.simulate(*case, HORIZON, N_RUNS)
    assert len(asked) > N_RUNS and runs.given and runs.secret
    assert runs.guarantee.epsilon == N_RUNS * case[0].epsilon  # a table is read by all runs
    assert "privacy of the pulls ε = 6, central, event level" in repr(runs)
    asked.clear()
    seeded, again = (dpb.simulate(*case, HORIZON, N_RUNS, seed=0) for _ in range(2))
    assert not asked and np.array_equal(seeded.pulls, again.pulls)
    assert seeded.given and not seeded.secret and not seeded.guarantee.is_private
    assert "privacy of the pulls none, as its seed is given" in repr(seeded)


@pytest.mark.parametrize("name", DRAWN)
def test_a_simulation_on_laws_has_seed_0(name, asked):
    case = DRAWN[name]
    runs, same = dpb.simulate(*case, 500, 2), dpb.simulate(*case, 500, 2, seed=0)
    assert np.array_equal(runs.pulls, same.pulls) and not (asked or runs.given)
    assert runs.guarantee == case[0].guarantee and "privacy" not in repr(runs)


def test_grids_and_workers_have_secret_noise_too_and_nothing_of_it_is_kept(tmp_path, monkeypatch):
    cases = {name: GIVEN[name] for name in ("table", "heavy")} | DRAWN
    kept = []
    monkeypatch.setattr(store, "write", lambda key, outcomes: kept.append(key))
    store.keep_runs(tmp_path)
    try:
        found = [dpb.simulate_many(cases, HORIZON, 20, n_jobs=n) for n in (1, 2)]
    finally:
        store.keep_runs(None)
    for key in cases:
        first, second = (each[key] for each in found)
        assert first.secret == second.secret == (key in GIVEN)
        assert np.array_equal(first.pulls, second.pulls) == (key in DRAWN)
    assert kept[:2] == [None, None] and None not in kept[2:5]


def test_what_takes_a_generator_does_without():
    """One run each on what is given: noise differs from call to call."""
    rule = dpb.DPExponentialNAS(epsilon=1, alpha=0.5, beta=0.05)
    identifier = dpb.DPSEIdentifier(1.0, 0.1)
    table = [[1, 0] * 4000, [0] * 8000]

    def counted():
        counter = dpb.mechanisms.BinaryTree(1.0, 8).counter()
        return [counter.add(1.0) for _ in range(8)]

    programs = [
        lambda: rule.run([0.75] * 20_000).estimate,
        lambda: identifier.draw(dpb.identification.TableRewards(table)).pulls.tolist(),
        counted,
        lambda: robust_mean([1.0, 2.0], 4.0, 1.0, 1.0).estimate,
        lambda: robust_mean([1.0, 2.0], 4.0, 1.0, 1.0, "local").estimate,
    ]
    for program in programs:
        assert program() != program() or programs.index(program) == 1
    with pytest.raises(ValueError, match="rng=0 must be of type Generator"):
        rule.run([0.75], 0)


@kernel
def drawn(rng, n):
    numbers = np.empty((3, n))
    for i in range(n):
        numbers[0, i] = rng.random()
        numbers[1, i] = rng.laplace(0.0, 2.0)
        numbers[2, i] = rng.standard_normal()
    return numbers


@pytest.mark.statistical
def test_the_secure_generator_has_the_laws_of_any_other():
    """In Python and compiled; seven comparisons."""
    rng, n = secure_generator(), 20_000
    words = rng.integers(0, 2**64, n, dtype=np.uint64) / 2.0**64
    halves = rng.integers(0, 2**32, n, dtype=np.uint32) / 2.0**32
    seen = [*drawn(rng, n), rng.random(n), rng.standard_exponential(n), words, halves]
    uniform = stats.uniform()
    laws = [uniform, stats.laplace(scale=2.0), stats.norm(), uniform, stats.expon()]
    for sample, law in zip(seen, [*laws, uniform, uniform], strict=True):
        assert distance_to_law(sample, law) < one_sample_limit(n, 1 / 7)
    assert distance_to_law(seen[1], stats.laplace(scale=1.7)) > one_sample_limit(n, 1 / 7)
    assert min(seen[3]) >= 0.0 and max(seen[3]) < 1.0
    first, second = rng.spawn(2)
    assert len({*first.random(4), *second.random(4), *secure_generator().random(4)}) == 12
    with pytest.raises(AttributeError):
        rng.bit_generator.state  # noqa: B018


# ------------------------------------------------------------------------------ the command line


@pytest.fixture
def stream(tmp_path, monkeypatch):
    """A file of numbers; `estimate` on it, and on its neighbour, which differs in a line."""
    monkeypatch.chdir(tmp_path)
    lines = ["0.6"] * 20_000
    (tmp_path / "own.txt").write_text("\n".join(lines))
    lines[6] = "-1"
    (tmp_path / "neighbour.txt").write_text("\n".join(lines))


def released(capsys, options):
    words = "estimate DPExponentialNAS --set alpha=0.5 --set beta=0.05 --epsilon 1 --stream "
    assert main((words + options).split()) == 0
    return capsys.readouterr().out


def test_an_estimate_of_a_stream_is_released_with_secret_noise(capsys, stream):
    """Who knows all lines but the seventh cannot take the noise away, unless it has a seed."""
    first, second = (released(capsys, "own.txt") for _ in range(2))
    pattern = r"estimate (\S+)"
    assert re.search(pattern, first)[1] != re.search(pattern, second)[1]
    assert first.splitlines()[1] == "privacy: ε = 1, central, event level"
    record = json.loads(released(capsys, "own.txt --json"))
    assert record["seed"] is None and record["guarantee"]["epsilon"] == 1.0


def test_an_estimate_with_a_seed_says_that_it_is_not_private(capsys, stream):
    first, same, other = (
        released(capsys, f"{name}.txt --seed 0") for name in ("own", "own", "neighbour")
    )
    assert first == same != other
    assert first.splitlines()[1] == (
        "privacy: none, as the noise is that of seed 0; without --seed it is "
        "ε = 1, central, event level"
    )
    record = json.loads(released(capsys, "own.txt --json --seed 7"))
    assert record["seed"] == 7 and record["guarantee"]["epsilon"] == "inf"


def test_a_trial_that_was_rehearsed_says_so_for_good(rng):
    design = dpb.GroupSequential(per_look=50, critical=2.2, epsilon=1.0)
    trial, real = dpb.RunningTrial(design), dpb.RunningTrial(design)
    real.look(1, (46, 50), (40, 50))
    assert real.guarantee == design.guarantee and not real.rehearsal
    assert report(real, False, None)[0][0] == "privacy: ε = 1, central, event level"
    assert "rehearsal" not in real.to_json()
    trial.look(1, (46, 50), (40, 50), rng)
    read = dpb.RunningTrial.from_json(trial.to_json())
    if read.decision == "continue":
        read.look(2, (46, 50), (40, 50))
    assert read.rehearsal and not read.guarantee.is_private
    assert report(read, False, None)[0][0].startswith("privacy: none, as this is a rehearsal")
    spoilt = read.to_json().replace('"rehearsal": true', '"rehearsal": 1')
    with pytest.raises(ValueError, match="rehearsal=1 is not a truth value"):
        dpb.RunningTrial.from_json(spoilt)
