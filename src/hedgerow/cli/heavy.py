"""Import everything that loads slowly; a command imports this module only when it runs."""

from ..audit.measure import audit as audit
from ..audit.measure import refuse_whole as refuse_whole
from ..audit.profile_result import needs_attacks as needs_attacks
from ..audit.score import score as score
from ..audit.subject import check_order as check_order
from ..audit.subject import folder_of as folder_of
from ..audit.subject import plan_of as plan_of
from ..datasets import make_people as make_people
from ..io.write import write_table as write_table
from ..methods.hedge import Hedge as Hedge
from ..release import Release as Release
from ..release import apply_plan as apply_plan
from ..release.folder import PARTS_MARKS as PARTS_MARKS
from ..release.folder import PUBLIC_MARKS as PUBLIC_MARKS
from ..release.folder import check_apart as check_apart
from ..release.folder import check_target as check_target
from ..release.records import evidence as evidence
from ..report.figures import standard_verdict as standard_verdict
from ..report.verdict import not_bounded as not_bounded
from ..report.verdict import verdict as verdict
from ..workflow.inspection import beforehand as beforehand
from ..workflow.outcome import counts_off as counts_off
from ..workflow.outcome import outcome as outcome
from ..workflow.protect import stronger as stronger
from ..workflow.session import Session as Session
