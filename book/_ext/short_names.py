"""Link a name of the package wherever it is documented, as docstrings use the short form.

A name of the engine has no page: it is written without a link. A name that is nowhere is an error.
"""

import sys
from functools import cache
from typing import Any

from docutils.nodes import Element
from sphinx.util.nodes import make_refnode

MAIN = {"class", "exception", "function"}
OURS = ("dpbandits", "companion")
KINDS = MAIN | {"method", "attribute", "property", "data", "module"}


def by_last_word(env: Any) -> dict[str, list[tuple[str, Any]]]:
    """Return what is documented, by the last word of its name; made once, after reading."""
    if not hasattr(env, "_names_by_last_word"):
        named: dict[str, list[tuple[str, Any]]] = {}
        for name, entry in env.get_domain("py").objects.items():
            if entry.objtype in KINDS:
                named.setdefault(name.rpartition(".")[2], []).append((name, entry))
        env._names_by_last_word = named
    return env._names_by_last_word


@cache
def defined() -> dict[str, list[Any]]:
    """Return what the modules of package and companion contain, by the names that it has there."""
    found: dict[str, list[Any]] = {}
    for module_name, module in list(sys.modules.items()):
        if module_name.partition(".")[0] in OURS:
            found.setdefault(module_name.rpartition(".")[2], []).append(module)
            found.setdefault(module_name, []).append(module)
            for name, value in vars(module).items():
                found.setdefault(name, []).append(value)
                found.setdefault(f"{module_name}.{name}", []).append(value)
    return found


def exists(target: str) -> bool:
    """Return whether a name is one of package or companion, with a page or without."""
    words = target.split(".")
    for length in range(len(words), 0, -1):
        values = defined().get(".".join(words[:length]), [])
        for word in words[length:]:
            values = [getattr(value, word) for value in values if hasattr(value, word)]
        if values:
            return True
    return False


def link(app: Any, env: Any, node: Any, content: Any) -> Element | None:
    """Resolve ``Runs`` or ``dpbandits.regret.simulation.Runs`` to where ``Runs`` is on a page."""
    if node.get("refdomain") != "py":
        return None
    target = str(node.get("reftarget", "")).removesuffix("()")
    # what checks a field or an argument, within its annotation: a function, or words of a call
    if target.startswith("<function") or "=" in target:
        return content
    plain = "." not in target
    endings = [target, target.rpartition(".")[2]] if target.startswith(OURS) else [target]
    own: list[Any] = []
    named = by_last_word(env)
    for ending in endings:
        found = [
            (name, entry)
            for name, entry in named.get(ending.rpartition(".")[2], ())
            if f".{name}".endswith(f".{ending}")
        ]
        types = [pair for pair in found if pair[1].objtype in MAIN]
        # A word in a type, such as n_runs in a shape, is not a reference to a property.
        alias = [pair for pair in found if pair[1].objtype == "data"]
        modules = [pair for pair in found if pair[1].objtype == "module" and not plain]
        own = own or types or modules or (alias if node.get("reftype") == "class" else found)
    if len(own) != 1:
        # An argument in backticks, such as `beta`, is a name and no more.
        named_only = plain and node.get("reftype") == "obj"
        return content if named_only or exists(target) else None
    name, entry = own[0]
    page = node.get("refdoc", env.docname)
    return make_refnode(app.builder, page, entry.docname, entry.node_id, [content], name)


def setup(app: Any) -> dict[str, bool]:
    """Ask after every other resolver."""
    app.connect("missing-reference", link, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
