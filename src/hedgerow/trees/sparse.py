"""Search splits over many responses that are mostly 0 for any one code: only nonzero ones are listed.

For similarity trees these are the nonzero sums of a code (`SparseSums`); for columns of many classes,
the classes that occur with the code (`SparseClasses`). A node of m records has at most m pairs of
a code and a class. With the sums L of the left side and T of the node, the numbers of records n_L and
n, and the weights w, a split gains

    sum w (L n - T n_L)^2 / (n n_L n_R) = (n^2 A - 2 n n_L B + n_L^2 C) / (n n_L n_R)

    A = sum w L^2      B = sum w L T      C = sum w T^2

and a code that moves to the left changes A and B only by its own entries. For classes the numerator
is computed exactly, in 128 bits: the split is the same as when all classes are counted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..kernels import Bytes, Codes, Floats, Ints, Ints32, Records
from ..kernels.bits import scatter_apart
from ..kernels.compiled import inner
from ..kernels.measures import entropy, largest, share_gain
from .category_orders import AXIS_STEPS, first_axis, level, next_axis, sort_places, write_order
from .histogram import CodeSums
from .node_rows import Format, NodeRows, Views
from .objective import NOWHERE, TIE, Rules, Terms, above_rounding, xlogx
from .search import Search
from .statistics import ENTROPY, ClassBlocks, StatisticsLayout


class SparseSums(NamedTuple):
    """Buffers for likeness: the non-zero entries of one column's codes, and the sums of a walk.

    Parameters
    ----------
    begins
        Offset of each code's entries, with the end of the last.
    at
        Their places among the responses' entries.
    weighted
        Weight times the node's sum, by place.
    weight
        Weight by place.
    left
        Sums of the left side, all 0 between two walks.
    whole
        C of the node.
    """

    begins: Ints
    at: Ints32
    value: Floats
    weighted: Floats
    weight: Floats
    left: Floats
    whole: Floats

    @classmethod
    def from_layout(cls, n_codes: int, layout: StatisticsLayout) -> SparseSums:
        """Return buffers for the widest column."""
        size = layout.size - layout.sums
        weight = np.zeros(size)
        weight[: layout.r] = layout.weight[: layout.r]
        weight[layout.r :] = np.repeat(layout.weight[layout.r :], np.diff(layout.starts))
        return cls(
            begins=np.zeros(n_codes + 1, np.int64),
            at=np.zeros(n_codes * size, np.int32),
            value=np.zeros(n_codes * size),
            weighted=np.zeros(size),
            weight=weight,
            left=np.zeros(size),
            whole=np.zeros(1),
        )


@inner
def list_sums(codes: CodeSums, stride: int, begin: int, sums: SparseSums) -> None:
    """List the non-zero entries of every code of a column."""
    at = codes.first - codes.first
    size = sums.weight.shape[0]
    whole = 0.0
    for i in range(size):
        all_of = float(codes.total[begin + i])
        sums.weighted[i] = sums.weight[i] * all_of
        whole += sums.weighted[i] * all_of
    sums.whole[0] = whole
    for k in range(codes.first, codes.last):
        row = codes.rows[k]
        sums.begins[row - codes.base] = at
        place = row * stride + begin
        for i in range(size):
            value = codes.hist[place + i]
            if value != 0:
                sums.at[at] = i
                sums.value[at] = float(value)
                at += 1
        # codes between two that are present have no entries
        sums.begins[row - codes.base + 1] = at


@inner
def walk_sums(
    codes: CodeSums, extra: int, is_alone: bool, best: float, t: Terms, sums: SparseSums
) -> tuple[float, int]:
    """Return the gain and step of the best split, with codes added to the left in turn or one at a time.

    Like `split._walk`; the step is 0 if no split beats `best`.
    """
    hist, total, base = codes.hist, codes.total, codes.base
    left, weight, weighted = sums.left, sums.weight, sums.weighted
    n, whole = float(total[0]), sums.whole[0]
    m = codes.last - codes.first
    nl = persons = total[0] - total[0]
    square = cross = 0.0
    best_step = 0
    if extra != NOWHERE:
        nl, persons = hist[extra * t.layout.stride], hist[extra * t.layout.stride + t.layout.persons]
        for e in range(sums.begins[extra - base], sums.begins[extra - base + 1]):
            i, value = sums.at[e], sums.value[e]
            left[i] = value
            square += weight[i] * value * value
            cross += weighted[i] * value
    for step in range(1, m + is_alone):
        row = codes.rows[codes.first + step - 1]
        if is_alone:
            nl, persons = nl - nl, persons - persons
            square = cross = 0.0
        nl += hist[row * t.layout.stride]
        persons += hist[row * t.layout.stride + t.layout.persons]
        for e in range(sums.begins[row - base], sums.begins[row - base + 1]):
            i, value = sums.at[e], sums.value[e]
            before = 0.0 if is_alone else left[i]
            # (before + value)^2 - before^2: entries that do not change cost nothing
            square += weight[i] * value * (2.0 * before + value)
            cross += weighted[i] * value
            if not is_alone:
                left[i] = before + value
        if persons < t.min_leaf:
            continue
        # Codes that are added in turn never go back, so a right side that is too small stays so.
        if total[t.layout.persons] - persons < t.min_leaf:
            if is_alone:
                continue
            break
        fl = float(nl)
        gain = (n * square - 2.0 * fl * cross) / (fl * (n - fl))
        gain += fl * whole / (n * (n - fl))
        if gain > best * (1.0 + TIE) and gain > 0.0:
            best, best_step = gain, step
    for i in range(left.shape[0]):
        left[i] = 0.0
    return best, best_step


# of a search: classes of the node, pairs of the column, steps since they were read, and whether the orders of the
# column's classes are brief
STATE = np.dtype([("classes", np.int64), ("pairs", np.int64), ("steps", np.int64), ("is_brief", np.bool_)], align=True)
# Of a class column: the place of its missing class, or -1; the sum of the squared public shares; the limits of `Rules`;
# A, B and C; sums of public shares and losses over the left side and over the node; the difference between the sides'
# n log n terms and the node's.
CLASS_COLUMN = np.dtype(
    [
        ("missing", np.int64), ("shares", np.float64), ("cap", np.float64), ("largest", np.float64),
        ("entropy", np.float64), ("square", np.int64), ("cross", np.int64), ("whole", np.int64),
        ("left_share", np.float64), ("left_loss", np.float64), ("share", np.float64), ("loss", np.float64),
        ("mixed", np.float64),
    ]
)  # fmt: skip
# disclosure nearer to a cap than this is computed again from the counts, which have no rounding
SLACK = 1e-11


class SparseClasses(NamedTuple):
    """Buffers for categories of many classes: one column's pairs in a node, and the sums of a walk.

    Parameters
    ----------
    views, form
        The records; the listed classes are the first ones of `Format.classes`.
    blocks
        An offset among them is a place.
    columns : CLASS_COLUMN array
        What is known of each class column.
    records
        The node's records by class, for every class column, and a buffer to sort them.
    digits
        Records by eight bits of their class.
    present
        Places of the classes that occur in the node, ascending.
    column
        The class column of each of them.
    total
        Their counts by place, 0 at the others.
    begins, ends
        The range of every code's pairs.
    place, value
        The pairs: place and count.
    first
        Offset of the codes of every class that occurs, with the end of the last.
    holder, share
        The pairs once more by class: position of the code, and its share of the class.
    at
        By place: the position among those that occur.
    left
        Counts of the left side by place, all 0 between two walks.
    state : STATE record
    """

    views: Views
    form: Format
    blocks: ClassBlocks
    columns: Records
    records: Ints
    digits: Ints
    present: Ints
    column: Ints
    total: Ints
    begins: Ints
    ends: Ints
    place: Ints32
    value: Ints32
    first: Ints
    holder: Ints32
    share: Floats
    at: Ints32
    marked: Bytes
    left: Ints
    side: Ints
    axis: Floats
    state: Any

    @classmethod
    def from_layout(cls, rows: NodeRows, n: int, widest: int, layout: StatisticsLayout, rules: Rules) -> SparseClasses:
        """Return buffers for nodes of up to n records and columns of up to `widest` codes."""
        assert layout.listed is not None
        starts, public = layout.listed.starts, layout.listed.public
        w, r, size = layout.n_listed, layout.r, int(starts[-1])
        last = starts[1:] - 1
        columns = np.zeros(w, CLASS_COLUMN)
        columns["missing"] = np.where(public[last] < 0, last, -1)
        columns["shares"] = np.add.reduceat(np.maximum(public, 0) ** 2, starts[:-1])
        columns["cap"] = rules.cap[r : r + w]
        columns["largest"], columns["entropy"] = rules.share[:w], rules.entropy[:w]
        # A node has at most one class per record in each column.
        most = min(size, n * w)
        shapes: dict[str, Any] = {"records": (w + 1, n), "digits": 257, "first": most + 1}
        shapes |= dict.fromkeys(("present", "column"), most) | dict.fromkeys(("begins", "ends"), widest)
        shapes |= dict.fromkeys(("total", "left", "side"), size)
        buffers: dict[str, Any] = {name: np.zeros(shape, np.int64) for name, shape in shapes.items()}
        return cls(
            views=rows.views,
            form=rows.format,
            blocks=layout.listed,
            columns=columns,
            place=np.zeros(n * w, np.int32),
            value=np.zeros(n * w, np.int32),
            holder=np.zeros(n * w, np.int32),
            share=np.zeros(n * w),
            at=np.zeros(size, np.int32),
            marked=np.zeros(widest, np.uint8),
            axis=np.zeros((2, r + most)),
            state=np.zeros(1, STATE)[0],
            **buffers,
        )


@inner
def _sorted_by_class(shorts: Codes, at: int, a: int, m: int, records: Ints, spare: Ints, counts: Ints) -> None:
    """Write the records a .. a + m sorted by class (radix sort, eight bits at a time)."""
    high = 0
    for i in range(m):
        spare[i] = a + i
        high = max(high, shorts[a + i, at] >> 8)
    for shift in range(0, 16, 8):
        if shift and high == 0:
            break
        counts[:] = 0
        source, target = (records, spare) if shift else (spare, records)
        for i in range(m):
            counts[((shorts[source[i], at] >> shift) & 255) + 1] += 1
        for digit in range(256):
            counts[digit + 1] += counts[digit]
        for i in range(m):
            digit = (shorts[source[i], at] >> shift) & 255
            target[counts[digit]] = source[i]
            counts[digit] += 1
    if high > 0:
        for i in range(m):
            records[i] = spare[i]


@inner
def list_node(a: int, b: int, classes: SparseClasses | None) -> None:
    """List the classes that occur in the records a..b; do nothing if no classes are listed."""
    if classes is None:
        return
    state, present, total, records = classes.state, classes.present, classes.total, classes.records
    # Only the last node's classes are cleared: there may be many more than a node has records.
    for h in range(state.classes):
        total[present[h]] = 0
    m, n_present = b - a, 0
    for j in range(classes.columns.shape[0]):
        at = classes.form.classes[j]
        _sorted_by_class(classes.views.shorts, at, a, m, records[j], records[-1], classes.digits)
        last = -1
        for i in range(m):
            place = classes.blocks.starts[j] + classes.views.shorts[records[j, i], at]
            if place != last:
                present[n_present] = last = place
                classes.at[place], classes.column[n_present] = n_present, j
                n_present += 1
            total[place] += 1
        column = classes.columns[j]
        column.whole, column.share, column.loss = 0, 0.0, 0.0
    for h in range(n_present):
        place, j = present[h], classes.column[h]
        count = total[place]
        column = classes.columns[j]
        column.whole += count * count
        if place != column.missing:
            column.share += count * classes.blocks.public[place]
            column.loss += count * classes.blocks.loss[place]
    state.classes = n_present
    state.steps += m * classes.columns.shape[0]


@inner
def list_classes(codes: CodeSums, stride: int, classes: SparseClasses) -> None:
    """List the pairs (class and count) of every code of a column."""
    at = m = 0
    base, field = codes.base, classes.form.codes[codes.column]
    for k in range(codes.first, codes.last):
        row = codes.rows[k]
        records = codes.hist[row * stride]
        classes.begins[row - base] = classes.ends[row - base] = at
        # Room for all pairs that the code's records could make: no pass counts them first.
        at += records * classes.columns.shape[0]
        m += records
    word, shift, mask = field.word, field.shift, field.mask
    pairs = 0
    for j in range(classes.columns.shape[0]):
        for i in range(m):
            record = classes.records[j, i]
            code = (classes.views.words[record, word] >> shift) & mask
            place = classes.blocks.starts[j] + classes.views.shorts[record, classes.form.classes[j]]
            end_of = classes.ends[code]
            # Records come in the order of their class, so equal pairs of a code follow each other.
            if end_of > classes.begins[code] and classes.place[end_of - 1] == place:
                classes.value[end_of - 1] += 1
            else:
                classes.place[end_of], classes.value[end_of] = place, 1
                classes.ends[code] = end_of + 1
                pairs += 1
    classes.state.pairs = pairs
    classes.state.steps += m * classes.columns.shape[0]


@inner
def bring(code: int, sign: int, t: Terms, classes: SparseClasses) -> None:
    """Move a code's records to the left side (`sign` 1), or back to the right (-1)."""
    left, j, column = classes.left, 0, classes.columns[0]
    for e in range(classes.begins[code], classes.ends[code]):
        place, value = classes.place[e], sign * np.int64(classes.value[e])
        while place >= classes.blocks.starts[j + 1]:
            j += 1
            column = classes.columns[j]
        before, whole = left[place], classes.total[place]
        after = before + value
        left[place] = after
        # after^2 - before^2 in integers: steps forth and back leave no rounding behind.
        column.square += value * (before + after)
        column.cross += value * whole
        if column.cap < 1.0 and place != column.missing:
            column.left_share += value * classes.blocks.public[place]
            column.left_loss += value * classes.blocks.loss[place]
        if t.gain == ENTROPY:
            column.mixed += xlogx(after, t.xlogx) + xlogx(whole - after, t.xlogx)
            column.mixed -= xlogx(before, t.xlogx) + xlogx(whole - before, t.xlogx)


