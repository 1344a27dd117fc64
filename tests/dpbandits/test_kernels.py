"""Compiled kernels are those of the source as it stands, and no more are compiled than need be."""

import ast
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core.caching import IndexDataCacheFile

import dpbandits
from dpbandits._engine import kernels
from dpbandits._engine.kernels import interpreted, kernel, source_files, trailing_zeros

PACKAGE = Path(dpbandits.__file__).parent
PLAIN = {"import": "from numba import njit", "@kernel": "@njit(cache=True, nogil=True)"}

# A kernel of `loops`, one that it calls and one that it does not, each in its own file; `chosen`
# runs what is registered for the type of its argument in a file that `loops` does not import.
TOY = {
    "__init__": "",
    "noise": """
from dpbandits._engine.kernels import kernel

@kernel
def noise(x: float) -> float:
    return x + 1.0
""",
    "constants": "SHIFT = 10.0\n",
    "between": "from toy.constants import SHIFT\nfrom toy import noise as source\n",
    "loops": """
from dpbandits._engine.kernels import kernel
from .between import (
    SHIFT,  # (of another file)
    source,
)

draw = source.noise

def choose(settings, x):
    raise TypeError

@kernel
def noisy(x: float) -> float:
    return draw(x) + SHIFT

@kernel
def chosen(settings, x: float) -> float:
    return choose(settings, x)
""",
    "apart": """
from dpbandits._engine.kernels import kernel

@kernel
def alone(x: float) -> float:
    return 2.0 * x
""",
    "rule": """
from typing import NamedTuple
from numba.extending import overload
from toy import loops

class Rule(NamedTuple):
    weight: float

@overload(loops.choose)
def _choose(settings, x):
    return lambda settings, x: settings.weight * x + 1.0
""",
}
# Each call is a fork of one process that has read Numba, which takes two seconds. The package's own
# imports take a second, and the toy needs none of them.
SERVER = f"""
import json, os, sys, time, traceback, types

package = sys.modules["dpbandits"] = types.ModuleType("dpbandits")
package.__path__ = [{str(PACKAGE)!r}]
from numba.core import config
from dpbandits._engine import kernels


def call(folder, place, meanwhile):
    sys.path.insert(0, folder)
    if place:
        os.environ["NUMBA_CACHE_DIR"] = place
        config.reload_config()
    kernels.STARTED = time.time()
    from toy import apart, loops, rule

    exec(meanwhile)
    found = {{}}
    for function, arguments in (
        (loops.noisy, (1.0,)), (apart.alone, (1.0,)), (loops.chosen, (rule.Rule(3.0), 1.0)),
    ):
        value = function(*arguments)
        found[function.__name__] = value, sum(function.stats.cache_hits.values())
    return found


for line in sys.stdin:
    child = os.fork()
    if child == 0:
        try:
            print(json.dumps(call(*json.loads(line))), flush=True)
        except BaseException:
            print(json.dumps(traceback.format_exc()), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


@pytest.fixture(scope="module")
def server():
    """A process, in a fork of which each call runs the toy's kernels."""
    environment = {name: value for name, value in os.environ.items() if name[:6] != "NUMBA_"}
    # an edit keeps size and time of a file: Python would take its own compiled one for the new
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    with subprocess.Popen([sys.executable, "-c", SERVER], env=environment, **pipes) as process:
        yield process
        process.stdin.close()


@pytest.fixture
def place():
    """Where Numba is told to keep its files: beside the source, if nowhere."""
    return ""


@pytest.fixture
def toy(server, place, tmp_path):
    """A package on the disk and a function that runs its kernels in a process of their own."""
    folder = tmp_path / "toy"
    folder.mkdir()
    for name, text in TOY.items():
        (folder / f"{name}.py").write_text(text)

    def call(meanwhile=""):
        """Return the value of each kernel, and how often it came from the disk.

        `meanwhile` is executed between the import of the kernels and their first use.
        """
        words = str(tmp_path), str(tmp_path / place) if place else "", meanwhile
        server.stdin.write(json.dumps(words) + "\n")
        found = json.loads(server.stdout.readline())
        assert isinstance(found, dict), found
        return {name: tuple(each) for name, each in found.items()}

    return folder, call


def edit(path, old, new):
    """Change a file to another of the same size, and of the same time."""
    status, text = path.stat(), path.read_text()
    assert old in text and len(old) == len(new)
    path.write_text(text.replace(old, new))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("place", ["", "elsewhere"])
