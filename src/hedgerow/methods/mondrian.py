"""Mondrian: strict multidimensional partitioning (LeFevre et al. 2006, 2008)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
import numpy.typing as npt

from ..columns.table import Table
from ..errors import ParameterError
from ..measures import Persons
from ..measures.guarantees import LDiversity
from ..plan import Plan
from ..schema import Schema
from ..trees.extents import LOSS, MEDIAN
from ..trees.grow import grow_by_extents
from ..trees.node_rows import NodeRows
from ..trees.responses import Responses
from ..trees.statistics import ENTROPY, SSE, StatisticsLayout
from ..trees.tree import Tree
from ..validation import check_one_of
from .design import Quasi
from .partition import PartitionMethod, full_tree

OBJECTIVES = ("median", "regression", "information_gain", "loss")
# Measured bytes of a group of k records if groups are cut at medians.
_MEDIAN = 350


@dataclass(eq=False, repr=False)
class Mondrian(PartitionMethod):
    """Cut people into groups of at least k, splitting by one column at a time.

    `objective` decides how a group is split; a group stays whole if no split leaves k records on both
    sides. Disclosure is capped only if you ask for it (`max_disclosure`).

    Parameters
    ----------
    k : int, default 10
        Fewest records of a released group, at least 2; people, if the schema has a `unit`.
    objective : {"median", "regression", "information_gain", "loss"}, default "median"
        "median" cuts the quasi-identifier of widest normalised extent at its
        median; "regression" reduces the squared error of the sensitive columns
        (Regression Mondrian, with binary splits), "information_gain" the
        entropy of the categorical ones (InfoGain Mondrian); "loss" takes the cut
        after which the normalised certainty penalty is smallest.
    max_disclosure : float or None, default None
        In (0, 1]: the largest disclosure of any group and sensitive column, as
        in `MART`. "median" and "loss" do not look at sensitive columns while
        cutting: groups that exceed the cap are joined to their siblings.
    numeric : {"range", "mean", "median"}, default "range"
        The form in which numbers and dates are released. Means and medians are rounded to a public
        step, and released only if at least k people have a value, as in `Hedge`.
    categorical : {"concatenate", "weighted", "hierarchy", "suppress"}, default "concatenate"
        The form in which categories are released: sets as in its papers, to which others compare their
        Mondrian, or with the counts of the group as in `MART`.
    criteria : sequence of LDiversity, optional
        Further promises ("regression" and "information_gain" only).
    max_bins : int, default 1024
        Numeric columns with more distinct values are cut at quantiles.
    schema : Schema, optional
        Kinds, category orders and hierarchies for `fit(X, y)`.

    Attributes
    ----------
    plan_ : Plan
    tree_ : Tree
        The fitted tree; only with "regression" and "information_gain".

    References
    ----------
    LeFevre, DeWitt & Ramakrishnan, *Mondrian Multidimensional K-Anonymity*,
    ICDE 2006; *Workload-Aware Anonymization Techniques for Large-Scale
    Datasets*, ACM TODS 33(3), 2008.

    Examples
    --------
    >>> import hedgerow as hr
    >>> people = hr.datasets.load_mart_example().to_pandas()
    >>> hr.Mondrian(k=4).fit_transform(people[["Age", "YearsEdu"]])["Age"].unique().tolist()
    ['[27-45]', '[46-64]']
    """

    needs_sensitive = False

    k: int = 10
    _: KW_ONLY
    objective: str = "median"
    max_disclosure: float | None = None
    numeric: str = "range"
    categorical: str = "concatenate"
    criteria: Sequence[LDiversity] | None = None
    max_bins: int = 1024
    schema: Schema | None = None

    @property
    def title(self) -> str:
        """Return the class name with the objective, such as "Mondrian (median)"."""
        return f"{type(self).__name__} ({self.objective})"

    def _group_bytes(self) -> int:
        """Return the bytes of a group of k records; medians need fewer, because they need no sums."""
        return _MEDIAN if self.objective == "median" else super()._group_bytes()

    def joint_columns(self, schema: Schema) -> tuple[str, ...]:
        """Return the columns that `fit` reads record by record; none if counts are enough."""
        if self.objective not in ("median", "loss"):
            return ()
        return (*schema.quasi, *(schema.sensitive if self.max_disclosure not in (None, 1) else ()))

    def _check(self, table: Table, schema: Schema) -> Persons | None:
        persons = super()._check(table, schema)
        check_one_of("objective", self.objective, OBJECTIVES)
        looks_at_sensitive = self.objective not in ("median", "loss")
        if not schema.sensitive and (self._cap() or looks_at_sensitive):
            what = "max_disclosure" if self._cap() else f"the objective {self.objective!r}"
            raise ParameterError(f"{what} needs a sensitive column", hint="name what an intruder wants to know")
        if self.criteria and not looks_at_sensitive:
            raise ParameterError(f"{self.objective!r} takes no criteria", hint='use "regression" or "information_gain"')
        return persons

    def _fit(self, table: Table, schema: Schema) -> Plan:
        persons = self._check(table, schema)
        # Ties go by the table's columns, and not by who wrote the schema.
        schema = schema.replace(quasi=[name for name in table.names if name in schema.quasi])
        quasi, sensitive = self._columns(table, schema)
        if self.objective in ("median", "loss"):
            # The cuts look at no sensitive column, so the grower gets no response.
            unasked = Responses.from_columns([], table.n_rows)
            rows = quasi.rows(unasked, persons=persons)
            assert isinstance(rows, NodeRows)
            kind = MEDIAN if self.objective == "median" else LOSS
            grown = grow_by_extents(rows, positions(quasi), domains(quasi), int(self.k), kind, persons is not None)
            tree = full_tree(grown, unasked, StatisticsLayout.from_responses(unasked), quasi)
        elif self.objective == "information_gain" and all(c.is_number for c in sensitive):
            raise ParameterError('"information_gain" needs a categorical sensitive column', hint='use "regression"')
        else:
            gain = ENTROPY if self.objective == "information_gain" else SSE
            tree = self._grow(quasi, sensitive, persons, gain, int(self.k))
        tree = self._merged(tree, sensitive, persons)
        self.__dict__.pop("tree_", None)  # of an earlier fit with another objective
        if tree.responses.responses:
            self.tree_: Tree = tree
        return self._plan(table, schema, quasi, tree.grown, self._promises(schema, sensitive), persons)


def positions(quasi: Quasi) -> npt.NDArray[np.float64]:
    """Return the position of each code in [0, 1] on its column, all columns concatenated; missing is 0."""
    parts = []
    for column, cut in zip(quasi.columns, quasi.cuts, strict=True):
        places = np.zeros(cut.n_bins + 1)
        if column.is_number and cut.n_bins > 1:
            # in units of the largest number, lest a span overflows or vanishes
            unit = -np.frexp(max(abs(cut.lo[0]), abs(cut.hi[-1])))[1]
            middle = np.ldexp(cut.lo, unit) / 2 + np.ldexp(cut.hi, unit) / 2
            places[:-1] = (middle - middle[0]) / (middle[-1] - middle[0])
        elif column.kind == "ordinal" and cut.n_bins > 1:
            places[:-1] = np.arange(cut.n_bins) / (cut.n_bins - 1)
        parts.append(places)
    return np.concatenate(parts)


def domains(quasi: Quasi) -> npt.NDArray[np.float64]:
    """Return each column's number of categories minus 1, at least 1; missing counts as a category."""
    return np.array([max(c.n_values + c.has_missing - 1, 1) for c in quasi.columns], np.float64)