@inner
def take_back(codes: CodeSums, last: int, extra: int, classes: SparseClasses) -> None:
    """Remove the codes before `last` and the row `extra` from the left side, and clear its sums."""
    first = codes.first
    for k in range(first - (extra != NOWHERE), last):
        code = (codes.rows[k] if k >= first else extra) - codes.base
        for e in range(classes.begins[code], classes.ends[code]):
            classes.left[classes.place[e]] = 0
    # Set to 0 and not subtracted: sums of doubles would not come back to 0.
    for j in range(classes.columns.shape[0]):
        column = classes.columns[j]
        column.square = column.cross = 0
        column.left_share = column.left_loss = column.mixed = 0.0


@inner
def gain_of_listed(n: int, nl: int, t: Terms, classes: SparseClasses) -> float:
    """Return the part of a split's gain that comes from the listed classes."""
    value = 0.0
    classes.state.steps += 1
    if t.gain == ENTROPY:
        sides = xlogx(n, t.xlogx) - xlogx(nl, t.xlogx) - xlogx(n - nl, t.xlogx)
        for j in range(classes.columns.shape[0]):
            value += classes.blocks.weight[j] * (sides + classes.columns[j].mixed)
        return above_rounding(value, n, t.xlogx)
    for j in range(classes.columns.shape[0]):
        column = classes.columns[j]
        value += classes.blocks.weight[j] * scatter_apart(n, nl, column.square, column.cross, column.whole)
    return value / (float(n) * float(nl) * float(n - nl))


