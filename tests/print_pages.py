"""Print the built pages to PDF with headless Chromium: ``print_pages.py HTML FOLDER [PAGE…]``.

Without a page named, the first page, the chapters and the appendices are printed, and bound: one
file, whose bookmarks are the pages and their sections. Folded proofs are open on paper.
"""

import argparse
import sys
from pathlib import Path

from browser import ALL_IMAGES, FLAGS, TYPESET, find_browser, serve
from check_print import PAPER
from playwright.sync_api import sync_playwright
from pypdf import PdfReader, PdfWriter

BOUND = "private-bandits.pdf"


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


def bind(parts: list[tuple[str, list[str], Path]], target: Path) -> int:
    """Bind printed pages, each with its title and sections as bookmarks; return the sheets.

    Where sections begin is read from the bookmarks that the browser has made. Their titles are the
    page's: of a heading at the edge of a sheet the browser's bookmark says everything twice.
    """
    writer = PdfWriter()
    for title, sections, path in parts:
        start = len(writer.pages)
        writer.append(path, import_outline=False)
        mark = writer.add_outline_item(title=title, page_number=start)
        reader = PdfReader(path)
        below = [e for entry in reader.outline if isinstance(entry, list) for e in entry]
        made = [e for e in below if not isinstance(e, list) and e.title != "Contents"]
        for name, entry in zip(sections, made, strict=True):
            number = start + (reader.get_destination_page_number(entry) or 0)
            writer.add_outline_item(title=name, page_number=number, parent=mark)
    writer.write(target)
    return len(writer.pages)


def main() -> int:
    """Print the pages and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("html", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("pages", nargs="*", metavar="PAGE")
    args = parser.parse_args()
    program = find_browser()
    if program is None:
        print("chromium is not installed: no PDF is made; a browser's own Print does the same")
        return 1
    html = args.html.resolve()
    args.folder.mkdir(parents=True, exist_ok=True)
    with serve(html) as base, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        page = browser.new_page()
        parts = []
        for path in pages_of(html, args.pages):
            page.goto(f"{base}/{path.relative_to(html).as_posix()}", wait_until="load")
            page.evaluate(TYPESET)
            page.evaluate(ALL_IMAGES)
            target = args.folder / f"{path.stem}.pdf"
            page.pdf(path=target, outline=True, tagged=True, **PAPER)
            title, *sections = page.locator(".bd-article :is(h1, h2)").all_inner_texts()
            parts.append((title.strip("# \n"), [each.strip("# \n") for each in sections], target))
            print(f"{target}: {target.stat().st_size / 1e6:.1f} MB", flush=True)
        browser.close()
    if not args.pages:
        bound = args.folder / BOUND
        sheets = bind(parts, bound)
        print(f"{bound}: {sheets} pages, {bound.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
