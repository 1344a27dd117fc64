"""The numbers of the first screen, and the page for authors."""

import itertools
import json
import math
import re
from pathlib import Path

import pytest
from scipy import integrate

from companion.claims import ledger
from companion.headlines import headlines, lead_kept
from companion.publishing import published

ROOT = Path(__file__).resolve().parents[2]
INTRO = (ROOT / "book/intro.md").read_text("utf-8")
SPACE = "\N{NARROW NO-BREAK SPACE}"


def test_every_number_of_the_first_screen_is_there_and_every_one_is_used():
    asked = set(re.findall(r"\{headline\}`([\w-]+)`", INTRO))
    assert asked <= set(headlines(ROOT))
    assert len(asked) > 15


def test_the_first_screen_has_350_words():
    """Words that are read: no addresses, options or names of pictures; numbers count as words."""
    text = INTRO.split("---", 2)[2]
    text = re.sub(
        r"^:(\w|-)+:.*$|^[:`]{3,}.*$|\]\([^)]*\)|^\(.*\)=$|^\|[-|]+$", "", text, flags=re.M
    )
    words = re.findall(r"\w[\w.,’'-]*", text)
    assert 150 < len(words) <= 350


def test_a_lead_is_kept_as_often_as_the_integral_says():
    """P(lead + Lap(b) > Lap(b)), by integration over both."""
    for lead, scale in ((0.0, 1.0), (1.0, 1.0), (1.0, 2.0), (3.0, 0.5)):

        def inner(z, lead=lead, scale=scale):
            below = (
                0.5 * math.exp((z + lead) / scale)
                if z < -lead
                else 1 - 0.5 * math.exp(-(z + lead) / scale)
            )
            return below * math.exp(-abs(z) / scale) / (2 * scale)

        ends = [-60 * scale, -lead, 0.0, 60 * scale]
        whole = sum(integrate.quad(inner, a, b)[0] for a, b in itertools.pairwise(ends))
        assert lead_kept(lead, scale) == pytest.approx(whole, abs=1e-9)
        assert lead_kept(lead + 0.01, scale) != pytest.approx(whole, abs=1e-9), "control"


def test_the_numbers_are_those_of_the_published_tables():
    """Each again, by another way."""
    found = {name: text.replace(SPACE, "") for name, text in headlines(ROOT).items()}
    costs = published("ours-trial-price", ROOT).table.set_index("epsilon")
    one, free = costs.loc[1.0], costs.loc[math.inf]
    assert found["patients"] == f"{one['mean_time']:.0f}"
    assert found["free"] == f"{free['mean_time']:.0f}"
    assert found["more"] == f"{one['mean_time'] / free['mean_time'] - 1:.0%}"
    assert (
        int(found["there"])
        == published("ours-trial-price", ROOT).manifest["recipe"]["options"]["there"]
    )
    bounds = published("ours-audit-expected", ROOT).table.set_index(["curve", "c"])["bound"]
    first = bounds["10\N{NARROW NO-BREAK SPACE}000 test runs"][lambda each: each > 1].index[0]
    assert first - 0.1 < float(found["caught"]) <= first
    race = published("h-map-all", ROOT).table
    cells = race.groupby(["panel", "instance", "epsilon", "time"])
    winners = [group.sort_values("mean")["algorithm"].iloc[0] for _, group in cells]
    assert found["best-of"] == str(len(winners))
    assert found["best-in"] == str(winners.count(found["best"]))


def test_an_author_meets_the_sentence_before_its_verdict(extension):
    page = extension("claims_ledger")
    claims = [
        claim
        for path in sorted((ROOT / "book/data").glob("claims-*.json"))
        for claim in json.loads(path.read_text("utf-8"))["claims"]
        if claim["paper"] == "td16"
    ]
    needing = {claim.id for claim in ledger() if claim.needs}
    text = "\n".join(page.write_for_author(claims, needing))
    for claim in claims:
        place = text.index(f"<claim-{claim['id']}>`")
        if page.standing(claim) in page.DISPUTED:
            said = page.plain(claim["statement"])
            verdict = text.rindex(f"{{verdict}}`{claim['verdict']}`", 0, place)
            assert text.rindex(said, 0, place) < verdict
            assert page.command(claim, needing) in text[place : place + 200]
    listed = re.findall(r"<claim-([\w.-]+)>", text)
    assert sorted(listed) == sorted(claim["id"] for claim in claims)


def test_a_command_is_one_that_judges(extension):
    """A check where there is one, else the chapter that makes the experiment."""
    page = extension("claims_ledger")
    judged = {claim.id: bool(claim.needs) for claim in ledger()}
    needs = {name for name, experiment in judged.items() if experiment}
    assert needs and needs != set(judged)
    for name, experiment in judged.items():
        told = page.command({"id": name, "chapter": "03"}, needs)
        wanted = "companion execute 3" if experiment else f"companion claims --check {name}"
        assert told == wanted
