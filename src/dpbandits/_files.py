"""Files that are either whole or absent."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_atomically(path: str | os.PathLike[str], content: bytes | str) -> Path:
    """Write `content` to `path` so that no reader, and no crash, ever sees half of it.

    It goes to a temporary file in the same folder, is flushed to the disk, and takes the place of
    `path` in one step. Missing folders are made. An `OSError` names `path`.
    """
    target = Path(path)
    data = content.encode() if isinstance(content, str) else content
    temporary = ""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except OSError as error:
        raise OSError(error.errno, f"cannot write {target}: {error.strerror}") from error
    finally:
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)
    return target


def renew(path: Path, content: bytes) -> None:
    """Write a file, unless it has this content already."""
    if not path.is_file() or path.read_bytes() != content:
        write_atomically(path, content)
