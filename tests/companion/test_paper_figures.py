"""Figures for papers: their width, their letters, their fonts, their greys, and their names."""

import io
import itertools
import re
import zlib
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex
from PIL import Image

from companion.chapter_figures import chapter_figures
from companion.chapters import look_alike
from companion.cli import main
from companion.figures import curves_figure, paper, paper_figure
from companion.publishing import published, published_names
from companion.vector_files import FOLDER, renew_vector_files
from dpbandits.plotting import COLOURS

ROOT = Path(__file__).resolve().parents[2]


def drawn(name, width="double", grey=False, **options):
    """Draw a figure from what is published of it."""
    return paper_figure(partial(published(name).draw, **options), width=width, grey=grey)


def long_names():
    """Draw curves with names that need much room."""
    x = np.geomspace(1, 100, 9)
    curves = {f"the curve with the number {i}": (x, x**i) for i in (1, 2)}
    return curves_figure({"left": curves, "right": curves}, x_label="x", y_label="y")


def streams(pdf):
    """The content of a PDF's streams that are text."""
    texts = []
    for stream in re.findall(rb"stream\r?\n(.*?)\nendstream", pdf, re.DOTALL):
        try:
            content = zlib.decompress(stream)
        except zlib.error:
            continue
        if content.isascii() or content.startswith(b"/DeviceRGB"):  # no font
            texts.append(content.decode("latin-1"))
    return "\n".join(texts)


def font_problems(pdf):
    """Say which fonts are not embedded as outlines that an editor of PDFs can read."""
    descriptors = pdf.count(b"/Type /FontDescriptor")
    problems = {
        "Type 3": b"/Type3" in pdf,
        "no font": not descriptors,
        "not embedded": pdf.count(b"/FontFile2") != descriptors,
    }
    return [problem for problem, there in problems.items() if there]


def letters_in(pdf):
    """Sizes of the letters in points, and the factor by which the page is scaled."""
    text = streams(pdf)
    scale = float(re.search(r"([\d.]+) 0 0 [\d.]+ 0 0 cm", text)[1])
    return {scale * float(size) for size in re.findall(r"/F\S+ ([\d.]+) Tf", text)}


@pytest.mark.parametrize(
    ("name", "width", "millimetres"),
    [("td16-fig2", "single", 84), ("ours-stopping-error", 100, 100)],
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
    figure = published("ours-stopping-beta").draw(panels=["a"])
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
    path = drawn("ours-stopping-beta", width="single").save(tmp_path / "a.PNG")
    with Image.open(path) as image:
        assert image.size[0] == pytest.approx(84 / 25.4 * 300, abs=1)
        assert image.info["dpi"] == pytest.approx((300, 300), abs=0.1)


def test_nothing_stands_outside_of_a_narrow_figure():
    """Legends are broken, and texts below the panels, until they fit."""
    figure = drawn("ours-stopping-error", width="single").figure
    figure.draw_without_rendering()
    for artist in (*figure.legends, *figure.texts):
        box = artist.get_window_extent()
        assert box.x0 >= -1 and box.x1 <= figure.bbox.width + 1, artist
        assert box.y0 >= -1, artist
    lowest = min(a.get_tightbbox().y0 for a in figure.axes)
    assert max(legend.get_window_extent().y1 for legend in figure.legends) <= lowest + 1


@pytest.mark.parametrize(
    ("width", "parts"),
    [
        ("triple", ["width='triple'", "single, double", "40 to 300"]),
        ("30", ["width='30'", "40 to 300"]),
        (None, ["width=None", "40 to 300"]),
        ("single", ["mm high", "up to 100", "fewer panels"]),
    ],
)
def test_what_cannot_be_drawn_is_refused(width, parts, monkeypatch):
    monkeypatch.setattr(paper, "_HIGHEST", 100.0)
    with pytest.raises(ValueError) as caught:
        drawn("td16-fig2", width=width)
    for part in parts:
        assert part in str(caught.value)
    assert not plt.get_fignums()


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        (partial(published("td16-fig2").draw, panels=["a"]), "leaves letters of"),
        (long_names, "leaves no room beside the labels"),
    ],
)
def test_the_width_that_is_allowed_is_enough(draw, said):
    with pytest.raises(ValueError, match=said) as caught:
        paper_figure(draw, width=40)
    allowed = int(re.search(r"at least (\d+)", str(caught.value))[1])
    assert paper_figure(draw, width=allowed).letters[0] >= 5.99
    with pytest.raises(ValueError, match=said):
        paper_figure(draw, width=allowed - 2)


