"""Swap values inside groups until drawn rows keep the rules that construction does not; draw what is left again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..backends.randomize import uniforms, words_of
from ..columns.rule_values import broken
from ..errors import InfeasibleError
from ..kernels import Bools
from ..key import Key
from ..measures import Floats, Ints
from ..plan import Guard, GuardedColumn, Plan
from ..plan.records import AGAIN, PlanRule
from .code import as_column
from .derived import in_own_form, sources

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
    ends : mapping of str to pair of float
        The least and the greatest released value of each number that is computed.
    """

    plan: Plan
    guard: Guard
    columns: Sequence[GuardedColumn]
    rules: Sequence[PlanRule]
    ends: Mapping[str, tuple[float, float]]

    @classmethod
    def from_guard(
        cls, plan: Plan, guard: Guard, columns: Sequence[GuardedColumn], released: Mapping[str, GuardedColumn]
    ) -> DrawnRows:
        """Return the rows of a guard with the conditions among its columns, and the ends of what is computed."""
        names = {column.name for column in columns}
        rules = [each for each in plan.rules if each.sql and names.issuperset(each.rule.names)]
        numbers = [c for c in (released[each.name] for each in guard.derived if each.sql) if len(c.cuts)]
        ends = {c.name: (float(c.values[0] or 0), float(c.values[c.n_values - 1] or 0)) for c in numbers}
        return cls(plan, guard, columns, rules, ends)

    def breaking(self, codes: Mapping[str, Ints]) -> Bools:
        """Return which rows break each rule, or lie outside of each end, given their codes; one row of it for each."""
        records, released = in_own_form(self.plan, self.guard, self.columns, codes)
        columns = {record.name: as_column(record, released[record.name]) for record in records}
        is_broken = [broken(each.rule, columns) for each in self.rules]
        numbers = {name: columns[name].numbers for name in self.ends}
        return np.array(
            [*is_broken, *((numbers[n] < low) | (numbers[n] > high) for n, (low, high) in self.ends.items())]
        )

    def bundles(self, n_broken: Ints) -> list[list[str]]:
        """Return the columns that broken rules are about, or computed from, by the bundles in which they move."""
        about = [*(each.rule.names for each in self.rules), *((name,) for name in self.ends)]
        some = {column for names, n in zip(about, n_broken, strict=True) if n for column in names}
        names = {name for column in some for name in sources(self.guard.derived, column)}
        heads = self.guard.bundles()
        moved = dict.fromkeys(heads[column.name] for column in self.columns if column.name in names)
        return [[name for name, head in heads.items() if head == one] for one in moved]

    def too_many(self, is_broken: Bools, order: Floats) -> Bools:
        """Return the rows beyond as many as break each rule in the original; the first in an order are tolerated."""
        excess = is_broken.copy()
        for at, each in enumerate(self.rules):
            rows = np.flatnonzero(is_broken[at]) if each.broken else order[:0].astype(np.int64)
            # nobody can tell from their number whether one person more breaks it
            most = max(each.broken - int(order[at] * self.guard.people), 0)
            excess[at, rows[np.argsort(order[rows], kind="stable")[:most]]] = False
        return excess


def within_rules(
    plan: Plan, guard: Guard, columns: Sequence[GuardedColumn], codes: Mapping[str, Ints],
    released: Mapping[str, GuardedColumn], key: Key,
) -> tuple[dict[str, Ints], Counter[str]]:  # fmt: skip
    """Return the codes of rows that keep the rules, and how many got values of other groups for it, by bundle.

    A row that breaks rules swaps values with others of its group while both together break fewer by that. What no row
    of the group has, is drawn from all rows.

    Raises
    ------
    InfeasibleError
        More rows break a rule than in the original.
    """
    rows = DrawnRows.from_guard(plan, guard, columns, released)
    moved = {name: of_row.copy() for name, of_row in codes.items()}
    if not rows.rules:
        return moved, Counter()
    order_of_rows = uniforms(words_of(np.arange(sum(guard.sizes), dtype=np.uint64), key, "guard tolerated"))
    sizes, n_values = np.asarray(guard.sizes, np.int64), {column.name: column.n_values for column in columns}
    first, size = (np.repeat(x, sizes) for x in (np.cumsum(sizes) - sizes, sizes))
    is_broken, mended, heads = rows.breaking(moved), Counter[str](), guard.bundles()
    for turn in range(2 * TURNS):
        excess = rows.too_many(is_broken, order_of_rows)
        bad = np.flatnonzero(excess.any(axis=0))
        if not len(bad):
            break
        bundles = rows.bundles(excess.sum(axis=1))
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
        if not is_swap or plan.units:  # a missing value breaks no rule, and is no way to keep one
            lacks = [(moved[name] >= n_values[name]) for name in names]
            fewer &= np.all([missing[bad] == missing[other] for missing in lacks], axis=0)
        fewer = np.tile(fewer, len(here) // len(bad))
        is_broken[:, here[fewer]] = after[:, fewer]
        for name in names:
            moved[name][here[fewer]] = moved[name][there[fewer]]
        mended[heads[names[0]]] += 0 if is_swap else int(fewer.sum())
    for each, n in zip(rows.rules, is_broken.sum(axis=1).tolist(), strict=False):
        if n > each.broken:
            raise InfeasibleError(
                f"the rule {each.sql!r} cannot be kept: {n:,} drawn rows break it, and no value of others fits",
                hint="leave the rule out (rules=, --rule), or give its columns other roles",
            )
    return moved, mended


def blurred(guard: Guard, codes: Mapping[str, Ints], key: Key) -> tuple[dict[str, Ints], Counter[str]]:
    """Return codes in which groups that were drawn from the whole table in vain have values of other rows as well.

    What is computed from a quasi-identifier can tell more of a group than its originals, and quasi-identifiers are not
    drawn again. So a further part of the group's rows gets those of others each time.
    """
    moved, n_moved, heads = dict(codes), Counter[str](), guard.bundles()
    sizes, again = np.asarray(guard.sizes, np.int64), np.zeros(len(guard.sizes), np.int64)
    computed = {each.name for each in guard.derived if each.reads}
    read = {name for each in computed for name in sources(guard.derived, each)}
    for name, part in guard.times_drawn().items():
        if name in read:
            again = np.maximum(again, np.asarray(guard.again, np.int64)[part])
    share = np.repeat((again - AGAIN) / (2 * AGAIN), sizes)
    quasi = {heads[c.name] for c in guard.columns if c.role == "quasi" and c.name in read - computed}
    for name, head in heads.items() if (share > 0).any() else ():
        if head in quasi:
            at = np.arange(len(share), dtype=np.uint64)
            takes, other = (uniforms(words_of(at, key, f"guard blurred {what} {head}")) for what in ("row", "other"))
            is_moved = takes < share
            moved[name] = np.where(is_moved, codes[name][(other * len(share)).astype(np.int64)], codes[name])
            n_moved[head] = int(is_moved.sum())
    return moved, n_moved


def _each_once(rows: Ints, others: Ints) -> tuple[Ints, Ints]:
    """Return the pairs of rows in which each row stands for the first time."""
    ends = np.stack([rows, others], axis=1)
    is_first = np.zeros(ends.size, np.bool_)
    is_first[np.unique(ends, return_index=True)[1]] = True
    one, two = ends[is_first.reshape(-1, 2).all(axis=1)].T
    return one, two
