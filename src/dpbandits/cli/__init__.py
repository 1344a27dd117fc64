"""The command ``dpbandits``: its commands, and what every command line needs."""
