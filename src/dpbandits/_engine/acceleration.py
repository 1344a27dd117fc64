"""Accelerators: functions that play an algorithm faster than its plain program, and when they may.

Each algorithm has one plain program: `play`, `decide` or `stop`; a counter, which is not an
algorithm, has `counter`. An accelerator is a function that gives the same distribution of runs, for
exactly one class, or also its subclasses where it is registered so, and one type of input. It is
used only while the class has not replaced the program that it accelerates: a subclass, whatever it
changes, is otherwise played by its own program, unless accelerators are registered for it as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
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
    "plays_many",
    "what_plays",
]

REFERENCE = "reference"
"""Name of an algorithm's plain program in ``how=...``."""
PROGRAMS = ("play", "decide", "stop", "counter")
"""Names of the methods that are plain programs, in the order of the search."""
_FOLDERS = ("dpbandits._engine.accelerators.", "dpbandits.auditing.")
_WITHIN = " within each part"
_ONE_DIGIT_UP = Context(prec=1, rounding=ROUND_CEILING)

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
    """Type of input of exact distributions, with which an audit needs no runs.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> [each.name for each in accelerators(dpb.DPSE, ExactRun)], accelerators(dpb.UCB, ExactRun)
    (['integrated'], ())
    """


@dataclass(frozen=True)
class Accelerator:
    """A function that plays an algorithm faster than its plain program; `accelerates` registers it.

    Attributes
    ----------
    run : callable
        Plays the algorithm, its first argument.
    name : str
        Its name in ``how=...``.
    error, error_a_pull : float
        The distribution of a run of T pulls is within ``error + T * error_a_pull`` of the
        program's, in total variation.
    program : callable
        The plain program that it accelerates.
    fits : callable, optional
        Returns whether it plays a given algorithm; None means every algorithm of the class.
    least_arms : int
        Number of arms from which on it is the default.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> from dpbandits.rewards.sources import DrawnRewards
    >>> accelerators(dpb.DPUCB, DrawnRewards)[0].name
    'skipping'
    """

    run: Callable[..., Any]
    name: str
    error: float
    error_a_pull: float
    program: Callable[..., Any]
    fits: Callable[[Any], bool] | None = None
    least_arms: int = 1

    def distance(self, pulls: int) -> float:
        """Bound the distance between a run's distribution and the plain program's."""
        return min(1.0, self.error + pulls * self.error_a_pull)

    @property
    def many(self) -> Callable[..., Any] | None:
        """Function that plays many runs at once, as `run` plays one; None if none is registered."""
        return _many.get(self.run)


_entered: dict[tuple[type, type], dict[str, Accelerator]] = {}
_bases: set[tuple[type, type]] = set()
_many: dict[Callable[..., Any], Callable[..., Any]] = {}


def _program(kind: type) -> Callable[..., Any]:
    """Return the plain program of a class."""
    found: Callable[..., Any] = next(
        getattr(kind, name) for name in PROGRAMS if callable(getattr(kind, name, None))
    )
    return found


def accelerates(
    *kinds: type,
    on: type,
    name: str,
    error: float = 0.0,
    error_a_pull: float = 0.0,
    when: Callable[[Any], bool] | None = None,
    subclasses: bool = False,
    least_arms: int = 1,
) -> Callable[[Function], Function]:
    """Register a function as an accelerator: a decorator."""
    error = check_range("error", error, 0.0, 1.0)
    error_a_pull = check_range("error_a_pull", error_a_pull, 0.0, 1.0)

    def enter(function: Function) -> Function:
        for kind in kinds:
            if not any(callable(getattr(kind, program, None)) for program in PROGRAMS):
                raise ValueError(f"kind={kind!r} has no program; allowed: one of {PROGRAMS}")
            home = function.__module__
            if home != kind.__module__ and not home.startswith(_FOLDERS):
                raise ValueError(
                    f"accelerator={function.__qualname__!r} of {kind.__name__} is in {home}; "
                    f"allowed: {kind.__module__}, so that workers that load the class find it"
                )
            entries = _entered.setdefault((kind, on), {})
            if name in entries or name == REFERENCE:
                raise ValueError(f"name={name!r} is taken; allowed: another for {kind.__name__}")
            entries[name] = Accelerator(
                function, name, error, error_a_pull, _program(kind), when, least_arms
            )
            if subclasses:
                _bases.add((kind, on))
        return function

    return enter


