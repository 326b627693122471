"""Node statistics: one vector per node, and the positions of its entries.

Every entry of the vector is a sum over the node's rows. First come plain sums:
the records, the persons that k counts (an entry of its own only where they
differ from the records), then sum z and, if a cap on disclosure needs it, sum z^2
of each numeric response, with no record's z^2 below a floor. Then the counts of each
class of each class column. Everything is a 64-bit integer, so sums are exact and do not
depend on the order of the rows. The layout gives the position of each entry. Columns of
more than `COUNTED` classes are not in the vector: a node has at most as many of their
classes as it has records, so these are listed (`sparse.py`).

The cells of judged columns are counted separately: no gain needs them, and few candidates do.

To add a score, add a plain sum (`Responses.numbers`), a class column (`Responses.classes`) or
a judged column (`Responses.judged`) here, and its check to `objective.py`, which reads the vector.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from ..kernels import Floats, Ints
from ..kernels.exact_sums import UNIT_BITS
from .responses import Quantity, Responses

SSE, ENTROPY = 0, 1
# categorical responses of more classes are listed, not counted class by class
COUNTED = 32


class ClassBlocks(NamedTuple):
    """Several class columns side by side: their positions, weights, public shares and public losses.

    Parameters
    ----------
    starts
        Offsets of the columns' classes, with the end of the last.
    weight
        Per column; 0 leaves it out of the gain.
    public
        Public share of every class among the known values, at the class's offset; missing
        is -1.
    loss
        The public Brier loss of one record of every class, at the class's offset.
    """

    starts: Ints
    weight: Floats
    public: Floats
    loss: Floats

    @classmethod
    def from_responses(cls, responses: Responses, columns: slice, first: int, gain: int, floored: bool) -> ClassBlocks:
        """Return the blocks of the given class columns, beginning at entry `first`."""
        n = responses.n_rows
        numbers = range(len(responses.classes))[columns]
        sizes = [len(responses.classes[j].counts) for j in numbers]
        starts = first + np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
        public, loss = np.zeros(int(starts[-1])), np.zeros(int(starts[-1]))
        weight = np.zeros(len(numbers))
        for at, j in enumerate(numbers):
            counts = responses.classes[j].counts
            n_known, a, b = max(n, 1), int(starts[at]), int(starts[at + 1])
            if j < len(responses.categorical):
                absent = responses.categorical[j].n_missing
                n_known = max(n - absent, 1)
                spread = n - (counts.astype(float) ** 2).sum() / max(n, 1)
                # Entropies have one unit, nats; Gini impurities are divided by the root's.
                weight[at] = 1.0 if gain == ENTROPY else 1.0 / max(spread, 1.0)
            public[a:b] = counts / n_known
            if j < len(responses.categorical) and absent:
                public[b - 1] = -1.0
            inside = slice(a, b - (public[b - 1] < 0))
            square = float((public[inside] ** 2).sum())
            loss[inside] = 1 - 2 * public[inside] + square
            # 1 - sum P^2 is the average public loss, and a quarter of it is the floor.
            if floored:
                loss[inside] = np.maximum(loss[inside], (1 - square) / 4)
        return cls(starts, weight, public, loss)


class StatisticsLayout(NamedTuple):
    """Positions in the statistics vector, and the weights of the responses.

    Entry 0 is the number of records.

    Parameters
    ----------
    q
        Class columns that are counted in the vector.
    persons
        Entry that k limits; the number of records unless rows are shares of persons.
    sums
        First of the r entries sum z.
    squares
        First of the r entries sum z^2, or -1 when they are not kept.
    starts
        Offsets of the class columns' counts, with the end of the last.
    missing_at
        Per numeric response the offset of its missing count, or 0.
    weight
        Per numeric response and then per class column; 0 leaves it out of the gain.
    public
        Public share of every class among the known values, at the class's offset; missing
        is -1.
    shift
        z^2 is kept as z^2 >> shift, so that its sum fits 64 bits.
    floors
        Per numeric response the least of a record's z^2 >> shift.
    loss
        The public Brier loss of one record of every class, at the class's offset.
    orders
        Number of class columns whose means order the categories of a split.
    stride
        Length of a histogram's vector, a multiple of 4: sums are added four at a time.
    cells
        Offset of each judged column's cells among their counts, plus the end of the last column.
    share, local, ranked
        Public share and losses of each cell (see `ScoredColumn`); 0 for records that take no part.
    alone
        True if each category is tried against the rest, instead of all subsets and the
        axis.
    listed
        The class columns that are listed; the first ones of the responses.
    """

    r: int
    q: int
    persons: int
    sums: int
    squares: int
    starts: Ints
    missing_at: Ints
    weight: Floats
    public: Floats
    shift: int
    floors: Ints
    loss: Floats
    orders: int
    stride: int
    cells: Ints
    share: Floats
    local: Floats
    ranked: Floats
    alone: bool = False
    listed: ClassBlocks | None = None

    @property
    def n_listed(self) -> int:
        """Return the number of class columns that are listed."""
        return 0 if self.listed is None else len(self.listed.weight)

    @property
    def all_counted(self) -> StatisticsLayout:
        """Return the same layout with every class in the vector, for callers that cannot list any."""
        if self.listed is None:
            return self
        first, listed, r = int(self.starts[0]), self.listed, self.r
        more = int(listed.starts[-1])
        q, starts = self.q + self.n_listed, [first + listed.starts[:-1], more + self.starts]
        return self._replace(
            q=q,
            orders=q,
            stride=_in_fours(self.size + more),
            starts=np.concatenate(starts),
            missing_at=np.where(self.missing_at > 0, self.missing_at + more, 0),
            weight=np.concatenate([self.weight[:r], listed.weight, self.weight[r:]]),
            public=np.concatenate([self.public[:first], listed.public, self.public[first:]]),
            loss=np.concatenate([self.loss[:first], listed.loss, self.loss[first:]]),
            listed=None,
        )

    @property
    def size(self) -> int:
        """Return the length of the vector."""
        return int(self.starts[-1])

    @property
    def person(self) -> int:
        """Return the amount that one person adds to the entry `persons`."""
        return 1 << UNIT_BITS if self.persons else 1

    @classmethod
    def from_responses(
        cls,
        responses: Responses,
        gain: int = SSE,
        squares: bool = True,
        persons: bool = False,
        floored: bool = False,
        counted: int | None = None,
    ) -> StatisticsLayout:
        """Return the layout of a table's responses.

        With numeric responses only, every response weighs the same on its
        scale [0, 1] (Li & Sarkar 2014, equation 2). If any response is
        categorical, each impurity is divided by its value at the root.

        Parameters
        ----------
        responses : Responses
        gain : {SSE, ENTROPY}
        squares : bool
            Whether sum z^2 is kept.
        persons : bool
            Whether persons differ from records and so have their own entry.
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
        sums = 1 + persons
        first = sums + r * (2 if squares else 1)
        counts = ClassBlocks.from_responses(responses, slice(n_listed, None), first, gain, floored)
        listed = ClassBlocks.from_responses(responses, slice(n_listed), 0, gain, floored) if n_listed else None
        weight = np.concatenate([np.zeros(r), counts.weight])
        for j, number in enumerate(responses.numbers):
            weight[j] = 1.0 / float(1 << UNIT_BITS) ** 2
            if responses.categorical:
                weight[j] = 1.0 / max(scatter(number, n - responses.numeric[j].n_missing), 1.0)
        missing = [int(counts.starts[m - n_listed]) if m >= 0 else 0 for m in responses.missing_of]
        # a square has twice the bits of a unit, n of them bit_length(n) more; 63 are there
        shift = max(0, 2 * UNIT_BITS + int(n).bit_length() - 62)
        floors = np.zeros(r, np.int64)
        for j, number in enumerate(responses.numbers if floored else ()):
            n_known = n - responses.numeric[j].n_missing
            # Rounding down is on the strict side: a smaller public loss makes disclosure larger.
            floors[j] = int(scatter(number, n_known) / (4 * n_known)) >> shift
        judged = responses.judged
        share, local, ranked = (
            np.concatenate([np.zeros(0), *(np.append(getattr(j, name), 0.0) for j in judged)])
            for name in ("share", "local", "ranked")
        )
        return cls(
            r=r,
            q=q - n_listed,
            persons=int(persons),
            sums=sums,
            squares=sums + r if squares and r else -1,
            starts=counts.starts,
            missing_at=np.array(missing, np.int64),
            weight=weight,
            public=counts.public,
            shift=shift,
            floors=floors,
            loss=counts.loss,
            orders=q - n_listed,
            stride=_in_fours(int(counts.starts[-1])),
            cells=np.cumsum([0, *(len(j.counts) for j in judged)]),
            share=share,
            local=local,
            ranked=ranked,
            listed=listed,
        )


