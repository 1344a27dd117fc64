"""``python -m dpbandits`` is the command line."""

import sys

from dpbandits.cli.commands import main

if __name__ == "__main__":
    sys.exit(main())
