"""Pages are made anew, all of them unless nothing but sentences has changed."""

import json
from pathlib import Path

import pytest

from companion.changed_pages import begin, finish, forget, inputs, markup

ROOT = Path(__file__).resolve().parents[2]

TEXT = """# A page

Noise is added, see {ref}`thm-noise` and [the other](other.md); it costs pulls.

:::{prf:theorem} Noise
:label: thm-noise
It is private.
:::

```{figure} noise.svg
:name: fig-noise
The noise.
```

$$x = 1$$ (eq-x)
"""
CODE = {"cell_type": "code", "source": ["1 + 1"], "metadata": {}}


def notebook(said, shown):
    output = {"output_type": "display_data", "data": {"text/plain": shown}, "metadata": {}}
    output["metadata"] = {"scrapbook": {"name": "pulls"}}
    cells = [{"cell_type": "markdown", "source": [said], "metadata": {}}]
    return json.dumps({"cells": [*cells, {**CODE, "outputs": [output]}], "metadata": {}})


@pytest.fixture
def book(tmp_path):
    """A page and a chapter of a book, and a module, built."""
    for name in ("book/data", "notebooks", "src", "_build"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "book/page.md").write_text(TEXT)
    (tmp_path / "notebooks/01_a.ipynb").write_text(notebook("It takes some pulls.", "'17'"))
    (tmp_path / "src/noise.py").write_text("SCALE = 1\n")
    (tmp_path / "book/data/claims-01.json").write_text("{}")
    assert begin(tmp_path)
    finish(tmp_path)
    return tmp_path


def is_all(book, name, content):
    (book / name).write_text(content)
    return begin(book)


def test_a_sentence_makes_its_page_alone(book):
    assert not begin(book)
    finish(book)
    assert not is_all(book, "book/page.md", TEXT.replace("it costs pulls", "it costs many pulls"))
    finish(book)
    assert not is_all(book, "book/page.md", TEXT.replace("It is private", "This is private"))
    finish(book)
    assert not is_all(book, "notebooks/01_a.ipynb", notebook("It takes a few pulls.", "'17'"))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("notebooks/01_a.ipynb", notebook("It takes some pulls.", "'18'")),  # a glued number
        ("notebooks/01_a.ipynb", notebook("It takes {glue:text}`pulls` pulls.", "'17'")),
        ("src/noise.py", "SCALE = 2\n"),
        ("book/data/claims-01.json", '{"claims": []}'),
        ("book/new.md", "# New\n"),
        ("book/page.md", TEXT.replace("# A page", "# One page")),
        ("book/page.md", TEXT.replace("{ref}`thm-noise`", "{ref}`fig-noise`")),
        ("book/page.md", TEXT.replace("other.md", "another.md")),
        ("book/page.md", TEXT.replace("} Noise", "} The noise")),
        ("book/page.md", TEXT.replace(":label: thm-noise", ":label: thm-private")),
        ("book/page.md", TEXT.replace("The noise.", "Its noise.")),  # a caption is a link's text
        ("book/page.md", TEXT.replace("(eq-x)", "")),
        ("book/page.md", TEXT.replace("Noise is added", "(here)=\nNoise is added")),
        ("book/page.md", TEXT + "\n---\nA title\n===\n"),
    ],
)
def test_anything_else_makes_all_pages(book, name, content):
    assert is_all(book, name, content)


def test_a_build_that_did_not_succeed_is_made_again(book):
    assert not begin(book)
    assert begin(book)
    assert begin(book)
    finish(book)
    assert not begin(book)
    finish(book)
    forget(book)  # as each build does, however it is started
    assert begin(book)


def test_the_books_own_texts_have_both_sentences_and_markup(tmp_path):
    text = (ROOT / "book/intro.md").read_text("utf-8")
    kept = "\n".join(markup(text))
    assert 0.05 * len(text) < len(kept) < 0.8 * len(text)
    assert inputs(tmp_path) != inputs(ROOT) == inputs(ROOT)