@inner
def admits_listed(n: int, nl: int, classes: SparseClasses) -> bool:
    """Return whether both sides of a split keep the limits on the listed classes."""
    for j in range(classes.columns.shape[0]):
        column = classes.columns[j]
        if column.cap < 1.0 and not (
            _is_within_cap(j, nl, False, classes) and _is_within_cap(j, n - nl, True, classes)
        ):
            return False
        # the walk's sums do not contain these: the counts are gathered, only for better candidates
        if column.largest < 1.0 or column.entropy > 0.0:
            for is_right in range(2):
                size, m = (n - nl if is_right else nl), 0
                for h in range(classes.state.classes):
                    place = classes.present[h]
                    if classes.blocks.starts[j] <= place < classes.blocks.starts[j + 1]:
                        count = classes.left[place]
                        classes.side[m] = classes.total[place] - count if is_right else count
                        m += 1
                if column.largest < 1.0 and largest(classes.side, 0, m) > column.largest * size:
                    return False
                if column.entropy > 0.0 and entropy(classes.side, 0, m, size) < column.entropy:
                    return False
    return True


@inner
def _is_within_cap(j: int, n: int, is_right: bool, classes: SparseClasses) -> bool:
    """Return whether one side of a split keeps the cap on class column j."""
    column = classes.columns[j]
    square, shares, lost, missing = np.float64(column.square), column.left_share, column.left_loss, column.missing
    n_missing = classes.left[missing] if missing >= 0 else 0
    if is_right:
        square = np.float64(column.whole - 2 * column.cross + column.square)
        shares, lost = column.share - shares, column.loss - lost
        n_missing = classes.total[missing] - n_missing if missing >= 0 else 0
    square -= float(n_missing) * float(n_missing)
    n_known = float(n - n_missing)
    gain = square - 2.0 * n_known * shares + n_known * n_known * column.shares
    limit = column.cap * n_known * lost
    # sums that were changed step by step are off by rounding: only near the cap it matters
    if abs(gain - limit) > SLACK * (column.whole + n_known * n_known):
        return gain <= limit
    begin, end = classes.blocks.starts[j], classes.blocks.starts[j + 1] - (missing >= 0)
    for place in range(begin, end):
        count = classes.left[place]
        classes.side[place] = classes.total[place] - count if is_right else count
    exact, gain, lost = share_gain(classes.side, begin, end, classes.blocks.public, classes.blocks.loss)
    return gain <= column.cap * exact * lost


