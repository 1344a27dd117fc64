"""Bind printed pages in one PDF whose links, bookmarks and page numbers are its own.

A link from one page of the book to another is, in what a browser prints, the address at which the
page was opened. Bound, it leads to the place in the PDF; to the book's address where the page is
not bound and the book has one; and nowhere otherwise.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from pypdf import PageObject, PdfReader, PdfWriter
from pypdf.generic import (
    ArrayObject,
    DecodedStreamObject,
    DictionaryObject,
    FloatObject,
    NameObject,
    NullObject,
    TextStringObject,
)

from companion.citing import AUTHORS, TITLE

FIRST = "book/intro.html"
FONT = NameObject("/PageNumber")
SIZE, DIGIT, FOOT = 9, 5.0, 26  # points: size and width of a digit, height above the edge


@dataclass
class Part:
    """A printed page.

    Attributes
    ----------
    address : str
        Where it was, below the address of the book.
    title, sections : str and list of str
        What the bookmarks say.
    path : Path
        The PDF.
    """

    address: str
    title: str
    sections: list[str]
    path: Path


class _Links(HTMLParser):
    """The addresses that a page links."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a" and (address := dict(attrs).get("href")):
            self.found.append(address)


def places_wanted(html: Path, names: Iterable[str]) -> dict[str, set[str]]:
    """Return, for each of some pages, the places on it to which one of them links.

    A browser notes where a place is only if the page itself links there.
    """
    wanted: dict[str, set[str]] = {name: set() for name in names}
    for name in wanted:
        reader = _Links()
        reader.feed((html / name).read_text(encoding="utf-8"))
        for link in reader.found:
            address, place = urldefrag(urljoin(f"/{name}", link))
            if place and address.lstrip("/") in wanted:
                wanted[address.lstrip("/")].add(unquote(place))
    return wanted


@dataclass
class _Bound:
    """Where the pages are, and where their places."""

    base: str
    address: str
    starts: dict[str, int] = field(default_factory=dict)
    places: dict[tuple[str, str], tuple[int, float, float]] = field(default_factory=dict)
    missed: set[str] = field(default_factory=set)

    def target(self, link: str) -> tuple[int, float | None, float | None] | str | None:
        """Return where a link leads: a sheet and a position, an address, or nowhere."""
        if not link.startswith(f"{self.base}/"):
            return link if urlsplit(link).scheme in ("http", "https", "mailto") else None
        page, place = urldefrag(link.removeprefix(f"{self.base}/"))
        page = page.partition("?")[0]
        page = FIRST if page in ("", "index.html") else page
        if page in self.starts:
            found = self.places.get((page, unquote(place)))
            if place and found is None:
                self.missed.add(f"{page}#{place}")
            return found or (self.starts[page], None, None)
        return link.replace(self.base, self.address, 1) if self.address else None


def bind(
    parts: list[Part], target: Path, base: str = "http://127.0.0.1", address: str = ""
) -> tuple[int, set[str]]:
    """Bind printed pages; return the number of sheets, and links whose places were not found.

    `base` is the address at which the pages were opened, `address` that of the book, if it has one.
    The titles of bookmarks are the page's: of a heading at the edge of a sheet the browser's
    bookmark says everything twice.
    """
    writer, bound = PdfWriter(), _Bound(base.rstrip("/"), address.rstrip("/"))
    for part in parts:
        reader, start = PdfReader(part.path), len(writer.pages)
        bound.starts[part.address] = start
        for name, place in reader.named_destinations.items():
            sheet = reader.get_destination_page_number(place)
            if sheet is not None:
                at = start + sheet, float(place.left or 0), float(place.top or 0)
                bound.places[part.address, unquote(name.lstrip("/"))] = at
        for sheet in reader.pages:
            _write_out(sheet, f"{bound.base}/{part.address}")
        writer.append(reader, import_outline=False)
        mark = writer.add_outline_item(title=part.title, page_number=start)
        below = [each for entry in reader.outline if isinstance(entry, list) for each in entry]
        made = [each for each in below if not isinstance(each, list) and each.title != "Contents"]
        for name, entry in zip(part.sections, made, strict=True):
            number = start + (reader.get_destination_page_number(entry) or 0)
            writer.add_outline_item(title=name, page_number=number, parent=mark)
    for number, sheet in enumerate(writer.pages, start=1):
        _lead(sheet, writer, bound)
        _number(sheet, writer, number)
    for unused in ("/Dests", "/Names"):
        writer.root_object.pop(unused, None)
    writer.page_mode = "/UseOutlines"
    writer.add_metadata({"/Title": TITLE, "/Author": AUTHORS})
    writer.root_object[NameObject("/Lang")] = TextStringObject("en")
    writer.write(target)
    return len(writer.pages), bound.missed


