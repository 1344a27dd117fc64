"""`docstrings.py` finds what docstrings lack; that those of the package lack nothing, it checks."""

import ast
import collections
import dataclasses
import importlib
import inspect
from typing import NamedTuple, TypeVar

import pytest
from docstrings import (
    faults,
    is_silent,
    plain,
    public_members,
    public_modules,
    public_objects,
    unfinished,
)

import dpbandits
from dpbandits._validation import check_integer
from dpbandits.configuration import Budget, Configuration, Count, checked_arguments


def _hidden(count):
    return check_integer("count", count, 1)


def complete(count: int) -> list[int]:
    """Return zeros.

    Parameters
    ----------
    count : int
        How many, from 1.

    Returns
    -------
    list of int
        The zeros.

    Raises
    ------
    ValueError
        If `count` is below 1.
    """
    return [0] * _hidden(count)


@checked_arguments
def decorated(count: Count) -> None:
    """Do nothing.

    Parameters
    ----------
    count : int
        How many, from 1.
    """


class Whole(Configuration):
    """A counter.

    Examples
    --------
    >>> Whole().play()
    """

    def play(self) -> None:
        """Play."""

    @property
    def length(self) -> int:
        """Length."""
        return 0

    def mute(self) -> None:
        pass


class Heir(Whole):
    def play(self) -> None:
        pass


class Pair(NamedTuple):
    """Two numbers.

    Attributes
    ----------
    first, second : int
        The numbers.

    Examples
    --------
    >>> Pair(1, 2).first
    1
    """

    first: int
    second: int


@dataclasses.dataclass(frozen=True)
class Noise(Configuration):
    """Noise.

    Parameters
    ----------
    epsilon : float
        Privacy budget.

    Examples
    --------
    >>> Noise(1.0).epsilon
    1.0
    """

    epsilon: Budget


def test_complete_docstrings_pass():
    assert faults(complete) == faults(Whole) == faults(Pair) == []
    for member in ("play", "length"):
        assert faults(vars(Whole)[member], Whole) == []
    assert faults(Heir.play, Heir) == []


@pytest.mark.filterwarnings("ignore:Unknown section Throws")
@pytest.mark.parametrize(
    ("written", "instead", "said"),
    [
        ("count :", "counts :", "'count'"),
        ("count : int", "count", "no type"),
        ("        How many, from 1.\n", "", "no description"),
        ("from 1.", "from 1", "finish with"),
        ("Returns\n    -------\n    list of int\n        The zeros.", "", "No Returns"),
        ("        The zeros.\n", "", "no description"),
        ("ValueError", "TypeError", "No ValueError in Raises"),
        ("Raises", "Throws", "unknown section"),
        ("Raises\n    ------", "Returns\n    -------", "appears twice"),
        ("How many, from 1.", "As of `range`.", "Second look-up"),
        ("Return zeros.", "Returns zeros.", "infinitive"),
    ],
)
def test_faults_are_found(written, instead, said):
    assert written in complete.__doc__
    broken = type(complete)(complete.__code__, globals(), "broken")
    broken.__doc__ = complete.__doc__.replace(written, instead)
    broken.__module__, broken.__annotations__ = complete.__module__, complete.__annotations__
    assert any(said in fault for fault in faults(broken)), faults(broken)


def test_faults_of_classes_are_found():
    assert faults(Noise) == faults(plain(decorated)) == ["No ValueError in Raises"]
    assert faults(vars(Whole)["mute"], Whole) == ["No docstring"] == faults(Heir)
    assert is_silent(vars(Whole)["mute"], Whole) and not is_silent(Heir.play, Heir)
    assert set(public_members(Whole)) == {"play", "length", "mute"}


def test_every_public_name_is_looked_at():
    """The objects of the registries, compiled functions and cached ones are among those checked."""
    from dpbandits.mechanisms import noise
    from dpbandits.rewards import pareto_sums

    for cls in (*dpbandits.registry.values(), *dpbandits.stopping_rules.values()):
        module = __import__(cls.__module__, fromlist=["_"])
        assert public_objects(module)[cls.__name__] is cls
    assert {"laplace", "laplace_total"} <= set(public_objects(noise))
    assert {"matched_law", "growing_sum"} <= set(public_objects(pareto_sums))
    assert "np" not in public_objects(noise) and "Rng" not in public_objects(noise)


def classes_and_types(module):
    """Return the names of the public classes, and of the types that have a name, of a module."""
    body = ast.parse(inspect.getsource(module)).body
    classes = [each.name for each in body if isinstance(each, ast.ClassDef)]
    assigned = [each.targets[0] for each in body if isinstance(each, ast.Assign)]
    types = [each.id for each in assigned if isinstance(each, ast.Name) and not each.id.isupper()]
    types = [name for name in types if not isinstance(getattr(module, name), TypeVar)]
    return [name for name in (*classes, *types) if name[0].isupper()]


def test_two_classes_never_share_a_name():
    places = collections.defaultdict(list)
    for module in public_modules():
        for name in classes_and_types(importlib.import_module(module)):
            places[name].append(module)
    assert {"Run", "DPSE", "HeavyCode"} <= set(places)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_unfinished_packages_cover_what_is_below_them():
    assert unfinished("dpbandits.regretful") == "" == unfinished("dpbandits")
