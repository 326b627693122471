"""Methods whose plan is a tree of groups: parameters, growing, and the steps from a tree to a plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..columns.arrays import distinct_of
from ..columns.column import Column
from ..columns.table import Table
from ..errors import InfeasibleError, ParameterError, UnsupportedError, reprs
from ..hierarchy import TOP
from ..kernels.threads import side_by_side
from ..measures import Classes, Counts, Floats, Ints, Persons, group
from ..measures.class_measures import entropy_l, frequency_l
from ..measures.disclosure import SLACK
from ..measures.guarantees import ColumnGuarantee, Disclosure, Guarantee, KAnonymity, LDiversity, Together
from ..notation import Cell, moment, number
from ..plan import Partition, Plan, Recoded, Vector
from ..schema import Schema
from ..trees.grow import grow
from ..trees.nodes import LEAF, Grown
from ..trees.objective import Rules
from ..trees.responses import Responses
from ..trees.statistics import COUNTED, StatisticsLayout
from ..trees.tree import Tree
from ..validation import LIST, Kind, check_one_of, check_share, check_whole
from .base import Method, check_columns, check_grid, check_people
from .design import Quasi
from .group_cells import GroupedCodes, between_points, public_step, recode, rounded
from .refusals import Refused, known_splits, refused_splits

NUMERIC = ("range", "mean", "median")
CATEGORICAL = ("concatenate", "weighted", "hierarchy", "suppress")
# Styles whose cells depend on every record of a group; the others depend on its values alone.
WHOLE = ("mean", "median", "weighted")
# Measured bytes of a group of k records in a tree that no cap prunes, and of its counts of a
# sensitive column.
_GROUP_BYTES, _COLUMN_BYTES = 2100, 40
# Relative rounding of the grower, whose squares are whole units.
_ROUNDING = 1e-8


@dataclass(frozen=True)
class LeafGroups:
    """The groups of a partition, each made of one or several leaves of a tree.

    Parameters
    ----------
    grown : Grown
    threshold : float64 array over the nodes
    group_of_leaf : int64 array of shape (n_leaves,), or None
        The group of every leaf; None if each leaf is a group.
    rows : array of shape (n,)
        Row numbers, group by group.
    starts : int64 array of shape (n_groups,)
        Where each group begins among them.
    persons : Persons, optional
        Where a person may have several records.
    """

    grown: Grown
    threshold: Floats
    group_of_leaf: Ints | None
    rows: npt.NDArray[Any]
    starts: Ints
    persons: Persons | None

    @classmethod
    def from_tree(
        cls, grown: Grown, threshold: Floats, group_of_leaf: Ints | None, persons: Persons | None
    ) -> LeafGroups:
        """Return the groups of a tree, with the rows of each group next to each other."""
        leaf = grown.column == LEAF
        rows, starts = grown.rows, grown.start[leaf]
        # Rows on a cluster are brought together there, group by group, when a column is read.
        if group_of_leaf is not None and isinstance(rows, np.ndarray):
            n_rows = grown.end[leaf] - starts
            rows = rows[np.argsort(np.repeat(group_of_leaf, n_rows), kind="stable")]
            sizes = np.bincount(group_of_leaf, n_rows).astype(np.int64)
            starts = np.cumsum(sizes) - sizes
        return cls(grown, threshold, group_of_leaf, rows, starts, persons)

    def codes(self, column: Column, whole: bool) -> GroupedCodes:
        """Return the codes of a column, with the records of each group next to each other.

        From a cluster, every code comes only with `whole`. Without it only the codes come that make
        a range or a set: both ends for numbers, each category once.
        """
        if isinstance(self.rows, np.ndarray):
            return GroupedCodes(column, column.codes[self.rows], self.starts)
        part, rows, starts = self.rows.column(column, self.starts, self.group_of_leaf, whole)
        return GroupedCodes(part, part.codes[rows], starts)

    def people_with_value(self, grouped: GroupedCodes) -> Ints:
        """Count the people in each group who have a value; the records if every record is a person."""
        if self.persons is None:
            return grouped.present
        there = grouped.codes != grouped.column.n_values
        number = np.repeat(np.arange(len(self.starts)), grouped.sizes)[there]
        groups = group([number])  # without the groups in which nobody has a value
        people = self.persons.subset(self.rows[there]).sizes(groups)
        return np.bincount(number[groups.first], people, len(self.starts)).astype(np.int64)

    def between(self, j: int) -> tuple[Floats, Floats]:
        """Return the thresholds on column j between which each group lies; infinite if a side is open."""
        low, high = regions(self.grown, j, self.threshold)
        if self.group_of_leaf is None:
            return low, high
        n = int(self.group_of_leaf.max()) + 1
        least, most = np.full(n, np.inf), np.full(n, -np.inf)
        np.minimum.at(least, self.group_of_leaf, low)
        np.maximum.at(most, self.group_of_leaf, high)
        return least, most


def classes_of(tree: Tree, sensitive: Sequence[Column], persons: Persons | None, number: Ints | None = None) -> Classes:
    """Return the leaves of a tree as classes, or groups of leaves if `number` gives each leaf's group."""
    grown = tree.grown
    starts = grown.start[grown.column == LEAF]
    if not isinstance(grown.rows, np.ndarray):
        return grown.rows.classes(starts, sensitive, number)
    if number is None:
        return Classes.from_rows(grown.rows, starts, sensitive, persons)
    return Classes.from_groups(group([number[tree.leaf_of_rows()]]), sensitive, persons)


