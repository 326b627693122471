"""Keyed draws: SipHash-2-4 of the row's id under a key of its own for every column."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .compiled import checked, inlined
from .siphash import C0, C1, C2, C3, block, finish

_8, _11, _56 = np.uint64(8), np.uint64(11), np.uint64(56)


@inlined
def unit_interval(word):  # type: ignore[no-untyped-def]
    """The leading 53 bits of a 64-bit word as a number in [0, 1)."""
    return float(word >> _11) * (1.0 / 9007199254740992.0)


@checked
def word_at(i, k0, k1):  # type: ignore[no-untyped-def]
    """SipHash-2-4 of one 64-bit word: the i-th of a keyed sequence."""
    v0, v1, v2, v3 = k0 ^ C0, k1 ^ C1, k0 ^ C2, k1 ^ C3
    v0, v1, v2, v3 = block(v0, v1, v2, v3, i)
    v0, v1, v2, v3 = block(v0, v1, v2, v3, _8 << _56)
    return finish(v0, v1, v2, v3)


@checked
def siphash_words(words, k0, k1):  # type: ignore[no-untyped-def]
    """SipHash-2-4 of every 64-bit word (8 bytes, little-endian) under the key (k0, k1)."""
    out = np.empty(words.shape[0], np.uint64)
    for i in range(words.shape[0]):
        out[i] = word_at(words[i], k0, k1)
    return out


@checked
def keep_or_move(codes, ids, k0, k1, p, d, out):  # type: ignore[no-untyped-def]
    """Keep a code with probability p, else move to each other of the d codes alike.

    One draw in [0, 1) per row decides both: below p the code stays, the rest of the
    interval is shared evenly by the others. A code outside 0 .. d - 1 (a value that the
    plan does not know) becomes any of the d codes alike.
    """
    for i in range(codes.shape[0]):
        draw = unit_interval(word_at(ids[i], k0, k1))
        code = np.int64(codes[i])
        if code >= d:
            out[i] = min(np.int64(draw * d), d - 1)
        elif draw < p:
            out[i] = code
        else:
            other = min(np.int64((draw - p) / (1.0 - p) * (d - 1)), d - 2)
            out[i] = other + 1 if other >= code else other


def draw(
    codes: NDArray[np.unsignedinteger],
    ids: NDArray[np.uint64],
    key: tuple[int, int],
    p: float,
    d: int,
) -> NDArray[np.unsignedinteger]:
    """Randomized codes, of the type of `codes`.

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
    keep_or_move(
        np.ascontiguousarray(codes), ids, np.uint64(key[0]), np.uint64(key[1]), float(p), d, out
    )
    return out
