"""The ledger: well-formed, as the chapters published it; what its checks compute with."""

import ast
import itertools
import json
import math
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from test_claims_runs import elimination

from companion import chapters, claims
from companion.claims import (
    td16_privacy,
    td16_regret,
    td16_steps,
    twzw22_central,
    twzw22_rates,
)
from companion.formulas import as_text
from companion.publishing import Page
from dpbandits import bounds
from dpbandits.heavy import robust_means
from dpbandits.mechanisms import HybridCounter

ALL = claims.ledger()
RECORDED = claims.recorded()
ESCAPED = r'[|"\\]'
NUMBERS = ("01", "02", "03", "04", "05", "07")


@pytest.mark.parametrize("claim", RECORDED, ids=lambda claim: claim.id)
def test_a_claim_is_complete(claim):
    assert claim.verdict in claims.VERDICTS
    assert claim.statement.endswith(".") and claim.finding.reason.endswith(".")
    assert not re.search(r"[\\$]", as_text(claim.statement)), "a terminal shows no LaTeX"
    assert claim.place and claim.paper
    assert claim.evidence, "no row without evidence"
    for value in claim.evidence.values():
        assert isinstance(value, (int, float, str)) and not isinstance(value, np.generic)
        assert isinstance(value, str) or math.isfinite(value)


def test_every_claim_has_one_place_in_a_chapter_and_every_verdict_its_claims():
    assert [claim for number in NUMBERS for claim in claims.ledger(chapter=number)] == ALL
    assert len({claim.id for claim in ALL}) == len(ALL)
    assert {claim.verdict for claim in RECORDED} <= set(claims.VERDICTS)
    assert claims.section("ss19-thm-4.1") == ("03", "thm-privacy")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: claims.ledger("nothing"), "allowed: beginnings of ss19-"),
        (lambda: claims.ledger(chapter="9"), "chapter='9' is unknown; allowed: '01'"),
        (lambda: claims.section("ss19-nothing"), "claim='ss19-nothing' is unknown; allowed: an id"),
        (lambda: claims.section("ss19-svt"), "is retired; allowed: ss19-cor-3.2-private, which"),
        (lambda: claims.section("ss19-noise-facts"), "is retired; nothing judges it any more"),
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


@pytest.mark.parametrize("number", ("01", "03"))
def test_the_published_verdicts_are_those_of_the_chapter(number):
    """Chapters that print all their verdicts; tables and JSON escape some signs."""
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
    mine = claims.judge(Page("03", "smoke", 1), elimination((4.0, 4.0)))
    content = json.loads(path.read_text("utf-8"))
    assert content["manifest"] == {"preset": "smoke", "seed": 1}
    assert content["claims"] == claims.records(mine)
    new = {record["id"]: record for record in content["claims"]}
    assert new["ss19-five-times"]["verdict"] == claims.FAILS
    same = [record for record in before if new[record["id"]] == record]
    of_runs = sum(bool(claim.needs) for claim in claims.ledger(chapter="03"))
    assert len(before) - of_runs <= len(same) < len(before)


def test_what_is_ours_in_a_statement_is_marked():
    """Formulas are lost in our copy: a statement with one in it must say whose it is."""
    reported = set()
    for claim in claims.ledger(chapter="04"):
        formula = any(sign in as_text(claim.statement) for sign in "·^Δ√Σ")
        if "as Zhou & Zhang (2024) report it" in claim.place:
            reported.add(claim.id)
        else:
            assert not formula or claim.statement.startswith("(reconstructed) ")
    assert reported == {"twzw22-thm-7", "twzw22-thm-9"}


def test_what_is_reconstructed_is_a_class_of_its_own():
    """Chapters whose copies are whole have none; the published records have the class."""
    ours = {claim.id for claim in ALL if claim.reconstructed}
    assert {name.partition("-")[0] for name in ours} == {"twzw22", "ja25"}
    marked = {claim.id for claim in ALL if "econstructed" in claim.statement + claim.place}
    assert marked < ours
    assert {claim.id for claim in RECORDED if claim.reconstructed} == ours
    for claim in RECORDED:
        expected = claims.RECONSTRUCTED if claim.id in ours else claim.verdict
        assert claim.standing == expected


# ---------------------------------------------------------------- what checks compute with

FULL = HybridCounter(1.0, "full")


