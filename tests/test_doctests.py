"""Every example in a docstring runs, and every public object has a docstring."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import dpbandits

SUBMODULES = pkgutil.walk_packages(dpbandits.__path__, "dpbandits.")
MODULES = ["dpbandits", *sorted(m.name for m in SUBMODULES if "__main__" not in m.name)]


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


@pytest.mark.parametrize("name", MODULES)
def test_public_objects_have_docstrings(name):
    module = importlib.import_module(name)
    assert module.__doc__
    for public in getattr(module, "__all__", []):
        value = getattr(module, public)
        if inspect.isroutine(value) or inspect.isclass(value) or hasattr(value, "py_func"):
            assert inspect.getdoc(value), f"{name}.{public}"
