"""What takes long to load, in one import that a command makes when it runs."""

from ..audit.measure import audit, refuse_whole
from ..audit.profile_result import needs_attacks
from ..audit.subject import plan_of
from ..datasets import make_people
from ..files import SUFFIXES
from ..io.write import write_table
from ..methods.mart import MART
from ..release import apply_plan
from ..release.evidence import evidence
from ..release.write import PARTS_MARKS, PUBLIC_MARKS, check_apart, check_target
from ..report.figures import standard_verdict
from ..workflow.inspection import beforehand
from ..workflow.outcome import outcome
from ..workflow.protect import stronger
from ..workflow.session import Session

__all__ = [
    "MART",
    "PARTS_MARKS",
    "PUBLIC_MARKS",
    "SUFFIXES",
    "Session",
    "apply_plan",
    "audit",
    "beforehand",
    "check_apart",
    "check_target",
    "evidence",
    "make_people",
    "needs_attacks",
    "outcome",
    "plan_of",
    "refuse_whole",
    "standard_verdict",
    "stronger",
    "write_table",
]
