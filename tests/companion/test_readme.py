"""The README's Python runs, its commands exist and its picture can be drawn again."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

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


def test_the_first_snippet_plots_dp_se_against_dp_ucb(plt):
    snippet = SNIPPETS[0]
    assert len([line for line in snippet.splitlines() if line and "import" not in line]) == 5
    small = snippet.replace("horizon=50_000_000", "horizon=20_000").replace("n_runs=30", "n_runs=3")
    runs = run(small)["runs"]
    (axes,) = plt.gcf().axes
    assert [line.get_label() for line in axes.get_lines()] == ["DP-SE", "DP-UCB"]
    assert runs.regret.shape == (3, runs.times.size)
    assert runs.horizon == 20_000


def test_the_picture_can_be_drawn_again(plt, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(SNIPPETS[1])
    (drawn,) = tmp_path.iterdir()
    kept = ROOT / "book/_static" / drawn.name
    assert f"]({kept.relative_to(ROOT).as_posix()})" in README.split("##")[0]
    roots = [ElementTree.parse(path).getroot() for path in (drawn, kept)]
    assert roots[0].get("viewBox") == roots[1].get("viewBox")
    assert kept.stat().st_size < 200_000


def test_the_first_page_of_the_book_has_the_same_python():
    intro = (ROOT / "book/intro.md").read_text("utf-8")
    assert re.findall(r"```python\n(.*?)```", intro, flags=re.DOTALL) == SNIPPETS
    assert len(SNIPPETS) == 2


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