def test_what_is_known_by_hand(monkeypatch):
    # elements 3 and 5 to 7: one node of scale 1; two, one and one of scale 2
    losses = [td16_privacy.element_loss(FULL, i, 8) for i in range(1, 9)]
    assert losses == [1.0, 1.0, 2.0, 1.0, 2.0, 1.5, 1.5, 1.0]
    assert [td16_privacy.element_loss(FULL, i, i) for i in (3, 6)] == [1.0, 0.5]
    # blocks [1], [1, 2], [3], [1, 4], of scales 1, 2, 4 and 8; bounds 1, 1, 2, 3
    losses = twzw22_central.element_losses(np.array([1.0, 1, 2, 3]), np.array([1.0, 2, 4, 8]))
    assert losses.tolist() == [2 + 1 + 0.25, 1 + 0.25, 1 + 0.5, 0.75]
    for epsilon in (0.1, 1.0, 3.0):  # the reversed hazard
        expected = epsilon + math.log(2 - math.exp(-epsilon))
        assert td16_steps.step_limit(epsilon) == pytest.approx(expected, rel=1e-9)
    # at h = 1000 > B = 200^(2/3) the mean is noise of scale 2B/n, and errs by p·h = h^(−1/2)
    value = twzw22_central.two_point_failure(1e3, 1e-12, 400, 0.5, 1.0, 2.0)
    below = 1 - 0.5 * math.exp(-(1e3**-0.5) / (2 * 200 ** (2 / 3) / 400))
    assert value == pytest.approx(below / (1.5 * math.exp(-2.0)), rel=1e-9)
    # one reward, m = 1 and a threshold far below: P2/P1 = 1 − p + p·e^(−ε)
    assert twzw22_rates._coupling() == pytest.approx(1.0, abs=1e-9)
    # X = 1 or −1 with probability 1/2 has mean 0, and equal moments; with 3/4 it has not
    assert twzw22_rates._central(1.0, 0.5, 0.5) == pytest.approx(1.0)
    by_hand = 0.75 * 0.5**1.5 + 0.25 * 1.5**1.5
    assert twzw22_rates._central(1.0, 0.75, 0.5) == pytest.approx(by_hand)
    # the width of one reward is that of an epoch of one, as both parts are bounded alike
    for order, epsilon in itertools.product((0.5, 1.0), (0.1, 1.0)):
        assert twzw22_rates._index_width(1, order, epsilon, 2.0, 1) == pytest.approx(1.0)
    # N(τ) = 4^τ, T = 64: 64 pulls of an arm of gap 2^(1−3), or at τ = 4 of one of 2^(1−4)
    monkeypatch.setattr(bounds, "heavy_elimination_pulls", lambda gap, *_: gap**-2)
    assert twzw22_rates.worst_regret(64.0, 1.0) == max(2.0**-2 * 64, 2.0**-3 * 64)
    # an arm without noise never falls below zero
    assert td16_regret._falls_below_zero(20, 1e-9) < 1e-12
    assert 0.001 < td16_regret._falls_below_zero(20, 1e6) < 0.02, "control"


@pytest.mark.statistical
def test_probabilities_of_the_path_are_those_of_plain_draws(rng):
    """Played as in Algorithm 1, the path comes up as often; two comparisons."""
    draws = td16_privacy.DRAWS
    found = np.mean(td16_privacy._path_probabilities(FULL), axis=1)
    for x in (0, 1):
        own, other = (td16_privacy._noise(FULL, 5, rng) for _ in range(2))
        sums = np.array([0.0, 1.0, 2.0, 2.0 + x, 3.0 + x, 4.0 + x])
        possible = np.ones(draws, dtype=bool)
        pulls = [0, 0]
        for time, action in enumerate(td16_privacy.PATH, 1):
            n, m = pulls
            if time > 2:
                first = (sums[n] + own[n]) / n + td16_privacy._bonus(1.0, time, n)
                second = other[m] / m + td16_privacy._bonus(1.0, time, m)
                possible &= (first >= second) == (action == 1)
            pulls[action - 1] += 1
        limit = stats.norm.isf(1e-7) * np.sqrt(2 * found / draws)  # for both estimates, or more
        assert abs(possible.mean() - found[x]) < limit[x]
        assert abs(possible.mean() - found[1 - x]) > limit[1 - x]


