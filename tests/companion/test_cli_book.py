"""The book's command line: its commands, and one line for whatever goes wrong."""

import pytest

from companion.cli import app, main
from dpbandits import __version__


@pytest.fixture
def book(tmp_path, monkeypatch):
    """An empty copy of the book, as working directory."""
    (tmp_path / "_toc.yml").write_text("format: jb-book\n")
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ("nonsense", ["nonsense", "execute", "cite"]),
        ("execute 99", ["99"]),
        ("execute --at-a-time 0", ["0", "-1 for all processors"]),
        ("execute --preset papre", ["papre", "smoke", "quick", "paper"]),
        ("claims", ["is not judged yet", "chapter must be executed"]),
    ],
)
def test_bad_input_is_one_line_and_status_2(capsys, book, arguments, parts):
    assert main(arguments.split()) == 2
    error = capsys.readouterr().err
    assert error.startswith("companion") and error.count("\n") == 1
    assert all(part in error for part in parts)


def test_every_command_has_help_json_and_an_example(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"companion {__version__}\n"
    names = [name for name in app if not name.startswith("-")]
    assert {"execute", "figure", "claims", "cite"} <= set(names)
    for name in names:
        assert main([name, "--help"]) == 0
        shown = capsys.readouterr().out
        assert "Usage" in shown and "--json" in shown and f"companion {name}" in shown
        assert app[name].help_epilogue.count(f"companion {name}")
