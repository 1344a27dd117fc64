"""Look at the built pages in headless browsers, as a reader would.

Usage: python tests/check_pages.py [_build/html] [--screenshots DIR] [--only TEXT] [--jobs 2]

"""

import argparse
import atexit
import multiprocessing
import os
import re
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import zip_longest
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

from browser import FLAGS, TYPESET, find_browser, serve
from check_access import check_access, check_the_check, violations
from check_contents import CONTROL, check_contents, check_the_contents
from check_download import check_download, check_no_download
from check_explorer import PAGE as EXPLORER
from check_explorer import check_explorer
from check_filters import GALLERY, LEDGER, check_gallery, check_ledger
from check_form import MOVED, check_form
from check_print import check_print, check_the_paper
from check_reference import EVERY, NAMES_PAGES, REFERENCE, check_reference
from check_signs import CITED, check_signs
from check_size import check_height, check_the_size, check_weight
from check_toc import missing
from check_try import PAGE as TRY
from check_try import check_try

SLICE = 2400  # pixels of a page in one picture
PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1280, "height": 900}
ON_A_PHONE = ("book/notation.html", "book/explorer.html")
"""Pages on which axe runs at the width of a phone as well."""

FORMULAS = r"""() => {
    const found = [];
    const article = document.querySelector('.bd-article') || document.body;
    for (const node of article.querySelectorAll('span.math, div.math'))
        if (!node.querySelector('mjx-container'))
            found.push('not typeset: ' + node.textContent.trim().slice(0, 80));
    for (const node of article.querySelectorAll('mjx-merror, [data-mjx-error]'))
        found.push('error: ' + (node.dataset.mjxError || node.textContent).slice(0, 80));
    for (const node of article.querySelectorAll('mjx-mtext[style*="red"]'))
        found.push('undefined macro: ' + node.textContent.slice(0, 80));
    const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const parent = node.parentElement;
        if (parent.closest('pre, code, script, style, mjx-container, textarea')) continue;
        if (/\\[([]|\\(frac|sum|log|varepsilon|Delta|mathbb)\b|\$\$/.test(node.data))
            found.push('raw TeX in the text: ' + node.data.trim().slice(0, 80));
    }
    return found;
}"""

IMAGES = r"""async () => {
    const images = [...document.querySelectorAll('.bd-article img')];
    for (const image of images) image.loading = 'eager';
    await Promise.all(images.map(image => image.decode().catch(() => null)));
    return images.flatMap(image => {
        const name = image.getAttribute('src').split('/').pop();
        const found = [];
        const alt = (image.getAttribute('alt') || '').trim();
        if (!alt || /_images\/|\.(png|svg|jpe?g)$/.test(alt))
            found.push(name + ' has no description');
        if (!image.complete || image.naturalWidth === 0) found.push(name + ' is not shown');
        return found;
    });
}"""

WIDE = r"""() => {
    const width = document.documentElement.clientWidth;
    if (document.scrollingElement.scrollWidth <= width + 1) return [];
    const scrolls = node => {
        for (let at = node.parentElement; at && at !== document.body; at = at.parentElement)
            if (getComputedStyle(at).overflowX !== 'visible' && at.clientWidth <= width)
                return true;
        return false;
    };
    const found = [...document.querySelectorAll('.bd-main *')]
        .filter(node => node.getBoundingClientRect().right > width + 1 && !scrolls(node))
        .map(node => node.tagName.toLowerCase() + '.' + String(node.className).replace(/ /g, '.')
            + ': ' + (node.textContent || '').trim().slice(0, 50));
    return ['page is ' + document.scrollingElement.scrollWidth + ' px wide on a phone of ' + width
        + ': ' + found.slice(0, 4).join(' | ')];
}"""

PAINTED = """async () => {
    for (let tries = 0; tries < 50; tries++) {
        const [first] = performance.getEntriesByName('first-contentful-paint');
        if (first) return first.startTime / 1000;
        await new Promise(done => setTimeout(done, 20));
    }
    return NaN;
}"""
"""Seconds until the text of a page is there to be read; its formulas may follow."""

