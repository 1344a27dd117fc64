"""What `companion cite` prints."""

import re

import pytest

from companion import citing, claims
from companion.cli import main
from companion.publishing import published_names


def problems(entry):
    """Say what BibTeX or TeX would stumble over."""
    found = []
    if not entry.isascii():
        found.append("not ASCII")
    if not re.fullmatch(r"@\w+\{[\w.:-]+,\n(  \w+ *= \{.*\},?\n)+\}", entry):
        found.append("no entry")
    if entry.count("{") - entry.count(r"\{") != entry.count("}") - entry.count(r"\}"):
        found.append("braces")
    title = re.sub(r"\$[^$]*\$|\\[\^~]\{\}", "", entry)
    if re.search(r"(?<!\\)[&%#_^~$]", title):
        found.append("a special sign")
    return found


def test_every_entry_can_be_read_by_bibtex():
    keys, ids = [], [claim.id for claim in claims.ledger()]
    for name in ("", *citing.papers(), *published_names(), *ids):
        entry = citing.cite(name)
        assert not problems(entry), entry
        keys.append(re.match(r"@\w+\{([^,]+),", entry)[1])
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("@misc{a,\n  title = {K_1}\n}", "a special sign"),
        ("@misc{a,\n  title = {ε}\n}", "not ASCII"),
        ("@misc{a,\n  title = {{x}\n}", "braces"),
        ("@misc{a}", "no entry"),
    ],
)
def test_bad_entries_are_noticed(entry, expected):
    assert expected in problems(entry)


def test_the_command(capsys):
    assert main(["cite"]) == 0
    assert capsys.readouterr().out == citing.cite() + "\n"
    assert main(["cite", "SS19", "ss19-thm-4.1"]) == 0
    assert capsys.readouterr().out == f"{citing.cite('ss19')}\n\n{citing.cite('ss19-thm-4.1')}\n"
    assert main(["cite", "ss19-thm-4.11"]) == 2
    line = capsys.readouterr().err
    assert "what='ss19-thm-4.11'" in line
    assert "ss19, td16, twzw22, ja25" in line
    assert "ss19-thm-4.1" in line.partition("near:")[2]


def test_papers_are_named_as_in_text():
    assert citing.in_words("ja25") == "Jourdan and Azize (2025)"
    assert "Tossou and Dimitrakakis (2016), Figure 2" in citing.cite("td16-fig2")


def test_nothing_of_the_repository_is_needed(monkeypatch, tmp_path):
    """An installed package has no book beside it."""

    def nowhere():
        raise ValueError("no book")

    monkeypatch.chdir(tmp_path)
    assert citing.cite("td16-fig2").startswith("@")
    monkeypatch.setattr("companion.publishing.find_root", nowhere)
    for name in ("", "twzw22", "ss19-thm-4.1"):
        assert citing.cite(name).startswith("@")
    with pytest.raises(ValueError, match="what='td16-fig2' is unknown"):
        citing.cite("td16-fig2")
