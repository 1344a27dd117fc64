"""Figures on the pages: a phone gets a figure that is drawn for it, and each has its place at once.

An image of a page that is an SVG and has a ``NAME.narrow.svg`` beside it, as the published figures
have, becomes a ``picture``: its narrow drawing is taken where the window is narrow. All images but
the first of a page are loaded when the reader comes near them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from companion.vector_files import FOLDER
from dpbandits._files import renew

NARROW = ".narrow.svg"
PHONE = "(max-width: 600px)"
IMAGE = re.compile(r"<img\b[^>]*>")
SOURCE = re.compile(r' src="([^"]*/)?_images/([^"/]+)\.svg"')
SIZE = re.compile(r'<svg\b[^>]*?\bwidth="([\d.]+)pt" height="([\d.]+)pt"')
PIXELS = 96 / 72  # a point


def size_of(svg: Path) -> str:
    """Return width and height of a drawing as attributes, in pixels."""
    with svg.open(encoding="utf-8") as lines:
        found = SIZE.search(lines.read(2000))
    if found is None:
        raise ValueError(f"svg={str(svg)!r} has no size in points; allowed: drawings of matplotlib")
    width, height = (round(PIXELS * float(length)) for length in found.groups())
    return f'width="{width}" height="{height}"'


def as_picture(image: str, folder: Path) -> str:
    """Write an image as a picture, if `folder` has a narrow drawing of it."""
    source = SOURCE.search(image)
    if source is None or not (folder / f"{source[2]}{NARROW}").is_file():
        return image
    narrow = folder / f"{source[2]}{NARROW}"
    there = f"{source[1] or ''}_images/{narrow.name}"
    image = image.replace("<img", f"<img {size_of(folder / f'{source[2]}.svg')}", 1)
    return (
        f'<picture><source media="{PHONE}" srcset="{there}" {size_of(narrow)} />{image}</picture>'
    )


def with_pictures(body: str, folder: Path) -> str:
    """Write the drawings of a page as pictures; those after the first wait for the reader."""
    first = True

    def write(match: re.Match[str]) -> str:
        nonlocal first
        image = match[0]
        if not first and " loading=" not in image:
            image = image.replace("<img", '<img loading="lazy"', 1)
        first = False
        return as_picture(image, folder)

    return IMAGE.sub(write, body)


def mend(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Go through a page's body."""
    if body := context.get("body"):
        context["body"] = with_pictures(body, Path(app.srcdir) / FOLDER)


def copy(app: Any, error: Exception | None) -> None:
    """Put the narrow drawings beside the wide ones that the pages show."""
    if error is not None or app.builder.format != "html":
        return
    images = Path(app.outdir) / "_images"
    for narrow in sorted((Path(app.srcdir) / FOLDER).glob(f"*{NARROW}")):
        if (images / narrow.name.replace(NARROW, ".svg")).is_file():
            renew(images / narrow.name, narrow.read_bytes())


def setup(app: Any) -> dict[str, bool]:
    """Connect both."""
    app.connect("html-page-context", mend)
    app.connect("build-finished", copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
