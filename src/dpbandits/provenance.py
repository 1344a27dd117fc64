"""Where numbers come from: the source that computed them and the platform that ran it."""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import platform
import sys
from collections.abc import Iterable, Iterator
from dataclasses import is_dataclass
from importlib import metadata
from pathlib import Path

from llvmlite.binding import get_host_cpu_name

__all__ = ["Name", "code_hash", "processor", "source_hash", "versions"]

Name = tuple[str, str]
"""A module and a name that its top level binds."""

_PASSIVE = frozenset({"dpbandits._validation"})
"""Modules that let a run go on or stop it, and change no number."""
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
_DROPPED_FIELDS = frozenset({"ctx", "kind", "type_comment", "type_params", "annotation", "returns"})


def versions() -> dict[str, str]:
    """Return the versions of what the numbers depend on."""
    packages = ("numpy", "numba", "scipy")
    return {
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in packages},
    }


def processor() -> str:
    """Return the model name of the processor, as far as the system tells it, and its kind.

    Its kind, such as ``znver3``, says which instructions compiled code uses, and so the last bits
    of logarithms and powers; processors of several kinds can have one model name.
    """
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    kind = f"({platform.machine()}, {get_host_cpu_name()})"
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return f"{value.strip()} {kind}"
    return f"{platform.processor() or 'unknown'} {kind}"


def code_hash(entry: Iterable[Name], parts: Iterable[object]) -> str:
    """Hash the source that a simulation runs.

    What counts is what the run can reach: from the functions that play a replicate and the
    classes of what they play, every function, class, constant and method that the reached code
    names, in this package and in those of the parts. Comments, docstrings, annotations and layout
    do not count, and neither do the checks of arguments and code that is not reached, such as the
    bounds.

    Parameters
    ----------
    entry : iterable of (str, str)
        Module and name of each function that plays.
    parts : iterable of object
        What is played, such as an algorithm and an instance; dataclasses in their fields count as
        well.

    Returns
    -------
    str
        16 hexadecimal digits.
    """
    return _code_hash(tuple(entry), frozenset(_types_in(parts)))


def source_hash(roots: Iterable[Name], packages: Iterable[str] = ("dpbandits",)) -> str:
    """Hash the source reachable from `roots`, following imports inside `packages`.

    A method is reached when its class is and some reached code uses an attribute of its name
    (double-underscore methods always). Attributes made up at run time, as by ``getattr`` with
    a computed name, are not seen.

    Parameters
    ----------
    roots : iterable of (str, str)
        Module and top-level name of each starting point.
    packages : iterable of str
        Top-level names of the packages that are read.

    Returns
    -------
    str
        16 hexadecimal digits.
    """
    reach = _Reach(frozenset(packages))
    for module, name in roots:
        reach.add(module, name)
    return hashlib.sha256(reach.text().encode()).hexdigest()[:16]


def _types_in(parts: Iterable[object]) -> Iterator[type]:
    """Yield the types of the parts, and of the dataclasses that they are made of."""
    for part in parts:
        yield type(part)
        yield from _types_in(value for value in vars(part).values() if is_dataclass(value))


@functools.cache
def _code_hash(entry: tuple[Name, ...], types: frozenset[type]) -> str:
    roots = [*entry, *((kind.__module__, kind.__qualname__) for kind in types)]
    packages = {"dpbandits", *(module.partition(".")[0] for module, _ in roots)}
    return source_hash(roots, packages)


@functools.cache
def _source_path(module: str) -> Path | None:
    """Find the file of a module, loaded or not; None if there is none."""
    loaded = getattr(sys.modules.get(module), "__file__", None)
    if loaded is not None:
        return Path(loaded)
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
    return Path(spec.origin) if spec is not None and spec.origin else None


class _Bare(ast.NodeTransformer):
    """Drop docstrings and other strings that are statements."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else self.generic_visit(node)


@functools.cache
def _canonical_statement(node: ast.stmt) -> str:
    """Return `_canonical` of a statement, which is part of what many experiments run."""
    return _canonical(node)


def _canonical(node: object) -> str:
    """Write a syntax tree as text that does not depend on layout or on Python's version."""
    if isinstance(node, ast.AST):
        parts = [type(node).__name__]
        for field, value in ast.iter_fields(node):
            if field not in _DROPPED_FIELDS and value is not None and value != []:
                parts.append(f"{field}={_canonical(value)}")
        return f"({' '.join(parts)})"
    if isinstance(node, list):
        return f"[{','.join(_canonical(item) for item in node)}]"
    return repr(node)


