"""What `git diff` shows of a notebook: sentences, code and results, and no picture's letters."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SCRIPT = ROOT / ".githooks/notebook-text"


def shown(path):
    done = subprocess.run(
        [sys.executable, SCRIPT, path], capture_output=True, text=True, check=True
    )
    return done.stdout


def changed(notebook, tmp_path, change):
    """Return the lines that differ after a change of a notebook."""
    content = json.loads(notebook.read_text("utf-8"))
    change(content["cells"])
    (tmp_path / "changed.ipynb").write_text(json.dumps(content), "utf-8")
    before, after = shown(notebook).splitlines(), shown(tmp_path / "changed.ipynb").splitlines()
    assert len(before) == len(after)
    return [line for line, old in zip(after, before, strict=True) if line != old]


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_is_shown_in_full_without_letters_of_pictures(path):
    text = shown(path)
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        assert "".join(cell["source"]) in text
        assert all("".join(o["text"]) in text for o in cell.get("outputs", ()) if "text" in o)
    assert text.count("image/png ") >= 2 and "iVBOR" not in text
    assert len(text) < path.stat().st_size / 3


def outputs(cells, kind):
    return (o["data"] for c in cells for o in c.get("outputs", ()) if kind in o.get("data", {}))


def test_a_sentence_a_result_and_a_picture_are_each_seen(tmp_path):
    def reword(cells):
        cells[0]["source"] = "".join(cells[0]["source"]).replace("# ", "# Not ", 1)

    def recompute(cells):
        next(outputs(cells, "application/papermill.record/text/plain")).update(
            {"application/papermill.record/text/plain": "'another'"}
        )

    def redraw(cells):
        picture = next(outputs(cells, "image/png"))
        picture["image/png"] = "".join(picture["image/png"])[::-1]

    (title,) = changed(CHAPTERS[0], tmp_path, reword)
    assert title.startswith("# Not ")
    assert changed(CHAPTERS[0], tmp_path, recompute) == ["'another'"]
    (picture,) = changed(CHAPTERS[0], tmp_path, redraw)
    assert picture.startswith("image/png ")
    assert changed(CHAPTERS[0], tmp_path, lambda cells: None) == []


def test_git_shows_notebooks_by_this_script(tmp_path):
    """In a repository of its own, with the line of CONTRIBUTING.md."""

    def git(*words):
        command = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b", *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    line = "git config diff.notebook.textconv .githooks/notebook-text"
    assert line in (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    git("init", "-q")
    (tmp_path / ".gitattributes").write_text((ROOT / ".gitattributes").read_text("utf-8"), "utf-8")
    (tmp_path / "a.ipynb").write_text(CHAPTERS[0].read_text("utf-8"), "utf-8")
    git("add", ".")
    git("commit", "-q", "-m", "Begin")
    content = json.loads(CHAPTERS[0].read_text("utf-8"))
    content["cells"][0]["source"] = "# Another title\n"
    (tmp_path / "a.ipynb").write_text(json.dumps(content), "utf-8")
    told = ["-c", f"diff.notebook.textconv={sys.executable} {SCRIPT}", "diff"]
    lines = git(*told).splitlines()
    assert "+# Another title" in lines and len(lines) < 20
    assert len(git("diff").splitlines()) > 1000  # control: without the line
