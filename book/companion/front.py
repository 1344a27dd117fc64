"""The front: the names that readers use, and the page of the reference that lists each of them.

A name belongs to the front if it is in ``dpb.`` or in a module that `PAGES` documents. It has a
page of its own in the reference, and numpydoc's validator checks its docstring. Everything else is
the engine, including compiled functions.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from functools import cache
from types import FunctionType
from typing import Any, NamedTuple

import dpbandits

__all__ = ["PAGES", "Name", "front", "public_names"]

PAGES: dict[str, tuple[str, ...]] = {
    "simulation": (
        "dpbandits.rewards.instances",
        "dpbandits.rewards.laws",
        "dpbandits.rewards.heavy_instances",
        "dpbandits.rewards.heavy_laws",
        "dpbandits.rewards.tables",
        "dpbandits.rewards.sources",
        "dpbandits.rewards.populations",
        "dpbandits.rewards.run",
        "dpbandits.regret.simulation",
        "dpbandits.regret.live",
        "dpbandits.regret.own_index",
        "dpbandits.results",
        "dpbandits.testing",
    ),
    "regret": ("dpbandits.regret",),
    "stopping": ("dpbandits.stopping",),
    "identification": (
        "dpbandits.identification",
        "dpbandits.trials",
        "dpbandits.divergences",
    ),
    "privacy": (
        "dpbandits.guarantees",
        "dpbandits.mechanisms",
        "dpbandits.heavy.robust_means",
        "dpbandits.privacy",
        "dpbandits.auditing",
    ),
    "bounds": (
        "dpbandits.bounds",
        "dpbandits.schedules",
        "dpbandits.heavy.schedules",
        "dpbandits.heavy.estimates",
    ),
    "tools": ("dpbandits.configuration", "dpbandits.plotting"),
    "book": ("companion.tables", "companion.ranking", "companion.publishing"),
}
"""Page of the reference → the modules whose names it lists."""


class Name(NamedTuple):
    """A class or function of the front.

    Attributes
    ----------
    public : str
        How a reader imports it: ``dpbandits.DPSE``.
    home : str
        Where it is defined: ``dpbandits.regret.elimination.DPSE``.
    page, module : str
        Page of the reference and documented module that list it.
    thing : class or function
        The class or function.
    """

    public: str
    home: str
    page: str
    module: str
    thing: Any


def public_names(module: Any) -> list[str]:
    """Return the public classes and functions of a module, except compiled functions.

    Examples
    --------
    >>> from dpbandits import results
    >>> public_names(results)
    ['Replicates']
    """
    offered = getattr(module, "__all__", list(vars(module)))
    found = []
    for name in offered:
        thing = inspect.unwrap(getattr(module, name))
        known = inspect.isclass(thing) or isinstance(thing, FunctionType)
        if name.startswith("_") or hasattr(getattr(module, name), "py_func") or not known:
            continue
        if hasattr(module, "__all__") or thing.__module__ == module.__name__:
            found.append(name)
    return found


def _page_of(home: str) -> tuple[str, str]:
    """Return the page and the documented module for names defined in a module."""
    places = {module: page for page, modules in PAGES.items() for module in modules}
    found = [module for module in places if f"{home}.".startswith(f"{module}.")]
    if not found:
        raise ValueError(f"home={home!r} is on no page; allowed: below a module of front.PAGES")
    module = max(found, key=len)
    return places[module], module


def _names() -> Iterator[Name]:
    """Yield the names of ``dpb.`` and those of the documented modules."""
    for name in public_names(dpbandits):
        thing = inspect.unwrap(getattr(dpbandits, name))
        page, module = _page_of(thing.__module__)
        home = f"{thing.__module__}.{thing.__qualname__}"
        yield Name(f"dpbandits.{name}", home, page, module, thing)
    for page, modules in PAGES.items():
        for module in modules:
            for name in public_names(found := importlib.import_module(module)):
                thing = inspect.unwrap(getattr(found, name))
                home = f"{thing.__module__}.{thing.__qualname__}"
                yield Name(f"{module}.{name}", home, page, module, thing)


@cache
def front() -> dict[str, Name]:
    """Return the names of the front, keyed by where each is defined; its first listing counts.

    Examples
    --------
    >>> name = front()["dpbandits.regret.elimination.DPSE"]
    >>> name.public, name.page
    ('dpbandits.DPSE', 'regret')
    """
    found: dict[str, Name] = {}
    for name in _names():
        found.setdefault(name.home, name)
    return found
