"""Sphinx extension: buttons that open a chapter in Binder or Colab, off unless asked for.

They lead to other hosts, so that a build has them only with the address of a repository in the
environment: ``BOOK_REPOSITORY=https://github.com/OWNER/NAME make html`` (and
``BOOK_BRANCH``, main if not given). Binder builds its environment from ``environment.yml``; in
Colab the first cell to run is ``%pip install`` with the same address.
"""

from __future__ import annotations

import os
import re

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError

ADDRESS = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+")


def options(repository: str, branch: str) -> dict[str, object]:
    """Return the theme's options for a repository.

    Raises
    ------
    ExtensionError
        If the address is not that of a repository on GitHub, which both services read from.
    """
    if not ADDRESS.fullmatch(repository):
        raise ExtensionError(
            f"BOOK_REPOSITORY={repository!r} is not a repository; "
            "allowed: https://github.com/OWNER/NAME"
        )
    return {
        "repository_url": repository,
        "repository_branch": branch,
        "path_to_docs": "",
        "use_source_button": True,
        "launch_buttons": {
            "notebook_interface": "jupyterlab",
            "binderhub_url": "https://mybinder.org",
            "colab_url": "https://colab.research.google.com",
        },
    }


def add_buttons(app: Sphinx, config: Config) -> None:
    """Turn the buttons on where the environment names a repository."""
    repository = os.environ.get("BOOK_REPOSITORY", "").rstrip("/")
    if repository:
        branch = os.environ.get("BOOK_BRANCH", "main")
        config.html_theme_options = {**config.html_theme_options, **options(repository, branch)}


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect it before the theme reads its options."""
    app.connect("config-inited", add_buttons, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
