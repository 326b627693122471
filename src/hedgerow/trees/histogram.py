"""Counting rows: the statistics vectors of every code of several columns, in one pass.

What a row adds to the plain sums is written out once for a block of rows and then
added for each column, four sums at a time; each class column adds one to one count.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..kernels.bits import add_lanes, trailing_zeros
from ..kernels.compiled import inner
from .rows import BYTE, LONG, MASK, SHIFT, SHORT, WORD_AT, Format
from .statistics import StatisticsLayout

BLOCK = 64
CACHED = 512
"""Records that stay in the first cache while column after column is counted."""


class Fields(NamedTuple):
    """Where a record's fields stand and what becomes of them in the vector."""

    codes: Any
    """See `Format.codes`."""
    quantities: Any
    """Positions of the plain sums' terms; they go to the entries from 1 on."""
    classes: Any
    """Positions of the class columns."""
    starts: Any
    """Entry of each class column's first class."""
    squares: int
    """Entry of the first square, or -1."""
    squared: int
    """How many of the quantities, the last ones, are squared."""
    shift: int
    floors: Any
    """The least of each square, shifted."""
    cells: Any
    """Positions of the judged columns' cells."""
    cell_starts: Any
    """Offset of each judged column's first cell, with the end of the last."""
    narrow: bool
    """Whether all codes are bytes or 16-bit numbers."""

    @classmethod
    def of(cls, form: Format, layout: StatisticsLayout) -> Fields:
        """The fields of a record under a layout of the vector."""
        r = layout.r if layout.squares >= 0 else 0
        return cls(
            form.codes,
            form.quantities,
            form.classes,
            layout.starts,
            layout.squares,
            r,
            layout.shift,
            layout.floors,
            form.cells,
            layout.cells,
            bool((form.codes[:, 0] < LONG).all()),
        )


