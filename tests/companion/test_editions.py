"""What changed since edition 0.1.0: the comparison, and the page that is made from it."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from companion import claims
from companion.claims import editions

ROOT = Path(__file__).resolve().parents[2]
KEPT = json.loads((ROOT / "book/data/edition-0.1.0.json").read_text("utf-8"))
PAGE = (ROOT / "book/changed.md").read_text("utf-8")
OURS = "(reconstructed) "


@pytest.fixture
def page(extension):
    return extension("what_changed")


@pytest.fixture
def found(page):
    return editions.changes(page.read(ROOT), ROOT)


def record(name, verdict="holds", ours=False, **evidence):
    said = {"id": name, "paper": name.partition("-")[0], "place": "§1", "statement": f"{name} is."}
    return {
        **said,
        "verdict": verdict,
        "reconstructed": ours,
        "reason": "So.",
        "evidence": evidence,
    }


def compare(before, now, retired=None):
    by_id = ({claim["id"]: claim for claim in each} for each in (before, now))
    return editions.compare(*by_id, retired or {})


def test_each_claim_of_either_edition_is_in_one_place():
    before = [
        record("ss19-a"),
        record("ss19-b"),
        record("ss19-c"),
        record("ss19-d"),
        record("ss19-e"),
    ]
    now = [
        record("ss19-a"),
        record("ss19-b", "does not hold"),
        record("ss19-c", ours=True),
        record("ss19-f"),
    ]
    found = compare(before, now, {"ss19-d": "ss19-a", "ss19-e": ""})
    assert [pair.now["id"] for pair in found.changed] == ["ss19-b", "ss19-c"]
    assert [pair.now["id"] for pair in found.same] == ["ss19-a"]
    assert found.merged == {"ss19-d": "ss19-a"} and found.dropped == ("ss19-e",)
    assert [claim["id"] for claim in found.new] == ["ss19-f"]
    with pytest.raises(ValueError, match=r"ss19-d.*neither judged nor retired"):
        compare(before, now, {"ss19-e": ""})


def test_our_formula_may_have_another_verdict_too():
    before, now = record("a-1", "does not hold", ours=True), record("a-1", "holds", ours=True)
    assert len(compare([before], [now]).changed) == 1
    assert len(compare([before], [before]).same) == 1


@pytest.mark.parametrize(
    ("then", "now", "moved"),
    [
        (100, 89, True),
        (100, 91, False),
        (0, 0, False),
        (0, 1, True),
        (-1, 1, True),
        (2, "two", False),
    ],
)
def test_a_number_moves_by_a_tenth(then, now, moved):
    found = compare([record("a-1", n=then, m=1)], [record("a-1", n=now, k=2)])
    assert [name for _, name in found.moved()] == (["n"] if moved else [])


# ------------------------------------------------------------------------------- the first edition


def test_the_first_edition_is_the_one_that_was_committed():
    """The verdicts are those of the ledger in the last commit of that edition."""
    commit = KEPT["manifest"]["commit"]
    command = ["git", "-C", str(ROOT), "show", f"{commit}:book/data/claims.json"]
    shown = subprocess.run(command, capture_output=True, text=True)
    if shown.returncode:
        pytest.skip("the history is not here")
    then = json.loads(shown.stdout)["claims"]
    assert [claim["id"] for claim in KEPT["claims"]] == [claim["id"] for claim in then]
    for kept, claim in zip(KEPT["claims"], then, strict=True):
        for field in ("paper", "place", "statement", "verdict"):
            assert kept[field] == claim[field], claim["id"]
        assert kept["reconstructed"] == claim["statement"].startswith(OURS)
        numbers = {k: v for k, v in claim["evidence"].items() if isinstance(v, int | float)}
        assert kept["evidence"] == numbers, claim["id"]


def test_the_first_edition_had_180_claims():
    first = editions.first_edition(ROOT)
    assert len(first) == len(KEPT["claims"]) == 180
    assert f"ledger of {len(first)} claims" in (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert {claim["verdict"] for claim in first.values()} < set(claims.VERDICTS)


# ------------------------------------------------------------------------------------- the page


def test_every_verdict_that_is_another_is_listed_with_the_reason_of_today(page, found):
    today = {claim.id: claim for claim in claims.recorded()}
    first = editions.first_edition(ROOT)
    papers = re.findall(r"```\{verdict-changes\} (\w+)$", PAGE, re.MULTILINE)
    assert papers == list(page.PAPERS)
    texts = {p: "\n".join(page.write_paper(page.of_paper(found, p), first)) for p in papers}
    others = []
    for name, claim in today.items():
        if name not in first:
            continue
        old = first[name]
        if (claim.verdict, claim.reconstructed) != (old["verdict"], old["reconstructed"]):
            others.append(name)
            counted = "reconstructed" if claim.reconstructed else claim.verdict
            listed = texts[claim.paper].split(f"[{page.plain(name)}](#claim-{name})\n\n")
            assert len(listed) == 2, name
            line = listed[1].partition("\n")[0]
            assert line.startswith("{verdict}`") and f" → {{verdict}}`{counted}`" in line
            assert page.plain(claim.finding.reason) in line, name
    assert len(others) > 20
    assert others == [
        p.now["id"] for p in sorted(found.changed, key=lambda p: [*today].index(p.now["id"]))
    ]
    every = "".join(texts.values())
    assert every.count(" → {verdict}`") == len(others)
    for name in first.keys() - today.keys():
        assert f"- {page.plain(name)}, {{verdict}}`" in every
    for name in today.keys() - first.keys():
        assert f"- [{page.plain(name)}](#claim-{name}), " in every


def test_a_reason_that_is_not_of_today_would_be_seen(page, found):
    """Control: the same page, made after a verdict and its reason have been changed back."""
    first = editions.first_edition(ROOT)
    pair = found.changed[0]
    now = [{**c, "verdict": first[c["id"]]["verdict"]} if c["id"] == pair.now["id"] else c
           for c in page.read(ROOT)]  # fmt: skip
    back = editions.changes(now, ROOT)
    assert len(back.changed) == len(found.changed) - 1
    text = "\n".join(page.write_paper(page.of_paper(back, pair.now["paper"]), first))
    assert page.plain(pair.now["reason"]) not in text


def test_the_counts_add_up(page, found):
    whole = page.counts(found)
    assert whole["before"] == 180 and whole["now"] == len(claims.ledger())
    assert whole["before"] == sum(whole[k] for k in ("same", "changed", "merged", "dropped"))
    parts = [page.counts(page.of_paper(found, paper)) for paper in page.PAPERS]
    assert whole == {key: sum(part[key] for part in parts) for key in whole}
    rows = page.summary(found)
    assert len(rows) == 2 + len(page.PAPERS) + 1
    assert all(
        f"](#changed-{paper})" in row for paper, row in zip(page.PAPERS, rows[2:], strict=False)
    )
    assert set(re.findall(r"\{since\}`(\w+)", PAGE)) <= set(whole)


def test_a_sentence_is_quoted_anew_if_its_words_are_others(page):
    old = {**record("a-1"), "statement": "(reconstructed) R of x² is  low."}
    assert not page.reworded(editions.Pair(old, {**old, "statement": "$R$ of $x^2$ is low."}))
    new = editions.Pair(old, {**old, "statement": "R of y is low.", "verdict": "does not hold"})
    assert page.reworded(new)
    assert page.entry(new)[2].endswith("So. *Quoted then:* R of x² is  low.")


def test_numbers_that_are_told_moved_and_the_others_are_folded(page, found):
    pairs = {pair.now["id"]: pair for pair in (*found.same, *found.changed)}
    told = {(claim, number) for claim, number, _ in editions.TOLD}
    moved = {(pair.now["id"], name) for pair, name in found.moved()}
    assert told < moved
    text = "\n".join(page.numbers(found))
    for name, number in moved:
        then, now = (page.written(claim["evidence"][number]) for claim in pairs[name])
        named = page.plain(page.full_name(pairs[name], number))
        assert f"| [{page.plain(name)}](#claim-{name}) | {named} | {then} | {now} |" in text
    assert f"({len(moved) - len(told)})" in text


def test_names_that_refer_to_another_follow_it(page):
    now = {"ratio, at 1": 1, "the same at 2": 2, "the same at 3": 3, "greatest": 9}
    pair = editions.Pair(record("a-1"), record("a-1", **now))
    assert page.full_name(pair, "ratio, at 1") == "ratio, at 1"
    assert page.full_name(pair, "the same at 3") == "ratio, at 1; the same at 3"
    assert page.full_name(pair, "greatest") == "ratio, at 1; greatest"
    assert page.written(6.1e15) == page.plain("6.1e+15") and page.written(395) == "395"


# ----------------------------------------------------------------------------------- there and back


def test_each_author_finds_what_changed_in_two_clicks_and_the_way_back(page):
    """From the first page: to the authors or to the changes, then to the paper's."""
    book = ROOT / "book"
    authors = (book / "authors.md").read_text("utf-8")
    for paper in page.PAPERS:
        assert f"<changed-{paper}>" in authors
        assert f"{{ref}}`changed-{paper}`" in (book / f"authors_{paper}.md").read_text("utf-8")
        section = PAGE.partition(f"(changed-{paper})=")[2].partition("\n(")[0]
        assert f"{{doc}}`authors_{paper}`" in section
    intro = (book / "intro.md").read_text("utf-8")
    assert "[What changed](changed.md)" in intro.rstrip().rpartition("\n\n")[2]
    assert "{since}`changed`" in intro