def conditions(grown: Grown, quasi: Quasi) -> tuple[Floats, Ints, list[tuple[str | None, ...]]]:
    """Return each node's threshold, the index of the subset that goes left, and all subsets.

    The first two are arrays over the nodes; a node's threshold counts only if its subset is -1.
    """
    n = grown.n_nodes
    threshold, subset = np.zeros(n), np.full(n, -1, np.int64)
    subsets: dict[tuple[str | None, ...], int] = {}
    codes = grown.subset_codes.tolist()
    for j, (column, cut) in enumerate(zip(quasi.columns, quasi.cuts, strict=True)):
        here = np.flatnonzero(grown.column == j)
        if cut.public:  # grids: the cut is a point that somebody chose, and no value of a person
            threshold[here] = cut.thresholds[grown.first_right[here] - 1]
            continue
        if column.is_number:
            a, b = cut.hi[grown.last_left[here]], cut.lo[grown.first_right[here]]
            # Halves before the sum: the sum of two huge doubles would be infinite. Where rounding
            # puts the middle on the left neighbour, the right one is the threshold.
            middle = a / 2 + b / 2
            threshold[here] = np.where((a < middle) & (middle <= b), middle, b)
            continue
        names = [*column.values, None]
        ends, begins = grown.last_left[here].tolist(), grown.subset_at[here].tolist()
        if column.kind == "ordinal":  # a threshold over declared categories is a subset of them
            pairs = zip(ends, grown.missing_left[here].tolist(), strict=True)
            wanted = [(*range(end + 1), *[column.n_values] * missing) for end, missing in pairs]
        else:
            wanted = [tuple(codes[begin : begin + end]) for begin, end in zip(begins, ends, strict=True)]
        # by codes, which are cheaper to compare than names: millions of nodes have few different subsets
        number_of = {k: subsets.setdefault(tuple([names[c] for c in k]), len(subsets)) for k in dict.fromkeys(wanted)}
        subset[here] = [number_of[each] for each in wanted]
    return threshold, subset, list(subsets)


def regions(grown: Grown, j: int, threshold: Floats) -> tuple[Floats, Floats]:
    """Return the thresholds on column j between which each leaf lies; infinite if a side is open."""
    low, high = np.full(grown.n_nodes, -np.inf), np.full(grown.n_nodes, np.inf)
    # One pass a depth, since children inherit the bounds of a parent that is already bounded.
    inner = grown.column != LEAF
    for depth in range(int(grown.depth.max())):
        at = np.flatnonzero(inner & (grown.depth == depth))
        below, above = at + 1, grown.right[at]  # in pre-order the left child comes next
        for ends in (low, high):
            ends[below] = ends[above] = ends[at]
        mine = grown.column[at] == j
        high[below[mine]] = low[above[mine]] = threshold[at[mine]]
    return low[~inner], high[~inner]


