"""Type in the search, served and from the disk: what is found first, and how soon."""

import re
from itertools import zip_longest

import pytest
from reader import none

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
ANSWER = 3.0
"""Seconds of a processor from the last key to the answer: far more than it takes."""
FOUND = "() => [...document.querySelectorAll('#search-results li a')].map(link => link.href)"
SAID = "() => document.querySelector('#search-results .search-summary')?.textContent || ''"


@pytest.mark.parametrize("place", ["served", "on a disk"])
def test_search(new_page, base, html, place):
    start = f"{base}/search.html" if place == "served" else (html / "search.html").as_uri()
    page, problems = new_page(), []
    page.goto(f"{start}?q=Laplace", wait_until="load")
    page.wait_for_function(f"() => /found/.test(({SAID})())", timeout=60_000)
    field = page.locator(".bd-search-container input[type=search]")
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def busy():
        """Seconds of a processor that the page has used: a busy machine changes nothing."""
        metrics = session.send("Performance.getMetrics")["metrics"]
        return next(one["value"] for one in metrics if one["name"] == "TaskDuration")

    for words, pattern in SEARCHED.items():
        field.fill("")
        page.wait_for_function(f"() => !({SAID})()", timeout=60_000)
        begin = busy()
        field.fill(words)
        page.wait_for_function(f"() => /found/.test(({SAID})())", timeout=60_000)
        seconds = busy() - begin
        first = next(iter(page.evaluate(FOUND)), "nothing")
        if not re.search(pattern, first):
            problems.append(f"{words!r} leads to {first} first")
        if seconds > ANSWER:
            problems.append(f"{words!r} takes {seconds:.2f} s of a processor")
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
    none(problems)
