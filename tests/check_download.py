"""See whether the pages offer the book as one file: where there is one, and nowhere else.

Called by ``check_pages.py`` for each page, and once more for the first one with a script that knows
of no file.
"""

from pathlib import Path

from playwright.sync_api import Page
from print_pages import BOUND, SCRIPT

OFFERED = """() => [...document.querySelectorAll('a.download-book')].map(link =>
    [link.href.split('/').slice(-2).join('/'), link.textContent,
     !!link.closest('.dropdown-menu')])"""


def is_offered(html: Path) -> bool:
    """Return whether the file is there, and belongs to the pages."""
    script = (html / "_static" / SCRIPT.name).read_text(encoding="utf-8")
    return (html / "_static" / BOUND).is_file() and "MEGABYTES = null" not in script


def problems(page: Page, name: str, html: Path, offered: bool) -> list[str]:
    """Tell what is wrong with what an open page offers: a line on the first page, a menu on all."""
    found = page.evaluate(OFFERED)
    first = name == "book/intro.html"
    menu = bool(page.locator(".dropdown-download-buttons .dropdown-menu").count())
    wanted = [False] * (offered and first) + [True] * (offered and menu)
    said = []
    if sorted(in_menu for *_, in_menu in found) != wanted:
        said.append(f"{len(found)} links to the PDF, of {len(wanted)}")
    if offered:
        size = f"{(html / '_static' / BOUND).stat().st_size / 1e6:.1f} MB"
        said += [
            f"{text!r} leads to {link}" for link, text, _ in found if link != f"_static/{BOUND}"
        ]
        said += [f"{text!r} is not {size}" for _, text, _ in found if size not in text]
        if first and not page.locator(".download-line a").is_visible():
            said.append("the line of the first page is hidden")
    return said


def check_download(page: Page, name: str, html: Path, report) -> None:
    """Check an open page."""
    report.check(name, "download", problems(page, name, html, is_offered(html)))


def check_no_download(browser, base: str, name: str, html: Path, report) -> None:
    """Open a page whose script is that of a build without the file: it must offer none."""
    page = browser.new_page()
    body = SCRIPT.read_text(encoding="utf-8")
    page.route(f"**/{SCRIPT.name}*", lambda route: route.fulfill(body=body))
    page.goto(f"{base}/{name}", wait_until="load")
    report.check(name, "no download without a file", problems(page, name, html, False))
    if is_offered(html):
        missed = [] if problems(page, name, html, True) else ["nothing is said"]
        report.check(name, "a link that is missing is noticed", missed)
    page.close()
