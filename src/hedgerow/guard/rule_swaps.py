"""Swap values inside groups until drawn rows keep the rules that construction does not; draw what is left again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..backends.randomize import uniforms, words_of
from ..columns.rule_values import broken
from ..errors import InfeasibleError
from ..key import Key
from ..measures import Ints
from ..plan import Guard, GuardedColumn, Plan
from ..plan.records import PlanRule
from .code import as_column
from .derived import in_own_form

# rows of its group, and then of the table, that a row which breaks a rule tries the values of
TURNS = 64


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

    def breaking(self, codes: Mapping[str, Ints], rules: Sequence[PlanRule] | None = None) -> Ints:
        """Return how many rules each row breaks, given the rows' codes; shape (n_rows,)."""
        records, released = in_own_form(self.plan, self.guard, self.columns, codes)
        columns = {record.name: as_column(record, released[record.name]) for record in records}
        is_broken = [broken(each.rule, columns) for each in (self.rules if rules is None else rules)]
        return np.sum(is_broken, axis=0, dtype=np.int64)

    @property
    def bundles(self) -> list[list[str]]:
        """Return the columns that rules are about, or computed from, by the bundles in which they move."""
        names = {name for each in self.rules for name in each.rule.names}
        names |= {name for each in self.guard.derived if each.name in names for name in sources(self.guard, each.name)}
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

    A row that breaks a rule swaps values with others of its group while fewer rules are broken by that, since a row
    that breaks two may need two swaps. What no row of the group has, is drawn from all rows.

    Raises
    ------
    InfeasibleError
        More rows break a rule than in the original.
    """
    rows = DrawnRows.from_guard(plan, guard, columns)
    moved = {name: of_row.copy() for name, of_row in codes.items()}
    if not rows.rules:
        return moved, 0
    sizes, bundles = np.asarray(guard.sizes, np.int64), rows.bundles
    first, size = (np.repeat(x, sizes) for x in (np.cumsum(sizes) - sizes, sizes))
    n_broken, n_mended = rows.breaking(moved), 0
    for turn in range(2 * TURNS):
        bad = np.flatnonzero(n_broken)
        if not len(bad):
            break
        names, swaps = bundles[turn % len(bundles)], turn < TURNS
        uniform = uniforms(words_of(bad.astype(np.uint64), key, f"guard rules {turn}"))
        other = (first[bad] + uniform * size[bad] if swaps else uniform * len(n_broken)).astype(np.int64)
        if swaps:  # each row is in one pair
            ends = np.stack([bad, other], axis=1)
            is_first = np.zeros(ends.size, np.bool_)
            is_first[np.unique(ends, return_index=True)[1]] = True
            bad, other = ends[is_first.reshape(-1, 2).all(axis=1)].T
        here, there = (np.append(bad, other), np.append(other, bad)) if swaps else (bad, other)
        if not len(here):
            continue
        tried = {name: of_row[there if name in names else here] for name, of_row in moved.items()}
        after = rows.breaking(tried)
        n = len(bad)
        fewer = after[:n] + after[n:] < n_broken[bad] + n_broken[other] if swaps else after < n_broken[bad]
        here, there = (np.append(part[:n][fewer], part[n:][fewer]) if swaps else part[fewer] for part in (here, there))
        values = {name: moved[name][there] for name in names}
        for name in names:
            moved[name][here] = values[name]
        n_broken[here] = np.append(after[:n][fewer], after[n:][fewer]) if swaps else after[fewer]
        n_mended += 0 if swaps else len(here) * len(names)
    if n_broken.any():
        for each in rows.rules:
            n = int(rows.breaking(moved, [each]).sum())
            if n > each.broken:
                raise InfeasibleError(
                    f"the rule {each.sql!r} cannot be kept: {n:,} drawn rows break it, and no value of others fits",
                    hint="leave the rule out (rules=, --rule), or give its columns other roles",
                )
    return moved, n_mended
