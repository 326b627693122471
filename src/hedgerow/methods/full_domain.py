"""Full-domain generalisation: hierarchies to a lattice, Datafly's greedy walk and Incognito's complete search."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from decimal import Decimal
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..columns.column import Column
from ..columns.table import Table
from ..errors import InfeasibleError, ParameterError, SchemaError
from ..hierarchy import TOP, Hierarchy
from ..measures import Counts, Groups, Persons, SensitiveCounts, group
from ..measures.guarantees import (
    Check,
    ColumnGuarantee,
    Disclosure,
    KAnonymity,
    LDiversity,
    TCloseness,
)
from ..measures.persons import PeopleByClass
from ..notation import quote
from ..plan import ColumnMap, Maps, Plan
from ..schema import Schema
from ..validation import MAPPING, NUMBER, Kind, check_one_of
from .base import Method, check_columns, check_finite, check_named, check_people
from .estimator import renamed
from .lattice import LOSSES, Axis, Lattice, Levels, NodeClasses, Outcome

Ints = NDArray[np.int64]

_MOST_COUNTS = 1 << 26


CountedColumn = tuple[SensitiveCounts, slice]
"""A sensitive column with its counts in the whole table, and its columns of `hist`."""


def accept(
    sensitive: Sequence[CountedColumn], guarantees: Sequence[ColumnGuarantee]
) -> Callable[[Ints, Ints], NDArray[np.bool_]]:
    """Return the test of classes for a `Lattice`: every guarantee holds in every sensitive column."""

    def test(size: Ints, hist: Ints) -> NDArray[np.bool_]:
        good = np.ones(len(size), dtype=bool)
        for column, place in sensitive if guarantees else ():
            counts = Counts.dense(hist[:, place], column.counts.totals)
            column = replace(column, counts=counts)
            for guarantee in guarantees:
                good &= guarantee.holds_for(column)
        return good

    return test


@dataclass(frozen=True)
class Domain:
    """A coded table: distinct combinations, their counts, labels per level.

    Parameters
    ----------
    columns : tuple of Column
        The quasi-identifiers, encoded as categories.
    kinds : tuple of str
        Their kinds in the schema.
    axes : tuple of Axis
    labels : per column and level the labels, in code order; a missing value is None
        until the top level.
    codes, size, hist : arrays
        As in `Lattice`.
    sensitive : tuple of CountedColumn
        What stands where in `hist`.
    units : PeopleByClass, optional
        Whose records each combination holds, where k counts people.
    """

    columns: tuple[Column, ...]
    kinds: tuple[str, ...]
    axes: tuple[Axis, ...]
    labels: tuple[tuple[tuple[str | None, ...], ...], ...]
    codes: NDArray[np.uint32]
    size: Ints
    hist: Ints
    sensitive: tuple[CountedColumn, ...]
    units: PeopleByClass | None = None

    def recoding(
        self, node: Levels, lattice: Lattice, classes: NodeClasses, out: NDArray[np.bool_]
    ) -> Maps:
        """Return the plan's record of releasing one node."""
        maps = []
        for i, (column, level) in enumerate(zip(self.columns, node, strict=True)):
            axis, labels = self.axes[i], self.labels[i][level]
            released = [labels[axis.levels[level][code]] for code in range(column.n_values)]
            missing = TOP if level == len(axis.levels) - 1 else None
            values, cells = tuple(column.values), tuple(released)
            maps.append(
                ColumnMap(
                    column.name, "quasi", self.kinds[i], categories=values, labels=cells, missing=missing
                )
            )
        at_level = [labels[level] for labels, level in zip(self.labels, node, strict=True)]
        keys = lattice.labels(node, classes.row[out]).tolist()
        hidden = [tuple(at[label] for at, label in zip(at_level, key, strict=True)) for key in keys]
        hidden.sort(key=lambda key: tuple((label is None, label or "") for label in key))
        return Maps(tuple(maps), tuple(hidden))


