"""The build without most of its pauses: Python looks for garbage rarely.

A page in the making is many small objects that are all in use; looking for garbage among them, and
among those of all pages before, finds little.
"""

import gc
from pathlib import Path
from typing import Any

from companion.changed_pages import forget

RARELY = (200_000, 30, 100)
"""New objects before the young ones are looked at, and how often before older ones are."""


def setup(app: Any) -> dict[str, bool]:
    """Look for garbage rarely until the build has ended, which `make html` has to hear of."""
    usual = gc.get_threshold()
    gc.set_threshold(*RARELY)
    app.connect("builder-inited", lambda app: forget(Path(app.srcdir)))
    app.connect("build-finished", lambda *args: gc.set_threshold(*usual), priority=999)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
