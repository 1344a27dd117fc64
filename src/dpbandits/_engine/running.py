"""One runner for all replicates: seeds, chunks, workers, progress, interruption.

`simulate_many`, `identify_many`, `estimate_many` and their kin describe each case as a `Replicated`
and leave the rest to `run_cases`.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import multiprocessing
import os
import re
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import MISSING, dataclass, fields, is_dataclass
from multiprocessing import resource_tracker
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, cpu_count, delayed
from joblib.externals.loky.backend import resource_tracker as loky_tracker
from joblib.parallel import get_active_backend
from tqdm import tqdm

from dpbandits._engine import store
from dpbandits._engine.streams import Seeds, Streams, generators, streams_of
from dpbandits._secure import secure_generator
from dpbandits._validation import check_integer, check_jobs, check_seed, shown

__all__ = [
    "Replicated",
    "case_seeds",
    "clear_shared_memory",
    "describe",
    "run_cases",
    "worker_count",
]

Key = TypeVar("Key", bound=Hashable)
Case = TypeVar("Case")
Player = Callable[[Any], Any]

_SHARES = 8
"""Fewest chunks of a case, if it has that many replicates."""
_ALONE = 5
"""Factor on the length of chunks that a compiled call plays for a single worker."""
WORKERS_A_PROCESSOR = 2
"""Most workers on this machine for each of its processors."""
MOST_RUNS = 10**15
"""Most replicates, whatever the memory."""
_SEED_BYTES = 1024
"""Bytes of a replicate besides its outcome: its seed, and the objects that hold both."""


@dataclass(frozen=True)
class Replicated:
    """A case as the runner sees it.

    Attributes
    ----------
    title : str
        Title of the progress bar.
    configuration : dict
        All that the distribution of a replicate depends on, ready for JSON: the seeds are derived
        from it.
    play : callable
        Takes a generator, the source of all randomness, and returns the outcome of one replicate.
        It is sent to workers, so it must be a module's function or a `functools.partial` of one.
    n_runs : int
        Number of replicates.
    chunk : int
        Most replicates that a worker plays at a time.
    warm_up : callable, optional
        Plays as little as possible, so that kernels are compiled before the replicates.
    gather : callable
        Combines the outcomes of the replicates, a list, into the case's result.
    takes_seed : bool
        Whether `play` takes the replicate's `SeedSequence` instead, and makes generators itself.
    play_many : callable, optional
        Plays a whole chunk as `play` plays a replicate: it takes `Streams`, starts one after the
        other, and returns the list of outcomes. A compiled loop has no overhead for each replicate.
    kept : int
        Approximate number of bytes of one outcome: a run that would not fit in memory is not
        started.
    given : bool
        Whether it plays on rewards that were passed in, so that its noise must be secret: without a
        seed each replicate uses the operating system's secure generator, and none is stored on
        disk. Other cases then use the seed 0.

    Examples
    --------
    >>> def draw(rng):
    ...     return rng.random()
    >>> case = Replicated("uniform", {"law": "uniform"}, draw, n_runs=20, gather=max)
    >>> [len(seeds) for seeds in case.chunks(seed=0)]
    [3, 3, 3, 3, 3, 3, 2]
    """

    title: str
    configuration: Mapping[str, Any]
    play: Player
    n_runs: int
    chunk: int = 10
    warm_up: Callable[[], object] | None = None
    gather: Callable[[list[Any]], Any] = list
    takes_seed: bool = False
    play_many: Callable[[Streams], list[Any]] | None = None
    kept: int = 0
    given: bool = False

    def root(self, seed: int | Sequence[int] | None) -> int | Sequence[int] | None:
        """Return the entropy of the root seed."""
        return 0 if seed is None and not self.given else seed

    def chunks(
        self, seed: int | Sequence[int] | None, *, shared: bool = True
    ) -> Iterator[Seeds | range]:
        """Yield the seeds of the replicates, in chunks."""
        root = self.root(seed)
        every = range(self.n_runs)
        seeds = every if root is None else case_seeds(self.configuration, root, self.n_runs)
        size = max(1, min(self.chunk, math.ceil(self.n_runs / _SHARES)))
        if self.play_many is not None and not shared:
            size = _ALONE * self.chunk
        for first in range(0, self.n_runs, size):
            yield seeds[first : first + size]


def case_seeds(configuration: Mapping[str, Any], seed: int | Sequence[int], n_runs: int) -> Seeds:
    """Return one seed per replicate, derived from `seed` and from the configuration.

    The root is `seed`, followed by 128 bits hashed from the configuration. The number of replicates
    and the position in a grid play no role: fewer replicates are the first of more.
    """
    text = json.dumps(configuration, sort_keys=True)
    words = np.frombuffer(hashlib.sha256(text.encode()).digest()[:16], dtype="<u4")
    return Seeds([*check_seed("seed", seed), *map(int, words)], range(n_runs))


def describe(part: object) -> Any:
    """Describe an algorithm, a rule, a law or an instance for JSON.

    Arguments with their default value are left out, so that a class may gain options without a
    change of seeds.
    """
    if is_dataclass(part):
        described: dict[str, Any] = {"name": type(part).__name__}
        for option in fields(part):
            value = getattr(part, option.name)
            if option.default is MISSING or value != option.default:
                described[option.name] = describe(value)
        return described
    if isinstance(part, list | tuple):
        return [describe(each) for each in part]
    if isinstance(part, np.ndarray):
        return part.tolist()
    if isinstance(part, np.generic):
        return describe(part.item())
    if isinstance(part, float) and not math.isfinite(part):
        return str(part)  # JSON has no infinity
    if part is None or isinstance(part, bool | int | float | str):
        return part
    return getattr(part, "__qualname__", type(part).__qualname__)


@contextmanager
def _label_errors(key: Hashable) -> Iterator[None]:
    """Prefix error messages with the key of the case, if it has one."""
    try:
        yield
    except (ValueError, TypeError) as error:
        if key is None:
            raise
        kind = ValueError if isinstance(error, ValueError) else TypeError
        raise kind(f"case {key!r}: {error}") from error


def run_cases(
    cases: Mapping[Key, Case],
    replicated: Callable[[Case, int], Replicated],
    n_runs: int | Mapping[Any, int],
    seed: int | Sequence[int] | None,
    n_jobs: int,
) -> dict[Key, Any]:
    """Describe the cases to the runner, play them, and combine the outcomes of each.

    The results depend on the cases and on `seed` alone, unless noise is secret: neither on `n_jobs`
    nor on the backend that ``joblib.parallel_config`` sets. Progress is shown on a terminal and
    nowhere else. Ctrl-C raises a `KeyboardInterrupt` with the number of finished replicates. On
    SIGTERM a process with workers ends them, reports so on stderr, and exits with status 143. Runs
    that cannot fit in memory are rejected before they start.
    """
    n_jobs = check_jobs("n_jobs", n_jobs)
    if seed is not None:
        check_seed("seed", seed)
    if not isinstance(cases, Mapping):
        raise ValueError(f"cases={shown(cases)} is not a mapping; allowed: one of keys to cases")
    described: dict[Key, Replicated] = {}
    for key, case in cases.items():
        with _label_errors(key):
            if isinstance(n_runs, Mapping) and key not in n_runs:
                raise ValueError("n_runs has no number of replicates for it; allowed: one a case")
            runs = n_runs[key] if isinstance(n_runs, Mapping) else n_runs
            described[key] = replicated(case, check_integer("n_runs", runs, 1, MOST_RUNS))
    needed = sum(case.n_runs * (2 * case.kept + _SEED_BYTES) for case in described.values())
    check_memory(sum(case.n_runs for case in described.values()), needed)
    stored: dict[Key, str | None] = dict.fromkeys(described)
    stored |= store.keys_of(
        {
            key: (case.play, case.configuration, case.root(seed), case.n_runs, case.takes_seed)
            for key, case in described.items()
            if case.root(seed) is not None
        }
    )
    found = {key: store.read(name) for key, name in stored.items()}
    missing = {key: case for key, case in described.items() if found[key] is None}
    for key, outcomes in _played(missing, seed, n_jobs).items():
        store.write(stored[key], outcomes)
        found[key] = outcomes
    return {key: described[key].gather(found.pop(key)) for key in cases}


def check_memory(runs: int, needed: float) -> None:
    """Raise if the replicates do not fit in memory."""
    most = memory()
    if needed > most:
        raise ValueError(
            f"n_runs={runs} would take {needed:.2e} bytes of memory; allowed: at most "
            f"{most:.2e} bytes, with fewer runs, cases, checkpoints or arms"
        )


def memory() -> float:
    """Return the number of bytes of memory available to this process, infinity if unknown."""
    found = [math.inf]
    with suppress(AttributeError, OSError, ValueError):
        found.append(float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")))
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError), open(f"/sys/fs/cgroup/{name}") as limit:
            found.append(float(limit.read()))
    return min(found)


def worker_count(n_jobs: int, n_tasks: int) -> int:
    """Return the number of workers to use."""
    n_jobs, processors = check_jobs("n_jobs", n_jobs), cpu_count()
    wanted = processors if n_jobs == -1 else n_jobs
    if _is_here():
        wanted = min(wanted, WORKERS_A_PROCESSOR * processors)
    return max(min(wanted, n_tasks), 1)


def _is_here() -> bool:
    """Return whether joblib's workers are processes or threads on this machine."""
    module = type(get_active_backend()[0]).__module__
    return module == "joblib._parallel_backends"


