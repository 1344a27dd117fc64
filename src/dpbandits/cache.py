"""Finished work on the disk: a killed run resumes, and a damaged file is noticed."""

from __future__ import annotations

import hashlib
import io
import json
import os
import time
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbandits._files import write_atomically

__all__ = ["Cache", "CacheWarning"]

_MARK = b"\nsha256:"
_LEFTOVER_AGE = 3600.0  # seconds after which the temporary file of a killed run is swept


class CacheWarning(UserWarning):
    """A file of the cache cannot be used; its content is computed again."""


class Cache:
    """A folder of named arrays, each set under the hash of a key.

    A file is an npz archive followed by its SHA-256 sum; ``numpy.load`` reads it as it is. It
    is written in one step, so that an interrupted run leaves whole files only.

    Parameters
    ----------
    folder : path-like
        Where the files lie; made when the first is written.

    Examples
    --------
    >>> import tempfile
    >>> cache = Cache(tempfile.mkdtemp())
    >>> cache.get({"seed": 1}) is None
    True
    >>> _ = cache.put({"seed": 1}, {"x": np.arange(3)})
    >>> cache.get({"seed": 1})["x"].tolist()
    [0, 1, 2]
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._sweep()

    def path(self, key: Mapping[str, Any]) -> Path:
        """Return the file of a key; equal keys have equal JSON text."""
        return self.folder / f"{hashlib.sha256(_text(key).encode()).hexdigest()[:32]}.npz"

    def get(self, key: Mapping[str, Any]) -> dict[str, NDArray[Any]] | None:
        """Return the arrays stored under `key`, or None if there are none.

        A file that is damaged is reported by a `CacheWarning` and counts as absent.
        """
        path = self.path(key)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        payload, mark, digest = content.rpartition(_MARK)
        if not mark or hashlib.sha256(payload).hexdigest().encode() != digest.strip():
            _report(path, "is damaged: its checksum does not fit")
            return None
        try:
            with np.load(io.BytesIO(payload), allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
        except (ValueError, OSError, zipfile.BadZipFile):
            _report(path, "is no archive of arrays")
            return None
        if str(arrays.pop("key", "")) != _text(key):
            _report(path, "belongs to another key")
            return None
        return arrays

    def put(self, key: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Path:
        """Store `arrays` under `key` and return the file.

        Raises
        ------
        OSError
            If the disk is full or the folder cannot be written.
        """
        buffer = io.BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, key=np.array(_text(key)), **arrays)
        payload = buffer.getvalue()
        digest = hashlib.sha256(payload).hexdigest().encode()
        return write_atomically(self.path(key), payload + _MARK + digest + b"\n")

    def _sweep(self) -> None:
        """Remove temporary files that a killed run left behind."""
        for path in self.folder.glob(".*.npz.*"):
            try:
                if time.time() - path.stat().st_mtime > _LEFTOVER_AGE:
                    path.unlink()
            except OSError:
                continue


def _report(path: Path, why: str) -> None:
    warnings.warn(f"cache: {path.name} {why}; computed again", CacheWarning, stacklevel=3)


def _text(key: Mapping[str, Any]) -> str:
    return json.dumps(key, sort_keys=True)
