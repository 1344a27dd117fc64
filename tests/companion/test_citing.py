"""How to cite: what `companion cite` prints, CITATION.cff and .zenodo.json, and that they agree.

The schema in ``data/`` is that of the Citation File Format 1.2.0 (https://citation-file-format.github.io,
by its authors, CC BY 4.0), unchanged.
"""

import copy
import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml
from docutils import nodes

import dpbandits
from companion import citing, claims
from companion.cli import main
from companion.publishing import published_names

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "tests/data/cff-1.2.0.schema.json").read_text("utf-8"))
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
ZENODO = json.loads((ROOT / ".zenodo.json").read_text("utf-8"))
BIBLIOGRAPHY = (ROOT / "book/references.bib").read_text("utf-8")

DEPOSIT = {
    "type": "object",
    "required": ["title", "upload_type", "creators", "description", "license", "access_right"],
    "additionalProperties": False,
    "properties": {
        "title": {"type": "string", "minLength": 1},
        "version": {"type": "string", "pattern": r"^\d+\.\d+\.\d+$"},
        "upload_type": {"enum": ["software", "publication", "dataset", "lesson", "other"]},
        "access_right": {"enum": ["open", "embargoed", "restricted", "closed"]},
        "license": {"type": "string"},
        "creators": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["name"],
                "additionalProperties": False,
                "properties": {
                    name: {"type": "string"} for name in ("name", "affiliation", "orcid", "gnd")
                },
            },
        },
        "description": {"type": "string", "minLength": 1},
        "keywords": {"type": "array", "items": {"type": "string"}},
        "language": {"type": "string", "pattern": "^[a-z]{3}$"},
    },
}
"""The part of Zenodo's metadata for deposits that the file uses; other names Zenodo refuses."""


def validate(content, schema):
    """Raise `jsonschema.ValidationError` if a file's content is not as its schema says."""
    jsonschema.Draft7Validator(schema, format_checker=jsonschema.FormatChecker()).validate(content)


def test_the_citation_file_is_valid():
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    validate(CITATION, SCHEMA)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda c: c.pop("authors"),
        lambda c: c.update(type="book"),
        lambda c: c.update(doi="not a DOI"),
        lambda c: c["references"][0].pop("title"),
        lambda c: c["references"][0]["authors"][0].update(surname="X"),
    ],
)
def test_a_spoilt_citation_file_is_not(spoil):
    spoilt = copy.deepcopy(CITATION)
    spoil(spoilt)
    with pytest.raises(jsonschema.ValidationError):
        validate(spoilt, SCHEMA)


def test_the_archive_is_told_what_the_citation_says():
    validate(ZENODO, DEPOSIT)
    assert ZENODO["title"] == CITATION["title"]
    assert ZENODO["version"] == str(CITATION["version"]) == dpbandits.__version__
    assert ZENODO["license"] == CITATION["license"]
    assert ZENODO["upload_type"] == CITATION["type"]
    assert ZENODO["keywords"] == CITATION["keywords"]
    names = [author["name"] for author in CITATION["authors"]]
    assert [creator["name"] for creator in ZENODO["creators"]] == names


@pytest.mark.parametrize(
    "change", [{"license": None}, {"creators": []}, {"uploadtype": "software"}]
)
def test_a_spoilt_deposit_is_refused(change):
    with pytest.raises(jsonschema.ValidationError):
        validate({**ZENODO, **change}, DEPOSIT)


def bibtex(text):
    """Return key → field → value, without braces, of the entries in a text."""
    entries = {}
    for key, body in re.findall(r"^@\w+\{([\w.:-]+),\n(.*?)^\}", text, re.DOTALL | re.MULTILINE):
        fields = re.findall(r"^\s*(\w+)\s*=\s*\{(.*)\},?$", body, re.MULTILINE)
        entries[key] = {name: re.sub(r"[{}]", "", value) for name, value in fields}
    return entries


