"""Nanoseconds per pull of every algorithm, every way to simulate it, and number of arms.

One repetition plays each case's runs once: the instances C1–C4, and for private algorithms with
accelerators every budget of the paper's grid. The compiled code is compiled before the clock
starts. ``make bench`` runs all of it; ``--short`` cuts the horizons.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import plain
import pytest

import dpbandits as dpb

ARMS = (3, 5, 10, 20)
BUDGETS = (0.1, 0.25, 0.5, 1.0)
PAPER = 50_000_000
VARIANTS = ("tree-tight", "mishra-thakurta-parallel", "mishra-thakurta")
LAZY = (
    dpb.AnytimeLazyUCB,
    dpb.AdaPUCB,
    dpb.AdaPKLUCB,
    dpb.LazyDPTS,
    dpb.DPKLUCB,
    dpb.DPIMED,
)
UNIFORMS = 1_000_000


@dataclass(frozen=True)
class Case:
    """What is timed: one repetition plays `make(epsilon)` on C1–C4 for each epsilon."""

    algorithm: str
    how: str
    n_arms: int
    horizon: int
    make: object
    budgets: tuple = (0.25,)
    repetitions: int = 5

    @property
    def runs(self):
        return len(self.budgets) * len(dpb.instances.SS19_NAMES)

    def play(self, horizon, rng):
        for name in dpb.instances.SS19_NAMES:
            instance = dpb.instances.ss19(name, self.n_arms)
            for epsilon in self.budgets:
                self.make(epsilon)(instance, horizon, rng)

    def __str__(self):
        return f"{self.algorithm}-{self.how}-K{self.n_arms}-T{self.horizon:.0e}".replace(" ", "-")


PLAYED_BY = {"skipping": "skipping", "pull by pull": "pull by pull"}


def packaged(build, epsilon, how=None):
    """Play an algorithm of the package."""
    algorithm = build(epsilon)

    def play(instance, horizon, rng):
        algorithm.draw(instance, horizon, dpb.log_checkpoints(horizon), rng, how)

    return play


def looped(loop, epsilon):
    """Play a plain loop that knows no budget."""
    return lambda instance, horizon, rng: loop(instance.means, horizon, rng)


def looped_dp_se(epsilon):
    return lambda instance, horizon, rng: plain.numpy_dp_se(instance.means, horizon, rng, epsilon)


def looped_dp_ucb(epsilon):
    algorithm = dpb.DPUCB(epsilon)

    def play(instance, horizon, rng):
        widths = (f(instance.n_arms, horizon) for f in (algorithm.node_scale, algorithm.gamma))
        plain.numpy_dp_ucb(instance.means, horizon, rng, *widths)

    return play


def list_cases():
    for k in ARMS:
        epochs = partial(Case, how="epochs at once", n_arms=k, horizon=PAPER)
        yield epochs("DP-SE", make=partial(packaged, dpb.DPSE), budgets=BUDGETS)
        yield epochs("SE", make=partial(packaged, lambda _: dpb.SuccessiveElimination()))
        batches = partial(epochs, how="batches at once", budgets=BUDGETS)
        for build in LAZY:
            yield batches(build.label, make=partial(packaged, build))
    for how, horizon, budgets in (
        ("skipping", PAPER, BUDGETS),
        ("pull by pull", 1_000_000, (0.25,)),
    ):
        for k in ARMS:
            case = partial(Case, how=how, n_arms=k, horizon=horizon, repetitions=3)
            played = partial(packaged, how=PLAYED_BY[how])
            yield case("UCB", make=partial(played, lambda _: dpb.UCB()))
            for variant in VARIANTS:
                build = partial(dpb.DPUCB, variant=variant)
                yield case(f"DP-UCB ({variant})", make=partial(played, build), budgets=budgets)
    for k in ARMS:
        counted = partial(Case, how="pull by pull", n_arms=k, horizon=1_000_000, repetitions=3)
        yield counted("DP-UCB-BOUND", make=partial(packaged, dpb.DPUCBBound))
        yield counted("DP-UCB-HYBRID", make=partial(packaged, dpb.DPUCBHybrid))
        interval = partial(packaged, lambda e: dpb.DPUCBInt(dpb.DPUCBInt.target_input(e)))
        yield counted("DP-UCB-INT", make=interval)
    # The cost of a pull does not depend on the horizon: the paper's, once.
    long = partial(packaged, partial(dpb.DPUCB, variant="tree-tight"), how="pull by pull")
    yield Case("DP-UCB (tree-tight)", "pull by pull", 5, PAPER, long, repetitions=1)
    for k in ARMS:
        loop = partial(Case, how="NumPy loop", n_arms=k, horizon=20_000, repetitions=3)
        yield loop("DP-SE", make=looped_dp_se)
        yield loop("UCB", make=partial(looped, plain.numpy_ucb1))
        yield loop("DP-UCB (tree-tight)", make=looped_dp_ucb)
        yield Case("UCB", "MABWiser", k, 5_000, partial(looped, plain.mabwiser_ucb1), repetitions=3)


def test_uniform(benchmark, keep_uniform):
    rng = np.random.default_rng(0)
    benchmark.pedantic(rng.random, args=(UNIFORMS,), rounds=50, warmup_rounds=5)
    if benchmark.stats is not None:
        keep_uniform(benchmark.stats.stats.median / UNIFORMS * 1e9)


@pytest.mark.parametrize("case", tuple(list_cases()), ids=str)
def test_case(case, benchmark, keep, request):
    if case.how == "MABWiser":
        pytest.importorskip("mabwiser")
    if request.config.getoption("--short"):
        case = replace(case, horizon=min(case.horizon, 2_000))
    rng = np.random.default_rng(0)
    case.play(1_000, rng)
    benchmark.pedantic(case.play, args=(case.horizon, rng), rounds=case.repetitions)
    keep(case, benchmark)
