"""The gallery of figures, and the line below each figure of a chapter.

``figure-gallery`` lists every numbered figure of the chapters, with a thumbnail, where it stands,
what makes it, how long that took, and its files; a form filters them. The line below a
figure has the same in short. Vector files are drawn from the data in ``book/data`` when the build
begins, and kept in ``_build/gallery`` for as long as data and package stay as they are. What
`dpbandits.plotting.Downloads` put on a page moves into files of its own.
"""

import hashlib
import io
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import matplotlib
from docutils import nodes
from docutils.statemachine import StringList
from page_filter import load_script, make_form
from PIL import Image
from sphinx import addnodes
from sphinx.util import logging
from sphinx.util.display import status_iterator
from sphinx.util.docutils import SphinxDirective

import dpbandits
from dpbandits._files import write_atomically
from dpbandits.chapter_figures import DOWNLOAD, ChapterFigure, chapter_figures
from dpbandits.citing import entry_of_figure, papers
from dpbandits.experiments import EXPERIMENTS
from dpbandits.plotting import figure_names, view_of
from dpbandits.plotting.files import figure_pdf

PAGE = "book/gallery"
FOLDER = Path("_build", "gallery")
THUMBNAIL = 340  # pixels, as wide as a card
COLOURS = 64

LINKS = {
    "pdf": "PDF",
    "svg": "SVG",
    "png": "PNG",
    "csv": "CSV",
    "runs.csv": "runs",
    "json": "manifest",
    "bib": "BibTeX",
}
SHORT = ("pdf", "png", "csv", "bib")
"""Files that the line below a figure has; the gallery has all."""

