"""Check that the docstrings of the package say all that `help` is asked for.

``python tests/docstrings.py [MODULE ...]`` prints what is missing, of all modules by default, and
fails if it finds something; `make lint` runs it.

A *public module* is one of `dpbandits`, or below it, no part of whose name starts with an
underscore. A *public object* is a class or function that such a module defines, with a name that
does not start with an underscore, and so is a method or property of a public class. (Compiled
functions are functions.) Of each of them numpydoc's rules of `RULES` hold, and

- a class has an example;
- a function that is annotated to return something says what;
- what an object may raise stands in its section Raises: exceptions of its own body, of the private
  functions that it calls, and of every ``check_…``; those of a class are those of making one;
- a method without a docstring overrides one that has it;
- nothing is said to be "as of" something else: that would need a second look-up.

A dataclass or a named tuple may describe its fields as Attributes; a command's option may have its
help in its annotation. Modules that do not fulfil this
yet are listed in `UNFINISHED`, which may only become shorter.
"""

import ast
import builtins
import dataclasses
import functools
import importlib
import inspect
import pkgutil
import re
import sys
import textwrap
import typing
from types import FunctionType

from numpydoc.docscrape import get_doc_object
from numpydoc.validate import Validator, validate

import companion
import dpbandits
from dpbandits.configuration import Configuration, _checks, checked_arguments

RULES = {
    **{"GL03": "blank lines", "GL06": "sections", "GL07": "their order", "GL08": "a docstring"},
    **{"SS01": "a summary", "SS03": "with a period", "SS05": "in the infinitive"},
    **{"PR01": "all parameters", "PR02": "no others", "PR03": "their order", "PR04": "their types"},
    **{"PR05": "types without a period", "PR07": "descriptions", "PR09": "with a period"},
    **{"PR10": "a space before the colon", "RT03": "Returns described"},
    **{"RT05": "with a period", "YD01": "Yields"},
}
"""The rules of numpydoc that are asked for."""

UNFINISHED: set[str] = set()
"""Public modules and packages whose docstrings are not finished. Take off what is; add none."""

_SECOND_LOOK = re.compile(r"\b[Aa]s\s+(?:of|for|in|those\s+of|that\s+of)\s+(?::\w+:)?`")
_CREATED = ("__new__", "__init__", "__post_init__")
_PROPERTIES = (property, functools.cached_property)


