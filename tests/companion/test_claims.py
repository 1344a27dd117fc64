"""The ledger: well-formed, published by the chapters, and compared with what they published."""

import json
import math
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from test_claims_runs import elimination

from companion import chapters, claims
from companion.publishing import Page

ALL = claims.ledger()
RECORDED = claims.recorded()
ESCAPED = r'[|"\\]'
NUMBERS = ("01", "02", "03", "04", "05")


@pytest.mark.parametrize("claim", RECORDED, ids=lambda claim: claim.id)
def test_a_claim_is_complete(claim):
    assert claim.verdict in claims.VERDICTS
    assert claim.statement.endswith(".") and claim.finding.reason.endswith(".")
    assert claim.place and claim.paper
    assert claim.evidence, "no row without evidence"
    for value in claim.evidence.values():
        assert isinstance(value, (int, float, str)) and not isinstance(value, np.generic)
        assert isinstance(value, str) or math.isfinite(value)


def test_every_claim_has_one_place_in_a_chapter_and_every_verdict_its_claims():
    assert [claim for number in NUMBERS for claim in claims.ledger(chapter=number)] == ALL
    assert len({claim.id for claim in ALL}) == len(ALL)
    assert {claim.verdict for claim in RECORDED} == set(claims.VERDICTS)
    assert claims.section("ss19-thm-4.1") == ("03", "thm-privacy")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: claims.ledger("nothing"), "allowed: beginnings of ss19-"),
        (lambda: claims.ledger(chapter="9"), "chapter='9' is unknown; allowed: '01'"),
        (lambda: claims.section("ss19-nothing"), "claim='ss19-nothing' is unknown; allowed: an id"),
        (lambda: claims.Finding("perhaps", "because"), "verdict='perhaps' is unknown"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.fixture
def published(empty_book):
    """A copy of the published verdicts, of a book that is the working directory."""
    root = Path(__file__).resolve().parents[2]
    return Path(shutil.copytree(root / "book/data", empty_book / "book/data"))


@pytest.mark.parametrize("number", NUMBERS)
def test_the_published_verdicts_are_those_of_the_chapter(number):
    """Executing the chapter, as nbval does, judges them; tables and JSON escape some signs."""
    shown = re.sub(ESCAPED, "", chapters.find(number).read_text("utf-8"))
    for claim in claims.recorded(chapter=number):
        said = f"**{claim.verdict}.** {claim.finding.reason} "
        assert re.sub(ESCAPED, "", said) in shown, claim.id


def test_differences_name_what_changed(published, monkeypatch):
    path = published / "claims-01.json"
    content = json.loads(path.read_text("utf-8"))
    first, second, *_ = content["claims"]
    before, after = first["verdict"], claims.FAILS if first["verdict"] != claims.FAILS else "holds"
    first["verdict"], second["id"] = after, "ss19-gone"
    content["claims"] = [first, second]
    for other in published.glob("claims-*.json"):
        other.unlink()
    path.write_text(json.dumps(content), "utf-8")
    monkeypatch.setattr(claims, "ledger", lambda *_args, **_options: ALL[:2])
    assert claims.differences() == [
        f"{ALL[1].id}: not judged yet",
        "ss19-gone: no longer a claim",
        f"{ALL[0].id}: verdict was {after!r}, is {before!r}",
    ]
    with pytest.raises(ValueError, match=f"claim {ALL[1].id} is not judged yet; its chapter must"):
        claims.recorded(chapter="01")


def test_a_chapter_judges_its_runs_and_keeps_the_other_verdicts(published):
    path = published / "claims-03.json"
    before = json.loads(path.read_text("utf-8"))["claims"]
    mine = claims.judge(Page("03", "smoke", 1), elimination(ratios=(4.0, 4.0)))
    content = json.loads(path.read_text("utf-8"))
    assert content["manifest"] == {"preset": "smoke", "seed": 1}
    assert content["claims"] == claims.records(mine)
    new = {record["id"]: record for record in content["claims"]}
    assert new["ss19-five-times"]["verdict"] == claims.FAILS
    same = [record for record in before if new[record["id"]] == record]
    assert len(before) - 2 <= len(same) < len(before)


def test_what_is_ours_in_a_statement_is_marked():
    """Formulas are lost in our copy: a statement with one in it must say that it is ours."""
    for claim in claims.ledger(chapter="04"):
        formula = any(sign in claim.statement for sign in "·^Δ√Σ")
        assert not formula or claim.statement.startswith("(reconstructed) ")
