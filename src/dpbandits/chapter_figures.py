"""The numbered figures of the chapters, as their notebooks have them."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpbandits import chapters

__all__ = ["DOWNLOAD", "ChapterFigure", "chapter_figures", "files_in", "figures_of"]

DOWNLOAD = re.compile(
    r'<a class="download" download="(?P<name>[^"]+)\.(?P<ending>\w+)" '
    r'href="data:[\w/+.-]+;base64,(?P<content>[\w+/=]+)">'
)
"""A link of `dpbandits.plotting.Downloads`, which carries its file."""


@dataclass(frozen=True)
class ChapterFigure:
    """A figure of a chapter.

    Attributes
    ----------
    name : str
        By which the book refers to it.
    chapter : int
        Number of the chapter.
    heading : str
        Title of the chapter.
    page : str
        The chapter's file without its ending, from the root of the book.
    caption, alt : str
        Caption, in MyST, and description.
    picture : bytes
        The picture as it stands on the page, a PNG; empty if the chapter was not executed.
    files : mapping of str to bytes
        Ending → file of the name ``NAME.ending`` that the chapter offers for downloading.
    changed : bool
        Whether the chapter was executed with other parameters than its own, so that the data in
        the repository is not that of the figure.
    """

    name: str
    chapter: int
    heading: str
    page: str
    caption: str
    alt: str
    picture: bytes = field(repr=False)
    files: Mapping[str, bytes] = field(repr=False)
    changed: bool = False


def files_in(page: str) -> dict[str, dict[str, bytes]]:
    """Return what an output in HTML carries: name → ending → file.

    Examples
    --------
    >>> link = '<a class="download" download="a.csv" href="data:text/csv;base64,eA==">data</a>'
    >>> files_in(link)
    {'a': {'csv': b'x'}}
    """
    found: dict[str, dict[str, bytes]] = {}
    for match in DOWNLOAD.finditer(page):
        content = base64.b64decode(match["content"])
        found.setdefault(html.unescape(match["name"]), {})[match["ending"]] = content
    return found


def figures_of(notebook: Path) -> Iterator[ChapterFigure]:
    """Yield the numbered figures of a chapter, in its order."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    number = re.match(r"\d+", notebook.stem)
    heading = re.search(
        r"^# (.+)$", "\n".join("".join(cell["source"]) for cell in cells), re.MULTILINE
    )
    changed = any("injected-parameters" in cell["metadata"].get("tags", ()) for cell in cells)
    files: dict[str, dict[str, bytes]] = {}
    for cell in cells:
        for output in cell.get("outputs", ()):
            for name, carried in files_in(_text(output, "text/html")).items():
                files.setdefault(name, {}).update(carried)
    for cell in cells:
        about = cell["metadata"].get("mystnb", {})
        name = about.get("figure", {}).get("name")
        if name:
            pictures = [_text(output, "image/png") for output in cell.get("outputs", ())]
            yield ChapterFigure(
                name=name,
                chapter=int(number[0]) if number else 0,
                heading=heading[1].strip() if heading else notebook.stem,
                page=f"notebooks/{notebook.stem}",
                caption=about["figure"].get("caption", ""),
                alt=about.get("image", {}).get("alt", ""),
                picture=base64.b64decode(next(filter(None, pictures), "")),
                files=files.get(name, {}),
                changed=changed,
            )


def chapter_figures(root: Path | None = None) -> list[ChapterFigure]:
    """Return the numbered figures of all chapters; none outside of a copy of the book.

    Parameters
    ----------
    root : Path, optional
        Folder of the book; that of the working directory or of the package if not given.
    """
    try:
        notebooks = chapters.list_chapters(root)
    except ValueError:
        return []
    return [figure for notebook in notebooks for figure in figures_of(notebook)]


def _text(output: Mapping[str, Any], kind: str) -> str:
    return "".join(output.get("data", {}).get(kind, ""))
