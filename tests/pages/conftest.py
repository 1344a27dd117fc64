"""The built pages in a headless browser: ``pytest -n 2 tests/pages``, ``-k TEXT`` for some.

``--build`` says where they are, ``--axe all`` has axe-core look at each, and ``--screenshots DIR``
writes pictures of them. The tests of one page share it, and those of one page follow each other in
one process.
"""

import re
from functools import cache
from pathlib import Path

import pytest
from browser import FLAGS, find_browser, serve
from playwright.sync_api import sync_playwright
from reader import DESKTOP, PATIENCE, Visit
from test_access import AXE_PAGES
from test_reference import EVERY, NAMES_PAGES

STATES = ("phone", "dark", "unfolded", "thin")
"""What a page may be: the last is without formulas, which do not come back."""


def pytest_addoption(parser):
    """Say where the pages are, and how much is looked at."""
    parser.addoption("--build", type=Path, default=Path("_build/html"), help="the built pages")
    parser.addoption("--axe", choices=["some", "all"], default="some", help="pages for axe-core")
    parser.addoption("--screenshots", type=Path, help="a folder for pictures of every page")


def pytest_configure(config):
    """Refuse to check what was not built."""
    build = config.option.build = config.option.build.resolve()
    if not (build / "search.html").is_file():
        raise pytest.UsageError(f"no pages in {build}; make html builds them")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Let one process have all tests of a page."""
    from xdist.scheduler import LoadScopeScheduling

    class ByPage(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            page = re.search(r"\[(\S+?\.html)", nodeid)
            return page[1] if page else nodeid.partition("::")[0]

    config.option.loadscopereorder = False
    return ByPage(config, log)


@cache
def list_pages(build: Path) -> list[str]:
    """Return the pages' addresses below the folder, the redirect of the first page left out.

    Of the pages for one name each, which are made alike, some are looked at, and the longest name.
    """
    paths = sorted(path.relative_to(build) for path in build.rglob("*.html"))
    skipped = ("_static", "_sources", "_downloads", "_modules", "index.html")
    pages = [path.as_posix() for path in paths if path.parts[0] not in skipped]
    alike = [name for name in pages if name.startswith(NAMES_PAGES)]
    some = {*alike[::EVERY], *sorted(alike, key=len)[-1:]}
    return [name for name in pages if name not in alike] + sorted(some)


def pytest_generate_tests(metafunc):
    """Let a test that names no pages visit all."""
    named = any(mark.args[0] == "visit" for mark in metafunc.definition.iter_markers("parametrize"))
    if "visit" in metafunc.fixturenames and not named:
        pages = list_pages(metafunc.config.option.build)
        if "thin" in metafunc.fixturenames and metafunc.config.option.axe == "some":
            pages = [name for name in pages if name in AXE_PAGES]
        metafunc.parametrize("visit", pages, indirect=True)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Keep the tests of a page together, the largest page first, and what changes it last."""

    def place(item):
        name = item.callspec.params.get("visit") if hasattr(item, "callspec") else None
        path = config.option.build / (name or "")
        size = path.stat().st_size if name and path.is_file() else 0
        heard, thin, unfolded = (f in item.fixturenames for f in ("heard", "thin", "unfolded"))
        return (
            bool(name),
            -size,
            name or item.path.name,
            heard,
            thin and not unfolded,
            thin,
            unfolded,
        )

    here = [item for item in items if item.path.parent == Path(__file__).parent]
    others = [item for item in items if item not in here]
    if not config.option.screenshots:
        here = [item for item in here if "pictures" not in item.fixturenames]
    items[:] = others + sorted(here, key=place)


@pytest.fixture(scope="session")
def html(pytestconfig) -> Path:
    """The folder of the built pages."""
    return pytestconfig.option.build


@pytest.fixture(scope="session")
def base(html):
    """The address at which they are served."""
    with serve(html) as address:
        yield address


@pytest.fixture(scope="session")
def browser():
    """A headless browser."""
    program = find_browser()
    if program is None:
        pytest.skip("no browser here, so the pages were NOT checked (install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def new_page(browser):
    """Open an empty page at the desk, with whatever a context may be told; it is closed after."""
    contexts = []

    def new(**told):
        contexts.append(browser.new_context(viewport=DESKTOP, **told))
        contexts[-1].set_default_timeout(PATIENCE)
        return contexts[-1].new_page()

    yield new
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def at_hand():
    """The visit that lasts, in a list of one."""
    return []


@pytest.fixture
def visit(request, browser, base, at_hand) -> Visit:
    """A page that is open, from a test before or anew, in the state that the test asks for."""
    heard = "heard" in request.fixturenames
    wanted = {state for state in STATES if state in request.fixturenames}
    for visit in at_hand:
        if visit.name != request.param or ("thin" in visit.state - wanted and not heard):
            visit.page.context.close()
            at_hand.clear()
    if not at_hand:
        at_hand.append(Visit(browser, base, request.param))
    if not heard:
        at_hand[0].show(wanted)
    return at_hand[0]


@pytest.fixture
def page(visit):
    """The page itself; a test leaves it as it was."""
    return visit.page


def state(name):
    """Return a fixture that a test names to say what its page is; `visit` reads the name."""
    return pytest.fixture(lambda: None, name=name)


phone, dark, unfolded, thin = map(state, STATES)
heard = state("heard")  # whatever the tests before have done to it


@pytest.fixture
def pictures(pytestconfig):
    """The folder for pictures of the pages."""
    folder = pytestconfig.option.screenshots
    folder.mkdir(parents=True, exist_ok=True)
    return folder
