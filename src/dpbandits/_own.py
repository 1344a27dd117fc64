"""What a user's own file or module has, loaded by the name that the command line was given."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["is_own", "load_own"]


def is_own(name: str) -> bool:
    """Tell whether a name means something outside of the package: FILE.py:NAME or MODULE:NAME."""
    return ":" in name


def load_own(name: str) -> Any:
    """Load an object from a file, or from a module that can be imported.

    Parameters
    ----------
    name : str
        FILE.py:NAME or MODULE:NAME.

    Raises
    ------
    ValueError
        If it is not there.
    """
    where, _, attribute = name.rpartition(":")
    try:
        module = _module_of(where) if where.endswith(".py") else importlib.import_module(where)
        return getattr(module, attribute)
    except (ImportError, AttributeError, FileNotFoundError) as error:
        raise ValueError(
            f"algorithm={name} is not there ({error}); allowed: FILE.py:NAME or MODULE:NAME"
        ) from None


def _module_of(where: str) -> ModuleType:
    """Run a file as a module that is in no list, so that its functions go to workers by value."""
    path = Path(where).resolve()
    spec = importlib.util.spec_from_file_location(f"_own_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # as dataclasses ask for
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[spec.name]
    return module
