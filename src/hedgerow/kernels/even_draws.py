"""Close runs of values, and draw the values of each group evenly from its distribution."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import Bools, Floats, Ints, Records
from .compiled import checked, inner

# steps of Shell's sort (Sedgewick 1986); groups of at most 77 are sorted by insertion
_GAPS = (262913, 65921, 16577, 4193, 1073, 281, 77, 1)


def _whole_numbers(kind: type[np.integer[Any]], *names: str) -> np.dtype[np.void]:
    return np.dtype([(name, kind) for name in names], align=True)


# Another feature that the products of a feature are summed with, and the number of their moment.
PARTNER = _whole_numbers(np.int64, "feature", "moment")
# Where the count of a pair of bins of two columns of different units stands, ``start + step * bin + other_step *
# other_bin``: each pair is listed from either side.
SIDE = _whole_numbers(np.uint32, "column", "other", "start", "step", "other_step")
# The class of rows that swap their values of a unit with none.
FIXED = 255
# By how much the sum of the products of two features is too large, and how much of that is left.
MOMENT = _whole_numbers(np.int64, "excess", "slack")


class Levels(NamedTuple):
    """The levels of a column's runs, where a level is all runs of one score.

    `reached`, of shape (n_tilts, n_levels), has cumulative chances of the levels; `first`, of shape
    (n_levels + 1,), the first run of each level; `people`, of shape (n_runs + 1,), cumulative records of the runs.
    """

    reached: Any
    first: Any
    people: Any


class Shares(NamedTuple):
    """The codes that occur in each group and their records.

    `starts`, of shape (n_groups + 1,), is where each group begins in `codes` and `counts`, ascending within it.
    """

    starts: Any
    codes: Any
    counts: Any


class Expected(NamedTuple):
    """The shares that codes have in the whole table, and how much more often people like those of a group have them.

    `public` and `class_of`, of shape (n_codes,), are the shares and the class of each code; `ratio`, of shape
    (n_groups, n_classes), is what the shares of a class are multiplied by.
    """

    public: Any
    class_of: Any
    ratio: Any


@checked
def close_runs(counts: Ints, starts: Ints, previous: Ints, least: int, enough: Ints) -> tuple[Ints, Bools]:
    """Number the runs of sorted values, each closed at `least` people; -1 marks what is left over.

    A value that ``enough[i]`` people have is a run by itself. Without `starts` each record counts. With it
    ``previous[starts[i] : starts[i + 1]]`` has, for each person with value i, the last smaller value
    that the person has as well, or -1: nobody counts twice in a run.
    """
    n = counts.shape[0]
    runs = np.full(n, -1, np.int64)
    shared = np.zeros(n, np.bool_)
    n_runs, begin, reached = 0, 0, 0
    for i in range(n):
        n_people = counts[i]
        new = n_people
        if starts.shape[0]:
            n_people = starts[i + 1] - starts[i]
            new = 0
            for j in range(starts[i], starts[i + 1]):
                new += previous[j] < begin
        if n_people >= enough[i]:
            runs[i] = n_runs
            shared[n_runs] = True
            n_runs += 1
            begin, reached = i + 1, 0
            continue
        reached += new
        if reached >= least:
            runs[begin : i + 1] = n_runs
            n_runs += 1
            begin, reached = i + 1, 0
    return runs, shared[:n_runs]


@checked
def draw_by_moments(
    sizes: Ints,
    uniform: Floats,
    towards: Floats,
    missing: Floats,
    pair: Ints,
    whole: int,
    levels: Levels,
    out: NDArray[Any],
) -> None:
    """Draw the runs of each group evenly over its tilted distribution; items of a group ascend.

    Parameters
    ----------
    sizes : int array of shape (n_groups,)
    uniform : float array of shape (n_groups,)
        Where the first of a group's evenly spaced places lies, in [0, 1).
    towards : float array of shape (n_groups,)
        The part of a group, 0 to 1, that is drawn from the whole table.
    missing : float array of shape (n_groups,)
        The share of items without a value; these get the code after the last run, and come last.
    pair : int array of shape (n_groups,)
        The tilt of each group; from the number of tilts on, less that number, its only run.
    whole : int
        The tilt of the whole table.
    levels : Levels
    out : int array of shape (n_items,)
        Filled with codes.
    """
    reached, first, people = levels
    n_levels, n_runs = first.shape[0] - 1, people.shape[0] - 1
    at = 0
    for g in range(sizes.shape[0]):
        present, group_part, tilt = 1.0 - missing[g], 1.0 - towards[g], pair[g]
        level, run = 0, -1
        only = tilt - reached.shape[0]
        tilt = min(tilt, reached.shape[0] - 1)
        below, above = 0.0, group_part * reached[tilt, 0] + towards[g] * reached[whole, 0]
        for i in range(sizes[g]):
            place = (uniform[g] + i) / sizes[g]
            if place >= present or only >= 0:
                out[at] = n_runs if place >= present else only
                at += 1
                continue
            place /= present
            while level < n_levels - 1 and above <= place:
                level += 1
                run = -1
                below, above = above, group_part * reached[tilt, level] + towards[g] * reached[whole, level]
            if run < 0:
                run = first[level]
            width = above - below
            # how far into the level, as people of the whole table
            inside = (place - below) / width if width > 0 else 0.0
            wanted = people[first[level]] + inside * (people[first[level + 1]] - people[first[level]])
            while run < first[level + 1] - 1 and people[run + 1] <= wanted:
                run += 1
            out[at] = run
            at += 1


@checked
def draw_by_shares(
    sizes: Ints, uniform: Floats, towards: Floats, shares: Shares, expected: Expected, smoothed: float,
    out: NDArray[Any],
) -> None:  # fmt: skip
    """Draw the codes of each group evenly over its shares, smoothed by those of people like it; items ascend.

    Parameters
    ----------
    sizes, uniform, towards, out
        As `draw_by_moments` takes them.
    shares : Shares
    expected : Expected
    smoothed : float
        People with the expected shares who are added to each group.
    """
    starts, codes, counts = shares
    public, class_of, ratio = expected
    n_codes, at = public.shape[0], 0
    for g in range(sizes.shape[0]):
        total = smoothed
        for j in range(starts[g], starts[g + 1]):
            total += counts[j]
        # shares of the group's own records and of the table's; all of the table's if none may be told
        group_part = (1.0 - towards[g]) / total if total > 0 else 0.0
        public_part = towards[g] if total > 0 else 1.0
        j, code, reached = starts[g], -1, 0.0
        for i in range(sizes[g]):
            wanted = (uniform[g] + i) / sizes[g]
            while code < 0 or (reached <= wanted and code < n_codes - 1):
                code += 1
                reached += (group_part * smoothed * ratio[g, class_of[code]] + public_part) * public[code]
                if j < starts[g + 1] and codes[j] == code:
                    reached += group_part * counts[j]
                    j += 1
            out[at] = code
            at += 1


@checked
def order_within(sizes: Ints, scores: NDArray[Any], out: NDArray[Any]) -> None:
    """Write where the item of each score stands in its group's ascending order, counted from 0 over all items."""
    order, at = np.arange(out.shape[0]), 0
    for n in sizes:
        # Shell's sort: numpy's is compiled anew in here, which takes twice the time of this whole loop
        for gap in _GAPS:
            for i in range(at + gap, at + n):
                item, score, j = order[i], scores[order[i]], i - gap
                while j >= at and (scores[order[j]] > score or (scores[order[j]] == score and order[j] > item)):
                    order[j + gap] = order[j]
                    j -= gap
                order[j + gap] = item
        at += n
    for i in range(at):
        out[order[i]] = i


