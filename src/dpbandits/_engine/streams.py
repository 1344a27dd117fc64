"""Seeds of replicates, and their streams of random numbers, many at a time.

NumPy takes 20 microseconds for a seed and 20 more for a generator, as long as a compiled run of
elimination. Here the children of one root are numbers in a range, the states of their generators
are computed for a whole chunk, and one generator is set to the start of one stream after the other,
in compiled loops as well. The bits are those of ``default_rng(child)``.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._engine.kernels import copy_into, interpreted, kernel

__all__ = [
    "Seeds",
    "Streams",
    "begin_order",
    "begin_stream",
    "generators",
    "regret_and_pulls",
    "streams_of",
]

Words = NDArray[np.uint64]

# Constants of NumPy's SeedSequence and PCG64; NumPy guarantees their streams (NEP 19).
_POOL = 4
_INIT_A, _MULT_A = 0x43B0D7E5, 0x931E8875
_INIT_B, _MULT_B = 0x8B51F9DD, 0x58F38DED
_MIX_LEFT, _MIX_RIGHT = 0xCA01F9DD, 0x4973F715
_MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645
_LOW_32, _LOW_128 = 2**32 - 1, 2**128 - 1


class Seeds(Sequence[np.random.SeedSequence]):
    """Children of a root seed, as from ``SeedSequence(entropy).spawn(n)``, made lazily.

    Parameters
    ----------
    entropy : sequence of int
        Entropy of the root seed: whole numbers of at least 0.
    numbers : range
        Indices of the children, below 2^32.

    Examples
    --------
    >>> seeds = Seeds([7], range(100))[10:20]
    >>> len(seeds), seeds[0].spawn_key
    (10, (10,))
    """

    def __init__(self, entropy: Sequence[int], numbers: range) -> None:
        self._entropy, self._numbers = tuple(entropy), numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, at: int) -> np.random.SeedSequence: ...
    @overload
    def __getitem__(self, at: slice) -> Seeds: ...
    def __getitem__(self, at: int | slice) -> np.random.SeedSequence | Seeds:
        if isinstance(at, slice):
            return Seeds(self._entropy, self._numbers[at])
        return np.random.SeedSequence(self._entropy, spawn_key=(self._numbers[at],))

    def states(self) -> Words:
        """Return the initial states of ``PCG64(child)``.

        Returns shape (n, 4).
        """
        root = np.random.SeedSequence(self._entropy)
        words = sum(max(1, -(-part.bit_length() // 32)) for part in self._entropy)
        hashed = _POOL**2 + _POOL * max(0, words - _POOL)  # words, up to the child's own
        constant = _INIT_A * pow(_MULT_A, hashed, 2**32) & _LOW_32
        number = np.array(self._numbers, dtype=np.uint32)
        pool = []
        for word in root.pool.tolist():
            mixed, constant = _hashed(number, constant, _MULT_A)
            mixed = np.uint32(_MIX_LEFT * word & _LOW_32) - np.uint32(_MIX_RIGHT) * mixed
            pool.append(mixed ^ (mixed >> np.uint32(16)))
        constant = _INIT_B
        seed = np.empty((number.size, 8), dtype=np.uint32)
        for i in range(8):
            seed[:, i], constant = _hashed(pool[i % _POOL], constant, _MULT_B)
        parts = seed.astype("<u4").view("<u8").tolist()
        begun = b"".join(map(_begun, parts))
        return np.frombuffer(begun, dtype="<u8").reshape(-1, 4).astype(np.uint64)


def _hashed(
    value: NDArray[np.uint32], constant: int, factor: int
) -> tuple[NDArray[np.uint32], int]:
    """Return SeedSequence's hash of each word, and its next constant."""
    following = constant * factor & _LOW_32
    value = (value ^ np.uint32(constant)) * np.uint32(following)
    return value ^ (value >> np.uint32(16)), following


