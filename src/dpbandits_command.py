"""Entry point of the command ``dpbandits``, without the package, so that Ctrl-C prints one line."""

import sys


def main() -> int:
    """Import the package, and run its command line; print a line when something is compiled.

    Returns
    -------
    int
        The exit status: 130 after an interrupt.
    """
    try:
        from numba.core import event

        class Said(event.Listener):
            """Prints a line when something is first compiled, but not if it is cached on disk."""

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
