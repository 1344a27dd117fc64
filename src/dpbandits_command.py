"""Where the command ``dpbandits`` begins, before the package is read: Ctrl-C prints one line."""

import sys


def main() -> int:
    """Read the package, and run its command line; say in a line when something is compiled.

    Returns
    -------
    int
        The exit status: 130 after an interrupt.
    """
    try:
        from numba.core import event

        class Said(event.Listener):
            """Says that something is compiled when it first is; what the disk has is silent."""

            said = False

            def on_start(self, _: object) -> None:
                if not self.said:
                    words = "dpbandits: compiling, once on this machine; it may take a minute"
                    print(words, file=sys.stderr, flush=True)  # noqa: T201
                self.said = True

            def on_end(self, _: object) -> None:
                pass

        with event.install_listener("numba:compile", Said()):
            from dpbandits.cli.commands import main

            return main()
    except KeyboardInterrupt:
        print("dpbandits: interrupted", file=sys.stderr)  # noqa: T201
        return 130
