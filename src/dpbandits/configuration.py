"""Configurations and functions whose arguments are checked by their annotations.

The annotation of a field of a `Configuration`, or of a parameter of a function with the decorator
`checked_arguments`, is its check: ``epsilon: Budget`` is a float, positive or infinite. The checked
value is stored, or passed to the function: a NumPy scalar becomes a Python number, which neither
overflows nor has fewer digits.
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
"""Largest count, unless an annotation says otherwise."""
LONGEST = 10**20_000
"""Longest horizon of a theorem, which is only put into a formula and never played.

Claims about the limit of large horizons use one of 10^10 000.
"""


def whole(minimum: int, maximum: int = MOST_COUNTED) -> Check:
    """Return the check of an integer: ``Annotated[int, whole(1)]``.

    Parameters
    ----------
    minimum : int
        Smallest allowed number.
    maximum : int
        Largest allowed number; by default 2⁶², so that counts overflow neither 64 bits nor a float.

    Returns
    -------
    callable
        Takes name and value of an argument, and returns the value as an int; a ValueError states
        the allowed values.

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
        Smallest allowed number.
    high : float
        Largest allowed number.

    Returns
    -------
    callable
        Takes name and value of an argument, and returns the value as a float; a ValueError states
        the allowed values.

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
    """Return the check of an annotation, and whether None is allowed as well."""
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
    """Return name, check and whether None is allowed, for each name with a check."""
    try:
        hints = typing.get_type_hints(subject, include_extras=True)
    except NameError:  # a custom class, whose annotations can be resolved only in its own module
        hints = {}
    found = ((name, *_check_of(hints.get(name))) for name in names)
    return tuple((name, check, optional) for name, check, optional in found if check is not None)


@cache
def _checks(kind: Any) -> tuple[tuple[str, Check, bool], ...]:
    """Return the checks of the fields of a class."""
    return _checks_of(kind, [field.name for field in dataclasses.fields(kind)])


def _unless_none(check: Check) -> Check:
    """Return a check that also accepts None."""
    return lambda name, value: None if value is None else check(name, value)


@cache
def _argument_checks(function: Any) -> tuple[tuple[int, str, Check], ...]:
    """Return position (beyond all others if keyword-only), name and check of each parameter."""
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
"""Condition for the ValueError of every checked function and configuration."""
_AFTER_RETURNS = re.compile(
    r"^( *)(Raises|Warns|Warnings|See Also|Notes|References|Examples)\n\1-+\n", re.MULTILINE
)


def with_raises(docstring: str | None) -> str | None:
    r"""Add the ValueError of the checks to a docstring, as the first entry of Raises."""
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
    """Check the arguments of a function by its annotations, and pass on the checked values.

    The body sees only checked values: use it for every public function with numbers among its
    arguments. Loops call private functions, without checks. The ValueError is added to the
    docstring automatically (`with_raises`); write only other errors there.

    Parameters
    ----------
    function : callable
        Function or method. An annotation such as `Budget`, or ``Annotated[int, whole(1)]``, is the
        check of a parameter; ``Fraction | None`` also accepts None. Parameters without a check, and
        defaults, are passed on unchanged.

    Returns
    -------
    callable
        Function with the same signature. It raises the ValueError of a failed check.

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
    """Base of the frozen dataclasses: fields are checked, and contain the checked values.

    The annotation of a field is its check: ``epsilon: Budget`` is a float, positive or infinite. A
    subclass that must compare fields with each other extends ``__post_init__`` and calls this one
    first.

    Raises
    ------
    ValueError
        If a field is not allowed by its annotation.

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
        """Add the ValueError of invalid fields to the docstring, if it describes fields."""
        super().__init_subclass__(**kwargs)
        own = vars(cls).get("__doc__")
        if own and ("Parameters\n" in own or "Attributes\n" in own):
            cls.__doc__ = with_raises(own)

    def __post_init__(self) -> None:
        """Check every field, and store the checked value."""
        kind: Any = type(self)
        for name, check, optional in _checks(kind):
            value = getattr(self, name)
            if not (optional and value is None):
                object.__setattr__(self, name, check(name, value))
