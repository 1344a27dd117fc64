"""The table of a page of the reference: each name has a page, with nothing folded on it."""

from urllib.parse import unquote, urldefrag, urlsplit

from reader import none, on

REFERENCE = "book/api_regret.html"
NAMES_PAGES = "book/reference/"
EVERY = 25
"""Of so many pages of names, one is looked at in a browser."""

ROWS = """() => [...document.querySelectorAll('table.autosummary tr')]
    .map(row => [row.id, row.querySelector('a[href]')?.href || ''])"""


@on(REFERENCE)
def test_links_to_names(page, html):
    rows = page.evaluate(ROWS)
    problems = [] if len(rows) > 20 else [f"only {len(rows)} names are listed"]
    for place, link in rows:
        address, target = urldefrag(link)
        path = html / unquote(urlsplit(address).path).lstrip("/")
        if NAMES_PAGES not in address or not path.is_file():
            problems.append(f"{place} has no page: {link}")
            continue
        text = path.read_text("utf-8")
        if unquote(target) != place or f'id="{place}"' not in text:
            problems.append(f"{place} leads to {link}")
        if "<details" in text.partition('class="bd-article"')[2].partition("</article>")[0]:
            problems.append(f"something is folded on the page of {place}")
    none(problems)
