"""Check what a change touches, within 90 seconds: ``make quick``.

The change is that of the working tree since it left ``main``; on ``main`` itself, what is not
committed. `affected.py` finds the tests that it touches. The nearest run first, those of the
changed files and then what is reached through more and more imports. When the time is up no other
test starts, and those that were not reached are counted. ``make test`` runs all.

To pytest this file is the plug-in that picks the tests.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from affected import ROOT, touched

BIN = Path(sys.executable).parent
PICKED, UNTIL = "QUICK_PICKED", "QUICK_UNTIL"
"""Variables with the file that lists the tests, and with the time after which none starts."""


# ---------------------------------------------------------------- within pytest
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Keep the tests that are touched, the nearest files first."""
    steps = json.loads(Path(os.environ[PICKED]).read_text())
    near = {}
    for item in items:
        found = [steps[name] for name in (item.nodeid, item.nodeid.split("[")[0]) if name in steps]
        if found:
            near[item] = min(found)
    files = {}
    for item, distance in near.items():
        files[item.path] = min(distance, files.get(item.path, distance))
    book = {item.path: "companion" in item.path.parts for item in near}
    config.hook.pytest_deselected(items=[item for item in items if item not in near])
    items[:] = sorted(near, key=lambda item: (files[item.path], book[item.path], item.path))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Start no test after the time."""
    if time.time() > float(os.environ[UNTIL]):
        pytest.skip("not reached in time; make test runs it")


# ---------------------------------------------------------------- around pytest
def git(*words):
    """Return the lines that git answers; None if it refuses."""
    answer = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return answer.stdout.splitlines() if answer.returncode == 0 else None


def changed_files(since):
    """Return the files in which the working tree differs from where it left `since`."""
    (base,) = git("merge-base", "HEAD", since) or ["HEAD"]
    listed = git("diff", "--name-only", "--no-renames", base)
    untracked = git("ls-files", "--others", "--exclude-standard")
    if listed is None or untracked is None:
        raise SystemExit("make quick asks git what has changed, and git does not answer")
    return sorted({*listed, *untracked})


def checks(files):
    """Return the commands that look at changed files without running them."""
    code = [f for f in files if f.endswith((".py", ".ipynb")) and (ROOT / f).is_file()]
    ruff, found = str(BIN / "ruff"), []
    if code:
        found += [[ruff, "format", "--check", *code], [ruff, "check", "--quiet", *code]]
    if any(f.startswith(("src/", "book/companion/")) for f in code):  # mypy remembers the others
        found += [[str(BIN / "mypy")], [str(BIN / "lint-imports")]]
    return found


def look_at(files):
    """Run these commands; return the names and the words of those that fail."""
    failed = {}
    for words in checks(files):
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            failed[" ".join(words[:2])] = done.stdout + done.stderr
    return failed


def run_tests(steps, until, jobs):
    """Run the tests that are touched; return whether all that were reached passed."""
    paths = sorted({test.partition("::")[0] for test in steps})
    words = ["-q", "-p", "quick", "-n", jobs, "--dist", "loadfile", "--no-loadscope-reorder"]
    with tempfile.TemporaryDirectory() as folder:
        picked = Path(folder, "picked.json")
        picked.write_text(json.dumps(steps))
        ready = {PICKED: str(picked), UNTIL: str(until), "PYTHONPATH": str(ROOT / "tests")}
        return not subprocess.run(
            [sys.executable, "-m", "pytest", *words, *paths], cwd=ROOT, env=os.environ | ready
        ).returncode


def main():
    """Run checks and tests; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--since", default="main", help="the branch or commit to compare with")
    parser.add_argument("--seconds", type=float, default=80, help="after which no test starts")
    parser.add_argument("--jobs", default="2", help="processes that run tests")
    parser.add_argument("--list", action="store_true", help="say what is touched, and run nothing")
    options = parser.parse_args()
    start = time.time()
    files = changed_files(options.since)
    found = touched(files)
    tests = {node: steps for node, steps in found.items() if "::" in node}
    chapters = [Path(node).name[:2] for node in found if "::" not in node]
    print(f"changed since {options.since}: {', '.join(files) or 'nothing'}")
    print(f"{len(tests)} test functions in {len({test.split('::')[0] for test in tests})} files")
    if chapters:
        print(f"chapters whose outputs may change: companion execute {' '.join(chapters)}")
    if any(file.startswith(("book/", "notebooks/", "_")) for file in files):
        print("pages have to be built again: make html")
    sys.stdout.flush()
    if options.list:
        print(*sorted(tests, key=tests.get), sep="\n")
        return 0
    with ThreadPoolExecutor(1) as beside:
        looking = beside.submit(look_at, files)
        passed = not tests or run_tests(tests, start + options.seconds, options.jobs)
        failed = looking.result()
    for words, answer in failed.items():
        print(f"{words}\n{answer}")
    names = [*failed, *(() if passed else ("pytest",))]
    print(f"{time.time() - start:.0f} s; failed: {', '.join(names) or 'nothing'}")
    return 1 if names else 0


if __name__ == "__main__":
    sys.exit(main())
