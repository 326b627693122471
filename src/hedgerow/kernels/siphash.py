"""SipHash-2-4 (Aumasson & Bernstein 2012), keyed draws and keyed hashes of rows.

A draw is the hash of a row's id under a key of its own for every column. A row's hash
is first the sum, over its columns, of the hashes of its cells under each column's key
(two words modulo 2^64), then a hash of these two words under a key of its own. Without the
second step two rows that swap cells would leave the sums of all rows unchanged.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from . import Bytes, Codes, Ints, Words
from .compiled import checked, inlined

C0, C1 = np.uint64(0x736F6D6570736575), np.uint64(0x646F72616E646F6D)
C2, C3 = np.uint64(0x6C7967656E657261), np.uint64(0x7465646279746573)
_8, _11, _56 = np.uint64(8), np.uint64(11), np.uint64(56)
_FF, _EE, _DD = np.uint64(0xFF), np.uint64(0xEE), np.uint64(0xDD)


@intrinsic
def sipround(context: Any, v0: Any, v1: Any, v2: Any, v3: Any) -> Any:
    """Run one round of SipHash, written as instructions because it is compiled often."""

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
def block(
    v0: np.uint64, v1: np.uint64, v2: np.uint64, v3: np.uint64, m: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Mix one 64-bit word of the message into the state."""
    v3 ^= m
    for _ in range(2):  # fewer lines to compile than two calls, and no slower
        v0, v1, v2, v3 = sipround(v0, v1, v2, v3)
    return v0 ^ m, v1, v2, v3


@inlined
def finish(v0: np.uint64, v1: np.uint64, v2: np.uint64, v3: np.uint64) -> np.uint64:
    """Return the 64-bit hash of the state."""
    v2 ^= _FF
    for _ in range(4):
        v0, v1, v2, v3 = sipround(v0, v1, v2, v3)
    return v0 ^ v1 ^ v2 ^ v3


