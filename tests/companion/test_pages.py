"""The book's pages agree with the package, with the data and with each other."""

import doctest
import importlib
import json
import re
import sys
from pathlib import Path

import pytest

import dpbandits as dpb
from companion import citing, claims
from companion.claims.surprises import sentences
from companion.publishing import published, published_names

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"
PAGES = {path.stem: path.read_text("utf-8") for path in sorted(BOOK.glob("*.md"))}
CHAPTERS = {
    path.stem: "\n".join("".join(cell["source"]) for cell in json.loads(path.read_text())["cells"])
    for path in sorted((ROOT / "notebooks").glob("*.ipynb"))
}
TEXTS = {**PAGES, **CHAPTERS}
LABELS = ("instance", "n_arms", "epsilon")


# ------------------------------------------------------------------------------------ all pages


OPEN = ("authors", "explorer", "intro", "notation")
"""Pages that need nothing, and whose first words say what they are."""


@pytest.mark.parametrize("name", OPEN)
def test_an_open_page_begins_with_its_words(name):
    after = re.split(r"^# .+$", PAGES[name], maxsplit=1, flags=re.MULTILINE)[1].split()
    first = re.sub(r":::\{div\} promise", "", " ".join(after[:30])).strip()
    assert re.match(r"[A-Z]\w* ", first), first


@pytest.mark.parametrize("name", sorted(n for n in TEXTS if n not in OPEN and "api_" not in n))
def test_a_page_opens_with_what_it_is_and_needs(name):
    opening = TEXTS[name].split("\n## ")[0]
    # the line under the title, whose minutes are counted; the first screens have none
    assert "{quiet}" in opening or name in ("explorer", "intro")


@pytest.mark.parametrize("name", TEXTS)
def test_figures_and_claims_that_are_named_exist(name):
    known = {*published_names(ROOT), *(claim.id for claim in claims.ledger())}
    assert not known & set(claims.RETIRED)
    for named in re.findall(r"`((?:ss19|td16|twzw22|ja25|ours)-[\w.-]+)`", TEXTS[name]):
        assert named in known, named


@pytest.mark.parametrize("name", PAGES)
def test_commands_on_the_pages_are_understood(name, capsys):
    from dpbandits.cli.commands import main

    blocks = re.findall(r"```console\n(.*?)```", PAGES[name], re.DOTALL)
    for command in re.findall(r"^\$ dpbandits (\w+)(.*)$", "\n".join(blocks), re.MULTILINE):
        assert main([command[0], "--help"]) == 0
        shown = capsys.readouterr().out
        for option in re.findall(r"(--[a-z-]+)", command[1]):
            assert option in shown, f"{command[0]} {option}"


# ---------------------------------------------------------------------------------- single pages


def test_the_python_of_the_package_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    monkeypatch.setitem(sys.modules, "page", type(sys)("page"))
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    parser = doctest.DocTestParser()
    blocks = re.findall(r"```python\n(.*?)```", PAGES["api"], re.DOTALL)
    assert len(blocks) > 8
    for block in blocks:
        if block.startswith(">>>"):
            test = parser.get_doctest(block, {}, "book/api.md", "book/api.md", 0)
            test.globs = names
            runner.run(test, clear_globs=False)
        else:
            exec(compile(block, "book/api.md", "exec"), names)
    assert runner.summarize().failed == 0


def test_what_notation_says_of_the_package_is_there():
    symbols = PAGES["notation"]
    owners = {
        "instance": dpb.instances.BernoulliInstance,
        "runs": dpb.regret.simulation.Runs,
        "mechanisms": dpb.mechanisms,
        "identification": dpb.identification,
    }
    dotted = re.findall(r"`(\w+)\.(\w+)`", symbols)
    assert {owner for owner, _ in dotted} == set(owners)
    for owner, attribute in dotted:
        found = owners[owner]
        fields = getattr(found, "__annotations__", {})
        assert hasattr(found, attribute) or attribute in fields, (owner, attribute)
    rows = re.findall(r"^\| \$", symbols, re.MULTILINE)
    assert len(rows) == 12 and "Twelve symbols" in symbols
    for algorithm in re.findall(r"\| `([A-Z]\w+)` \|$", symbols, re.MULTILINE):
        assert algorithm in {**dpb.registry, **dpb.stopping_rules, **dpb.identifiers}


