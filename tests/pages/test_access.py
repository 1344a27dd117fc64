"""axe-core says whether a page can be read by all, in light and in dark, and on a phone.

A violation fails if axe calls it serious or critical, or if it is one of `ALSO`.
"""

import re

from axe_playwright_python.base import AXE_SCRIPT
from reader import FIRST, all_said, none, on

AXE_PAGES = (
    "book/intro.html",
    "book/explorer.html",
    "book/gallery.html",
    "book/teaching.html",
    "notebooks/08_planning_a_private_trial.html",
)
"""Where axe-core looks with ``--axe some``: a page of each kind."""
ON_A_PHONE = ("book/notation.html", "book/explorer.html")
"""Pages on which axe runs at the width of a phone as well."""

BAD = ("serious", "critical")
ALSO = ("heading-order", "empty-heading", "page-has-heading-one", "landmark-one-main")
"""Rules that axe calls moderate, and we do not."""

RUN = """rules => axe.run({resultTypes: ['violations'], preload: false,
    ...(rules ? {runOnly: {type: 'rule', values: rules}} : {})})"""
COLOURS = ["color-contrast", "link-in-text-block"]
"""What a change from light to dark can break."""

PLANT = """() => {
    const node = document.createElement('div');
    node.innerHTML = '<img src="data:,"><p style="color: #999; background: #aaa">faint</p>';
    node.id = 'planted';
    document.querySelector('main').append(node);
}"""


def violations(page, rules: list[str] | None = None) -> list[str]:
    """Run axe on a page, and tell what it finds wrong."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    problems = []
    for found in page.evaluate(RUN, rules)["violations"]:
        if found["impact"] not in BAD and found["id"] not in ALSO:
            continue
        for node in found["nodes"]:
            why = re.sub(r"\s+", " ", node["failureSummary"]).partition(": ")[2]
            problems.append(f"{found['id']}: {node['html'][:90]!r}: {why[:160]}")
    return problems


@on(*ON_A_PHONE)
def test_axe_on_a_phone(page, phone):
    page.wait_for_timeout(1000)  # fonts of formulas, and what then scrolls
    none(violations(page))


def test_axe(page, thin):
    none(violations(page))


def test_axe_in_the_dark(page, thin, dark):
    none(violations(page, COLOURS))


@on(FIRST)
def test_axe_finds_planted_faults(page, thin):
    page.evaluate(PLANT)
    all_said(("image-alt", "color-contrast"), violations(page))
    page.evaluate("() => document.querySelector('#planted').remove()")
