"""Every page of the contents is in a build."""

import subprocess
import sys

import pytest
from check_toc import ROOT, listed, missing

CONTENTS = {
    "root": "book/intro",
    "parts": [
        {"chapters": [{"file": "notebooks/01_a"}]},
        {"chapters": [{"file": "book/b", "sections": [{"file": "book/b_one"}]}]},
    ],
}


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


def test_the_command_fails_where_pages_are_missing(tmp_path):
    command = [sys.executable, ROOT / "tests/check_toc.py", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and "no page book/changed\n" in done.stdout


@pytest.mark.parametrize("folder", ["html", "sphinx"])
def test_every_page_is_in_what_was_built_here(folder):
    """A build of the pages that is under way, or broken off, has no digest of its sources yet."""
    done = {"html": ROOT / "_build/pages.sha256", "sphinx": ROOT / "_build/sphinx/objects.inv"}
    if not done[folder].is_file():
        pytest.skip("nothing was built")
    assert missing(ROOT / "_build" / folder) == []