def _bound_names(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a top-level statement other than an import binds."""
    if isinstance(statement, (*_FUNCTION, ast.ClassDef)):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, (*_FUNCTION, ast.ClassDef)):
            yield node.name


class _Module:
    """The top level of one module: what its names are bound to."""

    def __init__(self, name: str, path: Path) -> None:
        tree = _Bare().visit(ast.parse(path.read_text(encoding="utf-8")))
        self._local: dict[ast.AST, dict[str, Name]] = {}
        self.package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        self.statements: dict[str, list[ast.stmt]] = {}
        self.imports: dict[str, Name] = {}
        for statement in tree.body:
            self.imports.update(self.read_imports(statement))
            for bound in _bound_names(statement):
                self.statements.setdefault(bound, []).append(statement)

    def local_imports(self, tree: ast.AST) -> dict[str, Name]:
        """Return `read_imports` of a part of the module, which is read once."""
        if tree not in self._local:
            self._local[tree] = self.read_imports(tree)
        return self._local[tree]

    def read_imports(self, tree: ast.AST) -> dict[str, Name]:
        """Return what the import statements in `tree` bind: local name → (module, name or "")."""
        found: dict[str, Name] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    bound = alias.asname or alias.name.partition(".")[0]
                    found[bound] = (alias.name if alias.asname else bound, "")
            elif isinstance(node, ast.ImportFrom):
                base = self.package.split(".") if node.level else []
                base = base[: len(base) - node.level + 1] if node.level else base
                source = ".".join([*base, *([node.module] if node.module else [])])
                for alias in node.names:
                    found[alias.asname or alias.name] = (source, alias.name)
        return found


@functools.cache
def _parsed(name: str, path: Path, _changed: int) -> _Module:
    """Read a module once, for as long as its file does not change."""
    return _Module(name, path)


@functools.cache
def _taken_apart(
    statement: ast.ClassDef,
) -> tuple[ast.ClassDef, list[ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Return a class without its methods, and these."""
    methods = [node for node in statement.body if isinstance(node, _FUNCTION)]
    rest = [node for node in statement.body if not isinstance(node, _FUNCTION)]
    skeleton = ast.ClassDef(
        name=statement.name,
        bases=statement.bases,
        keywords=statement.keywords,
        body=rest,
        decorator_list=statement.decorator_list,
    )
    return skeleton, methods


class _Reach:
    """The definitions that are reached so far, and the attribute names they use."""

    def __init__(self, packages: frozenset[str]) -> None:
        self.packages = packages
        self.modules: dict[str, _Module] = {}
        self.parts: dict[tuple[str, str, str], str] = {}
        self.attributes: set[str] = set()
        self.waiting: dict[str, list[tuple[str, str, ast.stmt]]] = {}

    def module(self, name: str) -> _Module | None:
        """Read a module of the packages; None for others."""
        if name.partition(".")[0] not in self.packages or name in _PASSIVE:
            return None
        if name not in self.modules:
            path = _source_path(name)
            if path is None or path.suffix != ".py":
                return None
            self.modules[name] = _parsed(name, path, path.stat().st_mtime_ns)
        return self.modules[name]

    def add(self, module_name: str, name: str) -> None:
        """Reach what `name` means at the top level of a module."""
        module = self.module(module_name)
        if module is None:
            return
        if name in module.statements:
            for number, statement in enumerate(module.statements[name]):
                self._add_statement(module_name, f"{name}.{number}", statement)
        elif name in module.imports:
            self._follow(*module.imports[name])
        # Anything else is a builtin, or a name of an inner scope.

    def _follow(self, module_name: str, name: str) -> None:
        module = self.module(module_name)
        if module is not None and name and (name in module.statements or name in module.imports):
            self.add(module_name, name)

    def _add_statement(self, module: str, name: str, statement: ast.stmt) -> None:
        if (module, name, "") in self.parts:
            return
        if not isinstance(statement, ast.ClassDef):
            self._add_part(module, name, "", statement)
            return
        skeleton, methods = _taken_apart(statement)
        self._add_part(module, name, "", skeleton)
        for method in methods:
            if method.name.startswith("__") or method.name in self.attributes:
                self._add_part(module, name, method.name, method)
            else:
                self.waiting.setdefault(method.name, []).append((module, name, method))

    def _add_part(self, module_name: str, name: str, method: str, node: ast.stmt) -> None:
        self.parts[module_name, name, method] = _canonical_statement(node)
        module = self.modules[module_name]
        local = module.local_imports(node)
        names, attributes = _uses(node)
        for name_used in names:
            if name_used in local:
                self._follow(*local[name_used])
            else:
                self.add(module_name, name_used)
        for base, attribute in attributes:
            self._use_attribute(attribute)
            target = local.get(base) or module.imports.get(base)
            if target is not None:
                self.add(".".join(part for part in target if part), attribute)

    def _use_attribute(self, attribute: str) -> None:
        if attribute not in self.attributes:
            self.attributes.add(attribute)
            for module, name, method in self.waiting.pop(attribute, []):
                self._add_part(module, name, attribute, method)

    def text(self) -> str:
        """Return everything that is reached, in an order that does not depend on the way."""
        return "\n".join(f"{'/'.join(key)}: {self.parts[key]}" for key in sorted(self.parts))


@functools.cache
def _uses(node: ast.AST) -> tuple[list[str], list[Name]]:
    """Return the names in a tree without annotations, and attributes with the names before them."""
    names, attributes = set(), set()
    for inner in _walk_code(node):
        if isinstance(inner, ast.Name):
            names.add(inner.id)
        elif isinstance(inner, ast.Attribute):
            before = inner.value.id if isinstance(inner.value, ast.Name) else ""
            attributes.add((before, inner.attr))
    return sorted(names), sorted(attributes)


def _walk_code(node: ast.AST) -> Iterator[ast.AST]:
    """Walk a syntax tree without its annotations."""
    yield node
    for field, value in ast.iter_fields(node):
        if field in _DROPPED_FIELDS:
            continue
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, ast.AST):
                yield from _walk_code(item)
