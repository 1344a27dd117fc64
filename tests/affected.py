"""What a change touches: the tests and chapters whose names lead to a changed file.

A name is followed to the file that defines it, and from there to all names that this file uses: a
test that says ``dpb.DPSE`` depends on the file of that class, not on all that ``dpbandits``
imports. Compiled kernels need no care, for what runs one names it. What cannot be followed (a
package that is passed on, a name made at run time) counts as the whole package: more may be found
than is touched, never less.
"""

from __future__ import annotations

import ast
import doctest
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("src", "book", "book/_ext", "tests", "tests/dpbandits", "tests/companion")
"""From where modules are imported."""
PACKAGES = ("dpbandits", "companion")
AT_RUN_TIME = {"import_module", "__import__", "spec_from_file_location", "walk_packages"}
"""Calls that import what only their argument says."""
OWN_NAMES = {"globals", "locals", "vars"}
"""Calls that may use every name of the module."""
MENTIONED = re.compile(rf"\b(?:{'|'.join(PACKAGES)})(?:\.\w+)*")


def dotted(node: ast.AST) -> tuple[str, ...]:
    """Return the parts of a name with attributes, or nothing."""
    if isinstance(node, ast.Name):
        return (node.id,)
    parts = dotted(node.value) if isinstance(node, ast.Attribute) else ()
    return (*parts, node.attr) if parts else ()  # type: ignore[attr-defined]


@dataclass
class Statement:
    """What one statement at the top of a file, with all that stands in it, says about names."""

    name: str = ""  # of the function or class that it is
    always: bool = False  # it counts for every test of its file
    imported: list[tuple[str, str]] = field(default_factory=list)  # name → dotted name, * for all
    own: set[str] = field(default_factory=set)  # what it makes, within functions as well
    chains: set[tuple[str, ...]] = field(default_factory=set)  # names with attributes, split
    texts: set[str] = field(default_factory=set)  # strings, docstrings left out
    entered: list[tuple[str, ...]] = field(default_factory=list)  # classes that are accelerated
    at_run_time: bool = False  # it imports what only an argument says
    own_names: bool = False  # it may use every name


def read_statement(top: ast.stmt, module: str, is_package: bool, entering: set[str]) -> Statement:
    """Return what a statement says about names; calls of `entering` enter accelerators."""
    found = Statement(name=getattr(top, "name", ""))
    nodes = list(ast.walk(top))
    inner = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    alone = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Name | ast.Attribute):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.own.add(node.id)
            elif id(node) not in inner and dotted(node):
                found.chains.add(dotted(node))
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, str) and id(node) not in alone:
                found.texts.add(node.value)
        elif isinstance(node, ast.arg):
            found.chains.add((node.arg,))  # a fixture
        elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            found.own.add(node.name)
        elif isinstance(node, ast.Call):
            called = (dotted(node.func) or ("",))[-1]
            at_run_time = called in AT_RUN_TIME and not isinstance(node.args[0], ast.Constant)
            found.at_run_time |= at_run_time
            found.own_names |= called in OWN_NAMES and not node.args
            if called in entering:
                found.entered += [dotted(each) for each in node.args]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                short = alias.name.split(".")[0]
                target = alias.name if alias.asname else short
                found.imported.append((alias.asname or short, target))
                if alias.name != short and not alias.asname:
                    found.chains.add(tuple(alias.name.split(".")))
        elif isinstance(node, ast.ImportFrom):
            above = module.split(".")[: len(module.split(".")) - node.level + is_package]
            source = ".".join([*(above if node.level else ()), *filter(None, [node.module])])
            for alias in node.names:
                target = source if alias.name == "*" else f"{source}.{alias.name}"
                name = "*" if alias.name == "*" else alias.asname or alias.name
                found.imported.append((name, target))
    decorators = getattr(top, "decorator_list", [])
    found.always = (
        not found.own
        or found.name.startswith("pytest_")
        or any("autouse" in ast.dump(each) for each in decorators)
    )
    return found


def read_module(text: str, module: str = "", is_package: bool = False) -> list[Statement]:
    """Return what each statement at the top of a module says about names."""
    top = ast.parse(text).body
    entering = {"accelerates"}
    for each in top:  # a function of the module may hand on to `accelerates` what it is given
        calls = [node for node in ast.walk(each) if isinstance(node, ast.Call)]
        handed = [a for node in calls if dotted(node.func) == ("accelerates",) for a in node.args]
        if isinstance(each, ast.FunctionDef) and any(isinstance(a, ast.Starred) for a in handed):
            entering.add(each.name)
    return [read_statement(each, module, is_package, entering) for each in top]