LINKS = "() => [...document.querySelectorAll('a[href]')].map(link => link.href)"
NAMES = "() => [...document.querySelectorAll('[id], a[name]')].map(node => node.id || node.name)"


class Report:
    """What passed and what did not."""

    def __init__(self):
        self.passed = 0
        self.failed = 0

    def check(self, page: str, what: str, problems: list[str]) -> None:
        """Count one check and print its problems."""
        if not problems:
            self.passed += 1
            return
        self.failed += 1
        unique = list(dict.fromkeys(problems))
        more = [f"and {len(unique) - 8} more"] if len(unique) > 8 else []
        lines = [f"FAILED {page}: {what}", *(f"    {line}" for line in (*unique[:8], *more))]
        print("\n".join(lines), flush=True)  # in one piece: others write as well

    def add(self, other: "Report") -> None:
        """Count what another process has checked."""
        self.passed += other.passed
        self.failed += other.failed


def list_pages(html: Path) -> list[str]:
    """Return the pages' addresses below the folder, the redirect of the first page left out.

    Of the pages for one name each, which are made alike, some are looked at, and the longest name.
    """
    paths = sorted(path.relative_to(html) for path in html.rglob("*.html"))
    skipped = ("_static", "_sources", "_downloads", "_modules", "index.html")
    pages = [path.as_posix() for path in paths if path.parts[0] not in skipped]
    alike = [name for name in pages if name.startswith(NAMES_PAGES)]
    some = {*alike[::EVERY], *sorted(alike, key=len)[-1:]}
    return [name for name in pages if name not in alike] + sorted(some)


AXE_PAGES = (
    "book/intro.html",
    "book/explorer.html",
    "book/gallery.html",
    "book/teaching.html",
    "notebooks/08_planning_a_private_trial.html",
)
"""Where axe-core looks with ``--axe some``: a page of each kind."""


def check_page(browser, base: str, name: str, report: Report, seen: dict, options) -> None:
    """Open one page and check it at the desk and on the phone."""
    context = browser.new_context(viewport=DESKTOP)
    page = context.new_page()
    console: list[str] = []
    requests: list[str] = []

    def on_request(request):
        if not request.url.startswith((base, "data:", "blob:", "about:")):
            requests.append(f"to another host: {request.url}")

    def on_response(response):
        if response.status >= 400:
            requests.append(f"answered {response.status}: {response.url.removeprefix(base)}")

    page.on("console", lambda m: console.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: console.append(str(error)))
    page.on("request", on_request)
    page.on("response", on_response)
    page.goto(f"{base}/{name}", wait_until="load")
    page.evaluate(TYPESET)
    check_weight(page, name, page.evaluate(PAINTED), report)
    report.check(name, "formulas", page.evaluate(FORMULAS))
    report.check(name, "images", page.evaluate(IMAGES))
    check_height(page, name, report)
    seen[name] = (page.evaluate(NAMES), page.evaluate(LINKS))
    check_contents(page, name, report)
    check_download(page, name, options.html, report)
    if name == CONTROL:
        check_the_contents(browser, base, name, DESKTOP, report)
    if name == REFERENCE:
        check_reference(page, name, options.html, report)
    if options.screenshots:
        shoot(page, options.screenshots, f"{name}.desktop")
        page.emulate_media(color_scheme="dark")
        page.wait_for_timeout(300)
        shoot(page, options.screenshots, f"{name}.dark")
        page.emulate_media(color_scheme="light")
    page.set_viewport_size(PHONE)
    page.wait_for_timeout(200)
    report.check(name, "width on a phone", page.evaluate(WIDE))
    if name in ON_A_PHONE:
        page.wait_for_timeout(1000)  # fonts of formulas, and what then scrolls
        report.check(name, "axe on a phone", violations(page))
    if options.screenshots:
        shoot(page, options.screenshots, f"{name}.phone")
    page.set_viewport_size(DESKTOP)
    check_print(page, name, report)
    if options.axe == "all" or name in AXE_PAGES:
        check_access(page, name, report)
    if name == "book/intro.html":
        check_the_size(page, name, report)
        check_the_check(page, name, report)
        check_the_paper(page, name, report)
        check_no_download(browser, base, name, options.html, report)
    if name in CITED:
        check_signs(page, name, report)
    report.check(name, "console", console)
    report.check(name, "requests", requests)
    context.close()


