"""From a grown tree to a plan: what every method that partitions the people shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..arguments import LIST, Kind, check_one_of, is_number
from ..classes import Classes, Persons, group
from ..errors import InfeasibleError, ParameterError, SchemaError, UnsupportedError
from ..guarantees import SLACK, ColumnGuarantee, Disclosure, Guarantee, KAnonymity, LDiversity
from ..hierarchy import TOP
from ..kernels.threads import side_by_side
from ..notation import Cell, moment, number
from ..plan import Partition, Plan, Recoded, Vector
from ..schema import Schema
from ..table import Bins, Column, Table, bins_between, bins_of
from ..table.dates import DAY, instants
from ..trees.grow import Grown, grow
from ..trees.responses import Responses
from ..trees.rows import Predictors, Rows
from ..trees.split import LEAF
from ..trees.statistics import Rules, StatisticsLayout
from ..trees.tree import Tree
from .base import Method, check_columns
from .cells import between_points, recode
from .checks import check_people, check_whole

NUMERIC = ("range", "mean", "median")
CATEGORICAL = ("concatenate", "weighted", "hierarchy", "suppress")


@dataclass(frozen=True)
class Quasi:
    """The encoded quasi-identifiers of a table."""

    columns: tuple[Column, ...]
    cuts: tuple[Bins, ...]

    @classmethod
    def of(cls, table: Table, schema: Schema, max_bins: int) -> Quasi:
        """Encode the quasi-identifiers that a schema names.

        Raises
        ------
        ParameterError
            The table has no rows.
        """
        if not table.n_rows:
            raise ParameterError("the table has no rows")
        columns = tuple(table.declared_column(schema, name) for name in schema.quasi)
        grids = [grid_of(column, schema.grid.get(column.name)) for column in columns]
        cuts = tuple(
            bins_of(c.value_counts, max_bins) if g is None else bins_between(c.value_counts, g)
            for c, g in zip(columns, grids, strict=True)
        )
        return cls(columns, cuts)

    def without(self, names: Sequence[str]) -> Quasi:
        """The others."""
        kept = [i for i, column in enumerate(self.columns) if column.name not in names]
        return Quasi(tuple(self.columns[i] for i in kept), tuple(self.cuts[i] for i in kept))

    @property
    def predictors(self) -> Predictors:
        """How many codes each column has, and whether their order means something."""
        n_codes = np.array([c.n_bins for c in self.cuts], np.int64)
        return Predictors(n_codes, np.array([c.value_counts.is_ordered for c in self.columns]))

    def rows(
        self,
        responses: Responses,
        sensitive: Sequence[Column] = (),
        persons: Persons | None = None,
    ) -> Rows:
        """The records of the table, as the grower moves them."""
        return Rows.of(
            self.predictors,
            [c.codes for c in self.columns],
            responses,
            [c.codes for c in sensitive],
            lookups=[cut.lookup if cut.changes else None for cut in self.cuts],
            persons=None if persons is None else persons.shares(),
        )


def grid_of(column: Column, points: Sequence[Any] | None) -> npt.NDArray[np.float64] | None:
    """The cut points of a column in its unit; SchemaError when they are none for its kind."""
    if points is None:
        return None
    text = isinstance(points[0], str)
    per = DAY if column.unit == "day" else 1
    fits = text == (column.kind == "date") and column.is_number and not column.exact
    if fits and text:
        if not column.zone and datetime.fromisoformat(points[0]).tzinfo is not None:
            raise SchemaError(
                f"the points of the grid of column {column.name!r} have a time zone, and its times "
                "have none",
                hint="write them as the column tells its times, without an offset",
            )
        try:
            made = instants(points, column.zone).astype(np.float64) / per
        except pa.ArrowInvalid:
            raise SchemaError(
                f"a point of the grid of column {column.name!r} falls into an hour that the clocks "
                f"of its zone, {column.zone}, skip or show twice",
                hint="write it with its offset, such as 2020-10-25T02:30+01:00",
            ) from None
        fits = per == 1 or not (made % 1).any()
    if not fits:
        raise SchemaError(
            f"the grid of column {column.name!r} does not fit its kind, {column.kind}",
            hint="cut numbers that doubles hold at numbers, and dates at dates such as 2001-05-01",
        )
    return made if text else np.array(points, np.float64)


_ROUNDING = 1e-8
"""Part of a cap by which the grower may be off: its squares are rounded to whole units."""


class PartitionMethod(Method):
    """Base of the methods whose plan is a tree of groups."""

    kinds: ClassVar[Mapping[str, Kind]] = {"criteria": LIST}
    heeds = ("unit", "grid")

    k: int
    max_disclosure: float | None
    numeric: str
    categorical: str
    criteria: Sequence[Any] | None
    max_bins: int

    ranges_beside_grids: ClassVar[bool] = False
    """Whether columns with a grid are told as ranges where other numbers are not."""

    def _check(self, table: Table, schema: Schema) -> Persons | None:
        persons = check_people(self.k, table, schema)
        check_columns(table, schema)
        d = self.max_disclosure
        if d is not None and not (is_number(d) and 0 < d <= 1):
            raise ParameterError(
                "max_disclosure must lie in (0, 1], or be None to switch it off",
                hint="0 would tell nothing and 1 tells all",
            )
        check_one_of("numeric", self.numeric, NUMERIC)
        check_one_of("categorical", self.categorical, CATEGORICAL)
        if odd := [name for name in schema.grid if name not in schema.quasi]:
            raise SchemaError(
                f"columns with a grid are no quasi-identifiers: {', '.join(map(repr, odd))}",
                hint="a grid says where groups are cut",
            )
        if schema.grid and self.numeric != "range" and not self.ranges_beside_grids:
            raise UnsupportedError(
                f"a grid tells ranges, not each group's {self.numeric}", hint='set numeric="range"'
            )
        check_whole("max_bins", self.max_bins, 2, 65_000)
        self._check_criteria()
        if self.categorical == "hierarchy":
            lacking = [
                n
                for n in schema.quasi
                if n not in schema.hierarchies
                and table.declared_kind(schema, n) not in ("numeric", "date")
            ]
            if lacking:
                raise ParameterError(
                    f"no hierarchy for {', '.join(map(repr, lacking))}",
                    hint="give Schema(hierarchies={...}) or recode by concatenation",
                )
        return persons

    def _check_criteria(self) -> None:
        for criterion in self.criteria or ():
            if not isinstance(criterion, LDiversity) or criterion.diversity not in (
                "frequency",
                "entropy",
            ):
                raise UnsupportedError(
                    "the grower admits groups by k, disclosure, and frequency or entropy "
                    "l-diversity; other criteria are checked by the audit",
                    hint='use LDiversity(l, "frequency") or LDiversity(l, "entropy")',
                )

    def _sensitive(self, table: Table, schema: Schema) -> list[Column]:
        return [table.declared_column(schema, name) for name in schema.sensitive]

    def _cap(self) -> ColumnGuarantee | None:
        """What no group may tell; None where nothing is capped."""
        d = self.max_disclosure
        return None if d is None or d >= 1 else Disclosure(float(d))

    def _grown(
        self,
        quasi: Quasi,
        sensitive: Sequence[Column],
        persons: Persons | None,
        gain: int,
        min_leaf: int,
        depth: int | None = None,
    ) -> Tree:
        """The tree of the best admissible splits."""
        cap = self._cap()
        limit = 1.0 if cap is None else float(self.max_disclosure or 1.0)
        scored = isinstance(cap, Disclosure)
        responses = Responses.of([c.value_counts for c in sensitive], scored=scored)
        own = ("persons",) if persons is not None else ()
        layout = StatisticsLayout.of(responses, gain, limit < 1, own, floored=scored)
        # a split exactly at the cap is not lost to rounding: `_kept` decides exactly
        rules = self._rules(responses, min_leaf, gain, limit * (1 + _ROUNDING * scored), scored)
        grown = grow(quasi.rows(responses, sensitive, persons), responses, layout, rules, depth)
        return full_tree(grown, responses, layout, quasi)

    def _rules(
        self, responses: Responses, min_leaf: int, gain: int, cap: float, scored: bool
    ) -> Rules:
        classes = responses.categorical
        share, entropy = np.ones(len(responses.classes)), np.zeros(len(responses.classes))
        for criterion in self.criteria or ():
            check_diversity(criterion, responses)
            for j, response in enumerate(classes):
                if criterion.columns is None or response.name in criterion.columns:
                    if criterion.diversity == "frequency":
                        share[j] = min(share[j], 1 / criterion.l)
                    else:
                        entropy[j] = max(entropy[j], float(np.log(criterion.l)))
        flags = len(responses.classes) - len(classes) + len(responses.judged)
        caps = np.array(
            [cap] * len(responses.numeric)
            + [1.0 if r.ordered else cap for r in classes]
            + [cap if scored else 1.0] * flags
        )
        return Rules(min_leaf, caps, share, entropy, gain)

    def _kept(self, tree: Tree, sensitive: Sequence[Column], persons: Persons | None) -> Tree:
        """The tree with every leaf that breaks a promise merged into its parent until none does.

        The grower asks in 64-bit units, of shares of people; this asks exactly, as the
        release is verified. A union of groups keeps what its parts keep.
        """
        cap = self._cap()
        asked = [KAnonymity(int(self.k))] if persons is not None else []
        promises = [*asked, *([cap] if cap is not None else [])]
        while promises:
            grown = tree.grown
            classes = Classes.of(group([tree.leaf_of_rows()]), sensitive, persons)
            kept = np.all([promise.kept_by(classes) for promise in promises], axis=0)
            parents = grown.parent[np.flatnonzero(grown.column == LEAF)[~kept]]
            parents = parents[parents >= 0]
            if not len(parents):
                break
            tree = tree.pruned(np.unique(parents))
        return tree

    def _promises(self, schema: Schema, responses: Responses | None) -> list[Guarantee]:
        made: list[Guarantee] = [KAnonymity(int(self.k), schema.person)]
        cap = self._cap()
        if cap is not None:
            made.append(cap)
        for criterion in self.criteria or ():
            names = tuple(r.name for r in responses.categorical) if responses else ()
            made.append(criterion if criterion.columns else replace(criterion, columns=names))
        return made

    def _recoded(
        self,
        column: Column,
        j: int,
        quasi: Quasi,
        groups: Parts,
        schema: Schema,
    ) -> tuple[Recoded, npt.NDArray[np.int64]]:
        """A column with its cells, and which of them each group gets."""
        style = self.numeric if column.is_number else self.categorical
        if quasi.cuts[j].public:
            style = "range"
            cells, index = between_points(column, groups.rows, groups.starts, *groups.between(j))
        else:
            above = schema.hierarchies.get(column.name)
            cells, index = recode(column, style, groups.rows, groups.starts, above)
        return Recoded(column.name, "quasi", column.kind, column.unit, style, tuple(cells)), index

    def _plan(
        self,
        table: Table,
        schema: Schema,
        quasi: Quasi,
        grown: Grown,
        promises: Sequence[Guarantee],
        group_of_leaf: npt.NDArray[np.int64] | None = None,
        persons: Persons | None = None,
        hidden: Sequence[Column] = (),
    ) -> Plan:
        """The plan of a finished partition, whose leaves may have been joined to groups.

        Of the columns in `hidden`, by which nothing is split, nothing is told.
        """
        threshold, subset, subsets = conditions(grown, quasi)
        groups = Parts.of(grown, threshold, group_of_leaf, persons)

        def recoded(j: int) -> tuple[Recoded, Vector]:
            made, index = self._recoded(quasi.columns[j], j, quasi, groups, schema)
            return made, Vector("i", groups.of_leaves(index).astype(np.int32))

        places = range(len(quasi.columns))
        pairs = side_by_side(recoded, places, table.n_rows * len(places))
        nothing = Vector("i", np.zeros(np.count_nonzero(grown.column == LEAF), np.int32))
        for c in hidden:
            cells = (Cell(TOP, anything=True),)
            pairs.append((Recoded(c.name, "quasi", c.kind, c.unit, "suppress", cells), nothing))
        columns, leaf_cells = zip(*pairs, strict=True)
        recoding = Partition(
            tuple(columns),
            Vector("i", grown.column.astype(np.int32)),
            Vector("d", threshold),
            Vector("i", subset.astype(np.int32)),
            Vector("?", grown.missing_left.astype(np.bool_)),
            Vector("i", grown.right.astype(np.int32)),
            tuple(subsets),
            tuple(leaf_cells),
            Vector("i", () if group_of_leaf is None else group_of_leaf.astype(np.int32)),
        )
        return self._planned(table, schema, recoding, promises)


@dataclass(frozen=True)
class Parts:
    """The groups of a partition: leaves of a tree, or several leaves each.

    Parameters
    ----------
    grown : Grown
    threshold : float64 array over the nodes
    group_of_leaf : int64 array of shape (n_leaves,), or None
        The group of every leaf; None where each is a group.
    rows : array of shape (n,)
        Row numbers, group by group.
    starts : int64 array of shape (n_groups,)
        Where each group begins among them.
    persons : Persons, optional
        Where a person may have several records.
    """

    grown: Grown
    threshold: npt.NDArray[np.float64]
    group_of_leaf: npt.NDArray[np.int64] | None
    rows: npt.NDArray[Any]
    starts: npt.NDArray[np.int64]
    persons: Persons | None

    @classmethod
    def of(
        cls,
        grown: Grown,
        threshold: npt.NDArray[np.float64],
        group_of_leaf: npt.NDArray[np.int64] | None,
        persons: Persons | None = None,
    ) -> Parts:
        """The groups with their rows side by side."""
        leaf = grown.column == LEAF
        starts, ends = grown.start[leaf], grown.end[leaf]
        if group_of_leaf is None:
            return cls(grown, threshold, None, grown.rows, starts, persons)
        of_place = np.repeat(group_of_leaf, ends - starts)
        rows = grown.rows[np.argsort(of_place, kind="stable")]
        sizes = np.bincount(group_of_leaf, ends - starts).astype(np.int64)
        return cls(grown, threshold, group_of_leaf, rows, np.cumsum(sizes) - sizes, persons)

    def known(self, column: Column) -> npt.NDArray[np.int64]:
        """How many people of every group have a value in a column."""
        sizes = np.diff(np.append(self.starts, len(self.rows)))
        known = column.codes[self.rows] != column.n_values
        number = np.repeat(np.arange(len(sizes)), sizes)[known]
        if self.persons is not None:
            own = self.persons.codes[self.rows][known]
            number = np.unique(np.stack([number, own]), axis=1)[0]
        return np.bincount(number, minlength=len(sizes)).astype(np.int64)

    def of_leaves(self, of_groups: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """What every leaf gets of what is given for the groups."""
        return of_groups if self.group_of_leaf is None else of_groups[self.group_of_leaf]

    def between(self, j: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Between which thresholds on column j every group lies; infinite where open."""
        low, high = regions(self.grown, j, self.threshold)
        if self.group_of_leaf is None:
            return low, high
        n = len(self.starts)
        least, most = np.full(n, np.inf), np.full(n, -np.inf)
        np.minimum.at(least, self.group_of_leaf, low)
        np.maximum.at(most, self.group_of_leaf, high)
        return least, most


