"""The book's extensions that collect exercises, add buttons, and write filters."""

import json
import re
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import pytest
from jinja2 import Template

from companion import explorer, front
from companion.formulas import plain_math

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))


# ------------------------------------------------------------------------------------ exercises


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_the_exercises_of_each_chapter_are_collected(extension, path):
    module = extension("exercises")
    notebook = json.loads(path.read_text("utf-8"))
    text = module.exercises_of(notebook)
    source = "\n".join(
        "".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown"
    )
    section = source.split("## Exercises\n", 1)[1]
    section = re.split(r"(?m)^## ", section)[0]
    solutions = len(re.findall(r"(?m)^:+\{dropdown\}|:class: dropdown", section))
    assert solutions >= 2
    assert len(re.findall(r"(?m)^:+\{dropdown\}|:class: dropdown", text)) == solutions
    assert "{glue" not in text
    assert not re.search(r"(?m)^## ", text)
    assert module.chapter_title(notebook)


def cell(kind, text, **more):
    return {"cell_type": kind, "source": [text], "metadata": {}, **more}


def test_numbers_links_and_the_end_of_the_section(extension):
    module = extension("exercises")
    output = {"data": {module.RECORD: ["'0.25'"]}, "metadata": {"scrapbook": {"name": "share"}}}
    notebook = {
        "cells": [
            cell("markdown", "# Title: and more\nText."),
            cell("code", "glue()", outputs=[output]),
            cell(
                "markdown",
                "## Exercises\n1. Why {glue:text}`share`? "
                "See {doc}`there <02_other>`, {doc}`03_more`.\n\n"
                "(next-part)=\n## How to cite\nNothing of this.",
            ),
        ]
    }
    assert module.chapter_title(notebook) == "Title: and more"
    assert module.exercises_of(notebook) == (
        "1. Why 0.25? See {doc}`there </notebooks/02_other>`, {doc}`/notebooks/03_more`."
    )
    notebook["cells"][1]["outputs"] = []
    with pytest.raises(KeyError):
        module.exercises_of(notebook)
    with pytest.raises(ValueError, match="Exercises"):
        module.exercises_of({"cells": notebook["cells"][:2]})


def test_an_exercise_is_found_by_its_number_and_name(extension):
    module = extension("exercises")
    text = "**1.** *Two looks.* A noisy value.\n\n**12.** *What now?* Nothing, **2.** times."
    found = [(each[1], each[2]) for each in module.NUMBERED.finditer(text)]
    assert found == [("1", "Two looks"), ("12", "What now?")]
    assert module.place("03", "2") == "exercise-03-2"


# -------------------------------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("4,096 of 66,507 patients", "4096 of 66_507 patients"),
        ("8_592 patients, 1,234,567.5 days", "8592 patients, 1_234_567.5 days"),
        ("means 0.9,0.8 and 0.75,0.700", "means 0.9,0.8 and 0.75,0.700"),
        ("1,2,345 and 12,34 and 1,2345", "1,2,345 and 12,34 and 1,2345"),
        ("in 2019, 400 of them", "in 2019, 400 of them"),
    ],
)
def test_numbers_are_grouped_in_one_way(extension, written, shown):
    module = extension("cite_numbers")
    space = "\N{NARROW NO-BREAK SPACE}"
    assert module.grouped_as_here(written.replace("_", space)) == shown.replace("_", space)


# -------------------------------------------------------------------------------------- buttons


