"""What the pages need for readers with a keyboard or a screen reader, and the tools leave out.

Entries of the bibliography are items of their list; the corner of a table with two heads is no
heading; and ``access.js`` lets the keyboard reach what scrolls sideways.
"""

import re
from typing import Any

SCRIPT = "access.js"
EMPTY_HEAD = re.compile(r'<th class="([^"]*)"><p></p></th>')


def mend(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Mend the roles in a page's body."""
    if body := context.get("body"):
        # An older role, which readers no longer take for an item of a list.
        body = body.replace('role="doc-biblioentry"', 'role="listitem"')
        context["body"] = EMPTY_HEAD.sub(r'<td class="\1"></td>', body)


def setup(app: Any) -> dict[str, bool]:
    """Mend each page, and give it the script."""
    app.add_js_file(SCRIPT, loading_method="defer")
    app.connect("html-page-context", mend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