def links_of(sheet: PageObject) -> list[DictionaryObject]:
    """Return the links on a sheet."""
    found = [each.get_object() for each in sheet.get("/Annots") or ()]
    return [each for each in found if each.get("/Subtype") == "/Link"]


def _write_out(sheet: PageObject, page: str) -> None:
    """Write a link to a place on the same page as an address, as those to other pages are."""
    for link in links_of(sheet):
        place = link.get("/Dest", link.get("/A", {}).get("/D"))
        if isinstance(place, str):
            link.pop("/Dest", None)
            link[NameObject("/A")] = _address(f"{page}#{place.lstrip('/')}")


def _address(link: str) -> DictionaryObject:
    kind = {NameObject("/S"): NameObject("/URI"), NameObject("/URI"): TextStringObject(link)}
    return DictionaryObject(kind)


def _lead(sheet: PageObject, writer: PdfWriter, bound: _Bound) -> None:
    """Let the links of a sheet lead to where they should, and take out those that lead nowhere."""
    kept = ArrayObject()
    for reference in sheet.get("/Annots") or ():
        link = reference.get_object()
        if link.get("/Subtype") == "/Link":
            found = bound.target(str(link.get("/A", {}).get("/URI", "")))
            if found is None:
                continue
            if isinstance(found, str):
                link[NameObject("/A")] = _address(found)
            else:
                number, *corner = found
                where = [NullObject() if x is None else FloatObject(x) for x in corner]
                to = writer.pages[number].indirect_reference
                link.pop("/A", None)
                fit = [to, NameObject("/XYZ"), *where, NullObject()]
                link[NameObject("/Dest")] = ArrayObject(fit)
        kept.append(reference)
    if "/Annots" in sheet:
        sheet[NameObject("/Annots")] = kept


def _number(sheet: PageObject, writer: PdfWriter, number: int) -> None:
    """Write the number of a sheet at its foot, whatever state the page's drawing ends in."""
    left = float(sheet.mediabox.width) / 2 - DIGIT * len(str(number)) / 2
    text = f"BT {FONT} {SIZE} Tf 0.35 g {left:.1f} {FOOT} Td ({number}) Tj ET"
    before, after = DecodedStreamObject(), DecodedStreamObject()
    before.set_data(b"q\n")
    after.set_data(f"\nQ\n/Artifact BMC {text} EMC\n".encode())
    drawn = sheet.get("/Contents")
    if drawn is None:
        pieces = []
    else:
        pieces = drawn if isinstance(drawn, ArrayObject) else [sheet.raw_get("/Contents")]
    wrapped = [writer._add_object(before), *pieces, writer._add_object(after)]
    sheet[NameObject("/Contents")] = ArrayObject(wrapped)
    resources = sheet.setdefault(NameObject("/Resources"), DictionaryObject()).get_object()
    fonts = resources.setdefault(NameObject("/Font"), DictionaryObject()).get_object()
    fonts[FONT] = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )


def astray(path: Path) -> list[str]:
    """Return the links of a PDF to a file, or to the machine on which it was made."""
    found = []
    for sheet in PdfReader(path).pages:
        for link in links_of(sheet):
            address = str(link.get("/A", {}).get("/URI", ""))
            if address and (
                urlsplit(address).scheme not in ("http", "https", "mailto")
                or urlsplit(address).hostname in ("127.0.0.1", "localhost")
            ):
                found.append(address)
            elif not address and "/Dest" not in link:
                found.append("nowhere")
    return found
