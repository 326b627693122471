"""Counting rows: the statistics vectors of every code of several columns, in one pass.

What a row adds to the plain sums is written out once for a block of rows and then
added for each column, four sums at a time; each class column adds one to one count.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..kernels import Codes, Ints, Ints32, Records, Words
from ..kernels.bits import add_lanes, lanes_at, one_and_three, take_lanes
from ..kernels.compiled import inner
from .node_rows import BYTE, LONG, SHORT, Format, NodeRows, Predictors, Views
from .statistics import StatisticsLayout

# A block's terms stay in the first cache while every column adds them.
BLOCK = 64
# records that stay in the first cache while column after column is counted
CACHED = 512
# a column's histogram begins at a multiple of this many codes
ALIGN = 8
# bytes of histograms that are counted together for a node of few rows
BUNDLE = 1 << 15
# a column: its codes without the missing one, the histogram row of code 0, and whether codes are ordered
HISTOGRAM = np.dtype([("n_codes", np.int64), ("base", np.int64), ("is_ordered", np.bool_)], align=True)


class Histograms(NamedTuple):
    """The positions of all columns' histograms, stored one after another; the same for all nodes."""

    # HISTOGRAM array of shape (p,)
    columns: Records
    # columns whose histograms fit the first caches together: where each bundle begins, and the end
    bundles: Ints
    n_rows: int

    @classmethod
    def from_predictors(cls, predictors: Predictors, layout: StatisticsLayout) -> Histograms:
        """Return the positions of every column's histogram."""
        width = -(-(predictors.n_codes + 1) // ALIGN) * ALIGN
        ends = np.cumsum(width)
        columns = np.zeros(len(width), HISTOGRAM)
        columns["n_codes"], columns["base"] = predictors.n_codes, ends - width
        columns["is_ordered"] = predictors.ordered
        begins, size = [0], 0
        for c, n_codes in enumerate(predictors.n_codes.tolist()):
            more = (n_codes + 1) * layout.stride * 8
            if size and size + more > BUNDLE:
                begins.append(c)
                size = 0
            size += more
        return cls(columns, np.array([*begins, len(columns)], np.int64), int(ends[-1]) if len(ends) else 0)

    def rows(self) -> tuple[Ints32, Ints]:
        """Return the histogram rows of all codes, column by column, and where each column's rows begin.

        The second array ends with the end of the last column.
        """
        sizes = self.columns["n_codes"] + 1
        rows = [b + np.arange(n) for n, b in zip(sizes, self.columns["base"], strict=True)]
        return (
            np.concatenate([np.zeros(0), *rows]).astype(np.int32),
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        )


class CodeSums(NamedTuple):
    """The statistics of every code of one column in one node.

    Parameters
    ----------
    hist
        One vector per row of the histogram, `Terms.stride` entries each.
    rows
        Rows of the codes that occur.
    first, last
        Bounds of this column's part of `rows`.
    base
        The row of the column's code 0.
    total
        The statistics of the node.
    """

    hist: Ints
    rows: Ints32
    first: int
    last: int
    base: int
    column: int
    ordered: bool
    total: Ints


class CountedNow(NamedTuple):
    """The columns being counted now, those with narrow codes first."""

    # positions of the codes
    place: Words
    # first row of each column's histogram
    base: Words
    # first column of each code width, with the end of the last; begins with 0
    bounds: Ints


class Counter(NamedTuple):
    """A counter of a table's records: where their fields are, where they are added, and buffers.

    Each thread has its own.

    Parameters
    ----------
    views
        See `node_rows.Views`.
    form
        See `Format`; its quantities go to the entries from 1 on.
    columns
        See `Histograms.columns`.
    layout
        The entries that are added to.
    classes
        Positions of the class columns that are counted.
    squared
        Number of quantities that are squared: the last ones.
    is_narrow
        True if all codes are bytes or 16-bit numbers.
    whole
        Position of four 32-bit fields of which the last three contain all plain sums; or
        -1.
    lanes
        The terms that each row of a block adds to the plain sums.
    entries
        The entries that each row of a block adds one to.
    """

    views: Views
    form: Format
    columns: Records
    layout: StatisticsLayout
    classes: Ints
    squared: int
    is_narrow: bool
    whole: int
    lanes: Ints
    entries: Words
    now: CountedNow

    @classmethod
    def from_rows(cls, rows: NodeRows, layout: StatisticsLayout, places: Histograms) -> Counter:
        """Return a counter of these rows for one thread."""
        form, p = rows.format, len(rows.format.codes)
        r = layout.r if layout.squares >= 0 else 0
        begin, n = (form.quantities[0], len(form.quantities)) if len(form.quantities) else (0, 4)
        # Four fields are read at once: the row number's, which becomes the count of 1, and three
        # more. If there are fewer sums, the rest goes to the vector's padding, which nobody reads.
        is_whole = n <= 3 and not r and begin + 3 <= 2 * form.n_words
        lanes = aligned(BLOCK * -(-int(layout.starts[0]) // 4) * 4)
        # the count is a sum like the others, so that it needs no addition of its own
        lanes[:: len(lanes) // BLOCK] = 1  # every row is one record
        return cls(
            views=rows.views,
            form=form,
            columns=places.columns,
            layout=layout,
            classes=form.classes[layout.n_listed :],
            squared=r,
            is_narrow=bool((form.codes["width"] < LONG).all()),
            whole=int(begin) - 1 if is_whole else -1,
            lanes=lanes,
            entries=np.zeros(BLOCK * layout.q, np.uint64),
            now=CountedNow(np.zeros(p, np.uint64), np.zeros(p, np.uint64), np.zeros(4, np.int64)),
        )


def aligned(n: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return n zeros aligned to a cache line, so that loads of four integers never cross a line."""
    buffer = np.zeros(n + 8, np.int64)
    skip = (-buffer.ctypes.data // 8) % 8
    return buffer[skip : skip + n]


@inner
def _add_lanes(hist: Ints, view: Codes, a: int, b: int, width: int, now: CountedNow, lanes: Ints, size: int) -> None:
    """Add up to four plain sums of every record to the histograms, or up to eight if `size` is 8."""
    place, base = now.place, now.base
    # Unsigned, because numba tests signed indices for negative ones, which count from the end.
    first, last = np.uint64(now.bounds[width]), np.uint64(now.bounds[width + 1])
    at, four, eight = np.uint64(0), np.uint64(4), np.uint64(size)
    # Where no column has this width, the loop over the records is empty.
    for i in range(np.uint64(a), np.uint64(b if last > first else a)):
        low, high = lanes_at(lanes, at), lanes_at(lanes, at + eight - four)
        for c in range(first, last):
            row = (base[c] + np.uint64(view[i, place[c]])) * eight
            add_lanes(hist, row, low)
            # Callers give `size` as a number, so that the compiler knows which of the two it is.
            if size > 4:
                add_lanes(hist, row + four, high)
        at += eight


@inner
def _add_record(
    hist: Ints, view: Codes, a: int, b: int, width: int, now: CountedNow, longs: Ints32, whole: int
) -> None:
    """Add up to four plain sums of every record, read from its own fields, to the histograms."""
    place, base = now.place, now.base
    first, last = np.uint64(now.bounds[width]), np.uint64(now.bounds[width + 1])
    four, step = np.uint64(4), np.uint64(longs.shape[1])
    begin = np.uint64(a)
    at = begin * step + np.uint64(whole)
    for i in range(begin, np.uint64(b if last > first else a)):
        terms = one_and_three(longs, at)
        for c in range(first, last):
            add_lanes(hist, (base[c] + np.uint64(view[i, place[c]])) * four, terms)
        at += step


@inner
def _add_all(hist: Ints, bounds: Ints, c0: int, c1: int, a: int, b: int, counter: Counter) -> None:
    """Add any number of plain sums and class counts to the histograms, for codes of any width."""
    words, lanes, entries = counter.views.words, counter.lanes, counter.entries
    lane = np.uint64(lanes.shape[0] // BLOCK)
    stride, four, zero = np.uint64(counter.layout.stride), np.uint64(4), np.uint64(0)
    q = np.uint64(counter.classes.shape[0])
    for c in range(c0, c1):
        if bounds[c + 1] - bounds[c] < 2:
            continue
        field, base = counter.form.codes[c], np.uint64(counter.columns[c].base)
        word, shift, mask = field.word, field.shift, field.mask
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
def _write_lanes(a: int, b: int, counter: Counter) -> None:
    """Write what each of the records a..b adds to the plain sums, and which class counts it raises."""
    longs, shorts = counter.views.longs, counter.views.shorts
    lanes, entries = counter.lanes, counter.entries
    lane = np.uint64(lanes.shape[0] // BLOCK)
    begin, stop = np.uint64(a), np.uint64(b)
    n_quantities = counter.form.quantities.shape[0]
    for j in range(n_quantities):
        at, field = np.uint64(1 + j), np.uint64(counter.form.quantities[j])
        square = j - (n_quantities - counter.squared)
        if square >= 0:
            to_square = np.uint64(counter.layout.squares + square - 1 - j)
            floor = counter.layout.floors[square]
            for i in range(begin, stop):
                z = np.int64(longs[i, field])
                lanes[at] = z
                above = ((z * z) >> counter.layout.shift) - floor
                lanes[at + to_square] = floor + (above & ~(above >> 63))  # no branch, unlike max
                at += lane
        else:
            for i in range(begin, stop):
                lanes[at] = longs[i, field]
                at += lane
    q = np.uint64(counter.classes.shape[0])
    for j in range(counter.classes.shape[0]):
        at, field = np.uint64(j), np.uint64(counter.classes[j])
        entry = np.uint64(counter.layout.starts[j])
        for i in range(begin, stop):
            entries[at] = entry + np.uint64(shorts[i, field])
            at += q


@inner
def count_rows(hist: Ints, bounds: Ints, first_column: int, last_column: int, a: int, b: int, counter: Counter) -> None:
    """Add the records a..b to the histograms of the columns that list more than one row.

    Parameters
    ----------
    hist : int64 array
    bounds : int64 array
        Where each column's listed rows begin, with the end of the last.
    first_column, last_column, a, b : int
    counter : Counter
    """
    views, now, lanes = counter.views, counter.now, counter.lanes
    # bytes before 16-bit codes, so that the loops below know the type that they read
    for width in range(2):
        n = now.bounds[width]
        for c in range(first_column, last_column):
            if bounds[c + 1] - bounds[c] > 1 and counter.form.codes[c].width == width:
                now.place[n], now.base[n] = counter.form.codes[c].at, counter.columns[c].base
                n += 1
        now.bounds[width + 1] = n
    lane = lanes.shape[0] // BLOCK
    # two registers of four sums are enough for most layouts
    is_small = lane == counter.layout.stride and lane <= 8
    few = counter.classes.shape[0] == 0 and is_small and counter.is_narrow
    if few and counter.whole >= 0:
        # Bytes and 16-bit codes are read from the same few records, which the cache still holds.
        for start in range(a, b, CACHED):
            end = min(b, start + CACHED)
            _add_record(hist, views.bytes, start, end, BYTE, now, views.longs, counter.whole)
            _add_record(hist, views.shorts, start, end, SHORT, now, views.longs, counter.whole)
        return
    for start in range(a, b, BLOCK):
        end = min(b, start + BLOCK)
        _write_lanes(start, end, counter)
        if not few:
            _add_all(hist, bounds, first_column, last_column, start, end, counter)
        elif lane == 4:
            _add_lanes(hist, views.bytes, start, end, BYTE, now, lanes, 4)
            _add_lanes(hist, views.shorts, start, end, SHORT, now, lanes, 4)
        else:
            _add_lanes(hist, views.bytes, start, end, BYTE, now, lanes, 8)
            _add_lanes(hist, views.shorts, start, end, SHORT, now, lanes, 8)


@inner
def count_cells(counts: Ints, a: int, b: int, view: Codes, fields: Ints, starts: Ints) -> None:
    """Count the records a..b by the cell of each judged column."""
    for i in range(counts.shape[0]):
        counts[i] = 0
    for j in range(fields.shape[0]):
        at, begin = np.uint64(fields[j]), np.uint64(starts[j])
        for i in range(np.uint64(a), np.uint64(b)):
            counts[begin + np.uint64(view[i, at])] += 1


@inner
def count_cells_by_code(hist: Ints, bounds: Ints, c0: int, c1: int, a: int, b: int, counter: Counter) -> None:
    """Add the records a..b to the cell counts of every code, for the columns that vary."""
    views, n_judged = counter.views, counter.form.cells.shape[0]
    width = np.uint64(counter.layout.cells[n_judged])
    # a few records at a time, which stay in the cache for all columns
    for start in range(a, b, CACHED):
        begin, end = np.uint64(start), np.uint64(min(b, start + CACHED))
        for c in range(c0, c1):
            if bounds[c + 1] - bounds[c] < 2:
                continue
            field, base = counter.form.codes[c], np.uint64(counter.columns[c].base)
            word, shift, mask = field.word, field.shift, field.mask
            for j in range(n_judged):
                at, first = np.uint64(counter.form.cells[j]), np.uint64(counter.layout.cells[j])
                for i in range(begin, end):
                    row = base + ((views.words[i, word] >> shift) & mask)
                    hist[row * width + first + np.uint64(views.bytes[i, at])] += 1


@inner
def keep_counted(
    hist: Ints, stride: int, rows: Ints32, old: Ints, first_column: int, last_column: int, bounds: Ints
) -> None:
    """Drop listed histogram rows that count no records; write where each column's list now begins.

    A column that lists only one row does not vary: it is no longer counted, and keeps its row.
    """
    m = bounds[first_column]
    for c in range(first_column, last_column):
        is_constant = old[c + 1] - old[c] == 1
        for i in range(old[c], old[c + 1]):
            # Every row is written, and stays if m moves on: this needs no branch to be predicted.
            row = rows[i]
            rows[m] = row
            m += is_constant or hist[np.int64(row) * stride] > 0
        bounds[c + 1] = m


@inner
def clear(hist: Ints, stride: int, rows: Ints32, first: int, last: int) -> None:
    """Set the listed rows of a histogram to zero."""
    for i in range(first, last):
        at = np.uint64(rows[i]) * np.uint64(stride)
        for j in range(at, at + np.uint64(stride), np.uint64(4)):
            take_lanes(hist, j, lanes_at(hist, j))  # one store: the difference is known to be 0


@inner
def subtract(hist: Ints, part: Ints, stride: int, rows: Ints32, first: int, last: int) -> None:
    """Subtract the listed rows of a part's histogram from the histogram of the whole."""
    # Rows that the part does not list count none of its records, so they are not visited.
    for i in range(first, last):
        at = np.uint64(rows[i]) * np.uint64(stride)
        for j in range(at, at + np.uint64(stride), np.uint64(4)):
            take_lanes(hist, j, lanes_at(part, j))
