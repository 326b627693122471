"""Joining groups at the least loss until none discloses too much, the worst group first.

Groups are rows of three matrices: their sizes and means, for Ward's loss of a join
(J. Ward 1963), and sums over their records (`sums`), for which a list of terms gives
the limits of every group. The sums of a union are the sums of its parts added up.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import Floats, Ints
from .compiled import inner, kernel
from .heap import sift
from .measures import entropy, largest, number_terms, ranked_gain, share_gain

# kinds of terms: scores of numbers, of shares and of events in order; shares; entropy
SQUARED, SHARES, RANKED, LARGEST, ENTROPY = range(5)
# up to this many groups, each may be joined to any other: beyond, all pairs would take quadratic time
ALL = 8_192
# beyond that, to the nearest 64 on either side, doubled up to 1,024 until one brings the union within its
# limits
NEAR, FAR = 64, 1_024
# losses that differ by no larger share, and excesses that differ by no more, count as equal
ALIKE = 1e-10
# entries of `JoinGroups.state`: groups left, joins made
LIVE, JOINED = range(2)


class Limits(NamedTuple):
    """The limits on the disclosure of every group, term by term.

    SQUARED: known records, sum of deviations, sum of losses. SHARES and RANKED: records of
    every cell. LARGEST and ENTROPY: records of every category.

    Parameters
    ----------
    terms : int64 array of shape (n_terms, 3)
        For each term its kind, the index of its first sum, and its number of sums.
    limit : float array of shape (n_terms,)
        Largest disclosure, largest share or least entropy.
    public : float array
        For every entry of `sums` the public share of its cell; unused for SQUARED.
    loss, ranked : float arrays
        For every entry of `sums`, what a record of the cell adds to the local (Brier) and to the
        ranked loss.
    fewest : int64 array of shape (n_terms,)
        Groups with fewer records of a term are not judged by it.
    """

    terms: Any
    limit: Any
    public: Any
    loss: Any
    ranked: Any
    fewest: Any


class JoinGroups(NamedTuple):
    """The groups while they are being joined; a union has the number of its first part.

    Parameters
    ----------
    n, means, sums : arrays
        Sizes, means and the sums that `Limits` explains, one row per group.
    into : int64 array
        The group that each was joined to; itself if it is single or the first part of a union.
    before, after : int64 arrays
        Neighbours among the groups that are left, -1 at the ends.
    excess : float array
        The largest ratio of a group's disclosure to its limit; a group above 1 is joined.
    heap, place, state : int64 arrays
        The heap and each group's position in it (see `sift`); the numbers of groups left and of joins made.
    """

    n: Any
    means: Any
    sums: Any
    into: Any
    before: Any
    after: Any
    excess: Any
    heap: Any
    place: Any
    state: Any

    @classmethod
    def from_sums(cls, n: Any, means: Any, sums: Any, limits: Limits) -> JoinGroups:
        """Return the groups before any of them is joined."""
        number = np.arange(len(n), dtype=np.int64)
        excess = np.zeros(len(n))
        measure(sums, limits, excess)
        after = np.append(number[1:], -1)
        state = np.array([len(n), 0], np.int64)
        n, means, sums = (np.array(part, np.float64, order="C") for part in (n, means, sums))
        return cls(n, means, sums, number, number - 1, after, excess, number.copy(), number.copy(), state).heaped()

    def heaped(self) -> JoinGroups:
        """Return the same groups with their heap sorted, the worst group first."""
        live = self.heap[: self.state[LIVE]]
        live[:] = live[np.lexsort((live, -self.excess[live]))]
        self.place[live] = np.arange(len(live))
        return self

    def first(self) -> Any:
        """Return the number of the union that each original group is now part of."""
        target = self.into.copy()
        while True:
            further = target[target]
            if np.array_equal(further, target):
                return target
            # Every round doubles the way, so even long chains of joins take few rounds.
            target = further


@inner
def _excess(
    sums: Floats, a: int, b: int, limits: Limits, enough: float, first: int, buffer: Floats
) -> tuple[float, int]:
    """Return the largest ratio of a group's disclosure to its limit, and the last term that was looked at.

    If b differs from a, the ratio is that of their union. The search begins at the term `first` and stops at a
    ratio above `enough`. `buffer` is as long as a row of `sums`.
    """
    worst, term = 0.0, first
    for turn in range(limits.terms.shape[0]):
        term = (first + turn) % limits.terms.shape[0]
        kind, begin, m = limits.terms[term]
        limit, end, n = limits.limit[term], begin + m, 0.0
        for i in range(begin, end):
            buffer[i] = sums[a, i]
            if b != a:
                buffer[i] += sums[b, i]
            n += buffer[i]
        if (buffer[begin] if kind == SQUARED else n) < limits.fewest[term]:
            continue
        if kind == SQUARED:
            n, deviation, lost = buffer[begin], buffer[begin + 1], buffer[begin + 2]
            gain, public = number_terms(n, deviation, lost)
        elif kind == LARGEST:
            gain, public = largest(buffer, begin, end), n
        elif kind == ENTROPY:
            # The ratio is limit / entropy: the square makes up for the division below.
            gain, public = limit * limit, entropy(buffer, begin, end, n)
        elif kind == SHARES:
            n, gain, lost = share_gain(buffer, begin, end, limits.public, limits.loss)
            public = n * lost
        else:
            gain, lost = ranked_gain(buffer, begin, end, n, limits.public, limits.ranked)
            public = n * lost
        if gain > limit * public * worst:
            worst = gain / (limit * public) if public > 0.0 else np.inf
            if worst > enough:
                break
    # values that differ only by rounding become equal, so that ties go by number
    return np.rint(worst / ALIKE) * ALIKE, term


@kernel
def measure(sums: Floats, limits: Limits, excess: Floats) -> None:
    """Write the excess of every group: its largest ratio of disclosure to limit."""
    buffer = np.empty(sums.shape[1])
    for g in range(sums.shape[0]):
        excess[g] = _excess(sums, g, g, limits, np.inf, 0, buffer)[0]


@inner
def _less(value: float, number: int, least: float, first: int) -> bool:
    """Return whether a value is less than the least so far, or equal to it with a lower number."""
    return value < least * (1.0 - ALIKE) or (value <= least * (1.0 + ALIKE) and number < first)


@inner
def _ward_loss(n: Floats, means: Floats, i: int, j: int, most: float) -> float:
    """Return Ward's loss of a join (J. Ward 1963), n_i n_j / (n_i + n_j) |m_i - m_j|^2; infinity if above `most`."""
    factor = n[i] * n[j] / (n[i] + n[j])
    farthest, distance, m = most * (1.0 + 2 * ALIKE) / factor, 0.0, means.shape[1]
    # One look for eight columns, as a branch after each would be slow; the columns that differ most come first.
    for begin in range(0, m, 8):
        for c in range(begin, min(begin + 8, m)):
            d = means[i, c] - means[j, c]
            distance += d * d
        if distance > farthest:
            return np.inf
    return distance * factor


