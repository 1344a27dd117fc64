"""The bound book: links, bookmarks and page numbers, on small pages that a browser prints."""

import re

import pytest
from bind_pages import Part, astray, bind, links_of, places_wanted
from browser import find_browser, serve
from print_pages import BOUND, SCRIPT, offer, print_all
from pypdf import PdfReader, PdfWriter
from pypdf.generic import NullObject

ADDRESS = "https://book.example/of"
NEXT_SHEET = '<div style="break-after: page"></div>'


def page(title, *body):
    return f'<!doctype html><article class="bd-article"><h1>{title}</h1>{"".join(body)}</article>'


PAGES = {
    "book/intro.html": page(
        "First",
        '<p><a href="../chapters/one.html#lemma">to the lemma</a></p>',
        '<p><a href="../chapters/one.html">to the chapter</a></p>',
        '<p><a href="#end">to the end</a></p>',
        '<p><a href="../chapters/one.html#folded">to what is not on paper</a></p>',
        '<p><a href="../other.html?a=1#b">to a page that is not bound</a></p>',
        '<p><a href="https://doi.example/10.1">to a paper</a></p>',
        '<p><a href="file:///etc/hosts">to a file</a></p>',
        NEXT_SHEET,
        '<h2 id="end">The end</h2>',
    ),
    "chapters/one.html": page(
        "A chapter",
        "<h2>Before</h2>",
        NEXT_SHEET,
        '<h2 id="end">After</h2><p id="lemma">Lemma.</p><p id="folded" hidden>Nothing.</p>',
        '<p><a href="../book/intro.html">back</a> <a href="#end">to this end</a></p>',
    ),
    "other.html": page("Another"),
}


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """The pages as they were printed, and the address where they were."""
    program = find_browser()
    if program is None:
        pytest.skip("no browser is installed")
    html = tmp_path_factory.mktemp("html")
    for name, text in PAGES.items():
        (html / name).parent.mkdir(exist_ok=True)
        (html / name).write_text(text, "utf-8")
    folder = tmp_path_factory.mktemp("pdf")
    with serve(html) as base:
        return print_all([*PAGES][:2], html, folder, base, program), base


@pytest.fixture(scope="module")
def book(printed, tmp_path_factory):
    parts, base = printed
    path = tmp_path_factory.mktemp("bound") / BOUND
    sheets, missed = bind(parts, path, base)
    assert sheets == 4 and missed == {"chapters/one.html#folded"}
    return path


def led(path):
    """Return the target of each link: its sheet, from 1 on, and height; or an address."""
    reader, found = PdfReader(path), []
    for sheet in reader.pages:
        for link in links_of(sheet):
            if "/Dest" not in link:
                found.append(link["/A"]["/URI"])
                continue
            to, _, _, top, _ = link["/Dest"]
            number = next(n for n, p in enumerate(reader.pages, 1) if p.indirect_reference == to)
            found.append((number, None if isinstance(top, NullObject) else float(top)))
    return found


def heights(path, *words):
    """Return the sheet and the height of the line with some words."""
    found = []
    for word in words:
        for number, sheet in enumerate(PdfReader(path).pages, 1):
            seen = []

            def visit(text, cm, tm, font, size, word=word, seen=seen):
                if word in text:
                    seen.append(tm[4] * cm[1] + tm[5] * cm[3] + cm[5])

            sheet.extract_text(visitor_text=visit)
            found += [(number, height) for height in seen]
    return found


def test_links_lead_to_places_in_the_book(book):
    lemma, chapter, end, folded, paper, back, this_end = led(book)
    assert chapter == (3, None) and folded == (3, None) and back == (1, None)
    assert paper == "https://doi.example/10.1"
    assert lemma[0] == 4 and end[0] == 2 and this_end[0] == 4
    for (_, top), (words, number) in zip(
        (lemma, end, this_end), (("Lemma.", 4), ("The end", 2), ("After", 4)), strict=True
    ):
        ((sheet, height),) = heights(book, words)
        assert sheet == number and 0 < top - height < 60, words