class RareBins(NamedTuple):
    """Pairs of bins of two columns that hardly anybody has, and what each costs where moments are looked at as well.

    `unit`, of shape (n_columns,), has the unit of each column: columns of one unit move together. `bins`, of shape
    (n_rows, n_columns), are those of the values in each row, and change with them. `sides` are SIDE records of shape
    (2 * n_pairs,), by the unit of the first column; those of a unit begin at `ends`, of shape (n_units + 1,).
    `impossible` says by bins of two columns whether a pair counts. Without any pair all are empty.
    """

    unit: Any
    bins: Any
    sides: Any
    ends: Any
    impossible: Any
    price: Any


@inner
def _faults(u: int, row: int, bins: NDArray[Any], sides: Records, ends: Ints, impossible: NDArray[Any]) -> int:
    """Count the impossible pairs of a row that unit u takes part in."""
    n = 0
    for i in range(ends[u], ends[u + 1]):
        side = sides[i]
        n += impossible[side.start + bins[row, side.column] * side.step + bins[row, side.other] * side.other_step]
    return n


@inner
def _more_faults(
    u: int, one: int, two: int, bins: NDArray[Any], sides: Records, ends: Ints, impossible: NDArray[Any]
) -> int:
    """Return how many impossible pairs there are more if two rows swap their values of unit u."""
    n = 0
    for i in range(ends[u], ends[u + 1]):
        side = sides[i]
        a = side.start + bins[one, side.column] * side.step
        b = side.start + bins[two, side.column] * side.step
        here, there = bins[one, side.other] * side.other_step, bins[two, side.other] * side.other_step
        n += impossible[b + here] + impossible[a + there] - impossible[a + here] - impossible[b + there]
    return n