@inner
def _partner(groups: JoinGroups, limits: Limits, i: int, buffer: Floats) -> np.int64:
    """Return the group to merge with i: the cheapest whose union with i meets its limits.

    The loss is that of explained variance if the two groups are joined. If no union meets its limits, return the
    group with the least loss per reduction of the excess; if none reduces it, the group with the
    least loss. Ties go to the lowest number.
    """
    sums, excess, before, after = groups.sums, groups.excess, groups.before, groups.after
    repairs = lowers = nearest = np.int64(-1)
    least = least_lowering = least_loss = np.inf
    every = groups.state[LIVE] <= ALL
    # Above 1 by more than the rounding of ratios, which must not bring it back to 1.
    enough, term = 1.0 + 2 * ALIKE, 0
    # whether a union exceeds a limit is found fast; by how much matters only if every union does
    for weighing in range(2):
        low, high = before[i], after[i]
        reach, looked = FAR if weighing else NEAR, 0
        while low >= 0 or high >= 0:
            while (every or looked < 2 * reach) and (low >= 0 or high >= 0):
                # alternate between lower and higher numbers
                if high < 0 or (low >= 0 and looked % 2 == 0):
                    j, low = low, before[low]
                else:
                    j, high = high, after[high]
                looked += 1
                if weighing:
                    loss = _ward_loss(groups.n, groups.means, i, j, least_lowering * excess[i])
                    if loss == np.inf:
                        continue
                    # above this, the loss per reduction is larger than the least so far
                    enough = np.inf if lowers < 0 else excess[i] - loss / least_lowering * (1.0 - 2 * ALIKE) + ALIKE
                    union, term = _excess(sums, i, j, limits, enough, term, buffer)
                    if union < excess[i]:
                        ratio = loss / (excess[i] - union)
                        if _less(ratio, j, least_lowering, lowers):
                            least_lowering, lowers = ratio, j
                    if _less(loss, j, least_loss, nearest):
                        least_loss, nearest = loss, j
                    continue
                # disclosure comes first until a union repairs, and of its limits the one that the last union broke
                unknown = repairs < 0
                if unknown:
                    union, term = _excess(sums, i, j, limits, enough, term, buffer)
                    if union > 1.0:
                        continue
                loss = _ward_loss(groups.n, groups.means, i, j, least)
                if not _less(loss, j, least, repairs):
                    continue
                if unknown or _excess(sums, i, j, limits, enough, term, buffer)[0] <= 1.0:
                    least, repairs = loss, j
            if repairs >= 0 or reach >= FAR:
                break
            reach *= 2
        if repairs >= 0:
            return repairs
    return lowers if lowers >= 0 else nearest


