"""The reference of the package, made from its docstrings, compiled functions included.

``.. package-reference:: dpbandits.regret dpbandits.bounds`` documents these modules and those
below them, so a new algorithm appears on the page without being named there. The option
``:without:`` names modules that other pages have, which are left out with those below them.

Of each name its page shows how it is called, and in a sentence what it is for; parameters, notes
and examples fold below. ``fold.js`` opens them for a link that leads to the name.
"""

import importlib
import pkgutil
import re
from html import escape
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.ext.autodoc import FunctionDocumenter
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

logger = logging.getLogger(__name__)

SHORT = 90
"""Characters that may stand below a name's first sentence without being folded."""
PARTS = {"return type": "", "yields": "returns", "rtype": "", "variables": "attributes"}
"""What a fold calls the parts that it has, where that is not what they are called inside."""


def public_modules(name: str) -> list[str]:
    """Return a module and, if it is a package, the public modules below it."""
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        logger.warning("%s cannot be imported: %s", name, error)
        return []
    found = [name]
    for child in pkgutil.iter_modules(getattr(module, "__path__", [])):
        if not child.name.startswith("_"):
            found += public_modules(f"{name}.{child.name}")
    return found


def from_elsewhere(module: Any) -> list[str]:
    """Return the names that a module offers and another one defines, which documents them."""
    names = getattr(module, "__all__", [])
    objects = {name: getattr(module, name) for name in names}
    homes = {
        name: getattr(thing, "__module__", module.__name__)
        for name, thing in objects.items()
        if type(thing).__module__ != "typing"  # an alias of a type is where it is named
    }
    return [name for name, home in homes.items() if home != module.__name__]


class PackageReference(SphinxDirective):
    """Document modules, and those below them, in the order of their names."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar = {"without": directives.unchanged}

    def run(self) -> list[Any]:
        """Write one ``automodule`` per module."""
        lines: list[str] = []
        elsewhere = {
            name
            for argument in self.options.get("without", "").split()
            for name in public_modules(argument)
        }
        for argument in self.arguments[0].split():
            for name in public_modules(argument):
                if name in elsewhere or "." not in name:
                    continue
                # A package's names are those of its modules, which document them.
                module = importlib.import_module(name)
                options = [] if hasattr(module, "__path__") else ["   :members:"]
                if options and (others := from_elsewhere(module)):
                    options.append(f"   :exclude-members: {', '.join(others)}")
                lines += [f".. rubric:: {name}", "", f".. automodule:: {name}", *options, ""]
        return self.parse_text_to_nodes(StringList(lines, source=self.env.docname))


class CompiledDocumenter(FunctionDocumenter):
    """Document a function compiled by Numba as the Python function that it was."""

    objtype = "compiled"
    directivetype = "function"
    priority = FunctionDocumenter.priority + 5

    @classmethod
    def can_document_member(cls, member: Any, membername: str, isattr: bool, parent: Any) -> bool:
        """Recognise what Numba leaves in place of a function."""
        return hasattr(member, "py_func")

    def import_object(self, raiseerror: bool = False) -> bool:
        """Import the compiled function and go on with the plain one."""
        found = super().import_object(raiseerror)
        self.object = getattr(self.object, "py_func", self.object)
        return found


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


class Fold(nodes.General, nodes.Element):
    """What folds below the first sentence on a name; ``says`` names its parts."""


def open_fold(writer: Any, node: Fold) -> None:
    """Write the line that opens it."""
    says = f'<summary class="fold-parts">{escape(node["says"])}</summary>'
    writer.body.append(f'<details class="reference-fold">{says}\n')


def close_fold(writer: Any, node: Fold) -> None:
    """Write the end."""
    writer.body.append("</details>\n")


def parts_of(content: list[nodes.Node]) -> str:
    """Name the parts of a description.

    Examples
    --------
    >>> parts_of([nodes.paragraph("", "More."), nodes.rubric("", "Examples")])
    'Details, examples'
    """
    names = []
    for node in content:
        if isinstance(node, nodes.field_list):
            names += [field[0].astext().lower() for field in node.findall(nodes.field)]
        elif isinstance(node, nodes.rubric):
            names.append(node.astext().lower())
        elif not names:
            names.append("details")
    named = filter(None, (PARTS.get(name, name) for name in names))
    return ", ".join(dict.fromkeys(named)).capitalize() or "Details"


def fold_details(app: Any, doctree: nodes.document) -> None:
    """Fold what stands below the first paragraph on each name, its members excepted."""
    for content in list(doctree.findall(addnodes.desc_content)):
        if content.parent.get("domain") != "py":
            continue
        kept, folded = [], []
        for node in content.children:
            first = isinstance(node, nodes.paragraph) and not kept and not folded
            (kept if first or isinstance(node, addnodes.desc | addnodes.index) else folded).append(
                node
            )
        if sum(len(node.astext()) for node in folded) <= SHORT:
            continue
        content.children = []
        where = 1 if kept and isinstance(kept[0], nodes.paragraph) else 0
        content += [*kept[:where], Fold("", *folded, says=parts_of(folded)), *kept[where:]]


def setup(app: Any) -> dict[str, bool]:
    """Add the directive, the documenter and the folds."""
    app.connect("doctree-read", without_addresses)
    app.connect("doctree-read", fold_details, priority=900)
    skip = (lambda writer, node: None, lambda writer, node: None)
    app.add_node(Fold, html=(open_fold, close_fold), latex=skip, text=skip)
    app.setup_extension("sphinx.ext.autodoc")
    app.add_directive("package-reference", PackageReference)
    app.add_autodocumenter(CompiledDocumenter)
    app.connect("autodoc-process-docstring", escape_bars)
    app.connect("autodoc-process-docstring", hide_colon, priority=400)  # napoleon's is 500
    app.connect("autodoc-process-docstring", show_colon, priority=600)
    app.connect("autodoc-skip-member", skip_plain_fields)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
