"""Measure what a page weighs on its first load, and how high it is at the desk.

Called by ``check_pages.py``. A page weighs what the browser has read, uncompressed, before its
reader scrolls: the page, scripts, styles, fonts, data, and the pictures that are near.
"""

HEAVIEST = 2_500_000
"""Bytes of a page on its first load."""
TALLEST = 60_000
"""Pixels of a page at the desk, with what folds folded."""

LOADED = """() => ['navigation', 'resource'].flatMap(kind => performance.getEntriesByType(kind))
    .map(entry => [entry.name.split('/').pop(), entry.decodedBodySize])"""
HEIGHT = "() => document.documentElement.scrollHeight"
PLANTED = "**/planted.js"
PLANT = """height => {
    const node = document.createElement('div');
    node.id = 'planted';
    node.style.height = `${height}px`;
    document.querySelector('.bd-article').append(node);
}"""


def weight_problems(loaded: list[tuple[str, int]], allowed: int = HEAVIEST) -> list[str]:
    """Say whether what was loaded is too much, and what of it weighs most."""
    total = sum(size for _, size in loaded)
    if total <= allowed:
        return []
    most = sorted(loaded, key=lambda one: -one[1])[:4]
    said = ", ".join(f"{name} {size}" for name, size in most)
    return [f"{total} bytes, allowed: {allowed}; most: {said}"]


def height_problems(height: int, allowed: int = TALLEST) -> list[str]:
    """Say whether a page is too high."""
    return [] if height <= allowed else [f"{height} pixels high, allowed: {allowed}"]


def check_weight(page, name: str, seconds: float, report) -> None:
    """Say what a page weighs and when its text could be read; the weight is checked."""
    loaded = page.evaluate(LOADED)
    total = sum(size for _, size in loaded)
    print(f"{total / 1000:7.0f} KB {seconds:6.2f} s  {name}")
    problems = weight_problems(loaded)
    # A page that says that it loads nothing was not measured.
    report.check(name, "weight", problems if total > 10_000 else [f"only {total} bytes are seen"])


def check_height(page, name: str, report) -> None:
    """Measure the height of a page, all its pictures loaded."""
    report.check(name, "height", height_problems(page.evaluate(HEIGHT)))


def check_the_size(page, name: str, report) -> None:
    """Plant too much of both in an open page: each must be found."""
    body = "/" * HEAVIEST
    page.route(PLANTED, lambda route: route.fulfill(body=body, content_type="text/javascript"))
    page.add_script_tag(url="planted.js")
    page.evaluate(PLANT, TALLEST)
    missed = []
    if not height_problems(page.evaluate(HEIGHT)):
        missed.append("a page of more than the greatest height passes")
    if not weight_problems(page.evaluate(LOADED)):
        missed.append("a script of more than the greatest weight passes")
    page.evaluate("() => document.querySelector('#planted').remove()")
    report.check(name, "weight and height that are planted", missed)
