"""The README's Python runs, its commands exist and its picture can be drawn again."""

import math
import re
from pathlib import Path

import pytest

from companion.headlines import headlines
from companion.publishing import published

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
SNIPPETS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


@pytest.fixture
def plt():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    pyplot.close("all")  # what another test left open
    yield pyplot
    pyplot.close("all")


def run(snippet):
    """Run a snippet and return its names."""
    names = {}
    exec(compile(snippet, "README.md", "exec"), names)
    return names


def test_the_first_snippet_has_six_lines_and_says_what_privacy_costs(capsys):
    snippet = SNIPPETS[0]
    assert len([line for line in snippet.splitlines() if line]) == 6
    assert run(snippet)["runs"].n_runs == 100
    said = [line.split() for line in capsys.readouterr().out.splitlines()]
    figure = published("ours-trial-price", ROOT).table.set_index("epsilon")
    assert [float(epsilon) for epsilon, _, _ in said] == [math.inf, 1.0, 0.1]
    for epsilon, mean, _ in said:  # of the first hundred of the chapter's runs
        row = figure.loc[float(epsilon)]
        near = 0.5 * row["time_sd"]
        assert abs(int(mean) - row["mean_time"]) < near
        assert abs(2 * int(mean) - row["mean_time"]) > near, "control"


def test_the_picture_can_be_drawn_again(plt, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(SNIPPETS[1])
    (drawn,) = tmp_path.iterdir()
    kept = ROOT / "book/_static" / drawn.name
    assert f"]({kept.relative_to(ROOT).as_posix()})" in README.split("##")[0]
    assert drawn.read_bytes() == kept.read_bytes()
    assert kept.stat().st_size < 200_000


def test_the_first_page_of_the_book_has_the_same_python():
    pages = {
        name: (ROOT / f"book/{name}.md").read_text("utf-8") for name in ("intro", "reproducing")
    }
    for page, snippet in zip(pages.values(), SNIPPETS, strict=True):
        assert re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL) == [snippet]


def test_the_numbers_are_those_of_the_first_page():
    text = " ".join(README.replace("*", "").split())
    found = {
        name: value.replace("\N{NARROW NO-BREAK SPACE}", " ")
        for name, value in headlines(ROOT).items()
    }
    assert f"{found['more']} more patients (± {found['more-half']} points)" in text
    assert f"{found['tenth']} as many" in text
    assert f"a factor of {found['odds']}." in text


def test_the_make_targets_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = set(re.findall(r"make ([a-z][a-z-]+)\b", README)) - {"have"}
    assert {"book", "test", "html", "bench", "check-pages"} <= named <= targets


def test_links_and_folders_exist():
    local = [link for link in re.findall(r"\]\(([^)]+)\)", README) if "://" not in link]
    folders = re.findall(r"`([\w/]+/)`", README)
    for name in (*local, *folders):
        assert (ROOT / name).exists(), name


def test_it_can_be_read_on_a_phone():
    fenced = re.findall(r"```\w+\n(.*?)```", README, flags=re.DOTALL)
    assert max(len(line) for block in fenced for line in block.splitlines()) <= 72
    rows = [line for line in README.splitlines() if line.startswith("|")]
    assert max(row.count("|") for row in rows) == 3


def test_the_numbers_below_the_picture_are_those_of_the_first_screen():
    """They are typed, as a file of text holds nothing that is looked up."""
    found = headlines(ROOT)
    said = (
        f"{found['more']} more patients (± {found['more-half']} points)",
        f"{found['tenth']} as many",
    )
    text = " ".join(README.split("##")[0].split())
    for each in said:
        assert " ".join(each.split()) in text