def with_examples(text: str) -> str:
    """Return the examples of a module's docstrings, as a text of its own."""
    parser, added = doctest.DocTestParser(), ["import dpbandits as dpb"]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            examples = parser.get_examples(ast.get_docstring(node) or "")
            added += [example.source for example in examples]
    return "\n".join(added)


def code_of(notebook: Path) -> str:
    """Return the code of a chapter."""
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def functions(statements: list[Statement]) -> dict[str, list[Statement]]:
    """Return each test function of a file → the statements that it uses.

    Those are itself, imports, and what makes a name that it or one of these uses. The statements of
    ``conftest.py`` are to be among those of the file, so that fixtures are found as well.
    """
    makes: dict[str, set[int]] = {}
    always = {i for i, statement in enumerate(statements) if statement.always}
    for i, statement in enumerate(statements):
        for name in {statement.name} if statement.name else statement.own:
            makes.setdefault(name, set()).add(i)
    found = {}
    for i, statement in enumerate(statements):
        if statement.name.startswith(("test_", "Test")):
            needed: set[int] = set()
            wave = {i, *always}
            while wave:
                needed |= wave
                names = {chain[0] for j in wave for chain in statements[j].chains}
                names |= {text for j in wave for text in statements[j].texts}  # usefixtures
                wave = {j for name in names for j in makes.get(name, ())} - needed
            found[statement.name] = [statements[j] for j in sorted(needed)]
    return found


class Names:
    """The dotted names that a module, or a part of it, uses; tests are in no package."""

    def __init__(self, statements: Iterable[Statement], package: str = "") -> None:
        statements = list(statements)
        self.imported: dict[str, set[str]] = {}  # name in the text → what it may stand for
        self.own: set[str] = set().union(*(each.own for each in statements))
        for name, target in [pair for each in statements for pair in each.imported]:
            self.imported.setdefault(name, set()).add(target)
        self.stars = self.imported.pop("*", set())  # modules whose names are all taken
        self.uses: set[str] = set()
        self.entered: set[str] = set()  # classes for which an accelerator is entered
        for statement in statements:
            self.uses |= set().union(*map(self.meant, statement.chains))
            self.entered |= set().union(*map(self.meant, statement.entered))
            if statement.at_run_time or not package:  # elsewhere a string imports nothing
                mentioned = {name for text in statement.texts for name in MENTIONED.findall(text)}
                self.uses |= {name for name in mentioned if not package or "." in name}
            if statement.at_run_time:
                self.uses |= {package} if package else set(PACKAGES)
            if statement.own_names:
                self.uses |= set().union(*self.imported.values())

    def meant(self, chain: tuple[str, ...]) -> set[str]:
        """Return the dotted names that an imported name with attributes may stand for."""
        first, *rest = chain or ("",)
        return {".".join([target, *rest]) for target in self.imported.get(first, ())}


class Imports:
    """Which module needs which, from the text of each; a package's is its ``__init__.py``.

    >>> imports = Imports({"a": "import b\\nb.f()", "b": "from c import f", "c": "def f(): ..."})
    >>> imports.distances(imports.names["a"])
    {'b': 1, 'c': 1}
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.packages = {name.rpartition(".")[0] for name in texts} - {""}
        self.statements = {
            name: read_module(text, name, name in self.packages) for name, text in texts.items()
        }
        self.names = {
            name: Names(statements, name if name in self.packages else name.rpartition(".")[0])
            for name, statements in self.statements.items()
        }
        self._followed: dict[str, frozenset[tuple[str, bool]]] = {}
        self.needs = {name: self.needed(names) for name, names in self.names.items()}
        for name, names in self.names.items():  # what runs a class may run its accelerators
            for found, whole in {f for each in names.entered for f in self.follow(each)}:
                if whole:
                    self.needs[found].add((name, True))

    def needed(self, names: Names) -> set[tuple[str, bool]]:
        """Return the modules that names need, each with whether what it needs is needed too."""
        for use in names.uses - self._followed.keys():
            self._followed[use] = frozenset(self.follow(use))
        return set().union(*(self._followed[use] for use in names.uses))

    def below(self, module: str) -> list[str]:
        """Return a module, and if it is a package all modules in it."""
        return [name for name in self.names if name == module or name.startswith(f"{module}.")]

    def follow(self, name: str, seen: frozenset[str] = frozenset()) -> Iterator[tuple[str, bool]]:
        """Yield the modules that a dotted name needs, and whether also what they need.

        A module that only hands a name on is needed without what it needs itself.
        """
        parts = name.split(".")
        depth = len(parts)
        while depth and ".".join(parts[:depth]) not in self.names:
            depth -= 1
        if not depth or name in seen:
            return
        module, rest = ".".join(parts[:depth]), parts[depth:]
        yield from ((".".join(parts[:i]), False) for i in range(1, depth))
        names = self.names[module]
        if not rest:  # any name may be taken from it, its own or one that it hands on
            for each in self.below(module):
                yield each, True
                for target in set().union(*self.names[each].imported.values()):
                    yield from self.follow(target, seen | {name})
            return
        sources = [*names.imported.get(rest[0], ())]
        if not sources and rest[0] not in names.own:
            sources = [f"{star}.{rest[0]}" for star in names.stars if self.has(star, rest[0])]
        inside = [each for each in sources if each.split(".")[0] in self.names]
        if inside:
            yield module, False
            for each in inside:
                yield from self.follow(".".join([each, *rest[1:]]), seen | {name})
        if rest[0] in names.own or (not inside and module not in self.packages):
            yield module, True
        elif not inside:  # a name that is made at run time
            yield from self.follow(module, seen | {name})

    def has(self, module: str, name: str) -> bool:
        """Whether a module may have a name, its own or another's."""
        names = self.names.get(module)
        return names is not None and (
            name in names.own
            or name in names.imported
            or any(self.has(star, name) for star in names.stars)
        )

    def distances(self, names: Names) -> dict[str, int]:
        """Return the modules that names lead to → by how many steps each is reached."""
        found: dict[str, int] = {}
        expanded: set[str] = set()
        steps, new = 1, self.needed(names)
        while new:
            for module, _ in new:
                found.setdefault(module, steps)
            wave = {module for module, whole in new if whole} - expanded
            expanded |= wave
            new = {each for module in wave for each in self.needs[module]}
            steps += 1
        return found


