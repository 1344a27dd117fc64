"""The docstrings of the front pass numpydoc's validator, by the rules in ``pyproject.toml``."""

import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.hooks.validate_docstrings import parse_config
from numpydoc.validate import Validator, validate

import dpbandits
from companion import front

RULES = parse_config(Path(__file__).parents[1])["checks"]
ALL = front.public_names(dpbandits)
MODULES = [each for names in front.PAGES.values() for each in names if each.startswith("dpb")]


class Docstring(Validator):
    """To the validator, attributes with which a class is made are parameters."""

    def __init__(self, obj_name):
        super().__init__(obj_name)

    @property
    def signature_parameters(self):
        given = super().signature_parameters
        if inspect.isclass(self.obj):  # protocols and exceptions are made with anything
            given = tuple(name for name in given if name not in ("*args", "**kwargs"))
        return given

    @property
    def doc_all_parameters(self):
        described = super().doc_all_parameters
        if inspect.isclass(self.obj):
            made_with = self.signature_parameters
            attributes = self._doc_parameters(["Attributes"])
            described |= {name: each for name, each in attributes.items() if name in made_with}
        return described


def members(thing):
    """Yield the public methods and properties of a class that have a docstring of their own."""
    for name, each in vars(thing).items() if inspect.isclass(thing) else ():
        method = getattr(each, "fget", None) or inspect.unwrap(each)
        doc = getattr(method, "__doc__", None)
        if not name.startswith("_") and inspect.isroutine(method) and doc:
            yield name, getattr(method, "__func__", method), isinstance(each, property)


def faults(thing, *, noun=False):
    """Return what the validator finds; a property, and so on, is named by a noun."""
    doc = get_doc_object(thing, config={"show_class_members": False})
    found = validate(doc, Docstring)["errors"]
    found = [f"{code} {text}" for code, text in found if code in RULES]
    if inspect.isclass(thing) and not doc["Examples"]:
        found.append("a class needs an example")
    return [text for text in found if not (noun and text.startswith("SS05"))]


@pytest.mark.parametrize("module", MODULES)
def test_the_docstrings_of_the_front_are_whole(module):
    found = {}
    for name in (each for each in front.front().values() if each.module == module):
        found[name.public] = faults(name.thing)
        for member, method, noun in members(name.thing):
            found[f"{name.public}.{member}"] = faults(method, noun=noun)
    assert {name: said for name, said in found.items() if said} == {}
    assert found


def test_the_front_is_what_the_package_offers():
    names = front.front().values()
    offered = {id(name.thing) for name in names}
    assert {id(inspect.unwrap(getattr(dpbandits, n))) for n in ALL} <= offered
    assert {*dpbandits.registry, *dpbandits.identifiers} <= set(ALL)
    classes = [name.thing.__name__ for name in names if inspect.isclass(name.thing)]
    assert len(set(classes)) == len(classes), "two classes share a name"
    assert not any("._engine" in name or "_kernel" in name for name in front.front())


def test_a_docstring_that_lacks_something_is_found():
    def incomplete(count: int) -> int:
        """Return the number.

        Parameters
        ----------
        counts : int
            The number
        """
        return count

    assert {text[:4] for text in faults(incomplete)} >= {"PR01", "PR02", "PR09"}


def functions(thing):
    """Yield the functions of a module or class that are defined there, however they are wrapped."""
    for each in vars(thing).values():
        made = getattr(each, "fget", None) or getattr(each, "func", None) or each
        made = getattr(made, "py_func", None) or getattr(made, "__func__", None) or made
        made = inspect.unwrap(made) if callable(made) else made
        if inspect.isfunction(made):
            yield made
        elif inspect.isclass(made) and made.__module__ == getattr(thing, "__name__", ""):
            yield from functions(made)


def test_functions_of_the_engine_have_no_sections():
    """What no reader reaches is described in one line, with shapes; commands are read on screen."""
    things = [name.thing for name in front.front().values()]
    classes = [base for each in things if inspect.isclass(each) for base in each.__mro__]
    reached = {id(each) for cls in classes for each in functions(cls)} | {*map(id, things)}
    modules = [each.name for each in pkgutil.walk_packages(dpbandits.__path__, "dpbandits.")]
    names = [name for name in modules if not name.endswith(("cli.commands", "__main__"))]
    every = [each for name in names for each in functions(importlib.import_module(name))]
    every = [each for each in every if each.__module__.startswith("dpbandits")]
    private = [each for each in every if id(each) not in reached]
    assert len(private) > 500 and len(every) - len(private) > 400
    whole = [each.__qualname__ for each in private if "Parameters\n" in (each.__doc__ or "")]
    assert whole == []
    assert "Parameters\n" in (dpbandits.simulate.__doc__ or ""), "control"
