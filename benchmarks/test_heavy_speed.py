"""Milliseconds a run and nanoseconds a pull of the algorithms for heavy-tailed rewards.

One repetition plays each case's runs once: the settings S1 to S3 of five Pareto arms with v = 0.9
and 0.5, and for private algorithms both budgets of the reconstructed figures. The compiled code is
compiled before the clock starts.
"""

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

import dpbandits as dpb

SETTINGS = ("S1", "S2", "S3")
ORDERS = (0.9, 0.5)
BUDGETS = (0.5, 1.0)


@dataclass(frozen=True)
class HeavyCase:
    """What is timed: one repetition plays `make(epsilon)` in each setting for each epsilon."""

    how: str
    horizon: int
    make: object
    budgets: tuple = BUDGETS
    repetitions: int = 3
    played_by: str | None = None

    @property
    def label(self):
        return self.make(1.0).label

    @property
    def runs(self):
        return len(SETTINGS) * len(ORDERS) * len(self.budgets)

    def play(self, rng):
        times = dpb.log_checkpoints(self.horizon)
        for name, order, epsilon in itertools.product(SETTINGS, ORDERS, self.budgets):
            instance = dpb.instances.twzw22(name, order)
            self.make(epsilon).draw(instance, self.horizon, times, rng, self.played_by)

    def __str__(self):
        return f"{self.label}-{self.how}-T{self.horizon:.0e}".replace(" ", "-")


def list_cases():
    yield HeavyCase("skipping", 10**7, dpb.DPRUCB)
    yield HeavyCase(
        "skipping, reconstructed width", 10**7, lambda e: dpb.DPRUCB(e, "reconstructed")
    )
    yield HeavyCase("pull by pull", 10**6, dpb.DPRUCB, played_by="pull by pull")
    yield HeavyCase("skipping", 10**8, dpb.DPRUCB, repetitions=1)
    yield HeavyCase("fixed", 10**6, lambda _: dpb.RobustUCB("fixed"), (math.inf,))
    yield HeavyCase("anytime", 10**6, lambda _: dpb.RobustUCB(), (math.inf,))
    yield HeavyCase("epochs at once", 10**10, dpb.DPRSE)
    yield HeavyCase("epochs at once", 10**17, dpb.LDPRSE)


@pytest.mark.parametrize("case", tuple(list_cases()), ids=str)
def test_heavy_case(case, benchmark, keep_heavy, request):
    if request.config.getoption("--short"):
        case = replace(case, horizon=min(case.horizon, 2_000))
    rng = np.random.default_rng(0)
    replace(case, horizon=1_000).play(rng)
    benchmark.pedantic(case.play, args=(rng,), rounds=case.repetitions)
    keep_heavy(case, benchmark)