@pytest.mark.statistical
def test_the_step_of_a_long_past_is_that_of_algorithm_1():
    """Closed forms against runs, index by index; with half of the budget it is another step."""
    past = td16_steps.PASTS["index of the text"]
    loss, error = td16_steps.literal_step(past, 16)
    full, half = (td16_steps.step_of(past, 2, split) for split in ("full", "half"))
    assert abs(loss - full.loss) < 5 * math.hypot(error, full.error)
    assert abs(loss - half.loss) > 5 * math.hypot(error, half.error), "control"


@pytest.mark.statistical
def test_the_next_action_against_draws(rng):
    """Few releases, so that draws that fit the past are not rare; two comparisons."""
    wait, f, draws = td16_privacy.Wait(3, 1, 0.3), 9, 1_000_000
    found = np.array(td16_privacy.next_action(f, 1.0, wait))
    for x in (0, 1):
        value = (0.3 * (f - 1) + x) / f + rng.laplace(0, f**-0.45, draws)
        fits = np.ones(draws, dtype=bool)
        for j in (1, 2):
            other = 1.0 + rng.laplace(0, (j * f) ** -0.45, draws)
            for time in range((j + 1) * f + 1, (j + 2) * f + 1):
                root = math.sqrt(2 * math.log(time))
                fits &= value + root / math.sqrt(f) < other + root / math.sqrt(j * f)
        root = math.sqrt(2 * math.log(4 * f + 1))
        last = 2 / 3 + rng.laplace(0, (3 * f) ** -0.45, draws)
        won = value + root / math.sqrt(f) >= last + root / math.sqrt(3 * f)
        share = won[fits].mean()
        limit = stats.norm.isf(1e-7) * np.sqrt(found * (1 - found) / fits.sum())
        assert abs(share - found[x]) < limit[x]
        assert abs(share - found[1 - x]) > limit[1 - x]


@pytest.mark.statistical
def test_the_sure_mean_is_below_the_mean(rng):
    """Rare large values, as of runs that lose the best arm."""
    sample = np.where(rng.random(1500) < 0.03, 30_000.0, rng.uniform(0, 200, 1500))
    assert 100 < td16_regret.surely_mean(sample, 30_000.0) < 0.03 * 30_000 + 0.97 * 100
    assert 29_000 < td16_regret.surely_mean(np.full(1500, 30_000.0), 30_000.0) < 30_000


@pytest.mark.statistical
def test_the_failure_of_a_width_against_draws(rng):
    """Seven standard deviations of both directions, of which the greater one is returned."""
    n, order, epsilon, log_term, draws, high = 400, 0.5, 1.0, 2.0, 1_000_000, 5.0
    exact = twzw22_central.two_point_failure(high, 0.5, n, order, epsilon, log_term)
    bound = robust_means.central_threshold(n, 1.0, order, epsilon, log_term)
    err, _ = robust_means.central_width(n, 1.0, order, epsilon, log_term)
    p = high ** -(1 + order)
    means = rng.binomial(n, p, draws) * high / n + rng.laplace(0, 2 * bound / n / epsilon, draws)
    errors = (means - p * high) / err
    seen = max(np.mean(errors > 0.5), np.mean(errors < -0.5))
    assert high < bound
    assert abs(seen - 1.5 * math.exp(-log_term) * exact) < 7 * math.sqrt(0.25 / draws)


SOURCES = sorted((Path(claims.__file__).parent).glob("*.py"))


def fixed_words(source):
    """Calls of `finding` whose verdict is computed, and whose words are always the same."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "finding":
            verdict, reason = node.args[:2]
            fixed = isinstance(reason, ast.Constant)
            if fixed and not (isinstance(verdict, ast.Name) and verdict.id.isupper()):
                yield node.lineno


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_words_that_are_always_the_same_stand_beside_their_verdict(path):
    assert not list(fixed_words(path.read_text("utf-8")))


def test_fixed_words_are_found():
    assert list(fixed_words('finding(decide(x), "Proved.")')) == [1]
    assert not list(fixed_words('finding(decide(x), {HOLDS: "Proved."})'))
    assert not list(fixed_words('finding(FAILS, "Not so.")'))


def test_a_verdict_never_has_the_words_of_another():
    first, *_ = [claim for claim in ALL if claim.id == "ss19-nas"]
    assert first.finding.reason.startswith("The union bound")
    other = claims.findings.finding(claims.FAILS, {claims.HOLDS: first.finding.reason})
    assert other.reason == claims.findings.OTHERWISE