def test_ways_to_cite_agree_with_the_citation_file():
    preferred = CITATION["preferred-citation"]
    (book,) = bibtex(citing.cite()).values()
    assert book["title"] == CITATION["title"] == preferred["title"]
    assert book["author"] == CITATION["authors"][0]["name"] == preferred["authors"][0]["name"]
    assert book["version"] == CITATION["version"] == preferred["version"] == dpbandits.__version__
    assert int(book["year"]) == preferred["year"]
    page = (ROOT / "book/citing.md").read_text("utf-8")
    named = re.findall(r"^```\{bibtex-entry\}(.*)$", page, re.MULTILINE)
    assert "" in named
    for name in filter(None, map(str.strip, named)):
        (entry,) = bibtex(citing.cite(name)).values()
        if name not in citing.papers():
            assert entry["author"] == book["author"]
            assert entry["year"] == book["year"]
            assert entry["howpublished"] == f"{book['title']}, version {book['version']}"


def test_the_papers_in_the_package_are_those_of_the_bibliography():
    known = bibtex(BIBLIOGRAPHY)
    packaged = bibtex("\n".join(citing.papers().values()))
    assert len(packaged) == 5
    for key, entry in packaged.items():
        assert entry == known[key]
        assert citing.papers()[key] in BIBLIOGRAPHY  # braces included


def test_the_papers_in_the_citation_file_are_those_of_the_bibliography():
    papers = {entry["title"]: entry for entry in bibtex(BIBLIOGRAPHY).values()}
    assert len(CITATION["references"]) == 5
    for reference in CITATION["references"]:
        entry = papers[reference["title"]]
        assert int(entry["year"]) == reference["year"]
        names = [name.split(",")[0] for name in entry["author"].split(" and ")]
        assert names == [author["family-names"] for author in reference["authors"]]


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
    assert "ss19, td16, twzw22, ja25, ab22" in line
    assert "ss19-thm-4.1" in line.partition("did you mean")[2]


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


@pytest.mark.parametrize(
    "path", sorted((ROOT / "notebooks").glob("[0-9]*.ipynb")), ids=lambda path: path.stem
)
def test_a_number_is_cited_with_its_sentence(path):
    found = citing.numbers(path.stem)
    assert found
    name, sentence = next(iter(found.items()))
    assert not [text for text in found.values() if "{glue" in text]
    entry = citing.cite(f"{int(path.stem[:2])}:{name}")
    assert entry.splitlines()[0] == f"% {sentence}"
    assert entry.splitlines()[1] == f"@misc{{dpbandits-{path.stem[:2]}-{citing.place_of(name)},"
    for each, text in found.items():
        assert len(text.split()) >= 4
        prose = re.sub(r"\$[^$]*\$", "", text)
        assert not re.search(r":::|```|\\u|`|\{\w|^[-*>:]", prose), text
        assert citing.place_of(each) == nodes.make_id(each)
    with pytest.raises(ValueError, match="is unknown"):
        citing.cite(f"{path.stem[:2]}:no-such-number")


def test_what_a_sign_copies_is_accepted():
    for name in ("own-0-1", "own-0.1"):
        assert "@misc{dpbandits-03-own-0-1," in citing.cite(f"03:{name}")
    said, entry = citing.cite("03:table-1").split("\n", 1)
    assert said.startswith("% Table 1, in “When outcomes hardly vary”: instance, ε; DP-SE; ")
    assert not problems(entry)
    assert r"{{Table \texttt{03:table-1}}}" in entry
    assert len(citing.tables("03")) == 6  # that of a cell whose outputs are removed is no table
    with pytest.raises(ValueError, match="table-7"):
        citing.cite("03:table-7")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is 3 (Fig. 1.2). Then 4.", ["It is 3 (Fig. 1.2).", "Then 4."]),
        ("Theorem. Let it vs. Them be so.", ["Theorem. Let it vs. Them be so."]),
        ("It has $a. B! (C)$ and `f. G`. ε is 1.", ["It has $a. B! (C)$ and `f. G`.", "ε is 1."]),
        ("Is it so? 7 of 9 say “no.” Others", ["Is it so?", "7 of 9 say “no.”", "Others"]),
        ("1. The first item. 2 more", ["1. The first item.", "2 more"]),
        ("Sajed et al. (2019) have 2.4 of it", ["Sajed et al. (2019) have 2.4 of it"]),
        ("", []),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text, expected):
    assert citing.sentences(text) == expected