def _begun(seed: list[int]) -> bytes:
    """Return state and increment of a PCG64 seeded with four words."""
    high, low, step_high, step_low = seed
    increment = (step_high << 65 | step_low << 1 | 1) & _LOW_128
    state = ((increment + (high << 64 | low)) * _MULTIPLIER + increment) & _LOW_128
    return (increment << 128 | state).to_bytes(32, "little")


class Streams(NamedTuple):
    """Streams of random numbers for the replicates of a chunk, and the generator to draw from them.

    Kernels take it as an argument; `begin_stream` sets the generator to the start of a stream.

    Attributes
    ----------
    rng : numpy.random.Generator
        The generator, shared by all streams: compiled functions are slow to accept a new one.
    words : numpy.ndarray of uint64, shape (4,)
        View of its state in memory.
    spare : numpy.ndarray of uint64, shape (1,)
        View of the half word that a draw of 32 bits may leave.
    states : numpy.ndarray of uint64, shape (n, 4)
        The initial states of the streams.

    Examples
    --------
    >>> streams = streams_of(Seeds([7], range(3)))
    >>> begin_stream(streams, 2)
    >>> child = np.random.SeedSequence(7).spawn(3)[2]
    >>> streams.rng.random() == np.random.default_rng(child).random()
    True
    """

    rng: Rng
    words: Words
    spare: Words
    states: Words


def streams_of(seeds: Seeds) -> Streams | None:
    """Return the streams of some seeds."""
    rng = np.random.default_rng(0)
    bits: Any = rng.bit_generator
    # NumPy's pcg64_state: a pointer to state and increment, a flag and half a word of 32 bits
    address = bits.ctypes.state_address
    state_at = ctypes.c_void_p.from_address(address).value or 0
    words = np.ctypeslib.as_array((ctypes.c_uint64 * 4).from_address(state_at))
    spare_at = address + ctypes.sizeof(ctypes.c_void_p)
    spare = np.ctypeslib.as_array((ctypes.c_uint64 * 1).from_address(spare_at))
    now = bits.state["state"]
    if words.astype("<u8").tobytes() != (now["inc"] << 128 | now["state"]).to_bytes(32, "little"):
        return None
    return Streams(rng, words, spare, seeds.states())


def generators(seeds: Seeds) -> Iterator[Rng]:
    """Yield a generator at the start of each stream: the same object, reset."""
    streams = streams_of(seeds)
    rng = np.random.default_rng(0) if streams is None else streams.rng
    for number in range(len(seeds)):
        if streams is None:
            rng.bit_generator.state = np.random.PCG64(seeds[number]).state
        else:
            _begin(streams, number)
        yield rng


@kernel
def begin_stream(streams: Streams, number: int) -> None:
    """Set the generator to the start of one of the streams."""
    copy_into(streams.words, streams.states[number])
    streams.spare[0] = 0


@kernel
def begin_order(rng: Rng, shuffles: bool, order: Ints) -> None:
    """Write a run's order of the arms: that of ``rng.permutation``, or 0 to K − 1.

    Numba takes seven seconds to compile its own `permutation`.

    Shapes: `order` (K,).
    """
    for k in range(order.size):
        order[k] = k
    if not shuffles:
        return
    for last in range(order.size - 1, 0, -1):
        mask = last
        for shift in (1, 2, 4, 8, 16):
            mask |= mask >> shift
        other = last + 1
        while other > last:
            other = mask & int(rng.integers(0, _LOW_32, dtype=np.uint32, endpoint=True))
        order[last], order[other] = order[other], order[last]


_begin = interpreted(begin_stream)  # the compiled one is slow to accept a generator


def regret_and_pulls(gaps: Floats, orders: Ints, counts: Ints) -> tuple[Floats, Ints]:
    """Return regret (n, C) and final pulls (n, K) of runs whose arms were in orders (n, K).

    Shapes: `gaps` (K,), `orders` (n, K), `counts` (n, C, K) → (n, C), (n, K).
    """
    regret = np.array([run @ gaps[order] for run, order in zip(counts, orders, strict=True)])
    pulls = np.empty_like(orders)
    np.put_along_axis(pulls, orders, counts[:, -1], axis=1)
    return regret, pulls
