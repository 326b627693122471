"""Swap values inside groups until drawn rows keep the rules that construction does not; draw what is left again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..backends.randomize import uniforms, words_of
from ..columns.rule_values import broken
from ..errors import InfeasibleError
from ..kernels import Bools
from ..key import Key
from ..measures import Ints
from ..plan import Guard, GuardedColumn, Plan
from ..plan.records import PlanRule
from .code import as_column
from .derived import in_own_form

# rows of its group, and then of the table, that a row which breaks a rule tries the values of
TURNS = 64
# by how many places in its group the rows that it tries first are away from it: near values change relations least
NEAREST = (1, 2, 3, 5, 8, 13, 21, 34)


@dataclass(frozen=True)
class DrawnRows:
    """Rows as they were drawn, and the rules that they should keep.

    Parameters
    ----------
    plan : Plan
    guard : Guard
    columns : sequence of GuardedColumn
        As their values are drawn.
    rules : sequence of PlanRule
        Conditions of drawn columns alone.
    """

    plan: Plan
    guard: Guard
    columns: Sequence[GuardedColumn]
    rules: Sequence[PlanRule]

    @classmethod
    def from_guard(cls, plan: Plan, guard: Guard, columns: Sequence[GuardedColumn]) -> DrawnRows:
        """Return the rows of a guard with the conditions among its columns."""
        names = {column.name for column in columns}
        return cls(
            plan, guard, columns, [each for each in plan.rules if each.sql and names.issuperset(each.rule.names)]
        )

    def breaking(self, codes: Mapping[str, Ints]) -> Bools:
        """Return which rows break each rule, given their codes; shape (n_rules, n_rows)."""
        records, released = in_own_form(self.plan, self.guard, self.columns, codes)
        columns = {record.name: as_column(record, released[record.name]) for record in records}
        return np.array([broken(each.rule, columns) for each in self.rules])

    def bundles(self, n_broken: Ints) -> list[list[str]]:
        """Return the columns that broken rules are about, or computed from, by the bundles in which they move."""
        rules = [each for each, n in zip(self.rules, n_broken, strict=True) if n]
        names = {name for each in rules for column in each.rule.names for name in sources(self.guard, column)}
        heads = self.guard.bundles()
        moved = dict.fromkeys(heads[column.name] for column in self.columns if column.name in names)
        return [[name for name, head in heads.items() if head == one] for one in moved]


def sources(guard: Guard, name: str) -> set[str]:
    """Return the drawn columns that a column is computed from, itself among them."""
    of_name = next((each for each in guard.derived if each.name == name), None)
    if of_name is None:
        return {name}
    if of_name.inside:
        return {name, of_name.inside}
    return {name}.union(*(sources(guard, other) for other in of_name.reads))


def within_rules(
    plan: Plan, guard: Guard, columns: Sequence[GuardedColumn], codes: Mapping[str, Ints], key: Key
) -> tuple[dict[str, Ints], int]:
    """Return the codes of rows that keep the rules, and how many values of other groups they got for it.

    A row that breaks rules swaps values with others of its group while both together break fewer by that. What no row
    of the group has, is drawn from all rows.

    Raises
    ------
    InfeasibleError
        More rows break a rule than in the original.
    """
    rows = DrawnRows.from_guard(plan, guard, columns)
    moved = {name: of_row.copy() for name, of_row in codes.items()}
    if not rows.rules:
        return moved, 0
    sizes = np.asarray(guard.sizes, np.int64)
    first, size = (np.repeat(x, sizes) for x in (np.cumsum(sizes) - sizes, sizes))
    is_broken, n_mended = rows.breaking(moved), 0
    for turn in range(2 * TURNS):
        bad = np.flatnonzero(is_broken.any(axis=0))
        if not len(bad):
            break
        bundles = rows.bundles(is_broken.sum(axis=1))
        names, is_swap = bundles[turn % len(bundles)], turn < TURNS
        uniform = uniforms(words_of(bad.astype(np.uint64), key, f"guard rules {turn}"))
        other = (first[bad] + uniform * size[bad] if is_swap else uniform * len(first)).astype(np.int64)
        if is_swap:
            step = turn // len(bundles)
            if step < 2 * len(NEAREST):
                order = np.lexsort((moved[names[0]], first))
                place = np.argsort(order)[bad] + NEAREST[step // 2] * (-1) ** step
                other = order[np.clip(place, first[bad], first[bad] + size[bad] - 1)]
            bad, other = _each_once(bad, other)
            if not len(bad):
                continue
        # what the rows get, and where it stands now
        here, there = (np.append(bad, other), np.append(other, bad)) if is_swap else (bad, other)
        after = rows.breaking({name: of_row[there if name in names else here] for name, of_row in moved.items()})
        fewer = (after.sum(axis=0) - is_broken[:, here].sum(axis=0)).reshape(-1, len(bad)).sum(axis=0) < 0
        fewer = np.tile(fewer, len(here) // len(bad))
        is_broken[:, here[fewer]] = after[:, fewer]
        for name in names:
            moved[name][here[fewer]] = moved[name][there[fewer]]
        n_mended += 0 if is_swap else int(fewer.sum()) * len(names)
    for each, n in zip(rows.rules, is_broken.sum(axis=1).tolist(), strict=True):
        if n > each.broken:
            raise InfeasibleError(
                f"the rule {each.sql!r} cannot be kept: {n:,} drawn rows break it, and no value of others fits",
                hint="leave the rule out (rules=, --rule), or give its columns other roles",
            )
    return moved, n_mended


def _each_once(rows: Ints, others: Ints) -> tuple[Ints, Ints]:
    """Return the pairs of rows in which each row stands for the first time."""
    ends = np.stack([rows, others], axis=1)
    is_first = np.zeros(ends.size, np.bool_)
    is_first[np.unique(ends, return_index=True)[1]] = True
    one, two = ends[is_first.reshape(-1, 2).all(axis=1)].T
    return one, two