@checked
def swap_impossible(sizes: Ints, place: NDArray[Any], pairs: RareBins, looked: int, classes: NDArray[Any]) -> None:
    """Swap values inside groups to lower the number of impossible pairs.

    Swaps that change nothing are made as well at first, because they open others.

    Parameters
    ----------
    sizes : int array of shape (n_groups,)
    place : int array of shape (n_units, n_items)
        Changed in place: the item whose values of a unit stand in each row.
    pairs : RareBins
    looked : int
        At most so many rows of a group, one fewer in fact, are looked at for each; in every turn others.
    classes : uint8 array of shape (n_units, n_items)
        Only rows of one class swap their values of a unit, those of `FIXED` none; of shape (0, 0) if all do.
    """
    begin, (unit, bins, sides, ends, impossible, _) = 0, pairs
    for n in sizes:
        for turn in range(16):
            is_faulty, swapped = False, 0
            for i in range(begin, begin + n):
                for u in range(place.shape[0]):
                    if _faults(u, i, bins, sides, ends, impossible) == 0:
                        continue
                    # rows stand in a random order, so the next are as good as any
                    is_faulty, more, even, other = True, 0, -1, begin + (i - begin + (n > looked) * turn * looked) % n
                    for step in range(1, min(n, looked)):
                        other = other + 1 if other + 1 < begin + n else begin
                        if classes.shape[0] and (classes[u, i] != classes[u, other] or classes[u, i] == FIXED):
                            more = 0
                            continue
                        more = _more_faults(u, i, other, bins, sides, ends, impossible)
                        if more < 0 or (more == 0 and (even < 0 or (i - begin + step) % 7 == turn)):
                            even = other
                        if more < 0:
                            swapped += 1
                            break
                    # a swap that changes nothing opens others; the last turns have none
                    if more < 0 or (even >= 0 and turn < 12):
                        place[u, i], place[u, even] = place[u, even], place[u, i]
                        for c in range(bins.shape[1]):
                            if unit[c] == u:
                                bins[i, c], bins[even, c] = bins[even, c], bins[i, c]
            # a group without an impossible pair stays so, and so does one that the last turns do not change
            if not is_faulty or (swapped == 0 and turn >= 12):
                break
        begin += n


class Moves(NamedTuple):
    """Units whose values two rows swap at once: ``units[starts[m] : starts[m + 1]]`` are those of move m."""

    units: Any
    starts: Any


class Moments(NamedTuple):
    """Features of rows, and their moments: sums of the products of two features of different units.

    `features` has shape (n_rows, n_features), and those of unit u are ``begin[u] : begin[u + 1]``. Feature f has the
    PARTNER records ``starts[f] : starts[f + 1]`` of `partners`. `off` are MOMENT records. `swap_towards` changes
    `features` and `off`.
    """

    features: Any
    begin: Any
    partners: Any
    starts: Any
    off: Any


@inner
def _excess(off: int, slack: int) -> int:
    """Return what of a difference lies beyond the slack on either side of 0."""
    return off - slack if off > slack else min(off + slack, 0)