def build(
    table: Table,
    schema: Schema,
    hierarchies: Mapping[str, Hierarchy],
    diverse: bool,
    persons: Persons | None = None,
) -> Domain:
    """Encode the quasi-identifiers with their hierarchies and count the sensitive values.

    Parameters
    ----------
    table, schema
        The table and its roles.
    hierarchies : mapping of str to Hierarchy
        Where none is given one is built from the data.
    diverse : bool
        Whether the sensitive columns are counted.
    persons : Persons, optional
        Who the records are about, where k counts people.

    Raises
    ------
    SchemaError
        A hierarchy lacks values of its column.
    """
    columns, kinds, axes, labels = [], [], [], []
    for name in schema.quasi:
        kind = table.declared_kind(schema, name)
        check_finite(table, name, kind)
        column = table.column(name, kind="categorical", categories=schema.categories.get(name))
        if kind == "numeric":
            column = _by_size(column)
        hierarchy, values = hierarchies.get(name), column.values
        if hierarchy is None:
            values = list(map(_label, values))
            hierarchy = Hierarchy.from_values(
                values, column.counts()[: column.n_values].tolist(), numbers=kind == "numeric"
            )
        hierarchy.check(values, name)
        try:
            topped = hierarchy.topped()
        except SchemaError as error:
            raise SchemaError(f"column {name!r}: {error.message}", hint=error.hint) from None
        axis, names = _axis(column, values, topped)
        columns.append(column)
        kinds.append(kind)
        axes.append(axis)
        labels.append(names)
    for name in schema.sensitive:
        check_finite(table, name, table.declared_kind(schema, name))
    groups = group([c.codes for c in columns], table.n_rows)
    codes = np.stack([c.codes[groups.first].astype(np.uint32) for c in columns], axis=1)
    hist, sensitive = (
        _counts(table, schema, groups)
        if diverse
        else (np.zeros((groups.n_groups, 0), np.int64), ())
    )
    return Domain(
        tuple(columns),
        tuple(kinds),
        tuple(axes),
        tuple(labels),
        np.ascontiguousarray(codes),
        groups.sizes,
        hist,
        sensitive,
        None if persons is None else persons.by_class(groups),
    )


def _by_size(column: Column) -> Column:
    """Return categories that are numbers in the order of their exact values."""
    order = sorted(range(column.n_values), key=lambda i: Decimal(column.values[i]))
    place = np.empty(column.n_values + 1, dtype=column.codes.dtype)
    place[order] = np.arange(column.n_values)
    place[-1] = column.n_values if column.has_missing else 0
    values = [column.values[i] for i in order]
    return replace(column, codes=place[column.codes], values=values)


def _label(value: str) -> str:
    """Return a value in a built hierarchy: in quotes where it reads as a sign of its notation."""
    return quote(value, risky=value in ("", TOP) or value.startswith('"') or ".." in value)


def _axis(
    column: Column, values: Sequence[str], hierarchy: Hierarchy
) -> tuple[Axis, tuple[tuple[str | None, ...], ...]]:
    """Return a column's levels and their labels; `values` are its values as the hierarchy has them."""
    if not column.n_values:  # missing values only: one class, whatever the level
        return Axis([np.zeros(1, dtype=np.int64)], [np.zeros(1)]), ((None,),)
    levels, shares, names = [], [], []
    leaves = len(hierarchy.paths)
    for level in range(hierarchy.n_levels):
        weight: dict[str, int] = {}
        for path in hierarchy.paths.values():
            weight[path[level]] = weight.get(path[level], 0) + 1
        released: list[str | None] = [hierarchy.paths[v][level] for v in values]
        # The part of the domain that a label covers: 0 for one value, 1 for all of them.
        share = [(weight[str(label)] - 1) / max(leaves - 1, 1) for label in released]
        if column.has_missing:
            top = level == hierarchy.n_levels - 1 and hierarchy.n_levels > 1
            released.append(next(iter(weight)) if top else None)
            share.append(1.0 if top else 0.0)
        distinct = list(dict.fromkeys(released))
        place = {label: i for i, label in enumerate(distinct)}
        levels.append(np.array([place[label] for label in released], dtype=np.int64))
        shares.append(np.array(share))
        names.append(tuple(distinct))
    return Axis(levels, shares), tuple(names)


