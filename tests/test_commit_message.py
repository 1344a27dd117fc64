"""The hook of `.githooks` accepts messages of the form that CONTRIBUTING.md asks for."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
GOOD = [
    "Reject 0-d arrays as seeds",
    "Reject 0-d arrays as seeds\n\nThey have no order.",
    "\n\n# a comment\nWiden the bound\n# On branch main\n\nIt was too narrow.",
    f"{'Bound ε at δ = 10⁻⁹ for all arms ':ε<72}",  # 72 characters, more bytes
    "Merge branch 'main' into a branch whose name is longer than anybody would like it to be",
    "fixup! Reject 0-d arrays as seeds.",
    "Show the diff\n\nIn full.\n# ------------ >8 ------------\ndiff --git.",
]
BAD = {
    "reject 0-d arrays": "begins without a capital letter",
    "Reject 0-d arrays as seeds.": "ends in a period",
    "R" + "e" * 72: "has 73 characters",
    "Reject 0-d arrays\nas seeds": "second line is not blank",
}


def check(message, folder):
    path = folder / "COMMIT_EDITMSG"
    path.write_text(message + "\n", "utf-8")
    done = subprocess.run(
        ["sh", ROOT / ".githooks/commit-msg", path], capture_output=True, text=True
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("message", GOOD)
def test_a_good_message_passes_in_silence(tmp_path, message):
    assert check(message, tmp_path) == (0, "")


@pytest.mark.parametrize(("message", "words"), BAD.items())
def test_a_bad_message_is_refused_with_its_fault(tmp_path, message, words):
    status, said = check(message, tmp_path)
    assert status == 1 and words in said and "allowed: an imperative" in said


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_runs_it_as_contributing_says(tmp_path):
    command = "git config core.hooksPath .githooks"
    assert command in (ROOT / "CONTRIBUTING.md").read_text("utf-8")

    def git(*words):
        own = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org"]
        return subprocess.run(["git", *own, *words], cwd=tmp_path, capture_output=True).returncode

    shutil.copytree(ROOT / ".githooks", tmp_path / ".githooks")
    assert git("init", "-q") == 0 and git(*command.split()[1:]) == 0
    assert git("commit", "--allow-empty", "-m", "not so") == 1
    assert git("commit", "--allow-empty", "-m", "Begin") == 0