class Tally(NamedTuple):
    """Working memory of one thread for counting."""

    marks: Any
    """One byte per row of a histogram: 1 where a record was counted."""
    mark_words: Any
    """The same memory, eight rows at a time."""
    lanes: Any
    """What each row of a block adds to the plain sums."""
    entries: Any
    """The entries that each row of a block adds one to."""
    place: Any
    """Positions of the codes that are counted now, narrow ones first."""
    base: Any
    """Where their histograms begin."""
    bounds: Any
    """Where the codes of each width begin among them, with the end of the last; 0 at first."""

    @classmethod
    def of(cls, n_rows: int, form: Format, layout: StatisticsLayout) -> Tally:
        """Working memory for histograms of so many rows."""
        words = np.zeros(n_rows // 8 + 1, np.uint64)
        p = len(form.codes)
        lanes = aligned(BLOCK * -(-int(layout.starts[0]) // 4) * 4)
        lanes[:: len(lanes) // BLOCK] = 1  # every row is one record
        return cls(
            words.view(np.uint8),
            words,
            lanes,
            np.zeros(BLOCK * layout.q, np.uint64),
            np.zeros(p, np.uint64),
            np.zeros(p, np.uint64),
            np.zeros(4, np.int64),
        )


def aligned(n: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Zeros that begin at a cache line, so that four lanes never lie across two."""
    room = np.zeros(n + 8, np.int64)
    skip = (-room.ctypes.data // 8) % 8
    return room[skip : skip + n]


@inner
def _add_one(hist, marks, view, a, b, place, base, bounds, width, lanes):  # type: ignore[no-untyped-def]
    """Up to four plain sums."""
    first, last = np.uint64(bounds[width]), np.uint64(bounds[width + 1])
    four = np.uint64(4)
    at = np.uint64(0)
    for i in range(np.uint64(a), np.uint64(b if last > first else a)):
        for c in range(first, last):
            row = base[c] + np.uint64(view[i, place[c]])
            marks[row] = 1
            add_lanes(hist, row * four, lanes, at)
        at += four


@inner
def _add_two(hist, marks, view, a, b, place, base, bounds, width, lanes):  # type: ignore[no-untyped-def]
    """Up to eight plain sums."""
    first, last = np.uint64(bounds[width]), np.uint64(bounds[width + 1])
    four, eight = np.uint64(4), np.uint64(8)
    at = np.uint64(0)
    for i in range(np.uint64(a), np.uint64(b if last > first else a)):
        for c in range(first, last):
            row = base[c] + np.uint64(view[i, place[c]])
            marks[row] = 1
            row *= eight
            add_lanes(hist, row, lanes, at)
            add_lanes(hist, row + four, lanes, at + four)
        at += eight


@inner
def _add_all(hist, stride, marks, words, a, b, fields, columns, varies, c0, c1, lanes, entries, q):  # type: ignore[no-untyped-def]
    """Any number of plain sums and class columns, codes of any width."""
    lane = np.uint64(lanes.shape[0] // BLOCK)
    stride, four, zero = np.uint64(stride), np.uint64(4), np.uint64(0)
    q = np.uint64(q)
    for c in range(c0, c1):
        if not varies[c]:
            continue
        word, shift = np.uint64(fields[c, WORD_AT]), np.uint64(fields[c, SHIFT])
        mask, base = np.uint64(fields[c, MASK]), np.uint64(columns[c, 2])
        at = entry = zero
        for i in range(np.uint64(a), np.uint64(b)):
            row = base + ((words[i, word] >> shift) & mask)
            marks[row] = 1
            row *= stride
            k = zero
            while k < lane:
                add_lanes(hist, row + k, lanes, at + k)
                k += four
            for j in range(entry, entry + q):
                hist[row + entries[j]] += 1
            at += lane
            entry += q


@inner
def _write_lanes(views, a, b, f, lanes, entries):  # type: ignore[no-untyped-def]
    """Write out what the records a..b add to the plain sums, and which counts they raise."""
    longs, shorts = views.longs, views.shorts
    lane = np.uint64(lanes.shape[0] // BLOCK)
    begin, stop = np.uint64(a), np.uint64(b)
    n_quantities = f.quantities.shape[0]
    for j in range(n_quantities):
        at, field = np.uint64(1 + j), np.uint64(f.quantities[j])
        square = j - (n_quantities - f.squared)
        if square >= 0:
            apart, floor = np.uint64(f.squares + square - 1 - j), f.floors[square]
            for i in range(begin, stop):
                z = np.int64(longs[i, field])
                lanes[at] = z
                lanes[at + apart] = max((z * z) >> f.shift, floor)
                at += lane
        else:
            for i in range(begin, stop):
                lanes[at] = longs[i, field]
                at += lane
    q = np.uint64(f.classes.shape[0])
    for j in range(f.classes.shape[0]):
        at, field, entry = np.uint64(j), np.uint64(f.classes[j]), np.uint64(f.starts[j])
        for i in range(begin, stop):
            entries[at] = entry + np.uint64(shorts[i, field])
            at += q


@inner
def count_rows(hist, stride, columns, varies, first_column, last_column, views, a, b, f, tally):  # type: ignore[no-untyped-def]
    """Add the records a..b to the histograms of those columns that vary, and mark their rows."""
    place, base, lanes, entries = tally.place, tally.base, tally.lanes, tally.entries
    bounds, marks = tally.bounds, tally.marks
    for width in range(2):
        n = bounds[width]
        for c in range(first_column, last_column):
            if varies[c] and f.codes[c, 0] == width:
                place[n] = f.codes[c, 1]
                base[n] = columns[c, 2]
                n += 1
        bounds[width + 1] = n
    q = f.classes.shape[0]
    lane = lanes.shape[0] // BLOCK
    few = q == 0 and lane == stride and lane <= 8 and f.narrow
    for start in range(a, b, BLOCK):
        end = min(b, start + BLOCK)
        _write_lanes(views, start, end, f, lanes, entries)
        if not few:
            _add_all(
                hist, stride, marks, views.words, start, end, f.codes, columns, varies,
                first_column, last_column, lanes, entries, q,
            )  # fmt: skip
        elif lane == 4:
            _add_one(hist, marks, views.bytes, start, end, place, base, bounds, BYTE, lanes)
            _add_one(hist, marks, views.shorts, start, end, place, base, bounds, SHORT, lanes)
        else:
            _add_two(hist, marks, views.bytes, start, end, place, base, bounds, BYTE, lanes)
            _add_two(hist, marks, views.shorts, start, end, place, base, bounds, SHORT, lanes)


@inner
def count_cells(counts, views, a, b, f):  # type: ignore[no-untyped-def]
    """Count the judged columns' cells over the records a..b."""
    for i in range(counts.shape[0]):
        counts[i] = 0
    for j in range(f.cells.shape[0]):
        at, begin = np.uint64(f.cells[j]), np.uint64(f.cell_starts[j])
        for i in range(np.uint64(a), np.uint64(b)):
            counts[begin + np.uint64(views.bytes[i, at])] += 1


@inner
def count_cells_by_code(hist, width, columns, varies, c0, c1, views, a, b, f):  # type: ignore[no-untyped-def]
    """Add the records a..b to the cell counts of every code of those columns that vary."""
    width = np.uint64(width)
    for start in range(a, b, CACHED):
        begin, end = np.uint64(start), np.uint64(min(b, start + CACHED))
        for c in range(c0, c1):
            if not varies[c]:
                continue
            word, shift = np.uint64(f.codes[c, WORD_AT]), np.uint64(f.codes[c, SHIFT])
            mask, base = np.uint64(f.codes[c, MASK]), np.uint64(columns[c, 2])
            for j in range(f.cells.shape[0]):
                at, first = np.uint64(f.cells[j]), np.uint64(f.cell_starts[j])
                for i in range(begin, end):
                    row = base + ((views.words[i, word] >> shift) & mask)
                    hist[row * width + first + np.uint64(views.bytes[i, at])] += 1


@inner
def list_marked(columns, first_column, last_column, tally, present, bounds):  # type: ignore[no-untyped-def]
    """List the marked rows of a histogram, column by column, and take the marks away."""
    words = tally.mark_words
    m = bounds[first_column] = 0
    for c in range(first_column, last_column):
        base, n_codes = columns[c, 2], columns[c, 0]
        for w in range(base >> 3, (base + n_codes + 8) >> 3):
            word = words[w]
            if word != 0:
                words[w] = 0
                while word != 0:
                    present[m] = (w << 3) + (trailing_zeros(word) >> 3)
                    m += 1
                    word &= word - np.uint64(1)
        bounds[c + 1] = m
    return m
