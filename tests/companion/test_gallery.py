"""What the gallery says of a figure, and which files it offers."""

import io
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from PIL import Image

from companion.chapter_figures import chapter_figures
from companion.publishing import published, published_names

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def gallery(extension):
    return extension("figure_gallery")


@pytest.fixture(scope="module")
def figures():
    return {figure.name: figure for figure in chapter_figures(ROOT)}


@pytest.fixture
def book(tmp_path):
    """Copy what is published of two figures."""
    (tmp_path / "book/figures").mkdir(parents=True)
    for name in ("td16-fig2", "ours-stopping-mean"):
        for path in (ROOT / "book/figures").glob(f"{name}.*"):
            shutil.copy(path, tmp_path / "book/figures")
    return tmp_path


def test_what_is_published_are_the_figures_of_the_chapters(figures):
    shown = {name: f"{figure.chapter:02d}" for name, figure in figures.items()}
    assert len(shown) == len(chapter_figures(ROOT)), "a name is of one figure"
    assert {n: published(n, ROOT).manifest["chapter"] for n in published_names(ROOT)} == shown


@pytest.mark.parametrize("name", published_names(ROOT))
def test_a_published_figure_is_that_of_the_book(name):
    figure = published(name, ROOT)
    about = figure.manifest
    assert (about["name"], about["preset"], about["seed"]) == (name, "paper", 0)
    assert about["title"]
    assert len(figure.table) > 1


@pytest.mark.parametrize(("name", "paper"), [("td16-fig2", "td16"), ("ours-stopping-mean", "ours")])
def test_an_entry_has_the_files_of_its_figure(gallery, figures, book, name, paper):
    figure = figures[name]
    entry = gallery.make_entry(figure, book)
    assert entry.command == f"companion execute {figure.chapter}"
    assert entry.paper == paper
    assert entry.title == published(name, book).manifest["title"].replace("|", r"\|")
    assert list(entry.files) == list(gallery.LINKS)
    for ending, file in entry.files.items():
        assert ending in ("pdf", "svg") or (book / file).stat().st_size > 0, "it is drawn before"
    with Image.open(book / gallery.FOLDER / f"{name}.thumb.png") as small:
        assert max(small.size) <= 2 * gallery.THUMBNAIL
    assert (book / entry.files["png"]).read_bytes() == figure.picture


def test_only_what_is_published_has_an_entry(gallery, figures, book):
    """In a copy of the book where a chapter has published nothing there is no entry for it."""
    shutil.copytree(ROOT / "notebooks", book / "notebooks")
    app = SimpleNamespace(srcdir=str(book))
    gallery.prepare(app)
    assert sorted(app.figure_entries) == ["ours-stopping-mean", "td16-fig2"]
    for entry in app.figure_entries.values():
        assert (book / entry.files["pdf"]).read_bytes().startswith(b"%PDF")
        assert b"<svg" in (book / entry.files["svg"]).read_bytes()


def test_thumbnails_are_white_where_a_picture_is_clear(gallery):
    buffer = io.BytesIO()
    Image.new("RGBA", (1000, 500), (255, 0, 0, 0)).save(buffer, "png")
    with Image.open(io.BytesIO(gallery.thumbnail(buffer.getvalue()))) as small:
        assert small.size[0] == gallery.THUMBNAIL
        assert small.convert("RGB").getpixel((3, 3)) == (255, 255, 255)