@kernel
def join(groups: JoinGroups, limits: Limits, most: int) -> bool:
    """Join the worst group to its partner until no excess is above 1, or until `most` joins are made.

    Return whether there may be more to do; a single remaining group stays as it is.
    """
    heap, place, excess, state = groups.heap, groups.place, groups.excess, groups.state
    means, sums, n = groups.means, groups.sums, groups.n
    buffer = np.empty(sums.shape[1])
    for _ in range(most):
        i = heap[0]
        if excess[i] <= 1.0 or state[LIVE] < 2:
            return False
        j = _partner(groups, limits, i, buffer)
        # a union has the number of its first part, so that ties do not depend on the order of a join
        a, b = min(i, j), max(i, j)
        both = n[a] + n[b]
        for c in range(means.shape[1]):
            means[a, c] = (n[a] * means[a, c] + n[b] * means[b, c]) / both
        for c in range(sums.shape[1]):
            sums[a, c] += sums[b, c]
        n[a] = both
        groups.into[b] = a
        before, after = groups.before[b], groups.after[b]
        if before >= 0:
            groups.after[before] = after
        if after >= 0:
            groups.before[after] = before
        state[LIVE] -= 1
        state[JOINED] += 1
        hole, last = place[b], heap[state[LIVE]]
        place[b] = -1
        if last != b:
            heap[hole] = last
            place[last] = hole
            sift(heap, place, hole, state[LIVE], excess, None)
        excess[a] = _excess(sums, a, a, limits, np.inf, 0, buffer)[0]
        sift(heap, place, place[a], state[LIVE], excess, None)
    return True


class Refusal(NamedTuple):
    """A released group and the finer parts that the method refused to release.

    Parameters
    ----------
    sides : uint8 array of shape (p, n)
        The members of each part.
    sums : float array of shape (v, w)
        The amounts that a record with each value adds to the sums that the limits need.
    gains : float array of shape (v, 2 g)
        The amounts that it adds to the sums whose means a split must change (first half of the columns),
        and to the divisors of these means (second half).
    all_sums, all_gains : float arrays
        The totals of `sums` and `gains` over the whole group.
    limits : Limits
    joined : bool
        Whether the group was made by joining its parts.
    """

    sides: Any
    sums: Any
    gains: Any
    all_sums: Any
    all_gains: Any
    limits: Limits
    joined: bool


