"""A docstring that leans on a proof in the book names its label, and the label exists."""

import ast
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "book" / "companion").rglob("*.py")])
ROLE = re.compile(r":(?:prf:)?ref:`(?:[^<`]*<)?([^`>]+)>?`")
LEANS = re.compile(
    r"(?:derived|proved|proofs? (?:is|are|stand|stands)) (?:here|in the (?:book|chapter))", re.I
)


def labels():
    """Labels of theorems, equations and sections in the chapters and on the pages."""
    pages = [path.read_text("utf-8") for path in (ROOT / "book").glob("*.md")]
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        pages += ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    text = "\n".join(pages)
    return {a or b for a, b in re.findall(r"^:label: (\S+)$|^\(([\w.-]+)\)=$", text, re.M)}


def docstrings(path):
    """Docstrings of a file, those of attributes included, as (line, text)."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.Expr(value=ast.Constant(value=str() as text)):
                yield node.lineno, text


def faults(texts, known):
    """Say of each text that leans on a proof without a label, or names one that is not there."""
    for where, text in texts:
        named = ROLE.findall(text)
        for label in named:
            if label not in known:
                yield f"{where}: no label {label} in the book"
        if LEANS.search(text) and not named and "Proof" not in text:
            yield f"{where}: which proof?"


def test_docstrings_name_the_proofs_that_they_lean_on():
    texts = [
        (f"{path.relative_to(ROOT)}:{line}", text)
        for path in SOURCES
        for line, text in docstrings(path)
    ]
    assert sum(len(ROLE.findall(text)) for _, text in texts) >= 31
    assert list(faults(texts, labels())) == []


@pytest.mark.parametrize(
    "text",
    [
        "Bound the regret (derived here).",
        "The proof stands in the chapter.",
        "Proof: :prf:ref:`thm-nowhere`.",
    ],
)
def test_a_missing_label_is_noticed(text):
    assert list(faults([("here", text)], labels()))
