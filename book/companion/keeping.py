"""Reuse of results that the same code has computed on this machine.

The package's store keeps runs. A chapter whose code and outputs are unchanged since its last
execution keeps its outputs, so that an author who changes a sentence waits for no experiment. Both
are in ``_build/runs``. A clean clone has neither, and computes everything.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import companion
import dpbandits
from dpbandits._engine import store
from dpbandits._files import renew

__all__ = ["FRESH", "Execution", "is_fresh", "keep_runs", "runs_folder", "usual_seconds"]

FRESH = "COMPANION_FRESH"
"""Environment variable that has everything computed, if it is set and not empty."""


def is_fresh() -> bool:
    """Return whether everything is to be computed, ignoring kept results."""
    return bool(os.environ.get(FRESH))


def runs_folder(root: Path) -> Path:
    """Return the folder of kept results; a staged copy of the book shares the book's folder."""
    return (root.parent if root.parent.name == "_build" else root / "_build") / "runs"


def keep_runs(root: Path) -> None:
    """Make the package read and keep runs in the book's folder, unless `FRESH` is set."""
    store.keep_runs(None if is_fresh() else runs_folder(root))


class Execution:
    """The last execution of a chapter with its own parameters, as recorded on this machine."""

    def __init__(self, chapter: Path) -> None:
        self.chapter = chapter
        self.root = chapter.parent.parent
        self._file = runs_folder(self.root) / "chapters" / f"{chapter.stem}.json"

    def is_of(self, notebook: Mapping[str, Any]) -> bool:
        """Return whether it ran this code and produced the present outputs."""
        return self._read().get("key") == self._key(notebook)

    def remember(self, notebook: Mapping[str, Any], seconds: float) -> None:
        """Record a finished execution, and the seconds it took."""
        record = {"key": self._key(notebook), "seconds": round(seconds, 1)}
        self._file.parent.mkdir(parents=True, exist_ok=True)
        renew(self._file, json.dumps(record).encode())

    @property
    def seconds(self) -> float | None:
        """Seconds that it took; None if there is no record."""
        return self._read().get("seconds")

    def _read(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads(self._file.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return found

    def _key(self, notebook: Mapping[str, Any]) -> str:
        """Return a digest of a chapter's inputs and of everything that it has produced."""
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        computed = [
            [cell["source"], cell["metadata"].get("tags", []), cell["outputs"]] for cell in cells
        ]
        digest = hashlib.sha256(json.dumps(computed, sort_keys=True).encode())
        digest.update(store.platform_name().encode())
        for path in (*_code(), self.root / "requirements.lock", *self._published()):
            if path.is_file():
                digest.update(path.name.encode() + b"\0" + path.read_bytes())
        return digest.hexdigest()

    def _published(self) -> list[Path]:
        """Return the files that the chapter has published."""
        number = self.chapter.stem.partition("_")[0]
        manifests = [
            path
            for path in sorted((self.root / "book" / "figures").glob("*.json"))
            if json.loads(path.read_text("utf-8")).get("chapter") == number
        ]
        tables = [path.with_suffix(".csv") for path in manifests]
        return [*manifests, *tables, self.root / "book" / "data" / f"claims-{number}.json"]


def usual_seconds(chapter: Path) -> float | None:
    """Return the seconds of a chapter's last execution, here or where the book was computed."""
    if (here := Execution(chapter).seconds) is not None:
        return here
    try:
        text = (chapter.parent.parent / "book/data/benchmarks-edition.json").read_text("utf-8")
        each = json.loads(text)["work"]["taken"]["chapters"]["each"]
        seconds: float = each[chapter.stem[:2]]["passed"]
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return seconds


def _code() -> list[Path]:
    """Return the source files of package and companion."""
    folders = (Path(module.__file__ or "").parent for module in (dpbandits, companion))
    return [path for folder in folders for path in sorted(folder.rglob("*.py"))]
