"""Sphinx extension: the exercises of all chapters on one page.

``collected-exercises`` reads the section "Exercises" of each notebook in ``notebooks/`` and writes
it under the chapter's title, solutions hidden as in the chapter. Numbers that a chapter glues are
read from its outputs. ``chosen-exercises`` lists some of them, each with a line on why: its lines
are ``03.2: why``, that is exercise 2 of chapter 3.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

HEADING = "## Exercises\n"
RECORD = "application/papermill.record/text/plain"
NUMBERED = re.compile(r"(?m)^\*\*(\d+)\.\*\* \*([^*]+?)\.?\*")
"""How an exercise begins: its number and its name."""


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
                written = "".join(record)
                quoted = written[:1] in ("'", '"')
                found[name] = str(ast.literal_eval(written)) if quoted else written
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
    return re.sub(r"(\{doc\}`(?:[^<`]*<)?)(\d)", r"\1/notebooks/\2", section)


def place(chapter: str, number: str) -> str:
    """Return the id of an exercise on the page that collects them."""
    return f"exercise-{chapter}-{number}"


def chapters_of(env: BuildEnvironment) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the names and notebooks of all chapters; the page is read again when one changes."""
    for path in sorted(Path(env.srcdir, "notebooks").glob("[0-9]*.ipynb")):
        env.note_dependency(str(path))
        yield path.stem, json.loads(path.read_text(encoding="utf-8"))


class ChosenExercises(SphinxDirective):
    """A table of exercises that are worth doing first."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Write it, with a link to each; one that no chapter has is an error."""
        names = {
            (stem[:2], found[1]): found[2]
            for stem, notebook in chapters_of(self.env)
            for found in NUMBERED.finditer(exercises_of(notebook))
        }
        lines = ["| chapter | exercise | what it is good for |", "|---|---|---|"]
        for line in self.content:
            which, _, why = line.partition(": ")
            chapter, _, number = which.partition(".")
            if (chapter, number) not in names:
                raise self.error(f"chapter {chapter} has no exercise {number!r}")
            link = f"{{ref}}`{names[chapter, number]} <{place(chapter, number)}>`"
            lines.append(f"| {int(chapter)} | {link} | {why} |")
        return self.parse_text_to_nodes(StringList(lines, source="exercises"))


class CollectedExercises(SphinxDirective):
    """All exercises, chapter by chapter."""

    def run(self) -> list[nodes.Node]:
        """Write them."""
        lines: list[str] = []
        for stem, notebook in chapters_of(self.env):
            text = NUMBERED.sub(
                lambda found, chapter=stem[:2]: f"({place(chapter, found[1])})=\n{found[0]}",
                exercises_of(notebook),
            )
            lines += [f"### {chapter_title(notebook)}", ""]
            lines += [f"From {{doc}}`/notebooks/{stem}`.", ""]
            lines += [*text.splitlines(), ""]
        return self.parse_text_to_nodes(
            StringList(lines, source="exercises"), allow_section_headings=True
        )


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("chosen-exercises", ChosenExercises)
    app.add_directive("collected-exercises", CollectedExercises)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