def configured(launch, monkeypatch, repository, branch=None):
    """Return the theme's options of a build with some environment."""
    for name, value in (("BOOK_REPOSITORY", repository), ("BOOK_BRANCH", branch)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    config = SimpleNamespace(html_theme_options={"show_toc_level": 2})
    launch.add_buttons(None, config)
    return config.html_theme_options


def test_buttons_are_off_unless_asked_for(extension, monkeypatch):
    launch = extension("theme_patches")
    for nothing in (None, ""):
        assert configured(launch, monkeypatch, nothing) == {"show_toc_level": 2}
    given = "https://github.com/someone/dpbandits/"
    found = configured(launch, monkeypatch, given, "v1")
    assert found["show_toc_level"] == 2
    assert found["repository_url"] == "https://github.com/someone/dpbandits"
    assert found["repository_branch"] == "v1"
    assert {"binderhub_url", "colab_url"} <= set(found["launch_buttons"])
    assert configured(launch, monkeypatch, given)["repository_branch"] == "main"


def test_the_list_of_pages_is_made_once_for_a_folder_that_is_not_in_it(extension):
    patches = extension("theme_patches")
    patches._sidebars.clear()
    app = SimpleNamespace(env=SimpleNamespace(toctree_includes={"intro": ["book/api"]}))
    made = []

    def listed(page, **options):
        """Return the list that a page gets."""

        def make(kind, **given):
            made.append(page)
            return f"{kind} {given} of {page}"

        context = {"generate_toctree_html": make}
        patches.share_sidebar(app, page, "page.html", context, None)
        return context["generate_toctree_html"]("sidebar", **options)

    first = listed("book/reference/A", depth=1)
    assert (
        listed("book/reference/B", depth=1) == first == "sidebar {'depth': 1} of book/reference/A"
    )
    assert made == ["book/reference/A"]
    for page in ("book/reference/A", "_modules/A"):
        assert listed(page, depth=2).endswith(page)  # with other options, in another folder
    for page in ("intro", "book/api"):  # which the list marks
        assert listed(page, depth=1).endswith(page)
    patches._sidebars.clear()


@pytest.mark.parametrize(
    "bad",
    ["dpbandits", "https://example.org/a/b", "https://github.com/a", "https://github.com/a/b/c"],
)
def test_what_is_no_repository_is_refused(extension, monkeypatch, bad):
    launch = extension("theme_patches")
    with pytest.raises(launch.ExtensionError, match="OWNER/NAME"):
        configured(launch, monkeypatch, bad)


# ------------------------------------------------------------------------------------------ foot


def test_the_foot_says_the_edition_and_whom_to_tell(extension, tmp_path):
    module = extension("theme_patches")
    said = module.edition(ROOT)
    assert said.startswith("Edition ") and module.edition(tmp_path) == said.partition(",")[0]
    alone = module.foot("A & B", "book/a.md", said)
    assert "Edition" in alone and "href" not in alone
    told = module.foot("A & B", "book/a.md", said, "https://github.com/x/y", "v1")
    report, edit = re.findall(r'href="([^"]+)"', told)
    query = parse_qs(urlsplit(unescape(report)).query)
    assert query["title"] == ["Error on the page “A & B”"]
    assert query["body"][0].splitlines() == [
        "Page: A & B (book/a.md)",
        f"Edition: {said}",
        "Section: ",
    ]
    assert edit == "https://github.com/x/y/edit/v1/book/a.md"
    name = module.foot("UCB", "book/reference/dpbandits.UCB.rst", said, "https://github.com/x/y")
    assert "/issues/new" in name and "/edit/" not in name


# -------------------------------------------------------------------------------------- filters


def test_a_filter_says_what_it_filters_and_escapes(extension):
    form = extension("page_filter").make_form(
        "claims", ".claim", {"paper": ("Paper", {"a": "A & B"})}, counted="tr", anchor="#all"
    )
    text = form.astext()
    for part in (
        'data-items=".claim"',
        'data-counted="tr"',
        'data-anchor="#all"',
        '<option value="">all</option>',
        '<option value="a">A &amp; B</option>',
        " hidden ",
    ):
        assert part in text
    script = (ROOT / "book/_static/page_filter.js").read_text("utf-8")
    for name in ("items", "counted", "noun", "anchor"):
        assert re.search(rf"\b{name}\b.*= form\.dataset", script)


def test_the_script_comes_with_its_page_alone(extension):
    module = extension("page_filter")
    handlers, scripts = [], []
    app = SimpleNamespace(
        connect=lambda event, handler: handlers.append(handler),
        add_js_file=lambda name, **_: scripts.append(name),
    )
    module.load_script(app, "book/claims")
    handlers[0](app, "book/intro", None, {}, None)
    assert scripts == []
    handlers[0](app, "book/claims", None, {}, None)
    assert scripts == [module.SCRIPT]


# ------------------------------------------------------------------------------------ reference


def test_each_page_of_the_reference_lists_its_names():
    for page in front.PAGES:
        assert f".. front:: {page}\n" in (ROOT / f"book/api_{page}.md").read_text("utf-8")
    pages = {name.public for name in front.front().values()}
    assert len(pages) == len(front.front()) > 250


def test_the_page_of_a_name(extension):
    module = extension("package_reference")
    template = Template((ROOT / "book/_templates/reference.rst").read_text("utf-8"))
    dpse = front.front()["dpbandits.regret.elimination.DPSE"]
    text = module.page_of(dpse, template)
    assert text.startswith(":orphan:\n\nDPSE\n====\n")
    assert ".. autoclass:: dpbandits.regret.elimination.DPSE\n   :members:" in text
    faster = module.accelerators_of(dpse.thing)
    assert "dpbandits._engine.accelerators.elimination" in {place for place, _ in faster}


def test_the_files_of_pages_differ_where_case_does_not_count(extension):
    module = extension("package_reference")
    files = [module.file_of(name).lower() for name in front.front().values()]
    assert len(set(files)) == len(files)
    assert "dpbandits.plan-function" in files and "dpbandits.plan" in files


def test_modules_are_listed_by_their_first_sentence(extension):
    module = extension("package_reference")
    assert module.first_sentence("One thing: this\none.\n\nMore.") == "One thing: this one"


def test_a_name_of_the_engine_is_known_and_a_wrong_one_is_not(extension):
    module = extension("short_names")
    assert module.exists("dpbandits._engine.running.run_cases") and module.exists("DPSE.play")
    assert not module.exists("dpbandits.regret.DPES") and not module.exists("DPSE.plays")


def test_no_address_in_memory_gets_into_the_reference(extension):
    from docutils import nodes

    doctree = nodes.document(None, None)
    alias = "alias of Annotated[float, <function _budget at 0x7f06>]"
    field = "Annotated[int, <function whole.<locals>.<lambda> at 0x7f07>]"
    shortened = "Annotated[int, <lambda> at 0x7f08>]"
    doctree += [nodes.paragraph("", text) for text in (alias, field, shortened, "x")]
    extension("package_reference").without_addresses(None, doctree)
    assert [node.astext() for node in doctree] == [
        "Annotated[int, whole]",
        "Annotated[int, checked]",
        "x",
    ]


def test_a_sentence_on_an_attribute_keeps_its_colon(extension):
    from sphinx.ext.napoleon import NumpyDocstring

    module = extension("package_reference")

    def read(lines):
        return list(NumpyDocstring(lines, what="attribute", name="a.b").lines())

    said = ["Pure ε-privacy: one reward changes."]
    assert any(line.startswith(":type:") for line in read(said)), "control: napoleon alone"
    lines = list(said)
    module.hide_colon(None, "attribute", "a.b", None, None, lines)
    lines = read(lines)
    module.show_colon(None, "attribute", "a.b", None, None, lines)
    assert [line for line in lines if line] == said


# --------------------------------------------------------------------------------------- search

PAGE = """<html><nav><section id="menu"><h1>Menu</h1></section></nav>
<article class="bd-article"><section id="top"><h1><span class="section-number">3. </span>Clinic
<a class="headerlink">#</a></h1><p>First words.<script>not this</script></p>
<div class="proof theorem admonition" id="thm-x"><p class="admonition-title">
<span class="caption-number">Theorem 3.1 </span> (Theorem 4.3 of the paper)</p>
<section class="theorem-content" id="proof-content"><p>At most <span class="math notranslate">
\\(\\frac{1}{\\varepsilon}\\)</span>.</p></section></div>
<figure id="fig-x"><figcaption><p><span class="caption-number">Fig. 3.1 </span>
<span class="caption-text">It falls. And more.</span></p></figcaption></figure>
<details class="sd-dropdown proof-fold claim" id="claim-ss19-a"><summary>✓ ss19-a It
holds with β. holds with a condition</summary>
<p>Verdict. Said in SS19, Theorem 4.3. Judged in chapter 3.</p></details>
<dl class="py class"><dt class="sig" id="dpb.DPSE">class DPSE(epsilon)</dt><dd><p>Elimination.</p>
<dl class="py attribute"><dt class="sig" id="dpb.DPSE.label">label</dt><dd><p>Name.</p></dd></dl>
</dd></dl><p>Last.</section></article><footer><section id="end"><h2>End</h2></section></footer>"""


def test_what_a_search_finds_on_a_page(extension):
    found = {one["a"]: one for one in extension("book_search").read_page(PAGE)}
    assert list(found) == ["top", "thm-x", "fig-x", "claim-ss19-a", "dpb.DPSE"]
    assert {one["k"] for one in found.values()} == {"section", "theorem", "figure", "claim", "code"}
    assert found["top"] == {"k": "section", "a": "top", "t": "Clinic", "n": "3. top",
                            "x": "First words. Last."}  # fmt: skip
    theorem = found["thm-x"]
    assert (theorem["t"], theorem["n"]) == ("Theorem 4.3 of the paper", "Theorem 3.1 thm-x")
    assert theorem["x"] == "At most 1/ε."
    assert (found["fig-x"]["t"], found["fig-x"]["x"]) == ("It falls", "And more.")
    claim = found["claim-ss19-a"]
    assert claim["t"] == "It holds with β. (holds with a condition)"
    assert claim["n"] == "claim-ss19-a ss19-a SS19, Theorem 4.3"
    assert found["dpb.DPSE"]["x"].startswith("Elimination.")


def test_a_search_finds_a_claim_by_the_id_it_once_had(extension):
    retired = '<p id="claim-ss19-b">ss19-b: now <a class="x" href="#claim-ss19-a">ss19-a</a>.</p>'
    records = extension("book_search").read_page(PAGE.replace("<p>Last.", f"{retired}<p>Last."))
    assert {one["a"]: one["o"] for one in records if "o" in one} == {"claim-ss19-a": "ss19-b"}


def test_a_page_that_is_the_same_is_not_read_again_for_the_search(extension, tmp_path, monkeypatch):
    search = extension("book_search")
    pages = {name: tmp_path / "html" / f"{name}.html" for name in ("a", "b")}
    (tmp_path / "html/_static").mkdir(parents=True)
    for path in pages.values():
        path.write_text(PAGE, "utf-8")
    app = SimpleNamespace(
        env=SimpleNamespace(found_docs=set(pages)),
        outdir=tmp_path / "html",
        doctreedir=tmp_path,
        builder=SimpleNamespace(format="html", get_target_uri=lambda name: f"{name}.html"),
    )
    read, whole = [], search.read_page
    monkeypatch.setattr(search, "read_page", lambda text: read.append(text) or whole(text))

    def written():
        """Write the list, and return it with the number of pages that were read."""
        read.clear()
        search.write_entries(app, None)
        return (tmp_path / "html/_static" / search.DATA).read_text("utf-8"), len(read)

    first, _ = written()
    assert written() == (first, 0)
    pages["b"].write_text(PAGE.replace("Last", "Final"), "utf-8")
    changed, count = written()
    assert count == 1 and "Final" in changed and "Last" in changed  # of page a
    (tmp_path / search.DATA).unlink()
    assert written()[0] == changed


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"\frac m2", "m/2"),
        (r"\tfrac12\log_2T", "1/2 log₂ T"),
        (r"\frac{C_2}\varepsilon", "C₂/ε"),
        (r"69\tfrac13", "69 1/3"),
        (r"\frac{\frac12 + x}{2\pi}", "(1/2 + x)/(2π)"),
        (r"\dfrac{a}{\sqrt{\frac{b}{2n}}}", "a/(√(b/(2n)))"),
        (r"\Bigl(\frac8{\Delta_a}\Bigr)^{\frac{1+v}v}", "(8/Δ_a)^((1+v)/v)"),
        (r"T = 10^7 < 10^{11}", "T = 10⁷ < 10¹¹"),
        (r"2t^{-4}e^{-\varepsilon|x|}", "2t⁻⁴e^(-ε|x|)"),
        (r"q\le D^2n^*.\tag{B1}", "q ≤ D²n*. (B1)"),
        (r"\sqrt2\,\sigma_{a,b}^2", "√2 σ_(a,b)²"),
        (r"\hat\mu \in \{0, \dots, n\}", "μ̂ ∈ {0, …, n}"),
        (r"\binom nk\mathbb E_0\mathrm{Reg}(T)", "binom(n, k)E₀ Reg(T)"),
        (r"\sum_{n \ge n_0}\P(\text{arm } a)", "Σ_(n ≥ n₀) P(arm a)"),
    ],
)
def test_formulas_as_text(latex, text):
    assert plain_math(rf"\({latex}\)") == text


