"""The vector files of the published figures, which are drawn when the pages are built.

They follow from a figure's table and manifest, so that only these two are kept in
``book/figures``: a PDF for papers, and for the pages an SVG as wide as the text and one as wide as
a phone. They are drawn again if the table, the manifest or the drawing code has changed.
"""

from __future__ import annotations

import gc
import hashlib
import json
import multiprocessing
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path

import joblib
import matplotlib
from matplotlib import pyplot as plt

import companion
import dpbandits
from companion.chapter_figures import chapter_figures
from companion.figures.faster import faster
from companion.figures.paper import SCALE, PaperFigure
from companion.figures.screen import NARROW, WIDE, screen_figure
from companion.publishing import FOLDER as PUBLISHED
from companion.publishing import published, published_names
from dpbandits._files import renew
from dpbandits._validation import check_choice
from dpbandits.plotting.style import room_beside

__all__ = ["SCREENS", "renew_vector_files", "screen_file", "vector_file"]

FOLDER = Path("_build", "gallery")
"""Where the files lie that are made of published figures for the pages."""

KEYS = "drawn.json"
"""File beside them that says what each was drawn from."""

SCREENS = {"svg": WIDE, "narrow.svg": NARROW}
"""Ending of a file for the pages → its width in inches."""

PHONE = "narrow.svg"
ENDINGS = ("pdf", *SCREENS)

_FEW = 8  # figures drawn in the time a second process needs to start
_ON_A_PAGE = re.compile(rf"/{FOLDER.as_posix()}/([\w-]+)\.svg")


def renew_vector_files(root: Path) -> tuple[str, ...]:
    """Draw the files of new or changed published figures; return their names.

    The book is in `root`; a figure's files are ``FOLDER/NAME.pdf`` there, and those of `SCREENS`. A
    figure that no page shows, as only the gallery has it, is not drawn for a phone.
    """
    folder = root / FOLDER
    path = folder / KEYS
    before = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    now = {name: _key(root, name) for name in published_names(root)}
    hidden = _hidden(root)
    wanted = {name: [e for e in ENDINGS if e != PHONE or name not in hidden] for name in now}
    due = tuple(
        name
        for name, key in now.items()
        if before.get(name) != key
        or not all((folder / f"{name}.{ending}").is_file() for ending in wanted[name])
    )
    for name, content in _drawn({name: wanted[name] for name in due}, root):
        renew(folder / name, content)
    if due:
        renew(path, f"{json.dumps(now, indent=1)}\n".encode())
    return due


def _hidden(root: Path) -> set[str]:
    """Return the names of the figures that neither their chapter nor another page shows."""
    hidden = {figure.name for figure in chapter_figures(root) if not figure.shown}
    pages = (path.read_text(encoding="utf-8") for path in root.glob("book/*.md"))
    return hidden.difference(*map(_ON_A_PAGE.findall, pages))


def _drawn(endings: Mapping[str, Sequence[str]], root: Path) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents of the files of figures, which are given with their endings.

    Other processes are copies of this one, so that nothing is imported again.
    """
    jobs = min(joblib.cpu_count(), 1 + len(endings) // _FEW)
    if jobs == 1 or "fork" not in multiprocessing.get_all_start_methods():
        for task in endings.items():
            yield from _files(*task, root).items()
        return
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        for files in pool.imap_unordered(partial(_files_of, root=root), endings.items()):
            yield from files.items()


def vector_file(name: str, root: Path | None = None) -> bytes:
    """Return a published figure as PDF: the same table and manifest give the same bytes.

    An error has a note that names the figure.
    """
    return _files(name, ["pdf"], root)[f"{name}.pdf"]


def screen_file(name: str, ending: str, root: Path | None = None) -> bytes:
    """Return a published figure as SVG for a page, with the width for its ending in `SCREENS`."""
    check_choice("ending", ending, tuple(SCREENS))
    return _files(name, [ending], root)[f"{name}.{ending}"]


def _files_of(task: tuple[str, Sequence[str]], root: Path) -> dict[str, bytes]:
    return _files(*task, root)


def _files(name: str, endings: Sequence[str], root: Path | None) -> dict[str, bytes]:
    """Return the content of files of a figure by their names.

    The PDF is drawn first: it needs no trial, and says what labels take beside the curves.
    """
    files, beside = {}, 0.0
    with _drawing(name):
        about = published(name, root)
        for ending in endings:
            if ending in SCREENS:
                content = screen_figure(about.draw, SCREENS[ending], beside)
            else:
                figure = about.draw()
                beside = room_beside(figure)
                content = PaperFigure(figure, SCALE).pdf(name)
                plt.close(figure)
            files[f"{name}.{ending}"] = content
    return files


@contextmanager
def _drawing(name: str) -> Iterator[None]:
    """Draw without a display, and name the figure in errors.

    Garbage is collected once after a figure, and not repeatedly while its many parts are created.
    """
    plt.switch_backend("agg")
    collects = gc.isenabled()
    gc.disable()
    try:
        with faster():
            yield
    except Exception as error:
        error.add_note(f"figure {name} was being drawn from what is published of it")
        raise
    finally:
        if collects:
            gc.collect(0)
            gc.enable()


def _key(root: Path, name: str) -> str:
    """Return a digest of everything that a figure is drawn from."""
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