def check_diversity(criterion: LDiversity, responses: Responses) -> None:
    """Raise when a criterion names columns that it cannot speak of, or asks for more than the whole table has."""
    names = [r.name for r in responses.categorical]
    odd = [n for n in criterion.columns or () if n not in names]
    if odd or not names:
        where = f"of {', '.join(map(repr, odd))}" if odd else "of numeric columns only"
        raise ParameterError(
            f"l-diversity is asked {where}, but it is for categorical sensitive columns",
            hint="max_disclosure protects numeric columns",
        )
    for j, name in enumerate(names):
        if criterion.columns is None or name in criterion.columns:
            p = responses.classes[j].counts / responses.n_rows
            p = p[p > 0]
            most = (
                1 / p.max()
                if criterion.diversity == "frequency"
                else float(np.exp(-(p * np.log(p)).sum()))
            )
            if most < criterion.l - SLACK:
                raise InfeasibleError(
                    f"{criterion.diversity} l-diversity of {criterion.l:g} is asked of {name!r}, "
                    f"but the whole table has only {most:.4g}",
                    hint="ask for a smaller l",
                )


def conditions(
    grown: Grown, quasi: Quasi
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64], list[tuple[str | None, ...]]]:
    """Thresholds and left subsets of every node, in the plan's form."""
    n = grown.n_nodes
    threshold, subset = np.zeros(n), np.full(n, -1, np.int64)
    subsets: dict[tuple[str | None, ...], int] = {}
    codes = grown.subset_codes.tolist()
    for j, (column, cut) in enumerate(zip(quasi.columns, quasi.cuts, strict=True)):
        here = np.flatnonzero(grown.column == j)
        if cut.public:
            threshold[here] = cut.thresholds[grown.first_right[here] - 1]
            continue
        if column.is_number:
            a, b = cut.hi[grown.last_left[here]], cut.lo[grown.first_right[here]]
            middle = a / 2 + b / 2
            threshold[here] = np.where((a < middle) & (middle <= b), middle, b)
            continue
        names = [*column.values, None]
        ends = grown.last_left[here].tolist()
        if column.kind == "ordinal":  # a threshold over declared categories is a subset of them
            absent = grown.missing_left[here].tolist()
            left = [
                (*names[: end + 1], None) if gap else tuple(names[: end + 1])
                for end, gap in zip(ends, absent, strict=True)
            ]
        else:
            begins = grown.subset_at[here].tolist()
            left = [
                tuple([names[c] for c in codes[begin : begin + end]])
                for begin, end in zip(begins, ends, strict=True)
            ]
        subset[here] = [subsets.setdefault(chosen, len(subsets)) for chosen in left]
    return threshold, subset, list(subsets)


