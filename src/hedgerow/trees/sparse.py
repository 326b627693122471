"""Split searches over many responses of which a code holds few: only what it holds is listed.

For likeness the entries of a code that are not 0 (`Alike`); for categories of many classes the
classes that it has (`Listed`). A node of m records holds at most m pairs of a code and a class.
With L the left side's sums, T the node's, n their number and w the weights, a split gains

    sum w (L n - T n_L)^2 / (n n_L n_R) = (n^2 A - 2 n n_L B + n_L^2 C) / (n n_L n_R)

    A = sum w L^2      B = sum w L T      C = sum w T^2

and a code that comes to the left changes A and B by what it holds. For classes the numerator is
taken exactly, in 128 bits: the same split comes out as where all classes are counted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..kernels.bits import scatter_apart
from ..kernels.compiled import inner
from ..kernels.measures import share_gain
from .category_orders import (
    AXIS_STEPS,
    first_axis,
    level,
    next_axis,
    sort_places,
    write_order,
)
from .node_rows import MASK, SHIFT, WORD_AT, NodeRows
from .objective import NOWHERE, TIE, Rules, above_rounding, xlogx
from .statistics import ENTROPY, StatisticsLayout


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
    def of(cls, rows: NodeRows, n: int, widest: int, layout: StatisticsLayout, rules: Rules) -> Listed:
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


STEPS, MOST_STEPS = 1 << 8, 1 << 25
"""Steps that the orders of all classes may take for every record, and for a node. Beyond, the
codes without a class are not told apart in its order: all of them stand on one side."""


@inner
def list_holders(hist, stride, present, begin, m, base, n_channels, total, t, room):  # type: ignore[no-untyped-def]
    """List which codes hold each class; returns how many orders they give beside the means.

    One for every held class, one for all others, which leave the codes as they are, and the
    main axis where there are two responses or classes.
    """
    first, holder, share, state = room.first, room.holder, room.share, room.state
    n_held = state[HELD]
    for h in range(n_held + 1):
        first[h] = 0
    for k in range(m):
        code = present[begin + k] - base
        for e in range(room.begins[code], room.ends[code]):
            first[room.at[room.place[e]] + 1] += 1
    for h in range(n_held):
        first[h + 1] += first[h]
    n = total[t.divisor]
    for k in range(m):
        row = np.int64(present[begin + k])
        code = row - base
        here = hist[row * stride + t.divisor]
        for e in range(room.begins[code], room.ends[code]):
            place = room.place[e]
            h = room.at[place]
            holder[first[h]] = k
            share[first[h]] = float(room.value[e]) / here - float(room.total[place]) / n
            first[h] += 1
    for h in range(n_held, 0, -1):
        first[h] = first[h - 1]
    first[0] = 0
    steps = n_held * (m + state[PAIRS])
    state[BRIEF] = steps > min(STEPS * total[0], MOST_STEPS)
    size = room.total.shape[0]
    return n_held + (n_held < size) + (n_channels + size > 1)


@inner
def write_listed_order(  # type: ignore[no-untyped-def]
    hist, stride, present, begin, m, sequence, n_channels, total, t, space, room
):
    """Write the codes in the order of one response or class, or of their main axis."""
    if sequence < n_channels:
        return write_order(
            hist, stride, present, begin, m, sequence, n_channels, total, t, space, ()
        )
    key, order, held = space.key, space.order, room.held
    n_held = room.state[HELD]
    size = room.total.shape[0]
    number = sequence - n_channels
    gap = 0
    while gap < n_held and held[gap] == gap:
        gap += 1
    last = written = m
    if number == n_held + (n_held < size):
        _main_axis(hist, stride, present, begin, m, n_channels, total, t, space, room)
        level(key, m)
        sort_places(key, m, order)
    elif number == gap:
        for k in range(m):
            order[0, k] = k
    else:
        h = number - (number > gap)
        begin_of, end_of = room.first[h], room.first[h + 1]
        few = end_of - begin_of
        j = 0
        while held[h] >= room.starts[j + 1]:
            j += 1
        sign = -1.0 if room.state[BRIEF] else 1.0
        for i in range(few):
            key[i] = room.share[begin_of + i] * np.sqrt(room.weight[j]) * sign
        sort_places(key, few, order)
        for i in range(few):
            order[1, i] = room.holder[begin_of + order[0, i]]
        if room.state[BRIEF]:
            for i in range(few):
                order[0, i] = order[1, i]
            last, written = few + (few < m), few
        else:
            for i in range(few):
                room.marked[order[1, i]] = 1
            # from the back, since the places of the holders still stand in front
            for i in range(few):
                key[i] = order[1, i]
            at = 0
            for k in range(m):
                if room.marked[k]:
                    room.marked[k] = 0
                else:
                    order[0, at] = k
                    at += 1
            for i in range(few):
                order[0, at + i] = np.int64(key[i])
    for k in range(written):
        space.rows[k] = present[begin + order[0, k]]
    return last


@inner
def _main_axis(hist, stride, present, begin, m, r, total, t, space, room):  # type: ignore[no-untyped-def]
    """`category_orders.principal_axis`, of the pairs alone: scores of the codes in `space.key`."""
    key, means, held, weight = space.key, space.means, room.held, room.weight
    axis, moved = room.axis[0], room.axis[1]
    n_held = room.state[HELD]
    d = r + n_held
    n = float(total[t.divisor])
    for a in range(d):
        moved[a] = 0.0
    for k in range(m):
        here = hist[present[begin + k] * stride + t.divisor]
        for a in range(r):
            moved[a] += here * means[k * r + a] * means[k * r + a]
    j = 0
    for h in range(n_held):
        while held[h] >= room.starts[j + 1]:
            j += 1
        told = float(room.total[held[h]]) / n
        rest = n
        for e in range(room.first[h], room.first[h + 1]):
            here = hist[present[begin + room.holder[e]] * stride + t.divisor]
            moved[r + h] += here * room.share[e] * room.share[e]
            rest -= here
        moved[r + h] = weight[j] * (moved[r + h] + rest * told * told)
    first_axis(moved, d, axis)
    for steps in range(AXIS_STEPS + 1):
        # what every code scores on the axis; classes that it does not hold are in `common`
        common, j = 0.0, 0
        for h in range(n_held):
            while held[h] >= room.starts[j + 1]:
                j += 1
            common -= float(room.total[held[h]]) / n * np.sqrt(weight[j]) * axis[r + h]
        for k in range(m):
            score = common
            for a in range(r):
                score += means[k * r + a] * axis[a]
            key[k] = score
        j = 0
        for h in range(n_held):
            while held[h] >= room.starts[j + 1]:
                j += 1
            step = np.sqrt(weight[j]) * axis[r + h]
            told = float(room.total[held[h]]) / n
            for e in range(room.first[h], room.first[h + 1]):
                key[room.holder[e]] += (room.share[e] + told) * step
        if steps == AXIS_STEPS:
            break
        for a in range(d):
            moved[a] = 0.0
        every = 0.0
        for k in range(m):
            score = hist[present[begin + k] * stride + t.divisor] * key[k]
            every += score
            for a in range(r):
                moved[a] += score * means[k * r + a]
        j = 0
        for h in range(n_held):
            while held[h] >= room.starts[j + 1]:
                j += 1
            told = float(room.total[held[h]]) / n
            inside = 0.0
            for e in range(room.first[h], room.first[h + 1]):
                k = room.holder[e]
                here = hist[present[begin + k] * stride + t.divisor]
                inside += here * key[k] * (room.share[e] + told)
            moved[r + h] = np.sqrt(weight[j]) * (inside - told * every)
        if not next_axis(moved, d, axis):
            break
