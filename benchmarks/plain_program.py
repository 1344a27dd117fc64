"""Programs of one's own beside loops by hand: ``python benchmarks/plain_program.py book/data``.

The programs are written as in the tutorial on an algorithm of one's own, and played by
`dpb.simulate`. Beside them are the same loops in NumPy, UCB1 of MABWiser (the extra `bench`), and,
with ``--smpybandits FOLDER``, UCB of SMPyBandits from the files of its repository. All take turns,
`ROUNDS` times; each time is processor seconds over pulls. A row has the least, its ratio to the
least of the loop by hand, and the middle half of the ratios within a round.
"""

import argparse
import json
import math
import runpy
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module, metadata
from pathlib import Path
from typing import NamedTuple

import numpy as np
from plain import mabwiser_ucb1, numpy_ucb1
from record import processor, rounded, versions

import dpbandits as dpb
from dpbandits._files import write_atomically

FILE = "benchmarks-program.json"
ROUNDS = 15
BATCH = 100
HAND, OWN, MABWISER, SMPYBANDITS = "NumPy loop", "own program", "MABWiser", "SMPyBandits"
ARMS = dpb.instances.ss19("C2")
MEANS = ARMS.means
LAWS = [dpb.laws.beta(9 * mean, 9 * (1 - mean)) for mean in MEANS]
SHAPES = [(law.a, law.b) for law in LAWS]
GRADED = dpb.instances.bounded(LAWS)
EPSILON, PER_ARM = 1.0, 1000


@dataclass(frozen=True)
class MyUCB(dpb.RegretAlgorithm):
    """UCB1, pull by pull."""

    label = "my UCB"
    source = "benchmark"

    def play(self, rewards, horizon, rng):
        sums = np.array([rewards.total(arm, 1) for arm in range(rewards.n_arms)], float)
        pulls = np.ones(rewards.n_arms)
        while True:
            t = rewards.time + 1
            arm = int(np.argmax(sums / pulls + np.sqrt(2 * math.log(t) / pulls)))
            sums[arm] += rewards.total(arm, 1)
            pulls[arm] += 1


@dataclass(frozen=True)
class MyBatches(dpb.RegretAlgorithm):
    """UCB1, which keeps to an arm for a batch."""

    label = "my UCB in batches"
    source = "benchmark"

    def play(self, rewards, horizon, rng):
        sums = np.array([rewards.total(arm, BATCH) for arm in range(rewards.n_arms)], float)
        pulls = np.full(rewards.n_arms, float(BATCH))
        while True:
            t = rewards.time + 1
            arm = int(np.argmax(sums / pulls + np.sqrt(2 * math.log(t) / pulls)))
            sums[arm] += rewards.total(arm, BATCH)
            pulls[arm] += BATCH


def ucb_of_beta_rewards(horizon, rng):
    """Play UCB1 with rewards between 0 and 1, by hand."""
    pulls, rewards = np.zeros(len(SHAPES), np.int64), np.zeros(len(SHAPES))
    for t in range(1, horizon + 1):
        if t <= pulls.size:
            arm = t - 1
        else:
            arm = int(np.argmax(rewards / pulls + np.sqrt(2 * math.log(t) / pulls)))
        pulls[arm] += 1
        rewards[arm] += rng.beta(*SHAPES[arm])
    return pulls


def ucb_in_batches(horizon, rng):
    """Play UCB1 in batches by hand: a Binomial variable of NumPy each."""
    pulls, rewards, t = np.zeros(MEANS.size, np.int64), np.zeros(MEANS.size), 0
    means = MEANS.tolist()
    while t < horizon:
        if t < BATCH * pulls.size:
            arm = t // BATCH
        else:
            arm = int(np.argmax(rewards / pulls + np.sqrt(2 * math.log(t + 1) / pulls)))
        t += BATCH
        pulls[arm] += BATCH
        rewards[arm] += rng.binomial(BATCH, means[arm])
    return pulls


def explore_first(horizon, rng):
    """Play the tutorial's algorithm by hand."""
    sums = np.array([rng.binomial(PER_ARM, mean) for mean in MEANS], float)
    noisy = sums + rng.laplace(0.0, 1 / EPSILON, MEANS.size)
    pulls = np.full(MEANS.size, PER_ARM)
    pulls[int(np.argmax(noisy))] += horizon - PER_ARM * MEANS.size
    return pulls