def plays_many(run: Callable[..., Any]) -> Callable[[Function], Function]:
    """Register a function that plays many runs in one compiled call: a decorator.

    It starts the streams of random numbers one after the other, and makes the accelerator's draws
    from each, so that the runs are the same to the bit. Its last argument is the `Streams` of n
    runs, in place of the accelerator's generator. For a regret algorithm the two arguments before
    it are the gaps (K,) and whether each run draws an order of the arms, and it returns regret (n,
    C), pulls (n, K) and the ends of each run's epochs; for an identifier it returns recommendations
    (n,), −1 for runs that were cut off, and pulls (n, K).
    """

    def enter(function: Function) -> Function:
        _many[run] = function
        return function

    return enter


def accelerators(kind: type, on: type) -> tuple[Accelerator, ...]:
    """Return the accelerators of a class on a type of input; the first that fits is the default."""
    base = next((each for each in kind.__mro__[1:] if (each, on) in _bases), kind)
    entries = _entered.get((kind, on)) or _entered.get((base, on))
    if not entries:
        return ()
    return tuple(each for each in entries.values() if each.program is _program(kind))


def entered() -> dict[tuple[type, type], tuple[Accelerator, ...]]:
    """Return every registered accelerator."""
    return {key: tuple(entries.values()) for key, entries in _entered.items()}


def _parts(algorithm: Any, on: type, pulls: int = 1) -> Iterable[tuple[Any, int]]:
    """Return the algorithms to which a plain program delegates, and the number of pulls of each."""
    found: Iterable[tuple[Any, int]] = ()
    if on not in (TableRuns, ExactRun) and hasattr(algorithm, "parts"):
        found = algorithm.parts(pulls)
    return found


def _fitting(algorithm: Any, on: type) -> dict[str, Accelerator]:
    """Return the accelerators of the algorithm itself by name: the default comes first."""
    found = accelerators(type(algorithm), on)
    return {each.name: each for each in found if each.fits is None or each.fits(algorithm)}


def _names(algorithm: Any, on: type) -> tuple[str, ...]:
    """Return the names of the accelerators of an algorithm and of those to which it delegates."""
    within = [name for part, _ in _parts(algorithm, on) for name in _names(part, on)]
    return tuple(dict.fromkeys([*_fitting(algorithm, on), *within]))


def accelerator_for(
    algorithm: object, on: type, how: str | None = None, n_arms: int = 1
) -> Accelerator | None:
    """Return the accelerator of an algorithm on a type of input; None for its plain program."""
    found = _fitting(algorithm, on)
    if how is None:
        compiled = not numba.config.DISABLE_JIT  # type: ignore[attr-defined]
        meant = [each for each in found.values() if each.least_arms <= n_arms]
        best = max(meant, key=lambda each: each.least_arms, default=None)
        return best if compiled else None
    names = (*_names(algorithm, on), REFERENCE)
    if how not in names:
        listed = ", ".join(map(repr, names))
        for each in (algorithm, *(part for part, _ in _parts(algorithm, on))):
            if any(fast.name == how for fast in accelerators(type(each), on)):
                raise ValueError(f"how={how!r} does not fit {each!r}; allowed: {listed}")
    return found.get(check_choice("how", how, names))


def what_plays(algorithm: object, on: type, how: str | None, pulls: int, n_arms: int = 1) -> str:
    """Describe what plays an algorithm, and the distance of its law from the plain program's."""
    name, error = _played(algorithm, on, how, pulls, n_arms)
    if not error:
        return name
    return f"{name}: its law up to {float(_ONE_DIGIT_UP.create_decimal(f'{error:.12g}')):.0e}"


def _played(
    algorithm: Any, on: type, how: str | None, pulls: int, n_arms: int
) -> tuple[str, float]:
    """Return the name of what plays and the error of its distribution, summed over parts."""
    fast = accelerator_for(algorithm, on, how, n_arms)
    if fast is not None:
        return fast.name, fast.distance(pulls)
    parts = _parts(algorithm, on, pulls)
    played = [_played(part, on, how, size, n_arms) for part, size in parts]
    names = {name.removesuffix(_WITHIN): None for name, _ in played if name != REFERENCE}
    told = f"{' and '.join(names)}{_WITHIN}" if names else REFERENCE
    return told, min(1.0, sum(error for _, error in played))