def test_an_edited_callee_is_compiled_anew_and_nothing_else(place, toy):
    folder, call = toy
    assert call() == {"noisy": (12.0, 0), "alone": (2.0, 0), "chosen": (4.0, 0)}
    kept = folder.parent / place if place else folder / "__pycache__"
    apart = {path: path.read_bytes() for path in kept.rglob("apart.*.nb?")}
    assert len(apart) == 2
    edit(folder / "noise.py", "x + 1.0", "x + 5.0")
    assert call() == {"noisy": (16.0, 0), "alone": (2.0, 1), "chosen": (4.0, 0)}
    if place:
        return  # the rest is the same wherever the files are
    edit(folder / "rule.py", "+ 1.0", "+ 2.0")  # for `chosen` alone, by the type of its argument
    assert call() == {"noisy": (16.0, 1), "alone": (2.0, 1), "chosen": (5.0, 0)}
    edit(folder / "constants.py", "10.0", "20.0")
    assert call() == {"noisy": (26.0, 0), "alone": (2.0, 1), "chosen": (5.0, 0)}
    assert apart == {path: path.read_bytes() for path in kept.rglob("apart.*.nb?")}


def test_a_touched_file_is_not_an_edited_one(toy):
    """A checkout of the same content keeps what was compiled."""
    folder, call = toy
    call()
    for path in folder.glob("*.py"):
        os.utime(path, (1, 1))
    assert {hits for _, hits in call().values()} == {1}


def test_numba_alone_runs_the_old_callee(toy):
    """Negative control: this is what `kernel` is for, and the tests above would see it."""
    folder, call = toy
    for path in folder.glob("*.py"):
        text = path.read_text().replace(
            "from dpbandits._engine.kernels import kernel", PLAIN["import"]
        )
        path.write_text(text.replace("@kernel", PLAIN["@kernel"]))
    assert call()["noisy"] == (12.0, 0)
    edit(folder / "noise.py", "x + 1.0", "x + 5.0")
    edit(folder / "rule.py", "+ 1.0", "+ 2.0")
    assert call() == {"noisy": (12.0, 1), "alone": (2.0, 1), "chosen": (4.0, 1)}


def test_code_that_was_edited_after_it_was_read_is_not_kept(toy):
    """A process compiles what it has read; a later one finds nothing of it."""
    folder, call = toy
    meanwhile = f"""
import pathlib
path = pathlib.Path({str(folder / "noise.py")!r})
path.write_text(path.read_text().replace("x + 1.0", "x + 5.0"))
"""
    assert call(meanwhile)["noisy"] == (12.0, 0)
    assert call() == {"noisy": (16.0, 0), "alone": (2.0, 1), "chosen": (4.0, 0)}


