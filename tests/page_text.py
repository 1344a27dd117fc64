"""What can be said of a built page without a browser: its form, from its text, and its size."""

import re

from bs4 import BeautifulSoup, NavigableString, Tag

LINES, COLUMNS = 20, 76
WORDS = 300
WIDE, STRETCH = 672, 1.21
"""Pixels of a figure as wide as the text, and how much wider it may be drawn."""
HEAVIEST = 2_500_000
"""Bytes of a page on its first load."""
TALLEST = 60_000
"""Pixels of a page at the desk, with what folds folded."""


def cell_problems(cells: list[str]) -> list[str]:
    """Say which cells in sight are long or wide, or have what belongs out of sight."""
    problems = []
    for cell in cells:
        lines = cell.rstrip().splitlines()
        start = repr((lines or [""])[0][:40])
        widest = max(map(len, lines), default=0)
        if len(lines) > LINES:
            problems.append(f"cell of {len(lines)} lines: {start}; allowed: {LINES}")
        if widest > COLUMNS:
            problems.append(f"cell of {widest} columns: {start}; allowed: {COLUMNS}")
        code = "\n".join(line.partition("#")[0] for line in lines)
        problems += [
            f"cell with {word}: {start}"
            for word in ("glue", "fix", "assert")
            if re.search(rf"\b{word}\b", code)
        ]
    return problems


def story_problems(article: str) -> list[str]:
    """Say whether the first picture comes late after the title, from the HTML of an article."""
    title, words = BeautifulSoup(article, "html.parser").h1, 0
    if title is None:
        return ["no title"]
    for node in title.next_elements:
        if isinstance(node, Tag):
            if node.name == "img":
                late = f"{words} words before the first picture; allowed: {WORDS}"
                return [late] if words > WORDS else []
            words += "math" in node.get("class", ()) and not node.find_parent(uncounted)
        elif (
            type(node) is NavigableString
            and title not in node.parents
            and not node.find_parent(uncounted)
        ):
            words += len(node.split())
    return ["no picture"]


def uncounted(node: Tag) -> bool:
    """Whether a story is told without an element; a formula is one word."""
    return node.name in ("details", "script", "style") or bool(
        {"quiet", "math", "headerlink", "cell_input"} & set(node.get("class", ()))
    )


def figure_problems(figures: list[dict]) -> list[str]:
    """Say which figures are no drawings, are drawn too wide, or have no narrow drawing."""
    problems = []
    for figure in figures:
        name = figure["name"] or "a figure without a name"
        if not figure["svg"]:
            problems.append(f"{name} is no SVG")
            continue
        if figure["width"] > STRETCH * WIDE:
            problems.append(f"{name} is {figure['width']} px wide; allowed: {STRETCH * WIDE:.0f}")
        if not figure["narrow"]:
            problems.append(f"{name} has no drawing for a phone")
        if not figure["opens"]:
            problems.append(f"{name} does not open by a tap")
    return problems


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