def regions(
    grown: Grown, j: int, threshold: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Between which of the splits' thresholds on column j every leaf lies; infinite where open."""
    low, high = np.full(grown.n_nodes, -np.inf), np.full(grown.n_nodes, np.inf)
    inner = grown.column != LEAF
    for depth in range(int(grown.depth.max())):
        at = np.flatnonzero(inner & (grown.depth == depth))
        left, right = at + 1, grown.right[at]
        for ends in (low, high):
            ends[left] = ends[right] = ends[at]
        mine = grown.column[at] == j
        high[left[mine]] = low[right[mine]] = threshold[at[mine]]
    return low[~inner], high[~inner]


def describe(grown: Grown, quasi: Quasi) -> tuple[str, ...]:
    """What goes left at each node, in words; empty for leaves."""
    threshold, subset, subsets = conditions(grown, quasi)
    said = []
    for i, j in enumerate(grown.column.tolist()):
        if j == LEAF:
            said.append("")
        elif subset[i] < 0:
            column = quasi.columns[j]
            at = (
                moment(np.ceil(threshold[i]), column.unit)
                if column.unit
                else number(float(threshold[i]))
            )
            said.append(f"{column.name} < {at}")
        else:
            chosen = sorted("(missing)" if c is None else c for c in subsets[subset[i]])
            said.append(f"{quasi.columns[j].name} in {{{', '.join(chosen)}}}")
    return tuple(said)


def full_tree(grown: Grown, responses: Responses, layout: StatisticsLayout, quasi: Quasi) -> Tree:
    """A grown tree with its splits in words."""
    return Tree(
        grown,
        responses,
        layout,
        partial(describe, grown, quasi),
        np.arange(1, grown.n_nodes + 1),
    )


__all__ = ["PartitionMethod", "Quasi", "full_tree"]