def formulas():
    """Return every formula of the book's sources."""
    texts = [path.read_text("utf-8") for path in sorted((ROOT / "book").glob("*.md"))]
    for path in CHAPTERS:
        cells = json.loads(path.read_text("utf-8"))["cells"]
        texts += ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    pattern = re.compile(
        r"\$\$([^$`]+)\$\$|(?<![\\$])\$(?! )((?:[^$`\n]|\n(?!\s*\n))+)\$|```\{math\}\n(.+?)```",
        re.DOTALL,
    )
    found = {next(filter(None, groups)) for text in texts for groups in pattern.findall(text)}
    return sorted(found)


COMMANDS = (
    r"[cdt]?frac|sqrt|math[a-z]+|operatorname|tilde|displaystyle|[bB]igg?[lr]?|quad|begin|end"
)
OPERATORS = "log(?!it)|exp|max|min|sup|inf|sinh|cosh|tanh|left|right|text"
"""Commands that no text shows, and those that stand alone where they are shown."""


def test_no_command_stays_in_the_text_of_a_formula():
    letter = r"[^\W\d_⁰¹²³⁴-⁹₀-₉]"
    wrong = re.compile(
        rf"\\|(?<!{letter})(?:{COMMANDS})|{letter}(?:{OPERATORS})(?!{letter})"
        rf"|(?<!{letter})(?:{OPERATORS}){letter}"
    )
    found = formulas()
    assert len(found) > 3000
    for latex in found:
        text = plain_math(re.sub(r"\\text\{[^{}]*\}|\\lim(?:sup|inf)", " ", latex))
        assert not wrong.search(text), (latex, text)