@inlined
def finish_128(v0: np.uint64, v1: np.uint64, v2: np.uint64, v3: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return both words of the 128-bit hash; the state must have begun with `C1 ^ 0xEE`."""
    v2 ^= _EE
    for _ in range(4):
        v0, v1, v2, v3 = sipround(v0, v1, v2, v3)
    first = v0 ^ v1 ^ v2 ^ v3
    v1 ^= _DD
    for _ in range(4):
        v0, v1, v2, v3 = sipround(v0, v1, v2, v3)
    return first, v0 ^ v1 ^ v2 ^ v3


@inlined
def unit_interval(word: np.uint64) -> float:
    """Return the leading 53 bits of a 64-bit word as a number in [0, 1)."""
    # 53 bits are what a double holds, so no draw is rounded up to 1.
    return float(word >> _11) * (1.0 / 9007199254740992.0)


@checked
def word_at(i: np.uint64, k0: np.uint64, k1: np.uint64) -> np.uint64:
    """Return SipHash-2-4 of one 64-bit word: the i-th number of a keyed sequence."""
    v0, v1, v2, v3 = k0 ^ C0, k1 ^ C1, k0 ^ C2, k1 ^ C3
    v0, v1, v2, v3 = block(v0, v1, v2, v3, i)
    v0, v1, v2, v3 = block(v0, v1, v2, v3, _8 << _56)
    return finish(v0, v1, v2, v3)


@checked
def siphash_words(words: Words, k0: np.uint64, k1: np.uint64) -> Words:
    """Return SipHash-2-4 of every 64-bit word (8 bytes, little-endian) under the key (k0, k1)."""
    out = np.empty(words.shape[0], np.uint64)
    for i in range(words.shape[0]):
        out[i] = word_at(words[i], k0, k1)
    return out


@checked
def keep_or_move(codes: Codes, ids: Words, k0: np.uint64, k1: np.uint64, p: float, d: np.int64, out: Codes) -> None:
    """Keep each code with probability p, else change it to one of the other d - 1 codes at random.

    One draw in [0, 1) per row decides both: below p the code stays, the rest of the
    interval is shared evenly by the others. A code outside 0 .. d - 1 (a value that the
    plan does not know) becomes any of the d codes with equal probability.
    """
    for i in range(codes.shape[0]):
        draw = unit_interval(word_at(ids[i], k0, k1))
        code = np.int64(codes[i])
        if code >= d:
            # the product of a draw just below 1 may round to d
            out[i] = min(np.int64(draw * d), d - 1)
        elif draw < p:
            out[i] = code
        else:
            other = min(np.int64((draw - p) / (1.0 - p) * (d - 1)), d - 2)
            out[i] = other + 1 if other >= code else other


def draw(codes: Codes, ids: Words, key: tuple[int, int], p: float, d: int) -> Codes:
    """Return randomized codes, in the type of `codes`.

    Parameters
    ----------
    codes : unsigned integer array of shape (n,)
        Values 0 .. d - 1; larger ones are unknown values.
    ids : uint64 array of shape (n,)
        Row ids: the same id and key give the same draw.
    key : pair of 64-bit integers
        The column's own key.
    p : float
        Probability of keeping the code, in [1/d, 1].
    d : int
        Number of categories, at least 1.
    """
    out = np.empty_like(codes)
    keep_or_move(np.ascontiguousarray(codes), ids, np.uint64(key[0]), np.uint64(key[1]), float(p), d, out)
    return out


@checked
def hash_words(words: Words, k0: np.uint64, k1: np.uint64, first: Words, second: Words) -> None:
    """Hash every 64-bit word with SipHash-2-4-128; write the two halves of each hash into two arrays."""
    for i in range(words.shape[0]):
        v0, v1, v2, v3 = k0 ^ C0, k1 ^ C1 ^ _EE, k0 ^ C2, k1 ^ C3
        v0, v1, v2, v3 = block(v0, v1, v2, v3, words[i])
        # SipHash ends with a word that has the length, here 8 bytes, on top.
        v0, v1, v2, v3 = block(v0, v1, v2, v3, _8 << _56)
        first[i], second[i] = finish_128(v0, v1, v2, v3)


@checked
def hash_texts(data: Bytes, ends: Ints, k0: np.uint64, k1: np.uint64, first: Words, second: Words) -> None:
    """Write SipHash-2-4-128 of each byte string ``data[ends[i]:ends[i + 1]]``."""
    for i in range(ends.shape[0] - 1):
        start, end = ends[i], ends[i + 1]
        v0, v1, v2, v3 = k0 ^ C0, k1 ^ C1 ^ _EE, k0 ^ C2, k1 ^ C3
        at = start
        while at + 8 <= end:
            m = np.uint64(0)
            for j in range(8):
                m |= np.uint64(data[at + j]) << np.uint64(8 * j)
            v0, v1, v2, v3 = block(v0, v1, v2, v3, m)
            at += 8
        # the last word: the bytes that are left and, on top, the length modulo 256
        m = (np.uint64(end - start) & _FF) << _56
        for j in range(end - at):
            m |= np.uint64(data[at + j]) << np.uint64(8 * j)
        v0, v1, v2, v3 = block(v0, v1, v2, v3, m)
        first[i], second[i] = finish_128(v0, v1, v2, v3)


@checked
def add_codes(
    codes: Codes, hash_first: Words, hash_second: Words, first: Words, second: Words
) -> tuple[np.uint64, np.uint64]:
    """Add the hashes of coded cells to the sums of their rows; return the column's own two sums."""
    one, two = np.uint64(0), np.uint64(0)
    for i in range(codes.shape[0]):
        a, b = hash_first[codes[i]], hash_second[codes[i]]
        first[i] += a
        second[i] += b
        one += a
        two += b
    return one, two


@checked
def sum_rows(first: Words, second: Words, k0: np.uint64, k1: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the sum modulo 2^128 of the hashes of the rows, as its low and its high word.

    Each row's hash overwrites the two words that it is computed from.
    """
    for i in range(first.shape[0]):
        v0, v1, v2, v3 = k0 ^ C0, k1 ^ C1 ^ _EE, k0 ^ C2, k1 ^ C3
        v0, v1, v2, v3 = block(v0, v1, v2, v3, first[i])
        v0, v1, v2, v3 = block(v0, v1, v2, v3, second[i])
        v0, v1, v2, v3 = block(v0, v1, v2, v3, (_8 + _8) << _56)
        first[i], second[i] = finish_128(v0, v1, v2, v3)
    low, high = np.uint64(0), np.uint64(0)
    for i in range(first.shape[0]):
        low += first[i]
        high += second[i]
        # modulo 2^64 a sum that is below a summand has overflowed
        if low < first[i]:
            high += np.uint64(1)
    return low, high


def mixed(values: Words) -> Words:
    """Return 64-bit words whose bits all depend on each other (the finisher of splitmix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
