"""Counting rows: the statistics vectors of every code of several columns, in one pass.

What a row adds to the plain sums is written out once for a block of rows and then
added for each column, four sums at a time; each class column adds one to one count.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..kernels.bits import add_lanes, clear_lanes, lanes_at, one_and_three, take_lanes
from ..kernels.compiled import inner
from .node_rows import BYTE, LONG, MASK, SHIFT, SHORT, WORD_AT, Format
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
    whole: int
    """Where, among the 32-bit fields, four begin whose last three hold all plain sums; or -1."""

    @classmethod
    def of(cls, form: Format, layout: StatisticsLayout) -> Fields:
        """The fields of a record under a layout of the vector."""
        r = layout.r if layout.squares >= 0 else 0
        begin, n = (form.quantities[0], len(form.quantities)) if len(form.quantities) else (0, 4)
        whole = n <= 3 and not r and begin + 3 <= 2 * form.n_words
        return cls(
            form.codes,
            form.quantities,
            form.classes[layout.n_listed :],
            layout.starts,
            layout.squares,
            r,
            layout.shift,
            layout.floors,
            form.cells,
            layout.cells,
            bool((form.codes[:, 0] < LONG).all()),
            int(begin) - 1 if whole else -1,
        )


class Tally(NamedTuple):
    """Working memory of one thread for counting."""

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
    def of(cls, form: Format, layout: StatisticsLayout) -> Tally:
        """Working memory for records of this form."""
        p = len(form.codes)
        lanes = aligned(BLOCK * -(-int(layout.starts[0]) // 4) * 4)
        lanes[:: len(lanes) // BLOCK] = 1  # every row is one record
        return cls(
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
def _add_one(hist, view, a, b, place, base, bounds, width, lanes):  # type: ignore[no-untyped-def]
    """Up to four plain sums."""
    first, last = np.uint64(bounds[width]), np.uint64(bounds[width + 1])
    four = np.uint64(4)
    at = np.uint64(0)
    for i in range(np.uint64(a), np.uint64(b if last > first else a)):
        given = lanes_at(lanes, at)
        for c in range(first, last):
            add_lanes(hist, (base[c] + np.uint64(view[i, place[c]])) * four, given)
        at += four


@inner
def _add_record(hist, view, longs, a, b, place, base, bounds, width, first_long):  # type: ignore[no-untyped-def]
    """Up to four plain sums that stand in the records as they are counted."""
    first, last = np.uint64(bounds[width]), np.uint64(bounds[width + 1])
    four, step = np.uint64(4), np.uint64(longs.shape[1])
    begin = np.uint64(a)
    at = begin * step + np.uint64(first_long)
    for i in range(begin, np.uint64(b if last > first else a)):
        given = one_and_three(longs, at)
        for c in range(first, last):
            add_lanes(hist, (base[c] + np.uint64(view[i, place[c]])) * four, given)
        at += step


@inner
def _add_two(hist, view, a, b, place, base, bounds, width, lanes):  # type: ignore[no-untyped-def]
    """Up to eight plain sums."""
    first, last = np.uint64(bounds[width]), np.uint64(bounds[width + 1])
    four, eight = np.uint64(4), np.uint64(8)
    at = np.uint64(0)
    for i in range(np.uint64(a), np.uint64(b if last > first else a)):
        low, high = lanes_at(lanes, at), lanes_at(lanes, at + four)
        for c in range(first, last):
            row = (base[c] + np.uint64(view[i, place[c]])) * eight
            add_lanes(hist, row, low)
            add_lanes(hist, row + four, high)
        at += eight


@inner
def _add_all(hist, stride, words, a, b, fields, columns, listed, c0, c1, lanes, entries, q):  # type: ignore[no-untyped-def]
    """Any number of plain sums and class columns, codes of any width."""
    lane = np.uint64(lanes.shape[0] // BLOCK)
    stride, four, zero = np.uint64(stride), np.uint64(4), np.uint64(0)
    q = np.uint64(q)
    for c in range(c0, c1):
        if listed[c + 1] - listed[c] < 2:
            continue
        word, shift = np.uint64(fields[c, WORD_AT]), np.uint64(fields[c, SHIFT])
        mask, base = np.uint64(fields[c, MASK]), np.uint64(columns[c, 2])
        at = entry = zero
        for i in range(np.uint64(a), np.uint64(b)):
            row = (base + ((words[i, word] >> shift) & mask)) * stride
            k = zero
            while k < lane:
                add_lanes(hist, row + k, lanes_at(lanes, at + k))
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
                above = ((z * z) >> f.shift) - floor
                lanes[at + apart] = floor + (above & ~(above >> 63))  # no branch, unlike max
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
def count_rows(hist, stride, columns, listed, first_column, last_column, views, a, b, f, tally):  # type: ignore[no-untyped-def]
    """Add the records a..b to the histograms of those columns that list more than one row."""
    place, base, lanes, entries = tally.place, tally.base, tally.lanes, tally.entries
    bounds, longs = tally.bounds, views.longs
    for width in range(2):
        n = bounds[width]
        for c in range(first_column, last_column):
            if listed[c + 1] - listed[c] > 1 and f.codes[c, 0] == width:
                place[n] = f.codes[c, 1]
                base[n] = columns[c, 2]
                n += 1
        bounds[width + 1] = n
    q = f.classes.shape[0]
    lane = lanes.shape[0] // BLOCK
    few = q == 0 and lane == stride and lane <= 8 and f.narrow
    if few and f.whole >= 0:
        for start in range(a, b, CACHED):
            end, at = min(b, start + CACHED), f.whole
            _add_record(hist, views.bytes, longs, start, end, place, base, bounds, BYTE, at)
            _add_record(hist, views.shorts, longs, start, end, place, base, bounds, SHORT, at)
        return
    for start in range(a, b, BLOCK):
        end = min(b, start + BLOCK)
        _write_lanes(views, start, end, f, lanes, entries)
        if not few:
            _add_all(
                hist, stride, views.words, start, end, f.codes, columns, listed,
                first_column, last_column, lanes, entries, q,
            )  # fmt: skip
        elif lane == 4:
            _add_one(hist, views.bytes, start, end, place, base, bounds, BYTE, lanes)
            _add_one(hist, views.shorts, start, end, place, base, bounds, SHORT, lanes)
        else:
            _add_two(hist, views.bytes, start, end, place, base, bounds, BYTE, lanes)
            _add_two(hist, views.shorts, start, end, place, base, bounds, SHORT, lanes)


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
def count_cells_by_code(hist, width, columns, listed, c0, c1, views, a, b, f):  # type: ignore[no-untyped-def]
    """Add the records a..b to the cell counts of every code of those columns that vary."""
    width = np.uint64(width)
    for start in range(a, b, CACHED):
        begin, end = np.uint64(start), np.uint64(min(b, start + CACHED))
        for c in range(c0, c1):
            if listed[c + 1] - listed[c] < 2:
                continue
            word, shift = np.uint64(f.codes[c, WORD_AT]), np.uint64(f.codes[c, SHIFT])
            mask, base = np.uint64(f.codes[c, MASK]), np.uint64(columns[c, 2])
            for j in range(f.cells.shape[0]):
                at, first = np.uint64(f.cells[j]), np.uint64(f.cell_starts[j])
                for i in range(begin, end):
                    row = base + ((views.words[i, word] >> shift) & mask)
                    hist[row * width + first + np.uint64(views.bytes[i, at])] += 1


@inner
def keep_counted(hist, stride, rows, old, first_column, last_column, bounds):  # type: ignore[no-untyped-def]
    """Keep those of the listed rows of a histogram that hold records, column by column.

    A column that lists but one row does not vary: it is not counted any more, and keeps its row.
    """
    m = bounds[first_column]
    for c in range(first_column, last_column):
        alone = old[c + 1] - old[c] == 1
        for i in range(old[c], old[c + 1]):
            row = rows[i]
            rows[m] = row
            m += alone or hist[np.int64(row) * stride] > 0
        bounds[c + 1] = m


@inner
def clear(hist, stride, rows, first, last):  # type: ignore[no-untyped-def]
    """Make the listed rows of a histogram zero."""
    for i in range(first, last):
        at = np.uint64(rows[i]) * np.uint64(stride)
        for j in range(at, at + np.uint64(stride), np.uint64(4)):
            clear_lanes(hist, j)


@inner
def subtract(hist, part, stride, rows, first, last):  # type: ignore[no-untyped-def]
    """Take the listed rows of a part's histogram off a histogram."""
    for i in range(first, last):
        at = np.uint64(rows[i]) * np.uint64(stride)
        for j in range(at, at + np.uint64(stride), np.uint64(4)):
            take_lanes(hist, j, lanes_at(part, j))
