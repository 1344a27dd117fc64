"""The table of patients for DP-SPRT: complete, its sentences true, rows that come out again."""

import json
import math
import re
from collections import Counter
from xml.etree import ElementTree

import pytest
from test_pages import ROOT

import dpbandits as dpb
from companion import sprt_costs
from companion.sprt_costs import (
    ALONE,
    ALPHA,
    BEST,
    BETA,
    CONSTANTS,
    COUNT,
    FREE,
    NAS,
    PRINTED,
    UNION,
)
from dpbandits.trials import calibrated_sprt


def test_the_table_has_every_setting_in_order():
    rows = sprt_costs.read()
    wanted = [(f"{epsilon:g}", name) for epsilon, name in sprt_costs.settings()]
    assert [(row["epsilon"], row["design"]) for row in rows] == wanted
    for row in rows:
        assert 0 <= row["false"] <= ALPHA and 0 <= row["missed"] <= BETA
    content = json.loads(sprt_costs.FILE.read_text("utf-8"))
    assert content["numbers"] == pytest.approx(sprt_costs.numbers(rows))


@pytest.mark.parametrize(
    ("epsilon", "name"),
    [
        *((math.inf, FREE), (1.0, "one look"), (1.0, "five looks, futility"), (3.0, CONSTANTS)),
        *((math.inf, BEST), (1.0, BEST), (0.3, BEST), (1.0, COUNT)),
    ],
)
def test_rows_come_out_as_they_are_recorded(epsilon, name):
    found = sprt_costs.measure(epsilon, name)
    (row,) = (
        each
        for each in sprt_costs.read()
        if (each["epsilon"], each["design"]) == (f"{epsilon:g}", name)
    )
    for each in (found, row):
        del each["epsilon"], each["design"]
    assert found == pytest.approx(row, rel=1e-6, abs=1e-9)


def test_the_sentences_of_the_page_hold():
    of = {(row["epsilon"], row["design"]): row for row in sprt_costs.read()}
    for kind in ("planned", "none"):
        ours, union, printed, nas = (of["1", n][kind] for n in (CONSTANTS, UNION, PRINTED, NAS))
        assert ours < union < printed < nas
    ours, five, idle = (of["1", n] for n in (CONSTANTS, "five looks", "five looks, futility"))
    assert ours["none"] < five["none"] and five["planned"] < ours["planned"]
    assert all(idle[kind] < ours[kind] for kind in ("planned", "half", "none"))
    great, free = of["3", CONSTANTS], of["inf", FREE]
    assert all(great[kind] < 1.05 * free[kind] for kind in ("planned", "half", "none"))
    assert free["false"] < ALPHA and free["missed"] < 0.9 * BETA
    for epsilon in ("3", "1", "0.3"):
        alone = of[epsilon, ALONE]
        few = [of[epsilon, each] for each in sprt_costs.LOOKS]
        assert all(alone[kind] < each[kind] for each in few for kind in ("planned", "none"))
    assert max(of["1", PRINTED][kind] for kind in ("false", "missed")) < 1e-4
    assert 2.5 < of["1", UNION]["planned"] / ours["planned"] < 4.0
    assert 5.0 < of["1", PRINTED]["planned"] / ours["planned"] < 7.0
    for epsilon in ("1", "0.3"):
        best, count, alone = (of[epsilon, name] for name in (BEST, COUNT, ALONE))
        for kind in ("planned", "half", "none"):
            assert best[kind] <= count[kind] <= best[kind] + 1 < alone[kind]
    best, alone = of["3", BEST], of["3", ALONE]
    assert alone["planned"] < best["planned"] < alone["half"] and alone["none"] < best["none"]
    small = [of["0.3", name]["planned"] for name in ("one look", "five looks", CONSTANTS)]
    assert small[2] > max(small[:2])


def test_the_error_of_pairs_depends_on_the_common_share():
    high, low = sprt_costs.shares()
    rule = calibrated_sprt(dpb.DPSPRT(low, high, ALPHA, BETA, 3.0, paired=True, most=30_000))
    assert rule.law(low, low).found <= ALPHA and rule.law(0.5, 0.5).found > 2 * ALPHA


def test_the_page_names_numbers_that_are_there():
    page = (ROOT / "book/exact_group_sequential.md").read_text("utf-8")
    content = json.loads(sprt_costs.FILE.read_text("utf-8"))
    named = re.findall(r"\{datum\}`data/sprt-patients.json: ([\w.-]+)`", page)
    assert len(named) >= 15
    for each in named:
        part, _, key = each.partition(".")
        assert key in content[part]


def test_the_picture_is_that_of_the_rows(tmp_path, monkeypatch):
    kept = sprt_costs.PICTURE
    monkeypatch.setattr(sprt_costs, "PICTURE", tmp_path / "drawn.svg")
    sprt_costs.picture()
    roots = [ElementTree.parse(path).getroot() for path in (sprt_costs.PICTURE, kept)]
    assert roots[0].get("viewBox") == roots[1].get("viewBox")
    counts = [Counter(node.tag for node in root.iter()) for root in roots]
    assert counts[0] == counts[1]
