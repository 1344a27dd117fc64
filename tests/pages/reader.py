"""What the checks of the built pages share: a page that is open, and how problems are told."""

import pytest
from browser import ALL_IMAGES, TYPESET

DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
FIRST = "book/intro.html"
PATIENCE = 180_000
"""Milliseconds after which a page will not come, on a machine at work either."""

PAINTED = """async () => {
    for (let tries = 0; tries < 50; tries++) {
        const [first] = performance.getEntriesByName('first-contentful-paint');
        if (first) return first.startTime / 1000;
        await new Promise(done => setTimeout(done, 20));
    }
    return NaN;
}"""
"""Seconds until the text of a page is there to be read; its formulas may follow."""
LOADED = """() => ['navigation', 'resource'].flatMap(kind => performance.getEntriesByType(kind))
    .map(entry => [entry.name.split('/').pop(), entry.decodedBodySize])"""
"""What the browser has read before its reader scrolls, and how many bytes, uncompressed."""


OPEN = "() => [...document.querySelectorAll('details')].map(node => node.open)"
REOPEN = """open => {
    document.querySelectorAll('details').forEach((node, at) => { node.open = open[at]; });
    history.replaceState(null, '', location.pathname);
    dispatchEvent(new Event('wheel'));  // a link's target is no longer held in sight
    scrollTo({ top: 0, behavior: 'instant' });
}"""
"""Leave the folds, the address and the place on the page as they were."""
UNFOLD = "() => { for (const node of document.querySelectorAll('details')) node.open = true; }"
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


class Visit:
    """A page that is open, first at the desk, with what its browser has noted."""

    def __init__(self, browser, base: str, name: str) -> None:
        self.name, self.base = name, base
        self.state: set[str] = set()
        self.console: list[str] = []  # errors so far
        self.requests: list[str] = []  # asked of other hosts, or answered by an error
        self.page = page = browser.new_context(viewport=DESKTOP).new_page()
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda m: self.console.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: self.console.append(str(error)))
        page.on("request", self.note_request)
        page.on("response", self.note_response)
        page.goto(f"{base}/{name}", wait_until="load")
        page.evaluate(TYPESET)
        self.painted: float = page.evaluate(PAINTED)
        self.loaded: list[tuple[str, int]] = page.evaluate(LOADED)
        self.folds: list[bool] = page.evaluate(OPEN)

    def show(self, wanted: set[str]) -> None:
        """Show the page in a state, some of ``phone``, ``dark``, ``unfolded`` and ``thin``."""
        page, change = self.page, self.state ^ wanted
        if "dark" in change:
            page.emulate_media(color_scheme="dark" if "dark" in wanted else "light")
        if "unfolded" in change and "unfolded" in wanted:
            page.evaluate(UNFOLD)
            page.evaluate(ALL_IMAGES)
        elif "unfolded" in change:
            page.evaluate(REOPEN, self.folds)
        # after the folds: at a change of size the theme looks at what is open
        if "phone" in change:
            page.set_viewport_size(PHONE if "phone" in wanted else DESKTOP)
        if "thin" in change:
            page.evaluate(THIN)
        if change:
            page.wait_for_timeout(400 if "unfolded" in change else 250)
        self.state = wanted

    def note_request(self, request) -> None:
        """Note what is asked of another host."""
        if not request.url.startswith((self.base, "data:", "blob:", "about:")):
            self.requests.append(f"to another host: {request.url}")

    def note_response(self, response) -> None:
        """Note an answer that is an error."""
        if response.status >= 400:
            address = response.url.removeprefix(self.base)
            self.requests.append(f"answered {response.status}: {address}")


def on(*names: str):
    """Let a test visit these pages, instead of all."""
    return pytest.mark.parametrize("visit", names, indirect=True)


def none(problems: list[str]) -> None:
    """Fail if there are problems, and tell the first eight."""
    unique = list(dict.fromkeys(problems))
    more = [f"and {len(unique) - 8} more"] if len(unique) > 8 else []
    if unique:
        pytest.fail("\n".join([*unique[:8], *more]), pytrace=False)


def all_said(wanted, problems: list[str]) -> None:
    """Fail if something is not said of faults that were planted."""
    none([f"{what!r} is not said" for what in wanted if not any(what in one for one in problems)])
