"""Every example in a docstring runs, and every public object has a docstring."""

import ast
import builtins
import doctest
import importlib
import inspect
import pkgutil
import types

import pytest

import companion
import dpbandits

MODULES = [
    name
    for package in (dpbandits, companion)
    for name in (
        package.__name__,
        *sorted(m.name for m in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")),
    )
    if "__main__" not in name
]


def compiled_functions(module):
    """Docstrings of numba's dispatchers, which doctest does not see as functions."""
    return {
        name: value
        for name, value in vars(module).items()
        if hasattr(value, "py_func") and value.py_func.__module__ == module.__name__
    }


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(name)
    finder = doctest.DocTestFinder()
    tests = finder.find(module, name)
    for function, dispatcher in compiled_functions(module).items():
        if not any(test.name == f"{name}.{function}" for test in tests):
            globs = dict(vars(module))
            tests += finder.find(dispatcher.py_func, f"{name}.{function}", module, globs)
    runner = doctest.DocTestRunner(verbose=False)
    report = []
    for test in tests:
        runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)


def test_examples_are_found_and_can_fail():
    found = [
        test
        for name in MODULES
        for test in doctest.DocTestFinder().find(importlib.import_module(name), name)
    ]
    assert sum(len(test.examples) for test in found) > 40
    wrong = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0)
    assert doctest.DocTestRunner(verbose=False).run(wrong, out=lambda text: None).failed == 1


def unbound(docstring):
    """Names that the examples of a docstring use and neither import nor make, `dpb` aside."""
    examples = doctest.DocTestParser().get_examples(docstring)
    nodes = [node for e in examples for node in ast.walk(ast.parse(e.source))]
    known = {"dpb", *dir(builtins)}
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            known |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            known.add(node.name)
        elif isinstance(node, ast.arg):
            known.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            known.add(node.id)
    return {node.id for node in nodes if isinstance(node, ast.Name)} - known


@pytest.mark.parametrize("name", [n for n in dpbandits.__all__ if n[0] != "_"])
def test_examples_run_after_import_dpbandits_as_dpb(name):
    """What ``help(dpb.NAME)`` shows can be pasted."""
    value = getattr(dpbandits, name)
    owned = vars(value).values() if inspect.isclass(value) else ()
    for each in (value, *(v for v in owned if not inspect.isclass(v))):
        docstring = getattr(getattr(each, "py_func", each), "__doc__", None)
        if docstring and not inspect.ismodule(each):
            assert unbound(docstring) == set()


def test_unbound_names_are_found():
    assert unbound(">>> dpb.f(x)\n>>> y = [z for z in (1, 2)]\n>>> print(y)") == {"x"}


@pytest.mark.parametrize("name", MODULES)
def test_public_objects_have_docstrings(name):
    module = importlib.import_module(name)
    assert module.__doc__
    own = [n for n, v in vars(module).items() if getattr(v, "__module__", "") == name]
    for public in getattr(module, "__all__", [n for n in own if n[0] != "_"]):
        value = getattr(module, public)
        if inspect.isroutine(value) or inspect.isclass(value) or hasattr(value, "py_func"):
            assert inspect.getdoc(value), f"{name}.{public}"
            assert silent(value) == []


def silent(value):
    """Public functions of a class that have no docstring, not even an inherited one."""
    own = vars(value) if inspect.isclass(value) else {}
    functions = (property, classmethod, staticmethod, types.FunctionType)
    public = [name for name, each in own.items() if name[0] != "_" and isinstance(each, functions)]
    return [name for name in public if not inspect.getdoc(getattr(value, name))]


class Loud:
    def play(self):
        """Play."""


class Quiet(Loud):
    def play(self):
        pass

    def mute(self):
        pass

    @property
    def law(self):
        return 0


def test_silent_functions_are_found():
    assert silent(Quiet) == ["mute", "law"]
