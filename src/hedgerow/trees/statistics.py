"""Node statistics: one vector per node, and what is asked of it.

Every entry of the vector is a sum over the node's rows. First come plain sums:
the records, the persons that k is asked of, the divisor of means (each its own
entry only where it differs from the records), then sum z and, where a cap on
disclosure asks for it, sum z^2 of each numeric response, no record's below a floor.
Then the counts of each class of each class column. Everything is a 64-bit integer,
so sums are exact and do not depend on the order of the rows. Who reads the vector
asks the layout. Categories of more than `COUNTED` classes stand apart from the vector:
a node has at most as many of them as it has records, so they are listed (`listed.py`).

Judged columns' cells are counted apart: no gain reads them, and few candidates need them.

A further score finds its place here: one more plain sum (`Responses.numbers`), class
column (`Responses.classes`) or judged column (`Responses.judged`), and its question
in `admissible` or `keeps_silent`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..kernels.compiled import inner
from ..kernels.exact import UNIT_BITS
from ..kernels.measures import entropy, largest, number_terms, ranked_gain, share_gain
from .responses import Judged, Quantity, Responses

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

SSE, ENTROPY = 0, 1
NOWHERE = -1
"""The place of what is not there."""
TIE = 1e-9
"""The part by which a gain must exceed another to be larger."""
TABULATED = 1 << 20
"""Counts below this have their n log n in a table."""
COUNTED = 32
"""Categorical responses of more classes are listed, not counted class by class."""


@dataclass(frozen=True)
class Rules:
    """How splits are scored and which groups are admitted.

    Parameters
    ----------
    min_leaf : int
        Fewest persons of a group.
    cap : float array of shape (r + q + judged,)
        Largest disclosure of each number (squared error), class and judged column; 1 is off.
    share : float array of shape (q,)
        Largest share of one class; 1 is off.
    entropy : float array of shape (q,)
        Least entropy of a group in nats; 0 is off.
    gain : {SSE, ENTROPY}
        SSE is the sum of squared errors (Gini impurity for classes).
    """

    min_leaf: int
    cap: Floats
    share: Floats
    entropy: Floats
    gain: int = SSE


class ClassBlocks(NamedTuple):
    """Class columns side by side: where each stands, what it weighs, what the public knows."""

    starts: Ints
    """Offsets of the columns' classes, with the end of the last."""
    weight: Floats
    """Per column; 0 leaves it out of the gain."""
    public: Floats
    """Public share of every class among the known values, at the class's offset; missing is -1."""
    loss: Floats
    """What a record of every class adds to the public Brier loss, at the class's offset."""

    @classmethod
    def of(
        cls, responses: Responses, columns: slice, first: int, gain: int, floored: bool
    ) -> ClassBlocks:
        """Some of the class columns, from the entry `first` on."""
        n = responses.n_rows
        given = range(len(responses.classes))[columns]
        sizes = [len(responses.classes[j].counts) for j in given]
        starts = first + np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
        public, loss = np.zeros(int(starts[-1])), np.zeros(int(starts[-1]))
        weight = np.zeros(len(given))
        for at, j in enumerate(given):
            seen = responses.classes[j].counts
            known, a, b = max(n, 1), int(starts[at]), int(starts[at + 1])
            if j < len(responses.categorical):
                absent = responses.categorical[j].n_missing
                known = max(n - absent, 1)
                spread = n - (seen.astype(float) ** 2).sum() / max(n, 1)
                weight[at] = 1.0 if gain == ENTROPY else 1.0 / max(spread, 1.0)
            public[a:b] = seen / known
            if j < len(responses.categorical) and absent:
                public[b - 1] = -1.0
            inside = slice(a, b - (public[b - 1] < 0))
            square = float((public[inside] ** 2).sum())
            loss[inside] = 1 - 2 * public[inside] + square
            if floored:
                loss[inside] = np.maximum(loss[inside], (1 - square) / 4)
        return cls(starts, weight, public, loss)