@inner
def _swap(u: int, a: int, b: int, keep: bool, moments: Moments) -> int:
    """Return how the loss changes if rows a and b swap their values of unit u; with `keep` they do."""
    features, begin, partners, starts, off = moments
    change = 0
    for f in range(begin[u], begin[u + 1]):
        further = np.int64(features[b, f]) - features[a, f]
        if further == 0:
            continue
        for i in range(starts[f], starts[f + 1]):
            partner = partners[i]
            moved = further * (np.int64(features[a, partner.feature]) - features[b, partner.feature])
            if moved == 0:
                continue
            moment = off[partner.moment]
            if keep:
                moment.excess += moved
            else:
                before = _excess(moment.excess, moment.slack)
                after = _excess(moment.excess + moved, moment.slack)
                change += (after - before) * (after + before)
    if keep:
        for f in range(begin[u], begin[u + 1]):
            features[a, f], features[b, f] = features[b, f], features[a, f]
    return change


@inner
def _change(u: int, a: int, b: int, keep: bool, place: NDArray[Any], moments: Moments, pairs: RareBins) -> int:
    """Return what it costs if rows a and b swap their values of unit u; with `keep` they do."""
    cost = _swap(u, a, b, keep, moments)
    if pairs.price:
        cost += pairs.price * _more_faults(u, a, b, pairs.bins, pairs.sides, pairs.ends, pairs.impossible)
    if keep:
        place[u, a], place[u, b] = place[u, b], place[u, a]
        for c in range(pairs.unit.shape[0]):
            if pairs.unit[c] == u:
                bins = pairs.bins
                bins[a, c], bins[b, c] = bins[b, c], bins[a, c]
    return cost


@checked
def swap_towards(
    sizes: Ints, place: NDArray[Any], moments: Moments, turns: int, classes: NDArray[Any], pairs: RareBins, moves: Moves
) -> None:
    """Swap values inside groups while that brings moments nearer to what is wanted.

    The loss is the sum of the squares of what they lie beyond their slack. It is a whole number, so that no
    processor decides otherwise. Nothing is looked at any more once it is 0.

    Parameters
    ----------
    sizes, place
        As `swap_impossible` takes them.
    moments : Moments
    turns : int
        How many of the rows that follow in its group each row is compared with.
    classes
        As `swap_impossible` takes them.
    pairs : RareBins
        What each of them more costs is its price.
    moves : Moves
    """
    for turn in range(1, turns + 1):
        begin, beyond = 0, 0
        for m in range(moments.off.shape[0]):
            beyond += abs(_excess(moments.off[m].excess, moments.off[m].slack))
        for g in range(sizes.shape[0] if beyond else 0):
            n = sizes[g]
            # rows stand in a random order, so the next are as good as any
            for i in range(n if turn < n else 0):
                a, b = begin + i, begin + (i + turn) % n
                for m in range(moves.starts.shape[0] - 1):
                    first, last = moves.starts[m], moves.starts[m + 1]
                    may = True
                    for k in range(first, last if classes.shape[0] else first):
                        u = moves.units[k]
                        may &= classes[u, a] == classes[u, b] and classes[u, a] != FIXED
                    if not may:
                        continue
                    # all but the last are swapped at once, and back if that does not pay
                    cost = 0
                    for k in range(first, last):
                        # comparisons instead of constants, for each of which numba would compile all of it
                        before = _change(moves.units[k], a, b, turn < 0, place, moments, pairs)
                        cost += before
                        if k + 1 < last or cost < 0:
                            _change(moves.units[k], a, b, turn > 0, place, moments, pairs)
                    for k in range(first, last - 1 if cost >= 0 else first):
                        _change(moves.units[k], a, b, turn > 0, place, moments, pairs)
            begin += n


