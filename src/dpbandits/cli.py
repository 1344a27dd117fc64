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

from dpbandits import __version__, cli_audit, cli_estimate, cli_identify, cli_run
from dpbandits._validation import check_choice
from dpbandits.cli_output import add_json, show

__all__ = ["Parser", "carry_out", "main"]


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line and exit with status 2."""
        self.exit(2, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Parameters
    ----------
    arguments : sequence of str, optional
        What stands after the program's name; ``sys.argv[1:]`` if not given.
    """
    return carry_out(_parser(), arguments)


def carry_out(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> int:
    """Run the command that the arguments name and return the exit status.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Its commands set ``run``, which takes the arguments that were read.
    arguments : sequence of str, optional
        What stands after the program's name; ``sys.argv[1:]`` if not given.
    """
    try:
        args = parser.parse_args(arguments)
    except SystemExit as stop:
        return int(stop.code or 0)

    def complain(message: str, status: int) -> int:
        print(f"{parser.prog}: {' '.join(message.split())}", file=sys.stderr)
        return status

    try:
        status: int = args.run(args)
        sys.stdout.flush()
    except ValueError as error:
        return complain(str(error), 2)
    except KeyboardInterrupt as interrupt:
        return complain(str(interrupt) or "interrupted", 130)
    except BrokenPipeError:
        # The reader has gone; nothing is left to say, at exit included.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        return complain(f"{error.strerror or error}{where}", 1)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="dpbandits", description="Differentially private bandits, reproduced and checked."
    )
    parser.add_argument("--version", action="version", version=f"dpbandits {__version__}")
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", parser_class=Parser
    )
    cli_run.add_parser(commands)
    cli_estimate.add_parser(commands)
    cli_identify.add_parsers(commands)
    cli_audit.add_parser(commands)
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