logger = logging.getLogger(__name__)


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
    seconds : float or None
        How long that took; None for a figure that the chapter computes.
    files : dict
        Ending → file, from the root of the book.
    """

    figure: ChapterFigure
    title: str
    source: str
    paper: str
    command: str
    seconds: float | None
    files: dict[str, str]

    @property
    def name(self) -> str:
        """Name of the figure."""
        return self.figure.name

    @property
    def anchor(self) -> str:
        """Where the gallery has it."""
        return f"entry-{nodes.make_id(self.name)}"

    @property
    def took(self) -> str:
        """How long its data took."""
        if self.seconds is None:
            return "with the chapter"
        return f"{self.seconds:.1f} s" if self.seconds < 99.95 else f"{self.seconds:.0f} s"


# ----------------------------------------------------------------------------------------- files


def paper_of(source: str) -> str:
    """Return the key of the paper whose figure it is, or "ours"."""
    key = source.partition(",")[0].lower()
    return key if key in papers() else "ours"


def first_sentence(caption: str) -> str:
    """Return how a caption begins."""
    return re.split(r"(?<=[.;:]) ", caption, maxsplit=1)[0].rstrip(".;:")


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


def renew(path: Path, content: bytes) -> None:
    """Write a file, unless it is as it should be."""
    if not path.is_file() or path.read_bytes() != content:
        write_atomically(path, content)


def state_of(name: str, data: Path) -> str:
    """Hash what a figure is drawn from: its data, the package, matplotlib."""
    view = view_of(name)
    package = Path(dpbandits.__file__).parent
    digest = hashlib.sha256(f"{view}, {matplotlib.__version__}".encode())
    paths = [*sorted(package.rglob("*.py")), data / f"{view.experiment}.csv"]
    for path in (*paths, data / f"{view.experiment}.runs.csv"):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def draw_all(names: list[str], data: Path, folder: Path) -> None:
    """Draw the figures whose files are not there or are of another state, side by side."""
    if os.environ.get("BOOK_VECTOR_FILES") == "none":
        return
    stored = folder / "drawn.json"
    try:
        drawn = json.loads(stored.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        drawn = {}
    states = {name: state_of(name, data) for name in names}
    todo = [
        name
        for name in names
        if drawn.get(name) != states[name] or not (folder / f"{name}.pdf").is_file()
    ]
    if not todo:
        return
    work = joblib.Parallel(n_jobs=-1, return_as="generator")(
        joblib.delayed(figure_pdf)(name, data) for name in todo
    )
    shown = status_iterator(todo, "drawing figures... ", length=len(todo), stringify_func=str)
    for name, content in zip(shown, work, strict=True):
        write_atomically(folder / f"{name}.pdf", content)
        drawn[name] = states[name]
    write_atomically(stored, json.dumps(drawn, indent=1) + "\n")


def from_data(figure: ChapterFigure) -> bool:
    """Tell whether a figure is drawn from the data in the repository."""
    return figure.name in figure_names() and not figure.changed


def make_entry(figure: ChapterFigure, root: Path) -> Entry:
    """Gather what is said of a figure, and write its smaller files."""
    name, folder = figure.name, root / FOLDER
    data = root / "book" / "data"
    if figure.picture:
        renew(folder / f"{name}.thumb.png", thumbnail(figure.picture))
    own = dict(figure.files)
    if figure.picture:
        own["png"] = figure.picture
    found: dict[str, str] = {}
    if name in figure_names():
        view = view_of(name)
        experiment = EXPERIMENTS[view.experiment]
        title = (view.title or experiment.title).replace("|", r"\|")
        source, paper = experiment.source, paper_of(experiment.source)
        entry = entry_of_figure(name)
    else:
        title, source, paper = first_sentence(figure.caption), "", "ours"
        entry = entry_of_figure(name, chapter=figure.chapter)
    if from_data(figure):
        command = f"dpbandits reproduce {experiment.id}"
        manifest = json.loads((data / f"{experiment.id}.json").read_text(encoding="utf-8"))
        seconds = float(manifest["seconds"])
        found = {"pdf": f"{FOLDER.as_posix()}/{name}.pdf"}
        for ending in ("csv", "runs.csv", "json"):
            found[ending] = f"book/data/{experiment.id}.{ending}"
        if view.options == {} and not view.function[0] and name in EXPERIMENTS:
            found["svg"] = f"book/figures/{name}.svg"
    else:
        command, seconds = f"dpbandits execute {figure.chapter}", None
    own["bib"] = f"{entry}\n".encode()
    for ending, content in own.items():
        renew(folder / f"{name}.{ending}", content)
        found[ending] = f"{FOLDER.as_posix()}/{name}.{ending}"
    files = {ending: found[ending] for ending in LINKS if (root / found.get(ending, "-")).is_file()}
    return Entry(figure, title, source, paper, command, seconds, files)


def prepare(app: Any) -> None:
    """Draw what is to be drawn, and gather the entries."""
    root = Path(app.srcdir)
    figures = chapter_figures(root)
    names = [figure.name for figure in figures if from_data(figure)]
    draw_all(names, root / "book" / "data", root / FOLDER)
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
        yield f":target: {uri}#{nodes.make_id(entry.name)}"
        yield ":loading: lazy"
        yield ":::"
        yield ""
    source = f" ({entry.source})" if entry.source else ""
    yield f"{{numref}}`{entry.name}`, `{entry.name}`: {entry.title}{source}"
    yield ""
    yield f"`{entry.command}`, {entry.took}"
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
        nodes.inline("", "", nodes.literal("", entry.command), nodes.Text(f", {entry.took}")),
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
        add_footers(document, entries, docname, app.builder.get_relative_uri(docname, PAGE))


def add_footers(document: nodes.document, entries: list[Entry], docname: str, gallery: str) -> None:
    """Put a line below each figure, and take links out that carry files themselves."""
    by_id = {nodes.make_id(entry.name): entry for entry in entries}
    for figure in list(document.findall(nodes.figure)):
        for name in by_id.keys() & set(figure["ids"]):
            line = footer(by_id[name], docname, gallery)
            figure.parent.insert(figure.parent.index(figure) + 1, line)
    for raw in list(document.findall(nodes.raw)):
        if DOWNLOAD.match(raw.astext()):
            remove_output(raw)


def remove_output(node: nodes.Node) -> None:
    """Remove an output of a notebook, and its cell if nothing else of it is seen."""
    bundle = node
    while bundle.parent is not None and "cell_output" not in bundle.parent.get("classes", ()):
        bundle = bundle.parent
    outputs = bundle.parent
    if outputs is None:
        logger.warning("links of a figure stand outside of an output", location=node)
        return
    outputs.remove(bundle)
    cell = outputs.parent
    if not outputs.children:
        cell.remove(outputs)
        if all("cell_input" in child.get("classes", ()) for child in cell.children) and (
            {"tag_remove-input", "tag_hide-input"} & set(cell["classes"]) or not cell.children
        ):
            cell.parent.remove(cell)


def setup(app: Any) -> dict[str, bool]:
    """Add the directive and what stands below figures."""
    app.add_directive("figure-gallery", FigureGallery)
    app.connect("builder-inited", prepare)
    # before Sphinx collects the files that are to be downloaded
    app.connect("doctree-read", finish_page, priority=400)
    load_script(app, PAGE)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