def _counts(table: Table, schema: Schema, groups: Groups) -> tuple[Ints, tuple[CountedColumn, ...]]:
    parts, sensitive, start, n = [], [], 0, groups.n_groups
    for name in schema.sensitive:
        column = table.declared_column(schema, name)
        codes, d = column.codes.astype(np.int64), column.n_values
        d += int(column.has_missing)
        if n * d > _MOST_COUNTS:
            raise ParameterError(
                f"column {name!r} has {d:,} values over {n:,} combinations of quasi-identifiers, "
                "more than can be counted",
                hint="group its values, for example into bins",
            )
        labels = groups.labels.astype(np.int64)
        counts = np.bincount(labels * d + codes, minlength=n * d).reshape(n, d)
        parts.append(counts)
        whole = SensitiveCounts.from_groups(group([], table.n_rows), column)
        sensitive.append((whole, slice(start, start + d)))
        start += d
    return np.concatenate(parts, axis=1).astype(np.int64), tuple(sensitive)


Diversity = Literal["entropy", "distinct", "recursive"]
Search = Literal["minimal", "optimal"]
Objective = Literal["loss", "precision", "height", "discernibility", "average_class"]


class _FullDomain(Method):
    """Base of both methods: search a lattice, and plan its best node as column maps."""

    k: int
    hierarchies: Mapping[str, Hierarchy] | None
    suppression: float
    needs_sensitive = False
    supported_fields = ("unit", "household")
    engines = ("memory", "duckdb", "spark")
    kinds: ClassVar[Mapping[str, Kind]] = {"hierarchies": MAPPING, "suppression": NUMBER}
    hidden_parameters = (*Method.hidden_parameters, "hierarchies")  # the maps say what became of each value

    def _guarantees(self) -> list[ColumnGuarantee]:
        """Return the promises beyond the size of a class."""
        return []

    def joint_columns(self, schema: Schema) -> tuple[str, ...]:
        """Return quasi-identifiers, and sensitive columns where something is promised of them."""
        return (*schema.quasi, *(schema.sensitive if self._guarantees() else ()))

    def _fit(self, table: Table, schema: Schema) -> Plan:
        # ties go by the table's columns, and not by who wrote the schema
        return self._search(
            table, schema.replace(quasi=[name for name in table.names if name in schema.quasi])
        )

    def _search(self, table: Table, schema: Schema) -> Plan:
        """Return the plan of the chosen node."""
        raise NotImplementedError

    def _lattice(self, table: Table, schema: Schema, loss: str) -> tuple[Domain, Lattice]:
        persons = self._check_k(table, schema)
        check_columns(table, schema)
        guarantees = self._guarantees()
        diverse = bool(guarantees)
        if diverse and not schema.sensitive:
            raise ParameterError("l and t are about sensitive columns, and the schema has none")
        check_named("hierarchies", self.hierarchies or (), schema)
        hierarchies = {**schema.hierarchies, **(self.hierarchies or {})}
        domain = build(table, schema, hierarchies, diverse, persons)
        limit = math.floor(self.suppression * table.n_rows + 1e-9)
        # where rows may be suppressed, what is left need not keep its promise higher up
        monotone = not (limit and (diverse or persons))
        combinations = domain.codes, domain.size, domain.hist
        test = accept(domain.sensitive, guarantees)
        lattice = Lattice(
            domain.axes, *combinations, self.k, test, limit, loss, monotone, domain.units
        )
        return domain, lattice

    def _check_k(self, table: Table, schema: Schema) -> Persons | None:
        persons = check_people(self.k, table, schema, 1)
        if not 0 <= self.suppression < 1:
            raise ParameterError(f"suppression must be a share in [0, 1), not {self.suppression!r}")
        return persons

    def _plan(
        self, table: Table, schema: Schema, domain: Domain, lattice: Lattice, best: Outcome | None
    ) -> Plan:
        if best is None:
            raise InfeasibleError(
                "no full-domain generalisation of this table keeps what was asked, not even the "
                "top of every hierarchy",
                hint="lower k, l or raise t, or allow more suppression",
            )
        classes = lattice.classes(best.node)
        out = lattice.suppressed_classes(classes)
        assert out is not None
        self.node_ = dict(zip(schema.quasi, best.node, strict=True))
        self.loss_, self.suppressed_ = best.loss, best.suppressed
        promises = [KAnonymity.from_schema(self.k, schema), *self._guarantees()]
        recoding = domain.recoding(best.node, lattice, classes, out)
        return self._planned(table, schema, recoding, promises)

    def release_checks(self, original: Table, released: Table) -> list[Check]:
        """Check that no more rows are suppressed than was allowed."""
        limit = math.floor(self.suppression * original.n_rows + 1e-9)
        return [Check("suppressed rows", limit, self.suppressed_, self.suppressed_ <= limit)]


