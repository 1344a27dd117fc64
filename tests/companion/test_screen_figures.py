"""Figures on the pages: SVG for a screen and for a phone, and which of them a page shows."""

import json
import re
import shutil
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from docutils import nodes
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from companion.chapter_figures import figures_of
from companion.figures import curves_figure
from companion.figures.screen import NARROW, WIDE, compact, keep_inside, relative, screen_figure
from companion.publishing import published
from companion.vector_files import FOLDER, SCREENS, screen_file
from dpbandits.plotting.style import NarrowError, filling, room_beside

ROOT = Path(__file__).resolve().parents[2]
SVG = "{http://www.w3.org/2000/svg}"


def inches(svg):
    """Width and height of a drawing."""
    root = ElementTree.fromstring(svg)
    return tuple(float(root.get(side).removesuffix("pt")) / 72 for side in ("width", "height"))


def curves(name="line", panels=2):
    x = np.geomspace(1, 100, 9)
    one = {name: (x, x), f"{name} squared": (x, x**2)}
    titles = {f"panel {i}": one for i in range(panels)}
    return curves_figure(titles, x_label="x", y_label="y")


# -------------------------------------------------------------------------------------- widths


def test_panels_stand_beside_or_below_each_other():
    wide, narrow = (screen_figure(curves, width) for width in (WIDE, NARROW))
    assert inches(wide)[0] == pytest.approx(WIDE)
    assert inches(narrow)[0] == pytest.approx(NARROW)
    assert inches(wide)[1] < 0.75 * inches(narrow)[1]


def test_long_labels_get_more_width_before_they_get_more_height():
    some = partial(curves, "a long name of a curve")
    wide = inches(screen_figure(some, WIDE))
    assert WIDE <= wide[0] <= 1.2 * WIDE + 0.02
    narrow = inches(screen_figure(some, NARROW))
    assert NARROW < narrow[0] < 6
    with pytest.raises(ValueError, match="width=3.5 cannot be drawn"):
        screen_figure(partial(_never, curves), NARROW)
    assert not plt.get_fignums()


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_labels_that_were_measured_are_not_fitted_again(width, monkeypatch):
    """Known from a first drawing, they give the same bytes, and no figure is drawn in vain."""
    some = partial(curves, "a long name of a curve", 2)
    figure = some()
    beside = room_beside(figure)
    plt.close(figure)
    plotted, lines = Axes.plot, []
    monkeypatch.setattr(Axes, "plot", lambda *a, **k: lines.append(1) or plotted(*a, **k))
    fitted = screen_figure(some, width)
    tried, lines[:] = len(lines), []
    assert screen_figure(some, width, beside) == fitted
    assert len(lines) == 4 < tried  # two panels of two curves


def _never(draw):
    raise NarrowError(99.0)


@pytest.mark.parametrize("ending", SCREENS)
def test_the_same_figure_gives_the_same_bytes(ending):
    first, second = (screen_file("ours-stopping-beta", ending, ROOT) for _ in range(2))
    assert first == second
    assert b"date" not in first.lower()
    assert inches(first)[0] == pytest.approx(SCREENS[ending], rel=0.21)


def test_the_name_of_an_axis_stays_in_the_figure():
    def draw():
        figure = curves(panels=1)
        figure.axes[0].set_xlabel("a name that is nearly as long as a phone")
        return figure

    with filling(NARROW, 1):
        figure = draw()
    figure.draw_without_rendering()
    name = figure.axes[0].xaxis.label
    assert name.get_window_extent().x1 > figure.bbox.width
    keep_inside(figure)
    figure.draw_without_rendering()
    box = name.get_window_extent()
    assert 0 <= box.x0 < box.x1 <= figure.bbox.width


def test_the_ground_is_clear():
    root = ElementTree.fromstring(screen_figure(curves, WIDE))
    patches = [g for g in root.iter(f"{SVG}g") if re.fullmatch(r"patch_\d+", g.get("id", ""))]
    styles = [path.get("style", "") for g in patches for path in g.iter(f"{SVG}path")]
    assert styles
    assert not any("#ffffff" in style for style in styles)


# ------------------------------------------------------------------------------------- compact


@pytest.mark.parametrize(
    ("path", "short"),
    [
        ("M 0 453.6 \nL 504 453.6 \nL 504 0 \nz\n", "M0 453.6l504 0 0-453.6z"),
        ("M 1 1 L 2 2 M 5 5 L 4 5", "M1 1l1 1M5 5l-1 0"),
        ("M 0 0 L 0.004 0.006", "M0 0l0 .01"),
        ("M 0 0 Q 1 1 2 2", "M 0 0 Q 1 1 2 2"),
    ],
)
def test_paths_are_written_relative(path, short):
    assert relative(path) == short


def absolute(path):
    """Points of a relative path."""
    points, here = [], np.zeros(2)
    for letter, rest in re.findall(r"([Mlz])([^Mlz]*)", path):
        numbers = [float(n) for n in re.findall(r"-?(?:\d+\.?\d*|\.\d+)", rest)]
        for pair in np.reshape(numbers, (-1, 2)):
            here = pair if letter == "M" else here + pair
            points.append(here)
    return np.array(points)