@dataclass(frozen=True)
class StatisticsLayout:
    """Where things stand in the statistics vector, and the weights of the responses.

    The records are entry 0.
    """

    r: int
    q: int
    """Class columns that are counted in the vector."""
    persons: int
    """Entry that k is asked of; the records' own unless rows are shares of persons."""
    divisor: int
    """Entry that means and shares are divided by; the records' own unless rows have weights."""
    sums: int
    """First of the r entries sum z."""
    squares: int
    """First of the r entries sum z^2, or -1 when they are not kept."""
    starts: Ints
    """Offsets of the class columns' counts, with the end of the last."""
    missing_at: Ints
    """Per numeric response the offset of its missing count, or 0."""
    weight: Floats
    """Per numeric response and then per class column; 0 leaves it out of the gain."""
    public: Floats
    """Public share of every class among the known values, at the class's offset; missing is -1."""
    shift: int
    """z^2 is kept as z^2 >> shift, so that its sum fits 64 bits."""
    floors: Ints
    """Per numeric response the least of a record's z^2 >> shift."""
    loss: Floats
    """What a record of every class adds to the public Brier loss, at the class's offset."""
    judged: tuple[Judged, ...] = ()
    alone: bool = False
    """Whether a category is tried alone against the rest, in place of all subsets and the axis."""
    orders: int = -1
    """How many class columns order the categories of a split by their means; -1: all with a weight."""
    listed: ClassBlocks | None = None
    """The class columns that are listed; the first ones of the responses."""

    @property
    def n_listed(self) -> int:
        """How many class columns are listed."""
        return 0 if self.listed is None else len(self.listed.weight)

    @property
    def all_counted(self) -> StatisticsLayout:
        """The same with every class in the vector, for whoever cannot list any."""
        if self.listed is None:
            return self
        first, listed, r = int(self.starts[0]), self.listed, self.r
        more = int(listed.starts[-1])
        return replace(
            self,
            q=self.q + self.n_listed,
            starts=np.concatenate([first + listed.starts[:-1], more + self.starts]),
            missing_at=np.where(self.missing_at > 0, self.missing_at + more, 0),
            weight=np.concatenate([self.weight[:r], listed.weight, self.weight[r:]]),
            public=np.concatenate([self.public[:first], listed.public, self.public[first:]]),
            loss=np.concatenate([self.loss[:first], listed.loss, self.loss[first:]]),
            listed=None,
        )

    @property
    def size(self) -> int:
        """Length of the vector."""
        return int(self.starts[-1])

    @property
    def cells(self) -> Ints:
        """Offsets of the judged columns' cells among their counts, with the end of the last."""
        sizes = [len(j.counts) for j in self.judged]
        return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)

    @property
    def person(self) -> int:
        """What one person counts in the entry `persons`."""
        return 1 << UNIT_BITS if self.persons else 1

    @classmethod
    def of(
        cls,
        responses: Responses,
        gain: int = SSE,
        squares: bool = True,
        own: Sequence[str] = (),
        floored: bool = False,
        counted: int | None = None,
    ) -> StatisticsLayout:
        """The layout of a table's responses.

        With numeric responses only, every response weighs the same on its
        scale [0, 1] (the papers' equation 2). As soon as a categorical one is
        there, each impurity is divided by its value at the root.

        Parameters
        ----------
        responses : Responses
        gain : {SSE, ENTROPY}
        squares : bool
            Whether sum z^2 is kept.
        own : sequence of {"persons", "divisor"}
            What differs from the number of records and has an entry of its own.
        floored : bool
            Whether a record's public loss counts for no less than a quarter of the average one.
        counted : int, optional
            The most classes that a categorical response may have for all of them to be counted
            in the vector; else they are listed. No limit by default.
        """
        n, r, q = responses.n_rows, len(responses.numbers), len(responses.classes)
        n_listed = len(responses.categorical)
        if counted is None or all(len(c.counts) <= counted for c in responses.classes):
            n_listed = 0
        apart = [name for name in ("persons", "divisor") if name in own]
        at = {name: 1 + i for i, name in enumerate(apart)}
        sums = 1 + len(apart)
        first = sums + r * (2 if squares else 1)
        told = ClassBlocks.of(responses, slice(n_listed, None), first, gain, floored)
        listed = ClassBlocks.of(responses, slice(n_listed), 0, gain, floored) if n_listed else None
        weight = np.concatenate([np.zeros(r), told.weight])
        for j, number in enumerate(responses.numbers):
            weight[j] = 1.0 / float(1 << UNIT_BITS) ** 2
            if responses.categorical:
                weight[j] = 1.0 / max(scatter(number, n - responses.numeric[j].n_missing), 1.0)
        missing = [int(told.starts[m - n_listed]) if m >= 0 else 0 for m in responses.missing_of]
        shift = max(0, 2 * UNIT_BITS + int(n).bit_length() - 62)
        floors = np.zeros(r, np.int64)
        for j, number in enumerate(responses.numbers if floored else ()):
            known = n - responses.numeric[j].n_missing
            floors[j] = int(scatter(number, known) / (4 * known)) >> shift
        return cls(
            r,
            q - n_listed,
            at.get("persons", 0),
            at.get("divisor", 0),
            sums,
            sums + r if squares and r else -1,
            told.starts,
            np.array(missing, np.int64),
            weight,
            told.public,
            shift,
            floors,
            told.loss,
            responses.judged,
            listed=listed,
        )


