"""The best split for categories of many classes: of each code only the classes that it holds.

A node of m records holds at most m pairs of a code and a class. They are listed, sorted by
code and class, and a walk changes sums over the classes by those that a code brings. With L
the left side's counts, T the node's and n their number, a class column gains

    sum (L n - T n_L)^2 / (n n_L n_R) = (n^2 A - 2 n n_L B + n_L^2 C) / (n n_L n_R)

    A = sum L^2      B = sum L T      C = sum T^2

whose numerator is taken exactly, in 128 bits: the same split comes out as where all classes
are counted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..kernels.bits import scatter_apart
from ..kernels.compiled import inner
from ..kernels.measures import share_gain
from .node_rows import MASK, SHIFT, WORD_AT, Rows
from .objective import NOWHERE, Rules, above_rounding, xlogx
from .statistics import ENTROPY, StatisticsLayout

NODE, HELD, PAIRS, BRIEF, WORK = range(5)
"""Entries of `Listed.state`: first record of the node, classes it holds, pairs of the column,
whether the orders of its classes are brief, steps since somebody asked."""
SLACK = 1e-11
"""What is nearer to a cap is asked exactly."""


class Listed(NamedTuple):
    """What the codes of one column hold in one node, and where a walk adds it up."""

    words: Any
    codes: Any
    shorts: Any
    classes: Any
    """The records: words, `Format.codes`, 16-bit fields, positions of the listed classes."""
    starts: Any
    weight: Any
    public: Any
    loss: Any
    """See `ClassBlocks`; an offset among them is a place."""
    missing: Any
    """Per column the place of the missing class, or -1."""
    shares: Any
    """Per column the sum of the squared public shares."""
    cap: Any
    largest: Any
    entropy: Any
    """Per column what `Rules` ask."""
    records: Any
    """The node's records by class, for every class column, and room to sort them."""
    held: Any
    """Places of the classes that the node holds, ascending."""
    total: Any
    """Their counts by place, 0 elsewhere."""
    begins: Any
    ends: Any
    """Where the pairs of every code stand."""
    place: Any
    value: Any
    """The pairs: place and count."""
    first: Any
    """Where the codes of every held class begin, with the end of the last."""
    holder: Any
    share: Any
    """The pairs once more by class: position of the code, and its share of the class."""
    at: Any
    """By place: the position among the held ones."""
    marked: Any
    left: Any
    """Counts of the left side by place, all 0 between two walks."""
    side: Any
    square: Any
    cross: Any
    whole: Any
    """A, B and C per column."""
    told: Any
    """Per column: sums of public shares and losses over the left side and over the node."""
    mixed: Any
    """Per column what the left side's entropy differs by from the node's."""
    axis: Any
    state: Any

    @classmethod
    def of(cls, rows: Rows, n: int, widest: int, layout: StatisticsLayout, rules: Rules) -> Listed:
        """Room for nodes of up to n records and columns of up to `widest` codes."""
        assert layout.listed is not None
        starts, weight, public, loss = layout.listed
        w, r, size = len(weight), layout.r, int(starts[-1])
        last = starts[1:] - 1
        missing = np.where(public[last] < 0, last, -1)
        held = min(size, n * w)
        return cls(
            rows.words,
            rows.format.codes,
            rows.views.shorts,
            rows.format.classes[:w],
            starts,
            weight,
            public,
            loss,
            missing,
            np.add.reduceat(np.maximum(public, 0) ** 2, starts[:-1]),
            rules.cap[r : r + w],
            rules.share[:w],
            rules.entropy[:w],
            np.zeros((w + 1, n), np.int64),
            np.zeros(held, np.int64),
            np.zeros(size, np.int64),
            np.zeros(widest, np.int64),
            np.zeros(widest, np.int64),
            np.zeros(n * w, np.int32),
            np.zeros(n * w, np.int32),
            np.zeros(held + 1, np.int64),
            np.zeros(n * w, np.int32),
            np.zeros(n * w),
            np.zeros(size, np.int32),
            np.zeros(widest, np.uint8),
            np.zeros(size, np.int64),
            np.zeros(size, np.int64),
            np.zeros(w, np.int64),
            np.zeros(w, np.int64),
            np.zeros(w, np.int64),
            np.zeros((w, 4)),
            np.zeros(w),
            np.zeros((2, r + held)),
            np.zeros(5, np.int64),
        )


