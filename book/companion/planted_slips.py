"""Programs that declare ε = 1, with and without a common mistake, and which of them are convicted.

``python -m companion.planted_slips`` audits each by `dpbandits.audit` with no table given, seed
after seed, and writes each row to ``book/data/audit-slips.csv`` as soon as it is measured; existing
rows are not measured again. A row does not depend on when it is measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dpbandits as dpb
from dpbandits.auditing import FAILURE

__all__ = [
    "FEW",
    "FILE",
    "HONEST",
    "MANY",
    "MORE",
    "SEEDS",
    "SLIPS",
    "WHY",
    "measure",
    "missing",
    "read",
]

FILE = Path(__file__).parents[1] / "data" / "audit-slips.csv"
"""Where the rows are kept."""
FEW, MANY = 10_000, 100_000
"""Runs on each table of an audit; with many those slips alone that were not convicted with each
seed with few."""
SEEDS = 20
"""Seeds with which each program is to be audited."""
MORE = {"three epochs": 100, "explore first": 100}
"""Honest versions of the slips that an earlier search missed, and their numbers of seeds."""
ONE = dpb.PrivacyGuarantee("central", 1.0)
"""What every program declares."""

Program = Callable[..., Any]


def _noise(rng: Any, scale: float = 1.0) -> float:
    return float(rng.laplace(0.0, scale))


def _best(numbers: list[float]) -> int:
    return int(np.argmax(numbers))


def _explore(rewards: Any, rng: Any, slip: str = "") -> list[float]:
    """Release a noisy sum of four rewards of each arm, and pull the better arm four times more."""
    arms = range(rewards.n_arms)
    shared = _noise(rng)
    raw = [rewards.total(arm, 4) for arm in arms]
    noise = [shared if slip == "shared" else _noise(rng) for _ in arms]
    if slip == "last":
        noise[-1] = 0.0
    if slip == "first only":
        noise[1:] = [0.0] * (rewards.n_arms - 1)
    if slip == "length":  # the scale for a mean, used for a sum
        noise = [z / 4 for z in noise]
    if slip == "half":
        noise = [z / 2 for z in noise]
    if slip == "one-sided":
        noise = [abs(z) for z in noise]
    if slip == "gaussian":
        noise = [float(rng.normal(0.0, 1.0)) for _ in arms]
    if slip == "known seed":
        noise = [_noise(np.random.default_rng(7 + arm)) for arm in arms]
    seen = [x + z for x, z in zip(raw, noise, strict=True)]
    if slip == "released":  # noise is added again before the sums are published
        return [float(x + _noise(rng)) for x in raw]
    if slip == "clipped":  # to its range, after the noise is drawn for one reward of size 1
        seen = [min(max(4.0 * x, 0.0), 12.0) + z for x, z in zip(raw, noise, strict=True)]
    best = _best(seen)
    if slip == "ties" and abs(seen[0] - seen[1]) < 1.0:
        best = _best(raw)
    rewards.total(best, 8 if slip == "raw length" and raw[best] > 3.0 else 4)
    return seen if slip == "shared" else []


def _epochs(rewards: Any, rng: Any, slip: str = "") -> None:
    """Play three epochs on two arms; after each, the arm with the larger noisy sum is pulled."""
    sums, pulls, spent = [0.0, 0.0], 0, 0
    kept = [_noise(rng), _noise(rng)]
    for epoch in range(3):
        if slip != "never reset":
            sums, pulls = [0.0, 0.0], 0
        sums = [x + rewards.total(arm, 4) for arm, x in enumerate(sums)]
        pulls, spent = pulls + 4, spent + 1
        noise = [_noise(rng), _noise(rng)]
        if slip == "drawn once":
            noise = kept
        if slip == "first epoch" and epoch > 0:
            noise = [0.0, 0.0]
        if slip == "budget grows":
            noise = [z / (1 + 2 * epoch) for z in noise]
        if slip == "last epoch" and epoch == 2:
            noise = [0.0, 0.0]
        seen = [x + z for x, z in zip(sums, noise, strict=True)]
        rewards.total(_best(seen), 2)


def _threshold(rewards: Any, rng: Any, slip: str = "") -> list[float]:
    """Halt at the first of eight sums that is above a threshold, and release the time."""
    level = 3.0 + (0.0 if slip == "bare threshold" else _noise(rng, 2.0))
    total = 0.0
    for n in range(1, 9):
        total += rewards.pull(0)
        if slip == "halts on raw sums":
            above = total >= 3.0
        elif slip == "noise drawn after":
            above = total >= level and total + _noise(rng, 4.0) >= level - 4.0
        else:
            above = total + _noise(rng, 4.0) >= level
        if above:
            return [n, total] if slip == "sum released" else [n]
    return [0.0, math.nan] if slip == "sum released" else [0.0]


def _counter(rewards: Any, rng: Any, slip: str = "") -> list[float]:
    """Release the sums of the first 1, 2, 4 and 8 rewards, each with a quarter of ε."""
    x = [rewards.pull(0) for _ in range(8)]
    scale = 1.0 if slip == "every level" else 4.0
    found = [sum(x[:n]) + _noise(rng, scale) for n in (1, 2, 4, 8)]
    if slip == "leaves":
        found[0] = x[0]
    if slip == "number":  # one number for each reward of 1
        return [found[0]] * (1 + round(sum(x)))
    return found


def _fraction(rewards: Any, rng: Any, slip: str = "") -> float:
    """Count rewards above one half, with noise; the slip keeps only values strictly inside."""
    x = [rewards.pull(0) for _ in range(4)]
    if slip:
        inside = [v for v in x if 0.0 < v < 1.0]
        return float(sum(v > 0.5 for v in x) + _noise(rng) + 100.0 * sum(inside))
    return float(sum(v > 0.5 for v in x) + _noise(rng))


def _resumed(rewards: Any, rng: Any, slip: str = "") -> list[float]:
    """Release a sum, save the state, reload it, and release the next sum."""
    state = rng.random(2).tolist()
    first = rewards.total(0, 2) + _laplace_of(state[0])
    second = rewards.total(0, 2) + _laplace_of(state[0 if slip else 1])
    return [first, second]


def _laplace_of(u: float) -> float:
    return math.log(2.0 * max(u, 2.0**-60)) if u < 0.5 else -math.log(2.0 * (1.0 - u))


SLIPS: dict[str, tuple[Program, str]] = {
    "one noise for all arms, sums released": (_explore, "shared"),
    "no noise for the last arm (private on two arms)": (_explore, "last"),
    "noise for the first arm only": (_explore, "first only"),
    "noise of a mean for a sum": (_explore, "length"),
    "scale halved": (_explore, "half"),
    "normal noise for a pure ε": (_explore, "gaussian"),
    "seed known": (_explore, "known seed"),
    "rewards clipped after the sum": (_explore, "clipped"),
    "near ties broken by raw sums": (_explore, "ties"),
    "length of a batch by raw sums": (_explore, "raw length"),
    "counter never reset": (_epochs, "never reset"),
    "noise drawn once for all epochs": (_epochs, "drawn once"),
    "budget right at first": (_epochs, "first epoch"),
    "budget grows with the epochs": (_epochs, "budget grows"),
    "last epoch without noise": (_epochs, "last epoch"),
    "threshold without noise": (_threshold, "bare threshold"),
    "compared before noise is added": (_threshold, "noise drawn after"),
    "stopping time by raw data": (_threshold, "halts on raw sums"),
    "sum at the stopping time released": (_threshold, "sum released"),
    "tree: every sum has all of ε": (_counter, "every level"),
    "tree: the first sum without noise": (_counter, "leaves"),
    "how many numbers are released": (_counter, "number"),
    "rewards strictly inside the range": (_fraction, "inside"),
    "noise used again after a resume": (_resumed, "again"),
}
"""What is wrong → a program, and the name of its slip."""


WHY = {
    "threshold without noise": "it loses up to 1.67 on a table that is tried, but only on events "
    "of probability below 2 %",
}
"""Why a slip is not convicted: its name → the reason."""


def _cached() -> Program:
    """Return a program with a cache that changes nothing."""
    kept: dict[float, float] = {}

    def cached(rewards: Any, rng: Any) -> float:
        total = rewards.total(0, 4)
        return kept.setdefault(total, total) + _noise(rng)

    return cached


def _rejecting(rewards: Any, rng: Any) -> float:
    """Draw noise by rejection, cut at ±20: private up to 10⁻⁸, with a varying number of draws."""
    while True:
        z = float(rng.uniform(-20.0, 20.0))
        if rng.random() < math.exp(-abs(z)):
            return float(rewards.total(0, 4)) + z


def _varying(rewards: Any, rng: Any) -> list[float]:
    """Release a noisy count as many times as its value."""
    noisy = rewards.total(0, 4) + _noise(rng)
    return [noisy] * (1 + min(max(int(noisy), 0), 3))


def _rounded(rewards: Any, rng: Any) -> int:
    """Round rewards at random to 0 or 1, and add geometric integer noise."""
    count = sum(float(rng.random()) < rewards.pull(0) for _ in range(4))
    q = math.exp(-1.0)
    return int(count + rng.geometric(1 - q) - rng.geometric(1 - q))


def _children(rewards: Any, rng: Any) -> list[float]:
    """Draw noise from generators spawned by the given one."""
    one, two = rng.spawn(2)
    return [rewards.total(0, 2) + _noise(one), rewards.total(1, 2) + _noise(two)]


HONEST: dict[str, Callable[[], Program]] = {
    "explore first": lambda: lambda r, g: _explore(r, g),
    "noise of one sign, comparisons alone": lambda: lambda r, g: _explore(r, g, "one-sided"),
    "three epochs": lambda: lambda r, g: _epochs(r, g),
    "a noisy threshold": lambda: lambda r, g: _threshold(r, g),
    "a counter": lambda: lambda r, g: _counter(r, g),
    "a count of rewards above one half": lambda: lambda r, g: _fraction(r, g),
    "noise from words of the generator": lambda: lambda r, g: _resumed(r, g),
    "a cache": _cached,
    "noise by rejection": lambda: _rejecting,
    "a number of releases that varies": lambda: _varying,
    "fractions rounded at random": lambda: _rounded,
    "generators of its own": lambda: _children,
}
"""What is honest, and awkward → a function that makes the program."""


def measure(name: str, n_runs: int, seed: int) -> dict[str, Any]:
    """Audit a program with one seed.

    Parameters
    ----------
    name : str
        A key of `SLIPS` or `HONEST`.
    n_runs : int
        Runs on each table.
    seed : int
        The seed.

    Returns
    -------
    dict of str to object
        Whether it is convicted.
    """
    if name in SLIPS:
        program, slip = SLIPS[name]
        subject: Program = partial(program, slip=slip)
    else:
        subject = HONEST[name]()
    found = dpb.audit(subject, None, n_runs, [53, seed], FAILURE, ONE)
    return {
        "name": name,
        "honest": name in HONEST,
        "n_runs": n_runs,
        "seed": seed,
        "convicted": found.convicted,
    }


def read() -> pd.DataFrame:
    """Return the measurements: a row for each program, number of runs and seed.

    Returns
    -------
    pandas.DataFrame
        The rows.
    """
    return pd.read_csv(FILE)


def missing(table: pd.DataFrame) -> list[tuple[str, int, int]]:
    """Return the measurements missing from a table: programs, runs and seeds.

    Parameters
    ----------
    table : pandas.DataFrame
        The table that `read` returns.

    Returns
    -------
    list of tuple of (str, int, int)
        Name, runs and seed, in the order of measurement: the first seeds first.
    """
    few = table[table["n_runs"] == FEW].groupby("name")["convicted"].all()
    late = [name for name in SLIPS if not few.get(name, True)]
    plan = [(k, name, FEW, k) for name in (*SLIPS, *HONEST) for k in range(SEEDS)]
    plan += [(SEEDS + k, name, MANY, k) for name in late for k in range(SEEDS)]
    plan += [(k // 5, name, FEW, k) for name, most in MORE.items() for k in range(SEEDS, most)]
    done = set(zip(table["name"], table["n_runs"], table["seed"], strict=True))
    ordered = sorted(plan, key=lambda each: each[0])
    return [(name, n, seed) for _, name, n, seed in ordered if (name, n, seed) not in done]


def main() -> None:
    """Measure the missing rows, and write each as soon as it is measured."""
    while todo := missing(table := read()):
        table = pd.concat([table, pd.DataFrame([measure(*todo[0])])], ignore_index=True)
        table = table.sort_values(["n_runs", "honest", "seed"], kind="stable")
        new = FILE.with_suffix(".new")
        table.to_csv(new, index=False, lineterminator="\n")
        new.replace(FILE)


if __name__ == "__main__":
    main()