def test_two_pages_may_use_one_name_for_a_place(book):
    _, _, end, *_, this_end = led(book)
    assert end[0] != this_end[0]


def test_no_link_leads_to_the_machine(printed, book):
    parts, base = printed
    assert astray(book) == []
    assert base.encode() not in PdfReader(book).stream.getvalue()
    astray_before = astray(parts[0].path)  # control
    assert any(link.startswith(base) for link in astray_before)
    assert "file:///etc/hosts" in astray_before


def test_a_page_that_is_not_bound_is_where_the_book_is(printed, tmp_path):
    parts, base = printed
    bind(parts, tmp_path / "b.pdf", base, f"{ADDRESS}/")
    assert f"{ADDRESS}/other.html?a=1#b" in led(tmp_path / "b.pdf")
    assert astray(tmp_path / "b.pdf") == []


def test_bookmarks_are_pages_and_sections(book):
    reader = PdfReader(book)
    outline = [
        [(e.title, reader.get_destination_page_number(e) + 1) for e in entry]
        if isinstance(entry, list)
        else (entry.title, reader.get_destination_page_number(entry) + 1)
        for entry in reader.outline
    ]
    assert outline == [
        ("First", 1),
        [("The end", 2)],
        ("A chapter", 3),
        [("Before", 3), ("After", 4)],
    ]
    assert reader.page_mode == "/UseOutlines" and reader.metadata.title


def test_sheets_are_numbered(book):
    for number, sheet in enumerate(PdfReader(book).pages, 1):
        lines = sheet.extract_text().split()
        assert lines[-1] == str(number)
    assert "1" not in PdfReader(book).pages[1].extract_text().split()  # control


def test_a_sheet_that_draws_nothing_is_bound(tmp_path):
    writer = PdfWriter()
    writer.add_blank_page(200, 100)
    writer.write(tmp_path / "blank.pdf")
    part = Part("book/intro.html", "Blank", [], tmp_path / "blank.pdf")
    assert bind([part], tmp_path / "b.pdf") == (1, set())
    assert PdfReader(tmp_path / "b.pdf").pages[0].extract_text().split() == ["1"]


def test_places_are_wanted_where_a_bound_page_links_them(tmp_path):
    for name, text in PAGES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    wanted = places_wanted(tmp_path, [*PAGES][:2])
    assert wanted == {"book/intro.html": {"end"}, "chapters/one.html": {"lemma", "folded", "end"}}


def test_the_pages_offer_the_file_that_was_bound(tmp_path):
    (tmp_path / "_static").mkdir()
    bound = tmp_path / BOUND
    bound.write_bytes(b"x" * 2_345_678)
    offer(bound, tmp_path)
    assert (tmp_path / "_static" / BOUND).stat().st_size == 2_345_678
    then, now = SCRIPT.read_text("utf-8"), (tmp_path / "_static" / SCRIPT.name).read_text("utf-8")
    assert "const MEGABYTES = null;" in then
    assert re.findall(r"const MEGABYTES = (.+);", now) == ['"2.3"']
    assert f'"{BOUND}"' in now


def test_each_page_tells_indexes_where_the_file_is_if_the_book_has_an_address(tmp_path):
    (tmp_path / "_static").mkdir()
    bound, page, bare = tmp_path / BOUND, tmp_path / "a.html", tmp_path / "search.html"
    bound.write_bytes(b"x")
    head = '<head><meta name="citation_title" content="A" /></head>'
    page.write_text(head, "utf-8")
    bare.write_text("<head></head>", "utf-8")
    offer(bound, tmp_path)
    assert page.read_text("utf-8") == head
    for _ in range(2):
        offer(bound, tmp_path, "https://example.org/book/")
        found = re.findall(r'citation_pdf_url" content="([^"]*)"', page.read_text("utf-8"))
        assert found == [f"https://example.org/book/_static/{BOUND}"]
    assert bare.read_text("utf-8") == "<head></head>"
