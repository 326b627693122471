"""Hold the rules between columns against an original and a release."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict

import numpy as np

from ..columns.find_rules import find_rules
from ..columns.rule_values import broken
from ..columns.table import Table
from ..errors import ParameterError, SchemaError
from ..guard.guarding import GuardOptions
from ..json_types import Count
from ..plan import Plan, PlanRule
from ..plan.records import FILE, REDRAW
from ..progress import caution
from ..rules import ColumnRule
from ..schema import Schema


def planned_rules(table: Table, schema: Schema) -> tuple[PlanRule, ...]:
    """Return the rules that a schema declares, with how many records of the table break each.

    Raises
    ------
    SchemaError
        A rule compares what cannot be compared, or records break it that is not tolerated.
    """
    planned, faults, declared = [], [], schema.all_rules()
    table = table.with_local_codes([name for rule in declared for name in rule.names])
    for rule in declared:
        columns = {name: table.declared_column(schema, name) for name in rule.names}
        rule.check({name: column.kind for name, column in columns.items()})
        n_broken = int(np.count_nonzero(broken(rule, columns)))
        if n_broken and not rule.tolerated:
            faults.append(f"{n_broken:,} of {table.n_rows:,} records break {str(rule)!r}")
        planned.append(PlanRule("" if rule.determines else str(rule), rule.determines, n_broken))
    if faults:
        raise SchemaError(
            f"rules do not hold: {'; '.join(faults)}",
            hint="leave them out (rules=, --rule), or let as many rows of a release break them (--tolerated)",
        )
    return tuple(planned)


def released_rules(table: Table, schema: Schema, plan: Plan, guard: GuardOptions | None) -> tuple[PlanRule, ...]:
    """Return the rules of a release: those that are about released columns alone.

    Raises
    ------
    SchemaError
        As `planned_rules`.
    ParameterError
        Some of the columns of a rule are drawn, and others are released as they are; or a cap is on the file.
    """
    planned, rules = planned_rules(table, schema), list[PlanRule]()
    for each in planned:
        if lacking := ", ".join(name for name in each.rule.names if name in plan.left_out):
            caution(f"the rule {str(each.rule)!r} is not kept, because columns of it are left out: {lacking}")
            continue
        rules.append(each)
        others = [name for name in each.rule.names if name in plan.names("quasi")]
        names = ", ".join(name for name in _decided(each.rule) if name in plan.names("sensitive"))
        if names and others and len(others) == len(each.rule.names) - 1:
            caution(f"the rule {str(each.rule)!r} tells {names} to whoever knows {', '.join(others)}")
    if guard is None or guard.form != REDRAW or not rules:
        return tuple(rules)
    redrawn = {*plan.names("sensitive"), *(plan.names("quasi") if guard.rows else ())}
    for each in rules:
        if (exact := {*each.rule.names} & {*plan.names("other")}) and not redrawn.isdisjoint(each.rule.names):
            raise ParameterError(
                f"the rule {str(each.rule)!r} is about drawn columns and {', '.join(sorted(exact))}, released as it is",
                hint="make all of its columns quasi-identifiers or sensitive, or leave the rule out (rules=, --rule)",
            )
    if guard.cap_on == FILE:
        raise ParameterError(
            "rules between columns cannot be kept where a cap is on the file",
            hint="cap the groups (cap_on, --cap-on groups), or leave the rules out (rules=, --rule)",
        )
    return tuple(rules)


def _decided(rule: ColumnRule) -> list[str]:
    """Return the columns whose values a rule gives, if the others are known."""
    if rule.node is None:
        return list(rule.determines[1:])
    return [part.text for part in rule.node.parts if part.op == "column"] if rule.node.op == "=" else []


class RuleRows(TypedDict):
    """A rule: as SQL and in words, whether somebody declared it, and the rows of both tables that break it.

    ``release`` is None where its cells, such as ranges, do not show that.
    """

    rule: str
    words: str
    declared: bool
    original: Count
    release: Count | None
    rows: Count


def is_broken(rule: RuleRows) -> bool:
    """Return whether more rows of the release break a rule than of the original."""
    return rule["release"] is not None and rule["release"] > rule["original"]


def rule_rows(original: Table, released: Table, schema: Schema, plan: Plan | None) -> list[RuleRows]:
    """Return the declared rules, and those that are found in the original and that more rows of the release break.

    Parameters
    ----------
    original, released : Table
    schema : Schema
        Its rules are the declared ones, if there is no plan.
    plan : Plan, optional
    """
    declared = planned_rules(original, schema) if plan is None else plan.rules
    visible = {name for name in original.names if name in released.names and schema.role(name) != "identifier"}
    every = [(each.rule, each.broken, "") for each in declared]
    planned = {rule for rule, *_ in every}
    every += [(each.rule, each.broken, each.words) for each in find_rules(original, schema) if each.rule not in planned]
    every = [each for each in every if visible.issuperset(each[0].names)]
    counts = count_broken([rule for rule, *_ in every], schema, original, released)
    rows: list[RuleRows] = [
        {
            "rule": str(rule), "words": words or str(rule), "declared": rule in planned, "original": before,
            "release": after, "rows": released.n_rows,
        }
        for (rule, before, words), after in zip(every, counts, strict=True)
    ]  # fmt: skip
    return [row for row in rows if row["declared"] or is_broken(row)]


def count_broken(rules: Iterable[ColumnRule], schema: Schema, original: Table, released: Table) -> list[int | None]:
    """Return, for each rule, how many rows of a release break it; None where its cells do not show that."""
    counts: list[int | None] = []
    rules = list(rules)
    released = released.with_local_codes(dict.fromkeys(name for rule in rules for name in rule.names))
    for rule in rules:
        try:
            models = {name: original.declared_column(schema, name) for name in rule.names}
            columns = {name: released.like(model) for name, model in models.items()}
            is_off = broken(rule, columns)
            if rule.determines:  # what rare values are released as is of several values of the other column
                first = columns[rule.names[0]]
                is_own = np.isin(np.asarray(first.values), np.asarray(models[first.name].values))
                is_off = is_off & np.append(is_own, False)[first.codes]
            counts.append(int(np.count_nonzero(is_off)))
        except SchemaError:  # ranges and sets
            counts.append(None)
    return counts
