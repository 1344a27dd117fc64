"""Figures for papers: their width, their letters, their fonts, their greys, and their names."""

import ast
import io
import itertools
import json
import re
import zlib
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex
from PIL import Image

from dpbandits import plotting
from dpbandits.chapter_figures import chapter_figures, files_in
from dpbandits.cli import main
from dpbandits.experiments import EXPERIMENTS
from dpbandits.plotting import paper
from dpbandits.plotting.files import figure_pdf

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "book" / "data"
DRAWING = ("draw", "regret_figure", "stopping_figure", "slopes_figure")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def drawn(name, **options):
    """Draw a figure as it is written, whether the data is fresh or not."""
    width, grey = options.pop("width", "double"), options.pop("grey", False)
    wanted = partial(plotting.book_figure, name, folder=DATA, **options)
    return plotting.paper_figure(wanted, width=width, grey=grey)


def streams(pdf):
    """The content of a PDF's streams that are text."""
    found = re.findall(rb"stream\r?\n(.*?)\nendstream", pdf, re.DOTALL)
    texts = []
    for stream in found:
        try:
            texts.append(zlib.decompress(stream).decode("ascii"))
        except (zlib.error, UnicodeDecodeError):
            continue
    return "\n".join(texts)


def font_problems(pdf):
    """Say which fonts are not embedded as outlines that an editor of PDFs can read."""
    problems = []
    if b"/Type3" in pdf:
        problems.append("Type 3")
    descriptors = pdf.count(b"/Type /FontDescriptor")
    if not descriptors:
        problems.append("no font")
    if pdf.count(b"/FontFile2") != descriptors:
        problems.append("not embedded")
    return problems


def letters_in(pdf):
    """Sizes of the letters in points, and the factor by which the page is scaled."""
    text = streams(pdf)
    scale = float(re.search(r"([\d.]+) 0 0 [\d.]+ 0 0 cm", text)[1])
    return {scale * float(size) for size in re.findall(r"/F\S+ ([\d.]+) Tf", text)}


def colours_in(pdf):
    numbers = r"(-?[\d.]+) (-?[\d.]+) (-?[\d.]+) (?:rg|RG)\b"
    return {tuple(map(float, match)) for match in re.findall(numbers, streams(pdf))}


# --------------------------------------------------------------------------------- size and fonts


@pytest.mark.parametrize(
    ("name", "width", "millimetres"),
    [
        ("ss19-fig1", "single", 84),
        ("ours-bai-error", 100, 100),
    ],
)
def test_a_pdf_is_as_wide_as_asked_with_letters_that_can_be_read(name, width, millimetres):
    printed = drawn(name, width=width)
    pdf = printed.pdf(name)
    assert pdf == printed.pdf(name)
    box = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+) ?\]", pdf)
    size = [float(edge) / 72 * 25.4 for edge in box.groups()]
    assert size == pytest.approx(printed.size, abs=0.01)
    assert size[0] == pytest.approx(millimetres, abs=0.01)
    assert not font_problems(pdf)
    sizes = letters_in(pdf)
    assert min(sizes) >= 0.7 * 6 - 0.01  # exponents and indices
    least, most = printed.letters
    assert least >= 5.99
    assert max(sizes) == pytest.approx(most, abs=0.01)


def test_other_fonts_are_noticed():
    figure = plotting.book_figure("ours-bai-error", folder=DATA, panels=["a"])
    buffer = io.BytesIO()
    with plt.rc_context({"pdf.fonttype": 3}):
        figure.savefig(buffer, format="pdf")
    assert "Type 3" in font_problems(buffer.getvalue())
    with plt.rc_context({"pdf.use14corefonts": True}):
        buffer = io.BytesIO()
        plt.figure(figsize=(1, 1)).text(0, 0, "x", family="Helvetica")
        plt.savefig(buffer, format="pdf")
    assert "no font" in font_problems(buffer.getvalue())


def test_a_picture_has_300_points_to_an_inch(tmp_path):
    path = drawn("ours-budget-split", width="single").save(tmp_path / "a.PNG")
    with Image.open(path) as image:
        assert image.size[0] == pytest.approx(84 / 25.4 * 300, abs=1)
        assert image.info["dpi"] == pytest.approx((300, 300), abs=0.1)


def test_nothing_stands_outside_of_a_narrow_figure():
    """Legends are broken, and texts below the panels, until they fit."""
    for name in ("ours-stopping-error", "ours-bai-error"):
        figure = drawn(name, width="single").figure
        figure.draw_without_rendering()
        for artist in (*figure.legends, *figure.texts):
            box = artist.get_window_extent()
            assert box.x0 >= -1 and box.x1 <= figure.bbox.width + 1, (name, artist)
            assert box.y0 >= -1, (name, artist)
        lowest = min(a.get_tightbbox().y0 for a in figure.axes)
        assert max(legend.get_window_extent().y1 for legend in figure.legends) <= lowest + 1


