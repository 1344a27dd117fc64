"""Without a cache for compiled functions the package is slower, says so in one line, and works."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import dpbandits
from dpbandits._engine import kernels

PACKAGE = Path(dpbandits.__file__).parent
WARNING = "dpbandits:0: RuntimeWarning: compiled functions cannot be kept on the disk"
NOWHERE = {"NUMBA_CACHE_LOCATOR_CLASSES": "ZipCacheLocator"}  # what Numba finds where none is
# The package's own imports take seconds; two kernels, and what C calls, need none of them.
TOY = """
from dpbandits._engine.kernels import FromC, kernel
from numba import types

@kernel
def one(x):
    return x + 1.0

@kernel
def two(x):
    return one(x) + one(x)

called = FromC(lambda x: x + 0.5, types.double(types.double))
"""
CALL = f"""
import ctypes, errno, sys, types

package = sys.modules["dpbandits"] = types.ModuleType("dpbandits")
package.__path__ = [{str(PACKAGE)!r}]
import toy
exec(sys.argv[1])
function = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(toy.called.address)
print(toy.two(1.5), toy.one(2.0), function(1.0), sum(toy.two.stats.cache_hits.values()))
"""
FULL_DISK = """
from numba.core.caching import IndexDataCacheFile
def full(*arguments):
    raise OSError(errno.ENOSPC, "No space left on device")
IndexDataCacheFile._open_for_write = full
"""


@pytest.fixture
def call(tmp_path):
    """A function that runs the toy in a process of its own: what it printed, and warned of."""
    (tmp_path / "toy.py").write_text(TOY)
    plain = {name: value for name, value in os.environ.items() if name[:6] != "NUMBA_"}
    plain |= {"PYTHONPATH": str(tmp_path)}

    def run(program=CALL, meanwhile="", without=(), **environment):
        kept = {name: value for name, value in plain.items() if name not in without}
        command = [sys.executable, "-c", program, meanwhile]
        done = subprocess.run(command, env=kept | environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.split(), done.stderr

    return run


VALUES = ["5.0", "3.0", "1.5"]


def test_a_full_disk_is_one_line_of_warning(call):
    found, said = call(meanwhile=FULL_DISK)
    assert found == [*VALUES, "0"]
    assert said.startswith(f"{WARNING} (No space left on device)") and said.count("\n") == 1


def test_without_a_home_another_folder_serves_and_spoilt_files_are_compiled_anew(call, tmp_path):
    way = {"without": ["HOME"], "NUMBA_CACHE_DIR": "/dev/null/cache"}
    assert call(**way) == ([*VALUES, "0"], "")
    spoilt = [path for path in tmp_path.rglob("*.nb[ic]") if "toy" in path.name]
    assert len(spoilt) == 7  # `one` alone, and as a part of `two`
    for path in spoilt:
        path.write_bytes(path.read_bytes()[: 40 * path.name.startswith("toy.one")])
    assert call(**way) == ([*VALUES, "0"], "")
    assert call(**way) == ([*VALUES, "1"], "")


@pytest.mark.parametrize("ending", ["nbi", "1.nbc"])
@pytest.mark.parametrize("how", ["empty", "half", "noise", "a folder"])
def test_a_spoilt_file_counts_as_none(tmp_path, ending, how):
    index = kernels._Index(str(tmp_path), "toy", "stamp")
    index.save("key", 1)
    path = tmp_path / f"toy.{ending}"
    whole = path.read_bytes()
    if how == "a folder":
        path.unlink()
        path.mkdir()
    else:
        broken = {"empty": b"", "half": whole[: len(whole) // 2], "noise": b"\x93" * 99}
        path.write_bytes(broken[how])
    assert index.load("key") is None
    if how != "a folder":
        index.save("key", 2)
        assert index.load("key") == 2


def test_the_package_is_imported_and_runs_where_nothing_is_kept(call):
    program = """
import numpy as np
import dpbandits as dpb
from dpbandits.auditing.tape import Tapes

tapes = Tapes()  # what C calls is compiled now
print(dpb.mechanisms.laplace(np.random.default_rng(0), 0.0), dpb.UCB().label)
"""
    found, said = call(program, **NOWHERE)
    assert found == ["0.0", "UCB"]
    assert said.startswith(WARNING) and said.count("\n") == 1
