"""Measure the disclosure of every single record by its group; the result is only for the data steward."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..columns.column import Column
from ..columns.table import Table
from ..display import cell
from ..errors import ParameterError
from ..io.write import write_table
from ..measures import Classes, Floats, Groups, Ints, group
from ..measures.class_counts import Counts
from ..notation import moment, number, plain
from ..texts import refusal
from ..validation import PATH, takes
from .attacks.special_uniques import SpecialUniques
from .class_risk import Population, household_risks
from .design_matrix import shown_values
from .released_values import ReleasedColumn
from .success import AttackTarget
from .table_pair import Pair, evenly


@dataclass(frozen=True, eq=False, repr=False)
class PerPerson:
    """The disclosure of each released record by its group, highest first. Private.

    Parameters
    ----------
    table : pyarrow.Table
        One row per released record. ``row``: its row in the original, from 0; the key or unit
        column, if there is one; ``records`` and ``people``: the size of its group; ``prosecutor`` and, if
        measured, ``journalist``: the risk that it is re-identified, with ``population``, the number of
        people in the population who belong to its group; ``household risk``: the risk that anybody in its
        household is re-identified; ``suda``: its score of special uniques, if requested;
        ``disclosure``: the largest over its sensitive columns. For each sensitive column: ``NAME
        disclosure`` (0: the group reveals nothing, 1: everything), ``NAME by`` (the score that gives the
        largest disclosure), ``NAME values`` (distinct values in the group) and ``NAME named`` (the share
        of the group's released values that match the record's own: a number within 10%, a date within
        30 days, a category exactly).
    """

    table: pa.Table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __repr__(self) -> str:  # no person's value
        return f"PerPerson({len(self):,} records)"

    @takes(path=PATH)
    def save(self, path: str | Path) -> None:
        """Write all records to a file that only its owner can read: CSV, Parquet, Arrow ..."""
        write_table(self.table, path)


def per_person(
    pair: Pair, journalist: Population | None = None, key: str | None = None, special: SpecialUniques | None = None
) -> PerPerson:
    """Measure what the groups of a paired release reveal about each record.

    Parameters
    ----------
    pair : Pair
    journalist : Population, optional
        The people of the population behind each class, and the journalist's risk.
    key : str, optional
        A column of the original that identifies records.
    special : SpecialUniques, optional
        The special uniques of the release.

    Raises
    ------
    ParameterError
        Values were altered, so groups of equal cells say nothing about the people in them.
    """
    if pair.risk_model == "linkage":
        raise ParameterError(**refusal("altered", name="this release", instead="leave per_person out; "))
    label = pair.classes.labels
    people = pair.people_in(pair.classes)
    columns: dict[str, Any] = {"row": pair.rows}
    for name in dict.fromkeys((key, pair.schema.person)):
        if name is not None and name in pair.original.names:
            columns[name] = pair.original.arrow.column(name).take(pa.array(pair.rows))
    columns |= {"records": pair.classes.sizes[label], "people": people[label], "prosecutor": 1.0 / people[label]}
    if journalist is not None:
        columns["population"] = journalist.sizes[label]
        columns["journalist"] = journalist.risk[label]
    homes = household_risks(pair, (1.0 / people if journalist is None else journalist.risk)[label])
    if homes is not None:
        columns["household risk"] = homes[1]
    if special is not None:
        columns["suda"] = special.scores
    classes = Classes.from_groups(pair.value_groups, pair.released_sensitive)
    worst, parts = np.zeros(pair.n_rows), dict[str, Any]()
    for original, released in zip(pair.sensitive, pair.released_sensitive, strict=True):
        column, group = classes.sensitive[original.name], pair.value_groups.labels.astype(np.int64)
        names = list(column.scores.by_score)
        every = np.stack([column.scores.by_score[name] for name in names])
        disclosure = column.scores.worst[group]
        worst = np.maximum(worst, disclosure)
        parts[f"{original.name} disclosure"] = disclosure
        parts[f"{original.name} by"] = np.array(names)[every.argmax(axis=0)][group]
        parts[f"{original.name} values"] = np.diff(column.counts.starts)[group]
        parts[f"{original.name} named"] = _named(original, released, group, pair.targets[original.name])
    columns |= {"disclosure": worst, **{n: v for n, v in parts.items() if n not in columns}}
    # ties by group size, group and row, so that the same release gives the same list
    return PerPerson(pa.table(columns).take(pa.array(np.lexsort((pair.rows, label, people[label], -worst)))))


def _named(original: Column, released: Column, labels: Ints, target: AttackTarget) -> Floats:
    """Return, for each record, the share of its group whose released values equal the record's own."""
    codes, values = shown_values(original, released)
    n = len(values) + 1
    # sorted by group and value, so that two binary searches count for every row
    keys = np.sort(labels * n + codes)
    if original.is_number:
        # what is missing is named by what is missing
        y, missing = original.numbers, len(values) - 1
        near = target.headline
        reach = near.share * np.abs(y) + near.width + 1e-12 * target.is_number * np.abs(y)
        finite = np.isfinite(y)
        low = np.where(finite, np.searchsorted(values[:-1], y - reach, "left"), missing)
        high = np.where(finite, np.searchsorted(values[:-1], y + reach, "right"), missing + 1)
    else:
        low, high = original.codes.astype(np.int64), original.codes.astype(np.int64) + 1
    begin = labels * n
    inside = np.searchsorted(keys, begin + high) - np.searchsorted(keys, begin + low)
    return np.asarray(inside / np.bincount(labels)[labels])


# so many records are shown before and after
RECORDS = 5
# so many different rows, before or after, a page can look people up in
MOST = 20_000