@pytest.mark.parametrize(
    ("name", "options", "parts"),
    [
        ("ss19-fig1", {"width": "triple"}, ["width='triple'", "single, double", "40 to 300"]),
        ("ss19-fig1", {"width": "30"}, ["width='30'", "40 to 300"]),
        ("ss19-fig1", {"width": None}, ["width=None", "40 to 300"]),
        ("ours-heavy-error", {"width": "single"}, ["width='single'", "allowed: at least 1"]),
        ("ss19-fig1", {"width": "single"}, ["mm high", "up to 100", "fewer panels"]),
        ("fig-d-eps", {}, ["figure='fig-d-eps'", "ss19-fig12", "h-map-rest", "chapter computes"]),
        ("ss19-fig1", {"panels": ["x"]}, ["x"]),
    ],
)
def test_what_cannot_be_drawn_is_refused(name, options, parts, monkeypatch):
    if "mm high" in parts:
        monkeypatch.setattr(paper, "_HIGHEST", 100.0)
    with pytest.raises(ValueError) as caught:
        drawn(name, **options)
    for part in parts:
        assert part in str(caught.value)
    assert not plt.get_fignums()


def test_the_width_that_is_allowed_is_enough():
    def draw(width):
        return drawn("ours-head-bai", panels=["a"], width=width)

    with pytest.raises(ValueError) as caught:
        draw(50)
    allowed = int(re.search(r"at least (\d+)", str(caught.value))[1])
    assert draw(allowed).letters[0] >= 5.99
    with pytest.raises(ValueError, match="letters of"):
        draw(allowed - 2)


# ------------------------------------------------------------------------------------------- grey


def colourful(png):
    """How far a pixel is from grey at most."""
    with Image.open(io.BytesIO(png)) as image:
        return np.ptp(np.asarray(image.convert("RGB"), dtype=int), axis=2).max()


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("ours-budget-split", {}),
        ("ours-head-bai", {"panels": ["a"]}),
        ("ours-stopping-overhead", {}),
    ],
)
def test_grey_is_grey(name, options):
    printed = drawn(name, **options)
    assert colourful(printed.png(60)) > 50
    paper.in_grey(printed.figure)
    assert colourful(printed.png(60)) <= 1


def test_a_grey_pdf_has_greys_only():
    pdf, grey = (drawn("ours-budget-split", grey=grey).pdf() for grey in (False, True))
    assert any(len(set(colour)) > 1 for colour in colours_in(pdf))
    assert all(len(set(colour)) == 1 for colour in colours_in(grey))
    assert len(set(re.findall(r"([\d.]+) G\b", streams(grey)))) > 3


@pytest.mark.parametrize("name", ["ours-budget-split", "ours-price-of-privacy", "ours-bai-error"])
def test_curves_can_be_told_apart_in_grey(name):
    """Where two curves of a panel have other colours, style, marker or grey tell them apart."""
    figure = drawn(name).figure
    before = {line: to_hex(line.get_color()) for a in figure.axes for line in a.lines}
    paper.in_grey(figure)
    pairs = 0
    for axes in figure.axes:
        for one, two in itertools.combinations(axes.lines, 2):
            if before[one] == before[two]:
                continue
            looks = [(str(line._unscaled_dash_pattern), line.get_marker()) for line in (one, two)]
            if looks[0] == looks[1]:
                pairs += 1
                greys = [int(to_hex(line.get_color())[1:3], 16) / 255 for line in (one, two)]
                assert abs(greys[0] - greys[1]) > 0.12, (name, before[one], before[two])
    assert pairs


def test_the_palette_has_its_greys():
    assert set(paper.GREYS) == set(plotting.COLOURS)
    for colour, grey in paper.GREYS.items():
        assert paper.grey_of(plotting.COLOURS[colour])[:3] == (grey, grey, grey)
    assert paper.grey_of("#777777") == pytest.approx((0x77 / 255,) * 3 + (1,), abs=1e-6)
    assert paper.grey_of((1, 1, 1, 0.5)) == pytest.approx((1, 1, 1, 0.5))
    assert paper.grey_of("yellow")[0] > paper.grey_of("green")[0] > paper.grey_of("navy")[0]


# ------------------------------------------------------------------------------------------ names


def figure_cells():
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            name = cell["metadata"].get("mystnb", {}).get("figure", {}).get("name")
            if name:
                yield name, "".join(cell["source"])