@inner
def _sorted_by_class(shorts, at, a, m, records, spare):  # type: ignore[no-untyped-def]
    """Write the records a .. a + m by class, by eight bits after eight; `spare` has as much room."""
    counts = np.zeros(257, np.int64)
    high = 0
    for i in range(m):
        spare[i] = a + i
        high = max(high, shorts[a + i, at] >> 8)
    for shift in range(0, 16, 8):
        if shift and high == 0:
            break
        counts[:] = 0
        given, made = (records, spare) if shift else (spare, records)
        for i in range(m):
            counts[((shorts[given[i], at] >> shift) & 255) + 1] += 1
        for digit in range(256):
            counts[digit + 1] += counts[digit]
        for i in range(m):
            digit = (shorts[given[i], at] >> shift) & 255
            made[counts[digit]] = given[i]
            counts[digit] += 1
    if high > 0:
        records[:m] = spare[:m]


@inner
def list_node(a, b, room):  # type: ignore[no-untyped-def]
    """List the classes that the records a..b hold."""
    state, held, total, records = room.state, room.held, room.total, room.records
    for h in range(state[HELD]):
        total[held[h]] = 0
    m, n_held = b - a, 0
    for j in range(room.weight.shape[0]):
        _sorted_by_class(room.shorts, room.classes[j], a, m, records[j], records[-1])
        last = -1
        for i in range(m):
            place = room.starts[j] + room.shorts[records[j, i], room.classes[j]]
            if place != last:
                held[n_held] = last = place
                room.at[place] = n_held
                n_held += 1
            total[place] += 1
        room.whole[j] = 0
        room.told[j, 2] = room.told[j, 3] = 0.0
    j = 0
    for h in range(n_held):
        place = held[h]
        while place >= room.starts[j + 1]:
            j += 1
        count = total[place]
        room.whole[j] += count * count
        if place != room.missing[j]:
            room.told[j, 2] += count * room.public[place]
            room.told[j, 3] += count * room.loss[place]
    state[NODE], state[HELD] = a, n_held
    state[WORK] += m * room.weight.shape[0]


@inner
def list_column(hist, stride, present, begin, end, base, c, total, t, room):  # type: ignore[no-untyped-def]
    """List the pairs of a column's codes."""
    at = m = 0
    for k in range(begin, end):
        row = present[k]
        records = hist[row * stride]
        room.begins[row - base] = room.ends[row - base] = at
        at += records * room.weight.shape[0]
        m += records
    word, shift = room.codes[c, WORD_AT], np.uint64(room.codes[c, SHIFT])
    mask = np.uint64(room.codes[c, MASK])
    pairs = 0
    for j in range(room.weight.shape[0]):
        for i in range(m):
            record = room.records[j, i]
            code = (room.words[record, word] >> shift) & mask
            place = room.starts[j] + room.shorts[record, room.classes[j]]
            end_of = room.ends[code]
            if end_of > room.begins[code] and room.place[end_of - 1] == place:
                room.value[end_of - 1] += 1
            else:
                room.place[end_of], room.value[end_of] = place, 1
                room.ends[code] = end_of + 1
                pairs += 1
    room.state[PAIRS] = pairs
    room.state[WORK] += m * room.weight.shape[0]


@inner
def bring(code, sign, t, room):  # type: ignore[no-untyped-def]
    """Bring what a code holds to the left side, or back."""
    left, j = room.left, 0
    for e in range(room.begins[code], room.ends[code]):
        place, value = room.place[e], sign * np.int64(room.value[e])
        while place >= room.starts[j + 1]:
            j += 1
        before, whole = left[place], room.total[place]
        after = before + value
        left[place] = after
        room.square[j] += value * (before + after)
        room.cross[j] += value * whole
        if room.cap[j] < 1.0 and place != room.missing[j]:
            room.told[j, 0] += value * room.public[place]
            room.told[j, 1] += value * room.loss[place]
        if t.gain == ENTROPY:
            room.mixed[j] += xlogx(after, t) + xlogx(whole - after, t)
            room.mixed[j] -= xlogx(before, t) + xlogx(whole - before, t)


