"""What the gallery says of a figure, and which files it offers."""

import importlib
import io
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from dpbandits.chapter_figures import chapter_figures, figures_of

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def gallery(monkeypatch):
    """Import the extension."""
    monkeypatch.syspath_prepend(str(ROOT / "book/_ext"))
    return importlib.import_module("figure_gallery")


@pytest.fixture(scope="module")
def figures():
    return {figure.name: figure for figure in chapter_figures(ROOT)}


@pytest.fixture
def book(tmp_path):
    """Copy the data that one figure is drawn from."""
    (tmp_path / "book/data").mkdir(parents=True)
    for path in (ROOT / "book/data").glob("ss19-fig1.*"):
        shutil.copy(path, tmp_path / "book/data")
    return tmp_path


def test_a_figure_from_data_has_the_datas_files(gallery, figures, book):
    entry = gallery.make_entry(figures["ss19-fig1"], book)
    manifest = json.loads((book / "book/data/ss19-fig1.json").read_text("utf-8"))
    assert entry.command == "dpbandits reproduce ss19-fig1"
    assert entry.seconds == manifest["seconds"]
    assert entry.paper == "ss19" and "Fig" in entry.source
    assert entry.files["csv"] == "book/data/ss19-fig1.csv"
    assert {"png", "csv", "runs.csv", "json", "bib"} <= set(entry.files)
    for file in entry.files.values():
        assert (book / file).stat().st_size > 0
    with Image.open(book / gallery.FOLDER / "ss19-fig1.thumb.png") as small:
        assert max(small.size) <= 2 * gallery.THUMBNAIL
    assert (book / entry.files["png"]).read_bytes() == figures["ss19-fig1"].picture


def test_a_figure_of_other_parameters_does_not_offer_the_repositorys_data(gallery, figures, book):
    """The copy of a chapter at a small size must not have the paper's data below its figures."""
    entry = gallery.make_entry(replace(figures["ss19-fig1"], changed=True), book)
    assert not {"pdf", "svg", "csv", "runs.csv", "json"} & set(entry.files)
    assert {"png", "bib"} <= set(entry.files)
    assert entry.command == "dpbandits execute 3"
    assert entry.took == "with the chapter"


def test_parameters_are_seen_in_the_notebook(figures, tmp_path):
    (path,) = (ROOT / "notebooks").glob("03_*.ipynb")
    assert not any(figure.changed for figure in figures.values())
    notebook = json.loads(path.read_text("utf-8"))
    injected = {"cell_type": "code", "source": ["preset = 'smoke'"], "outputs": []}
    injected["metadata"] = {"tags": ["injected-parameters"]}
    notebook["cells"].insert(1, injected)
    copy = tmp_path / path.name
    copy.write_text(json.dumps(notebook), "utf-8")
    found = list(figures_of(copy))
    assert found and all(figure.changed for figure in found)


def test_figures_that_chapters_compute_carry_their_files(gallery, figures, book):
    computed = [f for f in figures.values() if f.name not in gallery.figure_names()]
    assert len(computed) > 5
    for figure in computed:
        entry = gallery.make_entry(figure, book)
        assert entry.paper == "ours" and entry.title
        assert {"png", "csv", "bib"} <= set(entry.files), figure.name


def test_vector_files_are_drawn_once(gallery, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(gallery, "figure_pdf", lambda name, data: drawn.append(name) or b"%PDF")
    monkeypatch.setattr(gallery.joblib, "Parallel", lambda **_: lambda tasks: (f() for f in tasks))
    monkeypatch.setattr(gallery.joblib, "delayed", lambda f: lambda *args: lambda: f(*args))
    monkeypatch.delenv("BOOK_VECTOR_FILES", raising=False)
    data = ROOT / "book/data"
    gallery.draw_all(["ss19-fig1", "ss19-fig2"], data, tmp_path)
    gallery.draw_all(["ss19-fig1", "ss19-fig2"], data, tmp_path)
    assert drawn == ["ss19-fig1", "ss19-fig2"]
    (tmp_path / "ss19-fig2.pdf").unlink()
    gallery.draw_all(["ss19-fig1", "ss19-fig2"], data, tmp_path)
    assert drawn[2:] == ["ss19-fig2"]
    monkeypatch.setattr(gallery, "state_of", lambda name, data: "another")
    monkeypatch.setenv("BOOK_VECTOR_FILES", "none")
    gallery.draw_all(["ss19-fig1"], data, tmp_path)
    assert len(drawn) == 3
    monkeypatch.delenv("BOOK_VECTOR_FILES")
    gallery.draw_all(["ss19-fig1"], data, tmp_path)
    assert drawn[3:] == ["ss19-fig1"]


def test_first_sentences_and_thumbnails(gallery):
    assert gallery.first_sentence("One thing: and more. Rest.") == "One thing"
    buffer = io.BytesIO()
    Image.new("RGBA", (1000, 500), (255, 0, 0, 0)).save(buffer, "png")
    with Image.open(io.BytesIO(gallery.thumbnail(buffer.getvalue()))) as small:
        assert small.size[0] == gallery.THUMBNAIL
        assert small.convert("RGB").getpixel((3, 3)) == (255, 255, 255)