@dataclass(frozen=True, eq=False, repr=False)
class Shown:
    """Example records, shown only to the data steward: `Audit.to_dict` and recipients' pages omit them.

    Parameters
    ----------
    names : list of str
        The columns of `before` and `after`.
    before, after : lists of lists of str
        The same records in the original and in the release.
    people : dict, optional
        An index from values to original and released rows, in the format of `lookup.js`; None if values
        were altered or there are more than 20,000 different rows.
    """

    names: list[str]
    before: list[list[str]]
    after: list[list[str]]
    people: dict[str, Any] | None

    def __repr__(self) -> str:  # no person's value
        return f"Shown({len(self.before)} records)"

    @property
    def script(self) -> str:
        """Return `people` as JSON, escaped for use in a script of a page."""
        # "</script>" inside a value would end the script of the page
        return json.dumps(self.people, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def example_records(pair: Pair) -> Shown:
    """Choose example records of a paired release, and prepare the data for looking people up.

    Parameters
    ----------
    pair : Pair
    """
    roles = (*pair.schema.quasi, *pair.schema.sensitive)
    names = [n for n in pair.original.names if n in roles and n in pair.released.names]
    some = evenly(pair.canonical, RECORDS)
    return Shown(
        names,
        row_texts(pair.original, names, pair.rows[some]),
        row_texts(pair.released, names, pair.released_rows[some]),
        _people(pair) if pair.risk_model == "classes" else None,
    )


def row_texts(table: Table, names: Sequence[str], rows: Ints) -> list[list[str]]:
    """Return some rows of a table as texts; a missing cell is named as missing."""
    columns = [table.take(name, rows).to_pylist() for name in names]
    return [list(map(cell, row)) for row in zip(*columns, strict=True)]


def _people(pair: Pair) -> dict[str, Any] | None:
    whole = pair.unchanged
    before, after = whole.classes, pair.classes
    if pair.groups is not None:  # alike by their cells, they may lie in several groups
        after = group([pair.classes.labels, pair.groups.labels], pair.n_rows)
    if max(len(before.sizes), len(after.sizes)) > MOST:
        return None
    sides = (
        (before, whole.value_groups, [c.codes for c in whole.quasi], whole.sensitive),
        (after, pair.value_groups, [c.codes for c in pair.released_quasi], pair.released_sensitive),
    )
    data: dict[str, Any] = {
        "columns": [_column(column) for column in pair.released_quasi],
        "sensitive": [{"name": c.name, "number": c.is_number} for c in pair.sensitive],
    }
    for name, (groups, value_groups, codes, sensitive) in zip(("before", "after"), sides, strict=True):
        data[name] = {
            "n": groups.sizes.tolist(),
            "keys": [column[groups.first].tolist() for column in codes],
            "told": [_known_values(column, value_groups, groups) for column in sensitive],
        }
    return plain(data, digits=8)


def labels(column: Column) -> list[str]:
    """Return a column's values as text for a page."""
    if not column.is_number:
        return list(map(str, column.values))
    return [moment(v, column.unit) if column.unit else number(v) for v in column.values.tolist()]


def _column(released: ReleasedColumn) -> dict[str, Any]:
    """Return a quasi-identifier as plain data: its values, and the values that each released cell covers."""
    original, m = released.whole, released.original.n_values
    return {
        "name": original.name,
        "numbers": original.is_number,  # cells are ranges, of dates as well
        "number": original.is_number and not original.unit,
        "labels": labels(original),
        "missing": bool(original.has_missing),
        "means": released.stands_in,
        "cells": _ranges(released, m) if original.is_number else _sets(released, m),
    }


def _ranges(released: ReleasedColumn, m: int) -> list[list[int]]:
    """Return the first and last value code of each cell, and 1 if the cell may be missing."""
    values, finite = released.original.values, np.isfinite(released.lo)
    # a cell without any original value has an empty range
    first = np.searchsorted(values, np.where(finite, released.lo, np.inf), "left")
    last = np.searchsorted(values, np.where(finite, released.hi, -np.inf), "right") - 1
    free = released.anything | released.stands_in
    first, last = np.where(free, 0, first), np.where(free, m - 1, last)
    return np.stack([first, last, released.missing | free], axis=1).astype(int).tolist()


def _sets(released: ReleasedColumn, m: int) -> list[list[int] | None]:
    """Return the codes that each cell covers (m: missing); None for a cell that covers everything."""
    return [
        None if free else [*members.tolist(), *([m] if missing else [])]
        for members, free, missing in zip(released.members, released.anything, released.missing, strict=True)
    ]


def _known_values(column: Column, value_groups: Groups, groups: Groups) -> list[Any]:
    """Return each group's number, mean and variance of known numbers, or its categories with counts."""
    at = value_groups.labels[groups.first].astype(np.int64)
    if not column.is_number:
        counts = Counts.from_codes(value_groups, column.codes, column.n_values + 1)
        ends = zip(counts.starts[at].tolist(), counts.starts[at + 1].tolist(), strict=True)
        values, n = counts.values.tolist(), counts.counts.tolist()
        return [[values[a:b], n[a:b]] for a, b in ends]
    y = column.numbers
    finite = np.isfinite(y)
    labels, n_groups = value_groups.labels.astype(np.int64), len(value_groups.sizes)

    def mean(of: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.asarray(np.bincount(labels[finite], of[finite], n_groups) / np.maximum(n, 1))

    n = np.bincount(labels[finite], minlength=n_groups)
    centre = mean(y)
    spread = mean((y - centre[labels]) ** 2)
    return np.stack([n[at], centre[at], spread[at]], axis=1).tolist()
