"""The explorer: its form, its empty figures, and the data that its script fills them with.

``explorer-form`` writes the controls that everything follows, and ``explorer-figure PART`` one of
the figures ``regret``, ``found``, ``time`` and ``weights``: with its own controls, its place, a
numbered caption, which is the directive's content, and a table of the same numbers.
``explorer-views`` lists the views of the chapters, and the role ``explored`` links one of them, by
the chapter's number, from anywhere: ``{explored}`change ε <03>` ``. The data is
written beside the page when the build ends, as scripts, which a page on a disk can load: one of
what there is to choose, and one for each instance, which ``explorer.js`` loads when it is chosen.
"""

import hashlib
import json
from functools import partial
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.errors import ExtensionError
from sphinx.util.docutils import ReferenceRole, SphinxDirective

import companion
import dpbandits
from companion import explorer
from companion.explorer import VIEWS
from companion.publishing import FOLDER, published
from dpbandits._files import write_atomically

PAGE = "book/explorer"
SCRIPT, STYLE = "explorer.js", "explorer.css"
STORE, ENDINGS = Path("_build", "explorer.json"), ("py", "csv", "json")
"""Where the data of the last build lies, and which files it is made of."""

FORM = """
<p class="explorer-problem" id="x-problem" role="status">What follows needs a script and
<a href="explorer-data.js">its data</a>.</p>
<form class="explorer-form" id="x-form" aria-label="What to explore" hidden>
<label for="x-instance">Instance <select id="x-instance"></select></label>
<label for="x-arms">Arms <i>K</i> <select id="x-arms"></select></label>
<label for="x-epsilon" class="wide">Privacy budget ε = <output id="x-epsilon-now"
 for="x-epsilon"></output> <input type="range" id="x-epsilon" min="0" step="1"></label>
</form>
"""
SAID = """
<p class="explorer-said" id="x-said" role="status" aria-live="polite"></p>
"""
"""What all figures show, in sentences; it stands below the first of them."""

CONTROLS = {
    "regret": """
<form class="explorer-own" aria-label="Regret: what to show" hidden>
<label for="x-horizon">Pulls <i>T</i> <select id="x-horizon"></select></label>
<label for="x-view">Against <select id="x-view"><option value="time">pulls</option>
<option value="budget">ε</option></select></label>
<fieldset id="x-regret-budgets"><legend>Budgets simulated</legend></fieldset>
<fieldset id="x-regret-names"><legend>Algorithms</legend></fieldset>
</form>
<p id="x-regret-none" hidden>Regret was not simulated on this instance; it was on others.</p>""",
    "found": """
<form class="explorer-own" aria-label="Identification: what to show" hidden>
<label for="x-delta">Probability of error δ <select id="x-delta"></select></label>
<fieldset id="x-found-names"><legend>Algorithms</legend></fieldset>
</form>""",
    "time": "",
    "weights": "",
}

TABLE = """
<details class="explorer-table"><summary>{title}, as a table</summary>
<div class="explorer-scroll" tabindex="0" role="region" aria-label="{title}, as a table">
<table class="table" id="x-{part}-table"></table></div></details>
"""


class ExplorerForm(SphinxDirective):
    """The controls that all figures follow."""

    def run(self) -> list[nodes.Node]:
        """Write them, hidden until the script has the data."""
        return [nodes.raw("", FORM, format="html")]


def view_link(text: str, number: str, page: str = "") -> nodes.reference:
    """Link a view; `page` leads to the explorer, and is empty on its own page."""
    return nodes.reference("", text, refuri=f"{page}{VIEWS[number].address}", internal=True)


class ExplorerViews(SphinxDirective):
    """The views of the chapters, one a line."""

    def run(self) -> list[nodes.Node]:
        """Write them."""
        items = nodes.bullet_list()
        for number, view in VIEWS.items():
            line = nodes.paragraph("", f"Chapter {int(number)}: ")
            line += view_link(f"{view.says[0].lower()}{view.says[1:]}", number)
            items += nodes.list_item("", line)
        return [items]


class Explored(ReferenceRole):
    """A link to the view of a chapter."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Write it; without a text of its own it is what the view says."""
        if self.target not in VIEWS:
            said = f"no view {self.target!r}; there are {', '.join(VIEWS)}"
            return [], [self.inliner.reporter.error(said, line=self.lineno)]
        page = self.env.app.builder.get_relative_uri(self.env.docname, PAGE)
        text = self.title if self.has_explicit_title else VIEWS[self.target].says
        return [view_link(text, self.target, page)], []


class ExplorerFigure(SphinxDirective):
    """A figure that the script draws."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {"title": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Write its controls, its place with a caption, and its table."""
        part = directives.choice(self.arguments[0], tuple(CONTROLS))
        caption = nodes.caption()
        for paragraph in self.parse_content_to_nodes():
            caption += paragraph.children
        figure = nodes.figure(classes=["explorer-figure"], ids=[f"x-{part}"], names=[f"x-{part}"])
        figure += nodes.raw(
            "", f'<div class="explorer-plot" id="x-{part}-plot"></div>', format="html"
        )
        figure += caption
        self.state.document.note_explicit_target(figure, figure)
        table = TABLE.format(part=part, title=escape(self.options["title"]))
        before = [nodes.raw("", CONTROLS[part], format="html")] if CONTROLS[part] else []
        if part == "found":
            table = SAID + table
        return [*before, figure, nodes.raw("", table, format="html")]


def add_files(app: Any, pagename: str, *args: Any) -> None:
    """Load script and style on the explorer's page, and nowhere else."""
    if pagename == PAGE:
        app.add_js_file(SCRIPT, loading_method="defer")
        app.add_css_file(STYLE)


def write_data(app: Any, exception: Exception | None) -> None:
    """Write the data beside the page."""
    if exception or app.builder.format != "html" or PAGE not in app.env.found_docs:
        return
    page = Path(app.outdir, PAGE)
    for name, text in scripts_of(Path(app.srcdir)).items():
        write_atomically(page.with_name(name), text)


def scripts_of(root: Path) -> dict[str, str]:
    """Return the scripts with the data; those of the build before if they would be the same."""
    store, key = root / STORE, made_of(root)
    kept = json.loads(store.read_text(encoding="utf-8")) if store.is_file() else {}
    if kept.get("made of") == key:
        return dict(kept["scripts"])
    try:
        scripts = explorer.to_scripts(explorer.assemble(partial(published, root=root)))
    except ValueError as error:
        raise ExtensionError(str(error)) from error
    store.parent.mkdir(exist_ok=True)
    write_atomically(store, json.dumps({"made of": key, "scripts": scripts}))
    return scripts


def made_of(root: Path) -> str:
    """Return a digest of all that the data is made of: published figures, and code."""
    digest = hashlib.sha256("".join(map(version, ("numpy", "scipy", "numba"))).encode())
    folders = [root / FOLDER, *(Path(m.__file__ or "").parent for m in (companion, dpbandits))]
    for folder in folders:
        for path in sorted(path for ending in ENDINGS for path in folder.rglob(f"*.{ending}")):
            digest.update(f"\0{path.relative_to(folder).as_posix()}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def setup(app: Any) -> dict[str, bool]:
    """Add the directives, the files and the data."""
    app.add_directive("explorer-form", ExplorerForm)
    app.add_directive("explorer-views", ExplorerViews)
    app.add_role("explored", Explored())
    app.add_directive("explorer-figure", ExplorerFigure)
    app.connect("html-page-context", add_files)
    app.connect("build-finished", write_data)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
