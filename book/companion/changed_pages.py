"""Decide whether a build can keep the unchanged pages, or has to rebuild all of them.

A page shows more than its own text: numbers of other chapters, figures, verdicts, docstrings,
titles of the pages it refers to. So all pages are rebuilt, unless only sentences have changed since
the last successful build. A change of code, data, an output of a chapter, a heading, a label, a
directive, a role or a link is more than a change of sentences. If only sentences have changed,
Sphinx rebuilds the pages that contain them and the pages declared to depend on those.

``python -m companion.changed_pages`` prints the option of jupyter-book that rebuilds all pages, or
nothing; ``--done`` records that the build has succeeded.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

__all__ = ["begin", "finish", "forget", "inputs", "markup"]

KEPT = Path("_build", "pages.sha256")
"""File with the digest of what the pages were made of, the sentences left out."""

WRITTEN = ("book", "reference")
"""Folder of the sources that a build writes from the docstrings."""
PAGES = ("book/*.md", "notebooks/*.ipynb")
SENTENCES = frozenset(["dropdown", "quiet", "note", "tip", "warning", "important", "admonition"])
"""Directives whose content is text like any other, as is that of ``prf:`` and ``exercise``."""

_FENCE = re.compile(r"\s*(`{3,}|:{3,}|~{3,})\s*(?:\{([\w:.-]+)\})?(.*)")
_WHOLE = re.compile(
    r"\s*(?:#|:|\(.*\)=|\[\^|%|\+\+\+|[=-]{3,}\s*$|---)|.*(?:\$\$|\\(?:begin|end|label|tag)\b|<)"
)
_MARKUP = re.compile(r"\{[\w:+.-]+\}`+[^`]*`+|\]\([^)]*\)|\]\[[^]]*\]|\{[#.][^}]*\}|\[\^[^]]*\]")


def markup(text: str) -> Iterator[str]:
    r"""Yield the parts of a text that are not sentences, in order.

    Examples
    --------
    >>> list(markup("# A title\n\nAs {ref}`proof` says, [this](other.md) is so."))
    ['# A title', '{ref}`proof`', '](other.md)']
    """
    fences: list[tuple[str, bool]] = []  # the closing line of each; whether it contains sentences
    before = ""
    for line in text.splitlines():
        fence = _FENCE.match(line)
        if fence and fences and fence[1] == fences[-1][0] and not (fence[2] or fence[3].strip()):
            fences.pop()
            yield line
        elif fence and (not fences or fences[-1][1]):
            name = fence[2] or ""
            told = name in SENTENCES or name.startswith(("prf:", "exercise", "solution"))
            fences.append((fence[1], told))
            yield line
        elif fences and not fences[-1][1]:
            yield line
        elif _WHOLE.match(line):
            yield from filter(None, (before, line))  # a line below a title may make it one
        else:
            yield from _MARKUP.findall(line)
        before = line


def inputs(root: Path) -> str:
    """Return a digest of everything that the pages are made of, except sentences."""
    digest = hashlib.sha256(sys.version.encode())
    pages = {path for pattern in PAGES for path in root.glob(pattern)}
    for path in _files(root):
        digest.update(f"\0{path.relative_to(root).as_posix()}\0".encode())
        if path not in pages:
            digest.update(path.read_bytes())
            continue
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".ipynb":
            text = _without_sentences(text)
        else:
            text = "\n".join(markup(text))
        digest.update(text.encode())
    return digest.hexdigest()


def _without_sentences(notebook: str) -> str:
    """Return a notebook in which each text is replaced by its markup."""
    content = json.loads(notebook)
    for cell in content["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = [*markup("".join(cell["source"]))]
    return json.dumps(content)


def _files(root: Path) -> Iterator[Path]:
    """Yield the book's source files in alphabetical order, built files excluded."""
    for path in sorted(root.iterdir()):
        if path.parts[-2:] == WRITTEN:
            continue
        if path.name.startswith((".", "_build", "__pycache__")) or path.name.endswith(".egg-info"):
            continue
        if path.is_dir():
            yield from _files(path)
        else:
            yield path


def begin(root: Path) -> bool:
    """Return whether to rebuild all pages; until `finish` is called, every build does."""
    kept, now = root / KEPT, inputs(root)
    same = kept.is_file() and kept.read_text(encoding="utf-8") == now
    forget(root)
    _pending(root).parent.mkdir(exist_ok=True)
    _pending(root).write_text(now, encoding="utf-8")
    return not same


def forget(root: Path) -> None:
    """Make the next build rebuild all pages, unless `finish` is called first."""
    (root / KEPT).unlink(missing_ok=True)


def finish(root: Path) -> None:
    """Record the digest of the sources that the pages were built from."""
    _pending(root).replace(root / KEPT)


def _pending(root: Path) -> Path:
    return (root / KEPT).with_suffix(".pending")


def main() -> None:
    """Print the option that rebuilds all pages if that is needed, or record a finished build."""
    root = Path.cwd()
    if sys.argv[1:] == ["--done"]:
        finish(root)
    elif begin(root):
        sys.stdout.write("--all\n")


if __name__ == "__main__":
    main()
