"""Orders in which many categories are cut where classes are listed: by every class, and the axis.

They are those of `category_orders.py`, made of the pairs of a code and a class alone. Classes
that nobody in the node has leave the codes as they are, all of them in the same way.
"""

from __future__ import annotations

import numpy as np

from ..kernels.compiled import inner
from .category_orders import (
    AXIS_STEPS,
    first_axis,
    level,
    next_axis,
    sort_places,
    write_order,
)
from .sparse_classes import BRIEF, HELD, PAIRS

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