# ------------------------------------------------------------------- theorems, views and numbers


def test_what_rests_on_a_theorem_and_what_is_judged_there(extension):
    module = extension("cross_links")
    uses = module.uses("dpbandits")
    assert "dpbandits.regret.dp_se.DPSE" in uses["thm-privacy"] or any(
        name.endswith(".DPSE") for name in uses["thm-privacy"]
    )
    assert all(len(set(names)) == len(names) for names in uses.values())
    claims = module.judged(ROOT)
    assert "ss19-thm-4.1" in {claim["id"] for claim in claims["thm-privacy"]}
    line = module.line([module.code_link("page", "a.b.DPSE")], [])
    assert line.astext() == "In the package: DPSE."


def test_each_view_shows_what_the_explorer_has():
    instances = {one.id: one for one in explorer.INSTANCES}
    numbers = {path.stem.partition("_")[0] for path in CHAPTERS}
    for chapter, view in explorer.VIEWS.items():
        assert chapter in numbers
        one = instances[view.chosen["instance"]]
        k = int(view.chosen["k"])
        assert k in one.means
        assert view.part in {"regret", "found", "time", "weights"}
        assert view.address.endswith(f"#x-{view.part}")
        names = one.regret if view.part == "regret" else one.found
        assert any(k in arms for arms in names.values()), "nothing was simulated there"


