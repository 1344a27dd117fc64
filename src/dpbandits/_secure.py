"""Random numbers of the operating system's secure generator, behind NumPy's `Generator`.

Noise whose seed is known can be subtracted, and the state of PCG64 can be computed from its output.
So noise on a user's own rewards is drawn from this generator, unless a seed is given.
"""

from __future__ import annotations

import ctypes
import itertools
import operator
import os
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

__all__ = ["CalledBits", "secure_generator"]

_RESULTS: tuple[Any, ...] = (ctypes.c_uint64, ctypes.c_uint32, ctypes.c_double)


class _Interface(NamedTuple):
    """Interface of a bit generator for compiled loops."""

    state_address: int
    state: ctypes.c_void_p
    next_uint64: Any
    next_uint32: Any
    next_double: Any
    bit_generator: ctypes.c_void_p


class CalledBits:
    """A bit generator for NumPy's `Generator`, in Python and in compiled loops.

    It consists of the addresses of three C functions, for a word of 64 bits, one of 32 and a
    uniform number, and of the memory that is passed to them.
    """

    def __init__(self, memory: int, calls: Sequence[int]) -> None:
        self._table = (ctypes.c_void_p * 5)(memory, *calls, calls[0])  # the last draws raw words
        self.lock = threading.Lock()
        new = ctypes.PYFUNCTYPE(
            ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
        )(("PyCapsule_New", ctypes.pythonapi))
        address = ctypes.addressof(self._table)
        self.capsule = new(address, b"BitGenerator", None)
        pointer = ctypes.c_void_p
        word, half, uniform = (
            ctypes.cast(call, ctypes.CFUNCTYPE(result, pointer))
            for call, result in zip(calls, _RESULTS, strict=True)
        )
        self.ctypes = _Interface(memory, pointer(memory), word, half, uniform, pointer(address))


def _words(n_bytes: int) -> Any:
    """Return an iterator over integers of `n_bytes` random bytes, without a line of Python.

    An interrupt is raised between lines of Python: within a call from C it would be lost, and a
    word with it. Nothing is buffered between calls, or a forked process would draw it again.
    """
    return map(int.from_bytes, map(os.urandom, itertools.repeat(n_bytes)))


class _SecureBits(CalledBits):
    """The operating system's secure generator."""

    def __init__(self) -> None:
        high = map(operator.rshift, _words(8), itertools.repeat(11))
        uniform = map(operator.mul, high, itertools.repeat(2.0**-53))
        # passed, but not read: the functions take no argument
        self._memory = ctypes.c_uint64()
        self._called = [
            ctypes.CFUNCTYPE(result)(source.__next__)
            for result, source in zip(_RESULTS, (_words(8), _words(4), uniform), strict=True)
        ]
        calls = [ctypes.cast(f, ctypes.c_void_p).value or 0 for f in self._called]
        super().__init__(ctypes.addressof(self._memory), calls)

    def spawn(self, n_children: int) -> list[_SecureBits]:
        """Return independent generators."""
        return [_SecureBits() for _ in range(n_children)]


def secure_generator() -> np.random.Generator:
    """Return a generator whose bits are those of the operating system's secure generator.

    It has no seed and no state, so nobody can repeat its draws: neither the publisher of a result
    nor an attacker who wants to subtract the noise. Plain and compiled programs take it as any
    other generator.

    Returns
    -------
    numpy.random.Generator
        The generator; a draw takes about three microseconds.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> rule = dpb.DPNAS(epsilon=1, alpha=0.5, beta=0.05)
    >>> outcome = rule.run([0.75] * 20_000, dpb.mechanisms.secure_generator())
    >>> outcome.halted, bool(abs(outcome.estimate - 0.75) < 0.375)
    (True, True)
    """
    return np.random.Generator(_SecureBits())  # type: ignore[arg-type]
