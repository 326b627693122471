"""Rules between columns that hold in an original, and how many rows of a release break them."""

from __future__ import annotations

from collections.abc import Sequence

from ...release.rule_counts import RuleRows, rule_rows
from ..figure import Figure

FIGURES = (
    Figure(
        {"utility.rules": Sequence[RuleRows] | None},
        lambda task: rule_rows(task.sides.plain.original, task.what.table, task.what.schema, task.what.plan),
        needs=("both tables",),
        says="rules between columns",
    ),
)