def smpybandits(folder):
    """Return UCB of SMPyBandits as a function of horizon and generator."""
    sys.path.insert(0, str(Path(folder, "SMPyBandits", "Policies")))
    with np.errstate():  # the import switches warnings off
        policy_class = import_module("UCB").UCB

    def play(horizon, rng):
        policy = policy_class(MEANS.size)
        policy.startGame()
        with np.errstate(divide="ignore", invalid="ignore"):
            for _ in range(horizon):
                arm = policy.choice()
                policy.getReward(arm, float(rng.random() < MEANS[arm]))
        return policy.pulls

    return play


class Contestant(NamedTuple):
    """Something that is timed."""

    program: str
    rewards: str
    written: str
    horizon: int
    runs: int
    play: Callable  # (horizon, runs, generator) -> pulls


def looped(play):
    """Return many runs of a function of horizon and generator."""
    return lambda horizon, runs, rng: np.array([play(horizon, rng) for _ in range(runs)])


def simulated(algorithm, instance):
    """Return many runs of an algorithm."""

    def play(horizon, runs, rng):
        seed = int(rng.integers(2**31))
        return dpb.simulate(algorithm, instance, horizon, runs, seed=seed).pulls

    return play


def contestants(folder=None):
    """Return all that is timed, the loop by hand first in each group."""
    example = Path(__file__).parent.parent / "book" / "examples" / "explore_first.py"
    tutorial = runpy.run_path(str(example))["ExploreFirst"](EPSILON, PER_ARM)
    bits, graded = "0 or 1", "Beta"
    one, batches = "UCB, pull by pull", f"UCB, in batches of {BATCH}"
    first = "explore first"
    found = [
        Contestant(one, bits, HAND, 20_000, 2, looped(partial(numpy_ucb1, MEANS))),
        Contestant(one, bits, OWN, 20_000, 2, simulated(MyUCB(), ARMS)),
        Contestant(one, bits, MABWISER, 500, 1, looped(partial(mabwiser_ucb1, MEANS))),
        Contestant(one, graded, HAND, 20_000, 2, looped(ucb_of_beta_rewards)),
        Contestant(one, graded, OWN, 20_000, 2, simulated(MyUCB(), GRADED)),
        Contestant(batches, bits, HAND, 2_000_000, 2, looped(ucb_in_batches)),
        Contestant(batches, bits, OWN, 2_000_000, 2, simulated(MyBatches(), ARMS)),
        Contestant(first, bits, HAND, 10**6, 300, looped(explore_first)),
        Contestant(first, bits, OWN, 10**6, 300, simulated(tutorial, ARMS)),
    ]
    if folder is not None:
        found.insert(2, Contestant(one, bits, SMPYBANDITS, 5000, 1, looped(smpybandits(folder))))
    return found


def seconds(contestant, rng):
    """Return processor seconds a pull."""
    start = time.process_time()
    pulls = contestant.play(contestant.horizon, contestant.runs, rng)
    taken = time.process_time() - start
    assert (pulls.sum(axis=1) == contestant.horizon).all()
    return taken / pulls.sum()


def measured(folder=None, rounds=ROUNDS):
    """Return a row for each contestant."""
    rng, all_of_them = np.random.default_rng(0), contestants(folder)
    for each in all_of_them:
        seconds(each, rng)  # imports, and kernels
    times = np.array([[seconds(each, rng) for each in all_of_them] for _ in range(rounds)])
    rows, hand = [], 0
    for n, each in enumerate(all_of_them):
        hand = n if each.written == HAND else hand
        low, high = np.quantile(times[:, n] / times[:, hand], (0.25, 0.75))
        least = times[:, n].min()
        rows.append(
            {
                **{name: getattr(each, name) for name in ("program", "rewards", "written")},
                "horizon": each.horizon,
                "runs": each.runs,
                "ns_per_pull": rounded(least * 1e9),
                "ratio": rounded(least / times[:, hand].min()),
                "low": rounded(low),
                "high": rounded(high),
            }
        )
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--smpybandits", type=Path, help="its repository; without it no row")
    given = parser.parse_args()
    rows = measured(given.smpybandits)
    packages = {"mabwiser": metadata.version("mabwiser")}
    if given.smpybandits is not None:
        text = Path(given.smpybandits, "SMPyBandits", "__init__.py").read_text(encoding="utf-8")
        packages["smpybandits"] = text.partition('__version__ = "')[2].partition('"')[0]
    told = {"n_arms": MEANS.size, "rounds": ROUNDS}
    told["explore_us"] = rounded(rows[-1]["ns_per_pull"] * rows[-1]["horizon"] / 1e3)
    manifest = {"processor": processor(), "versions": versions() | packages, **told}
    text = json.dumps({"manifest": manifest, "rows": rows}, ensure_ascii=False, indent=1) + "\n"
    write_atomically(given.folder / FILE, text)
