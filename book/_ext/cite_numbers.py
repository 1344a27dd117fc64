"""A name for each number, table and figure of a chapter, by which it can be linked and cited.

A number in the text has the name of what the chapter glued, so that ``03:run-ends`` means the same
on the page, in an address (``…#n-run-ends``) and for ``companion cite``. Tables are numbered in
their order on the page. ``cite.js`` has a button under the title, which shows a sign at each of
them; the sign copies the sentence, the name, the version and the BibTeX entry that
``companion cite`` prints.
"""

import json
import re
from html import escape
from pathlib import Path, PurePosixPath
from typing import Any

from docutils import nodes
from myst_nb.ext.glue.domain import NbGlueDomain
from myst_nb.ext.glue.roles import PasteTextRole

import dpbandits
from companion.citing import AUTHORS, TITLE, YEAR, title_of_figure
from companion.publishing import published, published_names

SCRIPT = "cite.js"
FOLDER = "notebooks/"
TABLE = re.compile(r"<table\b(?![^>]*\bid=)")
FIGURE = re.compile(r"<figure\b[^>]*\bid=\"([^\"]+)\"")


class NamedNumber(PasteTextRole):
    """The role ``glue:text``; what it writes has the name of the number, once on each page."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Write the number, and name it."""
        written, messages = super().run()
        key = self.text.rsplit("::", 1)[-1].partition(":")[0]
        name = f"n-{nodes.make_id(key)}"
        for node in written:
            # a number that another chapter glued is cited there
            if isinstance(node, nodes.inline) and "::" not in self.text:
                node["number"] = key
                if name not in self.document.ids:
                    self.document.ids[name] = node
                    node["ids"].append(name)
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


def prepare(app: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Name a chapter's tables, and hand the script what an entry needs."""
    if not page.startswith(FOLDER) or "body" not in context:
        return
    context["body"] = name_tables(context["body"])
    root = Path(app.srcdir)
    figures = sorted({*FIGURE.findall(context["body"])} & {*published_names(root)})
    said = {
        "author": AUTHORS,
        "title": TITLE,
        "version": dpbandits.__version__,
        "year": YEAR,
        "chapter": PurePosixPath(page).name.partition("_")[0],
        "figures": {name: title_of_figure(published(name, root)) for name in figures},
    }
    content = escape(json.dumps(said, ensure_ascii=False), quote=True)
    context["metatags"] = context.get("metatags", "") + (
        f'\n<meta name="book-citation" content="{content}" />\n'
    )
    app.add_js_file(SCRIPT, loading_method="defer")


def setup(app: Any) -> dict[str, bool]:
    """Take the place of the role, and connect the rest."""
    NbGlueDomain.roles = {**NbGlueDomain.roles, "text": NamedNumber()}
    app.connect("html-page-context", prepare, priority=700)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
