"""Hedge: cells of similar people, joined until no group discloses too much, on columns that explain something."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from ..columns.column import Column, quantile_bins
from ..columns.table import Table
from ..errors import ParameterError, UnsupportedError, reprs
from ..kernels.exact_sums import scale
from ..measures import Ints, Persons
from ..measures.guarantees import ColumnGuarantee
from ..plan import Partition, Plan
from ..plan.records import REDRAW, WAVE
from ..schema import Schema
from ..trees.nodes import LEAF
from ..trees.responses import check_sensitive
from ..trees.similarity import Likeness
from ..trees.tree import Tree
from ..validation import FLAG, Kind, check_one_of
from .joining import joined
from .partition import PartitionMethod, classes_of, full_tree
from .refusals import Refused, joined_cells

CELLS = ("rows", "means", "ranges")
LEVELS = 16
# Records that a level has on average, at least.
EACH = 25
# Standard deviations beyond chance: with dozens of columns, few are taken for telling by chance.
SIGMAS = 4.0


def telling(column: Column, sensitive: Sequence[Column], people: int | None = None) -> bool:
    """Return whether a quasi-identifier explains more of any sensitive column than chance alone would.

    With p + 1 levels of the quasi-identifier (16 quantiles of a number, its most frequent
    categories) and eta^2 the share of a column's variance that they explain, n eta^2 is about
    chi-squared with p degrees of freedom if they have nothing to do with each other:

        n eta^2 > p + 4 sqrt(2 p)

    A column that explains something only together with others is not found.

    Parameters
    ----------
    column : Column
    sensitive : sequence of Column
    people : int, optional
        Number of people, if a person may have several records, which are no further evidence.
    """
    records = column.value_counts.total
    n = records if people is None else people
    # Fewer levels for fewer records: a level of few records explains much by chance.
    most = int(np.clip(n // EACH, 2, LEVELS))
    if column.is_number:
        levels = quantile_bins(column.value_counts, most).lookup.astype(np.int64)
    else:
        levels = column.value_counts.frequent(most)
    sizes = np.bincount(levels, column.counts()).astype(np.int64)
    rare = column.n_values > most and not column.is_number
    if rare and 2 * sizes[most] > records:
        return True  # hardly looked at: most records have one of its rarer categories
    p = int(np.count_nonzero(sizes)) - 1
    if p < 1:
        return False
    # The mean of chi-squared with p degrees of freedom, and so many of its deviations.
    bar = p + SIGMAS * math.sqrt(2 * p)
    return any(n * share > bar for share in _explained(column, levels, sizes, sensitive))


def _explained(column: Column, levels: Ints, sizes: Ints, sensitive: Sequence[Column]) -> Iterator[float]:
    """Yield, for each sensitive column, the share (eta^2) of its sum of squares that the levels explain."""
    n, n_levels = int(sizes.sum()), len(sizes)
    for other, (level, code, count) in zip(sensitive, column.crossed(levels, sensitive), strict=True):
        if other.is_number:
            # Whole numbers of 22 bits, whose sums doubles hold exactly.
            counts = other.value_counts
            units = (scale(counts.deviations, counts.counts) >> 8).astype(np.float64)
            square = float((units * units) @ np.append(counts.counts, counts.missing))
            weighted = units[code] if count is None else units[code] * count
            sums = np.bincount(level, weighted, n_levels)[:, None]
        else:  # categories one-hot: the squares of all records sum to their number
            m, square = other.n_values + 1, float(n)
            sums = np.bincount(level * m + code, count, n_levels * m).reshape(-1, m).astype(float)
        mean_square = float((sums.sum(axis=0) ** 2).sum()) / n
        inside = float((sums**2 / np.maximum(sizes, 1)[:, None]).sum())
        # The whole is 0 for a constant column, and else at least about 1.
        yield (inside - mean_square) / max(square - mean_square, 1.0)


def _waves_each(table: Table) -> int:
    """Return one more than the waves a person is in on average, rounded up; 1 for other tables.

    A group tells its people once, and each column once for each wave: of as many people as of one wave, more would be
    told of each.
    """
    if table.units is None or table.units.order != WAVE:
        return 1
    patterns = table.column(table.units.presence, kind="categorical")
    n_rows = np.array([*(str(pattern).count("1") for pattern in patterns.values), 0])
    return 1 + math.ceil(float(n_rows[patterns.codes].mean()))


# Bytes of a cell: of its sums, some two hundred entries, while cells are joined.
_CELL = 10_000


@dataclass(eq=False, repr=False)
class Hedge(PartitionMethod):
    """Put similar people into groups, and draw ordinary values that keep the groups' means and shares.

    Everybody shares the released quasi-identifiers with at least k - 1 others, and no group
    discloses more than `max_disclosure` of a sensitive column. Models learn from the release nearly as
    they do from the original, because true values scatter around their group's mean; a tight cap
    flattens slopes all the same.

    A tree first gathers people who are alike in the quasi-identifiers (their gain counts a hundred
    times as much as the gain in the sensitive columns). While a group breaks a promise, the worst one is
    joined to the group that makes it keep the promise at the least loss (with more than 8,192 groups, only
    neighbours are tried). `hedgerow.protect` then draws ordinary values inside each group, of sensitive
    columns as well: no row is copied from a person. With ``cells="means"``, and in pipelines, numbers are
    released as the group's mean, rounded to a public step, and categories as the group's shares.

    A released value is nobody's own. Where every cell must be true of its row, take `MART`, which releases
    ranges.

    Parameters
    ----------
    k : int, default 10
        Fewest records of a released group, at least 2; people, if the schema has a `unit`.
    max_disclosure : float or None, default 0.5
        In (0, 1]: the largest disclosure of any group and sensitive column. None or 1
        switches it off, and so does a schema without a sensitive column.
    numeric : {"mean", "median", "range"}, default "mean"
        The form in which numbers and dates are released. Means and medians are rounded to the largest
        step of 1, 2, 5 x 10^m that is at most a quarter of the column's standard deviation (dates at
        least to a day). A group in which fewer than k people have a value gets ``*``. Columns with a
        grid are released as ranges between its points.
    categorical : {"weighted", "concatenate", "hierarchy", "suppress"}, default "weighted"
        The form in which categories are released.
    cells : {"rows", "means", "ranges"}, default "rows"
        "rows": ordinary values that `hedgerow.protect` draws inside each group so that its means, spreads
        and shares are kept. Where nothing is drawn (``guard=None`` or ``"runs"``, and `transform`), groups
        are released as means; and as `numeric` and `categorical` say, if one of them is given. "means":
        what `numeric` and `categorical` say, for fitting models. "ranges": ranges and sets of categories,
        true of every record.
    criteria : sequence of guarantees.LDiversity or guarantees.TCloseness, optional
        Further promises of every group.
    screen : bool, default False
        Form groups by the columns that explain something: a quasi-identifier that by itself does not shift
        the mean or the shares of any sensitive column by more than chance is not asked about. If no column
        explains anything, all stay. Cells have up to 8k people. With means and ranges such a column is
        released as ``*``, so that nothing can be asked about it any more; this also hides columns that
        matter only together with others, or only for the spread. False keeps all columns, and cells of k
        people.
    max_bins : int, default 1024
        Numeric columns with more distinct values are cut at quantiles.
    schema : Schema, optional
        Kinds, category orders and hierarchies for `fit(X, y)`.

    Attributes
    ----------
    plan_ : Plan
    tree_ : Tree
        Its leaves are the cells, before they are joined.
    screened_ : tuple of str
        The quasi-identifiers that are released as ``*``.
    cell_size_ : int
        Fewest people of a cell: k, 2k, 4k or 8k; with several waves of a person k times one more than these.
    group_of_cell_ : int array, one number a cell
        The group that each cell was joined into.

    Examples
    --------
    >>> import hedgerow as hr
    >>> people = hr.datasets.make_people(1000, seed=1).to_pandas()
    >>> hedge = hr.Hedge(k=10).fit(people[["age", "job"]], people["income"])
    >>> released = hedge.transform(people[["age", "job"]])
    >>> released["job"][0], float(released["age"][0])
    ('accountant:12+clerk:10', 60.0)
    """

    kinds: ClassVar[Mapping[str, Kind]] = {**PartitionMethod.kinds, "screen": FLAG}
    needs_sensitive = False
    ranges_with_grids = True
    usual_guard = REDRAW

    k: int = 10
    _: KW_ONLY
    max_disclosure: float | None = 0.5
    numeric: str = "mean"
    categorical: str = "weighted"
    cells: str = "rows"
    criteria: Sequence[ColumnGuarantee] | None = None
    screen: bool = False
    max_bins: int = 1024
    schema: Schema | None = None

    @property
    def in_rows(self) -> bool:
        """Return whether a redrawing guard draws quasi-identifiers as well."""
        return self.cells == "rows" and (self.numeric, self.categorical) == ("mean", "weighted")

    @property
    def _styles(self) -> tuple[str, str]:
        """Return what numbers and what categories are released as."""
        return ("range", "concatenate") if self.cells == "ranges" else (self.numeric, self.categorical)

    def plan_parameters(self) -> dict[str, object]:
        """Return the parameters, without `cells` unless these are ranges: a plan's guard tells of rows."""
        return {name: v for name, v in super().plan_parameters().items() if name != "cells" or v == "ranges"}

    def memory_estimate(self, n_rows: int, n_sensitive: int) -> int:
        """Return the bytes of memory needed for as many cells as k allows."""
        is_k = isinstance(self.k, int) and self.k > 0  # other values of k are refused by `fit`
        return n_rows // self.k * _CELL if is_k else 0

    def _check_criteria(self) -> None:
        for criterion in self.criteria or ():
            if not isinstance(criterion, ColumnGuarantee):
                raise UnsupportedError(
                    "further promises speak of sensitive columns",
                    hint="use hedgerow.measures.guarantees.LDiversity(l) or TCloseness(t)",
                )

    def _check(self, table: Table, schema: Schema) -> Persons | None:
        check_one_of("cells", self.cells, CELLS)
        persons = super()._check(table, schema)
        # the cap that nobody asked for is not promised of a table that is all keys
        limits = self.criteria or (self._cap() and self.max_disclosure != type(self).max_disclosure)
        if not schema.sensitive and limits:
            raise ParameterError(
                "no sensitive column is named, so there is nothing that max_disclosure or another promise could limit",
                hint="name what an intruder wants to know, or leave it out: then k alone is promised",
            )
        named = {name for criterion in self.criteria or () for name in criterion.columns or ()}
        if unknown := sorted(named - set(schema.sensitive)):
            raise ParameterError(
                f"further promises speak of {reprs(unknown)}, which is not sensitive",
                hint=f"the sensitive columns are {', '.join(schema.sensitive)}",
            )
        return persons

    def _fit(self, table: Table, schema: Schema) -> Plan:
        persons = self._check(table, schema)
        quasi, sensitive = self._columns(table, schema)
        check_sensitive([c.value_counts for c in sensitive])
        # Splitting by a column that explains nothing makes cells small for no gain; where none does, all are used.
        n = None if persons is None else persons.counted
        silent = [c.name for c in quasi.columns if self.screen and not telling(c, sensitive, n)]
        self.screened_ = tuple(silent) if len(silent) < len(quasi.columns) else ()
        quasi = quasi.without(self.screened_)
        likeness = Likeness.from_columns(
            [c.value_counts for c in sensitive], [c.value_counts for c in quasi.columns], persons=persons is not None
        )
        rows = quasi.rows(likeness.responses, [*sensitive, *quasi.columns], persons)
        n_people = rows.n if persons is None else persons.counted
        if self.screen:
            grown, self.cell_size_ = likeness.telling_cells(rows, int(self.k), n_people)
        else:
            self.cell_size_ = int(self.k) * _waves_each(table)
            grown = likeness.cells(rows, self.cell_size_)
        self.tree_: Tree = full_tree(grown, likeness.responses, likeness.layout, quasi)
        promises = self._promises(schema, sensitive)
        leaf = grown.column == LEAF

        grouped = partial(classes_of, self.tree_, sensitive, persons)
        # Cells have k records already, so joining checks k only if people may have several records.
        limits = promises if persons is not None else promises[1:]
        sizes, means = grown.end[leaf] - grown.start[leaf], likeness.means(grown.stats[leaf])
        self._joined = joined(sizes, means, grouped, limits, self._in_rows)
        plan = self._plan(table, schema, quasi, grown, promises, persons, self._joined)
        assert isinstance(plan.recoding, Partition)
        self.group_of_cell_ = np.asarray(plan.recoding.groups, np.int64)
        # without sensitive columns nothing was limited
        return plan if sensitive else replace(plan, parameters={**plan.parameters, "max_disclosure": 1})

    def refused(self, table: Table, schema: Schema) -> list[Refused]:
        """Return the groups that were joined from several cells, with those cells."""
        return joined_cells(self.tree_, self._joined, self.group_of_cell_)
