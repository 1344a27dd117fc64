"""The repository's own files agree with each other."""

import importlib.metadata
import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import dpbandits

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
LOCK = (ROOT / "requirements.lock").read_text("utf-8")
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
CHAPTERS = sorted((ROOT / "notebooks").glob("*.ipynb"))

# conda-forge's name for the package without its windows
CONDA_NAMES = {"matplotlib-base": "matplotlib"}

# Bracketed letters keep this file from finding itself.
MACHINE_PATHS = re.compile(r"/[w]ork/(main|shared)|/[r]oot/\.|/[h]ome/\w+/|/[o]pt/pypi")
REGISTRIES = re.compile(
    r"[p]ypi\.org|[p]ythonhosted\.org|[r]egistry\.npmjs|[r]egistry\.yarnpkg|[i]ndex-url|[f]ind-links"
)
UNFINISHED = re.compile(r"[T]ODO|[F]IXME|[X]XX|[N]otImplementedError")


def direct_dependencies() -> dict[str, Requirement]:
    lines = PROJECT["dependencies"] + [line for extra in EXTRAS.values() for line in extra]
    return {canonicalize_name(Requirement(line).name): Requirement(line) for line in lines}


def locked() -> dict[str, list[Requirement]]:
    found: dict[str, list[Requirement]] = {}
    for line in LOCK.replace("\\\n", " ").splitlines():
        line = line.strip()
        if line and not line.startswith("#"):
            requirement = Requirement(line.partition(" --hash")[0].strip())
            found.setdefault(canonicalize_name(requirement.name), []).append(requirement)
    return found


def tracked_text() -> list[tuple[str, str]]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    found = []
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        if name.startswith("book/_static/mathjax/") or not path.is_file():
            continue
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        # The letters of a picture, or of a file that a page carries, spell anything.
        carried = r'"image/png": "[^"]*"|;base64,[\w+/=]+'
        found.append((name, re.sub(carried, "", text)))
    return found


def test_conda_environment_agrees_with_the_project():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))
    conda = [entry for entry in environment["dependencies"] if isinstance(entry, str)]
    pip = next(entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict))
    known = direct_dependencies()
    for line in conda:
        requirement = Requirement(line)
        name = CONDA_NAMES.get(requirement.name, requirement.name)
        if name == "python":
            assert set(requirement.specifier) == set(
                Requirement(f"x{PROJECT['requires-python']}").specifier
            )
        elif name in known:
            assert requirement.specifier == known[name].specifier, name
        else:
            assert name in {"pip", "make"}
    editable = [re.fullmatch(r"-e \.\[([\w,]+)\]", line) for line in pip]
    assert len(editable) == 2 and pip[1] == "-e book"
    assert editable[0] is not None
    assert set(editable[0][1].split(",")) == set(EXTRAS)


def test_lock_has_every_dependency_at_an_allowed_version():
    pinned = locked()
    for name, requirement in direct_dependencies().items():
        assert name in pinned, f"{name} is not in requirements.lock: make lock"
        for pin in pinned[name]:
            (exact,) = pin.specifier
            assert exact.operator == "=="
            assert requirement.specifier.contains(Version(exact.version), prereleases=True), pin


def test_lock_has_hashes_and_no_addresses():
    assert "://" not in LOCK
    assert "dpbandits" not in LOCK
    blocks = [block for block in re.split(r"\n(?=[A-Za-z0-9])", LOCK) if "==" in block]
    assert len(blocks) > 50
    for block in blocks:
        assert "--hash=sha256:" in block, block.splitlines()[0]


def test_the_version_stands_in_the_package():
    assert "version" in PROJECT["dynamic"]
    assert importlib.metadata.version("dpbandits") == dpbandits.__version__


