"""The command line, ``dpbandits``, and its command ``completion``.

A bad argument gives one line on stderr, which names it and says what is allowed, and exit
status 2; a failure 1; an interrupt 130.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import shtab

from dpbandits import (
    __version__,
    chapters,
    cli_audit,
    cli_cite,
    cli_claims,
    cli_estimate,
    cli_figure,
    cli_identify,
    cli_run,
)
from dpbandits._validation import check_choice
from dpbandits.cli_output import add_json, show

__all__ = ["main"]


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Parameters
    ----------
    arguments : sequence of str, optional
        What stands after the program's name; ``sys.argv[1:]`` if not given.
    """
    parser = _parser()
    try:
        args = parser.parse_args(arguments)
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        status: int = args.run(args)
        sys.stdout.flush()
    except ValueError as error:
        return _complain(str(error), 2)
    except KeyboardInterrupt as interrupt:
        return _complain(str(interrupt) or "interrupted", 130)
    except BrokenPipeError:
        # The reader has gone; nothing is left to say, at exit included.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        return _complain(f"{error.strerror or error}{where}", 1)
    return status


def _complain(message: str, status: int) -> int:
    line = " ".join(message.split())
    print(f"dpbandits: {line}", file=sys.stderr)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="dpbandits", description="Differentially private bandits, reproduced and checked."
    )
    parser.add_argument("--version", action="version", version=f"dpbandits {__version__}")
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", parser_class=_Parser
    )
    cli_run.add_parser(commands)
    cli_estimate.add_parser(commands)
    cli_identify.add_parsers(commands)
    cli_audit.add_parser(commands)
    cli_claims.add_parser(commands)
    cli_figure.add_parser(commands)
    cli_cite.add_parser(commands)
    chapters.add_parser(commands)
    _add_completion(commands)
    return parser


def _add_completion(commands: Any) -> None:
    parser = commands.add_parser(
        "completion",
        help="print a script that completes commands and options in a shell",
        description="Print a script by which a shell completes commands and options.",
        epilog='examples: eval "$(dpbandits completion bash)"; '
        "dpbandits completion zsh > ~/.zfunc/_dpbandits",
    )
    parser.add_argument("shell", metavar="SHELL", help=", ".join(shtab.SUPPORTED_SHELLS))
    add_json(parser)
    parser.set_defaults(run=_completion)


def _completion(args: argparse.Namespace) -> int:
    shell = check_choice("shell", args.shell, tuple(shtab.SUPPORTED_SHELLS))
    script = shtab.complete(_parser(), shell=shell)
    show(args, script, {"shell": shell, "script": script})
    return 0
