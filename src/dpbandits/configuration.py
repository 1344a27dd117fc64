"""Configurations and functions whose annotations say what is allowed, and check it.

The annotation of a field of a `Configuration`, or of a parameter of a function with the decorator
`checked_arguments`, names its check: ``epsilon: Budget`` is a float, positive or infinite. What is
kept, or handed to the function, is what the check returns: a NumPy scalar becomes a number of
Python, which neither overflows nor has fewer digits.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import sys
import types
import typing
from collections.abc import Callable
from functools import cache, partial
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

from dpbandits._validation import (
    check_choice,
    check_flag,
    check_fraction,
    check_integer,
    check_number,
    check_order,
    check_positive,
    check_range,
)

__all__ = [
    "LONGEST",
    "MOST_COUNTED",
    "ArmCount",
    "Budget",
    "Configuration",
    "Count",
    "Flag",
    "Fraction",
    "NonNegative",
    "Number",
    "Order",
    "Positive",
    "between",
    "checked_arguments",
    "whole",
]

Check = Callable[[str, Any], Any]
P = ParamSpec("P")
R = TypeVar("R")


MOST_COUNTED = 2**62
"""The most that anything here is counted to, unless an annotation says otherwise."""
LONGEST = 10**20_000
"""The longest horizon of a theorem that is asked for a formula, and never played.

