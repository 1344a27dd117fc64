"""Microseconds that one variable of noise takes: ``python benchmarks/discrete.py book/data``.

The median of 9 rounds of 1 000 calls each, in time of the process: noise in whole numbers, with
bits of the operating system or of a generator, and a float from NumPy.
"""

import json
import statistics
import sys
import time
import timeit
from pathlib import Path

import numpy as np
from record import processor, rounded, versions

from dpbandits._files import write_atomically
from dpbandits.mechanisms import DiscreteLaplace


def microseconds(call, calls=1000, rounds=9):
    """Return the median time of a call."""
    times = timeit.repeat(call, timer=time.process_time, number=calls, repeat=rounds)
    return rounded(statistics.median(times) / calls * 1e6)


def measured():
    """Return the times of a draw at ε = 1 and at ε = 0.1, by whose bits."""
    rng = np.random.default_rng(0)
    found = {"float": microseconds(lambda: rng.laplace(0.0, 1.0))}
    for name, epsilon in (("one", 1.0), ("tenth", 0.1)):
        noise = DiscreteLaplace(epsilon)
        found[f"system_{name}"] = microseconds(noise.draw)
        found[f"generator_{name}"] = microseconds(lambda noise=noise: noise.draw(rng))
    return found


if __name__ == "__main__":
    path = Path(sys.argv[1]) / "benchmarks-discrete.json"
    record = {"microseconds": measured(), "processor": processor(), "versions": versions()}
    write_atomically(path, json.dumps(record, ensure_ascii=False, indent=1) + "\n")
