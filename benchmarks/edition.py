"""This edition's speed beside that of edition 0.1, and what making the book takes: core-seconds.

``python benchmarks/edition.py book/data`` measures and writes ``benchmarks-edition.json``; with
``--only-limits`` it measures nothing but what is played pull by pull. With ``--work`` it measures
instead what set-up, chapters, figures, pages, tests and browser take, or those parts that are
named, in this copy of the book, in whose place chapters and pages are made anew: about as long as
``make book`` and ``make test``. What a part took is written when it has ended.
"""

import argparse
import itertools
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from record import processor, rounded, versions

import dpbandits as dpb
from companion.chapters import find_root
from dpbandits._files import write_atomically

REPETITIONS = 5
T = 5 * 10**7
FILE = "benchmarks-edition.json"


def seconds_of(run, repetitions=REPETITIONS):
    """Return the median of the seconds of one core, the first of all runs left out."""
    taken = []
    for number in range(repetitions + 1):
        start = time.process_time()
        run(number)
        taken.append(time.process_time() - start)
    return statistics.median(taken[1:])


def playing(algorithm, instance, horizon):
    """Return a function that plays once."""
    times = np.array([horizon])
    return lambda seed: algorithm.draw(instance, horizon, times, np.random.default_rng(seed))


def dp_se():
    runs = 2000
    arms = dpb.instances.ss19("C1")
    return seconds_of(lambda seed: dpb.simulate(dpb.DPSE(0.25), arms, T, runs, seed)) / runs


def many_arms():
    arms = dpb.instances.bernoulli(np.linspace(0.25, 0.75, 10**6))
    return seconds_of(playing(dpb.DPSE(0.25), arms, 10**13), 1)


def ucb():
    return seconds_of(playing(dpb.UCB(), dpb.instances.ss19("C4", 20), 10**10), 3)


def lazy_ts():
    each = (dpb.instances.ss19(name, 20) for name in dpb.instances.SS19_NAMES)
    return statistics.mean(seconds_of(playing(dpb.LazyDPTS(1.0), arms, T), 3) for arms in each)


def identification(make):
    """Return the mean seconds of a run over the grid of JA25's Figure 1."""
    runs, grid = 10, np.geomspace(1e-3, 125, 17)

    def once(seed):
        cases = {
            (name, eps): (make(float(eps), 0.01), dpb.instances.ja25(name))
            for name in ("mu1", "mu2")
            for eps in grid
        }
        dpb.identify_many(cases, runs, seed)

    return seconds_of(once, 1) / runs / 2 / grid.size


def heavy(algorithm):
    """Return the mean seconds of a run over the instances of TWZW22's figures."""
    instances = [dpb.instances.twzw22(s, order=v) for s in ("S1", "S2", "S3") for v in (0.5, 0.9)]
    return statistics.mean(seconds_of(playing(algorithm, each, 10**8), 1) for each in instances)


def td16(algorithm):
    return seconds_of(playing(algorithm, dpb.instances.ss19("C1"), T), 3)


CASES = {
    "DP-SE, T = 5·10⁷, K = 5, a run": (3e-4, dp_se),
    "DP-SE, K = 10⁶, T = 10¹³": (47.0, many_arms),
    "UCB, C4, K = 20, T = 10¹⁰": (2.9, ucb),
    "DP-TT, mean over JA25's Figure 1": (0.026, lambda: identification(dpb.DPTT)),
    "AdaP-TT, mean over JA25's Figure 1": (0.0085, lambda: identification(dpb.AdaPTT)),
    "DP-LRE, mean over JA25's Figure 1": (0.008, lambda: identification(dpb.DPLRE)),
    "Lazy-DP-TS, K = 20, T = 5·10⁷": (0.315, lazy_ts),
    "DPRUCB, T = 10⁸": (0.62, lambda: heavy(dpb.DPRUCB(1.0))),
    "Robust-UCB, T = 10⁸": (1.79, lambda: heavy(dpb.RobustUCB("fixed"))),
    "DP-UCB-HYBRID, T = 5·10⁷": (1.42, lambda: td16(dpb.DPUCBHybrid(1.0))),
    "DP-UCB-BOUND, T = 5·10⁷": (0.56, lambda: td16(dpb.DPUCBBound(1.0))),
    "DP-UCB-INT, T = 5·10⁷": (0.33, lambda: td16(dpb.DPUCBInt(1.0))),
}
"""What is measured → seconds of edition 0.1, and the measurement."""


def one_by_one(algorithms, instances, horizon):
    """Return how many millions of pulls of a run are not drawn at once, and a run's seconds."""
    pulls, seconds = [], []
    for algorithm, instance in itertools.product(algorithms, instances):
        play = playing(algorithm, instance, horizon)
        play(0)
        start = time.process_time()
        drawn = play(1)
        seconds.append(time.process_time() - start)
        pulls.append(horizon - drawn.at_once)
    return {
        "least": round(min(pulls) / 1e6, 1),
        "most": round(max(pulls) / 1e6, 1),
        "quickest": float(f"{min(seconds):.1g}"),
        "slowest": float(f"{max(seconds):.2g}"),
        "ns": round(1e9 * sum(seconds) / sum(pulls)),
    }


