"""Print the built pages to PDF with headless Chromium: ``print_pages.py HTML FOLDER [PAGE…]``."""

import argparse
import sys
from pathlib import Path

from browser import ALL_IMAGES, FLAGS, TYPESET, find_browser, serve
from check_print import PAPER
from playwright.sync_api import sync_playwright


def pages_of(html: Path, names: list[str]) -> list[Path]:
    """Return the pages that are asked for, the chapters if none is."""
    if not names:
        return sorted((html / "notebooks").glob("[0-9]*.html"))
    found = [page for name in names for page in html.glob(f"*/{name}*.html")]
    if len(found) < len(names):
        raise SystemExit(f"no page for one of {', '.join(names)}; allowed: beginnings of names")
    return found


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
        for path in pages_of(html, args.pages):
            page.goto(f"{base}/{path.relative_to(html).as_posix()}", wait_until="load")
            page.evaluate(TYPESET)
            page.evaluate(ALL_IMAGES)
            target = args.folder / f"{path.stem}.pdf"
            page.pdf(path=target, **PAPER)
            print(f"{target}: {target.stat().st_size / 1e6:.1f} MB", flush=True)
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