def test_the_readme_counts_right():
    text = (ROOT / "README.md").read_text("utf-8")
    figures = [published(f"ss19-fig{number}", ROOT) for number in range(1, 13)]
    settings = {row for f in figures for row in zip(*map(f.table.get, LABELS), strict=True)}
    assert {2 * f.manifest["runs"] / f.manifest["cases"] for f in figures} == {30 + 500}
    assert {f.table["time"].max() for f in figures} == {5 * 10**7}
    said = f"{len(settings)} settings with 5·10⁷ pulls, DP-UCB 30 and DP-SE 500 times"
    assert said in " ".join(text.split())
    readings = published("td16-fig2", ROOT)
    cases = readings.manifest["cases"]
    assert readings.manifest["runs"] == 100 * cases
    assert readings.table["time"].max() == 10**5
    assert f"{cases} of 100 runs with 10⁵" in text


WORDS = ("no", "one", "two", "three", "four", "five", "six")


def constants_of(script: str) -> dict[str, float]:
    """Return the numbers that a trial on the page begins with, as its script has them."""
    begun = re.search(r"return \{ epsilon: .+?\}", script, re.DOTALL)[0]
    marked = re.search(r"const MARKED = \{.+?\}", script)[0]
    return {name: float(x) for name, x in re.findall(r"(\w+): ([\d.]+)\b", begun + marked)}


def unsaid(page: str, script: str) -> list[str]:
    """Return what the page of one trial should say, by its script, and does not."""
    text, has = " ".join(page.split()), constants_of(script)
    patient, length = int(has["patient"]), int(has["length"])
    nodes = [n for n in range(1, length + 1) if n & (n - 1) < patient <= n]
    halves = {0.5: "½"}[has["alpha"]]
    said = [
        f"Planned for {has['horizon']:_.0f} patients".replace("_", " "),
        f"look**: {has['perArm']:.0f} patients of each treatment",
        f"relative error of {halves}, wrongly with probability at most {has['beta']:g}".replace(
            " 0.", " ."
        ),
        f"after each of {length} patients",
        f"Patient {patient} is in {WORDS[len(nodes)]} nodes of the tree",
        f"a node has {WORDS[length.bit_length()]} times the scale of a single release",
        f"that of patient {patient} of treatment {'ABC'[int(has['arm'])]}",
    ]
    return [sentence for sentence in said if sentence not in text]


def test_the_numbers_of_one_trial_are_those_of_its_script():
    script = (BOOK / "_static/try.js").read_text("utf-8")
    assert unsaid(PAGES["try"], script) == []
    for old, new in (
        ("horizon: 100000", "horizon: 200000"),
        ("perArm: 50", "perArm: 60"),
        ("beta: 0.05", "beta: 0.01"),
        ("patient: 7", "patient: 8"),
    ):
        assert old in script and unsaid(PAGES["try"], script.replace(old, new)), old


# --------------------------------------------------------------------------------- claims and data


@pytest.mark.parametrize("chapter", ["01", "02", "03", "04", "05"])
def test_the_published_verdicts_are_those_of_the_ledger(chapter):
    content = json.loads((BOOK / f"data/claims-{chapter}.json").read_text("utf-8"))
    assert content["manifest"] == {"preset": "paper", "seed": 0}
    records, ledger = content["claims"], claims.ledger(chapter=chapter)
    assert [record["id"] for record in records] == [claim.id for claim in ledger]
    for record, claim in zip(records, ledger, strict=True):
        assert record["verdict"] in claims.VERDICTS
        for field in ("paper", "place", "statement"):
            assert record[field] == getattr(claim, field), claim.id
        assert (record["chapter"], record["section"]) == claims.section(claim.id)
        assert record["paper"] in citing.papers()


