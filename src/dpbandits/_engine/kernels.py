"""Compiled functions, cached on disk until one of their source files changes.

Numba compiles the functions that a kernel calls *into* the kernel, also those of other files, but
its cache compares only the kernel's own file. The cache of `kernel` compares the content of every
source file that a kernel can depend on, so that after an edit of the noise only the kernels that
draw it are recompiled.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import re
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache, cached_property, update_wrapper
from multiprocessing import current_process
from typing import Any, Literal, ParamSpec, TypeVar, cast, overload

import numba
from numba import njit, types
from numba.core import sigutils
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    NullCache,
)
from numba.core.ccallback import CFunc
from numba.cpython.unsafe.numbers import trailing_zeros as lowest_set_bit
from numba.extending import overload as compiled_as

from dpbandits._engine.parts import CompilerOfParts, CompilerOfWholes, PartsOnDisk

P = ParamSpec("P")
R = TypeVar("R")
ErrorModel = Literal["python", "numpy"]

CompilationError = numba.core.errors.NumbaError
_njit = cast("Callable[..., Any]", njit)
_IN_PARTS = numba.__version__.startswith("0.68.")  # other versions compile as Numba does

STARTED = time.time()
"""When this process read the package: files edited later may differ from the code in memory."""

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""The folder of the package."""
INSTALLED = {"site-packages", "dist-packages"}
"""Folders in which only the package in question is read, not its neighbours."""


