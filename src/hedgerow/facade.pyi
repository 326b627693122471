"""The module of each name, with the method that calls it; `facade.py` loads a name when it is first used."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for mypy such imports make no circles
    from .auditing.column_comparison import Comparison as Comparison
    from .auditing.column_comparison import compare as compare  # Release.compare
    from .auditing.measure import against as against  # Release.against
    from .auditing.measure import figure_types as figure_types  # Audit.json_schema
    from .auditing.measure import models_of as models_of  # Release.write
    from .auditing.measure import rows_of_figures as rows_of_figures  # print(Audit)
    from .auditing.profile_result import Judged as Judged
    from .auditing.utility.units_kept import units_kept as units_kept  # Release.write
    from .backends.check_sql import check_sql as check_sql  # Plan.check_sql
    from .backends.sql import to_sql as to_sql  # Plan.to_sql
    from .methods.base import Method as Method  # the type, where its code must not be loaded
    from .release import apply_plan as apply_plan  # Plan.apply
    from .release.explain import explain as explain  # Plan.explain
    from .report.page import render as render  # Audit.report
    from .report.pictures import frontier_picture as frontier_picture  # Frontier.picture
    from .report.pictures import plot_audit as plot_audit  # Audit.plot
    from .report.pictures import plot_column as plot_column  # Comparison.plot
    from .report.pictures import plot_frontier as plot_frontier  # Frontier.plot
    from .report.pictures import plot_release as plot_release  # Release.plot
    from .report.standards import standard_lines as standard_lines  # print(Judged)
    from .report.text import audit_face as audit_face  # an Audit in a notebook
    from .report.text import summary as summary  # print(Audit)
    from .workflow.protect import protect as protect  # Frontier.release

HOMES: dict[str, str]

def homes(stub: str) -> dict[str, str]: ...
