"""The most memory that one run takes: ``python benchmarks/memory.py book/data``.

Every algorithm that keeps regret low or looks for the best arm is run once by `dpb.simulate` or
`dpb.identify`, in a process of its own: how far the resident memory rises above what it is before.
Arms and horizon are the first of `SIZES` that end within `SECONDS` of processor time. Compiling is
done before, on three arms.
"""

import ctypes
import json
import math
import os
import re
import signal
import sys
from pathlib import Path

import numpy as np
from record import processor, rounded, versions

import dpbandits as dpb
from dpbandits._files import write_atomically
from dpbandits.algorithms import identifiers, registry
from dpbandits.regret.heavy import HeavyTailAlgorithm
from dpbandits.rewards.heavy_instances import HeavyTailInstance
from dpbandits.rewards.heavy_laws import TwoPointHeavyLaw

COMMAND = "python benchmarks/memory.py book/data"
SIZES = ((10**5, 10**12), (10**5, 100_500))
"""Arms and horizon, the largest first."""
SECONDS = 6
OWN = {  # arguments where the defaults do not do
    "DPRUCB": {"epsilon": 1.0, "scaling": "log"},
    "DPUCBInt": {"epsilon": 0.06},
    "ExploreThenCommit": {"epsilon": 1.0, "per_arm": 1},
    "GuessAndDouble": {"base": dpb.DPSE(1.0)},
    **{name: {} for name in ("RobustUCB", "SuccessiveElimination", "UCB")},
    "TopTwo": {"delta": 0.1},
}


def made(name, kind):
    """Return an algorithm with ε = 1, if it has one."""
    more = {"delta": 0.1} if name in identifiers else {}
    return kind(**OWN.get(name, {"epsilon": 1.0, **more}))


def arms_for(algorithm, n_arms):
    """Return arms: one with mean 0.9, all others with 0.1."""
    means = [0.9] + [0.1] * (n_arms - 1)
    if isinstance(algorithm, HeavyTailAlgorithm):
        laws = tuple(TwoPointHeavyLaw(1.0, mean) for mean in means)
        return HeavyTailInstance(laws, 1.0, 1.0)
    return dpb.instances.bernoulli(means)


def play(algorithm, instance, horizon):
    """Run the algorithm once; return what it keeps."""
    if type(algorithm).__name__ in identifiers:
        return dpb.identify(algorithm, instance, 1, max_pulls=horizon)
    return dpb.simulate(algorithm, instance, horizon, 1)


def resident(field):
    """Return a field of the kernel's account of this process, in bytes."""
    text = Path("/proc/self/status").read_text(encoding="ascii")
    return 1024 * int(re.search(rf"{field}:\s+(\d+) kB", text)[1])


def peak(algorithm, instance, horizon):
    """Return by how many bytes a run lets this process grow at most."""
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = resident("VmRSS")
    kept = play(algorithm, instance, horizon)
    return resident("VmHWM") - before, kept


def in_a_fork(algorithm, instance, horizon):
    """Return the peak of a run in a process of its own; None if it takes too long."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)  # whose signal ends it
        found, _ = peak(algorithm, instance, horizon)
        os.write(write, str(found).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as told:
        text = told.read()
    os.waitpid(child, 0)
    return int(text) if text else None


def measured():
    """Yield a row for each algorithm."""
    for name, kind in {**registry, **identifiers}.items():
        algorithm, found = made(name, kind), None
        play(algorithm, arms_for(algorithm, 3), 10**4)
        for n_arms, horizon in SIZES:
            found = in_a_fork(algorithm, arms_for(algorithm, n_arms), horizon)
            if found is not None:
                break
        if found is None:
            print(f"{algorithm.label} takes more than {SECONDS} s", file=sys.stderr)
            continue
        yield {
            "algorithm": algorithm.label,
            "n_arms": n_arms,
            "horizon": horizon,
            "megabytes": rounded(found / 1e6),
            "bytes_per_arm": math.ceil(found / n_arms),
        }


if __name__ == "__main__":
    np.seterr(all="ignore")
    rows = list(measured())
    manifest = {"command": COMMAND, "processor": processor(), "versions": versions()}
    text = json.dumps({"manifest": manifest, "rows": rows}, ensure_ascii=False, indent=1) + "\n"
    folder = Path(sys.argv[1])
    write_atomically(folder / "benchmarks-memory.json", text)
    lines = [",".join(rows[0]), *(",".join(str(v) for v in row.values()) for row in rows)]
    write_atomically(folder / "benchmarks-memory.csv", "\n".join(lines) + "\n")