Claims about the limit of large horizons look at one of 10^10 000.
"""


def whole(minimum: int, maximum: int = MOST_COUNTED) -> Check:
    """Return the check of a whole number: ``Annotated[int, whole(1)]``.

    Parameters
    ----------
    minimum : int
        Least number that is allowed.
    maximum : int
        Greatest number that is allowed: 2⁶², so that counts neither overflow 64 bits nor a float.

    Returns
    -------
    callable
        From name and value of an argument to the value as an int; a ValueError says what is
        allowed.

    Examples
    --------
    >>> whole(1, 9)("n_arms", 3.0)
    3
    """
    return lambda name, value: check_integer(name, value, minimum, maximum)


def between(low: float, high: float) -> Check:
    """Return the check of a number from `low` to `high`: ``Annotated[float, between(0, 1)]``.

    Parameters
    ----------
    low : float
        Least number that is allowed.
    high : float
        Greatest number that is allowed.

    Returns
    -------
    callable
        From name and value of an argument to the value as a float; a ValueError says what is
        allowed.

    Examples
    --------
    >>> between(0, 1)("probability", 1)
    1.0
    """
    return lambda name, value: check_range(name, value, low, high)


ArmCount = Annotated[int, whole(2)]
"""A number K of arms, from 2 to 2⁶²."""
Budget = Annotated[float, partial(check_positive, infinite=True)]
"""A privacy budget ε > 0; ``inf`` is allowed."""
Count = Annotated[int, whole(1)]
"""A whole number from 1 to 2⁶²."""
Flag = Annotated[bool, check_flag]
"""True or False."""
Fraction = Annotated[float, check_fraction]
"""A number strictly between 0 and 1."""
NonNegative = Annotated[
    float,
    partial(check_range, low=0.0, high=sys.float_info.max, allowed="a finite number of at least 0"),
]
"""A finite number of at least 0."""
Number = Annotated[float, partial(check_number, allowed="a number")]
"""Any real number."""
Order = Annotated[float, check_order]
"""An order v in (0, 1] of a moment E∣X∣^(1+v)."""
Positive = Annotated[float, check_positive]
"""A positive, finite number."""


def _check_of(hint: Any) -> tuple[Check | None, bool]:
    """Return what an annotation checks, and whether None is allowed as well."""
    if get_origin(hint) in (Union, types.UnionType):
        checks = [_check_of(part)[0] for part in get_args(hint) if part is not type(None)]
        return (checks[0] if len(checks) == 1 else None), type(None) in get_args(hint)
    if get_origin(hint) is Literal:
        words = get_args(hint)
        return (lambda name, value: check_choice(name, value, words)), False
    if get_origin(hint) is Annotated:
        return next((part for part in hint.__metadata__ if callable(part)), None), False
    return None, False


def _checks_of(subject: Any, names: typing.Iterable[str]) -> tuple[tuple[str, Check, bool], ...]:
    """Return name, check and whether None is allowed, for each of the names that has a check."""
    try:
        hints = typing.get_type_hints(subject, include_extras=True)
    except NameError:  # a reader's class, whose annotations mean something elsewhere only
        hints = {}
    found = ((name, *_check_of(hints.get(name))) for name in names)
    return tuple((name, check, optional) for name, check, optional in found if check is not None)


@cache
def _checks(kind: Any) -> tuple[tuple[str, Check, bool], ...]:
    """Return the checks of the fields of a class."""
    return _checks_of(kind, [field.name for field in dataclasses.fields(kind)])


def _unless_none(check: Check) -> Check:
    """Return the check that lets None pass as well."""
    return lambda name, value: None if value is None else check(name, value)


@cache
def _argument_checks(function: Any) -> tuple[tuple[int, str, Check], ...]:
    """Return place, beyond all others if keyword-only, name and check of each parameter."""
    parameters = inspect.signature(function).parameters
    places = {
        name: sys.maxsize if parameter.kind is parameter.KEYWORD_ONLY else place
        for place, (name, parameter) in enumerate(parameters.items())
    }
    return tuple(
        (places[name], name, _unless_none(check) if optional else check)
        for name, check, optional in _checks_of(function, places)
    )


REFUSED = "If an argument is of another type or out of range."
"""When every checked function, and every configuration, raises a ValueError."""
_AFTER_RETURNS = re.compile(
    r"^( *)(Raises|Warns|Warnings|See Also|Notes|References|Examples)\n\1-+\n", re.MULTILINE
)


def with_raises(docstring: str | None) -> str | None:
    r"""Write the ValueError of the checks into a docstring, before what else it says in Raises.

    Parameters
    ----------
    docstring : str or None
        Docstring. None, as with ``python -OO``, a single line, and one with `REFUSED` stay as they
        are.

    Returns
    -------
    str or None
        The docstring with that entry in its section Raises.

    Examples
    --------
    >>> with_raises("Return n.")
    'Return n.'
    >>> with_raises("Return n.\n\nMore.").splitlines()[-3:]
    ['------', 'ValueError', '    If an argument is of another type or out of range.']
    """
    if docstring is None or "\n" not in docstring or REFUSED in docstring:
        return docstring
    found = _AFTER_RETURNS.search(docstring)
    if found is None:
        margin = re.search(r"\n( *)\S", docstring)
        indent = margin[1] if margin else ""
        before, after = f"{docstring.rstrip()}\n\n", f"\n{indent}"
    else:
        indent, place = found[1], found.end() if found[2] == "Raises" else found.start()
        before = docstring[:place]
        after = ("\n" if found[2] == "Raises" else "\n\n") + docstring[place:]
    title = "" if found and found[2] == "Raises" else f"{indent}Raises\n{indent}------\n"
    return f"{before}{title}{indent}ValueError\n{indent}    {REFUSED}{after}"


def checked_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Check the arguments of a function as its annotations say, and hand on the checked values.

    The body sees what the checks return, never what was given: the rule for every public function
    that has numbers among its arguments. Loops call private functions, without checks. The
    docstring gets the ValueError by itself (`with_raises`); it says only what else is raised.

    Parameters
    ----------
    function : callable
        Function or method. An annotation such as `Budget`, or ``Annotated[int, whole(1)]``, names
        the check of a parameter; ``Fraction | None`` also lets None pass. Parameters without a
        check, and defaults, are handed on as they are.

    Returns
    -------
    callable
        Function with the same signature. It raises the ValueError of the check that fails.

    Examples
    --------
    >>> import numpy as np
    >>> @checked_arguments
    ... def square(n: Count) -> int:
    ...     return n**2
    >>> square(np.int16(1000))
    1000000
    >>> square(0)
    Traceback (most recent call last):
    ...
    ValueError: n=0 is out of range; allowed: a whole number of at least 1 and at most 2**62
    """
    function.__doc__ = with_raises(function.__doc__)

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        row: list[Any] = list(args)
        named: dict[str, Any] = dict(kwargs)
        for place, name, check in _argument_checks(function):
            if place < len(row):
                row[place] = check(name, row[place])
            elif name in named:
                named[name] = check(name, named[name])
        return function(*row, **named)

    return checked


class Configuration:
    """Base of the frozen dataclasses: fields are checked, and keep what their check returns.

    The annotation of a field names its check: ``epsilon: Budget`` is a float, positive or infinite.
    A subclass that must compare fields with each other extends ``__post_init__`` and calls this
    one first.

    Raises
    ------
    ValueError
        If a field is not what its annotation allows.

    Examples
    --------
    >>> @dataclasses.dataclass(frozen=True)
    ... class Mechanism(Configuration):
    ...     epsilon: Budget
    ...     split: Literal["half", "full"] = "half"
    >>> Mechanism(1).epsilon
    1.0
    >>> Mechanism(1, split="third")
    Traceback (most recent call last):
    ...
    ValueError: split='third' is unknown; allowed: 'half', 'full'
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Write into the docstring what a refused field raises, if it describes fields."""
        super().__init_subclass__(**kwargs)
        own = vars(cls).get("__doc__")
        if own and ("Parameters\n" in own or "Attributes\n" in own):
            cls.__doc__ = with_raises(own)

    def __post_init__(self) -> None:
        """Check every field, and keep what its check returns."""
        kind: Any = type(self)
        for name, check, optional in _checks(kind):
            value = getattr(self, name)
            if not (optional and value is None):
                object.__setattr__(self, name, check(name, value))
