"""The pages offer the book as one file where there is one, and nowhere else."""

from pathlib import Path

from playwright.sync_api import Page
from print_pages import BOUND, SCRIPT
from reader import FIRST, none

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


def test_download(visit, page, html):
    none(problems(page, visit.name, html, is_offered(html)))


def test_no_download_without_a_file(new_page, base, html):
    """A page whose script is that of a build without the file offers none, and that is noticed."""
    page = new_page()
    body = SCRIPT.read_text(encoding="utf-8")
    page.route(f"**/{SCRIPT.name}*", lambda route: route.fulfill(body=body))
    page.goto(f"{base}/{FIRST}", wait_until="load")
    none(problems(page, FIRST, html, False))
    if is_offered(html):
        assert problems(page, FIRST, html, True), "a link that is missing is not noticed"
