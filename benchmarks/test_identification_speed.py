"""Milliseconds a run and nanoseconds a pull of best-arm identification, and what a plan takes.

One repetition runs an algorithm `runs` times on μ1 at δ = 0.01. The compiled code is compiled
before the clock starts.
"""

from dataclasses import dataclass, replace

import pytest

import dpbandits as dpb

DELTA = 0.01
MU1 = dpb.instances.ja25("mu1")


@dataclass(frozen=True)
class IdentificationCase:
    """What is timed: one repetition runs `algorithm` on μ1, `runs` times."""

    algorithm: object
    runs: int
    repetitions: int = 3

    @property
    def epsilon(self):
        return getattr(self.algorithm, "epsilon", float("inf"))

    def play(self, seed=0):
        """Run, and return the pulls of all runs."""
        return int(dpb.identify(self.algorithm, MU1, self.runs, seed).stopping_time.sum())

    def __str__(self):
        return f"{self.algorithm.label}-epsilon-{self.epsilon:g}".replace(" ", "-")


def list_cases():
    yield IdentificationCase(dpb.TopTwo(DELTA), 100)
    for epsilon, runs in ((0.001, 5), (0.01, 50), (1.0, 200)):
        yield IdentificationCase(dpb.DPTT(epsilon, DELTA), runs)
    for epsilon, runs in ((0.001, 3), (0.01, 10), (1.0, 50)):
        yield IdentificationCase(dpb.AdaPTT(epsilon, DELTA), runs)
    for epsilon in (0.01, 1.0):
        yield IdentificationCase(dpb.DPSEIdentifier(epsilon, DELTA), 200)
    for epsilon in (0.01, 0.1, 1.0, 10.0):
        yield IdentificationCase(dpb.DPLRE(epsilon, DELTA), 50)


@pytest.mark.parametrize("case", tuple(list_cases()), ids=str)
def test_identification_case(case, benchmark, keep_identification, request):
    if request.config.getoption("--short"):
        case = replace(case, runs=1, repetitions=1)
    replace(case, runs=1).play()
    pulls = case.play()
    benchmark.pedantic(case.play, rounds=case.repetitions)
    keep_identification(case, benchmark, pulls)


@pytest.mark.parametrize("n_arms", (3, 10))
def test_characteristic_time(n_arms, benchmark):
    means = [0.9 - 0.05 * arm for arm in range(n_arms)]
    dpb.characteristic_time(means, 0.5)
    benchmark(dpb.characteristic_time, means, 0.5)


def test_plan(benchmark):
    dpb.plan([0.75, 0.7, 0.7], 0.5, 0.05, n_runs=2)
    benchmark.pedantic(dpb.plan, args=([0.75, 0.7, 0.7], 0.5, 0.05), rounds=3)
