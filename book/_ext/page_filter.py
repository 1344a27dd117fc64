"""The form by which a page's claims or figures are filtered; ``page_filter.js`` works it."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from docutils import nodes

SCRIPT = "page_filter.js"


def make_form(
    noun: str,
    items: str,
    fields: Mapping[str, tuple[str, Mapping[str, str]]],
    counted: str = "*",
    anchor: str = "",
) -> nodes.raw:
    """Write a filter; it stays hidden where no script runs, and all items are shown.

    Parameters
    ----------
    noun : str
        What the items are called.
    items, counted : str
        Selectors of the items, and of those of them that are counted.
    fields : dict
        Name of each field → its title, and what can be chosen: value → text. A chosen value shows
        the items that have the class ``NAME-VALUE``.
    anchor : str
        Where on the page the address leads when something has been chosen.
    """

    def select(name: str, title: str, options: Mapping[str, str]) -> str:
        chosen = "".join(
            f'<option value="{escape(value)}">{escape(text)}</option>'
            for value, text in {"": "all", **options}.items()
        )
        return f'<label>{escape(title)} <select name="{name}">{chosen}</select></label>'

    said = {"items": items, "counted": counted, "noun": noun, "anchor": anchor}
    data = " ".join(f'data-{name}="{escape(value)}"' for name, value in said.items())
    text = (
        f'<form class="page-filter" hidden aria-label="Filter the {noun}" {data}>'
        + "".join(select(name, *field) for name, field in fields.items())
        + '<button type="reset">Show all</button>'
        + '<output role="status" aria-live="polite"></output></form>'
    )
    return nodes.raw("", text, format="html")


def load_script(app: Any, page: str) -> None:
    """Load the script on one page, and nowhere else."""

    def add(app: Any, pagename: str, *args: Any) -> None:
        if pagename == page:
            app.add_js_file(SCRIPT, loading_method="defer")

    app.connect("html-page-context", add)
