"""What ``make quick`` picks: whatever runs in a test is found, and what is far from it is not."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import quick
from affected import ROOT, Imports, Names, functions, modules, read_module, touched

import dpbandits as dpb

TOY = {
    "pkg": "from pkg.front import *\nfrom pkg import tools",
    "pkg.front": "from pkg.one import One as One\nfrom pkg.two import Two as Two",
    "pkg.one": "from pkg.base import Base\nclass One(Base): ...",
    "pkg.two": "from pkg.base import Base\nclass Two(Base): ...",
    "pkg.base": "class Base: ...",
    "pkg.tools": "from pkg.two import Two\ndef help(x): ...",
    "pkg.run": "import importlib\ndef run(name): return importlib.import_module(name)",
    "pkg.fast": "from pkg.one import One\n@accelerates(One, on=int)\ndef fast(): ...",
    "pkg.exact": "from pkg.two import Two\ndef enter(*kinds): return accelerates(*kinds)\n"
    "@enter(Two)\ndef exact(): ...",
}


def reached(text):
    """The toy's modules that a text leads to."""
    return {name.removeprefix("pkg.") for name in Imports(TOY).distances(Names(read_module(text)))}


@pytest.mark.parametrize(
    ("text", "found", "not_found"),
    [
        (
            "import pkg as p\np.One()",
            {"pkg", "front", "one", "base", "fast"},
            {"two", "tools", "exact"},
        ),
        ("import pkg\npkg.Two()", {"pkg", "front", "two", "base", "exact"}, {"one", "fast"}),
        ("from pkg import One as x\nx()", {"one", "base"}, {"two"}),
        ("from pkg.base import Base\nBase", {"base"}, {"one", "two"}),
        ("from pkg.tools import help\nhelp", {"tools"}, {"two", "one"}),
        ("import pkg.tools as t\nt.help", {"tools"}, {"two", "one"}),
        ("import pkg.tools as t\nf(t)", {"tools", "two", "base"}, {"one"}),
        ("import pkg\nf(pkg)", {"one", "two", "tools", "run"}, set()),
        ("import pkg\npkg.made_at_run_time", {"one", "two", "tools"}, set()),
        ("from pkg.run import run\nrun('one')", {"one", "two", "tools"}, set()),
        ("from pkg import One", set(), {"one", "two"}),
        ("from pkg import One\nglobals()", {"one", "base"}, {"two"}),
    ],
)
def test_a_name_is_followed_to_where_it_is_made(text, found, not_found):
    assert found <= reached(text) and not_found.isdisjoint(reached(text))


def test_a_test_uses_its_fixtures_and_what_these_use():
    shared = "import pkg\n@pytest.fixture\ndef two():\n    return pkg.Two()\n"
    text = "from pkg import One\nSIZE = One()\ndef help(): return SIZE\n"
    text += "def test_a(two): ...\ndef test_b(): help()\ndef test_c(): ..."
    used = functions([*read_module(shared), *read_module(text)])
    imports = Imports(TOY)
    found = {name: imports.distances(Names(each)).keys() for name, each in used.items()}
    assert "pkg.two" in found["test_a"] and "pkg.one" not in found["test_a"]
    assert "pkg.one" in found["test_b"] and "pkg.two" not in found["test_b"]
    assert not found["test_c"]


def use():
    """Something that runs much of the package, compiled and not."""
    dpb.simulate(dpb.DPSE(1.0), dpb.instances.ss19("C1"), 1000, n_runs=2)
    dpb.identify(dpb.DPTT(1.0, 0.1), dpb.instances.ja25("mu1"), n_runs=2)


def test_what_runs_is_found():
    """Of the files whose code runs here, none is missing; control: all are, without `dpb`."""
    ran, names = set(), {str(path): name for name, path in modules().items()}

    def note(frame, event, argument):
        ran.add(names.get(frame.f_code.co_filename))

    sys.setprofile(note)
    try:
        use()
    finally:
        sys.setprofile(None)
    ran -= {None, Path(__file__).stem}
    assert len(ran) >= 8
    imports = Imports({name: path.read_text("utf-8") for name, path in modules().items()})
    statements = read_module(Path(__file__).read_text("utf-8"))
    (own,) = [statement for statement in statements if statement.name == "use"]
    imported = [statement for statement in statements if statement.imported]
    assert ran <= imports.distances(Names([own, *imported])).keys()
    assert ran.isdisjoint(imports.distances(Names([own])))


