"""Ask axe-core whether a page can be read by all.

``check_pages.py`` calls `check_access` for each page in light and in dark, and for two of them on a
phone. A violation fails if axe calls it serious or critical, or if it is one of `ALSO`.
"""

import re

from axe_playwright_python.base import AXE_SCRIPT

BAD = ("serious", "critical")
ALSO = ("heading-order", "empty-heading", "page-has-heading-one", "landmark-one-main")
"""Rules that axe calls moderate, and we do not."""

EXCEPTIONS: dict[tuple[str, str], str] = {}
"""(Rule, part of an element's HTML) → why it is the theme's fault, and not ours to mend."""

RUN = """rules => axe.run({resultTypes: ['violations'], preload: false,
    ...(rules ? {runOnly: {type: 'rule', values: rules}} : {})})"""
THIN = """() => {
    for (const node of document.querySelectorAll('mjx-container'))
        node.textContent = node.textContent.slice(0, 1) || 'x';
    for (const alike of ['dl.py', 'table.indextable li'])
        [...document.querySelectorAll(alike)].slice(150).forEach(node => node.remove());
    const style = document.createElement('style');
    style.textContent = '* { transition: none !important; animation: none !important; }';
    document.head.append(style);
}"""
"""A formula has hundreds of elements of one colour: a letter stands for it. The first entries of a
reference stand for all of them. Nothing fades."""

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
            if any(found["id"] == r and part in node["html"] for r, part in EXCEPTIONS):
                continue
            why = re.sub(r"\s+", " ", node["failureSummary"]).partition(": ")[2]
            problems.append(f"{found['id']}: {node['html'][:90]!r}: {why[:160]}")
    return problems


def check_access(page, name: str, report) -> None:
    """Check a page at the desk: all rules in light, colours in dark; formulas are lost."""
    page.evaluate(THIN)
    report.check(name, "axe, light", violations(page))
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(250)
    report.check(name, "axe, dark", violations(page, COLOURS))


def check_the_check(page, name: str, report) -> None:
    """Plant two faults in an open page: axe must find both."""
    page.evaluate(PLANT)
    found = {problem.partition(":")[0] for problem in violations(page)}
    missing = {"image-alt", "color-contrast"} - found
    report.check(name, "axe finds planted faults", [f"{rule} is not found" for rule in missing])
    page.evaluate("() => document.querySelector('#planted').remove()")
