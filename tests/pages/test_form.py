"""A page has the form of a chapter: what is in sight and what folds."""

import re
from contextlib import suppress

import pytest
from browser import TYPESET
from page_text import WORDS, cell_problems, figure_problems, story_problems
from reader import FIRST, REOPEN, THIN, all_said, none, on
from test_access import COLOURS, violations

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

FOLDS = ".bd-article details:is(.proof-fold, .solution-fold)"
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

TOP = "id => document.getElementById(id).getBoundingClientRect().top"
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


def article_of(html, name: str) -> str:
    """Return the HTML of a page's article, formulas not typeset."""
    text = (html / name).read_text("utf-8")
    return text.partition('class="bd-article"')[2].partition("<footer")[0]


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


@on(*MOVED)
def test_cells_in_sight(page):
    none(cell_problems(page.evaluate(CELLS)))


@on(*MOVED)
def test_a_picture_comes_soon(visit, html):
    none(story_problems(article_of(html, visit.name)))


@on(*MOVED)
def test_figures(page):
    none(figure_problems(page.evaluate(FIGURES)))


@on(*MOVED)
def test_folds(visit, page):
    problems = fold_problems(page)
    page.evaluate(REOPEN, visit.folds)
    none(problems)


@on(*MOVED)
def test_nothing_is_cut_on_a_phone(page, unfolded, phone):
    with suppress(Exception):  # a machine at work may take longer; what stays is a problem
        page.wait_for_function(f"() => ({CUT})().length === 0", timeout=60_000)
    none(page.evaluate(CUT))


@on(*MOVED)
def test_axe_with_folds_open_on_a_phone(page, unfolded, phone, thin):
    none(violations(page))


@on(*MOVED)
def test_axe_with_folds_open(page, unfolded, thin):
    none(violations(page))


@on(*MOVED)
def test_axe_with_folds_open_in_the_dark(page, unfolded, thin, dark):
    none(violations(page, COLOURS))


@pytest.mark.parametrize("place", [-2, -1])
@on(*MOVED)
def test_a_link_to_a_figure_leaves_it_below_the_bar(visit, html, new_page, place):
    """One of the last two figures, on a page that is opened anew: nothing was loaded before."""
    names = re.findall(r'<figure[^>]*\sid="([^"]+)"', article_of(html, visit.name))
    if len(names) < -place:
        pytest.skip("there is no such figure")
    page = new_page()
    page.goto(f"{visit.base}/{visit.name}#{names[place]}", wait_until="load")
    page.evaluate(TYPESET)
    page.wait_for_timeout(SETTLED)
    top = page.evaluate(TOP, names[place])
    none(
        []
        if 0 <= top <= BELOW_THE_BAR
        else [f"a link to #{names[place]} leaves it at {top:.0f} pixels"]
    )


@on(FIRST)
def test_form_finds_planted_faults(visit, html, new_page):
    page = new_page()
    page.goto(f"{visit.base}/{visit.name}", wait_until="load")
    page.evaluate(PLANT)
    late = article_of(html, visit.name).replace("</h1>", f"</h1><p>{'word ' * 2 * WORDS}</p>", 1)
    all_said(("lines", "columns", "glue", "fix", "assert"), cell_problems(page.evaluate(CELLS)))
    all_said(("words before",), story_problems(late))
    all_said(("is no SVG",), figure_problems(page.evaluate(FIGURES)))
    all_said(("does not hear", "has no name"), fold_problems(page))
    all_said(("without a cue", "is cut"), page.evaluate(CUT))
    page.evaluate(THIN)
    all_said(("color-contrast",), violations(page))
