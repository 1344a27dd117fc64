"""What can be checked of the container without building it."""

import json
import re
import shlex
import subprocess
import tomllib
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

import pytest

import dpbandits

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
IGNORED = (ROOT / ".dockerignore").read_text("utf-8").split()
DEVELOPING = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text("utf-8"))
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
TARGETS = set(re.search(r"^\.PHONY: (.+)$", MAKEFILE, re.MULTILINE)[1].split())


def steps(dockerfile: str) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile, each with its arguments."""
    text = re.sub(r"^\s*#.*\n", "", dockerfile, flags=re.MULTILINE)
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    return [tuple(line.split(maxsplit=1)) for line in lines if line.strip()]


def commands(dockerfile: str) -> list[list[str]]:
    """Return what runs, when the image is made and when it starts, a command each."""
    found = []
    for word, rest in steps(dockerfile):
        if word == "RUN":
            found += [shlex.split(each) for each in rest.split("&&")]
        elif word == "CMD":
            found.append(json.loads(rest))
    return found


def problems(dockerfile: str) -> list[str]:
    """Tell what in a Dockerfile does not agree with the repository."""
    told, words = [], dict(reversed(steps(dockerfile)))
    base = re.fullmatch(r"python:(3\.\d+)-slim-(\w+)", words["FROM"])
    if not base or base[1] != PROJECT["tool"]["mypy"]["python_version"]:
        told.append("another Python than that of the book's outputs")
    if f'image.version="{dpbandits.__version__}"' not in words["LABEL"]:
        told.append("another version")
    if f'image.licenses="{PROJECT["project"]["license"]}"' not in words["LABEL"]:
        told.append("another licence")
    made = [each for each in commands(dockerfile) if each[0] == "make"]
    if ["make", "setup"] not in made:
        told.append("the environment is not that of make setup")
    told += [f"no target {each[1]}" for each in made if each[1] not in TARGETS]
    told += [f"no variable {w}" for each in made for w in each[2:] if not is_variable(w)]
    installed = next(each for each in commands(dockerfile) if each[:2] == ["apt-get", "install"])
    wanted = re.search(r"install -y --no-install-recommends (.+?)\)? ?;?\s*}", CI)[1].split()
    told += [f"{name} is not installed" for name in {*wanted, "make", "git"} - {*installed}]
    for word, rest in steps(dockerfile):
        if word == "COPY":
            *sources, _ = [each for each in rest.split() if not each.startswith("--")]
            told += [f"no file {name}" for name in sources if not (ROOT / name).exists()]
    return told


CI = (ROOT / ".ci/run").read_text("utf-8")


def is_variable(word: str) -> bool:
    """Return whether a word sets a variable of the Makefile."""
    return bool(re.search(rf"^{re.escape(word.partition('=')[0])} \?= ", MAKEFILE, re.MULTILINE))


def test_the_image_agrees_with_the_repository():
    assert problems(DOCKERFILE) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("python:3.11", "python:3.9", "another Python"),
        (dpbandits.__version__, "9.9", "another version"),
        ("BSD-3", "BSD-2", "another licence"),
        ("RUN make setup", "RUN pip install .", "not that of make setup"),
        ('"chapter"', '"chapters"', "no target chapters"),
        ('"N=1"', '"CHAPTER=1"', "no variable CHAPTER=1"),
        (" chromium", "", "chromium is not installed"),
        (" git make", " make", "git is not installed"),
        ("COPY --chown=reader . .", "COPY lock.txt .", "no file lock.txt"),
    ],
)
def test_what_does_not_agree_is_found(old, new, said):
    assert old in DOCKERFILE
    assert any(said in each for each in problems(DOCKERFILE.replace(old, new)))


def hidden(name: str) -> bool:
    """Return whether the image goes without a file of the repository."""
    above = [str(folder) for folder in (PurePosixPath(name), *PurePosixPath(name).parents)]
    patterns = [p for each in IGNORED for p in {each, each.removeprefix("**/")}]
    return any(fnmatch(part, pattern) for part in above for pattern in patterns)


def test_the_image_has_every_file_of_the_repository():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    assert [name for name in listed.stdout.splitlines() if hidden(name)] == []
    assert hidden(".venv/bin/python") and hidden("book/_ext/__pycache__/a.pyc")  # control
    assert hidden("_build/html/index.html") and not hidden("requirements.lock")


def test_the_editor_uses_the_same_image():
    folder = ROOT / ".devcontainer"
    assert (folder / DEVELOPING["build"]["dockerfile"]).resolve() == ROOT / "Dockerfile"
    assert (folder / DEVELOPING["build"]["context"]).resolve() == ROOT
    assert ("USER", DEVELOPING["remoteUser"]) in steps(DOCKERFILE)
    program, target = DEVELOPING["postCreateCommand"].split()
    assert program == "make" and target in TARGETS
    settings = DEVELOPING["customizations"]["vscode"]["settings"]
    assert settings["python.defaultInterpreterPath"].endswith("/.venv/bin/python")


def test_the_comment_and_the_page_have_commands_that_exist():
    page = (ROOT / "book/reproducing.md").read_text("utf-8")
    said = re.findall(r"docker run --rm -it ([\w-]+)(?: make (\w+))?", DOCKERFILE + page)
    named = set(re.findall(r"docker build -t ([\w-]+) \.", DOCKERFILE + page))
    assert len(said) >= 3 and {name for name, _ in said} == named == {"private-bandits"}
    assert {target for _, target in said if target} <= TARGETS
