"""Every example in a docstring runs; what they must say is checked in `test_docstrings.py`."""

import ast
import builtins
import doctest
import importlib
import inspect
import pkgutil

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
