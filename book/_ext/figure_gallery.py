"""The gallery of figures, and the line below each figure of a chapter.

``figure-gallery`` lists every figure of the chapters, with a thumbnail, where it stands, what makes
it, and its files; a form filters them. A figure whose cell the page leaves out is in the gallery
alone. The line below a figure has the same in short.
Table and manifest are those that the chapter published in ``book/figures``; the PDF is drawn from
them; the picture is the chapter's.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from page_filter import load_script, make_form
from PIL import Image
from sphinx import addnodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from companion.chapter_figures import ChapterFigure, chapter_figures
from companion.citing import entry_of_figure, papers
from companion.publishing import published, published_names
from companion.vector_files import FOLDER, renew_vector_files
from dpbandits._files import renew

logger = logging.getLogger(__name__)

PAGE = "book/gallery"
THUMBNAIL = 340  # pixels, as wide as a card
COLOURS = 64
LARGEST = 300_000
"""Bytes of an SVG that is shown on a page; of a larger one the picture of pixels is shown."""

LINKS = {
    "pdf": "PDF",
    "svg": "SVG",
    "png": "PNG",
    "csv": "CSV",
    "json": "manifest",
    "bib": "BibTeX",
}
SHORT = ("pdf", "png", "csv", "json", "bib")
"""Files that the line below a figure has; the gallery has all."""


@dataclass(frozen=True)
class Entry:
    """A figure of the book with everything that is said of it.

    Attributes
    ----------
    figure : ChapterFigure
        The figure as its chapter has it.
    title, source : str
        What it shows, in MyST, and the figure of the paper; empty where there is none.
    paper : str
        Key of the paper, or "ours".
    command : str
        What makes its data.
    same_run : bool
        Whether what is published has the preset and the seed of the chapter's outputs.
    files : dict
        Ending → file, from the root of the book.
    """

    figure: ChapterFigure
    title: str
    source: str
    paper: str
    command: str
    same_run: bool
    files: dict[str, str]

    @property
    def name(self) -> str:
        """Name of the figure."""
        return self.figure.name

    @property
    def anchor(self) -> str:
        """Where the gallery has it."""
        return f"entry-{nodes.make_id(self.name)}"


# ----------------------------------------------------------------------------------------- files


def paper_of(source: str) -> str:
    """Return the key of the paper whose figure it is, or "ours"."""
    key = source.partition(",")[0].lower()
    return key if key in papers() else "ours"


def thumbnail(picture: bytes) -> bytes:
    """Make a small picture of few colours, which is enough to recognise a figure."""
    with Image.open(io.BytesIO(picture)) as image:
        flat = Image.new("RGB", image.size, "white")
        flat.paste(image, mask=image.getchannel("A") if "A" in image.getbands() else None)
    flat.thumbnail((THUMBNAIL, 2 * THUMBNAIL), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    few = flat.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(buffer, "png", optimize=True)
    return buffer.getvalue()


def make_entry(figure: ChapterFigure, root: Path) -> Entry:
    """Gather what is said of a figure, and write its picture and its citation."""
    name, folder = figure.name, root / FOLDER
    about = published(name, root)
    own = {"bib": f"{entry_of_figure(about)}\n".encode()}
    if figure.picture:
        kept, small = folder / f"{name}.png", folder / f"{name}.thumb.png"
        if not (kept.is_file() and small.is_file() and kept.read_bytes() == figure.picture):
            renew(small, thumbnail(figure.picture))
        own["png"] = figure.picture
    for ending, content in own.items():
        renew(folder / f"{name}.{ending}", content)
    files = {ending: f"book/figures/{name}.{ending}" for ending in ("csv", "json")}
    drawn = ("pdf", "svg", *own)
    files |= {ending: f"{FOLDER.as_posix()}/{name}.{ending}" for ending in drawn}
    title, source = about.manifest["title"].replace("|", r"\|"), about.manifest["source"]
    command = f"companion execute {figure.chapter}"
    ordered = {ending: files[ending] for ending in LINKS if ending in files}
    run = (about.manifest["preset"], about.manifest["seed"])
    same_run = run == (figure.preset, figure.seed)
    return Entry(figure, title, source, paper_of(source), command, same_run, ordered)


def prepare(app: Any) -> None:
    """Draw the vector files, and gather the entries of the figures that are published."""
    root = Path(app.srcdir)
    drawn = renew_vector_files(root)
    logger.info("vector files of figures: %d drawn", len(drawn))
    there = published_names(root)
    figures = [figure for figure in chapter_figures(root) if figure.name in there]
    app.figure_entries = {figure.name: make_entry(figure, root) for figure in figures}


# ------------------------------------------------------------------------------------------ page


def short_heading(heading: str) -> str:
    """Return a chapter's title up to its colon."""
    return heading.partition(":")[0]


def controls(entries: list[Entry]) -> nodes.raw:
    """Write the filter."""
    numbers = {
        str(e.figure.chapter): f"{e.figure.chapter}. {short_heading(e.figure.heading)}"
        for e in entries
    }
    keys = {key: key.upper() for key in papers() if any(e.paper == key for e in entries)}
    fields = {
        "chapter": ("Chapter", numbers),
        "paper": ("Figure of", keys | {"ours": "none, ours"}),
    }
    return make_form("figures", ".figure-entry", fields)


