"""Print the built pages to PDF with headless Chromium: ``print_pages.py HTML FOLDER [PAGE…]``.

Without a page named, the first page, the chapters and the appendices are printed, and bound: one
file, whose bookmarks are the pages and their sections. The built pages then offer it. Folded
proofs are open on paper. ``BOOK_ADDRESS`` is where links to other pages lead.
"""

import argparse
import os
import re
import shutil
import sys
from html import escape
from pathlib import Path

from bind_pages import Part, bind, places_wanted
from browser import ALL_IMAGES, FLAGS, TYPESET, find_browser, serve
from playwright.sync_api import sync_playwright

PAPER = {"format": "A4", "print_background": True, "prefer_css_page_size": True}
"""How pages are printed; the margins are those of ``print.css``."""
BOUND = "private-bandits.pdf"
SCRIPT = Path(__file__).resolve().parents[1] / "book" / "_static" / "download.js"

NOTE_PLACES = """places => {
    const list = document.createElement('div');
    list.hidden = true;
    for (const place of places) {
        const link = document.createElement('a');
        link.href = '#' + place;
        list.append(link);
    }
    document.body.append(list);
}"""
"""Let the browser note where places are that other pages link."""


def pages_of(html: Path, names: list[str]) -> list[Path]:
    """Return the pages that are asked for; those that are bound if none is."""
    if not names:
        book = html / "book"
        chapters = sorted((html / "notebooks").glob("[0-9]*.html"))
        appendices = sorted(book.glob("exact*.html"))
        return [book / "intro.html", *chapters, *appendices, book / "notation.html"]
    found = [page for name in names for page in html.glob(f"*/{name}*.html")]
    if len(found) < len(names):
        raise SystemExit(f"no page for one of {', '.join(names)}; allowed: beginnings of names")
    return found


def print_all(pages: list[str], html: Path, folder: Path, base: str, program: str) -> list[Part]:
    """Print pages, which are served at `base`, each to a file of its own."""
    wanted, parts = places_wanted(html, pages), []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        page = browser.new_page()
        for name in pages:
            page.goto(f"{base}/{name}", wait_until="load")
            page.evaluate(TYPESET)
            page.evaluate(ALL_IMAGES)
            page.evaluate(NOTE_PLACES, sorted(wanted[name]))
            target = folder / f"{Path(name).stem}.pdf"
            page.pdf(path=target, outline=True, tagged=True, **PAPER)
            title, *sections = page.locator(".bd-article :is(h1, h2)").all_inner_texts()
            sections = [each.strip("# \n") for each in sections]
            parts.append(Part(name, title.strip("# \n"), sections, target))
            print(f"{target}: {target.stat().st_size / 1e6:.1f} MB", flush=True)
        browser.close()
    return parts


def offer(bound: Path, html: Path, address: str = "") -> None:
    """Put the bound file into the built pages, and let them offer it.

    The script of the pages is written anew by each build, with null: pages that are newer than the
    file do not offer it. Where the book has an address, each page tells indexes that of the file.
    """
    shutil.copyfile(bound, html / "_static" / bound.name)
    megabytes = f"{bound.stat().st_size / 1e6:.1f}"
    line, said = re.compile(r"^( *const MEGABYTES = )null;$", re.MULTILINE), rf'\g<1>"{megabytes}";'
    script, made = line.subn(said, SCRIPT.read_text(encoding="utf-8"))
    if made != 1:
        raise ValueError(f"{SCRIPT.name} must have one line for the size of the file")
    (html / "_static" / SCRIPT.name).write_text(script, encoding="utf-8")
    mark = '<meta name="citation_title"'
    place = f"{address.rstrip('/')}/_static/{bound.name}"
    tag = f'<meta name="citation_pdf_url" content="{escape(place)}" />\n'
    for page in html.rglob("*.html") if address else ():
        text = page.read_text(encoding="utf-8")
        if tag not in text:
            page.write_text(text.replace(mark, tag + mark, 1), encoding="utf-8")


def main() -> int:
    """Print the pages and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("html", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("pages", nargs="*", metavar="PAGE")
    parser.add_argument(
        "--if-possible", action="store_true", help="without a browser, say so and succeed"
    )
    args = parser.parse_args()
    program = find_browser()
    if program is None:
        print("chromium is not installed: no PDF is made; a browser's own Print does the same")
        return 0 if args.if_possible else 1
    html = args.html.resolve()
    args.folder.mkdir(parents=True, exist_ok=True)
    pages = [path.relative_to(html).as_posix() for path in pages_of(html, args.pages)]
    with serve(html) as base:
        parts = print_all(pages, html, args.folder, base, program)
    if not args.pages:
        bound = args.folder / BOUND
        address = os.environ.get("BOOK_ADDRESS", "")
        sheets, missed = bind(parts, bound, base, address)
        offer(bound, html, address)
        print(f"{bound}: {sheets} pages, {bound.stat().st_size / 1e6:.1f} MB")
        if missed:
            print(f"links to places that are not on paper: {', '.join(sorted(missed))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
