"""Look whether a page has the form of a chapter: what is in sight and what folds.

``check_pages.py`` calls `check_form` for each page of `MOVED`, and `check_the_form` for the first
of them, which plants faults that must be found. What can be said of a text alone is said by
functions without a browser.
"""

import re
from contextlib import suppress
from html.parser import HTMLParser

from browser import ALL_IMAGES, TYPESET
from check_access import COLOURS, THIN, violations

MOVED: tuple[str, ...] = (
    "notebooks/01_stopping_rules.html",
    "notebooks/02_private_counters.html",
    "notebooks/03_dp_successive_elimination.html",
    "notebooks/04_heavy_tails.html",
    "notebooks/05_best_arm_identification.html",
    "notebooks/07_head_to_head.html",
    "notebooks/06_privacy_audit.html",
    "notebooks/08_planning_a_private_trial.html",
    "book/intro.html",
)
"""Pages that have the form; the list only grows."""

LINES, COLUMNS = 20, 76
WORDS = 300
WIDE, STRETCH = 672, 1.21
"""Pixels of a figure as wide as the text, and how much wider it may be drawn."""

DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
FOLDS = ".bd-article details:is(.proof-fold, .solution-fold)"
UNFOLD = "() => { for (const node of document.querySelectorAll('details')) node.open = true; }"
FOLD = "() => { for (const node of document.querySelectorAll('details')) node.open = false; }"

CELLS = """() => [...document.querySelectorAll('.bd-article .cell_input pre')]
    .filter(node => !node.closest('details') && node.checkVisibility())
    .map(node => node.textContent)"""

FIGURES = """() => [...document.querySelectorAll('.bd-article figure img')].map(image => ({
    name: image.closest('figure').id,
    svg: image.getAttribute('src').endsWith('.svg'),
    width: Number(image.getAttribute('width')),
    narrow: Boolean(image.closest('picture')?.querySelector('source[srcset$=".narrow.svg"]')),
    opens: Boolean(image.closest('a[href]')),
}))"""

LAST_FIGURES = """() => [...document.querySelectorAll('.bd-article figure[id]')]
    .map(node => node.id).slice(-2)"""
SETTLED = 1500
"""Milliseconds after which pictures above a target have been loaded."""
BELOW_THE_BAR = 200
"""Pixels from the top of the window in which a link's target is looked for."""

CUT = r"""() => {
    const found = [];
    const said = node => node.tagName.toLowerCase() + '.' + [...node.classList].join('.') + ': '
        + (node.textContent || '').trim().replace(/\s+/g, ' ').slice(0, 50);
    for (const node of document.querySelectorAll('.bd-article *')) {
        if (!node.checkVisibility() || node.closest('mjx-assistive-mml, svg')) continue;
        if (node.parentElement.closest('mjx-container')) continue;
        const style = getComputedStyle(node);
        if (style.display === 'inline' || node.scrollWidth <= node.clientWidth + 1) continue;
        if (style.overflowX === 'visible') continue;
        if (/auto|scroll/.test(style.overflowX)) {
            if (style.maskImage === 'none') found.push('scrolls without a cue: ' + said(node));
            else if (node.tabIndex < 0) found.push('scrolls by mouse alone: ' + said(node));
        } else found.push('is cut: ' + said(node));
    }
    return found;
}"""


# ------------------------------------------------------------------------ what a text alone says


def cell_problems(cells: list[str]) -> list[str]:
    """Say which cells in sight are long or wide, or have what belongs out of sight."""
    problems = []
    for cell in cells:
        lines = cell.rstrip().splitlines()
        start = repr((lines or [""])[0][:40])
        widest = max(map(len, lines), default=0)
        if len(lines) > LINES:
            problems.append(f"cell of {len(lines)} lines: {start}; allowed: {LINES}")
        if widest > COLUMNS:
            problems.append(f"cell of {widest} columns: {start}; allowed: {COLUMNS}")
        code = "\n".join(line.partition("#")[0] for line in lines)
        problems += [
            f"cell with {word}: {start}"
            for word in ("glue", "fix", "assert")
            if re.search(rf"\b{word}\b", code)
        ]
    return problems


