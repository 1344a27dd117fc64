"""The search: what can be found, made from the finished pages, and the page that looks it up.

A reader looks for a theorem by its number in the book or in its paper, for an algorithm, a claim or
a figure by its id, or for words. So what is found is never a whole page: it is a section, a
theorem, a figure, a claim, or a name of the package, with a title, its numbers and ids, and its
words, in which formulas are plain text. The list is a script, ``search-entries.js``, which a page
on a disk can load as well; ``search.js`` ranks it. It is made from the pages when all are written,
so that it has the numbers that readers see.
"""

import hashlib
import inspect
import json
import re
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

from claims_ledger import STANDINGS

from companion.formulas import plain_math
from dpbandits._files import renew

PAGE = "search"
SCRIPT, DATA = "search.js", "search-entries.js"

VOID = frozenset(
    [
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "source",
        "track",
        "wbr",
    ]
)
SILENT = frozenset(["button", "form", "nav", "script", "select", "style", "svg", "template"])
SILENT_CLASSES = frozenset(
    [
        "headerlink",
        "cell_input",
        "highlight",
        "figure-footer",
        "front-links",
        "viewcode-link",
        "page-filter",
        "toctree-wrapper",
        "quiet",
        "visually-hidden",
    ]
)
NUMBERS = frozenset({"caption-number", "section-number"})
API = frozenset(["class", "exception", "function", "method", "attribute", "property", "data"])
SHOWN = frozenset(["class", "exception", "function", "method"])
"""Names of the package that can be documented, and those that a search shows."""
HEADINGS = frozenset(["h1", "h2", "h3", "h4", "h5", "h6"])
LONGEST = 6000
"""Characters of words that are kept of one entry."""

RETIRED = re.compile(r">([\w.-]+): now <a [^>]*href=\"#(claim-[^\"]+)\"")
"""An id that is no longer used, and the place of the claim that took its place."""
SAID = re.compile(r"Said in (.+?)\. (?:Judged in|$)")
JUDGED = re.compile(rf"\S (\S+) (.+) ({'|'.join(STANDINGS)})")
"""The title of a claim's fold: a sign, the id, what is said, and the verdict."""
SPACES = re.compile(r"\s+")


@dataclass
class Found:
    """What a search can find.

    Attributes
    ----------
    kind : str
        "section", "theorem", "figure", "card" (of the gallery), "claim", "proof" or "code".
    place : str
        Name of its place on the page; empty for the page itself.
    title, number : list of str
        Pieces of its title, and of its number in the book.
    words : list of str
        Pieces of its text.
    """

    kind: str
    place: str
    title: list[str] = field(default_factory=list)
    number: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    def record(self) -> dict[str, str] | None:
        """Return it for the script; None if it has no title."""
        title, number, words = (
            SPACES.sub(" ", "".join(pieces)).strip(" ¶#")
            for pieces in (self.title, self.number, self.words)
        )
        if not (title or number or self.kind == "card"):
            return None
        if self.kind == "theorem":
            title = title.removeprefix("(").removesuffix(")")
        if self.kind == "card":  # its words are a title, the command, and links to files
            title, words = words.partition(" companion ")[0], ""
        if self.kind == "figure":  # the sentence that opens a caption is its title
            title, _, rest = title.partition(". ")
            words = f"{rest} {words}".strip()
        name = ""
        if self.kind == "claim" and (judged := JUDGED.fullmatch(title)):
            name, title = judged[1], f"{judged[2]} ({judged[3]})"
        said = SAID.search(words) if self.kind == "claim" else None
        names = " ".join(filter(None, [number, self.place, name, said and said[1]]))
        return {
            "k": self.kind,
            "a": self.place,
            "t": title or number,
            "n": names,
            "x": words[:LONGEST],
        }


class Element(NamedTuple):
    """An element that is open.

    Attributes
    ----------
    tag : str
        Its tag.
    classes : set of str
        Its classes.
    found : Found, optional
        What it is, if a search can find it.
    part : str
        What its text is: "title", "number", "silent", "math", or "" for words.
    """

    tag: str
    classes: set[str]
    found: Found | None
    part: str