def describe(grown: Grown, quasi: Quasi) -> tuple[str, ...]:
    """Return each node's condition for going left, in words; empty for leaves."""
    threshold, subset, subsets = conditions(grown, quasi)
    texts = []
    for i, j in enumerate(grown.column.tolist()):
        if j == LEAF:
            texts.append("")
        elif subset[i] < 0:
            column = quasi.columns[j]
            at = moment(np.ceil(threshold[i]), column.unit) if column.unit else number(float(threshold[i]))
            texts.append(f"{column.name} < {at}")
        else:
            chosen = sorted("(missing)" if c is None else c for c in subsets[subset[i]])
            texts.append(f"{quasi.columns[j].name} in {{{', '.join(chosen)}}}")
    return tuple(texts)


def full_tree(grown: Grown, responses: Responses, layout: StatisticsLayout, quasi: Quasi) -> Tree:
    """Return a grown tree, whose splits are described in words only when somebody reads them."""
    return Tree(grown, responses, layout, partial(describe, grown, quasi), np.arange(1, grown.n_nodes + 1))


class PartitionMethod(Method):
    """Base class of the methods whose plan is a tree of groups."""

    kinds: ClassVar[Mapping[str, Kind]] = {"criteria": LIST}
    supported_fields = ("unit", "household", "together", "grid")
    engines = ("memory", "duckdb", "spark")

    k: int
    max_disclosure: float | None
    numeric: str
    categorical: str
    criteria: Sequence[Any] | None
    max_bins: int

    @property
    def _styles(self) -> tuple[str, str]:
        """Return what numbers and what categories are released as."""
        return self.numeric, self.categorical

    def joint_columns(self, schema: Schema) -> tuple[str, ...]:
        """Return no columns, because the tree grower needs only counts."""
        return ()

    def _group_bytes(self) -> int:
        """Return the bytes of a group of k records in a tree that no cap prunes."""
        return _GROUP_BYTES

    # Whether means and medians are rounded to a public step.
    rounds: ClassVar[bool] = True
    # Whether columns with a grid become ranges even if other numbers do not.
    ranges_with_grids: ClassVar[bool] = False

    def memory_estimate(self, n_rows: int, n_sensitive: int) -> int:
        """Return the bytes needed for as many groups as k allows; 0 with a cap, which allows far fewer groups."""
        is_k = isinstance(self.k, int) and self.k > 0  # other values of k are refused by `fit`
        small = is_k and self.max_disclosure in (None, 1)
        return n_rows // self.k * (self._group_bytes() + _COLUMN_BYTES * n_sensitive) if small else 0

    def _check(self, table: Table, schema: Schema) -> Persons | None:
        persons = check_people(self.k, table, schema)
        check_columns(table, schema)
        if self.max_disclosure is not None:
            check_share("max_disclosure", self.max_disclosure)
        check_one_of("numeric", self.numeric, NUMERIC)
        check_one_of("categorical", self.categorical, CATEGORICAL)
        check_grid(schema)
        if schema.grid and self.numeric != "range" and not self.ranges_with_grids:
            raise UnsupportedError(f"a grid gives ranges, not each group's {self.numeric}", hint='set numeric="range"')
        check_whole("max_bins", self.max_bins, 2, 65_000)
        self._check_criteria()
        if self.categorical == "hierarchy":
            lacking = [
                n
                for n in schema.quasi
                if n not in schema.hierarchies and table.declared_kind(schema, n) not in ("numeric", "date")
            ]
            if lacking:
                raise ParameterError(f"no hierarchy for {reprs(lacking)}", hint="give hierarchies, or concatenate")
        return persons

    def _columns(self, table: Table, schema: Schema) -> tuple[Quasi, list[Column]]:
        """Return the quasi-identifiers, cut into bins, and the sensitive columns."""
        quasi = Quasi.from_table(table, schema, int(self.max_bins))
        return quasi, [table.declared_column(schema, name) for name in schema.sensitive]

    def _check_criteria(self) -> None:
        for criterion in self.criteria or ():
            if not isinstance(criterion, LDiversity) or criterion.diversity not in ("frequency", "entropy"):
                raise UnsupportedError(
                    "the grower knows k, disclosure, and frequency or entropy l-diversity; audits check other criteria",
                    hint='use LDiversity(l, "frequency") or LDiversity(l, "entropy")',
                )

    def _cap(self) -> ColumnGuarantee | None:
        """Return the cap on disclosure, or None if there is none."""
        d = self.max_disclosure
        return None if d is None or d >= 1 else Disclosure(float(d))

    def _grow(
        self,
        quasi: Quasi,
        sensitive: Sequence[Column],
        persons: Persons | None,
        gain: int,
        min_leaf: int,
        depth: int | None = None,
        pruned: bool = False,
    ) -> Tree:
        """Return the tree of the best admissible splits; `pruned` means that pruning will need its nodes' classes."""
        cap = self._cap()
        limit = 1.0 if cap is None else float(self.max_disclosure or 1.0)
        scored = isinstance(cap, Disclosure)
        responses = Responses.from_columns([c.value_counts for c in sensitive], scored=scored)
        # Pruning reads listed classes off the rows; a cluster's are not here, so it counts all classes.
        listed_from = None if pruned and quasi.table.record_source is not None else COUNTED
        layout = StatisticsLayout.from_responses(
            responses, gain, limit < 1, persons is not None, floored=scored, counted=listed_from
        )
        # A split exactly at the cap must not be lost to rounding: `_merged` decides exactly.
        rules = self._rules(responses, min_leaf, gain, limit * (1 + _ROUNDING * scored), scored)
        grown = grow(quasi.rows(responses, sensitive, persons), responses, layout, rules, depth)
        return full_tree(grown, responses, layout, quasi)

    def _rules(self, responses: Responses, min_leaf: int, gain: int, cap: float, scored: bool) -> Rules:
        """Return the grower's limits: for each response, the strictest of all criteria."""
        classes = responses.categorical
        share, entropy = np.ones(len(responses.classes)), np.zeros(len(responses.classes))
        for criterion in self.criteria or ():
            for j in limited_classes(criterion, responses):
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

    def _merged(self, tree: Tree, sensitive: Sequence[Column], persons: Persons | None) -> Tree:
        """Return the tree with every leaf that breaks a promise merged into its parent, until none does.

        The grower works with 64-bit units and shares of people. This check is exact, like the one on
        the release. A union of groups keeps every promise that its parts keep.
        """
        grown_tree, cap = tree, self._cap()
        promises: list[Guarantee] = [KAnonymity(int(self.k))] if persons is not None else []
        promises += [cap] if cap is not None else []
        while promises:
            classes = classes_of(tree, sensitive, persons)
            good = np.all([promise.holds_in(classes) for promise in promises], axis=0)
            grown = tree.grown
            # Merging into the parent only ever makes groups larger, so this ends at the root.
            parents = grown.parent[np.flatnonzero(grown.column == LEAF)[~good]]
            parents = parents[parents >= 0]
            if not len(parents):
                break
            tree = tree.pruned(np.unique(parents))
        # Both trees, so that `refused` can say what was cut without growing again.
        self._cut = tree, grown_tree
        return tree

    def refused(self, table: Table, schema: Schema) -> list[Refused]:
        """Return, for each released group, the finer groups that the cap refused."""
        tree, uncut = self._cut
        # A tree without responses grows on quasi-identifiers alone: an intruder can grow it as well.
        if not uncut.responses.responses:
            return known_splits(tree, uncut)
        quasi = Quasi.from_table(table, schema, int(self.max_bins))
        return refused_splits(tree, uncut, quasi, int(self.k), getattr(self, "max_depth", None))

    def _promises(self, schema: Schema, sensitive: Sequence[Column]) -> list[Guarantee]:
        """Return the promises for every group; l-diversity without named columns covers all categorical ones."""
        cap, names = self._cap(), tuple(c.name for c in sensitive if not c.is_number)
        promises: list[Guarantee] = [KAnonymity.from_schema(self.k, schema)]
        promises += [cap] if cap is not None and sensitive else []
        for criterion in self.criteria or ():
            by_default = isinstance(criterion, LDiversity) and not criterion.columns
            promises.append(replace(criterion, columns=names) if by_default else criterion)
        return promises

    def _recoded(
        self, column: Column, j: int, quasi: Quasi, groups: LeafGroups, schema: Schema
    ) -> tuple[Recoded, Ints]:
        """Return a released column with its distinct cells, and the index of each group's cell."""
        style, step = self._styles[not column.is_number], 0.0
        if column.is_number and style != "range" and not quasi.cuts[j].public:
            step = public_step(column.value_counts) if self.rounds else 0.0
            grouped = groups.codes(column, True)
            cells, index = rounded(grouped, style, step, groups.people_with_value(grouped) >= self.k)
        elif quasi.cuts[j].public:
            style = "range"
            cells, index = between_points(groups.codes(column, False), *groups.between(j))
        else:
            cells, index = recode(groups.codes(column, style in WHOLE), style, schema.hierarchies.get(column.name))
        kind, unit = column.kind, column.unit
        return Recoded(column.name, "quasi", kind, unit, style, tuple(cells), step), index

    def _plan(
        self,
        table: Table,
        schema: Schema,
        quasi: Quasi,
        grown: Grown,
        promises: Sequence[Guarantee],
        persons: Persons | None,
        group_of_leaf: Ints | None = None,
    ) -> Plan:
        """Return the plan of a partition; `group_of_leaf` gives the group of each leaf if leaves were joined.

        Quasi-identifiers that are not in `quasi` are suppressed. Groups with equal cells are one
        group for a reader, so they are joined and recoded again.
        """
        threshold, subset, subsets = conditions(grown, quasi)
        groups = LeafGroups.from_tree(grown, threshold, group_of_leaf, persons)
        n_leaves = int(np.count_nonzero(grown.column == LEAF))

        def recoded(j: int) -> tuple[Recoded, Vector]:
            column, index = self._recoded(quasi.columns[j], j, quasi, groups, schema)
            of_leaf = index if group_of_leaf is None else index[group_of_leaf]
            return column, Vector("i", of_leaf.astype(np.int32))

        places = range(len(quasi.columns))
        pairs = side_by_side(recoded, places, table.n_rows * len(places))
        hidden = [n for n in schema.quasi if n not in {c.name for c in quasi.columns}]
        for c in (table.declared_column(schema, name) for name in hidden):
            column = Recoded(c.name, "quasi", c.kind, c.unit, "suppress", (Cell(TOP, anything=True),))
            pairs.append((column, Vector("i", np.zeros(n_leaves, np.int32))))
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
        if self._styles[0] != "range" or group_of_leaf is not None:
            current = np.arange(n_leaves) if group_of_leaf is None else group_of_leaf
            distinct = _distinct_groups(recoding)
            if distinct.max() < current.max():
                # Joined groups have other cells, which may read like those of a third group.
                return self._plan(table, schema, quasi, grown, promises, persons, distinct)
        together = [Together(schema.household)] if schema.together and schema.household else []
        return self._planned(table, schema, recoding, [*promises, *together])