def modules(root: Path = ROOT) -> dict[str, Path]:
    """Return each module's dotted name → its file."""
    found: dict[str, Path] = {}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            name = ".".join(path.relative_to(root / folder).with_suffix("").parts)
            if folder in ("src", "book"):
                if name.split(".")[0] in PACKAGES:
                    found[name.removesuffix(".__init__")] = path
            elif path.parent == root / folder:
                found[f"{folder}/conftest" if name == "conftest" else name] = path
    return found


class Repository(NamedTuple):
    """What is to be known to answer what files touch."""

    places: dict[str, str]  # path of each module's file → its dotted name
    texts: dict[str, str]  # that path → its text
    reached: dict[str, dict[str, int]]  # test or chapter → modules it leads to, and how far


@cache
def read_repository(root: Path = ROOT) -> Repository:
    """Read all modules, tests and chapters once."""
    paths = modules(root)
    places = {path.relative_to(root).as_posix(): name for name, path in paths.items()}
    texts = {file: paths[name].read_text("utf-8") for file, name in places.items()}
    imports = Imports({name: texts[file] for file, name in places.items()})
    names: dict[str, Names] = {}
    for file, name in places.items():
        own = imports.statements[name]
        if name.startswith("test_"):
            folders = [f"{each}/conftest" for each in FOLDERS if file.startswith(f"{each}/")]
            shared = [s for each in folders for s in imports.statements.get(each, ())]
            for function, used in functions([*shared, *own]).items():
                names[f"{file}::{function}"] = Names(used)
        elif not file.startswith("tests/"):
            node = f"tests/test_doctests.py::test_examples[{name}]"
            names[node] = Names([*own, *read_module(with_examples(texts[file]), name)], "examples")
            names[node].uses.add(name)
    names.pop("tests/test_doctests.py::test_examples", None)  # there is one for each module now
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        names[path.relative_to(root).as_posix()] = Names(read_module(code_of(path)))
    return Repository(
        places, texts, {node: imports.distances(each) for node, each in names.items()}
    )


def touched(files: Iterable[str], root: Path = ROOT) -> dict[str, int]:
    """Return the tests and chapters that changed files touch → by how many imports, 0 for itself.

    Files are paths below `root`, those that are gone as well; tests are named as pytest does.
    """
    known = read_repository(root)
    files = [file for file in files if not file.startswith("tests/pages/")]  # need built pages
    changed = {known.places[file] for file in files if file in known.places}
    others = [Path(file) for file in files if file not in known.places]
    # what is gone is looked for in its package
    changed |= {".".join(path.parts[1:-1]) for path in others if path.suffix == ".py"}
    everything = any(path.name in ("pyproject.toml", "requirements.lock") for path in others)
    shared = [Path(file).parent for file in files if Path(file).name == "conftest.py"]
    found = {}
    for node, reached in known.reached.items():
        file = node.partition("::")[0]
        near = [reached[name] for name in changed & reached.keys()]
        near += [0] * (file in files)
        near += [1] * any(path.name in known.texts.get(file, "") for path in others)
        near += [1] * any(folder in Path(file).parents for folder in shared)
        near += [2] * (bool(others) and file.startswith("tests/companion/"))  # they read the book
        near += [3] * everything
        if near:
            found[node] = min(near)
    return found
