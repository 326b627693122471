"""How far records spread over the quasi-identifiers: extents, and what the codes of a column hold.

The records of a node are summed up once for every code of a column: how many there are, the
extents of ordered columns, and of the others the categories that occur, listed one by one. A
node has no more of them than records, however many categories there are in all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..kernels.compiled import inner
from .node_rows import Rows, code_at

SCANNED = 16
"""Codes are sorted where fewer than one of so many occurs, and else looked for one by one."""


class Spread(NamedTuple):
    """The columns, and what the codes of one of them hold in one node."""

    fields: Any
    n_codes: Any
    ordered: Any
    offsets: Any
    """Where each column's codes begin among all, with the end of the last."""
    positions: Any
    domain: Any
    person: int
    """What one record counts where no shares of people are given."""
    count: Any
    """Per code, all 0 between two columns."""
    lo: Any
    hi: Any
    """Per code and column: the extent."""
    begins: Any
    """Per code and column: where its categories begin, with the end of the last column's."""
    category: Any
    rows: Any
    """The records, code after code."""
    seen: Any
    """By category of any column: when it was last seen."""
    now: Any
    run: Any
    """Of a column: lowest and highest code, and categories, of the first codes of a sequence."""

    @classmethod
    def of(
        cls,
        rows: Rows,
        positions: npt.NDArray[np.float64],
        domain: npt.NDArray[np.float64],
        person: int,
        summed: bool,
    ) -> Spread:
        """Room for the nodes of a tree; `summed` if codes are summed up."""
        predictors, n = rows.predictors, rows.n if summed else 0
        widths = predictors.n_codes + 1
        p, widest = len(widths), int(widths.max())
        codes = widest if summed else 0
        return cls(
            rows.format.codes,
            predictors.n_codes.astype(np.int64),
            predictors.ordered,
            np.concatenate([[0], np.cumsum(widths)]).astype(np.int64),
            positions,
            domain,
            person,
            np.zeros(widest, np.int64),
            np.zeros((codes, p), np.int64),
            np.zeros((codes, p), np.int64),
            np.zeros((codes, p + 1), np.int64),
            np.zeros(n * int(np.count_nonzero(~predictors.ordered)), np.int32),
            np.zeros(n, np.int64),
            np.zeros(int(widths.sum()), np.int64),
            np.zeros(1, np.int64),
            np.zeros((p, 3), np.int64),
        )


@inner
def count_codes(words, share, a, b, c, spread, present):  # type: ignore[no-untyped-def]
    """Count the records a..b by code; returns how many codes occur, ascending in `present`."""
    count, n_codes = spread.count, spread.n_codes[c]
    m = 0
    for i in range(a, b):
        code = code_at(words, i, spread.fields, c)
        if count[code] == 0:
            present[m] = code
            m += 1
        count[code] += max(code_at(words, i, share, 0), 1)
    if m * SCANNED < n_codes:
        present[:m].sort()
    else:
        m = 0
        for code in range(n_codes + 1):
            if count[code] > 0:
                present[m] = code
                m += 1
    return m


@inner
def _begin(spread):  # type: ignore[no-untyped-def]
    """Nothing was seen yet; returns the time that is now."""
    for j in range(spread.fields.shape[0]):
        spread.run[j, 0], spread.run[j, 1], spread.run[j, 2] = spread.n_codes[j] + 1, -1, 0
    spread.now[0] += 1
    return spread.now[0]


@inner
def _extent(j, spread):  # type: ignore[no-untyped-def]
    """Normalised extent of column j in what was seen, 0 to 1."""
    if spread.ordered[j]:
        if spread.run[j, 1] < 0:
            return 0.0
        at = spread.offsets[j]
        return spread.positions[at + spread.run[j, 1]] - spread.positions[at + spread.run[j, 0]]
    return (spread.run[j, 2] - 1) / spread.domain[j]


@inner
def extents_of(words, a, b, spread, extents):  # type: ignore[no-untyped-def]
    """The normalised extents of the records a..b."""
    now, run = _begin(spread), spread.run
    p = spread.fields.shape[0]
    for i in range(a, b):
        for j in range(p):
            code = code_at(words, i, spread.fields, j)
            if spread.ordered[j]:
                if code < spread.n_codes[j]:  # missing values take no place
                    run[j, 0] = min(run[j, 0], code)
                    run[j, 1] = max(run[j, 1], code)
            elif spread.seen[spread.offsets[j] + code] != now:
                spread.seen[spread.offsets[j] + code] = now
                run[j, 2] += 1
    for j in range(p):
        extents[j] = _extent(j, spread)


@inner
def summarise(words, a, b, c, m, present, spread):  # type: ignore[no-untyped-def]
    """Sum up the records a..b by code of column c; returns how many categories were listed."""
    begins, rows, seen = spread.begins, spread.rows, spread.seen
    p = spread.fields.shape[0]
    for k in range(m):
        begins[present[k], 0] = 0
    for i in range(a, b):
        begins[code_at(words, i, spread.fields, c), 0] += 1
    at = 0
    for k in range(m):
        held = begins[present[k], 0]
        begins[present[k], 0] = at
        at += held
    for i in range(a, b):
        code = code_at(words, i, spread.fields, c)
        rows[begins[code, 0]] = i
        begins[code, 0] += 1
    first = listed = 0
    for k in range(m):
        code = present[k]
        last = begins[code, 0]
        for j in range(p):
            begins[code, j] = listed
            if spread.ordered[j]:
                low, high = spread.n_codes[j] + 1, -1
                for i in range(first, last):
                    other = code_at(words, rows[i], spread.fields, j)
                    if other < spread.n_codes[j]:
                        low, high = min(low, other), max(high, other)
                spread.lo[code, j], spread.hi[code, j] = low, high
            else:
                spread.now[0] += 1
                for i in range(first, last):
                    place = spread.offsets[j] + code_at(words, rows[i], spread.fields, j)
                    if seen[place] != spread.now[0]:
                        seen[place] = spread.now[0]
                        spread.category[listed] = place
                        listed += 1
        begins[code, p] = listed
        first = last
    return listed


@inner
def sweep(sequence, m, spread, out):  # type: ignore[no-untyped-def]
    """Records times summed extents of the first 1, 2, ... m codes of a sequence."""
    now, run = _begin(spread), spread.run
    n = 0
    for k in range(m):
        code = sequence[k]
        n += spread.count[code]
        total = 0.0
        for j in range(spread.fields.shape[0]):
            if spread.ordered[j]:
                run[j, 0] = min(run[j, 0], spread.lo[code, j])
                run[j, 1] = max(run[j, 1], spread.hi[code, j])
            for e in range(spread.begins[code, j], spread.begins[code, j + 1]):
                place = spread.category[e]
                if spread.seen[place] != now:
                    spread.seen[place] = now
                    run[j, 2] += 1
            total += _extent(j, spread)
        out[k] = n * total


@inner
def middles(j, present, m, spread, key):  # type: ignore[no-untyped-def]
    """A place for every code on another column: the middle of its extent, or of its categories."""
    for k in range(m):
        code = present[k]
        if spread.ordered[j]:
            key[k] = spread.lo[code, j] + spread.hi[code, j]
        else:
            total = 0.0
            begin, end = spread.begins[code, j], spread.begins[code, j + 1]
            for e in range(begin, end):
                total += spread.category[e] - spread.offsets[j]
            key[k] = total / max(end - begin, 1)
