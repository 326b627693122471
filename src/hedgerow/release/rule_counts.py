"""Hold the rules between columns against an original and a release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..columns.column import Column
from ..columns.rule_values import broken
from ..columns.table import Table
from ..errors import ParameterError, SchemaError
from ..guard.guarding import GuardOptions
from ..plan import Plan, PlanRule
from ..plan.records import FILE
from ..schema import Schema


@dataclass(frozen=True)
class RuleCount:
    """A rule with the rows of a release that break it.

    Parameters
    ----------
    text : str
    original : int
        Records of the original that break it.
    released : int or None
        Rows of the release that break it; None if its cells do not show that.
    n_rows : int
        Rows of the release.
    """

    text: str
    original: int
    released: int | None
    n_rows: int

    @property
    def is_kept(self) -> bool:
        """Return whether no more rows of the release break it than of the original."""
        return self.released is not None and self.released <= self.original


def planned_rules(table: Table, schema: Schema, plan: Plan, guard: GuardOptions | None) -> tuple[PlanRule, ...]:
    """Return the declared rules of columns that are released, with how many records of the table break each.

    Raises
    ------
    SchemaError
        A rule compares what cannot be compared, or records break it that is not tolerated.
    ParameterError
        Some of its columns are drawn, and others are released as they are; or a cap is on the file.
    """
    planned, faults = [], []
    drawn = set() if guard is None else {*plan.names("sensitive"), *(plan.names("quasi") if guard.rows else ())}
    for rule in schema.all_rules():
        if not {*plan.left_out}.isdisjoint(rule.names):
            continue
        columns = {name: table.declared_column(schema, name) for name in rule.names}
        rule.check({name: column.kind for name, column in columns.items()})
        n_broken = int(np.count_nonzero(broken(rule, columns)))
        if n_broken and not rule.tolerated:
            faults.append(f"{n_broken:,} of {table.n_rows:,} records break {str(rule)!r}")
        exact = {*rule.names} - drawn - {*plan.names("quasi")}
        if exact and not drawn.isdisjoint(rule.names):
            others = ", ".join(sorted(exact))
            raise ParameterError(
                f"the rule {str(rule)!r} is about drawn columns and about {others}, released as it is",
                hint="make all of its columns quasi-identifiers or sensitive, or leave the rule out (rules=, --rule)",
            )
        planned.append(PlanRule("" if rule.determines else str(rule), rule.determines, n_broken))
    if faults:
        raise SchemaError(
            f"rules do not hold: {'; '.join(faults)}",
            hint="leave them out (rules=, --rule), or let as many rows of a release break them (--tolerated)",
        )
    if planned and guard is not None and guard.cap_on == FILE:
        raise ParameterError(
            "rules between columns cannot be kept where a cap is on the file",
            hint="cap the groups (cap_on, --cap-on groups), or leave the rules out (rules=, --rule)",
        )
    return tuple(planned)


def count_broken(rules: Sequence[PlanRule], plan: Plan, released: Table) -> list[RuleCount]:
    """Return, for each rule, how many rows of a release break it, where its cells show that."""
    counts, of_plan = [], {column.name: column for column in plan.columns}
    for each in rules:
        try:
            columns: dict[str, Column] = {name: released.like(of_plan[name]) for name in each.rule.names}
            n: int | None = int(np.count_nonzero(broken(each.rule, columns)))
        except SchemaError:  # ranges and sets
            n = None
        counts.append(RuleCount(str(each.rule), each.broken, n, released.n_rows))
    return counts
