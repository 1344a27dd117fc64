"""A run as a function of a table and of a tape of random bits, and a bijection between tapes.

A tape is a sequence of independent random words of 64 bits. All draws of a program from NumPy's
generator are made of them, in Python and in compiled loops alike: with the same table and the same
tape the output is the same.

**The bijection.** Call T the following map of tapes, for a program, a table and a list of shifts
b. While the program runs, it receives the words one after the other. Some of the uniform numbers u
made of them are moved: z = F⁻¹(u), with F the distribution function of the Laplace distribution of
scale 1, becomes z + b, and the program gets F(z + b) in place of u. Whether a number is moved, and
by which b, depends on earlier draws and reads, never on the number itself.

*Lemma* (:prf:ref:`lem-tape`). For every program, T is a bijection of tapes, up to sets of
probability 0, and for every event A of outputs on the table

    P(A) = E[w·1{A on the tape T(u)}],    w = ∏ exp(∣z∣ − ∣z + b∣) over the numbers moved.

*Proof.* Number the words. The n-th word of T(u) depends on the first n words of u, and on the n-th
by an increasing map of (0, 1) onto itself that the earlier ones fix: so the earlier words of T(u)
determine those of u, and then the n-th word determines the n-th. By induction T has an inverse. Its
matrix of derivatives is triangular, with 1 on the diagonal where nothing is moved, and else with
f(z + b)/f(z) = exp(∣z∣ − ∣z + b∣), where f is the density of F. Their product is w, and the change
of variables v = T(u) in P(A) = ∫ 1{A on the tape v} dv gives the formula. (The event needs finitely
many words with probability 1; for those that need at most n the integral has n dimensions, and n →
∞.) ∎

A bad choice of shifts makes w vary and A rare on T(u): it costs power, but never validity. With the
right one the output on a neighbour, with T(u), equals the output on the table with u.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import carray, config, types  # type: ignore[attr-defined]
from numba.extending import register_jitable
from numpy.typing import NDArray

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._engine.kernels import FromC
from dpbandits._secure import CalledBits

__all__ = ["ALL", "CHUNK", "DRAWS", "OWN", "STILL", "Keys", "Move", "Tapes"]

Keys = NDArray[np.uint64]
"""Tapes, each by its first word and its step, shape (n, 2)."""

OWN, ALL, DRAWS = range(3)
"""Clocks of a move: rewards read of the changed arm, all rewards read, or numbers drawn."""
CHUNK = 4096
"""Most runs of one call of a compiled loop."""
MOST_SHIFTS = 48
MOST_ARMS = 127

# Offsets, in words of 64 bits, in the memory shared by programs, moves and the bit generator.
_POSITION, _RUN, _DRAWN, _SEEN, _SINCE, _DONE, _COUNT, _CLOCK, _ARM, _ARMS = range(10)
_AFTER = 16
_SKIP = _AFTER + MOST_SHIFTS
_BY = _SKIP + MOST_SHIFTS
_READ = _BY + MOST_SHIFTS
_KEYS = _READ + MOST_ARMS + 1
_WEIGHTS = _KEYS + 2 * CHUNK
_USED = _WEIGHTS + CHUNK
_SIZE = _USED + CHUNK


class Move(NamedTuple):
    """The uniform numbers to move, and their shifts for a change of 1 of the reward.

    Attributes
    ----------
    clock : int
        The clock: `OWN`, `ALL` or `DRAWS`.
    shifts : tuple of ((int, int), float)
        Pairs of a place (n, s) and a shift b, in increasing order of places: of the numbers drawn
        after the clock has passed n, and before the next reward is read, the one that follows s
        others is moved by b. A number is moved at most once.

    Examples
    --------
    >>> STILL.shifts, Move(OWN, (((0, 0), 0.5),)).total
    ((), 0.5)
    """

    clock: int
    shifts: tuple[tuple[tuple[int, int], float], ...]

    @property
    def total(self) -> float:
        """Sum of the sizes of the shifts, a bound on all log weights for a change of 1."""
        return math.fsum(abs(by) for _, by in self.shifts)


STILL = Move(OWN, ())
"""The empty move."""


def _called_from_c(kind: Any, result: Any) -> Callable[[Callable[..., Any]], Any]:
    """Make a function of an address callable from C: compiled, unless the compiler is off."""

    def made(function: Callable[..., Any]) -> Any:
        if not config.DISABLE_JIT:  # type: ignore[attr-defined]
            return FromC(function, kind(types.voidptr))

        def call(address: int) -> int | float:
            with np.errstate(over="ignore"):
                found = function(ctypes.c_void_p(address))
            return float(found) if result is ctypes.c_double else int(found)

        return _Callback(ctypes.CFUNCTYPE(result, ctypes.c_void_p)(call))

    return made


class _Callback:
    """A function in Python with its address for C."""

    def __init__(self, called: Any) -> None:
        self._called = called
        self.address = ctypes.cast(called, ctypes.c_void_p).value


@register_jitable
def _word(memory):  # type: ignore[no-untyped-def]  # noqa: ANN001
    """Return the next word of the current run's tape."""
    whole = carray(memory, _SIZE, dtype=np.int64)
    words = carray(memory, _SIZE, dtype=np.uint64)
    run = whole[_READ + whole[_ARMS]]
    if run != whole[_RUN]:
        whole[_RUN] = run
        whole[_POSITION] = whole[_DRAWN] = whole[_DONE] = 0
        whole[_SEEN] = -1
    whole[_POSITION] += 1
    whole[_USED + run] = whole[_POSITION]
    z = words[_KEYS + 2 * run]
    z += np.uint64(whole[_POSITION]) * words[_KEYS + 2 * run + 1]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@_called_from_c(types.uint64, ctypes.c_uint64)