def test_a_sentence_is_written_as_its_page_shows_it(monkeypatch, tmp_path):
    source = """# A *heading*

(place)=
:::{dropdown} Solution
:class-container: fold

Short {glue:text}`one`. **See** [there](x.md), `a*b` and $c * d$, of {cite:t}`ss19`:
> - It is {glue:text}`two:.1f`, by {prf:ref}`theorem 1 <thm>`.
:::

| what | $a$ |
|---|---:|
"""
    glued = [("one", "'1\\u202f497'"), ("two", "2.0")]
    cells = [
        {"cell_type": "markdown", "source": [source], "metadata": {}},
        {
            "cell_type": "code",
            "source": [],
            "metadata": {},
            "outputs": [
                {"metadata": {"scrapbook": {"name": name}}, "data": {"text/plain": [value]}}
                for name, value in glued
            ],
        },
    ]
    path = tmp_path / "01_it.ipynb"
    path.write_text(json.dumps({"cells": cells}), "utf-8")
    monkeypatch.setattr(citing, "find", lambda chapter: path)
    assert citing.numbers("01") == {
        "one": "Short 1497. See there, a*b and $c * d$, of Sajed and Sheffet (2019):",
        "two": "It is 2.0, by theorem 1.",
    }
    assert citing.tables("01") == {"table-1": "Table 1, in “A heading”: what; $a$."}


@pytest.mark.parametrize("page", citing.PAGES)
def test_numbers_and_tables_of_pages_are_cited_by_their_names(page):
    source = (ROOT / citing.PAGES[page]).with_suffix(".md").read_text("utf-8")
    found = citing.numbers(page)
    for name, sentence in found.items():
        entry = citing.cite(f"{page}:{citing.place_of(name)}")
        assert entry.startswith(f"% {sentence}\n@misc{{dpbandits-{page}-")
        assert not re.search(r"\{\w|`", sentence) and len(sentence.split()) >= 4
    asked = set(re.findall(r"\{headline\}`([^`]+)`", source))
    assert asked <= set(found)
    there = citing.tables(page)
    assert list(there) == [f"table-{n + 1}" for n in range(len(there))] and there
    with pytest.raises(ValueError, match=rf"number of {page}='table-{len(there) + 1}' is unknown"):
        citing.cite(f"{page}:table-{len(there) + 1}")


def test_a_figure_has_one_title():
    for name in published_names():
        figure = citing.published(name)
        assert f"{{{{{citing.title_of_figure(figure)}}}}}" in citing.entry_of_figure(figure)


def test_outside_of_the_book_it_is_said_where_figures_are(monkeypatch):
    def nowhere():
        raise ValueError("working directory is /tmp, which is not in a copy of the book")

    monkeypatch.setattr(citing, "find_root", nowhere)
    monkeypatch.setattr("companion.publishing.find_root", nowhere)
    assert "ss19-thm-4.1" in citing.cite("ss19-thm-4.1")
    with pytest.raises(ValueError, match="'ss19-fig1' is no claim and no paper, .* copy of the"):
        citing.cite("ss19-fig1")
    with pytest.raises(ValueError, match="not in a copy of the book"):
        citing.published("ss19-fig1")


def test_an_empty_book_has_nothing_published(tmp_path):
    with pytest.raises(ValueError, match=r"figure='ss19-fig1' is not published, as nothing is in"):
        citing.published("ss19-fig1", tmp_path)
