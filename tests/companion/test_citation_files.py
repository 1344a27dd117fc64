"""CITATION.cff and .zenodo.json: what archives and citation managers read of the book.

The schema in ``data/`` is that of the Citation File Format 1.2.0 (https://citation-file-format.github.io,
by its authors, CC BY 4.0), unchanged.
"""

import copy
import json
from pathlib import Path

import jsonschema
import pytest
import yaml

import dpbandits

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "tests/data/cff-1.2.0.schema.json").read_text("utf-8"))
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
ZENODO = json.loads((ROOT / ".zenodo.json").read_text("utf-8"))

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
