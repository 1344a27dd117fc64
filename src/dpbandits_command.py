"""Where the command ``dpbandits`` begins, before the package is read: Ctrl-C prints one line."""

import sys


def main() -> int:
    """Read the package, and run its command line.

    Returns
    -------
    int
        The exit status: 130 after an interrupt.
    """
    try:
        from dpbandits.cli.commands import main

        return main()
    except KeyboardInterrupt:
        print("dpbandits: interrupted", file=sys.stderr)  # noqa: T201
        return 130
