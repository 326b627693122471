"""Local suppression: k-anonymity by making few cells missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np
import pyarrow as pa

from ..columns.arrays import one_piece
from ..columns.numbers import one_zero
from ..columns.table import Table
from ..errors import InfeasibleError, ParameterError
from ..measures import Bools, Ints, Persons
from ..measures import group as by_codes
from ..measures.guarantees import KAnonymity
from ..schema import Schema
from ..validation import MAPPING, Kind, check_whole, is_number
from .base import check_columns, check_named
from .masking import Masked, MaskedCells, Masking

# Most columns for which every set of columns is tried; with more, only sets of up to three, then
# all.
ALL_SUBSETS = 12


@dataclass(eq=False, repr=False)
class LocalSuppression(Masking):
    """Suppress a few cells, until every record equals at least k - 1 others.

    A missing cell equals only another missing cell, in the original and in the release.
    Records that are too rare lose the cheapest set of cells that makes k of them equal.
    The last few lose every cell, together with as many records of large groups as they need.

    Parameters
    ----------
    k : int
        Smallest group, at least 2 and at most the number of rows.
    importance : mapping of str to float, optional
        What a suppressed cell of a column costs, above 0; 1 for columns not named.
        Important columns lose fewer cells.
    schema : Schema, optional
        Kinds and category orders, if the columns' own types do not show them.

    Attributes
    ----------
    facts_ : dict
        Cells and records suppressed.

    Notes
    -----
    Greedy: few suppressions, not the fewest (that problem is NP-hard).

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": list("ffmm"), "job": ["cook", "cook", "cook", "nurse"]})
    >>> LocalSuppression(k=2).fit_transform(people)["job"].isna().tolist()
    [False, False, True, True]
    """

    kinds: ClassVar[Mapping[str, Kind]] = {"importance": MAPPING}
    supported_fields = ("unit", "household")
    words: ClassVar[str] = "local suppression"
    reported_shares: ClassVar[Mapping[str, str]] = {"share_suppressed": "suppressed"}
    reading: ClassVar[str] = "left_out"
    risk_model = "classes"  # what is left of a record is true
    guardable = True

    k: int = 3
    _: KW_ONLY
    importance: Mapping[str, float] | None = None
    schema: Schema | None = None

    def _mask(self, table: Table, schema: Schema) -> Masked:
        k = check_whole("k", self.k, 2)
        if k > table.n_rows:
            raise InfeasibleError(f"k is {k}, but there are only {table.n_rows} rows")
        persons = Persons.from_schema(table, schema, k)
        check_columns(table, schema, empty=True)
        costs = self._costs(schema)
        coded = [table.declared_column(schema, name) for name in schema.quasi]
        codes = np.array([column.codes for column in coded], np.int64).T
        absent = np.array([column.n_values for column in coded])
        rows = self._rows(table)
        ordered = None if persons is None else persons.subset(rows.order)
        hidden = rows.back(suppress(rows.sorted(codes), absent, k, costs, ordered))
        cells = {}
        for column, out in zip(coded, hidden.T, strict=True):
            original = one_zero(one_piece(table.arrow.column(column.name)))
            released = original.take(pa.array(np.arange(table.n_rows), mask=out))
            masks = {"unchanged": ~out, "suppressed": out}
            cells[column.name] = MaskedCells(released, column.codes < column.n_values, masks)
        facts = {"k": k, "cells_suppressed": int(hidden.sum()), "records_touched": int(hidden.any(axis=1).sum())}
        return Masked(cells, facts, (KAnonymity.from_schema(k, schema),))

    def _costs(self, schema: Schema) -> list[float]:
        costs = dict(self.importance or {})
        check_named("importance", costs, schema)
        wrong = [n for n, w in costs.items() if not is_number(w) or not 0 < w < np.inf]
        if wrong:
            raise ParameterError(f"importance must be above 0: {', '.join(map(repr, wrong))}")
        return [float(costs.get(name, 1.0)) for name in schema.quasi]


def suppress(codes: Ints, absent: Ints, k: int, costs: list[float], persons: Persons | None = None) -> Bools:
    """Return a mask of the cells to suppress so that every row of codes occurs at least k times.

    Parameters
    ----------
    codes : array, shape (n, a)
    absent : array, shape (a,)
        The code that means missing in each column.
    k : int, at most n
    costs : list of float
        Cost of a cell of each column.
    persons : Persons, optional
        Who the rows are about, if k counts people.
    """
    now = codes.copy()
    group, size = _groups(now, persons)
    rare = size[group] < k
    # Cheap sets of columns first: rows that become frequent enough are settled by the least loss.
    for chosen in _by_cost(costs):
        if not rare.any():
            break
        rows = np.flatnonzero(rare)
        trial = now[rows]
        trial[:, chosen] = absent[chosen]
        # Rows that are settled already count if they are missing in the same cells.
        settled = np.flatnonzero(~rare & (now[:, chosen] == absent[chosen]).all(axis=1))
        both = np.concatenate((rows, settled))
        group, size = _groups(np.concatenate((trial, now[settled])), persons and persons.subset(both))
        enough = size[group[: len(rows)]] >= k
        now[rows[enough]] = trial[enough]
        rare[rows[enough]] = False
    if rare.any():
        now[rare] = absent
        _fill_up(now, absent, k, persons)
    return np.asarray(now != codes)


def _fill_up(now: Ints, absent: Ints, k: int, persons: Persons | None) -> None:
    """Suppress whole records of other groups, in place, until at least k records are suppressed whole."""
    if persons is None:  # with persons, a record less may be a person less
        _spare(now, absent, k)
    while True:  # whole groups, the smallest first
        group, size = _groups(now, persons)
        empty = (now == absent).all(axis=1)
        if size[group[empty]].min(initial=k) >= k:  # `initial`: no record may be suppressed whole
            return
        size[group[empty]] = len(now) + 1  # the suppressed records themselves are never the smallest
        now[group == np.argmin(size)] = absent


def _spare(now: Ints, absent: Ints, k: int) -> None:
    """Suppress whole records that large groups can spare, in place, until k are suppressed whole."""
    empty = (now == absent).all(axis=1)
    group, size = _groups(now)
    order = np.argsort(group, kind="stable")
    # The first k records of a group stay, so that it keeps k; those beyond can be spared.
    place = np.empty(len(group), np.int64)
    starts = np.cumsum(size) - size
    place[order] = np.arange(len(group)) - starts[group[order]]
    spare = np.flatnonzero((place >= k) & ~empty)
    spare = spare[np.lexsort((place[spare], group[spare], -size[group[spare]]))]
    need = k - int(empty.sum())
    spared = spare[: max(need, 0)]
    now[spared] = absent


def _groups(codes: Ints, persons: Persons | None = None) -> tuple[Ints, Ints]:
    """Return the group of each row, and the number of records or people in each group."""
    groups = by_codes(list(codes.T))
    size = groups.sizes if persons is None else persons.sizes(groups)
    return groups.labels.astype(np.int64), size.copy()


def _by_cost(costs: list[float]) -> Iterator[list[int]]:
    """Yield sets of columns to suppress, cheapest first; the set of all columns is not among them."""
    largest = len(costs) - 1 if len(costs) <= ALL_SUBSETS else 3
    sets = [list(chosen) for size in range(1, largest + 1) for chosen in combinations(range(len(costs)), size)]
    yield from sorted(sets, key=lambda chosen: (sum(costs[c] for c in chosen), len(chosen), chosen))
