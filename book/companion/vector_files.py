"""The vector files of the published figures, which are drawn when the pages are built.

A figure's PDF follows from its table and its manifest, so that only these two are kept in
``book/figures``. A PDF is drawn anew where one of them, or the code that draws, has changed.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path

import joblib
import matplotlib
from matplotlib import pyplot as plt

import companion
import dpbandits
from companion.figures.paper import SCALE, PaperFigure
from companion.publishing import FOLDER as PUBLISHED
from companion.publishing import published, published_names
from dpbandits._files import renew

__all__ = ["renew_vector_files", "vector_file"]

FOLDER = Path("_build", "gallery")
"""Where the files lie that are made of published figures for the pages."""

KEYS = "drawn.json"
"""File beside the PDFs that says what each was drawn from."""

_FEW = 8  # figures that are drawn before another process has started


def renew_vector_files(root: Path) -> tuple[str, ...]:
    """Draw the PDFs of the published figures that are new or have changed, and return their names.

    The book is in `root`; a figure's file is ``FOLDER/NAME.pdf`` there.
    """
    folder = root / FOLDER
    path = folder / KEYS
    before = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    now = {name: _key(root, name) for name in published_names(root)}
    due = tuple(
        name
        for name, key in now.items()
        if before.get(name) != key or not (folder / f"{name}.pdf").is_file()
    )
    if due:
        n_jobs = min(joblib.cpu_count(), 1 + len(due) // _FEW)
        draw = joblib.delayed(vector_file)
        for name, content in zip(
            due, joblib.Parallel(n_jobs)(draw(name, root) for name in due), strict=True
        ):
            renew(folder / f"{name}.pdf", content)
        renew(path, f"{json.dumps(now, indent=1)}\n".encode())
    return due


def vector_file(name: str, root: Path | None = None) -> bytes:
    """Return a published figure as PDF: one table and one manifest give the same bytes each time.

    An error says in a note which figure it was.
    """
    plt.switch_backend("agg")  # files need no display
    try:
        figure = published(name, root).draw()
    except Exception as error:
        error.add_note(f"figure {name} was being drawn from what is published of it")
        raise
    content = PaperFigure(figure, SCALE).pdf(name)
    plt.close(figure)
    return content


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