def calls_that_draw(source):
    """What a cell draws: name of the function, and its options."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in DRAWING:
            code = {k.arg: compile(ast.Expression(k.value), "", "eval") for k in node.keywords}
            yield node.func.attr, {k: eval(v, {"list": list}) for k, v in code.items()}


def test_the_figures_of_the_chapters_are_drawn_as_their_names_say():
    names = []
    for name, source in figure_cells():
        names.append(name)
        calls = list(calls_that_draw(source))
        if name not in plotting.figure_names():
            assert not calls, f"{name} shows an experiment, but is no view of one"
            continue
        view = plotting.view_of(name)
        ((function, options),) = calls
        assert options == view.options, name
        assert (function == "slopes_figure") == (view.function[1] == "slopes_figure"), name
    assert len(names) == len(set(names))
    assert set(plotting.VIEWS) <= set(names)
    shown = {plotting.view_of(n).experiment for n in names if n in plotting.figure_names()}
    assert shown == set(EXPERIMENTS)


def test_what_a_chapter_shows_is_read_from_its_notebook():
    figures = {figure.name: figure for figure in chapter_figures(ROOT)}
    assert list(figures) == [name for name, _ in figure_cells()]
    figure = figures["fig-d-eps"]
    assert (figure.chapter, figure.page) == (5, "notebooks/05_best_arm_identification")
    assert figure.heading == "Best-arm identification and the characteristic time"
    assert figure.picture.startswith(b"\x89PNG")
    assert figure.files["csv"].startswith(b"panel,curve,x,y\n")
    for figure in figures.values():
        assert figure.alt and figure.caption, figure.name


def test_chapters_1_to_7_offer_what_they_compute():
    for figure in chapter_figures(ROOT):
        if figure.name not in plotting.figure_names() and figure.chapter < 8:
            assert {"csv", "svg", "pdf"} <= set(figure.files), figure.name
            assert not font_problems(figure.files["pdf"]), figure.name


def test_downloads_have_what_they_say():
    x = [1.0, 10.0]
    curves = {"one": {"line": (x, x)}}
    figure = plotting.curves_figure(curves, x_label="x", y_label="y")
    links = plotting.Downloads("a&b", figure, curves)
    carried = files_in(links._repr_html_())["a&b"]
    assert carried == {
        "csv": links.table.encode(),
        "svg": links.vector.encode(),
        "pdf": links.pdf,
    }
    assert not font_problems(links.pdf)
    plain, axes = plt.subplots()
    axes.plot(x, [3, 4], label="seen")
    axes.plot(x, x)
    axes.set_title("top")
    assert plotting.Downloads("a", plain).table.splitlines()[1:] == [
        "top,seen,1,3",
        "top,seen,10,4",
    ]


def test_the_vector_file_of_the_book_is_that_of_the_command():
    assert figure_pdf("ours-bai-error", DATA) == drawn("ours-bai-error").pdf("ours-bai-error")


# ---------------------------------------------------------------------------------------- command


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """Whether the data is fresh is tested elsewhere."""
    from dpbandits.experiments import read

    monkeypatch.setattr("dpbandits.plotting.views.load", lambda name: read(name, DATA))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command(capsys, quick):
    arguments = "figure ss19-fig5 --panels a --width 90 --grey --pdf f.pdf --png f.png --cite"
    assert main(arguments.split()) == 0
    shown = capsys.readouterr().out
    assert shown.count("90 mm by ") == 2
    assert "@misc{dpbandits-ss19-fig5," in shown
    assert not font_problems((quick / "f.pdf").read_bytes())
    assert main(["figure", "--list"]) == 0
    listed = capsys.readouterr().out
    for name in plotting.figure_names():
        assert re.search(rf"^{name}: ", listed, re.MULTILINE)
    assert main(["figure", "td16-spread", "--cite"]) == 0
    assert [p.name for p in quick.iterdir()] == ["f.pdf", "f.png"] or len(
        list(quick.iterdir())
    ) == 2


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ("figure", ["id is missing", "--list", "ss19-fig1"]),
        ("figure ss19-fig1", ["--pdf, --png or --cite"]),
        ("figure ss19-fig1 --pdf a.png", ["pdf='a.png'", "NAME.pdf"]),
        ("figure fig-time --pdf a.pdf", ["figure='fig-time'", "chapter computes"]),
        ("figure ss19-fig1 --pdf a.pdf --width 5", ["width='5'", "single, double"]),
        ("figure ss19-fig1 --pdf a.pdf --panels z", ["'z'"]),
    ],
)
def test_a_bad_argument_is_one_line(capsys, quick, arguments, parts):
    assert main(arguments.split()) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    for part in parts:
        assert part in error
    assert not list(quick.iterdir())
