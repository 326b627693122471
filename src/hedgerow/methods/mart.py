"""MART: multivariate anonymization with regression trees (Li & Sarkar 2010, 2014)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

from ..columns.table import Table
from ..measures import Persons
from ..measures.guarantees import LDiversity
from ..plan import Plan
from ..schema import Schema
from ..trees.statistics import SSE
from ..trees.tree import Path, Tree
from ..validation import Kind, check, check_whole, is_number
from .partition import PartitionMethod
from .refusals import Refused

# how 0 and 1 are written as numbers
_FLAGS = ({"0", "1"}, {"0.0", "1.0"})


@dataclass(eq=False, repr=False)
class MART(PartitionMethod):
    """Group people by the tree that an intruder would grow, stopped before its leaves reveal too much.

    Each leaf is a group whose members share the released ranges and categories. Every group has at
    least k records and discloses at most `max_disclosure` of every sensitive column, by any proper
    score (`Disclosure`). Every released cell is true of its row: it covers the row's own value.

    The tree predicts the sensitive columns from the quasi-identifiers. A split is made only when
    both sides keep these promises. With `alpha` the grown tree is pruned instead, by the papers'
    error-digression rule.

    Parameters
    ----------
    k : int, default 10
        Fewest records of a released group, at least 2; people, if the schema has a `unit`.
    max_disclosure : float or None, default 0.5
        In (0, 1]: the largest disclosure of any group and response. None or 1
        switches it off.
    alpha : float or None, default None
        In (0, 1): error-digression pruning at this significance level
        (equations 8 and 9). The papers' MART is
        ``MART(k, max_disclosure=None, alpha=0.05, categorical="concatenate")``.
    min_leaf : int or None, default None
        Fewest records of a leaf while growing; k by default. Smaller leaves
        are pruned by error-digression until every group has k records.
    numeric : {"range", "mean", "median"}, default "range"
        The form in which numbers and dates are released. Means and medians are rounded to a public step, and
        released only if at least k people have a value, as in `Hedge`.
    categorical : {"weighted", "concatenate", "hierarchy", "suppress"}, default "weighted"
        The form in which categories are released: with their counts in the group (``no:7+yes:3``), or as the
        papers have them, without (``no+yes``), which reads as if each were equally frequent.
    criteria : sequence of LDiversity, optional
        Further promises of every group ("frequency" or "entropy" l-diversity).
    max_depth : int, optional
        Deepest leaf; no limit by default.
    max_bins : int, default 1024
        Numeric columns with more distinct values are cut at quantiles.
    schema : Schema, optional
        Kinds, category orders and hierarchies for `fit(X, y)`.

    Attributes
    ----------
    plan_ : Plan
        The recoding; `transform` applies it.
    tree_ : Tree
        The released tree; `tree_.to_table()` has every node's measures.

    Raises
    ------
    ParameterError
        A parameter is out of range, or a column cannot be used.

    References
    ----------
    Li & Sarkar, *Digression and Value Concatenation to Enable
    Privacy-Preserving Regression*, MIS Quarterly 38(3), 2014.

    Examples
    --------
    >>> import hedgerow as hr
    >>> people = hr.datasets.load_mart_example().to_pandas()
    >>> mart = hr.MART(k=4, max_disclosure=None)
    >>> released = mart.fit_transform(people.iloc[:, :3], people[["Income", "Asset"]])
    >>> released["Age"].tolist()[:6]
    ['[27-64]', '[27-64]', '[27-64]', '[27-64]', '[27-64]', '[33-62]']
    """

    k: int = 10
    _: KW_ONLY
    max_disclosure: float | None = 0.5
    alpha: float | None = None
    min_leaf: int | None = None
    numeric: str = "range"
    categorical: str = "weighted"
    criteria: Sequence[LDiversity] | None = None
    max_depth: int | None = None
    max_bins: int = 1024
    schema: Schema | None = None

    def with_kinds(self, table: Table, schema: Schema) -> Schema:
        """Return the schema with quasi-identifiers of 0 and 1 as categories, whose groups tell how many have each."""
        if self.numeric != "range":  # a mean of them tells it as well
            return schema
        declared = (schema.kinds, schema.grid, schema.hierarchies)
        numbers = [n for n in schema.quasi if table.kind(n) == "numeric" and not any(n in each for each in declared)]
        two = [n for n in numbers if table.column(n).n_values == 2]
        # a zero with a sign is another text than one without
        flags = [n for n in two if {str(value) for value in table.entries(n).drop_null().to_pylist()} in _FLAGS]
        return schema.replace(kinds={**schema.kinds, **dict.fromkeys(flags, "categorical")}) if flags else schema

    def _check(self, table: Table, schema: Schema) -> Persons | None:
        persons = super()._check(table, schema)
        if self.alpha is not None:
            check("alpha", self.alpha, Kind("a number between 0 and 1", lambda v: is_number(v) and 0 < v < 1))
        if self.min_leaf is not None:
            check_whole("min_leaf", self.min_leaf, 1, self.k)
        if self.max_depth is not None:
            check_whole("max_depth", self.max_depth, 0)
        return persons

    def _fit(self, table: Table, schema: Schema) -> Plan:
        persons = self._check(table, schema)
        quasi, sensitive = self._columns(table, schema)
        min_leaf = int(self.min_leaf or self.k)
        depth = None if self.max_depth is None else int(self.max_depth)
        tree = self._grow(quasi, sensitive, persons, SSE, min_leaf, depth, self._is_pruned)
        self._full_tree = tree
        if self._is_pruned:
            tree = tree.error_digression_pruned(int(self.k), self.alpha)
        self.tree_: Tree = self._merged(tree, sensitive, persons)
        return self._plan(table, schema, quasi, self.tree_.grown, self._promises(schema, sensitive), persons)

    @property
    def _is_pruned(self) -> bool:
        return self.alpha is not None or int(self.min_leaf or self.k) < self.k

    def refused(self, table: Table, schema: Schema) -> list[Refused]:
        """Return the finer groups that the cap refused; none for a pruned tree, which reveals less about them."""
        return [] if self._is_pruned else super().refused(table, schema)

    def path(self) -> Path:
        """Return the nested subtrees from the grown tree down to its root, each pruned at the smallest q.

        Returns
        -------
        Path
            ``path.to_table()`` lists groups, sizes, error and RSD of each step;
            ``path[step]`` is the subtree.
        """
        self._check_fitted()
        return self._full_tree.path()
