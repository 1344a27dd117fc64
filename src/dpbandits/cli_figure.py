"""``dpbandits figure``: a figure of the book as a file for a paper."""

from __future__ import annotations

import argparse
import os
from functools import partial
from pathlib import Path
from typing import Any

__all__ = ["add_parser"]


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "figure",
        help="draw a figure for a paper, from the data in the repository",
        description=(
            "Draw a figure from the data in book/data as wide as a journal's column, with fonts "
            "embedded and letters of 6 points or more."
        ),
        epilog="examples: dpbandits figure ss19-fig1 --pdf fig.pdf --width single --grey; "
        "dpbandits figure ss19-fig5 --panels a,b --png fig.png --width 120; "
        "dpbandits figure --list",
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
    parser.set_defaults(run=_figure)


def _figure(args: argparse.Namespace) -> int:
    from dpbandits.plotting import figure_names, view_of

    if args.list:
        return _list()
    if args.id is None:
        raise ValueError(f"id=None is no figure; allowed: --list, or {', '.join(figure_names())}")
    view_of(args.id)
    outputs = {".pdf": args.pdf, ".png": args.png}
    for ending, path in outputs.items():
        if path is not None and path.suffix.lower() != ending:
            raise ValueError(f"{ending[1:]}={str(path)!r} ends otherwise; allowed: NAME{ending}")
    if not (args.cite or any(outputs.values())):
        raise ValueError("pdf=None and png=None write nothing; allowed: --pdf, --png or --cite")
    if any(outputs.values()):
        _save(args, [path for path in outputs.values() if path is not None])
    if args.cite:
        from dpbandits.citing import cite

        print(cite(args.id))
    return 0


def _save(args: argparse.Namespace, paths: list[Path]) -> None:
    """Draw the figure, write the files and say what they are."""
    from matplotlib import pyplot as plt

    from dpbandits.plotting import book_figure, paper_figure

    plt.switch_backend("agg")  # files need no display
    options = {} if args.panels is None else {"panels": args.panels.split(",")}
    wanted = partial(book_figure, args.id, **options)
    printed = paper_figure(wanted, width=args.width, grey=args.grey)
    width, height = printed.size
    least, most = printed.letters
    for path in paths:
        printed.save(path, title=args.id)
        print(
            f"{os.path.relpath(path)}: {width:.0f} mm by {height:.0f} mm, "
            f"letters of {least:.1f} to {most:.1f} points"
        )
    plt.close(printed.figure)


def _list() -> int:
    """List the figures, and the experiments that they are drawn from."""
    from dpbandits.experiments import EXPERIMENTS
    from dpbandits.plotting import figure_names, view_of

    for name in figure_names():
        view = view_of(name)
        experiment = EXPERIMENTS[view.experiment]
        of = "" if view.experiment == name else f" [{view.experiment}]"
        print(f"{name}: {view.title or experiment.title} ({experiment.source}){of}")
    return 0