def shoot(page, folder: Path, name: str) -> None:
    """Write pictures of a page from top to bottom, in slices."""
    size = page.evaluate("() => [innerWidth, document.documentElement.scrollHeight]")
    stem = name.replace("/", ".").replace(".html", "")
    for number, top in enumerate(range(0, size[1], SLICE), start=1):
        clip = {"x": 0, "y": top, "width": size[0], "height": min(SLICE, size[1] - top)}
        path = folder / f"{stem}.{number:02d}.png"
        page.screenshot(path=str(path), full_page=True, clip=clip)


def check_links(html: Path, base: str, seen: dict, report: Report) -> None:
    """Check that what the pages link to exists, down to the place on the page."""
    for name, (_, links) in seen.items():
        problems = []
        for link in links:
            address, fragment = urldefrag(link)
            if not address.startswith(base):
                continue
            target = unquote(urlsplit(address).path).lstrip("/") or "index.html"
            if not (html / target).is_file():
                problems.append(f"no such file: {target}")
            elif fragment and target in seen and unquote(fragment) not in seen[target][0]:
                problems.append(f"no such place: {target}#{fragment}")
        report.check(name, "links", problems)


SEARCHED = {
    "DP-SE": r"notebooks/03[^#]*#alg-dpse$",
    "ss19-fig1": r"gallery.html#entry-ss19-fig1$",
    "ss19-thm-4.3": r"claims\.html#claim-ss19-thm-4-3$",
    "Figure 3.1": r"notebooks/03[^#]*#",
    "theorem 4.1": r"notebooks/0[34]|claims\.html#claim-ss19-thm-4-1$",
    "3.1": r"notebooks/03[^#]*#ours-elimination-run$",
    "td16-thm-3.4-second": r"claims\.html#claim-td16-cor-3-2$",
    "changed": r"book/changed\.html(#what-changed)?$",
    "DPSE": r"book/reference/dpbandits\.DPSE\.html$",
    "dpbandits.regret.DPSE": r"book/reference/dpbandits\.DPSE\.html$",
}
"""What is looked for → where the first place that is found has to be."""
FIRST = {
    "theorem 4.3": (r"#thm-mean-lower$", r"#thm-regret$", r"#claim-ss19-thm-4-3$"),
    "DP-UCB-BOUND": (r"#alg-bound$", r"notebooks/02[^#]*$"),
    "DP-SE": (r"#alg-dpse$", r"notebooks/03[^#]*$"),
    "3.1": (r"#ours-elimination-run$", r"#thm-privacy$", r"#patient-7$"),
}
"""What is looked for → the places that come first, in this order."""
ANSWER = 30.0
"""Seconds from the last key to the answer: far more than it takes on a machine at work."""
FOUND = "() => [...document.querySelectorAll('#search-results li a')].map(link => link.href)"
SAID = "() => document.querySelector('#search-results .search-summary')?.textContent || ''"


def check_search(browser, base: str, html: Path, report: Report) -> None:
    """Type in the search, served and from the disk, and see what is found first, and how soon."""
    problems = []
    for start in (f"{base}/search.html", (html / "search.html").as_uri()):
        page = browser.new_page(viewport=DESKTOP)
        page.goto(f"{start}?q=Laplace", wait_until="load")
        page.wait_for_function(f"() => /found/.test(({SAID})())", timeout=60_000)
        field = page.locator(".bd-search-container input[type=search]")
        for words, pattern in SEARCHED.items():
            field.fill("")
            page.wait_for_function(f"() => !({SAID})()", timeout=60_000)
            begin = time.perf_counter()
            field.fill(words)
            page.wait_for_function(f"() => /found/.test(({SAID})())", timeout=60_000)
            seconds = time.perf_counter() - begin
            first = next(iter(page.evaluate(FOUND)), "nothing")
            if not re.search(pattern, first):
                problems.append(f"{words!r} leads to {first} first")
            if seconds > ANSWER:
                problems.append(f"{words!r} is answered after {seconds:.2f} s")
        for words, patterns in FIRST.items():
            field.fill(words)
            page.wait_for_timeout(300)
            found = page.evaluate(FOUND)
            problems += [
                f"{words!r} leads to {link}, not to {pattern}"
                for pattern, link in zip_longest(patterns, found[: len(patterns)])
                if not re.search(pattern, link or "")
            ]
        raw = page.locator("#search-results ol").inner_text()
        if re.search(r"\\[A-Za-z]+|\\\(|[dt]?frac[ \d]|sqrt", raw):
            problems.append("an excerpt has raw LaTeX")
        page.close()
    report.check("search.html", "search", problems)