def _end_with(parent: int) -> None:
    """End this process, if it is a worker started by joblib, when its parent has exited."""
    if not multiprocessing.current_process().name.startswith("Loky") or _watching.is_set():
        return
    _watching.set()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


_watching = threading.Event()


def _play_chunk(
    key: Hashable,
    play: Player,
    takes_seed: bool,
    play_many: Callable[[Streams], list[Any]] | None,
    seeds: Seeds | range,
    parent: int,
) -> list[Any]:
    """Play a replicate on ``default_rng(seed)`` for each seed: the unit of parallel work."""
    _end_with(parent)
    with _label_errors(key):
        if isinstance(seeds, range):
            return [play(secure_generator()) for _ in seeds]
        if takes_seed:
            return [play(seed) for seed in seeds]
        if play_many is not None and (streams := streams_of(seeds)) is not None:
            return play_many(streams)
        return [play(rng) for rng in generators(seeds)]


def _played(
    cases: Mapping[Key, Replicated], seed: int | Sequence[int] | None, n_jobs: int
) -> dict[Key, list[Any]]:
    """Play the replicates of all cases, in chunks spread over the workers."""
    total = sum(case.n_runs for case in cases.values())
    found: dict[Key, list[Any]] = {key: [] for key in cases}
    if not cases:
        return found
    start = time.perf_counter()
    with (
        tqdm(total=total, unit="run", disable=None, leave=False, smoothing=0.05) as progress,
        _terminable(n_jobs != 1),
    ):
        try:
            _warm_up(cases, progress)
            compiled = time.perf_counter()
            for key in itertools.islice(cases, 1):
                progress.set_description(cases[key].title)
            for key, outcomes in _outcomes(cases, seed, n_jobs):
                progress.set_description(cases[key].title, refresh=False)
                found[key] += outcomes
                progress.update(len(outcomes))
        except (KeyboardInterrupt, SystemError) as error:
            if not (cause := _interrupts(error)):
                raise
            if n_jobs != 1:
                _end_workers()
            done = sum(map(len, found.values()))
            whole = sum(len(found[key]) == case.n_runs for key, case in cases.items())
            told = (
                f"{done} of {total} runs were done, {whole} of {len(cases)} cases whole; "
                "nothing is kept"
            )
            if isinstance(cause, _Terminated):
                progress.close()
                sys.stderr.write(f"terminated: {told}\n")
                raise SystemExit(143) from None
            raise KeyboardInterrupt(f"interrupted: {told}") from None
        if not progress.disable:
            progress.write(
                f"{total} runs of {len(cases)} cases: {time.perf_counter() - compiled:.1f} s, and "
                f"{compiled - start:.1f} s to compile",
                file=sys.stderr,
            )
    return found


