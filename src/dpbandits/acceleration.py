"""Accelerators: what plays an algorithm faster than its own plain program, and when it may.

Each algorithm has one plain program: `play`, `decide` or `stop`. An accelerator is a function that
gives the same law for exactly one class and one type of input. It is used only while the program
that it stands for is the class's own: a subclass, whatever it changes, is played by its own
program, unless accelerators are entered for it as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numba

from dpbandits._validation import check_choice, check_range

__all__ = [
    "PROGRAMS",
    "REFERENCE",
    "Accelerator",
    "ExactRun",
    "TableRuns",
    "accelerates",
    "accelerator_for",
    "accelerators",
]

REFERENCE = "reference"
"""Name of an algorithm's plain program, where a name of what plays is asked for."""
PROGRAMS = ("play", "decide", "stop", "counter")
"""Names of the methods that are plain programs, in the order in which they are looked for."""
_FOLDERS = ("dpbandits.fast.", "dpbandits.auditing.")

Function = TypeVar("Function", bound=Callable[..., Any])


class TableRuns:
    """Type of input of the accelerators that play a table of rewards many times.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> [each.name for each in accelerators(dpb.DPUCB, TableRuns)]
    ['pull by pull']
    """


class ExactRun:
    """Type of input of the exact laws, by which what is audited need not be run at all.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> [each.name for each in accelerators(dpb.DPSE, ExactRun)], accelerators(dpb.UCB, ExactRun)
    (['integrated'], ())
    """


@dataclass(frozen=True)
class Accelerator:
    """What plays an algorithm faster than its own plain program; `accelerates` enters it.

    Attributes
    ----------
    run : callable
        Plays the algorithm, its first argument.
    name : str
        What it is called in ``how=...``.
    error : float
        Total-variation distance of a run's law from the program's, at most.
    program : callable
        The plain program for which it stands.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> from dpbandits.rewards.streams import DrawnRewards
    >>> accelerators(dpb.DPUCB, DrawnRewards)[0].name
    'skipping'
    """

    run: Callable[..., Any]
    name: str
    error: float
    program: Callable[..., Any]

    def __str__(self) -> str:
        return f"{self.name}: its law up to {self.error:.0e}" if self.error else self.name


_entered: dict[tuple[type, type], dict[str, Accelerator]] = {}


def _program(kind: type) -> Callable[..., Any]:
    """Return the plain program of a class."""
    found: Callable[..., Any] = next(
        getattr(kind, name) for name in PROGRAMS if callable(getattr(kind, name, None))
    )
    return found


def accelerates(
    *kinds: type, on: type, name: str, error: float = 0.0
) -> Callable[[Function], Function]:
    """Enter a function as an accelerator: a decorator.

    Parameters
    ----------
    *kinds : type
        Classes of algorithms, each exactly as it is: subclasses are not meant.
    on : type
        Type of the input, exactly: of a source of rewards, such as
        `dpbandits.rewards.streams.DrawnRewards`, or `TableRuns`, or `ExactRun`.
    name : str
        What it is called in ``how=...``. The first that is entered for a class and a type of
        input is the default.
    error : float
        Total-variation distance of a run's law from that of the plain program, in [0, 1], at most.

    Returns
    -------
    callable
        The decorator; it returns the function as it is.

    Raises
    ------
    ValueError
        If a class has no plain program or has an accelerator of that name already, or if the
        function stands elsewhere than in `dpbandits.fast` or in the module of the class, where
        worker processes would not find it.
    """
    error = check_range("error", error, 0.0, 1.0)

    def enter(function: Function) -> Function:
        for kind in kinds:
            if not any(callable(getattr(kind, program, None)) for program in PROGRAMS):
                raise ValueError(f"kind={kind!r} has no program; allowed: one of {PROGRAMS}")
            home = function.__module__
            if home != kind.__module__ and not home.startswith(_FOLDERS):
                raise ValueError(
                    f"accelerator={function.__qualname__!r} of {kind.__name__} stands in {home}; "
                    f"allowed: {kind.__module__}, so that workers that load the class find it"
                )
            entries = _entered.setdefault((kind, on), {})
            if name in entries or name == REFERENCE:
                raise ValueError(f"name={name!r} is taken; allowed: another for {kind.__name__}")
            entries[name] = Accelerator(function, name, error, _program(kind))
        return function

    return enter


def accelerators(kind: type, on: type) -> tuple[Accelerator, ...]:
    """Return the accelerators of a class on a type of input: the default comes first.

    Parameters
    ----------
    kind, on : type
        Class of the algorithm and type of the input, both exactly.

    Returns
    -------
    tuple of Accelerator
        Those whose plain program is in force; empty if there is none.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> from dpbandits.rewards.streams import DrawnRewards
    >>> [each.name for each in accelerators(dpb.DPUCB, DrawnRewards)]
    ['skipping', 'pull by pull']
    """
    entries = _entered.get((kind, on))
    if not entries:
        return ()
    return tuple(each for each in entries.values() if each.program is _program(kind))


def entered() -> dict[tuple[type, type], tuple[Accelerator, ...]]:
    """Return all that is entered.

    Returns
    -------
    dict of (type, type) to tuple of Accelerator
        Accelerators by class and type of input.
    """
    return {key: tuple(entries.values()) for key, entries in _entered.items()}


def accelerator_for(algorithm: object, on: type, how: str | None = None) -> Accelerator | None:
    """Return what plays an algorithm on a type of input; None is its plain program.

    Parameters
    ----------
    algorithm : object
        The algorithm.
    on : type
        Type of the input, exactly.
    how : str, optional
        Name of an accelerator, or "reference" for the plain program. None is the first
        accelerator that was entered, or, if there is none or if Numba's compiler is switched off
        (``NUMBA_DISABLE_JIT=1``), the plain program.

    Returns
    -------
    Accelerator or None
        The accelerator.

    Raises
    ------
    ValueError
        If there is no accelerator of that name.
    """
    found = accelerators(type(algorithm), on)
    if how is None:
        compiled = not numba.config.DISABLE_JIT  # type: ignore[attr-defined]
        return found[0] if found and compiled else None
    names = {each.name: each for each in found}
    return names.get(check_choice("how", how, (*names, REFERENCE)))
