"""Frozen configurations whose fields say what is allowed, by their annotations."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable
from functools import cache, partial
from typing import Annotated, Any, Literal, Union, get_args, get_origin

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
    "Budget",
    "Configuration",
    "Flag",
    "Fraction",
    "Number",
    "Order",
    "Positive",
    "between",
    "whole",
]

Check = Callable[[str, Any], Any]


def whole(minimum: int, maximum: int | None = None) -> Check:
    """Return the check of a whole number: ``Annotated[int, whole(1)]``."""
    return lambda name, value: check_integer(name, value, minimum, maximum)


def between(low: float, high: float) -> Check:
    """Return the check of a number from `low` to `high`: ``Annotated[float, between(0, 1)]``."""
    return lambda name, value: check_range(name, value, low, high)


Budget = Annotated[float, partial(check_positive, infinite=True)]
"""A privacy budget ε > 0; ``inf`` is allowed."""
Flag = Annotated[bool, check_flag]
"""True or False."""
Fraction = Annotated[float, check_fraction]
"""A number strictly between 0 and 1."""
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


@cache
def _checks(kind: Any) -> tuple[tuple[str, Check, bool], ...]:
    """Return name, check and whether None is allowed, for each field that has a check."""
    try:
        hints = typing.get_type_hints(kind, include_extras=True)
    except NameError:  # a reader's class, whose annotations mean something elsewhere only
        hints = {}
    found = ((f.name, *_check_of(hints.get(f.name))) for f in dataclasses.fields(kind))
    return tuple((name, check, optional) for name, check, optional in found if check is not None)


class Configuration:
    """Base of the frozen dataclasses: fields are checked, and keep what their check returns.

    The annotation of a field names its check: ``epsilon: Budget`` is a float, positive or infinite.
    A subclass that must compare fields with each other extends ``__post_init__`` and calls this
    one first.

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

    def __post_init__(self) -> None:
        """Check every field, and keep what its check returns."""
        kind: Any = type(self)
        for name, check, optional in _checks(kind):
            value = getattr(self, name)
            if not (optional and value is None):
                object.__setattr__(self, name, check(name, value))
