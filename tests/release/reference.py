"""Verification as its definition says it: whole tables of Python values, slow and obvious."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from typing import Any

from hedgerow.notation import number
from hedgerow.plan import Maps, Partition, Plan

from ..plan.mapping import mapped_rows
from ..plan.partitions import EPOCH, leaf_of

Row = dict[str, Any]


def seen(value: Any) -> Any:
    """A value as a reader compares it: with its class, missing for NaN, one zero."""
    if value is None or value != value:
        return "missing"
    kind = "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else ""
    return kind or type(value).__name__, value


def bag(rows: list[Row]) -> Counter[Any]:
    """Rows as a multiset."""
    return Counter(tuple((name, seen(value)) for name, value in row.items()) for row in rows)


def expected(plan: Plan, people: list[Row]) -> tuple[list[Row], int]:
    """The rows that a release must have, and how many cells do not cover their original."""
    kept = [column.name for column in plan.columns if column.role != "identifier"]
    recoding, uncovered = plan.recoding, 0
    made: list[Row] = []
    if isinstance(recoding, Partition):
        for person in people:
            leaf, row = leaf_of(recoding, person), {}
            for column, cells in zip(recoding.columns, recoding.leaf_cells, strict=True):
                cell = column.cells[cells[leaf]]
                row[column.name] = cell.label
                uncovered += not covered(cell, person[column.name])
            made.append(row)
    else:
        assert isinstance(recoding, Maps)
        names = [column.name for column in recoding.columns]
        keys = [[_plain(person[name]) for name in names] for person in people]
        made = [dict(zip(names, key, strict=True)) for key in mapped_rows(recoding, keys)]
        for column in recoding.columns:  # a column that may hold a text holds texts alone
            labels = [*column.labels, column.missing, *([] if column.is_number else [column.default])]
            labels += [recoding.suppress_label] if recoding.suppressed else []
            if any(isinstance(label, str) for label in labels):
                for row in made:
                    if isinstance(row[column.name], float):
                        row[column.name] = number(row[column.name])
    return [
        {name: row[name] if name in row else person[name] for name in kept}
        for person, row in zip(people, made, strict=True)
    ], uncovered


def _plain(value: Any) -> Any:
    return (value - EPOCH).days if isinstance(value, dt.date) else value


def covered(cell: Any, value: Any) -> bool:
    """Whether what a cell says is true of a value."""
    if cell.anything:
        return True
    if value is None or value != value:
        return bool(cell.missing)
    if isinstance(value, str):
        return value in cell.categories
    return cell.lo is not None and cell.lo <= _plain(value) <= cell.hi


def centred(recoding: Partition, people: list[Row]) -> bool:
    """Whether every mean is that of its group (leaves with one entry in `groups` are one)."""
    leaves = [leaf_of(recoding, person) for person in people]
    groups = [recoding.groups[leaf] if len(recoding.groups) else leaf for leaf in leaves]
    for column, cells in zip(recoding.columns, recoding.leaf_cells, strict=True):
        for group in set(groups) if column.style == "mean" else ():
            members = [i for i, g in enumerate(groups) if g == group]
            label = column.cells[cells[leaves[members[0]]]].label
            known = [_plain(people[i][column.name]) for i in members]
            known = [x for x in known if x is not None and x == x]
            if isinstance(label, str):
                label = _plain(dt.date.fromisoformat(label))
            if not known or label is None:
                if known or label is not None:
                    return False
            elif abs(sum(known) / len(known) - label) > column.step / 2 + 1e-6:
                return False
    return True


def holds(plan: Plan, people: list[Row], released: list[Row]) -> dict[str, bool]:
    """What each check must find."""
    wanted, uncovered = expected(plan, people)
    if len(released) != len(people):
        return {"rows": False, "columns": list(released[0]) == list(wanted[0])}
    if list(released[0]) != list(wanted[0]):
        return {"rows": True, "columns": False}
    recoded = {column.name for column in plan.recoding.recoded()}
    odd = {
        name
        for name in wanted[0]
        if Counter(seen(row[name]) for row in wanted) != Counter(seen(row[name]) for row in released)
    }
    recoding = plan.recoding
    tells = isinstance(recoding, Partition) and any(c.style == "mean" for c in recoding.columns)
    return {
        **({"means and shares": centred(recoding, people)} if tells else {}),
        "rows": True,
        "columns": True,
        "types": True,
        "unchanged columns": not odd - recoded,
        "mapped": not odd & recoded,
        "covered": not uncovered,
        "whole rows": bag(wanted) == bag(released),
    }