def limits():
    """Return where skipping ends: index policies whose arms hand over to each other."""
    heavy_arms = [dpb.instances.twzw22(s, v) for s in ("S1", "S2", "S3") for v in (0.5, 0.9)]
    arms = [dpb.instances.ss19(name) for name in dpb.instances.SS19_NAMES]
    return {
        "robust": one_by_one([dpb.RobustUCB("fixed")], heavy_arms, 10**8),
        "hybrid": one_by_one([dpb.DPUCBHybrid(epsilon) for epsilon in (0.1, 1.0)], arms, T),
    }


GOALS = {
    "set-up": (None, None),
    "chapters": (1848, 600),
    "figures": (300, 60),
    "pages": (100, 80),
    "tests/dpbandits": (None, 450),
    "tests/companion": (None, 150),
    "chapters again, by nbval": (1848, 600),
    "style, types, other tests": (None, None),
    "pages in a browser": (None, None),
}
"""Part of the work → core-seconds of the last edition, where they were measured, and the goal."""


FAILED = []
"""Commands that have failed: what they took is no measurement."""


def used_by(command, **options):
    """Run a command; return seconds of all its processes, seconds that passed, and its output."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, check=False, cwd=find_root(), text=True, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    taken = {"processor": round(used, 1), "passed": round(time.perf_counter() - start, 1)}
    print(*command, taken, flush=True)
    if done.returncode:
        FAILED.append(command)
    return taken, done.stdout


def forget_kernels():
    """Remove all compiled kernels: compiling is part of what is measured."""
    for kernel in Path(dpb.__file__).parent.rglob("*.nb[ic]"):
        kernel.unlink()


def chapters():
    """Execute all chapters, two at a time, and compile; return what they take, and each of them."""
    forget_kernels()
    words = "execute", "--at-a-time", "2", "--fresh", "--json"
    program = Path(sys.executable).with_name("companion")
    taken, output = used_by([program, *words], stdout=subprocess.PIPE)
    each = {
        Path(one["chapter"]).stem[:2]: {
            "processor": one["core_seconds"],
            "passed": one["seconds"],
        }
        for one in json.loads(output)["chapters"]
    }
    return taken | {"each": dict(sorted(each.items()))}


def set_up():
    """Set up a new copy of the book."""
    with tempfile.TemporaryDirectory() as copy:
        used_by(["git", "clone", "--quiet", ".", copy])
        return used_by(["make", "--silent", "--directory", copy, "setup"])[0]


def figures():
    """Draw the figures of all pages."""
    shutil.rmtree(find_root() / "_build" / "gallery", ignore_errors=True)
    draw = "from pathlib import Path; from companion import vector_files as v; "
    return used_by([sys.executable, "-c", draw + "v.renew_vector_files(Path.cwd())"])[0]


def pages():
    """Build all pages; the figures are there."""
    shutil.rmtree(find_root() / "_build" / "html", ignore_errors=True)
    return used_by(["make", "--silent", "html"])[0]


def tests(*places):
    """Run the tests of some places, two files at a time."""
    run = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile"]
    return used_by([*run, *places])[0]


def executed_again():
    """Run all chapters as `make test` does, with nothing kept."""
    shutil.rmtree(find_root() / "_build" / "runs", ignore_errors=True)
    return used_by(["make", "--silent", "notebooks"])[0]


def style():
    """Check style and types, and run the tests that are of neither package."""
    checks, _ = used_by(["make", "--silent", "lint", "types"])
    rest = tests(*sorted(str(path) for path in (find_root() / "tests").glob("test_*.py")))
    return {key: round(checks[key] + rest[key], 1) for key in rest}


WORK = {
    "set-up": set_up,
    "chapters": chapters,
    "figures": figures,
    "pages": pages,
    "tests/dpbandits": lambda: tests("tests/dpbandits"),
    "tests/companion": lambda: tests("tests/companion"),
    "chapters again, by nbval": executed_again,
    "style, types, other tests": style,
    "pages in a browser": lambda: tests("tests/pages"),
}
"""Part of the work → what measures it, in the order in which one needs another."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help=f"where {FILE} goes")
    parser.add_argument(
        "--work",
        nargs="*",
        choices=WORK,
        help="measure what making and testing the book takes, or parts of it, and nothing else",
    )
    parser.add_argument(
        "--only-limits",
        action="store_true",
        help="measure what is played pull by pull, and nothing else",
    )
    options = parser.parse_args()
    path = options.folder / FILE
    content = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    manifest = {"processor": processor(), "versions": versions()}
    if options.work is not None:
        known = content.get("work", {}).get("taken", {})
        for part in options.work or WORK:
            found = WORK[part]()
            if FAILED:
                parser.error(f"{part} is not written, as this failed: {FAILED}; found {found}")
            known[part] = found
            content["work"] = {"manifest": manifest, "taken": known, "goals": GOALS}
            write_atomically(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
        return
    if options.only_limits:
        content["limits"] = limits()
        write_atomically(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
        return
    rows = []
    for name, (before, measure) in CASES.items():
        rows.append({"what": name, "before": before, "now": rounded(measure())})
        print(f"{name:40} {before:10.4g} {rows[-1]['now']:10.4g}", flush=True)
    content |= {"manifest": manifest, "rows": rows}
    content["limits"] = limits()
    write_atomically(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