@inner
def take_back(rows, first, last, extra, base, room):  # type: ignore[no-untyped-def]
    """Leave nothing of these rows' codes on the left side, nor of the row `extra`."""
    for k in range(first - (extra != NOWHERE), last):
        code = (rows[k] if k >= first else extra) - base
        for e in range(room.begins[code], room.ends[code]):
            room.left[room.place[e]] = 0
    for j in range(room.weight.shape[0]):
        room.square[j] = room.cross[j] = 0
        room.told[j, 0] = room.told[j, 1] = room.mixed[j] = 0.0


@inner
def gain_of_listed(n, nl, t, room):  # type: ignore[no-untyped-def]
    """What a split gains by the listed classes."""
    value = 0.0
    room.state[WORK] += 1
    if t.gain == ENTROPY:
        apart = xlogx(n, t) - xlogx(nl, t) - xlogx(n - nl, t)
        for j in range(room.weight.shape[0]):
            value += room.weight[j] * (apart + room.mixed[j])
        return above_rounding(value, n, t)
    for j in range(room.weight.shape[0]):
        value += room.weight[j] * scatter_apart(n, nl, room.square[j], room.cross[j], room.whole[j])
    return value / (float(n) * float(nl) * float(n - nl))


@inner
def admits_listed(n, nl, room):  # type: ignore[no-untyped-def]
    """Whether both sides keep what is asked of the listed classes."""
    for j in range(room.weight.shape[0]):
        if room.cap[j] < 1.0 and not (
            _silent(j, nl, False, room) and _silent(j, n - nl, True, room)
        ):
            return False
        if room.largest[j] < 1.0 or room.entropy[j] > 0.0:
            for side in range(2):
                here, most, mixed = (n - nl if side else nl), 0, 0.0
                for h in range(room.state[HELD]):
                    place = room.held[h]
                    if room.starts[j] <= place < room.starts[j + 1]:
                        count = room.left[place]
                        if side:
                            count = room.total[place] - count
                        if count > 0:
                            most = max(most, count)
                            mixed -= count / here * np.log(count / here)
                if room.largest[j] < 1.0 and most > room.largest[j] * here:
                    return False
                if room.entropy[j] > 0.0 and mixed < room.entropy[j]:
                    return False
    return True


@inner
def _silent(j, n, other, room):  # type: ignore[no-untyped-def]
    """Whether a side keeps the cap on a column; `other` is the right one."""
    square, shares, lost = np.float64(room.square[j]), room.told[j, 0], room.told[j, 1]
    gone = room.missing[j]
    away = room.left[gone] if gone >= 0 else 0
    if other:
        square = np.float64(room.whole[j] - 2 * room.cross[j] + room.square[j])
        shares, lost = room.told[j, 2] - shares, room.told[j, 3] - lost
        away = room.total[gone] - away if gone >= 0 else 0
    square -= float(away) * float(away)
    known = float(n - away)
    told = square - 2.0 * known * shares + known * known * room.shares[j]
    limit = room.cap[j] * known * lost
    if abs(told - limit) > SLACK * (room.whole[j] + known * known):
        return told <= limit
    begin, end = room.starts[j], room.starts[j + 1] - (gone >= 0)
    for place in range(begin, end):
        count = room.left[place]
        room.side[place] = room.total[place] - count if other else count
    exact, gain, lost = share_gain(room.side, begin, end, room.public, room.loss)
    return gain <= room.cap[j] * exact * lost


@inner
def left_is_larger(present, begin, m, base, goes_left, n, nl, t, room):  # type: ignore[no-untyped-def]
    """Whether the left side has the smaller share of the first class that tells the sides apart."""
    if t.r > 0:
        return False
    for k in range(m):
        if goes_left[k]:
            bring(present[begin + k] - base, 1, t, room)
    left, right, apart = float(nl), float(n - nl), 0.0
    for h in range(room.state[HELD]):
        place = room.held[h]
        if place >= room.starts[1] or apart != 0.0:
            break
        there = float(room.total[place] - room.left[place])
        apart = there * left - float(room.left[place]) * right
    take_back(present, begin, begin + m, NOWHERE, base, room)
    return apart > 0.0


@inner
def work_of(room):  # type: ignore[no-untyped-def]
    """Steps since this was asked."""
    work = room.state[WORK]
    room.state[WORK] = 0
    return work
