"""The command line ``dpbandits``: its commands, and a console shared with other command lines."""
