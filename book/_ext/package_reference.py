"""The reference: a page for each class and function of the front, and tables of their names.

Which names there are and which table lists them is said in `companion.front`. Before the pages are
read, a source is written for each name into ``book/reference/``, from ``_templates/reference.rst``.

``.. front:: regret`` lists the names of a page with their first sentences, module by module.
``.. module-table:: companion`` lists modules with theirs.
"""

import ast
import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from typing import Any, ClassVar

from cross_links import labels_in
from docutils import nodes
from docutils.statemachine import StringList
from jinja2 import Template
from sphinx.ext.autosummary import Autosummary
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective

from companion.front import PAGES, Name, front
from dpbandits._engine.acceleration import ExactRun, entered
from dpbandits._files import renew

FOLDER = "book/reference"
"""Where the sources of the names' pages are written; they are not kept."""
SOURCES = "_modules"
"""Where the pages with source code are, below the folder of the pages."""


# ------------------------------------------------------------------------------ a page for a name


def page_of(name: Name, template: Template) -> str:
    """Write the source of the page of a name."""
    kind = "function"
    if inspect.isclass(name.thing):
        kind = "exception" if issubclass(name.thing, BaseException) else "class"
    title = name.public.rpartition(".")[2]
    derived = kind != "function" and any(map(has_page, name.thing.__bases__))
    return template.render(title=title, home=name.home, kind=kind, derived=derived) + "\n"


def has_page(thing: Any) -> bool:
    """Return whether a class or function has a page."""
    return f"{thing.__module__}.{thing.__qualname__}" in front()


def file_of(name: Name) -> str:
    """Name the file of a page; those of `Plan` and `plan` differ where case does not count."""
    spelt = {other.public for other in front().values()}
    capital = name.public[: name.public.rfind(".") + 1] + name.thing.__name__.capitalize()
    return f"{name.public}-function" if capital in spelt - {name.public} else name.public


def write_pages(app: Any) -> None:
    """Write the sources of all pages that have changed, and take away what is not in the front."""
    folder = Path(app.srcdir, FOLDER)
    folder.mkdir(exist_ok=True)
    template = Template(Path(app.srcdir, "book/_templates/reference.rst").read_text("utf-8"))
    texts = {f"{file_of(name)}.rst": page_of(name, template) for name in front().values()}
    for path in folder.iterdir():
        if path.name not in texts:
            path.unlink()
    for name, text in texts.items():
        renew(folder / name, text.encode())


def include_pages(app: Any, config: Any) -> None:
    """Take the names' pages off the list of files that are in no table of contents."""
    config["exclude_patterns"] = [
        pattern for pattern in config["exclude_patterns"] if not pattern.startswith(FOLDER)
    ]


def accelerators_of(kind: type) -> list[tuple[str, str]]:
    """Return module and name of all that plays a class faster than its own program."""
    runs = [
        each.run
        for (cls, on), found in entered().items()
        if cls is kind and on is not ExactRun  # whose laws are not runs
        for each in found
    ]
    places: dict[str, str] = {}  # the first in each file
    for run in map(inspect.unwrap, runs):
        places.setdefault(run.__module__, run.__qualname__)
    return list(places.items())


class FrontLinks(SphinxDirective):
    """The line below the title: how the name is imported, its proofs, and what plays it faster."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Write the line."""
        name = front()[self.arguments[0]]
        imported = name.public
        if imported.count(".") == 1:
            imported = imported.replace("dpbandits.", "dpb.")
        text = f"``{imported}``, of :doc:`/book/api_{name.page}`."
        labels = labels_in(inspect.getdoc(name.thing))
        for what, found in (
            ("Pseudo-code", [label for label in labels if label.startswith("alg-")]),
            ("Proofs", [label for label in labels if not label.startswith("alg-")]),
        ):
            if found:
                text += f" {what}: {', '.join(f':prf:ref:`{label}`' for label in found)}."
        written = self.parse_text_to_nodes(StringList([text], source=self.env.docname))
        faster = accelerators_of(name.thing) if inspect.isclass(name.thing) else []
        for number, (module, function) in enumerate(faster):
            written[0] += nodes.Text(", " if number else " Played faster by ")
            written[0] += self.source_link(module, function)
        if faster:
            written[0] += nodes.Text(".")
        written[0]["classes"].append("front-links")
        return written

    def source_link(self, module: str, function: str) -> nodes.Node:
        """Link a function of the engine, which has no page, in the pages of source code."""
        analyzer = ModuleAnalyzer.for_module(module)
        analyzer.find_tags()
        if not hasattr(self.env, "_viewcode_modules"):
            self.env._viewcode_modules = {}
        shown = self.env._viewcode_modules.get(module) or (
            analyzer.code,
            analyzer.tags,
            {},
            module,
        )
        self.env._viewcode_modules[module] = shown
        if function in analyzer.tags:
            shown[2].setdefault(function, self.env.docname)
        page = f"{SOURCES}/{module.replace('.', '/')}"
        address = self.env.app.builder.get_relative_uri(self.env.docname, page)
        link = nodes.reference("", "", refuri=f"{address}#{function}", internal=True)
        link["ids"] = [f"{module}.{function}"]
        path = module.removeprefix("dpbandits.").replace(".", "/")
        link += nodes.literal("", f"{path}.py")
        return link


# ------------------------------------------------------------------------------- tables of names