def _distinct_groups(recoding: Partition) -> Ints:
    """Return the group of each leaf after merging groups with equal labels, numbered by first leaf."""
    read = []
    for column, cells in zip(recoding.columns, recoding.leaf_cells, strict=True):
        _, labels = distinct_of(cell.label for cell in column.cells)
        read.append(labels[np.asarray(cells)])
    groups = group(read)
    return np.argsort(np.argsort(groups.first))[groups.labels]


def limited_classes(criterion: LDiversity, responses: Responses) -> Iterator[int]:
    """Yield the index of each categorical response that a criterion limits.

    Raises
    ------
    ParameterError
        The criterion names other columns, or there is no categorical response.
    InfeasibleError
        The criterion asks for more than the whole table has.
    """
    names = [r.name for r in responses.categorical]
    if (unknown := [n for n in criterion.columns or () if n not in names]) or not names:
        where = f"of {reprs(unknown)}" if unknown else "of numeric columns only"
        raise ParameterError(
            f"l-diversity is asked {where}, but is for categorical columns", hint="max_disclosure is for numeric ones"
        )
    for j, name in enumerate(names):
        if criterion.columns is None or name in criterion.columns:
            whole = Counts.dense(responses.classes[j].counts[None, :])
            most = float((frequency_l if criterion.diversity == "frequency" else entropy_l)(whole)[0])
            if most < criterion.l - SLACK:
                raise InfeasibleError(
                    f"{criterion.diversity} l-diversity of {criterion.l:g} is asked of {name!r}, but the whole "
                    f"table has only {most:.4g}",
                    hint="ask for a smaller l",
                )
            yield j
