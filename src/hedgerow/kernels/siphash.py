"""SipHash-2-4 (Aumasson & Bernstein 2012): what keyed draws and keyed row hashes are made of."""

from __future__ import annotations

import numpy as np

from .compiled import inlined

C0, C1 = np.uint64(0x736F6D6570736575), np.uint64(0x646F72616E646F6D)
C2, C3 = np.uint64(0x6C7967656E657261), np.uint64(0x7465646279746573)
_13, _16, _17, _21, _32 = np.uint64(13), np.uint64(16), np.uint64(17), np.uint64(21), np.uint64(32)
_64, _8, _56 = np.uint64(64), np.uint64(8), np.uint64(56)
_FF, _EE, _DD = np.uint64(0xFF), np.uint64(0xEE), np.uint64(0xDD)


@inlined
def rotate(x, b):  # type: ignore[no-untyped-def]
    """The bits of a word turned to the left."""
    return (x << b) | (x >> (_64 - b))


@inlined
def sipround(v0, v1, v2, v3):  # type: ignore[no-untyped-def]
    """One round."""
    v0 += v1
    v1 = rotate(v1, _13) ^ v0
    v0 = rotate(v0, _32)
    v2 += v3
    v3 = rotate(v3, _16) ^ v2
    v0 += v3
    v3 = rotate(v3, _21) ^ v0
    v2 += v1
    v1 = rotate(v1, _17) ^ v2
    v2 = rotate(v2, _32)
    return v0, v1, v2, v3


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
