"""Work the forms that filter the claims and the gallery, and look at what the gallery offers.

What should be shown comes from the verdicts and the chapters.
"""

import json
import re
from itertools import product
from urllib.parse import unquote, urlencode, urlsplit

import pytest
from reader import none

from companion.chapter_figures import chapter_figures
from companion.chapters import find_root
from companion.publishing import published

ROOT = find_root()
LEDGER, GALLERY = "book/claims.html", "book/gallery.html"
PAPERS = ["ss19", "td16", "twzw22", "ja25", "ab22"]
WORDS = {
    "holds": "holds",
    "holds with a condition": "condition",
    "does not hold": "fails",
    "not reproduced": "not-reproduced",
    "cannot be told from the text": "cannot-tell",
    "reconstructed": "reconstructed",
}
CLAIM = "details.claim"
GALLERY_WEIGHT = 2_000_000  # bytes, of the page and what only it has
SHOWN = """what => [...document.querySelectorAll('.bd-article ' + what)]
    .filter(node => node.checkVisibility()).map(node => node.id)"""
SAID = "() => document.querySelector('.page-filter output')?.textContent || ''"
CARDS = """() => [...document.querySelectorAll('.bd-article .figure-entry')].map(node => ({
    id: node.id, classes: [...node.classList],
    picture: node.querySelector('a img')?.closest('a').href || '',
    links: Object.fromEntries([...node.querySelectorAll('a.download')]
        .map(link => [link.textContent.trim(), link.href])),
    text: node.textContent}))"""


class Filter:
    """A form as a reader works it: by its fields, by keyboard, by address, and without script.

    `items` maps the id of each item to its value in each field, `fields` a field's name to what
    the page calls it, and `selectors` say what is an item, that with the ids first.
    """

    def __init__(self, new_page, address, noun, fields, items, selectors):
        self.new_page, self.address, self.noun = new_page, address, noun
        self.fields, self.items, self.selectors = fields, items, selectors
        self.page = new_page()
        self.problems: list[str] = []

    def compare(self, what: str, **chosen: str) -> None:
        """Compare what is shown, and said to be, with what should be for the chosen values."""
        wanted = [
            name
            for name, item in self.items.items()
            if all(item[field] == value for field, value in chosen.items() if value)
        ]
        shown = [self.page.evaluate(SHOWN, selector) for selector in self.selectors]
        said = self.page.evaluate(SAID)
        if shown[0] != wanted or any(len(each) != len(wanted) for each in shown):
            self.problems.append(f"{what}: {[len(s) for s in shown]} shown for {len(wanted)}")
        if not said.startswith(f"{len(wanted) or 'None'} of {len(self.items)} {self.noun}"):
            self.problems.append(f"{what}: says {said!r}")

    def open(self, what: str, query: str, **chosen: str) -> None:
        """Open an address and compare."""
        self.page.goto(f"{self.address}{query}", wait_until="load")
        self.compare(what, **chosen)

    def work(self) -> list[str]:
        """Do all that a reader can, and return what was wrong."""
        page, (first, second) = self.page, self.fields
        values = {f: list(dict.fromkeys(i[f] for i in self.items.values())) for f in self.fields}
        self.open("at first", "")
        for pair in product(*(["", *values[field]] for field in self.fields)):
            chosen = dict(zip(self.fields, pair, strict=True))
            for field, value in chosen.items():
                page.get_by_role("combobox", name=self.fields[field]).select_option(value)
            self.compare(f"chosen {chosen}", **chosen)
            query = urlencode({field: value for field, value in chosen.items() if value})
            if urlsplit(page.url).query != query:
                self.problems.append(f"the address is {page.url!r} for {chosen}")
        page.get_by_role("button", name="Show all").press("Enter")
        page.wait_for_timeout(100)
        self.compare("after Show all")
        page.get_by_role("combobox", name=self.fields[first]).focus()
        page.keyboard.press("ArrowDown")
        top = page.get_by_role("combobox", name=self.fields[first]).input_value()
        self.compare("by keyboard", **{first: top})
        page.keyboard.press("Tab")
        page.keyboard.press("ArrowDown")
        lower = page.get_by_role("combobox", name=self.fields[second]).input_value()
        self.compare("by keyboard, further", **{first: top, second: lower})
        if not (top and lower):
            self.problems.append("the keyboard chooses nothing")
        one, other = values[first][-1], values[second][0]
        address = f"?{first}={one.upper()}&{second}={other}"
        self.open("by address", address, **{first: one, second: other})
        self.open("by an address that makes no sense", f"?{first}=nothing&{second}=")
        hidden = next(name for name, item in self.items.items() if item[first] != one)
        self.open("at an item that the filter hides", f"?{first}={one}#{hidden}")
        bare = self.new_page(java_script_enabled=False)
        bare.goto(self.address, wait_until="load")
        seen = sum(item.is_visible() for item in bare.locator(self.selectors[0]).all())
        if bare.locator(".page-filter").is_visible() or seen != len(self.items):
            self.problems.append(f"without script {seen} are shown, or the form is")
        return self.problems