def _next_64(memory):  # type: ignore[no-untyped-def]  # noqa: ANN001
    return _word(memory)  # type: ignore[no-untyped-call]


@_called_from_c(types.uint32, ctypes.c_uint32)
def _next_32(memory):  # type: ignore[no-untyped-def]  # noqa: ANN001
    return np.uint32(_word(memory) >> np.uint64(32))  # type: ignore[no-untyped-call]


@_called_from_c(types.double, ctypes.c_double)
def _next_double(memory):  # type: ignore[no-untyped-def]  # noqa: ANN001
    """Return the next uniform number, moved if the move says so."""
    word = _word(memory)  # type: ignore[no-untyped-call]
    u = (word >> np.uint64(11)) * 2.0**-53
    whole = carray(memory, _SIZE, dtype=np.int64)
    if whole[_COUNT] == 0:
        return u
    reads = 0
    for arm in range(whole[_ARMS]):
        reads += whole[_READ + arm]
    whole[_SINCE] = 0 if reads != whole[_SEEN] else whole[_SINCE] + 1
    whole[_SEEN] = reads
    whole[_DRAWN] += 1
    clock = reads
    if whole[_CLOCK] == OWN:
        clock = whole[_READ + whole[_ARM]]
    elif whole[_CLOCK] == DRAWS:
        clock = whole[_DRAWN]
    numbers = carray(memory, _SIZE, dtype=np.float64)
    by, done = 0.0, whole[_DONE]
    for k in range(whole[_COUNT]):
        here = whole[_CLOCK] == DRAWS or whole[_SINCE] == whole[_SKIP + k]
        if here and clock > whole[_AFTER + k] and not done >> k & 1:
            if by == 0.0:
                by = numbers[_BY + k]
            done |= 1 << k
    whole[_DONE] = done
    if by == 0.0:
        return u
    # all 64 bits are moved, from the nearer end, so each multiple of 2⁻⁵³ has the right probability
    below = word >> np.uint64(63) == 0
    end = (float(word if below else ~word) + 0.5) * 2.0**-64
    z = math.log(2.0 * end) if below else -math.log(2.0 * end)
    moved = z + by
    numbers[_WEIGHTS + whole[_RUN]] += abs(z) - abs(moved)
    if moved < 0.0:
        return math.floor(0.5 * math.exp(moved) * 2.0**53) * 2.0**-53
    return 1.0 - math.ceil(0.5 * math.exp(-moved) * 2.0**53) * 2.0**-53


