"""What tests of the book share."""

import importlib
from pathlib import Path

import pytest
from matplotlib import pyplot as plt


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