@dataclass(eq=False, repr=False)
class Datafly(_FullDomain):
    """Coarsen the column with the most values, again and again, until few rows are too rare.

    All values of a column are raised to the same level of its hierarchy. The rows whose
    combination fewer than k share at the end are released as ``*``.

    Parameters
    ----------
    k : int
        Smallest class of equal quasi-identifiers.
    hierarchies : mapping of str to Hierarchy, optional
        Per quasi-identifier; built from the data where none is given.
    suppression : float
        Largest share of rows that may be released as ``*``, in [0, 1); by default none. As
        published it is k / n.
    schema : Schema, optional
        Kinds, category orders and hierarchies for `fit(X, y)`.

    Attributes
    ----------
    node_ : dict
        Level of each quasi-identifier.
    loss_, suppressed_
        Normalised loss in [0, 1] and the rows suppressed.

    References
    ----------
    L. Sweeney, "Guaranteeing anonymity when sharing medical data, the Datafly system" (1997).

    Examples
    --------
    >>> import pyarrow as pa
    >>> from hedgerow import Schema
    >>> people = pa.table({"zip": ["111", "112", "121", "122"], "ill": ["a", "b", "c", "d"]})
    >>> places = Hierarchy.from_prefixes(["111", "112", "121", "122"])
    >>> method = Datafly(k=2, hierarchies={"zip": places})
    >>> method.fit_table(Table(people), Schema(quasi=["zip"], sensitive=["ill"])).node_
    {'zip': 1}
    """

    k: int = 5
    _: KW_ONLY
    hierarchies: Mapping[str, Hierarchy] | None = None
    suppression: float = 0.0
    schema: Schema | None = None

    def _search(self, table: Table, schema: Schema) -> Plan:
        domain, lattice = self._lattice(table, schema, "loss")
        node = [0] * len(domain.axes)
        best = lattice.outcome(tuple(node))
        while best is None:
            rows = lattice.classes(tuple(node)).row
            labels = lattice.labels(tuple(node), rows)
            distinct = [len(np.unique(labels[:, i])) for i in range(len(node))]
            open_axes = [i for i in range(len(node)) if node[i] + 1 < lattice.heights[i]]
            if not open_axes:
                break
            # The first column of the table among those with the most values left.
            node[max(open_axes, key=lambda i: (distinct[i], -i))] += 1
            best = lattice.outcome(tuple(node))
        return self._plan(table, schema, domain, lattice, best)


