"""Runs on 10⁵ arms, with 10⁷ pulls: ``python benchmarks/many_arms.py book/data``.

Each algorithm, ε = 1 if it has one, is played once by `dpb.simulate` with its default checkpoints,
on means that are spread evenly over [¼, ¾] and in random order: seconds of the processor, and how
far the resident memory rises above what it is before. Compiling is done before, on as few arms as
are played in the same way.
"""

import json
import math
import sys
import time
from pathlib import Path

import numpy as np
from memory import peak
from record import processor, rounded, versions

import dpbandits as dpb
from dpbandits._engine.accelerators.arm_heaps import MANY
from dpbandits._files import write_atomically

FILE = "benchmarks-arms.json"
ARMS, HORIZON = 10**5, 10**7
ALGORITHMS = {
    "UCB": dpb.UCB(),
    "DP-UCB": dpb.DPUCB(1.0),
    "AdaP-UCB": dpb.AdaPUCB(1.0),
    "AdaP-KLUCB": dpb.AdaPKLUCB(1.0),
    "KL-UCB in batches (AdaP-KLUCB, ε = ∞)": dpb.AdaPKLUCB(math.inf),
    "DP-KLUCB": dpb.DPKLUCB(1.0),
    "DP-IMED": dpb.DPIMED(1.0),
}


def arms(n_arms):
    """Return arms with means spread evenly over [¼, ¾], in random order."""
    means = np.random.default_rng(0).permutation(np.linspace(0.25, 0.75, n_arms))
    return dpb.instances.bernoulli(means)


def measured():
    """Yield a row for each algorithm."""
    for name, algorithm in ALGORITHMS.items():
        dpb.simulate(algorithm, arms(MANY), 10**4, 1)
        many = arms(ARMS)
        start = time.process_time()
        algorithm.draw(many, HORIZON, np.array([HORIZON]), np.random.default_rng(0))
        seconds = time.process_time() - start
        rise, runs = peak(algorithm, many, HORIZON)
        assert runs.how == "many arms"
        row = {"algorithm": name, "seconds": rounded(seconds), "megabytes": rounded(rise / 1e6)}
        print(row, file=sys.stderr, flush=True)
        yield row


if __name__ == "__main__":
    rows = list(measured())
    told = {"n_arms": ARMS, "horizon": HORIZON, "checkpoints": dpb.log_checkpoints(HORIZON).size}
    manifest = {"processor": processor(), "versions": versions(), **told}
    text = json.dumps({"manifest": manifest, "rows": rows}, ensure_ascii=False, indent=1) + "\n"
    write_atomically(Path(sys.argv[1]) / FILE, text)