class _Story(HTMLParser):
    """Counts the words of an article between its title and its first picture."""

    _EMPTY = ("img", "br", "hr", "source", "input", "link", "meta", "wbr", "col")

    def __init__(self) -> None:
        super().__init__()
        self.words = 0
        self.picture = False
        self.titled = False
        self.out: list[str] = []  # open elements, within one that is not counted
        self.in_title = False

    def handle_starttag(self, tag, attrs):
        """Enter an element."""
        about = dict(attrs)
        classes = set((about.get("class") or "").split())
        if tag == "img" and self.titled:
            self.picture = True
        if tag in self._EMPTY:
            return
        if tag == "h1":
            self.in_title = self.titled = True
        if self.out:
            self.out.append(tag)
            return
        if "math" in classes:
            self.count(1)
        skipped = {"quiet", "math", "headerlink", "cell_input"} & classes
        if skipped or tag in ("details", "script", "style"):
            self.out.append(tag)

    def handle_endtag(self, tag):
        """Leave an element."""
        if self.out and tag in self.out:
            while self.out.pop() != tag:
                pass
        elif tag == "h1":
            self.in_title = False

    def handle_data(self, data):
        """Count words."""
        if not self.out:
            self.count(len(data.split()))

    def count(self, words: int) -> None:
        """Add words that stand between title and picture."""
        if self.titled and not self.in_title and not self.picture:
            self.words += words


def story_problems(article: str) -> list[str]:
    """Say whether the first picture comes late after the title, from the HTML of an article."""
    story = _Story()
    story.feed(article)
    if not story.titled:
        return ["no title"]
    if not story.picture:
        return ["no picture"]
    late = f"{story.words} words before the first picture; allowed: {WORDS}"
    return [late] if story.words > WORDS else []


def figure_problems(figures: list[dict]) -> list[str]:
    """Say which figures are no drawings, are drawn too wide, or have no narrow drawing."""
    problems = []
    for figure in figures:
        name = figure["name"] or "a figure without a name"
        if not figure["svg"]:
            problems.append(f"{name} is no SVG")
            continue
        if figure["width"] > STRETCH * WIDE:
            problems.append(f"{name} is {figure['width']} px wide; allowed: {STRETCH * WIDE:.0f}")
        if not figure["narrow"]:
            problems.append(f"{name} has no drawing for a phone")
        if not figure["opens"]:
            problems.append(f"{name} does not open by a tap")
    return problems


# ----------------------------------------------------------------------------------- in a browser


def fold_problems(page) -> list[str]:
    """Open and close each fold by keyboard, and open it by a link to it and into it."""
    problems = []
    folds = page.locator(FOLDS)
    for place in range(folds.count()):
        fold = folds.nth(place)
        name, inner = fold.evaluate(
            "node => [node.id, [...node.querySelectorAll('[id]')].map(n => n.id).filter(id =>"
            " !id.startsWith('MJX') && document.querySelectorAll(`[id='${id}']`).length === 1)"
            ".slice(0, 3)]"
        )
        said = name or fold.locator("summary").first.inner_text()[:40]
        page.evaluate(FOLD)
        for key in ("Enter", "Space"):
            was = fold.evaluate("node => node.open")
            fold.locator("summary").first.focus()
            page.keyboard.press(key)
            if fold.evaluate("node => node.open") is was:
                problems.append(f"fold {said!r} does not hear {key}")
        if not name and fold.evaluate("node => node.classList.contains('proof-fold')"):
            problems.append(f"fold {said!r} has no name to link to")
        for target in filter(None, (name, *inner)):
            page.evaluate(FOLD)
            page.evaluate("() => history.replaceState(null, '', location.pathname)")
            page.evaluate("id => { location.hash = id; }", target)
            try:
                page.wait_for_function(
                    "node => node.open", arg=fold.element_handle(), timeout=60_000
                )
            except Exception:
                problems.append(f"fold {said!r} is not opened by #{target}")
    return problems


