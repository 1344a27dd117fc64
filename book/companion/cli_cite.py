"""``companion cite``: the BibTeX entry of the book, a figure, a verdict or a paper."""

from __future__ import annotations

import argparse
from typing import Any

from dpbandits.cli_output import add_json, show

__all__ = ["add_parser"]


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "cite",
        help="print the BibTeX entry of the book, a figure, a verdict or a paper",
        description="Print a BibTeX entry: of the book, or of a figure, a claim's verdict or a "
        "paper, by its id.",
        epilog="examples: companion cite; companion cite ss19-fig1; companion cite ss19-thm-4.1; "
        "companion cite ss19",
    )
    parser.add_argument(
        "what", nargs="*", metavar="ID", help="figures, claims or papers; none for the book"
    )
    add_json(parser)
    parser.set_defaults(run=_cite)


def _cite(args: argparse.Namespace) -> int:
    from companion.citing import cite

    entries = {what: cite(what) for what in args.what} or {"book": cite()}
    show(args, "\n\n".join(entries.values()), {"entries": entries})
    return 0
