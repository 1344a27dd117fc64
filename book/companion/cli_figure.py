"""``companion figure``: a figure of the book as a file for a paper."""

from __future__ import annotations

import argparse
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbandits.cli_output import add_json, show

if TYPE_CHECKING:
    from companion.publishing import Published

__all__ = ["add_parser"]


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "figure",
        help="draw a figure for a paper, from its published data",
        description=(
            "Draw a figure again from its data in book/figures, as wide as a journal's column, "
            "with fonts embedded and letters of 6 points or more."
        ),
        epilog="examples: companion figure ss19-fig1 --pdf fig.pdf --width single --grey; "
        "companion figure ss19-fig5 --panels a,b --png fig.png --width 120; "
        "companion figure --list",
    )
    parser.add_argument("id", nargs="?", metavar="ID", help="the figure; --list lists them")
    parser.add_argument("--pdf", type=Path, metavar="FILE", help="write a vector file")
    parser.add_argument("--png", type=Path, metavar="FILE", help="write a picture of 300 dpi")
    parser.add_argument(
        "--width",
        default="double",
        metavar="W",
        help="single (84 mm), double (174 mm, default), or millimetres",
    )
    parser.add_argument("--panels", metavar="A,B", help="only these panels, such as a,b")
    parser.add_argument("--grey", action="store_true", help="for print in grey")
    parser.add_argument("--cite", action="store_true", help="print the figure's BibTeX entry")
    parser.add_argument("--list", action="store_true", help="list the figures")
    add_json(parser)
    parser.set_defaults(run=_figure)


def _figure(args: argparse.Namespace) -> int:
    from companion.publishing import published, published_names

    if args.list:
        return _list(args)
    if args.id is None:
        raise ValueError(f"id is missing; allowed: --list, or {', '.join(published_names())}")
    figure = published(args.id)
    outputs = {".pdf": args.pdf, ".png": args.png}
    for ending, path in outputs.items():
        if path is not None and path.suffix.lower() != ending:
            raise ValueError(f"{ending[1:]}={str(path)!r} ends otherwise; allowed: NAME{ending}")
    if not (args.cite or any(outputs.values())):
        raise ValueError("nothing is to be written; allowed: --pdf, --png or --cite")
    lines: list[str] = []
    record: dict[str, Any] = {"id": args.id}
    if any(outputs.values()):
        wanted = [path for path in outputs.values() if path is not None]
        record["files"] = _save(args, figure, wanted)
        lines += [
            f"{file['path']}: {file['mm'][0]:.0f} mm by {file['mm'][1]:.0f} mm, "
            f"letters of {file['letters'][0]:.1f} to {file['letters'][1]:.1f} points"
            for file in record["files"]
        ]
    if args.cite:
        from companion.citing import cite

        record["bibtex"] = cite(args.id)
        lines.append(record["bibtex"])
    show(args, lines, record)
    return 0


def _save(args: argparse.Namespace, figure: Published, paths: list[Path]) -> list[dict[str, Any]]:
    """Draw the figure, write the files and return what they are."""
    from matplotlib import pyplot as plt

    from companion.figures import paper_figure

    plt.switch_backend("agg")  # files need no display
    options = {} if args.panels is None else {"panels": args.panels.split(",")}
    printed = paper_figure(partial(figure.draw, **options), width=args.width, grey=args.grey)
    for path in paths:
        printed.save(path, title=args.id)
    plt.close(printed.figure)
    measures = {"mm": printed.size, "letters": printed.letters}
    return [{"path": os.path.relpath(path), **measures} for path in paths]


def _list(args: argparse.Namespace) -> int:
    """List the published figures."""
    from companion.publishing import published, published_names

    lines, records = [], []
    for name in published_names():
        about = published(name).manifest
        lines.append(f"{name}: {about['title']} ({about['source']}; chapter {about['chapter']})")
        records.append({"id": name, **{key: about[key] for key in ("title", "source", "chapter")}})
    show(args, lines, {"figures": records})
    return 0
