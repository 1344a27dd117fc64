"""Atomic file writes that keep links, mode and owner."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

if sys.platform != "win32":
    import fcntl

Named = str | os.PathLike[str]


def write_atomically(path: Named, content: bytes | str, *, new: bool = False) -> Path:
    """Write `content` to `path` atomically: no reader, and no crash, ever sees half of it.

    It is written to a temporary file in the same folder, flushed to disk, and renamed to the file
    in one step. Links are followed; an existing file keeps its mode and owner, a new one gets the
    system's defaults (umask). A pipe, a device or a file with several names (hard links) cannot be
    replaced and is written to directly. A write-protected file is refused, also for root. Missing
    folders are made. If `new`, the file must not exist. An `OSError` names `path`.
    """
    data = content.encode() if isinstance(content, str) else content
    with _named(path):
        target, found = _target(path)
        if new and found is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        if _is_replaced(found):
            _replace(target, found, data, new)
        else:
            _write_into(target, found, data)
    return Path(path)


def check_writable(path: Named) -> None:
    """Raise the `OSError` that `write_atomically` would raise, and write nothing."""
    with _named(path):
        target, found = _target(path)
        if _is_replaced(found) and not os.access(target.parent, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def renew(path: Path, content: bytes) -> None:
    """Write a file, unless it has this content already."""
    if not path.is_file() or path.read_bytes() != content:
        write_atomically(path, content)


@contextlib.contextmanager
def locked(path: Named) -> Iterator[Path]:
    """Lock a file against all other processes, by whatever link they open it; yield its own name.

    The lock belongs to the file's device and inode, and is released when its process ends. It
    raises a `BlockingIOError`, or a `FileExistsError` where there are no such locks, if the file is
    locked already, and another `OSError` if there is no such file.
    """
    while True:
        target = Path(os.path.realpath(path))
        descriptor = os.open(target, os.O_RDWR | getattr(os, "O_NONBLOCK", 0))
        with contextlib.ExitStack() as held:
            held.callback(os.close, descriptor)
            if sys.platform == "win32":
                lock = target.with_name(f"{target.name}.lock")
                _claim(lock)
                held.callback(os.unlink, lock)
            else:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(descriptor), os.stat(target)):
                yield target
                return
            # it was replaced after it was opened


@contextlib.contextmanager
def _named(path: Named) -> Iterator[None]:
    """Put the name of the file into errors."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, f"cannot write {path}: {error.strerror}") from error


def _target(path: Named) -> tuple[Path, os.stat_result | None]:
    """Return the target of a name and its status; raise if it must not be written."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        target = Path(os.path.realpath(path))
        if target.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
        target.parent.mkdir(parents=True, exist_ok=True)
        return target, None
    kind = found.st_mode
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not (stat.S_ISREG(kind) or stat.S_ISCHR(kind) or stat.S_ISFIFO(kind) or _is_output(found)):
        raise OSError(errno.EINVAL, "it is no file, pipe or character device")
    # root may write any file: one that is write-protected is left alone all the same
    read_only = stat.S_ISREG(kind) and not kind & 0o222
    if not _is_output(found) and (read_only or not os.access(path, os.W_OK)):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    # the file behind /dev/stdout has no name, and needs none
    return Path(os.path.realpath(path)) if stat.S_ISREG(kind) else Path(path), found


def _is_replaced(found: os.stat_result | None) -> bool:
    """Return whether a new file is renamed to the target: if there is none, or it has one name."""
    if found is None:
        return True
    return stat.S_ISREG(found.st_mode) and found.st_nlink == 1 and not _is_output(found)


def _is_output(found: os.stat_result | None) -> bool:
    """Return whether a file is this process's stdout or stderr."""
    return found is not None and _output_to(found) is not None


def _output_to(found: os.stat_result) -> int | None:
    """Return the descriptor, stdout or stderr, that leads to a file."""
    for descriptor in (1, 2):
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(descriptor), found):
                return descriptor
    return None


def _write_into(target: Path, found: os.stat_result | None, data: bytes) -> None:
    """Write to a file that cannot be replaced, after anything printed there."""
    descriptor = None if found is None else _output_to(found)
    if descriptor is None:
        with open(target, "wb") as stream:
            stream.write(data)
        return
    (sys.stdout if descriptor == 1 else sys.stderr).flush()
    with open(descriptor, "wb", closefd=False) as stream:
        stream.write(data)


def _claim(target: Path) -> None:
    """Create a file, which must not exist."""
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def _replace(target: Path, found: os.stat_result | None, data: bytes, new: bool) -> None:
    """Write to a temporary file, and give it the target's name, mode and owner."""
    private = 0o666 if found is None else 0o600
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    for number in itertools.count():
        temporary = target.with_name(f".{target.name[:40]}.{os.getpid()}.{number}")
        with contextlib.suppress(FileExistsError):
            descriptor = os.open(temporary, flags, private)
            break
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            if found is not None and hasattr(os, "fchown"):
                made = os.fstat(stream.fileno())
                if (made.st_uid, made.st_gid) != (found.st_uid, found.st_gid):
                    os.fchown(stream.fileno(), found.st_uid, found.st_gid)
                os.fchmod(stream.fileno(), stat.S_IMODE(found.st_mode))
            os.fsync(stream.fileno())
        if new:
            _claim(target)
        os.replace(temporary, target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
