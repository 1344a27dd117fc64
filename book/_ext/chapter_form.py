"""The form of a chapter: its quiet line, its verdicts as badges, its proofs that fold.

``quiet`` is the line under the title. It says what the reader needs, which is its content; how long
the page takes, which is counted from the page; and with what the chapter was computed, which the
chapter's `companion.publishing.Page.quiet` says. ``badge`` writes the verdict on a claim and
links it to the page of claims, so that the two cannot differ.

A proof folds in a ``dropdown`` whose container has the class ``proof-fold``; ``fold.js`` opens it
for links and searched words; ``follow.js`` marks the section that is being read.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from claims_ledger import PAGE, STANDINGS, label, standing
from docutils import nodes
from exercises import glued
from sphinx.util.docutils import SphinxDirective, SphinxRole

from companion.publishing import FACTS

SCRIPTS = ("fold.js", "follow.js")
WORDS_A_MINUTE = 200
MINUTES_A_PROOF = 5
FOLD = "proof-fold"
HIDDEN = {"dropdown", "quiet", "cell_output", "figure-footer", "theorem-links", "toctree-wrapper"}
"""Classes of what does not count as text in sight."""
HIDDEN_CELLS = re.compile(r"tag_(?:hide|remove)[-_](?:input|cell)")


# -------------------------------------------------------------------------------------- minutes


def in_sight(node: nodes.Node) -> bool:
    """Tell whether a reader who unfolds nothing reads what is in a node."""
    if isinstance(node, nodes.raw | nodes.comment | nodes.Invisible | nodes.system_message):
        return False
    if not isinstance(node, nodes.Element):
        return True
    classes = set(node.get("classes", ()))
    folded = node.get("design_component") == "dropdown" and not node.get("opened")
    return not (folded or classes & HIDDEN or any(map(HIDDEN_CELLS.fullmatch, classes)))


def words_in(node: nodes.Node) -> int:
    """Count the words in sight; a formula counts as one."""
    if not in_sight(node):
        # a caption is read, though it stands among what a cell prints
        return sum(words_in(caption) for caption in _captions(node))
    if isinstance(node, nodes.math | nodes.math_block):
        return 1
    if isinstance(node, nodes.Text):
        return len(node.astext().split())
    return sum(map(words_in, node.children))


def _captions(node: nodes.Node) -> Iterator[nodes.Element]:
    if isinstance(node, nodes.container) and {"cell", "cell_output"} & set(node["classes"]):
        yield from node.findall(nodes.caption)


def minutes_of(document: nodes.Element) -> tuple[int, int]:
    """Return the minutes that a page takes without and with the proofs that are folded away."""
    boxes = document.findall(nodes.container)
    of_boxes = (node.get("container_classes", ()) for node in boxes)
    folds = sum(FOLD in classes and "claim" not in classes for classes in of_boxes)
    without = max(1, math.ceil(words_in(document) / WORDS_A_MINUTE))
    return without, without + MINUTES_A_PROOF * folds


def said(minutes: tuple[int, int]) -> str:
    """Write the minutes."""
    without, with_proofs = minutes
    unit = "minute" if without == 1 else "minutes"
    proofs = f", {with_proofs} with the proofs" if with_proofs > without else ""
    return f"{without} {unit}{proofs}."


class Minutes(nodes.inline):
    """Where the minutes are written once the page is read."""


def write_minutes(app: Any, document: nodes.document) -> None:
    """Count the page, and write the minutes."""
    for place in list(document.findall(Minutes)):
        place.replace_self(nodes.Text(said(minutes_of(document))))


class Quiet(SphinxDirective):
    """The line under the title."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Write what is needed, the minutes, and what the chapter says of its execution."""
        line = nodes.paragraph()
        for node in self.parse_content_to_nodes():
            if not isinstance(node, nodes.paragraph):
                raise self.error("the quiet line is one paragraph")
            line += [*node.children, nodes.Text(" ")]
        line += Minutes()
        if facts := self.facts():
            line += nodes.Text(f" {facts}")
        return [nodes.container("", line, classes=["quiet"])]

    def facts(self) -> str:
        """Return what the page's notebook says of its execution; empty if it is none."""
        path = Path(self.env.doc2path(self.env.docname))
        if path.suffix != ".ipynb":
            return ""
        values = glued(json.loads(path.read_text(encoding="utf-8")))
        if FACTS not in values:
            raise self.error("the chapter has not said how it was computed: page.quiet(...)")
        return values[FACTS]


# --------------------------------------------------------------------------------------- badges


class Badge(SphinxRole):
    """The verdict on a claim, which its id names, as a link to the page of claims."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Read the verdict where the chapters publish it."""
        verdict = self.verdict()
        if verdict is None:
            message = self.inliner.reporter.error(f"no claim {self.text!r}", line=self.lineno)
            return [], [message]
        page = self.env.app.builder.get_relative_uri(self.env.docname, PAGE)
        place = nodes.make_id(label({"id": self.text}))
        _, style = STANDINGS[verdict]
        word = nodes.inline("", verdict, classes=["verdict", style])
        link = nodes.reference(self.rawtext, "", word, refuri=f"{page}#{place}", internal=True)
        link["classes"].append("badge-link")
        return [link], []

    def verdict(self) -> str | None:
        """Return the verdict on the claim, or that it is reconstructed; none if there is none."""
        for path in sorted(Path(self.env.srcdir, "book", "data").glob("claims-*.json")):
            for claim in json.loads(path.read_text(encoding="utf-8"))["claims"]:
                if claim["id"] == self.text:
                    self.env.note_dependency(str(path))
                    return standing(claim)
        return None


def setup(app: Any) -> dict[str, bool]:
    """Add the line, the badges, and the scripts of the folds and of the list of sections."""
    app.add_node(Minutes)
    app.add_directive("quiet", Quiet)
    app.add_role("badge", Badge())
    for script in SCRIPTS:
        app.add_js_file(script, loading_method="defer")
    app.connect("doctree-read", write_minutes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