def test_changed_files_lead_to_tests_and_chapters():
    file = "src/dpbandits/regret/elimination.py"
    found = touched([file])
    assert found["tests/test_doctests.py::test_examples[dpbandits.regret.elimination]"] == 1
    assert any(name.startswith("tests/dpbandits/test_elimination.py::") for name in found)
    assert any(name.startswith("tests/companion/") for name in found)
    assert "notebooks/03_dp_successive_elimination.ipynb" in found
    assert not any(name.startswith("tests/dpbandits/test_skipping.py::") for name in found)
    assert touched(["src/dpbandits/regret/gone.py"]), "what is gone is looked for in its package"
    everything = touched(["requirements.lock"])
    assert found.keys() < everything.keys()
    assert touched(["tests/conftest.py"]).keys() == {t for t in everything if "::" in t}
    assert touched(["notebooks/08_planning_a_private_trial.ipynb"])
    assert not touched(["tests/pages/test_form.py"]), "make check-pages runs these"


def test_git_says_what_has_changed(tmp_path, monkeypatch):
    def git(*words):
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True)

    monkeypatch.setattr(quick, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match="git does not answer"):
        quick.changed_files("main")
    for name in ("kept", "gone", "committed", "edited", ".gitignore"):
        (tmp_path / name).write_text("ignored\n")
    git("init", "-b", "main")
    git("add", "-A")
    git("commit", "-m", "a")
    assert quick.changed_files("main") == []
    git("checkout", "-b", "b")
    (tmp_path / "committed").write_text("b")
    git("commit", "-am", "b")
    (tmp_path / "edited").write_text("b")
    (tmp_path / "gone").unlink()
    for name in ("new", "ignored"):
        (tmp_path / name).write_text("b")
    assert quick.changed_files("main") == ["committed", "edited", "gone", "new"]
    assert quick.changed_files("no such branch") == ["edited", "gone", "new"]


def test_only_what_is_picked_runs_and_nothing_after_the_time(tmp_path):
    tests = "import pytest\ndef test_a(): ...\n@pytest.mark.parametrize('x', 'pq')\n"
    (tmp_path / "test_toy.py").write_text(tests + "def test_b(x): ...\ndef test_c(): ...\n")
    picked = {"test_toy.py::test_b": 1, "test_toy.py::test_c": 2, "test_toy.py::gone": 1}
    (tmp_path / "picked.json").write_text(json.dumps(picked))
    words = [sys.executable, "-m", "pytest", "-p", "quick", "-p", "no:cacheprovider", "test_toy.py"]
    said = {}
    for name, until in {"now": time.time() + 1000, "late": 0.0}.items():
        ready = {quick.PICKED: str(tmp_path / "picked.json"), quick.UNTIL: str(until)}
        environment = os.environ | ready | {"PYTHONPATH": str(ROOT / "tests")}
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
        said[name] = done.stdout
    assert "3 passed, 1 deselected" in said["now"]
    assert "3 skipped, 1 deselected" in said["late"]


def test_checks_fit_what_has_changed():
    """Types and layers where the code of package or book has changed; what is gone is left out."""
    files = (
        "src/dpbandits/cli/commands.py",
        "tests/quick.py",
        "README.md",
        "src/dpbandits/gone.py",
    )
    called = {file: str(quick.checks([file])) for file in files}
    assert all(
        word in called["src/dpbandits/cli/commands.py"] for word in ("ruff", "mypy", "lint-imports")
    )
    assert "ruff" in called["tests/quick.py"] and "mypy" not in called["tests/quick.py"]
    assert called["README.md"] == called["src/dpbandits/gone.py"] == "[]"