def imported_names(path):
    """Return the modules of the package that a file imports, by Python's own parser."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                found |= {".".join(parts[:i]) for i in range(1, len(parts) + 1)}
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if file_of(inner) else node.module)
    return {file_of(name) for name in found} - {None}


def file_of(name):
    stem = PACKAGE.parent.joinpath(*name.split("."))
    files = [stem.with_suffix(".py"), stem / "__init__.py"]
    return next((str(f) for f in files if f.is_file() and f.is_relative_to(PACKAGE)), None)


def test_the_imports_of_a_file_are_those_that_python_sees():
    files = sorted(PACKAGE.rglob("*.py"))
    assert len(files) > 50
    for path in files:
        seen = {each for each in kernels._read(str(path))[1] if each.startswith(str(PACKAGE))}
        assert imported_names(path) == seen, path


def test_a_file_is_compiled_from_what_it_imports():
    files = {
        str(Path(f).relative_to(PACKAGE))
        for f in source_files(str(PACKAGE / "schedules/epochs.py"))
    }
    assert {"schedules/epochs.py", "schedules/batches.py", "_engine/kernels.py"} <= files
    assert not {"__init__.py", "regret/simulation.py", "cli/commands.py"} & files


def test_only_one_file_compiles():
    users = [path.name for path in PACKAGE.rglob("*.py") if "njit" in path.read_text("utf-8")]
    assert users == ["kernels.py"]


def test_a_function_without_a_file_is_compiled():
    scope = {"kernel": kernel}
    exec("@kernel\ndef thrice(x):\n    return 3 * x", scope)
    assert scope["thrice"](2) == 6 and interpreted(scope["thrice"])(2) == 6


def test_a_list_that_names_what_has_moved_counts_as_empty(tmp_path):
    index = kernels._Index(str(tmp_path), "toy", "stamp")
    index.save("key", 1)
    assert index.load("key") == 1
    named = b"cdpbandits.gone\nThing\n."  # a pickle of a class of a module that is not there
    (tmp_path / "toy.nbi").write_bytes(pickle.dumps(numba.__version__) + named)
    with pytest.raises(ImportError):
        IndexDataCacheFile(str(tmp_path), "toy", "stamp").load("key")
    assert index.load("key") is None
    index.save("key", 2)
    assert index.load("key") == 2


def test_division_by_zero_is_as_it_was_asked_for():
    assert kernel(error_model="numpy")(lambda x: 1.0 / x)(0.0) == np.inf
    with pytest.raises(ZeroDivisionError):
        kernel(lambda x: 1.0 / x)(0.0)


def test_trailing_zeros_are_those_of_the_instruction():
    compiled = kernel(lambda n: trailing_zeros(n))
    for k in range(62):
        for n in (2**k, np.int64(3 * 2**k) if k < 61 else 2**k):
            assert trailing_zeros(n) == compiled(n) == k


@kernel(borrows=True)
def doubled(x, rng):
    for i in range(x.size):
        x[i] *= 2.0
    return x[0], x.size


@kernel(borrows=True)
def returned(x):
    return x, 1.0


@kernel
def calls_doubled(x, rng):
    return doubled(x, rng)


@kernel
def calls_returned(x):
    return returned(x)


@pytest.mark.parametrize("enter", [doubled, calls_doubled])
def test_a_kernel_that_borrows_holds_nothing(enter):
    """Called from Python or from a kernel, it leaves arrays and generators as free as they were."""
    array, rng = np.ones(3), np.random.default_rng(0)
    held = sys.getrefcount(array), sys.getrefcount(rng)
    assert enter(array, rng) == (2.0, 3) and array.tolist() == [2.0, 2.0, 2.0]
    assert (sys.getrefcount(array), sys.getrefcount(rng)) == held


def test_a_kernel_that_borrows_returns_no_array():
    """Refused when it is compiled, for its memory could be freed while it is used."""
    with pytest.raises(Exception, match="returned returns an array; allowed: numbers"):
        calls_returned(np.ones(3))


PROGRAM = """
import json
import dpbandits as dpb
from dpbandits._engine.acceleration import REFERENCE, accelerators
from dpbandits.mechanisms.noise import laplace
from dpbandits.rewards.sources import DrawnRewards

arms = dpb.instances.bernoulli([0.05, 0.95, 0.05])
pulls = {}
trees = dpb.DPUCB(30.0), dpb.DPUCB(30.0, "kary-exact")
for each in (dpb.DPSE(0.5), *trees, dpb.DPUCBInt(0.06)):
    entered = accelerators(type(each), DrawnRewards)
    fitting = (fast.name for fast in entered if fast.fits is None or fast.fits(each))
    for how in (REFERENCE, *fitting):
        runs = dpb.simulate(each, arms, 2000, n_runs=2, seed=1, how=how)
        pulls[f"{each} {how}"] = runs.pulls.tolist()

best = dpb.identify(dpb.DPSEIdentifier(1.0, 0.1), arms, n_runs=2, seed=1).recommendation
samples = dpb.estimate(dpb.NAS(0.9, 0.9), dpb.laws.two_point(0.1), n_runs=2, seed=1).samples
pair = dpb.TablePair([[0] * 8, [1] * 8], arm=0, pull=0, value=1)
verdict = dpb.audit(dpb.DPUCB(1.0), pair, n_runs=400).verdict
how = dpb.simulate(dpb.DPUCB(30.0), arms, 2000, n_runs=2).how
compiled = hasattr(laplace, "py_func")
print(json.dumps([pulls, best.tolist(), len(samples), verdict, how, compiled]))
"""


def test_the_package_runs_as_plain_python():
    """Each algorithm's program by itself; with the same pulls as compiled, by each way to play."""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pulls, *rest = json.loads(done.stdout)
    assert rest == [[1, 1], 2, "no violation found", "reference", False]
    scope = {}
    exec(PROGRAM, scope)
    assert pulls == scope["pulls"] and len(pulls) > 3 and scope["compiled"]


@kernel
def _refuses(x: float) -> float:
    if x < 0.0:
        raise ValueError("x is below 0")
    return np.sqrt(x)


@kernel
def _asks(x: float) -> float:
    return 1.0 + _refuses(x)


def test_a_part_has_no_machine_code_and_its_errors_are_heard():
    assert _asks(4.0) == 3.0 and not _refuses.overloads
    with pytest.raises(ValueError, match="x is below 0"):
        _asks(-1.0)
    assert _refuses(9.0) == 3.0, "called from Python it is a whole"
    assert len(_refuses.overloads) == 1
