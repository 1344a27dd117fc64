"""Look whether a build has every page of the contents: ``check_toc.py HTML``.

``check_pages.py`` does so as well.
"""

import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]


def listed(contents: dict) -> list[str]:
    """Return the names of the pages that `_toc.yml` lists, the first page first."""
    entries = [entry for part in contents["parts"] for entry in part["chapters"]]
    below = [section for entry in entries for section in entry.get("sections", ())]
    return [contents["root"], *(entry["file"] for entry in (*entries, *below))]


def missing(html: Path, contents: dict | None = None) -> list[str]:
    """Return the pages that are listed and were not built, or have no text."""
    if contents is None:
        contents = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    pages = {name: html / f"{name}.html" for name in listed(contents)}
    return [
        name
        for name, page in pages.items()
        if not page.is_file() or "<h1" not in page.read_text(encoding="utf-8")
    ]


def main() -> int:
    """Print the missing pages and return the exit status."""
    (folder,) = sys.argv[1:]
    lost = missing(Path(folder))
    print("\n".join(f"no page {name}" for name in lost) or f"{folder}: every page is there")
    return bool(lost)


if __name__ == "__main__":
    sys.exit(main())
