"""Every page of the contents is in a build."""

from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]

CONTENTS = {
    "root": "book/intro",
    "parts": [
        {"chapters": [{"file": "notebooks/01_a"}]},
        {"chapters": [{"file": "book/b", "sections": [{"file": "book/b_one"}]}]},
    ],
}


def listed(contents: dict) -> list[str]:
    """Return the names of the pages that `_toc.yml` lists, the first page first."""
    entries = [entry for part in contents["parts"] for entry in part["chapters"]]
    below = [section for entry in entries for section in entry.get("sections", ())]
    return [contents["root"], *(entry["file"] for entry in (*entries, *below))]


def missing(html: Path, contents: dict | None = None) -> list[str]:
    """Return the pages that are listed and were not built, or have no text."""
    if contents is None:
        contents = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    pages = {name: html / f"{name}.html" for name in listed(contents)}
    return [
        name
        for name, page in pages.items()
        if not page.is_file() or "<h1" not in page.read_text(encoding="utf-8")
    ]


def build(folder, names):
    for name in names:
        page = folder / f"{name}.html"
        page.parent.mkdir(exist_ok=True, parents=True)
        page.write_text("<h1>A title</h1>", "utf-8")


def test_a_page_that_is_missing_or_empty_is_named(tmp_path):
    names = listed(CONTENTS)
    assert names == ["book/intro", "notebooks/01_a", "book/b", "book/b_one"]
    build(tmp_path, names)
    assert missing(tmp_path, CONTENTS) == []
    (tmp_path / "book/b_one.html").unlink()
    (tmp_path / "book/intro.html").write_text("", "utf-8")
    assert missing(tmp_path, CONTENTS) == ["book/intro", "book/b_one"]


@pytest.mark.parametrize("folder", ["html", "sphinx"])
def test_every_page_is_in_what_was_built_here(folder):
    """A build of the pages that is under way, or broken off, has no digest of its sources yet."""
    done = {"html": ROOT / "_build/pages.sha256", "sphinx": ROOT / "_build/sphinx/objects.inv"}
    if not done[folder].is_file():
        pytest.skip("nothing was built")
    assert missing(ROOT / "_build" / folder) == []
