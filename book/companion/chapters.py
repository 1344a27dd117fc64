"""Execution of the book's chapters, with their default parameters or with the reader's.

A chapter is a notebook in ``notebooks/``. With its default parameters it is executed in place:
everything that differs from run to run is removed from the outputs, and the file is replaced in one
step, so a second execution on the same platform leaves every byte as it was. With any other
parameter it is executed in a staged copy of the book, ``_build/stage/``, which can be built on its
own; the committed chapters are never written to.
"""

from __future__ import annotations

import base64
import importlib
import io
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from joblib import Parallel, delayed
from tqdm import tqdm

import dpbandits
from companion.keeping import FRESH, Execution, is_fresh, usual_seconds
from dpbandits._files import renew, write_atomically
from dpbandits._validation import check_choice, check_jobs, check_seed
from dpbandits.cli._console import read_literal

__all__ = [
    "PRESETS",
    "ChapterError",
    "Executed",
    "Preset",
    "build",
    "check_parameters",
    "clean",
    "execute",
    "execute_many",
    "find",
    "find_root",
    "keep_pictures",
    "list_chapters",
    "look_alike",
    "stage",
]

Preset = Literal["smoke", "quick", "paper"]
PRESETS: tuple[str, ...] = get_args(Preset)
LEVELS = 2
"""Of 255 levels of a colour, so many are no difference between pictures."""
BUILD_OPTIONS = ("--all", "-W", "-n", "--keep-going")
KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


class ChapterError(RuntimeError):
    """A cell of a chapter failed; the message contains the cell's traceback."""


def find_root(start: Path | None = None) -> Path:
    """Return the folder that contains the book's ``_toc.yml``.

    It is `start`, the working directory if not given, or a folder above it, or one above this file.
    """
    begin = Path.cwd() if start is None else start.resolve()
    here = Path(__file__).resolve()
    for folder in (begin, *begin.parents, *here.parents):
        if (folder / "_toc.yml").is_file() and (folder / "notebooks").is_dir():
            return folder
    raise ValueError(
        f"working directory is {begin}, which is not in a copy of the book; "
        "allowed: the repository, the folder with _toc.yml and notebooks/, or a folder in it"
    )


def list_chapters(root: Path | None = None) -> list[Path]:
    """Return the chapters' notebooks in reading order, that is, by number."""
    folder = (find_root() if root is None else root) / "notebooks"
    return sorted(path for path in folder.glob("*.ipynb") if not path.name.startswith("."))


def find(name: str, root: Path | None = None) -> Path:
    """Return the chapter with the given number, name or path.

    ``3``, ``03``, ``03_dp_successive_elimination`` and
    ``notebooks/03_dp_successive_elimination.ipynb`` all refer to the same chapter.
    """
    chapters = list_chapters(root)
    wanted = Path(name).name.removesuffix(".ipynb")
    for path in chapters:
        number = path.stem.partition("_")[0]
        if wanted in (path.stem, number, number.lstrip("0")):
            return path
    check_choice("chapter", wanted, tuple(path.stem for path in chapters))
    raise AssertionError  # unreachable: the stems were compared above


