"""Full-domain generalisation: Datafly's greedy walk and Incognito's complete search of a lattice."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from decimal import Decimal
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from ..columns.arrays import distinct_of
from ..columns.column import Column, ordered
from ..columns.table import Table
from ..errors import InfeasibleError, ParameterError, SchemaError
from ..hierarchy import TOP, Hierarchy, looks_like_codes
from ..measures import Bools, Counts, Groups, Ints, Persons, SensitiveCounts, group
from ..measures.guarantees import Check, ColumnGuarantee, Disclosure, KAnonymity, LDiversity, TCloseness
from ..notation import between, quote
from ..plan import ColumnMap, Maps, Plan
from ..schema import Schema
from ..validation import NUMBER, Kind, check_one_of
from .base import Method, check_columns, check_grid, check_people
from .design import grid_of
from .lattice import Accept, Axis, Lattice, Outcome

# Most cells of a column's table of counts, eight bytes each.
_MOST_COUNTS = 1 << 26

# A sensitive column with its counts in the whole table, and its columns of `hist`.
CountedColumn = tuple[SensitiveCounts, slice]


def accept(sensitive: Sequence[CountedColumn], guarantees: Sequence[ColumnGuarantee]) -> Accept:
    """Return a test for `Lattice` that accepts a class if it keeps every guarantee in every sensitive column."""

    def test(size: Ints, hist: Ints) -> Bools:
        good = np.ones(len(size), dtype=bool)
        for column, place in sensitive if guarantees else ():
            # With the totals of the table, which t-closeness and disclosure compare classes to.
            column = replace(column, counts=Counts.dense(hist[:, place], column.counts.totals))
            for guarantee in guarantees:
                good &= guarantee.holds_for(column)
        return good

    return test


def build(
    table: Table,
    schema: Schema,
    k: int,
    guarantees: Sequence[ColumnGuarantee] = (),
    *,
    limit: int = 0,
    persons: Persons | None = None,
) -> Lattice:
    """Build the lattice of a table from its quasi-identifiers, their hierarchies and its counts.

    Parameters
    ----------
    table, schema
        The table, its roles and hierarchies; where the schema has none, one is built from the data.
    k, limit
        See `Lattice`.
    guarantees : sequence of ColumnGuarantee
        Promises beyond k; sensitive columns are counted only if there are such promises.
    persons : Persons, optional
        Who the records are about, if k counts people.

    Raises
    ------
    SchemaError
        A hierarchy lacks values of its column.
    """
    columns, axes = [], []
    for name in schema.quasi:
        column = table.column(name, kind="categorical", categories=schema.categories.get(name))
        if table.declared_kind(schema, name) == "numeric":  # texts of numbers, sorted by their exact values
            column = ordered(column, "categorical", sorted(column.values, key=Decimal))
        hierarchy, values = schema.hierarchies.get(name), column.values
        if hierarchy is None:
            hierarchy = _natural(table, schema, column)
            values = list(hierarchy.paths)
        hierarchy.check(values, name, column.counts()[: column.n_values].tolist())
        try:
            topped = hierarchy.topped()
        except SchemaError as error:
            raise SchemaError(f"column {name!r}: {error.message}", hint=error.hint) from None
        columns.append(column)
        axes.append(_axis(column, values, topped))
    groups = group([c.codes for c in columns], table.n_rows)
    codes = np.stack([c.codes[groups.first].astype(np.uint32) for c in columns], axis=1)
    hist, sensitive = _counts(table, schema, schema.sensitive if guarantees else (), groups)
    # Where rows may be suppressed, what is left need not keep its promise higher up.
    monotone = not (limit and (guarantees or persons))
    units = None if persons is None else persons.by_class(groups)
    return Lattice(axes, codes, groups.sizes, hist, k, accept(sensitive, guarantees), limit, monotone, units)


def _natural(table: Table, schema: Schema, column: Column) -> Hierarchy:
    """Build the hierarchy of a column that has none, whose paths are in the order of the column's values.

    Its grid is one; else dates are told by day, month, year and decade, and codes of one length by their beginnings:
    limits that are nobody's value. Only other numbers and categories end on values of people.
    """
    name, values = column.name, column.values
    kind, points = table.declared_kind(schema, name), schema.grid.get(name)
    if points is not None:
        return _of_grid(values, table.declared_column(schema, name), points)
    if kind == "date":
        has_times = any(value[10:] not in ("", "T00:00:00") for value in values)
        return Hierarchy.from_dates(values, ("day",) * has_times + ("month", "year", "decade"))
    # whole numbers may be codes, and decimals are none
    is_decimal = table.kind(name) == "numeric" and any("." in value for value in values)
    if kind == "categorical" and name not in schema.categories and not is_decimal and looks_like_codes(values):
        return Hierarchy.from_prefixes(values)
    counts = column.counts()[: column.n_values].tolist()
    return Hierarchy.from_values(list(map(_label, values)), counts, numbers=kind == "numeric")


def _of_grid(texts: Sequence[str], column: Column, points: Sequence[Any]) -> Hierarchy:
    """Build a hierarchy of numbers or dates in ascending order: ranges between public points, then two of them joined.

    Raises
    ------
    SchemaError
        The points do not fit the column's kind.
    """
    cuts = [None, *np.asarray(grid_of(column, points)).tolist(), None]
    slots = np.searchsorted(cuts[1:-1], column.values, side="right")
    paths = {text: [text] for text in texts}
    for width in (1 << level for level in range((len(cuts) - 2).bit_length())):
        for path, slot in zip(paths.values(), (slots // width * width).tolist(), strict=True):
            path.append(between(cuts[slot], cuts[min(slot + width, len(cuts) - 1)], column.unit))
    return Hierarchy({text: (*path, TOP) for text, path in paths.items()})


def _label(value: str) -> str:
    """Return a value as built hierarchies write it: quoted if it could be mistaken for a special label."""
    return quote(value, risky=value in ("", TOP) or value.startswith('"') or ".." in value)


def _axis(column: Column, values: Sequence[str], hierarchy: Hierarchy) -> Axis:
    """Return the Axis of a column, with the labels of every level; `values` are spelled as in the hierarchy."""
    levels, shares, names = [], [], []
    leaves = len(hierarchy.paths)
    for level in range(hierarchy.n_levels):
        weight = Counter(path[level] for path in hierarchy.paths.values())
        released: list[str | None] = [hierarchy.paths[v][level] for v in values]
        # The part of the domain that a label covers: 0 for one value, 1 for all of them.
        share = [(weight[str(label)] - 1) / max(leaves - 1, 1) for label in released]
        if column.has_missing:  # no leaf of the hierarchy: missing until the top covers everything
            top = level == hierarchy.n_levels - 1 and hierarchy.n_levels > 1
            released.append(next(iter(weight)) if top else None)
            share.append(1.0 if top else 0.0)
        labels, places = distinct_of(released)
        levels.append(places)
        shares.append(np.array(share))
        names.append(tuple(labels))
    return Axis(levels, shares, names, column.values)


def _counts(table: Table, schema: Schema, names: Sequence[str], groups: Groups) -> tuple[Ints, list[CountedColumn]]:
    """Return the counts of sensitive values by group, and each sensitive column with its slice of them."""
    sensitive, start, n = [], 0, groups.n_groups
    parts = [np.zeros((n, 0), np.int64)]
    for name in names:
        column = table.declared_column(schema, name)
        d = column.n_values + int(column.has_missing)
        if n * d > _MOST_COUNTS:
            raise ParameterError(
                f"column {name!r} has {d:,} values over {n:,} combinations of quasi-identifiers, too many to count",
                hint="group its values, for example into bins",
            )
        parts.append(np.bincount(groups.labels.astype(np.int64) * d + column.codes, minlength=n * d).reshape(n, d))
        sensitive.append((SensitiveCounts.from_groups(group([], table.n_rows), column), slice(start, start + d)))
        start += d
    return np.concatenate(parts, axis=1), sensitive


Diversity = Literal["entropy", "distinct", "recursive"]


class _FullDomain(Method):
    """Base class of Datafly and Incognito: both search a lattice and plan its best node as column maps."""

    k: int
    suppression: float
    needs_sensitive = False
    supported_fields = ("unit", "household", "grid")
    engines = ("memory", "duckdb", "spark")
    kinds: ClassVar[Mapping[str, Kind]] = {"suppression": NUMBER}

    def _guarantees(self) -> list[ColumnGuarantee]:
        """Return the promises that a class must keep besides its size; none by default."""
        return []

    def _search(self, lattice: Lattice) -> Outcome | None:
        """Return the chosen node of the lattice, or None if no node can be released."""
        raise NotImplementedError

    def joint_columns(self, schema: Schema) -> tuple[str, ...]:
        """Return the quasi-identifiers, and the sensitive columns if any promise is about them."""
        return (*schema.quasi, *(schema.sensitive if self._guarantees() else ()))

    def _fit(self, table: Table, schema: Schema) -> Plan:
        # Ties go by the table's columns, and not by who wrote the schema.
        schema = schema.replace(quasi=[name for name in table.names if name in schema.quasi])
        persons = check_people(self.k, table, schema, 1)
        if not 0 <= self.suppression < 1:
            raise ParameterError(f"suppression must be a share in [0, 1), not {self.suppression!r}")
        check_columns(table, schema)
        check_grid(schema)
        guarantees = self._guarantees()
        if guarantees and not schema.sensitive:
            raise ParameterError("l and t are about sensitive columns, and the schema has none")
        lattice = build(table, schema, self.k, guarantees, limit=self._limit(table), persons=persons)
        if (best := self._search(lattice)) is None:
            raise InfeasibleError(
                "no full-domain generalisation of this table keeps what was asked, not even the top of every hierarchy",
                hint="lower k, l or raise t, or allow more suppression",
            )
        self.node_ = dict(zip(schema.quasi, best.node, strict=True))
        self.loss_, self.suppressed_ = best.loss, best.suppressed
        promises = [KAnonymity.from_schema(self.k, schema), *guarantees]
        return self._planned(table, schema, self._maps(table, schema, lattice), promises)

    def _maps(self, table: Table, schema: Schema, lattice: Lattice) -> Maps:
        """Return the column maps of the chosen node, including the labels of its suppressed classes."""
        node = tuple(self.node_.values())
        maps, at_level = [], []
        for name, axis, level in zip(schema.quasi, lattice.axes, node, strict=True):
            labels, values = axis.labels[level], tuple(axis.values)
            released = tuple(labels[axis.levels[level][code]] for code in range(len(values)))
            missing = TOP if level == len(axis.levels) - 1 else None
            kind = table.declared_kind(schema, name)
            maps.append(ColumnMap(name, "quasi", kind, categories=values, labels=released, missing=missing))
            at_level.append(labels)
        classes = lattice.classes(node)
        out = lattice.suppressed_classes(classes)
        keys = zip(at_level, lattice.labels(node, classes.row[out]), strict=True)
        hidden = zip(*([at[label] for label in column] for at, column in keys), strict=True)
        in_order = sorted(hidden, key=lambda key: [(label is None, label or "") for label in key])
        return Maps(tuple(maps), tuple(in_order))

    def _limit(self, table: Table) -> int:
        """Return the largest number of rows that may be suppressed."""
        # 0.29 * 100 is a little less than 29 in doubles: rounding must not cost a row.
        return math.floor(self.suppression * table.n_rows + 1e-9)

    def release_checks(self, original: Table, released: Table) -> list[Check]:
        """Check that no more rows are suppressed than allowed."""
        limit = self._limit(original)
        return [Check("suppressed rows", limit, self.suppressed_, self.suppressed_ <= limit)]


@dataclass(eq=False, repr=False)
class Datafly(_FullDomain):
    """Coarsen the column with the most values, step by step, until few enough rows are too rare.

    All values of a column are raised to the same level of its hierarchy. The rows whose
    combination fewer than k share at the end are released as ``*``.

    Parameters
    ----------
    k : int
        Smallest class of equal quasi-identifiers.
    suppression : float
        Largest share of rows that may be released as ``*``, in [0, 1); by default none. As
        published it is k / n.
    schema : Schema, optional
        Kinds, category orders and hierarchies for `fit(X, y)`; hierarchies that it lacks are built from the data.

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
    >>> schema = Schema(quasi=["zip"], sensitive=["ill"], hierarchies={"zip": places})
    >>> Datafly(k=2).fit_table(Table(people), schema).node_
    {'zip': 1}
    """

    k: int = 5
    _: KW_ONLY
    suppression: float = 0.0
    schema: Schema | None = None

    def _search(self, lattice: Lattice) -> Outcome | None:
        node = [0] * len(lattice.axes)
        best = lattice.outcome(tuple(node))
        while best is None:
            rows = lattice.classes(tuple(node)).row
            distinct = [len(np.unique(column)) for column in lattice.labels(tuple(node), rows)]
            if not (open_axes := [i for i in range(len(node)) if node[i] + 1 < lattice.heights[i]]):
                break
            # The first column of the table among those with the most values left.
            node[max(open_axes, key=lambda i: (distinct[i], -i))] += 1
            best = lattice.outcome(tuple(node))
        return best


@dataclass(eq=False, repr=False)
class Incognito(_FullDomain):
    """Find the hierarchy levels that keep every promise at the least loss.

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
        The definition of diversity: entropy of at least log(l); l different values; or
        r_1 < c (r_l + ... + r_d) with the value counts r in descending order.
    t : float, optional
        t-closeness: largest earth mover's distance of a class from the table, in [0, 1].
    max_disclosure : float, optional
        Largest disclosure of any class and sensitive column, in (0, 1], as in `MART`.
    suppression : float
        Largest share of rows that may be released as ``*`` in every quasi-identifier.
        They form one more class that must keep the criteria.
    c : float
        The constant of recursive diversity.
    schema : Schema, optional
        Kinds, category orders and hierarchies for `fit(X, y)`; hierarchies that it lacks are built from the data.

    Attributes
    ----------
    node_ : dict
        Level of each quasi-identifier.
    loss_, suppressed_
        The share of the domain that a released cell covers, and the number of suppressed rows.

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
    >>> schema = Schema(quasi=["zip"], sensitive=["ill"], hierarchies={"zip": places})
    >>> Incognito(k=2, l=2, diversity="distinct").fit_table(Table(people), schema).node_
    {'zip': 2}
    """

    kinds: ClassVar[Mapping[str, Kind]] = {
        **_FullDomain.kinds,
        **dict.fromkeys(("l", "t", "max_disclosure", "c"), NUMBER),
    }

    k: int = 5
    _: KW_ONLY
    l: float | None = None
    diversity: Diversity = "entropy"
    t: float | None = None
    max_disclosure: float | None = None
    suppression: float = 0.0
    c: float = 3.0
    schema: Schema | None = None

    def _search(self, lattice: Lattice) -> Outcome | None:
        return lattice.optimal()

    def _guarantees(self) -> list[ColumnGuarantee]:
        guarantees: list[ColumnGuarantee] = []
        if self.l is not None:
            guarantees.append(LDiversity(self.l, self.diversity, self.c if self.diversity == "recursive" else None))
        if self.t is not None:
            guarantees.append(TCloseness(self.t))
        if self.max_disclosure is not None:
            guarantees += [Disclosure(float(self.max_disclosure))] if self.max_disclosure < 1 else []
        return guarantees

    def _fit(self, table: Table, schema: Schema) -> Plan:
        check_one_of("diversity", self.diversity, get_args(Diversity))
        if self.l is not None and not (math.isfinite(self.l) and self.l >= 1):
            raise ParameterError(f"l must be at least 1, not {self.l!r}")
        if self.l is not None and self.diversity != "entropy" and self.l != int(self.l):
            raise ParameterError(f"l is a whole number for {self.diversity} diversity")
        if not (math.isfinite(self.c) and self.c > 0):
            raise ParameterError(f"c must be above 0, not {self.c!r}")
        return super()._fit(table, schema)
