"""Whether an object runs the program of its class, which is what a known law is of."""

from __future__ import annotations

from typing import Any

from dpbandits.algorithms import (
    DPNAS,
    DPRSE,
    DPRUCB,
    DPSE,
    LDPRSE,
    DPExponentialNAS,
    DPSEIdentifier,
    GuessAndDouble,
)

__all__ = ["runs_its_own"]

_STOPPING = ("run", "stop")
_METHODS: dict[type, tuple[str, ...]] = {
    **dict.fromkeys((DPSE, DPRSE, LDPRSE, DPRUCB, GuessAndDouble), ("play",)),
    DPSEIdentifier: ("decide",),
    **dict.fromkeys((DPNAS, DPExponentialNAS), _STOPPING),
}
_PROGRAMS = {
    kind: {name: getattr(kind, name) for name in names} for kind, names in _METHODS.items()
}


def runs_its_own(target: Any) -> bool:
    """Return whether a law of the target's class is that of its runs.

    Parameters
    ----------
    target : object
        An algorithm or a stopping rule.

    Returns
    -------
    bool
        Whether its class is one whose law is known, and no subclass of it; and whether its program
        is the one that this class came with.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> class Subclass(dpb.DPSE):
    ...     pass
    >>> runs_its_own(dpb.DPSE(epsilon=1.0)), runs_its_own(Subclass(epsilon=1.0))
    (True, False)
    """
    programs = _PROGRAMS.get(type(target), {})
    found = (
        getattr(getattr(target, name), "__func__", None) is program
        for name, program in programs.items()
    )
    return bool(programs) and all(found)