def check_parameters(chapter: Path, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters, converted to the types of the chapter's cell ``parameters``, or raise.

    The parameters that all chapters share (preset, seed, workers) are checked here, before a kernel
    starts; a whole number may be written as 1e3.
    """
    if not parameters:
        return {}
    checked = dict(parameters)
    known: dict[str, dict[str, Any]] = _need("papermill").inspect_notebook(str(chapter))
    for name, value in parameters.items():
        check_choice(f"chapter {chapter.stem}: parameter", name, tuple(sorted(known)))
        default = read_literal(str(known[name]["default"]))
        if type(default) is int and isinstance(value, float) and value.is_integer():
            checked[name] = value = int(value)
        if not _same_kind(default, value):
            raise ValueError(
                f"parameter {name} is {value!r}, in chapter {chapter.stem}; "
                f"allowed: a value of type {type(default).__name__}, such as {default!r}"
            )
        if name in _CHECKED:
            _CHECKED[name](name, value)
    return checked


_CHECKED: dict[str, Callable[[str, Any], object]] = {
    "preset": lambda name, value: check_choice(name, value, PRESETS),
    "seed": check_seed,
    "n_jobs": check_jobs,
}
"""How the values of what all chapters have are checked."""


def clean(notebook: Any) -> None:
    """Remove from a notebook, in place, everything that differs from one execution to the next."""
    notebook.metadata.pop("papermill", None)
    notebook.metadata.pop("widgets", None)
    notebook.metadata["kernelspec"] = dict(KERNELSPEC)
    notebook.metadata["language_info"] = {"name": "python"}
    for cell in notebook.cells:
        for key in ("papermill", "execution"):
            cell.metadata.pop(key, None)
        if not cell.metadata.get("tags", True):
            del cell.metadata["tags"]
        if cell.cell_type == "code":
            cell.outputs = _merge_streams(cell.outputs)


def look_alike(first: bytes, second: bytes) -> bool:
    """Return whether two PNGs have the same size, and no pixel differs by more than `LEVELS`."""
    from matplotlib.image import imread

    if first == second:
        return True
    a, b = (np.asarray(imread(io.BytesIO(png))) for png in (first, second))
    return a.shape == b.shape and bool((np.abs(a - b) < (LEVELS + 0.5) / 255).all())


def keep_pictures(notebook: Any, before: Any) -> None:
    """Keep the old pictures of a notebook where the new ones differ only by rounding."""
    known = {cell["id"]: cell.get("outputs", []) for cell in before["cells"] if "id" in cell}
    for cell in notebook["cells"]:
        for new, old in zip(cell.get("outputs", []), known.get(cell.get("id"), []), strict=False):
            pictures = [output.get("data", {}).get("image/png") for output in (new, old)]
            if all(pictures) and look_alike(*map(base64.b64decode, pictures)):
                new["data"]["image/png"] = pictures[1]


def execute(
    chapter: Path | str, parameters: Mapping[str, Any] | None = None, *, fresh: bool = False
) -> Path:
    """Execute one chapter, in place, or in ``_build/stage/`` with parameters; return its path.

    With its own parameters, a chapter is not executed again if its code and outputs are unchanged
    since its last execution on this machine.

    Parameters
    ----------
    chapter : Path or str
        The notebook, or a name that `find` understands.
    parameters : mapping of str to object, optional
        Values that replace those of the cell with the tag ``parameters``.
    fresh : bool
        Whether to compute everything, even if the same code has been run before; the environment
        variable `companion.keeping.FRESH` has the same effect.

    Raises
    ------
    ValueError
        If the chapter or a parameter does not exist, or a cell rejects a parameter's value.
    ChapterError
        If a cell fails for another reason. No output is written then; the partly executed notebook
        is kept in ``_build/execute/``.
    """
    source = (chapter if isinstance(chapter, Path) else find(chapter)).resolve()
    return _executed(source, parameters or {}, fresh)[0]


def _executed(source: Path, parameters: Mapping[str, Any], fresh: bool) -> tuple[Path, bool]:
    """Execute a chapter, or keep its outputs; return the result, and whether they were kept."""
    values = check_parameters(source, parameters)
    root = source.parent.parent
    if values and not (root / "_build" / "stage" / "book").is_dir():
        stage(root)
    output = root / "_build" / "stage" / "notebooks" / source.name if values else source
    work = root / "_build" / "execute" / source.name
    work.parent.mkdir(parents=True, exist_ok=True)
    papermill, nbformat = _need("papermill"), _need("nbformat")
    kept = Execution(source)
    if not (values or fresh or is_fresh()):
        before = nbformat.read(source, as_version=4)
        if kept.is_of(before):
            clean(before)
            renew(source, _written(before))
            return source, True
    start = time.perf_counter()
    try:
        with _plain_environment(fresh), _told_each_minute(source, work):
            notebook = papermill.execute_notebook(
                source,
                work,
                parameters=values,
                cwd=output.parent,  # relative paths lead to the book that the result belongs to
                kernel_name=KERNELSPEC["name"],
                progress_bar={"desc": source.stem, "disable": None},
            )
    except papermill.exceptions.PapermillExecutionError as error:
        if error.ename == "ValueError" and values:
            raise ValueError(f"chapter {source.stem}: {error.evalue}") from None
        raise ChapterError(f"chapter {source.stem}, kept as {work}:{error}") from None
    except _need("nbclient").exceptions.DeadKernelError:
        raise ChapterError(f"chapter {source.stem}: its kernel died") from None
    clean(notebook)
    if values:
        # Papermill marks the cell it injects with a new random name each time.
        for number, cell in enumerate(notebook.cells):
            if "injected-parameters" in cell.metadata.get("tags", ()):
                cell["id"] = f"injected-{number}"
    elif output.is_file():
        keep_pictures(notebook, nbformat.read(output, as_version=4))
    write_atomically(output, _written(notebook))
    if not values:
        kept.remember(notebook, time.perf_counter() - start)
    work.unlink(missing_ok=True)
    return output, False


def _written(notebook: Any) -> bytes:
    """Return a notebook as the bytes of its file."""
    text: str = _need("nbformat").writes(notebook)
    return f"{text.rstrip()}\n".encode()


@contextmanager
def _told_each_minute(chapter: Path, work: Path) -> Iterator[None]:
    """Print to stderr that a chapter starts, its usual duration, and its progress every minute.

    The progress is read from `work`, which papermill writes whenever a cell starts or ends.
    """
    usual = usual_seconds(chapter)
    takes = "" if usual is None else f"; it usually takes {usual:.0f} s"
    tqdm.write(f"{chapter.stem}: begins{takes}", file=sys.stderr)
    ended, start = threading.Event(), time.monotonic()

    def tell() -> None:
        while not ended.wait(60):
            minutes = f"{chapter.stem}: {(time.monotonic() - start) / 60:.0f} min"
            with suppress(OSError, ValueError, LookupError):
                cells = json.loads(work.read_text("utf-8"))["cells"]
                states = [cell["metadata"]["papermill"]["status"] for cell in cells]
                minutes += f", {states.count('completed')} of {len(states)} cells are done"
            tqdm.write(minutes, file=sys.stderr)

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def stage(root: Path | None = None) -> Path:
    """Copy the book's sources to ``_build/stage/`` and return that folder."""
    root = find_root() if root is None else root
    target = root / "_build" / "stage"
    if target.exists():
        shutil.rmtree(target)
    target.mkdir(parents=True)
    for name in ("_config.yml", "_toc.yml"):
        shutil.copy2(root / name, target / name)
    for name in ("book", "notebooks", "_build/gallery"):  # the last so that few are redrawn
        ignored = shutil.ignore_patterns(".*", "__pycache__")
        if (root / name).is_dir():
            shutil.copytree(root / name, target / name, ignore=ignored)
    return target


def build(root: Path | None = None) -> Path:
    """Build the pages of the book, or of a staged copy, and return the first page.

    Every warning is an error, including a reference to something that does not exist.
    """
    root = find_root() if root is None else root
    _need("jupyter_book")
    program = Path(sys.executable).with_name("jupyter-book")
    subprocess.run([str(program), "build", str(root), *BUILD_OPTIONS], check=True, cwd=root)
    return root / "_build" / "html" / "index.html"


class Executed(NamedTuple):
    """A chapter that was executed: its file, its state and its cost.

    Its state is "renewed", "unchanged", or "kept" if nothing had to be executed. Seconds are
    wall-clock time; core-seconds are summed over all its processes; `left` is the number of
    chapters still to run.
    """

    path: Path
    state: Literal["renewed", "unchanged", "kept"]
    seconds: float
    core_seconds: float
    left: int = 0


def execute_many(
    names: Sequence[str],
    parameters: Mapping[str, Any],
    at_a_time: int = 1,
    *,
    fresh: bool = False,
) -> Iterator[Executed]:
    """Execute chapters in parallel, all of them if none is named; yield each as it ends.

    If parameters are given, they are executed in a fresh copy of the book. Starts and progress are
    printed to stderr.
    """
    root = find_root()
    chosen = [find(name, root) for name in names] or _longest_first(list_chapters(root))
    for chapter in chosen:
        check_parameters(chapter, parameters)
    if parameters:
        stage(root)
    if not any(Path(dpbandits.__file__).parent.rglob("*.nbi")):
        tqdm.write("nothing is compiled yet: the first cells take longer, once", file=sys.stderr)
    tasks = (delayed(_execute)(chapter, parameters, fresh) for chapter in chosen)
    ended = Parallel(min(at_a_time, len(chosen)), return_as="generator_unordered")(tasks)
    for number, each in enumerate(ended, 1):
        yield each._replace(left=len(chosen) - number)


def _longest_first(chapters: list[Path]) -> list[Path]:
    """Return chapters by their usual duration, longest first, so that no long one runs last."""
    return sorted(chapters, key=lambda chapter: -(usual_seconds(chapter) or 0))


def _execute(chapter: Path, parameters: Mapping[str, Any], fresh: bool) -> Executed:
    """Execute a chapter, and measure it."""
    before = chapter.read_bytes()
    start, used = time.perf_counter(), os.times()
    output, kept = _executed(chapter.resolve(), parameters, fresh)
    seconds, now = time.perf_counter() - start, os.times()
    core = sum(now[:4]) - sum(used[:4])  # of this process and its finished children
    same = output.read_bytes() == before
    return Executed(output, "kept" if kept else "unchanged" if same else "renewed", seconds, core)


def _need(module: str) -> ModuleType:
    """Import a module of the extra ``book``, or raise with instructions for installing it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ValueError(
            f"{error.name} is not installed, and chapters need it; "
            "allowed: an installation with the extra, pip install 'dpbandits[book]', or make setup"
        ) from None


def _same_kind(default: object, value: object) -> bool:
    """Return whether a value can replace a default; a default of None accepts anything."""
    if default is None or value is None:
        return True
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(default, bool) and isinstance(value, bool)
    wider = {float: int | float, list: list | tuple, tuple: list | tuple}
    return isinstance(value, wider.get(type(default), type(default)))


def _merge_streams(outputs: Sequence[Any]) -> list[Any]:
    """Join neighbouring pieces of one stream: the kernel cuts them at random points."""
    merged: list[Any] = []
    for output in outputs:
        last = merged[-1] if merged else None
        if last and output.get("name") and last.get("name") == output.name:
            last.text += output.text
        else:
            merged.append(output)
    return merged


@contextmanager
def _plain_environment(fresh: bool) -> Iterator[None]:
    """Hide variables that would change outputs from the kernel; pass on `fresh`."""
    # With a backend forced from outside, inline figures vanish from the notebook.
    before = dict(os.environ)
    os.environ.pop("MPLBACKEND", None)
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    if fresh:
        os.environ[FRESH] = "1"
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
