"""A name for each number, table and figure of a page, by which it can be linked and cited.

A number in the text has the name of what the chapter glued, so that ``03:run-ends`` means the same
on the page, in an address (``…#n-run-ends``) and for ``companion cite``. Tables are numbered in
their order on the page. Pages that are no chapters, `companion.citing.PAGES`, have the same; what
stands for the chapter's number is the page's name. ``cite.js`` has a button under the title, which
shows a sign at each of them; the sign copies the sentence, the name, the version and the BibTeX
entry that ``companion cite`` prints.
"""

import json
import re
from collections.abc import Collection
from html import escape
from pathlib import Path, PurePosixPath
from typing import Any

from docutils import nodes
from myst_nb.ext.glue.domain import NbGlueDomain
from myst_nb.ext.glue.roles import PasteTextRole
from sphinx.transforms.post_transforms import SphinxPostTransform

import dpbandits
from companion.citing import AUTHORS, PAGES, TITLE, YEAR, grouped_as_here, title_of_figure
from companion.publishing import published, published_names

SCRIPT = "cite.js"
FOLDER = "notebooks/"
TABLE = re.compile(r"<table\b(?![^>]*\bid=)")
FIGURE = re.compile(r"<figure\b[^>]*\bid=\"([^\"]+)\".*?</figure>", re.DOTALL)
DRAWN = re.compile(r"<img\b[^>]*\bsrc=\"[^\"]*?([\w-]+)\.svg\"")


def name_number(document: nodes.document, node: nodes.inline, key: str) -> None:
    """Give what shows a number the number's name, once on each page."""
    name = f"n-{nodes.make_id(key)}"
    node["number"] = key
    if name not in document.ids:
        document.ids[name] = node
        node["ids"].append(name)


class NamedNumber(PasteTextRole):
    """The role ``glue:text``; what it writes has the name of the number, once on each page."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Write the number, and name it."""
        written, messages = super().run()
        key = self.text.rsplit("::", 1)[-1].partition(":")[0]
        for node in written:
            # a number that another chapter glued is cited there
            if isinstance(node, nodes.inline) and "::" not in self.text:
                name_number(self.document, node, key)
        return written, messages


def name_tables(body: str) -> str:
    """Give each table of a page that has no name its number as one.

    Examples
    --------
    >>> name_tables('<table class="a"></table><table id="b"></table>')
    '<table id="table-1" class="a"></table><table id="b"></table>'
    """
    count = 0

    def named(match: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return f'{match[0]} id="table-{count}"'

    return TABLE.sub(named, body)


def figures_on(body: str, known: Collection[str]) -> dict[str, str]:
    """Return which published figures are on a page, by the ids that they have there.

    Examples
    --------
    >>> figures_on('<figure id="f"><img src="a/ours-x.svg"></figure>', ["ours-x"])
    {'f': 'ours-x'}
    """
    found = {}
    for figure in FIGURE.finditer(body):
        place = figure[1]
        drawn = [name for name in (place, *DRAWN.findall(figure[0])) if name in known]
        if drawn:
            found[place] = drawn[0]
    return found


def prepare(app: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Name a page's tables, and hand the script what an entry needs."""
    cited = page.startswith(FOLDER) or page in PAGES.values()
    if not cited or "body" not in context:
        return
    context["body"] = name_tables(context["body"])
    root = Path(app.srcdir)
    figures = figures_on(context["body"], published_names(root))
    said = {
        "author": AUTHORS,
        "title": TITLE,
        "version": dpbandits.__version__,
        "year": YEAR,
        "chapter": PurePosixPath(page).name.partition("_")[0],
        "figures": {
            place: [name, title_of_figure(published(name, root))] for place, name in figures.items()
        },
    }
    content = escape(json.dumps(said, ensure_ascii=False), quote=True)
    context["metatags"] = context.get("metatags", "") + (
        f'\n<meta name="book-citation" content="{content}" />\n'
    )
    app.add_js_file(SCRIPT, loading_method="defer")


AS_WRITTEN = (nodes.literal, nodes.literal_block, nodes.math, nodes.math_block, nodes.raw)


class GroupNumbers(SphinxPostTransform):
    """Group the numbers of a page.

    Chapters write 4,096 and 66,507, as Python groups digits; figures and first pages have narrow
    spaces. On the pages all numbers of five digits and more are grouped by narrow spaces that do
    not break, and those of four digits are not grouped: 4096 and 66 507. Code, its output and
    formulas stay as they are.
    """

    default_priority = 800

    def run(self) -> None:
        """Replace texts in which a number changes."""
        for text in list(self.document.findall(nodes.Text)):
            node: nodes.Node | None = text.parent
            while node is not None and not isinstance(node, AS_WRITTEN):
                node = node.parent
            written = str(text)
            if node is None and (shown := grouped_as_here(written)) != written:
                text.parent.replace(text, nodes.Text(shown))


def setup(app: Any) -> dict[str, bool]:
    """Take the place of the role, and connect the rest."""
    NbGlueDomain.roles = {**NbGlueDomain.roles, "text": NamedNumber()}
    app.connect("html-page-context", prepare, priority=700)
    app.add_post_transform(GroupNumbers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