class _TapeBits(CalledBits):
    """A bit generator whose words are those of tapes."""

    def __init__(self, memory: Ints) -> None:
        self._kept = memory
        calls = [each.address for each in (_next_64, _next_32, _next_double)]
        super().__init__(memory.ctypes.data, calls)

    def spawn(self, n_children: int) -> list[np.random.PCG64]:
        """Return generators whose seeds are words of the tape; their numbers are never moved."""
        address: Any = _next_64.address
        word = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)(address)
        return [np.random.PCG64(word(self._kept.ctypes.data)) for _ in range(n_children)]


class Tapes:
    """Tapes from which programs draw, one for each run, and the current move.

    Attributes
    ----------
    rng : numpy.random.Generator
        Generator for the programs.
    read : numpy.ndarray of int
        Written by programs: the number of rewards read of each arm; the entry after the last arm's
        is the number of the run, which compiled loops set.

    Examples
    --------
    >>> tapes = Tapes()
    >>> keys = new_keys(np.random.default_rng(0), 1)
    >>> tapes.put(keys, n_arms=1)
    >>> first = tapes.rng.random(3)
    >>> tapes.put(keys, n_arms=1)
    >>> (tapes.rng.random(3) == first).all(), tapes.used(1)
    (np.True_, array([3]))
    """

    def __init__(self) -> None:
        self._whole: Ints = np.zeros(_SIZE, dtype=np.int64)
        self._words, self._numbers = self._whole.view(np.uint64), self._whole.view(np.float64)
        self.read = self._whole[_READ:_KEYS]
        self._used: tuple[Move, float, int] | None = None
        self.rng: Rng = np.random.Generator(_TapeBits(self._whole))  # type: ignore[arg-type]

    def put(self, keys: Keys, n_arms: int) -> None:
        """Insert tapes; the next word drawn is the first word of the first tape.

        Shapes: `keys` (n, 2).
        """
        n, whole = len(keys), self._whole
        self._words[_KEYS : _KEYS + 2 * n] = keys.ravel()
        whole[_WEIGHTS : _WEIGHTS + n] = 0
        whole[_USED : _USED + n] = 0
        whole[_RUN] = -1
        whole[_ARMS] = n_arms
        self.read[: n_arms + 1] = 0

    def use(self, move: Move, change: float, arm: int) -> None:
        """Set the move from now on."""
        used = move, change, arm
        if used == self._used:
            return
        self._used, whole, count = used, self._whole, len(move.shifts)
        whole[_COUNT], whole[_CLOCK], whole[_ARM] = count, move.clock, arm
        if count:
            places, by = zip(*move.shifts, strict=True)
            whole[_AFTER : _AFTER + count], whole[_SKIP : _SKIP + count] = zip(*places, strict=True)
            self._numbers[_BY : _BY + count] = [change * each for each in by]

    def log_weights(self, n: int) -> Floats:
        """Return log w of the first `n` runs, a copy.

        Shapes: the result (n,).
        """
        return self._numbers[_WEIGHTS : _WEIGHTS + n].copy()

    def used(self, n: int) -> Ints:
        """Return the number of words drawn by each of the first `n` runs, a copy.

        Shapes: the result (n,).
        """
        return self._whole[_USED : _USED + n].copy()


def new_keys(source: Rng, n: int) -> Keys:
    """Draw tapes: each is a separate SplitMix64 sequence (Steele, Lea & Flood 2014).

    Shapes: the result (n, 2).
    """
    keys: Keys = source.integers(0, 2**64, (n, 2), dtype=np.uint64)
    keys[:, 1] |= np.uint64(1)
    return keys