def scatter(number: Quantity, known: int) -> float:
    """Sum of squared deviations of a scaled number, in units."""
    # two limbs keep the sum of squares exact
    square = (
        (number.total(lambda z: (z >> 15) * (z >> 15)) << 30)
        + (number.total(lambda z: (z >> 15) * (z & 0x7FFF)) << 16)
        + number.total(lambda z: (z & 0x7FFF) * (z & 0x7FFF))
    )
    return square - number.total() ** 2 / max(known, 1)


def _squares(shift: int, floor: int, z: Ints) -> Ints:
    """What a record of these units adds to the sum of squares."""
    return np.maximum((z * z) >> shift, floor)


def root_statistics(responses: Responses, layout: StatisticsLayout) -> Ints:
    """The statistics vector of the whole table, from the value counts of its columns.

    Entries of their own (`StatisticsLayout.persons`) stay 0: only their owner knows them.
    """
    stats = np.zeros(layout.size, np.int64)
    stats[0] = responses.n_rows
    for j, number in enumerate(responses.numbers):
        stats[layout.sums + j] = number.total()
        if layout.squares >= 0:
            floor = int(layout.floors[j])
            stats[layout.squares + j] = number.total(partial(_squares, layout.shift, floor))
    for j, column in enumerate(responses.classes[layout.n_listed :]):
        stats[layout.starts[j] : layout.starts[j + 1]] = column.counts
    return stats


class Plain(NamedTuple):
    """The terms once more where one or two numeric responses are all: numbers alone."""

    min_leaf: int
    second: int
    """Entry of the second response's sum (the first's own when it is alone); 0: not plain."""
    square: int
    """Entry of the first response's sum of squares; the sum's own when they are not kept."""
    capped: bool
    unit: float
    weight_a: float
    weight_b: float
    cap_a: float
    cap_b: float

    @classmethod
    def of(cls, rules: Rules, layout: StatisticsLayout) -> Plain:
        """The plain terms; `second` is 0 where they do not apply."""
        r = layout.r
        classes = layout.q + layout.n_listed
        if classes or layout.sums > 1 or not 0 < r <= 2 or rules.gain == ENTROPY:
            return cls(0, 0, 0, False, 1.0, 0.0, 0.0, 1.0, 1.0)
        return cls(
            rules.min_leaf,
            r,
            max(layout.squares, 1),
            layout.squares >= 0,
            2.0**layout.shift,
            float(layout.weight[0]),
            float(layout.weight[1]) if r == 2 else 0.0,
            *(float(c) if c < 1 else np.inf for c in rules.cap[:r]),
            *(np.inf for _ in range(2 - r)),
        )


class Terms(NamedTuple):
    """Rules and layout together, in the form that compiled loops take."""

    plain: Plain

    gain: int
    min_leaf: int
    """In the units of the entry `persons`."""
    persons: int
    divisor: int
    sums: int
    squares: int
    shift: int
    r: int
    cap: Any
    largest: Any
    entropy: Any
    starts: Any
    missing_at: Any
    weight: Any
    public: Any
    xlogx: Any
    floors: Any
    loss: Any
    alone: bool
    orders: int
    cells: Any
    share: Any
    local: Any
    ranked: Any

    @classmethod
    def of(cls, rules: Rules, layout: StatisticsLayout, n: int) -> Terms:
        """Bundle rules and layout for a table of n rows."""
        counts = np.arange(min(n + 1, TABULATED) if rules.gain == ENTROPY else 1, dtype=np.float64)
        r, w = layout.r, layout.n_listed
        return cls(
            Plain.of(rules, layout),
            rules.gain,
            (rules.min_leaf - 1) * layout.person + 1,  # more than k - 1 people are k
            layout.persons,
            layout.divisor,
            layout.sums,
            layout.squares,
            layout.shift,
            layout.r,
            np.concatenate([rules.cap[:r], rules.cap[r + w :]]),
            rules.share[w:],
            rules.entropy[w:],
            layout.starts,
            layout.missing_at,
            layout.weight,
            layout.public,
            counts * np.log(np.maximum(counts, 1.0)),
            layout.floors,
            layout.loss,
            layout.alone,
            layout.q if layout.orders < 0 else layout.orders,
            layout.cells,
            *(
                np.concatenate(
                    [np.zeros(0), *(np.append(getattr(j, of), 0.0) for j in layout.judged)]
                )
                for of in ("share", "local", "ranked")
            ),
        )


