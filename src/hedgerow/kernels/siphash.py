"""SipHash-2-4 (Aumasson & Bernstein 2012): what keyed draws and keyed row hashes are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .compiled import inlined

C0, C1 = np.uint64(0x736F6D6570736575), np.uint64(0x646F72616E646F6D)
C2, C3 = np.uint64(0x6C7967656E657261), np.uint64(0x7465646279746573)
_8, _56 = np.uint64(8), np.uint64(56)
_FF, _EE, _DD = np.uint64(0xFF), np.uint64(0xEE), np.uint64(0xDD)


@intrinsic
def sipround(context: Any, v0: Any, v1: Any, v2: Any, v3: Any) -> Any:
    """One round, written as it is run: every hash is made of some, and they are compiled often."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def turned(x: Any, bits: int) -> Any:
            left, right = (ir.Constant(x.type, b) for b in (bits, 64 - bits))
            return builder.or_(builder.shl(x, left), builder.lshr(x, right))

        v0, v1, v2, v3 = arguments
        v0 = builder.add(v0, v1)
        v1 = builder.xor(turned(v1, 13), v0)
        v0 = turned(v0, 32)
        v2 = builder.add(v2, v3)
        v3 = builder.xor(turned(v3, 16), v2)
        v0 = builder.add(v0, v3)
        v3 = builder.xor(turned(v3, 21), v0)
        v2 = builder.add(v2, v1)
        v1 = builder.xor(turned(v1, 17), v2)
        return context.make_tuple(builder, signature.return_type, (v0, v1, turned(v2, 32), v3))

    return types.UniTuple(types.uint64, 4)(*[types.uint64] * 4), code


@inlined
def block(v0, v1, v2, v3, m):  # type: ignore[no-untyped-def]
    """Take in one 64-bit word of the message."""
    v3 ^= m
    for _ in range(2):  # fewer lines to compile than two calls, and no slower
        v0, v1, v2, v3 = sipround(v0, v1, v2, v3)
    return v0 ^ m, v1, v2, v3


@inlined
def finish(v0, v1, v2, v3):  # type: ignore[no-untyped-def]
    """The 64-bit hash."""
    v2 ^= _FF
    for _ in range(4):
        v0, v1, v2, v3 = sipround(v0, v1, v2, v3)
    return v0 ^ v1 ^ v2 ^ v3


@inlined
def finish_128(v0, v1, v2, v3):  # type: ignore[no-untyped-def]
    """Both words of the 128-bit hash, whose state began with `C1 ^ 0xEE`."""
    v2 ^= _EE
    for _ in range(4):
        v0, v1, v2, v3 = sipround(v0, v1, v2, v3)
    first = v0 ^ v1 ^ v2 ^ v3
    v1 ^= _DD
    for _ in range(4):
        v0, v1, v2, v3 = sipround(v0, v1, v2, v3)
    return first, v0 ^ v1 ^ v2 ^ v3


@inlined
def word_128(m, k0, k1):  # type: ignore[no-untyped-def]
    """The 128-bit hash of one 64-bit word."""
    v0, v1, v2, v3 = k0 ^ C0, k1 ^ C1 ^ _EE, k0 ^ C2, k1 ^ C3
    v0, v1, v2, v3 = block(v0, v1, v2, v3, m)
    v0, v1, v2, v3 = block(v0, v1, v2, v3, _8 << _56)
    return finish_128(v0, v1, v2, v3)


@inlined
def pair_128(m0, m1, k0, k1):  # type: ignore[no-untyped-def]
    """The 128-bit hash of two 64-bit words."""
    v0, v1, v2, v3 = k0 ^ C0, k1 ^ C1 ^ _EE, k0 ^ C2, k1 ^ C3
    v0, v1, v2, v3 = block(v0, v1, v2, v3, m0)
    v0, v1, v2, v3 = block(v0, v1, v2, v3, m1)
    v0, v1, v2, v3 = block(v0, v1, v2, v3, (_8 + _8) << _56)
    return finish_128(v0, v1, v2, v3)