@renamed(loss="objective")
@dataclass(eq=False, repr=False)
class Incognito(_FullDomain):
    """Find the levels of the hierarchies that keep every promise and lose the least.

    All values of a column are raised to the same level of its hierarchy. The search looks at every
    combination of levels, and passes over only those that cannot be best.

    Parameters
    ----------
    k : int
        Smallest class of equal quasi-identifiers.
    l : float, optional
        Diversity of every sensitive column in every class: as if an intruder were left with
        at least l values.
    diversity : {"entropy", "distinct", "recursive"}
        Which diversity: entropy of at least log(l); l different values; or
        r_1 < c (r_l + ... + r_d) with falling counts r.
    t : float, optional
        t-closeness: largest earth mover's distance of a class from the table, in [0, 1].
    max_disclosure : float, optional
        Largest disclosure of any class and sensitive column, in (0, 1], as in `MART`.
    hierarchies : mapping of str to Hierarchy, optional
        Per quasi-identifier; built from the data where none is given.
    suppression : float
        Largest share of rows that may be released as ``*`` in every quasi-identifier.
        They form one more class that must keep the criteria.
    search : {"optimal", "minimal"}
        "optimal": the node of least loss among all nodes. "minimal": all nodes without a
        releasable node below them are found first (`minimal_`), the best of them is taken.
    objective : {"loss", "precision", "height", "discernibility", "average_class"}
        What the best node minimises, suppressed rows included: the share of the domain
        that a released cell covers; Sweeney's precision; the sum of levels; squared class
        sizes; mean class size over k.
    c : float
        The constant of recursive diversity.
    schema : Schema, optional
        Kinds, category orders and hierarchies for `fit(X, y)`.

    Attributes
    ----------
    node_ : dict
        Level of each quasi-identifier.
    minimal_ : list of dict
        The minimal nodes with their loss (with ``search="minimal"``).
    loss_, suppressed_
        Loss of the node taken and the rows suppressed.

    References
    ----------
    K. LeFevre, D. DeWitt, R. Ramakrishnan, "Incognito: efficient full-domain
    k-anonymity" (SIGMOD 2005); F. Kohlmayer et al., "Flash" (PASSAT 2012) for halving
    upward chains; A. Machanavajjhala et al. (2007) and N. Li et al. (2007) for the criteria.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from hedgerow import Schema
    >>> people = pa.table({"zip": ["111", "112", "121", "122"], "ill": ["a", "b", "c", "c"]})
    >>> places = Hierarchy.from_prefixes(["111", "112", "121", "122"])
    >>> method = Incognito(k=2, l=2, diversity="distinct", hierarchies={"zip": places})
    >>> method.fit_table(Table(people), Schema(quasi=["zip"], sensitive=["ill"])).node_
    {'zip': 2}
    """

    kinds: ClassVar[Mapping[str, Kind]] = {
        **_FullDomain.kinds,
        "l": NUMBER,
        "t": NUMBER,
        "max_disclosure": NUMBER,
        "c": NUMBER,
    }

    k: int = 5
    _: KW_ONLY
    l: float | None = None
    diversity: Diversity = "entropy"
    t: float | None = None
    max_disclosure: float | None = None
    hierarchies: Mapping[str, Hierarchy] | None = None
    suppression: float = 0.0
    search: Search = "optimal"
    objective: Objective = "loss"
    c: float = 3.0
    schema: Schema | None = None

    @property
    def title(self) -> str:
        """Return its name with its objective."""
        return f"{type(self).__name__} ({self.objective})"

    def _search(self, table: Table, schema: Schema) -> Plan:
        self._check()
        domain, lattice = self._lattice(table, schema, self.objective)
        if self.search == "minimal":
            outcomes = lattice.minimal()
            self.minimal_ = [
                {
                    "node": dict(zip(schema.quasi, o.node, strict=True)),
                    "loss": o.loss,
                    "suppressed": o.suppressed,
                    "classes": o.classes,
                }
                for o in outcomes
            ]
            best = outcomes[0] if outcomes else None
        else:
            best = lattice.optimal()
        return self._plan(table, schema, domain, lattice, best)

    def _guarantees(self) -> list[ColumnGuarantee]:
        guarantees: list[ColumnGuarantee] = []
        if self.l is not None:
            c = self.c if self.diversity == "recursive" else None
            guarantees.append(LDiversity(self.l, self.diversity, c))
        if self.t is not None:
            guarantees.append(TCloseness(self.t))
        if self.max_disclosure is not None and self.max_disclosure < 1:
            guarantees.append(Disclosure(float(self.max_disclosure)))
        return guarantees

    def _check(self) -> None:
        check_one_of("search", self.search, get_args(Search))
        check_one_of("objective", self.objective, LOSSES)
        check_one_of("diversity", self.diversity, get_args(Diversity))
        if self.l is not None and not (math.isfinite(self.l) and self.l >= 1):
            raise ParameterError(f"l must be at least 1, not {self.l!r}")
        if self.l is not None and self.diversity != "entropy" and self.l != int(self.l):
            raise ParameterError(f"l is a whole number for {self.diversity} diversity")
        if self.t is not None and not 0 <= self.t <= 1:
            raise ParameterError(f"t must lie in [0, 1], not {self.t!r}")
        if self.max_disclosure is not None:
            Disclosure(self.max_disclosure)  # says what is out of range
        if not (math.isfinite(self.c) and self.c > 0):
            raise ParameterError(f"c must be above 0, not {self.c!r}")
