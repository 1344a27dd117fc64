"""Which Python a set-up takes, and the line it says where that is not the one it was given."""

import shutil
import subprocess

import pytest
from affected import ROOT


@pytest.fixture
def found(tmp_path):
    """Return a function: names of Pythons, with whether each is in range → what is printed."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "interpreter", tmp_path / ".ci")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("sh", "sed", "dirname"):
        (tools / name).symlink_to(shutil.which(name))

    def look(asked, **pythons):
        for name, in_range in pythons.items():
            path = tools / name.replace("_", ".")
            path.write_text(
                '#!/bin/sh\ncase "$2" in *exit*) exit '
                + ("0" if in_range else "1")
                + ";; *) echo 3.9;; esac\n"
            )
            path.chmod(0o755)
        return subprocess.run(
            [tmp_path / ".ci" / "interpreter", asked],
            env={"PATH": str(tools), "UV_PYTHON_DOWNLOADS": "never"},
            capture_output=True,
            text=True,
            check=False,
        )

    return look


def test_what_is_in_range_is_taken(found):
    done = found("python3", python3=True, python3_12=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "python3\n", "")


def test_another_is_found_and_named(found):
    done = found("python3", python3=False, python3_12=False, python3_13=True)
    assert (done.returncode, done.stdout) == (0, "python3.13\n")
    assert done.stderr == "python3 is Python 3.9; taken: Python 3.11 to 3.14, so python3.13\n"


def test_where_there_is_none_a_line_says_so(found):
    done = found("python3.99", python3=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "python3.99 is not a Python that starts; taken: Python 3.11 to 3.14; no other is found: "
        "make PYTHON=/path/to/python\n"
    )