def test_claims_are_written_as_they_are(extension):
    ledger = extension("claims_ledger")
    assert set(ledger.VERDICTS) == set(claims.VERDICTS)
    for text, written in (
        ("R_e ≤ R_{e+1}/2", "R{sub}`e` ≤ R{sub}`e+1`/2"),
        ("e^{6n} and |S|·x*y", r"e{sup}`6n` and \|S\|·x\*y"),
        ("(1 + d)^n, T^(1−p), n_arms", r"(1 + d){sup}`n`, T{sup}`1−p`, n\_arms"),
        ("log^1.5 n, n^2.", "log{sup}`1.5` n, n{sup}`2`."),
        ("T^(v/(2(1+v))), log2 n", "T{sup}`v/(2(1+v))`, log{sub}`2` n"),
        (r"all $x_1 < \log_2 T$, n_arms", r"all $x_1 < \log_2 T$, n\_arms"),
        ("T = 1e+07", "T = 10{sup}`7`"),
        (-1.5, "\N{MINUS SIGN}1.5"),
        (9e-05, "9\N{MIDDLE DOT}10{sup}`\N{MINUS SIGN}5`"),
    ):
        assert ledger.plain(text) == written
    record = {
        "id": "a-b",
        "paper": "ss19",
        "place": "§1",
        "statement": "yes",
        "reconstructed": False,
        "verdict": "holds",
        "reason": "so it is",
        "evidence": {"x": 2},
    }
    of_chapter = {**record, "chapter": "03", "section": "x-y"}
    lines = ledger.entry(of_chapter, ledger.Place("notebooks/03_c", "theorem: Z"))
    assert lines[0] == ":::::{dropdown} ✓ **a-b** yes {verdict}`holds`" and lines[-2] == ":::::"
    assert ":name: claim-a-b" in lines
    assert ":class-container: proof-fold claim paper-ss19 verdict-holds" in lines
    assert "- x: 2" in lines
    link = "{judged}`chapter 3, theorem: Z <notebooks/03_c#x-y>`"
    again = "**Computed again by** `companion claims --check a-b`."
    assert f"**Said in** SS19, §1. **Judged in** {link}. {again}" in lines
    moved = ledger.entry(of_chapter, ledger.Place("book/exact_c", "theorem: Z"))
    link = "{judged}`the appendix of chapter 3, theorem: Z <book/exact_c#x-y>`"
    assert f"**Said in** SS19, §1. **Judged in** {link}. {again}" in moved
    ran = ledger.entry(of_chapter, needing={"a-b"})
    assert "**Said in** SS19, §1. **Computed again by** `companion execute 3`." in ran
    link = "{claims-shown}`1 ?paper=ss19&verdict=holds#all-claims`"
    everywhere = "{claims-shown}`1 ?verdict=holds#all-claims`"
    assert f"| {{verdict}}`holds` | {link} | {everywhere} |" in ledger.summary([record])
    assert "| {verdict}`does not hold` | 0 | 0 |" in ledger.summary([record])
    assert "| verdicts on what the papers say | 1 | 1 |" in ledger.summary([record])


def test_what_is_reconstructed_is_counted_apart(extension):
    ledger = extension("claims_ledger")
    verdict = {"id": "a-b", "paper": "ss19", "place": "§1", "statement": "yes", "verdict": "holds"}
    verdict |= {"reconstructed": False, "reason": "so it is.", "evidence": {}}
    ours = {**verdict, "id": "a-c", "statement": "(reconstructed) yes", "reconstructed": True}
    *rows, judged, apart = ledger.summary([verdict, ours, ours])
    assert "1 ?verdict=holds" in rows[2] and all("reconstructed" not in row for row in rows)
    assert judged == "| verdicts on what the papers say | 1 | 1 |"
    assert apart.startswith("| {verdict}`reconstructed` |") and "`2 ?verdict=reconstr" in apart
    lines = ledger.entry({**ours, "chapter": "03"})
    assert lines[0] == ":::::{dropdown} ≈ **a-c** yes {verdict}`reconstructed`"
    assert "**Ours.** {verdict}`reconstructed` Our formula: holds. so it is." in lines
    assert "verdict-reconstructed" in lines[2] and "verdict-holds" not in lines[2]


def test_each_verdict_and_the_class_have_a_meaning_and_the_ids_are_old_or_new():
    meanings = claims.verdicts.MEANINGS
    assert tuple(meanings) == claims.VERDICTS
    assert all(text.endswith(".") for text in meanings.values())
    living = {claim.id for claim in claims.ledger()}
    assert not living & set(claims.RETIRED)
    assert {heir for heir in claims.RETIRED.values() if heir} <= living


