"""Microaggregation: groups of at least k similar records, each released as its average."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from ..columns.numbers import LEAVE_OUT, numeric_matrix, standardise
from ..columns.table import Table
from ..errors import ParameterError, SchemaError, reprs
from ..kernels.masking_loops import mdav, mdav_gower
from ..kernels.neighbours import build, nearest
from ..measures import Counts, Floats, Ints, Persons, group
from ..measures.guarantees import KAnonymity
from ..schema import Schema
from ..validation import check_one_of
from .base import check_people
from .masking import Masked, Masking, mask_categories, mask_numbers

DISTANCES = ("auto", "euclidean", "gower")


@dataclass(eq=False, repr=False)
class Microaggregation(Masking):
    """Replace each record by the average of a group of at least k similar records.

    Parameters
    ----------
    k : int
        Size of a group (MDAV), at least 2 and at most the number of rows; the last one has up to 2k - 1.
    distance : {"auto", "euclidean", "gower"}
        Euclidean is for numbers, exact with search trees. Gower also accepts categories: means and
        most frequent categories are released, and time grows with the square of the number of rows.
        "auto" uses Euclidean if all columns are numeric.
    standardise : bool
        Divide numbers by their standard deviations first (Gower: always by ranges).
    integers : bool
        Round columns of integers to integers.
    schema : Schema, optional
        Kinds and category orders, if the columns' own types do not show them.

    Attributes
    ----------
    groups_ : array of int, shape (n,)
        Group of every row.
    facts_ : dict
        Number of groups, their sizes, and for numbers the loss: the within-group sum of squares as a
        percentage of the total, for standardised columns.

    Raises
    ------
    ParameterError
        k above the number of rows; numbers missing (a group's average would not be
        the same in all its records).

    Notes
    -----
    Domingo-Ferrer & Torra (2005), "Ordinal, continuous and heterogeneous
    k-anonymity through microaggregation". A missing category counts as a category of its own.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [20, 21, 60, 62], "wage": [10.0, 12.0, 30.0, 34.0]})
    >>> Microaggregation(k=2).fit_transform(people)["age"].tolist()
    [20.5, 20.5, 61.0, 61.0]
    """

    supported_fields = ("unit", "household")
    allows_missing = False
    words: ClassVar[str] = "microaggregation"

    k: int = 3
    _: KW_ONLY
    distance: str = "auto"
    standardise: bool = True
    integers: bool = False
    schema: Schema | None = None

    def check_table(self, table: Table, schema: Schema) -> None:
        """Raise an error as `Method.check_table` does, and if a quasi-identifier holds dates."""
        super().check_table(table, schema)
        if dates := [name for name in schema.quasi if table.declared_kind(schema, name) == "date"]:
            raise SchemaError(f"dates cannot be averaged here: {reprs(dates)}", hint=LEAVE_OUT)

    def _mask(self, table: Table, schema: Schema) -> Masked:
        persons = check_people(self.k, table, schema)
        k = int(self.k)
        check_one_of("distance", self.distance, DISTANCES)
        kinds = {name: table.declared_kind(schema, name) for name in schema.quasi}
        words = [name for name, kind in kinds.items() if kind not in ("numeric", "date")]
        gower = self.distance == "gower" or (self.distance == "auto" and bool(words))
        figures = [n for n in schema.quasi if n not in words] if gower else list(schema.quasi)
        encoded = [table.declared_column(schema, n) for n in words] if gower else []
        before = numeric_matrix(table, figures, schema.kinds)
        if missing := [name for name, column in zip(figures, before.T, strict=True) if np.isnan(column).any()]:
            raise ParameterError(f"missing numbers (NaN) in: {reprs(missing)}", hint="fill them, or leave the rows out")
        codes = np.array([c.codes for c in encoded], np.int64).reshape(-1, table.n_rows).T
        rows = self._rows(table)
        values, categories = rows.sorted(before), rows.sorted(codes)
        widths = np.array([column.n_values + 1 for column in encoded], dtype=np.int64)
        if gower:
            spans = np.ptp(values, axis=0)
            scaled = (values - values.min(axis=0)) / np.where(spans > 0, spans, 1.0)
        else:
            scaled = standardise(values) if self.standardise else values
        # Equal distances go by the order of the points, so that order comes from their values.
        canonical = np.lexsort((*categories.T[::-1], *scaled.T[::-1]))
        points = np.ascontiguousarray(scaled[canonical])
        if gower:
            chosen = mdav_gower(points, np.ascontiguousarray(categories[canonical]), widths, k)
        else:
            chosen = mdav(points, k)
        groups = np.empty_like(chosen)
        groups[canonical] = chosen
        if persons is not None:
            # Two different indicators are at a squared distance of 1, as in Gower's distance.
            indicators = [np.eye(m)[c] / np.sqrt(2) for m, c in zip(widths, categories.T, strict=True)]
            places = np.column_stack([scaled, *indicators])
            # Records of one person are no crowd: groups of too few people grow.
            groups = joined_groups(groups, places, k, persons.subset(rows.order))
        self.groups_ = rows.back(groups)
        after = rows.back(_centres(values, groups)[groups])
        cells = mask_numbers(table, figures, before, after, integers=self.integers)
        for column, code in zip(encoded, codes.T, strict=True):
            # A category has no mean: the most frequent one stands for its group.
            counts = Counts.from_codes(group([self.groups_]), code, column.n_values + 1)
            best = np.lexsort((counts.values, -counts.counts, counts.groups))  # in a tie the first in the order
            cells[column.name] = mask_categories(table, column, counts.values[best][counts.starts[:-1]][self.groups_])
        sizes = np.bincount(groups)
        facts: dict[str, object] = {
            "k": self.k,
            "groups": len(sizes),
            "smallest_group": int(sizes.min()),
            "largest_group": int(sizes.max()),
        }
        if figures:
            facts["loss_percent"] = group_loss(values, groups)
        return Masked(cells, facts, (KAnonymity.from_schema(k, schema),))


def joined_groups(groups: Ints, points: Floats, k: int, persons: Persons) -> Ints:
    """Join each group of fewer than k people to the group with the nearest average, until all have k."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    while True:
        current = group([groups])
        groups, n = current.labels.astype(np.int64), current.n_groups
        small = np.flatnonzero(persons.sizes(current) < k)
        if not len(small):
            return groups
        centres = _centres(points, groups)
        tree, near, gaps, other = build(centres), np.empty(2, np.int64), np.empty(2), []
        for g in small:
            nearest(tree, centres[g], 2, near, gaps)  # the group itself is among the two
            other.append(int(near[near != g][0]))
        # Nearest groups may point at each other or on to a third: all of a chain become one.
        joins = coo_array((np.ones(len(small)), (small, other)), (n, n))
        groups = connected_components(joins, directed=False)[1][groups].astype(np.int64)


def group_loss(values: Floats, groups: Ints) -> float:
    """Return the within-group sum of squares of standardised columns, in percent of the total."""
    scaled = standardise(values)
    within = ((scaled - _centres(scaled, groups)[groups]) ** 2).sum()
    total = (scaled**2).sum()
    return float(100.0 * within / total) if total else 0.0


def _centres(values: Floats, groups: Ints) -> Floats:
    """Return the means of each group, shape (groups, columns); sums run in the order of the rows."""
    sizes = np.bincount(groups)
    centres = np.empty((len(sizes), values.shape[1]))
    for c, column in enumerate(values.T):
        centres[:, c] = np.bincount(groups, column) / sizes
    return centres