@inner
def should_swap_listed(codes: CodeSums, goes_left: Bytes, nl: int, t: Terms, classes: SparseClasses) -> bool:
    """Return whether the left side has the smaller share of the first class whose shares differ."""
    # Numbers have decided already (`split._should_swap_sides`).
    if t.layout.r > 0:
        return False
    for k in range(codes.last - codes.first):
        if goes_left[k]:
            bring(codes.rows[codes.first + k] - codes.base, 1, t, classes)
    left, right, difference = float(nl), float(codes.total[0] - nl), 0.0
    for h in range(classes.state.classes):
        place = classes.present[h]
        if place >= classes.blocks.starts[1] or difference != 0.0:
            break
        there = float(classes.total[place] - classes.left[place])
        difference = there * left - float(classes.left[place]) * right
    take_back(codes, codes.last, NOWHERE, classes)
    return difference > 0.0


# The most steps that the orders of all classes may take per record, and per node. Beyond this, the codes without a
# class stay together in its order, all of them on one side.
STEPS, MOST_STEPS = 1 << 8, 1 << 25


@inner
def list_holders(codes: CodeSums, n_channels: int, stride: int, classes: SparseClasses) -> int:
    """List the codes that have each class; return the number of orders other than those by means.

    There is one for every class that occurs, one for all other classes (the codes stay in place),
    and the main axis if there are two responses or classes.
    """
    base, begin, m = codes.base, codes.first, codes.last - codes.first
    first, holder, share, state = classes.first, classes.holder, classes.share, classes.state
    n_present = state.classes
    for h in range(n_present + 1):
        first[h] = 0
    for k in range(m):
        code = codes.rows[begin + k] - base
        for e in range(classes.begins[code], classes.ends[code]):
            first[classes.at[classes.place[e]] + 1] += 1
    for h in range(n_present):
        first[h + 1] += first[h]
    n = codes.total[0]
    for k in range(m):
        row = np.int64(codes.rows[begin + k])
        code = row - base
        here = codes.hist[row * stride]
        for e in range(classes.begins[code], classes.ends[code]):
            place = classes.place[e]
            h = classes.at[place]
            holder[first[h]] = k
            share[first[h]] = float(classes.value[e]) / here - float(classes.total[place]) / n
            first[h] += 1
    # Filling moved every offset to the end of its class; one place on they are the starts again.
    for h in range(n_present, 0, -1):
        first[h] = first[h - 1]
    first[0] = 0
    steps = n_present * (m + state.pairs)
    state.is_brief = steps > min(STEPS * codes.total[0], MOST_STEPS)
    size = classes.total.shape[0]
    return n_present + (n_present < size) + (n_channels + size > 1)


