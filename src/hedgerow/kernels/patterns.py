"""Agreement patterns of all pairs of people and records: bit c says that column c agrees."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compiled import checked

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Patterns = NDArray[np.uint32]


@checked
def _near(records: Floats, row: Floats, within: float, out: Patterns) -> None:
    """The patterns of one person with every record: columns that lie within reach."""
    out[:] = 0
    for c in range(row.size):
        q, bit, column = row[c], np.uint32(1 << c), records[c]
        for i in range(out.size):
            if abs(column[i] - q) <= within:
                out[i] |= bit


@checked
def near_patterns(records: Floats, people: Floats, within: float) -> Patterns:
    """Patterns of people with records, by how near their numbers lie.

    Parameters
    ----------
    records : array, shape (d, n)
        One column a row.
    people : array, shape (m, d)
    within : float
        Largest difference that still agrees.

    Returns
    -------
    array of uint32, shape (m, n)
    """
    made = np.empty((people.shape[0], records.shape[1]), np.uint32)
    for row in range(people.shape[0]):
        _near(records, people[row], within, made[row])
    return made


@checked
def count_patterns(patterns: Patterns, sizes: Ints, columns: int) -> Ints:
    """How many pairs show each pattern.

    Parameters
    ----------
    patterns : array of uint32, shape (m, n)
    sizes : array of int, shape (n,)
        How many records each one stands for.
    columns : int
        Bits of a pattern, d.

    Returns
    -------
    array of int, shape (2**d,)
    """
    counts = np.zeros(1 << columns, np.int64)
    for row in range(patterns.shape[0]):
        for i in range(patterns.shape[1]):
            counts[patterns[row, i]] += sizes[i]
    return counts


@checked
def count_ties(patterns: Patterns, sizes: Ints, own: Ints, weights: Floats) -> Ints:
    """How many records are linked as well as each person's own, for growing knowledge.

    Parameters
    ----------
    patterns : array of uint32, shape (m, n)
    sizes : array of int, shape (n,)
        How many records each one stands for.
    own : array of int, shape (m,)
        Where each person's own record is.
    weights : array, shape (2**(d + 1),)
        Weight of pattern p over the first j columns, at ``2**j + p``.

    Returns
    -------
    array of int, shape (m, d)
        For the first 1, ..., d columns; 0 where another record has more weight.
    """
    d = 0
    while (2 << d) < weights.size:
        d += 1
    m = patterns.shape[0]
    found = np.zeros((m, d), np.int64)
    count, seen = np.zeros(1 << d, np.int64), np.empty(1 << d, np.uint32)
    for row in range(m):
        distinct = 0
        for i in range(patterns.shape[1]):
            p = patterns[row, i]
            if count[p] == 0:
                seen[distinct] = p
                distinct += 1
            count[p] += sizes[i]
        mine = patterns[row, own[row]]
        for j in range(1, d + 1):
            size = np.uint32(1 << j)
            low = np.uint32(size - 1)
            best, ties = weights[size + (mine & low)], 0
            for s in range(distinct):
                weight = weights[size + (seen[s] & low)]
                if weight > best:
                    ties = 0
                    break
                if weight == best:
                    ties += count[seen[s]]
            found[row, j - 1] = ties
        for s in range(distinct):
            count[seen[s]] = 0
    return found


@checked
def estimate(
    bits: Patterns,
    counts: Floats,
    m: Floats,
    u: Floats,
    belong: float,
    fixed_m: Any,
    fixed_rest: bool,
    steps: int,
    change: float,
) -> tuple[Floats, Floats]:
    """Fellegi and Sunter's m and u by EM on pattern counts.

    Parameters
    ----------
    bits : array of uint32, shape (patterns,)
        The patterns that occur.
    counts : array, shape (patterns,)
        Pairs of each pattern.
    m, u : arrays, shape (d,)
        First guess of how often a column agrees among pairs that belong together,
        and among the others.
    belong : float
        First guess of the share of pairs that belong together.
    fixed_m : array of bool, shape (d,)
        Columns whose m is known.
    fixed_rest : bool
        Whether u and `belong` are known.
    steps : int
        Most rounds.
    change : float
        Stop when no probability moves by more.
    """
    m, u = m.copy(), u.copy()
    columns, total = m.size, counts.sum()
    for _ in range(steps):
        matched, agree_m, agree_u = 0.0, np.zeros(columns), np.zeros(columns)
        for i in range(bits.size):
            a, b = belong, 1.0 - belong
            for c in range(columns):
                if bits[i] >> np.uint32(c) & np.uint32(1):
                    a *= m[c]
                    b *= u[c]
                else:
                    a *= 1.0 - m[c]
                    b *= 1.0 - u[c]
            mine = counts[i] * a / max(a + b, 1e-300)
            matched += mine
            for c in range(columns):
                if bits[i] >> np.uint32(c) & np.uint32(1):
                    agree_m[c] += mine
                    agree_u[c] += counts[i] - mine
        moved = 0.0
        for c in range(columns):
            if not fixed_m[c]:
                new = min(max(agree_m[c] / max(matched, 1e-300), 1e-6), 1.0 - 1e-6)
                moved = max(moved, abs(new - m[c]))
                m[c] = new
            if not fixed_rest:
                new = min(max(agree_u[c] / max(total - matched, 1e-300), 1e-6), 1.0 - 1e-6)
                moved = max(moved, abs(new - u[c]))
                u[c] = new
        if not fixed_rest:
            belong = matched / total
        if moved < change:
            break
    return m, u