class Caps(NamedTuple):
    """The distances of combinations of rows from the shares that values have in the whole file.

    `cells`, of shape (n_rows, n_parts), has the number of each row's combination in each part, -1 if that is of no
    interest; `column`, of shape (n_parts,), the column that a part is about, and `is_ordered` whether its levels have
    an order; `spare`, of shape (n_columns, n_levels), what a row of each level may be off without telling too much.
    `off`, of shape (n_combinations, n_levels), has the steps by which the rows of each level (up to it, in an
    order) are too many; `weight`, `sizes` and `leave`, of shape (n_combinations,), what a combination counts, its rows,
    and how many of them may still give up their values: -1 if no more may, 0 if it tells too little to count them.
    `swap_below_caps` changes `off` and `leave`.
    """

    cells: Any
    column: Any
    is_ordered: Any
    spare: Any
    off: Any
    weight: Any
    sizes: Any
    leave: Any


# steps in which rows of a combination are counted, and parts of a step that are not lost when these are divided
STEP, FINE = 64, 16


@inner
def _replaced(cell: int, column: int, old: int, new: int, keep: bool, caps: Caps) -> int:
    """Return how the loss of a combination changes if a row's level becomes another; with `keep` it does."""
    off, change, is_ordered = caps.off, 0, caps.is_ordered[column]
    low, high = min(old, new), max(old, new)
    step = STEP if new < old else -STEP
    # up to each level from the lower one to below the higher one there is a row more or fewer; without an order there
    # is one more of the one level, and one fewer of the other
    for level in range(low, high if is_ordered else high + 1, 1 if is_ordered else high - low):
        change += step * (2 * off[cell, level] + step)
        if keep:
            off[cell, level] += step
        if not is_ordered:
            step = -step
    return caps.weight[cell] * (FINE * change // caps.sizes[cell] - caps.spare[column, new] + caps.spare[column, old])


@inner
def _exchanged(a: int, b: int, levels: NDArray[Any], keep: bool, caps: Caps) -> int:
    """Return how the loss changes if rows a and b swap their values; with `keep` they do."""
    change = 0
    for part in range(caps.column.shape[0]):
        column = caps.column[part]
        here, there = caps.cells[a, part], caps.cells[b, part]
        old, new = levels[column, a], levels[column, b]
        if old == new or here == there:
            continue
        if here >= 0:
            change += _replaced(here, column, old, new, keep, caps)
            if keep and caps.leave[here] > 0:
                caps.leave[here] -= 1 if caps.leave[here] > 1 else 2  # none may leave any more
        if there >= 0:
            change += _replaced(there, column, new, old, keep, caps)
    return change


@checked
def swap_below_caps(visits: Ints, place: Ints, levels: NDArray[Any], caps: Caps, looked: int) -> int:
    """Swap values inside groups out of combinations of rows that tell too much, and return the number of swaps.

    The loss is the sum over combinations of the squares of what levels are off, by the combination's rows, less what
    these may be off, times its weight, in whole numbers. Each row swaps with the one of its group that lowers it most.

    Parameters
    ----------
    visits : int array of shape (n_visits, 4)
        A row, the first row of its group, the group's size, and where in the group others are looked at first.
    place : int array of shape (n_rows,)
        Changed in place: the row whose values stand in each.
    levels : int array of shape (n_columns, n_rows)
        Changed in place: levels of the values in each row.
    caps : Caps
    looked : int
        At most so many rows of a group are looked at for each.
    """
    swaps = 0
    for v in range(visits.shape[0]):
        row, begin, n = visits[v, 0], visits[v, 1], visits[v, 2]
        is_open, is_closed = False, False
        for part in range(caps.column.shape[0]):
            cell = caps.cells[row, part]
            is_open |= cell >= 0 and caps.leave[cell] > 0
            is_closed |= cell >= 0 and caps.leave[cell] < 0
        if is_closed or not is_open:
            continue
        best, other = 0, row
        for step in range(min(n, looked)):
            near = begin + (visits[v, 3] + step) % n
            # comparisons instead of constants, for each of which numba would compile all of it
            change = _exchanged(row, near, levels, looked < 0, caps)
            if change < best:
                best, other = change, near
        if best < 0:
            _exchanged(row, other, levels, looked > 0, caps)
            place[row], place[other] = place[other], place[row]
            for column in range(levels.shape[0]):
                levels[column, row], levels[column, other] = levels[column, other], levels[column, row]
            swaps += 1
    return swaps
