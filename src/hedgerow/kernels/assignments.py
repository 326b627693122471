"""Assignments of a group's values to its members that agree with what its method refused.

A state is the value of every member. Its distance is 0 where the method would have released this
very group, and grows with what it would have admitted instead. Two members' values are swapped
again and again while the distance stays below a bar, which is lowered from draw to draw.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .compiled import inner, kernel
from .joins import Limits, _excess


class Refusal(NamedTuple):
    """A released group and the finer groups refused in it."""

    sides: Any
    """uint8 array of shape (p, n): who is in each part."""
    told: Any
    """Sums that limits ask for, of a record of each value; shape (v, w)."""
    gains: Any
    """Sums whose means a split must change: half of the columns sums, half what divides them."""
    all_told: Any
    """The same of the whole group; shape (w,)."""
    all_gains: Any
    limits: Limits
    joined: bool


@inner
def _admitted(told, gains, c, r, pad):  # type: ignore[no-untyped-def]
    """0 where a part makes the method refuse; else 1 and how far both sides are from it."""
    m = gains.shape[1] // 2
    if m > 0:
        changes = False
        for j in range(m):
            a, kl = gains[c, j], gains[c, m + j]
            if a * (r.all_gains[m + j] - kl) != (r.all_gains[j] - a) * kl:
                changes = True
                break
        if not changes:
            return 0.0
    for j in range(told.shape[1]):
        pad[0, j] = told[c, j]
        pad[1, j] = r.all_told[j] - told[c, j]
    worst = _excess(pad, 0, 0, r.limits, 1.0)
    if worst <= 1.0 and not r.joined:
        worst = max(worst, _excess(pad, 1, 1, r.limits, 1.0))
    return 2.0 - worst if worst <= 1.0 else 0.0


@inner
def _distance(admitted, joined):  # type: ignore[no-untyped-def]
    """Sum of what was admitted; of a joined group the least, for one broken cell explains it."""
    return admitted.min() if joined else admitted.sum()


@kernel
def distances(told, gains, refusal):  # type: ignore[no-untyped-def]
    """The distance of every state, from the sums of its parts; shapes (s, p, w) and (s, p, 2 g)."""
    made = np.empty(told.shape[0])
    pad = np.empty((2, told.shape[2]))
    admitted = np.empty(told.shape[1])
    for i in range(told.shape[0]):
        for c in range(told.shape[1]):
            admitted[c] = _admitted(told[i], gains[i], c, refusal, pad)
        made[i] = _distance(admitted, refusal.joined)
    return made


@kernel
def shake(values, told, gains, distance, bar, pairs, refusal, seen):  # type: ignore[no-untyped-def]
    """Swap the values of pairs of members in every state while its distance is at most `bar`.

    Parameters
    ----------
    values : int64 array of shape (s, n)
        The value of every member, state by state; moved in place, like what follows.
    told, gains : float arrays
        As in `distances`.
    distance : float array of shape (s,)
    bar : float
    pairs : int64 array of shape (s, t, 2)
        Whom to swap.
    refusal : Refusal
    seen : float array of shape (p, w)
        The sums of all parts are added to it, once for every state.
    """
    p, w = told.shape[1], told.shape[2]
    pad, admitted, now = np.empty((2, w)), np.empty(p), np.empty(p)
    new_told, new_gains = np.empty((p, w)), np.empty((p, gains.shape[2]))
    for s in range(values.shape[0]):
        for c in range(p):
            now[c] = _admitted(told[s], gains[s], c, refusal, pad)
        for t in range(pairs.shape[1]):
            a, b = pairs[s, t, 0], pairs[s, t, 1]
            u, v = values[s, a], values[s, b]
            if u == v:
                continue
            kept = 0.0
            for c in range(p):
                admitted[c] = now[c]
                if refusal.sides[c, a] == refusal.sides[c, b]:
                    kept += now[c]
            fits = True
            for c in range(p):
                if refusal.sides[c, a] != refusal.sides[c, b]:
                    sign = 1.0 if refusal.sides[c, a] else -1.0
                    for j in range(w):
                        change = refusal.told[v, j] - refusal.told[u, j]
                        new_told[c, j] = told[s, c, j] + sign * change
                    for j in range(gains.shape[2]):
                        change = refusal.gains[v, j] - refusal.gains[u, j]
                        new_gains[c, j] = gains[s, c, j] + sign * change
                    admitted[c] = _admitted(new_told, new_gains, c, refusal, pad)
                    kept += admitted[c]
                    if kept > bar and not refusal.joined:
                        fits = False
                        break
            if not fits or _distance(admitted, refusal.joined) > bar:
                continue
            values[s, a], values[s, b] = v, u
            for c in range(p):
                if refusal.sides[c, a] != refusal.sides[c, b]:
                    now[c] = admitted[c]
                    told[s, c] = new_told[c]
                    gains[s, c] = new_gains[c]
        distance[s] = _distance(now, refusal.joined)
        seen += told[s]