class _Terminated(KeyboardInterrupt):
    """The process received SIGTERM."""


@contextmanager
def _terminable(has_workers: bool) -> Iterator[None]:
    """Let SIGTERM end a process with workers as Ctrl-C does, unless it already has a handler."""
    here = threading.current_thread() is threading.main_thread()
    if not (has_workers and here and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL):
        yield
        return

    def end(number: int, frame: object) -> None:
        raise _Terminated

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Let processes started here ignore Ctrl-C; this process ends them."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    for tracker in (resource_tracker, loky_tracker):
        tracker.ensure_running()  # if started later, it would undo the next lines
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _interrupts(error: BaseException | None) -> KeyboardInterrupt | None:
    """Return the interrupt behind an error: compiled code may turn it into a `SystemError`."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error


def _warm_up(cases: Mapping[Key, Replicated], progress: tqdm[Any]) -> None:
    """Compile what the cases need, one case of each name after another."""
    waiting = {case.title.partition(",")[0]: key for key, case in reversed(list(cases.items()))}
    for name, key in waiting.items():
        warm_up = cases[key].warm_up
        if warm_up is not None:
            progress.set_description(f"compiling {name}")
            with _label_errors(key):
                warm_up()
    progress.unpause()


def _outcomes(
    cases: Mapping[Key, Replicated], seed: int | Sequence[int] | None, n_jobs: int
) -> Iterator[tuple[Key, Sequence[Any]]]:
    """Yield the outcomes of chunk after chunk, in the order of the cases."""
    shared = worker_count(n_jobs, sum(case.n_runs for case in cases.values())) > 1
    chunks = [
        (key, case.play, case.takes_seed, case.play_many, seeds, os.getpid())
        for key, case in cases.items()
        for seeds in case.chunks(seed, shared=shared)
    ]
    n_jobs = worker_count(n_jobs, len(chunks))
    if n_jobs == 1:
        yield from ((chunk[0], _play_chunk(*chunk)) for chunk in chunks)
        return
    clear_shared_memory()
    with _deaf_children():
        outcomes = Parallel(n_jobs=n_jobs, return_as="generator")(
            delayed(_play_chunk)(*chunk) for chunk in chunks
        )
    yield from zip((key for key, *_ in chunks), outcomes, strict=True)


_SHARED = re.compile(r"(?:joblib_memmapping_folder_|sem\.loky-)(\d+)[_-].*")
"""Names of joblib's files in shared memory, with the id of the process that created them."""


def clear_shared_memory(folder: str = "/dev/shm") -> None:
    """Remove joblib's files in shared memory of processes that no longer exist.

    A process that is killed with all its children cannot remove them itself.
    """
    with suppress(OSError):
        for entry in list(os.scandir(folder)):
            name = _SHARED.fullmatch(entry.name)
            if name is None or entry.stat(follow_symlinks=False).st_uid != os.getuid():
                continue
            try:
                os.kill(int(name[1]), 0)
            except ProcessLookupError:
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    with suppress(OSError):
                        os.unlink(entry.path)
            except OSError:  # another user's process
                continue


def _end_workers() -> None:
    """Kill joblib's own workers at once."""
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=False, kill_workers=True)
