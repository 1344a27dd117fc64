"""Execution of chapters: of a small book in a temporary folder, and of one of the book's own."""

import base64
import io
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbformat import v4
from PIL import Image
from waiting import is_gone, wait_for

from companion import chapters
from companion.chapter_figures import figures_of
from companion.chapters import look_alike
from companion.cli import app
from companion.publishing import published

ROOT = Path(__file__).resolve().parents[2]
SMALL = "notebooks/03_small.ipynb"


def code(number, source, **metadata):
    return v4.new_code_cell(source, metadata=metadata, id=f"cell-{number}")


@pytest.fixture
def book(empty_book):
    """Write a book with one chapter of three cells."""
    notebook = v4.new_notebook(metadata={"kernelspec": chapters.KERNELSPEC})
    check = 'if scale < 0:\n    raise ValueError(f"scale is {scale}; allowed: above 0")'
    notebook.cells = [
        code(0, 'preset = "paper"\nseed = 0\nscale = 1.0', tags=["parameters"]),
        code(1, check, tags=[]),
        code(2, "if seed == 7:\n    raise RuntimeError('broken')\nprint(preset, seed, scale)"),
        code(3, "import sys\nprint('one', flush=True)\nprint('two', flush=True)"),
    ]
    (empty_book / "book").mkdir()
    (empty_book / "_config.yml").write_text("title: small\n")
    (empty_book / "book/intro.md").write_text("# Small\n")
    nbformat.write(notebook, empty_book / SMALL)
    return empty_book


def command(*words):
    options = {"exit_on_error": False, "print_error": False, "result_action": "return_value"}
    return app(["execute", *words], **options)


def test_a_chapter_is_found_by_number_name_and_path(book):
    path = book / SMALL
    assert chapters.list_chapters() == [path]
    assert chapters.find_root(book / "notebooks") == book
    for name in ("3", "03", "03_small", "notebooks/03_small.ipynb"):
        assert chapters.find(name) == path
    with pytest.raises(ValueError, match="chapter='9' is unknown; allowed: '03_small'"):
        chapters.find("9")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("sed=1", "parameter='sed' is unknown; .*'preset', 'scale', 'seed'"),
        ("seed='one'", "seed is 'one', .* a value of type int, such as 0"),
        ("seed=True", "seed is True, .* a value of type int"),
        ("seed=-1", "seed=-1 must be a seed; allowed: a whole number of at least 0"),
        ("seed=1.5", "seed is 1.5, .* a value of type int"),
        ("preset=big", "preset='big' is unknown; allowed: 'smoke', 'quick', 'paper'"),
        *((bad, "NAME=VALUE") for bad in ("=1", "1x=1", "seed")),
    ],
)
def test_bad_parameters_are_refused_before_anything_runs(book, settings, message):
    path = book / SMALL
    before = path.read_bytes()
    with pytest.raises(ValueError, match=message):
        command("--set", settings)
    assert path.read_bytes() == before
    assert not (book / "_build").exists()
    given = {"scale": 2, "seed": 1e3, "preset": "smoke"}  # a whole number, however written
    assert repr(chapters.check_parameters(path, given)["seed"]) == "1000"


def test_execution_in_place_is_clean_and_repeatable(book, capsys):
    path = book / SMALL
    assert command() == 0
    first = path.read_bytes()
    assert command("3", "--fresh") == 0
    assert path.read_bytes() == first
    told = capsys.readouterr()
    assert [line.split(",")[0] for line in told.out.splitlines()] == [
        "notebooks/03_small.ipynb: renewed",
        "notebooks/03_small.ipynb: unchanged",
    ]
    begun = [line for line in told.err.splitlines() if "begins" in line]
    assert re.fullmatch(r"03_small: begins; it usually takes \d+ s", begun[1])
    notebook = nbformat.read(path, as_version=4)
    assert notebook.metadata.language_info == {"name": "python"}
    assert "papermill" not in notebook.metadata
    assert [dict(c.metadata) for c in notebook.cells] == [{"tags": ["parameters"]}, {}, {}, {}]
    assert notebook.cells[2].outputs[0].text == "paper 0 1.0\n"
    assert [output.text for output in notebook.cells[3].outputs] == ["one\ntwo\n"]
    assert os.listdir("notebooks") == ["03_small.ipynb"]


def test_a_chapter_is_kept_until_its_code_or_an_output_changes(book, capsys):
    """The cell counts its executions in a file, so that each shows."""
    path = book / SMALL
    count = "from pathlib import Path\nfile = Path('../count')\n"
    count += "file.write_text(file.read_text() + 'x' if file.exists() else 'x')\nprint('counted')"
    with_cell(path, count)

    def executions():
        assert command() == 0
        return len((book / "count").read_text())

    assert [executions(), executions()] == [1, 1]
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.append(v4.new_markdown_cell("A sentence that is new.", id="text"))
    notebook.metadata["widgets"] = {}
    nbformat.write(notebook, path)
    assert executions() == 1
    kept = nbformat.read(path, as_version=4)
    assert (kept.cells[-1].source, "widgets" in kept.metadata) == ("A sentence that is new.", False)
    notebook.cells[2].outputs[0].text = "something else\n"
    nbformat.write(notebook, path)
    assert executions() == 2  # what is there is not what was computed
    with_cell(path, count + "\n")
    assert executions() == 3
    states = [line.split(",")[0].split(": ")[1] for line in capsys.readouterr().out.splitlines()]
    assert states == ["renewed", "kept", "kept", "renewed", "unchanged"]