def test_contents_and_files_agree():
    entries = [entry for part in TOC["parts"] for entry in part["chapters"]]
    entries += [section for entry in entries for section in entry.get("sections", ())]
    listed = [TOC["root"], *(entry["file"] for entry in entries)]
    assert len(listed) == len(set(listed))
    for name in listed:
        assert any((ROOT / f"{name}{end}").is_file() for end in (".md", ".ipynb")), name
    pages = [*CHAPTERS, *(ROOT / "book").glob("*.md")]
    for path in pages:
        assert path.relative_to(ROOT).with_suffix("").as_posix() in listed, path.name


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_chapters_are_stored_clean(chapter):
    import nbformat

    notebook = nbformat.read(chapter, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata.language_info == {"name": "python"}
    assert not {"papermill", "widgets"} & set(notebook.metadata)
    tags = [tag for cell in notebook.cells for tag in cell.metadata.get("tags", [])]
    assert tags.count("parameters") == 1
    assert "injected-parameters" not in tags
    for cell in notebook.cells:
        assert not {"papermill", "execution"} & set(cell.metadata)
        if cell.cell_type == "code":
            assert cell.execution_count is not None, f"not executed: {cell.source[:60]}"
            streams = [output for output in cell.outputs if output.get("name") == "stderr"]
            assert not streams, f"writes to stderr: {cell.source[:60]}"


def test_no_tracked_file_names_a_machine_or_a_registry_or_is_unfinished():
    sources = (".py", ".md", ".ipynb", ".yml", ".toml")
    for name, text in tracked_text():
        for pattern in (MACHINE_PATHS, REGISTRIES, UNFINISHED):
            if pattern is not UNFINISHED or name.endswith(sources):
                match = pattern.search(text)
                assert match is None, f"{name}: {match and match.group()}"


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "CHAPTERS.md"])
def test_what_contributing_names_exists(page):
    """Every file and folder in code or in the repository's layout, and each module."""
    text = (ROOT / page).read_text("utf-8")
    names = re.findall(r"`((?:[\w.]+/)+[\w.]*)`", text) + re.findall(r"\]\(([\w.]+)\)", text)
    names = [f"src/dpbandits/{name}" if name == "_engine/" else name for name in names]
    inside = re.findall(r"^    (\w+(?:\.py|/)) ", text.partition("## Checks")[0], re.MULTILINE)
    names += [f"src/dpbandits/{name}" for name in inside]
    missing = {name for name in names if not (ROOT / name).exists()}
    to_be_written = {"notebooks/NN_name.ipynb"} if page == "CHAPTERS.md" else set()
    assert missing == to_be_written and len(names) > 5
    modules = set(re.findall(r"`(dpbandits(?:\.\w+)+)`", text))
    assert modules and all(importlib.util.find_spec(name) for name in modules)


def test_contributing_has_every_folder_of_the_package():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    folders = [path.parent.name for path in (ROOT / "src/dpbandits").glob("*/__init__.py")]
    assert len(folders) > 10 and all(f"\n    {name}/ " in text for name in folders)


def test_the_claim_of_contributing_is_one():
    from companion.claims import findings, verdicts
    from dpbandits.schedules import elimination_epoch

    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    (code,) = (each for each in re.findall(r"```python\n(.*?)```", text, re.S) if "@claim" in each)
    names = vars(findings) | vars(verdicts) | {"elimination_epoch": elimination_epoch}
    names |= {"__name__": "contributing"}
    exec(code, names)
    (made,) = findings.claims_of("contributing")
    assert made.paper == "ss19" and made.statement and made.verdict == verdicts.HOLDS


def test_mathjax_carries_its_licence():
    folder = ROOT / "book/_static/mathjax"
    assert "Apache License" in (folder / "LICENSE").read_text("utf-8")
    assert (folder / "tex-chtml.js").stat().st_size > 1_000_000


def test_importing_the_package_is_lean_and_runs_no_kernel():
    """A compiled function that runs at import would be compiled, or read from disk, each time."""
    code = """
import sys

from numba.core.dispatcher import Dispatcher

import dpbandits

modules = [m for name, m in list(sys.modules.items()) if name.startswith("dpbandits")]
compiled = [v for m in modules for v in vars(m).values() if isinstance(v, Dispatcher)]
assert len(compiled) > 20
assert not {"companion", "matplotlib", "pandas", "scipy.special", "scipy.stats"} & set(sys.modules)
print(*(function.__name__ for function in compiled if function.signatures))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