@inner
def admissible(s, t):  # type: ignore[no-untyped-def]
    """Whether a group with statistics `s` keeps every promise of the terms `t`."""
    if s[t.persons] < t.min_leaf:
        return False
    n = s[t.divisor]
    for j in range(t.r):
        if t.cap[j] < 1.0:
            at = t.missing_at[j]
            known = n - s[at] if at > 0 else n
            square = float(s[t.squares + j] - (n - known) * t.floors[j]) * 2.0**t.shift
            told, public = number_terms(known, float(s[t.sums + j]), square)
            if told > t.cap[j] * public:
                return False
    for j in range(t.largest.shape[0]):
        a, b = t.starts[j], t.starts[j + 1]
        if t.cap[t.r + j] < 1.0:
            known, gain, lost = share_gain(s, a, b - (t.public[b - 1] < 0.0), t.public, t.loss)
            if gain > t.cap[t.r + j] * known * lost:
                return False
        if t.largest[j] < 1.0 and largest(s, a, b) > t.largest[j] * n:
            return False
        if t.entropy[j] > 0.0 and entropy(s, a, b, n) < t.entropy[j]:
            return False
    return True


@inner
def keeps_silent(counts, t):  # type: ignore[no-untyped-def]
    """Whether a group keeps the caps on its judged columns; `counts` are those of their cells."""
    for j in range(t.cells.shape[0] - 1):
        cap = t.cap[t.cap.shape[0] - t.cells.shape[0] + 1 + j]
        if cap < 1.0:
            a, b = t.cells[j], t.cells[j + 1] - 1
            known, gain, lost = share_gain(counts, a, b, t.share, t.local)
            if gain > cap * known * lost:
                return False
            gain, lost = ranked_gain(counts, a, b, known, t.share, t.ranked)
            if gain > cap * known * lost:
                return False
    return True


@inner
def xlogx(count, t):  # type: ignore[no-untyped-def]
    """count * log(count), 0 for 0."""
    if count < t.xlogx.shape[0]:
        return t.xlogx[count]
    return float(count) * np.log(float(count))


@inner
def _entropy_gain(left, total, t):  # type: ignore[no-untyped-def]
    n, nl = total[t.divisor], left[t.divisor]
    value = 0.0
    for j in range(t.weight.shape[0] - t.r):
        if t.weight[t.r + j] > 0.0:
            here = xlogx(n, t) - xlogx(nl, t) - xlogx(n - nl, t)
            for c in range(t.starts[j], t.starts[j + 1]):
                here += xlogx(left[c], t) + xlogx(total[c] - left[c], t) - xlogx(total[c], t)
            value += t.weight[t.r + j] * here
    return above_rounding(value, n, t)


@inner
def above_rounding(value, n, t):  # type: ignore[no-untyped-def]
    """A gain in entropy, or 0 where rounding may have made it: sums of n log n cancel in it."""
    return value if value > 1e-12 * xlogx(n, t) else 0.0


@inner
def gain_of(left, total, t):  # type: ignore[no-untyped-def]
    """What a split gains: reduction of the weighted error (SSE) or of the entropy.

    For squared errors (sL nR - sR nL)^2 / (n nL nR), which loses nothing to cancellation.
    """
    if t.gain == ENTROPY:
        return _entropy_gain(left, total, t)
    n = total[t.divisor]
    nl = left[t.divisor]
    nr = n - nl
    value = 0.0
    both = 0.0
    fnl, fnr = float(nl), float(nr)
    for j in range(t.r):
        a = float(left[t.sums + j])
        b = float(total[t.sums + j] - left[t.sums + j])
        at = t.missing_at[j]
        if at > 0:
            kl = float(nl - left[at])
            kr = float(nr - (total[at] - left[at]))
            if kl > 0 and kr > 0:
                d = a * kr - b * kl
                value += t.weight[j] * d * d / ((kl + kr) * kl * kr)
        else:
            d = a * fnr - b * fnl
            both += t.weight[j] * d * d
    for j in range(t.weight.shape[0] - t.r):
        w = t.weight[t.r + j]
        if w > 0.0:
            for c in range(t.starts[j], t.starts[j + 1]):
                d = float(left[c]) * fnr - float(total[c] - left[c]) * fnl
                both += w * d * d
    return value + both / (float(n) * fnl * fnr)