@inner
def write_class_order(
    codes: CodeSums, sequence: int, n_channels: int, t: Terms, search: Search, classes: SparseClasses
) -> int:
    """Write the codes in the order of one response or class, or their main axis; return how many to walk."""
    if sequence < n_channels:
        return write_order(codes, sequence, n_channels, t.layout.stride, search, None)
    key, order, present = search.key, search.order, classes.present
    m = codes.last - codes.first
    n_present = classes.state.classes
    size = classes.total.shape[0]
    number = sequence - n_channels
    # Absent classes share one order. It stands where the first of them would, so that ties go as
    # they do when every class is counted.
    gap = 0
    while gap < n_present and present[gap] == gap:
        gap += 1
    last = written = m
    if number == n_present + (n_present < size):
        _main_axis(codes, n_channels, t, search, classes)
        level(key, m)
        sort_places(key, m, order)
    elif number == gap:
        for k in range(m):
            order[0, k] = k
    else:
        h = number - (number > gap)
        begin_of, end_of = classes.first[h], classes.first[h + 1]
        few = end_of - begin_of
        j = classes.column[h]
        # Codes without the class have its smallest mean. They come first, or in a brief order stay
        # together behind those that have it, the largest share first.
        sign = -1.0 if classes.state.is_brief else 1.0
        for i in range(few):
            key[i] = classes.share[begin_of + i] * np.sqrt(classes.blocks.weight[j]) * sign
        sort_places(key, few, order)
        for i in range(few):
            order[1, i] = classes.holder[begin_of + order[0, i]]
        if classes.state.is_brief:
            for i in range(few):
                order[0, i] = order[1, i]
            last, written = few + (few < m), few
        else:
            for i in range(few):
                classes.marked[order[1, i]] = 1
            # from the back, since the places of the holders still stand in front
            for i in range(few):
                key[i] = order[1, i]
            at = 0
            for k in range(m):
                if classes.marked[k]:
                    classes.marked[k] = 0
                else:
                    order[0, at] = k
                    at += 1
            for i in range(few):
                order[0, at + i] = np.int64(key[i])
    for k in range(written):
        search.rows[k] = codes.rows[codes.first + order[0, k]]
    return last