def test_the_surprising_sentences_are_on_verdicts_of_the_papers():
    records = claims.records(claims.recorded())
    found = dict(sentences(records))
    assert len(found) == 10 and len({record["paper"] for record in records}) == 5
    assert "are (0.447, e^{−10})-private" in " ".join(found["td16-cor-3.2"].split())
    for spoilt, word in (
        ({"verdict": "cannot be told from the text"}, "the verdict is 'cannot be told"),
        ({"reconstructed": True}, "the sentence on td16-cor-3.2 is for"),
        ({"evidence": {}}, "needs 'ε at δ = e"),
    ):
        changed = [r | spoilt if r["id"] == "td16-cor-3.2" else r for r in records]
        with pytest.raises(ValueError, match=word):
            sentences(changed)
    with pytest.raises(ValueError, match="the verdict is None"):
        sentences([])


def test_each_claim_links_to_a_place_that_is_in_its_chapter(extension):
    ledger = extension("claims_ledger")
    places = {
        number: ledger.places(ROOT, number) for number in ("01", "02", "03", "04", "05", "07")
    }
    for claim in claims.ledger():
        chapter, section = claims.section(claim.id)
        assert section in places[chapter], claim.id
    privacy = ("notebooks/03_dp_successive_elimination", "theorem: The paper's Theorem 4.1")
    assert places["03"]["thm-privacy"] == privacy
    assert places["01"]["small-variance"].page == "notebooks/01_stopping_rules"
    assert places["01"]["lem-halting-law"] == (
        "book/exact_halting",
        "lemma: The law of the halting time",
    )
    assert places["05"]["ja25-fig1"].title == "figure ja25-fig1"
    assert "thm-nothing" not in places["03"] and "lem-halting-law" not in places["03"]


def test_labels_are_found_however_a_page_is_fenced(extension, tmp_path):
    places_of = extension("claims_ledger").places_of
    page = tmp_path / "page.md"
    page.write_text(
        "(sec-a)=\n# A $\\varepsilon$\n\n(sec-b)=\n## B\n\n::::{dropdown} Proof\n"
        ":::{prf:lemma} Old\n:label: lem-x\nText.\n:::\n::::\n\n"
        "````{prf:theorem}\n:class: z\n:label: thm-y\nText.\n````\n"
    )
    assert places_of(page) == {"sec-b": "B", "lem-x": "lemma: Old", "thm-y": "theorem"}


def test_the_filter_offers_what_the_command_does(extension):
    """The words of the addresses are those of `companion claims --verdict`."""
    from companion.cli import WORDS

    ledger = extension("claims_ledger")
    assert {word: name for name, (_, word) in ledger.STANDINGS.items()} == WORDS
    records = [{"paper": paper} for paper in ("ss19", "td16", "ss19")]
    form = ledger.controls(records).astext()
    for option in ("ss19", "td16", *WORDS):
        assert form.count(f'<option value="{option}">') == 1
    assert " hidden " in form and 'aria-live="polite"' in form


def test_the_table_of_figures_says_what_is_published(extension):
    data = extension("book_data")
    _, _, *rows = data.figures(ROOT)
    assert [row.split("`")[1] for row in rows] == list(published_names(ROOT))
    for row in rows:
        assert len(re.findall(r"(?<!\\)\|", row)) == 6, "what stands in a title splits no cell"
    (row,) = (row for row in rows if "`td16-fig2`" in row)
    about = published("td16-fig2", ROOT).manifest
    assert row.startswith(f"| `td16-fig2` | 2 | {about['title']} (TD16, Figure 2). ")
    for file in ("book/figures/td16-fig2.csv", "_build/gallery/td16-fig2.pdf"):
        assert f"</{file}>" in row
    assert row.endswith("| 48 | 4\N{NARROW NO-BREAK SPACE}800 |")
    assert [data.short(x) for x in (0, 0.00123, 1.5, 45.67, 123.4, 45678)] == [
        "0",
        "0.00123",
        "1.50",
        "45.7",
        "123",
        "45\N{NARROW NO-BREAK SPACE}700",
    ]


# ------------------------------------------------------------------------------------- benchmarks


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module