browser = None
"""That of this process."""


def open_browser(program: str) -> None:
    """Start the browser of this process; it ends with the process."""
    global browser
    from playwright.sync_api import sync_playwright

    playwright = sync_playwright().start()
    browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
    atexit.register(playwright.stop)
    atexit.register(browser.close)


def look(task: tuple[str, str], base: str, options) -> tuple[Report, dict]:
    """Do one task of `tasks_of`: return what passed, and the names and links that were seen."""
    report, seen = Report(), {}
    kind, name = task
    if kind == "page":
        check_page(browser, base, name, report, seen, options)
    elif kind == "search":
        check_search(browser, base, options.html, report)
    elif kind == "moved":
        check_form(browser, base, options.html, name, report)
    elif name == LEDGER:
        check_ledger(browser, base, report, DESKTOP)
    elif name == GALLERY:
        check_gallery(browser, base, options.html, report, DESKTOP)
    elif name == TRY:
        check_try(browser, base, report, DESKTOP)
    else:
        check_explorer(browser, base, options.html, report, DESKTOP)
    return report, seen


def tasks_of(html: Path, only: str) -> list[tuple[str, str]]:
    """Return what is to be done, that which takes long first."""
    pages = [name for name in list_pages(html) if only in name]
    pages.sort(key=lambda name: (html / name).stat().st_size, reverse=True)
    forms = [("form", name) for name in (EXPLORER, TRY, GALLERY, LEDGER) if name in pages]
    moved = [("moved", name) for name in MOVED if only in name]
    return [
        *moved,
        *forms,
        *(() if only else [("search", "")]),
        *(("page", name) for name in pages),
    ]


def main() -> int:
    """Run the checks and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("html", nargs="?", type=Path, default=Path("_build/html"))
    parser.add_argument("--screenshots", type=Path, help="a folder for pictures of every page")
    parser.add_argument(
        "--axe", choices=["some", "all"], default="some", help="which pages axe-core looks at"
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="browsers that work side by side"
    )
    parser.add_argument("--only", default="", help="only the pages whose address has this text")
    options = parser.parse_args()
    html = options.html = options.html.resolve()
    if not (html / "search.html").is_file():
        print(f"FAILED: no pages in {options.html}; make html builds them")
        return 1
    program = find_browser()
    if program is None:
        print("!" * 78)
        print("!! SKIPPED: no browser here, so the pages were NOT checked (install chromium)")
        print("!" * 78)
        print("0 passed, 0 failed, 1 skipped")
        return 0
    if options.screenshots:
        options.screenshots.mkdir(parents=True, exist_ok=True)

    start = time.perf_counter()
    report, seen = Report(), {}
    tasks = tasks_of(html, options.only)
    pages = [name for kind, name in tasks if kind == "page"]
    fresh = multiprocessing.get_context("spawn")
    with (
        serve(html) as base,
        ProcessPoolExecutor(options.jobs, fresh, open_browser, (program,)) as browsers,
    ):
        for done, names in browsers.map(partial(look, base=base, options=options), tasks):
            report.add(done)
            seen |= names
        if not options.only:
            check_links(html, base, seen, report)
            report.check("_toc.yml", "pages", missing(html))
    print(f"{len(pages)} pages in {time.perf_counter() - start:.0f} s")
    print(f"{report.passed} passed, {report.failed} failed")
    return 1 if report.failed or not report.passed else 0


if __name__ == "__main__":
    sys.exit(main())