@overload
def kernel(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def kernel(
    *, error_model: ErrorModel = ..., borrows: bool = ..., within: bool = ...
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def kernel(
    function: Any = None,
    /,
    *,
    error_model: ErrorModel = "python",
    borrows: bool = False,
    within: bool = False,
) -> Any:
    """Compile a function when it is first called, and cache the result on disk.

    It is Numba's `njit` with ``nogil=True`` and a cache that goes stale with every file that the
    function's own file imports. `NUMBA_DISABLE_JIT` returns the function unchanged;
    `NUMBA_CACHE_DIR` moves the cache.

    A kernel that takes a kernel as an argument is compiled anew in each process: Numba does not
    recognise a function that it reads from disk. Choose by the type of an argument instead, with an
    overload.
    """
    # a C wrapper, which nothing calls, would take a tenth of the compile time
    options: dict[str, Any] = {"nogil": True, "error_model": error_model, "no_cfunc_wrapper": True}
    options["_nrt"] = True  # Numba's flag; a function without it inherits it from its caller
    if within:
        options["inline"] = "always"

    def compiled(function: Callable[P, R]) -> Callable[P, R]:
        whole: dict[str, Any] = {}
        own: dict[str, Any] = {"_nrt": not borrows}
        if _IN_PARTS:
            whole = {"pipeline_class": CompilerOfWholes}
            own |= {"pipeline_class": CompilerOfParts, "no_cpython_wrapper": True}
        dispatcher: Any = _njit(**options, **whole)(function)
        if dispatcher is not function:
            dispatcher._cache = _Cache(function)
            # called from Python, references are counted: else Numba would never free a generator
            if not (_IN_PARTS or borrows):
                return cast("Callable[P, R]", dispatcher)
            part: Any = _njit(**options | own)(function)
            part._cache = _Cache(function, part=_IN_PARTS, borrows=borrows)
            dispatcher.get_call_template = part.get_call_template
            dispatcher.get_overload = part.get_overload
        return cast("Callable[P, R]", dispatcher)

    return compiled if function is None else compiled(function)


def interpreted(function: Callable[P, R]) -> Callable[P, R]:
    """Return the Python function that a kernel was compiled from, or a Python function itself."""
    return cast("Callable[P, R]", getattr(function, "py_func", function))


def compiled_here(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that somebody has written, in this process, and keep nothing on disk.

    If Numba cannot compile it, its first call raises a `CompilationError`.
    """
    return cast("Callable[P, R]", _njit(nogil=True, error_model="numpy")(function))


def trailing_zeros(n: int) -> int:
    """Return the position of the lowest set bit of an integer: one instruction where compiled."""
    return (int(n) & -int(n)).bit_length() - 1


@compiled_as(trailing_zeros)
def _compiled_trailing_zeros(n):  # type: ignore[no-untyped-def]  # noqa: ANN001
    # Numba compares the signatures of the two functions, and passes the context itself.
    return (lambda n: lowest_set_bit(n)) if isinstance(n, types.Integer) else None  # type: ignore[call-arg]


def by_type(declared: Callable[P, R]) -> Callable[P, R]:
    """Return a function that dispatches on the type of its first argument: a decorator.

    Kernels may call it; the implementation is chosen when they are compiled.
    """
    bodies: dict[type, Callable[..., Any]] = {}

    def chosen(first: Any, *rest: Any) -> Any:
        return bodies[type(first)](first, *rest)

    @compiled_as(chosen)
    def compiled(first, *rest):  # type: ignore[no-untyped-def]  # noqa: ANN001
        body = bodies[first.instance_class]
        return lambda first, *rest: body(first, *rest)

    update_wrapper(chosen, declared, updated=())
    chosen.bodies = bodies  # type: ignore[attr-defined]
    return cast("Callable[P, R]", chosen)


def entered_for(
    function: Callable[..., R], kind: type
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Register the implementation of a function of `by_type` for a type: a decorator."""

    def enter(body: Callable[P, R]) -> Callable[P, R]:
        cast(Any, function).bodies[kind] = body
        return body

    return enter


# ------------------------------------------------------------------------ source files of a kernel

# Names in parentheses, with comments, or up to the end of the line, which a backslash continues.
_IMPORT = re.compile(
    r"\n[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]*(\((?:#[^\n]*|[^)#])*\)|(?:\\\n|[^\n#])*)"
    r"|import[ \t]+((?:\\\n|[^\n#])+))"
)
_IGNORED = re.compile(r"#[^\n]*|[\\()]")


def source_files(path: str) -> frozenset[str]:
    """Return a source file and those that it imports, directly or not.

    It follows the modules of the file's own package, those beside it (unless it is installed) and
    those of `dpbandits`, and also imports inside functions.
    """
    found: set[str] = set()
    waiting = [os.path.abspath(path)]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += _read(one)[1]
    return frozenset(found)


def _read(path: str) -> tuple[bytes, tuple[str, ...]]:
    """Return the digest of a file and the files that it imports."""
    status = os.stat(path)
    return _read_version(path, status.st_mtime_ns, status.st_size)


@cache
def _read_version(path: str, *version: int) -> tuple[bytes, tuple[str, ...]]:
    """Read one version of a file, identified by its time and size, only once."""
    with open(path, "rb") as stream:
        content = stream.read()
    text = "\n" + content.decode("utf-8", "replace").replace(";", "\n")
    return hashlib.sha256(content).digest(), tuple(dict.fromkeys(_imported(path, text)))


def _imported(path: str, text: str) -> Iterator[str]:
    """Yield the files that the import statements of a text name."""
    for source, names, modules in _IMPORT.findall(text):
        listed = _IGNORED.sub("", names or modules).split(",")
        for name in (each.split()[0] for each in listed if each.strip()):
            folder = _folder(path, source or name)
            if folder is not None and source:
                yield from filter(None, [_module(os.path.join(folder, name)) or _module(folder)])
            elif folder is not None:
                while file := _module(folder):
                    yield file
                    folder = os.path.dirname(folder)


def _folder(path: str, name: str) -> str | None:
    """Return the folder of the module `name`, as `path` imports it; None if it is not followed."""
    absolute = name.lstrip(".")
    if absolute != name:
        start = path
        for _ in range(len(name) - len(absolute)):
            start = os.path.dirname(start)
    else:
        start, own = _root(path)
        first = name.partition(".")[0]
        if first == os.path.basename(HERE):
            start = os.path.dirname(HERE)
        elif os.path.basename(start) in INSTALLED and first != own:
            return None
    return os.path.join(start, *absolute.split(".")) if absolute else start


@cache
def _root(path: str) -> tuple[str, str]:
    """Return the folder that holds the outermost package around a file, and the package's name."""
    folder, name = os.path.dirname(path), ""
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, name = os.path.split(folder)
    return folder, name


@cache
def _module(stem: str) -> str | None:
    """Return the file of a module or package, given its path without an ending."""
    for path in (f"{stem}.py", os.path.join(stem, "__init__.py")):
        if os.path.isfile(path):
            return path
    return None


def _stamp(files: frozenset[str]) -> str:
    """Return a hash of the contents and names of some files.

    Files are named relative to the folder of their package: a copy elsewhere has the same stamp.
    """
    stamp = hashlib.sha256()
    for name, digest in sorted((os.path.relpath(f, _root(f)[0]), _read(f)[0]) for f in files):
        stamp.update(name.encode() + b"\0" + digest)
    return stamp.hexdigest()


def _edited(files: frozenset[str]) -> bool:
    """Return whether some file changed since this process started, so that older code may run."""
    states = [os.stat(path) for path in files]
    return any(max(state.st_mtime, state.st_ctime) > STARTED for state in states)


# ---------------------------------------------------------------------------------------- caching


def _named_in(kind: Any) -> Iterator[Any]:
    """Yield the classes and functions in the type of an argument, also inside tuples and arrays."""
    if isinstance(kind, types.Dispatcher):
        yield kind.dispatcher.py_func
    elif isinstance(kind, (types.NamedTuple, types.NamedUniTuple)):
        yield kind.instance_class
    inner = getattr(kind, "types", ()) if isinstance(kind, types.BaseTuple) else ()
    for each in (*inner, getattr(kind, "dtype", None)):
        if isinstance(each, types.Type) and each is not kind:
            yield from _named_in(each)


def _holds_memory(kind: Any) -> bool:
    """Return whether values of a type own memory that must be freed."""
    if isinstance(kind, types.BaseTuple):
        return any(_holds_memory(each) for each in cast(Any, kind))
    return not isinstance(kind, types.Number | types.Boolean | types.NoneType | types.Literal)


@cache
def _warn_of_no_cache(reason: str) -> None:
    """Warn in one line, once in a program, that it starts slowly and why."""
    if _warn_of_no_cache.cache_info().currsize == 0 and current_process().name == "MainProcess":
        warnings.warn_explicit(
            f"compiled functions cannot be kept on the disk ({reason}): each program compiles them "
            "anew, which takes a minute or so; NUMBA_CACHE_DIR may name a folder for them",
            RuntimeWarning,
            "dpbandits",
            0,
        )


class _Index(IndexDataCacheFile):
    """Numba's index of a function; an unreadable one, or one of moved code, counts as empty."""

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except Exception:  # a corrupted file can raise anything
            return {}

    def _load_data(self, name: str) -> Any:
        try:
            return super()._load_data(name)
        except Exception as error:
            raise OSError(f"{name} cannot be read") from error  # Numba compiles anew


class _Versions(FunctionCache):
    """Numba's files of one function, with a stamp of its source files."""

    def __init__(self, function: Callable[..., Any], part: bool, borrows: bool) -> None:
        self._impl_class = PartsOnDisk if part else CompileResultCacheImpl
        super().__init__(function)
        self._kind = part, borrows
        source = inspect.getfile(function)
        own = None
        if not os.path.isfile(source):  # a notebook's cell, which can import anything
            own, source = self._impl.locator.get_source_stamp(), os.path.join(HERE, "__init__.py")
        self._source, self.files = source, source_files(source)
        self._stamp = _stamp(self.files)
        self._cache_file = _Index(self._cache_path, self._impl.filename_base, (self._stamp, own))

    def _index_key(self, signature: Any, codegen: Any) -> Any:
        """Add the files of the types and functions in the signature to Numba's key."""
        arguments, _ = sigutils.normalize_signature(signature)
        named = {each for kind in arguments for each in _named_in(kind)}
        files = {inspect.getfile(each) for each in named} - self.files
        beyond = [source_files(file) for file in files if os.path.isfile(file)]
        stamp = _stamp(frozenset().union(*beyond)) if beyond else ""
        return (*super()._index_key(signature, codegen), stamp, self._kind)

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return the cached result, if it can be read."""
        try:
            return super().load_overload(signature, context)
        except OSError:
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep a result, unless a source file was edited while it was compiled."""
        try:
            files = source_files(self._source)
            if not _edited(files) and _stamp(files) == self._stamp:
                super().save_overload(signature, result)
        except OSError as error:  # a full disk, or a folder that became read-only
            _warn_of_no_cache(error.strerror or str(error))


class FromC:
    """A function of an address that C can call, compiled when its own address is first needed.

    It is cached on disk as kernels are.
    """

    def __init__(self, function: Callable[..., Any], signature: Any) -> None:
        self._function, self._signature = function, signature

    @cached_property
    def _compiled(self) -> Any:
        signature = sigutils.normalize_signature(self._signature)
        compiled: Any = CFunc(self._function, signature, locals={}, options={})
        compiled._cache = _Cache(self._function)
        compiled.compile()
        return compiled

    @property
    def address(self) -> int:
        """Address for C."""
        found: int = self._compiled.address
        return found


class _Cache:
    """The cache of a kernel, which reads no file before the kernel is first called."""

    def __init__(
        self, function: Callable[..., Any], *, part: bool = False, borrows: bool = False
    ) -> None:
        self._function, self._part, self._borrows = function, part, borrows

    def save_overload(self, signature: Any, result: Any) -> None:
        """Reject a kernel that borrows and returns an array: it could be freed too early."""
        if self._borrows and _holds_memory(result.signature.return_type):
            name = self._function.__qualname__
            raise TypeError(f"{name} returns an array; allowed: numbers, as it borrows")
        self._versions.save_overload(signature, result)

    @cached_property
    def _versions(self) -> Any:
        try:
            versions = _Versions(self._function, self._part, self._borrows)
        except (OSError, RuntimeError, TypeError):  # no file, or no writable folder
            if os.path.isfile(self._function.__code__.co_filename):
                _warn_of_no_cache("no folder can be written")
            return NullCache()
        return NullCache() if _edited(versions.files) else versions

    def __getattr__(self, name: str) -> Any:
        return getattr(self._versions, name)


# ------------------------------------------------------------------------------- shared by kernels


@kernel(borrows=True)
def copy_into(target: Any, values: Any) -> None:
    """Write values into an array of one axis and the same length.

    Numba takes two seconds to compile ``target[:] = values`` in each process, most of them for an
    error message.

    Shapes: `target`, `values` (n,).
    """
    for i in range(target.size):
        target[i] = values[i]