def recorded(name, unit, *fields):
    """Rows of a file of benchmarks, without their times, which are all positive."""
    content = json.loads((BOOK / f"data/{name}.json").read_text("utf-8"))
    assert content["manifest"]["processor"] and all(row[unit] > 0 for row in content["rows"])
    return [tuple(row[field] for field in fields) for row in content["rows"]]


def test_the_recorded_speeds_are_those_of_the_cases(bench):
    pytest.importorskip("mabwiser")
    fields = ("algorithm", "how", "n_arms", "horizon")
    cases = bench("test_speed").list_cases()
    rows = recorded("benchmarks", "ns_per_pull", *fields)
    assert rows == [tuple(getattr(case, field) for field in fields) for case in cases]
    table = (BOOK / "data/benchmarks.csv").read_text("utf-8").splitlines()
    assert set(fields) < set(table[0].split(",")) and len(table) == 1 + len(rows)
    cases = list(bench("test_stopping_speed").list_cases())
    rows = recorded("benchmarks-stopping", "ns_per_sample", "rule", "how", "law", "runs")
    assert rows == [(c.rule.label, c.how, c.law.name, c.runs) for c in cases]
    algorithms = bench("many_arms").ALGORITHMS
    assert recorded("benchmarks-arms", "seconds", "algorithm") == [(name,) for name in algorithms]
    contestants = bench("plain_program").contestants()
    fields = ("program", "rewards", "written", "horizon", "runs")
    rows = recorded("benchmarks-program", "ns_per_pull", *fields)
    content = json.loads((BOOK / "data/benchmarks-program.json").read_text("utf-8"))
    own = [row for row in content["rows"] if row["written"] == "own program"]
    within = [row["program"] for row in own if row["ratio"] <= 1.3]
    assert len(own) == 4 and within == [row["program"] for row in own[:3]], "as the page says"
    others = [row for row in rows if row[2] != "SMPyBandits"]  # whose files are not here
    assert others == [tuple(getattr(each, field) for field in fields) for each in contestants]
    speed = bench("test_audit_speed")
    kinds = ((speed.COMPILED, "compiled runs", 10**6), (speed.LOOPS, "runs in Python", 50_000))
    assert recorded("benchmarks-audit", "seconds", "target", "how", "runs") == [
        (getattr(target, "label", type(target).__name__), how, runs)
        for targets, how, runs in (*kinds, (speed.EXACT, "by integration", 0))
        for target in targets
    ]


def test_every_case_plays_budgets_that_the_page_names(bench, rng):
    pytest.importorskip("mabwiser")
    speed = bench("test_speed")
    budgets = ", ".join(f"{e:g}" for e in speed.BUDGETS[:-1])
    assert f"{budgets} and {speed.BUDGETS[-1]:g}" in " ".join(PAGES["benchmarks"].split())
    for case in speed.list_cases():
        assert case.budgets in (speed.BUDGETS, (0.25,))
        case.play(200, rng)


def test_programs_and_loops_of_the_benchmark_play_what_they_say(bench, rng):
    pytest.importorskip("mabwiser")
    for each in bench("plain_program").contestants():
        horizon = 6000 if each.written != "MABWiser" else 600
        pulls = each.play(horizon, 2, rng)
        assert pulls.shape == (2, 5) and (pulls.sum(axis=1) == horizon).all()
        assert "batches" not in each.program or not (pulls % 100).any()
        assert pulls.min() > 0


def test_the_plain_loops_play_the_same_policies(bench, rng):
    """Without randomness in rewards or noise, the pulls are the same to the last one."""
    import numpy as np

    plain, means, horizon = bench("plain"), np.array([0.0, 1.0, 0.0]), 5000
    arms = dpb.instances.bernoulli(means)
    for algorithm, pulls in (
        (dpb.UCB(), plain.numpy_ucb1(means, horizon, rng)),
        (dpb.UCB(), plain.numpy_dp_ucb(means, horizon, rng, 0.0, 0.0)),
        (dpb.SuccessiveElimination(), plain.numpy_dp_se(means, horizon, rng, float("inf"))),
    ):
        runs = dpb.simulate(algorithm, arms, horizon, n_runs=1)
        assert runs.pulls[0].tolist() == pulls.tolist()
