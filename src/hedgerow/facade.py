"""What methods of public classes call in layers above their own: the only place that imports upwards.

`Plan.apply` needs the release layer, `Audit.plot` the pictures. Both call a name of this module, which is
loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .audit.column_comparison import Comparison as Comparison
    from .audit.column_comparison import compare as compare
    from .audit.measure import against as against
    from .audit.profile_result import Judged as Judged
    from .backends.sql import to_sql as to_sql
    from .columns.roles import guess_schema as guess_schema
    from .release import apply_plan as apply_plan
    from .release.explain import explain as explain
    from .report.figures import standard_lines as standard_lines
    from .report.page import render as render
    from .report.pictures import frontier_picture as frontier_picture
    from .report.pictures import plot_audit as plot_audit
    from .report.pictures import plot_column as plot_column
    from .report.pictures import plot_frontier as plot_frontier
    from .report.pictures import plot_release as plot_release
    from .report.text import audit_face as audit_face
    from .report.text import summary as summary
    from .workflow.protect import protect as protect

HOMES = {
    "against": "audit.measure",  # Release.against
    "apply_plan": "release",  # Plan.apply
    "audit_face": "report.text",  # an Audit in a notebook
    "compare": "audit.column_comparison",  # Release.compare
    "explain": "release.explain",  # Plan.explain
    "frontier_picture": "report.pictures",  # Frontier.picture
    "guess_schema": "columns.roles",  # Schema.guess
    "plot_audit": "report.pictures",  # Audit.plot
    "plot_column": "report.pictures",  # Comparison.plot
    "plot_frontier": "report.pictures",  # Frontier.plot
    "plot_release": "report.pictures",  # Release.plot
    "protect": "workflow.protect",  # Frontier.release
    "render": "report.page",  # Audit.report
    "standard_lines": "report.figures",  # print(Judged)
    "summary": "report.text",  # print(Audit)
    "to_sql": "backends.sql",  # Plan.to_sql
}
"""The module of each name, with the method that calls it."""


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'hedgerow.facade' has no attribute {name!r}")
    return getattr(import_module(f".{HOMES[name]}", __package__), name)
