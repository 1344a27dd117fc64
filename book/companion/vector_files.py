"""The vector files of the published figures, which are drawn when the pages are built.

They follow from a figure's table and manifest, so that only these two are kept in
``book/figures``: a PDF for papers, and for the pages an SVG as wide as the text and one as wide as
a phone. They are drawn anew where table, manifest, or the code that draws has changed.
"""

from __future__ import annotations

import gc
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import joblib
import matplotlib
from matplotlib import pyplot as plt

import companion
import dpbandits
from companion.figures.paper import SCALE, PaperFigure
from companion.figures.screen import NARROW, WIDE, screen_figure
from companion.publishing import FOLDER as PUBLISHED
from companion.publishing import published, published_names
from dpbandits._files import renew
from dpbandits._validation import check_choice

__all__ = ["SCREENS", "renew_vector_files", "screen_file", "vector_file"]

FOLDER = Path("_build", "gallery")
"""Where the files lie that are made of published figures for the pages."""

KEYS = "drawn.json"
"""File beside them that says what each was drawn from."""

SCREENS = {"svg": WIDE, "narrow.svg": NARROW}
"""Ending of a file for the pages → its width in inches."""

_FEW = 8  # figures that are drawn before another process has started


def renew_vector_files(root: Path) -> tuple[str, ...]:
    """Draw the files of the published figures that are new or have changed; return their names.

    The book is in `root`; a figure's files are ``FOLDER/NAME.pdf`` there, and those of `SCREENS`.
    """
    folder = root / FOLDER
    path = folder / KEYS
    before = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    now = {name: _key(root, name) for name in published_names(root)}
    due = tuple(
        name
        for name, key in now.items()
        if before.get(name) != key
        or not all((folder / f"{name}.{ending}").is_file() for ending in ("pdf", *SCREENS))
    )
    if due:
        n_jobs = min(joblib.cpu_count(), 1 + len(due) // _FEW)
        draw = joblib.delayed(_files)
        for files in joblib.Parallel(n_jobs)(draw(name, root) for name in due):
            for name, content in files.items():
                renew(folder / name, content)
        renew(path, f"{json.dumps(now, indent=1)}\n".encode())
    return due


def vector_file(name: str, root: Path | None = None) -> bytes:
    """Return a published figure as PDF: one table and one manifest give the same bytes each time.

    An error says in a note which figure it was.
    """
    with _drawing(name):
        figure = published(name, root).draw()
        content = PaperFigure(figure, SCALE).pdf(name)
        plt.close(figure)
    return content


def screen_file(name: str, ending: str, root: Path | None = None) -> bytes:
    """Return a published figure as SVG for a page, as wide as `SCREENS` says of its ending."""
    check_choice("ending", ending, tuple(SCREENS))
    with _drawing(name):
        return screen_figure(published(name, root).draw, SCREENS[ending])


def _files(name: str, root: Path) -> dict[str, bytes]:
    """Return the content of all files of a figure by their names."""
    files = {f"{name}.{ending}": screen_file(name, ending, root) for ending in SCREENS}
    return {f"{name}.pdf": vector_file(name, root), **files}


@contextmanager
def _drawing(name: str) -> Iterator[None]:
    """Draw without a display, and say in errors which figure it was.

    Python looks for garbage once after a figure, rather than all the while among its many parts.
    """
    plt.switch_backend("agg")
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    except Exception as error:
        error.add_note(f"figure {name} was being drawn from what is published of it")
        raise
    finally:
        if collects:
            gc.collect(0)
            gc.enable()


def _key(root: Path, name: str) -> str:
    """Return a digest of all that a figure is drawn from."""
    digest = hashlib.sha256(_code())
    for ending in ("csv", "json"):
        digest.update((root / PUBLISHED / f"{name}.{ending}").read_bytes())
    return digest.hexdigest()


@cache
def _code() -> bytes:
    """Return a digest of the code that draws figures."""
    package, book = (Path(module.__file__ or "").parent for module in (dpbandits, companion))
    files = [*package.joinpath("plotting").rglob("*.py"), *book.joinpath("figures").rglob("*.py")]
    files.append(book / "tables.py")
    digest = hashlib.sha256(matplotlib.__version__.encode())
    for path in sorted(files):
        digest.update(path.read_bytes())
    return digest.digest()
