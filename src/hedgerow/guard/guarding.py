"""Guard a release step by step: code the cells, fit and make the draws, swap values, make rows of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from ..backends.base import Released
from ..backends.release_order import ReleasedCodes
from ..columns.table import Table
from ..errors import InfeasibleError, ParameterError
from ..kernels import Bools
from ..key import Key
from ..measures import Groups, Ints
from ..measures.guarantees import column_guarantees, promised_k
from ..plan import Guard, GuardedColumn, Plan, Vector
from ..plan.records import FILE, GROUPS, REDRAW, RUNS
from ..schema import Schema
from .code import coded, persons_of
from .derived import in_own_form, sources
from .draw import Draws, by_count, counted_again, groups_that_break, key_of, within_promises
from .file_cap import swapped, within_file_cap
from .rows import as_released, assigned_to_rows, decoded_cells, group_numbers, unguarded_columns
from .rule import FittedGuard, fit_guard
from .rule_swaps import blurred, within_rules
from .swap import PRICES, count_impossible, near_table, possible, rare_pairs, wanted_moments, without_impossible

# people who share a released value where the plan promises no k
FEWEST = 10


@dataclass(frozen=True)
class GuardOptions:
    """The form of a guard that was asked for, and its key.

    Parameters
    ----------
    form : {"runs", "redraw"}
    people : int, optional
        Fewest people who share a released value; by default the plan's k.
    key : Key
        Of the draws.
    rows : bool, default False
        Whether quasi-identifiers are drawn as well.
    cap_on : {"groups", "file"}
        What keeps the promises about sensitive columns (`Guard`).
    """

    form: str
    people: int | None
    key: Key
    rows: bool = False
    cap_on: str = GROUPS

    @classmethod
    def from_method(cls, method: object, form: str, people: int | None, key: Key, cap_on: str = GROUPS) -> GuardOptions:
        """Return the options for a method, which says whether quasi-identifiers are drawn as well."""
        return cls(form, people, key, form == REDRAW and getattr(method, "in_rows", False), cap_on)


def guarded(
    options: GuardOptions, table: Table, schema: Schema, plan: Plan, columns: Released,
    pseudonyms: Collection[str],
) -> tuple[Plan, dict[str, ReleasedCodes]]:  # fmt: skip
    """Return a plan with its guard, and the guarded columns of its release.

    Parameters
    ----------
    options : GuardOptions
    table, schema, plan
        The original, its roles and the fitted plan.
    columns : mapping of str to pyarrow array, or ReleasedCodes
        The released quasi-identifiers.
    pseudonyms : collection of str
        Identifiers that are replaced.
    """
    quasi = plan.names("quasi")
    # columns that no recoding changes
    same = {name: decoded_cells(table, name) for name in quasi if name not in columns}
    groups = group_numbers({**columns, **same}, quasi, table.n_rows)
    people = options.people or promised_k(plan.promises) or FEWEST
    if options.cap_on == FILE and not column_guarantees(plan.promises):
        raise ParameterError(
            "there is no cap that the file could keep",
            hint="set one: max_disclosure (--max-disclosure), or leave cap_on out (--cap-on)",
        )
    if options.form == RUNS:
        return _released_as_runs(people, table, schema, plan, groups)
    fitted = fit_guard(people, table, schema, plan, groups, options.key, in_rows=options.rows)
    fitted = replace(fitted, guard=replace(fitted.guard, cap_on=options.cap_on))
    guard, read, codes = redrawn(fitted, plan, options.key)
    decimals = {each.name: Vector("d", [10.0**-each.decimals]) for each in guard.derived if each.sql}
    records = {
        c.name: replace(c, steps=decimals[c.name]) if c.kind == "numeric" and c.name in decimals else c
        for c in fitted.released.values()
    }
    columns_released = tuple(replace(records.get(c.name, c), follows=c.follows) for c in guard.columns)
    guard = replace(guard, columns=columns_released, forms=tuple(c for c in guard.columns if c.name in fitted.released))
    plan = replace(plan, guard=guard)
    return plan, assigned_to_rows(plan, read, codes, table, groups, unguarded_columns(plan, pseudonyms), options.key)


def _released_as_runs(
    people: int, table: Table, schema: Schema, plan: Plan, groups: Groups
) -> tuple[Plan, dict[str, ReleasedCodes]]:
    """Return a plan with the guard, and each guarded cell as its run.

    Raises
    ------
    InfeasibleError
        A promise about a column without released values is broken.
    """
    names = sorted(plan.names("sensitive"), key=lambda n: len(schema.leaders(n)))
    if schema.hidden_weight is not None:
        names.append(schema.hidden_weight)
    person = persons_of(table, schema)
    columns = [coded(table, schema, name, people, person) for name in names]
    records, codes = tuple(c.record for c in columns), {c.record.name: c.visible for c in columns}
    withheld = [c.name for c in records if not c.n_values]
    if withheld and any(map(len, groups_that_break(plan, groups, records, codes).values())):
        raise InfeasibleError(
            f"a promise about {', '.join(withheld)} cannot be kept, because all of its values are withheld",
            hint="no value has enough people: join values, or lower guard_people (--guard-people)",
        )
    guard = Guard(RUNS, people, records)
    return replace(plan, guard=guard), {c.name: as_released(c, codes[c.name], table) for c in records}


def redrawn(fitted: FittedGuard, plan: Plan, key: Key) -> tuple[Guard, list[GuardedColumn], dict[str, Ints]]:
    """Return the guard as it was drawn, and its columns and their codes as readers see them, group after group.

    Groups are drawn again while the file shows more of them than a cap on it allows.

    Raises
    ------
    InfeasibleError
        A promise is broken by groups that are drawn from the whole table, or by a file that is made of these.
    """
    guard, bound = fitted.guard, key_of(key, plan, fitted.guard)
    draws = Draws(fitted, bound)
    if guard.rows:
        slots = fitted.slots
        wanted = wanted_moments(guard, key, slots)
        guard = replace(guard, moments=wanted.n_moments)
        rare = rare_pairs(guard, fitted.codes, slots)
    while True:
        guard, items = within_promises(draws, guard, plan)
        if guard.rows:
            items = draws.reordered(possible(guard, items, rare))
            if slots.form is None:
                items = near_table(guard, items, fitted.codes, wanted, key, slots)
                items, n_impossible = without_impossible(guard, items, rare, slots)
            else:  # rows of many slots have many pairs, and removing these at last would leave little of the moments
                items = near_table(guard, items, fitted.codes, wanted, key, slots, rare, PRICES[0])
                items, _ = without_impossible(guard, items, rare, slots)
                items = near_table(guard, items, fitted.codes, wanted, key, slots, rare, PRICES[1])
                n_impossible = count_impossible(items, rare)
            guard = replace(guard, impossible=n_impossible)
        else:
            items = draws.reordered(items)
        columns, codes = draws.as_told(guard.columns, items)
        if guard.cap_on == FILE:
            place, broken = within_file_cap(guard, plan, columns, codes, bound)
            if not broken:
                items, codes = (swapped(guard, each, place) for each in (items, codes))
                return replace(guard, impossible=count_impossible(items, rare)), columns, codes
        else:
            codes, n_blurred = blurred(guard, codes, bound)
            codes, n_mended = within_rules(plan, guard, columns, codes, fitted.released, bound)
            mended = [(n_blurred + n_mended)[head] for head in dict.fromkeys(guard.bundles().values())]
            guard = replace(guard, mended=Vector("i", mended if any(mended) else ()))
            columns, codes = in_own_form(plan, guard, columns, codes)
            broken = (
                _breaking(guard, plan, columns, codes, draws.here(items)) if guard.derived or len(guard.mended) else {}
            )
            if not broken:
                return guard, columns, codes
        guard = counted_again(guard, by_count(guard, broken))


def _breaking(
    guard: Guard, plan: Plan, columns: Sequence[GuardedColumn], codes: Mapping[str, Ints], here: Mapping[str, Bools]
) -> dict[str, Ints]:
    """Return the groups in which released values break a promise, for each drawn column that these follow from.

    Raises
    ------
    InfeasibleError
        They follow from columns that are never drawn again.
    """
    sizes = np.asarray(guard.sizes, np.int64)
    groups = Groups(np.repeat(np.arange(len(sizes)), sizes).astype(np.uint32), np.cumsum(sizes) - sizes)
    is_sensitive = {column.name for column in guard.columns if column.role == "sensitive"}
    breaking: dict[str, Ints] = {}
    for name, numbers in groups_that_break(plan, groups, columns, codes, here).items():
        again = is_sensitive & sources(guard.derived, name)
        if len(numbers) and again == {name} and any(each.name == name and each.reads for each in guard.derived):
            others = ", ".join(sorted(sources(guard.derived, name) - again))
            raise InfeasibleError(
                f"a promise about {name!r} is broken by what it is computed from: {others}",
                hint="ask for larger groups (k) or for a looser cap, or leave the rule out (rules=, --rule)",
            )
        for source in again if len(numbers) else ():
            breaking[source] = np.union1d(breaking.get(source, numbers[:0]), numbers)
    return breaking


def with_runs(table: Table, schema: Schema, people: int) -> tuple[Table, Schema]:
    """Return a table that has the runs of each sensitive column beside it, and a schema in which they are sensitive."""
    runs_by_name: dict[str, pa.Array] = {}
    kinds, categories, events = dict(schema.kinds), dict(schema.categories), dict(schema.events)
    for name in schema.sensitive:
        column = coded(table, schema, name, people, persons_of(table, schema))
        if not column.record.n_values:  # nothing is told of it
            continue
        runs = f"{name} (runs)"
        while runs in table.names:
            runs += "'"
        # without the style of its days, in which few of them may not tell days from months
        runs_by_name[runs] = as_released(replace(column.record, style=""), column.visible, table).cells()
        kinds[runs] = table.declared_kind(schema, name)
        if column.record.order:
            categories[runs] = column.record.order
        if column.record.events:
            events[runs] = column.record.events
    sensitive = (*schema.sensitive, *runs_by_name)
    roles = replace(schema, sensitive=sensitive, kinds=kinds, categories=categories, events=events)
    return table.replaced(runs_by_name), roles
