"""From a table and hierarchies to the lattice of its full-domain generalisations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from ..columns.column import Column
from ..columns.table import Table
from ..errors import ParameterError, SchemaError
from ..hierarchy import TOP, Hierarchy
from ..measures import Counts, Groups, Persons, SensitiveCounts, group
from ..measures.guarantees import ColumnGuarantee
from ..measures.persons import Held
from ..notation import quote
from ..plan import ColumnMap, Maps
from ..schema import Schema
from .lattice import Axis, Lattice, Levels, NodeClasses

Ints = NDArray[np.int64]

_MOST_COUNTS = 1 << 26


CountedColumn = tuple[SensitiveCounts, slice]
"""A sensitive column with its counts in the whole table, and where they stand among a class's."""


def accept(
    sensitive: Sequence[CountedColumn], guarantees: Sequence[ColumnGuarantee]
) -> Callable[[Ints, Ints], NDArray[np.bool_]]:
    """The test of classes that `Lattice` asks for: every sensitive column, every guarantee."""

    def test(size: Ints, hist: Ints) -> NDArray[np.bool_]:
        good = np.ones(len(size), dtype=bool)
        if guarantees:
            for column, place in sensitive:
                counts = Counts.dense(hist[:, place], column.counts.totals)
                column = replace(column, counts=counts)
                for guarantee in guarantees:
                    good &= guarantee.kept(column)
        return good

    return test


@dataclass(frozen=True)
class Domain:
    """The coded table: distinct combinations, their counts, labels per level.

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
    units : Held, optional
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
    units: Held | None = None

    def recoding(
        self, node: Levels, lattice: Lattice, classes: NodeClasses, out: NDArray[np.bool_]
    ) -> Maps:
        """The plan's record of releasing one node."""
        maps = []
        for i, (column, level) in enumerate(zip(self.columns, node, strict=True)):
            axis, labels = self.axes[i], self.labels[i][level]
            released = [labels[axis.levels[level][code]] for code in range(column.n_values)]
            top = level == len(axis.levels) - 1
            maps.append(
                ColumnMap(
                    column.name,
                    "quasi",
                    self.kinds[i],
                    categories=tuple(column.values),
                    labels=tuple(released),
                    default=TOP,
                    missing=TOP if top else None,
                )
            )
        keys = lattice.labels(node, classes.row[out])
        hidden = sorted(
            (
                tuple(self.labels[i][node[i]][label] for i, label in enumerate(key))
                for key in keys.tolist()
            ),
            key=lambda key: tuple((label is None, label or "") for label in key),
        )
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
        given, known = hierarchies.get(name), column.values
        if given is None:
            known = list(map(_label, known))
            given = Hierarchy.from_values(
                known, column.counts()[: column.n_values].tolist(), numbers=kind == "numeric"
            )
        given.check(known, name)
        try:
            topped = given.topped()
        except SchemaError as error:
            raise SchemaError(f"column {name!r}: {error.message}", hint=error.hint) from None
        axis, names = _axis(column, known, topped)
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
        None if persons is None else persons.held(groups),
    )


def check_finite(table: Table, name: str, kind: str) -> None:
    """Raise SchemaError when a column does not fit its kind or holds infinities."""
    if kind in ("numeric", "date") and table.column(name, kind=kind).infinite:
        raise SchemaError(f"column {name!r} holds infinite values", hint="repair those rows")


def _by_size(column: Column) -> Column:
    """Categories that are numbers, in the order of their exact values."""
    order = sorted(range(column.n_values), key=lambda i: Decimal(column.values[i]))
    place = np.empty(column.n_values + 1, dtype=column.codes.dtype)
    place[order] = np.arange(column.n_values)
    place[-1] = column.n_values if column.has_missing else 0
    values = [column.values[i] for i in order]
    return replace(column, codes=place[column.codes], values=values)


def _label(value: str) -> str:
    """A value in a built hierarchy: in quotes where it would be taken for a sign of its cells."""
    return quote(value, risky=value in ("", TOP) or value.startswith('"') or ".." in value)


def _axis(
    column: Column, known: Sequence[str], hierarchy: Hierarchy
) -> tuple[Axis, tuple[tuple[str | None, ...], ...]]:
    """A column's levels and their labels; `known` are its values as the hierarchy has them."""
    if not column.n_values:  # missing values only: one class, whatever the level
        return Axis([np.zeros(1, dtype=np.int64)], [np.zeros(1)]), ((None,),)
    levels, shares, names = [], [], []
    leaves = len(hierarchy.paths)
    for level in range(hierarchy.n_levels):
        weight: dict[str, int] = {}
        for path in hierarchy.paths.values():
            weight[path[level]] = weight.get(path[level], 0) + 1
        released: list[str | None] = [hierarchy.paths[v][level] for v in known]
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
        whole = SensitiveCounts.of(group([], table.n_rows), column)
        sensitive.append((whole, slice(start, start + d)))
        start += d
    return np.concatenate(parts, axis=1).astype(np.int64), tuple(sensitive)
