"""Checks of arguments: each ``ValueError`` contains the argument, its value and what is allowed."""

from __future__ import annotations

import contextlib
import difflib
import math
import numbers
import operator
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpbandits._arrays import Floats, Rng
from dpbandits._secure import secure_generator

SMALLEST = 1e-100  # smaller numbers would overflow in a width or a number of pulls


def shown(value: object) -> str:
    """Return a value as text for a message: on one line, truncated if long."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # a whole number of more than 4300 digits
        text = type(value).__name__
        if isinstance(value, int):
            text = f"{'about -' if value < 0 else 'about '}10**{int(math.log10(abs(value)))}"
    return text if len(text) <= 120 else f"{text[:80]} ... {text[-20:]}"


def check_number(name: str, value: Any, allowed: str) -> float:
    """Return a real number as a float; text and booleans are rejected."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ValueError(f"{name}={shown(value)} is not a number; allowed: {allowed}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name}={shown(value)} is out of range; allowed: {allowed}") from None


def check_range(
    name: str, value: Any, low: float, high: float, allowed: str | None = None
) -> float:
    """Return a number from `low` to `high` as a float."""
    allowed = allowed or f"a number from {low:g} to {high:g}"
    number = check_number(name, value, allowed)
    if not low <= number <= high:
        raise ValueError(f"{name}={shown(value)} is out of range; allowed: {allowed}")
    return number


def reward_of(value: Any) -> Any:
    """Return a reward; True and False become 1.0 and 0.0, wherever rewards come from."""
    return float(value) if isinstance(value, bool | np.bool_) else value


def check_positive(name: str, value: Any, *, infinite: bool = False) -> float:
    """Return a positive number as a float."""
    if infinite:
        allowed = f"a positive number (at least {SMALLEST:g}), inf included"
        return check_range(name, value, SMALLEST, math.inf, allowed)
    allowed = f"a positive finite number (at least {SMALLEST:g})"
    return check_range(name, value, SMALLEST, sys.float_info.max, allowed)


def check_fraction(name: str, value: Any) -> float:
    """Return a number strictly between 0 and 1 as a float."""
    allowed = f"a number strictly between 0 and 1 (at least {SMALLEST:g})"
    return check_range(name, value, SMALLEST, math.nextafter(1.0, 0.0), allowed)


def check_order(name: str, value: Any) -> float:
    """Return the order v of a moment E abs(X)^(1+v) as a float."""
    return check_range(name, value, 1e-3, 1.0, "a number in (0, 1], at least 0.001")


def _power(number: int) -> str:
    """Return a limit as text for a message: a large power of two or ten as a power."""
    if number < 0:
        return f"-{_power(-number)}"
    if number > 10**9:
        if number.bit_count() == 1:
            return f"2**{number.bit_length() - 1}"
        if (number + 1).bit_count() == 1:
            return f"2**{number.bit_length()} - 1"
        exponent = round(math.log10(number))  # the number may have too many digits to write
        if number == 10**exponent:
            return f"10**{exponent}"
    return str(number)


def check_integer(name: str, value: Any, minimum: int, maximum: int | None = None) -> int:
    """Return an integer from `minimum` to `maximum` as an int."""
    if type(value) is int and minimum <= value and (maximum is None or value <= maximum):
        return value
    allowed = f"a whole number of at least {_power(minimum)}"
    if maximum is not None:
        allowed += f" and at most {_power(maximum)}"
    whole = isinstance(value, float | np.floating) and float(value).is_integer()
    try:
        number = operator.index(int(value) if whole else value)
    except TypeError:
        raise ValueError(
            f"{name}={shown(value)} is not a whole number; allowed: {allowed}"
        ) from None
    if isinstance(value, bool) or number < minimum or (maximum is not None and number > maximum):
        raise ValueError(f"{name}={shown(value)} is out of range; allowed: {allowed}")
    return number