def _in_fours(size: int) -> int:
    return -(-size // 4) * 4


def scatter(number: Quantity, n_known: int) -> float:
    """Return the sum of squared deviations of a scaled number from its mean, in squared units."""
    # two limbs keep the sum of squares exact
    square = (
        (number.total(lambda z: (z >> 15) * (z >> 15)) << 30)
        + (number.total(lambda z: (z >> 15) * (z & 0x7FFF)) << 16)
        + number.total(lambda z: (z & 0x7FFF) * (z & 0x7FFF))
    )
    return square - number.total() ** 2 / max(n_known, 1)


def _squares(shift: int, floor: int, z: Ints) -> Ints:
    """Return each record's term of the sum of squares, z^2 >> shift but at least the floor."""
    return np.maximum((z * z) >> shift, floor)


def root_statistics(responses: Responses, layout: StatisticsLayout) -> Ints:
    """Return the statistics vector of the whole table, from the value counts of its columns.

    The persons, which value counts do not give, stay 0: the caller fills them.
    """
    stats = np.zeros(layout.size, np.int64)
    stats[0] = responses.n_rows
    for j, number in enumerate(responses.numbers):
        stats[layout.sums + j] = number.total()
        if layout.squares >= 0:
            stats[layout.squares + j] = number.total(partial(_squares, layout.shift, int(layout.floors[j])))
    for j, column in enumerate(responses.classes[layout.n_listed :]):
        stats[layout.starts[j] : layout.starts[j + 1]] = column.counts
    return stats