def first_sentence(docstring: str | None) -> str:
    r"""Return the first sentence of a docstring, without the point.

    Examples
    --------
    >>> first_sentence("Noise: drawn here.\n\nMore.")
    'Noise: drawn here'
    """
    return " ".join((docstring or "").split("\n\n")[0].split()).removesuffix(".")


class NameTable(Autosummary):
    """The table of autosummary, with the places on the page that names had before their own."""

    def get_table(self, items: list[tuple[str, str, str, str]]) -> list[nodes.Node]:
        """Give each row the full name of what it lists."""
        found = super().get_table(items)
        rows = [row for table in found for row in table.findall(nodes.row)]
        for row, item in zip(rows, items, strict=True):
            row["ids"] = [item[3]]
        return found


class Front(SphinxDirective):
    """List the names of a page of the reference."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Write a table for each module."""
        lines: list[str] = []
        for module in PAGES[self.arguments[0]]:
            names = [name for name in front().values() if name.module == module]
            if not names:
                continue
            doc = first_sentence(importlib.import_module(module).__doc__)
            lines += [f".. py:module:: {module}", "", f".. rubric:: {module}", "", f"{doc}.", ""]
            lines += [".. py:currentmodule:: None", ""]  # the names below are full ones
            names.sort(key=lambda name: (not inspect.isclass(name.thing), name.public.lower()))
            lines += [".. name-table::", "   :nosignatures:", ""]
            lines += [f"   ~{name.home}" for name in names] + [""]
        return self.parse_text_to_nodes(StringList(lines, source=self.env.docname))


class ModuleTable(SphinxDirective):
    """List the modules of packages with their first sentences; the option leaves some out."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar = {"without": lambda argument: argument.split()}

    def run(self) -> list[nodes.Node]:
        """Write the list; nothing is imported for it but the packages."""
        lines: list[str] = []
        without = tuple(self.options.get("without", ()))
        for package in self.arguments[0].split():
            root = importlib.import_module(package)
            for found in pkgutil.walk_packages(root.__path__, f"{package}."):
                spec = found.module_finder.find_spec(found.name, None)
                if "._" in found.name or f"{found.name}.".startswith(without):
                    continue
                tree = ast.parse(Path(spec.origin).read_text("utf-8"))
                sentence = re.sub(
                    r"(?<!`)`([^`]+)`(?!`)", r"``\1``", first_sentence(ast.get_docstring(tree))
                )
                lines += [f"``{found.name}``", f"    {sentence}.", ""]
        return self.parse_text_to_nodes(StringList(lines, source=self.env.docname))


# ------------------------------------------------------------------------------------ docstrings


def escape_bars(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Let ``|S|`` in a docstring mean the size of S, not a substitution."""
    for number, line in enumerate(lines):
        if "|" in line and not line.lstrip().startswith((">>>", "...", "| ", "+-")):
            parts = re.split(r"(`+[^`]*`+)", line)
            parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
            lines[number] = "".join(parts)


def skip_plain_fields(
    app: Any, what: str, name: str, obj: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out a named tuple's fields: its class describes them."""
    return True if str(getattr(obj, "__doc__", "")).startswith("Alias for field") else None


def known_bases(app: Any, name: str, obj: Any, options: Any, bases: list[Any]) -> None:
    """Name the bases that have a page."""
    bases[:] = [base for base in bases if has_page(getattr(base, "__origin__", base))]


def without_addresses(app: Any, doctree: Any) -> None:
    """Name the checks within annotations; what an alias stands for is said in its docstring."""
    for paragraph in list(doctree.findall(nodes.paragraph)):
        if paragraph.astext().startswith("alias of Annotated["):
            paragraph.parent.remove(paragraph)
    for text in list(doctree.findall(nodes.Text)):
        if " at 0x" in text:
            plain = re.sub(r"<function (\w+)\S* at 0x[0-9a-f]+>", r"\1", text)
            plain = re.sub(r"<?\w+>? at 0x[0-9a-f]+>", "checked", plain)
            text.parent.replace(text, nodes.Text(plain))


COLON = "\N{MODIFIER LETTER COLON}"
"""What stands for a colon while napoleon reads, which takes the words before one for a type."""


def hide_colon(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Keep a sentence on an attribute with a colon in it together."""
    if what in {"attribute", "data", "property"} and lines:
        lines[0] = lines[0].replace(": ", f"{COLON} ")


def show_colon(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Write the colon again."""
    lines[:] = [line.replace(COLON, ":") for line in lines]


def setup(app: Any) -> dict[str, bool]:
    """Add the directives, the pages and the care of docstrings."""
    for extension in ("sphinx.ext.autosummary", "sphinx.ext.viewcode"):
        app.setup_extension(extension)
    app.connect("config-inited", include_pages, priority=990)
    app.connect("builder-inited", write_pages)
    app.connect("doctree-read", without_addresses)
    for name, directive in (
        ("front", Front),
        ("front-links", FrontLinks),
        ("name-table", NameTable),
        ("module-table", ModuleTable),
    ):
        app.add_directive(name, directive)
    app.connect("autodoc-process-docstring", escape_bars)
    app.connect("autodoc-process-docstring", hide_colon, priority=400)  # napoleon's is 500
    app.connect("autodoc-process-docstring", show_colon, priority=600)
    app.connect("autodoc-skip-member", skip_plain_fields)
    app.connect("autodoc-process-bases", known_bases)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
