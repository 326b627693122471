"""Microaggregation: groups of at least k similar records, each released as its average."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from ..columns.numbers import numeric_matrix, standardise
from ..columns.table import Table
from ..errors import ParameterError, SchemaError, UnsupportedError
from ..kernels.masking_loops import mdav, mdav_gower, v_mdav
from ..kernels.neighbours import build, nearest
from ..kernels.sorting import stable_sort
from ..measures import Counts, FloatArray, IntArray, Persons, group
from ..measures.guarantees import KAnonymity
from ..schema import Schema
from ..validation import check_one_of, is_number
from .base import check_people
from .masking import Masked, Masking, category_column, mask_numbers, masked_column

_ROUNDING = 1e-9
"""Relative rounding of the sums; a bound that is lower by this much is still a bound."""


def least_loss(points: FloatArray, k: int) -> float:
    """Return a lower bound on the within-group sum of squares of any partition into groups of at least k.

    Two bounds hold for all such partitions, and the larger is taken:

    - In a group S of s >= k records the sum of squares is that of the squared distances between
      all ordered pairs, over 2s. A record has s - 1 partners in it, none nearer than its s - 1
      nearest records of the table: it adds at least (s - 1) / s times half their mean squared
      distance, which does not fall as s grows. So the loss is at least the sum over all records of
      the squared distances to their k - 1 nearest, over 2k.
    - The loss of all columns is the sum of the losses of each, none of which is below that of the
      best partition for that column alone: runs of its sorted values (Hansen & Mukherjee 2003),
      which are found exactly.

    Parameters
    ----------
    points : float array of shape (n, d)
    k : int
        At least 1.

    Examples
    --------
    >>> round(least_loss(np.array([[0.0], [1.0], [5.0], [7.0]]), 2), 6)
    2.5
    """
    if not points.size:
        return 0.0
    points = np.ascontiguousarray(points[np.lexsort(points.T[::-1])])  # one sum in any order
    if len(points) < 2 * k:
        return float(((points - points.mean(axis=0)) ** 2).sum() * (1 - _ROUNDING))
    runs = sum(best_runs(np.sort(column), k) for column in points.T)
    bound = runs if points.shape[1] == 1 else max(runs, near_sum(points, k) / (2 * k))
    return float(bound * (1 - _ROUNDING))


def near_sum(points: FloatArray, k: int) -> float:
    """Return the sum, over all records, of squared distances to their k - 1 nearest other records."""
    tree, near, gaps = build(points), np.empty(k, np.int64), np.empty(k)
    summed = 0.0
    for point in points:
        nearest(tree, point, k, near, gaps)  # itself, or one that is equal, among them
        summed += float(gaps.sum())
    return summed


def best_runs(values: FloatArray, k: int) -> float:
    """Return the least within-run sum of squares when ascending values are cut into runs of at least k."""
    n = len(values)
    deviations = values - values.mean()
    sums = np.concatenate([[0.0], np.cumsum(deviations)])
    squares = np.concatenate([[0.0], np.cumsum(deviations * deviations)])
    best = np.full(n + 1, np.inf)
    best[0] = 0.0
    for end in range(k, n + 1):
        begin = np.arange(max(end - 2 * k + 1, 0), end - k + 1)  # longer runs are better halved
        total = sums[end] - sums[begin]
        loss = np.maximum(squares[end] - squares[begin] - total * total / (end - begin), 0.0)
        best[end] = (best[begin] + loss).min()
    return float(best[n])


GROUPINGS = ("mdav", "v-mdav", "individual_ranking")
DISTANCES = ("auto", "euclidean", "gower")


@dataclass(eq=False, repr=False)
class Microaggregation(Masking):
    """Replace each record by the average of a group of at least k similar records.

    Parameters
    ----------
    k : int
        Smallest group, at least 2 and at most the number of rows.
    grouping : {"mdav", "v-mdav", "individual_ranking"}
        Groups of exactly k (the last one of k to 2k - 1); groups of k to 2k - 1; or
        every column by itself, which does not make whole records equal.
    distance : {"auto", "euclidean", "gower"}
        Euclidean for numbers, exact with search trees. Gower for categories beside
        numbers (MDAV alone): means and most frequent categories are released; time
        grows with the square of the rows. "auto" takes Euclidean when all columns
        are numeric.
    standardise : bool
        Divide numbers by their standard deviations first (Gower: always by ranges).
    gain : float
        V-MDAV's gain factor, at least 0: 0.2 for scattered records, about 1.1 for
        clustered ones.
    integers : bool
        Round columns of integers to integers.
    schema : Schema, optional
        Kinds and category orders, if the columns' own types do not show them.

    Attributes
    ----------
    groups_ : array of int, shape (n,)
        Group of every row (not for individual ranking).
    facts_ : dict
        Number of groups, their sizes, and for numbers the loss: within-group over total sum of
        squares in per cent, standardised columns.

    Raises
    ------
    ParameterError
        k above the number of rows; numbers missing (a group's average would not be
        the same in all its records), except for individual ranking, which leaves them.

    Notes
    -----
    Domingo-Ferrer & Torra (2005), "Ordinal, continuous and heterogeneous
    k-anonymity through microaggregation"; Solanas & Martínez-Ballesté (2006),
    "V-MDAV: a multivariate microaggregation with variable group size". A missing
    category counts as a category of its own.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [20, 21, 60, 62], "wage": [10.0, 12.0, 30.0, 34.0]})
    >>> Microaggregation(k=2).fit_transform(people)["age"].tolist()
    [20.5, 20.5, 61.0, 61.0]
    """

    supported_fields = ("unit", "household")
    words: ClassVar[str] = "microaggregation"

    k: int = 3
    _: KW_ONLY
    grouping: str = "mdav"
    distance: str = "auto"
    standardise: bool = True
    gain: float = 0.2
    integers: bool = False
    schema: Schema | None = None

    @property
    def allows_missing(self) -> bool:
        """Return whether X may hold missing numbers: only with individual ranking."""
        return self.grouping == "individual_ranking"

    def _mask(self, table: Table, schema: Schema) -> Masked:
        persons = check_people(self.k, table, schema)
        k = int(self.k)
        check_one_of("grouping", self.grouping, GROUPINGS)
        check_one_of("distance", self.distance, DISTANCES)
        if not is_number(self.gain) or not 0 <= self.gain < np.inf:
            raise ParameterError("gain must be a number of at least 0")
        kinds = {name: table.declared_kind(schema, name) for name in schema.quasi}
        words = [name for name, kind in kinds.items() if kind not in ("numeric", "date")]
        if self.grouping == "individual_ranking":
            return self._rank(table, schema, k)
        gower = self.distance == "gower" or (self.distance == "auto" and bool(words))
        if gower and (self.grouping != "mdav" or self.distance == "euclidean"):
            raise UnsupportedError(
                "categories are aggregated by MDAV with Gower's distance alone",
                hint='set grouping="mdav" and distance="gower"',
            )
        if gower and (dates := [name for name, kind in kinds.items() if kind == "date"]):
            raise SchemaError(
                f"dates cannot be averaged here: {', '.join(map(repr, dates))}",
                hint="leave these columns out of the quasi-identifiers",
            )
        figures = [n for n in schema.quasi if n not in words] if gower else list(schema.quasi)
        encoded = [table.declared_column(schema, n) for n in words] if gower else []
        before = self._complete(table, schema, figures)
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
        elif self.grouping == "mdav":
            chosen = mdav(points, k)
        else:
            chosen = variable_groups(points, k, float(self.gain))
        groups = np.empty_like(chosen)
        groups[canonical] = chosen
        if persons is not None:
            # Two different indicators are at a squared distance of 1, as in Gower's distance.
            indicators = [np.eye(m)[c] / np.sqrt(2) for m, c in zip(widths, categories.T, strict=True)]
            places = np.column_stack([scaled, *indicators])
            # Records of one person are no crowd: groups of too few people grow.
            groups = joined_groups(groups, places, k, persons.subset(rows.order))
        self.groups_ = rows.back(groups)
        after = rows.back(_averages(values, groups))
        released, columns = mask_numbers(
            table, schema, before, after, integers=self.integers, names=figures
        )
        by_name = {c.name: c for c in columns}
        for column, code in zip(encoded, codes.T, strict=True):
            name, missing = column.name, column.n_values
            # A category has no mean: the most frequent one stands for its group.
            modes = _modes(code, self.groups_, missing + 1)[self.groups_]
            cells = released[name] = category_column(table, column, modes)
            masks = {"unchanged": modes == code, "suppressed": modes == missing}
            by_name[name] = masked_column(schema, name, column.kind, cells, code < missing, **masks)
        sizes = np.bincount(groups)
        facts: dict[str, Any] = {
            "k": self.k,
            "groups": len(sizes),
            "smallest_group": int(sizes.min()),
            "largest_group": int(sizes.max()),
        }
        if figures:
            facts["loss_percent"] = group_loss(values, groups)
        columns = tuple(by_name[name] for name in schema.quasi)
        return Masked(released, columns, facts, (KAnonymity.from_schema(k, schema),))

    def loss_and_least(self, table: Table, schema: Schema) -> tuple[float, float] | None:
        """Return the loss of the groups, and a lower bound for any groups of at least k records.

        Both count numbers alone, and are shares of their total sum of squares.
        """
        lost = self.facts_.get("loss_percent")
        kinds = ("numeric", "date")
        figures = [n for n in schema.quasi if table.declared_kind(schema, n) in kinds]
        if lost is None or not figures:
            return None
        points = standardise(self._complete(table, schema, figures))
        total = float((points**2).sum())
        return lost / 100, least_loss(points, int(self.k)) / total if total else 0.0

    def _complete(self, table: Table, schema: Schema, names: list[str]) -> FloatArray:
        if not names:
            return np.empty((table.n_rows, 0))
        values = numeric_matrix(table, names, schema.kinds)
        missing = [name for c, name in enumerate(names) if np.isnan(values[:, c]).any()]
        if missing:
            raise ParameterError(
                f"missing numbers (NaN) in: {', '.join(map(repr, missing))}",
                hint='fill them, leave these rows out, or set grouping="individual_ranking"',
            )
        return values

    def _rank(self, table: Table, schema: Schema, k: int) -> Masked:
        original, rows = numeric_matrix(table, schema.quasi, schema.kinds), self._rows(table)
        before = rows.sorted(original)
        after = np.full(before.shape, np.nan)
        for c, name in enumerate(schema.quasi):
            there = np.flatnonzero(~np.isnan(before[:, c]))
            if len(there) < k:
                raise ParameterError(
                    f"column {name!r} has {len(there)} values that are not missing, k is {k}"
                )
            values, ranked = stable_sort(before[there, c])
            # The last run takes the remainder, so that none is shorter than k.
            groups = np.minimum(np.arange(len(ranked)) // k, len(ranked) // k - 1)
            means = np.bincount(groups, values) / np.bincount(groups)
            after[there[ranked], c] = means[groups]
        released, columns = mask_numbers(
            table, schema, original, rows.back(after), integers=self.integers
        )
        return Masked(released, columns, {"k": k, "columns_ranked_alone": before.shape[1]})


def variable_groups(points: FloatArray, k: int, gain: float) -> IntArray:
    """Return V-MDAV groups of sorted points; points left over join the group with the nearest average."""
    from_mean = ((points - points.mean(axis=0)) ** 2).sum(axis=1)
    groups = v_mdav(points, np.argsort(-from_mean, kind="stable"), k, gain)
    rest = np.flatnonzero(groups < 0)
    if len(rest):
        chosen = groups >= 0
        sizes = np.bincount(groups[chosen])
        centres = np.column_stack(
            [np.bincount(groups[chosen], points[chosen, c]) / sizes for c in range(points.shape[1])]
        )
        tree = build(centres)
        near, gaps = np.empty(1, np.int64), np.empty(1)
        for i in rest:
            nearest(tree, points[i], 1, near, gaps)
            groups[i] = near[0]
    return groups


def joined_groups(groups: IntArray, points: FloatArray, k: int, persons: Persons) -> IntArray:
    """Join each group of fewer than k people to the group with the nearest average, until all have k."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    while True:
        current = group([groups])
        groups, n = current.labels.astype(np.int64), current.n_groups
        small = np.flatnonzero(persons.sizes(current) < k)
        if not len(small):
            return groups
        centres = np.ascontiguousarray(_averages(points, groups)[current.first])
        tree, near, gaps = build(centres), np.empty(2, np.int64), np.empty(2)
        other = np.empty(len(small), np.int64)
        for i, g in enumerate(small):
            nearest(tree, centres[g], 2, near, gaps)
            other[i] = near[near != g][0]
        # Nearest groups may point at each other or on to a third: all of a chain become one.
        pairs = coo_array((np.ones(len(small)), (small, other)), (n, n))
        groups = connected_components(pairs, directed=False)[1][groups].astype(np.int64)


def group_loss(values: FloatArray, groups: IntArray) -> float:
    """Return the within-group sum of squares of standardised columns, in per cent of the total."""
    scaled = standardise(values)
    within = ((scaled - _averages(scaled, groups)) ** 2).sum()
    total = (scaled**2).sum()
    return float(100.0 * within / total) if total else 0.0


def _averages(values: FloatArray, groups: IntArray) -> FloatArray:
    """Return the means of each row's group, shape (rows, columns); sums run in the order of the rows."""
    means = np.empty(values.shape)
    sizes = np.bincount(groups)
    for c in range(values.shape[1]):
        sums = np.bincount(groups, values[:, c])
        means[:, c] = (sums / sizes)[groups]
    return means


def _modes(codes: IntArray, groups: IntArray, categories: int) -> IntArray:
    """Return the most frequent code of each group; in a tie, the first in the column's order."""
    counts = Counts.from_codes(group([groups]), codes, categories)
    best = np.lexsort((counts.values, -counts.counts, counts.groups))
    return np.asarray(counts.values[best][counts.starts[:-1]])
