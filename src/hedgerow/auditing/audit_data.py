"""The data of an audit as it is written; its figures stand where they are measured (`figure.Figure`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NotRequired, TypedDict

from ..json_types import Count, Figures, OrNull, Positive, Range
from ..profiles import ProfileData
from ..release.records import PrivateReleaseData, ReleaseData
from ..release.warnings import ExtremeEnds
from .column_comparison import Histogram, Scatter
from .sample import SampleData
from .success import AttackData


class Measure(TypedDict):
    """The meaning of a number of an audit: its title, formula and range, and which way is better."""

    name: str
    title: str
    better: Literal["higher", "lower"]
    low: OrNull[float]
    high: OrNull[float]
    formula: str


class TableData(TypedDict):
    """Rows, columns, roles, suppressed rows and notes.

    ``paired``: released rows were compared with original ones; else ``suppressed`` is None. ``strangers``: people who
    took no part. ``alone``: the release was compared with no original, although one may be there (``uncompared``: why
    not). ``wholly_suppressed``: released rows whose quasi-identifiers are all suppressed; ``parameters.suppressed``
    says how they count. ``planned_groups``: rows were drawn in so many groups of a plan, and figures of groups are
    theirs. ``sample``: the records that attacks, learners and inference saw, if these were not all. ``altered``: why
    the table is not what its plan made. ``epsilon``: what taking part costs a person under differential privacy;
    None if the table or its plan was altered. ``counted``: what a row stands for, as somebody said or nobody did.
    """

    rows: Count
    suppressed: Count | None
    wholly_suppressed: Count
    quasi: Sequence[str]
    sensitive: Sequence[str]
    identifiers: Sequence[str]
    released_columns: Sequence[str]
    extremes: Mapping[str, ExtremeEnds]
    notes: Sequence[str]
    yardstick: Literal["classes", "linkage", "attacks"]
    planned_groups: Positive | None
    altered: NotRequired[Sequence[str]]
    epsilon: NotRequired[Annotated[float, Range(0, above=True)] | None]
    counted: Literal["people", "records"]
    original_rows: Count | None
    strangers: Count
    paired: bool
    alone: bool
    uncompared: NotRequired[str]
    sample: SampleData | None


class Pictures(TypedDict):
    """Small histograms of each column and scatters of each sensitive column's groups, for the report."""

    histograms: Mapping[str, Histogram]
    scatters: Mapping[str, Scatter]


class AuditData(TypedDict):
    """The disclosure and utility of a release.

    The audit.json of a release has ``release`` as well, and the rest if it was measured; ``private`` says
    who may read it, where the release itself is under differential privacy. ``measures`` says what each
    number means; ``unbounded``: what the release gives away, or lost, that no promise of its plan bounds, a sentence
    each; ``profile``: None if no standard was named. Infinite and undefined numbers are null.
    """

    hedgerow_audit: Literal[1]
    private: NotRequired[str]
    release: NotRequired[ReleaseData | PrivateReleaseData]
    table: TableData
    risk: Figures
    attacks: Sequence[AttackData]
    utility: Figures
    pictures: Pictures
    not_measured: Sequence[str]
    measures: Mapping[str, Measure]
    parameters: Figures
    versions: Mapping[str, str]
    profile: ProfileData | None
    unbounded: Sequence[str]
