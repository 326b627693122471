"""The best split for likeness: many responses, of which a code holds few.

With L the left side's sums, T the node's and w the weights, a split gains

    sum w (L n - T n_L)^2 / (n n_L n_R) = (n^2 A - 2 n n_L B + n_L^2 C) / (n n_L n_R)

    A = sum w L^2      B = sum w L T      C = sum w T^2

and a code that comes to the left changes A and B by the entries that it holds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..kernels.compiled import inner
from .objective import NOWHERE, TIE


class Alike(NamedTuple):
    """The entries of one column's codes that are not 0, and where a walk adds them up."""

    begins: Any
    """Where the entries of each code begin, with the end of the last."""
    at: Any
    """Their places among the responses' entries."""
    value: Any
    weighted: Any
    """Weight times the node's sum, by place."""
    weight: Any
    """Weight by place."""
    left: Any
    """Sums of the left side, all 0 between two walks."""
    whole: Any
    """C of the node."""

    @classmethod
    def of(cls, n_codes: int, layout: Any) -> Alike:
        """Room for the widest column."""
        size = layout.size - layout.sums
        weight = np.zeros(size)
        weight[: layout.r] = layout.weight[: layout.r]
        weight[layout.r :] = np.repeat(layout.weight[layout.r :], np.diff(layout.starts))
        return cls(
            np.zeros(n_codes + 1, np.int64),
            np.zeros(n_codes * size, np.int32),
            np.zeros(n_codes * size),
            np.zeros(size),
            weight,
            np.zeros(size),
            np.zeros(1),
        )


@inner
def list_alike(hist, stride, present, begin, end, base, c, total, t, room):  # type: ignore[no-untyped-def]
    """List what the codes of a column hold."""
    at = begin - begin
    size = room.weight.shape[0]
    whole = 0.0
    for i in range(size):
        all_of = float(total[t.sums + i])
        room.weighted[i] = room.weight[i] * all_of
        whole += room.weighted[i] * all_of
    room.whole[0] = whole
    for k in range(begin, end):
        row = present[k]
        room.begins[row - base] = at
        place = row * stride + t.sums
        for i in range(size):
            value = hist[place + i]
            if value != 0:
                room.at[at] = i
                room.value[at] = float(value)
                at += 1
        # codes between two that are present hold nothing
        room.begins[row - base + 1] = at


@inner
def walk_alike(  # type: ignore[no-untyped-def]
    hist, stride, rows, first, last, extra, base, gray, alone, total, best, t, space, room
):
    """The best of the left sides that rows of a histogram make, one after the other or alone.

    As `split._walk`; returns (gain, step), step 0 where nothing beats `best`.
    """
    left, weight, weighted = room.left, room.weight, room.weighted
    n, whole = float(total[t.divisor]), room.whole[0]
    m = last - first
    nl = persons = total[0] - total[0]
    square = cross = 0.0
    chosen = 0
    if extra != NOWHERE:
        nl, persons = hist[extra * stride + t.divisor], hist[extra * stride + t.persons]
        for e in range(room.begins[extra - base], room.begins[extra - base + 1]):
            i, value = room.at[e], room.value[e]
            left[i] = value
            square += weight[i] * value * value
            cross += weighted[i] * value
    for step in range(1, m + alone):
        row = rows[first + step - 1]
        if alone:
            nl, persons = nl - nl, persons - persons
            square = cross = 0.0
        nl += hist[row * stride + t.divisor]
        persons += hist[row * stride + t.persons]
        for e in range(room.begins[row - base], room.begins[row - base + 1]):
            i, value = room.at[e], room.value[e]
            before = 0.0 if alone else left[i]
            square += weight[i] * value * (2.0 * before + value)
            cross += weighted[i] * value
            if not alone:
                left[i] = before + value
        if persons < t.min_leaf:
            continue
        if total[t.persons] - persons < t.min_leaf:
            if alone:
                continue
            break
        fl = float(nl)
        gain = (n * square - 2.0 * fl * cross) / (fl * (n - fl))
        gain += fl * whole / (n * (n - fl))
        if gain > best * (1.0 + TIE) and gain > 0.0:
            best, chosen = gain, step
    for i in range(left.shape[0]):
        left[i] = 0.0
    return best, chosen