def test_parameters_run_in_a_copy_and_failures_leave_the_chapter_alone(book, capsys):
    path = book / SMALL
    before = path.read_bytes()
    assert command("3", "--preset", "quick", "--set", "seed=4") == 0
    staged = book / "_build/stage/notebooks/03_small.ipynb"
    first = staged.read_bytes()
    notebook = nbformat.read(staged, as_version=4)
    assert notebook.cells[1].metadata.tags == ["injected-parameters"]
    assert notebook.cells[3].outputs[0].text == "quick 4 1.0\n"
    assert (book / "_build/stage/book/intro.md").is_file()
    assert command("3", "--preset", "quick", "--set", "seed=4") == 0
    assert staged.read_bytes() == first

    with pytest.raises(ValueError, match=r"chapter 03_small: scale is -1; allowed: above 0"):
        command("--set", "scale=-1")
    assert command("--set", "seed=7") == 1
    assert "RuntimeError: broken" in capsys.readouterr().err
    assert (book / "_build/execute/03_small.ipynb").is_file()
    assert path.read_bytes() == before

    before = with_cell(path, "print('before')\nraise RuntimeError('in place')")
    assert command() == 1
    assert "RuntimeError: in place" in capsys.readouterr().err
    assert path.read_bytes() == before


def picture(value, height=4):
    """A small grey PNG, in base64, whose first pixel has a value of its own."""
    buffer = io.BytesIO()
    pixels = np.full((height, 4, 3), 100, dtype=np.uint8)
    pixels[0, 0] = value
    Image.fromarray(pixels).save(buffer, "png")
    return base64.b64encode(buffer.getvalue()).decode()


def test_pictures_that_look_alike_stay(book):
    """Another processor may round a pixel the other way: that is no change of a chapter."""
    path, values = book / SMALL, (102, 104)
    source = "from IPython.display import Image, display\nimport base64\nfor _ in range(2):\n"
    with_cell(path, source + f"    display(Image(base64.b64decode({picture(100)!r})))")
    assert command("3") == 0
    notebook = nbformat.read(path, as_version=4)
    outputs = notebook.cells[2].outputs
    shown = base64.b64decode(outputs[0].data["image/png"])
    others = map(base64.b64decode, (picture(100), picture(100, height=5)))
    assert [look_alike(shown, other) for other in others] == [True, False]
    for output, value in zip(outputs, values, strict=True):
        output.data["image/png"] = picture(value)
    nbformat.write(notebook, path)
    assert command("3") == 0
    found = [each.data["image/png"].strip() for each in nbformat.read(path, 4).cells[2].outputs]
    assert [a == picture(b) for a, b in zip(found, values, strict=True)] == [True, False]


def test_a_full_disk_leaves_the_old_file(book, monkeypatch):
    path = book / SMALL
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dpbandits._files.os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        chapters.execute(path)
    assert path.read_bytes() == before
    assert os.listdir("notebooks") == ["03_small.ipynb"]


def test_without_the_extra_the_message_says_what_to_install(book, monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr("companion.chapters.importlib.import_module", missing)
    with pytest.raises(ValueError, match=r"papermill is not installed.*dpbandits\[book\]"):
        chapters.execute("3", {"seed": 1})


def with_cell(path, source):
    """Give the small chapter another cell in place of its third."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[2].source = source
    nbformat.write(notebook, path)
    return path.read_bytes()


def test_a_killed_execution_leaves_the_chapter_alone(book):
    path = book / SMALL
    long = "import os, time\nfrom pathlib import Path\nprint('half')\n"
    long += "Path('../started').write_text(str(os.getpid()))\ntime.sleep(1000)"
    before = with_cell(path, long)
    words = [sys.executable, "-m", "companion", "execute", "3"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(words, **quiet, start_new_session=True)
    started = book / "started"
    try:
        wait_for(
            lambda: process.poll() is not None or (started.is_file() and started.read_text()),
            process.pid,
        )
        assert process.poll() is None
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    kernel = int(started.read_text())
    wait_for(lambda: is_gone(kernel), kernel)  # it does not go on alone
    assert path.read_bytes() == before
    assert os.listdir("notebooks") == ["03_small.ipynb"]
    with_cell(path, "print('whole')")
    assert command() == 0
    assert nbformat.read(path, as_version=4).cells[2].outputs[0].text == "whole\n"


# ------------------------------------------------------------------------------ a chapter as it is


def contents(*folders):
    """The files of folders, by name."""
    return {
        path: path.read_bytes()
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.mark.slow
def test_a_chapter_at_another_size_and_its_figures_from_nothing(tmp_path, monkeypatch):
    """It says what it computed, and neither reads what was published nor touches it.

    The figures are taken away before. That the same bytes come again is asked of the chapters
    as they are, which `make test` executes.
    """
    for name in ("_config.yml", "_toc.yml", "notebooks", "book"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    names = [figure.name for figure in figures_of(chapters.find("8", tmp_path))]
    files = [f"book/figures/{name}.{ending}" for name in names for ending in ("csv", "json")]
    for file in files:
        (tmp_path / file).unlink()
    folders = [place / name for place in (ROOT, tmp_path) for name in ("notebooks", "book")]
    before = contents(*folders)
    assert command("8", "--preset", "smoke", "--set", "seed=1") == 0
    assert contents(*folders) == before

    stage = tmp_path / "_build/stage"
    chapter = chapters.find("8", stage)
    words = r"Computed with the preset smoke, seed 1, (\d+) replays of each"
    said = re.search(words, chapter.read_text("utf-8"))
    assert [figure.name for figure in figures_of(chapter)] == names
    manifests = [published(name, stage).manifest for name in names]
    assert {(m["chapter"], m["preset"], m["seed"]) for m in manifests} == {("08", "smoke", 1)}
    counts = [m["runs"] / m["cases"] for m in manifests if "cases" in m]
    assert set(counts) == {int(said[1])}