def public_modules(package=dpbandits):
    """Return the names of the public modules of a package."""
    names = [m.name for m in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    return [package.__name__, *(n for n in sorted(names) if "._" not in n)]


def plain(value):
    """Return the function that a decorator (Numba's, a cache) has wrapped, or the value itself."""
    return inspect.unwrap(getattr(value, "py_func", value))


def public_objects(module):
    """Return the public classes and functions that a module defines, by name."""
    found = {name: plain(value) for name, value in vars(module).items() if name[0] != "_"}
    return {
        name: value
        for name, value in found.items()
        if inspect.isclass(value) or isinstance(value, FunctionType)
        if value.__module__ == module.__name__ and value.__name__ == name
    }


def public_members(cls):
    """Return the public methods and properties that a class defines itself, by name."""
    kinds = (FunctionType, classmethod, staticmethod, *_PROPERTIES)
    own = {name: each for name, each in vars(cls).items() if name[0] != "_"}
    own = {name: plain(each) for name, each in own.items()}
    return {name: each for name, each in own.items() if isinstance(each, kinds)}


# ---------------------------------------------------------------------------------- what it raises


@functools.cache
def _body(function):
    return ast.parse(textwrap.dedent(inspect.getsource(function)))


def _walk(node):
    """Yield the nodes below one, except those of lambdas, which run later."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.Lambda):
            yield from _walk(child)


def _called(call, function, owner):
    """Return the function that a call leads to, if it is hidden in the package or a check."""
    target = None
    if isinstance(call.func, ast.Name):
        target = function.__globals__.get(call.func.id)
    elif isinstance(call.func, ast.Attribute) and getattr(call.func.value, "id", "") == "self":
        target = inspect.getattr_static(owner, call.func.attr, None)
    target = plain(target)
    name = getattr(target, "__name__", "")
    hidden = name.startswith(("_", "check")) and not name.startswith("__")
    return target if hidden and isinstance(target, FunctionType) else None


@functools.cache
def raised(function, owner=None):
    """Return the names of the exceptions that a function, or what it hides, raises."""
    found, waiting, seen = set(), [plain(function)], set()
    ours = {dpbandits.__name__, (owner or waiting[0]).__module__.partition(".")[0]}
    while waiting:
        function = waiting.pop()
        if function in seen or function.__module__.partition(".")[0] not in ours:
            continue
        seen.add(function)
        for node in _walk(_body(function)):
            if isinstance(node, ast.Name) and node.id == checked_arguments.__name__:
                found.add("ValueError")  # the decorator, which calls a check for each annotation
            elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                found.add(getattr(node.exc.func, "id", ""))
            elif isinstance(node, ast.Call):
                waiting += filter(None, [_called(node, function, owner)])
    names = (name for name in found if name.endswith("Error"))
    return frozenset(name for name in names if not name.startswith("NotImplemented"))


def raised_by_making(cls):
    """Return the names of the exceptions that the making of an object of a class may raise."""
    found = set()
    bases = [base for base in cls.__mro__ if base is not Configuration]
    for maker in (vars(base).get(name) for base in bases for name in _CREATED):
        if isinstance(maker, FunctionType) and "<" not in maker.__code__.co_filename:
            found |= raised(maker, cls)
    checks = issubclass(cls, Configuration) and dataclasses.is_dataclass(cls) and _checks(cls)
    return found | ({"ValueError"} if checks else set())


# ---------------------------------------------------------------------------------- what is wrong


def _has_help(hint):
    """Return whether an annotation says what an option of a command is."""
    parts = getattr(hint, "__metadata__", ())
    return any(getattr(part, "help", None) for part in parts) or any(
        map(_has_help, typing.get_args(hint))
    )


class _Validator(Validator):
    """Numpydoc's validator; to it, attributes with which a class is made are parameters."""

    def __init__(self, obj_name):  # so does `validate` call it
        super().__init__(obj_name)

    @property
    def doc_all_parameters(self):
        given = super().doc_all_parameters
        if not inspect.isclass(self.obj):
            return given
        attributes = self._doc_parameters(["Attributes"])
        made_with = self.signature_parameters
        return given | {name: entry for name, entry in attributes.items() if name in made_with}

    @property
    def signature_parameters(self):
        described = {"args", "kwargs"}  # of protocols and exceptions, which have no own
        if not inspect.isclass(self.obj):
            hints = typing.get_type_hints(self.obj, include_extras=True)
            described = {name for name, hint in hints.items() if _has_help(hint)}
        return tuple(p for p in super().signature_parameters if p.lstrip("*") not in described)


def _function(value):
    """Return the function of a property, or the value itself."""
    return getattr(value, "fget", None) or getattr(value, "func", value)


def _says_nothing(value):
    doc = value.__doc__ or ""  # dataclasses and named tuples name their fields by themselves
    return not doc or doc.startswith(f"{getattr(value, '__name__', '')}(")


def is_silent(value, owner=None):
    """Return whether a public object has no docstring, not even one that its class inherits."""
    if owner is not None and _says_nothing(value):
        return not inspect.getdoc(getattr(owner, _function(value).__name__))
    return _says_nothing(value)


def faults(value, owner=None):
    """Return what the docstring of a public object lacks, in words; `owner` is a method's class."""
    is_property = isinstance(value, _PROPERTIES)  # which is named by a noun
    function = _function(value)
    if is_silent(value, owner):
        return ["No docstring"]
    if _says_nothing(value):
        return []
    try:
        doc = get_doc_object(function, config={"show_class_members": False})
    except ValueError as error:  # a section that stands there twice
        return [str(error).partition(" in ")[0]]
    found = [
        text
        for code, text in validate(doc, _Validator)["errors"]
        if code in RULES and not (is_property and code == "SS05")
    ]
    is_class = inspect.isclass(value)
    raises = raised_by_making(value) if is_class else raised(function, owner)
    names = vars(builtins) | vars(
        sys.modules[value.__module__ if is_class else function.__module__]
    )
    listed = tuple(names.get(entry.type, ()) for entry in doc["Raises"])
    found += [
        f"No {error} in Raises"
        for error in sorted(raises)
        if error in names and not any(issubclass(each, names[error]) for each in listed if each)
    ]
    if is_class and not doc["Examples"]:
        found.append("No example")
    returns = getattr(function, "__annotations__", {}).get("return")
    if not (
        is_class
        or is_property
        or returns in (None, "None", "NoReturn")
        or doc["Returns"]
        or doc["Yields"]
    ):
        found.append("No Returns")
    found += [
        f"Second look-up: {' '.join(text.split())}" for text in _SECOND_LOOK.findall(value.__doc__)
    ]
    return found


def with_members(name):
    """Yield name, value and class, if any, of the public objects of a module and their members."""
    for public, value in public_objects(importlib.import_module(name)).items():
        yield f"{name}.{public}", value, None
        if inspect.isclass(value):
            for member, each in public_members(value).items():
                yield f"{name}.{public}.{member}", getattr(each, "__func__", each), value


def silent(name):
    """Return the public objects of a module, and itself, that have no docstring, a line each."""
    found = [] if importlib.import_module(name).__doc__ else [f"{name}: No docstring"]
    public = with_members(name)
    return found + [f"{full}: No docstring" for full, *each in public if is_silent(*each)]


def faults_of(name):
    """Return all that the docstrings of a public module lack, a line each."""
    found = [] if importlib.import_module(name).__doc__ else [f"{name}: No docstring"]
    for full, *each in with_members(name):
        found += [f"{full}: {fault}" for fault in faults(*each)]
    return found


def unfinished(name):
    """Return the entry of `UNFINISHED` that a module falls under, or an empty text."""
    return next((entry for entry in UNFINISHED if f"{name}.".startswith(f"{entry}.")), "")


def main(names):
    """Print what is missing; return the exit status."""
    if names:
        found = [line for name in names for line in faults_of(name)]
    else:
        faulty = {name: faults_of(name) for name in public_modules()}
        found = [line for name, lines in faulty.items() if not unfinished(name) for line in lines]
        waiting = UNFINISHED - {unfinished(name) for name, lines in faulty.items() if lines}
        found += [f"{name} is finished: take it off UNFINISHED" for name in sorted(waiting)]
        found += [line for name in public_modules(companion) for line in silent(name)]
    print("\n".join(found) or "docstrings: all say what they must")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