def form_problems(page, article: str) -> dict[str, list[str]]:
    """Return what is wrong with an open page, by check; it was loaded at the desk."""
    found = {
        "cells in sight": cell_problems(page.evaluate(CELLS)),
        "picture": story_problems(article),
        "figures": figure_problems(page.evaluate(FIGURES)),
        "folds": fold_problems(page),
    }
    page.evaluate(UNFOLD)
    page.evaluate(ALL_IMAGES)
    page.set_viewport_size(PHONE)
    page.wait_for_timeout(1200)  # fonts of formulas, and what then scrolls
    with suppress(Exception):  # a machine at work may take longer; what stays is a problem
        page.wait_for_function(f"() => ({CUT})().length === 0", timeout=60_000)
    found["cut on a phone"] = page.evaluate(CUT)
    page.evaluate(THIN)
    found["axe on a phone"] = violations(page)
    page.set_viewport_size(DESKTOP)
    page.wait_for_timeout(400)
    found["axe with folds open"] = violations(page)
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(250)
    found["axe with folds open, dark"] = violations(page, COLOURS)
    return found


def opened(browser, base: str, name: str):
    """Open a page anew, with nothing loaded before."""
    page = browser.new_context(viewport=DESKTOP).new_page()
    page.goto(f"{base}/{name}", wait_until="load")
    page.evaluate(TYPESET)
    page.wait_for_timeout(500)
    return page


def link_problems(browser, base: str, name: str) -> list[str]:
    """Open the page at its last figures, and look whether they stay below the bar at the top."""
    page = opened(browser, base, name)
    targets = page.evaluate(LAST_FIGURES)
    page.context.close()
    problems = []
    for target in targets:
        page = opened(browser, base, f"{name}#{target}")
        page.wait_for_timeout(SETTLED)
        top = page.evaluate("id => document.getElementById(id).getBoundingClientRect().top", target)
        if not 0 <= top <= BELOW_THE_BAR:
            problems.append(f"a link to #{target} leaves it at {top:.0f} pixels")
        page.context.close()
    return problems


def article_of(html, name: str) -> str:
    """Return the HTML of a page's article, formulas not typeset."""
    text = (html / name).read_text("utf-8")
    return text.partition('class="bd-article"')[2].partition("<footer")[0]


def check_form(browser, base: str, html, name: str, report) -> None:
    """Check one page that has the form."""
    page = opened(browser, base, name)
    for what, problems in form_problems(page, article_of(html, name)).items():
        report.check(name, f"form: {what}", problems)
    page.context.close()
    report.check(name, "form: links to figures", link_problems(browser, base, name))
    if name == MOVED[0]:
        check_the_form(browser, base, html, name, report)


PLANT = """() => {
    const node = document.createElement('div');
    const code = 'x = 1\\n'.repeat(30) + 'glue("a", page.fix("b"))\\nassert ' + 'y'.repeat(90);
    node.innerHTML = '<div class="cell_input"><pre>' + code + '</pre></div>'
        + '<figure id="planted-figure"><img alt="x" src="x.png"></figure>'
        + '<div style="overflow-x: auto; width: 100px"><div style="width: 900px">wide</div></div>'
        + '<div style="overflow-x: hidden; width: 100px"><div style="width: 900px">cut</div></div>'
        + '<details class="proof-fold"><summary onkeydown="event.preventDefault()"'
        + ' onkeyup="event.preventDefault()">no name</summary>text</details>'
        + '<p style="color: #999; background: #aaa">faint</p>';
    document.querySelector('.bd-article').append(node);
}"""
PLANTED = {
    "cells in sight": ("lines", "columns", "glue", "fix", "assert"),
    "picture": ("words before",),
    "figures": ("is no SVG",),
    "folds": ("does not hear", "has no name"),
    "cut on a phone": ("without a cue", "is cut"),
    "axe with folds open": ("color-contrast",),
}
"""Check → what it must say of the planted faults."""


def check_the_form(browser, base: str, html, name: str, report) -> None:
    """Plant faults in a page: each must be found."""
    page = opened(browser, base, name)
    page.evaluate(PLANT)
    late = article_of(html, name).replace("</h1>", f"</h1><p>{'word ' * 2 * WORDS}</p>", 1)
    found = form_problems(page, late)
    missing = [
        f"{what}: {part!r} is not said"
        for what, parts in PLANTED.items()
        for part in parts
        if not any(part in problem for problem in found[what])
    ]
    report.check(name, "form finds planted faults", missing)
    page.context.close()
