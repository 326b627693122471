"""Groups of similar people: quasi-identifiers and sensitive columns as the responses of one tree.

    By(S) = |sum of Z over S|^2 / (n_S R)      Bx(S) = |sum of X over S|^2 / (n_S Q)

Z are the sensitive columns, X the quasi-identifiers: numbers centred, categories one-hot, each
column scaled to a total sum of squares of 1. Both are shares that the groups explain; a
tree that grows by the gain in By + LG * Bx groups people whose quasi-identifiers are
similar. A missing number counts as the mean and is marked by a flag; categories beyond the 64
most frequent count as one.

The cell size is chosen from the data. If n people are in L cells that are unrelated to Z, the
cells still explain about (L - 1)/n of Z by chance, and learners mistake this for a rule about the
members. Of cells of k, 2k, 4k and 8k people, the size is chosen whose cells explain most of Z after
subtracting twice this amount: by Mallows's Cp, their means best predict people who are not in the
table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..columns.column import ValueCounts
from ..kernels import Floats, Ints
from ..kernels.exact_sums import scale
from .grow import DistributedRows, grow
from .node_rows import NodeRows
from .nodes import LEAF, Grown
from .objective import Rules
from .responses import ClassColumn, Quantity, Responses, check_rows
from .statistics import SSE, StatisticsLayout, scatter

# the weight of the quasi-identifiers while cells grow
LG = 100.0
# their weight while cells are joined
LJ = 10.0
FREQUENT = 64
# Cells of this many times k people are tried. No larger ones: groups should show what people are like even if that
# explains nothing of the sensitive columns.
LARGER = (1, 2, 4, 8)
# the least that one more cell must explain, in units of what it explains by chance (Mallows's Cp)
BEYOND = 2.0
# smaller cells are kept unless larger ones explain more by at least this
EVEN = 1e-10


@dataclass(frozen=True)
class Likeness:
    """The quasi-identifiers and the sensitive columns as responses of one tree, with their weights.

    Parameters
    ----------
    responses : Responses
        Numbers of Z, numbers of X; categories of Z, categories of X, flags of X.
    layout : StatisticsLayout
    joining : float64 array of shape (layout.size,)
        The weight of the square of each entry of a group's means in Ward's loss of a join:
        By + LJ * Bx.
    explaining : float64 array of shape (layout.size,)
        The weight of the square of each entry of a group's sums in By.
    """

    responses: Responses
    layout: StatisticsLayout
    joining: Floats
    explaining: Floats

    @classmethod
    def from_columns(cls, sensitive: Sequence[ValueCounts], quasi: Sequence[ValueCounts], *, persons: bool) -> Likeness:
        """Return a table's columns as responses of one tree, from their value counts.

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
                # A constant has no sum of squares to be scaled by.
                if column.n_values > 1:
                    units = scale(column.deviations, column.counts)
                    numbers.append(Quantity(source, units, np.append(column.counts, column.missing)))
                if column.missing and column.known and source >= len(sensitive):
                    flag = (np.arange(column.n_values + 1) < column.n_values).astype(np.uint16)
                    flags.append(ClassColumn(source, flag, np.array([column.missing, column.known])))
            elif column.n_values + column.has_missing > 1:
                classes.append(_frequent(source, column))
        sources = [x.source for x in numbers] + [x.source for x in classes]
        foreign = np.array([*sources, *(f.source for f in flags)]) >= len(sensitive)
        n_z = sum(source < len(sensitive) for source in sources)
        # Flags belong to their columns, so they do not raise the number of columns.
        share = np.where(foreign, 1.0 / max(len(sources) - n_z, 1), 1.0 / max(n_z, 1))
        spread = np.array(
            [max(scatter(x, n), 1.0) for x in numbers]
            + [n - float((x.counts.astype(float) ** 2).sum()) / n for x in classes]
            # a flag weighs as if half of the values were missing
            + [n / 2.0 for _ in flags]
        )
        weight = np.where(foreign, LG, 1.0) * share / spread
        joining = np.where(foreign, LJ, 1.0) * share / spread
        r = len(numbers)
        responses = Responses((), n, tuple(numbers), (*classes, *flags), (-1,) * r)
        # No cap acts while cells grow, so squares are not needed.
        layout = StatisticsLayout.from_responses(responses, squares=False, persons=persons)._replace(
            weight=weight, alone=True, orders=sum(x.source < len(sensitive) for x in classes)
        )

        def by_entry(of_columns: Floats) -> Floats:
            of_classes = np.repeat(of_columns[r:], np.diff(layout.starts))
            return np.concatenate([np.zeros(layout.sums), of_columns[:r], of_classes])

        return cls(responses, layout, by_entry(joining), by_entry(np.where(foreign, 0.0, share / spread)))

    def cells(self, rows: NodeRows | DistributedRows, k: int) -> Grown:
        """Return the tree whose only limit is that each cell has at least k people.

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
        """Return the tree of k, 2k, 4k or 8k people per cell that explains most beyond chance, and this size.

        The tree has the largest E - 2 e (L - 1): E is the share of the sensitive columns that its L
        cells explain, and e the share that one cell of k people explains by chance.

        Parameters
        ----------
        rows : NodeRows
            They are moved in place.
        k : int
            Fewest people of a cell.
        people : int
            Number of people in the table: more rows of one person are no further evidence.
        """
        chosen, size = self.cells(rows, k), k
        # the chance is that of the smallest cells for all sizes: one scale for one choice
        whole, n_cells = self._explained(chosen)
        chance = (1.0 - whole) / max(people - n_cells, 1)
        most = whole - BEYOND * chance * (n_cells - 1)
        for larger in LARGER[1:] if self.explaining.any() else ():
            # Fewer people could not fill two cells of this size.
            if 2 * larger * k > people:
                break
            grown = self.cells(rows, larger * k)
            whole, n_cells = self._explained(grown)
            beyond = whole - BEYOND * chance * (n_cells - 1)
            if beyond > most + EVEN:
                chosen, size, most = grown, larger * k, beyond
        return chosen, size

    def _explained(self, grown: Grown) -> tuple[float, int]:
        """Return the share of the sensitive columns that the cells explain, and the number of cells."""
        cells = grown.stats[grown.column == LEAF].astype(np.float64)
        used = np.flatnonzero(self.explaining)
        by = (cells[:, used] ** 2 * self.explaining[used]).sum(axis=1) / cells[:, 0]
        # Classes are not centred as numbers are, so the whole table's own part is taken off.
        root = float((grown.stats[0, used].astype(np.float64) ** 2 * self.explaining[used]).sum())
        return float(by.sum()) - root / float(grown.stats[0, 0]), len(cells)

    def means(self, stats: Ints) -> Floats:
        """Return every group's means, scaled so that squared distances have the weights in `joining`.

        The means that vary most come first, so that a distance soon exceeds a bound.

        Parameters
        ----------
        stats : int64 array of shape (n_groups, layout.size)
        """
        used = np.flatnonzero(self.joining)
        means: Floats = stats[:, used] * np.sqrt(self.joining[used]) / stats[:, :1]
        return np.ascontiguousarray(means[:, np.argsort(-means.var(axis=0), kind="stable")])


def _frequent(source: int, column: ValueCounts) -> ClassColumn:
    """Return the class column of a categorical column: rare categories as one class, missing as one."""
    counts = np.append(column.counts, column.missing)
    lookup = column.frequent(FREQUENT).astype(np.uint16)
    counted = np.bincount(lookup, counts).astype(np.int64)
    return ClassColumn(source, lookup, counted[:-1] if not column.missing else counted)
