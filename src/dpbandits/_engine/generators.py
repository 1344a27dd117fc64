"""Generators by their address: Python calls a kernel that takes one so in half a microsecond.

Numba looks up the functions of a generator at each call of a kernel, which takes ten microseconds.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numba
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from dpbandits._arrays import Rng

__all__ = ["Address", "address_of", "generator_at"]

_tools: Any = cgutils
_pointer: Any = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
Address = tuple[int, int, int, int]
"""Where the state of a generator is, and its functions for a word, half of one, and a uniform."""


def address_of(rng: Rng) -> Address | None:
    """Return the address of a generator, of use as long as it is kept; None without a compiler."""
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return None
    table = _pointer(rng.bit_generator.capsule, b"BitGenerator")  # NumPy's bitgen_t
    state, word, half, uniform = (ctypes.c_size_t * 4).from_address(table)
    return state, word, half, uniform


def _generator(context: Any, address: Any) -> Any:
    """Return the type of a generator at an address, and the code that makes it."""
    kind, struct, unpacked = types.npy_rng, _tools.create_struct_proxy, _tools.unpack_tuple

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        whole = struct(kind)(context, builder)
        bits = struct(types.npy_bitgen)(context, builder)
        state, *calls = unpacked(builder, given[0])
        bits.state, bits.state_address = state, state
        bits.fnptr_next_uint64, bits.fnptr_next_uint32, bits.fnptr_next_double = calls
        whole.bit_generator = bits._getvalue()
        return whole._getvalue()

    return kind(address), code


generator_at: Any = intrinsic(_generator)
"""Return the generator at an address: in a kernel."""
