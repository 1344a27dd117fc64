"""The book's command line, ``companion``: chapters, figures, claims, citing."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from companion import chapters, cli_cite, cli_claims, cli_figure
from dpbandits import __version__
from dpbandits.cli import Parser, carry_out

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Parameters
    ----------
    arguments : sequence of str, optional
        What stands after the program's name; ``sys.argv[1:]`` if not given.
    """
    return carry_out(_parser(), arguments)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="companion", description="The book Private Bandits: its chapters, figures and claims."
    )
    parser.add_argument("--version", action="version", version=f"companion {__version__}")
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", parser_class=Parser
    )
    chapters.add_parser(commands)
    cli_figure.add_parser(commands)
    cli_claims.add_parser(commands)
    cli_cite.add_parser(commands)
    return parser