def check_jobs(name: str, value: Any) -> int:
    """Return a number of workers as an int."""
    allowed = "a whole number of at least 1, or -1 for all processors"
    try:
        number = check_integer(name, value, -1)
    except ValueError:
        number = 0
    if number == 0:
        raise ValueError(f"{name}={shown(value)} is out of range; allowed: {allowed}")
    return number


def check_seed(name: str, value: Any) -> list[int]:
    """Return the entropy of a root seed as a list."""
    several = isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)
    several = several or isinstance(value, np.ndarray)
    try:
        entropy = [check_integer(name, part, 0) for part in (value if several else [value])]
    except (ValueError, TypeError):  # an array without an axis has no parts
        entropy = []
    if not entropy:
        allowed = "a whole number of at least 0, or several"
        raise ValueError(f"{name}={shown(value)} must be a seed; allowed: {allowed}")
    return entropy


def check_kind(name: str, value: Any, kind: type, example: str) -> None:
    """Raise if not an instance of `kind`."""
    if not isinstance(value, kind):
        what = kind.__name__
        raise ValueError(
            f"{name}={shown(value)} must be of type {what}; allowed: one such as {example}"
        )


def check_function(name: str, value: Any) -> Any:
    """Return a callable."""
    if not callable(value):
        raise ValueError(f"{name}={shown(value)} is not a function; allowed: a callable")
    return value


def check_generator(name: str, value: Any) -> Rng:
    """Return a NumPy generator."""
    check_kind(name, value, Rng, "numpy.random.default_rng(0)")
    generator: Rng = value
    return generator


def check_noise(name: str, value: Any) -> Rng:
    """Return a source of noise for given rewards; by default the secure generator."""
    return secure_generator() if value is None else check_generator(name, value)


_MOST_LISTED = 12
"""Most choices that a message lists; of more it lists the nearest."""


def _bare(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter not in " -_")


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Return a word that is one of several; the message lists the nearest of a long list."""
    if isinstance(value, str) and value in choices:
        return value
    meant = {_bare(each): each for each in choices}
    near = difflib.get_close_matches(_bare(str(value)[:100]), meant, n=3, cutoff=0.5)
    words = [repr(meant[each]) for each in near]
    hint = f"; did you mean {' or '.join(words)}?" if words else ""
    listed = ", ".join(map(repr, choices))
    if len(choices) > _MOST_LISTED:
        few = ", ".join(map(repr, choices[:3]))
        listed = f"one of {len(choices)} names" + ("" if words else f", such as {few}")
    raise ValueError(f"{name}={shown(value)} is unknown; allowed: {listed}{hint}")


def check_flag(name: str, value: Any) -> bool:
    """Return True or False."""
    if not isinstance(value, bool):
        raise ValueError(f"{name}={shown(value)} is not a truth value; allowed: True, False")
    return value


def check_values(name: str, value: Any, low: float, high: float) -> Floats:
    """Return an array of numbers from `low` to `high` as floats."""
    allowed = f"numbers from {low:g} to {high:g}"
    try:
        values = np.asarray(value)
    except ValueError:
        raise ValueError(f"{name}={shown(value)} is not an array; allowed: {allowed}") from None
    if values.ndim == 0:
        number = value[()] if isinstance(value, np.ndarray) else value
        values = np.asarray(check_number(name, number, allowed))
    if values.dtype == object:  # integers beyond 64 bits, or no numbers
        with contextlib.suppress(ValueError):
            numbers_of = [check_number(name, each, allowed) for each in values.flat]
            values = np.reshape(numbers_of, values.shape)
    if values.dtype.kind not in "iuf":
        raise ValueError(f"{name}={shown(value)} does not contain numbers; allowed: {allowed}")
    floats = values.astype(np.float64)
    if not np.all((floats >= low) & (floats <= high)):
        raise ValueError(f"{name}={shown(value)} is out of range; allowed: {allowed}")
    return floats
