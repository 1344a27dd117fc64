"""The vector files: drawn from what is published, when it has changed, and the same each time."""

import json
import shutil
import subprocess
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from matplotlib import pyplot as plt

from companion import vector_files
from companion.figures import paper
from companion.figures.paper import PaperFigure
from companion.vector_files import ENDINGS, FOLDER, renew_vector_files, vector_file

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("fig-d-eps", "ours-budget-split")


@pytest.fixture
def book(tmp_path):
    """What is published of two figures."""
    (tmp_path / "book/figures").mkdir(parents=True)
    for name in NAMES:
        for ending in ("csv", "json"):
            shutil.copy(ROOT / f"book/figures/{name}.{ending}", tmp_path / "book/figures")
    return tmp_path


def contents(book):
    return {path.stem: path.read_bytes() for path in (book / FOLDER).glob("*.pdf")}


def test_no_vector_file_is_kept_with_the_data():
    folder = ROOT / "book/figures"
    kept = {path.suffix for path in folder.iterdir()}
    if (ROOT / ".git").exists():
        listed = ["git", "-C", str(ROOT), "ls-files", "book/figures"]
        tracked = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split()
        kept |= {Path(name).suffix for name in tracked}
    assert kept == {".csv", ".json"}


def test_a_build_draws_what_has_changed(book):
    assert renew_vector_files(book) == NAMES
    first = contents(book)
    assert set(first) == set(NAMES)
    assert renew_vector_files(book) == ()

    table = book / "book/figures/fig-d-eps.csv"
    before = table.read_text("utf-8")
    table.write_text(before.replace("0.7,", "0.71,"), "utf-8")
    assert renew_vector_files(book) == ("fig-d-eps",)
    changed = contents(book)
    assert {name for name in NAMES if changed[name] != first[name]} == {"fig-d-eps"}

    manifest = book / "book/figures/ours-budget-split.json"
    content = json.loads(manifest.read_text("utf-8"))
    content["recipe"]["options"]["titles"] = {"a": "another title"}
    manifest.write_text(json.dumps(content), "utf-8")
    assert renew_vector_files(book) == ("ours-budget-split",)
    assert contents(book)["ours-budget-split"] != first["ours-budget-split"]

    (book / FOLDER / "fig-d-eps.pdf").unlink()
    table.write_text(before, "utf-8")
    assert renew_vector_files(book) == ("fig-d-eps",)
    assert contents(book)["fig-d-eps"] == first["fig-d-eps"]


def test_a_build_draws_all_with_other_code(book, monkeypatch):
    renew_vector_files(book)
    first = contents(book)
    monkeypatch.setattr(vector_files, "_code", lambda: b"other")
    assert renew_vector_files(book) == NAMES
    assert contents(book) == first


def test_two_builds_give_the_same_bytes(book, monkeypatch):
    """In this process and in others, and without a date."""
    alone = {name: vector_file(name, book) for name in NAMES}
    monkeypatch.setattr(vector_files, "_FEW", 1)
    monkeypatch.setattr(vector_files.joblib, "cpu_count", lambda: 2)
    renew_vector_files(book)
    assert contents(book) == alone
    for content in alone.values():
        assert b"CreationDate" not in content and b"Producer" not in content


def test_a_table_that_cannot_be_drawn_is_named(book):
    (book / "book/figures/fig-d-eps.csv").write_text("panel,curve\n1,2\n", "utf-8")
    with pytest.raises(AttributeError) as caught:
        renew_vector_files(book)
    assert any("figure fig-d-eps" in note for note in caught.value.__notes__)


def test_a_figure_that_no_page_shows_is_not_drawn_for_a_phone(book, monkeypatch):
    shown = {"fig-d-eps": True, "ours-budget-split": False}
    figures = [SimpleNamespace(name=name, shown=there) for name, there in shown.items()]
    monkeypatch.setattr(vector_files, "chapter_figures", lambda root: figures)
    renew_vector_files(book)
    drawn = {path.name for path in (book / FOLDER).glob("*.narrow.svg")}
    assert drawn == {"fig-d-eps.narrow.svg"}
    assert renew_vector_files(book) == ()

    (book / "book/page.md").write_text("```{figure} /_build/gallery/ours-budget-split.svg", "utf-8")
    assert renew_vector_files(book) == ("ours-budget-split",)
    assert (book / FOLDER / "ours-budget-split.narrow.svg").is_file()


def test_shorter_ways_give_the_same_bytes(book, monkeypatch):
    """Formulas, leaders and titles come out alike, as matplotlib alone would draw them."""
    shorter = {name: vector_files._files(name, ENDINGS, book) for name in NAMES}
    monkeypatch.setattr(vector_files, "faster", nullcontext)
    assert shorter == {name: vector_files._files(name, ENDINGS, book) for name in NAMES}


@pytest.mark.parametrize("text", ["privacy ε, at $10^{3}$ × Δ", "Ω ∇ Å", "ffi \u2603"])
def test_a_font_is_embedded_as_matplotlib_would_embed_it(text, monkeypatch):
    def embedded():
        figure, axes = plt.subplots()
        axes.set_title(text)
        content = PaperFigure(figure, 1.0).pdf()
        plt.close(figure)
        return content

    shorter = embedded()
    monkeypatch.setattr(paper, "small_fonts", nullcontext)
    assert shorter == embedded()
