"""Compiled kernels are those of the source as it stands, and no more are compiled than need be."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dpbandits
from dpbandits import _kernels
from dpbandits._kernels import interpreted, kernel, source_files, trailing_zeros

PACKAGE = Path(dpbandits.__file__).parent
PLAIN = {"import": "from numba import njit", "@kernel": "@njit(cache=True, nogil=True)"}

# A kernel of `loops`, one that it calls and one that it does not, each in its own file; `chosen`
# runs what is registered for the type of its argument in a file that `loops` does not import.
TOY = {
    "__init__": "",
    "noise": """
from dpbandits._kernels import kernel

@kernel
def noise(x: float) -> float:
    return x + 1.0
""",
    "constants": "SHIFT = 10.0\n",
    "between": "from toy.constants import SHIFT\nfrom toy import noise as source\n",
    "loops": """
from dpbandits._kernels import kernel
from .between import (
    SHIFT,  # (of another file)
    source,
)

draw = source.noise

def choose(settings, x):
    raise NotImplementedError

@kernel
def noisy(x: float) -> float:
    return draw(x) + SHIFT

@kernel
def chosen(settings, x: float) -> float:
    return choose(settings, x)
""",
    "apart": """
from dpbandits._kernels import kernel

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
CALL = """
import json
from toy import apart, loops, rule

found = {}
for function, arguments in (
    (loops.noisy, (1.0,)), (apart.alone, (1.0,)), (loops.chosen, (rule.Rule(3.0), 1.0)),
):
    value = function(*arguments)
    found[function.__name__] = value, sum(function.stats.cache_hits.values())
print(json.dumps(found))
"""


@pytest.fixture(params=["beside the source", "NUMBA_CACHE_DIR"])
def toy(request, tmp_path):
    """A package on the disk and a function that runs its kernels in a process of their own."""
    folder = tmp_path / "toy"
    folder.mkdir()
    for name, text in TOY.items():
        (folder / f"{name}.py").write_text(text)
    environment = dict(os.environ, PYTHONPATH=str(tmp_path))
    environment.pop("NUMBA_CACHE_DIR", None)
    if request.param == "NUMBA_CACHE_DIR":
        environment["NUMBA_CACHE_DIR"] = str(tmp_path / "elsewhere")

    def call():
        """Return the value of each kernel, and how often it came from the disk."""
        command = [sys.executable, "-c", CALL]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return {name: tuple(found) for name, found in json.loads(done.stdout).items()}

    return folder, call


def edit(path, old, new):
    """Change a file to another of the same size, and of the same time."""
    status, text = path.stat(), path.read_text()
    assert old in text and len(old) == len(new)
    path.write_text(text.replace(old, new))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_an_edited_callee_is_compiled_anew_and_nothing_else(toy):
    folder, call = toy
    assert call() == {"noisy": (12.0, 0), "alone": (2.0, 0), "chosen": (4.0, 0)}
    assert call() == {"noisy": (12.0, 1), "alone": (2.0, 1), "chosen": (4.0, 1)}
    indices = {path: path.read_bytes() for path in folder.parent.rglob("apart.*.nbi")}
    assert len(indices) == 1
    edit(folder / "noise.py", "x + 1.0", "x + 5.0")
    assert call() == {"noisy": (16.0, 0), "alone": (2.0, 1), "chosen": (4.0, 0)}
    edit(folder / "constants.py", "10.0", "20.0")
    assert call() == {"noisy": (26.0, 0), "alone": (2.0, 1), "chosen": (4.0, 0)}
    edit(folder / "rule.py", "+ 1.0", "+ 2.0")
    assert call() == {"noisy": (26.0, 1), "alone": (2.0, 1), "chosen": (5.0, 0)}
    assert call() == {"noisy": (26.0, 1), "alone": (2.0, 1), "chosen": (5.0, 1)}
    assert {path: path.read_bytes() for path in folder.parent.rglob("apart.*.nbi")} == indices


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
        text = path.read_text().replace("from dpbandits._kernels import kernel", PLAIN["import"])
        path.write_text(text.replace("@kernel", PLAIN["@kernel"]))
    assert call()["noisy"] == (12.0, 0)
    edit(folder / "noise.py", "x + 1.0", "x + 5.0")
    edit(folder / "rule.py", "+ 1.0", "+ 2.0")
    assert call() == {"noisy": (12.0, 1), "alone": (2.0, 1), "chosen": (4.0, 1)}


def test_code_that_was_edited_while_it_ran_is_not_kept(toy):
    """What this process has read is compiled; a later process finds nothing of it."""
    folder, call = toy
    command = f"""
import os, sys
sys.path.insert(0, {str(folder.parent)!r})
from toy import loops
path = {str(folder / "noise.py")!r}
text = open(path).read()
open(path, "w").write(text.replace("x + 1.0", "x + 5.0"))
print(loops.noisy(1.0))
"""
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True)
    assert done.stdout == "12.0\n", done.stderr
    assert call()["noisy"] == (16.0, 0)


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
        seen = {each for each in _kernels._read(str(path))[1] if each.startswith(str(PACKAGE))}
        assert imported_names(path) <= seen, path
        assert seen <= imported_names(path), path


def test_a_file_is_compiled_from_what_it_imports():
    files = {str(Path(f).relative_to(PACKAGE)) for f in source_files(str(PACKAGE / "schedules.py"))}
    assert {"schedules.py", "_kernels.py"} <= files
    assert not {"__init__.py", "simulation.py", "cli.py"} & files


def test_only_one_file_compiles():
    users = [path.name for path in PACKAGE.rglob("*.py") if "njit" in path.read_text("utf-8")]
    assert users == ["_kernels.py"]


def test_a_function_without_a_file_is_compiled():
    scope = {"kernel": kernel}
    exec("@kernel\ndef thrice(x):\n    return 3 * x", scope)
    assert scope["thrice"](2) == 6 and interpreted(scope["thrice"])(2) == 6


def test_division_by_zero_is_as_it_was_asked_for():
    assert kernel(error_model="numpy")(lambda x: 1.0 / x)(0.0) == np.inf
    with pytest.raises(ZeroDivisionError):
        kernel(lambda x: 1.0 / x)(0.0)


def test_trailing_zeros_are_those_of_the_instruction():
    compiled = kernel(lambda n: trailing_zeros(n))
    for k in range(62):
        for n in (2**k, np.int64(3 * 2**k) if k < 61 else 2**k):
            assert trailing_zeros(n) == compiled(n) == k
