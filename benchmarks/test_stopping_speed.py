"""Milliseconds a run and nanoseconds a sample of the stopping rules.

One repetition estimates a mean on a law, `runs` times; a plain loop reads a stream that lies in
memory. The compiled code is compiled before the clock starts.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import dpbandits as dpb

ALPHA, BETA = 0.5, 0.05


@dataclass(frozen=True)
class StoppingCase:
    """What is timed: one repetition runs `rule` on `law`, `runs` times."""

    rule: object
    law: object
    how: str
    runs: int
    repetitions: int = 5
    max_samples: int = 10**12

    def play(self, seed=0):
        """Run, and return the samples that were used."""
        if self.how != "Python loop":
            runs = dpb.estimate(self.rule, self.law, self.runs, seed, self.max_samples)
            return int(runs.samples.sum())
        rng = np.random.default_rng(seed)
        enough = 2 * self.rule.noiseless_time(self.law.mean)
        streams = (self.law.sample(rng, enough) for _ in range(self.runs))
        return sum(self.rule.run(stream, rng, self.max_samples).samples for stream in streams)

    def __str__(self):
        return f"{self.rule.label}-{self.how}-{self.law.name}-{self.law.mean:g}".replace(" ", "-")


def list_cases():
    nas = dpb.NAS(ALPHA, BETA)
    often = dpb.DPNAS(0.1, ALPHA, BETA)
    seldom = dpb.DPExponentialNAS(0.1, ALPHA, BETA)
    small, middle = dpb.laws.two_point(1e-3), dpb.laws.two_point(1e-2)
    wide, bent = dpb.laws.uniform(1e-2), dpb.laws.shifted_beta(3, 2)
    yield StoppingCase(seldom, small, "sums between looks", 10_000)
    yield StoppingCase(seldom, wide, "sums between looks", 1_000)
    yield StoppingCase(seldom, bent, "sums between looks", 100)
    for rule in (nas, often):
        yield StoppingCase(rule, small, "passing over looks", 20)
        yield StoppingCase(rule, middle, "passing over looks", 200)
        yield StoppingCase(rule, wide, "passing over looks", 20)
        yield StoppingCase(rule, bent, "passing over looks", 100)
    yield StoppingCase(dpb.EBGStop(ALPHA, BETA), middle, "sample by sample", 5)
    for rule in (nas, often):
        yield StoppingCase(rule, dpb.laws.two_point(0.1), "Python loop", 2, 3)


@pytest.mark.parametrize("case", tuple(list_cases()), ids=str)
def test_stopping_case(case, benchmark, keep_stopping, request):
    if request.config.getoption("--short"):
        case = replace(case, runs=2, max_samples=1_000)
    replace(case, runs=2, max_samples=1_000).play()
    samples = case.play()
    benchmark.pedantic(case.play, rounds=case.repetitions)
    keep_stopping(case, benchmark, samples)
