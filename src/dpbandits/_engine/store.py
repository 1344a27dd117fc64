"""A store of runs: a run of the same code with the same seed is read from disk.

It is a `joblib.Memory`, and off unless `keep_runs` is given a folder, as in the chapters of the
book. Its keys are digests of the configuration, the seeds, the whole package and the versions that
its numbers depend on. A case that has no digest, such as a user's function, is played each time.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import platform
from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, TypeVar, cast

import joblib
import numpy as np
from llvmlite.binding import get_host_cpu_name

from dpbandits._engine import kernels

__all__ = ["keep_runs", "keys_of", "platform_name", "read", "write"]

Key = TypeVar("Key", bound=Hashable)

PACKAGE = "dpbandits"
VERSIONS = ("numpy", "scipy", "numba")

_folder: Path | None = None


class _UntoldError(Exception):
    """A value has no description that identifies it."""


def keep_runs(folder: Path | None) -> None:
    """Read runs from a folder and store them there; None plays all of them anew."""
    global _folder
    _folder = folder


def keys_of(cases: Mapping[Key, Any]) -> dict[Key, str | None]:
    """Return a key for each case, from all that its runs depend on; None if it is not stored."""
    code = None if _folder is None else _code_digest()
    return {key: None if code is None else _key(code, depends) for key, depends in cases.items()}


def _key(code: str, depends: Any) -> str | None:
    """Return the key of the results of this code on these inputs."""
    try:
        told = _told(depends)
    except _UntoldError:
        return None
    return hashlib.sha256(json.dumps([code, told]).encode()).hexdigest()


def read(key: str | None) -> Any:
    """Return the outcomes stored under a key, None if there are none."""
    if key is None or _folder is None or not _kept(_folder).check_call_in_cache(key, None):
        return None
    try:
        return pickle.loads(_kept(_folder).call_and_shelve(key, None).get())
    except (OSError, LookupError, EOFError, ValueError, pickle.UnpicklingError):
        return None  # a truncated file


def write(key: str | None, outcomes: Any) -> None:
    """Store outcomes under a key; do nothing if the disk is full or read-only."""
    if key is not None and _folder is not None:
        _kept(_folder).call(key, outcomes)


@cache
def _kept(folder: Path) -> Any:
    """Return the function whose results are stored in a folder."""
    return joblib.Memory(folder, verbose=0).cache(_pickled, ignore=["outcomes"])


def _pickled(key: str, outcomes: Any) -> bytes:
    """Pickle outcomes: for many small arrays far quicker than one file each."""
    if outcomes is None:
        raise LookupError(key)
    return pickle.dumps(outcomes, protocol=5)


def _code_digest() -> str | None:
    """Return a digest of the code and of the versions that its numbers depend on.

    It is None if a file was edited since this process started, which then runs older code.
    """
    here = Path(kernels.HERE)
    files = frozenset(str(path) for path in here.rglob("*.py"))
    if kernels._edited(files):
        return None
    around = [platform_name(), os.environ.get("NUMBA_DISABLE_JIT", "")]
    return " ".join([kernels._stamp(files), *around])


@cache
def platform_name() -> str:
    """Return the versions and the type of processor that the last bits depend on."""
    return " ".join([platform.python_version(), get_host_cpu_name(), *map(version, VERSIONS)])


def _told(part: Any) -> Any:
    """Return plain values that identify a value; raise if its type is not known."""
    kind = type(part)
    if part is None or kind in (bool, int, str):
        return [kind.__name__, part]
    if isinstance(part, float | np.generic):
        return [kind.__name__, repr(part)]
    if isinstance(part, np.ndarray):
        if part.dtype.hasobject:
            raise _UntoldError
        content = hashlib.sha256(np.ascontiguousarray(part).tobytes()).hexdigest()
        return ["array", str(part.dtype), list(part.shape), content]
    if isinstance(part, list | tuple):
        return [_name(kind), *map(_told, part)]
    if isinstance(part, Mapping):
        return [_name(kind), *([_told(key), _told(value)] for key, value in part.items())]
    if isinstance(part, partial):
        return ["partial", *map(_told, (part.func, part.args, part.keywords))]
    if isinstance(part, MethodType):
        return ["method", part.__func__.__qualname__, _told(part.__self__)]
    if isinstance(part, type | FunctionType | BuiltinFunctionType):
        return ["name", _name(part)]
    if is_dataclass(part):
        return [
            _name(kind),
            *([each.name, _told(getattr(part, each.name))] for each in fields(part)),
        ]
    raise _UntoldError


def _name(thing: Any) -> str:
    """Return the name of a class or function of the package, or of Python itself."""
    module, name = cast(str, thing.__module__), cast(str, thing.__qualname__)
    if module.partition(".")[0] not in (PACKAGE, "builtins") or "<" in name:
        raise _UntoldError
    return f"{module}.{name}"