@inner
def _admitted(sums: Floats, gains: Floats, c: int, r: Refusal, pad: Floats) -> float:
    """Return 0 if the method refuses part c, otherwise 2 minus the largest excess of its two sides.

    For a joined group, only the part itself counts, not the rest of the group.
    """
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
    for j in range(sums.shape[1]):
        pad[0, j] = sums[c, j]
        pad[1, j] = r.all_sums[j] - sums[c, j]
    worst = _excess(pad, 0, 0, r.limits, 1.0, 0, pad[2])[0]
    if worst <= 1.0 and not r.joined:
        worst = max(worst, _excess(pad, 1, 1, r.limits, 1.0, 0, pad[2])[0])
    return 2.0 - worst if worst <= 1.0 else 0.0


@kernel  # sums and minima of arrays need numba's references
def _distance(admitted: Floats, joined: bool) -> float:
    """Return the sum over the parts; for a joined group the minimum, as one refused part explains why it was joined."""
    return admitted.min() if joined else admitted.sum()


@kernel
def distances(sums: Floats, gains: Floats, refusal: Refusal) -> Floats:
    """Return every state's distance from refusal, from the sums of its parts: (s, p, w) and (s, p, 2 g)."""
    distance = np.empty(sums.shape[0])
    pad = np.empty((3, sums.shape[2]))
    admitted = np.empty(sums.shape[1])
    for i in range(sums.shape[0]):
        for c in range(sums.shape[1]):
            admitted[c] = _admitted(sums[i], gains[i], c, refusal, pad)
        distance[i] = _distance(admitted, refusal.joined)
    return distance


@kernel
def shake(
    values: Ints,
    sums: Floats,
    gains: Floats,
    distance: Floats,
    bar: float,
    pairs: Ints,
    refusal: Refusal,
    visited: Floats,
) -> None:
    """Swap the values of pairs of members in every state as long as its distance is at most `bar`.

    Parameters
    ----------
    values : int64 array of shape (s, n)
        The value of every member, state by state; changed in place, as are sums, gains and distance.
    sums, gains : float arrays
        See `distances`.
    distance : float array of shape (s,)
    bar : float
    pairs : int64 array of shape (s, t, 2)
        The members to swap.
    refusal : Refusal
    visited : float array of shape (p, w)
        Changed in place: the sums of all parts are added once for every state.
    """
    p, w = sums.shape[1], sums.shape[2]
    pad, admitted, now = np.empty((3, w)), np.empty(p), np.empty(p)
    new_sums, new_gains = np.empty((p, w)), np.empty((p, gains.shape[2]))
    for s in range(values.shape[0]):
        for c in range(p):
            now[c] = _admitted(sums[s], gains[s], c, refusal, pad)
        for t in range(pairs.shape[1]):
            a, b = pairs[s, t, 0], pairs[s, t, 1]
            u, v = values[s, a], values[s, b]
            if u == v:
                continue
            total = 0.0
            for c in range(p):
                admitted[c] = now[c]
                if refusal.sides[c, a] == refusal.sides[c, b]:
                    total += now[c]
            fits = True
            for c in range(p):
                if refusal.sides[c, a] != refusal.sides[c, b]:
                    sign = 1.0 if refusal.sides[c, a] else -1.0
                    for j in range(w):
                        change = refusal.sums[v, j] - refusal.sums[u, j]
                        new_sums[c, j] = sums[s, c, j] + sign * change
                    for j in range(gains.shape[2]):
                        change = refusal.gains[v, j] - refusal.gains[u, j]
                        new_gains[c, j] = gains[s, c, j] + sign * change
                    admitted[c] = _admitted(new_sums, new_gains, c, refusal, pad)
                    total += admitted[c]
                    # Parts only add to a sum, which stays above the bar; a minimum may still fall.
                    if total > bar and not refusal.joined:
                        fits = False
                        break
            if not fits or _distance(admitted, refusal.joined) > bar:
                continue
            values[s, a], values[s, b] = v, u
            for c in range(p):
                if refusal.sides[c, a] != refusal.sides[c, b]:
                    now[c] = admitted[c]
                    sums[s, c] = new_sums[c]
                    gains[s, c] = new_gains[c]
        distance[s] = _distance(now, refusal.joined)
        visited += sums[s]