@inner
def _main_axis(codes: CodeSums, r: int, t: Terms, search: Search, classes: SparseClasses) -> None:
    """Write each code's score on the main axis, as `category_orders` does, from the pairs alone."""
    key, means, present, weight = search.key, search.means, classes.present, classes.blocks.weight
    m, total = codes.last - codes.first, codes.total
    axis, moved = classes.axis[0], classes.axis[1]
    n_present = classes.state.classes
    d = r + n_present
    n = float(total[0])
    for a in range(d):
        moved[a] = 0.0
    for k in range(m):
        here = codes.hist[codes.rows[codes.first + k] * t.layout.stride]
        for a in range(r):
            moved[a] += here * means[k * r + a] * means[k * r + a]
    for h in range(n_present):
        j = classes.column[h]
        in_node = float(classes.total[present[h]]) / n
        # A code without the class differs from the node by the class's whole share.
        rest = n
        for e in range(classes.first[h], classes.first[h + 1]):
            row = codes.rows[codes.first + classes.holder[e]]
            here = codes.hist[row * t.layout.stride]
            moved[r + h] += here * classes.share[e] * classes.share[e]
            rest -= here
        moved[r + h] = weight[j] * (moved[r + h] + rest * in_node * in_node)
    first_axis(moved, d, axis)
    for steps in range(AXIS_STEPS + 1):
        # every code's score on the axis; classes that do not occur in it are in `common`
        common = 0.0
        for h in range(n_present):
            j = classes.column[h]
            common -= float(classes.total[present[h]]) / n * np.sqrt(weight[j]) * axis[r + h]
        for k in range(m):
            score = common
            for a in range(r):
                score += means[k * r + a] * axis[a]
            key[k] = score
        for h in range(n_present):
            j = classes.column[h]
            step = np.sqrt(weight[j]) * axis[r + h]
            in_node = float(classes.total[present[h]]) / n
            for e in range(classes.first[h], classes.first[h + 1]):
                key[classes.holder[e]] += (classes.share[e] + in_node) * step
        if steps == AXIS_STEPS:
            break
        for a in range(d):
            moved[a] = 0.0
        every = 0.0
        for k in range(m):
            score = codes.hist[codes.rows[codes.first + k] * t.layout.stride] * key[k]
            every += score
            for a in range(r):
                moved[a] += score * means[k * r + a]
        for h in range(n_present):
            j = classes.column[h]
            in_node = float(classes.total[present[h]]) / n
            inside = 0.0
            for e in range(classes.first[h], classes.first[h + 1]):
                k = classes.holder[e]
                here = codes.hist[codes.rows[codes.first + k] * t.layout.stride]
                inside += here * key[k] * (classes.share[e] + in_node)
            moved[r + h] = np.sqrt(weight[j]) * (inside - in_node * every)
        if not next_axis(moved, d, axis):
            break
