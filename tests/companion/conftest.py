"""What tests of the book share."""

import gc
import importlib
from pathlib import Path

import pytest
from matplotlib import pyplot as plt


@pytest.fixture(autouse=True, scope="session")
def few_pauses():
    """Look for garbage rarely: figures, pages and verdicts are many small objects in use."""
    usual = gc.get_threshold()
    gc.set_threshold(200_000, 30, 100)
    yield
    gc.set_threshold(*usual)


@pytest.fixture(autouse=True)
def closed():
    """Close the figures that a test has drawn."""
    yield
    plt.close("all")


@pytest.fixture
def extension(monkeypatch):
    """Import an extension of the book."""
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "book/_ext"))
    return importlib.import_module


@pytest.fixture
def empty_book(tmp_path, monkeypatch):
    """A book without chapters, as working directory."""
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: book/intro\n")
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path
