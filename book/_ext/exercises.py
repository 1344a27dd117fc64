"""Sphinx extension: the exercises of all chapters on one page.

``collected-exercises`` reads the section "Exercises" of each notebook in ``notebooks/`` and writes
it under the chapter's title, solutions hidden as in the chapter. Numbers that a chapter glues are
read from its outputs.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

HEADING = "## Exercises\n"
RECORD = "application/papermill.record/text/plain"


def chapter_title(notebook: dict[str, Any]) -> str:
    """Return the first heading of a notebook."""
    first = "".join(notebook["cells"][0]["source"]).lstrip()
    return re.match(r"# (.+)", first)[1]  # type: ignore[index]


def glued(notebook: dict[str, Any]) -> dict[str, str]:
    """Return the values that a notebook's cells glue, by name, as the pages show them."""
    found = {}
    for cell in notebook["cells"]:
        for output in cell.get("outputs", ()):
            record = output.get("data", {}).get(RECORD)
            if record is not None:
                name = output["metadata"]["scrapbook"]["name"]
                found[name] = "".join(record).strip("'\"")
    return found


def exercises_of(notebook: dict[str, Any]) -> str:
    """Return the text of the section "Exercises" of a notebook, ready for another page.

    Raises
    ------
    ValueError
        If there is none.
    """
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown" and HEADING in text:
            section = text.split(HEADING, 1)[1]
            break
    else:
        raise ValueError('no section "Exercises"')
    section = re.split(r"(?m)^(?:## |\([\w-]+\)=$)", section)[0].strip()
    values = glued(notebook)
    section = re.sub(r"\{glue:text\}`([^`]+)`", lambda m: values[m[1].split(":")[0]], section)
    return re.sub(r"(\{doc\}`[^<`]*<)(\d)", r"\1/notebooks/\2", section)


class CollectedExercises(SphinxDirective):
    """All exercises, chapter by chapter."""

    def run(self) -> list[nodes.Node]:
        """Write them."""
        folder = Path(self.env.srcdir) / "notebooks"
        lines: list[str] = []
        for path in sorted(folder.glob("[0-9]*.ipynb")):
            self.env.note_dependency(str(path))
            notebook = json.loads(path.read_text(encoding="utf-8"))
            lines += [f"### {chapter_title(notebook)}", ""]
            lines += [f"From {{doc}}`/notebooks/{path.stem}`.", ""]
            lines += [*exercises_of(notebook).splitlines(), ""]
        return self.parse_text_to_nodes(
            StringList(lines, source="exercises"), allow_section_headings=True
        )


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("collected-exercises", CollectedExercises)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
