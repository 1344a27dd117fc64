"""The book's command line: its commands, and what ``companion claims`` lists and checks."""

import shutil

import pytest

from companion import chapters, claims
from companion.cli import WORDS, app, main
from dpbandits import __version__

RECORDS = claims.records(claims.recorded())
QUICK = "ss19-fact-2.1-below"


def said(capsys, *arguments):
    status = main(["claims", *arguments])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def listed(out):
    *lines, last = out.splitlines()
    ids = [line.split(":")[0] for line in lines if not line.startswith(" ")]
    assert last == f"{len(ids)} of {len(RECORDS)} claims"
    return ids


def test_short_words_are_the_verdicts():
    assert tuple(WORDS.values()) == (*claims.VERDICTS, claims.RECONSTRUCTED)


@pytest.mark.parametrize("paper", [None, "ss19", "TD16", "Ja25"])
@pytest.mark.parametrize(
    "verdict",
    [None, "holds", "cannot-tell", "Fails", "does not hold", "not-reproduced", "Reconstructed"],
)
def test_a_filter_lists_what_it_says(paper, verdict, capsys):
    options = [*(("--paper", paper) if paper else ()), *(("--verdict", verdict) if verdict else ())]
    status, out, _ = said(capsys, *options)
    full = verdict and WORDS.get(verdict.lower(), verdict)
    expected = [
        r["id"]
        for r in RECORDS
        if (not paper or r["paper"] == paper.lower())
        and full in (None, "reconstructed" if r["reconstructed"] else r["verdict"])
    ]
    assert status == 0 and listed(out) == expected
    assert expected or (paper, verdict) != (None, None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--paper", "SS20"], "paper='ss20' is unknown; allowed: 'ss19'"),
        (["--verdict", "perhaps"], "verdict='perhaps' is unknown; allowed: 'holds', 'condition'"),
        (["--check", "ss19-nothing"], "claim='ss19-nothing' is unknown; allowed: one of"),
        (["--check", "SS19-svt"], "claim='ss19-svt' is retired; allowed: ss19-cor-3.2-private"),
        (["--check", QUICK, "--paper", "ss19"], "not together with --check"),
        (["--check", "ss19-five-times"], "judged by runs of its chapter; allowed: companion execu"),
    ],
)
def test_bad_values_are_one_line_and_status_2(arguments, message, capsys):
    status, out, err = said(capsys, *arguments)
    assert status == 2 and not out
    assert message in err and err.count("\n") == 1


def test_checking_one_claim_says_what_was_found(capsys):
    status, out, _ = said(capsys, "--check", QUICK.upper(), "ss19-two-arms", QUICK)
    (record,) = [r for r in RECORDS if r["id"] == QUICK]
    assert status == 0 and out.count("    as written\n") == 2
    assert f"{QUICK}: {record['verdict']}" in out and record["reason"] in out
    for name, value in record["evidence"].items():
        assert f"- {name}: {value}\n" in out


def test_checking_a_claim_that_differs_is_status_1(capsys, tmp_path, monkeypatch):
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "_toc.yml").touch()
    shutil.copytree(chapters.find_root() / "book/data", tmp_path / "book/data")
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "book/data/claims-01.json"
    before, changed = (f'"verdict": "{v}"' for v in ("holds with a condition", "holds"))
    first, found, rest = path.read_text("utf-8").partition(f'"id": "{QUICK}"')
    path.write_text(first + found + rest.replace(before, changed, 1), "utf-8")
    status, out, _ = said(capsys, "--check", QUICK, "ss19-two-arms")
    assert status == 1
    assert "verdict was 'holds', is 'holds with a condition'" in out
    assert out.count("as written") == 1


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
def test_bad_input_is_one_line_and_status_2(capsys, empty_book, arguments, parts):
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
