"""Local suppression: k-anonymity by making few cells missing, of all columns together or in combinations of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np
import pyarrow as pa

from ..columns.arrays import one_piece
from ..columns.numbers import one_zero
from ..columns.table import Table
from ..errors import InfeasibleError, ParameterError, reprs
from ..measures import Bools, Ints, Persons
from ..measures import group as by_codes
from ..measures.guarantees import KAnonymity, KInCombinations
from ..schema import Schema
from ..validation import MAPPING, NAMES, Kind, check_whole, is_number, many, whole
from .base import check_columns, check_named
from .masking import Masked, MaskedCells, Masking

# Most columns of which every set is tried; further ones are hidden one by one where they are too rare.
ALL_SUBSETS = 12
# sets of columns at most that k is kept in
MOST_SETS = 5_000
# rows times sets of columns at most for which what was hidden in vain is looked for
SHOWN_AGAIN = 20_000_000
# rare records for which the cheapest help is looked for, one after the other, and groups that each looks at
TURNS, NEAREST = 500, 64


@dataclass(eq=False, repr=False)
class LocalSuppression(Masking):
    """Suppress a few cells, until every record equals at least k - 1 others.

    A missing cell equals only another missing cell, in the original and in the release.
    Records that are too rare lose the cheapest set of cells that makes k of them equal. The last
    few lose the cells in which they differ from large groups, which lend as many records as they need.

    Parameters
    ----------
    k : int
        Smallest group, at least 2 and at most the number of rows.
    combinations : int or list of lists of str, optional
        How many quasi-identifiers an intruder may know together: k records share every combination of
        so many columns, whichever they are; or sets of columns, each with this promise. By default all
        together. Fewer cells are suppressed then, and more columns together may single people out.
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
    Greedy: few suppressions, not the fewest (that problem is NP-hard). Every set of cells is tried in the 12 most
    important columns; each further column is hidden where it makes records too rare.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": list("ffmm"), "job": ["cook", "cook", "cook", "nurse"]})
    >>> LocalSuppression(k=2).fit_transform(people)["job"].isna().tolist()
    [False, False, True, True]
    """

    kinds: ClassVar[Mapping[str, Kind]] = {
        "importance": MAPPING,
        "combinations": whole(1) | many(NAMES, "a list of lists of names"),
    }
    supported_fields = ("unit", "household")
    words: ClassVar[str] = "local suppression"
    reported_shares: ClassVar[Mapping[str, str]] = {"share_suppressed": "suppressed"}
    reading: ClassVar[str] = "left_out"
    risk_model = "classes"  # what is left of a record is true
    guardable = True

    k: int = 3
    _: KW_ONLY
    combinations: int | Sequence[Sequence[str]] | None = None
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
        sets = self._sets(schema)
        places = [[schema.quasi.index(name) for name in each] for each in sets]
        hidden = rows.back(suppress(rows.sorted(codes), absent, k, costs, ordered, places))
        cells = {}
        for column, out in zip(coded, hidden.T, strict=True):
            original = one_zero(one_piece(table.arrow.column(column.name)))
            released = original.take(pa.array(np.arange(table.n_rows), mask=out))
            masks = {"unchanged": ~out, "suppressed": out}
            cells[column.name] = MaskedCells(released, column.codes < column.n_values, masks)
        facts = {"k": k, "cells_suppressed": int(hidden.sum()), "records_touched": int(hidden.any(axis=1).sum())}
        promise = (
            KInCombinations(k, sets, schema.person, schema.household) if sets else KAnonymity.from_schema(k, schema)
        )
        return Masked(cells, facts, (promise,))

    def _sets(self, schema: Schema) -> list[list[str]]:
        """Return the sets of columns that k is about; none if it is about all of them together."""
        if self.combinations is None:
            return []
        if not isinstance(self.combinations, Sequence):
            size, n = int(self.combinations), len(schema.quasi)
            if math.comb(n, size) > MOST_SETS:
                raise ParameterError(
                    f"{n} columns have {math.comb(n, size):,} combinations of {size}, more than {MOST_SETS:,}",
                    hint='name what an intruder knows: combinations=[["age", "sex"], ...] (--combinations age+sex)',
                )
            return [list(each) for each in combinations(schema.quasi, size)] if size < n else []
        sets = [[name for name in schema.quasi if name in each] for each in self.combinations]
        if (foreign := {name for each in self.combinations for name in each} - {*schema.quasi}) or not all(sets):
            others = f"combinations name columns that are no quasi-identifiers: {reprs(sorted(foreign))}"
            fault = others if foreign else "a combination is empty"
            raise ParameterError(fault, hint="each is a set of quasi-identifiers, such as age+sex")
        return sets

    def _costs(self, schema: Schema) -> list[float]:
        costs = dict(self.importance or {})
        check_named("importance", costs, schema)
        if wrong := [n for n, w in costs.items() if not is_number(w) or not 0 < w < np.inf]:
            raise ParameterError(f"importance must be above 0: {reprs(wrong)}")
        return [float(costs.get(name, 1.0)) for name in schema.quasi]


def suppress(
    codes: Ints,
    absent: Ints,
    k: int,
    costs: Sequence[float],
    persons: Persons | None = None,
    sets: Sequence[Sequence[int]] = (),
) -> Bools:
    """Return a mask of the cells to suppress so that every row of codes occurs at least k times.

    Parameters
    ----------
    codes : array, shape (n, a)
    absent : array, shape (a,)
        The code that means missing in each column.
    k : int, at most n
    costs : sequence of float
        Cost of a cell of each column.
    persons : Persons, optional
        Who the rows are about, if k counts people.
    sets : sequence of sequences of int
        Columns whose codes together have to occur k times; by default all columns.
    """
    every = sorted({c for each in sets for c in each}) or list(range(codes.shape[1]))
    whole, now, is_done = _in_columns(codes, absent, k, costs, persons, every), codes, not sets
    while not is_done:  # what is hidden for one set may leave too few in another
        before = now
        for columns in sets:
            now = _in_columns(now, absent, k, costs, persons, columns)
        is_done = bool((now == before).all())
    weights = np.array(costs)
    # what holds of all columns together holds of each set, and often costs less
    if not sets or ((whole != codes) @ weights).sum() < ((now != codes) @ weights).sum():
        now = whole
    if sets and persons is None and len(now) * len(sets) <= SHOWN_AGAIN:
        _show_again(now, codes, k, sets)
    return np.asarray(now != codes)


def _in_columns(
    codes: Ints, absent: Ints, k: int, costs: Sequence[float], persons: Persons | None, columns: Sequence[int]
) -> Ints:
    """Return codes of which some are missing, so that every row of these columns occurs at least k times."""
    now, some = codes.copy(), list(columns)
    now[:, some] = _settled(codes[:, some], absent[some], k, [costs[c] for c in some], persons)
    return now


def _show_again(now: Ints, codes: Ints, k: int, sets: Sequence[Sequence[int]]) -> None:
    """Show hidden codes again, in place, that no set of columns needs: of equal rows together, else of one row."""
    counts = [Counter(map(tuple, now[:, each].tolist())) for each in sets]

    def is_shown(rows: Ints, column: int) -> bool:
        trial, moves = now[rows], list[tuple[int, Counter[tuple[int, ...]]]]()
        trial[:, column] = codes[rows, column]
        for i, columns in enumerate(sets):
            if column in columns:
                more = Counter(map(tuple, trial[:, columns].tolist()))
                more.subtract(map(tuple, now[rows][:, np.array(columns)].tolist()))
                if any(0 < counts[i][key] + n < k for key, n in more.items()):
                    return False
                moves.append((i, more))
        for i, more in moves:
            counts[i].update(more)
        now[rows, column] = codes[rows, column]
        return True

    for column in range(codes.shape[1]):
        hidden = np.flatnonzero(now[:, column] != codes[:, column])
        rows, first = by_codes(list(now[hidden].T), len(hidden)).in_order()
        for together in np.split(hidden[rows], first[1:]):
            if not is_shown(together, column):
                for row in together:
                    is_shown(np.array([row]), column)


def _settled(codes: Ints, absent: Ints, k: int, costs: Sequence[float], persons: Persons | None) -> Ints:
    """Return codes of which some are missing, so that every row occurs at least k times.

    The `ALL_SUBSETS` most important columns come first, and every set of them may be hidden. Then one column more at
    a time is hidden where too few have its value: at worst it is lost, and what was there before is not.
    """
    order = sorted(range(len(costs)), key=lambda c: -costs[c])
    first, now = sorted(order[:ALL_SUBSETS]), codes.copy()
    now[:, first] = _with_hidden(now[:, first], absent[first], k, [costs[c] for c in first], persons)
    for n in range(ALL_SUBSETS, len(order)):
        columns, last = order[: n + 1], np.arange(n + 1) == n
        part = now[:, columns]
        rare = _settle(part, _rare(part, k, persons), last, absent[columns], k, persons)
        _borrow(part, rare, last, absent[columns], k, persons)
        now[:, columns] = part
    return now


def _with_hidden(codes: Ints, absent: Ints, k: int, costs: Sequence[float], persons: Persons | None) -> Ints:
    """Return codes of which some are missing, so that every row occurs at least k times; every set may be hidden."""
    now, every = codes.copy(), np.ones(len(costs), np.bool_)
    rare = _rare(now, k, persons)
    # Cheap sets of columns first: rows that become frequent enough are settled by the least loss.
    for chosen in _by_cost(costs):
        if not rare.any():
            return now
        rare = _settle(now, rare, chosen, absent, k, persons)
    if persons is not None and rare.any():
        now[rare] = absent
        _fill_up(now, absent, k, persons)
        return now
    for turn in range(TURNS + 1):
        if not rare.any():
            break
        chosen = every if turn == TURNS else _cheapest(now, rare, absent, k, costs)
        rare = _borrow(now, rare, chosen, absent, k, None)
    return now


def _rare(codes: Ints, k: int, persons: Persons | None) -> Bools:
    """Return a mask of the rows that occur fewer than k times."""
    group, size = _groups(codes, persons)
    return np.asarray(size[group] < k)


def _settle(now: Ints, rare: Bools, chosen: Bools, absent: Ints, k: int, persons: Persons | None) -> Bools:
    """Hide chosen columns of rare rows, in place, where that makes k of them equal; return the rows still rare."""
    rows = np.flatnonzero(rare)
    trial = np.where(chosen, absent, now[rows])
    # Rows that are settled already count if they are missing in the same cells.
    settled = np.flatnonzero(~rare & (~chosen | (now == absent)).all(axis=1))
    both = np.concatenate((rows, settled))
    if len(both) < k:
        return rare
    group, size = _groups(np.concatenate((trial, now[settled])), persons and persons.subset(both))
    enough = size[group[: len(rows)]] >= k
    now[rows[enough]] = trial[enough]
    return rare & ~np.isin(np.arange(len(now)), rows[enough])


def _borrow(now: Ints, rare: Bools, chosen: Bools, absent: Ints, k: int, persons: Persons | None) -> Bools:
    """Hide chosen columns of rare rows, in place, and of as many others as these need; return the rows still rare.

    The others equal them in all other columns, and their groups can spare them: the first k records of a group stay.
    Where these are too few, the smallest group goes as a whole; if k counts people, of whom a record less may be one
    less, all groups do.
    """
    if not rare.any():
        return rare
    label, _ = _groups(np.where(chosen, absent, now))
    has_rare = np.bincount(label[rare], minlength=len(label)) > 0
    if persons is not None:
        now[has_rare[label]] = np.where(chosen, absent, now[has_rare[label]])
        return np.zeros_like(rare)
    group, size = _groups(now)
    is_hidden = rare | (~chosen | (now == absent)).all(axis=1)
    need = np.where(has_rare, k - np.bincount(label[is_hidden], minlength=len(label)), 0)
    others = np.flatnonzero(~is_hidden & (need[label] > 0))
    spare = others[_places(group)[others] >= k]
    spare = spare[np.lexsort((group[spare], -size[group[spare]], label[spare]))]
    lacks = need > np.bincount(label[spare], minlength=len(label))
    spare = spare[(_places(label[spare]) < need[label[spare]]) & ~lacks[label[spare]]]
    others = others[lacks[label[others]]]
    others = others[np.lexsort((group[others], size[group[others]], label[others]))]
    _, first = np.unique(label[others], return_index=True)
    helped = np.isin(label, label[np.concatenate((spare, others[first]))]) | (need[label] <= 0)
    hidden = rare & helped
    hidden[spare] = True
    hidden |= np.isin(group, group[others[first]])
    now[hidden] = np.where(chosen, absent, now[hidden])
    return rare & ~helped


def _places(group: Ints) -> Ints:
    """Return the place of each row among those of its group, from 0."""
    order = np.argsort(group, kind="stable")
    place = np.empty(len(group), np.int64)
    _, start, count = np.unique(group[order], return_index=True, return_counts=True)
    place[order] = np.arange(len(group)) - np.repeat(start, count)
    return place


def _cheapest(now: Ints, rare: Bools, absent: Ints, k: int, costs: Sequence[float]) -> Bools:
    """Return the columns to hide in the first rare row, and in what helps it, at the least cost for each rare row."""
    row, every = now[rare][0], np.ones(len(costs), np.bool_)
    groups = by_codes(list(now[~rare].T), int((~rare).sum()))
    keys, sizes = now[~rare][groups.first], groups.sizes
    differs = keys != row
    nearest = np.argsort(differs @ np.array(costs), kind="stable")[:NEAREST]
    best, least = every, np.inf
    for chosen in (*np.unique(differs[nearest], axis=0), every):
        helps = (~differs | chosen).all(axis=1)
        is_hidden = helps & (~chosen | (keys == absent)).all(axis=1)
        n_equal = int(((now[rare] == row) | chosen).all(axis=1).sum())
        need = max(0, k - n_equal - int(sizes[is_hidden].sum()))
        visible = sizes[helps & ~is_hidden]
        if need > (visible - k).sum():
            need = int(visible.min(initial=len(now)))
        price = float(np.array(costs)[chosen].sum()) * (n_equal + need) / n_equal
        if price < least:
            best, least = chosen, price
    return best


def _fill_up(now: Ints, absent: Ints, k: int, persons: Persons) -> None:
    """Suppress whole groups, in place, the smallest first, until k people are in records that are suppressed whole."""
    while True:
        group, size = _groups(now, persons)
        empty = (now == absent).all(axis=1)
        if size[group[empty]].min(initial=k) >= k:  # `initial`: no record may be suppressed whole
            return
        size[group[empty]] = len(now) + 1  # the suppressed records themselves are never the smallest
        now[group == np.argmin(size)] = absent


def _groups(codes: Ints, persons: Persons | None = None) -> tuple[Ints, Ints]:
    """Return the group of each row, and the number of records or people in each group."""
    groups = by_codes(list(codes.T))
    size = groups.sizes if persons is None else persons.sizes(groups)
    return groups.labels.astype(np.int64), size.copy()


def _by_cost(costs: Sequence[float]) -> Iterator[Bools]:
    """Yield sets of columns to suppress as masks, cheapest first; the set of all columns is not among them."""
    sets = [list(chosen) for size in range(1, len(costs)) for chosen in combinations(range(len(costs)), size)]
    for chosen in sorted(sets, key=lambda chosen: (sum(costs[c] for c in chosen), len(chosen), chosen)):
        yield np.isin(np.arange(len(costs)), chosen)
