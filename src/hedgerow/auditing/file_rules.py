"""The strongest rules that a file of drawn rows shows: who nearly always has which sensitive value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple, TypedDict

import numpy as np

from ..columns.table import Table
from ..errors import HedgerowError
from ..json_types import Count, Share
from ..measures import Ints, group
from ..measures.guarantees import promised_k
from ..notation import moment, number
from ..plan import GuardedColumn, Plan
from ..release.rederive.cap_in_file import cells_in_bins
from .figure import Figure

# rules of a column that are named, and by how much one of two quasi-identifiers must be stronger than one of one
RULES, STRONGER = 3, 0.05
# values of a bin that are named
VALUES = 3


class FileRule(TypedDict):
    """A rule of the file: of the ``rows`` in which columns have the values of ``where``, ``share`` have ``value``.

    ``of_all``: the share of all rows that have it.
    """

    where: Mapping[str, str]
    value: str
    rows: Count
    share: Share
    of_all: Share


class _Candidate(NamedTuple):
    """A rule with the bins that it is of: of each column of ``where``, and of its value."""

    beyond: float
    at: Mapping[str, int]
    value: int
    rule: FileRule


def file_rules(plan: Plan, released: Table) -> dict[str, list[FileRule]]:
    """Return the strongest rules of a file of drawn rows about each sensitive column, by one or two quasi-identifiers.

    A rule is the stronger, the more its share lies above that of the whole file. At least k rows carry it. Numbers
    with many values are in parts of about a twentieth of the people.

    Parameters
    ----------
    plan : Plan
        Its guard draws rows.
    released : Table
    """
    assert plan.guard is not None
    k = promised_k(plan.promises) or plan.guard.people
    bins = {c.name: cells_in_bins(c, released) for c in plan.guard.columns}
    words = {c.name: _words(c, bins[c.name], released) for c in plan.guard.columns}
    quasi = [c.name for c in plan.guard.columns if c.role == "quasi"]
    candidates: dict[str, list[_Candidate]] = {c.name: [] for c in plan.guard.columns if c.role == "sensitive"}
    # units without a row in a slot tell nothing by what is missing there
    slots = {name: has for name in bins if (has := released.has_cell(name)) is not None}
    for names in [*combinations(quasi, 1), *combinations(quasi, 2)]:
        everybody, handicap = group([bins[name] for name in names]), STRONGER * (len(names) == 1)
        for name, some in candidates.items():
            groups, of_row = everybody, bins[name]
            if in_slots := [slots[each] for each in (*names, name) if each in slots]:
                here = np.flatnonzero(np.logical_and.reduce(in_slots))
                groups, of_row = group([bins[each][here] for each in names], len(here)), of_row[here]
            large, n_values = np.flatnonzero(groups.sizes >= k), int(bins[name].max()) + 1
            cells = groups.labels * np.int64(n_values) + of_row
            counted = np.bincount(cells, minlength=groups.n_groups * n_values)
            share = counted.reshape(-1, n_values)[large] / groups.sizes[large, None]
            of_all = np.bincount(of_row, minlength=n_values) / len(of_row)
            beyond = share - of_all + handicap
            # of each combination its strongest rule, and of these as many as could be named
            best = beyond.argmax(axis=1) if len(large) else np.zeros(0, np.int64)
            most = beyond[np.arange(len(large)), best]
            order = np.flatnonzero(most > handicap)  # others say nothing
            order = order[np.argsort(-most[order], kind="stable")]
            for i in order[: RULES * (len(quasi) + 1)].tolist():
                first = groups.first[large[i]]
                at = {each: int(bins[each][here[first] if in_slots else first]) for each in names}
                rule = FileRule(
                    where={column: words[column][part] for column, part in at.items()},
                    value=words[name][int(best[i])],
                    rows=int(groups.sizes[large[i]]),
                    share=float(share[i, best[i]]),
                    of_all=float(of_all[best[i]]),
                )
                some.append(_Candidate(float(most[i]), at, int(best[i]), rule))
    return {name: list(_distinct(sorted(some, key=lambda one: -one.beyond))) for name, some in candidates.items()}


def _distinct(ordered: Sequence[_Candidate]) -> Iterator[FileRule]:
    """Yield the first rules of which none says the same of a part, or of more, of another's rows."""
    named: list[_Candidate] = []
    for one in ordered:
        at = one.at.items()
        if len(named) < RULES and not any(
            other.value == one.value and (at <= other.at.items() or other.at.items() <= at) for other in named
        ):
            named.append(one)
            yield one.rule


def _words(column: GuardedColumn, bins: Ints, released: Table) -> dict[int, str]:
    """Return what each bin of a column that occurs is called: its values, of numbers the least and the greatest."""
    read, words = released.like(column), dict[int, str]()
    codes, first = np.unique(read.codes, return_index=True)
    of_bin: dict[int, list[int]] = {}
    for code, part in zip(codes.tolist(), bins[first].tolist(), strict=True):
        of_bin.setdefault(part, []).append(code)
    is_number = column.kind in ("numeric", "date")
    texts = [moment(v, column.unit) if column.kind == "date" else number(v) if is_number else v for v in read.values]
    for part, inside in of_bin.items():
        names = ["missing" if code == read.n_values else texts[code] for code in inside]
        listed = [f"{names[0]} to {names[-1]}"] if is_number and len(names) > 1 else names
        words[part] = ", ".join([*listed[:VALUES], *(["others"] if len(listed) > VALUES else [])])
    return words


def _rules(task: Any) -> dict[str, list[FileRule]] | None:
    """Return the rules of a task's file; None where its rows are on a cluster, or its columns are not the plan's."""
    plan, released = task.what.plan, task.what.table
    try:
        return None if released.engine == "spark" else file_rules(plan, released)
    except HedgerowError:
        return None


FIGURES = (
    Figure(
        {"risk.rules": Mapping[str, Sequence[FileRule]] | None},
        _rules,
        needs=("drawn rows", "sensitive columns"),
        is_listed=False,
    ),
)