class Reader(HTMLParser):
    """Read a page: its sections, theorems, figures, claims and names, each with its own words."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.entries: list[Found] = []
        self._open: list[Element] = []
        self._math: list[str] | None = None
        self._named: Found | None = None  # the name of the package whose description may follow

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element."""
        if tag in VOID:
            return
        given = {name: value or "" for name, value in attrs}
        classes = set(given.get("class", "").split())
        if not self._open and not (tag == "article" and "bd-article" in classes):
            return
        found = self._found(tag, classes, given.get("id", ""))
        if found is not None:
            self.entries.append(found)
        if tag == "dt" and "sig" in classes:
            self._named = found
        elif tag == "dd" and self._open[-1].classes & API:
            found = self._named
        self._open.append(Element(tag, classes, found, self._part(tag, classes, found)))

    def handle_endtag(self, tag: str) -> None:
        """Close an element, and what was left open in it."""
        if all(element.tag != tag for element in self._open):
            return
        while self._open:
            last = self._open.pop()
            if last.part == "math" and self._math is not None:
                text, self._math = plain_math("".join(self._math)), None
                self.handle_data(f" {text} " if last.tag == "div" else text)
            if last.tag == tag:
                break

    def handle_data(self, data: str) -> None:
        """Give text to what it belongs to."""
        if self._math is not None:
            self._math.append(data)
            return
        parts = set()
        for element in reversed(self._open):
            parts.add(element.part)
            owner = element.found
            if owner is None:
                continue
            if any(outer.part == "silent" for outer in self._open):
                return
            pieces = {"number": owner.number, "title": owner.title}
            chosen = next((pieces[part] for part in pieces if part in parts), owner.words)
            chosen.append(data)
            return

    def _owner(self) -> Found | None:
        return next((e.found for e in reversed(self._open) if e.found is not None), None)

    def _found(self, tag: str, classes: set[str], place: str) -> Found | None:
        if not place:
            return None
        if tag == "section":
            owner = self._owner()
            return Found("section", place) if owner is None or owner.kind == "section" else None
        if tag == "div" and {"proof", "admonition"} <= classes:
            return Found("theorem", place)
        if tag == "figure":
            return Found("figure", place)
        if "figure-entry" in classes:
            return Found("card", place)
        if tag == "details":
            return Found("claim" if "claim" in classes else "proof", place)
        if tag == "dt" and "sig" in classes and self._open[-1].classes & SHOWN:
            return Found("code", place)
        return None

    def _part(self, tag: str, classes: set[str], found: Found | None) -> str:
        if tag in SILENT or classes & SILENT_CLASSES:
            return "silent"
        if "math" in classes:
            self._math = []
            return "math"
        if classes & NUMBERS:
            return "number"
        owner = found or self._owner()
        kind = owner.kind if owner else ""
        titles = {
            "section": tag in HEADINGS,
            "theorem": "admonition-title" in classes,
            "figure": tag == "figcaption",
            "claim": tag == "summary",
            "proof": tag == "summary",
            "code": tag == "dt" and found is not None,
        }
        return "title" if titles.get(kind, False) else ""


def read_page(text: str) -> list[dict[str, str]]:
    """Return what can be found on a page, in its order; claims with the ids they once had.

    Examples
    --------
    >>> page = '<article class="bd-article"><section id="one"><h1>One</h1><p>words</p></section>'
    >>> read_page(page)
    [{'k': 'section', 'a': 'one', 't': 'One', 'n': 'one', 'x': 'words'}]
    """
    reader = Reader()
    reader.feed(text)
    reader.close()
    records = [record for found in reader.entries if (record := found.record())]
    former: dict[str, list[str]] = {}
    for old, place in RETIRED.findall(text):
        former.setdefault(place, []).append(old)
    for one in records:
        if one["k"] == "claim" and one["a"] in former:
            one["o"] = " ".join(former[one["a"]])
    return records


def part_of(docname: str) -> str:
    """Return which part of the book a page is in; the search ranks by it."""
    if docname.startswith("notebooks/"):
        return "chapter"
    if docname.startswith("book/reference/"):
        return "reference"
    name = docname.rpartition("/")[2]
    if name.startswith("api"):
        return "reference"
    return "appendix" if name.startswith("exact") else "page"


def write_entries(app: Any, error: Exception | None) -> None:
    """Write the list, once all pages stand."""
    if error is not None or app.builder.format != "html":
        return
    pages, entries = [], []
    kept = Path(app.doctreedir, DATA)
    before = json.loads(kept.read_text("utf-8")) if kept.is_file() else {}
    now: dict[str, list[dict[str, str]]] = {}
    for docname in sorted(app.env.found_docs):
        path = Path(app.outdir, app.builder.get_target_uri(docname).partition("#")[0])
        if not path.is_file():
            continue
        text = path.read_text(encoding="utf-8")
        text = text[max(text.find("<article"), 0) :]
        key = hashlib.sha256(_code() + text.encode()).hexdigest()
        found = now[key] = before[key] if key in before else read_page(text)
        if not found:
            continue
        pages.append([path.relative_to(app.outdir).as_posix(), found[0]["t"], part_of(docname)])
        first = found[0]  # the page itself
        whole = {**first, "n": first["n"].removesuffix(first["a"]).strip(), "a": ""}
        entries += [{"p": len(pages) - 1, **one} for one in (whole, *found[1:])]
    content = json.dumps({"pages": pages, "entries": entries}, ensure_ascii=False)
    renew(Path(app.outdir, "_static", DATA), f"window.searchEntries = {content};\n".encode())
    renew(kept, json.dumps(now).encode())


@cache
def _code() -> bytes:
    """Return what entries depend on beside their page."""
    formulas = Path(inspect.getsourcefile(plain_math) or "")
    return Path(__file__).read_bytes() + formulas.read_bytes()


def load(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Load list and script on the page of the search, and nowhere else."""
    if pagename == PAGE:
        app.add_js_file(DATA, loading_method="defer")
        app.add_js_file(SCRIPT, loading_method="defer")


def setup(app: Any) -> dict[str, bool]:
    """Connect both; the list is written before the pages are made lean."""
    app.connect("html-page-context", load)
    app.connect("build-finished", write_entries, priority=300)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
