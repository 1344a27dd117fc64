"""What the pages leave out: icons come from the theme's font, and only those that are used.

The theme draws its icons by a script that is larger than the text of the book's longest page, and
loads a font of the same icons beside it; its style sheet names two thousand of them.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

SCRIPT = re.compile(
    r"\s*<(?:script|link)\b[^>]*\bfontawesome(?:\.min)?\.js\b[^>]*>(?:\s*</script>)?"
)
SHEET = Path("_static", "styles", "pydata-sphinx-theme.css")
RULE = re.compile(r'((?:\.fa-[a-z0-9-]+:before,?)+)\{content:"[^"]*"\}')
NAME = re.compile(r"\bfa-[a-z0-9-]+")


def without_script(text: str) -> str:
    """Take the script of the icons, and its preload, out of a page."""
    return SCRIPT.sub("", text)


def without_others(sheet: str, used: set[str]) -> str:
    """Take out of a style sheet the icons that no page uses."""
    return RULE.sub(lambda rule: rule[0] if used & set(NAME.findall(rule[1])) else "", sheet)


def icons_in(texts: Iterable[str]) -> set[str]:
    """Return the names of all icons in pages and scripts."""
    return {name for text in texts for name in NAME.findall(text)}


def finish(app: Any, error: Exception | None) -> None:
    """Go through the pages that were written, and through the theme's style sheet."""
    if error is not None or app.builder.format != "html":
        return
    out = Path(app.outdir)
    scripts = (p for p in out.glob("_static/**/*.js") if not p.name.startswith("fontawesome"))
    used = icons_in(path.read_text("utf-8", "replace") for path in scripts)
    for path in out.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        lean = without_script(text)
        used |= icons_in([lean])
        _renew(path, text, lean)
    sheet = out / SHEET
    if sheet.is_file():
        text = sheet.read_text(encoding="utf-8")
        _renew(sheet, text, without_others(text, used))


def _renew(path: Path, old: str, new: str) -> None:
    if new != old:
        path.write_text(new, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Connect it to the end of the build."""
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
