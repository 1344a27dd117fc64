"""What is said of a built page without a browser: each of its sentences can be said."""

import subprocess
import sys
from pathlib import Path

import pytest
from page_text import (
    COLUMNS,
    HEAVIEST,
    LINES,
    TALLEST,
    WORDS,
    cell_problems,
    figure_problems,
    height_problems,
    story_problems,
    weight_problems,
)

GOOD = {"name": "f", "svg": True, "width": 672, "narrow": True, "opens": True}


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("x = 1\n" * LINES, ""),
        ("x = 1\n" * (LINES + 1), f"cell of {LINES + 1} lines"),
        ("y" * COLUMNS, ""),
        ("y" * (COLUMNS + 1), f"cell of {COLUMNS + 1} columns"),
        ('glue("a", 1)', "cell with glue"),
        ('page.fix("a", 1)', "cell with fix"),
        ("from myst_nb import glue", "cell with glue"),
        ("glued = 1  # no glue, and we assert nothing", ""),
        ("for x in y:\n    assert x", "cell with assert"),
    ],
)
def test_cells_in_sight(cell, said):
    problems = cell_problems([cell])
    assert len(problems) == (1 if said else 0)
    assert all(problem.startswith(said) for problem in problems)


def page(words, inner=""):
    return (
        '<article class="bd-article"><img src="logo.svg"/><h1>A title of words<a class="headerlink"'
        f' href="#t">#</a></h1><div class="quiet"><p>{"quiet " * 500}</p></div>'
        f'<p>{"word " * words}</p>{inner}<figure><img src="a.svg"/></figure>'
        f"<p>{'after ' * 900}</p></article>"
    )


@pytest.mark.parametrize(
    ("inner", "more"),
    [
        ("", 0),
        ('<p><span class="math">\\(a + b + c\\)</span></p>', 1),
        (f"<details><summary>code</summary><pre>{'code ' * 500}</pre></details>", 0),
        (f'<div class="cell_input"><div><pre>{"code " * 500}</pre></div></div>', 0),
        ("<ul><li>one<br>two</li></ul>", 2),
    ],
)
def test_a_story_has_its_picture_soon(inner, more):
    assert story_problems(page(WORDS - more, inner)) == []
    (said,) = story_problems(page(WORDS + 1 - more, inner))
    assert said.startswith(f"{WORDS + 1} words before the first picture")


def test_a_story_without_picture_or_title():
    assert story_problems("<h1>T</h1><p>a</p>") == ["no picture"]
    assert story_problems("<p>a</p><img>") == ["no title"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, ""),
        ({"svg": False}, "no SVG"),
        ({"width": 900}, "900 px wide"),
        ({"narrow": False}, "no drawing for a phone"),
        ({"opens": False}, "does not open"),
    ],
)
def test_figures_are_drawn_for_both_screens(change, said):
    problems = figure_problems([GOOD | change])
    assert len(problems) == (1 if said else 0)
    assert all(said in problem for problem in problems)


def test_a_page_is_weighed_by_what_it_loads():
    light = [("a.js", HEAVIEST - 1), ("b.css", 1)]
    assert weight_problems(light) == []
    (said,) = weight_problems([*light, ("c.svg", 1)])
    assert said.startswith(f"{HEAVIEST + 1} bytes") and "a.js" in said


def test_a_page_has_a_greatest_height():
    assert height_problems(TALLEST) == []
    assert height_problems(TALLEST + 1) == [f"{TALLEST + 1} pixels high, allowed: {TALLEST}"]


def test_pages_that_were_not_built_are_refused(tmp_path):
    words = ["-q", "-p", "no:cacheprovider", "--build", tmp_path, Path(__file__).parent / "pages"]
    done = subprocess.run([sys.executable, "-m", "pytest", *words], capture_output=True, text=True)
    assert done.returncode == 4 and "make html builds them" in done.stderr