def card(entry: Entry, uri: str) -> Iterator[str]:
    """Write one figure, in MyST; `uri` leads to its chapter."""
    yield "::::{container} figure-entry " + (f"chapter-{entry.figure.chapter} paper-{entry.paper}")
    yield f":name: {entry.anchor}"
    yield ""
    if entry.figure.picture:
        yield f":::{{image}} /{FOLDER.as_posix()}/{entry.name}.thumb.png"
        yield f":alt: The figure {entry.name} in its chapter"
        anchor = f"#{nodes.make_id(entry.name)}" if entry.figure.shown else ""
        yield f":target: {uri}{anchor}"
        yield ":loading: lazy"
        yield ":::"
        yield ""
    source = f" ({entry.source})" if entry.source else ""
    number = f"{{numref}}`{entry.name}`, " if entry.figure.shown else ""
    yield f"{number}`{entry.name}`: {entry.title}{source}"
    yield ""
    yield f"`{entry.command}`"
    yield ""
    yield " ".join(f"{{download}}`{LINKS[e]} </{path}>`" for e, path in entry.files.items())
    yield "::::"
    yield ""


class FigureGallery(SphinxDirective):
    """Write a card for each figure, grouped by chapter."""

    def run(self) -> list[nodes.Node]:
        """Write a section for each chapter."""
        entries = list(self.env.app.figure_entries.values())
        here, builder = self.env.docname, self.env.app.builder
        lines: list[str] = []
        for page in dict.fromkeys(entry.figure.page for entry in entries):
            group = [entry for entry in entries if entry.figure.page == page]
            uri = builder.get_relative_uri(here, page)
            first = group[0].figure
            lines += ["", f"## Chapter {first.chapter}: {first.heading}", ""]
            for entry in group:
                lines += card(entry, uri)
            self.env.note_dependency(f"{page}.ipynb")
        return self.parse_text_to_nodes(
            StringList(lines, source="figure-gallery"), allow_section_headings=True
        )


# -------------------------------------------------------------------------------------- chapters


def download(docname: str, path: str, text: str) -> nodes.Element:
    """Link a file for downloading, as the role ``download`` does."""
    link = addnodes.download_reference(
        "", "", reftarget=f"/{path}", reftype="download", refdomain="", refdoc=docname
    )
    link["refexplicit"], link["refwarn"] = True, False
    link += nodes.inline("", text, classes=["xref", "download"])
    return link


def footer(entry: Entry, docname: str, gallery: str) -> nodes.paragraph:
    """Write the line below a figure."""
    line = nodes.paragraph(classes=["figure-footer"])
    parts: list[nodes.Node] = [
        nodes.literal("", entry.name),
        nodes.literal("", entry.command),
        *(download(docname, entry.files[e], LINKS[e]) for e in SHORT if e in entry.files),
        nodes.reference("", "all files", refuri=f"{gallery}#{entry.anchor}", internal=True),
    ]
    for number, part in enumerate(parts):
        if number:
            line += nodes.Text(" · ")
        line += part
    return line


def finish_page(app: Any, document: nodes.document) -> None:
    """Put the filter before the cards of the gallery, and a line below each figure of a chapter."""
    docname = app.env.docname
    entries = [e for e in app.figure_entries.values() if e.figure.page == docname]
    if docname == PAGE:
        (page,) = (node for node in document.children if isinstance(node, nodes.section))
        first = next(node for node in page.children if isinstance(node, nodes.section))
        page.insert(page.index(first), controls(list(app.figure_entries.values())))
    if entries:
        show_drawn(document, entries, Path(app.srcdir))
        add_footers(document, entries, docname, app.builder.get_relative_uri(docname, PAGE))


def show_drawn(document: nodes.document, entries: list[Entry], root: Path) -> None:
    """Show the SVG of each figure in place of the picture of its cell.

    The cell's picture stays where the SVG would be of another run, or is large.
    """
    by_id = {nodes.make_id(entry.name): entry for entry in entries}
    for figure in document.findall(nodes.figure):
        for name in by_id.keys() & set(figure["ids"]):
            entry = by_id[name]
            drawn = FOLDER / f"{entry.name}.svg"
            if entry.same_run and (root / drawn).stat().st_size <= LARGEST:
                for image in figure.findall(nodes.image):
                    image["uri"] = f"/{drawn.as_posix()}"


def add_footers(document: nodes.document, entries: list[Entry], docname: str, gallery: str) -> None:
    """Put a line below each figure."""
    by_id = {nodes.make_id(entry.name): entry for entry in entries}
    for figure in list(document.findall(nodes.figure)):
        for name in by_id.keys() & set(figure["ids"]):
            line = footer(by_id[name], docname, gallery)
            figure.parent.insert(figure.parent.index(figure) + 1, line)


def setup(app: Any) -> dict[str, bool]:
    """Add the directive and what stands below figures."""
    app.add_directive("figure-gallery", FigureGallery)
    app.connect("builder-inited", prepare)
    # before Sphinx collects the files that are to be downloaded
    app.connect("doctree-read", finish_page, priority=400)
    load_script(app, PAGE)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
