"""The line below a theorem: what of the package rests on it, and which claims it judges.

A docstring links the proof that it rests on by its label; a claim names the label where the book
judges it. Read backwards, both say what belongs to a theorem, an algorithm or a definition. So one
click leads from the docstring to the theorem and back, and from the theorem to the verdict and
back.
"""

import inspect
import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

from claims_ledger import PAGE, STANDINGS, Record, label, standing
from docutils import nodes
from sphinx import addnodes

from companion.front import front

LINK = re.compile(r":prf:ref:`(?:[^`<]*<)?([\w-]+)>?`")
STYLE = "theorem-links"


def labels_in(docstring: str | None) -> list[str]:
    """Return the labels of the proofs that a docstring links, each once.

    Examples
    --------
    >>> labels_in("Private: :prf:ref:`thm-privacy`, :prf:ref:`its cost <thm-regret>`.")
    ['thm-privacy', 'thm-regret']
    """
    return list(dict.fromkeys(LINK.findall(docstring or "")))


def uses(package: str) -> dict[str, list[str]]:
    """Return, by label, the names with a page that rest on it; a method counts for its class."""
    by_label: dict[str, list[str]] = defaultdict(list)
    for name, (_, _, _, _, thing) in front().items():
        if not name.startswith(f"{package}."):
            continue
        members = vars(thing).values() if inspect.isclass(thing) else ()
        texts = [thing.__doc__, *(getattr(m, "__doc__", None) for m in members)]
        for text in texts:
            for each in labels_in(text if isinstance(text, str) else None):
                if name not in by_label[each]:
                    by_label[each].append(name)
    return dict(by_label)


def judged(root: Path) -> dict[str, list[Record]]:
    """Return, by label, the claims that are judged there."""
    by_label: dict[str, list[Record]] = defaultdict(list)
    for path in sorted((root / "book" / "data").glob("claims-*.json")):
        for claim in json.loads(path.read_text(encoding="utf-8"))["claims"]:
            by_label[str(claim["section"])].append(claim)
    return dict(by_label)


def prepare(app: Any) -> None:
    """Read package and verdicts once."""
    app.uses_of_labels = uses("dpbandits")
    app.claims_of_labels = judged(Path(app.srcdir))


def code_link(docname: str, name: str) -> nodes.Element:
    """Link a name of the package."""
    short = name.rpartition(".")[2]
    link = addnodes.pending_xref(
        "", refdomain="py", reftype="obj", reftarget=name, refdoc=docname, refexplicit=True
    )
    link["refwarn"] = False
    link += nodes.literal("", short)
    return link


def claim_link(claims_page: str, claim: Record) -> list[nodes.Node]:
    """Link a claim, with its verdict."""
    name = standing(claim)
    _, style = STANDINGS[name]
    place = nodes.make_id(label(claim))
    link = nodes.reference("", claim["id"], refuri=f"{claims_page}#{place}", internal=True)
    return [link, nodes.Text(" "), nodes.inline("", name, classes=["verdict", style])]


def line(names: list[nodes.Element], claims: list[list[nodes.Node]]) -> nodes.paragraph:
    """Write the line."""
    written = nodes.paragraph(classes=[STYLE])
    if names:
        written += nodes.Text("In the package: ")
        for number, name in enumerate(names):
            if number:
                written += nodes.Text(", ")
            written += name
        written += nodes.Text(".")
    if claims:
        written += nodes.Text(" Judged: " if names else "Judged: ")
        for number, claim in enumerate(claims):
            if number:
                written += nodes.Text("; ")
            written += claim
        written += nodes.Text(".")
    return written


def add_lines(app: Any, document: nodes.document) -> None:
    """Put a line into each theorem of a page that something belongs to."""
    docname = app.env.docname
    claims_page = app.builder.get_relative_uri(docname, PAGE)
    for node in document.findall(lambda n: isinstance(n, nodes.Element) and "realtype" in n):
        names = [code_link(docname, name) for name in app.uses_of_labels.get(node["label"], ())]
        claims = [claim_link(claims_page, c) for c in app.claims_of_labels.get(node["label"], ())]
        if names or claims:
            node.children[-1].append(line(names, claims))


def setup(app: Any) -> dict[str, bool]:
    """Connect both."""
    app.connect("builder-inited", prepare)
    app.connect("doctree-read", add_lines)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