def test_tables_are_numbered_where_they_have_no_name(extension):
    name = extension("cite_numbers").name_tables
    assert name("<table><tr></table><p><table id='a'>") == (
        "<table id=\"table-1\"><tr></table><p><table id='a'>"
    )


# -------------------------------------------------------------------------------------- metadata


BODY = (
    "<p>Short.</p><p>Patient 7 &amp; the &lt;others&gt; <b>wonder</b> what a published table says "
    "of them.</p>"
)


@pytest.mark.parametrize("address", ["", "https://example.org/book/x.html"])
def test_a_page_says_its_title_author_and_date(extension, address):
    written = extension("theme_patches").metadata("Tables </script>", BODY, True, address)
    tags = dict(re.findall(r'<meta (?:name|property)="([^"]+)" content="([^"]*)" />', written))
    (data,) = re.findall(r'<script type="application/ld\+json">(.*?)</script>', written)
    about = json.loads(data)
    assert tags["og:title"] == "Tables &lt;/script&gt;"
    assert about["name"] == "Tables </script>" and about["@type"] == "Chapter"
    assert tags["description"].startswith("Patient 7 &amp; the &lt;others&gt; wonder what")
    assert tags["citation_title"].endswith("Private Bandits: a reproducible companion")
    assert tags["citation_publication_date"] == about["datePublished"]
    assert tags.get("og:url", "") == about.get("url", "") == address
    assert ("https://example" in written) == bool(address)


def test_citation_cff_says_the_same(extension):
    told = (ROOT / "CITATION.cff").read_text("utf-8")
    written = extension("theme_patches").metadata("Any", BODY, False)
    year = re.search(r"year: (\d+)\n  authors:\n    - name: (.*)", told)
    assert f'name="citation_publication_date" content="{year[1]}"' in written
    assert f'name="citation_author" content="{year[2]}"' in written
    assert re.search(r'^title: "(.*)"$', told, re.MULTILINE)[1] in written
