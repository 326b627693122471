"""Agreement patterns of all pairs of people and records: for each column how near they are.

A column holds the same few bits of every pattern: its level, 0 where the pair disagrees.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compiled import checked

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Patterns = NDArray[np.uint32]


@checked
def _near(records: Floats, row: Floats, within: Floats, bits: int, out: Patterns) -> None:
    """The patterns of one person with every record."""
    out[:] = 0
    for c in range(row.size):
        q, one, column = row[c], np.uint32(1 << (bits * c)), records[c]
        for i in range(out.size):
            away = abs(column[i] - q)
            for t in range(within.size):
                if away <= within[t]:
                    out[i] += one


@checked
def near_patterns(records: Floats, people: Floats, within: Floats, bits: int) -> Patterns:
    """Patterns of people with records, by how near their numbers lie.

    Parameters
    ----------
    records : array, shape (d, n)
        One column a row.
    people : array, shape (m, d)
    within : array, shape (levels - 1,)
        The level of a pair is the number of these distances that it lies within.
    bits : int
        Of a column; they hold its levels.

    Returns
    -------
    array of uint32, shape (m, n)
    """
    made = np.empty((people.shape[0], records.shape[1]), np.uint32)
    for row in range(people.shape[0]):
        _near(records, people[row], within, bits, made[row])
    return made


@checked
def count_patterns(patterns: Patterns, sizes: Ints, bits: int) -> Ints:
    """How many pairs show each pattern.

    Parameters
    ----------
    patterns : array of uint32, shape (m, n)
    sizes : array of int, shape (n,)
        How many records each one stands for.
    bits : int
        Of a pattern.

    Returns
    -------
    array of int, shape (2**bits,)
    """
    counts = np.zeros(1 << bits, np.int64)
    for row in range(patterns.shape[0]):
        for i in range(patterns.shape[1]):
            counts[patterns[row, i]] += sizes[i]
    return counts


@checked
def count_ties(patterns: Patterns, sizes: Ints, own: Ints, weights: Floats, bits: int) -> Ints:
    """How many records are linked as well as each person's own, for growing knowledge.

    Parameters
    ----------
    patterns : array of uint32, shape (m, n)
    sizes : array of int, shape (n,)
        How many records each one stands for.
    own : array of int, shape (m,)
        Where each person's own record is.
    weights : array, shape (2**(bits * d + 1),)
        Weight of pattern p over the first j columns, at ``2**(bits * j) + p``.
    bits : int
        Of a column.

    Returns
    -------
    array of int, shape (m, d)
        For the first 1, ..., d columns; 0 where another record has more weight.
    """
    d = 0
    while (2 << (bits * d)) < weights.size:
        d += 1
    m, most = patterns.shape[0], min(1 << (bits * d), patterns.shape[1])
    found = np.zeros((m, d), np.int64)
    count, seen = np.zeros(1 << (bits * d), np.int64), np.empty(most, np.uint32)
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
            size = np.uint32(1 << (bits * j))
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
    patterns: Patterns,
    counts: Floats,
    m: Floats,
    u: Floats,
    belong: float,
    fixed: Any,
    bits: int,
    steps: int,
    change: float,
) -> Floats:
    """Fellegi and Sunter's m by EM on pattern counts: how often each level is met.

    Parameters
    ----------
    patterns : array of uint32
        The patterns that occur.
    counts : array, the same shape
        Pairs of each pattern.
    m : array, shape (d, levels)
        First guess of the levels' shares among pairs that belong together.
    u : array, shape (d, levels)
        Their shares among the others.
    belong : float
        The share of pairs that belong together.
    fixed : array of bool, shape (d,)
        Columns whose m is known.
    bits : int
        Of a column.
    steps : int
        Most rounds.
    change : float
        Stop when no share moves by more.
    """
    m = m.copy()
    columns, levels = m.shape
    mask = np.uint32((1 << bits) - 1)
    for _ in range(steps):
        matched, met = 0.0, np.zeros((columns, levels))
        for i in range(patterns.size):
            a, b = belong, 1.0 - belong
            for c in range(columns):
                level = (patterns[i] >> np.uint32(bits * c)) & mask
                a *= m[c, level]
                b *= u[c, level]
            mine = counts[i] * a / max(a + b, 1e-300)
            matched += mine
            for c in range(columns):
                met[c, (patterns[i] >> np.uint32(bits * c)) & mask] += mine
        moved = 0.0
        for c in range(columns):
            if fixed[c]:
                continue
            for level in range(levels):
                new = min(max(met[c, level] / max(matched, 1e-300), 1e-6), 1.0 - 1e-6)
                moved = max(moved, abs(new - m[c, level]))
                m[c, level] = new
        if moved < change:
            break
    return m
