"""The numbered figures of the chapters, read from their notebooks."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from companion import chapters

__all__ = ["ChapterFigure", "chapter_figures", "figures_of"]


class ChapterFigure(NamedTuple):
    """A figure of a chapter: its name, and the chapter's number, title and file without ending.

    The caption is in MyST; the picture, a PNG, is empty if the chapter was not executed. The preset
    and the seed are those that the notebook sets, or an empty text and -1 if it sets none. A figure
    that is not `shown` is in a cell that the page omits: only the gallery shows it.
    """

    name: str
    chapter: int
    heading: str
    page: str
    caption: str
    alt: str
    picture: bytes
    preset: str = ""
    seed: int = -1
    shown: bool = True


_PRESET = re.compile(r"^preset = (['\"])(\w+)\1", re.MULTILINE)
_SEED = re.compile(r"^seed = (\d+)", re.MULTILINE)


def figures_of(notebook: Path) -> Iterator[ChapterFigure]:
    """Yield the numbered figures of a chapter, in order."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    number = re.match(r"\d+", notebook.stem)
    text = "\n".join("".join(cell["source"]) for cell in cells)
    heading = re.search(r"^# (.+)$", text, re.MULTILINE)
    # the last cell counts: a chapter executed with other parameters has a second parameter cell
    presets = [found for _, found in _PRESET.findall(text)]
    seeds = _SEED.findall(text)
    for cell in cells:
        about = cell["metadata"].get("mystnb", {})
        name = about.get("figure", {}).get("name")
        if name:
            data = [output.get("data", {}) for output in cell.get("outputs", ())]
            pictures = ["".join(each.get("image/png", "")) for each in data]
            yield ChapterFigure(
                name=name,
                chapter=int(number[0]) if number else 0,
                heading=heading[1].strip() if heading else notebook.stem,
                page=f"notebooks/{notebook.stem}",
                caption=about["figure"].get("caption", ""),
                alt=about.get("image", {}).get("alt", ""),
                picture=base64.b64decode(next(filter(None, pictures), "")),
                preset=presets[-1] if presets else "",
                seed=int(seeds[-1]) if seeds else -1,
                shown={"remove-cell", "remove-output"}.isdisjoint(cell["metadata"].get("tags", ())),
            )


def chapter_figures(root: Path | None = None) -> list[ChapterFigure]:
    """Return the numbered figures of all chapters; none outside of a copy of the book.

    The book is in `root`, or where `companion.chapters.find_root` finds it.
    """
    try:
        notebooks = chapters.list_chapters(root)
    except ValueError:
        return []
    return [figure for notebook in notebooks for figure in figures_of(notebook)]