def test_no_point_moves_by_more_than_half_a_hundredth():
    rng = np.random.default_rng(3)
    points = rng.uniform(-500, 500, (2000, 2)).round(6)
    text = " ".join(f"{'L' if i else 'M'} {x} {y}" for i, (x, y) in enumerate(points))
    found = absolute(relative(text))
    assert found.shape == points.shape
    assert np.abs(found - points).max() <= 0.005 + 1e-9


def test_letters_keep_their_size():
    svg = '<g transform="translate(1.23456 7) scale(0.015625)"><use x="0.12345" y="3"/></g>'
    short = '<g transform="translate(1.23 7) scale(0.015625)"><use x=".12" y="3"/></g>\n'
    assert compact(svg) == short


# --------------------------------------------------------------------------------------- pages


@pytest.fixture
def drawings(tmp_path):
    """Two drawings, of which one has a narrow one."""
    for name, width in (("a", 504), ("a.narrow", 252), ("b", 504)):
        text = f'<svg xmlns="x" width="{width}pt" height="100pt" viewBox="0 0 1 1"></svg>'
        (tmp_path / f"{name}.svg").write_text(text, "utf-8")
    return tmp_path


def test_a_phone_gets_the_narrow_drawing(extension, drawings):
    pictures = extension("theme_patches")
    body = (
        '<img alt="A" src="../_images/a.svg" /><img alt="B" src="../_images/b.svg" />'
        '<img alt="C" src="../_images/a.png" />'
    )
    found = pictures.with_pictures(body, drawings)
    assert found == (
        '<picture><source media="(max-width: 600px)" srcset="../_images/a.narrow.svg" '
        'width="336" height="133" /><img width="672" height="133" alt="A" '
        'src="../_images/a.svg" /></picture>'
        '<img loading="lazy" alt="B" src="../_images/b.svg" />'
        '<img loading="lazy" alt="C" src="../_images/a.png" />'
    )


def test_narrow_drawings_lie_beside_the_wide_ones(extension, drawings, tmp_path):
    pictures = extension("theme_patches")
    out = tmp_path / "html"
    (out / "_images").mkdir(parents=True)
    (tmp_path / FOLDER).mkdir(parents=True)
    for path in drawings.glob("*.svg"):
        shutil.copy(path, tmp_path / FOLDER)
    shutil.copy(drawings / "b.svg", tmp_path / FOLDER / "c.narrow.svg")
    shutil.copy(drawings / "a.svg", out / "_images")
    app = SimpleNamespace(
        builder=SimpleNamespace(format="html"), srcdir=str(tmp_path), outdir=str(out)
    )
    pictures.copy_narrow(app, None)
    assert sorted(path.name for path in (out / "_images").iterdir()) == ["a.narrow.svg", "a.svg"]


@pytest.mark.parametrize(
    ("preset", "seed", "size", "shown"),
    [
        ("paper", 0, 10, "/_build/gallery/fig-d-eps.svg"),
        ("quick", 0, 10, "cell.png"),
        ("paper", 1, 10, "cell.png"),
        ("paper", 0, 400_000, "cell.png"),
    ],
)
def test_the_cell_wins_where_the_drawing_is_of_another_run(
    extension, tmp_path, preset, seed, size, shown
):
    """Or where the drawing is large."""
    gallery = extension("figure_gallery")
    (tmp_path / FOLDER).mkdir(parents=True)
    (tmp_path / FOLDER / "fig-d-eps.svg").write_text("x" * size, "utf-8")
    (tmp_path / "book/figures").mkdir(parents=True)
    for ending in ("csv", "json"):
        shutil.copy(ROOT / f"book/figures/fig-d-eps.{ending}", tmp_path / "book/figures")
    (notebook,) = (ROOT / "notebooks").glob("05_*.ipynb")
    (figure,) = (f for f in figures_of(notebook) if f.name == "fig-d-eps")
    assert (figure.preset, figure.seed) == ("paper", 0)
    assert published("fig-d-eps", ROOT).manifest["seed"] == 0
    entry = gallery.make_entry(figure._replace(preset=preset, seed=seed), tmp_path)
    image = nodes.image(uri="cell.png")
    document = nodes.section("", nodes.figure("", image, ids=["fig-d-eps"]))
    gallery.show_drawn(document, [entry], tmp_path)
    assert image["uri"] == shown


def test_other_parameters_are_those_that_a_notebook_sets_last(tmp_path):
    (notebook,) = (ROOT / "notebooks").glob("05_*.ipynb")
    content = json.loads(notebook.read_text("utf-8"))
    second = {
        "cell_type": "code",
        "source": ["# Parameters\n", 'preset = "smoke"\n', "seed = 7\n"],
        "metadata": {"tags": ["injected-parameters"]},
        "outputs": [],
    }
    content["cells"].insert(2, second)
    path = tmp_path / "05_x.ipynb"
    path.write_text(json.dumps(content), "utf-8")
    assert {(f.preset, f.seed) for f in figures_of(path)} == {("smoke", 7)}