def colourful(png):
    """How far a pixel is from grey at most."""
    with Image.open(io.BytesIO(png)) as image:
        return np.ptp(np.asarray(image.convert("RGB"), dtype=int), axis=2).max()


@pytest.mark.parametrize("name", ["ours-stopping-beta", "td16-spread", "ours-stopping-price"])
def test_grey_is_grey(name):
    coloured, greyed = (drawn(name, grey=grey).png(60) for grey in (False, True))
    assert colourful(coloured) > 50 and colourful(greyed) <= 1


@pytest.mark.parametrize("name", ["td16-fig2", "ours-stopping-beta", "ours-stopping-error"])
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
    assert set(paper.GREYS) == set(COLOURS)
    for colour, grey in paper.GREYS.items():
        assert paper.grey_of(COLOURS[colour])[:3] == (grey, grey, grey)
    assert paper.grey_of("#777777") == pytest.approx((0x77 / 255,) * 3 + (1,), abs=1e-6)
    assert paper.grey_of((1, 1, 1, 0.5)) == pytest.approx((1, 1, 1, 0.5))
    assert paper.grey_of("yellow")[0] > paper.grey_of("green")[0] > paper.grey_of("navy")[0]


@pytest.fixture(scope="module")
def vector_files():
    """The folder of all vector files, as a build of the pages has them."""
    renew_vector_files(ROOT)
    return ROOT / FOLDER


@pytest.mark.parametrize("name", published_names(ROOT))
def test_a_published_figure_can_be_printed(name, vector_files):
    pdf = (vector_files / f"{name}.pdf").read_bytes()
    assert not font_problems(pdf)
    assert min(letters_in(pdf)) >= 0.7 * 6 - 0.01


def picture(figure):
    """A figure as chapters show it."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", bbox_inches="tight", dpi=figure.dpi)
    return buffer.getvalue()


SHOWN = {figure.name: figure.picture for figure in chapter_figures(ROOT)}
ONE_OF_A_KIND = {
    published(n, ROOT).manifest["recipe"]["function"]: n for n in published_names(ROOT)
}


@pytest.mark.parametrize("name", ONE_OF_A_KIND.values())
def test_what_is_drawn_again_is_what_the_chapter_shows(name):
    """From the table and the manifest alone, with each function that draws."""
    assert look_alike(picture(published(name, ROOT).draw()), SHOWN[name])


def test_another_table_gives_another_picture():
    figure = published("td16-fig2", ROOT)
    table = figure.table.assign(mean=1.01 * figure.table["mean"])
    assert not look_alike(picture(figure._replace(table=table).draw()), SHOWN["td16-fig2"])


def test_what_a_chapter_shows_is_read_from_its_notebook():
    for figure in chapter_figures(ROOT):
        assert figure.alt and figure.caption and figure.picture[:4] == b"\x89PNG", figure.name
        if figure.name == "td16-fig2":
            assert (figure.chapter, figure.page) == (2, "notebooks/02_private_counters")
            assert figure.heading == "Private counters: what one look too many costs"
            assert "UCB" in figure.caption


def test_the_command(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = "figure td16-fig2 --panels a --width 90 --grey --pdf f.pdf --png f.png --cite"
    assert main(arguments.split()) == 0
    shown = capsys.readouterr().out
    assert shown.count("90 mm by ") == 2
    assert "@misc{dpbandits-td16-fig2," in shown
    assert not font_problems((tmp_path / "f.pdf").read_bytes())
    assert main(["figure", "--list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in listed] == list(published_names())
    assert main(["figure", "td16-spread", "--cite"]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"f.pdf", "f.png"}


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ("figure", ["id is missing", "--list", "td16-fig2"]),
        ("figure td16-fig2", ["--pdf, --png or --cite"]),
        ("figure td16-fig2 --pdf a.png", ["pdf='a.png'", "NAME.pdf"]),
        ("figure td16-fig3 --pdf a.pdf", ["figure='td16-fig3'", "did you mean 'td16-fig2'"]),
        ("figure td16-fig2 --pdf a.pdf --width 5", ["width='5'", "single, double"]),
        ("figure td16-fig2 --pdf a.pdf --panels z", ["'z'"]),
    ],
)
def test_a_bad_argument_is_one_line(capsys, tmp_path, monkeypatch, arguments, parts):
    monkeypatch.chdir(tmp_path)
    assert main(arguments.split()) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    for part in parts:
        assert part in error
    assert not list(tmp_path.iterdir())
