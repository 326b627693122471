"""People who are alike: quasi-identifiers and sensitive columns as the responses of one tree.

    By(S) = |sum of Z over S|^2 / (n_S R)      Bx(S) = |sum of X over S|^2 / (n_S Q)

Z are the sensitive columns, X the quasi-identifiers: numbers centred, categories one-hot, each
column scaled to a total sum of squares of 1. Both sums are what groups explain; a tree that
grows by the gain in By + LG * Bx keeps people together who are alike in what an intruder
knows. A missing number counts as the mean, and a flag tells it apart; categories beyond the
64 most frequent count as one.

How many people a cell has is for the data to say. Of n people in L cells that have nothing to do
with Z the cells explain about (L - 1)/n all the same, and learners take it for a rule about the
members. Of cells of k, 2k, 4k and 8k people those are taken that explain most of Z beyond twice
that: by Mallows's Cp the means of these forecast people who are not in the table best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..columns.column import ValueCounts
from ..kernels.exact_sums import scale
from .grow import DistributedRows, grow
from .node_rows import NodeRows
from .nodes import LEAF, Grown
from .objective import Rules
from .responses import ClassColumn, Quantity, Responses, check_rows
from .statistics import SSE, StatisticsLayout, scatter

LG = 100.0
"""How much the quasi-identifiers count while cells grow."""
LJ = 10.0
"""How much they count while cells are joined."""
FREQUENT = 64
LARGER = (1, 2, 4, 8)
"""Cells of so many times k people are tried. No larger ones: groups are to show what people are like
also where that tells nothing of the sensitive columns."""
BEYOND = 2.0
"""What one more cell has to explain, in units of what it explains by chance: Mallows's Cp."""
EVEN = 1e-10
"""What smaller cells explain less and yet stay."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Likeness:
    """Both kinds of columns as the grower takes them.

    Parameters
    ----------
    responses : Responses
        Numbers of Z, numbers of X; categories of Z, categories of X, flags of X.
    layout : StatisticsLayout
    joining : float64 array of shape (layout.size,)
        What the square of each entry of a group's means counts in Ward's loss of a join:
        By + LJ * Bx.
    explaining : float64 array of shape (layout.size,)
        What the square of each entry of a group's sums counts in By.
    """

    responses: Responses
    layout: StatisticsLayout
    joining: Floats
    explaining: Floats

    @classmethod
    def of(
        cls, sensitive: Sequence[ValueCounts], quasi: Sequence[ValueCounts], *, persons: bool
    ) -> Likeness:
        """The columns of a table by their value counts, the sensitive ones first.

        Parameters
        ----------
        sensitive, quasi : sequence of ValueCounts
        persons : bool
            Whether k counts people who have several records.
        """
        columns = [*sensitive, *quasi]
        n = columns[0].total
        check_rows(n)
        numbers, classes, flags = list[Quantity](), list[ClassColumn](), list[ClassColumn]()
        for source, column in enumerate(columns):
            if column.is_number:
                if column.n_values > 1:
                    units = scale(column.deviations, column.counts).units
                    counts = np.append(column.counts, column.missing)
                    numbers.append(Quantity(source, units, counts))
                if column.missing and column.known and source >= len(sensitive):
                    flag = (np.arange(column.n_values + 1) < column.n_values).astype(np.uint16)
                    counted = np.array([column.missing, column.known])
                    flags.append(ClassColumn(source, flag, counted))
            elif column.n_values + column.has_missing > 1:
                classes.append(_frequent(source, column))
        sources = [x.source for x in numbers] + [x.source for x in classes]
        foreign = np.array([*sources, *(f.source for f in flags)]) >= len(sensitive)
        n_z = sum(source < len(sensitive) for source in sources)
        share = np.where(foreign, 1.0 / max(len(sources) - n_z, 1), 1.0 / max(n_z, 1))
        spread = np.array(
            [max(scatter(x, n), 1.0) for x in numbers]
            + [n - float((x.counts.astype(float) ** 2).sum()) / n for x in classes]
            # a flag weighs as if half of the values were missing
            + [n / 2.0 for _ in flags]
        )
        weight = np.where(foreign, LG, 1.0) * share / spread
        joining = np.where(foreign, LJ, 1.0) * share / spread
        r, q = len(numbers), len(classes) + len(flags)
        sums = 1 + persons
        sizes = [len(c.counts) for c in (*classes, *flags)]
        starts = sums + r + np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        layout = StatisticsLayout(
            r=r,
            q=q,
            persons=1 if persons else 0,
            divisor=0,
            sums=sums,
            squares=-1,
            starts=starts.astype(np.int64),
            missing_at=np.zeros(r, np.int64),
            weight=weight,
            public=np.zeros(int(starts[-1])),
            shift=0,
            floors=np.zeros(r, np.int64),
            loss=np.zeros(int(starts[-1])),
            alone=True,
            orders=sum(x.source < len(sensitive) for x in classes),
        )
        responses = Responses(
            (), n, tuple(numbers), (*classes, *flags), (-1,) * r, np.zeros(r, np.int64)
        )

        def by_entry(of_columns: Floats) -> Floats:
            each = [np.zeros(sums), of_columns[:r], np.repeat(of_columns[r:], sizes)]
            return np.concatenate(each)

        explaining = np.where(foreign, 0.0, share / spread)
        return cls(responses, layout, by_entry(joining), by_entry(explaining))

    def cells(self, rows: NodeRows | DistributedRows, k: int) -> Grown:
        """Return the tree under k alone.

        Parameters
        ----------
        rows : NodeRows
            They are moved in place.
        k : int
            Fewest people of a cell.
        """
        q = self.layout.q
        caps = np.ones(self.layout.r + q)
        return grow(rows, self.responses, self.layout, Rules(k, caps, np.ones(q), np.zeros(q), SSE))

    def telling_cells(self, rows: NodeRows | DistributedRows, k: int, people: int) -> tuple[Grown, int]:
        """The tree of the cells of k, 2k, 4k or 8k people that tell most beyond chance; which k.

        With E the share of the sensitive columns that L cells explain, and e the share that a
        cell of k people explains by chance, E - 2 e (L - 1) is largest.

        Parameters
        ----------
        rows : NodeRows
            They are moved in place.
        k : int
            Fewest people of a cell.
        people : int
            How many the rows are of: those of one person are no further evidence.
        """
        chosen, size = self.cells(rows, k), k
        # the chance is that of the smallest cells for all sizes: one scale for one choice
        whole, n_cells = self._explained(chosen)
        chance = (1.0 - whole) / max(people - n_cells, 1)
        most = whole - BEYOND * chance * (n_cells - 1)
        for larger in LARGER[1:] if self.explaining.any() else ():
            if 2 * larger * k > people:
                break
            grown = self.cells(rows, larger * k)
            whole, n_cells = self._explained(grown)
            beyond = whole - BEYOND * chance * (n_cells - 1)
            if beyond > most + EVEN:
                chosen, size, most = grown, larger * k, beyond
        return chosen, size

    def _explained(self, grown: Grown) -> tuple[float, int]:
        """The share of the sensitive columns that cells explain, and how many cells there are."""
        cells = grown.stats[grown.column == LEAF].astype(np.float64)
        used = np.flatnonzero(self.explaining)
        by = (cells[:, used] ** 2 * self.explaining[used]).sum(axis=1) / cells[:, 0]
        root = float((grown.stats[0, used].astype(np.float64) ** 2 * self.explaining[used]).sum())
        return float(by.sum()) - root / float(grown.stats[0, 0]), len(cells)

    def means(self, stats: npt.NDArray[np.int64]) -> Floats:
        """Return every group's means, scaled so that squared distances are what `joining` says.

        Those that differ most stand first, so that a distance is soon known to be too long.

        Parameters
        ----------
        stats : int64 array of shape (n_groups, layout.size)
        """
        used = np.flatnonzero(self.joining)
        means: Floats = stats[:, used] * np.sqrt(self.joining[used]) / stats[:, :1]
        return np.ascontiguousarray(means[:, np.argsort(-means.var(axis=0), kind="stable")])


def _frequent(source: int, column: ValueCounts) -> ClassColumn:
    """Return a column of categories, the rare ones as one; a missing one is a category."""
    counts = np.append(column.counts, column.missing)
    lookup = column.frequent(FREQUENT).astype(np.uint16)
    counted = np.bincount(lookup, counts).astype(np.int64)
    return ClassColumn(source, lookup, counted[:-1] if not column.missing else counted)
