"""The parts that every chapter's page is made of: minutes, quiet line, badges, lean pages."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.parsers.rst import DirectiveError
from docutils.utils import new_document

from companion.chapters import find_root
from companion.publishing import FACTS, Page

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def form(extension):
    return extension("chapter_form")


def words(n):
    return nodes.paragraph("", "word " * n)


def fold(*children):
    return nodes.container(
        "",
        *children,
        design_component="dropdown",
        opened=False,
        container_classes=["sd-mb-3", "proof-fold"],
    )


def page(*children):
    document = new_document("page")
    document += children
    return document


# -------------------------------------------------------------------------------------- minutes


@pytest.mark.parametrize(
    ("children", "minutes"),
    [
        ([], (1, 1)),
        ([words(200)], (1, 1)),
        ([words(201)], (2, 2)),
        ([words(400), fold(words(1000)), fold(words(10))], (2, 12)),
        ([nodes.container("", words(5000), classes=["cell", "tag_hide-input"])], (1, 1)),
        ([nodes.container("", words(1000), classes=["cell"])], (5, 5)),
        ([nodes.raw("", "word " * 1000, format="html")], (1, 1)),
        ([nodes.math("", "a b c " * 900), words(199)], (1, 1)),
        ([nodes.admonition("", words(1000), classes=["dropdown"]), words(300)], (2, 2)),
    ],
)
def test_minutes_are_those_of_what_is_in_sight_and_five_a_proof(form, children, minutes):
    assert form.minutes_of(page(*children)) == minutes


def test_a_caption_is_read_where_the_code_is_hidden(form):
    figure = nodes.figure("", nodes.caption("", "word " * 400))
    output = nodes.container("", words(1000), figure, classes=["cell_output"])
    cell = nodes.container("", words(1000), output, classes=["cell", "tag_hide-input"])
    assert form.words_in(cell) == 400


def test_minutes_are_said_in_words(form):
    assert form.said((1, 1)) == "1 minute."
    assert form.said((20, 50)) == "20 minutes, 50 with the proofs."
    line = nodes.paragraph("", "", form.Minutes())
    document = page(nodes.container("", line, classes=["quiet"]), words(600), fold())
    form.write_minutes(None, document)
    assert line.astext() == "3 minutes, 8 with the proofs."


# ----------------------------------------------------------------------------------- quiet line


def test_a_chapter_hands_over_what_was_computed(monkeypatch):
    handed, kept = {}, []
    monkeypatch.setattr("companion.publishing.keep_runs", kept.append)
    monkeypatch.setattr("myst_nb.glue", lambda name, value, **_: handed.update({name: value}))
    Page("01", "paper", 0).quiet("30 runs")
    assert handed == {FACTS: "Computed with the preset paper, seed 0, 30 runs."}
    Page("01", "quick", 3).quiet()
    assert kept == [find_root()] * 2
    assert handed[FACTS].startswith("Computed with the preset quick, seed 3. Its numbers are")


def quiet(form, path):
    env = SimpleNamespace(docname="page", doc2path=lambda _: str(path))
    state = SimpleNamespace(document=SimpleNamespace(settings=SimpleNamespace(env=env)))
    state_machine = SimpleNamespace(reporter=SimpleNamespace(severe=str))
    return form.Quiet("quiet", [], {}, [], 1, 0, "", state, state_machine)


def test_the_line_has_the_facts_of_its_notebook(form, tmp_path):
    output = {
        "data": {"application/papermill.record/text/plain": r"'Computed, 1\u202f000 runs.'"},
        "metadata": {"scrapbook": {"name": FACTS}},
    }
    path = tmp_path / "page.ipynb"
    path.write_text(json.dumps({"cells": [{"outputs": [output]}]}), "utf-8")
    assert quiet(form, path).facts() == "Computed, 1\N{NARROW NO-BREAK SPACE}000 runs."
    assert quiet(form, tmp_path / "page.md").facts() == ""
    path.write_text(json.dumps({"cells": []}), "utf-8")
    with pytest.raises(DirectiveError) as caught:
        quiet(form, path).facts()
    assert "has not said how it was computed" in caught.value.msg


# --------------------------------------------------------------------------------------- badges


def badge(form, text):
    builder = SimpleNamespace(get_relative_uri=lambda _, page: f"../{page}.html")
    env = SimpleNamespace(
        srcdir=str(ROOT),
        docname="notebooks/01_stopping_rules",
        app=SimpleNamespace(builder=builder),
        note_dependency=lambda _: None,
    )
    settings = SimpleNamespace(env=env)
    reporter = SimpleNamespace(error=lambda text, line: text)
    document = SimpleNamespace(settings=settings)
    inliner = SimpleNamespace(reporter=reporter, document=document)
    return form.Badge()("badge", f"{{badge}}`{text}`", text, 1, inliner)


def test_a_badge_says_what_the_claims_say(form):
    files = [ROOT / f"book/data/claims-{number}.json" for number in ("01", "04")]
    claims = [c for path in files for c in json.loads(path.read_text("utf-8"))["claims"]]
    assert {claim["reconstructed"] for claim in claims} == {True, False}
    for claim in claims:
        (link,), problems = badge(form, claim["id"])
        assert not problems
        said = "reconstructed" if claim["reconstructed"] else claim["verdict"]
        assert link.astext() == said
        place = nodes.make_id(f"claim-{claim['id']}")
        assert link["refuri"] == f"../book/claims.html#{place}"
    assert badge(form, "no-such-claim") == ([], ["no claim 'no-such-claim'"])


# ----------------------------------------------------------------------------------- lean pages


def test_pages_go_without_the_script_of_icons(extension, tmp_path):
    lean = extension("lean_pages")
    script = '<script src="../_static/scripts/fontawesome.js?digest=88"></script>'
    preload = '<link rel="preload" as="script" href="_static/scripts/fontawesome.js?digest=88" />'
    other = '<script src="../_static/scripts/bootstrap.js?digest=88"></script>'
    font = '<link href="../_static/vendor/fontawesome/webfonts/fa-solid-900.woff2" />'
    (tmp_path / "a.html").write_text(f"<p>\n{preload}\n{script}\n{other}{font}</p>", "utf-8")
    app = SimpleNamespace(builder=SimpleNamespace(format="html"), outdir=str(tmp_path))
    lean.finish(app, None)
    assert (tmp_path / "a.html").read_text("utf-8") == f"<p>\n{other}{font}</p>"


def test_the_style_sheet_names_the_icons_that_are_used(extension):
    lean = extension("lean_pages")
    kept = '.fa-list:before,.fa-list-squares:before{content:"\\f03a"}'
    other = '.fa-0:before{content:"\\30 "}.fa-hand:before,.fa-palm:before{content:"\\f256"}'
    rest = '.fa-spin{animation:1s}.other{content:"x"}'
    used = lean.icons_in(['<i class="fa-solid fa-list"></i>', "x = 'fa-spin'"])
    assert used == {"fa-solid", "fa-list", "fa-spin"}
    assert lean.without_others(kept + other + rest, used) == kept + rest