def test_the_filter_of_the_claims(new_page, base):
    files = (ROOT / "book/data").glob("claims-*.json")
    claims = [c for path in sorted(files) for c in json.loads(path.read_text("utf-8"))["claims"]]
    claims.sort(key=lambda claim: (PAPERS.index(claim["paper"]), bool(claim["reconstructed"])))
    items = {
        f"claim-{claim['id'].replace('.', '-')}": {
            "paper": claim["paper"],
            "verdict": WORDS["reconstructed" if claim["reconstructed"] else claim["verdict"]],
        }
        for claim in claims
    }
    fields = {"paper": "Paper", "verdict": "Verdict"}
    none(Filter(new_page, f"{base}/{LEDGER}", "claims", fields, items, [CLAIM]).work())


def test_a_count_of_the_summary_leads_to_so_many_claims(new_page, base):
    page = new_page()
    page.goto(f"{base}/{LEDGER}", wait_until="load")
    link = page.locator("a[href*='verdict=fails']").first
    count = int(link.inner_text())
    link.click()
    page.wait_for_load_state("load")
    assert len(page.evaluate(SHOWN, CLAIM)) == count


@pytest.fixture(scope="module")
def figures():
    """The figures of all chapters."""
    return chapter_figures(ROOT)


def test_the_filter_of_the_gallery(new_page, base, figures):
    items = {}
    for figure in figures:
        key = published(figure.name, ROOT).manifest["source"].partition(",")[0].lower()
        paper = key if key in PAPERS else "ours"
        items[f"entry-{figure.name}"] = {"chapter": str(figure.chapter), "paper": paper}
    fields = {"chapter": "Chapter", "paper": "Figure of"}
    none(Filter(new_page, f"{base}/{GALLERY}", "figures", fields, items, [".figure-entry"]).work())


def test_the_figures_of_the_gallery(new_page, base, html, figures):
    """Each figure has its number, its files, and a line in its chapter; the page is light."""
    page = new_page()
    page.goto(f"{base}/{GALLERY}", wait_until="load")
    cards = {card["id"]: card for card in page.evaluate(CARDS)}
    problems, weight = [], (html / GALLERY).stat().st_size
    for figure in figures:
        name = figure.name
        card = cards.get(f"entry-{name}", {"links": {}, "classes": [], "picture": "", "text": ""})
        # a figure that its chapter leaves out has no number, and leads to the chapter's top
        has_number = bool(re.search(rf"Fig\. {figure.chapter}\.\d+\D", card["text"]))
        if has_number != figure.shown or "companion" not in card["text"]:
            problems.append(f"{name} has the wrong number, or lacks its command")
        target = urlsplit(card["picture"])
        if target.fragment != (name if figure.shown else ""):
            problems.append(f"{name} links to {card['picture']!r}")
        for kind in ("PNG", "BibTeX", "PDF", "CSV"):
            path = html / unquote(urlsplit(card["links"].get(kind, "-")).path).lstrip("/")
            if not path.is_file() or not path.stat().st_size:
                problems.append(f"{name} has no {kind}")
        weight += (html / "_images" / f"{name}.thumb.png").stat().st_size
        chapter = (html / target.path.lstrip("/")).read_text("utf-8")
        if (f'gallery.html#entry-{name}"' in chapter) != figure.shown:
            problems.append(f"{name} has no line below it that leads here, or one too many")
    if weight > GALLERY_WEIGHT:
        problems.append(f"{weight} bytes; allowed: {GALLERY_WEIGHT}")
    none(problems)
