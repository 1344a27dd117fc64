"""Arguments of the command line, from text to values."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from dpbandits._validation import check_choice, check_integer
from dpbandits.algorithms import registry
from dpbandits.regret.base import RegretAlgorithm

__all__ = [
    "configure",
    "find_name",
    "jobs_of",
    "make_folder",
    "number",
    "numbers",
    "plain_algorithms",
    "read_literal",
    "whole",
]

Kind = TypeVar("Kind")


def whole(name: str, text: str, minimum: int) -> int:
    """Read a whole number, such as 50000000 or 5e7."""
    try:
        value: Any = int(text)
    except ValueError:
        try:
            value = float(text)
        except ValueError:
            value = text
    return check_integer(name, value, minimum)


def number(name: str, text: str) -> float:
    """Read a number."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{name}={text!r} is no number; allowed: a number") from None


def numbers(name: str, text: str, allowed: str) -> list[float]:
    """Read numbers that are split by commas; `allowed` says in errors what they may be."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"{name}={text!r} is no list of numbers; allowed: {allowed}") from None


def jobs_of(text: str) -> int:
    """Read a number of workers; -1 is all processors."""
    try:
        return -1 if text == "-1" else whole("jobs", text, 1)
    except ValueError as error:
        raise ValueError(f"{error}, or -1 for all processors") from None


def read_literal(text: str) -> Any:
    """Read a number, None or a quoted word as Python does; anything else stays text."""
    try:
        return float(text) if text in ("inf", "nan") else ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text


def make_folder(path: Path | None) -> None:
    """Make the folder of a file that is written at the end, so that it fails at the start."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)


def find_name(what: str, known: Mapping[str, Any], name: str) -> str:
    """Return the name among those known that is meant: case, blanks and hyphens do not matter.

    Examples
    --------
    >>> find_name("algorithm", {"DPSE": 1, "DPUCB": 2}, "dp-se")
    'DPSE'
    """

    def bare(text: str) -> str:
        return "".join(character for character in text.lower() if character not in " -_")

    meant = [each for each in known if bare(each) == bare(name)]
    return meant[0] if len(meant) == 1 else check_choice(what, name, tuple(known))


def configure(
    what: str,
    known: Mapping[str, type[Kind]],
    name: str,
    options: Sequence[str],
    shorthands: Mapping[str, str | None] | None = None,
    strict: bool = False,
) -> Kind:
    """Build one of the known configurations from settings such as ``epsilon=0.25``.

    Parameters
    ----------
    what : str
        What errors call it, such as "algorithm".
    known : mapping of str to type
        Frozen dataclasses by name.
    name : str
        Which of them.
    options : sequence of str
        Its arguments, each NAME=VALUE.
    shorthands : mapping of str to (str or None), optional
        Arguments with options of their own, such as ``--epsilon``; left out where they are None
        or the configuration has no such argument.
    strict : bool
        Whether to refuse a shorthand that the configuration has no argument for.

    Raises
    ------
    ValueError
        If a name is unknown, or a value missing, given twice or refused.
    """
    name = find_name(what, known, name)
    kind = known[name]
    arguments = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for option in options:
        argument, equals, text = option.partition("=")
        if not equals:
            raise ValueError(f"set={option!r} is no setting; allowed: NAME=VALUE, as epsilon=0.25")
        if argument not in arguments:
            allowed = ", ".join(arguments) or "none"
            raise ValueError(f"set={argument!r} is no argument of {name}; allowed: {allowed}")
        values[argument] = read_literal(text)
    for argument, given in (shorthands or {}).items():
        if given is not None and argument not in arguments and strict:
            raise ValueError(f"{argument}={given!r} is no argument of {name}; allowed: without")
        if given is not None and argument in arguments:
            if argument in values:
                raise ValueError(f"{argument}={given!r} is given twice; allowed: once")
            values[argument] = read_literal(given)
    for argument, field in arguments.items():
        if field.default is dataclasses.MISSING and argument not in values:
            raise ValueError(f"{argument} is missing; allowed: --set {argument}=VALUE for {name}")
    if not kind.__module__.startswith("dpbandits."):
        _check_kinds(arguments, values)
    return kind(**values)


def _check_kinds(arguments: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Refuse words where one's own class says int or float; the package's classes look closer."""
    for argument, value in values.items():
        wanted = str(getattr(arguments[argument].type, "__name__", arguments[argument].type))
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if wanted == "int" and not (is_number and float(value).is_integer()):
            raise ValueError(f"{argument}={value!r} is no whole number; allowed: one")
        if wanted == "float" and not is_number:
            raise ValueError(f"{argument}={value!r} is no number; allowed: one")


def plain_algorithms() -> dict[str, type[RegretAlgorithm]]:
    """Return the regret-minimising algorithms that are made from numbers and words alone."""
    return {
        name: kind
        for name, kind in registry.items()
        if all("RegretAlgorithm" not in str(f.type) for f in dataclasses.fields(kind))  # type: ignore[arg-type]
    }
